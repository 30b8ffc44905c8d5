"""Promise 4, forks: a child that inherits a device in use computes on the CPU; it, too, keeps its counts."""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path

import harness
from harness import Skip
from setting import FORCED, HOST, Setting, labelled, verdict_errors

FORKED = "in a forked child"

STAYED = {
    "parent": set(),
    "device": set(),
    "child": {FORKED},
    "child-left-by-_exit": {FORKED},
    "grand-child": {FORKED},
    "grand-child-left-by-_exit": {FORKED},
    "child-of-threads": {FORKED},
    "mixed": {"too small"},
    "cpu": {"too small"},
    "copying": {"too small", harness.HELPED},
    "copying-child": {FORKED},
}
"""Why calls stayed on the CPU, by what a process says that it is; nothing: they were all routed."""


def read_counters(s: Setting, folder: Path) -> list[dict]:
    """What the counter files in `folder` say, whoever left them and however. Threads that make the first calls of a
    process at once may leave several files, all but one of them empty: those are passed over, as blaslift's own readers do."""
    files = sorted(folder.iterdir())
    done = subprocess.run([s.programs / "counters", *files], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(f"counter files: {done.stderr}")
    said = [json.loads(line) for line in done.stdout.splitlines()]
    return [counters for counters in said if counters["routines"]]


def process_errors(comment: str, calls: int, found: dict) -> list[str]:
    """One process's counts against what it says it did."""
    total = harness.accounts([found])
    errors = harness.bookkeeping_errors(total, forced=False)
    if sum(account.calls for account in total.values()) != calls:
        errors.append(f"{calls} calls, counted {total}")
    for name, account in total.items():
        routed = not STAYED[comment] or (comment == "mixed" and name == "sgemm")
        if account.routed != (account.calls if routed else 0):
            errors.append(f"{name}: {account.routed} of {account.calls} calls routed")
        if not routed and set(account.stayed) - STAYED[comment]:
            errors.append(f"{name}: stayed for {dict(account.stayed)}")
    return errors


def forks(
    s: Setting, way: tuple[str, ...], settings: dict[str, str], processes: int, providers: tuple[str, ...] = ()
) -> list[str]:
    """Run `forks WAY` and compare each process's counter file, and its report if it left by exit, with what it said."""
    errors = []
    for provider in providers or s.providers:
        with tempfile.TemporaryDirectory(prefix="blaslift-counters-") as folder:
            counting = settings | {"BLASLIFT_INTERNAL_COUNTERS": folder}
            run = s.run("forks", *way, provider=provider, settings=counting, OMP_NUM_THREADS="3")
            found = verdict_errors(run)
            said = {}
            for line in run.stdout.splitlines():
                if line.startswith("process "):
                    _, pid, comment, calls = line.split()
                    said[int(pid)] = (comment, int(calls))
            counted = {counters["pid"]: counters for counters in read_counters(s, Path(folder))}
        reported = {report["pid"]: report for report in run.reports}
        by_exit = {pid for pid, (comment, _) in said.items() if "_exit" not in comment}
        if len(said) != processes or counted.keys() != said.keys():
            found.append(f"{processes} processes: {len(said)} told, {len(counted)} left counters")
        if way[0] != "while_threads_call" and (reported.keys() != by_exit or len(run.reports) != len(by_exit)):
            found.append(f"{len(by_exit)} processes left by exit, {len(run.reports)} reported")
        for pid in said.keys() & counted.keys():
            found += labelled(f"counters of {said[pid]}", process_errors(*said[pid], counted[pid]))
        for pid in said.keys() & reported.keys():
            found += labelled(f"report of {said[pid]}", process_errors(*said[pid], reported[pid]))
        errors += labelled(provider, found)
    return errors


def fork_after_use(s: Setting) -> list[str]:
    """The parent used the host backend and its threads: its children and theirs compute, with OpenMP of their own."""
    return forks(s, ("after_use",), FORCED, 6)


def fork_before_use(s: Setting) -> list[str]:
    """Nothing was called before the fork: the child may use the device, and the parent too."""
    return forks(s, ("before_use",), FORCED, 2) + forks(s, ("after_cpu_use",), HOST | {"BLASLIFT_FORCE": "sgemm"}, 2)


def fork_without_device(s: Setting) -> list[str]:
    """Nothing is worth routing: the child counts its own calls, also those that are merely forwarded."""
    return forks(s, ("without_device",), HOST, 2)


def fork_while_threads_call(s: Setting) -> list[str]:
    """200 forks (40 under ThreadSanitizer) while three threads are in routed calls: no child hangs.

    Over the reference: OpenBLAS, with which the host backend computes, holds a lock of its own in some calls, and a
    child that is forked meanwhile waits for it for ever, with blaslift and without.
    """
    if "address" in s.sanitizer:
        raise Skip("AddressSanitizer's allocator does not survive it: the child waits for a lock of another thread's")
    scarce = FORCED | {"BLASLIFT_MEMORY": "5M"}  # just enough for one large product at a time: the others wait
    count = 40 if s.sanitizer else 200
    return forks(s, ("while_threads_call", str(count)), scarce, count + 1, ("reference",))


def fork_with_helpers(s: Setting) -> list[str]:
    """Small copies start no thread, large ones do; children, which do not have it, make theirs alone."""
    return forks(s, ("copies",), HOST | {"BLASLIFT_FORCE": "dcopy"}, 21)


PROMISES = (fork_with_helpers, fork_after_use, fork_before_use, fork_without_device, fork_while_threads_call)
