#include "impl/qr/qr_plan.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "impl/core/stored.hpp"

namespace blaslift {
namespace {

/// Blocks to a piece of what a stream's updates change: narrower products are slow.
constexpr index stream_piece = 4;
/// Groups of a gang's place's columns that arrive while the first blocks are factored, one after the other: no more
/// than there are sets of V and T.
constexpr index arriving = 4;

constexpr const char* names[] = {"upload",     "panel",  "update", "join", "download",
                                 "reflectors", "remake", "share",  "fetch"};

class Planner {
 public:
  explicit Planner(QrPlan& plan) : plan_(plan) {}

  void plan() {
    if (plan_.together()) return together();
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

  /// What a place does of it.
  void together() {
    const index k = plan_.factored(), n = plan_.n, block = plan_.block;
    // What the place has from there on, block by block; the last reflectors may end within one.
    const auto width = [&](index col) { return std::min(block - col % block, n - col); };
    const auto next_own = [&](index col) {
      while (col < n && !plan_.has(col)) col = plan_.first_of(col) + block;
      return std::min(col, n);
    };
    const index blocks = (plan_.part + block - 1) / block, group = (blocks + arriving - 1) / arriving;
    const auto start_of_block = [&](index number) { return number < blocks ? plan_.column_at(number * block) : n; };
    const auto columns = [&](index from, index to) {  // those of the place that lie there
      return (to < n ? plan_.within(to) : plan_.part) - plan_.within(from);
    };
    for (index col = next_own(0); col < n; col = next_own(col + block)) add({QrStepKind::upload, col, width(col)});
    index there = start_of_block(std::max<index>(group, 2));  // columns before it have what is applied to all
    for (index col = 0; col < k; col += block) {
      const index cols = std::min(block, k - col), next = next_own(col + cols);
      if (plan_.has(col)) {
        factor(col, cols, true);
        add({QrStepKind::share, col, cols});
        add({QrStepKind::download, col, cols});
      } else if (next < n) {
        add({QrStepKind::fetch, col, cols});
      }
      if (next == n) continue;
      add({QrStepKind::update, col, cols, next, width(next)});
      const index others = next_own(next + width(next));
      if (others < there) add({QrStepKind::update, col, cols, others, columns(others, there), 1});
      // Those that come now, or are next but one, have missed what was applied to the others.
      const index wanted = others < n ? plan_.within(others) / block + 1 : blocks,
                  end = col + block < k ? start_of_block(std::max((col / block + 2) * group, wanted)) : n;
      if (there < end)
        for (index earlier = 0; earlier <= col; earlier += block)
          add({QrStepKind::update, earlier, std::min(block, k - earlier), there, columns(there, end), 1});
      there = std::max(there, end);
    }
    for (index col = next_own(k); col < n; col = next_own(col + width(col)))
      add({QrStepKind::download, col, width(col)});
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
std::vector<Touched> touched(const QrPlan& p, const QrStep& s) {
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
    case QrStepKind::share: return {{v, 0, p.block, false}, {t, 0, p.block, false}};
    case QrStepKind::fetch: return {{v, 0, p.block, true}, {t, 0, p.block, true}};
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
        if (is_being_copied(s.col)) return "writes what others may be copying";
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
        if (s.to < s.col + s.cols || s.to_cols < 1 || last_of(s) >= plan_.n) return "no such columns";
        for (index j = s.to; j <= last_of(s); ++j) {
          Column& c = columns_[static_cast<std::size_t>(j)];
          if (!plan_.has(j)) continue;
          if (!c.there || c.factored || c.back || c.has != s.col) return "columns are not ready";
          c.has = s.col + s.cols;
        }
        return {};
      case QrStepKind::share:
        if (!find(s.col, s.cols) || !plan_.has(s.col) || s.col != plan_.first_of(s.col)) return "no such V and T";
        shared_.push_back(s.col);
        return {};
      case QrStepKind::fetch:
        if (!plan_.together() || plan_.has(s.col) || s.col != plan_.first_of(s.col)) return "the place has them";
        if (is_being_copied(s.col)) return "writes what others may be copying";
        replace({s.col, s.cols, false});
        return {};
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
    for (index col = 0; plan_.together() && col < plan_.factored(); col += plan_.block)
      if (plan_.has(col) && std::find(shared_.begin(), shared_.end(), col) == shared_.end()) return false;
    return std::all_of(columns_.begin(), columns_.end(),
                       [this](const Column& c) { return c.back || !plan_.has(number_of(c)); });
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
  /// Of what an update changes.
  index last_of(const QrStep& s) const {
    return plan_.together() ? plan_.column_at(plan_.within(s.to) + s.to_cols - 1) : s.to + s.to_cols - 1;
  }

  /// Whether another place may be copying what is in the columns' set: each of the others has made or got a block that
  /// comes after it, if there is one, once the place itself knows of its own next one.
  bool is_being_copied(index col) const {
    return std::any_of(shared_.begin(), shared_.end(), [&](index block) {
      return block != plan_.first_of(col) && plan_.set_of(block) == plan_.set_of(col) &&
             latest_ < block + (plan_.places - 1) * plan_.block;
    });
  }

  /// What was in these columns of the set is gone.
  void replace(const Held& by) {
    std::vector<Held>& set = held_by(by.col);
    const index own = by.col - plan_.first_of(by.col);
    std::erase_if(set, [&](const Held& h) {
      const index theirs = h.col - plan_.first_of(h.col);
      return theirs < own + by.cols && own < theirs + h.cols;
    });
    set.push_back(by);
    latest_ = std::max(latest_, by.col);
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
  std::vector<index> shared_{};  ///< blocks
  index latest_ = 0;             ///< column of V that has been made or has come
  std::vector<Column> columns_;
  std::vector<index> places_;  ///< by column of a part: whose it is
  std::vector<std::vector<Held>> sets_;
  std::vector<std::vector<index>> reflectors_;  ///< by column of a block: whose they are
};

}  // namespace

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

namespace {

QrPlan planned(QrPlan plan) {
  Planner(plan).plan();
  std::vector<std::vector<Touched>> parts;
  for (const QrStep& step : plan.steps) parts.push_back(touched(plan, step));
  plan.after = order_of(parts);
  return plan;
}

/// Columns that a place of a gang has.
index columns_of(index n, index block, int place, int places) {
  index columns = 0;
  for (index col = place * block; col < n; col += places * block) columns += std::min(block, n - col);
  return columns;
}

}  // namespace

QrPlan plan_qr(index m, index n, index block, index panel, index part, index lead) {
  return planned({.m = m, .n = n, .block = block, .panel = panel, .part = part, .lead = lead});
}

QrPlan plan_qr_together(index m, index n, index block, index panel, int place, int places) {
  return planned({.m = m,
                  .n = n,
                  .block = block,
                  .panel = panel,
                  .part = columns_of(n, block, place, places),
                  .place = place,
                  .places = places});
}

QrCut qr_cut_together(index m, index n, const QrWidths& widths, std::size_t element, std::size_t memory, int places) {
  // Many, since the last ones are computed by few places; but not so narrow that they gain nothing of it.
  constexpr index blocks_of_a_place = 16, narrowest = 128;
  const index k = std::min(m, n), even = k / places,
              many = (k + places * blocks_of_a_place - 1) / (places * blocks_of_a_place),
              block = std::min(widths.block, std::max(many, std::min(narrowest, even))),
              panel = std::min(block, widths.panel);
  if (block == 0) return {0, 0, 0};
  const index whole_panels = block / panel * panel;
  QrPlan plan{.m = m, .n = n, .block = whole_panels, .panel = panel, .places = places};
  plan.part = columns_of(n, plan.block, 0, places);
  if ((k + plan.block - 1) / plan.block < places || plan.bytes(element) > memory) return {0, 0, 0};
  return {plan.block, panel, plan.part};
}

std::string check(const QrPlan& plan) {
  Checker checker(plan);
  for (std::size_t i = 0; i < plan.steps.size(); ++i)
    if (const std::string fault = checker.run(plan.steps[i]); !fault.empty())
      return std::to_string(i) + ": " + text(plan.steps[i]) + ": " + fault;
  return checker.complete() ? "" : "columns are left, or blocks are not shared";
}

std::string to_string(const QrPlan& plan) {
  std::string all = "geqrf m=" + std::to_string(plan.m) + " n=" + std::to_string(plan.n) + " in blocks of " +
                    std::to_string(plan.block) + ", panels of " + std::to_string(plan.panel) +
                    (plan.together()   ? ", place " + std::to_string(plan.place) + " of " + std::to_string(plan.places)
                     : plan.in_parts() ? ", parts of " + std::to_string(plan.part)
                                       : "") +
                    (plan.lead > 0 ? ", a stream of " + std::to_string(plan.lead) : "") + "\n";
  return all + listed(plan.after, [&](std::size_t i) { return text(plan.steps[i]); });
}

}  // namespace blaslift
