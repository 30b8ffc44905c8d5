// C := alpha op(A) op(B) + beta C, many times: of matrices that lie in fixed distances (gemm_batch_strided), and in
// groups of matrices that lie anywhere (gemm_batch).
#include "tests/promises/suite/suite.hpp"

namespace suite {
namespace {

/// Slanting ones are side by side, each a row lower than the one before it: no one matrix.
enum Form { side_by_side, as_columns, one_below_another, slanting, alone, tiles, pieces };

/// The matrices of a batch, as one matrix in memory.
template <class T>
struct Batch : Matrix<T> {
  Batch(Draw& draw, std::string_view operand, Role as, Form lies, index of_rows, index of_cols, index count)
      : Matrix<T>(draw, operand, as,
                  lies == as_columns          ? of_rows * of_cols
                  : lies == one_below_another ? of_rows * count
                  : lies == tiles             ? 2 * of_rows
                  : lies == slanting          ? of_rows + std::max<index>(0, count - 1)
                                              : of_rows,
                  lies == side_by_side || lies == slanting ? of_cols * count
                  : lies == as_columns                     ? count
                  : lies == tiles                          ? of_cols * ((count + 1) / 2)
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
      case slanting: return each_cols * this->ld() + 1;
      case as_columns: return this->ld();
      case one_below_another: return each_rows;
      default: return 0;
    }
  }
  T& operator()(index p, index i, index j) const {
    const auto& whole = static_cast<const Matrix<T>&>(*this);
    switch (form) {
      case side_by_side: return whole(i, p * each_cols + j);
      case slanting: return whole(p + i, p * each_cols + j);
      case as_columns: return whole(i + j * each_rows, p);
      case one_below_another: return whole(p * each_rows + i, j);
      case tiles: return whole(p % 2 * each_rows + i, p / 2 * each_cols + j);
      default: return whole(i, j);
    }
  }
  using Matrix<T>::operator();
  /// Of all its elements; what lies between them is nobody's.
  void use(Use all, index count) {
    Matrix<T>::use([&](index i, index j) {
      const index p = form == tiles      ? j / each_cols * 2 + i / each_rows
                      : form == slanting ? j / each_cols
                                         : 0,
                  row = form == slanting ? i - p : 0;
      return p < count && row >= 0 && row < each_rows ? all : unused;
    });
  }
};

template <class T, class Matrices>
Wide<T> op(const Matrices& X, char trans, index p, index i, index j) {
  const Wide<T> x = widen(trans == 'N' ? X(p, i, j) : X(p, j, i));
  return trans == 'C' ? promises::conjugate<T>(x) : x;
}

/// @param of  the results, for messages
template <class T, class Products>
void judge_products(const Products& was, const Products& is, const Operand& of, Judge& judge) {
  const T alpha = is.alpha, beta = is.beta;
  for (index p = 0; p < is.count; ++p)
    for (index j = 0; j < is.n; ++j)
      for (index i = 0; i < is.m; ++i) {
        if (alpha == T(0) && beta == T(1)) continue;
        Sum<T> product, sum;
        for (index l = 0; l < is.k && alpha != T(0); ++l)
          product.add(op<T>(was.A, is.transa, p, i, l), op<T>(was.B, is.transb, p, l, j));
        sum = {widen(alpha) * product.value, promises::size_of(widen(alpha)) * product.size};
        if (alpha == T(0)) sum = {};
        if (beta != T(0)) sum.add(widen(beta), widen(was.C(p, i, j)));
        judge.near(of, p, i + j * is.m, is.C(p, i, j), sum.value, unit<T>(is.k) * sum.size);
      }
}

template <class T>
struct GemmBatch : Routine<GemmBatch<T>> {
  static constexpr int ways_to_nothing = 4;
  static constexpr index largest = 20;
  static constexpr bool dealt = true;
  // In groups of products, of which less than one comes home at once; one has to fit.
  static constexpr std::string_view modes = "systolic BLASLIFT_BATCH=systolic;panels BLASLIFT_MEMORY=10K";
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
        form_a(fit(draw, draw.below(5))),
        form_b(fit(draw, draw.below(5))),
        form_c(fit(draw, draw.pick(4))),
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
    A.use(multiplies ? read : unused, count);
    B.use(multiplies ? read : unused, count);
    C.use(beta == T(0) ? written : beta == T(1) && !multiplies ? unused : updated, count);
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

