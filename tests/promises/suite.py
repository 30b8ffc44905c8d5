"""What every routine promises, asked of each that has joined the suite (suite/*.cpp): suite.MEMBER.ASPECT.

The program draws random calls, checks them, and says what it has called; here it is run in every mode and over every
library, and compared with what blaslift says it did. Which routines there are, the program and the library say.
"""

from __future__ import annotations

import functools
import json
import os
import re
import shutil
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import harness
from faults import FAILED, NO_DEVICE, NO_ROOM
from harness import HELPED, INVALID_ARGUMENTS, NOTHING_TO_MULTIPLY, OF_LIBRARY, OVERLAP, TOO_SMALL, WORKSPACE_QUERY, Run
from setting import FORCED, SANITIZER_OPTIONS, Setting, labelled, told, verdict_errors

CALLS = "216"
"""In each precision: all combinations of what is drawn first."""


def count_of_calls(s: Setting) -> str:
    return "72" if s.sanitizer else CALLS

WIDE = {"SUITE_INTEGERS": "64", "LD_LIBRARY_PATH": ":".join(str(harness.LIBRARIES / name) for name in ("blas64", "lapack64"))}
"""The libraries of 64-bit integers, under the same names."""

LARGE = "400"
"""Rows and columns, about, of which devices exchange pieces."""

NOT_EXCHANGED = {"sgemm_batch_strided"}
"""Members, by their first routine, whose parts have nothing in common."""

OWN = {"wsymv"}
# Of processes that compute together: tests/scalapack.
DISTRIBUTED = set(re.findall(r"^DISTRIBUTED\(\w+, (\w+),", (Path(__file__).resolve().parents[2] / "api/scalapack.def").read_text(), re.MULTILINE))
"""Routines of blaslift's own, which no library underneath has (wsymv_semantics)."""

NARROW_PANELS = "".join(f"{precision}qr_widths 1 any:6x3\n" for precision in "sdcz")
"""A profile by which a small QR has products."""

WRONG = 123


@dataclass(frozen=True)
class Member:
    name: str
    routines: tuple[str, ...]
    modes: dict[str, dict[str, str]]
    """Beside natural and forced ones."""
    mistake: str
    fault_memory: str
    fault_sizes: tuple[str, ...]
    overlap: bool
    moves_outputs: bool
    calls_others: bool
    """The library's own call others of our routines, which then are counted, too."""
    in_device_memory: bool
    """Calls whose operands are all there are computed."""
    bytes_on_device: int
    of_host: bool
    """No device computes it: even forced calls stay, and of those that are made half are to be made by several threads."""
    dealt: bool
    """It falls into parts, which several devices compute."""
    together: bool
    """These need each other's pieces."""


def members(s: Setting) -> dict[str, Member]:
    """What has joined, as the program says."""
    listed = json.loads(subprocess.run([s.programs / "suite", "--list"], capture_output=True, text=True, check=True).stdout)
    found = {}
    for name, facts in listed.items():
        modes = {}
        for mode in filter(None, facts["modes"].split(";")):
            title, *variables = mode.split()
            modes[title] = FORCED | dict(variable.split("=", 1) for variable in variables)
        found[name] = Member(name, tuple(facts["routines"]), modes, facts["mistake"], facts["fault_memory"], tuple(facts["fault_sizes"].split()),
                             facts["overlap"], facts["moves_outputs"], facts["calls_others"], facts["in_device_memory"], facts["bytes_on_device"], facts["of_host"], facts["dealt"], facts["together"])
    return found


@functools.cache
def exported_by(library: Path) -> frozenset[str]:
    lines = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    return frozenset(match[1] for match in re.finditer(r" T (?!scipy_|cblas_|blaslift_)([a-z]\w*?)_\n", lines) if "_64" not in match[1])


def exported(s: Setting) -> frozenset[str]:
    """The routines that blaslift intercepts, by their Fortran symbols."""
    return exported_by(s.library)


def suite_members(s: Setting) -> list[str]:
    """Whatever is intercepted has joined."""
    joined = {routine for member in members(s).values() for routine in member.routines}
    print(f"{len(joined)} routines")
    return [f"{routine} is intercepted and has not joined" for routine in sorted(exported(s) - joined - OWN - DISTRIBUTED)]


