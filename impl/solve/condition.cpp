#include "impl/solve/condition.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "impl/core/any_overlap.hpp"
#include "impl/core/undestroyed.hpp"
#include "impl/judge/judge.hpp"
#include "impl/plan/execute.hpp"
#include "impl/route/attempts.hpp"
#include "impl/route/in_place.hpp"
#include "impl/route/route.hpp"
#include "impl/solve/bring_home.hpp"
#include "impl/solve/system_plan.hpp"

namespace blaslift {
namespace {

constexpr double solutions = 5;  // that an estimate takes as a rule, with two triangles each, or one

// ---- what the family says of a call

/// @tparam triangles  that a solution takes
template <int triangles>
void count(Problem& p) {
  const double n = static_cast<double>(p.n), element = static_cast<double>(element_size(p.element));
  p.empty = p.n == 0;
  p.trivial = p.alpha_zero;  // |A|
  p.too_large = p.n >= index{1} << 31;
  p.flops = (is_complex(p.element) ? 4 : 1) * solutions * triangles * n * n;
  p.volume = solutions * triangles * n * n / 2;
  p.bytes_in = (p.part == Part::whole ? n * n : n * (n + 1) / 2) * element;
}

std::string text(const Problem& p) { return std::string(name_of(p.routine)) + " n=" + std::to_string(p.n); }

/// Triangles are read from memory, an element for every two flops.
double cpu_rate(const Problem& p, const Profile&) {
  constexpr double reading_rate = 2e10;  // bytes/s
  return (is_complex(p.element) ? 8 : 2) / static_cast<double>(element_size(p.element)) * reading_rate;
}

/// A block of the diagonal after the other, in each triangle of each solution.  Of a triangle also its norm, on the
/// CPU.
template <int triangles>
Cost cost(const Problem& p, const Facts& facts, const Policy&, double spared) {
  constexpr double seconds_a_block = 12e-6, block = 64;
  const Profile& profile = *facts.profile;
  const double n = static_cast<double>(p.n), read = n * n / 2 * static_cast<double>(element_size(p.element)),
               seconds_an_element = triangles == 2          ? 0
                                    : is_complex(p.element) ? 6e-9
                                                            : 1.3e-9,
               norm = n * n / 2 * seconds_an_element;
  return {.seconds = profile.latency_seconds + seconds_in(p, facts, spared) + norm +
                     triangles * solutions * (std::ceil(n / block) * seconds_a_block + read / profile.pass_rate)};
}

// ---- the estimate

template <class T>
double size_of_element(const T& x) {
  if constexpr (is_complex(precision_of<T>))
    return std::hypot(static_cast<double>(std::real(x)), static_cast<double>(std::imag(x)));
  else
    return std::fabs(static_cast<double>(x));
}

template <class T>
double one_norm(const std::vector<T>& x) {
  double sum = 0;
  for (const T& element : x) sum += size_of_element(element);
  return sum;
}

/// A lower bound of a matrix's 1-norm, rarely below a third of it.
/// @param multiply  bool(std::vector<T>& x, bool adjoint): x becomes the product with the matrix, or with its adjoint;
///                  false, and there is no estimate
/// @param extreme   a vector that shows it: what the matrix makes of one whose length is at most 1, or 1.5 n
/// @return negative: there is none
template <class T, class Multiply>
double estimated_norm(index n, std::vector<T>& extreme, const Multiply& multiply) {
  constexpr int most_steps = 5;
  const auto size = static_cast<std::size_t>(n);
  std::vector<T> x(size, T(static_cast<Real<T>>(1.0 / static_cast<double>(n))));
  if (!multiply(x, false)) return -1;
  double norm = one_norm(x);
  if (n == 1) return extreme = x, norm;
  std::vector<T> signs(size);
  // Of numbers of length 1; whether they are those of the last time, which only real ones can be.
  const auto to_signs = [&] {
    bool same = !is_complex(precision_of<T>);
    for (std::size_t i = 0; i < size; ++i) {
      const double length = size_of_element(x[i]);
      T sign(1);
      if constexpr (is_complex(precision_of<T>)) {
        if (length > static_cast<double>(std::numeric_limits<Real<T>>::min()))
          sign = x[i] / static_cast<Real<T>>(length);
      } else if (!(x[i] > 0)) {
        sign = -1;
      }
      same = same && signs[i] == sign;
      signs[i] = sign;
    }
    return same;
  };
  const auto largest = [&] {
    const auto shorter = [](const T& a, const T& b) { return size_of_element(a) < size_of_element(b); };
    return static_cast<std::size_t>(std::max_element(x.begin(), x.end(), shorter) - x.begin());
  };
  to_signs();
  x = signs;
  if (!multiply(x, true)) return -1;
  std::size_t column = largest();
  for (int step = 2; step <= most_steps; ++step) {
    std::fill(x.begin(), x.end(), T(0));
    x[column] = T(1);
    if (!multiply(x, false)) return -1;
    const double before = std::exchange(norm, one_norm(x));
    extreme = x;
    if (to_signs() || norm <= before) break;
    x = signs;
    if (!multiply(x, true)) return -1;
    const std::size_t last = std::exchange(column, largest());
    if (size_of_element(x[last]) == size_of_element(x[column])) break;
  }
  // Where the columns that were looked at cancel, this one does not.
  for (std::size_t i = 0; i < size; ++i) {
    const double element = 1 + static_cast<double>(i) / static_cast<double>(n - 1);
    x[i] = T(static_cast<Real<T>>(i % 2 ? -element : element));
  }
  if (!multiply(x, false)) return -1;
  const double other = 2 * one_norm(x) / (3 * static_cast<double>(n));
  if (other <= norm) return norm;
  extreme = x;
  return other;
}

template <class T>
Problem problem_of(Routine routine, const ConditionArgs<T>& x) {
  return counted({.routine = routine,
                  .element = precision_of<T>,
                  .m = x.n,
                  .n = x.n,
                  .alpha_zero = x.anorm == T(0),
                  .overlaps = any_overlap({{x.A, x.n, x.n, x.lda, sizeof(T)}, {x.rcond, 1, 1, 1, sizeof(Real<T>)}}),
                  .part = x.part(),
                  .alpha_finite = is_finite(std::real(x.anorm))});
}

// ---- on the device

constinit Undestroyed<Learned> known[3];  // of such calls, in this process, by what is inverted

enum { operand_a, operand_rcond };

template <class T>
Operands operands_of(Place& place, const ConditionArgs<T>& x, bool ephemeral) {
  return Operands(place,
                  {{.stored = {x.A, x.n, x.n, x.lda, sizeof(T), x.part()}, .reads = true},
                   {.stored = {x.rcond, 1, 1, 1, sizeof(Real<T>)}, .writes = true, .vector = true}},
                  ephemeral);
}

/// A triangular matrix' norm, or how far one came to reading it.
struct TriangleNorm {
  Outcome outcome{Status::done};
  double norm = 0;  ///< NaN if there is one
};

/// As xLANTR: neither the other triangle nor a diagonal of ones is looked at.
/// @param A  located: in the host's memory, or in device memory of the program's, from which it comes home
template <class T>
TriangleNorm triangle_norm(const Site& site, Backend& backend, const ConditionArgs<T>& x, const Operand& A) {
  const bool lower = x.uplo == Uplo::lower;
  const index n = x.n, width = A.out_of_reach() ? std::max<index>(1, std::min(n, (index{1} << 20) / n)) : n;
  TriangleNorm found;
  std::vector<T> home(A.out_of_reach() ? static_cast<std::size_t>(n * width) : 0);
  std::vector<double> lines(static_cast<std::size_t>(n));
  for (index first = 0; first < n; first += width) {
    const index cols = std::min(width, n - first);
    const T* at = x.A + first * x.lda;
    index ld = x.lda;
    if (!home.empty()) {
      found.outcome = bring_home(site, backend, at, ld, n, cols, home.data());
      if (found.outcome.status != Status::done) return found;
      at = home.data();
      ld = n;
    }
    for (index j = first; j < first + cols; ++j) {
      const T* const column = at + (j - first) * ld;
      const index skipped = x.unit ? 1 : 0, begin = lower ? j + skipped : 0, end = lower ? n : j + 1 - skipped;
      double sum = x.unit ? 1 : 0;
      if (x.by_rows) {
        if (x.unit) lines[static_cast<std::size_t>(j)] += 1;
        for (index i = begin; i < end; ++i) lines[static_cast<std::size_t>(i)] += size_of_element(column[i]);
      } else {
        for (index i = begin; i < end; ++i) sum += size_of_element(column[i]);
        lines[static_cast<std::size_t>(j)] = sum;
      }
    }
  }
  for (const double line : lines)
    if (found.norm < line || std::isnan(line)) found.norm = line;  // a NaN stays: nothing is larger
  return found;
}

/// All solutions of an estimate, with A in one place.
template <class T>
class Estimate {
 public:
  Estimate(Place& place, const Site& site, Backend& backend, const ConditionArgs<T>& args, const Operands& operands)
      : anorm(static_cast<double>(std::real(args.anorm))),
        place_(place),
        site_(site),
        backend_(backend),
        args_(args),
        operands_(operands) {
    for (const bool adjoint : {false, true}) {
      const SystemShape shape{.lu = args.lu(),
                              .factored = true,
                              .trans = !adjoint || args.of == InverseOf::cholesky ? Op::none
                                       : is_complex(precision_of<T>)              ? Op::conjugate
                                                                                  : Op::transpose,
                              .uplo = args.uplo,
                              .n = args.n,
                              .nrhs = 1,
                              .in_order = true,
                              .triangle = args.of == InverseOf::triangle,
                              .unit = args.unit};
      plans_[adjoint] = plan_system(shape, precision_of<T>, {.panel = args.n, .width = 1}, {.a = true});
      plans_[adjoint].operands[1].ours = true;  // the columns that are solved for
    }
  }

