#include "kernels/qr_tree.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace blaslift {
namespace {

constexpr const char* names[] = {"geqrt", "larfb", "tsqrt", "ssrfb", "ttqrt", "ttmqr"};

bool factors(QrTaskKind kind) {
  return kind == QrTaskKind::geqrt || kind == QrTaskKind::tsqrt || kind == QrTaskKind::ttqrt;
}

/// What applies the reflectors that `kind` makes.
QrTaskKind follower(QrTaskKind kind) { return static_cast<QrTaskKind>(static_cast<int>(kind) + 1); }

/// What makes the reflectors that `kind` applies.
QrTaskKind made_by(QrTaskKind kind) { return static_cast<QrTaskKind>(static_cast<int>(kind) - 1); }

/// A whole column's tasks, in order: triangles as soon as a domain is begun.
std::vector<QrTask> column(QrTree tree, index p, index k) {
  std::vector<QrTask> tasks;
  std::vector<bool> triangle(static_cast<std::size_t>(p));
  auto make_triangle = [&](index row) {
    if (triangle[static_cast<std::size_t>(row)]) return;
    triangle[static_cast<std::size_t>(row)] = true;
    tasks.push_back({QrTaskKind::geqrt, k, row});
  };
  make_triangle(k);
  for (const Elimination& e : eliminations(tree, p, k)) {
    make_triangle(e.by);
    if (e.triangle) make_triangle(e.row);
    tasks.push_back({e.triangle ? QrTaskKind::ttqrt : QrTaskKind::tsqrt, k, e.row, e.by});
  }
  return tasks;
}

QrTask applied(QrTask task, index col) {
  task.kind = follower(task.kind);
  task.col = col;
  return task;
}

/// A part of the memory that tasks work on.
struct Part {
  enum What : std::uint8_t { upper, lower, t_of_tile, t_of_pair } what;
  index row, col;
  friend auto operator<=>(const Part&, const Part&) = default;
};

struct Touched {
  std::vector<Part> read, written;  ///< what is written may be read, too
};

/// @param in_place  the reflectors are in the matrix that is worked on
Touched touched(const QrTask& t, bool in_place) {
  Touched all;
  auto reads = [&](Part::What what) {
    if (in_place) all.read.push_back({what, t.row, t.k});
  };
  auto writes = [&](Part::What what, index row, index col) { all.written.push_back({what, row, col}); };
  switch (t.kind) {
    case QrTaskKind::geqrt:
      writes(Part::upper, t.row, t.k);
      writes(Part::lower, t.row, t.k);
      writes(Part::t_of_tile, t.row, t.k);
      return all;
    case QrTaskKind::tsqrt: writes(Part::lower, t.row, t.k); [[fallthrough]];
    case QrTaskKind::ttqrt:
      writes(Part::upper, t.row, t.k);
      writes(Part::upper, t.by, t.k);
      writes(Part::t_of_pair, t.row, t.k);
      return all;
    case QrTaskKind::larfb:
      reads(Part::lower);
      reads(Part::t_of_tile);
      break;
    case QrTaskKind::ssrfb: reads(Part::lower); [[fallthrough]];
    case QrTaskKind::ttmqr:
      reads(Part::upper);
      reads(Part::t_of_pair);
      break;
  }
  for (const index row : {t.row, t.by})
    if (row >= 0) {
      writes(Part::upper, row, t.col);
      writes(Part::lower, row, t.col);
    }
  return all;
}

QrWait why(const QrTask& earlier, const QrTask& later) {
  if (earlier.k != later.k) return QrWait::step;
  auto column_of = [](const QrTask& t) { return factors(t.kind) ? t.k : t.col; };
  return column_of(earlier) == column_of(later) ? QrWait::down : QrWait::right;
}

/// Calls `conflict(earlier, later)` for pairs whose order matters.  What follows from these pairs is left out.
template <class Conflict>
void for_conflicts(const QrGraph& g, const Conflict& conflict) {
  struct Users {
    std::int32_t writer = -1;
    std::vector<std::int32_t> readers;
  };
  std::map<Part, Users> users;
  for (std::size_t i = 0; i < g.tasks.size(); ++i) {
    const auto now = static_cast<std::int32_t>(i);
    const Touched parts = touched(g.tasks[i], g.job == QrJob::factor);
    for (const Part& part : parts.read) {
      Users& u = users[part];
      if (u.writer >= 0) conflict(u.writer, now);
      u.readers.push_back(now);
    }
    for (const Part& part : parts.written) {
      Users& u = users[part];
      for (const std::int32_t reader : u.readers) conflict(reader, now);
      if (u.readers.empty() && u.writer >= 0) conflict(u.writer, now);
      u = {now, {}};
    }
  }
}

std::string text(const QrTask& t) {
  std::string line =
      std::string(names[static_cast<int>(t.kind)]) + " k=" + std::to_string(t.k) + " row=" + std::to_string(t.row);
  if (t.by >= 0) line += " by=" + std::to_string(t.by);
  if (t.col >= 0) line += " col=" + std::to_string(t.col);
  return line;
}

/// Why a task cannot be one of the graph's at all; empty if it can.
std::string malformed(const QrGraph& g, const QrTask& t) {
  const bool pair = t.kind != QrTaskKind::geqrt && t.kind != QrTaskKind::larfb;
  if (t.k < 0 || t.k >= g.steps || t.row < t.k || t.row >= g.p) return "outside the matrix";
  if (pair ? t.by < t.k || t.by >= t.row : t.by != -1) return "no such pair of rows";
  if (factors(t.kind)) return g.job != QrJob::factor ? "factors" : t.col != -1 ? "factors another column" : "";
  return t.col <= (g.job == QrJob::factor ? t.k : -1) || t.col >= g.q ? "applied outside the matrix" : "";
}

/// Column k's eliminations, round by round.  Which rows it finds when follows from the columns before it.
std::vector<Elimination> greedy_eliminations(index p, index k) {
  std::vector<Elimination> list;
  std::vector<index> zeros(static_cast<std::size_t>(p));  // columns in which the row has been annihilated
  while (static_cast<index>(list.size()) < p - k - 1) {
    std::vector<std::vector<index>> there(static_cast<std::size_t>(k) + 1);  // rows, by column, as the round begins
    for (index row = 0; row < p; ++row)
      if (const index column = zeros[static_cast<std::size_t>(row)]; column <= k)
        there[static_cast<std::size_t>(column)].push_back(row);
    for (index column = 0; column <= k; ++column) {
      const std::vector<index>& rows = there[static_cast<std::size_t>(column)];
      const std::size_t half = rows.size() / 2;
      for (std::size_t i = rows.size() - half; i < rows.size(); ++i) {
        ++zeros[static_cast<std::size_t>(rows[i])];
        if (column == k) list.push_back({rows[i], rows[i - half], true});
      }
    }
  }
  return list;
}

}  // namespace

