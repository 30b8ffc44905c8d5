#include "kernels/engine/lane.hpp"

#include <algorithm>
#include <ctime>
#include <exception>
#include <utility>

#include "kernels/copy.hpp"
#include "kernels/engine/exchange.hpp"
#include "kernels/part.hpp"

namespace blaslift {

Status EngineLane::status() {
  std::lock_guard lock(mutex_);
  return status_;
}

void EngineLane::fail(Status status) {
  if (status == Status::done) return;
  {
    std::lock_guard lock(mutex_);
    if (status_ == Status::done) status_ = status;
  }
  changed_.notify_all();
}

Ticket EngineLane::note(Queue queue, After after, int pieces, std::atomic<bool>* landed) {
  std::lock_guard lock(mutex_);
  operations_.emplace_back();
  Asked& operation = operations_.back();
  operation.after.assign(after.tickets, after.tickets + after.count);
  operation.queue = queue;
  used_[static_cast<int>(queue)] = true;
  operation.pieces = pieces;
  operation.landed = landed;
  jobs_ += pieces;
  return static_cast<Ticket>(operations_.size()) - 1;
}

/// Until all of these have been started; false if something has failed instead.
bool EngineLane::await_started(const std::vector<Ticket>& after) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] {
    return status_ != Status::done || std::all_of(after.begin(), after.end(), [this](Ticket t) {
             return operations_[static_cast<std::size_t>(t)].started;
           });
  });
  return status_ == Status::done;
}

/// Until the host's memory may be overwritten; false if something has failed instead.
bool EngineLane::await_kept(Ticket ticket) {
  std::unique_lock lock(mutex_);
  const Asked& operation = operations_[static_cast<std::size_t>(ticket)];
  changed_.wait(lock, [&] { return status_ != Status::done || operation.kept; });
  return status_ == Status::done;
}

/// Orders the queue after what the operation comes after, once.
Status EngineLane::begin(Queue queue, Ticket ticket) {
  Asked* operation;
  std::vector<Ticket> elsewhere;  // what its own queue has begun before ends before, anyway
  {
    std::lock_guard lock(mutex_);
    operation = &operations_[static_cast<std::size_t>(ticket)];  // stays where it is while others are added
    Ticket last[queues];
    std::fill_n(last, queues, -1);
    for (const Ticket t : operation->after) {
      const Queue other = operations_[static_cast<std::size_t>(t)].queue;
      if (other == queue && !operations_[static_cast<std::size_t>(t)].exchanged) continue;
      if (other == Queue::compute || other == Queue::second)
        last[static_cast<int>(other)] = std::max(last[static_cast<int>(other)], t);  // these end one after the other
      else
        elsewhere.push_back(t);
    }
    for (const Ticket t : last)
      if (t >= 0) elsewhere.push_back(t);
  }
  if (!await_started(operation->after)) return status();
  for (const Ticket t : elsewhere)
    if (const Status marked = mark_once(t); marked != Status::done) return fail(marked), marked;
  std::lock_guard in_queue(queues_[static_cast<int>(queue)]);
  if (operation->ordered) return Status::done;
  for (const Ticket t : elsewhere)
    if (const Status waited = wait(queue, t); waited != Status::done) return fail(waited), waited;
  operation->ordered = true;
  return Status::done;
}

/// Of one that was said not to be awaited, the end is whatever its queue has been asked for by now.  Several pieces may
/// come after it: whoever returns from here can wait for it.
Status EngineLane::mark_once(Ticket ticket) {
  std::lock_guard one_at_a_time(marking_);
  Asked* operation;
  Queue queue;
  {
    std::lock_guard lock(mutex_);
    operation = &operations_[static_cast<std::size_t>(ticket)];
    queue = operation->queue;
  }
  if (operation->marked) return Status::done;
  const Status status = mark(queue, ticket);
  operation->marked = status == Status::done;
  return status;
}

