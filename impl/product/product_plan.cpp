#include "impl/product/product_plan.hpp"

#include <algorithm>
#include <cstdio>
#include <map>
#include <utility>

#include "impl/core/blocks.hpp"
#include "kernels/residues.hpp"

namespace blaslift {
namespace {

constexpr const char* names[] = {"upload A", "upload B", "upload C", "multiply", "leaf",
                                 "pass",     "begin",    "survey",   "findings", "download"};

/// Half, rounded up to whole multiples of 64 where it is larger: cuBLAS is at its best on aligned blocks.
index halve(index x) {
  const index half = (x + 1) / 2;
  return half > 64 ? (half + 63) / 64 * 64 : half;
}

/// `size` in parts of about `target`, equal but for rounding to 64.
index panel_size(index size, index target) {
  const index parts = (size + target - 1) / target;
  const index equal = (size + parts - 1) / parts;
  return std::min(size, equal > 64 ? (equal + 63) / 64 * 64 : equal);
}

/// `size` in panels of about `target`, with smaller ones at both ends where there are many: products begin sooner and
/// the last ones leave less to bring back.
std::vector<index> panels(index size, index target) {
  std::vector<index> sizes;
  const index small = (target / 4 + 63) / 64 * 64, medium = target - small;  // the others are whole
  const bool graded = size >= 6 * target && small > 0 && small < target;
  if (graded) sizes = {small, medium};
  const index middle = graded ? size - 2 * (small + medium) : size, panel = panel_size(middle, target);
  for (index done = 0; done < middle; done += panel) sizes.push_back(std::min(panel, middle - done));
  if (graded) sizes.insert(sizes.end(), {medium, small});
  return sizes;
}

/// What an operand's buffers hold.
struct Held {
  explicit Held(int buffers) : blocks(static_cast<std::size_t>(buffers)), newest(buffers - 1) {}

  /// Makes `newest` the buffer for this block.  False: it must be uploaded, over what was there.
  bool find(const Block& block) {
    const auto there = std::find(blocks.begin(), blocks.end(), block);
    const bool found = there != blocks.end();
    newest = found ? static_cast<int>(there - blocks.begin()) : (newest + 1) % static_cast<int>(blocks.size());
    blocks[static_cast<std::size_t>(newest)] = block;
    return found;
  }

  std::vector<Block> blocks;
  int newest;
};

/// What shares a buffer at one time; everything, where an operand has memory of its own.
constexpr index unbounded = index{1} << 62;
constexpr Extent whole_operand{unbounded, unbounded};

Extent unit_a(const Cut& c) { return c.whole_a ? whole_operand : Extent{c.mb, c.kb}; }
Extent unit_b(const Cut& c) { return c.whole_b ? whole_operand : Extent{c.kb, c.nb}; }
Extent unit_c(const Cut& c) { return c.whole_c ? whole_operand : Extent{c.mb, c.nb}; }

}  // namespace

bool cut_to_fit(index m, index n, index k, std::size_t element, std::size_t memory, const Residents& residents,
                Cut& cut, Part part, Update update) {
  cut = {.mb = m,
         .nb = n,
         .kb = k,
         .whole_a = residents.a.whole,
         .whole_b = residents.b.whole,
         .whole_c = residents.c.whole,
         .part = part,
         .update = update};
  // In floating point first: m * k may overflow for sizes that no memory holds.
  auto too_large = [&](const Cut& c) {
    const double mb = static_cast<double>(c.mb), nb = static_cast<double>(c.nb), kb = static_cast<double>(c.kb);
    const double elements =
        c.operands * ((c.whole_a ? 0 : mb * kb) + (c.whole_b ? 0 : kb * nb)) + c.results * (c.whole_c ? 0 : mb * nb);
    return elements * static_cast<double>(element) > static_cast<double>(memory) || c.bytes(element) > memory;
  };
  constexpr index small = 2048, small_chunk = 512;  // large enough to keep the device busy; where C is one block
  bool one_block = false;
  if (part != Part::whole) {
    if (!cut.own_b()) cut.whole_b = true;
    while (too_large(cut) && cut.kb > small_chunk && !(cut.whole_a && cut.whole_b)) cut.kb = halve(cut.kb);
    one_block = !too_large(cut);
    if (!one_block) {
      cut.kb = k;
      if (!cut.own_b()) cut.whole_b = cut.whole_a;
    }
  }
  // A long k streams: chunks arrive while the ones before are multiplied.
  constexpr index long_k = 4096;
  const index shorter = std::max({m, n, long_k});
  if (k >= 2 * shorter && !(cut.whole_a && cut.whole_b)) cut.kb = std::min(cut.kb, panel_size(k, shorter));
  while (too_large(cut)) {
    // The largest size of the buffers; what only resident operands have does not matter.
    index none = 0, *largest_size = &none;
    auto consider = [&](index& size, bool matters) {
      if (matters && size > *largest_size) largest_size = &size;
    };
    consider(cut.nb, !cut.whole_b || !cut.whole_c);
    consider(cut.mb, !cut.whole_a || !cut.whole_c);
    consider(cut.kb, !cut.whole_a || !cut.whole_b);
    index& largest = *largest_size;
    if (largest <= 1) return false;
    const index half = halve(largest);
    largest = half < largest ? half : (largest + 1) / 2;
    if (part != Part::whole) cut.mb = cut.nb = std::min(cut.mb, cut.nb);
  }
  if (cut.mb == m && cut.nb == n && cut.kb == k) return true;
  // Units follow each other: a second set of buffers lets them overlap.  For that, smaller chunks of k and then smaller
  // blocks are worth it, as long as they are large enough to keep the device busy.
  const bool several_blocks = cut.mb < m || cut.nb < n;
  Cut two = cut;
  two.operands = 2;
  two.results = several_blocks ? 2 : 1;
  one_block = one_block && !(two.whole_a && two.whole_b);  // which it stays
  const index least = one_block ? small_chunk : small;
  while (too_large(two)) {
    index& next = two.kb > least ? two.kb : two.mb > two.nb ? two.mb : two.nb;
    if (next <= least || (one_block && &next != &two.kb)) return true;
    next = halve(next);
    if (part != Part::whole) two.mb = two.nb = std::min(two.mb, two.nb);
  }
  cut = two;
  return true;
}

index best_head(index m, index n, index k) {
  constexpr index least = 4096, whole = 256;  // below, more steps cost more than they save
  return std::min({m, n, k}) < least ? 0 : k * 7 / 32 / whole * whole;
}

namespace {

/// Writes a product down: blocks of C, for each its chunks of k, for each its panels.
class Planner {
 public:
  Planner(GemmSchedule& s, index piece, index panel, index head)
      : s_(s),
        piece_(piece),
        panel_(panel),
        missing_a_{s.residents.a.missing},
        missing_b_{s.residents.b.missing},
        missing_c_{s.residents.c.missing},
        held_a_(s.cut.operands),
        held_b_(s.cut.operands),
        c_(s.cut.results - 1) {
    const bool one_unit = s.cut.mb == s.m && s.cut.nb == s.n && s.cut.kb == s.k;
    head_ = one_unit && head < s.k && s.cut.part == Part::whole ? head : 0;
  }

