"""The promises for factors: those that stay, so that what is solved with them moves right-hand sides alone, and their
inverse nothing on the way in; and LU and linear systems that the device has no room for."""

from __future__ import annotations

import harness
from harness import Skip
from setting import FORCED, Setting, labelled, told, verdict_errors

ORDER, COLUMNS, ROUNDS = 400, 2, 5
MATRIX = 8 * ORDER * ORDER
AT_MOST = {"dgetrs": 8 * ORDER * COLUMNS, "dpotrs": 8 * ORDER * COLUMNS, "dgecon": 0, "dpocon": 0, "dgetri": 0, "dpotri": 0}
"""Bytes of operands that a call may move in: right-hand sides."""


def factors_stay(s: Setting) -> list[str]:
    """Solutions, condition numbers and inverses after getrf and potrf find the factors where these have left them, each time; without
    copies, and in a program that never solves, all is as right."""
    errors = []
    for provider in s.providers:
        run = s.run("factors", str(ROUNDS), "solve", provider=provider, settings=FORCED)
        errors += labelled(provider, verdict_errors(run))
        accounts = harness.accounts(run.reports)
        if [report for report in run.reports if report.get("residency", "on") != "on"]:
            raise Skip("copies cannot be kept here")
        for name, calls in told(run).items():
            account = accounts[name]
            if (account.calls, account.routed) != (calls, calls):
                errors.append(f"{provider} {name}: {account}")
            if account.bytes_in > calls * AT_MOST.get(name, MATRIX):
                errors.append(f"{provider} {name} moved {account.bytes_in} bytes in {calls} calls")
        off = s.run("factors", str(ROUNDS), "solve", provider=provider, settings=FORCED | {"BLASLIFT_RESIDENCY": "off"})
        errors += labelled(f"{provider} without copies", verdict_errors(off))
        for name, account in harness.accounts(off.reports).items():
            if account.bytes_in < account.calls * MATRIX / 2:
                errors.append(f"{provider} {name} moved only {account.bytes_in} bytes without copies")
        errors += labelled(f"{provider} without solutions", verdict_errors(s.run("factors", "3", "leave", provider=provider, settings=FORCED)))
    return errors


def in_parts(s: Setting, member: str, names: tuple[str, ...], elements, memories=(("460K", True),)) -> list[str]:
    """Calls of order 240 to 263 go through a device of 460 KB in parts, which move more than once."""
    errors = []
    for most, sent_again in memories:
        run = s.run("suite", member, "large", "3", "240", settings=FORCED | {"BLASLIFT_MEMORY": most, "BLASLIFT_VERIFY": "all"})
        accounts = harness.accounts(run.reports)
        found = verdict_errors(run) + harness.bookkeeping_errors(accounts, forced=False)
        for name in names:
            account = accounts[name]
            once = (16 if name[0] == "z" else 8) * elements(264, 264)
            if not account.routed or account.routed != account.calls or (account.bytes_in > account.calls * once) != sent_again:
                found.append(f"{name}: {account}")
            checked = run.reports[0]["routines"][name]["verified"]
            if checked["wrong"] or checked["checked"] != account.routed or checked["repeated"] != account.routed:
                found.append(f"{name}: {checked}, {run.reports[0]['worst'][:3]}")
        errors += labelled(f"{member} with {most}", found)
    return errors


def lu_in_parts(s: Setting) -> list[str]:
    """LU of what is larger than the device's memory goes through it in parts, L more than once, and is right, also if any
    operation fails."""
    errors = in_parts(s, "getrf", ("dgetrf", "cgetrf", "zgetrf"), lambda n, _: n * n, (("460K", True), ("64M", False)))
    run = s.run("suite", "getrf", "faults", "z", "3", "120", "121", settings=FORCED | {"BLASLIFT_MEMORY": "200K", "BLASLIFT_RESIDENCY": "off"},
                library=s.fault_library, timeout=200)
    errors += [f"faults: {error}" for error in verdict_errors(run) if "stderr" not in error]
    struck = [line for line in run.stdout.splitlines() if line.startswith("child ")]
    print(f"{len(struck)} operations failed in turn")
    if len(struck) < 100:
        errors.append(f"only {len(struck)} operations, as if all of A were there at once")
    return errors


def systems_in_parts(s: Setting) -> list[str]:
    """Linear systems, also those whose matrix is factored: the factors go through it once more for each panel of right-hand sides."""
    errors = []
    for member in ("gesv", "posv", "getrs", "potrs"):
        errors += in_parts(s, member, tuple(f"{precision}{member}" for precision in "dc"), lambda n, nrhs: n * n + n * nrhs)
    return errors


PROMISES = (factors_stay, lu_in_parts, systems_in_parts)
