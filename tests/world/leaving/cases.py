"""Leaving in the middle, coming in sideways: jumps, unwinding and cancellation out of calls, children that are not told
what they are, calls from signal handlers, and first calls where there is hardly any stack.

Each case runs with routes forced on the host backend, where the counters must say that calls were routed, and as a user
has it who sets nothing.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from pathlib import Path

import harness
from harness import Preload

REFERENCE = "reference"
PATIENCE = 60.0


def program(world, name: str) -> Path:
    flags = ["-D_GNU_SOURCE", "-Wall", "-Wextra", "-Wl,--no-as-needed", "-l:liblapack.so.3", "-l:libblas.so.3", "-lpthread"]
    if name == "refusals":
        flags = ["-fnon-call-exceptions", "-rdynamic", *flags[1:]]
    return world.compile(f"{name}.cpp" if name == "refusals" else f"{name}.c", *flags)


def ways(world) -> dict[str, Preload]:
    return {"forced": Preload.forced(world.lib, "host"), "natural": Preload.natural(world.lib)}


def run(command: list, preload: Preload | None) -> harness.Run:
    return harness.run(command, environment=harness.provider_environment(REFERENCE), preload=preload, timeout=PATIENCE)


def numbers(done: harness.Run) -> list[int]:
    return [int(word) for word in done.stdout.split()] if re.fullmatch(r"[\d \n]+", done.stdout) else []


def judged(name: str, done: harness.Run, expected: str = "") -> list[str]:
    """Its end; `expected`: what it prints, as a pattern."""
    told = f"{name}: status {done.status}, '{done.stdout.strip()}' {done.stderr.strip()[-300:]}"
    return [] if done.status == 0 and re.fullmatch(expected or r"[\d \n]*", done.stdout.strip()) else [told]


def counted(done: harness.Run, routine: str = "dgemm") -> tuple[int, int]:
    """Calls, and those that were routed."""
    account = harness.accounts(done.reports).get(routine)
    return (account.calls, account.routed) if account else (0, 0)


def after_jumps(world, how: str, rounds: int) -> list[str]:
    errors = []
    for name, preload in ways(world).items():
        for _ in range(4):  # on a busy machine calls may end before the timer does: then none is left
            done = run([program(world, "jumps"), how, "260" if how == "solves" else "200", str(rounds)], preload)
            found = judged(f"{how}, {name}", done)
            if found or numbers(done)[1] >= rounds // 20 or numbers(done)[4]:
                break
        if not found:
            finished, left, later, others, wrong = numbers(done)
            if how == "solves":  # the other thread multiplies
                others = 0
            calls, routed = counted(done, "dgelss" if how == "solves" else "dgemm")
            if left < rounds // 20 or wrong:
                found.append(f"{how}, {name}: {left} of {rounds} calls left, {wrong} results wrong")
            # Also calls that were left may have been counted: they had ended.
            least = finished + later + others
            if not least <= calls <= least + left:
                found.append(f"{how}, {name}: {least} calls came back and {left} did not, {calls} are counted")
            if how == "solves" and name == "forced" and counted(done, "dgebrd")[1] == 0:
                found.append("solves: nothing that LAPACK's driver calls was routed")
            if name == "forced" and routed < later + others:
                found.append(f"{how}: {routed} of {calls} calls routed, of {later + others} after a jump or beside it")
        errors += found
    return errors


def jumps(world) -> list[str]:
    """A handler of SIGALRM leaves by siglongjmp; another thread goes on, and later calls are served."""
    return after_jumps(world, "jump", 40)


def exits(world) -> list[str]:
    """A handler ends its thread by pthread_exit, which unwinds through the call."""
    return after_jumps(world, "exit", 40)


def lifted_jumps(world) -> list[str]:
    """A handler jumps out of LAPACK's own driver, which a route has called and whose calls are routed in turn."""
    return after_jumps(world, "solves", 40)


def profiling_jumps(world) -> list[str]:
    """The same for a timer of the time that is computed."""
    return after_jumps(world, "profile", 40)


def cancelled(world) -> list[str]:
    """Threads are cancelled at any instruction: each ends, as cancelled, and its cleanup runs."""
    errors = []
    verified = Preload(world.lib, {"BLASLIFT_BACKEND": "host", "BLASLIFT_FORCE": "all", "BLASLIFT_VERIFY": "all"})
    for name, preload in (ways(world) | {"verified": verified}).items():
        threads = 30 if name == "verified" else 60
        done = run([program(world, "cancelled"), "110", str(threads)], preload)
        errors += judged(f"cancelled, {name}", done, f"{threads} {threads} 0")
        if name == "forced" and counted(done)[1] == 0:
            errors.append("cancelled: no call routed")
    return errors


