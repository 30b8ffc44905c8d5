"""Promise 4, what else a process is: loading, environment, streams, errno, signals, and how it ends."""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from pathlib import Path

import forks
import harness
from harness import Preload
from threads import MODEST
from setting import FORCED, HOST, SANITIZER_OPTIONS, SCARCE, Setting, labelled, report_errors, told, verdict_errors

NO_DEVICE = "no usable device"
EXITING = "process is exiting"
COPIES = FORCED | {"BLASLIFT_RESIDENCY": "always"}


def dlclose(s: Setting) -> list[str]:
    """Opened RTLD_LOCAL, called, closed: addresses that were taken still work, and so does everything else."""
    errors = []
    for mode, settings in {"natural": HOST, "forced": FORCED}.items():
        run = s.run("surroundings", "closed", str(s.library), preload=False, BLASLIFT_REPORT="report", **settings)
        reports = [json.loads(line) for line in run.files.get("report", "").splitlines()]
        run = harness.Run(run.status, run.stdout, run.stderr, run.files, reports)
        errors += labelled(mode, verdict_errors(run) + report_errors(run, routed=mode == "forced"))
    return errors


def bind_now(s: Setting) -> list[str]:
    """LD_BIND_NOW=1: no symbol of ours is left unresolved."""
    errors = []
    for provider in s.providers:
        for mode, settings in {"natural": {}, "forced": FORCED}.items():
            run = s.run("surroundings", "calls", provider=provider, settings=settings, LD_BIND_NOW="1")
            found = verdict_errors(run) + report_errors(run, routed=mode == "forced")
            errors += labelled(f"{provider} {mode}", found)
    return errors


def trampoline(s: Setting) -> list[str]:
    """A library in front of us that forwards to us is never what lies underneath: the two would call each other for ever.

    Julia's, which may lead to us from wherever it is, and any other that is preloaded in front.
    """
    errors = []
    for provider in s.providers:
        for name in ("blastrampoline", "in_front"):
            for mode, settings in {"natural": HOST, "forced": FORCED}.items():
                run = harness.run(
                    [s.programs / "surroundings", "calls"],
                    environment=harness.provider_environment(provider) | SANITIZER_OPTIONS,
                    preload=Preload(s.library, settings, (s.programs / f"lib{name}.so",)),
                    timeout=60,
                )
                found = verdict_errors(run)
                # What the reference's CBLAS calls comes from the one that calls, not from CBLAS: it is no twin then.
                if name == "blastrampoline" or mode == "forced":
                    found += report_errors(run, routed=mode == "forced")
                elif harness.accounts(run.reports)["dgemm"].calls < told(run)["dgemm"]:
                    found.append(f"counted {run.reports}")
                errors += labelled(f"{provider} {name} {mode}", found)
    return errors


def untouched_process(s: Setting) -> list[str]:
    """Without a BLAS call: no module, no CUDA, no thread, no counters, no report. Small ones: no module, no thread."""
    errors = []
    for mode, settings in {"natural": {}, "cuda": {"BLASLIFT_BACKEND": "cuda"}, "forced": FORCED}.items():
        for program in ("untouched", "small_calls_only"):
            if (mode, program) == ("forced", "small_calls_only"):
                continue
            with tempfile.TemporaryDirectory(prefix="blaslift-counters-") as folder:
                run = s.run("surroundings", program, settings=settings | {"BLASLIFT_INTERNAL_COUNTERS": folder})
                files = list(Path(folder).iterdir())
            found = verdict_errors(run)
            expected = 0 if program == "untouched" else 1
            if len(files) != expected or len(run.reports) != expected:
                found.append(f"{len(files)} counter files, {len(run.reports)} reports")
            errors += labelled(f"{mode}, {program}", found)
    return errors


