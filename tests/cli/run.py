"""Tests of the command, one function each; the first argument after the options names the one to run."""

import argparse
import contextlib
import ctypes
import datetime
import json
import os
import pty
import re
import shutil
import signal
import stat
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness

HOST = ["--backend", "host", "--force", "all"]


class Context:
    def __init__(self, blaslift, program, fault, scratch):
        self.blaslift, self.program, self.fault, self.scratch = blaslift, program, fault, scratch

    def path(self, name):
        return os.path.join(self.scratch, name)

    def run(self, *arguments, **options):
        return subprocess.run([self.blaslift, *arguments], capture_output=True, text=True, timeout=50, **options)

    def leftovers(self):
        """Counter directories that a run left behind."""
        return [name for name in os.listdir(self.scratch) if name.startswith("blaslift-")]


def equal(actual, expected):
    assert actual == expected, f"{actual!r}, expected {expected!r}"


def run_summary(t):
    """Device, calls and routes on stderr; nothing on stdout; no files left."""
    done = t.run("run", *HOST, "--", t.program, "exit", "0")
    equal((done.returncode, done.stdout), (0, ""))
    assert re.search(r"^blaslift: host backend.*\(host\)$", done.stderr, re.M), done.stderr
    assert re.search(r"^blaslift: dgemm +1 call; 1 on the host backend: [\d.]+ s, 9.22 kB in, 4.61 kB out$", done.stderr, re.M), done.stderr
    verdict = r"^blaslift: (?:about (?:as fast as|[\d.]+ times as fast as)|slower than) on the CPU alone, by estimate: \S+ s instead of \S+ s$"
    assert re.match(verdict, done.stderr, re.M), done.stderr
    equal(t.leftovers(), [])
    stays = t.run("run", t.program, "exit", "0")  # without "--": the program ends the options
    assert stays.stderr.startswith("blaslift: nothing ran on the GPU: the calls were too small\n"), stays.stderr
    tree = t.run("run", *HOST, t.program, "tree").stderr
    assert tree.startswith("blaslift: 1 call ran on the host backend; the gain cannot be estimated, as 3 processes made calls\n"), tree
    assert "advice" not in done.stderr + stays.stderr + tree
    assert "1 on the CPU: too small 1" in stays.stderr, stays.stderr


def rates(t, **more):
    """A profile of a device that takes 10 ms to start, and 1 s for a product of order 300; with others of its rates."""
    with open(t.path("rates"), "w") as f:
        for name, value in ({"startup_seconds": 0.01, "dgemm_rate": 54e6, "latency_seconds": 1e-6, "in_rate": 1e12, "out_rate": 1e12} | more).items():
            f.write(f"{name} {value}\n")
    return ["--backend", "host", "--profile", f.name]


def run_advice(t):
    """Where a good part of the run was on the CPU, the last line says what the user might do about that."""
    slow = rates(t, dgemm_rate=1)  # so that nothing goes
    done = t.run("run", *slow, t.program, "large", "400")
    equal(done.returncode, 0)
    first, *_, last = done.stderr.splitlines()
    equal(first, "blaslift: nothing ran on the GPU: it would have gained nothing")
    assert re.match(r"blaslift: advice: dgemm took \S+ s on the CPU, since the GPU would have gained nothing: ", last), done.stderr
    with_json = t.run("run", "-q", "--json", t.path("advice.json"), *slow, t.program, "large", "3")
    equal(with_json.stderr, "")
    with open(t.path("advice.json")) as f:
        dgemm = json.load(f)["routines"]["dgemm"]
    equal(list(dgemm["stayed_seconds"]), ["transfers cost more than they save"])
    assert abs(dgemm["stayed_seconds"]["transfers cost more than they save"] - dgemm["cpu_seconds"]) < 1e-6, dgemm


def run_level(t):
    """What a call has to gain, and how much of the start-up, depends on the level; a bad one is refused at once."""

    def reason(level, options, **settings):
        done = t.run("run", "-q", "--json", t.path("level.json"), *(["--level", level] if level else []), *options, t.program,
                     "large", "1", env=os.environ | settings)
        equal((done.returncode, done.stderr), (0, ""))
        with open(t.path("level.json")) as f:
            dgemm = json.load(f)["routines"]["dgemm"]
        return "device" if dgemm["routed"] else "".join(dgemm["stayed"])

    transfers, modest, startup = "transfers cost more than they save", "gain too small for BLASLIFT_LEVEL", "device start-up not yet earned"
    a_fifth_longer = [*rates(t, cpu_dgemm_rate=54e6 / 1.2), "--decision", "fixed"]
    equal([reason(level, a_fifth_longer) for level in ("1", "2", "3", "")], [modest, modest, "device", "device"])
    equal(reason("", a_fifth_longer, BLASLIFT_LEVEL="1"), modest)
    equal(reason("3", a_fifth_longer, BLASLIFT_LEVEL="1"), "device")
    slower = [*rates(t, cpu_dgemm_rate=54e6 / 0.7), "--decision", "fixed"]
    equal([reason(level, slower) for level in ("3", "4", "5")], [transfers, transfers, "device"])
    slow_to_start = rates(t, startup_seconds=10, cpu_dgemm_rate=54e6 / 6)  # gains 5 of 10 s
    equal([reason(level, slow_to_start) for level in ("3", "4", "5")], [startup, "device", "device"])
    for bad in ("0", "6", "high", "3.0", ""):
        done = t.run("run", "--level", bad, t.program, "exit", "0")
        equal((done.returncode, done.stdout), (125, ""))
        assert f"'{bad}' is not one of: 1, 2, 3, 4, 5" in done.stderr, done.stderr
        warned = t.run("run", t.program, "exit", "0", env=os.environ | {"BLASLIFT_LEVEL": bad})
        assert f"blaslift: BLASLIFT_LEVEL={bad} is not one of (1, 2, 3, 4, 5): ignored\n" in warned.stderr, warned.stderr


def run_yield(t):
    """Calls that would gain stay while others keep the device busy, if they are to yield; forced ones do not."""
    options = rates(t, cpu_dgemm_rate=54e6 / 10)
    stand_in(t)

    def dgemm(busy, *more):
        done = t.run("run", "-q", "--json", t.path("yield.json"), *options, *more, t.program, "large", "1", env=os.environ | {"INJECTED_BUSY": busy})
        equal((done.returncode, done.stderr), (0, ""))
        with open(t.path("yield.json")) as f:
            counted = json.load(f)["routines"]["dgemm"]
        return counted["routed"], counted["stayed"]

    equal(dgemm("90", "--yield", "on"), (0, {"device busy for other processes": 1}))
    for busy, more in (("90", []), ("90", ["--yield", "off"]), ("10", ["--yield", "on"]), ("-1", ["--yield", "on"]), ("90", ["--yield", "on", "--force", "all"])):
        equal(dgemm(busy, *more), (1, {}))
    said = t.run("run", *options, "--yield", "on", t.program, "large", "1", env=os.environ | {"INJECTED_BUSY": "90"}).stderr
    assert said.startswith("blaslift: nothing ran on the host backend: other processes kept it busy, and BLASLIFT_YIELD is on\n"), said


def run_verbose(t):
    """One line before the program starts, on standard error alone; in a quiet run none."""
    program = ["sh", "-c", "echo started >&2"]

    def line(*arguments, **settings):
        done = t.run("run", "-v", *arguments, *program, env=os.environ | settings)
        equal((done.returncode, done.stdout), (0, ""))
        first, second, *_ = done.stderr.splitlines()
        equal(second, "started")
        return first.removeprefix("blaslift: ")

    copies = t.run("info", "--backend", "host").stdout.split("copies kept between calls: ")[1].splitlines()[0]
    copies = "copies of operands stay between calls" if copies.startswith("yes") else "operands are sent in every call: " + copies.removeprefix("no: ")
    equal(line("--backend", "host", XDG_CACHE_HOME=t.scratch),
          f"host backend, up to four fifths of its memory; level 3; nothing forced; built-in rates; {copies}; it starts when calls gain by it")
    equal(line("--backend", "host", "--level", "4", "--memory", "2G", "--force", "dgemm,sgemm", "--profile", "rates", "--decision", "fixed", "--start", "early"),
          "host backend, up to 2.15 GB of memory; level 4, fixed decisions; forced: sgemm,dgemm; rates from rates; "
          "operands are sent in every call: fixed decisions keep no copies; it starts with the program")
    assert "level 2; every call forced;" in line("--backend", "host", "--residency", "off", BLASLIFT_LEVEL="2", BLASLIFT_FORCE="all")
    equal(line(BLASLIFT="off"), "BLASLIFT=off: every call goes to the library underneath")
    if not os.path.exists("/dev/nvidiactl"):
        equal(line("--level", "5"), "no GPU, no NVIDIA device node in /dev: every call goes to the library underneath")
    equal(t.run("run", "-v", "-q", *HOST, *program).stderr, "started\n")


def run_quiet(t):
    done = t.run("run", "-q", *HOST, t.program, "exit", "0")
    equal((done.returncode, done.stdout, done.stderr), (0, "", ""))


def run_json(t):
    done = t.run("run", "-q", "--json", t.path("run.json"), *HOST, t.program, "exit", "0")
    equal(done.returncode, 0)
    with open(t.path("run.json")) as f:
        summary = json.load(f)
    equal((summary["processes"], summary["backend"]), (1, "host"))
    equal(summary["command"], os.path.basename(t.program))
    assert summary["seconds"] > 0, summary
    dgemm = summary["routines"]["dgemm"]
    equal((dgemm["calls"], dgemm["routed"], dgemm["stayed"]), (1, 1, {}))
    equal((dgemm["bytes_in"], dgemm["bytes_out"]), (2 * 24 * 24 * 8, 24 * 24 * 8))


