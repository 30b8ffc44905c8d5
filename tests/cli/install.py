"""Installs a build into a fresh prefix and uses it as other projects would: find_package, pkg-config, the command."""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../bench"))
import links

PROJECT = """cmake_minimum_required(VERSION 3.20)
project(user C)
find_package(blaslift REQUIRED)
find_package(BLAS REQUIRED)
add_executable(user program.c)
target_link_libraries(user PRIVATE blaslift::blaslift ${BLAS_LIBRARIES})
"""

OWN_INTERFACE = """#include <blaslift.h>
#include <stdio.h>
int main(void) {
  const blaslift_w A = {2, 0x1p-61}, x = {2, 0}, alpha = {1.5, 0}, beta = {1, 0x1p-60};
  blaslift_w y = {1, 0};
  const int info = blaslift_wsymv('L', 1, &alpha, &A, 1, &x, 1, &beta, &y, 1);
  if (info == 0) printf("%g %a\\n", y.hi, y.lo);
  return info;
}
"""


def call(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, **options)
    assert done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def check_relinked(program):
    """Linked with us first, it reports without any preload."""
    environment = os.environ | {"BLASLIFT_REPORT": "stderr", "BLASLIFT_BACKEND": "host", "BLASLIFT_FORCE": "all"}
    output = call(program, "exit", "0", env=environment)
    assert "dgemm   1 call; 1 on the host backend" in output, output


def check_site(prefix, program, scratch):
    """A profile for all users holds for who has none, the modulefile has the prefix, and scripts are where they are said to be."""
    blaslift, folder = prefix + "/bin/blaslift", prefix + "/share/blaslift"
    environment = os.environ | {"XDG_CACHE_HOME": scratch + "/cache"}
    environment.pop("BLASLIFT_PROFILE", None)
    said = call(blaslift, "info", "--backend", "host", env=environment)
    assert f"looked for: {folder}/profiles\n" in said and "profile (built in for host)" in said, said
    tune = [blaslift, "tune", "--backend", "host", "--seconds", "0.001", "--noise", "1000", "--precisions", "s", "--sizes", "32"]
    written = call(*tune, "--output", folder + "/profiles/", env=environment)
    [name] = os.listdir(folder + "/profiles")
    profile = f"{folder}/profiles/{name}"
    assert f"written to {profile}, where the library looks for it for users without one of their own\n" in written, written
    assert f"profile (from {profile})" in call(blaslift, "info", "--backend", "host", env=environment)
    assert f"rates from {profile}" in call(blaslift, "run", "-v", "--backend", "host", program, "exit", "0", env=environment)
    # Programs read it: they say what they do not understand of it.  Who has one of his own does not.
    with open(profile, "a") as f:
        f.write("nonsense\n")
    run = [blaslift, "run", "-q", "--backend", "host", "--force", "all", program, "exit", "0"]
    said = call(*run, env=environment)
    assert said.endswith("nonsense\n") and f"/{name}: not understood and ignored" in said, said
    call(*tune, "-q", env=environment)
    assert call(*run, env=environment) == ""
    with open(f"{scratch}/cache/blaslift/{name}", "w") as f:  # another version's is as none
        f.write("profile 999\n")
    assert f"profile (from {profile}; " in call(blaslift, "info", "--backend", "host", env=environment)

    [module] = os.listdir(folder + "/modulefiles/blaslift")
    with open(f"{folder}/modulefiles/blaslift/{module}") as f:
        text = f.read()
    assert text.startswith("#%Module") and f"\nset prefix {{{prefix}}}\n" in text and "@" not in text, text
    for script in ("ranks-per-gpu.sh", "seccomp"):
        assert os.access(f"{folder}/{script}", os.X_OK), script


def check_documents(prefix):
    """None of their links leads nowhere, and they are what they were besides."""
    root = pathlib.Path(prefix, "share/doc/blaslift")
    documents = [root / "README.md", *root.glob("docs/**/*.md")]
    assert len(documents) > 20, documents
    dangling = [f"{document.relative_to(root)}: {target}" for document in documents for target in links.dangling(document)]
    assert not dangling, dangling
    for document in documents:
        source = (links.ROOT / document.relative_to(root)).read_text()
        words = lambda text: re.sub(r"\[([^][]*)\]\([^()]*\)", r"\1", text)
        assert words(document.read_text()) == words(source), document


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", required=True)
    parser.add_argument("--cmake", required=True)
    parser.add_argument("--generator", required=True)
    parser.add_argument("--program", required=True)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        prefix = os.path.join(scratch, "prefix")
        call(arguments.cmake, "--install", arguments.build, "--prefix", prefix)
        libraries = os.path.dirname(call("find", prefix, "-name", "libblaslift.so").strip())

        source = os.path.join(scratch, "user")
        os.mkdir(source)
        with open(os.path.join(source, "CMakeLists.txt"), "w") as f:
            f.write(PROJECT)
        os.symlink(os.path.abspath(arguments.program), os.path.join(source, "program.c"))
        call(arguments.cmake, "-G", arguments.generator, "-S", source, "-B", source + "/build", f"-DCMAKE_PREFIX_PATH={prefix}")
        call(arguments.cmake, "--build", source + "/build")
        check_relinked(source + "/build/user")

        flags = call("pkg-config", "--libs", "blaslift", env=os.environ | {"PKG_CONFIG_PATH": libraries + "/pkgconfig"})
        call("cc", "-Wl,--as-needed", arguments.program, "-o", source + "/by-pkg-config", *flags.split(), f"-Wl,-rpath,{libraries}", "-lblas")
        check_relinked(source + "/by-pkg-config")

        with open(os.path.join(source, "pairs.c"), "w") as f:
            f.write(OWN_INTERFACE)
        flags = call("pkg-config", "--cflags", "--libs", "blaslift", env=os.environ | {"PKG_CONFIG_PATH": libraries + "/pkgconfig"})
        call("cc", "-std=c11", "-pedantic-errors", "-Wall", "-Werror", source + "/pairs.c", "-o", source + "/pairs", *flags.split(),
             f"-Wl,-rpath,{libraries}")
        assert call(source + "/pairs") == "7 0x1.4p-59\n"

        output = call(prefix + "/bin/blaslift", "run", "--backend", "host", "--force", "all", source + "/build/user", "exit", "0")
        assert "1 on the host backend" in output, output
        check_documents(prefix)
        check_site(prefix, source + "/build/user", scratch)
    print("install ok")


if __name__ == "__main__":
    main()
