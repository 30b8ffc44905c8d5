#include "impl/svd/gesdd_plan.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "impl/qr/panel_qr.hpp"

namespace blaslift {
namespace {

// Matrices of A's size beside A and the vectors, where A is square (kernels/polar_svd.hpp): five that a decomposition
// works in; four of a second stage with nearly as large a matrix, which few have; and what the device's library needs
// for an eigenproblem, a bit more than four (syevd_plan.cpp), with a systems' workspace.  A third stage as large as
// that may find no room, and so does a second one above the order at which the library's QR ends.
constexpr double working_matrices = 13.5;

/// Columns of the vectors that reflectors are applied to at a time, and of A that arrive so.
constexpr index columns_of_piece = 8 * panel_qr_columns;

double elements(index rows, index cols) { return static_cast<double>(rows) * static_cast<double>(cols); }

class Planner {
 public:
  Planner(const SvdShape& shape, Precision precision, bool a_in_place, bool u_in_place, bool vt_in_place,
          bool s_in_place)
      : shape_(shape), precision_(precision), wide_(shape.m < shape.n), held_(a_in_place) {
    const index values = elements_of_reals(shape.count(), precision);
    plan.operands = {{"A", shape.m, shape.n, shape.replaced()},
                     {"U", shape.cols_of_u() > 0 ? shape.m : 0, shape.cols_of_u(), shape.cols_of_u() > 0},
                     {"VT", shape.rows_of_vt(), shape.rows_of_vt() > 0 ? shape.n : 0, shape.rows_of_vt() > 0},
                     {"s", values, 1, true, true},
                     {"failed", 1, 1, true, true}};
    const bool in_place[] = {a_in_place, u_in_place, vt_in_place, s_in_place, false};
    for (const int x : {operand_a, operand_u, operand_vt, operand_s, operand_failed})
      if (operand(x).rows > 0)
        of_[x] = {in_place[x] ? plan.add_own_area(x) : plan.add_area(operand(x).name, operand(x).rows, operand(x).cols),
                  x};
  }

  /// One operation takes all of it.
  void decompose_whole() {
    plan.upload(of_[operand_a], all_of(operand_a));
    std::vector<Plan::Access> accesses{shape_.replaced() ? Plan::update(of_[operand_a], all_of(operand_a))
                                                         : Plan::read(of_[operand_a], all_of(operand_a))};
    for (const int x : {operand_u, operand_vt, operand_s, operand_failed})
      if (operand(x).rows > 0) accesses.push_back(Plan::written(of_[x], all_of(x)));
    plan.compute(operation(shape_), std::move(accesses), Scalar::one);
    for (const int x : {operand_a, operand_u, operand_vt, operand_s, operand_failed})
      if (operand(x).result && operand(x).rows > 0) plan.download(of_[x], all_of(x));
  }

