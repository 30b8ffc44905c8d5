#!/usr/bin/env python3
"""The netlib testers of BLAS and LAPACK, unmodified, must say the same with blaslift in front as without.

Three modes, each compared with the same run without blaslift:

natural  As a user has it. At the testers' sizes nothing is worth routing, so everything that a tester prints or
         writes must be identical, times aside, and the counters must say that nothing was routed.
forced   Every gemm with something to multiply goes to the backend. The verdict lines must be identical: what
         passed, what failed, how many tests ran and how many exceeded the threshold. (Over OpenBLAS some testers
         fail by themselves; then they must fail alike.) Testers without such a gemm must print the same throughout.
         The counters must prove that the forced route ran.
blocks   As forced, with so little device memory that the larger products are cut into several blocks; only the
         large inputs run.

What the counters must say, besides the bookkeeping rules in harness.py: a BLAS tester's own count of its valid gemm
calls, its input's count of calls with work, and the bytes that these move, are all met exactly. For LAPACK testers,
which do not say what they call, gemm must have been routed at all where the tester is known to need it.
"""

from __future__ import annotations

import argparse
import difflib
import re
import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import harness
from cases import Case, blas_cases, lapack_cases
from harness import INVALID_ARGUMENTS, NO_ROUTE, NOTHING_TO_MULTIPLY, Account, Preload, Run
from transcript import calls_told, in_short, transcript, verdicts

SCARCE_MEMORY = 16384
"""Device memory for `blocks`: at m = n = k = 65 not even three single-precision matrices fit."""


@dataclass(frozen=True)
class Finding:
    """A case in one mode: the row of the table, and what is wrong."""

    row: tuple
    errors: list[str]


class Baseline:
    """A case without blaslift, run when first needed, and again when the outcome with blaslift differs.

    A tester whose own verdict is not steady must not count against blaslift: agreeing with any of three runs is
    agreeing.
    """

    RUNS = 3

    def __init__(self, case: Case, environment: dict[str, str]):
        self._case = case
        self._environment = environment
        self._seen: list[list[str]] = []

    def __getitem__(self, index: int) -> list[str]:
        while len(self._seen) <= index:
            self._seen.append(transcript(execute(self._case, self._environment)))
        return self._seen[index]

    def difference(self, ours: list[str], view) -> list[str]:
        """A unified diff from the baseline to `ours`, as `view` shows both; empty if some baseline run agrees."""
        for index in range(self.RUNS):
            if view(self[index]) == view(ours):
                return []
        return list(difflib.unified_diff(view(self[0]), view(ours), "without", "with blaslift", lineterm="", n=1))


def execute(case: Case, environment: dict[str, str], preload: Preload | None = None) -> Run:
    return harness.run([case.program], stdin=case.stdin, environment=environment, preload=preload)


def identity(lines: list[str]) -> list[str]:
    return lines


def expected_calls_errors(case: Case, lines: list[str], total: dict[str, Account]) -> list[str]:
    """The tester called what it is about, and a BLAS tester at least as often as it says itself."""
    errors = []
    if case.gemm is None and case.passes_through is None and case.suite == "blas" and total:
        errors.append(f"calls no routine of ours, and yet there are counters: {total}")
    for routine in filter(None, (case.gemm, case.passes_through)):
        told = calls_told(lines, routine) if case.suite == "blas" else 1
        counted = total.get(routine, Account()).calls
        if told is not None and counted < told:
            errors.append(f"{routine}: the tester called it {told} times, we counted {counted}")
    if case.suite == "blas" and case.gemm and calls_told(lines, case.gemm) is None:
        errors.append(f"{case.gemm}: the tester does not say that it passed")
    return errors


def natural_errors(total: dict[str, Account]) -> list[str]:
    return [f"{name}: {a.routed} calls of this size were routed" for name, a in total.items() if a.routed]


def forced_errors(case: Case, total: dict[str, Account], *, blocks: bool) -> list[str]:
    """The forced route ran: for exactly the calls with work where these are known, else at all."""
    if case.gemm is None:
        return []
    gemm = total.get(case.gemm, Account())
    if case.gemm_input is None:
        return [] if gemm.routed else [f"{case.gemm}: forced, and yet nothing was routed"]
    work = case.gemm_input
    checks = [
        ("valid calls", gemm.calls - gemm.stayed[INVALID_ARGUMENTS], work.calls),
        ("calls routed", gemm.routed, work.calls_with_work),
        ("calls with nothing to multiply", gemm.stayed[NOTHING_TO_MULTIPLY], work.calls - work.calls_with_work),
        ("bytes out", gemm.bytes_out, work.bytes_out),
    ]
    if not blocks:
        checks.append(("bytes in", gemm.bytes_in, work.bytes_in))
    errors = [f"{case.gemm}: {what}: {got}, not {wanted}" for what, got, wanted in checks if got != wanted]
    # A product cut into several blocks of C reads a block of A or B more than once.
    if blocks and gemm.bytes_in <= work.bytes_in:
        errors.append(f"{case.gemm}: {gemm.bytes_in} bytes in: no product was cut into blocks")
    return errors