  void plan() {
    for (index j = 0; j < s_.n; j += s_.cut.nb)
      for (index i = 0; i < s_.m; i += s_.cut.mb) {
        block_ = {i, j, std::min(s_.cut.mb, s_.m - i), std::min(s_.cut.nb, s_.n - j)};
        if (!meets(s_.cut.part, block_)) continue;
        c_ = s_.cut.whole_c ? 0 : (c_ + 1) % s_.cut.results;
        for (index p = 0; p < s_.k; p += s_.cut.kb) unit(p, std::min(s_.cut.kb, s_.k - p));
      }
  }

 private:
  struct Chunk {
    index k0, kb;
    bool first;              ///< scales C by beta
    bool apart = false;      ///< goes to the scratch area
    bool adds = false;       ///< what is there to C
    bool exchanged = false;  ///< the product with A and B exchanged

    Chunk exchange() const { return {.k0 = k0, .kb = kb, .first = false, .exchanged = true}; }
  };

  /// The block of C with a chunk of k.
  void unit(index k0, index kb) {
    need(k0, kb, block_.row, block_.rows, block_.col, block_.cols);
    if (s_.part_of(block_) != Part::whole) return triangle({k0, kb, k0 == 0});
    if (s_.twice(block_)) {
      const Chunk x{k0, kb, k0 == 0};
      chunk(x);
      need(k0, kb, block_.col, block_.cols, block_.row, block_.rows);
      return chunk(x.exchange());
    }
    if (head_ == 0 || !need_a_ || !need_b_) return chunk({k0, kb, k0 == 0});
    const bool late_c = s_.reads_c && (!s_.cut.whole_c || !missing_c_.blocks.empty());
    if (late_c) s_.scratch.push_back({s_.m, s_.n});
    chunk({0, head_, !late_c, late_c});
    chunk({head_, kb - head_, late_c, false, late_c});
  }

  /// These rows of op(A) and columns of op(B).
  void need(index k0, index kb, index row, index rows, index col, index cols) {
    const Block block_a{row, k0, rows, kb}, block_b{k0, col, kb, cols};
    need_a_ = s_.cut.whole_a ? missing_a_.any_in(block_a) : !held_a_.find(block_a);
    b_from_a_ = s_.from_a(block_);
    if (b_from_a_ && s_.part_of(block_) != Part::whole) return;  // the same
    need_b_ = b_from_a_        ? missing_a_.any_in({col, k0, cols, kb})
              : s_.cut.whole_b ? missing_b_.any_in(block_b)
                               : !held_b_.find(block_b);
  }

  void bring_a(const Chunk& x, index row, index rows) {
    upload(StepKind::upload_a, s_.cut.whole_a, missing_a_, {row, x.k0, rows, x.kb});
  }
  void bring_b(const Chunk& x, index col, index cols) {
    if (b_from_a_)
      bring_a(x, col, cols);
    else
      upload(StepKind::upload_b, s_.cut.whole_b, missing_b_, {x.k0, col, x.kb, cols});
  }
  /// What rows and columns of the block are made of.
  void bring_rows(const Chunk& x, index row, index rows) {
    x.exchanged ? bring_b(x, row, rows) : bring_a(x, row, rows);
  }
  void bring_cols(const Chunk& x, index col, index cols) {
    x.exchanged ? bring_a(x, col, cols) : bring_b(x, col, cols);
  }

