// SYMV: the order of additions as data, the tickets' protocol with few blocks at a time, and the CUDA kernels
// themselves on the CPU, bit for bit beside the host's.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>

#include "kernels/host/symv.hpp"
#include "tests/unit/support/cuda_on_host.hpp"
#include "tests/unit/symv/symv_reference.hpp"
// After what it runs on.
#include "bench/published_symv.hpp"
#include "kernels/cuda/symv/symv_kernels.hpp"

namespace blaslift::symv_tests {
namespace {

using namespace symv_order;
using reference::all_blockings, reference::Matrix, reference::scalar, reference::SymvProblem;

constexpr Element precisions[] = {Element::s, Element::d, Element::c, Element::z, Element::w};
constexpr Uplo triangles[] = {Uplo::upper, Uplo::lower};

Order order_of(Element precision, Uplo uplo, index n, const SymvBlocking& blocking) {
  Symv p{};
  p.precision = precision;
  p.uplo = uplo;
  p.n = n;
  p.blocking = blocking;
  return Order(p);
}

/// Calls `check` with orders of all precisions, triangles and blockings with panels.
template <class Check>
void for_all_orders(std::initializer_list<index> sizes, Check check) {
  for (const Element precision : precisions)
    for (const Uplo uplo : triangles)
      for (const index n : sizes)
        for (const SymvBlocking& b : all_blockings(precision)) {
          if (b.U == 0) continue;
          SCOPED_TRACE(testing::Message() << letter(precision) << static_cast<char>(uplo) << " n=" << n << " U=" << b.U
                                          << " Tx=" << b.Tx << " Ty=" << b.Ty << " H=" << b.H);
          ASSERT_TRUE(symv_fits(b, precision));
          check(order_of(precision, uplo, n, b));
          if (testing::Test::HasFailure()) return;
        }
}

TEST(SymvOrder, TilesHoldEveryStoredElementOnce) {
  for_all_orders({1, 2, 31, 33, 64, 127, 128, 129, 257, 600}, [](const Order& order) {
    std::vector<int> seen(static_cast<std::size_t>(order.n) * static_cast<std::size_t>(order.n));
    for (int number = 0; number < order.tiles(); ++number) {
      const Tile t = order.tile(number);
      ASSERT_TRUE(t.begin < t.end && t.end <= order.n && t.begin / order.H == t.chunk &&
                  (t.end - 1) / order.H == t.chunk);
      ASSERT_EQ(t.panel, order.panel_of(t.rank));
      for (int row = t.begin; row < t.end; row += order.R) {
        const bool whole = order.is_whole(t, row, order.R, t.panel * order.U, order.U);
        for (int j = t.panel * order.U; j < (t.panel + 1) * order.U; ++j)
          for (int i = row; i < row + order.R; ++i) {
            const bool there = i < t.end && j < order.n && order.is_stored(i, j);
            ASSERT_TRUE(!whole || (there && i != j));
            if (there) ++seen[static_cast<std::size_t>(i + j * order.n)];
          }
      }
    }
    for (int j = 0; j < order.n; ++j)
      for (int i = 0; i < order.n; ++i)
        ASSERT_EQ(seen[static_cast<std::size_t>(i + j * order.n)], order.is_stored(i, j)) << i << "," << j;
  });
}

TEST(SymvOrder, WhatARowAndAColumnAddIsWhatTilesWrite) {
  for_all_orders({1, 31, 128, 129, 257, 600}, [](const Order& order) {
    std::vector<std::set<int>> ranks(static_cast<std::size_t>(order.n)), chunks(ranks.size());
    for (int number = 0; number < order.tiles(); ++number) {
      const Tile t = order.tile(number);
      for (int i = t.begin; i < t.end; ++i) ASSERT_TRUE(ranks[static_cast<std::size_t>(i)].insert(t.rank).second);
      for (int j = t.panel * order.U; j < std::min((t.panel + 1) * order.U, order.n); ++j)
        ASSERT_TRUE(chunks[static_cast<std::size_t>(j)].insert(t.chunk).second);
    }
    for (int i = 0; i < order.n; ++i) {
      const auto &r = ranks[static_cast<std::size_t>(i)], &q = chunks[static_cast<std::size_t>(i)];
      ASSERT_EQ(static_cast<int>(r.size()), order.ranks_of_row(i));
      ASSERT_TRUE(*r.begin() == 0 && *r.rbegin() == order.ranks_of_row(i) - 1);
      ASSERT_TRUE(*q.begin() == order.first_chunk(i) && *q.rbegin() == order.last_chunk(i));
      ASSERT_EQ(static_cast<int>(q.size()), order.last_chunk(i) - order.first_chunk(i) + 1);
    }
  });
}

TEST(SymvOrder, TilesAreNumberedByRankOfManyToo) {
  for (const Uplo uplo : triangles)
    for (const index n : {64, 4095, 4097, 20000, 40001, 100033}) {
      const Order order = order_of(Precision::d, uplo, n, {64, 32, 8, 64 * (1 + static_cast<int>(n % 3))});
      int number = 0;
      for (int rank = 0; rank < order.panels; ++rank) {
        const int diagonal = order.panel_of(rank) * order.U / order.H;
        const int from = uplo == Uplo::upper ? 0 : diagonal, to = uplo == Uplo::upper ? diagonal : order.chunks - 1;
        for (int chunk = from; chunk <= to; ++chunk, ++number) {
          const Tile t = order.tile(number);
          ASSERT_TRUE(t.rank == rank && t.chunk == chunk) << "tile " << number << " of n=" << n;
        }
      }
      EXPECT_EQ(number, order.tiles());
    }
}

TEST(SymvOrder, RulesAlwaysGiveWhatTheDeviceCanDo) {
  for (const Element precision : precisions)
    for (const Uplo uplo : triangles)
      for (index n = 1; n < 60000; n += 1 + n / 17) {
        const SymvBlocking b = symv_blocking(precision, uplo, n);
        EXPECT_TRUE(symv_fits(b, precision)) << letter(precision) << n;
        EXPECT_GE(order_of(precision, uplo, n, b).tiles(), b.U == 0 ? 0 : 1);
      }
}

// ---- the tickets

struct Protocol {
  std::function<Tile(const Order&, int taken)> tile = [](const Order& order, int taken) { return order.tile(taken); };
  std::function<Turn(const Order&, const Tile&)> turn = [](const Order& order, const Tile& t) {
    return order.turn_of(t.rank);
  };
};

/// Blocks begin while fewer than `resident` are running, each takes its number then, and chance says which does
/// something next.
/// @param added  ranks by chunk and chain, in the order in which they were added
/// @return false: all that are running wait for ever
bool run_tickets(const Order& order, const Protocol& protocol, std::size_t resident, unsigned seed,
                 std::map<std::pair<int, int>, std::vector<int>>& added) {
  std::mt19937 chance(seed);
  struct Running {
    Tile tile;
    int work;
  };
  std::vector<Running> running;
  std::map<std::pair<int, int>, int> tickets;
  const int tiles = order.tiles();
  for (int taken = 0; taken < tiles || !running.empty();) {
    while (taken < tiles && running.size() < resident)
      running.push_back({protocol.tile(order, taken++), static_cast<int>(chance() % 20)});
    bool moved = false;
    std::shuffle(running.begin(), running.end(), chance);
    for (std::size_t b = 0; b < running.size() && !moved; ++b) {
      Running& block = running[b];
      const Turn turn = protocol.turn(order, block.tile);
      const std::pair place{block.tile.chunk, turn.chain};
      if (block.work > 0) {
        --block.work;
        moved = true;
      } else if (tickets[place] == turn.turn) {
        added[place].push_back(block.tile.rank);
        ++tickets[place];
        running.erase(running.begin() + static_cast<std::ptrdiff_t>(b));
        moved = true;
      }
    }
    if (!moved) return false;
  }
  return true;
}

TEST(SymvTickets, EndWithFewBlocksAtATimeAndKeepTheOrder) {
  for (const Uplo uplo : triangles)
    for (const index n : {1, 100, 129, 1000, 1500})
      for (const std::size_t resident : {1, 2, 3, 7, 40})
        for (unsigned seed = 0; seed < 5; ++seed) {
          const Order order = order_of(Precision::d, uplo, n, {32, 64, 2, 128});
          std::map<std::pair<int, int>, std::vector<int>> added;
          ASSERT_TRUE(run_tickets(order, {}, resident, seed, added)) << n << ", " << resident << " at a time";
          int all = 0;
          for (const auto& [place, ranks] : added)
            for (std::size_t turn = 0; turn < ranks.size(); ++turn, ++all)
              ASSERT_EQ(ranks[turn], place.second + chains * static_cast<int>(turn)) << "chunk " << place.first;
          EXPECT_EQ(all, order.tiles());
        }
}

TEST(SymvTickets, GivenOutFromTheOtherEndNeverEnd) {
  Protocol wrong;
  wrong.tile = [](const Order& order, int taken) { return order.tile(order.tiles() - 1 - taken); };
  for (const Uplo uplo : triangles) {
    const Order order = order_of(Precision::d, uplo, 1000, {32, 64, 2, 128});
    std::map<std::pair<int, int>, std::vector<int>> added;
    EXPECT_FALSE(run_tickets(order, wrong, 7, 1, added));
  }
}

TEST(SymvTickets, CountedFromTheLastPanelForEitherTriangleNeverEnd) {
  // The paper's order, last panel first, and its turns, which count every panel: right for the upper triangle alone,
  // since of the lower one's chunks the last panels have no part.
  Protocol paper;
  paper.turn = [](const Order& order, const Tile& t) { return order.turn_of(order.panels - 1 - t.panel); };
  const SymvBlocking blocking{32, 64, 2, 128};
  std::map<std::pair<int, int>, std::vector<int>> added;
  EXPECT_TRUE(run_tickets(order_of(Precision::d, Uplo::upper, 1000, blocking), paper, 7, 1, added));
  added.clear();
  EXPECT_FALSE(run_tickets(order_of(Precision::d, Uplo::lower, 1000, blocking), paper, 7, 1, added));
}

// ---- the kernels

template <class T>
struct DeviceType {
  using type = T;
};
template <class R>
struct DeviceType<std::complex<R>> {
  using type = Complex<R>;
};

/// As kernels/cuda/symv/symv_of.hpp starts them.
template <class T>
class Kernels {
 public:
  using D = typename DeviceType<T>::type;

