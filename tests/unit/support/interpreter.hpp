// Runs schedules on integers: what "computes the product" means, said once more than the library says it.
#pragma once
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "impl/product/product_plan.hpp"
#include "tests/unit/support/random.hpp"

namespace blaslift {

using StepOrder = std::vector<std::size_t>;
using Lists = std::vector<std::vector<std::int32_t>>;

/// Runs a schedule as impl/product/execute.cpp would, every access bounds-checked, with integers modulo 2^64 for
/// elements: exact, so that only a schedule that computes the product gives the product (but for a chance of 2^-60).
/// Resident operands are there before, but for what is missing of them.  Where a triangle is computed, transfers leave
/// anything beside it on the device, and nothing on the host.
class Interpreter {
 public:
  /// @param flip  store A and B the other way round than a schedule says that does not care
  Interpreter(const GemmSchedule& s, bool flip)
      : s_(s),
        A_(room(s.m, s.k)),
        B_(room(s.k, s.n)),
        C_(room(s.m, s.n)),
        a_(s.cut.whole_a, s.cut.operands, s.m, s.k, s.cut.mb, s.cut.kb, s.transposed_a == flip),
        b_(s.cut.whole_b, s.cut.operands, s.k, s.n, s.cut.kb, s.cut.nb, s.transposed_b == flip),
        c_(s.cut.whole_c, s.cut.results, s.m, s.n, s.cut.mb, s.cut.nb, true),
        committed_(C_.size()) {
    auto fill = [this](Numbers& numbers) {
      for (auto& x : numbers) x = bits_();
    };
    for (Numbers* numbers : {&A_, &B_, &C_}) fill(*numbers);
    for (index j = 0; !s.cut.own_b() && j < s.n; ++j)  // B is A
      for (index p = 0; p < s.k; ++p)
        B_[static_cast<std::size_t>(p + j * s.k)] = A_[static_cast<std::size_t>(j + p * s.m)];
    for (OnDevice* operand : {&a_, &b_, &c_})  // what the device's memory held before
      for (Numbers& numbers : operand->buffers) fill(numbers);
    make_resident(a_, s.residents.a, A_, s.m, s.k);
    make_resident(b_, s.residents.b, B_, s.k, s.n);
    if (s.reads_c) make_resident(c_, s.residents.c, C_, s.m, s.n);
    c_before_ = c_.buffers;
    for (const Extent& area : s.scratch) fill(scratch_.emplace_back(room(area.rows, area.cols)));
    beta_ = s.reads_c ? bits_() : 0;
    expected_ = C_;
    for (index j = 0; j < s.n; ++j)
      for (index i = 0; i < s.m; ++i) {
        if (!counts(i, j)) continue;
        std::uint64_t& x = expected_[static_cast<std::size_t>(i + j * s.m)];
        x *= beta_;
        const auto product = [&](index row, index col) {
          std::uint64_t sum = 0;
          for (index p = 0; p < s.k; ++p)
            sum += A_[static_cast<std::size_t>(row + p * s.m)] * B_[static_cast<std::size_t>(p + col * s.k)];
          return sum;
        };
        x += product(i, j);
        if (twice()) x += product(j, i);
      }
  }

  /// Why the steps in this order do not compute the product; empty if they do.  An element counts as right only if it
  /// is final when it is committed, and committed once: whatever fails later relies on that.
  std::string run(const StepOrder& order) {
    try {
      for (const std::size_t i : order) execute(s_.steps.at(i));
    } catch (const std::string& fault) {
      return fault;
    } catch (const std::out_of_range&) {
      return "out of bounds";
    }
    if (reported_ != s_.findings()) return "not all findings are reported";
    for (index i = 0; s_.residents.c.in_place && i < s_.m * s_.n; ++i) {
      const index row = i % s_.m, col = i / s_.m;
      const std::uint64_t before = c_before_[0][static_cast<std::size_t>(row + col * c_.ld)];
      if (c_(0, 0, 0, row, col) != (counts(row, col) ? expected_[static_cast<std::size_t>(i)] : before))
        return "wrong in place";
    }
    for (index i = 0; i < s_.m * s_.n; ++i) {
      const bool done = committed_[static_cast<std::size_t>(i)];
      if (done != (counts(i % s_.m, i / s_.m) && !s_.residents.c.in_place)) return done ? "committed" : "not committed";
    }
    const std::vector<bool> stays = staying(s_);
    for (std::size_t i = 0; i < s_.steps.size(); ++i)
      if (stays.at(i) && !is_there(s_.steps[i])) return "what was said to stay is gone";
    return {};
  }

