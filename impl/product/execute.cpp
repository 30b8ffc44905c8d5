#include "impl/product/execute.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <limits>
#include <numeric>
#include <optional>
#include <span>

namespace blaslift {
namespace {

/// Address in the stored matrix X (ld) of the block of op(X) that starts at (row, col).
template <class T>
const T* stored(const T* x, index ld, Op op, index row, index col) {
  return op == Op::none ? x + row + col * ld : x + col + row * ld;
}

/// What the second product of a rank-2k update is multiplied by.
template <class T>
T exchanged_alpha(const GemmArgs<T>& args) {
  if constexpr (is_complex(precision_of<T>))
    if (as_gemm(args).hermitian()) return std::conj(args.alpha);
  return args.alpha;
}

/// Device memory of one operand: buffers of a lease, or memory for the whole of it.
template <class T>
class OperandMemory {
 public:
  /// @param rows, cols  of a buffer's block of op(X)
  /// @param plain       op(X) is X
  OperandMemory(char* buffers, std::size_t buffer_bytes, index rows, index cols, bool plain)
      : memory_(buffers), bytes_(buffer_bytes), rows_(rows), cols_(cols), ld_(plain ? rows : cols), plain_(plain) {}
  OperandMemory(const DeviceOperand& whole, bool plain)
      : memory_(static_cast<char*>(whole.device)), ld_(whole.ld), plain_(plain) {}

  /// Of an element of op(X), where buffer `number` holds it.
  T* at(int number, index row, index col) const {
    row %= rows_;
    col %= cols_;
    return reinterpret_cast<T*>(memory_ + static_cast<std::size_t>(number) * bytes_) +
           (plain_ ? row + col * ld_ : col + row * ld_);
  }
  /// Of the element that is stored at (row, col).
  T* stored_at(index row, index col) const { return reinterpret_cast<T*>(memory_) + row + col * ld_; }
  index ld() const { return ld_; }
  bool plain() const { return plain_; }
  /// The same memory, which holds the whole operand, whatever buffer is named.
  OperandMemory whole() const {
    OperandMemory memory = *this;
    memory.bytes_ = 0;
    memory.rows_ = memory.cols_ = std::numeric_limits<index>::max();
    return memory;
  }

 private:
  char* memory_;
  std::size_t bytes_ = 0;
  index rows_ = std::numeric_limits<index>::max(), cols_ = std::numeric_limits<index>::max();
  index ld_;
  bool plain_;
};

template <class T>
struct DeviceMemory {
  DeviceMemory(const GemmSchedule& s, const GemmArgs<T>& args, const Placement& placement)
      : DeviceMemory(s.cut, args.transa == Op::none, args.transb == Op::none, placement) {
    own_ = start(placement, s.cut.bytes(sizeof(T)));
    lay_out(s);
  }
  /// For another schedule, where the operands are as a whole in the memory of one before.
  DeviceMemory(const GemmSchedule& s, const DeviceMemory& before)
      : a(before.a.whole()), b(before.b.whole()), c(before.c.whole()), own_(before.own_) {
    lay_out(s);
  }

  OperandMemory<T> a, b, c;
  char *findings = nullptr, *residues = nullptr;

  struct Place {
    T* at;
    index ld;
  };
  Place place(const Region& r) const {
    if (r.area >= first_scratch) {
      const Place& area = scratch_[static_cast<std::size_t>(r.area - first_scratch)];
      return {area.at + r.block.row + r.block.col * area.ld, area.ld};
    }
    const OperandMemory<T>& x = r.area == area_a ? a : r.area == area_b ? b : c;
    return {x.stored_at(r.block.row, r.block.col), x.ld()};
  }

 private:
  DeviceMemory(const Cut& cut, bool a_plain, bool b_plain, const Placement& p)
      : a(cut.whole_a ? OperandMemory<T>(p.a, a_plain)
                      : OperandMemory<T>(start(p, 0), cut.a_bytes(sizeof(T)), cut.mb, cut.kb, a_plain)),
        b(cut.whole_b ? OperandMemory<T>(p.b, b_plain)
                      : OperandMemory<T>(start(p, operands(cut) * cut.a_bytes(sizeof(T))), cut.b_bytes(sizeof(T)),
                                         cut.kb, cut.nb, b_plain)),
        c(cut.whole_c ? OperandMemory<T>(p.c, true)
                      : OperandMemory<T>(start(p, operands(cut) * (cut.a_bytes(sizeof(T)) + cut.b_bytes(sizeof(T)))),
                                         cut.c_bytes(sizeof(T)), cut.mb, cut.nb, true)) {}

  static char* start(const Placement& p, std::size_t offset) { return static_cast<char*>(p.lease) + offset; }
  static std::size_t operands(const Cut& cut) { return static_cast<std::size_t>(cut.operands); }

