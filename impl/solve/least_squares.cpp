#include "impl/solve/least_squares.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "impl/core/any_overlap.hpp"
#include "impl/core/host_memory.hpp"
#include "impl/core/library_call.hpp"
#include "impl/core/undestroyed.hpp"
#include "impl/judge/bounds.hpp"
#include "impl/judge/judge.hpp"
#include "impl/lu/getrf.hpp"
#include "impl/qr/lq_plan.hpp"
#include "impl/qr/panel_qr.hpp"
#include "impl/route/planned.hpp"
#include "impl/route/route.hpp"
#include "impl/solve/least_squares_plan.hpp"

namespace blaslift {
namespace {

// ---- what the families say of a call; k is the number of right-hand sides

/// What a driver does on the CPU (Golub and Van Loan, Matrix Computations, 5.5): real flops, and how many flops of
/// products take as long.
struct Work {
  double flops, weight;
};

/// A QR takes 16 cores four times as long as products, one with pivoting eight times, the reduction to bidiagonal form
/// twelve; the bidiagonal matrix's iterations are rotations, of A's right vectors, by one of them.  gelsy, gelsd and
/// gelss of 20,000 x 2,000, 20,000 x 2,000 and 20,000 x 500 doubles take 2.5, 1.6 and 0.54 s.
template <LeastSquaresDriver driver>
Work work_of(index m, index n, index nrhs, bool complex) {
  constexpr double of_qr = 4, of_pivoting = 8, of_bidiagonal = 12, of_rotations = 80;
  const double k = static_cast<double>(std::min(m, n)), longer = static_cast<double>(std::max(m, n)),
               factor = complex ? 4 : 1, qr = factor * 2 * k * k * (longer - k / 3),
               others = factor * 4 * static_cast<double>(nrhs) * k * longer, cube = factor * k * k * k;
  constexpr double bidiagonal = 8.0 / 3, rotations = 12;
  switch (driver) {
    case LeastSquaresDriver::gels: return {qr + others, of_qr * qr + others};
    case LeastSquaresDriver::gelsy: return {qr + others, of_pivoting * qr + others};
    case LeastSquaresDriver::gelsd:
      return {qr + others + bidiagonal * cube, of_qr * qr + others + of_bidiagonal * bidiagonal * cube};
    case LeastSquaresDriver::gelss: break;
  }
  return {qr + others + (bidiagonal + rotations) * cube,
          of_qr * qr + others + (of_bidiagonal * bidiagonal + of_rotations * rotations) * cube};
}
template <LeastSquaresDriver driver>
Work work_of(const Problem& p) {
  return work_of<driver>(p.m, p.n, p.k, is_complex(p.element));
}

template <LeastSquaresDriver driver>
void count(Problem& p) {
  const double m = static_cast<double>(p.m), n = static_cast<double>(p.n), nrhs = static_cast<double>(p.k),
               element = static_cast<double>(element_size(p.element));
  p.empty = p.m == 0 || p.n == 0 || p.k == 0;
  p.too_large = std::max(p.m, p.n) >= index{1} << 31;
  p.flops = work_of<driver>(p).flops;
  p.volume = reflectors_volume(m, n, std::min(m, n));
  if (driver == LeastSquaresDriver::gels) {
    p.bytes_in = (m * n + (p.adjoint ? n : m) * nrhs) * element;
    p.bytes_out = (m * n + std::max(m, n) * nrhs) * element;
  } else if (p.m < p.n) {  // R and Q come home
    p.bytes_in = m * n * element;
    p.bytes_out = (m * (m + 1) / 2 + m * n) * element;
  } else {
    p.bytes_in = m * (n + nrhs) * element;
    p.bytes_out = (m * nrhs + n * (n + 1) / 2) * element;
  }
}

std::string text(const Problem& p) {
  return std::string(name_of(p.routine)) + " m=" + std::to_string(p.m) + " n=" + std::to_string(p.n) +
         " nrhs=" + std::to_string(p.k) + (p.adjoint ? " C" : "");
}

template <LeastSquaresDriver driver>
double cpu_rate(const Problem& p, const Profile& profile) {
  const Work work = work_of<driver>(p);
  const double rate = cpu_rate_of_products(p, profile);
  return work.weight > 0 ? rate * work.flops / work.weight : rate;
}

/// Panels and the products with their reflectors one after the other, and then the driver with R on the CPU, for as
/// long as its share of what the whole takes there.  Of more columns than rows there are passes that transpose; Q is
/// multiplied out, and the CPU reads it and multiplies with it: for gelss its singular vectors, too.  gels stays on the
/// device, and the panels' reflectors are made once more where they are applied in the end.
template <LeastSquaresDriver driver>
Cost cost(const Problem& p, const Facts& facts, const Policy& policy, double spared) {
  const Profile& profile = *facts.profile;
  const bool wide = p.m < p.n;
  const index order = std::min(p.m, p.n);
  const double m = static_cast<double>(std::max(p.m, p.n)), n = static_cast<double>(order),
               nrhs = static_cast<double>(p.k), factor = is_complex(p.element) ? 4 : 1,
               qr = factor * 2 * n * n * (m - n / 3), of_b = factor * 4 * m * n * nrhs,
               bytes = m * n * static_cast<double>(element_size(p.element)),
               cpu = policy.fixed ? cpu_rate<driver>(p, profile) : facts.cpu_rate;
  constexpr double passes = 4, reading_rate = 1.2e10;  // bytes/s, of one thread
  const bool full_rank = driver == LeastSquaresDriver::gels, makes_q = wide && !full_rank,
             twice = full_rank ? wide != p.adjoint : makes_q;  // each panel has its reflectors made
  const double computing =
                   seconds_of_panels(profile, p.precision(), m, n, makes_q ? 2 * qr : qr + of_b, twice ? 2 : 1) +
                   (wide ? passes * bytes / profile.pass_rate : 0),
               part = full_rank ? 0
                                : work_of<driver>(order, order, p.k, is_complex(p.element)).weight /
                                      work_of<driver>(p).weight,
               of_vectors = driver == LeastSquaresDriver::gelss ? factor * 2 * n * n * m : 0,
               back = makes_q ? bytes / reading_rate + (of_b / 2 + of_vectors) / cpu_rate_of_products(p, profile) : 0;
  return {.seconds = profile.latency_seconds + seconds_in(p, facts, spared) + computing + seconds_out(p, facts) +
                     part * p.flops / cpu + back};
}

// ---- on the device

/// Of such calls, in this process, by driver.
constinit Undestroyed<Learned> known[4];

enum { operand_a, operand_b, operand_values, operand_rank };

/// gelsy's pivots, or the others' singular values; of gels neither these nor a rank.
template <class T>
Stored stored_values(const LeastSquaresArgs<T>& x) {
  if (x.driver == LeastSquaresDriver::gels) return stored(x.rank, 0);
  if (x.driver == LeastSquaresDriver::gelsy) return stored(x.jpvt, x.n);
  return {x.s, x.count(), 1, std::max<index>(1, x.count()), sizeof(Real<T>)};
}

template <class T>
bool overlaps(const LeastSquaresArgs<T>& x) {
  return any_overlap({{x.A, x.m, x.n, x.lda, sizeof(T)},
                      {x.B, x.longer(), x.nrhs, x.ldb, sizeof(T)},
                      stored_values(x),
                      stored(x.rank, x.driver != LeastSquaresDriver::gels)});
}

template <class T>
Problem problem_of(Routine routine, const LeastSquaresArgs<T>& x) {
  return counted({.routine = routine,
                  .element = precision_of<T>,
                  .m = x.m,
                  .n = x.n,
                  .k = x.nrhs,
                  .overlaps = overlaps(x),
                  .adjoint = x.adjoint});
}

/// A is of no use to later calls that LAPACK says is destroyed, though the device leaves it as it was but for gels. The
/// rest is the CPU's to write, what gelsy and gelss leave in A's first rows among it.
template <class T>
Operands operands_of(Place& place, const LeastSquaresArgs<T>& x, bool ephemeral) {
  if (x.driver == LeastSquaresDriver::gels)
    return Operands(
        place,
        {{.stored = {x.A, x.m, x.n, x.lda, sizeof(T)},
          .writes = true,
          .reads = true,
          .destroyed = true,
          .factors = true},
         {.stored = {x.B, x.longer(), x.nrhs, x.ldb, sizeof(T)}, .writes = true, .reads = true, .vector = true}},
        ephemeral);
  return Operands(place,
                  {{.stored = {x.A, x.m, x.n, x.lda, sizeof(T)}, .reads = true, .destroyed = true},
                   {.stored = {x.B, x.longer(), x.nrhs, x.ldb, sizeof(T)}, .writes = true, .vector = true},
                   {.stored = stored_values(x), .writes = true, .vector = true},
                   {.stored = stored(x.rank, x.driver != LeastSquaresDriver::gels), .writes = true, .vector = true}},
                  ephemeral);
}

/// The largest |x|, of a complex number as LAPACK's norms have it; NaN if one is.
template <class T>
Real<T> largest_of(const T* at, index rows, index cols, index ld, Part part = Part::whole) {
  Real<T> largest = 0;
  for (index j = 0; j < cols; ++j)
    for (index i = part == Part::lower ? j : 0; i < (part == Part::upper ? std::min(j + 1, rows) : rows); ++i)
      if (const Real<T> x = std::abs(at[i + j * ld]); !(x <= largest)) {
        if (std::isnan(x)) return x;
        largest = x;
      }
  return largest;
}

/// Why the driver underneath has to see all of A and B: it might scale them.  Their norms differ from those of the
/// triangle and Q^H B by less than the square root of their sizes.
/// @param triangle  R, or of an LQ L
/// @param b  the largest of Q^H B, or of B
/// @param nothing  B is zero
template <class T>
std::optional<Reason> refused_for(const LeastSquaresArgs<T>& x, const T* triangle, index ld, Part part, Real<T> b,
                                  bool nothing) {
  constexpr Real<T> least = std::numeric_limits<Real<T>>::min() / std::numeric_limits<Real<T>>::epsilon();
  const Real<T> apart = std::sqrt(static_cast<Real<T>>(x.longer()) + 1),
                a = largest_of(triangle, x.count(), x.count(), ld, part);
  if (!std::isfinite(a) || !std::isfinite(b)) return Reason::not_converged;
  const auto unscaled = [&](Real<T> norm) { return norm >= apart * least && norm <= 1 / (apart * least); };
  if (unscaled(a) && (nothing || unscaled(b))) return std::nullopt;
  return Reason::scaled;
}

/// What comes home, and what the driver makes of it.  Of a tall A the driver gets R, and Q^H b for b.  Of a wide one,
/// R^H Q^H, it gets R^H, and the shortest solution is Q times its own.
template <class T>
struct Home {
  std::vector<T> R, B;  ///< B: what the driver gets in the place of b, and leaves there
  std::vector<T> Q;     ///< of a wide A

