#include "impl/qr/qr_execute.hpp"

#include "impl/qr/qr_run.hpp"

namespace blaslift {
namespace {

template <class T>
class Factoring : public QrRun<T> {
 public:
  Factoring(const QrPlan& plan, const GeqrfArgs<T>& args, const QrPlacement& placement, std::size_t piece_bytes,
            Lane& lane)
      : QrRun<T>(lane, placement.lease, piece_bytes), p_(plan), args_(args), placement_(placement) {
    const Placed& a = placement.A;
    A_ = a.device ? static_cast<T*>(a.device) : this->part(plan.m, plan.part);
    lda_ = a.device ? a.ld : plan.m;
    tau_ = placement.tau ? static_cast<T*>(placement.tau) : this->part(plan.factored(), 1);
    this->make_sets(plan.sets(), plan.m, plan.block);
    for (T*& W : W_) W = this->part(plan.block, plan.part);
    if (plan.in_parts())
      for (int set = 0; set < plan.sets(); ++set) {
        reflectors_[set] = this->part(plan.m, plan.block);
        for (T*& J : J_[set]) J = this->part(plan.block, plan.block);
      }
    if (!a.in_place) result_ = {args.A, args.lda, plan.m, plan.n};
    if (!placement.tau) tau_result_ = {args.tau, plan.factored(), plan.factored(), 1};
  }

  Status ask(std::size_t step) {
    const QrStep& s = p_.steps[step];
    switch (s.kind) {
      case QrStepKind::upload:
        return this->bring(
            placement_.A, {0, s.col, p_.m, s.cols}, [this](index row, index col) { return at(row, col); }, lda_,
            args_.A, args_.lda);
      case QrStepKind::panel:
        return this->then(
            this->lane_.ask(this->panel(s.col, s.cols, at(s.col, s.col), lda_, tau_, s.stream, false), this->after()));
      case QrStepKind::update:
        return this->reflect_rows(s.stream, Op::conjugate, s.col, s.cols, s.to_cols, at(s.col, s.to), lda_, W(0, s.to),
                                  W(1, s.to), p_.block);
      case QrStepKind::join: {
        if (!p_.in_parts())
          return this->join(s.stream, s.col, s.cols, s.to, s.to_cols, W(0, s.to), W(1, s.to), p_.block);
        T* const* J = J_[this->set_of(s.col)];
        const index own = this->own(s.to) * p_.block;
        return this->join(s.stream, s.col, s.cols, s.to, s.to_cols, J[0] + own, J[1] + own, p_.block);
      }
      case QrStepKind::download: {
        const Status status = download(s);
        brought_[static_cast<std::size_t>(s.col / p_.block)] = this->downloads();
        return status;
      }
      case QrStepKind::reflectors: {
        if (const Status status = this->await_downloads(brought_[static_cast<std::size_t>(s.col / p_.block)]);
            status != Status::done)
          return status;
        return this->upload(reflector(s.col), p_.m, result_.at(s.col, s.col), result_.ld(), p_.m - s.col, s.cols,
                            placement_.A.direct);
      }
      case QrStepKind::share:
        return QrRun<T>::share(
            piece(s), {{.memory = this->v(s.col), .ld = p_.m}, {.memory = this->t(s.col, s.col), .ld = p_.block}});
      case QrStepKind::fetch: return fetch(s);
      case QrStepKind::remake:
        return this->then(
            this->lane_.ask(this->panel(s.col, s.cols, reflector(s.col), p_.m, tau_, s.stream, true), this->after()));
    }
    return Status::lost;
  }

 private:
  int piece(const QrStep& s) const { return static_cast<int>(s.col / p_.block); }
  /// What another place has factored.
  Status fetch(const QrStep& s) {
    Status status = Status::done;
    const auto* parts = this->shared(piece(s), status);
    if (status == Status::done) status = this->copy_shared((*parts)[0], this->v(s.col), p_.m, p_.m - s.col, s.cols);
    if (status == Status::done)
      status = this->copy_shared((*parts)[1], this->t(s.col, s.col), p_.block, s.cols, s.cols);
    return status;
  }

