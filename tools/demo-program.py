#!/usr/bin/env python3
"""An ordinary NumPy program: products, a QR factorisation, a symmetric eigenproblem.

It knows nothing of blaslift. Every result is checked in a way that does not repeat the computation:
products of matrices against products with vectors, and single entries against sums of longer precision.
"""

import argparse
import sys
import time

import numpy as np

rng = np.random.default_rng(20240229)
wrong = 0


def step(name, compute, check, repeat):
    """Run `compute` `repeat` times, report the best time and whether every result is within its bound."""
    global wrong
    best, errors = float("inf"), []
    for _ in range(repeat):
        start = time.perf_counter()
        result = compute()
        best = min(best, time.perf_counter() - start)
        error, limit = check(result)
        errors.append(error)
    error = np.max(errors)
    ok = bool(error <= limit)  # False for NaN
    wrong += not ok
    print(f"{name:<40} {best:9.3f} s   {'verified' if ok else 'WRONG'}: error {error:.1e}, bound {limit:.1e}", flush=True)


def norm(x):
    return float(np.linalg.norm(x))


def random(shape, dtype):
    x = rng.standard_normal(shape)
    if np.issubdtype(dtype, np.complexfloating):
        x = x + 1j * rng.standard_normal(shape)
    return x.astype(dtype)


def bound(n, dtype):
    """Rounding errors on random data add up like a random walk: sqrt(n), and 4 for all constants."""
    return 4 * n**0.5 * float(np.finfo(dtype).eps) / 2


def long_type(dtype):
    return np.clongdouble if np.issubdtype(dtype, np.complexfloating) else np.longdouble


def product(a, b):
    """Check c = a @ b: c x against a (b x), y c against (y a) b, and some entries one by one."""

    def check(c):
        scale = norm(a) * norm(b)
        x, y = random(b.shape[1], c.dtype), random(a.shape[0], c.dtype)
        error = norm(c @ x - a @ (b @ x)) / (scale * norm(x))
        error = max(error, norm(y @ c - (y @ a) @ b) / (scale * norm(y)))
        for i, j in zip(rng.integers(0, c.shape[0], 64), rng.integers(0, c.shape[1], 64)):
            entry = np.sum(a[i].astype(long_type(c.dtype)) * b[:, j])
            error = max(error, float(abs(entry - c[i, j])) / (norm(a[i]) * norm(b[:, j])))
        return error, bound(a.shape[1], c.dtype)

    return lambda: a @ b, check


def orthogonality(q):
    """How far the columns of q are from orthonormal, seen along one random vector."""
    x = random(q.shape[1], q.dtype)
    return norm(q.conj().T @ (q @ x) - x) / norm(x)


def qr(a):
    def check(result):
        q, r = result
        x = random(a.shape[1], a.dtype)
        residual = norm(q @ (r @ x) - a @ x) / (norm(a) * norm(x))
        below = norm(np.tril(r, -1)) / norm(a)
        return max(residual, orthogonality(q), below), bound(a.shape[0], a.dtype)

    return lambda: np.linalg.qr(a), check


def eigh(s):
    def check(result):
        w, v = result
        x = random(s.shape[0], s.dtype)
        residual = norm(s @ (v @ x) - v @ (w * x)) / (norm(s) * norm(x))
        unsorted = 0.0 if np.all(w[:-1] <= w[1:]) else np.inf
        return max(residual, orthogonality(v), unsorted), bound(s.shape[0], s.dtype)

    return lambda: np.linalg.eigh(s), check


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=2000, help="order of the largest matrices (2000)")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each step, of which the best is reported (3)")
    options = parser.parse_args()
    if options.size < 64 or options.repeat < 1:
        parser.error("--size must be 64 at least, --repeat 1")
    n, repeat = options.size, options.repeat
    print(f"NumPy {np.__version__}, Python {sys.version.split()[0]}")

    for dtype, order in ((np.float64, n), (np.float32, n), (np.complex128, 3 * n // 4)):
        a, b = random((order, order), dtype), random((order, order), dtype)
        step(f"A @ B, {np.dtype(dtype).name}, {order} x {order}", *product(a, b), repeat)

    # As programs have them: a transposed operand, a window of a larger array, sizes of no special shape.
    data = random((n + 37, n // 2 + 101), np.float64)
    window = data[5 : n - 6, 3 : n // 2 + 4]
    step(f"X.T @ Y on windows, float64, {window.shape[0]} rows", *product(window.T, data[7 : n - 4, 50:]), repeat)

    step(f"qr, float64, {n} x {n // 2}", *qr(random((n, n // 2), np.float64)), repeat)
    s = random((n // 4, n // 4), np.float64)
    step(f"eigh, float64, {n // 4} x {n // 4}", *eigh(s + s.T), repeat)

    print(f"{wrong} wrong" if wrong else "all results verified")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
