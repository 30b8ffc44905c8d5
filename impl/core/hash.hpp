// Hashes of what is written to files and told apart.  They tell a file that was cut or touched, and nobody who means
// it: another text with the same hash is easily made.
#pragma once
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace blaslift {

/// FNV-1a (http://www.isthe.com/chongo/tech/comp/fnv/), of 32 or 64 bits.  Profiles, records, kept timings and folders'
/// names hold such values, so they are the same in all versions.
template <class Word>
class Fnv1a {
  static_assert(std::is_same_v<Word, std::uint32_t> || std::is_same_v<Word, std::uint64_t>);
  static constexpr bool is_short = sizeof(Word) == 4;
  static constexpr auto prime = static_cast<Word>(is_short ? 0x01000193 : 0x100000001b3);

 public:
  /// A step: the definition's is a byte, but a whole word may be one.
  constexpr void step(Word word) { value_ = (value_ ^ word) * prime; }

  constexpr Fnv1a& add(std::string_view bytes) {
    for (const char c : bytes) step(static_cast<unsigned char>(c));
    return *this;
  }
  /// The number's bytes, the lowest first.
  template <class Number>
  constexpr Fnv1a& add_number(Number number) {
    static_assert(std::is_unsigned_v<Number>);
    for (unsigned shift = 0; shift < 8 * sizeof number; shift += 8) step(static_cast<Word>(number >> shift & 0xff));
    return *this;
  }

  constexpr Word value() const { return value_; }

 private:
  Word value_ = static_cast<Word>(is_short ? 0x811c9dc5 : 0xcbf29ce484222325);
};

constexpr std::uint64_t hash_of(std::string_view text) { return Fnv1a<std::uint64_t>().add(text).value(); }

/// A hash of numbers, one after the other, of which the first goes with 0.  As FNV-1a by words, but differences in
/// their upper halves come down again.  Records hold such values, too.
template <class... Numbers>
constexpr std::uint64_t with_numbers(std::uint64_t hash, Numbers... numbers) {
  const auto step = [&hash](std::uint64_t number) { hash = (hash ^ number) * 0x100000001b3 + (hash >> 29); };
  (step(static_cast<std::uint64_t>(numbers)), ...);
  return hash;
}

}  // namespace blaslift
