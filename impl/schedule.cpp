#include "impl/schedule.hpp"

#include <algorithm>
#include <cstdio>
#include <map>

namespace blaslift {
namespace {

constexpr const char* names[] = {"upload A", "upload B", "upload C", "multiply", "fetch", "commit"};

/// Half, rounded up to whole multiples of 64 where it is larger: cuBLAS is at its best on aligned blocks.
index halve(index x) {
  const index half = (x + 1) / 2;
  return half > 64 ? (half + 63) / 64 * 64 : half;
}

}  // namespace

bool cut_to_fit(index m, index n, index k, std::size_t element, std::size_t memory, Cut& cut) {
  cut = {m, n, k};
  // In floating point first: m * k may overflow for sizes that no memory holds.
  auto too_large = [&] {
    const double mb = static_cast<double>(cut.mb), nb = static_cast<double>(cut.nb), kb = static_cast<double>(cut.kb);
    return (mb * kb + kb * nb + mb * nb) * static_cast<double>(element) > static_cast<double>(memory) ||
           cut.bytes(element) > memory;
  };
  while (too_large()) {
    index& largest = cut.kb > std::max(cut.mb, cut.nb) ? cut.kb : cut.mb > cut.nb ? cut.mb : cut.nb;
    if (largest == 1) return false;
    const index half = halve(largest);
    largest = half < largest ? half : (largest + 1) / 2;
  }
  return true;
}

GemmSchedule plan_gemm(index m, index n, index k, bool reads_c, std::size_t element, Cut cut, std::size_t ring_bytes) {
  GemmSchedule s{m, n, k, reads_c, cut, {}};
  const index piece_elements = std::max<index>(1, static_cast<index>(ring_bytes / element));
  Block a_there{}, b_there{};
  for (index j = 0; j < n; j += cut.nb)
    for (index i = 0; i < m; i += cut.mb) {
      const Block c{i, j, std::min(cut.mb, m - i), std::min(cut.nb, n - j)};
      if (reads_c) s.steps.push_back({.kind = StepKind::upload_c, .block = c});
      for (index p = 0; p < k; p += cut.kb) {
        const index kb = std::min(cut.kb, k - p);
        const Block a{i, p, c.rows, kb}, b{p, j, kb, c.cols};
        if (!(a == a_there)) s.steps.push_back({.kind = StepKind::upload_a, .block = a_there = a});
        if (!(b == b_there)) s.steps.push_back({.kind = StepKind::upload_b, .block = b_there = b});
        s.steps.push_back({.kind = StepKind::multiply, .block = c, .k0 = p, .kb = kb, .first = p == 0});
      }
      // Whole columns where a slot holds one, else parts of a column.  One fetch is always ahead of the commits.
      std::vector<Block> pieces;
      const index rows = std::min(c.rows, piece_elements), cols = std::max<index>(1, piece_elements / c.rows);
      for (index q = 0; q < c.cols; q += cols)
        for (index r = 0; r < c.rows; r += rows)
          pieces.push_back({i + r, j + q, std::min(rows, c.rows - r), std::min(cols, c.cols - q)});
      for (std::size_t x = 0; x <= pieces.size(); ++x) {
        if (x < pieces.size())
          s.steps.push_back({.kind = StepKind::fetch, .block = pieces[x], .slot = static_cast<int>(x % 2)});
        if (x > 0)
          s.steps.push_back({.kind = StepKind::commit, .block = pieces[x - 1], .slot = static_cast<int>((x - 1) % 2)});
      }
    }
  return s;
}

std::string check(const GemmSchedule& s) {
  auto fault = [](std::size_t at, const char* what) { return "step " + std::to_string(at) + ": " + what; };
  auto inside = [](const Block& b, index rows, index cols) {
    return b.row >= 0 && b.col >= 0 && b.rows > 0 && b.cols > 0 && b.row + b.rows <= rows && b.col + b.cols <= cols;
  };
  Block a{}, b{}, c{}, current{};
  index k_done = 0;
  bool c_loaded = false;
  Block in_slot[2]{};
  double committed = 0;
  // Committed pieces by column, to see that none overlap: (col, row, rows).
  std::map<index, std::vector<std::pair<index, index>>> columns;
  for (std::size_t at = 0; at < s.steps.size(); ++at) {
    const Step& step = s.steps[at];
    const Block& x = step.block;
    switch (step.kind) {
      case StepKind::upload_a:
        if (!inside(x, s.m, s.k) || x.rows > s.cut.mb || x.cols > s.cut.kb)
          return fault(at, "A's block is out of bounds");
        a = x;
        break;
      case StepKind::upload_b:
        if (!inside(x, s.k, s.n) || x.rows > s.cut.kb || x.cols > s.cut.nb)
          return fault(at, "B's block is out of bounds");
        b = x;
        break;
      case StepKind::upload_c:
        if (!inside(x, s.m, s.n) || x.rows > s.cut.mb || x.cols > s.cut.nb)
          return fault(at, "C's block is out of bounds");
        c = x;
        c_loaded = true;
        current = {};  // whatever product was there is gone
        k_done = -1;
        break;
      case StepKind::multiply:
        if (!inside(x, s.m, s.n)) return fault(at, "the product is out of bounds");
        if (!(a == Block{x.row, step.k0, x.rows, step.kb})) return fault(at, "A's block is not there");
        if (!(b == Block{step.k0, x.col, step.kb, x.cols})) return fault(at, "B's block is not there");
        if (step.first) {
          if (step.k0 != 0) return fault(at, "the first chunk is not at 0");
          if (s.reads_c && !(c_loaded && c == x)) return fault(at, "C's block is not there");
          current = x;
          k_done = 0;
        } else if (!(current == x)) {
          return fault(at, "adds to a block that no first chunk began");
        }
        if (step.k0 != k_done) return fault(at, "a chunk of k is missing or repeated");
        k_done = step.k0 + step.kb;
        c_loaded = false;  // scaled by beta now
        break;
      case StepKind::fetch:
        if (k_done != s.k) return fault(at, "fetched before its last chunk");
        if (x.row < current.row || x.col < current.col || x.row + x.rows > current.row + current.rows ||
            x.col + x.cols > current.col + current.cols || x.rows <= 0 || x.cols <= 0)
          return fault(at, "fetches outside the block");
        if (step.slot < 0 || step.slot > 1) return fault(at, "fetches into a slot that does not exist");
        if (in_slot[step.slot].rows != 0) return fault(at, "overwrites a piece not yet committed");
        in_slot[step.slot] = x;
        break;
      case StepKind::commit:
        if (step.slot < 0 || step.slot > 1 || !(in_slot[step.slot] == x))
          return fault(at, "commits what was not fetched");
        in_slot[step.slot] = {};
        for (index col = x.col; col < x.col + x.cols; ++col) {
          for (auto [row, rows] : columns[col])
            if (x.row < row + rows && row < x.row + x.rows) return fault(at, "commits an element twice");
          columns[col].emplace_back(x.row, x.rows);
        }
        committed += static_cast<double>(x.rows) * static_cast<double>(x.cols);
        break;
    }
  }
  if (committed != static_cast<double>(s.m) * static_cast<double>(s.n)) return "not all of C is committed";
  return {};
}

std::string to_string(const GemmSchedule& s) {
  char line[192];
  std::snprintf(line, sizeof line, "gemm m=%lld n=%lld k=%lld in blocks of %lld x %lld, k by %lld%s\n",
                static_cast<long long>(s.m), static_cast<long long>(s.n), static_cast<long long>(s.k),
                static_cast<long long>(s.cut.mb), static_cast<long long>(s.cut.nb), static_cast<long long>(s.cut.kb),
                s.reads_c ? ", reads C" : "");
  std::string text = line;
  for (const Step& step : s.steps) {
    const Block& b = step.block;
    std::snprintf(line, sizeof line, "  %-8s [%lld:%lld, %lld:%lld]", names[static_cast<int>(step.kind)],
                  static_cast<long long>(b.row), static_cast<long long>(b.row + b.rows), static_cast<long long>(b.col),
                  static_cast<long long>(b.col + b.cols));
    text += line;
    if (step.kind == StepKind::multiply) {
      std::snprintf(line, sizeof line, " k %lld:%lld%s", static_cast<long long>(step.k0),
                    static_cast<long long>(step.k0 + step.kb), step.first ? " first" : "");
      text += line;
    }
    if (step.kind == StepKind::fetch || step.kind == StepKind::commit) text += " slot " + std::to_string(step.slot);
    text += '\n';
  }
  return text;
}

}  // namespace blaslift
