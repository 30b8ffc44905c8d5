// What a routine says of itself to join the suite of promises: a struct, each of whose values is one call.
//
//   template <class T>
//   struct Gemm : Routine<Gemm<T>> {
//     explicit Gemm(Draw&);                              random arguments; operands, and what of them counts (use())
//     static std::string name();                         "dgemm"
//     std::vector<Operand*> operands();
//     void make();                                       the call, through its symbol
//     void judge(const Gemm& before, Judge&) const;      the result, by a reference in higher precision
//     bool mistake(int which);                           makes one argument invalid; false: there are no more
//   };
//   JOIN(gemm, Gemm<float>, Gemm<double>, ...)
//
// Everything else is the suite's (suite.cpp): memory around operands and whatever a call may not read hold signalling
// NaN, behind the last element there may be no memory at all, and whatever a call may not write has to keep its bits.
#pragma once
#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "tests/promises/programs/check.hpp"
#include "tests/promises/programs/routine_calls.hpp"

namespace suite {

using promises::letter;
using promises::Real;
using promises::Scalars;
using promises::Via;
using promises::Wide;
template <class T>
using WideReal = Wide<promises::Real<T>>;
using promises::widen;
using index = std::int64_t;

template <class T>
inline constexpr bool is_complex = Scalars<T>::is_complex;

/// Pages of their own between two that nobody may touch; full of signalling NaN of parts of so many bytes.
class Pages {
 public:
  Pages(std::size_t bytes, std::size_t part);
  Pages(const Pages& other);
  ~Pages();
  Pages& operator=(const Pages&) = delete;

  unsigned char* begin() const { return begin_; }
  std::size_t size() const { return size_; }

 private:
  explicit Pages(std::size_t bytes);
  unsigned char* begin_;
  std::size_t size_;
};

/// The arguments of one call.  The same seed draws the same call; 216 successive seeds go through all combinations of
/// the interface and of the choices that are drawn first; larger ones draw these as they come.
class Draw {
 public:
  /// @param least, most  sizes
  /// @param nothing      the way in which the call is to have nothing to compute; none if negative
  Draw(std::uint32_t seed, index least, index most, int nothing = -1)
      : via(promises::every_via[seed % 3]),
        least_(least),
        most_(most),
        numbers_(scrambled(seed)),
        combination_(seed / 3),
        nothing_(nothing) {}

  const Via via;
  bool tall = std::getenv("SUITE_TALL") == nullptr;  ///< where a matrix may have many more rows than others

  int pick(int count);
  char letter(std::string_view letters) { return letters[static_cast<std::size_t>(pick(int(letters.size())))]; }
  index size(index at_least = 1);
  bool nothing(int way) const { return way == nothing_; }
  double number() { return numbers_(); }
  /// Elements without use between columns: none, a few, or many.
  index gap() { return std::array<index, 3>{0, 3, 40}[static_cast<std::size_t>(below(3))]; }
  int below(int count) { return int((numbers_() + 1) / 2 * count) % count; }

  /// 1, or some number; never 0.
  template <class T>
  T alpha() {
    return pick(2) ? promises::make<T>(number(), number()) : T(1);
  }
  /// 0, 1, or some number.
  template <class T>
  T beta() {
    const int which = pick(3);
    return which == 2 ? promises::make<T>(number(), number()) : T(Real<T>(which));
  }

  index most() const { return most_; }

 private:
  /// Successive seeds have nothing in common (the end of MurmurHash3).
  static constexpr std::uint32_t scrambled(std::uint32_t x) {
    x = (x ^ x >> 16) * 0x85ebca6bu;
    x = (x ^ x >> 13) * 0xc2b2ae35u;
    return x ^ x >> 16;
  }

