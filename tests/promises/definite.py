"""The promises for factors beyond those of every routine: a matrix that is not positive definite, or singular; and where
the device lacks what is needed."""

from __future__ import annotations

import re

import harness
from setting import HOST, Setting, labelled, told, verdict_errors

PROGRAMS = {
    "potrf": ("definite", harness.NOT_DEFINITE, "40K"),
    "posv": ("definite", harness.NOT_DEFINITE, "200K"),
    "getrf": ("singular", harness.SINGULAR, "300K"),
    "gesv": ("singular", harness.SINGULAR, "300K"),
}
"""The program of each routine, why its calls stay, and device memory for several panels."""


def as_underneath(s: Setting, routine: str, what: str = "", providers: tuple[str, ...] = ()) -> list[str]:
    """A matrix that turns out on the device to have no such factors ends as the library underneath leaves it, bit for
    bit, with its info and pivots: in one part, in several, and with copies. `what` is what the program is asked for."""
    program, reason, little = PROGRAMS[routine]
    errors = []
    forced = HOST | {"BLASLIFT_FORCE": routine}  # what the library calls meanwhile stays
    modes = {"one part": {}, "little memory": {"BLASLIFT_MEMORY": little}, "copies": {"BLASLIFT_RESIDENCY": "always"}}
    # What the CPU has left half-made is not taken for a wrong result.
    modes["checked"] = {"BLASLIFT_VERIFY": "all", "BLASLIFT_VERIFY_ORACLE": str(harness.PROVIDERS["reference"][1] / "liblapack.so.3")}
    for provider in providers or s.providers:
        plain = s.run(program, what or routine, provider=provider, preload=False)
        errors += labelled(f"{provider} without blaslift", verdict_errors(plain))
        errors += labelled(f"{provider} without blaslift", pivot_errors(plain.stdout, provider, routine))
        for mode, settings in modes.items():
            run = s.run(program, what or routine, provider=provider, settings=forced | settings)
            found = verdict_errors(run)
            if run.stdout != plain.stdout:
                theirs, ours = plain.stdout.splitlines(), run.stdout.splitlines()
                found += [f"{ours}, not {its}" for its, ours in zip(theirs, ours) if its != ours][:5]
            accounts = harness.accounts(run.reports)
            verified = [r["routines"][name].get("verified", {}) for r in run.reports for name in told(run)]
            if mode == "checked" and (any(v["wrong"] for v in verified) or not all(v["checked"] for v in verified)):
                found.append(f"checked: {verified}")
            for name, calls in told(run).items():
                if (accounts[name].calls, dict(accounts[name].stayed)) != (calls, {reason: calls}):
                    found.append(f"{name}: {accounts[name]}")
            errors += labelled(f"{provider} {routine} {mode}", found)
        print(f"{provider}: {told(plain)}")
    return errors


def pivot_errors(stdout: str, provider: str, routine: str) -> list[str]:
    """What LAPACK says of them: the number of the first pivot that will not do. OpenBLAS lets NaN pass; with LU all do."""
    said = re.findall(r"pivot (\d+) of (\S+).*: info (-?\d+)", stdout)
    counted = {"reference": {"potrf", "posv", "getrf", "gesv"}}.get(provider, {"getrf", "gesv"})
    if routine in ("getrf", "gesv"):
        said = [line for line in said if line[1] == "0"]
    wrong = [line for line in said if line[0] != line[2]] if routine in counted else []
    return [f"{provider} says {wrong[:5]}"] if wrong or not said else []


def not_definite(s: Setting) -> list[str]:
    return as_underneath(s, "potrf") + as_underneath(s, "posv")


def singular(s: Setting) -> list[str]:
    # Without right-hand sides OpenBLAS makes no factors.
    return as_underneath(s, "getrf") + as_underneath(s, "gesv") + as_underneath(s, "gesv", "gesv_of_nothing", ("reference",))


def singular_in_device_memory(s: Setting) -> list[str]:
    """There nothing is taken back: with the first zero pivot as info, nothing beside the matrices is written, and pivots
    are rows.  A right-hand side in the host's memory is what it was."""
    errors = []
    for routine in ("getrf", "gesv"):
        plain = s.run("singular", routine, preload=False)
        # Pivots of at most 90 columns are in the host's memory, and small matrices are: with 5000 all of B.
        for memory, least in (("64M", 400), ("300K", 400), ("64M", 5000)):
            settings = HOST | {"BLASLIFT_FORCE": routine, "BLASLIFT_MEMORY": memory}
            run = s.run("singular", routine, settings=settings, library=s.fault_library, INJECTED_DEVICE_MEMORY=f"{least}:{1 << 40}")
            errors += labelled(f"{routine} {memory} {least}", verdict_errors(run))
            zeros = [[line.split(", ")[0] for line in r.stdout.splitlines() if " of 0 in " in line] for r in (plain, run)]
            if zeros[0] != zeros[1] or not zeros[0]:
                errors += [f"{routine} {memory}: {ours}, not {its}" for its, ours in zip(*zeros) if its != ours][:5]
            for name, account in harness.accounts(run.reports).items():
                if name in told(run) and (set(account.stayed) - {harness.SINGULAR} or account.routed < 0.5 * account.calls):
                    errors.append(f"{name} {memory}: {account}")
            if not told(run):
                errors.append(f"{routine} {memory}: called nothing")
    return errors


def bare_device(s: Setting) -> list[str]:
    """Where the device lacks the library that a routine needs, its calls stay, and say why."""
    errors = []
    for routine, (program, why, _) in PROGRAMS.items():
        settings = HOST | {"BLASLIFT_FORCE": f"{routine},gemm"}
        plain = s.run(program, routine, preload=False)
        for fault, reason in (("bare", harness.NO_ROUTE), ("0", why)):
            run = s.run(program, routine, settings=settings, library=s.fault_library, INJECTED_FAULT=fault)
            errors += labelled(f"{routine} {fault}", verdict_errors(run))
            if run.stdout != plain.stdout:
                errors.append(f"{routine} {fault}: other results")
            accounts = harness.accounts(run.reports)
            for name, calls in told(run).items():
                if accounts[name].stayed[reason] != calls:
                    errors.append(f"{fault} {name}: {accounts[name]}")
    return errors


def pivots_in_device_memory(s: Setting) -> list[str]:
    """The CPU works with the pivots, so of calls whose pivots are in device memory, none is computed, and each says so."""
    errors = []
    # With the matrices, or alone: they are the smallest there (least_beside_pivots).
    for most in (1 << 40, 399):
        for routine in ("getrf", "getrs", "gesv", "getri"):
            run = s.run("suite", routine, "semantics", "12", settings=HOST | {"BLASLIFT_FORCE": routine},
                        library=s.fault_library, INJECTED_DEVICE_MEMORY=f"0:{most}")
            errors += [f"{routine}, {most}: {error}" for error in harness.left_undone_errors(run, told(run))]
    return errors


PROMISES = (not_definite, singular, singular_in_device_memory, bare_device, pivots_in_device_memory)