  Kernels(const Symv& p, SymvWay way)
      : p_(p),
        order_(p),
        rows_(order_.row_parts(way), poison),
        columns_(order_.column_parts(), poison),
        counters_(order_.counters(way)) {
    const auto first = [&p](auto* at, index inc) { return inc < 0 ? at + (1 - p.n) * inc : at; };
    job_ = {.order = order_,
            .A = static_cast<const D*>(p.A),
            .lda = p.lda,
            .x = first(static_cast<const D*>(p.x), p.incx),
            .incx = p.incx,
            .y = first(static_cast<D*>(p.y), p.incy),
            .incy = p.incy,
            .alpha = *static_cast<const D*>(p.alpha),
            .beta = *static_cast<const D*>(p.beta),
            .hermitian = p.hermitian,
            .conjugated = p.conjugated,
            .by_tickets = way == SymvWay::tickets,
            .rows = rows_.data(),
            .columns = columns_.data(),
            .counter = counters_.data(),
            .tickets = counters_.data() + 1};
  }

  /// @param wide  loads of 16 bytes; without panels, a cluster for each strip
  void run(bool wide) {
    const auto strips = static_cast<unsigned>((p_.n + strip - 1) / strip);
    if (p_.blocking.U == 0) {
      const auto shares = static_cast<unsigned>(order_.shares);
      wide ? start(
                 strips * shares, 32, warps(sizeof(T)), [&] { sum_rows<D, true>(job_); }, shares)
           : start(strips, 32, warps(sizeof(T)), [&] { sum_rows<D, false>(job_); });
      return;
    }
    if constexpr (sizeof(T) == 16)
      tiles<symv_blockings_16>(true);
    else
      tiles<symv_blockings>(wide);
    start(static_cast<unsigned>((p_.n + 31) / 32), 32, chains, [&] { add_parts<D>(job_); });
  }