  Status download(const QrStep& s) {
    if (result_)
      if (const Status status = QrRun<T>::download(result_, {0, s.col, p_.m, s.cols}, at(0, s.col), lda_);
          status != Status::done)
        return status;
    const index reflectors = std::min(s.cols, p_.factored() - s.col);
    if (!tau_result_ || reflectors <= 0) return Status::done;
    return QrRun<T>::download(tau_result_, {s.col, 0, reflectors, 1}, tau_ + s.col, reflectors);
  }

  /// Of A, while this column's part is there.
  T* at(index row, index col) const { return A_ + row + p_.within(col) * lda_; }
  T* W(int which, index col) const { return W_[which] + p_.within(col) * p_.block; }
  /// On the diagonal, of what came back.
  T* reflector(index col) const { return reflectors_[this->set_of(col)] + col + this->own(col) * p_.m; }

  const QrPlan& p_;
  const GeqrfArgs<T>& args_;
  const QrPlacement& placement_;
  T *A_, *tau_, *W_[2], *J_[2][2] = {}, *reflectors_[2] = {};
  /// By block: how many downloads have been asked for with it.
  std::vector<std::size_t> brought_ = std::vector<std::size_t>(static_cast<std::size_t>(p_.n / p_.block + 1));
  index lda_;
  Overwritten<T> result_, tau_result_;  ///< unless they are in device memory
};

template <class T>
class Applying : public QrRun<T> {
 public:
  Applying(const QPlan& plan, const OrmqrArgs<T>& args, const QPlacement& placement, std::size_t piece_bytes,
           Lane& lane)
      : QrRun<T>(lane, placement.lease, piece_bytes),
        p_(plan),
        q_(plan.product),
        args_(args),
        placement_(placement),
        reflectors_(placement.A),
        from_(args.A),
        ldf_(args.lda) {
    const Placed &a = placement.A, &c = placement.C;
    const bool as_they_are = a.device && !q_.rows;
    if (!plan.streamed) A_[0] = A_[1] = as_they_are ? static_cast<T*>(a.device) : this->part(q_.order(), q_.k);
    lda_ = as_they_are ? a.ld : q_.order();
    if (q_.rows) {
      if (!plan.streamed) rows_[0] = rows_[1] = a.device ? static_cast<T*>(a.device) : this->part(q_.k, q_.order());
      ldr_ = a.device ? a.ld : plan.streamed ? plan.block : q_.k;
    }
    tau_ = placement.tau ? static_cast<T*>(placement.tau) : this->part(q_.k, 1);
    C_ = owns_c() ? static_cast<T*>(c.device) : this->part(q_.order(), plan.window);
    if (q_.turned()) {
      turned_ = c.device ? static_cast<T*>(c.device) : this->part(plan.window, q_.order());
      ldt_ = c.device ? c.ld : plan.window;
    }
    ldc_ = owns_c() ? c.ld : q_.left ? q_.m : plan.window;
    this->make_sets(plan.sets(), q_.order(), plan.block);
    if (plan.streamed)
      for (int set = 0; set < plan.sets(); ++set) {
        A_[set] = this->part(q_.order(), plan.block);
        if (q_.rows) rows_[set] = this->part(plan.block, q_.order());
      }
    if (plan.joins())
      for (int set = 0; set < plan.sets(); ++set)
        for (T*& J : J_[set]) J = this->part(plan.block, plan.block);
    for (T*& W : W_) W = this->part(plan.block, plan.window);
    if (!c.in_place) {
      // What lies a column, or a row, beside its reflectors is kept with the outermost of them.
      const bool beside = args.before + args.after > 0;
      const index below = beside && q_.rows ? 1 : 0, across = beside && !q_.rows ? 1 : 0;
      if (!q_.reversed) row_ = below, col_ = across;
      result_ = {args.C - row_ - col_ * args.ldc, args.ldc, q_.stored_rows() + below, q_.stored_cols() + across};
      // The reflectors are there, and are sent again; or beside it, where another block's may not be sent yet.
      if (q_.of_identity && (plan.window < q_.length() || (plan.streamed && beside))) {
        result_.keep_all();
        from_ = result_.kept(0, q_.reversed ? across : 0);
        ldf_ = result_.kept_ld();
        reflectors_.direct = false;
      }
    }
    if (q_.of_identity) ones_.assign(static_cast<std::size_t>(q_.n), T(1));
  }

