"""Tests of `blaslift report`, one function each; the first argument after the options names the one to run."""

import argparse
import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import browser
import harness

SKIPPED = 77
STATUS = 7
"""What the program ends with."""

HOST = ["--backend", "host", "--force", "dgemm"]
TIMED_FLOPS = 1e6


def equal(actual, expected):
    assert actual == expected, f"{actual!r}, expected {expected!r}"


def close(actual, expected):
    assert math.isclose(actual, expected, rel_tol=1e-9, abs_tol=1e-12), f"{actual!r}, expected {expected!r}"


class Context:
    def __init__(self, blaslift, program, fault, scratch):
        self.blaslift, self.program, self.fault, self.scratch = blaslift, program, fault, scratch

    def path(self, name):
        return os.path.join(self.scratch, name)

    def run(self, *arguments, status=0, **options):
        done = subprocess.run([self.blaslift, *arguments], capture_output=True, text=True, timeout=50, **options)
        if status is not None:
            assert done.returncode == status, done
        return done

    def json(self, name):
        with open(self.path(name)) as f:
            return json.load(f)

    def recorded(self, *arguments, options=HOST, status=STATUS, **more):
        """Of a run of the program: what the report says, and its timeline."""
        done = self.run("report", "--json", self.path("report.json"), "--timeline", self.path("timeline.json"), *options, "--",
                        self.program, *arguments, status=status, **more)
        return done, self.json("report.json"), self.json("timeline.json")["traceEvents"]

    def leftovers(self):
        return [name for name in os.listdir(self.scratch) if name.startswith("blaslift-")]


def sums_agree(report):
    """What the trace adds up to is what the counters hold; only calls too small to be timed, or refused, are not in it."""
    for name, routine in report["routines"].items():
        close(routine["recorded_cpu_seconds"], routine["cpu_seconds"])
        close(routine["recorded_device_seconds"], routine["device_seconds"])
        for what in ("in", "out", "spared"):
            equal(routine[f"recorded_bytes_{what}"], routine[f"bytes_{what}"])
        equal(routine["recorded"]["device"], routine["routed"])
        assert routine["recorded"]["cpu"] + routine["recorded"]["device"] <= routine["calls"], (name, routine)
        assert 0 <= routine["bus_seconds"] <= routine["device_seconds"] + 1e-9, (name, routine)
    equal(sum(r["calls"] for r in report["routines"].values()), report["calls"])
    recorded = sum(r["recorded"]["cpu"] + r["recorded"]["device"] for r in report["routines"].values())
    equal(recorded, report["recorded"])
    equal(sum(s["cpu_calls"] + s["device_calls"] for s in report["sizes"]), recorded)
    close(sum(s["cpu_seconds"] + s["device_seconds"] for s in report["sizes"]),
          sum(r["cpu_seconds"] + r["device_seconds"] for r in report["routines"].values()))
    stayed = sum(r["calls"] - r["routed"] for r in report["routines"].values())
    equal(sum(reason["calls"] for reason in report["stayed"].values()), stayed)
    equal((report["dropped"], report["unfinished"]), (0, 0))
    share = report["share"]
    for shorter in ("least_seconds", "moving_seconds", "resident_seconds"):
        assert share["least_seconds"] - 1e-9 <= share[shorter] <= report["seconds"] + 1e-9, (shorter, report)


def calls_of(timeline):
    return [e for e in timeline if e["ph"] == "X" and e["cat"] != "bus"]


def report_program(t):
    """A program's own streams and status, the report on stderr, and sums that the counters have as well."""
    done, report, timeline = t.recorded("mix")
    equal((done.stdout, t.leftovers()), ("", []))
    sums_agree(report)
    dgemm, dsymv = report["routines"]["dgemm"], report["routines"]["dsymv"]
    equal((dgemm["calls"], dgemm["routed"], dgemm["recorded"]), (6, 5, {"cpu": 0, "device": 5}))
    equal((dsymv["calls"], dsymv["routed"], dsymv["recorded"]), (1, 0, {"cpu": 1, "device": 0}))
    equal((report["stayed"]["invalid arguments"]["calls"], report["stayed"]["invalid arguments"]["recorded"]), (1, 0))
    assert dgemm["bus_seconds"] > 0 and report["opening_seconds"] > 0, report
    equal([e["name"] for e in calls_of(timeline)], ["opening the device"] + 5 * ["dgemm"] + ["dsymv"])
    sizes = [[e["args"].get(x) for x in "mnk"] for e in calls_of(timeline)[1:]]
    equal(sizes, 3 * [[24, 24, 24]] + 2 * [[160, 160, 160]] + [[None, 900, None]])
    for line in ("blaslift: recorded 6 of 7 calls in ", "blaslift: dgemm   6 calls; 5 on the host backend", "Time by routine",
                 "Recorded calls by size", "Why calls stayed", "invalid arguments", "Over the bus",
                 "What a bigger share would bring", "(Amdahl's bound)", "1 call was counted but not recorded"):
        assert line in done.stderr, (line, done.stderr)
    quiet, _, _ = t.recorded("mix", options=["-q", *HOST])
    equal((quiet.stdout, quiet.stderr), ("", ""))


