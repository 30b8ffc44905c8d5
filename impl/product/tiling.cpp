#include "impl/product/tiling.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace blaslift {
namespace {

using strassen::Level;

static_assert(static_cast<int>(StepKind::upload_a) == area_a && static_cast<int>(StepKind::upload_b) == area_b &&
              static_cast<int>(StepKind::upload_c) == area_c);

constexpr Region nowhere{first_scratch, {0, 0, 0, 0}};
bool is_somewhere(const Region& r) { return r.block.rows > 0; }

/// Where the two halves of op(X) meet is where those of its storage do, the other way round if it is transposed.
Region quarter(const Region& whole, int number, bool transposed) {
  const index rows = whole.block.rows / 2, cols = whole.block.cols / 2;
  const index down = number / 2, right = number % 2;
  return {whole.area,
          {whole.block.row + rows * (transposed ? right : down), whole.block.col + cols * (transposed ? down : right),
           rows, cols}};
}

/// Writes tile products down as steps on device memory.
class Levels {
 public:
  Levels(GemmSchedule& schedule, const Tiling& tiling)
      : s_(schedule), levels_(tiling.levels), tiling_(tiling), squares_(tiling.head == 0) {
    const auto says = [](const Level* level) { return strassen::says_streams(*level); };
    says_streams_ = static_cast<std::size_t>(std::find_if(levels_.begin(), levels_.end(), says) - levels_.begin());
  }

  std::vector<Step> steps;
  int deepest = 0;  ///< levels that a product has gone by: fewer than there are where one would destroy what must stay

