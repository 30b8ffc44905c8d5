#include "tools/cli/doctor/blas_names.hpp"

#include <algorithm>
#include <cctype>
#include <string>
#include <unordered_map>

#include "compat/symbols.hpp"
#include "tools/preload/measure/others.hpp"

namespace blaslift::cli {
namespace {

std::string lower(std::string_view text) {
  std::string small(text);
  for (char& c : small) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return small;
}

/// Every name of the sets (api/names.hpp) of the routines that are intercepted and of the others.
const std::unordered_map<std::string, NameKind>& known() {
  static const auto* names = [] {
    auto* all = new std::unordered_map<std::string, NameKind>;
    for (const std::string base : other_names) {
      const bool cblas = base.starts_with("cblas_");
      if (cblas) all->emplace(base + "_64", NameKind::other);
      for (const char* prefix : {"", "scipy_"}) {
        all->emplace(prefix + base + (cblas ? "" : "_"), NameKind::other);
        all->emplace(prefix + base + (cblas ? "64_" : "_64_"), NameKind::other);
        if (cblas) all->emplace(prefix + base + "_64", NameKind::other);
      }
    }
    for (const SymbolInfo& symbol : symbol_table) (*all)[symbol.name] = NameKind::intercepted;
    return all;
  }();
  return *names;
}

/// A routine's name between others' prefixes and the endings that compilers and libraries have for their integers.
bool is_respelled(std::string_view name) {
  constexpr std::string_view endings[] = {"", "_", "__", "64", "64_", "_64", "_64_"};
  // They call the routine under the name that is intercepted, or have nothing to do with the host's.
  constexpr std::string_view others[] = {"lapacke_", "cublas", "hipblas", "rocblas", "magma", "cusolver"};
  const std::string small = lower(name);
  for (const std::string_view other : others)
    if (small.find(other) != small.npos) return false;
  for (const std::string_view routine : routine_names) {
    const std::size_t at = small.rfind(routine);
    if (at == small.npos || (at > 0 && small[at - 1] != '_')) continue;
    if (std::ranges::find(endings, std::string_view(small).substr(at + routine.size())) != std::end(endings))
      return true;
  }
  return false;
}

}  // namespace

NameKind kind_of_name(std::string_view name) {
  const auto found = known().find(std::string(name));
  if (found != known().end()) return found->second;
  return is_respelled(name) ? NameKind::respelled : NameKind::none;
}

bool is_named_like_blas(std::string_view path) {
  constexpr std::string_view marks[] = {"blas",     "lapack",   "libmkl_", "libblis", "libflame",
                                        "libatlas", "libarmpl", "libnvpl", "libsci_", "libessl"};
  const std::string name = lower(path.substr(path.rfind('/') + 1));
  return name.starts_with("lib") &&  // not so a module cython_blas
         std::ranges::any_of(marks, [&](std::string_view mark) { return name.find(mark) != name.npos; });
}

}  // namespace blaslift::cli
