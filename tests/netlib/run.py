#!/usr/bin/env python3
"""The netlib testers of BLAS and LAPACK, unmodified, must say the same with blaslift in front as without.

Five modes, each compared with the same run without blaslift:

natural  As a user has it. At the testers' sizes nothing is worth routing, so everything that a tester prints or
         writes must be identical, times aside, and the counters must say that nothing was routed.
forced   Every gemm, syrk, herk, syr2k, her2k, symm, hemm, trmm, trsm, gemv, symv and hemv with something to multiply goes to the
         backend (of LAPACK's testers, which make millions of small calls of gemv, that stays), and so do factorisations
         and systems by LU and Cholesky whose matrix has such factors, and eigenproblems, generalized ones too, by all
         drivers. The verdict lines must be
         identical: what passed, what failed, how many tests ran and how many exceeded the threshold. (Over OpenBLAS some
         testers fail by themselves; then they must fail alike.) Testers without such a call must print the same throughout.
         The counters must prove that the forced route ran.
qr       As forced, but the routines of QR instead: what they call themselves stays. Runs the linear equation testers on
         their own inputs, which take all kinds of matrices, and on QR at sizes of several blocks, and asserts that every
         call with something to do was routed.
blocks   As forced, with so little device memory that the larger products are cut into several blocks; only the
         large inputs run.
levels   As forced, but gemm alone: by one, then two levels of Strassen's algorithm (see --levels) wherever these fit. Strassen's
         is accurate normwise, not element by element as some testers ask; so in the cases that cases.py lists
         (NORMWISE, with reasons), and only there, the verdicts on the listed routines must differ. They are not
         just waved through: levels_check.cpp stands in front and compares every product with one in higher
         precision, and none, listed or not, may be farther from it than the theory's bound. A textbook Strassen,
         which shares no code with the library, must exceed the BLAS testers' threshold in the same run; and a
         tester that is given the textbook's results instead of the library's must find fault with the same
         routines. The testers of level 3 BLAS run, and those of LAPACK that take seconds, not minutes.

What the counters must say, besides the bookkeeping rules in harness.py: a BLAS tester's own count of its valid gemm
calls, its input's count of calls with work, and the bytes that these move, are all met exactly. For LAPACK testers,
which do not say what they call, gemm must have been routed at all where the tester is known to need it.
"""

from __future__ import annotations

import argparse
import difflib
import json
import re
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import harness
from cases import Case, blas_cases, lapack_cases, normwise
from harness import INVALID_ARGUMENTS, NOTHING_TO_MULTIPLY, OF_LIBRARY, WORKSPACE_QUERY, Account, Preload, Run
from transcript import by_subject, calls_told, in_short, no_worse, ratio_told, transcript, verdicts

SCARCE_MEMORY = 16384
"""Device memory for `blocks`: at m = n = k = 65 not even three single-precision matrices fit."""


NOT_OF_LAPACK = harness.GEMVS
"""What LAPACK's testers call so often that forcing it takes too long."""

FORCED = harness.BLAS + harness.TRTRSS + harness.INVERSES + harness.POTRFS + harness.SYSTEMS + harness.EIGENS + harness.SYGVS + harness.SYGSTS + harness.SYTRDS + harness.GEHRDS + harness.GEBRDS + harness.SVDS + harness.LEAST_SQUARES + harness.CONDITIONS + harness.ORMLQS + harness.GEQP3S + harness.LQS + harness.REDUCTION_QS
"""What is in `forced`. geev has general_eigen.py: its tester wants the bits of calls that stay."""

QR_MEMORY = 16 << 20
"""Device memory for `qr`: enough for every matrix."""

MODES = ("natural", "forced", "qr", "blocks", "levels")

LEVELS_MEMORY = 4 << 20
"""Device memory for `levels`, which take more than the operands: enough for every product."""

THRESHOLD = 16.0
"""The ratio at which the level 3 BLAS testers call a result suspect, in every input."""


@dataclass(frozen=True)
class Finding:
    """A case in one mode: the row of the table, and what is wrong."""

    row: tuple
    errors: list[str]
    notes: list[str] = field(default_factory=list)