  void lay_out(const GemmSchedule& s) {
    char* at = own_;
    for (const Extent& area : s.scratch) {
      scratch_.push_back({reinterpret_cast<T*>(at), area.rows});
      at += leased_bytes(area.rows, area.cols, sizeof(T));
    }
    findings = at;
    residues = at + leased_bytes(s.findings(), 1, sizeof(T));
  }

  char* own_ = nullptr;  ///< behind the buffers
  std::vector<Place> scratch_;
};

/// Runs one schedule: asks for its steps in an order that keeps the bus busy.
template <class T>
class Run {
 public:
  Run(const GemmSchedule& s, const GemmArgs<T>& args, const Placement& placement, Lane& lane, const Seen& seen)
      : s_(s),
        args_(args),
        placement_(placement),
        lane_(lane),
        on_device_(s, args, placement),
        seen_(seen),
        asked_(s.steps.size()) {
    found_.resize(static_cast<std::size_t>(s.findings()));
    if (!s.surveyed) return;
    for (std::size_t i = 0; i < s.steps.size(); ++i)
      if (s.steps[i].kind == StepKind::findings) findings_.push_back(i);
    for (Mark& mark : marks_) mark.found.resize(static_cast<std::size_t>(in_k()));
  }

  /// The same product by another schedule, instead of the rest of a refused one, which must stay until the lane has
  /// been drained.
  Run(const GemmSchedule& s, const Run& refused)
      : s_(s),
        args_(refused.args_),
        placement_(refused.placement_),
        lane_(refused.lane_),
        on_device_(s, refused.on_device_),
        asked_(s.steps.size()),
        next_ticket_(refused.next_ticket_) {
    instead_.emplace();
    for (int stream = 0; stream < streams; ++stream)
      if (refused.last_[stream] != not_asked) instead_->behind.push_back(refused.last_[stream]);
    for (const Mark& mark : refused.marks_)
      if (mark.ticket != not_asked) instead_->behind.push_back(mark.ticket);
    for (const std::size_t i : refused.findings_)
      if (refused.asked_[i].ticket != not_asked) instead_->behind.push_back(refused.asked_[i].ticket);
    refused.leave(*instead_);
    refused.leave_products(s, asked_);
    bytes_in_ = refused.bytes_in_;
  }

  Status steps(bool (*keep_going)()) {
    const std::vector<std::size_t> uploads = order_of_arrival(s_);
    if (s_.surveyed) surveys_ = as_they_arrive(uploads);
    auto next_upload = uploads.begin();
    for (std::size_t i = 0; i < s_.steps.size(); ++i) {
      if (i == s_.first_if_sound && !decided())
        if (const Status status = await_findings(); status != Status::done) return status;
      if (refused()) return Status::done;
      // Asking for a product waits until its operands are on their way, so ask first for all uploads that can follow.
      for (; next_upload != uploads.end(); ++next_upload) {
        if (asked_[*next_upload].ticket != not_asked) continue;
        if (!all_asked(*next_upload)) break;
        if (!keep_going()) return Status::lost;
        if (const Status status = ask(*next_upload); status != Status::done) return status;
      }
      if (!decided())
        if (const Status status = look_ahead(keep_going); status != Status::done) return status;
      if (asked_[i].ticket != not_asked) continue;
      if (!keep_going()) return Status::lost;
      if (!decided() && computes(s_.steps[i])) {
        if (const Status status = keep_pace(); status != Status::done) return status;
        if (refused()) return Status::done;
      }
      if (const Status status = ask(i); status != Status::done) return status;
    }
    return decided() ? Status::done : await_findings();
  }

  /// The same for a schedule that replaces another, whose operands arrive in another order than its own: first what can
  /// begin.
  Status steps_as_they_can(bool (*keep_going)()) {
    if (const Status status = restore_c(); status != Status::done) return status;
    std::vector<std::size_t> rest(s_.steps.size());
    std::iota(rest.begin(), rest.end(), std::size_t{0});
    std::erase_if(rest, [this](std::size_t i) { return asked_[i].ticket != not_asked; });
    while (!rest.empty()) {
      auto next = rest.end();
      for (auto x = rest.begin(); x != rest.end(); ++x) {
        if (!all_asked(*x)) continue;
        if (next == rest.end()) next = x;
        if (!can_begin(*x)) continue;
        next = x;
        break;
      }
      if (!keep_going()) return Status::lost;
      if (const Status status = ask(*next); status != Status::done) return status;
      rest.erase(next);
    }
    return Status::done;
  }

  /// What A and B are like, as far as it is known.
  Verdict verdict() const { return verdict_.value_or(Verdict::sound); }
  bool refused() const { return verdict() != Verdict::sound; }

