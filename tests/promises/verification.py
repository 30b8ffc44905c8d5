"""BLASLIFT_VERIFY: every routed call is checked, nothing that is right is called wrong, and the program notices nothing."""

from __future__ import annotations

from pathlib import Path

import harness
from setting import FORCED, LEVELS, SCARCE, Setting, labelled, report_errors, verdict_errors

ALL = {"BLASLIFT_VERIFY": "all"}
MODEST = FORCED | {"BLASLIFT_MEMORY": "1M"}

PROGRAMS = {
    "one block": (FORCED, ("products canaries_ldc", "products beta_zero_nan", "products poison_only_classical", "symv semantics")),
    "in blocks": (SCARCE, ("products canaries_ldc", "products beta_zero_nan")),
    "copies": (FORCED | {"BLASLIFT_RESIDENCY": "always"}, ("products canaries_ldc", "symv reuse 20 3")),
    "levels": (LEVELS, ("products reads_c",)),
    "qr": (FORCED, ("qr products",)),
}
"""By what is asked for: settings, and programs with canaries, NaN and Inf, zero scalars, increments, triangles."""


def verified_semantics(s: Setting) -> list[str]:
    """The programs of the other promises are told the same, and nothing that they call is called wrong."""
    errors = []
    for kind, (settings, programs) in PROGRAMS.items():
        for program in programs[:1] if s.sanitizer else programs:
            run = s.run(*program.split(), settings=settings | ALL, timeout=200)
            errors += labelled(f"{kind}: {program}", verdict_errors(run) + harness.checked_errors(run.reports))
    return errors


def verified_threads(s: Setting) -> list[str]:
    """16 threads with stacks of 64 KiB, and an exit while they call."""
    errors = []
    for kind, settings in {"forced": MODEST, "sampled": MODEST | {"BLASLIFT_VERIFY": "sample:3"}}.items():
        run = s.run("threads", "check", settings=ALL | settings, timeout=200)
        found = verdict_errors(run) + report_errors(run, routed=True)
        errors += labelled(kind, found + (harness.checked_errors(run.reports) if kind == "forced" else []))
    for how in ("return", "exit", "worker"):
        run = s.run("threads", "exit", how, settings=MODEST | ALL, timeout=60)
        if run.status != 0 or run.stdout or run.stderr:
            errors.append(f"exit, {how}: status {run.status}, {run.stdout!r}, {run.stderr!r}")
        errors += labelled(f"exit, {how}", [e for e in harness.checked_errors(run.reports) if "wrong" in e])
    return errors


def verified_surroundings(s: Setting) -> list[str]:
    """errno is the caller's after every call, also after the first, which finds libraries and opens devices."""
    errors = []
    oracle = {"BLASLIFT_VERIFY_ORACLE": str(harness.PROVIDERS["openblas"][0] / "libblas.so.3")}
    for name, settings in {"device": FORCED, "oracle": FORCED | oracle, "off": oracle | {"BLASLIFT": "off"}}.items():
        if name != "device" and not Path(oracle["BLASLIFT_VERIFY_ORACLE"]).exists():
            continue
        run = s.run("surroundings", "errno_kept", settings=settings | ALL)
        errors += labelled(name, verdict_errors(run) + harness.checked_errors(run.reports))
    return errors


PROMISES = (verified_semantics, verified_threads, verified_surroundings)
