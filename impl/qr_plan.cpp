#include "impl/qr_plan.hpp"

#include <algorithm>

#include "impl/schedule.hpp"

namespace blaslift {
namespace {

constexpr const char* names[] = {"upload", "panel", "update", "join", "download"};

class Planner {
 public:
  explicit Planner(QrPlan& plan) : plan_(plan) {}

  void plan() {
    const index k = plan_.factored(), n = plan_.n, block = plan_.block;
    for (index col = 0; col < n; col += block) add({QrStepKind::upload, col, std::min(block, n - col)});
    for (index col = 0; col < k; col += block) {
      const index cols = std::min(block, k - col), right = col + cols, next = std::min(block, n - right);
      factor(col, cols, right < n);
      if (next > 0) add({QrStepKind::update, col, cols, right, next});
      if (right + next < n) add({QrStepKind::update, col, cols, right + next, n - right - next, 1});
      add({QrStepKind::download, col, cols});
    }
    for (index col = k; col < n; col += block) add({QrStepKind::download, col, std::min(block, n - col)});
  }

 private:
  void add(const QrStep& step) { plan_.steps.push_back(step); }

  /// @param for_others  T of all of it is needed, too
  void factor(index col, index cols, bool for_others) {
    if (cols <= plan_.panel) return add({QrStepKind::panel, col, cols});
    const index panels = (cols + plan_.panel - 1) / plan_.panel, left = (panels + 1) / 2 * plan_.panel,
                right = cols - left;
    factor(col, left, true);
    add({QrStepKind::update, col, left, col + left, right});
    factor(col + left, right, for_others);
    if (for_others) add({QrStepKind::join, col, left, col + left, right});
  }

