#!/usr/bin/env python3
"""The recipes in tools/packaging say what is so, by versions, files, options and dependencies; those that can run do.

    recipes.py --build DIR --program PROGRAM --python PYTHON CASE      status 77: what the case needs is not here
"""

from __future__ import annotations

import argparse
import ast
import fnmatch
import importlib.util
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import types
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PACKAGING = ROOT / "tools/packaging"
SKIPPED = 77
DEPENDENCIES = {
    "CLI11": ("cli11", "cli11"),
    "nlohmann_json": ("nlohmann_json", "nlohmann-json"),
    "CUDAToolkit": ("cuda-version", "cuda"),
}
"""What CMake looks for, as conda-forge and Spack call it."""


def skip(reason: str) -> None:
    print("SKIPPED:", reason)
    sys.exit(SKIPPED)


def called(*command: object, **options) -> subprocess.CompletedProcess:
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=50, check=False, **options)


def equal(actual: object, expected: object) -> None:
    assert actual == expected, f"{actual!r}, expected {expected!r}"


def version() -> str:
    return re.search(r"^project\(blaslift VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(), re.M)[1]


def recipes() -> list[Path]:
    """With the page about them."""
    found = sorted(p for p in PACKAGING.rglob("*") if p.is_file() and "__pycache__" not in p.parts)
    assert len(found) >= 8, found
    return [*found, ROOT / "docs/user/install.md"]


def found_packages() -> set[str]:
    """What the product's own CMake files look for."""
    files = [ROOT / "CMakeLists.txt", *ROOT.glob("cmake/*.cmake"), *ROOT.glob("tools/**/CMakeLists.txt")]
    return {name for file in files for name in re.findall(r"find_package\((\w+)", file.read_text())}


def options_in(text: str) -> set[str]:
    return set(re.findall(r"(?:-D|define\(\")((?:BLASLIFT|BUILD)_\w+)", text))


def parsed(path: Path, python: str) -> object:
    """A YAML file, by whichever Python has PyYAML."""
    script = "import json, sys, yaml; json.dump(yaml.safe_load(open(sys.argv[1])), sys.stdout)"
    for candidate in (sys.executable, python):
        if shutil.which(candidate) and called(candidate, "-c", "import yaml").returncode == 0:
            done = called(candidate, "-c", script, path)
            assert done.returncode == 0, done.stderr
            return json.loads(done.stdout)
    skip("no Python here has PyYAML")


# ---- cases


def versions(_: argparse.Namespace) -> None:
    """Every version of blaslift that is written down is this one."""
    count = 0
    forms = (r"\bblaslift[/@_ -]v?(\d+\.\d+\.\d+)", r'^\s*version(?::\s*|\()"(\d[\d.]*)"', r"image\.version (\S+)")
    written = re.compile("|".join(forms), re.M)
    for path in recipes():
        for match in written.finditer(path.read_text()):
            equal((path.name, next(filter(None, match.groups()))), (path.name, version()))
            count += 1
    assert count >= 8, count


def files(_: argparse.Namespace) -> None:
    """Files that the recipes name are there, and options that they set are CMake's; scripts can be run."""
    cmake = "\n".join(p.read_text() for p in [ROOT / "CMakeLists.txt", *ROOT.glob("cmake/*.cmake")])
    for path in recipes():
        text = path.read_text()
        here = {name.rstrip(".") for name in re.findall(r"(?<![\w/.-])(?:tools|docs|bench|tests)/[\w./-]+", text)}
        missing = [name for name in sorted(here) if not (ROOT / name).exists()]
        equal((path.name, missing), (path.name, []))
        unknown = [name for name in options_in(text) if name not in cmake and name != "BUILD_TESTING"]
        equal((path.name, unknown), (path.name, []))
        if text.startswith("#!") and not text.startswith("#%"):
            assert path.stat().st_mode & stat.S_IXUSR, f"{path} cannot be executed"
    # The page has each recipe, or its folder, in a command.
    page = set(re.findall(r"tools/packaging/[\w./-]+", (ROOT / "docs/user/install.md").read_text()))
    relative = [str(path.relative_to(ROOT)) for path in recipes() if PACKAGING in path.parents]
    equal([name for name in relative if not any(name == said or name.startswith(said + "/") for said in page)], [])
    # The packages that the images take are named as tools/package-deb names them.
    debs = [f"{package}_{version()}_amd64.deb" for package in ("blaslift", "blaslift-alternative")]
    copied = re.search(r"^COPY (.*) \S+$", (PACKAGING / "container/Dockerfile").read_text(), re.M)[1].split()
    equal([fnmatch.filter(debs, pattern) for pattern in copied], [[deb] for deb in debs])
    (taken,) = re.findall(r"^ +deb=(\S+)$", (PACKAGING / "container/apptainer.def").read_text(), re.M)
    equal(os.path.basename(taken), debs[0])


def conda(arguments: argparse.Namespace) -> None:
    folder = PACKAGING / "conda"
    recipe = parsed(folder / "recipe.yaml", arguments.python)
    equal(recipe["context"]["version"], version())
    equal((folder / recipe["source"]["path"]).resolve(), ROOT)
    assert (ROOT / recipe["about"]["license_file"]).exists()
    host = {line.split()[0] for line in recipe["requirements"]["host"]}
    equal({DEPENDENCIES[name][0] for name in found_packages()} - host, set())
    variants = parsed(folder / "variants.yaml", arguments.python)
    for what, name in re.findall(r'(compiler|stdlib)\("(\w+)"\)', "\n".join(recipe["requirements"]["build"])):
        assert f"{name}_{what}" in variants, name
    # YAML takes 13.0 for a number, and would have it shortened.
    assert all(isinstance(value, str) for values in variants.values() for value in values), variants


def spack(arguments: argparse.Namespace) -> None:
    """The package, as Python, with Spack's words noted down."""
    equal(parsed(PACKAGING / "spack/repo.yaml", arguments.python), {"repo": {"namespace": "blaslift"}})
    source = PACKAGING / "spack/packages/blaslift/package.py"
    said: list[tuple] = []
    words = types.ModuleType("spack.package")

    class CMakePackage:
        def define(self, name, value):
            return f"-D{name}={value}"

    words.CMakePackage = CMakePackage
    for word in ("conflicts", "depends_on", "generator", "license", "requires", "variant", "version"):
        setattr(words, word, lambda *a, _word=word, **k: said.append((_word, *a)))
    calls = [n.func for n in ast.walk(ast.parse(source.read_text())) if isinstance(n, ast.Call)]
    equal(sorted({f.id for f in calls if isinstance(f, ast.Name)} - set(vars(words))), [])
    sys.modules |= {"spack": types.ModuleType("spack"), "spack.package": words}
    specification = importlib.util.spec_from_file_location("package", source)
    package = importlib.util.module_from_spec(specification)
    sys.dont_write_bytecode = True
    specification.loader.exec_module(package)
    equal([s[1] for s in said if s[0] == "version"], [version()])
    needs = {re.split("[@+]", s[1])[0] for s in said if s[0] == "depends_on"}
    equal({DEPENDENCIES[name][1] for name in found_packages()} - needs, set())
    for cuda in (True, False):
        blaslift = package.Blaslift()
        blaslift.spec = types.SimpleNamespace(satisfies=lambda what, cuda=cuda: cuda and what == "+cuda")
        equal(blaslift.cmake_args(), ["-DBUILD_TESTING=False", f"-DBLASLIFT_CUDA={'ON' if cuda else 'OFF'}"])


def modulefile(_: argparse.Namespace) -> None:
    """What it does to an environment, by Tcl with the modules' words noted down; and that it says where nothing is."""
    if not shutil.which("tclsh"):
        skip("no tclsh")
    source = (PACKAGING / "modules/blaslift.in").read_text().replace("@PROJECT_VERSION@", version())
    assert source.startswith("#%Module"), source[:20]
    script = """
        foreach word {module-whatis conflict prepend-path} { proc $word args "puts \\[list $word {*}\\$args\\]" }
        proc module-info {what mode} { return [expr {$mode eq "load"}] }
        if {[catch {source [lindex $argv 0]} said] == 1} { error $said }  ;# 3: it has stopped by `break'
        ModulesHelp
    """
    for folder in ("lib64", "lib/x86_64-linux-gnu", "lib"):
        with tempfile.TemporaryDirectory() as scratch:
            prefix = Path(scratch, "pre fix")
            (Path(scratch) / "script").write_text(script)
            equal(source.count("\nset prefix {@BLASLIFT_PREFIX@}\n"), 1)
            (Path(scratch) / "blaslift").write_text(source.replace("@BLASLIFT_PREFIX@", str(prefix)))

            command = ["tclsh", scratch + "/script", scratch + "/blaslift"]
            empty = called(*command)
            assert f"blaslift is not in {prefix}: correct `set prefix'" in empty.stderr, empty
            equal((empty.returncode, "prepend-path" in empty.stdout), (0, False))
            (prefix / folder).mkdir(parents=True)
            (prefix / "bin").mkdir()
            (prefix / folder / "libblaslift.so").touch()
            (prefix / "bin/blaslift").touch(mode=0o755)
            full = called(*command)
            equal((full.returncode, "blaslift run" in full.stderr), (0, True))
            paths = dict(re.findall(r"^prepend-path (\w+) \{?(.*?)\}?$", full.stdout, re.M))
            equal((paths["PATH"], paths["LD_LIBRARY_PATH"]), (f"{prefix}/bin", f"{prefix}/{folder}"))
            equal(paths["PKG_CONFIG_PATH"], f"{prefix}/{folder}/pkgconfig")


SRUN = """#!/bin/bash
# Each task of one node, with what Slurm tells it.
echo "srun $*" >>"$STUBS/log"
tasks=$SLURM_NTASKS_PER_NODE
while [[ $1 == -* ]]; do
  [[ $1 != --ntasks-per-node=* ]] || tasks=${1#*=}
  shift
done
pids=()
for ((i = 0; i < tasks; ++i)); do SLURM_LOCALID=$i SLURM_PROCID=$i SLURM_NTASKS_PER_NODE=$tasks "$@" & pids+=($!); done
worst=0
for pid in "${pids[@]}"; do wait "$pid" || worst=$?; done
exit "$worst"
"""
MPS = """#!/bin/bash
if [[ ${1:-} == -f ]]; then
  [[ -d $CUDA_MPS_LOG_DIRECTORY ]] || exit 1
  echo started >>"$STUBS/log"
  touch "$CUDA_MPS_PIPE_DIRECTORY/control"
  while [[ -e $CUDA_MPS_PIPE_DIRECTORY/control ]]; do sleep 0.05; done
else
  read -r word
  [[ $word == quit ]] && rm "$CUDA_MPS_PIPE_DIRECTORY/control" && echo stopped >>"$STUBS/log"
fi
"""


def slurm(arguments: argparse.Namespace) -> None:
    """The script in a job of one node, with stand-ins for srun and MPS: all ranks report, while MPS is there."""
    script = PACKAGING / "slurm/ranks-per-gpu.sh"
    with tempfile.TemporaryDirectory() as scratch:
        for name, text in {"srun": SRUN, "nvidia-cuda-mps-control": MPS}.items():
            Path(scratch, name).write_text(text)
            Path(scratch, name).chmod(0o755)
        Path(scratch, "blaslift").symlink_to(Path(arguments.build, "bin/blaslift").resolve())
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("SLURM", "SRUN", "OMP_", "BLASLIFT", "LD_", "CUDA_MPS"))}
        path = {"PATH": f"{scratch}:{os.environ['PATH']}", "STUBS": scratch}
        path |= {"TMPDIR": scratch, "XDG_STATE_HOME": scratch}
        number = f"test{os.getpid()}"
        job = {"SLURM_JOB_ID": number, "SLURM_SUBMIT_DIR": scratch}
        job |= {"SLURM_JOB_NUM_NODES": "1", "SLURM_NTASKS_PER_NODE": "3"}
        host = {"BLASLIFT_BACKEND": "host", "BLASLIFT_FORCE": "all"}

        def run(*command: str, **settings: str) -> tuple[int, str]:
            done = called(script, *command, env=clean | path | settings, stdin=subprocess.DEVNULL)
            equal(done.stdout, "")
            return done.returncode, done.stderr

        code, error = run(**job)
        equal((code, "usage: sbatch" in error), (2, True))
        code, error = run("true")
        equal((code, "not in a job of Slurm" in error), (2, True))

        equal(run(arguments.program, "exit", "5", **job, **host), (5, ""))
        lines = [json.loads(line) for line in Path(scratch, number + ".jsonl").read_text().splitlines()]
        equal([line["routines"]["dgemm"]["routed"] for line in lines], [1, 1, 1])
        log = Path(scratch, "log").read_text()
        ranks = f"blaslift run -q --report {scratch}/{number}.jsonl -- {arguments.program}"
        order = [log.index(word) for word in ("started", ranks, "stopped")]
        equal(order, sorted(order))
        # Where a rank sees one GPU alone, it takes the share of it that all ranks of the node would leave it.
        equal((Path("/tmp", "mps-" + number).exists(), re.findall("--gpu-bind|--gpus", log)), (False, []))

        # Each rank has the cores of a task, and so many threads, unless somebody says otherwise.
        words = ["sh", "-c", 'echo "$SRUN_CPUS_PER_TASK $OMP_NUM_THREADS" >"$STUBS/cores$SLURM_PROCID"']
        cores = lambda: {Path(scratch, f"cores{rank}").read_text() for rank in range(3)}
        for settings, expected in (({}, "1 1\n"), ({"SLURM_CPUS_PER_TASK": "6"}, "6 6\n"),
                                   ({"SLURM_CPUS_PER_TASK": "6", "OMP_NUM_THREADS": "2"}, "6 2\n")):
            equal(run(*words, **job, **settings), (0, ""))
            equal(cores(), {expected})
        asked = dict(re.findall(r"^#SBATCH --([\w-]+)=(\S+)$", script.read_text(), re.M))
        equal({"cpus-per-task", "mem", "ntasks-per-node"} - set(asked), set())

        # Where the site runs MPS, the job starts none.
        Path(scratch, "log").write_text("")
        Path(scratch, "pipe").mkdir()
        Path(scratch, "pipe/control").touch()
        code, error = run(arguments.program, "exit", "0", **job, **host, CUDA_MPS_PIPE_DIRECTORY=f"{scratch}/pipe")
        equal((code, error), (0, f"MPS is the site's own, in {scratch}/pipe\n"))
        log = Path(scratch, "log").read_text()
        equal([word in log for word in ("blaslift run", "started", "stopped")], [True, False, False])
        Path(scratch, number + ".jsonl").unlink()

        # Without MPS
        for name in ("bash", "sleep", "hostname", "rm", "mkdir"):
            Path(scratch, name).symlink_to(shutil.which(name))
        Path(scratch, "nvidia-cuda-mps-control").unlink()
        code, error = run(arguments.program, "exit", "0", **job, **host, PATH=scratch)
        equal((code, "ranks take turns" in error), (0, True))
        equal(len(Path(scratch, number + ".jsonl").read_text().splitlines()), 3)


