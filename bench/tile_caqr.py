#!/usr/bin/env python3
"""Tile CAQR on one node, as Takayanagi's thesis has it (2021, chapters 6 to 8), by bench/tile_caqr; beside our dgeqrf_.

    bench/tile_caqr.py --build DIR --results DIR [--commit ID] [--only PART,...] [--budget SECONDS]
                       [--backend cuda|host] [--threads T] [--shrink N]

Parts: bus (a message to the device and back, for alpha and beta), kernels (the six kernels by tile and inner block),
methods (bulk, double, stream and recursive by size and tile), order (panel by panel in place of waves), inner (widths
of inner blocks), trees (of a tall matrix), join (fork-join beside tasks), geqrf (our dgeqrf_ in front of the CPU's cores, and these alone).  Beside each method's
time stands what follows from the kernels and the bus, and formulas 6.1 to 6.3 as printed.  --shrink divides every size
and tile, for a test without a GPU.  Run again, it goes on where it stopped; tile_caqr.jsonl has the records,
tile_caqr.md the tables.
"""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Iterator, Optional

from caqr_model import Network, Place, Tiles, formulas
from common import (Failed, Measurement, Store, candidates, driver_options, list_measurements, measure_all, publish,
                    read_options, run, run_with_report, table_head, table_row)

PARTS = ("bus", "kernels", "methods", "order", "inner", "trees", "join", "geqrf")
METHODS = ("bulk", "double", "stream", "recursive")
SQUARES, TILES, INNER = (8192, 16384), (256, 384, 512, 1024), 64
INNER_WIDTHS = (32, 64, 128, 256, 512)
TALL, TALL_TILE = (131072, 2048), 512
TREES = ("flat", "binary", "greedy", "domains:16", "cyclic:4", "cyclic:16")
BUS_BYTES, LANES, CALLS, START_SECONDS, RATE, CPU_RATE = 1 << 28, 8, 3, 2.0, 2e12, 3e11


def flops(m: int, n: int) -> float:
    k, most = min(m, n), max(m, n)
    return 2.0 * k * k * (most - k / 3)


@dataclass(frozen=True)
class Case:
    part: str
    m: int
    n: int
    tile: int
    inner: int
    tree: str
    method: str
    join: bool = False
    panels: bool = False

    @property
    def shape(self) -> str:
        return f"{self.m}x{self.n}"

    @property
    def order(self) -> str:
        return "fork-join" if self.join else "panels" if self.panels else "waves"

    @property
    def key(self) -> str:
        return "/".join([self.part, self.shape, str(self.tile), str(self.inner), self.tree, self.method,
                         self.order])

    def options(self) -> list[str]:
        said = ["--m", self.m, "--n", self.n, "--tile", self.tile, "--inner", self.inner, "--tree", self.tree,
                "--method", self.method]
        return [*map(str, said), *(["--join"] if self.join else []), *(["--order", "panels"] if self.panels else [])]


