// Block-cyclic distributions, as ScaLAPACK's array descriptors have them: what of a matrix a process has, and copies of
// that from and to a matrix as LAPACK has it.
#pragma once
#include <cstddef>

#include "impl/scalapack/grid.hpp"
#include "kernels/types.hpp"

namespace blaslift::scalapack {

/// One dimension of a matrix over one dimension of a grid: blocks are dealt out in turn, the first one to `source`.
struct Dealt {
  index size, block;
  int source, processes, mine;

  int owner(index i) const { return static_cast<int>((source + i / block) % processes); }
  /// Where the owner has element i.
  index local(index i) const { return i / block / processes * block + i % block; }
  /// How many elements this process has.
  index count() const;
};

/// An array descriptor of dense matrices (DTYPE_ = 1), and the process that reads it.
struct Descriptor {
  std::int32_t context;
  Dealt rows, columns;
  index lld;  ///< of the local array

  /// False: not of this type, not of this grid, or not as ScaLAPACK allows it.
  /// @param words  DTYPE_, CTXT_, M_, N_, MB_, NB_, RSRC_, CSRC_, LLD_
  static bool parse(const std::int32_t* words, const Grid& grid, Descriptor& into);
};

/// A(i : i + m - 1, j : j + n - 1), from zero, or a triangle of it.
struct Submatrix {
  Descriptor of;
  index i, j, m, n;
  Part part = Part::whole;

  bool inside() const {
    return i >= 0 && j >= 0 && m >= 0 && n >= 0 && i + m <= of.rows.size && j + n <= of.columns.size;
  }
};

/// Copies what this process has of a submatrix to its place in a whole one.
/// @param local  the local array; @param whole  m x n, column-major, elements of `bytes` each
void gather(const Submatrix& sub, const void* local, void* whole, index ld, std::size_t bytes);
/// The other way round.
void scatter(const Submatrix& sub, void* local, const void* whole, index ld, std::size_t bytes);

}  // namespace blaslift::scalapack
