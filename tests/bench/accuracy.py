#!/usr/bin/env python3
"""bench/levels_accuracy.py: its errors are those of the levels that it names, and a star says what the guard refused."""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

BENCH = Path(__file__).resolve().parent.parent.parent / "bench"
CELL = re.compile(r"(\S+) \((\S+)\) (\S+)( \*)?")


def table(lib: Path, *options: str) -> dict[str, list[tuple[float, float, float, bool]]]:
    """By row: of each number of levels the errors beside max|C|, the element's own terms and the bound, and the star."""
    done = subprocess.run([sys.executable, BENCH / "levels_accuracy.py", "--lib", lib, "--size", "64", "--bound", *options],
                          capture_output=True, text=True, check=True)
    rows = {}
    for line in done.stdout.splitlines()[2:]:
        name, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        rows[name] = [(float(m[1]), float(m[2]), float(m[3]), bool(m[4])) for m in map(CELL.fullmatch, cells) if m]
    return rows


def main() -> None:
    try:
        import numpy  # noqa: F401
    except ImportError:
        print("SKIPPED: no NumPy")
        sys.exit(77)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lib", type=Path, required=True)
    lib = parser.parse_args().lib
    rows = table(lib, "--precisions", "sz", "--inputs", "signed,blocks,scattered,adversarial")
    assert len(rows) == 8 and all(len(cells) == 5 for cells in rows.values()), rows
    for name, cells in rows.items():
        assert all(0 < bound < 1 for _, _, bound, _ in cells), f"{name}: not within theory's bound: {cells}"
        assert [star for *_, star in cells] == [False] + 4 * [name.endswith("blocks")], (name, cells)
        assert cells[0][1] < 10, f"{name}: no classical product: {cells[0]}"
    for p in "sz":
        classical, *by_levels = rows[f"{p} blocks"]
        assert all(cell[:2] == classical[:2] for cell in by_levels), "distrusted, and not the classical product's bits"
        assert all(cell[1] > 1000 for cell in rows[f"{p} scattered"][1:]), "small elements beside large ones keep digits?"
    refused = subprocess.run([sys.executable, BENCH / "levels_accuracy.py", "--lib", lib, "--inputs", "signed,what"],
                             capture_output=True, text=True, check=False)
    assert refused.returncode == 2 and "not known: what" in refused.stderr, refused


if __name__ == "__main__":
    main()
