#!/usr/bin/env python3
"""Scaling of tile CAQR over many places, predicted: the experiments of Takayanagi's thesis (2021, chapter 8) redrawn.

    bench/scaling.py [--kernels RECORD] [--alpha S] [--beta S] [--tree TREE] [--only PART,...]

Prints tables of all parts, or some: whole (predicted beside measured, one core), agreement (every task beside whole steps),
tall (64,000 P x 8,000, figure 8.1), weak and squares (81,920 x 81,920 a node, figure 8.7: rows grow, or both), strong
(102,400 x 102,400, figure 8.8), limits (16 nodes by network and tree), trees.
bench/render.py draws them.

Nothing here runs on more than one place.  Times of kernels are measured, on one core (RECORD, as bench/tile_kernels prints
it); all else is bench/caqr_model.py's.  alpha and beta, seconds of a message and of a double in it, are the K computer's, as
the thesis has measured them between two nodes.  Tile sizes and inner blocks are the best of those in RECORD, by prediction.

A node is one of three: K's, eight cores; "36 cores", as many as a node of Reedbush-H has; "2 GPUs", two places of 16 cores
that factor and a GPU that updates, reckoned from what an H100 was measured to do: its products of a tile's size by the
built-in profile, five in place of four for T, or the tile's way over the bus and back, whichever is longer (Stream, with all
copies hidden).
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from caqr_model import KINDS, TREES, Network, Place, Tiles, by_steps, formulas, simulate
from common import table_head, table_row
from figures import COLOURS, Curve, Figure

ROOT = Path(__file__).resolve().parent.parent
RECORD = ROOT / "bench/results/host-2026-11-30-tile-kernels-30ac7f1.jsonl"
PROFILE = ROOT / "profiles/sm_90.profile"
BUS = ROOT / "bench/results/h100-2026-11-22-bus-48669a7.jsonl"
K_COMPUTER = Network(alpha=1.8e-5, beta=1.7e-9)
BUS_NETWORK = Network(K_COMPUTER.alpha, 8 / json.loads(BUS.read_text().splitlines()[0])["each_way_at_once"])
"""As fast as the bus of an H100 where both ways are used at once."""
NODES = tuple(2**i for i in range(11))
TALL_TILES = (40, 100, 200, 400, 800)

Choice = tuple[int, int]
"""Tile size, inner block."""


# ---- what was measured


@dataclass(frozen=True)
class Kernels:
    """A record of bench/tile_kernels."""

    path: Path

    @cached_property
    def lines(self) -> list[dict]:
        return [json.loads(line) for line in self.path.read_text().splitlines()]

    @cached_property
    def seconds(self) -> dict[Choice, dict[str, float]]:
        """Medians."""
        return {(r["tile"], r["inner"]): r["median"] for r in self.lines if "median" in r}

    @property
    def whole(self) -> list[dict]:
        return [r for r in self.lines if "places" in r]

    def choices(self, tiles: Iterable[int] = ()) -> list[Choice]:
        return [choice for choice in self.seconds if not tiles or choice[0] in tiles]

    def origin(self, precision: str = "") -> tuple[str, str]:
        """Of a picture: grounds, and date and commit."""
        cpu = next(r for r in self.lines if "cpu" in r)
        library = " ".join(cpu["library"].split()[:2])
        named = re.search(r"(\d{4}-\d\d-\d\d)-tile-kernels-(\w+)", self.path.stem)
        when = f"{named[1]}, commit {named[2]}" if named else self.path.stem
        return f"simulated; kernels of one core, {cpu['cpu']}, {library}", when


def gpu_seconds(kernels: dict[str, float], b: int) -> dict[str, float] | None:
    """A tile's factors by a core, its updates by a GPU; none without a rate of products of that size."""
    rate = re.search(rf"^dgemm_leaf_rate {b} (\S+)$", PROFILE.read_text(), re.MULTILINE)
    if not rate:
        return None
    bus = b * b * BUS_NETWORK.beta

    def update(products: int) -> float:
        return max(products * b**3 / float(rate[1]), bus)

    return kernels | {"larfb": update(3), "ssrfb": update(5), "ttmqr": update(5)}


# ---- nodes


@dataclass(frozen=True)
class Node:
    name: str
    places: int
    """In a node."""
    place: Callable[[dict[str, float], int], Place | None]
    """From the kernels of a tile size."""


