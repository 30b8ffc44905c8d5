"""Security: rights, and files and texts that somebody else has made."""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import stat
import subprocess
import sys
import time
from pathlib import Path

import harness
from record import parts, resigned, with_word

NOBODY = 65534
ESCAPES = re.compile(rb"[\x00-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\xa8-\xae\x8e\x8f]")


def environment(**more: str | Path) -> dict[str, str]:
    return harness.clean_environment(harness.provider_environment("reference") | {k: str(v) for k, v in more.items()})


def forced(world, **more: str | Path) -> dict[str, str]:
    return environment(BLASLIFT_BACKEND="host", BLASLIFT_FORCE="all", LD_PRELOAD=world.lib, **more)


def done(command, env, timeout=60, **options):
    return subprocess.run(list(map(str, command)), env=env, capture_output=True, timeout=timeout, **options)


def with_memory(bytes_: int):
    return lambda: resource.setrlimit(resource.RLIMIT_AS, (bytes_, bytes_))


# ---- rights


def privileged(world, give) -> list[str]:
    """A program linked with the library that has more rights than who starts it: no variable of theirs matters."""
    if os.geteuid() != 0 or os.statvfs(world.scratch).f_flag & os.ST_NOSUID:
        raise harness.Skip("no root to give programs privileges, or a file system without them")
    os.chmod(world.scratch, 0o755)
    libraries = world.scratch / "lib"
    shutil.copytree(world.lib.parent, libraries, ignore=lambda _, names: [n for n in names if not n.startswith("libblaslift")])
    subprocess.run(["chmod", "-R", "a+rX", libraries], check=True)
    flags = ["-Wl,--no-as-needed", f"-L{libraries}", "-lblaslift", f"-Wl,-rpath,{libraries}", "-lblas"]
    program = world.compile("call.c", *flags)
    plain = Path(shutil.copy(program, world.scratch / "plain"))
    evil = world.compile("evil.c", "-shared", "-fPIC", to="evil.so")
    private, home = world.scratch / "private", world.scratch / "home"
    private.mkdir(mode=0o700)
    for name in ("default", "host", "sm_90"):
        profile = home / ".cache" / "blaslift" / f"{name}.profile"
        profile.parent.mkdir(parents=True, exist_ok=True)
        profile.write_text("a line of a profile at home\n")
    secret = private / "secret"
    secret.write_text("a line of a secret file\n")
    shutil.copy(program, private / "copy")
    give(program)
    variables = {
        "BLASLIFT_BACKEND": "host", "BLASLIFT_FORCE": "all", "BLASLIFT_VERIFY": "all", "BLASLIFT_VERIFY_ORACLE": evil,
        "BLASLIFT_FALLBACK": evil, "BLASLIFT_PROFILE": secret, "BLASLIFT_REPORT": private / "report",
        "BLASLIFT_TRACE": private / "trace", "BLASLIFT_INTERNAL_COUNTERS": private, "BLASLIFT_VERIFY_DUMP": private,
        "BLASLIFT_NONSENSE": "1", "BLASLIFT_MEMORY": "nonsense",
    }  # fmt: skip
    surroundings = {"HOME": home, "XDG_CACHE_HOME": home / ".cache", "TMPDIR": private, "LD_PRELOAD": evil,
                    "OMPI_COMM_WORLD_LOCAL_RANK": "3", "SLURM_LOCALID": "2", "LD_AUDIT": evil,
                    "CUDA_INJECTION64_PATH": evil, "NVTX_INJECTION64_PATH": evil}
    everything = {name: str(value) for name, value in (variables | surroundings).items()}
    errors = []

    def run(words, env):
        return subprocess.run([str(x) for x in words], env=env, capture_output=True, timeout=60,
                              user=NOBODY, group=NOBODY, extra_groups=[])

    before = sorted(os.listdir(private))
    sets = [everything, *({name: str(value)} for name, value in (variables | surroundings).items())]
    for env in sets:
        got = run([program], env)
        if got.returncode != 0 or not got.stdout.startswith(b"secure 1, C ") or got.stderr:
            errors.append(f"{list(env)[:3]}: status {got.returncode}, {got.stdout!r}, {got.stderr[:200]!r}")
    if sorted(os.listdir(private)) != before:
        errors.append(f"files were made: {os.listdir(private)}")
    # The same variables do matter where there are no rights.
    for name in ("report", "trace"):
        everything[f"BLASLIFT_{name.upper()}"] = str(world.scratch / "open" / name)
    everything["BLASLIFT_PROFILE"] = str(home / ".cache" / "blaslift" / "host.profile")
    (world.scratch / "open").mkdir()
    del everything["LD_PRELOAD"], everything["LD_AUDIT"]
    os.chmod(world.scratch / "open", 0o777)
    got = run([plain], everything)
    if b"EVIL" not in got.stderr or b"not understood" not in got.stderr or not (world.scratch / "open" / "report").exists():
        errors.append(f"a program without rights: {got}")
    return errors


