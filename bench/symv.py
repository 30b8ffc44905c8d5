#!/usr/bin/env python3
"""SYMV and HEMV with everything on the device: our kernels beside cuBLAS, by symv_time.

    bench/symv.py --build DIR --results DIR [--commit ID] [--only PART,...] [--precisions dszcw] [--budget SECONDS]

Parts: curve (some sixty sizes from 256 to 40,000, each with its neighbours), lda (a program's own matrices, whose columns
need not be aligned), blockings (all that there are), published (the kernel as it was printed, in five shapes; d and s),
bits (10,000 runs beside a disturbing stream).  Pairs of doubles,
w, are beside d, too: with twice the bytes they could reach half of its elements a second, and are to reach 45 %.  Run
again, it goes on where it stopped; symv.jsonl has the records, symv.md the tables, and bench/plot_symv.py draws the curves.  All curves
take two runs of the default budget on an H100.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from common import (ELEMENT, Measurement, Store, driver_options, list_measurements, measure_all, publish, read_options, run,
                    table_head, table_row)

PARTS = ("curve", "bits", "lda", "blockings", "published")
CENTRES = (256, 512, 768, 1024, 1280, 1536, 2048, 2560, 3072, 4096, 5120, 6144, 8192, 10240, 12288, 16384, 20480, 24576,
           32768, 40000)
W_SHARE = 0.45
"""Of D's elements a second, what W has to reach."""
SIZES = [n + d for n in CENTRES for d in (-1, 0, 1)]
WAYS = ("strips", "parts", "tickets", "cublas", "cublas_atomics")
CACHE_BYTES, REPEAT_RATE, START_SECONDS = 150e6, 1.5e12, 1.5
BATCH = 15
"""Sizes of a curve that one process measures: starting one takes longer than measuring a size."""
CURVE_SECONDS = 0.03
"""Of each way at each size, at least eleven rounds."""


def blockings(precision: str) -> list[str]:
    """U x Tx x Ty x H: the kernels that there are (kernels/symv.hpp), with low and high chunks."""
    kernels = ["64x32x8", "32x64x4", "32x32x4"]
    if precision not in "zw":
        kernels = ["128x32x8", "64x64x4", "64x32x8", "64x32x4", "32x64x2", "32x32x4"]
    return [f"{kernel}x{H}" for kernel in kernels for H in (256, 512, 1024)]


def measurement(program: Path, key: str, precision: str, uplo: str, n: int, *options: str) -> Measurement:
    """One size in a process of its own."""
    command = [str(program), "--precision", precision, "--uplo", uplo, "--sizes", str(n), "--seconds", "0.1", *options]
    filled = max(CACHE_BYTES * 2.5 * 2, n * n * ELEMENT[precision])
    seconds = START_SECONDS + filled / 1e12 + 0.7
    if "--repeat" in options:
        # The kernel beside others, and the host's schedule once.
        triangle = n * n * ELEMENT[precision] / 2
        seconds += int(options[options.index("--repeat") + 1]) * 2 * (1.5e-4 + triangle / REPEAT_RATE) + triangle / 1e8
    return Measurement(key, seconds, lambda limit: run(command, {}, limit)[0])


def published(program: Path, precision: str, n: int) -> Measurement:
    """A record with a line for each way: ours, cuBLAS's, and the published kernel's shapes."""
    command = [str(program), "--precision", precision, "--uplo", "U", "--sizes", str(n), "--blockings", "published", "--gap", "copy"]
    seconds = START_SECONDS + 2 + max(CACHE_BYTES * 5, 2 * n * n * ELEMENT[precision]) / 1e12
    return Measurement(f"published/{precision}/U/{n}", seconds, lambda limit: {"ways": run(command, {}, limit)})


def batch(program: Path, precision: str, uplo: str, sizes: list[int]) -> Measurement:
    """Some sizes of a curve, A as the library's device copies have it: a record with one for each."""
    command = [str(program), "--precision", precision, "--uplo", uplo, "--sizes", ",".join(map(str, sizes)), "--seconds",
               str(CURVE_SECONDS), "--gap", "copy"]
    seconds = START_SECONDS
    for n in sizes:
        triangle = n * n * ELEMENT[precision] / 2
        rounds = max(CURVE_SECONDS * 4, 11 * 4 * max(2e-4, triangle / 2e12))
        seconds += rounds + max(CACHE_BYTES * 5, 2 * triangle) / 1e12 + 0.15
    key = f"curve/{precision}/{uplo}/{sizes[0]}..{sizes[-1]}"
    return Measurement(key, seconds, lambda limit: {"sizes": run(command, {}, limit)})


