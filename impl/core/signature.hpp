// What follows from a routine's signature: the same for all of them.
//
// A signature (impl/core/signatures.hpp) is what stands in BLAS's documentation: a kind's arguments in their order, and
// where each of them is in Args.  It has
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
#include <memory>
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
};

/// An operand of a call, as it lies in the program's memory.
struct CheckedOperand {
  const char* name;  ///< as in BLAS's documentation
  Stored stored;
  bool reads, writes;
  bool scratch = false;   ///< a workspace, whose contents are nobody's before and afterwards
  bool integers = false;  ///< its elements are no numbers
};

// An operand's place in Args: a pointer, or Integers.
template <class T>
constexpr const void* address_of(T* x) {
  return x;
}
constexpr const void* address_of(const Integers& x) { return x.at; }
template <class T>
void set_address(T*& x, void* at) {
  x = static_cast<T*>(at);
}
inline void set_address(Integers& x, void* at) { x.at = at; }
template <class T>
constexpr std::size_t element_size(T*) {
  return sizeof(T);
}
constexpr std::size_t element_size(const Integers& x) { return x.wide ? sizeof(std::int64_t) : sizeof(std::int32_t); }

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

/// A call of S by its words.
template <class S, Interface interface>
void call_words(void* function, CallWords& words) {
  constexpr Places places = places_of<S>(interface);
  for (int i = places.words(); i < places.with_lengths(); ++i) words.word[i] = 1;
  call<places.with_lengths()>(function, words);
}

namespace signatures {

/// Goes along a call's words.
template <Interface interface>
class Cursor {
 protected:
  /// @param layout  whether it is in front
  explicit Cursor(bool layout) : next_(layout ? 1 : 0) {}
  static constexpr bool cblas = interface == Interface::cblas;
  template <class R>
  static constexpr bool by_value = cblas ? std::is_floating_point_v<R> : false;
  int next_, next_real_ = 0;
};

template <Interface interface>
class Parse : Cursor<interface> {
  using Cursor<interface>::cblas, Cursor<interface>::next_, Cursor<interface>::next_real_;

 public:
  Parse(bool wide, const CallWords& words, bool layout = interface == Interface::cblas)
      : Cursor<interface>(layout), wide_(wide), words_(words) {}

  template <class E>
  void letter(const char*, Choices among, E& x) {
    if (const Choice* choice = choose(among)) x = static_cast<E>(choice->letter);
  }
  void letter(const char*, Choices among, bool& x, char yes) {
    if (const Choice* choice = choose(among)) x = choice->letter == yes;
  }
  void integer(const char*, index& x, bool used = true) {
    if (used)
      x = next_integer();
    else
      ++next_, x = 0;
  }
  template <class T>
  void scalar(const char*, T& x) {
    x = take<T>();
  }
  template <class T>
  void real_scalar(const char*, T& x, bool used = true) {
    if (used)
      x = T(take<Real<T>>());
    else
      ++(Cursor<interface>::template by_value<Real<T>> ? next_real_ : next_), x = T(0);
  }
  template <class P>
  void operand(const char*, P& at, const auto&) {
    if constexpr (std::is_same_v<P, Integers>) at.wide = wide_;
    set_address(at, words_.template address<void>(next_++));
  }
  void workspace(const char* name, auto& at, index& size, const auto& least) {
    operand(name, at, least);
    size = next_integer();
  }
  void scratch(const char* name, auto& at, const auto& size) { operand(name, at, size); }
  void info() { ++next_; }
  void recorded(const char*, auto&) {}

  bool good = true;

 private:
  const Choice* choose(Choices among) {
    const Choice* choice = nullptr;
    if constexpr (cblas)
      choice = chosen(among, static_cast<int>(words_.word[next_++]));
    else
      choice = chosen(among, *words_.template address<const char>(next_++));
    good = good && choice;
    return choice;
  }
  /// In 32-bit interfaces the upper half of a value's word is undefined.
  index next_integer() {
    const int at = next_++;
    if constexpr (cblas)
      return wide_ ? static_cast<index>(words_.word[at]) : static_cast<std::int32_t>(words_.word[at]);
    return wide_ ? *words_.template address<const std::int64_t>(at) : *words_.template address<const std::int32_t>(at);
  }
  template <class S>
  S take() {
    if constexpr (Cursor<interface>::template by_value<S>)
      return words_.template real_at<S>(next_real_++);
    else
      return *words_.template address<const S>(next_++);
  }

