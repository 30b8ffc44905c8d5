"""Tests of `blaslift doctor`: a program of every shape that is or is not intercepted, and the verdict on each.

The shapes are linked here, from a BLAS of one function; the verdict on what is intercepted is compared with what really
happens in a run.
"""

import argparse
import json
import os
import re
import shutil
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness

SKIPPED = 77

INTERCEPTED, NOT_INTERCEPTED, PARTLY, NO_BLAS, UNCLEAR, NOT_EXECUTABLE, NOT_FOUND = 0, 1, 2, 3, 4, 126, 127

DECLARATION = """
#include <stddef.h>
#define ARGUMENTS const char*, const char*, const int*, const int*, const int*, const double*, const double*, const int*, \\
  const double*, const int*, const double*, double*, const int*, size_t, size_t
"""

BLAS = DECLARATION + """
#include <stdio.h>
#ifndef NAME
#define NAME dgemm_
#endif
#ifndef VISIBILITY
#define VISIBILITY "default"
#endif
__attribute__((visibility(VISIBILITY), noinline)) void NAME(ARGUMENTS);
void NAME(const char* a, const char* b, const int* m, const int* n, const int* k, const double* alpha, const double* A,
    const int* lda, const double* B, const int* ldb, const double* beta, double* C, const int* ldc, size_t x, size_t y) {
  if (*m < 0) printf(" ** On entry to %6s parameter number %2d had an illegal value\\n", "DGEMM", 3);
  C[0] = *alpha * A[0] * B[0];
}
"""
"""A product of 1 x 1."""

CALL = DECLARATION + """
#ifndef NAME
#define NAME dgemm_
#endif
extern void NAME(ARGUMENTS);
int product(void) {
  const int one = 1;
  const double x = 2, zero = 0;
  double y = -1;
  NAME("N", "N", &one, &one, &one, &x, &x, &one, &x, &one, &zero, &y, &one, 1, 1);
  return y == 8 ? 0 : 90;
}
"""

MAIN = "int product(void);\nint main(void) { return product(); }\n"