def bookkeeping_errors(total: dict[str, harness.Account]) -> list[str]:
    """Every call is either routed or stayed for a reason."""
    return [
        f"{name}: {account.calls} calls, {account.routed} routed, stayed {dict(account.stayed)}"
        for name, account in total.items()
        if account.calls != account.routed + sum(account.stayed.values())
    ]


def counted_errors(
    s: Setting, m: Member, run: Run, *, routed: bool | None, stayed: set[str] = frozenset(), strict: bool = True
) -> list[str]:
    """What was called is what was counted: all routed, or none and for these reasons.

    What is not intercepted is not counted. Routines that the library underneath calls are, too: unless `strict`, or where it
    is known to call such; there even a call that it does not compute asks it for the best size of the workspace, and it asks
    others.
    """
    calls = {name: count for name, count in told(run).items() if name in exported(s)}
    if not calls:
        return []
    if len(run.reports) != 1:
        return [f"{len(run.reports)} reports from one process that tells of {calls}"]
    total = harness.accounts(run.reports)
    total = {name: account for name, account in total.items() if name in calls or name not in harness.COPIES}  # of LAPACK's own
    errors = bookkeeping_errors(total)
    inside = m.calls_others and any(total[name].stayed for name in calls if name in total)
    asked = {name for name, account in total.items() if m.calls_others and not account.routed and set(account.stayed) <= {WORKSPACE_QUERY}}
    others = set(total) - asked if strict and not inside else set()
    counted = {name: account.calls for name, account in total.items() if name in calls or name in others}
    if counted != calls:
        errors.append(f"called {calls}, counted {counted}")
    for name, account in total.items():
        if name not in calls:
            continue
        if routed is not None and account.routed != (account.calls if routed else 0):
            errors.append(f"{name}: {account.routed} of {account.calls} calls routed; stayed: {dict(account.stayed)}")
        if not routed and strict and set(account.stayed) - stayed:
            errors.append(f"{name}: stayed for {dict(account.stayed)}, not only for {stayed}")
    return errors


def helped_errors(run: Run, *, half: bool) -> list[str]:
    """Of what no device computes."""
    return [
        f"{name}: of {account.calls} calls, {account.stayed}"
        for name, account in harness.accounts(run.reports).items()
        if half and name in told(run) and 2 * account.stayed[HELPED] != (account.calls if len(os.sched_getaffinity(0)) > 1 else 0)
    ]


def modes_of(s: Setting, m: Member) -> dict[str, dict[str, str]]:
    """Under sanitizers, which make every run long, the one in which the most happens."""
    return dict([*({"forced": FORCED} | m.modes).items()][-1:] if s.sanitizer else ({"natural": {}, "forced": FORCED} | m.modes).items())


