"""Makes packages of a build, installs each into a fresh tree, and uses what is there: nothing of the build directory."""

import argparse
import ctypes.util
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77

SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs")

ALTERNATIVES = ("libblas.so.3", "liblapack.so.3")

NUMPY = """
import numpy as np
from numpy import linalg
A = np.arange(40 * 50).reshape(40, 50) % 7 - 3.0
B = np.arange(50 * 30).reshape(50, 30) % 5 - 2.0
C = A @ B                                   # dgemm; small integers: exact in any order
assert (C == (A.astype(int) @ B.astype(int))).all()
S = A @ A.T + 50 * np.eye(40)               # dsyrk
x = linalg.solve(S, A[:, 0])                # dgesv
assert abs(S @ x - A[:, 0]).max() < 1e-10
w, V = linalg.eigh(S)                       # dsyevd, with dsymv inside where its LAPACK asks for it
assert abs(V @ np.diag(w) @ V.T - S).max() < 1e-9
Q, R = linalg.qr(A)                         # dgeqrf
assert abs(Q @ R - A).max() < 1e-11
print("right")
"""


BY_HANDLE = """
import ctypes
from ctypes import byref, c_int, c_double
library = ctypes.CDLL("libblas.so.3")
n, one, zero = c_int(2), c_double(1), c_double(0)
A, B, C = ((c_double * 4)(*x) for x in ([1, 2, 3, 4], [5, 6, 7, 8], [9, 9, 9, 9]))
library.dgemm_(b"N", b"N", byref(n), byref(n), byref(n), byref(one), A, byref(n), B, byref(n), byref(zero), C, byref(n), 1, 1)
assert list(C) == [23, 34, 31, 46], list(C)
step = c_int(1)
library.dspmv_(b"L", byref(n), byref(one), A, B, byref(step), byref(one), C, byref(step), 1)  # A packed
assert list(C) == [40, 62, 31, 46], list(C)
print("right")
"""


def skip(reason):
    print("SKIPPED:", reason)
    sys.exit(SKIPPED)


def equal(actual, expected):
    assert actual == expected, f"{actual!r}, expected {expected!r}"


def call(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, **options)
    assert done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


class Context:
    def __init__(self, source, build, program, scratch):
        self.source, self.build, self.program, self.scratch = source, build, program, scratch
        self.architecture = call("cc", "-print-multiarch").strip()

    def path(self, *names):
        return os.path.join(self.scratch, *names)

    def debs(self):
        """The packages: blaslift, blaslift-alternative."""
        if not shutil.which("dpkg-deb") or not shutil.which("cpack"):
            skip("no dpkg, or no cpack")
        out = self.path("packages")
        told = call(os.path.join(self.source, "tools/package-deb"), "--build", self.build, "--output", out).splitlines()
        equal(sorted(told), sorted(glob.glob(out + "/*.deb")))
        own, alternative = sorted(told, key=lambda path: "alternative" in path)
        return own, alternative

    def unpacked(self):
        root = self.path("root")
        if not os.path.exists(root):
            for deb in self.debs():
                call("dpkg-deb", "-x", deb, root)
        return root

    def has_cuda(self):
        return os.path.exists(os.path.join(self.build, "lib/libblaslift_cuda.so"))


def fields_of(deb):
    text = call("dpkg-deb", "-f", deb)
    return dict(re.findall(r"^(\S+): (.*)$", text, re.M))


def symbols_of(library):
    lines = call("nm", "-D", "--defined-only", library).splitlines()
    return {line.split()[2].split("@")[0] for line in lines if line.split()[1] in "TWi"}


def newest_glibc(*files):
    versions = re.findall(r"GLIBC_(2\.\d+)", call("objdump", "-p", *files))
    return max(versions, key=lambda version: int(version[2:]))


def routed(output, routine="dgemm"):
    return json.loads(output)["routines"][routine]["routed"]


def check_files(t, root, libraries, share):
    """The command and its manual are there, the libraries without what debuggers need, the GPU's module if it was built."""
    names = ["libblaslift.so", "libblaslift_doctor.so", "libblaslift_host.so", "libblaslift_measure.so"]
    equal(sorted(os.path.basename(f) for f in glob.glob(libraries + "/libblaslift*")), sorted(names + ["libblaslift_cuda.so"] * t.has_cuda()))
    for file in [*glob.glob(libraries + "/libblaslift*"), root + "/bin/blaslift"]:
        sections = call("objdump", "-h", file)
        assert ".text" in sections and ".debug_info" not in sections, file
    for file in ("man/man1/blaslift.1", "man/man7/libblaslift.7", "bash-completion/completions/blaslift", "zsh/*/_blaslift",
                 "fish/vendor_completions.d/blaslift.fish"):
        (found,) = glob.glob(os.path.join(share, file))
        assert os.path.getsize(found) > 1000, found
    # What a site may use, but for the modulefile, which only an installation of its own needs.
    equal(sorted(os.listdir(share + "/blaslift")), ["ranks-per-gpu.sh", "seccomp"])
    for script in glob.glob(share + "/blaslift/*"):
        assert os.access(script, os.X_OK), script


