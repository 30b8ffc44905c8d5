"""The process tree: paths, foreign children, sanitizers, limits, and what is said where something cannot be kept."""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import subprocess
from pathlib import Path

import harness

HOST = ["--backend", "host", "--force", "all"]
SUM = "sum 1584168.0\n"
NO_CALL = "no call to a routine"
NOBODY = 65534
STARTERS = {"run": ["run", *HOST], "measure": ["measure"], "verify": ["verify", *HOST, "--at-least", "0"],
            "report": ["report", *HOST], "doctor": ["doctor", "--run", *HOST]}
"""The commands that start a program."""


def environment(**more) -> dict[str, str]:
    if "HOME" in more and not str(more["HOME"]).startswith("/proc"):
        os.makedirs(more["HOME"], exist_ok=True)
    return harness.clean_environment(harness.provider_environment("reference") | {k: str(v) for k, v in more.items()})


def done(command, env=None, timeout=60, **options):
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
    return subprocess.run(list(map(str, command)), env=env or environment(), text=True, errors="replace",
                          timeout=timeout, **options)


def product(world, *flags, to=None, cc=None) -> Path:
    if cc:
        target = world.scratch / to
        built = done([cc, "-g", "-w", world.source / "product.c", "-o", target, *flags, "-lblas"], os.environ)
        if built.returncode or done([target]).returncode:
            raise harness.Skip(f"{cc} {' '.join(map(str, flags))}: no program that runs")
        return target
    return world.compile("product.c", *flags, "-lblas", to=to)


def start(world, how: str, command, env=None, blaslift=None, json_file=None, **options):
    """`blaslift HOW -- command`; doctor takes no `--`."""
    more = ["--json", json_file] if json_file and how != "measure" else []
    return done([blaslift or world.command, *STARTERS[how], *more, *([] if how == "doctor" else ["--"]), *command], env,
                **options)


def served(how: str, run) -> bool:
    """Whether the program's product came to blaslift, by what is said."""
    text = run.stderr + run.stdout
    if how == "doctor":
        return "1 call of dgemm" in text
    return re.search({"measure": r"dgemm +1 "}.get(how, r"dgemm +1 +(call|0\.)|dgemm"), text) is not None


def good(how: str, run, label: str) -> list[str]:
    """The program ran as without blaslift, and was served."""
    errors = []
    if run.returncode != 0 or not run.stdout.startswith(SUM):
        errors.append(f"{label}: status {run.returncode}, {run.stdout[:100]!r}, {run.stderr[-400:]!r}")
    if "ld.so" in run.stderr:
        errors.append(f"{label}: the loader complains: {run.stderr[:300]!r}")
    if not served(how, run):
        errors.append(f"{label}: not served: {run.stdout!r} {run.stderr!r}")
    return errors


def install(world, folder: Path) -> Path:
    """The command and its libraries in a folder of their own."""
    for name in ("bin", "lib"):
        (folder / name).mkdir(parents=True)
    files = [(world.command, "bin"), *((file, "lib") for file in world.lib.parent.glob("libblaslift*.so"))]
    for file, name in files:
        try:
            os.link(file, folder / name / file.name)
        except OSError:
            shutil.copy(file, folder / name / file.name)
    return folder / "bin" / world.command.name


ODD = ["with space", "with:colon", "a:b c", "quote'd\"", "do$llar", "$LIB", "${PLATFORM}x", "ünïcödé", "new\nline",
       "tab\there", "-dash", "back\\slash", "%s%n", "*?[x]"]


# ---- paths


def odd_installation(world) -> list[str]:
    """Installed wherever, the command preloads its library; `env` sets up a shell of which all commands are served."""
    program = product(world)
    errors = []
    env = environment(HOME=world.scratch / "home", XDG_CACHE_HOME="")
    for i, name in enumerate(ODD):
        blaslift = install(world, world.scratch / "odd" / name)
        for how in STARTERS if i < 3 or "\n" in name or "LIB" in name else ("run",):
            errors += good(how, start(world, how, [program], env, blaslift), f"{name!r}: {how}")
        report = world.scratch / f"env{i}.jsonl"
        shell = done(["bash", "-c", 'eval "$("$1" env --shell bash --backend host --force all --report "$2")"; "$3"', "-",
                      blaslift, report, program], env)
        if shell.stdout != SUM or shell.stderr or not report.exists():
            errors.append(f"{name!r}: env: {shell}")
    return errors