  Status ask(std::size_t step) {
    const QStep& s = p_.steps[step];
    const Op op = q_.adjoint ? Op::conjugate : Op::none;
    // Otherwise other blocks' take their place, or Q does.
    this->stays_ = s.kind == QStepKind::reflectors && !p_.streamed && !q_.of_identity;
    switch (s.kind) {
      case QStepKind::tau:
        return placement_.tau ? Status::done : this->upload(tau_, q_.k, args_.tau, q_.k, q_.k, 1, false);
      case QStepKind::reflectors: return q_.rows ? bring_rows(s) : bring_columns(s);
      case QStepKind::upload:
        return this->bring(
            placement_.C, part_of_c(s),
            [this](index row, index col) { return q_.left ? at(row, p_.within(col)) : at(col, p_.within(row)); }, ldc_,
            args_.C, args_.ldc);
      case QStepKind::identity: {
        const index first = part_of_c(s).col;
        T* const C = at(0, place_of(s));
        const Status status = this->multiply(s.stream, Op::none, Op::none, q_.m, s.to_cols, 0, this->zero_, C, ldc_, C,
                                             ldc_, this->zero_, C, ldc_);
        if (status != Status::done) return status;
        return this->upload(C + first, ldc_ + 1, ones_.data(), 1, 1, s.to_cols, false);  // down the diagonal
      }
      case QStepKind::panel:
        if (q_.reversed) return make_reversed(s);
        return this->then(this->lane_.ask(
            this->panel(s.col, s.cols, reflectors_of(s) + s.col, lda_, tau_, s.stream, true), this->after()));
      case QStepKind::join: {
        T* const* J = J_[this->set_of(s.col)];
        const index own = this->own(s.to) * p_.block;
        return this->join(s.stream, s.col, s.cols, s.to, s.to_cols, J[0] + own, J[1] + own, p_.block);
      }
      case QStepKind::update: {
        // What is reversed ends with the block, where others begin with it.
        T* const C = at(q_.reversed ? 0 : s.col, place_of(s));
        if (q_.left)
          return this->reflect_rows(s.stream, op, s.col, s.cols, s.to_cols, C, ldc_, W_[0] + p_.within(s.to) * p_.block,
                                    W_[1] + p_.within(s.to) * p_.block, p_.block);
        return this->reflect_columns(s.stream, op, s.col, s.cols, s.to_cols, C, ldc_, W_[0] + p_.within(s.to),
                                     W_[1] + p_.within(s.to), p_.window);
      }
      case QStepKind::download: return bring_home(s);
    }
    return Status::lost;
  }

 private:
  /// What takes the reflectors' place does so at the end, and so does what is turned on its way.
  bool owns_c() const { return placement_.C.device && !q_.turned() && !(placement_.C.in_place && q_.of_identity); }

  Status bring_columns(const QStep& s) {
    const index rows = q_.order() - s.col, first = q_.reversed ? rows - s.cols : s.col;
    // Of what is only lent nobody reads R, or L.
    Block block{q_.reversed ? 0 : s.col, first, rows, s.cols};
    if (reflectors_.device) block.row = 0, block.rows = q_.order();
    T* const at = reflectors_of(s);
    return this->bring(
        reflectors_, block, [&](index row, index col) { return at + row + (col - first) * lda_; }, lda_, from_, ldf_);
  }

