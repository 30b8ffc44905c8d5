#include "impl/plan/plan.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <variant>

#include "impl/core/stored.hpp"
#include "kernels/trsm.hpp"

namespace blaslift {
namespace {

std::string range(index first, index count) {
  return count == 1 ? std::to_string(first) : std::to_string(first) + ":" + std::to_string(first + count);
}
std::string text(const std::string& name, const Block& b) {
  return " " + name + "(" + range(b.row, b.rows) + ", " + range(b.col, b.cols) + ")";
}

std::string text(const Plan& plan, const Plan::Step& s) {
  const auto of_area = [&](const Plan::Region& r) {
    return text(plan.areas[static_cast<std::size_t>(r.area)].name, r.block);
  };
  if (s.kind == Plan::Kind::share || s.kind == Plan::Kind::fetch) {
    const bool share = s.kind == Plan::Kind::share;
    std::string line = (share ? "share piece " : "fetch piece ") + std::to_string(s.piece) + (share ? " from" : " to");
    for (const Plan::Access& x : s.accesses) line += of_area(x.region);
    return line;
  }
  if (s.kind != Plan::Kind::compute) {
    const bool in = s.kind == Plan::Kind::upload;
    const std::string host = text(plan.operands[static_cast<std::size_t>(s.transfer.operand)].name, s.transfer.block);
    return (in ? "upload" : "download") + host + (in ? " to" : " from") + of_area(s.accesses[0].region);
  }
  constexpr const char* names[] = {"gemm", "trsm",   "potrf", "getrf",  "swaps", "syevd", "gebrd", "svd",  "assign",
                                   "geev", "mirror", "panel", "survey", "batch", "sytrd", "gehrd", "geqp3"};
  const auto* const batch = std::get_if<PlannedBatch>(&s.operation);
  std::string line = batch && batch->products.systolic ? "systolic batch" : names[s.operation.index()];
  for (const Plan::Access& x : s.accesses) line += of_area(x.region) + (x.mode == AccessMode::read ? "" : "*");
  return line;
}

/// What an area holds while a plan runs step by step.
class Contents {
 public:
  /// Whether all of the block, or this part of it, has been written and, if it is to be of an operand, holds that.
  bool holds(const Block& b, const Plan::Content& of, Part part) const {
    Missing rest{{b}};
    for (const Written& x : written_)
      if (of.operand < 0 || same(x, b, of)) (void)rest.take(x.block);
    return std::none_of(rest.blocks.begin(), rest.blocks.end(), [&](const Block& x) {
      return meets(part, {x.row - b.row, x.col - b.col, x.rows, x.cols});
    });
  }
  bool is_written(const Block& b, Part part) const { return holds(b, {}, part); }
  void write(const Block& b, const Plan::Content& of) {
    std::vector<Written> left;
    for (const Written& x : written_) {
      Missing rest{{x.block}};
      (void)rest.take(b);
      for (const Block& r : rest.blocks)
        left.push_back({r, {x.of.operand, x.of.row + r.row - x.block.row, x.of.col + r.col - x.block.col}});
    }
    written_ = std::move(left);
    written_.push_back({b, of});
  }
  void bring_home(const Block& b, const Plan::Content& of) { home_.push_back({b, of}); }
  /// Whether any of it is there as what has been brought home, or becomes that again.
  bool is_home(const Block& b, const Plan::Content& of) const {
    return std::any_of(home_.begin(), home_.end(),
                       [&](const Written& x) { return overlap(x.block, b) && (of.operand < 0 || same(x, b, of)); });
  }
  /// Something else takes its place.
  void leave(const Block& b) {
    std::erase_if(home_, [&](const Written& x) { return overlap(x.block, b); });
  }

 private:
  struct Written {
    Block block;
    Plan::Content of;
  };
  /// Whether both are of the same block of an operand.
  static bool same(const Written& x, const Block& b, const Plan::Content& of) {
    return x.of.operand == of.operand && b.row - x.block.row == of.row - x.of.row &&
           b.col - x.block.col == of.col - x.of.col;
  }

  std::vector<Written> written_;  ///< disjoint
  std::vector<Written> home_;
};

class Checker {
 public:
  explicit Checker(const Plan& plan) : plan_(plan), contents_(plan.areas.size()) {
    for (const Plan::Operand& x : plan.operands)
      missing_.push_back({x.result ? std::vector<Block>{{0, 0, x.rows, x.cols}} : std::vector<Block>{}});
    for (const Plan::Transfer& x : plan.elsewhere) (void)missing_[static_cast<std::size_t>(x.operand)].take(x.block);
  }

