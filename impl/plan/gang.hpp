// Places that compute one call together: each has parts of the result, and needs pieces that others compute.
//
// A piece stays in its owner's device memory, where the others read it.  Pieces are numbered in the order in which they
// can be computed one by one, and each needs none but earlier ones.  Why nobody waits for ever: whoever waits for a
// piece has seen all of its own land that it was asked for before, so others have what they need for theirs; and who
// fails says so, or is missed by leave().
//
// What the places make of the caller's memory counts once all have come to their end: each keeps what it has
// overwritten until then, and puts it back unless all are well.
#pragma once
#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <vector>

#include "kernels/types.hpp"

namespace blaslift {

class Gang {
 public:
  /// A part of a piece, on its owner's device.
  struct Shared {
    const void* at;
    index ld;
  };
  using Flags = std::vector<const std::atomic<bool>*>;

  explicit Gang(int places) : places_(places) {}

  int places() const { return places_; }

  /// A piece is on its way: it is there, for good, once all of these are true.  They live until agree().  Throws
  /// std::bad_alloc.
  void publish(int piece, std::vector<Shared> parts, Flags there);

  /// Waits until the piece is there.
  /// @param keep_going  asked now and then; false ends the waiting
  /// @return its parts; null: a place has failed, so that it may never be
  const std::vector<Shared>* await(int piece, bool (*keep_going)());

  /// A place will not come to its end.
  void fail();
  bool failed() const { return failed_.load(std::memory_order_acquire); }

  /// A place has come to its end, and reads nothing of others any more: waits for the others.
  /// @return whether all are well
  bool agree(bool well);
  /// A place that has not agreed never will.
  void leave() { arrive(false); }

 private:
  struct Piece {
    std::vector<Shared> parts{};
    Flags there{};
  };
  void arrive(bool well);

  const int places_;
  std::map<int, Piece> pieces_{};  ///< that have been published, by number
  std::mutex mutex_;
  std::condition_variable changed_;
  int arrived_ = 0;
  std::atomic<bool> failed_{false};
};

/// A place's part in a gang.  Who leaves without having agreed is missed by nobody.
class Seat {
 public:
  Seat(Gang& gang, int number) : gang_(gang), number_(number) {}
  ~Seat() {
    if (!agreed_) gang_.leave();
  }
  Seat(const Seat&) = delete;
  Seat& operator=(const Seat&) = delete;

  Gang& gang() const { return gang_; }
  int number() const { return number_; }
  int places() const { return gang_.places(); }
  bool agree(bool well) {
    agreed_ = true;
    return gang_.agree(well);
  }

 private:
  Gang& gang_;
  const int number_;
  bool agreed_ = false;
};

/// Pieces are dealt out in turns.
constexpr int owner_of(index piece, int places) { return static_cast<int>(piece % places); }

}  // namespace blaslift