def setuid(world) -> list[str]:
    def give(program):
        os.chmod(program, 0o4755)

    return privileged(world, give)


def setgid(world) -> list[str]:
    def give(program):
        os.chown(program, -1, 0)
        os.chmod(program, 0o2755)

    return privileged(world, give)


def capable(world) -> list[str]:
    def give(program):
        setcap = shutil.which("setcap", path="/usr/sbin:/sbin:/usr/bin")
        if not setcap or subprocess.run([setcap, "cap_net_bind_service+ep", program], capture_output=True).returncode:
            raise harness.Skip("no setcap, or no file capabilities here")

    return privileged(world, give)


# ---- records


def a_record(world, to="dump") -> Path:
    """A call that was found wrong, by an oracle that is."""
    program = world.compile("call.c", "-lblas")
    oracle = world.compile("evil.c", "-shared", "-fPIC", to="oracle.so")
    (world.scratch / to).mkdir()
    env = forced(world, BLASLIFT_VERIFY="all", BLASLIFT_VERIFY_ORACLE=oracle, BLASLIFT_VERIFY_DUMP=world.scratch / to)
    done([program, "5"], env)
    [record, *_] = sorted((world.scratch / to).glob("*.call"))
    return record


def replay_opens_nothing(world) -> list[str]:
    """A record that names libraries runs none of their code unless it is told so."""
    good = a_record(world).read_bytes()
    wrong = world.scratch / "wrong"
    wrong.mkdir()
    evil = world.compile("evil.c", "-shared", "-fPIC", to="wrong/x.so")
    errors = []
    system = harness.PROVIDERS["reference"][0] / "libblas.so.3"
    harmless = with_word(good, "oracle", str(system).encode())
    for word, option in (("library", "--library"), ("oracle", "--oracle")):
        for name in ("./wrong/x.so", str(evil), "x.so", "/proc/self/cwd/wrong/x.so", "wrong/../wrong/x.so"):
            for backend in (b"host", b""):
                record = wrong / f"{word}.call"
                bytes_ = with_word(harmless, word, name.encode())
                if not backend:
                    head, data = parts(bytes_)
                    bytes_ = resigned(b"\n".join(x for x in head.split(b"\n") if not x.startswith((b"backend ", b"way "))), data)
                record.write_bytes(bytes_)
                env = environment(LD_LIBRARY_PATH=f"{harness.PROVIDERS['reference'][0]}:{wrong}")
                for command in (["replay", record], ["replay", "-q", record], ["call", record]):
                    got = done([world.command, *command], env)
                    if b"EVIL" in got.stderr:
                        errors.append(f"{command[:-1]}: {word} {name}: its code ran")
                    if command[0] == "replay" and (got.returncode != 125 or option.encode() not in got.stderr or
                                                   b"--trust" not in got.stderr):
                        errors.append(f"{word} {name}: status {got.returncode}, {got.stderr[-300:]!r}")
        record = wrong / f"{word}.call"
        record.write_bytes(with_word(harmless, word, b"./wrong/x.so"))
        if b"EVIL" not in done([world.command, "replay", "--trust", record], environment()).stderr:
            errors.append(f"--trust: {word} is not opened")
        got = done([world.command, "replay", option, system, record], environment())
        if got.returncode != 0 or b"EVIL" in got.stderr:
            errors.append(f"{option}: status {got.returncode}, {got.stderr[-300:]!r}")
    # What the record names is the system's own, or is not there: nothing needs to be said.
    for library in (str(system), "/nowhere/libblas.so.3", "the program itself"):
        record = wrong / "fine.call"
        record.write_bytes(with_word(harmless, "library", library.encode()))
        got = done([world.command, "replay", record], environment())
        if got.returncode != 0:
            errors.append(f"library {library}: status {got.returncode}, {got.stderr[-300:]!r}")
    return errors