def semantics(s: Setting, m: Member) -> list[str]:
    """Random calls are right in every interface and mode, with NaN where nothing may be read, canaries where nothing may
    be written, and Inf and NaN in operands; with 32-bit and 64-bit integers."""
    errors = []
    runs = [(provider, mode, settings, {}) for provider in s.providers for mode, settings in modes_of(s, m).items()]
    if not s.sanitizer and all(Path(folder).is_dir() for folder in WIDE["LD_LIBRARY_PATH"].split(":")):
        runs.append(("reference", "64-bit integers", FORCED, WIDE))
    for provider, mode, settings, environment in runs:
        if mode == "natural" and provider != "reference":
            continue  # libraries have their ways with NaN
        run = s.run("suite", m.name, "semantics", count_of_calls(s), provider=provider, settings=settings, **environment)
        found = verdict_errors(run)
        routed = mode != "natural"
        if mode in ("parts", "panels"):  # of what needs some of its operands at once, there are some for which memory is too little
            found += counted_errors(s, m, run, routed=None, stayed={NO_ROOM})
            for name, account in harness.accounts(run.reports).items():
                if name in told(run) and account.routed < 0.8 * account.calls:
                    found.append(f"{name}: {account.routed} of {account.calls} calls routed")
        elif m.of_host:
            found += counted_errors(s, m, run, routed=False, stayed={HELPED, TOO_SMALL}) + helped_errors(run, half=routed)
        else:
            found += counted_errors(s, m, run, routed=routed, strict=routed)
        accounts = harness.accounts(run.reports)
        if mode == "levels" and not all(account.levels for account in accounts.values()):
            found.append("nothing was computed by levels")
        if mode.startswith("residues") and not all(account.residues for account in accounts.values()):
            found.append("nothing was computed by residues")
        if mode == "systolic":
            found += [f"{name}: {account.systolic} of {account.routed} by systolic arrays" for name, account in accounts.items()
                      if name in m.routines and (account.systolic > 0) != (name[0] in "sd")]
        # In parts, operands are sent more than once; in panels, all are there once, and faults() counts the operations.
        if "BLASLIFT_MEMORY" in settings and mode != "panels" and provider == "reference" and not s.sanitizer:
            ample = s.run("suite", m.name, "semantics", count_of_calls(s), settings=settings | {"BLASLIFT_MEMORY": "64M"})
            once = harness.accounts(ample.reports)
            own = [name for name in m.routines if name in accounts]
            if own and all(accounts[name].bytes_in <= once[name].bytes_in for name in own):
                found.append(f"nothing was sent again: {accounts}, and {once} with enough memory")
        errors += labelled(f"{provider} {mode}", found)
        print(f"{provider} {mode}: {told(run)}")
    return errors


def as_without(s: Setting, m: Member, part: str, stayed: set[str]) -> list[str]:
    """Calls that the library underneath computes end as without blaslift, for these reasons; over the reference they are
    right, too: others have their ways."""
    errors = []
    # That a library's memcpy goes from one operand to another is what is wanted here.
    checks = {"ASAN_OPTIONS": f"{SANITIZER_OPTIONS['ASAN_OPTIONS']}:replace_intrin=0"} if part == "overlap" else {}
    for provider in s.providers:
        plain = s.run("suite", m.name, part, provider=provider, preload=False, **checks)
        if provider == "reference":
            errors += labelled(f"without blaslift, {part}", verdict_errors(plain))
        if part == "invalid" and re.search("refused 0 of [1-9]", plain.stdout):
            errors.append(f"{provider}: the library refuses nothing")
        # What the library underneath calls meanwhile is to stay, or the bits were others.
        forced = FORCED | ({"BLASLIFT_FORCE": ",".join(m.routines)} if m.calls_others else {})
        for mode, settings in ({"forced": forced} if s.sanitizer or not s.takes(provider) else {"natural": {}, "forced": forced}).items():
            run = s.run("suite", m.name, part, provider=provider, settings=settings, **checks)
            found = counted_errors(s, m, run, routed=False, stayed=stayed, strict=mode == "forced")
            if (run.status, run.stdout, run.stderr) != (plain.status, plain.stdout, plain.stderr):
                differ = [f"{b!r} became {a!r}" for a, b in zip(run.stdout.splitlines(), plain.stdout.splitlines()) if a != b]
                found += [f"not as without blaslift: status {plain.status}, now {run.status}, {run.stderr!r}", *differ[:5]]
            errors += labelled(f"{provider} {part} {mode}", found)
        print(f"{provider} {part}: {told(plain)}")
    return errors


def stays(s: Setting, m: Member) -> list[str]:
    """What has nothing to compute, or is invalid, or asks for a workspace."""
    errors = as_without(s, m, "nothing", {NOTHING_TO_MULTIPLY})
    errors += as_without(s, m, "invalid", {INVALID_ARGUMENTS, NOTHING_TO_MULTIPLY, WORKSPACE_QUERY})
    return errors + as_without(s, m, "queries", {WORKSPACE_QUERY})


def overlap(s: Setting, m: Member) -> list[str]:
    """Outputs in the memory of another operand: the bits of the library underneath."""
    return as_without(s, m, "overlap", {OVERLAP, TOO_SMALL} if m.of_host else {OVERLAP}) if m.overlap else []


