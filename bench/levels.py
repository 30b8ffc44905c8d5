#!/usr/bin/env python3
"""Measures products by Strassen-like levels beside cuBLAS, on a machine with a GPU.

    cmake -S . -B build/gpu -G Ninja -DCMAKE_BUILD_TYPE=Release -DBLASLIFT_CUDA=ON && cmake --build build/gpu --target all benches
    bench/levels.py --build build/gpu --results DIR --commit ID [--precisions d] [--only PART[,PART...]]
                    [--budget SECONDS] [--own-algorithms] [--built-in]

Parts, in this order:
  leaf     algorithms of leaves and rates by `blaslift tune`: DIR/levels.profile; what the estimators predict from them
  fused    squares, operands on the device: no levels and 1 to 4 of the built-in list, the largest sizes first
  auto     the same with as many levels as are predicted to be fastest, by DIR/levels.profile or the --built-in rates
  turns    squares, other shapes, transposed operands and beta: automatic levels, none to four, and cuBLAS, all in one
           process and in long turns
  methods  the published lists, in one stream and in two, at fewer sizes
  memory   device memory by list and level, double precision
  host     host to host through the preload, with and without levels

Every process times cuBLAS, called directly, in turns with blaslift, call by call but for the part turns; its report has to say that all calls ran by the
levels asked for.  Each run goes on with what DIR/levels.jsonl has for the commit ID, and starts nothing that would end
after --budget seconds: repeat the same command until it says "complete" (status 0).  DIR/levels.md is the summary so
far; bench/plot_levels.py draws it.

--backend host tries the logic out on a machine without a GPU, with small sizes: its times mean nothing.
"""

from __future__ import annotations

import argparse
import functools
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from common import (
    FILL_RATE,
    START_SECONDS,
    WARM_SECONDS,
    Failed,
    Measurement,
    Shape,
    Store,
    candidates,
    cpu_blas,
    driver_options,
    environment_with,
    list_measurements,
    measure_all,
    publish,
    read_options,
    run,
    run_with_report,
)

PARTS = ["leaf", "fused", "auto", "turns", "methods", "memory", "host"]
LEVELS = ["off", "1", "2", "3", "4"]
LIBRARIES_IN_ONE_PROCESS = {"GLIBC_TUNABLES": "glibc.rtld.optional_static_tls=100000"}
METHODS = ["fused:1", "absorbed", "absorbed:2", "rum", "rum:2", "lai", "high_level", "alternative", "rum:all", "otsuka",
           "otsuka_pairs:2", "winograd15:2"]
PUBLISHED = ["fused", "absorbed", "rum", "lai", "high_level", "otsuka"]
"""Lists whose memory is compared."""

LEAST_REPETITIONS = 3  # as in levels_time.cu


@dataclass(frozen=True)
class Plan:
    """Sizes and times for one kind of machine."""

    program: str
    backend: str
    rate: float
    """Operations a second, roughly, for the estimates of how long things take."""
    leaf: list[int]
    large: list[int]
    """Squares that matter most."""
    small: list[int]
    most_complex: int
    """No larger complex squares."""
    methods: dict[int, list[int]]
    """Sizes by the number of levels."""
    turns: dict[str, list[str]]
    """By precision: sizes as "N" or "MxNxK", with operands as "N NT" and C read as "N beta 1"."""
    memory: list[int]
    memory_levels: list[int]
    host: dict[str, list[int]]
    warming: int
    leaf_seconds: float = 0.2
    seconds: float = 0.8
    """For the repetitions of one size, though three are made at least."""
    repetitions: int = 61  # medians of fifteen move by a hundredth below a millisecond
    turn_lead: float = 0.1
    turn_seconds: float = 0.15
    """As levels_in_turns has them: of each contender's turn, not timed and timed."""
    turn_count: int = 3
    settle: float = 0.3
    """Seconds of products before those that are timed."""
    overhead: float = 0.8
    """Seconds that a size takes besides."""
    noise: float = 0.2
    """Rates that scatter more than this share are no rates."""


