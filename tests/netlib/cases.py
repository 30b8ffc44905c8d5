"""Which tester reads which input, and what each is known to call.

The testers are Debian's libblas-test and liblapack-test, as installed. The pairing of LAPACK program and input is
the one of their own lapack_testing.py, plus the balancing inputs that it leaves out.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from harness import LIBRARIES, Skip

BLAS = LIBRARIES / "blas"
LAPACK = LIBRARIES / "lapack"
LARGE = Path(__file__).resolve().parent.parent / "data" / "netlib"

ELEMENT_BYTES = {"s": 4, "d": 8, "c": 8, "z": 16}


@dataclass(frozen=True)
class Case:
    """One run of one tester."""

    suite: str
    program: Path
    input: Path | None
    gemm: str | None = None
    """The gemm that this tester gives real work, by either provider."""
    qr: tuple[str, ...] = ()
    """The routines of QR that this tester is about, among others."""
    beside: tuple[str, ...] = ()
    """The others, syrk, herk, syr2k, her2k, symm, hemm, trmm and trsm, that this tester of level 3 BLAS calls."""
    solves: tuple[str, ...] = ()
    """The factorisations, systems and generalized eigenproblems that this tester of LAPACK calls, among others."""
    share: float = 0.3
    """Of these calls, that is routed at least."""
    vectors: tuple[str, ...] = ()
    """The gemv, and symv or hemv, that this tester of level 2 BLAS calls, among others."""
    copies: tuple[str, ...] = ()
    """The copy that this tester of level 1 BLAS calls, in vectors of a few elements."""
    qr_alone: bool = False
    """It calls nothing else of ours that matters: for the mode `qr`."""
    large: bool = False

    @property
    def name(self) -> str:
        return f"{self.program.name} < {self.input.name}" if self.input else self.program.name

    @property
    def stdin(self) -> str:
        return self.input.read_text() if self.input else ""

    @property
    def by_levels(self) -> bool:
        """Whether it runs in the mode `levels`."""
        if self.suite == "blas":
            return self.gemm is not None
        return self.gemm is not None and re.fullmatch(LEVELS_TAKE_LONG, self.name) is None

    @cached_property
    def gemm_input(self) -> GemmInput | None:
        """What the tester's gemm part will do, where that can be told from its input: for the BLAS testers."""
        if self.suite != "blas" or self.gemm is None:
            return None
        return GemmInput.parse(self.stdin, self.gemm[0], cblas="cblat3" in self.program.name)


@dataclass(frozen=True)
class GemmInput:
    """The loops of a level 3 BLAS tester over gemm, read from its input file.

    Every combination of m, n, k, op(A), op(B), alpha and beta is called once per layout: that is what makes the
    counters predictable to the last call and byte.
    """

    letter: str
    sizes: list[int]
    alphas: list[complex]
    betas: list[complex]
    layouts: int

    TRANSPOSES = 9  # pairs of N, T, C

    @classmethod
    def parse(cls, text: str, letter: str, *, cblas: bool) -> GemmInput:
        lines = text.splitlines()
        # Both begin with a name, a unit and three flags; the Fortran input has a summary file's name and unit in
        # front, the CBLAS one the layouts to test (0, 1, or 2 for both) behind. Then follows the threshold.
        at = 7 if cblas else 8
        layouts = 2 if cblas and int(lines[5].split()[0]) == 2 else 1
        numbers = []
        for count, values in zip(lines[at : at + 6 : 2], lines[at + 1 : at + 6 : 2], strict=True):
            numbers.append([_scalar(word) for word in values.split()[: int(count.split()[0])]])
        sizes, alphas, betas = numbers
        return cls(letter, [int(n.real) for n in sizes], alphas, betas, layouts)

    @property
    def _working_sizes(self) -> list[tuple[int, int, int]]:
        return [mnk for mnk in product(self.sizes, repeat=3) if all(mnk)]

    @property
    def _calls_per_size(self) -> int:
        """Calls per m, n, k and beta that have something to multiply."""
        return self.TRANSPOSES * self.layouts * sum(alpha != 0 for alpha in self.alphas)

    @property
    def calls(self) -> int:
        """Calls with valid arguments."""
        return len(self.sizes) ** 3 * self.TRANSPOSES * self.layouts * len(self.alphas) * len(self.betas)

    @property
    def calls_with_work(self) -> int:
        """Valid calls with m, n, k and alpha all nonzero."""
        return len(self._working_sizes) * self._calls_per_size * len(self.betas)

    @property
    def calls_with_levels(self) -> int:
        """Calls with work that Strassen-like levels can halve, if the operands are not too badly scaled for it."""
        large_enough = sum(min(mnk) >= 2 for mnk in self._working_sizes)
        return large_enough * self._calls_per_size * len(self.betas)

    @property
    def bytes_in(self) -> int:
        """A and B, and C where beta is not zero, of all calls with work: each moved once."""
        elements = sum(
            m * k + k * n + (m * n if beta != 0 else 0) for m, n, k in self._working_sizes for beta in self.betas
        )
        return elements * self._calls_per_size * ELEMENT_BYTES[self.letter]

    @property
    def bytes_out(self) -> int:
        """C of all calls with work."""
        elements = sum(m * n for m, n, _ in self._working_sizes) * len(self.betas)
        return elements * self._calls_per_size * ELEMENT_BYTES[self.letter]


