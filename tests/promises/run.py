#!/usr/bin/env python3
"""The promises of the design, each with a test of its own name: `run.py NAME`.

A test is a function that returns what is wrong, a list of lines. The programs (programs/*.cpp) check their own results
and end with a line "calls {...}", what they called, and "ok"; blaslift's reports must say the same, and that what was
meant to be routed was.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import compact
import decompositions
import definite
import eigen
import factors
import faults
import forks
import general_eigen
import generalized
import harness
import least_squares
import reflectors
import semantics
import suite
import surroundings
import threads
import triangles
import vectors
import verification
import zeros
from setting import Setting

MODULES = (faults, semantics, triangles, vectors, reflectors, compact, definite, zeros, eigen, decompositions, general_eigen, generalized, least_squares, factors, threads, forks, surroundings, verification)
PROMISES = {test.__name__: test for module in MODULES for test in module.PROMISES}
SUITE = "suite."
"""A promise of one routine: suite.MEMBER.ASPECT."""


def promise_of(name: str):
    if name.startswith(SUITE):
        return suite.promise_of(name.removeprefix(SUITE))
    if name not in PROMISES:
        raise argparse.ArgumentTypeError(f"none of {', '.join(sorted(PROMISES))}, {SUITE}MEMBER.ASPECT")
    return PROMISES[name]


def body() -> bool:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("promise", type=promise_of)
    parser.add_argument("--lib", type=Path, required=True, help="libblaslift.so")
    parser.add_argument("--fault-lib", type=Path, required=True, help="libblaslift.so beside the fault module")
    parser.add_argument("--programs", type=Path, required=True, help="folder of the test programs")
    parser.add_argument("--blaslift", type=Path, help="the command, where it is built")
    parser.add_argument("--sanitizer", default="", help="what everything here was built with")
    arguments = parser.parse_args()
    setting = Setting(
        arguments.lib.resolve(strict=True),
        arguments.fault_lib.resolve(strict=True),
        arguments.programs.resolve(strict=True),
        arguments.sanitizer,
        arguments.blaslift and arguments.blaslift.resolve(strict=True),
    )
    errors = arguments.promise(setting)
    print("\n".join(errors[:60]))
    return not errors


if __name__ == "__main__":
    harness.main(body)
