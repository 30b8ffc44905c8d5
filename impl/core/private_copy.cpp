#include "impl/core/private_copy.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "kernels/part.hpp"

namespace blaslift {
namespace {

constexpr std::size_t page = 4096, margin = page;
constexpr std::uint32_t canary = 0xfff7c0de;

/// Word by word, in step with the address: a range may be filled and checked in parts.
void fill(char* from, const char* to) {
  for (; from + sizeof canary <= to; from += sizeof canary) std::memcpy(from, &canary, sizeof canary);
}

bool filled(const char* from, const char* to) {
  for (; from + sizeof canary <= to; from += sizeof canary)
    if (std::memcmp(from, &canary, sizeof canary) != 0) return false;
  return true;
}

/// The rows of column j that belong to the operand.
Rows rows_of(const Stored& x, index j) { return rows_in(x.part, -j, x.rows); }

std::size_t span_of(const Stored& x) {
  if (x.rows <= 0 || x.cols <= 0) return 0;
  return (static_cast<std::size_t>(x.ld) * static_cast<std::size_t>(x.cols - 1) + static_cast<std::size_t>(x.rows)) *
         x.element;
}

/// Calls visit(begin, end) for all that is around the operand, as far as it is filled; false as soon as that says so.
template <class Visit>
bool around(const Stored& x, char* at, Visit visit) {
  const auto element = static_cast<index>(x.element);
  const std::size_t span = span_of(x);
  if (!visit(at - margin, at) || !visit(at + span, at + span + margin)) return false;
  const auto gap = [&](char* begin, char* end) {
    if (static_cast<std::size_t>(end - begin) <= page) return visit(begin, end);
    constexpr std::size_t ends = page / 4;
    return visit(begin, begin + ends) && visit(end - ends, end);
  };
  for (index j = 0; j < x.cols && span > 0; ++j) {
    char* column = at + j * x.ld * element;
    const Rows rows = rows_of(x, j);
    char* const last = column + (j + 1 < x.cols ? x.ld : x.rows) * element;
    if (!gap(column, column + rows.first * element)) return false;
    if (!gap(column + (rows.first + rows.count) * element, last)) return false;
  }
  return true;
}

bool both_nan(const char* x, const char* y, std::size_t real) {
  if (real == sizeof(float)) {
    float a, b;
    std::memcpy(&a, x, sizeof a);
    std::memcpy(&b, y, sizeof b);
    return std::isnan(a) && std::isnan(b);
  }
  double a, b;
  std::memcpy(&a, x, sizeof a);
  std::memcpy(&b, y, sizeof b);
  return std::isnan(a) && std::isnan(b);
}

}  // namespace

std::size_t PrivateCopy::bytes(const Stored& like) {
  return (span_of(like) + 2 * margin + 2 * page) / page * page + page;
}

bool PrivateCopy::make(const Stored& like, const void* from) {
  const std::size_t size = bytes(like);
  void* mapping = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) return false;
  like_ = like;
  mapping_ = static_cast<char*>(mapping);
  size_ = size;
  at_ = mapping_ + page + reinterpret_cast<std::uintptr_t>(like.at) % page;
  around(like, at_, [](char* begin, char* end) { return fill(begin, end), true; });
  const auto element = static_cast<index>(like.element);
  for (index j = 0; j < like.cols; ++j) {
    const Rows rows = rows_of(like, j);
    const index offset = (rows.first + j * like.ld) * element, length = rows.count * element;
    if (length <= 0) continue;
    if (from)
      std::memcpy(at_ + offset, static_cast<const char*>(from) + offset, static_cast<std::size_t>(length));
    else
      fill(at_ + offset, at_ + offset + length);
  }
  return true;
}

PrivateCopy::~PrivateCopy() {
  if (mapping_) munmap(mapping_, size_);
}

bool PrivateCopy::intact() const {
  return around(like_, at_, [](const char* begin, const char* end) { return filled(begin, end); });
}

bool PrivateCopy::same(const void* other, std::size_t real) const {
  const auto element = static_cast<index>(like_.element);
  for (index j = 0; j < like_.cols; ++j) {
    const Rows rows = rows_of(like_, j);
    const index offset = (rows.first + j * like_.ld) * element, length = rows.count * element;
    const char *x = at_ + offset, *y = static_cast<const char*>(other) + offset;
    if (length <= 0 || std::memcmp(x, y, static_cast<std::size_t>(length)) == 0) continue;
    if (real == 0) return false;
    const auto step = static_cast<index>(real);
    for (index i = 0; i < length; i += step)
      if (std::memcmp(x + i, y + i, real) != 0 && !both_nan(x + i, y + i, real)) return false;
  }
  return true;
}

}  // namespace blaslift