  const index least_, most_;
  promises::Numbers numbers_;
  std::uint32_t combination_, combinations_ = combination_ < 72 ? 72 : 0;
  const int nothing_;
};

enum class Role { input, output, workspace };

/// What a call may do with an element.  Of a real one, the imaginary part is not read.
enum Use : unsigned char { unused = 0, read = 1, written = 2, updated = 3, real = 4 };

/// A matrix in its own pages, or anywhere (place).
class Operand {
 public:
  Operand(Draw& draw, std::string_view name, Role role, std::size_t element, std::size_t part, index rows, index cols,
          index ld);
  Operand(const Operand& other) = default;  // of the same memory
  Operand& operator=(const Operand&) = delete;

  const std::string_view name;
  const Role role;
  const std::size_t element, part;  ///< bytes: of an element, of its real part
  bool of_numbers = true;           ///< and not of integers, of which a library makes addresses

  index rows() const { return rows_; }
  index cols() const { return cols_; }
  bool empty() const { return rows_ == 0 || cols_ == 0; }
  index ld() const { return ld_; }
  /// What the call is told: ld, but for mistakes.
  index leading() const { return told_.value_or(ld_); }
  void tell(index leading) { told_ = leading; }
  unsigned char* at(index i, index j) const {
    return pages_->begin() + offset_ + static_cast<std::size_t>(i + j * ld_) * element;
  }

  template <class F>
  void use(F of) {
    for (index j = 0; j < cols_; ++j)
      for (index i = 0; i < rows_; ++i) uses_[static_cast<std::size_t>(i + j * rows_)] = static_cast<Use>(of(i, j));
  }
  Use use_of(index i, index j) const { return static_cast<Use>(uses_[static_cast<std::size_t>(i + j * rows_)]); }
  std::size_t bytes_written() const;

  /// Numbers in [-1, 1], none of them 0, where the call reads.
  void fill(Draw& draw);
  /// Also where it does not.
  void fill_all(Draw& draw);

  const std::shared_ptr<Pages>& pages() const { return pages_; }
  std::size_t offset() const { return offset_; }
  /// As it is at that place from now on.
  void place(std::shared_ptr<Pages> pages, std::size_t offset, index ld) {
    pages_ = std::move(pages), offset_ = offset, ld_ = ld;
  }

 private:
  index rows_, cols_, ld_;
  std::optional<index> told_;
  std::vector<unsigned char> uses_;
  std::shared_ptr<Pages> pages_;
  std::size_t offset_ = 0;
};

template <class T>
struct Matrix : Operand {
  Matrix(Draw& draw, std::string_view operand, Role as, index rows, index cols)
      : Operand(draw, operand, as, sizeof(T), sizeof(Real<T>), rows, cols,
                std::max<index>(1, rows) + (cols == 1 ? 0 : draw.gap())) {}
  T& operator()(index i, index j) const { return *reinterpret_cast<T*>(at(i, j)); }
  T* data() const { return reinterpret_cast<T*>(at(0, 0)); }

