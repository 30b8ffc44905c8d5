// Places that compute one call together: each has parts of the result, and needs pieces that others compute.
//
// A piece stays in its owner's device memory, where the others read it.  Pieces are numbered in the order in which they
// can be computed one by one, and each needs none but earlier ones.  A piece counts as there once its owner has asked
// for all of it; the devices wait for each other's marks (Lane::share).  Why nobody waits for ever: whoever waits for a
// piece has asked for all of its own before that, so its owner can go on, or fails, which it says or is missed for.
//
// What the places make of the caller's memory counts once all have come to their end: each keeps what it has
// overwritten until then, and puts it back unless all are well.
#pragma once
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "kernels/backend.hpp"

namespace blaslift {

class Gang {
 public:
  /// Throws std::bad_alloc.
  explicit Gang(int places) : places_(places), arrived_(static_cast<std::size_t>(places)), still_there_(places) {}

  int places() const { return places_; }

  /// The parts of a piece, for others to copy until the owner agrees.  Throws std::bad_alloc.
  void publish(int piece, std::vector<OnDevice> parts);

  /// Waits until the piece is there.
  /// @param keep_going  asked now and then; false ends the waiting
  /// @return its parts; null: a place has failed, so that it may never be
  const std::vector<OnDevice>* await(int piece, bool (*keep_going)());

  /// Whether all places that have asked so far go about the call the same way; if not, it fails.
  bool same(std::uint64_t way);

  /// A place will not come to its end.
  void fail();
  bool failed();

  /// A place has come to its end, and reads nothing of others any more: waits for the others.
  /// @return whether all are well
  bool agree(int place, bool well);
  /// A place that has not agreed never will.
  void leave(int place) { arrive(place, false); }

 private:
  void arrive(int place, bool well);

  const int places_;
  std::map<int, std::vector<OnDevice>> pieces_{};  ///< that are there, by number
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<bool> arrived_;  ///< by place
  int still_there_;
  std::optional<std::uint64_t> way_{};
  bool failed_ = false;
};

/// A place's part in a gang.  One that leaves without having agreed fails the others, and is not waited for.
class Seat {
 public:
  Seat(Gang& gang, int number) : gang_(gang), number_(number) {}
  ~Seat() {
    if (!agreed_) gang_.leave(number_);
  }
  Seat(const Seat&) = delete;
  Seat& operator=(const Seat&) = delete;

  Gang& gang() const { return gang_; }
  int number() const { return number_; }
  int places() const { return gang_.places(); }
  bool agree(bool well) {
    agreed_ = true;
    return gang_.agree(number_, well);
  }

 private:
  Gang& gang_;
  const int number_;
  bool agreed_ = false;
};

/// Pieces are dealt out in turns.
constexpr int owner_of(index piece, int places) { return static_cast<int>(piece % places); }

}  // namespace blaslift
