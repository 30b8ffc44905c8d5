#!/usr/bin/env python3
"""ScaLAPACK through blaslift: processes of a grid over OpenMPI, on the host backend.

    run.py calls P Q BLOCK...     each routine on a P x Q grid, beside ScaLAPACK's results (calls.cpp)
    run.py tester NAME RANKS      one of ScaLAPACK's own testers, plain and forced: the same verdicts
    run.py refused                calls that stay ScaLAPACK's: switched off, small, forced where there is no GPU
    run.py killed                 a rank is killed during a series of calls: all end within a minute
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LIST = Path(__file__).resolve().parents[2] / "api/scalapack.def"
TESTERS = Path("/usr/lib/x86_64-linux-gnu/scalapack/openmpi-tests")
DATA = Path("/usr/share/scalapack")
SKIPPED = 77


def environment(arguments: argparse.Namespace, folder: Path, settings: dict[str, str]) -> dict[str, str]:
    """Of all processes: mpirun hands its own on."""
    base = {name: value for name, value in os.environ.items() if not name.startswith("BLASLIFT_")}
    base |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    base |= {"TMPDIR": str(folder), "BLASLIFT_BACKEND": "host", "BLASLIFT_REPORT": str(folder / "report")}
    return base | settings


def mpirun(ranks: int, preload: str | None) -> list[str]:
    """More ranks than processors wait for each other without taking the processor from each other."""
    command = ["mpirun", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1", "--mca", "btl", "vader,self", "-n", str(ranks)]
    return command + (["-x", f"LD_PRELOAD={preload}"] if preload else [])


def counted(folder: Path) -> dict[str, int]:
    """Calls that were computed for all processes, and that were left to ScaLAPACK."""
    total = {"computed": 0, "left": 0}
    report = folder / "report"
    for line in report.read_text().splitlines() if report.exists() else []:
        for what, calls in json.loads(line).get("scalapack", {}).items():
            total[what] += calls
    return total


def drivers(folder: Path) -> dict[str, dict]:
    """What became of the eigenvalue drivers' calls, which nobody but the root makes, by process and name."""
    found = {}
    for number, line in enumerate((folder / "report").read_text().splitlines()):
        for name, account in json.loads(line)["routines"].items():
            if re.fullmatch("[sdcz](sy|he)(ev|gv)[dx]?", name):
                found[f"{name} of process {number}"] = account
    return found


