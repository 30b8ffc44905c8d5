"""Many threads that call at once: bench/callers.c, each with operands of its own, whose results it checks."""

from __future__ import annotations

import json
from pathlib import Path

import harness

CALLERS = Path(__file__).resolve().parents[3] / "bench" / "callers.c"


def run_callers(world, preload: harness.Preload, threads: int, n: int, calls: int) -> tuple[list[str], harness.Account]:
    """What is wrong with the results or the counters, and dgemm's account."""
    program = world.compile(str(CALLERS), "-l:libblas.so.3", "-lpthread", "-lm", to="callers")
    harness.check_provider(program, "openblas")
    run = harness.run(
        [program, str(threads), str(n), str(calls)],
        environment=harness.provider_environment("openblas"),
        preload=preload,
        timeout=100,
    )
    if run.status:
        return [f"status {run.status}: {run.stdout}{run.stderr}"], harness.Account()
    errors = [] if json.loads(run.stdout)["wrong"] == 0 else [f"wrong results: {run.stdout}"]
    total = harness.accounts(run.reports)
    errors += harness.bookkeeping_errors(total, forced="BLASLIFT_FORCE" in preload.settings)
    account = total["dgemm"]
    if account.calls != threads * calls:
        errors.append(f"{account.calls} calls counted, not {threads * calls}")
    return errors, account


def crowd_is_right(world) -> list[str]:
    """More callers than any number from which on they move their bytes themselves, with and without copies that stay."""
    errors = []
    for settings in ({"BLASLIFT_RESIDENCY": "off"}, {"BLASLIFT_RESIDENCY": "always"}, {"BLASLIFT_MEMORY": "4M"}):
        preload = harness.Preload.forced(world.lib, "host")
        preload.settings.update(settings)
        wrong, account = run_callers(world, preload, threads=12, n=330, calls=6)
        errors += [f"{settings}: {line}" for line in wrong]
        if account.routed != account.calls:
            errors.append(f"{settings}: {account}")
    return errors


def slow_device_is_left(world) -> list[str]:
    """A device that is predicted to be fast and takes 100 ms a product, on a busy machine, too, longer than the CPU, gets the calls that teach that, and hardly any after."""
    profile = world.scratch / "profile"
    profile.write_text("profile 1\nlatency_seconds 1e-6\nstartup_seconds 1e-6\nin_rate 1e13\nout_rate 1e13\ndgemm_rate 6e10\n")
    settings = {
        "BLASLIFT_BACKEND": "host",
        "BLASLIFT_PROFILE": str(profile),
        "BLASLIFT_RESIDENCY": "off",
        "INJECTED_ALGORITHMS": "slow:100000",
    }
    threads, calls = 8, 400
    errors, account = run_callers(world, harness.Preload(world.fault_lib, settings), threads=threads, n=260, calls=calls)
    # Of each load the first four calls times the callers are not learned from: 4 + 8 + 16 + 32 of up to eight.
    if not 8 <= account.routed <= threads * calls // 10:
        errors.append(f"{account.routed} of {account.calls} calls on a device that is slow: {account}")
    return errors