  void account(ProductOutcome& outcome) const {
    outcome.bytes_in = bytes_in_;
    outcome.by_residues = by_residues_;
    outcome.declined = declined_;
    for (std::size_t i = 0; i < s_.steps.size(); ++i) {
      const Step& step = s_.steps[i];
      outcome.committed[i] = step.kind == StepKind::download && asked_[i].landed.load(std::memory_order_acquire);
      if (outcome.committed[i]) outcome.bytes_out += elements_in(s_.cut.part, step.block) * sizeof(T);
    }
  }

 private:
  using Real = decltype(std::abs(T{}));
  static constexpr Ticket not_asked = -1;
  static constexpr int streams = 2;

  /// A step that the lane has been asked for, or not yet.
  struct Asked {
    Ticket ticket = not_asked;  ///< of an upload by a schedule that replaces another: any
    std::atomic<bool> landed{false};
  };

  /// An upload by this schedule or the one before.
  struct Upload {
    Block block;
    Ticket ticket;
  };
  /// Of a schedule that replaces another.
  struct Instead {
    std::vector<Ticket> behind{};      ///< the last that it asked for in each queue, by which its memory is in use
    Missing missing[3]{};              ///< of each operand, what is not there, and not on its way
    std::vector<Upload> uploads[3]{};  ///< what is on its way, or has been
  };

  /// How far the device has come, with the largest magnitudes that it has met: what is asked for a while before the
  /// findings are known.
  struct Mark {
    Ticket ticket = not_asked;
    std::atomic<bool> landed{false};
    std::vector<Real> found{};  ///< by A's columns, and B's rows if it has any
  };

  static bool computes(const Step& step) {
    return step.kind == StepKind::leaf || step.kind == StepKind::multiply || step.kind == StepKind::pass;
  }
  bool decided() const { return !s_.surveyed || verdict_; }
  bool has_b() const { return s_.cut.own_b(); }
  index in_k() const { return has_b() ? 2 * s_.k : s_.k; }

  double multiplications(const Step& step) const {
    if (step.kind == StepKind::multiply)
      return static_cast<double>(step.block.rows) * static_cast<double>(step.block.cols) * static_cast<double>(step.kb);
    if (step.kind != StepKind::leaf) return 0;
    const Leaf& leaf = s_.leaves[static_cast<std::size_t>(step.number)];
    return static_cast<double>(leaf.target.block.rows) * static_cast<double>(leaf.target.block.cols) *
           static_cast<double>(s_.depth_of(leaf));
  }

  /// Surveys of what arrives, in that order.
  std::vector<std::size_t> as_they_arrive(const std::vector<std::size_t>& uploads) const {
    std::vector<std::size_t> place(s_.steps.size());  // of an upload, from 1
    for (std::size_t i = 0; i < uploads.size(); ++i) place[uploads[i]] = i + 1;
    std::vector<std::size_t> surveys;
    for (std::size_t i = 0; i < s_.steps.size(); ++i) {
      if (s_.steps[i].kind != StepKind::survey) continue;
      for (const std::int32_t earlier : s_.after[i])
        if (s_.steps[static_cast<std::size_t>(earlier)].kind <= StepKind::upload_b)
          place[i] = std::max(place[i], place[static_cast<std::size_t>(earlier)]);
      if (place[i] > 0) surveys.push_back(i);
    }
    std::stable_sort(surveys.begin(), surveys.end(), [&](std::size_t x, std::size_t y) { return place[x] < place[y]; });
    return surveys;
  }

  /// Asks for surveys of what has arrived, before their turn: they take no time beside products, and the sooner they
  /// have seen all, the less is computed that may be for nothing.  What was there before the call is surveyed in turn.
  Status look_ahead(bool (*keep_going)()) {
    for (; next_survey_ < surveys_.size(); ++next_survey_) {
      const std::size_t i = surveys_[next_survey_];
      if (asked_[i].ticket != not_asked) continue;
      if (!all_asked(i) || !on_the_way(s_.after[i])) return Status::done;
      if (!keep_going()) return Status::lost;
      if (const Status status = ask(i); status != Status::done) return status;
    }
    for (const std::size_t i : findings_) {
      if (asked_[i].ticket != not_asked || !all_asked(i)) continue;
      if (!keep_going()) return Status::lost;
      if (const Status status = ask(i); status != Status::done) return status;
    }
    return Status::done;
  }

  bool all_findings(bool landed) const {
    return std::all_of(findings_.begin(), findings_.end(), [&](std::size_t i) {
      return landed ? asked_[i].landed.load(std::memory_order_acquire) : asked_[i].ticket != not_asked;
    });
  }

  bool on_the_way(const std::vector<std::int32_t>& steps) const {
    return std::all_of(steps.begin(), steps.end(), [this](std::int32_t x) {
      const auto at = static_cast<std::size_t>(x);
      return s_.steps[at].kind > StepKind::upload_c || lane_.started(asked_[at].ticket);
    });
  }

