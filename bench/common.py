"""What the benchmark drivers share: options, measurements that are made once and kept, the candidates, and gemm timings.

A measurement has a key; its record, a line of JSON, is appended to a file.  What is there for the same commit is not
measured again, so a driver that was cut off, or that stopped at its budget, goes on where it was.
"""

from __future__ import annotations

import argparse
import datetime
import functools
import glob
import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Iterable, Iterator, Optional

ELEMENT = {"s": 4, "d": 8, "c": 8, "z": 16, "w": 16}
OPERATIONS = {"s": 2, "d": 2, "c": 8, "z": 8}
"""Real operations for each product of two elements and its addition."""

MOST_FOR_TWO_SETS = 64 << 30
"""Bytes: two sets of operands are made where they take no more than this together, one where they would."""

RATES = {
    "CPU": {"s": 1.1e12, "d": 0.6e12, "z": 0.5e12},
    "NVBLAS": {"s": 1.6e12, "d": 0.8e12, "z": 1.6e12},
    "NVBLAS autopin": {"s": 5e12, "d": 3e12, "z": 5e12},
    "blaslift": {"s": 45e12, "d": 50e12, "z": 50e12},
}
"""Rough operations a second on an H100 and 16 cores, for the estimates of how long a measurement takes."""

BUS_RATE = 40e9
FILL_RATE = 4e9
START_SECONDS = 3.0
WARM_SECONDS = 3.0  # as in gemm_time.cpp


class Failed(Exception):
    """A measurement that gave no result, or a wrong one."""


# ---- drivers


def driver_options(documentation: Optional[str], name: str, parts: Iterable[str], budget: float, *, only: Iterable[str] = (),
                   precisions: str = "") -> argparse.ArgumentParser:
    """What every driver is told. Its files are NAME.jsonl and NAME.md.

    `only` are the parts by default, all if none are named; drivers of one precision have no `precisions`.
    """
    parser = argparse.ArgumentParser(description=documentation, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, type=Path, help="build folder")
    parser.add_argument("--results", required=True, type=Path, help=f"folder for {name}.jsonl and {name}.md")
    parser.add_argument("--commit", default="unknown", help="what is measured; results of others are left alone")
    parser.add_argument("--only", default=",".join(only or parts), help="parts, separated by commas")
    if precisions:
        parser.add_argument("--precisions", default=precisions, help=f'some of "{precisions}", in this order')
    parser.add_argument("--budget", type=float, default=budget, metavar="SECONDS", help="default: %(default).0f")
    parser.add_argument("--dry-run", action="store_true", help="list the measurements with rough times, make none")
    parser.set_defaults(name=name, parts=list(parts), letters=precisions)
    return parser


def read_options(parser: argparse.ArgumentParser) -> tuple[argparse.Namespace, Store]:
    """`only` as a list, folders that do not depend on where programs run; and what has been measured before."""
    arguments = parser.parse_args()
    arguments.only = arguments.only.split(",")
    if unknown := set(arguments.only) - set(arguments.parts):
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    if arguments.letters and set(arguments.precisions) - set(arguments.letters):
        parser.error(f"no such precisions: {arguments.precisions}")
    arguments.build = arguments.build.resolve()
    arguments.results.mkdir(parents=True, exist_ok=True)
    arguments.results = arguments.results.resolve()
    return arguments, Store(arguments.results / f"{arguments.name}.jsonl", arguments.commit)