def report_recording(t):
    """A recording that is kept says the same each time, and what `run` says of the same run; a second run is added."""
    os.chdir(t.scratch)
    t.run("run", "-q", "--json", "run.json", "--trace", "kept", *HOST, t.program, "mix", status=STATUS)
    shown = [t.run("report", "kept", "--json", "report.json", "--timeline", "timeline.json") for _ in range(2)]
    equal(shown[0].stdout, shown[1].stdout)
    equal((shown[0].stderr, len(os.listdir("kept"))), ("", 1))
    report, run = t.json("report.json"), t.json("run.json")
    sums_agree(report)
    for name, routine in run["routines"].items():
        for what in ("calls", "routed", "bytes_in", "bytes_out", "bytes_spared"):
            equal(report["routines"][name][what], routine[what])
        close(report["routines"][name]["device_seconds"], routine["device_seconds"])
        equal(sum(routine["stayed"].values()), routine["calls"] - routine["routed"])
    printed = t.run("report", "-q", "--json", "-", "kept").stdout
    equal(json.loads(printed), report)
    t.run("run", "-q", "--trace", "kept", *HOST, t.program, "mix", status=STATUS)
    t.run("report", "kept", "-q", "--json", "report.json")
    both = t.json("report.json")
    sums_agree(both)
    equal((both["processes"], both["calls"], both["recorded"]), (2, 2 * report["calls"], 2 * report["recorded"]))
    # By the variable alone, without the command.
    library = os.path.join(os.path.dirname(t.blaslift), "../lib/libblaslift.so")
    environment = os.environ | {"LD_PRELOAD": library, "BLASLIFT_TRACE": t.path("alone")}
    done = subprocess.run([t.program, "mix"], env=environment, capture_output=True, text=True)
    equal((done.returncode, done.stdout, done.stderr), (STATUS, "", ""))
    t.run("report", "alone", "-q", "--json", "report.json")
    # Nothing is forced: dsymv is timed, products are forwarded.
    equal((t.json("report.json")["calls"], t.json("report.json")["recorded"]), (7, 1))


def report_processes(t):
    """Children that end by _exit and by SIGKILL, a program executed in another's place, one that is killed: nothing is lost."""
    _, report, timeline = t.recorded("tree")
    sums_agree(report)
    equal((report["processes"], report["routines"]["dgemm"]["recorded"]), (3, {"cpu": 4, "device": 5}))
    equal(report["stayed"]["in a forked child"], report["stayed"]["in a forked child"] | {"calls": 4, "recorded": 4})
    by_process = {}
    for event in calls_of(timeline):
        by_process.setdefault(event["pid"], []).append(event)
    equal(sorted(len(events) for events in by_process.values()), [2, 2, 7])
    _, report, timeline = t.recorded("exec")
    sums_agree(report)
    equal((report["processes"], report["routines"]["dgemm"]["recorded"]), (2, {"cpu": 0, "device": 7}))
    equal(len({event["pid"] for event in timeline}), 2)  # each its own, although the process was the same
    _, report, _ = t.recorded("kill", status=-signal.SIGKILL)
    sums_agree(report)
    equal((report["processes"], report["recorded"]), (1, 6))


