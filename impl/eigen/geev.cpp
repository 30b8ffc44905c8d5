#include "impl/eigen/geev.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "impl/core/any_overlap.hpp"
#include "impl/core/library_call.hpp"
#include "impl/core/undestroyed.hpp"
#include "impl/eigen/geev_plan.hpp"
#include "impl/judge/bounds.hpp"
#include "impl/judge/judge.hpp"
#include "impl/route/lapack_section.hpp"
#include "impl/route/planned.hpp"
#include "impl/route/route.hpp"

namespace blaslift {
namespace {

// ---- what the family says of a call; k is the number of eigenvectors

/// Hessenberg's form and QR iterations, whose number is not known before (Golub and Van Loan, Matrix Computations,
/// 7.5.6).
void count(Problem& p) {
  const double n = static_cast<double>(p.n), element = static_cast<double>(element_size(p.element));
  p.empty = p.n == 0;
  p.too_large = p.n >= index{1} << 31;
  p.flops = (is_complex(p.element) ? 4.0 : 1.0) * (p.k > 0 ? 25 : 10) * n * n * n;
  p.volume = n * n * n;
  p.bytes_in = n * n * element;
  p.bytes_out = n * static_cast<double>(p.k) * element;
}

std::string text(const Problem& p) {
  return std::string(name_of(p.routine)) + (p.k > 0 ? " V" : " N") + " n=" + std::to_string(p.n);
}

/// Products of the matrix with vectors, which wait for memory, and iterations of which each waits for the last.
/// LAPACK's takes 16 cores 1.2 and 3.9 s of order 1,000 and 2,000 with vectors, and 0.7 and 2.4 s without.
double cpu_rate(const Problem& p, const Profile& profile) { return cpu_rate_of_products(p, profile) / 10; }

/// cuSOLVER 12.0 on an H100, FP64, on the device, with vectors: 269, 941 and 1,681 ms of order 1,000, 2,000 and 3,000.
/// Without them it takes about 0.6 of that.  Iterations are what takes the time, so that products' rates say little.
Cost cost(const Problem& p, const Facts& facts, const Policy&, double spared) {
  constexpr double least = 0.27, begin = -0.335, thousand = 0.57, square = 0.034, without_vectors = 0.6, single = 0.67,
                   of_complex = 1.5;
  const double n = static_cast<double>(p.n), x = n / 1000, part = p.k > 0 ? 1 : without_vectors,
               narrow = element_size(p.element) == (is_complex(p.element) ? 8 : 4) ? single : 1,
               estimated = part * narrow * (is_complex(p.element) ? of_complex : 1) *
                           std::max(least * x, begin + thousand * x + square * x * x);
  const Profile& profile = *facts.profile;
  const double computing =
      measured_seconds(profile, p.k > 0 ? LapackWork::geev : LapackWork::geev_values, p.precision(), n)
          .value_or(estimated);
  return {.seconds = profile.latency_seconds + computing + seconds_in(p, facts, spared) + seconds_out(p, facts)};
}

// ---- on the device

/// Of such calls, in this process.
constinit Undestroyed<Learned> known;

enum { operand_a, operand_vr, operand_w, operand_wi };

template <class T>
Stored column(const T* at, index rows) {
  return {at, rows, 1, std::max<index>(1, rows), sizeof(T)};
}
template <class T>
Stored stored_vr(const GeevArgs<T>& x) {
  const index n = x.right ? x.n : 0;
  return {x.VR, n, n, std::max<index>(1, x.ldvr), sizeof(T)};
}

template <class T>
bool overlaps(const GeevArgs<T>& x) {
  return any_overlap({{x.A, x.n, x.n, x.lda, sizeof(T)}, stored_vr(x), column(x.w, x.n), column(x.wi, x.parts * x.n)});
}

template <class T>
Problem problem_of(Routine routine, const GeevArgs<T>& x) {
  return counted({.routine = routine,
                  .element = precision_of<T>,
                  .m = x.n,
                  .n = x.n,
                  .k = x.right ? x.n : 0,
                  .overlaps = overlaps(x)});
}

/// A is of no use to later calls that LAPACK says is destroyed, though the device leaves it as it was.
template <class T>
Operands operands_of(Place& place, const GeevArgs<T>& x, bool ephemeral) {
  return Operands(place,
                  {{.stored = {x.A, x.n, x.n, x.lda, sizeof(T)}, .reads = true, .destroyed = true},
                   {.stored = stored_vr(x), .writes = x.right},
                   {.stored = column(x.w, x.n), .writes = true, .vector = true},
                   {.stored = column(x.wi, x.parts * x.n), .writes = x.parts, .vector = true}},
                  ephemeral);
}

/// On the device.  If that does not come to an end, or to no result, what is in the host's memory is what it was.
template <class T>
Ending compute(Place& place, const Site& site, Backend& backend, const Problem& problem, const GeevArgs<T>& args,
               Operands& operands, const Decision& decision) {
  operands.locate(backend);
  const index n = args.n, parts = args.parts * n;
  const bool w_there = operands[operand_w].out_of_reach(), wi_there = operands[operand_wi].out_of_reach(),
             any_there =
                 operands[operand_a].out_of_reach() || operands[operand_vr].out_of_reach() || w_there || wi_there;
  if (!any_there && !geev_fits(n, args.right, precision_of<T>, place.arena.limit())) return {Reason::no_room};
  std::vector<T> w(w_there ? 0 : static_cast<std::size_t>(n)), wi(wi_there ? 0 : static_cast<std::size_t>(parts)),
      failed(1);
  PlannedCall<T> planned(place, site, backend, problem, operands, {});
  planned.in_plan = 2;
  planned.own = {{w.data(), n}, {wi.data(), std::max<index>(1, parts)}, {failed.data(), 1}};
  if (w_there) planned.own[0].placed = {.device = args.w, .ld = n, .in_place = true};
  if (wi_there) planned.own[1].placed = {.device = args.wi, .ld = n, .in_place = true};
  bool none = false;
  planned.sound = [&] {
    none = failed[0] != T(0);
    return !none || any_there;
  };
  const auto make_plan = [&](const std::vector<Placed>& at) {
    return plan_geev(n, args.right, precision_of<T>, at[operand_a].device != nullptr,
                     args.right && at[operand_vr].device != nullptr, w_there, wi_there);
  };
  Ending ending = planned.compute(decision, false, make_plan, [](index, index) {});
  if (ending.computed && !w_there) std::copy(w.begin(), w.end(), args.w);
  if (ending.computed && !wi_there) std::copy(wi.begin(), wi.end(), args.wi);
  if (none && !ending.computed) ending.reason = Reason::not_converged;
  ending.info = none;
  return ending;
}

// ---- what a correct result is

using namespace judging;

constexpr double threshold = 20;

using Number = std::complex<long double>;

template <class T>
Number widened(const T& x) {
  return {std::real(x), std::imag(x)};
}

template <class T>
Number eigenvalue(const GeevArgs<T>& x, index i) {
  if constexpr (complex_type<T>)
    return widened(x.w[i]);
  else
    return {x.w[i], x.wi[i]};
}

template <class T>
long double epsilon() {
  return std::numeric_limits<Real<T>>::epsilon();
}

/// All are numbers, and those of a real matrix which are not real are in pairs, the one above the real axis first.
template <class T>
bool in_order(const GeevArgs<T>& x) {
  for (index i = 0; i < x.n; ++i) {
    const Number w = eigenvalue(x, i);
    if (!std::isfinite(w.real()) || !std::isfinite(w.imag())) return false;
    if constexpr (!complex_type<T>) {
      if (w.imag() == 0) continue;
      if (w.imag() < 0 || i + 1 == x.n || eigenvalue(x, i + 1) != std::conj(w)) return false;
      ++i;
    }
  }
  return true;
}

/// What the sums say.
template <class T>
long double off_sums(const GeevArgs<T>& before, const GeevArgs<T>& result) {
  const auto a = [&](index i, index j) { return widened(before.A[i + j * before.lda]); };
  const index n = before.n;
  long double squares = 0;
  Number sum = 0, sum_of_squares = 0;
  for_each_of(n, n, [&](index i, index j) {
    squares += std::norm(a(i, j));
    sum_of_squares -= a(i, j) * a(j, i);
  });
  for (index i = 0; i < n; ++i) {
    const Number w = eigenvalue(result, i);
    sum += w - a(i, i);
    sum_of_squares += w * w;
  }
  const long double order = static_cast<long double>(n), size = std::sqrt(squares), unit = order * epsilon<T>() * size,
                    least = order * static_cast<long double>(std::numeric_limits<Real<T>>::min());
  return std::max(std::abs(sum) / std::max(least, std::sqrt(order) * unit),
                  std::abs(sum_of_squares) / std::max(least * least, 2 * unit * size));
}

/// Of vectors, how far from 1 the longest's or shortest's length is, and how far from real a largest element.
template <class T>
long double off_normal(Packed<T>& V, const GeevArgs<T>& result) {
  const index n = V.ld;
  const long double unit = static_cast<long double>(n) * epsilon<T>();
  long double off = 0;
  for (index j = 0; j < n; ++j) {
    const bool pair = !complex_type<T> && eigenvalue(result, j).imag() != 0;
    const auto element = [&](index i) {
      const Number x = widened(V(i, j));
      return pair ? Number(x.real(), std::real(V(i, j + 1))) : x;
    };
    long double squares = 0, largest = 0, nearest = 1;
    for (index i = 0; i < n; ++i) squares += std::norm(element(i)), largest = std::max(largest, std::abs(element(i)));
    for (index i = 0; i < n; ++i)
      // Of several that are as large it may be any.
      if (std::abs(element(i)) >= largest * (1 - unit)) nearest = std::min(nearest, std::fabs(element(i).imag()));
    off = std::max({off, std::fabs(std::sqrt(squares) - 1), nearest});
    j += pair;
  }
  return off / unit;
}

/// That the eigenvalues are those of a matrix near to A, by sums of which no eigenvalue's condition is a part: the
/// largest of |sum w - tr A| / (sqrt(n) u) and |sum w^2 - tr A^2| / (2 u |A|) with u = n eps |A|, Frobenius's norm.
/// With eigenvectors LAPACK's own test ratio, |A V - V diag(w)| / (n eps |A|), 1-norms, and by how much a vector's
/// length differs from 1, or a largest element of it from a real one, in units of n eps.  With LAPACK's threshold
/// (ded.in). Eigenvalues that are not in LAPACK's order of pairs are beyond any bound.
template <class T>
Judgement judge(const JudgingLibrary& by, const GeevArgs<T>& before, const GeevArgs<T>& result, const GeevArgs<T>&,
                const Ending& ending) {
  const index n = before.n;
  Judgement judgement{0, threshold};
  if (n == 0 || ending.info != 0) return judgement;
  Packed<T> A(n, n);
  bool finite = true;
  for_each_of(n, n, [&](index i, index j) {
    A(i, j) = before.A[i + j * before.lda];
    finite = finite && is_finite(A(i, j));
  });
  if (!finite) return judgement;  // whatever a library makes of it
  if (!in_order(result)) return judgement.ratio = HUGE_VAL, judgement;
  judgement.ratio = static_cast<double>(off_sums(before, result));
  const long double size = one_norm(A, n),
                    largest = std::numeric_limits<Real<T>>::max() / (16 * static_cast<long double>(n + 1));
  if (!before.right || !(size < largest)) return judgement;  // what is computed on the way may overflow
  Packed<T> V(n, n), rest(n, n);
  for_each_of(n, n, [&](index i, index j) {
    V(i, j) = result.VR[i + j * result.ldvr];
    finite = finite && is_finite(V(i, j));
  });
  if (!finite) return judgement.ratio = HUGE_VAL, judgement;
  for_each_of(n, n, [&](index i, index j) {
    if constexpr (complex_type<T>) {
      rest(i, j) = -V(i, j) * result.w[j];
    } else {
      const Real<T> imaginary = result.wi[j];
      rest(i, j) = -V(i, j) * result.w[j];
      if (imaginary > 0) rest(i, j) += V(i, j + 1) * imaginary;
      if (imaginary < 0) rest(i, j) += V(i, j - 1) * imaginary;
    }
  });
  const T one(1);
  call_product(*by.beside[0], {precision_of<T>, Op::none, Op::none, n, n, n, &one, A.at.get(), n, V.at.get(), n, &one,
                               rest.at.get(), n});
  const long double off = one_norm(rest, n);
  judgement.ratio = std::max(judgement.ratio, static_cast<double>(off_normal(V, result)));
  // Where the matrix is about to vanish, roundings are not what eps says.
  if (!(off <= static_cast<long double>(std::numeric_limits<Real<T>>::min()) * static_cast<long double>(n * (n + 2))))
    judgement.ratio =
        std::max(judgement.ratio, static_cast<double>(off / (static_cast<long double>(n) * epsilon<T>() * size)));
  return judgement;
}

}  // namespace

constinit const Family geev_family{
    .count = count, .text = text, .cpu_rate = cpu_rate, .cost = cost, .needs = Operation::Kind::geev};

template <class T>
Computed geev(const Site& site, const GeevArgs<T>* args, Replay replay) {
  return take_route(
      site, args, replay,
      {.learned = together<known>,
       .problem = problem_of<T>,
       .operands = operands_of<T>,
       .compute = compute<T>,
       .judging = {.judge = judge<T>, .with = judged_with_products<T>, .alone = always<GeevArgs<T>>},
       // No device's library has left eigenvectors.
       .stays = [](const GeevArgs<T>& x) { return x.left ? std::optional(Reason::of_left) : std::nullopt; }});
}

#define GEEV(name, type) template Computed geev(const Site&, const GeevArgs<type>*, Replay);
#include "api/routines.def"

}  // namespace blaslift
