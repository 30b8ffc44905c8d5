#include "impl/eigen/syevd.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "impl/core/any_overlap.hpp"
#include "impl/core/library_call.hpp"
#include "impl/core/undestroyed.hpp"
#include "impl/eigen/interval.hpp"
#include "impl/eigen/syevd_plan.hpp"
#include "impl/judge/bounds.hpp"
#include "impl/judge/judge.hpp"
#include "impl/route/lapack_section.hpp"
#include "impl/route/planned.hpp"
#include "impl/route/route.hpp"

namespace blaslift {
namespace {

// ---- what the family says of a call; k is the number of eigenvectors

double cube(index n) { return static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n); }

/// What divisions into halves take, as a device makes them of every call: the tridiagonal form; of that all vectors,
/// and they from there to the matrix's own.
double flops_by_halves(const Problem& p) {
  return (is_complex(p.element) ? 4.0 : 1.0) * (p.k > 0 ? 14.0 : 4.0) / 3 * cube(p.n);
}

template <EigenDriver driver>
void count(Problem& p) {
  const double n = static_cast<double>(p.n), element = static_cast<double>(element_size(p.element));
  const bool replaced = p.k > 0 && driver != EigenDriver::evr;  // A, by its vectors
  p.empty = p.n == 0;
  p.too_large = p.n >= index{1} << 31;
  p.flops = eigen_flops(driver, p);
  p.volume = n * n * n;
  p.bytes_in = (replaced ? n * n : n * (n + 1) / 2) * element;
  p.bytes_out = n * static_cast<double>(p.k) * element;
}

std::string text(const Problem& p) {
  return std::string(name_of(p.routine)) + (p.k > 0 ? " V" : " N") + (p.part == Part::upper ? "U" : "L") +
         " n=" + std::to_string(p.n) + (p.k > 0 && p.k < p.n ? " m=" + std::to_string(p.k) : std::string());
}

Cost cost(const Problem& p, const Facts& facts, const Policy&, double spared) {
  const Profile& profile = *facts.profile;
  return {.seconds = profile.latency_seconds + seconds_in(p, facts, spared) + syevd_seconds(p, profile) +
                     seconds_out(p, facts)};
}

// ---- on the device

/// Of such calls, in this process, by driver: their CPU times differ by more than sizes.
constinit Undestroyed<Learned> known[4];

enum { operand_a, operand_z, operand_w, operand_of_vectors };

template <class T>
bool overlaps(const SyevdArgs<T>& x) {
  const EigenShape shape = x.shape();
  const auto column = [](const void* at, index rows, std::size_t element) {
    return Stored{at, rows, 1, std::max<index>(1, rows), element};
  };
  return any_overlap({{x.A, x.n, x.n, x.lda, sizeof(T)},
                      column(x.w, x.n, sizeof(Real<T>)),
                      {x.Z, shape.apart ? x.n : 0, known_columns(x), x.ldz, sizeof(T)},
                      column(x.m.at, x.chooses() ? 1 : 0, element_size(x.m)),
                      column(x.of_vectors.at, x.count_of_vectors(), element_size(x.of_vectors))});
}

template <class T>
Problem problem_of(Routine routine, const SyevdArgs<T>& x) {
  const EigenShape shape = x.shape();
  return counted({.routine = routine,
                  .element = precision_of<T>,
                  .m = x.n,
                  .n = x.n,
                  .k = shape.vectors ? shape.count : 0,
                  .overlaps = overlaps(x),
                  .part = part_of(x.uplo)});
}

/// A is of no use to later calls that LAPACK says is destroyed, though the device leaves it as it was.  Of an
/// interval's vectors the call itself takes care.
template <class T>
Operands operands_of(Place& place, const SyevdArgs<T>& x, bool ephemeral) {
  const EigenShape shape = x.shape();
  const bool interval = x.range == EigenRange::interval;
  const index besides = x.count_of_vectors();
  return Operands(place,
                  {{.stored = {x.A, x.n, x.n, x.lda, sizeof(T), x.written()},
                    .writes = shape.vectors && !shape.apart,
                    .reads = true,
                    .destroyed = true},
                   {.stored = {x.Z, shape.apart ? x.n : 0, known_columns(x), std::max<index>(1, x.ldz), sizeof(T)},
                    .writes = shape.apart && !interval,
                    .reads = interval,  // or nobody would look where it is
                    .vector = interval},
                   {.stored = {x.w, shape.count, 1, std::max<index>(1, shape.count), sizeof(Real<T>)},
                    .writes = true,
                    .vector = true},
                   {.stored = {x.of_vectors.at, besides, 1, std::max<index>(1, besides), element_size(x.of_vectors)},
                    .writes = true,
                    .vector = true}},
                  ephemeral);
}

/// On the device.  If that does not come to an end, or to no result, what is in the host's memory is what it was.
template <class T>
Ending compute(Place& place, const Site& site, Backend& backend, const Problem& problem, const SyevdArgs<T>& args,
               Operands& operands, const Decision& decision) {
  operands.locate(backend);
  const EigenShape shape = args.shape();
  const bool interval = args.range == EigenRange::interval;
  const bool a_there = operands[operand_a].out_of_reach(), z_there = operands[operand_z].out_of_reach(),
             w_there = operands[operand_w].out_of_reach();
  if (operands[operand_of_vectors].out_of_reach()) return {Reason::no_route};
  if (interval && (a_there || z_there || w_there)) return {Reason::of_interval};
  if (!has_room_for_vectors(args, 0)) return {Reason::no_room};
  if (!a_there && !z_there && !syevd_fits(shape, precision_of<T>, place.arena.limit())) return {Reason::no_room};
  const index count = elements_of_reals(shape.count, precision_of<T>);
  std::vector<T> values(w_there ? 0 : static_cast<std::size_t>(count)), failed(1);
  // All of them come home, since how many there are in an interval is known with them.
  const auto vectors = room_for_vectors(args);
  const bool apart = shape.apart && !vectors;
  PlannedCall<T> planned(place, site, backend, problem, operands, {});
  planned.in_plan = apart ? 2 : 1;
  planned.own = {{values.data(), count}, {failed.data(), 1}};
  if (vectors) planned.own.insert(planned.own.begin(), {vectors.get(), shape.n});
  if (w_there) planned.own[0].placed = {.device = args.w, .ld = count, .in_place = true};
  bool none = false;
  planned.sound = [&] {
    none = failed[0] != T(0);
    return !none || a_there || z_there || w_there;
  };
  const auto make_plan = [&](const std::vector<Placed>& at) {
    Plan plan = plan_syevd(shape, precision_of<T>, at[operand_a].device != nullptr,
                           apart && at[operand_z].device != nullptr, w_there);
    return vectors ? of_own(std::move(plan), 1) : plan;
  };
  Ending ending = planned.compute(decision, false, make_plan, [](index, index) {});
  index found = none ? 0 : shape.count;
  if (ending.computed && !w_there) {
    const index handed = hand_over(args, reinterpret_cast<const Real<T>*>(values.data()), vectors.get());
    if (!none) found = handed;
  }
  if (ending.computed) say_besides(args, found);
  if (none && !ending.computed) ending.reason = Reason::not_converged;
  ending.info = none;
  return ending;
}

// ---- what a correct result is

using namespace judging;

constexpr double threshold = 50;

/// Of A, all of it.
template <class T>
T element_of_matrix(const SyevdArgs<T>& x, index i, index j) {
  return hermitian_element(x.uplo, x.A, x.lda, i, j);
}

template <class T>
bool has_numbers(const SyevdArgs<T>& x) {
  bool finite = true;
  for_each_of(x.n, x.n, [&](index i, index j) { finite = finite && is_finite(element_of_matrix(x, i, j)); });
  return finite;
}

/// The largest eigenvalue's size is at least the largest column's, |A e_j|.
template <class T>
double least_size(const SyevdArgs<T>& x) {
  double largest = 0;
  for (index j = 0; j < x.n; ++j) {
    double length = 0;
    for (index i = 0; i < x.n; ++i) {
      const T a = element_of_matrix(x, i, j);
      length = std::hypot(length, static_cast<double>(std::real(a)), static_cast<double>(std::imag(a)));
    }
    largest = std::max(largest, length);
  }
  return largest;
}

/// @param shape  with as many of them as have been found
template <class T>
Judgement judge_values(const SyevdArgs<T>& before, const EigenShape& shape, const Real<T>* result,
                       const Real<T>* reference) {
  Judgement judgement{0, threshold};
  double size = shape.all() ? 0 : least_size(before), off = 0;
  for (index i = 0; i < shape.count; ++i) {
    if (!is_finite(reference[i])) return judgement;
    if (!is_finite(result[i])) return judgement.ratio = HUGE_VAL, judgement;
    size = std::max(size, std::fabs(static_cast<double>(reference[i])));
    off = std::max(off, std::fabs(static_cast<double>(result[i]) - static_cast<double>(reference[i])));
  }
  off -= static_cast<double>(allowed_off(before));
  if (off > 0)
    judgement.ratio = off / std::max(static_cast<double>(std::numeric_limits<Real<T>>::min()),
                                     static_cast<double>(before.n) *
                                         static_cast<double>(std::numeric_limits<Real<T>>::epsilon()) * size);
  return judgement;
}

/// With eigenvectors LAPACK's own kind of test (dsyt21, dsyt22): the larger one of |A V - V diag(w)| / (n eps |A|) and
/// |I - V^H V| / (n eps), 1-norms.  Without them, or if these are not all, the largest |w - reference| / (n eps |w|),
/// with |w| the largest eigenvalue, or A's longest column where only some are known.  With LAPACK's threshold (sep.in).
template <class T>
Judgement judge(const JudgingLibrary& by, const SyevdArgs<T>& before, const SyevdArgs<T>& result,
                const SyevdArgs<T>& reference, const Ending& ending) {
  EigenShape shape = before.shape();
  if (ending.info != 0) return {0, threshold};
  if (!has_numbers(before)) return {0, threshold};  // whatever a library makes of it
  const Real<T>* due = reference.w;
  std::vector<Real<T>> all;
  if (before.range == EigenRange::interval) {
    shape.count = result.m.get(0);
    if (shape.count < 0 || shape.count > shape.n) return {HUGE_VAL, threshold};
    all = all_eigenvalues(before, [&](const SyevdArgs<T>& of_all) { (void)call_by(by.site, of_all); });
    long double size = least_size(before);
    for (const Real<T> value : all) {
      if (!is_finite(value)) return {0, threshold};
      size = std::max(size, std::fabs(static_cast<long double>(value)));
    }
    const long double margin = threshold * static_cast<long double>(shape.n) * size *
                                   static_cast<long double>(std::numeric_limits<Real<T>>::epsilon()) +
                               static_cast<long double>(allowed_off(before));
    const std::optional<index> first = first_in_interval(before, all, result.w, shape.count, margin);
    if (!first) return {HUGE_VAL, threshold};
    due = all.data() + *first;
  } else if (before.chooses() && result.m.get(0) != shape.count) {
    return {HUGE_VAL, threshold};
  }
  const index n = shape.n, count = shape.count;
  Judgement judgement{0, threshold};
  // Of some of the vectors it is not clear otherwise that they are those asked for.
  if (!shape.vectors || !shape.all()) judgement = judge_values(before, shape, result.w, due);
  if (!shape.vectors || count == 0 || judgement.ratio == HUGE_VAL) return judgement;
  const T* const vectors = shape.apart ? result.Z : result.A;
  const index ld = shape.apart ? result.ldz : result.lda;
  Packed<T> A(n, n), V(n, count), rest(n, count), gram(count, count);
  bool finite = true;
  for_each_of(n, n, [&](index i, index j) { A(i, j) = element_of_matrix(before, i, j); });
  for_each_of(n, count, [&](index i, index j) {
    V(i, j) = vectors[i + j * ld];
    rest(i, j) = -V(i, j) * T(result.w[j]);
    finite = finite && is_finite(V(i, j)) && is_finite(rest(i, j));
  });
  for_each_of(count, count, [&](index i, index j) { gram(i, j) = T(i == j ? -1 : 0); });
  const long double size = one_norm(A, n),
                    largest = std::numeric_limits<Real<T>>::max() / (16 * static_cast<long double>(n + 1));
  if (!(size < largest)) return judgement;  // what is computed on the way may overflow
  for (index j = 1; j < count; ++j) finite = finite && result.w[j - 1] <= result.w[j];
  if (!finite) return judgement.ratio = HUGE_VAL, judgement;
  const T one(1);
  const Op adjoint = complex_type<T> ? Op::conjugate : Op::transpose;
  call_product(*by.beside[0], {precision_of<T>, Op::none, Op::none, n, count, n, &one, A.at.get(), n, V.at.get(), n,
                               &one, rest.at.get(), n});
  call_product(*by.beside[0], {precision_of<T>, adjoint, Op::none, count, count, n, &one, V.at.get(), n, V.at.get(), n,
                               &one, gram.at.get(), count});
  const long double unit = static_cast<long double>(n) * std::numeric_limits<Real<T>>::epsilon(),
                    allowed = std::sqrt(static_cast<long double>(n)) * static_cast<long double>(allowed_off(before)),
                    off = one_norm(rest, count) - allowed;
  judgement.ratio = std::max(judgement.ratio, static_cast<double>(one_norm(gram, count) / unit));
  // Where the matrix is about to vanish, roundings are not what eps says.
  if (off > static_cast<long double>(std::numeric_limits<Real<T>>::min()) * static_cast<long double>(n * (n + 2)))
    judgement.ratio = std::max(judgement.ratio, static_cast<double>(off / (unit * size)));
  return judgement;
}

}  // namespace

