#!/usr/bin/env python3
"""bench/symv.py's tables and bench/plot_symv.py's pictures, from records such as symv_time makes.

A stand-in for symv_time answers; its rates are made up: ours is about twice as fast as cuBLAS, and as fast as its atomics.
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
options = dict(zip(sys.argv[1::2], sys.argv[2::2]))
element = {"s": 4, "d": 8, "c": 8, "z": 16, "w": 16}[options["--precision"]]
for n in map(int, options["--sizes"].split(",")):
    rate = 3000 * n / (n + 2000)
    if options.get("--blockings") == "published":
        ours = [("strips", "0x0x0x0")] if n < 900 else [("parts", "64x32x8x128"), ("tickets", "64x32x8x128")]
        published = [("published", shape) for shape in ("64x4x48", "96x3x27")]
        for times, (way, blocking) in enumerate([*ours, ("cublas", ""), ("cublas_atomics", ""), *published], 1):
            print(json.dumps({"way": way, "blocking": blocking, "us": 10.0, "us_min": 9.0, "GB/s": rate / times}))
        continue
    def way(times):
        return {"seconds": 1e-5, "GB/s": rate * times, "elements/s": rate * times * 1e9 / element}
    record = {"precision": options["--precision"], "uplo": options["--uplo"], "hermitian": False, "n": n, "lda": n, "inc": 1,
              "sets": 3, "blocking": "0x0x0x0" if n < 900 else "64x32x8x128", "error": 1e-16}
    record |= {"strips": way(1)} if n < 900 else {"parts": way(1), "tickets": way(0.9)}
    if options["--precision"] != "w":
        record |= {"cublas": way(0.5 + 1e-6 * n), "cublas_atomics": way(1 - 1e-6 * n)}
    print(json.dumps(record | {"right": True}))
'''


def run(*command: object) -> subprocess.CompletedProcess:
    done = subprocess.run([sys.executable, *map(str, command)], capture_output=True, text=True, check=False)
    print(done.stdout[-2000:] + done.stderr)
    return done


def curves_are_measured(folder: Path) -> Path:
    """In two commands with a budget each, nothing twice; a batch that failed is measured again."""
    build, results = folder / "build", folder / "results"
    program = build / "bin/symv_time"
    program.parent.mkdir(parents=True)
    program.write_text(STAND_IN)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    command = (BENCH / "symv.py", "--build", build, "--results", results, "--commit", "some", "--only", "curve")
    dry = run(*command, "--dry-run")
    estimate = float(dry.stdout.split("about ")[1].split(" s: curve")[0])
    assert estimate < 2 * 270, f"all curves are expected to take {estimate} s: more than two commands"
    done = run(*command, "--precisions", "dw", "--budget", "6.5")  # each takes about six
    assert done.returncode == 1 and "left for another run" in done.stdout, "the budget is kept"
    done = run(*command, "--precisions", "dw")
    assert done.returncode == 0
    assert run(*command).returncode == 0
    lines = (results / "symv.jsonl").read_text().splitlines()
    keys = [json.loads(line)["key"] for line in lines]
    assert len(keys) == len(set(keys)) == 5 * 2 * 4, keys
    assert {path.name for path in results.iterdir()} == {"symv.jsonl", "symv.md"}
    text = (results / "symv.md").read_text()
    for part in ("## curve, d, L\n", "## curve, w, U\n", "| 40001 | 64x32x8x128 |  | 2857 | 2571 | 1543 | 2743 | yes |",
                 "| 255 | 0x0x0x0 | 339 |  |  | 170 | 339 | yes |", "| L | 1024 | ", "Failed: nothing."):
        assert part in text, part
    assert text.count("\n| 1024 | ") == 10
    return results / "symv.jsonl"


def the_published_kernel_has_a_table(folder: Path) -> None:
    command = (BENCH / "symv.py", "--build", folder / "build", "--results", folder / "published", "--commit", "some", "--only", "published")
    assert run(*command).returncode == 0
    text = (folder / "published/symv.md").read_text()
    for line in ("## published, d, U\n", "## published, s, U\n", "| n | parts | tickets | cublas | cublas_atomics | 64x4x48 | 96x3x27 |",
                 "| 512 | 611 | 611 | 306 | 204 | 153 | 122 |", "| 2048 | 1518 | 759 | 506 | 379 | 304 | 253 |"):
        assert line in text, (line, text)


def pictures_are_made(results: Path, out: Path, gnuplot: str) -> None:
    done = run(BENCH / "plot_symv.py", results, "--out", out, "--gnuplot", gnuplot)
    assert done.returncode == 0 and not done.stderr, "gnuplot complained"
    legends = {f"symv-{p}": ["blaslift, lower", "blaslift, upper", "cuBLAS, lower", "cuBLAS, atomics, upper", "GB/s", "32,768"]
               for p in "sdcz"}
    legends["symv-w"] = ["blaslift, lower", "dsymv, lower, for comparison", "GB/s"]
    ratio = ["ssymv, lower", "dsymv, upper", "chemv, lower", "zhemv, upper", "times faster than cuBLAS"]
    legends |= {"symv-ratio": ratio, "symv-ratio-atomics": ratio}
    assert {path.stem for path in out.iterdir()} == set(legends), "other pictures than expected"
    for name, words in legends.items():
        shown = " ".join(ElementTree.fromstring((out / f"{name}.svg").read_text()).itertext())
        for word in words:
            assert word in shown, f"{name}.svg does not say {word}"
        assert ("cuBLAS" in shown) == (name != "symv-w"), name


def ratios_are_right(results: Path) -> None:
    sys.path.insert(0, str(BENCH))
    import plot_symv
    from common import Store

    store = Store(results, "some")
    for p in "sdcz":
        assert all(abs(x * (0.5 + 1e-6 * n) - 1) < 1e-9 for n, x in plot_symv.ratios(store, p, "L", "cublas"))
        assert len(plot_symv.ratios(store, p, "U", "cublas_atomics")) == 60
    assert not plot_symv.ratios(store, "w", "L", "cublas")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--gnuplot", default="gnuplot")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        results = curves_are_measured(folder)
        ratios_are_right(results)
        the_published_kernel_has_a_table(folder)
        if not shutil.which(arguments.gnuplot):
            print("SKIPPED: no gnuplot; only the numbers were tested")
            sys.exit(77)
        pictures_are_made(results, folder / "docs", arguments.gnuplot)


if __name__ == "__main__":
    main()
