#!/usr/bin/env python3
"""Lanczos's method as a SciPy program does it: products with a symmetric matrix by scipy.linalg.blas.dsymv.

    bench/lanczos.py constant|changing N ITERATIONS

changing: the program rewrites A before each product.  Knows nothing of blaslift: whatever is preloaded computes.  Prints a line of
JSON with the seconds of every dsymv.  The last one's result is compared with plain sums of some rows; status 1 if it is wrong.
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np
from scipy.linalg import eigh_tridiagonal
from scipy.linalg.blas import dsymv


def matrix(n: int, seed: int) -> np.ndarray:
    """The lower triangle; NaN above it."""
    A = np.asfortranarray(np.random.default_rng(seed).random((n, n)).T)
    for j in range(n):
        A[:j, j] = np.nan
    return A


def worst_error(A: np.ndarray, x: np.ndarray, y: np.ndarray) -> float:
    """In units of what summing n products may lose."""
    n, worst = len(x), 0.0
    for i in np.linspace(0, n - 1, 64).astype(int):
        row = np.concatenate([A[i, :i], A[i:, i]]).astype(np.longdouble) * x
        worst = max(worst, float(abs(row.sum() - y[i]) / (abs(row).sum() * n * 2.0**-53)), key=lambda e: (e != e, e))
    return worst


def main() -> int:
    mode, n, iterations = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    if mode not in ("constant", "changing") or n < 1 or iterations < 1:
        sys.exit(__doc__)
    A = matrix(n, 1)
    before, q = np.zeros(n), np.full(n, n**-0.5)
    alphas, betas, seconds, beta, error = [], [], [], 0.0, 0.0
    for k in range(iterations):
        if mode == "changing":
            A += 0.0  # writes every page
        start = time.perf_counter()
        w = dsymv(1.0, A, q, lower=1)
        seconds.append(time.perf_counter() - start)
        if k == iterations - 1:
            error = worst_error(A, q, w)
        alphas.append(q @ w)
        w -= alphas[-1] * q + beta * before
        beta = np.linalg.norm(w)
        betas.append(beta)
        if beta < 1e-10 * abs(alphas[0]):  # an invariant subspace: begin anew
            w, beta = np.random.default_rng(k).random(n), 0.0
        before, q = q, w / np.linalg.norm(w)
    value = eigh_tridiagonal(alphas, betas[:-1], eigvals_only=True)[-1]
    print(json.dumps({"program": "lanczos", "mode": mode, "n": n, "pages": "numpy's", "value": float(value), "error": error,
                      "seconds": [float(f"{s:.4g}") for s in seconds]}))
    return 0 if error <= 1 else 1


if __name__ == "__main__":
    sys.exit(main())
