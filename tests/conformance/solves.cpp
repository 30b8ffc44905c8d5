// Triangular systems.
#include "kernels/trsm.hpp"
#include "tests/conformance/harness.hpp"

namespace blaslift::conformance::solves_tests {
namespace {

/// A system, with NaN in everything that must not be read.
template <class T>
struct System {
  Side side;
  Uplo uplo;
  Op trans;
  bool unit;
  index order, others;
  T alpha;
  Matrix<T> A, B;
  index block = 64, offset = 0;  ///< the latter of A on the device; twice that for B

  System(Side side_, Uplo uplo_, Op trans_, bool unit_, index order_, index others_, T alpha_, index gap = 3,
         unsigned seed = 1)
      : side(side_),
        uplo(uplo_),
        trans(trans_),
        unit(unit_),
        order(order_),
        others(others_),
        alpha(alpha_),
        A(order, order, gap),
        B(side == Side::left ? order : others, side == Side::left ? others : order, gap + 1) {
    A.random(seed);
    B.random(seed + 1);
    const auto small = static_cast<Real<T>>(1 / std::sqrt(static_cast<double>(order)));
    make([&](index i, index j) { return i == j ? A(i, j) + T(std::real(A(i, j)) < 0 ? -1 : 1) : A(i, j) * small; });
  }

  bool in_triangle(index i, index j) const { return uplo == Uplo::lower ? i >= j : i <= j; }
  bool is_read(index i, index j) const { return in_triangle(i, j) && !(unit && i == j); }
  template <class Element>
  void make(const Element& element) {
    for (index j = 0; j < order; ++j)
      for (index i = 0; i < order; ++i) A(i, j) = is_read(i, j) ? element(i, j) : scalar<T>(nan, nan);
  }
  /// Element of op(A), zero in the other triangle.
  T op_a(index i, index j) const {
    if (trans != Op::none) std::swap(i, j);
    if (!in_triangle(i, j)) return T(0);
    if (unit && i == j) return T(1);
    if constexpr (complex_type<T>)
      if (trans == Op::conjugate) return std::conj(A(i, j));
    return A(i, j);
  }
  /// Whether an element of X is solved for before another one of its column, or row on the right.
  bool forward() const { return (uplo == Uplo::lower) == ((trans == Op::none) == (side == Side::left)); }
  /// Of a matrix like B, by the number that A's rows or columns have.
  template <class M>
  static auto& at(M& x, Side side, index i, index c) {
    return side == Side::left ? x(i, c) : x(c, i);
  }

  Trsm trsm(const Scalar<T>& for_alpha, TrsmWay way) const {
    return {.precision = precision_of<T>,
            .side = side,
            .uplo = uplo,
            .trans = trans,
            .unit = unit,
            .m = B.rows(),
            .n = B.cols(),
            .alpha = &for_alpha.value,
            .A = nullptr,
            .lda = A.ld(),
            .B = nullptr,
            .ldb = B.ld(),
            .way = way,
            .block = block};
  }
  static constexpr index words_behind = 64;
  static index words(const Trsm& p) { return static_cast<index>(trsm_workspace(p) / sizeof(canary)) + words_behind; }
  std::size_t bytes(const Trsm& p) const {
    return room(A, offset) + room(B, 2 * offset) + Call::part_size<std::uint32_t>(words(p));
  }

  /// On the device, with a workspace full of NaN behind which nothing may be written.
  Matrix<T> run(TrsmWay way) const {
    const Scalar<T> for_alpha{{}, alpha};
    Trsm p = trsm(for_alpha, way);
    Call call(bytes(p));
    const Placed<T> a = call.put(A, offset), b = call.put(B, 2 * offset);
    const std::vector<std::uint32_t> full(static_cast<std::size_t>(words(p)), canary);
    auto* workspace = call.part<std::uint32_t>(words(p));
    const Ticket filled = call.upload(workspace, words(p), full.data(), words(p), words(p), 1);
    p.A = a.at;
    p.B = b.at;
    p.workspace = workspace;
    const Ticket solved = call.ask(p, {a.ready, b.ready, filled});
    std::vector<std::uint32_t> behind(words_behind);
    call.download(behind.data(), words_behind, workspace + words(p) - words_behind, words(p), words_behind, 1,
                  {solved});
    Matrix<T> X = B, A_after = A;
    call.download(A_after.data(), A.ld(), a.at, A.ld(), A.ld(), A.cols(), {solved});
    call.get(X, b.at, {solved});
    EXPECT_EQ(std::count(behind.begin(), behind.end(), canary), words_behind) << describe(way);
    EXPECT_TRUE(A_after == A) << "A written: " << describe(way);
    EXPECT_TRUE(X.canaries_intact()) << "rows between m and ldb written: " << describe(way);
    return X;
  }

