#!/usr/bin/env python3
"""Times routines of ScaLAPACK over a grid of processes, plain and through blaslift, in the same run.

    bench/scalapack.py --build build/gpu [--grid 2x2] [--block 64] [--calls "getrf 8192,potrf 16384"] [--repeats 3]

A line for each call: median seconds by ScaLAPACK and through blaslift, how many calls it computed for all processes (the
first one, which is not timed, among them), how many times as fast they are, and checks (scalapack_time.cpp). Calls are
forced, unless --decided. Each rank has processors / ranks threads, and is not bound. Double precision; scalapack_time
needs Debian's ScaLAPACK for Open MPI. --backend host tries the logic out: its times mean nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

CALLS = "gemm 8192,gemm 16384,getrf 8192,getrf 16384,potrf 8192,potrf 16384,gesv 16384,geqrf 8192,syevd 8192"


def run(arguments: argparse.Namespace, routine: str, n: str, lifted: bool) -> tuple[dict, dict]:
    rows, columns = arguments.grid.split("x")
    ranks = int(rows) * int(columns)
    threads = str(max(1, len(os.sched_getaffinity(0)) // ranks))
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.jsonl")
        env = os.environ | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        env |= {"OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads}
        command = ["mpirun", "--bind-to", "none", "--oversubscribe", "-n", str(ranks)]
        if lifted:
            env |= {"BLASLIFT_BACKEND": arguments.backend, "BLASLIFT_REPORT": str(report)}
            if not arguments.decided:
                env["BLASLIFT_FORCE"] = "all"
            command += ["-x", f"LD_PRELOAD={(arguments.build / 'lib' / 'libblaslift.so').resolve()}"]
        program = arguments.program or arguments.build / "bin" / "scalapack_time"
        command += [str(program), routine, n, str(arguments.block), rows, columns, str(arguments.repeats)]
        done = subprocess.run(command, env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
        if done.returncode or not lines:
            sys.exit(f"{' '.join(command)}: status {done.returncode}\n{done.stdout}{done.stderr}")
        counted = {"computed": 0, "left": 0}
        for line in report.read_text().splitlines() if report.exists() else []:
            for what, calls in json.loads(line).get("scalapack", {}).items():
                counted[what] += calls
        return json.loads(lines[-1]), counted


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, type=Path)
    parser.add_argument("--program", type=Path, help="scalapack_time, if it is elsewhere")
    parser.add_argument("--grid", default="2x2")
    parser.add_argument("--block", default=64, type=int)
    parser.add_argument("--calls", default=CALLS)
    parser.add_argument("--repeats", default=3, type=int)
    parser.add_argument("--decided", action="store_true", help="no call is forced")
    parser.add_argument("--backend", default="cuda")
    arguments = parser.parse_args()
    print(f"grid {arguments.grid}, blocks of {arguments.block}")
    print("| call | ScaLAPACK, s | blaslift, s | computed | times | checks |")
    print("|---|---:|---:|---:|---:|---:|", flush=True)
    for call in arguments.calls.split(","):
        routine, n = call.split()
        plain, _ = run(arguments, routine, n, False)
        lifted, counted = run(arguments, routine, n, True)
        print(f"| pd{call} | {plain['median']:.3f} | {lifted['median']:.3f} | {counted['computed']} of {sum(counted.values())} | {plain['median'] / lifted['median']:.1f} | {plain['check']:.2g}, {lifted['check']:.2g} |", flush=True)


if __name__ == "__main__":
    main()
