#!/usr/bin/env python3
"""NumPy's and SciPy's own tests must end alike with blaslift in front and without, test by test.

Two distributions, because they reach BLAS by different names: Debian's packages link libblas.so.3 and liblapack.so.3
(reference or OpenBLAS, as --provider says), loaded with RTLD_LOCAL; the wheels from PyPI bring an OpenBLAS of their
own, under scipy_-prefixed names.

Three modes: natural, as a user has it; forced, every gemm with something to multiply on the backend; and verified, the
same with each routed call made once more by the library underneath and compared, none of them over its bound. In all the
outcome (passed, failed, skipped, xfailed, ...) of each test id must equal that without blaslift, whatever it is there. The
counters must show that the packages' calls arrived by the names of that distribution, that forced gemms were routed
in all four precisions, and that every call is accounted for.

NumPy overrides xerbla and tests it in a forked child that leaves by _exit: Debian's must still pass.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import harness
from harness import Account, Preload, Skip

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parent.parent

PYTEST = (
    "-q",
    *("-p", "no:cacheprovider"),
    *("-p", "outcomes"),
    *("-c", "/dev/null"),  # no configuration from wherever the packages happen to lie
    "--hypothesis-seed=0",
    "--tb=short",
)


@dataclass(frozen=True)
class Group:
    """Tests that one pytest process runs: paths under site-packages (or absolute), and pytest's -k expression."""

    paths: tuple[str, ...]
    keywords: str = ""


GROUPS = {
    "numpy": [
        Group(("numpy/linalg/tests",)),
        # TestDot::test_huge_vectordot needs 16 GiB, and only calls dot and gemv.
        Group(
            ("numpy/{core}/tests/test_multiarray.py", "numpy/{core}/tests/test_einsum.py"),
            "(dot or matmul or MatMul or einsum) and not huge",
        ),
    ],
    "scipy": [Group(("scipy/linalg/tests",)), Group((str(HERE / "test_direct_calls.py"),))],
}

CALLED = {
    "numpy": (*harness.GEMMS, "dgesv", "zgesv", "dgeqrf", "zgeqrf", "dorgqr", "zungqr"),
    "scipy": (*harness.GEMMS, *harness.SYMVS, *harness.GEMVS, *harness.CLASSIC_QRS),  # it has no functions for the others
}
"""What the tests of each package call for certain."""

XERBLA_TEST = "test_xerbla_override"


@dataclass(frozen=True)
class Distribution:
    """An interpreter with NumPy and SciPy, and the libraries that must be found under them."""

    python: Path
    site_packages: Path
    environment: dict[str, str]
    library_folders: tuple[Path, ...]
    core: str


@dataclass(frozen=True)
class Session:
    """What one group's pytest process said."""

    outcomes: dict[str, str]
    libraries: list[Path]
    reports: list[dict]
    output: str
    status: int


def debian(python: Path, provider: str) -> Distribution:
    environment = harness.provider_environment(provider)
    return _distribution(python, environment, harness.PROVIDERS[provider], "python3-numpy, python3-scipy, python3-pytest")


def venv(python: Path) -> Distribution:
    return _distribution(python, {}, None, "NumPy and SciPy wheels; tools/setup makes the virtual environment")


def _distribution(python: Path, environment: dict[str, str], folders, what: str) -> Distribution:
    """Ask the interpreter where its packages are; skip if it has not all that the tests need."""
    if not python.exists():
        raise Skip(f"no {python} ({what})")
    question = (
        "import numpy, scipy, pytest, hypothesis, pathlib;"
        "print(pathlib.Path(numpy.__file__).parent.parent, 'core' if numpy.__version__ < '2' else '_core')"
    )
    answer = harness.run([python, "-I", "-c", question], environment=environment)
    if answer.status != 0:
        raise Skip(f"{python} lacks {what}: {answer.stderr.splitlines()[-1:]}")
    site, core = answer.stdout.split()
    site_packages = Path(site)
    folders = folders or (site_packages / "numpy.libs", site_packages / "scipy.libs")
    return Distribution(python, site_packages, environment, tuple(folders), core)