SQUARES_IN_TURNS = {
    "d": ["7168", "8191", "8192", "10007", "10240", "12288", "16384"],
    "s": ["5120", "7168", "8191", "8192", "10007", "10240", "12288", "16384"],
    "c": ["4096", "5120", "6144", "8191", "10007", "12288", "16384"],
    "z": ["4096", "5120", "6144", "8191", "10007", "12288", "16384"],
}
"""Below, automatic levels are none, and the call is cuBLAS's."""

GPU = Plan(
    program="levels_time", backend="cuda", rate=48e12,
    leaf=[256, 384, 512, 640, 768, 1024, 1280, 1536, 2048, 2560, 3072, 4096, 5120, 6144, 8192, 10240, 12288, 16384],
    large=[8192, 16384, 24576, 32768, 40960],
    small=[1024, 2048, 3072, 4096, 5120, 6144, 7168, 10240, 12288, 20480],
    most_complex=24576,
    methods={1: [2048, 4096, 8192], 2: [8192, 16384], 3: [16384, 24576, 32768, 40960], 4: [40960]},
    turns={p: SQUARES_IN_TURNS[p] + [f"{n} {how}" for how in ("NT", "TN", "TT", "beta 1", *["CN"] * (p in "cz"))] +
           ["8192x8192x4096", "16384x4096x16384", "12345x9876x11111", "4096x16384x8192", "20000x3000x20000", "32768x8192x2048"]
           for p, n in (("d", 16384), ("s", 16384), ("c", 8192), ("z", 8192))},
    memory=[8192, 32768], memory_levels=[1, 2, 3, 4],
    host={"d": [16384, 32768], "s": [16384, 32768]},
    warming=2048,
)

HOST = Plan(
    program="levels_time_host", backend="host", rate=1e9,
    leaf=[32, 64, 128], large=[256], small=[64, 128], most_complex=128,
    methods={1: [64], 2: [128], 3: [128]}, turns=dict.fromkeys("sdcz", ["101", "64 TN", "64 beta 1", "96x64x128"]),
    memory=[128], memory_levels=[1, 2], host={"d": [256]},
    warming=32, leaf_seconds=0.01, turn_lead=0, turn_seconds=0.01, seconds=0.05, repetitions=4, settle=0.01, overhead=0.1, noise=1000,
)

PLANS = {"cuda": GPU, "host": HOST}


@dataclass(frozen=True)
class Batch:
    """Sizes that one process measures, or each a process of its own."""

    part: str
    setting: str
    """BLASLIFT_STRASSEN."""
    shapes: list[Shape]
    alone: bool = False
    memory: bool = False

    @property
    def precision(self) -> str:
        return self.shapes[0].precision

    def key(self, shape: Shape) -> str:
        return f"{self.part}/{shape.precision}/{self.setting}/{shape}"


@dataclass
class Launch:
    """What a process of levels_time left behind."""

    lines: list[dict] = field(default_factory=list)
    report: dict | None = None
    problem: str = ""
    refused: str = ""
    """The library's words, if it does not know the setting."""


def squares(precision: str, sizes: Iterable[int], plan: Plan) -> list[Shape]:
    most = plan.most_complex if precision in "cz" else max(plan.large + plan.small)
    return [Shape(precision, n, n, n) for n in sizes if n <= most]


def batches_of(part: str, precision: str, plan: Plan) -> list[Batch]:
    """The batches of a part, the most important first."""
    def of(setting: str, sizes: Iterable[int], **more) -> Batch:
        return Batch(part, setting, squares(precision, sizes, plan), **more)

    if part == "fused":
        made = [of(setting, plan.large) for setting in ("3", "4", "off", "2", "1")]
        made += [of(setting, plan.small) for setting in ("1", "off", "2", "3", "4")]
    elif part == "auto":
        made = [of("auto", plan.large + plan.small, alone=True)]
    elif part == "methods":
        made = [of(f"{level}:{method}", sizes) for level, sizes in plan.methods.items() for method in METHODS]
    elif part == "memory" and precision == "d":
        made = [of("off", plan.memory, alone=True, memory=True)]
        made += [of(f"{level}:{name}" if name != "fused" else f"{level}", plan.memory, alone=True, memory=True)
                 for level in reversed(plan.memory_levels) for name in PUBLISHED]
    else:
        made = []
    return [batch for batch in made if batch.shapes]