def odd_places(world) -> list[str]:
    """The folder that one is in, TMPDIR, the program and the files of options may be called as they like."""
    plain = product(world)
    errors = []
    for name in ODD:
        folder = world.scratch / "places" / name
        folder.mkdir(parents=True)
        program = Path(shutil.copy(plain, folder / f"{name} program"))
        for how in ("run", "measure", "doctor"):
            run = start(world, how, [f"./{program.name}"], environment(TMPDIR=folder), cwd=folder)
            errors += good(how, run, f"{name!r}: {how}")
        left = sorted(path.name for path in folder.iterdir())
        if left != [program.name]:
            errors.append(f"{name!r}: left behind: {left}")
        run = done([world.command, "run", *HOST, "--report", "r", "--trace", "t", "--json", "j", "--verify", "all", "--verify-dump", "d",
                    "--", f"./{program.name}"], environment(TMPDIR=folder), cwd=folder)
        missing = [file for file in ("r", "j", "t") if not (folder / file).exists()]
        if run.returncode != 0 or missing:
            errors.append(f"{name!r}: files of options: {missing} missing, {run}")
        subject = Path(shutil.copy(harness.PROVIDERS["reference"][0] / "libblas.so.3", folder / "libblas.so.3"))
        checked = done([world.command, "verify", "--subject", f"./{subject.name}", "--oracle",
                        harness.PROVIDERS["openblas"][0] / "libblas.so.3", "--", f"./{program.name}"], cwd=folder)
        if checked.returncode != 0 or "none wrong" not in checked.stderr:
            errors.append(f"{name!r}: as a subject: {checked}")
    return errors


def nothing_else_is_loaded(world) -> list[str]:
    """Parts of a path that is taken apart lead nowhere, in glibc's and musl's way of doing it."""
    program = product(world)
    blaslift = install(world, world.scratch / "a:b c")
    stranger = world.compile("stranger.c", "-shared", "-fPIC", to="stranger.so")
    for folder in ("b c", "b", "c"):
        for name in ("libblaslift.so", "libblaslift_measure.so"):
            path = world.scratch / folder / "lib" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(stranger, path)
    errors = []
    for how in STARTERS:
        run = start(world, how, [program], environment(HOME=world.scratch / "home"), blaslift)
        errors += good(how, run, how) + (["a stranger is loaded"] if "stranger" in run.stdout else [])
    return errors


def no_place_for_links(world) -> list[str]:
    """Without a cache: links that go with the command, or a refusal; never a run that is not served and does not say so."""
    program = product(world)
    blaslift = install(world, world.scratch / "with space")
    (world.scratch / "file").touch()
    errors = []
    for cache in ("/proc/nothing", world.scratch / "file", "relative"):
        env = environment(HOME="/proc/nothing", XDG_CACHE_HOME=cache)
        errors += good("run", start(world, "run", [program], env, blaslift), f"cache {cache}")
        shell = done([blaslift, "env"], env)
        if (shell.returncode, shell.stdout) != (125, "") or "cannot be preloaded" not in shell.stderr:
            errors.append(f"cache {cache}: env: {shell}")
    if left := list(world.scratch.glob("blaslift-*")):
        errors.append(f"left behind: {left}")
    # What others may write to is no place: the links there might lead to theirs.
    cache = world.scratch / "cache"
    (cache / "blaslift-preload").mkdir(parents=True)
    (cache / "blaslift-preload").chmod(0o777)
    if done([blaslift, "env"], environment(HOME="/proc/nothing", XDG_CACHE_HOME=cache)).returncode != 125:
        errors.append("links are made where everybody can write")
    return errors


