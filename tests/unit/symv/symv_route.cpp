// symv and hemv before any device: arguments, the decision, and what is sent of a triangle.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "impl/route/decision.hpp"
#include "impl/route/operands.hpp"
#include "impl/symv/symv.hpp"
#include "impl/symv/symv_family.hpp"
#include "impl/vector/vector_family.hpp"
#include "tests/unit/support/random.hpp"

namespace blaslift::symv_route_tests {
namespace {

/// Round numbers: the bus 10 GB/s, the device's memory 1 TB/s.
constexpr Profile profile{.in_rate = 1e10,
                          .out_rate = 2e10,
                          .latency_seconds = 1e-5,
                          .startup_seconds = 0.5,
                          .gemm_rate = {1, 1, 1, 1},
                          .cpu_rate = {1, 1, 1, 1},
                          .pass_rate = 1e12,
                          .symv_latency_seconds = 1e-6};

double bytes_of_triangle(const Problem& p) {
  return static_cast<double>(p.n) * static_cast<double>(p.n + 1) / 2 * static_cast<double>(element_size(p.element));
}

/// A call, by what is unusual about it.  As it stands here there is a copy of its matrix.
struct Call {
  Problem product{.routine = Routine::dsymv, .element = Element::d, .n = 4096, .beta_zero = true};
  Facts facts{.device = DeviceState::ready, .profile = &profile, .cpu_rate = 1e10, .slowdown = 1};
  Policy policy{.on = true, .measuring = false, .forced = false, .fixed = false};
  Call() { facts.spared = bytes_of_triangle(product); }
  Decision decide() const { return blaslift::decide(counted(product), facts, policy); }
};

/// In the order of their precedence; `alone` is why the call stays or goes if nothing else holds.
struct Circumstance {
  Reason reason;
  Route route;
  void (*holds)(Call&);
};
constexpr Circumstance circumstances[] = {
    {Reason::off, Route::cpu, [](Call& c) { c.policy.on = false; }},
    {Reason::forked, Route::cpu, [](Call& c) { c.facts.forked = true; }},
    {Reason::exiting, Route::cpu, [](Call& c) { c.facts.exiting = true; }},
    {Reason::nothing, Route::cpu, [](Call& c) { c.product.alpha_zero = true; }},
    {Reason::overlap, Route::cpu, [](Call& c) { c.product.overlaps = true; }},
    {Reason::measuring, Route::cpu, [](Call& c) { c.policy.measuring = true; }},
    {Reason::device_memory, Route::device, [](Call& c) { c.facts.device_memory = true; }},
    {Reason::small, Route::cpu, [](Call& c) { c.product.n = 511; }},
    {Reason::no_device, Route::cpu, [](Call& c) { c.facts.device = DeviceState::absent; }},
    {Reason::forced, Route::device, [](Call& c) { c.policy.forced = true; }},
    {Reason::reuse, Route::device,
     [](Call& c) {
       c.facts.spared = 0;
       c.facts.reusable = bytes_of_triangle(c.product);
       c.facts.missed_reuse = 1;
     }},
    {Reason::transfers, Route::cpu, [](Call& c) { c.facts.spared = 0; }},
    {Reason::startup, Route::cpu, [](Call& c) { c.facts.device = DeviceState::unopened; }},
    {Reason::faster, Route::device, [](Call&) {}},
};

TEST(DecideSymv, EveryCircumstanceAloneHasItsReason) {
  for (const Circumstance& x : circumstances) {
    Call call;
    x.holds(call);
    EXPECT_EQ(call.decide().reason, x.reason) << text_of(x.reason);
    EXPECT_EQ(call.decide().route, x.route) << text_of(x.reason);
  }
}

TEST(DecideSymv, TheFirstOfTwoCircumstancesCounts) {
  for (const Circumstance& first : circumstances)
    for (const Circumstance* second = &first + 1; second < std::end(circumstances); ++second) {
      Call call;
      second->holds(call);
      first.holds(call);
      const Reason got = call.decide().reason, by_force = Reason::forced;
      // A forced call is never too small; only an open device can be known to hold operands; a copy for later, too, has
      // to earn the start-up, and one bought despite the transfers is reuse.
      if (first.reason == Reason::small && second->reason == by_force) {
        EXPECT_EQ(got, by_force);
      } else if (first.reason == Reason::device_memory && call.facts.device != DeviceState::ready) {
        EXPECT_EQ(got, second->reason);
      } else if (first.reason == Reason::reuse && second->reason == Reason::startup) {
        EXPECT_EQ(got, Reason::startup);
      } else if ((first.reason == Reason::nothing || first.reason == Reason::overlap) &&
                 second->reason == Reason::device_memory) {
        EXPECT_EQ(got, Reason::device_memory);  // the CPU cannot even do next to nothing
      } else {
        EXPECT_EQ(got, first.reason) << text_of(first.reason) << " before " << text_of(second->reason);
      }
    }
}

TEST(DecideSymv, OfMoreThanTheKernelsCountNothingGoesToTheDevice) {
  Call call;
  call.product.n = (index{1} << 32) + 5;
  call.facts.device_memory = true;
  for (const bool alpha_zero : {false, true}) {
    call.product.alpha_zero = alpha_zero;
    EXPECT_EQ(call.decide().route, Route::cpu);
    EXPECT_EQ(call.decide().reason, Reason::no_room);
    EXPECT_TRUE(call.decide().infeasible);
  }
  call.facts.device_memory = false;
  EXPECT_FALSE(call.decide().infeasible);
}

TEST(DecideSymv, PredictsFromTheTrianglesBytes) {
  Call call;
  const double n = 4096, triangle = 8 * n * (n + 1) / 2, vector = 8 * n;
  call.facts.slowdown = 2;
  call.facts.spared = 0;
  Decision d = call.decide();
  EXPECT_DOUBLE_EQ(d.cpu_seconds, 2 * n * n / 1e10);
  EXPECT_DOUBLE_EQ(d.device_seconds, 2 * (1e-5 + (triangle + vector) / 1e10 + triangle / 1e12 + vector / 2e10));
  call.product.beta_zero = false;  // now y goes in, too
  call.facts.spared = triangle - 1e6;
  EXPECT_NEAR(call.decide().device_seconds, 2 * (1e-5 + (1e6 + 2 * vector) / 1e10 + triangle / 1e12 + vector / 2e10),
              1e-12);
  call.facts.result_stays = true;
  EXPECT_NEAR(call.decide().device_seconds, 2 * (1e-5 + (1e6 + 2 * vector) / 1e10 + triangle / 1e12), 1e-12);
  call.facts.spared = triangle;  // only vectors move: a shorter way
  EXPECT_NEAR(call.decide().device_seconds, 2 * (1e-6 + 2 * vector / 1e10 + triangle / 1e12), 1e-12);
  call.product.element = Precision::z;
  EXPECT_DOUBLE_EQ(call.decide().cpu_seconds, 8 * n * n / 1e10);
  // What the CPU is expected to do until measured, and always where decisions are fixed.
  EXPECT_DOUBLE_EQ(8 * n * n / symv_family.cpu_rate(call.product, profile), 16 * n * n / 2 / cpu_reading_rate);
  call.policy.fixed = true;
  EXPECT_DOUBLE_EQ(call.decide().cpu_seconds, 16 * n * n / 2 / cpu_reading_rate);
}

TEST(DecideSymv, CopiesAreBoughtOnceTheSavingsMissedReachTheirPrice) {
  Call call;
  call.facts.spared = 0;
  call.facts.reusable = bytes_of_triangle(call.product);
  const Decision stays = call.decide();
  ASSERT_EQ(stays.reason, Reason::transfers);
  EXPECT_DOUBLE_EQ(stays.reuse_seconds, Call().decide().saving());
  const double price = -stays.saving() - stays.reuse_seconds;
  ASSERT_GT(price, 0);
  call.facts.missed_reuse = price * 0.999;
  EXPECT_EQ(call.decide().reason, Reason::transfers);
  call.facts.missed_reuse = price * 1.001;
  EXPECT_EQ(call.decide().reason, Reason::reuse);
  call.policy.fixed = true;
  EXPECT_EQ(call.decide().route, Route::cpu);
  call.policy.fixed = false;
  call.facts.cpu_rate = 1e15;  // nothing gained by a copy
  EXPECT_EQ(call.decide().reason, Reason::transfers);
}

TEST(DecideSymv, TheDeviceIsOpenedOnceMatricesUsedAgainHaveMissedItsPrice) {
  Call call;
  call.facts.spared = 0;
  call.facts.device = DeviceState::unopened;
  EXPECT_EQ(call.decide().reason, Reason::transfers);  // the matrix is new
  call.facts.reusable = bytes_of_triangle(call.product);
  const Decision d = call.decide();
  EXPECT_EQ(d.reason, Reason::startup);
  EXPECT_GT(d.reuse_seconds, 0);
  call.facts.missed_seconds = profile.startup_seconds - d.reuse_seconds * 1.001;
  EXPECT_EQ(call.decide().reason, Reason::startup);
  call.facts.missed_seconds = profile.startup_seconds - d.reuse_seconds * 0.999;
  EXPECT_EQ(call.decide().reason, Reason::reuse);
  EXPECT_EQ(call.decide().route, Route::device);
}

TEST(DecideSymv, SmallEmptyAndHuge) {
  Call call;
  call.product.n = 512;
  call.facts.cpu_rate = 1e9;
  EXPECT_EQ(call.decide().reason, Reason::faster);
  EXPECT_EQ(symmetric_volume(512), small_product);
  call.product.n = 0;
  EXPECT_EQ(call.decide().reason, Reason::nothing);
  call.product.n = index{1} << 31;  // beyond what the device's kernels count
  call.policy.forced = true;
  EXPECT_EQ(call.decide().reason, Reason::no_room);
}

TEST(DecideSymv, LooksAtCopiesWhereTheyCouldMatter) {
  Call call;
  call.facts.spared = 0;
  const auto matter = [&] { return copies_matter(counted(call.product), call.facts, call.policy, call.decide()); };
  EXPECT_TRUE(matter());
  call.facts.cpu_rate = 1e15;
  EXPECT_FALSE(matter());
  call.policy.forced = true;
  EXPECT_TRUE(matter());
  call.policy.fixed = true;
  EXPECT_FALSE(matter());
}

TEST(DecideSymv, IsPrintable) {
  const Call call;
  EXPECT_EQ(to_string(call.product, call.decide()),
            "dsymv n=4096 beta=0 -> device: faster on the device (cpu 3.36 ms, device 0.073 ms)");
}

TEST(SymvArgs, AreThoseThatTheReferenceAccepts) {
  double A[1], x[1], y[1];
  const SymvArgs<double> good{Uplo::upper, 5, 1, A, 5, x, -1, 0, y, 2};
  EXPECT_TRUE(good.valid());
  const auto with = [&](auto change) {
    SymvArgs<double> args = good;
    change(args);
    return args.valid();
  };
  EXPECT_FALSE(with([](auto& a) { a.n = -1; }));
  EXPECT_FALSE(with([](auto& a) { a.lda = 4; }));
  EXPECT_FALSE(with([](auto& a) { a.incx = 0; }));
  EXPECT_FALSE(with([](auto& a) { a.incy = 0; }));
  EXPECT_FALSE(with([](auto& a) { a.n = a.lda = 0; }));
  EXPECT_TRUE(with([](auto& a) { a.n = 0; }));
}

TEST(SymvArgs, OverlapIsFoundByElements) {
  std::vector<double> storage(1000);
  double* A = storage.data();
  constexpr index n = 10, ld = 12;
  const auto overlaps = [&](double* x, index incx, double* y, index incy) {
    return problem_of(Routine::dsymv, SymvArgs<double>{Uplo::upper, n, 1, A, ld, x, incx, 0, y, incy}).overlaps;
  };
  // By addresses, one by one.
  const auto truth = [&](double* x, index incx, double* y, index incy) {
    std::set<const double*> read;
    for (index i = 0; i < n; ++i) read.insert(x + i * std::abs(incx));
    for (index j = 0; j < n; ++j)
      for (index i = 0; i < n; ++i) read.insert(A + i + j * ld);
    for (index i = 0; i < n; ++i)
      if (read.contains(y + i * std::abs(incy))) return true;
    return false;
  };
  int shared = 0, apart = 0;
  for (index y = 0; y < 200; ++y)
    for (const index incy : {1, -1, 12, 5})
      for (const index x : {120, 150}) {
        const bool found = overlaps(A + x, 1, A + y, incy), is = truth(A + x, 1, A + y, incy);
        EXPECT_TRUE(found || !is) << x << ", " << y << " by " << incy;
        shared += is;
        // Exactly, where vectors lie like columns: a column beyond the matrix, or beside x.
        EXPECT_FALSE(found && !is && std::abs(incy) == 1 && y >= 120) << x << ", " << y;
        apart += !is && !found;
      }
  EXPECT_GT(shared, 100);
  EXPECT_GT(apart, 100);
  // Rows of another matrix, one element apart.
  EXPECT_FALSE(overlaps(A + 300, 12, A + 301, 12));
  EXPECT_FALSE(overlaps(A + 300, -12, A + 301, 12));
  EXPECT_TRUE(overlaps(A + 300, 12, A + 312, 12));
}

TEST(InTriangle, HoldsAllThatIsMissingOfTheTriangleOnceAndLittleElse) {
  Random random(3);
  for (const Uplo uplo : {Uplo::upper, Uplo::lower})
    for (const index n : {1, 63, 64, 65, 200, 2500}) {
      const bool large = n > 1000;
      for (int round = 0; round < (large ? 1 : 20); ++round) {
        const std::vector<Block> missing = round == 0 ? std::vector<Block>{{0, 0, n, n}} : random_blocks(n, n, random);
        const auto at = [n](index i, index j) { return static_cast<std::size_t>(i + j * n); };
        std::vector<char> wanted(at(0, n)), sent(at(0, n));
        for (const Block& b : missing)
          for (index j = b.col; j < b.col + b.cols; ++j)
            for (index i = b.row; i < b.row + b.rows; ++i) wanted[at(i, j)] = 1;
        for (const Block& b : in_triangle(part_of(uplo), n, missing)) {
          ASSERT_TRUE(b.rows > 0 && b.cols > 0 && inside(b, {0, 0, n, n}));
          for (index j = b.col; j < b.col + b.cols; ++j)
            for (index i = b.row; i < b.row + b.rows; ++i) ++sent[at(i, j)];
        }
        index beside = 0;
        for (index j = 0; j < n; ++j)
          for (index i = 0; i < n; ++i) {
            const bool counts = uplo == Uplo::upper ? i <= j : i >= j;
            ASSERT_LE(sent[at(i, j)], wanted[at(i, j)]);
            ASSERT_TRUE(!counts || sent[at(i, j)] == wanted[at(i, j)]) << i << ", " << j;
            beside += !counts && sent[at(i, j)];
          }
        EXPECT_TRUE(!large || static_cast<double>(beside) < static_cast<double>(n * n) / 2 / 30);
      }
    }
}

}  // namespace
}  // namespace blaslift::symv_route_tests
