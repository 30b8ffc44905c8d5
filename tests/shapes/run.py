#!/usr/bin/env python3
"""Programs of every link shape get right results, and blaslift finds the library that each of them has underneath.

The programs (program.c, program.f90) compare every result with plain loops and print what they called. Each runs twice,
as a user has it and with every gemm forced to the host backend, and blaslift's report must say: the library underneath
is the provider's, its integers are as wide as they are, every call was counted exactly once (cblas functions of the
reference and BLIS call their Fortran twins through us), and every forced gemm was routed.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import harness
from harness import LIBRARIES, Preload, Run, Skip

TIMEOUT = 20.0
"""Seconds: every program here takes a few hundredths of one, unless the machine is busy."""

FORCED = {"BLASLIFT_BACKEND": "host", "BLASLIFT_FORCE": "all"}

FOLDERS = {
    32: {
        "reference": ("blas", "lapack"),
        "openblas": ("openblas-pthread",),
        "blis": ("blis-pthread", "lapack"),
    },
    64: {
        "reference": ("blas64", "lapack64"),
        "openblas": ("openblas64-pthread",),
        "blis": ("blis64-pthread", "lapack64"),
    },
}
"""Where Debian keeps each provider's libraries; BLIS has no LAPACK, the reference's serves it."""

NATIVE = {"reference": "libblas64.so.3", "openblas": "libopenblas64.so.0", "blis": "libblis64.so.4"}
"""What the ilp64 programs are linked to; everything else is linked to libblas.so.3 or libblas64.so.3."""


@dataclass(frozen=True)
class Setting:
    """Where everything is: our library, and the test programs."""

    library: Path
    programs: Path

    def program(self, name: str) -> Path:
        return self.programs / name


def environment(provider: str, bits: int) -> dict[str, str]:
    folders = [LIBRARIES / folder for folder in FOLDERS[bits][provider]]
    for folder in folders:
        if not folder.is_dir():
            raise Skip(f"{provider}, {bits} bits: no {folder}")
    return {"LD_LIBRARY_PATH": ":".join(map(str, folders))}


def launch(command: list, variables: dict[str, str], preload: Path | None, settings: dict[str, str]) -> Run:
    """Run with a report, whether or not we are preloaded: a program that is linked to us reports as well."""
    if preload:
        return harness.run(command, environment=variables, preload=Preload(preload, settings), timeout=TIMEOUT)
    run = harness.run(command, environment=variables | {"BLASLIFT_REPORT": "report"} | settings, timeout=TIMEOUT)
    lines = run.files.get("report", "").splitlines()
    return Run(run.status, run.stdout, run.stderr, run.files, [json.loads(line) for line in lines])


def calls_told(run: Run) -> dict[str, int]:
    """What the program (or all its plugins together) says that it called."""
    total: dict[str, int] = {}
    for line in run.stdout.splitlines():
        if line.startswith("calls "):
            for name, calls in json.loads(line.removeprefix("calls ")).items():
                total[name] = total.get(name, 0) + calls
    return total


def outcome_errors(run: Run) -> list[str]:
    """The program's own verdict, and silence on stderr."""
    wrong = [line for line in run.stdout.splitlines() if not line.startswith(("calls ", "ok", "at "))]
    errors = [f"stdout: {line}" for line in wrong] + [f"stderr: {line}" for line in run.stderr.splitlines()]
    return errors + ([f"exit status {run.status}"] if run.status else [])


