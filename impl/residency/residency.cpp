#include "impl/residency/residency.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <utility>

#include "impl/observe/counters.hpp"

namespace blaslift {
namespace {

/// What the program pays at its next store to a protected page; a transfer of that page costs a sixteenth.
constexpr double protect_seconds_per_page = 1.4e-6;
/// So a copy that is rewritten to this part between uses loses.
constexpr double worthwhile_dirt = 1.0 / 16;
/// What the program may lose to protection that has not paid off: so much at once, and this part of its time.
constexpr double advance_seconds = 0.4, part_of_time = 0.02;
/// Factors that nobody used, after which a program does not seem to solve with any.
constexpr int most_unused_factors = 2;

constexpr double least_bytes = 1 << 20;
constexpr std::size_t most_memories = 512, most_runs = 64;
constexpr int uses_until_retry = 64;
/// Changed samples that mean a matrix was rewritten: twice what worthwhile dirt would show.
constexpr int rewritten_samples = 8;

/// Fewer and longer runs: what lies between two of them is sent along.
void merge(std::vector<Range>& runs) {
  for (std::size_t gap = page_bytes; runs.size() > most_runs; gap *= 2) {
    std::size_t last = 0;
    for (std::size_t i = 1; i < runs.size(); ++i) {
      if (runs[i].begin - runs[last].end <= gap)
        runs[last].end = runs[i].end;
      else
        runs[++last] = runs[i];
    }
    runs.resize(last + 1);
  }
}

}  // namespace

Sample sample(const Stored& x) {
  Sample words{};
  std::uint64_t state = 1;
  auto random = [&state](index below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<index>((state >> 33) % static_cast<std::uint64_t>(below));
  };
  for (std::uint64_t& word : words) {
    index row = random(x.rows), col = random(x.cols);
    if ((x.part == Part::upper && row > col) || (x.part == Part::lower && row < col)) std::swap(row, col);
    std::uint64_t element[2] = {};
    std::memcpy(element, static_cast<const char*>(x.at) + static_cast<std::size_t>(row + col * x.ld) * x.element,
                x.element);
    word = element[0] * 0x9e3779b97f4a7c15u + element[1];
  }
  return words;
}

bool Recurring::again(const Stored& x) {
  const Sample contents = sample(x);
  // A child forked meanwhile must not wait for a thread that it does not have.
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return false;
  const auto known = std::find_if(uses_.begin(), uses_.end(), [&](const Use& use) { return use.of == x; });
  if (known != uses_.end()) return std::exchange(known->contents, contents) == contents;
  uses_[next_] = {x, contents};
  next_ = (next_ + 1) % uses_.size();
  return false;
}

void Residency::Copy::blocks_on(Range run, std::vector<Block>& blocks) const {
  const Range matrix = of.range();
  const Address begin = std::max(run.begin, matrix.begin), end = std::min(run.end, matrix.end);
  if (begin >= end) return;
  // An element on two pages belongs to both.
  const auto first = static_cast<index>((begin - matrix.begin) / of.element),
             last = static_cast<index>((end - matrix.begin + of.element - 1) / of.element) - 1;
  index row = first % of.ld, col = first / of.ld;
  if (row >= of.rows) row = 0, ++col;  // in the gap after a column
  const index last_col = last / of.ld, last_row = std::min(last % of.ld, of.rows - 1);
  if (col > last_col) return;
  if (col == last_col) {
    if (row <= last_row) blocks.push_back({row, col, last_row - row + 1, 1});
    return;
  }
  if (row > 0) blocks.push_back({row, col++, of.rows - row, 1});
  const bool whole_last = last_row == of.rows - 1;
  const index whole = last_col - col + whole_last;
  if (whole > 0) blocks.push_back({0, col, of.rows, whole});
  if (!whole_last) blocks.push_back({0, last_col, last_row + 1, 1});
}

bool Residency::Copy::only_in(Range run, const Block& part) const {
  std::vector<Block> blocks;
  blocks_on(run, blocks);
  return std::all_of(blocks.begin(), blocks.end(), [&](const Block& b) { return intersection(b, part) == b; });
}

namespace {

void note_arrival(Residency::Glance& glance) {
  if (!glance.arrived) glance.arrived = now_ns();
}

}  // namespace

/// Runs a step under the lock.  One that throws may have lost evidence that a pass consumed: no copy is used after it.
template <class F>
void Residency::guarded(F step) noexcept {
  std::lock_guard lock(mutex_);
  try {
    step();
  } catch (const std::exception&) {
    gave_up_ = true;
    active_.store(false, std::memory_order_relaxed);
  }
}

void Residency::open(Arena& arena, Backend& backend, std::shared_ptr<Pages> pages, const std::string& why) {
  std::lock_guard lock(mutex_);
  arena_ = &arena;
  backend_ = &backend;
  budget_ = arena.limit() / 2;
  opened_ns_ = now_ns();
  if (mode_ == ResidencyMode::off)
    why_off_ = "switched off";
  else if (!pages)
    why_off_ = why;
  else
    pages_ = std::move(pages);
  active_.store(pages_ != nullptr, std::memory_order_relaxed);
}

std::shared_ptr<Pages> Residency::pages() const {
  std::lock_guard lock(mutex_);
  return pages_;
}

std::string Residency::state() const {
  std::lock_guard lock(mutex_);
  return on() ? "on" : pages_ ? "off: out of memory" : arena_ ? "off: " + why_off_ : "";
}

bool Residency::cares(const Stored& x) const {
  if (!active_.load(std::memory_order_relaxed) || x.rows == 0 || x.cols == 0) return false;
  // Pages between the columns would be protected, too.
  const bool mostly_gaps =
      x.cols > 1 && 2 * x.rows < x.ld && static_cast<std::size_t>(x.ld - x.rows) * x.element >= page_bytes;
  return !mostly_gaps && (mode_ == ResidencyMode::always || x.bytes() >= least_bytes);
}

/// Once a call, because it takes its time.  Calls that have waited while another asked share its answer: it is younger
/// than they are.
bool Residency::blind(Glance& glance) {
  if (std::exchange(glance.taken, true)) return glance.blind;
  if (blind_asked_ns_ <= glance.arrived) {
    blind_asked_ns_ = now_ns();
    const std::string why = pages_->blind();
    blind_ = !why.empty();
    if (blind_) counters().blind.set(why.c_str());
  }
  return glance.blind = blind_;
}

/// Whether the device cannot write there; takes a microsecond for every 2 MiB.
bool Residency::ordinary(Range memory) const {
  return backend_->memory_kind(reinterpret_cast<const void*>(memory.begin), memory.size(), true) ==
         MemoryKind::pageable;
}

Residency::Memory& Residency::recall(const Stored& x) {
  const auto there = std::find_if(memories_.begin(), memories_.end(), [&](const Memory& m) { return m.of == x; });
  if (there != memories_.end()) {
    memories_.splice(memories_.begin(), memories_, there);
  } else {
    memories_.push_front({.of = x});
    if (memories_.size() > most_memories) memories_.pop_back();
  }
  return memories_.front();
}

/// Ski rental against the program's own stores: what has been seen unchanged deserves a copy, after every
/// disappointment only when it has been seen unchanged four times as often.  What is seen for the first time gets an
/// advance, one operand a call.
bool Residency::deserves(const Memory& m, double bytes, Glance& glance) const {
  if (mode_ == ResidencyMode::always) return true;
  if (m.refused > 0) return false;
  if (m.unchanged >= (m.rewritten ? 1 << std::min(2 * m.rewritten, 12) : 1)) return true;
  if (glance.advanced || m.uses > 1) return false;
  return glance.advanced = affordable(bytes);
}

bool Residency::affordable(double bytes) const {
  const double credit = advance_seconds + part_of_time * 1e-9 * static_cast<double>(now_ns() - opened_ns_) - spent_;
  return bytes / page_bytes * protect_seconds_per_page <= credit;
}

void Residency::Memory::note_read(bool same) {
  ++uses;
  const bool was_result = std::exchange(result, false);
  unchanged = same ? unchanged + 1 : 0;
  chained = same ? chained + was_result : 0;
}

Residency::Copies::iterator Residency::find(const Stored& x, bool writes, Block& where) {
  return std::find_if(copies_.begin(), copies_.end(), [&](const Copy& c) {
    const Address at = reinterpret_cast<Address>(x.at), base = reinterpret_cast<Address>(c.of.at);
    if (c.of.element != x.element || c.of.ld != x.ld || at < base || (at - base) % x.element != 0) return false;
    const auto offset = static_cast<index>((at - base) / x.element);
    where = {offset % x.ld, offset / x.ld, x.rows, x.cols};
    // A triangle's copy serves those of blocks on its diagonal.
    if (c.of.part != Part::whole && (c.of.part != x.part || where.row != where.col)) return false;
    // What is written of one triangle would leave anything in the other.
    if (c.of.part == Part::whole && x.part != Part::whole && writes) return false;
    return where.row + x.rows <= c.of.rows && where.col + x.cols <= c.of.cols;
  });
}

Residency::Prospect Residency::look(const Stored& x, bool writes, bool reads, Glance& glance) noexcept {
  note_arrival(glance);
  Prospect prospect;
  // Before the lock: touching the operand may run a handler of the program's.
  const Sample contents = reads ? sample(x) : Sample{};
  guarded([&] {
    if (!on()) return;
    Memory& m = recall(x);
    if (m.refused > 0) --m.refused;
    Block where;
    const auto copy = find(x, writes, where);
    if (copy == copies_.end() && !reads) return;

    if (!glance.call) glance.call = ++uses_;
    const bool again = m.used >= glance.call;  // C := A * A is one use of A
    int changed = 0;
    if (reads)
      for (std::size_t i = 0; i < contents.size(); ++i)
        changed += contents[i] != std::exchange(m.contents[i], contents[i]);
    const std::uint64_t last = std::exchange(m.used, ++uses_);
    const bool seen = m.uses > 0;
    if (reads && !again) m.note_read(seen && changed == 0);
    if (copy != copies_.end()) {
      if (mode_ == ResidencyMode::automatic && seen && changed >= rewritten_samples && copy->written < last) {
        // No need to ask the kernel, which would protect everything again.
        if (copy->users == 0) drop(copy);
        ++m.rewritten;
      } else if (!blind(glance)) {
        prospect = take_hold(copy, where, x, writes, reads, m);
      }
    }
    prospect.unchanged = m.unchanged > 0;
    prospect.keepable = m.refused == 0 && x.bytes() <= static_cast<double>(budget_);
    prospect.missed = m.missed;
  });
  return prospect;
}

Residency::Prospect Residency::take_hold(Copies::iterator copy, const Block& where, const Stored& x, bool writes,
                                         bool reads, Memory& m) {
  if (copy->alone || (writes && copy->users > 0)) return {};
  const Range pages = pages_of(x.range());
  const auto first = (pages.begin - copy->pages.begin) / page_bytes;
  std::vector<Range> dirty;
  Stamp now = 0;
  const bool known = pages_->dirty(pages, copy->since.data() + first, copy->oldest, dirty, now);
  // Registering memory for a device pins its pages for writing, which shows as writes: whatever has no new writes is
  // not written by a device either.
  if (!std::all_of(dirty.begin(), dirty.end(), [this](Range run) { return ordinary(run); })) {
    if (copy->users == 0) drop(copy);
    return {};
  }
  if (!dirty.empty() && copy->users > 0) return {};

  Prospect p;
  Hold& hold = p.hold = hold_on(copy, where, x);
  for (const Range& run : dirty)
    for (Address page = run.begin; page < run.end; page += page_bytes) {
      // A page with elements of the copy outside this operand stays dirty: those are not sent now.
      if (copy->only_in({page, page + page_bytes}, where))
        hold.good_from.emplace_back((page - copy->pages.begin) / page_bytes, now);
    }
  merge(dirty);
  std::vector<Block> blocks;
  for (const Range& run : dirty) copy->blocks_on(run, blocks);
  p.spared = x.bytes();
  for (const Block& b : blocks) {
    Block part = intersection(b, where);
    if (part.rows <= 0 || part.cols <= 0) continue;
    part.row -= where.row;
    part.col -= where.col;
    hold.missing.push_back(part);
    p.spared -= static_cast<double>(part.rows) * static_cast<double>(part.cols) * static_cast<double>(x.element);
  }
  const bool rewritten = x.bytes() - p.spared > std::max(worthwhile_dirt * x.bytes(), 4.0 * page_bytes);
  if (!known || (rewritten && mode_ != ResidencyMode::always)) {
    ++m.rewritten;
    m.unchanged = m.chained = 0;
    drop(copy);
    return {};
  }
  if (!reads) {
    hold.missing.clear();
    p.spared = 0;
  }
  spent_ -= copy->price;
  copy->price = 0;
  if (std::exchange(copy->factors, false) && !writes) unused_factors_ = 0;
  copy->used = ++uses_;
  ++copy->users;
  copy->alone = hold.alone = writes || !hold.missing.empty();
  hold.writes = writes;
  return p;
}

Residency::Hold Residency::hold_on(Copies::iterator copy, const Block& where, const Stored& x) {
  Hold hold;
  hold.ld = copy_ld(copy->of);
  hold.device = copy->device + static_cast<std::size_t>(where.row + where.col * hold.ld) * x.element;
  hold.bytes = copy->bytes;
  hold.part = copy->of.part;
  hold.copy = copy;
  hold.where = where;
  hold.pages = pages_of(x.range());
  return hold;
}

Residency::Hold Residency::peek(const Stored& x) noexcept {
  Hold hold;
  guarded([&] {
    if (!on()) return;
    Block where;
    const auto copy = find(x, false, where);
    if (copy == copies_.end() || copy->alone) return;
    hold = hold_on(copy, where, x);
    ++copy->users;
  });
  return hold;
}

bool Residency::confirm(const Hold& hold, const Stored& x, Glance& glance) noexcept {
  note_arrival(glance);
  bool good = false;
  const Sample contents = sample(x);
  guarded([&] {
    if (!on()) return;
    Memory& m = recall(x);
    Copy& copy = *hold.copy;
    // What the program has rewritten is found in look(), which then need not ask the kernel.  Only the kernel knows of
    // an operand that is new, or whose copy has got a result since it was used: its samples are from before that.
    const bool same = m.uses > 0 && m.contents == contents, ours = m.uses == 0 || copy.written > m.used;
    if ((!same && !ours) || blind(glance)) return;
    const auto first = (hold.pages.begin - copy.pages.begin) / page_bytes;
    std::vector<Range> dirty;
    Stamp now = 0;
    good = pages_->dirty(hold.pages, copy.since.data() + first, copy.oldest, dirty, now) && dirty.empty();
    if (!good) return;
    m.used = copy.used = ++uses_;
    m.contents = contents;
    m.note_read(same);
    spent_ -= copy.price;
    copy.price = 0;
  });
  return good;
}

Residency::Copies::iterator Residency::oldest_unused() {
  auto oldest = copies_.end();
  for (auto c = copies_.begin(); c != copies_.end(); ++c)
    if (c->users == 0 && (oldest == copies_.end() || c->used < oldest->used)) oldest = c;
  return oldest;
}

/// Within the budget, at the cost of what has not been used for longest.
bool Residency::make_room(std::size_t bytes) {
  if (bytes > budget_) return false;
  while (kept_ + bytes > budget_) {
    const auto oldest = oldest_unused();
    if (oldest == copies_.end()) return false;
    drop(oldest);
  }
  return true;
}

Residency::Hold Residency::keep(const Stored& x, Use use, Glance& glance) noexcept {
  note_arrival(glance);
  Hold hold;
  const index ld = copy_ld(x);
  const std::size_t bytes = static_cast<std::size_t>(ld) * static_cast<std::size_t>(x.cols) * x.element;
  const Range pages = pages_of(x.range());
  Copies fresh;  // made before anything is taken for it
  guarded([&] {
    if (!on()) return;
    const Memory& m = recall(x);
    // Factors are made to be used; any other result shows by being used that it is.
    const bool promising = use.factors && m.refused == 0 &&
                           (unused_factors_ < most_unused_factors || unused_factors_ % uses_until_retry == 0);
    if (use.factors && !promising) ++unused_factors_;
    if (use.writes && m.chained == 0 && !promising && mode_ != ResidencyMode::always) return;
    if (!(promising && affordable(x.bytes())) && !deserves(m, x.bytes(), glance)) return;
    if (std::any_of(copies_.begin(), copies_.end(), [&](const Copy& c) { return c.of == x; })) return;  // in use
    if (!ordinary(x.range()) || blind(glance) || !make_room(bytes)) return;
    if (use.reads) hold.missing.push_back({0, 0, x.rows, x.cols});
    Copy& copy = fresh.emplace_back(Copy{x, pages, nullptr, bytes, std::vector<Stamp>(pages.size() / page_bytes)});
    copy.users = 1;
    copy.alone = true;
    kept_ += bytes;
  });
  if (fresh.empty()) return hold;
  void* device = nullptr;
  const bool room = arena_->take(bytes, false, device) == Status::done;
  bool covered = false;
  guarded([&] {
    if (!room || !on()) return;
    Memory& m = recall(x);
    Stamp now = 0;
    covered = pages_->protect(pages, now).empty();
    // What was registered for a device before this shows no writes; what is registered later does.
    if (covered && !ordinary(x.range())) {
      pages_->release(pages);
      covered = false;
    }
    if (!covered) {
      m.refused = uses_until_retry;
      return;
    }
    Copy& copy = fresh.front();
    copy.device = static_cast<char*>(device);
    std::fill(copy.since.begin(), copy.since.end(), now);
    copy.oldest = now;
    copy.used = ++uses_;
    if (m.unchanged == 0) copy.price = x.bytes() / page_bytes * protect_seconds_per_page;
    spent_ += copy.price;
    copy.factors = use.factors;
    unused_factors_ += use.factors;
    m.missed = 0;
    copies_.splice(copies_.begin(), fresh);
    hold.copy = copies_.begin();
    hold.fresh = true;
    hold.alone = true;
    hold.writes = use.writes;
    hold.where = {0, 0, x.rows, x.cols};
    hold.pages = pages;
    hold.device = device;
    hold.ld = ld;
    hold.part = x.part;
    hold.bytes = bytes;
  });
  if (hold) return hold;
  if (room) arena_->give_back(device, bytes);
  std::lock_guard lock(mutex_);
  kept_ -= bytes;
  return {};
}

void Residency::before_writing(const Stored& C) noexcept {
  guarded([&] {
    if (!on()) return;
    const Range written = pages_of(C.range());
    for (const Copy& c : copies_) {
      const Range both{std::max(written.begin, c.pages.begin), std::min(written.end, c.pages.end)};
      if (both.begin < both.end) pages_->uncover(both);
    }
  });
}

void Residency::close(Hold& hold, bool good) noexcept {
  if (!hold) return;
  hold.device = nullptr;
  guarded([&] {
    Copy& copy = *hold.copy;
    --copy.users;
    if (!hold.alone) return;
    copy.alone = false;
    Stamp now = 0;
    if (good && hold.writes)
      good = on() && pages_->blind().empty() && pages_->protect_again(hold.pages, now) && ordinary(hold.pages);
    if (!good) {
      // What was to be sent again only still is; anything else on the device may be half written.
      if (hold.fresh && copy.factors) --unused_factors_;  // there are none
      if (hold.fresh || hold.writes) drop(hold.copy);
    } else if (hold.writes) {
      copy.written = ++uses_;
      const bool all = hold.where.rows == copy.of.rows && hold.where.cols == copy.of.cols;
      for (Address page = hold.pages.begin; page < hold.pages.end; page += page_bytes)
        if (all || copy.only_in({page, page + page_bytes}, hold.where))
          copy.since[(page - copy.pages.begin) / page_bytes] = now;
    } else {
      for (const auto& [page, stamp] : hold.good_from) copy.since[page] = stamp;
    }
  });
  arena_->changed();
}

void Residency::note_result(const Stored& C) noexcept {
  const Sample contents = sample(C);
  guarded([&] {
    if (!on()) return;
    Memory& m = recall(C);
    m.contents = contents;
    m.used = ++uses_;
    m.uses = std::max(m.uses, 1);
    m.result = true;
  });
}

void Residency::note_missed(const Stored& x, double seconds) noexcept {
  guarded([&] {
    if (on()) recall(x).missed += seconds;
  });
}

bool Residency::evict_one() noexcept {
  std::lock_guard lock(mutex_);
  const auto oldest = oldest_unused();
  if (oldest == copies_.end()) return false;
  drop(oldest);
  return true;
}

void Residency::drop(Copies::iterator copy) noexcept {
  try {
    pages_->release(copy->pages);
  } catch (const std::exception&) {  // the mapping stays registered
  }
  arena_->give_back(copy->device, copy->bytes);
  kept_ -= copy->bytes;
  copies_.erase(copy);
}

}  // namespace blaslift