  /// Largest residual of some columns, or rows on the right, in units of its bound.  Substitution, in any order of
  /// additions, has |alpha B - op(A) X| <= gamma(n) |op(A)| |X| (Higham, Accuracy and Stability, theorem 8.5) and a
  /// rounding of alpha B, which is at most about as large as |op(A)| |X|; complex products count twice, with |re| +
  /// |im| for the modulus in either factor.
  double worst_excess(const Matrix<T>& X) const {
    using Wide = typename Expected<T>::Wide;
    constexpr index most = 40;
    double worst = 0;
    for (index which = 0; which < std::min(most, others); ++which) {
      const index c = others <= most ? which : which * (others - 1) / (most - 1);
      for (index i = 0; i < order; ++i) {
        const T b = at(B, side, i, c);
        Wide re = static_cast<Wide>(std::real(alpha)) * std::real(b) -
                  static_cast<Wide>(std::imag(alpha)) * std::imag(b),
             im = static_cast<Wide>(std::real(alpha)) * std::imag(b) +
                  static_cast<Wide>(std::imag(alpha)) * std::real(b),
             size = 0;
        for (index k = 0; k < order; ++k) {
          const T a = side == Side::left ? op_a(i, k) : op_a(k, i);
          if (a == T(0)) continue;
          const T x = at(X, side, k, c);
          const Wide ar = std::real(a), ai = std::imag(a), xr = std::real(x), xi = std::imag(x);
          re -= ar * xr - ai * xi;
          im -= ar * xi + ai * xr;
          size += (std::fabs(ar) + std::fabs(ai)) * (std::fabs(xr) + std::fabs(xi));
        }
        const Wide bound =
            static_cast<Wide>(order + 4) * std::numeric_limits<Real<T>>::epsilon() * (complex_type<T> ? 2 : 1) * size +
            std::numeric_limits<Real<T>>::min();
        const double excess = static_cast<double>((std::fabs(re) + std::fabs(im)) / bound);
        if (!(excess <= worst)) worst = std::isnan(excess) ? HUGE_VAL : excess;
      }
    }
    return worst;
  }

  void expect_right(TrsmWay way) const {
    const Matrix<T> X = run(way);
    ASSERT_LE(worst_excess(X), 1.0) << describe(way);
    ASSERT_TRUE(run(way) == X) << "other bits: " << describe(way);
  }

  /// By the definition, in the working precision.
  Matrix<T> substituted() const {
    const auto times = [](T x, T y) -> T {
      if constexpr (complex_type<T>)
        return {x.real() * y.real() - x.imag() * y.imag(), x.real() * y.imag() + x.imag() * y.real()};
      else
        return x * y;
    };
    Matrix<T> X = B;
    for (index c = 0; c < others; ++c)
      for (index step = 0; step < order; ++step) {
        const index i = forward() ? step : order - 1 - step;
        T x = times(alpha, at(B, side, i, c));
        for (index s = 0; s < step; ++s) {
          const index k = forward() ? s : order - 1 - s;
          x -= times(side == Side::left ? op_a(i, k) : op_a(k, i), at(X, side, k, c));
        }
        at(X, side, i, c) = unit ? x : x / op_a(i, i);
      }
    return X;
  }

  /// Finite where substitution leaves finite numbers, and nowhere else; the finite columns are right.
  void expect_poisoned_as_substituted(TrsmWay way) const {
    const Matrix<T> X = run(way), expected = substituted();
    for (index j = 0; j < X.cols(); ++j)
      for (index i = 0; i < X.rows(); ++i)
        ASSERT_EQ(finite(X(i, j)), finite(expected(i, j))) << i << " " << j << " of " << describe(way);
  }

