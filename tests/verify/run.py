"""Tests of blaslift verify and blaslift replay, one function each; the argument after the options names the one to run.

Mistakes are planted in the stand-in for the host backend (kernels/fault), which verification must catch and name.
"""

import argparse
import json
import os
import re
import resource
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import harness

HOST = ["--backend", "host", "--force", "all"]
WRONG = 123

OVER, BITS, OUTSIDE, INPUT = (
    "over its bound",
    "not the same bits twice",
    "written outside the output",
    "input operand changed",
)

REFERENCE = str(harness.PROVIDERS["reference"][0] / "libblas.so.3")
REFERENCE_LAPACK = str(harness.PROVIDERS["reference"][1] / "liblapack.so.3")
OPENBLAS = str(harness.PROVIDERS["openblas"][0] / "libblas.so.3")

CALLS_OF_EVERY = {"gemm": 3 * 3 * 2 * 2 + 5, "symv": 3 * 2 * 2 * 2 + 2, "syrk": 4}
"""Of `program every`, for each precision; and one of gemm with nothing to compute besides."""


class Context:
    def __init__(self, blaslift, program, fault, wrong_blas, scratch):
        self.blaslift, self.program, self.fault, self.scratch = blaslift, program, fault, scratch
        self.wrong_blas = wrong_blas
        self.json = self.path("verified.json")

    def path(self, name):
        return os.path.join(self.scratch, name)

    def run(self, *arguments, **options):
        if os.path.exists(self.json):
            os.remove(self.json)
        return subprocess.run([self.blaslift, *arguments], capture_output=True, text=True, timeout=90, **options)

    def verify(self, *arguments, mistake=None, environment=None, **options):
        """With `--json`; what it says is the second result."""
        environment = os.environ | (environment or {}) | ({"INJECTED_MISTAKE": mistake} if mistake else {})
        done = self.run("verify", "--json", self.json, *arguments, env=environment, **options)
        return done, self.summary()

    def summary(self):
        if not os.path.exists(self.json):
            return None
        with open(self.json) as f:
            return json.load(f)

    def stand_in(self):
        """The command with the stand-in for the host backend: it takes what lies in ../lib."""
        os.makedirs(self.path("bin"))
        os.symlink(self.fault, self.path("lib"))
        self.blaslift = shutil.copy(self.blaslift, self.path("bin/blaslift"))


def equal(actual, expected):
    assert actual == expected, f"{actual!r}, expected {expected!r}"


def verified(summary, routine):
    return summary["routines"][routine]["verified"]


def all_good(done, summary, status=0):
    equal(done.returncode, status)
    for routine in summary["routines"].values():
        if "verified" in routine:
            equal((routine["verified"]["wrong"], routine["verified"]["found"]), (0, {}))
    for call in summary["worst"]:
        assert call["ratio"] <= call["limit"] and call["found"] == [], call
    equal(summary["problems"], [])


def caught(t, mistake, *findings, arguments=("products", "70", "1"), routine="dgemm", options=()):
    """A mistake in a call: the exit status, the counts, and the call by name, size and caller."""
    done, summary = t.verify(*HOST, *options, "--", t.program, *arguments, mistake=mistake)
    equal(done.returncode, WRONG)
    account = verified(summary, routine)
    for finding in findings:
        assert account["found"].get(finding), (finding, account)
    equal(set(account["found"]), set(findings))
    worst = summary["worst"][0]
    equal((worst["routine"], worst["found"]), (routine, list(findings)))
    assert f"n={arguments[1]} " in worst["arguments"], worst
    caller = {"dgemm": "product", "dsyrk": "triangle_product", "dsymv": "vector_product"}[routine]
    assert worst["caller"].startswith("verify_program+0x") and f" ({caller}+0x" in worst["caller"], worst
    assert f"blaslift: wrong: {routine} {worst['arguments']}: ratio " in done.stderr, done.stderr
    return done, summary


def clean(t):
    """A program that calls everything is told the same with and without verification, and nothing is found."""
    plain = subprocess.run([t.program, "every"], capture_output=True, text=True)
    for options in (HOST, [*HOST, "--memory", "20000"]):
        run = t.run("run", "-q", *options, "--", t.program, "every")
        done, summary = t.verify(*options, "--", t.program, "every")
        equal((done.stdout, plain.stdout != ""), (run.stdout, True))
        all_good(done, summary)
        for precision in "sdcz":
            gemm, symv = precision + "gemm", precision + ("symv" if precision in "sd" else "hemv")
            # alpha = 0, k = 0 and overlaps stay on the CPU, where there is nothing to compare with.
            if options == HOST:
                equal(verified(summary, gemm)["checked"], CALLS_OF_EVERY["gemm"] - 3)
                equal(verified(summary, symv)["checked"], CALLS_OF_EVERY["symv"] - 1)
            triangles = [precision + "syrk", *([precision + "herk"] if precision in "cz" else [])]
            for routine in triangles:
                equal(verified(summary, routine)["checked"], CALLS_OF_EVERY["syrk"])
            for routine in (gemm, *triangles, symv):
                account = summary["routines"][routine]
                equal(account["verified"]["checked"], account["routed"])
                equal(account["verified"]["repeated"], account["routed"])
    assert "none wrong" in done.stderr and "blaslift: worst: " in done.stderr, done.stderr