def outliving(world) -> list[str]:
    """What a program leaves behind goes on being served, and the loader has nothing to complain of."""
    program = product(world)
    errors = []
    for name, blaslift in {"usual": world.command, "odd": install(world, world.scratch / "with space")}.items():
        out = world.scratch / f"{name}.out"
        report = world.scratch / f"{name}.jsonl"
        env = environment(HOME=world.scratch / "home", XDG_CACHE_HOME="", BLASLIFT_REPORT=report)
        done([blaslift, "run", "-q", *HOST, "sh", "-c", '(while [ ! -e go ]; do sleep 0.05; done; "$1"; echo end) >"$2" 2>&1 &', "-", program, out], env)
        (world.scratch / "go").touch()
        done(["sh", "-c", 'until grep -q end "$1"; do sleep 0.05; done', "-", out])
        (world.scratch / "go").unlink()
        if out.read_text() != SUM + "end\n" or not report.exists():
            errors.append(f"{name}: {out.read_text()!r}, report {report.exists()}")
    return errors


# ---- others' loaders


def foreign_children(world) -> list[str]:
    """Helpers for musl, for 32 bits and linked statically start in a tree that is served, by each of the commands."""
    program = product(world)
    helpers = {}
    for name, line in {"musl": ["musl-gcc"], "musl-static": ["musl-gcc", "-static"], "static": [world.cc, "-static"],
                       "32-bit": [world.cc, "-m32"], "32-bit-static": [world.cc, "-m32", "-static"]}.items():
        if not shutil.which(line[0]):
            continue
        built = done([*line, world.source / "hello.c", "-o", world.scratch / name], os.environ)
        if built.returncode == 0 and done([world.scratch / name]).returncode == 0:
            helpers[name] = world.scratch / name
    if "musl" not in helpers and "32-bit" not in helpers:
        raise harness.Skip("no compiler for musl or 32 bits")
    script = '"$1" || echo "status $?"; "$2"'
    errors = []
    odd = install(world, world.scratch / "with space")
    for blaslift in (world.command, odd):
        for name, helper in helpers.items():
            for how in ("run", "measure") if name == "musl" else ("run",):
                run = start(world, how, ["sh", "-c", script, "-", helper, program], environment(HOME=world.scratch), blaslift)
                if run.stdout != "helper ran\n" + SUM or not served(how, run) or run.returncode != 0:
                    errors.append(f"{blaslift}: {how}: {name}: {run}")
                if "32-bit" not in name and "ld.so" in run.stderr:
                    errors.append(f"{how}: {name}: {run.stderr!r}")
    return errors


# ---- sanitizers


def sanitized(world) -> dict[str, Path]:
    programs = {}
    for name, cc, flags in (("asan", world.cc, ["-fsanitize=address"]),
                            ("asan-static", world.cc, ["-fsanitize=address", "-static-libasan"]),
                            ("tsan", world.cc, ["-fsanitize=thread"]), ("ubsan", world.cc, ["-fsanitize=undefined"]),
                            ("lsan", world.cc, ["-fsanitize=leak"]), ("clang-asan", "clang", ["-fsanitize=address"]),
                            ("clang-tsan", "clang", ["-fsanitize=thread"])):
        if not shutil.which(cc):
            continue
        try:
            programs[name] = product(world, *flags, to=name, cc=cc)
        except harness.Skip as why:
            print(why)
    if not programs:
        raise harness.Skip("no sanitizers")
    return programs


def of_sanitizers(**more):
    return environment(ASAN_OPTIONS="detect_leaks=0", LSAN_OPTIONS="detect_leaks=0", **more)


def sanitizers_start(world) -> list[str]:
    """By each command, with the installation's links and with the cache's."""
    errors = []
    odd = install(world, world.scratch / "copied")
    for name, program in sanitized(world).items():
        for how in STARTERS if name in ("asan", "asan-static") else ("run", "measure"):
            errors += good(how, start(world, how, [program], of_sanitizers()), f"{name}: {how}")
        errors += good("run", start(world, "run", [program], of_sanitizers(HOME=world.scratch), odd), f"{name}: copied")
    return errors


