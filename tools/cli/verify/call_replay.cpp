#include "tools/cli/verify/call_replay.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <iterator>

#include "compat/library.hpp"

namespace blaslift::cli {
namespace {

struct Function {
  void* at;
  bool wide;
};

/// The routine's symbol of this interface, in the program's set of names if possible.
Function find(const Recorded& r, Interface interface, const std::string& fallback, bool narrow) {
  const auto same = [&r](const SymbolInfo& s) { return r.text.symbol == s.name; };
  const auto program = std::find_if(std::begin(symbol_table), std::end(symbol_table), same);
  const std::string prefix = program == std::end(symbol_table) ? "" : program->prefix;
  std::string looked;
  for (const bool own_names : {true, false})
    for (int i = 0; i < symbol_count; ++i) {
      const SymbolInfo& s = symbol_table[i];
      if (r.text.routine != s.base || s.interface != interface || (prefix == s.prefix) != own_names) continue;
      const auto symbol = static_cast<Symbol>(i);
      Target target;
      const auto finds = [&](Symbol x) { return find_target(x, nullptr, fallback.c_str(), target, looked); };
      // Where no library has batches they are made of its products.
      const Routine gemm = products_of(s.routine);
      if (!finds(symbol) && (gemm == Routine::count || !finds(symbol_beside(symbol, gemm)))) continue;
      if (!target.wide && !narrow) fail("the record's call has integers of 64 bits, and this library's have 32");
      if (void* f = dlsym(RTLD_DEFAULT, s.name)) return {f, target.wide};
    }
  fail("no library here has " + r.text.routine + ": looked for " + looked);
}

/// What only CBLAS says, of Args that came from a row-major call.
template <class Args>
bool only_row_major(const Args&) {
  return false;
}
template <class T>
bool only_row_major(const SymvArgs<T>& args) {
  return args.conjugated;
}
template <class T>
bool only_row_major(const GemvArgs<T>& args) {
  return args.conjugated;
}

void make(const Recorded& r, const std::string& fallback, signatures::Described call, bool in_rows) {
  const bool narrow = signatures::is_narrow(call);
  const Function function = find(r, in_rows ? Interface::cblas : Interface::fortran, fallback, narrow);
  if (in_rows) {
    call.fold();
    signatures::call(call, function.at, Interface::cblas, row_major);
  } else {
    signatures::call(call, function.at, function.wide);
  }
}

template <class Signature>
void make(const Recorded& r, const std::string& fallback) {
  RecordedCall<Signature> recorded(r);
  const auto& args = recorded.args;
  if constexpr (requires { args.conjugated; })
    if (args.conjugated && std::is_floating_point_v<std::remove_const_t<decltype(args.alpha)>>) fail(not_a_call);
  make(r, fallback, recorded.call(), only_row_major(args));
}

/// A call of gemm_batch (impl/core/batch_call.hpp), by its Fortran symbol.
template <class T>
void make_batches(const Recorded& r, const std::string& fallback) {
  const RecordedBatches<T> call(r);
  std::string ops[2];
  std::vector<index> numbers[7];  // m, n, k, lda, ldb, ldc and group sizes
  std::vector<T> alpha, beta;
  std::vector<const T*> a, b;
  std::vector<T*> c;
  bool narrow = true;
  for (const auto& x : call.batches) {
    const GemmBatchArgs<T>& args = x.args;
    ops[0] += static_cast<char>(args.transa);
    ops[1] += static_cast<char>(args.transb);
    // Records have no A and B of a group that does not multiply, and libraries are there that read them even so.
    const bool multiplies = args.multiplies();
    const index of_args[] = {args.m, args.n, multiplies ? args.k : 0, args.lda, args.ldb, args.ldc, args.count};
    for (std::size_t i = 0; i < std::size(of_args); ++i) {
      numbers[i].push_back(of_args[i]);
      narrow = narrow && of_args[i] <= INT32_MAX;
    }
    alpha.push_back(args.alpha);
    beta.push_back(args.beta);
    for (index i = 0; i < args.count; ++i) {
      a.push_back(multiplies ? args.a_at(i) : args.c_at(i));
      b.push_back(multiplies ? args.b_at(i) : args.c_at(i));
      c.push_back(args.c_at(i));
    }
  }
  const Function function = find(r, Interface::fortran, fallback, narrow);
  std::vector<std::int32_t> in_32_bits[std::size(numbers)];
  const void* sizes[std::size(numbers)];
  for (std::size_t i = 0; i < std::size(numbers); ++i) {
    in_32_bits[i].assign(numbers[i].begin(), numbers[i].end());
    sizes[i] = function.wide ? static_cast<const void*>(numbers[i].data()) : in_32_bits[i].data();
  }
  const auto groups = static_cast<index>(call.batches.size());  // the lower half of it comes first
  const void* const all[] = {ops[0].data(), ops[1].data(), sizes[0], sizes[1], sizes[2],
                             alpha.data(),  a.data(),      sizes[3], b.data(), sizes[4],
                             beta.data(),   c.data(),      sizes[5], &groups,  sizes[6]};
  CallWords words;
  for (std::size_t i = 0; i < std::size(all); ++i) words.set(static_cast<int>(i), all[i]);
  blaslift::call<std::size(all)>(function.at, words);
}

}  // namespace

const char* system_library(const std::string& routine) {
  bool lapack = false;
  for (int i = 0; i < routine_count; ++i)
    lapack = lapack || (routine == routine_names[i] && is_lapack(static_cast<Routine>(i)));
  return lapack ? "liblapack.so.3" : "libblas.so.3";
}

void make_call(const Recorded& recorded, const std::string& fallback, const std::string& library) {
  const std::string& routine = recorded.text.routine;
  for (const std::string& one : {fallback, library, std::string(system_library(routine))})
    if (!one.empty() && dlopen(one.c_str(), RTLD_NOW | RTLD_GLOBAL)) break;
#define GEMM_BATCH(name, type) \
  if (routine == #name) return make_batches<type>(recorded, fallback);
#define COPY(name, type)
#define GEQR(name, type)
#define GEMQR(name, type)
#define WSYMV(name, type)
#define ROUTINE(kind, name, type) \
  if (routine == #name) return make<signature_of::kind<type>>(recorded, fallback);
#include "api/routines.def"
  fail("records of " + routine + " cannot be replayed");
}

}  // namespace blaslift::cli