OPENS = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char** argv) {
  void* plugin = %s;
  if (!plugin) return fputs(dlerror(), stderr), 91;
  int (*product)(void) = (int (*)(void))dlsym(plugin, "product");
  return product();
}
"""
"""A program that opens the library that it is told to, in the way that is filled in."""

BY_HANDLE = DECLARATION + """
#include <dlfcn.h>
int main(int argc, char** argv) {
  const int one = 1;
  const double x = 2, zero = 0;
  double y = -1;
  void (*f)(ARGUMENTS) = (void (*)(ARGUMENTS))dlsym(dlopen(argv[1], RTLD_NOW), "dgemm_");
  f("N", "N", &one, &one, &one, &x, &x, &one, &x, &one, &zero, &y, &one, 1, 1);
  return y == 8 ? 0 : 90;
}
"""


def skip(reason):
    print("SKIPPED:", reason)
    sys.exit(SKIPPED)


class Context:
    def __init__(self, blaslift, venv, scratch):
        self.blaslift, self.venv, self.scratch = blaslift, venv, scratch

    def path(self, name):
        return os.path.join(self.scratch, name)

    def write(self, name, text, mode=0o644):
        with open(self.path(name), "wb" if isinstance(text, bytes) else "w") as f:
            f.write(text)
        os.chmod(self.path(name), mode)
        return self.path(name)

    def link(self, name, *flags, **sources):
        """Compiles sources (name=text, with macros as name=(text, flags)) and links them into a program or library."""
        objects = []
        for source, text in sources.items():
            text, extra = text if isinstance(text, tuple) else (text, ())
            file = self.write(f"{name}.{source}.c", text)
            objects.append(file[:-1] + "o")
            subprocess.run(["cc", "-O1", "-fPIC", "-c", *extra, file, "-o", objects[-1]], check=True)
        done = subprocess.run(["cc", *objects, *flags, "-o", self.path(name)], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return self.path(name)

    def library(self, name, *flags, **sources):
        return self.link(f"lib{name}.so", "-shared", f"-Wl,-soname,lib{name}.so", *flags, **sources)

    def with_libraries(self, *names):
        """Flags that link these libraries of the scratch directory."""
        return [self.path(f"lib{name}.so") for name in names] + [f"-Wl,-rpath,{self.scratch}"]

    def run(self, *arguments, **options):
        return subprocess.run([self.blaslift, "doctor", *arguments], capture_output=True, text=True, timeout=50, **options)

    def ask(self, *arguments, **options):
        done = self.run("--json", self.path("doctor.json"), *arguments, **options)
        assert not done.stderr, done
        with open(self.path("doctor.json")) as f:
            told = json.load(f)
        os.remove(self.path("doctor.json"))
        assert told["status"] == done.returncode and told["verdict"] in done.stdout.splitlines()[0], (told, done)
        return told, done

    def expect(self, status, kinds, *arguments, **options):
        """The verdict, and these kinds of findings among others; for each kind, the names that go with it, if given."""
        told, done = self.ask(*arguments, **options)
        assert told["status"] == status, (told, done.stdout)
        for kind, names in kinds.items():
            found = [f for f in told["findings"] if f["kind"] == kind]
            assert found, f"no finding {kind}: {done.stdout}"
            assert names is None or any(names == f["names"] for f in found), (kind, names, found)
            assert found[0]["what"] in done.stdout, (found[0], done.stdout)
        return told

    def really(self, *command, calls):
        """How many calls blaslift gets when the command really runs: what the verdict is worth."""
        summary = self.path("run.json")
        run = subprocess.run([self.blaslift, "run", "-q", "--json", summary, *command], capture_output=True, text=True, timeout=50)
        assert run.returncode == 0, run
        with open(summary) as f:
            routines = json.load(f)["routines"]
        assert routines.get("dgemm", {}).get("calls", 0) == calls, routines


def kinds_of(told):
    return {f["kind"] for f in told["findings"]}


def equal(actual, expected):
    assert actual == expected, f"{actual!r}, expected {expected!r}"


def shared(t):
    """BLAS in a library of its own: intercepted, by every family of names; a run says who called."""
    t.library("someblas", blas=BLAS)
    program = t.link("program", *t.with_libraries("someblas"), main=MAIN, call=CALL)
    told = t.expect(INTERCEPTED, {"linked": ["dgemm_"], "inside-blas": None}, program)
    equal((told["path"], told["run"]), (program, None))
    t.really(program, calls=1)
    told = t.expect(INTERCEPTED, {"called": ["1 call of dgemm"], "bound": ["dgemm_"]}, "--run", program)
    equal((told["run"]["routines"]["dgemm"]["calls"], "linked" in kinds_of(told)), (1, False))
    equal([f["object"] for f in told["findings"] if f["kind"] == "bound"], [program])

    name = ("-DNAME=dgemm_64_",)
    t.library("wideblas", blas=(BLAS, name))
    wide = t.link("wide", *t.with_libraries("wideblas"), main=MAIN, call=(CALL, name))
    t.expect(INTERCEPTED, {"linked": ["dgemm_64_"]}, wide)

    # A name found by PATH; arguments after it are its own.
    told = t.expect(INTERCEPTED, {"linked": ["dgemm_"]}, "--", "program", "--json", env=os.environ | {"PATH": t.scratch + ":/usr/bin:/bin"})
    equal(told["path"], program)
    assert t.run("--backend", "host", program).returncode == 125  # which is for a run
    done = t.run("--json", "-", program)
    equal((json.loads(done.stdout)["verdict"], done.stderr), ("intercepted", ""))


def relinked(t):
    """Linked with blaslift before its BLAS."""
    t.library("someblas", blas=BLAS)
    ours = os.path.join(os.path.dirname(os.path.dirname(t.blaslift)), "lib")
    program = t.link("program", "-Wl,--no-as-needed", f"-L{ours}", f"-Wl,-rpath,{ours}", "-lblaslift", *t.with_libraries("someblas"),
                     main=MAIN, call=CALL)
    t.expect(INTERCEPTED, {"linked": ["dgemm_"], "relinked": None}, program)
    ours_last = ["-Wl,--no-as-needed", f"-L{ours}", f"-Wl,-rpath,{ours}", *t.with_libraries("someblas"), "-lblaslift"]
    behind = t.link("behind", *ours_last, main=MAIN, call=CALL)
    t.expect(INTERCEPTED, {"linked": ["dgemm_"], "relinked-behind": None}, behind)
    equal([t.run(x).stdout.splitlines()[0].split(": ")[1] for x in (behind, program)],
          ["intercepted by blaslift run, but not by itself", "intercepted"])
    alone = t.link("alone", f"-L{ours}", f"-Wl,-rpath,{ours}", "-lblaslift", main=MAIN, call=CALL)
    t.expect(INTERCEPTED, {"linked": ["dgemm_"], "no-blas-underneath": None}, alone)
    # In a shell that has every command preloaded, programs are not linked with blaslift.
    preloaded = os.environ | {"LD_PRELOAD": os.path.join(ours, "libblaslift.so")}
    told, _ = t.ask("/bin/ls", env=preloaded)
    assert not kinds_of(told) & {"relinked", "relinked-behind", "no-blas-underneath"}, told
    told, _ = t.ask(t.link("plain", *t.with_libraries("someblas"), main=MAIN, call=CALL), env=preloaded)
    equal((told["status"], "relinked" in kinds_of(told)), (INTERCEPTED, False))


def static_blas(t):
    """BLAS in the program itself: seen by its symbols; without them, by its error message."""
    program = t.link("program", main=MAIN, call=CALL, blas=BLAS)
    t.expect(NOT_INTERCEPTED, {"static-blas": ["dgemm_"]}, program)
    t.really(program, calls=0)
    t.expect(NOT_INTERCEPTED, {"static-blas": ["dgemm_"], "not-called": None}, "--run", program)
    hidden = t.link("hidden", main=MAIN, call=CALL, blas=(BLAS, ('-DVISIBILITY="hidden"',)))
    t.expect(NOT_INTERCEPTED, {"static-blas": ["dgemm_"]}, hidden)
    stripped = t.link("stripped", "-s", main=MAIN, call=CALL, blas=BLAS)
    t.expect(NOT_INTERCEPTED, {"likely-static": []}, stripped)
    mkl = BLAS.replace("** On entry to %6s parameter number", "Intel oneMKL ERROR: Parameter 3 of %s %2d")
    stripped = t.link("stripped", "-s", main=MAIN, call=CALL, blas=mkl)
    t.expect(NOT_INTERCEPTED, {"likely-static": []}, stripped)
    # A program's own wrapper around what it asks for is no BLAS.
    t.library("someblas", blas=BLAS)
    wrapper = "int product(void);\nint cblas_dgemm(void) { return product(); }\nint main(void) { return cblas_dgemm(); }\n"
    t.expect(INTERCEPTED, {"linked": ["dgemm_"]}, t.link("wrapper", *t.with_libraries("someblas"), main=wrapper, call=CALL))


def static_program(t):
    for name, flags in {"static": ["-static"], "static-pie": ["-static-pie"]}.items():
        program = t.link(name, *flags, main=MAIN, call=CALL, blas=BLAS)
        t.expect(NOT_INTERCEPTED, {"static-program": []}, program)
        t.really(program, calls=0)
    t.expect(NOT_INTERCEPTED, {"not-preloaded": []}, "--run", program)


def taken_by_program(t):
    """A program that exports its static BLAS has its libraries call that one."""
    t.library("work", call=CALL)
    program = t.link("program", "-rdynamic", *t.with_libraries("work"), main=MAIN, blas=BLAS)
    t.expect(NOT_INTERCEPTED, {"taken-by-program": ["dgemm_"], "static-blas": ["dgemm_"]}, program)
    t.really(program, calls=0)
    t.expect(NOT_INTERCEPTED, {"deepbind": ["dgemm_"]}, "--run", program)


def embedded(t):
    """A library with a BLAS inside, of every binding; beside one that is linked well."""
    shapes = {
        "symbolic": (["-Wl,-Bsymbolic"], (), "-Bsymbolic."),
        "functions": (["-Wl,-Bsymbolic-functions"], (), "-Bsymbolic-functions"),
        "protected": ([], ('-DVISIBILITY="protected"',), "protected"),
        "hidden": ([], ('-DVISIBILITY="hidden"',), "hidden"),
    }
    for name, (flags, macros, why) in shapes.items():
        t.library(name, *flags, call=CALL, blas=(BLAS, macros))
        program = t.link("uses-" + name, *t.with_libraries(name), main=MAIN)
        told = t.expect(NOT_INTERCEPTED, {"embedded-blas": ["dgemm_"]}, program)
        assert why in told["findings"][0]["what"], told
        t.really(program, calls=0)
        t.expect(NOT_INTERCEPTED, {"embedded-blas": ["dgemm_"]}, "--run", program)
    t.library("open", call=CALL, blas=BLAS)
    program = t.link("uses-open", *t.with_libraries("open"), main=MAIN)
    t.expect(INTERCEPTED, {"linked": ["dgemm_"]}, program)
    t.really(program, calls=1)

    t.library("someblas", blas=BLAS)
    t.library("inner", "-Wl,-Bsymbolic", call=(CALL, ("-Dproduct=inner",)), blas=(BLAS, ('-DVISIBILITY="hidden"',)))
    main = "int product(void), inner(void);\nint main(void) { return product() + inner(); }\n"
    program = t.link("both", *t.with_libraries("inner", "someblas"), main=main, call=CALL)
    t.expect(PARTLY, {"linked": ["dgemm_"], "embedded-blas": ["dgemm_"]}, program)
    t.expect(PARTLY, {"called": ["1 call of dgemm"], "embedded-blas": ["dgemm_"]}, "--run", program)


def opened(t):
    """Plugins: what cannot be known before, and what a run shows of each way to open one."""
    t.library("someblas", blas=BLAS)
    plugin = t.library("plugin", *t.with_libraries("someblas"), call=CALL)
    ways = {
        "local": ("dlopen(argv[1], RTLD_NOW)", INTERCEPTED, {"called": ["1 call of dgemm"], "bound": ["dgemm_"]}),
        "deep": ("dlopen(argv[1], RTLD_NOW | RTLD_DEEPBIND)", NOT_INTERCEPTED, {"deepbind": ["dgemm_"]}),
        "lazy": ("dlopen(argv[1], RTLD_LAZY | RTLD_DEEPBIND)", NOT_INTERCEPTED, {"deepbind": ["dgemm_"]}),
        "apart": ("dlmopen(LM_ID_NEWLM, argv[1], RTLD_NOW)", NOT_INTERCEPTED, {"other-namespace": ["dgemm_"]}),
    }
    for name, (how, status, kinds) in ways.items():
        program = t.link(name, main=OPENS % how)
        t.expect(UNCLEAR, {"opens-libraries": []}, program)
        t.expect(status, kinds, "--run", program, plugin)
        t.really(program, plugin, calls=1 if status == INTERCEPTED else 0)
    program = t.link("handle", main=BY_HANDLE)
    t.expect(NOT_INTERCEPTED, {"own-handle": ["dgemm_"]}, "--run", program, t.path("libsomeblas.so"))
    # Without an argument to open it fails, which is the program's business.
    t.expect(NO_BLAS, {"not-called": [], "failed": []}, "--run", t.link("nothing", main="int main(void) { return 3; }\n"))
    t.expect(UNCLEAR, {"not-called": [], "killed": []}, "--run", "sh", "-c", "kill -9 $$")


def threads(t):
    """Names that threads are the first to ask for, in a program that leaves by _exit from one of them."""
    t.library("someblas", blas=BLAS)
    main = """