 protected:
  Matrix(Draw& draw, std::string_view operand, Role as, index n, index inc, int)
      : Operand(draw, operand, as, sizeof(T), sizeof(Real<T>), 1, n, inc) {}
};

/// BLAS's vector: a matrix of one row, with increments of either sign.
template <class T>
struct Vector : Matrix<T> {
  Vector(Draw& draw, std::string_view operand, Role as, index n)
      : Matrix<T>(draw, operand, as, n, std::array<index, 3>{1, 2, 5}[std::size_t(draw.pick(3))], 0),
        backward(draw.pick(2) == 1) {}
  bool backward;
  index inc() const { return backward ? -this->leading() : this->leading(); }
  T& operator[](index i) const { return (*this)(0, backward ? this->cols() - 1 - i : i); }
};

bool wide_integers();  ///< of the library's interface: SUITE_INTEGERS=64

/// Of the interface's integers.
struct Integers : Operand {
  Integers(Draw& draw, std::string_view operand, Role as, index count)
      : Operand(draw, operand, as, width(), width(), count, 1, std::max<index>(1, count)) {
    of_numbers = false;
    if (as == Role::output) use([](index, index) { return written; });
  }
  static std::size_t width() { return wide_integers() ? sizeof(std::int64_t) : sizeof(std::int32_t); }
  void* data() const { return at(0, 0); }
  index operator[](index i) const {
    std::int32_t narrow;
    std::int64_t wide;
    std::memcpy(wide_integers() ? static_cast<void*>(&wide) : &narrow, at(i, 0), element);
    return wide_integers() ? wide : narrow;
  }
  void set(index i, index value) {
    const auto narrow = static_cast<std::int32_t>(value);
    std::memcpy(at(i, 0), wide_integers() ? static_cast<const void*>(&value) : &narrow, element);
  }
};

/// Finds what is wrong with a result; keeps the first.
class Judge {
 public:
  /// An element, within its bound.  What should not be finite must not be, and nothing else.
  template <class T>
  void near(const Operand& of, index i, index j, const T& got, Wide<T> due, long double bound) {
    if (!promises::finite(due) ? promises::finite(got) : !(promises::size_of(widen(got) - due) <= bound))
      say("%.*s(%ld, %ld) is off by %.3Lg, more than %.3Lg", int(of.name.size()), of.name.data(), long(i), long(j),
          static_cast<long double>(promises::size_of(widen(got) - due)), bound);
  }
  void at_most(const char* what, double error, double allowed) {
    if (!(error <= allowed)) say("%s: %.3g, more than %.3g", what, error, allowed);
  }
  void check(const char* what, bool right) {
    if (!right) say("%s", what);
  }

  /// What an element's error is measured by: its terms.  By levels of Strassen's algorithm other elements' terms come
  /// in, and the largest possible sum counts; that these are within their own bound is verification's
  /// (docs/user/verify.md).
  long double terms(long double own, index k) const {
    constexpr long double of_scalar = 1.42L;  // of numbers in [-1, 1]
    return by_levels && std::isfinite(own) ? of_scalar * static_cast<long double>(2 * k + 1) : own;
  }

  const bool by_levels = std::getenv("BLASLIFT_STRASSEN") != nullptr;
  /// Operands are said to be in device memory: workspaces may be there, too.
  const bool in_device_memory = std::getenv("INJECTED_DEVICE_MEMORY") != nullptr;
  std::string found;

