"""Promises 2, 3 and 5: bad arguments, BLAS semantics to the letter, the same bits on the same route."""

from __future__ import annotations

import tempfile
from pathlib import Path

import harness
from faults import ELEMENT
from harness import INVALID_ARGUMENTS, NOTHING_TO_MULTIPLY, OVERLAP
from setting import FORCED, HOST, LEVELS, SCARCE, Setting, labelled, report_errors, told, verdict_errors

MODES = {"natural": {}, "forced": FORCED, "in blocks": SCARCE, "by levels": LEVELS}


def modes(s: Setting) -> dict[str, dict[str, str]]:
    """Sanitizers make every run long: in blocks the most happens."""
    return {"in blocks": SCARCE} if s.sanitizer else MODES



def semantics(s: Setting, name: str, *, routed: bool = True, stayed: set[str] | None = None) -> list[str]:
    """One part of `products` over each provider. Where that does not keep the promise by itself (OpenBLAS has its ways
    with beta = 0), all that passes through must say what it says without blaslift."""
    errors = []
    for provider in s.providers:
        plain = s.run("products", name, provider=provider, preload=False)
        broken = bool(verdict_errors(plain))
        if broken and provider == "reference":
            errors += labelled("without blaslift", verdict_errors(plain))
        for mode, settings in modes(s).items():
            if mode == "by levels" and not s.takes(provider):
                continue
            run = s.run("products", name, provider=provider, settings=settings)
            found = [] if broken and not routed else verdict_errors(run)
            if not routed and (run.status, run.stdout, run.stderr) != (plain.status, plain.stdout, plain.stderr):
                found.append(f"without blaslift {plain.stdout!r}, with {run.stdout!r}")
            if mode == "natural":
                found += report_errors(run, routed=False)
            else:
                found += report_errors(run, routed=routed, stayed=stayed or set())
            if mode == "by levels" and routed and not any(r["levels"] for r in run.reports[0]["routines"].values()):
                found.append("nothing was computed by levels")
            errors += labelled(f"{provider} {mode}", found)
            print(f"{provider} {mode}: {told(run)}")
    return errors


def canaries_ldc(s: Setting) -> list[str]:
    """Only m x n of C is written, never the rows between m and ldc; A and B never."""
    return semantics(s, "canaries_ldc")


def levels_in_little_memory(s: Setting) -> list[str]:
    """Where two levels of one tile do not fit beside the operands, one level of a quarter of the tile does."""
    element, edge = 8, 64
    operands, findings = 3 * edge * edge * element, (2 * 4 + 2) * edge * element  # by four slices of k
    errors = []
    for memory, levels in ((2 * operands, "2"), (operands + findings + edge * edge * element - 1, "1")):
        settings = LEVELS | {"BLASLIFT_MEMORY": str(memory), "BLASLIFT_RESIDENCY": "off"}
        run = s.run("products", "reads_c", settings=settings)
        found = verdict_errors(run) + report_errors(run, routed=True, stayed=set())
        if (counted := run.reports[0]["routines"]["dgemm"]["levels"]) != {levels: 1}:
            found.append(f"levels {counted} in {memory} bytes")
        errors += labelled(f"{levels} levels", found)
    return errors


def levels_keep_digits(s: Setting) -> list[str]:
    """Where levels would overflow, or lose the digits of some elements, the classical product has the last word."""
    errors = []
    for kind in ("reads_c", "sums_that_overflow", "small_rows", "small_blocks"):
        distrusted = kind != "reads_c"
        run = s.run("products", kind, settings=LEVELS)
        found = verdict_errors(run) + report_errors(run, routed=True, stayed=set())
        for name, account in harness.accounts(run.reports).items():
            by_levels = sum(account.levels.values())
            if (account.distrusted, by_levels) != ((account.calls, 0) if distrusted else (0, account.calls)):
                found.append(f"{name}: {account.calls} calls, {by_levels} by levels, {account.distrusted} distrusted")
        errors += labelled(kind, found)
    return errors


