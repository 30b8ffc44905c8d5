#!/usr/bin/env python3
"""Threads that call dgemm at once, each with operands of its own: plain and with blaslift, as a user has it.

    bench/callers.py --build DIR --results DIR [--commit ID] [--budget SECONDS] [--threads T,...] [--sizes N,...]
                     [--seconds SECONDS] [--rounds COUNT]

The program is bench/callers.c, the BLAS underneath has one thread a call.  Medians of some rounds, plain and lifted in turns; the
start-up of the GPU is in them.  Run again, it goes on where it stopped; callers.jsonl has the records, callers.md the table.
"""

from __future__ import annotations

import statistics
import sys

from common import Measurement, candidates, driver_options, list_measurements, measure_all, publish, read_options, run, run_with_report, table_row

THREADS = "1,4,16"
SIZES = "100,200,300,500,700,1000,2500"
ROUNDS = 3
SECONDS = 6.0
"""About how long a plain run is to take: long beside the start-up of the GPU, some 0.5 s."""
RATE = 40e9
"""flop/s of one thread, for the number of calls."""
LEAST = 0.97
"""Plain over lifted time, at least."""


def calls_of(n: int, seconds: float) -> int:
    return max(4, min(100000, int(seconds * RATE / (2.0 * n**3))))


def measurements(arguments, found: dict[str, dict[str, str]]) -> list[Measurement]:
    program = str(arguments.build / "bin/callers")
    wanted = []
    for threads in arguments.threads:
        for n in arguments.sizes:
            calls = calls_of(n, arguments.seconds)
            command = [program, str(threads), str(n), str(calls)]
            for turn in range(arguments.rounds):
                for name in ("CPU", "blaslift"):
                    environment = found[name] | {"OPENBLAS_NUM_THREADS": "1"}
                    key = f"{threads}/{n}/{calls}/{name}/{turn}"
                    wanted.append(Measurement(key, 2 * arguments.seconds, lambda s, c=command, e=environment, b=name != "CPU": measured(c, e, b, s)))
    return wanted


def measured(command: list[str], environment: dict[str, str], is_ours: bool, seconds: float) -> dict:
    if not is_ours:
        return run(command, environment, seconds)[0]
    printed, report = run_with_report(command, environment, seconds)
    routine = report["routines"]["dgemm"]
    return printed | {x: routine[x] for x in ("calls", "routed", "stayed")}


def summary(store) -> tuple[list[str], bool]:
    lines = [store.head(), "", "Seconds of all calls, medians of the turns; how many times as fast as plain; part of the calls on the device.", ""]
    lines += [table_row(["threads", "n", "calls each", "plain", "blaslift", "times as fast", "on the device", ""]), "|---:|---:|---:|---:|---:|---:|---:|---|"]
    good = True
    for case in sorted({key.rsplit("/", 2)[0] for key in store.records}, key=lambda case: [int(x) for x in case.split("/")]):
        plain, ours = ([r for key in store.records if key.startswith(f"{case}/{name}/") and (r := store.get(key))]
                       for name in ("CPU", "blaslift"))
        if not plain or not ours:
            continue
        cpu, lifted = (statistics.median(r["seconds"] for r in records) for records in (plain, ours))
        threads, n, calls = case.split("/")
        routed = sum(r["routed"] for r in ours) / sum(int(threads) * int(calls) for _ in ours)
        lost = cpu < LEAST * lifted
        good = good and not lost
        lines.append(table_row([threads, n, calls, f"{cpu:.3f}", f"{lifted:.3f}", f"{cpu / lifted:.2f}", f"{routed:.0%}",
                                "slower" if lost else ""]))
    return lines, good


def main() -> int:
    parser = driver_options(__doc__, "callers", ("callers",), 900)

    def numbers(text: str) -> list[int]:
        return [int(x) for x in text.split(",")]

    parser.add_argument("--threads", type=numbers, default=THREADS, metavar="T,...", help="default: %(default)s")
    parser.add_argument("--sizes", type=numbers, default=SIZES, metavar="N,...", help="default: %(default)s")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="about how long a plain run is to take; default: %(default).0f")
    parser.add_argument("--rounds", type=int, default=ROUNDS, metavar="COUNT", help="plain and lifted in turns; default: %(default)d")
    arguments, store = read_options(parser)
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