  const bool wide_;
  const CallWords& words_;
};

/// Puts operands' addresses into a call's words.
template <Interface interface>
class Readdress : Cursor<interface> {
  using Cursor<interface>::next_;

 public:
  Readdress(CallWords& words, bool layout) : Cursor<interface>(layout), words_(words) {}
  void letter(const char*, Choices, const auto&, char = 0) { ++next_; }
  void integer(const char*, const index&, bool = true) { ++next_; }
  template <class T>
  void scalar(const char*, const T&) {
    next_ += !Cursor<interface>::template by_value<T>;
  }
  template <class T>
  void real_scalar(const char*, const T&, bool = true) {
    next_ += !Cursor<interface>::template by_value<Real<T>>;
  }
  void operand(const char*, const auto& at, const auto&) { words_.set(next_++, address_of(at)); }
  void workspace(const char*, const auto& at, const index&, const auto&) {
    words_.set(next_, address_of(at));
    next_ += 2;
  }
  void scratch(const char* name, const auto& at, const auto& size) { operand(name, at, size); }
  void info() { ++next_; }
  void recorded(const char*, const auto&) {}

 private:
  CallWords& words_;
};

/// A call's words made of Args, which must stay where they are.
template <Interface interface>
class Build : Cursor<interface> {
  using Cursor<interface>::cblas, Cursor<interface>::next_, Cursor<interface>::next_real_;

 public:
  Build(CallWords& words, std::int64_t* cells, bool layout = interface == Interface::cblas)
      : Cursor<interface>(layout), words_(words), cells_(cells) {}
  void letter(const char*, Choices among, const auto& x) { choose(among, static_cast<char>(x)); }
  void letter(const char*, Choices among, bool x, char yes) {
    for (const Choice& choice : among)
      if ((choice.letter == yes) == x) return choose(among, choice.letter);
  }
  void integer(const char*, index x, bool = true) {
    if constexpr (cblas)
      words_.word[next_++] = static_cast<std::uint64_t>(x);
    else
      put(x);
  }
  template <class T>
  void scalar(const char*, const T& x) {
    give(x);
  }
  /// What a complex number begins with.
  template <class T>
  void real_scalar(const char*, const T& x, bool = true) {
    give(reinterpret_cast<const Real<T>&>(x));
  }
  void operand(const char*, const auto& at, const auto&) { words_.set(next_++, address_of(at)); }
  void workspace(const char* name, const auto& at, index size, const auto& least) {
    operand(name, at, least);
    put(size);
  }
  void scratch(const char* name, const auto& at, const auto& size) { operand(name, at, size); }
  void info() { put(0); }
  void recorded(const char*, const auto&) {}

 private:
  void put(std::int64_t x) {
    *cells_ = x;
    words_.set(next_++, cells_++);
  }
  void choose(Choices among, char letter) {
    if constexpr (cblas)
      words_.word[next_++] = static_cast<std::uint64_t>(chosen(among, letter)->number);
    else
      put(letter);  // its first byte
  }
  template <class R>
  void give(const R& x) {
    if constexpr (Cursor<interface>::template by_value<R>)
      words_.set_real(next_real_++, x);
    else
      words_.set(next_++, &x);
  }

