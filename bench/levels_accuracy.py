#!/usr/bin/env python3
"""Errors of products by 0 to 4 levels on the host backend: the tables of docs/developer/levels.md.

usage: levels_accuracy.py --lib build/default/lib/libblaslift.so [--size 1024] [--list alternative]
                          [--precisions ds] [--inputs signed,normal,positive] [--bound]

A row per precision and kind of input (INPUTS says what these are); in units of u = eps / 2, the largest error over 16
sampled rows relative to max|C| and, in brackets, to the element's own (|A| |B|); with --bound, then, as a share of what
theory allows. A star: the guard had the classical product made. Each cell is a process of its own, whose report must
say that the levels ran, or that they were distrusted.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

LEVELS = ("off", "1", "2", "3", "4")

Pair = tuple["np.ndarray", "np.ndarray"]
Draw = Callable[[], "np.ndarray"]  # uniform in [-1, 1], complex ones in both parts


def graded(size: int, decades: float) -> np.ndarray:
    import numpy as np

    return np.logspace(0, -decades, size)


def blocks(size: int, edge: int, small: float) -> np.ndarray:
    """1 in blocks on the diagonal, `small` elsewhere."""
    import numpy as np

    number = np.arange(size) // edge
    return np.where(number[:, None] == number[None, :], 1.0, small)


def signs(size: int, of_two: list[list[int]]) -> np.ndarray:
    """At every level of halving the same signs."""
    import numpy as np

    pattern = np.ones((1, 1))
    while len(pattern) < size:
        pattern = np.kron(of_two, pattern)
    return pattern[:size, :size]


def scattered(size: int, small: float) -> np.ndarray:
    """1 in every third element of a row and of a column, `small` elsewhere."""
    import numpy as np

    i = np.arange(size) % 3
    return np.where(i[:, None] == i[None, :], 1.0, small)


INPUTS: dict[str, Callable[[int, Draw], Pair]] = {
    "signed": lambda n, draw: (draw(), draw()),  # uniform in [-1, 1]
    "normal": lambda n, draw: (normal(draw), normal(draw)),
    "positive": lambda n, draw: ((draw() + 1) / 2, (draw() + 1) / 2),
    # Within the guard's range: A's rows down to a hundredth.
    "rows": lambda n, draw: (draw() * graded(n, 2)[:, None], draw()),
    # Rows of A and columns of B down to a thousandth each.
    "rows and columns": lambda n, draw: (draw() * graded(n, 3)[:, None], draw() * graded(n, 3)),
    # A's columns shrink by four decades where B's rows grow: as a change of units does.
    "units": lambda n, draw: (draw() * graded(n, 4), draw() * graded(n, 4)[::-1, None]),
    # Nearly block-diagonal, by halves.
    "blocks": lambda n, draw: (draw() * blocks(n, n // 2, 1e-4), draw() * blocks(n, n // 2, 1e-4)),
    # Two elements of three small, so that two of C are: finer than any leaf.
    "scattered": lambda n, draw: (draw() * scattered(n, 1e-4), draw() * scattered(n, 1e-4)),
    # Signs with which the sums of Winograd's form are largest, and C's terms cancel.
    "adversarial": lambda n, draw: (signs(n, [[-1, -1], [1, 1]]) * near_one(draw),
                                    signs(n, [[-1, 1], [1, -1]]) * near_one(draw)),
}


def normal(draw: Draw) -> np.ndarray:
    """Of the same kind: by the sum of twelve."""
    return sum(draw() for _ in range(12)) / 2


def near_one(draw: Draw) -> np.ndarray:
    return 1 - abs(draw().real) / 16


def product(precision: str, size: int, kind: str, levels: int) -> None:
    """In a process behind blaslift: prints the three errors of one product."""
    import numpy as np

    random = np.random.default_rng(7)
    element, wide = {"d": (np.float64, np.longdouble), "s": (np.float32, np.float64),
                     "z": (np.complex128, np.clongdouble), "c": (np.complex64, np.complex128)}[precision]

    def draw() -> np.ndarray:
        x = random.uniform(-1, 1, (size, size))
        return x + 1j * random.uniform(-1, 1, (size, size)) if precision in "cz" else x

    a, b = (np.asfortranarray(x.astype(element)) for x in INPUTS[kind](size, draw))
    c = a @ b
    rows = random.choice(size, 16, replace=False)
    # Vectors of a wider type times a matrix: NumPy's own loops, or a product too thin for levels.
    exact = np.array([a[row].astype(wide) @ b.astype(wide) for row in rows])
    own = np.array([abs(a[row].astype(wide)) @ abs(b.astype(wide)) for row in rows])
    error = abs(c[rows].astype(wide) - exact) / (np.finfo(element).eps / 2)
    leaf = size >> levels
    # Higham, theorem 23.3; parts of complex numbers are products of twice as many terms.
    allowed = (18**levels * (leaf**2 + 6 * leaf) - 6 * size) * abs(a).max() * abs(b).max() * (2 if precision in "cz" else 1)
    print(*(f"{float(x):.2g}" for x in (error.max() / abs(exact).max(), (error / own).max(), error.max() / allowed)))


def cell(lib: Path, setting: str, bound: bool, *of: str) -> str:
    levels = "0" if setting == "off" else setting.split(":")[0]
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report")
        settings = {"LD_PRELOAD": str(lib), "BLASLIFT_BACKEND": "host", "BLASLIFT_FORCE": "all"}
        settings |= {"BLASLIFT_STRASSEN": setting, "BLASLIFT_REPORT": str(report)}
        command = [sys.executable, __file__, "--product", *of, levels]
        done = subprocess.run(command, env=os.environ | settings, capture_output=True, text=True, check=True)
        gemm = json.loads(report.read_text().splitlines()[-1])["routines"][f"{of[0]}gemm"]
    ran = gemm["levels"].get(levels, 0) + gemm["distrusted"] if levels != "0" else gemm["routed"]
    if not ran:
        sys.exit(f"levels {setting} did not run: {gemm}")
    of_all, of_own, of_bound = done.stdout.split()
    return f"{of_all} ({of_own})" + f" {of_bound}" * bound + " *" * bool(gemm["distrusted"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--lib", type=Path)
    parser.add_argument("--size", type=int, default=1024)
    parser.add_argument("--list", default="fused", help="of steps, as BLASLIFT_STRASSEN names it")
    parser.add_argument("--precisions", default="ds", help="of s, d, c and z")
    parser.add_argument("--inputs", default="signed,normal,positive", help=f"of {', '.join(INPUTS)}")
    parser.add_argument("--bound", action="store_true")
    parser.add_argument("--product", nargs=4, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.product:
        precision, size, kind, levels = arguments.product
        return product(precision, int(size), kind, int(levels))
    if not arguments.lib:
        parser.error("the following arguments are required: --lib")
    kinds = arguments.inputs.split(",")
    if unknown := set(kinds) - set(INPUTS) | set(arguments.precisions) - set("sdcz"):
        parser.error(f"not known: {', '.join(sorted(unknown))}")
    print("| | " + " | ".join(LEVELS) + " |\n|---" + "|---" * len(LEVELS) + "|")
    settings = [n if n == "off" else f"{n}:{arguments.list}" for n in LEVELS]
    of = (arguments.lib.resolve(),)
    for precision in arguments.precisions:
        for kind in kinds:
            cells = [cell(*of, n, arguments.bound, precision, str(arguments.size), kind) for n in settings]
            print(f"| {precision} {kind} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
