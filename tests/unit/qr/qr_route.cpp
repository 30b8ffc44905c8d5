// geqrf, ormqr and orgqr before any device: arguments and the decision.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "impl/qr/qr_family.hpp"
#include "impl/qr/qr_plan.hpp"
#include "impl/qr/qr_section.hpp"
#include "impl/route/in_place.hpp"

namespace blaslift::qr_route_tests {
namespace {

/// Round numbers: the bus 10 and 20 GB/s, products 1 Tflop/s, panels 100 GB/s and 10 us each.
constexpr Profile profile{.in_rate = 1e10,
                          .out_rate = 2e10,
                          .latency_seconds = 1e-5,
                          .startup_seconds = 0.5,
                          .gemm_rate = {1e12, 1e12, 1e12, 1e12},
                          .cpu_rate = {2e9, 2e9, 2e9, 2e9},
                          .step_seconds = 1e-6,
                          .panel_rate = 1e11,
                          .panel_seconds = 1e-5};

/// A call, by what is unusual about it; as it stands here it is faster on an open device.
struct Call {
  Problem f{Routine::dgeqrf, Precision::d, 1024, 1024};
  Facts facts{.device = DeviceState::ready, .profile = &profile, .cpu_rate = 1e9, .slowdown = 1};
  Policy policy{.on = true, .measuring = false, .forced = false, .fixed = false};
  Decision decide() const { return blaslift::decide(counted(f), facts, policy); }
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
    {Reason::nothing, Route::cpu, [](Call& c) { c.f.n = 0; }},
    {Reason::overlap, Route::cpu, [](Call& c) { c.f.overlaps = true; }},
    {Reason::no_route, Route::cpu, [](Call& c) { c.facts.able = false; }},
    {Reason::measuring, Route::cpu, [](Call& c) { c.policy.measuring = true; }},
    {Reason::device_memory, Route::device, [](Call& c) { c.facts.device_memory = true; }},
    {Reason::small, Route::cpu, [](Call& c) { c.f.m = c.f.n = c.f.n ? 255 : 0; }},
    {Reason::no_device, Route::cpu, [](Call& c) { c.facts.device = DeviceState::absent; }},
    {Reason::forced, Route::device, [](Call& c) { c.policy.forced = true; }},
    {Reason::transfers, Route::cpu, [](Call& c) { c.facts.cpu_rate = 1e15; }},
    {Reason::startup, Route::cpu,
     [](Call& c) {
       static constexpr Profile slow_start = [] {
         Profile p = profile;
         p.startup_seconds = 3600;
         return p;
       }();
       c.facts.profile = &slow_start;
       if (c.facts.device == DeviceState::ready) c.facts.device = DeviceState::unopened;
     }},
    {Reason::faster, Route::device, [](Call&) {}},
};

TEST(DecideQr, EveryCircumstanceAloneHasItsReason) {
  for (const Circumstance& x : circumstances) {
    Call call;
    x.holds(call);
    EXPECT_EQ(call.decide().reason, x.reason) << text_of(x.reason);
    EXPECT_EQ(call.decide().route, x.route) << text_of(x.reason);
  }
}

TEST(DecideQr, TheFirstOfTwoCircumstancesCounts) {
  for (const Circumstance& first : circumstances)
    for (const Circumstance* second = &first + 1; second < std::end(circumstances); ++second) {
      Call call;
      second->holds(call);
      first.holds(call);
      const Reason got = call.decide().reason;
      const bool open = call.facts.device == DeviceState::ready;
      // A forced call is never too small; only of an open device can it be known what it holds, and what it can do.
      if (first.reason == Reason::small && second->reason == Reason::forced) {
        EXPECT_EQ(got, Reason::forced);
      } else if ((first.reason == Reason::device_memory || first.reason == Reason::no_route) && !open) {
        EXPECT_EQ(got, second->reason);
      } else if ((first.reason == Reason::overlap || first.reason == Reason::no_route) &&
                 second->reason == Reason::device_memory) {
        EXPECT_EQ(got, Reason::device_memory);  // the CPU cannot even do next to nothing
      } else {
        EXPECT_EQ(got, first.reason) << text_of(first.reason) << " before " << text_of(second->reason);
      }
    }
}

TEST(DecideQr, PredictsFromTransfersPanelsAndProducts) {
  Call call;
  call.facts.slowdown = 2;
  // One panel: nothing beside it, and all of it goes home at the end.
  call.f.m = 100000, call.f.n = 64;
  const double bytes = 8 * 100000.0 * 64, home = bytes + 8 * 64;
  Decision d = call.decide();
  EXPECT_NEAR(d.device_seconds, 2 * (1e-5 + bytes / 1e10 + 1e-5 + 6e-6 + bytes / 1e11 + home / 2e10), 1e-9);
  EXPECT_NEAR(d.cpu_seconds, (2 * 100000.0 * 64 * 64 - 2.0 / 3 * 64 * 64 * 64) / 1e9, 1e-9);
  call.facts.spared = bytes;
  EXPECT_NEAR(call.decide().device_seconds, 2 * (1e-5 + 1e-5 + 6e-6 + bytes / 1e11 + home / 2e10), 1e-9);
  call.facts.result_stays = true;
  EXPECT_NEAR(call.decide().device_seconds, 2 * (1e-5 + 1e-5 + 6e-6 + bytes / 1e11), 1e-9);
  // Many blocks: the longer of panels and products, and a block's share of the other.
  call.f.m = call.f.n = 8192;
  const double n = 8192, panels = 128 * 16e-6 + 8 * n * (n - (n - 64) / 2) / 1e11,
               products = (4.0 / 3 * n * n * n - 2 * n * (n - (n - 64) / 2) * 64) / (512.0 / 576 * 1e12);
  ASSERT_LT(panels, products);
  call.facts.spared = 8 * n * n;
  EXPECT_NEAR(call.decide().device_seconds, 2 * (1e-5 + products + panels / 16), 1e-6);
  // Reflectors that are sent again move while others are computed with.
  call.facts.sent_again = products * 1e10 / 2;
  EXPECT_NEAR(call.decide().device_seconds, 2 * (1e-5 + products + panels / 16), 1e-6);
  call.facts.sent_again = products * 1e10 * 3;
  EXPECT_NEAR(call.decide().device_seconds, 2 * (1e-5 + products * 3), 1e-6);
  call.facts.sent_again = 0;
  // Fixed decisions know nothing that was measured.
  call.policy.fixed = true;
  EXPECT_NEAR(call.decide().device_seconds, 1e-5 + products + panels / 16, 1e-6);
  EXPECT_NEAR(call.decide().cpu_seconds, 4 * 4.0 / 3 * n * n * n / 2e9, 1e-3) << "a quarter of the rate of products";
}

TEST(DecideQr, FollowsTheProfilesWidths) {
  Profile narrow = profile;
  narrow.sections = {section_line(TunedQr{Precision::d, {{any_k, {64, 32}}}})};
  Call call;
  call.f.m = call.f.n = 8192;
  const double built_in = call.decide().device_seconds;
  call.facts.profile = &narrow;
  EXPECT_GT(call.decide().device_seconds, built_in) << "products with 64 are slower than with 512";
  call.f.element = Precision::z;
  const double complex = call.decide().device_seconds;
  call.facts.profile = &profile;
  EXPECT_EQ(call.decide().device_seconds, complex);
}

TEST(DecideQr, ComplexFactorisationsTakeFourTimesTheFlops) {
  Call real, complex;
  complex.f.element = Precision::z;
  EXPECT_DOUBLE_EQ(counted(complex.f).flops, 4 * counted(real.f).flops);
  EXPECT_DOUBLE_EQ(counted(complex.f).bytes_in, 2 * counted(real.f).bytes_in);
}

TEST(DecideQr, SmallIsMeasuredAsTheGateDoes) {
  Call call;
  for (const auto& [m, n] : {std::pair<index, index>{256, 256}, {4096, 64}, {64, 4096}}) {
    call.f.m = m, call.f.n = n;
    EXPECT_EQ(call.decide().reason, Reason::faster) << m << " x " << n;
    call.f.m = m - 1, call.f.n = n - 1;
    EXPECT_EQ(call.decide().reason, Reason::small) << m << " x " << n;
  }
}

TEST(DecideQr, LooksAtCopiesWhereTheyCouldMatter) {
  Call call;
  const auto matter = [&] { return copies_matter(counted(call.f), call.facts, call.policy, call.decide()); };
  EXPECT_TRUE(matter());
  call.facts.cpu_rate = 1e15;
  EXPECT_FALSE(matter());
  call.policy.forced = true;
  EXPECT_TRUE(matter());
  call.policy.fixed = true;
  EXPECT_FALSE(matter());
}

TEST(DecideQr, IsPrintable) {
  Call call;
  call.policy.forced = true;
  call.facts.device = DeviceState::absent;
  call.f.overlaps = true;
  EXPECT_EQ(to_string(call.f, call.decide()), "dgeqrf m=1024 n=1024 -> cpu: output overlaps an input");
}

/// The same for a product with Q.
struct QCall {
  Problem a{.routine = Routine::dormqr,
            .element = Element::d,
            .m = 1024,
            .n = 1024,
            .k = 1024,
            .left = true,
            .adjoint = true};
  Facts facts{.device = DeviceState::ready, .profile = &profile, .cpu_rate = 1e9, .slowdown = 1};
  Policy policy{.on = true, .measuring = false, .forced = false, .fixed = false};
  void set(const QProduct& q) {
    a.m = q.m, a.n = q.n, a.k = q.k, a.left = q.left, a.adjoint = q.adjoint, a.of_identity = q.of_identity;
  }
  Decision decide() const { return blaslift::decide(counted(a), facts, policy); }
};

TEST(DecideQ, EveryCircumstanceAloneHasItsReason) {
  const auto with = [](auto change) {
    QCall call;
    change(call);
    return call.decide().reason;
  };
  EXPECT_EQ(with([](QCall&) {}), Reason::faster);
  EXPECT_EQ(with([](QCall& c) { c.policy.on = false; }), Reason::off);
  EXPECT_EQ(with([](QCall& c) { c.facts.forked = true; }), Reason::forked);
  EXPECT_EQ(with([](QCall& c) { c.facts.exiting = true; }), Reason::exiting);
  EXPECT_EQ(with([](QCall& c) { c.a.k = 0; }), Reason::nothing);
  EXPECT_EQ(with([](QCall& c) { c.a.n = 0; }), Reason::nothing);
  EXPECT_EQ(with([](QCall& c) { c.a.overlaps = true; }), Reason::overlap);
  EXPECT_EQ(with([](QCall& c) { c.facts.able = false; }), Reason::no_route);
  EXPECT_EQ(with([](QCall& c) { c.policy.measuring = true; }), Reason::measuring);
  EXPECT_EQ(with([](QCall& c) { c.facts.device_memory = true; }), Reason::device_memory);
  EXPECT_EQ(with([](QCall& c) { c.a.k = 15; }), Reason::small);
  EXPECT_EQ(with([](QCall& c) { c.facts.device = DeviceState::absent; }), Reason::no_device);
  EXPECT_EQ(with([](QCall& c) { c.facts.cpu_rate = 1e15, c.policy.forced = true; }), Reason::forced);
  EXPECT_EQ(with([](QCall& c) { c.facts.cpu_rate = 1e15; }), Reason::transfers);
  EXPECT_EQ(with([](QCall& c) {
              c.facts.device = DeviceState::unopened;
              c.facts.cpu_rate = 1e10;
            }),
            Reason::startup);
  // Of no reflectors an identity is left, which the CPU cannot write everywhere.
  const auto without_reflectors = [](QCall& c) {
    c.a.k = 0;
    c.facts.device_memory = true;
  };
  EXPECT_EQ(with(without_reflectors), Reason::nothing);
  EXPECT_EQ(with([&](QCall& c) { without_reflectors(c), c.a.of_identity = true; }), Reason::device_memory);
  // Reflectors that are used again are worth a copy, at last.
  EXPECT_EQ(with([](QCall& c) {
              c.facts.cpu_rate = 4.3e11;
              c.facts.reusable = 8.0 * 1024 * 1024;
              c.facts.missed_reuse = 1;
            }),
            Reason::reuse);
}

TEST(DecideQ, PredictsFromTransfersPanelsAndProducts) {
  QCall call;
  call.set({false, false, 3000, 2000, 64});
  const double reflectors = 8 * 2000.0 * 64, c = 8 * 3000.0 * 2000, flops = 3000 * (4 * 2000.0 * 64 - 2 * 64 * 64),
               panels = 16e-6 + reflectors / 1e11, products = flops / 0.5e12;
  EXPECT_DOUBLE_EQ(counted(call.a).flops, flops);
  EXPECT_NEAR(call.decide().device_seconds, 1e-5 + (reflectors + c) / 1e10 + panels + products + c / 2e10, 1e-9);
  call.facts.spared = reflectors;
  EXPECT_NEAR(call.decide().device_seconds, 1e-5 + c / 1e10 + panels + products + c / 2e10, 1e-9);
  // Of an identity nothing moves in, and LAPACK's count is that of orgqr.
  call.set({true, false, 3000, 64, 64, true});
  call.facts.spared = 0;
  EXPECT_DOUBLE_EQ(counted(call.a).flops, 4 * 3000.0 * 64 * 64 - 2 * 3064.0 * 64 * 64 + 4.0 / 3 * 64 * 64 * 64);
  const double a = 8 * 3000.0 * 64;
  EXPECT_NEAR(call.decide().device_seconds,
              1e-5 + a / 1e10 + 16e-6 + a / 1e11 + counted(call.a).flops / 0.5e12 + a / 2e10, 1e-9);
}

TEST(DecideQ, IsPrintable) {
  QCall call;
  call.a.overlaps = true;
  EXPECT_EQ(to_string(call.a, call.decide()), "dormqr LC m=1024 n=1024 k=1024 -> cpu: output overlaps an input");
  call.a.routine = Routine::zungqr;
  call.set({true, false, 7, 6, 5, true});
  EXPECT_EQ(to_string(call.a), "zungqr m=7 n=6 k=5");
}

TEST(OrmqrArgs, AreThoseThatTheReferenceAccepts) {
  double A[1], tau[1], C[1];
  const OrmqrArgs<double> left{{true, false, 6, 4, 5}, A, 6, tau, C, 6}, right{{false, true, 6, 4, 3}, A, 4, tau, C, 6},
      generated{{true, false, 6, 4, 3, true}, A, 6, tau, A, 6};
  EXPECT_TRUE(left.valid() && right.valid() && generated.valid());
  EXPECT_EQ(left.least_workspace(), 4);
  EXPECT_EQ(right.least_workspace(), 6);
  EXPECT_EQ(generated.least_workspace(), 4);
  const auto with = [](OrmqrArgs<double> args, auto change) {
    change(args);
    return args.valid();
  };
  for (const OrmqrArgs<double>& good : {left, right, generated}) {
    EXPECT_FALSE(with(good, [](auto& a) { a.product.m = -1; }));
    EXPECT_FALSE(with(good, [](auto& a) { a.product.n = -1; }));
    EXPECT_FALSE(with(good, [](auto& a) { a.product.k = -1; }));
    EXPECT_FALSE(with(good, [](auto& a) { --a.lda; }));
    EXPECT_FALSE(with(good, [](auto& a) { a.ldc = 5; }));
    EXPECT_TRUE(with(good, [](auto& a) { a.product.k = 0; }));
  }
  EXPECT_FALSE(with(left, [](auto& a) { a.product.k = 7; }));
  EXPECT_FALSE(with(right, [](auto& a) { a.product.k = 5; }));
  EXPECT_FALSE(with(generated, [](auto& a) { a.product.k = 5; }));
  EXPECT_FALSE(with(generated, [](auto& a) { a.product.n = 7; }));
}

TEST(OrmqrArgs, OverlapIsThatOfCWithAnything) {
  std::vector<double> storage(300);
  double* s = storage.data();
  const auto overlaps = [&](double* A, double* tau, double* C, bool of_identity) {
    const OrmqrArgs<double> args{{true, false, 8, 5, 4, of_identity}, A, 10, tau, C, 10};
    return problem_of(Routine::dormqr, args).overlaps;
  };
  EXPECT_FALSE(overlaps(s, s + 250, s + 100, false));
  EXPECT_TRUE(overlaps(s, s + 250, s + 30, false));
  EXPECT_TRUE(overlaps(s, s + 120, s + 100, false));
  EXPECT_FALSE(overlaps(s, s + 250, s, true)) << "where it belongs";
  EXPECT_TRUE(overlaps(s, s + 20, s, true));
}

TEST(ReductionQArgs, ArePartsOfTheMatrices) {
  double A[1000], tau[100], C[1000];
  ReductionQArgs<double> x{
      Reduction::tridiagonal, false, Uplo::lower, false, true, true, 6, 4, 0, 0, 0, A, 7, tau, C, 8};
  const auto expect = [&](const QProduct& product, index a, index t, index c, index before = 0, index after = 0) {
    ASSERT_TRUE(x.valid());
    const OrmqrArgs<double> part = x.part();
    EXPECT_EQ((std::tuple{part.product.left, part.product.adjoint, part.product.m, part.product.n, part.product.k}),
              (std::tuple{product.left, product.adjoint, product.m, product.n, product.k}));
    EXPECT_EQ((std::tuple{part.A - A, part.tau - tau, part.C - (x.of_identity ? A : C)}), (std::tuple{a, t, c}));
    EXPECT_EQ((std::tuple{part.lda, part.ldc, part.before, part.after}), (std::tuple{x.lda, x.ldc, before, after}));
    EXPECT_EQ(part.product.rows, x.rows && part.product.k > 0);
    EXPECT_EQ(part.product.reversed, product.reversed);
    EXPECT_TRUE(part.valid() || (part.product.of_identity && part.product.k == 0));
  };
  expect({true, true, 5, 4, 5}, 1, 0, 1);
  x.left = false;
  expect({false, true, 6, 3, 3}, 1, 0, 8);
  x.uplo = Uplo::upper;
  expect({false, true, 6, 3, 3, false, false, true}, 7, 0, 0);
  x.left = true;
  expect({true, true, 5, 4, 5, false, false, true}, 7, 0, 0);
  x.left = false;
  x.of = Reduction::hessenberg, x.ilo = 2, x.ihi = 4;
  expect({false, true, 6, 2, 2}, 2 + 7, 1, 2 * 8);
  x.left = true;
  expect({true, true, 2, 4, 2}, 2 + 7, 1, 2);
  x.ihi = 7;
  EXPECT_FALSE(x.valid());
  x.of = Reduction::bidiagonal, x.k = 6;
  expect({true, true, 6, 4, 6}, 0, 0, 0);
  x.k = 9;
  expect({true, true, 5, 4, 5}, 1, 0, 1);
  x.rows = true;
  expect({true, true, 5, 4, 5}, 7, 0, 1);
  x.k = 3;
  expect({true, true, 6, 4, 3}, 0, 0, 0);

  x = {Reduction::tridiagonal, true, Uplo::lower, false, true, false, 6, 6, 0, 0, 0, A, 7, tau, A, 7};
  expect({true, false, 5, 5, 5}, 1, 0, 8, 1, 0);
  EXPECT_EQ(x.least_workspace(), 5);
  x.uplo = Uplo::upper;
  expect({true, false, 5, 5, 5, true, false, true}, 7, 0, 0, 0, 1);
  x.of = Reduction::hessenberg, x.ilo = 2, x.ihi = 4;
  expect({true, false, 2, 2, 2}, 2 + 7, 1, 2 * 8, 2, 2);
  EXPECT_EQ(x.least_workspace(), 2);
  index elements = 0;
  x.part().around([&](index row, index col, index rows, index cols) {
    EXPECT_TRUE(row >= -2 && col >= -2 && row + rows <= 4 && col + cols <= 4);
    elements += rows * cols;
  });
  EXPECT_EQ(elements, 6 * 6 - 2 * 2);
  x.of = Reduction::bidiagonal, x.n = 4, x.k = 3;
  expect({true, false, 6, 4, 3}, 0, 0, 0);
  x.n = 6, x.k = 7;
  expect({true, false, 5, 5, 5}, 1, 0, 8, 1, 0);
  x.rows = true;
  expect({true, false, 5, 5, 5}, 7, 0, 8, 1, 0);
  x.m = 4, x.k = 3;
  expect({true, false, 6, 4, 3}, 0, 0, 0);
  EXPECT_EQ((std::pair{x.part().product.stored_rows(), x.part().product.stored_cols()}),
            (std::pair<index, index>{4, 6}));
  x.k = 0;
  expect({true, false, 4, 6, 0}, 0, 0, 0);
  x.rows = false, x.k = 7;
  x.m = x.n = 1;  // of no reflectors: all of Q, wherever it is
  expect({true, false, 1, 1, 0}, 0, 0, 0);
  EXPECT_TRUE(x.part().product.of_identity);
  x.of = Reduction::tridiagonal;
  expect({true, false, 1, 1, 0}, 0, 0, 0);
  x.of = Reduction::hessenberg, x.m = x.n = 6, x.ilo = x.ihi = 3;
  expect({true, false, 6, 6, 0}, 0, 0, 0);
  EXPECT_FALSE(problem_of(Routine::dorghr, x).empty) << "device memory takes it";
  x.of = Reduction::bidiagonal, x.n = 4;
  EXPECT_FALSE(x.valid()) << "a Q with fewer columns than rows is of fewer reflectors";
}

TEST(QrWidths, ArePanelsInBlocksThatFitThem) {
  for (const index k : {1, 2, 63, 64, 65, 127, 132, 511, 512, 513, 1000, 4096, 5000, 40960}) {
    const auto [block, panel] = qr_widths(k);
    EXPECT_TRUE(1 <= panel && panel <= block && panel <= most_panel_columns && panel <= k) << k;
    EXPECT_EQ(block % panel, 0) << k;
    EXPECT_LE(block, 512) << k;
    // As many panels side by side as there are columns for, and no more blocks than eight before they are as wide as
    // they get.
    EXPECT_TRUE(block == 512 || 8 * block >= k) << k;
    EXPECT_EQ(panel, std::min<index>(k, 64));
  }
}

TEST(GeqrfArgs, AreThoseThatTheReferenceAccepts) {
  double A[1], tau[1];
  const GeqrfArgs<double> good{5, 4, A, 5, tau};
  EXPECT_TRUE(good.valid());
  const auto with = [&](auto change) {
    GeqrfArgs<double> args = good;
    change(args);
    return args.valid();
  };
  EXPECT_FALSE(with([](auto& a) { a.m = -1; }));
  EXPECT_FALSE(with([](auto& a) { a.n = -1; }));
  EXPECT_FALSE(with([](auto& a) { a.lda = 4; }));
  EXPECT_FALSE(with([](auto& a) { a.m = a.lda = 0; }));
  EXPECT_TRUE(with([](auto& a) { a.m = 0; }));
  EXPECT_EQ(good.least_workspace(), 4);
  EXPECT_EQ((GeqrfArgs<double>{5, 0, A, 5, tau}.least_workspace()), 1);
}

TEST(GeqrfArgs, TauInsideOfTheMatrixIsSeen) {
  std::vector<double> storage(200);
  const auto overlaps = [&](double* tau) {
    return problem_of(Routine::dgeqrf, GeqrfArgs<double>{8, 6, storage.data(), 10, tau}).overlaps;
  };
  EXPECT_TRUE(overlaps(storage.data()));
  EXPECT_TRUE(overlaps(storage.data() + 57));
  EXPECT_FALSE(overlaps(storage.data() + 58));
}

TEST(QrKeeps, WhatAResultOverwritesWhereTheHostHasMemoryForIt) {
  double x = 0;
  Operand result({.stored = {&x, 1000, 1000, 1000, sizeof x}, .writes = true, .reads = true});
  EXPECT_TRUE(can_keep({&result, 1}));
  result.matrices = 1 << 30;
  EXPECT_FALSE(can_keep({&result, 1})) << "of a batch each";
  result.matrices = 1;
  result.stored.cols = index{1} << 40;  // 7 PiB
  EXPECT_FALSE(can_keep({&result, 1}));
  result.memory = MemoryKind::on_a_device;
  EXPECT_TRUE(can_keep({&result, 1})) << "nothing is kept";
}

}  // namespace
}  // namespace blaslift::qr_route_tests
