// Workspaces of integers.
#pragma once
#include "tests/promises/suite/suite.hpp"

namespace suite {

/// Of the interface's integers.
struct IntegerWorkspace : Operand {
  IntegerWorkspace(Draw& draw, std::string_view operand, index size)
      : Operand(draw, operand, Role::workspace, width(), width(), size, 1, size) {}
  static std::size_t width() { return wide_integers() ? sizeof(std::int64_t) : sizeof(std::int32_t); }
  void* data() const { return at(0, 0); }
  index first() const {
    std::int32_t narrow;
    std::int64_t wide;
    std::memcpy(wide_integers() ? static_cast<void*>(&wide) : &narrow, at(0, 0), element);
    return wide_integers() ? wide : narrow;
  }
};

}  // namespace suite
