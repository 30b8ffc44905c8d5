// gemv before any device: arguments, row-major calls, and the decision.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "impl/core/signatures.hpp"
#include "impl/gemv/gemv.hpp"
#include "impl/gemv/gemv_family.hpp"
#include "impl/route/decision.hpp"
#include "impl/vector/vector_family.hpp"

namespace blaslift::gemv_route_tests {
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

/// As it stands here there is a copy of its matrix.
struct Call {
  Problem product{.routine = Routine::dgemv, .element = Element::d, .m = 8000, .n = 500, .beta_zero = true};
  Facts facts{.device = DeviceState::ready, .profile = &profile, .cpu_rate = 1e10, .slowdown = 1};
  Policy policy{.on = true, .measuring = false, .forced = false, .fixed = false};
  Call() { facts.spared = 8.0 * 8000 * 500; }
  Decision decide() const { return blaslift::decide(counted(product), facts, policy); }
};

TEST(DecideGemv, PredictsFromTheMatrixsBytes) {
  Call call;
  const double m = 8000, n = 500, matrix = 8 * m * n;
  for (const bool adjoint : {false, true}) {
    call.product.adjoint = adjoint;
    const double x = 8 * (adjoint ? m : n), y = 8 * (adjoint ? n : m);
    call.product.beta_zero = true;
    call.facts.spared = 0;
    Decision d = call.decide();
    EXPECT_DOUBLE_EQ(d.cpu_seconds, 2 * m * n / 1e10);
    EXPECT_DOUBLE_EQ(d.device_seconds, 1e-5 + (matrix + x) / 1e10 + matrix / 1e12 + y / 2e10);
    call.facts.spared = matrix;  // only vectors move: a shorter way
    EXPECT_NEAR(call.decide().device_seconds, 1e-6 + x / 1e10 + matrix / 1e12 + y / 2e10, 1e-12);
    call.product.beta_zero = false;  // now y goes in, too
    EXPECT_NEAR(call.decide().device_seconds, 1e-6 + (x + y) / 1e10 + matrix / 1e12 + y / 2e10, 1e-12);
  }
  // What the CPU is expected to do until measured: it reads the matrix once.
  EXPECT_DOUBLE_EQ(2 * m * n / gemv_family.cpu_rate(call.product, profile), matrix / cpu_reading_rate);
  call.product.element = Precision::z;
  EXPECT_DOUBLE_EQ(8 * m * n / gemv_family.cpu_rate(call.product, profile), 2 * matrix / cpu_reading_rate);
}

TEST(DecideGemv, GoesWithACopyAndStaysWithoutUntilOneHasEarnedItsPrice) {
  Call call;
  EXPECT_EQ(call.decide().reason, Reason::faster);
  EXPECT_EQ(call.decide().route, Route::device);
  call.facts.spared = 0;
  EXPECT_EQ(call.decide().reason, Reason::transfers);
  call.facts.reusable = 8.0 * 8000 * 500;
  const Decision stays = call.decide();
  EXPECT_EQ(stays.reason, Reason::transfers);
  const double price = -stays.saving() - stays.reuse_seconds;
  ASSERT_GT(price, 0);
  call.facts.missed_reuse = price * 0.999;
  EXPECT_EQ(call.decide().route, Route::cpu);
  call.facts.missed_reuse = price * 1.001;
  EXPECT_EQ(call.decide().reason, Reason::reuse);
  call.facts.device = DeviceState::unopened;
  EXPECT_EQ(call.decide().reason, Reason::startup);
}

TEST(DecideGemv, SmallEmptyTrivialAndHuge) {
  Call call;
  const auto reason_of = [&call](index m, index n) {
    call.product.m = m;
    call.product.n = n;
    return call.decide().reason;
  };
  call.facts.cpu_rate = 1e9;
  EXPECT_EQ(vector_volume(512, 512), small_product);
  EXPECT_EQ(reason_of(511, 512), Reason::small);
  EXPECT_EQ(reason_of(512, 512), Reason::faster);
  EXPECT_EQ(reason_of(0, 1000000), Reason::nothing);
  EXPECT_EQ(reason_of(1000000, 0), Reason::nothing);
  call.product.alpha_zero = true;
  EXPECT_EQ(reason_of(8000, 500), Reason::nothing);
  call.product.alpha_zero = false;
  call.policy.forced = true;
  for (const bool tall : {false, true})  // beyond what the device's kernels count
    EXPECT_EQ(tall ? reason_of(index{1} << 31, 1) : reason_of(1, index{1} << 31), Reason::no_room);
}

TEST(DecideGemv, IsPrintable) {
  Call call;
  EXPECT_EQ(to_string(call.product, call.decide()),
            "dgemv N m=8000 n=500 beta=0 -> device: faster on the device (cpu 0.8 ms, device 0.0366 ms)");
  call.product.adjoint = true;
  EXPECT_EQ(to_string(call.product).substr(0, 20), "dgemv T m=8000 n=500");
}

TEST(GemvArgs, AreThoseThatTheReferenceAccepts) {
  double A[1], x[1], y[1];
  const GemvArgs<double> good{Op::none, 5, 3, 1, A, 5, x, -1, 0, y, 2};
  EXPECT_TRUE(good.valid());
  const auto with = [&](auto change) {
    GemvArgs<double> args = good;
    change(args);
    return args.valid();
  };
  EXPECT_FALSE(with([](auto& a) { a.m = -1; }));
  EXPECT_FALSE(with([](auto& a) { a.n = -1; }));
  EXPECT_FALSE(with([](auto& a) { a.lda = 4; }));
  EXPECT_FALSE(with([](auto& a) { a.incx = 0; }));
  EXPECT_FALSE(with([](auto& a) { a.incy = 0; }));
  EXPECT_FALSE(with([](auto& a) { a.m = a.lda = 0; }));
  EXPECT_TRUE(with([](auto& a) { a.m = 0; }));
  EXPECT_TRUE(with([](auto& a) { a.n = 0; }));
  EXPECT_TRUE(with([](auto& a) { a.lda = 5, a.trans = Op::transpose; }));  // lda is of A as it is stored
}

TEST(GemvArgs, OfARowMajorCallAreTheTransposedMatrixs) {
  using Z = std::complex<double>;
  const auto folded = [](Op trans, bool conjugated) {
    GemvArgs<Z> args{trans, 5, 3, 1, nullptr, 5, nullptr, 1, 0, nullptr, 1, conjugated};
    GemvSignature<Z>::fold(args);
    return args;
  };
  struct Pair {
    Op trans;
    bool conjugated;
    Op by_columns;
    bool then_conjugated;
  };
  for (const Pair& x : {Pair{Op::none, false, Op::transpose, false}, Pair{Op::transpose, false, Op::none, false},
                        Pair{Op::conjugate, false, Op::none, true}, Pair{Op::none, true, Op::conjugate, false}}) {
    GemvArgs<Z> args = folded(x.trans, x.conjugated);
    EXPECT_EQ(args.trans, x.by_columns);
    EXPECT_EQ(args.conjugated, x.then_conjugated);
    EXPECT_EQ(args.m, 3);
    EXPECT_EQ(args.n, 5);
    GemvSignature<Z>::fold(args);  // its own inverse
    EXPECT_EQ(args.trans, x.trans);
    EXPECT_EQ(args.conjugated, x.conjugated);
    EXPECT_EQ(args.m, 5);
  }
  GemvArgs<double> real{Op::conjugate, 5, 3, 1, nullptr, 5, nullptr, 1, 0, nullptr, 1};
  EXPECT_TRUE(GemvSignature<double>::complete(real));
  EXPECT_EQ(real.trans, Op::transpose);
}

TEST(GemvArgs, OverlapIsFoundByElements) {
  std::vector<double> storage(1000);
  double* const A = storage.data();
  constexpr index m = 10, n = 6, ld = 12;
  int shared = 0, apart = 0;
  for (const Op trans : {Op::none, Op::transpose})
    for (index at = 0; at < 200; ++at)
      for (const index incy : {1, -1, 12, 5})
        for (const index x : {80, 150}) {
          const GemvArgs<double> args{trans, m, n, 1, A, ld, A + x, 1, 0, A + at, incy};
          std::set<const double*> read;
          for (index i = 0; i < args.terms(); ++i) read.insert(A + x + i);
          for (index j = 0; j < n; ++j)
            for (index i = 0; i < m; ++i) read.insert(A + i + j * ld);
          bool is = false;
          for (index i = 0; i < args.results(); ++i) is = is || read.contains(A + at + i * std::abs(incy));
          const bool found = problem_of(Routine::dgemv, args).overlaps;
          EXPECT_TRUE(found || !is) << x << ", " << at << " by " << incy;
          // Exactly, where y lies like a column, beyond the matrix and beside x.
          EXPECT_FALSE(found && !is && std::abs(incy) == 1 && at >= 100) << x << ", " << at;
          shared += is;
          apart += !is && !found;
        }
  EXPECT_GT(shared, 100);
  EXPECT_GT(apart, 100);
  // A vector that is longer than the array's columns reaches into the next one.
  for (const index at : {20, 40, 70}) {
    const GemvArgs<double> longer{Op::none, 2, 60, 1, A + 100, 2, A, 1, 0, A + at, 1};
    EXPECT_EQ(problem_of(Routine::dgemv, longer).overlaps, at < 60) << at;
  }
}

}  // namespace
}  // namespace blaslift::gemv_route_tests