def check_schema(timeline):
    """https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU, and that all can be drawn."""
    tracks, last = {}, 0
    named = {(e["pid"], e["tid"]) for e in timeline if e["ph"] == "M" and e["name"] == "thread_name"}
    processes = {e["pid"] for e in timeline if e["ph"] == "M" and e["name"] == "process_name"}
    for event in timeline:
        for field, kind in (("ph", str), ("name", str), ("pid", int), ("tid", int), ("ts", (int, float))):
            assert isinstance(event[field], kind) and not isinstance(event[field], bool), event
        assert event["name"] and event["ts"] >= 0, event
        if event["ph"] == "M":
            assert event["name"] in ("process_name", "process_labels", "thread_name") and event["args"], event
            continue
        equal(event["ph"], "X")
        assert isinstance(event["cat"], str) and isinstance(event["dur"], (int, float)) and event["dur"] >= 0, event
        assert event["ts"] >= last, event
        last = event["ts"]
        track = (event["pid"], event["tid"])
        assert track in named and event["pid"] in processes, event
        tracks.setdefault(track, []).append(event)
    nanosecond = 1e-3
    for events in tracks.values():
        around = []
        for event in events:
            end = event["ts"] + event["dur"]
            while around and around[-1] <= event["ts"] + nanosecond / 2:
                around.pop()
            assert not around or end <= around[-1] + nanosecond / 2, f"half inside another: {event}"
            around.append(end)
    return tracks


def report_timeline(t):
    """Events have what the format asks for, in order of time; of a thread they nest or follow each other; transfers are inside."""
    _, report, timeline = t.recorded("threads")
    sums_agree(report)
    tracks = check_schema(timeline)
    calls = [track for track, events in tracks.items() if any(e["name"] == "dgemm" for e in events)]
    equal(len(calls), 4)
    for track in calls:
        equal(len([e for e in tracks[track] if e["name"] == "dgemm"]), 3)
    bus = [e for e in timeline if e["ph"] == "X" and e["cat"] == "bus"]
    equal({e["name"] for e in bus}, {"to the device", "from the device"})
    products = [e for e in calls_of(timeline) if e["name"] == "dgemm"]
    for event in bus:
        end = event["ts"] + event["dur"]
        assert any(p["ts"] - 1e-3 <= event["ts"] and end <= p["ts"] + p["dur"] + 1e-3 for p in products), event
    for p in products:
        assert p["args"]["reason"] == "forced" and p["args"]["bytes out"] == 160 * 160 * 8 and p["args"]["Gflop/s"] > 0, p


def report_nested(t):
    """Calls inside a LAPACK routine are inside it, too, and its own time is without theirs."""
    environment = os.environ | harness.provider_environment("reference")
    # Some other routine is forced, so that products of all sizes are looked at.
    done, report, timeline = t.recorded("nested", options=["--backend", "host", "--force", "sgemm"], env=environment)
    sums_agree(report)
    check_schema(timeline)
    [factorisation] = [e for e in calls_of(timeline) if e["name"] == "dgeqrf"]
    inside = [e for e in calls_of(timeline) if e["name"] == "dgemm"]
    assert len(inside) >= 8, inside
    for e in inside:
        assert factorisation["ts"] <= e["ts"] and e["ts"] + e["dur"] <= factorisation["ts"] + factorisation["dur"] + 1e-3, e
    routines = report["routines"]
    close(sum(r["cpu_seconds"] for r in routines.values()), 1e-6 * factorisation["dur"])
    close(report["share"]["cpu_seconds"], 1e-6 * factorisation["dur"])


def report_measure(t):
    """`blaslift measure` counts a call and those inside it once: a device on which both are fast takes less than the run."""
    environment = os.environ | harness.provider_environment("reference")
    with open(t.path("profile"), "w") as f:
        f.write("".join(f"{name} 1e+15\n" for name in ("in_rate", "out_rate", "dgemm_rate", "panel_rate")))
        f.write("".join(f"{name} 1e-09\n" for name in ("latency_seconds", "startup_seconds", "step_seconds", "panel_seconds")))
    done = t.run("measure", "--profile", t.path("profile"), t.program, "nested", env=environment, status=STATUS)
    rows = {m[1]: float(m[2]) for m in re.finditer(r"^  (d\w+) +\d+ +[\d.]+ +[\d.]+ +[\d.-]+ +([\d.]+) ", done.stderr, re.M)}
    assert rows["dgemm"] > 0.004 and rows["dgeqrf"] >= rows["dgemm"], done.stderr
    once, there = re.search(r"A GPU would do ([\d.]+) s of the run in ([\d.]+) s", done.stderr).groups()
    assert abs(float(once) - rows["dgeqrf"]) < 0.002, done.stderr
    after, before = re.search(r"the run would take (-?[\d.]+) s instead of ([\d.]+) s", done.stderr).groups()
    assert 0 <= float(after) <= float(before), done.stderr