 private:
  static constexpr D poison = [] {
    if constexpr (std::is_floating_point_v<T>)
      return std::numeric_limits<T>::quiet_NaN();
    else if constexpr (std::is_same_v<T, DoubleDouble>)
      return D(reference::not_a_number);
    else
      return D{std::numeric_limits<decltype(D::re)>::quiet_NaN(), 0};
  }();

  /// Clusters in whatever order, and in each its first block last.
  template <class Kernel>
  static void start(unsigned blocks, unsigned x, unsigned y, const Kernel& kernel, unsigned cluster = 1) {
    std::vector<unsigned> numbers(blocks / cluster);
    for (unsigned b = 0; b < numbers.size(); ++b) numbers[b] = b;
    std::shuffle(numbers.begin(), numbers.end(), std::minstd_rand(blocks));
    for (const unsigned b : numbers)
      for (unsigned rank = cluster; rank-- > 0;) {
        cuda_on_host::block.number = b * cluster + rank;
        cuda_on_host::block.run(x, y, kernel);
      }
  }

  template <const auto& list, std::size_t I = 0>
  void tiles(bool wide) {
    if constexpr (I < std::size(list)) {
      constexpr SymvBlocking b = list[I];
      if (p_.blocking.U != b.U || p_.blocking.Tx != b.Tx || p_.blocking.Ty != b.Ty) return tiles<list, I + 1>(wide);
      start(static_cast<unsigned>(order_.tiles()), b.Tx, b.Ty, [&] {
        job_.by_tickets
            ? wide ? sum_tiles<D, b.U, b.Tx, b.Ty, true, true>(job_) : sum_tiles<D, b.U, b.Tx, b.Ty, false, true>(job_)
        : wide ? sum_tiles<D, b.U, b.Tx, b.Ty, true, false>(job_)
               : sum_tiles<D, b.U, b.Tx, b.Ty, false, false>(job_);
      });
    }
  }

