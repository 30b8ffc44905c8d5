// Memory that the processes of a grid share for a call, if all are on one node: the root makes it, the others open it
// by the root's process.  They wait for each other asleep, so that the root has the processors meanwhile.  Memory that
// the kernel has just given takes as long to touch as a call may take, so a little of it is kept for the next call.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "impl/scalapack/grid.hpp"

namespace blaslift::scalapack {

/// A number of the running system that this process is on, the same for all of its processes and not for those of other
/// nodes, as good as surely.  Not negative.
std::int32_t node_number();

class Meeting {
 public:
  enum Outcome : std::uint32_t { open, computed, declined };

  /// The root's: makes the memory, or takes what was kept.  False: there is none to be had.
  /// @param touched  so many of its bytes, from the first on, are there for sure
  bool make(const Grid& grid, std::size_t bytes, std::size_t touched);
  static constexpr int invitation_words = 6;
  /// What others find the root's memory by.
  void invite(std::int32_t* words) const;
  /// Another process's.  False: the root is on another node, or this process may not look into it.
  bool join(const Grid& grid, const std::int32_t* words, std::size_t bytes);
  /// The end of a call, for this process: lets go of the memory, unless the root has said that it is kept.
  void part();
  /// Lets go of it in any case.  The memory is free when all have.
  void leave();

  /// Bytes of memory that this process holds.
  std::size_t held() const { return mapped_; }
  /// The shared bytes, on a page of their own.
  char* at(std::size_t offset) const { return data_ + offset; }

  /// This process has gathered its part.
  void arrive();
  /// The root's: waits until all have.  False: one of them is dead.
  bool wait_for_all() const;
  /// The root's: what came of the call, to all who wait for it; and whether they keep the memory.
  void end(Outcome outcome, bool keep);
  /// Waits for that.  `open`: the root is dead.
  Outcome wait_for_end() const;

 private:
  struct Header;
  bool map(int file, std::size_t bytes);
  /// That begins a call.
  void set_up(const Grid& grid);

  Header* header_ = nullptr;
  char* data_ = nullptr;
  std::size_t mapped_ = 0;
  bool present_ = false;  ///< counted among those who may look at the memory
  int file_ = -1;         ///< the root's
  int rank_ = 0, size_ = 0;
};

}  // namespace blaslift::scalapack
