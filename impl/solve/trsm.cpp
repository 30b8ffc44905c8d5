#include "impl/solve/trsm.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>

#include "impl/core/library_call.hpp"
#include "impl/core/undestroyed.hpp"
#include "impl/judge/bounds.hpp"
#include "impl/judge/judge.hpp"
#include "impl/plan/run.hpp"
#include "impl/route/in_place.hpp"
#include "impl/route/route.hpp"
#include "impl/solve/trsm_plan.hpp"

namespace blaslift {
namespace {

// ---- what the family says of a call

TrsmShape shape_of(const Problem& p) {
  return {p.left, p.part == Part::upper ? Uplo::upper : Uplo::lower, p.adjoint, p.m, p.n};
}

void count(Problem& p) {
  const double order = static_cast<double>(p.left ? p.m : p.n), others = static_cast<double>(p.left ? p.n : p.m),
               element = static_cast<double>(element_size(p.element));
  p.empty = p.m == 0 || p.n == 0;
  p.trivial = p.alpha_zero;
  p.flops = (is_complex(p.element) ? 4.0 : 1.0) * order * order * others;
  p.volume = order * order * others / 2;
  p.bytes_out = order * others * element;
  p.bytes_in = p.alpha_zero ? 0 : p.bytes_out + order * (order + 1) / 2 * element;
}

std::string text(const Problem& p) {
  return std::string(name_of(p.routine)) + (p.left ? " L" : " R") + (p.part == Part::upper ? "U" : "L") +
         (p.adjoint ? "T" : "N") + " m=" + std::to_string(p.m) + " n=" + std::to_string(p.n) +
         (p.alpha_zero ? " alpha=0" : "");
}

Cost cost(const Problem& p, const Facts& facts, const Policy&, double spared) {
  const Profile& profile = *facts.profile;
  const double in = seconds_in(p, facts, spared), out = seconds_out(p, facts),
               again = facts.sent_again / profile.in_rate, order = static_cast<double>(p.left ? p.m : p.n);
  // Half the rate of large products at an order of 2,048 (H100, FP64: 31, 40, 48 of 57 Tflop/s at 4,096, 8,192,
  // 16,384).
  constexpr double half = 2048, panels = 16;
  const double computing = p.flops / profile.gemm_rate[static_cast<int>(p.element.name)] * (1 + half / order);
  return {.seconds = profile.latency_seconds + std::max({computing, in, out, again}) + (in + computing + out) / panels};
}

std::optional<double> sent_again(const Problem& p, const Profile&, std::size_t memory) {
  if (p.empty) return std::nullopt;
  const TrsmShape shape = shape_of(p);
  const TrsmCut cut = trsm_cut(shape, p.precision(), memory);
  return cut.streamed ? std::optional(sent_again(shape, cut, element_size(p.element))) : std::nullopt;
}

template <class T>
Problem problem_of(Routine routine, const TrsmArgs<T>& a) {
  Problem problem{.routine = routine,
                  .element = precision_of<T>,
                  .m = a.m,
                  .n = a.n,
                  .alpha_zero = a.alpha == T(0),
                  .overlaps = overlap(a.B, a.m, a.n, a.ldb, a.A, a.order(), a.order(), a.lda, sizeof(T)),
                  .part = part_of(a.uplo),
                  .alpha_finite = is_finite(a.alpha),
                  .left = a.left,
                  .adjoint = a.trans != Op::none};
  family_of(routine).count(problem);
  return problem;
}

// ---- on the device

constinit Undestroyed<Learned> known;  // of such calls, in this process

enum { operand_a, operand_b };

template <class T>
Operands operands_of(Runtime& r, const TrsmArgs<T>& x, bool ephemeral) {
  const bool reads = x.alpha != T(0);
  return Operands(r,
                  {{.stored = {x.A, x.order(), x.order(), x.lda, sizeof(T), part_of(x.uplo)}, .reads = reads},
                   {.stored = {x.B, x.m, x.n, x.ldb, sizeof(T)}, .writes = true, .reads = reads, .destroyed = true}},
                  ephemeral);
}

template <class T>
class Solving : public PlanRun<T> {
 public:
  /// @param a, b  where A and B are
  Solving(const TrsmPlan& plan, const TrsmArgs<T>& args, const Placed& a, const Placed& b, Lane& lane, void* lease,
          std::size_t piece_bytes)
      : PlanRun<T>(lane, lease, piece_bytes), p_(plan), x_(args), a_(a), b_(b) {
    const index n = plan.shape.order();
    workspaces_ = reinterpret_cast<char*>(
        this->part(static_cast<index>(plan.workspace(precision_of<T>) / sizeof(T)), plan.tiles()));
    if (a.device) {
      A_[0] = static_cast<T*>(a.device);
      lda_ = a.ld;
    } else if (plan.cut.streamed) {
      for (T*& A : A_) A = this->part(n, plan.cut.tile);
      lda_ = plan.shape.by_columns() ? n : plan.cut.tile;
    } else {
      A_[0] = this->part(n, n);
      lda_ = n;
    }
    ldb_ = b.device ? b.ld : plan.shape.left ? n : plan.cut.width;
    for (int slot = 0; !b.device && slot < plan.slots; ++slot) B_.push_back(this->part(n, plan.cut.width));
    if (!b.in_place) result_ = {args.B, args.ldb, args.m, args.n};
  }