DEALT = ("gemm", "symm", "hemm", "syrk", "herk", "trmm", "trsm")
"""Routines whose calls fall into parts, and of which testers make large enough ones."""


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
        """A unified diff from the baseline to `ours`, as `view` shows both; empty if some baseline run agrees, or finds
        fault with more of the same."""
        for index in range(self.RUNS):
            if no_worse(view(self[index]), view(ours)):
                return []
        return list(difflib.unified_diff(view(self[0]), view(ours), "without", "with blaslift", lineterm="", n=1))


def execute(case: Case, environment: dict[str, str], preload: Preload | None = None) -> Run:
    return harness.run([case.program], stdin=case.stdin, environment=environment, preload=preload)


def identity(lines: list[str]) -> list[str]:
    return lines


def expected_calls_errors(case: Case, lines: list[str], total: dict[str, Account]) -> list[str]:
    """The tester called what it is about, and a BLAS tester at least as often as it says itself."""
    errors = []
    routines = [routine for routine in (case.gemm, *case.vectors, *case.beside, *case.qr, *case.solves) if routine]
    errors += [f"{routine}: not counted" for routine in case.copies if not total.get(routine, Account()).calls]
    total = {name: account for name, account in total.items() if name not in case.copies}
    if not routines and case.suite == "blas" and total:
        errors.append(f"calls no routine of ours, and yet there are counters: {total}")
    for routine in routines:
        told = calls_told(lines, routine) if case.suite == "blas" else 1
        counted = total.get(routine, Account()).calls
        if told is not None and counted < told:
            errors.append(f"{routine}: the tester called it {told} times, we counted {counted}")
    if case.suite == "blas" and case.gemm and calls_told(lines, case.gemm) is None:
        errors.append(f"{case.gemm}: the tester does not say how often it called it")
    return errors


def natural_errors(total: dict[str, Account]) -> list[str]:
    return [f"{name}: {a.routed} calls of this size were routed" for name, a in total.items() if a.routed]


def forced_errors(case: Case, total: dict[str, Account], *, blocks: bool = False, levels: int = 0) -> list[str]:
    """The forced route ran: for exactly the calls with work where these are known, else at all."""
    if case.vectors:
        return [error for name in case.vectors for error in all_routed_errors(name, total)]
    if case.gemm is None:
        return []
    if not levels and (errors := [error for name in case.beside for error in all_routed_errors(name, total)]):
        return errors
    gemm = total.get(case.gemm, Account())
    if case.gemm_input is None:
        errors = [] if gemm.routed else [f"{case.gemm}: forced, and yet nothing was routed"]
        # Error exits, empty matrices, and those without such factors are no more than the others.
        for name in () if blocks or levels else case.solves:
            account = total.get(name, Account())
            calls = account.calls - account.stayed[WORKSPACE_QUERY]
            if account.routed < case.share * calls or not account.routed:
                errors.append(f"{name}: only {account.routed} of {calls} calls routed: {dict(account.stayed)}")
        return errors
    work = case.gemm_input
    checks = [
        ("valid calls", gemm.calls - gemm.stayed[INVALID_ARGUMENTS], work.calls),
        ("calls routed", gemm.routed, work.calls_with_work),
        ("calls with nothing to multiply", gemm.stayed[NOTHING_TO_MULTIPLY], work.calls - work.calls_with_work),
        ("bytes out", gemm.bytes_out, work.bytes_out),
    ]
    if levels:
        by_levels = sum(gemm.levels.values()) + gemm.distrusted
        checks.append(("calls by levels, distrusted ones included", by_levels, work.calls_with_levels))
    if not blocks and not gemm.distrusted:  # which are moved twice
        checks.append(("bytes in", gemm.bytes_in, work.bytes_in))
    errors = [f"{case.gemm}: {what}: {got}, not {wanted}" for what, got, wanted in checks if got != wanted]
    # A product cut into several blocks of C, here or by being dealt out, reads a block of A or B more than once.
    if blocks and gemm.bytes_in <= work.bytes_in:
        errors.append(f"{case.gemm}: {gemm.bytes_in} bytes in: no product was cut into blocks")
    return errors


def all_routed_errors(name: str, total: dict[str, Account]) -> list[str]:
    """All valid calls with something to multiply were routed, and these are a good part."""
    account = total.get(name, Account())
    errors = []
    if set(account.stayed) - {INVALID_ARGUMENTS, NOTHING_TO_MULTIPLY}:
        errors.append(f"{name}: stayed for {dict(account.stayed)}")
    # Of three alphas one is zero, and of six sizes or so one.
    if account.routed < 0.4 * account.calls or not account.bytes_out:
        errors.append(f"{name}: only {account.routed} of {account.calls} calls routed")
    return errors


