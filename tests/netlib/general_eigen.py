#!/usr/bin/env python3
"""LAPACK's own tester of xGEEV, with those calls forced to the device.

For every matrix the tester calls xGEEV with vectors of both sides, of either, and of none. Those with left vectors stay on
the CPU. Its tests 5 and 6 ask whether eigenvalues, and right vectors, have the same bits in all of the four calls. These
cannot all pass, and have to find fault, or nothing was computed elsewhere. The others have to pass; they ask whether the result
of the call with vectors of both sides is right. Whether others are, of all these matrices, asks blaslift's verification.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import harness
from cases import LAPACK
from harness import Preload, Skip

SAME_BITS = {5, 6}


def errors_of(letter: str, arguments: argparse.Namespace) -> list[str]:
    program, given = LAPACK / f"xeigtst{letter}", LAPACK / f"{letter}ed.in"
    if not program.exists():
        raise Skip(f"the LAPACK testers (Debian: liblapack-test) are not in {LAPACK}")
    name = f"{letter}geev"
    preload = Preload.forced(arguments.lib, "host", harness.FORCED_MEMORY, (name,))
    preload = Preload(preload.library, preload.settings | {"BLASLIFT_VERIFY": "all"})
    environment = harness.provider_environment("reference")
    harness.check_provider(program, "reference")
    run = harness.run([program], stdin=given.read_text(), environment=environment, preload=preload)
    # Of the part of the output that is about this driver.
    about = run.stdout.partition(f"{letter.upper()}GEEV passed the tests of the error exits")[2].partition("GEES passed")[0]
    tests = re.search(rf"{letter.upper()}EV: +(\d+) out of +(\d+) tests failed", about)
    found = Counter(int(which) for which in re.findall(r"test\( *(\d+)\)=", about))
    account = harness.accounts(run.reports)[name]
    print(f"{name}: {account.calls} calls, {account.routed} routed, {tests and tests[0]}, by test {dict(found)}")
    errors = [f"test {which} finds fault {count} times" for which, count in found.items() if which not in SAME_BITS]
    errors += [f"test {which} finds no fault: was anything computed elsewhere?" for which in SAME_BITS if not found[which]]
    if not tests or int(tests[1]) != sum(found.values()) or int(tests[2]) < 1000:
        errors.append(f"not understood: {about[-300:]!r}")
    if not account.routed or not account.stayed[harness.OF_LEFT]:
        errors.append(f"not both routed and left on the CPU: {account}")
    errors += harness.bookkeeping_errors(harness.accounts(run.reports), forced=True, routines=(name,))
    errors += harness.backend_errors(run.reports, "host") + harness.checked_errors(run.reports)
    return [f"{name}: {error}" for error in errors]


def body() -> bool:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lib", type=lambda name: Path(name).resolve(strict=True), required=True)
    arguments = parser.parse_args()
    errors = [error for letter in "sdcz" for error in errors_of(letter, arguments)]
    print("\n".join(errors))
    return not errors


if __name__ == "__main__":
    harness.main(body)
