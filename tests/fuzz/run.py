#!/usr/bin/env python3
"""Run one of the fuzzers for a while: `run.py NAME --build DIR --seconds N`.

It starts from seeds that are made here, in a directory of its own, and as nobody where this is root. Any input that it
finds is a failure, and is kept in `--keep`.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import harness

NOBODY = 65534
LENGTHS = {"elf": 40000, "options": 600, "profile": 6000, "record": 6000, "report": 2000}

VALUES = {
    "": ["on", "off"], "BACKEND": ["auto", "cuda", "host"], "FORCE": ["all", "dgemm,sgemm", "gemm,"], "DECISION": ["fixed"],
    "RESIDENCY": ["always"], "STRASSEN": ["2:rum:all", "auto", "6:lai:1"], "INTERNAL_ESTIMATOR": ["otsuka"], "QR": ["bulk"], "BATCH": ["systolic"],
    "DEVICES": ["all", "3"], "MEMORY": ["512M", "18446744073709551615", "17179869183G"], "REPORT": ["stderr"], "TRACE": ["/tmp/x"], "FALLBACK": ["libblas.so.3"],
    "PROFILE": ["rates"], "VERIFY": ["sample:100", "all"], "VERIFY_ORACLE": ["x.so"], "VERIFY_DUMP": ["x"], "INTERNAL_COUNTERS": ["x"],
    "INTERNAL_CUTTING": ["2:1024:0", "6:64:9223372036854775807", "1:64:9223372036854775807:1"], "INTERNAL_MEASURE": ["on"], "NONSENSE": ["1"],
}  # fmt: skip

PROFILE = b"""# a comment
profile 1
in_rate 5e10
dgemm_rate 5e13
dgemm_leaf_rate 512 1.8e13
dgemm_leaf_rate 4096 5.4e13
dgemm_leaf_rate NT 4096 5.6e13
pass_rate 2e12
step_seconds 2e-6
dgemm_algorithm cublasLt-130100-sm_90 NN plain 4096 own
dsymv_rules 1 L 897:strips 1281:32x32x4x64 7169:64x32x8x128:tickets any:128x32x8x512
dsymv_rules 1 U built-in
dqr_widths 1 1449:128x64 any:512x64
dsyevd_values_seconds 1 1024:0.004 4096:0.05
"""


def options() -> list[bytes]:
    pairs = [(name, value) for name, values in VALUES.items() for value in values]
    lines = [f"BLASLIFT{'_' if name else ''}{name}={value}".encode() for name, value in pairs]
    return [*lines, b"\0".join(lines), *(value.encode() for _, value in pairs)]


def record(routine: str, arguments: str, element: int, blocks: list[tuple], *more: str) -> bytes:
    """Blocks: name, rows, columns, and the bytes of an element where these are others."""
    blocks = [(*block, element)[:4] for block in blocks]
    lines = ["blaslift-call 2", f"routine {routine}", f"symbol {routine}_", f"arguments {arguments}", "library /x/libblas.so.3",
             "backend host", "way memory=1000000 levels=1 tile=2 cut=1f", "setting BLASLIFT_QR=bulk", "profile in_rate 5e10",
             "caller a.out+0x1", "found over its bound", "ratio 9", "limit 8", *more]  # fmt: skip
    lines += [f"block {name} {rows} {columns} {size}" for name, rows, columns, size in blocks]
    data = bytes(sum(rows * columns * size for _, rows, columns, size in blocks))
    return "\n".join(lines).encode() + b"\ndata\n" + data + b"sum 0000000000000000\n"


def records() -> list[bytes]:
    found = []
    for p, element in (("s", 4), ("d", 8), ("c", 8), ("z", 16)):
        other, real = "or" if p in "sd" else "un", element // (2 if p in "cz" else 1)
        found += [
            record(p + "gemm", "transa=N transb=T m=2 n=3 k=2 alpha=1 lda=3 ldb=3 beta=2,1 ldc=2", element, [("A", 2, 2), ("B", 3, 2), ("C", 2, 3)]),
            record(p + "syrk", "uplo=L trans=T n=2 k=3 alpha=1 lda=3 beta=1 ldc=3", element, [("A", 3, 2), ("C", 2, 2)]),
            record(p + "gemm_batch_strided", "transa=N transb=T m=2 n=2 k=3 alpha=1 lda=3 stridea=9 ldb=2 strideb=0 beta=1 ldc=2 stridec=5 batch_size=2",
                   element, [("A", 2, 6), ("B", 2, 3), ("C", 4, 2)]),
            record(p + "gemm_batch", "batches=2 transa.1=N transb.1=T m.1=2 n.1=2 k.1=3 alpha.1=1 lda.1=3 stridea.1=9 ldb.1=2 strideb.1=0 beta.1=1 ldc.1=2 "
                   "stridec.1=5 batch_size.1=2 apart.1=- transa.2=N transb.2=N m.2=1 n.2=2 k.2=2 alpha.2=1 lda.2=3 stridea.2=0 ldb.2=2 strideb.2=0 beta.2=1 "
                   "ldc.2=2 stridec.2=0 batch_size.2=2 apart.2=BC", element,
                   [("A.1", 2, 6), ("B.1", 2, 3), ("C.1", 4, 2), ("A.2", 1, 2), ("B.2.1", 2, 2), ("B.2.2", 2, 2), ("C.2.1", 1, 2), ("C.2.2", 1, 2)]),
            record(p + "gemmt", "uplo=U transa=N transb=T n=2 k=2 alpha=1 lda=3 ldb=3 beta=2,1 ldc=2", element, [("A", 2, 2), ("B", 2, 2), ("C", 2, 2)]),
            record(p + "syr2k", "uplo=L trans=T n=2 k=3 alpha=1 lda=3 ldb=3 beta=1 ldc=3", element, [("A", 3, 2), ("B", 3, 2), ("C", 2, 2)]),
            record(p + "symm", "side=R uplo=L m=3 n=2 alpha=1 lda=2 ldb=3 beta=1 ldc=3", element, [("A", 2, 2), ("B", 3, 2), ("C", 3, 2)]),
            record(p + "trmm", "side=L uplo=U transa=C diag=U m=2 n=3 alpha=1 lda=2 ldb=2", element, [("A", 2, 2), ("B", 2, 3)]),
            record(p + ("symv" if p in "sd" else "hemv"), f"uplo=U n=2 alpha=1 lda=2 incx=-2 beta=1 incy=1 conjugated={int(p in 'cz')}",
                   element, [("A", 2, 2), ("x", 1, 2), ("y", 2, 1)]),
            *([record(p + "symv", "uplo=L n=2 alpha=1 lda=2 incx=1 beta=1 incy=1 conjugated=0", element, [("A", 2, 2), ("x", 2, 1), ("y", 2, 1)])] if p in "cz" else []),
            record(p + "gemv", f"trans=N m=2 n=3 alpha=1 lda=2 incx=-2 beta=1 incy=1 conjugated={int(p in 'cz')}",
                   element, [("A", 2, 3), ("x", 1, 3), ("y", 2, 1)]),
            record(p + "potrf", "uplo=L n=2 lda=2", element, [("A", 2, 2), ("result", 2, 2)]),
            record(p + "getrf", "m=3 n=2 lda=3", element, [("A", 3, 2), ("result", 3, 2), ("result-ipiv", 2, 1, 4)]),
            record(p + "getrs", "trans=N n=2 nrhs=1 lda=2 ldb=2", element, [("A", 2, 2), ("ipiv", 2, 1, 8), ("B", 2, 1)]),
            record(p + "gesv", "n=2 nrhs=1 lda=2 ldb=2", element, [("A", 2, 2), ("B", 2, 1), ("result-ipiv", 2, 1, 4)]),
            record(p + "posv", "uplo=U n=2 nrhs=1 lda=2 ldb=2", element, [("A", 2, 2), ("B", 2, 1)]),
            record(p + ("syevd" if p in "sd" else "heevd"),
                   "jobz=V uplo=U n=2 lda=2 lwork=21 " + ("lrwork=19 " if p in "cz" else "") + "liwork=13", element,
                   [("A", 2, 2), ("result", 2, 2), ("result-w", 2, 1, real)]),
            record(p + "trtrs", "uplo=L trans=N diag=N n=2 nrhs=1 lda=2 ldb=2", element, [("A", 2, 2), ("B", 2, 1), ("result", 2, 1)]),
            record(p + "trtri", "uplo=U diag=U n=2 lda=2", element, [("A", 2, 2), ("result", 2, 2)]),
            record(p + "potri", "uplo=L n=2 lda=2", element, [("A", 2, 2), ("result", 2, 2)]),
            record(p + "lauum", "uplo=U n=2 lda=2", element, [("A", 2, 2), ("result", 2, 2)]),
            record(p + "getri", "n=2 lda=2 lwork=2", element, [("A", 2, 2), ("ipiv", 2, 1, 8), ("result", 2, 2)]),
            record(p + "gecon", "norm=I n=2 lda=2 anorm=1", element, [("A", 2, 2)]),
            record(p + "pocon", "uplo=L n=2 lda=2 anorm=1", element, [("A", 2, 2)]),
            record(p + "trcon", "norm=I uplo=L diag=U n=2 lda=2", element, [("A", 2, 2)]),
            record(p + ("sygst" if p in "sd" else "hegst"), "itype=2 uplo=L n=2 lda=2 ldb=2", element, [("A", 2, 2), ("B", 2, 2), ("result", 2, 2)]),
            record(p + ("sytrd" if p in "sd" else "hetrd"), "uplo=L n=2 lda=2 lwork=1", element, [("A", 2, 2), ("result", 2, 2), ("result-d", 2, 1, real)]),
            record(p + "gehrd", "n=3 ilo=1 ihi=3 lda=3 lwork=3", element, [("A", 3, 3), ("result", 3, 3), ("result-tau", 2, 1, element)]),
            record(p + "gebrd", "m=3 n=2 lda=3 lwork=4", element, [("A", 3, 2), ("result", 3, 2)]),
            record(p + "gesdd", "jobz=S m=3 n=2 lda=3 ldu=3 ldvt=2 lwork=40", element,
                   [("A", 3, 2), ("result-U", 3, 2), ("result-VT", 2, 2), ("result-s", 2, 1, element // (2 if p in "cz" else 1))]),
            record(p + "gesvd", "jobu=O jobvt=N m=3 n=2 lda=3 ldu=1 ldvt=1 lwork=40", element, [("A", 3, 2), ("result", 3, 2)]),
            record(p + "geev", "jobvl=N jobvr=V n=2 lda=2 ldvl=1 ldvr=2 lwork=8", element,
                   [("A", 2, 2), ("result-VR", 2, 2), *((("result-w" + part, 2, 1) for part in ("r", "i")) if p in "sd" else [("result-w", 2, 1)])]),
            record(p + "gels", "trans=N m=3 n=2 nrhs=1 lda=3 ldb=3 lwork=8", element, [("A", 3, 2), ("B", 3, 1), ("result", 3, 2), ("result-B", 3, 1)]),
            record(p + "gelsy", "m=3 n=2 nrhs=1 lda=3 ldb=3 rcond=-1 lwork=8", element,
                   [("A", 3, 2), ("B", 3, 1), ("jpvt", 2, 1, 8), ("rank", 1, 1, 8), ("result", 3, 2), ("result-B", 3, 1), ("result-jpvt", 2, 1, 8)]),
            record(p + "gelsd", "m=3 n=2 nrhs=1 lda=3 ldb=3 rcond=0.5 lwork=900", element,
                   [("A", 3, 2), ("B", 3, 1), ("s", 2, 1, real), ("rank", 1, 1, 4), ("result-s", 2, 1, real)]),
            record(p + "gelss", "m=2 n=3 nrhs=1 lda=2 ldb=3 rcond=-1 lwork=20", element,
                   [("A", 2, 3), ("B", 3, 1), ("s", 2, 1, real), ("rank", 1, 1, 8)]),
            record(p + ("syev" if p in "sd" else "heev"), "jobz=V uplo=U n=2 lda=2 lwork=5", element, [("A", 2, 2), ("result", 2, 2)]),
            record(p + ("syevr" if p in "sd" else "heevr"),
                   "jobz=V range=A uplo=U n=2 lda=2 abstol=0 ldz=2 lwork=52 " + ("lrwork=48 " if p in "cz" else "") + "liwork=20", element,
                   [("A", 2, 2), ("result-isuppz", 4, 1, 4), ("result-w", 2, 1, real)]),
            record(p + ("syevx" if p in "sd" else "heevx"), "jobz=V range=I uplo=L n=2 lda=2 il=2 iu=2 abstol=0 ldz=2 lwork=16", element,
                   [("A", 2, 2), ("result-ifail", 1, 1, 8)]),
            record(p + ("sygvd" if p in "sd" else "hegvd"),
                   "itype=1 jobz=V uplo=U n=2 lda=2 ldb=2 lwork=21 " + ("lrwork=19 " if p in "cz" else "") + "liwork=13", element,
                   [("A", 2, 2), ("B", 2, 2), ("w", 2, 1, real), ("result", 2, 2), ("result-w", 2, 1, real)]),
            record(p + ("sygv" if p in "sd" else "hegv"), "itype=2 jobz=N uplo=L n=2 lda=2 ldb=2 lwork=5", element,
                   [("A", 2, 2), ("B", 2, 2), ("w", 2, 1, real)]),
            record(p + ("sygvx" if p in "sd" else "hegvx"), "itype=1 jobz=V range=I uplo=L n=2 lda=2 ldb=2 il=2 iu=2 abstol=0 ldz=2 lwork=16",
                   element, [("A", 2, 2), ("B", 2, 2), ("m", 1, 1, 8), ("w", 2, 1, real), ("Z", 2, 1), ("ifail", 1, 1, 8), ("result-ifail", 1, 1, 8)]),
            record(p + "geqrf", "m=3 n=2 lda=3 lwork=4", element, [("A", 3, 2), ("result", 3, 2)]),
            record(p + "geqp3", "m=3 n=2 lda=3 lwork=7", element, [("A", 3, 2), ("jpvt", 2, 1, 8), ("result", 3, 2), ("result-jpvt", 2, 1, 8)]),
            record(p + "gelqf", "m=2 n=3 lda=2 lwork=4", element, [("A", 2, 3), ("result", 2, 3)]),
            record(p + other + "glq", "m=2 n=3 k=1 lda=2 lwork=4", element, [("A", 2, 3), ("tau", 1, 1), ("result", 2, 3)]),
            record(p + other + "mlq", "side=R trans=N m=2 n=3 k=2 lda=2 ldc=2 lwork=4", element, [("A", 2, 3), ("tau", 2, 1), ("C", 2, 3)]),
            record(p + other + "mqr", "side=L trans=N m=3 n=2 k=2 lda=3 ldc=3 lwork=4", element, [("A", 3, 2), ("tau", 2, 1), ("C", 3, 2)]),
            record(p + other + "mtr", "side=L uplo=L trans=N m=3 n=2 lda=3 ldc=3 lwork=4", element, [("A", 3, 3), ("tau", 2, 1), ("C", 3, 2)]),
            record(p + other + "gtr", "uplo=U n=3 lda=3 lwork=4", element, [("A", 3, 3), ("tau", 2, 1)]),
            record(p + other + "mhr", "side=R trans=N m=2 n=3 ilo=1 ihi=2 lda=3 ldc=2 lwork=4", element, [("A", 3, 3), ("tau", 2, 1), ("C", 2, 3)]),
            record(p + other + "ghr", "n=3 ilo=1 ihi=3 lda=3 lwork=4", element, [("A", 3, 3), ("tau", 2, 1)]),
            record(p + other + "mbr", "vect=P side=L trans=N m=3 n=2 k=2 lda=2 ldc=3 lwork=4", element, [("A", 2, 3), ("tau", 2, 1), ("C", 3, 2)]),
            record(p + other + "gbr", "vect=Q m=3 n=2 k=2 lda=3 lwork=4", element, [("A", 3, 2), ("tau", 2, 1)]),
            record(p + other + "gqr", "m=3 n=2 k=2 lda=3 lwork=4", element, [("A", 3, 2), ("tau", 2, 1)]),
        ]  # fmt: skip
    found += [record("zgemm3m", "transa=N transb=C m=2 n=1 k=1 alpha=1 lda=2 ldb=1 beta=0 ldc=2", 16, [("A", 2, 1), ("B", 1, 1)]),
              record("cher2k", "uplo=L trans=C n=1 k=2 alpha=1,2 lda=2 ldb=2 beta=1 ldc=1", 8, [("A", 2, 1), ("B", 2, 1), ("C", 1, 1)])]  # fmt: skip
    return [*found, record("zherk", "uplo=U trans=C n=2 k=1 alpha=0 lda=1 beta=0 ldc=2", 16, [], "oracle /x/y.so")]


def elves(cc: str) -> list[bytes]:
    Path("m.c").write_text("void dgemm_(void); int main(void) { dgemm_(); return 0; }\n")
    Path("l.c").write_text("void dgemm_(void) {} void dsyrk_(void) { dgemm_(); } static void zherk_(void) {} void (*f)(void) = zherk_;\n")
    for name, *flags in (
        ("l.so", "-shared", "-fPIC", "-nostdlib", "l.c", "-Wl,--hash-style=both", "-Wl,-soname,libblas.so.3"),
        ("s.so", "-shared", "-fPIC", "-nostdlib", "l.c", "-Wl,-Bsymbolic", "-Wl,--hash-style=gnu", "-s"),
        ("m", "m.c", "./l.so", "-Wl,--hash-style=gnu"),
        ("p", "m.c", "l.c", "-no-pie", "-rdynamic", "-s"),
    ):
        # Small pages: what lies between the segments is no use.
        subprocess.run([cc, *flags, "-Os", "-Wl,-z,max-page-size=64,-z,common-page-size=64", "-o", name], check=True)
    return [Path(name).read_bytes() for name in ("l.so", "s.so", "m", "p")]


def report_changes() -> list[bytes]:
    """A place, how far behind it, how many bytes, the bytes; one that stands for all the others of its kind."""
    odd = [b"\xff" * 8, b"\0" * 9, b"\x41" * 40, bytes.fromhex("000000000000f07f00"), bytes.fromhex("0000000000000080")]
    found = [b"\xe0\xff" + b"\xc1" * 30 + b"\xff\xfe\xff\xff\xff"]  # more moved, by the trace, than the counters have on the device
    return [bytes([place, 88 * (i % 2), 0, len(odd[i % 5])]) + odd[i % 5] for i, place in enumerate([*range(33), *range(128, 138)] * 3)] + found


def words_of(name: str) -> list[bytes]:
    common = [b"nan", b"inf", b"-1", b"9223372036854775807", b"-9223372036854775808", b"1e308", b"1e-320", b"\x1b[31m", b"\xc2\x9b"]
    if name == "profile":
        return common + re.findall(rb"[^ \n:]+", PROFILE)
    if name == "record":
        return common + sorted({word for one in records() for word in re.findall(rb"[a-z_]+=?", one.split(b"\ndata\n")[0])}) + [b"\ndata\n"]
    if name == "options":
        return common + [f"BLASLIFT_{x}=".encode() for x in VALUES]
    return []


def body() -> bool:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("name", choices=LENGTHS)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--seconds", type=int, default=25)
    parser.add_argument("--cc", default="cc")
    parser.add_argument("--corpus", type=Path, help="begin with what is there, too, and leave there what was found")
    parser.add_argument("--keep", type=Path, help="default: found/ beside the fuzzer")
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    keep = (arguments.keep or build / "tests" / "fuzz" / "found").resolve()
    corpus = arguments.corpus and arguments.corpus.resolve()
    with harness.scratch() as scratch:
        os.chdir(scratch)
        seeds = {"elf": lambda: elves(arguments.cc), "options": options, "profile": lambda: [PROFILE, *PROFILE.splitlines()],
                 "record": records, "report": report_changes}[arguments.name]()  # fmt: skip
        Path("corpus").mkdir()
        for i, seed in enumerate(seeds):
            Path(f"corpus/seed-{i}").write_bytes(seed)
        if corpus and corpus.is_dir():
            shutil.copytree(corpus, "corpus", dirs_exist_ok=True)
        escaped = ("".join(f"\\x{byte:02x}" for byte in word) for word in words_of(arguments.name))
        Path("words").write_text("# words\n" + "".join(f'"{word}"\n' for word in escaped))
        fuzzer = shutil.copy(build / "tests" / "fuzz" / f"fuzz_{arguments.name}", "fuzzer")
        who = {}
        if os.geteuid() == 0:
            subprocess.run(["chown", "-R", f"{NOBODY}:{NOBODY}", scratch], check=True)
            who = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
        seconds = 10 * arguments.seconds if harness.AT_LENGTH else arguments.seconds
        command = [f"./{fuzzer}", f"-max_total_time={seconds}", f"-max_len={LENGTHS[arguments.name]}", *(["-dict=words"] if words_of(arguments.name) else []),
                   "-timeout=20", "-rss_limit_mb=3000", "-detect_leaks=0", "-print_final_stats=1", "-verbosity=1",
                   "-artifact_prefix=./found-", "corpus"]  # fmt: skip
        environment = harness.clean_environment(harness.provider_environment("reference"))
        # libstdc++ gives stable_sort's buffer back by another name than it got it by.
        environment |= {"ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1:alloc_dealloc_mismatch=0:malloc_context_size=4:quarantine_size_mb=32", "UBSAN_OPTIONS": "print_stacktrace=1", "TMPDIR": scratch}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, errors="replace", **who)
        found = sorted(Path().glob("found-*"))
        lines = done.stderr.splitlines()
        print("\n".join(line for line in lines if line.startswith(("stat::number_of_executed", "stat::average", "stat::new_units"))))
        print(next((line for line in reversed(lines) if re.match(r"#\d+\s", line)), ""))
        if found or done.returncode:
            keep.mkdir(exist_ok=True, parents=True)
            for path in found:
                shutil.copy(path, keep / f"{arguments.name}-{path.name}")
            print(f"status {done.returncode}; found, and kept in {keep}: {[path.name for path in found]}")
            print("\n".join(lines[-60:]))
            return False
        if corpus:
            shutil.copytree("corpus", corpus, dirs_exist_ok=True)
        return True


if __name__ == "__main__":
    harness.main(body)