 private:
  bool triangle() const { return s_.cut.part != Part::whole; }
  bool twice() const { return triangle() && s_.cut.update == Update::rank_2k; }
  /// Whether the element of C is to be computed.
  bool counts(index i, index j) const {
    return s_.cut.part == Part::upper ? i <= j : s_.cut.part == Part::lower ? i >= j : true;
  }
  using Numbers = std::vector<std::uint64_t>;
  using Buffers = std::vector<Numbers>;
  static Numbers room(index rows, index cols) { return Numbers(static_cast<std::size_t>(rows * cols)); }
  /// Negative ones become large, and are caught as those.
  template <class T>
  static auto& at(T& x, index i) {
    return x.at(static_cast<std::size_t>(i));
  }
  /// An operand's memory on the device: buffers, or one memory for the whole of it, with a leading dimension of its
  /// own.
  struct OnDevice {
    OnDevice(bool whole, int count, index rows, index cols, index block_rows, index block_cols, bool is_plain)
        : plain(is_plain),
          period_rows(whole ? rows + 1 : block_rows),
          period_cols(whole ? cols + 1 : block_cols),
          ld((plain   ? whole ? rows : block_rows
              : whole ? cols
                      : block_cols) +
             (whole ? 3 : 0)),
          buffers(whole ? std::size_t{1} : static_cast<std::size_t>(count), room(ld, plain   ? whole ? cols : block_cols
                                                                                     : whole ? rows
                                                                                             : block_rows)) {}

    /// Element (i, j) after the one at (row, col), which alone is found by remainders; the others follow it in steps of
    /// one and of ld, as a copy or a product takes them.
    std::uint64_t& operator()(int number, index row, index col, index i, index j) {
      row = row % period_rows + i;
      col = col % period_cols + j;
      return at(at(buffers, number), plain ? row + col * ld : col + row * ld);
    }

    bool plain;
    index period_rows, period_cols, ld;
    Buffers buffers;
  };

  static void make_resident(OnDevice& operand, const Resident& resident, const Numbers& from, index rows, index cols) {
    if (!resident.whole) return;
    for (index j = 0; j < cols; ++j)
      for (index i = 0; i < rows; ++i) {
        const auto holds = [i, j](const Block& b) {
          return b.row <= i && i < b.row + b.rows && b.col <= j && j < b.col + b.cols;
        };
        if (std::none_of(resident.missing.begin(), resident.missing.end(), holds))
          operand(0, 0, 0, i, j) = at(from, i + j * rows);
      }
  }

  /// Of an upload of A or B.
  bool is_there(const Step& step) {
    const Block& x = step.block;
    const bool is_a = step.kind == StepKind::upload_a;
    if (!is_a && step.kind != StepKind::upload_b) return false;
    for (index j = 0; j < x.cols; ++j)
      for (index i = 0; i < x.rows; ++i) {
        const index row = x.row + i, col = x.col + j;
        if (is_a ? a_(step.a, x.row, x.col, i, j) != at(A_, row + col * s_.m)
                 : b_(step.b, x.row, x.col, i, j) != at(B_, row + col * s_.k))
          return false;
      }
    return true;
  }

  static void within(const Block& b, index rows, index cols) {
    if (b.row < 0 || b.col < 0 || b.rows < 0 || b.cols < 0 || b.row + b.rows > rows || b.col + b.cols > cols)
      throw std::string("block out of the matrix");
  }