def publish(arguments: argparse.Namespace, lines: list[str]) -> None:
    """The summary, into its file and to be read."""
    (arguments.results / f"{arguments.name}.md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))


def table_row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def table_head(names: list[str]) -> list[str]:
    return [table_row(names), "|---" * len(names) + "|"]


# ---- measurements


@dataclass(frozen=True)
class Measurement:
    key: str
    seconds: float
    """About how long it takes."""
    measure: Callable[[float], dict]
    """Given the seconds it may take at most; its record."""


class Store:
    """Records of one commit in a file of JSON lines, by key."""

    def __init__(self, path: Path, commit: str) -> None:
        self.path, self.commit = path, commit
        self.records: dict[str, dict] = {}
        if path.exists():
            for line in path.read_text().splitlines():
                record = json.loads(line)
                if record["commit"] == commit:
                    self.records[record["key"]] = record

    def add(self, key: str, record: dict) -> None:
        record = {"key": key, "commit": self.commit, "date": str(datetime.date.today()), "machine": machine()} | record
        self.records[key] = record
        with self.path.open("a") as file:
            file.write(json.dumps(record) + "\n")

    def get(self, key: str) -> Optional[dict]:
        """A good record; what has failed is measured again by the next run."""
        record = self.records.get(key)
        return record if record and "failed" not in record else None

    def origin(self, precision: str = "") -> tuple[str, str]:
        """Where, and when and on which commit, all of this, or what is a precision's (PART/PRECISION/...), was measured."""
        records = [r for key, r in self.records.items() if not precision or key.split("/")[1:2] == [precision]]
        machines = sorted({record["machine"] for record in records})
        dates = sorted({record["date"] for record in records})
        commits = sorted({record["commit"] for record in records}) or [self.commit]
        return " / ".join(machines), f"{', '.join(dates)}, commit {', '.join(commits)}"

    def head(self) -> str:
        """The same in one line."""
        return ", ".join(self.origin())

    def failures(self) -> str:
        """Which have failed, and not been measured since."""
        return f"Failed: {', '.join(key for key in self.records if not self.get(key)) or 'nothing'}."


def measure_all(measurements: list[Measurement], store: Store, budget: float) -> bool:
    """Measures what is missing, and starts nothing that would end after `budget` seconds. True if all is there."""
    began = time.monotonic()
    late = failed = 0
    for m in measurements:
        if store.get(m.key):
            continue
        left = budget - (time.monotonic() - began)
        if m.seconds > left:
            late += 1
            continue
        start = time.monotonic()
        try:
            # Estimates are rough, but a budget is there to be kept.
            record = m.measure(min(4 * m.seconds + 30, left + 20))
        except Failed as problem:
            record = {"failed": str(problem)}
            failed += 1
        store.add(m.key, record | {"took": round(time.monotonic() - start, 1)})
        shown = {k: v for k, v in store.records[m.key].items() if k not in ("key", "commit", "date", "machine")}
        print(f"{m.key}: {json.dumps(shown)}", flush=True)
    if late:
        print(f"{late} measurements are left for another run: the budget of {budget:.0f} s is spent", flush=True)
    if failed:
        print(f"{failed} measurements failed", flush=True)
    return not late and not failed


def list_measurements(measurements: list[Measurement], store: Store) -> None:
    """What would be measured, and about how long it would take."""
    parts: dict[str, float] = {}
    for m in measurements:
        there = store.get(m.key) is not None
        print(f"{'there' if there else f'{m.seconds:4.0f} s'}  {m.key}")
        part = m.key.split("/")[0]
        parts[part] = parts.get(part, 0) + (0 if there else m.seconds)
    for part, seconds in parts.items():
        print(f"about {seconds:.0f} s: {part}")


# ---- programs


def environment_with(said: dict[str, str]) -> dict[str, str]:
    """Only what is said here decides who computes."""
    return {k: v for k, v in os.environ.items() if not k.startswith("BLASLIFT") and k != "LD_PRELOAD"} | said


def run(command: list[str], environment: dict[str, str], seconds: float) -> list[dict]:
    """Runs a program that prints lines of JSON."""
    name = " ".join([Path(command[0]).name, *command[1:]])
    try:
        done = subprocess.run(command, env=environment_with(environment), capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        raise Failed(f"{name}: not ended after {seconds:.0f} s") from None
    except OSError as problem:
        raise Failed(f"{name}: {problem}") from None
    if done.returncode != 0:
        raise Failed(f"{name}: status {done.returncode}: {(done.stderr + done.stdout)[-600:].strip()}")
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def run_with_report(command: list[str], environment: dict[str, str], seconds: float) -> tuple[dict, dict]:
    """Runs a program under blaslift: what it printed, and blaslift's report."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "report.json")
        printed = run(command, environment | {"BLASLIFT_REPORT": str(path)}, seconds)
        if not path.exists():
            raise Failed(f"{command[0]}: no report: blaslift was not there")
        return printed[0], json.loads(path.read_text().splitlines()[-1])


# ---- candidates


def find_library(*patterns: str) -> Optional[str]:
    for pattern in patterns:
        for path in sorted(glob.glob(pattern)):
            return os.path.realpath(path)
    return None


def cpu_blas() -> Optional[str]:
    """The CPU's best BLAS on this machine."""
    return find_library(
        "/usr/lib/x86_64-linux-gnu/openblas-pthread/libopenblas.so.0",
        "/usr/lib/x86_64-linux-gnu/libopenblas.so.0",
        "/usr/lib/x86_64-linux-gnu/libopenblas*.so*",
        "/usr/lib/x86_64-linux-gnu/libblas.so.3",
    )


def nvblas() -> Optional[str]:
    return find_library(
        "/usr/local/cuda/lib64/libnvblas.so.*",
        "/usr/local/cuda*/targets/*/lib/libnvblas.so.*",
        "/usr/lib/x86_64-linux-gnu/libnvblas.so.*",
        *(os.path.join(folder, "nvidia/*/lib/libnvblas.so.*") for folder in sys.path),
    )


@contextmanager
def candidates(build: Path, residency: str = "off") -> Iterator[dict[str, dict[str, str]]]:
    """The environments in which the same program computes with another library, by the library's name.

    Host-to-host times are taken with blaslift's residency off: every call moves all of its operands.
    """
    blas = cpu_blas()
    if not blas:
        raise SystemExit("no BLAS for the CPU was found")
    with tempfile.TemporaryDirectory() as scratch:
        os.symlink(blas, os.path.join(scratch, "libblas.so.3"))
        lapack = Path(blas).with_name("liblapack.so.3")  # beside it, where it has one of its own
        if lapack.exists():
            os.symlink(lapack, os.path.join(scratch, "liblapack.so.3"))
        path = scratch + ":" + os.environ.get("LD_LIBRARY_PATH", "")
        base = {"LD_LIBRARY_PATH": path}
        library = build.resolve() / "lib/libblaslift.so"
        found = {"CPU": base, "blaslift": base | {"LD_PRELOAD": str(library), "BLASLIFT_RESIDENCY": residency}}
        if nv := nvblas():
            for name, pin in (("NVBLAS", ""), ("NVBLAS autopin", "NVBLAS_AUTOPIN_MEM_ENABLED\n")):
                config = Path(scratch, name.replace(" ", "-") + ".conf")
                config.write_text(
                    f"NVBLAS_LOGFILE {scratch}/nvblas.log\nNVBLAS_CPU_BLAS_LIB {blas}\nNVBLAS_GPU_LIST 0\n{pin}"
                )
                libraries = os.path.dirname(nv) + ":" + path
                found[name] = {"LD_PRELOAD": nv, "NVBLAS_CONFIG_FILE": str(config), "LD_LIBRARY_PATH": libraries}
        else:
            print("NVBLAS was not found: its columns are missing", file=sys.stderr)
        yield found


@functools.cache
def machine() -> str:
    """The GPU and what goes with it, in words."""
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    try:
        gpu = subprocess.run(query, capture_output=True, text=True).stdout.strip().replace(", ", ", driver ")
    except OSError:
        gpu = ""
    return f"{gpu or 'no GPU'}, {os.cpu_count()} cores, {os.path.basename(cpu_blas() or 'no BLAS')}"


# ---- gemm


@dataclass(frozen=True)
class Shape:
    precision: str
    m: int
    n: int
    k: int

    @classmethod
    def of(cls, precision: str, size: str) -> Shape:
        """From N or MxNxK."""
        numbers = [int(x) for x in size.split("x")]
        return cls(precision, *(numbers * 3 if len(numbers) == 1 else numbers))

    def __str__(self) -> str:
        return f"{self.m}" if self.m == self.n == self.k else f"{self.m}x{self.n}x{self.k}"

    @property
    def flops(self) -> float:
        return OPERATIONS[self.precision] * float(self.m) * self.n * self.k

    def bytes_in(self, beta: float = 0) -> int:
        c = self.m * self.n if beta else 0
        return ELEMENT[self.precision] * (self.m * self.k + self.k * self.n + c)

    def bytes_out(self) -> int:
        return ELEMENT[self.precision] * self.m * self.n

    @property
    def sets(self) -> int:
        return 2 if 2 * self.bytes_in(1) <= MOST_FOR_TWO_SETS else 1

    def repetitions(self, candidate: str) -> int:
        """Many for small products, few where one call takes seconds."""
        slow = 1 if candidate != "blaslift" else 3
        return 15 if self.flops <= 2e10 else 7 if self.flops <= 2e11 else 3 if self.flops <= 2e12 else slow

    def seconds(self, candidate: str) -> float:
        """About how long one call takes."""
        moved = 0 if candidate == "CPU" else (self.bytes_in() + self.bytes_out()) / BUS_RATE
        return self.flops / RATES[candidate][self.precision] + moved


def time_gemm(key: str, build: Path, candidate: str, environment: dict[str, str], shape: Shape, beta: float = 0,
              repetitions: int = 0) -> Measurement:
    """gemm_time on one shape; with blaslift also how many of its calls ran where."""
    repetitions = repetitions or shape.repetitions(candidate)
    command = [str(build / "bin/gemm_time"), "--beta", f"{beta:g}", "--sets", str(shape.sets), shape.precision,
               str(repetitions), str(shape)]
    call = shape.seconds(candidate)
    estimate = (
        START_SECONDS
        + shape.sets * shape.bytes_in(1) / FILL_RATE
        + max(shape.sets * call, WARM_SECONDS)
        + repetitions * call
        + shape.sets * 200 * shape.k * 4e-7  # the sampled entries
    )

    def measure(seconds: float) -> dict:
        if candidate != "blaslift":
            return run(command, environment, seconds)[0]
        printed, report = run_with_report(command, environment, seconds)
        routine = report["routines"][shape.precision + "gemm"]
        counted = {k: routine[k] for k in ("calls", "routed", "stayed", "bytes_in", "bytes_out")}
        return printed | {"counted": counted, "residency": report.get("residency", "none yet")}

    return Measurement(key, estimate, measure)


def ran_on(record: Optional[dict]) -> str:
    """Where blaslift's calls ran, warming ones included."""
    if not record:
        return ""
    counted = record["counted"]
    if counted["routed"] == counted["calls"]:
        return "GPU"
    stayed = ", ".join(f"{reason} {calls}" for reason, calls in counted["stayed"].items())
    some = f"GPU {counted['routed']} of {counted['calls']}" if counted["routed"] else "CPU"
    return f"{some} ({stayed})"


def compare_table(store: Store, part: str, names: list[str], shapes: list[Shape]) -> list[str]:
    """Markdown rows of the measurements PART/PRECISION/SHAPE/CANDIDATE: median milliseconds a call."""
    lines = ["| product | " + " | ".join(names) + " | blaslift ran on |", "|---|" + "---:|" * len(names) + "---|"]
    for shape in shapes:
        records = {name: store.get(f"{part}/{shape.precision}/{shape}/{name}") for name in names}
        times = " | ".join(f"{r['seconds'] * 1e3:.2f}" if r else "" for r in records.values())
        lines.append(f"| {shape.precision}gemm {shape} | {times} | {ran_on(records.get('blaslift'))} |")
    return lines