double eigen_flops(EigenDriver driver, const Problem& p) {
  const double form = 4.0 / 3 * cube(p.n);
  double flops = form;
  if (driver == EigenDriver::evd) return flops_by_halves(p);
  // Q, and three rotations of its columns for each of them (Golub and Van Loan, Matrix Computations, 8.3).
  if (driver == EigenDriver::ev && p.k > 0) flops += form + 6 * cube(p.n);
  // The tridiagonal matrix's vectors are next to nothing; only those asked for become the matrix's own.  So it is with
  // evx, too, as far as nothing has to be made orthogonal.
  if (driver == EigenDriver::evr || driver == EigenDriver::evx)
    flops += 2 * static_cast<double>(p.n) * static_cast<double>(p.n) * static_cast<double>(p.k);
  return (is_complex(p.element) ? 4.0 : 1.0) * flops;
}

/// Half of the tridiagonal form is products of the matrix with vectors, which wait for memory.
double cpu_rate_of_eigenproblems(const Problem& p, const Profile& profile) {
  return cpu_rate_of_products(p, profile) / 4;
}

/// cuSOLVER 12.0 on an H100, FP64, from and to the host's memory: 11, 27.7, 127, 626 and 3,784 ms with vectors, of
/// order 1,024, 2,048 and so on to 16,384; without them a tenth less.  It computes all of them whatever the driver: if
/// some are asked for, less comes home.
double syevd_seconds(const Problem& p, const Profile& profile) {
  if (const auto seconds = measured_seconds(profile, p.k > 0 ? LapackWork::syevd : LapackWork::syevd_values,
                                            p.precision(), static_cast<double>(p.n)))
    return *seconds;
  constexpr double step = 7e-3, square = 3.5e-3, thousand = 1024, without_vectors = 0.9, beside_products = 7;
  const double x = static_cast<double>(p.n) / thousand, part = p.k > 0 ? 1 : without_vectors;
  Problem whole = p;
  whole.k = p.n;
  return part * (step * x + square * x * x +
                 beside_products * flops_by_halves(whole) / profile.gemm_rate[static_cast<int>(p.element.name)]);
}

