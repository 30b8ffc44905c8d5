// What happens when the library is loaded, before any code of a program that it is preloaded into or linked with.
#include "compat/say.hpp"
#include "impl/route/runtime.hpp"

namespace {
[[gnu::constructor]] void loaded() {
  blaslift::look_at_stderr();
  blaslift::open_device_early_if_wanted();  // last: its thread sees all of this
}
}  // namespace
