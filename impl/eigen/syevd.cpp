#include "impl/eigen/syevd.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "impl/core/library_call.hpp"
#include "impl/core/undestroyed.hpp"
#include "impl/eigen/syevd_plan.hpp"
#include "impl/judge/bounds.hpp"
#include "impl/judge/judge.hpp"
#include "impl/route/planned.hpp"

namespace blaslift {
namespace {

// ---- what the family says of a call; k is the number of eigenvectors

void count(Problem& p) {
  const double n = static_cast<double>(p.n), element = static_cast<double>(element_size(p.element));
  p.empty = p.n == 0;
  p.too_large = p.n >= index{1} << 31;
  // The tridiagonal form; of that the vectors, and they from there to the matrix's own.
  p.flops = (is_complex(p.element) ? 4.0 : 1.0) * (p.k > 0 ? 14.0 : 4.0) / 3 * n * n * n;
  p.volume = n * n * n;
  p.bytes_in = (p.k > 0 ? n * n : n * (n + 1) / 2) * element;
  p.bytes_out = p.k > 0 ? n * n * element : 0;
}

std::string text(const Problem& p) {
  return std::string(name_of(p.routine)) + (p.k > 0 ? " V" : " N") + (p.part == Part::upper ? "U" : "L") +
         " n=" + std::to_string(p.n);
}

/// Half of the tridiagonal form is products of the matrix with vectors, which wait for memory.
double cpu_rate(const Problem& p, const Profile& profile) { return cpu_rate_of_products(p, profile) / 4; }

/// cuSOLVER 13.0 on an H100, FP64, from and to the host's memory: 11, 27.7, 127, 626 and 3,784 ms with vectors, of
/// order 1,024, 2,048 and so on to 16,384; without them a third to a half.
Cost cost(const Problem& p, const Facts& facts, const Policy&, double spared) {
  constexpr double step = 7e-3, square = 3.5e-3, thousand = 1024, without_vectors = 0.4, beside_products = 7;
  const Profile& profile = *facts.profile;
  const double x = static_cast<double>(p.n) / thousand, part = p.k > 0 ? 1 : without_vectors;
  const double computing = part * (step * x + square * x * x) +
                           beside_products * p.flops / profile.gemm_rate[static_cast<int>(p.element.name)];
  return {.seconds = profile.latency_seconds + computing + seconds_in(p, facts, spared) + seconds_out(p, facts)};
}

// ---- on the device

constinit Undestroyed<Learned> known;  // of such calls, in this process

enum { operand_a, operand_w };

/// By bytes, of columns that no memory holds if they are further apart.
template <class T>
bool overlaps(const SyevdArgs<T>& x) {
  constexpr index element = sizeof(T), real = sizeof(Real<T>), farthest = index{1} << 56;
  const index order = std::min(x.n, farthest), ld = std::min(x.lda, farthest) * element;
  return overlap(x.A, order * element, x.n, ld, x.w, order * real, 1, ld, 1);
}

template <class T>
Operands operands_of(Runtime& r, const SyevdArgs<T>& x, bool ephemeral) {
  return Operands(r,
                  {{.stored = {x.A, x.n, x.n, x.lda, sizeof(T), x.written()},
                    .writes = x.vectors,
                    .reads = true,
                    .destroyed = true},
                   {.stored = {x.w, x.n, 1, std::max<index>(1, x.n), sizeof(Real<T>)}, .writes = true, .vector = true}},
                  ephemeral);
}

/// On the device.  If that does not come to an end, or to no result, A and w in the host's memory are what they were.
template <class T>
Ending compute(Runtime& r, const Site& site, Backend& backend, const Problem& problem, const SyevdArgs<T>& args,
               Operands& operands, const Decision& decision) {
  operands.locate(backend);
  const bool a_there = operands[operand_a].place == Place::on_a_device,
             w_there = operands[operand_w].place == Place::on_a_device;
  if (!a_there && !syevd_fits(args.n, precision_of<T>, args.vectors, r.arena.limit())) return {Reason::no_room};
  const index count = elements_of_reals(args.n, precision_of<T>);
  std::vector<T> values(w_there ? 0 : static_cast<std::size_t>(count)), failed(1);
  PlannedCall<T> planned(r, site, backend, problem, operands, {});
  planned.in_plan = 1;
  planned.own = {{values.data(), count}, {failed.data(), 1}};
  if (w_there) planned.own[0].placed = {.device = args.w, .ld = count, .in_place = true};
  bool none = false;
  planned.sound = [&] {
    none = failed[0] != T(0);
    return !none || a_there || w_there;
  };
  const auto make_plan = [&](const std::vector<Placed>& at) {
    return plan_syevd(args.vectors, args.uplo, args.n, precision_of<T>, at[operand_a].device != nullptr, w_there);
  };
  Ending ending = planned.compute(decision, false, make_plan, [](index, index) {});
  if (ending.computed && !w_there) std::copy_n(reinterpret_cast<const Real<T>*>(values.data()), args.n, args.w);
  if (none && !ending.computed) ending.reason = Reason::not_converged;
  ending.info = none;
  return ending;
}

// ---- what a correct result is

using namespace judging;

constexpr double threshold = 50;

template <class T>
Judgement judge_values(const SyevdArgs<T>& before, const Real<T>* result, const Real<T>* reference) {
  Judgement judgement{0, threshold};
  double size = 0, off = 0;
  for (index i = 0; i < before.n; ++i) {
    if (!is_finite(reference[i])) return judgement;
    if (!is_finite(result[i])) return judgement.ratio = HUGE_VAL, judgement;
    size = std::max(size, std::fabs(static_cast<double>(reference[i])));
    off = std::max(off, std::fabs(static_cast<double>(result[i]) - static_cast<double>(reference[i])));
  }
  if (off > 0)
    judgement.ratio = off / std::max(static_cast<double>(std::numeric_limits<Real<T>>::min()),
                                     static_cast<double>(before.n) *
                                         static_cast<double>(std::numeric_limits<Real<T>>::epsilon()) * size);
  return judgement;
}

/// Of A, all of it.
template <class T>
T element_of_matrix(const SyevdArgs<T>& x, index i, index j) {
  const bool stored = x.uplo == Uplo::lower ? i >= j : i <= j;
  const T a = x.A[stored ? i + j * x.lda : j + i * x.lda];
  if constexpr (complex_type<T>)
    return i == j ? T(std::real(a)) : stored ? a : std::conj(a);
  else
    return a;
}

}  // namespace

template <class T>
Judgement judge(const JudgingLibrary& by, const SyevdArgs<T>& before, const SyevdArgs<T>& result,
                const SyevdArgs<T>& reference, const Ending& ending) {
  const index n = before.n;
  if (ending.info != 0) return {0, threshold};
  if (!before.vectors) return judge_values(before, result.w, reference.w);
  Judgement judgement{0, threshold};
  if (n == 0) return judgement;
  Packed<T> A(n, n), V(n, n), rest(n, n), gram(n, n);
  bool finite = true;
  for_each_of(n, n, [&](index i, index j) {
    A(i, j) = element_of_matrix(before, i, j);
    V(i, j) = result.A[i + j * result.lda];
    rest(i, j) = -V(i, j) * T(result.w[j]);
    gram(i, j) = T(i == j ? -1 : 0);
    finite = finite && is_finite(V(i, j)) && is_finite(rest(i, j));
  });
  const long double size = one_norm(A, n),
                    largest = std::numeric_limits<Real<T>>::max() / (16 * static_cast<long double>(n + 1));
  if (!(size < largest)) return judgement;  // what is computed on the way may overflow
  for (index j = 1; j < n; ++j) finite = finite && result.w[j - 1] <= result.w[j];
  if (!finite) return judgement.ratio = HUGE_VAL, judgement;
  const T one(1);
  const Op adjoint = complex_type<T> ? Op::conjugate : Op::transpose;
  call_product(*by.beside[0], {precision_of<T>, Op::none, Op::none, n, n, n, &one, A.at.get(), n, V.at.get(), n, &one,
                               rest.at.get(), n});
  call_product(*by.beside[0], {precision_of<T>, adjoint, Op::none, n, n, n, &one, V.at.get(), n, V.at.get(), n, &one,
                               gram.at.get(), n});
  const long double unit = static_cast<long double>(n) * std::numeric_limits<Real<T>>::epsilon(),
                    off = one_norm(rest, n);
  judgement.ratio = static_cast<double>(one_norm(gram, n) / unit);
  // Where the matrix is about to vanish, roundings are not what eps says.
  if (off > static_cast<long double>(std::numeric_limits<Real<T>>::min()) * static_cast<long double>(n * (n + 2)))
    judgement.ratio = std::max(judgement.ratio, static_cast<double>(off / (unit * size)));
  return judgement;
}

template <class T>
std::vector<Routine> judged_with(const SyevdArgs<T>&) {
  return judged_with_products<T>();
}

constinit const Family syevd_family{
    .count = count, .text = text, .cpu_rate = cpu_rate, .cost = cost, .needs = Operation::Kind::syevd};

template <class T>
Computed syevd(const Site& site, const SyevdArgs<T>* args, Replay replay) {
  if (!enter(site)) return replay(), Computed::no;
  if (!args) return refuse(site, replay), Computed::no;
  Runtime& r = runtime();
  const Problem problem = counted({.routine = info(site.symbol).routine,
                                   .element = precision_of<T>,
                                   .m = args->n,
                                   .n = args->n,
                                   .k = args->vectors ? args->n : 0,
                                   .overlaps = overlaps(*args),
                                   .part = part_of(args->uplo)});
  return take_route(
      r, site, known.value, problem, *args, replay,
      [&](const SyevdArgs<T>& x, bool ephemeral) { return operands_of(r, x, ephemeral); },
      [&](Backend& backend, const SyevdArgs<T>& x, Operands& operands, const Decision& decision) {
        return compute(r, site, backend, problem, x, operands, decision);
      },
      [](Decision&) {});
}

#define SYEVD(name, type)                                                                         \
  template Judgement judge(const JudgingLibrary&, const SyevdArgs<type>&, const SyevdArgs<type>&, \
                           const SyevdArgs<type>&, const Ending&);                                \
  template Computed syevd(const Site&, const SyevdArgs<type>*, Replay);
#include "api/routines.def"

}  // namespace blaslift
