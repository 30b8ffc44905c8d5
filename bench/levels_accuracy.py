#!/usr/bin/env python3
"""Errors of products by 0 to 4 levels on the host backend: the table of docs/levels.md.

usage: levels_accuracy.py --lib build/default/lib/libblaslift.so [--size 1024] [--list alternative]

A row per precision and distribution; in units of u = eps / 2, the largest error over 16 sampled rows relative to max|C|
and, in brackets, to the element's own (|A| |B|). Each cell is a process of its own, whose report must say that the
levels ran.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

LEVELS = ("off", "1", "2", "3", "4")
DISTRIBUTIONS = ("signed", "normal", "positive")


def product(precision: str, size: int, distribution: str) -> None:
    """In a process behind blaslift: prints the two errors of one product."""
    import numpy as np

    random = np.random.default_rng(7)
    draw = {
        "signed": lambda: random.uniform(-1, 1, (size, size)),
        "normal": lambda: random.standard_normal((size, size)),
        "positive": lambda: random.uniform(0, 1, (size, size)),
    }[distribution]
    element, wide = (np.float64, np.longdouble) if precision == "d" else (np.float32, np.float64)
    a, b = (np.asfortranarray(draw().astype(element)) for _ in range(2))
    c = a @ b
    rows = random.choice(size, 16, replace=False)
    # Vectors of a wider type times a matrix: NumPy's own loops, or a product too thin for levels.
    exact = np.array([a[row].astype(wide) @ b.astype(wide) for row in rows])
    own = np.array([abs(a[row]).astype(wide) @ abs(b).astype(wide) for row in rows])
    error = abs(c[rows].astype(wide) - exact) / (np.finfo(element).eps / 2)
    print(f"{float(error.max() / abs(exact).max()):.3g} {float((error / own).max()):.3g}")


def cell(lib: Path, levels: str, *of: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report")
        settings = {"LD_PRELOAD": str(lib), "BLASLIFT_BACKEND": "host", "BLASLIFT_FORCE": "all"}
        settings |= {"BLASLIFT_STRASSEN": levels, "BLASLIFT_REPORT": str(report)}
        command = [sys.executable, __file__, "--product", *of]
        done = subprocess.run(command, env=os.environ | settings, capture_output=True, text=True, check=True)
        gemm = json.loads(report.read_text().splitlines()[-1])["routines"][f"{of[0]}gemm"]
    ran = gemm["levels"].get(levels.split(":")[0], 0) if levels != "off" else gemm["routed"]
    if not ran or gemm["distrusted"]:
        sys.exit(f"levels {levels} did not run: {gemm}")
    of_all, of_own = done.stdout.split()
    return f"{of_all} ({of_own})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--lib", type=Path)
    parser.add_argument("--size", type=int, default=1024)
    parser.add_argument("--list", default="fused", help="of steps, as BLASLIFT_STRASSEN names it")
    parser.add_argument("--product", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.product:
        precision, size, distribution = arguments.product
        return product(precision, int(size), distribution)
    print("| | " + " | ".join(LEVELS) + " |")
    settings = [n if n == "off" else f"{n}:{arguments.list}" for n in LEVELS]
    for precision in "ds":
        for distribution in DISTRIBUTIONS:
            cells = [cell(arguments.lib.resolve(), n, precision, str(arguments.size), distribution) for n in settings]
            print(f"| {precision} {distribution} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