def report_errors(run: Run, told: dict[str, int], *, library: Path, bits: int, forced: bool) -> list[str]:
    """One process reported, and what it says is what the program did."""
    if len(run.reports) != 1:
        return [f"{len(run.reports)} reports from one process"]
    report = run.reports[0]
    errors = []
    if Path(report["library"]).resolve() != library.resolve():
        errors.append(f"found {report['library']}, not {library}")
    if report["integers"] != bits:
        errors.append(f"{report['integers']}-bit integers, not {bits}")
    total = harness.without_gemv_of_lapack(harness.accounts(run.reports), told)
    for name in sorted(told.keys() | total.keys()):
        counted = total[name].calls if name in total else 0
        if counted != told.get(name, 0):
            errors.append(f"{name}: {told.get(name, 0)} calls, {counted} counted")
        routed = told.get(name, 0) if forced and name in harness.ROUTED else 0
        if routed and name in harness.QRS:  # half of the calls ask for the workspace
            routed //= 2
        if name in total and total[name].routed != routed:
            errors.append(f"{name}: {total[name].routed} routed, not {routed}")
    errors += harness.bookkeeping_errors(total, forced=forced)
    if forced:
        errors += harness.backend_errors(run.reports, "host")
    return errors


def told_errors(run: Run, wanted: set[str]) -> list[str]:
    missing = wanted - calls_told(run).keys()
    return [f"the program does not tell of {sorted(missing)}"] if missing else []


ROUTINES = {"dgemm", "zgemm", "dsymv", "zhemv", "dgeqrf"}


def shape(s: Setting, name: str, language: str, provider: str) -> list[str]:
    """One program of one shape, as a user has it and forced."""
    bits = 64 if name in ("ilp64", "suffixed") else 32
    variables = environment(provider, bits)
    soname = NATIVE[provider] if name == "ilp64" else "libblas64.so.3" if name == "suffixed" else "libblas.so.3"
    program = f"ilp64-{provider}-{language}" if name == "ilp64" else f"{name}-{language}"
    command = [s.program("host"), s.program(f"{program}.so")] if name == "plugin" else [s.program(program)]
    preload = None if name in ("relinked", "suffixed") else s.library
    library = LIBRARIES / FOLDERS[bits][provider][0] / soname

    errors = outcome_errors(harness.run(command, environment=variables)) if preload else []
    errors = [f"without blaslift: {error}" for error in errors]
    for settings in ({}, FORCED):
        run = launch(command, variables, preload, settings)
        found = outcome_errors(run) + told_errors(run, ROUTINES)
        found += report_errors(run, calls_told(run), library=library, bits=bits, forced=bool(settings))
        errors += [f"{'forced' if settings else 'natural'}: {error}" for error in found]
        if run.reports:
            report = run.reports[0]
            print(f"{report['library']} ({report['integers']} bits) found by {report['found_by']}: {calls_told(run)}")
    return errors


def own_dgemm(s: Setting) -> list[str]:
    """A plugin with a dgemm_ of its own beside a plugin, then beside a program, with libblas: each caller gets its own.

    The plugins are opened both ways round, so that neither answer can come from the other's having been found first.
    (Beside a program with libblas the loader would give the plugin libblas, too. A plugin that brings a BLAS means it,
    and one with integers of another width would crash: there we are kinder than the loader.)
    """
    variables = environment("reference", 32)
    own, blas = s.program("caller-own.so"), s.program("plugin-c.so")
    orders = {
        "own first": [s.program("host"), own, blas],
        "libblas first": [s.program("host"), blas, own],
        "program with libblas": [s.program("host-with-blas"), own],
    }
    errors = []
    for order, command in orders.items():
        for settings in ({}, FORCED):
            run = launch(command, variables, s.library, settings)
            found = outcome_errors(run) + told_errors(run, ROUTINES)
            calls = calls_told(run) | {"dgemm": calls_told(run).get("dgemm", 0) + 1}
            total = harness.without_gemv_of_lapack(harness.accounts(run.reports), calls)
            if {name: account.calls for name, account in total.items()} != calls:
                found.append(f"called {calls}, counted {total}")
            errors += [f"{order}, {'forced' if settings else 'natural'}: {error}" for error in found]
    return errors


