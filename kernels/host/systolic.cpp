#include "kernels/host/systolic.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

namespace blaslift::systolic {
namespace {

using arithmetic::fused;

template <class T>
class Interpreter {
 public:
  Interpreter(const Schedule& schedule, const Operands<T>& operands, unsigned seed, int slots)
      : s_(schedule),
        x_(operands),
        slots_(slots > 0 ? slots : shortest_ring(schedule.t)),
        shuffled_(seed != 0),
        chance_(seed + 1) {}

  Counts run(Variant variant) {
    const bool by_warp = variant == Variant::shuffled;
    const int rows = by_warp ? warp : edge, cols = by_warp ? warp_columns : edge;
    for (int J = 0; J < s_.block_cols(cols); ++J)
      for (int I = 0; I < s_.block_rows(rows); ++I) {
        const Cells cells = s_.cells(I, J, rows, cols);
        cells_.resize(static_cast<std::size_t>(cells.rows * cells.cols));
        std::iota(cells_.begin(), cells_.end(), 0);
        switch (variant) {
          case Variant::g1:
          case Variant::gt: in_global_memory(cells); break;
          case Variant::s1:
          case Variant::st: in_shared_memory(cells); break;
          case Variant::l1:
          case Variant::lr: by_loop(cells, variant == Variant::lr); break;
          case Variant::ls: by_tiles(cells); break;
          case Variant::shuffled: by_shuffles(cells); break;
        }
      }
    return counts_;
  }

 private:
  static constexpr T nothing = std::numeric_limits<T>::quiet_NaN();  ///< in memory that nobody has written

  /// One phase: up to its barrier the cells take turns in any order.
  template <class Body>
  void each_cell(const Cells& cells, const Body& body) {
    if (shuffled_) std::shuffle(cells_.begin(), cells_.end(), chance_);
    for (const int cell : cells_) body(cell % cells.rows, cell / cells.rows, static_cast<std::size_t>(cell));
  }
  std::vector<Cursor> cursors(const Cells& cells) {
    std::vector<Cursor> at(cells_.size());
    each_cell(cells, [&](int r, int c, std::size_t cell) {
      at[cell] = s_.at(cells.row + r, cells.col + c, s_.first_step(cells));
    });
    return at;
  }
  T& place_of_c(const Cells& cells, index product, int r, int c) { return x_.c(product, cells.row + r, cells.col + c); }
  T begin_sum(const T& c) {
    counts_.global += x_.from_c;
    return x_.first(c);
  }
  void end_sum(T& c, T sum) {
    counts_.global += 1 + (!x_.from_c && !arithmetic::equals(x_.beta, 0));
    c = x_.last(sum, c);
  }

  void in_global_memory(const Cells& cells) {
    std::vector<Cursor> at = cursors(cells);
    const auto count = static_cast<index>(cells_.size());
    for (index chunk = 0; chunk < s_.chunks(cells); ++chunk) {
      counts_.steps += s_.t;
      counts_.global_turns += (2 * s_.t + 2) * count;
      each_cell(cells, [&](int r, int c, std::size_t cell) {
        Cursor& u = at[cell];
        T sum = nothing, *held = nullptr;
        const auto put_back = [&] {
          if (!held) return;
          *held = sum;
          ++counts_.global;
          held = nullptr;
        };
        for (int step = 0; step < s_.t; ++step, u.advance(1, s_.g)) {
          if (!s_.works(u)) continue;
          T& own = place_of_c(cells, u.product, r, c);
          if (held != &own) {
            put_back();
            held = &own;
            sum = own;
            ++counts_.global;
          }
          sum = fused(x_.a(u.product, cells.row + r, u.at), x_.b(u.product, u.at, cells.col + c), sum);
          counts_.global += 2;
        }
        put_back();
      });
    }
  }

  void in_shared_memory(const Cells& cells) {
    std::vector<Cursor> at = cursors(cells);
    std::vector<T> A(static_cast<std::size_t>(slots_ * cells.rows), nothing),
        B(static_cast<std::size_t>(slots_ * cells.cols), nothing), C(cells_.size(), nothing);
    const auto slot = [this](index step, int line) {
      return static_cast<std::size_t>(step % slots_ + index{slots_} * line);
    };
    index T0 = s_.first_step(cells);
    for (index chunk = 0; chunk < s_.chunks(cells); ++chunk, T0 += s_.t) {
      counts_.steps += s_.t;
      const index edges = index{s_.t} * (cells.rows + cells.cols), count = static_cast<index>(cells_.size());
      counts_.global_turns += edges;
      counts_.shared_turns += edges + 2 * (s_.t + 1) * count;
      // What enters: by the cells of the block's left and upper edge.
      each_cell(cells, [&](int r, int c, std::size_t) {
        if (r > 0 && c > 0) return;
        for (index step = T0; step < T0 + s_.t; ++step) {
          const Cursor u = s_.at(cells.row + r, cells.col + c, step);
          if (!s_.works(u)) continue;
          if (c == 0) A[slot(step, r)] = x_.a(u.product, cells.row + r, u.at);
          if (r == 0) B[slot(step, c)] = x_.b(u.product, u.at, cells.col + c);
          counts_.global += (c == 0) + (r == 0);
          counts_.shared += (c == 0) + (r == 0);
        }
      });
      // A barrier.  Then the products, and another one.
      each_cell(cells, [&](int r, int c, std::size_t cell) {
        Cursor& u = at[cell];
        T sum = C[cell];
        ++counts_.shared;
        for (index step = T0; step < T0 + s_.t; ++step, u.advance(1, s_.g)) {
          if (!s_.works(u)) continue;
          T& own = place_of_c(cells, u.product, r, c);
          if (u.at == 0) sum = begin_sum(own);
          sum = fused(A[slot(step - c, r)], B[slot(step - r, c)], sum);
          counts_.shared += 2;
          if (u.at == s_.k - 1) end_sum(own, sum);
        }
        C[cell] = sum;
        ++counts_.shared;
      });
    }
  }