 private:
  [[gnu::format(printf, 2, 3)]] void say(const char* format, ...);
};

/// A product in higher precision, as the operator has it where all is finite, and in a fraction of its time; if not,
/// nothing here is.
template <class T>
Wide<T> product_of(Wide<T> x, Wide<T> y) {
  if constexpr (is_complex<T>)
    return {x.real() * y.real() - x.imag() * y.imag(), x.real() * y.imag() + x.imag() * y.real()};
  else
    return x * y;
}

/// A sum of products in higher precision, and of their magnitudes.
template <class T>
struct Sum {
  Wide<T> value{};
  WideReal<T> size = 0;
  void add(Wide<T> x, Wide<T> y) {
    value += product_of<T>(x, y);
    if constexpr (is_complex<T>)
      size += std::sqrt(std::norm(x) * std::norm(y));
    else
      size += std::fabs(x * y);
  }
};

/// |fl(x'y) - x'y| <= gamma_n |x|'|y| whatever the order of the sum (Higham, Accuracy and Stability, 3.1 and 3.5);
/// alpha and beta add four roundings, and a complex product rounds up to four times as often (ibid. 3.6).
template <class T>
long double unit(index n) {
  return (is_complex<T> ? 4 : 1) * (static_cast<long double>(n) + 4) * std::numeric_limits<Real<T>>::epsilon();
}

class Call {
 public:
  Via via = Via::fortran;
  virtual ~Call() = default;
  virtual std::string routine() const = 0;
  virtual std::string describe() const { return routine(); }
  virtual std::vector<Operand*> operands() = 0;
  virtual void make() = 0;
  virtual void judge_as(const Call& before, Judge& judge) const = 0;
  virtual std::unique_ptr<Call> copy() const = 0;  ///< with the same memory
  virtual void prepare(Draw& draw) {
    for (Operand* operand : operands()) operand->fill(draw);
  }
  /// After somebody wrote into the operands: makes inputs again what they have to be, if not any numbers will do.
  virtual void restore(Draw&) {}
  /// An output that does not do as an input of the same call.
  virtual bool once() const { return false; }
  virtual bool mistake(int) { return false; }
  /// Asks for a workspace; what is wrong with the answer.
  virtual std::string query() { return "none"; }
};

/// What the suite asks of a member as a whole, and the defaults.
template <class Self>
struct Routine : Call {
  static constexpr int ways_to_nothing = 0;        ///< in which a call may have nothing to compute: Draw::nothing
  static constexpr bool poison = true;             ///< Inf and NaN reach what the reference says, and nothing else
  static constexpr bool poison_of_results = true;  ///< also of what is overwritten, in the host's memory
  static constexpr index largest = 48;             ///< of the sizes where many calls are made
  static constexpr bool overlap = true;            ///< an output may lie in an input: the library underneath computes
  static constexpr bool moves_outputs = true;      ///< a routed call brings back what it writes, and not a byte more
  static constexpr bool shares = true;             ///< inputs with calls of other threads
  static constexpr bool calls_others = false;      ///< small ones of the library underneath call others of our routines
  static constexpr bool goes_with_others = false;  ///< tests of other routines ask for it in their precision
  static constexpr bool of_host = false;           ///< no device computes it: half of the calls drawn have helpers
  static constexpr bool dealt = false;             ///< it falls into parts, which several devices compute
  static constexpr bool together = false;          ///< and these need each other's
  static constexpr bool in_device_memory = true;   ///< where all operands are there, a call is computed there
  /// Modes beside "natural" and "forced": NAME VARIABLE=VALUE VARIABLE=VALUE; ...
  static constexpr std::string_view modes = "";
  /// A mistake of the device that verification has to find (kernels/fault).
  static constexpr std::string_view mistake_of_device = "block";
  /// Where a piece of a result is as large as it is small: device memory for faults (BLASLIFT_MEMORY).
  static constexpr std::string_view fault_memory = "1M";
  /// And the least and the largest size there; none: as in other memory.
  static constexpr std::string_view fault_sizes = "";
  /// Where all matrices are in device memory: the least size, and the least bytes of what is.
  static constexpr index least_on_device = 1, bytes_on_device = 0;

  std::string routine() const override { return Self::name(); }
  static std::vector<std::string> routines() { return {Self::name()}; }
  void judge_as(const Call& before, Judge& judge) const override {
    static_cast<const Self&>(*this).judge(static_cast<const Self&>(before), judge);
  }
  std::unique_ptr<Call> copy() const override { return std::make_unique<Self>(static_cast<const Self&>(*this)); }
};

struct Type {
  char precision;
  std::vector<std::string> routines;
  std::unique_ptr<Call> (*draw)(Draw&);
};
struct Member {
  std::string name;
  std::vector<Type> types;
  int ways_to_nothing;
  bool poison, poison_of_results, overlap, moves_outputs, shares, calls_others, in_device_memory, of_host, dealt,
      together;
  index largest;
  std::string_view modes, mistake_of_device, fault_memory, fault_sizes;
  index least_on_device, bytes_on_device;
};
std::vector<Member>& members();

template <class First, class... Others>
struct Join {
  explicit Join(const char* name) {
    members().push_back({name,
                         types(),
                         First::ways_to_nothing,
                         First::poison,
                         First::poison_of_results,
                         First::overlap,
                         First::moves_outputs,
                         First::shares,
                         First::calls_others,
                         First::in_device_memory,
                         First::of_host,
                         First::dealt,
                         First::together,
                         First::largest,
                         First::modes,
                         First::mistake_of_device,
                         First::fault_memory,
                         First::fault_sizes,
                         First::least_on_device,
                         First::bytes_on_device});
  }
  /// All of them; with a sanitizer, which has the same templates to look at in each, the first and the last.
  static std::vector<Type> types() {
#ifdef PROMISES_BRIEF
    if constexpr (sizeof...(Others) > 1 && !First::goes_with_others)
      return {type_of<First>(), type_of<std::tuple_element_t<sizeof...(Others) - 1, std::tuple<Others...>>>()};
    else
#endif
      return {type_of<First>(), type_of<Others>()...};
  }
  template <class Trait>
  static Type type_of() {
    return {Trait::name()[0], Trait::routines(), [](Draw& draw) -> std::unique_ptr<Call> {
              auto call = std::make_unique<Trait>(draw);
              call->via = draw.via;
              call->prepare(draw);
              return call;
            }};
  }
};
#define JOIN(name, ...) const suite::Join<__VA_ARGS__> name##_joins(#name)

// ---------------------------------------------------------------------------------------------------------------------
// Calls by name: of libblas.so.3 and liblapack.so.3, or of those that SUITE_LIBRARIES names; in front of these,
// blaslift

void* symbol(const std::string& routine);  ///< counted as a call of `routine`, which is a name without _ and cblas_

/// In registers and in memory: what is above a 32-bit integer is nobody's business.
inline index padded(index n) {
  return wide_integers() ? n : static_cast<index>(0x5a5a5a5a00000000u | static_cast<std::uint32_t>(n));
}

/// What a routine leaves in INFO.
class Info {
 public:
  index* address() { return &word_; }
  index value() const { return wide_integers() ? word_ : static_cast<std::int32_t>(word_); }

