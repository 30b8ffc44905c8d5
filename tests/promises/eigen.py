"""The promises for eigenproblems beyond those of every routine: a matrix that is not finite."""

from __future__ import annotations

import harness
from setting import HOST, Setting, labelled, told, verdict_errors


def eigen_not_finite(s: Setting) -> list[str]:
    """A matrix that turns out not to be finite on the device ends as the library underneath leaves it, bit for bit, and with
    its info: with and without copies, and checked."""
    errors = []
    forced = HOST | {"BLASLIFT_FORCE": "syevd,heevd"}  # what the library calls meanwhile stays
    modes = {"natural": {}, "copies": {"BLASLIFT_RESIDENCY": "always"}}
    modes["checked"] = {"BLASLIFT_VERIFY": "all", "BLASLIFT_VERIFY_ORACLE": str(harness.PROVIDERS["reference"][1] / "liblapack.so.3")}
    for provider in s.providers:
        plain = s.run("eigen", provider=provider, preload=False)
        errors += labelled(f"{provider} without blaslift", verdict_errors(plain))
        for mode, settings in modes.items():
            run = s.run("eigen", provider=provider, settings=forced | settings)
            found = verdict_errors(run)
            if run.stdout != plain.stdout:
                theirs, ours = plain.stdout.splitlines(), run.stdout.splitlines()
                found += [f"{our}, not {its}" for its, our in zip(theirs, ours) if its != our][:5]
            accounts = harness.accounts(run.reports)
            verified = [r["routines"][name].get("verified", {}) for r in run.reports for name in told(run)]
            if mode == "checked" and (any(v["wrong"] for v in verified) or not all(v["checked"] for v in verified)):
                found.append(f"checked: {verified}")
            for name, calls in told(run).items():
                if (accounts[name].calls, dict(accounts[name].stayed)) != (calls, {harness.NOT_CONVERGED: calls}):
                    found.append(f"{name}: {accounts[name]}")
            errors += labelled(f"{provider} {mode}", found)
        print(f"{provider}: {told(plain)}")
    return errors


def eigen_elsewhere(s: Setting) -> list[str]:
    """Where the device lacks the library that it takes, such a call stays and says why; in device memory, where nothing is
    taken back, info is 1."""
    settings = HOST | {"BLASLIFT_FORCE": "syevd,heevd"}
    plain = s.run("eigen", preload=False)
    bare = s.run("eigen", settings=settings, library=s.fault_library, INJECTED_FAULT="bare")
    errors = labelled("bare", verdict_errors(bare))
    if bare.stdout != plain.stdout:
        errors.append("bare: other results")
    there = s.run("eigen", settings=settings, library=s.fault_library, INJECTED_DEVICE_MEMORY=f"0:{1 << 40}")
    errors += labelled("in device memory", verdict_errors(there))
    lines = [line for line in there.stdout.splitlines() if ": info " in line]
    errors += [f"in device memory: {line}" for line in lines if ": info 1," not in line][:5]
    for name, calls in told(plain).items():
        stayed, account = harness.accounts(bare.reports)[name].stayed, harness.accounts(there.reports)[name]
        if stayed[harness.NO_ROUTE] != calls or account.routed != calls:
            errors.append(f"{name}: {calls} calls, bare {stayed}, in device memory {account}")
    print(f"{len(lines)} calls in device memory")
    return errors if lines else [*errors, "nothing was called"]


PROMISES = (eigen_not_finite, eigen_elsewhere)
