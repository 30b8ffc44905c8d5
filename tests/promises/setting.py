"""Where everything is, and how the tests of this directory run programs and compare them with blaslift's reports."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import harness
from harness import Preload, Run

HOST = {"BLASLIFT_BACKEND": "host"}
FORCED = HOST | {"BLASLIFT_FORCE": "all"}
SCARCE = FORCED | {"BLASLIFT_MEMORY": "4096"}
"""Device memory for blocks of C of about a dozen rows and columns in double precision."""
LEVELS = FORCED | {"BLASLIFT_STRASSEN": "2"}
"""Products by two levels of Strassen's algorithm, as far as they fit."""

STAYS = {
    "nothing": {harness.NOTHING_TO_MULTIPLY},
    "overlap": {harness.OVERLAP},
    "invalid": {harness.INVALID_ARGUMENTS, harness.NOTHING_TO_MULTIPLY},
}
"""What programs of BLAS's products are asked for that is left to the library underneath, and the reasons."""

PROVIDERS = tuple(name for name in ("reference", "openblas") if name in harness.PROVIDERS)

SANITIZER_OPTIONS = {
    # What is kept on purpose for the life of the process is not told from a leak once threads are cut off by the end.
    "ASAN_OPTIONS": "detect_leaks=0",
    "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
    # A child forked by a threaded process may start threads of its own: C and Fortran programs do.
    # At exit it would wait a second for other threads: ours never end, and there are hundreds of processes.
    "TSAN_OPTIONS": "die_after_fork=0:halt_on_error=0:exitcode=66:atexit_sleep_ms=50",
}


@dataclass(frozen=True)
class Setting:
    library: Path
    fault_library: Path
    programs: Path
    sanitizer: str
    blaslift: Path | None = None
    """The command, where it is built."""

    @property
    def providers(self) -> tuple[str, ...]:
        """Sanitizers look at what blaslift does: which library lies underneath matters little, and time much."""
        return PROVIDERS[:1] if self.sanitizer else PROVIDERS

    def takes(self, provider: str) -> bool:
        """Whether what takes long, and hardly depends on the library underneath, is tried over this one, too."""
        return harness.AT_LENGTH or provider == "reference"

    def run(
        self,
        program: str,
        *arguments: str,
        settings: dict[str, str] | None = None,
        provider: str = "reference",
        library: Path | None = None,
        preload: bool = True,
        timeout: float = 120.0,
        **environment: str,
    ) -> Run:
        """Run a program of this directory over `provider`, behind blaslift (or `library`) unless told not to."""
        return harness.run(
            [self.programs / program, *arguments],
            environment=harness.provider_environment(provider) | SANITIZER_OPTIONS | environment,
            preload=Preload(library or self.library, settings or {}) if preload else None,
            timeout=timeout,
        )


def told(run: Run) -> dict[str, int]:
    """What the program says that it called."""
    for line in run.stdout.splitlines():
        if line.startswith("calls "):
            return json.loads(line.removeprefix("calls "))
    return {}


def verdict_errors(run: Run) -> list[str]:
    """The program's own verdict, and silence on stderr."""
    errors = [line for line in run.stdout.splitlines() if line.startswith("WRONG:")]
    errors += [f"stderr: {line}" for line in run.stderr.splitlines()]
    if run.status != 0 or not run.stdout.endswith("ok\n"):
        errors.append(f"status {run.status}, last line {run.stdout.splitlines()[-1:]}")
    return errors


def report_errors(run: Run, *, routed: bool | None, stayed: set[str] | None = None) -> list[str]:
    """One report, with the calls that the program told of: all routed, or none of them and for these reasons only.

    `routed` None leaves open how many were routed.
    """
    calls = told(run)
    if len(run.reports) != 1 or not calls:
        return [f"{len(run.reports)} reports from one process that tells of {calls}"]
    total = harness.accounts(run.reports)
    errors = harness.bookkeeping_errors(total, forced=False)
    total = harness.without_gemv_of_lapack(total, calls)
    if {name: account.calls for name, account in total.items()} != calls:
        errors.append(f"called {calls}, counted { {name: account.calls for name, account in total.items()} }")
    for name, account in total.items():
        if routed is not None and account.routed != (account.calls if routed else 0):
            errors.append(f"{name}: {account.routed} of {account.calls} calls routed; stayed: {dict(account.stayed)}")
        if stayed is not None and set(account.stayed) - stayed:
            errors.append(f"{name}: stayed for {dict(account.stayed)}, not only for {stayed}")
    return errors


def stay_errors(
    s: Setting, program: str, cases: dict[str, set[str]], modes: dict[str, dict[str, str]], judged: tuple[str, ...]
) -> list[str]:
    """Calls that are computed by the library underneath end as without blaslift; when forced, for these reasons only.

    Over the providers in `judged` they are right, too: the others have their ways.
    """
    errors = []
    for provider in s.providers:
        for what, stayed in cases.items():
            plain = s.run(program, what, provider=provider, preload=False)
            if what == "invalid" and "refused 0 of" in plain.stdout:
                errors.append(f"{provider}: the library refuses nothing")
            for mode, settings in modes.items():
                run = s.run(program, what, provider=provider, settings=settings)
                found = report_errors(run, routed=False, stayed=stayed if mode == "forced" else None)
                if (run.status, run.stdout, run.stderr) != (plain.status, plain.stdout, plain.stderr):
                    found.append(f"without blaslift {plain.stdout!r}, with {run.stdout!r} {run.stderr!r}")
                if provider in judged:
                    found += verdict_errors(run)
                errors += labelled(f"{provider} {what} {mode}", found)
            print(f"{provider} {what}: {told(plain)}")
    return errors


def labelled(label: str, errors: list[str]) -> list[str]:
    return [f"{label}: {error}" for error in errors]
