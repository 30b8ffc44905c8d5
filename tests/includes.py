#!/usr/bin/env python3
"""Who may know whom: reads every include of the product's sources and fails on one that runs upward, or in a circle."""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Each room may include itself and rooms below it, which come before it here; rooms in one line do not know each other.
# docs/developer/architecture.md says what lives in each.
FLOORS = [
    "api/routines.def",  # the list of routines
    "api/names.hpp",
    "api/symbols.def",
    "api/scalapack.def",
    "kernels",  # the interface of modules, and what both sides of it share
    "compat",
    "impl/strassen",
    "impl/core",
    "impl/plan",
    "impl/observe",
    "impl/residency",
    "impl/route",
    "impl/judge",
    "impl/vector impl/triangular",
    "impl/product impl/cholesky impl/lu impl/eigen impl/symv impl/gemv impl/copy impl/qr",
    "impl/solve impl/svd",
    "impl/families.cpp",  # what general code gets from families
    "impl/scalapack",
    "api",
    "kernels/engine",
    "kernels/host kernels/cuda/core",
    "kernels/cuda/product kernels/cuda/systolic kernels/cuda/qr kernels/cuda/symv kernels/cuda/gemv kernels/cuda/trsm kernels/cuda/cholesky kernels/cuda/lu",
    "kernels/cuda/eigen kernels/cuda/svd",  # with copies of matrices
    "kernels/cuda",
    "kernels/fault",
    "tools/preload",
    "tools/cli/parser",
    "tools/cli/launch",
    "tools/cli/doctor tools/cli/measure tools/cli/report tools/cli/tune tools/cli/verify",
    "tools/cli",
]
# A sum in twice the precision that only the CPU computes, and that no BLAS has: there is nothing to route.
DECLARED = {("api/wsymv.cpp", "kernels/host/symv.hpp")}
# Sources that go back to a unit above their own: edges that close a circle.
BACK = {
    ("compat/library", "compat/site"),  # what is found out about a function revokes sites that have led to it
    ("impl/observe/counters", "impl/observe/trace"),  # the process's counters lie in its recording, if it leaves one
}


def floor_of_rooms() -> dict[str, int]:
    return {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms.split()}


def room_of(path: str, rooms: dict[str, int]) -> str:
    folder = path
    while folder not in rooms:
        folder = folder.rpartition("/")[0]
        if not folder:
            raise SystemExit(f"{path} is in no room that is known here")
    return folder


def includes(root: Path) -> dict[str, set[str]]:
    found = {}
    for top in ("api", "compat", "impl", "kernels", "tools"):
        for path in sorted((root / top).rglob("*")):
            if path.suffix in (".cpp", ".hpp", ".cu", ".h") or (top == "api" and path.suffix == ".def"):  # lists in C++
                text = path.read_text()
                found[str(path.relative_to(root))] = set(re.findall(r'^#\s*include "((?:api|compat|impl|kernels|tools)/[^"]+)"', text, re.M))
    return found


def upward(graph: dict[str, set[str]]) -> list[str]:
    rooms = floor_of_rooms()
    wrong = []
    for path, targets in graph.items():
        here = room_of(path, rooms)
        for target in sorted(targets):
            there = room_of(target, rooms)
            if there != here and rooms[there] >= rooms[here] and (path, target) not in DECLARED:
                wrong.append(f"{path} ({here}) includes {target}")
    return wrong


def circle(graph: dict[str, set[str]]) -> list[str]:
    """One circle among units, a unit being a header with its source of the same name; empty if there is none."""
    unit = lambda path: path.rpartition(".")[0]
    edges: dict[str, set[str]] = {}
    for path, targets in graph.items():
        edges.setdefault(unit(path), set()).update(unit(target) for target in targets if unit(target) != unit(path) and (unit(path), unit(target)) not in BACK)
    done: set[str] = set()

    def visit(node: str, way: list[str]) -> list[str]:
        if node in way:
            return way[way.index(node) :] + [node]
        if node in done:
            return []
        for target in sorted(edges.get(node, ())):
            if found := visit(target, [*way, node]):
                return found
        done.add(node)
        return []

    for node in sorted(edges):
        if found := visit(node, []):
            return found
    return []


def main() -> int:
    graph = includes(ROOT)
    wrong = upward(graph)
    if found := circle(graph):
        wrong.append("a circle: " + " -> ".join(found))
    # That it can find something: a file that knows too much, and two that know each other.
    planted = {**graph, "impl/core/planted.hpp": {"impl/qr/qr_plan.hpp", "impl/core/other.hpp"}, "impl/core/other.hpp": {"impl/core/planted.hpp"}}
    if len(upward(planted)) != len(upward(graph)) + 1 or not circle(planted):
        wrong.append("what was planted was not found")
    print("\n".join(wrong) or f"{len(graph)} files, {sum(map(len, graph.values()))} includes: none upward, no circle")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
