#!/usr/bin/env python3
"""Random calls of every routed routine, compared with plain ones: `differential.py --build DIR [--calls N] [--seed S]`.

The calls (differential.cpp) are divided among the modes below. Each mode runs as an unprivileged user, where that can be
chosen, in a folder that holds copies of all it needs. The table at the end has for each mode how many calls were made,
how many of them were computed by the host backend, and how many were wrong; what is wrong is told with its seed and
number, and `--seed S --first I --calls 1 --mode M` makes that call again.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent))
import harness

FORCED = {"BLASLIFT_BACKEND": "host", "BLASLIFT_FORCE": "all"}

MODES: dict[str, dict[str, str]] = {
    "natural": {},
    "forced": FORCED,
    "one level": FORCED | {"BLASLIFT_STRASSEN": "1"},
    "two levels": FORCED | {"BLASLIFT_STRASSEN": "2"},
    "three levels": FORCED | {"BLASLIFT_STRASSEN": "3"},
    "Otsuka's levels": FORCED | {"BLASLIFT_STRASSEN": "2:otsuka"},
    "RUM in two streams": FORCED | {"BLASLIFT_STRASSEN": "2:rum:all"},
    "in 64 KiB": FORCED | {"BLASLIFT_MEMORY": "64K"},
    "in 1 KiB": FORCED | {"BLASLIFT_MEMORY": "1K"},
    "levels in 256 KiB": FORCED | {"BLASLIFT_MEMORY": "256K", "BLASLIFT_STRASSEN": "1"},
    "copies kept": FORCED | {"BLASLIFT_RESIDENCY": "always"},
    "verified": FORCED | {"BLASLIFT_VERIFY": "all"},
}

SLOW = {"two levels": 4, "three levels": 8, "Otsuka's levels": 4, "RUM in two streams": 4, "in 1 KiB": 16}
"""Such calls take so many times as long as others, and a mode has so many times fewer of them."""


def share(calls: int, mode: str, modes: list[str]) -> int:
    """Of calls that are divided among modes, this one's."""
    return max(1, round(calls / SLOW.get(mode, 1) / sum(1 / SLOW.get(m, 1) for m in modes)))


PROCESS = 4000
"""Calls that one process makes: every one of its matrices may have a copy, among which the next one's is looked for."""

SOME_LEVELS = {"one level", "two levels", "three levels", "Otsuka's levels", "RUM in two streams", "levels in 256 KiB"}

ROUTINES = {f"{p}{base}" for p in "sdcz" for base in ("gemm", "syrk", "geqrf", "geqr", "gemqr")}
ROUTINES |= {"cherk", "zherk", "ssymv", "dsymv", "chemv", "zhemv", "csymv", "zsymv", "sgemv", "dgemv", "cgemv", "zgemv"}
ROUTINES |= {f"{p}{base}" for p in "sd" for base in ("ormqr", "orgqr")}
ROUTINES |= {f"{p}{base}" for p in "cz" for base in ("unmqr", "ungqr")}

NOBODY = 65534


def unprivileged() -> dict:
    """What subprocess takes to run somebody who may do nothing, where we may choose who that is."""
    return {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}


