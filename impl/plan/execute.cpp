#include "impl/plan/execute.hpp"

#include <complex>
#include <deque>
#include <tuple>
#include <utility>
#include <variant>

#include "impl/plan/run.hpp"

namespace blaslift {
namespace {

template <class T>
class Execution : public PlanRun<T> {
 public:
  Execution(const Plan& plan, const std::vector<CallOperand<T>>& operands, const CallScalars<T>& scalars, void* lease,
            std::size_t piece_bytes, Lane& lane)
      : PlanRun<T>(lane, lease, piece_bytes), p_(plan), operands_(operands), scalars_(scalars) {
    for (const Plan::Area& area : plan.areas) {
      if (area.operand >= 0) {
        const Placed& own = operands[static_cast<std::size_t>(area.operand)].placed;
        areas_.push_back({static_cast<T*>(own.device), own.ld});
      } else {
        areas_.push_back({this->part(area.rows, area.cols), area.rows});
      }
    }
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const Plan::Operand& x = plan.operands[i];
      Overwritten<T>& result = results_.emplace_back();
      if (!x.result || operands[i].placed.in_place) continue;
      T* const at = const_cast<T*>(operands[i].at);
      if (x.scratch) {
        result = Overwritten<T>::scratch(at, operands[i].ld, x.rows, x.cols, x.part);
        continue;
      }
      result = plan.kept_groups == 0
                   ? Overwritten<T>(at, operands[i].ld, x.rows, x.cols, brought_home(static_cast<int>(i)), x.part)
                   : Overwritten<T>(at, operands[i].ld, x.rows, x.cols, plan.kept_rows, plan.kept_cols, x.part);
      result.scatter(operands[i].apart);
    }
  }

  Status ask(std::size_t step) {
    const Plan::Step& s = p_.steps[step];
    this->stays_ = !p_.staying.empty() && p_.staying[step];
    switch (s.kind) {
      case Plan::Kind::upload: return bring(s);
      case Plan::Kind::compute:
        return std::visit([&](const auto& operation) { return compute(s, operation); }, s.operation);
      case Plan::Kind::download: return bring_home(s);
      case Plan::Kind::share: return share(s);
      case Plan::Kind::fetch: return fetch(s);
    }
    return Status::lost;
  }

 private:
  struct Place {
    T* at;
    index ld;
  };
  /// A block that has been asked to come home, and how many downloads had been then.
  struct Home {
    int operand;
    Block block;
    std::size_t downloads;
  };
  /// The smallest block of an operand that has all of it that comes home.
  Block brought_home(int operand) const {
    index row = 0, col = 0, end_row = 0, end_col = 0;
    for (const Plan::Step& s : p_.steps) {
      if (s.kind != Plan::Kind::download || s.transfer.operand != operand) continue;
      const Block& b = s.transfer.block;
      const bool first = end_row == 0;
      row = first ? b.row : std::min(row, b.row), col = first ? b.col : std::min(col, b.col);
      end_row = std::max(end_row, b.row + b.rows), end_col = std::max(end_col, b.col + b.cols);
    }
    return {row, col, std::max<index>(1, end_row - row), std::max<index>(1, end_col - col)};
  }
  Place place(const Plan::Region& r) const {
    const Place& area = areas_[static_cast<std::size_t>(r.area)];
    return {area.at + r.block.row + r.block.col * area.ld, area.ld};
  }
  const T* scalar(Scalar x) const {
    switch (x) {
      case Scalar::zero: return &this->zero_;
      case Scalar::one: return &this->one_;
      case Scalar::minus_one: return &this->minus_one_;
      case Scalar::alpha: return &scalars_.alpha;
      case Scalar::beta: break;
    }
    return &scalars_.beta;
  }

  bool counts(std::size_t operand) const { return !p_.operands[operand].ours || p_.operands[operand].scratch; }

