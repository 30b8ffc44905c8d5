#include "impl/core/signature.hpp"

#include <complex>
#include <memory>

namespace blaslift::signatures {
namespace {

template <class T>
T& as(const Scalar& x) {
  return *static_cast<T*>(x.at);
}

/// Calls `with` with the real or complex number that `x` is.
template <class With>
decltype(auto) with_number(const Scalar& x, With with) {
  switch (x.precision) {
    case Precision::s: return with(as<float>(x));
    case Precision::d: return with(as<double>(x));
    case Precision::c: return with(as<std::complex<float>>(x));
    case Precision::z: break;
  }
  return with(as<std::complex<double>>(x));
}

/// Puts operands' addresses into a call's words.
class Readdress final : public Visitor, Cursor {
 public:
  Readdress(Interface interface, bool layout, CallWords& words) : Cursor(interface, layout), words_(words) {}
  void letter(const char*, Choices, Letter) override { ++next_; }
  void integer(const char*, index&, bool) override { ++next_; }
  void scalar(const char*, Scalar x) override { next_ += !is_value(x); }
  void real_scalar(const char* name, Scalar x, bool) override { scalar(name, real_part(x)); }
  void operand(const char*, Pointer at, Asked<Use>) override { words_.set(next_++, at.get()); }
  void workspace(const char*, Pointer at, index&, Asked<index>) override {
    words_.set(next_, at.get());
    next_ += 2;
  }
  void scratch(const char*, Pointer at, Asked<index>) override { words_.set(next_++, at.get()); }
  void info() override { ++next_; }

 private:
  CallWords& words_;
};

struct SetOperands final : Visitor {
  explicit SetOperands(void* const* all) : next(all) {}
  void operand(const char*, Pointer at, Asked<Use>) override { at.set(*next++); }
  void workspace(const char*, Pointer at, index&, Asked<index>) override { at.set(*next++); }
  void scratch(const char*, Pointer at, Asked<index>) override { at.set(*next++); }
  void* const* next;
};

struct ListOperands final : Visitor {
  void operand(const char* name, Pointer at, Asked<Use> use) override {
    const Use x = use();
    all.push_back({name,
                   {at.get(), x.rows, x.cols, x.ld, at.element_size(), x.part},
                   x.reads,
                   x.writes,
                   x.aside,
                   at.integers() != nullptr});
  }
  void workspace(const char* name, Pointer at, index& size, Asked<index>) override { add(name, at, size); }
  void scratch(const char* name, Pointer at, Asked<index> size) override { add(name, at, size()); }
  std::vector<CheckedOperand> all;

 private:
  void add(const char* name, Pointer at, index size) {
    size = std::max<index>(0, size);
    all.push_back({name, {at.get(), size, 1, std::max<index>(1, size), at.element_size()}, false, false, true});
  }
};

struct Write final : Visitor {
  void letter(const char* name, Choices among, Letter x) override { word(name, std::string(1, x.get(among))); }
  void integer(const char* name, index& x, bool used) override {
    if (used) word(name, std::to_string(x));
  }
  void scalar(const char* name, Scalar x) override {
    std::string value = number(x.real());
    if (is_complex(x.precision)) value += ',' + number(x.imag());
    word(name, value);
  }
  void real_scalar(const char* name, Scalar x, bool used) override {
    if (used) scalar(name, x);
  }
  void workspace(const char* name, Pointer, index& size, Asked<index>) override {
    word(length_of(name), std::to_string(size));
  }
  void recorded(const char* name, bool& x) override { word(name, std::to_string(static_cast<int>(x))); }
  std::string text;

 private:
  void word(const std::string& name, const std::string& value) {
    text += (text.empty() ? "" : " ") + name + '=' + value;
  }
};

struct Narrow final : Visitor {
  void integer(const char*, index& x, bool) override { add(x); }
  void operand(const char*, Pointer at, Asked<Use> use) override {
    const Integers* const x = at.integers();
    if (!x || !x->wide) return;
    const Use used = use();
    const bool means = used.reads && !used.writes;  // and is not there just to be kept
    for (index i = 0; means && i < used.rows; ++i) add(x->get(i));
  }
  void workspace(const char*, Pointer, index& size, Asked<index>) override { add(size); }
  bool fits = true;

 private:
  void add(index x) { fits = fits && x >= -INT32_MAX && x <= INT32_MAX; }
};

/// Puts arrays of a library's width in the place of a call's integers while it lives, and brings back what it has left
/// there.  Throws std::bad_alloc.
class Convert final : public Visitor {
 public:
  explicit Convert(bool wide) : wide_(wide) {}
  ~Convert() {
    for (const Pair& pair : all_) *pair.place = pair.callers;
  }
  Convert(const Convert&) = delete;
  Convert& operator=(const Convert&) = delete;

