"""Whose function is underneath: what a call reaches is what it would reach without blaslift, and never the caller."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

import harness
from harness import Preload, Run, Skip

FORCED = {"BLASLIFT_BACKEND": "host", "BLASLIFT_FORCE": "all"}
SETTINGS = {"natural": {}, "forced": FORCED}
SUM = 662978.0
"""Of blas.h's product."""

REFERENCE = harness.LIBRARIES / "blas" / "libblas.so.3"
OPENBLAS = harness.LIBRARIES / "openblas-pthread" / "libopenblas.so.0"
TIMEOUT = 60.0


def launch(command: list, *, preload: Path | None = None, settings: dict | None = None, variables: dict | None = None) -> Run:
    """Over the reference; with a report where blaslift is, whoever has loaded it."""
    environment = harness.provider_environment("reference") | (variables or {})
    if preload:
        return harness.run(command, environment=environment, preload=Preload(preload, settings or {}), timeout=TIMEOUT)
    report = Path("report.jsonl").resolve()
    report.unlink(missing_ok=True)
    environment |= {"BLASLIFT_REPORT": str(report)} | (settings or {})
    run = harness.run(command, environment=environment, timeout=TIMEOUT)
    return Run(run.status, run.stdout, run.stderr, run.files, harness.read_reports(report))


def calls(run: Run, routine: str = "dgemm") -> int:
    return harness.accounts(run.reports).get(routine, harness.Account()).calls


def routed(run: Run, routine: str = "dgemm") -> int:
    return harness.accounts(run.reports).get(routine, harness.Account()).routed


def differs(name: str, run: Run, plain: Run) -> list[str]:
    """Nothing, if it ended and printed as without blaslift."""
    if (run.status, run.stdout) == (plain.status, plain.stdout):
        return []
    return [f"{name}: status {run.status}, {run.stdout!r} {run.stderr[-300:]!r}, plain {plain.status}, {plain.stdout!r}"]


def both(name: str, command: list, plain: Run, *, least: int = 1, **how) -> list[str]:
    """As a user has it, and forced: then at least so many products are on the backend."""
    errors = [] if plain.status == 0 else [f"{name}: plain {plain.status}, {plain.stdout!r} {plain.stderr!r}"]
    for setting, variables in SETTINGS.items():
        run = launch(command, settings=variables, **how)
        errors += differs(f"{name}, {setting}", run, plain)
        if calls(run) < least or (variables and routed(run) < least):
            errors.append(f"{name}, {setting}: {calls(run)} calls, {routed(run)} routed, not {least}")
    return errors


def alternative(world, folder: str, *libraries: Path) -> Path:
    """A library without code that brings blaslift and then these."""
    Path(folder).mkdir(exist_ok=True)
    Path("nothing.c").write_text("typedef int nothing;\n")
    flags = ["-shared", "-fPIC", "-Wl,--no-as-needed", "-Wl,-soname,libblas.so.3", world.lib, *libraries]
    return compile_here(world, "nothing.c", *flags, f"-Wl,-rpath,{world.lib.parent}", to=f"{folder}/libblas.so.3")


def compile_here(world, source: str, *flags, to: str) -> Path:
    return world.compile(str(Path(source).resolve()), *flags, to=to)


def library(world, source: str, *flags, to: str) -> Path:
    return world.compile(source, "-shared", "-fPIC", "-w", *flags, to=to)


def linked(*libraries: Path | str) -> list[str]:
    folders = {str(Path(x).parent) for x in libraries if "/" in str(x)}
    return ["-Wl,--no-as-needed", *map(str, libraries), *(f"-Wl,-rpath,{folder}" for folder in sorted(folders))]


WAYS = {"body": [], "helper": ["-DHELPER"], "jump": ["-DTAIL"]}


