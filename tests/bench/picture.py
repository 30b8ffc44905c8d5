#!/usr/bin/env python3
"""README's picture and its numbers, and the pictures of runs' pages, are those of the records that they are drawn from."""

from __future__ import annotations

import importlib
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parent.parent.parent
BENCH = ROOT / "bench"
KEPT = ROOT / "docs/pictures/programs.svg"
sys.path.insert(0, str(BENCH))
plot_programs = importlib.import_module("plot_programs")
figures = importlib.import_module("figures")
run_records = importlib.import_module("run_records")
SETUP = {"key": "setup", "gpu": "NVIDIA X1, 1.2, 80 MiB", "cores": 4, "library": "OpenBLAS 1.2"}
SECONDS = {"slow": (1.0, 2.0, 1.25), "fast_one": (8.0, 2.0, 1.0), "cut_off": (1.0,)}
"""Plain, first, again."""


def records_are_read() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "run.jsonl")
        made = [SETUP] + [{"key": f"programs/{name}/{way}/0", "seconds": seconds}
                          for name, taken in SECONDS.items() for way, seconds in zip(("plain", *run_records.WAYS), taken)]
        path.write_text("".join(json.dumps(record | {"commit": "abc1234", "date": "2026-01-02", "machine": "m"}) + "\n" for record in made))
        store = figures.records_of([path])
    found = plot_programs.programs(store)
    assert [(p.name, p.first, p.again) for p in found] == [("fast_one", 4, 8), ("slow", 0.5, 0.8)], found
    assert abs(run_records.mean([p.again for p in found]) - 6.4**0.5) < 1e-12
    assert plot_programs.origin(store) == "NVIDIA X1 beside 4 CPU cores with OpenBLAS 1.2; 2026-01-02, commit abc1234"


def texts(path: Path) -> list[str]:
    return ["".join(x.itertext()).strip() for x in ElementTree.parse(path).iter("{http://www.w3.org/2000/svg}text")]


def main() -> int:
    records_are_read()
    store = figures.records_of([plot_programs.SHOWN])
    found = plot_programs.programs(store)
    measured = run_records.programs(store)
    readme = " ".join((ROOT / "README.md").read_text().split())
    again, first = (f"{run_records.mean([getattr(p, way) for p in found]):.1f}" for way in ("again", "first"))
    wanted = [f"{len(found)} real programs", f"run {again} times as fast", f"A first run gains {first}", KEPT.relative_to(ROOT)]
    for program in ("power", "zeigh", "kalman"):
        seconds = run_records.seconds_of(measured[program])
        wanted.append(f"{seconds['plain']:.2f} → {seconds['again']:.2f} s")
    gpu, day, commit = run_records.gpu(store)[0].removeprefix("NVIDIA "), *store.origin()[1].split(", commit ")
    wanted += [f"With an {gpu}, [", f"(geometric mean; {day}, {commit})"]
    errors = [f"README does not say: {x}" for x in wanted if str(x) not in readme]
    shown = texts(KEPT)
    errors += [f"{KEPT.name} lacks {p.name}" for p in found if p.name.replace("_", "-") not in shown]
    with tempfile.TemporaryDirectory() as folder:
        made = subprocess.run([sys.executable, BENCH / "plot_programs.py", "--out", folder], check=False, text=True, capture_output=True)
        if made.returncode == 77:
            print("\n".join(errors) or made.stdout)
            return 1 if errors else 77
        assert made.returncode == 0 and not made.stderr, made.stderr
        # What draws it may be of another version; what is drawn is the same.
        if texts(Path(folder, KEPT.name)) != shown or bars(Path(folder, KEPT.name)) != bars(KEPT):
            errors.append(f"{KEPT.name} is not what bench/plot_programs.py makes")
        for page, records in run_records.PAGES.items():
            made = subprocess.run([sys.executable, BENCH / "plot_run.py", ROOT / records, "--out", folder], check=False, text=True, capture_output=True)
            assert made.returncode == 0 and not made.stderr, made.stderr
            for drawn in map(Path, made.stdout.split()):
                kept = KEPT.with_name(drawn.name)
                if not kept.exists() or texts(drawn) != texts(kept):
                    errors.append(f"{kept.name}, which {page} shows, is not what bench/plot_run.py makes of {records}")
    print("\n".join(errors) or f"{len(found)} programs")
    return 1 if errors else 0


def bars(path: Path) -> list[str]:
    return re.findall(r"<polygon[^>]*points\s*=\s*['\"]([^'\"]*)['\"]", path.read_text())


if __name__ == "__main__":
    sys.exit(main())
