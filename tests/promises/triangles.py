"""The promises for syrk and herk: one triangle and no byte of the other, nothing lost, copies never stale."""

from __future__ import annotations

import harness
from faults import ELEMENT, fault_errors
from semantics import modes
from setting import FORCED, LEVELS, SCARCE, STAYS, Setting, labelled, report_errors, stay_errors, told, verdict_errors


def syrk_semantics(s: Setting) -> list[str]:
    """Either triangle, any op, beta = 0 with NaN in C, poison where the classical product has it; in one block, in many,
    and by levels."""
    errors = []
    for provider in s.providers:
        for what in ("semantics", "poison"):
            plain = s.run("syrk", what, provider=provider, preload=False)
            broken = bool(verdict_errors(plain))  # OpenBLAS has its ways with NaN
            if broken and provider == "reference":
                errors += labelled("without blaslift", verdict_errors(plain))
            for mode, settings in modes(s).items():
                run = s.run("syrk", what, provider=provider, settings=settings)
                found = [] if broken else verdict_errors(run)
                found += report_errors(run, routed=mode != "natural")
                counted = run.reports[0]["routines"].values() if run.reports else []
                if mode == "by levels" and what == "semantics" and not all(r["levels"] for r in counted):
                    found.append("nothing was computed by levels")
                errors += labelled(f"{provider} {what} {mode}", found)
                print(f"{provider} {what} {mode}: {told(run)}")
    return errors


def syrk_stays(s: Setting) -> list[str]:
    """What is computed by the library underneath for a good reason is computed as without blaslift."""
    return stay_errors(s, "syrk", STAYS, {"natural": {}, "forced": FORCED}, judged=("reference",))


def syrk_faults_at_every_k(s: Setting) -> list[str]:
    """Each operation of two products fails in turn; C is right every time, and its other triangle as it was."""
    errors = []
    settings = {"one block": FORCED, "blocks": SCARCE | {"BLASLIFT_MEMORY": "1700"}, "levels": LEVELS}
    cases = [("s", "U", 13, 9, "one block"), ("z", "L", 13, 9, "one block"), ("d", "L", 11, 7, "blocks")]
    cases += [("c", "U", 5, 2, "levels")]
    for precision, uplo, n, k, mode in cases[2:3] if s.sanitizer else cases:
        routine = precision + ("syrk" if precision in "sd" else "herk")
        triangles = n * (n + 1)  # of both products
        arguments = ("faults", precision, uplo, str(n), str(k))
        run = s.run("syrk", *arguments, settings=settings[mode], library=s.fault_library, timeout=200)
        label = f"{routine} {uplo}, {mode}"
        errors += labelled(label, fault_errors(run, triangles * ELEMENT[precision], label))
    return errors


def syrk_copies(s: Setting) -> list[str]:
    """A moves once, and of C only the triangle; what has a copy moves where it has been written, to the last byte."""
    if s.run("syrk", "reuse", "2", "0", settings=FORCED).reports[0]["residency"] != "on":
        raise harness.Skip("copies cannot be kept on this machine")
    errors = []
    edge, depth, element = 512, 16, 8
    triangle, matrix = element * edge * (edge + 1) // 2, element * edge * depth
    off = s.run("syrk", "reuse", "3", "0", settings=FORCED | {"BLASLIFT_RESIDENCY": "off"})
    counters = off.reports[0]["routines"]["dsyrk"]
    if (counters["bytes_in"], counters["bytes_out"]) != (3 * (triangle + matrix), 3 * triangle):
        errors.append(f"without copies: {counters}")
    for writes in (0, 2):
        run = s.run("syrk", "reuse", "4", str(writes), settings=FORCED | {"BLASLIFT_RESIDENCY": "always"})
        found = verdict_errors(run) + report_errors(run, routed=True)
        counters = run.reports[0]["routines"]["dsyrk"]
        expected = {"bytes_in": triangle + matrix + writes * element * edge, "bytes_out": 4 * triangle}
        found += [f"{name} {counters[name]}, not {bytes}" for name, bytes in expected.items() if counters[name] != bytes]
        errors += labelled(f"{writes} after writes", found)
        print(f"{writes} after writes: {counters}")
    for copies in ("off", "auto", "always"):
        run = s.run("syrk", "triangles", settings=FORCED | {"BLASLIFT_RESIDENCY": copies})
        found = verdict_errors(run) + report_errors(run, routed=True)
        errors += labelled(f"triangles, copies {copies}", found)
    return errors


def syrk_threads(s: Setting) -> list[str]:
    """8 threads call with one A at once, which is written while none of them does; with and without room for all."""
    errors = []
    for copies, memory in (("off", "64M"), ("always", "64M"), ("always", "2M")):
        settings = FORCED | {"BLASLIFT_RESIDENCY": copies, "BLASLIFT_MEMORY": memory}
        run = s.run("syrk", "threads", settings=settings)
        found = verdict_errors(run) + report_errors(run, routed=True)
        errors += labelled(f"copies {copies}, memory {memory}", found)
    return errors


PROMISES = (syrk_semantics, syrk_stays, syrk_faults_at_every_k, syrk_copies, syrk_threads)
