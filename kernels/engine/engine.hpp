// The transfer engine: threads of its own copy between the program's memory and a few slots that the device can
// reach, while the device moves other slots to and fro.
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <vector>

#include "kernels/engine/pieces.hpp"

namespace blaslift {

enum class Direction : std::uint8_t { in, out };

/// What becomes of a piece that another device may bring, or have.
enum class Turn : std::uint8_t {
  alone,  ///< it is sent as any other piece
  send,   ///< it is sent, and then others may have it
  copy,   ///< from where it is
  wait,   ///< it has been taken, and comes back (Engine::push_again)
  later   ///< it would be sent, and may not be
};

/// A piece of memory that the device reaches at full speed, with the backend's own mark for "its copy has ended".
struct Slot {
  void* memory = nullptr;
  void* mark = nullptr;
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

  class Client;
  struct Job {
    Client* client;
    Ticket ticket;
    Transfer piece;
    std::uint64_t deal = 0;  ///< in which the piece may be exchanged (Exchange), or 0
  };

  /// Whose pieces these are, asked by the engine's threads or its own: uploads in three steps, the second once or once
  /// a share, downloads in two.
  class Client {
   public:
    /// Nothing of the client's that has not begun ever will.
    virtual void fail(Status status) = 0;
    /// A piece has become two.
    virtual void note_another_piece(Ticket ticket) = 0;
    /// Of a piece that may be exchanged.
    /// @param may_send  there is a slot
    virtual Turn claim(const Job& job, bool may_send, OnDevice& from) = 0;
    /// Whether another device brings it, or has it.
    virtual bool is_elsewhere(const Job& job) = 0;
    /// As it has been claimed.
    virtual void copy_piece(const Job& job, const OnDevice& from) = 0;
    /// There is no memory to go on with one.
    virtual void drop_piece() = 0;
    virtual void await_slot(Slot& slot) = 0;
    virtual void fill(const Slot& slot, const Transfer& piece, const Parts& shares, index share) = 0;
    /// Whether the device was asked to read the slot.
    virtual bool send_piece(const Job& job, Slot& slot) = 0;
    virtual void keep_piece(const Job& job) = 0;
    virtual bool start_receiving(const Job& job, Slot& slot) = 0;
    virtual void end_receiving(const Job& job, Slot& slot, bool started) = 0;

   protected:
    ~Client() = default;
  };

  void push(Direction direction, std::vector<Job>&& jobs);
  /// A piece on the way in that was taken out of turn.
  void push_again(const Job& job);
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
  Turn take_turn(Team& team, OnDevice& there);
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

}  // namespace blaslift