  const char* run(const Plan::Step& s) {
    for (const Plan::Access& x : s.accesses) {
      const Plan::Area& area = plan_.areas[static_cast<std::size_t>(x.region.area)];
      const Block& b = x.region.block;
      if (!is_in(b, area.rows, area.cols)) return "no such region";
      if (x.mode != AccessMode::write && !contents(x).is_written(b, x.part)) return "reads what nobody has written";
      if (x.mode != AccessMode::write && !contents(x).holds(b, x.of, x.part)) return "something else is there";
      if (x.mode != AccessMode::read && s.kind == Plan::Kind::compute && contents(x).is_home(b, x.of))
        return "writes what has been brought home";
    }
    if (s.kind == Plan::Kind::compute)
      if (const auto* system = std::get_if<Trsm>(&s.operation); system && !has_room(*system, s))
        return "its workspace is too small";
    for (const Shared& x : shared_)
      for (const Plan::Access& by : s.accesses)
        if (by.mode != AccessMode::read && by.region.area == x.region.area &&
            overlap(by.region.block, x.region.block) && next_piece_ < std::min(x.piece + plan_.places, plan_.pieces))
          return "writes what others may be reading";
    if (s.kind == Plan::Kind::upload || s.kind == Plan::Kind::download)
      if (const char* fault = transfer(s)) return fault;
    if (s.piece >= 0)
      if (const char* fault = piece(s)) return fault;
    for (const Plan::Access& x : s.accesses)
      if (x.mode == AccessMode::write) {
        contents(x).leave(x.region.block);
        contents(x).write(x.region.block, x.of);
      }
    return nullptr;
  }

  bool all_shared() const { return pieces_shared_ == (plan_.pieces + plan_.places - 1 - plan_.place) / plan_.places; }
  bool complete() const {
    for (std::size_t i = 0; i < missing_.size(); ++i)
      for (const Block& b : missing_[i].blocks)
        if (meets(plan_.operands[i].part, b)) return false;
    return true;
  }

 private:
  const char* transfer(const Plan::Step& s) {
    const Plan::Access& x = s.accesses[0];
    const Plan::Operand& operand = plan_.operands[static_cast<std::size_t>(s.transfer.operand)];
    const Plan::Area& area = plan_.areas[static_cast<std::size_t>(x.region.area)];
    const Block &there = s.transfer.block, &here = x.region.block;
    if (!is_in(there, operand.rows, operand.cols)) return "no such block";
    if (there.rows != here.rows || there.cols != here.cols) return "another size";
    if (area.operand >= 0 && (area.operand != s.transfer.operand || !(here == there)))
      return "not in the operand's own place";
    Missing& missing = missing_[static_cast<std::size_t>(s.transfer.operand)];
    if (s.kind == Plan::Kind::upload) {
      double not_home = 0;
      for (const Block& b : missing.blocks)
        if (overlap(b, there)) not_home += elements_in(Part::whole, intersection(b, there));
      if (operand.result && not_home > 0 && not_home < elements_in(Part::whole, there)) return "partly home";
      return nullptr;
    }
    if (!operand.result) return "not a result";
    double taken = 0;
    for (const Block& b : missing.take(there)) taken += elements_in(Part::whole, b);
    if (taken < elements_in(Part::whole, there)) return "home already";
    contents(x).bring_home(here, x.of);
    return nullptr;
  }

  static bool has_room(const Trsm& system, const Plan::Step& s) {
    const Block none{}, &room = s.accesses.size() > 2 ? s.accesses[2].region.block : none;
    return static_cast<std::size_t>(room.rows * room.cols) * element_size(system.precision) >= trsm_workspace(system);
  }

