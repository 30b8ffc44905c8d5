#!/usr/bin/env python3
"""Measures what a page of docs/measurements says of a machine, in one run on one commit, and writes that page.

    bench/run.py --build DIR --results DIR [--commit ID] [--budget SECONDS] [--only PART,...] [--cases CASE,...] [--rounds COUNT]
    bench/run.py --page FILE.jsonl

The first runs on a machine with a GPU: the bus; single calls with their matrices in the host's memory (by the CPU's library, and preloaded, all of them moved in
every call) and in the GPU's (preloaded, and cuBLAS or cuSOLVER by itself); the timeline of one call, which needs PyTorch; then whole programs (bench/programs.py). Run again, it goes on where it
stopped. run.jsonl has the records, run.md the page. The second prints the page of such records; bench/plot_run.py draws its pictures.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from pathlib import Path

import plot_run
import programs
import run_records
from common import Failed, Measurement, Store, candidates, cpu_blas, driver_options, list_measurements, measure_all, publish, read_options, run, run_with_report, table_head, table_row
from figures import records_of
from run_records import WAYS, mean

MANY = (512, 1024, 2048, 4096, 8192)
CALLS = {
    "gemm": (*MANY, 16384), "symm": (8192,), "trmm": (8192,), "trsm": (2048, 8192), "batch": ("256x500",), "symv": (8192,), "gemv": (8192,),
    "potrf": (*MANY, 16384), "getrf": (*MANY, 16384), "potri": (8192,), "geqrf": (*MANY, 16384), "sytrd": (2048,), "syevd": MANY,
    "sygvd": (2048,), "gebrd": (2048,), "gesdd": MANY,
}
"""Orders of what call_time times in double precision; of a batch with how many products."""
OF_VECTORS = {"symv", "gemv"}
"""They go to the GPU for the sake of a matrix that stays, so that they are measured with copies."""
CPU_SECONDS = {"gemm": 3.3e-12, "potrf": 0.9e-12, "getrf": 1.4e-12, "geqrf": 6.7e-12, "syevd": 3.5e-11, "gesdd": 1.22e-10}
"""About what 16 cores take, of the order's third power. The GPU takes a fifteenth of it or less, cuSOLVER for gesdd a quarter."""
LONG = 2.5
"""Seconds: what takes the CPU longer is timed once there."""
MOST_OF_VENDOR = {"gesdd": 4096}
"""A larger one would take a minute."""
VENDOR = Path(__file__).resolve().with_name("vendor_time.py")
TIMELINE = Path(__file__).resolve().with_name("call_timeline.py")
TIMED = ("potrf", 16384)
"""Of what a timeline is drawn."""
SECONDS = 0.5
PARTS = ("setup", "bus", "calls", "timeline", "programs")


def setup() -> dict:
    """What the head of the page says."""
    def asked(*command: str) -> str:
        try:
            return subprocess.run(command, capture_output=True, text=True, check=True).stdout
        except (OSError, subprocess.CalledProcessError):
            return ""

    gpu = asked("nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader").strip().splitlines()
    cpu = re.search(r"Model name:\s*(.*)", asked("lscpu"))
    openblas = re.search(r"OpenBLAS ([\d.]+)", asked("strings", "-n", "8", cpu_blas() or "/dev/null"))
    versions = {}
    for name in ("cublas", "cusolver"):
        found = sorted(Path("/usr/local").glob(f"cuda*/targets/*/lib/lib{name}.so.*.*"))
        versions[name] = found[0].name.split(".so.")[1] if found else "?"
    return {"gpu": gpu[0] if gpu else "no GPU, no driver, no memory", "cpu": cpu[1] if cpu else "?", "cores": os.cpu_count(),
            "library": f"OpenBLAS {openblas[1]}" if openblas else os.path.basename(cpu_blas() or "none"), **versions}


def calls(arguments, environments: dict[str, dict[str, str]]) -> list[Measurement]:
    wanted = []
    for name, sizes in CALLS.items():
        for size in sizes:
            order = int(str(size).split("x")[0])
            alone = CPU_SECONDS.get(name, 0) * order**3

            def command(place: str, seconds: float, n=name, s=size) -> list[str]:
                return [str(arguments.build / "bin/call_time"), place, n, f"{seconds:g}", str(s)]

            plain, lifted = environments["CPU"], environments["blaslift"] | {"BLASLIFT_FORCE": "all"}
            if name in OF_VECTORS:
                lifted = lifted | {"BLASLIFT_RESIDENCY": "on"}
            ways = {"cpu": (command("host", 0 if alone > LONG else SECONDS), plain, alone if alone > LONG else 4 * alone),
                    "host": (command("host", SECONDS), lifted, 4 * alone / 15), "device": (command("device", SECONDS), lifted, 4 * alone / 15),
                    "vendor": ([sys.executable, str(arguments.vendor), name, f"{SECONDS:g}", str(size)], {}, alone if name == "gesdd" else 4 * alone / 15)}
            for way, (words, environment, seconds) in ways.items():
                if way == "vendor" and order > MOST_OF_VENDOR.get(name, order):
                    continue
                measure = with_bytes if way == "host" else lambda w, e, s: run(w, e, s)[0]
                wanted.append(Measurement(f"calls/{name}/{size}/{way}", 1.5 + 4e-8 * order**2 + seconds,
                                          lambda s, f=measure, w=words, e=environment: f(w, e, s)))
    return wanted


