#!/usr/bin/env python3
"""QR: our plans and panels on the device beside cuSOLVER's geqrf, by qr_time; and as programs call it, by geqrf_time.

    bench/qr.py --build DIR --results DIR [--commit ID] [--only PART,...] [--precisions ds] [--budget SECONDS]

Parts: first (a few sizes that tell most), tall, square (1,024 to 32,768), panels (of 64 columns, from 1,024 rows on, as
plans have them), widths (blocks and panels in turn, and the panels' stream before the other), householder (panels column
by column, as those that the fast way is not for), host (A in pageable memory, the CPU's cores beside blaslift in front of
them, updates in bulk, and device memory for half of A).  Each measurement on the device is a process of its own with cuSOLVER
beside ours; all check their results.  Run again, it goes on where it stopped; qr.jsonl has the records, qr.md the tables.
"""

from __future__ import annotations

import argparse
import sys
from contextlib import nullcontext
from pathlib import Path

from common import (ELEMENT, Failed, Measurement, Store, candidates, driver_options, list_measurements, measure_all, publish,
                    read_options, run, run_with_report, table_head, table_row)

PARTS = ("first", "tall", "square", "panels", "widths", "householder", "host")
TALL = ((65536, 512), (262144, 128), (1048576, 64), (4000000, 16), (131072, 2048))
SQUARE = (1024, 2048, 4096, 8192, 12288, 16384, 24576, 32768)
FIRST = ((1048576, 64), (16384, 64), (4000000, 16), (262144, 128), (4096, 4096), (16384, 16384))
PANELS = (1024, 2048, 4096, 8192, 16384, 32768, 65536, 262144)
WIDTHS = tuple((block, panel) for block in (128, 256, 512, 1024) for panel in (32, 64, 128) if panel <= block)
HOST = ((2048, 2048), (4096, 4096), (8192, 8192), (16384, 16384), (262144, 128), (1048576, 64), (131072, 2048))
CALLERS = {"CPU": {}, "blaslift": {}, "bulk": {"BLASLIFT_QR": "bulk"}, "half of A": {}}
"""And what their environment has besides."""
CPU_RATE, HOST_WARM_SECONDS = 5e11, 4.0
AIMS = {"d/16384x64": 150e-6, "s/16384x64": 150e-6, "d/1048576x64": 1.9e-3, "d/4000000x16": 1.8e-3}
"""Seconds that ours is to take at most."""
AIM_TIMES = {"d/262144x128": 5.0}
"""Times faster than cuSOLVER that ours is to be at least."""
START_SECONDS, CHECK_RATE, SLOW_TALL, RATE = 2.0, 2e8, 5e9, 8e12


def operations(m: int, n: int) -> float:
    k, most = min(m, n), max(m, n)
    return 2.0 * k * k * (most - k / 3)


def measurement(program: Path, part: str, precision: str, m: int, n: int, *options: str) -> Measurement:
    key = "/".join([part, precision, f"{m}x{n}", *options[1::2]])
    command = [str(program), "--precision", precision, "--shapes", f"{m}x{n}", "--seconds", "0.5", *options]
    # Columns on the host for the checks, and cuSOLVER, which is slow where a matrix is tall.
    seconds = START_SECONDS + 8 * 6 * m / CHECK_RATE + 4 * m * n * ELEMENT[precision] / SLOW_TALL
    seconds += 8 * operations(m, n) / RATE + 1
    return Measurement(key, seconds, lambda limit: run(command, {}, limit)[0])