def report_attempts(t):
    """A call that fails on the device has left its attempt and what the CPU did then."""
    os.mkdir(t.path("bin"))
    shutil.copy(t.blaslift, t.path("bin"))
    os.symlink(t.fault, t.path("lib"))
    t.blaslift = t.path("bin/blaslift")
    _, report, timeline = t.recorded("mix", env=os.environ | {"INJECTED_FAULT": "8:lost"})
    sums_agree(report)
    check_schema(timeline)
    dgemm = report["routines"]["dgemm"]
    # Those behind the lost device are as small as the first: counted, not timed.
    assert dgemm["routed"] < 5 and dgemm["failed_seconds"] > 0, report
    attempts = [e for e in calls_of(timeline) if e["name"] == "dgemm (attempt)"]
    equal([e["args"]["reason"] for e in attempts], ["device failed, finished on the CPU"])


def report_many(t):
    """Thousands of calls, in one thread, need no more than their events."""
    _, report, timeline = t.recorded("many", "5000", options=["--backend", "host", "--force", "sgemm", "--trace", t.path("kept")])
    sums_agree(report)
    equal((report["recorded"], len(calls_of(timeline))), (5000, 5000))
    [name] = os.listdir(t.path("kept"))
    assert os.stat(os.path.join(t.path("kept"), name)).st_blocks * 512 < 3e6


def report_page(t):
    """In a browser: everything is there and can be seen, light and dark, with no request to the network and no complaint."""
    chromium = browser.find()
    if not chromium:
        print("SKIPPED: no chromium")
        sys.exit(SKIPPED)
    page = t.path("page.html")
    odd = t.path("<b>&\"odd\" name")
    shutil.copy(t.program, odd)
    done = t.run("report", "-q", "--html", page, *HOST, "--", odd, "tree", status=STATUS)
    equal(done.stderr, "")
    t.run("report", "-q", "--html", t.path("empty.html"), "--", t.program, "many", "1", status=STATUS)  # nothing was timed
    t.run("report", "-q", "--html", t.path("verified.html"), "--verify", "all", *HOST, "--", t.program, "tree", status=STATUS)
    with open(page) as f:
        text = f.read()
    assert not re.search(r"<script|https?://|@import|\bsrc=", text), "the page needs something else"
    with browser.Browser(chromium, t.path("profile")) as chrome:
        for name in ("page.html", "empty.html", "verified.html"):
            for width in (1200, 400):
                for scheme in ("light", "dark"):
                    chrome.open(f"file://{t.path(name)}", width, scheme)
                    equal(chrome.complaints, [])
                    equal([url for url in chrome.requests if not url.startswith(("file://" + t.path(name), "data:,"))], [])
                    seen = chrome.evaluate(LOOK)
                    equal(seen["sections"], ["verified"] * (name == "verified.html") +
                          ["time", "timeline", "sizes", "roofline", "reasons", "levels", "moved", "share"])
                    equal((seen["outside"], seen["overlapping"], seen["invisible"]), ([], [], []))
                    assert seen["scrolls"] <= 1, seen
                    assert (seen["back"] < 60) == (scheme == "dark") and abs(seen["back"] - seen["ink"]) > 120, seen
            if name == "page.html":
                assert seen["pictures"] >= 8 and seen["shapes"] > 30, seen
                chrome.open(f"file://{page}", 1200, "light")
                assert odd in chrome.evaluate("document.querySelector('.command').textContent")
                assert "dgemm" in chrome.evaluate("document.querySelector('#time table').innerText")
                assert chrome.evaluate("document.querySelectorAll('b').length") == 0
            if name == "verified.html":
                rows = chrome.evaluate("[...document.querySelectorAll('#verified table')].map(t => t.innerText)")
                assert len(rows) == 2 and "dgemm" in rows[0] and "right" in rows[1] and "ratio" in rows[1], rows
        chrome.open("data:text/html,<script>fetch('http://127.0.0.1:9/');console.error('x')</script>", 800, "light")
        assert chrome.complaints and any("127.0.0.1:9" in url for url in chrome.requests), "a fault would not have been seen"