  /// Waits until the device has come so far that more may be asked for, and looks at what has been found by then.
  Status keep_pace() {
    if (all_findings(true)) return await_findings();
    while (ahead_ >= s_.unjudged) {
      if (all_findings(false)) return await_findings();  // which end before products that were asked for earlier
      Mark& mark = marks_[turn_];
      if (mark.ticket != not_asked) {
        if (const Status status = lane_.await(mark.landed); status != Status::done) return status;
        look_at(mark);
        if (refused()) return Status::done;
      }
      if (const Status status = set(mark); status != Status::done) return status;
      turn_ = (turn_ + 1) % marks;
      ahead_ = 0;
    }
    return Status::done;
  }

  /// After what was last asked for in either stream, and the mark before: the lane's threads may start downloads in
  /// another order, and surveys come after the last mark only.
  Status set(Mark& mark) {
    std::vector<Ticket> tickets;
    for (const Ticket t : {last_[0], last_[1], begun_, last_mark_})
      if (t != not_asked) tickets.push_back(t);
    Transfer transfer = of_findings({s_.m * s_.slices(), 0, in_k(), 1});
    transfer.host = mark.found.data();
    transfer.ldh = in_k();
    mark.landed.store(false, std::memory_order_relaxed);
    const Status status = lane_.download(transfer, {tickets.data(), static_cast<int>(tickets.size())}, mark.landed);
    if (status == Status::done) last_mark_ = mark.ticket = next_ticket_++;
    return status;
  }

  void look_at(const Mark& mark) {
    const std::span all(mark.found);
    const auto k = static_cast<std::size_t>(s_.k);
    Seen seen = seen_;
    const bool a = note_largest<Real>(all.first(k), seen.largest_a),
               b = note_largest<Real>(has_b() ? all.subspan(k) : all, seen.largest_b);
    seen.finite = seen.finite && a && b;
    // The same, relative to more.
    if (seen.finite && seen_.largest_a > 0 && seen_.largest_b > 0)
      seen.scale *= seen_.largest_a / seen.largest_a * (seen_.largest_b / seen.largest_b);
    const Verdict early = judge_early<Real>(seen, static_cast<double>(s_.k), s_.depth,
                                            static_cast<double>(std::abs(args_.alpha)), s_.reads_c);
    if (early != Verdict::sound) verdict_ = early;
  }

  /// What one that replaces this one finds.
  void leave(Instead& rest) const {
    const Resident* residents[] = {&s_.residents.a, &s_.residents.b, &s_.residents.c};
    const Block whole[] = {{0, 0, s_.m, s_.k}, {0, 0, s_.k, s_.n}, {0, 0, s_.m, s_.n}};
    for (const Area x : {area_a, area_b, area_c}) {
      if (x == area_c && !s_.reads_c) continue;
      rest.missing[x].blocks = residents[x]->whole ? residents[x]->missing : std::vector<Block>{whole[x]};
    }
    for (std::size_t i = 0; i < s_.steps.size(); ++i) {
      const Step& step = s_.steps[i];
      if (step.kind > StepKind::upload_c || asked_[i].ticket == not_asked) continue;
      const auto x = static_cast<std::size_t>(step.kind);
      (void)rest.missing[x].take(step.block);
      rest.uploads[x].push_back({step.block, asked_[i].ticket});
    }
    // What has been computed over is not there any more.
    std::vector<Region> read, written;
    for (std::size_t i = 0; i < s_.steps.size(); ++i) {
      const Step& step = s_.steps[i];
      if (!computes(step) || asked_[i].ticket == not_asked) continue;
      written.clear();
      touched(s_, step, read, written);
      if (step.kind == StepKind::multiply && !step.apart) written.push_back({area_c, step.block});
      for (const Region& r : written) {
        if (r.area > area_c || residents[r.area]->in_place || (r.area == area_c && !s_.reads_c)) continue;
        const Block block = s_.as_operand(r);
        (void)rest.missing[r.area].take(block);
        rest.missing[r.area].blocks.push_back(block);
      }
    }
  }

