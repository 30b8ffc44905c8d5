// What follows from a routine's signature: the same for all of them.
//
// A signature (impl/core/signatures.hpp) is what stands in BLAS's documentation: a kind's arguments in their order, and
// where each of them is in Args.  It has
//
// An entry's own signature (api/geqr.cpp) may say nullptr where a use or a size is asked for, and is parsed only.
//
//   Args          the call free of ABI, column-major
//   describe(x, see)   names the arguments of an Args x, in the order of the Fortran interface, to a visitor `see`:
//       letter(name, choices, x.which)           an enum whose values are the letters
//       letter(name, choices, x.flag, letter)    a bool that this letter makes true
//       integer(name, x.n), or with a third argument: whether the routine reads it, which is 0 for us otherwise
//       scalar(name, x.alpha)                    of the matrices' type
//       real_scalar(name, x.alpha)               of their real type, in Args of the matrices' or of that; likewise
//       operand(name, x.A, use)                  a pointer of any type, or Integers; use() is called of valid Args
//       workspace(name, x.work, x.lwork, least)  likewise, of LAPACK: two arguments; least() suffices, of valid Args
//       scratch(name, x.rwork, size)             a workspace without an argument that says its size(), of valid Args
//       info()
//       recorded(name, x.flag)                   no argument, but in records: a number
//   complete(x)   what follows from them; false: the reference does not take them
//   fold(x)       a row-major call in column-major terms, and back: it is its own inverse
//   volume(at)    what the gate compares, of a call that may be invalid: `at` reads letters and integers (AtTheGate)
//   without_layout  it has this constant if its CBLAS function has no layout, since it has no matrix
//
// From these come parsing, the entries' long ways (api/entries.hpp), the call on other operands, the call by any
// library, a record's words, and its replay.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "compat/call.hpp"
#include "compat/site.hpp"
#include "impl/core/args.hpp"
#include "impl/core/letters.hpp"
#include "impl/core/stored.hpp"
#include "impl/core/text.hpp"

namespace blaslift {

/// What a call does with an operand.  One that it neither reads nor writes (A where alpha is zero) may be anywhere.
struct Use {
  index rows, cols, ld;
  bool reads, writes;
  Part part = Part::whole;  ///< of a triangle nothing else is touched
  bool aside = false;       ///< neither read nor written, as far as anybody knows before the call; else as a workspace
};

/// An operand of a call, as it lies in the program's memory.
struct CheckedOperand {
  const char* name;  ///< as in BLAS's documentation
  Stored stored;
  bool reads, writes;
  bool scratch = false;   ///< a workspace, or what is written as far as a result says: not copied, nor compared
  bool integers = false;  ///< its elements are no numbers
};

/// Whether a call's first word is the layout.
template <class S>
constexpr bool has_layout(Interface interface) {
  return interface == Interface::cblas && !requires { S::without_layout; };
}

/// Where a signature's arguments are among a call's words; known when it is compiled.
class Places {
 public:
  constexpr Places(Interface interface, bool layout) : cblas_(interface == Interface::cblas), next_(layout ? 1 : 0) {}

  constexpr void letter(const char*, Choices, const auto&, char = 0) { letters[letter_count++] = next_++; }
  constexpr void integer(const char*, const index&, bool = true) { integers[integer_count++] = next_++; }
  template <class T>
  constexpr void scalar(const char*, const T&) {
    if (!cblas_ || !std::is_floating_point_v<T>) ++next_;
  }
  constexpr void real_scalar(const char*, const auto&, bool = true) {
    if (!cblas_) ++next_;
  }
  template <class P>
  constexpr void operand(const char*, const P&, const auto&) {
    has_integers = has_integers || std::is_same_v<P, Integers>;
    ++next_;
  }
  constexpr void workspace(const char* name, const auto& at, const index&, const auto& least) {
    workspaces[workspace_count++] = {next_, next_ + 1};
    operand(name, at, least);
    ++next_;
  }
  constexpr void scratch(const char* name, const auto& at, const auto& size) { operand(name, at, size); }
  constexpr void info() { status = next_++; }
  constexpr void recorded(const char*, const auto&) {}

  constexpr int words() const { return next_; }
  /// What follows a Fortran call's arguments are the hidden lengths of its character arguments, one each, which
  /// libraries built by gfortran may read.
  constexpr int with_lengths() const { return next_ + (cblas_ ? 0 : letter_count); }