LOOK = """(() => {
  const bright = color => { const [r, g, b] = color.match(/[\\d.]+/g).map(Number); return (r + g + b) / 3; };
  const outside = [], overlapping = [], invisible = [];
  for (const svg of document.querySelectorAll('svg')) {
    const frame = svg.getBoundingClientRect();
    const boxes = [...svg.querySelectorAll('text')].filter(t => t.textContent)
                      .map(t => [t.textContent, t.getBoundingClientRect()]);
    if (frame.width < 100 || frame.height < 10) invisible.push(svg.querySelector('title').textContent);
    for (const [words, box] of boxes)
      if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 1 || box.bottom > frame.bottom + 1)
        outside.push(words);
    for (let i = 0; i < boxes.length; ++i)
      for (let j = 0; j < i; ++j) {
        const a = boxes[i][1], b = boxes[j][1];
        const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
        const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        if (wide > 0.02 * frame.width && high > 0.5 * Math.min(a.height, b.height))
          overlapping.push(boxes[i][0] + ' / ' + boxes[j][0]);
      }
  }
  const style = getComputedStyle(document.body);
  return {sections: [...document.querySelectorAll('section')].map(s => s.id), outside, overlapping, invisible,
          pictures: document.querySelectorAll('svg').length, shapes: document.querySelectorAll('svg rect, svg circle').length,
          scrolls: document.documentElement.scrollWidth - document.documentElement.clientWidth,
          back: bright(style.backgroundColor), ink: bright(style.color)};
})()"""


def report_lines(t):
    """Lines of many processes, of several files, are added up by program and user; what is no line is said."""
    report = t.path("calls.jsonl")
    for how, status in ((["mix"], STATUS), (["mix"], STATUS)):
        t.run("run", "-q", *HOST, "--report", report, "--json", t.path("run.json"), "--", t.program, *how, status=status)
    lines = [json.loads(line) for line in open(report)]
    table = t.run("report", report, "--json", t.path("sums.json"))
    equal(table.stderr, "")
    [program] = t.json("sums.json")["programs"]
    equal((program["command"], program["processes"]), (lines[0]["command"], 2))
    close(program["seconds"], sum(line["seconds"] for line in lines))
    for sum_of in ("device_seconds", "cpu_seconds", "routed"):
        close(program[sum_of], sum(r[sum_of] for line in lines for r in line["routines"].values()))
    close(program["saved_seconds"], sum(r["saved_seconds"] for line in lines for r in line["routines"].values())
          - sum(line["opening_seconds"] for line in lines))
    equal(program["stayed"], sum(sum(r["stayed"].values()) for line in lines for r in line["routines"].values()))
    head, row = table.stdout.splitlines()[:2]
    equal(head.split(), "command user processes ran on GPU saved on CPU why on the CPU".split())
    equal(row.split()[:3], [lines[0]["command"], program["user"], "2"])
    assert row.endswith(program["first_reason"]), (row, program)
    # Of others' programs, of somebody whom the system does not know; a summary of a whole run; the reason is that of most
    # of the time, and a query only where there is no other.
    routine = {"routed": 1, "device_seconds": 2.0, "saved_seconds": 40.5, "cpu_seconds": 3.0,
               "stayed": {"too small": 9, "workspace query": 99, "no room": 1}, "stayed_seconds": {"no room": 2.5, "too small": 0.5}}
    other = {"command": "so\x1blver", "uid": 3999999999, "seconds": 7.5, "opening_seconds": 0.5, "cut_short": True, "routines": {"dgemm": routine}}
    query = other | {"command": "asks", "routines": {"dgesdd": {"stayed": {"workspace query": 1}}}, "uid": 3999999999}
    with open(t.path("others.jsonl"), "w") as f:
        f.write(json.dumps(other) + "\n\n" + json.dumps(query) + "\nnonsense\n{\"routines\": 3}\n{\"pid\": 1\n")
    table = t.run("report", report, t.path("others.jsonl"), t.path("run.json"), "--json", t.path("sums.json"))
    assert "\x1b" not in table.stdout and "others.jsonl: left out 3 lines: not understood" in table.stdout, table.stdout
    assert "2 processes were cut short" in table.stdout and re.search(r"^all  .* 5 ", table.stdout, re.M), table.stdout
    assert re.search(r"^so\\x1blver +3999999999 +1 +7.50 s +2.00 s +40.0 s +3.00 s +no room$", table.stdout, re.M), table.stdout
    programs = {p["command"]: p for p in t.json("sums.json")["programs"]}
    equal(list(programs)[0], "so\x1blver")
    equal((programs["asks"]["first_reason"], programs[lines[0]["command"]]["processes"]), ("workspace query", 3))
    assert programs[lines[0]["command"]]["seconds"] > sum(line["seconds"] for line in lines)
    equal(t.run("report", "-q", report).stdout, "")
    for arguments in ([report, "--html", t.path("page.html")], [report, "--timeline", "-"], [report, t.scratch], [report, "--", t.program]):
        done = t.run("report", *arguments, status=125)
        assert "--help" in done.stderr and not done.stdout, done
    with open(t.path("others.jsonl"), "a") as f:  # a line without end ends the file
        f.truncate(1 << 42)
        assert "left out 4 lines" in t.run("report", f.name).stdout
        f.truncate(0)
        f.truncate(1 << 42)
    for path in (t.program, f.name):
        assert "no recording, and no lines" in t.run("report", path, status=125).stderr
    done = t.run("report", t.program, status=125)
    assert "no recording, and no lines of BLASLIFT_REPORT" in done.stderr and f"blaslift report -- {t.program}" in done.stderr, done