def faults(s: Setting, m: Member) -> list[str]:
    """Each operation of two calls fails in turn: in one block, in little memory, by levels and with copies. Results are
    right every time, and nothing beside them is written."""
    if m.routines[0] not in exported(s):
        return []
    errors = []
    precisions = sorted({routine[0] for routine in m.routines}, key="dzsc".index)
    # Copies' self-test is half of a child's time.
    bare = FORCED if harness.AT_LENGTH else FORCED | {"BLASLIFT_RESIDENCY": "off"}
    variants = {
        "one block": bare,
        "little memory": bare | {"BLASLIFT_MEMORY": m.fault_memory},
        "copies": FORCED | {"BLASLIFT_RESIDENCY": "always", "BLASLIFT_MEMORY": "1M"},
        **{mode: bare | settings for mode, settings in m.modes.items() if mode in ("levels", "residues")},
    }
    for number, (variant, settings) in enumerate(variants.items()):
        if s.sanitizer and variant not in (("little memory", "copies") if harness.AT_LENGTH else ("little memory",)):
            continue
        largest = max(precisions, key="sdcz".index)
        precision = largest if variant == "little memory" else precisions[number % len(precisions)]
        # By levels even a small product has some hundred operations.
        sizes = ("3", "5") if variant == "levels" else ("6", "9") if s.sanitizer else ("9", "12")
        if variant == "little memory" and m.fault_sizes:
            sizes = m.fault_sizes
        run = s.run("suite", m.name, "faults", precision, str(number), *sizes, settings=settings, library=s.fault_library,
                    timeout=200)
        errors += labelled(f"{variant} {precision}", fault_errors(s, m, run, variant))
        if variant == "little memory" and "panels" in m.modes:
            ample = s.run("suite", m.name, "faults", precision, str(number), *sizes, settings=bare, library=s.fault_library,
                          timeout=200)
            few, many = operations_of(ample), operations_of(run)
            print(f"{many} operations, {few} with enough memory")
            if many <= few:
                errors.append(f"{many} operations in little memory, {few} with enough: there were no panels")
    return errors


def operations_of(run: Run) -> int:
    """How many a program of faults has counted."""
    return sum(int(line.split()[1]) for line in run.stdout.splitlines() if line.startswith("operations "))


def fault_errors(s: Setting, m: Member, run: Run, variant: str) -> list[str]:
    errors = [error for error in verdict_errors(run) if "stderr" not in error]
    children = [line.split()[1] for line in run.stdout.splitlines() if line.startswith("child ")]
    brings = [int(line.split()[1].rstrip(":")) for line in run.stdout.splitlines() if line.startswith("brings ")]
    if len(run.reports) != len(children):
        return [*errors, f"{len(run.reports)} reports from {len(children)} children"]
    struck = partly = 0
    calls = None
    for fault, report in zip(children, run.reports):
        total = {name: account for name, account in harness.accounts([report]).items() if name in m.routines}
        stayed = sum((account.stayed for account in total.values()), Counter())
        made = {name: account.calls for name, account in total.items()}
        out = sum(account.bytes_out for account in total.values())
        calls = calls or made  # of the child without a fault
        good = made == calls and set(stayed) <= {FAILED, NO_ROOM, NO_DEVICE, OF_LIBRARY}
        if fault == "0":
            good = good and not stayed and (out == sum(brings) or not m.moves_outputs)
            good = good and (variant != "residues" or any(account.residues for account in total.values()))
        if fault == "never":
            good = good and not any(account.routed for account in total.values())
        # With copies, a device may be lost where it is not needed any more.
        if "lost" in fault and variant != "copies":
            good = good and bool(stayed)
        if not good:
            errors.append(f"{fault}: {total}, due {brings} bytes")
        errors += labelled(fault, bookkeeping_errors(total))
        struck += bool(stayed)
        partly += out not in (0, *brings, sum(brings))
    if struck < (0.25 if variant == "copies" else 0.4) * len(children):  # others hit a copy, or what was over
        errors.append(f"only {struck} of {len(children)} faults struck")
    if variant == "little memory" and "blocks" in m.modes and not partly:
        errors.append("no fault struck between two pieces of one result")
    print(f"{variant}: {calls}, {len(children)} children, {struck} struck, {partly} with a part of a result")
    return errors