def no_device(s: Setting) -> list[str]:
    """Without a usable device the CPU computes, and the report says why there is none."""
    errors = []

    def check(label: str, settings: dict, library: Path | None, why: tuple[str, ...], **environment: str) -> None:
        run = s.run("surroundings", "calls", settings=settings, library=library, **environment)
        found = verdict_errors(run) + report_errors(run, routed=False)
        detail = run.reports[0]["detail"] if run.reports else ""
        if not detail or not all(word in detail for word in why):
            found.append(f"detail {detail!r} does not name {why}")
        if "BLASLIFT_FORCE" in settings:
            stayed = {reason for a in harness.accounts(run.reports).values() for reason in a.stayed}
            if stayed != {NO_DEVICE}:
                found.append(f"stayed for {stayed}")
        print(f"{label}: {detail}")
        errors.extend(labelled(label, found))

    with tempfile.TemporaryDirectory() as folder:
        alone = Path(shutil.copy(s.library, folder))
        for name in ("cuda", "host"):
            forced = {"BLASLIFT_BACKEND": name, "BLASLIFT_FORCE": "all"}
            module = Path(folder, f"libblaslift_{name}.so")
            check(f"no {name} module", forced, alone, (module.name,))
            module.write_text("not a library\n")
            check(f"garbage for the {name} module", forced, alone, (module.name,))
            module.unlink()
            shutil.copy(s.library, module)
            check(f"another library for the {name} module", forced, alone, (module.name, "not a blaslift module"))
    forced = {"BLASLIFT_BACKEND": "host", "BLASLIFT_FORCE": "all"}
    check("a device that does not open", forced | {"INJECTED_FAULT": "never"}, s.fault_library, ("does not open",))
    if not Path("/dev/nvidiactl").exists():
        check("no GPU", {"BLASLIFT_FORCE": "all"}, None, ("no GPU",))
    if (s.library.parent / "libblaslift_cuda.so").exists():
        settings = {"BLASLIFT_BACKEND": "cuda", "BLASLIFT_FORCE": "all"}
        check("a GPU that is hidden, or has no driver", settings, None, (), CUDA_VISIBLE_DEVICES="")
    return errors


def killed(s: Setting) -> list[str]:
    """A process that dies by a signal or _exit has still counted: its file is complete."""
    errors = []
    for mode, settings in {"natural": HOST, "forced": FORCED}.items():
        for how, status in {"killed": -9, "_exit": 0, "abort": -6}.items():
            with tempfile.TemporaryDirectory(prefix="blaslift-counters-") as folder:
                run = s.run("surroundings", how, settings=settings | {"BLASLIFT_INTERNAL_COUNTERS": folder})
                counted = forks.read_counters(s, Path(folder))
            found = [] if run.status == status else [f"status {run.status}"]
            if run.reports:
                found.append("a process that skips exit handlers wrote a report")
            counted_run = harness.Run(0, run.stdout, run.stderr, {}, counted)
            found += verdict_errors(counted_run) + report_errors(counted_run, routed=mode == "forced")
            errors += labelled(f"{mode}, {how}", found)
    return errors


# A start-up of half a second, of which a product on the CPU misses a third by prediction, and a device that takes no time.
DEAR_START = ("latency_seconds 1e-9\nstartup_seconds 0.5\npass_rate 1e15\nin_rate 1e15\nout_rate 1e15\n"
              "dgemm_rate 1e15\ncpu_dgemm_rate 4e8\n")
STARTUP = "device start-up not yet earned"


