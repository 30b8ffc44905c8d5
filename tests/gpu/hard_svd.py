#!/usr/bin/env python3
"""Singular values and vectors of matrices that are hard on a polar decomposition, judged as LAPACK's testers judge them.

    tests/gpu/hard_svd.py --build DIR [--backend cuda] [--orders 100,300,700] [--seed NUMBER]

Each matrix is decomposed by gesdd on the backend, and by the library underneath: |U^H U - I|, |V V^H - I| and
|A - U diag(s) V^H|, in units of n eps (and of |A|), and the largest distance of two singular values in units of eps s_1.
The table also says how many calls the backend has computed, since what it takes back is the library's. Status 1 if
anything is above LAPACK's threshold of 30.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy

THRESHOLD = 30
TYPES = {"d": numpy.float64, "z": numpy.complex128}


def unitary(random: numpy.random.Generator, n: int, kind: type) -> numpy.ndarray:
    x = random.standard_normal((n, n))
    if kind == numpy.complex128:
        x = x + 1j * random.standard_normal((n, n))
    q, r = numpy.linalg.qr(x)
    return q * (numpy.diag(r) / abs(numpy.diag(r)))


def matrices(n: int, kind: type, seed: int):
    """(name, matrix), the same ones in every process."""
    random = numpy.random.default_rng([seed, n])
    i = numpy.arange(1, n + 1)
    yield "hilbert", (1 / (i[:, None] + i[None, :] - 1)).astype(kind)
    yield "hilbert, tall", (1 / (i[:, None] + i[None, : n // 2] - 1)).astype(kind)
    u, v = unitary(random, n, kind), unitary(random, n, kind)
    for digits in (2, 4, 6, 8, 10, 11, 12, 13, 14, 15, 16, 18, 24):
        yield f"falling by 1e-{digits}", (u * 10.0 ** -numpy.linspace(0, digits, n)) @ v
        yield f"one of 1e-{digits}", (u * numpy.where(i == n, 10.0**-digits, 1)) @ v
    for rank in (1, n // 4, n - 1):
        low = u[:, :rank] @ v[:rank]
        yield f"of rank {rank}", low
        yield f"of rank {rank}, disturbed by eps", low + numpy.finfo(float).eps * random.standard_normal((n, n))
    data = random.standard_normal((n, 2 * n)).astype(kind)
    yield "centred data", data - data.mean(axis=0)
    yield "equal columns", numpy.repeat(data[:, : n // 2], 2, axis=1)
    yield "nothing but ones", numpy.ones((n, n), kind)
    kahan = numpy.triu(-numpy.cos(1.2) * numpy.ones((n, n)), 1) + numpy.eye(n)
    yield "Kahan's", (numpy.sin(1.2) ** (i - 1.0))[:, None] * kahan.astype(kind)


def measures(a: numpy.ndarray) -> dict:
    u, s, vh = numpy.linalg.svd(a, full_matrices=False)
    one = lambda x: float(abs(x).sum(axis=0).max())
    unit = max(a.shape) * numpy.finfo(float).eps
    return {"u": one(u.conj().T @ u - numpy.eye(len(s))) / unit, "v": one(vh @ vh.conj().T - numpy.eye(len(s))) / unit,
            "a": one(a - (u * s) @ vh) / unit / one(a), "s": s.tolist()}


def work(orders: list[int], seed: int) -> None:
    for n in orders:
        for letter, kind in TYPES.items():
            for name, a in matrices(n, kind, seed):
                print(json.dumps({"case": f"{letter} {n} {name}", **measures(a)}))


def results(environment: dict[str, str], arguments: argparse.Namespace) -> list[dict]:
    command = [sys.executable, __file__, "--work", arguments.orders, "--seed", str(arguments.seed)]
    run = subprocess.run(command, env=os.environ | environment, stdout=subprocess.PIPE, text=True, check=True)
    return [json.loads(line) for line in run.stdout.splitlines() if line.startswith("{")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path)
    parser.add_argument("--backend", default="cuda")
    parser.add_argument("--orders", default="100,300,700")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--work", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.work:
        return work([int(n) for n in arguments.work.split(",")], arguments.seed)
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report"
        theirs = results({}, arguments)
        ours = results({"LD_PRELOAD": str((arguments.build / "lib/libblaslift.so").resolve()), "BLASLIFT_BACKEND": arguments.backend,
                        "BLASLIFT_FORCE": "gesdd", "BLASLIFT_REPORT": str(report)}, arguments)
        routines = json.loads(report.read_text().splitlines()[-1])["routines"]
    bad = 0
    print("| matrix | U | V | A | the library's U, V, A | s |")
    print("|---|---|---|---|---|---|")
    for mine, other in zip(ours, theirs, strict=True):
        apart = max(abs(x - y) for x, y in zip(mine["s"], other["s"], strict=True)) / (numpy.finfo(float).eps * other["s"][0])
        wrong = max(mine["u"], mine["v"], mine["a"]) > THRESHOLD or apart > THRESHOLD * len(mine["s"])
        bad += wrong
        print(f"| {mine['case']} | {mine['u']:.2g} | {mine['v']:.2g} | {mine['a']:.2g} | {other['u']:.2g}, {other['v']:.2g}, {other['a']:.2g} | {apart:.2g} |"
              + (" WRONG" if wrong else ""))
    for name in ("dgesdd", "zgesdd"):
        print(f"{name}: {routines[name]['routed']} of {routines[name]['calls']} calls computed, the others {routines[name].get('stayed', {})}")
    print(f"{bad} of {len(ours)} above {THRESHOLD}")
    sys.exit(bad > 0 or not all(routines[name]["routed"] for name in ("dgesdd", "zgesdd")))


if __name__ == "__main__":
    main()
