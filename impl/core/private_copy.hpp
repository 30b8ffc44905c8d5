// Private copies of a call's operands: laid out as in the program's memory, with canaries wherever the call has no
// business.
#pragma once
#include "impl/core/stored.hpp"

namespace blaslift {

/// An operand's storage in memory of our own: the same leading dimension, the same place in a page.  What is not part
/// of the operand (rows between `rows` and `ld`, the other triangle, margins at either end) holds canaries, which are
/// NaN in every precision; of gaps larger than a page only the ends do.
class PrivateCopy {
 public:
  PrivateCopy() = default;
  ~PrivateCopy();
  PrivateCopy(const PrivateCopy&) = delete;
  PrivateCopy& operator=(const PrivateCopy&) = delete;

  /// False: there is no memory for it.
  /// @param from  contents, stored like `like`; null: canaries there, too
  bool make(const Stored& like, const void* from);

  void* at() const { return at_; }
  explicit operator bool() const { return at_ != nullptr; }

  /// Whether the canaries around the operand are as they were.
  bool intact() const;

  /// Whether the operand's elements are those of `other`, stored alike.
  /// @param real  bytes of a real number: numbers that are both NaN count as the same; 0: bit by bit
  bool same(const void* other, std::size_t real) const;

  /// Bytes of address space that one takes, and about the memory.
  static std::size_t bytes(const Stored& like);

 private:
  Stored like_{};
  char *mapping_ = nullptr, *at_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace blaslift