def fault_in(report: dict | None, batch: Batch, backend: str) -> str:
    """Why the report does not prove that every call ran as it was asked to; empty if it does."""
    if report is None:
        return "no report"
    routine = report["routines"].get(batch.precision + "gemm")
    if not routine:
        return "no call was counted"
    levels, calls = routine["levels"], routine["calls"]
    if report["backend"] != backend or routine["routed"] != calls:
        return f"{routine['routed']} of {calls} calls were routed, to {report['backend'] or 'nothing'}"
    if routine["distrusted"]:
        return f"{routine['distrusted']} calls were not trusted with levels"
    if batch.setting == "auto":
        return ""
    wanted = {} if batch.setting == "off" else {batch.setting.split(":")[0]: calls}
    return "" if levels == wanted else f"of {calls} calls by level {levels}, not {wanted}: no room"


def most_levels(report: dict, precision: str) -> int:
    """Of one call."""
    return max(map(int, report["routines"][precision + "gemm"]["levels"]), default=0)


class Driver:
    """Makes the measurements of levels_time that are missing."""

    def __init__(self, arguments: argparse.Namespace, plan: Plan, environment: dict[str, str], store: Store) -> None:
        self.plan, self.store = plan, store
        self.program = str(arguments.build / "bin" / plan.program)
        self.environment = environment | {"BLASLIFT_FORCE": "all", "BLASLIFT_BACKEND": plan.backend}
        self.profile = arguments.results / "levels.profile"
        self.built_in = arguments.built_in
        self.began, self.budget = time.monotonic(), arguments.budget
        self.late = self.failed = 0

    def left(self) -> float:
        return self.budget - (time.monotonic() - self.began)

    def estimate(self, batch: Batch, shape: Shape) -> float:
        """Seconds, roughly, that a size takes."""
        pair = 2 * shape.flops / self.plan.rate
        if batch.memory:
            return self.plan.overhead + 1.5 * pair
        times = min(self.plan.repetitions, max(LEAST_REPETITIONS, self.plan.seconds / pair))
        return self.plan.overhead + (times + (pair <= self.plan.seconds)) * pair

    def missing(self, batch: Batch) -> list[Shape]:
        return [shape for shape in batch.shapes if not self.store.get(batch.key(shape))]

    def measure(self, batch: Batch) -> None:
        """Starts processes for what is missing, as far as the budget goes."""
        missing = self.missing(batch)
        if missing and batch.setting == "auto" and not self.built_in and not self.profile.exists():
            print(f"{batch.part}/{batch.precision}: needs levels.profile: part leaf first", flush=True)
            self.failed += 1
            return
        for group in [[shape] for shape in missing] if batch.alone else [missing]:
            fits: list[Shape] = []
            seconds = START_SECONDS
            for shape in group:
                if seconds + self.estimate(batch, shape) <= self.left():
                    fits.append(shape)
                    seconds += self.estimate(batch, shape)
            self.late += len(group) - len(fits)
            if fits:
                self.measure_together(batch, fits, seconds)

    def measure_together(self, batch: Batch, shapes: list[Shape], seconds: float) -> None:
        start = time.monotonic()
        launch = self.launch(batch, shapes, min(4 * seconds + 30, max(self.left(), 0) + 20))
        fault = launch.refused or fault_in(launch.report, batch, self.plan.backend)
        if fault and not launch.refused and len(shapes) > 1:
            # The report is of the whole process: it cannot say which of the sizes it was.
            print(f"{batch.part}/{batch.precision}/{batch.setting}: {launch.problem or fault}: one by one", flush=True)
            for shape in shapes:
                seconds = START_SECONDS + self.estimate(batch, shape)
                if seconds <= self.left():
                    self.measure_together(batch, [shape], seconds)
                else:
                    self.late += 1
            return
        took = round((time.monotonic() - start) / len(shapes), 1)
        lines = {(line["m"], line["n"], line["k"]): line for line in launch.lines}
        for shape in shapes:
            line = lines.get((shape.m, shape.n, shape.k))
            self.add(batch.key(shape), self.record(batch, line, launch, fault) | {"took": took})

    def record(self, batch: Batch, line: dict | None, launch: Launch, fault: str) -> dict:
        if line is None:
            unfit = "out of memory" in launch.problem
            return {"unfit" if unfit else "failed": launch.problem or "not measured"}
        if fault:
            return {"unfit" if "no room" in fault else "failed": f"{launch.problem} {fault}".strip()}
        if not line.get("right", True):
            return line | {"failed": "the result is wrong"}
        assert launch.report
        if batch.setting == "auto":  # a process of one size; what warmed it is too small for levels
            return line | {"level": most_levels(launch.report, batch.precision)}
        return line | {"level": int(batch.setting.split(":")[0]) if batch.setting != "off" else 0}

    def add(self, key: str, record: dict) -> None:
        self.failed += "failed" in record
        self.store.add(key, record)
        shown = ("failed", "unfit", "speedup", "level", "error", "cublas_error", "peak", "took")
        print(f"{key}: {json.dumps({k: record[k] for k in shown if k in record})}", flush=True)

    def launch(self, batch: Batch, shapes: list[Shape], seconds: float) -> Launch:
        """One process; what it printed before it failed, if it did, is kept."""
        plan = self.plan
        command = [self.program, "--precision", batch.precision, "--sizes", ",".join(map(str, shapes)),
                   "--seconds", f"{plan.seconds:g}",
                   "--repetitions", str(plan.repetitions), "--warming", str(plan.warming), "--settle", f"{plan.settle:g}"]
        if batch.setting == "auto":
            command += ["--warming", str(min(plan.warming, 256))]
        if batch.memory:
            command += ["--repetitions", "1", "--warm", "0", "--settle", "0", "--check", "off", "--memory", "on"]
        environment = environment_with(self.environment | {"BLASLIFT_STRASSEN": batch.setting})
        if self.profile.exists() and not self.built_in:
            environment["BLASLIFT_PROFILE"] = str(self.profile)
        result = Launch()
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder, "report.json")
            try:
                done = subprocess.run(command, check=False, env=environment | {"BLASLIFT_REPORT": str(report)},
                                      capture_output=True, text=True, timeout=seconds)
                printed = done.stdout
                if done.returncode:
                    result.problem = f"status {done.returncode}: {done.stderr[-300:].strip()}"
                if "BLASLIFT_STRASSEN" in done.stderr:
                    result.refused = done.stderr.strip().splitlines()[0]
            except subprocess.TimeoutExpired as late:
                printed = late.stdout.decode() if isinstance(late.stdout, bytes) else late.stdout or ""
                result.problem = f"not ended after {seconds:.0f} s"
            except OSError as problem:
                printed, result.problem = "", str(problem)
            result.lines = [json.loads(line) for line in printed.splitlines() if line.endswith("}")]
            if report.exists():
                result.report = json.loads(report.read_text().splitlines()[-1])
        return result


