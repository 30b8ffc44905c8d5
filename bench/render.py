#!/usr/bin/env python3
"""Makes the pictures (.svg, by gnuplot) and tables (.md) of what bench/results holds.

    bench/render.py [--out DIR] [--gnuplot PROGRAM]   all of them, into build/rendered; prints their files' names
    bench/render.py FILE.jsonl...                     the tables of these files, to be read

Files that hold a program's lines as it printed them have no tables.  Status 77 without gnuplot, tables made.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Collection
from pathlib import Path

import callers
import iteration
import levels
import plot_levels
import plot_symv
import qr
import scaling
import symv
import systolic
import tile_caqr
import transfers
from common import Store, table_head, table_row
from figures import commits, draw_all, drawing_options, read_drawing_options, records_of

RESULTS = Path(__file__).resolve().parent / "results"
H100 = "h100-2026-11-"
PICTURES = (
    (plot_levels.figures, ("22-levels-474a03c", "23-levels-6e0b1f4", "23-levels-a0e3316", "23-levels-97d4589",
                           "23-levels-zc-940d0ce", "23-levels-53bab5a", "24-levels-b2ebbac", "24-levels-37de67c")),
    (plot_symv.figures, ("23-symv-1c5f4c1",)),
)
"""What draws, and of which files: of what is in several of them the last counts."""
CANDIDATES = dict.fromkeys(("CPU", "blaslift", "NVBLAS", "NVBLAS autopin"), {})


def everything(parts: Collection[str], precisions: str = "") -> argparse.Namespace:
    """A driver's arguments with which it would measure all that it can."""
    return argparse.Namespace(build=Path(), only=list(parts), precisions=precisions, sizes=list(iteration.SIZES), rounds=3,
                              iterations=None)


def of_levels(store: Store) -> list[str]:
    """What the driver says, and a plain table of parts that it no longer has."""
    lines = levels.summary(store, levels.GPU)
    former = [(key, r) for key, r in store.records.items() if key.split("/")[0] not in levels.PARTS and "speedup" in r]
    if former:
        lines += ["", "## others", "", *table_head(["", "cuBLAS ms", "its spread", "times faster", "level"])]
        lines += [table_row([key, f"{1e3 * r['cublas']['seconds']:.2f}", f"{r['cublas'].get('spread', float('nan')):.3f}",
                             f"{r['speedup']:.3f}", str(r["level"])]) for key, r in former]
    return lines


def of_transfers(store: Store) -> list[str]:
    return transfers.summary(store, {name: make(everything(()), CANDIDATES) for name, make in transfers.PARTS.items()})


def of_iteration(store: Store) -> list[str]:
    return iteration.summary(store, iteration.measurements(everything(iteration.PARTS), CANDIDATES))[0]


DRIVERS: dict[str, Callable[[Store], list[str]]] = {
    "bus": of_transfers,
    "caqr": lambda store: tile_caqr.summary(store, list(tile_caqr.cases(list(tile_caqr.PARTS), 1))),
    "callers": lambda store: callers.summary(store)[0],
    "iteration": of_iteration,
    "levels": of_levels,
    "qr": lambda store: qr.summary(store, qr.measurements(everything(qr.PARTS, "ds"), CANDIDATES)),
    "symv": lambda store: symv.summary(store, symv.measurements(everything(symv.PARTS, "dszcw"))),
    "systolic": lambda store: systolic.summary(store, systolic.measurements(everything(systolic.PARTS, "ds"))),
    "transfers": of_transfers,
    "turns": of_levels,
}
"""By a word of the file's name."""


def tables(path: Path) -> list[str]:
    """Markdown, commit by commit; none of what is not a driver's."""
    driver = next((DRIVERS[word] for word in path.stem.split("-") if word in DRIVERS), None)
    with path.open() as file:
        is_drivers = "key" in json.loads(next(file))
    if not driver or not is_drivers:
        return []
    texts = ["\n".join(driver(Store(path, commit))) for commit in commits(path)]
    return "\n\n".join(texts).splitlines()


def main() -> None:
    parser = drawing_options(__doc__)
    parser.add_argument("files", type=Path, nargs="*", metavar="FILE.jsonl")
    arguments = parser.parse_args()
    for path in arguments.files:
        print("\n".join(tables(path) or [f"{path.name}: a program's lines, as it printed them"]))
    if arguments.files:
        return
    arguments.out.mkdir(parents=True, exist_ok=True)
    for path in sorted(RESULTS.glob("*.jsonl")):
        if lines := tables(path):
            out = arguments.out / f"{path.stem}.md"
            out.write_text("\n".join(lines) + "\n")
            print(out)
    arguments = read_drawing_options(parser)
    for figures, names in PICTURES:
        store = records_of(RESULTS / f"{H100}{name}.jsonl" for name in names)
        draw_all(arguments, figures(store), store)
    kernels = scaling.Kernels(scaling.RECORD)
    draw_all(arguments, scaling.figures(kernels), kernels)


if __name__ == "__main__":
    sys.exit(main())