def hostile_records(world) -> list[str]:
    """A record whose numbers are anything ends in a message."""
    good = with_word(a_record(world).read_bytes(), "oracle", str(harness.PROVIDERS["reference"][0] / "libblas.so.3").encode())
    head, data = parts(good)
    arguments = re.search(rb"\narguments (.*)", head)[1].split(b" ")
    errors = []
    for number in (b"-1", b"0", b"9223372036854775807", b"-9223372036854775808", b"4611686018427387904", b"1099511627776", b"nan", b""):
        for i, word in enumerate(arguments):
            other = [*arguments]
            other[i] = word.split(b"=")[0] + b"=" + number
            Path("x.call").write_bytes(with_word(good, "arguments", b" ".join(other)))
            got = done([world.command, "replay", "-q", "x.call"], environment())
            if got.returncode not in (0, 1, 123, 125):
                errors.append(f"{other[i]}: status {got.returncode}")
        if number in (b"-1", b"9223372036854775807", b"1099511627776"):
            for block in (b"A " + number + b" 5 8", b"A 5 " + number + b" 8", b"A 5 5 " + number):
                Path("x.call").write_bytes(with_word(good, "block", block))
                got = done([world.command, "replay", "-q", "x.call"], environment())
                if got.returncode != 125:
                    errors.append(f"block {block}: status {got.returncode}")
    # No end: a text without one, and data of the size that a file system can promise.
    with open("x.call", "wb") as file:
        file.write(head + b"\nfound ")
        file.truncate(1 << 40)
    got = done([world.command, "replay", "-q", "x.call"], environment(), timeout=20)
    if got.returncode != 125:
        errors.append(f"no end of a line: status {got.returncode}")
    with open("x.call", "wb") as file:
        file.write(with_word(good, "block", b"E 1099511627776 1 8")[:-20])
        file.truncate(1 << 42)
    got = done([world.command, "replay", "-q", "x.call"], environment(), timeout=20)
    if got.returncode != 125 or b"memory" not in got.stderr:
        errors.append(f"data without end: {got}")
    return errors


# ---- what is shown


def shows_no_controls(world) -> list[str]:
    """Whatever a program, a record, a profile or a variable says, terminals are told nothing by it."""
    bad = b"\x1b]0;title\x07\nblaslift: all is well \x1b[31m\xc2\x9b\xe2\x80\xae\xff"
    text = os.fsdecode(bad)
    errors = []

    def look(what, got):
        if ESCAPES.search(got.stdout + got.stderr) or b"\nblaslift: all is well" in got.stdout + got.stderr:
            errors.append(f"{what}: {got.stdout[-200:]!r}, {got.stderr[-300:]!r}")

    record = a_record(world)
    good = record.read_bytes()
    system = str(harness.PROVIDERS["reference"][0] / "libblas.so.3").encode()
    flat = bad.replace(b"\n", b" ")
    for word in ("routine", "symbol", "arguments", "library", "oracle", "backend", "device", "driver", "way", "setting", "caller", "found"):
        value = flat if word != "arguments" else re.search(rb"\narguments (.*)", good)[1] + b" " + flat
        Path("x.call").write_bytes(with_word(with_word(good, "oracle", system), word, value))
        look(f"replay, {word}", done([world.command, "replay", "x.call"], environment()))
        look(f"call, {word}", done([world.command, "call", "x.call"], environment()))
    program = "./" + shutil.copy("call", text.replace("/", "|").replace("\n", "") + ".call")
    Path("lines.profile").write_bytes(b"some \x1b[31m line\x07\n")
    Path(text + ".profile").write_bytes(b"some \x1b[31m line\x07\n")
    for name in ("BLASLIFT_MEMORY", "BLASLIFT_PROFILE", "BLASLIFT_TRACE", "BLASLIFT_REPORT", "BLASLIFT_VERIFY_ORACLE",
                 "BLASLIFT_" + text):
        env = forced(world) | {name: f"/nowhere/{text}", "BLASLIFT_VERIFY": "all"}
        look(name, done([program, "5"], env))
        look(f"info, {name}", done([world.command, "info"], environment() | {name: f"/nowhere/{text}"}))
    for profile in ("lines.profile", text + ".profile"):
        look("profile", done([program, "5"], forced(world, BLASLIFT_PROFILE=profile)))
        look("info", done([world.command, "info", "--profile", profile], environment()))
    for command in (["run", "--backend", "host", "--force", "all"], ["measure"], ["doctor"], ["doctor", "--run"],
                    ["doctor", "--json", "-"], ["report", "--json", "-"], ["verify", "--at-least", "1"], ["report"]):
        words = [world.command, *command, *(["--"] if command[0] != "doctor" or "--run" in command else []), program, "5", text]
        look(" ".join(command), done(words, environment()))
    for words in (["run", "--", f"/nowhere/{text}"], ["report", f"/nowhere/{text}"], ["replay", f"/nowhere/{text}"],
                  ["doctor", f"/nowhere/{text}"], ["run", f"--nonsense={text}"], ["run", "--memory", text, "--", "true"]):
        look(" ".join(words[:1]), done([world.command, *words], environment()))
    done([program, "300", text], forced(world, BLASLIFT_TRACE="trace"))
    Path(os.fsdecode(b"trace/" + flat.replace(b"/", b""))).write_bytes(b"no trace")
    for more in ([], ["--json", "-"], ["--timeline", "-"], ["--html", "-"]):
        look(f"report {more}", done([world.command, "report", "trace", *more], environment()))
    without = done(["./call", "5"], environment(LD_PRELOAD=world.lib, LD_LIBRARY_PATH="/nowhere"))
    look("no BLAS", without)
    return errors


