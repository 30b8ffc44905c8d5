#!/usr/bin/env python3
"""bench/plot_levels.py and bench/plot_run.py make their pictures from records; the first one finds where curves cross.

The records are made up. Levels lose below a size and win above it, each a little later than the one before. A call takes as long as the bus needs, or the
GPU where that is longer.
"""

from __future__ import annotations

import argparse
import importlib
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from xml.etree import ElementTree

BENCH = Path(__file__).resolve().parent.parent.parent / "bench"
SIZES = [1024, 2048, 4096, 8192, 16384]
CROSSING = 6144
"""Between 4,096 and 8,192, where one level is made to be as fast as none."""


def speedup(n: int, level: int) -> float:
    """A straight line in n through 1 at the crossing of that level."""
    return 1 + 0.1 * (n - CROSSING * level) / 16384 if level else 0.99


def records(commit: str) -> list[dict]:
    made = []

    def add(key: str, **values) -> None:
        made.append({"key": key, "commit": commit, "date": "2026-01-01", "machine": "none"} | values)

    for n in SIZES:
        for setting in ("off", "1", "2", "3", "4"):
            add(f"fused/d/{setting}/{n}", speedup=speedup(n, int(setting) if setting != "off" else 0))
        add(f"auto/d/auto/{n}", speedup=max(0.99, speedup(n, 1)), level=1)
        for method in ("absorbed", "rum", "rum:2", "lai", "high_level", "fused:2"):
            add(f"methods/d/1:{method}/{n}", speedup=speedup(n, 1) - 0.05)
    add("fused/d/1/32768", unfit="no room")
    add("fused/d/2/32768", failed="wrong")
    add("shapes/d/auto/100x200x300", speedup=5.0)
    add("predicted/d", crossover=CROSSING + 100,
        sizes=[{"m": n, "n": n, "k": n, "level": 1, "seconds": [1, *(1 / speedup(n, i) for i in range(1, 4)), None]}
               for n in SIZES])
    return made


def crossovers_hold() -> None:
    crossover = importlib.import_module("plot_levels").crossover
    assert abs(crossover([(n, speedup(n, 1)) for n in SIZES]) - CROSSING) < 1e-6
    assert crossover([(1, 0.5), (2, 0.9)]) is None
    assert crossover([(1, 1.5), (2, 1.9)]) == 1
    assert crossover([(1, 1.5), (2, 0.75), (3, 1.25)]) == 2.5  # the last one
    assert crossover([(1, 0.5), (2, 1.5), (3, 0.9)]) is None
    assert crossover([]) is None


