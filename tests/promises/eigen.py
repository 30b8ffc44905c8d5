"""The promises for eigenproblems beyond those of every routine: a matrix that is not finite, and eigenvalues of an interval."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import zip_longest

import harness
from harness import Run
from setting import HOST, Setting, labelled, told, verdict_errors

FORCED = HOST | {"BLASLIFT_FORCE": ",".join(name + end for name in ("sy", "he") for end in ("evd", "ev", "evr", "evx"))}
"""What the library calls meanwhile stays."""

DRIVERS = ("evd", "ev", "evx")
"""LAPACK's own evr does not come to an end of a matrix that is not finite."""


def other_lines(run: Run, plain: Run) -> list[str]:
    """Of what they print, where they differ."""
    theirs, ours = plain.stdout.splitlines(), run.stdout.splitlines()
    return [f"{our}, not {its}" for its, our in zip_longest(theirs, ours) if its != our]


def as_underneath(
    s: Setting,
    arguments: tuple[str, ...],
    reason: str,
    modes: dict[str, dict[str, str]],
    program: str = "eigen",
    forced: dict[str, str] = FORCED,
    differences: Callable[[Run, Run], list[str]] = other_lines,
) -> list[str]:
    """Calls that stay for that reason end as without blaslift, bit for bit, with and without copies."""
    errors = []
    for provider in s.providers:
        plain = s.run(program, *arguments, provider=provider, preload=False)
        errors += labelled(f"{provider} {arguments} without blaslift", verdict_errors(plain))
        for mode, settings in ({"natural": {}, "copies": {"BLASLIFT_RESIDENCY": "always"}} | modes).items():
            if mode in modes and not s.takes(provider):
                continue
            run = s.run(program, *arguments, provider=provider, settings=forced | settings)
            found = verdict_errors(run)
            found += differences(run, plain)[:5]
            accounts = harness.accounts(run.reports)
            verified = [r["routines"][name].get("verified", {}) for r in run.reports for name in told(run)]
            if mode == "checked" and (any(v["wrong"] for v in verified) or not all(v["checked"] for v in verified)):
                found.append(f"checked: {verified}")
            for name, calls in told(run).items():
                if (accounts[name].calls, dict(accounts[name].stayed)) != (calls, {reason: calls}):
                    found.append(f"{name}: {accounts[name]}")
            errors += labelled(f"{provider} {arguments} {mode}", found)
        print(f"{provider}: {told(plain)}")
    return errors


def eigen_not_finite(s: Setting) -> list[str]:
    """A matrix that turns out not to be finite on the device ends as the library underneath leaves it, bit for bit, and with
    its info: with and without copies, and checked."""
    oracle = str(harness.PROVIDERS["reference"][1] / "liblapack.so.3")
    checked = {"checked": {"BLASLIFT_VERIFY": "all", "BLASLIFT_VERIFY_ORACLE": oracle}}
    # What LAPACK's evx leaves is not always the same: it has read its workspaces.
    modes = {driver: checked if driver != "evx" else {} for driver in DRIVERS}
    return [error for driver in DRIVERS for error in as_underneath(s, (driver,), harness.NOT_CONVERGED, modes[driver])]