  Home(const LeastSquaresArgs<T>& x)
      : R(static_cast<std::size_t>(x.count()) * static_cast<std::size_t>(x.count())),
        B(static_cast<std::size_t>(x.m) * static_cast<std::size_t>(x.nrhs)),
        Q(x.m < x.n ? static_cast<std::size_t>(x.m) * static_cast<std::size_t>(x.n) : 0),
        x_(x),
        order_(x.count()) {
    for (index j = 0; j < x.nrhs; ++j) std::copy_n(x.B + j * x.ldb, x.m, B.data() + j * x.m);
  }

  bool wide() const { return !Q.empty(); }

  /// Why the driver underneath has to compute.
  std::optional<Reason> refused() const {
    const Real<T> b = largest_of(B.data(), x_.m, x_.nrhs, x_.m);
    return refused_for(x_, R.data(), order_, Part::upper, b, b == 0 && largest_of(x_.B, x_.m, x_.nrhs, x_.ldb) == 0);
  }

  /// By the library underneath, in memory of ours; false: its iterations do not converge.  What it calls may go to the
  /// device (gebrd, geqp3), as it would from the program's own call; but for verification, which may let the program
  /// in.
  bool solve(const Site& site, bool verified) {
    for (index j = 0; j < order_; ++j) std::fill(R.begin() + j * order_ + j + 1, R.begin() + (j + 1) * order_, T(0));
    if (wide()) become_lower();
    LeastSquaresArgs<T> small = x_;
    small.m = small.n = order_;
    small.A = R.data();
    small.lda = order_;
    small.B = B.data();
    small.ldb = x_.m;
    jpvt_.resize(x_.driver == LeastSquaresDriver::gelsy ? static_cast<std::size_t>(order_) : 0);
    s_.resize(jpvt_.empty() ? static_cast<std::size_t>(order_) : 0);
    small.jpvt = {jpvt_.data(), true};
    small.s = s_.data();
    small.rank = {&rank_, true};
    for (index i = 0; i < static_cast<index>(jpvt_.size()); ++i) small.jpvt.set(i, x_.jpvt.get(i));
    std::optional<RouteScope::Lifted> lifted;
    const double order = static_cast<double>(order_);
    if (!verified && reflectors_volume(order, order, order) >= small_product) lifted.emplace();
    return call_with_own_workspaces(site, small) == 0;
  }

