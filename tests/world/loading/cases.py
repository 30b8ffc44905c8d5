"""Being loaded late and unloaded: what plugins do in their last moments, how often they come and go, and where."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import harness
from harness import Preload, Run

FORCED = {"BLASLIFT_BACKEND": "host", "BLASLIFT_FORCE": "all"}
SETTINGS = {"natural": {}, "forced": FORCED, "off": {"BLASLIFT": "off"}}
REFERENCE = harness.LIBRARIES / "blas" / "libblas.so.3"
STATIC_TLS = 64
"""Bytes that libblaslift.so takes of the 1,664 that glibc has for all libraries that are opened late."""


def library(world, source: str, *flags, to: str) -> Path:
    return world.compile(source, "-shared", "-fPIC", "-w", *flags, to=to)


def linked(*libraries: Path) -> list[str]:
    folders = {str(x.parent) for x in libraries}
    return ["-Wl,--no-as-needed", *map(str, libraries), *(f"-Wl,-rpath,{folder}" for folder in sorted(folders))]


def launch(command: list, world, settings: dict | None = None) -> Run:
    """With blaslift in front, if there are settings."""
    preload = None if settings is None else Preload(world.lib, settings)
    return harness.run(command, environment=harness.provider_environment("reference"), preload=preload, timeout=60.0)


def differs(name: str, run: Run, plain: Run) -> list[str]:
    if (run.status, run.stdout) == (plain.status, plain.stdout):
        return []
    return [f"{name}: status {run.status}, {run.stdout[-300:]!r} {run.stderr[-300:]!r}, plain {plain.status}, {plain.stdout[-300:]!r}"]


def static_tls(world) -> list[str]:
    """Opened late, when nearly all room for static thread-local storage is taken, it can be loaded."""
    errors = []
    segments = subprocess.run(["readelf", "-lW", world.lib], capture_output=True, text=True).stdout
    taken = [int(line.split()[5], 16) for line in segments.splitlines() if line.split()[:1] == ["TLS"]]
    if taken and taken[0] > STATIC_TLS:
        errors.append(f"{taken[0]} bytes of static thread-local storage")
    # Modules are opened late in every process, and what is linked into the GPU's has pages of it for each thread.
    for module in sorted(world.lib.parent.glob("libblaslift_*.so")):
        if module.stem.endswith(("_cuda", "_host")):
            flags = subprocess.run(["readelf", "-dW", module], capture_output=True, text=True).stdout
            if "NEEDED" not in flags or "STATIC_TLS" in flags:
                errors.append(f"{module.name} has static thread-local storage, or cannot be read")
    Path("alternative").mkdir()
    blas = library(world, "scaled.c", "-DSCALE=2", to="libscaled.so")
    Path("nothing.c").write_text("typedef int nothing;\n")
    nothing = str(Path("nothing.c").resolve())
    alternative = library(world, nothing, *linked(world.lib, blas), to="alternative/libblas.so.3")
    late = world.compile("late.c", "-w", to="late")
    for room in (0, 900, 1400):
        fillers = [library(world, "filler.c", f"-DROOM={room}", to=f"filler{room}.so")] if room else []
        wanted = launch([late, *fillers, blas], world)
        errors += differs(f"{room} bytes before", launch([late, *fillers, alternative], world), wanted)
    return errors


LAST = {
    "destructor": ["-DDESTRUCTOR"],
    "late": ["-DLATE"],
    "fini": ["-DFINI", "-Wl,-fini=at_the_end"],
    "atexit": ["-DATEXIT"],
    "callback": ["-DCALLBACK"],
    "all": ["-DDESTRUCTOR", "-DLATE", "-DATEXIT", "-DFINI", "-Wl,-fini=at_the_end"],
}


def in_last_moments(world, *words: str) -> list[str]:
    errors = []
    host = world.compile("host.c", "-rdynamic", to="host")
    blas = library(world, "scaled.c", "-DSCALE=1", to="libscaled.so")
    for provider in (REFERENCE, blas):
        for name, flags in LAST.items():
            plugin = library(world, "plugin.c", *flags, *linked(provider), to=f"{name}.so")
            for calls in ([], ["call"]):
                command = [host, "3", *calls, *words, plugin]
                plain = launch(command, world)
                if plain.status != 0 or "done" not in plain.stdout:
                    errors.append(f"{name}: plain {plain.status}, {plain.stdout!r} {plain.stderr!r}")
                for setting, variables in SETTINGS.items():
                    run = launch(command, world, variables)
                    errors += differs(f"{provider.name}, {name}, {setting}, {calls}", run, plain)
                if not calls and provider == blas:
                    measured = launch([world.command, "measure", "--", *command], world)
                    errors += differs(f"{name}, measured", measured, plain)
    return errors


def destructors(world) -> list[str]:
    """First calls in whatever runs last, while dlclose unloads the plugin and the BLAS that it alone uses."""
    return in_last_moments(world)


def destructors_at_exit(world) -> list[str]:
    """The same when the process exits with plugins open."""
    return in_last_moments(world, "leave")


def figures(run: Run) -> tuple[list[int], int]:
    resident = [int(x) for x in re.findall(r"^resident (\d+)$", run.stderr, re.M)]
    reused = re.findall(r"^reused (\d+)$", run.stderr, re.M)
    return resident, int(reused[0]) if reused else 0


def given_back(world) -> list[str]:
    """Over thousands of plugins that come and go, with a BLAS of their own or the program's, memory does not grow."""
    errors = []
    host = world.compile("host.c", "-rdynamic", to="host")
    blas = library(world, "scaled.c", "-DSCALE=2", to="libscaled.so")
    plugins = [library(world, "plugin.c", *linked(blas), to=f"plugin{i}.so") for i in range(4)]
    plugins.append(library(world, "plugin.c", "-DDESTRUCTOR", "-DQUIET", *linked(blas), to="last.so"))
    rounds = 2000
    for name, settings in {"natural": {}, "forced": FORCED}.items():
        run = launch([host, str(rounds), "call", *plugins[:4]], world, settings)
        resident, reused = figures(run)
        wanted = f"sum {12 * 4 * rounds:g}\ndone\n"
        if run.status or run.stdout != wanted or len(resident) != 2:
            errors.append(f"{name}: status {run.status}, {run.stdout!r} {run.stderr[-300:]!r}")
            continue
        grown = resident[1] - resident[0]
        print(f"{name}: {resident} KiB resident, {reused} plugins where others had been")
        if grown > 400:  # a site and what watches its caller would be over 150 bytes each time, 900 KiB in all
            errors.append(f"{name}: {grown} KiB more after {3 * rounds} plugins, {resident}")
        calls = harness.accounts(run.reports).get("dgemm", harness.Account()).calls
        if calls != 4 * rounds:
            errors.append(f"{name}: {calls} calls counted, not {4 * rounds}")
    return errors


def reused_addresses(world) -> list[str]:
    """Plugins of the same code but of another BLAS each, one after the other at the same place, also by calls in what
    runs last: each gets its own."""
    errors = []
    host = world.compile("host.c", "-rdynamic", to="host")
    for last in ([], ["-DDESTRUCTOR"], ["-DLATE"], ["-DFINI", "-Wl,-fini=at_the_end"]):
        plugins, held = [], []
        for scale in (2, 3, 5):
            blas = library(world, "scaled.c", f"-DSCALE={scale}", to=f"libscaled{scale}.so")
            held += ["hold", blas]
            plugins.append(library(world, "plugin.c", *last, *linked(blas), to=f"plugin{scale}.so"))
        for calls in ([], ["call"], held, ["call", *held]):
            command = [host, "8", *calls, *plugins]
            plain = launch(command, world)
            for setting, variables in SETTINGS.items():
                run = launch(command, world, variables)
                errors += differs(f"{last[:1]}, {calls[:2]}, {setting}", run, plain)
            resident, reused = figures(launch(command, world, {}))
            print(f"{last[:1]} {calls[:2]}: {reused} of 24 where others had been")
    return errors
