#!/usr/bin/env python3
"""Draws what bench/levels.py has measured, by gnuplot.

    bench/plot_levels.py RESULTS/levels.jsonl... [--commit ID] [--out DIR] [--gnuplot PROGRAM]

For each precision that was measured, where there is enough to draw:
  levels-P.svg            times faster than cuBLAS against n, by the number of levels, and automatic ones
  levels-methods-P.svg    the same of the published lists
  levels-predicted-P.svg  measured beside predicted, and from which size on levels pay
Prints the files' names and both crossovers.  Status 77 without gnuplot.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from common import Store
from figures import COLOURS, Curve, Figure, Points, draw
from levels import LEVELS, METHODS

def good(store: Store, key: str) -> dict | None:
    record = store.get(key)
    return record if record and "unfit" not in record else None


def measured(store: Store, part: str, precision: str, setting: str) -> Points:
    """(n, times faster than cuBLAS) of all squares measured with this setting, by n."""
    prefix = f"{part}/{precision}/{setting}/"
    points = []
    for key in store.records:
        size = key.removeprefix(prefix)
        if key.startswith(prefix) and size.isdecimal() and (record := good(store, key)):
            points.append((float(size), record["speedup"]))
    return sorted(points)


def best(curves: list[Points]) -> Points:
    """At each n the highest."""
    highest: dict[float, float] = {}
    for points in curves:
        for n, value in points:
            highest[n] = max(value, highest.get(n, value))
    return sorted(highest.items())


def crossover(points: Points) -> float | None:
    """The n from which on the value stays above 1, between two points by a straight line; none if it does not."""
    above = None
    for (n, value), (larger, value_there) in itertools.pairwise(points):
        if value <= 1 < value_there:
            above = n + (1 - value) / (value_there - value) * (larger - n)
        elif value_there <= 1:
            above = None
    if points and all(value > 1 for _, value in points):
        return points[0][0]
    return above


def line(colour: int, *, dashed: bool = False, points: bool = True) -> str:
    kind = f"linespoints pt 7 ps {0.5 if points else 0}"
    return f'{kind} lw 2 dt {2 if dashed else 1} lc rgb "{COLOURS[colour % len(COLOURS)]}"'


def by_level(store: Store, p: str) -> Figure:
    figure = Figure(f"levels-{p}", f"{p}gemm on the device by Strassen-like levels, beside cuBLAS", precision=p)
    for i, setting in enumerate(LEVELS):
        title = "no level" if setting == "off" else f"{setting} level{'s' if setting != '1' else ''}"
        figure.curves.append(Curve(title, measured(store, "fused", p, setting), line(i)))
    auto = measured(store, "auto", p, "auto")
    figure.curves.append(Curve("automatic", auto, 'points pt 6 ps 1.2 lw 2 lc rgb "black"'))
    return figure


def named(method: str) -> str:
    """As BLASLIFT_STRASSEN has it, for the reader; fused runs in two streams unless told otherwise."""
    two = ", two streams"
    return method.replace(":1", ", one stream").replace(":2", two).replace(":all", two + " at all levels")


def by_method(store: Store, p: str) -> Figure:
    """Bars would hide that some are missing: a curve for each list and number of levels would be too many, so the best
    number of levels at each size."""
    figure = Figure(f"levels-methods-{p}", f"{p}gemm: lists of steps, each with its best number of levels", precision=p)
    levels = [level for level in LEVELS if level != "off"]
    sizes: set[float] = set()
    for i, method in enumerate(METHODS):
        points = best([measured(store, "methods", p, f"{level}:{method}") for level in levels])
        sizes |= {n for n, _ in points}
        figure.curves.append(Curve(named(method), points, line(i, dashed=":2" in method or ":all" in method)))
    fused = best([measured(store, "fused", p, level) for level in levels])
    figure.curves.append(Curve("fused", [point for point in fused if point[0] in sizes], line(len(METHODS))))
    return figure


def predicted(store: Store, p: str) -> Figure:
    figure = Figure(f"levels-predicted-{p}", f"{p}gemm: measured (points) and predicted from cuBLAS's rates (dashed)",
                    precision=p)
    record = good(store, f"predicted/{p}")
    if not record:
        return figure
    squares = [x for x in record["sizes"] if x["m"] == x["n"] == x["k"]]
    levels = [level for level in LEVELS if level != "off"]
    for i, setting in enumerate(levels):
        level = int(setting)
        points = sorted((float(x["n"]), x["seconds"][0] / x["seconds"][level]) for x in squares if x["seconds"][level])
        found = measured(store, "fused", p, setting)
        if found:
            colour = COLOURS[(i + 1) % len(COLOURS)]
            figure.curves.append(Curve(f"{level} level{'s' if level > 1 else ''}", found,
                                       f'points pt 7 ps 0.8 lc rgb "{colour}"'))
            figure.curves.append(Curve("", points, line(i + 1, dashed=True, points=False)))
    found_at = crossover(best([measured(store, "fused", p, setting) for setting in levels]))
    for at, what, colour in ((found_at, "measured", "black"), (record["crossover"], "predicted", "#666666")):
        if at:
            figure.settings.append(f'set arrow from {at:g}, graph 0 to {at:g}, graph 1 nohead dt 3 lc rgb "{colour}"')
            print(f"{p}gemm: levels pay from about {at:.0f} on, {what}")
    return figure


def figures(store: Store) -> Iterator[Figure]:
    for p in "sdcz":
        yield from (by_level(store, p), by_method(store, p), predicted(store, p))


if __name__ == "__main__":
    draw(__doc__, "levels.jsonl", figures)