  /// c := +-alpha * a * b + e.  c, e and the support matrix are squares, a and b too or smaller in k.
  struct Product {
    Region c, a, b;
    Region support = nowhere;
    Region e = nowhere;
    bool scaled = false;  ///< e by beta
    bool negative = false;
    bool private_inputs = false;
  };
  void multiply(const Product& p, std::size_t depth = 0) {
    const Level* level = depth < levels_.size() ? levels_[depth] : nullptr;
    if (level && level->destroys_inputs && !p.private_inputs) level = level->keeping;
    if (!level) return leaf(p);
    if (is_somewhere(p.e) && level->with_e) level = level->with_e;
    deepest = std::max(deepest, static_cast<int>(depth) + 1);

    const index half = p.c.block.rows / 2;
    std::vector<Region> at(static_cast<std::size_t>(strassen::first_temporary) + level->temporaries.size(), nowhere);
    auto quarters = [&](strassen::Block first, const Region& whole, bool transposed) {
      for (int i = 0; i < 4; ++i) at[static_cast<std::size_t>(first + i)] = quarter(whole, i, transposed);
    };
    quarters(strassen::A11, p.a, s_.transposed_a);
    quarters(strassen::B11, p.b, s_.transposed_b);
    quarters(strassen::C11, p.c, false);
    if (level->adds_e) quarters(strassen::E11, p.e, false);
    if (level->needs_support()) {
      if (is_somewhere(p.support) || !p.private_inputs)
        quarters(strassen::S11, is_somewhere(p.support) ? p.support : scratch(depth, 0, 2 * half), false);
      else
        for (int i = 0; i < 4; ++i)
          at[static_cast<std::size_t>(strassen::S11 + i)] = at[static_cast<std::size_t>(level->outermost[i])];
    }
    for (std::size_t i = 0; i < level->temporaries.size(); ++i)
      at[static_cast<std::size_t>(strassen::first_temporary) + i] = scratch(depth, 1 + i, half);

    // A sum of A's blocks is as large as these, wherever it is.
    const Extent sizes[] = {size(at[strassen::A11]), size(at[strassen::B11]), {half, half}};
    std::vector<Extent> held(at.size(), sizes[area_c]);
    std::fill_n(held.begin() + strassen::A11, 4, sizes[area_a]);
    std::fill_n(held.begin() + strassen::B11, 4, sizes[area_b]);
    const auto part = [&](strassen::Block b, const Extent& x) {
      const Region& place = at[static_cast<std::size_t>(b)];
      return Region{place.area, {place.block.row, place.block.col, x.rows, x.cols}};
    };
    const auto region = [&](strassen::Block b) { return part(b, held[static_cast<std::size_t>(b)]); };
    const auto place = [&](strassen::Block b) {
      return b == strassen::none ? nowhere : at[static_cast<std::size_t>(b)];
    };

    const bool scales = p.scaled;
    auto is_e = [](strassen::Block b) { return b >= strassen::E11 && b <= strassen::E22; };
    const bool overlap = tiling_.two_streams && (tiling_.at_all_levels || depth == says_streams_);
    auto free = free_of(level).begin();
    for (const strassen::Step& step : level->steps) {
      if (overlap) stream_ = step.stream == 2;
      if (step.is_product()) {
        const auto kept = [&](strassen::Block b) { return b <= strassen::B22 && !p.private_inputs; };
        held[static_cast<std::size_t>(step.target)] = sizes[area_c];
        multiply({.c = region(step.target),
                  .a = region(step.x),
                  .b = region(step.y),
                  .support = place(step.lend),
                  .e = step.e == strassen::none ? nowhere : region(step.e),
                  .scaled = is_e(step.e) && scales,
                  .negative = p.negative != (step.sign < 0),
                  .private_inputs = squares_ && free->operands && !kept(step.x) && !kept(step.y)},
                 depth + 1);
        ++free;
        continue;
      }
      std::vector<Sum> sums;
      std::vector<Extent> then = held;  // all sums are of what was held before
      for (const strassen::Sum& sum : step.sums) {
        const Extent& x = then[static_cast<std::size_t>(sum.target)] =
            held[static_cast<std::size_t>(sum.terms.front().block)];
        Sum& result = sums.emplace_back(Sum{part(sum.target, x), {}});
        for (const strassen::Term& t : sum.terms)
          result.terms.push_back({region(t.block), t.sign, is_e(t.block) && scales});
      }
      held = std::move(then);
      // A pass is over blocks of one size.
      while (!sums.empty()) {
        const Extent first = size(sums.front().target);
        const auto others =
            std::stable_partition(sums.begin(), sums.end(), [&](const Sum& x) { return size(x.target) == first; });
        pass({sums.begin(), others});
        sums.erase(sums.begin(), others);
      }
    }
    if (overlap) stream_ = 0;
    if (is_somewhere(p.e) && !level->adds_e) add_up(p.c, {p.c, 1, false}, {p.e, 1, p.scaled});
  }

  /// A tile's product, with its changes of basis.  E has not been changed: it is added afterwards.
  void multiply_tile(Product p) {
    if (std::none_of(levels_.begin(), levels_.end(), [](const Level* level) { return level->basis.changes(); }))
      return multiply(p);
    const Region e = std::exchange(p.e, nowhere);
    const auto into_basis = [&](Region& of, std::size_t which, auto sums, strassen::Block first, bool transposed) {
      const Region to = p.private_inputs ? of : scratch(in_basis, which, of.block.rows);
      const bool is_there = change_basis(sums, first, of, to, transposed);
      if (is_there) of = to;
      return is_there;
    };
    const bool private_a = into_basis(p.a, 0, &strassen::Basis::a, strassen::A11, s_.transposed_a),
               private_b = into_basis(p.b, 1, &strassen::Basis::b, strassen::B11, s_.transposed_b);
    p.private_inputs = private_a && private_b;
    multiply(p);
    change_basis(&strassen::Basis::c, strassen::C11, p.c, p.c, false);
    if (is_somewhere(e)) add_up(p.c, {p.c, 1, false}, {e, 1, p.scaled});
  }

  struct Term {
    Region region;
    signed char sign;
    bool scaled;  ///< by beta
  };
  void add_up(const Region& c, const Term& x, const Term& y) { pass({{c, {x, y}}}); }

