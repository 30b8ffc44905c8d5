// What running QR's plans has in common: products with reflectors, Q = I - V T V^H.
#pragma once
#include <vector>

#include "impl/plan/run.hpp"

namespace blaslift {

template <class T>
class QrRun : public PlanRun<T> {
 protected:
  using PlanRun<T>::PlanRun;

  /// Room for V and T of blocks, in turns.  V begins in its block's first row.
  void make_sets(int sets, index rows, index block) {
    rows_ = rows;
    block_ = block;
    for (int set = 0; set < sets; ++set) {
      V_.push_back(this->part(rows, block));
      T_.push_back(this->part(block, block));
    }
  }

  index own(index col) const { return col % block_; }
  std::size_t set_of(index col) const { return static_cast<std::size_t>(col / block_) % V_.size(); }
  /// Reflectors from column `col` on: from their first row.
  const T* V(index col) const { return v(col); }
  T* v(index col) const { return V_[set_of(col)] + own(col) + own(col) * rows_; }
  /// T's block on the diagonal, or the one on the right of it.
  T* t(index col, index of) const { return T_[set_of(col)] + own(col) + (of - (col - own(col))) * block_; }

  /// V and T of the reflectors in these columns, of which A is the first one's element on the diagonal.
  QrPanel panel(index col, index cols, T* A, index lda, T* tau, std::int8_t stream, bool factored) const {
    return {.precision = precision_of<T>,
            .m = rows_ - col,
            .n = cols,
            .A = A,
            .lda = lda,
            .tau = tau + col,
            .above = own(col),
            .block = block_,
            .V = V_[set_of(col)] + own(col) * rows_,
            .ldv = rows_,
            .T = T_[set_of(col)] + own(col) * block_,
            .ldt = block_,
            .factored = factored,
            .stream = stream};
  }

  /// C (n columns, from row `col` on) := Q C or, with Op::conjugate, Q^H C.  W0, W1: cols x n.
  Status reflect_rows(std::int8_t stream, Op op, index col, index cols, index n, T* C, index ldc, T* W0, T* W1,
                      index ldw) {
    const index m = rows_ - col;
    Status status = this->multiply(stream, Op::conjugate, Op::none, cols, n, m, this->one_, V(col), rows_, C, ldc,
                                   this->zero_, W0, ldw);
    if (status == Status::done)
      status = this->multiply(stream, op, Op::none, cols, n, cols, this->one_, t(col, col), block_, W0, ldw,
                              this->zero_, W1, ldw);
    if (status == Status::done)
      status = this->multiply(stream, Op::none, Op::none, m, n, cols, this->minus_one_, V(col), rows_, W1, ldw,
                              this->one_, C, ldc);
    return status;
  }

  /// C (m rows, from column `col` on) := C Q or C Q^H.  W0, W1: m x cols.
  Status reflect_columns(std::int8_t stream, Op op, index col, index cols, index m, T* C, index ldc, T* W0, T* W1,
                         index ldw) {
    const index n = rows_ - col;
    Status status =
        this->multiply(stream, Op::none, Op::none, m, cols, n, this->one_, C, ldc, V(col), rows_, this->zero_, W0, ldw);
    if (status == Status::done)
      status = this->multiply(stream, Op::none, op, m, cols, cols, this->one_, W0, ldw, t(col, col), block_,
                              this->zero_, W1, ldw);
    if (status == Status::done)
      status = this->multiply(stream, Op::none, Op::conjugate, m, n, cols, this->minus_one_, W1, ldw, V(col), rows_,
                              this->one_, C, ldc);
    return status;
  }

  /// T12 := -T1 (V1^H V2) T2.  V2 begins where its columns do.  W0, W1: as T12.
  Status join(std::int8_t stream, index col, index cols, index to, index to_cols, T* W0, T* W1, index ldw) {
    Status status = this->multiply(stream, Op::conjugate, Op::none, cols, to_cols, rows_ - to, this->one_,
                                   V(col) + (to - col), rows_, V(to), rows_, this->zero_, W0, ldw);
    if (status == Status::done)
      status = this->multiply(stream, Op::none, Op::none, cols, to_cols, to_cols, this->one_, W0, ldw, t(to, to),
                              block_, this->zero_, W1, ldw);
    if (status == Status::done)
      status = this->multiply(stream, Op::none, Op::none, cols, to_cols, cols, this->minus_one_, t(col, col), block_,
                              W1, ldw, this->zero_, t(col, to), block_);
    return status;
  }

 private:
  index rows_ = 0, block_ = 0;
  std::vector<T*> V_{}, T_{};
};

}  // namespace blaslift
