"""Run programs with and without blaslift in front, and read what blaslift says it did.

Everything that the test scripts of this directory share: a run happens in a scratch directory of its own, with
an environment in which nothing of the caller's blaslift settings survives, and ends as a value (`Run`) that can
be compared. The reports that blaslift appends (one JSON line per process) are read and added up here, and the
bookkeeping rules that hold for every program are checked here.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

SKIPPED = 77
"""The exit status that ctest (SKIP_RETURN_CODE) shows as a skipped test."""

GEMMS = ("sgemm", "dgemm", "cgemm", "zgemm")
BATCHES = ("sgemm_batch", "dgemm_batch", "cgemm_batch", "zgemm_batch")
BATCHES += ("sgemm_batch_strided", "dgemm_batch_strided", "cgemm_batch_strided", "zgemm_batch_strided")
GEMM3MS = ("cgemm3m", "zgemm3m")
GEMMTS = ("sgemmt", "dgemmt", "cgemmt", "zgemmt", "sgemmtr", "dgemmtr", "cgemmtr", "zgemmtr")
SYRKS = ("ssyrk", "dsyrk", "csyrk", "zsyrk", "cherk", "zherk")
SYR2KS = ("ssyr2k", "dsyr2k", "csyr2k", "zsyr2k", "cher2k", "zher2k")
SYMMS = ("ssymm", "dsymm", "csymm", "zsymm", "chemm", "zhemm")
TRMMS = ("strmm", "dtrmm", "ctrmm", "ztrmm")
TRSMS = ("strsm", "dtrsm", "ctrsm", "ztrsm")
TRTRSS = ("strtrs", "dtrtrs", "ctrtrs", "ztrtrs")
TRTRIS = ("strtri", "dtrtri", "ctrtri", "ztrtri")
POTRIS = ("spotri", "dpotri", "cpotri", "zpotri")
GETRIS = ("sgetri", "dgetri", "cgetri", "zgetri")
LAUUMS = ("slauum", "dlauum", "clauum", "zlauum")
INVERSES = TRTRIS + POTRIS + GETRIS + LAUUMS
"""Inverses of triangles, and by the factors of Cholesky and LU, and their last step: all of A has to be on the device."""
POTRFS = ("spotrf", "dpotrf", "cpotrf", "zpotrf")
POTRSS = ("spotrs", "dpotrs", "cpotrs", "zpotrs")
POSVS = ("sposv", "dposv", "cposv", "zposv")
GETRFS = ("sgetrf", "dgetrf", "cgetrf", "zgetrf")
GETRSS = ("sgetrs", "dgetrs", "cgetrs", "zgetrs")
GESVS = ("sgesv", "dgesv", "cgesv", "zgesv")
SYSTEMS = GETRFS + GETRSS + GESVS + POTRSS + POSVS
"""LU, and what is solved by it and by Cholesky: all of A has to be on the device."""
GECONS = ("sgecon", "dgecon", "cgecon", "zgecon")
POCONS = ("spocon", "dpocon", "cpocon", "zpocon")
TRCONS = ("strcon", "dtrcon", "ctrcon", "ztrcon")
CONDITIONS = GECONS + POCONS + TRCONS
SYTRDS = ("ssytrd", "dsytrd", "chetrd", "zhetrd")
GEHRDS = ("sgehrd", "dgehrd", "cgehrd", "zgehrd")
GEBRDS = ("sgebrd", "dgebrd", "cgebrd", "zgebrd")
GESDDS = ("sgesdd", "dgesdd", "cgesdd", "zgesdd")
GESVDS = ("sgesvd", "dgesvd", "cgesvd", "zgesvd")
SVDS = GESDDS + GESVDS
"""Singular value decompositions by LAPACK's drivers."""
SYEVDS = ("ssyevd", "dsyevd", "cheevd", "zheevd")
SYEVS = ("ssyev", "dsyev", "cheev", "zheev")
SYEVRS = ("ssyevr", "dsyevr", "cheevr", "zheevr")
SYEVXS = ("ssyevx", "dsyevx", "cheevx", "zheevx")
EIGENS = SYEVDS + SYEVS + SYEVRS + SYEVXS
"""Symmetric eigenproblems by all of LAPACK's drivers."""
SYGVXS = ("ssygvx", "dsygvx", "chegvx", "zhegvx")
SYGVS = ("ssygvd", "dsygvd", "chegvd", "zhegvd", "ssygv", "dsygv", "chegv", "zhegv", *SYGVXS)
"""Generalized symmetric-definite eigenproblems."""
SYGSTS = ("ssygst", "dsygst", "chegst", "zhegst")
"""Their reductions to standard ones."""
GEEVS = ("sgeev", "dgeev", "cgeev", "zgeev")
GELSS = ("sgels", "dgels", "cgels", "zgels")
GELSYS = ("sgelsy", "dgelsy", "cgelsy", "zgelsy")
GELSDS = ("sgelsd", "dgelsd", "cgelsd", "zgelsd")
GELSSS = ("sgelss", "dgelss", "cgelss", "zgelss")
LEAST_SQUARES = GELSS + GELSYS + GELSDS + GELSSS
"""Least squares by LAPACK's drivers."""
SYMVS = ("ssymv", "dsymv", "chemv", "zhemv")
CSYMVS = ("csymv", "zsymv")
"""LAPACK's, of complex symmetric matrices."""
GEMVS = ("sgemv", "dgemv", "cgemv", "zgemv")
COPIES = ("scopy", "dcopy", "ccopy", "zcopy")
"""What no device computes: large strided ones are made by several threads."""
CLASSIC_QRS = ("sgeqrf", "dgeqrf", "cgeqrf", "zgeqrf", "sormqr", "dormqr", "cunmqr", "zunmqr")
CLASSIC_QRS += ("sorgqr", "dorgqr", "cungqr", "zungqr")
COMPACT_QRS = ("sgeqr", "dgeqr", "cgeqr", "zgeqr", "sgemqr", "dgemqr", "cgemqr", "zgemqr")
QRS = CLASSIC_QRS + COMPACT_QRS
ORMLQS = ("sormlq", "dormlq", "cunmlq", "zunmlq")
GEQP3S = ("sgeqp3", "dgeqp3", "cgeqp3", "zgeqp3")
LQS = ("sgelqf", "dgelqf", "cgelqf", "zgelqf", "sorglq", "dorglq", "cunglq", "zunglq")
REDUCTION_QS = tuple(p + ("or" if p in "sd" else "un") + end for end in ("mtr", "gtr", "mhr", "ghr", "mbr", "gbr") for p in "sdcz")
"""Products with the Q of a reduction, and that Q."""
BLAS = GEMMS + BATCHES + GEMM3MS + GEMMTS + SYRKS + SYR2KS + SYMMS + TRMMS + TRSMS + SYMVS + GEMVS
ROUTED = (*BLAS, *CSYMVS, *TRTRSS, *INVERSES, *POTRFS, *SYSTEMS, *EIGENS, *SYGVS, *SYGSTS, *SYTRDS, *GEHRDS, *GEBRDS, *SVDS, *GEEVS, *LEAST_SQUARES, *CONDITIONS, *QRS, *ORMLQS, *GEQP3S, *LQS, *REDUCTION_QS, "wsymv")
"""The routines that have a route."""