  /// c := (beta *) c + product by blocks, each as soon as none of the steps from `first` on still writes it in
  /// `product`: so c is needed late, and done early.  Sixteen at most: smaller ones save little more.
  void add_blocks(std::size_t first, const Region& c, bool scaled, const Region& product) {
    const index blocks = std::min<index>(4, index{1} << levels_.size()), edge = c.block.rows / blocks;
    struct Block {
      Region to, from;
      std::size_t last;  ///< of the steps that write it
    };
    std::vector<Block> all;
    for (index row = 0; row < blocks; ++row)
      for (index col = 0; col < blocks; ++col) {
        const auto block = [&](const Region& whole) {
          return Region{whole.area, {whole.block.row + row * edge, whole.block.col + col * edge, edge, edge}};
        };
        all.push_back({block(c), block(product), first});
      }
    std::vector<Region> read, written;
    for (std::size_t i = first; i < steps.size(); ++i) {
      read.clear();
      written.clear();
      touched(s_, steps[i], read, written);
      for (Block& x : all)
        for (const Region& r : written)
          if (r.area == x.from.area && overlap(r.block, x.from.block)) x.last = i;
    }
    const std::vector<Step> before(steps.begin() + static_cast<std::ptrdiff_t>(first), steps.end());
    steps.resize(first);
    for (std::size_t i = 0; i < before.size(); ++i) {
      steps.push_back(before[i]);
      for (const Block& x : all)
        if (x.last == first + i) add_up(x.to, {x.to, 1, scaled}, {x.from, 1, false});
    }
  }

  /// The same square every time it is asked for.
  Region scratch(std::size_t depth, std::size_t which, index edge) {
    const auto [there, is_new] =
        scratch_.try_emplace({depth, which}, static_cast<Area>(first_scratch + s_.scratch.size()));
    if (is_new) s_.scratch.push_back({edge, edge});
    return {there->second, {0, 0, edge, edge}};
  }

 private:
  struct Sum {
    Region target;
    std::vector<Term> terms;
  };
  static Extent size(const Region& r) { return {r.block.rows, r.block.cols}; }

  /// Changes every block that a level with a basis works on, one level after the other, from `from` to `to`, which may
  /// be the same.  Whether what there is lies in `to` now: no level may have had anything to change.
  bool change_basis(std::vector<strassen::Sum> strassen::Basis::*sums, strassen::Block first, const Region& from,
                    const Region& to, bool transposed) {
    Region source = from;
    for (std::size_t depth = 0; depth < levels_.size(); ++depth) {
      const std::vector<strassen::Sum>& change = levels_[depth]->basis.*sums;
      if (change.empty()) continue;
      change_blocks(change, first, source, to, transposed, depth);
      source = to;
    }
    return source == to;
  }
  void change_blocks(const std::vector<strassen::Sum>& change, strassen::Block first, const Region& from,
                     const Region& to, bool transposed, std::size_t depth) {
    const auto part = [&](const Region& whole, int i) { return quarter(whole, i, transposed); };
    if (depth > 0) {
      for (int i = 0; i < 4; ++i) change_blocks(change, first, part(from, i), part(to, i), transposed, depth - 1);
      return;
    }
    std::vector<Sum> result;
    for (const strassen::Sum& sum : change) {
      Sum& changed = result.emplace_back(Sum{part(to, sum.target - first), {}});
      for (const strassen::Term& t : sum.terms) changed.terms.push_back({part(from, t.block - first), t.sign, false});
    }
    for (int i = 0; i < 4 && !(from == to); ++i)  // what stays comes along
      if (std::none_of(change.begin(), change.end(), [&](const auto& sum) { return sum.target - first == i; }))
        result.push_back({part(to, i), {{part(from, i), 1, false}}});
    pass(result);
  }

  const std::vector<strassen::Free>& free_of(const Level* level) {
    const auto [found, is_new] = free_.try_emplace(level);
    if (is_new) found->second = strassen::free_blocks(*level);
    return found->second;
  }