  /// A's QR, or its adjoint's where A is wide, and the decomposition of R, or of its adjoint: one side's vectors are
  /// that's own, and the other's are Q's products with them.
  void decompose_triangle() {
    const index k = shape_.count(), rows = std::max(shape_.m, shape_.n),
                of_long = wide_ ? shape_.vt_rows : shape_.u_cols, of_short = wide_ ? shape_.u_cols : shape_.vt_rows;
    const Block triangle{0, 0, k, k};
    bring(rows, k);
    const Plan::Origin tau = own("tau", k, 1);
    qr_ = PanelQr(plan, precision_, c_, rows, k, tau, std::max(std::min(k, columns_of_piece), of_long));
    qr_.for_each_panel([&](index col, index cols) {
      qr_.make_reflectors(plan, col, cols, false);
      for (index to = col + cols; to < k; to += columns_of_piece)
        qr_.reflect(plan, Op::conjugate, col, cols, c_, to, std::min(columns_of_piece, k - to));
    });
    const Plan::Origin r = own("R", k, k);
    set_to_zero(r, triangle, k);
    assign(c_, triangle, r, triangle, wide_, Part::upper);

    // The long side's vectors begin as those of the triangle, above zeros, or an identity if all are asked for.
    const bool long_is_own = !wide_ && !shape_.u_in_a, short_is_own = !(wide_ ? shape_.u_in_a : shape_.vt_in_a);
    Plan::Origin x{}, of_triangle{}, shorter{};
    if (of_long > 0) {
      x = long_is_own ? of_[operand_u] : own("X", rows, of_long);
      of_triangle = wide_ ? own("Y", k, k) : x;
    }
    if (of_short > 0) shorter = short_is_own ? of_[wide_ ? operand_u : operand_vt] : own("Y", k, k);
    std::vector<Plan::Access> accesses{Plan::read(r, triangle)};
    const Plan::Origin &u = wide_ ? shorter : of_triangle, &vt = wide_ ? of_triangle : shorter;
    if (shape_.u_cols > 0) accesses.push_back(Plan::written(u, triangle));
    if (shape_.vt_rows > 0) accesses.push_back(Plan::written(vt, triangle));
    for (const int beside : {operand_s, operand_failed}) accesses.push_back(Plan::written(of_[beside], all_of(beside)));
    plan.compute(operation({k, k, shape_.u_cols > 0 ? k : 0, shape_.vt_rows > 0 ? k : 0, false, false}),
                 std::move(accesses), Scalar::one);
    for (const int beside : {operand_s, operand_failed}) plan.download(of_[beside], all_of(beside));
    if (of_short > 0 && short_is_own) plan.download(shorter, triangle);
    if (of_long > 0) {
      if (wide_) assign(of_triangle, triangle, x, triangle, true);
      if (rows > k) set_to_zero(x, {k, 0, rows - k, of_long}, k);
      if (of_long > k) set_to_zero(x, {0, k, k, of_long - k}, -k);
      multiply_by_q(x, rows, of_long, long_is_own);
    }
    if (of_short > 0 && !short_is_own) assign(shorter, triangle, of_[operand_a], triangle, false);
    if (of_long > 0 && !long_is_own) {
      const int to = (wide_ ? shape_.vt_in_a : shape_.u_in_a) ? operand_a : operand_vt;
      const Block there{0, 0, rows, of_long};
      assign(x, there, of_[to], wide_ ? Block{0, 0, of_long, rows} : there, wide_);
      if (to == operand_vt) plan.download(of_[to], all_of(to));
    }
    if (shape_.replaced()) plan.download(of_[operand_a], all_of(operand_a));
  }

  Plan plan;

 private:
  enum { operand_a, operand_u, operand_vt, operand_s, operand_failed, nobodys = -1 };

  const Plan::Operand& operand(int x) const { return plan.operands[static_cast<std::size_t>(x)]; }
  Block all_of(int x) const { return {0, 0, operand(x).rows, operand(x).cols}; }
  Plan::Origin own(const char* name, index rows, index cols) { return {plan.add_area(name, rows, cols), nobodys}; }
  Svd operation(const SvdShape& of) const {
    return {.precision = precision_,
            .m = of.m,
            .n = of.n,
            .u_cols = of.u_cols,
            .vt_rows = of.vt_rows,
            .u_in_a = of.u_in_a,
            .vt_in_a = of.vt_in_a,
            .A = nullptr,
            .lda = 0,
            .U = nullptr,
            .ldu = 0,
            .VT = nullptr,
            .ldvt = 0,
            .s = nullptr,
            .failed = nullptr};
  }
  /// A block, or its adjoint; of a square one a part.
  void assign(const Plan::Origin& from, const Block& b, const Plan::Origin& to, const Block& there, bool turned,
              Part part = Part::whole) {
    const Assign x =
        turned ? adjoint_assignment(precision_, there.rows, there.cols, part == Part::upper ? Part::lower : part)
               : assignment(precision_, there.rows, there.cols, part);
    plan.compute(x,
                 {Plan::read(from, b, part), part == Part::whole ? Plan::written(to, there) : Plan::update(to, there)},
                 Scalar::one);
  }
  /// But for ones where the column's number is the row's and `below`.
  void set_to_zero(const Plan::Origin& to, const Block& b, index below) {
    Assign zeros = assignment(precision_, b.rows, b.cols);
    zeros.below = below;
    plan.compute(zeros, {Plan::written(to, b)}, Scalar::one);
  }

