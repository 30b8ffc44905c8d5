#include "impl/qr_execute.hpp"

#include <algorithm>
#include <atomic>
#include <deque>
#include <memory>
#include <vector>

#include "impl/blocks.hpp"
#include "impl/schedule.hpp"
#include "kernels/copy.hpp"

namespace blaslift {
namespace {

template <class T>
class Run {
 public:
  Run(const QrPlan& plan, const GeqrfArgs<T>& args, void* lease, std::size_t piece_bytes, Lane& lane)
      : p_(plan),
        args_(args),
        lane_(lane),
        piece_(static_cast<index>(piece_bytes / sizeof(T))),
        last_(plan.steps.size(), -1),
        result_(std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(plan.m * plan.n))),
        tau_result_(std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(plan.factored()))) {
    char* next = static_cast<char*>(lease);
    const auto part = [&next](index rows, index cols) {
      char* at = next;
      next += leased_bytes(rows, cols, sizeof(T));
      return reinterpret_cast<T*>(at);
    };
    A_ = part(plan.m, plan.n);
    tau_ = part(plan.factored(), 1);
    for (T*& V : V_) V = part(plan.m, plan.block);
    for (T*& t : T_) t = part(plan.block, plan.block);
    for (T*& W : W_) W = part(plan.block, plan.n);
    // What it takes from here on: `after` of a step, and of what a step goes on with.
    std::size_t most = 1;
    for (const std::vector<std::int32_t>& after : plan.after) most = std::max(most, after.size());
    tickets_.reserve(most);
  }

  Status run(bool (*keep_going)()) {
    for (std::size_t i = 0; i < p_.steps.size(); ++i) {
      if (!keep_going()) return Status::lost;
      tickets_.clear();
      for (const std::int32_t e : p_.after[i]) tickets_.push_back(last_[static_cast<std::size_t>(e)]);
      if (const Status status = ask(p_.steps[i]); status != Status::done) return status;
      last_[i] = next_ - 1;
    }
    return Status::done;
  }

  /// Once everything is there.
  void commit() const {
    copy_block(args_.A, args_.lda, result_.get(), p_.m, p_.m, p_.n, sizeof(T));
    std::copy_n(tau_result_.get(), p_.factored(), args_.tau);
  }

  double bytes_in = 0, bytes_out = 0;

 private:
  After after() const { return {tickets_.data(), static_cast<int>(tickets_.size())}; }

  /// What is asked for next comes after this.
  Status then(Status status) {
    tickets_.assign(1, next_++);
    return status;
  }

  Status ask(const QrStep& s) {
    switch (s.kind) {
      case QrStepKind::upload: {
        bytes_in += static_cast<double>(p_.m) * static_cast<double>(s.cols) * sizeof(T);
        return then(lane_.upload(
            {A_ + s.col * p_.m, p_.m, args_.A + s.col * args_.lda, args_.lda, p_.m, s.cols, sizeof(T)}, after()));
      }
      case QrStepKind::panel: return then(lane_.panel(panel(s), after()));
      case QrStepKind::update: return update(s);
      case QrStepKind::join: return join(s);
      case QrStepKind::download: {
        // All pieces wait for the same.
        const After these = after();
        Status status = Status::done;
        const auto bring = [&](T* to, const T* from, index ld, index rows, index cols) {
          for (const Block& piece : pieces({0, 0, rows, cols}, piece_)) {
            if (status != Status::done) return;
            bytes_out += static_cast<double>(piece.rows) * static_cast<double>(piece.cols) * sizeof(T);
            const index at = piece.row + piece.col * ld;
            status = lane_.download({const_cast<T*>(from) + at, ld, to + at, ld, piece.rows, piece.cols, sizeof(T)},
                                    these, landed_.emplace_back(false));
            ++next_;
          }
        };
        bring(result_.get() + s.col * p_.m, A_ + s.col * p_.m, p_.m, p_.m, s.cols);
        const index reflectors = std::min(s.cols, p_.factored() - s.col);
        if (reflectors > 0) bring(tau_result_.get() + s.col, tau_ + s.col, reflectors, reflectors, 1);
        return status;
      }
    }
    return Status::lost;
  }

  QrPanel panel(const QrStep& s) const {
    const index first = p_.first_of(s.col), own = s.col - first;
    const int set = p_.set_of(s.col);
    return {.precision = precision_of<T>,
            .m = p_.m - s.col,
            .n = s.cols,
            .A = A_ + s.col + s.col * p_.m,
            .lda = p_.m,
            .tau = tau_ + s.col,
            .above = own,
            .block = p_.block,
            .V = V_[set] + own * p_.m,
            .ldv = p_.m,
            .T = T_[set] + own * p_.block,
            .ldt = p_.block,
            .stream = s.stream};
  }