  void by_loop(const Cells& cells, bool in_register) {
    for (index product = 0; product < s_.count; ++product)
      each_cell(cells, [&](int r, int c, std::size_t) {
        T& own = place_of_c(cells, product, r, c);
        T sum = in_register ? begin_sum(own) : T();
        for (int v = 0; v < s_.k; ++v) {
          if (!in_register) sum = own;
          sum = fused(x_.a(product, cells.row + r, v), x_.b(product, v, cells.col + c), sum);
          if (!in_register) own = sum;
          counts_.global += in_register ? 2 : 4;
        }
        if (in_register) end_sum(own, sum);
      });
  }

  void by_tiles(const Cells& cells) {
    std::vector<T> A(static_cast<std::size_t>(edge * edge)), B(A), sums(cells_.size());
    const auto at = [](int i, int j) { return static_cast<std::size_t>(i + j * edge); };
    for (index product = 0; product < s_.count; ++product) {
      each_cell(cells,
                [&](int r, int c, std::size_t cell) { sums[cell] = begin_sum(place_of_c(cells, product, r, c)); });
      for (int v = 0; v < s_.k; v += edge) {
        const int depth = std::min(edge, s_.k - v);
        std::fill(A.begin(), A.end(), nothing);
        std::fill(B.begin(), B.end(), nothing);
        for (int q = 0; q < depth; ++q) {
          for (int r = 0; r < cells.rows; ++r) A[at(r, q)] = x_.a(product, cells.row + r, v + q);
          for (int c = 0; c < cells.cols; ++c) B[at(q, c)] = x_.b(product, v + q, cells.col + c);
          counts_.global += cells.rows + cells.cols;
          counts_.shared += cells.rows + cells.cols;
        }
        each_cell(cells, [&](int r, int c, std::size_t cell) {
          for (int q = 0; q < depth; ++q) sums[cell] = fused(A[at(r, q)], B[at(q, c)], sums[cell]);
          counts_.shared += 2 * depth;
        });
      }
      each_cell(cells, [&](int r, int c, std::size_t cell) { end_sum(place_of_c(cells, product, r, c), sums[cell]); });
    }
  }

  /// A lane is a row of cells.  Its A moves from one of its own registers to the next; its B comes from the lane above.
  void by_shuffles(const Cells& cells) {
    std::vector<Cursor> at = cursors(cells);
    std::vector<T> a(cells_.size(), nothing), b(a), sums(a);
    const auto cell_at = [&](int r, int c) { return static_cast<std::size_t>(r + c * cells.rows); };
    for (index step = 0; step < s_.steps(cells); ++step) {
      ++counts_.steps;
      counts_.global_turns += cells.rows + cells.cols;
      // All at once: the last cell first, since each takes what another one has had.
      for (int c = cells.cols - 1; c >= 0; --c)
        for (int r = cells.rows - 1; r >= 0; --r) {
          const std::size_t cell = cell_at(r, c);
          const Cursor& u = at[cell];
          const bool works = s_.works(u);
          a[cell] = c > 0 ? a[cell_at(r, c - 1)] : works ? x_.a(u.product, cells.row + r, u.at) : nothing;
          b[cell] = r > 0 ? b[cell_at(r - 1, c)] : works ? x_.b(u.product, u.at, cells.col + c) : nothing;
          counts_.global += works * ((c == 0) + (r == 0));
        }
      each_cell(cells, [&](int r, int c, std::size_t cell) {
        Cursor& u = at[cell];
        if (s_.works(u)) {
          T& own = place_of_c(cells, u.product, r, c);
          if (u.at == 0) sums[cell] = begin_sum(own);
          sums[cell] = fused(a[cell], b[cell], sums[cell]);
          if (u.at == s_.k - 1) end_sum(own, sums[cell]);
        }
        u.advance(1, s_.g);
      });
    }
  }

  const Schedule s_;
  const Operands<T> x_;
  const int slots_;
  const bool shuffled_;
  std::minstd_rand chance_;
  std::vector<int> cells_;
  Counts counts_;
};

}  // namespace

template <class T>
Counts interpret(Variant variant, const Schedule& schedule, const Operands<T>& operands, unsigned seed, int slots) {
  Schedule s = schedule;
  if (!has_steps(variant)) s.t = 1;
  return Interpreter<T>(s, operands, seed, slots).run(variant);
}
template Counts interpret<float>(Variant, const Schedule&, const Operands<float>&, unsigned, int);
template Counts interpret<double>(Variant, const Schedule&, const Operands<double>&, unsigned, int);

void multiply(const GemmBatch& p) {
  Schedule schedule = schedule_of(p);
  schedule.count = p.count;
  if (p.precision == Precision::s)
    interpret(Variant::st, schedule, operands_of<float>(p));
  else
    interpret(Variant::st, schedule, operands_of<double>(p));
}

}  // namespace blaslift::systolic