  Status ask(std::size_t step) {
    const TrsmStep& s = p_.steps[step];
    const TrsmPlan::Part own = p_.part(s.tile), rest = p_.rest(s.tile);
    const Block solved = p_.of_b(own, s.panel);
    switch (s.kind) {
      case TrsmStepKind::upload_a: return bring_a(s.tile);
      case TrsmStepKind::upload_b:
        return this->bring(
            b_, p_.of_b({0, p_.shape.order()}, s.panel), [&](index row, index col) { return of_b(s.panel, row, col); },
            ldb_, x_.B, x_.ldb);
      case TrsmStepKind::solve:
        return this->then(this->lane_.ask(
            Trsm{.precision = precision_of<T>,
                 .side = x_.left ? Side::left : Side::right,
                 .uplo = x_.uplo,
                 .trans = x_.trans,
                 .unit = x_.unit,
                 .m = solved.rows,
                 .n = solved.cols,
                 .alpha = s.tile == 0 ? &x_.alpha : &this->one_,
                 .A = of_a(s.tile, own.first, own.first),
                 .lda = lda_,
                 .B = of_b(s.panel, solved.row, solved.col),
                 .ldb = ldb_,
                 .way = p_.workspace(precision_of<T>) > 0 ? TrsmWay::blocks : TrsmWay::substitution,
                 .block = trsm_block(precision_of<T>, p_.cut.tile),
                 .workspace = workspaces_ + static_cast<std::size_t>(s.tile) * p_.workspace(precision_of<T>),
                 .prepared = s.panel > 0},
            this->after()));
      case TrsmStepKind::subtract: {
        const Block to = p_.of_b(rest, s.panel), beside = p_.beside(s.tile);
        const T& beta = s.tile == 0 ? x_.alpha : this->one_;
        const T *A = of_a(s.tile, beside.row, beside.col), *X = of_b(s.panel, solved.row, solved.col);
        T* const C = of_b(s.panel, to.row, to.col);
        return x_.left ? this->multiply(0, x_.trans, Op::none, to.rows, to.cols, own.count, this->minus_one_, A, lda_,
                                        X, ldb_, beta, C, ldb_)
                       : this->multiply(0, Op::none, x_.trans, to.rows, to.cols, own.count, this->minus_one_, X, ldb_,
                                        A, lda_, beta, C, ldb_);
      }
      case TrsmStepKind::download:
        return result_ ? this->download(result_, solved, of_b(s.panel, solved.row, solved.col), ldb_) : Status::done;
    }
    return Status::lost;
  }

 private:
  /// Of a tile in a lease only the triangle; a copy may be one of the whole matrix, and of use to other calls.
  Status bring_a(index tile) {
    const auto at = [&](index row, index col) { return of_a(tile, row, col); };
    const Status status =
        this->bring(a_, p_.diagonal(tile), at, lda_, x_.A, x_.lda, a_.device ? Part::whole : part_of(x_.uplo));
    if (status != Status::done || p_.rest(tile).count == 0) return status;
    return this->bring(a_, p_.beside(tile), at, lda_, x_.A, x_.lda);
  }
  T* of_a(index tile, index row, index col) const {
    if (!p_.cut.streamed || a_.device) return A_[0] + row + col * lda_;
    const index first = p_.part(tile).first;
    return A_[tile % 2] + (p_.shape.by_columns() ? row + (col - first) * lda_ : row - first + col * lda_);
  }
  T* of_b(index panel, index row, index col) const {
    if (b_.device) return static_cast<T*>(b_.device) + row + col * ldb_;
    const index first = p_.panel(panel).first;
    T* const B = B_[static_cast<std::size_t>(panel % p_.slots)];
    return x_.left ? B + row + (col - first) * ldb_ : B + row - first + col * ldb_;
  }

