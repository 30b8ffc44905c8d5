#!/usr/bin/env python3
"""What a call costs that stays on the CPU, or is computed in place: instructions, counted by callgrind; nanoseconds.

instructions  At most 60 a call on the forwarding path, counted in all of libblaslift.so: the
              difference between runs of N and 2N calls, so that only what every call does is left. Nothing may be left
              in any function but the exported ones, and nothing in our modules.
in_place      At most 4,600 a product whose matrices are in device memory already: with small ones they are what it takes
              more than cuBLAS, but for the driver's. Of all objects but the library underneath, which the host backend
              computes with; its device memory is the heap, by a stand-in that says so.
nanoseconds   Against a direct call of the same function, at n = 4; only printed (aim: 5 ns), since machines are busy.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import harness
from harness import Preload, Skip

MOST_INSTRUCTIONS = 60
MOST_IN_PLACE = 4600

CALLS = 500

ROUTINES = [f"{p}gemm_" for p in "sdcz"] + ["dsyrk_", "zherk_", "dsyr2k_", "zher2k_", "dsymm_", "zhemm_", "dtrmm_", "ztrmm_", "dtrsm_", "ztrsm_", "ssymv_", "dsymv_", "chemv_", "zhemv_", "zsymv_", "dgemv_", "zgemv_", "dcopy_", "zcopy_"]
ROUTINES += ["dgetrf_", "zgetrf_", "dgetrs_", "dgesv_", "dpotrs_", "dposv_", "dtrtrs_", "dtrtri_", "dpotri_", "dlauum_", "dgetri_"]
ROUTINES += ["dpotrf_", "dgecon_", "dpocon_", "dtrcon_", "dsygst_", "dsytrd_", "dgehrd_", "dsyevd_", "dsyev_", "dsyevr_", "dsyevx_", "dsygvd_", "dsygv_", "dsygvx_", "dgebrd_", "dgesdd_", "dgesvd_", "dgeev_", "dgels_", "dgelsy_", "dgelsd_", "dgelss_", "dgeqrf_", "zgeqrf_", "dgeqp3_", "dgelqf_", "dorglq_", "dormqr_", "dormlq_", "dorgqr_", "dormtr_", "dorgtr_", "dormhr_", "dorghr_", "dormbr_", "dorgbr_", "dgeqr_", "dgemqr_"]
ROUTINES += [f"cblas_{p}gemm" for p in "sdz"] + ["cblas_dsyrk", "cblas_zherk", "cblas_dsyr2k", "cblas_zher2k", "cblas_dsymm", "cblas_zhemm", "cblas_dtrmm", "cblas_ztrmm", "cblas_dtrsm", "cblas_ztrsm", "cblas_dsymv", "cblas_zhemv", "cblas_dgemv", "cblas_zgemv", "cblas_dcopy", "cblas_zcopy"]

TWINS = {f"cblas_{name}": {f"{name}_"} for name in ("sgemm", "dgemm", "zgemm", "dsyrk", "zherk", "dsyr2k", "zher2k", "dsymm", "zhemm", "dtrmm", "ztrmm", "dtrsm", "ztrsm", "dsymv", "zhemv", "dgemv", "zgemv", "dcopy", "zcopy")}
TWINS |= {"dgesv_": {"dgetrf_", "dgetrs_"}, "dposv_": {"dpotrf_", "dpotrs_"}, "dorgbr_": {"dorgqr_"}}
"""The reference's functions call these through us."""

MODES = {"natural": {}, "switched off": {"BLASLIFT": "off"}}


def self_costs(text: str) -> Counter:
    """Instructions by (object, function) in a callgrind file: of the functions themselves, not of those they call.

    The format: https://valgrind.org/docs/manual/cl-format.html. Names are "(number) name" first and "(number)" then; a
    "calls=" line is followed by a line with the cost of the callee.
    """
    names: dict[tuple[str, str], str] = {}
    costs: Counter = Counter()
    where = {"ob": "", "fn": ""}
    skip = False
    for line in text.splitlines():
        if found := re.match(r"(c?)(ob|fn|fi|fe|fl)=\((\d+)\)(?: (.*))?$", line):
            called, kind, number, name = found.groups()
            table = kind if kind in ("ob", "fn") else "file"
            if name is not None:
                names[table, number] = name
            if not called and kind in where:
                where[kind] = names[table, number]
        elif line.startswith("calls="):
            skip = True
        elif re.match(r"[+*\-\d]", line):
            if not skip:
                costs[where["ob"], where["fn"]] += int(line.split()[1])
            skip = False
    return costs


