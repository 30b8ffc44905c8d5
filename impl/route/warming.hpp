// Warming: the device loads what calls are going to need before they come.
#pragma once
#include <functional>

#include "impl/core/arena.hpp"
#include "impl/core/options.hpp"
#include "kernels/backend.hpp"

namespace blaslift {

/// Has an open device compute a little of what calls of these routines are computed with.  A GPU loads a library and a
/// kernel when they are first used: of products that takes 0.1 s, of factorisations and decompositions up to 0.25 s.
/// What cannot be done is left to the calls.  By a thread that no call waits for.
/// @param expected  none: products of real matrices in double precision
/// @param can       as Device::can
/// @param goes_on   asked before each step, of 0.25 s at most
/// @param order     of the matrices: at this one a GPU uses nearly all of what it uses for large ones
void warm(Backend& backend, Arena& arena, const Routines& expected,
          const std::function<bool(Operation::Kind, Precision)>& can, const std::function<bool()>& goes_on,
          index order = 1024);

}  // namespace blaslift