def run_status(t):
    """The program's exit status is the command's, by exit and by _exit; what was counted is reported either way."""
    for how in ("exit", "_exit"):
        for status in (0, 1, 77, 255):
            done = t.run("run", t.program, how, str(status))
            equal(done.returncode, status)
            assert "dgemm   1 call" in done.stderr, done.stderr


def run_signal(t):
    """A program that dies by a signal takes the command with it, by the same one, after the summary."""
    for number in (signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM):
        done = t.run("run", t.program, "kill", str(int(number)))
        equal(done.returncode, -number)
        assert "dgemm   1 call" in done.stderr, done.stderr
    # Signals sent to the command reach the program, whose handler decides.
    for number, status in ((signal.SIGTERM, 40), (signal.SIGUSR1, 41)):
        ready = t.path(f"ready-{number}")
        started = subprocess.Popen([t.blaslift, "run", t.program, "wait", ready], stderr=subprocess.PIPE, text=True)
        deadline = time.monotonic() + 30
        while not os.path.exists(ready):
            assert time.monotonic() < deadline, "the program did not start"
            time.sleep(0.01)
        started.send_signal(number)
        _, errors = started.communicate(timeout=30)
        equal(started.returncode, status)
        assert "dgemm   1 call" in errors, errors


def run_terminal_signal(t):
    """Ctrl-C at a terminal goes to the whole group: the program ends by it once, and the summary still comes."""
    ready = t.path("ready")
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(t.blaslift, [t.blaslift, "run", t.program, "wait", ready])
    deadline = time.monotonic() + 30
    while not os.path.exists(ready):
        assert time.monotonic() < deadline, "the program did not start"
        time.sleep(0.01)
    os.write(terminal, b"\x03")
    output = b""
    while True:
        try:
            chunk = os.read(terminal, 4096)
        except OSError:  # the other end is closed
            break
        if not chunk:
            break
        output += chunk
    _, status = os.waitpid(pid, 0)
    equal((os.WIFSIGNALED(status), os.WTERMSIG(status)), (True, signal.SIGINT))
    assert output.count(b"dgemm   1 call") == 1, output


def run_tree(t):
    """Children that end by _exit and by SIGKILL are counted with their parent."""
    done = t.run("run", "--json", t.path("tree.json"), *HOST, t.program, "tree")
    equal(done.returncode, 0)
    with open(t.path("tree.json")) as f:
        summary = json.load(f)
    equal(summary["processes"], 3)
    dgemm = summary["routines"]["dgemm"]
    equal((dgemm["calls"], dgemm["routed"]), (3, 1))
    equal(dgemm["stayed"], {"in a forked child": 2})
    assert ", 3 processes" in done.stderr, done.stderr


def run_exec(t):
    """A process that becomes another program by exec keeps what it counted before."""
    done = t.run("run", "--json", t.path("exec.json"), *HOST, t.program, "exec", t.program)
    equal(done.returncode, 0)
    with open(t.path("exec.json")) as f:
        equal(json.load(f)["routines"]["dgemm"]["routed"], 2)


def run_options(t):
    """Values are checked before the program starts; the command's own failures are not the program's."""
    for arguments in (["--backend", "vulkan"], ["--memory", "-3"], ["--force", "dspmv"], ["--nonsense"]):
        done = t.run("run", *arguments, "--", t.program, "exit", "0")
        assert done.returncode != 0 and "1 call" not in done.stderr, done
    assert "a program to run is required" in t.run("run").stderr
    with open(t.path("options"), "w") as f:
        f.write("--backend")  # a program's own argument of that name stays its own
    done = t.run("run", "-q", "sh", "-c", 'echo "$@"', "sh", "--backend", "-q")
    equal(done.stdout, "--backend -q\n")


