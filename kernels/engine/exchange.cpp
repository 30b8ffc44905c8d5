#include "kernels/engine/exchange.hpp"

#include <exception>
#include <functional>
#include <utility>

namespace blaslift {

Exchange& Exchange::of_process() {
  static Exchange& exchange = *new Exchange;  // never destroyed: the engines' threads may use it when the process ends
  return exchange;
}

std::size_t Exchange::Hash::operator()(const Key& x) const {
  return std::hash<const void*>()(x.host) ^ static_cast<std::size_t>(x.deal * 0x9e3779b97f4a7c15u);
}

Exchange::Key Exchange::key(const Engine::Job& job) {
  const Transfer& p = job.piece;
  return {job.deal, p.host, p.ldh, p.rows, p.cols, p.below, p.element, p.part};
}

void Exchange::push_again(std::vector<Waiting>&& jobs) {
  for (const Waiting& x : jobs) x.engine->push_again(x.job);
}

Turn Exchange::claim(const void* owner, Engine& engine, const Engine::Job& job, bool may_send, OnDevice& from) {
  std::lock_guard lock(mutex_);
  const auto found = entries_.find(key(job));
  try {
    if (found == entries_.end()) {
      if (!may_send) return Turn::later;
      entries_.emplace(key(job), Entry{owner});
      return Turn::send;
    }
    Entry& entry = found->second;
    if (entry.owner == owner) return may_send ? Turn::alone : Turn::later;
    if (!entry.sent) return entry.waiting.push_back({&engine, job}), Turn::wait;
    Read& read = read_[entry.owner];
    read.marks.try_emplace(owner, nullptr);  // noting the mark must not fail
    ++read.starting;
    from = entry.there;
    from.owner = entry.owner;
    return Turn::copy;
  } catch (const std::exception&) {  // no memory to note it
    return may_send ? Turn::alone : Turn::later;
  }
}

bool Exchange::is_elsewhere(const void* owner, const Engine::Job& job) {
  std::lock_guard lock(mutex_);
  const auto found = entries_.find(key(job));
  return found != entries_.end() && found->second.owner != owner;
}

void Exchange::sent(const Engine::Job& job, const OnDevice& there) {
  std::vector<Waiting> waiting;
  {
    std::lock_guard lock(mutex_);
    Entry& entry = entries_.at(key(job));
    entry.sent = true;
    entry.there = there;
    waiting.swap(entry.waiting);
  }
  push_again(std::move(waiting));
}

void Exchange::not_sent(const Engine::Job& job) {
  std::vector<Waiting> waiting;
  {
    std::lock_guard lock(mutex_);
    const auto found = entries_.find(key(job));
    waiting.swap(found->second.waiting);
    entries_.erase(found);
  }
  push_again(std::move(waiting));
}

void Exchange::copied(const OnDevice& from, const void* reader, void* mark) {
  std::lock_guard lock(mutex_);
  Read& read = read_.at(from.owner);
  if (mark) read.marks.at(reader) = mark;
  --read.starting;
  changed_.notify_all();
}

Exchange::Marks Exchange::leave(const void* lane) {
  std::unique_lock lock(mutex_);
  std::erase_if(entries_, [lane](const auto& x) { return x.second.owner == lane; });
  for (auto& [owner, read] : read_)  // its marks are its next call's
    if (const auto own = read.marks.find(lane); own != read.marks.end()) own->second = nullptr;
  const auto read = read_.find(lane);
  if (read == read_.end()) return {};
  changed_.wait(lock, [&] { return read->second.starting == 0; });
  Marks marks = std::move(read->second.marks);
  read_.erase(read);
  return marks;
}

}  // namespace blaslift
