#pragma once

namespace blaslift {

/// State of the process that is there from its start and is never destroyed: other threads may still be calling while
/// it exits.  For constinit variables.
template <class T>
union Undestroyed {
  T value{};
  constexpr Undestroyed() {}
  constexpr ~Undestroyed() {}
  T* operator->() { return &value; }
};

}  // namespace blaslift
