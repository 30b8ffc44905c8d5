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

from common import Measurement, Store, candidates, list_measurements, measure_all, run, run_with_report

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
    for part in arguments.only.split(","):
        for mode in ("constant", "changing"):
            for n in arguments.sizes:
                iterations = arguments.iterations or max(60, min(600, int(6e10 / n**2)) if mode == "constant" else 0)
                for pages in ("small", "huge") if part == "power" else ("numpy's",):
                    if part == "power":
                        command = [str(arguments.build.resolve() / "bin/power_iteration"), mode, str(n), str(iterations), pages]
                    else:
                        command = [sys.executable, str(Path(__file__).with_name("lanczos.py")), mode, str(n), str(iterations)]
                    each = 4.0 * n * n / CPU_RATE + (8.0 * n * n / 2e9 if mode == "changing" else 0)
                    for name in ("CPU", "blaslift"):
                        key = f"{part}/{mode}/{n}/{pages}/{name}"
                        wanted.append(Measurement(key, 3 + 2e-8 * n * n + each * iterations,
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


def summary(store: Store, wanted: list[Measurement]) -> tuple[list[str], bool]:
    lines = [store.head(), "", "Milliseconds of one dsymv, medians.", "",
             "| program | n | pages | CPU | blaslift, on the CPU | of CPU's | on the device | times faster | switched after | first there | |",
             "|---|---:|---|---:|---:|---:|---:|---:|---:|---:|---|"]
    good = True
    for m in wanted:
        key, ours = m.key.removesuffix("/blaslift"), store.get(m.key)
        cpu = store.get(f"{key}/CPU")
        if not m.key.endswith("/blaslift") or not ours or not cpu:
            continue
        part, mode, n, pages = key.split("/")
        at_rest = statistics.median(cpu["seconds"][2:])
        stayed, routed = cut(ours)
        loss = statistics.median(stayed) / at_rest if len(stayed) > 2 else None
        gain = at_rest / statistics.median(routed) if routed else None
        right = loss is None or loss <= MOST_LOSS
        right = right and (gain is not None and gain >= FASTER[pages] if mode == "constant" else ours["routed"] == 0)
        good = good and right
        cells = [f"{part}, {mode}", n, pages, f"{at_rest * 1e3:.3f}",
                 f"{statistics.median(stayed) * 1e3:.3f}" if stayed else "", f"{loss:.3f}" if loss else "",
                 f"{statistics.median(routed) * 1e3:.3f}" if routed else "", f"{gain:.1f}" if gain else "",
                 str(ours["calls"] - ours["routed"]) if ours["routed"] else "",
                 f"{ours['seconds'][ours['calls'] - ours['routed']] * 1e3:.0f}" if ours["routed"] else "", "yes" if right else "NO"]
        lines.append("| " + " | ".join(cells) + " |")
    wrong = [key for key, record in store.records.items() if "failed" in record]
    return lines + ["", f"Failed: {', '.join(wrong) or 'nothing'}."], good


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, type=Path, help="build folder")
    parser.add_argument("--results", required=True, type=Path, help="folder for iteration.jsonl and iteration.md")
    parser.add_argument("--commit", default="unknown", help="what is measured; results of others are left alone")
    parser.add_argument("--only", default=",".join(PARTS), help="parts, separated by commas")
    parser.add_argument("--sizes", type=lambda text: [int(n) for n in text.split(",")], default=list(SIZES), metavar="N,...")
    parser.add_argument("--iterations", type=int, help="default: by size")
    parser.add_argument("--budget", type=float, default=270, metavar="SECONDS", help="default: %(default).0f")
    parser.add_argument("--dry-run", action="store_true", help="list the measurements with rough times, make none")
    arguments = parser.parse_args()
    if unknown := set(arguments.only.split(",")) - set(PARTS):
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    arguments.results.mkdir(parents=True, exist_ok=True)
    store = Store(arguments.results / "iteration.jsonl", arguments.commit)
    with candidates(arguments.build, residency="auto") as found:
        wanted = measurements(arguments, found)
        if arguments.dry_run:
            list_measurements(wanted, store)
            return
        complete = measure_all(wanted, store, arguments.budget)
    lines, good = summary(store, wanted)
    (arguments.results / "iteration.md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))
    sys.exit(0 if complete and good else 1)


if __name__ == "__main__":
    main()