  struct Workspace {
    int at, size;
  };
  int letters[4] = {}, integers[10] = {};
  Workspace workspaces[4] = {};
  int letter_count = 0, integer_count = 0, workspace_count = 0, status = -1;
  bool has_integers = false;  ///< in arrays

 private:
  bool cblas_;
  int next_;
};

template <class S>
constexpr Places places_of(Interface interface) {
  Places places(interface, has_layout<S>(interface));
  const typename S::Args none{};
  S::describe(none, places);
  return places;
}

constexpr std::size_t element_size(const Integers& x) { return x.wide ? sizeof(std::int64_t) : sizeof(std::int32_t); }

namespace signatures {

/// What a description can say only of valid Args: it is asked for it.
template <class R>
class Asked {
 public:
  template <class Say>
  Asked(const Say& say) : say_(&say), ask_([](const void* x) -> R { return (*static_cast<const Say*>(x))(); }) {}
  /// Of arguments of which nobody asks.
  Asked(std::nullptr_t) : say_(nullptr), ask_(nullptr) {}
  R operator()() const { return ask_(say_); }

 private:
  const void* say_;
  R (*ask_)(const void*);
};

// An argument's place in Args, whatever its type.

/// An enum of letters, or a bool that one of them makes true.
class Letter {
 public:
  template <class E>
  explicit Letter(E& x) : at_(&x), yes_(0) {
    static_assert(std::is_enum_v<E> && sizeof(E) == 1);
  }
  Letter(bool& x, char yes) : at_(&x), yes_(yes) {}

  char get(Choices among) const {
    if (!yes_) return *enumeration();
    for (const Choice& choice : among)
      if ((choice.letter == yes_) == *static_cast<const bool*>(at_)) return choice.letter;
    return 0;
  }
  void set(char letter) const {
    if (yes_)
      *static_cast<bool*>(at_) = letter == yes_;
    else
      *enumeration() = letter;
  }

 private:
  char* enumeration() const { return static_cast<char*>(at_); }

  void* at_;
  char yes_;  ///< 0: it is an enum
};

/// A number of one of the four types.
struct Scalar {
  void* at;
  Precision precision;

  double real() const;
  double imag() const;
  /// @param imag  0 for a real one
  void set(double real, double imag) const;
};

/// A pointer, or Integers.
class Pointer {
 public:
  template <class T>
  explicit Pointer(T*& x) : place_(&x), element_(size_of<T>), precision_(precision_of<std::remove_const_t<T>>) {}
  explicit Pointer(Integers& x) : place_(&x), element_(0), precision_() {}

  void* get() const {
    if (!element_) return integers()->at;
    void* at = nullptr;
    std::memcpy(&at, place_, sizeof at);
    return at;
  }
  void set(const void* at) const {
    if (element_)
      std::memcpy(place_, &at, sizeof at);  // of whatever type the pointer there is
    else
      integers()->at = const_cast<void*>(at);
  }
  /// Null: it is a pointer.
  Integers* integers() const { return element_ ? nullptr : static_cast<Integers*>(place_); }
  std::size_t element_size() const { return element_ ? element_ : blaslift::element_size(*integers()); }
  /// What a pointer to numbers points to; of one to anything else it says nothing.
  Scalar first() const { return {get(), precision_}; }

 private:
  template <class T>
  static constexpr std::uint32_t size_of = std::is_void_v<T> ? 1
                                                             : sizeof(std::conditional_t<std::is_void_v<T>, char, T>);

  void* place_;
  std::uint32_t element_;  ///< 0: Integers
  Precision precision_;
};

/// What looks at arguments one by one, or sets them; the others are nothing to it.
class Visitor {
 public:
  virtual void letter(const char* /*name*/, Choices, Letter) {}
  virtual void integer(const char* /*name*/, index&, bool /*used*/) {}
  virtual void scalar(const char* /*name*/, Scalar) {}
  /// The real part alone.
  virtual void real_scalar(const char* /*name*/, Scalar, bool /*used*/) {}
  virtual void operand(const char* /*name*/, Pointer, Asked<Use>) {}
  virtual void workspace(const char* /*name*/, Pointer, index& /*size*/, Asked<index> /*least*/) {}
  virtual void scratch(const char* /*name*/, Pointer, Asked<index> /*size*/) {}
  virtual void info() {}
  virtual void recorded(const char* /*name*/, bool&) {}

