#!/usr/bin/env python3
"""Systolic products on the device beside plain loops and cuBLAS, and the thesis's cost model beside what is measured.

    bench/systolic.py --build DIR --results DIR [--commit ID] [--only PART,...] [--precisions ds] [--budget SECONDS]

Parts: constants (of the model), variants (all of them, one row of products: N = 64 ... 4,096, S = 1 ... 1,000), steps
(t = 1 ... 32 in all four walks), batch (small products, by as many arrays as fill the device).  The program is
systolic, which also compares every result's bits.  Run again, it goes on where it stopped; systolic.jsonl has the
records, systolic.md the tables, and bench/plot_systolic.py draws them.  All of it is expected to take six minutes on an
H200: two runs of the default budget.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from common import (Measurement, Store, driver_options, list_measurements, measure_all, publish, read_options, run,
                    table_head, table_row)

PARTS = ("constants", "variants", "steps", "batch")
SIZES = (64, 128, 256, 512, 1024, 2048, 4096)
PRODUCTS = (1, 10, 100, 1000)
MOST_ELEMENTS = 1 << 26
"""S N^2: of each of five matrices."""
SMALL = (16, 32, 64, 128, 256)
SECONDS = 0.05
"""Of each way."""
RATE = 0.6e12
"""Operations a second: of all ways' times the mean."""
START_SECONDS = 1.5

THESIS = {"lgm": 0.000000597372, "lsm": 0.0000000477897}
WORDS, HALF_WARP, CELLS = 256, 16, 256
"""What an access of the model moves, in global and in shared memory; cells of a block."""


def predicted(accesses: dict, n: int, constants: dict, multiprocessors: float = 0) -> float:
    """Seconds, by the accesses that the program counts: as the thesis has it, or if blocks share multiprocessors."""
    share = max(1.0, n * n / CELLS / multiprocessors) if multiprocessors else 1.0
    return accesses["global"] / WORDS * constants["lgm"] + accesses["shared"] / HALF_WARP * constants["lsm"] * share


def constants_of(store: Store, precision: str, which: str) -> dict | None:
    """Measured ones: "alone" or "filled", and how many multiprocessors there are."""
    if not (record := store.get(f"constants/{precision}")):
        return None
    return {"lgm": record["lgm"][which], "lsm": record["lsm"][which], "multiprocessors": record["multiprocessors"]}


def predictions(store: Store, record: dict) -> dict[str, float]:
    """In seconds: printed formulas with the thesis's constants and with a block's alone; corrected ones with filled."""
    if "printed" not in record:
        return {}
    n, found = record["N"], {"thesis": predicted(record["printed"], record["N"], THESIS)}
    if alone := constants_of(store, record["precision"], "alone"):
        found["alone"] = predicted(record["printed"], n, alone)
    if filled := constants_of(store, record["precision"], "filled"):
        found["filled"] = predicted(record["corrected"], n, filled, filled["multiprocessors"])
    return found


def ways(store: Store, part: str) -> Iterator[dict]:
    """What has been measured, in the order of the measurements."""
    for key in store.records:
        if key.startswith(part + "/") and (record := store.get(key)):
            yield from record["ways"]


def products(program: Path, part: str, precision: str, n: int, count: int, configurations: int,
             *options: str) -> Measurement:
    """One size and number of products, in a process of its own: a record with one for each way."""
    key = f"{part}/{precision}/{n}/{count}"
    command = [str(program), "--precision", precision, "--sizes", str(n), "--products", str(count), "--seconds",
               str(SECONDS), *options]
    call = 2.0 * n**3 * count / RATE
    # One call for the bits, one to warm up, and at least one that counts.
    seconds = START_SECONDS + configurations * (2 * call + max(call, SECONDS))
    return Measurement(key, seconds, lambda limit: {"ways": run(command, {}, limit)})


def measurements(arguments: argparse.Namespace) -> list[Measurement]:
    program, found = arguments.build / "bin/systolic", []
    for p in arguments.precisions:
        if "constants" in arguments.only:
            command = [str(program), "--constants", "on", "--precision", p]
            found.append(Measurement(f"constants/{p}", 4, lambda limit, command=command: run(command, {}, limit)[0]))
        if "variants" in arguments.only:
            for n in SIZES:
                for count in PRODUCTS:
                    if count * n * n <= MOST_ELEMENTS:
                        found.append(products(program, "variants", p, n, count, 19))
        if "steps" in arguments.only:
            for n, count in ((256, 10), (1024, 1), (1024, 10)):
                found.append(products(program, "steps", p, n, count, 48, "--variants", "Gt,St", "--t", "1,2,4,8,16,32",
                                      "--walks", "all"))
        if "batch" in arguments.only:
            for n in SMALL:
                for count in (1000, 10000):
                    found.append(products(program, "batch", p, n, count, 16, "--arrays", "one,fill", "--walks", "short",
                                          "--t", "8,32", "--variants", "Gt,St,LS,Lr,shuffle,cublas"))
    return found


def summary(store: Store, wanted: list[Measurement]) -> list[str]:
    lines, constants = [store.head()], []
    for p in "ds":
        if r := store.get(f"constants/{p}"):
            cells = [f"{1e9 * r[name][way]:.4g}" for name in ("lgm", "lsm") for way in ("alone", "filled")]
            constants.append(table_row([p, str(r["multiprocessors"]), *cells]))
    if constants:
        head = ["precision", "multiprocessors", "Lgm alone", "Lgm filled", "Lsm alone", "Lsm filled"]
        lines += ["", "## constants", "", "Nanoseconds of an access: 256 threads to global memory, 16 to shared memory."]
        lines += ["", *table_head(head), *constants]
    before = ""
    for m in wanted:
        part, p = m.key.split("/")[:2]
        if part == "constants" or not (record := store.get(m.key)):
            continue
        if before != (before := f"## {part}, {p}"):
            lines += ["", before, "", *table_head(["N", "S", "variant", "t", "g", "skips", "arrays", "ms", "GFLOP/s",
                                                   "thesis ms", "alone ms", "filled ms", "filled / measured", "bits"])]
        lines += [row(store, x) for x in record["ways"]]
    return lines + ["", store.failures()]


def row(store: Store, x: dict) -> str:
    said = predictions(store, x)
    milliseconds = [f"{1e3 * said[name]:.4g}" if name in said else "" for name in ("thesis", "alone", "filled")]
    ratio = f"{said['filled'] / x['seconds']:.3g}" if "filled" in said else ""
    ours = not x["variant"].startswith("cublas")
    bits = ("yes" if x["bits"] else "NO") if ours else "the same" if x["bits"] else "others"
    return table_row([str(x["N"]), str(x["S"]), x["variant"], str(x.get("t", "")), str(x.get("g", "")),
                      {True: "yes", False: "no"}.get(x.get("skips"), ""), str(x.get("arrays", "")),
                      f"{1e3 * x['seconds']:.4g}", f"{x['GFLOP/s']:.4g}", *milliseconds, ratio, bits])


def main() -> None:
    arguments, store = read_options(driver_options(__doc__, "systolic", PARTS, 300, precisions="ds"))
    wanted = measurements(arguments)
    if arguments.dry_run:
        list_measurements(wanted, store)
        return
    complete = measure_all(wanted, store, arguments.budget)
    publish(arguments, summary(store, wanted))
    sys.exit(0 if complete else 1)


if __name__ == "__main__":
    main()