def run_start(t):
    """An early start is the program's own, not that of the processes it starts; malloc's other tunables stay."""
    show = 'echo "$$ $BLASLIFT_START $GLIBC_TUNABLES"; sh -c "echo \\$BLASLIFT_START"'
    tunables = {"GLIBC_TUNABLES": "glibc.malloc.arena_max=3"}
    done = t.run("run", "-q", *HOST, "--start", "early", "sh", "-c", show, env=os.environ | tunables)
    process, *rest = done.stdout.split()
    equal(rest, [f"early:{process}", "glibc.malloc.arena_max=3:glibc.malloc.hugetlb=1", f"early:{process}"])
    done = t.run("run", "-q", *HOST, "--no-huge-pages", "--start", "early:dgesv", "sh", "-c", show, env=os.environ | tunables)
    process, *rest = done.stdout.split()
    equal(rest, [f"early:{process}:dgesv", "glibc.malloc.arena_max=3", f"early:{process}:dgesv"])
    own = os.environ | {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=0"}
    equal(t.run("run", "-q", *HOST, "sh", "-c", "echo $GLIBC_TUNABLES", env=own).stdout, "glibc.malloc.hugetlb=0\n")
    equal(t.run("run", "-q", *HOST, "sh", "-c", 'echo "<$BLASLIFT_START>"').stdout, "<>\n")
    equal(t.run("run", "-q", *HOST, "--start", "early", t.program, "exit", "0").returncode, 0)


def run_history(t):
    """A command whose last run used the GPU finds it started: not one that did not, that says when, or that forks."""
    t.blaslift = shutil.copy(t.blaslift, os.makedirs(t.path("bin")) or t.path("bin/blaslift"))
    built = os.path.join(os.path.dirname(t.fault), "lib")
    os.makedirs(t.path("lib"))
    shutil.copy(os.path.join(built, "libblaslift.so"), t.path("lib/libblaslift.so"))
    shutil.copy(os.path.join(built, "libblaslift_host.so"), t.path("lib/libblaslift_cuda.so"))  # stands in for a GPU
    runs = t.path("state/blaslift/runs")
    surroundings = os.environ | {"XDG_STATE_HOME": t.path("state")}
    said = "the GPU was started with the program, as the last run of this command used it"
    gpu, show = ["--backend", "cuda", "--force", "all"], [t.program, "exit", "0"]

    def early(*arguments, **more):
        done = t.run("run", *arguments, env=surroundings, **more)
        equal(done.returncode, 0)
        return said in done.stderr

    def kept():
        return sorted(os.listdir(runs)) if os.path.isdir(runs) else []

    assert not early(*gpu, *show) and len(kept()) == 1
    with open(os.path.join(runs, kept()[0])) as file:
        equal(file.read(), "dgemm")  # what the next run gets ready for
    equal(stat.S_IMODE(os.stat(runs).st_mode), 0o700)
    assert early(*gpu, *show) and early(*gpu, *show) and len(kept()) == 1
    # Another command, another directory, or an own word: no.
    assert not early(*gpu, *show, "more") and not early(*gpu, *show, cwd=t.scratch) and not early("--start", "needed", *gpu, *show)
    equal(len(kept()), 3)
    # What is not ours is not believed.
    os.chmod(runs, 0o777)
    assert not early(*gpu, *show)
    os.chmod(runs, 0o700)
    assert early(*gpu, *show)
    # Nobody is told of what was not so.
    os.rename(t.path("lib/libblaslift_cuda.so"), t.path("lib/gone"))
    assert not early(*gpu, *show) and len(kept()) == 2
    os.rename(t.path("lib/gone"), t.path("lib/libblaslift_cuda.so"))
    assert not early(*gpu, *show) and early(*gpu, *show)
    # Nothing on the GPU, or children, which might use it, too: the next run starts as if there had been none.
    assert not early(*show) and len(kept()) == 2
    assert not early(*gpu, *show)
    for _ in range(2):
        done = t.run("run", *gpu, t.program, "last", env=surroundings)
        assert said not in done.stderr and re.search(r"dgemm +2 calls; 2 on ", done.stderr), done
        assert not early(*gpu, t.program, "forks")
    equal(len(kept()), 3)
    # Who brings a CUDA of its own chooses its GPU by itself.
    surroundings["LD_PRELOAD"] = shutil.copy("/usr/lib/x86_64-linux-gnu/libm.so.6", t.path("libcudart.so.13"))
    assert not early(*gpu, *show, "cuda") and not early(*gpu, *show, "cuda")
    del surroundings["LD_PRELOAD"]
    assert not early(*gpu, *show, "cuda") and early(*gpu, *show, "cuda")
    # There is an end to what is kept: the oldest go.
    for i in range(1100):
        with open(os.path.join(runs, f"{i:016x}"), "w") as f:
            f.write("{}")
        os.utime(f.name, (i, i))
    assert not early(*gpu, *show, "new") and early(*gpu, *show, "new")
    equal(len(kept()), 1000)
    # Nowhere to keep anything.
    surroundings["XDG_STATE_HOME"] = "/proc/nowhere"
    assert not early(*gpu, *show) and not early(*gpu, *show)


def run_not_executable(t):
    """As a shell has it, with one line: that there was no call goes without saying."""
    for command in ("run",), ("measure",), ("verify",), ("report", "--"):
        for program, status, why in (t.path("nothing"), 127, "No such file or directory"), (t.scratch, 126, "Permission denied"):
            done = t.run(*command, program)
            equal((done.returncode, done.stderr), (status, f"blaslift: {program}: {why}\n"))


def usage(t):
    """What is not understood is answered with the command's name, what is wrong, and what may have been meant."""
    commands = "Commands: run, measure, report, doctor, env, verify, replay, info, tune, completion"
    for words, line in {
            ("rnu", "ls"): f"blaslift: there is no command 'rnu'; did you mean 'run'? {commands}",
            ("launch",): f"blaslift: there is no command 'launch'. {commands}",
            ("--memory", "8G", "run", "ls"): "blaslift: --memory is no option of blaslift itself: options come after the command",
            ("--nope",): "blaslift: --nope is no option of blaslift itself: options come after the command",
            (): "blaslift: a command is required: run, measure, report, doctor, env, verify, replay, info, tune, completion",
            ("run",): "blaslift run: a program to run is required",
            ("run", "--nope", "ls"): "blaslift run: The following argument was not expected: --nope",
            ("run", "--memory", "8x", "ls"): "blaslift run: --memory: '8x' is not one of: bytes, or with K, M, G, T: 8G, 8GB, 8GiB",
            ("tune", "\x1b[1m"): "blaslift tune: '\\x1b[1m' was not expected"}.items():
        done = t.run(*words)
        command = " ".join(line.split(":")[0].split())
        first, second = done.stderr.splitlines()
        assert first.startswith(line), done
        equal((done.returncode, done.stdout, second), (125, "", f"`{command} --help` says more."))


def run_report(t):
    """Every process has its line, with where and for whom it ran; one that was killed gets it from run."""
    report = t.path("report.jsonl")
    job = {"SLURM_JOB_ID": "4711", "OMPI_COMM_WORLD_RANK": "3", "SLURM_PROCID": "9"}
    lines = lambda: [json.loads(line) for line in open(report)]
    for how, status in ("exit", 0), ("_exit", 0), ("kill", -signal.SIGKILL):
        before = time.time()
        done = t.run("run", *HOST, "--report", report, t.program, how, "9" if how == "kill" else "0", env=os.environ | job)
        equal(done.returncode, status)
        line = lines()[-1]
        equal((line["job"], line["rank"], line["host"], line["uid"]), ("4711", "3", os.uname().nodename[:63], os.getuid()))
        equal(line["routines"]["dgemm"]["routed"], 1)
        equal(line.get("cut_short"), None if how == "exit" else True)
        started = datetime.datetime.fromisoformat(line["first_call"].replace("Z", "+00:00")).timestamp()
        assert before - 1 <= started <= time.time(), (before, started)
        assert 0 < line["seconds"] <= time.time() - before, line
    equal(len(lines()), 3)
    # exec ends a program without its exit, and begins another.
    equal(t.run("run", *HOST, "--report", report, t.program, "exec", t.program).returncode, 0)
    equal([line.get("cut_short") for line in lines()[3:]], [None, True])
    done = t.run("run", "-q", *HOST, t.program, "exit", "0", env={k: v for k, v in os.environ.items() if "JOB" not in k} | {"BLASLIFT_REPORT": report})
    equal((len(lines()), "job" in lines()[-1]), (6, False))
    # A child that was killed, one that wants no line, and one that lives on, which writes its own.
    script = """$0 kill 9; BLASLIFT_REPORT=off $0 exit 0
        $0 wait "$1" >/dev/null 2>&1 & while [ ! -e "$1" ]; do sleep 0.05; done; echo $!"""
    done = t.run("run", "-q", *HOST, "--report", report, "sh", "-c", script, t.program, t.path("ready"))
    equal([line["cut_short"] for line in lines()[6:]], [True])
    os.kill(int(done.stdout), signal.SIGTERM)


def run_keeps_preload(t):
    """What the user preloads stays preloaded, behind us; other variables are untouched."""
    other = "/usr/lib/x86_64-linux-gnu/libm.so.6"
    done = t.run("run", "-q", "sh", "-c", "echo $LD_PRELOAD:$FOO", env=os.environ | {"LD_PRELOAD": other, "FOO": "bar"})
    assert re.fullmatch(r"/\S*/libblaslift\.so:" + re.escape(other) + ":bar\n", done.stdout), done.stdout


def run_without_userfaultfd(t):
    """In a container whose profile refuses userfaultfd, as default ones do, everything else works, and it is said."""

    def refuse():
        # The number of the call, compared with userfaultfd's: EPERM, or go on.
        program = b"".join(struct.pack("HBBI", *line) for line in [(0x20, 0, 0, 0), (0x15, 0, 1, 323), (6, 0, 0, 0x00050001), (6, 0, 0, 0x7FFF0000)])
        lines = ctypes.create_string_buffer(program)
        filter_ = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", 4, ctypes.addressof(lines)))
        libc = ctypes.CDLL(None)
        no_new_privileges, seccomp, by_filter = 38, 22, 2
        if libc.prctl(no_new_privileges, 1, 0, 0, 0) or libc.prctl(seccomp, by_filter, filter_, 0, 0):
            os._exit(99)

    info = t.run("info", "--backend", "host", preexec_fn=refuse)
    assert "copies kept between calls: no: userfaultfd is not permitted here: Operation not permitted\n" in info.stdout, info
    done = t.run("run", *HOST, t.program, "exit", "0", preexec_fn=refuse)
    equal(done.returncode, 0)
    assert "blaslift: operands are sent again in every call: userfaultfd is not permitted here" in done.stderr, done
    assert "1 call; 1 on the host backend" in done.stderr, done


def run_beside_pinned_memory(t):
    """A network card writes where the kernel does not see it: while one is open, no copies are kept, and it is said."""
    os.makedirs(t.path("dev/infiniband"))
    device = os.path.realpath(t.path("dev/infiniband/uverbs0"))
    if "copies kept between calls: yes" not in t.run("info", "--backend", "host").stdout:
        print("SKIPPED: no copies can be kept here")
        sys.exit(77)
    show = ["--backend", "host", "--force", "all", "--residency", "always", "--json", t.path("summary.json"), t.program, "large", "3"]
    said = f"no copies were kept for a while, since what writes to operands could not be seen: the process has opened {device}\n"
    with open(device, "w") as f:
        for descriptors in (f.fileno(),), ():
            done = t.run("run", *show, pass_fds=descriptors)
            equal((done.returncode, said in done.stderr), (0, bool(descriptors)))
            with open(t.path("summary.json")) as summary:
                summary = json.load(summary)
            equal((summary["blind"] != "", summary["routines"]["dgemm"]["routed"]), (bool(descriptors), 3))


def env(t):
    """In the shells that are here, what follows the evaluated commands is intercepted, once and with the variables."""
    tried = []
    awkward = t.path("a b'c\\\\d$e`f!g\"h")
    for shell, evaluate in {"sh": 'eval "$({})"', "bash": 'eval "$({})"', "dash": 'eval "$({})"', "ksh": 'eval "$({})"',
                            "zsh": 'eval "$({})"', "fish": "{} | source", "csh": "eval `{}`", "tcsh": "eval `{}`"}.items():
        if not shutil.which(shell):
            continue
        tried.append(shell)
        report = awkward + shell
        os.environ["WANTED"] = report
        quoted = '"$WANTED"' if "csh" not in shell else "$WANTED:q"
        ours = f"{t.blaslift} env --shell {shell}"
        script = [evaluate.format(f"{ours} --backend host --force all --report {quoted}"), evaluate.format(ours),
                  f"{t.program} exit 0", "printenv LD_PRELOAD", evaluate.format(f"{ours} --undo"), "printenv | grep -c -e BLASLIFT -e LD_PRELOAD"]
        done = subprocess.run([shell, "-c", "\n".join(script)], capture_output=True, text=True, timeout=50)
        preloaded, left = done.stdout.splitlines()
        assert re.fullmatch(r"/[^:]*/libblaslift\.so", preloaded), done
        equal((left, done.stderr), ("0", ""))
        with open(report) as f:
            equal(json.loads(f.read())["routines"]["dgemm"]["routed"], 1)
    assert {"sh", "bash"} <= set(tried), tried


def env_text(t):
    """The commands for each family of shells, to the letter; the user's own preloads stay."""
    library = t.run("env", "--shell", "sh", env={k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}).stdout
    library = re.fullmatch(r"export LD_PRELOAD='(/\S*/libblaslift\.so)';\n", library)[1]
    assert os.path.exists(library), library
    libm = "/usr/lib/x86_64-linux-gnu/libm.so.6"

    def lines(*arguments, **variables):
        done = t.run("env", *arguments, env=os.environ | variables)
        equal((done.returncode, done.stderr), (0, ""))
        return done.stdout.splitlines()

    preload = f"LD_PRELOAD='{library}:{libm}';"
    equal(lines("--shell", "zsh", LD_PRELOAD=libm), [f"export {preload}"])
    equal(lines("--shell", "zsh", LD_PRELOAD=f"{libm}:{library}"), [f"export {preload}"])
    equal(lines("--shell", "zsh", LD_PRELOAD=f"{libm} {library}"), [f"export {preload}"])
    equal(lines("--memory", "2G", "--shell", "fish", LD_PRELOAD=libm), ["set -gx BLASLIFT_MEMORY '2G';", f"set -gx LD_PRELOAD '{library}:{libm}';"])
    equal(lines("--memory", "2G", "--shell", "tcsh", LD_PRELOAD=libm), ["setenv BLASLIFT_MEMORY '2G';", f"setenv LD_PRELOAD '{library}:{libm}';"])
    odd = "it's \\! $HOME\""
    equal(lines("--report", odd, "--shell", "sh", LD_PRELOAD="")[0], "export BLASLIFT_REPORT='it'\\''s \\! $HOME\"';")
    equal(lines("--report", odd, "--shell", "fish", LD_PRELOAD="")[0], "set -gx BLASLIFT_REPORT 'it\\'s \\\\! $HOME\"';")
    equal(lines("--report", odd, "--shell", "csh", LD_PRELOAD="")[0], "setenv BLASLIFT_REPORT 'it'\\''s \\\\! $HOME\"';")
    equal(lines("--undo", "--shell", "csh", LD_PRELOAD=f"{library}:{libm}", BLASLIFT_FORCE="all"), ["unsetenv BLASLIFT_FORCE;", f"setenv LD_PRELOAD '{libm}';"])
    # Without --shell it is the user's login shell.
    for own, command in {"/usr/bin/fish": "set -gx", "/bin/tcsh": "setenv", "/bin/zsh": "export", "": "export"}.items():
        assert lines(SHELL=own)[-1].startswith(command + " LD_PRELOAD"), own
    for wrong in (["--shell", "powershell"], ["--undo", "--memory", "2G"], ["--memory", "much"], ["program"]):
        done = t.run("env", *wrong)
        assert done.returncode == 125 and done.stderr and not done.stdout, done


def measure(t):
    done = t.run("measure", t.program, "tree")
    equal((done.returncode, done.stdout), (0, ""))
    assert re.search(r"^blaslift: measured [\d.]+ s over /\S+ \(32-bit integers\)$", done.stderr, re.M), done.stderr
    row = re.search(r"^  dgemm +3 +[\d.]+ +[\d.]+ +[\d.]+", done.stderr, re.M)
    assert row, done.stderr


def measure_others(t):
    """Routines that are not intercepted are timed too; a call left by a jump does not upset the ones after it."""
    done = t.run("measure", t.program, "others")
    equal((done.returncode, done.stdout), (0, ""))
    assert re.search(r"^  not intercepted:\n  dspmv +1 +[\d.]+", done.stderr, re.M), done.stderr
    assert re.search(r"^  dgemm +1 ", done.stderr, re.M), done.stderr


def info(t):
    done = t.run("info", "--backend", "host")
    equal(done.returncode, 0)
    for line in (r"^device: host backend", r"libblas\.so\.3: /.*, 32-bit integers, found in ", r"^  large products, TFLOP/s: s \S+, d ",
                 r"^  transfers, GB/s: 8 to the device, 8 back; starting the device: "):
        assert re.search(line, done.stdout, re.M), (line, done.stdout)
    assert len(done.stdout.splitlines()) < 25, done.stdout
    symbols = t.run("info", "--symbols")
    equal((symbols.returncode, symbols.stderr), (0, ""))
    assert re.search(r"^  zgemm_ .*scipy_cblas_zgemm64_", symbols.stdout, re.M), symbols.stdout
    assert f"\nintercepted: {len(symbols.stdout.split())} symbols of {len(symbols.stdout.splitlines())} routines: " in done.stdout, done.stdout
    both = t.run("info", "--symbols", "--profile-only")
    assert both.returncode == 125 and "not both" in both.stderr and not both.stdout, both


def profile_file(t):
    """A profile that `info` printed is read back; one that is not understood is named and its good lines kept."""
    printed = t.run("info", "--backend", "host", "--profile-only").stdout
    assert "in_rate 8e+09\n" in printed, printed
    with open(t.path("profile"), "w") as f:
        f.write(printed.replace("in_rate 8e+09", "in_rate 1.5e+10") + "nonsense\n")
    done = t.run("info", "--backend", "host", "--profile-only", "--profile", t.path("profile"))
    assert "in_rate 1.5e+10\n" in done.stdout, done.stdout
    assert "not understood and ignored: nonsense" in done.stderr, done.stderr


def profile_unused(t):
    """A file of which nothing is used is named, with the reason, and rates are said to be the built-in ones."""
    cache(t)
    for text, warning, why in ((None, "blaslift: BLASLIFT_PROFILE=@ cannot be read: ignored\n", "it cannot be read"),
                               ("profile 999\nin_rate 1e9\n", "blaslift: @: not understood and ignored: profile 999 (another version's "
                                "form: nothing in the file is used)\n", "nothing in it is understood"),
                               ("nonsense\n", "blaslift: @: not understood and ignored: nonsense\n", "nothing in it is understood"),
                               ("# nothing\n", "", "there is nothing in it")):
        path = t.path("rates")
        if text is None:
            path = "/nowhere/rates"
        else:
            with open(path, "w") as f:
                f.write(text)
        expected = warning.replace("@", path)
        for arguments, environment in (["--profile", path], {}), ([], {"BLASLIFT_PROFILE": path}):
            done = t.run("info", *arguments, "--backend", "host", env=os.environ | environment)
            equal((done.returncode, done.stderr), (0, expected))
            assert f"\nprofile (built in for host; {path} is not used: {why})\n" in done.stdout, done.stdout
            equal(t.run("info", *arguments, "--backend", "host", "--profile-only", env=os.environ | environment).stderr, expected)
        equal(t.run("run", "-q", *HOST, "--profile", path, t.program, "exit", "0").stderr, expected)
        measured = t.run("measure", "--profile", path, t.program, "exit", "0").stderr
        equal([line for line in measured.splitlines(True) if path in line], [expected] * bool(expected))
    with open(path, "w") as f:
        f.write("in_rate 1e9\nnonsense\n")
    assert f"\nprofile (from {path})\n" in t.run("info", "--backend", "host", "--profile", path).stdout


NOISE = ["--noise", "1000"]  # the machine may be busy with other things
QUICK = ["--backend", "host", "--seconds", "0.001", *NOISE]


def cache(t, library=""):
    """A folder for profiles, and the host backend's in it."""
    os.environ["XDG_CACHE_HOME"] = t.path("cache")
    return os.path.join(t.path("cache"), "blaslift"), t.path(f"cache/blaslift/host-backend--the-plans-on-the-CPU.{library}profile")


def lines_of(path):
    with open(path) as f:
        return [line for line in f.read().splitlines() if not line.startswith("#")]


def tune(t):
    """Writes a profile of which every line is understood, where the library looks for it."""
    folder, profile = cache(t)
    done = t.run("tune", *QUICK)
    equal((done.returncode, os.listdir(folder)), (0, [os.path.basename(profile)]))
    assert re.search(r"^dgemm NN 128: [\d.]+ [GT]FLOP/s$", done.stderr, re.M), done.stderr
    for p in "sdcz":
        assert re.search(rf"^  {p}gemm +[\d.]+ [GT]FLOP/s +[\d.]+ [GT]FLOP/s +(from \d+ on|none: never faster)$", done.stdout, re.M), done.stdout
    assert f"written to {profile}, where the library looks for it" in done.stdout, done.stdout
    names = [line.split()[0] for line in lines_of(profile)]
    for name in ["in_rate", "out_rate", "latency_seconds", "step_seconds", "pass_rate"] + [c + p + "gemm_rate" for p in "sdcz" for c in ("", "cpu_")]:
        equal(names.count(name), 1)
    for p in "sdcz":
        sizes = [line.split()[1:-1] for line in lines_of(profile) if line.startswith(p + "gemm_leaf_rate ")]
        equal(sizes, [[n] for n in "32 48 64 96 128 192 256".split()] + [[ops, n] for ops in ("NT", "TN", "TT") for n in ("64", "256")])

    assert f"profile (from {profile})" in t.run("info", "--backend", "host").stdout
    shown = t.run("info", "--backend", "host", "--profile-only")
    assert not shown.stderr, shown
    equal(lines_of(profile)[0], "profile 1")
    for line in lines_of(profile)[1:]:
        assert f"\n{line}\n" in f"\n{shown.stdout}", (line, shown.stdout)
    # A folder gets a file of the same name.
    for output in (t.path("all users") + "/", t.path("all users")):
        elsewhere = t.run("tune", *QUICK, "--precisions", "s", "--sizes", "32", "--output", output)
        equal((elsewhere.returncode, os.listdir(t.path("all users"))), (0, [os.path.basename(profile)]))
        assert f"written to {t.path('all users')}/{os.path.basename(profile)}, which BLASLIFT_PROFILE has to name" in elsewhere.stdout, elsewhere
    # The library reads it, too: it says what it does not understand of it.
    run = t.run("run", "-q", *HOST, t.program, "exit", "0")
    equal((run.returncode, run.stderr), (0, ""))
    with open(profile, "a") as f:
        f.write("nonsense\n")
    run = t.run("run", "-q", *HOST, t.program, "exit", "0")
    equal(run.stderr, f"blaslift: {profile}: not understood and ignored: nonsense\n")
    again = t.run("tune", *QUICK, "--precisions", "s", "--sizes", "32", "-q")
    equal((again.stdout, again.stderr), ("", f"blaslift: {profile}: not understood and left out: nonsense\n"))
    equal(t.run("info", "--backend", "host").stderr, "")
    with open(profile, "w") as f:
        f.write("profile 2\nin_rate fast\n")
    run = t.run("run", "-q", *HOST, t.program, "exit", "0")
    equal(run.stderr, f"blaslift: {profile}: not understood and ignored: profile 2 (another version's form: nothing in the "
                      "file is used)\n")
    refused = t.run("tune", *QUICK, "--precisions", "s", "--sizes", "32", "-q")
    assert refused.returncode == 125 and "another version's form (profile 2)" in refused.stderr, refused
    equal(lines_of(profile), ["profile 2", "in_rate fast"])


def on_terminal(*command):
    """Exit status, and what a command writes to a terminal that is its standard output and error."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(command[0], command)
    output = b""
    with contextlib.suppress(OSError):  # the other end is closed
        while chunk := os.read(terminal, 65536):
            output += chunk
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status), output.decode()


def tune_progress(t):
    """A terminal sees a bar with what is measured, how far it is and the time left, which goes at the end; -q, nothing."""
    cache(t)
    few = ["tune", *QUICK, "--precisions", "s", "--sizes", "32,64"]
    status, output = on_terminal(t.blaslift, *few)
    equal(status, 0)
    shown = re.findall(r"\r\033\[K\[(#*)(\.*)\] (\d+)/(\d+) ([^\r,]+)(?:, about (\d+) s left)?(?=\r)", output)
    tasks = int(shown[0][3])
    assert len(shown) >= tasks > 5 and any(what == "sgemm NN 32" for *_, what, _ in shown), output
    for filled, rest, done, of, _, left in shown:
        equal((len(filled), len(filled + rest), int(of)), (30 * int(done) // tasks, 30, tasks))
        assert left, output
    equal([int(done) for _, _, done, *_ in shown], sorted(int(done) for _, _, done, *_ in shown))
    assert "GFLOP/s\r\n" not in output.split("\r\033[K")[1] and re.search(r"\r\033\[K[^\[\r]", output), output
    equal(on_terminal(t.blaslift, *few, "-q"), (0, ""))


def tune_again(t):
    """What is not measured again stays, to the letter; sizes are added to those that there are, up to as many as a profile holds."""
    folder, profile = cache(t)
    os.makedirs(folder)
    before = ["in_rate 1", "cpu_sgemm_rate 1.50e9", "sgemm_leaf_rate 100 1.0e9", "sgemm_leaf_rate 200 2e9",
              "dgemm_leaf_rate 40 1.0", "dgemm_leaf_rate 64 1.0"]
    with open(profile, "w") as f:
        f.write("# mine\n" + "\n".join(before))
    # What runs left that were killed while they wrote goes; what is being written, and what only looks like it, stays.
    left = [profile + end for end in (".part-aB3xYz", ".times.part-000000", ".part-Zz9zz9", ".part-aB3xY-", ".backup")]
    for i, path in enumerate(left):
        with open(path, "w") as f:
            f.write("in_rate")
        if i != 2:
            os.utime(path, (time.time() - 100,) * 2)
    for _ in range(2):
        done = t.run("tune", *QUICK, "--precisions", "d", "--sizes", "64,32", "-q")
        equal((done.returncode, done.stdout, done.stderr), (0, "", ""))
        after = lines_of(profile)
        for line in ("cpu_sgemm_rate 1.50e9", "sgemm_leaf_rate 100 1.0e9", "sgemm_leaf_rate 200 2e9", "dgemm_leaf_rate 40 1.0"):
            equal(after.count(line), 1)
        for line in ("in_rate 1", "dgemm_leaf_rate 64 1.0"):
            assert line not in after, after
        equal([line.split()[1] for line in after if line.startswith("dgemm_leaf")], ["32", "40", "64"])
        # The rate of large products is not that of the small ones that were asked for.
        equal(len([line for line in after if line.startswith("dgemm_rate ")]), 1)
        with open(profile) as f:
            text = f.read()
        equal((text.count("# mine\n"), text.count("# blaslift tune: "), text.count("\nprofile 1\n")), (1, 1, 1))
    equal([os.path.exists(path) for path in left], [False, False, True, True, True])
    equal(t.run("info", "--backend", "host").stderr, "")
    many = ",".join(map(str, range(1, 24)))
    done = t.run("tune", *QUICK, "--precisions", "d", "--sizes", many)
    equal(done.returncode, 125)
    assert "more than 24" in done.stderr, done.stderr
    with open(profile) as f:
        equal(f.read(), text)


def tune_no_room(t):
    """What does not fit into the device's share is left out, and said."""
    _, profile = cache(t)
    done = t.run("tune", *QUICK, "--precisions", "sz", "--memory", "1M")
    equal(done.returncode, 0)
    assert "  skipped: zgemm NN 256: takes more device memory" in done.stdout, done
    names = [" ".join(line.split()[:2]) for line in lines_of(profile) if "leaf" in line]
    assert "sgemm_leaf_rate 256" in names and "zgemm_leaf_rate 128" in names and "zgemm_leaf_rate 192" not in names, names
    assert not any(line.startswith("in_rate") for line in lines_of(profile))


def tune_fails(t):
    """Without a device, or with nowhere to write, it says so before it measures."""
    folder, profile = cache(t)
    for arguments in (["--backend", "vulkan"], ["--nonsense"], ["--precisions", "sx"], ["--precisions", ""], ["--sizes", "0"],
                      ["--sizes", ",".join(map(str, range(1, 26)))], ["--leaves", "-1"], ["--transposes", "NX"], ["--transposes", "N"],
                      ["--seconds", "-1"], ["--noise", "-0.1"], ["--noise", "much"], ["--force", "all"], ["all", "--sizes", "32"],
                      ["--only", "trsm"], ["--only", ""], ["--only", "gemm,qr", "--sizes", "32"], ["--only", "symv", "--leaves", "24"],
                      ["--only", "symv,qr", "--noise", "1"], ["--triangles", "L"], ["--only", "qr", "symv"], ["trsm"], ["symv", "qr"]):
        done = t.run("tune", *arguments)
        assert done.returncode == 125 and "--help" in done.stderr and not done.stdout, done
    no_gpu = t.run("tune", "--backend", "cuda", env=os.environ | {"CUDA_VISIBLE_DEVICES": "-1"})
    equal((no_gpu.returncode, no_gpu.stdout), (125, ""))
    assert no_gpu.stderr.startswith("blaslift: no device: "), no_gpu.stderr
    assert not os.path.exists(t.path("cache"))

    with open(t.path("file"), "w") as f:
        f.write("kept")
    os.makedirs(t.path(f"taken/{os.path.basename(profile)}"))
    for output in (t.path("file/profile"), t.path("file/"), "/proc/nowhere/profile", "/dev/null", t.path("taken")):
        done = t.run("tune", *QUICK, "--output", output)
        equal((done.returncode, done.stdout), (125, ""))
        equal((done.stderr.count("\n"), output in done.stderr), (1, True))
    os.environ["XDG_CACHE_HOME"] = t.path("file")
    equal(t.run("tune", *QUICK).returncode, 125)
    os.makedirs(folder)
    os.chmod(folder, 0o500)
    os.environ["XDG_CACHE_HOME"] = t.path("cache")
    if os.geteuid() != 0:  # who may write everywhere
        assert "Permission denied" in t.run("tune", *QUICK).stderr
    os.chmod(folder, 0o700)
    del os.environ["XDG_CACHE_HOME"]
    nowhere = t.run("tune", *QUICK, env={k: v for k, v in os.environ.items() if k != "HOME"})
    assert nowhere.returncode == 125 and "--output" in nowhere.stderr, nowhere
    with open(t.path("file")) as f:
        equal(f.read(), "kept")
    equal(os.listdir(folder), [])


def tune_dry_run(t):
    _, profile = cache(t)
    done = t.run("tune", *QUICK, "--dry-run", "--precisions", "c", "--sizes", "16,512", "--memory", "2M")
    equal((done.returncode, done.stderr), (0, ""))
    for line in ("  cgemm NN 16", "  cgemm NN 512: does not fit", "  transfers in: does not fit", f"would be written to {profile}"):
        assert line + "\n" in done.stdout, (line, done.stdout)
    assert re.search(r"about 0.001 s each, \d+ s in all:$", done.stdout.splitlines()[0]), done.stdout
    assert not os.path.exists(t.path("cache"))
    listed = [set(t.run("tune", "--backend", "host", "--dry-run", *more).stdout.splitlines()[1:-1]) for more in ([], ["--quick"])]
    assert "  dgemm on the CPU" in listed[1] and listed[1] < listed[0], listed


def tune_interrupted(t):
    """Ctrl-C at a terminal, where a bar shows what is under way and how long it takes: the profile stays as it was; what has been
    measured is kept, and the next run goes on from there."""
    folder, profile = cache(t)
    times = profile + ".times"
    os.makedirs(folder)
    with open(profile, "w") as f:
        f.write("in_rate 1\n")
    arguments = ["tune", "--backend", "host", "--precisions", "d", "--sizes", "32,64", *NOISE, "--seconds"]
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(t.blaslift, [t.blaslift, *arguments, "1"])
    shown = b""
    while not re.search(rb"\] 3/\d+ a step, about", shown):
        shown += os.read(terminal, 4096)
    os.write(terminal, b"\x03")
    _, status = os.waitpid(pid, 0)
    equal((os.WIFSIGNALED(status), os.WTERMSIG(status)), (True, signal.SIGINT))
    with contextlib.suppress(OSError):  # at the terminal's end
        while more := os.read(terminal, 4096):
            shown += more
    assert re.search(rb"\] 0/\d+ transfers in, about [1-9]\d* s left", shown), shown
    left = {os.path.join(folder, name) for name in os.listdir(folder)} - {profile, times}
    assert len(left) <= 1 and all(re.search(r"\.part-\w{6}$", name) for name in left), left
    for name in left:  # what was being written just then: the next run removes it, once nobody can be at it any more
        os.utime(name, (1, 1))
    equal((os.path.exists(times), lines_of(profile)), (True, ["in_rate 1"]))
    with open(times) as f:
        kept = f.read()
    assert kept.startswith("# blaslift tune, 1, 1 s each, "), kept
    # What had ended, which is more than three where we were kept waiting on a busy machine.
    under_way = {int(number): name.decode() for number, name in re.findall(rb"\] (\d+)/\d+ (.*?), about", shown)}
    ended = sorted(name for number, name in under_way.items() if number < max(under_way))
    assert {"a call", "transfers in", "transfers out"} <= set(ended), under_way
    equal([line.split(": ")[0] for line in kept.splitlines()[1:]], ended)
    # Of numbers of our own, what comes of them is known.
    of_ours = {"a call": "0.25 0.25 0.25", "transfers in": "5e-10 5e-10 5e-10", "dgemm NN 32": "1e-9 2e-9 3e-9"}
    with open(times, "w") as f:
        f.write(kept.splitlines()[0].replace("1 s each", "0.001 s each") + "\n" + "".join(f"{key}: {value}\n" for key, value in of_ours.items()) + "a step: 1e-6 1")
        f.write("e")  # cut off while it was written
    done = t.run(*arguments, "0.001")
    equal(done.returncode, 0)
    assert f"continues from {times}, " in done.stderr and "  3 were taken from an earlier run\n" in done.stdout, done
    equal(re.findall(r"^(.*): .* \(known\)$", done.stderr, re.M), ["transfers in", "a call", "dgemm NN 32"])
    lines = lines_of(profile)
    assert {"in_rate 2e+09", "latency_seconds 0.25", "dgemm_leaf_rate 32 5e+08"} <= set(lines), lines
    equal(os.listdir(folder), [os.path.basename(profile)])
    # Timings of longer rounds, or with another library, say nothing.
    with open(times, "w") as f:
        f.write(kept)
    done = t.run(*arguments, "0.001")
    assert done.returncode == 0 and "known" not in done.stderr + done.stdout, done


def tune_noisy(t):
    """What scatters more than it may is measured again and then refused: the profile's old lines stay."""
    folder, profile = cache(t)
    os.makedirs(folder)
    before = ["in_rate 1", "cpu_dgemm_rate 1.5e9", "dgemm_leaf_rate 32 1.0", "dgemm_leaf_rate 64 2.0"]
    with open(profile, "w") as f:
        f.write("\n".join(before) + "\n")
    arguments = ["tune", "--backend", "host", "--seconds", "0.001", "--precisions", "d", "--sizes", "32,64", "--noise", "0"]
    refused = t.run(*arguments)
    equal((refused.returncode, refused.stdout), (125, ""))
    assert "nothing is written: every rate was too noisy" in refused.stderr, refused
    equal((os.listdir(folder), lines_of(profile)), ([os.path.basename(profile)], before))
    # Timings without any scatter, which a run that was cut off might have left, are written; but of leaf rates all or none.
    # Steps of a second: none ends, and is written, between the first one's line and the end.
    slowly = [{"0": "1000", "0.001": "1"}.get(x, x) for x in arguments]
    interrupted = subprocess.Popen([t.blaslift, *slowly], stderr=subprocess.PIPE, text=True)
    interrupted.stderr.readline()
    interrupted.kill()
    interrupted.communicate()
    times = profile + ".times"
    with open(times) as f:
        head = f.readline().replace("1 s each", "0.001 s each")
    with open(times, "w") as f:
        f.write(head + "a call: 0.5 0.5 0.5\ndgemm NN 32: 1e-9 1e-9 1e-9\ndgemm NN 64: 1e-9 2e-9 3e-9\n")
    done = t.run(*arguments)
    equal(done.returncode, 0)
    equal(lines_of(profile), ["profile 1", "in_rate 1", "latency_seconds 0.5", "cpu_dgemm_rate 1.5e9", "dgemm_leaf_rate 32 1.0", "dgemm_leaf_rate 64 2.0"])
    for what in ("transfers in", "dgemm on the CPU", "dgemm NN 64"):
        assert re.search(rf"^  {what}: old rate kept: too noisy \(relative interquartile range \S+ %, limit 0 %\)$", done.stdout, re.M), (what, done)
    assert "dgemm NN 32: old" not in done.stdout, done
    assert "  dgemm_leaf_rate: all old rates kept; steady measurements are saved for the next run\n" in done.stdout, done
    with open(times) as f:
        equal(f.read(), head + "dgemm NN 32: 1e-09 1e-09 1e-09\n")
    # The next run measures the rest, and writes both.
    with open(times, "a") as f:
        f.write("dgemm NN 64: 5e-10 5e-10 5e-10\n")
    done = t.run(*arguments)
    equal(done.returncode, 0)
    assert f"continues from {times}, left by an earlier run" in done.stderr and "all old rates kept" not in done.stdout, done
    equal([line for line in lines_of(profile) if "leaf" in line], ["dgemm_leaf_rate 32 1e+09", "dgemm_leaf_rate 64 2e+09"])
    equal(os.listdir(folder), [os.path.basename(profile)])


def tune_all(t):
    """All of them, one after the other, into one profile."""
    folder, profile = cache(t)
    done = t.run("tune", "--only", "gemm,symv,qr,lapack", "--backend", "host", "--quick", *NOISE)
    equal(done.returncode, 0)
    at = [done.stdout.find(what) for what in ("  passes over memory ", "  a call of SYMV ", "geqrf", "  dpotrf ")]
    assert -1 < at[0] < at[1] < at[2] < at[3], done
    equal(done.stdout.count(f"written to {profile}"), 4)
    names = {line.split()[0] for line in lines_of(profile)}
    assert {"in_rate", "cpu_zgemm_rate", "symv_latency_seconds", "zgeev_values_seconds"} <= names, names
    dry = t.run("tune", "all", "--backend", "host", "--dry-run", "--output", t.path("other"))
    equal((dry.returncode, dry.stdout.count(f"would be written to {t.path('other')}")), (0, 4))


def tune_old_words(t):
    """What is said by --only now were commands once, and is still understood as such; help says it in the new way alone."""
    cache(t)
    host = ["--backend", "host", "--dry-run"]

    def dry(*words):
        done = t.run("tune", *words)
        equal((done.returncode, done.stderr), (0, ""))
        return re.sub(r"[\d.]+ GB usable", "", done.stdout)

    gemm, symv, qr, lapack = (dry("--only", part, *host) for part in ("gemm", "symv", "qr", "lapack"))
    equal((gemm, symv, qr), (dry(*host), dry("symv", *host), dry("qr", *host)))
    assert len({gemm, symv, qr}) == 3 and "dgemm NN" in gemm and "dsymv L: " in symv and "dgeqrf: panels" in qr, (gemm, symv, qr)
    for words in (["all"], ["--only", "gemm,symv,qr,lapack"], ["--only", "qr,lapack", "--only", "symv,gemm,qr"]):
        equal(dry(*words, *host), "\n".join((gemm, symv, qr, lapack)))
    few = ["--precisions", "d", "--sizes", "32"]
    equal(dry(*few, *host, "qr"), dry("--only", "qr", *few, *host))
    shown = t.run("tune", "--help").stdout
    assert "--only gemm|symv|qr|lapack" in shown and not re.search(r"^ *(symv|qr|all|part)\b|\[SUBCOMMAND\]", shown, re.M), shown


def tune_algorithms(t):
    """Of a library with a choice, the faster algorithm is found, kept and followed; and not by another library."""
    folder, profile = cache(t, "some-1.")
    stand_in(t)
    count = os.environ["INJECTED_ALGORITHMS_COUNT"] = t.path("count")
    os.environ["INJECTED_ALGORITHMS"] = "some-1:3000,3000,500,6000"
    arguments = [*QUICK, "--precisions", "d", "--sizes", "32", "--leaves", "24", "--memory", "40M"]

    def of_run(library):
        os.environ["INJECTED_ALGORITHMS"] = library
        done = t.run("run", "-q", *HOST, t.program, "exit", "0")  # one product of 24 x 24
        equal(done.returncode, 0)
        with open(count) as f:
            return int(f.read()), done.stderr

    dry = t.run("tune", *arguments, "--dry-run")
    assert "  dgemm NN 24, algorithms\n  dgemm NN 24 plus E, algorithms\n" in dry.stdout, dry
    done = t.run("tune", *arguments)
    equal(done.returncode, 0)
    for kind in ("", " plus E"):
        assert re.search(rf"^dgemm NN 24{kind}, algorithms: .* best of 3 others x [\d.]+$", done.stderr, re.M), done.stderr
        assert re.search(rf"^  dgemm NN 24{kind} .* taken #1 of 3: number 1, 0\.0 MB$", done.stdout, re.M), done.stdout
    found = [line.split(":")[0] for line in lines_of(profile) if "algorithm" in line]
    equal(found, [f"dgemm_algorithm some-1 NN {kind} 24 10" for kind in ("plain", "plus_e")])
    equal(of_run("some-1:0,0,0,0"), (1, ""))
    equal(of_run("some-2:0,0,0,0"), (0, ""))
    info = t.run("info", "--backend", "host").stdout
    assert f"not used, measured with another library than some-2: {profile}\n" in info, info
    assert "\nprofile (built in for host)\n" in info, info
    named = t.run("info", "--backend", "host", "--profile", profile).stdout
    assert "algorithms: 0 for this device's library, 2 for others, which are ignored\n" in named and "not used" not in named, named
    # Each library's is a file of its own.
    equal(t.run("tune", *QUICK, "--precisions", "d", "--sizes", "32", "--leaves", "0", "-q").returncode, 0)
    equal(sorted(os.listdir(folder)), sorted([os.path.basename(profile), os.path.basename(profile).replace("some-1", "some-2")]))

    with open(profile) as f:
        text = f.read()
    bad = next(line for line in text.splitlines() if " plain 24 " in line)
    with open(profile, "w") as f:
        f.write(text.replace(bad, bad[:-1]))
    equal(of_run("some-1:0,0,0,0"), (0, f"blaslift: {profile}: not understood and ignored: {bad[:-1]}\n"))
    # Where nothing is faster, the library's own choice is what holds.
    os.environ["INJECTED_ALGORITHMS"] = "some-1:1000,3000,2000"
    done = t.run("tune", *arguments)
    equal(done.returncode, 0)
    found = [line for line in lines_of(profile) if "algorithm" in line]
    equal(found, [f"dgemm_algorithm some-1 NN {kind} 24 own" for kind in ("plain", "plus_e")])
    equal(of_run("some-1:0,0,0,0"), (0, ""))
    none = t.run("tune", *QUICK, "--precisions", "d", "--sizes", "32", "--leaves", "0")
    assert none.returncode == 0 and "algorithms" not in none.stdout, none.stdout


def tune_algorithms_go_on(t):
    """Comparisons that a run has kept which was killed are taken up, whatever the order in which the library proposes its
    algorithms today; where it proposes others, or where what was kept is noisy, they are made again."""
    folder, profile = cache(t, "some-1.")
    times = profile + ".times"
    stand_in(t)
    arguments = ["tune", "--backend", "host", "--seconds", "0.001", "--precisions", "d", "--sizes", "32", "--leaves", "24",
                 "--memory", "40M", "--noise"]
    two, three, four = ("some-1" + ":300" + count * ",300" for count in (2, 3, 4))

    def kill(algorithms):
        """A run, after its first comparison; returns the keys of what it has kept of that."""
        killed = subprocess.Popen([t.blaslift, *arguments, "1000"], stderr=subprocess.PIPE, text=True,
                                  env=os.environ | {"INJECTED_ALGORITHMS": algorithms})
        assert any(line.startswith("dgemm NN 24, algorithms: ") for line in killed.stderr)
        killed.kill()
        killed.communicate()
        assert not os.path.exists(profile), lines_of(profile)
        with open(times) as f:
            head, *kept = f.read().splitlines()
        return head, [line.split(": ")[0] for line in kept if line.startswith("dgemm NN 24, ")]

    head, keys = kill(three)
    assert len(keys) == 4 and "dgemm NN 24, algorithms, own" in keys, keys
    others = [key for key in keys if not key.endswith(", own")]

    def go_on(fastest, algorithms, reversed=False, rounds="1e-6 1e-6 1e-6", noise="1000"):
        """With timings of our own, by which one of the others is the fastest."""
        with open(times, "w") as f:
            f.write(head + "\ndgemm NN 24, algorithms, own: 3e-6 3e-6 3e-6\n")
            f.write("".join(f"{key}: {rounds if key == fastest else '2e-6'}\n" for key in others))
        if os.path.exists(profile):
            os.remove(profile)
        environment = os.environ | {"INJECTED_ALGORITHMS": algorithms} | ({"INJECTED_ALGORITHMS_REVERSED": "1"} if reversed else {})
        return t.run(*arguments, noise, env=environment)

    taken = {}
    for fastest in others:
        for reversed in (False, True):
            done = go_on(fastest, three, reversed)
            equal(done.returncode, 0)
            assert re.search(r"^dgemm NN 24, algorithms: .*, best of 3 others x 3\.000 \(known\)$", done.stderr, re.M), done.stderr
            place, number = re.search(r"^  dgemm NN 24 .* 3\.000  taken #(\d) of 3: number (\d), ", done.stdout, re.M).groups()
            equal((int(place), taken.setdefault(fastest, number)), (2 - int(number) if reversed else int(number), number))
            line, = [line for line in lines_of(profile) if line.startswith("dgemm_algorithm some-1 NN plain 24 ")]
            assert f":0{number}00" in line, (line, number)
    equal(sorted(taken.values()), ["0", "1", "2"])
    for done in (go_on(others[0], four), go_on(others[0], two), go_on(others[0], three, rounds="1e-6 3e-6 9e-6", noise="0.5")):
        assert re.search(r"^dgemm NN 24, algorithms: (?!.*known)", done.stderr, re.M), done.stderr
    # What was kept of another list does not make what comes in its place look like another one still.
    with open(times, "w") as f:
        f.write(head + "\n" + "".join(f"{key}: 1e-6 1e-6 1e-6\n" for key in keys))
    if os.path.exists(profile):
        os.remove(profile)
    equal(len(kill(two)[1]), 3)


def stand_in(t):
    """The command with the stand-in for the host backend: it takes what lies in ../lib."""
    os.makedirs(t.path("bin"))
    os.symlink(t.fault, t.path("lib"))
    t.blaslift = shutil.copy(t.blaslift, t.path("bin/blaslift"))


SYMV = ["tune", "--only", "symv", "--backend", "host", "--precisions", "d", "--triangles", "L"]


def symv_rules(profile):
    return [line for line in lines_of(profile) if "symv_rules" in line]


def tune_symv(t):
    """The fastest blockings are found and the size where they change, written, read back, and kept by everything else."""
    folder, profile = cache(t)
    stand_in(t)
    os.environ["INJECTED_SYMV"] = "100"  # where they change
    os.makedirs(folder)
    before = ["in_rate 1e9", "dsymv_rules 1 L any:strips", "dsymv_rules 1 U any:32x32x4x64"]
    # Unit tests say how near crossings come; here the machine may be busy with other things, and times are real.
    for _ in range(4):
        with open(profile, "w") as f:
            f.write("# mine\n" + "\n".join(before) + "\n")
        done = t.run(*SYMV, "--seconds", "8")
        equal(done.returncode, 0)
        if found := re.fullmatch(r"dsymv_rules 1 L (\d+):strips any:64x32x8x64:tickets", symv_rules(profile)[0]):
            break
    assert found, (symv_rules(profile), done)
    assert 64 < int(found[1]) <= 192, found[0]
    lines = lines_of(profile)
    assert before[0] in lines and before[2] in lines and len(symv_rules(profile)) == 2, lines
    equal(len([line for line in lines if line.startswith("symv_latency_seconds ")]), 1)
    equal(os.listdir(folder), [os.path.basename(profile)])
    assert re.search(r"^dsymv L 64: strips [\d.]+ us$", done.stderr, re.M), done.stderr
    assert re.search(r"^  dsymv L: \d+ blockings, \d+ timings \(0 known before, \d+ unsteady\), 1 changes; up to x 1\.\d+ faster", done.stdout, re.M), done.stdout
    shown = t.run("info", "--backend", "host", "--profile-only")
    assert f"\n{symv_rules(profile)[0]}\n" in shown.stdout and not shown.stderr, shown
    # Other measurements leave them alone; what is built in is what holds where nothing is faster.
    kept = symv_rules(profile)
    equal(t.run("tune", *QUICK, "--precisions", "s", "--sizes", "32", "-q").returncode, 0)
    equal(symv_rules(profile), kept)
    os.environ["INJECTED_SYMV"] = "100000"
    done = t.run(*SYMV, "--seconds", "2", "--quick", "-q")
    equal((done.returncode, done.stdout, done.stderr), (0, "", ""))
    equal(symv_rules(profile), ["dsymv_rules 1 L built-in", before[2]])


def tune_symv_goes_on(t):
    """What was measured when the time was up is there for the next run, which ends with rules and without leftovers."""
    folder, profile = cache(t)
    stand_in(t)
    os.environ["INJECTED_SYMV"] = "100"
    times = profile + ".symv-times"
    for seconds in ("0.02", "0.05", "0.1", "0.2", "0.4"):
        done = t.run(*SYMV, "--seconds", seconds)
        equal(done.returncode, 0)
        if os.path.exists(times):
            break
    assert "the time was up" in done.stdout and times in done.stdout, done
    equal(symv_rules(profile), [])
    with open(times) as f:
        kept = f.read()
    assert kept.startswith("# blaslift tune symv, 3: host backend") and "\nd L 32 strips: " in kept, kept
    with open(times, "a") as f:
        f.write("d L 32 nonsense: 1\nd L 64")  # cut off while it was written
    done = t.run(*SYMV, "--seconds", "8")
    equal(done.returncode, 0)
    assert f"({kept.count(chr(10)) - 1} known before" in done.stdout, done
    equal(len(symv_rules(profile)), 1)
    equal(os.listdir(folder), [os.path.basename(profile)])
    # Another driver's timings say nothing.
    with open(times, "w") as f:
        f.write(kept.replace("host backend", "another"))
    done = t.run(*SYMV, "--seconds", "8")
    assert "(0 known before" in done.stdout, done


def tune_symv_on_host(t):
    """Without a stand-in, whatever comes out: a profile that is understood, and options that are not are refused."""
    cache(t)
    arguments = ["tune", "--only", "symv", "--backend", "host", "--quick", "--precisions", "cw", "--sizes", "16,32", "--seconds", "1"]
    dry = t.run(*arguments, "--dry-run", "--triangles", "U")
    equal((dry.returncode, dry.stderr), (0, ""))
    assert re.search(r"^  chemv U: \d+ blockings at 16 32, 20 of them at 24$", dry.stdout, re.M), dry.stdout
    assert not os.path.exists(t.path("cache"))
    done = t.run(*arguments)
    equal(done.returncode, 0)
    equal(len(re.findall(r"^  (chemv|wsymv) [LU]: ", done.stdout, re.M)), 4)
    shown = t.run("info", "--backend", "host", "--profile-only")
    assert not shown.stderr and "\nsymv_latency_seconds " in shown.stdout, shown
    for bad in (["--precisions", "x"], ["--triangles", "LL"], ["--sizes", "0"], ["--seconds", "0"], ["--leaves", "1"]):
        done = t.run("tune", "--only", "symv", *bad)
        assert done.returncode == 125 and "--help" in done.stderr and not done.stdout, done
    no_gpu = t.run("tune", "--only", "symv", "--backend", "cuda", env=os.environ | {"CUDA_VISIBLE_DEVICES": "-1"})
    equal((no_gpu.returncode, no_gpu.stdout), (125, ""))


QR = ["tune", "--only", "qr", "--backend", "host"]


def qr_lines(profile):
    return [line for line in lines_of(profile) if "qr_widths" in line or line.startswith("panel_")]


def tune_qr(t):
    """What is measured is predicted, searched, written and read back; other lines stay; --quick does not search."""
    folder, profile = cache(t)
    os.makedirs(folder)
    with open(profile, "w") as f:
        f.write("# mine\nin_rate 1e9\ndqr_widths 1 any:64x64\nzqr_widths 1 any:32x16\nsqr_widths 7 any:8x8\n")
    dry = t.run(*QR, "--dry-run", "--precisions", "c", "--sizes", "40,16")
    equal(dry.returncode, 0)
    assert "\n  cgeqrf: panels of 8 16 32, blocks of 8 16 32, predicted and timed at 16 40\n" in dry.stdout, dry
    equal(len(lines_of(profile)), 4)
    # On a machine that is busy with other things timings may be unsteady, of which nothing comes.
    for _ in range(4):
        done = t.run(*QR, "--precisions", "d", "--sizes", "32,64")
        equal(done.returncode, 0)
        if "old rules kept" not in done.stdout:
            break
    assert "sqr_widths 7 any:8x8" in done.stderr or "understood" not in done.stderr, done
    for n, count in ((32, 6), (64, 9)):
        found = re.search(rf"^  dgeqrf {n}: predicted \d+x\d+, \S+ ms, takes (\S+); of all {count} the fastest \d+x\d+, (\S+): "
                          r"x (\d+\.\d+); off by (\d+) %, median$", done.stdout, re.M)
        assert found, done
        times, ratio = float(found[1]) / float(found[2]), float(found[3])
        assert abs(times - ratio) < 0.02 * ratio and ratio >= 1, found[0]  # of numbers of three digits
    assert re.search(r"^  dgeqrf: \d+ timings \(0 known before, \d+ unsteady\); ", done.stdout, re.M), done
    lines = qr_lines(profile)
    assert "# mine\n" in open(profile).read() and "in_rate 1e9" in lines_of(profile), lines
    assert re.fullmatch(r"dqr_widths 1 (built-in|(\d+:\d+x\d+ )*any:\d+x\d+)", lines[-2]), lines
    assert lines[-1] == "zqr_widths 1 any:32x16" and "any:64x64" not in lines[-2], lines
    equal(os.listdir(folder), [os.path.basename(profile)])
    shown = t.run("info", "--backend", "host", "--profile-only")
    assert all(f"\n{line}\n" in shown.stdout + "\n" for line in lines[-2:]) and not shown.stderr, shown
    # Of 520 columns the built-in blocks are wider than all that are tried.
    quick = t.run(*QR, "--precisions", "s", "--sizes", "32,520", "--quick")
    equal(quick.returncode, 0)
    assert re.search(r"^  sgeqrf 32: predicted \d+x\d+, \S+ ms$", quick.stdout, re.M), quick
    equal([line for line in qr_lines(profile) if not line.startswith("sqr_widths")][-2:], lines[-2:])
    for bad in (["--precisions", "w"], ["--sizes", "0"], ["--seconds", "0"], ["--triangles", "L"]):
        done = t.run("tune", "--only", "qr", *bad)
        assert done.returncode == 125 and "--help" in done.stderr and not done.stdout, done
    no_gpu = t.run("tune", "--only", "qr", "--backend", "cuda", env=os.environ | {"CUDA_VISIBLE_DEVICES": "-1"})
    equal((no_gpu.returncode, no_gpu.stdout), (125, ""))


def tune_qr_goes_on(t):
    """What was measured when the time was up is there for the next run, which ends without leftovers."""
    folder, profile = cache(t)
    times = profile + ".qr-times"
    arguments = [*QR, "--precisions", "d", "--sizes", "32,64"]
    for seconds in ("0.02", "0.05", "0.1", "0.2"):
        done = t.run(*arguments, "--seconds", seconds)
        equal(done.returncode, 0)
        if os.path.exists(times):
            break
    assert "geqrf: the time was up after " in done.stdout and times in done.stdout, done
    equal(qr_lines(profile) if os.path.exists(profile) else [], [])
    with open(times) as f:
        kept = f.read()
    assert kept.startswith("# blaslift tune qr, 1: host backend") and "\nd panel 32 8: " in kept, kept
    with open(times, "a") as f:
        f.write("d panel 64 32: nonsense\nd panel 64")  # cut off while it was written
    done = t.run(*arguments)
    equal(done.returncode, 0)
    assert f"({kept.count(chr(10)) - 1} known before" in done.stdout or "old rules kept" in done.stdout, done
    assert not os.path.exists(times), os.listdir(folder)
    # Another driver's timings say nothing.
    with open(times, "w") as f:
        f.write(kept.replace("host backend", "another"))
    done = t.run(*arguments)
    assert "(0 known before" in done.stdout or "old rules kept" in done.stdout, done


def tune_qr_built_in(t):
    """Where what is built in is as fast, panels are noted as it cuts them, not as those that seemed the fastest."""
    folder, profile = cache(t)
    os.makedirs(folder)
    # By these timings, which a run that was cut off might have left, two panels of 8 are the fastest.  Beside the one of 16 that is
    # built in they are not.
    panels = {8: (1e-5, 1e-6), 16: (4e-5, 5e-6)}  # seconds, and for each row
    seconds = {f"panel {rows} {w}": least + each * rows for w, (least, each) in panels.items() for rows in (w, 64)}
    seconds |= {f"update {n} {w}": 1e-6 * n for w in panels for n in (8, 64)} | {"join 16 8": 1e-6, "join 64 8": 2e-6}
    seconds |= {"whole 16 8x8": 1e-6, "whole 16 16x8": 1e-3, "whole 16 16x16": 1e-3}
    with open(profile + ".qr-times", "w") as f:
        f.write("# blaslift tune qr, 1: host backend: the plans on the CPU, \n")
        f.writelines(f"d {what}: {number:.5g}\n" for what, number in seconds.items())
    done = t.run(*QR, "--precisions", "d", "--sizes", "16")
    equal(done.returncode, 0)
    assert "of all 3 the fastest 8x8, 0.001: " in done.stdout and "13 timings (13 known before, " in done.stdout, done
    equal(qr_lines(profile)[-1], "dqr_widths 1 built-in")
    found = {key: float(value) for key, value in (line.split() for line in qr_lines(profile)[:-1])}
    least, each = panels[16]
    rate = 16 * 8 / each
    assert abs(found["panel_rate"] / rate - 1) < 1e-3 and abs(found["panel_seconds"] / least - 1) < 1e-3, found


LAPACK = ["tune", "--only", "lapack", "--backend", "host"]
LAPACK_NAMES = ("potrf", "getrf", "syevd_values", "syevd", "geev_values", "geev", "gesdd", "gebrd", "gehrd")


def tune_lapack(t):
    """What is timed is written, line by line, and decides; other lines stay; what has no room is left out and named."""
    folder, profile = cache(t)
    os.makedirs(folder)
    with open(profile, "w") as f:
        f.write("# mine\nin_rate 1e9\nzgetrf_seconds 1 7:8\ndgetrf_seconds 1 9:10\nsgetrf_seconds 7 9:10\n")
    dry = t.run(*LAPACK, "--dry-run", "--precisions", "c", "--sizes", "40,16")
    equal((dry.returncode, re.findall(r"^  (\w+) at (.*)$", dry.stdout, re.M)), (0, [(f"c{name}", "16 40") for name in LAPACK_NAMES]))
    equal(len(lines_of(profile)), 4)
    done = t.run(*LAPACK, "--precisions", "ds", "--sizes", "8,24", "--seconds", "0.001")
    equal(done.returncode, 0)
    assert "sgetrf_seconds 7 9:10" in done.stderr, done
    lines = lines_of(profile)
    assert "# mine" in open(profile).read() and "in_rate 1e9" in lines and "zgetrf_seconds 1 7:8" in lines, lines
    found = {line.split()[0]: line.split()[2:] for line in lines if "_seconds 1 " in line}
    equal(set(found) - {"zgetrf_seconds"}, {f"{p}{name}_seconds" for p in "sd" for name in LAPACK_NAMES})
    for name in set(found) - {"zgetrf_seconds"}:
        equal([word.split(":")[0] for word in found[name]], ["8", "24"])
        assert all(0 < float(word.split(":")[1]) < 60 for word in found[name]), found[name]
        shown = re.search(rf"^  {name.removesuffix('_seconds')} +8: (\S+)  24: (\S+)$", done.stdout, re.M)
        assert shown and all(abs(float(a) / 1e3 / float(b.split(":")[1]) - 1) < 0.01 for a, b in zip(shown.groups(), found[name])), done
    equal(os.listdir(folder), [os.path.basename(profile)])
    info = t.run("info", "--backend", "host", "--profile-only")
    assert all(f"\n{line}\n" in info.stdout + "\n" for line in lines if "_seconds 1 " in line) and not info.stderr, info
    # Of 400 x 400 doubles A and its copy fit, but no vectors beside them.
    little = t.run(*LAPACK, "--precisions", "d", "--sizes", "8,400", "--memory", "4M", "--seconds", "0.001")
    equal(little.returncode, 0)
    assert re.search(r"^  skipped: dgesdd 400: takes more device memory than is allowed$", little.stdout, re.M), little
    lines = lines_of(profile)
    assert any(re.fullmatch(r"dgesdd_seconds 1 8:\S+", line) for line in lines), lines
    assert any(re.fullmatch(r"dpotrf_seconds 1 8:\S+ 400:\S+", line) for line in lines), lines
    for bad in (["--precisions", "w"], ["--sizes", "0"], ["--seconds", "0"], ["--triangles", "L"], ["--noise", "1"],
                ["--sizes", ",".join(str(n) for n in range(1, 40))]):
        done = t.run("tune", "--only", "lapack", *bad)
        assert done.returncode == 125 and "--help" in done.stderr and not done.stdout, done
    no_gpu = t.run("tune", "--only", "lapack", "--backend", "cuda", env=os.environ | {"CUDA_VISIBLE_DEVICES": "-1"})
    equal((no_gpu.returncode, no_gpu.stdout), (125, ""))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--blaslift", required=True)
    parser.add_argument("--program", required=True)
    parser.add_argument("--fault", required=True, help="directory of the library with the stand-in for the host backend")
    parser.add_argument("case")
    arguments = parser.parse_args()
    with harness.scratch() as scratch:
        globals()[arguments.case](Context(arguments.blaslift, arguments.program, arguments.fault, scratch))
    print(arguments.case, "ok")


if __name__ == "__main__":
    sys.exit(main())