def opened_meanwhile(s: Setting) -> list[str]:
    """The device is opened beside calls that go on without it, and used once it is open; exit waits for what opens it,
    and a device that does not open changes nothing."""
    errors = []
    with tempfile.TemporaryDirectory(prefix="blaslift-profiles-") as folder:
        profile = Path(folder, "dear.profile")
        profile.write_text(DEAR_START)
        settings = HOST | {"BLASLIFT_PROFILE": str(profile)}

        def run(*arguments: str, **injected: str) -> tuple[list[str], dict, float]:
            begun = time.monotonic()
            ran = s.run("meanwhile", *arguments, settings=settings, library=s.fault_library, **injected)
            seconds = time.monotonic() - begun
            found = verdict_errors(ran) + report_errors(ran, routed=None)
            return found, ran.reports[0] if ran.reports else {"routines": {"dgemm": {"routed": -1, "stayed": {}}}}, seconds

        found, report, _ = run("4", "1", INJECTED_OPENING="0.2")
        dgemm = report["routines"]["dgemm"]
        print(f"used: {dgemm}, {report.get('backend')}")
        if dgemm["stayed"].get(STARTUP) != 1 or dgemm["routed"] != 3:
            found.append(f"not one call on the CPU and the others on the device: {dgemm}")
        errors += labelled("used", found)

        # The pause is for a busy machine: what its processors have not begun at the end never will.
        found, report, seconds = run("1", "0.3", INJECTED_OPENING="0.9")
        dgemm = report["routines"]["dgemm"]
        print(f"ends: {dgemm}, {report.get('backend')}, {seconds:.2f} s")
        if dgemm["stayed"].get(STARTUP) != 1 or seconds < 0.9:
            found.append(f"not awaited: {dgemm} in {seconds:.2f} s")
        errors += labelled("ends", found)

        for start, whose in {"early": "everybody's", "early:1": "another's"}.items():
            found, report, _ = run("1", "0", "1", INJECTED_OPENING="0.1", BLASLIFT_START=start)
            dgemm = report["routines"]["dgemm"]
            print(f"{start}: {dgemm}")
            if dgemm["routed"] != (start == "early"):
                found.append(f"{dgemm}")
            errors += labelled(f"{whose} early start", found)

        # With exit at any moment of it.
        for pause in ("0", "0.02", "0.2"):
            found, _, _ = run("1", pause, INJECTED_OPENING="0.4", BLASLIFT_START="early")
            errors += labelled(f"early start, ends after {pause} s", found)

        # Another thread would not be awaited: it begins nothing, and one call misses too little to wait for.
        found, report, _ = run("1", "1", "0", "thread", INJECTED_OPENING="0.1")
        dgemm = report["routines"]["dgemm"]
        print(f"thread: {dgemm}, {report.get('backend')}")
        if dgemm["stayed"].get(STARTUP) != 1 or report.get("backend") not in (None, "", "none"):
            found.append(f"opened: {report.get('backend')}, {dgemm}")
        errors += labelled("by a thread", found)

        found, report, _ = run("2", "1", INJECTED_FAULT="never")
        dgemm = report["routines"]["dgemm"]
        print(f"never: {dgemm}")
        if dgemm["routed"] or dgemm["stayed"].get(STARTUP) != 1:
            found.append(f"{dgemm}")
        errors += labelled("never", found)
    return errors


def called_when_finalised(s: Setting) -> list[str]:
    """A first call, or the first from its place, after the BLAS underneath has been finalised: a right result, nothing
    is initialised again, and no device is opened."""
    errors = []
    ways = {"program": ("exiting", ()), "plugin": ("exiting_bare", (str(s.programs / "needs_blas.so"),))}
    for mode, settings in {"natural": HOST, "forced": FORCED, "fixed": FORCED | {"BLASLIFT_DECISION": "fixed"}}.items():
        for way, (program, plugin) in ways.items():
            for when, calls in {"first": 1, "again": 2}.items():
                with tempfile.TemporaryDirectory(prefix="blaslift-counters-") as folder:
                    counting = settings | {"BLASLIFT_INTERNAL_COUNTERS": folder}
                    run = s.run(program, when, *plugin, settings=counting)
                    counted = forks.read_counters(s, Path(folder))
                found = verdict_errors(run)
                dgemm = harness.accounts(counted).get("dgemm", harness.Account())
                routed = calls - 1 if mode != "natural" else 0
                if (dgemm.calls, dgemm.routed) != (calls, routed) or dgemm.stayed[EXITING] != 1:
                    found.append(f"{dgemm} of {calls} calls")
                errors += labelled(f"{mode}, {way}, {when}", found)
    return errors


BAD_VALUES = {
    "BLASLIFT": "maybe",
    "BLASLIFT_BACKEND": "abacus",
    "BLASLIFT_FORCE": "dgemm,nonsense",
    "BLASLIFT_LEVEL": "6",
    "BLASLIFT_DECISION": "dice",
    "BLASLIFT_MEMORY": "-5",
    "BLASLIFT_PROFILE": "/nowhere/at.all",
    "BLASLIFT_INTERNAL_MEASURE": "yes",
    "BLASLIFT_NO_SUCH_THING": "1",
}


