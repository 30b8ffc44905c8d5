#!/usr/bin/env python3
"""Measures what the transfers cost and what residency spares them, on a machine with a GPU.

    cmake -S . -B build/gpu -G Ninja -DCMAKE_BUILD_TYPE=Release -DBLASLIFT_CUDA=ON && cmake --build build/gpu --target all benches
    bench/transfers.py --build build/gpu --results DIR --commit ID [--only PART[,PART...]] [--budget SECONDS]

Parts, in this order:
  bus     rates of the transfer engine from and to pageable memory, beside those of pinned memory
  bound   host-to-host gemm beside 1.25 * max(cuBLAS alone, its bytes at the rates of pinned memory)
  large   65,536 in double precision: more than the device holds
  repeat  operands that stay and operands that the program rewrites: bytes, times, what residency costs
  shapes  long, flat and thin products beside OpenBLAS, NVBLAS and NVBLAS with autopin

Each run goes on with what DIR/transfers.jsonl has for the commit ID, and starts nothing that would end after --budget
seconds: repeat the same command until it says "complete" (status 0).  DIR/transfers.md is the summary so far.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
from pathlib import Path

from common import (BUS_RATE, FILL_RATE, RATES, START_SECONDS, Measurement, Shape, Store, candidates, compare_table,
                    driver_options, list_measurements, measure_all, publish, ran_on, read_options, run, run_with_report,
                    time_gemm)

ENGINE_SIZES = ["8192x16384", "8192x16384:8292", "1000x134217:1100"]
BOUND_SIZES = [4096, 8192, 16384, 32768]
BOUND_FACTOR = 1.25
LARGE = Shape("d", 65536, 65536, 65536)
SHAPES = ["4096x4096x32768", "1024x1024x65536", "16384x16384x1024", "65536x2048x2048", "131072x512x512"]
REPEATED_SIZES = [4096, 8192]
CALLS, WRITTEN_AFTER, ROUNDS = 100, 50, 4
MOST_LOSS = 3.0
"""Percent of the time of a program that rewrites every operand, at most."""
PAGE = 4096


def program(arguments: argparse.Namespace, name: str) -> str:
    return str(arguments.build / "bin" / name)


def percent(part: float, whole: float) -> str:
    return f"{100 * part / whole:.0f} %"


def verdict(good: bool) -> str:
    return "yes" if good else "**no**"


class Bus:
    """Rates between pageable memory and the device."""

    def __init__(self, arguments: argparse.Namespace, found: dict) -> None:
        ceilings, rate = program(arguments, "ceilings"), program(arguments, "bus_rate")
        self.measurements = [pinned(ceilings)] + [
            Measurement(f"bus/engine/{size}", 8, lambda s, size=size: run([rate, size], found["CPU"], s)[0])
            for size in ENGINE_SIZES
        ]

    def summary(self, store: Store) -> list[str]:
        limit = store.get("bus/pinned")
        if not limit:
            return []
        lines = ["| | to the device GB/s | of pinned | from the device GB/s | of pinned |", "|---|---:|---:|---:|---:|"]
        lines.append(f"| pinned | {limit['in'] / 1e9:.1f} | | {limit['out'] / 1e9:.1f} | |")
        both = limit["each_way_at_once"] / 1e9
        lines.append(f"| pinned, both ways at once | {both:.1f} | | {both:.1f} | |")
        for size in ENGINE_SIZES:
            if r := store.get(f"bus/engine/{size}"):
                lines.append(f"| pageable, {r['m']} x {r['n']}, ld {r['ld']} | {r['in'] / 1e9:.1f} | "
                             f"{percent(r['in'], limit['in'])} | {r['out'] / 1e9:.1f} | "
                             f"{percent(r['out'], limit['out'])} |")
        return lines


def pinned(ceilings: str) -> Measurement:
    return Measurement("bus/pinned", 8, lambda seconds: run([ceilings, "bus"], {}, seconds)[0])


class Bound:
    """blaslift beside the best that overlapping could do."""

    shapes = [Shape(p, n, n, n) for n in BOUND_SIZES for p in "dsz"]
    betas = [0, 1]

    def __init__(self, arguments: argparse.Namespace, found: dict) -> None:
        ceilings = program(arguments, "ceilings")
        self.measurements = [pinned(ceilings)]
        for shape in self.shapes:
            name = f"{shape.precision}/{shape}"
            alone = shape.flops / RATES["blaslift"][shape.precision]
            self.measurements.append(Measurement(
                f"bound/cublas/{name}", START_SECONDS + shape.bytes_in(1) / 8e9 + max(2 + alone, 5 * alone),
                lambda s, what=f"{shape.precision}:{shape}": run([ceilings, what], {}, s)[0]))
            repetitions = round(min(25, max(3, 3 / shape.seconds("blaslift"))))
            self.measurements += [
                time_gemm(f"bound/{name}/beta {beta}", arguments.build, "blaslift", found["blaslift"], shape, beta,
                          repetitions) for beta in self.betas
            ]

    def summary(self, store: Store) -> list[str]:
        bus = store.get("bus/pinned")
        lines = ["| product | beta | cuBLAS alone ms | its bytes, pinned ms | host to host ms | of the larger | "
                 f"within {BOUND_FACTOR} | ran on |", "|---|---:|---:|---:|---:|---:|---|---|"]
        for shape in self.shapes:
            name = f"{shape.precision}/{shape}"
            cublas = store.get(f"bound/cublas/{name}")
            for beta in self.betas:
                r = store.get(f"bound/{name}/beta {beta}")
                if not (bus and cublas and r):
                    continue
                moved = shape.bytes_in(beta) / bus["in"] + shape.bytes_out() / bus["out"]
                ratio = r["seconds"] / max(cublas["seconds"], moved)
                lines.append(f"| {shape.precision}gemm {shape} | {beta} | {cublas['seconds'] * 1e3:.2f} | "
                             f"{moved * 1e3:.2f} | {r['seconds'] * 1e3:.2f} | {ratio:.2f} | "
                             f"{verdict(ratio <= BOUND_FACTOR)} | {ran_on(r)} |")
        return lines


class Large:
    """A product whose operands the device does not hold, with nothing resident and as it is by default."""

    settings = ["off", "auto"]

    def __init__(self, arguments: argparse.Namespace, found: dict) -> None:
        self.measurements = [
            time_gemm(f"large/{LARGE}/{residency}", arguments.build, "blaslift",
                      found["blaslift"] | {"BLASLIFT_RESIDENCY": residency}, LARGE, repetitions=1)
            for residency in self.settings
        ]

    def summary(self, store: Store) -> list[str]:
        lines = ["| product | residency | seconds | TFLOP/s | worst sampled error / bound | GB in | GB out | ran on |",
                 "|---|---|---:|---:|---:|---:|---:|---|"]
        for residency in self.settings:
            if r := store.get(f"large/{LARGE}/{residency}"):
                counted = r["counted"]
                each = 1e9 * counted["routed"] or 1
                lines.append(f"| dgemm {LARGE} | {residency} | {r['seconds']:.2f} | "
                             f"{LARGE.flops / r['seconds'] * 1e-12:.1f} | {r['error']:.2g} | "
                             f"{counted['bytes_in'] / each:.1f} | {counted['bytes_out'] / each:.1f} | {ran_on(r)} |")
        return lines


class Repeat:
    """Operands that stay, and operands that do not."""

    modes = {"unchanged": "A and B stay", "new_b": "A stays, B is rewritten"}

    def __init__(self, arguments: argparse.Namespace, found: dict) -> None:
        self.repeat_time, self.threads = program(arguments, "repeat_time"), os.cpu_count() or 1
        # Forced, so that no early call stays on the CPU until the start-up has been earned.
        self.environment = found["blaslift"] | {"BLASLIFT_FORCE": "gemm"}
        self.measurements = [
            Measurement(f"repeat/bytes/{n}/{mode}", 6 * (START_SECONDS + 5 * rewriting(n, self.threads)),
                        lambda s, n=n, mode=mode: self.count_bytes(n, mode, s))
            for n in REPEATED_SIZES for mode in self.modes
        ]
        self.measurements += [
            self.timing(f"repeat/times/{n}/{mode}/{residency}", residency,
                        CALLS * (rewriting(n, self.threads) / 3 + call(n)),
                        [mode, str(n), str(CALLS), str(WRITTEN_AFTER)])
            for n in REPEATED_SIZES for mode in self.modes for residency in ("off", "auto")
        ]
        # With all cores the rewriting is shortest, so a loss shows most; one thread is what most programs have.
        rewritten = [(n, self.threads) for n in REPEATED_SIZES] + [(REPEATED_SIZES[0], 1)]
        self.measurements += [
            self.timing(f"repeat/rewritten/{n}/{threads}/{turn}/{residency}", residency,
                        CALLS * (rewriting(n, threads) + call(n)), ["rewritten", str(n), str(CALLS), str(threads)])
            for n, threads in rewritten for turn in range(ROUNDS)
            for residency in (("auto", "off") if turn % 2 else ("off", "auto"))
        ]

    def run(self, residency: str, arguments: list[str], seconds: float) -> dict:
        printed, report = run_with_report([self.repeat_time, *arguments],
                                          self.environment | {"BLASLIFT_RESIDENCY": residency}, seconds)
        counted = {k: report["routines"]["dgemm"].get(k) for k in ("calls", "routed", "bytes_in", "bytes_spared")}
        return printed | {"counted": counted, "residency": report.get("residency", "none yet")}

    def timing(self, key: str, residency: str, seconds: float, arguments: list[str]) -> Measurement:
        return Measurement(key, START_SECONDS + 1 + seconds, lambda s: self.run(residency, arguments, s))

    def count_bytes(self, n: int, mode: str, seconds: float) -> dict:
        """Bytes to the device for each of the first calls, as differences between runs with one call more."""
        runs = [self.run("auto", [mode, str(n), str(calls)], seconds / 6) for calls in range(5)]
        written = self.run("auto", [mode, str(n), "4", "3"], seconds / 6)
        totals = [r["counted"]["bytes_in"] for r in runs]
        return {"residency": written["residency"],
                "bytes_in": [b - a for a, b in zip(totals, totals[1:])],
                "bytes_in_after_write": written["counted"]["bytes_in"] - totals[3],
                "bytes_spared": written["counted"]["bytes_spared"]}

    def summary(self, store: Store) -> list[str]:
        return [*self.bytes_table(store), "", *self.times_table(store), "", *self.rewritten_table(store)]

    def bytes_table(self, store: Store) -> list[str]:
        lines = ["Bytes to the device, C := A B, residency auto; then the fourth call again after one element of A was "
                 "written.", "", "| n | | first | second | third | fourth | fourth, one page written | A stayed | "
                 "exactly one page more | residency |", "|---:|---|---:|---:|---:|---:|---:|---|---|---|"]
        for n in REPEATED_SIZES:
            for mode, text in self.modes.items():
                if r := store.get(f"repeat/bytes/{n}/{mode}"):
                    # B gets its copy in the second call: one a call does.
                    expected = [8 * n * n, 0, 0] if mode == "unchanged" else 3 * [8 * n * n]
                    stayed = r["bytes_in"][1:] == expected
                    page = r["bytes_in_after_write"] - r["bytes_in"][3] == PAGE
                    numbers = " | ".join(f"{x:,.0f}" for x in [*r["bytes_in"], r["bytes_in_after_write"]])
                    lines.append(f"| {n} | {text} | {numbers} | {verdict(stayed)} | {verdict(page)} | "
                                 f"{r['residency']} |")
        return lines

    def times_table(self, store: Store) -> list[str]:
        lines = [f"Milliseconds a call, {CALLS} calls, device started before, one element of A written after call "
                 f"{WRITTEN_AFTER}; results checked.", "",
                 "| n | | residency | first | second | median of the others | after the write |",
                 "|---:|---|---|---:|---:|---:|---:|"]
        for n in REPEATED_SIZES:
            for mode, text in self.modes.items():
                for residency in ("off", "auto"):
                    if r := store.get(f"repeat/times/{n}/{mode}/{residency}"):
                        times = (r[k] * 1e3 for k in ("first", "second", "others", "after_write"))
                        lines.append(f"| {n} | {text} | {residency} | " + " | ".join(f"{t:.2f}" for t in times) + " |")
        return lines

    def rewritten_table(self, store: Store) -> list[str]:
        lines = [f"{CALLS} rounds in which the program rewrites A, B and C before C := A B + C: seconds of the whole "
                 f"loop, median (least, most) of {ROUNDS} alternating runs.", "",
                 "| n | threads that rewrite | residency off | auto | loss | at most 3 % |",
                 "|---:|---:|---:|---:|---:|---|"]
        # As they were measured, on a machine with as many cores as it had.
        measured = dict.fromkeys(tuple(map(int, key.split("/")[2:4])) for key in store.records
                                 if key.startswith("repeat/rewritten/"))
        for n, threads in measured:
            loops = {
                residency: [r["loop"] for turn in range(ROUNDS)
                            if (r := store.get(f"repeat/rewritten/{n}/{threads}/{turn}/{residency}"))]
                for residency in ("off", "auto")
            }
            if not all(loops.values()):
                continue
            middle = {residency: statistics.median(times) for residency, times in loops.items()}
            loss = 100 * (middle["auto"] / middle["off"] - 1)
            cells = (f"{middle[k]:.3f} ({min(loops[k]):.3f}, {max(loops[k]):.3f})" for k in loops)
            lines.append(f"| {n} | {threads} | {' | '.join(cells)} | {loss:+.1f} % | {verdict(loss <= MOST_LOSS)} |")
        return lines


def rewriting(n: int, threads: int) -> float:
    """About how long it takes to rewrite A, B and C."""
    return 24 * n * n / (5e9 if threads == 1 else 8 * FILL_RATE)


def call(n: int) -> float:
    return max(2 * n**3 / RATES["blaslift"]["d"], 32 * n * n / BUS_RATE)


class Shapes:
    """Products of other shapes beside the alternatives."""

    shapes = [Shape.of("d", size) for size in SHAPES]

    def __init__(self, arguments: argparse.Namespace, found: dict) -> None:
        self.names = list(found)
        self.measurements = [
            time_gemm(f"shapes/d/{shape}/{name}", arguments.build, name, environment, shape)
            for shape in self.shapes for name, environment in found.items()
        ]

    def summary(self, store: Store) -> list[str]:
        return ["Median milliseconds a call, host to host, beta = 0.", "",
                *compare_table(store, "shapes", self.names, self.shapes)]


PARTS = {"bus": Bus, "bound": Bound, "large": Large, "repeat": Repeat, "shapes": Shapes}


def summary(store: Store, parts: dict) -> list[str]:
    lines = [store.head()]
    for name, part in parts.items():
        if any(key.startswith(name + "/") for key in store.records):
            lines += ["", f"## {name}", "", part.__doc__, "", *part.summary(store)]
    failures = [f"{key}: {r['failed']}" for key, r in store.records.items() if "failed" in r]
    return lines + (["", "## failed", "", *(f"- {failure}" for failure in failures)] if failures else [])


def main() -> None:
    arguments, store = read_options(driver_options(__doc__, "transfers", PARTS, 400))
    with candidates(arguments.build) as found:
        parts = {name: make(arguments, found) for name, make in PARTS.items()}
        unique = {m.key: m for name, part in parts.items() if name in arguments.only for m in part.measurements}
        if arguments.dry_run:
            list_measurements(list(unique.values()), store)
            return
        complete = measure_all(list(unique.values()), store, arguments.budget)
    publish(arguments, summary(store, parts))
    print("\ncomplete" if complete else "\nnot complete: run the same command again")
    sys.exit(0 if complete else 1)


if __name__ == "__main__":
    main()