  void leaf(const Product& p) {
    steps.push_back({.kind = StepKind::leaf, .number = static_cast<std::int32_t>(s_.leaves.size()), .stream = stream_});
    s_.leaves.push_back({p.c, p.a, p.b, p.e, p.negative, is_somewhere(p.e), p.scaled});
  }

  void pass(const std::vector<Sum>& sums) {
    Pass pass;
    for (const Sum& sum : sums) {
      Pass::Target target{sum.target, std::vector<signed char>(Combination::most_sources)};
      for (const Term& t : sum.terms) {
        auto source = std::find_if(pass.sources.begin(), pass.sources.end(),
                                   [&](const Pass::Source& x) { return x.region == t.region; });
        if (source == pass.sources.end()) source = pass.sources.insert(source, {t.region, t.scaled});
        target.sign[static_cast<std::size_t>(source - pass.sources.begin())] = t.sign;
      }
      pass.targets.push_back(std::move(target));
    }
    steps.push_back({.kind = StepKind::pass, .number = static_cast<std::int32_t>(s_.passes.size()), .stream = stream_});
    s_.passes.push_back(std::move(pass));
  }

  GemmSchedule& s_;
  const std::vector<const Level*>& levels_;
  const Tiling& tiling_;
  const bool squares_;        ///< A's and B's blocks are as large as C's, and so may lend their place
  std::size_t says_streams_;  ///< the outermost level that does
  std::int8_t stream_ = 0;
  std::map<const Level*, std::vector<strassen::Free>> free_;
  std::map<std::pair<std::size_t, std::size_t>, Area> scratch_;
  static constexpr std::size_t in_basis = ~std::size_t{1};  ///< as second_tile: A's and B's copies
};

constexpr std::size_t second_tile = ~std::size_t{0};  ///< a scratch area that no level has

/// A tile of C: a chain of products, from C's own memory to the second tile and back, so that it ends in C.
/// @param depth  how much of k each of the products has
void tile_products(const GemmSchedule& s, Levels& levels, const Tiling& tiling, index products, index depth, index i,
                   index j) {
  const index t = tiling.tile;
  const auto stored = [](Area area, bool transposed, const Block& x) {
    return Region{area, transposed ? Block{x.col, x.row, x.cols, x.rows} : x};
  };
  const Region c{area_c, {i, j, t, t}};
  // What the next product adds: C as it was, the product before, or nothing.
  bool adds = s.reads_c || tiling.head > 0, scaled = s.reads_c, in_c = true;
  for (index p = 0; p < products; ++p) {
    const index left = products - p;
    const index at = tiling.head + p * depth;
    // Rows of op(A) are columns of op(B).
    Levels::Product product{.a = stored(area_a, s.transposed_a, {i, at, t, depth}),
                            .b = s.cut.own_b() ? stored(area_b, s.transposed_b, {at, j, depth, t})
                                               : stored(area_a, s.transposed_a, {j, at, t, depth}),
                            .private_inputs = tiling.overwrite};
    const bool apart = adds && in_c && left % 2 != 0;  // and added to C afterwards
    const bool to_c = !apart && (adds ? !in_c : left % 2 != 0);
    product.c = to_c ? c : levels.scratch(second_tile, 0, t);
    if (adds && !apart) {
      product.e = in_c ? c : levels.scratch(second_tile, 0, t);
      product.scaled = scaled;
    }
    const std::size_t before = levels.steps.size();
    levels.multiply_tile(product);
    if (apart && (tiling.levels.empty() || s.residents.c.in_place))
      levels.add_up(c, {c, 1, scaled}, {product.c, 1, false});
    else if (apart)
      levels.add_blocks(before, c, scaled, product.c);
    adds = true;
    scaled = false;
    in_c = to_c || apart;
  }
}

/// What a step reads or writes, as blocks of the operands; scratch areas left out.
struct Touched {
  std::vector<Block> of[3];
};
Touched touched_operands(const GemmSchedule& s, const Step& step) {
  Touched t;
  if (step.kind == StepKind::multiply) {
    t.of[area_a] = {{step.block.row, step.k0, step.block.rows, step.kb}};
    if (s.from_a(step.block))
      t.of[area_a].push_back({step.block.col, step.k0, step.block.cols, step.kb});
    else
      t.of[area_b] = {{step.k0, step.block.col, step.kb, step.block.cols}};
    t.of[area_c] = {step.block};
    return t;
  }
  std::vector<Region> read, written;
  touched(s, step, read, written);
  for (const auto* regions : {&read, &written})
    for (const Region& r : *regions)
      if (r.area <= area_c) t.of[r.area].push_back(s.as_operand(r));
  return t;
}

/// A leaf's edge, or a multiple where these would be too many: what is found takes memory, and is brought back.
index slice(index leaf, index k) {
  constexpr index most = 32;
  while (k / leaf > most) leaf *= 2;
  return leaf;
}

/// A block of A or B, cut at the slices of k, or at every so many of them.
std::vector<Block> by_slices(const GemmSchedule& s, Area area, const Block& x, index at_once = 1) {
  std::vector<Block> blocks;
  const index begin = area == area_a ? x.col : x.row, end = begin + (area == area_a ? x.cols : x.rows);
  for (index from = begin; from < end;) {
    const index p = (s.slice_of(from) / at_once + 1) * at_once, to = p >= s.slices() ? end : std::min(end, p * s.slice);
    blocks.push_back(area == area_a ? Block{x.row, from, x.rows, to - from} : Block{from, x.col, to - from, x.cols});
    from = to;
  }
  return blocks;
}

}  // namespace