def with_bytes(words: list[str], environment: dict[str, str], seconds: float) -> dict:
    """With what a call moves, by blaslift's counters."""
    printed, report = run_with_report(words, environment, seconds)
    routines = report["routines"].values()
    calls_there = max((x["routed"] for x in routines), default=0)
    return printed | {way: sum(x[way] for x in routines) / calls_there for way in ("bytes_in", "bytes_out") if calls_there}


def milliseconds(seconds: float | None) -> str:
    return "" if seconds is None else f"{1e3 * seconds:.3g}" if seconds < 0.1 else f"{1e3 * seconds:.0f}"


def ratio(slow: float | None, fast: float | None) -> str:
    return f"{slow / fast:.2f}" if slow and fast else ""


def table_of_calls(store: Store) -> list[str]:
    lines = table_head(["call", "n", "CPU", "host to host", "times as fast", "in device memory", "cuBLAS, cuSOLVER", "times as fast"])
    faster: dict[str, list[float]] = {"cpu": [], "vendor": []}
    for name, sizes in run_records.calls(store).items():
        for size, records in sizes.items():
            times = {way: (records.get(way) or {}).get("median") for way in ("cpu", "host", "device", "vendor")}
            lines.append(table_row([
                name, size.replace("x", ", times "), milliseconds(times["cpu"]), milliseconds(times["host"]), ratio(times["cpu"], times["host"]),
                milliseconds(times["device"]), milliseconds(times["vendor"]), ratio(times["vendor"], times["device"])]))
            for other, own in (("cpu", "host"), ("vendor", "device")):
                if times[other] and times[own]:
                    faster[other].append(times[other] / times[own])
    said = [f"{mean(faster[x]):.2f} times {what}" for x, what in (("cpu", "the CPU from host to host"), ("vendor", "the vendor's libraries in device memory"))
            if faster[x]]
    return [*lines, "", f"Geometric mean: {', '.join(said)}."]


def table_of_programs(store: Store) -> list[str]:
    found = run_records.programs(store)
    ways = [way for way in WAYS if any(way in x for x in found.values())]
    lines = table_head(["program", "plain, s", *(c for way in ways for c in (f"{way}, s", "times as fast")), "left on the CPU"])
    gains: dict[str, list[float]] = {way: [] for way in ways}
    for case, records in found.items():
        if not all(way in records for way in ("plain", *ways)):
            continue
        seconds = run_records.seconds_of(records)
        cells = [case, f"{seconds['plain']:.2f}"]
        for way in ways:
            gains[way].append(seconds["plain"] / seconds[way])
            cells += [f"{seconds[way]:.2f}", f"{gains[way][-1]:.2f}"]
        lines.append(table_row([*cells, programs.left_on_the_cpu(records[ways[0]])]))
    rounds = max((len(r) for x in found.values() for r in x.values()), default=0)
    means = ", ".join(f"{way} {mean(x):.2f}" for way, x in gains.items() if x)
    return [*lines, "", f"Geometric mean of {len(lines) - 2}: {means}. Medians of {rounds} run{'s' if rounds > 1 else ''} each, plain and preloaded in turns."]


def pictures(store: Store) -> list[str]:
    """Each below what it shows."""
    there = plot_run.pictures(store)
    lines = []
    if name := there.get("speed-up"):
        lines += ["", f"![How many times as fast as on the CPU, by order](../pictures/{name}.svg)"]
    if name := there.get("roofline"):
        lines += ["", "A call cannot take less time than its matrices need on the bus, nor than its operations need on the GPU. The",
                  "slanted line is the bus, as fast as copies of pinned memory; the level one is the fastest gemm in device memory.", "",
                  f"![Operations a second over operations a byte](../pictures/{name}.svg)"]
    if name := there.get("timeline"):
        lines += ["", "One call, everything of which moves. What comes in, what is computed and what goes home overlap.", "",
                  f"![When the bus and the GPU were busy](../pictures/{name}.svg)"]
    return lines


