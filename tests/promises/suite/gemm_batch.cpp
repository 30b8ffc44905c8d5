// C := alpha op(A) op(B) + beta C, many times, of matrices that lie in fixed distances: gemm_batch_strided.
#include "tests/promises/suite/suite.hpp"

namespace suite {
namespace {

enum Form { side_by_side, as_columns, one_below_another, alone };

/// The matrices of a batch, as one matrix in memory.
template <class T>
struct Batch : Matrix<T> {
  Batch(Draw& draw, std::string_view operand, Role as, Form lies, index of_rows, index of_cols, index count)
      : Matrix<T>(draw, operand, as,
                  lies == as_columns          ? of_rows * of_cols
                  : lies == one_below_another ? of_rows * count
                                              : of_rows,
                  lies == side_by_side ? of_cols * count
                  : lies == as_columns ? count
                                       : of_cols),
        form(lies),
        each_rows(of_rows),
        each_cols(of_cols) {}
  const Form form;
  const index each_rows, each_cols;
  std::optional<index> wrong;  ///< leading dimension

  index leading() const {
    return wrong ? *wrong : std::max<index>(std::max<index>(1, each_rows), form == as_columns ? 0 : this->ld());
  }
  index stride() const {
    switch (form) {
      case side_by_side: return each_cols * this->ld();
      case as_columns: return this->ld();
      case one_below_another: return each_rows;
      case alone: break;
    }
    return 0;
  }
  T& operator()(index p, index i, index j) const {
    const auto& whole = static_cast<const Matrix<T>&>(*this);
    switch (form) {
      case side_by_side: return whole(i, p * each_cols + j);
      case as_columns: return whole(i + j * each_rows, p);
      case one_below_another: return whole(p * each_rows + i, j);
      case alone: break;
    }
    return whole(i, j);
  }
  using Matrix<T>::operator();
};

template <class T>
struct GemmBatch : Routine<GemmBatch<T>> {
  static constexpr int ways_to_nothing = 4;
  static constexpr index largest = 20;
  // In groups of products, of which less than one comes home at once; one has to fit.
  static constexpr std::string_view modes = "panels BLASLIFT_MEMORY=10K";
  static constexpr std::string_view fault_memory = "6K", fault_sizes = "5 7";
  static std::string name() { return named<T>("gemm_batch_strided"); }

  char transa, transb;
  Form form_a, form_b, form_c;
  index m, n, k, count;
  T alpha, beta;
  Batch<T> A, B, C;

  /// Large ones share an array with others, in which none is a column.
  static bool is_large(const Draw& draw) { return draw.most() > largest; }
  static Form fit(const Draw& draw, int form) {
    return is_large(draw) && form == as_columns ? side_by_side : Form(form);
  }

  explicit GemmBatch(Draw& draw)
      : transa(draw.letter("NTC")),
        transb(draw.letter("NTC")),
        form_a(fit(draw, draw.below(4))),
        form_b(fit(draw, draw.below(4))),
        form_c(fit(draw, draw.pick(3))),
        m(draw.nothing(0) ? 0 : draw.size()),
        n(draw.size()),
        k(draw.nothing(1) ? 0 : draw.size()),
        count(draw.nothing(3) ? 0 : 1 + draw.below(is_large(draw) ? 2 : 6)),
        alpha(draw.nothing(2) ? T(0) : draw.alpha<T>()),
        beta(draw.beta<T>()),
        A(draw, "A", Role::input, form_a, transa == 'N' ? m : k, transa == 'N' ? k : m, count),
        B(draw, "B", Role::input, form_b, transb == 'N' ? k : n, transb == 'N' ? n : k, count),
        C(draw, "C", Role::output, form_c, m, n, count) {
    const bool multiplies = alpha != T(0) && k > 0 && m > 0 && count > 0;
    A.use([&](index, index) { return multiplies ? read : unused; });
    B.use([&](index, index) { return multiplies ? read : unused; });
    C.use([&](index, index) { return beta == T(0) ? written : beta == T(1) && !multiplies ? unused : updated; });
  }
  std::vector<Operand*> operands() override { return {&A, &B, &C}; }
  std::string describe() const override {
    return text(name(), "%c%c m=%ld n=%ld k=%ld batch=%ld forms %d%d%d beta=%.2g", transa, transb, long(m), long(n),
                long(k), long(count), int(form_a), int(form_b), int(form_c), double(std::real(beta)));
  }

  void make() override {
    if (this->via == Via::fortran)
      fortran(name(), transa, transb, m, n, k, &alpha, A.data(), A.leading(), A.stride(), B.data(), B.leading(),
              B.stride(), &beta, C.data(), C.leading(), C.stride(), count);
    else if (this->via == Via::column_major)
      cblas(name(), this->via, op_code(transa), op_code(transb), m, n, k, scalar(alpha), A.data(), A.leading(),
            A.stride(), B.data(), B.leading(), B.stride(), scalar(beta), C.data(), C.leading(), C.stride(), count);
    else  // the same storage is the transposed products'
      cblas(name(), this->via, op_code(transb), op_code(transa), n, m, k, scalar(alpha), B.data(), B.leading(),
            B.stride(), A.data(), A.leading(), A.stride(), scalar(beta), C.data(), C.leading(), C.stride(), count);
  }

  static Wide<T> op(const Batch<T>& X, char trans, index p, index i, index j) {
    const Wide<T> x = widen(trans == 'N' ? X(p, i, j) : X(p, j, i));
    return trans == 'C' ? promises::conjugate<T>(x) : x;
  }
  void judge(const GemmBatch& was, Judge& judge) const {
    for (index p = 0; p < count; ++p)
      for (index j = 0; j < n; ++j)
        for (index i = 0; i < m; ++i) {
          if (alpha == T(0) && beta == T(1)) continue;
          Sum<T> product, sum;
          for (index l = 0; l < k && alpha != T(0); ++l)
            product.add(op(was.A, transa, p, i, l), op(was.B, transb, p, l, j));
          sum = {widen(alpha) * product.value, promises::size_of(widen(alpha)) * product.size};
          if (alpha == T(0)) sum = {};
          if (beta != T(0)) sum.add(widen(beta), widen(was.C(p, i, j)));
          judge.near(C, p, i + j * m, C(p, i, j), sum.value, unit<T>(k) * sum.size);
        }
  }

  bool mistake(int argument) override {
    switch (argument) {
      case 0: return transa = 'X', true;
      case 1: return transb = 'X', true;
      case 2: return m = -1, true;
      case 3: return n = -2000000000, true;
      case 4: return k = -1, true;
      case 5: return A.wrong = A.each_rows - 1, true;
      case 6: return B.wrong = B.each_rows - 1, true;
      case 7: return C.wrong = m - 1, true;
      case 8: return count = -1, true;
      case 9: return m = 0, C.wrong = 0, true;
      default: return false;
    }
  }
};

JOIN(gemm_batch_strided, GemmBatch<float>, GemmBatch<double>, GemmBatch<std::complex<float>>,
     GemmBatch<std::complex<double>>);

}  // namespace
}  // namespace suite
