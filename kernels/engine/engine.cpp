#include "kernels/engine/engine.hpp"

#include <emmintrin.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <utility>

#include "kernels/own_thread.hpp"

namespace blaslift {

Engine::Engine(const Sizes& sizes, Threads threads, const Hooks& hooks, double idle_after)
    : sizes_(sizes), threads_(threads), hooks_(hooks), idle_after_(idle_after) {
  for (int i = 0; i < sizes_.slots_in; ++i) sent_.push_back(&slots_in_[i]);
}

bool Engine::start() {
  std::lock_guard lock(starting_);
  const int all = threads_.in + threads_.out;
  if (started_ == all) return true;
  const auto now = std::chrono::steady_clock::now();
  if (now < again_) return false;
  const OwnThreads threads;
  for (; started_ < all; ++started_) {
    const int i = started_;
    const bool in = i < threads_.in, spare = i >= threads_.in + threads_.out - threads_.spare;
    const char* name = in ? "blaslift-in" : "blaslift-out";
    // Those that were started before one cannot be wait meanwhile, harmlessly.
    if (!threads.start(name, [this, in, watches = i == 0, spare] { in ? send_all(watches) : receive_all(spare); })) {
      again_ = now + std::chrono::seconds(1);
      return false;
    }
  }
  return true;
}

void Engine::push(Direction direction, std::vector<Job>&& jobs) {
  used_.store(true, std::memory_order_relaxed);
  Team& team = teams_[static_cast<int>(direction)];
  {
    std::lock_guard lock(team.mutex);
    team.jobs.insert(team.jobs.end(), jobs.begin(), jobs.end());
    if (direction == Direction::in) unsent_.fetch_add(static_cast<std::ptrdiff_t>(jobs.size()));
  }
  // Not one of them: before 2.41 glibc's pthread_cond_signal may wake nobody, now and then (its bug 25847).
  team.changed.notify_all();
  if (direction == Direction::out && unsent_.load() == 0) team.changed_for_spare.notify_all();
}

void Engine::push_again(const Job& job) {
  Team& team = teams_[static_cast<int>(Direction::in)];
  {
    std::lock_guard lock(team.mutex);
    try {
      team.jobs.push_front(job);
      unsent_.fetch_add(1);
    } catch (const std::exception&) {
      job.client->drop_piece();
      return;
    }
  }
  team.changed.notify_all();
}

void Engine::push_keeping(const Job& job) {
  Team& team = teams_[static_cast<int>(Direction::in)];
  {
    std::lock_guard lock(team.mutex);
    to_keep_.push_back(job);
  }
  team.changed.notify_one();  // if that is lost, whoever has the result keeps what is there
}

bool Engine::withdraw_keeping(const Job& job) {
  std::lock_guard lock(teams_[static_cast<int>(Direction::in)].mutex);
  const auto found = std::find_if(to_keep_.begin(), to_keep_.end(),
                                  [&](const Job& x) { return x.client == job.client && x.ticket == job.ticket; });
  if (found == to_keep_.end()) return false;
  to_keep_.erase(found);
  return true;
}

/// One piece fewer on the way in.
void Engine::end_sending() {
  if (unsent_.fetch_sub(1) > 1) return;
  Team& out = teams_[static_cast<int>(Direction::out)];
  { std::lock_guard lock(out.mutex); }  // whoever has looked before waits by now
  out.changed_for_spare.notify_all();
}

bool Engine::quiet() { return unsent_.load() == 0; }

bool Engine::borrow(Slot& slot) {
  used_.store(true, std::memory_order_relaxed);
  {
    std::lock_guard lock(lending_);
    if (!lent_before_.empty()) return slot = lent_before_.back(), lent_before_.pop_back(), true;
  }
  return hooks_.make(hooks_.context, &slot, 1, sizes_.out);
}

void Engine::give_back(const Slot& slot) {
  std::lock_guard lock(lending_);
  try {
    lent_before_.push_back(slot);
  } catch (const std::exception&) {  // one slot fewer
  }
}

template <class There>
void Engine::await_job(Team& team, std::unique_lock<std::mutex>& lock, bool watches, There there) {
  if (!watches) return team.changed.wait(lock, there);
  while (!team.changed.wait_for(lock, idle_after_, there)) {
    if (!used_.exchange(false, std::memory_order_relaxed)) continue;
    // Not the first such wait: what was used lately may be used again.
    if (team.changed.wait_for(lock, idle_after_, there)) return;
    if (used_.load(std::memory_order_relaxed)) continue;
    lock.unlock();
    hooks_.idle(hooks_.context);
    lock.lock();
  }
}

void Engine::Filling::begin(const Job& next, std::size_t share) {
  job = next;
  shares = parts(job.piece, share);
  taken = 0;
  unfilled.store(shares.count(), std::memory_order_relaxed);
  settled.store(false, std::memory_order_relaxed);
}

/// For a while without giving up the processor: as a rule only until the bus has moved one slot.
void Engine::Filling::await_settled() const {
  constexpr int most_pauses = 4096;
  for (int i = 0; i < most_pauses && !settled.load(std::memory_order_acquire); ++i) _mm_pause();
  settled.wait(false, std::memory_order_acquire);
}

bool Engine::can_send() const {
  if (filling_ && filling_->taken < filling_->shares.count()) return true;
  const std::deque<Job>& jobs = teams_[static_cast<int>(Direction::in)].jobs;
  if (jobs.empty()) return false;
  const Job& next = jobs.front();
  return next.piece.direct || !sent_.empty() || (next.deal && next.client->is_elsewhere(next));
}

/// Not while a piece waits for a slot: the next one may be free in a moment.
bool Engine::can_keep() const { return !to_keep_.empty() && teams_[static_cast<int>(Direction::in)].jobs.empty(); }

/// What becomes of the next piece.
Turn Engine::take_turn(Team& team, OnDevice& there) {
  Job& job = team.jobs.front();
  if (!job.deal) return Turn::alone;
  const Turn turn = job.client->claim(job, !sent_.empty(), there);
  if (turn == Turn::alone) job.deal = 0;
  return turn;
}

/// Null if it is in use.
Engine::Filling* Engine::take_sent(Filling* filling) { return std::erase(sent_, filling) ? filling : nullptr; }

/// The next piece, and what it goes through.  A piece for two slots is halved where only one is free.
Engine::Filling& Engine::begin_piece(Team& team) {
  Filling* filling = take_sent(sent_.front());
  Job job = team.jobs.front();
  bool all = true;
  if (bytes_of(job.piece) > sizes_.in) {
    const auto number = filling - slots_in_;
    filling->neighbour = take_sent(&slots_in_[number ^ 1]);
    if (number % 2 == 1 && filling->neighbour) {
      filling = std::exchange(filling->neighbour, nullptr);
      filling->neighbour = &slots_in_[number];
    }
    if (!filling->neighbour) {
      const Transfer whole = job.piece;
      const Parts halves = parts(whole, sizes_.in);
      job.piece = part(whole, 0, 0, halves.rows, halves.cols);
      const bool across = halves.rows == whole.rows;
      const index row = across ? 0 : halves.rows, col = across ? halves.cols : 0;
      team.jobs.front().piece = part(whole, row, col, whole.rows - row, whole.cols - col);
      job.client->note_another_piece(job.ticket);
      unsent_.fetch_add(1);
      all = false;
    }
  }
  if (all) team.jobs.pop_front();
  filling->begin(job, sizes_.share);
  return *filling;
}

/// Neighbours are made together.
bool Engine::have(Filling& filling) {
  std::lock_guard lock(making_);
  if (filling.slot.memory) return true;
  const auto first = (&filling - slots_in_) / 2 * 2;
  const int count = std::min(2, sizes_.slots_in - static_cast<int>(first));
  Slot made[2];
  if (!hooks_.make(hooks_.context, made, count, sizes_.in)) return false;
  for (int i = 0; i < count; ++i) slots_in_[first + i].slot = made[i];
  return true;
}

void Engine::send_all(bool watches) {
  std::optional<bool> usable;  // nothing is touched before there is something to do
  const auto use_for = [&](Client& client) {
    if (!usable) usable = hooks_.start(hooks_.context);
    if (!*usable) client.fail(Status::lost);
  };
  Team& team = teams_[static_cast<int>(Direction::in)];
  for (;;) {
    std::unique_lock lock(team.mutex);
    await_job(team, lock, watches, [this] { return can_send() || can_keep(); });
    if (!can_send()) {
      const Job job = to_keep_.front();
      to_keep_.pop_front();
      lock.unlock();
      use_for(*job.client);
      job.client->keep_piece(job);
      continue;
    }
    if (!filling_ || filling_->taken == filling_->shares.count()) {
      if (team.jobs.front().piece.direct) {  // a copy of any size, which needs no slot
        const Job job = team.jobs.front();
        team.jobs.pop_front();
        lock.unlock();
        use_for(*job.client);
        Slot none;
        job.client->send_piece(job, none);
        end_sending();
        continue;
      }
      OnDevice there;
      if (const Turn turn = take_turn(team, there); turn == Turn::later) {
        continue;
      } else if (turn == Turn::copy || turn == Turn::wait) {
        const Job job = team.jobs.front();
        team.jobs.pop_front();
        lock.unlock();
        if (turn == Turn::copy) {
          use_for(*job.client);
          job.client->copy_piece(job, there);
        }
        end_sending();
        continue;
      }
      filling_ = &begin_piece(team);
    }
    Filling& filling = *filling_;
    const index share = filling.taken++;
    lock.unlock();
    Client& client = *filling.job.client;
    use_for(client);
    if (share == 0) {
      if (!have(filling)) client.fail(Status::no_memory);
      for (const Filling* x : {&filling, filling.neighbour})
        if (x && x->sent_with) client.await_slot(*x->sent_with);
      filling.settled.store(true, std::memory_order_release);
      filling.settled.notify_all();
    } else {
      filling.await_settled();
    }
    client.fill(filling.slot, filling.job.piece, filling.shares, share);
    if (filling.unfilled.fetch_sub(1, std::memory_order_acq_rel) > 1) continue;
    const bool sent = client.send_piece(filling.job, filling.slot);
    end_sending();
    lock.lock();
    for (Filling* x : {&filling, std::exchange(filling.neighbour, nullptr)}) {
      if (!x) continue;
      // Otherwise what went through it before, with whichever slot, may still be on its way.
      if (sent) x->sent_with = &filling.slot;
      sent_.push_back(x);  // there is room: it was in the list before
    }
    const bool more = !team.jobs.empty();
    lock.unlock();
    if (more) team.changed.notify_all();  // they may have waited for the slot
  }
}

/// The device fills one slot while the thread empties another.
void Engine::receive_all(bool spare) {
  std::optional<bool> usable;
  Team& team = teams_[static_cast<int>(Direction::out)];
  struct Receiving {
    Job job{};
    bool started = false;
    Slot slot{};
  } receiving[slots_out];
  for (int first = 0, count = 0;;) {
    std::unique_lock lock(team.mutex);
    const auto may_take = [&] { return !team.jobs.empty() && !(spare && unsent_.load() > 0); };
    if (count == 0) (spare ? team.changed_for_spare : team.changed).wait(lock, may_take);
    // Asked once: what is on the way in changes without this lock.
    if (count == 0 || (count < slots_out && may_take())) {
      Receiving& next = receiving[(first + count++) % slots_out];
      next.job = team.jobs.front();
      team.jobs.pop_front();
      lock.unlock();
      if (!usable) usable = hooks_.start(hooks_.context);
      if (!*usable) next.job.client->fail(Status::lost);
      if (!have(next.slot, sizes_.out)) next.job.client->fail(Status::no_memory);
      next.started = next.job.client->start_receiving(next.job, next.slot);
    } else {
      lock.unlock();
      Receiving& oldest = receiving[first];
      oldest.job.client->end_receiving(oldest.job, oldest.slot, oldest.started);
      first = (first + 1) % slots_out;
      --count;
    }
  }
}

}  // namespace blaslift