def page(store: Store) -> list[str]:
    machine = store.get("setup") or {}
    name, driver, memory = run_records.gpu(store)
    lines = [f"# On one {name}", "",
             f"{name} ({memory}, driver {driver}), cuBLAS {machine.get('cublas')}, cuSOLVER {machine.get('cusolver')};",
             f"{machine.get('cores')} cores ({machine.get('cpu')}), {machine.get('library')};",
             f"{store.origin()[1]}.", "",
             "This page is made by `bench/run.py` from one run; `bench/run.py --page` makes it again from the run's",
             f"[records](../../bench/results/{store.path.name})."]
    if any(key.startswith("calls/") for key in store.records):
        lines += ["", "## Single calls", "",
                  "Double precision, median milliseconds of a call. From host to host everything moves in every call, but for the",
                  "matrix of symv and gemv, which stays. In device memory nothing moves. All calls are forced to the GPU: by itself",
                  "blaslift leaves on the CPU what is faster there."]
        if any(x["cpu"]["calls"] == 1 for sizes in run_records.calls(store).values() for x in sizes.values() if "cpu" in x):
            lines += [f"What takes the CPU more than {LONG:g} s was timed there once."]
        lines += [*pictures(store), "", *table_of_calls(store)]
    if any(key.startswith("programs/") for key in store.records):
        lines += ["", "## Whole programs", "",
                  "Programs of NumPy, SciPy, scikit-learn and statsmodels, unchanged",
                  '([bench/program_cases.py](../../bench/program_cases.py)). "first" is a first `blaslift run`, "again" a later one',
                  "of the same command. Seconds of the part that computes.", "",
                  *table_of_programs(store)]
    return [*lines, "", "## Again", "", "On a machine with a GPU, CUDA, and Python with these packages (and PyTorch, for the timeline of a call):", "",
            "    cmake --preset release && cmake --build --preset release --target all benches",
            "    bench/run.py --build build/release --results OUT --commit ID",
            "    bench/run.py --page OUT/run.jsonl     # prints this page",
            "    bench/plot_run.py OUT/run.jsonl --out docs/pictures"]


def main() -> int:
    if "--page" in sys.argv[1:2]:
        print("\n".join(page(records_of([Path(sys.argv[2])]))))
        return 0
    parser = driver_options(__doc__, "run", PARTS, 1500)
    parser.add_argument("--cases", type=lambda text: text.split(","), default=programs.FIRST, help="programs; default: those that a release is judged by")
    parser.add_argument("--vendor", type=Path, default=VENDOR, help="what times cuBLAS and cuSOLVER; default: %(default)s")
    parser.add_argument("--timeline", type=Path, default=TIMELINE, help="what sees when the GPU is busy; default: %(default)s")
    parser.add_argument("--rounds", type=int, default=1, metavar="COUNT", help="of programs; default: %(default)d")
    arguments, store = read_options(parser)
    wanted: list[Measurement] = []
    with candidates(arguments.build) as environments:
        if "setup" in arguments.only:
            wanted.append(Measurement("setup", 1, lambda _: setup()))
        if "bus" in arguments.only:
            wanted.append(Measurement("bus/pinned", 8, lambda s: run([str(arguments.build / "bin/ceilings"), "bus"], {}, s)[0]))
        if "calls" in arguments.only:
            wanted += calls(arguments, environments)
        if "timeline" in arguments.only:
            name, order = TIMED
            words, lifted = [sys.executable, str(arguments.timeline), name, str(order)], environments["blaslift"] | {"BLASLIFT_FORCE": "all"}
            wanted.append(Measurement(f"timeline/{name}/{order}", 30, lambda s: run(words, lifted, s)[0]))
        if "programs" in arguments.only:
            options = argparse.Namespace(build=arguments.build, programs=programs.PROGRAMS, cases=arguments.cases, rounds=arguments.rounds,
                                         ways=["first", "again"], scale=1.0)

            class Named:
                """The store as bench/programs.py asks it."""

                @staticmethod
                def get(key: str):
                    return store.get(f"programs/{key}")

            wanted += [Measurement(f"programs/{m.key}", m.seconds, m.measure) for m in programs.measurements(options, Named)]
        if arguments.dry_run:
            list_measurements(wanted, store)
            return 0
        try:
            complete = measure_all(wanted, store, arguments.budget)
        except Failed as problem:
            print(problem, file=sys.stderr)
            return 1
    publish(arguments, page(store))
    return 0 if complete else 1


if __name__ == "__main__":
    sys.exit(main())