  /// Reflectors from column `col` on: from their first row.
  const T* V(index col) const {
    const index own = col - p_.first_of(col);
    return V_[p_.set_of(col)] + own + own * p_.m;
  }
  /// T's block on the diagonal, or the one on the right of it.
  T* t(index col, index of) const {
    const index first = p_.first_of(col);
    return T_[p_.set_of(col)] + (col - first) + (of - first) * p_.block;
  }

  Status multiply(const QrStep& s, Op op, index m, index n, index k, const T& alpha, const T* X, index ldx, const T* Y,
                  index ldy, const T& beta, T* Z, index ldz) {
    return then(lane_.gemm({.precision = precision_of<T>,
                            .transa = op,
                            .transb = Op::none,
                            .m = m,
                            .n = n,
                            .k = k,
                            .alpha = &alpha,
                            .A = X,
                            .lda = ldx,
                            .B = Y,
                            .ldb = ldy,
                            .beta = &beta,
                            .C = Z,
                            .ldc = ldz,
                            .stream = s.stream},
                           after()));
  }

  /// C := (I - V T V^H)^H C
  Status update(const QrStep& s) {
    const index rows = p_.m - s.col;
    T *C = A_ + s.col + s.to * p_.m, *W0 = W_[0] + s.to * p_.block, *W1 = W_[1] + s.to * p_.block;
    Status status =
        multiply(s, Op::conjugate, s.cols, s.to_cols, rows, one_, V(s.col), p_.m, C, p_.m, zero_, W0, p_.block);
    if (status == Status::done)
      status = multiply(s, Op::conjugate, s.cols, s.to_cols, s.cols, one_, t(s.col, s.col), p_.block, W0, p_.block,
                        zero_, W1, p_.block);
    if (status == Status::done)
      status = multiply(s, Op::none, rows, s.to_cols, s.cols, minus_one_, V(s.col), p_.m, W1, p_.block, one_, C, p_.m);
    return status;
  }

  /// T12 := -T1 (V1^H V2) T2.  V2 begins where its columns do.
  Status join(const QrStep& s) {
    const index rows = p_.m - s.to;
    T *W0 = W_[0] + s.to * p_.block, *W1 = W_[1] + s.to * p_.block;
    Status status = multiply(s, Op::conjugate, s.cols, s.to_cols, rows, one_, V(s.col) + (s.to - s.col), p_.m, V(s.to),
                             p_.m, zero_, W0, p_.block);
    if (status == Status::done)
      status = multiply(s, Op::none, s.cols, s.to_cols, s.to_cols, one_, W0, p_.block, t(s.to, s.to), p_.block, zero_,
                        W1, p_.block);
    if (status == Status::done)
      status = multiply(s, Op::none, s.cols, s.to_cols, s.cols, minus_one_, t(s.col, s.col), p_.block, W1, p_.block,
                        zero_, t(s.col, s.to), p_.block);
    return status;
  }

  const QrPlan& p_;
  const GeqrfArgs<T>& args_;
  Lane& lane_;
  const index piece_;
  const T zero_{0}, one_{1}, minus_one_{-1};
  T *A_, *tau_, *V_[2], *T_[2], *W_[2];
  Ticket next_ = 0;
  std::vector<Ticket> last_;     ///< by step
  std::vector<Ticket> tickets_;  ///< what comes next waits for these
  std::unique_ptr<T[]> result_, tau_result_;
  std::deque<std::atomic<bool>> landed_;
};

}  // namespace

template <class T>
QrOutcome execute(const QrPlan& plan, const GeqrfArgs<T>& args, void* lease, std::size_t piece_bytes, Lane& lane,
                  bool (*keep_going)()) {
  Run<T> run(plan, args, lease, piece_bytes, lane);
  QrOutcome outcome;
  try {
    outcome.status = run.run(keep_going);
  } catch (const std::exception&) {  // no memory for a ticket
    outcome.status = Status::no_memory;
  }
  if (outcome.status != Status::done) lane.abandon();
  const Status drained = lane.drain();
  if (outcome.status == Status::done) outcome.status = drained;
  outcome.bytes_in = run.bytes_in;
  outcome.bytes_out = run.bytes_out;
  if (outcome.status == Status::done) run.commit();
  return outcome;
}

#define INSTANTIATE(T) \
  template QrOutcome execute(const QrPlan&, const GeqrfArgs<T>&, void*, std::size_t, Lane&, bool (*)());
INSTANTIATE(float)
INSTANTIATE(double)
INSTANTIATE(std::complex<float>)
INSTANTIATE(std::complex<double>)

}  // namespace blaslift