 private:
  index word_ = padded(-99);
};

namespace detail {
inline const void* address(const char& x) { return &x; }
inline const void* address(const index& x) { return &x; }
template <class T>
const void* address(T* const& x) {
  return x;
}
template <class T>
constexpr std::size_t is_letter = std::is_same_v<T, char> ? 1 : 0;
inline index by_value(index x) { return padded(x); }
template <class T>
T by_value(T x) {
  return x;
}
template <std::size_t... Lengths, class... Arguments>
void fortran(void* f, std::index_sequence<Lengths...>, const Arguments&... arguments) {
  reinterpret_cast<void (*)(decltype(address(arguments))..., decltype(Lengths)...)>(f)(
      address(arguments)..., (void(Lengths), std::size_t{1})...);
}
}  // namespace detail

/// Every argument by its address: letters (with hidden lengths behind), sizes as `index`, all others as pointers.
template <class... Arguments>
void fortran(const std::string& routine, Arguments... arguments) {
  const auto pad = []<class T>(T x) {
    if constexpr (std::is_same_v<T, index>)
      return padded(x);
    else
      return x;
  };
  detail::fortran(symbol(routine), std::make_index_sequence<(detail::is_letter<Arguments> + ... + 0)>(),
                  pad(arguments)...);
}

/// Codes as int, sizes as `index`, scalars as promises::scalar makes them.
template <class... Arguments>
void cblas(const std::string& routine, Via via, Arguments... arguments) {
  const int layout = via == Via::row_major ? 101 : 102;
  using Function = void (*)(int, decltype(detail::by_value(arguments))...);
  reinterpret_cast<Function>(symbol("cblas_" + routine))(layout, detail::by_value(arguments)...);
}
using promises::scalar;

inline int op_code(char op) { return op == 'N' ? 111 : op == 'T' ? 112 : op == 'C' ? 113 : op; }
inline int uplo_code(char uplo) { return uplo == 'U' ? 121 : uplo == 'L' ? 122 : uplo; }
inline char flipped(char uplo) { return uplo == 'U' ? 'L' : uplo == 'L' ? 'U' : uplo; }

template <class T>
std::string named(std::string_view rest) {
  return letter<T>() + std::string(rest);
}
/// Numbers with their names, for describe().
template <class... Values>
std::string text(const std::string& routine, const char* format, Values... values) {
  char buffer[200];
  std::snprintf(buffer, sizeof buffer, format, values...);
  return routine + ' ' + buffer;
}

}  // namespace suite