def cores(count: int) -> Callable[[dict[str, float], int], Place]:
    return lambda seconds, b: Place(seconds, count)


def gpu(seconds: dict[str, float], b: int) -> Place | None:
    found = gpu_seconds(seconds, b)
    return Place(found, lanes=16, update_lanes=1) if found else None


K_NODE = Node("8 cores", 1, cores(8))
CORES = Node("36 cores", 1, cores(36))
GPUS = Node("2 GPUs", 2, gpu)


# ---- cases


def flops(m: int, n: int) -> float:
    return 2.0 * n * n * (m - n / 3)


@dataclass(frozen=True)
class Case:
    name: str
    shape: Callable[[int], tuple[int, int]]
    """m and n for so many nodes."""
    printed: float
    """Efficiency at 16 nodes, as the thesis has it."""
    nodes: tuple[int, ...]


def square(nodes: int) -> tuple[int, int]:
    """81,920^2 elements a node, in multiples of 1,280."""
    n = 1280 * round(64 * nodes**0.5)
    return n, n


TO_16 = (1, 2, 4, 8, 16)
WEAK = Case("rows grow", lambda nodes: (81920 * nodes, 81920), 0.5, (*TO_16, 64, 256, 1024))
SQUARES = Case("squares", square, 0.5, (*TO_16, 64))
STRONG = Case("strong", lambda nodes: (102400, 102400), 0.19, TO_16)
LARGE_TILES = (256, 320, 384, 512, 640, 768, 1024)


@dataclass(frozen=True)
class Point:
    nodes: int
    choice: Choice
    seconds: float
    efficiency: float
    """Of the nodes' speeds together, relative to one node's."""
    by_formulas: float
    """The same as the formulas have it, with the same tiles."""


def curve(kernels: Kernels, node: Node, case: Case, many: Iterable[int], network: Network, tree: str) -> Iterator[Point]:
    """By whole steps, with the tile size and inner block that are predicted to be the best for so many nodes.

    Those that are a third slower than the best are not looked at for more nodes; beyond 16 nodes the best one stays.
    """
    left = [(choice, place) for choice in kernels.choices(LARGE_TILES) if (place := node.place(kernels.seconds[choice], choice[0]))]
    first = None
    for nodes in many:
        m, n = case.shape(nodes)

        def tiles(choice: Choice) -> Tiles:
            return Tiles.of(m, n, choice[0], nodes * node.places)

        found = [(by_steps(tiles(choice), place, network, tree), choice, place) for choice, place in left]
        seconds, choice, place = min(found, key=lambda x: x[:2])
        left = [(c, at) for s, c, at in found if s < 4 / 3 * seconds] if nodes < 16 else [(choice, place)]
        both = tuple(flops(m, n) / nodes / s for s in (seconds, formulas(tiles(choice), place, network, tree).seconds))
        first = first or both
        yield Point(nodes, choice, seconds, both[0] / first[0], both[1] / first[1])


# ---- tables


def share(value: float) -> str:
    return f"{100 * value:.0f} %"


def sizes(m: int, n: int) -> str:
    return f"{m:,} × {n:,}"


def whole_table(kernels: Kernels, *_: object) -> list[str]:
    """One core: how long all tasks took, beside how often each came times its median, and beside formula 6.1."""
    lines = table_head(["m × n", "b, ib", "P", "measured, s", "counts × medians", "SSRFB's share", "formula 6.1"])
    for r in kernels.whole:
        seconds = kernels.seconds[r["tile"], r["inner"]]
        took = sum(r["seconds"].values())
        counted = sum(seconds[kind] * r["count"][kind] for kind in KINDS)
        tiles = Tiles.of(r["m"], r["n"], r["tile"], r["places"])
        # Its domains are computed one after the other here.
        printed = f"{formulas(tiles, Place(seconds, 1), K_COMPUTER).qr / took:.2f}" if r["places"] == 1 else ""
        lines.append(table_row([sizes(r["m"], r["n"]), f"{r['tile']}, {r['inner']}", str(r["places"]), f"{took:.3f}",
                                f"{counted / took:.2f}", share(r["seconds"]["ssrfb"] / took), printed]))
    return lines


AGREEMENT = ((K_NODE, lambda nodes: (64000 * nodes, 8000), 400, (1, 2, 4, 16)),
             (CORES, lambda nodes: (102400, 102400), 1024, (1, 2, 4, 16)),
             (GPUS, lambda nodes: (102400, 102400), 1024, (1, 2, 4, 16)))