def qr_errors(case: Case, total: dict[str, Account]) -> list[str]:
    """All valid calls of QR's routines with something to do were routed, and these are a good part."""
    errors = []
    for name in case.qr:
        account = total.get(name, Account())
        of_library = {OF_LIBRARY} if name.endswith("gemqr") else set()  # of error exits, and of nothing
        if set(account.stayed) - {INVALID_ARGUMENTS, NOTHING_TO_MULTIPLY, WORKSPACE_QUERY} - of_library:
            errors.append(f"{name}: stayed for {dict(account.stayed)}")
        # Most calls of geqr and gemqr are queries and error exits.
        least = 0.4 if case.qr_alone and not name.endswith(("geqr", "gemqr")) else 0.1
        if account.routed < least * account.calls or not account.bytes_out:
            errors.append(f"{name}: only {account.routed} of {account.calls} calls routed")
    for name, account in total.items():
        if name not in harness.QRS and account.routed:
            errors.append(f"{name}: {account.routed} calls routed, which were not forced")
    return errors


def starts(lines: list[str]) -> bool:
    """Whether the tester starts at all: over Debian's OpenBLAS some CBLAS testers lack a symbol (RowMajorStrg)."""
    return not any("symbol lookup error" in line for line in lines)


def counts(total: dict[str, Account]) -> tuple[int, int, int]:
    """For the table: calls of what has a route, those routed, and calls of anything else."""
    routed = [total[name] for name in harness.ROUTED if name in total]
    others = sum(account.calls for name, account in total.items() if name not in harness.ROUTED)
    return sum(a.calls for a in routed), sum(a.routed for a in routed), others


def check(case: Case, mode: str, baseline: Baseline, environment: dict[str, str], arguments) -> Finding:
    """Run `case` behind blaslift in `mode` and compare."""
    routines = {"qr": harness.QRS, "blocks": harness.BLAS}.get(mode, FORCED)
    if case.suite != "blas":
        routines = tuple(name for name in routines if name not in NOT_OF_LAPACK)
    memory = {"qr": QR_MEMORY, "blocks": SCARCE_MEMORY}.get(mode, harness.FORCED_MEMORY)
    preload = (
        Preload.natural(arguments.lib)
        if mode == "natural"
        else Preload.forced(arguments.lib, arguments.backend, memory, routines)
    )
    forced = mode != "natural"
    if forced and arguments.verify:
        preload = Preload(preload.library, preload.settings | {"BLASLIFT_VERIFY": "all"})
    if arguments.devices:
        preload = Preload(preload.library, preload.settings | {"BLASLIFT_DEVICES": str(arguments.devices)})
    run = execute(case, environment, preload)
    ours = transcript(run)
    total = harness.accounts(run.reports)
    routed = any(account.routed for account in total.values())
    errors = baseline.difference(ours, verdicts if routed else identity)
    if starts(baseline[0]):
        errors += expected_calls_errors(case, ours, total)
        errors += harness.bookkeeping_errors(total, forced=forced, routines=routines)
        if mode == "qr":
            errors += qr_errors(case, total)
        elif forced:
            errors += forced_errors(case, total, blocks=mode == "blocks" or arguments.devices is not None)
        if forced:
            errors += harness.backend_errors(run.reports, arguments.backend)
            if routed and arguments.verify:
                errors += harness.checked_errors(run.reports)
            if routed and arguments.devices:
                errors += [f"{name}: nothing was dealt out over devices" for name, account in total.items()
                           if name[1:] in DEALT and account.routed and not account.dealt]  # fmt: skip
        else:
            errors += natural_errors(total)
    row = (case.name, mode, in_short(baseline[0]), in_short(ours), *counts(total), "DIFFERS" if errors else "same")
    return Finding(row, errors)


@dataclass(frozen=True)
class Judged:
    """What levels_check says of a run, by routine, and what of the tester differs from the baseline."""

    lines: list[str]
    reports: list[dict[str, Any]]
    routines: dict[str, dict[str, Any]]
    differing: set[str]