 protected:
  Visitor() = default;
  Visitor(const Visitor&) = default;
  ~Visitor() = default;
};

/// What a description is compiled with: once for each signature, with any Visitor; besides with those that each call
/// meets, so that they cost no calls.
template <class To>
class Show {
 public:
  explicit Show(To& to) : to_(to) {}

  void letter(const char* name, Choices among, auto& x) { to_.letter(name, among, Letter(x)); }
  void letter(const char* name, Choices among, bool& x, char yes) { to_.letter(name, among, Letter(x, yes)); }
  void integer(const char* name, index& x, bool used = true) { to_.integer(name, x, used); }
  void scalar(const char* name, auto& x) { to_.scalar(name, of(x)); }
  void real_scalar(const char* name, auto& x, bool used = true) { to_.real_scalar(name, of(x), used); }
  void operand(const char* name, auto& at, const auto& use) { to_.operand(name, Pointer(at), use); }
  void workspace(const char* name, auto& at, index& size, const auto& least) {
    to_.workspace(name, Pointer(at), size, least);
  }
  void scratch(const char* name, auto& at, const auto& size) { to_.scratch(name, Pointer(at), size); }
  void info() { to_.info(); }
  void recorded(const char* name, bool& x) { to_.recorded(name, x); }

 private:
  template <class T>
  static Scalar of(T& x) {
    static_assert(std::is_floating_point_v<Real<T>>);
    return {&x, precision_of<T>};
  }

  To& to_;
};

/// A signature, and Args of it, in functions that are the same for all of them.
struct Description {
  void (*show)(void* args, Visitor&);
  bool (*complete)(void* args);
  void (*fold)(void* args);
  bool (*valid)(const void* args);
  bool has_layout;  ///< of CBLAS
  Places fortran, cblas;

  const Places& places(Interface interface) const { return interface == Interface::cblas ? cblas : fortran; }
};

template <class S>
const Description& description_of() {
  using Args = typename S::Args;
  static constexpr Description description{[](void* args, Visitor& to) {
                                             Show show(to);
                                             S::describe(*static_cast<Args*>(args), show);
                                           },
                                           [](void* args) { return S::complete(*static_cast<Args*>(args)); },
                                           [](void* args) { S::fold(*static_cast<Args*>(args)); },
                                           [](const void* args) {
                                             if constexpr (requires(const Args& x) { x.valid(); })
                                               return static_cast<const Args*>(args)->valid();
                                             else
                                               return true;  // of an entry's own
                                           },
                                           blaslift::has_layout<S>(Interface::cblas),
                                           places_of<S>(Interface::fortran),
                                           places_of<S>(Interface::cblas)};
  return description;
}

/// A call's Args, whatever the routine.
class Described {
 public:
  template <class Args>
  Described(const Description& by, Args& args) : by_(&by), args_(&args) {}
  /// For what changes nothing.
  template <class Args>
  Described(const Description& by, const Args& args) : by_(&by), args_(const_cast<Args*>(&args)) {}

  const Description& by() const { return *by_; }
  void show(Visitor& to) const { by_->show(args_, to); }
  void show(Visitor&& to) const { by_->show(args_, to); }
  bool complete() const { return by_->complete(args_); }
  void fold() const { by_->fold(args_); }
  bool valid() const { return by_->valid(args_); }

 private:
  const Description* by_;
  void* args_;
};

template <class S, class Args>
Described described(Args& args) {
  static_assert(std::is_same_v<std::remove_const_t<Args>, typename S::Args>);
  return {description_of<S>(), args};
}

/// What a complex number begins with, or a real one is.
constexpr Scalar real_part(Scalar x) {
  return {x.at, x.precision == Precision::c ? Precision::s : x.precision == Precision::z ? Precision::d : x.precision};
}

/// Goes along a call's words.
class Cursor {
 protected:
  /// @param layout  whether it is in front
  Cursor(Interface interface, bool layout) : cblas_(interface == Interface::cblas), next_(layout ? 1 : 0) {}
  bool is_value(Scalar x) const { return cblas_ && !is_complex(x.precision); }