def host_measurement(program: Path, precision: str, m: int, n: int, caller: str, environments: dict) -> Measurement:
    """One size, computed by the CPU alone or by blaslift: as it is, in bulk, or with device memory for half of A."""
    repetitions = 7 if caller != "CPU" or operations(m, n) < 2e11 else 3 if operations(m, n) < 1e12 else 1
    command = [str(program), precision, str(repetitions), f"{m}x{n}"]
    environment = environments["CPU" if caller == "CPU" else "blaslift"] | CALLERS[caller]
    if caller == "half of A":
        environment = environment | {"BLASLIFT_MEMORY": str(m * n * ELEMENT[precision] // 2)}
    seconds = HOST_WARM_SECONDS + m * n / 2e8 + (repetitions + 1) * operations(m, n) / CPU_RATE

    def measure(limit: float) -> dict:
        if caller == "CPU":
            return run(command, environment, limit)[0]
        record, report = run_with_report(command, environment, limit)
        account = report["routines"][f"{precision}geqrf"]
        # The first calls may still be the CPU's; those that are timed may not.
        if account["routed"] < repetitions:
            stayed = f"{account['routed']} of {account['calls']} calls on the device: {account['stayed']}"
            raise Failed(f"{caller}, {m}x{n}: {stayed}")
        return record

    return Measurement(f"host/{precision}/{m}x{n}/{caller}", seconds, measure)


def measurements(arguments: argparse.Namespace, environments: dict) -> list[Measurement]:
    program = arguments.build / "bin/qr_time"
    chosen, found = arguments.only, []

    def add(part: str, precision: str, m: int, n: int, *options: str) -> None:
        if part in chosen:
            found.append(measurement(program, part, precision, m, n, *options))

    for part in PARTS:
        for p in arguments.precisions:
            for m, n in FIRST if part == "first" else TALL if part == "tall" else ():
                add(part, p, m, n)
            for n in SQUARE if part == "square" else ():
                add(part, p, n, n)
            for m in PANELS if part == "panels" else ():
                add(part, p, m, 64)
            for m, n in ((2048, 2048), (8192, 8192), (16384, 16384), (131072, 2048)) if part == "widths" else ():
                for block, panel in WIDTHS:
                    add(part, p, m, n, "--block", str(block), "--panel", str(panel))
                add(part, p, m, n, "--priority", "on")
            for m, n in ((16384, 64), (1048576, 64), (4096, 4096)) if part == "householder" else ():
                add(part, p, m, n, "--householder", "on")
    if "host" in chosen:
        program = program.with_name("geqrf_time")
        found += [host_measurement(program, p, m, n, caller, environments)
                  for p in arguments.precisions for m, n in HOST for caller in CALLERS
                  if caller in ("CPU", "blaslift") or n >= 2048]  # narrower ones have few blocks
    return found


def verdict(name: str, ours: float, cusolver: float | None) -> str:
    """Whether an aim is reached, where there is one."""
    if name in AIMS:
        return f"{'reached' if ours <= AIMS[name] else 'MISSED'}: {AIMS[name] * 1e3:g} ms"
    if name in AIM_TIMES and cusolver:
        return f"{'reached' if cusolver / ours >= AIM_TIMES[name] else 'MISSED'}: {AIM_TIMES[name]:g} times"
    return ""


def summary(store: Store, wanted: list[Measurement]) -> list[str]:
    """A table for each part and precision."""
    lines, before = [store.head()], ""
    for m in wanted:
        if not (record := store.get(m.key)):
            continue
        part, p, shape, *_ = m.key.split("/")
        if part == "host":
            continue
        if before != (before := f"## {part}, {p}"):
            head = ["m x n", "block", "panel", "ours, ms", "TFLOP/s", "cuSOLVER, ms", "TFLOP/s", "times faster", "residual",
                    "orthogonality", "aim", "right"]
            lines += ["", before, "", *table_head(head)]
        ours, other = record["ours"], record.get("cusolver")
        cells = [shape + (", priority" if record.get("priority") else ""), str(record["block"]), str(record["panel"])]
        cells += [f"{ours['seconds'] * 1e3:.4g}", f"{ours['TFLOP/s']:.3g}"]
        cells += [f"{other['seconds'] * 1e3:.4g}", f"{other['TFLOP/s']:.3g}",
                  f"{other['seconds'] / ours['seconds']:.2f}"] if other else ["", "", ""]
        cells += [f"{record['residual']:.1e}", f"{record['orthogonality']:.1e}"]
        cells += [verdict(f"{p}/{shape}", ours["seconds"], other and other["seconds"]) if part != "householder" else ""]
        lines.append(table_row([*cells, "yes" if record["right"] else "NO"]))
    return lines + host_table(store, wanted) + ["", store.failures()]


def host_table(store: Store, wanted: list[Measurement]) -> list[str]:
    """Milliseconds a call, a row for each precision and size."""
    rows = dict.fromkeys(tuple(m.key.split("/")[1:3]) for m in wanted if m.key.startswith("host/"))
    lines = []
    for p, shape in rows:
        found = {caller: store.get(f"host/{p}/{shape}/{caller}") for caller in CALLERS}
        if not any(found.values()):
            continue
        cells = [f"{record['seconds'] * 1e3:.4g}" if record else "" for record in found.values()]
        cpu, ours = found["CPU"], found["blaslift"]
        cells.append(f"{cpu['seconds'] / ours['seconds']:.2f}" if cpu and ours else "")
        lines.append(table_row([p, shape, *cells]))
    if lines:
        head = ["", "m x n", *(f"{caller}, ms" for caller in CALLERS), "times faster"]
        lines = ["", "## host", "", *table_head(head), *lines]
    return lines


def main() -> None:
    default = ("first", "tall", "square", "panels")
    arguments, store = read_options(driver_options(__doc__, "qr", PARTS, 270, only=default, precisions="ds"))
    with candidates(arguments.build) if "host" in arguments.only else nullcontext({}) as environments:
        wanted = measurements(arguments, environments)
        if arguments.dry_run:
            list_measurements(wanted, store)
            return
        complete = measure_all(wanted, store, arguments.budget)
    publish(arguments, summary(store, wanted))
    sys.exit(0 if complete else 1)


if __name__ == "__main__":
    main()