  /// Reflectors in rows, and what a QR would have left in their place.
  Status bring_rows(const QStep& s) {
    const index from = reflectors_.device ? 0 : s.col,
                rest = q_.order() - s.col;  // of what is only lent nobody reads L
    const auto row = [this](index i, index j) {
      return rows_[this->set_of(i)] + (p_.streamed ? this->own(i) : i) + j * ldr_;
    };
    if (const Status status =
            this->bring(reflectors_, {s.col, from, s.cols, q_.order() - from}, row, ldr_, from_, ldf_);
        status != Status::done)
      return status;
    this->after_all();
    return assign_adjoint(rest, s.cols, row(s.col, s.col), ldr_, reflectors_of(s) + s.col, lda_);
  }

  /// V and T of a block of reversed reflectors: Q = I - V T V^H of them, the last one first.  With D, which has tau on
  /// its diagonal, and L, which is V^H V below its own and zero elsewhere, (I + D L) T = D: whatever tau is, so that
  /// one of zero leaves its reflector out.
  Status make_reversed(const QStep& s) {
    const index rows = q_.order() - s.col, first = rows - s.cols, block = p_.block;
    T *const V = this->v(s.col), *const t = this->t(s.col, s.col), *const *const J = J_[this->set_of(s.col)];
    const auto assign = [&](Part part, index m, index n, index below, const T* A, index lda, T* C, index ldc) {
      return this->then(this->lane_.ask(Assign{.precision = precision_of<T>,
                                               .part = part,
                                               .strict = part != Part::whole,
                                               .transposed = false,
                                               .m = m,
                                               .n = n,
                                               .below = below,
                                               .A = A,
                                               .lda = lda,
                                               .C = C,
                                               .ldc = ldc,
                                               .stream = s.stream},
                                        this->after()));
    };
    Status status = assign(Part::whole, rows, s.cols, -first, nullptr, q_.order(), V, q_.order());
    if (status == Status::done)
      status = assign(Part::upper, rows, s.cols, -first, reflectors_of(s), lda_, V, q_.order());
    if (status == Status::done) status = assign(Part::whole, s.cols, s.cols, 0, nullptr, block, t, block);
    if (status == Status::done) status = assign(Part::whole, 1, s.cols, 0, tau_ + first, 1, t, block + 1);
    if (status == Status::done)
      status = this->multiply(s.stream, Op::conjugate, Op::none, s.cols, s.cols, rows, this->one_, V, q_.order(), V,
                              q_.order(), this->zero_, J[0], block);
    if (status == Status::done)
      status = this->multiply(s.stream, Op::none, Op::none, s.cols, s.cols, s.cols, this->one_, t, block, J[0], block,
                              this->zero_, J[1], block);
    if (status != Status::done) return status;
    return this->then(this->lane_.ask(Trsm{.precision = precision_of<T>,
                                           .side = Side::left,
                                           .uplo = Uplo::lower,
                                           .trans = Op::none,
                                           .unit = true,
                                           .m = s.cols,
                                           .n = s.cols,
                                           .alpha = &this->one_,
                                           .A = J[1],
                                           .lda = block,
                                           .B = t,
                                           .ldb = block,
                                           .stream = s.stream},
                                      this->after()));
  }

  Status bring_home(const QStep& s) {
    Block b = part_of_c(s);
    const T* from = at(0, place_of(s));
    index ld = ldc_;
    if (q_.turned()) {
      T* const to = turned_ + place_of(s);
      b = {s.to, 0, s.to_cols, q_.order()};
      if (const Status status = assign_adjoint(b.rows, b.cols, from, ldc_, to, ldt_); status != Status::done)
        return status;
      from = to, ld = ldt_;
    }
    if (result_) return this->download(result_, {b.row + row_, b.col + col_, b.rows, b.cols}, from, ld);
    return owns_c() || q_.turned() ? Status::done : put_in_place(b, from);
  }

  /// C (m x n) := A^H.
  Status assign_adjoint(index m, index n, const T* A, index lda, T* C, index ldc) {
    return this->then(this->lane_.ask(Assign{.precision = precision_of<T>,
                                             .part = Part::whole,
                                             .strict = false,
                                             .transposed = true,
                                             .m = m,
                                             .n = n,
                                             .below = 0,
                                             .A = A,
                                             .lda = lda,
                                             .C = C,
                                             .ldc = ldc,
                                             .conjugated = true},
                                      this->after()));
  }

