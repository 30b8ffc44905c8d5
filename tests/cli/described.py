"""Tests of the completions and the manual pages: all that `--help` shows is in each of them, and shells complete by them."""

import argparse
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness

SKIPPED = 77

LAUNCHERS = ("run", "measure", "doctor", "verify")
TAKE_WORDS = (*LAUNCHERS, "replay", "report", "completion")


def skip(reason):
    print("SKIPPED:", reason)
    sys.exit(SKIPPED)


def equal(actual, expected):
    assert actual == expected, f"{actual!r}, expected {expected!r}"


class Context:
    def __init__(self, blaslift, build, source, scratch):
        self.blaslift, self.build, self.source, self.scratch = blaslift, build, source, scratch

    def call(self, *arguments):
        done = subprocess.run([self.blaslift, *arguments], capture_output=True, text=True, timeout=50)
        equal((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def completion(self, shell):
        """What `blaslift completion` prints, which is what was built to be installed."""
        text = self.call("completion", shell)
        with open(os.path.join(self.build, "completions", {"bash": "blaslift", "zsh": "_blaslift", "fish": "blaslift.fish"}[shell])) as f:
            equal(f.read(), text)
        return text

    def commands(self):
        """Every command with its options and those below it, as --help has them: {("tune",): ({"--quick", ...}, [])}."""
        found = {}

        def look(*words):
            text = self.call(*words, "--help")
            options = set()
            for line in re.findall(r"^  (-.*)$", text, re.M):
                options |= set(re.split(r"\s", line)[0].split(","))
            below = re.search(r"^Subcommands:\n((?:  .*\n)+)", text, re.M)
            names = re.findall(r"^  (\w+)", below[1], re.M) if below else []
            found[words] = (options, names)
            for name in names:
                look(*words, name)

        look()
        assert len(found) > 8 and "--backend" in found[("run",)][0] and {"--quick", "--only", "--triangles"} <= found[("tune",)][0], found
        assert not any(len(words) > 1 for words in found), found
        return found


def completion_text(t):
    """In the words of each shell, every option of every command."""
    options = set().union(*(options for options, _ in t.commands().values()))
    for shell in ("bash", "zsh", "fish"):
        text = t.completion(shell)
        for option in options:
            told = option if shell != "fish" else f" -l {option[2:]}" if option.startswith("--") else f" -s {option[1:]}"
            assert re.search(re.escape(told) + r"(?![\w-])", text), (shell, option)
    for wrong in (["tcsh"], []):
        done = subprocess.run([t.blaslift, "completion", *wrong], capture_output=True, text=True)
        assert done.returncode == 125 and not done.stdout, done


def completion_bash(t):
    with open(os.path.join(t.scratch, "completion"), "w") as f:
        f.write(t.completion("bash"))
    os.mkdir(os.path.join(t.scratch, "here"))
    open(os.path.join(t.scratch, "here", "a file"), "w").close()
    os.mkdir(os.path.join(t.scratch, "here", "a folder"))

    def complete(*words):
        """What bash offers for the last word."""
        script = 'source ../completion; COMP_WORDS=(blaslift "$@"); COMP_CWORD=$#; _blaslift; printf "%s\\n" "${COMPREPLY[@]}"'
        done = subprocess.run(["bash", "-c", script, "bash", *words], capture_output=True, text=True, timeout=50, cwd=os.path.join(t.scratch, "here"))
        equal((done.returncode, done.stderr), (0, ""))
        return set(done.stdout.splitlines()) - {""}

    for words, (options, below) in t.commands().items():
        equal(complete(*words, "-"), options)
        if words[-1:] not in [(name,) for name in TAKE_WORDS]:
            equal(complete(*words, ""), set(below))
    equal(complete("completion", ""), {"bash", "zsh", "fish"})
    equal(complete("run", "--backend", ""), {"auto", "cuda", "host"})
    equal(complete("tune", "--only", ""), {"gemm", "symv", "qr", "lapack"})
    equal(complete("run", "--backend", "=", "h"), {"host"})
    equal(complete("run", "--report", "=", "s"), {"stderr"})
    equal(complete("run", "--report", "="), {"off", "stderr", "a file", "a folder"})
    equal(complete("run", "-q", "--json", "a"), {"a file", "a folder"})
    for words in (("replay",), ("replay", "-q"), ("report",), ("report", "--json", "x"), *(("verify", option) for option in ("--subject", "--oracle", "--json"))):
        equal(complete(*words, ""), {"a file", "a folder"})
    for words in (("run", "--trace"), ("run", "--verify-dump"), ("verify", "--dump")):
        equal(complete(*words, ""), {"a folder"})
    equal(complete("replay", "a file", ""), set())  # it takes one
    assert "printenv" in complete("report", "-q", "--", "printen")
    equal(complete("env", "--shell", "t"), {"tcsh"})
    assert {"off", "on"} >= complete("run", "--residency", "o") == {"off"}
    assert "printenv" in complete("run", "printen") and "printenv" in complete("run", "--backend", "host", "--", "printen")
    # What follows the program is the program's.
    equal(complete("run", "cat", "--back"), set())
    equal(complete("run", "cat", "a"), {"a file", "a folder"})
    equal(complete("run", "--", "cat", "a"), {"a file", "a folder"})
    equal(complete("report", "--", "cat", "a"), {"a file", "a folder"})


def completion_zsh(t):
    if not shutil.which("zsh"):
        skip("no zsh")
    with open(os.path.join(t.scratch, "_blaslift"), "w") as f:
        f.write(t.completion("zsh"))
    os.symlink(t.blaslift, os.path.join(t.scratch, "blaslift"))

    def complete(line, wanted):
        """Types the line and a tab, and waits for these words."""
        environment = {"TERM": "dumb", "PATH": t.scratch + ":" + os.environ["PATH"], "HOME": t.scratch, "COLUMNS": "160", "LINES": "200"}
        pid, terminal = pty.fork()
        if pid == 0:
            os.execvpe("zsh", ["zsh", "-f", "-i"], environment)
        start = f"unset zle_bracketed_paste; stty rows 200 cols 160; LISTMAX=0; PROMPT='ready> '; fpath=({t.scratch} $fpath); autoload -Uz compinit; compinit -u -D; zmodload zsh/complist; echo st''arted\n"
        os.write(terminal, start.encode())
        seen, typed, deadline = b"", False, time.monotonic() + 30
        missing = set(wanted)
        while missing:
            assert time.monotonic() < deadline, (line, missing, seen[-3000:])
            if select.select([terminal], [], [], 1)[0]:
                seen += os.read(terminal, 65536)
            if not typed and b"ready> " in seen.partition(b"\nstarted")[2]:
                seen, typed = b"", True
                os.write(terminal, line.encode() + b"\t")
            if typed:
                after = seen.decode(errors="replace")
                missing = {word for word in wanted if not re.search(r"(?<![\w-])" + re.escape(word) + r"(?![\w-])", after)}
        os.close(terminal)
        os.kill(pid, 9)
        os.waitpid(pid, 0)

    for words, (options, below) in t.commands().items():
        complete(" ".join(["blaslift", *words, "-"]), {o for o in options if o.startswith("--")})
        if len(below) > 1:
            complete(" ".join(["blaslift", *words, ""]), below)
    complete("blaslift run --backend=", {"auto", "cuda", "host"})
    complete("blaslift tune --only=", {"gemm", "symv", "qr", "lapack"})
    complete("blaslift run --report=", {"off", "stderr"})
    complete("blaslift run printen", {"printenv"})
    here = os.path.join(t.scratch, "here")
    os.makedirs(os.path.join(here, "kept-folder"))
    with open(os.path.join(here, "kept-call"), "w"):
        pass
    # Of the two, where a file is meant, both; where a directory is, that one, so the line goes on with it.
    for words in ("replay", "report", "verify --subject", "verify --oracle", "run --json"):
        complete(f"blaslift {words} {here}/kept-", {"kept-call", "kept-folder"})
    for words in ("run --trace", "verify --dump"):
        complete(f"blaslift {words} {here}/kept-", {"here/kept-folder"})
    complete("blaslift report -- printen", {"printenv"})


def completion_fish(t):
    if not shutil.which("fish"):
        skip("no fish")
    path = os.path.join(t.scratch, "blaslift.fish")
    with open(path, "w") as f:
        f.write(t.completion("fish"))

    def complete(line):
        done = subprocess.run(["fish", "--no-config", "-c", f"source {path}; complete -C '{line}'"], capture_output=True, text=True, timeout=50,
                              env=os.environ | {"HOME": t.scratch})
        equal((done.returncode, done.stderr), (0, ""))
        return {line.split("\t")[0] for line in done.stdout.splitlines()}

    for words, (options, below) in t.commands().items():
        equal(complete(" ".join(["blaslift", *words, "--"])), {o for o in options if o.startswith("--")})
        if below:
            equal(complete(" ".join(["blaslift", *words, ""])), set(below))
    equal(complete("blaslift run --backend "), {"auto", "cuda", "host"})
    equal(complete("blaslift tune --only "), {"gemm", "symv", "qr", "lapack"})
    equal(complete("blaslift completion "), {"bash", "zsh", "fish"})
    assert "printenv" in complete("blaslift run printen") and "printenv" in complete("blaslift report -- printen")
    here = os.path.join(t.scratch, "here")
    os.makedirs(os.path.join(here, "kept-folder"))
    with open(os.path.join(here, "kept-call"), "w"):
        pass
    both = {f"{here}/kept-call", f"{here}/kept-folder/"}
    for words in ("replay", "report", "verify --subject", "verify --oracle", "run --json"):
        equal((words, complete(f"blaslift {words} {here}/kept-")), (words, both))
    for words in ("run --trace", "verify --dump"):
        equal((words, complete(f"blaslift {words} {here}/kept-")), (words, {f"{here}/kept-folder/"}))


def manual(t):
    """Every option and variable is in its page, pages have no faults that their formatter knows, and nothing is unfilled."""
    pages = {}
    for name in ("blaslift.1", "libblaslift.7"):
        path = os.path.join(t.build, "man", name)
        with open(path) as f:
            pages[name] = f.read()
        assert not re.search(r"^@|@\w+@", pages[name], re.M), name
        plain = pages[name].replace("\\-", "-")
        pages[name] = re.sub(r"\\f[BIR]", "", plain)
        for checker in (["groff", "-man", "-ww", "-Tutf8"], ["mandoc", "-Tlint", "-Wwarning"]):
            if shutil.which(checker[0]):
                done = subprocess.run([*checker, path], capture_output=True, text=True, env=os.environ | {"LC_ALL": "C.UTF-8"})
                complaints = done.stderr if checker[0] == "groff" else done.stdout + done.stderr
                equal([line for line in complaints.splitlines() if "missing date" not in line], [])
    sections = dict(re.findall(r"^\.SS (.*)\n((?:(?!\.S[SH]).*\n)*)", pages["blaslift.1"][pages["blaslift.1"].index(".SH OPTIONS"):], re.M))
    for words, (options, below) in t.commands().items():
        section = sections[" ".join(["blaslift", *words])]
        equal(set(re.findall(r"(?<![\w-])--?[\w-]+", section)) >= options, True)
        for name in below:
            assert name in pages["blaslift.1"].split(".SH DESCRIPTION")[0], name
    # The library warns of what is none of its variables, and has all that the source reads.
    with open(os.path.join(t.source, "impl/core/options.cpp")) as f:
        variables = set(re.findall(r'\{"(BLASLIFT\w*)"', f.read()))
    internal = {variable for variable in variables if variable.startswith("BLASLIFT_INTERNAL_")}
    assert len(variables) > 10 and len(internal) == 4, variables
    equal(set(re.findall(r"^(BLASLIFT\w*)$", pages["libblaslift.7"], re.M)), variables - internal)
    everything = " ".join([*pages.values(), *(option for options, _ in t.commands().values() for option in options)])
    assert "INTERNAL" not in everything and "internal-" not in everything, everything
    for variable in internal:
        option = "--" + variable.removeprefix("BLASLIFT_INTERNAL_").lower()
        assert not re.search(re.escape(option) + r"(?![\w-])", everything), option
    symbols = set(re.findall(r"^  ((?:\w+ )+)$", t.call("info", "--symbols"), re.M))
    assert len(symbols) > 100, symbols
    for symbol in " ".join(symbols).split():
        assert re.search(rf"^{symbol}$", pages["libblaslift.7"], re.M), symbol
    bad = os.path.join(t.scratch, "page")
    for line in ("@options nothing@", "@nonsense"):
        with open(bad, "w") as f:
            f.write(line + "\n")
        equal(subprocess.run([t.blaslift, "manual", bad], capture_output=True).returncode, 125)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--blaslift", required=True)
    parser.add_argument("--build", required=True)
    parser.add_argument("--source", required=True)
    parser.add_argument("case")
    arguments = parser.parse_args()
    with harness.scratch() as scratch:
        globals()[arguments.case](Context(arguments.blaslift, arguments.build, arguments.source, scratch))
    print(arguments.case, "ok")


if __name__ == "__main__":
    sys.exit(main())