def wrappers(world) -> list[str]:
    """A dgemm_ of the program's, of a library's or of a plugin's that goes on by RTLD_NEXT, from its body, from another
    function or by a jump; preloaded, and linked with blaslift. Each is passed as often as without."""
    errors = []
    for way, flags in WAYS.items():
        own = world.compile("wrapper.c", "-DWITH_MAIN", "-rdynamic", "-w", *flags, *linked(REFERENCE), to="own")
        relinked = world.compile("wrapper.c", "-DWITH_MAIN", "-rdynamic", "-w", *flags, *linked(world.lib, REFERENCE), to="re")
        plain = launch([own])
        errors += both(f"program, {way}", [own], plain, preload=world.lib)
        errors += both(f"program, {way}, relinked", [relinked], plain)

        wrap = library(world, "wrapper.c", *flags, to="libwrap.so")
        use = world.compile("program.c", *linked(wrap, REFERENCE), to="use")
        before = world.compile("program.c", *linked(wrap, world.lib, REFERENCE), to="before")
        behind = world.compile("program.c", *linked(world.lib, wrap, REFERENCE), to="behind")
        plain = launch([use])
        errors += both(f"library, {way}", [use], plain, preload=world.lib)
        errors += both(f"library before blaslift, {way}", [before], plain)
        errors += both(f"library behind blaslift, {way}", [behind], plain)

        host = world.compile("opens.c", to="host")
        plugin = library(world, "wrapper.c", "-DPLUGIN", *flags, *linked(REFERENCE), to="plugin.so")
        lifted = library(world, "wrapper.c", "-DPLUGIN", *flags, *linked(world.lib, REFERENCE), to="lifted.so")
        plain = launch([host, plugin])
        errors += both(f"plugin, {way}", [host, plugin], plain, preload=world.lib)
        errors += both(f"plugin linked with blaslift, {way}", [host, lifted], plain)
        # Nobody counts how often these are passed: without blaslift they would call themselves.
        first = library(world, "wrapper.c", "-DPLUGIN", "-DFIRST", *flags, *linked(REFERENCE), to="first.so")
        for setting, variables in SETTINGS.items():
            run = launch([host, first], preload=world.lib, settings=variables)
            errors += not_four_sums(f"plugin that asks for the first, {way}, {setting}", run)
    return errors


def not_four_sums(name: str, run: Run) -> list[str]:
    wanted = [f"{SUM}"] * 4
    if run.status == 0 and run.stdout.splitlines()[:4] == wanted:
        return []
    return [f"{name}: status {run.status}, {run.stdout!r} {run.stderr[-300:]!r}"]


def wrappers_in_chains(world) -> list[str]:
    """Two wrappers that lead to each other, and a program's before a library's, preloaded ones among them."""
    errors = []
    for way, flags in WAYS.items():
        one = library(world, "wrapper.c", *flags, to="libone.so")
        two = library(world, "wrapper.c", "-DCOUNT=wrapped_too", *flags, to="libtwo.so")
        use = world.compile("program.c", *linked(one, two, REFERENCE), to="use")
        middle = world.compile("program.c", *linked(one, world.lib, two, REFERENCE), to="middle")
        plain = launch([use])
        errors += both(f"two, {way}", [use], plain, preload=world.lib)
        errors += both(f"one on either side, {way}", [middle], plain)
        own = world.compile("wrapper.c", "-DWITH_MAIN", "-rdynamic", "-w", *flags, *linked(two, REFERENCE), to="own")
        errors += both(f"a program's and a library's, {way}", [own], launch([own]), preload=world.lib)

        bare = world.compile("program.c", *linked(REFERENCE), to="bare")
        plain = launch([bare], variables={"LD_PRELOAD": f"{one}:{two}"})
        for setting, variables in SETTINGS.items():
            run = launch([bare], settings=variables, variables={"LD_PRELOAD": f"{one}:{world.lib}:{two}"})
            errors += differs(f"preloaded on either side, {way}, {setting}", run, plain)

        # They ask for the first, which is blaslift, or for blaslift's own handle: each leads to the other by it.
        for how, flag in {"first": "-DFIRST", "handle": f'-DLIBRARY="{world.lib}"'}.items():
            first = library(world, "wrapper.c", flag, *flags, to="libfirst.so")
            second = library(world, "wrapper.c", "-DCOUNT=wrapped_too", flag, *flags, to="libsecond.so")
            both_of = world.compile("program.c", *linked(first, second, REFERENCE), to="both")
            for setting, variables in SETTINGS.items():
                run = launch([both_of], preload=world.lib, settings=variables)
                errors += not_four_sums(f"two by {how}, {way}, {setting}", run)
    return errors


def backends(world) -> dict[str, Path]:
    return {"blaslift": world.lib, "alternative": alternative(world, "alternative", REFERENCE)}


def through_switch(world, source_flags: list[str], program_flags: list[str], names: tuple[str, ...]) -> list[str]:
    errors = []
    targets = backends(world)
    for way in names:
        switch = library(world, "switch.c", *WAYS[way], *source_flags, "-ldl", to="libswitch.so")
        program = world.compile("program.c", *program_flags, *linked(switch), to="program")
        plain = launch([program], variables={"BACKEND": str(REFERENCE)})
        for name, target in targets.items():
            told = {"BACKEND": str(target)}
            errors += both(f"{way}, {name}", [program], plain, variables=told)
            # The system's would be found, too, but this one is told.
            told |= {"BLASLIFT_FALLBACK": str(REFERENCE)}
            errors += both(f"{way}, {name}, with a fallback", [program], plain, variables=told)
    return errors