def beta_zero_nan(s: Setting) -> list[str]:
    """beta = 0 never reads C."""
    return semantics(s, "beta_zero_nan")


def alpha_zero_nan(s: Setting) -> list[str]:
    """alpha = 0 and k = 0 read neither A nor B."""
    return semantics(s, "alpha_zero_nan", routed=False, stayed={NOTHING_TO_MULTIPLY})


def poison_only_classical(s: Setting) -> list[str]:
    """One Inf or NaN poisons only what it poisons in the classical product."""
    return semantics(s, "poison_only_classical")


def overlap_passes_through(s: Setting) -> list[str]:
    """Outputs that overlap inputs: computed by the library underneath, bit for bit."""
    errors = []
    for provider in s.providers:
        plain = s.run("products", "overlap", provider=provider, preload=False)
        for mode, settings in MODES.items():
            run = s.run("products", "overlap", provider=provider, settings=settings)
            stayed = None if mode == "natural" else {OVERLAP}
            found = verdict_errors(run) + report_errors(run, routed=False, stayed=stayed)
            if run.stdout != plain.stdout:
                found.append(f"without blaslift {plain.stdout!r}, with {run.stdout!r}")
            errors += labelled(f"{provider} {mode}", found)
    return errors


def bad_arguments(s: Setting) -> list[str]:
    """Each invalid argument reaches the program's xerbla as without us, whether that returns, jumps, throws, exits."""
    errors = []
    for provider in s.providers:
        for how in ("return", "longjmp", "throw", "exit"):
            plain = s.run("arguments", how, provider=provider, preload=False)
            if how != "exit" and "refused" not in plain.stdout:
                errors.append(f"{provider}, {how}, without blaslift: {plain.stdout} {plain.stderr}")
            for mode, settings in modes(s).items():
                run = s.run("arguments", how, provider=provider, settings=settings)
                found = []
                if (run.status, run.stdout, run.stderr) != (plain.status, plain.stdout, plain.stderr):
                    ours, theirs = run.stdout.splitlines(), plain.stdout.splitlines()
                    differ = [f"{b!r} became {a!r}" for a, b in zip(ours, theirs) if a != b]
                    found += [f"status {plain.status} became {run.status}; {run.stderr!r}", *differ]
                if how == "exit":
                    calls = [report["routines"]["dgemm"]["calls"] for report in run.reports]
                    if (run.status, calls) != (42, [1]):
                        found.append(f"status {run.status}, calls {calls}")
                else:
                    found += verdict_errors(run) + report_errors(run, routed=None)
                    valid = told(run)["dgemm"] * 3 // 4  # three valid calls after each of the others
                    refused = int(run.stdout.split("refused ")[1].split()[0])
                    account = harness.accounts(run.reports)["dgemm"]
                    accepted = told(run)["dgemm"] - valid - refused  # by the library, and perhaps by us
                    if mode != "natural" and not valid <= account.routed <= valid + accepted:
                        found.append(f"{account.routed} of {valid} valid calls routed, {accepted} more were accepted")
                    if mode != "natural" and account.stayed[INVALID_ARGUMENTS] < refused:
                        found.append(f"{refused} calls refused, {account.stayed[INVALID_ARGUMENTS]} counted as invalid")
                errors += labelled(f"{provider}, {how}, {mode}", found)
            print(f"{provider}, {how}: {plain.stdout.splitlines()[-3:-2]}")
    return errors


