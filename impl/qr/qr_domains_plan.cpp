#include "impl/qr/qr_domains_plan.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "impl/plan/gang.hpp"
#include "impl/qr/panel_step.hpp"

namespace blaslift {
namespace {

constexpr index usual_block = 64, wide_block = 128, wide_from = 512;
constexpr index least_ratio = 4;  // of a domain's rows to the top's
constexpr index turns = 2;        // of V, which goes home while the next block's is made

class Planner {
 public:
  Planner(index m, index n, Precision precision, const QrDomains& cut, int place, int places)
      : n_(n),
        domain_(qr_domain(m, n, place, places)),
        precision_(precision),
        cut_(cut),
        place_(place),
        places_(places) {
    plan.operands = {{"A", m, n, true}, {"tau", n, 1, true, true}};
    plan.place = place, plan.places = places;
    plan.pieces = static_cast<int>((cut.blocks(n) - 1) * 2 * places + places + 1);
    const index b = std::min(cut.block, n), rows = domain_.count;
    own_ = {plan.add_area("A", rows, n), operand_a, domain_.first, 0};
    for (int& area : v_) area = plan.add_area("V", rows, b);
    local_v_ = plan.add_area("own V", rows, b);
    local_t_ = plan.add_area("own T", b, b);
    local_tau_ = plan.add_area("own tau", b, 1);
    r_ = plan.add_area("R", b, b);
    one_ = plan.add_area("I", b, b);
    for (int& area : small_) area = plan.add_area("between", b, b);
    w_ = plan.add_area("W", places * b, b);
    t_ = plan.add_area("T", b, b);
    for (int i = 0; i < places; ++i) shares_.push_back(plan.add_area("share" + std::to_string(i), b, n));
    sum_ = plan.add_area("sum", b, n);
    if (is_first()) {
      top_ = {plan.add_area("top", n, n), operand_a, 0, 0};
      stack_ = plan.add_area("stack", n + places * b, b);
      stack_v_ = plan.add_area("stack's V", n + places * b, b);
      tau_ = plan.add_area("tau", n, 1);
    }
    for (int other = 0; other < places; ++other) {
      if (other == place) continue;
      const QrDomain its = qr_domain(m, n, other, places);
      plan.elsewhere.push_back({operand_a, {its.first, 0, its.count, n}});
    }
    if (is_first()) return;
    plan.elsewhere.push_back({operand_a, {0, 0, n, n}});
    plan.elsewhere.push_back({operand_tau, {0, 0, n, 1}});
  }

  void make_steps() {
    const index blocks = cut_.blocks(n_);
    for (index block = 0; block < blocks; ++block) {
      const Columns c = columns(block);
      plan.upload(own_, {domain_.first, c.first, domain_.count, c.count});
      if (is_first()) plan.upload(top_, {0, c.first, n_, c.count});
    }
    const index widest = columns(0).count;
    // Below R's triangle there are always zeros: an identity whose diagonal lies beside it.
    plan.compute(assigned(Part::whole, widest, widest, widest), {written(r_, widest, widest)}, Scalar::one);
    plan.compute(assigned(Part::whole, widest, widest), {written(one_, widest, widest)}, Scalar::one);
    for (index block = 0; block < blocks; ++block) {
      const Columns c = columns(block);
      factor_own(c);
      is_first() ? merge(block) : get_merged(block);
      make_v(block);
      if (const Columns rest{c.end(), n_ - c.end()}; rest.count > 0) update(block, rest);
    }
    if (is_first()) plan.download({tau_, operand_tau}, {0, 0, n_, 1});
    plan.after = order_of(plan);
  }

  Plan plan;

 private:
  enum { operand_a, operand_tau };
  struct Columns {
    index first, count;
    index end() const { return first + count; }
  };

  bool is_first() const { return place_ == 0; }
  Columns columns(index block) const {
    const index first = block * cut_.block;
    return {first, std::min(cut_.block, n_ - first)};
  }
  /// Pieces of a block, each owner's in turns: R of the other places, then what the first one makes of these, then the
  /// shares of V^H A, the first place's as the last one.  Before them all there is a place's R that nobody needs.
  int piece(index block, int number) const { return static_cast<int>(block) * 2 * places_ + number; }