  const bool cblas_;
  int next_, next_real_ = 0;
};

/// Reads Args from a call's words.
class Parse final : public Visitor, Cursor {
 public:
  Parse(Interface interface, bool layout, bool wide, const CallWords& words)
      : Cursor(interface, layout), wide_(wide), words_(words) {}
  void letter(const char*, Choices among, Letter x) override {
    const Choice* const choice = cblas_ ? chosen(among, static_cast<int>(words_.word[next_]))
                                        : chosen(among, *words_.address<const char>(next_));
    ++next_;
    if (choice) x.set(choice->letter);
    good = good && choice;
  }
  void integer(const char*, index& x, bool used) override {
    x = used ? integer_at(next_) : 0;
    ++next_;
  }
  void scalar(const char*, Scalar x) override {
    if (!is_value(x))
      std::memcpy(x.at, words_.address<const void>(next_++), element_size(x.precision));
    else if (x.precision == Precision::s)
      *static_cast<float*>(x.at) = words_.real_at<float>(next_real_++);
    else
      *static_cast<double*>(x.at) = words_.real_at<double>(next_real_++);
  }
  void real_scalar(const char* name, Scalar x, bool used) override {
    x.set(0, 0);
    if (used)
      scalar(name, real_part(x));
    else
      ++(cblas_ ? next_real_ : next_);
  }
  void operand(const char*, Pointer at, Asked<Use>) override {
    if (Integers* const integers = at.integers()) integers->wide = wide_;
    at.set(words_.address<void>(next_++));
  }
  void workspace(const char* name, Pointer at, index& size, Asked<index>) override {
    operand(name, at, nullptr);
    size = integer_at(next_++);
  }
  void scratch(const char* name, Pointer at, Asked<index>) override { operand(name, at, nullptr); }
  void info() override { ++next_; }

  bool good = true;  ///< all letters are choices

 private:
  /// In 32-bit interfaces the upper half of a value's word is undefined.
  index integer_at(int i) const {
    if (cblas_) return wide_ ? static_cast<index>(words_.word[i]) : static_cast<std::int32_t>(words_.word[i]);
    return wide_ ? *words_.address<const std::int64_t>(i) : *words_.address<const std::int32_t>(i);
  }

  const bool wide_;
  const CallWords& words_;
};

/// A call's words made of Args, which must stay where they are.
class Build final : public Visitor, Cursor {
 public:
  /// @param cells  CallWords::most of them, for what goes by its address and has none
  Build(Interface interface, bool layout, CallWords& words, std::int64_t* cells)
      : Cursor(interface, layout), words_(words), cells_(cells) {}
  void letter(const char*, Choices among, Letter x) override {
    const char letter = x.get(among);
    if (cblas_)
      words_.word[next_++] = static_cast<std::uint64_t>(chosen(among, letter)->number);
    else
      put(letter);  // its first byte
  }
  void integer(const char*, index& x, bool) override {
    if (cblas_)
      words_.word[next_++] = static_cast<std::uint64_t>(x);
    else
      put(x);
  }
  void scalar(const char*, Scalar x) override {
    if (!is_value(x))
      words_.set(next_++, x.at);
    else if (x.precision == Precision::s)
      words_.set_real(next_real_++, *static_cast<const float*>(x.at));
    else
      words_.set_real(next_real_++, *static_cast<const double*>(x.at));
  }
  void real_scalar(const char* name, Scalar x, bool) override { scalar(name, real_part(x)); }
  void operand(const char*, Pointer at, Asked<Use>) override { words_.set(next_++, at.get()); }
  void workspace(const char* name, Pointer at, index& size, Asked<index>) override {
    operand(name, at, nullptr);
    put(size);
  }
  void scratch(const char* name, Pointer at, Asked<index>) override { operand(name, at, nullptr); }
  void info() override { put(0); }

 private:
  void put(std::int64_t x) {
    *cells_ = x;
    words_.set(next_++, cells_++);
  }

