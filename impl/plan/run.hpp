// Runs a plan on a backend's lane: parts of a lease, who waits for whom, transfers in pieces.
#pragma once
#include <algorithm>
#include <atomic>
#include <deque>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

#include "impl/core/blocks.hpp"
#include "impl/core/outcome.hpp"
#include "impl/core/stored.hpp"
#include "impl/plan/gang.hpp"
#include "impl/plan/order.hpp"
#include "impl/plan/overwritten.hpp"
#include "impl/plan/placed.hpp"

namespace blaslift {

/// One run of a plan of a routine that computes in place: it overwrites what it would need for another try, so what the
/// caller's memory held is kept until all of the result is there, and put back after a failure.  A plan's own run is
/// derived from this, and says how each step is asked for.
template <class T>
class PlanRun {
 public:
  /// Asks for the steps one after the other, and waits until all of them have ended; after a failure the caller's
  /// memory is what it was, but for what is final.
  /// @param after  by step: the earlier ones that it waits for
  /// @param ask    Status(std::size_t step)
  /// @param sound  bool(): whether all of it, now that it is there, is the result; otherwise it is taken back
  template <class Ask, class Sound>
  Outcome run(const Order& after, bool (*keep_going)(), const Ask& ask, const Sound& sound) {
    Outcome outcome;
    keep_going_ = keep_going;
    try {
      outcome.status = run_steps(after, keep_going, ask);
    } catch (const std::exception&) {  // no memory for a ticket
      outcome.status = Status::no_memory;
    }
    if (seat_ && outcome.status != Status::done) seat_->gang().fail();
    // Where others have failed, and nothing of this lane's so far, this place is well.
    const std::atomic<bool> landed{true};
    others_failed_ = others_failed_ && lane_.await(landed) == Status::done;
    settle(lane_, outcome);
    if (others_failed_) outcome.status = Status::done;
    outcome.bytes_in = bytes_in_;
    outcome.bytes_out = bytes_out_;
    bool good = outcome.status == Status::done && !others_failed_ && sound();
    if (seat_) good = seat_->agree(good);
    outcome.taken_back = outcome.status == Status::done && !good;
    if (outcome.status != Status::done || outcome.taken_back) put_back();
    return outcome;
  }

  template <class Ask>
  Outcome run(const Order& after, bool (*keep_going)(), const Ask& ask) {
    return run(after, keep_going, ask, [] { return true; });
  }

  /// Before run(): this is one place's part of a call that several compute together.
  void take(Seat* seat) { seat_ = seat; }

  /// After a failure: what of the result is there, and stays.
  std::vector<Block> finished{};

 protected:
  PlanRun(Lane& lane, void* lease, std::size_t piece_bytes)
      : lane_(lane), piece_(static_cast<index>(piece_bytes / sizeof(T))), next_part_(static_cast<char*>(lease)) {}

  /// The lease's next part, rows x cols.
  T* part(index rows, index cols) {
    return reinterpret_cast<T*>(std::exchange(next_part_, next_part_ + leased_bytes(rows, cols, sizeof(T))));
  }

  After after() const { return {tickets_.data(), static_cast<int>(tickets_.size())}; }

  /// What the step asks for next comes after this.
  Status then(Status status) {
    first_ = next_++;
    tickets_.assign(1, first_);
    return status;
  }

  /// What the step asks for next comes after all that it has asked for so far.
  void after_all() {
    for (Ticket ticket = first_; ticket < next_; ++ticket) tickets_.push_back(ticket);
  }

  /// A rows x cols block of the caller's.  Whatever else the step asks for does not wait for it.
  /// @param part, below  as in Transfer
  Status upload(T* to, index ldt, const T* from, index ldf, index rows, index cols, bool direct,
                Part part = Part::whole, index below = 0, bool counts = true) {
    if (counts) bytes_in_ += elements_in(part, {below, 0, rows, cols}) * sizeof(T);
    ++next_;
    Transfer t{to, ldt, const_cast<T*>(from), ldf, rows, cols, sizeof(T), direct, part, below};
    t.stays = stays_;
    return lane_.upload(t, after());
  }

  /// A block of a result.
  /// @param stays  each piece of it, once it is there
  Status download(Overwritten<T>& to, const Block& block, const T* from, index ldf, bool counts = true,
                  bool stays = false) {
    for (const Block& p : pieces(block, piece_)) {
      if (!meets(to.part(), p)) continue;
      if (counts) bytes_out_ += elements_in(to.part(), p) * sizeof(T);
      ++next_;
      const Transfer transfer = to.transfer(p, from + (p.row - block.row) + (p.col - block.col) * ldf, ldf, stays);
      Landing& landing = landings_.emplace_back(&to, p, stays);
      if (finished.capacity() < landings_.size()) finished.reserve(2 * landings_.size());  // later nothing may throw
      if (const Status status = lane_.download(transfer, after(), landing.landed); status != Status::done)
        return status;
    }
    return Status::done;
  }
  /// Once what the step comes after has been computed, other places may copy these parts of a piece: nothing else is
  /// written there before the run has ended, or all others are known to have copied it.
  Status share(int piece, std::vector<OnDevice> parts) {
    void* mark = nullptr;
    ++next_;
    if (const Status status = lane_.share(after(), mark); status != Status::done) return status;
    for (OnDevice& part : parts) part.mark = mark;
    seat_->gang().publish(piece, std::move(parts));
    return Status::done;
  }
  /// A piece that another place computes; null, and why in `status`, if it will not be there.
  const std::vector<OnDevice>* shared(int piece, Status& status) {
    const auto* parts = seat_->gang().await(piece, keep_going_);
    others_failed_ = !parts && seat_->gang().failed();
    status = parts ? Status::done : Status::lost;
    return parts;
  }
  /// Copies a part of such a piece, m x n, to this device.
  Status copy_shared(const OnDevice& from, T* to, index ldt, index m, index n) {
    ++next_;
    return lane_.copy_shared(
        from, {.device = to, .ldd = ldt, .host = nullptr, .ldh = 0, .rows = m, .cols = n, .element = sizeof(T)},
        after());
  }