def report_fails(t):
    """What is no recording is said so; a trace that cannot be written leaves the program alone."""
    with open(t.path("file"), "w") as f:
        f.write("no recording" * 100000)
    os.mkdir(t.path("empty"))
    os.mkdir(t.path("others"))
    shutil.copy(t.path("file"), t.path("others/file"))
    for name in ("nothing", "file", "empty", "others"):
        done = t.run("report", t.path(name), status=125)
        assert not done.stdout and done.stderr.startswith("blaslift: " + t.path(name)) and done.stderr.count("\n") == 1, done
    for arguments in ([], [t.path("empty"), "--", t.program, "mix"], [t.path("empty"), "--backend", "host"], ["--nonsense"]):
        done = t.run("report", *arguments, status=None)
        assert done.returncode == 125 and "--help" in done.stderr, done
    t.run("report", "-q", "--", "/nowhere/at/all", status=127)
    nothing = t.run("report", "--", "true")
    assert "no call" in nothing.stderr, nothing
    # The directory cannot be made, or is a file: warned about, once, and nothing else.
    for where in ("/proc/nowhere/trace", t.path("file")):
        done = t.run("run", "-q", "--trace", where, *HOST, t.program, "mix", status=STATUS)
        assert done.stderr.startswith("blaslift: there will be no trace: " + where) and done.stderr.count("\n") == 1, done
    # A file that is cut off, and one with nonsense in its events, beside a good one.
    t.run("run", "-q", "--trace", t.path("kept"), *HOST, t.program, "mix", status=STATUS)
    [name] = os.listdir(t.path("kept"))
    whole = os.path.join(t.path("kept"), name)
    with open(whole, "rb") as f:
        data = f.read()
    with open(os.path.join(t.path("kept"), "short"), "wb") as f:
        f.write(data[:5000])
    with open(os.path.join(t.path("kept"), "cut"), "wb") as f:
        f.write(data[: len(data) - 311296])
    with open(os.path.join(t.path("kept"), "wild"), "wb") as f:
        f.write(data[:-311296] + bytes(b ^ 0xA5 if b else 0 for b in data[-311296:]))
    done = t.run("report", t.path("kept"), "--html", t.path("page.html"), "--timeline", t.path("timeline.json"), "--json",
                 t.path("report.json"))
    equal(t.json("report.json")["processes"], 3)
    check_schema(t.json("timeline.json")["traceEvents"])
    assert "short: no trace" in done.stdout and "were being written" in done.stdout, done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--blaslift", required=True)
    parser.add_argument("--program", required=True)
    parser.add_argument("--fault", required=True, help="directory of the library with the stand-in for the host backend")
    parser.add_argument("case")
    arguments = parser.parse_args()
    with harness.scratch(OPENBLAS_NUM_THREADS="1") as scratch:
        os.environ["XDG_CACHE_HOME"] = os.path.join(scratch, "cache")
        try:
            globals()[arguments.case](Context(arguments.blaslift, arguments.program, arguments.fault, scratch))
        except harness.Skip as why:
            print("SKIPPED:", why)
            sys.exit(SKIPPED)
    print(arguments.case, "ok")


if __name__ == "__main__":
    sys.exit(main())