def run_group(distribution: Distribution, group: Group, preload: Preload | None) -> Session:
    """One pytest process in a scratch directory. Nothing is cached, and nothing is left to chance that can be fixed."""
    site = distribution.site_packages
    paths = [str(site / path.format(core=distribution.core)) for path in group.paths]
    keywords = ("-k", group.keywords) if group.keywords else ()
    command = [distribution.python, "-m", "pytest", *PYTEST, "--rootdir", site, "--outcomes", "outcomes.json"]
    environment = distribution.environment | {
        "PYTHONPATH": str(HERE),
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONNOUSERSITE": "1",
    }
    run = harness.run([*command, *keywords, *paths], environment=environment, preload=preload, timeout=480)
    told = json.loads(run.files.get("outcomes.json", '{"outcomes": {}, "libraries": []}'))
    libraries = list(map(Path, told["libraries"]))
    return Session(told["outcomes"], libraries, run.reports, run.stdout + run.stderr, run.status)


class Baseline:
    """A group without blaslift, run when first needed, and again while outcomes with blaslift differ.

    A test that is not steady by itself must not count against blaslift: for each test, agreeing with any of three
    runs is agreeing.
    """

    RUNS = 3

    def __init__(self, distribution: Distribution, group: Group):
        self._distribution = distribution
        self._group = group
        self._seen: list[Session] = []

    def __getitem__(self, index: int) -> Session:
        while len(self._seen) <= index:
            self._seen.append(run_group(self._distribution, self._group, None))
        return self._seen[index]

    def differences(self, ours: Session) -> list[str]:
        """Tests whose outcome is that of no baseline run."""
        names = self[0].outcomes.keys() | ours.outcomes.keys()
        for index in range(self.RUNS):
            names = {name for name in names if self[index].outcomes.get(name) != ours.outcomes.get(name)}
            if not names:
                return []
        absent = "not run"
        return [
            f"{name}: {ours.outcomes.get(name, absent)}, without blaslift {self[0].outcomes.get(name, absent)}"
            for name in sorted(names)
        ]


def library_errors(distribution: Distribution, session: Session) -> list[str]:
    """The BLAS that the process had loaded is the one that this configuration is about."""
    folders = [folder.resolve() for folder in distribution.library_folders]
    foreign = [path for path in session.libraries if path.parent.resolve() not in folders]
    errors = [f"loaded {path}, which is not of this configuration" for path in foreign]
    return errors if session.libraries else ["no BLAS was loaded"]


def session_errors(distribution: Distribution, baseline: Baseline, ours: Session) -> list[str]:
    """What is wrong with one group's run behind blaslift, its counters aside."""
    errors = baseline.differences(ours)
    if not baseline[0].outcomes:
        errors.append("no tests ran:\n" + baseline[0].output[-2000:])
    if ours.status != baseline[0].status:
        errors.append(f"pytest ended with {ours.status}, without blaslift with {baseline[0].status}")
    if errors:
        errors.append("pytest's last words: " + ours.output[-3000:])
    return errors + library_errors(distribution, ours)


def forced_routines(arguments: argparse.Namespace) -> tuple[str, ...]:
    """QR's as well for the wheels: on the host backend small ones take long."""
    return harness.ROUTED if arguments.python == "venv" else harness.BLAS


def counter_errors(package: str, total: dict[str, Account], *, forced: tuple[str, ...]) -> list[str]:
    """Every call is accounted for, everything known to be called was, and what is forced was routed."""
    errors = harness.bookkeeping_errors(total, forced=bool(forced), routines=forced)
    for name in CALLED[package]:
        account = total.get(name, Account())
        if not account.calls:
            errors.append(f"{name}: never called")
        elif name in forced and not account.routed:
            errors.append(f"{name}: forced, and yet nothing was routed")
    return errors


def xerbla_errors(outcomes: dict[str, str], distribution: str) -> list[str]:
    """NumPy's own xerbla is in force: its test ran and passed. (Wheels do not link theirs; there it is skipped.)"""
    found = {name: outcome for name, outcome in outcomes.items() if name.endswith(XERBLA_TEST)}
    wanted = "passed" if distribution == "debian" else "skipped"
    if list(found.values()) != [wanted]:
        return [f"{XERBLA_TEST}: {found or 'not run'}, not {wanted}"]
    return []