def run(command: list[str], env: dict[str, str], folder: Path, seconds: float) -> tuple[int, str]:
    """Status and output; ends everything that it has started if it takes too long."""
    process = subprocess.Popen(command, env=env, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
    try:
        output, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        sys.exit(f"{' '.join(command)} took more than {seconds} s\n{output}")
    return process.returncode, output


def keep(arguments: argparse.Namespace, folder: Path, words: list[str]) -> None:
    """ScaLAPACK's own results, without us."""
    command = mpirun(int(words[0]) * int(words[1]), None) + [arguments.program, "keep", *words]
    status, output = run(command, environment(arguments, folder, {}), folder, arguments.seconds)
    if status != 0:
        sys.exit(f"without blaslift: status {status}\n{output}")


def calls(arguments: argparse.Namespace, folder: Path) -> None:
    rows, columns, *blocks = arguments.words
    words = [rows, columns, "7", *blocks]
    keep(arguments, folder, words)
    env = environment(arguments, folder, {"BLASLIFT_FORCE": "all"})
    command = mpirun(int(rows) * int(columns), arguments.lib) + [arguments.program, "compare", *words]
    status, output = run(command, env, folder, arguments.seconds)
    print(output)
    made = re.search(r"^calls (\d+) wrong 0$", output, re.M)
    total = counted(folder)
    print(total)
    if status != 0 or not made:
        sys.exit(f"status {status}")
    listed = {f"{name}_" for name in re.findall(r"^DISTRIBUTED\(\w+, (\w+),", LIST.read_text(), re.M)}
    if missing := listed - set(re.findall(r"^called (\w+)$", output, re.M)):
        sys.exit(f"not called: {' '.join(sorted(missing))}")
    if total != {"computed": int(made[1]), "left": 0}:
        sys.exit("not every call was computed for all processes")
    by_library = {name: account for name, account in drivers(folder).items() if account.get("stayed")}
    if by_library:
        sys.exit(f"by the library of one process: {by_library}")


def verdicts(output: str) -> list[str]:
    """A tester's lines but for times and residuals."""
    lines = [line for line in output.splitlines() if re.search(r"PASSED|FAILED|tests|checks", line)]
    return [" ".join(word for word in line.split() if not re.search(r"\d\.|\*", word)) for line in lines]


def tester(arguments: argparse.Namespace, folder: Path) -> None:
    name, ranks = arguments.words
    program = next((path for path in (TESTERS / name, TESTERS / "PBLAS" / name) if path.exists()), None)
    if not program:
        print(f"{name} is not installed (scalapack-mpi-test)")
        sys.exit(SKIPPED)
    for path in (*DATA.glob("*.dat"), *(DATA / "PBLAS").glob("*.dat")):
        shutil.copy(path, folder)
    _, plain = run(mpirun(int(ranks), None) + [str(program)], environment(arguments, folder, {}), folder, arguments.seconds)
    status, forced = run(mpirun(int(ranks), arguments.lib) + [str(program)], environment(arguments, folder, {"BLASLIFT_FORCE": "all"}), folder, arguments.seconds)
    total = counted(folder)
    print(forced[-2000:], total)
    if status != 0 or not verdicts(plain) or verdicts(plain) != verdicts(forced):
        sys.exit(f"status {status}; verdicts differ:\n" + "\n".join(sorted(set(verdicts(plain)) ^ set(verdicts(forced)))))
    if total["computed"] == 0:
        sys.exit("no call was computed for all processes")


def refused(arguments: argparse.Namespace, folder: Path) -> None:
    """ScaLAPACK's results all the same, and nothing computed for others."""
    words = ["1", "2", "7", "7"]
    keep(arguments, folder, words)
    for settings in ({"BLASLIFT": "off"}, {}, {"BLASLIFT_FORCE": "all", "BLASLIFT_BACKEND": "cuda", "CUDA_VISIBLE_DEVICES": ""}):
        env = environment(arguments, folder, settings)
        status, output = run(mpirun(2, arguments.lib) + [arguments.program, "same", *words], env, folder, arguments.seconds)
        print(settings, output, counted(folder))
        if status != 0 or not re.search(r"^calls \d+ wrong 0$", output, re.M) or counted(folder)["computed"]:
            sys.exit(f"{settings}: status {status}")


def children_of(parent: int, program: str) -> list[int]:
    """Processes that `parent` has started and that run this program."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            number, _, rest = stat.read_text().partition(" (")
        except OSError:  # it has ended
            continue
        name, _, fields = rest.rpartition(") ")
        if name == program[:15] and int(fields.split()[1]) == parent:
            found.append(int(number))
    return sorted(found)


def killed(arguments: argparse.Namespace, folder: Path) -> None:
    """A rank is killed while calls follow each other.  mpirun ends the others; none of them may keep it from that."""
    for rank in (0, 1):
        env = environment(arguments, folder, {"BLASLIFT_FORCE": "all"})
        command = mpirun(2, arguments.lib) + [arguments.program, "keep", "2", "1", "7", *["7"] * 400]
        process = subprocess.Popen(command, env=env, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        mine = []
        until = time.monotonic() + 60
        while len(mine) < 2 and time.monotonic() < until:
            time.sleep(0.1)
            mine = children_of(process.pid, Path(arguments.program).name)
        if len(mine) < 2:
            sys.exit("the ranks have not started")
        time.sleep(1.5)
        os.kill(mine[rank], signal.SIGKILL)
        start = time.monotonic()
        try:
            status = process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            sys.exit(f"rank {rank} was killed, and the others have not ended within a minute")
        print(f"rank {rank} killed: all ended after {time.monotonic() - start:.1f} s, status {status}")
        if status == 0:
            sys.exit("nobody has noticed")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("calls", "tester", "refused", "killed"))
    parser.add_argument("words", nargs="*")
    parser.add_argument("--lib", required=True)
    parser.add_argument("--program", required=True, help="what calls.cpp is built to")
    parser.add_argument("--seconds", type=float, default=120)
    arguments = parser.parse_args()
    arguments.lib = str(Path(arguments.lib).resolve())
    arguments.program = str(Path(arguments.program).resolve())
    if not shutil.which("mpirun"):
        print("there is no mpirun (openmpi-bin)")
        sys.exit(SKIPPED)
    with tempfile.TemporaryDirectory(prefix="blaslift-scalapack-") as folder:
        {"calls": calls, "tester": tester, "refused": refused, "killed": killed}[arguments.what](arguments, Path(folder))


if __name__ == "__main__":
    main()
