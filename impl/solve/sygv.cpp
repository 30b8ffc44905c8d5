#include "impl/solve/sygv.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "impl/cholesky/potrf.hpp"
#include "impl/core/any_overlap.hpp"
#include "impl/core/library_call.hpp"
#include "impl/core/undestroyed.hpp"
#include "impl/eigen/interval.hpp"
#include "impl/eigen/syevd.hpp"
#include "impl/judge/bounds.hpp"
#include "impl/judge/judge.hpp"
#include "impl/lu/getrf.hpp"
#include "impl/route/planned.hpp"
#include "impl/route/route.hpp"
#include "impl/solve/sygv_plan.hpp"

namespace blaslift {
namespace {

// ---- what the families say of a call; k is the number of eigenvectors

double factor_flops(const Problem& p) {
  const double n = static_cast<double>(p.n);
  return (is_complex(p.element) ? 4.0 : 1.0) * n * n * n / 3;
}
/// With B's factor, for so many columns or rows.
double solving_flops(const Problem& p, double others) {
  const double n = static_cast<double>(p.n);
  return (is_complex(p.element) ? 4.0 : 1.0) * n * n * others;
}

template <EigenDriver driver>
void count(Problem& p) {
  const double n = static_cast<double>(p.n), element = static_cast<double>(element_size(p.element)),
               triangle = n * (n + 1) / 2;
  const bool replaced = p.k > 0 && driver != EigenDriver::evx;  // A, by its vectors
  p.empty = p.n == 0;
  p.too_large = p.n >= index{1} << 31;
  // LAPACK reduces A for what solving from one side takes.
  p.flops = eigen_flops(driver, p) + factor_flops(p) + solving_flops(p, n + static_cast<double>(p.k));
  p.volume = n * n * n;
  p.bytes_in = ((replaced ? n * n : triangle) + triangle) * element;
  p.bytes_out = (n * static_cast<double>(p.k) + triangle) * element;
}

std::string text(const Problem& p) {
  return std::string(name_of(p.routine)) + (p.k > 0 ? " V" : " N") + (p.part == Part::upper ? "U" : "L") +
         " n=" + std::to_string(p.n) + (p.k > 0 && p.k < p.n ? " m=" + std::to_string(p.k) : std::string());
}

/// One after the other, as syevd, potrf and trsm take it.
Cost cost(const Problem& p, const Facts& facts, const Policy&, double spared) {
  constexpr double seconds_a_block = 12e-6, block = 64, half = 2048;
  const Profile& profile = *facts.profile;
  const double n = static_cast<double>(p.n), rate = profile.gemm_rate[static_cast<int>(p.element.name)],
               solves = p.k > 0 ? 3 : 2,
               solving = solves * std::ceil(n / block) * seconds_a_block +
                         solving_flops(p, 2 * n + static_cast<double>(p.k)) / rate * (1 + half / n);
  return {.seconds = profile.latency_seconds + seconds_in(p, facts, spared) +
                     potrf_seconds(p.n, factor_flops(p), p.precision(), profile) + solving + syevd_seconds(p, profile) +
                     seconds_out(p, facts)};
}

// ---- on the device

/// Of such calls, in this process, by driver: their CPU times differ by more than sizes.
constinit Undestroyed<Learned> known[4];

enum { operand_a, operand_b, operand_z, operand_w, operand_of_vectors };

template <class T>
bool overlaps(const SygvArgs<T>& args) {
  const SyevdArgs<T>& x = args.eigen;
  const EigenShape shape = x.shape();
  const auto column = [](const void* at, index rows, std::size_t element) {
    return Stored{at, rows, 1, std::max<index>(1, rows), element};
  };
  return any_overlap({{x.A, x.n, x.n, x.lda, sizeof(T)},
                      {args.B, x.n, x.n, args.ldb, sizeof(T)},
                      column(x.w, x.n, sizeof(Real<T>)),
                      {x.Z, shape.apart ? x.n : 0, known_columns(x), x.ldz, sizeof(T)},
                      column(x.m.at, x.chooses() ? 1 : 0, element_size(x.m)),
                      column(x.of_vectors.at, x.count_of_vectors(), element_size(x.of_vectors))});
}

template <class T>
Problem problem_of(Routine routine, const SygvArgs<T>& x) {
  const EigenShape shape = x.eigen.shape();
  return counted({.routine = routine,
                  .element = precision_of<T>,
                  .m = x.eigen.n,
                  .n = x.eigen.n,
                  .k = shape.vectors ? shape.count : 0,
                  .overlaps = overlaps(x),
                  .part = part_of(x.eigen.uplo)});
}

/// A is of no use to later calls that LAPACK says is destroyed, though the device leaves it as it was.
template <class T>
Operands operands_of(Place& place, const SygvArgs<T>& args, bool ephemeral) {
  const SyevdArgs<T>& x = args.eigen;
  const EigenShape shape = x.shape();
  const bool interval = x.range == EigenRange::interval;
  const index besides = x.count_of_vectors();
  return Operands(place,
                  {{.stored = {x.A, x.n, x.n, x.lda, sizeof(T), x.written()},
                    .writes = shape.vectors && !shape.apart,
                    .reads = true,
                    .destroyed = true},
                   {.stored = {args.B, x.n, x.n, args.ldb, sizeof(T), part_of(x.uplo)},
                    .writes = true,
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
Ending compute(Place& place, const Site& site, Backend& backend, const Problem& problem, const SygvArgs<T>& args,
               Operands& operands, const Decision& decision) {
  operands.locate(backend);
  const SyevdArgs<T>& x = args.eigen;
  const EigenShape shape = x.shape();
  const auto there = [&](std::size_t operand) { return operands[operand].out_of_reach(); };
  const bool w_there = there(operand_w),
             any_there = there(operand_a) || there(operand_b) || there(operand_z) || w_there;
  if (there(operand_of_vectors)) return {Reason::no_route};
  if (x.range == EigenRange::interval && any_there) return {Reason::of_interval};
  if (!has_room_for_vectors(x, 1)) return {Reason::no_room};
  if (!any_there && !sygv_fits(args.itype, shape, precision_of<T>, place.arena.limit())) return {Reason::no_room};
  const PotrfCut cut = sygv_cut(shape.n, precision_of<T>);
  const index count = elements_of_reals(shape.count, precision_of<T>), panels = cut.panels(shape.n);
  std::vector<T> values(w_there ? 0 : static_cast<std::size_t>(count)), pivots(static_cast<std::size_t>(panels)),
      failed(1);
  // All of them come home, since how many there are in an interval is known with them.
  const auto vectors = room_for_vectors(x);
  const bool apart = shape.apart && !vectors;
  PlannedCall<T> planned(place, site, backend, problem, operands, {});
  planned.in_plan = apart ? 3 : 2;
  planned.own = {{values.data(), count}, {pivots.data(), panels}, {failed.data(), 1}};
  if (vectors) planned.own.insert(planned.own.begin(), {vectors.get(), shape.n});
  if (w_there) planned.own[0].placed = {.device = x.w, .ld = count, .in_place = true};
  index info = 0;
  // Without a factor of B nothing that comes home means anything.
  const bool comes_home = !there(operand_b) || (shape.vectors && !there(shape.apart ? operand_z : operand_a));
  planned.sound = [&] {
    const index pivot = first_failure(pivots, cut.panel);
    info = pivot > 0 ? shape.n + pivot : failed[0] != T(0);
    return info == 0 || (any_there && !(pivot > 0 && comes_home));
  };
  const auto make_plan = [&](const std::vector<Placed>& at) {
    const auto held = [&](std::size_t operand) { return at[operand].device != nullptr; };
    Plan plan = plan_sygv(args.itype, shape, precision_of<T>, cut,
                          {held(operand_a), held(operand_b), apart && held(operand_z), w_there});
    return vectors ? of_own(std::move(plan), 2) : plan;
  };
  Ending ending = planned.compute(decision, false, make_plan, [](index, index) {});
  // What is in the host's memory is what it was, and of what is in device memory the library underneath knows nothing.
  if (info > shape.n && any_there) ending.computed = true;
  index found = info == 0 ? shape.count : 0;
  if (ending.computed && !w_there && info <= shape.n) {  // with no factor of B, LAPACK does not write w
    const index handed = hand_over(x, reinterpret_cast<const Real<T>*>(values.data()), vectors.get());
    if (info == 0) found = handed;
  }
  if (ending.computed) say_besides(x, found);
  if (info > 0 && !ending.computed) ending.reason = info > shape.n ? Reason::not_definite : Reason::not_converged;
  ending.info = info;
  return ending;
}

// ---- what a correct result is

using namespace judging;

constexpr double threshold = 20;

Judgement worse(const Judgement& x, const Judgement& y) { return x.ratio / x.limit > y.ratio / y.limit ? x : y; }

/// |B^-1|, of a matrix whose Cholesky factor is there.
template <class T>
long double norm_of_inverse(const JudgingLibrary& by, const SygvArgs<T>& result) {
  const index n = result.eigen.n;
  const Uplo uplo = result.eigen.uplo;
  const Op adjoint = complex_type<T> ? Op::conjugate : Op::transpose;
  Packed<T> X(n, n);
  for_each_of(n, n, [&](index i, index j) { X(i, j) = T(i == j ? 1 : 0); });
  const bool lower = uplo == Uplo::lower;
  for (const Op op : {lower ? Op::none : adjoint, lower ? adjoint : Op::none})
    (void)call_by(*by.beside[1], TrsmArgs<T>{true, uplo, op, false, n, n, T(1), result.B, result.ldb, X.at.get(), n});
  return one_norm(X, n);
}

template <class T>
long double row_norm(Packed<T>& x, index cols) {
  long double largest = 0;
  for (index i = 0; i < x.ld; ++i) {
    long double sum = 0;
    for (index j = 0; j < cols; ++j)
      sum += std::hypot(static_cast<long double>(std::real(x(i, j))), static_cast<long double>(std::imag(x(i, j))));
    largest = std::max(largest, sum);
  }
  return largest;
}

/// The library's gemm and its trsm.
template <class T>
std::vector<Routine> judged_with_products_and_solves() {
  std::vector<Routine> routines = judged_with_products<T>();
#define TRSM(name, type) \
  if (std::is_same_v<T, type>) routines.push_back(Routine::name);
#include "api/routines.def"
  return routines;
}

}  // namespace

template <class T>
Judgement judge(const JudgingLibrary& by, const SygvArgs<T>& before, const SygvArgs<T>& result,
                const SygvArgs<T>& reference, const Ending& ending) {
  const SyevdArgs<T>&x = before.eigen, &found = result.eigen;
  EigenShape shape = x.shape();
  const index n = shape.n;
  const bool of_quotient = before.itype == 1;  // of B^-1 A; otherwise of a product
  Judgement judgement{0, threshold};
  if (n == 0 || ending.info != 0) return judgement;
  Packed<T> A(n, n), B(n, n);
  bool finite = true;
  for_each_of(n, n, [&](index i, index j) {
    A(i, j) = hermitian_element(x.uplo, x.A, x.lda, i, j);
    B(i, j) = hermitian_element(x.uplo, before.B, before.ldb, i, j);
    finite = finite && is_finite(A(i, j)) && is_finite(B(i, j));
  });
  if (!finite) return judgement;  // whatever a library makes of it
  const auto as_potrf = [&](const SygvArgs<T>& of) { return PotrfArgs<T>{x.uplo, n, of.B, of.ldb}; };
  const Judgement factor = judge(by, as_potrf(before), as_potrf(result), as_potrf(result), ending);
  for (index i = 0; i < n; ++i)  // ended by a pivot: there are no eigenvalues
    if (!(std::real(result.B[i * (result.ldb + 1)]) > 0)) return factor;
  const bool interval = x.range == EigenRange::interval;
  if (interval) shape.count = found.m.get(0);
  const index count = shape.count;
  if (interval ? count < 0 || count > n : x.chooses() && found.m.get(0) != count) return {HUGE_VAL, threshold};
  const long double size_a = one_norm(A, n), size_b = one_norm(B, n), inverse = norm_of_inverse(by, result),
                    condition = size_b * inverse,
                    unit = static_cast<long double>(n) * std::numeric_limits<Real<T>>::epsilon(),
                    tiny = static_cast<long double>(std::numeric_limits<Real<T>>::min()) *
                           static_cast<long double>(n * (n + 2)),
                    largest = std::numeric_limits<Real<T>>::max() / (16 * static_cast<long double>(n + 1));
  // What is computed on the way may overflow.
  if (!(size_a < largest && size_b < largest && inverse < largest && size_a * inverse < largest &&
        (of_quotient || size_a * size_b < largest)))
    return factor;
  const auto take = [&](long double off, long double size) {
    const long double ratio = off <= tiny ? 0 : off / (unit * size);
    judgement.ratio = std::max(judgement.ratio, std::isfinite(ratio) ? static_cast<double>(ratio) : HUGE_VAL);
  };
  const auto allowed = static_cast<long double>(allowed_off(x));
  const long double size_of_values = size_a * (of_quotient ? inverse : size_b);
  const Real<T>* due = reference.eigen.w;
  std::vector<Real<T>> all;
  if (interval) {
    all = all_eigenvalues(x, [&](const SyevdArgs<T>& of_all) {
      Packed<T> copy(n, n);
      for_each_of(n, n, [&](index i, index j) { copy(i, j) = B(i, j); });
      SygvArgs<T> made = before;
      made.eigen = of_all;
      made.B = copy.at.get();
      made.ldb = n;
      (void)call_by(by.site, made);
    });
    long double largest_value = 0;
    for (const Real<T> value : all) {
      if (!is_finite(value)) return factor;
      largest_value = std::max(largest_value, std::fabs(static_cast<long double>(value)));
    }
    const std::optional<index> first = first_in_interval(
        x, all, found.w, count,
        static_cast<long double>(threshold) * unit * (size_of_values + condition * largest_value) + allowed);
    if (!first) return {HUGE_VAL, threshold};
    due = all.data() + *first;
  }
  for (index i = 0; i < count; ++i) {
    if (!is_finite(found.w[i]) || (i > 0 && !(found.w[i - 1] <= found.w[i]))) return {HUGE_VAL, threshold};
    if (shape.vectors && shape.all()) continue;
    // Of some of the vectors it is not clear otherwise that they are those asked for.
    if (!is_finite(due[i])) return factor;
    const auto value = static_cast<long double>(due[i]);
    take(std::fabs(static_cast<long double>(found.w[i]) - value) - allowed,
         size_of_values + condition * std::fabs(value));
  }
  if (!shape.vectors || count == 0) return worse(judgement, factor);
  const T* const vectors = shape.apart ? found.Z : found.A;
  const index ld = shape.apart ? found.ldz : found.lda;
  Packed<T> V(n, count), MV(n, count), rest(n, count), gram(count, count);
  for_each_of(n, count, [&](index i, index j) {
    V(i, j) = vectors[i + j * ld];
    finite = finite && is_finite(V(i, j));
  });
  for_each_of(count, count, [&](index i, index j) { gram(i, j) = T(i == j ? -1 : 0); });
  if (!finite) return {HUGE_VAL, threshold};
  const long double size_v = one_norm(V, count),
                    size_w = std::max(std::fabs(static_cast<long double>(found.w[0])),
                                      std::fabs(static_cast<long double>(found.w[count - 1])));
  if (!(size_a * size_v < largest && size_b * size_v * std::max(size_w, size_v) < largest &&
        (of_quotient || size_a * size_b * size_v < largest)))
    return worse(judgement, factor);
  const T one(1), zero(0);
  const Op none = Op::none, adjoint = complex_type<T> ? Op::conjugate : Op::transpose;
  const Site& gemm = *by.beside[0];
  const auto multiply = [&](Packed<T>& M, const T& beta, Packed<T>& by_it, Packed<T>& to) {
    call_product(gemm, {precision_of<T>, none, none, n, count, n, &one, M.at.get(), n, by_it.at.get(), n, &beta,
                        to.at.get(), n});
  };
  const auto expect_orthonormal = [&](Packed<T>& left, Packed<T>& right, long double size) {
    call_product(gemm, {precision_of<T>, adjoint, none, count, count, n, &one, left.at.get(), n, right.at.get(), n,
                        &one, gram.at.get(), count});
    take(one_norm(gram, count), size);
  };
  if (of_quotient) {
    multiply(B, zero, V, MV);
    for_each_of(n, count, [&](index i, index j) { rest(i, j) = -MV(i, j) * T(found.w[j]); });
    multiply(A, one, V, rest);
    take(one_norm(rest, count) - allowed * size_b * size_v, condition * size_a * size_v);
    expect_orthonormal(V, MV, size_b * size_v * row_norm(V, count));
    return worse(judgement, factor);
  }
  // A (B V) or B (A V).  With B = L L^H, x = L^-H y or L y and L^H A L y = w y, both are off by L^-H or L times what
  // the last equation is off by.
  Packed<T>&first = before.itype == 2 ? B : A, &second = before.itype == 2 ? A : B;
  multiply(first, zero, V, MV);
  for_each_of(n, count, [&](index i, index j) { rest(i, j) = -V(i, j) * T(found.w[j]); });
  multiply(second, one, MV, rest);
  take(one_norm(rest, count) - allowed * size_v, std::sqrt(condition) * size_a * size_b * size_v);
  if (before.itype == 2) {
    expect_orthonormal(V, MV, size_b * size_v * row_norm(V, count));
    return worse(judgement, factor);
  }
  // V^H B^-1 V
  (void)call_by(*by.beside[1], TrsmArgs<T>{true, x.uplo, x.uplo == Uplo::lower ? none : adjoint, false, n, count, one,
                                           result.B, result.ldb, V.at.get(), n});
  expect_orthonormal(V, V, std::sqrt(condition));
  return worse(judgement, factor);
}

namespace {
constexpr Operation::Kinds takes = Operation::Kinds(Operation::Kind::potrf) | Operation::Kind::trsm |
                                   Operation::Kind::syevd | Operation::Kind::assign | Operation::Kind::mirror;
}

constinit const Family sygvd_family{.count = count<EigenDriver::evd>,
                                    .text = text,
                                    .cpu_rate = cpu_rate_of_eigenproblems,
                                    .cost = cost,
                                    .needs = takes},
    sygv_family{.count = count<EigenDriver::ev>,
                .text = text,
                .cpu_rate = cpu_rate_of_eigenproblems,
                .cost = cost,
                .needs = takes},
    sygvx_family{.count = count<EigenDriver::evx>,
                 .text = text,
                 .cpu_rate = cpu_rate_of_eigenproblems,
                 .cost = cost,
                 .needs = takes};

template <class T>
Computed sygv(const Site& site, const SygvArgs<T>* args, Replay replay) {
  return take_route(
      site, args, replay,
      {.learned = [](const SygvArgs<T>& x) -> Learned& { return known[static_cast<int>(x.eigen.driver)].value; },
       .problem = problem_of<T>,
       .operands = operands_of<T>,
       .compute = compute<T>,
       .judging = {.judge = judge<T>, .with = judged_with_products_and_solves<T>, .alone = [](const SygvArgs<T>& x) {
                     return stands_alone(x.eigen);
                   }}});
}

#define SYGVD(name, type)                                                                                              \
  template Judgement judge(const JudgingLibrary&, const SygvArgs<type>&, const SygvArgs<type>&, const SygvArgs<type>&, \
                           const Ending&);                                                                             \
  template Computed sygv(const Site&, const SygvArgs<type>*, Replay);
#include "api/routines.def"

}  // namespace blaslift
