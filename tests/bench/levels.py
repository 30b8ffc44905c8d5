#!/usr/bin/env python3
"""bench/levels.py and levels_time, on the host backend: they measure, go on where they were, and notice what is wrong."""

from __future__ import annotations

import argparse
import dataclasses
import importlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

BENCH = Path(__file__).resolve().parent.parent.parent / "bench"


def levels_time(build: Path, library: Path, *options: str, **more: str) -> tuple[int, list[dict]]:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("BLASLIFT")}
    done = subprocess.run([build / "bin/levels_time_host", "--sizes", "70,40x50x60", "--warming", "32", "--seconds", "0",
                           *options], env=environment | {"LD_PRELOAD": str(library)} | more, capture_output=True,
                          text=True, check=False)
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]


def wrong_results_are_seen(build: Path, wrong: Path) -> None:
    status, lines = levels_time(build, wrong)
    assert status == 0 and len(lines) == 2 and all(line["right"] for line in lines), lines
    for what, seen in {
        "entry": lambda line: line["error"] > line["bound"] > line["cublas_error"],
        "nan": lambda line: line["not_finite"] > 0,
        "input": lambda line: not line["inputs_kept"],
        "bits": lambda line: not line["same_bits"] and line["cublas_same_bits"],
    }.items():
        status, lines = levels_time(build, wrong, WRONG=what)
        assert status == 1 and len(lines) == 2, (what, status, lines)
        assert not any(line["right"] for line in lines) and all(map(seen, lines)), (what, lines)
    status, lines = levels_time(build, Path(""))
    assert status == 2 and not lines, "without blaslift in front it has to refuse"


def wrong_results_are_seen_in_turns(build: Path, wrong: Path) -> None:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("BLASLIFT")}
    for what, right in (("nothing", True), ("entry", False), ("nan", False)):
        done = subprocess.run([build / "bin/levels_in_turns_host", "--library", wrong, "--settings", "off", "--size", "70",
                               "--turns", "2", "--lead", "0", "--seconds", "0"], capture_output=True, text=True, check=False,
                              env=environment | {"WRONG": what})
        assert done.returncode == (0 if right else 1), (what, done)
        turn, = (json.loads(line) for line in done.stdout.splitlines())
        assert turn["right"] is right and turn["contenders"]["cublas"]["error"] < turn["bound"], turn
        assert (turn["contenders"]["off"]["error"] < turn["bound"]) is right, turn


def every_form_is_right(build: Path) -> None:
    """The program's own check agrees with blaslift in all precisions and forms."""
    library = build / "lib/libblaslift.so"
    for precision in "sdcz":
        for trans, beta in (("NN", "0"), ("TN", "0.5"), ("CT", "-1")):
            status, lines = levels_time(build, library, "--precision", precision, "--trans", trans, "--beta", beta,
                                        BLASLIFT_BACKEND="host", BLASLIFT_FORCE="all", BLASLIFT_STRASSEN="1")
            assert status == 0 and len(lines) == 2, (precision, trans, beta, status, lines)
            assert all(0 < line["error"] < line["bound"] and line["cublas_error"] > 0 for line in lines), lines


def the_devices_own_profile_decides_the_first_call(build: Path) -> None:
    """A profile by which levels always pay: every call uses them, the one that opens the device, too."""
    with tempfile.TemporaryDirectory() as folder:
        profile = Path(folder, "blaslift", "host-backend--the-plans-on-the-CPU.profile")
        profile.parent.mkdir()
        profile.write_text("pass_rate 1e18\nstep_seconds 1e-15\ndgemm_leaf_rate 64 1e9\ndgemm_leaf_rate 512 1e9\n")
        report = Path(folder, "report.json")
        options = ["--precision", "d", "--sizes", "256", "--warming", "256", "--warm", "0", "--repetitions", "1"]
        for estimator, by_levels in (("ours", True), ("otsuka", True), ("thesis", False)):  # no cubic through two points
            status, lines = levels_time(build, build / "lib/libblaslift.so", *options, BLASLIFT_BACKEND="host",
                                        BLASLIFT_FORCE="all", BLASLIFT_INTERNAL_ESTIMATOR=estimator, XDG_CACHE_HOME=folder,
                                        BLASLIFT_REPORT=str(report))
            assert status == 0 and lines[-1]["right"], lines
            routine = json.loads(report.read_text().splitlines()[-1])["routines"]["dgemm"]
            assert routine["routed"] == routine["calls"] > 1, routine
            assert sum(routine["levels"].values()) == (routine["calls"] if by_levels else 0), (estimator, routine)