  /// Whether the solution is not finite, or might not be once Q has been applied: roundings decide, so the library's
  /// own count.
  bool may_overflow() const {
    const Real<T> largest = std::numeric_limits<Real<T>>::max() / (wide() ? 2 * static_cast<Real<T>>(order_) : 1);
    return !(largest_of(B.data(), order_, x_.nrhs, x_.m) <= largest);
  }

  /// @param site  of the call
  void hand_over(const Site& site) const {
    const Op adjoint = is_complex(precision_of<T>) ? Op::conjugate : Op::transpose;
    if (wide())
      multiply(site, Q.data(), x_.n, Op::none, B.data(), x_.m, x_.B, x_.n, x_.nrhs, x_.ldb);
    else
      for (index j = 0; j < x_.nrhs; ++j) std::copy_n(B.data() + j * x_.m, x_.m, x_.B + j * x_.ldb);
    for (std::size_t i = 0; i < jpvt_.size(); ++i) x_.jpvt.set(static_cast<index>(i), jpvt_[i]);
    std::copy(s_.begin(), s_.end(), x_.s);
    x_.rank.set(0, rank_);
    if (x_.driver == LeastSquaresDriver::gelsd) return;
    if (wide())  // of R^H's right singular vectors those of A
      multiply(site, R.data(), order_, adjoint, Q.data(), x_.n, x_.A, x_.m, x_.n, x_.lda);
    else
      for (index j = 0; j < order_; ++j) std::copy_n(R.data() + j * order_, order_, x_.A + j * x_.lda);
  }