def levels(t):
    """Products by levels are held to the bound of levels: within it, and not to none."""
    done, summary = t.verify(*HOST, "--strassen", "2", "--", t.program, "products", "100", "3")
    all_good(done, summary)
    equal(summary["routines"]["dgemm"]["levels"], {"2": 3})
    equal(verified(summary, "dgemm")["repeated"], 3)
    t.stand_in()
    caught(t, "block", OVER, arguments=("products", "100", "1"), options=("--strassen", "2"))


def residency(t):
    """A call that uses copies which were kept is repeated without them."""
    done, summary = t.verify(*HOST, "--residency", "always", "--", t.program, "products", "64", "5")
    all_good(done, summary)
    equal(verified(summary, "dgemm")["repeated"], 5)
    if summary["residency"] == "on":
        assert summary["routines"]["dgemm"]["bytes_spared"] > 0, summary


def one_element(t):
    """An element that is off by a thousandth of its terms."""
    t.stand_in()
    done, summary = caught(t, f"element:{2**52 / 1000}", OVER)
    worst = summary["worst"][0]
    assert 0.9 < worst["ratio"] / (2**52 / 1000) < 1.1, worst


def just_over_and_under(t):
    """The bound of a product is k + 3 units; its own rounding takes less than one of them here, 70 + 3 being the bound."""
    t.stand_in()
    caught(t, "element:75", OVER)
    done, summary = t.verify(*HOST, "--", t.program, "products", "70", "1", mistake="element:71")
    all_good(done, summary)
    assert 69 < summary["worst"][0]["ratio"] < 73, summary["worst"]
    equal(round(summary["worst"][0]["limit"], 6), 73)
    caught(t, "element:65", OVER, arguments=("vectors", "60", "1"), routine="dsymv")
    done, summary = t.verify(*HOST, "--", t.program, "vectors", "60", "1", mistake="element:61")
    all_good(done, summary)


def whole_block(t):
    t.stand_in()
    done, summary = caught(t, "block", OVER)
    assert summary["worst"][0]["ratio"] > 1e12, summary["worst"]


def other_bits(t):
    """A result whose last bit is another one the second time."""
    t.stand_in()
    caught(t, "bits", BITS)


def outside(t):
    t.stand_in()
    caught(t, "outside", OUTSIDE)


def input(t):
    t.stand_in()
    done, summary = t.verify(*HOST, "--", t.program, "products", "70", "1", mistake="input")
    equal(done.returncode, WRONG)
    assert verified(summary, "dgemm")["found"][INPUT] == 1, summary


def triangles(t):
    """One triangle is compared, by its own units; a kept call is made again."""
    done, summary = t.verify(*HOST, "--strassen", "2", "--", t.program, "triangles", "100", "2")
    all_good(done, summary)
    equal(summary["routines"]["dsyrk"]["levels"], {"2": 2})
    t.stand_in()
    arguments = ("triangles", "70", "1")
    caught(t, "element:75", OVER, arguments=arguments, routine="dsyrk")
    caught(t, "bits", BITS, arguments=arguments, routine="dsyrk")
    done, summary = t.verify(*HOST, "--", t.program, *arguments, mistake="element:71")
    all_good(done, summary)


def vectors(t):
    t.stand_in()
    caught(t, f"element:{2**52 / 1000}", OVER, arguments=("vectors", "50", "1"), routine="dsymv")
    caught(t, "bits", BITS, arguments=("vectors", "50", "1"), routine="dsymv")


def sampled(t):
    """Of one routine and size the first call of every N; each size has calls of its own."""
    done, summary = t.verify("--sample", "4", *HOST, "--", t.program, "products", "30", "10")
    all_good(done, summary)
    equal(verified(summary, "dgemm")["checked"], 3)
    done = t.run("run", "--verify", "sample", *HOST, "--", t.program, "every")
    equal(done.returncode, 0)
    assert "calls checked" in done.stderr and "none wrong" in done.stderr, done.stderr


def passed_on(t):
    """Of calls that end up on the CPU, whose results are not looked at, a later one on the device has the turn."""
    t.stand_in()
    no_room = {"INJECTED_FAULT": "1:no_memory"}
    oracle = ["--oracle", REFERENCE_LAPACK]
    for what, routine, options in (
        (("products", "30", "3"), "dgemm", []),
        (("vectors", "50", "3"), "dsymv", []),
        (("compact", "60", "40", "3"), "sgeqr", []),
        (("compact", "60", "40", "3"), "sgeqr", oracle),
    ):
        done, summary = t.verify("--sample", "64", *options, *HOST, "--", t.program, *what, environment=no_room)
        all_good(done, summary)
        account = summary["routines"][routine]
        equal((routine, account["routed"], account["verified"]["checked"]), (routine, 2, 1))
    # A format of the library's own: no other one is asked what it makes of the first call, which stays.
    with open(t.path("profile"), "w") as f:  # by which the CPU seems fast until it has been measured
        f.write("cpu_sgemm_rate 4e12\nsgemm_rate 1e13\npanel_rate 1e12\npanel_seconds 1e-6\nstartup_seconds 1e-9\n")
    learned = [*HOST[:2], "--profile", t.path("profile")]
    done, summary = t.verify("--sample", "64", *oracle, *learned, "--", t.program, "compact", "400", "300", "3")
    all_good(done, summary)
    account = summary["routines"]["sgeqr"]
    equal((account["routed"], account["verified"]["checked"]), (2, 1))