  QrPlan& plan_;
};

/// Columns of A (0), of a set of V (1, 2) and T (3, 4): a column of T belongs to the right part of a join.
std::vector<QrTouched> touched(const QrPlan& p, const QrStep& s) {
  // W needs no mention: its columns are used with those of A, or of T.
  const int v = 1 + p.set_of(s.col), t = v + 2;
  const index own = s.col - p.first_of(s.col), to = s.to - p.first_of(s.col);
  switch (s.kind) {
    case QrStepKind::upload: return {{0, s.col, s.cols, true}};
    case QrStepKind::panel: return {{0, s.col, s.cols, true}, {v, own, s.cols, true}, {t, own, s.cols, true}};
    case QrStepKind::update: return {{v, own, s.cols, false}, {t, own, s.cols, false}, {0, s.to, s.to_cols, true}};
    case QrStepKind::join:
      return {{v, own, s.cols + s.to_cols, false}, {t, own, s.cols, false}, {t, to, s.to_cols, true}};
    case QrStepKind::download: return {{0, s.col, s.cols, false}};
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
  explicit Checker(const QrPlan& plan) : plan_(plan), columns_(static_cast<std::size_t>(plan.n)) {}

  std::string run(const QrStep& s) {
    if (s.cols < 1 || s.col < 0 || s.col + s.cols > plan_.n) return "no such columns";
    const bool reflectors = s.kind != QrStepKind::upload && s.kind != QrStepKind::download;
    if (reflectors && (s.col + s.cols > plan_.factored() || !in_one_block(s.col, s.cols))) return "no such reflectors";
    switch (s.kind) {
      case QrStepKind::upload:
        return each(s.col, s.cols, [](Column& c) {
          if (c.there) return "there already";
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
        // What was in these columns of the set is gone.
        std::vector<Held>& set = sets_[plan_.set_of(s.col)];
        const index own = s.col - plan_.first_of(s.col);
        std::erase_if(set, [&](const Held& h) {
          const index theirs = h.col - plan_.first_of(h.col);
          return theirs < own + s.cols && own < theirs + h.cols;
        });
        set.push_back({s.col, s.cols});
        return {};
      }
      case QrStepKind::update:
        if (!holds(s.col, s.cols)) return "no such V and T";
        if (s.to < s.col + s.cols || s.to_cols < 1 || s.to + s.to_cols > plan_.n) return "no such columns";
        return each(s.to, s.to_cols, [&](Column& c) {
          if (!c.there || c.factored || c.back || c.has != s.col) return "columns are not ready";
          c.has = s.col + s.cols;
          return "";
        });
      case QrStepKind::join:
        if (s.to != s.col + s.cols || s.to_cols < 1 || !in_one_block(s.col, s.cols + s.to_cols))
          return "not neighbours";
        if (!holds(s.col, s.cols) || !holds(s.to, s.to_cols)) return "no such V and T";
        sets_[plan_.set_of(s.col)].push_back({s.col, s.cols + s.to_cols});
        return {};
      case QrStepKind::download:
        return each(s.col, s.cols, [&](Column& c) {
          const bool last = &c - columns_.data() >= plan_.factored();
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
    friend bool operator==(const Held&, const Held&) = default;
  };

  bool in_one_block(index col, index cols) const {
    return plan_.first_of(col) == plan_.first_of(col + cols - 1) && cols <= plan_.block;
  }
  bool holds(index col, index cols) const {
    const std::vector<Held>& set = sets_[plan_.set_of(col)];
    return std::find(set.begin(), set.end(), Held{col, cols}) != set.end();
  }
  template <class Act>
  std::string each(index col, index cols, const Act& act) {
    for (index j = col; j < col + cols; ++j)
      if (const std::string fault = act(columns_[static_cast<std::size_t>(j)]); !fault.empty()) return fault;
    return {};
  }

  const QrPlan& plan_;
  std::vector<Column> columns_;
  std::vector<Held> sets_[2];
};

}  // namespace

std::vector<std::vector<std::int32_t>> order_of(const std::vector<std::vector<QrTouched>>& parts) {
  const auto conflict = [](const std::vector<QrTouched>& x, const std::vector<QrTouched>& y) {
    for (const QrTouched& a : x)
      for (const QrTouched& b : y)
        if (a.what == b.what && (a.written || b.written) && a.first < b.first + b.count && b.first < a.first + a.count)
          return true;
    return false;
  };
  const std::size_t count = parts.size();
  std::vector<std::vector<bool>> before(count, std::vector<bool>(count));
  std::vector<std::vector<std::int32_t>> after(count);
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t e = i; e-- > 0;) {
      if (before[i][e] || !conflict(parts[e], parts[i])) continue;
      after[i].push_back(static_cast<std::int32_t>(e));
      before[i][e] = true;
      for (std::size_t x = 0; x < e; ++x)
        if (before[e][x]) before[i][x] = true;
    }
  return after;
}

std::size_t QrPlan::bytes(std::size_t element, bool own_a, bool own_tau) const {
  const std::size_t a = own_a ? 0 : leased_bytes(m, n, element),
                    tau = own_tau ? 0 : leased_bytes(factored(), 1, element),
                    set = leased_bytes(m, block, element) + leased_bytes(block, block, element);
  return a + tau + static_cast<std::size_t>(sets()) * set + 2 * leased_bytes(block, n, element);
}

QrWidths qr_widths(index k) {
  constexpr index widest_panel = 64, widest_block = 512, blocks = 8;
  const index panel = std::min(k, widest_panel), eighth = (k + blocks - 1) / blocks;
  return {std::clamp((eighth + panel - 1) / panel * panel, panel, widest_block), panel};
}

QrPlan plan_qr(index m, index n, index block, index panel) {
  QrPlan plan{.m = m, .n = n, .block = block, .panel = panel};
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
                    std::to_string(plan.block) + ", panels of " + std::to_string(plan.panel) + "\n";
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    all += std::to_string(i) + ": " + text(plan.steps[i]);
    for (std::size_t e = 0; e < plan.after[i].size(); ++e)
      all += (e == 0 ? " after " : " ") + std::to_string(plan.after[i][e]);
    all += "\n";
  }
  return all;
}

}  // namespace blaslift