def judged(
    case: Case,
    levels: int,
    baseline: Baseline,
    environment: dict[str, str],
    arguments: argparse.Namespace,
    *,
    textbook: bool = False,
) -> Judged:
    """Run `case` by levels behind levels_check; the tester is given the library's results, or the textbook's."""
    with tempfile.TemporaryDirectory(prefix="blaslift-levels-") as scratch:
        path = Path(scratch, "check.jsonl")
        settings = {"BLASLIFT_STRASSEN": str(levels), "LEVELS_CHECK_REPORT": str(path)}
        if textbook:
            settings["LEVELS_CHECK_ANSWER"] = "textbook"
        forced = Preload.forced(arguments.lib, arguments.backend, LEVELS_MEMORY, harness.GEMMS)
        preload = Preload(arguments.lib, forced.settings | settings, in_front=(arguments.levels_check,))
        run = execute(case, environment, preload)
        routines: dict[str, dict[str, Any]] = {}
        for line in path.read_text().splitlines() if path.exists() else []:
            routines |= json.loads(line)
    lines = transcript(run)
    ours, theirs = by_subject(lines), by_subject(baseline[0])
    differing = {subject for subject in ours | theirs if ours.get(subject) != theirs.get(subject)}
    return Judged(lines, run.reports, routines, differing)


def bound_errors(checked: Judged) -> list[str]:
    """Every product lies within the bound of theory; so do the textbook's, or the bound would be a wrong one."""
    errors = []
    if not sum(routine["with_levels"] for routine in checked.routines.values()):
        errors.append(f"no product large enough for a level was checked: {checked.routines}")
    for name, routine in checked.routines.items():
        if routine["violations"]:
            worst = f"at worst {routine['bound']} times, first {routine['first']}"
            errors.append(f"{name}: {routine['violations']} products outside the normwise bound, {worst}")
        if routine["textbook_violations"]:
            errors.append(f"{name}: the textbook exceeds the bound {routine['textbook_bound']} times")
    return errors


def listed_errors(
    case: Case,
    levels: int,
    checked: Judged,
    baseline: Baseline,
    environment: dict[str, str],
    arguments: argparse.Namespace,
) -> list[str]:
    """The verdicts that differ are those listed, and the textbook's differ as well."""
    listed = normwise(case, levels)
    errors = [f"{subject!r} differs and is not listed" for subject in sorted(checked.differing - listed)]
    if arguments.provider == "reference":  # another's leaves err less, or more, by the processor that they are on
        errors += [f"{subject!r} is listed and does not differ" for subject in sorted(listed - checked.differing)]
    if errors:
        errors += baseline.difference(checked.lines, verdicts)
    for name, routine in checked.routines.items():
        if case.suite == "blas" and name in listed and routine["checked"] and routine["textbook_ratio"] < THRESHOLD:
            errors.append(f"{name}: listed, but the textbook's largest ratio is {routine['textbook_ratio']}")
        told = ratio_told(checked.lines, name)
        # The tester compares with a result in the working precision, which has errors of its own.
        if told is not None and abs(told - routine["ratio"]) > THRESHOLD:
            errors.append(f"{name}: the tester's ratio is {told}, ours {routine['ratio']}")
    if listed:
        textbook = judged(case, levels, baseline, environment, arguments, textbook=True)
        errors += [
            f"{subject!r}: the tester finds no fault with the textbook's results"
            for subject in sorted(listed - textbook.differing)
        ]
    return errors


def check_levels(
    case: Case, levels: int, baseline: Baseline, environment: dict[str, str], arguments: argparse.Namespace
) -> Finding:
    """Run `case` by `levels` levels and compare."""
    errors: list[str] = []
    total: dict[str, Account] = {}
    checked = Judged(baseline[0], [], {}, set())
    if starts(baseline[0]):
        checked = judged(case, levels, baseline, environment, arguments)
        total = harness.accounts(checked.reports)
        gemm = total.get(case.gemm or "", Account())
        errors += bound_errors(checked)
        errors += listed_errors(case, levels, checked, baseline, environment, arguments)
        errors += harness.bookkeeping_errors(total, forced=True, routines=harness.GEMMS)
        errors += harness.backend_errors(checked.reports, arguments.backend)
        if not any("abandoned" in said for said in by_subject(checked.lines).values()):
            errors += expected_calls_errors(case, checked.lines, total)
            errors += forced_errors(case, total, levels=levels)
        if not gemm.levels[levels] or set(gemm.levels) - set(range(1, levels + 1)):
            errors.append(f"{case.gemm}: levels {dict(gemm.levels)}, {levels} were asked for")
    verdict = "DIFFERS" if errors else "as listed" if checked.differing else "same"
    row = (case.name, f"levels {levels}", in_short(baseline[0]), in_short(checked.lines), *counts(total), verdict)
    notes = [
        f"{case.name}, levels {levels}, {name}: ratio {r['ratio']:.3g} (anywhere {r['ratio_anywhere']:.3g}), "
        f"textbook {r['textbook_ratio']:.3g} ({r['textbook_ratio_anywhere']:.3g}); "
        f"{r['bound']:.2g} of the bound, textbook {r['textbook_bound']:.2g}; "
        f"{r['with_levels']} of {r['checked']} products with levels"
        for name, r in checked.routines.items()
    ]
    return Finding(row, errors, notes)