def _scalar(word: str) -> complex:
    """A Fortran list-directed number: "3", "0.7" or "(0.7,-0.9)"."""
    parts = re.findall(r"[-+.\deE]+", word)
    return complex(*map(float, parts))


def blas_cases(precisions: str) -> list[Case]:
    """The 24 testers of libblas-test with their own inputs, and those of levels 2 and 3 with the large ones."""
    if not (BLAS / "xblat3d").exists():
        raise Skip(f"the BLAS testers (Debian: libblas-test) are not in {BLAS}")
    cases = []
    for p in precisions:
        gemm, vectors = f"{p}gemm", (f"{p}gemv", f"{p}symv" if p in "sd" else f"{p}hemv")
        fortran = {level: BLAS / f"xblat{level}{p}" for level in (1, 2, 3)}
        cblas = {level: BLAS / f"x{p}cblat{level}" for level in (1, 2, 3)}
        cases += [Case("blas", program, None, copies=(f"{p}copy",)) for program in (fortran[1], cblas[1])]
        for folder, suffix in ((BLAS, ""), (LARGE, "_large")):
            large = folder == LARGE
            others = ("syrk", "syr2k", "symm") + (() if p in "sd" else ("herk", "her2k", "hemm"))
            beside = tuple(p + base for base in (*others, "trmm", "trsm"))
            for level, calls in ((2, {"vectors": vectors}), (3, {"gemm": gemm, "beside": beside})):
                inputs = {fortran[level]: f"{p}blat{level}{suffix}.in", cblas[level]: f"{p}in{level}{suffix}"}
                cases += [Case("blas", program, folder / name, **calls, large=large) for program, name in inputs.items()]
    return cases


EIGEN = "nep sep se2 svd {p}ec {p}ed {p}gg {p}gd {p}sb {p}sg {p}bb glm gqr gsv csd lse {p}bal {p}bak {p}gbal {p}gbak"
WITHOUT_GEMM = {"{p}bb", "glm", "{p}bal", "{p}bak", "{p}gbal"}
"""Eigenvalue inputs whose runs call no gemm with anything to multiply."""


LEVELS_TAKE_LONG = r"xlintst[sdcz]+ < .*|xeigtst\w < (svd|\wec|lse)\.in"
"""LAPACK cases that the mode `levels` leaves out: they make up to millions of small products, or thin ones (two rows or
columns by 50), which become hundreds of tiles of two rows, and planning takes time with the square of their number.
(lse has no product that is large enough for a level.)"""

