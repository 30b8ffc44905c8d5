// A lane whose transfers the engine makes.  Backends derive theirs from it, and say how their device moves a slot and
// computes.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <vector>

#include "kernels/crowd.hpp"
#include "kernels/engine/engine.hpp"

namespace blaslift {

/// Below this, on a device with hardly any memory, everything goes the way of large transfers.
inline constexpr std::size_t least_own_slot = std::size_t{1} << 10;

/// A lane whose transfers go through the engine.  Operations are started by several threads, each only after everything
/// it comes after has been started, so that a device with queues in order needs nothing but marks to wait for.
class EngineLane : public Lane, private Engine::Client {
 public:
  /// @param lanes  that serve calls now, this one among them
  EngineLane(Engine& engine, std::size_t bytes, int lanes = 1) : engine_(engine) { serve_next(bytes, lanes); }

  // No exception leaves these: the module has an unwinder of its own.
  Status upload(const Transfer& transfer, After after) final;
  Status ask(const Operation& operation, After after) final;
  Status download(const Transfer& transfer, After after, std::atomic<bool>& landed) final;
  Status share(After after, void*& mark) final;
  Status copy_shared(const OnDevice& from, const Transfer& to, After after) final;
  bool started(Ticket upload) final;
  void join(std::uint64_t deal) final;
  Status await(const std::atomic<bool>& landed) final;
  void abandon() final { fail(Status::lost); }
  Status drain() final;
  TransferTimes transfer_times() final;
  std::uint64_t exchanged_bytes() final { return exchanged_.exchange(0, std::memory_order_relaxed); }

 protected:
  ~EngineLane() = default;
  EngineLane(const EngineLane&) = delete;
  EngineLane& operator=(const EngineLane&) = delete;

  /// For a lane that is used again.
  /// @param bytes  what the call will move
  void serve_next(std::size_t bytes, int lanes) {
    by_caller_ = caller_moves(bytes, lanes) && engine_.sizes().out >= least_own_slot;
    little_ = bytes <= little_moves;
    (void)transfer_times();  // of whoever did not ask for them
    (void)exchanged_bytes();
  }

  enum class Queue : std::uint8_t { in, out, compute, second, peer };
  static constexpr int queues = 5;

  // What a backend says, each called by one thread at a time per queue.

  /// What is started in `queue` from now on comes after `other`'s operation `ticket`, which was started before.
  virtual Status wait(Queue queue, Ticket ticket) = 0;
  /// The end of what was started in `queue` is the end of operation `ticket`.
  virtual Status mark(Queue queue, Ticket ticket) = 0;
  virtual Status compute(Queue queue, const Operation& operation) = 0;
  /// Starts the copy of a packed slot to the device and marks the slot, or the copy of the host's memory itself if
  /// direct, where there may be no slot; or the other way round, where there always is one.
  virtual Status send(Queue queue, Slot& slot, const Transfer& piece) = 0;
  virtual Status receive(Queue queue, Slot& slot, const Transfer& piece) = 0;
  /// Until the copy last started with this slot has ended.
  virtual Status settle(Slot& slot) = 0;
  /// Whether its device and others can copy each other's memory.
  virtual bool has_peers() const { return false; }
  /// A mark of the end of what was started in the queue, for other devices to wait for: as it is until the lane is
  /// asked for something after drain(), or released.
  virtual Status note_there(Queue queue, void*& mark) { return (void)queue, mark = nullptr, Status::lost; }
  /// Starts a copy of another device's memory, behind its mark.
  virtual Status fetch(Queue queue, const OnDevice& from, const Transfer& piece) {
    return (void)queue, (void)from, (void)piece, Status::lost;
  }
  /// Until what a lane of another device has noted so has ended.
  virtual Status settle_there(void* mark) { return (void)mark, Status::lost; }
  /// Until nothing is under way in the queue, whatever has failed.
  virtual Status idle(Queue queue) = 0;

