"""Products by levels whose operands the guard refuses: the classical product's bits, and no byte moved twice."""

from __future__ import annotations

import json

import harness

N = 192
WILD = ("inf", "large", "row", "column", "graded")
LEVELS = {"BLASLIFT_STRASSEN": "2", "BLASLIFT_RESIDENCY": "off"}
PLAIN = {"BLASLIFT_STRASSEN": "off", "BLASLIFT_RESIDENCY": "off"}


def product(world) -> object:
    flags = ("-L" + str(harness.PROVIDERS["reference"][0]), "-l:libblas.so.3", "-lm")
    return world.compile("product.c", *flags)


def run(world, program, wild, settings, *, calls=1, beta="0.7", library=None):
    preload = harness.Preload.forced(library or world.lib, "host")
    preload = harness.Preload(preload.library, preload.settings | settings)
    environment = harness.provider_environment("reference")
    return harness.run([program, str(N), wild, str(calls), beta], environment=environment, preload=preload, timeout=60)


def account(done):
    return harness.accounts(done.reports)["dgemm"]


def result_errors(what, done) -> list[str]:
    if done.status or not done.stdout.startswith("bits "):
        return [f"{what}: status {done.status}, {done.stdout!r}, {done.stderr[-300:]!r}"]
    worst = float(done.stdout.split()[-1])
    return [] if worst <= 1 else [f"{what}: {worst} times the classical bound"]


def bytes_and_bits(world) -> list[str]:
    """The same bits and bytes as without levels; what is sound still goes by levels."""
    program = product(world)
    errors = []
    for beta in ("0", "0.7"):
        for wild in WILD:
            what = f"{wild}, beta {beta}"
            plain, refused = (run(world, program, wild, s, beta=beta) for s in (PLAIN, LEVELS))
            errors += result_errors(f"{what}, plain", plain) + result_errors(f"{what}, refused", refused)
            if errors:
                return errors
            if plain.stdout != refused.stdout:
                errors.append(f"{what}: {refused.stdout.strip()}, not {plain.stdout.strip()}")
            a, b = account(plain), account(refused)
            if (b.distrusted, sum(b.levels.values()), b.routed) != (1, 0, 1):
                errors.append(f"{what}: distrusted {b.distrusted}, by levels {dict(b.levels)}, routed {b.routed}")
            if (a.bytes_in, a.bytes_out) != (b.bytes_in, b.bytes_out):
                errors.append(f"{what}: bytes {b.bytes_in}, {b.bytes_out} and not {a.bytes_in}, {a.bytes_out}")
        sound = account(run(world, program, "nothing", LEVELS, beta=beta))
        if (sound.distrusted, dict(sound.levels)) != (0, {2: 1}):
            errors.append(f"sound, beta {beta}: distrusted {sound.distrusted}, by levels {dict(sound.levels)}")
    return errors


def little_memory(world) -> list[str]:
    """Where levels have to overwrite A and B, these come again; where nothing fits, nothing is refused."""
    program = product(world)
    errors = []
    operand = N * N * 8
    for room in (3, 4, 5, 8):
        settings = LEVELS | {"BLASLIFT_MEMORY": str(room * operand + 40 * N * 8)}
        for wild in WILD:
            for beta in ("0", "0.7"):
                done = run(world, program, wild, settings, beta=beta)
                errors += result_errors(f"{wild}, beta {beta}, room for {room}", done)
                if not errors and account(done).bytes_in > 2 * 3 * operand:
                    errors.append(f"{wild}, beta {beta}, room for {room}: {account(done).bytes_in} bytes")
    return errors


def failures(world) -> list[str]:
    """A device that fails at any operation of a refused product: the library underneath finishes it."""
    program = product(world)
    errors = []
    for wild in ("inf", "row"):
        for status in ("no_memory", "lost"):
            for at in (2, 5, 9, 17, 33, 60, 90, 120, 150):
                settings = LEVELS | {"INJECTED_FAULT": f"{at}:{status}"}
                done = run(world, program, wild, settings, calls=2, library=world.fault_lib)
                errors += result_errors(f"{wild}, {status} at {at}", done)
    return errors


def trace_says_so(world) -> list[str]:
    """The timeline shows which calls were refused, and that they went on without levels."""
    program = product(world)
    trace = world.scratch / "trace"
    done = run(world, program, "inf", LEVELS | {"BLASLIFT_TRACE": str(trace)}, calls=3)
    errors = result_errors("traced", done)
    if account(done).distrusted != 3:
        errors.append(f"distrusted {account(done).distrusted}")
    shown = harness.run([world.command, "report", trace, "--timeline", world.scratch / "timeline.json"])
    if shown.status:
        return [*errors, f"report: status {shown.status}, {shown.stderr}"]
    events = json.loads((world.scratch / "timeline.json").read_text())["traceEvents"]
    refused = [e for e in events if e.get("args", {}).get("badly scaled")]
    if len(refused) != 3:
        errors.append(f"{len(refused)} of 3 calls are shown as refused")
    return errors
