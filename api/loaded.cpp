// What happens when the library is loaded, before any code of a program that it is preloaded into or linked with.
#include "compat/say.hpp"

namespace {
[[gnu::constructor]] void loaded() { blaslift::look_at_stderr(); }
}  // namespace