def no_route_errors(total: dict[str, Account]) -> list[str]:
    """A routine without a route says just that, whatever its arguments."""
    return [
        f"{name}: stayed for {dict(account.stayed)}, not only for {NO_ROUTE!r}"
        for name, account in total.items()
        if name not in harness.GEMMS and set(account.stayed) != {NO_ROUTE}
    ]


def starts(lines: list[str]) -> bool:
    """Whether the tester starts at all: over Debian's OpenBLAS some CBLAS testers lack a symbol (RowMajorStrg)."""
    return not any("symbol lookup error" in line for line in lines)


def check(case: Case, mode: str, baseline: Baseline, environment: dict[str, str], arguments) -> Finding:
    """Run `case` behind blaslift in `mode` and compare."""
    preload = {
        "natural": Preload.natural(arguments.lib),
        "forced": Preload.forced(arguments.lib, arguments.backend, harness.FORCED_MEMORY),
        "blocks": Preload.forced(arguments.lib, arguments.backend, SCARCE_MEMORY),
    }[mode]
    run = execute(case, environment, preload)
    ours = transcript(run)
    total = harness.accounts(run.reports)
    forced = mode != "natural"
    routed = any(account.routed for account in total.values())
    errors = baseline.difference(ours, verdicts if routed else identity)
    if starts(baseline[0]):
        errors += expected_calls_errors(case, ours, total)
        errors += harness.bookkeeping_errors(total, forced=forced)
        if forced:
            errors += forced_errors(case, total, blocks=mode == "blocks")
            errors += no_route_errors(total)
            errors += harness.backend_errors(run.reports, arguments.backend)
        else:
            errors += natural_errors(total)
    gemm = [total[name] for name in harness.GEMMS if name in total]
    others = sum(account.calls for name, account in total.items() if name not in harness.GEMMS)
    counts = (sum(a.calls for a in gemm), sum(a.routed for a in gemm), others)
    row = (case.name, mode, in_short(baseline[0]), in_short(ours), *counts, "DIFFERS" if errors else "same")
    return Finding(row, errors)


def runs_in(case: Case, mode: str) -> bool:
    """Blocks need the large inputs. LAPACK's large ones take long, and run in this mode only."""
    if mode == "blocks":
        return case.large and case.gemm is not None
    return not (case.large and case.suite == "lapack")


def select_cases(suite: str, precisions: str, only: str | None) -> list[Case]:
    cases = {"blas": blas_cases, "lapack": lapack_cases}[suite](precisions)
    return [case for case in cases if only is None or re.search(only, case.name)]


def report(findings: list[Finding]) -> None:
    head = ("tester", "mode", "without blaslift", "with", "gemm calls", "routed", "other calls", "verdict")
    harness.print_table(head, [finding.row for finding in findings])
    for finding in findings:
        if finding.errors:
            print(f"\n{finding.row[0]} ({finding.row[1]}):")
            shown = finding.errors[:40]
            print("\n".join(f"  {line}" for line in shown))
            if len(shown) < len(finding.errors):
                print(f"  ... and {len(finding.errors) - len(shown)} lines more")
    wrong = sum(bool(finding.errors) for finding in findings)
    print(f"\n{len(findings)} runs, {wrong} with differences")


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--lib", type=Path, required=True, help="libblaslift.so")
    parser.add_argument("--mode", nargs="+", choices=("natural", "forced", "blocks"), default=["natural", "forced"])
    parser.add_argument("--provider", choices=sorted(harness.PROVIDERS), default="reference")
    parser.add_argument("--suite", choices=("blas", "lapack"), default="blas")
    parser.add_argument("--backend", choices=("host", "cuda"), default="host", help="where forced calls go")
    parser.add_argument("--precisions", default="sdcz", help='some of "sdcz"')
    parser.add_argument("--only", metavar="REGEX", help='cases whose name ("xblat3d < dblat3.in") matches')
    return parser.parse_args(arguments)


def body() -> bool:
    arguments = parse()
    arguments.lib = arguments.lib.resolve(strict=True)
    environment = harness.provider_environment(arguments.provider)
    cases = select_cases(arguments.suite, arguments.precisions, arguments.only)
    harness.check_provider(cases[0].program, arguments.provider)
    findings = []
    for case in cases:
        baseline = Baseline(case, environment)
        for mode in arguments.mode:
            if runs_in(case, mode):
                findings.append(check(case, mode, baseline, environment, arguments))
    report(findings)
    return bool(findings) and not any(finding.errors for finding in findings)


if __name__ == "__main__":
    harness.main(body)