  void execute(const Step& step) {
    const Block& x = step.block;
    auto each = [&x](auto visit) {
      for (index j = 0; j < x.cols; ++j)
        for (index i = 0; i < x.rows; ++i) visit(i, j);
    };
    switch (step.kind) {
      case StepKind::upload_a:
        within(x, s_.m, s_.k);
        each([&](index i, index j) { a_(step.a, x.row, x.col, i, j) = at(A_, x.row + i + (x.col + j) * s_.m); });
        break;
      case StepKind::upload_b:
        within(x, s_.k, s_.n);
        each([&](index i, index j) { b_(step.b, x.row, x.col, i, j) = at(B_, x.row + i + (x.col + j) * s_.k); });
        break;
      case StepKind::upload_c:
        within(x, s_.m, s_.n);
        each([&](index i, index j) {
          c_(step.c, x.row, x.col, i, j) =
              counts(x.row + i, x.col + j) ? at(C_, x.row + i + (x.col + j) * s_.m) : bits_();
        });
        break;
      case StepKind::multiply:
        if (x.row < 0 || x.col < 0 || step.k0 < 0 || x.rows < 0 || x.cols < 0 || step.kb < 0)
          throw std::string("negative size");
        each([&](index i, index j) {
          const bool square = triangle() && x.row == x.col && x.rows == x.cols;
          if (square && !counts(x.row + i, x.col + j)) return;
          std::uint64_t& sum = step.apart ? element({first_scratch, x}, i, j) : c_(step.c, x.row, x.col, i, j);
          sum *= step.apart ? 0 : step.first ? beta_ : 1;
          for (index p = 0; p < step.kb; ++p) {
            if (!step.exchanged)
              sum += a_(step.a, x.row, step.k0, i, p) *
                     (s_.from_a(x) ? a_(step.a, x.col, step.k0, j, p) : b_(step.b, step.k0, x.col, p, j));
            // A square takes both products at once.
            if (step.exchanged || (square && twice()))
              sum += b_(step.b, step.k0, x.row, p, i) * a_(step.a, x.col, step.k0, j, p);
          }
        });
        break;
      case StepKind::leaf: leaf(at(s_.leaves, step.number)); break;
      case StepKind::pass: pass(at(s_.passes, step.number)); break;
      case StepKind::begin: began_ += x.rows; break;
      case StepKind::survey: survey(step.number == area_a, x); break;
      case StepKind::findings:
        if (began_ != s_.findings() || surveyed_a_ != s_.m * s_.k || surveyed_b_ != (s_.cut.own_b() ? s_.k * s_.n : 0))
          throw std::string("reports before everything is surveyed");
        reported_ += x.rows;
        break;
      case StepKind::download:
        within(x, s_.m, s_.n);
        each([&](index i, index j) {
          if (!counts(x.row + i, x.col + j)) return;
          const index element = x.row + i + (x.col + j) * s_.m;
          at(C_, element) = c_(step.c, x.row, x.col, i, j);
          if (at(C_, element) != at(expected_, element)) throw std::string("wrong value committed");
          if (committed_[static_cast<std::size_t>(element)]) throw std::string("committed twice");
          committed_[static_cast<std::size_t>(element)] = true;
        });
        break;
    }
  }

  /// Element (i, j) of a region of the device's memory, as it is stored there.
  std::uint64_t& element(const Region& r, index i, index j) {
    if (i >= r.block.rows || j >= r.block.cols) throw std::string("regions of several sizes");
    i += r.block.row;
    j += r.block.col;
    if (r.area >= first_scratch) {
      const Extent& area = at(s_.scratch, r.area - first_scratch);
      if (i < 0 || j < 0 || i >= area.rows || j >= area.cols) throw std::string("out of the scratch area");
      return at(at(scratch_, r.area - first_scratch), i + j * area.rows);
    }
    OnDevice& x = r.area == area_a ? a_ : r.area == area_b ? b_ : c_;
    return at(at(x.buffers, 0), i + j * x.ld);
  }

  /// Element (i, j) of the block that a region holds the transpose of, or not.
  std::uint64_t& operand(const Region& r, bool transposed, index i, index j) {
    return transposed ? element(r, j, i) : element(r, i, j);
  }

  void leaf(const Leaf& x) {
    const index size = x.target.block.rows, depth = s_.transposed_a ? x.x.block.rows : x.x.block.cols;
    const auto as_op = [](const Block& b, bool transposed) {
      return transposed ? Block{0, 0, b.cols, b.rows} : Block{0, 0, b.rows, b.cols};
    };
    if (x.target.block.cols != size || !(as_op(x.x.block, s_.transposed_a) == Block{0, 0, size, depth}) ||
        !(as_op(x.y.block, s_.transposed_b) == Block{0, 0, depth, size}))
      throw std::string("multiplies blocks that do not fit");
    Numbers result = room(size, size);
    for (index j = 0; j < size; ++j)
      for (index i = 0; i < size; ++i) {
        std::uint64_t sum = 0;
        for (index p = 0; p < depth; ++p)
          sum += operand(x.x, s_.transposed_a, i, p) * operand(x.y, s_.transposed_b, p, j);
        if (x.negative) sum = -sum;
        if (x.adds) sum += element(x.e, i, j) * (x.scaled ? beta_ : 1);
        at(result, i + j * size) = sum;
      }
    // A device may write the result while it reads the operands.
    for (const Region* r : {&x.x, &x.y, x.adds ? &x.e : &x.x})
      if (r->area == x.target.area && overlap(r->block, x.target.block)) throw std::string("overwrites an operand");
    for (index j = 0; j < size; ++j)
      for (index i = 0; i < size; ++i) element(x.target, i, j) = at(result, i + j * size);
  }