  /// Products that one that replaces this one has, too, and whose results are in C, or will be.
  void leave_products(const GemmSchedule& instead, std::vector<Asked>& asked) const {
    if (s_.reads_c) return;  // what C held comes again
    struct Written {
      std::size_t step;
      Block block;
    };
    std::vector<Written> last;
    std::vector<Region> read, written;
    for (std::size_t i = 0; i < s_.steps.size(); ++i) {
      const Step& step = s_.steps[i];
      if (!computes(step) || asked_[i].ticket == not_asked) continue;
      written.clear();
      touched(s_, step, read, written);
      if (step.kind == StepKind::multiply && !step.apart) written.push_back({area_c, step.block});
      for (const Region& r : written)
        if (r.area == area_c) last.push_back({i, r.block});
    }
    for (std::size_t i = 0; i < instead.steps.size(); ++i) {
      const Step& wanted = instead.steps[i];
      if (wanted.kind != StepKind::multiply || !wanted.first || wanted.apart) continue;
      for (auto done = last.begin(); done != last.end(); ++done) {
        const Step& step = s_.steps[done->step];
        if (step.kind != StepKind::multiply || !(step.block == wanted.block) || step.k0 != wanted.k0 ||
            step.kb != wanted.kb || !step.first)
          continue;
        if (std::none_of(done + 1, last.end(), [&](const Written& x) { return overlap(x.block, wanted.block); }))
          asked[i].ticket = asked_[done->step].ticket;
      }
    }
  }

  Verdict judge() const {
    if (!s_.surveyed) return Verdict::sound;
    const std::span all(found_);
    const auto slices = static_cast<std::size_t>(s_.slices()), k = static_cast<std::size_t>(s_.k),
               rows = static_cast<std::size_t>(s_.m) * slices;
    Findings<Real> findings{.a_rows = all.subspan(0, rows),
                            .a_cols = all.subspan(rows, k),
                            .slices = slices,
                            .group = static_cast<std::size_t>(s_.slice)};
    findings.b_rows = has_b() ? all.subspan(rows + k, k) : findings.a_cols;
    findings.b_cols = has_b() ? all.subspan(rows + 2 * k) : findings.a_rows;
    return blaslift::judge(findings, s_.depth, static_cast<double>(std::abs(args_.alpha)), s_.reads_c);
  }

  bool all_asked(std::size_t step) const {
    return std::all_of(s_.after[step].begin(), s_.after[step].end(),
                       [this](std::int32_t x) { return asked_[static_cast<std::size_t>(x)].ticket != not_asked; });
  }

  /// While the device goes on with what it has been asked for.
  Status await_findings() {
    for (const std::size_t i : findings_)
      if (const Status status = lane_.await(asked_[i].landed); status != Status::done) return status;
    verdict_ = judge();
    return Status::done;
  }

  /// What the lane has to come after for what these steps do.
  std::vector<Ticket> tickets_of(const std::vector<std::int32_t>& steps) const {
    std::vector<Ticket> tickets;
    if (instead_) tickets = instead_->behind;
    for (const std::int32_t earlier : steps) {
      const Step& step = s_.steps[static_cast<std::size_t>(earlier)];
      if (!instead_ || step.kind > StepKind::upload_c) {
        tickets.push_back(asked_[static_cast<std::size_t>(earlier)].ticket);
        continue;
      }
      for (const Upload& upload : instead_->uploads[static_cast<std::size_t>(step.kind)])
        if (overlap(upload.block, step.block)) tickets.push_back(upload.ticket);
    }
    return tickets;
  }

  /// Whether asking for it would not wait: transfers are handed over at once.
  bool can_begin(std::size_t i) const {
    if (!computes(s_.steps[i])) return true;
    for (const std::int32_t earlier : s_.after[i]) {
      const Step& step = s_.steps[static_cast<std::size_t>(earlier)];
      if (step.kind > StepKind::upload_c) continue;
      for (const Upload& upload : instead_->uploads[static_cast<std::size_t>(step.kind)])
        if (overlap(upload.block, step.block) && !lane_.started(upload.ticket)) return false;
    }
    return true;
  }

  Status upload(const Step& step, const Block& x, const After& after, bool stays = false) {
    const StepKind kind = step.kind;
    Transfer t = kind == StepKind::upload_a
                     ? transfer(on_device_.a, step.a, stored(args_.A, args_.lda, args_.transa, x.row, x.col), args_.lda,
                                x, placement_.a.direct)
                 : kind == StepKind::upload_b
                     ? transfer(on_device_.b, step.b, stored(args_.B, args_.ldb, args_.transb, x.row, x.col), args_.ldb,
                                x, placement_.b.direct)
                     : of_c(step.c, x);
    t.stays = stays;
    const Status status = lane_.upload(t, after);
    if (status == Status::done)
      bytes_in_ += elements_in(kind == StepKind::upload_c ? s_.cut.part : Part::whole, x) * sizeof(T);
    return status;
  }

  /// What of an upload's block is not there yet.
  Status upload_rest(const Step& step, const std::vector<Ticket>& after) {
    const auto operand = static_cast<std::size_t>(step.kind);
    std::vector<Upload>& uploads = instead_->uploads[operand];
    for (const Block& x : instead_->missing[operand].take(step.block)) {
      if (step.kind == StepKind::upload_c && !meets(s_.cut.part, x)) continue;
      std::vector<Ticket> tickets = after;
      for (const Upload& before : uploads)
        if (overlap(before.block, x)) tickets.push_back(before.ticket);
      if (const Status status = upload(step, x, {tickets.data(), static_cast<int>(tickets.size())});
          status != Status::done)
        return status;
      uploads.push_back({x, next_ticket_++});
    }
    return Status::done;
  }