std::string to_string(QrTree tree) {
  if (tree.shape == QrTree::Shape::greedy) return "greedy";
  const std::string number = tree.domain > 0 ? std::to_string(tree.domain) : "all";
  return tree.shape == QrTree::Shape::cyclic ? number + " cyclic domains" : "domains of " + number;
}

std::vector<Elimination> eliminations(QrTree tree, index p, index k) {
  if (tree.shape == QrTree::Shape::greedy) return greedy_eliminations(p, k);
  const index size = tree.domain > 0 ? tree.domain : p;
  std::vector<Elimination> list;
  std::vector<index> tops;
  if (tree.shape == QrTree::Shape::cyclic) {  // domain by domain: who computes in this order has each top once
    for (index top = k; top < std::min(p, k + size); ++top) {
      tops.push_back(top);
      for (index row = top + size; row < p; row += size) list.push_back({row, top, false});
    }
  } else {
    for (index row = k; row < p; ++row) {
      if (row == k || row % size == 0)
        tops.push_back(row);
      else
        list.push_back({row, tops.back(), false});
    }
  }
  for (std::size_t distance = 1; distance < tops.size(); distance *= 2)
    for (std::size_t i = distance; i < tops.size(); i += 2 * distance)
      list.push_back({tops[i], tops[i - distance], true});
  return list;
}

std::string check(const std::vector<Elimination>& list, index p, index k) {
  enum class State { square, triangle, gone };
  std::vector<State> states(static_cast<std::size_t>(std::max<index>(p, 0)), State::square);
  auto state = [&states](index row) -> State& { return states[static_cast<std::size_t>(row)]; };
  for (const Elimination& e : list) {
    const std::string which = to_string({e});
    if (e.by < k || e.row <= e.by || e.row >= p) return which + ": no such pair";
    if (state(e.row) == State::gone) return which + ": gone before";
    if (state(e.by) == State::gone) return which + ": by one that is gone";
    if (!e.triangle && state(e.row) == State::triangle) return which + ": holds a triangle";
    state(e.by) = State::triangle;
    state(e.row) = State::gone;
  }
  for (index row = k + 1; row < p; ++row)
    if (state(row) != State::gone) return std::to_string(row) + " is left";
  return {};
}

std::string to_string(const std::vector<Elimination>& list) {
  std::string line;
  for (const Elimination& e : list)
    line += (line.empty() ? "" : " ") + std::to_string(e.row) + (e.triangle ? "<<" : "<") + std::to_string(e.by);
  return line;
}

QrGraph factor_graph(index p, index q, QrTree tree) {
  QrGraph g{QrJob::factor, p, q, std::min(p, q), tree, {}, {}};
  for (index k = 0; k < g.steps; ++k)
    for (const QrTask& task : column(tree, p, k)) {
      g.tasks.push_back(task);
      for (index col = k + 1; col < q; ++col) g.tasks.push_back(applied(task, col));
    }
  g.after = depend(g);
  return g;
}

QrGraph apply_graph(index p, index steps, index q, QrTree tree, bool adjoint) {
  QrGraph g{adjoint ? QrJob::apply_adjoint : QrJob::apply, p, q, steps, tree, {}, {}};
  std::vector<QrTask> order;
  for (index k = 0; k < steps; ++k)
    for (const QrTask& task : column(tree, p, k)) order.push_back(task);
  if (!adjoint) std::reverse(order.begin(), order.end());
  for (const QrTask& task : order)
    for (index col = 0; col < q; ++col) g.tasks.push_back(applied(task, col));
  g.after = depend(g);
  return g;
}