def sanitizers_below(world) -> list[str]:
    """Started by a program without one, with options of its own; preloaded by hand, too; and its finds are its own."""
    programs = sanitized(world)
    program = programs.get("asan")
    if not program:
        raise harness.Skip("no shared AddressSanitizer")
    errors = []
    run = start(world, "run", ["sh", "-c", 'ASAN_OPTIONS=detect_leaks=0 "$1"', "-", program], environment())
    errors += good("run", run, "below sh")
    runtime = done([world.cc, "-print-file-name=libasan.so"]).stdout.strip()
    errors += good("run", start(world, "run", [program], of_sanitizers(LD_PRELOAD=runtime)), "runtime preloaded")
    order = done([world.command, "env", "--shell", "sh"], environment(LD_PRELOAD=runtime)).stdout
    if f"'{runtime}:" not in order or not re.search(r"/libblaslift\.so'", order):
        errors.append(f"env does not keep the runtime in front: {order}")
    # Nothing of it is loaded into others.
    run = start(world, "run", ["cat", "/proc/self/maps"], environment())
    if re.search(r"/libasan\.so\.\d", run.stdout):
        errors.append(f"a runtime is loaded into others: {run.stdout}")
    return errors


def sanitizers_verified(world) -> list[str]:
    """verify opens an oracle in the program's process, which runtimes do not let anybody do in the usual way."""
    oracle = harness.PROVIDERS["reference"][0] / "libblas.so.3"
    errors = []
    for name, program in sanitized(world).items():
        run = done([world.command, "verify", *HOST, "--oracle", oracle, "--", program], of_sanitizers())
        if run.returncode or run.stdout != SUM or not re.search(r"dgemm +1 call checked", run.stderr):
            errors.append(f"{name}: {run}")
    return errors


# ---- relative paths


def relative_paths(world) -> list[str]:
    """What is named relative to where one is stays there, whatever folder the program goes to; by option or variable."""
    program = product(world)
    errors = []
    for how in ("option", "variable", "by hand"):
        home = world.scratch / how
        (home / "tmp").mkdir(parents=True)
        shutil.copy(harness.PROVIDERS["reference"][0] / "libblas.so.3", home / "oracle.so")
        values = {"report": "r.jsonl", "trace": "t", "verify": "all", "verify-oracle": "./oracle.so", "backend": "host", "force": "all"}
        variables = {f"BLASLIFT_{name.upper().replace('-', '_')}": value for name, value in values.items()}
        options = [word for name, value in values.items() for word in (f"--{name}", value)]
        if how == "option":
            run = done([world.command, "run", *options, "--", program, "/"], environment(TMPDIR="tmp"), cwd=home)
        elif how == "variable":
            run = done([world.command, "run", program, "/"], environment(TMPDIR="tmp", **variables), cwd=home)
        else:  # the folder of the first call counts
            run = done([program], environment(LD_PRELOAD=world.lib, **variables), cwd=home)
        if run.returncode or run.stdout != SUM:
            errors.append(f"{how}: {run}")
        if how != "by hand" and not re.search(r"dgemm +1 call checked", run.stderr):
            errors.append(f"{how}: not counted or not checked: {run.stderr}")
        reports = harness.read_reports(home / "r.jsonl")
        if len(reports) != 1 or reports[0]["routines"]["dgemm"]["verified"]["checked"] != 1 or len(list((home / "t").iterdir())) != 1:
            errors.append(f"{how}: {reports}, {list(home.iterdir())}")
        if list((home / "tmp").iterdir()):
            errors.append(f"{how}: left behind in TMPDIR")
    return errors


# ---- limits


def uncounted_errors(how: str, run, label: str, why: str) -> list[str]:
    """The program ran, its calls could not be counted, and that, with the reason, is what is said."""
    errors = []
    if not run.stdout.startswith(SUM):
        errors.append(f"{label}: {run}")
    if how != "doctor" and run.returncode != 0:
        errors.append(f"{label}: status {run.returncode}")
    text = run.stderr + run.stdout
    if NO_CALL in text or "without a call" in text or "no call came" in text or "did not load" in text:
        errors.append(f"{label}: says what is not so: {text}")
    if not re.search("not counted.*" + why, text):
        errors.append(f"{label}: does not say why nothing was counted: {text}")
    return errors


