#!/usr/bin/env python3
"""bench/builds.py and call_time (also with one call alone): the same bits from the same build, and others from one that is wrong."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

BENCH = Path(__file__).resolve().parent.parent.parent / "bench"
CASES = ["host gemm 150", "host symv 150", "host trsm 150", "host geqrf 150x90"]


def rows(build: Path, beside: Path, cases: list[str], **environment: str) -> list[str]:
    command = [sys.executable, str(BENCH / "builds.py"), "--build", str(build), "--beside", str(beside), "--backend", "host",
               "--turns", "2", "--seconds", "0.01"]
    for case in cases:
        command += ["--case", case]
    done = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, timeout=100)
    print(done.stdout, done.stderr)
    assert done.returncode in (0, 1), done.stderr
    lines = done.stdout.splitlines()[1:]
    assert len(lines) == len(cases), done.stdout
    for case, line in zip(cases, lines):
        assert line.startswith(case + " "), line
        old, _, new, ratio = line[len(case):].split()[:4]
        assert float(old) > 0 and float(new) > 0, line
        assert (done.returncode == 0) <= ("slower" not in line) and ("slower" in line) <= (float(ratio) > 1.0), line
    return lines


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True, type=Path)
    parser.add_argument("--wrong", required=True, type=Path)
    arguments = parser.parse_args()
    for line in rows(arguments.build, arguments.build, CASES):
        assert "other bits" not in line, line
    with tempfile.TemporaryDirectory() as scratch:
        library = Path(scratch) / "lib"
        library.mkdir()
        (library / "libblaslift.so").symlink_to(arguments.wrong.resolve())
        assert "other bits" in rows(arguments.build, Path(scratch), ["host gemm 150"], WRONG="entry")[0]
        (library / "libblaslift.so").unlink()
        without = subprocess.run([sys.executable, str(BENCH / "builds.py"), "--build", str(arguments.build), "--beside", scratch],
                                 capture_output=True, text=True, timeout=60)
        assert without.returncode == 1 and "no library" in without.stderr, without
    once = subprocess.run([str(arguments.build / "bin/call_time"), "host", "gemm", "0", "9"], capture_output=True, text=True)
    assert '"calls": 1,' in once.stdout, f"{once.stdout}{once.stderr}"
    nowhere = subprocess.run([str(arguments.build / "bin/call_time"), "host", "gerqf", "0.01", "9"], capture_output=True, text=True)
    assert nowhere.returncode != 0 and nowhere.stderr, "a routine that it does not have"


if __name__ == "__main__":
    main()