# ---- parsers


def hostile_traces(world) -> list[str]:
    """Whatever stands in a trace, the report ends: with a report, or with what is wrong with it."""
    program = world.compile("call.c", "-lblas")
    breaker = world.compile("break_trace.cpp", "-std=c++20", f"-I{world.source.parents[2]}")
    done([program, "300"], forced(world, BLASLIFT_TRACE="good"))
    [trace] = Path("good").iterdir()
    subprocess.run([breaker, trace, "t"], check=True)
    errors = []
    for folder in sorted(Path("t").iterdir()):
        files = ["--html", "x.html", "--json", "x.json", "--timeline", "x.timeline"]
        got = done([world.command, "report", folder, *files], environment(), timeout=60, preexec_fn=with_memory(4 << 30))
        if got.returncode not in (0, 125):
            errors.append(f"{folder.name}: status {got.returncode}, {got.stderr[-200:]!r}")
        if ESCAPES.search(got.stdout + got.stderr):
            errors.append(f"{folder.name}: control characters")
        if got.returncode == 0 and folder.name != "deep":
            for name in ("x.json", "x.timeline"):
                json.loads(Path(name).read_text())
    # The counters of a run are the program's to write to.
    for folder in ("reason", "routine", "unterminated", "ratio", "escapes"):
        got = done([world.command, "run", "--", "sh", "-c", f'cp t/{folder}/1.0 "$BLASLIFT_INTERNAL_COUNTERS/9.0"; exit 7'], environment())
        if got.returncode != 7 or b"blaslift: " not in got.stderr or ESCAPES.search(got.stderr):
            errors.append(f"counters, {folder}: {got}")
    return errors