  /// With a length that is an index.
  template <class X>
  struct Vector : std::vector<X> {
    Vector(index size, X value = {}) : std::vector<X>(static_cast<std::size_t>(size), value) {}
  };

  const Symv& p_;
  const Order order_;
  Vector<D> rows_, columns_;
  Vector<unsigned> counters_;
  Job<D> job_{order_};
};

template <class T>
class SymvKernels : public testing::Test {
 protected:
  /// Either way, with wide loads where A and lda allow them.
  static void expect_host_bits(SymvProblem<T> problem, const SymvBlocking& blocking) {
    const Matrix<T> before = problem.y;
    symv(problem.symv(blocking));
    const Matrix<T> expected = std::exchange(problem.y, before);
    ASSERT_LE(problem.worst_excess(expected), 1.0) << problem.describe(blocking);
    const bool aligned = reinterpret_cast<std::uintptr_t>(problem.A.data()) % 16 == 0 &&
                         static_cast<std::size_t>(problem.A.ld()) * sizeof(T) % 16 == 0;
    for (const SymvWay way : {SymvWay::parts, SymvWay::tickets})
      for (const bool wide : {false, true}) {
        if (blocking.U == 0 ? way == SymvWay::tickets : wide && !aligned) continue;
        problem.y = before;
        Kernels<T>(problem.symv(blocking), way).run(wide);
        ASSERT_TRUE(problem.y == expected) << problem.describe(blocking) << " way " << static_cast<int>(way);
      }
  }
};
using Types = testing::Types<float, double, std::complex<float>, std::complex<double>, DoubleDouble>;
struct TypeNames {
  template <class T>
  static std::string GetName(int) {
    return std::string(1, letter(element_of<T>));
  }
};
TYPED_TEST_SUITE(SymvKernels, Types, TypeNames);

TYPED_TEST(SymvKernels, GiveTheHostsBits) {
  using T = TypeParam;
  for (const Uplo uplo : triangles)
    for (const bool hermitian : {false, true}) {
      if (hermitian && !reference::complex_type<T>) continue;
      unsigned seed = 0, turn = uplo == Uplo::upper;
      for (const SymvBlocking& b : all_blockings(element_of<T>))
        for (const index n : {33, 130, 257}) {
          if (b.U != 0 && ++turn % 2) continue;  // they take long
          const index increments[] = {1, -2, 3, -1};
          const T betas[] = {T(0), T(1), scalar<T>(-0.75, 0.5)};
          ++seed;
          SymvProblem<T> problem(uplo, hermitian, n, scalar<T>(1.25, -0.5), betas[seed % 3], increments[seed % 4],
                                 increments[seed / 4 % 4], n % 4 == 0 ? (seed % 2) * 4 : (seed % 2) + (4 - n % 4),
                                 seed);
          problem.conjugated = reference::complex_type<T> && seed / 2 % 2;
          this->expect_host_bits(problem, b);
          if (testing::Test::HasFatalFailure()) return;
        }
    }
}

// ---- the kernel as it was published, which bench/symv_time has in its tables

template <class T, std::size_t I = 0>
void for_each_published(const auto& run) {
  if constexpr (I < std::size(published::shapes)) {
    static constexpr published::Shape s = published::shapes[I];
    run(s, [](const published::Symv<T>& p) { published::multiply<T, s.Tx, s.Ty, s.U>(p); });
    for_each_published<T, I + 1>(run);
  }
}

void start(index blocks, int x, int y, const std::function<void()>& kernel) {
  for (index b = 0; b < blocks; ++b) {
    cuda_on_host::block.number = static_cast<unsigned>(b);
    cuda_on_host::block.run(static_cast<unsigned>(x), static_cast<unsigned>(y), kernel);
  }
}

template <class T>
class PublishedSymv : public testing::Test {};
using RealTypes = testing::Types<float, double>;
TYPED_TEST_SUITE(PublishedSymv, RealTypes, TypeNames);

TYPED_TEST(PublishedSymv, AddsUpWhatItShould) {
  using T = TypeParam;
  for (const index n : {1, 27, 64, 100, 257})
    for (const T beta : {T(0), T(-0.75)})
      for_each_published<T>([&](const published::Shape& s, const auto& multiply) {
        SCOPED_TRACE(testing::Message() << s.Tx << " " << s.Ty << " " << s.U << " n=" << n);
        SymvProblem<T> problem(Uplo::upper, false, n, T(1.25), beta, 1, 1, n % 3, 7);
        const index panels = (n + s.U - 1) / s.U, steps = (n + s.Tx - 1) / s.Tx, blocks = (n + 255) / 256;
        std::vector<T> v(static_cast<std::size_t>(n), std::numeric_limits<T>::quiet_NaN());
        std::vector<int> tickets(static_cast<std::size_t>(steps), 1 << 20);
        unsigned counter = 77;
        const published::Symv<T> p{n,
                                   problem.alpha,
                                   beta,
                                   problem.A.data(),
                                   problem.A.ld(),
                                   problem.x.data(),
                                   problem.y.data(),
                                   v.data(),
                                   &counter,
                                   tickets.data(),
                                   static_cast<int>(panels)};
        start(blocks, 256, 1, [&] { published::prepare<T>(p, steps); });
        start(panels, s.Tx, s.Ty, [&] { multiply(p); });
        start(blocks, 256, 1, [&] { published::finish<T>(p); });
        const Matrix<T> found =
            std::exchange(problem.y, SymvProblem<T>(Uplo::upper, false, n, T(1.25), beta, 1, 1, n % 3, 7).y);
        EXPECT_LE(problem.worst_excess(found), 1.0);
        EXPECT_EQ(counter, static_cast<unsigned>(panels));
      });
}

}  // namespace
}  // namespace blaslift::symv_tests