  Status bring(const Plan::Step& s) {
    const auto number = static_cast<std::size_t>(s.transfer.operand);
    const CallOperand<T>& x = operands_[number];
    const Block& block = s.transfer.block;
    const Place to = place(s.accesses[0].region);
    if (results_[number])
      for (const Home& home : home_)
        if (home.operand == s.transfer.operand && overlap(home.block, block))
          if (const Status status = this->await_downloads(home.downloads); status != Status::done) return status;
    // Of a matrix that begins with column `first`.
    const auto bring = [&](Block b, const T* from, index first) {
      b.col -= first;
      return PlanRun<T>::bring(
          x.placed, b,
          [&](index row, index col) { return to.at + (row - block.row) + (col + first - block.col) * to.ld; }, to.ld,
          from, x.ld, x.placed.device ? Part::whole : p_.operands[number].part, counts(number));
    };
    if (!x.apart) return bring(block, x.at, 0);
    return for_each_group(block, x.apart.cols, Status::done,
                          [&](const Block& b, index i) { return bring(b, x.apart[i], i * x.apart.cols); });
  }

  Status bring_home(const Plan::Step& s) {
    const auto number = static_cast<std::size_t>(s.transfer.operand);
    Overwritten<T>& result = results_[number];
    if (!result) return Status::done;
    const Block& block = s.transfer.block;
    const bool whole_columns =
        p_.kept_groups > 0 && p_.by_columns && block.rows == p_.operands[number].rows && block.rows <= this->piece_;
    // What is kept of a group takes the place of what was kept of an earlier one.
    if (p_.kept_groups > 0 && !whole_columns && s.group >= p_.kept_groups)
      if (const Status status = this->await_group(static_cast<std::size_t>(s.group - p_.kept_groups));
          status != Status::done)
        return status;
    const Place from = place(s.accesses[0].region);
    const auto bring = [&](const Block& b) {
      return this->download(result, b, from.at + (b.col - block.col) * from.ld, from.ld, counts(number), whole_columns);
    };
    const Scattered<T>& apart = operands_[number].apart;
    const Status status =
        !apart ? bring(block)
               : for_each_group(block, apart.cols, Status::done, [&](const Block& b, index) { return bring(b); });
    home_.push_back({s.transfer.operand, block, this->downloads()});
    if (status == Status::done && p_.kept_groups > 0 && s.ends_group) this->end_group();
    return status;
  }

  Status share(const Plan::Step& s) {
    std::vector<OnDevice> parts;
    for (const Plan::Access& x : s.accesses) {
      const Place part = place(x.region);
      parts.push_back({.memory = part.at, .ld = part.ld});
    }
    return PlanRun<T>::share(s.piece, std::move(parts));
  }
  Status fetch(const Plan::Step& s) {
    Status status = Status::done;
    const auto* parts = this->shared(s.piece, status);
    for (std::size_t i = 0; status == Status::done && i < s.accesses.size(); ++i) {
      const Block& b = s.accesses[i].region.block;
      const Place to = place(s.accesses[i].region);
      status = this->copy_shared((*parts)[i], to.at, to.ld, b.rows, b.cols);
    }
    return status;
  }