def endless(world) -> list[str]:
    """What has no end, or no other end, is neither read for ever nor waited for."""
    program = world.compile("call.c", "-lblas")
    os.mkfifo("fifo")
    Path("folder").mkdir()
    with open("huge", "wb") as file:
        file.truncate(1 << 42)
    errors = []
    for path in ("fifo", "/dev/zero", "folder", "huge", "/dev/stdin"):
        for name in ("PROFILE", "REPORT", "VERIFY_ORACLE"):
            if name == "REPORT" and path == "huge":
                continue
            env = forced(world, BLASLIFT_VERIFY="all") | {f"BLASLIFT_{name}": path}
            try:
                got = done([program, "5"], env, timeout=20, stdin=subprocess.PIPE)
            except subprocess.TimeoutExpired:
                errors.append(f"{name}={path}: hangs")
                continue
            if got.returncode != 0 or (name == "PROFILE" and b"cannot be read" not in got.stderr):
                errors.append(f"{name}={path}: {got}")
        for words in (["replay", path], ["report", path], ["doctor", f"./{path}" if "/" not in path else path],
                      ["info", "--profile", path], ["tune", "--dry-run", "--backend", "host", "--output", path]):
            try:
                got = done([world.command, *words], environment(), timeout=20, stdin=subprocess.PIPE)
            except subprocess.TimeoutExpired:
                errors.append(f"{words}: hangs")
                continue
            if got.returncode < 0:
                errors.append(f"{words}: {got}")
    done([program, "300"], forced(world, BLASLIFT_TRACE="trace"))
    os.mkfifo("trace/9.0")
    os.link("huge", "trace/8.0")
    os.symlink("/dev/zero", "trace/7.0")
    got = done([world.command, "report", "trace"], environment(), timeout=20)
    if got.returncode != 0:
        errors.append(f"report of a folder with a fifo: {got}")
    got = done([world.command, "run", "--", "sh", "-c", 'mkfifo "$BLASLIFT_INTERNAL_COUNTERS/9.0"; exit 7'], environment(), timeout=20)
    if got.returncode != 7:
        errors.append(f"counters: {got}")
    return errors


# ---- files


def records_are_private(world) -> list[str]:
    """A record goes into a file of its own, whatever stands at its name; nobody else reads what we leave."""
    program = world.compile("call.c", "-lblas")
    oracle = world.compile("evil.c", "-shared", "-fPIC", to="oracle.so")
    errors = []
    for name, make in (("link", 'ln -s ../precious "$1"'), ("fifo", 'mkfifo "$1"'), ("folder", 'mkdir "$1"'), ("file", 'echo precious >"$1"')):
        Path("precious").write_text("precious\n")
        dump = Path(f"dump-{name}")
        dump.mkdir()
        env = forced(world, BLASLIFT_VERIFY="all", BLASLIFT_VERIFY_ORACLE=oracle, BLASLIFT_VERIFY_DUMP=dump.resolve())
        del env["LD_PRELOAD"]
        script = f'set -- "{dump}/dgemm-$$-0.call.partial"; {make}; exec env LD_PRELOAD={world.lib} ./call 5'
        os.umask(0o022)
        got = done(["sh", "-c", script], env, timeout=20)
        records = [x for x in dump.iterdir() if x.name.endswith(".call")]
        if got.returncode != 0 or Path("precious").read_text() != "precious\n" or not records:
            errors.append(f"{name}: {got}, {os.listdir(dump)}")
        for record in records:
            if stat.S_IMODE(record.stat().st_mode) != 0o600:
                errors.append(f"{record}: mode {record.stat().st_mode:o}")
    for what, env in (("trace", forced(world, BLASLIFT_TRACE="t")), ("report", forced(world, BLASLIFT_REPORT="r")),
                      ("counters", forced(world, BLASLIFT_INTERNAL_COUNTERS="c"))):
        Path("c").mkdir(exist_ok=True)
        os.umask(0)
        done([program, "300"], env)
        os.umask(0o022)
    for path in (*Path("t").iterdir(), *Path("c").iterdir(), Path("r")):
        if stat.S_IMODE(path.stat().st_mode) != 0o600:
            errors.append(f"{path}: mode {path.stat().st_mode:o}")
    if stat.S_IMODE(Path("t").stat().st_mode) != 0o700:
        errors.append(f"the trace's folder: mode {Path('t').stat().st_mode:o}")
    return errors


