#!/usr/bin/env python3
"""bench/programs.py's records and table.

A stand-in for the programs answers, with made-up times and blaslift's report: `fast` gains four times, `slow` loses, `wrong` has another result, `absent`
cannot run. The real ones are only asked for their names, which have to have those that the first mean is of.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

BENCH = Path(__file__).resolve().parent.parent.parent / "bench"
STAND_IN = '''
import json, os, sys
case, scale = sys.argv[1:]
report = os.environ.get("BLASLIFT_REPORT")
if case == "absent":
    sys.exit("no interpreter")
assert bool(report) == ("libblaslift.so" in os.environ.get("LD_PRELOAD", ""))
if report:
    routine = {"calls": 2, "routed": 1, "stayed": {"too small": 1}, "cpu_seconds": 0.25, "device_seconds": 0.5}
    open(report, "w").write(json.dumps({"routines": {"dgesv": routine}}) + chr(10))
times = {"fast": 4, "slow": 0.5, "wrong": 1}[case] * (2 if os.environ.get("BLASLIFT_START") == "early:dgesv" else 1)
times *= 1.25 if report and os.environ.get("GLIBC_TUNABLES") == "glibc.malloc.hugetlb=1" else 1
print(json.dumps({"case": case, "seconds": 2 / times if report else 2.0, "result": 3.5 if case == "wrong" and report else 3}))
'''


def run(*command: object) -> subprocess.CompletedProcess:
    done = subprocess.run([sys.executable, *map(str, command)], capture_output=True, text=True, check=False)
    print(done.stdout[-1500:] + done.stderr)
    return done


def main() -> int:
    errors = []
    with tempfile.TemporaryDirectory() as folder:
        stand_in = Path(folder, "stand_in.py")
        stand_in.write_text(STAND_IN)
        results = Path(folder, "results")

        def driver(*options: str) -> subprocess.CompletedProcess:
            return run(BENCH / "programs.py", "--build", folder, "--results", results, "--programs", stand_in, *options)

        done = driver("--cases", "fast", "--rounds", "2")
        table = (results / "programs.md").read_text()
        if done.returncode != 0 or "| fast | 2.00 | 0.40 | 5.00 | 0.20 | 10.00 | 0.25 | 8.00 | 0.50 | dgesv 0.25 s (too small) |  |" not in table:
            errors.append(f"one that gains: status {done.returncode}")
        if "Times as fast, geometric mean of all, 1: first 5.00, again 10.00, usual 8.00." not in table:
            errors.append("no mean")
        records = (results / "programs.jsonl").read_text().splitlines()
        if len(records) != 8:
            errors.append(f"{len(records)} records of a program in four ways and two turns")
        if driver("--cases", "fast", "--ways", "ahead").returncode != 2:
            errors.append("a way that there is not")
        done = driver("--cases", "fast,slow,wrong,absent", "--ways", "first", "--rounds", "2")
        table = (results / "programs.md").read_text()
        for line in ("| slow | 2.00 | 3.20 | 0.62 |", "| slower |", "| results differ |", "geometric mean of all, 3: first 1.57", "absent/plain/0"):
            if line not in table:
                errors.append(f"no {line!r}")
        if done.returncode != 1:
            errors.append(f"status {done.returncode}, though some are wrong")
        if driver("--cases", "slow", "--dry-run").returncode != 0:
            errors.append("a list of what would be measured fails")
    sys.path.insert(0, str(BENCH))
    import programs

    listed = run(BENCH / "program_cases.py", "--list").stdout.split()
    if set(programs.FIRST) - set(listed) or len(listed) < 35:
        errors.append(f"programs: {listed}")
    print("\n".join(errors) or "ok")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
