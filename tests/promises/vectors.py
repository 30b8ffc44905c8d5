"""The promises for products with vectors: BLAS semantics, nothing lost, copies never stale."""

from __future__ import annotations

import tempfile
from pathlib import Path

import harness
from faults import ELEMENT, fault_errors
from setting import FORCED, HOST, STAYS, Setting, labelled, report_errors, stay_errors, told, verdict_errors

TRANSFERS = "transfers cost more than they save"
STARTUP = "device start-up not yet earned"


def symv_modes(s: Setting) -> dict[str, dict[str, str]]:
    return {"forced": FORCED} if s.sanitizer else {"natural": {}, "forced": FORCED}


def symv_semantics(s: Setting) -> list[str]:
    """Either triangle and no byte of the other, any increments, beta = 0 with NaN in y, in every interface."""
    errors = []
    for provider in s.providers:
        for mode, settings in symv_modes(s).items():
            run = s.run("symv", "semantics", provider=provider, settings=settings)
            found = verdict_errors(run) if mode == "forced" or provider == "reference" else []
            if mode == "forced":
                found += report_errors(run, routed=True)
            errors += labelled(f"{provider} {mode}", found)
            print(f"{provider} {mode}: {told(run)}")
    return errors


def symv_stays(s: Setting) -> list[str]:
    """What is computed by the library underneath for a good reason is computed as without blaslift."""
    return stay_errors(s, "symv", STAYS, symv_modes(s), judged=("reference",))


def symv_faults_at_every_k(s: Setting) -> list[str]:
    """Each operation of two products fails in turn; y is right every time."""
    errors = []
    for precision in "z" if s.sanitizer else "sdcz":
        routine = precision + ("symv" if precision in "sd" else "hemv")
        for copies in ("off", "always"):
            settings = FORCED | {"BLASLIFT_RESIDENCY": copies, "BLASLIFT_MEMORY": "1M"}
            run = s.run("symv", "faults", precision, settings=settings, library=s.fault_library, timeout=200)
            label = f"{routine}, copies {copies}"
            errors += labelled(label, fault_errors(run, 2 * 40 * ELEMENT[precision], label, copies))
    return errors


def symv_copies(s: Setting) -> list[str]:
    """The triangle moves once, and again where it has been written: to the last byte."""
    if s.run("symv", "reuse", "2", "0", settings=FORCED).reports[0]["residency"] != "on":
        raise harness.Skip("copies cannot be kept on this machine")
    errors = []
    edge, panel, element = 512, 64, 8
    # Blocks of 64 columns, each down to the diagonal's end.
    triangle = element * sum((first + panel) * panel for first in range(0, edge, panel))
    page = element * 320  # column 300, to the end of the diagonal's block
    for calls, writes in ((1, 0), (5, 0), (5, 1), (6, 3)):
        run = s.run("symv", "reuse", str(calls), str(writes), settings=FORCED)
        found = verdict_errors(run) + report_errors(run, routed=True)
        counters = run.reports[0]["routines"]["dsymv"]
        expected = {
            # Before a write is found, the device has begun with the copy as it was, and with x.
            "bytes_in": triangle + writes * page + (calls + writes) * edge * element,
            "bytes_out": calls * edge * element,
            "bytes_spared": (calls - 1) * triangle - writes * page,
        }
        found += [f"{name} {counters[name]}, not {bytes}" for name, bytes in expected.items() if counters[name] != bytes]
        errors += labelled(f"{calls} calls, {writes} after writes", found)
        print(f"{calls} calls, {writes} after writes: {counters}")
    for copies in ("auto", "always"):
        run = s.run("symv", "triangles", settings=FORCED | {"BLASLIFT_RESIDENCY": copies})
        found = verdict_errors(run) + report_errors(run, routed=True)
        if not run.reports[0]["routines"]["dsymv"]["bytes_spared"]:
            found.append("no copy was used")
        errors += labelled(f"triangles, copies {copies}", found)
    return errors + symv_rents(s, triangle, edge * element)


# A bus so slow, and a start-up so dear, that a copy has to save many calls' time: more than one call takes that loses its
# core for a while.
RELUCTANT = "latency_seconds 1e-9\nstartup_seconds 1e-2\npass_rate 1e15\nin_rate 2e8\nout_rate 1e15\n"


def symv_rents(s: Setting, triangle: int, vector: int) -> list[str]:
    """Not forced: the CPU computes until a copy would have saved what it costs, then the triangle moves once."""
    with tempfile.TemporaryDirectory(prefix="blaslift-profiles-") as folder:
        profile = Path(folder, "reluctant.profile")
        profile.write_text(RELUCTANT)
        settings = HOST | {"BLASLIFT_PROFILE": str(profile)}
        few = s.run("symv", "reuse", "2", "0", settings=settings)
        run = s.run("symv", "reuse", "600", "0", settings=settings)
        off = s.run("symv", "reuse", "600", "0", settings=settings | {"BLASLIFT_RESIDENCY": "off"})
    errors = labelled("few calls", verdict_errors(few) + report_errors(few, routed=False))
    errors += labelled("without copies", verdict_errors(off) + report_errors(off, routed=False))
    found = verdict_errors(run) + report_errors(run, routed=None)
    counters = run.reports[0]["routines"]["dsymv"]
    print(f"rented: {counters}")
    if not counters["routed"] or not counters["stayed"].get(TRANSFERS) or not counters["stayed"].get(STARTUP):
        found.append(f"{counters}")
    if counters["bytes_in"] != triangle + counters["routed"] * vector:
        found.append(f"{counters['bytes_in']} bytes in: not the triangle once and x in every call")
    return errors + labelled("many calls", found)


