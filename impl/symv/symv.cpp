#include "impl/symv/symv.hpp"
#include "impl/core/undestroyed.hpp"
#include "impl/symv/symv_family.hpp"
#include "impl/symv/symv_section.hpp"

#include <cmath>

#include "impl/judge/judge.hpp"
#include "impl/route/route.hpp"
#include "impl/vector/vector_product.hpp"
#include "kernels/symv.hpp"

namespace blaslift {

/// For problem_of.
static bool is_finite(const DoubleDouble& x) { return std::isfinite(x.hi); }

namespace {

constinit Undestroyed<LearnedOfVectors> known;  // of such calls, in this process

template <class T>
Operands operands_of(Place& place, const SymvArgs<T>& x, bool ephemeral) {
  return vector_operands(place, x, {x.A, x.n, x.n, x.lda, sizeof(T), part_of(x.uplo)}, ephemeral);
}

/// On the device.  If that does not come to an end, y in the host's memory is untouched.
template <class T>
Ending compute(Place& place, const Site&, Backend& backend, const Problem&, const SymvArgs<T>& args, Operands& operands,
               const Decision& decision) {
  const SymvRule& rule = symv_rule(place.device.profile(), element_of<T>, args.uplo, args.n);
  const SymvRule taken = args.alpha == T(0) ? SymvRule{} : rule;  // strips, which take no workspace
  const Symv product{.precision = element_of<T>,
                     .hermitian = args.hermitian,
                     .uplo = args.uplo,
                     .n = args.n,
                     .alpha = &args.alpha,
                     .A = args.A,
                     .lda = args.lda,
                     .x = args.x,
                     .incx = args.incx,
                     .beta = &args.beta,
                     .y = args.y,
                     .incy = args.incy,
                     .blocking = taken.blocking,
                     .way = taken.way,
                     .conjugated = args.conjugated};
  const std::uint64_t way =
      with_numbers(0, rule.blocking.U, rule.blocking.Tx, rule.blocking.Ty, rule.blocking.H, rule.way);
  return vector_product(place, backend, args, product, symv_workspace(product), operands, decision, way);
}

/// How calls are judged that the library underneath has, too.
template <class T>
constexpr Judging<SymvArgs<T>> judging_of{.judge = judge<T>, .reference = call_vector_product<SymvArgs<T>>};
template <>
constexpr Judging<SymvArgs<DoubleDouble>> judging_of<DoubleDouble>{};

}  // namespace

/// No other library has it.
template <class Repeat>
std::unique_ptr<Checkable> checkable(const SymvArgs<DoubleDouble>&, bool, Replay,
                                     const Judging<SymvArgs<DoubleDouble>>&, const Repeat&) {
  return nullptr;
}

template <class T>
Computed symv(const Site& site, const SymvArgs<T>* args, Replay replay) {
  return take_route(site, args, replay,
                    {.learned = together<known>,
                     .problem = problem_of<T>,
                     .operands = operands_of<T>,
                     .compute = compute<T>,
                     .judging = judging_of<T>,
                     .timed = timed_vector_flops});
}

#define SYMV(name, type) template Computed symv(const Site&, const SymvArgs<type>*, Replay);
#define HEMV(name, type) SYMV(name, type)
#define WSYMV(name, type) SYMV(name, type)
#include "api/routines.def"

}  // namespace blaslift