def link_order(s: Setting) -> list[str]:
    """A program linked to a BLAS of its own choice before LAPACK (as in -lopenblas -llapack): LAPACK's calls reach that
    one, not the BLAS that LAPACK itself is linked to."""
    variables = environment("reference", 32)
    plain = harness.run([s.program("link-order")], environment=variables, timeout=TIMEOUT)
    errors = [] if plain.stdout == "6 calls\n" else [f"without blaslift: {plain.stdout!r} {plain.stderr!r}"]
    for settings in ({}, FORCED | {"BLASLIFT_FORCE": "gemm"}):
        run = launch([s.program("link-order")], variables, s.library, settings)
        found = [] if run.stdout == plain.stdout else [f"{run.stdout!r} instead of {plain.stdout!r}"]
        dgemm = harness.accounts(run.reports).get("dgemm", harness.Account())
        if dgemm.calls != 6:
            found.append(f"counted {dgemm}")
        errors += [f"{'forced' if settings else 'natural'}: {error}" for error in found]
    # The factorisation on the host backend computes its products with that one, too.
    run = launch([s.program("link-order")], variables, s.library, FORCED)
    total = harness.accounts(run.reports)
    if "dgemm" in total or total["dgeqrf"].routed != 1 or int(run.stdout.removesuffix(" calls\n")) < 6:
        errors.append(f"forced: {run.stdout!r} {run.stderr!r}, counted {total}")
    return errors


def unload_and_load(s: Setting) -> list[str]:
    """Plugins of different integer width and library, loaded one after the other where the last one was."""
    paths = FOLDERS[32]["reference"] + FOLDERS[64]["reference"]
    variables = {"LD_LIBRARY_PATH": ":".join(str(LIBRARIES / folder) for folder in paths)}
    callers = [f"-{s.program(name)}" for name in ("caller-32.so", "caller-64.so", "caller-own.so")]
    orders = {
        "32, 64, 32": [callers[0], callers[1], callers[0]],
        "64, 32, 64": [callers[1], callers[0], callers[1]],
        "32, own, 64": [callers[0], callers[2], callers[1]],
        "own, 64, 32, own": [callers[2], callers[1], callers[0], callers[2]],
    }
    errors = []
    reused = 0
    for order, plugins in orders.items():
        for settings in ({}, FORCED):
            run = launch([s.program("host"), *plugins], variables, s.library, settings)
            errors += [f"{order}, {'forced' if settings else 'natural'}: {error}" for error in outcome_errors(run)]
            addresses = [line for line in run.stdout.splitlines() if line.startswith("at ")]
            reused += len(addresses) - len(set(addresses))
    print(f"{reused} plugins came to lie where another had been")
    return errors


def preloaded_blas(s: Setting) -> list[str]:
    """LD_PRELOAD=libblaslift.so:libopenblas.so.0: the program's calls reach what they would without us, OpenBLAS."""
    other = LIBRARIES / "openblas-pthread" / "libopenblas.so.0"
    if not other.exists():
        raise Skip(f"no {other}")
    variables = environment("reference", 32)
    errors = []
    for settings in ({}, FORCED):
        preload = {"LD_PRELOAD": f"{harness.preloads(s.library)}:{other}"}
        run = launch([s.program("preloaded-c")], variables, s.library, settings | preload)
        found = outcome_errors(run)
        found += report_errors(run, calls_told(run), library=other, bits=32, forced=bool(settings))
        errors += [f"{'forced' if settings else 'natural'}: {error}" for error in found]
    return errors


def two_copies(s: Setting) -> list[str]:
    """One copy of blaslift preloaded, one linked: neither takes the other for a BLAS, and calls are counted once."""
    variables = environment("reference", 32)
    library = LIBRARIES / "blas" / "libblas.so.3"
    errors = []
    with tempfile.TemporaryDirectory() as folder:
        for file in s.library.parent.glob("libblaslift*.so"):
            shutil.copy(file, folder)
        for settings in ({}, FORCED):
            run = launch([s.program("relinked-c")], variables, Path(folder, s.library.name), settings)
            found = outcome_errors(run)
            found += report_errors(run, calls_told(run), library=library, bits=32, forced=bool(settings))
            errors += [f"{'forced' if settings else 'natural'}: {error}" for error in found]
    return errors


