#include "tools/cli/verify/call_replay.hpp"

#include <dlfcn.h>
#include <sys/sysinfo.h>

#include <algorithm>
#include <cerrno>
#include <complex>
#include <cstring>
#include <sstream>
#include <stdexcept>

#include "compat/library.hpp"
#include "impl/core/args.hpp"
#include "impl/core/regular_file.hpp"
#include "impl/core/text.hpp"
#include "impl/judge/judge.hpp"

namespace blaslift::cli {

std::uint64_t memory_for_calls = [] {
  struct sysinfo system {};
  return sysinfo(&system) == 0 ? std::uint64_t{system.totalram} * system.mem_unit : std::uint64_t{1} << 40;
}();

namespace {

[[noreturn]] void fail(const std::string& why) { throw std::runtime_error(why); }

template <class T>
T number_in(const Recorded& r, const char* name) {
  T value{};
  if (!read_number(r.argument(name), value)) fail(std::string("the record's ") + name + " is not a number");
  return value;
}

char letter_in(const Recorded& r, const char* name, std::string_view allowed) {
  const std::string value = r.argument(name);
  if (value.size() != 1 || allowed.find(value[0]) == allowed.npos)
    fail(std::string("the record's ") + name + " is not one of " + std::string(allowed));
  return value[0];
}

template <class T>
T scalar_in(const Recorded& r, const char* name) {
  const std::string value = r.argument(name);
  const std::size_t comma = value.find(',');
  double re = 0, im = 0;
  const bool good = read_number(std::string_view(value).substr(0, comma), re) &&
                    (comma == value.npos || read_number(std::string_view(value).substr(comma + 1), im));
  if (!good) fail(std::string("the record's ") + name + " is not a number");
  if constexpr (std::is_floating_point_v<T>)
    return static_cast<T>(re);
  else
    return {static_cast<typename T::value_type>(re), static_cast<typename T::value_type>(im)};
}

/// An operand as the program had it; what is not in the record is NaN.
template <class T>
class Storage {
 public:
  /// @param may_be_absent  the call does not read it
  Storage(const Recorded& r, const std::string& name, index rows, index cols, index ld, bool may_be_absent) {
    const auto found = std::find_if(r.blocks.begin(), r.blocks.end(), [&](const auto& b) { return b.name == name; });
    constexpr index most = index{1} << 44;
    if (rows < 0 || cols < 0 || ld < rows || ld < 1 || (cols > 0 && ld > most / cols))
      fail("the record's sizes are not those of an operand");
    const std::size_t bytes = static_cast<std::size_t>(ld * std::max<index>(1, cols)) * sizeof(T);
    if (bytes > memory_for_calls) fail("the record's " + name + " is larger than this machine's memory");
    bytes_.assign(bytes, '\xff');
    if (found == r.blocks.end()) {
      if (!may_be_absent) fail("the record has no " + name);
      return;
    }
    if (found->rows != rows || found->cols != cols || found->element != sizeof(T))
      fail("the record's " + name + " is not as large as its arguments say");
    for (index j = 0; j < cols && rows > 0; ++j)
      std::memcpy(&bytes_[static_cast<std::size_t>(j * ld) * sizeof(T)],
                  &found->data[static_cast<std::size_t>(j * rows) * sizeof(T)],
                  static_cast<std::size_t>(rows) * sizeof(T));
  }
  T* at() { return reinterpret_cast<T*>(bytes_.data()); }

