"""The promises for singular value decompositions beyond those of every routine: a matrix that is not finite."""

from __future__ import annotations

import harness
from eigen import as_underneath
from setting import HOST, Setting, labelled, told, verdict_errors

FORCED = HOST | {"BLASLIFT_FORCE": "gesdd,gesvd"}
"""What the library calls meanwhile stays."""

DRIVERS = ("gesdd", "gesvd")


def svd_not_finite(s: Setting) -> list[str]:
    """A matrix that turns out not to be finite on the device ends as the library underneath leaves it, bit for bit, and with
    its info: with and without copies, and checked."""
    oracle = str(harness.PROVIDERS["reference"][1] / "liblapack.so.3")
    checked = {"checked": {"BLASLIFT_VERIFY": "all", "BLASLIFT_VERIFY_ORACLE": oracle}}
    # With NaN not every library's gesvd comes to an end.
    return as_underneath(s, ("gesdd",), harness.NOT_CONVERGED, checked, "svd", FORCED)


def svd_elsewhere(s: Setting) -> list[str]:
    """Where the device lacks the library that it takes, such a call stays and says why; in device memory, where nothing is
    taken back, info is 1."""
    errors = []
    for driver in DRIVERS:
        plain = s.run("svd", driver, preload=False)
        bare = s.run("svd", driver, settings=FORCED, library=s.fault_library, INJECTED_FAULT="bare")
        errors += labelled(f"{driver}, bare", verdict_errors(bare))
        if bare.stdout != plain.stdout:
            errors.append(f"{driver}, bare: other results")
        there = s.run("svd", driver, settings=FORCED, library=s.fault_library, INJECTED_DEVICE_MEMORY=f"0:{1 << 40}")
        errors += labelled(f"{driver}, in device memory", verdict_errors(there))
        lines = [line for line in there.stdout.splitlines() if ": info " in line]
        errors += [f"{driver}, in device memory: {line}" for line in lines if ": info 1," not in line][:5]
        for name, calls in told(plain).items():
            stayed, account = harness.accounts(bare.reports)[name].stayed, harness.accounts(there.reports)[name]
            if stayed[harness.NO_ROUTE] != calls or account.routed != calls:
                errors.append(f"{name}: {calls} calls, bare {stayed}, in device memory {account}")
        print(f"{driver}: {len(lines)} calls in device memory")
        errors += [] if lines else ["nothing was called"]
    return errors


PROMISES = (svd_not_finite, svd_elsewhere)
