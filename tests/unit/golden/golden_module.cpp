// libblaslift_host.so of the golden tests: a device that computes nothing, and writes down what it is asked for.
//
// Everything that reaches a lane is a line: operations by their ticket, sizes, offsets into named memory (never
// addresses), and what they wait for.  Downloads bring zeros.
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "kernels/module.hpp"
#include "tests/unit/golden/golden_module.hpp"

namespace blaslift {
namespace {

struct Named {
  std::string name;
  std::size_t bytes;
  int place;
};

struct Device {
  std::string text;
  std::map<const char*, Named> memory;  ///< the test's, and what has been allocated, by where it begins
  int allocations = 0;
};
Device& device() {
  static auto& made = *new Device;
  return made;
}

[[gnu::format(printf, 1, 2)]] std::string print(const char* format, ...) {
  char line[512];
  va_list values;
  va_start(values, format);
  std::vsnprintf(line, sizeof line, format, values);
  va_end(values);
  return line;
}

const std::pair<const char* const, Named>* named(const void* at) {
  const auto& memory = device().memory;
  auto after = memory.upper_bound(static_cast<const char*>(at));
  if (after == memory.begin()) return nullptr;
  --after;
  return static_cast<const char*>(at) < after->first + after->second.bytes ? &*after : nullptr;
}

/// "A+64", in bytes; "host" for what has no name.
std::string where(const void* at) {
  if (!at) return "null";
  const auto* found = named(at);
  if (!found) return "host";
  return found->second.name + print("+%td", static_cast<const char*>(at) - found->first);
}
std::string where(const void* at, index ld) { return where(at) + print(" ld %lld", static_cast<long long>(ld)); }

std::string size(index rows, index cols) {
  return print("%lld x %lld", static_cast<long long>(rows), static_cast<long long>(cols));
}

std::string scalar(const void* at, Element precision) {
  if (!at) return "null";
  const bool narrow = precision == Element::s || precision == Element::c;
  const auto real = [&](int i) {
    return narrow ? static_cast<double>(static_cast<const float*>(at)[i]) : static_cast<const double*>(at)[i];
  };
  if (precision == Element::s || precision == Element::d) return print("%.9g", real(0));
  return print("(%.9g,%.9g)", real(0), real(1));
}

const char* part_name(Part part) {
  constexpr const char* names[] = {"", " upper", " lower"};
  return names[static_cast<int>(part)];
}

class Recorder final : public Lane {
 public:
  Status upload(const Transfer& t, After after) override {
    return add("upload   " + where(t.device, t.ldd) + " := " + transfer(t), after);
  }
  Status ask(const Operation& operation, After after) override {
    return operation.visit([&](const auto& x) { return ask_for(x, after); });
  }
  Status ask_for(const Gemm& g, After after) {
    std::string text = print("%cgemm    ", letter(g.precision)) + where(g.C, g.ldc) +
                       " := " + scalar(g.alpha, g.precision) + print(" %c(", static_cast<char>(g.transa)) +
                       where(g.A, g.lda) + print(") %c(", static_cast<char>(g.transb)) + where(g.B, g.ldb) + ") + " +
                       scalar(g.beta, g.precision) + (g.E ? " " + where(g.E, g.lde) : " itself");
    text += ", " + size(g.m, g.n) + print(" x %lld", static_cast<long long>(g.k)) + part_name(g.part);
    if (g.part != Part::whole && g.update != Update::rank_k)
      text += g.update == Update::product ? " of A B" : " of A B + B A";
    return add(text, after, g.stream, g.awaited);
  }
  Status ask_for(const GemmBatch& g, After after) {
    const auto matrices = [](const void* at, index ld, index stride) {
      return where(at, ld) + print(" stride %lld", static_cast<long long>(stride));
    };
    return add(print("%cbatch   ", letter(g.precision)) + matrices(g.C, g.ldc, g.stride_c) +
                   " := " + scalar(g.alpha, g.precision) + print(" %c(", static_cast<char>(g.transa)) +
                   matrices(g.A, g.lda, g.stride_a) + print(") %c(", static_cast<char>(g.transb)) +
                   matrices(g.B, g.ldb, g.stride_b) + ") + " + scalar(g.beta, g.precision) + " itself, " +
                   size(g.m, g.n) + print(" x %lld", static_cast<long long>(g.k)) +
                   print(", %lld times", static_cast<long long>(g.count)),
               after, g.stream, g.awaited);
  }
  Status ask_for(const Combination& c, After after) {
    std::string text = print("%ccombine ", letter(c.precision)) + size(c.rows, c.cols);
    bool scaled = false;
    for (int t = 0; t < c.targets; ++t) {
      text += (t == 0 ? ": " : "; ") + where(c.target[t].at, c.target[t].ld) + " :=";
      for (int s = 0; s < c.sources; ++s)
        if (const int sign = c.target[t].sign[s]; sign != 0) {
          text += (sign < 0 ? " - " : " + ") + where(c.source[s].at, c.source[s].ld) + (c.source[s].scaled ? " *" : "");
          scaled = scaled || c.source[s].scaled;
        }
    }
    if (scaled) text += ", * by " + scalar(c.scale, c.precision);
    return add(text, after, c.stream, c.awaited);
  }
  Status ask_for(const Survey& s, After after) {
    return add(print("%csurvey  ", letter(s.precision)) + where(s.at, s.ld) + ", " + size(s.rows, s.cols) + " to " +
                   where(s.row_max) + " and " + where(s.col_max),
               after, s.stream, s.awaited);
  }
  Status ask_for(const Symv& p, After after) {
    const auto number = [](index x) { return static_cast<long long>(x); };
    const SymvBlocking& b = p.blocking;
    return add(print("%csymv    ", letter(p.precision)) + where(p.y) + print(" inc %lld := ", number(p.incy)) +
                   scalar(p.alpha, p.precision) + print(" %c(", static_cast<char>(p.uplo)) + where(p.A, p.lda) + ") " +
                   where(p.x) + print(" inc %lld + ", number(p.incx)) + scalar(p.beta, p.precision) +
                   print(" itself, %lld%s%s, %dx%dx%dx%d %s, workspace ", number(p.n), p.hermitian ? " hermitian" : "",
                         p.conjugated ? " conjugated" : "", b.U, b.Tx, b.Ty, b.H,
                         p.way == SymvWay::parts ? "parts" : "tickets") +
                   where(p.workspace),
               after, p.stream, p.awaited);
  }
  Status ask_for(const Gemv& p, After after) {
    const auto number = [](index x) { return static_cast<long long>(x); };
    return add(
        print("%cgemv    ", letter(p.precision)) + where(p.y) + print(" inc %lld := ", number(p.incy)) +
            scalar(p.alpha, p.precision) + print(" %s(", p.transposed ? "T" : "N") + where(p.A, p.lda) + ") " +
            where(p.x) + print(" inc %lld + ", number(p.incx)) + scalar(p.beta, p.precision) +
            print(" itself, %lld x %lld%s, workspace ", number(p.m), number(p.n), p.conjugated ? " conjugated" : "") +
            where(p.workspace),
        after, p.stream, p.awaited);
  }
  Status ask_for(const QrPanel& p, After after) {
    return add(print("%cpanel   ", letter(p.precision)) + where(p.A, p.lda) + " tau " + where(p.tau) + ", " +
                   size(p.m, p.n) +
                   print(" above %lld of %lld, V ", static_cast<long long>(p.above), static_cast<long long>(p.block)) +
                   where(p.V, p.ldv) + " T " + where(p.T, p.ldt) + (p.factored ? ", factored" : ""),
               after, p.stream, p.awaited);
  }
  Status ask_for(const Trsm& p, After after) {
    return add(print("%ctrsm    %c%c%c%c ", letter(p.precision), static_cast<char>(p.side), static_cast<char>(p.uplo),
                     static_cast<char>(p.trans), p.unit ? 'U' : 'N') +
                   where(p.A, p.lda) + ", " + where(p.B, p.ldb) + " := " + scalar(p.alpha, p.precision) + " itself, " +
                   size(p.m, p.n) +
                   (p.way == TrsmWay::blocks ? ", workspace " + where(p.workspace) + (p.prepared ? ", prepared" : "")
                                             : std::string()),
               after, p.stream, p.awaited);
  }
  Status ask_for(const Potrf& p, After after) {
    return add(print("%cpotrf   %c ", letter(p.precision), static_cast<char>(p.uplo)) + where(p.A, p.lda) + ", " +
                   size(p.n, p.n) + ", failed " + where(p.failed),
               after, p.stream, p.awaited);
  }
  Status ask_for(const Getrf& p, After after) {
    return add(print("%cgetrf   ", letter(p.precision)) + where(p.A, p.lda) + ", " + size(p.m, p.n) + ", pivots " +
                   where(p.pivots) + ", failed " + where(p.failed),
               after, p.stream, p.awaited);
  }
  Status ask_for(const Syevd& p, After after) {
    return add(print("%csyevd   %c%c ", letter(p.precision), p.vectors ? 'V' : 'N', static_cast<char>(p.uplo)) +
                   where(p.A, p.lda) + ", " + size(p.n, p.n) + ", " + std::to_string(p.count) + " from " +
                   std::to_string(p.first) + (p.vectors ? " to " + where(p.V, p.ldv) : std::string()) + ", w " +
                   where(p.w) + ", failed " + where(p.failed),
               after, p.stream, p.awaited);
  }
  Status ask_for(const Gebrd& p, After after) {
    return add(print("%cgebrd   ", letter(p.precision)) + where(p.A, p.lda) + ", " + size(p.m, p.n) + ", d " +
                   where(p.d) + ", e " + where(p.e) + ", tauq " + where(p.tauq) + ", taup " + where(p.taup) +
                   ", failed " + where(p.failed),
               after, p.stream, p.awaited);
  }
  Status ask_for(const Sytrd& p, After after) {
    return add(print("%csytrd   %c ", letter(p.precision), static_cast<char>(p.uplo)) + where(p.A, p.lda) + ", " +
                   size(p.n, p.n) + ", d " + where(p.d) + ", e " + where(p.e) + ", tau " + where(p.tau) + ", failed " +
                   where(p.failed),
               after, p.stream, p.awaited);
  }
  Status ask_for(const Gehrd& p, After after) {
    return add(print("%cgehrd   ", letter(p.precision)) + where(p.A, p.lda) + ", " + size(p.rows, p.cols) + " from " +
                   std::to_string(p.above) + ", tau " + where(p.tau) + ", failed " + where(p.failed),
               after, p.stream, p.awaited);
  }
  Status ask_for(const Geqp3& p, After after) {
    return add(print("%cgeqp3   ", letter(p.precision)) + where(p.A, p.lda) + ", " + size(p.m, p.n) + ", fixed " +
                   where(p.fixed) + ", order " + where(p.order) + ", tau " + where(p.tau) + ", failed " +
                   where(p.failed),
               after, p.stream, p.awaited);
  }
  Status ask_for(const Svd& p, After after) {
    return add(print("%csvd     ", letter(p.precision)) + where(p.A, p.lda) + ", " + size(p.m, p.n) +
                   (p.u_cols > 0 ? ", U " + where(p.U, p.ldu) + " " + size(p.m, p.u_cols) : std::string()) +
                   (p.vt_rows > 0 ? ", VT " + where(p.VT, p.ldvt) + " " + size(p.vt_rows, p.n) : std::string()) +
                   ", s " + where(p.s) + ", failed " + where(p.failed),
               after, p.stream, p.awaited);
  }
  Status ask_for(const Assign& p, After after) {
    return add(print("%cassign  ", letter(p.precision)) + where(p.C, p.ldc) + " := " +
                   (p.A ? where(p.A, p.lda) + (p.transposed ? " transposed" : "") + (p.conjugated ? " conjugated" : "")
                        : std::string("identity")) +
                   ", " + size(p.m, p.n) + part_name(p.part) + (p.strict ? " strict" : "") +
                   print(" below %lld", static_cast<long long>(p.below)),
               after, p.stream, p.awaited);
  }
  Status ask_for(const Mirror& p, After after) {
    return add(print("%cmirror  ", letter(p.precision)) + where(p.A, p.lda) + ", " + size(p.n, p.n) +
                   part_name(part_of(p.uplo)),
               after, p.stream, p.awaited);
  }
  Status ask_for(const Geev& p, After after) {
    return add(print("%cgeev    ", letter(p.precision)) + where(p.A, p.lda) + ", " + size(p.n, p.n) +
                   (p.vectors ? ", VR " + where(p.VR, p.ldvr) : std::string()) + ", w " + where(p.w) +
                   (p.wi ? ", wi " + where(p.wi) : std::string()) + ", failed " + where(p.failed),
               after, p.stream, p.awaited);
  }
  Status ask_for(const RowSwaps& p, After after) {
    return add(print("%cswaps   ", letter(p.precision)) + where(p.A, p.lda) + ", " + size(p.m, p.n) + ", pivots " +
                   where(p.pivots) + ", moves " + where(p.moves) + (p.prepared ? ", prepared" : "") +
                   (p.backward ? ", backward" : ""),
               after, p.stream, p.awaited);
  }
  Status download(const Transfer& t, After after, std::atomic<bool>& landed) override {
    for (index j = 0; j < t.cols; ++j)
      std::memset(static_cast<char*>(t.host) + static_cast<std::size_t>(j * t.ldh) * t.element, 0,
                  static_cast<std::size_t>(t.rows) * t.element);
    landed = true;
    return add("download " + where(t.device, t.ldd) + " to " + transfer(t) + (t.keep ? ", kept" : ""), after);
  }
  Status await(const std::atomic<bool>& landed) override { return landed ? Status::done : Status::lost; }
  void abandon() override { device().text += "abandon\n"; }
  Status drain() override {
    if (next_ > 0) device().text += "drain\n";
    next_ = 0;
    return Status::done;
  }

