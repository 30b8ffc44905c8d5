#!/usr/bin/env python3
"""bench/caqr_model.py's formulas and simulations, and that the documents' tables are what bench/scaling.py makes of its record."""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "bench"))
import scaling  # noqa: E402
from caqr_model import (KINDS, TREES, Merging, Network, Place, Tiles, by_steps, formulas, message_seconds, simulate,  # noqa: E402
                        ssrfbs_in_a_row, ttmqrs_in_a_row)

PAGE = ROOT / "docs/developer/places.md"
DOCUMENTED = ("whole", "tall", "weak", "strong")
"""Tables that do not take long to make; weak scaling to 16 nodes."""
NOTHING = Network(0, 0)
SECONDS = {"geqrt": 1.3, "larfb": 0.75, "tsqrt": 1.1, "ssrfb": 1.8, "ttqrt": 0.67, "ttmqr": 1.17}
"""Of single cores: in no simple ratio."""
GPU_SECONDS = SECONDS | {"larfb": 0.05, "ssrfb": 0.07, "ttmqr": 0.07}
MANY = 10**6
SIZES = ((1, 1, 1), (3, 1, 1), (1, 3, 1), (5, 4, 1), (9, 9, 1), (2, 1, 2), (4, 1, 4), (7, 5, 3), (5, 7, 3), (9, 9, 4), (2, 3, 4))
"""p, q, places."""


# ---- what the thesis's formulas count (64,000 P x 8,000, eight cores)

COUNTS = """
| 40 | 200 | 1,600 | 3,947,075 | 4,120,000 | 2,575 | 0.117 |
| 100 | 80 | 640 | 263,530 | 275,200 | 430 | 0.113 |
| 200 | 40 | 320 | 35,215 | 36,800 | 115 | 0.113 |
| 400 | 20 | 160 | 5,051 | 5,280 | 33 | 0.115 |
| 800 | 10 | 80 | 764 | 800 | 10 | 0.120 |
"""
"""b, q, d, SSRFBs in a row with one place and with many, TTMQRs in a row of a merge, T_comm of a merge.

Computed from the printed formulas and the printed alpha and beta without this code.
"""


def formulas_count_as_printed() -> None:
    for line in COUNTS.split("\n")[1:-1]:
        b, q, d, one, many, merge, comm = (float(cell.replace(",", "")) for cell in line.strip("| ").split("|"))
        first, last = (Tiles.of(64000 * places, 8000, int(b), places) for places in (1, 1024))
        assert (first.q, first.p) == (q, d), line
        assert (ssrfbs_in_a_row(first, 8), ssrfbs_in_a_row(last, 8), ttmqrs_in_a_row(last, 8)) == (one, many, merge), line
        assert round(message_seconds(last, scaling.K_COMPUTER), 3) == comm, line
        # Ten merges in a row of a binary tree of 1,024, 1,023 of a flat one.
        for tree, merges in (("binary", 10), ("flat", 1023)):
            found = formulas(last, Place(SECONDS, 8), scaling.K_COMPUTER, tree)
            assert abs(found.qr - 1.8 * many) < 1e-6 * found.qr
            assert abs(found.merge - merges * (q * 0.67 + merge * 1.17)) < 1e-6 * found.merge
            assert abs(found.comm - merges * message_seconds(last, scaling.K_COMPUTER)) < 1e-9 * found.comm


# ---- trees

def trees_merge_everything() -> None:
    for tops in range(1, 34):
        for tree in TREES:
            merging, alive, merges = Merging(tree, tops), set(range(tops)), 0
            ready = list(range(tops))[::-1]  # the last ones first: an order that no tree expects
            while ready:
                pair = merging.ready(ready.pop(0))
                if not pair:
                    continue
                upper, lower = pair
                assert upper < lower and {upper, lower} <= alive, (tree, tops, pair)
                alive.remove(lower)
                merges += 1
                ready.append(upper)
            assert alive == {0} and merges == tops - 1, (tree, tops, alive)


# ---- the same algorithm, in an order in which it can be done, with what each task reads and writes

Task = tuple[str, list[tuple], list[tuple]]


