// A tracker that knows what it is told: which pages hold something, and which have been written.
#pragma once
#include <map>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "impl/residency/pages.hpp"

namespace blaslift {

class Scripted final : public Tracker {
 public:
  std::string refusal;                                 ///< of cover
  std::string blindness;                               ///< blind()
  int failing = 0;                                     ///< scans that will fail, in the middle
  int covers = 0, scans = 0;                           ///< calls
  std::map<std::pair<Address, Address>, int> covered;  ///< and not yet released: how often
  bool released_too_often = false;
  bool throws = false;      ///< a scan, once it has seen and protected everything
  bool sticks_out = false;  ///< runs begin and end outside of what was asked for

  /// The program writes these pages.
  void write(Range pages) {
    for (Address at = pages.begin; at < pages.end; at += page_bytes) pages_[at / page_bytes] = State::written;
  }
  /// They hold nothing any more.
  void empty(Range pages) {
    for (Address at = pages.begin; at < pages.end; at += page_bytes) pages_[at / page_bytes] = State::hole;
  }
  bool is_protected(Address page) const {
    const auto there = pages_.find(page / page_bytes);
    return there != pages_.end() && there->second == State::unwritten;
  }

  std::string cover(Range pages) override {
    ++covers;
    if (refusal.empty()) ++covered[{pages.begin, pages.end}];
    return refusal;
  }
  void release(Range pages) noexcept override {
    const auto there = covered.find({pages.begin, pages.end});
    if (there == covered.end()) return void(released_too_often = true);
    if (--there->second == 0) covered.erase(there);
    uncover(pages);
  }

  bool scan(Range pages, std::vector<Range>& unwritten) override {
    ++scans;
    const Address middle = pages.begin + pages.size() / page_bytes / 2 * page_bytes;
    for (Address at = pages.begin; at < pages.end; at += page_bytes) {
      if (failing > 0 && at >= middle) return --failing, false;
      State& state = pages_[at / page_bytes];  // new ones are written
      if (state == State::unwritten) add(unwritten, {at, at + page_bytes});
      if (state == State::written) state = State::unwritten;
    }
    if (throws) throw std::bad_alloc();
    if (sticks_out && !unwritten.empty()) {
      if (unwritten.front().begin == pages.begin) unwritten.front().begin -= 3 * page_bytes;
      if (unwritten.back().end == pages.end) unwritten.back().end += 3 * page_bytes;
    }
    return true;
  }

  void uncover(Range pages) override {
    for (Address at = pages.begin; at < pages.end; at += page_bytes)
      if (State& state = pages_[at / page_bytes]; state == State::unwritten) state = State::written;
  }

  std::string blind() override { return blindness; }

 private:
  enum class State { written, unwritten, hole };
  static void add(std::vector<Range>& runs, Range run) {
    if (!runs.empty() && runs.back().end == run.begin)
      runs.back().end = run.end;
    else
      runs.push_back(run);
  }
  std::map<Address, State> pages_;
};

}  // namespace blaslift