std::vector<std::vector<QrEdge>> depend(const QrGraph& graph) {
  std::vector<std::vector<QrEdge>> after(graph.tasks.size());
  for_conflicts(graph, [&](std::int32_t earlier, std::int32_t later) {
    const auto at = static_cast<std::size_t>(later);
    const QrEdge edge{earlier, why(graph.tasks[static_cast<std::size_t>(earlier)], graph.tasks[at])};
    if (std::find(after[at].begin(), after[at].end(), edge) == after[at].end()) after[at].push_back(edge);
  });
  return after;
}

std::string check(const QrGraph& g) {
  const std::size_t count = g.tasks.size();
  if (g.steps > g.p || g.after.size() != count) return "not a graph";
  auto name = [&g](std::size_t i) { return std::to_string(i) + ": " + text(g.tasks[i]); };

  // What each tile gets, against what the tree says it should.
  using Tile = std::pair<index, index>;
  std::map<Tile, std::vector<QrTask>> got, due;
  auto give = [](std::map<Tile, std::vector<QrTask>>& to, QrTask task) {
    const index col = factors(task.kind) ? task.k : task.col;
    task.col = -1;  // one tile's list has one column
    if (!factors(task.kind)) task.kind = made_by(task.kind);
    to[{task.row, col}].push_back(task);
    if (task.by >= 0) to[{task.by, col}].push_back(task);
  };
  std::vector<QrTask> made;
  for (std::size_t i = 0; i < count; ++i) {
    if (const std::string fault = malformed(g, g.tasks[i]); !fault.empty()) return name(i) + ": " + fault;
    if (g.job == QrJob::factor) {
      QrTask maker = g.tasks[i];
      if (factors(maker.kind)) {
        made.push_back(maker);
      } else {
        maker.kind = made_by(maker.kind);
        maker.col = -1;
        if (std::find(made.begin(), made.end(), maker) == made.end()) return name(i) + ": reflectors are not there yet";
      }
    }
    give(got, g.tasks[i]);
  }
  for (index k = 0; k < g.steps; ++k) {
    const std::vector<Elimination> list = eliminations(g.tree, g.p, k);
    if (const std::string fault = check(list, g.p, k); !fault.empty()) return "tree: " + fault;
    for (const QrTask& task : column(g.tree, g.p, k)) {
      const bool in_place = g.job == QrJob::factor;
      if (in_place) give(due, task);
      for (index col = in_place ? k + 1 : 0; col < g.q; ++col) give(due, applied(task, col));
    }
  }
  if (g.job == QrJob::apply)
    for (auto& [tile, list] : due) std::reverse(list.begin(), list.end());
  if (got != due) {
    for (index row = 0; row < g.p; ++row)
      for (index col = 0; col < g.q; ++col)
        if (got[{row, col}] != due[{row, col}])
          return "tile (" + std::to_string(row) + ", " + std::to_string(col) + ") gets something else than is due";
  }

  // Who waits for whom in the end.
  const std::size_t words = (count + 63) / 64;
  std::vector<std::uint64_t> before(count * words);
  for (std::size_t i = 0; i < count; ++i)
    for (const QrEdge& edge : g.after[i]) {
      if (edge.task < 0 || static_cast<std::size_t>(edge.task) >= i) return name(i) + ": waits for a later one";
      const auto e = static_cast<std::size_t>(edge.task);
      if (edge.why != why(g.tasks[e], g.tasks[i])) return name(i) + ": waits for another reason";
      for (std::size_t w = 0; w < words; ++w) before[i * words + w] |= before[e * words + w];
      before[i * words + e / 64] |= std::uint64_t{1} << e % 64;
    }
  std::string fault;
  for_conflicts(g, [&](std::int32_t earlier, std::int32_t later) {
    const auto e = static_cast<std::size_t>(earlier), l = static_cast<std::size_t>(later);
    if (fault.empty() && !(before[l * words + e / 64] >> e % 64 & 1))
      fault = name(l) + ": does not wait for " + name(e);
  });
  return fault;
}

std::string to_string(const QrGraph& graph) {
  constexpr const char* jobs[] = {"factor", "apply Q^H", "apply Q"};
  std::string all = std::string(jobs[static_cast<int>(graph.job)]) + " " + std::to_string(graph.p) + " x " +
                    std::to_string(graph.q) + " tiles, " + to_string(graph.tree) + "\n";
  for (std::size_t i = 0; i < graph.tasks.size(); ++i) {
    all += std::to_string(i) + ": " + text(graph.tasks[i]);
    for (std::size_t e = 0; e < graph.after[i].size(); ++e)
      all += (e == 0 ? " after " : " ") + std::to_string(graph.after[i][e].task) +
             static_cast<char>(graph.after[i][e].why);
    all += "\n";
  }
  return all;
}

}  // namespace blaslift