def threads(t):
    done, summary = t.verify(*HOST, "--", t.program, "threads")
    all_good(done, summary)
    for routine in ("dgemm", "dsymv"):
        equal((verified(summary, routine)["checked"], verified(summary, routine)["repeated"]), (80, 80))
    t.stand_in()
    done, summary = t.verify(*HOST, "--", t.program, "threads", mistake="block")
    equal((done.returncode, verified(summary, "dgemm")["wrong"], verified(summary, "dsymv")["wrong"]), (WRONG, 80, 0))
    named = {(call["routine"], call["arguments"].split()[2]): call["calls"] for call in summary["worst"] if call["found"]}
    equal(named, {("dgemm", f"m={n}"): 20 for n in range(40, 44)})


def fork(t):
    """A child of a process with a device computes on the CPU, where nothing is compared."""
    done, summary = t.verify(*HOST, "--", t.program, "fork")
    all_good(done, summary)
    dgemm = summary["routines"]["dgemm"]
    equal((dgemm["calls"], dgemm["stayed"], dgemm["verified"]["checked"]), (2, {"in a forked child": 1}, 1))
    if not os.path.exists(OPENBLAS):
        return
    done, summary = t.verify("--subject", OPENBLAS, "--oracle", REFERENCE, "--", t.program, "fork")
    all_good(done, summary)
    equal(verified(summary, "dgemm")["checked"], 2)


def traps(t):
    """A program that is stopped by invalid operations is not stopped by NaN that it never sees."""
    for options in (HOST, ["--oracle", REFERENCE], [*HOST, "--strassen", "1"]):
        done, summary = t.verify(*options, "--", t.program, "traps")
        all_good(done, summary)
        equal(verified(summary, "dgemm")["checked"], 3)


def no_memory(t):
    """The call is computed all the same, and counted as not checked."""
    done, summary = t.verify(*HOST, "--memory", "64K", "--", t.program, "poor")
    all_good(done, summary)
    equal(verified(summary, "dgemm")["checked"], 2)
    if summary["routines"]["dgemm"]["routed"] == 3:
        equal(verified(summary, "dgemm")["unchecked"], {"no memory for copies": 1})
        assert "not checked: 1 no memory for copies" in done.stderr, done.stderr
    done, summary = t.verify("--oracle", REFERENCE, "--", t.program, "poor")
    all_good(done, summary)
    equal((verified(summary, "dgemm")["checked"], verified(summary, "dgemm")["unchecked"]), (2, {"no memory for copies": 1}))


def status(t):
    """The program's exit status unless a call was wrong; then one that can be chosen. Too few calls can be a failure."""
    for number in (0, 7):
        done, summary = t.verify(*HOST, "--", t.program, "status", str(number))
        all_good(done, summary, number)
    done, _ = t.verify(*HOST, "--at-least", "2", "--", t.program, "status", "0")
    equal(done.returncode, WRONG)
    assert "only one call was checked" in done.stderr, done.stderr
    done, _ = t.verify("--", t.program, "status", "5")  # too small for a device
    equal(done.returncode, 5)
    assert "no call was checked" in done.stderr, done.stderr
    # A program of which nothing was seen has not passed, unless that was asked for.
    done, _ = t.verify("--", t.program, "status", "0")
    equal(done.returncode, WRONG)
    assert "no call was checked" in done.stderr and "--at-least 0" in done.stderr, done.stderr
    done, _ = t.verify("--at-least", "0", "--", t.program, "status", "0")
    equal(done.returncode, 0)
    t.stand_in()
    done, _ = t.verify(*HOST, "--", t.program, "status", "7", mistake="block")
    equal(done.returncode, WRONG)
    done, _ = t.verify(*HOST, "--wrong-status", "9", "-q", "--", t.program, "status", "7", mistake="block")
    equal((done.returncode, done.stderr), (9, ""))


