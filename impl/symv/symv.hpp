// symv and hemv, from Args to the library underneath or the device.
#pragma once
#include <vector>

#include "compat/site.hpp"
#include "impl/core/args.hpp"
#include "impl/core/blocks.hpp"
#include "impl/route/replay.hpp"

namespace blaslift {

/// Computes one call that the forwarding path did not settle; as gemm().
template <class T>
void symv(const Site& site, const SymvArgs<T>* args, Replay replay);

/// The parts of `missing`, disjoint blocks of an n x n matrix, that hold what is missing of its triangle.  Of what they
/// hold of the other one, blocks of columns keep a small part of the matrix.
std::vector<Block> in_triangle(Uplo uplo, index n, const std::vector<Block>& missing);

}  // namespace blaslift