  static Plan::Access at(int area, const Block& b, AccessMode mode) { return {{area, b}, mode}; }
  static Plan::Access read(int area, index rows, index cols) { return at(area, {0, 0, rows, cols}, AccessMode::read); }
  static Plan::Access written(int area, index rows, index cols) {
    return at(area, {0, 0, rows, cols}, AccessMode::write);
  }
  static Plan::Access updated(int area, index rows, index cols) {
    return at(area, {0, 0, rows, cols}, AccessMode::update);
  }
  Assign assigned(Part part, index rows, index cols, index below = 0) const {
    Assign x = assignment(precision_, rows, cols, part);
    x.below = below;
    return x;
  }
  void multiply(Op op, const Plan::Access& x, const Plan::Access& y, const Plan::Access& z, Scalar alpha = Scalar::one,
                Scalar beta = Scalar::zero) {
    plan.multiply(precision_, alpha, op, x, Op::none, y, beta, z);
  }

  Block own_block(Columns c) const { return {domain_.first, c.first, domain_.count, c.count}; }
  Block top_block(index row, Columns c) const { return {row, c.first, n_ - row, c.count}; }
  /// What is the place's of V, once it is made: what comes home of these columns.
  Plan::Access v(index block, AccessMode mode) const {
    const Columns c = columns(block);
    return Plan::access({v_[block % turns], operand_a, domain_.first, c.first}, own_block(c), mode);
  }

  /// A's own rows, whose columns give way to reflectors that nobody else needs; R.
  void factor_own(Columns c) {
    const index b = c.count;
    plan.compute(panel_step(precision_, domain_.count, b),
                 {Plan::update(own_, own_block(c)), written(local_tau_, b, 1), written(local_v_, domain_.count, b),
                  written(local_t_, b, b)},
                 Scalar::one);
    plan.compute(assigned(Part::upper, b, b),
                 {Plan::read(own_, {domain_.first, c.first, b, b}, Part::upper), updated(r_, b, b)}, Scalar::one);
  }

  void merge(index block) {
    const Columns c = columns(block);
    const index b = c.count, of_top = n_ - c.first, rows = of_top + places_ * b;
    if (block == 0) plan.share(piece(0, 0), {read(r_, b, b)});
    plan.compute(assigned(Part::whole, of_top, b),
                 {Plan::read(top_, top_block(c.first, c)), written(stack_, of_top, b)}, Scalar::one);
    const auto triangle = [&](int of) { return at(stack_, {of_top + of * b, 0, b, b}, AccessMode::write); };
    plan.compute(assigned(Part::whole, b, b), {read(r_, b, b), triangle(0)}, Scalar::one);
    for (int other = 1; other < places_; ++other) plan.fetch(piece(block, other), {triangle(other)});
    plan.compute(panel_step(precision_, rows, b),
                 {updated(stack_, rows, b),
                  {{tau_, {c.first, 0, b, 1}}, AccessMode::write, {operand_tau, c.first, 0}},
                  written(stack_v_, rows, b),
                  written(t_, b, b)},
                 Scalar::one);
    plan.share(piece(block, places_),
               {read(t_, b, b), at(stack_v_, {of_top + b, 0, (places_ - 1) * b, b}, AccessMode::read)});
    plan.compute(assigned(Part::whole, of_top, b),
                 {read(stack_, of_top, b), Plan::written(top_, top_block(c.first, c))}, Scalar::one);
    plan.download(top_, {0, c.first, n_, b});
  }
  void get_merged(index block) {
    const index b = columns(block).count;
    plan.share(piece(block, place_), {read(r_, b, b)});
    plan.fetch(piece(block, places_), {written(t_, b, b), written(w_, (places_ - 1) * b, b)});
  }