def switches(world) -> list[str]:
    """A switch whose backend is blaslift, alone or as the alternative has it: the two do not call each other for ever."""
    return through_switch(world, [], [], ("body", "helper", "jump"))


def switches_by_cblas(world) -> list[str]:
    """The same by CBLAS's names, which the switch forwards, or computes by its Fortran ones."""
    errors = through_switch(world, [], ["-DCBLAS"], ("body", "jump"))
    return errors + through_switch(world, ["-DBY_FORTRAN"], ["-DCBLAS"], ("body", "helper", "jump"))


def switches_in_front(world) -> list[str]:
    """Blaslift preloaded before a switch whose backend is another library, or leads to blaslift again."""
    errors = []
    targets = {"reference": REFERENCE} | backends(world)
    for way, flags in WAYS.items():
        switch = library(world, "switch.c", *flags, "-ldl", to="libswitch.so")
        program = world.compile("program.c", *linked(switch), to="program")
        plain = launch([program], variables={"BACKEND": str(REFERENCE)})
        for name, target in targets.items():
            errors += both(f"{way}, {name}", [program], plain, preload=world.lib, variables={"BACKEND": str(target)})
    return errors


def threads(world) -> list[str]:
    """First calls by eight threads at once, through switches and wrappers."""
    errors = []
    for way, flags in WAYS.items():
        switch = library(world, "switch.c", *flags, "-ldl", to="libswitch.so")
        program = world.compile("program.c", "-DTHREADS", *linked(switch), "-lpthread", to="program")
        plain = launch([program], variables={"BACKEND": str(REFERENCE)})
        for name, target in backends(world).items():
            for preload in (None, world.lib):
                how = {"preload": preload, "variables": {"BACKEND": str(target)}}
                for _ in range(3):
                    errors += both(f"{way}, {name}, preloaded: {bool(preload)}", [program], plain, **how)
    return errors


def optional(world) -> list[str]:
    """A program that uses BLAS if there is one, and is linked with none, computes."""
    errors = []
    for name, flags in {"weak": [], "dlsym": ["-DDLSYM"]}.items():
        program = world.compile("optional.c", "-fPIE", *flags, to=name)
        plain = launch([program])
        errors += both(name, [program], plain, preload=world.lib)
        told = {"BLASLIFT_FALLBACK": str(OPENBLAS if OPENBLAS.exists() else REFERENCE)}
        errors += both(f"{name}, told of one", [program], plain, preload=world.lib, variables=told)
        empty = Path("empty").resolve()
        empty.mkdir(exist_ok=True)
        Path("nothing.c").write_text("typedef int nothing;\n")
        for soname in ("libblas.so.3", "liblapack.so.3", "libcblas.so.3", "libopenblas.so.0"):
            compile_here(world, "nothing.c", "-shared", "-fPIC", f"-Wl,-soname,{soname}", to=f"empty/{soname}")
        none = {"LD_LIBRARY_PATH": str(empty)}
        errors += both(f"{name}, where there is none at all", [program], plain, preload=world.lib, variables=none)
        said = launch([program], preload=world.lib, variables=none).stderr
        if said.count("no BLAS/LAPACK underneath") != 1 or "BLASLIFT_FALLBACK" not in said:
            errors.append(f"{name}: {said!r}")
    return errors


def plain_loops(world) -> list[str]:
    """What no library has is computed as the reference does, every kind of routine, and refused as there."""
    optional(world)  # makes the empty libraries
    program = world.compile("everything.c", "-w", "-lm", to="everything")
    lapack = harness.LIBRARIES / "lapack" / "liblapack.so.3"
    if not lapack.exists():
        raise Skip(f"no {lapack}")
    nothing = Path("nothing.c").resolve()
    both_libraries = compile_here(world, str(nothing), "-shared", "-fPIC", *linked(REFERENCE, lapack), to="both.so")
    wanted = launch([program, both_libraries])
    errors = []
    for setting, variables in SETTINGS.items():
        empty = {"LD_LIBRARY_PATH": str(Path("empty").resolve())}
        run = launch([program], preload=world.lib, settings=variables, variables=empty)
        if run.status != 0:
            errors.append(f"{setting}: status {run.status} {run.stderr[-300:]!r}")
        mine, theirs = run.stdout.splitlines(), wanted.stdout.splitlines()
        if len(mine) != len(theirs) or len(mine) < 50:
            errors.append(f"{setting}: {len(mine)} lines, {len(theirs)} of the reference; {wanted.stderr!r}")
        for line, right in zip(mine, theirs):
            if not near(line, right):
                errors.append(f"{setting}: {line!r}, not {right!r}")
        if "DGEQRF" not in run.stderr:
            errors.append(f"{setting}: nothing said of a wrong argument: {run.stderr!r}")
    return errors