def reports_are_judged() -> None:
    levels = importlib.import_module("levels")
    shape = levels.Shape.of("d", "64")

    def fault(setting: str, **routine) -> str:
        counted = {"calls": 5, "routed": 5, "distrusted": 0, "levels": {}} | routine
        report = {"backend": "cuda", "routines": {"dgemm": counted}}
        return levels.fault_in(report, levels.Batch("fused", setting, [shape]), "cuda")

    assert not fault("off") and not fault("auto") and not fault("auto", levels={"1": 3})
    assert not fault("2", levels={"2": 5}) and not fault("2:rum:2", levels={"2": 5})
    for bad in (fault("off", levels={"1": 5}), fault("2"), fault("2", levels={"2": 4}), fault("2", levels={"1": 5}),
                fault("off", routed=4), fault("2", levels={"2": 5}, distrusted=1),
                levels.fault_in(None, levels.Batch("fused", "off", [shape]), "cuda"),
                levels.fault_in({"backend": "cuda", "routines": {}}, levels.Batch("fused", "off", [shape]), "cuda")):
        assert bad


def driver_goes_on(build: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        def drive(*options: str) -> tuple[int, str]:
            done = subprocess.run([sys.executable, BENCH / "levels.py", "--build", build, "--results", folder,
                                   "--backend", "host", "--precisions", "d", *options],
                                  capture_output=True, text=True, check=False)
            return done.returncode, done.stdout + done.stderr

        status, text = drive("--only", "auto")
        assert status == 1 and "part leaf first" in text, text
        status, text = drive("--only", "leaf,fused,auto", "--budget", "0")
        assert status == 1 and "not complete" in text, text
        status, text = drive("--only", "leaf,fused,auto,turns")
        assert status == 0 and "\ncomplete" in text, text
        kept = Path(folder, "levels.jsonl")
        before = kept.read_text()
        keys = [json.loads(line)["key"] for line in before.splitlines()]
        assert len(keys) == len(set(keys)), "measured twice"
        for key in ("leaf/d", "predicted/d", "fused/d/off/256", "fused/d/4/64", "auto/d/auto/128",
                    "turns/d/96x64x128", "turns/d/101", "turns/d/64 TN", "turns/d/64 beta 1"):
            assert key in keys, f"{key} is missing"
        rows = {row.split("|")[1].strip(): row.split("|")[2:-1] for row in Path(folder, "levels.md").read_text().splitlines()
                if row.count("|") == 13}
        for name in ("96x64x128", "101", "64 TN", "64 beta 1"):
            assert [bool(cell.strip()) for cell in rows[name]] == [True] * 5 + [False] * 2 + [True] * 4, rows
        turn = next(json.loads(line) for line in before.splitlines() if '"turns/d/64 TN"' in line)
        assert turn["trans"] == "TN" and turn["right"] and all(len(x["turns"]) == 3 for x in turn["contenders"].values()), turn
        assert all(0 < x["error"] < turn["bound"] for x in turn["contenders"].values()), turn
        assert list(turn["contenders"]) == ["off", "1", "2", "auto", "cublas"], turn
        assert "dgemm_leaf_rate 64 " in Path(folder, "levels.profile").read_text()
        status, text = drive("--only", "leaf,fused,auto,turns")
        assert status == 0 and kept.read_text() == before, "what is there was measured again"
        # Another commit's results are another's.
        status, _ = drive("--only", "leaf", "--commit", "another", "--budget", "0")
        assert status == 1 and kept.read_text() == before


def what_does_not_fit_is_told_apart(build: Path) -> None:
    """One size of three finds no room for levels: the others are proven to have run by them."""
    levels = importlib.import_module("levels")
    with tempfile.TemporaryDirectory() as folder, levels.candidates(build) as found:
        arguments = argparse.Namespace(build=build, results=Path(folder), budget=60, built_in=False)
        store = levels.Store(Path(folder, "levels.jsonl"), "none")
        scarce = found["blaslift"] | {"BLASLIFT_MEMORY": "1500K"}
        driver = levels.Driver(arguments, levels.HOST, scarce, store)
        driver.measure(levels.Batch("fused", "2", levels.squares("d", [64, 128, 256], levels.HOST)))
        assert store.get("fused/d/2/64")["level"] == store.get("fused/d/2/128")["level"] == 2, store.records
        assert "no room" in store.get("fused/d/2/256")["unfit"], store.records
        assert not driver.late and not driver.failed and not driver.missing(levels.Batch(
            "fused", "2", levels.squares("d", [256], levels.HOST)))
        assert "\n## unfit\n" in "\n".join(levels.summary(store, levels.HOST))
        # In turns the setting is left out, and named.
        one = dataclasses.replace(levels.HOST, turns={"d": ["256"]})
        arguments.precisions = "d"
        turn, = levels.turn_measurements(arguments, one, scarce)
        record = turn.measure(60)
        assert record["without"] == ["1", "2"] and list(record["contenders"]) == ["off", "auto", "cublas"], record


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--wrong", type=Path, required=True, help="libblaslift_wrong.so")
    arguments = parser.parse_args()
    sys.path.insert(0, str(BENCH))
    reports_are_judged()
    wrong_results_are_seen(arguments.build, arguments.wrong)
    wrong_results_are_seen_in_turns(arguments.build, arguments.wrong)
    every_form_is_right(arguments.build)
    the_devices_own_profile_decides_the_first_call(arguments.build)
    what_does_not_fit_is_told_apart(arguments.build)
    driver_goes_on(arguments.build)


if __name__ == "__main__":
    main()
