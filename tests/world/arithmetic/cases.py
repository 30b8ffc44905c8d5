"""Arithmetic's surroundings: rounding modes, flushing to zero, traps, special scalars, operands that nobody reads."""

from __future__ import annotations

import os

import differential
import harness
from differential import FORCED, MODES, Bench
from run import World

ROUNDING, TRAPS, ALPHA = "rounding mode is not to nearest", "floating-point traps are on", "alpha is not finite"
LARGE = 340
"""n of products that go to a good device by themselves."""


def bench_of(world: World) -> Bench:
    return Bench(world.build, world.scratch, world.cxx)


def by_decision(world: World) -> dict[str, str]:
    """Nothing is forced, and the host backend said to be faster at everything."""
    profile = world.scratch / "profile"
    rates = ("in_rate", "out_rate", "pass_rate", "panel_rate", "sgemm_rate", "dgemm_rate", "cgemm_rate", "zgemm_rate")
    times = ("latency_seconds", "startup_seconds", "panel_seconds", "step_seconds", "symv_latency_seconds")
    lines = [*(f"{name} 1e+15" for name in rates), *(f"{name} 1e-12" for name in times)]
    profile.write_text("\n".join(lines) + "\n")
    return {"BLASLIFT_BACKEND": "host", "BLASLIFT_PROFILE": str(profile), "BLASLIFT_DECISION": "fixed"}


def floats(world: World, what: str, modes: dict[str, dict[str, str]], n: int, check) -> list[str]:
    """One part of floats.cpp in each of these modes; `check(mode, run, accounts)` says what is wrong with the counters."""
    bench = bench_of(world)
    program = bench.program("floats")
    errors = []
    for mode, settings in modes.items():
        run = bench.run(program, what, *bench.plain, str(n), settings=settings, timeout=100)
        found = [line for line in run.stdout.splitlines() if line.startswith("wrong")][:5]
        if run.status:
            found.append(f"status {run.status} {run.stdout[-200:]} {run.stderr[-200:]}")
        accounts = harness.accounts(run.reports)
        found += check(mode, run, accounts) or []
        print(f"{mode}: {({name: (a.routed, dict(+a.stayed)) for name, a in accounts.items()})}")
        errors += [f"{mode}: {line}" for line in found]
    return errors


def some(*modes: str) -> dict[str, dict[str, str]]:
    return {mode: MODES[mode] for mode in modes}


def rounding_modes(world: World) -> list[str]:
    """In another mode than to nearest the result is plain's, to the bit, on whichever thread; the reason says so."""

    def check(mode, run, accounts):
        if mode == "natural":
            return
        for name in ("dgemm", "dsyrk", "dsymv", "dgeqrf"):
            account = accounts[name]
            # To nearest twice; in six other environments.
            if account.stayed[ROUNDING] < 6 or account.routed < 2:
                yield f"{name}: {account.routed} routed, {dict(account.stayed)}"
        # geqrf's own products are the library's, and in the mode, too.
        if sum(a.routed for a in accounts.values()) != 8:
            yield f"routed: {({name: a.routed for name, a in accounts.items()})}"

    modes = some("natural", "forced", "two levels", "in 64 KiB", "copies kept", "verified")
    return floats(world, "rounding", modes, 70, lambda *x: list(check(*x)))


def rounding_modes_of_large_calls(world: World) -> list[str]:
    """The same where nothing is forced: what would be faster on the device stays."""

    def check(mode, run, accounts):
        for name in ("dgemm", "dsyrk", "dgeqrf"):
            account = accounts[name]
            if account.stayed[ROUNDING] < 6 or account.routed < 2:
                yield f"{name}: {account.routed} routed, {dict(account.stayed)}"

    return floats(world, "rounding", {"by decision": by_decision(world)}, LARGE, lambda *x: list(check(*x)))


def rounding_modes_verified(world: World) -> list[str]:
    """What stays is checked in the mode in which it was computed, by another library, too."""
    settings = FORCED | {"BLASLIFT_VERIFY": "all", "BLASLIFT_VERIFY_ORACLE": str(world.scratch / "plain_blas.so")}

    def check(mode, run, accounts):
        checks = [r["routines"]["dgemm"]["verified"] for r in run.reports if "dgemm" in r["routines"]]
        return [] if any(c["checked"] > 2 for c in checks) and not any(c["wrong"] for c in checks) else [f"{checks}"]

    return floats(world, "rounding", {"verified by another": settings}, 40, check)