def program(tiles: Tiles, tree: str) -> Iterator[Task]:
    """Kind (or "message"), what is read, what is written.  A tile on its column is two: its triangle R, and V."""
    p, q, places = tiles.p, tiles.q, tiles.places
    for k in range(min(p, q)):
        tops = range(k, min(p, k + places))
        for top in tops:
            yield "geqrt", [], [("R", top, k), ("V", top, k)]
            for j in range(k + 1, q):
                yield "larfb", [("V", top, k)], [("A", top, j)]
            for i in range(top + places, p, places):
                yield "tsqrt", [], [("R", top, k), ("V", i, k)]
                for j in range(k + 1, q):
                    yield "ssrfb", [("V", i, k)], [("A", top, j), ("A", i, j)]
        for x, y in pairs(tree, len(tops)):
            upper, lower = ([("R", tops[z], k), *(("A", tops[z], j) for j in range(k + 1, q))] for z in (x, y))
            yield "message", [], upper + lower  # both rows are whole before it, and computed with after it
            yield "ttqrt", [], [upper[0], lower[0]]
            for above, below in zip(upper[1:], lower[1:]):
                yield "ttmqr", [lower[0]], [above, below]
            yield "message", upper, lower


def pairs(tree: str, tops: int) -> Iterator[tuple[int, int]]:
    if tree == "flat":
        yield from ((0, x) for x in range(1, tops))
        return
    distance = 1
    while distance < tops:
        yield from ((x, x + distance) for x in range(0, tops - distance, 2 * distance))
        distance *= 2


def longest(tiles: Tiles, tree: str, seconds: dict[str, float]) -> float:
    """With as many lanes as there are tasks: each begins when what it reads and writes has been left alone."""
    written: dict[tuple, float] = {}
    read: dict[tuple, float] = {}
    for kind, reads, writes in program(tiles, tree):
        # A tile's update is over before its triangle or its V is made.
        before = [*reads, *writes, *(("A", i, j) for what, i, j in writes if what != "A")]
        begin = max([written.get(x, 0.0) for x in before] + [read.get(x, 0.0) for x in writes])
        end = begin + seconds.get(kind, 0.0)
        for x in writes:
            written[x] = end
        for x in reads:
            read[x] = max(read.get(x, 0.0), end)
    return max(written.values())


def every_task_is_simulated() -> None:
    for p, q, places in SIZES:
        tiles = Tiles(10, p, q, places)
        for tree in TREES:
            found = simulate(tiles, Place(SECONDS, 1), NOTHING, tree)
            due = Counter(kind for kind, *_ in program(tiles, "binary"))  # of any tree
            messages = due.pop("message", 0)
            assert (found.tasks, found.messages) == (due, messages), (p, q, places, tree, found, due)
            work = sum(SECONDS[kind] * count for kind, count in due.items())
            # One lane at one place is never idle; more places cannot be faster than their share of the work.
            assert found.seconds >= work / places * (1 - 1e-12)
            if places == 1:
                assert abs(found.seconds - work) < 1e-9 * work, (p, q)


def waits_are_those_of_the_data() -> None:
    for p, q, places in SIZES:
        tiles = Tiles(10, p, q, places)
        for tree in ("binary", "flat"):
            due = longest(tiles, tree, SECONDS)
            for place in (Place(SECONDS, MANY), Place(SECONDS, MANY, MANY)):
                found = simulate(tiles, place, NOTHING, tree).seconds
                assert abs(found - due) < 1e-9 * due, (p, q, places, tree, found, due)
            # Two places never have two messages at a time in one direction.
            if places == 2:
                network = Network(0.5, 0.001)
                message = 2 * network.seconds(100) * (p > 1)
                found = simulate(Tiles(10, p, 1, 2), Place(SECONDS, 1), network, tree).seconds
                tall = longest(Tiles(10, p, 1, 2), tree, SECONDS)
                assert abs(found - tall - message) < 1e-9, (p, found, tall)


def one_column_by_hand() -> None:
    """Four places of one row: a triangle each, which merge."""
    tiles, network = Tiles(10, 4, 1, 4), Network(0.5, 0.001)
    message = 0.5 + 0.1
    seconds = {tree: simulate(tiles, Place(SECONDS, 8), network, tree).seconds for tree in TREES}
    binary = 1.3 + 2 * (message + 0.67 + message)  # a row goes back before the place's own goes on
    flat = 1.3 + 3 * (message + 0.67) + message
    for tree, due in (("binary", binary), ("greedy", binary), ("flat", flat)):
        assert abs(seconds[tree] - due) < 1e-12, (tree, seconds[tree], due)
        assert abs(by_steps(tiles, Place(SECONDS, 8), network, tree) - due) < 1e-12, tree


