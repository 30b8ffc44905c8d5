"""Figures as gnuplot draws them, and the command of the scripts that draw them."""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from common import Store

COLOURS = ["#999999", "#4477aa", "#228833", "#ccbb44", "#ee6677", "#aa3377", "#66ccee", "#882255", "#44aa99",
           "#332288", "#999933", "#cc6677", "#000000"]  # Paul Tol's, for all eyes

RENDERED = Path(__file__).resolve().parent.parent / "build/rendered"

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
    precision: str = ""
    """Whose alone it shows, if it is one's."""


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
        "set key top left noenhanced",
        "set border 3",
        "set tics nomirror",
        *figure.settings,
    ]
    if figure.is_ratio:
        lines.append("set yrange [*<0.99:1.01<*]")
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


def records_of(paths: Iterable[Path], commit: str | None = None) -> Store:
    """Of each file the records of one commit, by default its last record's; of what is in several of them the last counts."""
    stores = [Store(path, commit or commits(path)[-1]) for path in paths]
    for more in stores[1:]:
        stores[0].records |= more.records
    return stores[0]


def drawing_options(description: str | None) -> argparse.ArgumentParser:
    """Where pictures go, and what draws them."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=RENDERED, metavar="DIR", help="default: build/rendered")
    parser.add_argument("--gnuplot", default="gnuplot", metavar="PROGRAM")
    return parser


def read_drawing_options(parser: argparse.ArgumentParser) -> argparse.Namespace:
    """Ends with status 77 without gnuplot."""
    arguments = parser.parse_args()
    if not shutil.which(arguments.gnuplot):
        print(f"SKIPPED: no {arguments.gnuplot}")
        sys.exit(77)
    arguments.out.mkdir(parents=True, exist_ok=True)
    return arguments


class HasOrigin(Protocol):
    """A Store, or what else knows where, when and on which commits a precision was measured."""

    def origin(self, precision: str = "") -> tuple[str, str]: ...


def draw_all(arguments: argparse.Namespace, found: Iterable[Figure], store: HasOrigin) -> None:
    """Those that have a line, each with the origin of its precision."""
    for figure in found:
        if not any(len(curve.points) > 1 for curve in figure.curves):
            continue
        figure.title += "".join(f"\\n{{/*0.7 {part}}}" for part in store.origin(figure.precision))
        out = arguments.out / f"{figure.name}.svg"
        plot(arguments, script(figure, out), out)


def plot(arguments: argparse.Namespace, program: str, out: Path) -> None:
    """Has gnuplot make `out`, and says so."""
    subprocess.run([arguments.gnuplot, "-"], input=program, text=True, check=True)
    print(out)


def draw(description: str, results: str, figures: Callable[[Store], Iterable[Figure]]) -> None:
    """A drawing script's whole command: draws each figure that has a line, and prints its file's name.

    Status 77 without gnuplot.
    """
    parser = drawing_options(description)
    parser.add_argument("results", type=Path, nargs="+", help=f"{results}; of what is in several of them the last counts")
    parser.add_argument("--commit", help="default: that of each file's last record")
    arguments = read_drawing_options(parser)
    store = records_of(arguments.results, arguments.commit)
    draw_all(arguments, figures(store), store)