 private:
  static std::string transfer(const Transfer& t) {
    return where(t.host, t.ldh) + ", " + size(t.rows, t.cols) + print(" of %zu", t.element) + part_name(t.part) +
           (t.part != Part::whole ? print(" below %lld", static_cast<long long>(t.below)) : "") +
           (t.direct ? ", direct" : "");
  }
  Status add(const std::string& text, After after, int stream = 0, bool awaited = true) {
    std::string& all = device().text;
    all += print("%d: ", next_++) + text;
    if (stream != 0) all += print(", stream %d", stream);
    if (!awaited) all += ", not awaited";
    for (int i = 0; i < after.count; ++i) all += print(i == 0 ? ", after %d" : " %d", after.tickets[i]);
    all += '\n';
    return Status::done;
  }

  Ticket next_ = 0;
};

class Recording final : public Backend {
 public:
  explicit Recording(std::size_t memory) {
    std::strcpy(facts_.name, "golden");
    std::strcpy(facts_.profile, "sm_90");
    facts_.memory = memory > 0 ? memory : std::size_t{1} << 34;
    facts_.piece_bytes = std::size_t{4} << 20;
    for (std::uint8_t& all : facts_.computes.elements) all = 0xff;
  }
  const DeviceFacts& facts() const override { return facts_; }
  void set_piece(std::size_t bytes) { facts_.piece_bytes = bytes; }