def environment(t):
    """Without the command: the variables alone, and the report."""
    report = t.path("report")
    t.stand_in()
    variables = {"LD_PRELOAD": t.path("lib/libblaslift.so"), "BLASLIFT_BACKEND": "host", "BLASLIFT_FORCE": "all",
                 "BLASLIFT_VERIFY": "all", "BLASLIFT_VERIFY_DUMP": t.scratch, "BLASLIFT_REPORT": report,
                 "INJECTED_MISTAKE": "block"}
    done = subprocess.run([t.program, "sizes", "40", "20"], env=os.environ | variables, capture_output=True, text=True)
    equal((done.returncode, done.stdout, done.stderr), (0, "", ""))
    with open(report) as f:
        summary = json.loads(f.read())
    equal(verified(summary, "dgemm")["found"], {OVER: 20})
    kept = sorted(name for name in os.listdir(t.scratch) if name.endswith(".call"))
    equal(len(kept), 8)
    assert not any(name.endswith(".partial") for name in os.listdir(t.scratch)), os.listdir(t.scratch)
    with open(t.path(kept[0]), errors="replace") as f:
        assert f.read(60).startswith("blaslift-call 2\nroutine dgemm\nsymbol dgemm_\n")
    assert {call["dump"] for call in summary["worst"]} <= {t.path(name) for name in kept} | {""}, summary["worst"]
    off = subprocess.run([t.program, "products", "40", "1"], env=os.environ | variables | {"BLASLIFT_VERIFY": "off"})
    equal(off.returncode, 0)
    with open(report) as f:
        assert "verified" not in json.loads(f.read().splitlines()[1])["routines"]["dgemm"]


def kept_call(t, *arguments, mistake, options=HOST, environment=None):
    done, summary = t.verify("--dump", t.path("kept"), *options, "--", t.program, *arguments, mistake=mistake,
                             environment=environment)
    equal(done.returncode, WRONG)
    path = summary["worst"][0]["dump"]
    assert path.startswith(t.path("kept/")) and os.path.exists(path) and f"kept in {path}" in done.stderr, done.stderr
    return path, summary["worst"][0]


def replay(t):
    """A call that was kept is wrong again where the mistake is, and right where it is not; both ratios are told."""
    t.stand_in()
    for arguments, routine in (
        (("products", "33", "1"), "dgemm"),
        (("triangles", "37", "1"), "dsyrk"),
        (("vectors", "41", "1"), "dsymv"),
    ):
        mistake = "element:5e9"
        path, worst = kept_call(t, *arguments, mistake=mistake)
        again = t.run("replay", "--json", t.json, path, env=os.environ | {"INJECTED_MISTAKE": mistake})
        equal(again.returncode, WRONG)
        repeated = t.summary()["worst"][0]
        equal((repeated["routine"], repeated["arguments"]), (routine, worst["arguments"]))
        assert abs(repeated["ratio"] / worst["ratio"] - 1) < 1e-3, (repeated, worst)
        assert f"blaslift: recorded: ratio 5e+09 of at most {worst['limit']:.3g}, {OVER}\n" in again.stderr, again.stderr
        assert f"blaslift: wrong: {routine} {worst['arguments']}: ratio 5e+09 of at most" in again.stderr, again.stderr
        good = t.run("replay", "--json", t.json, path)
        all_good(good, t.summary())
        assert "blaslift: recorded: ratio 5e+09" in good.stderr and "blaslift: worst: " in good.stderr, good.stderr
    by_levels = t.run("replay", "--strassen", "1", "--json", t.json, kept_call(t, "products", "33", "1", mistake="block")[0])
    all_good(by_levels, t.summary())
    equal(t.summary()["routines"]["dgemm"]["levels"], {"1": 1})


def replay_every(t):
    """Calls of every kind are kept and made again: in every precision, with gaps, increments and conjugates."""
    t.stand_in()
    done, summary = t.verify("--dump", t.path("kept"), *HOST, "--", t.program, "every", mistake="element:1e7")
    equal(done.returncode, WRONG)
    names = sorted(os.listdir(t.path("kept")))
    equal(len(names), 8)
    for name in names:
        again = t.run("replay", "--json", t.json, t.path("kept/" + name))
        all_good(again, t.summary())


def on_the_page(t):
    """`blaslift report` shows on its page what verification has found."""
    t.stand_in()
    page = t.path("page.html")
    for mistake, heading, verdict in ((None, ">Verified<", "right"), ("block", ">Verified: calls were wrong<", OVER)):
        environment = os.environ | ({"INJECTED_MISTAKE": mistake} if mistake else {})
        done = t.run("report", "-q", "--html", page, "--verify", "all", *HOST, "--", t.program, "products", "33", "3", env=environment)
        equal((done.returncode, done.stderr), (0, ""))
        with open(page) as f:
            text = f.read().partition('id="verified"')[2].partition("</section>")[0]
        assert heading in text and f"<td>{verdict}</td>" in text and "dgemm transa=" in text, text
        equal(f"<td>3</td><td>3</td><td>{3 if mistake else 0}</td>" in text, True)


LEVELS_PAY = """dgemm_leaf_rate 64 1e9
dgemm_leaf_rate 512 1e9
pass_rate 1e12
step_seconds 1e-9
in_rate 1e13
out_rate 1e13
"""
"""A profile by which levels pay from small products on."""


