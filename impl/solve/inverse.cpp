#include "impl/solve/inverse.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "impl/core/library_call.hpp"
#include "impl/core/undestroyed.hpp"
#include "impl/judge/bounds.hpp"
#include "impl/judge/judge.hpp"
#include "impl/lu/getrf.hpp"
#include "impl/route/planned.hpp"
#include "impl/route/route.hpp"
#include "impl/solve/diagonal.hpp"
#include "impl/solve/inverse_plan.hpp"

namespace blaslift {
namespace {

// ---- what the families say of a call

/// Thirds of the order's cube: flops of real elements.
constexpr double thirds(InverseOf of) { return of == InverseOf::lu ? 4 : of == InverseOf::cholesky ? 2 : 1; }

template <InverseOf of>
void count(Problem& p) {
  const double n = static_cast<double>(p.n), element = static_cast<double>(element_size(p.element));
  p.empty = p.n == 0;
  p.too_large = of == InverseOf::lu && p.n >= index{1} << 24;  // pivots are elements on their way
  p.flops = (is_complex(p.element) ? 4 : 1) * thirds(of) * n * n * n / 3;
  p.volume = thirds(of) * n * n * n / 6;
  p.bytes_in = p.bytes_out = (of == InverseOf::lu ? n * n : n * (n + 1) / 2) * element;
}

std::string text(const Problem& p) {
  return std::string(name_of(p.routine)) +
         (p.part == Part::upper   ? " U"
          : p.part == Part::lower ? " L"
                                  : "") +
         " n=" + std::to_string(p.n);
}

/// Panels are solved with triangles whose diagonal's blocks come one after the other; what is home first waits for the
/// whole matrix.
template <InverseOf of>
Cost cost(const Problem& p, const Facts& facts, const Policy&, double spared) {
  constexpr double seconds_a_block = 12e-6, block = 64, half = 2048, panel = 1024, most_panels = 8;
  const Profile& profile = *facts.profile;
  const double n = static_cast<double>(p.n), panels = std::min(most_panels, std::ceil(n / panel)),
               solved = of == InverseOf::lu     ? 2
                        : of == InverseOf::none ? 0
                                                : 1,  // triangles
      computing = panels * solved * std::ceil(n / block) * seconds_a_block +
                  p.flops / profile.gemm_rate[static_cast<int>(p.element.name)] * (1 + half / n),
               out = seconds_out(p, facts);
  return {.seconds = profile.latency_seconds + seconds_in(p, facts, spared) + std::max(computing, out) + out / panels};
}

template <class T>
Problem problem_of(Routine routine, const InverseArgs<T>& x) {
  return counted(
      {.routine = routine, .element = precision_of<T>, .m = x.shape.n, .n = x.shape.n, .part = x.shape.part()});
}

// ---- on the device

constinit Undestroyed<Learned> known[4];  // of such calls, in this process

enum { operand_a, operand_pivots };

template <class T>
Operands operands_of(Place& place, const InverseArgs<T>& x, bool ephemeral) {
  const InverseShape& s = x.shape;
  const OperandRole A{
      .stored = {x.A, s.n, s.n, x.lda, sizeof(T), s.part()}, .writes = true, .reads = true, .destroyed = true};
  if (s.of != InverseOf::lu) return Operands(place, {A}, ephemeral);
  return Operands(place, {A, {.stored = stored(x.ipiv, s.n), .reads = true, .vector = true}}, ephemeral);
}

/// On the device.  If that does not come to an end, or with a zero on the diagonal, A in the host's memory is what it
/// was.
template <class T>
Ending compute(Place& place, const Site& site, Backend& backend, const Problem& problem, const InverseArgs<T>& args,
               Operands& operands, const Decision& decision) {
  const InverseShape& s = args.shape;
  operands.locate(backend);
  if (s.of == InverseOf::lu && operands[operand_pivots].memory == MemoryKind::on_a_device) return {Reason::no_route};
  const InverseCut cut = inverse_cut(s, precision_of<T>, place.arena.limit(), operands[operand_a].out_of_reach());
  if (cut.width == 0) return {Reason::no_room};
  std::vector<T> pivots(s.of == InverseOf::lu ? static_cast<std::size_t>(s.n) : 0);
  if (s.of == InverseOf::lu && !get_pivots(args.ipiv, s.n, pivots)) return {Reason::invalid};
  if (!s.unit && s.of != InverseOf::none) {
    const FirstZero zero = first_zero<T>(site, backend, operands[operand_a]);
    if (zero.outcome.status != Status::done) return {give_up(place, backend, zero.outcome.status)};
    if (zero.number > 0) return ended_by_zero(zero.number, operands, decision);
  }
  PlannedCall<T> planned(place, site, backend, problem, operands, {});
  planned.in_plan = 1;
  if (s.of == InverseOf::lu) planned.own.push_back({pivots.data(), s.n});
  const auto make_plan = [&](const std::vector<Placed>& at) {
    return plan_inverse(s, precision_of<T>, cut, at[operand_a].device != nullptr);
  };
  Ending ending = planned.compute(decision, false, make_plan, [](index, index) {});
  ending.way = with_numbers(0, cut.width);
  return ending;
}

// ---- what a correct result is

using namespace judging;

/// A triangle of a matrix as it is stored; zeros beside it.
template <class T>
Packed<T> triangle(const T* A, index lda, index n, Uplo uplo, bool unit) {
  Packed<T> x(n, n);
  for_each_of(n, n, [&](index i, index j) {
    const bool there = uplo == Uplo::lower ? i >= j : i <= j;
    x(i, j) = unit && i == j ? T(1) : there ? A[i + j * lda] : T(0);
  });
  return x;
}

template <class T>
bool all_finite(Packed<T>& x, index n) {
  bool finite = true;
  for_each_of(n, n, [&](index i, index j) { finite = finite && is_finite(x(i, j)); });
  return finite;
}

/// LAPACK's own test ratio (dget03, dpot03, dtrt01), |I - X A| / (n eps |A| |X|), 1-norms, with its threshold
/// (dtest.in); or |I - A X| if that is smaller: no method makes both small (Higham, Accuracy and Stability, 14.1). |A|
/// is that of what A's factors come to without cancellation, and so is A; where A or the reference is not finite
/// anything may be.  Of a product, |X - L^H L| / (n eps |L^H| |L|) (Higham, 3.5), with the same threshold.
template <class T>
Judgement judge(const JudgingLibrary& by, const InverseArgs<T>& before, const InverseArgs<T>& result,
                const InverseArgs<T>& reference, const Ending& ending) {
  const InverseShape& s = before.shape;
  const index n = s.n;
  Judgement judgement{0, 30};
  if (n == 0 || ending.info > 0) return judgement;
  const auto conjugate = [](const T& x) {
    if constexpr (complex_type<T>)
      return std::conj(x);
    else
      return x;
  };
  const auto multiply = [&](Packed<T>& x, Op of_x, Packed<T>& y, Op of_y, T beta, Packed<T>& z) {
    const T alpha = beta == T(0) ? T(1) : T(-1);
    call_product(*by.beside[0],
                 {precision_of<T>, of_x, of_y, n, n, n, &alpha, x.at.get(), n, y.at.get(), n, &beta, z.at.get(), n});
  };
  const auto magnitudes = [&](Packed<T>& x) {
    for_each_of(n, n, [&](index i, index j) { x(i, j) = magnitude(x(i, j)); });
  };
  // A, and what its terms come to.
  const Op adjoint = complex_type<T> ? Op::conjugate : Op::transpose;
  const bool lu = s.of == InverseOf::lu, whole_of_upper = s.uplo == Uplo::upper, product = s.of == InverseOf::none;
  Packed<T> A(n, n), sizes(n, n), first = triangle(before.A, before.lda, n, lu ? Uplo::lower : s.uplo, lu || s.unit);
  if (s.of == InverseOf::triangle) {
    for_each_of(n, n, [&](index i, index j) { A(i, j) = first(i, j), sizes(i, j) = magnitude(first(i, j)); });
  } else if (lu) {
    Packed<T> second = triangle(before.A, before.lda, n, Uplo::upper, false);
    multiply(first, Op::none, second, Op::none, T(0), A);
    magnitudes(first), magnitudes(second);
    multiply(first, Op::none, second, Op::none, T(0), sizes);
    for (index i = n; i-- > 0;) {
      const index row = before.ipiv.get(i) - 1;
      if (row < i || row >= n) return judgement;
      for (index j = 0; row != i && j < n; ++j) std::swap(A(i, j), A(row, j));
    }
  } else {
    const bool adjoint_first = whole_of_upper != product;
    const Op left = adjoint_first ? adjoint : Op::none, right = adjoint_first ? Op::none : adjoint;
    multiply(first, left, first, right, T(0), A);
    magnitudes(first);
    multiply(first, left, first, right, T(0), sizes);
  }
  const auto inverse = [&](const InverseArgs<T>& of) {
    Packed<T> x(n, n);
    for_each_of(n, n, [&](index i, index j) { x(i, j) = of.A[i + j * of.lda]; });
    if (lu) return x;
    x = triangle(of.A, of.lda, n, s.uplo, s.unit);
    for_each_of(n, n, [&](index i, index j) {
      if (s.of != InverseOf::triangle && (whole_of_upper ? i > j : i < j)) x(i, j) = conjugate(x(j, i));
    });
    return x;
  };
  Packed<T> theirs = inverse(reference), X = inverse(result);
  if (!all_finite(A, n) || !all_finite(sizes, n) || !all_finite(theirs, n)) return judgement;
  if (!all_finite(X, n)) return judgement.ratio = HUGE_VAL, judgement;
  const long double unit = static_cast<long double>(n) * std::numeric_limits<Real<T>>::epsilon();
  if (product) {
    for_each_of(n, n, [&](index i, index j) { A(i, j) -= X(i, j); });
    const long double off = one_norm(A, n), tiny = static_cast<long double>(std::numeric_limits<Real<T>>::min()) *
                                                   static_cast<long double>(n * (n + 2));
    if (!(off <= tiny)) judgement.ratio = static_cast<double>(off / (unit * one_norm(sizes, n)));
    return judgement;
  }
  const auto residual = [&](Packed<T>& x, Packed<T>& y) {
    Packed<T> rest(n, n);
    for_each_of(n, n, [&](index i, index j) { rest(i, j) = T(i == j ? 1 : 0); });
    multiply(x, Op::none, y, Op::none, T(1), rest);
    return one_norm(rest, n);
  };
  const long double size = one_norm(sizes, n) * one_norm(X, n), left = residual(X, A), right = residual(A, X);
  const long double off = std::isnan(left) ? right : std::isnan(right) ? left : std::min(left, right);
  if (!std::isfinite(off) && !(size < static_cast<long double>(std::numeric_limits<Real<T>>::max()))) return judgement;
  const long double ratio = off / (unit * size);
  judgement.ratio = std::isfinite(ratio) ? static_cast<double>(ratio) : HUGE_VAL;
  return judgement;
}

}  // namespace

constinit const Family getri_family{
    .count = count<InverseOf::lu>,
    .text = text,
    .cpu_rate = cpu_rate_of_products,
    .cost = cost<InverseOf::lu>,
    .needs = Operation::Kinds(Operation::Kind::assign) | Operation::Kind::trsm | Operation::Kind::row_swaps},
    potri_family{.count = count<InverseOf::cholesky>,
                 .text = text,
                 .cpu_rate = cpu_rate_of_products,
                 .cost = cost<InverseOf::cholesky>,
                 .needs = Operation::Kinds(Operation::Kind::assign) | Operation::Kind::trsm},
    trtri_family{.count = count<InverseOf::triangle>,
                 .text = text,
                 .cpu_rate = cpu_rate_of_products,
                 .cost = cost<InverseOf::triangle>,
                 .needs = Operation::Kinds(Operation::Kind::assign) | Operation::Kind::trsm},
    lauum_family{.count = count<InverseOf::none>,
                 .text = text,
                 .cpu_rate = cpu_rate_of_products,
                 .cost = cost<InverseOf::none>,
                 .needs = Operation::Kind::assign};

template <class T>
Computed invert(const Site& site, const InverseArgs<T>* args, Replay replay) {
  return take_route(
      site, args, replay,
      {.learned = [](const InverseArgs<T>& x) -> Learned& { return known[static_cast<int>(x.shape.of)].value; },
       .problem = problem_of<T>,
       .operands = operands_of<T>,
       .compute = compute<T>,
       .judging = {.judge = judge<T>, .with = judged_with_products<T>}});
}

#define GETRI(name, type) template Computed invert(const Site&, const InverseArgs<type>*, Replay);
#include "api/routines.def"

}  // namespace blaslift