  /// Of C's window, so far along and so far the other way.
  T* at(index across, index along) const { return q_.left ? C_ + across + along * ldc_ : C_ + along + across * ldc_; }
  /// Where a step's part of C begins in its window, the plan counting from the first one or from the last.
  index place_of(const QStep& s) const {
    const index own = p_.within(s.to);
    return q_.reversed && q_.of_identity ? p_.window - own - s.to_cols : own;
  }
  /// Where a step's reflectors are while they are there: their first column, from the first row on.
  T* reflectors_of(const QStep& s) const {
    const index first = q_.reversed ? q_.k - s.col - s.cols : s.col;
    return A_[this->set_of(s.col)] + (p_.streamed ? this->own(s.col) : first) * lda_;
  }

  Block part_of_c(const QStep& s) const {
    const index first = q_.reversed && q_.of_identity ? q_.n - s.to - s.to_cols : s.to;
    return q_.left ? Block{0, first, q_.m, s.to_cols} : Block{first, 0, s.to_cols, q_.n};
  }

  /// From a lease to the program's device memory.
  Status put_in_place(const Block& b, const T* from) {
    Combination copy{.precision = precision_of<T>,
                     .rows = b.rows,
                     .cols = b.cols,
                     .sources = 1,
                     .targets = 1,
                     .source = {},
                     .target = {},
                     .scale = nullptr};
    copy.source[0] = {from, ldc_, false};
    const index ld = placement_.C.ld;
    copy.target[0] = {static_cast<T*>(placement_.C.device) + b.row + b.col * ld, ld, {1}};
    return this->then(this->lane_.ask(copy, this->after()));
  }

  const QPlan& p_;
  const QProduct& q_;
  const OrmqrArgs<T>& args_;
  const QPlacement& placement_;
  Placed reflectors_;
  const T* from_;  ///< where the host has them
  index ldf_;
  T *A_[2], *tau_, *C_, *J_[2][2], *W_[2];  ///< A_: streamed, a block's for each set
  T* rows_[2] = {};                         ///< likewise: where reflectors in rows come to
  T* turned_ = nullptr;                     ///< where parts of C are as the caller has them
  index lda_, ldc_, ldr_ = 0, ldt_ = 0, row_ = 0, col_ = 0;
  Overwritten<T> result_;  ///< unless it is in device memory; C begins in its row_ and col_
  std::vector<T> ones_{};
};

}  // namespace

template <class T>
Outcome execute(const QrPlan& plan, const GeqrfArgs<T>& args, const QrPlacement& placement, std::size_t piece_bytes,
                Lane& lane, bool (*keep_going)(), Seat* seat) {
  Factoring<T> run(plan, args, placement, piece_bytes, lane);
  run.take(seat);
  return run.run(plan.after, keep_going, [&](std::size_t step) { return run.ask(step); });
}

template <class T>
Outcome execute(const QPlan& plan, const OrmqrArgs<T>& args, const QPlacement& placement, std::size_t piece_bytes,
                Lane& lane, bool (*keep_going)()) {
  Applying<T> run(plan, args, placement, piece_bytes, lane);
  return run.run(plan.after, keep_going, [&](std::size_t step) { return run.ask(step); });
}

#define INSTANTIATE(T)                                                                                             \
  template Outcome execute(const QrPlan&, const GeqrfArgs<T>&, const QrPlacement&, std::size_t, Lane&, bool (*)(), \
                           Seat*);                                                                                 \
  template Outcome execute(const QPlan&, const OrmqrArgs<T>&, const QPlacement&, std::size_t, Lane&, bool (*)());
INSTANTIATE(float)
INSTANTIATE(double)
INSTANTIATE(std::complex<float>)
INSTANTIATE(std::complex<double>)

}  // namespace blaslift
