// Combinations and surveys.
#include "impl/core/blocks.hpp"
#include "tests/conformance/harness.hpp"

namespace blaslift::conformance::sums_tests {
namespace {

// ---- combinations

/// How a matrix lies on the device.
struct Layout {
  index gap, offset;
};

/// By turns.  Ways for a kernel that reads 16 bytes at a time to take: all of them, all but the last rows, none.
const std::vector<Layout> all_layouts[] = {{{0, 0}}, {{4, 0}}, {{0, 4}, {8, 0}},
                                           {{1, 0}}, {{0, 1}}, {{0, 0}, {5, 3}, {2, 2}}};

/// A combination of matrices on the device and what it should make of them.
template <class T>
struct Sums {
  index rows, cols;
  std::vector<Matrix<T>> matrices;  ///< the sources, then targets of their own
  std::vector<index> offsets;
  Combination p{};
  std::vector<std::size_t> target_of;  ///< which matrix is which target

  /// @param shared  targets that are sources, as far as there are such: the last source is the first target
  Sums(index rows_, index cols_, int sources, int targets, int shared, const std::vector<Layout>& layouts,
       unsigned seed = 1)
      : rows(rows_), cols(cols_) {
    shared = std::min({shared, sources, targets});
    for (int i = 0; i < sources + targets - shared; ++i) {
      const Layout& layout = layouts[static_cast<std::size_t>(i) % layouts.size()];
      matrices.emplace_back(rows, cols, layout.gap).random(seed + static_cast<unsigned>(i));
      offsets.push_back(layout.offset);
      if (i >= sources) matrices.back().fill(scalar<T>(nan, nan));
    }
    p.precision = precision_of<T>;
    p.rows = rows;
    p.cols = cols;
    p.sources = sources;
    p.targets = targets;
    std::minstd_rand bits(seed);
    for (int t = 0; t < targets; ++t) {
      target_of.push_back(static_cast<std::size_t>(t < shared ? sources - 1 - t : sources + t - shared));
      for (int s = 0; s < sources; ++s) p.target[t].sign[s] = static_cast<signed char>(bits() / 7 % 3) - 1;
      p.target[t].sign[bits() / 7 % static_cast<unsigned>(sources)] = bits() / 7 % 2 ? 1 : -1;
    }
  }

  void scale(int source, const T& by) {
    p.source[source].scaled = true;
    scalar_.value = by;
  }

  /// The matrices after the combination, gaps included.
  std::vector<Matrix<T>> run(std::size_t moves = little) {
    std::size_t bytes = 256;
    for (std::size_t i = 0; i < matrices.size(); ++i) bytes += room(matrices[i], offsets[i]);
    Call call(bytes, moves);
    std::vector<T*> at;
    Tickets ready;
    for (std::size_t i = 0; i < matrices.size(); ++i) {
      const Placed<T> there = call.put(matrices[i], offsets[i]);
      at.push_back(there.at);
      ready.push_back(there.ready);
    }
    const Ticket combined = call.ask(on(at), ready);
    std::vector<Matrix<T>> after = matrices;
    for (std::size_t i = 0; i < after.size(); ++i)
      call.download(after[i].data(), after[i].ld(), at[i], after[i].ld(), after[i].ld(), cols, {combined});
    call.drain();
    return after;
  }

  /// The same in the working precision, in the order of the sources.
  std::vector<Matrix<T>> expected() const {
    std::vector<Matrix<T>> after = matrices;
    std::vector<T*> at;
    for (Matrix<T>& x : after) at.push_back(x.data());
    naive(on(at));
    return after;
  }

  /// An element of a target exactly.  The bound: at most `sources` terms, each rounded once where it is scaled (a
  /// complex one thrice), then sources - 1 sums, is within gamma(sources + 2) of the terms' absolute values, and twice
  /// that for |re| + |im|; (sources + 3) eps, and twice it for complex types, covers either.
  Expected<T> element(int target, index i, index j) const {
    using Wide = typename Expected<T>::Wide;
    Expected<T> e;
    for (int s = 0; s < p.sources; ++s) {
      const int sign = p.target[target].sign[s];
      if (sign == 0) continue;
      const T &x = matrices[static_cast<std::size_t>(s)](i, j), by = p.source[s].scaled ? scalar_.value : T(1);
      const Wide re = std::real(x), im = std::imag(x), by_re = std::real(by), by_im = std::imag(by);
      e.re += sign * (by_re * re - by_im * im);
      e.im += sign * (by_re * im + by_im * re);
      e.bound += (std::fabs(re) + std::fabs(im)) * (std::fabs(by_re) + std::fabs(by_im));
    }
    e.bound *= static_cast<Wide>(p.sources + 3) * static_cast<Wide>(std::numeric_limits<Real<T>>::epsilon()) *
               (complex_type<T> ? 2 : 1);
    return e;
  }