def traces_stay_ours(world) -> list[str]:
    """A trace's file that was replaced by another, by a link or by a fifo gets no events, and that one neither."""
    program = world.compile("call.c", "-lblas")
    errors = []
    for name in ("link", "file", "fifo", "gone"):
        Path("victim").write_text("precious\n")
        folder = Path(f"t-{name}")
        process = subprocess.Popen([program, "300", "15"], env=environment(LD_PRELOAD=world.lib, BLASLIFT_TRACE=folder.resolve()),
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        began = time.monotonic()
        while time.monotonic() < began + 10 and not (folder.is_dir() and os.listdir(folder)):
            time.sleep(0.01)
        time.sleep(0.1)
        [trace] = folder.iterdir()
        trace.unlink()
        {"link": lambda: trace.symlink_to("../victim"), "file": lambda: os.link("victim", trace),
         "fifo": lambda: os.mkfifo(trace), "gone": lambda: None}[name]()  # fmt: skip
        try:
            out, err = process.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            errors.append(f"{name}: hangs")
            continue
        if process.returncode != 0 or not out.startswith(b"secure 0"):
            errors.append(f"{name}: status {process.returncode}, {err!r}")
        if Path("victim").read_text() != "precious\n":
            errors.append(f"{name}: the other file was written to")
    return errors


# ---- the rest


def doctor_runs_nothing(world) -> list[str]:
    """A program that is asked about is not run, whatever it is called, nor is an auditor that it asks for."""
    Path("marker.c").write_text('#include <fcntl.h>\nint main(void) { return creat("ran", 0600) < 0; }\n')
    world_cc = [world.cc, "marker.c", "-Wl,--no-as-needed", "-lblas"]
    subprocess.run([*world_cc, "-o", "python3"], check=True)
    errors = []
    for name in ("python3", "python", "python3.11", "pypy3", "python-solver"):
        if name != "python3":
            shutil.copy("python3", name)
        script = Path("script")
        script.write_text(f"#!{Path(name).resolve()}\n")
        script.chmod(0o755)
        for target in (f"./{name}", "./script"):
            got = done([world.command, "doctor", target], environment())
            if Path("ran").exists():
                errors.append(f"doctor {target}: it was run")
                Path("ran").unlink()
            if b"--ask-python" not in got.stdout:
                errors.append(f"doctor {target}: {got.stdout!r}")
    got = done([world.command, "doctor", "--ask-python", "./python3"], environment())
    if not Path("ran").exists() or b"was run" not in got.stdout:
        errors.append(f"--ask-python: {got.stdout!r}")
    evil = world.compile("evil.c", "-shared", "-fPIC", to="evil.so")
    for tag in ("--audit", "--depaudit"):
        subprocess.run([*world_cc, f"-Wl,{tag}={evil}", "-o", "audited"], check=True)
        if b"EVIL" not in done(["/lib64/ld-linux-x86-64.so.2", "--list", "./audited"], environment()).stderr:
            continue  # this dynamic linker runs none
        # The loader's stderr is not shown: the auditor has another way to tell.
        Path("teller.c").write_text('#include <fcntl.h>\nunsigned la_version(unsigned v) { (void)!creat("ran", 0600); return v; }\n')
        subprocess.run([world.cc, "-shared", "-fPIC", "teller.c", "-o", evil], check=True)
        Path("ran").unlink(missing_ok=True)
        got = done([world.command, "doctor", "./audited"], environment())
        if Path("ran").exists() or got.returncode != 4:
            errors.append(f"{tag}: its code ran, or status {got.returncode}: {got.stdout!r}")
        world.compile("evil.c", "-shared", "-fPIC", to="evil.so")
    return errors


def tiny_tiles(world) -> list[str]:
    """However small the tiles are that a record or a variable asks for, a product takes no more steps than any other."""
    program = world.compile("call.c", "-lblas")
    errors = []
    for cutting in ("1:2:0", "2:4:0", "6:64:0", "1:16:0", "0:0:1", "3:8:0"):
        for n in ("160", "400"):
            report = Path("report")
            report.unlink(missing_ok=True)
            began = time.monotonic()
            got = done([program, n], forced(world, BLASLIFT_INTERNAL_CUTTING=cutting, BLASLIFT_REPORT=report.resolve()), timeout=60,
                       preexec_fn=with_memory(3 << 30))
            seconds = time.monotonic() - began
            account = json.loads(report.read_text())["routines"]["dgemm"] if report.exists() else {}
            if got.returncode != 0 or account.get("routed") != 2:
                errors.append(f"{cutting}, n {n}: {got}, {account}")
            print(f"{cutting} n={n}: {seconds:.1f} s, levels {account.get('levels')}", file=sys.stderr)
    # One that may be followed is.
    done([program, "160"], forced(world, BLASLIFT_INTERNAL_CUTTING="1:80:0", BLASLIFT_REPORT=Path("last").resolve()))
    if json.loads(Path("last").read_text())["routines"]["dgemm"]["levels"] != {"1": 2}:
        errors.append(f"1:80:0 is not followed: {Path('last').read_text()}")
    return errors
