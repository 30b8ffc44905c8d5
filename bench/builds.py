#!/usr/bin/env python3
"""Two builds of the library beside each other, on a machine with a GPU: whether a change cost speed.

    bench/builds.py --build NEW --beside OLD [--turns 3] [--seconds 1] [--only TEXT] [--case CASE ...]
        [--backend cuda]

For each routine, size and place of the operands (the host's memory or the device's) the program bench/call_time.cpp of
NEW runs with either library preloaded, in turns.  A line each: median milliseconds of the medians, how far apart the
turns of OLD were, new over old, and whether the results had the same bits.  Copies are not kept: what is timed moves
all its bytes.  Status 1 if a ratio is above 1.01 or, where the spread is more than 1 %, that much above 1.02.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

CASES = (
    [f"{place} gemm {n}" for place in ("device", "host") for n in (8192, 16384, 32768)]
    + [f"{place} symv {n}" for place in ("device", "host") for n in (4096, 16384)]
    + [f"{place} geqrf {size}" for place in ("device", "host") for size in ("8192", "1048576x64")]
)


def run(program: Path, build: Path, case: str, arguments: argparse.Namespace) -> dict:
    place, routine, size = case.split()
    library = build / "lib" / "libblaslift.so"
    settings = {"BLASLIFT_BACKEND": arguments.backend, "BLASLIFT_FORCE": "all", "BLASLIFT_RESIDENCY": "off",
                "LD_PRELOAD": str(library.resolve())}
    command = [str(program), place, routine, str(arguments.seconds), size]
    done = subprocess.run(command, env=os.environ | settings, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: status {done.returncode}\n{done.stderr}")
    return json.loads(done.stdout)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, type=Path)
    parser.add_argument("--beside", required=True, type=Path)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--only", default="", help="cases that have this in their name")
    parser.add_argument("--case", action="append", help='such as "host trsm 8192": in place of the usual ones')
    parser.add_argument("--backend", default="cuda")
    arguments = parser.parse_args()
    program = arguments.build / "bin" / "call_time"
    for build in (arguments.build, arguments.beside):
        if not (build / "lib" / "libblaslift.so").exists():  # the loader would go on without it
            sys.exit(f"builds.py: no library in {build}/lib")
    good = True
    print(f"{'case':26} {'old ms':>10} {'spread':>7} {'new ms':>10} {'new/old':>8}")
    for case in arguments.case or CASES:
        if arguments.only not in case:
            continue
        old: list[float] = []
        new: list[float] = []
        bits = set()
        for _ in range(arguments.turns):
            for build, found in ((arguments.beside, old), (arguments.build, new)):
                record = run(program, build, case, arguments)
                found.append(record["median"])
                bits.add(record["bits"])
        spread = (max(old) - min(old)) / min(old)
        ratio = statistics.median(new) / statistics.median(old)
        lost = ratio > (1.01 if spread <= 0.01 else 1.02 + spread)
        good = good and not lost
        print(f"{case:26} {1e3 * statistics.median(old):10.3f} {spread:7.1%} {1e3 * statistics.median(new):10.3f} {ratio:8.3f}"
              f"{'' if len(bits) == 1 else '  other bits'}{'  slower' if lost else ''}", flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
