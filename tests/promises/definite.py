"""The promises for Cholesky's factors beyond those of every routine: a matrix that is not positive definite."""

from __future__ import annotations

import re

import harness
from setting import HOST, Setting, labelled, told, verdict_errors


def not_definite(s: Setting) -> list[str]:
    """A matrix that turns out not to be positive definite on the device ends as the library underneath leaves it, bit for
    bit, and with its info: in one part, in strips, and with copies."""
    errors = []
    forced = HOST | {"BLASLIFT_FORCE": "potrf"}  # what the library calls meanwhile stays
    modes = {"one part": {}, "strips": {"BLASLIFT_MEMORY": "40K"}, "copies": {"BLASLIFT_RESIDENCY": "always"}}
    # What the CPU has left half-made is not taken for a wrong result.
    modes["checked"] = {"BLASLIFT_VERIFY": "all", "BLASLIFT_VERIFY_ORACLE": str(harness.PROVIDERS["reference"][1] / "liblapack.so.3")}
    for provider in s.providers:
        plain = s.run("definite", provider=provider, preload=False)
        errors += labelled(f"{provider} without blaslift", verdict_errors(plain))
        said = re.findall(r"pivot (\d+) of \S+ info (-?\d+)", plain.stdout)
        if not said or (provider == "reference" and any(pivot != info for pivot, info in said)):  # OpenBLAS lets NaN pass
            errors.append(f"{provider} says {said}")
        for mode, settings in modes.items():
            run = s.run("definite", provider=provider, settings=forced | settings)
            found = verdict_errors(run)
            if run.stdout != plain.stdout:
                theirs, ours = plain.stdout.splitlines(), run.stdout.splitlines()
                found += [f"{ours}, not {its}" for its, ours in zip(theirs, ours) if its != ours][:5]
            accounts = harness.accounts(run.reports)
            verified = [r["routines"][name].get("verified", {}) for r in run.reports for name in told(run)]
            if mode == "checked" and (any(v["wrong"] for v in verified) or not all(v["checked"] for v in verified)):
                found.append(f"checked: {verified}")
            for name, calls in told(run).items():
                if (accounts[name].calls, dict(accounts[name].stayed)) != (calls, {harness.NOT_DEFINITE: calls}):
                    found.append(f"{name}: {accounts[name]}")
            errors += labelled(f"{provider} {mode}", found)
        print(f"{provider}: {told(plain)}")
    return errors


def bare_device(s: Setting) -> list[str]:
    """Where the device lacks the library that a routine needs, its calls stay, and say why."""
    errors = []
    settings = HOST | {"BLASLIFT_FORCE": "potrf,gemm"}
    plain = s.run("definite", preload=False)
    for fault, reason in (("bare", harness.NO_ROUTE), ("0", harness.NOT_DEFINITE)):
        run = s.run("definite", settings=settings, library=s.fault_library, INJECTED_FAULT=fault)
        errors += labelled(fault, verdict_errors(run))
        if run.stdout != plain.stdout:
            errors.append(f"{fault}: other results")
        accounts = harness.accounts(run.reports)
        for name, calls in told(run).items():
            if accounts[name].stayed[reason] != calls:
                errors.append(f"{fault} {name}: {accounts[name]}")
    return errors


PROMISES = (not_definite, bare_device)
