#!/usr/bin/env python3
"""When the bus and the GPU were busy with one call of a factorisation, from the host's memory to the host's memory.

    LD_PRELOAD=libblaslift.so bench/call_timeline.py potrf|getrf|geqrf N

Needs PyTorch, whose profiler sees all CUDA work of the process. Prints a line of JSON: "bars", by kind, of milliseconds since the first of them.
Kinds are copies to the GPU and from it, products, and other kernels. What follows within 20 microseconds is one bar. Two calls before warm.
"""

from __future__ import annotations

import ctypes
import json
import sys
import tempfile
from pathlib import Path

KINDS = ("in", "products", "others", "out")
SHORT = 0.02
"""Milliseconds."""


def kind_of(event: dict) -> str | None:
    """Of an event of Chrome's trace format, as PyTorch writes it; none: not on the GPU."""
    category, name = event.get("cat"), event.get("name", "")
    if event.get("ph") != "X" or category not in ("kernel", "gpu_memcpy", "gpu_memset"):
        return None
    if category == "gpu_memcpy" and "HtoD" in name:
        return "in"
    if category == "gpu_memcpy" and "DtoH" in name:
        return "out"
    return "products" if category == "kernel" and any(word in name.lower() for word in ("gemm", "cutlass", "syrk")) else "others"


def bars(events: list[dict]) -> dict[str, list[list[float]]]:
    found: dict[str, list[list[float]]] = {kind: [] for kind in KINDS}
    known = sorted(((e["ts"] / 1e3, (e["ts"] + e["dur"]) / 1e3, kind) for e in events if (kind := kind_of(e))))
    if not known:
        return found
    first = known[0][0]
    for begin, end, kind in known:
        row = found[kind]
        if row and begin - first <= row[-1][1] + SHORT:
            row[-1][1] = max(row[-1][1], round(end - first, 3))
        else:
            row.append([round(begin - first, 3), round(end - first, 3)])
    return found


def factor(name: str, n: int):
    """Makes the matrix anew, and returns the call."""
    import numpy as np

    made = np.asfortranarray(np.random.default_rng(1).random((n, n)) - 0.5)
    if name == "potrf":
        made[np.diag_indices(n)] += n
    a, work, tau = np.empty_like(made), np.empty(64 * n), np.empty(n)
    pivots, info = np.empty(n, np.int32), ctypes.c_int()
    function = getattr(ctypes.CDLL(None), f"d{name}_")  # what is preloaded
    at = lambda x: x.ctypes.data_as(ctypes.c_void_p)  # noqa: E731
    order, length = ctypes.byref(ctypes.c_int(n)), ctypes.byref(ctypes.c_int(len(work)))

    def prepare() -> None:
        a[:] = made

    def call() -> None:
        if name == "potrf":
            function(ctypes.c_char_p(b"L"), order, at(a), order, ctypes.byref(info), ctypes.c_size_t(1))
        elif name == "getrf":
            function(order, order, at(a), order, at(pivots), ctypes.byref(info))
        else:
            function(order, order, at(a), order, at(tau), at(work), length, ctypes.byref(info))
        if info.value:
            sys.exit(f"d{name}: info = {info.value}")

    return prepare, call


def main() -> int:
    if len(sys.argv) != 3 or sys.argv[1] not in ("potrf", "getrf", "geqrf"):
        print(__doc__, file=sys.stderr)
        return 2
    try:
        from torch.profiler import ProfilerActivity, profile
    except ImportError:
        sys.exit("no PyTorch")
    prepare, call = factor(sys.argv[1], int(sys.argv[2]))
    for _ in range(2):
        prepare()
        call()
    prepare()
    with profile(activities=[ProfilerActivity.CUDA]) as profiled:
        call()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "trace.json")
        profiled.export_chrome_trace(str(path))
        found = bars(json.loads(path.read_text())["traceEvents"])
    if not found["in"] or not found["out"]:
        sys.exit("nothing has moved: blaslift was not there, or the profiler saw nothing")
    print(json.dumps({"routine": sys.argv[1], "order": int(sys.argv[2]), "bars": found}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
