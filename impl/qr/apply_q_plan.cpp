#include "impl/qr/apply_q_plan.hpp"

#include <algorithm>

#include "impl/core/stored.hpp"

namespace blaslift {
namespace {

constexpr const char* names[] = {"tau", "reflectors", "upload", "identity", "panel", "join", "update", "download"};

class Planner {
 public:
  explicit Planner(QPlan& plan) : plan_(plan) {}

  void plan() {
    add({.kind = QStepKind::tau});
    const index length = plan_.product.length();
    for (index start = 0; start < length; start += plan_.window) window(start, std::min(length, start + plan_.window));
  }

 private:
  void add(const QStep& step) { plan_.steps.push_back(step); }

  /// All of Q on columns, or rows, of C.
  void window(index start, index end) {
    const QProduct& p = plan_.product;
    // Blocks whose reflectors begin behind all of an identity's columns leave these as they are.
    const index k = p.of_identity ? std::min(p.k, end) : p.k, count = (k + plan_.block - 1) / plan_.block;
    // Q C and C Q^H begin with the last block.
    const bool forwards = p.left == p.adjoint;
    const auto col_of = [&](index i) { return (forwards ? i : count - 1 - i) * plan_.block; };
    const auto for_parts = [&](const auto& act) {
      for (index to = start; to < end; to += plan_.part) act(to, std::min(plan_.part, end - to));
    };
    // Streamed, the reflectors of one block are on their way while those of another are used.
    index asked = 0;
    const auto ask_for = [&](index blocks) {
      for (; asked < std::min(blocks, count); ++asked)
        if (const index col = col_of(asked); !held(col))
          add({.kind = QStepKind::reflectors, .col = col, .cols = std::min(plan_.block, p.k - col)});
    };
    ask_for(1);
    if (p.of_identity)
      add({.kind = QStepKind::identity, .to = start, .to_cols = end - start});
    else
      for_parts([&](index to, index to_cols) { add({.kind = QStepKind::upload, .to = to, .to_cols = to_cols}); });
    for (index i = 0; i < count; ++i) {
      ask_for(plan_.streamed ? i + 2 : count);
      const index col = col_of(i), cols = std::min(plan_.block, p.k - col);
      if (!held(col)) prepare(col, cols);
      held_[plan_.set_of(col)] = col;
      const bool last = i == count - 1;
      const auto update = [&](index to, index to_cols) {
        // Columns of the identity before the block's are zero where its reflectors are not.
        const index from = p.of_identity ? std::max(to, col) : to;
        if (from < to + to_cols)
          add({.kind = QStepKind::update, .col = col, .cols = cols, .to = from, .to_cols = to + to_cols - from});
        if (last) add({.kind = QStepKind::download, .to = to, .to_cols = to_cols});
      };
      if (i == 0 || last)
        for_parts(update);
      else
        update(start, end - start);
    }
  }

  /// V and T of the block are there.
  bool held(index col) const { return held_[plan_.set_of(col)] == col; }

  void prepare(index col, index cols) {
    constexpr std::int8_t stream = 1;
    if (cols <= plan_.panel) return add({.kind = QStepKind::panel, .col = col, .cols = cols, .stream = stream});
    const index panels = (cols + plan_.panel - 1) / plan_.panel, left = (panels + 1) / 2 * plan_.panel;
    prepare(col, left);
    prepare(col + left, cols - left);
    add({.kind = QStepKind::join,
         .col = col,
         .cols = left,
         .to = col + left,
         .to_cols = cols - left,
         .stream = stream});
  }

