#!/usr/bin/env python3
"""Times products whose operands the guard refuses to levels, from host to host, on a machine with a GPU.

    bench/refused.py --build build/gpu [--precision s] [--size 16384] [--beta 0] [--levels auto] [--repetitions 5]
                     [--wild graded,row,column,inf,middle,last]

For each kind of wild operands (refused_time.cpp says what they are) a line: milliseconds without levels (classical), by
levels of sound operands, of refused ones, and refused over classical, which is to be 1.1 at most but where a single
element is found late; then what the report says. --backend host tries the logic out: its times mean nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

WILD = "graded,row,column,inf,middle,last"


def run(arguments: argparse.Namespace, levels: str, wild: str) -> tuple[dict, dict]:
    """Milliseconds, and what the report says of the routine."""
    program = arguments.build / "bin" / "refused_time"
    library = arguments.build / "lib" / "libblaslift.so"
    words = [arguments.precision, str(arguments.repetitions), str(arguments.size), str(arguments.beta), wild]
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.jsonl")
        settings = {"BLASLIFT_BACKEND": arguments.backend, "BLASLIFT_FORCE": "all", "BLASLIFT_RESIDENCY": "off"}
        settings |= {"BLASLIFT_STRASSEN": levels, "BLASLIFT_REPORT": str(report), "LD_PRELOAD": str(library.resolve())}
        done = subprocess.run([program, *words], env=os.environ | settings, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"refused_time {' '.join(words)}: status {done.returncode}\n{done.stderr}")
        account = json.loads(report.read_text().splitlines()[-1])["routines"][arguments.precision + "gemm"]
        return json.loads(done.stdout), account


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, type=Path)
    parser.add_argument("--precision", choices="sd", default="s")
    parser.add_argument("--size", type=int, default=16384)
    parser.add_argument("--beta", type=float, default=0)
    parser.add_argument("--levels", default="auto", help="as BLASLIFT_STRASSEN")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--wild", default=WILD)
    parser.add_argument("--backend", default="cuda")
    arguments = parser.parse_args()
    print(f"{'wild':8} {'classical ms':>13} {'by levels ms':>13} {'refused ms':>11} {'refused/classical':>18}")
    for wild in arguments.wild.split(","):
        plain, _ = run(arguments, "off", wild)
        watched, account = run(arguments, arguments.levels, wild)
        classical, refused = plain["wild_ms"], watched["wild_ms"]
        by_levels = sum(account["levels"].values())
        print(f"{wild:8} {classical:13.2f} {watched['sound_ms']:13.2f} {refused:11.2f} {refused / classical:18.3f}"
              f"   {by_levels} by levels, {account['distrusted']} refused of {account['calls']}", flush=True)


if __name__ == "__main__":
    main()
