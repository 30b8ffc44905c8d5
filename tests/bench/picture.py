#!/usr/bin/env python3
"""README's picture and its numbers are those of the results that they are drawn from."""

from __future__ import annotations

import importlib
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
MADE_UP = """NVIDIA X1 80GB, driver 1, CUDA 13.0, 4 cores, OpenBLAS 1.2; 2026-01-02, commit abc1234; once each.

| program | plain, s | first, s | times as fast | again, s | times as fast |
|---|---|---|---|---|---|
| slow | 1.00 | 2.00 | 0.50 | 1.25 | 0.80 |
| fast_one | 8.00 | 2.00 | 4.00 | 1.00 | 8.00 |

| other | 1 |
"""


def tables_are_read() -> None:
    found = plot_programs.programs(MADE_UP)
    assert [(p.name, p.first, p.again) for p in found] == [("fast_one", 4, 8), ("slow", 0.5, 0.8)], found
    assert abs(plot_programs.mean([p.again for p in found]) - 6.4**0.5) < 1e-12
    assert plot_programs.origin(MADE_UP) == "NVIDIA X1 beside 4 CPU cores with OpenBLAS 1.2; 2026-01-02, commit abc1234"


def texts(path: Path) -> list[str]:
    return ["".join(x.itertext()).strip() for x in ElementTree.parse(path).iter("{http://www.w3.org/2000/svg}text")]


def seconds(text: str, program: str) -> tuple[str, str]:
    """On the CPU alone, and from the second run on."""
    lines = [plot_programs.cells(line) for line in text.splitlines() if line.startswith("| ")]
    head, row = lines[0], next(line for line in lines if line[0] == program)
    return row[head.index("plain, s")], row[head.index("again, s")]


def main() -> int:
    tables_are_read()
    text = plot_programs.SHOWN.read_text()
    found = plot_programs.programs(text)
    readme = " ".join((ROOT / "README.md").read_text().split())
    again, first = (f"{plot_programs.mean([getattr(p, way) for p in found]):.1f}" for way in ("again", "first"))
    wanted = [f"{len(found)} real programs", f"run {again} times as fast", f"A first run gains {first}", KEPT.relative_to(ROOT)]
    wanted += ["{} → {} s".format(*seconds(text, program)) for program in ("power", "zeigh", "kalman")]
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
    print("\n".join(errors) or f"{len(found)} programs")
    return 1 if errors else 0


def bars(path: Path) -> list[str]:
    return re.findall(r"<polygon[^>]*points\s*=\s*['\"]([^'\"]*)['\"]", path.read_text())


if __name__ == "__main__":
    sys.exit(main())