  Status compute(const Plan::Step& s, Gemm operation) {
    operation.alpha = scalar(s.alpha);
    operation.beta = scalar(s.beta);
    std::tie(operation.A, operation.lda) = matrix(s, 0);
    std::tie(operation.B, operation.ldb) = matrix(s, 1);
    std::tie(operation.C, operation.ldc) = matrix(s, 2);
    return this->then(this->lane_.ask(operation, this->after()));
  }
  Status compute(const Plan::Step& s, const PlannedBatch& batch) {
    GemmBatch operation = batch.products;
    operation.alpha = scalar(s.alpha);
    operation.beta = scalar(s.beta);
    const auto lay = [&](std::size_t number, BatchForm form, index rows, index cols, auto& at, index& ld,
                         index& stride) {
      std::tie(at, ld) = matrix(s, number);
      switch (form) {
        case BatchForm::side_by_side: return void(stride = cols * ld);
        case BatchForm::as_columns: return void((stride = ld, ld = rows));
        case BatchForm::one_below_another: return void(stride = rows);
        default: stride = 0;
      }
    };
    const bool plain_a = operation.transa == Op::none, plain_b = operation.transb == Op::none;
    const auto [m, n, k] = std::tuple(operation.m, operation.n, operation.k);
    lay(0, batch.a, plain_a ? m : k, plain_a ? k : m, operation.A, operation.lda, operation.stride_a);
    lay(1, batch.b, plain_b ? k : n, plain_b ? n : k, operation.B, operation.ldb, operation.stride_b);
    lay(2, batch.c, m, n, operation.C, operation.ldc, operation.stride_c);
    return this->then(this->lane_.ask(operation, this->after()));
  }
  Status compute(const Plan::Step& s, Potrf operation) {
    std::tie(operation.A, operation.lda) = matrix(s, 0);
    operation.failed = place(s.accesses[1].region).at;
    return this->then(this->lane_.ask(operation, this->after()));
  }
  Status compute(const Plan::Step& s, Getrf operation) {
    std::tie(operation.A, operation.lda) = matrix(s, 0);
    operation.pivots = place(s.accesses[1].region).at;
    operation.failed = place(s.accesses[2].region).at;
    return this->then(this->lane_.ask(operation, this->after()));
  }
  Status compute(const Plan::Step& s, Syevd operation) {
    const std::size_t apart = s.accesses.size() > 3 ? 1 : 0;  // V, or else it is A
    std::tie(operation.A, operation.lda) = matrix(s, 0);
    std::tie(operation.V, operation.ldv) = matrix(s, apart);
    operation.w = place(s.accesses[1 + apart].region).at;
    operation.failed = place(s.accesses[2 + apart].region).at;
    return this->then(this->lane_.ask(operation, this->after()));
  }
  Status compute(const Plan::Step& s, Gebrd operation) {
    std::tie(operation.A, operation.lda) = matrix(s, 0);
    void** const rest[] = {&operation.d, &operation.e, &operation.tauq, &operation.taup, &operation.failed};
    for (std::size_t i = 0; i < std::size(rest); ++i) *rest[i] = place(s.accesses[i + 1].region).at;
    return this->then(this->lane_.ask(operation, this->after()));
  }
  Status compute(const Plan::Step& s, Sytrd operation) {
    std::tie(operation.A, operation.lda) = matrix(s, 0);
    void** const rest[] = {&operation.d, &operation.e, &operation.tau, &operation.failed};
    for (std::size_t i = 0; i < std::size(rest); ++i) *rest[i] = place(s.accesses[i + 1].region).at;
    return this->then(this->lane_.ask(operation, this->after()));
  }
  Status compute(const Plan::Step& s, Gehrd operation) {
    std::tie(operation.A, operation.lda) = matrix(s, 0);
    operation.tau = place(s.accesses[1].region).at;
    operation.failed = place(s.accesses[2].region).at;
    return this->then(this->lane_.ask(operation, this->after()));
  }
  Status compute(const Plan::Step& s, Geqp3 operation) {
    std::tie(operation.A, operation.lda) = matrix(s, 0);
    operation.fixed = place(s.accesses[1].region).at;
    void** const rest[] = {&operation.order, &operation.tau, &operation.failed};
    for (std::size_t i = 0; i < std::size(rest); ++i) *rest[i] = place(s.accesses[i + 2].region).at;
    return this->then(this->lane_.ask(operation, this->after()));
  }
  Status compute(const Plan::Step& s, Svd operation) {
    std::size_t next = 0;
    std::tie(operation.A, operation.lda) = matrix(s, next++);
    const std::pair<void*, index> a{operation.A, operation.lda};
    const auto vectors = [&](index count, bool in_a, void*& at, index& ld) {
      if (count > 0) std::tie(at, ld) = in_a ? a : std::pair<void*, index>(matrix(s, next++));
    };
    vectors(operation.u_cols, operation.u_in_a, operation.U, operation.ldu);
    vectors(operation.vt_rows, operation.vt_in_a, operation.VT, operation.ldvt);
    operation.s = place(s.accesses[next++].region).at;
    operation.failed = place(s.accesses[next].region).at;
    return this->then(this->lane_.ask(operation, this->after()));
  }
  Status compute(const Plan::Step& s, Geev operation) {
    std::size_t next = 0;
    std::tie(operation.A, operation.lda) = matrix(s, next++);
    if (operation.vectors) std::tie(operation.VR, operation.ldvr) = matrix(s, next++);
    operation.w = place(s.accesses[next++].region).at;
    if (!is_complex(operation.precision)) operation.wi = place(s.accesses[next++].region).at;
    operation.failed = place(s.accesses[next].region).at;
    return this->then(this->lane_.ask(operation, this->after()));
  }
  Status compute(const Plan::Step& s, RowSwaps operation) {
    std::tie(operation.A, operation.lda) = matrix(s, 0);
    operation.pivots = place(s.accesses[1].region).at;
    operation.moves = place(s.accesses[2].region).at;
    return this->then(this->lane_.ask(operation, this->after()));
  }
  Status compute(const Plan::Step& s, Assign operation) {
    std::size_t next = 0;
    if (s.accesses.size() > 1) std::tie(operation.A, operation.lda) = matrix(s, next++);
    std::tie(operation.C, operation.ldc) = matrix(s, next);
    return this->then(this->lane_.ask(operation, this->after()));
  }
  Status compute(const Plan::Step& s, Mirror operation) {
    std::tie(operation.A, operation.lda) = matrix(s, 0);
    return this->then(this->lane_.ask(operation, this->after()));
  }
  Status compute(const Plan::Step& s, Survey operation) {
    std::tie(operation.at, operation.ld) = matrix(s, 0);
    operation.row_max = place(s.accesses[1].region).at;
    operation.col_max = place(s.accesses[2].region).at;
    return this->then(this->lane_.ask(operation, this->after()));
  }
  Status compute(const Plan::Step& s, QrPanel operation) {
    std::tie(operation.A, operation.lda) = matrix(s, 0);
    operation.tau = place(s.accesses[1].region).at;
    std::tie(operation.V, operation.ldv) = matrix(s, 2);
    std::tie(operation.T, operation.ldt) = matrix(s, 3);
    return this->then(this->lane_.ask(operation, this->after()));
  }
  Status compute(const Plan::Step& s, Trsm operation) {
    operation.alpha = scalar(s.alpha);
    std::tie(operation.A, operation.lda) = matrix(s, 0);
    std::tie(operation.B, operation.ldb) = matrix(s, 1);
    if (s.accesses.size() > 2) operation.workspace = place(s.accesses[2].region).at;
    return this->then(this->lane_.ask(operation, this->after()));
  }
  std::pair<T*, index> matrix(const Plan::Step& s, std::size_t number) const {
    const Place x = place(s.accesses[number].region);
    return {x.at, x.ld};
  }

