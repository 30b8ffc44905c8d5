"""The promises for QR: LAPACK's format to the letter, nothing lost, copies never stale."""

from __future__ import annotations

from pathlib import Path

import harness
from faults import ELEMENT, fault_errors
from harness import INVALID_ARGUMENTS, NOTHING_TO_MULTIPLY, WORKSPACE_QUERY
from setting import FORCED, HOST, Setting, labelled, report_errors, stay_errors, told, verdict_errors

ONLY_GEQRF = HOST | {"BLASLIFT_FORCE": "geqrf"}


def qr_modes(s: Setting) -> dict[str, dict[str, str]]:
    return {"forced": FORCED} if s.sanitizer else {"natural": {}, "forced": FORCED}


def qr_semantics(s: Setting) -> list[str]:
    """R, reflectors and tau of matrices that are hard on a QR; the least workspace; nothing beside is written."""
    errors = []
    for mode, settings in qr_modes(s).items():
        run = s.run("qr", "semantics", settings=settings)
        found = verdict_errors(run) + report_errors(run, routed=mode == "forced")
        errors += labelled(mode, found)
        print(f"{mode}: {told(run)}")
    return errors


def qr_products(s: Setting) -> list[str]:
    """Products with Q on either side, Q itself; operands and gaps stay as they are."""
    errors = []
    for provider in s.providers:
        # Under sanitizers, large ones are multiplied in parts.
        for program in ("products",) if s.sanitizer else ("products", "large_products"):
            run = s.run("qr", program, provider=provider, settings=FORCED)
            errors += labelled(f"{provider}, {program}", verdict_errors(run) + report_errors(run, routed=True))
            print(f"{provider}, {program}: {told(run)}")
    return errors


def qr_consumers(s: Setting) -> list[str]:
    """The CPU's own ormqr and orgqr read our factors."""
    errors = []
    for provider in s.providers:
        run = s.run("qr", "consumers", provider=provider, settings=ONLY_GEQRF)
        found = verdict_errors(run)
        for name, account in harness.accounts(run.reports).items():
            if name.endswith("geqrf") and (account.calls != told(run)[name] or account.routed != account.calls):
                found.append(f"{name}: {account}")
        errors += labelled(provider, found)
        print(f"{provider}: {told(run)}")
    return errors


def qr_stays(s: Setting) -> list[str]:
    """What is no QR, or none that the reference accepts, ends as without blaslift."""
    cases = {"stays": {NOTHING_TO_MULTIPLY}, "identity": {NOTHING_TO_MULTIPLY}, "invalid": {INVALID_ARGUMENTS}, "queries": {WORKSPACE_QUERY}}
    return stay_errors(s, "qr", cases, qr_modes(s), judged=s.providers)


def qr_faults_at_every_k(s: Setting) -> list[str]:
    """Each operation of two factorisations fails in turn, and each of two products with Q; what is left is right every
    time."""
    errors = []
    elements = {"faults": 24 * 18 + 18 + 10 * 21 + 10, "product_faults": 20 * 9 + 20 * 14}
    for precision in "z" if s.sanitizer else "sdcz":
        for which in ("faults", "product_faults"):
            for copies in ("off", "always"):
                if which == "product_faults" and (precision in "sc" or (s.sanitizer and copies == "off")):
                    continue
                settings = FORCED | {"BLASLIFT_RESIDENCY": copies, "BLASLIFT_MEMORY": "1M"}
                run = s.run("qr", which, precision, settings=settings, library=s.fault_library, timeout=200)
                label = f"{which} {precision}, copies {copies}"
                errors += labelled(label, fault_errors(run, elements[which] * ELEMENT[precision], label, copies))
    # Larger than the device's memory: reflectors are sent again.
    run = s.run("qr", "part_faults", "d", settings=FORCED | {"BLASLIFT_MEMORY": "26K"}, library=s.fault_library,
                timeout=200)
    size = (40 * 40 + 40 + 10 * 12 + 10) * ELEMENT["d"]
    errors += labelled("in parts", fault_errors(run, size, "in parts"))
    if not any(report["routines"]["dgeqrf"]["bytes_in"] > size for report in run.reports):
        errors.append("in parts: nothing was sent again")
    return errors


def qr_copies(s: Setting) -> list[str]:
    """A product's result is factored where it is, and the factors are used where they are; the bits are the same."""
    errors = []
    lines = {}
    for copies in ("off", "always"):
        run = s.run("qr", "copies", settings=FORCED | {"BLASLIFT_RESIDENCY": copies})
        found = verdict_errors(run) + report_errors(run, routed=True)
        counters = run.reports[0]["routines"]
        if copies == "always" and run.reports[0]["residency"] == "on":
            if counters["dgeqrf"]["bytes_in"] or not counters["dgeqrf"]["bytes_spared"]:
                found.append(f"the product was sent again: {counters['dgeqrf']}")
            if not counters["dormqr"]["bytes_spared"]:
                found.append(f"the reflectors were sent again: {counters['dormqr']}")
            if not counters["dgemm"]["bytes_spared"]:
                found.append("the factors were sent again")
        lines[copies] = [line for line in run.stdout.splitlines() if line.startswith("round")]
        print(f"copies {copies}: {counters}")
        errors += labelled(f"copies {copies}", found)
    if lines["off"] != lines["always"]:
        errors.append(f"other bits with copies: {lines}")
    return errors


