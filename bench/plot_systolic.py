#!/usr/bin/env python3
"""Draws what bench/systolic.py has measured, by gnuplot: the thesis's figures 8 and 9 with times, and small products.

    bench/plot_systolic.py RESULTS/systolic.jsonl [--commit ID] [--out DIR] [--gnuplot PROGRAM]

Of each precision P, where there is enough to draw:
  systolic-global-P.svg, systolic-shared-P.svg  one product: measured, and dashed what the corrected formulas predict
                                                with the constants of a full device; both axes logarithmic
  systolic-batch-P.svg                          1,000 small products: GFLOP/s against n, beside cuBLAS
Prints the files' names.  Status 77 without gnuplot.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from common import Store
from figures import COLOURS, Curve, Figure, Points, draw
from systolic import predictions, ways

LINES = {
    "global": {"G1": "G1", "Gt": "Gt, t = 32", "L1": "L1", "Lr": "Lr, sum in a register"},
    "shared": {"S1": "S1", "St": "St, t = 32", "LS": "LS, tiles", "shuffle": "shuffles"},
}
TITLES = {"global": "in global memory", "shared": "by shared memory or shuffles"}
NAMES = {"d": "double precision", "s": "single precision"}
STEPS = 32


def points(store: Store, part: str, precision: str, value: Callable[[dict], float | None], **wanted: object) -> Points:
    """Against N, of the ways that have these values; of loops, which have no steps, g or clock, those are not asked."""
    found = [(float(x["N"]), value(x)) for x in ways(store, part)
             if x["precision"] == precision and all(x[k] == v for k, v in wanted.items() if k in x)]
    return sorted((n, y) for n, y in found if y is not None)


def is_thesis(x: dict) -> bool:
    """Walks as the thesis does; loops do not walk."""
    return "g" not in x or (x["g"] == 2 * x["N"] - 1 and not x["skips"])


def steps(variant: str) -> dict:
    return {"t": STEPS} if variant in ("Gt", "St") else {}


def times(store: Store, p: str, memory: str) -> Figure:
    figure = Figure(f"systolic-{memory}-{p}", f"One product of order n {TITLES[memory]}, {NAMES[p]}", ylabel="seconds",
                    is_ratio=False, precision=p, settings=["set logscale y", 'set format y "%.0e"'])
    for colour, (variant, title) in enumerate(LINES[memory].items(), 1):
        chosen = {"variant": variant, "S": 1} | steps(variant)
        rgb = COLOURS[colour]
        measured = points(store, "variants", p, lambda x: x["seconds"] if is_thesis(x) else None, **chosen)
        said = points(store, "variants", p, lambda x: predictions(store, x).get("filled") if is_thesis(x) else None,
                      **chosen)
        figure.curves.append(Curve(title, measured, f'linespoints pt 7 ps 0.5 lw 2 lc rgb "{rgb}"'))
        figure.curves.append(Curve(f"{title}, predicted", said, f'lines lw 1.5 dt 2 lc rgb "{rgb}"'))
    return figure


def rates(store: Store, p: str) -> Figure:
    figure = Figure(f"systolic-batch-{p}", f"1,000 products of order n, {NAMES[p]}", ylabel="GFLOP/s", is_ratio=False,
                    precision=p, settings=["set logscale y", "set key outside"])
    drawn = [("St", "St, t = 32, one array", 1), ("St", "St, t = 32, arrays that fill the device", 2),
             ("LS", "LS, likewise", 4), ("shuffle", "shuffles, likewise", 5), ("cublas loop", "cuBLAS in a loop", 0),
             ("cublas batch", "cuBLAS, batched", 12)]
    for variant, title, colour in drawn:
        alone = title.endswith("one array")

        def rate(x: dict, alone: bool = alone) -> float | None:
            return x["GFLOP/s"] if "arrays" not in x or (x["arrays"] == 1) == alone else None

        found = points(store, "batch", p, rate, variant=variant, S=1000, **steps(variant))
        figure.curves.append(Curve(title, found, f'linespoints pt 7 ps 0.5 lw 2 lc rgb "{COLOURS[colour]}"'))
    return figure


def figures(store: Store) -> Iterator[Figure]:
    for p in NAMES:
        for memory in LINES:
            yield times(store, p, memory)
        yield rates(store, p)


if __name__ == "__main__":
    draw(__doc__, "systolic.jsonl", figures)