NOTHING_TO_MULTIPLY = "nothing to multiply"
INVALID_ARGUMENTS = "invalid arguments"
OVERLAP = "output overlaps an input"
WORKSPACE_QUERY = "workspace query"
NO_ROOM = "no room on the device"
NOT_DEFINITE = "matrix is not positive definite"
SINGULAR = "matrix is singular, or not finite"
NOT_CONVERGED = "no convergence, or not finite"
NOT_FINITE = "B is not finite"
NO_ROUTE = "not supported on this backend"
OF_LIBRARY = "format of the library underneath"
OF_INTERVAL = "eigenvalues of an interval"
OF_LEFT = "left eigenvectors"
OF_COLUMNS = "pivots of more columns than rows"
OF_BATCH = "matrices of a batch with gaps"
SCALED = "norms that LAPACK would scale"

HELPED = "copied by several threads"
TOO_SMALL = "too small"

STAYS_WHEN_FORCED = {NOTHING_TO_MULTIPLY, INVALID_ARGUMENTS, OVERLAP, WORKSPACE_QUERY}
"""The only reasons for which a routed routine may stay on the CPU when BLASLIFT_FORCE=all asks for every call."""


FORCED_MEMORY = 1 << 18
"""Device memory for programs that make millions of forced calls.

Products up to n = 100 in double precision, and 70 in complex double, fit as a whole. The host backend takes memory
anew for each call, in proportion to this, and a build for tests fills it with NaN: with a device's worth of it, that
would take most of the time.
"""