def file_limit(world) -> list[str]:
    """Whatever the limit on the size of files, nothing is killed, and what cannot be counted is said."""
    program = product(world)
    errors = []
    for limit in (0, 1, 4096, 200000, 1 << 20):
        def bound(limit=limit):
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

        for how in STARTERS:
            run = start(world, how, [program], preexec_fn=bound)
            if limit < 1 << 20:
                errors += uncounted_errors(how, run, f"{limit} bytes: {how}", "ulimit -f")
            else:
                errors += good(how, run, f"{limit} bytes: {how}")
        run = done([world.command, "run", "-q", "--json", "limited.json", "--", "sh", "-c", '"$0"; exit 7', program], preexec_fn=bound)
        if run.stdout != SUM or run.returncode != 7:
            errors.append(f"{limit} bytes: json: {run}")
        if limit < 100 and "limited.json cannot be written: File too large" not in run.stderr:
            errors.append(f"{limit} bytes: nothing said of the json: {run}")
    run = done([world.command, "run", "-q", "--json", "told.json", "--", program],
               preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)))
    if "ulimit -f" not in json.loads(Path("told.json").read_text())["uncounted"][0]:
        errors.append(f"json does not tell: {Path('told.json').read_text()}")
    return errors


def report_at_its_limit(world) -> list[str]:
    program = product(world)
    errors = []
    for limit in (0, 100, 4096):
        report = world.scratch / f"{limit}.jsonl"
        report.write_text(" " * limit)
        run = done([program], environment(LD_PRELOAD=world.lib, BLASLIFT_REPORT=report),
                   preexec_fn=lambda limit=limit: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
        if run.returncode or run.stdout != SUM or "lacks this process" not in run.stderr:
            errors.append(f"{limit}: {run}")
    return errors


def no_descriptors(world) -> list[str]:
    """A program that has used up its descriptors before its first call."""
    program = product(world)
    errors = []
    for how in ("run", "measure", "verify", "report"):
        run = start(world, how, [program, ".", "files"], preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)))
        errors += uncounted_errors(how, run, how, "ulimit -n")
    # The command itself has few: it reads what it can, or says that it cannot.
    for most in (4, 5, 8):
        run = start(world, "run", [program], preexec_fn=lambda most=most: resource.setrlimit(resource.RLIMIT_NOFILE, (most, most)))
        said = served("run", run) or "not counted" in run.stderr or "could not be read" in run.stderr
        if run.returncode or run.stdout != SUM or NO_CALL in run.stderr or not said:
            errors.append(f"{most} descriptors: {run}")
    return errors


def no_threads(world) -> list[str]:
    """Not a process more than there is: the command says that it cannot start one; a program gets no thread."""
    if os.geteuid() != 0:
        raise harness.Skip("only root becomes another user")
    program = product(world)
    os.chmod(world.scratch, 0o777)
    errors = []
    for most in (0, 1, 3):
        def bound(most=most):
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            resource.setrlimit(resource.RLIMIT_NPROC, (most, most))

        for how in ("run", "measure"):
            run = start(world, how, [program], environment(HOME=world.scratch), preexec_fn=bound)
            refused = run.returncode == 125 and "cannot start a process: Resource temporarily unavailable" in run.stderr
            if not refused:
                errors += good(how, run, f"{most} processes: {how}")
    return errors


def no_address_space(world) -> list[str]:
    program = product(world)
    errors = []
    for megabytes in (0, 1, 8, 64):
        for how in ("run", "measure", "verify", "report"):
            run = start(world, how, [program, ".", megabytes])
            if run.returncode or run.stdout != SUM:
                errors.append(f"{megabytes} MB: {how}: {run}")
            if NO_CALL in run.stderr or "without a call" in run.stderr:
                errors.append(f"{megabytes} MB: {how}: says what is not so: {run.stderr}")
            if "dgemm" not in run.stderr and not re.search("not counted.*ulimit -v", run.stderr):
                errors.append(f"{megabytes} MB: {how}: does not say why: {run.stderr}")
    return errors