def check(distribution: Distribution, baselines: list[Baseline], mode: str, arguments) -> tuple[tuple, list[str]]:
    """Run the package's tests behind blaslift in `mode`: the row of the table, and what is wrong."""
    forced = forced_routines(arguments) if mode != "natural" else ()
    preload = Preload.natural(arguments.lib)
    if forced:
        preload = Preload.forced(arguments.lib, arguments.backend, harness.FORCED_MEMORY, forced)
    if mode == "verified":
        preload = Preload(preload.library, preload.settings | {"BLASLIFT_VERIFY": "all"})
    if forced and arguments.devices:
        preload = Preload(preload.library, preload.settings | {"BLASLIFT_DEVICES": str(arguments.devices)})
    errors: list[str] = []
    outcomes: dict[str, str] = {}
    before: dict[str, str] = {}
    reports: list[dict] = []
    for baseline, group in zip(baselines, GROUPS[arguments.package], strict=True):
        ours = run_group(distribution, group, preload)
        errors += session_errors(distribution, baseline, ours)
        outcomes |= ours.outcomes
        before |= baseline[0].outcomes
        reports += ours.reports
    total = harness.accounts(reports)
    errors += counter_errors(arguments.package, total, forced=forced)
    if forced:
        errors += harness.backend_errors(reports, arguments.backend)
    if mode == "verified":
        errors += harness.checked_errors(reports)
    if arguments.package == "numpy":
        errors += xerbla_errors(outcomes, arguments.python)
    routed = [total[name] for name in harness.ROUTED if name in total]
    others = sum(account.calls for name, account in total.items() if name not in harness.ROUTED)
    counts = (sum(a.calls for a in routed), sum(a.routed for a in routed), others)
    return (mode, summary(before), summary(outcomes), *counts, "DIFFERS" if errors else "same"), errors


def summary(outcomes: dict[str, str]) -> str:
    return ", ".join(f"{count} {outcome}" for outcome, count in Counter(outcomes.values()).most_common())


def interpreter_options(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """The options that say what is tested over what."""
    parser.add_argument("--lib", type=Path, required=True, help="libblaslift.so")
    parser.add_argument("--python", choices=("debian", "venv"), default="debian", help="whose packages")
    parser.add_argument("--provider", choices=sorted(harness.PROVIDERS), default="reference", help="under Debian's")
    parser.add_argument("--debian-python", type=Path, default=Path("/usr/bin/python3"))
    parser.add_argument("--venv", type=Path, default=REPOSITORY / ".venv", help="the virtual environment's folder")
    return parser


def chosen_distribution(arguments: argparse.Namespace) -> Distribution:
    if arguments.python == "debian":
        return debian(arguments.debian_python, arguments.provider)
    return venv(arguments.venv / "bin" / "python")


def parse() -> argparse.Namespace:
    parser = interpreter_options(argparse.ArgumentParser(description=__doc__.split("\n")[0]))
    parser.add_argument("--package", choices=("numpy", "scipy"), default="numpy")
    parser.add_argument("--mode", nargs="+", choices=("natural", "forced", "verified"), default=["natural", "forced"])
    parser.add_argument("--backend", choices=("host", "cuda"), default="host", help="where forced calls go")
    parser.add_argument("--devices", type=int, help="over how many of them forced calls are dealt out: BLASLIFT_DEVICES")
    return parser.parse_args()


def body() -> bool:
    arguments = parse()
    arguments.lib = arguments.lib.resolve(strict=True)
    distribution = chosen_distribution(arguments)
    baselines = [Baseline(distribution, group) for group in GROUPS[arguments.package]]
    results = [check(distribution, baselines, mode, arguments) for mode in arguments.mode]
    libraries = sorted({str(path) for baseline in baselines for path in baseline[0].libraries})
    print(f"{arguments.package} of {distribution.site_packages} over\n  " + "\n  ".join(libraries))
    head = ("mode", "without blaslift", "with", "calls", "routed", "other calls", "verdict")
    harness.print_table(head, [row for row, _ in results])
    for row, errors in results:
        for error in errors:
            print(f"{row[0]}: {error}")
    return not any(errors for _, errors in results)


if __name__ == "__main__":
    harness.main(body)