"""Nodes, sizes, tiles, how many."""


def widest(kernels: Kernels, node: Node, b: int) -> Place:
    """With the widest inner block."""
    return node.place(kernels.seconds[max(kernels.choices([b]))], b)


def agreement_table(kernels: Kernels, network: Network, tree: str) -> list[str]:
    """All tasks one by one, beside whole steps and the formulas."""
    lines = table_head(["nodes of", "m × n", "b", "nodes", "tasks", "every task, s", "whole steps", "formulas"])
    for node, shape, b, many in AGREEMENT:
        place = widest(kernels, node, b)
        for nodes in many:
            tiles = Tiles.of(*shape(nodes), b, nodes * node.places)
            every = simulate(tiles, place, network, tree)
            others = (by_steps(tiles, place, network, tree), formulas(tiles, place, network, tree).seconds)
            lines.append(table_row([node.name, sizes(*shape(nodes)), str(b), str(nodes), f"{every.tasks.total():,}",
                                    f"{every.seconds:.3g}", *(f"{other / every.seconds:.2f}" for other in others)]))
    return lines


TALL_SHOWN = (1, 2, 16, 128, 1024)


def tall_tiles(nodes: int, b: int) -> Tiles:
    return Tiles.of(64000 * nodes, 8000, b, nodes)


def tall_place(kernels: Kernels, b: int, network: Network) -> Place:
    """A node of K's, with the inner block that is the best by the formulas."""
    places = [K_NODE.place(kernels.seconds[choice], b) for choice in kernels.choices([b])]
    return min(places, key=lambda place: formulas(tall_tiles(1, b), place, network).seconds)


def tall_table(kernels: Kernels, network: Network, tree: str) -> list[str]:
    lines = table_head(["b", *(f"{way}, {nodes:,}" for way in ("formulas", "simulated") for nodes in TALL_SHOWN), "T_comm, 1,024"])
    for b in TALL_TILES:
        place = tall_place(kernels, b, network)
        printed = [formulas(tall_tiles(nodes, b), place, network, tree) for nodes in TALL_SHOWN]
        simulated = [by_steps(tall_tiles(nodes, b), place, network, tree) for nodes in TALL_SHOWN]
        lines.append(table_row([str(b), *(f"{x.seconds:.1f}" for x in printed), *(f"{x:.1f}" for x in simulated),
                                f"{printed[-1].comm:.2f}"]))
    return lines


def scaling_table(kernels: Kernels, case: Case, network: Network, tree: str) -> list[str]:
    """Both kinds of nodes."""
    names = [f"{node.name}: {what}" for node in (CORES, GPUS) for what in ("b, ib", "s", "efficiency", "formulas")]
    lines = table_head(["nodes", "m × n", *names, "in print"])
    for points in zip(*(curve(kernels, node, case, case.nodes, network, tree) for node in (CORES, GPUS))):
        nodes = points[0].nodes
        cells = [f"{nodes:,}", sizes(*case.shape(nodes))]
        for point in points:
            cells += ["{}, {}".format(*point.choice), f"{point.seconds:.4g}", share(point.efficiency), share(point.by_formulas)]
        lines.append(table_row([*cells, share(case.printed) if nodes == 16 else ""]))
    return lines


NETWORKS = (("K's", K_COMPUTER), ("K's α, an H100's bus", BUS_NETWORK), ("none", Network(0, 0)))


def limits_table(kernels: Kernels, *_: object) -> list[str]:
    """What 16 nodes lose by the network, and by the tree."""
    lines = table_head(["16 nodes of", "scaling", "network", *TREES, "in print"])
    for node in (CORES, GPUS):
        for case in (WEAK, STRONG):
            for name, network in NETWORKS:
                found = [list(curve(kernels, node, case, TO_16, network, tree))[-1].efficiency for tree in TREES]
                lines.append(table_row([node.name, case.name, name, *map(share, found), share(case.printed)]))
    return lines