def check_use(t, blaslift, libraries):
    """The command runs a program through the library of the same tree."""
    environment = os.environ | {"TMPDIR": t.scratch}
    done = subprocess.run([blaslift, "run", "--backend", "host", "--force", "all", "--json", t.path("run.json"), t.program, "exit", "5"],
                          capture_output=True, text=True, timeout=50, env=environment)
    equal((done.returncode, "dgemm   1 call; 1 on the host backend" in done.stderr), (5, True))
    with open(t.path("run.json")) as f:
        equal(routed(f.read()), 1)
    preload = call(blaslift, "env", "--shell", "sh", env=environment)
    equal(preload, f"export LD_PRELOAD='{os.path.realpath(libraries)}/libblaslift.so';\n")
    equal(call(blaslift, "doctor", "--run", t.program, "exit", "0", env=environment).splitlines()[0], f"{t.program}: intercepted")
    assert "dspmv" in subprocess.run([blaslift, "measure", t.program, "others"], capture_output=True, text=True, env=environment).stderr


def deb(t):
    """Architecture, dependencies from what the files need, and every file in its place; used from where it is unpacked."""
    own, alternative = t.debs()
    root = t.unpacked()
    libraries = os.path.join(root, "usr/lib", t.architecture)
    fields, others = fields_of(own), fields_of(alternative)
    architecture = call("dpkg", "--print-architecture").strip()
    equal((fields["Package"], fields["Architecture"], others["Package"], others["Architecture"]),
          ("blaslift", architecture, "blaslift-alternative", architecture))
    check_files(t, root + "/usr", libraries, root + "/usr/share")
    files = [root + "/usr/bin/blaslift", *glob.glob(libraries + "/libblaslift*.so")]
    equal(fields["Depends"], f"libc6 (>= {newest_glibc(*files)})")
    for library in ("libcublas-", "libcusolver-"):
        equal(library in fields.get("Recommends", ""), t.has_cuda())
    assert f"blaslift (= {fields['Version']})" in others["Depends"] and "libopenblas0" in others["Depends"], others
    equal(others["Provides"], ", ".join(ALTERNATIVES))
    check_use(t, root + "/usr/bin/blaslift", libraries)


def dpkg(t):
    """Installed by dpkg into a tree of its own: offered, not chosen, chosen when asked for, and gone when removed."""
    own, alternative = t.debs()
    command = [] if os.geteuid() == 0 else ["fakeroot"]
    if command and not shutil.which(command[0]):
        skip("dpkg installs as root, and there is no fakeroot")
    root = t.path("root")
    for folder in ("var/lib/dpkg/info", "var/lib/dpkg/updates", "var/lib/dpkg/alternatives", "var/log", "etc/alternatives", "usr/lib/" + t.architecture):
        os.makedirs(os.path.join(root, folder))
    for file in ("status", "available"):
        open(os.path.join(root, "var/lib/dpkg", file), "w").close()
    alternatives = ["update-alternatives", "--root", root, "--log", "/dev/null"]
    environment = os.environ | {"PATH": os.environ["PATH"] + ":/usr/sbin:/sbin", "DEBIAN_FRONTEND": "noninteractive"}

    def link(name):
        """What is chosen, as in the tree."""
        path = os.path.join(root, "usr/lib", t.architecture, name)
        return os.readlink(os.path.join(root, os.readlink(path).lstrip("/"))) if os.path.islink(path) else None

    # The reference's, at its priority, which is the lowest of Debian's.
    for name in ALTERNATIVES:
        other = f"/usr/lib/{t.architecture}/reference/{name}"
        os.makedirs(os.path.dirname(root + other), exist_ok=True)
        open(root + other, "w").close()
        call(*alternatives, "--install", f"/usr/lib/{t.architecture}/{name}", f"{name}-{t.architecture}", other, "10")
    forces = ["--force-script-chrootless", "--force-depends", "--force-not-root", "--log=/dev/null"]
    dpkg_here = [*command, "dpkg", f"--root={root}", *forces]
    call(*dpkg_here, "-i", own, alternative, env=environment)
    status = call("dpkg-query", f"--admindir={root}/var/lib/dpkg", "-W", "-f", "${Package} ${db:Status-Status}\n").splitlines()
    equal(sorted(status), ["blaslift installed", "blaslift-alternative installed"])
    for name in ALTERNATIVES:
        equal(link(name), f"/usr/lib/{t.architecture}/reference/{name}")
        ours = f"/usr/lib/{t.architecture}/blaslift/{name}"
        assert os.path.exists(root + ours), ours
        call(*alternatives, "--set", f"{name}-{t.architecture}", ours)
        equal(link(name), ours)
    call(*dpkg_here, "-r", "blaslift-alternative", env=environment)
    for name in ALTERNATIVES:
        equal(link(name), f"/usr/lib/{t.architecture}/reference/{name}")
    assert os.path.exists(root + "/usr/bin/blaslift")
    call(*dpkg_here, "-r", "blaslift", env=environment)
    equal(glob.glob(root + "/usr/**/*blaslift*", recursive=True), [])


