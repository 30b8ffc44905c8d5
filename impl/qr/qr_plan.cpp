#include "impl/qr/qr_plan.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <utility>

#include "impl/core/stored.hpp"

namespace blaslift {
namespace {

/// Blocks to a piece of what a stream's updates change: narrower products are slow.
constexpr index stream_piece = 4;

constexpr const char* names[] = {"upload", "panel", "update", "join", "download", "reflectors", "remake"};

class Planner {
 public:
  explicit Planner(QrPlan& plan) : plan_(plan) {}

  void plan() {
    for (index start = 0; start < plan_.n; start += plan_.part) part(start, std::min(plan_.n, start + plan_.part));
  }

 private:
  void part(index start, index end) {
    const index k = plan_.factored(), block = plan_.block;
    for (index col = start; col < end; col += block) add({QrStepKind::upload, col, std::min(block, end - col)});
    for (index col = 0; col < std::min(start, k); col += block) {
      const index cols = std::min(block, k - col);
      if (std::exchange(held_[static_cast<std::size_t>(plan_.set_of(col))], col) != col) {
        add({QrStepKind::reflectors, col, cols});
        remake(col, cols);
      }
      add({QrStepKind::update, col, cols, start, end - start});
    }
    if (plan_.lead > 0) stream();
    for (index col = start + plan_.lead * block; col < std::min(end, k); col += block) {
      const index cols = std::min(block, k - col), right = col + cols, next = std::min(block, end - right);
      if (!factored(col)) factor_block(col, end);
      if (next > 0) add({QrStepKind::update, col, cols, right, next});
      if (right + next < end) add({QrStepKind::update, col, cols, right + next, end - right - next, 1});
      add({QrStepKind::download, col, cols});
    }
    for (index col = std::max(start, k); col < end; col += block)
      add({QrStepKind::download, col, std::min(block, end - col)});
  }

  /// The first blocks, what they do to the columns behind them, and the block behind them: in the order in which
  /// columns and factors are expected, since whoever asks waits for columns to be under way.
  void stream() {
    const index k = plan_.factored(), n = plan_.n, block = plan_.block;
    constexpr index factoring = 4;  // times as long as to send a block
    struct Work {
      index when;  ///< in times that a block takes to be sent
      index block;
      index to, to_cols;  ///< none: all that leads to the block's factors
    };
    std::vector<Work> work;
    for (index c = 0; c <= plan_.lead; ++c) work.push_back({c * factoring, c, 0, 0});
    for (index to = (plan_.lead + 1) * block; to < n; to += stream_piece * block) {
      const index cols = std::min(stream_piece * block, n - to), sent = (to + cols + block - 1) / block;
      for (index c = 0; c < plan_.lead; ++c) work.push_back({std::max(sent, (c + 1) * factoring), c, to, cols});
    }
    std::stable_sort(work.begin(), work.end(), [](const Work& x, const Work& y) { return x.when < y.when; });
    for (const Work& w : work) {
      const index col = w.block * block;
      if (w.to_cols > 0) {
        add({QrStepKind::update, col, block, w.to, w.to_cols, 1});
        continue;
      }
      for (index c = 0; c < col; c += block) add({QrStepKind::update, c, block, col, std::min(block, n - col)});
      if (col < k) factor_block(col, n);
      if (w.block < plan_.lead) add({QrStepKind::download, col, block});
    }
  }

  void add(const QrStep& step) { plan_.steps.push_back(step); }

  void factor_block(index col, index end) {
    const index cols = std::min(plan_.block, plan_.factored() - col), right = col + cols;
    // In the next part only the first two blocks are found where they are.
    factor(col, cols, right < end || (right < plan_.n && col < 2 * plan_.block));
    held_[static_cast<std::size_t>(plan_.set_of(col))] = col;
  }
  bool factored(index col) const { return held_[static_cast<std::size_t>(plan_.set_of(col))] == col; }

  /// The left part of columns that are more than a panel.
  index half(index cols) const {
    const index panels = (cols + plan_.panel - 1) / plan_.panel;
    return (panels + 1) / 2 * plan_.panel;
  }