def cases(parts: list[str], shrink: int) -> Iterator[Case]:
    def case(part: str, m: int, n: int, tile: int, inner: int, tree: str, method: str, join: bool = False,
             panels: bool = False) -> Case:
        inner = max(1, min(inner, tile) // shrink)
        return Case(part, m // shrink, n // shrink, tile // shrink, inner, tree, method, join, panels)

    n = SQUARES[0]
    if "methods" in parts:
        for size in SQUARES:
            for tile in TILES:
                for method in METHODS:
                    yield case("methods", size, size, tile, INNER, "flat", method)
    if "order" in parts:
        for size, tile in ((n, 256), (2 * n, 512)):
            for method in ("bulk", "double", "stream"):
                yield case("order", size, size, tile, INNER, "flat", method, panels=True)
    if "inner" in parts:
        for inner in INNER_WIDTHS:
            for method in ("double", "stream"):
                yield case("inner", n, n, 512, inner, "flat", method)
    if "trees" in parts:
        for tree in TREES:
            for method in ("double", "stream"):
                yield case("trees", *TALL, TALL_TILE, INNER, tree, method)
    if "join" in parts:
        for method in ("bulk", "double", "stream", "cpu"):
            for join in (False, True):
                size = n // 2 if method == "cpu" else n
                yield case("join", size, size, 256, 32, "flat", method, join)


# ---- measurements


def kernels_key(tile: int, inner: int) -> str:
    return f"kernels/{tile}/{inner}"


def measurements(arguments: argparse.Namespace, wanted: list[Case], environments: dict) -> list[Measurement]:
    program, parts = str(arguments.build / "bin/tile_caqr"), arguments.only
    device = ["--backend", arguments.backend]
    found = []

    def add(key: str, seconds: float, *options: str) -> None:
        command = [program, *options, *device]
        # Factors are to be made by the CPU's best library.
        found.append(Measurement(key, seconds, lambda limit: {"lines": run(command, environments["CPU"], limit)}))

    if "bus" in parts:
        add("bus", 10, "--bus", str(max(1 << 20, BUS_BYTES // arguments.shrink)))
    if "kernels" in parts:
        for tile, inner in dict.fromkeys((c.tile, c.inner) for c in cases(list(PARTS), arguments.shrink)):
            add(kernels_key(tile, inner), 4 + 30 * 1e-9 * tile**3, "--kernels", "--tile", str(tile),
                "--inner", str(inner), "--n", str(max(SQUARES) // arguments.shrink))
    for c in wanted:
        rate = CPU_RATE if c.method == "cpu" or c.join else RATE
        add(c.key, START_SECONDS + 3 * flops(c.m, c.n) / rate + c.m * c.n / 1e8, *c.options(),
            "--threads", str(arguments.threads), "--lanes", str(LANES))
    if "geqrf" in parts:
        found += geqrf(arguments, environments)
    return found


def geqrf(arguments: argparse.Namespace, environments: dict) -> Iterator[Measurement]:
    for m, n in (*((size, size) for size in SQUARES), TALL):
        m, n = m // arguments.shrink, n // arguments.shrink
        for caller in ("CPU", "blaslift"):
            command = [str(arguments.build / "bin/geqrf_time"), "d", str(CALLS), f"{m}x{n}"]

            def measure(limit: float, command: list[str] = command, caller: str = caller) -> dict:
                if caller == "CPU":
                    return run(command, environments[caller], limit)[0]
                record, report = run_with_report(command, environments[caller], limit)
                account = report["routines"]["dgeqrf"]
                # The first calls may still be the CPU's; those that are timed may not.
                if arguments.backend == "cuda" and account["routed"] < CALLS:
                    raise Failed(f"{account['routed']} of {account['calls']} calls on the device: {account['stayed']}")
                return record | {"routed": account["routed"], "calls": account["calls"]}

            seconds = 5 + m * n / 1e8 + (4 * flops(m, n) / CPU_RATE if caller == "CPU" else 1)
            yield Measurement(f"geqrf/{m}x{n}/{caller}", seconds, measure)


# ---- what is predicted


@dataclass(frozen=True)
class Bus:
    """Of messages behind each other, as a run has them."""

    up: Network
    down: Network


def fit(points: list[tuple[float, float]]) -> Network:
    """alpha and beta of (doubles, seconds), by least squares of relative errors: with absolute ones alpha would be
    whatever the largest message's scatter makes it."""
    weights = [1 / seconds**2 for _, seconds in points]
    total = sum(weights)
    x = sum(w * doubles for w, (doubles, _) in zip(weights, points)) / total
    y = sum(w * seconds for w, (_, seconds) in zip(weights, points)) / total
    beta = (sum(w * (doubles - x) * (seconds - y) for w, (doubles, seconds) in zip(weights, points))
            / sum(w * (doubles - x) ** 2 for w, (doubles, _) in zip(weights, points)))
    return Network(y - beta * x, beta)


WAYS = ("up", "down")


def fits(record: dict, suffix: str = "") -> list[Network]:
    return [fit([(line["bytes"] / 8, line[way + suffix]) for line in record["lines"]]) for way in WAYS]


def bus_of(store: Store) -> Optional[Bus]:
    record = store.get("bus")
    return Bus(*fits(record, " in a row")) if record else None


def alone_of(store: Store) -> Optional[Network]:
    """A message there and one back, each by itself, as the formulas have them."""
    record = store.get("bus")
    if not record:
        return None
    up, down = fits(record)
    return Network((up.alpha + down.alpha) / 2, (up.beta + down.beta) / 2)


def domains_of(c: Case) -> int:
    """P of the formulas; binary and Greedy trees have a domain for each row of tiles."""
    rows = -(-c.m // c.tile)
    name, _, number = c.tree.partition(":")
    return {"flat": 1, "domains": -(-rows // int(number or 1)), "cyclic": min(rows, int(number or 1))}.get(name, rows)


def formula(c: Case, kernels: dict, alone: Network, threads: int) -> float:
    """6.1 to 6.3 as printed: each update of a tile by itself, one after the other, and nothing else.  All domains are
    on one device: they take turns, and so do their merges, P - 1 as in a flat tree, each with a row there and back."""
    domains = domains_of(c)
    place = Place(kernels, threads, update_lanes=1)
    found = formulas(Tiles.of(c.m, c.n, c.tile, domains), place, alone, "flat")
    return domains * found.qr + found.merge + found.comm


@dataclass(frozen=True)
class Parts:
    """Seconds that each of what works at the same time takes, flat tree."""

    cores: float
    device: float
    up: float
    down: float

    def of(self, method: str) -> float:
        """In bulk nothing can be sent while a row is computed; otherwise whoever takes longest decides."""
        device = self.device + self.up + self.down if method == "bulk" else max(self.device, self.up, self.down)
        return max(self.cores, device)


def parts_of(c: Case, kernels: dict, bus: Bus, threads: int) -> Parts:
    tiles = Tiles.of(c.m, c.n, c.tile, 1)
    b, n, most = c.tile, c.n, kernels["n"]
    stream = c.method == "stream"

    def update(kind: str, width: int) -> float:
        """On the device, of so many columns: between what one tile and what a whole row take.  As a stream tile by
        tile, as many at once as there are streams, and no faster than all in one."""
        tile, row = kernels[kind], kernels[f"{kind} of n"]
        whole = tile + (row - tile) * (width - b) / max(1, most - b)
        count = -(-width // b)
        return max(whole, count * tile / min(count, 2 * LANES)) if stream else whole

    device = up = down = total = 0.0
    for k in range(tiles.steps):
        rows, width = tiles.p - k, n - (k + 1) * b
        total += kernels["geqrt"] + (rows - 1) * kernels["tsqrt"]
        if width <= 0:
            continue
        count = -(-width // b)
        messages = count if stream else 1
        device += update("larfb", width) + (rows - 1) * update("ssrfb", width)
        factor_copies = min(LANES, count) if stream else 1
        up += rows * (messages * bus.up.alpha + bus.up.beta * b * width
                      + factor_copies * (2 * bus.up.alpha + bus.up.beta * b * (b + c.inner)))
        down += rows * (messages * bus.down.alpha + bus.down.beta * b * width)
    # Down the first column, then a row's update and factor for each further step.
    one = kernels["ssrfb"] + bus.up.seconds(b * b) + bus.down.seconds(b * b)
    chain = kernels["geqrt"] + (tiles.p - 1) * kernels["tsqrt"] + (tiles.steps - 1) * (kernels["tsqrt"] + one)
    return Parts(max(chain, total / threads), device, up, down)


# ---- tables


def first_line(store: Store, key: str) -> Optional[dict]:
    record = store.get(key)
    return record["lines"][0] if record else None


def milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:.4g}"


def bus_table(store: Store) -> list[str]:
    record = store.get("bus")
    if not record:
        return []
    lines = ["", "## bus", "", *table_head(["", "alpha, us", "beta, ns a double", "GB/s"])]
    for suffix in ("", " in a row"):
        for way, network in zip(WAYS, fits(record, suffix)):
            cells = (1e6 * network.alpha, 1e9 * network.beta, 8e-9 / network.beta)
            lines.append(table_row([way + suffix, *(f"{cell:.3g}" for cell in cells)]))
    largest = record["lines"][-1]
    rates = ", ".join(f"{way} {1e-9 * largest['bytes'] / largest[way]:.3g} GB/s" for way in WAYS)
    return [*lines, "", f"The largest message, {largest['bytes']:,} bytes: {rates}."]


def kernels_table(store: Store) -> list[str]:
    kinds = ("geqrt", "tsqrt", "ttqrt", "larfb", "ssrfb", "ttmqr")
    rows = [(key, first_line(store, key)) for key in store.records if key.startswith("kernels/")]
    if not any(record for _, record in rows):
        return []
    lines = ["", "## kernels, ms", "", *table_head(["b, ib", *kinds, *(f"{kind} of a row" for kind in kinds[3:])])]
    for key, record in rows:
        if record:
            shown = [record[kind] for kind in kinds] + [record[f"{kind} of n"] for kind in kinds[3:]]
            lines.append(table_row([", ".join(key.split("/")[1:]), *map(milliseconds, shown)]))
    return lines


def case_table(store: Store, part: str, wanted: list[Case]) -> list[str]:
    bus, alone = bus_of(store), alone_of(store)
    lines: list[str] = []
    for c in wanted:
        record = first_line(store, c.key)
        if c.part != part or not record:
            continue
        kernels, ours = first_line(store, kernels_key(c.tile, c.inner)), store.get(f"geqrf/{c.shape}/blaslift")
        threads = record["threads"]
        cells = [f"{c.m:,} × {c.n:,}", f"{c.tile}, {c.inner}", c.tree, c.method, c.order]
        # The model is of a flat tree's waves; recursive ones have factors of another kind.
        known = kernels and bus and c.tree == "flat" and c.method in METHODS[:3] and c.order == "waves"
        if known:
            p = parts_of(c, kernels, bus, threads)
            predicted = p.of(c.method)
            cells += [*map(milliseconds, (p.cores, p.device, p.up, p.down, predicted)),
                      f"{record['seconds'] / predicted:.2f}"]
        else:
            cells += [""] * 6
        has_formula = kernels and alone and c.method in METHODS[:3] and not c.join
        cells.append(milliseconds(formula(c, kernels, alone, threads)) if has_formula else "")
        cells += [milliseconds(record["seconds"]), f"{1e-3 * record['GFLOP/s']:.3g}",
                  f"{1e-9 * record['bytes_in']:.3g}, {1e-9 * record['bytes_out']:.3g}",
                  f"{record['uploads']:,}, {record['downloads']:,}"]
        cells += [milliseconds(ours["seconds"]), f"{record['seconds'] / ours['seconds']:.2f}"] if ours else ["", ""]
        lines.append(table_row(cells))
    if not lines:
        return []
    head = ["m × n", "b, ib", "tree", "method", "", "cores, ms", "device", "up", "down", "predicted", "over that",
            "formulas", "measured, ms", "TFLOP/s", "GB in, out", "messages", "dgeqrf_, ms", "times slower"]
    return ["", f"## {part}", "", *table_head(head), *lines]


def geqrf_table(store: Store) -> list[str]:
    lines = []
    for shape in dict.fromkeys(key.split("/")[1] for key in store.records if key.startswith("geqrf/")):
        found = [store.get(f"geqrf/{shape}/{caller}") for caller in ("CPU", "blaslift")]
        routed = f"{found[1]['routed']} of {found[1]['calls']}" if found[1] else ""
        lines.append(table_row([shape, *(milliseconds(r["seconds"]) if r else "" for r in found), routed]))
    head = table_head(["m x n", "CPU, ms", "blaslift, ms", "calls on the device"])
    return ["", "## geqrf", "", *head, *lines] if lines else []


def summary(store: Store, wanted: list[Case]) -> list[str]:
    lines = [store.head(), *bus_table(store), *kernels_table(store)]
    for part in ("methods", "order", "inner", "trees", "join"):
        lines += case_table(store, part, wanted)
    return [*lines, *geqrf_table(store), "", store.failures()]


def main() -> None:
    parser = driver_options(__doc__, "tile_caqr", PARTS, 1200)
    parser.add_argument("--backend", choices=("cuda", "host"), default="cuda")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--shrink", type=int, default=1, metavar="N")
    arguments, store = read_options(parser)
    smallest = min(*TILES, TALL_TILE)
    if not 1 <= arguments.shrink <= smallest // 4:
        parser.error(f"--shrink: from 1 to {smallest // 4}")
    wanted = list(cases(arguments.only, arguments.shrink))
    with nullcontext({}) if arguments.dry_run else candidates(arguments.build) as environments:
        all_of_them = measurements(arguments, wanted, environments)
        if arguments.dry_run:
            list_measurements(all_of_them, store)
            return
        complete = measure_all(all_of_them, store, arguments.budget)
    publish(arguments, summary(store, wanted))
    sys.exit(0 if complete else 1)


if __name__ == "__main__":
    main()