  void judge(const GemmBatch& was, Judge& judge) const { judge_products<T>(was, *this, C, judge); }

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

/// A matrix by itself.
template <class T>
struct Piece : Operand {
  Piece(Draw& draw, std::string_view operand, Role as, index rows, index cols, index ld)
      : Operand(draw, operand, as, sizeof(T), sizeof(Real<T>), rows, cols, ld) {}
};

/// The matrices of one kind of a group: one matrix in memory, tiles of one, or each by itself.
template <class T>
class Kind {
 public:
  Kind(Draw& draw, std::string_view operand, Role as, Form lies, index rows, index cols, index count)
      : form_(lies), rows_(rows), count_(count) {
    if (form_ != pieces) {
      whole_.emplace_back(draw, operand, as, form_, rows, cols, count);
      return;
    }
    const index ld = std::max<index>(1, rows) + draw.gap();
    for (index p = 0; p < count; ++p) apart_.emplace_back(draw, operand, as, rows, cols, ld);
  }
  void use(Use all) {
    for (Piece<T>& x : apart_) x.use([=](index, index) { return all; });
    for (Batch<T>& x : whole_) x.use(all, count_);
  }
  void list(std::vector<Operand*>& all) {
    for (Batch<T>& x : whole_) all.push_back(&x);
    for (Piece<T>& x : apart_) all.push_back(&x);
  }
  T& operator()(index p, index i, index j) const {
    return form_ == pieces ? *reinterpret_cast<T*>(apart_[static_cast<std::size_t>(p)].at(i, j)) : whole_[0](p, i, j);
  }
  T* data(index p) const { return &(*this)(p, 0, 0); }
  index leading() const {
    if (wrong) return *wrong;
    return form_ != pieces ? whole_[0].leading() : apart_.empty() ? std::max<index>(1, rows_) : apart_[0].ld();
  }
  std::optional<index> wrong;

 private:
  Form form_;
  index rows_, count_;
  std::vector<Batch<T>> whole_;
  std::vector<Piece<T>> apart_;
};

template <class T>
struct Group {
  char transa, transb;
  index m, n, k, count;
  T alpha, beta;
  Kind<T> A, B, C;

  static bool is_large(const Draw& draw) { return draw.most() > GemmBatch<T>::largest; }
  static Form form(Draw& draw) {
    const Form drawn =
        std::array{side_by_side, pieces, as_columns, tiles, slanting, one_below_another}[std::size_t(draw.pick(6))];
    return is_large(draw) && drawn == as_columns ? pieces : drawn;
  }

  /// @param idle  it multiplies nothing
  Group(Draw& draw, index most, bool idle)
      : transa(draw.letter("NTC")),
        transb(draw.letter("NTC")),
        m(draw.nothing(0) ? 0 : draw.size()),
        n(draw.size()),
        k(draw.nothing(1) ? 0 : draw.size()),
        count(draw.nothing(3) ? 0 : 1 + draw.below(int(most))),
        alpha(idle || draw.nothing(2) ? T(0) : draw.alpha<T>()),
        beta(draw.beta<T>()),
        A(draw, "A", Role::input, draw.below(3) ? form(draw) : alone, transa == 'N' ? m : k, transa == 'N' ? k : m,
          count),
        B(draw, "B", Role::input, draw.below(3) ? form(draw) : alone, transb == 'N' ? k : n, transb == 'N' ? n : k,
          count),
        C(draw, "C", Role::output, form(draw), m, n, count) {
    const bool multiplies = alpha != T(0) && k > 0 && m > 0 && count > 0;
    A.use(multiplies ? read : unused);
    B.use(multiplies ? read : unused);
    C.use(beta == T(0) ? written : beta == T(1) && !multiplies ? unused : updated);
  }
};

template <class T>
struct GemmGroups : Routine<GemmGroups<T>> {
  static constexpr int ways_to_nothing = 5;
  static constexpr index largest = GemmBatch<T>::largest;
  static constexpr std::string_view modes = "systolic BLASLIFT_BATCH=systolic;panels BLASLIFT_MEMORY=10K";
  static constexpr std::string_view fault_memory = "6K", fault_sizes = "5 7";
  static std::string name() { return named<T>("gemm_batch"); }

  std::vector<Group<T>> groups;
  std::optional<index> wrong_count;