  void operand(const char*, Pointer at, Asked<Use> use) override {
    if (!at.integers()) return;
    const Use used = use();
    convert(at, used.rows, used.reads ? used.rows : 0, used.writes ? used.rows : 0);
  }
  /// The first one is the best size, afterwards.
  void workspace(const char*, Pointer at, index& size, Asked<index>) override {
    if (at.integers()) convert(at, std::max<index>(1, size), 0, 1);
  }
  void scratch(const char*, Pointer at, Asked<index> size) override {
    if (at.integers()) convert(at, size(), 0, 0);
  }
  void bring_back() const {
    for (const Pair& pair : all_)
      for (index i = 0; i < pair.written; ++i) pair.callers.set(i, pair.librarys.get(i));
  }

 private:
  struct Pair {
    std::unique_ptr<std::int64_t[]> memory;
    Integers* place;
    Integers callers, librarys;
    index written;
  };

  void convert(Pointer at, index size, index read, index written) {
    Integers& x = *at.integers();
    if (x.wide == wide_) return;
    std::unique_ptr<std::int64_t[]> memory(new std::int64_t[static_cast<std::size_t>(size)]());
    const Integers librarys{memory.get(), wide_};
    for (index i = 0; i < read; ++i) librarys.set(i, x.get(i));
    all_.push_back({std::move(memory), &x, x, librarys, written});
    x = librarys;
  }

  const bool wide_;
  std::vector<Pair> all_;
};

}  // namespace

double Scalar::real() const {
  return with_number(*this, [](const auto& x) { return static_cast<double>(std::real(x)); });
}
double Scalar::imag() const {
  return with_number(*this, [](const auto& x) { return static_cast<double>(std::imag(x)); });
}
void Scalar::set(double real, double imag) const {
  with_number(*this, [&]<class T>(T& x) {
    if constexpr (std::is_floating_point_v<T>)
      x = static_cast<T>(real);
    else
      x = {static_cast<typename T::value_type>(real), static_cast<typename T::value_type>(imag)};
  });
}

void call_words(void* function, const Places& places, CallWords& words) {
  const int count = places.with_lengths();
  for (int i = places.words(); i < count; ++i) words.word[i] = 1;
  blaslift::call(function, words, count);
}

void set_operands(Described call, void* const* at) {
  SetOperands set(at);
  call.show(set);
  (void)call.complete();
}

CallWords readdressed(Described call, Interface interface, CallWords words) {
  const bool layout = interface == Interface::cblas && call.by().has_layout;
  if (layout && static_cast<int>(words.word[0]) == row_major) call.fold();
  Readdress readdress(interface, layout, words);
  call.show(readdress);
  return words;
}

CallWords built(Described call, Interface interface, int layout, std::int64_t* cells) {
  CallWords words(layout);
  Build build(interface, interface == Interface::cblas && call.by().has_layout, words, cells);
  call.show(build);
  return words;
}

int call(Described call, void* function, Interface interface, int layout) {
  std::int64_t cells[CallWords::most];
  CallWords words = built(call, interface, layout, cells);
  const Places& places = call.by().places(interface);
  call_words(function, places, words);
  return places.status >= 0 ? *words.address<std::int32_t>(places.status) : 0;  // of 64 bits the lower
}

/// With something to destroy, which what is called outside own time must not have (compat/undisturbed.hpp).
[[gnu::noinline]] int call_with_integers(Described call, void* function, bool wide) {
  Convert convert(wide);
  call.show(convert);
  const int info = signatures::call(call, function, Interface::fortran, column_major);
  convert.bring_back();
  return info;
}

int call(Described call, void* function, bool wide) {
  if (call.by().fortran.has_integers) return call_with_integers(call, function, wide);
  return signatures::call(call, function, Interface::fortran, column_major);
}

int call(Described call, const Site& library) {
  if (call.by().fortran.has_integers) return signatures::call(call, library.function, library.wide);
  return signatures::call(call, library.function, info(library.symbol).interface, column_major);
}

std::vector<CheckedOperand> list_operands(Described call) {
  ListOperands list;
  call.show(list);
  return std::move(list.all);
}

std::string write_words(Described call) {
  Write write;
  call.show(write);
  return std::move(write.text);
}

bool is_narrow(Described call) {
  Narrow narrow;
  call.show(narrow);
  return narrow.fits;
}

}  // namespace blaslift::signatures