  CallWords& words_;
  std::int64_t* cells_;
};

/// What only some arguments matter to; the others do nothing.
struct Nothing {
  void letter(const char*, Choices, const auto&, char = 0) {}
  void integer(const char*, const auto&, bool = true) {}
  void scalar(const char*, const auto&) {}
  void real_scalar(const char*, const auto&, bool = true) {}
  void operand(const char*, const auto&, const auto&) {}
  void workspace(const char*, const auto&, const index&, const auto&) {}
  void scratch(const char*, const auto&, const auto&) {}
  void info() {}
  void recorded(const char*, const auto&) {}
};

struct SetOperands : Nothing {
  explicit SetOperands(void* const* all) : next(all) {}
  void operand(const char*, auto& at, const auto&) { set_address(at, *next++); }
  void workspace(const char*, auto& at, const index&, const auto&) { set_address(at, *next++); }
  void scratch(const char*, auto& at, const auto&) { set_address(at, *next++); }
  void* const* next;
};

struct ListOperands : Nothing {
  template <class P>
  void operand(const char* name, const P& at, const auto& use) {
    const Use x = use();
    all.push_back({name,
                   {address_of(at), x.rows, x.cols, x.ld, element_size(at), x.part},
                   x.reads,
                   x.writes,
                   false,
                   std::is_same_v<P, Integers>});
  }
  void workspace(const char* name, const auto& at, index size, const auto&) {
    size = std::max<index>(0, size);
    all.push_back({name, {address_of(at), size, 1, std::max<index>(1, size), element_size(at)}, false, false, true});
  }
  void scratch(const char* name, const auto& at, const auto& size) { workspace(name, at, size(), nullptr); }
  std::vector<CheckedOperand> all;
};

/// The argument that says a workspace's size, in LAPACK's documentation.
inline std::string length_of(const char* workspace) { return std::string("l") + workspace; }

struct Write : Nothing {
  void letter(const char* name, Choices, const auto& x) { word(name, std::string(1, static_cast<char>(x))); }
  void letter(const char* name, Choices among, bool x, char yes) {
    for (const Choice& choice : among)
      if ((choice.letter == yes) == x) return word(name, std::string(1, choice.letter));
  }
  void integer(const char* name, index x, bool used = true) {
    if (used) word(name, std::to_string(x));
  }
  template <class T>
  void scalar(const char* name, const T& x) {
    std::string value = number(static_cast<double>(std::real(x)));
    if constexpr (!std::is_floating_point_v<T>) value += ',' + number(static_cast<double>(std::imag(x)));
    word(name, value);
  }
  void real_scalar(const char* name, const auto& x, bool used = true) {
    if (used) scalar(name, x);
  }
  void workspace(const char* name, const auto&, index size, const auto&) {
    word(length_of(name), std::to_string(size));
  }
  void recorded(const char* name, bool x) { word(name, std::to_string(static_cast<int>(x))); }
  void word(const std::string& name, const std::string& value) {
    text += (text.empty() ? "" : " ") + name + '=' + value;
  }
  std::string text;
};

struct Narrow : Nothing {
  using Nothing::operand;
  void integer(const char*, index x, bool = true) { fits = fits && x >= -INT32_MAX && x <= INT32_MAX; }
  void operand(const char* name, const Integers& x, const auto& use) {
    const Use used = use();
    const bool means = used.reads && !used.writes;  // and is not there just to be kept
    for (index i = 0; x.wide && means && i < used.rows; ++i) integer(name, x.get(i));
  }
  void workspace(const char* name, const auto&, index size, const auto&) { integer(name, size); }
  bool fits = true;
};

/// What a call says of its workspaces.
struct Workspaces : Nothing {
  void workspace(const char*, const auto&, index size, const auto& least) {
    asked = asked || size == -1;
    suffice = suffice && size >= least();
  }
  bool asked = false;  ///< which sizes are best: one of them is enough for that
  bool suffice = true;
};

/// Puts arrays of a library's width in the place of a call's integers, and brings back what it has left there.  Throws
/// std::bad_alloc.
class Convert : public Nothing {
 public:
  using Nothing::operand, Nothing::workspace, Nothing::scratch;
  explicit Convert(bool wide) : wide_(wide) {}

  void operand(const char*, Integers& x, const auto& use) {
    const Use used = use();
    convert(x, used.rows, used.reads ? used.rows : 0, used.writes ? used.rows : 0);
  }
  /// The first one is the best size, afterwards.
  void workspace(const char*, Integers& x, index size, const auto&) { convert(x, std::max<index>(1, size), 0, 1); }
  void scratch(const char*, Integers& x, const auto& size) { convert(x, size(), 0, 0); }
  void bring_back() const {
    for (const Pair& pair : all_)
      for (index i = 0; i < pair.written; ++i) pair.callers.set(i, pair.librarys.get(i));
  }

 private:
  struct Pair {
    std::unique_ptr<std::int64_t[]> memory;
    Integers callers, librarys;
    index written;
  };

