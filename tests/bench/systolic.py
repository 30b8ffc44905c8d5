#!/usr/bin/env python3
"""bench/systolic.py's tables and bench/plot_systolic.py's pictures, from records such as the program systolic makes.

A stand-in for the program answers; its rates are made up, and it counts accesses as formula 1 does.  One result of
ours is wrong the first time.  That the real program is told what it understands is tested by it, which needs no GPU to
say so.
"""

from __future__ import annotations

import argparse
import json
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path
from xml.etree import ElementTree

BENCH = Path(__file__).resolve().parent.parent.parent / "bench"
STAND_IN = '''#!/usr/bin/env python3
import json, sys
from pathlib import Path
options = dict(zip(sys.argv[1::2], sys.argv[2::2]))
p = options["--precision"]
if "--constants" in options:
    print(json.dumps({"constants": True, "precision": p, "multiprocessors": 128,
                      "lgm": {"alone": 1e-7, "filled": 5e-10}, "lsm": {"alone": 1e-9, "filled": 4e-10}}))
    sys.exit()
n, count = int(options["--sizes"]), int(options["--products"])
variants = options.get("--variants", "G1,Gt,S1,St,L1,Lr,LS,shuffle,cublas").split(",")
walks = {"thesis": [(2 * n - 1, False)], "short": [(n, True)],
         "all": [(g, skips) for g in (2 * n - 1, n) for skips in (False, True)]}
tried = Path(sys.argv[0] + ".tried")
wrong = (p, n, count) == ("d", 512, 10) and not tried.exists()
if wrong:
    tried.touch()
def show(variant, rate, **more):
    seconds = 2.0 * n**3 * count / rate
    print(json.dumps({"variant": variant, "precision": p, "N": n, "S": count} | more |
                     {"seconds": seconds, "least": seconds, "rounds": 5, "GFLOP/s": 1e-9 * rate,
                      "bits": not wrong and variant != "cublas loop"}))
for i, variant in enumerate(variants):
    if variant == "cublas":
        show("cublas loop", 1e11 * n)
        show("cublas batch", 2e11 * n)
        continue
    for arrays in options.get("--arrays", "one").split(","):
        number = 1 if arrays == "one" else min(count, 64)
        array = variant not in ("L1", "Lr", "LS")
        for t in map(int, options.get("--t", "4,32").split(",") if variant in ("Gt", "St") else ["1"]):
            names = options.get("--walks", "thesis,short").split(",")
            for g, skips in [walk for name in names for walk in walks[name]] if array else [(0, 0)]:
                more = {"t": t, "g": g, "skips": skips} if array else {}
                more["arrays"] = number
                if number == 1:
                    steps = 3 * n - 2 + (count - 1) * g
                    more |= {"printed": {"global": 4.0 * n * n * steps, "shared": 0},
                             "corrected": {"global": 4.0 * n * n * steps, "shared": 1600.0}}
                show(variant, (i + 1) * 1e11 * (1 if number == 1 else 5), **more)
sys.exit(wrong)
'''


def run(*command: object) -> subprocess.CompletedProcess:
    done = subprocess.run([sys.executable, *map(str, command)], capture_output=True, text=True, check=False)
    print(done.stdout[-2000:] + done.stderr)
    return done


def everything_is_measured(folder: Path) -> Path:
    """In commands with a budget each, nothing twice; what failed is measured again."""
    build, results = folder / "build", folder / "results"
    program = build / "bin/systolic"
    program.parent.mkdir(parents=True)
    program.write_text(STAND_IN)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    command = (BENCH / "systolic.py", "--build", build, "--results", results, "--commit", "some")
    dry = run(*command, "--dry-run").stdout
    seconds = sum(float(line.split()[1]) for line in dry.splitlines() if line.startswith("about"))
    assert seconds < 2 * 300, f"all is expected to take {seconds} s: more than two commands"
    assert dry.count("  variants/") == 2 * 20 and dry.count("  batch/") == 2 * 10 and dry.count("  steps/") == 2 * 3
    done = run(*command, "--precisions", "d", "--budget", "15")  # less than the longest takes
    assert done.returncode == 1 and "left for another run" in done.stdout, "the budget is kept"
    assert "Failed: variants/d/512/10." in done.stdout
    done = run(*command)
    assert done.returncode == 0 and "Failed: nothing." in done.stdout
    keys = [json.loads(line)["key"] for line in (results / "systolic.jsonl").read_text().splitlines()]
    assert len(set(keys)) == 2 * (1 + 20 + 3 + 10) and len(keys) == len(set(keys)) + 1, keys
    text = (results / "systolic.md").read_text()
    # G1 at 1,024: formula 1 by the thesis's constants is 30.05 s.  Filled: 4 N^2 3070 / 256 Lgm, and 1600 / 16 Lsm for
    # each of 4096 / 128 blocks that share a multiprocessor.
    filled = 4 * 1024**2 * 3070 / 256 * 5e-10 + 100 * 4e-10 * 32
    for part in ("## constants\n", "| d | 128 | 100 | 0.5 | 1 | 0.4 |", "## variants, d\n", "## steps, s\n",
                 "| 1024 | 1 | G1 | 1 | 2047 | no | 1 | 21.47 | 100 | 3.005e+04 | 5030 | "
                 f"{1e3 * filled:.4g} | 1.17 | yes |", "## batch, d\n", "| cublas loop |  |  |  |  |", "| others |",
                 "| the same |", "| 16 | 1000 | St | 32 | 16 | yes | 64 |"):
        assert part in text, part
    return results / "systolic.jsonl"