# ---- the profile, and what is predicted from it


def rates_of(profile: Path, precision: str) -> dict:
    """What `blaslift tune` has written of a precision."""
    words = [line.split() for line in profile.read_text().splitlines() if line and not line.startswith("#")]
    one = {word[0]: float(word[1]) for word in words if len(word) == 2}
    return {"rates": [[int(word[1]), float(word[2])] for word in words
                      if word[0] == f"{precision}gemm_leaf_rate" and len(word) == 3],
            "pass_rate": one["pass_rate"], "step_seconds": one["step_seconds"]}


def leaf_measurements(arguments: argparse.Namespace, plan: Plan, environment: dict[str, str]) -> list[Measurement]:
    blaslift, predictor = (str(arguments.build / "bin" / name) for name in ("blaslift", "predicted_levels"))
    profile = arguments.results / "levels.profile"

    def rates(precision: str, seconds: float) -> dict:
        run([blaslift, "tune", "-q", "--backend", plan.backend, "--precisions", precision, "--sizes",
             ",".join(map(str, plan.leaf)), "--seconds", f"{plan.leaf_seconds:g}", "--noise", f"{plan.noise:g}",
             "--output", str(profile),
             *(["--leaves", "0"] if arguments.own_algorithms else [])],
            environment, seconds)
        found = rates_of(profile, precision)
        if missing := set(plan.leaf) - {n for n, _ in found["rates"]}:
            raise Failed(f"no steady rate of {sorted(missing)}")
        return found

    def predicted(precision: str, seconds: float) -> dict:
        # Not before the rates are there.
        if not profile.exists():
            raise Failed("no levels.profile: run the part again")
        sizes = sorted({*plan.small, *plan.large, *plan.memory} | {n for some in plan.methods.values() for n in some})
        shapes = [size for size in plan.turns[precision] if "x" in size]
        lines = run([predictor, str(profile), precision, *map(str, sizes), *shapes], {}, seconds)
        crossovers = {line["model"]: line["size"] for line in lines if line["what"] == "crossover"}
        return {"crossover": crossovers["ours"], "crossovers": crossovers,
                "sizes": [line for line in lines if line["what"] == "predicted"]}

    largest = 8 * float(plan.leaf[-1])**3 / plan.rate
    made = []
    for p in arguments.precisions:
        rates_seconds = 3 * len(plan.leaf) * plan.leaf_seconds + 16 * largest * (4 if p in "cz" else 1) / 4
        seconds = START_SECONDS + 2 + rates_seconds * (1 if arguments.own_algorithms else 2.5)
        made.append(Measurement(f"leaf/{p}", seconds, functools.partial(rates, p)))
    return made + [Measurement(f"predicted/{p}", 1, functools.partial(predicted, p)) for p in arguments.precisions]