class Skip(Exception):
    """What the test needs is not installed here; the message says what."""


# ---------------------------------------------------------------------------------------------------------------
# Providers: which BLAS and LAPACK lie underneath


LOADER = Path("/lib64/ld-linux-x86-64.so.2")
LIBRARIES = Path("/usr/lib/x86_64-linux-gnu")

PROVIDERS = {
    "reference": (LIBRARIES / "blas", LIBRARIES / "lapack"),
    "openblas": (LIBRARIES / "openblas-pthread",),
}


def provider_environment(provider: str) -> dict[str, str]:
    """The environment that puts `provider` under a program which links libblas.so.3 and liblapack.so.3."""
    folders = PROVIDERS[provider]
    for folder in folders:
        if not folder.is_dir():
            raise Skip(f"{provider}: no {folder}")
    return {"LD_LIBRARY_PATH": ":".join(map(str, folders))}


def loaded_libraries(program: Path, environment: dict[str, str]) -> dict[str, Path]:
    """What the dynamic linker would load for `program` (or a library), by soname."""
    listing = subprocess.run([LOADER, "--list", program], env=environment, capture_output=True, text=True).stdout
    words = [line.split() for line in listing.splitlines()]
    return {line[0]: Path(line[2]) for line in words if line[1:2] == ["=>"] and line[2].startswith("/")}


def check_provider(program: Path, provider: str) -> None:
    """Fail unless the dynamic linker really gives `program` the libblas.so.3 of `provider`.

    Otherwise a test that says "OpenBLAS" could compare two runs over the reference library.
    """
    found = loaded_libraries(program, clean_environment(provider_environment(provider))).get("libblas.so.3")
    wanted = PROVIDERS[provider][0]
    if found is None or found.parent != wanted:
        raise AssertionError(f"{program} loads {found or 'no libblas.so.3'}, not the one in {wanted}")


# ---------------------------------------------------------------------------------------------------------------
# Running


@dataclass(frozen=True)
class Preload:
    """blaslift in front of a program: the library and the settings it runs under."""

    library: Path
    settings: dict[str, str] = field(default_factory=dict)
    in_front: tuple[Path, ...] = ()
    """Libraries of a test's own that stand before it."""

    @classmethod
    def natural(cls, library: Path) -> Preload:
        """As a user who sets nothing has it: blaslift decides for itself."""
        return cls(library)

    @classmethod
    def forced(
        cls, library: Path, backend: str, memory: int | None = None, routines: tuple[str, ...] = ("all",)
    ) -> Preload:
        """Every call of a routed routine goes to `backend`, in blocks that fit into `memory` bytes if given."""
        settings = {"BLASLIFT_BACKEND": backend, "BLASLIFT_FORCE": ",".join(routines)}
        if memory is not None:
            settings["BLASLIFT_MEMORY"] = str(memory)
        return cls(library, settings)


AT_LENGTH = "TESTS_AT_LENGTH" in os.environ
"""The long run (tools/test), in which tests that have thousands of cases take all of them."""


@dataclass(frozen=True)
class Run:
    """What a program left behind: exit status, both streams, the files it wrote, and blaslift's reports."""

    status: int
    stdout: str
    stderr: str
    files: dict[str, str]
    reports: list[dict]


def preloads(library: Path, in_front: tuple[Path, ...] = ()) -> str:
    """LD_PRELOAD for `library` behind those `in_front`; a sanitizer that it was built with has to come first."""
    needed = loaded_libraries(library, {})
    runtimes = [str(path) for soname, path in needed.items() if soname.startswith(("libasan", "libtsan"))]
    return ":".join([*runtimes, *map(str, in_front), str(library)])


def clean_environment(additions: dict[str, str]) -> dict[str, str]:
    """The caller's environment without its own preloads and settings, and with fixed thread counts.

    One OpenBLAS thread, because its results may depend on how it splits a product; two OpenMP threads, so that a
    program which uses OpenMP really has company. Waiting threads sleep: on a busy machine spinning ones
    would take most of the time.
    """
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("BLASLIFT", "PYTEST", "LD_", "OMP_", "OPENBLAS_", "R_", "_R_", "OCTAVE_"))
    }
    threads = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "2", "OMP_WAIT_POLICY": "passive"}
    return kept | {"LC_ALL": "C.UTF-8"} | threads | additions