  /// Of a C that was there before the call, what has been computed over.
  Status restore_c() {
    Missing rest = instead_->missing[area_c];
    for (const Step& step : s_.steps)
      if (step.kind == StepKind::upload_c) (void)rest.take(step.block);
    for (const Block& x : rest.blocks)
      if (const Status status = upload_rest({.kind = StepKind::upload_c, .block = x}, instead_->behind);
          status != Status::done)
        return status;
    return Status::done;
  }

  Status ask(std::size_t i) {
    const Step& step = s_.steps[i];
    const Block& x = step.block;
    std::vector<Ticket> tickets = tickets_of(s_.after[i]);
    // A mark reads what surveys write.
    if (step.kind == StepKind::survey && last_mark_ != not_asked) tickets.push_back(last_mark_);
    if (instead_ && step.kind <= StepKind::upload_c) {
      asked_[i].ticket = 0;
      return upload_rest(step, tickets);
    }
    if (instead_ && step.kind == StepKind::multiply && !step.apart)
      for (const Upload& c : instead_->uploads[area_c])
        if (overlap(c.block, x)) tickets.push_back(c.ticket);
    const After after{tickets.data(), static_cast<int>(tickets.size())};
    Status status = Status::done;
    switch (step.kind) {
      case StepKind::upload_a:
      case StepKind::upload_b:
      case StepKind::upload_c:
        status = upload(step, x, after, !placement_.staying.empty() && placement_.staying[i]);
        break;
      case StepKind::multiply: {
        const Block of_a = s_.of_a(step), of_b = s_.of_b(step);
        const typename DeviceMemory<T>::Place a{on_device_.a.at(step.a, of_a.row, of_a.col), on_device_.a.ld()},
            b = s_.from_a(x)
                    ? typename DeviceMemory<T>::Place{on_device_.a.at(step.a, of_b.col, of_b.row), a.ld}
                    : typename DeviceMemory<T>::Place{on_device_.b.at(step.b, of_b.row, of_b.col), on_device_.b.ld()},
            &left = step.exchanged ? b : a, &right = step.exchanged ? a : b;
        const auto to = step.apart
                            ? on_device_.place({first_scratch, x})
                            : typename DeviceMemory<T>::Place{on_device_.c.at(step.c, x.row, x.col), on_device_.c.ld()};
        const Gemm product{.precision = precision_of<T>,
                           .transa = args_.transa,
                           .transb = args_.transb,
                           .m = x.rows,
                           .n = x.cols,
                           .k = step.kb,
                           .alpha = step.exchanged ? &alpha_exchanged_ : &args_.alpha,
                           .A = left.at,
                           .lda = left.ld,
                           .B = right.at,
                           .ldb = right.ld,
                           .beta = step.apart   ? &zero_
                                   : step.first ? &args_.beta
                                                : &one_,
                           .C = to.at,
                           .ldc = to.ld,
                           .stream = step.stream,
                           .awaited = s_.awaited[i],
                           .part = s_.part_of(x),
                           .update = s_.cut.update};
        status = s_.residues ? by_residues(product, step, after) : lane_.ask(product, after);
        break;
      }
      case StepKind::leaf:
        status = leaf(s_.leaves[static_cast<std::size_t>(step.number)], step.stream, s_.awaited[i], after);
        break;
      case StepKind::pass:
        status = pass(s_.passes[static_cast<std::size_t>(step.number)], step.stream, s_.awaited[i], after);
        break;
      case StepKind::begin: status = lane_.upload(of_findings(x), after); break;
      case StepKind::survey:
        status = survey(static_cast<Area>(step.number), x, step.stream, s_.awaited[i], after);
        break;
      case StepKind::findings: status = lane_.download(of_findings(x), after, asked_[i].landed); break;
      case StepKind::download: status = lane_.download(of_c(step.c, x), after, asked_[i].landed); break;
    }
    if (status != Status::done) return status;
    const Ticket ticket = asked_[i].ticket = next_ticket_++;
    if (step.kind == StepKind::begin) begun_ = ticket;
    if (computes(step) || step.kind == StepKind::survey) last_[step.stream] = ticket;
    if (computes(step)) ahead_ += multiplications(step);
    return status;
  }

