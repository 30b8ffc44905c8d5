#!/usr/bin/env python3
"""Copies of operands stay on the device between calls, and none of them is ever stale: `run.py TEST`.

The program (torture.cpp) checks every product itself. Here it runs with copies kept always, when they seem worth it,
and never; the reports must say that calls were routed and that copies were used. Before that, its checks are proved:
each of its writers in turn is hidden from copies that it keeps itself, and it has to notice.

Where blaslift says that it cannot keep copies on this machine the results must be right all the same, and the test
counts as skipped, unless the environment variable BLASLIFT_TEST_NEEDS_RESIDENCY is set.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS), str(TESTS / "promises")]
import harness
from harness import Preload, Run, Skip
from setting import SANITIZER_OPTIONS

LEAST_SPARED = 0.2
"""The share of the operands' and results' bytes that copies must save where they are always kept."""

LEAST_SPARED_DEALT = 0.04
"""The same where calls are dealt out: what one device writes lies on pages of which others have copies."""

LEAST_STEPS = 2500
"""Of a test under a sanitizer, which takes a twentieth of the steps, but no fewer: each thread needs some."""

ENOUGH = "64M"
"""Device memory for all arenas of one thread."""

SCARCE = "2M"
"""Device memory for a few operands: copies make way for others, products go in blocks."""

UNKNOWN = "off: this library does not know of it"


@dataclass(frozen=True)
class Case:
    residency: str
    memory: str
    share: float  # of the steps
    seeds: int = 1
    devices: int = 1


ALONE = (
    Case("always", ENOUGH, 1.0, seeds=3),
    Case("always", SCARCE, 0.15),
    Case("auto", ENOUGH, 0.15),
    Case("off", ENOUGH, 0.05),
)
THREADS = (
    Case("always", "512M", 1.0, seeds=2),
    Case("always", SCARCE, 0.2),
    Case("auto", "512M", 0.2),
)
PLACES = (Case("always", ENOUGH, 1.0, seeds=2, devices=3), Case("always", SCARCE, 0.2, devices=2))
"""Calls dealt out over several devices, each of which keeps copies."""

# In the long run 2.5 times as many: over 100,000 steps with pages of either size.
TESTS_BY_NAME = {
    "torture.small": (ALONE, 30_000, ("pages=small",)),
    "torture.huge": (ALONE, 30_000, ("pages=huge",)),
    "threads": (THREADS, 16_000, ("threads=16",)),
    "places": (PLACES, 10_000, ("pages=small",)),
    "places.threads": (PLACES, 4_000, ("threads=16",)),
}


class Torture:
    def __init__(self, arguments: argparse.Namespace) -> None:
        self.program = arguments.program.resolve(strict=True)
        self.library = arguments.lib.resolve(strict=True)
        self.backend = arguments.backend
        self.scale = arguments.scale
        if arguments.blas:
            self.environment = {"LD_LIBRARY_PATH": str(arguments.blas.resolve(strict=True))}
        else:
            self.environment = self.installed_blas()
        self.environment |= SANITIZER_OPTIONS

    @staticmethod
    def installed_blas() -> dict[str, str]:
        """OpenBLAS where there is one: the host backend computes with it, too."""
        try:
            return harness.provider_environment("openblas")
        except Skip:
            return harness.provider_environment("reference")

    def run(self, *arguments: str, preload: Preload | None = None, timeout: float = 240) -> Run:
        command = [self.program, *arguments]
        return harness.run(command, environment=self.environment, preload=preload, timeout=timeout)

    def run_preloaded(self, case: Case, *arguments: str) -> Run:
        preload = Preload.forced(self.library, self.backend)
        preload.settings.update(BLASLIFT_RESIDENCY=case.residency, BLASLIFT_MEMORY=case.memory, BLASLIFT_DEVICES=str(case.devices))
        return self.run(*arguments, f"scale={self.scale}", preload=preload)


def told(run: Run) -> dict:
    """What the program says that it did."""
    lines = [line for line in run.stdout.splitlines() if line.startswith('{"steps"')]
    return json.loads(lines[-1]) if lines else {"products": 0, "failed_moves": 0, "writers": {}}


def prove(torture: Torture, *arguments: str) -> list[str]:
    """Each writer that is hidden from the copies is found out, and nothing is if none is hidden."""
    errors = []
    run = torture.run("fault=none", "steps=2000", *arguments)
    if run.status != 0:
        errors.append(f"nothing was hidden, and yet status {run.status}: {run.stdout}{run.stderr}")
    proved = 0
    for writer in ["outside", *torture.run("writers").stdout.splitlines()]:
        run = torture.run(f"fault={writer}", "steps=60000", *arguments)
        proved += run.status == 1 and run.stdout.startswith("WRONG: ")
        if run.status == 0 and not told(run)["writers"].get(writer, [0])[0]:
            print(f"not to be had on this machine: {writer}")
        elif run.status != 1 or not run.stdout.startswith("WRONG: "):
            errors.append(f"{writer} was hidden, and yet status {run.status}: {run.stdout[-200:]}{run.stderr}")
    if proved < 20:
        errors.append(f"only {proved} writers were hidden and found out")
    return errors


def moved_and_spared(reports: list[dict]) -> tuple[int, int]:
    routines = [counters for report in reports for counters in report["routines"].values()]
    moved = sum(counters["bytes_in"] + counters["bytes_out"] for counters in routines)
    return moved, sum(counters.get("bytes_spared", 0) for counters in routines)


def case_errors(torture: Torture, case: Case, run: Run) -> tuple[list[str], tuple, str]:
    """What is wrong with a run, its row of the table, and what it says of residency."""
    strange = (line for line in run.stderr.splitlines() if "BLASLIFT_RESIDENCY is not a variable" not in line)
    errors = [f"stderr: {line}" for line in strange]
    if run.status != 0 or not run.stdout.endswith("ok\n"):
        errors += [f"status {run.status}", *run.stdout.splitlines()]
    account = harness.accounts(run.reports)
    errors += harness.bookkeeping_errors(account, forced=True) + harness.backend_errors(run.reports, torture.backend)
    did = told(run)
    routed = sum(a.routed for a in account.values())
    if not did["products"]:
        errors.append("no step led to a product")
    if sum(a.calls for a in account.values()) != did["products"] or routed < 0.9 * did["products"] or not routed:
        errors.append(f"{did['products']} products, reported {account}")
    dealt = sum(a.dealt for a in account.values())
    if (dealt > 0) != (case.devices > 1):
        errors.append(f"{dealt} of {routed} products were dealt out over {case.devices} devices")
    states = {report.get("residency", UNKNOWN) for report in run.reports}
    state = ", ".join(sorted(states))
    moved, spared = moved_and_spared(run.reports)
    share = spared / max(moved + spared, 1)
    if case.residency == "off" and spared:
        errors.append(f"residency is off, and yet {spared} bytes were spared")
    if case.residency == "always" and case.memory != SCARCE and state == "on" and share < (LEAST_SPARED_DEALT if case.devices > 1 else LEAST_SPARED):
        errors.append(f"only {share:.1%} of {moved + spared} bytes were spared")
    writes = sum(done for done, _ in did["writers"].values())
    row = (case.residency, case.memory, did["products"], routed, writes, did["failed_moves"], f"{share:.1%}", state)
    return errors, row, state


def body() -> bool:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("test", choices=sorted(TESTS_BY_NAME))
    parser.add_argument("--lib", type=Path, required=True, help="libblaslift.so")
    parser.add_argument("--program", type=Path, required=True, help="the program built of torture.cpp")
    parser.add_argument("--backend", default="host", choices=("host", "cuda"))
    parser.add_argument("--blas", type=Path, help="folder of the libblas.so.3 underneath")
    parser.add_argument("--steps", type=int, help="steps with copies always kept; the other modes take a part of it")
    parser.add_argument("--scale", type=float, help="of the matrices' rows and columns")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sanitizer", default="", help="what everything here was built with")
    arguments = parser.parse_args()
    cases, steps, options = TESTS_BY_NAME[arguments.test]
    if arguments.scale is None:
        arguments.scale = 1.5 if arguments.test.startswith("torture") else 1.0
    steps = int(2.5 * steps) if harness.AT_LENGTH else steps
    steps = arguments.steps or (max(steps // 20, LEAST_STEPS) if arguments.sanitizer else steps)
    torture = Torture(arguments)

    errors: list[str] = []
    if arguments.test.startswith("torture") and not arguments.sanitizer:
        errors += prove(torture, *options)
    rows, refused = [], set()
    for case in cases:
        for seed in range(arguments.seed, arguments.seed + case.seeds):
            settings = (f"steps={int(steps * case.share / case.seeds)}", f"seed={seed}")
            run = torture.run_preloaded(case, *settings, *options)
            found, row, state = case_errors(torture, case, run)
            errors += [f"{case.residency}, {case.memory}, seed {seed}: {error}" for error in found]
            rows.append(row)
            if case.residency == "always" and state != "on":
                refused.add(state or "no report")
    head = ("residency", "memory", "products", "routed", "writes", "failed moves", "spared", "state")
    harness.print_table(head, rows)
    print("\n".join(errors[:60]))
    if refused and os.environ.get("BLASLIFT_TEST_NEEDS_RESIDENCY"):
        errors.append(f"residency is {refused}")
        print(errors[-1])
    elif refused and not errors:
        raise Skip(f"every product was right, but residency is {', '.join(sorted(refused))}")
    return not errors


if __name__ == "__main__":
    harness.main(body)