  void convert(Integers& x, index size, index read, index written) {
    if (x.wide == wide_) return;
    std::unique_ptr<std::int64_t[]> memory(new std::int64_t[static_cast<std::size_t>(size)]());
    const Integers librarys{memory.get(), wide_};
    for (index i = 0; i < read; ++i) librarys.set(i, x.get(i));
    all_.push_back({std::move(memory), x, librarys, written});
    x = librarys;
  }

  const bool wide_;
  std::vector<Pair> all_;
};

}  // namespace signatures

/// Args of a call's words; false if they are invalid: these are for the reference's xerbla.
template <class S, Interface interface>
bool parse(bool wide, const CallWords& words, typename S::Args& args) {
  signatures::Parse<interface> parse(wide, words, has_layout<S>(interface));
  S::describe(args, parse);
  if (!parse.good || !S::complete(args)) return false;
  if constexpr (has_layout<S>(interface)) {
    const int layout = static_cast<int>(words.word[0]);
    if (layout != row_major && layout != column_major) return false;
    if (layout == row_major) S::fold(args);
  }
  return args.valid();
}

/// The call with its operands, workspaces among them, at other addresses.
template <class S>
typename S::Args with_operands_of(typename S::Args args, void* const* at) {
  signatures::SetOperands set(at);
  S::describe(args, set);
  (void)S::complete(args);
  return args;
}

/// A call's words with its operands at the addresses of `args`, which are those of the call but for them.
template <class S, Interface interface>
CallWords readdressed(CallWords words, typename S::Args args) {
  if (has_layout<S>(interface) && static_cast<int>(words.word[0]) == row_major) S::fold(args);
  signatures::Readdress<interface> readdress(words, has_layout<S>(interface));
  S::describe(args, readdress);
  return words;
}

/// Returns LAPACK's info; of BLAS 0.
template <class S, Interface interface>
int call_by_interface(void* function, const typename S::Args& args, int layout) {
  CallWords words(layout);
  std::int64_t cells[CallWords::most];
  signatures::Build<interface> build(words, cells, has_layout<S>(interface));
  S::describe(args, build);
  call_words<S, interface>(function, words);
  constexpr Places places = places_of<S>(interface);
  if constexpr (places.status >= 0)
    return *words.template address<std::int32_t>(places.status);  // of 64 bits the lower
  return 0;
}

/// The call by a function of any library, whatever the width of its integers, of which there are no arrays.
template <class S>
int call(void* function, Interface interface, const typename S::Args& args) {
  static_assert(!places_of<S>(Interface::fortran).has_integers);
  return interface == Interface::cblas ? call_by_interface<S, Interface::cblas>(function, args, column_major)
                                       : call_by_interface<S, Interface::fortran>(function, args, column_major);
}

/// The call by a function of a library with such integers.  Throws std::bad_alloc only where there are arrays of them,
/// before anything has happened.
template <class S>
int call(void* function, Interface interface, const typename S::Args& args, bool wide) {
  if constexpr (places_of<S>(Interface::fortran).has_integers) {
    typename S::Args own = args;
    signatures::Convert convert(wide);
    S::describe(own, convert);
    const int info = call_by_interface<S, Interface::fortran>(function, own, column_major);
    convert.bring_back();
    return info;
  } else {
    return call<S>(function, interface, args);
  }
}

/// The call in row-major that Args came from.
template <class S>
void call_in_row_major(void* function, typename S::Args args) {
  S::fold(args);
  call_by_interface<S, Interface::cblas>(function, args, row_major);
}

template <class S>
std::vector<CheckedOperand> list_operands(const typename S::Args& args) {
  signatures::ListOperands list;
  S::describe(args, list);
  return std::move(list.all);
}

template <class S>
std::string write_words(const typename S::Args& args) {
  signatures::Write write;
  S::describe(args, write);
  return write.text;
}

/// Of valid Args.
template <class S>
signatures::Workspaces workspaces_of(const typename S::Args& args) {
  signatures::Workspaces workspaces;
  S::describe(args, workspaces);
  return workspaces;
}

/// Whether integers of 32 bits can hold the call's.
template <class S>
bool is_narrow(const typename S::Args& args) {
  signatures::Narrow narrow;
  S::describe(args, narrow);
  return narrow.fits;
}

}  // namespace blaslift