  std::string describe(TrsmWay way) const {
    return std::string(1, letter(precision_of<T>)) + "trsm " + static_cast<char>(side) + static_cast<char>(uplo) +
           static_cast<char>(trans) + (unit ? 'U' : 'N') + " order " + std::to_string(order) + " others " +
           std::to_string(others) + " lda " + std::to_string(A.ld()) + " ldb " + std::to_string(B.ld()) + " block " +
           std::to_string(block) + (way == TrsmWay::blocks ? " by blocks" : " by substitution");
  }
};

constexpr TrsmWay all_ways[] = {TrsmWay::substitution, TrsmWay::blocks};

template <class T>
class Solves : public testing::Test {
 protected:
  void SetUp() override {
    if (!backend->facts().computes.can(Operation::Kind::trsm, precision_of<T>))
      GTEST_SKIP() << "no triangular systems on this backend";
  }

  const T one = scalar<T>(1, 0), some_alpha = scalar<T>(-0.75, 0.5);

  /// Calls check(side, uplo, trans, unit) until something is wrong.
  template <class Check>
  static void for_all_kinds(const Check& check) {
    for (const Side side : {Side::left, Side::right})
      for (const Uplo uplo : {Uplo::upper, Uplo::lower})
        for (const Op trans : ops)
          for (const bool unit : {false, true}) {
            check(side, uplo, trans, unit);
            if (testing::Test::HasFailure()) return;
          }
  }
};
TYPED_TEST_SUITE(Solves, Precisions, TypeNames);

TYPED_TEST(Solves, OfAllKindsAndSizesAroundBlocks) {
  using T = TypeParam;
  constexpr index all_others[] = {1, 3, 17, 70};
  unsigned seed = 0;
  this->for_all_kinds([&](Side side, Uplo uplo, Op trans, bool unit) {
    for (const index order : {1, 2, 31, 33, 63, 64, 65, 128, 129, 200}) {
      ++seed;
      System<T> system(side, uplo, trans, unit, order, all_others[seed % 4], seed % 3 ? this->some_alpha : this->one,
                       seed % 5, seed);
      system.offset = seed % 7 == 0;
      for (const TrsmWay way : all_ways) system.expect_right(way);
      if (testing::Test::HasFailure()) return;
    }
  });
}

TYPED_TEST(Solves, OfNothingTouchNothing) {
  using T = TypeParam;
  for (const auto& [order, others] : {std::pair<index, index>{0, 5}, {5, 0}, {0, 0}})
    for (const Side side : {Side::left, Side::right})
      for (const TrsmWay way : all_ways) {
        const System<T> system(side, Uplo::lower, Op::none, false, order, others, this->one);
        EXPECT_TRUE(system.run(way) == system.B);
      }
}

TYPED_TEST(Solves, OfManyColumnsInEveryBlocking) {
  using T = TypeParam;
  // Several blocks at a time, and blocks of all orders.
  const struct {
    index order, others, block;
  } shapes[] = {{200, 1100, 64}, {150, 2100, 64}, {300, 130, 128}, {600, 20, 256}, {1100, 9, 0}};
  unsigned seed = 0;
  for (const auto& s : shapes)
    for (int kind = 0; kind < 3; ++kind) {
      ++seed;
      System<T> system(seed % 2 ? Side::left : Side::right, seed / 2 % 2 ? Uplo::lower : Uplo::upper, ops[seed % 3],
                       kind == 1, s.order, s.others, this->some_alpha, seed % 4, seed);
      system.block = s.block;
      system.expect_right(TrsmWay::blocks);
      if (testing::Test::HasFailure()) return;
    }
}

TYPED_TEST(Solves, OfIllConditionedTrianglesHaveSmallResiduals) {
  using T = TypeParam;
  constexpr index order = 90, others = 21;
  const double decay = std::is_same_v<Real<T>, float> ? 0.8 : 0.5;
  this->for_all_kinds([&](Side side, Uplo uplo, Op trans, bool unit) {
    System<T> system(side, uplo, trans, unit, order, others, this->one);
    const auto expect_right = [&](const char* what) {
      SCOPED_TRACE(what);
      for (const TrsmWay way : all_ways) system.expect_right(way);
    };
    const Matrix<T> usual = system.A;
    const auto power = [&](index i) { return static_cast<Real<T>>(std::pow(decay, static_cast<double>(i))); };
    const auto distance = [](index i, index j) { return i > j ? i - j : j - i; };
    system.make([&](index i, index j) { return usual(i, j) * (unit ? power(distance(i, j)) : power(i)); });
    expect_right("rows that become smaller");
    system.make([&](index i, index j) { return usual(i, j) * (unit ? power(distance(i, j)) : power(j)); });
    expect_right("columns that become smaller");
    // Kahan's: the inverse grows like (1 + cosine)^order.
    const double sine = 0.95, cosine = std::sqrt(1 - sine * sine);
    system.make([&](index i, index j) {
      const double scale = unit ? 1 : std::pow(sine, static_cast<double>(uplo == Uplo::upper ? i : j));
      return T(static_cast<Real<T>>(i == j ? scale : -cosine * scale));
    });
    expect_right("Kahan's");
    // Bidiagonal: the inverse is full.
    system.make([&](index i, index j) { return T(static_cast<Real<T>>(i == j ? 1 : distance(i, j) == 1 ? -1 : 0)); });
    expect_right("differences");
    // Elements at random, whose inverse grows fast.
    system.make([&](index i, index j) {
      return i == j ? T(std::real(usual(i, j)))
                    : usual(i, j) * static_cast<Real<T>>(std::sqrt(static_cast<double>(order)));
    });
    expect_right("at random");
    if (unit) return;
    system.make([&](index i, index j) { return i == j && i % 37 == 5 ? usual(i, j) * power(60) : usual(i, j); });
    expect_right("some tiny ones on the diagonal");
    system.make([&](index i, index j) { return usual(i, j) * (std::numeric_limits<Real<T>>::max() / 1024); });
    expect_right("huge");
    system.make([&](index i, index j) { return usual(i, j) * (std::numeric_limits<Real<T>>::min() * 1024); });
    system.B.fill(T(std::numeric_limits<Real<T>>::min() * 16));
    expect_right("tiny");
    system.B = System<T>(side, uplo, trans, unit, order, others, this->one).B;
  });
}

/// What an inverse leaves of elements that are small beside others of their column is wrong where no other element of
/// their row hides that.
TYPED_TEST(Solves, WithSmallElementsBesideLargeOnesHaveSmallResiduals) {
  using T = TypeParam;
  constexpr index order = 200, others = 19;
  this->for_all_kinds([&](Side side, Uplo uplo, Op trans, bool unit) {
    System<T> system(side, uplo, trans, unit, order, others, this->one);
    system.block = 128;
    system.make([&](index i, index j) {
      return T(static_cast<Real<T>>(i == j ? 1 : i - j == 1 || j - i == 1 ? -1 : 0));
    });
    Matrix<T> X = system.B;
    for (index c = 0; c < others; ++c)
      for (index step = 0; step < order; ++step) {
        const index i = system.forward() ? step : order - 1 - step;
        T& x = System<T>::at(X, side, i, c);
        x *= static_cast<Real<T>>(std::exp2(-static_cast<double>(step) / 4));
        T& b = System<T>::at(system.B, side, i, c);
        b = x;
        if (step > 0) b -= System<T>::at(X, side, system.forward() ? i - 1 : i + 1, c);
      }
    for (const TrsmWay way : all_ways) system.expect_right(way);
  });
}

TYPED_TEST(Solves, WithAlphaZeroReadNothing) {
  using T = TypeParam;
  this->for_all_kinds([&](Side side, Uplo uplo, Op trans, bool unit) {
    System<T> system(side, uplo, trans, unit, 130, 9, T(0));
    system.A.fill(scalar<T>(nan, inf));
    system.B.fill(scalar<T>(inf, nan));
    for (const TrsmWay way : all_ways) {
      const Matrix<T> X = system.run(way);
      for (index j = 0; j < X.cols(); ++j)
        for (index i = 0; i < X.rows(); ++i) ASSERT_EQ(X(i, j), T(0)) << system.describe(way);
    }
  });
}

TYPED_TEST(Solves, PoisonGoesWhereSubstitutionTakesIt) {
  using T = TypeParam;
  constexpr index order = 150, others = 35;
  this->for_all_kinds([&](Side side, Uplo uplo, Op trans, bool unit) {
    const System<T> usual(side, uplo, trans, unit, order, others, this->some_alpha);
    for (const TrsmWay way : all_ways)
      for (const T bad : {scalar<T>(nan, 0), scalar<T>(inf, 1)}) {
        for (const index i : {20, 70, 149}) {
          System<T> system = usual;
          System<T>::at(system.B, side, i, 18) = bad;
          system.expect_poisoned_as_substituted(way);
        }
        // In A: within a block, beside one, and on the diagonal.
        for (const auto& [i, j] : {std::pair<index, index>{40, 30}, {100, 30}, {70, 70}}) {
          System<T> system = usual;
          const index row = uplo == Uplo::lower ? i : j, col = uplo == Uplo::lower ? j : i;
          if (!system.is_read(row, col)) continue;
          // What is left of a complex number that is divided by infinity depends on the way.
          if (complex_type<T> && row == col && !std::isnan(std::real(bad))) continue;
          system.A(row, col) = bad;
          system.expect_poisoned_as_substituted(way);
        }
      }
    if (unit) return;
    for (const TrsmWay way : all_ways)
      for (const index i : {0, 70, 149}) {
        System<T> system = usual;
        system.A(i, i) = T(0);
        system.expect_poisoned_as_substituted(way);
      }
  });
}

TYPED_TEST(Solves, WithWhatAnEarlierOneHasPrepared) {
  using T = TypeParam;
  this->for_all_kinds([&](Side side, Uplo uplo, Op trans, bool unit) {
    const System<T> first(side, uplo, trans, unit, 150, 30, this->some_alpha);
    System<T> second = first, other(side == Side::left ? Side::right : Side::left, uplo,
                                    trans == Op::none ? Op::transpose : Op::none, unit, 150, 11, this->one);
    second.B.random(7);
    other.A = first.A;
    const System<T>* const all[] = {&first, &second, &other};
    const Scalar<T> alphas[] = {{{}, first.alpha}, {{}, second.alpha}, {{}, other.alpha}};
    Trsm p = first.trsm(alphas[0], TrsmWay::blocks);
    Call call(first.bytes(p) + room(second.B) + room(other.B));
    const Placed<T> a = call.put(first.A);
    auto* workspace = call.part<std::uint32_t>(System<T>::words(p));
    Ticket before = a.ready;
    std::vector<Placed<T>> B;
    for (int i = 0; i < 3; ++i) {
      B.push_back(call.put(all[i]->B));
      p = all[i]->trsm(alphas[i], TrsmWay::blocks);
      p.A = a.at;
      p.B = B.back().at;
      p.workspace = workspace;
      p.prepared = i > 0;
      before = call.ask(p, {before, B.back().ready});
    }
    for (std::size_t i = 0; i < 3; ++i) {
      Matrix<T> X = all[i]->B;
      call.download(X.data(), X.ld(), B[i].at, X.ld(), X.ld(), X.cols(), {before});
      call.drain();
      before = nothing;
      ASSERT_TRUE(X == all[i]->run(TrsmWay::blocks)) << i << " " << all[i]->describe(TrsmWay::blocks);
    }
  });
}

TYPED_TEST(Solves, OfEightThreadsAtOnceAreTheSame) {
  using T = TypeParam;
  on_threads([&](int t) {
    const System<T> mine(t % 2 ? Side::left : Side::right, t / 2 % 2 ? Uplo::lower : Uplo::upper, ops[t % 3], t > 5,
                         130 + 9 * t, 40, this->some_alpha, 0, static_cast<unsigned>(t));
    const Matrix<T> expected = mine.run(TrsmWay::blocks);
    for (int time = 0; time < 5; ++time)
      if (!(mine.run(TrsmWay::blocks) == expected)) throw std::runtime_error("other bits");
  });
}

}  // namespace
}  // namespace blaslift::conformance::solves_tests