bool may_overwrite(index m, index n, index tile, const Residents& residents) {
  return !residents.a.whole && !residents.b.whole && m / tile == 1 && n / tile == 1;
}

bool may_have_head(const Tiling& tiling, const Residents& residents, bool reads_c, Part part) {
  const auto keeps = [](const Level* level) { return !level->destroys_inputs && !level->basis.changes(); };
  return part == Part::whole && !reads_c && !tiling.overwrite && !residents.a.whole && !residents.b.whole &&
         std::all_of(tiling.levels.begin(), tiling.levels.end(), keeps);
}

GemmSchedule plan_levels(index m, index n, index k, bool transposed_a, bool transposed_b, bool reads_c,
                         std::size_t element, const Tiling& tiling, Residents residents, std::size_t piece_bytes,
                         Part part, Update update) {
  const bool triangle = part != Part::whole, own_b = has_own_b(part, update);
  if (!own_b) residents.b = {.whole = true};
  GemmSchedule s{.m = m, .n = n, .k = k, .reads_c = reads_c};
  s.cut = {.mb = m,
           .nb = n,
           .kb = k,
           .whole_a = residents.a.whole,
           .whole_b = residents.b.whole,
           .whole_c = residents.c.whole,
           .part = part,
           .update = update};
  s.residents = std::move(residents);
  s.transposed_a = transposed_a;
  s.transposed_b = transposed_b;
  const index t = tiling.tile, head = tiling.head, products = k / t,
              depth = std::min(t, (k - head) / products >> tiling.levels.size() << tiling.levels.size());
  const index core_m = m / t * t, core_n = n / t * t, core_k = head + products * depth;

  auto strip = [](Block c, index k0, index kb, bool first) {
    return Step{.kind = StepKind::multiply, .block = c, .k0 = k0, .kb = kb, .first = first};
  };
  std::vector<Step> strips;
  if (core_m < m && part != Part::upper)
    strips.push_back(strip({core_m, 0, m - core_m, triangle ? core_n : n}, head, k - head, head == 0));
  if (core_n < n && part != Part::lower)
    strips.push_back(strip({0, core_n, core_m, n - core_n}, head, k - head, head == 0));
  if (core_n < n && triangle) strips.push_back(strip({core_n, core_n, n - core_n, n - core_n}, 0, k, true));
  Levels levels(s, tiling);
  if (tiling.overwrite) levels.steps = strips;
  // The same products as without levels, to the last bit.
  if (head > 0)
    for (const Step& x :
         plan_gemm(m, n, k, false, element, {.mb = m, .nb = n, .kb = k}, {}, piece_bytes, usual_panel, head).steps)
      if (x.kind == StepKind::multiply && x.k0 == 0) levels.steps.push_back(strip(x.block, 0, head, true));
  for (index j = 0; j < core_n; j += t)
    for (index i = 0; i < core_m; i += t) {
      if (triangle && i == j)
        levels.steps.push_back(strip({i, j, t, t}, 0, k, true));
      else if (meets(part, {i, j, t, t}))
        tile_products(s, levels, tiling, products, depth, i, j);
    }
  if (!tiling.overwrite) levels.steps.insert(levels.steps.end(), strips.begin(), strips.end());
  s.depth = levels.deepest;
  const std::vector<Step>& steps = levels.steps;

  // From the end: what of C nothing touches any more.
  std::vector<Touched> touch;
  for (const Step& step : steps) touch.push_back(touched_operands(s, step));
  std::vector<std::vector<Block>> final_after(steps.size());
  Missing changing{{{0, 0, m, n}}};
  for (std::size_t i = steps.size(); i-- > 0 && !changing.blocks.empty();)
    for (const Block& x : touch[i].of[area_c]) {
      const std::vector<Block> taken = changing.take(x);
      if (s.part_of(x) == Part::whole)
        final_after[i].insert(final_after[i].end(), taken.begin(), taken.end());
      else
        final_after[i] = {x};  // a square on the diagonal stays one, and is computed once
    }

  Missing missing[3];
  const Resident* resident[] = {&s.residents.a, &s.residents.b, &s.residents.c};
  const Block whole[] = {{0, 0, m, k}, {0, 0, k, n}, {0, 0, m, n}};
  for (int x = 0; x < 3; ++x)
    missing[x].blocks = resident[x]->whole ? resident[x]->missing : std::vector<Block>{whole[x]};
  if (!reads_c) missing[area_c].blocks.clear();
  s.surveyed = tiling.surveyed;
  s.slice = slice(t >> s.depth, k);
  Missing unseen[2];
  if (s.surveyed)
    for (const Area area : {area_a, area_b})
      if (area == area_a || own_b) unseen[area].blocks = {whole[area]};
  const auto piece = static_cast<index>(piece_bytes / element);
  if (s.surveyed) s.steps.push_back({.kind = StepKind::begin, .block = {0, 0, s.findings(), 1}});
  auto survey = [&](Area area, const Block& block) {
    for (const Block& x : unseen[area].take(block))
      for (const Block& y : by_slices(s, area, x))
        s.steps.push_back({.kind = StepKind::survey, .block = y, .number = area});
  };
  // What was there before, and stays, is surveyed as a whole; not first of all, for products can begin at once.
  auto is_there = [&](Area area) { return resident[area]->whole && resident[area]->missing.empty(); };
  auto survey_what_is_there = [&] {
    for (const Area area : {area_a, area_b})
      if (is_there(area)) survey(area, whole[area]);
  };
  constexpr index at_once = 2048;
  auto bring = [&](Area area, const Block& block) {
    const auto upload = [&](const Block& x) { s.steps.push_back({.kind = static_cast<StepKind>(area), .block = x}); };
    for (const Block& x : missing[area].take(block)) {
      if (area == area_c && meets(part, x)) upload(x);
      if (area == area_c) continue;
      // What has arrived can be surveyed, and a large block arrives in milliseconds.
      for (const Block& y : s.surveyed ? by_slices(s, area, x, std::max<index>(1, at_once / s.slice)) : std::vector{x})
        upload(y);
    }
    if (area == area_c || is_there(area)) return;
    survey(area, block);
  };
  auto report = [&] {
    for (const Block& x : pieces({0, 0, s.findings(), 1}, piece))
      s.steps.push_back({.kind = StepKind::findings, .block = x});
  };
  // C in place, once overwritten, is lost.
  const bool findings_first = s.surveyed && reads_c && s.residents.c.in_place;
  if (findings_first) {
    for (const Area area : {area_a, area_b}) bring(area, whole[area]);
    survey_what_is_there();
    report();
    s.first_if_sound = s.steps.size();
  }
  const auto all_seen = [&] { return unseen[area_a].blocks.empty() && unseen[area_b].blocks.empty(); };
  bool reported = findings_first || !s.surveyed;
  auto compute = [&](const Step& step, const Touched& x) {
    for (const Area area : {area_a, area_b, area_c})
      for (const Block& block : x.of[area]) bring(area, block);
    // What C held would have to come again, or be computed again.
    if (s.surveyed && (reads_c || head > 0) && reported && !x.of[area_c].empty())
      s.first_if_sound = std::min(s.first_if_sound, s.steps.size());
    s.steps.push_back(step);
    survey_what_is_there();
    if (!reported && all_seen()) reported = true, report();
  };
  std::vector<Step> downloads;  // not before the findings are known
  for (std::size_t i = 0; i < steps.size(); ++i) {
    compute(steps[i], touch[i]);
    for (const Block& own : final_after[i]) {
      const bool of_core = own.row < core_m && own.col < core_n && s.part_of(own) == Part::whole;
      if (of_core && core_k < k) {
        const Step rest = strip(own, core_k, k - core_k, false);
        compute(rest, touched_operands(s, rest));
      }
      if (s.residents.c.in_place) continue;
      for (const Block& x : pieces(own, piece, s.part_of(own)))
        downloads.push_back({.kind = StepKind::download, .block = x});
    }
    if (!reported || downloads.empty()) continue;
    if (s.surveyed) s.first_if_sound = std::min(s.first_if_sound, s.steps.size());
    s.steps.insert(s.steps.end(), downloads.begin(), downloads.end());
    downloads.clear();
  }
  constexpr double at_a_time = 1.0 / 200;
  s.unjudged = std::max(tiling.least_unjudged, at_a_time * static_cast<double>(m) * static_cast<double>(n) *
                                                   static_cast<double>(k) * (triangle ? 0.5 : 1));
  s.after = depend(s);
  s.awaited = awaited_elsewhere(s);
  return s;
}

