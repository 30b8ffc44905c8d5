#include "tests/unit/golden/golden_lanes.hpp"

#include <dlfcn.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "impl/gemv/gemv.hpp"
#include "impl/product/gemm.hpp"
#include "impl/qr/geqrf.hpp"
#include "impl/qr/ormqr.hpp"
#include "impl/route/runtime.hpp"
#include "impl/symv/symv.hpp"
#include "kernels/double_double.hpp"
#include "tests/unit/golden/golden_module.hpp"

namespace blaslift::golden {
namespace {

constexpr std::size_t large_piece = std::size_t{4} << 20;

struct Hooks {
  decltype(&golden_begin) begin;
  decltype(&golden_go_on) go_on;
  decltype(&golden_name) name;
  decltype(&golden_text) text;
};
Hooks hooks{};

/// A call by this routine's Fortran symbol, of a library that is not there.
const Site& site_of(Routine routine) {
  static auto& site = *new Site{};
  for (int s = 0; s < symbol_count; ++s) {
    const SymbolInfo& x = symbol_table[s];
    if (x.routine != routine || (x.interface == Interface::cblas) || *x.prefix) continue;
    site.symbol = static_cast<Symbol>(s);
    break;
  }
  site.counter = static_cast<std::uint8_t>(routine);
  site.function = reinterpret_cast<void*>(&record_lanes);
  return site;
}
Routine routine_called(const std::string& name) {
  for (int r = 0; r < routine_count; ++r)
    if (name == routine_names[r]) return static_cast<Routine>(r);
  std::fprintf(stderr, "no routine %s\n", name.c_str());
  std::exit(3);
}

/// Calls are made three times, and before the last one the program writes to one page of each operand that is only
/// read.
bool repeating = false;

/// Zeros, at the beginning of a page.
template <class T>
class Memory {
 public:
  Memory(const char* name, index count, MemoryKind place)
      : bytes_(std::max<std::size_t>(1, static_cast<std::size_t>(count)) * sizeof(T)),
        at_(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
    if (at_ == MAP_FAILED) std::abort();
    if (repeating) std::memset(at_, 0, bytes_);  // so that there is something to be kept
    hooks.name(name, at_, bytes_, static_cast<int>(place));
  }
  ~Memory() {
    if (!repeating) munmap(at_, bytes_);  // there may be a copy of it, for what comes to lie there
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  T* at() const { return static_cast<T*>(at_); }
  void write_in_the_middle() const { static_cast<volatile char*>(at_)[bytes_ / 2] = 0; }

 private:
  std::size_t bytes_;
  void* at_;
};

template <class Call, class... Operands>
void make(const Call& call, const Operands&... only_read) {
  if (!repeating) return call();
  for (int time = 1; time <= 3; ++time) {
    if (time == 3) (only_read.write_in_the_middle(), ...);
    call();
    std::printf("%scall %d\n", hooks.text(), time);
    hooks.go_on();
  }
}

constexpr Replay replay{[](const void*) { std::puts("by the library underneath"); }, nullptr};

template <class Call>
void record(const std::string& name, std::size_t piece, const Call& call) {
  std::printf("== %s\n", name.c_str());
  hooks.begin(piece);
  call();
  std::fputs(hooks.text(), stdout);
}

std::string number(index x) { return std::to_string(x); }
std::string places_of(std::initializer_list<std::pair<const char*, MemoryKind>> places) {
  std::string text;
  for (const auto& [name, memory] : places)
    if (memory != MemoryKind::pageable)
      text += std::string(", ") + name + (memory == MemoryKind::reachable ? " reachable" : " on the device");
  return text;
}

template <class T>
T scalar(double re, double im) {
  if constexpr (std::is_same_v<T, DoubleDouble>)
    return T(re, re == 0 || re == 1 ? 0 : im * 1e-20);
  else if constexpr (std::is_same_v<T, Real<T>>)
    return static_cast<T>(re);
  else
    return {static_cast<Real<T>>(re), static_cast<Real<T>>(re == 0 || re == 1 ? 0 : im)};
}

constexpr MemoryKind pageable = MemoryKind::pageable, reachable = MemoryKind::reachable,
                     on_device = MemoryKind::on_a_device;

struct Places {
  MemoryKind a = pageable, b = pageable, c = pageable;
};

template <class T>
void gemm_call(const char* ops, index m, index n, index k, double beta, const Places& places = {}, double alpha = -0.5,
               std::size_t piece = large_piece) {
  const Op opa = static_cast<Op>(ops[0]), opb = static_cast<Op>(ops[1]);
  const std::string routine = std::string(1, letter(precision_of<T>)) + "gemm";
  char scalars[64];
  std::snprintf(scalars, sizeof scalars, " alpha %g beta %g", alpha, beta);
  record(routine + ' ' + ops + " m=" + number(m) + " n=" + number(n) + " k=" + number(k) + scalars +
             places_of({{"A", places.a}, {"B", places.b}, {"C", places.c}}),
         piece, [&] {
           const bool na = opa == Op::none, nb = opb == Op::none;
           const index lda = (na ? m : k) + 3, ldb = (nb ? k : n) + 2, ldc = m + 5;
           const Memory<T> A("A", lda * (na ? k : m), places.a), B("B", ldb * (nb ? n : k), places.b),
               C("C", ldc * n, places.c);
           const GemmArgs<T> args{
               opa, opb, m, n, k, scalar<T>(alpha, 0.25), A.at(), lda, B.at(), ldb, scalar<T>(beta, -0.3), C.at(), ldc};
           make([&] { gemm(site_of(routine_called(routine)), &args, replay); }, A, B);
         });
}

template <class T>
void syrk_call(const char* how, index n, index k, double beta, const Places& places = {},
               std::size_t piece = large_piece) {
  const bool hermitian = how[0] == 'h';
  const Uplo uplo = static_cast<Uplo>(how[1]);
  const Op trans = static_cast<Op>(how[2]);
  const std::string routine = std::string(1, letter(precision_of<T>)) + (hermitian ? "herk" : "syrk");
  char scalars[64];
  std::snprintf(scalars, sizeof scalars, " beta %g", beta);
  record(routine + ' ' + (how + 1) + " n=" + number(n) + " k=" + number(k) + scalars +
             places_of({{"A", places.a}, {"C", places.c}}),
         piece, [&] {
           const bool plain = trans == Op::none;
           const index lda = (plain ? n : k) + 3, ldc = n + 5;
           const Memory<T> A("A", lda * (plain ? k : n), places.a), C("C", ldc * n, places.c);
           const double im = hermitian ? 0 : 0.25;
           const SyrkArgs<T> args{hermitian,           uplo,   trans, n, k, scalar<T>(-0.5, im), A.at(), lda,
                                  scalar<T>(beta, im), C.at(), ldc};
           make([&] { syrk(site_of(routine_called(routine)), &args, replay); }, A);
         });
}

/// @param how  the triangle and both ops
template <class T>
void gemmt_call(const char* how, index n, index k, double beta, const Places& places = {}) {
  const Uplo uplo = static_cast<Uplo>(how[0]);
  const Op opa = static_cast<Op>(how[1]), opb = static_cast<Op>(how[2]);
  const std::string routine = std::string(1, letter(precision_of<T>)) + "gemmt";
  char scalars[64];
  std::snprintf(scalars, sizeof scalars, " beta %g", beta);
  record(routine + ' ' + how + " n=" + number(n) + " k=" + number(k) + scalars +
             places_of({{"A", places.a}, {"B", places.b}, {"C", places.c}}),
         large_piece, [&] {
           const bool na = opa == Op::none, nb = opb == Op::none;
           const index lda = (na ? n : k) + 3, ldb = (nb ? k : n) + 2, ldc = n + 5;
           const Memory<T> A("A", lda * (na ? k : n), places.a), B("B", ldb * (nb ? n : k), places.b),
               C("C", ldc * n, places.c);
           const GemmtArgs<T> args{
               uplo,   opa, opb, n, k, scalar<T>(-0.5, 0.25), A.at(), lda, B.at(), ldb, scalar<T>(beta, 0.25),
               C.at(), ldc};
           make([&] { gemmt(site_of(routine_called(routine)), &args, replay); }, A, B);
         });
}

template <class T>
void syr2k_call(const char* how, index n, index k, double beta, const Places& places = {}) {
  const bool hermitian = how[0] == 'h';
  const Uplo uplo = static_cast<Uplo>(how[1]);
  const Op trans = static_cast<Op>(how[2]);
  const std::string routine = std::string(1, letter(precision_of<T>)) + (hermitian ? "her2k" : "syr2k");
  char scalars[64];
  std::snprintf(scalars, sizeof scalars, " beta %g", beta);
  record(routine + ' ' + (how + 1) + " n=" + number(n) + " k=" + number(k) + scalars +
             places_of({{"A", places.a}, {"B", places.b}, {"C", places.c}}),
         large_piece, [&] {
           const bool plain = trans == Op::none;
           const index lda = (plain ? n : k) + 3, ldb = (plain ? n : k) + 2, ldc = n + 5;
           const Memory<T> A("A", lda * (plain ? k : n), places.a), B("B", ldb * (plain ? k : n), places.b),
               C("C", ldc * n, places.c);
           const Syr2kArgs<T> args{hermitian,
                                   uplo,
                                   trans,
                                   n,
                                   k,
                                   scalar<T>(-0.5, 0.25),
                                   A.at(),
                                   lda,
                                   B.at(),
                                   ldb,
                                   scalar<T>(beta, hermitian ? 0 : 0.25),
                                   C.at(),
                                   ldc};
           make([&] { syr2k(site_of(routine_called(routine)), &args, replay); }, A, B);
         });
}

template <class T>
void symv_call(Uplo uplo, index n, index incx, index incy, double alpha, double beta, const Places& places = {},
               bool conjugated = false, std::size_t piece = large_piece) {
  constexpr bool complex = is_complex(element_of<T>);
  const std::string routine = std::string(1, letter(element_of<T>)) + (complex ? "hemv" : "symv");
  char scalars[96];
  std::snprintf(scalars, sizeof scalars, " incx=%lld incy=%lld alpha %g beta %g%s", static_cast<long long>(incx),
                static_cast<long long>(incy), alpha, beta, conjugated ? " conjugated" : "");
  record(routine + ' ' + static_cast<char>(uplo) + " n=" + number(n) + scalars +
             (piece == large_piece ? "" : " in pieces of " + number(static_cast<index>(piece)) + " bytes") +
             places_of({{"A", places.a}, {"x", places.b}, {"y", places.c}}),
         piece, [&] {
           const index lda = n + 3;
           const auto length = [n](index inc) { return 1 + (n - 1) * (inc < 0 ? -inc : inc); };
           const Memory<T> A("A", lda * n, places.a), x("x", length(incx), places.b), y("y", length(incy), places.c);
           const SymvArgs<T> args{uplo,      n,    scalar<T>(alpha, 0.25), A.at(), lda,
                                  x.at(),    incx, scalar<T>(beta, -0.3),  y.at(), incy,
                                  conjugated};
           make([&] { symv(site_of(routine_called(routine)), &args, replay); }, A, x);
         });
}

template <class T>
void gemv_call(Op trans, index m, index n, index incx, index incy, double alpha, double beta, const Places& places = {},
               bool conjugated = false, std::size_t piece = large_piece) {
  const std::string routine = std::string(1, letter(element_of<T>)) + "gemv";
  char scalars[96];
  std::snprintf(scalars, sizeof scalars, " incx=%lld incy=%lld alpha %g beta %g%s", static_cast<long long>(incx),
                static_cast<long long>(incy), alpha, beta, conjugated ? " conjugated" : "");
  record(routine + ' ' + static_cast<char>(trans) + " m=" + number(m) + " n=" + number(n) + scalars +
             (piece == large_piece ? "" : " in pieces of " + number(static_cast<index>(piece)) + " bytes") +
             places_of({{"A", places.a}, {"x", places.b}, {"y", places.c}}),
         piece, [&] {
           const index lda = m + 3, nx = trans == Op::none ? n : m, ny = trans == Op::none ? m : n;
           const auto length = [](index size, index inc) { return 1 + (size - 1) * (inc < 0 ? -inc : inc); };
           const Memory<T> A("A", lda * n, places.a), x("x", length(nx, incx), places.b),
               y("y", length(ny, incy), places.c);
           const GemvArgs<T> args{trans, m,         n,    scalar<T>(alpha, 0.25), A.at(),
                                  lda,   x.at(),    incx, scalar<T>(beta, -0.3),  y.at(),
                                  incy,  conjugated};
           make([&] { gemv(site_of(routine_called(routine)), &args, replay); }, A, x);
         });
}

void say_computed(Computed computed) {
  constexpr const char* names[] = {"not computed", "computed", "computed in device memory"};
  std::puts(names[static_cast<int>(computed)]);
}

template <class T>
void geqrf_call(index m, index n, const Places& places = {}) {
  const std::string routine = std::string(1, letter(precision_of<T>)) + "geqrf";
  record(routine + " m=" + number(m) + " n=" + number(n) + places_of({{"A", places.a}, {"tau", places.b}}), large_piece,
         [&] {
           const index lda = m + 3;
           const Memory<T> A("A", lda * n, places.a), tau("tau", std::min(m, n), places.b);
           const GeqrfArgs<T> args{m, n, A.at(), lda, tau.at()};
           make([&] { say_computed(geqrf(site_of(routine_called(routine)), &args, replay)); });
         });
}

template <class T>
void q_call(const char* how, index m, index n, index k, const Places& places = {}) {
  const bool of_identity = how[0] == 'G';
  const QProduct product{of_identity || how[0] == 'L', !of_identity && how[1] != 'N', m, n, k, of_identity};
  const bool complex = is_complex(precision_of<T>);
  const std::string routine =
      std::string(1, letter(precision_of<T>)) + (complex ? "un" : "or") + (of_identity ? "gqr" : "mqr");
  record(routine + ' ' + how + " m=" + number(m) + " n=" + number(n) + " k=" + number(k) +
             places_of({{"A", places.a}, {"tau", places.b}, {"C", places.c}}),
         large_piece, [&] {
           const index lda = product.order() + 3, ldc = of_identity ? lda : m + 5;
           const Memory<T> A("A", lda * (of_identity ? n : k), places.a), tau("tau", k, places.b);
           const Memory<T> C("C", ldc * n, places.c);
           const OrmqrArgs<T> args{product, A.at(), lda, tau.at(), of_identity ? A.at() : C.at(), ldc};
           make([&] { say_computed(ormqr(site_of(routine_called(routine)), &args, replay)); }, A);
         });
}

using s = float;
using d = double;
using c = std::complex<float>;
using z = std::complex<double>;

void gemm_classical() {
  gemm_call<s>("NN", 300, 200, 100, 0);
  gemm_call<d>("NN", 300, 200, 100, 0);
  gemm_call<c>("NN", 300, 200, 100, 0);
  gemm_call<z>("NN", 300, 200, 100, 0);
  for (const char* ops : {"NT", "TN", "TT", "TC"}) gemm_call<d>(ops, 131, 67, 91, 0.7);
  for (const char* ops : {"CN", "NC", "CC"}) gemm_call<z>(ops, 131, 67, 91, 0.7);
  gemm_call<d>("NN", 2500, 1500, 1300, 0);
  gemm_call<d>("NN", 2500, 2500, 2500, 1);
  gemm_call<z>("TN", 1031, 2257, 1021, 0.5);
  gemm_call<d>("NN", 100, 100, 5000, 0);
  gemm_call<d>("NN", 100, 100, 0, 0.5);
  gemm_call<d>("NN", 100, 120, 30, 0.5, {}, 0);
  gemm_call<d>("NN", 1, 1, 1, 1);
  gemm_call<d>("NN", 1100, 300, 200, 0, {reachable, pageable, pageable});
  gemm_call<d>("NN", 1100, 300, 200, 0, {reachable, reachable, reachable});
  gemm_call<d>("NN", 1100, 300, 200, 1, {pageable, pageable, reachable});
  gemm_call<d>("NT", 1100, 300, 200, 1, {on_device, pageable, pageable});
  gemm_call<d>("NN", 1100, 300, 200, 1, {pageable, pageable, on_device});
  gemm_call<d>("TN", 1100, 300, 200, 0, {on_device, on_device, pageable});
  gemm_call<d>("NN", 1100, 300, 200, 1, {on_device, on_device, on_device});
}
void syrk_classical() {
  syrk_call<s>("sUN", 300, 200, 0);
  syrk_call<d>("sLT", 301, 203, 0.5);
  syrk_call<c>("sLN", 300, 200, 1);
  syrk_call<z>("hUC", 300, 200, 0.5);
  syrk_call<c>("hLN", 1500, 100, 0);
  syrk_call<d>("sUT", 2500, 700, 1);
  syrk_call<d>("sLN", 2500, 1300, 0);
  syrk_call<d>("sUN", 1100, 300, 1, {on_device, pageable, pageable});
  syrk_call<d>("sLN", 1100, 300, 1, {pageable, pageable, on_device});
  syrk_call<d>("sLN", 1100, 300, 0, {on_device, pageable, on_device});
  syrk_call<d>("sLN", 1100, 300, 1, {reachable, pageable, reachable});
}
void gemmt_classical() {
  gemmt_call<s>("UNN", 300, 200, 0);
  gemmt_call<z>("LCT", 301, 203, 0.5);
  gemmt_call<d>("LTN", 2500, 1300, 1);
  gemmt_call<d>("UNT", 1100, 300, 1, {on_device, pageable, pageable});
  gemmt_call<d>("LNN", 1100, 300, 1, {on_device, on_device, on_device});
}
void syr2k_classical() {
  syr2k_call<s>("sUN", 300, 200, 0);
  syr2k_call<z>("hLC", 301, 203, 0.5);
  syr2k_call<d>("sLN", 2500, 1300, 1);
  syr2k_call<c>("hUN", 1500, 100, 0);
  syr2k_call<d>("sLT", 1100, 300, 1, {pageable, on_device, pageable});
  syr2k_call<d>("sUN", 1100, 300, 1, {on_device, on_device, on_device});
}
void by_levels() {
  gemm_call<d>("NN", 1024, 1024, 1024, 0);
  gemm_call<s>("TN", 1100, 1060, 1210, 0.5);
  gemm_call<z>("NC", 1060, 1100, 1060, 0);
  gemm_call<d>("NN", 1024, 1024, 1024, 1, {on_device, on_device, on_device});
  gemm_call<d>("NN", 1024, 1024, 2048, 0, {pageable, pageable, on_device});
  syrk_call<d>("sLN", 2200, 1100, 0.5);
  syrk_call<z>("hUC", 2048, 1024, 0);
  gemmt_call<d>("LNN", 2200, 1100, 0.5);
}
void few_by_levels() {
  gemm_call<d>("NT", 1100, 1060, 1210, 0);
  gemm_call<d>("NN", 1024, 1024, 1024, 0.5);
}
void in_little_memory() {
  gemm_call<d>("NN", 1500, 1400, 1300, 0, {}, -0.5, std::size_t{1} << 18);
  gemm_call<z>("CT", 900, 700, 800, 0.5);
  gemm_call<s>("NN", 600, 4000, 3000, 1);
  gemm_call<d>("NN", 1500, 700, 600, 1, {reachable, pageable, pageable});
  gemm_call<d>("NN", 1500, 700, 600, 1, {on_device, pageable, pageable});
  syrk_call<d>("sLN", 1500, 900, 0.5, {}, std::size_t{1} << 18);
  syrk_call<z>("hUC", 800, 1700, 0);
  gemmt_call<d>("LNT", 1500, 900, 0.5);
  syr2k_call<d>("sUN", 1500, 900, 0.5);
}

template <class T>
void symv_of() {
  for (const Uplo uplo : {Uplo::upper, Uplo::lower}) {
    symv_call<T>(uplo, 130, 1, 1, -0.5, 0);
    symv_call<T>(uplo, 1500, 1, 1, 1, 0.7);
  }
}
void symv_calls() {
  symv_of<s>();
  symv_of<d>();
  symv_of<c>();
  symv_of<z>();
  symv_of<DoubleDouble>();
  for (const index n : {1, 63, 64, 65, 2049, 4500, 8000}) symv_call<d>(Uplo::lower, n, 1, 1, 1, 0);
  symv_call<d>(Uplo::upper, 8000, 1, 1, 1, 1);
  symv_call<d>(Uplo::lower, 200, 2, 3, -0.5, 0.7);
  symv_call<d>(Uplo::lower, 200, -1, -2, -0.5, 0.7);
  symv_call<d>(Uplo::lower, 200, 1, 1, 0, 0.7);
  symv_call<d>(Uplo::lower, 200, 1, 1, 0, 0);
  symv_call<z>(Uplo::upper, 200, 1, -1, -0.5, 0.7, {}, true);
  symv_call<c>(Uplo::lower, 200, 1, 1, -0.5, 0, {}, true);
  symv_call<d>(Uplo::lower, 1000, 1, 1, 1, 0.5, {}, false, 1600);
  symv_call<z>(Uplo::upper, 777, 1, 2, 1, 0, {}, false, 1000);
  symv_call<d>(Uplo::lower, 200, 1, 1, 1, 0.5, {reachable, pageable, pageable});
  symv_call<d>(Uplo::lower, 200, 1, 1, 1, 0.5, {reachable, reachable, reachable});
  symv_call<d>(Uplo::upper, 200, 1, 1, 1, 0.5, {on_device, pageable, pageable});
  symv_call<d>(Uplo::upper, 200, 2, 1, 1, 0.5, {pageable, on_device, pageable});
  symv_call<d>(Uplo::upper, 200, 1, -2, 1, 0.5, {pageable, pageable, on_device});
  symv_call<s>(Uplo::lower, 700, 2, 3, 1, 0.5, {on_device, on_device, on_device});
  symv_call<DoubleDouble>(Uplo::lower, 300, 1, 1, 1, 0, {pageable, on_device, on_device});
}
template <class T>
void gemv_of() {
  for (const Op trans : {Op::none, Op::transpose, Op::conjugate}) {
    gemv_call<T>(trans, 130, 90, 1, 1, -0.5, 0);
    gemv_call<T>(trans, 900, 1500, 1, 1, 1, 0.7);
  }
}
void gemv_calls() {
  gemv_of<s>();
  gemv_of<d>();
  gemv_of<c>();
  gemv_of<z>();
  for (const auto& [m, n] : {std::pair<index, index>{1, 1}, {1, 4000}, {4000, 1}, {4500, 64}, {64, 4500}})
    for (const Op trans : {Op::none, Op::transpose}) gemv_call<d>(trans, m, n, 1, 1, 1, 0);
  gemv_call<d>(Op::none, 200, 100, 2, 3, -0.5, 0.7);
  gemv_call<d>(Op::transpose, 200, 100, -1, -2, -0.5, 0.7);
  gemv_call<d>(Op::none, 200, 100, 1, 1, 0, 0.7);
  gemv_call<d>(Op::transpose, 200, 100, 1, 1, 0, 0);
  gemv_call<z>(Op::none, 200, 100, 1, -1, -0.5, 0.7, {}, true);
  gemv_call<d>(Op::none, 1000, 100, 1, 1, 1, 0.5, {}, false, 1600);
  gemv_call<d>(Op::none, 200, 100, 1, 1, 1, 0.5, {reachable, pageable, pageable});
  gemv_call<d>(Op::transpose, 200, 100, 1, 1, 1, 0.5, {reachable, reachable, reachable});
  gemv_call<d>(Op::none, 200, 100, 1, 1, 1, 0.5, {on_device, pageable, pageable});
  gemv_call<d>(Op::none, 200, 100, 2, 1, 1, 0.5, {pageable, on_device, pageable});
  gemv_call<d>(Op::transpose, 200, 100, 1, -2, 1, 0.5, {pageable, pageable, on_device});
  gemv_call<s>(Op::none, 700, 300, 2, 3, 1, 0.5, {on_device, on_device, on_device});
}
void gemv_in_little_memory() {
  gemv_call<d>(Op::none, 1500, 1000, 1, 1, 1, 0.5);
  gemv_call<d>(Op::transpose, 300, 200, 1, 1, 1, 0.5);
}

void symv_in_little_memory() {
  symv_call<d>(Uplo::lower, 1500, 1, 1, 1, 0.5);
  symv_call<d>(Uplo::lower, 300, 1, 1, 1, 0.5);
}

void geqrf_calls() {
  geqrf_call<s>(300, 200);
  geqrf_call<d>(200, 300);
  geqrf_call<c>(300, 300);
  geqrf_call<z>(500, 131);
  geqrf_call<d>(1, 1);
  geqrf_call<d>(5, 900);
  geqrf_call<d>(3000, 1);
  geqrf_call<d>(1500, 1100);
  geqrf_call<d>(300, 200, {on_device, on_device, pageable});
  geqrf_call<d>(300, 200, {on_device, pageable, pageable});
  geqrf_call<d>(300, 200, {pageable, on_device, pageable});
  geqrf_call<z>(300, 200, {reachable, pageable, pageable});
}
void geqrf_large() {
  geqrf_call<d>(2600, 2300);
  geqrf_call<z>(900, 2500);
}
void geqrf_in_little_memory() {
  geqrf_call<d>(700, 900);
  geqrf_call<s>(1500, 600);
  geqrf_call<z>(500, 300);
}
void q_calls() {
  q_call<s>("LN", 300, 200, 100);
  q_call<d>("LT", 300, 200, 300);
  q_call<d>("RN", 200, 300, 150);
  q_call<d>("RT", 200, 300, 150);
  q_call<c>("RC", 200, 300, 150);
  q_call<z>("LC", 500, 131, 140);
  q_call<d>("LT", 1500, 300, 1100);
  q_call<d>("G", 300, 200, 150);
  q_call<z>("G", 300, 300, 300);
  q_call<d>("G", 300, 20, 0, {on_device, on_device, pageable});
  q_call<d>("LN", 300, 200, 100, {on_device, on_device, on_device});
  q_call<d>("LN", 300, 200, 100, {on_device, pageable, pageable});
  q_call<d>("RN", 200, 300, 100, {pageable, pageable, on_device});
  q_call<d>("G", 300, 200, 100, {on_device, on_device, pageable});
  q_call<d>("LN", 300, 200, 100, {reachable, reachable, reachable});
}
void q_in_little_memory() {
  q_call<d>("LT", 700, 900, 700);
  q_call<s>("RN", 2000, 600, 300);
  q_call<z>("G", 500, 400, 300);
}

void with_copies() {
  repeating = true;
  gemm_call<d>("NT", 300, 200, 100, 0.5);
  gemm_call<z>("NN", 150, 160, 170, 0);
  syrk_call<d>("sLN", 300, 200, 0.5);
  symv_call<d>(Uplo::lower, 700, 1, 1, 1, 0.5);
  symv_call<z>(Uplo::upper, 300, 2, -1, 1, 0);
  symv_call<DoubleDouble>(Uplo::upper, 300, 1, 1, 1, 0);
  gemv_call<d>(Op::none, 700, 400, 1, 1, 1, 0.5);
  gemv_call<z>(Op::conjugate, 300, 200, 2, -1, 1, 0);
  geqrf_call<d>(300, 200);
  q_call<d>("LT", 300, 200, 100);
  q_call<d>("RN", 200, 300, 100);
}

struct Set {
  std::string_view name;
  void (*calls)();
};
constexpr Set sets[] = {{"gemm", gemm_classical},
                        {"syrk", syrk_classical},
                        {"gemmt", gemmt_classical},
                        {"syr2k", syr2k_classical},
                        {"levels", by_levels},
                        {"few levels", few_by_levels},
                        {"gemm in little memory", in_little_memory},
                        {"symv", symv_calls},
                        {"symv in little memory", symv_in_little_memory},
                        {"gemv", gemv_calls},
                        {"gemv in little memory", gemv_in_little_memory},
                        {"geqrf", geqrf_calls},
                        {"large geqrf", geqrf_large},
                        {"geqrf in little memory", geqrf_in_little_memory},
                        {"Q", q_calls},
                        {"Q in little memory", q_in_little_memory},
                        {"copies", with_copies}};

}  // namespace

int record_lanes(const char* set) {
  void* module = dlopen(BLASLIFT_GOLDEN_MODULE, RTLD_NOW | RTLD_LOCAL);
  if (!module) return std::fprintf(stderr, "%s\n", dlerror()), 2;
  const auto find = [module](auto& hook, const char* name) {
    hook = reinterpret_cast<std::remove_reference_t<decltype(hook)>>(dlsym(module, name));
  };
  find(hooks.begin, "golden_begin");
  find(hooks.go_on, "golden_go_on");
  find(hooks.name, "golden_name");
  find(hooks.text, "golden_text");
  for (const Set& x : sets)
    if (x.name == set) {
      x.calls();
      return repeating && runtime().first.residency.state() != "on" ? no_copies : 0;
    }
  return std::fprintf(stderr, "no set %s\n", set), 2;
}

}  // namespace blaslift::golden
