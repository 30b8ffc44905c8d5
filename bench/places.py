#!/usr/bin/env python3
"""Times calls that are dealt out over several GPUs, operands in the host's memory, beside one GPU in the same run.

    bench/places.py --build build/gpu [--devices 1,2] [--seconds 10]
                    [--calls "gemm 16384,potrs 32768x4096"] [--decided]

For each call a line: median milliseconds over each number of devices, then of the last number how many calls were dealt
out, what went from device to device in each, and how many times as fast it is as the first number. Calls are forced; with
--decided the library decides over how many devices each one goes. --backend host tries the logic out: its times mean
nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

CALLS = ("gemm 8192,gemm 16384,gemm 32768,symm 16384,trmm 16384,trsm 16384,"
         "potrs 32768x4096,getrs 32768x4096,potrf 32768,getrf 32768,geqrf 32768")


def run(arguments: argparse.Namespace, routine: str, size: str, devices: str) -> tuple[float, dict]:
    """Milliseconds, and what the report says of the routine."""
    command = [str(arguments.build / "bin" / "call_time"), "host", routine, str(arguments.seconds), size]
    library = arguments.build / "lib" / "libblaslift.so"
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.jsonl")
        settings = {"BLASLIFT_BACKEND": arguments.backend, "BLASLIFT_RESIDENCY": "off", "BLASLIFT_DEVICES": devices}
        settings |= {"BLASLIFT_REPORT": str(report), "LD_PRELOAD": str(library.resolve())}
        if not arguments.decided:
            settings["BLASLIFT_FORCE"] = "all"
        done = subprocess.run(command, env=os.environ | settings, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{' '.join(command)}: status {done.returncode}\n{done.stderr}")
        return 1e3 * json.loads(done.stdout)["median"], json.loads(report.read_text().splitlines()[-1])["routines"]["d" + routine]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, type=Path)
    parser.add_argument("--devices", default="1,2", help="numbers of them, as BLASLIFT_DEVICES")
    parser.add_argument("--seconds", type=float, default=10, help="of calls, each")
    parser.add_argument("--calls", default=CALLS)
    parser.add_argument("--decided", action="store_true", help="no call is forced")
    parser.add_argument("--backend", default="cuda")
    arguments = parser.parse_args()
    numbers = arguments.devices.split(",")
    print("| call | " + " | ".join(f"{devices}, ms" for devices in numbers) + " | dealt out | from device to device, GB | times |")
    print("|---|" + "---:|" * (len(numbers) + 3), flush=True)
    for call in arguments.calls.split(","):
        routine, size = call.split()
        times = {devices: run(arguments, routine, size, devices) for devices in numbers}
        (first, _), (last, account) = times[numbers[0]], times[numbers[-1]]
        print(f"| d{call} | " + " | ".join(f"{milliseconds:.1f}" for milliseconds, _ in times.values())
              + f" | {account['dealt']} of {account['calls']} | {1e-9 * account['bytes_exchanged'] / account['calls']:.2f}"
              + f" | {first / last:.2f} |", flush=True)


if __name__ == "__main__":
    main()