  /// The part multiplied so far grows from the corner: with each panel of one operand come its products with all panels
  /// of the other that are there.  Operands that are there from before are taken as a whole.
  void chunk(const Chunk& x) {
    const auto [i, j, rows, cols] = block_;
    const std::vector<index> row_panels = panels(rows, std::max(panel_, rows / 8)),
                             col_panels = panels(cols, std::max(panel_, cols / 8));
    auto next_row = row_panels.begin(), next_col = col_panels.begin();
    const bool need_rows = x.exchanged ? need_b_ : need_a_, need_cols = x.exchanged ? need_a_ : need_b_;
    index have_rows = need_rows ? 0 : rows, have_cols = need_cols ? 0 : cols;
    if (!need_a_ && !need_b_ && s_.residents.c.in_place)
      multiply(x, block_);  // nothing moves meanwhile
    else if (!need_a_ && !need_b_)
      for (index q = 0; q < cols; q += *next_col++) multiply(x, {i, j + q, rows, *next_col});
    while (have_rows < rows || have_cols < cols) {
      if (have_cols == cols || (have_rows < rows && have_rows * cols <= have_cols * rows)) {
        const index r = *next_row++;
        bring_rows(x, i + have_rows, r);
        if (have_cols > 0) multiply(x, {i + have_rows, j, r, have_cols});
        have_rows += r;
      } else {
        const index q = *next_col++;
        bring_cols(x, j + have_cols, q);
        if (have_rows > 0) multiply(x, {i, j + have_cols, have_rows, q});
        have_cols += q;
      }
    }
  }

  /// A block on the diagonal: each panel is multiplied with those before it, and with its own columns.
  void triangle(const Chunk& x) {
    const auto [i, j, rows, cols] = block_;
    index have = 0;
    for (const index r : panels(rows, std::max(panel_, rows / 8))) {
      if (need_a_) bring_a(x, i + have, r);
      if (need_b_ && s_.cut.own_b()) bring_b(x, j + have, r);
      if (have > 0) {
        const Block beside = s_.cut.part == Part::upper ? Block{i, j + have, have, r} : Block{i + have, j, r, have};
        multiply(x, beside);
        if (s_.twice(beside)) multiply(x.exchange(), beside);
      }
      multiply(x, {i + have, j + have, r, r});
      have += r;
    }
  }

  void multiply(const Chunk& x, const Block& part) {
    if (x.first && s_.reads_c) upload(StepKind::upload_c, s_.cut.whole_c, missing_c_, part);
    Step& product = step(StepKind::multiply, part);
    product.k0 = x.k0;
    product.kb = x.kb;
    product.first = x.first;
    product.apart = x.apart;
    product.exchanged = x.exchanged;
    if (s_.residues) {
      // The part grows from its corner: either all of these rows and columns are new, or none of them is.
      product.makes_a = part.row >= split_rows_;
      product.makes_b = part.col >= split_cols_;
      split_rows_ = std::max(split_rows_, part.row + part.rows);
      split_cols_ = std::max(split_cols_, part.col + part.cols);
    }
    if (x.adds) {
      s_.steps.push_back({.kind = StepKind::pass, .number = static_cast<std::int32_t>(s_.passes.size())});
      s_.passes.push_back({{{{area_c, part}, false}, {{first_scratch, part}, false}}, {{{area_c, part}, {1, 1}}}});
    }
    if (x.k0 + x.kb < s_.k || s_.residents.c.in_place || (s_.twice(part) && !x.exchanged)) return;
    for (const Block& piece : pieces(part, piece_, s_.part_of(part))) step(StepKind::download, piece);
  }

  void upload(StepKind kind, bool resident, Missing& missing, const Block& part) {
    if (!resident)
      step(kind, part);
    else
      for (const Block& x : missing.take(part))
        if (kind != StepKind::upload_c || meets(s_.cut.part, x)) step(kind, x);
  }

  Step& step(StepKind kind, const Block& x) {
    const int a = s_.cut.whole_a ? 0 : held_a_.newest, b = s_.cut.whole_b ? 0 : held_b_.newest;
    return s_.steps.emplace_back(Step{.kind = kind,
                                      .block = x,
                                      .a = static_cast<std::int8_t>(a),
                                      .b = static_cast<std::int8_t>(b),
                                      .c = static_cast<std::int8_t>(c_)});
  }

