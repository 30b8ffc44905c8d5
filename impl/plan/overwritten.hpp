// What the caller's matrices held before results went there.
#pragma once
#include <algorithm>

#include "impl/core/blocks.hpp"
#include "impl/core/own_memory.hpp"
#include "impl/plan/placed.hpp"
#include "kernels/backend.hpp"
#include "kernels/copy.hpp"

namespace blaslift {

/// A matrix of the caller's to which results go piece by piece, and what each piece held before, so that a call that
/// fails can leave everything as it was.
template <class T>
class Overwritten {
 public:
  Overwritten() = default;
  /// Throws std::bad_alloc.
  /// @param part  of a square matrix, in which results go to a triangle: the other one is neither read nor written
  Overwritten(T* at, index ld, index rows, index cols, Part part = Part::whole)
      : Overwritten(at, ld, rows, cols, rows, cols, part) {}
  /// One of which so much is kept at a time: what is kept of a block takes the place of what was kept of the one that
  /// is `kept_rows` above, or `kept_cols` on the left.  No block goes from one such part to the next.
  Overwritten(T* at, index ld, index rows, index cols, index kept_rows, index kept_cols, Part part = Part::whole)
      : at_(at),
        ld_(ld),
        rows_(rows),
        cols_(cols),
        kept_rows_(std::min(kept_rows, rows)),
        kept_cols_(std::min(kept_cols, cols)),
        part_(part),
        memory_(sizeof(T) * static_cast<std::size_t>(kept_rows_) * static_cast<std::size_t>(kept_cols_)) {}
  /// One of which only a block is overwritten: places that compute it together would each keep all of it otherwise.
  Overwritten(T* at, index ld, index rows, index cols, const Block& overwritten, Part part)
      : Overwritten(at, ld, rows, cols, overwritten.rows, overwritten.cols, part) {
    first_row_ = overwritten.row, first_col_ = overwritten.col;
  }
  /// One of which nothing is kept, and nothing put back: its memory is ours.
  static Overwritten scratch(T* at, index ld, index rows, index cols, Part part) {
    Overwritten x(at, ld, rows, cols, 1, 1, part);
    x.keeps_ = false;
    return x;
  }

  explicit operator bool() const { return at_ != nullptr; }

  T* at(index row, index col) const {
    if (apart_) return const_cast<T*>(apart_[col / apart_.cols]) + row + col % apart_.cols * ld_;
    return at_ + row + col * ld_;
  }
  /// From here on its columns lie apart; no block goes from one such matrix to the next.
  void scatter(const Scattered<T>& apart) { apart_ = apart; }
  index ld() const { return ld_; }
  Part part() const { return part_; }

  /// All of it, before anything is overwritten: it can be read there whatever happens to the matrix.
  void keep_all() {
    copy_part(part_, 0, memory_.at(), rows_, at_, ld_, rows_, cols_, sizeof(T), copy_block);
    all_kept_ = true;
  }
  const T* kept(index row, index col) const { return room(row, col); }
  index kept_ld() const { return kept_rows_; }

  /// The download of a block from the device.
  /// @param stays  once it is there, whatever fails: nothing needs to be kept
  Transfer transfer(const Block& b, const T* from, index ldf, bool stays) {
    return {.device = const_cast<T*>(from),
            .ldd = ldf,
            .host = at(b.row, b.col),
            .ldh = ld_,
            .rows = b.rows,
            .cols = b.cols,
            .element = sizeof(T),
            .part = part_,
            .below = b.row - b.col,
            .keep = all_kept_ || stays || !keeps_ ? nullptr : room(b.row, b.col),
            .ldk = kept_rows_};
  }

  /// After a failure, for each block that has been overwritten.
  void restore(const Block& b) {
    if (!keeps_) return;
    copy_part(part_, b.row - b.col, at(b.row, b.col), ld_, kept(b.row, b.col), kept_rows_, b.rows, b.cols, sizeof(T),
              copy_block);
  }

 private:
  T* room(index row, index col) const {
    return reinterpret_cast<T*>(memory_.at()) + (row - first_row_) % kept_rows_ +
           (col - first_col_) % kept_cols_ * kept_rows_;
  }

  T* at_ = nullptr;
  Scattered<T> apart_{};
  index ld_ = 0, rows_ = 0, cols_ = 0, first_row_ = 0, first_col_ = 0, kept_rows_ = 1, kept_cols_ = 1;
  Part part_ = Part::whole;
  OwnMemory memory_;
  bool keeps_ = true, all_kept_ = false;
};

}  // namespace blaslift
