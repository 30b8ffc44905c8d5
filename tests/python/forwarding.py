#!/usr/bin/env python3
"""A small NumPy product that stays on the CPU costs as much with blaslift in front as without, but for a trifle.

What one call reaches is looked up once per call site. Looked up at every call it costs tens of microseconds, and
every result is still right, so that no other test here would notice. Whether it can be remembered depends on how the
calling object is laid out, and wheels are laid out unlike anything a compiler and a linker make (patchelf adds
segments): hence the test with real ones. The bound is far above what the forwarding path costs (nanoseconds; measured
elsewhere) and far below a look-up.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import harness
from harness import Preload
from run import Distribution, chosen_distribution, interpreter_options

MOST_MICROSECONDS = 5.0
MOST_ROUNDS = 8
"""In turns, until a round has found the machine as quiet for one as for the other."""

PROGRAM = """
import time
import numpy as np
from numpy.linalg import qr

def best(call, batches=200, calls=20):
    # The fastest batch: the only one that a busy machine has left alone.
    def batch():
        start = time.perf_counter()
        for _ in range(calls):
            call()
        return (time.perf_counter() - start) / calls
    return min(batch() for _ in range(batches))

a = np.eye(4)
print(*(1e6 * best(call) for call in (lambda: a @ a, lambda: qr(a))))
"""


def microseconds(distribution: Distribution, preload: Preload | None) -> list[float]:
    """Time of a 4 x 4 product (cblas_dgemm) and factorisation (dgeqrf, called from C)."""
    run = harness.run([distribution.python, "-c", PROGRAM], environment=distribution.environment, preload=preload)
    if run.status != 0:
        raise AssertionError(f"the program ended with {run.status}: {run.stderr}")
    return list(map(float, run.stdout.split()))


def body() -> bool:
    arguments = interpreter_options(argparse.ArgumentParser(description=__doc__.split("\n")[0])).parse_args()
    library = arguments.lib.resolve(strict=True)
    distribution = chosen_distribution(arguments)
    without, ours = [float("inf")] * 2, [float("inf")] * 2
    for _ in range(MOST_ROUNDS):
        without = list(map(min, without, microseconds(distribution, None)))
        ours = list(map(min, ours, microseconds(distribution, Preload.natural(library))))
        if all(b <= a + MOST_MICROSECONDS for a, b in zip(without, ours, strict=True)):
            break
    rows = [
        (what, f"{a:.2f}", f"{b:.2f}", "same" if b <= a + MOST_MICROSECONDS else "SLOWER")
        for what, a, b in zip(("A @ A, n = 4", "qr(A), n = 4"), without, ours, strict=True)
    ]
    harness.print_table(("call", "microseconds without", "with", "verdict"), rows)
    return all(row[-1] == "same" for row in rows)


if __name__ == "__main__":
    harness.main(body)
