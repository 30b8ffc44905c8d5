#include "impl/qr/geqp3.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "impl/core/any_overlap.hpp"
#include "impl/core/undestroyed.hpp"
#include "impl/judge/bounds.hpp"
#include "impl/judge/judge.hpp"
#include "impl/judge/unitary.hpp"
#include "impl/qr/geqp3_plan.hpp"
#include "impl/route/reduction.hpp"
#include "impl/route/route.hpp"

namespace blaslift {
namespace {

// ---- what the family says of a call

void count(Problem& p) {
  const double m = static_cast<double>(p.m), n = static_cast<double>(p.n), k = std::min(m, n);
  p.empty = k == 0;
  p.too_large = p.n >= index{1} << 24;  // their numbers are elements on their way
  p.volume = reflectors_volume(m, n, k);
  p.flops = (is_complex(p.element) ? 4.0 : 1.0) * (2 * std::max(m, n) * k * k - 2.0 / 3.0 * k * k * k);
  p.bytes_in = p.bytes_out = m * n * static_cast<double>(element_size(p.element));
}

std::string text(const Problem& p) {
  return std::string(name_of(p.routine)) + " m=" + std::to_string(p.m) + " n=" + std::to_string(p.n);
}

/// Bytes that products with vectors read, half of all flops: what is left of the matrix, once for every reflector.
double bytes_read(const Problem& p) {
  return p.flops / (is_complex(p.element) ? 16 : 4) * static_cast<double>(element_size(p.element));
}

double cpu_rate(const Problem& p, const Profile& profile) {
  constexpr double reading_rate = 6e10;  // bytes/s
  return cpu_rate_beside_reading(p, profile, 1, bytes_read(p) / reading_rate);
}

/// Estimated, as gehrd's: a column takes six kernels, one of which reads what is left of the matrix, and a panel's
/// product reads and writes it once more.
Cost cost(const Problem& p, const Facts& facts, const Policy&, double spared) {
  constexpr double column_seconds = 35e-6, passes = 2, panel = 32;
  const Profile& profile = *facts.profile;
  const double computing = column_seconds * static_cast<double>(std::min(p.m, p.n)) +
                           bytes_read(p) * (1 + passes / panel) / profile.pass_rate +
                           p.flops / (2 * profile.gemm_rate[static_cast<int>(p.precision())]);
  return {.seconds = profile.latency_seconds + computing + seconds_in(p, facts, spared) + seconds_out(p, facts)};
}

// ---- on the device

constinit Undestroyed<Learned> known;  // of such calls, in this process

enum { operand_a, operand_jpvt, operand_tau };

template <class T>
Stored tau_of(const Geqp3Args<T>& x) {
  return {x.tau, x.factored(), 1, std::max<index>(1, x.factored()), sizeof(T)};
}

template <class T>
Problem problem_of(Routine routine, const Geqp3Args<T>& x) {
  return counted({.routine = routine,
                  .element = precision_of<T>,
                  .m = x.m,
                  .n = x.n,
                  .overlaps = any_overlap({{x.A, x.m, x.n, x.lda, sizeof(T)}, stored(x.jpvt, x.n), tau_of(x)})});
}

template <class T>
Operands operands_of(Place& place, const Geqp3Args<T>& x, bool ephemeral) {
  return Operands(
      place,
      {{.stored = {x.A, x.m, x.n, x.lda, sizeof(T)}, .writes = true, .reads = true, .destroyed = true, .factors = true},
       {.stored = stored(x.jpvt, x.n), .writes = true, .reads = true, .vector = true},
       {.stored = tau_of(x), .writes = true, .vector = true}},
      ephemeral);
}

template <class T>
Ending compute(Place& place, const Site& site, Backend& backend, const Problem& problem, const Geqp3Args<T>& args,
               Operands& operands, const Decision& decision) {
  operands.locate(backend);
  if (operands[operand_jpvt].out_of_reach()) return {Reason::no_route};
  std::vector<T> fixed(static_cast<std::size_t>(args.n)), order(fixed), tau(static_cast<std::size_t>(args.factored()));
  for (index j = 0; j < args.n; ++j) fixed[static_cast<std::size_t>(j)] = T(args.jpvt.get(j) != 0 ? 1 : 0);
  const Ending ending =
      compute_reduction<T>(place, site, backend, problem, operands, decision,
                           geqp3_fits(args.m, args.n, precision_of<T>, place.arena.limit()), {&fixed, &order, &tau},
                           [&](bool a_in_place) { return plan_geqp3(args.m, args.n, precision_of<T>, a_in_place); });
  if (ending.computed) {
    // Always numbers that a program may order columns by, whatever no result has left.
    for (index j = 0; j < args.n; ++j) {
      const Real<T> column = std::real(order[static_cast<std::size_t>(j)]);
      args.jpvt.set(j, column >= 1 ? std::min(static_cast<index>(column), args.n) : 1);
    }
    std::copy(tau.begin(), tau.end(), args.tau);
  }
  return ending;
}

// ---- what a correct result is

using namespace judging;

constexpr double threshold = 30;  // as of other QRs (impl/qr/judge_qr.cpp)

/// The columns that come first, in the order that they are exchanged into.
template <class T>
std::vector<index> fixed_columns(const Geqp3Args<T>& x) {
  std::vector<index> order;
  std::size_t first = 0;
  for (index j = 0; j < x.n; ++j) {
    order.push_back(j + 1);
    if (x.jpvt.get(j) != 0) std::swap(order.back(), order[first++]);
  }
  order.resize(first);
  return order;
}

/// Whether the columns are in an order, in which these come first.
template <class T>
bool is_order(const Geqp3Args<T>& result, const std::vector<index>& fixed) {
  std::vector<char> seen(static_cast<std::size_t>(result.n));
  for (index j = 0; j < result.n; ++j) {
    const index column = result.jpvt.get(j);
    const auto place = static_cast<std::size_t>(j);
    if (column < 1 || column > result.n || std::exchange(seen[static_cast<std::size_t>(column - 1)], char{1}) ||
        (place < fixed.size() && column != fixed[place]))
      return false;
  }
  return true;
}

/// Whether each column from `first` on begins with no less than what any later one has from there on.
template <class T>
bool is_pivoted(const Geqp3Args<T>& result, index first, long double longest) {
  const long double eps = std::numeric_limits<Real<T>>::epsilon(), m = static_cast<long double>(result.m),
                    n = static_cast<long double>(result.n), off = std::min(0.1L, 4 * std::sqrt(m * eps)),
                    around = 10 * (m + n) * eps * longest;
  const auto size = [&](index i, index j) {
    const T& x = result.A[i + j * result.lda];
    return std::hypot(static_cast<long double>(std::real(x)), static_cast<long double>(std::imag(x)));
  };
  for (index j = first; j < result.n; ++j) {
    long double length = 0;
    for (index i = std::min(j, result.m - 1); i >= first; --i) {
      length = std::hypot(length, size(i, j));
      if (length > size(i, i) * (1 + off) + around) return false;
    }
  }
  return true;
}

}  // namespace

template <class T>
Judgement judge(const JudgingLibrary& by, const Geqp3Args<T>& before, const Geqp3Args<T>& result, const Geqp3Args<T>&,
                const Ending& ending) {
  const index m = before.m, n = before.n;
  if (before.factored() == 0 || ending.info != 0) return {0, threshold};
  const std::vector<index> fixed = fixed_columns(before);
  if (!is_order(result, fixed)) return {HUGE_VAL, threshold};
  Packed<T> A(m, n);
  for_each_of(m, n, [&](index i, index j) { A(i, j) = before.A[i + (result.jpvt.get(j) - 1) * before.lda]; });
  long double longest = 0;
  for (index j = 0; j < n; ++j) {
    long double length = 0;
    for (index i = 0; i < m; ++i)
      length = std::hypot(length, std::hypot(static_cast<long double>(std::real(A(i, j))),
                                             static_cast<long double>(std::imag(A(i, j)))));
    longest = std::max(longest, length);
  }
  Judgement judgement =
      judge(by, GeqrfArgs<T>{m, n, A.at.get(), m, before.tau}, GeqrfArgs<T>{m, n, result.A, result.lda, result.tau});
  if (leaves_room<T>(one_norm(A, n), m + n) && !is_pivoted(result, static_cast<index>(fixed.size()), longest))
    judgement.ratio = HUGE_VAL;
  return judgement;
}

constinit const Family geqp3_family{
    .count = count, .text = text, .cpu_rate = cpu_rate, .cost = cost, .needs = Operation::Kind::geqp3};

template <class T>
Computed geqp3(const Site& site, const Geqp3Args<T>* args, Replay replay) {
  return take_route(site, args, replay,
                    {.learned = together<known>,
                     .problem = problem_of<T>,
                     .operands = operands_of<T>,
                     .compute = compute<T>,
                     .judging = {.judge = judge<T>, .with = judged_with_qr<T>, .alone = always<Geqp3Args<T>>}});
}

#define GEQP3(name, type)                                                                         \
  template Judgement judge(const JudgingLibrary&, const Geqp3Args<type>&, const Geqp3Args<type>&, \
                           const Geqp3Args<type>&, const Ending&);                                \
  template Computed geqp3(const Site&, const Geqp3Args<type>*, Replay);
#include "api/routines.def"

}  // namespace blaslift