def replay_way(t):
    """A mistake that only products of one size have, which only one profile, memory or setting leads to: a replay finds
    it again whatever is set today, and says what is not as it was if it is told to go another way."""
    t.stand_in()
    with open(t.path("levels"), "w") as f:
        f.write(LEVELS_PAY)
    with open(t.path("narrow"), "w") as f:
        f.write("dqr_widths 1 any:24x12\n")
    products, qr = ("products", "300", "1"), ("dqr", "96", "90")
    by_profile = ["--profile", t.path("levels")]
    other = {"BLASLIFT_STRASSEN": "off", "BLASLIFT_MEMORY": "90000", "BLASLIFT_PROFILE": t.path("other"),
             "BLASLIFT_QR": "bulk", "BLASLIFT": "off", "XDG_CACHE_HOME": t.path("cache")}
    os.makedirs(t.path("cache/blaslift"))
    for path in (t.path("other"), t.path("cache/blaslift/host.profile")):
        with open(path, "w") as f:
            f.write("dgemm_leaf_rate 64 1e9\ndgemm_leaf_rate 512 1e12\ndqr_widths 1 any:32x32\n")
    for call, size, options, otherwise, differences in (
        # A leaf of two levels, which the profile says pay; the largest tile that fits would have another size.
        (products, "64x64x64", by_profile, ["--strassen", "off"], {"levels: 2, now none", "tile: 256, now none"}),
        (products, "64x64x64", by_profile, ["--profile", t.path("other")], {"levels: 2, now none", "tile: 256, now none"}),
        # They pay, but do not fit: blocks of a product that is cut to fit.
        (products, "192x192x300", [*by_profile, "--memory", "1500000"], ["--memory", "900000000"],
         {"memory: 1500000, now 900000000"}),
        (products, "75x75x75", ["--strassen", "2:rum:1"], ["--strassen", "1"], {"levels: 2, now 1"}),
        # An update behind a QR's block of the profile's width.
        (qr, "24x42x24", ["--profile", t.path("narrow")], ["--profile", t.path("other")], {"it is split differently"}),
    ):
        at = os.environ | {"INJECTED_MISTAKE": "block", "INJECTED_MISTAKE_AT": size}
        shutil.rmtree(t.path("kept"), ignore_errors=True)
        path, worst = kept_call(t, *call, mistake="block", options=[*HOST, *options],
                                environment={"INJECTED_MISTAKE_AT": size})
        again = t.run("replay", "--json", t.json, path, env=at | other)
        equal((options, again.returncode), (options, WRONG))
        equal(t.summary()["worst"][0]["way"], worst["way"])
        assert "blaslift: computed in the recorded way\n" in again.stderr, again.stderr
        good = t.run("replay", "--json", t.json, *otherwise, path, env=at | other)
        all_good(good, t.summary())
        said = set(re.findall("blaslift: not as recorded: (.*)", good.stderr))
        assert differences <= said, (otherwise, said)


def resigned(record):
    """With the sum that its contents have: FNV-1a over words of eight bytes."""
    body = record[:record.rindex(b"sum ")]
    total = 0xCBF29CE484222325
    for at in range(0, len(body), 8):
        total = (total ^ int.from_bytes(body[at:at + 8], "little")) * 0x100000001B3 % 2**64
    return body + f"sum {total:016x}\n".encode()


def bad_records(t):
    t.stand_in()
    path, _ = kept_call(t, "products", "20", "1", mistake="block", options=[*HOST, "--residency", "off"])
    with open(path, "rb") as f:
        good = f.read()
    equal(resigned(good), good)

    def changed(word, other):
        assert word in good, word
        return good.replace(word, other, 1)

    middle = len(good) - 1000
    for name, data, why in (("none", None, "No such file"), ("empty", b"", "it is empty"),
                            ("text", b"hello\n", "its first line is not"), ("short", good[:-40], "it ends before the end of reference"),
                            ("no sum", good[:-8], "it ends before its checksum"),
                            ("long", good + b"x", "there is more after its end"), ("head", good[:60], "it ends before its data"),
                            ("older", changed(b"blaslift-call 2", b"blaslift-call 1"), "reads records of version 2, this one is blaslift-call 1"),
                            ("newer", changed(b"blaslift-call 2", b"blaslift-call 3"), "reads records of version 2, this one is blaslift-call 3"),
                            ("bit", good[:middle] + bytes([good[middle] ^ 1]) + good[middle + 1:], "its contents have changed"),
                            ("profile", changed(b"profile dgemm_rate ", b"profile dgemm_rate 1"), "its contents have changed"),
                            ("sum", good[:-2] + (b"0\n" if good[-2:-1] != b"0" else b"1\n"), "its contents have changed"),
                            ("block", resigned(changed(b"block A 20 20 8", b"block A 20 x 8")), "block A 20 x 8"),
                            ("setting", resigned(changed(b"setting BLASLIFT_RESIDENCY", b"setting BLASLIFT_RESIDENCE")),
                             "does not know its setting BLASLIFT_RESIDENCE=off"),
                            ("sizes", resigned(changed(b" m=20 ", b" m=21 ")), "not those of a call"),
                            ("routine", resigned(changed(b"routine dgemm", b"routine dnone")), "cannot be replayed")):
        bad = t.path(name)
        if data is not None:
            with open(bad, "wb") as f:
                f.write(data)
        done = t.run("replay", bad)
        assert done.returncode == 125 and why in done.stderr, (name, done)