NORMWISE: dict[tuple[str, int], tuple[str, ...]] = {
    # The level 3 BLAS testers measure the error of each element by the terms of its own sum (of each call's last
    # column; of all columns for losing half of the digits, after which they give up, and with CBLAS give up the other
    # layout, too). Their numbers come from sequences with short periods, so that some sums have small terms only.
    ("xblat3s < sblat3.in", 1): ("sgemm",),
    ("xblat3s < sblat3.in", 2): ("sgemm",),
    ("xscblat3 < sin3", 1): ("cblas_sgemm COLUMN-MAJOR", "cblas_sgemm ROW-MAJOR"),
    ("xscblat3 < sin3", 2): ("cblas_sgemm COLUMN-MAJOR", "cblas_sgemm ROW-MAJOR"),
    ("xblat3s < sblat3_large.in", 1): ("sgemm",),
    ("xblat3s < sblat3_large.in", 2): ("sgemm",),
    ("xscblat3 < sin3_large", 1): ("cblas_sgemm COLUMN-MAJOR", "cblas_sgemm ROW-MAJOR"),
    ("xscblat3 < sin3_large", 2): ("cblas_sgemm COLUMN-MAJOR", "cblas_sgemm ROW-MAJOR"),
    ("xblat3d < dblat3.in", 1): ("dgemm",),
    ("xblat3d < dblat3.in", 2): ("dgemm",),
    ("xdcblat3 < din3", 1): ("cblas_dgemm COLUMN-MAJOR", "cblas_dgemm ROW-MAJOR"),
    ("xdcblat3 < din3", 2): ("cblas_dgemm COLUMN-MAJOR", "cblas_dgemm ROW-MAJOR"),
    ("xblat3d < dblat3_large.in", 1): ("dgemm",),
    ("xblat3d < dblat3_large.in", 2): ("dgemm",),
    ("xdcblat3 < din3_large", 1): ("cblas_dgemm COLUMN-MAJOR", "cblas_dgemm ROW-MAJOR"),
    ("xdcblat3 < din3_large", 2): ("cblas_dgemm COLUMN-MAJOR", "cblas_dgemm ROW-MAJOR"),
    ("xblat3c < cblat3_large.in", 1): ("cgemm",),
    ("xblat3c < cblat3_large.in", 2): ("cgemm",),
    ("xccblat3 < cin3_large", 1): ("cblas_cgemm COLUMN-MAJOR",),
    ("xccblat3 < cin3_large", 2): ("cblas_cgemm COLUMN-MAJOR", "cblas_cgemm ROW-MAJOR"),
    ("xblat3z < zblat3_large.in", 1): ("zgemm",),
    ("xblat3z < zblat3_large.in", 2): ("zgemm",),
    ("xzcblat3 < zin3_large", 1): ("cblas_zgemm COLUMN-MAJOR",),
    ("xzcblat3 < zin3_large", 2): ("cblas_zgemm COLUMN-MAJOR", "cblas_zgemm ROW-MAJOR"),
    # The drivers compute eigenvalues with and without eigenvectors, and the testers want the same bits. Without, the
    # products update fewer rows and columns of the same matrices; a classical product's elements do not depend on
    # that, those of Strassen's do. (CHS and ZHS allow a difference, but not the one that ill-conditioned eigenvalues
    # have.)
    ("xeigtsts < sed.in", 1): ("sev", "svx"),
    ("xeigtstd < ded.in", 1): ("dev", "dvx"),
    ("xeigtstc < ced.in", 1): ("cev",),
    ("xeigtstz < zed.in", 1): ("zev",),
    ("xeigtsts < sgd.in", 1): ("sgv",),
    ("xeigtstd < dgd.in", 1): ("dgv",),
    ("xeigtstc < cgd.in", 1): ("cgv",),
    ("xeigtstz < zgd.in", 1): ("zgv",),
    ("xeigtstc < nep.in", 1): ("chs",),
    ("xeigtstz < nep.in", 1): ("zhs",),
    # VL^H A VR with large VL and VR (balancing undone), measured by the largest element of A alone.
    ("xeigtsts < sgbak.in", 1): ("largest test error",),
    ("xeigtstd < dgbak.in", 1): ("largest test error",),
    ("xeigtstc < cgbak.in", 1): ("largest test error",),
    # TFSM's solution beside TRSM's: their difference is not divided by their size, which grows with the condition of
    # the triangle. One of 7776, with 50 rows, is over the threshold of 30: 56 (STFSM) and 31.7 (CTFSM).
    ("xlintstrfs < stest_rfp.in", 1): ("stfsm",),
    ("xlintstrfc < ctest_rfp.in", 1): ("ctfsm",),
}
"""Where a tester asks for more than Strassen's algorithm promises: by case and number of levels, whose verdicts differ
from the baseline's.  The list is exact, over the reference library."""