 private:
  std::vector<char> bytes_;
};

struct Found {
  void* function;
  bool wide;
};

/// Whether the call's sizes and steps are some of 32 bits.
bool is_narrow(const Recorded& r) {
  std::istringstream words(r.text.arguments);
  for (std::string word; words >> word;) {
    index value = 0;
    if (read_number(std::string_view(word).substr(std::min(word.size(), word.find('=') + 1)), value) &&
        (value > INT32_MAX || value < -INT32_MAX))
      return false;
  }
  return true;
}

/// The routine's symbol of this interface, in the program's family of names if possible, and the width it has here.
Found find(const Recorded& r, Interface interface, const std::string& fallback) {
  const auto same = [&r](const SymbolInfo& s) { return r.text.symbol == s.name; };
  const auto program = std::find_if(std::begin(symbol_table), std::end(symbol_table), same);
  const std::string prefix = program == std::end(symbol_table) ? "" : program->prefix;
  std::string looked;
  for (const bool own_family : {true, false})
    for (int i = 0; i < symbol_count; ++i) {
      const SymbolInfo& s = symbol_table[i];
      if (r.text.routine != s.base || s.interface != interface || (prefix == s.prefix) != own_family) continue;
      Target target;
      if (!find_target(static_cast<Symbol>(i), nullptr, fallback.c_str(), target, looked)) continue;
      if (!target.wide && !is_narrow(r)) fail("the record's call has integers of 64 bits, and this library's have 32");
      if (void* f = dlsym(RTLD_DEFAULT, s.name)) return {f, target.wide};
    }
  fail("no library here has " + r.text.routine + ": looked for " + looked);
}

template <class Int, class T>
void call(void* function, const GemmArgs<T>& x) {
  using Function = void (*)(const char*, const char*, const Int*, const Int*, const Int*, const T*, const T*,
                            const Int*, const T*, const Int*, const T*, T*, const Int*, std::size_t, std::size_t);
  const char transa = static_cast<char>(x.transa), transb = static_cast<char>(x.transb);
  const Int m = static_cast<Int>(x.m), n = static_cast<Int>(x.n), k = static_cast<Int>(x.k);
  const Int lda = static_cast<Int>(x.lda), ldb = static_cast<Int>(x.ldb), ldc = static_cast<Int>(x.ldc);
  reinterpret_cast<Function>(function)(&transa, &transb, &m, &n, &k, &x.alpha, x.A, &lda, x.B, &ldb, &x.beta, x.C, &ldc,
                                       1, 1);
}

template <class Int, class T>
void call(void* function, const SyrkArgs<T>& x) {
  // The scalars of a herk are real, and what a complex number begins with.
  using Function = void (*)(const char*, const char*, const Int*, const Int*, const T*, const T*, const Int*, const T*,
                            T*, const Int*, std::size_t, std::size_t);
  const char uplo = static_cast<char>(x.uplo), trans = static_cast<char>(x.trans);
  const Int n = static_cast<Int>(x.n), k = static_cast<Int>(x.k);
  const Int lda = static_cast<Int>(x.lda), ldc = static_cast<Int>(x.ldc);
  reinterpret_cast<Function>(function)(&uplo, &trans, &n, &k, &x.alpha, x.A, &lda, &x.beta, x.C, &ldc, 1, 1);
}

template <class Int, class T>
void call(void* function, const SymvArgs<T>& x) {
  if constexpr (!std::is_floating_point_v<T>)
    if (x.conjugated) {  // only CBLAS says that: row-major, of the other triangle
      using Function = void (*)(int, int, Int, const T*, const T*, Int, const T*, Int, const T*, T*, Int);
      constexpr int row_major = 101, upper = 121, lower = 122;
      return reinterpret_cast<Function>(function)(row_major, x.uplo == Uplo::upper ? lower : upper,
                                                  static_cast<Int>(x.n), &x.alpha, x.A, static_cast<Int>(x.lda), x.x,
                                                  static_cast<Int>(x.incx), &x.beta, x.y, static_cast<Int>(x.incy));
    }
  using Function = void (*)(const char*, const Int*, const T*, const T*, const Int*, const T*, const Int*, const T*, T*,
                            const Int*, std::size_t);
  const char uplo = static_cast<char>(x.uplo);
  const Int n = static_cast<Int>(x.n), lda = static_cast<Int>(x.lda);
  const Int incx = static_cast<Int>(x.incx), incy = static_cast<Int>(x.incy);
  reinterpret_cast<Function>(function)(&uplo, &n, &x.alpha, x.A, &lda, x.x, &incx, &x.beta, x.y, &incy, 1);
}

template <class Int, class T>
void call(void* function, const GeqrfArgs<T>& x) {
  using Function = void (*)(const Int*, const Int*, T*, const Int*, T*, T*, const Int*, Int*);
  const Int m = static_cast<Int>(x.m), n = static_cast<Int>(x.n), lda = static_cast<Int>(x.lda);
  const Int lwork = static_cast<Int>(x.lwork);
  Int status = 0;
  reinterpret_cast<Function>(function)(&m, &n, x.A, &lda, x.tau, x.work, &lwork, &status);
}

template <class Int, class T>
void call(void* function, const OrmqrArgs<T>& x) {
  const auto [left, adjoint, rows, cols, reflectors, of_identity] = x.product;
  const Int m = static_cast<Int>(rows), n = static_cast<Int>(cols), k = static_cast<Int>(reflectors);
  const Int lda = static_cast<Int>(x.lda), ldc = static_cast<Int>(x.ldc), lwork = static_cast<Int>(x.lwork);
  Int status = 0;
  if (of_identity) {
    using Function = void (*)(const Int*, const Int*, const Int*, T*, const Int*, const T*, T*, const Int*, Int*);
    return reinterpret_cast<Function>(function)(&m, &n, &k, x.C, &ldc, x.tau, x.work, &lwork, &status);
  }
  using Function = void (*)(const char*, const char*, const Int*, const Int*, const Int*, const T*, const Int*,
                            const T*, T*, const Int*, T*, const Int*, Int*, std::size_t, std::size_t);
  const char side = left ? 'L' : 'R', trans = !adjoint ? 'N' : std::is_floating_point_v<T> ? 'T' : 'C';
  reinterpret_cast<Function>(function)(&side, &trans, &m, &n, &k, x.A, &lda, x.tau, x.C, &ldc, x.work, &lwork, &status,
                                       1, 1);
}

template <class Args>
void call(const Found& found, const Args& args) {
  found.wide ? call<std::int64_t>(found.function, args) : call<std::int32_t>(found.function, args);
}

template <class T>
void make_gemm(const Recorded& r, const std::string& fallback) {
  GemmArgs<T> x{};
  x.transa = static_cast<Op>(letter_in(r, "transa", "NTC"));
  x.transb = static_cast<Op>(letter_in(r, "transb", "NTC"));
  x.m = number_in<index>(r, "m"), x.n = number_in<index>(r, "n"), x.k = number_in<index>(r, "k");
  x.lda = number_in<index>(r, "lda"), x.ldb = number_in<index>(r, "ldb"), x.ldc = number_in<index>(r, "ldc");
  x.alpha = scalar_in<T>(r, "alpha"), x.beta = scalar_in<T>(r, "beta");
  if (!x.valid()) fail("the record's arguments are not those of a call");
  const bool multiplies = x.alpha != T(0) && x.k > 0;
  Storage<T> A(r, "A", x.rows_a(), x.cols_a(), x.lda, !multiplies),
      B(r, "B", x.rows_b(), x.cols_b(), x.ldb, !multiplies), C(r, "C", x.m, x.n, x.ldc, x.beta == T(0));
  x.A = A.at(), x.B = B.at(), x.C = C.at();
  call(find(r, Interface::fortran, fallback), x);
}

template <class T>
void make_syrk(const Recorded& r, const std::string& fallback) {
  SyrkArgs<T> x{};
  x.uplo = static_cast<Uplo>(letter_in(r, "uplo", "UL"));
  x.trans = static_cast<Op>(letter_in(r, "trans", "NTC"));
  x.n = number_in<index>(r, "n"), x.k = number_in<index>(r, "k");
  x.lda = number_in<index>(r, "lda"), x.ldc = number_in<index>(r, "ldc");
  x.alpha = scalar_in<T>(r, "alpha"), x.beta = scalar_in<T>(r, "beta");
  if (!x.valid()) fail("the record's arguments are not those of a call");
  const bool multiplies = x.alpha != T(0) && x.k > 0;
  Storage<T> A(r, "A", x.rows_a(), x.cols_a(), x.lda, !multiplies), C(r, "C", x.n, x.n, x.ldc, x.beta == T(0));
  x.A = A.at(), x.C = C.at();
  call(find(r, Interface::fortran, fallback), x);
}

template <class T>
void make_symv(const Recorded& r, const std::string& fallback) {
  SymvArgs<T> x{};
  x.uplo = static_cast<Uplo>(letter_in(r, "uplo", "UL"));
  x.n = number_in<index>(r, "n"), x.lda = number_in<index>(r, "lda");
  x.incx = number_in<index>(r, "incx"), x.incy = number_in<index>(r, "incy");
  x.alpha = scalar_in<T>(r, "alpha"), x.beta = scalar_in<T>(r, "beta");
  x.conjugated = number_in<int>(r, "conjugated") != 0;
  constexpr index most = index{1} << 44;
  const auto is_too_far = [](index step) { return step > most || step < -most; };
  if (!x.valid() || is_too_far(x.incx) || is_too_far(x.incy) || (x.conjugated && std::is_floating_point_v<T>))
    fail("the record's arguments are not those of a call");
  const bool multiplies = x.alpha != T(0);
  const StoredVector from = stored_vector(static_cast<const T*>(nullptr), x.n, x.incx, std::max<index>(1, x.n)),
                     to = stored_vector(static_cast<const T*>(nullptr), x.n, x.incy, std::max<index>(1, x.n));
  Storage<T> A(r, "A", x.n, x.n, x.lda, !multiplies), X(r, "x", from.rows, from.cols, from.ld, !multiplies),
      y(r, "y", to.rows, to.cols, to.ld, x.beta == T(0));
  x.A = A.at(), x.x = X.at(), x.y = y.at();
  call(find(r, x.conjugated ? Interface::cblas : Interface::fortran, fallback), x);
}

/// As large as the program's was, which may decide how the library underneath computes.
index workspace_in(const Recorded& r, index least) {
  const auto lwork = number_in<index>(r, "lwork");
  constexpr index most = index{1} << 40;
  if (lwork < least || lwork > most) fail("the record's arguments are not those of a call");
  return lwork;
}

template <class T>
void make_geqrf(const Recorded& r, const std::string& fallback) {
  GeqrfArgs<T> x{};
  x.m = number_in<index>(r, "m"), x.n = number_in<index>(r, "n"), x.lda = number_in<index>(r, "lda");
  if (!x.valid()) fail("the record's arguments are not those of a call");
  x.lwork = workspace_in(r, x.least_workspace());
  const index k = x.factored();
  Storage<T> A(r, "A", x.m, x.n, x.lda, false), tau(r, "tau", k, 1, std::max<index>(1, k), true),
      work(r, "work", x.lwork, 1, x.lwork, true);
  x.A = A.at(), x.tau = tau.at(), x.work = work.at();
  call(find(r, Interface::fortran, fallback), x);
}

template <class T>
void make_ormqr(const Recorded& r, const std::string& fallback, bool of_identity) {
  OrmqrArgs<T> x{};
  x.product = {true, false, number_in<index>(r, "m"), number_in<index>(r, "n"), number_in<index>(r, "k"), of_identity};
  QProduct& p = x.product;
  if (!of_identity) {
    p.left = letter_in(r, "side", "LR") == 'L';
    p.adjoint = letter_in(r, "trans", std::is_floating_point_v<T> ? "NT" : "NC") != 'N';
  }
  x.lda = number_in<index>(r, "lda");
  x.ldc = of_identity ? x.lda : number_in<index>(r, "ldc");
  if (!x.valid()) fail("the record's arguments are not those of a call");
  x.lwork = workspace_in(r, x.least_workspace());
  Storage<T> A(r, "A", p.order(), of_identity ? p.n : p.k, x.lda, p.k == 0 && !of_identity),
      tau(r, "tau", p.k, 1, std::max<index>(1, p.k), p.k == 0), C(r, "C", p.m, p.n, x.ldc, of_identity),
      work(r, "work", x.lwork, 1, x.lwork, true);
  x.A = A.at(), x.tau = tau.at(), x.C = of_identity ? A.at() : C.at(), x.work = work.at();
  call(find(r, Interface::fortran, fallback), x);
}

}  // namespace

std::string value_in(const std::string& words, const std::string& name) {
  std::istringstream rest(words);
  for (std::string word; rest >> word;)
    if (word.starts_with(name + '=')) return word.substr(name.size() + 1);
  return {};
}

std::string Recorded::argument(const std::string& name) const {
  std::string value = value_in(text.arguments, name);
  if (value.empty()) fail("the record has no argument " + name);
  return value;
}

Recorded read_record(const std::string& path, bool with_data) {
  const RegularFile file(path);
  if (!file)
    fail(path + ": " + (file.error() == ENOTSUP ? "it is no file with contents" : std::strerror(file.error())));
  const auto not_one = [&path](const std::string& why) {
    fail(path + " is not a call that verification kept: " + why);
  };
  if (file.size() == 0) not_one("it is empty");
  constexpr std::size_t most_text = std::size_t{1} << 22;
  const std::string start = file.text(most_text);
  const std::string heading = record_heading, first = start.substr(0, start.find('\n'));
  if (first != heading) {
    const std::string kind = heading.substr(0, heading.rfind(' '));
    if (first.starts_with(kind + ' '))
      fail(path + ": this version reads records of version 2, this one is " + first.substr(0, heading.size() + 20));
    not_one("its first line is not \"" + heading + "\"");
  }
  constexpr std::string_view last = "\ndata\n";
  const std::size_t end = start.find(last, first.size());
  if (end == start.npos) not_one("it ends before its data");
  const std::string_view text = std::string_view(start).substr(0, end + last.size());
  Recorded r;
  RecordSum sum;
  sum.add(text.data(), text.size());
  std::istringstream lines(start.substr(0, end));
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line)) {
    const std::size_t space = line.find(' ');
    const std::string word = line.substr(0, space), value = space == line.npos ? "" : line.substr(space + 1);
    const std::pair<const char*, std::string*> fields[] = {
        {"routine", &r.text.routine}, {"symbol", &r.text.symbol}, {"arguments", &r.text.arguments},
        {"library", &r.text.library}, {"oracle", &r.text.oracle}, {"backend", &r.text.backend},
        {"device", &r.text.device},   {"driver", &r.text.driver}, {"way", &r.text.way},
        {"caller", &r.text.caller},   {"found", &r.text.found},   {"ratio", &r.text.ratio},
        {"limit", &r.text.limit}};
    for (const auto& [name, field] : fields)
      if (word == name) *field = value;
    if (word == "setting") r.text.settings.push_back(value);
    if (word == "profile") r.text.profile += value + '\n';
    if (word == "block") {
      Recorded::Block b{};
      std::istringstream words(value);
      constexpr index most = index{1} << 44;
      if (!(words >> b.name >> b.rows >> b.cols >> b.element) || b.rows < 0 || b.cols < 0 || b.element < 4 ||
          b.element > 16 || (b.cols > 0 && b.rows > most / b.cols))
        not_one("block " + value);
      r.blocks.push_back(std::move(b));
    }
  }
  std::uint64_t at = text.size(), left = file.size() - std::min<std::uint64_t>(at, file.size());
  if (left > memory_for_calls)
    fail(path + ": its data is larger than this machine's memory");  // and it has no end soon
  for (Recorded::Block& b : r.blocks) {
    const std::uint64_t bytes = static_cast<std::uint64_t>(b.rows) * static_cast<std::uint64_t>(b.cols) * b.element;
    if (bytes > left) not_one("it ends before the end of " + b.name);
    left -= bytes;
    constexpr std::uint64_t part = std::uint64_t{1} << 20;
    b.data.resize(with_data ? bytes : std::min(bytes, part));
    for (std::uint64_t done = 0, now; done < bytes; done += now) {
      now = std::min(part, bytes - done);
      char* to = b.data.data() + (with_data ? done : 0);
      if (file.read(at + done, to, now) < now) not_one("it ends before the end of " + b.name);
      sum.add(to, now);
    }
    at += bytes;
    if (!with_data) b.data.clear();
  }
  const std::string expected = sum.line();
  if (left < expected.size()) not_one("it ends before its checksum");
  if (left > expected.size()) not_one("there is more after its end");
  std::string there(expected.size(), '\0');
  if (file.read(at, there.data(), there.size()) < there.size() || there != expected)
    not_one("its contents have changed: the checksum differs");
  return r;
}

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
#define GEMM(name, type) \
  if (routine == #name) return make_gemm<type>(recorded, fallback);
#define SYRK(name, type) \
  if (routine == #name) return make_syrk<type>(recorded, fallback);
#define HERK(name, type) SYRK(name, type)
#define SYMV(name, type) \
  if (routine == #name) return make_symv<type>(recorded, fallback);
#define HEMV(name, type) SYMV(name, type)
#define GEQRF(name, type) \
  if (routine == #name) return make_geqrf<type>(recorded, fallback);
#define ORMQR(name, type) \
  if (routine == #name) return make_ormqr<type>(recorded, fallback, false);
#define ORGQR(name, type) \
  if (routine == #name) return make_ormqr<type>(recorded, fallback, true);
#include "api/routines.def"
  fail("records of " + routine + " cannot be replayed");
}

}  // namespace blaslift::cli