def flushing(world: World) -> list[str]:
    """What is subnormal is flushed where the caller asks for it and on no other thread, and nothing else is lost."""

    def check(mode, run, accounts):
        if mode != "natural" and accounts["dgemm"].routed < 4:
            return [f"{accounts['dgemm'].routed} routed"]
        if "level" in mode and not accounts["dgemm"].distrusted:
            return ["levels of sums that are flushed"]

    return floats(world, "flushing", some("natural", "forced", "two levels", "copies kept"), 60, check)


def traps(world: World) -> list[str]:
    """No signal where plain has none: neither by copies of what is no longer there, nor by our own arithmetic."""

    def check(mode, run, accounts):
        if mode == "copies kept" and not all(accounts[name].routed for name in ("dgemm", "dsymv", "zhemv")):
            return ["nothing routed"]

    modes = some("natural", "forced", "two levels", "in 64 KiB", "copies kept", "verified")
    modes["copies kept, fixed"] = MODES["copies kept"] | {"BLASLIFT_DECISION": "fixed"}
    return floats(world, "traps", modes, 40, check)


def faults_of_the_programs_own(world: World) -> list[str]:
    """Who asks for signals gets them, since such calls stay; where routes are forced none is raised."""
    def check(mode, run, accounts):
        said = "SIGFPE" in run.stdout
        if mode == "forced":
            return [] if not said and accounts["dgemm"].routed == 1 else [f"{run.stdout} {accounts}"]
        return [] if said else [f"no signal: {run.stdout}"]

    return floats(world, "fault", some("natural", "forced") | {"by decision": by_decision(world)}, LARGE, check)


def large_calls_with_traps(world: World) -> list[str]:
    """They stay, and say why; without traps the same calls go."""

    def check(mode, run, accounts):
        for name in ("dgemm", "dsyrk", "dgeqrf"):
            account = accounts[name]
            if not account.stayed[TRAPS] or not account.routed:
                yield f"{name}: {account.routed} routed, {dict(account.stayed)}"

    return floats(world, "traps", {"by decision": by_decision(world)}, LARGE, lambda *x: list(check(*x)))


def special_scalars(world: World) -> list[str]:
    """NaN, Inf and finite numbers are where the reference has them, for special scalars and operands, in all interfaces."""
    return by_kind(world, "special", {"forced": 2500, "two levels": 400, "in 1 KiB": 500, "verified": 800}, ALPHA)


def extreme_scalars(world: World) -> list[str]:
    """Scalars and operands at the ends of their range: what differs is what overflows, and verification says the same."""
    return by_kind(world, "extreme", {"forced": 1500, "two levels": 300, "verified": 400}, None)


def by_kind(world: World, kind: str, modes: dict[str, int], reason: str | None) -> list[str]:
    bench = bench_of(world)
    program = bench.program("differential")
    errors = []
    outcomes = {}
    for mode, calls in modes.items():
        outcomes[mode] = found = differential.measure(bench, program, mode, 7, 0, calls, kind, timeout=100)
        errors += [f"{mode}: {line}" for line in found.errors]
        # A chemv whose sums overflow before alpha makes them small.
        again = differential.measure(bench, program, mode, 20261125, 38343, 1, timeout=100)
        errors += [f"{mode}: {line}" for line in again.errors]
        if not found.routed or (reason and not found.stayed[reason]):
            errors.append(f"{mode}: {found.routed} routed, {dict(found.stayed)}")
    differential.table(outcomes)
    return errors


def differential_calls(world: World) -> list[str]:
    """10,000 random calls of all routines, in all modes, by a seed of this run's own and one that stays."""
    bench = bench_of(world)
    program = bench.program("differential")
    errors = []
    for seed in (1, int.from_bytes(os.urandom(4), "big")):
        outcomes = {}
        for mode in MODES:
            calls = differential.share(5000, mode, list(MODES))
            outcomes[mode] = differential.measure(bench, program, mode, seed, 0, calls, timeout=100)
            errors += [f"seed {seed}, {mode}: {line}" for line in outcomes[mode].errors]
        print(f"seed {seed}")
        differential.table(outcomes)
    return errors


def operands_nobody_reads(world: World) -> list[str]:
    """They may be anywhere, and of sizes whose products no integer holds; vectors of one element have any increment."""
    return floats(world, "far", some("natural", "forced", "two levels", "in 1 KiB", "copies kept", "verified"), 0,
                  lambda mode, run, accounts: [])