@dataclass
class Outcome:
    """What came of one mode."""

    calls: int = 0
    failed: int = 0
    routed: int = 0
    distrusted: int = 0
    verified_wrong: int = 0
    stayed: Counter = field(default_factory=Counter)
    worst: dict[str, float] = field(default_factory=dict)
    seconds: float = 0
    errors: list[str] = field(default_factory=list)

    def add(self, other: Outcome) -> None:
        for name in ("calls", "failed", "routed", "distrusted", "verified_wrong", "seconds"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.stayed.update(other.stayed)
        for name, worst in other.worst.items():
            self.worst[name] = max(worst, self.worst.get(name, 0.0))
        self.errors += other.errors


class Bench:
    """A folder with the program and the libraries, for anybody to run."""

    def __init__(self, build: Path, folder: Path, cxx: str):
        self.folder = folder
        blas, lapack = harness.PROVIDERS["reference"]
        self.environment = harness.clean_environment(harness.provider_environment("reference"))
        folder.chmod(0o755)
        shutil.copy(build / "lib" / "libblaslift.so", folder)
        shutil.copy(build / "lib" / "libblaslift_host.so", folder)
        # By names of their own: nobody else has loaded them.
        shutil.copy((blas / "libblas.so.3").resolve(), folder / "plain_blas.so")
        shutil.copy((lapack / "liblapack.so.3").resolve(), folder / "plain_lapack.so")
        self.build = build
        self.cxx = cxx

    def program(self, name: str) -> Path:
        """As the build has it, or else compiled here."""
        target = self.folder / name
        if (made := self.build / "tests" / "world" / "arithmetic" / name).exists():
            return Path(shutil.copy(made, target))
        blas, lapack = harness.PROVIDERS["reference"]
        line = [self.cxx, "-std=c++20", "-O1", "-frounding-math", "-rdynamic", HERE / f"{name}.cpp", "-o", target]
        line += ["-Wl,--no-as-needed", f"-L{lapack}", f"-L{blas}", "-l:liblapack.so.3", "-l:libblas.so.3", "-ldl"]
        done = subprocess.run(list(map(str, line)), capture_output=True, text=True)
        if done.returncode:
            raise AssertionError(f"{name}.cpp cannot be compiled:\n{done.stderr}")
        return target

    def run(self, program: Path, *arguments: str, settings: dict[str, str], timeout: float) -> harness.Run:
        """In a folder of its own."""
        work = self.folder / f"work-{len(list(self.folder.glob('work-*')))}"
        work.mkdir()
        who = unprivileged()
        if who:
            os.chown(work, NOBODY, NOBODY)
        report = work / "report.jsonl"
        variables = self.environment | settings
        variables |= {"LD_PRELOAD": harness.preloads(self.folder / "libblaslift.so"), "BLASLIFT_REPORT": str(report)}
        variables |= {"TMPDIR": str(work), "HOME": str(work)}
        with subprocess.Popen([program, *arguments], cwd=work, env=variables, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", **who) as process:
            try:
                stdout, stderr = process.communicate(timeout=timeout)
            except subprocess.TimeoutExpired:
                process.kill()
                stdout, stderr = process.communicate()
                stderr += f"\nkilled after {timeout:.0f} seconds\n"
        return harness.Run(process.returncode, stdout, stderr, {}, harness.read_reports(report))

    @property
    def plain(self) -> tuple[str, str]:
        return str(self.folder / "plain_blas.so"), str(self.folder / "plain_lapack.so")


def measure(bench: Bench, program: Path, mode: str, seed: int, first: int, calls: int, kind: str | None = None,
            timeout: float = 3600) -> Outcome:
    """Calls first, ... of this seed, in this mode."""
    outcome = Outcome()
    start = time.monotonic()
    settings = MODES[mode]
    levels = settings.get("BLASLIFT_STRASSEN", "0")
    arguments = [*bench.plain, str(seed), str(first), str(calls), levels, *([kind] if kind else [])]
    run = bench.run(program, *arguments, settings=settings, timeout=timeout)
    outcome.seconds = time.monotonic() - start
    for line in run.stdout.splitlines():
        words = line.split()
        if len(words) == 4 and words[0] in ROUTINES:
            outcome.calls += int(words[1])
            outcome.failed += int(words[2])
            outcome.worst[words[0]] = float(words[3])
        else:
            outcome.errors.append(line)
    if run.status != (1 if outcome.failed else 0) or not outcome.calls:
        outcome.errors.append(f"seed {seed}: status {run.status} {run.stderr.strip()[-300:]}")
    accounts = harness.accounts(run.reports)
    for account in accounts.values():
        outcome.routed += account.routed
        outcome.distrusted += account.distrusted
        outcome.stayed.update(account.stayed)
    for report in run.reports:
        for counters in report["routines"].values():
            outcome.verified_wrong += counters.get("verified", {}).get("wrong", 0)
    if outcome.verified_wrong:
        found = [call for report in run.reports for call in report.get("worst", []) if call["found"]]
        outcome.errors.append(f"verification found {outcome.verified_wrong} wrong: {found[:3]}")
    if mode != "natural" and kind in (None, "plain") and calls >= 100 and outcome.routed < calls // 4:
        outcome.errors.append(f"only {outcome.routed} of {outcome.calls} calls were routed")
    if mode in SOME_LEVELS and kind in (None, "plain") and calls >= 500:
        if not any(account.levels for account in accounts.values()):
            outcome.errors.append("nothing was computed by levels")
    return outcome


def table(outcomes: dict[str, Outcome]) -> None:
    rows = []
    for mode, o in outcomes.items():
        of_blas = [x for name, x in o.worst.items() if not name.endswith("qr") and not name.endswith("qrf")]
        of_qr = [x for name, x in o.worst.items() if name.endswith("qr") or name.endswith("qrf")]
        rows.append((mode, o.calls, o.routed, o.distrusted, o.failed, max(of_blas, default=0.0), max(of_qr, default=0.0),
                     round(o.seconds)))
    harness.print_table(("mode", "calls", "routed", "distrusted", "wrong", "worst BLAS", "worst QR", "seconds"), rows)


def body() -> bool:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--calls", type=int, default=10000, help="in all modes together")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--first", type=int, default=0, help="number of the first call of each mode")
    parser.add_argument("--mode", choices=MODES, action="append", help="only this one; may be given more than once")
    parser.add_argument("--kind", help="only such calls: plain, special, extreme, invalid, rounded, flushed, trapped")
    parser.add_argument("--cxx", default="c++")
    arguments = parser.parse_args()
    modes = arguments.mode or list(MODES)
    outcomes = {}
    with harness.scratch() as directory:
        bench = Bench(arguments.build.resolve(), Path(directory), arguments.cxx)
        program = bench.program("differential")
        print(f"seed {arguments.seed}, {arguments.calls} calls from {arguments.first} on", flush=True)
        for mode in modes:
            end = arguments.first + share(arguments.calls, mode, modes)
            outcomes[mode] = Outcome()
            for first in range(arguments.first, end, PROCESS):
                calls = min(PROCESS, end - first)
                done = measure(bench, program, mode, arguments.seed, first, calls, arguments.kind)
                outcomes[mode].add(done)
                for line in done.errors:
                    print(f"{mode}: {line}", flush=True)
            table({mode: outcomes[mode]})
    table(outcomes)
    return not any(outcome.errors or outcome.failed for outcome in outcomes.values())


if __name__ == "__main__":
    harness.main(body)
