#!/usr/bin/env python3
"""What a call costs that stays on the CPU, or is computed in place: instructions, counted by callgrind; nanoseconds.

instructions  At most 60 a call on the forwarding path, counted in all of libblaslift.so: of N calls after N others, so
              that only what every call does is left. Nothing may be left in any function but the exported ones, and
              nothing in our modules.
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
from itertools import chain
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import harness
from harness import Preload, Skip

MOST_INSTRUCTIONS = 60
MOST_IN_PLACE = 4600

CALLS = 500

BLAS = [f"{p}gemm_" for p in "sdcz"] + ["dsyrk_", "zherk_", "dsyr2k_", "zher2k_", "dsymm_", "zhemm_", "dtrmm_", "ztrmm_", "dtrsm_", "ztrsm_", "ssymv_", "dsymv_", "chemv_", "zhemv_", "zsymv_", "dgemv_", "zgemv_", "dcopy_", "zcopy_"]
LAPACK = ["dgetrf_", "zgetrf_", "dgetrs_", "dgesv_", "dpotrs_", "dposv_", "dtrtrs_", "dtrtri_", "dpotri_", "dlauum_", "dgetri_"]
LAPACK += ["dpotrf_", "dgecon_", "dpocon_", "dtrcon_", "dsygst_", "dsytrd_", "dgehrd_", "dsyevd_", "dsyev_", "dsyevr_", "dsyevx_", "dsygvd_", "dsygv_", "dsygvx_", "dgebrd_", "dgesdd_", "dgesvd_", "dgeev_", "dgels_", "dgelsy_", "dgelsd_", "dgelss_", "dgeqrf_", "zgeqrf_", "dgeqp3_", "dgelqf_", "dorglq_", "dormqr_", "dormlq_", "dorgqr_", "dormtr_", "dorgtr_", "dormhr_", "dorghr_", "dormbr_", "dorgbr_", "dgeqr_", "dgemqr_"]
CBLAS = [f"cblas_{p}gemm" for p in "sdz"] + ["cblas_dsyrk", "cblas_zherk", "cblas_dsyr2k", "cblas_zher2k", "cblas_dsymm", "cblas_zhemm", "cblas_dtrmm", "cblas_ztrmm", "cblas_dtrsm", "cblas_ztrsm", "cblas_dsymv", "cblas_zhemv", "cblas_dgemv", "cblas_zgemv", "cblas_dcopy", "cblas_zcopy"]

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


def each_call(arguments: argparse.Namespace, routines: list[str], preload: Preload) -> list[Counter]:
    """Instructions for CALLS calls of each routine after as many others, by (object, function), in one process."""
    valgrind = ["valgrind", "--tool=callgrind", "--callgrind-out-file=callgrind.out", "--dump-before=mark", "--quiet"]
    run = harness.run(
        [*valgrind, arguments.programs / "calls", str(CALLS), *routines],
        environment=harness.provider_environment("reference"),
        preload=preload,
    )
    if run.status != 0 or len(run.reports) != 1:
        raise AssertionError(f"{routines}: status {run.status}, {len(run.reports)} reports\n{run.stderr}")
    for routine in routines:
        account = run.reports[0]["routines"][routine.removeprefix("cblas_").removesuffix("_")]
        if account["calls"] != 2 * CALLS:
            raise AssertionError(f"{routine}: {2 * CALLS} calls, counted {run.reports[0]['routines']}")
        if "BLASLIFT_FORCE" in preload.settings and account["routed"] != 2 * CALLS:
            raise AssertionError(f"{routine}: not routed: {account}")
    if f"callgrind.out.{2 * len(routines) + 1}" in run.files:
        raise AssertionError(f"{routines}: too many lists of costs: {sorted(run.files)}")
    return [self_costs(run.files[f"callgrind.out.{2 * k + 2}"]) for k in range(len(routines))]


def object_name(key: tuple[str, str]) -> str:
    return Path(key[0]).name


def instructions(arguments: argparse.Namespace) -> list[str]:
    if not shutil.which("valgrind"):
        raise Skip("no valgrind")
    errors = []
    rows = []
    # Each process has its routines' names once in its report, and none of them that another one calls.
    others = [name for name in LAPACK if name not in TWINS]
    parts = [BLAS, CBLAS, others[::2], others[1::2], [name for name in LAPACK if name in TWINS]]
    processes = [("natural", part) for part in parts]
    processes += [("switched off", [name]) for name in ("dgemm_", "cblas_dgemm", "dsymv_", "dgeqrf_")]
    cases = [(mode, routine) for mode, part in processes for routine in part]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        counted = pool.map(lambda case: each_call(arguments, case[1], Preload(arguments.lib, MODES[case[0]])), processes)
        for (mode, routine), costs in zip(cases, chain.from_iterable(counted)):
            more = {key: cost for key, cost in costs.items() if object_name(key).startswith("libblaslift")}
            allowed = {routine} | TWINS.get(routine, set())
            for (library, function), cost in more.items():
                if abs(cost) >= CALLS / 2 and function not in allowed:
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
        (costs,) = each_call(arguments, [routine], preload)
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