  const TrsmPlan& p_;
  const TrsmArgs<T>& x_;
  const Placed &a_, &b_;
  T* A_[2] = {};
  std::vector<T*> B_{};
  char* workspaces_;
  index lda_, ldb_;
  Overwritten<T> result_;  ///< unless it is in device memory
};

/// From the sizes and the device's memory alone: neither what else is on it nor copies change the bits.  What is in the
/// program's device memory is there as a whole, and fits, or not at all.
template <class T>
TrsmCut cut_for(const Runtime& r, const Problem& problem, const Operands& operands) {
  const auto there = [&](std::size_t x) { return operands[x].place == Place::on_a_device; };
  const TrsmShape shape = shape_of(problem);
  TrsmCut cut =
      trsm_cut(shape, precision_of<T>, there(operand_a) ? std::numeric_limits<std::size_t>::max() : r.arena.limit());
  if (there(operand_b)) cut.width = shape.others();
  if (there(operand_a) && there(operand_b)) cut.tile = shape.order();
  return cut;
}

template <class T>
Outcome attempt(Runtime& r, const Site& site, Backend& backend, const Problem& problem, const TrsmArgs<T>& args,
                const Operands& operands, bool wait) {
  const Operand &a = operands[operand_a], &b = operands[operand_b];
  const Placed at_a = placed(a), at_b = placed(b);
  const TrsmCut cut = cut_for<T>(r, problem, operands);
  if (cut.tile == 0) return {Status::no_memory};
  const TrsmPlan plan = plan_trsm(shape_of(problem), cut, at_b.device);
  const double moved = problem.bytes_in + problem.bytes_out - operands.spared();
  return run_plan(r, site, backend, operands, plan.bytes(precision_of<T>, at_a.device, at_b.device), wait, moved,
                  [&](Lane& lane, void* lease) {
                    Solving<T> run(plan, args, at_a, at_b, lane, lease, piece_bytes(backend, b.stored.bytes()));
                    return run.run(plan.after, not_exiting, [&](std::size_t step) { return run.ask(step); });
                  });
}

/// On the device.  If that does not come to an end, B in the host's memory is what it was.
template <class T>
Ending compute(Runtime& r, const Site& site, Backend& backend, const Problem& problem, const TrsmArgs<T>& args,
               Operands& operands, const Decision& decision) {
  operands.locate(backend);
  if (!backend.facts().computes.can(Operation::Kind::trsm, precision_of<T>)) return {Reason::no_route};
  const TrsmCut cut = cut_for<T>(r, problem, operands);
  if (cut.streamed) {
    operands.forget();  // copies would take the room that there is
  } else {
    operands.look();
    operands.keep_inputs();
    operands.keep_result();
  }
  // Another try begins with B as it was: in the program's device memory a first one may have changed it.
  Ending ending =
      computed_in_place(r, backend, decision, operands, operands[operand_b].place != Place::on_a_device,
                        [&](bool wait) { return attempt(r, site, backend, problem, args, operands, wait); });
  ending.way = with_numbers(0, cut.tile, cut.width, cut.streamed);
  return ending;
}

// ---- what a correct result is

using namespace judging;

/// Matrices for a product, packed; of A its triangle.
template <class T>
struct Packed {
  Packed(index rows, index cols)
      : at(new T[static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols)]), ld(rows) {}
  T& operator()(index i, index j) { return at[static_cast<std::size_t>(i + j * ld)]; }
  std::unique_ptr<T[]> at;
  index ld;
};

template <class T>
T magnitude(const T& x) {
  return T(static_cast<Real<T>>(size_of(x)));
}

}  // namespace