def runs_in(case: Case, mode: str) -> bool:
    """Blocks need the large inputs. LAPACK's large ones take long, and run in this mode only."""
    if mode == "levels":
        return case.by_levels
    if mode == "qr":
        return bool(case.qr) and not case.large
    if mode == "blocks":
        return case.large and case.gemm is not None
    return not case.qr_alone and not (case.large and case.suite == "lapack")


def select_cases(suite: str, precisions: str, only: str | None) -> list[Case]:
    cases = {"blas": blas_cases, "lapack": lapack_cases}[suite](precisions)
    return [case for case in cases if only is None or re.search(only, case.name)]


def report(findings: list[Finding]) -> None:
    head = ("tester", "mode", "without blaslift", "with", "calls", "routed", "other calls", "verdict")
    harness.print_table(head, [finding.row for finding in findings])
    for finding in findings:
        if finding.errors:
            print(f"\n{finding.row[0]} ({finding.row[1]}):")
            shown = finding.errors[:40]
            print("\n".join(f"  {line}" for line in shown))
            if len(shown) < len(finding.errors):
                print(f"  ... and {len(finding.errors) - len(shown)} lines more")
    if notes := [note for finding in findings for note in finding.notes]:
        print("\n" + "\n".join(notes))
    wrong = sum(bool(finding.errors) for finding in findings)
    print(f"\n{len(findings)} runs, {wrong} with differences")


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--lib", type=Path, required=True, help="libblaslift.so")
    parser.add_argument("--mode", nargs="+", choices=MODES, default=["natural", "forced"])
    parser.add_argument("--levels", nargs="+", type=int, choices=(1, 2), default=[1, 2], help="in the mode `levels`")
    parser.add_argument("--levels-check", type=Path, help="libblaslift_levels_check.so, for the mode `levels`")
    parser.add_argument("--provider", choices=sorted(harness.PROVIDERS), default="reference")
    parser.add_argument("--suite", choices=("blas", "lapack"), default="blas")
    parser.add_argument("--backend", choices=("host", "cuda"), default="host", help="where forced calls go")
    parser.add_argument("--verify", action="store_true", help="each forced call is checked: BLASLIFT_VERIFY=all")
    parser.add_argument("--devices", type=int, help="over how many of them forced calls are dealt out: BLASLIFT_DEVICES")
    parser.add_argument("--precisions", default="sdcz", help='some of "sdcz"')
    parser.add_argument("--only", metavar="REGEX", help='cases whose name ("xblat3d < dblat3.in") matches')
    parsed = parser.parse_args(arguments)
    if "levels" in parsed.mode and parsed.levels_check is None:
        parser.error("the mode levels needs --levels-check")
    return parsed


def body() -> bool:
    arguments = parse()
    arguments.lib = arguments.lib.resolve(strict=True)
    if arguments.levels_check:
        arguments.levels_check = arguments.levels_check.resolve(strict=True)
    environment = harness.provider_environment(arguments.provider)
    cases = select_cases(arguments.suite, arguments.precisions, arguments.only)
    harness.check_provider(cases[0].program, arguments.provider)
    findings = []
    for case in cases:
        baseline = Baseline(case, environment)
        for mode in arguments.mode:
            if not runs_in(case, mode):
                continue
            if mode == "levels":
                findings += [check_levels(case, n, baseline, environment, arguments) for n in arguments.levels]
            else:
                findings.append(check(case, mode, baseline, environment, arguments))
    report(findings)
    return bool(findings) and not any(finding.errors for finding in findings)


if __name__ == "__main__":
    harness.main(body)
