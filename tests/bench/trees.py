#!/usr/bin/env python3
"""bench/qr_trees compares trees and tile sizes on this machine, and bench/plot_timeline.py draws what it says."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

PLOT = Path(__file__).resolve().parent.parent.parent / "bench/plot_timeline.py"
M, N, TILES, TREES = 192, 100, (16, 40), ("flat", "binary", "3")


def tasks_of(tile: int, tree: str) -> int:
    """A tile's QR and its update are tasks for each square, an elimination and its updates are one for each row below it."""
    p, q = -(-M // tile), -(-N // tile)
    domain = {"flat": p, "binary": 1}.get(tree) or int(tree)
    count = 0
    for k in range(min(p, q)):
        squares = len({k, *(row for row in range(k, p) if row % domain == 0)})  # the first ones of their domains
        count += (squares + p - k - 1) * (q - k)
    return count


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=Path, required=True)
    program = parser.parse_args().build / "bin/qr_trees"
    with tempfile.TemporaryDirectory() as folder:
        timeline = Path(folder, "timeline")
        command = [program, "d", M, N, 2, 2, ",".join(map(str, TILES)), ",".join(TREES), timeline]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
        print(done.stdout + done.stderr)
        assert done.returncode == 0
        records = [json.loads(line) for line in done.stdout.splitlines()]
        assert [(r["tile"], r["tree"]) for r in records] == [(tile, tree) for tile in TILES for tree in TREES]
        spans = [json.loads(line) for line in timeline.read_text().splitlines()]
        for r in records:
            assert r["right"] and r["seconds"] >= r["least"] > 0 and r["predicted"] > 0, r
            assert r["tasks"] == tasks_of(r["tile"], r["tree"]), r
            assert r["in_a_row"] <= r["tasks"]
            mine = [s for s in spans if (s["tile"], s["tree"]) == (r["tile"], r["tree"])]
            assert len({(s["kind"], s["k"], s["row"], s["col"]) for s in mine}) == len(mine) == r["tasks"]
            for worker in (0, 1):
                row = sorted((s["begin"], s["end"]) for s in mine if s["worker"] == worker)
                assert all(before[1] <= after[0] for before, after in pairwise(row))

        def draw(*options: str) -> subprocess.CompletedProcess:
            return subprocess.run([sys.executable, str(PLOT), str(timeline), "tasks", "--out", folder, *options],
                                  capture_output=True, text=True, check=False)

        unknown = draw("--tile", "17")
        assert unknown.returncode == (77 if "SKIPPED" in unknown.stdout else 1)
        done = draw("--tile", "40", "--title", "Tiles of 40")
        print(done.stdout + done.stderr)
        if done.returncode == 77:
            sys.exit(77)
        assert done.returncode == 0
        text = ElementTree.tostring(ElementTree.parse(Path(folder, "tasks.svg")).getroot(), encoding="unicode")
        for word in ("Tiles of 40", "ssrfb", "ttmqr", *TREES):
            assert word in text, word
        bad = subprocess.run([str(program), "d", "9", "9", "1", "1", "4", "oak"], capture_output=True, text=True, check=False)
        assert bad.returncode == 2 and "usage" in bad.stderr


if __name__ == "__main__":
    main()
