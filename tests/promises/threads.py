"""Promise 4, threads: any number may call at once, and the process may end meanwhile."""

from __future__ import annotations

from collections import Counter

from setting import FORCED, HOST, PROVIDERS, SCARCE, Setting, labelled, report_errors, verdict_errors

REPETITIONS = 50

MODEST = FORCED | {"BLASLIFT_MEMORY": "1M"}
"""Room for all threads' operands at once, and a ring of modest size: a poisoned build fills it in every call."""


def threads_16(s: Setting) -> list[str]:
    """16 threads with stacks of 64 KiB make the first calls of a process at once, then an OpenMP team calls."""
    errors = []
    for provider in PROVIDERS:
        for mode, settings in {"natural": HOST, "forced": MODEST, "in blocks": SCARCE}.items():
            run = s.run("threads", "check", provider=provider, settings=settings, OMP_NUM_THREADS="8")
            found = verdict_errors(run) + report_errors(run, routed=mode != "natural")
            if provider == "reference" and not s.sanitizer and "stack 65536\n" not in run.stdout:
                found.append(f"the threads had larger stacks: {run.stdout}")
            errors += labelled(f"{provider} {mode}", found)
    return errors


def exit_while_threads_run(s: Setting) -> list[str]:
    """8 threads go on calling while main returns, calls exit, or one of them does: status 0, no crash, no hang."""
    errors = []
    ends: Counter = Counter()
    for repetition in range(REPETITIONS):
        how = ("return", "exit", "worker")[repetition % 3]
        run = s.run("threads", "exit", how, settings=SCARCE if repetition % 2 else MODEST, timeout=30)
        ends[how, run.status] += 1
        if run.status != 0 or run.stdout or run.stderr:
            errors.append(f"{how}: status {run.status}, {run.stdout!r}, {run.stderr!r}")
    print(dict(ends))
    return errors


PROMISES = (threads_16, exit_while_threads_run)
