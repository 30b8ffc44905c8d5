// Calls of BLAS's and LAPACK's functions, by whatever interface, as the x86-64 calling convention has them.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace blaslift {

/// A call's arguments.  Integers and addresses are words, in their order; reals by value, which have registers of their
/// own, come beside them.  A word that holds a 64-bit integer, or the address of one, reads the same in 32 bits: so
/// nothing hangs on what is known of a library's width.
struct CallWords {
  static constexpr int most = 40, most_reals = 2;  // pzhegvx has 36, and lengths of letters

  template <class... Words>
  explicit CallWords(Words... words) : CallWords(std::index_sequence_for<Words...>(), words...) {}

  void set(int i, const void* address) { word[i] = reinterpret_cast<std::uint64_t>(address); }
  template <class T>
  T* address(int i) const {
    return reinterpret_cast<T*>(word[i]);
  }

  /// A float is in the lower half of its register.
  template <class R>
  R real_at(int i) const {
    const auto bits = std::bit_cast<std::uint64_t>(real[i]);
    if constexpr (std::is_same_v<R, float>)
      return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    else
      return real[i];
  }
  void set_real(int i, double x) { real[i] = x; }
  void set_real(int i, float x) { real[i] = std::bit_cast<double>(std::uint64_t{std::bit_cast<std::uint32_t>(x)}); }

  std::uint64_t word[most];  ///< as many as the call has
  double real[most_reals] = {};

 private:
  template <std::size_t... I, class... Words>
  explicit CallWords(std::index_sequence<I...>, Words... words) {
    static_assert(sizeof...(words) <= most);
    ((word[I] = static_cast<std::uint64_t>(words)), ...);
  }
};

template <std::size_t>
using WordOf = std::uint64_t;

/// @tparam count  of words
template <int count>
void call(void* function, const CallWords& words) {
  static_assert(count <= CallWords::most);
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    reinterpret_cast<void (*)(WordOf<I>..., double, double)>(function)(words.word[I]..., words.real[0], words.real[1]);
  }
  (std::make_index_sequence<count>());
}

/// The same where the number of words is not known before.
inline void call(void* function, const CallWords& words, int count) {
  [&]<int... I>(std::integer_sequence<int, I...>) {
    static constexpr void (*by_count[])(void*, const CallWords&) = {call<I>...};
    by_count[count](function, words);
  }
  (std::make_integer_sequence<int, CallWords::most + 1>());
}

}  // namespace blaslift
