// blaslift_wsymv: from blaslift.h to SymvArgs.  No other library has it: what stays on the CPU is computed by the loops
// that define the device's order of additions.
#include <new>

#include "api/blaslift.h"
#include "api/entry.hpp"
#include "compat/undisturbed.hpp"
#include "impl/core/floats.hpp"
#include "impl/symv/symv.hpp"
#include "impl/symv/symv_section.hpp"
#include "kernels/host/symv.hpp"
#include "kernels/symv.hpp"

namespace blaslift {
namespace {

static_assert(sizeof(blaslift_w) == sizeof(DoubleDouble) && alignof(blaslift_w) == alignof(DoubleDouble));

constinit Site site_of_own{.caller = nullptr,
                           .symbol = Symbol::blaslift_wsymv,
                           .wide = true,
                           .twin = false,
                           .counter = static_cast<std::uint8_t>(Routine::wsymv),
                           .function = nullptr,
                           .library = nullptr,
                           .found_by = nullptr,
                           .next = nullptr};

/// @param rules  the profile's or the built-in ones: the blocking decides the bits
void on_host(const SymvArgs<DoubleDouble>& args, const SymvRule& rule) {
  const ToNearest to_nearest;  // as pairs are defined, and as the device has them
  symv({.precision = Element::w,
        .hermitian = false,
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
        .blocking = rule.blocking,
        .way = rule.way});
}

/// The first of these arguments that is not valid, from 1 on; 0: all are.
int first_invalid(char uplo, index n, const void* alpha, const void* A, index lda, const void* x, index incx,
                  const void* beta, const void* y, index incy) {
  const auto misplaced = [n](const void* at) {
    return n > 0 && (!at || reinterpret_cast<std::uintptr_t>(at) % alignof(blaslift_w) != 0);
  };
  const bool invalid[] = {uplo != 'U' && uplo != 'u' && uplo != 'L' && uplo != 'l',
                          n < 0,
                          !alpha,
                          misplaced(A),
                          lda < (n > 1 ? n : 1),
                          misplaced(x),
                          incx == 0,
                          !beta,
                          misplaced(y),
                          incy == 0};
  for (int i = 0; i < static_cast<int>(std::size(invalid)); ++i)
    if (invalid[i]) return i + 1;
  return 0;
}

DoubleDouble pair(const blaslift_w& x) { return {x.hi, x.lo}; }

}  // namespace
}  // namespace blaslift

using namespace blaslift;

BLASLIFT_EXPORT int blaslift_wsymv(char uplo, std::int64_t n, const blaslift_w* alpha, const blaslift_w* A,
                                   std::int64_t lda, const blaslift_w* x, std::int64_t incx, const blaslift_w* beta,
                                   blaslift_w* y, std::int64_t incy) {
  if (const int i = first_invalid(uplo, n, alpha, A, lda, x, incx, beta, y, incy)) return -i;
  if (n == 0) return 0;
  const auto* matrix = reinterpret_cast<const DoubleDouble*>(A);
  const SymvArgs<DoubleDouble> args{uplo == 'U' || uplo == 'u' ? Uplo::upper : Uplo::lower,
                                    n,
                                    pair(*alpha),
                                    matrix,
                                    lda,
                                    reinterpret_cast<const DoubleDouble*>(x),
                                    incx,
                                    pair(*beta),
                                    reinterpret_cast<DoubleDouble*>(y),
                                    incy};
  bool no_memory = false;
  // With memory of its own, which is not to be left behind.
  const auto original = [&] {
    undisturbed([&] {
      try {
        on_host(args, symv_rule(runtime().first.device.profile(), Element::w, args.uplo, args.n));
      } catch (const std::bad_alloc&) {
        no_memory = true;
      }
    });
  };
  symv<DoubleDouble>(site_of_own, &args, replay_of(original));
  return no_memory ? 1 : 0;
}
