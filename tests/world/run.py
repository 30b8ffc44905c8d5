#!/usr/bin/env python3
"""What a user's world does to a program, kind by kind: `run.py KIND CASE --build DIR`.

A case is a function of KIND/cases.py. It takes a World and returns what is wrong, a list of lines. Programs are
compiled from the kind's folder when a case asks for them, into a scratch directory in which the case also runs.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import harness


@dataclass(frozen=True)
class World:
    """What a case works with."""

    build: Path
    """The build's folder: lib/, bin/, and fault/ with the library beside the module that injects faults."""
    source: Path
    """The kind's folder."""
    scratch: Path
    """The current directory, empty at first and gone at the end."""
    cc: str
    cxx: str

    @property
    def lib(self) -> Path:
        return self.build / "lib" / "libblaslift.so"

    @property
    def command(self) -> Path:
        return self.build / "bin" / "blaslift"

    @property
    def fault_lib(self) -> Path:
        return self.build / "fault" / "libblaslift.so"

    def compile(self, source: str, *flags: str | Path, to: str | None = None) -> Path:
        """Compiles `source` of the kind's folder into the scratch directory; flags follow it, so libraries may be there."""
        target = self.scratch / (to or Path(source).stem)
        compiler = self.cc if source.endswith(".c") else self.cxx
        line = [compiler, "-O1", "-g", self.source / source, "-o", target, *flags]
        done = subprocess.run(list(map(str, line)), capture_output=True, text=True)
        if done.returncode:
            raise AssertionError(f"{source} cannot be compiled:\n{done.stderr}")
        return target


def body() -> bool:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("kind")
    parser.add_argument("case")
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--cc", default="cc")
    parser.add_argument("--cxx", default="c++")
    arguments = parser.parse_args()
    build, source = arguments.build.resolve(strict=True), HERE / arguments.kind
    sys.path.insert(0, str(source))
    spec = importlib.util.spec_from_file_location("cases", source / "cases.py")
    cases = importlib.util.module_from_spec(spec)
    sys.modules["cases"] = cases
    spec.loader.exec_module(cases)
    with harness.scratch() as directory:
        os.chdir(directory)
        world = World(build, source, Path(directory), arguments.cc, arguments.cxx)
        errors = getattr(cases, arguments.case)(world)
    print("\n".join(errors[:60]))
    return not errors


if __name__ == "__main__":
    harness.main(body)
