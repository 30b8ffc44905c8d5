// Fresh private anonymous memory, whole pages of it, filled.
#pragma once
#include <sys/mman.h>

#include <cstring>
#include <stdexcept>

#include "impl/residency/pages.hpp"

namespace blaslift {

constexpr std::size_t huge_page = std::size_t{2} << 20;

class Mapped {
 public:
  explicit Mapped(std::size_t count, bool huge = false, bool fill = true) : size_(count * page_bytes) {
    const std::size_t room = size_ + (huge ? huge_page : 2 * page_bytes);
    mapping_ = static_cast<char*>(mmap(nullptr, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (mapping_ == MAP_FAILED) throw std::runtime_error("no memory");
    room_ = room;
    begin_ = mapping_ + (huge ? (huge_page - reinterpret_cast<Address>(mapping_) % huge_page) % huge_page : page_bytes);
    if (mprotect(begin_, size_, PROT_READ | PROT_WRITE) != 0) throw std::runtime_error("no access");
    (void)madvise(begin_, size_, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    if (fill) std::memset(begin_, 1, size_);
  }
  ~Mapped() { munmap(mapping_, room_); }
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;

  char* at(std::size_t page) const { return begin_ + page * page_bytes; }
  std::size_t size() const { return size_; }
  Range pages() const { return range(0, size_ / page_bytes); }
  Range range(std::size_t first, std::size_t last) const {
    return {reinterpret_cast<Address>(at(first)), reinterpret_cast<Address>(at(last))};
  }

 private:
  std::size_t size_, room_ = 0;
  char *mapping_, *begin_ = nullptr;
};

}  // namespace blaslift