def qr_by_profile(s: Setting) -> list[str]:
    """Widths come from the profile: other ones are other bits, and as right; a line of another form is said to be one."""
    errors = []
    lines = {}
    with harness.scratch() as scratch:
        for name, text in {"built in": "", "own": "dqr_widths 1 any:24x8\n", "unknown": "dqr_widths 2 any:24x8\n"}.items():
            profile = Path(scratch, name.replace(" ", "-"))
            profile.write_text(text)
            run = s.run("qr", "copies", settings=FORCED | {"BLASLIFT_PROFILE": str(profile)})
            warned = [line for line in run.stderr.splitlines() if "dqr_widths 2 any:24x8" in line]
            if len(warned) != (name == "unknown") or len(run.stderr.splitlines()) != len(warned):
                errors.append(f"{name}: stderr {run.stderr!r}")
            found = [error for error in verdict_errors(run) if not error.startswith("stderr")]
            errors += labelled(name, found + report_errors(run, routed=True))
            lines[name] = [line for line in run.stdout.splitlines() if line.startswith("round")]
    if lines["own"] == lines["built in"] or lines["unknown"] != lines["built in"]:
        errors.append(f"the bits: {lines}")
    return errors


def qr_as_stream(s: Setting) -> list[str]:
    """The first updates piece by piece: other operations on the device, and a result that is as right, again and again."""
    errors = []
    operations = {}
    with harness.scratch() as scratch:
        profile = Path(scratch, "profile")
        profile.write_text("".join(f"{precision}qr_widths 1 any:6x3\n" for precision in "sdcz"))
        for way in ("bulk", "stream"):
            count = Path(scratch, way)
            settings = FORCED | {"BLASLIFT_PROFILE": str(profile), "BLASLIFT_QR": way, "BLASLIFT_VERIFY": "all"}
            run = s.run("qr", "copies", settings=settings, library=s.fault_library, INJECTED_FAULT_COUNT=str(count))
            found = verdict_errors(run) + report_errors(run, routed=True)
            for name, counters in run.reports[0]["routines"].items():
                if counters["verified"]["wrong"] or counters["verified"]["repeated"] != counters["routed"]:
                    found.append(f"{name}: {counters['verified']}, {run.reports[0]['worst'][:3]}")
            errors += labelled(way, found)
            operations[way] = int(count.read_text())
    print(operations)
    if operations["stream"] <= operations["bulk"]:
        errors.append(f"updates are no stream: {operations}")
    return errors


def qr_in_parts(s: Setting) -> list[str]:
    """What is larger than the device's memory goes through it in parts, a matrix of its columns, and what Q is applied to;
    every call is made twice."""
    errors = []
    sent = {}
    ways = (("semantics", "300K"), ("large_products", "300K"), ("large_products", "64M"))
    for program, memory in ways if harness.AT_LENGTH or not s.sanitizer else ways[:1]:
        # Without copies, more is sent only because it is sent more than once.
        settings = FORCED | {"BLASLIFT_MEMORY": memory, "BLASLIFT_VERIFY": "all", "BLASLIFT_RESIDENCY": "off"}
        run = s.run("qr", program, settings=settings, timeout=200)
        found = verdict_errors(run) + report_errors(run, routed=True)
        for name, counters in run.reports[0]["routines"].items():
            sent[program, memory, name] = counters["bytes_in"]
            if program == "semantics" and counters["bytes_in"] <= counters["bytes_out"]:
                found.append(f"{name}: no reflectors were sent again: {counters}")
            if memory == "64M" and counters["bytes_in"] >= sent["large_products", "300K", name]:
                found.append(f"{name}: nothing was sent again: {sent}")
            if counters["verified"]["wrong"] or counters["verified"]["repeated"] != counters["routed"]:
                found.append(f"{name}: {counters['verified']}, {run.reports[0]['worst'][:3]}")
        errors += labelled(f"{program} in {memory}", found)
        print(program, memory, told(run))
    return errors


def qr_by_rows(s: Setting) -> list[str]:
    """Three devices deal out a tall matrix's rows, none of which leaves its device: little but triangles is exchanged."""
    run = s.run("qr", "tall", settings=FORCED | {"BLASLIFT_DEVICES": "3", "BLASLIFT_VERIFY": "all"}, timeout=200)
    errors = verdict_errors(run) + report_errors(run, routed=True)
    for name, counters in run.reports[0]["routines"].items():
        if not 0 < counters["bytes_exchanged"] < 0.2 * counters["bytes_in"]:
            errors.append(f"{name}: {counters['bytes_exchanged']} of {counters['bytes_in']} bytes from device to device")
        if counters["dealt"] != counters["routed"]:
            errors.append(f"{name}: {counters['dealt']} of {counters['routed']} calls were dealt out")
        if counters["verified"]["wrong"] or counters["verified"]["repeated"] != counters["routed"]:
            errors.append(f"{name}: {counters['verified']}, {run.reports[0]['worst'][:3]}")
    run = s.run("qr", "tall_not_finite", settings=FORCED | {"BLASLIFT_DEVICES": "3"}, timeout=200)
    return errors + verdict_errors(run) + report_errors(run, routed=True)


def qr_threads(s: Setting) -> list[str]:
    """Threads factor at once; and the process ends while they do."""
    errors = []
    for memory in ("64M", "200K"):
        run = s.run("qr", "threads", settings=FORCED | {"BLASLIFT_MEMORY": memory})
        errors += labelled(f"memory {memory}", verdict_errors(run) + report_errors(run, routed=True))
    for repetition in range(4):
        run = s.run("qr", "exiting", settings=FORCED, timeout=60)
        if run.status != 0 or run.stdout or run.stderr:
            errors.append(f"exit {repetition}: status {run.status}, {run.stdout!r}, {run.stderr!r}")
    return errors


PROMISES = (
    qr_semantics,
    qr_products,
    qr_consumers,
    qr_stays,
    qr_faults_at_every_k,
    qr_copies,
    qr_by_profile,
    qr_as_stream,
    qr_in_parts,
    qr_by_rows,
    qr_threads,
)