def refusals(world) -> list[str]:
    """An xerbla that throws or jumps, and a handler that throws, leave nothing behind."""
    errors = []
    verified = Preload(world.lib, {"BLASLIFT_BACKEND": "host", "BLASLIFT_FORCE": "all", "BLASLIFT_VERIFY": "all"})
    for name, preload in (ways(world) | {"verified": verified}).items():
        done = run([program(world, "refusals")], preload)
        errors += judged(f"refusals, {name}", done, "40 12 0")
        if name == "forced" and counted(done)[1] < 40:
            errors.append(f"refusals: {counted(done)} calls and routed")
    return errors


def faults(world) -> list[str]:
    """A handler of SIGSEGV jumps out of a call, on the thread that calls: what that calls later is served."""
    errors = []
    for n in (40, 200):
        done = run([program(world, "faults"), str(n), "5"], Preload.forced(world.lib, "host"))
        errors += judged(f"faults, {n}", done, "5 5 0")
        if counted(done)[1] < 5:
            errors.append(f"faults, {n}: {counted(done)[1]} of the 5 calls afterwards routed")
    return errors


def interrupted(world) -> list[str]:
    """A signal that the program does not handle ends it in the middle of a long call."""
    errors = []
    target = program(world, "interrupted")
    environment = harness.clean_environment(harness.provider_environment(REFERENCE))
    environment |= {"LD_PRELOAD": str(world.lib), "BLASLIFT_BACKEND": "host", "BLASLIFT_FORCE": "all"}
    for one in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM):
        # 30 seconds and more, on the reference BLAS.
        process = subprocess.Popen([target, "4000"], env=environment, stdout=subprocess.PIPE, text=True)
        process.stdout.readline()
        time.sleep(0.5)
        start = time.monotonic()
        process.send_signal(one)
        try:
            status = process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            status = process.wait()
        if status != -one:
            errors.append(f"{one.name}: status {status} after {time.monotonic() - start:.1f} s")
    return errors


def handlers(world) -> list[str]:
    """A handler multiplies while the program multiplies and allocates: served by the CPU, and counted so."""
    errors = []
    for name, preload in ways(world).items():
        for stack in ((), ("16",)):
            done = run([program(world, "handlers"), "allocates", "60", "1500", *stack], preload)
            errors += judged(f"handlers, {name} {stack}", done)
            if not numbers(done):
                continue
            calls, handled, wrong = numbers(done)
            if wrong or handled == 0 or calls == 0:
                errors.append(f"handlers, {name} {stack}: {calls} calls, {handled} by the handler, {wrong} wrong")
            total, routed = counted(done)
            # The first ones in the handler may come before there are any counters.
            if not calls <= total <= calls + handled:
                errors.append(f"handlers, {name} {stack}: {calls} + {handled} calls, {total} counted")
            if name == "forced" and routed != calls:
                errors.append(f"handlers {stack}: {routed} of {calls} calls of the program's routed")
    return errors


def first_in_handler(world) -> list[str]:
    """A process's first call comes from a handler that has interrupted malloc, or anything."""
    errors = []
    target = program(world, "handlers")
    for name, preload in ways(world).items():
        for mode in ("idle", "sleeps", "multiplies"):
            for attempt in range(12):
                errors += judged(f"first in a handler, {name} {mode} {attempt}", run([target, mode, "20", "15"], preload))
    return errors


def of_children(world, ways_to_fork: tuple[str, ...], threads: str) -> list[str]:
    errors = []
    target = program(world, "children")
    for how in ways_to_fork:
        count = "10"
        for name, preload in ways(world).items():
            if name == "forced":
                preload = Preload(world.lib, preload.settings | {"BLASLIFT_RESIDENCY": "always"})
            done = run([target, how, count, threads], preload)
            errors += judged(f"{how} beside {threads} threads, {name}", done, f"{count} 0 0")
            if name == "forced" and counted(done)[1] < 6:
                errors.append(f"{how}: {counted(done)[1]} calls of the parent's routed")
    return errors


def children(world) -> list[str]:
    """A child computes with its own memory, however it was made."""
    return of_children(world, ("fork", "_Fork", "syscall", "clone"), "0")


def children_of_threads(world) -> list[str]:
    """The same beside threads that multiply."""
    return of_children(world, ("fork", "_Fork", "clone"), "3")


def vfork(world) -> list[str]:
    """A child that shares its parent's memory takes nothing from it."""
    return of_children(world, ("vfork",), "0")


def sites(world) -> list[str]:
    """Children forked while another thread loads plugins, and makes their first calls: none waits for that thread."""
    errors = []
    target = program(world, "sites")
    plugin = world.compile("plugin.c", "-shared", "-fPIC", "-Wl,--no-as-needed", "-l:libblas.so.3", to="plugin.so")
    for name, preload in ways(world).items():
        for how in ("calls", "opens"):
            children_made = "20" if name == "forced" else "60"
            errors += judged(f"sites, {name} {how}", run([target, plugin, children_made, how], preload), "0 0")
    return errors