/// Of an operation whose pieces came by the bus and from other devices.  Nobody waits for it yet.
Status EngineLane::mark_all_pieces(Ticket ticket) {
  const std::scoped_lock in_queues(queues_[static_cast<int>(Queue::in)], queues_[static_cast<int>(Queue::peer)]);
  std::lock_guard one_at_a_time(marking_);
  Status status = mark(Queue::in, ticket);
  if (status == Status::done) status = wait(Queue::peer, ticket);
  if (status == Status::done) status = mark(Queue::peer, ticket);
  std::lock_guard lock(mutex_);
  operations_[static_cast<std::size_t>(ticket)].marked = status == Status::done;
  return status;
}

/// The last piece's start is the operation's.
void EngineLane::piece_started(Queue queue, Ticket ticket) {
  bool copied;
  {
    std::lock_guard lock(mutex_);
    Asked& operation = operations_[static_cast<std::size_t>(ticket)];
    if (--operation.pieces > 0) return;
    copied = operation.copied;
  }
  if (copied) {
    fail(mark_all_pieces(ticket));
  } else {
    std::lock_guard in_queue(queues_[static_cast<int>(queue)]);
    fail(mark_once(ticket));
  }
  {
    std::lock_guard lock(mutex_);
    operations_[static_cast<std::size_t>(ticket)].started = true;
  }
  changed_.notify_all();
}

/// Pieces of whole columns where a slot holds one, else parts of a column; small transfers, too, in several.  Where the
/// bus has nothing to do, the first ones are small, so that it need not wait until a whole slot has been filled.  What
/// is exchanged is cut by its own size alone, so that other lanes have the same pieces.
std::vector<Engine::Job> EngineLane::cut(const Transfer& t, bool exchanged) const {
  constexpr std::size_t least_piece = std::size_t{256} << 10;
  const Engine::Sizes& sizes = engine_.sizes();
  constexpr std::size_t large = 32;  // slots
  const std::size_t total = bytes_of(t);
  // A call alone fills one slot while the device reads the other; in a crowd the bus has others' pieces meanwhile, and
  // fewer ones cost less.
  const std::size_t own = little_ ? std::max(least_piece, total / 4) : total;
  const std::size_t most = by_caller_                  ? std::min({sizes.in, sizes.out, std::max(own, t.element)})
                           : exchanged                 ? std::min(sizes.in, std::max(least_piece, total / 4))
                           : total >= large * sizes.in ? 2 * sizes.in
                                                       : std::min(sizes.in, std::max(least_piece, total / 4));
  std::size_t bytes = !by_caller_ && !exchanged && engine_.quiet() ? std::min(most, sizes.first) : most;
  std::vector<Engine::Job> jobs;
  for (index i = 0, j = 0; j < t.cols;) {
    const auto elements = static_cast<index>(bytes / t.element);
    const index rows = std::min(t.rows - i, elements),
                cols = rows < t.rows ? 1 : std::min(t.cols - j, elements / t.rows);
    jobs.push_back({const_cast<EngineLane*>(this), 0, part(t, i, j, rows, cols), exchanged ? deal_ : 0});
    i = (i + rows) % t.rows;
    if (i == 0) j += cols;
    bytes = std::min(most, 2 * bytes);
  }
  return jobs;
}

Status EngineLane::ask_upload(const Transfer& t, After after) {
  const bool exchanged = deal_ && t.stays && after.count == 0 && !t.direct && !by_caller_;
  std::vector<Engine::Job> jobs = t.direct ? std::vector<Engine::Job>{{this, 0, t}} : cut(t, exchanged);
  if (!by_caller())
    return engine_.start() ? hand_over(Direction::in, std::move(jobs), after, nullptr) : Status::no_memory;
  const Ticket ticket = note(queue_of(Direction::in), after, static_cast<int>(jobs.size()), nullptr);
  for (Engine::Job& job : jobs) {
    job.ticket = ticket;
    Slot& slot = next_own().slot;
    await_slot(slot);
    if (!job.piece.direct) fill(slot, job.piece, parts(job.piece, engine_.sizes().out), 0);
    send_piece(job, slot);
  }
  return status();
}