  /// V and T as factor() has made them; while the reflectors before these are in use.
  void remake(index col, index cols) {
    if (cols <= plan_.panel) return add({QrStepKind::remake, col, cols, 0, 0, 1});
    const index left = half(cols), right = cols - left;
    remake(col, left);
    remake(col + left, right);
    add({QrStepKind::join, col, left, col + left, right, 1});
  }

  /// @param for_others  T of all of it is needed, too
  void factor(index col, index cols, bool for_others) {
    if (cols <= plan_.panel) return add({QrStepKind::panel, col, cols});
    const index left = half(cols), right = cols - left;
    factor(col, left, true);
    add({QrStepKind::update, col, left, col + left, right});
    factor(col + left, right, for_others);
    if (for_others) add({QrStepKind::join, col, left, col + left, right});
  }

  QrPlan& plan_;
  std::vector<index> held_ =
      std::vector<index>(static_cast<std::size_t>(plan_.sets()), -1);  ///< by set: whose V and T are there
};

/// Columns of A on the device (0), of what has been brought back (1), and from 2 on, for each set, of V, T and
/// reflectors: a column of T belongs to the right part of a join.
std::vector<QrTouched> touched(const QrPlan& p, const QrStep& s) {
  // W needs no mention: its columns are used with those of A, or of T.
  constexpr int back = 1;
  const int v = 2 + 3 * p.set_of(s.col), t = v + 1, reflectors = t + 1;
  const index own = s.col - p.first_of(s.col), to = s.to - p.first_of(s.col), at = p.within(s.col);
  switch (s.kind) {
    case QrStepKind::upload: return {{0, at, s.cols, true}};
    case QrStepKind::panel: return {{0, at, s.cols, true}, {v, own, s.cols, true}, {t, own, s.cols, true}};
    case QrStepKind::update:
      return {{v, own, s.cols, false}, {t, own, s.cols, false}, {0, p.within(s.to), s.to_cols, true}};
    case QrStepKind::join:
      return {{v, own, s.cols + s.to_cols, false}, {t, own, s.cols, false}, {t, to, s.to_cols, true}};
    case QrStepKind::download: return {{0, at, s.cols, false}, {back, s.col, s.cols, true}};
    case QrStepKind::reflectors: return {{back, s.col, s.cols, false}, {reflectors, 0, p.block, true}};
    case QrStepKind::remake: return {{reflectors, own, s.cols, false}, {v, own, s.cols, true}, {t, own, s.cols, true}};
  }
  return {};
}

std::string text(const QrStep& s) {
  const auto range = [](index col, index cols) {
    return "[" + std::to_string(col) + ", " + std::to_string(col + cols) + ")";
  };
  std::string line = std::string(names[static_cast<int>(s.kind)]) + " " + range(s.col, s.cols);
  if (s.kind == QrStepKind::update) line += " on " + range(s.to, s.to_cols);
  if (s.kind == QrStepKind::join) line += " with " + range(s.to, s.to_cols);
  if (s.stream == 1) line += " in the second stream";
  return line;
}

/// What a step by step execution knows.
class Checker {
 public:
  explicit Checker(const QrPlan& plan)
      : plan_(plan),
        columns_(static_cast<std::size_t>(plan.n)),
        places_(static_cast<std::size_t>(plan.part), -1),
        sets_(static_cast<std::size_t>(plan.sets())),
        reflectors_(sets_.size()) {}