def run(
    command: list[str | Path],
    *,
    stdin: str = "",
    environment: dict[str, str] | None = None,
    preload: Preload | None = None,
    timeout: float = 600.0,
) -> Run:
    """Run `command` in a fresh scratch directory, behind blaslift if `preload` says so.

    A program that outlives `timeout` seconds is killed with its children; its status is then -SIGKILL.
    """
    with tempfile.TemporaryDirectory(prefix="blaslift-test-") as scratch:
        work = Path(scratch, "work")
        work.mkdir()
        report = Path(scratch, "report.jsonl")
        variables = clean_environment(environment or {})
        if preload is not None:
            variables |= {"LD_PRELOAD": preloads(preload.library, preload.in_front), "BLASLIFT_REPORT": str(report)}
            variables |= preload.settings
        process = subprocess.Popen(
            list(map(str, command)),
            cwd=work,
            env=variables,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        try:
            stdout, stderr = process.communicate(stdin, timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            stdout, stderr = process.communicate()
            stderr += f"\nkilled after {timeout:.0f} seconds\n"
        files = {
            str(path.relative_to(work)): path.read_text(errors="replace")
            for path in sorted(work.rglob("*"))
            if path.is_file()
        }
        return Run(process.returncode, stdout, stderr, files, read_reports(report))


# ---------------------------------------------------------------------------------------------------------------
# Reports


@dataclass
class Account:
    """One routine's counters, added up over all processes of a run."""

    calls: int = 0
    routed: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    stayed: Counter = field(default_factory=Counter)
    levels: Counter = field(default_factory=Counter)
    """Products by Strassen-like levels, by the number of levels."""
    dealt: int = 0
    """By several devices."""
    residues: int = 0
    systolic: int = 0
    distrusted: int = 0
    """Products meant for levels that the guard sent back to the classical product."""


def read_reports(path: Path) -> list[dict]:
    """The report lines in `path`, one per process that called a routed symbol; none if no process did."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().splitlines() if line.strip()]


def accounts(reports: list[dict]) -> dict[str, Account]:
    """Per routine, the sum of what all processes report."""
    total: dict[str, Account] = {}
    for report in reports:
        for name, counters in report["routines"].items():
            account = total.setdefault(name, Account())
            account.calls += counters["calls"]
            account.routed += counters["routed"]
            account.bytes_in += counters["bytes_in"]
            account.bytes_out += counters["bytes_out"]
            account.stayed.update(counters["stayed"])
            account.levels.update({int(level): calls for level, calls in counters["levels"].items()})
            account.dealt += counters["dealt"]
            account.residues += counters["residues"]
            account.systolic += counters["systolic"]
            account.distrusted += counters["distrusted"]
    return total


def without_gemv_of_lapack(total: dict[str, Account], told: dict[str, int]) -> dict[str, Account]:
    """Of a program that tells of its calls: LAPACK underneath calls gemv and copy, too, which the program does not know of."""
    return {name: account for name, account in total.items() if name in told or name not in GEMVS + COPIES}


def left_undone_errors(run: Run, calls: dict[str, int]) -> list[str]:
    """What is wrong unless each of these calls says that it is not computed, its operands being in device memory, where
    the CPU would have to work with them."""
    said = [line for line in run.stderr.splitlines() if line.endswith(f"in device memory: {NO_ROUTE}")]
    errors = []
    if len(said) != sum(calls.values()) or not said or said != run.stderr.splitlines():
        errors.append(f"{calls}, and said {run.stderr.splitlines()[:5]}")
    counted = accounts(run.reports)
    for name, made in calls.items():
        if (counted[name].calls, dict(counted[name].stayed)) != (made, {NO_ROUTE: made}):
            errors.append(f"{name}: {counted[name]}")
    return errors


def bookkeeping_errors(
    total: dict[str, Account], *, forced: bool, routines: tuple[str, ...] = ROUTED
) -> list[str]:
    """What is wrong with the counters, whatever the program. `routines`: what is forced, if anything is.

    Every call is either routed or stayed for a reason. Routines without a route say so. Under force, a call may
    stay only for the reasons in STAYS_WHEN_FORCED; and one of symv, gemv, QR, LU or a system for want of memory, since these need
    all of their matrix at once, or a few panels of it; and what factors where the matrix is none to be factored; and gemqr where T is not ours:
    of what geqr had nothing to do with.
    """
    errors = []
    for name, account in sorted(total.items()):
        stayed = sum(account.stayed.values())
        if account.calls != account.routed + stayed:
            errors.append(f"{name}: {account.calls} calls, but {account.routed} routed and {stayed} stayed")
        if forced and name in routines:
            allowed = STAYS_WHEN_FORCED | ({NO_ROOM} if name in SYMVS + CSYMVS + GEMVS + QRS + ORMLQS + LQS + REDUCTION_QS + SYSTEMS + INVERSES + CONDITIONS + SYGSTS else set())
            allowed |= {NOT_DEFINITE} if name in POTRFS + POSVS + POCONS + SYGVS else set()
            allowed |= {SINGULAR} if name in GETRFS + GESVS + GECONS + TRCONS + TRTRSS + INVERSES + GELSS else set()
            allowed |= {NO_ROOM, NOT_CONVERGED} if name in (*EIGENS, *SYGVS, *SYTRDS, *GEHRDS, *GEBRDS, *GEQP3S, *SVDS, *GEEVS, *LEAST_SQUARES) else set()
            allowed |= {NOT_FINITE} if name in TRMMS else set()
            allowed |= {SCALED} if name in LEAST_SQUARES else set()
            allowed |= {OF_COLUMNS} if name in GELSYS else set()
            allowed |= {OF_LEFT} if name in GEEVS else set()
            allowed |= {OF_LIBRARY} if name.endswith("gemqr") else set()
            strangers = {why: n for why, n in account.stayed.items() if why not in allowed}
            if strangers:
                errors.append(f"{name}: forced, and yet calls stayed: {strangers}")
        if name not in ROUTED and account.routed:
            errors.append(f"{name}: has no route, and yet {account.routed} calls were routed")
    return errors


def checked_errors(reports: list[dict]) -> list[str]:
    """All routed calls were checked, most of them twice, and none was found wrong."""
    errors = []
    checked = 0
    for report in reports:
        for name, counters in report["routines"].items():
            verified = counters.get("verified", {"checked": 0, "wrong": 0, "unchecked": {}})
            checked += verified["checked"]
            if verified["checked"] + sum(verified["unchecked"].values()) < counters["routed"]:
                errors.append(f"{name}: {counters['routed']} calls routed, {verified}")
            if verified["wrong"]:
                errors.append(f"{name}: {verified}, {report['worst'][:3]}")
        if report.get("problems"):
            errors.append(f"{report['problems']}")
    return errors if checked else [*errors, "nothing was checked"]


def backend_errors(reports: list[dict], backend: str) -> list[str]:
    """Processes that routed something, but not to the backend that was asked for."""
    return [
        f"process {report['pid']} ({report['command']}) reports the backend {report['backend']!r}, not {backend!r}"
        for report in reports
        if report["backend"] != backend and any(r["routed"] for r in report["routines"].values())
    ]


# ---------------------------------------------------------------------------------------------------------------
# Telling


@contextlib.contextmanager
def scratch(**environment: str):
    """A directory of the case's own, also for temporary files, and an environment that tells blaslift nothing."""
    with tempfile.TemporaryDirectory() as directory:
        for name in [name for name in os.environ if name.startswith("BLASLIFT")]:
            del os.environ[name]
        os.environ.update({"TMPDIR": directory} | environment)
        try:
            yield directory
        finally:
            os.chdir("/")


def main(body) -> None:
    """Call `body` and exit: its truth is the status, and a `Skip` exits as skipped, saying why."""
    try:
        sys.exit(0 if body() else 1)
    except Skip as why:
        print(f"SKIPPED: {why}")
        sys.exit(SKIPPED)


def print_table(head: tuple[str, ...], rows: list[tuple]) -> None:
    """Print rows under their heads; columns of numbers lie to the right."""
    cells = [head] + [tuple(map(str, row)) for row in rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(head))]
    right = [all(isinstance(row[i], int) for row in rows) for i in range(len(head))]
    for row in cells:
        padded = (c.rjust(w) if r else c.ljust(w) for c, w, r in zip(row, widths, right, strict=True))
        print("  ".join(padded).rstrip())