def no_blas(s: Setting) -> list[str]:
    """Without any BLAS: what the system has; without that, right results by plain loops, and a message that names what was
    looked for. BLASLIFT_FALLBACK supplies one."""
    bare = [s.program("bare")]
    errors = []
    with tempfile.TemporaryDirectory() as folder:
        # Libraries of the usual names with nothing in them.
        for name in ("libblas.so.3", "liblapack.so.3", "libcblas.so.3", "libopenblas.so.0"):
            shutil.copy(s.library.parent / "libblaslift_host.so", Path(folder, name))
        none = {"LD_LIBRARY_PATH": folder}
        for fallback in ({}, {"BLASLIFT_FALLBACK": "/nowhere/libblas.so.3"}):
            for settings in ({}, FORCED):
                run = launch(bare, none | fallback, None, settings)
                for word in ("no BLAS/LAPACK underneath", "dgemm_", "BLASLIFT_FALLBACK", *fallback.values()):
                    if run.stderr.count(word) < 1 or run.stderr.count("underneath") != 1:
                        errors.append(f"the message does not say {word!r} once: {run.stderr!r}")
                if run.status or not calls_told(run):
                    errors.append(f"without a BLAS: status {run.status}, {run.stdout!r}")
                total = harness.accounts(run.reports)
                counted = {name: account.calls for name, account in total.items()}
                if counted != calls_told(run):
                    errors.append(f"without a BLAS: {calls_told(run)} called, {counted} counted")
    system = LIBRARIES / "libblas.so.3"
    run = launch(bare, {}, None, {})
    if system.exists() and (run.status or run.stderr or run.reports[0]["found_by"] != "itself"):
        errors.append(f"the system's BLAS: status {run.status}, {run.stderr!r}, {run.reports}")

    # OpenBLAS in one library with LAPACK, which the program calls as well.
    fallback = LIBRARIES / "openblas-pthread" / "libopenblas.so.0"
    if not fallback.exists():
        raise Skip(f"no {fallback}")
    for settings in ({}, FORCED):
        run = launch(bare, {"BLASLIFT_FALLBACK": str(fallback)}, None, settings)
        found = outcome_errors(run)
        found += report_errors(run, calls_told(run), library=fallback, bits=32, forced=bool(settings))
        if run.reports and run.reports[0]["found_by"] != "BLASLIFT_FALLBACK":
            found.append(f"found by {run.reports[0]['found_by']}")
        errors += [f"fallback, {'forced' if settings else 'natural'}: {error}" for error in found]
    return errors


SHAPES = ("preloaded", "relinked", "plugin", "ilp64", "suffixed")
SINGLE = {test.__name__: test for test in (own_dgemm, link_order, unload_and_load, preloaded_blas, two_copies, no_blas)}


def body() -> bool:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("test", choices=(*SHAPES, *SINGLE))
    parser.add_argument("language", nargs="?", choices=("c", "f90"))
    parser.add_argument("provider", nargs="?", choices=sorted(FOLDERS[32]))
    parser.add_argument("--lib", type=Path, required=True, help="libblaslift.so")
    parser.add_argument("--programs", type=Path, required=True, help="folder of the test programs")
    arguments = parser.parse_args()
    setting = Setting(arguments.lib.resolve(strict=True), arguments.programs.resolve(strict=True))
    if arguments.test in SINGLE:
        errors = SINGLE[arguments.test](setting)
    else:
        errors = shape(setting, arguments.test, arguments.language, arguments.provider)
    print("\n".join(errors))
    return not errors


if __name__ == "__main__":
    harness.main(body)
