#include "impl/scalapack/grid.hpp"

#include "compat/library.hpp"

namespace blaslift::scalapack {

bool Blacs::find(const void* function) {
  const auto look = [function](const char* name, auto& found) {
    const char* by = nullptr;
    found = reinterpret_cast<std::remove_reference_t<decltype(found)>>(find_function(name, function, nullptr, by));
    return found != nullptr;
  };
  return look("blacs_gridinfo_", gridinfo) && look("igamn2d_", igamn2d) && look("igebs2d_", igebs2d) &&
         look("igebr2d_", igebr2d) && look("blacs_abort_", abort);
}

Grid Blacs::grid(std::int32_t context) const {
  Grid grid{context};
  // Of a number that is no context it says -1.
  gridinfo(&context, &grid.rows, &grid.columns, &grid.row, &grid.column);
  return grid;
}

void Blacs::least(const Grid& grid, std::int32_t* words, int count) const {
  const std::int32_t m = count, n = 1, nobody = -1;
  igamn2d(&grid.context, "A", " ", &m, &n, words, &m, nullptr, nullptr, &nobody, &nobody, &nobody, 1, 1);
}

void Blacs::from_root(const Grid& grid, std::int32_t* words, int count) const {
  const std::int32_t m = count, n = 1, root = 0;
  if (grid.is_root())
    igebs2d(&grid.context, "A", " ", &m, &n, words, &m, 1, 1);
  else
    igebr2d(&grid.context, "A", " ", &m, &n, words, &m, &root, &root, 1, 1);
}

}  // namespace blaslift::scalapack