def batches(world) -> list[str]:
    """Batches of products that no library has are computed by the gemm that is underneath, and nothing is said. Batches of
    an object that has nothing to do with the program are not called, even if it is a whole BLAS."""
    own = library(world, "batch.c", "-DLIBRARY", to="libbatch.so")
    program = world.compile("batch.c", *linked(own), "-ldl", to="batch")
    strangers = [
        library(world, "batch.c", "-DSTRANGER", to="libstranger.so"),
        library(world, "batch.c", "-DSTRANGER", "-DCOMPLETE", to="libcomplete.so"),
    ]
    plain = launch([program])
    errors = []
    for (setting, variables), also in itertools.product(SETTINGS.items(), ([], *([x] for x in strangers))):
        run = launch([program, *also], preload=world.lib, settings=variables)
        errors += differs(setting, run, plain)
        if run.stderr:
            errors.append(f"{setting}: {run.stderr!r}")
        account = harness.accounts(run.reports)["dgemm_batch_strided"]
        if (account.calls, account.routed) != (5, 5 if variables else 0):
            errors.append(f"{setting}: {account}")
        account = harness.accounts(run.reports)["dgemm_batch"]
        if (account.calls, account.routed) != (2, 2 if variables else 0):
            errors.append(f"{setting}, in groups: {account}")
    for sizes, routed in {f"0:{1 << 40}": 5, "321000:330000": 4}.items():  # all operands, and the larger C and A
        run = launch([program], preload=world.fault_lib, settings=FORCED | {"INJECTED_DEVICE_MEMORY": sizes})
        account = harness.accounts(run.reports)["dgemm_batch_strided"]
        if account.routed != routed or (routed == 5 and (run.stderr or run.stdout != plain.stdout)):
            errors.append(f"in device memory: {account}, {run.stderr!r}")
        if routed < 5 and not run.stderr.endswith("its operands are in device memory: matrices of a batch with gaps\n"):
            errors.append(f"partly in device memory: {run.stderr!r}")
    return errors


def near(line: str, right: str) -> bool:
    words, others = line.split(), right.split()
    if len(words) != len(others) or words[0] != others[0]:
        return False
    return all(abs(float(x) - float(y)) <= 2e-6 * max(1.0, abs(float(y))) for x, y in zip(words[1:], others[1:]))


def versions(world) -> list[str]:
    """A program gets the version that it was linked with, or what the library had first if with none; also code beside a
    library whose other version has wider integers."""
    source, here = "versioned.c", world.source
    bare = library(world, source, "-DBARE", "-Wl,-soname,libversioned.so.1", to="libbare.so")
    folders = {}
    for release, flags in {"first": ["-DFIRST"], "second": []}.items():
        folders[release] = Path(release).resolve()
        folders[release].mkdir()
        script = [f"-Wl,--version-script={here / release}.map", "-Wl,-soname,libversioned.so.1"]
        library(world, source, *flags, *script, to=f"{release}/libversioned.so.1")
    programs = {
        "linked with the first": world.compile("program.c", "-O0", str(folders["first"] / "libversioned.so.1"), to="one"),
        "linked with no version": world.compile("program.c", "-O0", str(bare), to="none"),
        "linked with the second": world.compile("program.c", "-O0", "-DINT=int64_t", str(folders["second"] / "libversioned.so.1"), to="two"),
    }
    errors = []
    for linked_with, program in programs.items():
        for release, folder in folders.items():
            if "second" in linked_with and release == "first":
                continue  # does not start
            variables = {"LD_LIBRARY_PATH": str(folder)}
            plain = launch([program], variables=variables)
            errors += both(f"{linked_with}, {release} release", [program], plain, preload=world.lib, variables=variables)
    if len(set(launch([p], variables={"LD_LIBRARY_PATH": str(folders["second"])}).stdout for p in programs.values())) != 2:
        errors.append("the versions do not differ")
    return errors