/// |alpha B - op(A) X| <= limit eps |op(A)| |X|, element by element, however ill-conditioned A is (Higham, Accuracy and
/// Stability, 8.5): n roundings by substitution, twice that with inverses of blocks, and n of the residual itself; in
/// units of |re| + |im|.  Where the reference is not finite anything may be.
template <class T>
Judgement judge(const JudgingLibrary& by, const TrsmArgs<T>& before, const TrsmArgs<T>& result,
                const TrsmArgs<T>& reference, const Ending&) {
  const index m = before.m, n = before.n, order = before.order();
  constexpr double eps = std::numeric_limits<Real<T>>::epsilon(),
                   tiny = static_cast<double>(std::numeric_limits<Real<T>>::min());
  Judgement judgement{0, 4 * static_cast<double>(order + 3) * (complex_type<T> ? 2 : 1)};
  const auto raise = [&](double ratio) {
    if (!(ratio <= judgement.ratio)) judgement.ratio = std::isnan(ratio) ? HUGE_VAL : ratio;
  };
  if (before.alpha == T(0)) {
    for (index j = 0; j < n; ++j)
      for (index i = 0; i < m; ++i)
        if (result.B[i + j * result.ldb] != T(0)) raise(HUGE_VAL);
    return judgement;
  }
  Packed<T> A(order, order), sizes_a(order, order), X(m, n), sizes_x(m, n), rest(m, n), terms(m, n);
  for (index j = 0; j < order; ++j)
    for (index i = 0; i < order; ++i) {
      const bool there = before.uplo == Uplo::upper ? i <= j : i >= j;
      A(i, j) = i == j && before.unit ? T(1) : there ? before.A[i + j * before.lda] : T(0);
      sizes_a(i, j) = magnitude(A(i, j));
    }
  // Columns of X, or rows, do not know each other.
  std::vector<bool> judged(static_cast<std::size_t>(before.left ? n : m), true);
  const auto of = [&](index i, index j) { return static_cast<std::size_t>(before.left ? j : i); };
  for (index j = 0; j < n; ++j)
    for (index i = 0; i < m; ++i)
      if (!is_finite(reference.B[i + j * reference.ldb])) judged[of(i, j)] = false;
  for (index j = 0; j < n; ++j)
    for (index i = 0; i < m; ++i) {
      const T x = result.B[i + j * result.ldb];
      if (judged[of(i, j)] && !is_finite(x)) raise(HUGE_VAL);
      X(i, j) = judged[of(i, j)] && is_finite(x) ? x : T(0);
      sizes_x(i, j) = magnitude(X(i, j));
      rest(i, j) = judged[of(i, j)] ? before.B[i + j * before.ldb] : T(0);
    }
  const T one(1), zero(0), minus_one(-1);
  const auto multiply = [&](Packed<T>& a, Packed<T>& x, Packed<T>& to, const T& alpha, const T& beta) {
    Gemm product{.precision = precision_of<T>,
                 .transa = before.trans,
                 .transb = Op::none,
                 .m = m,
                 .n = n,
                 .k = order,
                 .alpha = &alpha,
                 .A = a.at.get(),
                 .lda = a.ld,
                 .B = x.at.get(),
                 .ldb = x.ld,
                 .beta = &beta,
                 .C = to.at.get(),
                 .ldc = to.ld};
    if (!before.left) {
      std::swap(product.transa, product.transb);
      std::swap(product.A, product.B);
      std::swap(product.lda, product.ldb);
    }
    call_product(*by.beside[0], product);
  };
  multiply(A, X, rest, minus_one, before.alpha);
  multiply(sizes_a, sizes_x, terms, one, zero);
  for (index j = 0; j < n; ++j)
    for (index i = 0; i < m; ++i) {
      const double off = size_of(rest(i, j)), unit = eps * size_of(terms(i, j));
      if (judged[of(i, j)] && std::isfinite(unit) && off > tiny * static_cast<double>(order + 2)) raise(off / unit);
    }
  return judgement;
}

template <class T>
std::vector<Routine> judged_with(const TrsmArgs<T>&) {
  std::vector<Routine> routines;
#define GEMM(name, type) \
  if (std::is_same_v<T, type>) routines.push_back(Routine::name);
#include "api/routines.def"
  return routines;
}

constinit const Family trsm_family{.count = count,
                                   .text = text,
                                   .cpu_rate = cpu_rate_of_products,
                                   .cost = cost,
                                   .needs = Operation::Kind::trsm,
                                   .sent_again = sent_again};

template <class T>
void trsm(const Site& site, const TrsmArgs<T>* args, Replay replay) {
  if (!enter(site)) return replay();
  if (!args) return refuse(site, replay);
  Runtime& r = runtime();
  const Problem problem = problem_of(info(site.symbol).routine, *args);
  (void)take_route(
      r, site, known.value, problem, *args, replay,
      [&](const TrsmArgs<T>& x, bool ephemeral) { return operands_of(r, x, ephemeral); },
      [&](Backend& backend, const TrsmArgs<T>& x, Operands& operands, const Decision& decision) {
        return compute(r, site, backend, problem, x, operands, decision);
      },
      [](Decision&) {});
}

#define TRSM(name, type) template void trsm(const Site&, const TrsmArgs<type>*, Replay);
#include "api/routines.def"

}  // namespace blaslift