  Lane* acquire(const UnderlyingBlas&, std::size_t bytes, Status& status) override {
    status = Status::done;
    device().text += print("acquire for %zu bytes\n", bytes);
    return &lane_;
  }
  void release(Lane*) override { device().text += "release\n"; }
  Status allocate(std::size_t bytes, void*& memory) override {
    // All of a test's allocations, of which little is ever touched.
    memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
    if (!memory) return Status::no_memory;
    const std::string name = "D" + std::to_string(device().allocations++);
    device().text += print("allocate %s: %zu bytes\n", name.c_str(), bytes);
    device().memory[static_cast<const char*>(memory)] = {name, bytes, static_cast<int>(MemoryKind::on_a_device)};
    return Status::done;
  }
  void free(void* memory) override {
    const auto* found = named(memory);
    device().text += "free " + (found ? found->second.name : "what was not allocated") + '\n';
    device().memory.erase(static_cast<const char*>(memory));
    std::free(memory);
  }
  MemoryKind memory_kind(const void* memory, std::size_t, bool) override {
    const auto* found = named(memory);
    return found ? static_cast<MemoryKind>(found->second.place) : MemoryKind::pageable;
  }
  int candidates(const SquareProduct&, std::uint32_t, Candidate*, int) override { return 0; }
  void prefer(const Preference*, int) override {}

 private:
  DeviceFacts facts_{};
  Recorder lane_;
};

Recording* the_backend = nullptr;

Backend* open(const OpenRequest& request, char*, std::size_t) {
  return the_backend = new Recording(request.memory_limit);
}

}  // namespace
}  // namespace blaslift

extern "C" __attribute__((visibility("default"))) void golden_begin(std::size_t piece_bytes) {
  using namespace blaslift;
  device().text.clear();
  device().memory.clear();
  device().allocations = 0;
  if (the_backend) the_backend->set_piece(piece_bytes);
}
extern "C" __attribute__((visibility("default"))) void golden_go_on() { blaslift::device().text.clear(); }
extern "C" __attribute__((visibility("default"))) void golden_name(const char* name, const void* at, std::size_t bytes,
                                                                   int place) {
  blaslift::device().memory[static_cast<const char*>(at)] = {name, bytes, place};
}
extern "C" __attribute__((visibility("default"))) const char* golden_text() { return blaslift::device().text.c_str(); }

BLASLIFT_MODULE(blaslift::open)