#include <pthread.h>
#include <unistd.h>
int product(void);
static void* run(void* leaves) {
  if (product()) _exit(80);
  if (leaves) _exit(7);
  return 0;
}
int main(void) {
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i) pthread_create(&threads[i], 0, run, 0);
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], 0);
  pthread_create(&threads[0], 0, run, threads);
  for (;;) pause();
}
"""
    program = t.link("program", "-pthread", "-Wl,-z,lazy", *t.with_libraries("someblas"), main=main, call=CALL)
    t.expect(INTERCEPTED, {"called": ["5 calls of dgemm"], "bound": ["dgemm_"], "failed": []}, "--run", program)


def names(t):
    """Routines by names that blaslift does not have, routines that it does not have, and none."""
    for name in ("dgemm", "DGEMM_", "dgemm_64", "mkl_blas_dgemm"):
        macros = (f"-DNAME={name}",)
        t.library("mkl_some", blas=(BLAS, macros))
        program = t.link("respelled", *t.with_libraries("mkl_some"), main=MAIN, call=(CALL, macros))
        t.expect(NOT_INTERCEPTED, {"respelled": [name]}, program)
        t.really(program, calls=0)
    for name in ("cublas_dgemm", "my_xdgemmx_", "bdgemm_"):
        macros = (f"-DNAME={name}",)
        t.library("other", blas=(BLAS, macros))
        told = t.expect(NO_BLAS, {}, t.link("stranger", *t.with_libraries("other"), main=MAIN, call=(CALL, macros)))
        equal(told["findings"], [])
    macros = ("-DNAME=dspmv_",)
    t.library("someblas", blas=(BLAS, macros))
    t.expect(NO_BLAS, {"others-only": ["dspmv_"]}, t.link("others", *t.with_libraries("someblas"), main=MAIN, call=(CALL, macros)))


def inside_lapack(t):
    """A program that calls LAPACK alone, whose own products are intercepted if it calls them."""
    t.library("someblas", blas=BLAS)
    macros = ("-Dproduct=dgges_",)
    t.library("lapack_some", *t.with_libraries("someblas"), call=(CALL, macros))
    program = t.link("program", *t.with_libraries("lapack_some"), main=(MAIN, macros))
    t.expect(UNCLEAR, {"others-only": ["dgges_"], "linked-inside-blas": ["dgemm_"]}, program)
    t.expect(INTERCEPTED, {"called": ["1 call of dgemm"], "bound": ["dgemm_"]}, "--run", program)


def privileges(t):
    """Programs for which the loader ignores what is preloaded, as the user who is asked about would find them."""
    t.library("someblas", blas=BLAS)
    program = t.link("program", *t.with_libraries("someblas"), main=MAIN, call=CALL)
    os.chmod(program, 0o4755)
    own = t.expect(INTERCEPTED, {"secure": []}, program)  # one's own changes nothing
    equal([f["effect"] for f in own["findings"] if f["kind"] == "secure"], ["note"])
    if os.geteuid() != 0 or os.statvfs(t.scratch).f_flag & os.ST_NOSUID:
        skip("no root to give programs privileges, or a file system without them")
    os.chown(program, 65534, -1)
    os.chmod(program, 0o4755)
    told = t.expect(NOT_INTERCEPTED, {"secure": []}, program)
    assert "setuid" in told["findings"][0]["what"], told
    os.chmod(t.scratch, 0o755)
    t.really(program, calls=0)
    os.chown(program, 0, -1)
    os.chmod(program, 0o755)
    setcap = shutil.which("setcap", path="/usr/sbin:/sbin:/usr/bin")
    if not setcap or subprocess.run([setcap, "cap_net_bind_service+ep", program], capture_output=True).returncode != 0:
        skip("no setcap, or no file capabilities here")
    t.expect(INTERCEPTED, {"secure": []}, program)
    done = t.run("--json", "-", program, user=65534, group=65534)
    told = json.loads(done.stdout)
    equal((told["status"], done.returncode, "capabilities" in told["findings"][0]["what"]), (NOT_INTERCEPTED, NOT_INTERCEPTED, True))
    # Who may run it, yet not read it, is told so.
    os.chmod(program, 0o711)
    told = json.loads(t.run("--json", "-", program, user=65534, group=65534).stdout)
    assert "unreadable" in kinds_of(told), told


def files(t):
    """What is no program for this machine, or none at all."""
    t.library("someblas", blas=BLAS)
    program = t.link("program", *t.with_libraries("someblas"), main=MAIN, call=CALL)
    with open(program, "rb") as f:
        good = f.read()
    t.expect(NOT_INTERCEPTED, {"architecture": []}, t.write("arm", good[:18] + struct.pack("<H", 183) + good[20:], 0o755))
    t.expect(NOT_INTERCEPTED, {"architecture": []}, t.write("x86", good[:4] + b"\1" + good[5:18] + struct.pack("<H", 3) + good[20:], 0o755))
    loader = b"/lib64/ld-linux-x86-64.so.2"
    equal(good.count(loader), 1)
    t.expect(NOT_INTERCEPTED, {"other-loader": []}, t.write("musl", good.replace(loader, b"/lib/ld-musl-x86_64.so.1".ljust(len(loader), b"\0")), 0o755))
    t.expect(UNCLEAR, {"other-loader": []}, t.write("nix", good.replace(loader, b"/nix/s/ld-linux-x86-64.so.2"), 0o755))
    t.expect(NOT_EXECUTABLE, {"not-executable": []}, t.path("libsomeblas.so"))
    t.expect(NOT_EXECUTABLE, {"not-executable": []}, t.write("bytes", b"\0\1\2", 0o755))
    t.expect(NOT_EXECUTABLE, {"not-executable": []}, t.scratch)
    t.expect(NOT_FOUND, {"not-found": []}, t.path("nothing"))
    t.expect(NOT_FOUND, {"not-found": []}, "no-such-program-anywhere")
    t.expect(NOT_FOUND, {"not-found": []}, "--run", t.path("nothing"))
    t.expect(NOT_EXECUTABLE, {"not-executable": []}, t.write("plain", good, 0o644))
    os.rename(t.path("libsomeblas.so"), t.path("elsewhere"))
    told = t.expect(NOT_EXECUTABLE, {"missing-library": ["libsomeblas.so"]}, program)
    os.rename(t.path("elsewhere"), t.path("libsomeblas.so"))
    told = t.expect(NOT_INTERCEPTED, {"switched-off": []}, program, env=os.environ | {"BLASLIFT": "off"})
    assert "linked" in kinds_of(told)


def scripts(t):
    """Scripts are followed to what the kernel runs."""
    t.library("someblas", blas=BLAS)
    program = t.link("program", *t.with_libraries("someblas"), main=MAIN, call=CALL)
    told = t.expect(INTERCEPTED, {"script": [], "linked": ["dgemm_"]}, t.write("one", f"#! {program} -x\n", 0o755))
    equal(told["path"], program)
    t.expect(INTERCEPTED, {"script": [], "linked": ["dgemm_"]}, t.write("two", f"#!{t.path('one')}\n", 0o755))
    by_env = t.write("by-env", "#!/usr/bin/env -S FOO=bar program -x\n", 0o755)
    t.expect(INTERCEPTED, {"linked": ["dgemm_"]}, by_env, env=os.environ | {"PATH": t.scratch + ":/usr/bin:/bin"})
    shell = t.write("shell", f"#!/bin/sh\n{program}\n", 0o755)
    t.expect(UNCLEAR, {"shell": []}, shell)
    t.expect(INTERCEPTED, {"called": ["1 call of dgemm"], "bound": ["dgemm_"]}, "--run", shell)
    t.expect(UNCLEAR, {"shell": []}, t.write("bare", f"{program}\n", 0o755))
    t.expect(NOT_FOUND, {"not-found": []}, t.write("gone", "#!/nowhere/interpreter\n", 0o755))
    t.expect(NOT_EXECUTABLE, {"not-executable": []}, t.write("loop", f"#!{t.path('loop')}\n", 0o755))


WIDE_BLAS = """
#include <stddef.h>
#include <stdint.h>
#define JOIN(a, b) a##b
#define NAMED(name, suffix) JOIN(name, suffix)
INTEGER NAMED(isamax_, SUFFIX)(const INTEGER* n, const float* x, const INTEGER* incx) {
  INTEGER largest = *n > 0;
  for (INTEGER i = 1; i < *n; ++i)
    if (x[i * *incx] > x[(largest - 1) * *incx]) largest = i + 1;
  return largest;
}
void NAMED(dgemm_, SUFFIX)(const char* a, const char* b, const INTEGER* m, const INTEGER* n, const INTEGER* k, const double* alpha,
    const double* A, const INTEGER* lda, const double* B, const INTEGER* ldb, const double* beta, double* C, const INTEGER* ldc,
    size_t x, size_t y) {
  C[0] = *m == 1 && *ldc == 1 ? *alpha * A[0] * B[0] : -3;
}
"""
"""A product of 1 x 1, and what tells the width of integers."""

TRAMPOLINE = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
static void *narrow, *wide;
__asm__(".globl dgemm_\\n.type dgemm_, @function\\ndgemm_: jmp *narrow(%rip)\\n"
        ".globl dgemm_64_\\n.type dgemm_64_, @function\\ndgemm_64_: jmp *wide(%rip)\\n");
int lbt_set_forward(const char* name, void* address, int interface) {
  *(interface == 64 ? &wide : &narrow) = address;
  return 0;
}
/* The number of functions that it has found; 0: not a library that it can tell anything of. */
int lbt_forward(const char* path) {
  static const char* const suffixes[] = {"", "_", "__", "64", "64_", "_64__", "__64___"};
  void* handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  if (!handle) return fputs(dlerror(), stderr), 0;
  for (int i = 0; i < 7; ++i) {
    char name[32];
    snprintf(name, sizeof name, "isamax_%s", suffixes[i]);
    int64_t (*isamax)(const int64_t*, const float*, const int64_t*);
    if (!(*(void**)&isamax = dlsym(handle, name))) continue;
    const int64_t n = (int64_t)0xffffffff00000003, one = 1;
    const float x[] = {1, 2, 1};
    const int found = (int)isamax(&n, x, &one);
    if (found != 0 && found != 2) return 0;
    snprintf(name, sizeof name, "dgemm_%s", suffixes[i]);
    void* f = dlsym(handle, name);
    if (f) lbt_set_forward("dgemm_", f, found == 0 ? 64 : 32);
    return f != 0;
  }
  return 0;
}
"""
"""As libblastrampoline looks at a library: by its own handle, by a suffix of isamax_, and by what that says of a length that is 3
in 32 bits and negative in 64."""

