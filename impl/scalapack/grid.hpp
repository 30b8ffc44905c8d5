// The program's own process grids: what BLACS says of a context, and the few messages that a decision takes.
#pragma once
#include <cstdint>

namespace blaslift::scalapack {

/// The calling process's place in a context's grid.
struct Grid {
  std::int32_t context;
  std::int32_t rows = -1, columns = -1;  ///< of processes; -1: the context is none, or the process not in it
  std::int32_t row = -1, column = -1;

  bool contains_me() const { return row >= 0 && row < rows && column >= 0 && column < columns; }
  bool is_root() const { return row == 0 && column == 0; }
  int size() const { return rows * columns; }
  int rank() const { return row * columns + column; }
};

/// The BLACS that the caller's ScaLAPACK uses.  Its calls are collective, over all of the grid, unless said otherwise.
struct Blacs {
  void (*gridinfo)(const std::int32_t* context, std::int32_t* rows, std::int32_t* columns, std::int32_t* row,
                   std::int32_t* column);
  void (*igamn2d)(const std::int32_t* context, const char* scope, const char* topology, const std::int32_t* m,
                  const std::int32_t* n, std::int32_t* a, const std::int32_t* lda, std::int32_t* rows,
                  std::int32_t* columns, const std::int32_t* ld_of_places, const std::int32_t* to_row,
                  const std::int32_t* to_column, std::size_t, std::size_t);
  void (*igebs2d)(const std::int32_t* context, const char* scope, const char* topology, const std::int32_t* m,
                  const std::int32_t* n, const std::int32_t* a, const std::int32_t* lda, std::size_t, std::size_t);
  void (*igebr2d)(const std::int32_t* context, const char* scope, const char* topology, const std::int32_t* m,
                  const std::int32_t* n, std::int32_t* a, const std::int32_t* lda, const std::int32_t* from_row,
                  const std::int32_t* from_column, std::size_t, std::size_t);
  void (*abort)(const std::int32_t* context, const std::int32_t* status);

  /// The one beside `function`, of a ScaLAPACK.  False if anything of it is missing.
  bool find(const void* function);

  Grid grid(std::int32_t context) const;  ///< not collective
  /// Each word becomes the least of all processes' (none is negative).
  void least(const Grid& grid, std::int32_t* words, int count) const;
  /// The root's words become everybody's.
  void from_root(const Grid& grid, std::int32_t* words, int count) const;
};

}  // namespace blaslift::scalapack
