"""The promises for geqr and gemqr, whose format only they know: right whoever makes T, and whoever applies it."""

from __future__ import annotations

import harness
from faults import FAILED, NO_DEVICE, NO_ROOM
from harness import INVALID_ARGUMENTS, NOTHING_TO_MULTIPLY, OF_LIBRARY, WORKSPACE_QUERY
from setting import FORCED, HOST, Setting, labelled, report_errors, stay_errors, told, verdict_errors


def of(total: dict[str, harness.Account], name: str) -> list[harness.Account]:
    return [account for routine, account in total.items() if routine[1:] == name]


def compact_semantics(s: Setting) -> list[str]:
    """Q and R of matrices that are hard on a QR, and all products with Q, whichever of the two is computed here."""
    errors = []
    modes = {"natural": "", "both": "all", "only geqr": "geqr", "only gemqr": "gemqr"}
    for provider in s.providers:
        for mode, forced in modes.items():
            if mode != "both" and (s.sanitizer or provider != s.providers[0]):
                continue
            run = s.run("compact_qr", "semantics", provider=provider, settings=HOST | {"BLASLIFT_FORCE": forced}
                        if forced else {})
            found = verdict_errors(run)
            # What the library underneath multiplies on its way is counted, too.
            total = {name: a for name, a in harness.accounts(run.reports).items() if name in harness.QRS}
            if {name: a.calls for name, a in total.items()} != told(run) or len(run.reports) != 1:
                found.append(f"called {told(run)}, counted {total}")
            if mode in ("both", "natural"):
                found += [f"{name}: {a}" for name, a in total.items() if a.routed != (a.calls if mode == "both" else 0)]
            if mode == "only geqr":
                found += [f"geqr: {a}" for a in of(total, "geqr") if a.routed != a.calls]
                # On the CPU, by ormqr: for what they are, and not for what T is.
                found += [f"gemqr: {a}" for a in of(total, "gemqr") if a.routed or a.stayed[OF_LIBRARY]]
            if mode == "only gemqr":
                found += [f"gemqr: {a}" for a in of(total, "gemqr") if a.stayed[OF_LIBRARY] != a.calls]
            errors += labelled(f"{provider} {mode}", found)
            print(f"{provider} {mode}: {told(run)}")
    return errors


def compact_verified(s: Setting) -> list[str]:
    """Verification judges them as it does geqrf and ormqr, beside the library underneath and beside another."""
    errors = []
    openblas = harness.PROVIDERS["openblas"][0] / "liblapack.so.3"
    for label, more in {"underneath": {}, "oracle": {"BLASLIFT_VERIFY_ORACLE": str(openblas)}}.items():
        for forced in ("all", "none") if more else ("all",):
            settings = HOST | {"BLASLIFT_VERIFY": "all"} | more | (FORCED if forced == "all" else {})
            run = s.run("compact_qr", "semantics", settings=settings, timeout=200)
            found = verdict_errors(run)
            for name, counters in run.reports[0]["routines"].items():
                if name not in harness.QRS:
                    continue
                verified = counters.get("verified", {"wrong": 0, "checked": 0})
                due = counters["calls"] if forced == "all" else 0
                if verified["wrong"] or not counters["routed"] == verified["checked"] == due:
                    found.append(f"{name}: {counters['routed']} routed, {verified}, {run.reports[0]['worst'][:3]}")
            errors += labelled(f"{label}, {forced}", found)
    return errors


def compact_stays(s: Setting) -> list[str]:
    """What is no QR, or none that LAPACK accepts, ends as without blaslift; so does what is asked of a T in use."""
    cases = {
        "stays": {NOTHING_TO_MULTIPLY, OF_LIBRARY},
        "invalid": {INVALID_ARGUMENTS, WORKSPACE_QUERY},
        "queries": {WORKSPACE_QUERY},
    }
    modes = {"forced": FORCED} if s.sanitizer else {"natural": {}, "forced": FORCED}
    errors = stay_errors(s, "compact_qr", cases, modes, judged=s.providers)
    for provider in s.providers:
        plain = s.run("compact_qr", "kept", provider=provider, preload=False)
        run = s.run("compact_qr", "kept", provider=provider, settings=FORCED)
        found = verdict_errors(run) + report_errors(run, routed=None, stayed={INVALID_ARGUMENTS, WORKSPACE_QUERY})
        if "T is the library's" not in plain.stdout or "T is ours" not in run.stdout:
            found.append("whose T is it?")
        if plain.stdout.replace("T is the library's", "T is ours") != run.stdout:
            found.append(f"without blaslift {plain.stdout!r}, with {run.stdout!r}")
        for name, account in harness.accounts(run.reports).items():
            if account.routed != (1 if name.endswith("geqr") else 2):
                found.append(f"{name}: {account}")
        errors += labelled(f"{provider} kept", found)
    return errors


def compact_faults_at_every_k(s: Setting) -> list[str]:
    """Each operation of a factorisation and of a product with its Q fails in turn: T is then the library's, or the
    library multiplies by what is ours."""
    errors = []
    for precision in "z" if s.sanitizer else "dc":
        run = s.run("compact_qr", "faults", precision, settings=FORCED, library=s.fault_library, timeout=200)
        faults = [line.split()[1] for line in run.stdout.splitlines() if line.startswith("child ")]
        found = [error for error in verdict_errors(run) if "stderr" not in error]
        if len(run.reports) != len(faults):
            found.append(f"{len(run.reports)} reports from {len(faults)} children")
        lost = {"geqr": 0, "gemqr": 0}
        for fault, report in zip(faults, run.reports):
            total = harness.accounts([report])
            (geqr,), (gemqr,) = of(total, "geqr"), of(total, "gemqr")
            if fault == "0" and not (geqr.routed and gemqr.routed):
                found.append(f"0: {total}")
            if geqr.calls != 1 or gemqr.calls != 1 or set(geqr.stayed) - {FAILED, NO_ROOM, NO_DEVICE}:
                found.append(f"{fault}: {total}")
            if geqr.routed and set(gemqr.stayed) - {FAILED, NO_ROOM, NO_DEVICE}:
                found.append(f"{fault}: {total}")
            if not geqr.routed and gemqr.stayed[OF_LIBRARY] != 1:
                found.append(f"{fault}: {total}")
            lost["geqr"] += not geqr.routed
            lost["gemqr"] += bool(geqr.routed and not gemqr.routed)
        if min(lost.values()) < 10:
            found.append(f"faults struck {lost}")
        print(f"{precision}: {len(faults)} children, struck {lost}")
        errors += labelled(precision, found)
    return errors


def compact_in_little_memory(s: Setting) -> list[str]:
    """The library's ormqr multiplies by a Q of ours, also where there is no memory for the workspace it asks for."""
    if s.sanitizer:  # which need all of the address space
        raise harness.Skip("sanitizers need all of the address space")
    run = s.run("compact_qr", "memory", settings=HOST | {"BLASLIFT_FORCE": "geqr"})
    total = harness.accounts(run.reports)
    errors = verdict_errors(run) + report_errors(run, routed=None)
    if total["dgeqr"].routed != 1 or total["dgemqr"].routed:
        errors.append(f"{total}")
    return errors


PROMISES = (compact_semantics, compact_verified, compact_stays, compact_faults_at_every_k, compact_in_little_memory)