 private:
  /// What it has been asked for.
  struct Asked {
    std::vector<Ticket> after;
    std::atomic<bool>* landed = nullptr;
    Queue queue = Queue::in;
    int pieces = 0;        ///< not yet started
    bool ordered = false;  ///< its queue waits for what it comes after
    bool started = false;
    bool marked = false;           ///< others can wait for its end; under marking_
    bool kept_by_another = false;  ///< what it overwrites, by a thread on the way in
    bool kept = false;             ///< by that
    bool exchanged = false;        ///< an upload, pieces of which other devices may have, or want
    bool copied = false;           ///< from one
  };

  Ticket note(Queue queue, After after, int pieces, std::atomic<bool>* landed);
  /// Says for good that it is not where there is no slot: written only before the engine's threads have anything of
  /// this lane's, which read it.
  bool by_caller() {
    if (by_caller_ && !own_[0].slot.memory && !engine_.borrow(own_[0].slot)) by_caller_ = false;
    return by_caller_;
  }
  /// A slot of the caller's own, and the download that is on its way through it.
  struct Own {
    Slot slot{};
    Engine::Job job{};
    bool busy = false, started = false;
  };
  Own& next_own();
  void end_own(Own& own);
  void end_all_own();
  /// What little the caller moves goes where products do: one queue need not wait for another.
  Queue queue_of(Direction direction) const {
    return by_caller_ ? Queue::compute : direction == Direction::in ? Queue::in : Queue::out;
  }
  std::vector<Engine::Job> cut(const Transfer& transfer, bool exchanged) const;
  template <class Ask>
  Status unless_failed_ask(Ask ask);
  Status ask_upload(const Transfer& transfer, After after);
  Status ask_download(const Transfer& transfer, After after, std::atomic<bool>& landed);
  Status ask_compute(const Operation& operation, After after);
  template <class Start>
  Status ask_peer(After after, const Start& start);
  Status hand_over(Direction direction, std::vector<Engine::Job>&& jobs, After after, std::atomic<bool>* landed);
  void hand_over_keeping(const Engine::Job& job);
  bool withdraw_keeping(const Engine::Job& job);
  bool await_started(const std::vector<Ticket>& after);
  bool await_kept(Ticket ticket);
  Status status();
  void fail(Status status) final;
  void await_slot(Slot& slot) final;
  void note_another_piece(Ticket ticket) final;
  void fill(const Slot& slot, const Transfer& piece, const Parts& shares, index share) final;
  bool send_piece(const Engine::Job& job, Slot& slot) final;
  Turn claim(const Engine::Job& job, bool may_send, OnDevice& from) final;
  bool is_elsewhere(const Engine::Job& job) final;
  void copy_piece(const Engine::Job& job, const OnDevice& from) final;
  void drop_piece() final;
  void keep_piece(const Engine::Job& job) final;
  bool start_receiving(const Engine::Job& job, Slot& slot) final;
  void end_receiving(const Engine::Job& job, Slot& slot, bool started) final;
  template <class Step>
  bool unless_failed(Step step);
  void end_piece();
  static void note_first(std::atomic<std::uint64_t>& time);
  static void note_last(std::atomic<std::uint64_t>& time);
  Status begin(Queue queue, Ticket ticket);
  Status mark_once(Ticket ticket);
  void piece_started(Queue queue, Ticket ticket);
  Status mark_all_pieces(Ticket ticket);
  Status start_copy(const Engine::Job& job, const OnDevice& from);

  Engine& engine_;
  std::mutex mutex_, queues_[queues], marking_;
  std::condition_variable changed_;
  std::deque<Asked> operations_;  ///< by ticket; grows while others read
  bool used_[queues] = {};        ///< since the last drain
  int jobs_ = 0;                  ///< with the engine
  std::uint64_t deal_ = 0;        ///< that it has joined
  bool by_caller_ = false;        ///< the caller's thread makes the transfers itself,
  bool little_ = false;           ///< what it moves
  Own own_[2];                    ///< with these in turn: the device moves one while the caller fills or empties
  int turn_ = 1;                  ///< the other
  std::atomic<std::uint64_t> in_begin_{0}, in_end_{0}, out_begin_{0}, out_end_{0};  ///< TransferTimes
  std::atomic<std::uint64_t> exchanged_{0};                                         ///< bytes
  Status status_ = Status::done;
};

}  // namespace blaslift
