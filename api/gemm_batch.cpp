// [sdcz]gemm_batch_strided and [sdcz]gemm_batch in every set of names.
#include "api/entries.hpp"
#include "impl/product/batch.hpp"

namespace blaslift {
namespace {

/// Of gemm_batch: all arguments but one are arrays, which the caller's Args show as they are.
template <class T>
struct GemmBatchSignature {
  using Args = GemmGroupsArgs<T>;
  template <class X, class See>
  static constexpr void describe(X& x, See& see) {
    see.operand("transa", x.transa, nullptr);
    see.operand("transb", x.transb, nullptr);
    see.operand("m", x.m, nullptr);
    see.operand("n", x.n, nullptr);
    see.operand("k", x.k, nullptr);
    see.operand("alpha", x.alpha, nullptr);
    see.operand("A", x.A, nullptr);
    see.operand("lda", x.lda, nullptr);
    see.operand("B", x.B, nullptr);
    see.operand("ldb", x.ldb, nullptr);
    see.operand("beta", x.beta, nullptr);
    see.operand("C", x.C, nullptr);
    see.operand("ldc", x.ldc, nullptr);
    see.integer("group_count", x.groups);
    see.operand("group_size", x.sizes, nullptr);
  }
  static bool complete(Args&) { return true; }
  /// As GemmSignature's, group by group.
  static void fold(Args& x) {
    std::swap(x.transa, x.transb);
    std::swap(x.m, x.n);
    std::swap(x.A, x.B);
    std::swap(x.lda, x.ldb);
  }
  /// Of one group; several are too many for the entry.
  [[gnu::always_inline]] static constexpr double volume(const auto& at) {
    return at.integer(0) == 1 ? volume_of(at, 0) : std::numeric_limits<double>::infinity();
  }
  [[gnu::always_inline]] static constexpr double volume_of(const auto& at, index group) {
    const int count = at.places.integers[0], m = count - 11;
    const auto of_group = [&](int word) { return static_cast<double>(at.integers(word).get(group)); };
    return of_group(m) * of_group(m + 1) * of_group(m + 2) * of_group(count + 1);
  }
};

template <class T>
struct GemmBatchCall {
  using Signature = GemmBatchSignature<T>;

  template <Interface interface>
  static void make(const Site& site, CallWords& words) {
    constexpr int first = interface == Interface::cblas ? 1 : 0, at_a = first + 6, at_b = first + 8, at_c = first + 11;
    GemmGroupsArgs<T> args{};
    signatures::described<Signature>(args).show(signatures::Parse(interface, first == 1, is_wide(site), words));
    args.letters = interface == Interface::fortran;
    const int layout = first ? static_cast<int>(words.word[0]) : column_major;
    const bool by_rows = layout == row_major;
    if (by_rows) Signature::fold(args);
    const bool valid = (by_rows || layout == column_major) && args.valid();
    const auto original = [&] { call_words<Signature, interface>(site.function, words); };
    const auto elsewhere = [&](void* const* arrays) {  // of A's, B's and C's addresses
      CallWords other = words;
      other.set(at_a, arrays[by_rows ? 1 : 0]);
      other.set(at_b, arrays[by_rows ? 0 : 1]);
      other.set(at_c, arrays[2]);
      call_words<Signature, interface>(site.function, other);
    };
    gemm_batch(site, valid ? &args : nullptr, replay_of(original, elsewhere));
  }

  /// Adds up the groups, for which the entry would have to save registers in calls of one, too; with registers and
  /// stack as they came.
  template <Symbol symbol>
  [[gnu::noinline]] static void beyond(std::uint64_t a, std::uint64_t b, std::uint64_t c, std::uint64_t d,
                                       std::uint64_t e, std::uint64_t f, double real, double second) {
    const Site* site = known_site(symbol, __builtin_return_address(0));
    const AtTheGate<Signature, symbol> at(site, static_cast<const std::uint64_t*>(__builtin_dwarf_cfa()), a, b, c, d, e,
                                          f);
    const auto volume = [&] {
      double sum = 0;
      for (auto i = index{0}, groups = static_cast<index>(at.integer(0)); i < groups; ++i)
        sum += Signature::volume_of(at, i);
      return sum;
    };
    return next_function(site, LongWayOf<GemmBatchCall, symbol>::go, volume, a, b, c, d, e, f, real, second);
  }
};

template <class T>
constexpr auto strided =
    [](const Site& site, const GemmBatchArgs<T>* args, Replay replay) { gemm_batch(site, args, replay); };

}  // namespace
}  // namespace blaslift

using namespace blaslift;

#define ENTRY(symbol, name, T, interface, width, prefix) BLASLIFT_ENTRY(symbol, GemmBatchCall<T>)
#define GEMM_BATCH(name, type) BLASLIFT_FORTRAN_SYMBOLS(ENTRY, name, type) BLASLIFT_CBLAS_SYMBOLS(ENTRY, name, type)
#include "api/routines.def"

#define ENTRY(symbol, name, T, interface, width, prefix) \
  BLASLIFT_ENTRY(symbol, BlasCall<GemmBatchStridedSignature<T>, strided<T>>)
#define GEMM_BATCH_STRIDED(name, type) \
  BLASLIFT_FORTRAN_SYMBOLS(ENTRY, name, type) BLASLIFT_CBLAS_SYMBOLS(ENTRY, name, type)
#include "api/routines.def"
