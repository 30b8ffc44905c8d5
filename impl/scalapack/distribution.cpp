#include "impl/scalapack/distribution.hpp"

#include <algorithm>
#include <cstring>

namespace blaslift::scalapack {

namespace {

/// Calls for all runs of elements first <= x < end that this process has: run(global number, local number, length).
template <class Run>
void for_each_run(const Dealt& dealt, index first, index end, const Run& run) {
  if (first >= end) return;
  const index step = dealt.processes, begin = first / dealt.block;
  const index ahead = ((dealt.mine - dealt.source - begin) % step + step) % step;
  for (index b = begin + ahead; b * dealt.block < end; b += step) {
    const index from = std::max(first, b * dealt.block), to = std::min(end, (b + 1) * dealt.block);
    run(from, dealt.local(from), to - from);
  }
}

/// Calls for all runs of a column that this process has: run(offset in the whole, offset in the local array, length).
template <class Run>
void for_each_part(const Submatrix& sub, index ld, const Run& run) {
  for_each_run(sub.of.columns, sub.j, sub.j + sub.n, [&](index column, index local_column, index columns) {
    for (index c = 0; c < columns; ++c) {
      const index j = column + c - sub.j;
      const index first = sub.part == Part::lower ? std::min(j, sub.m) : 0,
                  end = sub.part == Part::upper ? std::min(j + 1, sub.m) : sub.m;
      for_each_run(sub.of.rows, sub.i + first, sub.i + end, [&](index row, index local_row, index rows) {
        run(row - sub.i + j * ld, local_row + (local_column + c) * sub.of.lld, rows);
      });
    }
  });
}

}  // namespace

index Dealt::count() const {
  const index blocks = size / block, ahead = (mine - source + processes) % processes;
  index own = blocks / processes * block;
  const index left = blocks % processes;
  if (ahead < left)
    own += block;
  else if (ahead == left)
    own += size % block;
  return own;
}

bool Descriptor::parse(const std::int32_t* words, const Grid& grid, Descriptor& into) {
  constexpr std::int32_t dense = 1;
  const auto source_in = [](std::int32_t source, std::int32_t processes) { return source >= 0 && source < processes; };
  if (words[0] != dense || words[1] != grid.context || words[2] < 0 || words[3] < 0 || words[4] < 1 || words[5] < 1 ||
      !source_in(words[6], grid.rows) || !source_in(words[7], grid.columns))
    return false;
  into = {words[1],
          {words[2], words[4], words[6], grid.rows, grid.row},
          {words[3], words[5], words[7], grid.columns, grid.column},
          words[8]};
  return into.lld >= std::max<index>(1, into.rows.count());
}

void gather(const Submatrix& sub, const void* local, void* whole, index ld, std::size_t bytes) {
  for_each_part(sub, ld, [&](index to, index from, index length) {
    std::memcpy(static_cast<char*>(whole) + bytes * static_cast<std::size_t>(to),
                static_cast<const char*>(local) + bytes * static_cast<std::size_t>(from),
                bytes * static_cast<std::size_t>(length));
  });
}

void scatter(const Submatrix& sub, void* local, const void* whole, index ld, std::size_t bytes) {
  for_each_part(sub, ld, [&](index from, index to, index length) {
    std::memcpy(static_cast<char*>(local) + bytes * static_cast<std::size_t>(to),
                static_cast<const char*>(whole) + bytes * static_cast<std::size_t>(from),
                bytes * static_cast<std::size_t>(length));
  });
}

}  // namespace blaslift::scalapack
