#!/usr/bin/env python3
"""Draws what bench/levels.py has measured, by gnuplot.

    bench/plot_levels.py RESULTS/levels.jsonl [--commit ID] [--out docs] [--gnuplot PROGRAM]

For each precision that was measured, where there is enough to draw:
  levels-P.svg            times faster than cuBLAS against n, by the number of levels, and automatic ones
  levels-methods-P.svg    the same of the published lists
  levels-predicted-P.svg  measured beside predicted, and from which size on levels pay
Prints the files' names and both crossovers.  Status 77 without gnuplot.
"""

from __future__ import annotations

import argparse
import itertools
import json
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from common import Store
from levels import LEVELS, METHODS

COLOURS = ["#999999", "#4477aa", "#228833", "#ccbb44", "#ee6677", "#aa3377", "#66ccee"]  # Paul Tol's, for all eyes

Points = list[tuple[float, float]]


@dataclass
class Curve:
    title: str
    points: Points
    style: str
    """gnuplot's, after `with`."""


@dataclass
class Figure:
    name: str
    title: str
    curves: list[Curve] = field(default_factory=list)
    settings: list[str] = field(default_factory=list)
    """gnuplot commands of this figure's own."""
    ylabel: str = "times faster than cuBLAS"
    is_ratio: bool = True
    """Beside a line at 1."""
    ticks: list[float] = field(default_factory=list)
    """Of n; none: wherever something was measured."""


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
    figure = Figure(f"levels-{p}", f"{p}gemm on the device by Strassen-like levels, beside cuBLAS")
    for i, setting in enumerate(LEVELS):
        title = "no level" if setting == "off" else f"{setting} level{'s' if setting != '1' else ''}"
        figure.curves.append(Curve(title, measured(store, "fused", p, setting), line(i)))
    auto = measured(store, "auto", p, "auto")
    figure.curves.append(Curve("automatic", auto, 'points pt 6 ps 1.2 lw 2 lc rgb "black"'))
    return figure


def by_method(store: Store, p: str) -> Figure:
    """Bars would hide that some are missing: a curve for each list and number of levels would be too many, so the best
    number of levels at each size."""
    figure = Figure(f"levels-methods-{p}", f"{p}gemm: lists of steps, each with its best number of levels")
    levels = [level for level in LEVELS if level != "off"]
    sizes: set[float] = set()
    for i, method in enumerate(METHODS):
        points = best([measured(store, "methods", p, f"{level}:{method}") for level in levels])
        sizes |= {n for n, _ in points}
        figure.curves.append(Curve(method.replace(":2", ", two streams"), points, line(i + 1, dashed=":2" in method)))
    fused = best([measured(store, "fused", p, level) for level in levels])
    figure.curves.append(Curve("fused", [point for point in fused if point[0] in sizes], line(0)))
    return figure


def predicted(store: Store, p: str) -> Figure:
    figure = Figure(f"levels-predicted-{p}", f"{p}gemm: measured (points) and predicted from cuBLAS's rates (dashed)")
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


def script(figure: Figure, out: Path) -> str:
    """A whole gnuplot program, data included."""
    ticks = sorted({n for curve in figure.curves for n, _ in curve.points})
    # Labels closer than a seventh would run into each other.
    labels: list[float] = []
    for n in figure.ticks or ticks:
        if not labels or n >= labels[-1] * 1.15:
            labels.append(n)
    lines = [
        'set terminal svg size 860,520 dynamic font "sans-serif,13" background rgb "white"',
        f'set output "{out}"',
        f'set title "{figure.title}"',
        "set logscale x 2",
        f"set xrange [{ticks[0] * 0.95:g}:{ticks[-1] * 1.05:g}]",
        f"set xtics ({', '.join(f'{chr(34)}{n:,.0f}{chr(34)} {n:g}' for n in labels)}) rotate by -45",
        'set xlabel "n"',
        f'set ylabel "{figure.ylabel}"',
        "set grid ytics lt 1 lw 1 lc rgb '#dddddd'",
        "set key top left",
        "set border 3",
        "set tics nomirror",
        *figure.settings,
    ]
    if figure.is_ratio:
        lines.append('set arrow from graph 0, first 1 to graph 1, first 1 nohead lc rgb "black"')
    drawn = [curve for curve in figure.curves if curve.points]
    for i, curve in enumerate(drawn):
        lines += [f"$data{i} << END", *(f"{n:g} {value:g}" for n, value in curve.points), "END"]
    plots = []
    for i, curve in enumerate(drawn):
        title = f'title "{curve.title}"' if curve.title else "notitle"
        plots.append(f"$data{i} using 1:2 with {curve.style} {title}")
    lines.append("plot " + ", \\\n  ".join(plots))
    return "\n".join(lines) + "\n"


def commits(path: Path) -> list[str]:
    """In the order of their last records."""
    found: dict[str, None] = {}
    for text in path.read_text().splitlines():
        commit = json.loads(text)["commit"]
        found.pop(commit, None)
        found[commit] = None
    return list(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, help="levels.jsonl")
    parser.add_argument("--commit", help="default: that of the last record")
    parser.add_argument("--out", type=Path, default=Path(__file__).resolve().parent.parent / "docs")
    parser.add_argument("--gnuplot", default="gnuplot", metavar="PROGRAM")
    arguments = parser.parse_args()
    if not shutil.which(arguments.gnuplot):
        print(f"SKIPPED: no {arguments.gnuplot}")
        sys.exit(77)
    store = Store(arguments.results, arguments.commit or commits(arguments.results)[-1])
    arguments.out.mkdir(parents=True, exist_ok=True)
    for p in "sdcz":
        for figure in (by_level(store, p), by_method(store, p), predicted(store, p)):
            if sum(len(curve.points) > 1 for curve in figure.curves) == 0:
                continue
            out = arguments.out / f"{figure.name}.svg"
            subprocess.run([arguments.gnuplot, "-"], input=script(figure, out), text=True, check=True)
            print(out)


if __name__ == "__main__":
    main()