def copies(s: Setting, m: Member) -> list[str]:
    """The same operands again, elements of which are written in between; and operands anywhere in one array, also what
    others have left there. Copies are used, and never stale."""
    errors = []
    brief = {"again": ("off", "always"), "shared": ("auto", "always")}
    for part in ("again", "shared"):
        for mode in ("always",) if s.sanitizer else ("off", "auto", "always") if harness.AT_LENGTH else brief[part]:
            run = s.run("suite", m.name, part, settings=FORCED | {"BLASLIFT_RESIDENCY": mode})
            found = verdict_errors(run) + counted_errors(s, m, run, routed=True)
            spared = sum(report["routines"][name]["bytes_spared"] for report in run.reports for name in report["routines"])
            if mode == "off" and spared:
                found.append(f"{spared} bytes spared")
            # A sanitizer writes where it likes.
            kept = mode == "always" and part == "shared" and not s.sanitizer and m.routines[0] in exported(s)
            if kept and run.reports and run.reports[0]["residency"] == "on" and not spared:
                found.append("no copy was used")
            errors += labelled(f"{part}, copies {mode}", found)
            print(f"{part}, copies {mode}: {spared} bytes spared")
    return errors


def threads(s: Setting, m: Member) -> list[str]:
    """8 threads call with the same inputs at once, which are written while none of them does; with and without room."""
    errors = []
    for mode, memory in (("off", "64M"), ("always", "64M"), ("always", "2M"))[1 if s.sanitizer else 0 :]:
        run = s.run("suite", m.name, "threads", settings=FORCED | {"BLASLIFT_RESIDENCY": mode, "BLASLIFT_MEMORY": memory})
        found = verdict_errors(run) + counted_errors(s, m, run, routed=not m.of_host, stayed={HELPED, TOO_SMALL})
        errors += labelled(f"copies {mode}, memory {memory}", found)
        print(f"copies {mode}, memory {memory}: {told(run)}")
    return errors


def device(s: Setting, m: Member) -> list[str]:
    """Operands that are in device memory are computed where they are: nothing moves but the ones of a Q. Or such calls
    say that they are not computed."""
    there = {"settings": FORCED, "library": s.fault_library, "INJECTED_DEVICE_MEMORY": f"{m.bytes_on_device}:{1 << 40}"}
    run = s.run("suite", m.name, "semantics", count_of_calls(s), **there)
    if not m.in_device_memory:
        return harness.left_undone_errors(run, told(run))
    errors = verdict_errors(run) + counted_errors(s, m, run, routed=True)
    errors += labelled("nothing to compute", verdict_errors(s.run("suite", m.name, "nothing", **there)))
    for name, account in harness.accounts(run.reports).items():
        if account.bytes_out or (account.bytes_in and name[1:4] not in ("org", "ung")):
            errors.append(f"{name}: {account.bytes_in} bytes in, {account.bytes_out} out")
    return errors


OF_OTHERS = {"geqr"}
"""Beside the routine whose member has them: devices compute these together, as geqrf."""


