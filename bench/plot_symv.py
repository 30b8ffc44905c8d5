#!/usr/bin/env python3
"""Draws what bench/symv.py has measured, by gnuplot, as Imamura et al. (2014) do in figures 6 to 10.

    bench/plot_symv.py RESULTS/symv.jsonl [--commit ID] [--out DIR] [--gnuplot PROGRAM]

Where there is enough to draw:
  symv-P.svg             of each precision: GB/s of the triangle against n, both triangles, beside cuBLAS's two modes
  symv-ratio.svg         times faster than cuBLAS as it is, all precisions
  symv-ratio-atomics.svg the same beside cuBLAS with atomics, whose results do not repeat
Lines go through the even sizes; dots beside them are their neighbours.  Prints the files'
names.  Status 77 without gnuplot.
"""

from __future__ import annotations

from collections.abc import Iterator

from common import Store
from figures import COLOURS, Curve, Figure, Points, draw
from symv import CENTRES, curve

NAMES = {"s": "ssymv", "d": "dsymv", "c": "chemv", "z": "zhemv", "w": "wsymv"}
TRIANGLES = {"L": "lower", "U": "upper"}
WAYS = {"ours": 1, "cublas": 4, "cublas_atomics": 3}
"""What is drawn, and in which of the colours."""
TICKS = [float(n) for n in CENTRES]
TITLES = {"ours": "blaslift", "cublas": "cuBLAS", "cublas_atomics": "cuBLAS, atomics"}


def rate(record: dict, way: str) -> float | None:
    """GB/s; ours is what calls are routed to where no profile says otherwise."""
    ways = ("strips", "parts") if way == "ours" else (way,)
    return next((record[x]["GB/s"] for x in ways if x in record), None)


def rates(store: Store, precision: str, uplo: str, way: str) -> Points:
    found = [(float(n), rate(record, way)) for n, record in curve(store, precision, uplo).items()]
    return [(n, value) for n, value in found if value is not None]


def ratios(store: Store, precision: str, uplo: str, way: str) -> Points:
    """Ours over the other's rate."""
    others = dict(rates(store, precision, uplo, way))
    return [(n, value / others[n]) for n, value in rates(store, precision, uplo, "ours") if n in others]


def drawn(title: str, points: Points, colour: int, dashed: bool) -> list[Curve]:
    """A line through the even sizes, dots for the others."""
    rgb = COLOURS[colour % len(COLOURS)]
    even = [(n, value) for n, value in points if n in CENTRES]
    odd = [(n, value) for n, value in points if n not in CENTRES]
    curves = [Curve(title, even, f'linespoints pt 7 ps 0.5 lw 2 dt {2 if dashed else 1} lc rgb "{rgb}"')]
    return curves + [Curve("", odd, f'points pt {6 if dashed else 7} ps 0.25 lc rgb "{rgb}"')] if odd else curves


def by_precision(store: Store, p: str) -> Figure:
    figure = Figure(f"symv-{p}", f"{NAMES[p]} on the device, one triangle read once", ylabel="GB/s", is_ratio=False,
                    ticks=TICKS, settings=["set key bottom right", "set yrange [0:*]"])
    for way, colour in WAYS.items():
        for uplo, triangle in TRIANGLES.items():
            points = rates(store, p, uplo, way)
            figure.curves += drawn(f"{TITLES[way]}, {triangle}", points, colour, uplo == "U") if points else []
    if p == "w":  # which cuBLAS does not have: as many bytes a second as dsymv are half of its elements
        points = rates(store, "d", "L", "ours")
        figure.curves += drawn("dsymv, lower, for comparison", points, 0, False) if points else []
    return figure


def beside(store: Store, name: str, way: str, title: str) -> Figure:
    figure = Figure(name, title, ticks=TICKS)
    for colour, p in enumerate(NAMES):
        for uplo, triangle in TRIANGLES.items():
            points = ratios(store, p, uplo, way)
            figure.curves += drawn(f"{NAMES[p]}, {triangle}", points, colour + 1, uplo == "U") if points else []
    return figure


def figures(store: Store) -> Iterator[Figure]:
    for p in NAMES:
        yield by_precision(store, p)
    yield beside(store, "symv-ratio", "cublas", "SYMV and HEMV beside cuBLAS as it is")
    yield beside(store, "symv-ratio-atomics", "cublas_atomics", "SYMV and HEMV beside cuBLAS with atomics")


if __name__ == "__main__":
    draw(__doc__, "symv.jsonl", figures)