# ---- in turns


def turn_settings(shape: Shape) -> list[str]:
    """Deeper ones are far off where there is little to divide."""
    smallest = min(shape.m, shape.n, shape.k)
    most = 2 if smallest < 6000 else 3 if smallest < 12000 and shape.precision in "ds" else 4
    return [*LEVELS[:most + 1], "auto"]


def turn_measurements(arguments: argparse.Namespace, plan: Plan, environment: dict[str, str]) -> list[Measurement]:
    """levels_in_turns: settings that find no room are left out, and named."""
    profile = arguments.results / "levels.profile"
    # The program loads the library itself, and has no BLAS for it to find.
    said = {k: v for k, v in environment.items() if k != "LD_PRELOAD"} | LIBRARIES_IN_ONE_PROCESS
    said |= {"BLASLIFT_FORCE": "all", "BLASLIFT_BACKEND": plan.backend, "BLASLIFT_FALLBACK": cpu_blas() or ""}
    if profile.exists() and not arguments.built_in:
        said["BLASLIFT_PROFILE"] = str(profile)
    command = [str(arguments.build / "bin" / plan.program.replace("levels_time", "levels_in_turns")),
               "--library", str(arguments.build / "lib/libblaslift.so"), "--turns", str(plan.turn_count),
               "--lead", f"{plan.turn_lead:g}", "--seconds", f"{plan.turn_seconds:g}"]

    def measure(shape: Shape, how: list[str], seconds: float) -> dict:
        settings = turn_settings(shape)
        with tempfile.TemporaryDirectory() as folder:
            record = run([*command, "--precision", shape.precision, "--size", str(shape), "--settings",
                          ",".join(settings), "--reports", folder, *how], said, seconds)[0]
            reports = {s: json.loads(Path(folder, f"{s}.json").read_text().splitlines()[-1]) for s in settings}
        unfit = []
        for setting, report in reports.items():
            if fault := fault_in(report, Batch("turns", setting, [shape]), plan.backend):
                if "no room" not in fault:
                    raise Failed(f"{setting}: {fault}")
                unfit.append(setting)
                del record["contenders"][setting]
        return record | {"level": most_levels(reports["auto"], shape.precision), "without": unfit}

    made = []
    for p in arguments.precisions:
        for name in plan.turns[p]:
            size, *words = name.split()
            shape = Shape.of(p, size)
            how = ["--beta", words[1]] if words[:1] == ["beta"] else ["--trans", words[0]] if words else []
            call = shape.flops / plan.rate
            calls = sum(max(call, some) for some in (plan.turn_lead, plan.turn_seconds)) + call
            seconds = START_SECONDS + (len(turn_settings(shape)) + 1) * plan.turn_count * calls
            made.append(Measurement(f"turns/{p}/{name}", seconds, functools.partial(measure, shape, how)))
    return made