def nowhere_to_keep(t):
    """The command says so before it starts the program; the library says so once, and goes on."""
    with open(t.path("file"), "w") as f:
        f.write("kept")
    for place in (t.path("file"), t.path("file/below"), "/proc/nowhere"):
        done, _ = t.verify("--dump", place, *HOST, "--", t.program, "status", "0")
        equal(done.returncode, 125)
        assert done.stderr.startswith(f"blaslift: {place}: ") and done.stderr.count("\n") == 1, done.stderr
    t.stand_in()
    done = t.run("run", "--verify", "all", "--verify-dump", t.path("file"), *HOST, "--", t.program, "products", "20", "3",
                 env=os.environ | {"INJECTED_MISTAKE": "block"})
    equal(done.returncode, 0)
    assert "3 wrong" in done.stderr, done.stderr
    problem = "blaslift: verification: a call that is wrong could not be kept: "
    equal(done.stderr.count(problem), 2)  # when it happens, and in the summary
    assert "Not a directory" in done.stderr, done.stderr


def disk_full(t):
    """No space for a file: told, nothing is left behind, no signal, and the program goes on."""
    t.stand_in()
    limit = 1 << 20  # bytes a file may have; four matrices of 300 x 300 take more

    def little_space():
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    done, summary = t.verify("--dump", t.path("kept"), *HOST, "--", t.program, "products", "300", "2",
                             mistake="block", preexec_fn=little_space)
    equal((done.returncode, verified(summary, "dgemm")["wrong"]), (WRONG, 2))
    equal(len(summary["problems"]), 1)
    assert "File too large" in summary["problems"][0] and summary["worst"][0]["dump"] == "", summary
    equal(os.listdir(t.path("kept")), [])


def another_blas(t):
    """OpenBLAS against the reference: every call is checked, nothing goes to a device."""
    if not os.path.exists(OPENBLAS):
        raise harness.Skip("no OpenBLAS")
    for subject, oracle in ((OPENBLAS, REFERENCE), (REFERENCE, OPENBLAS)):
        done, summary = t.verify("--subject", subject, "--oracle", oracle, "--", t.program, "every")
        all_good(done, summary)
        equal(summary["backend"], "")
        for precision in "sdcz":
            gemm, symv = precision + "gemm", precision + ("symv" if precision in "sd" else "hemv")
            for routine, kind in ((gemm, "gemm"), (symv, "symv")):
                account = summary["routines"][routine]
                equal(account["routed"], 0)
                overlapping = 1 if kind == "gemm" else 0
                equal(account["verified"]["checked"], CALLS_OF_EVERY[kind] - overlapping)
                equal(account["verified"]["repeated"], account["verified"]["checked"])
            equal(verified(summary, gemm)["unchecked"], {"output overlaps an input": 1})
    # The device is checked against an oracle as well, and what stays beside it.
    done, summary = t.verify("--oracle", OPENBLAS, *HOST, "--", t.program, "every")
    all_good(done, summary)
    equal(verified(summary, "dgemm")["checked"], CALLS_OF_EVERY["gemm"] - 1)
    # A mistake that needs an oracle to be seen: a subject that is wrong everywhere.
    t.stand_in()
    done, summary = t.verify("--oracle", REFERENCE, *HOST, "--", t.program, "products", "20", "1", mistake="block")
    equal((done.returncode, verified(summary, "dgemm")["found"]), (WRONG, {OVER: 1}))


def mistaken_blas(t):
    """A BLAS with the mistakes that such libraries have: each is found in the routine that has it, and in no other."""
    command = ["--subject", t.wrong_blas, "--oracle", REFERENCE, "--", t.program]
    for mistake, routine, findings in (
        ("none", None, set()),
        ("reads_c", "dgemm", {BITS}),  # of canaries, the second time
        ("clears_gap", "dgemm", {OUTSIDE}),
        ("takes_beta_for_one", "dgemm", {OVER}),
        ("scales_a", "dgemm", {OVER, INPUT}),
        ("other_half", "dsymv", {OVER, BITS}),
        ("forward", "dsymv", {OVER}),
        ("chance", "dgemm", {BITS}),
    ):
        done, summary = t.verify("--dump", t.path(mistake), *command, "real", environment={"WRONG_BLAS": mistake})
        equal(done.returncode, WRONG if routine else 0)
        for name in ("dgemm", "dsymv"):
            account = verified(summary, name)
            assert account["checked"] > 20, account
            if name != routine:
                equal(account["found"], {})
            else:
                equal((mistake, set(account["found"])), (mistake, findings))
        if routine:
            replay = ["replay", "--trust", "--subject", t.wrong_blas, "--json", t.json]
            record = t.path(mistake + "/" + sorted(os.listdir(t.path(mistake)))[0])
            again = t.run(*replay, record, env=os.environ | {"WRONG_BLAS": mistake})
            equal((mistake, again.returncode), (mistake, WRONG))
            good = t.run(*replay, record, env=os.environ | {"WRONG_BLAS": "none"})
            all_good(good, t.summary())


QR = {precision: (precision + "geqrf", precision + other + "mqr", precision + other + "gqr")
      for precision, other in (("s", "or"), ("d", "or"), ("c", "un"), ("z", "un"))}


