// What every backend must do (kernels/backend.hpp), asked of a module through the door the library uses:
//
//   blaslift_conformance --backend host|cuda [--modules DIR] [GoogleTest's options]
//
// DIR is where libblaslift_<backend>.so lies (../lib beside this program).  Ends with 77 where the cuda module cannot
// be opened.  Needs nothing but libc and the module: "the library underneath" is a triple loop (reference.hpp).
#include "impl/route/device.hpp"
#include "tests/conformance/harness.hpp"

namespace blaslift::conformance {
namespace {

std::string beside_this_program() {
  char path[4096];
  const auto length = readlink("/proc/self/exe", path, sizeof path);
  const std::string self(path, length > 0 ? static_cast<std::size_t>(length) : 0);
  return self.substr(0, self.rfind('/')) + "/../lib";
}

}  // namespace

int run(int argc, char** argv) {
  modules = beside_this_program();
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (option == "--backend" && i + 1 < argc) {
      backend_name = argv[++i];
    } else if (option == "--modules" && i + 1 < argc) {
      modules = argv[++i];
    } else {
      std::fprintf(stderr, "usage: %s --backend host|cuda [--modules DIR] [GoogleTest's options]\n", argv[0]);
      return 2;
    }
  }
  if (testing::GTEST_FLAG(list_tests)) return RUN_ALL_TESTS();
  std::string why;
  backend =
      open_module(modules, backend_name.c_str(), {.memory_limit = memory_limit, .local_rank = 0, .local_size = 1}, why);
  if (!backend) {
    std::fprintf(stderr, "the %s module cannot be opened: %s\n", backend_name.c_str(), why.c_str());
    return backend_name == "cuda" ? exit_skipped : 1;
  }
  std::printf("backend %s: %s, %s\n", backend_name.c_str(), backend->facts().name, backend->facts().driver);
  return RUN_ALL_TESTS();
}

}  // namespace blaslift::conformance

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // what has been said outlives a crash
  testing::InitGoogleTest(&argc, argv);
  return blaslift::conformance::run(argc, argv);
}