constinit const Family syevd_family{.count = count<EigenDriver::evd>,
                                    .text = text,
                                    .cpu_rate = cpu_rate_of_eigenproblems,
                                    .cost = cost,
                                    .needs = Operation::Kind::syevd};
constinit const Family syev_family{.count = count<EigenDriver::ev>,
                                   .text = text,
                                   .cpu_rate = cpu_rate_of_eigenproblems,
                                   .cost = cost,
                                   .needs = Operation::Kind::syevd};
constinit const Family syevr_family{.count = count<EigenDriver::evr>,
                                    .text = text,
                                    .cpu_rate = cpu_rate_of_eigenproblems,
                                    .cost = cost,
                                    .needs = Operation::Kind::syevd};

template <class T>
Computed syevd(const Site& site, const SyevdArgs<T>* args, Replay replay) {
  return take_route(
      site, args, replay,
      {.learned = [](const SyevdArgs<T>& x) -> Learned& { return known[static_cast<int>(x.driver)].value; },
       .problem = problem_of<T>,
       .operands = operands_of<T>,
       .compute = compute<T>,
       .judging = {.judge = judge<T>, .with = judged_with_products<T>, .alone = stands_alone<T>}});
}

#define SYEVD(name, type) template Computed syevd(const Site&, const SyevdArgs<type>*, Replay);
#include "api/routines.def"

}  // namespace blaslift
