// Device memory that a call has given back and the next one of the same size takes, without asking the driver: its
// calls take microseconds and a lock that all threads share.
#pragma once
#include <array>
#include <cstddef>
#include <mutex>
#include <utility>

namespace blaslift {

/// Remembers the sizes of pieces that are in use, and keeps a few that are not.  Allocates nothing.
class SpareMemory {
 public:
  static constexpr std::size_t most_pieces = 32;

  /// Larger pieces are worth the driver's time.  Until this is said, none is kept.
  void set_largest(std::size_t bytes) { largest_ = bytes; }

  /// A spare piece of exactly so many bytes; false if there is none.
  bool take(std::size_t bytes, void*& memory) {
    if (bytes > largest_) return false;
    std::lock_guard lock(mutex_);
    for (Piece& piece : pieces_)
      if (piece.spare && piece.bytes == bytes) {
        piece.spare = false;
        memory = piece.memory;
        return true;
      }
    return false;
  }

  /// A new piece, which keep() may keep.  Null, or a spare one that is no longer kept.
  void* note(void* memory, std::size_t bytes) {
    if (bytes > largest_) return nullptr;
    std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < most_pieces; ++i) {
      Piece& piece = pieces_[next_++ % most_pieces];
      if (piece.memory && !piece.spare) continue;
      return std::exchange(piece, {memory, bytes, false}).memory;
    }
    return nullptr;
  }

  /// Of a piece that is no longer used: false if the driver is to have it.
  bool keep(void* memory) {
    std::lock_guard lock(mutex_);
    for (Piece& piece : pieces_)
      if (piece.memory == memory) return piece.spare = true;
    return false;
  }

  /// A spare piece that is no longer kept; false if there is none.
  bool give_up(void*& memory) {
    std::lock_guard lock(mutex_);
    for (Piece& piece : pieces_)
      if (piece.spare) {
        memory = piece.memory;
        piece = {};
        return true;
      }
    return false;
  }

 private:
  struct Piece {
    void* memory = nullptr;
    std::size_t bytes = 0;
    bool spare = false;
  };
  std::mutex mutex_;
  std::array<Piece, most_pieces> pieces_{};
  std::size_t largest_ = 0, next_ = 0;
};

}  // namespace blaslift