def lapack_inside(s: Setting) -> list[str]:
    """The gemms inside a LAPACK routine that is passed through are counted and routed (reference: the table in
    INTERPOSITION.md says which libraries call themselves through us)."""
    errors = []
    for mode, settings in MODES.items():
        gemm_only = settings and settings | {"BLASLIFT_FORCE": "gemm"}  # dgeqrf itself stays
        run = s.run("surroundings", "lapack", settings=gemm_only)
        found = verdict_errors(run)
        total = harness.accounts(run.reports)
        dgemm = total.get("dgemm", harness.Account())
        if total.get("dgeqrf", harness.Account()).calls != 1:
            found.append(f"dgeqrf counted {total.get('dgeqrf')}")
        if dgemm.calls < 2 or dgemm.routed != (0 if mode == "natural" else dgemm.calls):
            found.append(f"dgemm inside dgeqrf: {dgemm}")
        print(f"{mode}: {dgemm.calls} dgemm inside dgeqrf, {dgemm.routed} routed")
        errors += labelled(mode, found + harness.bookkeeping_errors(total, forced=False))
    return errors


EAGER = "latency_seconds 1e-9\nin_rate 1e15\nout_rate 1e15\n" + "".join(f"{p}gemm_rate 1e15\n" for p in "sdcz")
RELUCTANT = "latency_seconds 1e3\n"


def same_bits(s: Setting) -> list[str]:
    """BLASLIFT_DECISION=fixed: the same input takes the same route to the same bits, in any process, at any time."""
    with tempfile.TemporaryDirectory(prefix="blaslift-profiles-") as folder:
        return same_bits_with(s, Path(folder))


def same_bits_with(s: Setting, folder: Path) -> list[str]:
    errors = []
    fixed = HOST | {"BLASLIFT_DECISION": "fixed"}
    profile = folder / "eager.profile"
    profile.write_text(EAGER)
    cache = folder / "cache"
    (cache / "blaslift").mkdir(parents=True)
    (cache / "blaslift" / "host.profile").write_text(EAGER)
    (cache / "blaslift" / "host-backend--the-plans-on-the-CPU.profile").write_text(RELUCTANT)
    modes = {
        "forced": FORCED | fixed,
        "in blocks": FORCED | fixed | {"BLASLIFT_MEMORY": "200000"},
        "by the profile": fixed | {"BLASLIFT_PROFILE": str(profile)},
        # What is guessed about a device before it is open, and known after, must not give two routes to one product.
        "by the cache's profiles": fixed | {"XDG_CACHE_HOME": str(cache)},
    }
    for provider in s.providers:
        for mode, settings in modes.items():
            runs = [s.run("products", "same_bits", provider=provider, settings=settings) for _ in range(3)]
            found = [error for run in runs for error in verdict_errors(run) + report_errors(run, routed=None)]
            bits = [[line for line in run.stdout.splitlines() if line.startswith("bits ")] for run in runs]
            for line in bits[0]:
                if bits[0].count(line) != 2:
                    found.append(f"the second round of one process differs: {line}")
            if any(other != bits[0] for other in bits):
                found.append("processes differ in their bits")
            routes = [{name: a.routed for name, a in harness.accounts(run.reports).items()} for run in runs]
            if any(other != routes[0] for other in routes):
                found.append(f"processes differ in their routes: {routes}")
            if any(routed % 2 for routed in routes[0].values()):
                found.append(f"the second round takes other routes: {routes[0]} routed of 8 calls, 2 of each product")
            if mode == "by the profile" and set(routes[0].values()) != {4}:
                found.append(f"{routes[0]} routed of 8 calls each, half of which are large")
            errors += labelled(f"{provider} {mode}", found)
    return errors


IN_DEVICE_MEMORY = ("products canaries_ldc", "products beta_zero_nan", "products reads_c", "products alpha_zero_nan",
                    "products overlap", "syrk semantics", "syrk nothing", "syrk overlap", "symv semantics",
                    "symv nothing", "symv overlap", "qr semantics", "qr products", "qr consumers",
                    "qr identity")
PARTLY_EMPTY = {"syrk nothing", "symv nothing"}
"""Programs whose other calls have no result."""


