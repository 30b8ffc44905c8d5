"""For Spack: builds a checkout where it is, as

    spack repo add tools/packaging/spack
    spack dev-build --source-path . blaslift@0.2.0
"""

from spack.package import *

try:  # from Spack 1.0 on; before, it came with spack.package
    from spack_repo.builtin.build_systems.cmake import CMakePackage, generator
except ImportError:
    pass


class Blaslift(CMakePackage):
    """BLAS and LAPACK calls of unmodified programs on an NVIDIA GPU: a library that is preloaded into programs, or linked
    before their BLAS, and the command around it."""

    license("Apache-2.0")

    version("0.2.0")

    variant("cuda", default=True, description="The GPU module; without it, the library passes all calls through")

    generator("ninja")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("cli11", type="build")
    depends_on("nlohmann-json", type="build")
    # cuBLAS and cuSOLVER, too: the library opens them when it first needs them.
    depends_on("cuda@13:", type=("build", "link", "run"), when="+cuda")

    requires("platform=linux")
    requires("target=x86_64:")
    conflicts("%gcc@:11", msg="C++20")

    def cmake_args(self):
        return [
            self.define("BUILD_TESTING", False),
            self.define("BLASLIFT_CUDA", "ON" if self.spec.satisfies("+cuda") else "OFF"),
        ]