def width(world) -> list[str]:
    """A library's integers are as wide as it says itself, whatever else the process has; where it has nothing to say
    they are 32-bit; and halves of arguments that nobody has set are not believed."""
    wide = harness.LIBRARIES / "blas64" / "libblas64.so.3"
    if not wide.exists():
        raise Skip(f"no {wide}")
    errors = []
    for name, flags in {"isamax": ["-DISAMAX"], "dscal": ["-DDSCAL"], "nothing": []}.items():
        narrow = library(world, "own.c", "-DCBLAS=cblas_dgemm", *flags, to="libnarrow.so")
        for order, libraries in {"alone": [narrow], "first": [narrow, wide]}.items():
            program = world.compile("dirty.c", "-maccumulate-outgoing-args", *linked(*libraries), to="dirty")
            plain = launch([program])
            errors += both(f"{name}, {order}", [program], plain, preload=world.lib, least=10)
            errors += both(f"{name}, {order}, beside", [program, wide], plain, preload=world.lib, least=10)
        wrong = launch([program, wide], preload=world.lib, settings=FORCED)
        if wrong.reports and wrong.reports[0]["integers"] != 32:
            errors.append(f"{name}: {wrong.reports[0]['integers']}-bit integers")
    own = library(world, "own.c", "-DFORTRAN=dgemm_", to="libown.so")
    program = world.compile("program.c", *linked(own, wide), to="program")
    errors += both("Fortran's name alone, before a 64-bit BLAS", [program], launch([program]), preload=world.lib)
    wrap = library(world, "wrapper.c", "-DINT=int64_t", to="libwrap.so")
    program = world.compile("program.c", "-DINT=int64_t", *linked(wrap, wide), to="wrapped")
    errors += both("a wrapper over a 64-bit BLAS", [program], launch([program]), preload=world.lib)
    return errors


def on_the_stack(world) -> list[str]:
    """The gate reads sizes wherever they are, in the width that they have: of each routine two systems of four are too small."""
    program = world.compile("on_the_stack.c", "-maccumulate-outgoing-args", "-l:libblas.so.3", to="program")
    plain, run = launch([program]), launch([program], preload=world.lib, settings={"BLASLIFT_BACKEND": "host"})
    errors = [] if (run.status, run.stdout) == (plain.status, plain.stdout) else [f"{run.stdout!r}, without blaslift {plain.stdout!r}"]
    for name in ("dtrsm", "ztrsm"):
        account = run.reports[0]["routines"].get(name, {}) if run.reports else {}
        if (account.get("calls"), account.get("stayed", {}).get("too small")) != (4, 2):
            errors.append(f"{name}: {account}")
    return errors


def names_64(world) -> list[str]:
    """cblas_dgemm_64, whose twin is dgemm_64_, is counted once, routed and measured; so are others of that family."""
    names = library(world, "library_64.c", to="libnames.so")
    program = world.compile("names_64.c", *linked(names), to="program")
    plain = launch([program])
    errors = both("cblas_dgemm_64", [program], plain, preload=world.lib, least=2)
    counted = calls(launch([program], preload=world.lib))
    if counted != 2:
        errors.append(f"{counted} calls counted, not 2")
    measured = world.compile("measured_64.c", *linked(names), to="measured")
    run = launch([world.command, "measure", "--", measured])
    errors += differs("measure", run, launch([measured]))
    for name in ("dgemm", "cblas_ddot"):
        if not any(line.split()[:2] == [name, "1"] for line in run.stderr.splitlines()):
            errors.append(f"measure does not tell of one {name}: {run.stderr}")
    return errors


def jumping(world) -> list[str]:
    """A routine may end with a jump to another one: `measure` counts both, and the program goes on."""
    jumps = library(world, "jumping.c", "-O2", "-fno-inline", to="libjumps.so")
    program = world.compile("jumping.c", "-DPROGRAM", *linked(jumps), to="program")
    run = launch([world.command, "measure", "--", program])
    errors = differs("measure", run, launch([program]))
    for name, made in {"ddot": 2, "dsdot": 4, "sdsdot": 4}.items():
        if not any(line.split()[:2] == [name, str(made)] for line in run.stderr.splitlines()):
            errors.append(f"measure does not tell of {made} {name}: {run.stderr}")
    return errors


def beside_itself(world) -> list[str]:
    """A BLAS that calls itself for parts, through the linker, is still the one underneath."""
    own = library(world, "own.c", "-DFORTRAN=dgemm_", "-DSELF", "-DSCALE=3", to="libself.so")
    program = world.compile("program.c", *linked(own), to="program")
    return both("by halves", [program], launch([program]), preload=world.lib)