  std::string run(const QrStep& s) {
    if (s.cols < 1 || s.col < 0 || s.col + s.cols > plan_.n) return "no such columns";
    const bool reflectors = s.kind != QrStepKind::upload && s.kind != QrStepKind::download;
    if (reflectors && (s.col + s.cols > plan_.factored() || !in_one_block(s.col, s.cols))) return "no such reflectors";
    switch (s.kind) {
      case QrStepKind::upload:
        return each(s.col, s.cols, [this](Column& c) {
          index& place = places_[static_cast<std::size_t>(plan_.within(number_of(c)))];
          if (c.there) return "there already";
          if (place >= 0 && !columns_[static_cast<std::size_t>(place)].back) return "there is no place";
          place = number_of(c);
          c.there = true;
          return "";
        });
      case QrStepKind::panel: {
        if (s.cols > plan_.panel) return "too wide";
        const std::string fault = each(s.col, s.cols, [&](Column& c) {
          if (!c.there || c.factored || c.back || c.has != s.col) return "columns are not ready";
          c.factored = true;
          c.has = s.col + s.cols;
          return "";
        });
        if (!fault.empty()) return fault;
        replace({s.col, s.cols, false});
        return {};
      }
      case QrStepKind::reflectors: {
        if (!in_one_block(s.col, s.cols)) return "no such block";
        const std::string fault = each(s.col, s.cols, [](Column& c) { return c.back ? "" : "not there yet"; });
        if (!fault.empty()) return fault;
        reflectors_[static_cast<std::size_t>(plan_.set_of(s.col))].clear();
        for (index j = s.col; j < s.col + s.cols; ++j) reflector(j) = j;
        return {};
      }
      case QrStepKind::remake: {
        if (s.cols > plan_.panel || !in_one_block(s.col, s.cols)) return "too wide";
        for (index j = s.col; j < s.col + s.cols; ++j)
          if (reflector(j) != j) return "no such reflectors";
        replace({s.col, s.cols, true});
        return {};
      }
      case QrStepKind::update:
        if (!find(s.col, s.cols)) return "no such V and T";
        if (s.to < s.col + s.cols || s.to_cols < 1 || s.to + s.to_cols > plan_.n) return "no such columns";
        return each(s.to, s.to_cols, [&](Column& c) {
          if (!c.there || c.factored || c.back || c.has != s.col) return "columns are not ready";
          c.has = s.col + s.cols;
          return "";
        });
      case QrStepKind::join:
        if (s.to != s.col + s.cols || s.to_cols < 1 || !in_one_block(s.col, s.cols + s.to_cols))
          return "not neighbours";
        {
          const Held *left = find(s.col, s.cols), *right = find(s.to, s.to_cols);
          if (!left || !right || left->remade != right->remade) return "no such V and T";
          held_by(s.col).push_back({s.col, s.cols + s.to_cols, left->remade});
        }
        return {};
      case QrStepKind::download:
        return each(s.col, s.cols, [&](Column& c) {
          const bool last = number_of(c) >= plan_.factored();
          if (!c.there || c.back || (last ? c.has != plan_.factored() : !c.factored)) return "not final";
          c.back = true;
          return "";
        });
    }
    return "no such step";
  }

  bool complete() const {
    return std::all_of(columns_.begin(), columns_.end(), [](const Column& c) { return c.back; });
  }

 private:
  struct Column {
    bool there = false, factored = false, back = false;
    index has = 0;  ///< the reflectors of so many columns
  };
  struct Held {
    index col, cols;
    bool remade;  ///< which has other roundings
  };

  index number_of(const Column& c) const { return &c - columns_.data(); }

  /// What was in these columns of the set is gone.
  void replace(const Held& by) {
    std::vector<Held>& set = held_by(by.col);
    const index own = by.col - plan_.first_of(by.col);
    std::erase_if(set, [&](const Held& h) {
      const index theirs = h.col - plan_.first_of(h.col);
      return theirs < own + by.cols && own < theirs + h.cols;
    });
    set.push_back(by);
  }

  std::vector<Held>& held_by(index col) { return sets_[static_cast<std::size_t>(plan_.set_of(col))]; }
  index& reflector(index col) {
    std::vector<index>& set = reflectors_[static_cast<std::size_t>(plan_.set_of(col))];
    set.resize(static_cast<std::size_t>(plan_.block), -1);
    return set[static_cast<std::size_t>(col - plan_.first_of(col))];
  }

