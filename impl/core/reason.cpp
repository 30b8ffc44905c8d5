#include "impl/core/reason.hpp"

namespace blaslift {

const char* text_of(Reason reason) {
  constexpr const char* texts[] = {
#define X(name, text) text,
      BLASLIFT_REASONS(X)
#undef X
  };
  return texts[static_cast<int>(reason)];
}

}  // namespace blaslift
