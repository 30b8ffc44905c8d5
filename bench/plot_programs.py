#!/usr/bin/env python3
"""Draws how much faster whole programs run, by gnuplot: the README's picture.

    bench/plot_programs.py [RESULTS/run.jsonl] [--out DIR] [--gnuplot PROGRAM]

Of bench/run.py's records, by default those that README's picture shows, programs.svg: a bar for each program, from its
second run on, and a dot for its first one.  Prints the file's name.  Status 77 without gnuplot.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import run_records
from common import Store
from figures import COLOURS, drawing_options, plot, read_drawing_options, records_of
from run_records import WAYS, mean

SHOWN = Path(__file__).resolve().parent.parent / next(iter(run_records.PAGES.values()))
"""What the README's picture is drawn from."""


@dataclass(frozen=True)
class Program:
    name: str
    first: float
    again: float
    """Times as fast as on the CPU alone."""


def programs(store: Store) -> list[Program]:
    """Those that ran in all ways, fastest first."""
    found = []
    for name, records in run_records.programs(store).items():
        seconds = run_records.seconds_of(records)
        if all(way in seconds for way in ("plain", *WAYS)):
            found.append(Program(name, *(seconds["plain"] / seconds[way] for way in WAYS)))
    return sorted(found, key=lambda p: -p.again)


def origin(store: Store) -> str:
    """GPU, cores, date and commit."""
    machine = store.get("setup") or {}
    dates_and_commits = store.origin()[1]
    return f"{run_records.gpu(store)[0]} beside {machine.get('cores')} CPU cores with {machine.get('library')}; {dates_and_commits}"


def script(store: Store, out: Path) -> str:
    """A whole gnuplot program, data included."""
    found = programs(store)
    last = len(found) - 1
    title = (f"{len(found)} programs of NumPy, SciPy, scikit-learn and statsmodels\\n"
             f"{{/*0.8 geometric mean {mean([p.again for p in found]):.1f}, first runs {mean([p.first for p in found]):.1f}; "
             f"{origin(store)}}}")
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
        'set xtics ("½" 0.5, "1" 1, "2" 2, "4" 4, "8" 8, "16" 16, "32" 32)',
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
    plot(arguments, script(records_of([arguments.results]), out), out)


if __name__ == "__main__":
    main()