def qr(t):
    """Factors by what they give back, products with Q by the library's, in every precision; kept, and made again."""
    for size in (("60", "40"), ("30", "70"), ("1", "3")):
        done, summary = t.verify(*HOST, "--", t.program, "qr", *size)
        all_good(done, summary)
        for routine in sum(QR.values(), ()):
            equal((routine, verified(summary, routine)["checked"], verified(summary, routine)["repeated"]), (routine, 1, 1))
    # By an oracle: also what stays on the CPU.  One that has no LAPACK cannot say anything.
    done, summary = t.verify("--oracle", REFERENCE_LAPACK, *HOST[:2], "--", t.program, "qr", "60", "40")
    all_good(done, summary)
    equal((summary["routines"]["dgeqrf"]["routed"], verified(summary, "dgeqrf")["checked"]), (0, 1))
    done, summary = t.verify("--oracle", REFERENCE, *HOST, "--", t.program, "qr", "60", "40")
    equal((done.returncode, verified(summary, "dgeqrf")["unchecked"], summary.get("problems", [])),
          (WRONG, {"not possible with the oracle": 1}, []))
    # Products in between that are spoilt: two panels and more.
    t.stand_in()
    for mistake, finding in (("block", OVER), ("bits", BITS)):
        done, summary = t.verify("--dump", t.path(mistake), *HOST, "--", t.program, "qr", "150", "140", mistake=mistake)
        equal(done.returncode, WRONG)
        found = {routine: list(verified(summary, routine)["found"]) for routine in sum(QR.values(), ())}
        # Every second product has other bits: a call of an even number of them is the same twice.
        assert all(f == [finding] or (mistake == "bits" and f == []) for f in found.values()), found
        assert sum(f == [finding] for f in found.values()) > 3, found
        for name in sorted(os.listdir(t.path(mistake))):
            again = t.run("replay", "--json", t.json, t.path(f"{mistake}/{name}"), env=os.environ | {"INJECTED_MISTAKE": mistake})
            equal((name, again.returncode), (name, WRONG))
            all_good(t.run("replay", "--json", t.json, t.path(f"{mistake}/{name}")), t.summary())
    # tau is what a product with Q sends first.
    done, summary = t.verify(*HOST, "--", t.program, "qr", "60", "40", mistake="input")
    equal((done.returncode, INPUT in verified(summary, "zunmqr")["found"]), (WRONG, True))


COMPACT = ("sgeqr", "sgemqr", "zgeqr", "zgemqr")


def compact_qr(t):
    """geqr and gemqr on the device are judged, kept and made again as geqrf and ormqr; what is the library's is not looked at."""
    done, summary = t.verify(*HOST, "--", t.program, "compact", "60", "40")
    all_good(done, summary)
    for routine in COMPACT:
        equal((routine, verified(summary, routine)["checked"], verified(summary, routine)["repeated"]), (routine, 1, 1))
    done, summary = t.verify("--oracle", REFERENCE_LAPACK, *HOST[:2], "--", t.program, "compact", "60", "40")
    equal((done.returncode, [summary["routines"][routine].get("verified") for routine in COMPACT]), (0, [None] * 4))
    t.stand_in()
    done, summary = t.verify("--dump", t.path("kept"), *HOST, "--", t.program, "compact", "150", "140", mistake="block")
    equal(done.returncode, WRONG)
    equal([list(verified(summary, routine)["found"]) for routine in COMPACT], [[OVER]] * 4)
    names = sorted(os.listdir(t.path("kept")))
    equal([name.split("-")[0] for name in names], ["sgeqrf", "sormqr", "zgeqrf", "zunmqr"])
    for name in names:
        again = t.run("replay", "--json", t.json, t.path(f"kept/{name}"), env=os.environ | {"INJECTED_MISTAKE": "block"})
        equal((name, again.returncode), (name, WRONG))
        all_good(t.run("replay", "--json", t.json, t.path(f"kept/{name}")), t.summary())


def mistaken_qr(t):
    """A LAPACK with the mistakes that such libraries have."""
    command = ["--subject", t.wrong_blas, "--oracle", REFERENCE_LAPACK, "--", t.program, "dqr", "37", "21"]
    for mistake, routine, finding in (
        ("none", None, None),
        ("geqrf_forgets_row", "dgeqrf", OVER),
        ("geqrf_bends_q", "dgeqrf", OVER),
        ("geqrf_behind_tau", "dgeqrf", OUTSIDE),
        ("geqrf_behind_work", "dgeqrf", OUTSIDE),
        ("geqrf_clears_gap", "dgeqrf", OUTSIDE),
        ("geqrf_chance", "dgeqrf", BITS),
        ("ormqr_forgets_trans", "dormqr", OVER),
        ("ormqr_leaves_ones", "dormqr", INPUT),
        ("orgqr_reads_r", "dorgqr", OVER),
    ):
        done, summary = t.verify("--dump", t.path(mistake), *command, environment={"WRONG_BLAS": mistake})
        equal((mistake, done.returncode), (mistake, WRONG if routine else 0))
        for name in QR["d"]:
            account = verified(summary, name)
            equal((mistake, name, account["checked"], set(account["found"])),
                  (mistake, name, 1, {finding} if name == routine else set()))
        if routine:
            replay = ["replay", "--trust", "--subject", t.wrong_blas, "--json", t.json]
            record = t.path(mistake + "/" + sorted(os.listdir(t.path(mistake)))[0])
            again = t.run(*replay, record, env=os.environ | {"WRONG_BLAS": mistake})
            equal((mistake, again.returncode), (mistake, WRONG))
            good = t.run(*replay, record, env=os.environ | {"WRONG_BLAS": "none"})
            all_good(good, t.summary())


