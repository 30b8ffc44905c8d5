// Parallel copies for the host backend.
#pragma once
#include "kernels/types.hpp"

namespace blaslift {

/// Copies rows x cols elements (see copy_block), large ones with OpenMP.
///
/// OpenMP's threads belong to one thread of ours, never to the caller's: libgomp keeps its team with the thread that
/// started it, and a program that forks could not use OpenMP in the child if its own thread had a team it did not ask
/// for. A caller that finds the team busy copies by itself.
void parallel_copy(void* to, index ldt, const void* from, index lds, index rows, index cols, std::size_t element);

}  // namespace blaslift
