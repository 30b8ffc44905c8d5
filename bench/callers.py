#!/usr/bin/env python3
"""Threads that call dgemm at once, each with operands of its own: plain and with blaslift, as a user has it.

    bench/callers.py --build DIR --results DIR [--commit ID] [--budget SECONDS]

The program is bench/callers.c, the BLAS underneath has one thread a call.  Medians of three runs, plain and lifted in turns; the
start-up of the GPU is in them.  Run again, it goes on where it stopped; callers.jsonl has the records, callers.md the table.
"""

from __future__ import annotations

import statistics
import sys

from common import Measurement, candidates, driver_options, list_measurements, measure_all, publish, read_options, run, run_with_report, table_row

THREADS = (1, 4, 16)
SIZES = (100, 200, 300, 500, 700, 1000, 2500)
ROUNDS = 3
SECONDS = 2.0
"""About how long a plain run is to take."""
RATE = 40e9
"""flop/s of one thread, for the number of calls."""
LEAST = 0.97
"""Plain over lifted time, at least."""


def calls_of(n: int) -> int:
    return max(4, min(30000, int(SECONDS * RATE / (2.0 * n**3))))


def measurements(arguments, found: dict[str, dict[str, str]]) -> list[Measurement]:
    program = str(arguments.build / "bin/callers")
    wanted = []
    for threads in THREADS:
        for n in SIZES:
            command = [program, str(threads), str(n), str(calls_of(n))]
            for turn in range(ROUNDS):
                for name in ("CPU", "blaslift"):
                    environment = found[name] | {"OPENBLAS_NUM_THREADS": "1"}
                    key = f"{threads}/{n}/{name}/{turn}"
                    wanted.append(Measurement(key, 2 * SECONDS, lambda s, c=command, e=environment, b=name != "CPU": measured(c, e, b, s)))
    return wanted


def measured(command: list[str], environment: dict[str, str], is_ours: bool, seconds: float) -> dict:
    if not is_ours:
        return run(command, environment, seconds)[0]
    printed, report = run_with_report(command, environment, seconds)
    routine = report["routines"]["dgemm"]
    return printed | {x: routine[x] for x in ("calls", "routed", "stayed")}


def summary(store) -> tuple[list[str], bool]:
    lines = [store.head(), "", "Seconds of all calls, medians of three; how many times as fast as plain; part of the calls on the device.", ""]
    lines += [table_row(["threads", "n", "calls each", "plain", "blaslift", "times as fast", "on the device", ""]), "|---:|---:|---:|---:|---:|---:|---:|---|"]
    good = True
    for threads in THREADS:
        for n in SIZES:
            plain, ours = ([r for t in range(ROUNDS) if (r := store.get(f"{threads}/{n}/{name}/{t}"))] for name in ("CPU", "blaslift"))
            if not plain or not ours:
                continue
            cpu, lifted = (statistics.median(r["seconds"] for r in records) for records in (plain, ours))
            routed = sum(r["routed"] for r in ours) / sum(threads * calls_of(n) for _ in ours)
            lost = cpu < LEAST * lifted
            good = good and not lost
            lines.append(table_row([str(threads), str(n), str(calls_of(n)), f"{cpu:.3f}", f"{lifted:.3f}", f"{cpu / lifted:.2f}", f"{routed:.0%}",
                                    "slower" if lost else ""]))
    return lines, good


def main() -> int:
    arguments, store = read_options(driver_options(__doc__, "callers", ("callers",), 900))
    with candidates(arguments.build, residency="auto") as found:
        wanted = measurements(arguments, found)
        if arguments.dry_run:
            list_measurements(wanted, store)
            return 0
        measure_all(wanted, store, arguments.budget)
    lines, good = summary(store)
    publish(arguments, lines)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