def wrong_subject(t):
    """What is not tested is not reported as good."""
    for arguments, why in ((["--subject", REFERENCE], "needs an --oracle"),
                           (["--subject", t.path("none.so"), "--oracle", REFERENCE], "none.so"),
                           (["--subject", "libm.so.6", "--oracle", REFERENCE], "has no"),
                           (["--oracle", "/lib/none.so"], "none.so"),
                           (["--subject", REFERENCE, "--oracle", REFERENCE], "are the same file")):
        done, _ = t.verify(*arguments, "--", t.program, "status", "0")
        equal(done.returncode, 125)
        assert why in done.stderr and done.stderr.count("\n") == 1, done.stderr


def numpy(t):
    """A program nobody has written for this."""
    code = ("import numpy as np\n"
            "r = np.random.RandomState(1)\n"
            "for n in (3, 40, 150):\n"
            "    a = r.standard_normal((n, n)); b = a.astype(np.complex64)\n"
            "    a @ a; a.T @ a; b @ b.T; np.linalg.solve(a, a); np.linalg.qr(a)\n")
    python = "/usr/bin/python3"
    if subprocess.run([python, "-c", "import numpy"], capture_output=True).returncode != 0:
        raise harness.Skip("no NumPy")
    done, summary = t.verify(*HOST, "--at-least", "12", "--", python, "-c", code)
    all_good(done, summary)
    assert all(call["caller"] for call in summary["worst"]), summary["worst"]
    if os.path.exists(OPENBLAS):
        done, summary = t.verify("--subject", OPENBLAS, "--oracle", REFERENCE, "--at-least", "6", "--", python, "-c", code)
        all_good(done, summary)


def estimates(t):
    """LAPACK's estimate of a condition number may be three times off where blaslift's is right: L of Hilbert matrices."""
    code = ("import ctypes as c\n"
            "dtrcon = c.CDLL(None).dtrcon_\n"
            "for n in range(8, 25):\n"
            "    a = [[1 / (i + j + 1) for j in range(n)] for i in range(n)]\n"
            "    for k in range(n):\n"
            "        pivot = max(range(k, n), key=lambda i: abs(a[i][k]))\n"
            "        a[k], a[pivot] = a[pivot], a[k]\n"
            "        for i in range(k + 1, n):\n"
            "            a[i][k] /= a[k][k]\n"
            "            for j in range(k + 1, n): a[i][j] -= a[i][k] * a[k][j]\n"
            "    columns = (c.c_double * (n * n))(*(a[i][j] for j in range(n) for i in range(n)))\n"
            "    rcond, work, iwork, order, info = c.c_double(), (c.c_double * (3 * n))(), (c.c_int * n)(), c.c_int(n), c.c_int()\n"
            "    at = [c.byref(x) for x in (order, columns, order, rcond, work, iwork, info)]\n"
            "    dtrcon(b'1', b'L', b'U', *at, *(c.c_size_t(1) for _ in range(3)))\n")
    done, summary = t.verify(*HOST, "--fallback", REFERENCE_LAPACK, "--at-least", "17", "--", "/usr/bin/python3", "-c", code)
    all_good(done, summary)
    ratios = [call["ratio"] for call in summary["worst"] if call["routine"] == "dtrcon"]
    assert max(ratios) > 3 * 3 / 10, ratios  # of which ten times would be the limit of 3


def options(t):
    for arguments in (["--sample", "0"], ["--sample", "x"], ["--backend", "vulkan"], ["--wrong-status", "0"], ["--nonsense"]):
        done = t.run("verify", *arguments, "--", t.program, "status", "0")
        assert done.returncode == 125 and "--help" in done.stderr, done
    assert t.run("replay").returncode != 0
    shown = t.run("verify", "--help").stdout
    for word in ("--subject", "--oracle", "--sample", "--dump", "--wrong-status", "--at-least"):
        assert word in shown, shown
    assert not re.search(r"^ +call\b", t.run("--help").stdout, re.M)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--blaslift", required=True)
    parser.add_argument("--program", required=True)
    parser.add_argument("--fault", required=True, help="directory of the library with the stand-in for the host backend")
    parser.add_argument("--wrong-blas", required=True, help="the library of wrong_blas.c")
    parser.add_argument("case")
    arguments = parser.parse_args()

    def body():
        with harness.scratch(OPENBLAS_NUM_THREADS="1", **harness.provider_environment("reference")) as scratch:
            globals()[arguments.case](Context(arguments.blaslift, arguments.program, arguments.fault,
                                               arguments.wrong_blas, scratch))
        print(arguments.case, "ok")
        return True

    harness.main(body)


if __name__ == "__main__":
    main()