def trees_table(kernels: Kernels, network: Network, *_: object) -> list[str]:
    lines = table_head(["nodes of", "m × n", "b", "nodes", *(f"{tree}, s" for tree in TREES),
                        *(f"{tree}, formulas" for tree in TREES[:2])])
    for node, shape, b, many in ((K_NODE, lambda nodes: (64000 * nodes, 8000), 400, (16, 128, 1024)),
                                 (GPUS, STRONG.shape, 512, (4, 16))):
        place = widest(kernels, node, b)
        for nodes in many:
            tiles = Tiles.of(*shape(nodes), b, nodes * node.places)
            lines.append(table_row([node.name, sizes(*shape(nodes)), str(b), f"{nodes:,}",
                                    *(f"{by_steps(tiles, place, network, tree):.1f}" for tree in TREES),
                                    *(f"{formulas(tiles, place, network, tree).seconds:.1f}" for tree in TREES[:2])]))
    return lines


PARTS: dict[str, Callable[[Kernels, Network, str], list[str]]] = {
    "whole": whole_table,
    "agreement": agreement_table,
    "tall": tall_table,
    "weak": lambda kernels, network, tree: scaling_table(kernels, WEAK, network, tree),
    "squares": lambda kernels, network, tree: scaling_table(kernels, SQUARES, network, tree),
    "strong": lambda kernels, network, tree: scaling_table(kernels, STRONG, network, tree),
    "limits": limits_table,
    "trees": trees_table,
}


# ---- pictures


def figures(kernels: Kernels) -> Iterator[Figure]:
    """The thesis's figures 8.1, 8.7 and 8.8, merged in a binary tree."""
    tall = Figure("scaling-tall", "QR of 64,000 P × 8,000, nodes of eight cores", ylabel="seconds", is_ratio=False,
                  settings=['set xlabel "nodes"', "set yrange [0:*]", "set key bottom right"])
    for colour, b in zip(COLOURS[1:], TALL_TILES):
        place = tall_place(kernels, b, K_COMPUTER)
        for name, style, seconds in (("formulas", "lines lw 2", lambda tiles: formulas(tiles, place, K_COMPUTER).seconds),
                                     ("simulated", "points pt 7", lambda tiles: by_steps(tiles, place, K_COMPUTER))):
            points = [(nodes, seconds(tall_tiles(nodes, b))) for nodes in NODES]
            tall.curves.append(Curve(f"b = {b}, {name}", points, f'{style} lc rgb "{colour}"'))
    yield tall
    for name, cases, title in (("scaling-weak", (WEAK, SQUARES), "Weak scaling, 81,920 × 81,920 a node"),
                               ("scaling-strong", (STRONG,), "Strong scaling, 102,400 × 102,400")):
        figure = Figure(name, title, ylabel="efficiency", is_ratio=False,
                        settings=['set xlabel "nodes"', "set yrange [0:1.1]", "set key bottom left"])
        drawn = [(node, case, "K's network", K_COMPUTER) for node in (CORES, GPUS) for case in cases]
        drawn.append((GPUS, cases[0], "an H100's bus", BUS_NETWORK))
        for colour, (node, case, over, network) in zip(COLOURS[1:], drawn):
            points = [(x.nodes, x.efficiency) for x in curve(kernels, node, case, case.nodes, network, "binary")]
            words = (f"nodes of {node.name}", *([case.name] if len(cases) > 1 else ()), over)
            figure.curves.append(Curve(", ".join(words), points, f'linespoints pt 7 ps 0.6 lw 2 lc rgb "{colour}"'))
        printed = [(1.0, 1.0), (16.0, cases[0].printed)]
        figure.curves.append(Curve("in print, 2 P100 a node, Stream", printed, f'points pt 4 ps 1.5 lw 2 lc rgb "{COLOURS[-1]}"'))
        yield figure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernels", type=Path, default=RECORD, metavar="RECORD")
    parser.add_argument("--alpha", type=float, default=K_COMPUTER.alpha, metavar="S")
    parser.add_argument("--beta", type=float, default=K_COMPUTER.beta, metavar="S")
    parser.add_argument("--tree", choices=TREES, default="binary")
    parser.add_argument("--only", default=",".join(PARTS), metavar="PART,...")
    arguments = parser.parse_args()
    kernels, network = Kernels(arguments.kernels), Network(arguments.alpha, arguments.beta)
    chosen = arguments.only.split(",")
    if unknown := set(chosen) - set(PARTS):
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    print("; ".join(kernels.origin()))
    for name in chosen:
        print(f"\n## {name}\n")
        print("\n".join(PARTS[name](kernels, network, arguments.tree)), flush=True)


if __name__ == "__main__":
    sys.exit(main())