def alternative(t):
    """As the system's libblas.so.3 and liblapack.so.3: intercepted without a preload, once, and all else of BLAS and LAPACK there."""
    underneath = f"/usr/lib/{t.architecture}/libopenblas.so.0"
    if not os.path.exists(underneath):
        skip("no " + underneath)
    root = t.unpacked()
    libraries = os.path.join(root, "usr/lib", t.architecture)

    def chosen(*names):
        """An environment in which these names are blaslift's, as update-alternatives would have it: by links."""
        folder = tempfile.mkdtemp(dir=t.scratch)
        for name in names:
            os.symlink(os.path.join(libraries, "blaslift", name), os.path.join(folder, name))
        settings = {"LD_LIBRARY_PATH": f"{folder}:{libraries}", "LD_BIND_NOW": "1", "TMPDIR": t.scratch, "BLASLIFT_BACKEND": "host",
                    "BLASLIFT_FORCE": "all", "BLASLIFT_REPORT": os.path.join(folder, "report")}
        return os.environ | settings

    def report(environment):
        with open(environment["BLASLIFT_REPORT"]) as f:
            (line,) = f.read().splitlines()
        return line

    both = chosen(*ALTERNATIVES)
    call(t.program, "exit", "0", env=both)
    told = json.loads(report(both))
    equal((told["routines"]["dgemm"]["calls"], told["routines"]["dgemm"]["routed"]), (1, 1))
    assert os.path.realpath(told["library"]) == os.path.realpath(underneath), told
    # Its xerbla_ is the program's, and what is not intercepted is OpenBLAS's.
    call(t.program, "others", env=chosen(*ALTERNATIVES))
    call(t.program, "others", env=chosen("libblas.so.3"))

    # Everything that programs linked with Debian's OpenBLAS find under these names.
    count = 0
    for name in ALTERNATIVES:
        wanted = symbols_of(f"/usr/lib/{t.architecture}/openblas-pthread/{name}") - {"_init", "_fini"}
        script = f"import ctypes, sys\nlibrary = ctypes.CDLL('{name}')\nprint([s for s in sys.stdin.read().split() if not hasattr(library, s)])"
        equal(call(sys.executable, "-c", script, input=" ".join(wanted), env=both), "[]\n")
        count += len(wanted)
    assert count > 2000, count

    # Who asks the library's own handle for functions gets blaslift's.
    handle = chosen(*ALTERNATIVES)
    equal(call(sys.executable, "-c", BY_HANDLE, env=handle), "right\n")
    equal(routed(report(handle)), 1)

    # NumPy opens libblas.so.3 for itself.
    if subprocess.run([sys.executable, "-c", "import numpy"], capture_output=True).returncode == 0:
        python = chosen(*ALTERNATIVES)
        equal(call(sys.executable, "-c", NUMPY, env=python), "right\n")
        told = json.loads(report(python))
        equal(os.path.realpath(told["library"]), os.path.realpath(underneath))
        assert told["routines"]["dgemm"]["routed"] >= 1 and told["routines"]["dgeqrf"]["calls"] >= 1, told
        assert told["routines"]["dgesv"]["calls"] >= 1, told

    # Preloaded as well: still one blaslift, and one call.
    blaslift = root + "/usr/bin/blaslift"
    twice = chosen(*ALTERNATIVES)
    call(blaslift, "run", "-q", "--json", t.path("twice.json"), t.program, "exit", "0", env=twice)
    with open(t.path("twice.json")) as f:
        dgemm = json.load(f)["routines"]["dgemm"]
    equal((dgemm["calls"], dgemm["routed"]), (1, 1))
    measured = subprocess.run([blaslift, "measure", t.program, "others"], capture_output=True, text=True, env=chosen(*ALTERNATIVES), timeout=50)
    equal(measured.returncode, 0)
    assert re.search(r"^  dspmv +1 ", measured.stderr, re.M), measured.stderr
    equal(call(blaslift, "doctor", t.program, env=both).splitlines()[0], f"{t.program}: intercepted")
    info = call(blaslift, "info", env=both)
    for name in ALTERNATIVES:
        found = re.search(rf"^  {re.escape(name)}: (\S+), 32-bit", info, re.M)
        assert found and os.path.realpath(found[1]) == os.path.realpath(underneath), info