  bool fits(std::size_t memory) const { return bytes() <= memory; }

  /// In a lease, but for what A has of its own.  Nothing is under way afterwards.
  Outcome attempt(bool wait) {
    const Operand& a = operands_[operand_a];
    at_ = placed(a);
    const std::size_t size = bytes();
    Outcome all{Status::no_memory};
    if (size > place_.arena.limit() - std::min(place_.arena.limit(), operands_.held_bytes())) return all;
    void* lease = nullptr;
    all.status = place_.arena.take(size, wait, lease);
    if (all.status != Status::done) return all;
    const Leased leased(place_.arena, lease, size);
    if (!at_.device) {
      at_.device = lease;
      at_.ld = args_.n;
      at_.missing = a.missing();
      lease = static_cast<char*>(lease) + leased_bytes(args_.n, args_.n, sizeof(T));
    }
    const double norm = estimated_norm<T>(args_.n, extreme, [&](std::vector<T>& x, bool adjoint) {
      return solve(x, adjoint != args_.by_rows, lease, all);
    });
    all.taken_back = all.status == Status::done && norm < 0;
    rcond = norm > 0 ? static_cast<Real<T>>(1 / norm / anorm) : Real<T>(0);
    if (!is_finite(rcond) || norm == 0) all.taken_back = all.status == Status::done;
    return all;
  }

