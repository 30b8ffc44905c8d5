"""Memory, threads, streams and room on the disk that are refused: no call of BLAS notices, and what is lost is said."""

from __future__ import annotations

import fcntl
import json
import os
import resource
import signal
import subprocess
from pathlib import Path

import harness
from run import World

FORCED = {"BLASLIFT_BACKEND": "host", "BLASLIFT_FORCE": "all"}
MEANWHILE = 2
"""Processes that share the requests."""


# ---------------------------------------------------------------------------------------------------------------
# Every request refused in turn


def every_request(world: World, calls: str, settings: dict[str, str], routed: tuple[str, ...] = ()) -> list[str]:
    """Each request of `calls` (every_request.c) refused, alone and with all after it.

    `routed`: what the report of a run without refusals must show on the device.
    """
    refusing = world.compile("refusing.c", "-shared", "-fPIC", "-ldl", to="librefusing.so")
    program = world.compile("every_request.c", "-rdynamic", "-llapack", "-lblas", "-lm")
    provider = harness.provider_environment("reference")
    environment = harness.clean_environment(provider | settings)
    environment |= {"LD_PRELOAD": harness.preloads(world.lib, (refusing,)), "BLASLIFT_REPORT": "/each/its/own"}
    runs = []
    for number in range(MEANWHILE):
        directory = world.scratch / str(number)
        directory.mkdir()
        command = [program, calls, str(1 + number), str(MEANWHILE)]
        with open(directory / "said", "a+") as said:
            run = subprocess.Popen(
                command, cwd=directory, env=environment, stdout=subprocess.PIPE, stderr=said, text=True
            )
        runs.append(run)
    errors = []
    for process in runs:
        said = process.communicate(timeout=280)[0].splitlines()
        reports = [json.loads(line) for line in said if line.startswith("{")]
        if process.returncode or not said or ", 0 failed" not in said[-1]:
            errors += [f"status {process.returncode}", *said[-40:]]
        if not reports:
            errors.append("no report of the run without refusals")
            continue
        accounts = harness.accounts(reports)
        errors += [f"{name} never went to the device" for name in routed if accounts[name].routed == 0]
        print(said[-1] if said else "")
    return errors


def refused_forced(world: World) -> list[str]:
    off = {"BLASLIFT_RESIDENCY": "off"}
    return every_request(world, "pwtvqs", FORCED | off, ("dgemm", "dsyrk", "dsymv", "dgeqrf", "dormqr"))


def refused_systems(world: World) -> list[str]:
    routed = ("dgetrf", "dgetrs", "dgesv", "dpotrf", "dpotrs", "dposv")
    # What the library underneath calls meanwhile is not tested here.
    settings = {"BLASLIFT_RESIDENCY": "off", "BLASLIFT_FORCE": ",".join(routed)}
    return every_request(world, "g", FORCED | settings, routed)


def refused_eigenvalues(world: World) -> list[str]:
    # What the library underneath calls meanwhile is not tested here.
    settings = {"BLASLIFT_RESIDENCY": "off", "BLASLIFT_FORCE": "dsyevd,dsyevr"}
    return every_request(world, "e", FORCED | settings, ("dsyevd", "dsyevr"))


def refused_residency(world: World) -> list[str]:
    return every_request(world, "pwp", FORCED | {"BLASLIFT_RESIDENCY": "always"}, ("dgemm",))


def refused_levels(world: World) -> list[str]:
    return every_request(world, "l", FORCED | {"BLASLIFT_RESIDENCY": "off", "BLASLIFT_STRASSEN": "1"}, ("dgemm",))


def refused_verify(world: World) -> list[str]:
    settings = {"BLASLIFT_RESIDENCY": "off", "BLASLIFT_VERIFY": "all", "BLASLIFT_VERIFY_DUMP": "."}
    return every_request(world, "pvq", FORCED | settings, ("dgemm", "dsymv", "dgeqrf", "dormqr"))


def refused_trace(world: World) -> list[str]:
    return every_request(world, "pws", FORCED | {"BLASLIFT_RESIDENCY": "off", "BLASLIFT_TRACE": "trace"}, ("dgemm",))


def refused_natural(world: World) -> list[str]:
    return every_request(world, "pwtvqs", {"BLASLIFT_BACKEND": "host"})


def refused_threads(world: World) -> list[str]:
    """As under a limit on processes: the k-th thread cannot be had, or none from there on."""
    settings = FORCED | {"REFUSING_THREADS": "1"}
    return every_request(world, "wqpw", settings, ("dgemm", "dgeqrf"))


# ---------------------------------------------------------------------------------------------------------------
# Standard error


NOISY = FORCED | {"BLASLIFT_REPORT": "stderr", "BLASLIFT_NONSENSE": "a warning"}


def run_streams(world: World, what: str, settings: dict[str, str], stderr, before=None, to: str = "data"):
    program = world.compile("streams.c", "-lblas")
    provider = harness.provider_environment("reference")
    environment = harness.clean_environment(provider | settings) | {"LD_PRELOAD": harness.preloads(world.lib)}
    return subprocess.run(
        [program, what, to],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
        timeout=60,
        preexec_fn=before,
        restore_signals=True,
    )