# ---- host to host


def host_settings(plan: Plan) -> list[str]:
    return ["off", "auto", *map(str, plan.memory_levels[:3])]


def host_measurements(arguments: argparse.Namespace, plan: Plan, environment: dict[str, str]) -> list[Measurement]:
    """gemm_time through the preload, all operands sent in every call; settings side by side at each size."""
    profile = arguments.results / "levels.profile"

    def measure(shape: Shape, setting: str, seconds: float) -> dict:
        said = {"BLASLIFT_FORCE": "all", "BLASLIFT_BACKEND": plan.backend, "BLASLIFT_STRASSEN": setting}
        if profile.exists() and not arguments.built_in:
            said["BLASLIFT_PROFILE"] = str(profile)
        # Far larger than any cache, so one set of operands is enough.
        command = [str(arguments.build / "bin/gemm_time"), "--sets", "1", shape.precision, "5", str(shape)]
        line, report = run_with_report(command, environment | said, seconds)
        if fault := fault_in(report, Batch("host", setting, [shape]), plan.backend):
            raise Failed(fault)
        return line | {"level": most_levels(report, shape.precision)}

    made = []
    for p in arguments.precisions:
        for n in plan.host.get(p, []):
            shape = Shape(p, n, n, n)
            call = shape.flops / plan.rate + shape.bytes_in() / 40e9
            seconds = START_SECONDS + shape.bytes_in(1) / FILL_RATE + max(call, WARM_SECONDS) + 6 * call + 200 * n * 4e-7
            made += [Measurement(f"host/{p}/{setting}/{shape}", seconds, functools.partial(measure, shape, setting))
                     for setting in host_settings(plan)]
    return made


# ---- tables