 private:
  /// R^H
  void become_lower() {
    for (index j = 0; j < order_; ++j)
      for (index i = 0; i <= j; ++i) {
        T &above = R[static_cast<std::size_t>(i + j * order_)], &below = R[static_cast<std::size_t>(j + i * order_)];
        const T x = above;
        above = T(0);
        if constexpr (is_complex(precision_of<T>))
          below = std::conj(x);
        else
          below = x;
      }
  }
  /// C (m x n) = left op(right), of as many terms as R has columns.
  void multiply(const Site& site, const T* left, index ld_left, Op op, const T* right, index ld_right, T* C, index m,
                index n, index ldc) const {
    HostBlas blas(site);
    const UnderlyingBlas host = blas.operations();
    const T one(1), zero(0);
    const Gemm product{.precision = precision_of<T>,
                       .transa = Op::none,
                       .transb = op,
                       .m = m,
                       .n = n,
                       .k = order_,
                       .alpha = &one,
                       .A = left,
                       .lda = ld_left,
                       .B = right,
                       .ldb = ld_right,
                       .beta = &zero,
                       .C = C,
                       .ldc = ldc};
    host.call(host.context, product);
  }

  const LeastSquaresArgs<T>& x_;
  const index order_;
  std::vector<std::int64_t> jpvt_{};
  std::vector<Real<T>> s_{};
  std::int64_t rank_ = 0;
};

/// Whether the host has memory for Home, for what of that is kept while it is written, and for the driver's workspaces.
template <class T>
bool has_memory(const LeastSquaresArgs<T>& x) {
  constexpr double copies = 2, of_driver = 1;
  const double m = static_cast<double>(x.m), n = static_cast<double>(x.count()), square = n * n,
               q = x.m < x.n ? m * static_cast<double>(x.n) : 0,
               bytes = (copies * (m * static_cast<double>(x.nrhs) + square + q) + of_driver * square) * sizeof(T);
  return has_memory_for(bytes);
}

/// All of gels on the device.  A and B in the host's memory are what they were unless the result is there.
template <class T>
Ending compute_full_rank(Place& place, const Site& site, Backend& backend, const Problem& problem,
                         const LeastSquaresArgs<T>& x, Operands& operands, const Decision& decision) {
  operands.locate(backend);
  if (operands[operand_a].out_of_reach() || operands[operand_b].out_of_reach()) return {Reason::no_route};
  const LeastSquaresShape shape{x.m, x.n, x.nrhs, x.adjoint};
  if (!gels_fits(shape, precision_of<T>, place.arena.limit())) return {Reason::no_room};
  const Real<T> b = largest_of(x.B, shape.equations(), x.nrhs, x.ldb);
  std::optional<Reason> refused;
  PlannedCall<T> planned(place, site, backend, problem, operands, {});
  planned.in_plan = 2;
  planned.sound = [&] {
    refused = refused_for(x, x.A, x.lda, shape.turned() ? Part::lower : Part::upper, b, b == 0);
    for (index i = 0; !refused && i < x.count(); ++i)
      if (x.A[i * (x.lda + 1)] == T(0)) refused = Reason::singular;
    const index unknowns = shape.shortest() ? x.longer() : x.count();
    if (!refused && !std::isfinite(largest_of(x.B, unknowns, x.nrhs, x.ldb))) refused = Reason::not_converged;
    return !refused;
  };
  Ending ending = planned.compute(
      decision, false,
      [&](const std::vector<Placed>& at) { return plan_gels(shape, precision_of<T>, at[operand_a].device != nullptr); },
      [](index, index) {});
  if (refused && !ending.computed) ending.reason = *refused;
  return ending;
}

/// If that does not come to an end, or the driver to no result, what is in the host's memory is what it was.
template <class T>
Ending compute(Place& place, const Site& site, Backend& backend, const Problem& problem,
               const LeastSquaresArgs<T>& args, Operands& operands, const Decision& decision) {
  if (args.driver == LeastSquaresDriver::gels)
    return compute_full_rank(place, site, backend, problem, args, operands, decision);
  operands.locate(backend);
  for (const std::size_t x : {operand_b, operand_values, operand_rank})
    if (operands[x].out_of_reach()) return {Reason::no_route};
  const bool a_there = operands[operand_a].out_of_reach();
  if (a_there && args.driver != LeastSquaresDriver::gelsd) return {Reason::no_route};
  const std::size_t memory = place.arena.limit();
  if (args.m < args.n ? !lq_apart_fits(args.m, args.n, precision_of<T>, memory, a_there)
                      : !least_squares_fits(args.m, args.n, args.nrhs, precision_of<T>, memory))
    return {Reason::no_room};
  if (!has_memory(args)) return {Reason::no_room};
  Home<T> home(args);
  PlannedCall<T> planned(place, site, backend, problem, operands, {});
  planned.in_plan = 1;
  if (home.wide())
    planned.own = {{home.R.data(), args.m}, {home.Q.data(), args.n}};
  else
    planned.own = {{home.B.data(), args.m}, {home.R.data(), args.n}};
  Ending ending = planned.compute(
      decision, false,
      [&](const std::vector<Placed>& at) {
        const bool in_place = at[operand_a].device != nullptr;
        return home.wide() ? plan_lq_apart(args.m, args.n, precision_of<T>, in_place)
                           : plan_least_squares(args.m, args.n, args.nrhs, precision_of<T>, in_place);
      },
      [](index, index) {});
  if (!ending.computed) return ending;
  std::optional<Reason> refused = home.refused();
  if (!refused && (!home.solve(site, place.options.verify != 0) || (!a_there && home.may_overflow())))
    refused = Reason::not_converged;
  if (!refused) return home.hand_over(site), ending;
  // With A in device memory nobody else can compute it.
  ending.computed = a_there;
  ending.info = a_there;
  ending.as_predicted = false;
  if (!a_there) ending.reason = *refused;
  return ending;
}

// ---- what a correct result is

using namespace judging;

constexpr double threshold = 30;

template <class T>
long double two_norm(const T* at, index rows) {
  long double squares = 0;
  for (index i = 0; i < rows; ++i) squares += std::norm(std::complex<long double>(std::real(at[i]), std::imag(at[i])));
  return std::sqrt(squares);
}
template <class T>
long double frobenius_norm(Packed<T>& x, index cols) {
  long double squares = 0;
  for (index j = 0; j < cols; ++j) {
    const long double column = two_norm(&x(0, j), x.ld);
    squares += column * column;
  }
  return std::sqrt(squares);
}

/// What rcond is taken for.
template <class T>
long double cut_off(const LeastSquaresArgs<T>& x) {
  if (x.driver == LeastSquaresDriver::gelsy) return std::max<long double>(0, x.rcond);
  const bool usual = x.rcond < 0 || (x.driver == LeastSquaresDriver::gelsd && !(x.rcond > 0 && x.rcond < 1));
  return static_cast<long double>(usual ? std::numeric_limits<Real<T>>::epsilon() : x.rcond);
}

/// The pivots are columns, those that were to come first before the others.
template <class T>
bool in_order(const LeastSquaresArgs<T>& before, const LeastSquaresArgs<T>& result) {
  std::vector<bool> seen(static_cast<std::size_t>(before.n));
  bool first = true;
  for (index j = 0; j < before.n; ++j) {
    const std::int64_t column = result.jpvt.get(j) - 1;
    if (column < 0 || column >= before.n || seen[static_cast<std::size_t>(column)]) return false;
    seen[static_cast<std::size_t>(column)] = true;
    const bool was_first = before.jpvt.get(column) != 0;
    if (was_first && !first) return false;
    first = was_first;
  }
  return true;
}

template <class T>
T conjugate_of(const T& x) {
  if constexpr (complex_type<T>)
    return std::conj(x);
  else
    return x;
}

/// Of an upper triangle about that, and no less, by inverse iteration with R^H R.
template <class T>
long double smallest_singular_value(Packed<T>& R, index order) {
  using Number = std::complex<long double>;
  constexpr int iterations = 6;
  const auto r = [&R](index i, index j) { return Number(std::real(R(i, j)), std::imag(R(i, j))); };
  std::vector<Number> x;
  for (index i = 0; i < order; ++i) x.emplace_back(1 + static_cast<long double>(i * 7 % 11) / 11);
  const auto at = [&x](index i) -> Number& { return x[static_cast<std::size_t>(i)]; };
  long double smallest = 0;
  for (int iteration = 0; iteration < iterations; ++iteration) {
    long double squares = 0;
    for (const Number& e : x) squares += std::norm(e);
    for (Number& e : x) e /= std::sqrt(squares);
    for (index i = 0; i < order; ++i) {
      if (r(i, i) == Number(0)) return 0;
      for (index k = 0; k < i; ++k) at(i) -= std::conj(r(k, i)) * at(k);
      at(i) /= std::conj(r(i, i));
    }
    for (index i = order - 1; i >= 0; --i) {
      at(i) /= r(i, i);
      for (index k = 0; k < i; ++k) at(k) -= r(k, i) * at(i);
    }
    squares = 0;
    for (const Number& e : x) squares += std::norm(e);
    smallest = 1 / std::sqrt(std::sqrt(squares));
  }
  return smallest;
}

/// Lengths of what columns of X have beside the span of a wide matrix's rows.
/// @param A  m x n
template <class T>
std::vector<long double> outside_of_rows(const JudgingLibrary& by, Packed<T>& A, index m, index n,
                                         const LeastSquaresArgs<T>& x) {
  const index nrhs = x.nrhs;
  Packed<T> rows(n, m), X(n, nrhs);
  std::vector<T> tau(static_cast<std::size_t>(m));
  for_each_of(n, m, [&](index i, index j) { rows(i, j) = conjugate_of(A(j, i)); });
  for_each_of(n, nrhs, [&](index i, index j) { X(i, j) = x.B[i + j * x.ldb]; });
  call_with_own_workspaces(*by.beside[by_geqrf], GeqrfArgs<T>{n, m, rows.at.get(), n, tau.data()});
  call_with_own_workspaces(*by.beside[by_ormqr],
                           OrmqrArgs<T>{{true, true, n, nrhs, m}, rows.at.get(), n, tau.data(), X.at.get(), n});
  std::vector<long double> all;
  for (index j = 0; j < nrhs; ++j) all.push_back(two_norm(&X(0, j) + m, n - m));
  return all;
}

/// With A^H in A's place, where that is what is asked for.
/// Of the columns x of X the largest |A^H (B - A x)| / (l eps |A| (|A| |x| + |b|)), l being A's longer side, as a
/// backward stable method has it (Higham, Accuracy and Stability, theorem 20.3; LAPACK's dqrt17), beside what of that a
/// reference solution of less than full rank has.  The shortest solution with a wide A has nothing outside of the span
/// of A's rows (LAPACK's dqrt14), but for what a reference solution has there.  Singular values are compared with
/// reference ones, in units of l eps |A|, and with the rank; where that is full, what is below X with the residual; and
/// gels's R by R^H R = A^H A, and its L by L L^H = A A^H, in units of l eps |A|^2.
template <class T>
Judgement judge(const JudgingLibrary& by, const LeastSquaresArgs<T>& before, const LeastSquaresArgs<T>& result,
                const LeastSquaresArgs<T>& reference, const Ending& ending) {
  const index m = before.adjoint ? before.n : before.m, n = before.adjoint ? before.m : before.n, nrhs = before.nrhs;
  Judgement judgement{0, threshold};
  const Judgement wrong{HUGE_VAL, threshold};
  if (m == 0 || n == 0 || nrhs == 0 || ending.info != 0) return judgement;
  const index order = before.count();
  Packed<T> A(m, n), X(n, nrhs), rest(m, nrhs), gradient(n, nrhs);
  bool finite = true, solved = true;
  for_each_of(m, n, [&](index i, index j) {
    A(i, j) = before.adjoint ? conjugate_of(before.A[j + i * before.lda]) : before.A[i + j * before.lda];
    finite = finite && is_finite(A(i, j));
  });
  for_each_of(m, nrhs, [&](index i, index j) {
    rest(i, j) = before.B[i + j * before.ldb];
    finite = finite && is_finite(rest(i, j));
  });
  for_each_of(n, nrhs, [&](index i, index j) {
    X(i, j) = result.B[i + j * result.ldb];
    solved = solved && (is_finite(X(i, j)) || !is_finite(reference.B[i + j * reference.ldb]));
    finite = finite && is_finite(X(i, j));
  });
  if (!solved) return wrong;
  if (!finite) return judgement;  // whatever a library makes of it
  for (index i = 0; before.driver == LeastSquaresDriver::gels && i < order; ++i)
    if (result.A[i * (result.lda + 1)] == T(0)) return judgement;  // ended by a zero: nothing has been solved
  const long double eps = std::numeric_limits<Real<T>>::epsilon(),
                    unit = static_cast<long double>(before.longer()) * eps, size = frobenius_norm(A, n),
                    tiny = std::numeric_limits<Real<T>>::min();
  const bool of_full_rank = before.driver == LeastSquaresDriver::gels;
  const auto rank_of = [&](const LeastSquaresArgs<T>& x) { return of_full_rank ? order : x.rank.get(0); };
  const std::int64_t rank = rank_of(result);
  if (rank < 0 || rank > order) return wrong;
  // What may overflow or vanish on the way is not judged.
  const long double largest = std::sqrt(static_cast<long double>(std::numeric_limits<Real<T>>::max())) / 4,
                    smallest = std::sqrt(tiny) / eps;
  const auto bearable = [&](long double norm) { return norm <= largest && (norm == 0 || norm >= smallest); };
  std::vector<long double> lengths;
  for (index j = 0; j < nrhs; ++j) lengths.push_back(two_norm(&rest(0, j), m));
  if (size == 0) return judgement;  // never the device's; gelsy leaves jpvt as it was
  if (!bearable(size) || !std::all_of(lengths.begin(), lengths.end(), bearable)) return judgement;
  const auto take = [&](long double off, long double of) {
    const long double ratio = off <= tiny * static_cast<long double>(m + 2) ? 0 : off / of;
    judgement.ratio = std::max(judgement.ratio, std::isfinite(ratio) ? static_cast<double>(ratio) : HUGE_VAL);
  };
  if (before.driver == LeastSquaresDriver::gelsy) {
    if (!in_order(before, result)) return wrong;
  } else if (before.driver != LeastSquaresDriver::gels) {
    index above = 0, near = 0;
    for (index i = 0; i < order; ++i) {
      if (!is_finite(reference.s[i])) return judgement;
      const long double s = result.s[i], least = std::max<long double>(cut_off(before) * result.s[0], tiny);
      if (!std::isfinite(s) || (i > 0 && s > static_cast<long double>(result.s[i - 1]))) return wrong;
      take(std::fabs(s - static_cast<long double>(reference.s[i])), unit * size);
      above += s > least;
      near += std::fabs(s - least) <= threshold * unit * size;
    }
    if (rank < above - near || rank > above + near) return wrong;
  }
  const T one(1), minus_one(-1), zero(0);
  const Op none = Op::none, adjoint = complex_type<T> ? Op::conjugate : Op::transpose;
  const Site& gemm = *by.beside[by_gemm];
  /// |A^H (b - A x)| for each column, and b - A x in `rest`.
  const auto gradients = [&](const LeastSquaresArgs<T>& of) {
    for_each_of(m, nrhs, [&](index i, index j) { rest(i, j) = before.B[i + j * before.ldb]; });
    for_each_of(n, nrhs, [&](index i, index j) { X(i, j) = of.B[i + j * of.ldb]; });
    call_product(gemm, {precision_of<T>, none, none, m, nrhs, n, &minus_one, A.at.get(), m, X.at.get(), n, &one,
                        rest.at.get(), m});
    call_product(gemm, {precision_of<T>, adjoint, none, n, nrhs, m, &one, A.at.get(), m, rest.at.get(), m, &zero,
                        gradient.at.get(), n});
    std::vector<long double> all;
    for (index j = 0; j < nrhs; ++j) all.push_back(two_norm(&gradient(0, j), n));
    return all;
  };
  long double smallest_used = 0;  // of the singular values
  if (of_full_rank) {
    const LeastSquaresShape shape{before.m, before.n, nrhs, before.adjoint};
    Packed<T> R(order, order), gram(order, order);
    for_each_of(order, order, [&](index i, index j) {
      R(i, j) = i > j            ? T(0)
                : shape.turned() ? conjugate_of(result.A[j + i * result.lda])
                                 : result.A[i + j * result.lda];
    });
    const Op first = shape.shortest() ? none : adjoint, second = shape.shortest() ? adjoint : none;
    call_product(gemm, {precision_of<T>, first, second, order, order, before.longer(), &one, A.at.get(), m, A.at.get(),
                        m, &zero, gram.at.get(), order});
    call_product(gemm, {precision_of<T>, adjoint, none, order, order, order, &minus_one, R.at.get(), order, R.at.get(),
                        order, &one, gram.at.get(), order});
    take(frobenius_norm(gram, order), unit * size * size);
    if (m < n) smallest_used = smallest_singular_value(R, order);
  } else if (m < n && rank > 0) {
    smallest_used = result.s[rank - 1];
  }
  // Of less than the full rank, what is left out stays in the residual, however much gelsy's first columns make of it;
  // and two estimates of a condition that is near 1 / rcond may differ.
  const std::int64_t due = rank_of(reference);
  const std::vector<long double> left_out = rank < order ? gradients(reference) : std::vector<long double>();
  const long double apart = rank < due ? static_cast<long double>(n) * cut_off(before) * size : 0;
  const std::vector<long double> found = gradients(result);
  if (m < n) {
    // It is as large as the condition of what is solved with: A^H z is as long as x for a z that is longer by so much.
    const std::vector<long double> due_outside = outside_of_rows(by, A, m, n, reference),
                                   outside = outside_of_rows(by, A, m, n, result);
    for (index j = 0; j < nrhs; ++j) {
      const auto at = static_cast<std::size_t>(j);
      if (smallest_used > 0)
        take(std::max(0.0L, outside[at] - 2 * due_outside[at]),
             unit * size / smallest_used * two_norm(result.B + j * result.ldb, n));
    }
  }
  for (index j = 0; j < nrhs; ++j) {
    const auto at = static_cast<std::size_t>(j);
    const long double of = size * two_norm(&X(0, j), n) + lengths[at];
    const long double allowed = (left_out.empty() ? 0 : 2 * left_out[at]) + apart * of;
    take(std::max(0.0L, found[at] - allowed), unit * size * of);
    if (rank == order && m > n && before.driver != LeastSquaresDriver::gelsy)
      take(std::fabs(two_norm(result.B + n + j * result.ldb, m - n) - two_norm(&rest(0, j), m)), unit * of);
  }
  return judgement;
}

constexpr Operation::Kinds takes =
    Operation::Kinds(Operation::Kind::qr_panel) | Operation::Kind::assign | Operation::Kind::trsm;

template <LeastSquaresDriver driver>
constexpr Family family() {
  return {.count = count<driver>, .text = text, .cpu_rate = cpu_rate<driver>, .cost = cost<driver>, .needs = takes};
}

}  // namespace

constinit const Family gelsy_family = family<LeastSquaresDriver::gelsy>(),
                       gelsd_family = family<LeastSquaresDriver::gelsd>(),
                       gelss_family = family<LeastSquaresDriver::gelss>(),
                       gels_family = family<LeastSquaresDriver::gels>();

template <class T>
Computed least_squares(const Site& site, const LeastSquaresArgs<T>* args, Replay replay) {
  return take_route(
      site, args, replay,
      {.learned = [](const LeastSquaresArgs<T>& x) -> Learned& { return known[static_cast<int>(x.driver)].value; },
       .problem = problem_of<T>,
       .operands = operands_of<T>,
       .compute = compute<T>,
       .judging = {.judge = judge<T>, .with = judged_with_qr<T>},
       .stays =
           [](const LeastSquaresArgs<T>& x) {
             const bool pivots = x.driver == LeastSquaresDriver::gelsy;
             return pivots && x.m < x.n ? std::optional(Reason::of_columns) : std::nullopt;
           }});
}

#define GELSY(name, type) template Computed least_squares(const Site&, const LeastSquaresArgs<type>*, Replay);
#include "api/routines.def"

}  // namespace blaslift