JULIA = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int lbt_forward(const char*);
int lbt_set_forward(const char*, void*, int);
/* ccall has the trampoline's own handle. */
#define CALL(name, INTEGER) do { \\
    void (*f)(const char*, const char*, const INTEGER*, const INTEGER*, const INTEGER*, const double*, const double*, \\
              const INTEGER*, const double*, const INTEGER*, const double*, double*, const INTEGER*, size_t, size_t); \\
    *(void**)&f = dlsym(dlopen("libblastrampoline.so", RTLD_LAZY), #name); \\
    const INTEGER one = 1; \\
    const double x = 2, zero = 0; \\
    f("N", "N", &one, &one, &one, &x, &x, &one, &x, &one, &zero, &y, &one, 1, 1); \\
  } while (0)
int main(int argc, char** argv) {
  double y = -1;
  for (char* path = strtok(getenv("LIBRARIES"), ";"); path; path = strtok(0, ";"))
    if (!lbt_forward(path)) return 91;
  if (getenv("LIFT")) {  /* Julia's own flags */
    void* address = dlsym(dlopen(getenv("LIFT"), RTLD_LAZY | RTLD_DEEPBIND), "dgemm_64_");
    if (!address || lbt_set_forward("dgemm_", address, 64)) return 92;
  }
  if (argc > 1) CALL(dgemm_, int); else CALL(dgemm_64_, long);
  return y == 8 ? 0 : 90;
}
"""


def julia(t):
    """A BLAS that Julia's libblastrampoline has taken functions of by handle is not intercepted, until its table is told of
    blaslift's, as the advice says; and what its own way to look at libraries makes of blaslift alone, and before a BLAS."""
    t.library("openblas64_", blas=(WIDE_BLAS, ("-DSUFFIX=64_", "-DINTEGER=int64_t")))
    t.library("wideblas", blas=(WIDE_BLAS, ("-DSUFFIX=", "-DINTEGER=int64_t")))
    t.library("narrowblas", blas=(WIDE_BLAS, ("-DSUFFIX=", "-DINTEGER=int")))
    t.library("blastrampoline", trampoline=TRAMPOLINE)
    julia = t.link("julia", "-Wl,--no-as-needed", *t.with_libraries("blastrampoline"), main=JULIA)
    told = t.expect(NOT_INTERCEPTED, {"julia": []}, julia)
    advice, = (f["advice"] for f in told["findings"] if f["kind"] == "julia")
    lift = re.search(r'dlopen\("(.*)"\)', advice)[1]
    assert os.path.exists(lift) and "lbt_set_forward" in advice, advice

    def environment(libraries, **more):
        return os.environ | {"LIBRARIES": ";".join(t.path(f"lib{name}.so") for name in libraries)} | more

    bare, forwarded = environment(["openblas64_"]), environment(["openblas64_"], LIFT=lift)
    t.expect(NOT_INTERCEPTED, {"julia": ["dgemm_64_"], "not-called": []}, "--run", julia, env=bare)
    t.expect(INTERCEPTED, {"called": ["1 call of dgemm"], "bound": ["dgemm_64_"]}, "--run", julia, env=forwarded)

    def calls(how, *arguments, **more):
        """Of a run that nothing is preloaded into; the library underneath, and its integers."""
        report = t.path("report")
        settings = {"BLASLIFT_REPORT": report} | more
        done = subprocess.run([julia, *arguments], env=how | settings, capture_output=True, text=True, timeout=50)
        equal((done.returncode, done.stdout, done.stderr), (0, "", ""))
        if not os.path.exists(report):
            return None
        with open(report) as f:
            told = json.loads(f.read())
        os.remove(report)
        dgemm = told["routines"]["dgemm"]
        return dgemm["calls"], dgemm["routed"], os.path.basename(told["library"]), told["integers"]

    forced = {"BLASLIFT_BACKEND": "host", "BLASLIFT_FORCE": "all"}
    equal(calls(bare), None)
    equal(calls(forwarded), (1, 0, "libopenblas64_.so", 64))
    equal(calls(forwarded, **forced), (1, 1, "libopenblas64_.so", 64))
    # Alone it has no isamax; in front of a BLAS it is taken for one with that one's suffix and integers.
    alone = environment([], LIBRARIES=lift)
    equal(subprocess.run([julia], env=alone).returncode, 91)
    for underneath, integers, arguments in (("openblas64_", 64, []), ("wideblas", 64, []), ("narrowblas", 32, ["narrow"])):
        t.library("inFront" + underneath, "-Wl,--no-as-needed", lift, "-Wl,-rpath," + os.path.dirname(lift), *t.with_libraries(underneath),
                  empty="typedef int nothing;\n")
        both = environment(["inFront" + underneath])
        equal(calls(both, *arguments), (1, 0, f"lib{underneath}.so", integers))
        equal(calls(both, *arguments, **forced), (1, 1, f"lib{underneath}.so", integers))