  void pass(const Pass& x) {
    if (x.sources.size() > Combination::most_sources || x.targets.size() > Combination::most_targets)
      throw std::string("too much for one pass");
    for (const Pass::Target& t : x.targets) {
      for (const Pass::Source& s : x.sources)
        if (s.region.area == t.region.area && overlap(s.region.block, t.region.block) && !(s.region == t.region))
          throw std::string("a target overlaps a source");
      for (const Pass::Target& u : x.targets)
        if (&t != &u && u.region.area == t.region.area && overlap(u.region.block, t.region.block))
          throw std::string("two targets overlap");
    }
    const Block& size = x.targets.at(0).region.block;
    for (index j = 0; j < size.cols; ++j)
      for (index i = 0; i < size.rows; ++i) {
        Numbers results;
        for (const Pass::Target& t : x.targets) {
          std::uint64_t& sum = results.emplace_back(0);
          for (std::size_t k = 0; k < x.sources.size(); ++k) {
            const std::uint64_t value = element(x.sources[k].region, i, j) * (x.sources[k].scaled ? beta_ : 1);
            sum += t.sign.at(k) == 0 ? 0 : t.sign[k] < 0 ? -value : value;
          }
        }
        for (std::size_t k = 0; k < x.targets.size(); ++k) element(x.targets[k].region, i, j) = results[k];
      }
  }

  /// Every element once, as it came from the host.
  void survey(bool of_a, const Block& x) {
    if (began_ != s_.findings()) throw std::string("surveys too early");
    const index k0 = of_a ? x.col : x.row, kb = of_a ? x.cols : x.rows;
    if (s_.slice_of(k0) != s_.slice_of(k0 + kb - 1)) throw std::string("surveys across slices");
    for (index j = x.col; j < x.col + x.cols; ++j)
      for (index i = x.row; i < x.row + x.rows; ++i) {
        const std::uint64_t is = of_a ? a_(0, 0, 0, i, j) : b_(0, 0, 0, i, j);
        if (is != (of_a ? at(A_, i + j * s_.m) : at(B_, i + j * s_.k))) throw std::string("surveys something else");
      }
    (of_a ? surveyed_a_ : surveyed_b_) += x.rows * x.cols;
  }

  const GemmSchedule& s_;
  index began_ = 0, surveyed_a_ = 0, surveyed_b_ = 0, reported_ = 0;
  Numbers A_, B_, C_;
  OnDevice a_, b_, c_;
  Buffers c_before_;
  std::vector<Numbers> scratch_;
  Numbers expected_;
  std::vector<bool> committed_;
  std::uint64_t beta_ = 0;
  std::mt19937_64 bits_{1};
};

inline std::string verdict(const GemmSchedule& s, const StepOrder& order) {
  const std::string plain = Interpreter(s, false).run(order);
  const bool cares = !s.leaves.empty();
  return plain.empty() && !cares ? Interpreter(s, true).run(order) : plain;
}

inline std::string verdict(const GemmSchedule& s) {
  StepOrder order(s.steps.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  return verdict(s, order);
}

/// An order that keeps to the lists and is random otherwise.  One draw among all that could run next stays close to
/// the list's own order, so others prefer the last of the list, or kinds of steps at random: uploads far ahead of the
/// products, or downloads long after them.
inline StepOrder random_order(const GemmSchedule& s, const Lists& after, Random& random) {
  std::vector<std::size_t> missing(after.size());
  std::vector<StepOrder> then(after.size());
  StepOrder ready, order;
  for (std::size_t i = 0; i < after.size(); ++i) {
    missing[i] = after[i].size();
    for (const std::int32_t earlier : after[i]) then[static_cast<std::size_t>(earlier)].push_back(i);
    if (missing[i] == 0) ready.push_back(i);
  }
  const auto preference = random.below(3);
  std::uint32_t kinds[static_cast<int>(StepKind::download) + 1];
  for (auto& kind : kinds) kind = random.below(100);
  while (!ready.empty()) {
    auto next = ready.begin() + random.below(ready.size());
    if (preference == 1 && random.below(4) > 0) next = std::max_element(ready.begin(), ready.end());
    if (preference == 2)
      for (int draw = 0; draw < 4; ++draw) {
        const auto other = ready.begin() + random.below(ready.size());
        if (kinds[static_cast<int>(s.steps[*other].kind)] > kinds[static_cast<int>(s.steps[*next].kind)]) next = other;
      }
    const std::size_t i = *next;
    ready.erase(next);
    order.push_back(i);
    for (const std::size_t later : then[i])
      if (--missing[later] == 0) ready.push_back(later);
  }
  return order;
}

}  // namespace blaslift