  Status by_residues(const Gemm& product, const Step& step, After after) {
    const Block& x = step.block;
    const GemmSchedule::ResidueBytes bytes = s_.residue_bytes();
    char* const at = on_device_.residues;
    bool declined = false;
    GemmByResidues p{product};
    p.split_a = {at, s_.m};
    p.split_b = {at + bytes.a, s_.n};
    p.first_a = x.row;
    p.first_b = x.col;
    p.make_a = step.makes_a;
    p.make_b = step.makes_b;
    p.kept = x.rows < s_.m || x.cols < s_.n;
    p.sums = at + bytes.a + bytes.b;
    p.sums_bytes = bytes.sums;
    p.declined = &declined;
    const Status status = lane_.ask(p, after);
    ++by_residues_;
    declined_ += declined;
    return status;
  }

  Status leaf(const Leaf& x, std::int8_t stream, bool awaited, After after) {
    const T alpha = x.negative ? -args_.alpha : args_.alpha;
    const auto a = on_device_.place(x.x), b = on_device_.place(x.y), c = on_device_.place(x.target);
    const auto e = x.adds ? on_device_.place(x.e) : typename DeviceMemory<T>::Place{nullptr, 0};
    return lane_.ask(Gemm{.precision = precision_of<T>,
                          .transa = args_.transa,
                          .transb = args_.transb,
                          .m = x.target.block.rows,
                          .n = x.target.block.cols,
                          .k = s_.depth_of(x),
                          .alpha = &alpha,
                          .A = a.at,
                          .lda = a.ld,
                          .B = b.at,
                          .ldb = b.ld,
                          .beta = !x.adds    ? &zero_
                                  : x.scaled ? &args_.beta
                                             : &one_,
                          .C = c.at,
                          .ldc = c.ld,
                          .E = e.at,
                          .lde = e.ld,
                          .stream = stream,
                          .awaited = awaited},
                     after);
  }

  Status pass(const Pass& x, std::int8_t stream, bool awaited, After after) {
    Combination p{.precision = precision_of<T>,
                  .rows = x.targets.front().region.block.rows,
                  .cols = x.targets.front().region.block.cols,
                  .sources = static_cast<int>(x.sources.size()),
                  .targets = static_cast<int>(x.targets.size()),
                  .scale = &args_.beta,
                  .stream = stream,
                  .awaited = awaited};
    for (std::size_t i = 0; i < x.sources.size(); ++i) {
      const auto place = on_device_.place(x.sources[i].region);
      p.source[i] = {place.at, place.ld, x.sources[i].scaled};
    }
    for (std::size_t i = 0; i < x.targets.size(); ++i) {
      const auto place = on_device_.place(x.targets[i].region);
      p.target[i] = {place.at, place.ld, {}};
      std::copy(x.targets[i].sign.begin(), x.targets[i].sign.end(), p.target[i].sign);
    }
    return lane_.ask(p, after);
  }

  Status survey(Area area, const Block& x, std::int8_t stream, bool awaited, After after) {
    const bool transposed = area == area_a ? s_.transposed_a : s_.transposed_b;
    const Block block = s_.as_operand({area, x});
    const auto place = on_device_.place({area, block});
    // op(A)'s rows by slices, op(A)'s columns, op(B)'s rows, op(B)'s columns by slices.
    Real* const of_a = reinterpret_cast<Real*>(on_device_.findings);
    Real* const of_b = of_a + s_.m * s_.slices() + s_.k;
    Real *rows, *cols;
    if (area == area_a) {
      rows = of_a + s_.slice_of(x.col) * s_.m + x.row;
      cols = of_a + s_.slices() * s_.m + x.col;
    } else {
      rows = of_b + x.row;
      cols = of_b + s_.k + s_.slice_of(x.row) * s_.n + x.col;
    }
    if (transposed) std::swap(rows, cols);
    return lane_.ask(Survey{precision_of<T>, block.rows, block.cols, place.at, place.ld, rows, cols, stream, awaited},
                     after);
  }

  Transfer of_findings(const Block& x) {
    const index all = s_.findings();
    return {
        reinterpret_cast<Real*>(on_device_.findings) + x.row, all, found_.data() + x.row, all, x.rows, 1, sizeof(Real)};
  }

  static Transfer transfer(const OperandMemory<T>& memory, int number, const T* host, index ldh, const Block& x,
                           bool direct) {
    const bool plain = memory.plain();
    return {memory.at(number, x.row, x.col),
            memory.ld(),
            const_cast<T*>(host),
            ldh,
            plain ? x.rows : x.cols,
            plain ? x.cols : x.rows,
            sizeof(T),
            direct};
  }
  Transfer of_c(int number, const Block& x) const {
    Transfer t = transfer(on_device_.c, number, args_.C + x.row + x.col * args_.ldc, args_.ldc, x, placement_.c.direct);
    if (contains(s_.cut.part, x)) return t;
    t.direct = false;
    t.part = s_.cut.part;
    t.below = x.row - x.col;
    return t;
  }