def known_programs(t):
    if shutil.which("mpirun"):
        t.expect(UNCLEAR, {"launcher": []}, "mpirun", "-n", "2", "program")
    for front in ("Rscript", "octave"):  # they have no BLAS themselves
        if shutil.which(front):
            t.expect(UNCLEAR, {"launcher": []}, front, "program")


def python(t):
    """Python, by its NumPy: Debian's over the system's BLAS, and a wheel's with names of its own."""
    script = t.write("script", "#!/usr/bin/python3\nimport numpy\n", 0o755)
    told, done = t.ask(script)
    equal([f["effect"] for f in told["findings"] if f["kind"] == "python"], ["maybe"])
    assert not any("numpy" in f["object"] for f in told["findings"]) and "--ask-python" in done.stdout, done.stdout
    told, done = t.ask("--ask-python", script)
    if not any("numpy" in f["object"] for f in told["findings"]):
        skip("Debian's Python has no NumPy")
    products = [p + product for p in "cdsz" for product in ("gemm", "gemv", "syrk")]
    t.expect(INTERCEPTED, {"python": [], "linked": [f"cblas_{product}" for product in products]}, "--ask-python", script)
    assert "libblas.so.3" in done.stdout, done.stdout
    wheels = os.path.join(t.venv, "bin/python")
    if not os.path.exists(wheels):
        skip("no virtual environment with NumPy's wheel")
    names = [f"scipy_cblas_{product}64_" for product in products]
    told = t.expect(INTERCEPTED, {"linked": names}, "--ask-python", wheels)
    assert any("numpy.libs/libscipy_openblas64_" in f["object"] for f in told["findings"]), told
    assert not {"embedded-blas", "respelled"} & kinds_of(told), told
    told = t.expect(INTERCEPTED, {"called": ["1 call of dgemm"], "bound": names}, "--run", wheels, "-c", "import numpy as n; n.ones((9, 8)) @ n.ones((8, 7))")


