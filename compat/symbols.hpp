// Names of routines and exported symbols as values, made from api/routines.def.
#pragma once
#include <cstdint>

#include "api/families.hpp"

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

}  // namespace blaslift