  QPlan& plan_;
  index held_[2] = {-1, -1};  ///< by set: the block whose V and T are there
};

std::vector<Touched> touched(const QPlan& p, const QStep& s) {
  enum { v_set = 0, t_set = 2, reflectors_set = 4, tau = 6, c };
  // Rooms for products in between need no mention: they are used with columns of T, or parts of C.
  const int v = v_set + p.set_of(s.col), t = t_set + p.set_of(s.col);
  const index own = s.col - p.first_of(s.col), to = p.within(s.to);
  const int reflectors = reflectors_set + (p.streamed ? p.set_of(s.col) : 0);
  const index at = p.streamed ? own : s.col;
  switch (s.kind) {
    case QStepKind::tau: return {{tau, 0, 1, true}};
    case QStepKind::reflectors: return {{reflectors, at, s.cols, true}};
    case QStepKind::upload:
    case QStepKind::identity: return {{c, to, s.to_cols, true}};
    case QStepKind::panel:
      return {{reflectors, at, s.cols, false}, {tau, 0, 1, false}, {v, own, s.cols, true}, {t, own, s.cols, true}};
    case QStepKind::join:
      return {
          {v, own, s.cols + s.to_cols, false}, {t, own, s.cols, false}, {t, s.to - p.first_of(s.col), s.to_cols, true}};
    case QStepKind::update: return {{v, own, s.cols, false}, {t, own, s.cols, false}, {c, to, s.to_cols, true}};
    case QStepKind::download: {
      std::vector<Touched> all{{c, to, s.to_cols, false}};
      // Whose memory this may be.
      if (p.product.of_identity && !p.streamed) all.push_back({reflectors_set, 0, p.product.k, true});
      return all;
    }
  }
  return {};
}

std::string text(const QStep& s) {
  const auto range = [](index first, index count) {
    return " [" + std::to_string(first) + ", " + std::to_string(first + count) + ")";
  };
  std::string line = names[static_cast<int>(s.kind)];
  if (s.cols > 0) line += range(s.col, s.cols);
  if (s.kind == QStepKind::join) line += " with";
  if (s.kind == QStepKind::update) line += " on";
  if (s.to_cols > 0) line += range(s.to, s.to_cols);
  if (s.stream == 1) line += " in the second stream";
  return line;
}

/// What a step by step execution knows.
class Checker {
 public:
  explicit Checker(const QPlan& plan)
      : plan_(plan),
        reflectors_(static_cast<std::size_t>(plan.product.k)),
        c_(static_cast<std::size_t>(plan.product.length())),
        places_(static_cast<std::size_t>(plan.window), -1) {}