class Tables:
    """Markdown of what the store has."""

    def __init__(self, store: Store, plan: Plan) -> None:
        self.store, self.plan = store, plan

    def good(self, key: str) -> dict | None:
        record = self.store.get(key)
        return record if record and "unfit" not in record else None

    def speedup(self, key: str) -> str:
        if record := self.good(key):
            return f"{record['speedup']:.3f}"
        return "no room" if self.store.get(key) else ""

    def of(self, part: str, precision: str) -> list[str]:
        return getattr(self, part)(precision)

    def leaf(self, p: str) -> list[str]:
        record = self.good(f"leaf/{p}")
        if not record:
            return []
        rates = ", ".join(f"{size}: {1e-12 * rate:.1f}" for size, rate in record["rates"])
        lines = [f"cuBLAS, TFLOP/s by size: {rates}.", "",
                 f"Passes {1e-12 * record['pass_rate']:.2f} TB/s, {1e6 * record['step_seconds']:.1f} us a step."]
        if predicted := self.good(f"predicted/{p}"):
            crossovers = predicted.get("crossovers", {"ours": predicted["crossover"]})  # the first runs had one model
            named = ", ".join(f"{model} {size:.0f}" for model, size in crossovers.items())
            lines += ["", f"Predicted: levels from these sizes on: {named}."]
        return lines

    def squares_table(self, part: str, p: str, sizes: list[int]) -> list[str]:
        """The rows that there are."""
        predicted = {x["n"]: x["level"] for x in (self.good(f"predicted/{p}") or {"sizes": []})["sizes"]
                     if x["m"] == x["n"] == x["k"]}
        lines = []
        for n in sorted(sizes):
            cells = [self.speedup(f"fused/{p}/{setting}/{n}") for setting in LEVELS]
            records = [r for s in LEVELS if (r := self.good(f"fused/{p}/{s}/{n}"))]
            auto = self.good(f"auto/{p}/auto/{n}")
            both = records + ([auto] if auto else [])
            if not both:
                continue
            cublas = statistics.median(r["cublas"]["seconds"] for r in both)
            tflops = statistics.median(r["cublas"]["tflops"] for r in both)
            worst = max((r["error"] for r in both if "error" in r), default=0)
            least = max((r["cublas_error"] for r in both if "error" in r), default=0)
            chosen = f"{auto['speedup']:.3f} | {auto['cublas']['spread']:.3f} | {auto['level']}" if auto else " | | "
            lines.append(f"| {n} | {1e3 * cublas:.2f} | {tflops:.1f} | {' | '.join(cells)} | {chosen} | "
                         f"{predicted.get(n, '')} | {worst:.1e} | {least:.1e} |")
        return lines

    def fused(self, p: str) -> list[str]:
        rows = self.squares_table("fused", p, self.plan.large + self.plan.small)
        if not rows:
            return []
        head = ["n", "cuBLAS ms", "TFLOP/s", "no level", *LEVELS[1:], "automatic", "cuBLAS's spread", "its level",
                "predicted level", "worst error", "cuBLAS's"]
        return ["Times faster than cuBLAS in the same process; its spread is the distance of the quartiles of its times there, "
                "relative to their median; errors relative to the largest entry sampled.", "",
                f"| {' | '.join(head)} |", "|---:" * len(head) + "|", *rows]

    def auto(self, p: str) -> list[str]:
        return []  # with fused

    def methods(self, p: str) -> list[str]:
        lines = []
        for level, sizes in self.plan.methods.items():
            for n in sizes:
                cells = [self.speedup(f"methods/{p}/{level}:{method}/{n}") for method in METHODS]
                if any(cells):
                    lines.append(f"| {n} | {level} | {self.speedup(f'fused/{p}/{level}/{n}')} | {' | '.join(cells)} |")
        head = ["fused", *METHODS]
        return ["Times faster than cuBLAS; `:2`: two streams at the outermost level, `:all`: at all.", "", f"| n | levels | {' | '.join(head)} |",
                "|---:" * (len(head) + 2) + "|", *lines] if lines else []

    def turns(self, p: str) -> list[str]:
        lines = []
        for name in self.plan.turns[p]:
            if not (r := self.good(f"turns/{p}/{name}")):
                continue
            times = {who: x["seconds"] for who, x in r["contenders"].items()}
            cublas, auto = r["contenders"]["cublas"], times["auto"]
            cells = [f"{1e3 * times[s]:.2f}" if s in times else "" for s in LEVELS]
            best = min(times[s] for s in LEVELS if s in times)
            lines.append(f"| {name} | {1e3 * cublas['seconds']:.2f} | {100 * cublas['spread']:.1f} | {' | '.join(cells)} | "
                         f"{1e3 * auto:.2f} | {r['level']} | {cublas['seconds'] / auto:.3f} | {best / auto:.3f} |")
        head = ["product", "cuBLAS", "spread", "no level", *LEVELS[1:], "automatic", "its level", "of cuBLAS", "of the best"]
        return ["Milliseconds, in long turns within one process; the distance of the quartiles of cuBLAS's times in percent of their "
                "median; how many times as fast automatic levels are as cuBLAS and as the best of the others.", "",
                f"| {' | '.join(head)} |", "|---|" + "---:|" * (len(head) - 1), *lines] if lines else []

    def memory(self, p: str) -> list[str]:
        lines = []
        for n in self.plan.memory:
            base = self.good(f"memory/{p}/off/{n}")
            if not base:
                continue
            operands = 3 * Shape(p, n, n, n).bytes_out()
            for level in self.plan.memory_levels:
                cells = []
                for name in PUBLISHED:
                    r = self.good(f"memory/{p}/{level if name == 'fused' else f'{level}:{name}'}/{n}")
                    cells.append(f"{(max(0, r['peak'] - base['peak']) + operands) / 2**30:.2f}" if r else "")
                if any(cells):
                    lines.append(f"| {n} | {level} | {operands / 2**30:.2f} | {' | '.join(cells)} |")
        return ["GiB with A, B and C, which are the program's and stay: a support matrix is separate.", "",
                f"| n | levels | without | {' | '.join(PUBLISHED)} |", "|---:" * (len(PUBLISHED) + 3) + "|",
                *lines] if lines else []

    def host(self, p: str) -> list[str]:
        lines = []
        settings = host_settings(self.plan)
        for n in self.plan.host.get(p, []):
            records = [self.good(f"host/{p}/{setting}/{n}") for setting in settings]
            if any(records):
                cells = [f"{1e3 * r['seconds']:.1f}" if r else "" for r in records]
                lines.append(f"| {p}gemm {n} | {' | '.join(cells)} |")
        return ["Median milliseconds a call, operands and result in pageable host memory.", "",
                f"| product | {' | '.join(settings)} |", "|---|" + "---:|" * len(settings), *lines] if lines else []


