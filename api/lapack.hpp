// What LAPACK's routines have in common: a workspace whose size can be asked for, and info.
#pragma once
#include <cmath>
#include <complex>
#include <limits>

#include "api/entry.hpp"
#include "api/letters.hpp"
#include "impl/core/args.hpp"
#include "impl/route/route.hpp"

namespace blaslift {

/// LAPACK's way of telling a size: as a number of the routine's own, not too small for being rounded.
template <class T>
auto told_size(std::int64_t size) {
  using R = decltype(std::real(T()));
  const R told = static_cast<R>(size);
  return static_cast<double>(told) < static_cast<double>(size) ? std::nextafter(told, std::numeric_limits<R>::max())
                                                               : told;
}

/// The size that a workspace query tells is at least this one.
template <class T>
void raise_told(T& told, std::int64_t size) {
  const auto least = told_size<T>(size);
  if (std::real(told) < least) told = least;
}

/// info = 0.
template <Symbol symbol>
void report_success(const Site& site, void* status) {
  if (info(symbol).width == Width::wide || site.wide)
    *static_cast<std::int64_t*>(status) = 0;
  else
    *static_cast<std::int32_t*>(status) = 0;
}

/// SIDE and TRANS of a product with Q.
template <class T>
bool parse_q(char side, char trans, QProduct& product) {
  constexpr char adjoint = is_complex(precision_of<T>) ? 'C' : 'T';
  return parse_either(side, 'R', 'L', product.left) && parse_either(trans, 'N', adjoint, product.adjoint);
}

/// A call with a workspace: asked for with lwork = -1, when the answer is the library's, or what LAPACK promises to be
/// enough if that is more; or used by the library underneath if the call stays.  A call that the device computes leaves
/// in work what LAPACK does, the best size.
/// @param args  null if they are invalid
/// @param call  void(const void* lwork): the original call, with this lwork
/// @param elsewhere  void(void* const* operands, void* status): the original call, with operands in Args's order
/// @param status  where the original call has info
/// @param route Computed(const Args*, Replay): null as args
template <class T, Symbol symbol, class Args, class Call, class Elsewhere, class Route>
void with_workspace(const Site& site, const Args* args, const void* lwork, T* work, void* status, const Call& call,
                    const Elsewhere& elsewhere, const Route& route) {
  const auto original = [&] { call(lwork); };
  const auto again = [&](void* const* operands) {
    std::int64_t nobodys_status = 0;
    elsewhere(operands, &nobodys_status);
  };
  const Replay replay = replay_of(original, again);
  const std::int64_t size = integer<symbol>(&site, lwork);
  constexpr std::int64_t asks = -1;  // in 32 bits, too
  if (args && size == asks) {
    answer_query(site, replay);
    return raise_told(*work, args->least_workspace());
  }
  switch (route(args && size >= args->least_workspace() ? args : nullptr, replay)) {
    case Computed::no: return;
    case Computed::yes: return call(&asks);
    case Computed::in_device_memory: report_success<symbol>(site, status);  // work may be there, too
  }
}

}  // namespace blaslift
