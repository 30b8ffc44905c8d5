#!/usr/bin/env python3
"""bench/render.py makes every picture and table from bench/results, which holds what the documents cite and nothing else."""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parent.parent.parent
RENDER = ROOT / "bench/render.py"
RESULTS = ROOT / "bench/results"
SVG = "{http://www.w3.org/2000/svg}"
SHOWN = {
    "bus-48669a7": ["| pinned | 54.7 | | 55.1 | |", "| pageable, 8192 x 16384, ld 8192 | 50.9 | 93 % | 51.4 | 93 % |"],
    "transfers-48669a7": ["| dgemm 65536 | off | 10.98 | 51.3 |", "| 8192 | 16 | 7.484 (7.210, 7.955) | 7.026 (6.879, 7.333) |"],
    "levels-474a03c": ["| 40960 | 2741.15 | 50.1 | 1.001 |  | 1.297 | 1.411 | 1.321 |"],
    "levels-b2ebbac": ["| shapes/d/auto/10007 | 49.09 | 0.058 | 1.123 | 1 |"],
    "symv-1c5f4c1": ["## curve, z, U", "| 16384 | 128x32x8x256 |  | 3007 | 2949 | 1543 | 2924 | yes |"],
    "qr-a2a843e": ["| 1048576x64 | 64 | 64 | 1.828 | 4.7 | 9.473 |"],
    "qr-host-cb2ad95": ["| d | 16384x16384 |"],
    "iteration": ["commit ff904bd", "commit 6e0b1f4", "| lanczos, constant | 8192 | numpy's | 1.893 |"],
    "turns-b0fdd33": ["| 12345x9876x11111 | "],
    "callers-e073c59": ["| 16 | 500 | 320 | ", "| 16 | 1000 | 120 | "],
}
"""Some of what each renderer is to say."""


def documents() -> str:
    paths = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
    return "\n".join(path.read_text() for path in sorted(paths))


def kept_is_cited(text: str) -> None:
    names = {path.name for path in RESULTS.iterdir()}
    uncited = [name for name in sorted(names) if name not in text]
    assert not uncited, f"no document cites {', '.join(uncited)}"


def run(*words: object) -> subprocess.CompletedProcess:
    done = subprocess.run([sys.executable, RENDER, *words], capture_output=True, text=True, check=False)
    assert not done.stderr, done.stderr
    return done


def tables_are_made(folder: Path) -> None:
    made = {path.stem: path.read_text() for path in folder.glob("*.md")}
    for word, rows in SHOWN.items():
        text, = (text for name, text in made.items() if name.endswith(f"-{word}"))
        for row in rows:
            assert row in text, f"{word}: {row} is missing"
    for name, text in made.items():
        assert re.search(r"NVIDIA H[12]00", text.splitlines()[0]) and re.search(r"^\|[-:|]+\|\n\| .*\d", text, re.MULTILINE), f"{name} is empty"
    one = RESULTS / "h100-2026-11-22-bus-48669a7.jsonl"
    assert run(one).stdout == made[one.stem]
    raw = run(RESULTS / "h100-2026-11-24-tiles-b0fdd33.jsonl").stdout
    assert "as it printed them" in raw and "h100-2026-11-24-tiles-b0fdd33" not in made, raw


def points(plot: ElementTree.Element) -> int:
    """Of a curve: marks, or corners of a line."""
    lines = [path.get("d", "").count("L") for path in plot.iter(f"{SVG}path")]
    return max(len(list(plot.iter(f"{SVG}use"))), *lines, 0)


def pictures_are_made(folder: Path, spoken_of: set[str]) -> None:
    made = {path.name: ElementTree.fromstring(path.read_text()) for path in folder.glob("*.svg")}
    assert set(made) == spoken_of, f"not both made and in a document: {set(made) ^ spoken_of}"
    for name, picture in made.items():
        plots = [x for x in picture.iter(f"{SVG}g") if x.get("id", "").startswith("gnuplot_plot_")]
        assert len(plots) > 1 and all(points(plot) > 1 for plot in plots), f"{name}: a curve is missing or empty"
        where = "simulated; kernels of one core, AMD EPYC" if name.startswith("scaling-") else "NVIDIA H100"
        assert where in " ".join(picture.itertext()), f"{name} does not say where it was measured"
    # Each says of which runs it is: FP64's first one has no complex products.
    for name, commit, said in (("levels-d", "474a03c", True), ("levels-z", "474a03c", False), ("levels-z", "940d0ce", True)):
        assert (commit in " ".join(made[f"{name}.svg"].itertext())) == said, (name, commit)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gnuplot", default="gnuplot")
    arguments = parser.parse_args()
    text = documents()
    kept_is_cited(text)
    with tempfile.TemporaryDirectory() as scratch:
        without = run("--out", scratch, "--gnuplot", "/nowhere/gnuplot")
        assert without.returncode == 77 and "SKIPPED" in without.stdout
        tables_are_made(Path(scratch))
    if not shutil.which(arguments.gnuplot):
        print("SKIPPED: no gnuplot; only the tables were tested")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as scratch:
        done = run("--out", scratch, "--gnuplot", arguments.gnuplot)
        print(done.stdout)
        assert done.returncode == 0, done.returncode
        assert set(done.stdout.split()) >= {str(path) for path in Path(scratch).iterdir()}
        pictures_are_made(Path(scratch), set(re.findall(r"`([\w-]+\.svg)`", text)))


if __name__ == "__main__":
    main()