def through_switch(t, folder, program):
    """A program linked with a switch between BLAS libraries, which FLEXIBLAS has given the alternative's libblas.so.3."""
    root = t.unpacked()
    backend = os.path.join(root, "usr/lib", t.architecture, "blaslift/libblas.so.3")
    openblas = os.path.realpath(f"/usr/lib/{t.architecture}/libopenblas.so.0")
    base = os.environ | {"LD_LIBRARY_PATH": folder, "FLEXIBLAS": backend, "TMPDIR": t.scratch}

    def calls(command, underneath="libopenblas", **settings):
        """What came to blaslift: {routine: (calls, routed)}, all of it with this library underneath."""
        report = os.path.join(tempfile.mkdtemp(dir=t.scratch), "report")
        equal(call(*command, env=base | settings | {"BLASLIFT_REPORT": report}), "right\n")
        with open(report) as f:
            (line,) = f.read().splitlines()
        told = json.loads(line)
        assert os.path.basename(os.path.realpath(told["library"])).startswith(underneath), told["library"]
        return {name: (routine["calls"], routine["routed"]) for name, routine in told["routines"].items()}

    forced = {"BLASLIFT_BACKEND": "host", "BLASLIFT_FORCE": "all"}
    made = {"dgemm": 2, "dtrmm": 1, "dgesv": 1}
    stay, go = ({name: (times, times * routed) for name, times in made.items()} for routed in (0, 1))
    equal(calls([program]), stay)
    equal(calls([program], **forced), go)
    # Preloaded instead, in front of the switch, which has OpenBLAS behind it.
    preload = {"LD_PRELOAD": os.path.join(root, "usr/lib", t.architecture, "libblaslift.so")}
    in_front = {"underneath": "libflexiblas", **preload, "FLEXIBLAS": openblas}
    equal(calls([program], **in_front), stay)
    equal(calls([program], **in_front, **forced), go)
    # Both, which nobody should do: what is not routed may be counted twice, but nothing goes round in a circle.
    calls([program], underneath="libflexiblas", **preload)
    doctor = call(os.path.join(root, "usr/bin/blaslift"), "doctor", "--json", "-", program, env=base)
    assert "switch" in [finding["kind"] for finding in json.loads(doctor)["findings"]], doctor
    return calls, forced


def switch(t):
    """A switch between BLAS libraries that works as FlexiBLAS does has blaslift and all of OpenBLAS as its backend."""
    blas = f"/usr/lib/{t.architecture}/openblas-pthread"
    if not os.path.exists(blas):
        skip("no " + blas)
    exported = set().union(*(symbols_of(f"{blas}/{name}") for name in ALTERNATIVES))
    names = sorted(name for name in exported if re.fullmatch(r"cblas_\w+|[a-z]\w*_", name))
    assert len(names) > 2000, len(names)
    for how, called in {"jumps": (), "calls": ("dgemm_", "dgesv_", "dtrmm_", "dgeqrf_", "dsyevd_")}.items():
        folder = t.path(how)
        os.makedirs(folder)
        with open(os.path.join(folder, "names.inc"), "w") as f:
            f.writelines(f"{'CALL' if name in called else 'JUMP'}({name}, {i})\n" for i, name in enumerate(names))
        library, program = (os.path.join(folder, name) for name in ("libflexiblas.so.3", "switched"))
        build = ["cc", "-w", "-O0", "-shared", "-fPIC", "-I" + folder, "-Wl,-soname,libflexiblas.so.3"]
        call(*build, os.path.join(SOURCES, "switch.c"), "-o", library, "-ldl")
        call("cc", "-w", "-O1", os.path.join(SOURCES, "switched.c"), library, "-o", program)
        calls, forced = through_switch(t, folder, program)
        # NumPy, where the system's libblas.so.3 and liblapack.so.3 are the switch.
        for name in ALTERNATIVES:
            os.symlink(library, os.path.join(folder, name))
        if subprocess.run([sys.executable, "-c", "import numpy"], capture_output=True).returncode == 0:
            told = calls([sys.executable, "-c", NUMPY], **forced)
            assert all(told[name][1] >= 1 for name in ("dgemm", "dsyrk", "dgesv", "dsyevd", "dgeqrf")), told
    done = subprocess.run([program], env=os.environ | {"LD_LIBRARY_PATH": folder}, capture_output=True, text=True)
    equal((done.returncode, done.stderr), (80, "switch: FLEXIBLAS names no library\n"))  # it is this library that is used