  GemmSchedule& s_;
  const index piece_, panel_;  ///< in elements; in rows or columns
  index head_;
  Missing missing_a_, missing_b_, missing_c_;
  Held held_a_, held_b_;
  int c_;                                  ///< C's buffer
  index split_rows_ = 0, split_cols_ = 0;  ///< of op(A) and op(B), into residues
  Block block_{};
  bool need_a_ = true, need_b_ = true, b_from_a_ = false;
};

GemmSchedule finished(GemmSchedule s, index piece, index panel, index head) {
  Planner(s, piece, panel, head).plan();
  s.after = depend(s);
  s.awaited = awaited_elsewhere(s);
  return s;
}

}  // namespace

GemmSchedule plan_gemm(index m, index n, index k, bool reads_c, std::size_t element, Cut cut, Residents residents,
                       std::size_t piece_bytes, index panel, index head) {
  GemmSchedule s{.m = m, .n = n, .k = k, .reads_c = reads_c, .cut = cut, .residents = std::move(residents)};
  if (!cut.own_b()) s.residents.b = {.whole = cut.whole_b};
  return finished(std::move(s), static_cast<index>(piece_bytes / element), panel, head);
}

GemmSchedule plan_by_residues(index m, index n, index k, bool reads_c, Precision precision, Cut cut,
                              Residents residents, std::size_t piece_bytes, index panel) {
  GemmSchedule s{.m = m, .n = n, .k = k, .reads_c = reads_c, .cut = cut, .residents = std::move(residents)};
  if (!cut.own_b()) s.residents.b = {.whole = cut.whole_b};
  s.residues = true;
  s.precision = precision;
  return finished(std::move(s), static_cast<index>(piece_bytes / element_size(precision)), panel, 0);
}

GemmSchedule::ResidueBytes GemmSchedule::residue_bytes() const {
  if (!residues) return {};
  const auto aligned = [](std::size_t bytes) { return leased_bytes(static_cast<index>(bytes), 1, 1); };
  using blaslift::residues::Layout, blaslift::residues::Tile;
  const Tile tile(precision, m, n);
  return {aligned(Layout(precision, m, k).bytes), aligned(Layout(precision, n, k).bytes),
          aligned(Tile::bytes(precision, tile.rows, tile.cols))};
}

void touched(const GemmSchedule& s, const Step& step, std::vector<Region>& read, std::vector<Region>& written) {
  if (step.kind == StepKind::leaf) {
    const Leaf& leaf = s.leaves[static_cast<std::size_t>(step.number)];
    read.insert(read.end(), {leaf.x, leaf.y});
    if (leaf.adds) read.push_back(leaf.e);
    written.push_back(leaf.target);
  } else if (step.kind == StepKind::pass) {
    const Pass& pass = s.passes[static_cast<std::size_t>(step.number)];
    for (const Pass::Source& source : pass.sources) read.push_back(source.region);
    for (const Pass::Target& target : pass.targets) written.push_back(target.region);
  }
}

std::vector<bool> staying(const GemmSchedule& s) {
  std::vector<Region> read, written;
  for (const Step& step : s.steps) touched(s, step, read, written);
  const bool once = s.cut.mb >= s.m && s.cut.nb >= s.n && s.cut.kb >= s.k;  // no buffer is used again
  std::vector<bool> staying(s.steps.size());
  for (std::size_t i = 0; i < s.steps.size(); ++i) {
    const Step& step = s.steps[i];
    if (step.kind != StepKind::upload_a && step.kind != StepKind::upload_b) continue;
    const bool is_a = step.kind == StepKind::upload_a;
    staying[i] = (once || (is_a ? s.cut.whole_a : s.cut.whole_b)) &&
                 std::none_of(written.begin(), written.end(), [&](const Region& x) {
                   return x.area == (is_a ? area_a : area_b) && overlap(s.as_operand(x), step.block);
                 });
  }
  return staying;
}

std::vector<std::vector<std::int32_t>> depend(const GemmSchedule& s) {
  struct Access {
    std::int32_t step;
    Block block;
    bool write;
  };
  // Levels have thousands of steps on blocks of a leaf's size and multiples of it: a grid keeps apart what is apart.
  constexpr index most_cells = 32;
  const index edge =
      s.leaves.empty()
          ? unbounded
          : std::max({s.leaves.front().target.block.rows, s.m / most_cells, s.n / most_cells, s.k / most_cells});
  auto cell = [edge](index at) { return std::min(at / edge, most_cells - 1); };
  // A buffer's accesses: those of the unit that has it, by cell, and of the one that had it before.  Units lay out
  // their storage differently, so all of one conflicts with all of another; older ones are waited for by those that are
  // kept.
  struct Buffer {
    Block unit{-1, -1, 0, 0};
    std::map<std::pair<index, index>, std::vector<Access>> now;
    std::vector<Access> before;
  };
  std::map<std::pair<Area, int>, Buffer> buffers;
  std::vector<std::vector<std::int32_t>> after(s.steps.size());

  auto access = [&](std::size_t at, Area area, int number, const Block& block, Extent size, bool write) {
    Buffer& buffer = buffers[{area, number}];
    const Block unit{block.row / size.rows, block.col / size.cols, 0, 0};
    if (!(unit == buffer.unit)) {
      buffer.before.clear();
      for (const auto& [where, accesses] : buffer.now)
        buffer.before.insert(buffer.before.end(), accesses.begin(), accesses.end());
      buffer.now.clear();
      buffer.unit = unit;
    }
    for (const Access& x : buffer.before)
      if (x.write || write) after[at].push_back(x.step);
    for (index col = cell(block.col); col <= cell(block.col + block.cols - 1); ++col)
      for (index row = cell(block.row); row <= cell(block.row + block.rows - 1); ++row) {
        std::vector<Access>& now = buffer.now[{row, col}];
        for (const Access& x : now)
          if ((x.write || write) && x.step != static_cast<std::int32_t>(at) && overlap(x.block, block))
            after[at].push_back(x.step);
        if (write) std::erase_if(now, [&](const Access& x) { return inside(x.block, block); });
        now.push_back({static_cast<std::int32_t>(at), block, write});
      }
  };

  auto access_region = [&](std::size_t at, const Region& r, bool write) {
    const Extent size = r.area == area_a   ? unit_a(s.cut)
                        : r.area == area_b ? unit_b(s.cut)
                        : r.area == area_c ? unit_c(s.cut)
                                           : whole_operand;
    access(at, r.area, 0, s.as_operand(r), size, write);
  };
  // Surveys note maxima, in any order.
  std::int32_t begin = 0, last_by_residues = -1;
  std::vector<std::int32_t> surveys;
  for (std::size_t at = 0; at < s.steps.size(); ++at) {
    const Step& step = s.steps[at];
    const Block& x = step.block;
    switch (step.kind) {
      case StepKind::upload_a: access(at, area_a, step.a, x, unit_a(s.cut), true); break;
      case StepKind::upload_b: access(at, area_b, step.b, x, unit_b(s.cut), true); break;
      case StepKind::upload_c: access(at, area_c, step.c, x, unit_c(s.cut), true); break;
      case StepKind::multiply:
        access(at, area_a, step.a, s.of_a(step), unit_a(s.cut), false);
        if (!s.from_a(x))
          access(at, area_b, step.b, s.of_b(step), unit_b(s.cut), false);
        else if (!on_diagonal(x))
          access(at, area_a, step.a, {x.col, step.k0, x.cols, step.kb}, unit_a(s.cut), false);
        if (step.apart)
          access_region(at, {first_scratch, x}, true);
        else
          access(at, area_c, step.c, x, unit_c(s.cut), true);
        if (s.residues) {  // they share what is split, and the memory of their sums
          if (last_by_residues >= 0) after[at].push_back(last_by_residues);
          last_by_residues = static_cast<std::int32_t>(at);
        }
        break;
      case StepKind::begin: begin = static_cast<std::int32_t>(at); break;
      case StepKind::survey:
        access_region(at, {static_cast<Area>(step.number), s.as_operand({static_cast<Area>(step.number), x})}, false);
        after[at].push_back(begin);
        surveys.push_back(static_cast<std::int32_t>(at));
        break;
      case StepKind::findings: after[at] = surveys; break;
      case StepKind::leaf:
      case StepKind::pass: {
        std::vector<Region> read, written;
        touched(s, step, read, written);
        for (const Region& r : read) access_region(at, r, false);
        for (const Region& r : written) access_region(at, r, true);
        break;
      }
      case StepKind::download: access(at, area_c, step.c, x, unit_c(s.cut), false); break;
    }
    std::sort(after[at].begin(), after[at].end());
    after[at].erase(std::unique(after[at].begin(), after[at].end()), after[at].end());
  }
  return after;
}

bool goes_in(const Step& step) { return step.kind <= StepKind::upload_c || step.kind == StepKind::begin; }

std::vector<bool> awaited_elsewhere(const GemmSchedule& s) {
  const auto queue_of = [](const Step& step) {  // one of two streams, or one of the transfers'
    if (goes_in(step)) return 2;
    if (step.kind == StepKind::findings || step.kind == StepKind::download) return 3;
    return static_cast<int>(step.stream);
  };
  std::vector<bool> awaited(s.steps.size());
  for (std::size_t i = 0; i < s.steps.size(); ++i) {
    std::int32_t last[4] = {-1, -1, -1, -1};
    for (const std::int32_t earlier : s.after[i]) {  // in ascending order
      const int queue = queue_of(s.steps[static_cast<std::size_t>(earlier)]);
      if (queue != queue_of(s.steps[i])) last[queue] = earlier;
    }
    for (const std::int32_t earlier : last)
      if (earlier >= 0) awaited[static_cast<std::size_t>(earlier)] = true;
  }
  return awaited;
}

std::string check(const GemmSchedule& s) {
  auto fault = [](std::size_t at, const char* what) { return "step " + std::to_string(at) + ": " + what; };
  const index mb = s.cut.mb, nb = s.cut.nb, kb = s.cut.kb;
  const int operands = s.cut.operands, results = s.cut.results;
  // Every rectangle of the list is made of whole cells of this grid, so a cell stands for its elements.
  std::vector<index> cuts[3];  // of m, n, k
  const index sizes[] = {s.m, s.n, s.k};
  auto note = [&cuts](int which, index at, index size) {
    cuts[which].push_back(at);
    cuts[which].push_back(at + size);
  };
  for (int which = 0; which < 3; ++which) note(which, 0, sizes[which]);
  for (const Step& step : s.steps) {
    const int row = step.kind == StepKind::upload_b ? 2 : 0, col = step.kind == StepKind::upload_a ? 2 : 1;
    note(row, step.block.row, step.block.rows);
    note(col, step.block.col, step.block.cols);
    if (step.kind == StepKind::multiply) note(2, step.k0, step.kb);
  }
  for (const Pass& pass : s.passes) {
    const Block& x = pass.targets[0].region.block;
    note(0, x.row, x.rows);
    note(1, x.col, x.cols);
  }
  struct Whole {
    char name;
    int row, col;
    bool there;
    const Resident& resident;
  };
  const Whole wholes[] = {{'A', 0, 2, s.cut.whole_a, s.residents.a},
                          {'B', 2, 1, s.cut.whole_b, s.residents.b},
                          {'C', 0, 1, s.cut.whole_c, s.residents.c}};
  for (const Whole& w : wholes) {
    if (w.there != w.resident.whole) return std::string("cut and residents differ on ") + w.name;
    for (const Block& b : w.resident.missing) {
      note(w.row, b.row, b.rows);
      note(w.col, b.col, b.cols);
    }
  }
  const Part part = s.cut.part;
  if (part != Part::whole) {  // the same for rows and columns, so that a cell is on one side of the diagonal or on it
    if (s.m != s.n || mb != nb) return "the blocks of a triangle are not square";
    cuts[0].insert(cuts[0].end(), cuts[1].begin(), cuts[1].end());
    cuts[1] = cuts[0];
  }
  for (auto& list : cuts) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  }
  auto cell = [&cuts](int which, index at) {
    return std::lower_bound(cuts[which].begin(), cuts[which].end(), at) - cuts[which].begin();
  };
  /// Calls `visit` for each cell of the block; false as soon as it says so.
  auto all_of = [&cell](int row, int col, const Block& x, auto visit) {
    for (auto r = cell(row, x.row); r < cell(row, x.row + x.rows); ++r)
      for (auto c = cell(col, x.col); c < cell(col, x.col + x.cols); ++c)
        if (!visit(std::pair(r, c))) return false;
    return true;
  };
  auto good = [](const Block& b, index rows, index cols, index block_rows, index block_cols) {
    return b.row >= 0 && b.col >= 0 && b.rows > 0 && b.cols > 0 && b.row + b.rows <= rows && b.col + b.cols <= cols &&
           b.row / block_rows == (b.row + b.rows - 1) / block_rows &&
           b.col / block_cols == (b.col + b.cols - 1) / block_cols;
  };
  using Cell = std::pair<std::ptrdiff_t, std::ptrdiff_t>;
  /// The same of C's cells that are computed.
  auto all_of_c = [&](const Block& x, auto visit) {
    return all_of(0, 1, x, [&](Cell y) {
      const bool beside = part == Part::upper ? y.first > y.second : part == Part::lower && y.first < y.second;
      return beside || visit(y);
    });
  };
  // Of a rank-2k update, each of its two products counts half of what is done.
  const index halves = s.cut.update == Update::rank_2k && part != Part::whole ? 2 : 1;
  struct Content {
    index k_done = -1;  // in halves; -1: as uploaded
    index k_from = 0;
  };
  // A buffer holds cells of one unit; another unit's first upload or product ends them.
  struct Buffer {
    Block unit{-1, -1, 0, 0};
    std::map<Cell, Content> cells;
    void enter(const Block& x, Extent size) {
      const Block now{x.row / size.rows, x.col / size.cols, 0, 0};
      if (!(now == unit)) cells.clear();
      unit = now;
    }
    bool holds(const Block& x, Extent size) const { return unit == Block{x.row / size.rows, x.col / size.cols, 0, 0}; }
  };
  std::map<int, Buffer> A, B, C;
  std::map<Cell, index> apart;  // how much of k is in the scratch area
  for (const Whole& w : wholes) {
    if (!w.there) continue;
    Buffer& buffer = (w.name == 'A' ? A : w.name == 'B' ? B : C)[0];
    buffer.enter({0, 0, 0, 0}, whole_operand);
    if (w.name == 'C' && !s.reads_c) continue;
    all_of(w.row, w.col, {0, 0, sizes[w.row], sizes[w.col]}, [&](Cell y) { return buffer.cells[y] = {}, true; });
    for (const Block& b : w.resident.missing)
      all_of(w.row, w.col, b, [&](Cell y) { return buffer.cells.erase(y), true; });
  }
  std::map<Cell, bool> committed;
  double elements = 0;
  for (std::size_t at = 0; at < s.steps.size(); ++at) {
    const Step& step = s.steps[at];
    const Block& x = step.block;
    if (step.kind == StepKind::pass) {
      const Pass& pass = s.passes[static_cast<std::size_t>(step.number)];
      const Region c = pass.targets[0].region, from{first_scratch, c.block};
      const bool adds = pass.sources.size() == 2 && pass.sources[0].region == c && pass.sources[1].region == from &&
                        !pass.sources[0].scaled && !pass.sources[1].scaled && pass.targets.size() == 1 &&
                        c.area == area_c && pass.targets[0].sign[0] == 1 && pass.targets[0].sign[1] == 1;
      const bool follows =
          adds && all_of_c(c.block, [&](Cell y) {
            const auto there = C[0].cells.find(y);
            const auto head = apart.find(y);
            if (there == C[0].cells.end() || head == apart.end() || there->second.k_from != head->second) return false;
            there->second.k_from = 0;
            apart.erase(head);
            return true;
          });
      if (!follows) return fault(at, "adds something else than the head to C's part, or too early, or again");
      continue;
    }
    if (step.kind > StepKind::multiply && step.kind < StepKind::download) return fault(at, "belongs to a level");
    const bool is_a = step.kind == StepKind::upload_a, is_b = step.kind == StepKind::upload_b;
    if (!good(x, is_b ? s.k : s.m, is_a ? s.k : s.n, is_b ? kb : mb, is_a ? kb : nb))
      return fault(at, "the block is out of bounds");
    if (step.a < 0 || step.a >= operands || step.b < 0 || step.b >= operands || step.c < 0 || step.c >= results)
      return fault(at, "no such buffer");
    if (!is_a && !is_b && !meets(part, x)) return fault(at, "the block is in the other triangle");
    switch (step.kind) {
      case StepKind::upload_a:
        A[step.a].enter(x, unit_a(s.cut));
        all_of(0, 2, x, [&](Cell y) { return A[step.a].cells[y] = {}, true; });
        break;
      case StepKind::upload_b:
        B[step.b].enter(x, unit_b(s.cut));
        all_of(2, 1, x, [&](Cell y) { return B[step.b].cells[y] = {}, true; });
        break;
      case StepKind::upload_c:
        C[step.c].enter(x, unit_c(s.cut));
        all_of_c(x, [&](Cell y) { return C[step.c].cells[y] = {}, true; });
        break;
      case StepKind::multiply: {
        const Block a = s.of_a(step), b = s.of_b(step);
        if (step.exchanged && !s.twice(x)) return fault(at, "a product with A and B exchanged that nothing asks for");
        const index done_before = halves * step.k0 + (step.exchanged ? step.kb : 0),
                    done = done_before + (s.twice(x) ? 1 : halves) * step.kb;
        if (!good(a, s.m, s.k, mb, kb)) return fault(at, "the chunk is out of bounds");
        if (part != Part::whole && !on_diagonal(x) && meets(Part::upper, x) && meets(Part::lower, x))
          return fault(at, "computes something else than a rectangle beside the diagonal or a triangle on it");
        Buffer &from_a = A[step.a], &from_b = B[step.b], &to = C[step.c];
        if (!from_a.holds(a, unit_a(s.cut)) || !all_of(0, 2, a, [&](Cell y) { return from_a.cells.contains(y); }))
          return fault(at, "A's panel is not there");
        if (s.from_a(x)) {
          const Block rows{x.col, step.k0, x.cols, step.kb};
          if (!from_a.holds(rows, unit_a(s.cut)) ||
              !all_of(0, 2, rows, [&](Cell y) { return from_a.cells.contains(y); }))
            return fault(at, "A's panel for op(B) is not there");
        } else if (!from_b.holds(b, unit_b(s.cut)) ||
                   !all_of(2, 1, b, [&](Cell y) { return from_b.cells.contains(y); })) {
          return fault(at, "B's panel is not there");
        }
        if (step.apart) {
          if (step.k0 != 0 || step.first || step.c != 0 || s.scratch.empty() || s.scratch[0].rows < s.m ||
              s.scratch[0].cols < s.n)
            return fault(at, "the head is not the first of k, or scaled, or has no room");
          all_of_c(x, [&](Cell y) { return apart[y] = step.kb, true; });
          break;
        }
        if (!step.first && !to.holds(x, unit_c(s.cut))) return fault(at, "adds to a block that no first chunk began");
        to.enter(x, unit_c(s.cut));
        const bool follows = all_of_c(x, [&](Cell y) {
          const auto there = to.cells.find(y);
          if (step.first) {
            if (s.reads_c && (there == to.cells.end() || there->second.k_done != -1)) return false;
            const auto head = apart.find(y);
            if (done_before != (head == apart.end() ? 0 : head->second)) return false;
          } else if (there == to.cells.end() || there->second.k_done != done_before) {
            return false;
          }
          Content& content = to.cells[y];
          content.k_done = done;
          if (step.first) content.k_from = step.k0;
          return true;
        });
        if (!follows) return fault(at, "C's part is not there, or a chunk of k is missing or repeated");
        break;
      }
      default: break;  // refused above
      case StepKind::download: {
        Buffer& from = C[step.c];
        if (!from.holds(x, unit_c(s.cut)) || !all_of_c(x, [&](Cell y) {
              const auto there = from.cells.find(y);
              return there != from.cells.end() && there->second.k_done == halves * s.k && there->second.k_from == 0;
            }))
          return fault(at, "brought back before its last chunk");
        if (!all_of_c(x, [&](Cell y) { return committed.emplace(y, true).second; }))
          return fault(at, "commits an element twice");
        elements += elements_in(part, x);
        break;
      }
    }
  }
  if (s.residents.c.in_place) {
    const bool whole = all_of_c({0, 0, s.m, s.n}, [&](Cell y) {
      const auto there = C[0].cells.find(y);
      return there != C[0].cells.end() && there->second.k_done == halves * s.k && there->second.k_from == 0;
    });
    return whole && elements == 0 ? "" : "not all of C is computed, or it is brought back";
  }
  if (elements != elements_in(part, {0, 0, s.m, s.n})) return "not all of C is committed";
  return {};
}