def of_intervals(s: Setting, arguments: tuple[str, ...], program: str, forced: dict[str, str]) -> list[str]:
    """Eigenvalues of an interval are computed on the device: as many as without blaslift, with copies, and none wrong."""

    def told_of(run: Run) -> list[str]:
        return re.findall(r"^(.*info \d+, m \d+), ", run.stdout, re.MULTILINE)

    oracle = str(harness.PROVIDERS["reference"][1] / "liblapack.so.3")
    modes = {
        "natural": {},
        "copies": {"BLASLIFT_RESIDENCY": "always"},
        "checked": {"BLASLIFT_VERIFY": "all"},
        "checked by another": {"BLASLIFT_VERIFY": "all", "BLASLIFT_VERIFY_ORACLE": oracle},
    }
    errors = []
    for provider in s.providers:
        plain = s.run(program, *arguments, provider=provider, preload=False)
        errors += labelled(f"{provider} {arguments} without blaslift", verdict_errors(plain))
        for mode, settings in modes.items():
            if mode.startswith("checked") and not s.takes(provider):
                continue
            run = s.run(program, *arguments, provider=provider, settings=forced | settings)
            found = verdict_errors(run)
            found += [f"{our}, not {its}" for its, our in zip(told_of(plain), told_of(run), strict=True) if its != our][:5]
            accounts = harness.accounts(run.reports)
            for name, calls in told(run).items():
                verified = [r["routines"][name].get("verified", {}) for r in run.reports]
                if mode.startswith("checked") and [(v["checked"], v["wrong"]) for v in verified] != [(calls, 0)]:
                    found.append(f"{name}: {verified}")
                if (accounts[name].calls, accounts[name].routed) != (calls, calls):
                    found.append(f"{name}: {accounts[name]}")
            errors += labelled(f"{provider} {arguments} {mode}", found)
        print(f"{provider}: {told(plain)}, {len(told_of(plain))} intervals")
        if len(set(told_of(plain))) < 12:
            errors.append(f"{provider}: too few intervals")
    # In device memory neither side can compute it, and it says so.  Small matrices are not there.
    there = s.run(program, *arguments, settings=forced, library=s.fault_library, INJECTED_DEVICE_MEMORY=f"{4 * LEAST}:{1 << 40}")
    lines = [line for line in there.stdout.splitlines() if ": info " in line]
    undone = [line for line in lines if "info -99, m -99" in line]
    stayed = sum(account.stayed[harness.OF_INTERVAL] for account in harness.accounts(there.reports).values())
    if there.status != 0 or not undone or stayed != len(undone) or harness.OF_INTERVAL not in there.stderr:
        errors.append(f"{arguments} in device memory: status {there.status}, {len(undone)} of {len(lines)} undone, {stayed} stayed, {there.stderr[:300]}")
    return errors


def eigen_interval(s: Setting) -> list[str]:
    """How many eigenvalues an interval has is known with them, and their vectors are given where the caller has room."""
    return [error for driver in ("evr", "evx") for error in of_intervals(s, ("interval", driver), "eigen", FORCED)]


def eigen_elsewhere(s: Setting) -> list[str]:
    """Where the device lacks the library that it takes, such a call stays and says why; in device memory, where nothing is
    taken back, info is 1."""
    errors = []
    for driver in DRIVERS:
        plain = s.run("eigen", driver, preload=False)
        bare = s.run("eigen", driver, settings=FORCED, library=s.fault_library, INJECTED_FAULT="bare")
        errors += labelled(f"{driver}, bare", verdict_errors(bare))
        if bare.stdout != plain.stdout:
            errors.append(f"{driver}, bare: other results")
        # Arrays of integers are not there.
        there = s.run("eigen", driver, settings=FORCED, library=s.fault_library, INJECTED_DEVICE_MEMORY=f"{LEAST if driver == 'evx' else 0}:{1 << 40}")
        errors += labelled(f"{driver}, in device memory", verdict_errors(there))
        lines = [line for line in there.stdout.splitlines() if ": info " in line]
        said = ": info 1, m 0," if driver == "evx" else ": info 1,"
        errors += [f"{driver}, in device memory: {line}" for line in lines if said not in line and (driver != "evx" or " 40, " in line)][:5]
        for name, calls in told(plain).items():
            stayed, account = harness.accounts(bare.reports)[name].stayed, harness.accounts(there.reports)[name]
            if stayed[harness.NO_ROUTE] != calls or account.routed + account.stayed[harness.NOT_CONVERGED] != calls or not account.routed:
                errors.append(f"{name}: {calls} calls, bare {stayed}, in device memory {account}")
        print(f"{driver}: {len(lines)} calls in device memory")
        errors += [] if lines else ["nothing was called"]
    return errors


LEAST = 200
"""Bytes of what is in device memory, and integers of as many eigenvectors are not."""

PROMISES = (eigen_not_finite, eigen_interval, eigen_elsewhere)