def places(s: Setting, m: Member) -> list[str]:
    """Calls dealt out over 2 to 7 devices are right, also by 8 threads at once, verified, in little memory, and with each
    operation of any of the devices failing in turn; most of them are dealt out, and none of what does not fall into parts."""
    errors = []
    for devices in ("3",) if s.sanitizer else ("2", "3", "4", "7"):
        runs = {
            "": ("semantics", "72", {}),
            "little memory, ": ("semantics", "72", {"BLASLIFT_MEMORY": m.fault_memory}),
            "verified, ": ("semantics", "72", {"BLASLIFT_VERIFY": "all"}),
            "copies, ": ("again", None, {"BLASLIFT_RESIDENCY": "always"}),
            "shared, ": ("shared", None, {"BLASLIFT_RESIDENCY": "always"}),
            "threads, ": ("threads", None, {}),
        }
        if any(mode.startswith("residues") for mode in m.modes):
            runs["by residues, "] = ("semantics", "72", {"BLASLIFT_PRODUCTS": "residues"})
        for title, (part, count, more) in runs.items():
            if title and devices != "3":
                continue
            run = s.run("suite", m.name, part, *([count] if count else []), settings=FORCED | {"BLASLIFT_DEVICES": devices} | more, timeout=200)
            found = verdict_errors(run)
            if not m.fault_sizes or "BLASLIFT_MEMORY" not in more:
                found += counted_errors(s, m, run, routed=None if "BLASLIFT_MEMORY" in more else True, stayed={NO_ROOM})
            accounts = harness.accounts(run.reports)
            for name in (name for name in told(run) if name in exported(s) and name in m.routines):
                account = accounts[name]
                # Of one column there is but one part; and with other threads' calls a worker may be busy.  What devices
                # compute together needs all of its memory at each.
                dealt = m.dealt or name[1:] in OF_OTHERS
                least = 0.6 * account.routed if dealt and count and not ((m.together or name[1:] in OF_OTHERS) and "BLASLIFT_MEMORY" in more) else 0
                if account.dealt < least or (account.dealt > 0) != dealt:
                    found.append(f"{name}: {account.dealt} of {account.routed} calls were dealt out")
                kept = part == "shared" and m.dealt and not m.together and run.reports[0]["residency"] == "on" and not s.sanitizer
                if kept and not run.reports[0]["routines"][name]["bytes_spared"]:
                    found.append(f"{name}: no copy was used")
                if "BLASLIFT_PRODUCTS" in more and not account.residues:
                    found.append(f"{name}: nothing was computed by residues")
                if "BLASLIFT_VERIFY" in more:
                    checked = verified(run.reports[0], name)
                    if checked["wrong"] or checked["checked"] != checked["repeated"]:
                        found.append(f"{name}: {checked}, {run.reports[0]['worst'][:3]}")
            errors += labelled(f"{title}{devices} devices", found)
            print(f"{title}{devices} devices: { {name: f'{x.dealt} of {x.routed}' for name, x in accounts.items()} }")
    if m.dealt and not s.sanitizer and m.routines[0] in exported(s) and m.routines[0] not in NOT_EXCHANGED:
        # So large that the devices' threads move it, and not the calling ones.
        run = s.run("suite", m.name, "large", "2" if harness.AT_LENGTH else "1", LARGE, settings=FORCED | {"BLASLIFT_DEVICES": "3", "BLASLIFT_RESIDENCY": "off"}, timeout=200)
        found = verdict_errors(run)
        counters = [report["routines"][name] for report in run.reports for name in report["routines"] if name in m.routines]
        exchanged, moved = (sum(x[what] for x in counters) for what in ("bytes_exchanged", "bytes_in"))
        print(f"large ones: {exchanged} of {moved} bytes from device to device")
        if not 0 < exchanged or (exchanged >= moved and not m.together):  # pieces of the result, to all others
            found.append(f"{exchanged} of {moved} bytes from device to device")
        errors += labelled("large", found)
    if not s.sanitizer and m.routines[0] in exported(s):
        precision = max((routine[0] for routine in m.routines), key="sdcz".index)
        run = s.run("suite", m.name, "faults", precision, "0", "9", "12", settings=FORCED | {"BLASLIFT_DEVICES": "3", "BLASLIFT_RESIDENCY": "always" if harness.AT_LENGTH else "off"}, library=s.fault_library, timeout=300)
        found = [error for error in verdict_errors(run) if "stderr" not in error]
        struck = 0
        for fault, report in zip((line.split()[1] for line in run.stdout.splitlines() if line.startswith("child ")), run.reports):
            total = {name: account for name, account in harness.accounts([report]).items() if name in m.routines}
            found += labelled(fault, bookkeeping_errors(total))
            # What devices have not computed together the first one has, alone.
            struck += any(account.stayed or (m.together and account.dealt < account.calls) for account in total.values())
            if fault == "0" and m.dealt and not all(account.dealt == account.calls for account in total.values()):
                found.append(f"without a fault: {total}")
        print(f"faults: {len(run.reports)} children, {struck} struck")
        if len(run.reports) < 30 or struck < 0.15 * len(run.reports):
            found.append(f"{struck} of {len(run.reports)} faults struck")
        errors += labelled("faults", found)
    return errors