/// The slot used longest ago, free for the next piece once its copy has ended.
EngineLane::Own& EngineLane::next_own() {
  turn_ ^= 1;
  if (!own_[turn_].slot.memory && !engine_.borrow(own_[turn_].slot)) turn_ ^= 1;
  end_own(own_[turn_]);
  return own_[turn_];
}

void EngineLane::end_own(Own& own) {
  if (std::exchange(own.busy, false)) end_receiving(own.job, own.slot, own.started);
}

void EngineLane::end_all_own() {
  end_own(own_[turn_ ^ 1]);  // the older one first
  end_own(own_[turn_]);
}

Status EngineLane::ask_download(const Transfer& t, After after, std::atomic<bool>& landed) {
  if (!by_caller())
    return engine_.start() ? hand_over(Direction::out, {{this, 0, t}}, after, &landed) : Status::no_memory;
  const Engine::Job job{this, note(queue_of(Direction::out), after, 1, &landed), t};
  Own& own = next_own();
  own.job = job;
  own.started = start_receiving(job, own.slot);
  own.busy = true;
  return status();
}

Status EngineLane::hand_over(Direction direction, std::vector<Engine::Job>&& jobs, After after,
                             std::atomic<bool>* landed) {
  const int pieces = static_cast<int>(jobs.size());
  const Ticket ticket = note(queue_of(direction), after, pieces, landed);
  for (Engine::Job& job : jobs) job.ticket = ticket;
  if (jobs.front().deal) {
    std::lock_guard lock(mutex_);
    operations_[static_cast<std::size_t>(ticket)].exchanged = true;
  }
  try {
    if (direction == Direction::out && jobs.front().piece.keep) hand_over_keeping(jobs.front());
    engine_.push(direction, std::move(jobs));
  } catch (const std::exception&) {  // none of them was taken
    fail(Status::no_memory);
    std::lock_guard lock(mutex_);
    jobs_ -= pieces;
    return Status::no_memory;
  }
  return Status::done;
}

/// If they cannot take it, the thread that has the result keeps what is there.
void EngineLane::hand_over_keeping(const Engine::Job& job) {
  const auto note = [&](bool handed) {
    std::lock_guard lock(mutex_);
    operations_[static_cast<std::size_t>(job.ticket)].kept_by_another = handed;
    jobs_ += handed ? 1 : -1;
  };
  note(true);
  try {
    engine_.push_keeping(job);
  } catch (const std::exception&) {
    note(false);
  }
}

Status EngineLane::ask_compute(const Operation& operation, After after) {
  const Queue queue = operation.stream == 0 ? Queue::compute : Queue::second;
  const Ticket ticket = note(queue, after, 0, nullptr);
  Status status = after.count > 0 ? begin(queue, ticket) : Status::done;
  if (status == Status::done) status = compute(queue, operation);
  if (status == Status::done && operation.awaited) status = mark_once(ticket);
  if (status != Status::done) return fail(status), status;
  std::lock_guard lock(mutex_);
  operations_[static_cast<std::size_t>(ticket)].started = true;
  changed_.notify_all();
  return Status::done;
}

/// In the queue of what is between this device and others.
template <class Start>
Status EngineLane::ask_peer(After after, const Start& start) {
  const Ticket ticket = note(Queue::peer, after, 0, nullptr);
  Status status = begin(Queue::peer, ticket);
  if (status == Status::done) {
    std::lock_guard in_queue(queues_[static_cast<int>(Queue::peer)]);
    status = start();
    if (status == Status::done) status = mark_once(ticket);
  }
  if (status != Status::done) return fail(status), status;
  std::lock_guard lock(mutex_);
  operations_[static_cast<std::size_t>(ticket)].started = true;
  changed_.notify_all();
  return Status::done;
}