  std::string run(const QStep& s) {
    const QProduct& p = plan_.product;
    const bool of_reflectors = s.kind == QStepKind::reflectors || s.kind == QStepKind::panel ||
                               s.kind == QStepKind::join || s.kind == QStepKind::update;
    if (of_reflectors && (s.cols < 1 || s.col < 0 || s.col + s.cols > p.k || !in_one_block(s.col, s.cols)))
      return "no such reflectors";
    const bool of_c = s.kind == QStepKind::upload || s.kind == QStepKind::identity || s.kind == QStepKind::update ||
                      s.kind == QStepKind::download;
    if (of_c && (s.to_cols < 1 || s.to < 0 || s.to + s.to_cols > p.length())) return "no such part";
    switch (s.kind) {
      case QStepKind::tau: return std::exchange(tau_, true) ? "there already" : "";
      case QStepKind::reflectors:
        for (index j = 0; j < p.k && plan_.streamed; ++j) {  // what was in their place is gone
          const index own = j - plan_.first_of(j), from = s.col - plan_.first_of(s.col);
          if (plan_.set_of(j) == plan_.set_of(s.col) && own >= from && own < from + s.cols)
            reflectors_[static_cast<std::size_t>(j)] = 0;
        }
        for (index j = s.col; j < s.col + s.cols; ++j)
          if (std::exchange(reflectors_[static_cast<std::size_t>(j)], char{1}) && !plan_.streamed)
            return "there already";
        return "";
      case QStepKind::identity:
      case QStepKind::upload:
        return each(s, [this](Part& c) {
          index& place = places_[static_cast<std::size_t>(plan_.within(number_of(c)))];
          if (c.there) return "there already";
          if (place >= 0 && !c_[static_cast<std::size_t>(place)].back) return "there is no place";
          place = number_of(c);
          c.there = true;
          return "";
        });
      case QStepKind::panel: {
        if (s.cols > plan_.panel) return "too wide";
        if (!tau_) return "no tau";
        for (index j = s.col; j < s.col + s.cols; ++j)
          if (!reflectors_[static_cast<std::size_t>(j)]) return "no such reflectors";
        // What was in these columns of the set is gone.
        std::vector<Held>& set = sets_[plan_.set_of(s.col)];
        const index own = s.col - plan_.first_of(s.col);
        std::erase_if(set, [&](const Held& h) {
          const index there = h.col - plan_.first_of(h.col);
          return there < own + s.cols && own < there + h.cols;
        });
        set.push_back({s.col, s.cols});
        return "";
      }
      case QStepKind::join:
        if (s.to != s.col + s.cols || s.to_cols < 1 || !in_one_block(s.col, s.cols + s.to_cols))
          return "not neighbours";
        if (!holds(s.col, s.cols) || !holds(s.to, s.to_cols)) return "no such V and T";
        sets_[plan_.set_of(s.col)].push_back({s.col, s.cols + s.to_cols});
        return "";
      case QStepKind::update: {
        if (!holds(s.col, s.cols)) return "no such V and T";
        const bool forwards = p.left == p.adjoint;
        return each(s, [&](Part& c) {
          // Blocks that leave a column of the identity as it is are not applied to it.
          const index due = forwards ? c.has : p.k - c.has, begins = forwards ? s.col : s.col + s.cols;
          const bool skipped = p.of_identity && c.has == 0 && number_of(c) < begins;
          if (!c.there || c.back || (begins != due && !skipped)) return "the part is not ready";
          c.has = forwards ? s.col + s.cols : p.k - s.col;
          return "";
        });
      }
      case QStepKind::download:
        return each(s, [&](Part& c) {
          if (!c.there || c.has != p.k) return "not final";
          return std::exchange(c.back, true) ? "back already" : "";
        });
    }
    return "no such step";
  }

  bool complete() const {
    return std::all_of(c_.begin(), c_.end(), [](const Part& c) { return c.back; });
  }

 private:
  struct Part {
    bool there = false, back = false;
    index has = 0;  ///< the reflectors of so many columns
  };
  struct Held {
    index col, cols;
    friend bool operator==(const Held&, const Held&) = default;
  };

  bool in_one_block(index col, index cols) const {
    return plan_.first_of(col) == plan_.first_of(col + cols - 1) && cols <= plan_.block;
  }
  index number_of(const Part& c) const { return &c - c_.data(); }
  bool holds(index col, index cols) const {
    const std::vector<Held>& set = sets_[plan_.set_of(col)];
    return std::find(set.begin(), set.end(), Held{col, cols}) != set.end();
  }
  template <class Act>
  std::string each(const QStep& s, const Act& act) {
    for (index j = s.to; j < s.to + s.to_cols; ++j)
      if (const std::string fault = act(c_[static_cast<std::size_t>(j)]); !fault.empty()) return fault;
    return {};
  }

