#!/usr/bin/env python3
"""Draws who did which task when, of qr_trees' timelines, by gnuplot, as Takayanagi (2021) does in chapter 8.

    bench/plot_timeline.py TIMELINE NAME [--tile B] [--trees TREE,...] [--title TEXT] [--out DIR] [--gnuplot PROGRAM]

Makes NAME.svg: a row for each thread, and the trees one above the other on the same scale of time.  Prints the file's name.
Status 77 without gnuplot.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from figures import COLOURS, drawing_options, plot, read_drawing_options

KINDS = ("geqrt", "larfb", "tsqrt", "ssrfb", "ttqrt", "ttmqr")


def script(bars: dict[str, list[dict]], title: str, out: Path) -> str:
    """A whole gnuplot program, data included.  `bars`: by tree."""
    rows = {}
    for tree, tasks in bars.items():
        for worker in range(max(task["worker"] for task in tasks) + 1):
            rows[tree, worker] = len(rows) + len({t for t, _ in rows} | {tree}) - 1  # a row's distance between trees
    lowest = max(rows.values())
    labels = ", ".join(f'"{tree if worker == 0 else ""}" {lowest - row}' for (tree, worker), row in rows.items())
    height = 120 + 18 * (lowest + 1)
    lines = [
        f'set terminal svg size 860,{height} dynamic font "sans-serif,13" background rgb "white"',
        f'set output "{out}"',
        f'set title "{title}"',
        'set xlabel "milliseconds"',
        "set xrange [0:*]",
        f"set yrange [-0.7:{lowest + 0.7}]",
        f"set ytics ({labels}) nomirror",
        "set xtics nomirror",
        "set border 3",
        "set key outside bottom center horizontal",
        "set style fill solid 1.0 noborder",
    ]
    plots = []
    for number, kind in enumerate(KINDS):
        found = [(tree, task) for tree, tasks in bars.items() for task in tasks if task["kind"] == kind]
        if not found:
            continue
        lines.append(f"${kind} << END")
        for tree, task in found:
            begin, end, row = task["begin"] * 1e3, task["end"] * 1e3, lowest - rows[tree, task["worker"]]
            lines.append(f"{(begin + end) / 2:.6g} {row} {begin:.6g} {end:.6g} {row - 0.45:g} {row + 0.45:g}")
        lines.append("END")
        plots.append(f'${kind} using 1:2:3:4:5:6 with boxxyerror lc rgb "{COLOURS[number % len(COLOURS)]}" title "{kind}"')
    return "\n".join([*lines, "plot " + ", \\\n  ".join(plots)]) + "\n"


def main() -> None:
    parser = drawing_options(__doc__)
    parser.add_argument("timeline", type=Path)
    parser.add_argument("name")
    parser.add_argument("--tile", type=int, help="default: the first one's")
    parser.add_argument("--trees", type=lambda text: text.split(","), help="default: all")
    parser.add_argument("--title", default="QR of a matrix of tiles")
    arguments = read_drawing_options(parser)
    tasks = [json.loads(line) for line in arguments.timeline.read_text().splitlines()]
    if not tasks:
        sys.exit(f"{arguments.timeline}: no tasks")
    tile = arguments.tile or tasks[0]["tile"]
    bars: dict[str, list[dict]] = {}
    for task in tasks:
        if task["tile"] == tile and (not arguments.trees or task["tree"] in arguments.trees):
            bars.setdefault(task["tree"], []).append(task)
    if not bars:
        sys.exit(f"{arguments.timeline}: no such tiles and trees")
    out = arguments.out / f"{arguments.name}.svg"
    plot(arguments, script(bars, arguments.title, out), out)


if __name__ == "__main__":
    main()