def symv_threads(s: Setting) -> list[str]:
    """8 threads call with one matrix at once; it is written while none of them does. With and without room for a
    copy and a triangle beside it."""
    errors = []
    for copies in ("off", "auto", "always"):
        for memory in ("64M", "5M"):
            settings = FORCED | {"BLASLIFT_RESIDENCY": copies, "BLASLIFT_MEMORY": memory}
            run = s.run("symv", "threads", settings=settings)
            found = verdict_errors(run) + report_errors(run, routed=True)
            spared = run.reports[0]["routines"]["dsymv"]["bytes_spared"] if run.reports else 0
            kept = copies == "always" and memory == "64M" and run.reports and run.reports[0]["residency"] == "on"
            if kept and not spared:
                found.append("no copy was used")
            print(f"copies {copies}, memory {memory}: {spared} bytes spared")
            errors += labelled(f"copies {copies}, memory {memory}", found)
    return errors


def gemv_copies(s: Setting) -> list[str]:
    """X w and X' r of one row-major X: it moves once for both, and again where it has been written, to the last byte."""
    if s.run("gemv", "fit", "1", "0", settings=FORCED).reports[0]["residency"] != "on":
        raise harness.Skip("copies cannot be kept on this machine")
    errors = []
    rows, columns, element = 1000, 300, 8
    matrix, w, r = rows * columns * element, columns * element, rows * element
    for rounds, writes in ((1, 0), (5, 0), (4, 2)):
        run = s.run("gemv", "fit", str(rounds), str(writes), settings=FORCED)
        found = verdict_errors(run) + report_errors(run, routed=True)
        counters = run.reports[0]["routines"]["dgemv"]
        # x and, of the second product, y; before a write is found, the device has begun with x and the copy as it was.
        vectors = rounds * (w + r + w) + writes * w
        again = counters["bytes_in"] - matrix - vectors
        # The written page, as a block of columns, which are the rows here: each one that has an element in it.
        if not (again == 0 if writes == 0 else writes * element <= again <= writes * 4 * w):
            found.append(f"{counters['bytes_in']} bytes in: {again} more than the matrix once and the vectors")
        if counters["bytes_out"] != rounds * (w + r):
            found.append(f"{counters['bytes_out']} bytes out")
        if counters["bytes_spared"] != (2 * rounds - 1) * matrix - again:
            found.append(f"{counters['bytes_spared']} bytes spared")
        errors += labelled(f"{rounds} rounds, {writes} after writes", found)
        print(f"{rounds} rounds, {writes} after writes: {counters}")
    return errors + gemv_rents(s)


def gemv_rents(s: Setting) -> list[str]:
    """Not forced: the CPU computes until a copy would have saved what it costs, then the matrix moves once."""
    matrix, vector = 600 * 600 * 8, 600 * 8
    with tempfile.TemporaryDirectory(prefix="blaslift-profiles-") as folder:
        profile = Path(folder, "reluctant.profile")
        profile.write_text(RELUCTANT)
        settings = HOST | {"BLASLIFT_PROFILE": str(profile)}
        few = s.run("gemv", "powers", "2", settings=settings)
        run = s.run("gemv", "powers", "600", settings=settings)
        off = s.run("gemv", "powers", "600", settings=settings | {"BLASLIFT_RESIDENCY": "off"})
    errors = labelled("few calls", verdict_errors(few) + report_errors(few, routed=False))
    errors += labelled("without copies", verdict_errors(off) + report_errors(off, routed=False))
    found = verdict_errors(run) + report_errors(run, routed=None)
    counters = run.reports[0]["routines"]["dgemv"]
    print(f"rented: {counters}")
    if not counters["routed"] or not counters["stayed"].get(TRANSFERS) or not counters["stayed"].get(STARTUP):
        found.append(f"{counters}")
    if counters["bytes_in"] != matrix + counters["routed"] * vector:
        found.append(f"{counters['bytes_in']} bytes in: not the matrix once and x in every call")
    # Four at least, before the host backend is known to be slower than the profile says.
    if counters["routed"] < 4:
        found.append("the copy is not used by the calls that follow")
    return errors + labelled("many calls", found)


def wsymv_semantics(s: Setting) -> list[str]:
    """blaslift_wsymv against higher precision, with the same bits on the device and on the CPU."""
    errors, bits = [], {}
    for mode, settings in {"natural": HOST, "forced": FORCED}.items():
        run = s.run("wsymv", settings=settings)
        errors += labelled(mode, verdict_errors(run) + report_errors(run, routed=True if mode == "forced" else None))
        bits[mode] = run.stdout.splitlines()[0]
        print(f"{mode}: {told(run)}, {bits[mode]}")
    return errors if len(set(bits.values())) == 1 else [*errors, f"{bits}"]


PROMISES = (wsymv_semantics, symv_semantics, symv_stays, symv_faults_at_every_k, symv_copies, symv_threads, gemv_copies)
