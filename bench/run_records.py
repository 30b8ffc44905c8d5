"""What the records of bench/run.py say: times of calls and of programs, and what the machine was.

Their keys are "setup", "bus/pinned", "calls/ROUTINE/ORDER/WAY" and "programs/PROGRAM/WAY/TURN".
"""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Iterable

from common import Store

PAGES = {"docs/measurements/h200.md": "bench/results/h200-2026-11-30-run.jsonl"}
"""What pages are made of; README's picture and numbers are the first one's."""
WAYS = ("first", "again")
"""Of programs, beside plain."""


def calls(store: Store) -> dict[str, dict[str, dict[str, dict]]]:
    """By routine, order and way; orders ascend."""
    found: dict[str, dict[str, dict[str, dict]]] = {}
    for key in store.records:
        part, *rest = key.split("/")
        if part == "calls" and (record := store.get(key)):
            name, size, way = rest
            found.setdefault(name, {}).setdefault(size, {})[way] = record
    return {name: dict(sorted(sizes.items(), key=lambda x: [int(n) for n in x[0].split("x")])) for name, sizes in found.items()}


def programs(store: Store) -> dict[str, dict[str, list[dict]]]:
    """By program and way, a record a turn."""
    found: dict[str, dict[str, list[dict]]] = {}
    for key in store.records:
        part, *rest = key.split("/")
        if part == "programs" and (record := store.get(key)):
            found.setdefault(rest[0], {}).setdefault(rest[1], []).append(record)
    return found


def seconds_of(records: dict[str, list[dict]]) -> dict[str, float]:
    """A program's, by way: medians of the turns."""
    return {way: statistics.median(r["seconds"] for r in turns) for way, turns in records.items()}


def mean(ratios: Iterable[float]) -> float:
    """Geometric."""
    return math.exp(statistics.fmean(map(math.log, ratios)))


def gpu(store: Store) -> tuple[str, str, str]:
    """Name, driver, memory."""
    name, driver, memory = [x.strip() for x in (store.get("setup") or {}).get("gpu", "?, ?, ?").split(",")]
    return name, driver, memory


def short_name(store: Store) -> str:
    """As files are called: h200."""
    return (re.sub(r"^NVIDIA ", "", gpu(store)[0]).split() or ["gpu"])[0].lower()
