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


PROMISES = (eigen_not_finite,)
