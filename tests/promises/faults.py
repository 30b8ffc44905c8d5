"""Promise 1: no result is ever lost, at whatever device operation the device fails."""

from __future__ import annotations

from collections import Counter

import harness
from harness import Run
from setting import FORCED, LEVELS, SCARCE, Setting, labelled, report_errors, verdict_errors

FAILED = "device failed, finished on the CPU"
NO_ROOM = "no room on the device"
NO_DEVICE = "no usable device"

ELEMENT = {"s": 4, "d": 8, "c": 8, "z": 16}
"""Bytes."""

CASES = [
    (precision, ops, sizes, beta, elements * ELEMENT[precision])
    for ops, sizes, elements, betas in (
        ("NT", ("23", "17", "31"), 1024, "0 -0.5 0 -0.5"),
        ("CN", ("9", "14", "6"), 512, "-0.5 0 -0.5 0"),
    )
    for precision, beta in zip("sdcz", betas.split())
] + [("d", "TN", ("23", "17", "31"), "1", 0), ("z", "NC", ("1", "40", "50"), "1", 3000)]
"""Precision, ops, m n k, beta, BLASLIFT_MEMORY (0: unlimited): one block and many, with pieces smaller than a block."""

BY_LEVELS = -1
"""As BLASLIFT_MEMORY: unlimited, and the product by levels."""

CASES += [("d", "NT", ("5", "4", "6"), "-0.5", BY_LEVELS), ("c", "CN", ("4", "6", "5"), "0", BY_LEVELS)]

FEW_CASES = [CASES[index] for index in (0, 5, 6, 3)]
"""One per precision, for sanitizers, under which each of the hundreds of processes takes long."""


def child_errors(fault: str, report: dict, routine: str, wanted_bytes: float, *, by_levels: bool) -> list[str]:
    """What the report of the child with this fault must say about its two calls."""
    account = harness.accounts([report])[routine]
    stayed = dict(account.stayed)
    errors = harness.bookkeeping_errors({routine: account}, forced=False)
    if account.calls != 2:
        errors.append(f"{account.calls} calls, not 2")
    if fault == "0":
        good = account.routed == 2 and account.bytes_out == wanted_bytes
    elif fault == "never":
        good = stayed == {NO_DEVICE: 2} and "does not open" in report["detail"]
    elif "no_memory" in fault:  # the device stays usable
        good = account.routed == 1 and stayed in ({NO_ROOM: 1}, {FAILED: 1})
        # Without levels less memory will do, so there is a second try.
        good = good or (by_levels and account.routed == 2 and not stayed)
    else:  # the first call is done before, or the second one finds no device
        good = stayed in ({FAILED: 1}, {FAILED: 1, NO_DEVICE: 1}) and "was lost" in report["detail"]
    if not good:
        errors.append(f"routed {account.routed}, stayed {stayed}, detail {report['detail']!r}")
    return errors


def fault_errors(run: Run, bytes_out: int, label: str, copies: str = "off") -> list[str]:
    """What the reports of children with each fault must say about their two calls of whatever routine.

    `bytes_out`: what both bring back. With copies a device may be lost where it was not needed any more.
    """
    faults = [line.split()[1] for line in run.stdout.splitlines() if line.startswith("child ")]
    found = [error for error in verdict_errors(run) if "stderr" not in error]
    if len(run.reports) != len(faults):
        found.append(f"{len(run.reports)} reports from {len(faults)} children")
    struck = 0
    for fault, report in zip(faults, run.reports):
        total = harness.accounts([report])
        found += labelled(fault, harness.bookkeeping_errors(total, forced=False))
        total = harness.without_gemv_of_lapack(total, {})
        stayed = sum((account.stayed for account in total.values()), Counter())
        calls, routed = (sum(getattr(account, what) for account in total.values()) for what in ("calls", "routed"))
        whole = routed == 2 and sum(account.bytes_out for account in total.values()) == bytes_out
        good = calls == 2 and set(stayed) <= {FAILED, NO_ROOM, NO_DEVICE}
        good = good and (fault != "0" or whole) and (fault != "never" or stayed[NO_DEVICE] == 2)
        if not good or ("lost" in fault and copies == "off" and not stayed):
            found.append(f"{fault}: {total}")
        struck += bool(stayed)
    if struck < 0.4 * len(faults):
        found.append(f"only {struck} of {len(faults)} faults struck")
    print(f"{label}: {len(faults)} children, {struck} struck")
    return found