def pictures_are_made(gnuplot: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        results, out = Path(folder, "levels.jsonl"), Path(folder, "docs")
        older = [r | {"speedup": 9.0} for r in records("older") if "speedup" in r]
        results.write_text("".join(json.dumps(r) + "\n" for r in older + records("newer")))
        done = subprocess.run([sys.executable, BENCH / "plot_levels.py", results, "--out", out, "--gnuplot", gnuplot],
                              capture_output=True, text=True, check=False)
        print(done.stdout + done.stderr)
        assert done.returncode == 0, done.returncode
        assert not done.stderr, "gnuplot complained"
        assert f"from about {CROSSING} on, measured" in done.stdout
        assert f"from about {CROSSING + 100} on, predicted" in done.stdout
        legends = {
            "levels-d": ["no level", "1 level", "4 levels", "automatic"],
            "levels-methods-d": ["absorbed", "rum, two streams", "fused"],
            "levels-predicted-d": ["1 level", "3 levels"],
        }
        assert {path.stem for path in out.iterdir()} == set(legends), "other pictures than expected"
        for name, words in legends.items():
            text = (out / f"{name}.svg").read_text()
            shown = " ".join(ElementTree.fromstring(text).itertext())
            for word in [*words, "times faster than cuBLAS", "16,384"]:
                assert word in shown, f"{name}.svg does not say {word}"
            assert "32,768" not in shown, f"{name}.svg shows what has failed"


GPU, BUS = 6e13, 5e10
"""Operations, and bytes one way, a second."""
ORDERS = [512, 2048, 8192]
MOVED = {"gemm": (2, 1), "potrf": (1, 1)}
"""Matrices to the GPU and back."""


def gain(n: int) -> float:
    """Over the CPU."""
    return n / 128


def records_of_a_run(orders: list[int]) -> list[dict]:
    plot_run = importlib.import_module("plot_run")
    made = [{"key": "setup", "gpu": "NVIDIA X1 80GB, 1.2, 80 MiB"}, {"key": "bus/pinned", "in": BUS, "out": 0.9 * BUS}]
    for name, (there, back) in MOVED.items():
        for n in orders:
            operations, matrix = plot_run.OPERATIONS[name] * n**3, 8 * n * n
            host = max(operations / GPU, there * matrix / BUS)
            for way, seconds in (("cpu", gain(n) * host), ("host", host), ("device", operations / GPU)):
                made.append({"key": f"calls/{name}/{n}/{way}", "median": seconds, "calls": 3, "bytes_in": there * matrix, "bytes_out": back * matrix})
    return made + [{"key": "calls/syevd/512/cpu", "median": 1.0}, {"key": "calls/batch/64x3/host", "median": 1.0}]


def pictures_of_a_run_are_made(gnuplot: str) -> None:
    plot_run, figures = importlib.import_module("plot_run"), importlib.import_module("figures")
    with tempfile.TemporaryDirectory() as folder:
        results, out = Path(folder, "run.jsonl"), Path(folder, "docs")

        def drawn(made: list[dict]) -> list[str]:
            results.write_text("".join(json.dumps(r | {"commit": "abc", "date": "2026-01-02", "machine": "X1"}) + "\n" for r in made))
            done = subprocess.run([sys.executable, BENCH / "plot_run.py", results, "--out", out, "--gnuplot", gnuplot],
                                  capture_output=True, text=True, check=False)
            assert done.returncode == 0 and not done.stderr, done.stderr
            return [Path(name).name for name in done.stdout.split()]

        assert drawn(records_of_a_run(ORDERS[:2])) == [], "pictures of two points"
        assert drawn([r for r in records_of_a_run(ORDERS) if r["key"] != "bus/pinned"]) == ["x1-speed-up.svg"], "a roofline without a bus"
        assert drawn(records_of_a_run(ORDERS)) == ["x1-speed-up.svg", "x1-roofline.svg"]
        bars = {"in": [[0, 10], [12, 20]], "products": [[5, 22]], "others": [[4, 5]], "out": [[22, 30]]}
        assert drawn([*records_of_a_run(ORDERS), {"key": "timeline/potrf/16384", "routine": "potrf", "order": 16384, "bars": bars}])[2:] == ["x1-timeline.svg"]
        assert "dpotrf of order 16,384" in " ".join(ElementTree.parse(out / "x1-timeline.svg").getroot().itertext())
        store = figures.records_of([results])
        faster = {curve.title: curve.points for curve in plot_run.speed_up(store).curves}
        assert list(faster) == list(MOVED) and all(abs(y - gain(n)) < 1e-9 for points in faster.values() for n, y in points), faster
        roof = plot_run.roofline(store)
        assert abs(roof.peak - GPU) < 1 and roof.bus == BUS, roof
        for points in roof.curves.values():
            for x, y in points:
                assert abs(y - min(GPU, x * BUS)) <= 1e-9 * y, "made-up calls lie on the roof"
        for name, words in {"speed-up": ["gemm", "potrf", "8,192", "times as fast"], "roofline": ["gemm", "50.0 GB/s", "60.0 Tflop/s", "for each byte"]}.items():
            shown = " ".join(ElementTree.parse(out / f"x1-{name}.svg").getroot().itertext())
            for word in [*words, "2026-01-02, commit abc"]:
                assert word in shown, f"{name} does not say {word}"
            assert "syevd" not in shown, f"{name} has a curve of one point"


def events_become_bars() -> None:
    bars = importlib.import_module("call_timeline").bars
    copy, kernel = {"ph": "X", "cat": "gpu_memcpy"}, {"ph": "X", "cat": "kernel"}
    found = bars([copy | {"name": "Memcpy HtoD (Pinned -> Device)", "ts": 1000, "dur": 500},
                  copy | {"name": "Memcpy HtoD (Pinned -> Device)", "ts": 1510, "dur": 490},  # soon after
                  kernel | {"name": "sm90_xmma_gemm_f64", "ts": 1900, "dur": 1000}, kernel | {"name": "potrf_panel", "ts": 3500, "dur": 100},
                  copy | {"name": "Memcpy DtoH (Device -> Pinned)", "ts": 4000, "dur": 1000}, copy | {"name": "Memcpy DtoD", "ts": 4500, "dur": 100},
                  {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": 0, "dur": 9}, {"ph": "M", "name": "process_name"}])
    assert found == {"in": [[0, 1]], "products": [[0.9, 1.9]], "others": [[2.5, 2.6], [3.5, 3.6]], "out": [[3, 4]]}, found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--gnuplot", default="gnuplot")
    arguments = parser.parse_args()
    sys.path.insert(0, str(BENCH))
    crossovers_hold()
    events_become_bars()
    if not shutil.which(arguments.gnuplot):
        print("SKIPPED: no gnuplot; only crossovers and timelines were tested")
        sys.exit(77)
    pictures_are_made(arguments.gnuplot)
    pictures_of_a_run_are_made(arguments.gnuplot)


if __name__ == "__main__":
    main()