def the_program_understands(program: Path, folder: Path) -> None:
    """All options that the driver gives: without a device it ends with CUDA's words, not with its own."""
    done = run("-c", f"import subprocess, sys; sys.exit(subprocess.run([{str(program)!r}, '--sizs', '1']).returncode)")
    assert done.returncode == 2 and "unknown option --sizs" in done.stderr
    sys.path.insert(0, str(BENCH))
    import systolic

    arguments = argparse.Namespace(build=folder / "none", only=list(systolic.PARTS), precisions="d")
    (folder / "none/bin").mkdir(parents=True)
    said = folder / "said"
    keeps = folder / "none/bin/systolic"
    keeps.write_text(f"#!/bin/sh\necho \"$@\" >> {said}\necho '{{}}'\n")
    keeps.chmod(0o755)
    for m in systolic.measurements(arguments):
        m.measure(60)
    commands = said.read_text().splitlines()
    assert len(commands) == 34
    for words in {tuple(line.split()[0::2]): line.split() for line in commands}.values():
        done = subprocess.run([str(program), *words], capture_output=True, text=True, check=False)
        assert done.returncode in (0, 2) and "option" not in done.stderr and "no such" not in done.stderr, done.stderr


def pictures_are_made(results: Path, out: Path, gnuplot: str) -> None:
    done = run(BENCH / "plot_systolic.py", results, "--out", out, "--gnuplot", gnuplot)
    assert done.returncode == 0 and not done.stderr, "gnuplot complained"
    legends = {"global": ["G1, predicted", "Gt, t = 32", "Lr, sum in a register", "seconds", "4,096"],
               "shared": ["S1", "St, t = 32, predicted", "LS, tiles", "shuffles"],
               "batch": ["St, t = 32, one array", "cuBLAS in a loop", "cuBLAS, batched", "GFLOP/s", "256"]}
    assert {path.stem for path in out.iterdir()} == {f"systolic-{name}-{p}" for name in legends for p in "ds"}
    for name, words in legends.items():
        for p in "ds":
            shown = " ".join(ElementTree.fromstring((out / f"systolic-{name}-{p}.svg").read_text()).itertext())
            for word in words:
                assert word in shown, f"systolic-{name}-{p}.svg does not say {word}"


def points_are_right(results: Path) -> None:
    import plot_systolic
    from common import Store
    from systolic import predictions

    store = Store(results, "some")
    figure = plot_systolic.times(store, "d", "global")
    measured, said = figure.curves[0], figure.curves[1]
    assert [n for n, _ in measured.points] == [64, 128, 256, 512, 1024, 2048, 4096] == [n for n, _ in said.points]
    assert all(abs(y - 2 * n**3 / 1e11) < 1e-9 * y for n, y in measured.points)
    assert abs(said.points[4][1] - (4 * 1024**2 * 3070 / 256 * 5e-10 + 100 * 4e-10 * 32)) < 1e-12
    batch = plot_systolic.rates(store, "s")
    assert [len(curve.points) for curve in batch.curves] == [5] * 6
    assert abs(batch.curves[1].points[0][1] / batch.curves[0].points[0][1] - 5) < 1e-9, "arrays that fill the device"
    assert predictions(store, {"variant": "cublas loop"}) == {}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--gnuplot", default="gnuplot")
    parser.add_argument("--program", type=Path, help="bench/systolic, where it has been built")
    arguments = parser.parse_args()
    sys.path.insert(0, str(BENCH))
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        results = everything_is_measured(folder)
        points_are_right(results)
        if arguments.program and arguments.program.exists():
            the_program_understands(arguments.program, folder)
        if not shutil.which(arguments.gnuplot):
            print("SKIPPED: no gnuplot; only the numbers were tested")
            sys.exit(77)
        pictures_are_made(results, folder / "docs", arguments.gnuplot)


if __name__ == "__main__":
    main()
