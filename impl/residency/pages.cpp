#include "impl/residency/pages.hpp"

#include <algorithm>
#include <utility>

namespace blaslift {

/// As written, by this pass.
void Pages::note(Address page) {
  auto& there = written_[page / chunk_pages];
  if (!there) there = std::make_unique<Chunk>();
  there->stamps[page % chunk_pages] = there->newest = newest_ = now_;
}

/// Notes every page of the range that is not positively unwritten.  If that throws, whoever holds a copy has lost it,
/// now and later.
bool Pages::pass(Range pages) {
  if (std::exchange(incomplete_, true)) return false;
  ++now_;
  unwritten_.clear();
  const bool known = tracker_.scan(pages, unwritten_);
  if (!known) unwritten_.clear();
  Address at = pages.begin;
  auto note_until = [&](Address end) {
    for (; at < end; at += page_bytes) note(at / page_bytes);
  };
  for (const Range& run : unwritten_) {
    note_until(std::clamp(run.begin, at, pages.end));
    at = std::clamp(run.end, at, pages.end);
  }
  note_until(pages.end);
  incomplete_ = false;
  return known;
}

std::string Pages::protect(Range pages, Stamp& now) {
  std::lock_guard lock(mutex_);
  if (std::string why = tracker_.cover(pages); !why.empty()) return why;
  bool known = false;
  try {
    known = pass(pages);
  } catch (...) {  // no memory for the table
    tracker_.release(pages);
    throw;
  }
  if (!known) {
    tracker_.release(pages);
    return "the kernel does not tell";
  }
  now = now_;
  return {};
}

void Pages::release(Range pages) noexcept {
  std::lock_guard lock(mutex_);
  tracker_.release(pages);
}

bool Pages::protect_again(Range pages, Stamp& now) {
  std::lock_guard lock(mutex_);
  const bool known = pass(pages);
  now = now_;
  return known;
}

bool Pages::dirty(Range pages, const Stamp* since, Stamp oldest, std::vector<Range>& dirty, Stamp& now) {
  std::lock_guard lock(mutex_);
  const bool known = pass(pages);
  now = now_;
  if (!known) return dirty.push_back(pages), false;
  if (newest_ <= oldest) return true;
  for (Address at = pages.begin; at < pages.end;) {
    const Address number = at / page_bytes, left = (pages.end - at) / page_bytes;
    const std::size_t first = number % chunk_pages, last = std::min<std::size_t>(chunk_pages, first + left);
    const Stamp* stamps = since + (at - pages.begin) / page_bytes;
    if (const auto there = written_.find(number / chunk_pages);
        there != written_.end() && there->second->newest > oldest)
      for (std::size_t i = first; i < last; ++i) {
        if (there->second->stamps[i] <= stamps[i - first]) continue;
        const Address page = at + (i - first) * page_bytes;
        if (!dirty.empty() && dirty.back().end == page)
          dirty.back().end = page + page_bytes;
        else
          dirty.push_back({page, page + page_bytes});
      }
    at += (last - first) * page_bytes;
  }
  return true;
}

void Pages::uncover(Range pages) {
  std::lock_guard lock(mutex_);
  tracker_.uncover(pages);
}

}  // namespace blaslift
