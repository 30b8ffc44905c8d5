#!/usr/bin/env python3
"""Times calls that are dealt out over several GPUs, operands in the host's memory, beside one GPU in the same run.

    bench/places.py --build build/gpu [--devices 1,2] [--seconds 10]
                    [--calls "gemm 16384,potrs 32768x4096"]

For each call a line: median milliseconds over each number of devices, how many of the calls were dealt out, and how many
times as fast as over the first number. --backend host tries the logic out: its times mean nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

CALLS = "gemm 8192,gemm 16384,gemm 32768,symm 16384,trmm 16384,trsm 16384,potrs 32768x4096,getrs 32768x4096"


def run(arguments: argparse.Namespace, routine: str, size: str, devices: str) -> tuple[float, int, int]:
    """Milliseconds, and how many calls of the routine there were and how many of them were dealt out."""
    command = [str(arguments.build / "bin" / "call_time"), "host", routine, str(arguments.seconds), size]
    library = arguments.build / "lib" / "libblaslift.so"
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.jsonl")
        settings = {"BLASLIFT_BACKEND": arguments.backend, "BLASLIFT_RESIDENCY": "off", "BLASLIFT_DEVICES": devices}
        settings |= {"BLASLIFT_FORCE": "all", "BLASLIFT_REPORT": str(report), "LD_PRELOAD": str(library.resolve())}
        done = subprocess.run(command, env=os.environ | settings, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{' '.join(command)}: status {done.returncode}\n{done.stderr}")
        account = json.loads(report.read_text().splitlines()[-1])["routines"]["d" + routine]
        return 1e3 * json.loads(done.stdout)["median"], account["calls"], account["dealt"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, type=Path)
    parser.add_argument("--devices", default="1,2", help="numbers of them, as BLASLIFT_DEVICES")
    parser.add_argument("--seconds", type=float, default=10, help="of calls, each")
    parser.add_argument("--calls", default=CALLS)
    parser.add_argument("--backend", default="cuda")
    arguments = parser.parse_args()
    numbers = arguments.devices.split(",")
    print("| call | " + " | ".join(f"{devices}, ms" for devices in numbers) + " | dealt out | times |")
    print("|---|" + "---:|" * (len(numbers) + 2), flush=True)
    for call in arguments.calls.split(","):
        routine, size = call.split()
        times = {devices: run(arguments, routine, size, devices) for devices in numbers}
        first, last = times[numbers[0]][0], times[numbers[-1]]
        print(f"| d{call} | " + " | ".join(f"{milliseconds:.1f}" for milliseconds, _, _ in times.values())
              + f" | {last[2]} of {last[1]} | {first / last[0]:.2f} |", flush=True)


if __name__ == "__main__":
    main()