def in_device_memory(s: Setting) -> list[str]:
    """Operands that the device has already are computed where they are; nothing moves but the ones of an orgqr."""
    errors = []
    for program in IN_DEVICE_MEMORY:
        run = s.run(*program.split(), settings=FORCED, library=s.fault_library, INJECTED_DEVICE_MEMORY=f"0:{1 << 40}")
        empty = program in PARTLY_EMPTY
        stayed = {NOTHING_TO_MULTIPLY} if empty else set()
        found = verdict_errors(run) + report_errors(run, routed=None if empty else True, stayed=stayed)
        for name, account in harness.accounts(run.reports).items():
            if not account.routed:
                found.append(f"{name}: nothing was routed")
            if account.bytes_out or (account.bytes_in and not name.endswith(("orgqr", "ungqr"))):
                found.append(f"{name}: {account.bytes_in} bytes in, {account.bytes_out} out")
        errors += labelled(program, found)
        print(f"{program}: {told(run)}")
    return errors


def failing_in_device_memory(s: Setting) -> list[str]:
    """A call that fails where the CPU could not compute it says so, and the program goes on.

    After a loss nobody knows any more where operands are, and the CPU gets them: here it can read them.
    """
    errors = []
    for what, why in {"no_memory": "no room on the device", "lost": "the device failed"}.items():
        for program in ("products", "syrk", "symv"):
            part = "canaries_ldc" if program == "products" else "semantics"
            run = s.run(program, part, settings=FORCED, library=s.fault_library, INJECTED_FAULT=f"4:{what}",
                        INJECTED_DEVICE_MEMORY=f"0:{1 << 40}")
            said = [line for line in run.stderr.splitlines() if line.startswith("blaslift:") and "was not computed" in line]
            if len(said) != 1 or not said[0].endswith(why):
                errors.append(f"{program}, {what}: {said}, {run.stderr[:500]!r}")
            if run.status < 0 or len(run.reports) != 1:
                errors.append(f"{program}, {what}: status {run.status}, {len(run.reports)} reports")
    return errors


def tau_in_device_memory(s: Setting) -> list[str]:
    """Reflectors' factors alone are there: products with Q go through little memory in the same windows as without."""
    errors, bytes_in = [], {}
    little = FORCED | {"BLASLIFT_MEMORY": "384K", "BLASLIFT_RESIDENCY": "off", "BLASLIFT_FORCE": "ormqr,unmqr"}
    # "ample" has room for everything at once, and sends it once.
    for what, sizes in {"ample": "1:0", "host": "1:0", "device": "0:4000"}.items():
        settings = little | {"BLASLIFT_MEMORY": "64M"} if what == "ample" else little
        run = s.run("qr", "large_products", settings=settings, library=s.fault_library, INJECTED_DEVICE_MEMORY=sizes)
        accounts = {name: a for name, a in harness.accounts(run.reports).items() if name.endswith("mqr")}
        errors += labelled(what, verdict_errors(run))
        errors += [f"{what}: {name}: {a}" for name, a in accounts.items() if not a.calls or a.routed != a.calls]
        bytes_in[what] = {name: a.bytes_in for name, a in accounts.items()}
    products = {f"{precision}{name}" for precision, name in zip("sdcz", ("ormqr", "ormqr", "unmqr", "unmqr"))}
    for what, found in bytes_in.items():
        if set(found) != products:
            errors.append(f"{what}: {found}")
    for name, host in bytes_in["host"].items():
        if host <= bytes_in["ample"].get(name, host):
            errors.append(f"{name}: {host} bytes in: not in windows")
        # Two calls with 210 reflectors.
        tau = 2 * 210 * ELEMENT[name[0]]
        if bytes_in["device"][name] != host - tau:
            errors.append(f"{name}: {host} bytes in, with tau on the device {bytes_in['device'][name]}")
    print(bytes_in)
    return errors


PROMISES = (
    in_device_memory,
    failing_in_device_memory,
    tau_in_device_memory,
    canaries_ldc,
    levels_in_little_memory,
    levels_keep_digits,
    beta_zero_nan,
    alpha_zero_nan,
    poison_only_classical,
    overlap_passes_through,
    bad_arguments,
    lapack_inside,
    same_bits,
)