def normwise(case: Case, levels: int) -> set[str]:
    """Whose verdicts are to differ from the baseline's."""
    return set(NORMWISE.get((case.name, levels), ()))


def lapack_cases(precisions: str) -> list[Case]:
    """The 90 runs of liblapack-test, and the linear equation testers once more with the large QR inputs."""
    if not (LAPACK / "xlintstd").exists():
        raise Skip(f"the LAPACK testers (Debian: liblapack-test) are not in {LAPACK}")
    cases = []
    for p in precisions:
        gemm = f"{p}gemm"
        qr = (f"{p}geqrf", *((f"{p}ormqr", f"{p}orgqr") if p in "sd" else (f"{p}unmqr", f"{p}ungqr")))
        compact = (f"{p}geqr", f"{p}gemqr")
        solves = tuple(p + name for name in ("getrf", "getrs", "gesv", "getri", "potrf", "potrs", "posv", "potri", "trtrs", "trtri", "trcon", "geqp3", "gelqf")) + (f"{p}orglq" if p in "sd" else f"{p}unglq",)
        for name in EIGEN.split():
            does = None if name in WITHOUT_GEMM else gemm
            others: tuple[str, ...] = ()
            q = p + ("or" if p in "sd" else "un")
            if name in ("nep", "sep", "svd"):  # upper triangles are the library's
                end = {"nep": "hr", "sep": "tr", "svd": "br"}[name]
                others = tuple(q + which + end for which in ("g" if name == "sep" else "gm"))
            if name == "nep":
                others += (f"{p}gehrd",)
            if name == "{p}sg":  # of each type as often, and one of these is routed
                others = tuple(f"{p}{'sy' if p in 'sd' else 'he'}{end}" for end in ("gvd", "gv", "gvx", "gst"))
            if name in ("sep", "se2"):
                others += (f"{p}{'sy' if p in 'sd' else 'he'}trd",)
            cases.append(Case("lapack", LAPACK / f"xeigtst{p}", LAPACK / f"{name.format(p=p)}.in", does, solves=others, share=0.15))
        cases.append(Case("lapack", LAPACK / f"xlintst{p}", LAPACK / f"{p}test.in", gemm, (*qr, *compact), solves=solves))
        cases.append(Case("lapack", LAPACK / f"xlintstrf{p}", LAPACK / f"{p}test_rfp.in", gemm))
        if lower := {"d": "s", "z": "c"}.get(p):
            # zcposv's own tests all fall back to zpotrf.
            mixed = (f"{lower}getrf", f"{lower}getrs", *((f"{p}potrf", f"{p}potrs") if p == "z" else ("spotrf", "spotrs")))
            cases.append(Case("lapack", LAPACK / f"xlintst{p}{lower}", LAPACK / f"{p}{lower}test.in", gemm, solves=mixed))
        cases.append(Case("lapack", LAPACK / f"xlintst{p}", LARGE / f"{p}qr_large.in", gemm, qr, large=True))
        cases.append(Case("lapack", LAPACK / f"xlintst{p}", LARGE / f"{p}qr_blocks.in", qr=(*qr, *compact), qr_alone=True))
    return cases