GemmSchedule plan_levels_in(std::size_t room, index m, index n, index k, bool transposed_a, bool transposed_b,
                            bool reads_c, std::size_t element, Tiling tiling, const Residents& residents,
                            std::size_t piece_bytes, Part part, Update update) {
  const auto plan = [&] {
    return plan_levels(m, n, k, transposed_a, transposed_b, reads_c, element, tiling, residents, piece_bytes, part,
                       update);
  };
  const index tile = tiling.tile;
  const bool may = part == Part::whole && may_overwrite(m, n, tile, residents);
  // Rather in more memory: operands that are still there need not be sent again if the guard refuses them.  Some lists
  // take more steps, or can do less, where operands are to be kept.
  const bool alone = m == tile && n == tile,
             better = std::any_of(tiling.levels.begin(), tiling.levels.end(),
                                  [](const Level*x) { return x->destroys_inputs || x->basis.changes(); });
  tiling.overwrite = may && alone && better;
  if (!may_have_head(tiling, residents, reads_c, part)) tiling.head = 0;
  GemmSchedule schedule = plan();
  // Strips have to come first then, and wait for all of A and B.
  const std::size_t enough = alone ? room / 2 : room;
  if (tiling.head > 0 && schedule.bytes(element) > enough) {  // a second tile of C, and no input's place is free
    tiling.head = 0;
    schedule = plan();
  }
  if (schedule.bytes(element) > enough && may && !tiling.overwrite) {
    tiling.overwrite = true;
    schedule = plan();
  }
  return schedule;
}

}  // namespace blaslift
