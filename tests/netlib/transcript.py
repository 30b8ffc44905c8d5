"""What a tester said, in a form that can be compared."""

from __future__ import annotations

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from harness import Run

TIMES = re.compile(r"Total time used =")

VERDICT = re.compile(
    r"PASS|FAIL|SUSPECT|ERROR|ABANDONED|NOT TESTED|END OF TESTS|exit status|End of tests"
    r"|passed|failed|tests? (run|done)|[Ii]llegal|\bINFO\b|not recognized"
    r"|info is not|IHI wrong|examples tested|largest test error"
)

LARGEST_ERROR = re.compile(r"largest test error\s+=\s+(\S+)")
"""The balancing testers print an error, in units of the machine precision, and leave the judgement to the reader."""

LARGEST_GOOD_ERROR = 30.0
"""The threshold of the linear equation testers, for want of one of their own."""

CBLAS_OR_FORTRAN = (
    r"^\s*(?:cblas_)?{routine}\s+(?:PASSED|COMPLETED) THE (?:\S+-MAJOR\s+)?COMPUTATIONAL TESTS \(\s*(\d+) CALLS\)"
)


def transcript(run: Run) -> list[str]:
    """Everything a tester left behind, by line, without the times."""
    sections = {"stdout": run.stdout, "stderr": run.stderr} | {f"file {name}": text for name, text in run.files.items()}
    lines = [f"exit status {run.status}"]
    for name, text in sections.items():
        lines.append(f"--- {name}")
        lines += [line.rstrip() for line in text.splitlines() if not TIMES.search(line)]
    return lines


def verdicts(lines: list[str]) -> list[str]:
    """Only the lines that judge: which routine passed or failed, how many tests ran, how many missed the threshold.

    What a failing test prints besides (its ratio, the values it found) depends on the last bits of the products.
    """
    return [_judged(line) for line in lines if VERDICT.search(line)]


def _judged(line: str) -> str:
    """`line`, with an error that nobody has judged replaced by our judgement."""
    found = LARGEST_ERROR.search(line)
    if not found:
        return line
    good = float(found[1].replace("D", "e")) < LARGEST_GOOD_ERROR
    return line[: found.start(1)] + ("passed" if good else "FAILED")


RATIO = re.compile(r"BUT WITH MAXIMUM TEST RATIO\s+(\S+) - SUSPECT")
"""Of a level 3 BLAS tester, after a line that says COMPLETED instead of PASSED."""

HALF_ACCURATE = re.compile(r"FATAL ERROR - COMPUTED RESULT IS LESS THAN HALF ACCURATE")
ABANDONED = re.compile(r"^ \*+ (\w+)\s+FAILED ON CALL NUMBER")
"""What a level 3 BLAS tester says when it has found less than half of the digits; the call's arguments follow."""

SUBJECTS = (
    re.compile(r"^\s*(\w+)\s+(?:PASSED|COMPLETED) THE (?:(\w+-MAJOR)\s+)?COMPUTATIONAL TESTS"),
    re.compile(r"^\s*(\w+)\s+(?:PASSED|FAILED) THE TESTS OF ERROR-EXITS()"),
    re.compile(r"^\s*(\w+)\s+WAS NOT TESTED()"),
    re.compile(r"All tests for (\w+)()"),
    re.compile(r"^\s*(\w+)\b.*?\d+ out of ()"),
    re.compile(r"(?:Failure in|while testing) (\w+)()"),
    re.compile(r"(largest test error)()"),
)
"""Whom a line is about: a routine and, with CBLAS, the layout."""


MISSED = re.compile(r"^ +(\w+)\b.*?(\d+) out of +(\d+) tests failed to pass the threshold$")
ALL_PASSED = re.compile(r"^ +All tests for (\w+)\b.*? passed the threshold *\( *(\d+) tests run\)$")


def no_worse(theirs: list[str], ours: list[str]) -> bool:
    """Whether both say the same, but that `ours` misses the threshold less often where `theirs` does: the library
    underneath has roundings of its own."""

    def missed(line: str) -> tuple[str, int, int] | None:
        if found := MISSED.search(line):
            return found[1], int(found[3]), int(found[2])
        if found := ALL_PASSED.search(line):
            return found[1], int(found[2]), 0
        return None

    def fine(its: str, own: str) -> bool:
        before, after = missed(its), missed(own)
        return its == own or bool(before and after and before[:2] == after[:2] and after[2] <= before[2])

    return len(theirs) == len(ours) and all(map(fine, theirs, ours))


def by_subject(lines: list[str]) -> dict[str, list[str]]:
    """What is said of whom, in the lines that judge: routines named as in "sgemm" or "cblas_sgemm ROW-MAJOR"; ""
    is the run as a whole.  Ratios and the numbers of failures are left out: they depend on the last bits."""
    said: dict[str, list[str]] = {}
    subject = ""
    for line, after in zip(lines, [*lines[1:], ""], strict=True):
        if (ratio := RATIO.search(line)) is not None:
            said[subject].append(line.replace(ratio[1], "..."))
            continue
        if (found := ABANDONED.search(line)) is not None:
            layout = " ROW-MAJOR" if "CblasRowMajor" in after else " COLUMN-MAJOR" if "Cblas" in after else ""
            said.setdefault(_subject(found[1]) + layout, []).append("abandoned")
            continue
        if HALF_ACCURATE.search(line):
            continue  # of whom follows
        about = next(filter(None, (pattern.search(line) for pattern in SUBJECTS)), None)
        if about is None and not VERDICT.search(line):
            continue
        subject = _subject(about[1]) + (f" {about[2]}" if about[2] else "") if about else ""
        text = re.sub(r"\d+ out of", "... out of", _judged(line))
        if "Failure in" not in text and text not in said.setdefault(subject, []):
            said[subject].append(text)
    return said


def _subject(name: str) -> str:
    """`name`, in small letters where only the Fortran testers write large ones."""
    return name.lower() if re.fullmatch(r"[SDCZ][A-Z0-9]+", name) else name


def ratio_told(lines: list[str], subject: str) -> float | None:
    """The ratio for which a BLAS tester calls `subject` suspect; None if it does not."""
    last = None
    for line in lines:
        if (ratio := RATIO.search(line)) is not None:
            if last == subject:
                return float(ratio[1])
        elif (about := SUBJECTS[0].search(line)) is not None:
            last = _subject(about[1]) + (f" {about[2]}" if about[2] else "")
    return None


def calls_told(lines: list[str], routine: str) -> int | None:
    """How many times a BLAS tester says that it called `routine`, error exits not included; None if it does not say."""
    pattern = re.compile(CBLAS_OR_FORTRAN.format(routine=routine), re.IGNORECASE)
    told = [int(found[1]) for line in lines if (found := pattern.search(line))]
    return sum(told) if told else None


def in_short(lines: list[str]) -> str:
    """The verdict in a few words, for a table."""
    if any("symbol lookup error" in line for line in lines):
        return "does not start"
    if lines[0] != "exit status 0":
        return lines[0]
    text = "\n".join(verdicts(lines))
    missed = sum(map(int, re.findall(r"(\d+) out of", text)))
    ran = missed and sum(map(int, re.findall(r"out of\s+(\d+)", text)))
    ran += sum(map(int, re.findall(r"\(\s*(\d+) tests run\)", text)))
    if ran:
        return f"{ran} tests, {missed} over the threshold" if missed else f"{ran} tests passed"
    passed, failed = len(re.findall(r"PASS|= +passed", text)), len(re.findall(r"FAIL|SUSPECT", text))
    return f"{passed} passed, {failed} failed" if failed else f"{passed} passed"
