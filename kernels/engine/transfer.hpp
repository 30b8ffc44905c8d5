// The transfer engine: threads of its own copy between the program's memory and a few slots that the device can
// reach, while the device moves other slots to and fro.  Backends derive their lanes from EngineLane and say how
// their device moves a slot.
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <utility>
#include <vector>

#include "kernels/backend.hpp"
#include "kernels/crowd.hpp"

namespace blaslift {

enum class Direction : std::uint8_t { in, out };

/// A piece of memory that the device reaches at full speed, with the backend's own mark for "its copy has ended".
struct Slot {
  void* memory = nullptr;
  void* mark = nullptr;
};

class EngineLane;

/// A block cut into parts of about the same size: of whole columns, or each within one column.
struct Parts {
  index rows = 0, cols = 0;    ///< of all but the last ones
  index down = 0, across = 0;  ///< how many
  index count() const { return down * across; }
};

/// Two teams of threads, one a direction, started by the first transfer, which take pieces in the order in which they
/// were asked for, over all lanes.  Never destroyed: its threads may be waiting when the process exits.
///
/// On the way in all threads fill the same slot, each a share at a time, and then the one that was sent longest ago: a
/// copy costs the bus some microseconds beside its bytes, so copies must be large, while all slots together must fit
/// into the processor's caches, or the bus would read what has gone to memory and come back.  What is very large goes
/// through two neighbours at once; less had better pass through more slots.  A thread that loses its
/// processor holds up the slot it fills, and no other.  On the way out each thread owns some slots.  What a download is
/// to keep of the host's memory is copied by a thread on the way in while nothing is to be sent, or else by the one
/// that has the result.
///
/// Why it cannot hang: a piece waits only for slots that earlier pieces have, or for its thread's own earlier copies,
/// for operations asked for before it, or for a copy within the host's memory that has begun; these are all taken
/// before it, by teams that never wait for later ones.  What nobody has begun to keep when its download ends is
/// withdrawn, so that no call waits for time that others do not leave.
class Engine {
 public:
  /// While the processor empties one, the device fills the other.
  static constexpr int slots_out = 2;
  static constexpr int most_slots_in = 32;

  /// What the backend does for the engine's threads.
  struct Hooks {
    void* context;
    bool (*start)(void* context);  ///< on each new thread: makes the device usable there
    /// So many slots side by side, of `bytes` each; all or none.
    bool (*make)(void* context, Slot* slots, int count, std::size_t bytes);
    void (*idle)(void* context);  ///< nothing has moved for a while; on a thread of the engine's
  };

  struct Sizes {
    std::size_t in, out;                         ///< of a slot
    int slots_in = 4;                            ///< at least 1, at most most_slots_in
    std::size_t share = std::size_t{512} << 10;  ///< of a slot, filled by one thread
    std::size_t first = std::size_t{256} << 10;  ///< piece, where the bus waits for it; then twice that, and so on
  };
  /// As many as there are cores for: one that has to wait for a core holds up a slot, and with it the bus.
  struct Threads {
    int in, out;
    int spare = 0;  ///< of those on the way out: rest while something is on the way in
  };

  /// @param idle_after  seconds without a transfer after which `idle` is called, once
  Engine(const Sizes& sizes, Threads threads, const Hooks& hooks, double idle_after = 10);

  const Sizes& sizes() const { return sizes_; }

  /// Starts all threads, once; they make their slots as they need them.  False if not all of them are to be had: for a
  /// second nobody tries again.
  bool start();

  struct Job {
    EngineLane* lane;
    Ticket ticket;
    Transfer piece;
  };
  void push(Direction direction, std::vector<Job>&& jobs);
  /// A download: what it overwrites is to be kept as soon as there is time.
  void push_keeping(const Job& job);
  /// False if it has been taken, or was never pushed.
  bool withdraw_keeping(const Job& job);

  /// No piece is waiting to be sent.
  bool quiet();

  /// A slot, of the size of those on the way out, for a lane's own use until it is given back; false if none can be
  /// had.
  bool borrow(Slot& slot);
  void give_back(const Slot& slot);

 private:
  struct Team {
    std::mutex mutex;
    std::condition_variable changed, changed_for_spare;
    std::deque<Job> jobs;
  };
  /// A slot on the way in, and the piece that goes through it, or through it and the next.
  struct Filling {
    Slot slot;
    Slot* sent_with = nullptr;  ///< its mark says when the device has read what was in the slot before
    Filling* neighbour = nullptr;
    Job job{};
    Parts shares;
    index taken = 0;                   ///< of the shares; under the team's mutex
    std::atomic<index> unfilled{0};    ///< shares
    std::atomic<bool> settled{false};  ///< the device has read what was in it before

