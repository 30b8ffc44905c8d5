#include "impl/svd/gesdd.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "impl/core/any_overlap.hpp"
#include "impl/core/library_call.hpp"
#include "impl/core/undestroyed.hpp"
#include "impl/judge/bounds.hpp"
#include "impl/judge/judge.hpp"
#include "impl/qr/panel_qr.hpp"
#include "impl/route/lapack_section.hpp"
#include "impl/route/planned.hpp"
#include "impl/route/route.hpp"
#include "impl/svd/gesdd_plan.hpp"

namespace blaslift {
namespace {

// ---- what the family says of a call; k is the number of U's columns

struct Sizes {
  explicit Sizes(const Problem& p)
      : k(static_cast<double>(std::min(p.m, p.n))),
        longer(static_cast<double>(std::max(p.m, p.n))),
        // Of U and V, in products with which these are brought from the bidiagonal matrix's to A's.
        left(static_cast<double>(p.m) * static_cast<double>(p.k)),
        right(static_cast<double>(p.n) * static_cast<double>(p.right_vectors)) {}
  double k, longer, left, right;
};

/// What the driver does on the CPU (Golub and Van Loan, Matrix Computations, 8.6): the bidiagonal form, where one side
/// is much longer of R alone; that matrix's vectors, by division into halves or by rotations of A's; and products.
template <SvdDriver driver>
void count(Problem& p) {
  constexpr double much_longer = 11.0 / 6;
  const Sizes x(p);
  const double k = x.k, element = static_cast<double>(element_size(p.element)),
               sides = (p.k > 0) + (p.right_vectors > 0);
  p.empty = k == 0;
  p.too_large = std::max(p.m, p.n) >= index{1} << 31;
  double flops = x.longer >= much_longer * k ? 2 * k * k * (x.longer - k / 3) + 8.0 / 3 * k * k * k
                                             : 4 * k * k * (x.longer - k / 3);
  flops += 2 * k * (x.left + x.right);
  if (driver == SvdDriver::gesvd)
    flops += 6 * k * (x.left + x.right);
  else
    flops += 2 * sides * k * k * k;
  p.flops = (is_complex(p.element) ? 4.0 : 1.0) * flops;
  p.volume = 2 * k * k * (x.longer - k / 3);
  p.bytes_in = k * x.longer * element;
  p.bytes_out = (x.left + x.right) * element;
}

std::string text(const Problem& p) {
  return std::string(name_of(p.routine)) + " m=" + std::to_string(p.m) + " n=" + std::to_string(p.n) +
         (p.k > 0 ? " U=" + std::to_string(p.k) : std::string()) +
         (p.right_vectors > 0 ? " VT=" + std::to_string(p.right_vectors) : std::string());
}

/// Half of the bidiagonal form is products of the matrix with vectors, which wait for memory; other steps are short.
/// LAPACK's gesdd with vectors takes 16 cores 310, 1,700 and 3,300 ms of order 1,000, 2,000 and 3,000.
double cpu_rate(const Problem& p, const Profile& profile) { return cpu_rate_of_products(p, profile) / 8; }

/// What the device computes of a matrix that one operation takes.  On an H200, FP64, with
/// vectors: 9.1, 17.8, 43.7, 89.9 and 168 ms of order 512, 1,024, 2,048, 3,000 and 4,096; half of it and more is the
/// eigenproblem.  Those of one side take as long, and so does, nearly, none.
double seconds_of_svd(const Profile& profile, Precision precision, double k, double longer) {
  constexpr double begin = 4e-3, column = 8e-6, part = 4.5e-9, products = 40;
  const double flops = (is_complex(precision) ? 4.0 : 1.0) * products * k * k * longer,
               estimated =
                   begin + column * k + part * k * longer + flops / profile.gemm_rate[static_cast<int>(precision)];
  return measured_seconds(profile, LapackWork::gesdd, precision, std::cbrt(k * k * longer)).value_or(estimated);
}

/// Panels, the triangle's decomposition, and the panels' reflectors once more where they are applied to vectors; of a
/// wide matrix passes that transpose it, and its vectors.
double seconds_through_qr(const Problem& p, const Profile& profile) {
  constexpr double passes = 2;
  const Sizes x(p);
  const double vectors = static_cast<double>(p.m < p.n ? p.right_vectors : p.k), factor = is_complex(p.element) ? 4 : 1,
               flops = factor * (2 * x.k * x.k * (x.longer - x.k / 3) + 4 * x.k * x.longer * vectors),
               bytes = x.longer * (x.k + vectors) * static_cast<double>(element_size(p.element));
  return seconds_of_panels(profile, p.precision(), x.longer, x.k, flops, vectors > 0 ? 2 : 1) +
         seconds_of_svd(profile, p.precision(), x.k, x.k) + (p.m < p.n ? passes * bytes / profile.pass_rate : 0);
}

Cost cost(const Problem& p, const Facts& facts, const Policy&, double spared) {
  const Profile& profile = *facts.profile;
  const Sizes x(p);
  const double computing = begins_with_qr({p.m, p.n, p.k, p.right_vectors, false, false})
                               ? seconds_through_qr(p, profile)
                               : seconds_of_svd(profile, p.precision(), x.k, x.longer);
  return {.seconds = profile.latency_seconds + computing + seconds_in(p, facts, spared) + seconds_out(p, facts)};
}

// ---- on the device

/// Of such calls, in this process, by driver: their CPU times differ by more than sizes.
constinit Undestroyed<Learned> known[2];

enum { operand_a, operand_u, operand_vt, operand_s };

template <class T>
Stored stored_u(const SvdArgs<T>& x) {
  const index cols = x.shape().cols_of_u();
  return {x.U, cols > 0 ? x.m : 0, cols, std::max<index>(1, x.ldu), sizeof(T)};
}
template <class T>
Stored stored_vt(const SvdArgs<T>& x) {
  const index rows = x.shape().rows_of_vt();
  return {x.VT, rows, rows > 0 ? x.n : 0, std::max<index>(1, x.ldvt), sizeof(T)};
}
template <class T>
Stored stored_s(const SvdArgs<T>& x) {
  return {x.s, x.count(), 1, std::max<index>(1, x.count()), sizeof(Real<T>)};
}

template <class T>
bool overlaps(const SvdArgs<T>& x) {
  return any_overlap({{x.A, x.m, x.n, x.lda, sizeof(T)}, stored_u(x), stored_vt(x), stored_s(x)});
}

template <class T>
Problem problem_of(Routine routine, const SvdArgs<T>& x) {
  const SvdShape shape = x.shape();
  return counted({.routine = routine,
                  .element = precision_of<T>,
                  .m = x.m,
                  .n = x.n,
                  .k = shape.u_cols,
                  .overlaps = overlaps(x),
                  .right_vectors = shape.vt_rows});
}

/// A is of no use to later calls that LAPACK says is destroyed, though the device leaves it as it was.
template <class T>
Operands operands_of(Place& place, const SvdArgs<T>& x, bool ephemeral) {
  const SvdShape shape = x.shape();
  return Operands(
      place,
      {{.stored = {x.A, x.m, x.n, x.lda, sizeof(T)}, .writes = shape.replaced(), .reads = true, .destroyed = true},
       {.stored = stored_u(x), .writes = shape.cols_of_u() > 0},
       {.stored = stored_vt(x), .writes = shape.rows_of_vt() > 0},
       {.stored = stored_s(x), .writes = true, .vector = true}},
      ephemeral);
}

/// On the device.  If that does not come to an end, or to no result, what is in the host's memory is what it was.
template <class T>
Ending compute(Place& place, const Site& site, Backend& backend, const Problem& problem, const SvdArgs<T>& args,
               Operands& operands, const Decision& decision) {
  operands.locate(backend);
  const SvdShape shape = args.shape();
  bool any_there = false;
  for (const int x : {operand_a, operand_u, operand_vt, operand_s})
    any_there = any_there || operands[static_cast<std::size_t>(x)].out_of_reach();
  const bool s_there = operands[operand_s].out_of_reach();
  if (!any_there && !svd_fits(shape, precision_of<T>, place.arena.limit())) return {Reason::no_room};
  const index count = elements_of_reals(shape.count(), precision_of<T>);
  std::vector<T> values(s_there ? 0 : static_cast<std::size_t>(count)), failed(1);
  PlannedCall<T> planned(place, site, backend, problem, operands, {});
  planned.in_plan = 3;
  planned.own = {{values.data(), count}, {failed.data(), 1}};
  if (s_there) planned.own[0].placed = {.device = args.s, .ld = count, .in_place = true};
  bool none = false;
  planned.sound = [&] {
    none = failed[0] != T(0);
    return !none || any_there;
  };
  const auto make_plan = [&](const std::vector<Placed>& at) {
    return plan_svd(shape, precision_of<T>, at[operand_a].device != nullptr,
                    shape.cols_of_u() > 0 && at[operand_u].device != nullptr,
                    shape.rows_of_vt() > 0 && at[operand_vt].device != nullptr, s_there);
  };
  Ending ending = planned.compute(decision, false, make_plan, [](index, index) {});
  if (ending.computed && !s_there) std::copy_n(reinterpret_cast<const Real<T>*>(values.data()), shape.count(), args.s);
  if (none && !ending.computed) ending.reason = Reason::not_converged;
  ending.info = none;
  return ending;
}

// ---- what a correct result is

using namespace judging;

constexpr double threshold = 50;

template <class T>
long double epsilon() {
  return std::numeric_limits<Real<T>>::epsilon();
}

template <class T>
constexpr Op adjoint = complex_type<T> ? Op::conjugate : Op::transpose;

/// What is off among the values, in units of the largest one's roundings.
template <class T>
double off_values(const SvdArgs<T>& before, const Real<T>* result, const Real<T>* reference) {
  double size = 0, off = 0;
  for (index i = 0; i < before.count(); ++i) {
    if (!is_finite(reference[i])) return 0;
    size = std::max(size, static_cast<double>(reference[i]));
    off = std::max(off, std::fabs(static_cast<double>(result[i]) - static_cast<double>(reference[i])));
  }
  const double unit = static_cast<double>(before.longer()) * static_cast<double>(epsilon<T>()) * size;
  return off > 0 ? off / std::max(static_cast<double>(std::numeric_limits<Real<T>>::min()), unit) : 0;
}

/// X^H X - diag, 1-norm.
template <class T, class Diagonal>
long double off_diagonal(const Site& gemm, Packed<T>& x, index cols, const Diagonal& diagonal) {
  Packed<T> gram(cols, cols);
  for_each_of(cols, cols, [&](index i, index j) { gram(i, j) = i == j ? T(-diagonal(i)) : T(0); });
  const T one(1);
  call_product(gemm, {precision_of<T>, adjoint<T>, Op::none, cols, cols, x.ld, &one, x.at.get(), x.ld, x.at.get(), x.ld,
                      &one, gram.at.get(), cols});
  return one_norm(gram, cols);
}

template <class T>
double off_unitary(const Site& gemm, Packed<T>& x, index cols) {
  return static_cast<double>(off_diagonal(gemm, x, cols, [](index) { return Real<T>(1); }) /
                             (static_cast<long double>(x.ld) * epsilon<T>()));
}

/// LAPACK's own test ratios (dbdt01, dort01), with its threshold (svd.in).  With singular vectors of both sides the
/// largest of |A - U diag(s) V^H| / (max(m, n) eps |A|), |I - U^H U| / (m eps) and |I - V^H V| / (n eps), 1-norms; with
/// those of one side |U^H A A^H U - diag(s)^2| / (max(m, n) eps s_1^2), or the same of A^H and V, in place of the first
/// one.  If not all of these are there, the largest |s - reference| / (max(m, n) eps s_1), too.
template <class T>
Judgement judge(const JudgingLibrary& by, const SvdArgs<T>& before, const SvdArgs<T>& result,
                const SvdArgs<T>& reference, const Ending& ending) {
  const SvdShape shape = before.shape();
  const auto [m, n, u_cols, vt_rows, u_in_a, vt_in_a] = shape;
  const index k = shape.count();
  Judgement judgement{0, threshold};
  if (k == 0 || ending.info != 0) return judgement;
  Packed<T> A(m, n), U(m, u_cols), V(n, vt_rows);
  bool finite = true;
  for_each_of(m, n, [&](index i, index j) {
    A(i, j) = before.A[i + j * before.lda];
    finite = finite && is_finite(A(i, j));
  });
  if (!finite) return judgement;  // whatever a library makes of it
  const T *const u = u_in_a ? result.A : result.U, *const vt = vt_in_a ? result.A : result.VT;
  const index ldu = u_in_a ? result.lda : result.ldu, ldvt = vt_in_a ? result.lda : result.ldvt;
  for_each_of(m, u_cols, [&](index i, index j) { finite = finite && is_finite(U(i, j) = u[i + j * ldu]); });
  for_each_of(n, vt_rows, [&](index i, index j) {
    const T x = vt[j + i * ldvt];
    finite = finite && is_finite(x);
    if constexpr (complex_type<T>)
      V(i, j) = std::conj(x);
    else
      V(i, j) = x;
  });
  for (index i = 0; i < k; ++i)
    finite = finite && is_finite(result.s[i]) && result.s[i] >= 0 && (i == 0 || result.s[i - 1] >= result.s[i]);
  if (!finite) return judgement.ratio = HUGE_VAL, judgement;
  if (!shape.both_sides()) judgement.ratio = off_values(before, result.s, reference.s);
  const long double size = one_norm(A, n), unit = static_cast<long double>(before.longer()) * epsilon<T>(),
                    largest =
                        std::numeric_limits<Real<T>>::max() / (16 * static_cast<long double>(before.longer() + 1));
  if (!(size < largest)) return judgement;  // what is computed on the way may overflow
  const Site& gemm = *by.beside[0];
  if (u_cols > 0) judgement.ratio = std::max(judgement.ratio, off_unitary(gemm, U, u_cols));
  if (vt_rows > 0) judgement.ratio = std::max(judgement.ratio, off_unitary(gemm, V, vt_rows));
  const T one(1), zero(0);
  if (shape.both_sides()) {
    for_each_of(m, k, [&](index i, index j) { U(i, j) *= T(-result.s[j]); });
    call_product(gemm, {precision_of<T>, Op::none, adjoint<T>, m, n, k, &one, U.at.get(), m, V.at.get(), n, &one,
                        A.at.get(), m});
    const long double off = one_norm(A, n);
    // Where the matrix is about to vanish, roundings are not what eps says.
    if (off > static_cast<long double>(std::numeric_limits<Real<T>>::min()) *
                  static_cast<long double>(before.longer() * (k + 2)))
      judgement.ratio = std::max(judgement.ratio, static_cast<double>(off / (unit * size)));
  } else if (shape.vectors()) {
    // Where squares can be told from zero and are numbers.
    const long double value = result.s[0], squared = value * value;
    if (!(size * size < largest) || !(squared * epsilon<T>() * epsilon<T>() > std::numeric_limits<Real<T>>::min()))
      return judgement;
    const bool left = u_cols > 0;
    Packed<T> product(left ? n : m, k);
    call_product(
        gemm, {precision_of<T>, left ? adjoint<T> : Op::none, Op::none, product.ld, k, left ? m : n, &one, A.at.get(),
               m, left ? U.at.get() : V.at.get(), left ? m : n, &zero, product.at.get(), product.ld});
    const long double off = off_diagonal(gemm, product, k, [&](index i) { return result.s[i] * result.s[i]; });
    judgement.ratio = std::max(judgement.ratio, static_cast<double>(off / (unit * squared)));
  }
  return judgement;
}

}  // namespace

constinit const Family gesdd_family{
    .count = count<SvdDriver::gesdd>, .text = text, .cpu_rate = cpu_rate, .cost = cost, .needs = Operation::Kind::svd};
constinit const Family gesvd_family{
    .count = count<SvdDriver::gesvd>, .text = text, .cpu_rate = cpu_rate, .cost = cost, .needs = Operation::Kind::svd};

template <class T>
Computed svd(const Site& site, const SvdArgs<T>* args, Replay replay) {
  return take_route(site, args, replay,
                    {.learned = [](const SvdArgs<T>& x) -> Learned& { return known[static_cast<int>(x.driver)].value; },
                     .problem = problem_of<T>,
                     .operands = operands_of<T>,
                     .compute = compute<T>,
                     .judging = {.judge = judge<T>, .with = judged_with_products<T>, .alone = [](const SvdArgs<T>& x) {
                                   return x.shape().both_sides();
                                 }}});
}

#define GESDD(name, type) template Computed svd(const Site&, const SvdArgs<type>*, Replay);
#include "api/routines.def"

}  // namespace blaslift
