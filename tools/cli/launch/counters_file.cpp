#include "tools/cli/launch/counters_file.hpp"

#include <sys/mman.h>

#include <vector>

#include "impl/core/regular_file.hpp"

namespace blaslift::cli {
namespace {

/// Memory of our own, of which only what is written to is taken.
template <class T>
T* read_as(const RegularFile& file, std::size_t bytes) {
  std::uint64_t layout = 0;
  if (!file || file.size() < sizeof(T) || file.read(0, &layout, sizeof layout) < sizeof layout ||
      layout != T::this_layout)
    return nullptr;
  void* p = mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) return nullptr;
  if (file.read(0, p, bytes) == bytes) return static_cast<T*>(p);
  munmap(p, sizeof(T));
  return nullptr;
}

}  // namespace

const Counters* read_counters(const std::string& path) {
  const RegularFile file(path);
  auto* c = read_as<Counters>(file, offsetof(Counters, slots));
  if (!c) return nullptr;
  check_counters(*c);
  // Most of a file is the threads' slots: their sum is enough, in the one that all late threads share.
  std::vector<ThreadCounters> slots(thread_slots + 1);
  file.read(offsetof(Counters, slots), slots.data(), sizeof c->slots);
  for (const ThreadCounters& slot : slots)
    for (int r = 0; r <= routine_count; ++r) c->slots[thread_slots].forwarded[r] += slot.forwarded[r];
  return c;
}

const OtherCounters* read_other_counters(const std::string& path) {
  return read_as<OtherCounters>(RegularFile(path), sizeof(OtherCounters));
}

}  // namespace blaslift::cli