def seccomp(_: argparse.Namespace) -> None:
    script = PACKAGING / "container/seccomp"

    def made(text: str) -> tuple[int, str, str]:
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            file.write(text)
            file.flush()
            done = called(script, file.name)
        return done.returncode, done.stdout, done.stderr

    profile = {"defaultAction": "SCMP_ACT_ERRNO", "archMap": [], "syscalls": [
        {"names": ["read", "userfaultfd", "write"], "action": "SCMP_ACT_ALLOW", "args": []},
        {"names": ["userfaultfd"], "action": "SCMP_ACT_ERRNO", "errnoRet": 1},
    ]}
    code, out, error = made(json.dumps(profile))
    equal((code, error), (0, ""))
    equal(json.loads(out), profile | {"syscalls": [
        {"names": ["read", "write"], "action": "SCMP_ACT_ALLOW", "args": []},
        {"names": ["userfaultfd"], "action": "SCMP_ACT_ALLOW"},
    ]})
    equal(made(out)[1], out)
    for text in ("{", "[]", "{}", '{"syscalls": [1]}', '{"syscalls": [{"names": "read"}]}'):
        code, out, error = made(text)
        equal((code, out, "is no" in error, "Traceback" in error), (1, "", True, False))
    done = called(script, "/nonexistent/profile")
    equal((done.returncode, done.stdout), (1, ""))
    equal(done.stderr, "seccomp: error: /nonexistent/profile: No such file or directory\n")
    equal(called(script, "a", "b").returncode, 2)
    if os.path.exists("/usr/share/containers/seccomp.json"):
        equal(json.loads(called(script).stdout)["syscalls"][-1]["names"], ["userfaultfd"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--program", required=True)
    parser.add_argument("--python", default=str(ROOT / ".venv/bin/python"))
    parser.add_argument("case", choices=["versions", "files", "conda", "spack", "modulefile", "slurm", "seccomp"])
    arguments = parser.parse_args()
    globals()[arguments.case](arguments)
    print(arguments.case, "ok")
    return 0


if __name__ == "__main__":
    sys.exit(main())
