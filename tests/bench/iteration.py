#!/usr/bin/env python3
"""bench/iteration.py: its programs under the library with the host backend, and its verdicts on made-up times."""

from __future__ import annotations

import argparse
import importlib.util
import sys
import tempfile
from pathlib import Path

BENCH = Path(__file__).resolve().parent.parent.parent / "bench"
sys.path.insert(0, str(BENCH))
from common import Failed, Store, run  # noqa: E402
import iteration  # noqa: E402

N, ITERATIONS = 100, 12


def programs_are_right(build: Path) -> None:
    forced = {"LD_PRELOAD": str(build / "lib/libblaslift.so"), "BLASLIFT_BACKEND": "host", "BLASLIFT_FORCE": "dsymv"}
    commands = [[str(build / "bin/power_iteration"), mode, str(N), str(ITERATIONS), pages]
                for mode in ("constant", "changing") for pages in ("small", "huge")]
    if importlib.util.find_spec("scipy"):
        commands += [[sys.executable, str(BENCH / "lanczos.py"), mode, str(N), str(ITERATIONS)] for mode in ("constant", "changing")]
    values: dict[str, set[float]] = {}
    for command in commands:
        alone = run(command, {}, 60)[0]
        ours = iteration.measured(command, forced, True, 60)
        print(command, alone["value"], ours["value"])
        assert ours["calls"] == ours["routed"] == len(ours["seconds"]) == ITERATIONS, ours
        assert abs(ours["value"] - alone["value"]) < 1e-10 * alone["value"]
        assert ours["error"] <= 1 and N / 2 * 0.9 < ours["value"] < N / 2 * 1.1, "about n / 2, as random numbers in [0, 1) give"
        if ours["mode"] == "constant":
            values.setdefault(ours["program"], set()).add(round(ours["value"], 6))
    assert all(len(found) == 1 for found in values.values()), f"of the same matrix: {values}"
    beside = [str(build / "bin/power_iteration"), "changing", str(N), str(ITERATIONS), "small", "beside"]
    record = run(beside, forced, 60)[0]
    assert len(record["beside"]) == len(record["seconds"]) == ITERATIONS and min(record["beside"]) > 0, record
    try:
        run(beside, {}, 60)
    except Failed:
        pass
    else:
        raise AssertionError("with nothing preloaded there is nothing beside it")
    try:
        run([str(build / "bin/power_iteration"), "constant", "0", "5"], {}, 60)
    except Failed:
        pass
    else:
        raise AssertionError("a matrix of no rows is no question")


def verdicts(results: Path) -> None:
    def table(changes: dict, first: dict | None = None) -> tuple[list[str], bool]:
        store = Store(results / "iteration.jsonl", "some")
        store.records = {}
        cpu = {"seconds": [9.0] + [1.0] * 19}
        ours = {"seconds": [9.0] + [1.01] * 9 + [5.0] + [0.05] * 9, "calls": 20, "routed": 10, "stayed": {"startup": 10}}
        key = "power/constant/8192/huge"
        for turn in range(2):
            store.add(f"{key}/CPU/{turn}", cpu)
            store.add(f"{key}/blaslift/{turn}", ours | (changes if turn == 1 else first or {}))
        changing = {"seconds": [1.0] * 20, "calls": 20, "routed": changes.get("changing", 0), "stayed": {}}
        store.add("lanczos/changing/8192/numpy's/CPU/0", cpu)
        store.add("lanczos/changing/8192/numpy's/blaslift/0", changing)
        wanted = [iteration.Measurement(k, 1, lambda s: {}) for k in store.records]
        return iteration.summary(store, wanted)

    lines, good = table({})
    assert good, lines
    (row,) = [line for line in lines if line.startswith("| power")]
    cells = [cell.strip() for cell in row.split("|")[1:-1]]
    assert cells == ["power, constant", "8192", "huge", "1000.000", "1010.000", "1.010", "1.010", "50.000", "20.0", "10", "5000", "yes"], cells
    slower = [1.05] * 9  # a half of all, so that the lower quartile is of the other round
    assert table({"seconds": [9.0] + slower + [5.0] + [0.05] * 9})[1], "noise of one round"
    lost = {"seconds": [9.0] + slower + [5.0] + [0.05] * 9}
    assert not table(lost, lost)[1], "five hundredths are lost before the switch"
    assert not table({"seconds": [9.0] + [1.01] * 9 + [5.0] + [0.16] * 9})[1], "nine times faster are not ten"
    assert not table({"routed": 0})[1], "one of two never switched"
    assert not table({"changing": 3})[1], "what changes is to stay"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", required=True, type=Path)
    programs_are_right(parser.parse_args().build)
    with tempfile.TemporaryDirectory() as folder:
        verdicts(Path(folder))


if __name__ == "__main__":
    main()
