#!/usr/bin/env python3
"""Programs that multiply by the same symmetric matrix again and again, with blaslift preloaded beside the CPU's BLAS.

    bench/iteration.py --build DIR --results DIR [--commit ID] [--only PART,...] [--budget SECONDS]

Parts: power (a C program, bench/power_iteration.c, pages of 4 KiB and huge ones), lanczos (bench/lanczos.py), each with a constant
matrix, which is copied to the device once that pays, and with one that changes before every product, which stays on the CPU.
Run again, it goes on where it stopped; iteration.jsonl has the records, iteration.md the table.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from pathlib import Path

from common import (Measurement, Store, candidates, driver_options, list_measurements, measure_all, publish, read_options, run,
                    run_with_report, table_row)

PARTS = ("power", "lanczos")
SIZES = (8192, 16384)
FASTER = {"huge": 10.0, "small": 5.0, "numpy's": 10.0}
"""How many times faster than the CPU an iteration is to be once the matrix is on the device."""
MOST_LOSS = 1.03
"""How many times slower before that, or where the matrix changes, at most."""
CPU_RATE = 3e10
"""Bytes a second of the triangle, for the estimates."""


def measurements(arguments: argparse.Namespace, found: dict[str, dict[str, str]]) -> list[Measurement]:
    wanted = []
    for part in arguments.only:
        for mode in ("constant", "changing"):
            for n in arguments.sizes:
                usual = max(60, min(600, int(6e10 / n**2))) if mode == "constant" else 24
                iterations = arguments.iterations or usual
                for pages in ("small", "huge") if part == "power" else ("numpy's",):
                    if part == "power":
                        command = [str(arguments.build.resolve() / "bin/power_iteration"), mode, str(n), str(iterations), pages]
                    else:
                        command = [sys.executable, str(Path(__file__).with_name("lanczos.py")), mode, str(n), str(iterations)]
                    each = 4.0 * n * n / CPU_RATE + (8.0 * n * n / 5e9 if mode == "changing" else 0)
                    for turn in range(arguments.rounds):
                        for name in ("CPU", "blaslift"):
                            key = f"{part}/{mode}/{n}/{pages}/{name}/{turn}"
                            wanted.append(Measurement(key, 2 + 1e-8 * n * n + each * iterations,
                                                      lambda s, c=command, e=found[name], b=name == "blaslift": measured(c, e, b, s)))
    return wanted


def measured(command: list[str], environment: dict[str, str], is_ours: bool, seconds: float) -> dict:
    if not is_ours:
        return run(command, environment, seconds)[0]
    printed, report = run_with_report(command, environment, seconds)
    routine = report["routines"]["dsymv"]
    return printed | {x: routine[x] for x in ("calls", "routed", "stayed", "bytes_in")}


def cut(record: dict) -> tuple[list[float], list[float]]:
    """Seconds of the iterations on the CPU, without the first two, and of those on the device, without the one that copied."""
    stayed = record["calls"] - record["routed"]
    return record["seconds"][2:stayed], record["seconds"][stayed + 1:]


def lower_quartile(times: list[float]) -> float:
    """What the machine's neighbours take is noise on one side only."""
    return statistics.quantiles(times, n=4)[0]


def summary(store: Store, wanted: list[Measurement]) -> tuple[list[str], bool]:
    lines = [store.head(), "", "Milliseconds of one dsymv, of all rounds: medians, and of what the CPU computes lower quartiles, too.", "",
             "| program | n | pages | CPU | blaslift, on the CPU | of CPU's | by quartiles | on the device | times faster | switched after | first there | |",
             "|---|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|---|"]
    good = True
    for key in dict.fromkeys(m.key.rsplit("/", 2)[0] for m in wanted):
        turns = [m.key.rsplit("/", 1)[1] for m in wanted if m.key.startswith(f"{key}/CPU/")]
        pairs = [(store.get(f"{key}/CPU/{turn}"), store.get(f"{key}/blaslift/{turn}")) for turn in turns]
        pairs = [(cpu, ours) for cpu, ours in pairs if cpu and ours]
        if not pairs:
            continue
        part, mode, n, pages = key.split("/")
        alone = [x for cpu, _ in pairs for x in cpu["seconds"][2:]]
        stayed = [x for _, ours in pairs for x in cut(ours)[0]]
        routed = [x for _, ours in pairs for x in cut(ours)[1]]
        at_rest = statistics.median(alone)
        loss = lower_quartile(stayed) / lower_quartile(alone) if len(stayed) > 4 else None
        gain = at_rest / statistics.median(routed) if routed else None
        right = loss is None or loss <= MOST_LOSS
        every = [ours["routed"] > 0 for _, ours in pairs]
        right = right and (all(every) and gain >= FASTER[pages] if mode == "constant" else not any(every))
        good = good and right
        after = [ours["calls"] - ours["routed"] for _, ours in pairs if ours["routed"]]
        first = [ours["seconds"][ours["calls"] - ours["routed"]] for _, ours in pairs if ours["routed"]]
        cells = [f"{part}, {mode}", n, pages, f"{at_rest * 1e3:.3f}",
                 f"{statistics.median(stayed) * 1e3:.3f}" if stayed else "",
                 f"{statistics.median(stayed) / at_rest:.3f}" if stayed else "", f"{loss:.3f}" if loss else "",
                 f"{statistics.median(routed) * 1e3:.3f}" if routed else "", f"{gain:.1f}" if gain else "",
                 f"{statistics.median(after):.0f}" if after else "",
                 f"{statistics.median(first) * 1e3:.0f}" if first else "", "yes" if right else "NO"]
        lines.append(table_row(cells))
    return lines + ["", store.failures()], good


def main() -> None:
    parser = driver_options(__doc__, "iteration", PARTS, 270)
    parser.add_argument("--sizes", type=lambda text: [int(n) for n in text.split(",")], default=list(SIZES), metavar="N,...")
    parser.add_argument("--rounds", type=int, default=3, metavar="COUNT", help="the CPU and blaslift in turns; default: %(default)d")
    parser.add_argument("--iterations", type=int, help="default: by size")
    arguments, store = read_options(parser)
    with candidates(arguments.build, residency="auto") as found:
        wanted = measurements(arguments, found)
        if arguments.dry_run:
            list_measurements(wanted, store)
            return
        complete = measure_all(wanted, store, arguments.budget)
    lines, good = summary(store, wanted)
    publish(arguments, lines)
    sys.exit(0 if complete and good else 1)


if __name__ == "__main__":
    main()