def summary(store: Store, plan: Plan) -> list[str]:
    tables = Tables(store, plan)
    lines = [store.head()]
    for part in PARTS:
        for p in "dszc":
            if table := tables.of(part, p):
                lines += ["", f"## {part}, {p}gemm", "", *table]
    wrong = [key for key, r in store.records.items() if r.get("same_bits") is False]
    lines += ["", f"Other bits from equal operands: {', '.join(wrong) or 'never'}."]
    for what in ("failed", "unfit"):
        if kept := [f"- {key}: {r[what]}" for key, r in store.records.items() if what in r]:
            lines += ["", f"## {what}", "", *kept]
    return lines


# ---- the program


def main() -> None:
    parser = driver_options(__doc__, "levels", PARTS, 450, precisions="dszc")
    parser.add_argument("--backend", choices=PLANS, default="cuda")
    parser.add_argument("--built-in", action="store_true", help="the library's own rates, as before any `blaslift tune`")
    parser.add_argument("--own-algorithms", action="store_true", help="leaves by cuBLAS's own choice of algorithms")
    parser.add_argument("--sizes", help="of the squares on the device, and of the part turns, only these, separated by commas")
    parser.add_argument("--settings", help="of BLASLIFT_STRASSEN on the device only these, as in 4:rum,4:rum:2")
    arguments, store = read_options(parser)
    chosen, plan = arguments.only, PLANS[arguments.backend]
    with candidates(arguments.build) as found:
        environment = found["blaslift"]
        driver = Driver(arguments, plan, environment, store)
        leaf = leaf_measurements(arguments, plan, found["CPU"]) if "leaf" in chosen else []
        batches = [batch for part in PARTS if part in chosen for p in arguments.precisions
                   for batch in batches_of(part, p, plan)]
        if arguments.sizes:
            sizes = set(arguments.sizes.split(","))
            batches = [replace(b, shapes=kept) for b in batches if (kept := [s for s in b.shapes if str(s) in sizes])]
        turns = turn_measurements(arguments, plan, environment) if "turns" in chosen else []
        if arguments.sizes:
            turns = [m for m in turns if m.key.split("/")[-1] in sizes]
        if arguments.settings:
            batches = [b for b in batches if b.setting in arguments.settings.split(",")]
        host = host_measurements(arguments, plan, environment) if "host" in chosen else []
        if arguments.dry_run:
            rough = [Measurement(batch.key(shape), driver.estimate(batch, shape) +
                                 START_SECONDS / (1 if batch.alone else len(batch.shapes)), lambda _: {})
                     for batch in batches for shape in batch.shapes]
            list_measurements(leaf + rough + turns + host, store)
            return
        complete = True
        complete = measure_all(leaf, store, driver.left()) and complete
        for batch in batches:
            driver.measure(batch)
        if driver.late:
            print(f"{driver.late} measurements are left for another run: the budget of {arguments.budget:.0f} s is spent")
        complete = measure_all(turns + host, store, driver.left()) and complete and not driver.late and not driver.failed
    publish(arguments, summary(store, plan))
    print("\ncomplete" if complete else "\nnot complete: run the same command again")
    sys.exit(0 if complete else 1)


if __name__ == "__main__":
    main()