    void begin(const Job& next, std::size_t share);
    void await_settled() const;
  };
  void send_all(bool watches);
  bool can_send() const;
  bool can_keep() const;
  void end_sending();
  void receive_all(bool spare);
  template <class There>
  void await_job(Team& team, std::unique_lock<std::mutex>& lock, bool watches, There there);
  Filling& begin_piece(Team& team);
  Filling* take_sent(Filling* filling);
  bool have(Filling& filling);
  bool have(Slot& slot, std::size_t bytes) { return slot.memory || hooks_.make(hooks_.context, &slot, 1, bytes); }

  const Sizes sizes_;
  const Threads threads_;
  const Hooks hooks_;
  const std::chrono::duration<double> idle_after_;
  std::atomic<bool> used_{false};  ///< since it was last idle
  std::mutex starting_;
  int started_ = 0;                                ///< threads
  std::chrono::steady_clock::time_point again_{};  ///< no thread could be had: not before this
  Team teams_[2];
  // Under the mutex of the team that sends.
  std::deque<Job> to_keep_;
  Filling slots_in_[most_slots_in];
  Filling* filling_ = nullptr;             ///< by all threads, as long as there are shares to take
  std::vector<Filling*> sent_;             ///< in the order in which they were sent
  std::mutex making_;                      ///< slots on the way in
  std::atomic<std::ptrdiff_t> unsent_{0};  ///< pieces on the way in
  std::mutex lending_;
  std::vector<Slot> lent_before_;
};

/// Below this, on a device with hardly any memory, everything goes the way of large transfers.
inline constexpr std::size_t least_own_slot = std::size_t{1} << 10;

/// A lane whose transfers go through the engine.  Operations are started by several threads, each only after everything
/// it comes after has been started, so that a device with queues in order needs nothing but marks to wait for.
class EngineLane : public Lane {
 public:
  /// @param lanes  that serve calls now, this one among them
  EngineLane(Engine& engine, std::size_t bytes, int lanes = 1) : engine_(engine) { serve_next(bytes, lanes); }

  // No exception leaves these: the module has an unwinder of its own.
  Status upload(const Transfer& transfer, After after) final;
  Status ask(const Operation& operation, After after) final;
  Status download(const Transfer& transfer, After after, std::atomic<bool>& landed) final;
  bool started(Ticket upload) final;
  Status await(const std::atomic<bool>& landed) final;
  void abandon() final { fail(Status::lost); }
  Status drain() final;
  TransferTimes transfer_times() final;

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
  }

  enum class Queue : std::uint8_t { in, out, compute, second };
  static constexpr int queues = 4;

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
  /// Until nothing is under way in the queue, whatever has failed.
  virtual Status idle(Queue queue) = 0;

 private:
  friend class Engine;

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
  std::vector<Engine::Job> cut(const Transfer& transfer) const;
  template <class Ask>
  Status unless_failed_ask(Ask ask);
  Status ask_upload(const Transfer& transfer, After after);
  Status ask_download(const Transfer& transfer, After after, std::atomic<bool>& landed);
  Status ask_compute(const Operation& operation, After after);
  Status hand_over(Direction direction, std::vector<Engine::Job>&& jobs, After after, std::atomic<bool>* landed);
  void hand_over_keeping(const Engine::Job& job);
  bool withdraw_keeping(const Engine::Job& job);
  bool await_started(const std::vector<Ticket>& after);
  bool await_kept(Ticket ticket);
  void fail(Status status);
  Status status();
  /// One piece, from an engine's thread or the caller's: uploads in three steps, the second once or once a share,
  /// downloads in two.
  void await_slot(Slot& slot);
  void note_another_piece(Ticket ticket);
  void fill(const Slot& slot, const Transfer& piece, const Parts& shares, index share);
  bool send_piece(const Engine::Job& job, Slot& slot);
  void keep_piece(const Engine::Job& job);
  bool start_receiving(const Engine::Job& job, Slot& slot);
  void end_receiving(const Engine::Job& job, Slot& slot, bool started);
  template <class Step>
  bool unless_failed(Step step);
  void end_piece();
  static void note_first(std::atomic<std::uint64_t>& time);
  static void note_last(std::atomic<std::uint64_t>& time);
  Status begin(Queue queue, Ticket ticket);
  Status mark_once(Ticket ticket);
  void piece_started(Queue queue, Ticket ticket);

  Engine& engine_;
  std::mutex mutex_, queues_[queues], marking_;
  std::condition_variable changed_;
  std::deque<Asked> operations_;  ///< by ticket; grows while others read
  bool used_[queues] = {};        ///< since the last drain
  int jobs_ = 0;                  ///< with the engine
  bool by_caller_ = false;        ///< the caller's thread makes the transfers itself,
  bool little_ = false;           ///< what it moves
  Own own_[2];                    ///< with these in turn: the device moves one while the caller fills or empties
  int turn_ = 1;                  ///< the other
  std::atomic<std::uint64_t> in_begin_{0}, in_end_{0}, out_begin_{0}, out_end_{0};  ///< TransferTimes
  Status status_ = Status::done;
};

}  // namespace blaslift