def bad_environment(s: Setting) -> list[str]:
    """A value that is not understood warns once, on stderr, and changes nothing."""
    errors = []
    plain = s.run("surroundings", "calls", preload=False)
    crowd = s.run("threads", "check", preload=False)
    for variable, value in BAD_VALUES.items():
        # Alone; with a device to open, too; and, for some, where many threads make the first call.
        runs = {
            "natural": (s.run("surroundings", "calls", settings={variable: value}), plain),
            "forced": (s.run("surroundings", "calls", settings=FORCED | {variable: value}), plain),
        }
        if variable in ("BLASLIFT", "BLASLIFT_PROFILE", "BLASLIFT_NO_SUCH_THING"):
            runs["threads"] = (s.run("threads", "check", settings=MODEST | {variable: value}), crowd)
        for mode, (run, without) in runs.items():
            warnings = run.stderr.splitlines()
            found = []
            if len(warnings) != 1 or not warnings[0].startswith("blaslift: ") or variable not in warnings[0]:
                found.append(f"warnings {warnings}")
            if run.stdout != without.stdout or run.status:
                found.append(f"status {run.status}, stdout {run.stdout!r}")
            forced = mode != "natural" and variable not in ("BLASLIFT_BACKEND", "BLASLIFT_FORCE")
            quiet = harness.Run(run.status, run.stdout, "", {}, run.reports)
            found += report_errors(quiet, routed=None if forced is False and mode != "natural" else forced)
            errors += labelled(f"{variable}={value} {mode}", found)
    return errors


def stdout_silent(s: Setting) -> list[str]:
    """Nothing is ever written to the program's stdout, whatever there is to say."""
    errors = []
    plain = s.run("surroundings", "calls", preload=False)
    lost = SCARCE | {"INJECTED_FAULT": "40:lost:torn"}
    modes = {
        "natural": ({}, None),
        "forced": (FORCED, None),
        "report on stderr": (FORCED | {"BLASLIFT_REPORT": "stderr"}, None),
        "a report that cannot be written": (FORCED | {"BLASLIFT_REPORT": "/nowhere/report"}, None),
        "counters that cannot be written": (FORCED | {"BLASLIFT_INTERNAL_COUNTERS": "/nowhere"}, None),
        "a bad value": (FORCED | {"BLASLIFT_MEMORY": "lots"}, None),
        "no device": ({"BLASLIFT_BACKEND": "cuda", "BLASLIFT_FORCE": "all", "CUDA_VISIBLE_DEVICES": ""}, None),
        "a lost device": (lost | {"BLASLIFT_REPORT": "stderr"}, s.fault_library),
        "measuring": ({"BLASLIFT_INTERNAL_MEASURE": "on", "BLASLIFT_REPORT": "stderr"}, None),
        "switched off": ({"BLASLIFT": "off", "BLASLIFT_REPORT": "stderr"}, None),
    }
    for mode, (settings, library) in modes.items():
        run = s.run("surroundings", "calls", settings=settings, library=library)
        if (run.status, run.stdout) != (plain.status, plain.stdout):
            errors.append(f"{mode}: status {run.status}, {run.stdout!r} instead of {plain.stdout!r}")
        expected = settings.get("BLASLIFT_REPORT") or mode == "a bad value"
        if bool(run.stderr) != bool(expected):
            errors.append(f"{mode}: stderr {run.stderr!r}")
    return errors


def errno_kept(s: Setting) -> list[str]:
    """errno is the caller's after every call, also the first, which finds libraries and opens devices."""
    errors = []
    plain = s.run("surroundings", "errno_kept", preload=False)
    errors += labelled("without blaslift", verdict_errors(plain))
    modes = {
        "natural": ({}, None, False),
        "cuda": ({"BLASLIFT_BACKEND": "cuda", "BLASLIFT_FORCE": "all", "CUDA_VISIBLE_DEVICES": ""}, None, False),
        "forced": (FORCED, None, True),
        "copies": (COPIES, None, True),
        "no counters": (FORCED | {"BLASLIFT_INTERNAL_COUNTERS": "/nowhere"}, None, True),
        "no room": (FORCED | {"BLASLIFT_MEMORY": "100"}, None, False),
        "off": ({"BLASLIFT": "off"}, None, False),
        "measuring": ({"BLASLIFT_INTERNAL_MEASURE": "on"}, None, False),
    }
    for mode, (settings, library, routed) in modes.items():
        run = s.run("surroundings", "errno_kept", settings=settings, library=library)
        errors += labelled(mode, verdict_errors(run) + report_errors(run, routed=routed))
    return errors


