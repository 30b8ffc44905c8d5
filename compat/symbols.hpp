// Names of routines and exported symbols as values, made from api/routines.def.
#pragma once
#include <cstdint>
#include <string_view>

#include "api/names.hpp"

namespace blaslift {

enum class Routine : std::uint8_t {
#define ROUTINE(kind, name, type) name,
#include "api/routines.def"
  count
};
inline constexpr int routine_count = static_cast<int>(Routine::count);

enum class Interface : std::uint8_t { fortran, cblas, own };

/// Integer width of a symbol's arguments: `wide` is 64 bits by the name's promise, `probed` is asked of the library.
enum class Width : std::uint8_t { probed, wide };

enum class Symbol : std::uint16_t {
#define SYMBOL(symbol, name, type, interface, width, prefix) symbol,
#include "api/symbols.def"
  count
};
inline constexpr int symbol_count = static_cast<int>(Symbol::count);

struct SymbolInfo {
  const char* name;  ///< as exported, e.g. "cblas_dgemm64_"
  const char* base;  ///< the routine's bare name, e.g. "dgemm"
  Routine routine;
  Interface interface;
  Width width;
  const char* prefix;  ///< what the same library's other symbols begin with: "" or "scipy_"
};

inline constexpr SymbolInfo symbol_table[] = {
#define SYMBOL(symbol, name, type, interface, width, prefix) \
  {#symbol, #name, Routine::name, Interface::interface, Width::width, prefix},
#include "api/symbols.def"
};

constexpr const SymbolInfo& info(Symbol s) { return symbol_table[static_cast<int>(s)]; }

inline constexpr const char* routine_names[] = {
#define ROUTINE(kind, name, type) #name,
#include "api/routines.def"
};
constexpr const char* name_of(Routine r) { return routine_names[static_cast<int>(r)]; }

constexpr bool is_lapack(Routine r) {
#define LAPACK(kind, name, type) \
  if (r == Routine::name) return true;
#include "api/routines.def"
  return false;
}

/// The gemm that a batch of products is made of where no library has it; of other routines `count`.
constexpr Routine products_of(Routine r) {
  const std::string_view name = name_of(r);
  if (!name.substr(1).starts_with("gemm_batch")) return Routine::count;
  for (int i = 0; i < routine_count; ++i)
    if (routine_names[i][0] == name[0] && std::string_view(routine_names[i] + 1) == "gemm")
      return static_cast<Routine>(i);
  return Routine::count;
}

/// The symbol of another routine in the same set of names.
constexpr Symbol symbol_beside(Symbol symbol, Routine routine) {
  const SymbolInfo& of = info(symbol);
  for (int s = 0; s < symbol_count; ++s) {
    const SymbolInfo& x = symbol_table[s];
    if (x.routine == routine && x.interface == of.interface && x.width == of.width &&
        std::string_view(x.prefix) == of.prefix)
      return static_cast<Symbol>(s);
  }
  return symbol;  // never: every set of names has all routines of its kind
}

}  // namespace blaslift
