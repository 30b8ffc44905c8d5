"""The promises for generalized eigenproblems beyond those of every routine: matrices that will not do, and eigenvalues of an
interval."""

from __future__ import annotations

import re

import harness
from eigen import as_underneath, of_intervals
from setting import HOST, Setting, labelled, told, verdict_errors

DRIVERS = ("gvd", "gv", "gvx")
FORCED = HOST | {"BLASLIFT_FORCE": ",".join(name + end for name in ("sy", "he") for end in DRIVERS)}
"""What the library calls meanwhile stays."""


def stay(s: Setting, what: str, reason: str, drivers: tuple[str, ...] = DRIVERS, checked: tuple[str, ...] = ()) -> list[str]:
    """@param checked  the drivers whose calls are also verified, by another library"""
    oracle = str(harness.PROVIDERS["reference"][1] / "liblapack.so.3")
    verified = {"checked": {"BLASLIFT_VERIFY": "all", "BLASLIFT_VERIFY_ORACLE": oracle}}
    errors = []
    for driver in drivers:
        errors += as_underneath(s, (what, driver), reason, verified if driver in checked else {}, "generalized", FORCED)
    return errors


def generalized_not_definite(s: Setting) -> list[str]:
    """A matrix B that turns out on the device not to be positive definite: all that has been written is put back, and the
    call ends as the library underneath leaves it, bit for bit, and with its info; with copies, and checked."""
    return stay(s, "not_definite", harness.NOT_DEFINITE, checked=DRIVERS)


def generalized_not_finite(s: Setting) -> list[str]:
    """The same of a matrix A that is not finite."""
    # What LAPACK's gvx leaves then is not always the same: it has read its workspaces.
    return stay(s, "not_finite", harness.NOT_CONVERGED, checked=("gvd", "gv"))


def generalized_interval(s: Setting) -> list[str]:
    """The eigenvalues of an interval, of all three types."""
    return of_intervals(s, ("interval", "gvx"), "generalized", FORCED)


def generalized_elsewhere(s: Setting) -> list[str]:
    """Where the device lacks what it takes, such a call stays and says why; in device memory, where nothing is taken back, info
    is LAPACK's of a matrix that is not definite, and 1 of one that is not finite."""
    errors = []
    for driver in DRIVERS:
        for what in ("not_definite", "not_finite"):
            plain = s.run("generalized", what, driver, preload=False)
            bare = s.run("generalized", what, driver, settings=FORCED, library=s.fault_library, INJECTED_FAULT="bare")
            errors += labelled(f"{what} {driver}, bare", verdict_errors(bare))
            if bare.stdout != plain.stdout:
                errors.append(f"{what} {driver}, bare: other results")
            # Arrays of integers are not there, so that of gvx only large matrices are.
            least = LEAST if driver == "gvx" else 0
            there = s.run("generalized", what, driver, settings=FORCED, library=s.fault_library, INJECTED_DEVICE_MEMORY=f"{least}:{1 << 40}")
            errors += labelled(f"{what} {driver}, in device memory", verdict_errors(there))
            seen = 0
            for line in there.stdout.splitlines():
                found = re.search(r"(?:pivot (\d+): )?\S+ \S+ (\d+) of type 1: info (-?\d+),", line)
                if not found or (driver == "gvx" and found[2] != "40"):
                    continue
                seen += 1
                due = int(found[2]) + int(found[1]) if found[1] else 1
                errors += [f"{what} {driver}, in device memory: {line}"] if int(found[3]) != due else []
            for name, calls in told(plain).items():
                stayed, account = harness.accounts(bare.reports)[name].stayed, harness.accounts(there.reports)[name]
                reasons = account.stayed[harness.NOT_CONVERGED] + account.stayed[harness.NOT_DEFINITE]
                if stayed[harness.NO_ROUTE] != calls or account.routed + reasons != calls or not account.routed:
                    errors.append(f"{name}: {calls} calls, bare {stayed}, in device memory {account}")
            print(f"{what} {driver}: {seen} calls in device memory")
            errors += [] if seen else ["nothing was called"]
    return errors[:60]


def generalized_both_memories(s: Setting) -> list[str]:
    """B alone in device memory, and not definite: what is in the host's memory is what it was."""
    size = 8 * (41 * 39 + 40)  # a B of order 40 in d and c; A and Z have other rows
    errors = []
    for driver in DRIVERS:
        plain = s.run("generalized", "not_definite", driver, preload=False)
        run = s.run("generalized", "not_definite", driver, settings=FORCED, library=s.fault_library, INJECTED_DEVICE_MEMORY=f"{size}:{size}")
        errors += labelled(driver, verdict_errors(run))
        lines = [[line.split(", B ") for line in r.stdout.splitlines() if ", B " in line] for r in (plain, run)]
        there = 0
        for (its, _), (ours, changed), (_, as_it_was) in zip(*lines, lines[0]):
            errors += [f"{driver}: {ours}, not {its}"] if ours != its else []
            there += re.search(r": [dc]\S+ \S+ 40 of", its) is not None and changed != as_it_was
        for name, calls in told(plain).items():
            account = harness.accounts(run.reports)[name]
            if account.routed + account.stayed[harness.NOT_DEFINITE] != calls or (name[0] in "dc") != bool(account.routed):
                errors.append(f"{name}: {calls} calls, {account}")
        print(f"{driver}: {there} calls with B in device memory")
        errors += [] if there else [f"{driver}: no B was in device memory"]
    return errors[:60]


LEAST = 200
"""Bytes of what is in device memory, and integers of as many eigenvectors are not."""

PROMISES = (
    generalized_not_definite,
    generalized_not_finite,
    generalized_interval,
    generalized_elsewhere,
    generalized_both_memories,
)