def faults_at_every_k(s: Setting) -> list[str]:
    """Each operation of two products fails in turn: lost, out of memory, with garbage in a slot or without."""
    errors = []
    cases = CASES if not s.sanitizer else FEW_CASES[1:2] if "thread" in s.sanitizer else FEW_CASES
    for precision, ops, sizes, beta, memory in cases:
        label = f"{precision}gemm {ops} {'x'.join(sizes)} beta {beta} memory {memory}"
        settings = SCARCE | {"BLASLIFT_MEMORY": str(memory)} if memory > 0 else LEVELS if memory else FORCED
        if not harness.AT_LENGTH:  # copies' self-test is half of a child's time
            settings = settings | {"BLASLIFT_RESIDENCY": "off"}
        run = s.run("faults", precision, ops, *sizes, beta, settings=settings, library=s.fault_library, timeout=200)
        faults = [line.split()[1] for line in run.stdout.splitlines() if line.startswith("child ")]
        found = verdict_errors(run)
        if len(run.reports) != len(faults):
            found.append(f"{len(run.reports)} reports from {len(faults)} children")
        wanted_bytes = 2.0 * int(sizes[0]) * int(sizes[1]) * ELEMENT[precision]
        partly = 0
        for fault, report in zip(faults, run.reports):
            wrong = child_errors(fault, report, f"{precision}gemm", wanted_bytes, by_levels=memory == BY_LEVELS)
            found += labelled(fault, wrong)
            out = report["routines"][f"{precision}gemm"]["bytes_out"]
            partly += 0 < out < wanted_bytes and out != wanted_bytes / 2
        if memory == BY_LEVELS and not run.reports[0]["routines"][f"{precision}gemm"]["levels"]:
            found.append("no product was computed by levels")
        if memory > 0 and not partly:
            found.append("no fault struck between two commits: the products were not cut into pieces")
        print(f"{label}: {len(faults)} children, {partly} of them failed with a part of C committed")
        errors += labelled(label, found)
    return errors


def faults_with_copies(s: Setting) -> list[str]:
    """The same while the second product uses the first one's operands on the device: whatever fails, a copy that is
    not whole is never used."""
    errors = []
    settings = FORCED | {"BLASLIFT_RESIDENCY": "always", "BLASLIFT_MEMORY": "256K"}
    for precision, ops, sizes, beta in (("d", "NT", ("23", "17", "31"), "-0.5"), ("c", "CN", ("9", "14", "6"), "0")):
        label = f"{precision}gemm {ops} {'x'.join(sizes)} beta {beta}"
        run = s.run("faults", precision, ops, *sizes, beta, settings=settings, library=s.fault_library, timeout=200)
        faults = [line.split()[1] for line in run.stdout.splitlines() if line.startswith("child ")]
        found = verdict_errors(run)
        if len(run.reports) != len(faults):
            found.append(f"{len(run.reports)} reports from {len(faults)} children")
        struck = spared = 0
        for fault, report in zip(faults, run.reports):
            account = harness.accounts([report])[f"{precision}gemm"]
            found += labelled(fault, harness.bookkeeping_errors({f"{precision}gemm": account}, forced=False))
            # No memory for a copy costs nothing but the copy.
            if fault != "never" and not set(account.stayed) <= {FAILED, NO_ROOM, NO_DEVICE}:
                found.append(f"{fault}: stayed {dict(account.stayed)}")
            struck += bool(account.stayed)
            spared += report["routines"][f"{precision}gemm"]["bytes_spared"] > 0
        if struck < 0.4 * len(faults):  # the others hit a copy, or a wait that was over
            found.append(f"only {struck} of {len(faults)} faults struck")
        # These operands share their page with others of the heap, which a sanitizer writes all the time.
        if run.reports and run.reports[0]["residency"] == "on" and not spared and not s.sanitizer:
            found.append("no child used a copy")
        print(f"{label}: {len(faults)} children, {struck} struck, {spared} used copies")
        errors += labelled(label, found)
    return errors


def faults_among_threads(s: Setting) -> list[str]:
    """A fault in the middle of 16 threads' calls: every result is right, and every call is accounted for."""
    errors = []
    brief = s.sanitizer and not harness.AT_LENGTH
    for at in (1, 17, 151) if brief else (1, 2, 17, 150, 151, 152, 1000):
        for way in ("lost", "no_memory:torn"):
            settings = SCARCE | {"INJECTED_FAULT": f"{at}:{way}"}
            run = s.run("threads", "check", settings=settings, library=s.fault_library)
            found = verdict_errors(run) + report_errors(run, routed=None, stayed={FAILED, NO_ROOM, NO_DEVICE})
            struck = sum(sum(a.stayed.values()) for a in harness.accounts(run.reports).values())
            if not struck:
                found.append("nothing failed")
            errors += labelled(f"{at}:{way}", found)
    return errors


PROMISES = (faults_at_every_k, faults_with_copies, faults_among_threads)
