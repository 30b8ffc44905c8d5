"""The promises for triangular routines beyond those of every routine: a zero on the diagonal, a B that is not finite."""

from __future__ import annotations

import re

import harness
from setting import HOST, Setting, labelled, told, verdict_errors

ROUTINES = ("trtrs", "trtri", "potri", "getri")


def said_otherwise(stdout: str) -> list[str]:
    """Lines whose info is not the first zero's number."""
    said = re.findall(r"zero (\d+): info (-?\d+)", stdout)
    return [f"zero {zero}: info {info}" for zero, info in said if zero != info][:5] or ([] if said else ["nothing was called"])


def zero_on_diagonal(s: Setting) -> list[str]:
    """It ends as the library underneath leaves it, bit for bit and with its info: with and without copies, and checked."""
    errors = []
    for routine in ROUTINES:
        forced = HOST | {"BLASLIFT_FORCE": routine}  # what the library calls meanwhile stays
        for provider in s.providers:
            plain = s.run("zeros", routine, provider=provider, preload=False)
            errors += labelled(f"{provider} {routine} without blaslift", verdict_errors(plain))
            if provider == "reference":
                errors += labelled(f"{provider} {routine}", said_otherwise(plain.stdout))
            for mode, settings in {"natural": {}, "copies": {"BLASLIFT_RESIDENCY": "always"}, "checked": {"BLASLIFT_VERIFY": "all"}}.items():
                run = s.run("zeros", routine, provider=provider, settings=forced | settings)
                found = verdict_errors(run)
                if run.stdout != plain.stdout:
                    theirs, ours = plain.stdout.splitlines(), run.stdout.splitlines()
                    found += [f"{ours}, not {its}" for its, ours in zip(theirs, ours) if its != ours][:5]
                accounts = harness.accounts(run.reports)
                for name, calls in told(run).items():
                    if accounts[name].stayed[harness.SINGULAR] < calls or accounts[name].routed:
                        found.append(f"{name}: {accounts[name]}")
                errors += labelled(f"{provider} {routine} {mode}", found)
    return errors


def zero_on_diagonal_in_device_memory(s: Setting) -> list[str]:
    """There the diagonal comes home first: nothing is written, and info says where the zero is."""
    errors = []
    for routine in ROUTINES:
        settings = HOST | {"BLASLIFT_FORCE": routine}
        # Pivots of at most 90 columns are in the host's memory, and small matrices are.
        least = 400 if routine == "getri" else 0
        run = s.run("zeros", routine, settings=settings, library=s.fault_library, INJECTED_DEVICE_MEMORY=f"{least}:{1 << 40}")
        errors += labelled(routine, verdict_errors(run))
        errors += labelled(routine, said_otherwise(run.stdout))
        accounts = harness.accounts(run.reports)
        for name, calls in told(run).items():
            account = accounts[name]
            if set(account.stayed) - {harness.SINGULAR} or account.routed < 0.5 * calls:
                errors.append(f"{name}: {account}")
        if not told(run):
            errors.append(f"{routine}: called nothing")
    return errors


def product_not_finite(s: Setting) -> list[str]:
    """A trmm whose B is not finite ends as the library underneath leaves it, bit for bit: with and without copies, and
    checked. In device memory it is computed there (promises.suite.trmm.device)."""
    errors = []
    for provider in s.providers:
        plain = s.run("not_finite", provider=provider, preload=False)
        errors += labelled(f"{provider} without blaslift", verdict_errors(plain))
        for mode, settings in {"natural": {}, "copies": {"BLASLIFT_RESIDENCY": "always"}, "checked": {"BLASLIFT_VERIFY": "all"}}.items():
            run = s.run("not_finite", provider=provider, settings=HOST | {"BLASLIFT_FORCE": "trmm"} | settings)
            found = verdict_errors(run)
            if run.stdout != plain.stdout:
                found += [f"{ours}, not {its}" for its, ours in zip(plain.stdout.splitlines(), run.stdout.splitlines()) if its != ours][:5]
            accounts = harness.accounts(run.reports)
            for name, calls in told(run).items():
                if accounts[name].stayed[harness.NOT_FINITE] != calls or accounts[name].calls != calls:
                    found.append(f"{name}: {accounts[name]}")
            if not told(run):
                found.append("called nothing")
            errors += labelled(f"{provider} {mode}", found)
    return errors


def product_wide(s: Setting) -> list[str]:
    """A trmm with more columns or rows than come home in one piece, of a B in device memory and in the host's."""
    errors = []
    plain = s.run("not_finite", "wide", preload=False)
    for place, (settings, more) in {
        "device": ({}, {"INJECTED_DEVICE_MEMORY": f"{1 << 20}:{1 << 40}"}),
        "host": ({}, {}),
        "little": ({"BLASLIFT_MEMORY": "16M"}, {}),
    }.items():
        library = {"library": s.fault_library} if more else {}
        run = s.run("not_finite", "wide", settings=HOST | {"BLASLIFT_FORCE": "trmm"} | settings, **library, **more)
        found = verdict_errors(run)
        if run.stdout != plain.stdout:
            found.append(f"{run.stdout}, not {plain.stdout}")
        accounts = harness.accounts(run.reports)
        found += [f"{name}: {accounts[name]}" for name, calls in told(run).items() if accounts[name].routed != calls]
        errors += labelled(place, found if told(run) else ["called nothing"])
    return errors


PROMISES = (zero_on_diagonal, zero_on_diagonal_in_device_memory, product_not_finite, product_wide)