  /// As what is factored: in A's place, unless that stays as it is.
  void bring(index rows, index k) {
    const Plan::Origin& a = of_[operand_a];
    const bool apart = wide_ || (held_ && !shape_.replaced());
    c_ = apart ? own("C", rows, k) : a;
    if (apart) {
      plan.upload(a, all_of(operand_a));
      return assign(a, all_of(operand_a), c_, {0, 0, rows, k}, wide_);
    }
    for (index col = 0; col < k; col += columns_of_piece)
      plan.upload(a, {0, col, rows, std::min(columns_of_piece, k - col)});
  }

  /// Columns go home as soon as they have all reflectors.
  void multiply_by_q(const Plan::Origin& x, index rows, index count, bool brings_home) {
    qr_.for_each_panel_backwards([&](index col, index cols) {
      qr_.make_reflectors(plan, col, cols, true);
      for (index to = 0; to < count; to += columns_of_piece) {
        const index to_cols = std::min(columns_of_piece, count - to);
        qr_.reflect(plan, Op::none, col, cols, x, to, to_cols);
        if (col == 0 && brings_home) plan.download(x, {0, to, rows, to_cols});
      }
    });
  }

  const SvdShape shape_;
  const Precision precision_;
  const bool wide_, held_;  ///< A has memory of its own
  Plan::Origin of_[5]{}, c_{};
  PanelQr qr_;
};

}  // namespace

bool begins_with_qr(const SvdShape& shape) {
  constexpr double much_longer = 1.6;
  return shape.count() > 0 &&
         static_cast<double>(std::max(shape.m, shape.n)) >= much_longer * static_cast<double>(shape.count());
}

bool svd_fits(const SvdShape& shape, Precision precision, std::size_t memory) {
  const auto [m, n, u_cols, vt_rows, u_in_a, vt_in_a] = shape;
  const double size = static_cast<double>(element_size(precision)), room = static_cast<double>(memory);
  const index shorter = shape.count(), longer = std::max(m, n), made = std::max({shorter, m < n ? vt_rows : u_cols});
  if (begins_with_qr(shape)) {
    // Sizes that integers might not hold are not counted.
    const double least = (elements(m, n) + elements(longer, m < n ? vt_rows : u_cols)) * size,
                 working = working_matrices * elements(shorter, shorter) * size;
    return least + working <= room &&
           static_cast<double>(plan_svd(shape, precision).bytes(element_size(precision))) + working <= room;
  }
  // The device's library numbers elements of its QR by 32 bits.
  if (longer > shorter && shorter > 0 && longer > std::numeric_limits<std::int32_t>::max() / made) return false;
  // All vectors of the longer side are made twice: by the library, and where they are asked for.
  const double whole = u_cols > n ? elements(m, m) : vt_rows > m ? elements(n, n) : 0;
  const double all = elements(m, n) * (1 + working_matrices) + elements(m, shape.cols_of_u()) +
                     elements(shape.rows_of_vt(), n) + whole;
  return all * size <= room;
}

Plan plan_svd(const SvdShape& shape, Precision precision, bool a_in_place, bool u_in_place, bool vt_in_place,
              bool s_in_place) {
  Planner planner(shape, precision, a_in_place, u_in_place, vt_in_place, s_in_place);
  begins_with_qr(shape) ? planner.decompose_triangle() : planner.decompose_whole();
  planner.plan.after = order_of(planner.plan);
  return std::move(planner.plan);
}

}  // namespace blaslift