  /// Downloads that have been asked for.
  std::size_t downloads() const { return landings_.size(); }
  /// Waits until those before number `end` have landed: the host's memory may be read.
  Status await_downloads(std::size_t end) {
    for (; awaited_ < end; ++awaited_)
      if (const Status status = lane_.await(landings_[awaited_].landed); status != Status::done) return status;
    return Status::done;
  }

  /// What has been downloaded since the last group ended is one: of a part of the result that no other one needs, so
  /// that it is final once all of it is there.
  void end_group() { groups_.push_back(downloads()); }
  /// Waits until all of a group is there: what was kept of it is not needed any more.
  Status await_group(std::size_t group) { return await_downloads(groups_[group]); }

  Status multiply(std::int8_t stream, Op opx, Op opy, index m, index n, index k, const T& alpha, const T* X, index ldx,
                  const T* Y, index ldy, const T& beta, T* Z, index ldz) {
    return then(lane_.ask(Gemm{.precision = precision_of<T>,
                               .transa = opx,
                               .transb = opy,
                               .m = m,
                               .n = n,
                               .k = k,
                               .alpha = &alpha,
                               .A = X,
                               .lda = ldx,
                               .B = Y,
                               .ldb = ldy,
                               .beta = &beta,
                               .C = Z,
                               .ldc = ldz,
                               .stream = stream},
                          after()));
  }

  /// What of a block of the caller's is not on the device yet.
  /// @param at    T*(index row, index col): its place there
  /// @param part  of the caller's matrix: of a triangle the other one is not read
  template <class At>
  Status bring(const Placed& x, const Block& block, const At& at, index ldt, const T* from, index ldf,
               Part part = Part::whole, bool counts = true) {
    const auto send = [&](const Block& b) {
      const bool all = contains(part, b);
      if (!all && !meets(part, b)) return Status::done;
      return upload(at(b.row, b.col), ldt, from + b.row + b.col * ldf, ldf, b.rows, b.cols, all && x.direct,
                    all ? Part::whole : part, b.row - b.col, counts);
    };
    if (!x.device) return send(block);
    for (const Block& b : x.missing)
      if (overlap(b, block))
        if (const Status status = send(intersection(b, block)); status != Status::done) return status;
    return Status::done;
  }

  Lane& lane_;
  const index piece_;
  bool stays_ = false;  ///< what the step brings, as Transfer has it
  const T zero_{0}, one_{1}, minus_one_{-1};

 private:
  void put_back() {
    std::size_t begin = 0;
    const auto landed = [this](std::size_t i) { return landings_[i].landed.load(std::memory_order_acquire); };
    const auto put_back_until = [&](std::size_t end, bool all_stay) {
      for (; begin < end; ++begin) {
        if (!landed(begin)) continue;
        const Landing& x = landings_[begin];
        if (all_stay || x.stays)
          finished.push_back(x.block);
        else
          x.in->restore(x.block);
      }
    };
    for (const std::size_t end : groups_) {
      std::size_t there = begin;
      while (there < end && landed(there)) ++there;
      put_back_until(end, there == end);
    }
    put_back_until(landings_.size(), false);
  }

  template <class Ask>
  Status run_steps(const Order& after, bool (*keep_going)(), const Ask& ask) {
    spans_.resize(after.size());
    for (std::size_t i = 0; i < after.size(); ++i) {
      if (!keep_going()) return Status::lost;
      tickets_.clear();
      for (const std::int32_t e : after[i])
        for (Ticket t = spans_[static_cast<std::size_t>(e)].first; t < spans_[static_cast<std::size_t>(e)].end; ++t)
          tickets_.push_back(t);
      first_ = next_;
      if (const Status status = ask(i); status != Status::done) return status;
      spans_[i] = {first_, next_};
    }
    return Status::done;
  }

  struct Span {
    Ticket first = 0, end = 0;
  };
  struct Landing {
    Landing(Overwritten<T>* to, const Block& b, bool final) : in(to), block(b), stays(final) {}
    Overwritten<T>* in;
    Block block;
    bool stays;                       ///< whatever fails: it is final by itself
    std::atomic<bool> landed{false};  ///< and what was there has been kept, if need be
  };

  char* next_part_;
  Seat* seat_ = nullptr;
  bool (*keep_going_)() = nullptr;
  bool others_failed_ = false;
  double bytes_in_ = 0, bytes_out_ = 0;
  Ticket next_ = 0;
  Ticket first_ = 0;           ///< of what the present step has asked for: those behind it wait for this and later ones
  std::vector<Span> spans_{};  ///< by step
  std::vector<Ticket> tickets_{};  ///< what comes next waits for these
  std::deque<Landing> landings_{};
  std::size_t awaited_ = 0;            ///< of these
  std::vector<std::size_t> groups_{};  ///< where each ends
};

}  // namespace blaslift