  double anorm;  ///< |A|
  Real<T> rcond{};
  std::vector<T> extreme{};  ///< estimated_norm()'s

 private:
  std::size_t bytes() const {
    return std::max(plans_[0].bytes(sizeof(T)), plans_[1].bytes(sizeof(T))) +
           (placed(operands_[operand_a]).device ? 0 : leased_bytes(args_.n, args_.n, sizeof(T)));
  }

  bool solve(std::vector<T>& x, bool adjoint, void* lease, Outcome& all) {
    const Plan& plan = plans_[adjoint];
    const double vector = static_cast<double>(x.size()) * sizeof(T), missing = at_.missing.empty() ? 0 : 1;
    Outcome outcome{Status::lost};
    HostBlas blas(site_);
    if (Lane* lane = backend_.acquire(
            blas.operations(), static_cast<std::size_t>(2 * vector + missing * operands_[operand_a].stored.bytes()),
            outcome.status)) {
      const Acquired acquired(backend_, lane);
      const std::vector<CallOperand<T>> operands{{args_.A, args_.lda, at_}, {x.data(), args_.n}};
      outcome = execute<T>(plan, operands, {}, lease, piece_bytes(backend_, vector), *lane, not_exiting);
    }
    outcome.add(all);
    all = outcome;
    at_.missing.clear();  // it is there from now on
    return all.status == Status::done && std::all_of(x.begin(), x.end(), [](const T& e) { return is_finite(e); });
  }

