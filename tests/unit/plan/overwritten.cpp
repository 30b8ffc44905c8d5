// What results overwrite is kept and can be put back, all of it or a triangle, and nothing beside it is touched.
#include "impl/plan/overwritten.hpp"

#include <gtest/gtest.h>

#include <atomic>

#include "kernels/host/host.hpp"
#include "tests/unit/support/reference.hpp"

namespace blaslift::overwritten_tests {
namespace {

using namespace reference;

/// As long as the process: its threads may be waiting.
Backend& host_backend() {
  static Backend* const made = make_host_backend({.memory_limit = std::size_t{16} << 20});
  return *made;
}

TEST(Overwritten, IsPutBackToTheLastBitAndNothingBesideIt) {
  constexpr index n = 37, width = 10;
  for (const Part part : {Part::whole, Part::lower, Part::upper})
    for (const bool all_at_once : {false, true}) {
      SCOPED_TRACE(testing::Message() << "part " << static_cast<int>(part) << (all_at_once ? ", all at once" : ""));
      const auto counts = [part](index i, index j) {
        return part == Part::whole || (part == Part::lower ? i >= j : i <= j);
      };
      Matrix<double> matrix(n, n, 3), result(n, n);
      matrix.random(1);
      result.random(2);
      const Matrix<double> before = matrix;
      Overwritten<double> overwritten(matrix.data(), matrix.ld(), n, n, part);
      if (all_at_once) overwritten.keep_all();

      constexpr UnderlyingBlas none{[](const void*, const Operation&) {}, nullptr};
      Status status = Status::done;
      Backend& backend = host_backend();
      Lane* lane = backend.acquire(none, sizeof(double) * n * n, status);
      ASSERT_NE(lane, nullptr);
      std::atomic<bool> landed[(n + width - 1) / width] = {};
      for (index col = 0; col < n; col += width) {
        const Block block{0, col, n, std::min(width, n - col)};
        const Transfer transfer = overwritten.transfer(block, &result(0, col), result.ld(), false);
        ASSERT_EQ(lane->download(transfer, {nullptr, 0}, landed[col / width]), Status::done);
      }
      ASSERT_EQ(lane->drain(), Status::done);
      backend.release(lane);
      for (index j = 0; j < n; ++j)
        for (index i = 0; i < n; ++i) {
          ASSERT_EQ(matrix(i, j), counts(i, j) ? result(i, j) : before(i, j)) << i << "," << j;
          if (counts(i, j)) {
            ASSERT_EQ(*overwritten.kept(i, j), before(i, j)) << i << "," << j;
          }
        }

      for (index col = 0; col < n; col += width) overwritten.restore({0, col, n, std::min(width, n - col)});
      EXPECT_TRUE(matrix == before);
      EXPECT_TRUE(matrix.canaries_intact());
    }
}

}  // namespace
}  // namespace blaslift::overwritten_tests
