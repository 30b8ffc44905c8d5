#!/usr/bin/env python3
"""Whole programs (bench/program_cases.py), unchanged, plain and preloaded in turns: how much faster they become, and what stays on the CPU.

    bench/programs.py --build DIR --results DIR [--commit ID] [--budget SECONDS] [--cases CASE,...] [--ways WAY,...] [--rounds COUNT] [--scale FACTOR]

Times are of the part that computes, medians of the turns; the start-up of the GPU is in them unless a program used it for its data. "first" is a first
`blaslift run`; "again" a later one of the same command, which starts the GPU while the program makes its data, and makes it ready for what the
first has computed there; "usual" is that without huge pages (--no-huge-pages). Results are compared where a program's is not left to chance. Run again, it goes on where it stopped; programs.jsonl has the records, programs.md the table.
"""

from __future__ import annotations

import math
import statistics
import subprocess
import sys
from pathlib import Path

from common import Failed, Measurement, driver_options, list_measurements, measure_all, publish, read_options, run, run_with_report, table_head, table_row

PROGRAMS = Path(__file__).resolve().with_name("program_cases.py")
FIRST = ("solve inv chol eigh geneigh zeigh svd eig expm lstsq kalman power attention gp krr kpca pca_full pca_cov ols ridge gp_opt smols lda "
         "logreg nmf").split()
"""The programs that a release is judged by."""
ROUNDS = 3
SECONDS = 12.0
"""About how long a run takes, its data included."""
LEAST = 0.97
"""Plain over lifted time, at least."""
QUERY = "workspace query"
"""Why calls stay that compute nothing."""
PAGES = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
WAYS = {"plain": {}, "first": PAGES, "again": PAGES, "usual": {}}
"""The environment of each, but for when the GPU is started."""
CLOSE = 1e-6
"""Relative difference of two right results; those of optimisers and random starts are further apart."""
LOOSE = {"gp_opt": 1e-2, "nmf": 1e-2, "logreg": 1e-2, "lda": 5e-2}


def measured(command: list[str], library: str, environment: dict[str, str], seconds: float) -> dict:
    if not library:
        return run(command, environment, seconds)[0]
    printed, report = run_with_report(command, {"LD_PRELOAD": library} | environment, seconds)
    kept = ("calls", "routed", "stayed", "cpu_seconds", "device_seconds")
    return printed | {"routines": {name: {x: counters[x] for x in kept if x in counters} for name, counters in report["routines"].items()}}


def start_of(first: dict | None) -> dict[str, str]:
    """When `blaslift run` starts the GPU in a later run, and what for."""
    computed = [name for name, x in (first or {}).get("routines", {}).items() if x["routed"]]
    return {"BLASLIFT_START": ":".join(filter(None, ["early", ",".join(computed)]))}


def measurements(arguments, store) -> list[Measurement]:
    library = str(arguments.build / "lib/libblaslift.so")
    wanted = []
    for turn in range(arguments.rounds):
        for case in arguments.cases:
            command = [sys.executable, str(arguments.programs), case, f"{arguments.scale:g}"]
            for name in ("plain", *arguments.ways):
                preload = "" if name == "plain" else library
                first = f"{case}/first/{turn}" if name in ("again", "usual") else ""

                def measure(s, c=command, p=preload, e=WAYS[name], f=first):
                    return measured(c, p, e | (start_of(store.get(f)) if f else {}), s)

                wanted.append(Measurement(f"{case}/{name}/{turn}", SECONDS, measure))
    return wanted


def left_on_the_cpu(records: list[dict]) -> str:
    """The routines that took longest there, with the seconds that they took and why most of their calls stayed."""
    routines = records[0]["routines"]
    longest = sorted(routines, key=lambda name: -routines[name].get("cpu_seconds", 0))
    said = []
    for name in longest[:3]:
        x = routines[name]
        if x.get("cpu_seconds", 0) >= 0.05:
            reasons = {reason: calls for reason, calls in x["stayed"].items() if reason != QUERY}
            said.append(f"{name} {x['cpu_seconds']:.2f} s ({max(reasons, key=reasons.get, default='?')})")
    return ", ".join(said)


def summary(arguments, store) -> tuple[list[str], bool]:
    ways = arguments.ways
    columns = [column for name in ways for column in (f"{name}, s", "times as fast")]
    lines = [store.head(), "", *table_head(["program", "plain, s", *columns, "on the device, s", "left on the CPU", ""])]
    gains: dict[str, dict[str, float]] = {name: {} for name in ways}
    good = True
    for case in arguments.cases:
        found = {name: [r for turn in range(arguments.rounds) if (r := store.get(f"{case}/{name}/{turn}"))] for name in ("plain", *ways)}
        if not all(found.values()):
            continue
        seconds = {name: statistics.median(r["seconds"] for r in records) for name, records in found.items()}
        for name in ways:
            gains[name][case] = seconds["plain"] / seconds[name]
        results = [r["result"] for records in found.values() for r in records]
        apart = (max(results) - min(results)) / max(1e-30, max(abs(x) for x in results))
        wrong = not apart <= LOOSE.get(case, CLOSE)
        said = "results differ" if wrong else "slower" if min(gains[name][case] for name in ways) < LEAST else ""
        good = good and not said
        first = found[ways[0]]
        device = statistics.median(sum(x.get("device_seconds", 0) for x in r["routines"].values()) for r in first)
        times = [text for name in ways for text in (f"{seconds[name]:.2f}", f"{gains[name][case]:.2f}")]
        lines.append(table_row([case, f"{seconds['plain']:.2f}", *times, f"{device:.2f}", left_on_the_cpu(first), said]))
    measured_cases = list(gains[ways[0]])
    for what, cases in (("the programs that a release is judged by", FIRST), ("all", measured_cases)):
        if known := [case for case in cases if case in measured_cases]:
            means = (f"{name} {math.exp(statistics.fmean(math.log(gains[name][case]) for case in known)):.2f}" for name in ways)
            lines += ["", f"Times as fast, geometric mean of {what}, {len(known)}: {', '.join(means)}."]
    return [*lines, "", store.failures()], good


def main() -> int:
    parser = driver_options(__doc__, "programs", ("programs",), 1500)
    parser.add_argument("--programs", type=Path, default=PROGRAMS, help="what has the cases; default: %(default)s")
    parser.add_argument("--cases", type=lambda text: text.split(","), help="default: all")
    parser.add_argument("--ways", type=lambda text: text.split(","), default=list(WAYS)[1:], help="beside plain; default: first,again,usual")
    parser.add_argument("--rounds", type=int, default=ROUNDS, metavar="COUNT", help="plain and preloaded in turns; default: %(default)d")
    parser.add_argument("--scale", type=float, default=1.0, metavar="FACTOR", help="of the sizes")
    arguments, store = read_options(parser)
    if unknown := set(arguments.ways) - set(WAYS):
        parser.error(f"no way is called {', '.join(sorted(unknown))}")
    if not arguments.cases:
        listed = subprocess.run([sys.executable, str(arguments.programs), "--list"], capture_output=True, text=True, check=True)
        arguments.cases = listed.stdout.split()
    wanted = measurements(arguments, store)
    if arguments.dry_run:
        list_measurements(wanted, store)
        return 0
    try:
        measure_all(wanted, store, arguments.budget)
    except Failed as problem:
        print(problem, file=sys.stderr)
        return 1
    lines, good = summary(arguments, store)
    publish(arguments, lines)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