  bool in_one_block(index col, index cols) const {
    return plan_.first_of(col) == plan_.first_of(col + cols - 1) && cols <= plan_.block;
  }
  const Held* find(index col, index cols) {
    for (const Held& h : held_by(col))
      if (h.col == col && h.cols == cols) return &h;
    return nullptr;
  }
  template <class Act>
  std::string each(index col, index cols, const Act& act) {
    for (index j = col; j < col + cols; ++j)
      if (const std::string fault = act(columns_[static_cast<std::size_t>(j)]); !fault.empty()) return fault;
    return {};
  }

  const QrPlan& plan_;
  std::vector<Column> columns_;
  std::vector<index> places_;  ///< by column of a part: whose it is
  std::vector<std::vector<Held>> sets_;
  std::vector<std::vector<index>> reflectors_;  ///< by column of a block: whose they are
};

/// Who has used something: for each of its parts, the last one that wrote it, and those that have read it since.
/// Whoever used it before these is waited for by one of them.
class Uses {
 public:
  /// Adds those that have to have ended before it is touched like this.
  void conflicts(const QrTouched& t, std::vector<std::int32_t>& steps) const {
    for (auto at = covering(t.first); at != parts_.end() && at->first < t.first + t.count; ++at) {
      const Part& part = at->second;
      if (part.writer >= 0) steps.push_back(part.writer);
      if (t.written) steps.insert(steps.end(), part.readers.begin(), part.readers.end());
    }
  }
  void note(const QrTouched& t, std::int32_t step) {
    const index end = t.first + t.count;
    cut(t.first);
    cut(end);
    const auto from = parts_.lower_bound(t.first), to = parts_.lower_bound(end);
    if (t.written) {
      parts_.erase(from, to);
      parts_.emplace(t.first, Part{step, {}});
    } else {
      for (auto at = from; at != to; ++at) at->second.readers.push_back(step);
    }
  }

 private:
  struct Part {
    std::int32_t writer = -1;
    std::vector<std::int32_t> readers{};
  };
  using Parts = std::map<index, Part>;  ///< by where they begin; each ends where the next one begins

  Parts::const_iterator covering(index at) const { return std::prev(parts_.upper_bound(at)); }
  void cut(index at) { parts_.emplace(at, std::as_const(*this).covering(at)->second); }

  Parts parts_{{std::numeric_limits<index>::min(), {}}};
};

}  // namespace

std::vector<std::vector<std::int32_t>> order_of(const std::vector<std::vector<QrTouched>>& parts) {
  // Who comes after whom is known within so many steps: of a longer list some waits are more than are needed.
  constexpr std::size_t known = 8192;
  const std::size_t count = parts.size(), words = (std::min(count, known) + 63) / 64;
  std::map<int, Uses> uses;
  std::vector<std::uint64_t> before;  // by step from `start` on: a bit for each of these that it comes after
  std::vector<std::vector<std::int32_t>> after(count);
  std::vector<std::int32_t> conflicts;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t start = i / known * known;
    if (i == start) before.assign(std::min(count - start, known) * words, 0);
    conflicts.clear();
    for (const QrTouched& t : parts[i]) uses[t.what].conflicts(t, conflicts);
    for (const QrTouched& t : parts[i]) uses[t.what].note(t, static_cast<std::int32_t>(i));
    std::sort(conflicts.begin(), conflicts.end(), std::greater<>());
    conflicts.erase(std::unique(conflicts.begin(), conflicts.end()), conflicts.end());
    std::uint64_t* const own = &before[(i - start) * words];
    for (const std::int32_t c : conflicts) {
      if (static_cast<std::size_t>(c) < start) {
        after[i].push_back(c);
        continue;
      }
      const std::size_t e = static_cast<std::size_t>(c) - start;
      if (own[e / 64] >> (e % 64) & 1) continue;
      after[i].push_back(c);
      own[e / 64] |= std::uint64_t{1} << (e % 64);
      for (std::size_t w = 0; w <= e / 64; ++w) own[w] |= before[e * words + w];
    }
  }
  return after;
}