def broken_files(t):
    """Whatever stands in a file, there is an answer: cut off anywhere, or with any of its bytes another."""
    t.library("someblas", blas=BLAS)
    program = t.link("program", *t.with_libraries("someblas"), main=MAIN, call=CALL)
    with open(program, "rb") as f:
        good = f.read()
    broken = [good[: len(good) * i // 24] for i in range(1, 24)]
    # Headers, program headers and the dynamic section are what leads everywhere else.
    offset, count = struct.unpack_from("<Q", good, 32)[0], struct.unpack_from("<H", good, 56)[0]
    dynamic = next(struct.unpack_from("<QQQQ", good, offset + 56 * i)[1] for i in range(count) if struct.unpack_from("<I", good, offset + 56 * i)[0] == 2)
    for at in [*range(24, 64, 4), *range(offset, offset + 56 * count, 28), *range(dynamic + 8, dynamic + 400, 16)]:
        broken.append(good[:at] + b"\xff\xff\xff\x7f" + good[at + 4 :])
    for bytes_ in broken:
        file = t.write("broken", bytes_, 0o755)
        done = t.run("--", file)
        assert done.returncode in (INTERCEPTED, NOT_INTERCEPTED, PARTLY, NO_BLAS, UNCLEAR, NOT_EXECUTABLE) and not done.stderr, done
        os.remove(file)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--blaslift", required=True)
    parser.add_argument("--venv", required=True)
    parser.add_argument("case")
    arguments = parser.parse_args()
    with harness.scratch() as scratch:
        globals()[arguments.case](Context(arguments.blaslift, arguments.venv, scratch))
    print(arguments.case, "ok")


if __name__ == "__main__":
    sys.exit(main())