# ---- temporary folders, full disks, readers


def temporary_folder(world) -> list[str]:
    """A TMPDIR that is not there, is no folder, or is emptied, or taken away, while the program runs."""
    program = product(world)
    (world.scratch / "file").touch()
    errors = []
    for tmp in ("/proc/nothing", world.scratch / "file", "", "/proc"):
        for how in STARTERS:
            errors += good(how, start(world, how, [program], environment(TMPDIR=tmp)), f"TMPDIR={tmp}: {how}")
    for empties in ('rm -rf "$TMPDIR"/*', 'rm -rf "$TMPDIR"'):
        for how in ("run", "measure", "verify", "report"):
            (world.scratch / "tmp").mkdir(exist_ok=True)
            run = start(world, how, ["sh", "-c", f'{empties}; "$1"; exit 7', "-", program], environment(TMPDIR=world.scratch / "tmp"))
            if run.stdout != SUM or run.returncode != 7:
                errors.append(f"{empties}: {how}: {run}")
            if NO_CALL in run.stderr or "without a call" in run.stderr or "removed while it ran" not in run.stderr:
                errors.append(f"{empties}: {how}: {run.stderr}")
    return errors


def full_disk(world) -> list[str]:
    """No room below TMPDIR: counted elsewhere, or said that it is not; a disk that fills later kills nothing."""
    program = product(world)
    (world.scratch / "full").mkdir()
    if done(["unshare", "-rm", "mount", "-t", "tmpfs", "-o", "size=4k", "tmpfs", world.scratch / "full"]).returncode:
        raise harness.Skip("no mounts here")
    script = """mount -t tmpfs -o size=%s tmpfs full || exit 99
        [ "$1" = later ] || cat /dev/zero >full/rest 2>/dev/null
        shift; TMPDIR=$PWD/full exec "$@" """
    errors = []
    for how in STARTERS:
        run = done(["unshare", "-rm", "sh", "-c", script % "16k", "-", "now", world.command, *STARTERS[how],
                    *([] if how == "doctor" else ["--"]), program])
        errors += good(how, run, f"full: {how}")
    fill = 'cat /dev/zero >"$TMPDIR/rest" 2>/dev/null; "$1"; exit 7'
    for how in ("run", "measure", "verify", "report"):
        run = done(["unshare", "-rm", "sh", "-c", script % "8m", "-", "later", world.command, *STARTERS[how], "--", "sh", "-c", fill, "-", program])
        if run.stdout != SUM or run.returncode != 7 or NO_CALL in run.stderr or not re.search("not counted.*no room", run.stderr):
            errors.append(f"filled: {how}: {run}")
    return errors


def full_outputs(world) -> list[str]:
    """A file or standard output that takes nothing: said, and the program's exit status is the command's."""
    program = product(world)
    errors = []
    for how, full in (("run", ["run", "-q"]), ("verify", ["verify", "-q", "--at-least", "0"]), ("report", ["report", "-q"])):
        run = done([world.command, *full, "--json", "/dev/full", "--", "sh", "-c", '"$1"; exit 7', "-", program])
        if run.returncode != 7 or "/dev/full cannot be written: No space left on device" not in run.stderr:
            errors.append(f"{how}: {run}")
    run = done([world.command, "doctor", "--json", "/dev/full", program])
    if run.returncode != 125 or "/dev/full cannot be written" not in run.stderr:
        errors.append(f"doctor: {run}")
    with open("/dev/full", "w") as full:
        for command in (["env"], ["info"], ["doctor", program], ["doctor", "--json", "-", program], ["completion", "bash"], ["--help"]):
            run = done([world.command, *command], stdout=full)
            if run.returncode != 125 or "standard output cannot be written" not in run.stderr:
                errors.append(f"{command}: {run}")
    return errors