std::size_t QrPlan::bytes(std::size_t element, bool own_a, bool own_tau) const {
  const std::size_t a = own_a ? 0 : leased_bytes(m, part, element),
                    tau = own_tau ? 0 : leased_bytes(factored(), 1, element),
                    square = leased_bytes(block, block, element), tall = leased_bytes(m, block, element),
                    set = tall + square + (in_parts() ? tall + 2 * square : 0);
  return a + tau + static_cast<std::size_t>(sets()) * set + 2 * leased_bytes(block, part, element);
}

double steps_of_blocks(index k, index block, index panel) {
  const auto pieces = [](index all, index each) {
    return std::ceil(static_cast<double>(all) / static_cast<double>(each));
  };
  return pieces(k, block) * (2 * pieces(block, std::min(block, panel)) + 2);
}

QrCut qr_cut(index m, index n, const QrWidths& widths, std::size_t element, std::size_t memory) {
  const auto [widest, panel] = widths;
  const auto fits = [&](index block, index part) {
    return QrPlan{.m = m, .n = n, .block = block, .panel = std::min(block, panel), .part = part}.bytes(element) <=
           memory;
  };
  const QrCut all{widest, panel, n};
  if (fits(widest, n)) return all;
  const std::vector<index> blocks = narrower_blocks(widths);
  for (const index block : blocks) {
    index fit = 0;
    for (index count = (n - 1) / block; count > 0 && fit == 0; --count)
      if (fits(block, count * block)) fit = count;
    if (fit >= several_blocks || (block == blocks.back() && fit > 0))
      return {block, std::min(block, panel), fit * block};
  }
  return all;
}

QrCut as_stream(index m, index n, QrCut cut, std::size_t element, std::size_t memory) {
  QrPlan plan{.m = m, .n = n, .block = cut.block, .panel = cut.panel, .part = cut.part};
  if (plan.in_parts()) return cut;
  plan.lead = stream_lead(plan.factored(), cut.block);
  if (plan.bytes(element) <= memory) cut.lead = plan.lead;
  return cut;
}

double sent_again(index m, index n, const QrCut& cut, std::size_t element) {
  const QrPlan plan{.m = m, .n = n, .block = cut.block, .panel = cut.panel, .part = cut.part};
  double elements = 0;
  for (index start = cut.part; start < n; start += cut.part)
    elements += static_cast<double>(m) * static_cast<double>(std::min(start, plan.factored()));
  return elements * static_cast<double>(element);
}

index stream_lead(index k, index block) { return std::min<index>(4, k / block / 4); }

QrPlan plan_qr(index m, index n, index block, index panel, index part, index lead) {
  QrPlan plan{.m = m, .n = n, .block = block, .panel = panel, .part = part, .lead = lead};
  Planner(plan).plan();
  std::vector<std::vector<QrTouched>> parts;
  for (const QrStep& step : plan.steps) parts.push_back(touched(plan, step));
  plan.after = order_of(parts);
  return plan;
}

std::string check(const QrPlan& plan) {
  Checker checker(plan);
  for (std::size_t i = 0; i < plan.steps.size(); ++i)
    if (const std::string fault = checker.run(plan.steps[i]); !fault.empty())
      return std::to_string(i) + ": " + text(plan.steps[i]) + ": " + fault;
  return checker.complete() ? "" : "columns are left";
}

std::string to_string(const QrPlan& plan) {
  std::string all = "geqrf m=" + std::to_string(plan.m) + " n=" + std::to_string(plan.n) + " in blocks of " +
                    std::to_string(plan.block) + ", panels of " + std::to_string(plan.panel) +
                    (plan.in_parts() ? ", parts of " + std::to_string(plan.part) : "") +
                    (plan.lead > 0 ? ", a stream of " + std::to_string(plan.lead) : "") + "\n";
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    all += std::to_string(i) + ": " + text(plan.steps[i]);
    for (std::size_t e = 0; e < plan.after[i].size(); ++e)
      all += (e == 0 ? " after " : " ") + std::to_string(plan.after[i][e]);
    all += "\n";
  }
  return all;
}

}  // namespace blaslift
