#!/usr/bin/env python3
"""bench/run.py's records and page, and that the pages of docs/measurements that it has made are those of their records.

Stand-ins answer for call_time and for what asks the vendor's libraries: it times gemm, and fails for the rest, which has to be said.
"""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "bench"))
run_records = importlib.import_module("run_records")
CALL_TIME = '''#!/bin/sh
# As blaslift would be: four times as fast, twice as fast again in device memory.
case "$1,$LD_PRELOAD" in
  host,) echo '{"median": 0.8, "fastest": 0.7, "calls": 3, "bits": "0", "seconds_asked": "'$3'"}';;
  host,*) echo '{"median": 0.2, "fastest": 0.1, "calls": 3, "bits": "0"}'
    echo '{"routines": {"d'$2'": {"routed": 4, "bytes_in": 32000, "bytes_out": 8000}, "dother": {"routed": 0, "bytes_in": 0, "bytes_out": 0}}}' \
      > "$BLASLIFT_REPORT";;
  *) echo '{"median": 0.1, "fastest": 0.1, "calls": 3, "bits": "0"}';;
esac
'''
TIMELINE = """import json, os, sys
assert os.environ["LD_PRELOAD"].endswith("libblaslift.so"), os.environ
print(json.dumps({"routine": sys.argv[1], "order": int(sys.argv[2]), "bars": {"in": [[0, 1]], "products": [[1, 2]], "others": [], "out": [[2, 3]]}}))
"""
VENDOR = """import json, sys
if sys.argv[1] != "gemm":
    sys.exit("no such library")
print(json.dumps({"median": 0.15, "fastest": 0.1, "calls": 3}))
"""


def run(*words: object) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, ROOT / "bench/run.py", *map(str, words)], capture_output=True, text=True, check=False)


def main() -> int:
    errors = []
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "bin/call_time")
        program.parent.mkdir()
        program.write_text(CALL_TIME)
        program.chmod(0o755)
        ceilings = program.with_name("ceilings")
        ceilings.write_text("""#!/bin/sh\necho '{"what": "'$1'", "in": 54e9, "out": 55e9, "each_way_at_once": 50e9}'\n""")
        ceilings.chmod(0o755)
        vendor = Path(folder, "vendor.py")
        vendor.write_text(VENDOR)
        timeline = Path(folder, "timeline.py")
        timeline.write_text(TIMELINE)
        done = run("--vendor", vendor, "--timeline", timeline, "--build", folder, "--results", folder, "--only", "setup,bus,calls,timeline", "--commit", "abc")
        page = Path(folder, "run.md").read_text()
        records = [json.loads(line) for line in Path(folder, "run.jsonl").read_text().splitlines()]
        if "| potrf | 8192 | 800 | 200 | 4.00 | 100 |  |  |" not in page or "| batch | 256, times 500 | 800 | 200 |" not in page:
            errors.append(f"calls: {page}{done.stderr}")
        if "Geometric mean: 4.00 times the CPU from host to host, 1.50 times the vendor's libraries in device memory." not in page or "commit abc" not in page:
            errors.append("no mean, or no commit")
        if "| gemm | 8192 | 800 | 200 | 4.00 | 100 | 150 | 1.50 |" not in page:
            errors.append("the vendor's gemm")
        host = next(record for record in records if record["key"] == "calls/getrf/512/host")
        if (host["bytes_in"], host["bytes_out"]) != (8000, 2000) or not any(r["key"] == "bus/pinned" and r["out"] == 55e9 for r in records):
            errors.append(f"what a call moves, or how fast: {host}")
        for name in ("speed-up", "roofline", "timeline"):
            if f"-{name}.svg)" not in page:
                errors.append(f"no picture: {name}")
        long_ones = {record["key"] for record in records if record["key"].endswith("/cpu") and record["seconds_asked"] == "0"}
        if long_ones != {f"calls/{x}/cpu" for x in ("gemm/16384", "potrf/16384", "getrf/16384", "geqrf/8192", "geqrf/16384", "syevd/8192", "gesdd/4096", "gesdd/8192")}:
            errors.append(f"timed once: {long_ones}")
        failed = {record["key"].split("/")[1] for record in records if "failed" in record}
        if done.returncode != 1 or "potrf" not in failed or "gemm" in failed or any("failed" in r for r in records if not r["key"].endswith("/vendor")):
            errors.append(f"status {done.returncode} where the vendor's library lacks routines; failed: {failed}")
        again = run("--page", Path(folder, "run.jsonl"))
        if again.stdout != page:
            errors.append("another page from the records")
        few = Path(folder, "few.jsonl")
        few.write_text("".join(json.dumps(r) + "\n" for r in records if r["key"].split("/")[2:3] in ([], ["512"], ["1024"]) and not r["key"].startswith("timeline")))
        if "| gemm | 512 |" not in run("--page", few).stdout or "](../pictures/" in run("--page", few).stdout:
            errors.append("a picture of two points")
        seconds = {"plain": 3.0, "first": 1.5, "again": 1.0}
        with Path(folder, "run.jsonl").open("a") as file:
            for way, taken in seconds.items():
                routines = {} if way == "plain" else {"dgesv": {"calls": 1, "routed": 0, "cpu_seconds": 0.25, "stayed": {"too small": 1}}}
                record = {"key": f"programs/solve/{way}/0", "commit": "abc", "date": "2026-01-01", "machine": "m", "seconds": taken, "routines": routines}
                file.write(json.dumps(record) + "\n")
        if "| solve | 3.00 | 1.50 | 2.00 | 1.00 | 3.00 | dgesv 0.25 s (too small) |" not in run("--page", Path(folder, "run.jsonl")).stdout:
            errors.append("programs")
    for page_file, records_file in run_records.PAGES.items():
        if run("--page", ROOT / records_file).stdout != (ROOT / page_file).read_text():
            errors.append(f"{page_file} is not what bench/run.py makes of {records_file}")
    print("\n".join(errors) or "as they should be")
    return bool(errors)


if __name__ == "__main__":
    sys.exit(main())
