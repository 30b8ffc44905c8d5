#include "impl/qr_execute.hpp"

#include "impl/qr_run.hpp"

namespace blaslift {
namespace {

template <class T>
class Factoring : public QrRun<T> {
 public:
  Factoring(const QrPlan& plan, const GeqrfArgs<T>& args, const QrPlacement& placement, std::size_t piece_bytes,
            Lane& lane)
      : QrRun<T>(lane, placement.lease, piece_bytes), p_(plan), args_(args), placement_(placement) {
    const QrOperand& a = placement.A;
    A_ = a.device ? static_cast<T*>(a.device) : this->part(plan.m, plan.n);
    lda_ = a.device ? a.ld : plan.m;
    tau_ = placement.tau ? static_cast<T*>(placement.tau) : this->part(plan.factored(), 1);
    for (int set = 0; set < plan.sets(); ++set) V_[set] = this->part(plan.m, plan.block);
    for (int set = 0; set < plan.sets(); ++set) T_[set] = this->part(plan.block, plan.block);
    for (T*& W : W_) W = this->part(plan.block, plan.n);
    const auto room = [](index elements) {
      return std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(elements));
    };
    if (!a.in_place) result_ = room(plan.m * plan.n);
    if (!placement.tau) tau_result_ = room(plan.factored());
  }

  Status ask(std::size_t step) {
    const QrStep& s = p_.steps[step];
    switch (s.kind) {
      case QrStepKind::upload: return upload(s);
      case QrStepKind::panel: return this->then(this->lane_.panel(panel(s), this->after()));
      case QrStepKind::update:
        return this->reflect_rows(s.stream, Op::conjugate, factors(s.col, s.cols), p_.m - s.col, s.to_cols,
                                  A_ + s.col + s.to * lda_, lda_, W(0, s.to), W(1, s.to), p_.block);
      case QrStepKind::join:
        return QrRun<T>::join(s.stream, V(s.col) + (s.to - s.col), factors(s.col, s.cols), factors(s.to, s.to_cols),
                              p_.m - s.to, t(s.col, s.to), W(0, s.to), W(1, s.to), p_.block);
      case QrStepKind::download: return download(s);
    }
    return Status::lost;
  }

  /// Once everything is there.
  void commit() const {
    if (result_) copy_block(args_.A, args_.lda, result_.get(), p_.m, p_.m, p_.n, sizeof(T));
    if (tau_result_) std::copy_n(tau_result_.get(), p_.factored(), args_.tau);
  }

 private:
  Status upload(const QrStep& s) {
    const QrOperand& a = placement_.A;
    const Block columns{0, s.col, p_.m, s.cols};
    const auto send = [&](const Block& b) {
      return QrRun<T>::upload(A_ + b.row + b.col * lda_, lda_, args_.A + b.row + b.col * args_.lda, args_.lda, b.rows,
                              b.cols, a.direct);
    };
    if (!a.device) return send(columns);
    for (const Block& b : a.missing)
      if (overlap(b, columns))
        if (const Status status = send(intersection(b, columns)); status != Status::done) return status;
    return Status::done;
  }

  Status download(const QrStep& s) {
    if (result_)
      if (const Status status =
              QrRun<T>::download(result_.get() + s.col * p_.m, p_.m, A_ + s.col * lda_, lda_, p_.m, s.cols);
          status != Status::done)
        return status;
    const index reflectors = std::min(s.cols, p_.factored() - s.col);
    if (!tau_result_ || reflectors <= 0) return Status::done;
    return QrRun<T>::download(tau_result_.get() + s.col, reflectors, tau_ + s.col, reflectors, reflectors, 1);
  }

  QrPanel panel(const QrStep& s) const {
    const index first = p_.first_of(s.col), own = s.col - first;
    const int set = p_.set_of(s.col);
    return {.precision = precision_of<T>,
            .m = p_.m - s.col,
            .n = s.cols,
            .A = A_ + s.col + s.col * lda_,
            .lda = lda_,
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
  typename QrRun<T>::Factors factors(index col, index cols) const {
    return {V(col), p_.m, t(col, col), p_.block, cols};
  }
  T* W(int which, index col) const { return W_[which] + col * p_.block; }

  const QrPlan& p_;
  const GeqrfArgs<T>& args_;
  const QrPlacement& placement_;
  T *A_, *tau_, *V_[2], *T_[2], *W_[2];
  index lda_;
  std::unique_ptr<T[]> result_, tau_result_;
};

}  // namespace

template <class T>
QrOutcome execute(const QrPlan& plan, const GeqrfArgs<T>& args, const QrPlacement& placement, std::size_t piece_bytes,
                  Lane& lane, bool (*keep_going)()) {
  Factoring<T> run(plan, args, placement, piece_bytes, lane);
  return run.run(
      plan.after, keep_going, [&](std::size_t step) { return run.ask(step); }, [&] { run.commit(); });
}

#define INSTANTIATE(T) \
  template QrOutcome execute(const QrPlan&, const GeqrfArgs<T>&, const QrPlacement&, std::size_t, Lane&, bool (*)());
INSTANTIATE(float)
INSTANTIATE(double)
INSTANTIATE(std::complex<float>)
INSTANTIATE(std::complex<double>)

}  // namespace blaslift