/// What the operations have in common: none after a failure, and a failure to ask fails the lane.
template <class Ask>
Status EngineLane::unless_failed_ask(Ask ask) {
  if (const Status failed = status(); failed != Status::done) return failed;
  Status asked = Status::no_memory;
  try {
    asked = ask();
  } catch (const std::exception&) {
  }
  fail(asked);
  return asked;
}

Status EngineLane::upload(const Transfer& t, After after) {
  return unless_failed_ask([&] { return ask_upload(t, after); });
}

Status EngineLane::ask(const Operation& operation, After after) {
  return unless_failed_ask([&] { return ask_compute(operation, after); });
}

Status EngineLane::download(const Transfer& t, After after, std::atomic<bool>& landed) {
  return unless_failed_ask([&] { return ask_download(t, after, landed); });
}

Status EngineLane::share(After after, void*& mark) {
  if (!has_peers()) return Status::no_memory;
  return unless_failed_ask([&] { return ask_peer(after, [&] { return note_there(Queue::peer, mark); }); });
}

/// The other device may be lost, and this one need not be: then only the call fails.
Status EngineLane::copy_shared(const OnDevice& from, const Transfer& to, After after) {
  if (!has_peers()) return Status::no_memory;
  const Status status = unless_failed_ask([&] {
    return ask_peer(after,
                    [&] { return fetch(Queue::peer, from, to) == Status::done ? Status::done : Status::no_memory; });
  });
  if (status == Status::done)
    exchanged_.fetch_add(static_cast<std::uint64_t>(to.rows * to.cols) * to.element, std::memory_order_relaxed);
  return status;
}

void EngineLane::join(std::uint64_t deal) {
  if (!has_peers()) return;
  try {
    (void)Exchange::of_process();  // made here: the engine's threads must not run out of memory for it
    deal_ = deal;
  } catch (const std::exception&) {  // every lane sends for itself
  }
}

bool EngineLane::started(Ticket upload) {
  std::lock_guard lock(mutex_);
  return operations_[static_cast<std::size_t>(upload)].started;
}

Status EngineLane::await(const std::atomic<bool>& landed) {
  if (by_caller_) end_all_own();
  std::unique_lock lock(mutex_);
  // Whatever lands ends a piece afterwards, which tells everyone who waits.
  changed_.wait(lock, [&] { return status_ != Status::done || landed.load(std::memory_order_acquire); });
  return status_;
}

Status EngineLane::drain() {
  end_all_own();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return jobs_ == 0; });
  for (int queue = 0; queue < queues; ++queue) {
    if (!std::exchange(used_[queue], false)) continue;
    lock.unlock();
    fail(idle(static_cast<Queue>(queue)));
    lock.lock();
  }
  if (std::exchange(deal_, 0)) {
    lock.unlock();
    // A device that is lost does not read.
    for (const auto& [reader, mark] : Exchange::of_process().leave(this))
      if (mark) (void)settle_there(mark);
    lock.lock();
  }
  if (!operations_.empty()) operations_.clear();
  for (Own& own : own_)
    if (own.slot.memory) engine_.give_back(std::exchange(own.slot, Slot{}));
  return std::exchange(status_, Status::done);
}

/// False if something has failed, now or before.
template <class Step>
bool EngineLane::unless_failed(Step step) {
  Status now = status();
  if (now != Status::done) return false;
  try {
    now = step();
  } catch (const std::exception&) {
    now = Status::no_memory;
  }
  fail(now);
  return now == Status::done;
}

namespace {
std::uint64_t monotonic_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1000000000u + static_cast<std::uint64_t>(t.tv_nsec);
}
}  // namespace

void EngineLane::note_first(std::atomic<std::uint64_t>& time) {
  std::uint64_t none = time.load(std::memory_order_relaxed);
  if (none == 0) time.compare_exchange_strong(none, monotonic_ns(), std::memory_order_relaxed);
}