def verified(report: dict, name: str) -> dict:
    return report["routines"][name].get("verified", {"checked": 0, "wrong": 0, "repeated": 0})


def verify(s: Setting, m: Member) -> list[str]:
    """Verification finds nothing in what is right, and in every routine the mistake that a device makes."""
    errors = []
    checked = [name for name in m.routines if name in exported(s)]
    parts = {"semantics": ("semantics", count_of_calls(s)), "again": ("again",)}
    for part, arguments in parts.items():
        settings = FORCED | {"BLASLIFT_VERIFY": "all"} | ({"BLASLIFT_RESIDENCY": "always"} if part == "again" else {})
        run = s.run("suite", m.name, *arguments, settings=settings, timeout=200)
        found = verdict_errors(run) + counted_errors(s, m, run, routed=not m.of_host, stayed={HELPED, TOO_SMALL})
        for name in () if m.of_host else checked:
            account = verified(run.reports[0], name)
            if account["wrong"] or account["checked"] != told(run)[name] or account["repeated"] != account["checked"]:
                found.append(f"{name}: {told(run)[name]} calls, {account}, {run.reports[0]['worst'][:3]}")
        errors += labelled(part, found)
    if m.of_host:
        return errors
    with harness.scratch() as scratch:
        run = mistaken(s, m, Path(scratch))
        for name in checked:
            account = verified(run.reports[0], name)
            print(f"mistaken {name}: {account}")
            if not account["wrong"]:
                errors.append(f"{name}: the mistake was not found: {account}")
    return errors


def mistaken(s: Setting, m: Member, scratch: Path, **settings: str) -> Run:
    """On a device that computes wrongly."""
    profile = scratch / "profile"
    profile.write_text(NARROW_PANELS)
    settings = FORCED | {"BLASLIFT_VERIFY": "all", "BLASLIFT_PROFILE": str(profile)} | settings
    return s.run("suite", m.name, "large", "3", settings=settings, library=s.fault_library, INJECTED_MISTAKE=m.mistake)


def replay(s: Setting, m: Member) -> list[str]:
    """Calls that were found wrong and kept are wrong again where the mistake is, and right where it is not."""
    if s.blaslift is None:
        raise harness.Skip("the command is not built")
    errors = []
    kinds = set()
    with harness.scratch(**harness.provider_environment("reference")) as scratch:
        (Path(scratch) / "bin").mkdir()
        command = shutil.copy(s.blaslift, Path(scratch) / "bin")
        os.symlink(s.fault_library.parent, Path(scratch) / "lib")  # beside which the command finds its library
        kept = Path(scratch) / "kept"
        kept.mkdir()
        mistaken(s, m, Path(scratch), BLASLIFT_VERIFY_DUMP=str(kept))
        for record in sorted(kept.iterdir()):
            kinds.add(record.name.split("-")[0])
            for mistake, due in ((m.mistake, WRONG), (None, 0)):
                environment = os.environ | ({"INJECTED_MISTAKE": mistake} if mistake else {})
                own = [] if f"library {harness.LIBRARIES}" in record.read_text(errors="replace") else ["--trust"]  # newer.so
                done = subprocess.run([command, "replay", *own, record], capture_output=True, text=True, timeout=60, env=environment)
                if done.returncode != due:
                    errors.append(f"{record.name}, {mistake}: {done.returncode}, not {due}: {done.stderr[-600:]}")
    print(f"records of {sorted(kinds)}")
    if m.routines[0] in exported(s) and not kinds:
        errors.append("no call was kept")
    return errors


ASPECTS = {test.__name__: test for test in (semantics, stays, overlap, faults, copies, threads, places, device, verify, replay)}


def promise_of(name: str):
    """The test of that name, "MEMBER.ASPECT" or "members"."""
    if name == "members":
        return suite_members
    member, _, aspect = name.partition(".")
    return functools.partial(promise, member, ASPECTS[aspect])


def promise(member: str, aspect, s: Setting) -> list[str]:
    return aspect(s, members(s)[member])