def no_memory(s: Setting) -> list[str]:
    """A process that has none left when it calls for the first time: the library underneath computes, and exit is as ever."""
    if s.sanitizer:
        raise harness.Skip("sanitizers need memory themselves")
    errors = []
    modes = {
        "natural": {},
        "forced": FORCED,
        "cuda": {"BLASLIFT_BACKEND": "cuda", "BLASLIFT_FORCE": "all"},
        "verified": FORCED | {"BLASLIFT_VERIFY": "all"},
        "measuring": {"BLASLIFT_INTERNAL_MEASURE": "on"},
    }
    for mode, settings in modes.items():
        for what in ("no_memory", "no_memory_to_the_end"):
            run = s.run("surroundings", what, settings=settings)
            found = verdict_errors(run)
            calls = {name: account.calls for name, account in harness.accounts(run.reports).items()}
            for name, wanted in (told(run) | {"dsymv": 2, "dgeqrf": 2, "dgeqr": 2}).items():
                if calls.get(name, 0) < wanted:  # LAPACK makes some, too
                    found.append(f"{wanted} calls of {name}, counted {calls}")
            errors += labelled(f"{mode} {what}", found)
    return errors


def fault_handlers(s: Setting) -> list[str]:
    """Operands and results on pages that the program's own handler makes usable when they are touched, whoever does;
    and the handler multiplies."""
    if s.sanitizer:
        raise harness.Skip("sanitizers have handlers of their own")
    errors = []
    for provider in s.providers:
        for mode, settings in {"natural": HOST, "forced": FORCED, "copies": COPIES, "in blocks": SCARCE}.items():
            if mode == "in blocks" and not s.takes(provider):
                continue
            run = s.run("surroundings", "repaired", settings=settings, provider=provider, timeout=60)
            errors += labelled(f"{provider} {mode}", verdict_errors(run) + something_routed(run, mode != "natural"))
    return errors


def cancelled_threads(s: Setting) -> list[str]:
    """pthread_cancel takes a thread after its product, not in the middle of one, as without us."""
    if s.sanitizer:
        raise harness.Skip("sanitizers do not unwind cancelled threads")
    errors = []
    for mode, settings in {"natural": HOST, "forced": FORCED, "copies": COPIES}.items():
        run = s.run("surroundings", "cancelled", settings=settings, timeout=60)
        errors += labelled(mode, verdict_errors(run) + something_routed(run, mode != "natural"))
    return errors


def something_routed(run: harness.Run, wanted: bool) -> list[str]:
    routed = sum(account.routed for account in harness.accounts(run.reports).values())
    return ["nothing was routed"] if wanted and not routed else []


def signals(s: Setting) -> list[str]:
    """Mask and handlers are the program's after every call; threads of ours block all signals but what
    their own instructions raise."""
    errors = []
    for mode, settings in {"natural": {}, "forced": FORCED}.items():
        run = s.run("surroundings", "signals", settings=settings, OMP_NUM_THREADS="3")
        found = verdict_errors(run) + report_errors(run, routed=mode == "forced")
        helpers = int(run.stdout.split("helpers ")[1].split()[0])
        if (helpers > 0) != (mode == "forced") and "thread" not in s.sanitizer:
            found.append(f"{helpers} helper threads: nothing is tested")
        print(f"{mode}: {helpers} helper threads")
        errors += labelled(mode, found)
    return errors


PROMISES = (
    dlclose,
    bind_now,
    trampoline,
    untouched_process,
    no_device,
    killed,
    opened_meanwhile,
    called_when_finalised,
    bad_environment,
    stdout_silent,
    errno_kept,
    no_memory,
    fault_handlers,
    cancelled_threads,
    signals,
)