def readers_gone(world) -> list[str]:
    """Nobody reads what the command says: the program ends as ever."""
    program = product(world)
    errors = []
    for how in ("run", "measure", "verify", "report"):
        ours, theirs = os.pipe()
        os.close(ours)
        run = start(world, how, ["sh", "-c", '"$1" 2>/dev/null; exit 7', "-", program], stderr=theirs)
        os.close(theirs)
        if run.stdout != SUM or run.returncode != 7:
            errors.append(f"{how}: {run}")
    return errors


def trace_refused(world) -> list[str]:
    """A trace that cannot be made is said; calls are counted all the same."""
    program = product(world)
    (world.scratch / "trace").mkdir()
    errors = []

    # The limit must leave room for the counters, and none for a trace behind them, which begins at a multiple of 64 KiB.
    for pages in range(1, 64):
        most = 65536 * pages - 1

        def bound():
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

        run = done([world.command, "run", *HOST, "--trace", "trace", "--", program], preexec_fn=bound)
        if "not counted" not in run.stderr:
            break
    print(f"a limit of {most} bytes")
    if run.stdout != SUM or run.returncode or not re.search("no trace of a process: .*ulimit -f", run.stderr):
        errors.append(f"under the command: {run}")
    run = done([program], environment(LD_PRELOAD=world.lib, BLASLIFT_TRACE="trace", BLASLIFT_REPORT="stderr"), preexec_fn=bound)
    if run.stdout != SUM or run.returncode or not re.search("no trace of a process: .*ulimit -f", run.stderr):
        errors.append(f"by hand: {run}")
    return errors


# ---- doctor


def doctor_knows(world) -> list[str]:
    """Each of these kinds, from outside."""
    errors = []

    def expect(kind: str, verdict: int, program, effect=None, env=None, **options):
        run = done([world.command, "doctor", "--json", "-", program], env, **options)
        found = {f["kind"]: f for f in json.loads(run.stdout)["findings"]}
        if run.returncode != verdict or kind not in found or (effect and found[kind]["effect"] != effect):
            errors.append(f"{kind}: status {run.returncode}, not {verdict}: {run.stdout}")

    plain = product(world)
    for name, program in sanitized(world).items():
        expect("sanitizer" if name != "lsan" else "linked", 0, program, env=of_sanitizers())
    unresolved = world.compile("optional.c", "-fPIE", to="weak")
    expect("optional-blas", 4, unresolved, "maybe")
    expect("linked", 0, unresolved, "good", environment(BLASLIFT_FALLBACK="libblas.so.3"))
    expect("asks-by-name", 4, world.compile("optional.c", "-DBY_NAME", "-ldl", to="by_name"), "maybe")
    library = world.scratch / "libversioned.so.1"
    world.compile("versioned.c", "-shared", "-fPIC", f"-Wl,-soname,{library.name}",
                  f"-Wl,--version-script={world.source / 'versioned.map'}", to=library.name)
    expect("symbol-version", 0, world.compile("calls.c", library, "-Wl,-rpath,$ORIGIN", to="versioned"), "note")
    switch = world.compile("versioned.c", "-shared", "-fPIC", to="libflexiblas.so.3")
    expect("switch", 0, world.compile("calls.c", switch, "-Wl,-rpath," + str(world.scratch), to="switched"), "note")
    expect("own-wrapper", 4, world.compile("wrapper.c", "-w", "-D_GNU_SOURCE", "-rdynamic", "-ldl", to="wrapper"), "maybe")
    expect("file-size-limit", 0, plain, "note", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)))
    expect("address-space-limit", 0, plain, "note", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (1 << 32, 1 << 32)))
    moved = world.scratch / "new\nline"
    moved.mkdir()
    shutil.copy(library, moved)
    expect("linked", 0, shutil.copy(world.scratch / "versioned", moved / "prog ram"), "good")
    for name, line in {"musl": ["musl-gcc"], "32-bit": [world.cc, "-m32"]}.items():
        if shutil.which(line[0]) and done([*line, world.source / "hello.c", "-o", name], os.environ).returncode == 0:
            expect("other-loader" if name == "musl" else "architecture", 1, f"./{name}", "fatal")
    return errors