std::vector<std::size_t> order_of_arrival(const GemmSchedule& s) {
  std::vector<std::size_t> order;
  std::size_t begin = 0;
  const auto depth = [&s](std::size_t i) {
    const Block& x = s.steps[i].block;
    return s.steps[i].kind == StepKind::upload_a ? x.col : x.row;
  };
  const auto sort = [&] {
    std::stable_sort(order.begin() + static_cast<std::ptrdiff_t>(begin), order.end(),
                     [&](std::size_t x, std::size_t y) { return depth(x) < depth(y); });
    begin = order.size();
  };
  for (std::size_t i = 0; i < s.steps.size(); ++i) {
    const StepKind kind = s.steps[i].kind;
    const bool of_ab = kind == StepKind::upload_a || kind == StepKind::upload_b;
    if (s.surveyed && (kind == StepKind::leaf || kind == StepKind::multiply || (goes_in(s.steps[i]) && !of_ab))) sort();
    if (goes_in(s.steps[i])) order.push_back(i);
    if (goes_in(s.steps[i]) && !of_ab) begin = order.size();
  }
  if (s.surveyed) sort();
  return order;
}

std::string to_string(const GemmSchedule& s) {
  char line[192];
  const Cut& cut = s.cut;
  const std::string what = cut.part == Part::whole   ? "gemm m=" + std::to_string(s.m)
                           : cut.part == Part::upper ? "upper triangle"
                                                     : "lower triangle",
                    of = cut.part == Part::whole || cut.update == Update::rank_k ? ""
                         : cut.update == Update::product                         ? " of A B"
                                                                                 : " of A B + B A";
  std::snprintf(line, sizeof line, "%s n=%lld k=%lld in blocks of %lld x %lld, k by %lld, %d+%d buffers%s",
                (what + of).c_str(), static_cast<long long>(s.n), static_cast<long long>(s.k),
                static_cast<long long>(cut.mb), static_cast<long long>(cut.nb), static_cast<long long>(cut.kb),
                cut.operands, cut.results, s.reads_c ? ", reads C" : "");
  std::string text = line;
  if (s.residues) text += ", by residues";
  if (cut.whole_a || cut.whole_b || cut.whole_c)
    text +=
        std::string(", resident") + (cut.whole_a ? " A" : "") + (cut.whole_b ? " B" : "") + (cut.whole_c ? " C" : "");
  text += '\n';
  auto name = [](const Region& r) {
    constexpr const char* operands[] = {"A", "B", "C"};
    const std::string area =
        r.area < first_scratch ? operands[r.area] : "scratch " + std::to_string(r.area - first_scratch);
    auto range = [](index at, index size) { return std::to_string(at) + ":" + std::to_string(at + size); };
    return area + "[" + range(r.block.row, r.block.rows) + ", " + range(r.block.col, r.block.cols) + "]";
  };
  for (const Step& step : s.steps) {
    if (step.kind == StepKind::leaf) {
      const Leaf& leaf = s.leaves[static_cast<std::size_t>(step.number)];
      text += "  leaf     " + name(leaf.target) + " =";
      if (leaf.adds) text += (leaf.scaled ? " beta " : " ") + name(leaf.e) + (leaf.negative ? "" : " +");
      text += (leaf.negative ? " - " : " ") + name(leaf.x) + " * " + name(leaf.y) + '\n';
      continue;
    }
    if (step.kind == StepKind::pass) {
      const Pass& pass = s.passes[static_cast<std::size_t>(step.number)];
      text += "  pass    ";
      for (const Pass::Target& target : pass.targets) {
        text += (&target == &pass.targets.front() ? " " : ", ") + name(target.region) + " =";
        for (std::size_t i = 0; i < pass.sources.size(); ++i)
          if (target.sign[i] != 0)
            text += (target.sign[i] < 0 ? " - " : " + ") + std::string(pass.sources[i].scaled ? "beta " : "") +
                    name(pass.sources[i].region);
      }
      text += '\n';
      continue;
    }
    const Block& b = step.block;
    std::snprintf(line, sizeof line, "  %-8s [%lld:%lld, %lld:%lld]", names[static_cast<int>(step.kind)],
                  static_cast<long long>(b.row), static_cast<long long>(b.row + b.rows), static_cast<long long>(b.col),
                  static_cast<long long>(b.col + b.cols));
    text += line;
    switch (step.kind) {
      case StepKind::upload_a: text += " to a" + std::to_string(step.a); break;
      case StepKind::upload_b: text += " to b" + std::to_string(step.b); break;
      case StepKind::upload_c: text += " to c" + std::to_string(step.c); break;
      case StepKind::multiply:
        std::snprintf(line, sizeof line, " k %lld:%lld%s a%d b%d c%d", static_cast<long long>(step.k0),
                      static_cast<long long>(step.k0 + step.kb),
                      step.apart       ? " apart"
                      : step.first     ? " first"
                      : step.exchanged ? " exchanged"
                                       : "",
                      step.a, step.b, step.c);
        text += line;
        break;
      case StepKind::survey: text += step.number == area_a ? " of A" : " of B"; break;
      case StepKind::leaf:
      case StepKind::pass:  // above
      case StepKind::begin:
      case StepKind::findings: break;
      case StepKind::download: text += " from c" + std::to_string(step.c); break;
    }
    text += '\n';
  }
  return text;
}

}  // namespace blaslift
