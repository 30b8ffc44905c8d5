#!/usr/bin/env python3
"""Times one double-precision routine of cuBLAS or cuSOLVER with its matrices in device memory, as call_time times blaslift's.

    bench/vendor_time.py ROUTINE SECONDS N|NxCOUNT

Prints a line of JSON: median and fastest seconds of the calls that SECONDS allow, three at least (one, if it takes seconds), after one that warms.
What a routine overwrites is made anew before each call, outside its time. Workspaces are allocated before. gesdd is cuSOLVER's gesvd, which has no
other of such accuracy.
"""

from __future__ import annotations

import ctypes
import glob
import json
import statistics
import sys
import time

import numpy as np

LONG = 2.5
"""Seconds: what takes longer is called twice."""
INT, DOUBLE, POINTER = ctypes.c_int, ctypes.c_double, ctypes.c_void_p
IN_PLACE = {"trmm", "trsm", "potrf", "getrf", "potri", "geqrf", "syevd", "sytrd", "sygvd", "gesdd", "gebrd", "potrs"}
"""What has to be made anew."""


def library(name: str) -> ctypes.CDLL:
    for pattern in (f"/usr/local/cuda/lib64/{name}.so.*", f"/usr/local/cuda*/targets/*/lib/{name}.so.*", f"/usr/lib/x86_64-linux-gnu/{name}.so.*"):
        if found := sorted(glob.glob(pattern)):
            return ctypes.CDLL(found[0])
    sys.exit(f"no {name}")


class Device:
    def __init__(self) -> None:
        self.runtime = library("libcudart")

    def ask(self, name: str, *arguments) -> None:
        if status := getattr(self.runtime, name)(*arguments):
            sys.exit(f"{name}: status {status}")

    def memory(self, size: int) -> POINTER:
        at = POINTER()
        self.ask("cudaMalloc", ctypes.byref(at), ctypes.c_size_t(max(256, size)))
        return at

    def array(self, x: np.ndarray) -> POINTER:
        at = self.memory(x.nbytes)
        self.copy(at, x.ctypes.data_as(POINTER), x.nbytes)
        return at

    def copy(self, to: POINTER, of: POINTER, size: int) -> None:
        self.ask("cudaMemcpy", to, of, ctypes.c_size_t(size), INT(4))
        self.ask("cudaDeviceSynchronize")