  const GemmSchedule& s_;
  const GemmArgs<T>& args_;
  const Placement& placement_;
  Lane& lane_;
  const DeviceMemory<T> on_device_;
  const T one_{1}, zero_{0}, alpha_exchanged_{exchanged_alpha(args_)};
  Seen seen_{};                        ///< before the call
  std::vector<Asked> asked_;           ///< by step
  std::vector<std::size_t> findings_;  ///< steps
  std::vector<Real> found_;            ///< by the surveys
  std::optional<Verdict> verdict_;
  std::optional<Instead> instead_;
  Ticket next_ticket_ = 0;
  double bytes_in_ = 0;
  int by_residues_ = 0, declined_ = 0;

  // Before there is a verdict.
  std::vector<std::size_t> surveys_;
  std::size_t next_survey_ = 0;    ///< of these
  double ahead_ = 0;               ///< multiplications asked for since the last mark
  static constexpr int marks = 2;  ///< while one of them is waited for, the device has what follows it to do
  Mark marks_[marks];
  int turn_ = 0;
  Ticket last_[streams] = {not_asked, not_asked}, begun_ = not_asked, last_mark_ = not_asked;
};

}  // namespace

template <class T>
ProductOutcome execute(const GemmSchedule& s, const GemmArgs<T>& args, const Placement& placement, Lane& lane,
                       bool (*keep_going)(), const Refusal& refusal) {
  ProductOutcome outcome;
  Status& asked = outcome.status = Status::no_memory;
  std::optional<Run<T>> first, rest;
  try {
    outcome.committed.resize(s.steps.size());
    asked = first.emplace(s, args, placement, lane, refusal.seen).steps(keep_going);
    if (asked == Status::done && first->refused() && refusal.plan) {
      asked = Status::no_memory;
      if ((outcome.instead = refusal.plan())) {
        outcome.committed.assign(outcome.instead->steps.size(), false);
        rest.emplace(*outcome.instead, *first);
        asked = rest->steps_as_they_can(keep_going);
      } else {
        asked = Status::done;
      }
    }
  } catch (const std::exception&) {  // the host's memory; what was asked for still runs
  }
  settle(lane, outcome);
  if (rest)
    rest->account(outcome);
  else if (first && !outcome.instead)
    first->account(outcome);
  if (first) outcome.verdict = first->verdict();
  return outcome;
}

template <class T>
void finish(const GemmSchedule& s, const ProductOutcome& outcome, const GemmArgs<T>& args,
            const UnderlyingBlas& underlying) {
  if (outcome.untouched()) return underlying.call(underlying.context, as_gemm(args));  // as if we had never been there
  const auto compute = [&](const Block& c, Part part) {
    if (c.rows == 0 || c.cols == 0) return;
    Gemm rest = as_gemm(args);
    rest.m = c.rows;
    rest.n = c.cols;
    rest.A = stored(args.A, args.lda, args.transa, c.row, index{0});
    rest.B = stored(args.B, args.ldb, args.transb, index{0}, c.col);
    rest.C = args.C + c.row + c.col * args.ldc;
    rest.part = part;
    underlying.call(underlying.context, rest);
    if (args.part == Part::whole || args.update != Update::rank_2k || part != Part::whole) return;
    // A and B are stored alike, and each op is the other's.
    const T alpha = exchanged_alpha(args), one(1);
    rest.alpha = &alpha;
    rest.beta = &one;
    rest.A = stored(args.B, args.ldb, args.transa, c.row, index{0});
    rest.lda = args.ldb;
    rest.B = stored(args.A, args.lda, args.transb, index{0}, c.col);
    rest.ldb = args.lda;
    underlying.call(underlying.context, rest);
  };
  for (std::size_t i = 0; i < s.steps.size(); ++i) {
    if (s.steps[i].kind != StepKind::download || outcome.committed[i]) continue;
    const Block& c = s.steps[i].block;
    const index cols = c.cols;
    const bool from_diagonal = c.row == c.col, to_diagonal = c.row + c.rows == c.col + cols;
    if (args.part == Part::lower && from_diagonal) {
      compute({c.row, c.col, cols, cols}, args.part);
      compute({c.row + cols, c.col, c.rows - cols, cols}, Part::whole);
    } else if (args.part == Part::upper && to_diagonal) {
      compute({c.row, c.col, c.rows - cols, cols}, Part::whole);
      compute({c.col, c.col, cols, cols}, args.part);
    } else {
      compute(c, Part::whole);
    }
  }
}

#define GEMM(name, type)                                                                                           \
  template ProductOutcome execute(const GemmSchedule&, const GemmArgs<type>&, const Placement&, Lane&, bool (*)(), \
                                  const Refusal&);                                                                 \
  template void finish(const GemmSchedule&, const ProductOutcome&, const GemmArgs<type>&, const UnderlyingBlas&);
#include "api/routines.def"

}  // namespace blaslift