void EngineLane::note_last(std::atomic<std::uint64_t>& time) {
  const std::uint64_t now = monotonic_ns();
  for (std::uint64_t before = time.load(std::memory_order_relaxed);
       before < now && !time.compare_exchange_weak(before, now, std::memory_order_relaxed);) {
  }
}

TransferTimes EngineLane::transfer_times() {
  const auto take = [](std::atomic<std::uint64_t>& time) {  // nothing moves now
    const std::uint64_t taken = time.load(std::memory_order_relaxed);
    if (taken != 0) time.store(0, std::memory_order_relaxed);
    return taken;
  };
  return {take(in_begin_), take(in_end_), take(out_begin_), take(out_end_)};
}

void EngineLane::end_piece() {
  std::lock_guard lock(mutex_);
  --jobs_;
  changed_.notify_all();  // under the lock: the lane may be gone as soon as it is free
}

void EngineLane::note_another_piece(Ticket ticket) {
  std::lock_guard lock(mutex_);
  ++operations_[static_cast<std::size_t>(ticket)].pieces;
  ++jobs_;
}

void EngineLane::await_slot(Slot& slot) {
  unless_failed([&] { return settle(slot); });
}

void EngineLane::fill(const Slot& slot, const Transfer& piece, const Parts& shares, index share) {
  unless_failed([&] {
    note_first(in_begin_);
    const index row = share % shares.down * shares.rows, col = share / shares.down * shares.cols;
    const Transfer p =
        part(piece, row, col, std::min(shares.rows, piece.rows - row), std::min(shares.cols, piece.cols - col));
    char* to = static_cast<char*>(slot.memory) + static_cast<std::size_t>(row + col * piece.rows) * p.element;
    copy_part(p.part, p.below, to, piece.rows, p.host, p.ldh, p.rows, p.cols, p.element, copy_block);
    return Status::done;
  });
}

/// Whether the device was asked to read the slot.
bool EngineLane::send_piece(const Engine::Job& job, Slot& slot) {
  const Transfer& p = job.piece;
  bool asked = false, told = false;
  unless_failed([&] {
    const Queue queue = queue_of(Direction::in);
    if (const Status begun = begin(queue, job.ticket); begun != Status::done) return begun;
    note_first(in_begin_);  // of what is not packed
    OnDevice there{p.device, p.ldd};
    {
      std::lock_guard in_queue(queues_[static_cast<int>(queue)]);
      if (const Status sent = send(queue, slot, p); sent != Status::done) return sent;
      asked = true;
      if (job.deal)
        if (const Status noted = note_there(queue, there.mark); noted != Status::done) return noted;
    }
    note_last(in_end_);
    if (job.deal) {
      Exchange::of_process().sent(job, there);
      told = true;
    }
    piece_started(queue, job.ticket);
    return Status::done;
  });
  if (job.deal && !told) Exchange::of_process().not_sent(job);
  end_piece();
  return asked;
}

Turn EngineLane::claim(const Engine::Job& job, bool may_send, OnDevice& from) {
  return Exchange::of_process().claim(this, engine_, job, may_send, from);
}

bool EngineLane::is_elsewhere(const Engine::Job& job) { return Exchange::of_process().is_elsewhere(this, job); }

/// Whatever comes of it, the lane that has the piece learns of it, in the order of the marks.
Status EngineLane::start_copy(const Engine::Job& job, const OnDevice& from) {
  std::lock_guard in_queue(queues_[static_cast<int>(Queue::peer)]);
  void* mark = nullptr;
  Status started = status();
  if (started == Status::done) try {
      {
        std::lock_guard lock(mutex_);
        used_[static_cast<int>(Queue::peer)] = true;
      }
      started = fetch(Queue::peer, from, job.piece);
      if (started == Status::done) started = note_there(Queue::peer, mark);
    } catch (const std::exception&) {
      started = Status::no_memory;
    }
  if (started != Status::done) (void)idle(Queue::peer), mark = nullptr;  // nobody could wait for what has begun
  Exchange::of_process().copied(from, this, mark);
  return started;
}

