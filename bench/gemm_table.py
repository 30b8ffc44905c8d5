#!/usr/bin/env python3
"""Times host-to-host gemm in one run: the CPU's BLAS, blaslift, NVBLAS, NVBLAS with autopin.

Each candidate is the same program, gemm_time, with another library preloaded; medians of several calls, two sets of
operands in turn, blaslift with its residency off, results checked by the program.  Writes gemm_table.md and
gemm_table.jsonl.
"""

import argparse
import sys
from pathlib import Path

from common import Shape, Store, candidates, compare_table, list_measurements, measure_all, time_gemm

SIZES = {
    "d": ["1024", "2048", "4096", "8192", "16384"],
    "s": ["1024", "2048", "4096", "8192", "16384"],
    "z": ["1024", "2048", "4096", "8192"],
}
QUICK = {"d": ["1024", "4096"], "s": ["4096"], "z": ["2048"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, type=Path)
    parser.add_argument("--results", required=True, type=Path)
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--precisions", default="dsz")
    parser.add_argument("--budget", type=float, metavar="SECONDS",
                        help="go on with the results there and stop in time; without it all is measured anew")
    parser.add_argument("--dry-run", action="store_true", help="only list the measurements")
    arguments = parser.parse_args()
    arguments.results.mkdir(parents=True, exist_ok=True)
    kept = arguments.results / "gemm_table.jsonl"
    if arguments.budget is None and not arguments.dry_run:
        kept.unlink(missing_ok=True)
    store = Store(kept, arguments.commit)
    sizes = QUICK if arguments.quick else SIZES
    shapes = [Shape.of(p, size) for p in arguments.precisions for size in sizes[p]]
    with candidates(arguments.build) as found:
        measurements = [
            time_gemm(f"table/{s.precision}/{s}/{name}", arguments.build, name, environment, s)
            for s in shapes
            for name, environment in found.items()
        ]
        if arguments.dry_run:
            list_measurements(measurements, store)
            return
        complete = measure_all(measurements, store, arguments.budget or float("inf"))
    title = f"{store.head()}: median milliseconds a call, operands and result in pageable host memory"
    lines = [title, "", *compare_table(store, "table", list(found), shapes)]
    (arguments.results / "gemm_table.md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))
    sys.exit(0 if complete else 1)


if __name__ == "__main__":
    main()