def outcome_errors(name: str, done) -> list[str]:
    if done.returncode or done.stdout != "0 wrong, 0 pipes\n":
        return [f"{name}: status {done.returncode}, {done.stdout!r}"]
    return []


def stderr_is_a_file(world: World) -> list[str]:
    """What has taken descriptor 2 is the program's, and gets nothing of ours; the first stderr gets all that it can."""
    errors = []
    # With stderr closed at the start nothing is written anywhere.
    for what, closed, warned, summed_up in (
        ("first", True, False, False),
        ("before", False, False, False),
        ("between", False, True, True),
        ("none", False, True, True),
    ):
        data = world.scratch / "data"
        data.unlink(missing_ok=True)
        done = run_streams(world, what, NOISY, subprocess.PIPE, (lambda: os.close(2)) if closed else None)
        errors += outcome_errors(what, done)
        if what != "none" and data.read_text() != "mine\n":
            errors.append(f"{what}: the program's file has {data.read_text()!r}")
        if ("BLASLIFT_NONSENSE" in done.stderr) != warned:
            errors.append(f"{what}: on stderr there is {done.stderr!r}")
        if ("dgemm" in done.stderr) != summed_up:
            errors.append(f"{what}: on stderr there is {done.stderr!r}")
    return errors


def stderr_without_reader(world: World) -> list[str]:
    """Nobody reads: no SIGPIPE, whether the program handles it or not."""
    errors = []
    for name, extra in (("default", {}), ("handled", {"COUNT_PIPES": "1"})):
        reading, writing = os.pipe()
        os.close(reading)
        done = run_streams(world, "none", NOISY | extra, writing)
        os.close(writing)
        errors += outcome_errors(name, done)
    return errors


def stderr_full(world: World) -> list[str]:
    """Nobody reads what a pipe is full of: the program goes on, whether the pipe would block it or not."""
    errors = []
    for blocking in (True, False):
        reading, writing = os.pipe()
        fcntl.fcntl(writing, fcntl.F_SETFL, os.O_NONBLOCK)
        try:
            while True:
                os.write(writing, b"x" * 1000)
        except BlockingIOError:
            pass
        if blocking:
            fcntl.fcntl(writing, fcntl.F_SETFL, 0)
        done = run_streams(world, "none", NOISY, writing)
        errors += outcome_errors("blocking" if blocking else "not blocking", done)
        os.close(reading)
        os.close(writing)
    return errors


# ---------------------------------------------------------------------------------------------------------------
# Files


def limited(most: int):
    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

    return limit


def report_that_does_not_fit(world: World) -> list[str]:
    """No signal, no half line, and a word."""
    errors = []
    report = world.scratch / "report.jsonl"
    for before, most in (("", 0), ("", 100), ("{}\n" * 40, 120), ("{}\n" * 40, 200), ("{}\n" * 40, 100)):
        report.write_text(before)
        done = run_streams(world, "none", FORCED | {"BLASLIFT_REPORT": str(report)}, subprocess.PIPE, limited(most))
        name = f"{len(before)} bytes of {most}"
        errors += outcome_errors(name, done)
        if report.read_text() != before:
            errors.append(f"{name}: the report has {report.read_text()[len(before):]!r}")
        if "lacks this process: File too large" not in done.stderr:
            errors.append(f"{name}: on stderr there is {done.stderr!r}")
    done = run_streams(world, "none", FORCED | {"BLASLIFT_REPORT": "/dev/full"}, subprocess.PIPE)
    errors += outcome_errors("full", done)
    if "lacks this process: No space left on device" not in done.stderr:
        errors.append(f"full: on stderr there is {done.stderr!r}")
    # Room for all of it: as ever.
    report.write_text("")
    done = run_streams(world, "none", FORCED | {"BLASLIFT_REPORT": str(report)}, subprocess.PIPE, limited(1 << 20))
    errors += outcome_errors("room", done)
    if harness.accounts(harness.read_reports(report))["dgemm"].routed != 2 or done.stderr:
        errors.append(f"room: {report.read_text()!r}, {done.stderr!r}")
    return errors


def trace_that_does_not_fit(world: World) -> list[str]:
    """Neither its beginning nor its first events: both are said."""
    errors = []
    run_streams(world, "none", FORCED | {"BLASLIFT_TRACE": "whole"}, subprocess.PIPE)
    [whole] = (world.scratch / "whole").iterdir()
    almost = whole.stat().st_size - 4096
    for most, word in ((0, "there is no trace of this process"), (almost, "later calls are missing")):
        settings = FORCED | {"BLASLIFT_TRACE": str(world.scratch / f"trace{most}")}
        done = run_streams(world, "none", settings, subprocess.PIPE, limited(most))
        errors += outcome_errors(f"{most}", done)
        if done.stderr.count(word) != 1:
            errors.append(f"{most}: on stderr there is {done.stderr!r}")
    return errors