def count(arguments: argparse.Namespace, routine: str, calls: int, preload: Preload) -> Counter:
    """Instructions for `calls` calls, by (object, function)."""
    valgrind = ["valgrind", "--tool=callgrind", "--callgrind-out-file=callgrind.out", "--quiet"]
    run = harness.run(
        [*valgrind, arguments.programs / "calls", routine, str(calls)],
        environment=harness.provider_environment("reference"),
        preload=preload,
    )
    if run.status != 0 or len(run.reports) != 1:
        raise AssertionError(f"{routine}: status {run.status}, {len(run.reports)} reports\n{run.stderr}")
    name = routine.removeprefix("cblas_").removesuffix("_")
    if run.reports[0]["routines"][name]["calls"] != calls:
        raise AssertionError(f"{routine}: {calls} calls, counted {run.reports[0]['routines']}")
    if "BLASLIFT_FORCE" in preload.settings and run.reports[0]["routines"][name]["routed"] != calls:
        raise AssertionError(f"{routine}: not routed: {run.reports[0]['routines'][name]}")
    return self_costs(run.files["callgrind.out"])


def a_call(arguments: argparse.Namespace, routine: str, preload: Preload) -> Counter:
    """Instructions for CALLS calls more."""
    more = count(arguments, routine, 2 * CALLS, preload)
    more.subtract(count(arguments, routine, CALLS, preload))
    return more


def object_name(key: tuple[str, str]) -> str:
    return Path(key[0]).name


def instructions(arguments: argparse.Namespace) -> list[str]:
    if not shutil.which("valgrind"):
        raise Skip("no valgrind")
    errors = []
    rows = []
    cases = [(mode, routine) for mode in MODES for routine in (ROUTINES if mode == "natural" else ("dgemm_", "cblas_dgemm", "dsymv_", "dgeqrf_"))]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        counted = pool.map(lambda case: a_call(arguments, case[1], Preload(arguments.lib, MODES[case[0]])), cases)
        for (mode, routine), costs in zip(cases, counted):
            more = {key: cost for key, cost in costs.items() if object_name(key).startswith("libblaslift")}
            allowed = {routine} | TWINS.get(routine, set())
            for (library, function), cost in more.items():
                if abs(cost) >= CALLS / 2 and function not in allowed:  # less is the report: numbers of other lengths
                    errors.append(f"{mode} {routine}: {cost / CALLS:.1f} a call in {function} ({library})")
            for function in sorted(allowed):
                cost = sum(cost for (_, name), cost in more.items() if name == function) / CALLS
                twin = "" if function == routine else f"inside {routine}"
                rows.append((mode, function, twin, f"{cost:.1f}"))
                if not 10 <= cost <= MOST_INSTRUCTIONS:  # fewer than ten would mean that we looked in the wrong place
                    errors.append(f"{mode} {function}: {cost:.1f} instructions a call")
    harness.print_table(("mode", "function", "", "instructions a call"), rows)
    return errors


def in_place(arguments: argparse.Namespace) -> list[str]:
    if not shutil.which("valgrind"):
        raise Skip("no valgrind")
    errors = []
    rows = []
    preload = Preload.forced(arguments.fault_lib, "host")
    preload.settings["INJECTED_DEVICE_MEMORY"] = "1:1000000"
    not_ours = ("calls", "libblas.", "libgfortran", "libquadmath", "liblapack")
    for routine in ("sgemm_", "dgemm_", "zgemm_"):
        costs = a_call(arguments, routine, preload)
        ours = sum(cost for key, cost in costs.items() if not object_name(key).startswith(not_ours))
        rows.append((routine, f"{ours / CALLS:.0f}"))
        if not 1000 <= ours / CALLS <= MOST_IN_PLACE:  # less would mean that we looked in the wrong place
            errors.append(f"{routine}: {ours / CALLS:.0f} instructions a product in place")
    harness.print_table(("in place", "instructions a call"), rows)
    return errors


def nanoseconds(arguments: argparse.Namespace) -> list[str]:
    errors = []
    for provider in ("reference", "openblas"):
        run = harness.run(
            [arguments.programs / "nanoseconds"],
            environment=harness.provider_environment(provider),
            preload=Preload.natural(arguments.lib),
        )
        print(f"over {provider}:\n{run.stdout}")
        if run.status != 0:
            errors.append(f"{provider}: status {run.status} {run.stderr}")
    return errors


def body() -> bool:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=("instructions", "in_place", "nanoseconds"))
    parser.add_argument("--lib", type=Path, required=True, help="libblaslift.so")
    parser.add_argument("--fault-lib", type=Path, required=True, help="the same, beside the stand-in for its host backend")
    parser.add_argument("--programs", type=Path, required=True, help="folder of the test programs")
    arguments = parser.parse_args()
    errors = {"instructions": instructions, "in_place": in_place, "nanoseconds": nanoseconds}[arguments.what](arguments)
    print("\n".join(errors))
    return not errors


if __name__ == "__main__":
    harness.main(body)