def flexiblas(t):
    """FlexiBLAS itself, where it is."""
    name = ctypes.util.find_library("flexiblas")
    if not name:
        skip("FlexiBLAS is not here; packages.switch has a stand-in for it")
    program = t.path("switched")
    call("cc", "-w", "-O1", os.path.join(SOURCES, "switched.c"), "-l:" + name, "-o", program)
    through_switch(t, "", program)


def wheel(t):
    """A tag that says what the files need; installed by pip without an index, used, and removed without a rest."""
    out = t.path("wheels")
    path = call(os.path.join(t.source, "tools/package-wheel"), "--build", t.build, "--output", out).strip()
    equal(glob.glob(out + "/*"), [path])
    again = call(os.path.join(t.source, "tools/package-wheel"), "--build", t.build, "--output", t.path("again")).strip()
    with open(path, "rb") as one, open(again, "rb") as other:
        assert one.read() == other.read(), "the same build makes another wheel"
    venv = t.path("venv")
    made = subprocess.run([sys.executable, "-m", "venv", venv], capture_output=True, text=True)
    if made.returncode != 0:
        skip("no venv: " + made.stdout)
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "PIP"))}
    pip = [venv + "/bin/python", "-m", "pip", "--disable-pip-version-check"]
    before = sorted(glob.glob(venv + "/**/*", recursive=True))
    call(*pip, "install", "--no-index", path, env=environment)
    call(*pip, "check", env=environment)
    (package,) = glob.glob(venv + "/lib/python3*/site-packages/blaslift")
    check_files(t, package, package + "/lib", venv + "/share")
    glibc = re.search(r"manylinux_2_(\d+)_x86_64\.whl$", path)[1]
    equal(newest_glibc(package + "/bin/blaslift", *glob.glob(package + "/lib/*.so")), "2." + glibc)
    check_use(t, venv + "/bin/blaslift", package + "/lib")
    version = call(venv + "/bin/blaslift", "--version")
    equal(call(venv + "/bin/python", "-m", "blaslift", "--version"), version)
    own = "import blaslift, sys; sys.stdout.write(blaslift.__version__ + '\\n' + blaslift.library())"
    # What comes after a release says so; packages are named by the number.
    equal(call(venv + "/bin/python", "-c", own), version.split("+")[0].strip() + "\n" + os.path.realpath(package) + "/lib/libblaslift.so")
    if t.has_cuda():
        needs = call("objdump", "-p", package + "/lib/libblaslift_cuda.so")
        major = re.search(r"libcublas\.so\.(\d+)", needs)[1]
        assert f"$ORIGIN/../../nvidia/cu{major}/lib" in needs, needs  # where NVIDIA's wheel puts it
        with open(glob.glob(venv + "/lib/python3*/site-packages/blaslift-*.dist-info/METADATA")[0]) as f:
            assert f'Requires-Dist: nvidia-cublas>={major},<{int(major) + 1}; extra == "cuda"\n' in f.read()
    call(*pip, "uninstall", "-y", "blaslift", env=environment)
    left = [f for f in glob.glob(venv + "/**/*", recursive=True) if f not in before and not os.path.isdir(f) and "__pycache__" not in f]
    equal(left, [])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", required=True)
    parser.add_argument("--build", required=True)
    parser.add_argument("--program", required=True)
    parser.add_argument("case")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        for name in list(os.environ):
            if name.startswith(("BLASLIFT", "LD_")):
                del os.environ[name]
        globals()[arguments.case](Context(arguments.source, arguments.build, arguments.program, scratch))
    print(arguments.case, "ok")


if __name__ == "__main__":
    sys.exit(main())