  Place& place_;
  const Site& site_;
  Backend& backend_;
  const ConditionArgs<T>& args_;
  const Operands& operands_;
  Plan plans_[2];
  Placed at_{};
};

/// On the device.  If that does not come to an end, or to no result, rcond is what it was.
template <class T>
Ending compute(Place& place, const Site& site, Backend& backend, const Problem&, const ConditionArgs<T>& args,
               Operands& operands, const Decision& decision) {
  if (!place.device.can(condition_family.needs, precision_of<T>)) return {Reason::no_route};
  operands.locate(backend);
  if (operands[operand_rcond].out_of_reach()) return {Reason::no_route};
  Estimate<T> estimate(place, site, backend, args, operands);
  if (!estimate.fits(place.arena.limit())) return {Reason::no_room};
  if (args.of == InverseOf::triangle) {
    const TriangleNorm found = triangle_norm(site, backend, args, operands[operand_a]);
    if (found.outcome.status != Status::done) return {give_up(place, backend, found.outcome.status)};
    estimate.anorm = static_cast<Real<T>>(found.norm);  // LAPACK's sum, which may overflow: then rcond is 0
  }
  operands.look();
  operands.keep_inputs();
  Outcome outcome = in_attempts(
      operands, [&](bool wait) { return estimate.attempt(wait); }, [] { return true; });
  // Of a singular matrix where nobody else can look at it: as LAPACK, 0.
  if (outcome.taken_back && operands[operand_a].out_of_reach()) {
    estimate.rcond = 0;
    outcome.taken_back = false;
  }
  if (outcome.status == Status::done && !outcome.taken_back) {
    place.residency.before_writing(operands[operand_rcond].stored);
    *args.rcond = estimate.rcond;
    // Nobody says so, but LAPACK's own xLATDF looks for it there.
    T* const left = args.work + args.n;
    if (backend.memory_kind(left, estimate.extreme.size() * sizeof(T), false) != MemoryKind::on_a_device)
      std::copy(estimate.extreme.begin(), estimate.extreme.end(), left);
  }
  Ending ending = ended(place, backend, decision, operands, outcome);
  if (outcome.taken_back) ending.reason = args.of == InverseOf::cholesky ? Reason::not_definite : Reason::singular;
  return ending;
}

// ---- what a correct result is

/// The larger estimate over the smaller one.  Those of two right implementations are the same but for roundings, where
/// these do not decide which columns are looked at.  All are lower bounds of the norm.  So where ours is the smaller
/// bound, it has to be within the estimator's usual factor of 3, as LAPACK's testers take it (dget06).  Where it is the
/// larger one, it is the library's that may be further off: of L of a Hilbert matrix of order 12 LAPACK's is, by 3.04.
/// Then within 10, as Higham found it (Accuracy and Stability, 15.3).
template <class T>
Judgement judge(const JudgingLibrary&, const ConditionArgs<T>& before, const ConditionArgs<T>& result,
                const ConditionArgs<T>& reference, const Ending&) {
  constexpr double ours_smaller = 3, ours_larger = 10;
  Judgement judgement{0, ours_smaller};
  if (before.n == 0) return judgement;
  const double a = static_cast<double>(*result.rcond), b = static_cast<double>(*reference.rcond);
  if (!is_finite(b)) return judgement;
  // LAPACK takes what is as small for nothing, once it has scaled a solution.
  if (std::max(a, b) <
      static_cast<double>(std::numeric_limits<Real<T>>::min() / std::numeric_limits<Real<T>>::epsilon()))
    return judgement;
  if (!(a > 0 && b > 0))
    judgement.ratio = HUGE_VAL;
  else
    judgement.ratio = a >= b ? a / b : b / a * (ours_smaller / ours_larger);
  return judgement;
}

}  // namespace

constinit const Family condition_family{
    .count = count<2>, .text = text, .cpu_rate = cpu_rate, .cost = cost<2>, .needs = Operation::Kind::trsm},
    trcon_family{
        .count = count<1>, .text = text, .cpu_rate = cpu_rate, .cost = cost<1>, .needs = Operation::Kind::trsm};

template <class T>
Computed condition(const Site& site, const ConditionArgs<T>* args, Replay replay) {
  return take_route(
      site, args, replay,
      {.learned = [](const ConditionArgs<T>& x) -> Learned& { return known[static_cast<int>(x.of)].value; },
       .problem = problem_of<T>,
       .operands = operands_of<T>,
       .compute = compute<T>,
       .judging = {.judge = judge<T>},
       .timed = timed_vector_flops});
}

#define GECON(name, type) template Computed condition(const Site&, const ConditionArgs<type>*, Replay);
#include "api/routines.def"

}  // namespace blaslift