def whole_steps_agree() -> None:
    """To 8 %: a domain's step has a first and a last round that do not fill all lanes, which is only allowed for roughly.

    Greedy's merges depend on who is ready first: 20 %, where messages take longest.
    """
    worst: dict[str, float] = {}
    for place in (Place(SECONDS, 4), Place(SECONDS, 8), Place(GPU_SECONDS, 4, 1)):
        for p, q, places in ((40, 20, 1), (40, 20, 4), (80, 20, 8), (64, 16, 16), (32, 32, 4), (48, 48, 8), (37, 23, 5)):
            for tree in TREES:
                for network in (NOTHING, Network(0.02, 1e-5), Network(0.1, 1e-4)):
                    tiles = Tiles(100, p, q, places)
                    ratio = by_steps(tiles, place, network, tree) / simulate(tiles, place, network, tree).seconds
                    worst[tree] = max(worst.get(tree, 0), abs(ratio - 1))
                    assert abs(ratio - 1) < (0.2 if tree == "greedy" else 0.08), (place, p, q, places, tree, network, ratio)
    print("whole steps are off by at most", ", ".join(f"{off:.1%} ({tree})" for tree, off in worst.items()))


def more_is_never_worse() -> None:
    """A slower network, or slower merges, do not help."""
    tiles = Tiles(100, 64, 16, 16)
    times = [by_steps(tiles, Place(SECONDS, 8), Network(0, beta), "binary") for beta in (0, 1e-6, 1e-5, 1e-4)]
    assert times == sorted(times) and times[0] < times[-1], times
    every = [simulate(tiles, Place(SECONDS, 8), Network(0, beta), "binary").seconds for beta in (0, 1e-6, 1e-5, 1e-4)]
    assert every == sorted(every) and every[0] < every[-1], every


# ---- the record, the program and the page

def counts_are_those_of(record: dict) -> None:
    tiles = Tiles.of(record["m"], record["n"], record["tile"], record["places"])
    tasks = simulate(tiles, Place(SECONDS, 8), NOTHING).tasks
    assert record["right"] and record["count"] == {kind: tasks[kind] for kind in KINDS}, record


def program_runs(program: Path) -> None:
    def run(*words: object) -> subprocess.CompletedProcess:
        return subprocess.run([str(program), *map(str, words)], capture_output=True, text=True, check=False)

    for words in (("96", "48", "16", "5", "3"), ("64", "64", "16", "16", "1"), ("48", "96", "16", "8", "4")):
        done = run("whole", *words)
        assert done.returncode == 0, done.stdout + done.stderr
        counts_are_those_of(json.loads(done.stdout.splitlines()[1]))
    done = run("0.001", "16,24", "4,20")
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert lines[0]["cpu"] and [(r["tile"], r["inner"]) for r in lines[1:]] == [(16, 4), (24, 4), (24, 20)]
    assert all(set(r[what]) == set(KINDS) and r["least"][kind] <= r["median"][kind]
               for r in lines[1:] for what in ("median", "least") for kind in KINDS)
    for words in ((), ("1",), ("0", "16", "4"), ("whole", "100", "16", "16", "4", "1")):
        assert run(*words).returncode == 2, words


def page_is_what_is_made(kernels: scaling.Kernels) -> None:
    text = PAGE.read_text()
    scaling.WEAK = replace(scaling.WEAK, nodes=scaling.TO_16)
    for part in DOCUMENTED:
        _, _, *rows = scaling.PARTS[part](kernels, scaling.K_COMPUTER, "binary")
        for row in rows:
            assert row in text, f"{PAGE.name} lacks a row of {part}: {row}"
    shown = re.findall(r"tile-kernels-\w+", text)
    assert shown and set(shown) == {"-".join(scaling.RECORD.stem.split("-")[4:])}, shown


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, help="runs its tile_kernels, too, if there is one")
    arguments = parser.parse_args()
    formulas_count_as_printed()
    trees_merge_everything()
    every_task_is_simulated()
    waits_are_those_of_the_data()
    one_column_by_hand()
    whole_steps_agree()
    more_is_never_worse()
    kernels = scaling.Kernels(scaling.RECORD)
    for record in kernels.whole:
        counts_are_those_of(record)
    if arguments.build and (program := arguments.build / "bin/tile_kernels").exists():
        program_runs(program)
    page_is_what_is_made(kernels)


if __name__ == "__main__":
    main()
