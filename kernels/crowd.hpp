// Who moves a call's bytes: the engine's threads, or the call's own.
#pragma once
#include <cstddef>

namespace blaslift {

/// Waking threads for so little takes longer than copying it.
inline constexpr std::size_t little_moves = std::size_t{1} << 20;

/// Whether a call's own thread makes its transfers: where they are little, and where so many calls are under way that
/// their threads fill the bus by themselves.  The engine's threads would wait for processors that the callers have, and
/// each piece would be handed on from thread to thread.
/// On an H100 with 16 cores, from four callers on, products of 300 and 700 are 1.1 to 1.8 times as fast, of 1,000 from
/// eight on; of 2,500 they are slower.
/// @param calls  that are on the device, this one among them
constexpr bool caller_moves(std::size_t bytes, int calls) {
  constexpr std::size_t some = std::size_t{40} << 20;
  constexpr int crowd = 4;
  return bytes <= little_moves || (calls >= crowd && bytes <= some);
}

}  // namespace blaslift
