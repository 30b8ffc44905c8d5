// Tasks that wait for one another, on some threads.
#pragma once
#include <functional>
#include <vector>

#include "kernels/qr_tree.hpp"

namespace blaslift {

/// Calls `act` once for each task, after it has returned for all that the task waits for; `after` as in QrGraph,
/// earlier ones only.  `act` must not throw.  The calling thread works, too, and where no other thread is to be had,
/// alone: nothing fails but memory, before anything has run (std::bad_alloc).
/// @param threads  at most, the caller's included
void run_tasks(const std::vector<std::vector<QrEdge>>& after, int threads, const std::function<void(std::size_t)>& act);

}  // namespace blaslift
