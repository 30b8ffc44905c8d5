#!/usr/bin/env python3
"""bench/tile_caqr on the host backend: every method, tree and way to wait is right, sends what it has to, and is not
right with a wrong BLAS underneath; bench/tile_caqr.py's model by hand, and the driver on sizes a 64th of a GPU's."""

from __future__ import annotations

import argparse
import itertools
import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

BENCH = Path(__file__).resolve().parent.parent.parent / "bench"
sys.path.insert(0, str(BENCH))

import tile_caqr  # noqa: E402
from caqr_model import Network  # noqa: E402

METHODS, TREES = ("bulk", "double", "stream", "recursive"), ("flat", "binary", "greedy", "domains:2", "cyclic:3")
M, N, TILE, INNER, LANES = 150, 100, 16, 5, 3
P, Q = -(-M // TILE), -(-N // TILE)
FACTORS = sum(P - k for k in range(Q - 1))
"""That have something on their right, flat tree."""


def columns(k: int) -> int:
    return Q - 1 - k


def run(program: Path, *options: object, status: int = 0, env: dict[str, str] | None = None) -> list[dict]:
    command = [program, *map(str, options)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, env=env)
    assert done.returncode == status, (command, done.returncode, done.stdout, done.stderr)
    if status == 2:
        assert not done.stdout, done.stdout
        return [{"said": done.stderr}]
    return [json.loads(line) for line in done.stdout.splitlines()]


def factored(program: Path, method: str, tree: str, *more: object, m: int = M, n: int = N, **of_run: object) -> dict:
    sizes = ("--m", m, "--n", n, "--tile", TILE, "--inner", INNER, "--small", 6, "--lanes", LANES, "--threads", 3)
    (record,) = run(program, *sizes, "--method", method, "--tree", tree, "--repetitions", 2, *more, **of_run)
    return record


def counts_of_factors(tree: str) -> Counter:
    """Tops become triangles by themselves; of all others one is annihilated by each elimination."""
    found = Counter()
    for k in range(Q):
        rows = P - k
        tops = {"flat": 1, "binary": rows, "greedy": rows, "domains:2": len({k, *range(k + k % 2, P, 2)}),
                "cyclic:3": min(rows, 3)}[tree]
        found += Counter(geqrt=tops, tsqrt=rows - tops, ttqrt=tops - 1)
    return found


def check_methods(program: Path) -> None:
    found = {}
    for method, tree in itertools.product((*METHODS, "cpu"), TREES):
        r = found[method, tree] = factored(program, method, tree, "--check")
        assert r["right"] and r["checked"] == "whole" and 0 < r["residual"] <= r["allowed"] < 1e-12, r
        assert 0 < r["orthogonality"] <= r["allowed"] and 0 < r["least"] <= r["seconds"], r
        counted = Counter({kind: of["count"] for kind, of in r["factors"].items()})
        assert +counted == +counts_of_factors(tree), (tree, counted, counts_of_factors(tree))
    assert all(found["cpu", tree]["uploads"] + found["cpu", tree]["downloads"] == 0 for tree in TREES)

    panels = {}
    for method, tree in itertools.product(METHODS, TREES):
        r = panels[method, tree] = factored(program, method, tree, "--order", "panels", "--check")
        assert r["right"] and (r["order"], found[method, tree]["order"]) == ("panels", "waves"), r
    check_traffic(found)
    check_traffic(panels)
    # A tree goes back and forth between rows: with room for two of them more is sent than with room for four, and in
    # waves, which have room for all that are in work, nothing is sent twice.
    for tree in TREES[1:]:
        bulk, double = panels["bulk", tree]["bytes_out"], panels["double", tree]["bytes_out"]
        assert double < bulk, tree
        assert {found[method, tree]["bytes_out"] for method in METHODS} == {found["bulk", "flat"]["bytes_out"]}, tree

    for method, tree in itertools.product((*METHODS, "cpu"), ("flat", "greedy")):
        joined = factored(program, method, tree, "--join")
        assert joined["right"] and joined["join"] and joined["checked"] == "a vector", joined
        for what in ("uploads", "downloads", "bytes_in", "operations") if method != "cpu" else ():
            assert joined[what] == panels[method, tree][what], (what, joined, panels)
    # Wide ones, one column of tiles, one tile, less than a tile.
    for (m, n), method in itertools.product(((50, 130), (130, 16), (16, 16), (5, 7)), (*METHODS, "cpu")):
        assert factored(program, method, "cyclic:3", "--check", m=m, n=n)["right"]


def check_traffic(found: dict[tuple[str, str], dict]) -> None:
    """Each row of a step goes there and back once, with V and T of its factor: as a rectangle, or tile by tile."""
    bulk, double, stream, recursive = (found[method, "flat"] for method in METHODS)
    assert (bulk["uploads"], bulk["downloads"]) == (3 * FACTORS, FACTORS), bulk
    tiles = sum((P - k) * columns(k) for k in range(Q - 1))
    copies = sum((P - k) * min(LANES, columns(k)) for k in range(Q - 1))
    assert (stream["uploads"], stream["downloads"]) == (tiles + 2 * copies, tiles), stream
    elements = sum((M - k * TILE) * (N - (k + 1) * TILE) for k in range(Q - 1))
    assert bulk["bytes_out"] == double["bytes_out"] == stream["bytes_out"] == recursive["bytes_out"] == 8 * elements
    factor_doubles = TILE * (TILE + INNER)
    # V and T of the last row's tile are as large as the others'.
    assert bulk["bytes_in"] - 8 * elements == double["bytes_in"] - 8 * elements == 8 * factor_doubles * FACTORS
    assert stream["bytes_in"] - 8 * elements == 8 * factor_doubles * copies
    assert (double["uploads"], recursive["uploads"]) == (bulk["uploads"],) * 2
    assert recursive["operations"] > double["operations"] == bulk["operations"]


def check_wrong(program: Path, wrong: Path) -> None:
    """A wrong product on the device is seen by either check; of a wrong option is said what is wrong with it."""
    environment = {"LD_PRELOAD": str(wrong), "WRONG": "entry"}
    for check in ((), ("--check",)):
        assert not factored(program, "bulk", "flat", *check, status=1, env=environment)["right"]
    sizes = ("--m", 9, "--n", 9)
    for options, said in (((), "how large"),
                          (("--m", 9), "how large"),
                          ((*sizes, "--tree", "oak"), "no such tree: oak"),
                          ((*sizes, "--tree", "cyclic:0"), "not a positive number: 0"),
                          ((*sizes, "--method", "fast"), "no such method: fast"),
                          ((*sizes, "--order", "any"), "no such order: any"),
                          ((*sizes, "--wide", 3), "no such option: --wide"),
                          ((*sizes, "--tile", "4x"), "--tile: not a positive number: 4x"),
                          ((*sizes, "--tile"), "nothing behind it"),
                          ((*sizes, "--tile", 4, "--inner", 8), "--inner: wider"),
                          ((*sizes, "--tile", 4, "--small", 8), "--small"),
                          ((*sizes, "--backend", "opencl"), "opencl"),
                          ((*sizes, "--lanes", 17), "--lanes")):
        (answer,) = run(program, *options, status=2)
        assert said in answer["said"], (options, answer)


def check_model() -> None:
    points = [(2.0**i, 3e-6 + 2e-10 * 2.0**i) for i in range(9, 25)]
    network = tile_caqr.fit(points)
    assert abs(network.alpha / 3e-6 - 1) < 1e-6 and abs(network.beta / 2e-10 - 1) < 1e-6, network
    # 3 x 3 tiles: formula 6.1 has (3 - k) (2 - k) updates.
    kinds = {"geqrt": 1.0, "tsqrt": 2.0, "ttqrt": 0.0, "larfb": 10.0, "ssrfb": 20.0, "ttmqr": 0.0, "n": 300}
    kinds |= {f"{kind} of n": 3 * kinds[kind] for kind in ("larfb", "ssrfb", "ttmqr")}  # as three tiles

    def case(method: str) -> tile_caqr.Case:
        return tile_caqr.Case("methods", 300, 300, 100, 10, "flat", method)

    alone = Network(0.5, 1e-4)
    assert tile_caqr.formula(case("bulk"), kinds, alone, 4) == 20 * (3 * 2 + 2)
    # 4 x 2 tiles in two domains of two rows: two updates in each, and a merge for each step.
    merged = tile_caqr.Case("trees", 400, 200, 100, 10, "cyclic:2", "double")
    due = 2 * 20 * 2 + (2 * 3.0 + 7.0) + 2 * (0.5 + 2.0) + 2 * (0.5 + 1.0)
    assert abs(tile_caqr.formula(merged, kinds | {"ttqrt": 3.0, "ttmqr": 7.0}, alone, 4) - due) < 1e-9
    domains_due = {"flat": 1, "binary": 4, "greedy": 4, "domains:3": 2, "cyclic:3": 3, "cyclic:9": 4}
    for tree, domains in domains_due.items():
        assert tile_caqr.domains_of(tile_caqr.Case("trees", 400, 200, 100, 10, tree, "double")) == domains, tree
    bus = tile_caqr.Bus(Network(0.5, 1e-4), Network(0.25, 1e-4))
    bulk, stream = (tile_caqr.parts_of(case(method), kinds, bus, 4) for method in ("bulk", "stream"))
    # Rows of two tiles three times, and of one tile twice; of three columns by themselves nothing is left to update.
    close = lambda x, y: abs(x - y) < 1e-9 * y  # noqa: E731
    assert close(bulk.device, 2 * (10 + 2 * 20) + (10 + 20)), bulk
    assert close(bulk.down, 3 * (0.25 + 2.0) + 2 * (0.25 + 1.0)), bulk
    assert close(bulk.up, 3 * (0.5 + 2.0 + 1.0 + 1.1) + 2 * (0.5 + 1.0 + 1.0 + 1.1)), bulk
    assert close(stream.down, 3 * (0.5 + 2.0) + 2 * (0.25 + 1.0)), stream
    assert close(stream.up, 3 * (1.0 + 2.0 + 2 * 2.1) + 2 * (0.5 + 1.0 + 2.1)), stream
    one = 20 + (0.5 + 1.0) + (0.25 + 1.0)
    assert close(bulk.cores, 1 + 2 * 2 + 2 * (2 + one)), bulk
    assert bulk.of("bulk") == max(bulk.cores, bulk.device + bulk.up + bulk.down)
    assert bulk.of("double") == max(bulk.cores, bulk.device, bulk.up, bulk.down)


def check_driver(build: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, str(BENCH / "tile_caqr.py"), "--build", str(build), "--results", folder]
        dry = subprocess.run([*command, "--dry-run"], capture_output=True, text=True, check=True).stdout
        assert dry.count("  methods/") == 32 and "  geqrf/131072x2048/blaslift" in dry, dry
        totals = [float(line.split()[1]) for line in dry.splitlines() if line.startswith("about ")]
        assert len(totals) == len(tile_caqr.PARTS) and sum(totals) < 1200, totals
        command += ["--backend", "host", "--threads", "2", "--shrink", "64", "--only", "bus,kernels,inner"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        table = Path(folder, "tile_caqr.md").read_text()
        rows = [line.split(" | ") for line in table.splitlines() if line.startswith("| 128 × 128 | 8, ")]
        assert len(rows) == 10 and all(float(cell) > 0 for row in rows for cell in row[5:13]), table
        assert "Failed: nothing." in table and "## bus" in table and "## kernels" in table


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--wrong", type=Path, required=True)
    arguments = parser.parse_args()
    program = arguments.build / "bin/tile_caqr"
    check_model()
    check_methods(program)
    check_wrong(program, arguments.wrong)
    check_driver(arguments.build)


if __name__ == "__main__":
    main()