  const QPlan& plan_;
  bool tau_ = false;
  std::vector<char> reflectors_;
  std::vector<Part> c_;
  std::vector<index> places_;  ///< by column, or row, of a window: whose it is
  std::vector<Held> sets_[2];
};

}  // namespace

std::size_t QPlan::bytes(std::size_t element, bool own_v, bool own_tau, bool own_c) const {
  const QProduct& p = product;
  std::size_t sum = 0;
  if ((!own_v || p.rows) && !streamed) sum += leased_bytes(p.order(), p.k, element);
  if (p.rows && !own_v && !streamed) sum += leased_bytes(p.k, p.order(), element);
  if (!own_tau) sum += leased_bytes(p.k, 1, element);
  if (!own_c || p.turned()) sum += leased_bytes(p.order(), window, element);
  if (!own_c && p.turned()) sum += leased_bytes(window, p.order(), element);
  const std::size_t square = leased_bytes(block, block, element), tall = leased_bytes(p.order(), block, element),
                    set = tall + square + (joins() ? 2 * square : 0) + (streamed ? tall : 0) +
                          (streamed && p.rows ? leased_bytes(block, p.order(), element) : 0);
  return sum + static_cast<std::size_t>(sets()) * set + 2 * leased_bytes(block, window, element);
}

QPlan plan_q(const QProduct& product, index block, index panel, index part, index window, bool streamed) {
  QPlan plan{.product = product, .block = block, .panel = panel, .part = part, .window = window, .streamed = streamed};
  Planner(plan).plan();
  std::vector<std::vector<Touched>> parts;
  for (const QStep& step : plan.steps) parts.push_back(touched(plan, step));
  plan.after = order_of(parts);
  return plan;
}

index q_part(index window) {
  constexpr index parts = 8, least = 256;
  return std::max((window + parts - 1) / parts, least);
}

QCut q_cut(const QProduct& product, const QrWidths& widths, std::size_t element, std::size_t memory) {
  const index widest = widths.block, panel = product.reversed ? widest : widths.panel;
  const index length = product.length();
  const auto fits = [&](index block, index window, bool streamed) {
    const QPlan plan{
        .product = product, .block = block, .panel = std::min(block, panel), .window = window, .streamed = streamed};
    return plan.bytes(element) <= memory;
  };
  const QCut all{widest, panel, q_part(length), length, false};
  if (fits(widest, length, false)) return all;
  const std::vector<index> blocks = narrower_blocks(widths);
  for (const index block : blocks) {
    if (!fits(block, 1, true)) continue;
    index fit = 1;  // of C's length, and as much more as there is room for
    for (index step = length; step > 0; step /= 2)
      while (fit + step <= length && fits(block, fit + step, true)) fit += step;
    const bool again = product.k > 2 * block;
    if (again && fit < std::min(length, several_blocks * block) && block != blocks.back()) continue;
    const index windows = (length + fit - 1) / fit, window = (length + windows - 1) / windows;
    if (static_cast<double>(windows) * steps_of_blocks(product.k, block, panel) > most_steps) break;
    return {block, std::min(block, panel), std::min(q_part(window), window), window, true};
  }
  return all;
}

double sent_again(const QProduct& product, const QCut& cut, std::size_t element) {
  double elements = 0;
  if (product.k <= 2 * cut.block) return 0;
  for (index start = cut.window; start < product.length(); start += cut.window)
    elements += static_cast<double>(
        product.of_identity ? std::min(product.k, (start + cut.block - 1) / cut.block * cut.block) : product.k);
  return elements * static_cast<double>(product.order()) * static_cast<double>(element);
}

std::string check(const QPlan& plan) {
  Checker checker(plan);
  for (std::size_t i = 0; i < plan.steps.size(); ++i)
    if (const std::string fault = checker.run(plan.steps[i]); !fault.empty())
      return std::to_string(i) + ": " + text(plan.steps[i]) + ": " + fault;
  return checker.complete() ? "" : "parts of C are left";
}

std::string to_string(const QPlan& plan) {
  const QProduct& p = plan.product;
  std::string all = std::string(p.of_identity ? "Q"
                                : p.left      ? (p.adjoint ? "Q^H C" : "Q C")
                                : p.adjoint   ? "C Q^H"
                                              : "C Q") +
                    " m=" + std::to_string(p.m) + " n=" + std::to_string(p.n) + " k=" + std::to_string(p.k) +
                    " in blocks of " + std::to_string(plan.block) + ", panels of " + std::to_string(plan.panel) +
                    ", parts of " + std::to_string(plan.part) +
                    (plan.streamed ? ", windows of " + std::to_string(plan.window) : "") + "\n";
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    all += std::to_string(i) + ": " + text(plan.steps[i]);
    for (std::size_t e = 0; e < plan.after[i].size(); ++e)
      all += (e == 0 ? " after " : " ") + std::to_string(plan.after[i][e]);
    all += "\n";
  }
  return all;
}

}  // namespace blaslift
