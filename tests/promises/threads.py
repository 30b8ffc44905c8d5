"""Promise 4, threads: any number may call at once, and the process may end meanwhile."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path

from forks import read_counters
from setting import FORCED, HOST, SCARCE, Setting, labelled, report_errors, verdict_errors

REPETITIONS = 50

MODEST = FORCED | {"BLASLIFT_MEMORY": "1M"}
"""Room for all threads' operands at once, and slots of modest size: a poisoned build fills them in every call."""


def ways(s: Setting) -> dict[str, tuple[str, ...]]:
    """The threads call from the program itself, or from a plugin that brings the BLAS."""
    return {"program": ("threads",), "plugin": ("opener", str(s.programs / "plugin.so"))}


def threads_16(s: Setting) -> list[str]:
    """16 threads with stacks of 64 KiB make the first calls of a process at once, then an OpenMP team calls.
    Their counts are in the process's file as in its report."""
    errors = []
    for provider in s.providers:
        for mode, settings in {"natural": HOST, "forced": MODEST, "in blocks": SCARCE}.items():
            for way, command in ways(s).items():
                with tempfile.TemporaryDirectory(prefix="blaslift-counters-") as folder:
                    counting = settings | {"BLASLIFT_INTERNAL_COUNTERS": folder}
                    run = s.run(*command, "check", provider=provider, settings=counting, OMP_NUM_THREADS="8")
                    counted = read_counters(s, Path(folder))
                found = verdict_errors(run) + report_errors(run, routed=mode != "natural")
                # How long it ran, the process alone can say.
                for account in (*counted, *run.reports):
                    account.pop("seconds")
                if counted != run.reports:
                    found.append(f"the report says {run.reports}, the counter files {counted}")
                if provider == "reference" and not s.sanitizer and "stack 65536\n" not in run.stdout:
                    found.append(f"the threads had larger stacks: {run.stdout}")
                errors += labelled(f"{provider} {mode} {way}", found)
    return errors


def exit_while_threads_run(s: Setting) -> list[str]:
    """8 threads go on calling while main returns, calls exit, or one of them does: status 0, no crash, no hang."""
    errors = []
    ends: Counter = Counter()
    for repetition in range(REPETITIONS // 3 if s.sanitizer else REPETITIONS):
        how = ("return", "exit", "worker")[repetition % 3]
        way = ("program", "plugin")[repetition % 2]
        settings = SCARCE if repetition // 2 % 2 else MODEST
        run = s.run(*ways(s)[way], "exit", how, settings=settings, timeout=30)
        ends[way, how, run.status] += 1
        if run.status != 0 or run.stdout or run.stderr:
            errors.append(f"{way}, {how}: status {run.status}, {run.stdout!r}, {run.stderr!r}")
    print(dict(ends))
    return errors


PROMISES = (threads_16, exit_while_threads_run)