namespace {
std::uint64_t bytes_that_count(const Transfer& p) {
  index elements = 0;
  for (index j = 0; j < p.cols; ++j) elements += rows_in(p.part, p.below - j, p.rows).count;
  return static_cast<std::uint64_t>(elements) * p.element;
}
}  // namespace

void EngineLane::copy_piece(const Engine::Job& job, const OnDevice& from) {
  note_first(in_begin_);
  if (start_copy(job, from) != Status::done) {  // the other device may be lost: the piece is sent like any other
    Engine::Job alone = job;
    alone.deal = 0;
    return engine_.push_again(alone);
  }
  unless_failed([&] {
    note_last(in_end_);
    exchanged_.fetch_add(bytes_that_count(job.piece), std::memory_order_relaxed);
    {
      std::lock_guard lock(mutex_);
      operations_[static_cast<std::size_t>(job.ticket)].copied = true;
    }
    piece_started(Queue::peer, job.ticket);
    return Status::done;
  });
  end_piece();
}

void EngineLane::drop_piece() {
  fail(Status::no_memory);
  end_piece();
}

namespace {
void keep(const Transfer& p) {
  copy_part(p.part, p.below, p.keep, p.ldk, p.host, p.ldh, p.rows, p.cols, p.element, stream_block);
}
}  // namespace

void EngineLane::keep_piece(const Engine::Job& job) {
  unless_failed([&] {
    keep(job.piece);
    std::lock_guard lock(mutex_);
    operations_[static_cast<std::size_t>(job.ticket)].kept = true;
    return Status::done;
  });
  end_piece();  // which tells who waits for that
}

/// False if another thread has begun to keep what the download overwrites.
bool EngineLane::withdraw_keeping(const Engine::Job& job) {
  {
    std::lock_guard lock(mutex_);
    if (!operations_[static_cast<std::size_t>(job.ticket)].kept_by_another) return true;
  }
  if (!engine_.withdraw_keeping(job)) return false;
  end_piece();
  return true;
}

bool EngineLane::start_receiving(const Engine::Job& job, Slot& slot) {
  return unless_failed([&] {
    // The caller's own slot may still be on its way to the device.
    if (const Status settled = settle(slot); settled != Status::done) return settled;
    const Queue queue = queue_of(Direction::out);
    if (const Status begun = begin(queue, job.ticket); begun != Status::done) return begun;
    {
      std::lock_guard in_queue(queues_[static_cast<int>(queue)]);
      if (const Status received = receive(queue, slot, job.piece); received != Status::done) return received;
    }
    piece_started(queue, job.ticket);
    return Status::done;
  });
}

void EngineLane::end_receiving(const Engine::Job& job, Slot& slot, bool started) {
  const Transfer& p = job.piece;
  if (started)
    unless_failed([&] {
      if (const Status settled = settle(slot); settled != Status::done) return settled;
      note_first(out_begin_);
      return Status::done;
    });
  const bool by_another = p.keep && !withdraw_keeping(job);  // after a failure, too: nobody is to wait for it
  if (started)
    unless_failed([&] {
      if (!p.direct) {
        if (p.keep && !by_another) keep(p);
        if (by_another && !await_kept(job.ticket)) return Status::lost;
        const auto copy = little_ ? copy_block : stream_block;  // what is small may well be used soon
        copy_part(p.part, p.below, p.host, p.ldh, slot.memory, p.rows, p.rows, p.cols, p.element, copy);
      }
      note_last(out_end_);
      std::atomic<bool>* landed;
      {
        std::lock_guard lock(mutex_);
        landed = operations_[static_cast<std::size_t>(job.ticket)].landed;
      }
      landed->store(true, std::memory_order_release);
      return Status::done;
    });
  end_piece();
}

}  // namespace blaslift