  /// Sums of unscaled sources are the same bits everywhere; what is no target stays as it was, as do gaps.
  void expect_right(std::size_t moves = little) {
    const auto result = run(moves), right = expected();
    bool scales = false;
    for (int s = 0; s < p.sources; ++s) scales = scales || p.source[s].scaled;
    for (std::size_t i = 0; i < matrices.size(); ++i) {
      const auto found = std::find(target_of.begin(), target_of.end(), i);
      if (!scales || found == target_of.end()) {
        EXPECT_TRUE(result[i] == right[i]) << (found == target_of.end() ? "no target: " : "target: ") << *this;
        continue;
      }
      EXPECT_TRUE(result[i].canaries_intact()) << *this;
      for (index col = 0; col < cols; ++col)
        for (index row = 0; row < rows; ++row)
          ASSERT_LE(element(static_cast<int>(found - target_of.begin()), row, col).excess(result[i](row, col)), 1.0)
              << row << "," << col << " of " << *this;
    }
  }

  friend std::ostream& operator<<(std::ostream& out, const Sums& x) {
    out << x.rows << " x " << x.cols << ", " << x.p.sources << " sources,";
    for (int t = 0; t < x.p.targets; ++t) {
      out << " target " << x.target_of[static_cast<std::size_t>(t)] << ':';
      for (int s = 0; s < x.p.sources; ++s) out << ' ' << static_cast<int>(x.p.target[t].sign[s]);
    }
    return out;
  }

 private:
  /// The combination of matrices at these addresses.
  Combination on(const std::vector<T*>& at) const {
    Combination there = p;
    for (std::size_t s = 0; s < static_cast<std::size_t>(p.sources); ++s) {
      there.source[s].at = at[s];
      there.source[s].ld = matrices[s].ld();
    }
    for (std::size_t t = 0; t < target_of.size(); ++t) {
      there.target[t].at = at[target_of[t]];
      there.target[t].ld = matrices[target_of[t]].ld();
    }
    there.scale = &scalar_.value;
    return there;
  }

