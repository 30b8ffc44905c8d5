"""The promises for general eigenproblems beyond those of every routine: a matrix that is not finite, and left eigenvectors."""

from __future__ import annotations

import harness
from eigen import as_underneath, other_lines
from harness import Run
from setting import HOST, Setting, labelled, told, verdict_errors

FORCED = HOST | {"BLASLIFT_FORCE": "geev"}
"""What the library calls meanwhile stays."""


def other_lines_but_undefined(run: Run, plain: Run) -> list[str]:
    """GEBAL sets no bounds where it finds NaN (LAPACK before 3.12), and GEEV goes on with what was on the stack: whether HSEQR
    takes that for a mistake, info -4, is chance."""
    mistaken = ": info -4,"
    return [line for line in other_lines(run, plain) if line.count(mistaken) != 1]


def general_eigen_not_finite(s: Setting) -> list[str]:
    """A matrix that turns out not to be finite on the device ends as the library underneath leaves it, bit for bit, and with
    its info: with and without copies."""
    return as_underneath(s, ("not_finite",), harness.NOT_CONVERGED, {}, "general_eigen", FORCED, other_lines_but_undefined)


def general_eigen_left(s: Setting) -> list[str]:
    """Left eigenvectors are computed by the library underneath."""
    return as_underneath(s, ("left",), harness.OF_LEFT, {}, "general_eigen", FORCED)


def general_eigen_elsewhere(s: Setting) -> list[str]:
    """Where the device lacks the library that it takes, such a call stays and says why; in device memory, where nothing is
    taken back, info is 1."""
    errors = []
    plain = s.run("general_eigen", "not_finite", preload=False)
    bare = s.run("general_eigen", "not_finite", settings=FORCED, library=s.fault_library, INJECTED_FAULT="bare")
    errors += labelled("bare", verdict_errors(bare))
    errors += labelled("bare", other_lines_but_undefined(bare, plain))
    there = s.run("general_eigen", "not_finite", settings=FORCED, library=s.fault_library, INJECTED_DEVICE_MEMORY=f"0:{1 << 40}")
    errors += labelled("in device memory", verdict_errors(there))
    lines = [line for line in there.stdout.splitlines() if ": info " in line]
    errors += [f"in device memory: {line}" for line in lines if ": info 1," not in line][:5]
    for name, calls in told(plain).items():
        stayed, account = harness.accounts(bare.reports)[name].stayed, harness.accounts(there.reports)[name]
        if stayed[harness.NO_ROUTE] != calls or account.routed != calls:
            errors.append(f"{name}: {calls} calls, bare {stayed}, in device memory {account}")
    print(f"{len(lines)} calls in device memory")
    return errors + ([] if lines else ["nothing was called"])


PROMISES = (general_eigen_not_finite, general_eigen_left, general_eigen_elsewhere)