def small_stacks(world) -> list[str]:
    """A process's very first call, on a thread with a stack of 16 KiB and more."""
    errors = []
    target = program(world, "stacks")
    for kib in (16, 20, 24, 32):
        for routine in range(3):
            for name, preload in ways(world).items():
                done = run([target, str(kib), str(routine)], preload)
                if done.status != 77:  # the C library wants more
                    errors += judged(f"{kib} KiB, routine {routine}, {name}", done)
    return errors


# What runs outside of own time (compat/undisturbed.hpp).
OUTSIDE = (
    r"^blaslift::LongWay<.*>::go\(",
    r"^void blaslift::(BlasCall|LapackCall|\(anonymous namespace\)::(GemmBatchCall|GeqrCall|GemqrCall))<.*>::make<[^{]*\)$",
    r"^blaslift::(finish|raise_told|take_route)\([^{]*\)$",
    r"^blaslift::(RoutedCall|CallTogether|CallApart)<.*>::(learned|problem|stays|timed|over)\([^{]*\) const$",
    r"^blaslift::signatures::(call_words|built|take_best_lengths|call\(blaslift::signatures::Described, (blaslift::Site const&|void\*, blaslift::Interface, int)\))",
    r"^blaslift::signatures::(Scalar|Parse|Build|Show<.*>)::",
    r"Signature<.*>::describe<.*Show<blaslift::signatures::(Parse|Visitor)>[^{]*\)$",
    r"^blaslift::signatures::description_of<.*>\(\)(::\{lambda.*)?$",
    r"^blaslift::replay_of<.*::make<.*\{lambda\(\)#1\}",  # a call as it came
    r"blaslift::(gemm|gemm_batch|gemmt|syrk|syr2k|symm|trmm|trsm|invert|sygv|sygst|least_squares|symv|gemv|copy|potrf|getrf|solve_system|condition|syevd|sytrd|gehrd|gebrd|svd|geev|geqrf|geqp3|lq|ormqr|ormtr)<[^{]*\)$",
    r"blaslift::(\(anonymous namespace\)::)?(problem_of|problem_of_all|triangular_problem|stays)<[^{]*\)$",
    r"(undisturbed|disturbed)\(void \(\*\)\(void\*\), void\*\)$",
    r"blaslift::(enter|refuse|stay|stay_here|answer_query|new_site|resolve_site|site_beside|runtime|counters)\([^{]*\)$",
    r"^blaslift_wsymv$",
    r"^(cblas_)?[sdcz](gemm|gemm_batch(_strided)?|gemm3m|gemmtr?|syrk|syr2k|her2k|symm|hemm|trmm|trsm|trtrs|trtri|potrf|potrs|posv|potri|lauum|getrf|getrs|gesv|getri|geqrf|geqp3|gelqf|geqr|symv|hemv|gemv|copy|herk|(sy|he)ev[drx]?|(sy|he)gv[dx]?|(sy|he)gst|(sy|he)trd|gehrd|gebrd|gesdd|gesvd|geev|gels[yds]?|gecon|pocon|trcon)_?$",
)


def tables(world) -> list[str]:
    """What runs while signals and cancellation may come has no exception tables: unwinding from between two of its
    instructions would end the process. Read from the library's own unwind tables."""
    frames = subprocess.run(["readelf", "-wF", world.lib], capture_output=True, text=True, check=True).stdout
    symbols = subprocess.run(["nm", "-C", world.lib], capture_output=True, text=True, check=True).stdout
    augmentations: dict[int, str] = {}
    with_tables, without = set(), set()
    entry = r'^([0-9a-f]+) [0-9a-f]+ [0-9a-f]+ (?:CIE "([^"]*)"|FDE cie=([0-9a-f]+) pc=([0-9a-f]+))'
    for at, augmentation, cie, start in re.findall(entry, frames, re.M):
        if cie:
            (with_tables if "L" in augmentations[int(cie, 16)] else without).add(int(start, 16))
        else:
            augmentations[int(at, 16)] = augmentation
    errors = []
    seen = dict.fromkeys(OUTSIDE, 0)
    inside = 0
    for line in symbols.splitlines():
        words = line.split(" ", 2)
        if len(words) != 3 or not words[0] or words[1] not in "tTwW":
            continue
        start = int(words[0], 16)
        inside += start in with_tables
        for pattern in OUTSIDE:
            if re.search(pattern, words[2]) and start in with_tables | without:
                seen[pattern] += 1
                if start in with_tables:
                    errors.append(f"has exception tables: {words[2]}")
    errors += [f"no function like {pattern}" for pattern, count in seen.items() if count == 0]
    if inside == 0:
        errors.append("no function at all has exception tables: nothing was read")
    return errors
