#!/usr/bin/env python3
"""Whether products by residues have the same bits on two backends: those of the definition, which the host backend computes
by integers of its own (docs/developer/residues.md).

    tests/gpu/residue_bits.py --build DIR [--backends cuda,host] [--calls 10000] [--workers COUNT] [--seed NUMBER]

Random calls of [sdcz]gemm: sizes, transpositions, leading dimensions and scalars, of numbers that the guard accepts as a
rule. Each is made by both backends, by residues, and its C compared whole, with the gaps between its columns. The table
says how many were made by residues, and how many differ; status 1 if any does, or fewer than seven in ten were.
"""

from __future__ import annotations

import argparse
import ctypes
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy

TYPES = {"s": numpy.float32, "d": numpy.float64, "c": numpy.complex64, "z": numpy.complex128}


def one_call(name: str, random: numpy.random.Generator, gemm) -> str:
    """Makes one call; the hash of C afterwards."""
    kind = TYPES[name]
    m, n = (int(random.integers(1, 97)) for _ in range(2))
    k = int(random.integers(1000, 2500))
    transa, transb = (str(random.choice(list("NTC"))) for _ in range(2))

    def matrix(rows: int, cols: int) -> tuple[numpy.ndarray, int]:
        ld = rows + int(random.integers(0, 4))
        values = random.uniform(-1, 1, (cols, ld))
        if numpy.issubdtype(kind, numpy.complexfloating):
            values = values + 1j * random.uniform(-1, 1, (cols, ld))
        return values.astype(kind), ld  # a row of it is a column

    a, lda = matrix(*((m, k) if transa == "N" else (k, m)))
    b, ldb = matrix(*((k, n) if transb == "N" else (n, k)))
    c, ldc = matrix(m, n)
    alpha, beta = (numpy.array([random.choice([0, 1, -1, 0.3, 1e3])]).astype(kind) for _ in range(2))
    numbers = [ctypes.c_int(x) for x in (m, n, k, lda, ldb, ldc)]
    m_, n_, k_, lda_, ldb_, ldc_ = (ctypes.byref(x) for x in numbers)
    at = lambda x: ctypes.c_void_p(x.ctypes.data)
    length = ctypes.c_size_t(1)
    gemm(transa.encode(), transb.encode(), m_, n_, k_, at(alpha), at(a), lda_, at(b), ldb_, at(beta), at(c), ldc_, length, length)
    return hashlib.blake2b(c.tobytes(), digest_size=8).hexdigest()


def work(first: int, count: int, seed: int) -> None:
    """A worker process, preloaded: one line a call."""
    program = ctypes.CDLL(None)
    for i in range(first, first + count):
        name = "sdcz"[i % 4]
        print(i, one_call(name, numpy.random.default_rng([seed, i]), getattr(program, f"{name}gemm_")), flush=False)


def made(arguments: argparse.Namespace, backend: str, folder: Path) -> tuple[dict[int, str], dict[str, int]]:
    """Hashes by call, and how many calls of each type were computed by residues."""
    library = arguments.build / "lib/libblaslift.so"
    workers = []
    for w in range(arguments.workers):
        first, end = (arguments.calls * x // arguments.workers for x in (w, w + 1))
        settings = {"LD_PRELOAD": str(library.resolve()), "BLASLIFT_BACKEND": backend, "BLASLIFT_FORCE": "gemm", "BLASLIFT_PRODUCTS": "residues",
                    "BLASLIFT_RESIDENCY": "off", "BLASLIFT_REPORT": str(folder / f"{backend}{w}.jsonl"), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        output = open(folder / f"{backend}{w}.txt", "w", encoding="ascii")
        command = [sys.executable, __file__, "--worker", str(first), str(end - first), str(arguments.seed)]
        workers.append((subprocess.Popen(command, env=os.environ | settings, stdout=output), output))
    for process, output in workers:
        output.close()
        if process.wait():
            sys.exit(f"{backend}: a worker ended with status {process.returncode}")
    hashes, residues = {}, dict.fromkeys(TYPES, 0)
    for w in range(arguments.workers):
        hashes |= {int(i): x for i, x in (line.split() for line in (folder / f"{backend}{w}.txt").read_text().splitlines())}
        routines = json.loads((folder / f"{backend}{w}.jsonl").read_text().splitlines()[-1])["routines"]
        for name in TYPES:
            residues[name] += routines.get(f"{name}gemm", {}).get("residues", 0)
    return hashes, residues


def main() -> None:
    if sys.argv[1:2] == ["--worker"]:
        return work(*map(int, sys.argv[2:]))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, type=Path)
    parser.add_argument("--backends", default="cuda,host")
    parser.add_argument("--calls", type=int, default=10000)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "big"))
    arguments = parser.parse_args()
    first, second = arguments.backends.split(",")
    with tempfile.TemporaryDirectory() as folder:
        (ours, by_first), (theirs, by_second) = (made(arguments, backend, Path(folder)) for backend in (first, second))
    good = len(ours) == len(theirs) == arguments.calls
    print(f"seed {arguments.seed}\n| | calls | by residues, {first} | {second} | other bits |\n|---|---:|---:|---:|---:|")
    for number, name in enumerate(TYPES):
        calls = [i for i in ours if i % 4 == number]
        other = [i for i in calls if ours[i] != theirs.get(i)]
        print(f"| {name}gemm | {len(calls)} | {by_first[name]} | {by_second[name]} | {len(other)} |")
        if other:
            print(f"calls with other bits: {other[:10]}")
        good = good and not other and min(by_first[name], by_second[name]) >= 0.7 * len(calls)  # alpha is 0 in a fifth of them
    sys.exit(not good)


if __name__ == "__main__":
    main()
