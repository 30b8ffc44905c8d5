#!/usr/bin/env python3
"""Draws how much faster whole programs run, by gnuplot: the README's picture.

    bench/plot_programs.py [RESULTS/programs.txt] [--out DIR] [--gnuplot PROGRAM]

Of a table that bench/programs.py has made, by default the one that README's picture shows, programs.svg: a bar for each
program, from its second run on, and a dot for its first one.  Prints the file's name.  Status 77 without gnuplot.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from pathlib import Path

from figures import COLOURS, drawing_options, plot, read_drawing_options

SHOWN = Path(__file__).resolve().parent / "results/h100-2026-11-28-programs-4ed0af1.txt"
"""What the README's picture is drawn from."""
WAYS = ("first", "again")


@dataclass(frozen=True)
class Program:
    name: str
    first: float
    again: float
    """Times as fast as on the CPU alone."""


def programs(text: str) -> list[Program]:
    """The first table's, fastest first."""
    lines = iter(text.splitlines())
    columns = next(cells(line) for line in lines if line.startswith("| program |"))
    places = [columns.index(f"{way}, s") + 1 for way in WAYS]
    next(lines)
    found = []
    for line in lines:
        if not line.startswith("|"):
            break
        row = cells(line)
        found.append(Program(row[0], *(float(row[i]) for i in places)))
    return sorted(found, key=lambda p: -p.again)


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def mean(ratios: list[float]) -> float:
    """Geometric."""
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def origin(text: str) -> str:
    """GPU, cores, date and commit."""
    said = re.match(r"(NVIDIA \w+).*?, (\d+) cores, (\S+ \S+); (\S+), commit (\w+);", text)
    assert said, text.splitlines()[0]
    gpu, cores, library, date, commit = said.groups()
    return f"{gpu} beside {cores} CPU cores with {library}; {date}, commit {commit}"


def script(text: str, out: Path) -> str:
    """A whole gnuplot program, data included."""
    found = programs(text)
    last = len(found) - 1
    title = (f"{len(found)} programs of NumPy, SciPy, scikit-learn and statsmodels\\n"
             f"{{/*0.8 geometric mean {mean([p.again for p in found]):.1f}, first runs {mean([p.first for p in found]):.1f}; "
             f"{origin(text)}}}")
    names = ", ".join(f'"{p.name.replace("_", "-")}" {last - i}' for i, p in enumerate(found))
    rows = [f"{last - i} {p.again:g} {p.first:g}" for i, p in enumerate(found)]
    return "\n".join([
        'set terminal svg size 860,560 dynamic font "sans-serif,13" background rgb "white"',
        f'set output "{out}"',
        f'set title "{title}"',
        "set logscale x 2",
        f"set xrange [0.5:{1.15 * max(p.again for p in found):g}]",
        f"set yrange [-0.7:{last + 0.7:g}]",
        f"set ytics ({names})",
        'set xtics ("½" 0.5, "1" 1, "2" 2, "4" 4, "8" 8, "16" 16)',
        'set xlabel "times as fast as on the CPU alone"',
        "set grid xtics lt 1 lw 1 lc rgb '#dddddd'",
        "set border 3",
        "set tics nomirror",
        "set key bottom right noenhanced",
        'set arrow from first 1, graph 0 to first 1, graph 1 nohead lc rgb "black"',
        "set style fill solid 0.9 noborder",
        "$data << END", *rows, "END",
        # From 1 to the right, or to the left where a run is slower.
        f'plot $data using (1):1:($2 < 1 ? $2 : 1):($2 < 1 ? 1 : $2):($1 - 0.38):($1 + 0.38) with boxxyerror lc rgb "{COLOURS[1]}" '
        f'title "from the second run on", \\',
        f'  $data using 3:1 with points pt 7 ps 0.5 lc rgb "{COLOURS[4]}" title "first run"',
    ]) + "\n"


def main() -> None:
    parser = drawing_options(__doc__)
    parser.add_argument("results", type=Path, nargs="?", default=SHOWN)
    arguments = read_drawing_options(parser)
    out = arguments.out / "programs.svg"
    plot(arguments, script(arguments.results.read_text(), out), out)


if __name__ == "__main__":
    main()