  explicit GemmGroups(Draw& draw) {
    const bool large = Group<T>::is_large(draw);
    const int count = draw.nothing(4) ? 0 : 1 + draw.pick(2) + (large ? 0 : draw.below(2));
    // One of several, where nobody asks what has moved.
    const int idle = draw.most() == 2 * largest && count > 1 ? draw.below(count + 1) : -1;
    for (int i = 0; i < count; ++i) groups.emplace_back(draw, large ? 3 - count : i == 0 ? 6 : 3, i == idle);
  }
  /// Outputs last.
  std::vector<Operand*> operands() override {
    std::vector<Operand*> all;
    for (Group<T>& x : groups) x.A.list(all), x.B.list(all);
    for (Group<T>& x : groups) x.C.list(all);
    return all;
  }
  std::string describe() const override {
    std::string all = name();
    for (const Group<T>& x : groups)
      all += text("", "%c%c m=%ld n=%ld k=%ld batch=%ld beta=%.2g;", x.transa, x.transb, long(x.m), long(x.n),
                  long(x.k), long(x.count), double(std::real(x.beta)));
    return all;
  }

  void make() override {
    std::string letters_a, letters_b;
    std::vector<int> codes_a, codes_b;
    Sizes m, n, k, lda, ldb, ldc, counts;
    std::vector<T> alpha, beta;
    std::vector<const T*> A, B;
    std::vector<T*> C;
    for (const Group<T>& x : groups) {
      letters_a += x.transa, letters_b += x.transb;
      codes_a.push_back(op_code(x.transa)), codes_b.push_back(op_code(x.transb));
      m.add(x.m), n.add(x.n), k.add(x.k), lda.add(x.A.leading()), ldb.add(x.B.leading()), ldc.add(x.C.leading());
      counts.add(x.count);
      alpha.push_back(x.alpha), beta.push_back(x.beta);
      for (index p = 0; p < x.count; ++p) A.push_back(x.A.data(p)), B.push_back(x.B.data(p)), C.push_back(x.C.data(p));
    }
    const index count = wrong_count.value_or(index(groups.size()));
    if (this->via == Via::fortran)
      fortran(name(), letters_a.data(), letters_b.data(), m.at(), n.at(), k.at(), alpha.data(), A.data(), lda.at(),
              B.data(), ldb.at(), beta.data(), C.data(), ldc.at(), count, counts.at());
    else if (this->via == Via::column_major)
      cblas(name(), this->via, codes_a.data(), codes_b.data(), m.at(), n.at(), k.at(), alpha.data(), A.data(), lda.at(),
            B.data(), ldb.at(), beta.data(), C.data(), ldc.at(), count, counts.at());
    else  // the same storage is the transposed products'
      cblas(name(), this->via, codes_b.data(), codes_a.data(), n.at(), m.at(), k.at(), alpha.data(), B.data(), ldb.at(),
            A.data(), lda.at(), beta.data(), C.data(), ldc.at(), count, counts.at());
  }

  void judge(const GemmGroups& was, Judge& judge) const {
    auto all = const_cast<GemmGroups&>(*this).operands();
    for (std::size_t i = 0; i < groups.size(); ++i) judge_products<T>(was.groups[i], groups[i], *all.back(), judge);
  }

  bool mistake(int argument) override {
    Group<T>& x = groups.back();
    switch (argument) {
      case 0: return x.transa = 'X', true;
      case 1: return x.transb = 'X', true;
      case 2: return x.m = -1, true;
      case 3: return x.n = -2000000000, true;
      case 4: return x.k = -1, true;
      case 5: return x.A.wrong = (x.transa == 'N' ? x.m : x.k) - 1, true;
      case 6: return x.B.wrong = (x.transb == 'N' ? x.k : x.n) - 1, true;
      case 7: return x.C.wrong = x.m - 1, true;
      case 8: return x.count = -1, true;
      case 9: return x.m = 0, x.C.wrong = 0, true;
      case 10: return wrong_count = -1, true;
      default: return false;
    }
  }

 private:
  /// Integers of the interface.
  class Sizes {
   public:
    void add(index x) { wide_.push_back(x), narrow_.push_back(static_cast<std::int32_t>(x)); }
    const void* at() const { return wide_integers() ? static_cast<const void*>(wide_.data()) : narrow_.data(); }

   private:
    std::vector<index> wide_;
    std::vector<std::int32_t> narrow_;
  };
};

JOIN(gemm_batch, GemmGroups<float>, GemmGroups<double>, GemmGroups<std::complex<float>>,
     GemmGroups<std::complex<double>>);
JOIN(gemm_batch_strided, GemmBatch<float>, GemmBatch<double>, GemmBatch<std::complex<float>>,
     GemmBatch<std::complex<double>>);

}  // namespace
}  // namespace suite