  const Plan& p_;
  const std::vector<CallOperand<T>>& operands_;
  const CallScalars<T>& scalars_;
  std::vector<Place> areas_{};
  std::vector<Home> home_{};
  std::deque<Overwritten<T>> results_{};  ///< by operand; empty: not a result, or in device memory
};

}  // namespace

template <class T>
PlanOutcome execute(const Plan& plan, const std::vector<CallOperand<T>>& operands, const CallScalars<T>& scalars,
                    void* lease, std::size_t piece_bytes, Lane& lane, bool (*keep_going)(),
                    const std::function<bool()>& sound, Seat* seat) {
  Execution<T> run(plan, operands, scalars, lease, piece_bytes, lane);
  run.take(seat);
  const Outcome outcome = run.run(
      plan.after, keep_going, [&](std::size_t step) { return run.ask(step); }, [&] { return !sound || sound(); });
  return {outcome, std::move(run.finished)};
}

#define EXECUTE(T)                                                                                               \
  template PlanOutcome execute<T>(const Plan&, const std::vector<CallOperand<T>>&, const CallScalars<T>&, void*, \
                                  std::size_t, Lane&, bool (*)(), const std::function<bool()>&, Seat*);
EXECUTE(float)
EXECUTE(double)
EXECUTE(std::complex<float>)
EXECUTE(std::complex<double>)
#undef EXECUTE

}  // namespace blaslift
