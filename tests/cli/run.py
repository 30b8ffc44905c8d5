"""Tests of the command, one function each; the first argument after the options names the one to run."""

import argparse
import json
import os
import pty
import re
import signal
import subprocess
import sys
import tempfile
import time

HOST = ["--backend", "host", "--force", "all"]


class Context:
    def __init__(self, blaslift, program, scratch):
        self.blaslift, self.program, self.scratch = blaslift, program, scratch

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
    equal(t.leftovers(), [])
    stays = t.run("run", t.program, "exit", "0")  # without "--": the program ends the options
    assert "1 on the CPU: too small 1" in stays.stderr, stays.stderr


def run_quiet(t):
    done = t.run("run", "-q", *HOST, t.program, "exit", "0")
    equal((done.returncode, done.stdout, done.stderr), (0, "", ""))


def run_json(t):
    done = t.run("run", "-q", "--json", t.path("run.json"), *HOST, t.program, "exit", "0")
    equal(done.returncode, 0)
    with open(t.path("run.json")) as f:
        summary = json.load(f)
    equal((summary["processes"], summary["backend"]), (1, "host"))
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
    for arguments in (["--backend", "vulkan"], ["--memory", "-3"], ["--force", "dgetrf"], ["--nonsense"]):
        done = t.run("run", *arguments, "--", t.program, "exit", "0")
        assert done.returncode != 0 and "1 call" not in done.stderr, done
    assert "a program to run is required" in t.run("run").stderr
    with open(t.path("options"), "w") as f:
        f.write("--backend")  # a program's own argument of that name stays its own
    done = t.run("run", "-q", "sh", "-c", 'echo "$@"', "sh", "--backend", "-q")
    equal(done.stdout, "--backend -q\n")


def run_not_executable(t):
    equal(t.run("run", t.path("nothing")).returncode, 127)
    equal(t.run("run", t.scratch).returncode, 126)


def run_keeps_preload(t):
    """What the user preloads stays preloaded, behind us; other variables are untouched."""
    other = "/usr/lib/x86_64-linux-gnu/libm.so.6"
    done = t.run("run", "-q", "sh", "-c", "echo $LD_PRELOAD:$FOO", env=os.environ | {"LD_PRELOAD": other, "FOO": "bar"})
    assert re.fullmatch(r"/\S*/libblaslift\.so:" + re.escape(other) + ":bar\n", done.stdout), done.stdout


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
    assert re.search(r"^  not intercepted:\n  dtrsm +1 +[\d.]+", done.stderr, re.M), done.stderr
    assert re.search(r"^  dgemm +1 ", done.stderr, re.M), done.stderr


def info(t):
    done = t.run("info", "--backend", "host")
    equal(done.returncode, 0)
    for line in (r"^device: host backend", r"libblas\.so\.3: /.*, 32-bit integers, found in ", r"^dgemm_rate ",
                 r"^  zgemm_ .*scipy_cblas_zgemm64_"):
        assert re.search(line, done.stdout, re.M), (line, done.stdout)


def profile_file(t):
    """A profile that `info` printed is read back; one that is not understood is named and its good lines kept."""
    printed = t.run("info", "--backend", "host", "--profile-only").stdout
    assert "in_rate 8e+09\n" in printed, printed
    with open(t.path("profile"), "w") as f:
        f.write(printed.replace("in_rate 8e+09", "in_rate 1.5e+10") + "nonsense\n")
    done = t.run("info", "--backend", "host", "--profile-only", "--profile", t.path("profile"))
    assert "in_rate 1.5e+10\n" in done.stdout, done.stdout
    assert "not understood and ignored: nonsense" in done.stderr, done.stderr


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--blaslift", required=True)
    parser.add_argument("--program", required=True)
    parser.add_argument("case")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        for name in list(os.environ):
            if name.startswith("BLASLIFT"):
                del os.environ[name]
        os.environ["TMPDIR"] = scratch
        globals()[arguments.case](Context(arguments.blaslift, arguments.program, scratch))
    print(arguments.case, "ok")


if __name__ == "__main__":
    sys.exit(main())