  Scalar<T> scalar_{};
};

template <class T>
class Combinations : public testing::Test {
 public:
  const T some_scale = scalar<T>(-0.75, 0.4);
};
TYPED_TEST_SUITE(Combinations, Precisions, TypeNames);

TYPED_TEST(Combinations, OfEveryNumberOfSourcesAndTargets) {
  constexpr index shapes[][2] = {{1, 1}, {2, 3}, {5, 7}, {16, 4}, {67, 9}};
  unsigned seed = 0;
  for (int sources = 1; sources <= Combination::most_sources; ++sources)
    for (int targets = 1; targets <= Combination::most_targets; ++targets)
      for (const int shared : {0, 1, targets})
        for (const auto& layouts : all_layouts) {
          const auto& [rows, cols] = shapes[++seed % std::size(shapes)];
          Sums<TypeParam>(rows, cols, sources, targets, shared, layouts, seed).expect_right();
          if (testing::Test::HasFailure()) return;
        }
}

TYPED_TEST(Combinations, OfEverySizeAndLayout) {
  constexpr index shapes[][2] = {{1, 1}, {1, 300}, {2, 2}, {3, 5}, {4, 4}, {8, 33}, {31, 1}, {300, 3}, {257, 65}};
  for (const auto& [rows, cols] : shapes)
    for (const auto& layouts : all_layouts) {
      Sums<TypeParam>(rows, cols, 3, 2, 1, layouts).expect_right();
      Sums<TypeParam> scaled(rows, cols, 3, 2, 2, layouts);
      scaled.scale(1, this->some_scale);
      scaled.expect_right();
      if (testing::Test::HasFailure()) return;
    }
}

TYPED_TEST(Combinations, OfLargeMatrices) {
  for (const std::size_t way : {1, 3, 5}) {
    Sums<TypeParam> sums(700, 513, 5, 3, 2, all_layouts[way]);
    sums.expect_right(much);
    sums.scale(0, this->some_scale);
    sums.scale(3, this->some_scale);
    sums.expect_right(much);
    if (testing::Test::HasFailure()) return;
  }
}

TYPED_TEST(Combinations, OfScaledSources) {
  using T = TypeParam;
  for (const T& by : {T(1), T(0), this->some_scale})
    for (int scaled = 1; scaled < 1 << 4; ++scaled)
      for (const auto& layouts : all_layouts) {
        Sums<T> sums(13, 6, 4, 3, 2, layouts, static_cast<unsigned>(scaled));
        for (int s = 0; s < 4; ++s)
          if (scaled >> s & 1) sums.scale(s, by);
        sums.expect_right();
        if (testing::Test::HasFailure()) return;
      }
}

TYPED_TEST(Combinations, SourcesWithoutASignDoNotCount) {
  using T = TypeParam;
  for (const auto& layouts : all_layouts)
    for (const bool scaled : {false, true}) {
      Sums<T> sums(37, 11, 5, 3, 1, layouts);
      const signed char signs[][5] = {{1, 0, 0, -1, 0}, {0, 1, 0, 0, 0}, {-1, 0, 0, 1, 0}};
      for (int t = 0; t < 3; ++t) std::copy_n(signs[t], 5, sums.p.target[t].sign);
      sums.matrices[1].fill(scalar<T>(nan, inf));  // in the second target alone
      sums.matrices[2].fill(scalar<T>(nan, nan));  // in none
      sums.matrices[4].fill(scalar<T>(inf, nan));  // overwritten by the first
      if (scaled)
        for (const int s : {1, 2, 3}) sums.scale(s, this->some_scale);
      const auto result = sums.run();
      for (index j = 0; j < sums.cols; ++j)
        for (index i = 0; i < sums.rows; ++i) {
          for (const int t : {0, 2})
            ASSERT_LE(sums.element(t, i, j).excess(result[sums.target_of[static_cast<std::size_t>(t)]](i, j)), 1.0)
                << "target " << t << " at " << i << "," << j;
          ASSERT_FALSE(finite(result[sums.target_of[1]](i, j)));
        }
    }
}

TYPED_TEST(Combinations, OfOneSourceAreCopies) {
  // Every bit, those of NaN and -0 too.
  using T = TypeParam;
  for (const auto& layouts : all_layouts) {
    Sums<T> sums(37, 11, 1, 1, 0, layouts);
    sums.p.target[0].sign[0] = 1;
    Matrix<T>& x = sums.matrices[0];
    x(0, 0) = scalar<T>(-0.0, -0.0);
    x(36, 10) = scalar<T>(-inf, nan);
    fill_with_canaries(&x(5, 5), 4 * sizeof(T));
    const auto result = sums.run();
    for (index j = 0; j < sums.cols; ++j)
      for (index i = 0; i < sums.rows; ++i) ASSERT_TRUE(same_bits(result[1](i, j), x(i, j))) << i << "," << j;
    EXPECT_TRUE(result[1].canaries_intact());
    EXPECT_TRUE(result[0] == x);
  }
}

TEST(Combination, OfMoreThanAGridHolds) {
  // On their own places: -x of one column, then of very many.
  for (const auto& [rows, cols, offset] : {std::array<index, 3>{5000000, 1, 1}, std::array<index, 3>{257, 16500, 1}})
    for (const index gap : {0, 4}) {
      Sums<float> sums(rows, cols, 1, 1, 1, {{gap, offset}});
      sums.p.target[0].sign[0] = -1;
      sums.expect_right(much);
    }
}

template <class T>
class Surveys : public testing::Test {};
TYPED_TEST_SUITE(Surveys, Precisions, TypeNames);

/// What surveys of these blocks of x note, in reals for each row and then for each column.  NaN equals NaN.
template <class T>
void expect_surveyed(const Matrix<T>& x, const std::vector<Block>& blocks, index offset, std::size_t moves = little) {
  using R = Real<T>;
  const index notes = x.rows() + x.cols();
  std::vector<R> begun(static_cast<std::size_t>(notes)), found(begun.size()), expected;
  begun[0] = R(0.25);  // noted before
  expected = begun;
  Call call(Call::part_size<T>(x.ld() * x.cols() + offset) + Call::part_size<R>(notes), moves);
  const Placed<T> there = call.put(x, offset);
  R* at = call.part<R>(notes);
  const Ticket ready = call.upload(at, notes, begun.data(), notes, notes, 1);
  Tickets surveys;
  for (const Block& b : blocks) {
    const Survey on_device{precision_of<T>,      b.rows, b.cols, there.at + b.row + b.col * x.ld(), x.ld(), at + b.row,
                           at + x.rows() + b.col};
    surveys.push_back(call.ask(on_device, {there.ready, ready}));
    naive(Survey{precision_of<T>, b.rows, b.cols, x.data() + b.row + b.col * x.ld(), x.ld(), expected.data() + b.row,
                 expected.data() + x.rows() + b.col});
  }
  call.download(found.data(), notes, at, notes, notes, 1, surveys);
  call.drain();
  for (std::size_t i = 0; i < found.size(); ++i)
    ASSERT_TRUE(found[i] == expected[i] || (std::isnan(found[i]) && std::isnan(expected[i])))
        << "note " << i << " of " << x.rows() << " + " << x.cols() << ": " << found[i] << ", not " << expected[i];
}

TYPED_TEST(Surveys, FindTheLargestOfEachRowAndColumn) {
  using T = TypeParam;
  constexpr index shapes[][2] = {{1, 1}, {1, 200}, {200, 1}, {5, 7}, {32, 32}, {33, 65}, {257, 31}, {2051, 3}};
  for (const auto& [rows, cols] : shapes)
    for (const index offset : {0, 1}) {
      Matrix<T> x(rows, cols, offset * 3);  // NaN in the gaps
      expect_surveyed(x.random(static_cast<unsigned>(rows)), {{0, 0, rows, cols}}, offset);
      if (testing::Test::HasFailure()) return;
    }
  Matrix<T> x(4099, 611, 2);
  expect_surveyed(x.random(1), {{0, 0, 4099, 611}}, 0, much);
}

TYPED_TEST(Surveys, OfSeveralBlocksNoteIntoTheSamePlaces) {
  using T = TypeParam;
  Matrix<T> x(90, 70, 1);
  expect_surveyed(x.random(2), {{0, 0, 40, 70}, {40, 0, 50, 30}, {40, 30, 50, 40}}, 0);
  expect_surveyed(x, {{3, 5, 40, 30}, {10, 5, 40, 30}}, 1);  // what is in none stays as it was
}

TYPED_TEST(Surveys, OfPoisonAndExtremes) {
  using T = TypeParam;
  using R = Real<T>;
  const R values[] = {R(inf),
                      R(-inf),
                      R(nan),
                      R(-0.0),
                      std::numeric_limits<R>::denorm_min(),
                      std::numeric_limits<R>::max(),
                      -std::numeric_limits<R>::max()};
  for (const R value : values)
    for (const bool imaginary : {false, true}) {
      if (imaginary && !complex_type<T>) continue;
      Matrix<T> x(45, 37, 2);
      x.random(3);
      x(40, 20) = x(7, 36) =
          imaginary ? scalar<T>(0.5, static_cast<double>(value)) : scalar<T>(static_cast<double>(value), 0.5);
      expect_surveyed(x, {{0, 0, 45, 37}}, 0);
      x.fill(scalar<T>(0, 0));
      x(3, 4) = imaginary ? scalar<T>(0, static_cast<double>(value)) : scalar<T>(static_cast<double>(value), 0);
      expect_surveyed(x, {{0, 0, 45, 37}}, 0);
      if (testing::Test::HasFailure()) return;
    }
  // NaN stays, whatever comes later.
  Matrix<T> x(3, 3);
  x.random(4);
  x(1, 0) = scalar<T>(nan, 0);
  x(1, 2) = scalar<T>(inf, 0);
  expect_surveyed(x, {{0, 0, 3, 3}, {0, 0, 3, 3}}, 0);
}

TEST(Lanes, CombinationsOfEightThreadsAtOnce) {
  on_threads([](int t) {
    for (unsigned time = 0; time < 20; ++time)
      Sums<double>(40 + 7 * t, 30, 1 + t, 1 + t % 4, 1, {{t, t % 3}}, time).expect_right(t % 2 ? much : little);
  });
}

}  // namespace
}  // namespace blaslift::conformance::sums_tests
