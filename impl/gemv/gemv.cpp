#include "impl/gemv/gemv.hpp"

#include "impl/core/undestroyed.hpp"
#include "impl/gemv/gemv_family.hpp"
#include "impl/judge/judge.hpp"
#include "impl/route/route.hpp"
#include "impl/vector/vector_product.hpp"
#include "kernels/gemv.hpp"

namespace blaslift {
namespace {

constinit Undestroyed<LearnedOfVectors> known;  // of such calls, in this process

template <class T>
Operands operands_of(Place& place, const GemvArgs<T>& x, bool ephemeral) {
  return vector_operands(place, x, {x.A, x.m, x.n, x.lda, sizeof(T)}, ephemeral);
}

/// On the device.  If that does not come to an end, y in the host's memory is untouched.
template <class T>
Ending compute(Place& place, const Site&, Backend& backend, const Problem&, const GemvArgs<T>& args, Operands& operands,
               const Decision& decision) {
  const Gemv product{.precision = precision_of<T>,
                     .transposed = args.trans != Op::none,
                     .conjugated = args.trans == Op::conjugate || args.conjugated,
                     .m = args.m,
                     .n = args.n,
                     .alpha = &args.alpha,
                     .A = args.A,
                     .lda = args.lda,
                     .x = args.x,
                     .incx = args.incx,
                     .beta = &args.beta,
                     .y = args.y,
                     .incy = args.incy};
  const std::size_t workspace = args.alpha == T(0) ? 0 : gemv_workspace(product);
  // How it is cut up follows from its arguments.
  return vector_product(place, backend, args, product, workspace, operands, decision, 0);
}

}  // namespace

template <class T>
Computed gemv(const Site& site, const GemvArgs<T>* args, Replay replay) {
  return take_route(site, args, replay,
                    {.learned = together<known>,
                     .problem = problem_of<T>,
                     .operands = operands_of<T>,
                     .compute = compute<T>,
                     .judging = {.judge = judge<T>, .reference = call_vector_product<GemvArgs<T>>},
                     .timed = timed_vector_flops});
}

#define GEMV(name, type) template Computed gemv(const Site&, const GemvArgs<type>*, Replay);
#include "api/routines.def"

}  // namespace blaslift