  CallWords& words_;
  std::int64_t* cells_;
};

/// What a call says of its workspaces.
struct Workspaces final : Visitor {
  void workspace(const char*, Pointer, index& size, Asked<index> least) override {
    asked = asked || size == -1;
    suffice = suffice && size >= least();
  }
  bool asked = false;  ///< which sizes are best: one of them is enough for that
  bool suffice = true;
};

/// The argument that says a workspace's size, in LAPACK's documentation.
inline std::string length_of(const char* workspace) { return std::string("l") + workspace; }

/// By a library's function, of a call's words as its places are.
void call_words(void* function, const Places& places, CallWords& words);

// What the templates of the same names below do, of any signature.
void set_operands(Described call, void* const* at);
CallWords readdressed(Described call, Interface interface, CallWords words);
/// The words of a call by Args, which must stay where they are.
/// @param cells  CallWords::most of them, for what goes by its address and has none
CallWords built(Described call, Interface interface, int layout, std::int64_t* cells);
int call(Described call, void* function, Interface interface, int layout);
/// By the Fortran interface, of a library with such integers.
int call(Described call, void* function, bool wide);
/// By what the site has led to, likewise.
int call(Described call, const Site& library);
std::vector<CheckedOperand> list_operands(Described call);
std::string write_words(Described call);
bool is_narrow(Described call);

}  // namespace signatures

/// A call of S by its words.
template <class S, Interface interface>
void call_words(void* function, CallWords& words) {
  signatures::call_words(function, signatures::description_of<S>().places(interface), words);
}

/// Args of a call's words; false if they are invalid: these are for the reference's xerbla.  Not inlined, so that its
/// stack is free again when the call goes on.
template <class S, Interface interface>
[[gnu::noinline]] bool parse(bool wide, const CallWords& words, typename S::Args& args) {
  constexpr bool layout = has_layout<S>(interface);
  signatures::Parse parse(interface, layout, wide, words);
  signatures::Show<signatures::Parse> show(parse);
  S::describe(args, show);
  if (!parse.good || !S::complete(args)) return false;
  if constexpr (layout) {
    const int order = static_cast<int>(words.word[0]);
    if (order != row_major && order != column_major) return false;
    if (order == row_major) S::fold(args);
  }
  return args.valid();
}

/// The call with its operands, workspaces among them, at other addresses.
template <class S>
typename S::Args with_operands_of(typename S::Args args, void* const* at) {
  signatures::set_operands(signatures::described<S>(args), at);
  return args;
}

/// A call's words with its operands at the addresses of `args`, which are those of the call but for them.
template <class S, Interface interface>
CallWords readdressed(const CallWords& words, typename S::Args args) {
  return signatures::readdressed(signatures::described<S>(args), interface, words);
}

/// The call by a function of any library, whatever the width of its integers, of which there are no arrays.  Returns
/// LAPACK's info; of BLAS 0.
template <class S>
int call(void* function, Interface interface, const typename S::Args& args) {
  static_assert(!places_of<S>(Interface::fortran).has_integers);
  return signatures::call(signatures::described<S>(args), function, interface, column_major);
}

/// The same for calls that are many and small: what makes the words is compiled for that signature.
template <class S>
void call_at_once(void* function, Interface interface, typename S::Args args) {
  CallWords words(column_major);
  std::int64_t cells[CallWords::most];
  signatures::Build build(interface, has_layout<S>(interface), words, cells);
  signatures::Show<signatures::Build> show(build);
  S::describe(args, show);
  signatures::call_words(function, signatures::description_of<S>().places(interface), words);
}

/// The call by a function of a library with such integers.  Throws std::bad_alloc only where there are arrays of them,
/// before anything has happened.
template <class S>
int call(void* function, Interface interface, const typename S::Args& args, bool wide) {
  if constexpr (places_of<S>(Interface::fortran).has_integers) {
    typename S::Args own = args;
    return signatures::call(signatures::described<S>(own), function, wide);
  } else {
    return call<S>(function, interface, args);
  }
}

/// The call in row-major that Args came from.
template <class S>
void call_in_row_major(void* function, typename S::Args args) {
  S::fold(args);
  signatures::call(signatures::described<S>(args), function, Interface::cblas, row_major);
}

template <class S>
std::vector<CheckedOperand> list_operands(const typename S::Args& args) {
  static_assert(requires { args.valid(); });
  return signatures::list_operands(signatures::described<S>(args));
}

template <class S>
std::string write_words(const typename S::Args& args) {
  return signatures::write_words(signatures::described<S>(args));
}

/// Of valid Args.
template <class S>
signatures::Workspaces workspaces_of(const typename S::Args& args) {
  static_assert(requires { args.valid(); });
  signatures::Workspaces workspaces;
  signatures::described<S>(args).show(workspaces);
  return workspaces;
}

/// Whether integers of 32 bits can hold the call's.
template <class S>
bool is_narrow(const typename S::Args& args) {
  return signatures::is_narrow(signatures::described<S>(args));
}

}  // namespace blaslift
