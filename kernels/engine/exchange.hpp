// What several devices of a process need of the program's memory at once: each piece goes over the bus of one of them,
// and from that device to the others.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "kernels/engine/engine.hpp"

namespace blaslift {

/// All engines' of a process.  Lanes that have joined the same deal (Lane::join) bring pieces of the same memory to
/// their devices.  The first one that comes to a piece sends it; others that come to it meanwhile leave it here until
/// it is on its way, and then copy it.  So lanes that go through an operand side by side take turns.
///
/// Why nobody waits for ever: a piece that is sent has a slot and waits for nothing but its bytes and the device.
/// Whatever becomes of it, those who wait for it get their pieces back.  A lane that leaves waits for copies that have
/// begun, behind uploads of its own which have ended.
class Exchange {
 public:
  static Exchange& of_process();

  /// What the lane, whose job it is, has to do about it.  After `send`, sent() or not_sent() must follow; after `copy`,
  /// copied().
  Turn claim(const void* owner, Engine& engine, const Engine::Job& job, bool may_send, OnDevice& from);
  /// Whether claim() would take it without a slot.
  bool is_elsewhere(const void* owner, const Engine::Job& job);
  void sent(const Engine::Job& job, const OnDevice& there);
  void not_sent(const Engine::Job& job);
  /// @param reader  the lane that copies
  /// @param mark    behind the copy, and behind all that it was told of before; null: nothing is copied
  void copied(const OnDevice& from, const void* reader, void* mark);

  using Marks = std::map<const void*, void*>;  ///< by lane that copies, the last one, or null
  /// What the lane has sent is nobody's any more, and it has nothing under way.  When this returns and what is before
  /// these marks has ended, nobody reads its memory.
  Marks leave(const void* lane);

 private:
  struct Key {
    std::uint64_t deal;
    const void* host;
    index ld, rows, cols, below;
    std::size_t element;
    Part part;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct Hash {
    std::size_t operator()(const Key& x) const;
  };
  struct Waiting {
    Engine* engine;
    Engine::Job job;
  };
  struct Entry {
    const void* owner;
    bool sent = false;
    OnDevice there{};
    std::vector<Waiting> waiting{};
  };
  static Key key(const Engine::Job& job);
  static void push_again(std::vector<Waiting>&& jobs);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::unordered_map<Key, Entry, Hash> entries_;
  /// Of a lane: how many copies from its memory are being started, and the marks behind those that have been.
  struct Read {
    int starting = 0;
    Marks marks{};
  };
  std::map<const void*, Read> read_;  ///< by owner
};

}  // namespace blaslift