  /// V_p = Q_p W_p = [W_p; 0] - V' T' V'^H [W_p; 0] by the domain's own reflectors.
  void make_v(index block) {
    const Columns c = columns(block);
    const index b = c.count, rows = domain_.count;
    const Plan::Access w = is_first() ? at(stack_v_, {n_ - c.first, 0, b, b}, AccessMode::read)
                                      : at(w_, {(place_ - 1) * b, 0, b, b}, AccessMode::read);
    multiply(Op::conjugate, read(local_v_, b, b), w, written(small_[0], b, b));
    multiply(Op::none, read(local_t_, b, b), read(small_[0], b, b), written(small_[1], b, b));
    multiply(Op::none, read(local_v_, rows, b), read(small_[1], b, b), v(block, AccessMode::write), Scalar::minus_one);
    Plan::Access head = v(block, AccessMode::update);
    head.region.block.rows = b;
    multiply(Op::none, read(one_, b, b), w, head, Scalar::one, Scalar::one);
    plan.download({v_[block % turns], operand_a, domain_.first, c.first}, own_block(c));
  }

  /// The columns that are still to be factored.
  void update(index block, Columns rest) {
    const Columns c = columns(block);
    const index b = c.count, of_top = n_ - c.first;
    const int mine = shares_[static_cast<std::size_t>(place_)];
    const Plan::Access reflectors = v(block, AccessMode::read);
    const auto share_of = [&](int other) { return shares_[static_cast<std::size_t>(other)]; };
    multiply(Op::conjugate, reflectors, Plan::read(own_, own_block(rest)), written(mine, b, rest.count));
    if (is_first())
      multiply(Op::conjugate, read(stack_v_, of_top, b), Plan::read(top_, top_block(c.first, rest)),
               updated(mine, b, rest.count), Scalar::one, Scalar::one);
    for (int other = 1; other <= places_; ++other) {
      const int number = piece(block, places_ + other);
      if (other % places_ == place_)
        plan.share(number, {read(mine, b, rest.count)});
      else
        plan.fetch(number, {written(share_of(other % places_), b, rest.count)});
    }
    for (int other = 0; other < places_; ++other)  // in this order at all places, so that they have the same bits
      multiply(Op::conjugate, read(t_, b, b), read(share_of(other), b, rest.count),
               other == 0 ? written(sum_, b, rest.count) : updated(sum_, b, rest.count), Scalar::one,
               other == 0 ? Scalar::zero : Scalar::one);
    multiply(Op::none, reflectors, read(sum_, b, rest.count), Plan::update(own_, own_block(rest)), Scalar::minus_one,
             Scalar::one);
    if (is_first())
      multiply(Op::none, read(stack_v_, of_top, b), read(sum_, b, rest.count),
               Plan::update(top_, top_block(c.first, rest)), Scalar::minus_one, Scalar::one);
  }

  const index n_;
  const QrDomain domain_;
  const Precision precision_;
  const QrDomains& cut_;
  const int place_, places_;
  Plan::Origin own_{}, top_{};
  int v_[turns]{}, local_v_ = -1, local_t_ = -1, local_tau_ = -1, r_ = -1, one_ = -1, small_[2]{}, w_ = -1, t_ = -1,
                   sum_ = -1, stack_ = -1, stack_v_ = -1, tau_ = -1;
  std::vector<int> shares_{};  ///< areas, by place
};

}  // namespace

QrDomain qr_domain(index m, index n, int place, int places) {
  const index below = m - n, each = below / places, more = below % places;
  return {n + place * each + std::min<index>(place, more), each + (place < more ? 1 : 0)};
}

QrDomains qr_domains(index m, index n, Precision precision, std::size_t memory, int places) {
  if (n == 0 || places < 2 || (m - n) / places / least_ratio < n) return {};
  const QrDomains cut{std::min(n, n > wide_from ? wide_block : usual_block)};
  // The first place has the top besides, and no domain has fewer rows than its own by more than one.
  return Planner(m, n, precision, cut, 0, places).plan.bytes(element_size(precision)) <= memory ? cut : QrDomains{};
}

Plan plan_qr_domains(index m, index n, Precision precision, const QrDomains& cut, int place, int places) {
  Planner planner(m, n, precision, cut, place, places);
  planner.make_steps();
  return std::move(planner.plan);
}

}  // namespace blaslift