  /// Pieces come in order, each from its owner.  Once each of the others has one that follows on a piece, or there is
  /// no such one, all have got it.
  const char* piece(const Plan::Step& s) {
    if (s.piece < next_piece_) return "not the next piece";
    if ((s.kind == Plan::Kind::fetch) == (owner_of(s.piece, plan_.places) == plan_.place)) return "of another place";
    next_piece_ = s.piece + 1;
    if (s.kind == Plan::Kind::share) ++pieces_shared_;
    if (s.kind == Plan::Kind::share)
      for (const Plan::Access& x : s.accesses) shared_.push_back({s.piece, x.region});
    return nullptr;
  }
  static bool is_in(const Block& b, index rows, index cols) {
    return b.rows > 0 && b.cols > 0 && inside(b, {0, 0, rows, cols});
  }
  Contents& contents(const Plan::Access& x) { return contents_[static_cast<std::size_t>(x.region.area)]; }

  const Plan& plan_;
  std::vector<Contents> contents_;
  std::vector<Missing> missing_;  ///< by operand: what has not come home
  struct Shared {
    int piece;
    Plan::Region region;
  };
  std::vector<Shared> shared_{};
  int next_piece_ = 0, pieces_shared_ = 0;
};

}  // namespace

void Plan::multiply(Precision precision, Scalar alpha, Op transa, const Access& a, Op transb, const Access& b,
                    Scalar beta, const Access& c, Part part, std::int8_t stream) {
  const Block &of_a = a.region.block, &of_c = c.region.block;
  const index k = transa == Op::none ? of_a.cols : of_a.rows;
  Gemm product{.precision = precision,
               .transa = transa,
               .transb = transb,
               .m = of_c.rows,
               .n = of_c.cols,
               .k = k,
               .alpha = nullptr,
               .A = nullptr,
               .lda = 0,
               .B = nullptr,
               .ldb = 0,
               .beta = nullptr,
               .C = nullptr,
               .ldc = 0};
  product.part = part;
  product.stream = stream;
  compute(product, {a, b, c}, alpha, beta);
}

std::size_t Plan::bytes(std::size_t element) const {
  std::size_t sum = 0;
  for (const Plan::Area& area : areas)
    if (area.operand < 0) sum += leased_bytes(area.rows, area.cols, element);
  return sum;
}

Order order_of(const Plan& plan) {
  struct Earlier {
    std::int32_t step;
    Block block;
    bool written;
  };
  // By area: what has been done to it, but for what a later step has written over, and so waited for.
  std::vector<std::vector<Earlier>> areas(plan.areas.size());
  Order conflicts(plan.steps.size());
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    for (const Plan::Access& x : plan.steps[i].accesses)
      for (const Earlier& e : areas[static_cast<std::size_t>(x.region.area)])
        if ((e.written || x.mode != AccessMode::read) && overlap(e.block, x.region.block))
          conflicts[i].push_back(e.step);
    for (const Plan::Access& x : plan.steps[i].accesses) {
      std::vector<Earlier>& earlier = areas[static_cast<std::size_t>(x.region.area)];
      const bool written = x.mode != AccessMode::read;
      if (written) std::erase_if(earlier, [&](const Earlier& e) { return inside(e.block, x.region.block); });
      earlier.push_back({static_cast<std::int32_t>(i), x.region.block, written});
    }
  }
  return order_of(std::move(conflicts));
}

std::vector<bool> staying(const Plan& plan) {
  std::vector<bool> staying(plan.steps.size());
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const Plan::Step& upload = plan.steps[i];
    if (upload.kind != Plan::Kind::upload || plan.operands[static_cast<std::size_t>(upload.transfer.operand)].result)
      continue;
    const Plan::Region& to = upload.accesses[0].region;
    staying[i] = std::none_of(plan.steps.begin(), plan.steps.end(), [&](const Plan::Step& other) {
      return &other != &upload && std::any_of(other.accesses.begin(), other.accesses.end(), [&](const Plan::Access& x) {
        return x.mode != AccessMode::read && x.region.area == to.area && overlap(x.region.block, to.block);
      });
    });
  }
  return staying;
}

std::string check(const Plan& plan) {
  Checker checker(plan);
  for (std::size_t i = 0; i < plan.steps.size(); ++i)
    if (const char* fault = checker.run(plan.steps[i]))
      return std::to_string(i) + ": " + text(plan, plan.steps[i]) + ": " + fault;
  return !checker.complete()    ? "part of the result does not come home"
         : checker.all_shared() ? ""
                                : "a piece is not shared";
}

std::string to_string(const Plan& plan) {
  return listed(plan.after, [&](std::size_t i) { return text(plan, plan.steps[i]); });
}

}  // namespace blaslift
