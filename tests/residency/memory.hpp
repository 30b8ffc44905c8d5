// Arenas of memory, and the matrices in them.
#pragma once
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace torture {

using index = std::ptrdiff_t;

inline constexpr index small_page = 4096, huge_page = index{1} << 21;
inline constexpr int collapse_advice = 25;  // MADV_COLLAPSE, which older headers lack

struct Settings {
  long steps = 1000;
  std::uint64_t seed = 1;
  bool huge = false;
  double scale = 1;
  int threads = 0;
  std::string fault;
};
inline Settings settings;

inline std::atomic<bool> failed{false};

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u) {}
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
  }
  /// low..high, both included
  index pick(index low, index high) {
    return low + static_cast<index>(next() % static_cast<std::uint64_t>(high - low + 1));
  }
  bool chance(int percent) { return pick(1, 100) <= percent; }
  template <class List>
  auto& of(List& list) {
    return list[static_cast<std::size_t>(pick(0, static_cast<index>(std::size(list)) - 1))];
  }

 private:
  std::uint64_t state_;
};

inline std::byte* rounded(std::byte* p, index page, bool up) {
  const auto mask = static_cast<std::uintptr_t>(page) - 1, address = reinterpret_cast<std::uintptr_t>(p);
  return reinterpret_cast<std::byte*>((up ? address + mask : address) & ~mask);
}

/// Private anonymous memory of the kind of page that is tested; at `at` if that is free, or anywhere.
inline std::byte* map_pages(std::byte* at, index bytes, int flags) {
  void* p =
      mmap(at, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
  if (p == MAP_FAILED) return nullptr;
  madvise(p, static_cast<std::size_t>(bytes), settings.huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  return static_cast<std::byte*>(p);
}

/// Reserved places of one size, between which mappings move.
class Places {
 public:
  void reserve(int count, index bytes) {
    bytes_ = bytes;
    const index alignment = settings.huge ? huge_page : small_page;
    void* p = mmap(nullptr, static_cast<std::size_t>(bytes * count + alignment), PROT_NONE, reserved, -1, 0);
    if (p == MAP_FAILED) std::perror("mmap"), std::exit(2);
    std::byte* first = rounded(static_cast<std::byte*>(p), alignment, true);
    for (int i = 0; i < count; ++i) free_.push_back(first + i * bytes);
  }
  index bytes() const { return bytes_; }
  std::byte* take(Random& random) {
    if (free_.empty()) return nullptr;
    std::swap(random.of(free_), free_.back());
    std::byte* place = free_.back();
    free_.pop_back();
    return place;
  }
  /// `place` is mapped still, or, if not `mapped`, anyone may have mapped something else there by now.
  void give(std::byte* place, bool mapped) {
    const bool wanted = free_.size() < 8 && (!settings.huge || rounded(place, huge_page, false) == place);
    const auto size = static_cast<std::size_t>(bytes_);
    if (!wanted && mapped) munmap(place, size);
    if (wanted && mmap(place, size, PROT_NONE, reserved | (mapped ? MAP_FIXED : MAP_FIXED_NOREPLACE), -1, 0) == place)
      free_.push_back(place);
  }

 private:
  static constexpr int reserved = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  index bytes_ = 0;
  std::vector<std::byte*> free_;
};

enum class Origin { mapped, allocated, tenant };  // a tenant's first and last pages are its neighbours' as well

/// Memory of one element type that matrices lie in, wherever it is mapped at the moment.
struct Arena {
  int number;
  Origin origin;
  index bytes, element;  // 8: double and complex matrices, 4: float
  std::byte* base = nullptr;
  /// Part of it that is not private and anonymous for a while.
  index foreign_begin = 0, foreign_end = 0;
  int foreign_file = -1;
};

struct Range {
  Arena* arena;
  index begin, end;
  std::byte* at() const { return arena->base + begin; }
  std::size_t size() const { return static_cast<std::size_t>(end - begin); }
  bool meets(const Range& r) const { return arena == r.arena && begin < r.end && r.begin < end; }
};

/// Makes the range whole pages of its arena; false if there are none.
inline bool widen_to_pages(Range& r, index page) {
  Arena& a = *r.arena;
  std::byte* first = std::max(rounded(r.at(), page, false), rounded(a.base, page, true));
  std::byte* last = std::min(rounded(a.base + r.end, page, true), rounded(a.base + a.bytes, page, false));
  if (first >= last) return false;
  r = {&a, first - a.base, last - a.base};
  return true;
}

inline void widen_to_arena(Range& r) { r = {r.arena, 0, r.arena->bytes}; }

/// Small integers as the elements of an arena.
inline void fill(std::byte* to, std::size_t bytes, index element, Random& random, index most = 3) {
  for (std::size_t i = 0; i < bytes; i += static_cast<std::size_t>(element)) {
    const auto value = static_cast<double>(random.pick(-most, most));
    const auto narrow = static_cast<float>(value);
    std::memcpy(to + i, element == 8 ? static_cast<const void*>(&value) : &narrow, static_cast<std::size_t>(element));
  }
}
inline void fill(const Range& r, Random& random) { fill(r.at(), r.size(), r.arena->element, random); }

/// A matrix in an arena: an array that is used again and again, or a block of one.
struct View {
  Arena* arena;
  char type;  // as in sgemm, dgemm, zgemm
  index offset, ld, rows, cols;
  bool sparse = false, read_only = false;

  index size() const { return type == 's' ? 4 : type == 'd' ? 8 : 16; }
  Range range() const { return {arena, offset, offset + ((cols - 1) * ld + rows) * size()}; }
  View block(index i, index j, index m, index n) const {
    View v = *this;
    v.offset += (i + j * ld) * size(), v.rows = m, v.cols = n;
    return v;
  }
  /// Whether they have elements in common: blocks of one array may lie between each other's rows.
  bool overlaps(const View& v) const {
    if (!range().meets(v.range())) return false;
    if (ld != v.ld || type != v.type || (offset - v.offset) % size() != 0) return true;
    const index line = ld * size(), top = offset % line, other_top = v.offset % line;
    if (top + rows * size() > line || other_top + v.rows * size() > line) return true;  // not columns of one array
    return top < other_top + v.rows * size() && other_top < top + rows * size();
  }
};

}  // namespace torture
