#include "kernels/host/symv.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "kernels/symv.hpp"

namespace blaslift {
namespace {

using namespace symv_order;

/// BLAS's vector of n elements.
template <class T>
class Vector {
 public:
  Vector(T* at, index n, index inc) : first_(inc < 0 ? at + (1 - n) * inc : at), inc_(inc) {}
  T& operator[](index i) const { return first_[i * inc_]; }

 private:
  T* first_;
  index inc_;
};

template <class T>
class Problem {
 public:
  explicit Problem(const Symv& p)
      : p_(p),
        A_(static_cast<const T*>(p.A)),
        n_(static_cast<int>(p.n)),
        x_(static_cast<std::size_t>(n_)),
        sums_(static_cast<std::size_t>(n_)) {}

  void run() {
    std::memcpy(&alpha_, p_.alpha, sizeof alpha_);
    std::memcpy(&beta_, p_.beta, sizeof beta_);
    if (!equals(alpha_, 0)) {
      const Vector<const T> x(static_cast<const T*>(p_.x), p_.n, p_.incx);
      for (int i = 0; i < n_; ++i) x_[at(i)] = conjugate_if(p_.conjugated, x[i]);
      p_.blocking.U == 0 ? sum_rows() : sum_tiles();
    } else if (equals(beta_, 1)) {
      return;
    }
    const Vector<T> y(static_cast<T*>(p_.y), p_.n, p_.incy);
    for (int i = 0; i < n_; ++i) {
      const T sum = conjugate_if(p_.conjugated, sums_[at(i)]);
      y[i] = updated(alpha_, sum, beta_, &y[i]);
    }
  }

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  const T& a(int i, int j) const { return A_[i + j * p_.lda]; }

  /// Element (i, j) of the whole matrix times x(j) added to `sum`.
  T add_element(int i, int j, T sum) const {
    if (i == j) return add_diagonal(a(i, i), x_[at(i)], sum, p_.hermitian);
    const bool stored = (i < j) == (p_.uplo == Uplo::upper);
    return add_product(stored ? a(i, j) : conjugate_if(p_.hermitian, a(j, i)), x_[at(j)], sum);
  }

  void sum_rows() {
    const int across = warps(sizeof(T)), shares = Order(p_).shares;
    for (int i = 0; i < n_; ++i)
      for (int share = 0; share < shares; ++share) {
        T of_share{};
        for (int w = 0; w < across; ++w) {
          T sum{};
          for (int j0 = (share * across + w) * block; j0 < n_; j0 += shares * across * block)
            for (int j = j0; j < std::min(j0 + block, n_); ++j) sum = add_element(i, j, sum);
          of_share = w == 0 ? sum : plus(of_share, sum);
        }
        sums_[at(i)] = share == 0 ? of_share : plus(sums_[at(i)], of_share);
      }
  }

  void sum_tiles() {
    const Order order(p_);
    std::vector<T> chain[chains];
    for (auto& parts : chain) parts.resize(at(n_));
    std::vector<T> columns(at(order.chunks) * at(n_));
    Threads threads(p_.blocking, order.R);
    for (int number = 0; number < order.tiles(); ++number) {
      const Tile tile = order.tile(number);
      T* to = columns.data() + at(tile.chunk) * at(n_);
      sum_tile(order, tile, threads, chain[order.turn_of(tile.rank).chain], to);
    }
    for (int i = 0; i < n_; ++i)
      for (int g = 0; g < chains; ++g) {
        T sum = chain[g][at(i)];
        for (int q = order.first_chunk(i) + g; q <= order.last_chunk(i); q += chains)
          sum = plus(sum, columns[at(q) * at(n_) + at(i)]);
        sums_[at(i)] = g == 0 ? sum : plus(sums_[at(i)], sum);
      }
  }

  /// What a block of threads has in its registers.
  struct Threads {
    Threads(const SymvBlocking& b, int rows_a_step)
        : Tx(b.Tx), Ty(b.Ty), columns(b.U / b.Ty), rows(at(b.Ty) * at(rows_a_step)), column(at(b.U) * at(b.Tx)) {}
    int Tx, Ty, columns;
    std::vector<T> rows;    ///< of the step, by ty
    std::vector<T> column;  ///< by tx, then by column of the panel
  };

  void sum_tile(const Order& order, const Tile& tile, Threads& threads, std::vector<T>& chain, T* columns) {
    const int j0 = tile.panel * order.U, width = std::min(order.U, n_ - j0), V = order.R / threads.Tx;
    std::fill(threads.column.begin(), threads.column.end(), T{});
    for (int row = tile.begin; row < tile.end; row += order.R) {
      const int rows = std::min(order.R, tile.end - row);
      std::fill(threads.rows.begin(), threads.rows.end(), T{});
      for (int k = 0; k < width; ++k) {
        const int j = j0 + k;
        T* by_row = threads.rows.data() + at(k / threads.columns) * at(order.R);
        T* by_column = threads.column.data() + at(k) * at(threads.Tx);
        const T x = x_[at(j)];
        for (int r = 0; r < rows; ++r) {
          const int i = row + r;
          if (!order.is_stored(i, j)) continue;
          T& column = by_column[r / V];
          if (i == j) {
            column = add_diagonal(a(i, i), conjugate_if(p_.hermitian, x), column, p_.hermitian);
          } else {
            by_row[r] = add_product(a(i, j), x, by_row[r]);
            column = add_product(a(i, j), conjugate_if(p_.hermitian, x_[at(i)]), column);
          }
        }
      }
      for (int r = 0; r < rows; ++r) {
        T sum = threads.rows[at(r)];
        for (int ty = 1; ty < threads.Ty; ++ty) sum = plus(sum, threads.rows[at(ty) * at(order.R) + at(r)]);
        chain[at(row + r)] = plus(chain[at(row + r)], sum);
      }
    }
    for (int k = 0; k < width; ++k) columns[j0 + k] = conjugate_if(p_.hermitian, sum_column(threads, k));
  }

  static T sum_column(Threads& threads, int k) {
    T total{};
    for (int group = 0; group < threads.Tx / 32; ++group) {
      T* part = threads.column.data() + at(k) * at(threads.Tx) + at(group) * 32;
      for (int distance = 16; distance > 0; distance /= 2)
        for (int lane = 0; lane < distance; ++lane) part[lane] = plus(part[lane], part[lane + distance]);
      total = group == 0 ? part[0] : plus(total, part[0]);
    }
    return total;
  }

  const Symv& p_;
  const T* A_;
  const int n_;
  T alpha_{}, beta_{};
  std::vector<T> x_, sums_;
};

}  // namespace

void symv(const Symv& p) {
  if (p.n == 0) return;
  switch (p.precision) {
    case Element::s: return Problem<float>(p).run();
    case Element::d: return Problem<double>(p).run();
    case Element::c: return Problem<Complex<float>>(p).run();
    case Element::z: return Problem<Complex<double>>(p).run();
    case Element::w: return Problem<DoubleDouble>(p).run();
  }
}

}  // namespace blaslift
