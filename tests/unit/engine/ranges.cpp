// NVTX ranges of calls: nothing without a tool, names and nesting with one.
#include "kernels/cuda/core/ranges.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "tests/unit/support/temporary.hpp"

namespace blaslift::ranges_tests {
namespace {

using namespace temporary;

/// What the tool has seen of a call in a call.
std::string seen(const char* tool) {
  const Directory directory;
  const std::string output = directory.path() / "ranges";
  const int status = in_child([&] {  // NVTX looks for tools once in a process
    const Variable injection("NVTX_INJECTION64_PATH", tool), told("NVTX_TOOL_OUTPUT", output.c_str());
    const Ranges ranges;
    ranges.begin("dgeqrf", 4096, 1024, 0);
    ranges.begin("dgemm", 3072, 1024, 64);
    ranges.end();
    ranges.end();
    return 0;
  });
  EXPECT_EQ(status, 0);
  std::ifstream file(output);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Ranges, AreSeenByAToolThatIsThere) {
  EXPECT_EQ(seen(BLASLIFT_NVTX_TOOL),
            "begin blaslift dgeqrf m=4096 n=1024 k=0\n"
            "begin blaslift dgemm m=3072 n=1024 k=64\n"
            "end blaslift \n"
            "end blaslift \n");
}

TEST(Ranges, AreNothingWithoutOne) { EXPECT_EQ(seen(nullptr), ""); }

}  // namespace
}  // namespace blaslift::ranges_tests