def curve(store: Store, precision: str, uplo: str) -> dict[int, dict]:
    """The records by size, of all batches that there are."""
    found = {}
    for key in store.records:
        if key.startswith(f"curve/{precision}/{uplo}/") and (record := store.get(key)):
            found |= {x["n"]: x for x in record["sizes"]}
    return dict(sorted(found.items()))


def measurements(arguments: argparse.Namespace) -> list[Measurement]:
    program = arguments.build / "bin/symv_time"
    chosen, found = arguments.only, []

    def add(part: str, precision: str, uplo: str, n: int, *options: str) -> None:
        if part in chosen:
            key = "/".join([part, precision, uplo, str(n), *options[1::2]])
            found.append(measurement(program, key, precision, uplo, n, *options))

    for p in arguments.precisions:
        for uplo in "LU":
            if "curve" in chosen:
                found += [batch(program, p, uplo, SIZES[i:i + BATCH]) for i in range(0, len(SIZES), BATCH)]
            for n in (1000, 4096, 16385):
                add("bits", p, uplo, n, "--repeat", "10000")
            for n in (2048, 8192, 16384):
                for gap in (1, 2, 3):
                    add("lda", p, uplo, n, "--gap", str(gap))
            for n in (1536, 2048, 4096, 8192, 16384, 32768):
                for blocking in blockings(p):
                    add("blockings", p, uplo, n, "--blocking", blocking)
        if "published" in chosen and p in "ds":
            found += [published(program, p, n) for n in (512, 1000, 2048, 4096, 8192, 16384, 32768)]
    return found


def name_of(x: dict) -> str:
    return x["blocking"] if x["way"] == "published" else x["way"].replace("strips", "parts")


def by_name(record: dict) -> list[dict]:
    """In one order for all sizes; strips, which have no tickets, stand in both of our columns."""
    ways = {name_of(x): x for x in record["ways"]}
    order = ["parts", "tickets", "cublas", "cublas_atomics"]
    ways.setdefault("tickets", ways["parts"] | {"way": "tickets"})
    return [ways[name] for name in [*order, *sorted(ways.keys() - set(order))]]


def summary(store: Store, wanted: list[Measurement]) -> list[str]:
    """GB/s of the triangle, a table for each part, precision and triangle."""
    lines, before = [store.head()], ""
    for m in wanted:
        if not (record := store.get(m.key)):
            continue
        part, p, uplo, *which = m.key.split("/")
        if part == "published":
            if before != (before := f"## {part}, {p}, {uplo}"):
                lines += ["", before, "", *table_head(["n", *(name_of(x) for x in by_name(record))])]
            lines.append(table_row([which[0], *(f"{x['GB/s']:.0f}" for x in by_name(record))]))
            continue
        if before != (before := f"## {part}, {p}, {uplo}"):
            head = ["n", "blocking", *WAYS, "right"] if part != "bits" else ["n", *WAYS[:3], "right"]
            lines += ["", before, "", *table_head(head)]
        for point in record.get("sizes", [record]):
            if part == "bits":
                cells = [str(point[way]["other_bits"]) if way in point else "" for way in WAYS[:3]]
            else:
                rates = [f"{point[way]['GB/s']:.0f}" if way in point else "" for way in WAYS]
                cells = [point["blocking"], *rates]
            name = str(point["n"]) if "sizes" in record else " ".join(which)
            lines.append(table_row([name, *cells, "yes" if point["right"] else "NO"]))
    return lines + beside_d(store) + ["", store.failures()]


def beside_d(store: Store) -> list[str]:
    """W's elements a second beside D's where both have been measured, each by the faster of our ways."""

    def rate(record: dict) -> float:
        return max((record[way]["elements/s"] for way in WAYS[:3] if way in record), default=0.0)

    lines: list[str] = []
    for uplo in "LU":
        ws, ds = curve(store, "w", uplo), curve(store, "d", uplo)
        for n in SIZES:
            w, d = rate(ws.get(n, {})), rate(ds.get(n, {}))
            if w and d:
                enough = "yes" if w >= W_SHARE * d else "NO"
                lines.append(table_row([uplo, str(n), f"{w / 1e9:.1f}", f"{d / 1e9:.1f}", f"{w / d:.0%}", enough]))
    if lines:
        head = table_head(["uplo", "n", "w", "d", "w / d", f"{W_SHARE:.0%}"])
        lines = ["", "## w beside d, 10^9 elements a second", "", *head, *lines]
    return lines


def main() -> None:
    arguments, store = read_options(driver_options(__doc__, "symv", PARTS, 270, precisions="dszcw"))
    wanted = measurements(arguments)
    if arguments.dry_run:
        list_measurements(wanted, store)
        return
    complete = measure_all(wanted, store, arguments.budget)
    publish(arguments, summary(store, wanted))
    sys.exit(0 if complete else 1)


if __name__ == "__main__":
    main()