class Calls:
    """Each returns what is timed."""

    def __init__(self, n: int, count: int) -> None:
        self.device, self.n, self.count = Device(), n, count
        self.info = self.device.memory(4)

    def handle(self, name: str, create: str) -> ctypes.CDLL:
        self.library, self.context = library(name), POINTER()
        if status := getattr(self.library, create)(ctypes.byref(self.context)):
            sys.exit(f"{create}: status {status}")
        return self.library

    def blas(self, name: str, *arguments):
        self.handle("libcublas", "cublasCreate_v2")
        return lambda: self.check(name, getattr(self.library, name)(self.context, *arguments))

    def check(self, name: str, status: int) -> None:
        if status:
            sys.exit(f"{name}: status {status}")

    def solver(self, name: str, *arguments, after=(), size_of: str = "", size_arguments=None):
        """With a workspace between the arguments and those after it."""
        self.handle("libcusolver", "cusolverDnCreate")
        length = INT()
        query = getattr(self.library, size_of or f"{name}_bufferSize")
        self.check(name, query(self.context, *(arguments if size_arguments is None else size_arguments), ctypes.byref(length)))
        work = self.device.memory(8 * length.value)
        return lambda: self.check(name, getattr(self.library, name)(self.context, *arguments, work, length, *after, self.info))

    def routine(self, name: str, A: POINTER, B: POINTER, C: POINTER):
        n, ld, d = INT(self.n), INT(self.n), self.device
        one, zero = ctypes.byref(DOUBLE(1)), ctypes.byref(DOUBLE(0))
        left, lower, plain, unit_not, upper = INT(0), INT(0), INT(0), INT(0), INT(1)
        vector = lambda size: d.memory(8 * size)  # noqa: E731
        if name == "gemm":
            return self.blas("cublasDgemm_v2", plain, plain, n, n, n, one, A, ld, B, ld, zero, C, ld)
        if name == "batch":
            apart = ctypes.c_longlong(self.n * self.n)
            return self.blas("cublasDgemmStridedBatched", plain, plain, n, n, n, one, A, ld, apart, B, ld, apart, zero, C, ld, apart, INT(self.count))
        if name == "symm":
            return self.blas("cublasDsymm_v2", left, lower, n, n, one, A, ld, B, ld, zero, C, ld)
        if name == "trmm":
            return self.blas("cublasDtrmm_v2", left, lower, plain, unit_not, n, n, one, A, ld, C, ld, C, ld)
        if name == "trsm":
            return self.blas("cublasDtrsm_v2", left, lower, plain, unit_not, n, n, one, A, ld, C, ld)
        if name == "symv":
            return self.blas("cublasDsymv_v2", lower, n, one, A, ld, B, INT(1), zero, C, INT(1))
        if name in ("gemv", "gemvt"):
            return self.blas("cublasDgemv_v2", INT(name == "gemvt"), n, n, one, A, ld, B, INT(1), zero, C, INT(1))
        if name in ("potrf", "potri"):
            return self.solver(f"cusolverDnD{name}", lower, n, C, ld)
        if name == "getrf":
            self.handle("libcusolver", "cusolverDnCreate")
            length, pivots = INT(), d.memory(4 * self.n)
            self.check(name, self.library.cusolverDnDgetrf_bufferSize(self.context, n, n, C, ld, ctypes.byref(length)))
            work = d.memory(8 * length.value)
            return lambda: self.check(name, self.library.cusolverDnDgetrf(self.context, n, n, C, ld, work, pivots, self.info))
        if name == "geqrf":
            tau = vector(self.n)
            return self.solver("cusolverDnDgeqrf", n, n, C, ld, tau, size_arguments=(n, n, C, ld))
        if name == "syevd":
            w = vector(self.n)
            return self.solver("cusolverDnDsyevd", upper, lower, n, C, ld, w)
        if name == "sygvd":
            w, b = vector(self.n), d.memory(8 * self.n * self.n)
            self.again = (b, B)
            return self.solver("cusolverDnDsygvd", INT(1), upper, lower, n, C, ld, b, ld, w)
        if name == "sytrd":
            w, e, tau = vector(self.n), vector(self.n), vector(self.n)
            return self.solver("cusolverDnDsytrd", lower, n, C, ld, w, e, tau)
        if name == "gebrd":
            w, e, tau, more = (vector(self.n) for _ in range(4))
            return self.solver("cusolverDnDgebrd", n, n, C, ld, w, e, tau, more, size_arguments=(n, n))
        if name == "gesdd":
            w, u, v, job = vector(self.n), d.memory(8 * self.n**2), d.memory(8 * self.n**2), ctypes.c_byte(ord("S"))
            return self.solver("cusolverDnDgesvd", job, job, n, n, C, ld, w, u, ld, v, ld, after=(POINTER(),), size_arguments=(n, n))
        sys.exit(f"{name}: not known")

    again: tuple[POINTER, POINTER] | None = None
    """What else is made anew: to, of."""


def main() -> int:
    name, seconds, size = sys.argv[1], float(sys.argv[2]), [int(x) for x in sys.argv[3].split("x")]
    n, count = size[0], size[1] if len(size) > 1 else 1
    calls = Calls(n, count)
    random = np.random.default_rng(1)
    elements = n * n * count
    a = random.random(elements) - 0.5
    if name != "batch":
        a = a.reshape(n, n)
        a = a + a.T
        if name in ("potrf", "potri", "trsm", "sygvd", "symm"):
            a[np.diag_indices(n)] += n
    A = calls.device.array(a)
    B, C = calls.device.array(a), calls.device.array(a)
    once = calls.routine(name, A, B, C)
    times: list[float] = []
    began = time.perf_counter()
    while len(times) < (2 if times and times[0] > LONG else 4) or time.perf_counter() - began < seconds:
        if name in IN_PLACE:
            calls.device.copy(C, A, a.nbytes)
        if calls.again:
            calls.device.copy(*calls.again, a.nbytes)
        start = time.perf_counter()
        once()
        calls.device.ask("cudaDeviceSynchronize")
        times.append(time.perf_counter() - start)
    print(json.dumps({"median": statistics.median(times[1:]), "fastest": min(times), "calls": len(times)}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
