// Times gemm on operands that lie on the device: through the entry that is shipped, with cuBLAS called directly beside
// it, in turns.  Links the ordinary BLAS; blaslift has to be preloaded and computes as its environment says.
//
//   levels_time [--precision s|d|c|z] [--sizes N|MxNxK,...] [--repetitions R] [--warm W] [--seconds S] [--beta BETA]
//               [--trans XY] [--check on|off] [--memory on|off] [--warming N] [--settle S]
//
// Prints a line of JSON a size.  Of both: median, least and most seconds of up to R repetitions, as many as S seconds
// allow, yet three at least; A and B, uniform in [-1, 1], are made anew before each, and C, all NaN where it is not
// read.  W more go before, where S seconds allow, products of size N once at the start, and --settle S seconds of
// cuBLAS's: a device that was idle computes faster for a while.  Either begins in every other repetition.
//
// The check: of the last repetition, eight rows and columns of C beside sums in twice the precision, errors relative to
// the largest entry seen; that C is finite, that A and B are as they were, and that the last two repetitions, with the
// same operands, gave the same bits.  Exit status 1 if something is wrong.
//
// "held": bytes of device memory that were taken beside the operands, after the last repetition; "peak" with --memory:
// the most during one more call, seen by a thread that asks all the time.  What the library keeps between calls, its
// handles and code are in both: compare with a run without levels.
//
// Compiled for the host (levels_time_host) everything lies there, and cuBLAS is the BLAS underneath.
#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <limits>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "bench/device_gemm.hpp"

// By the names alone: what they take is given as memory.
#define BENCH_GEMM(name)                                                                                       \
  extern "C" void name(const char*, const char*, const int*, const int*, const int*, const void*, const void*, \
                       const int*, const void*, const int*, const void*, void*, const int*, std::size_t, std::size_t);
BENCH_GEMM(sgemm_)
BENCH_GEMM(dgemm_)
BENCH_GEMM(cgemm_)
BENCH_GEMM(zgemm_)

namespace bench {
namespace {

struct Arguments {
  char precision = 'd', transa = 'N', transb = 'N';
  std::string sizes = "1024";
  int repetitions = 9, warm = 1, warming = 2048;
  double seconds = 1, settle = 0, beta = 0;
  bool check = true, memory = false;
};

// ---- through the entry

template <class T>
constexpr GemmEntry entry = std::is_same_v<T, float>            ? sgemm_
                            : std::is_same_v<T, double>         ? dgemm_
                            : std::is_same_v<T, Complex<float>> ? cgemm_
                                                                : zgemm_;

/// Whoever else computes would take the addresses for its own.
void require_blaslift() {
  Dl_info found{};
  void* entry = dlsym(RTLD_DEFAULT, "dgemm_");
  if (!entry || !dladdr(entry, &found) || !std::strstr(found.dli_fname, "libblaslift"))
    throw std::runtime_error("libblaslift.so is not preloaded");
}

// ---- all bits

struct Digest {
  std::uint64_t bits, not_finite;
};

/// One of `parts` parts of it; sums do not depend on the order.
template <class R>
struct DigestPart {
  const R* from;
  index count, parts;
  Digest* to;
  BENCH_BOTH void operator()(index part) const {
    using Bits = std::conditional_t<sizeof(R) == 4, std::uint32_t, std::uint64_t>;
    Digest d{};
    for (index i = part; i < count; i += parts) {
      const R x = from[i];
      Bits bits = 0;
      memcpy(&bits, &x, sizeof bits);
      d.bits += mixed(bits + (static_cast<std::uint64_t>(i) + 1) * 0x9e3779b97f4a7c15u);
      if (!(x - x == 0)) ++d.not_finite;
    }
    to[part] = d;
  }
};

template <class T>
Digest digest(const Array<T>& x) {
  using R = typename Real<T>::type;
  constexpr index parts = 1 << 17;
  const Array<Digest> on_device(parts);
  for_each(parts, DigestPart<R>{reinterpret_cast<const R*>(x.get()),
                                x.count() * static_cast<index>(sizeof(T) / sizeof(R)), parts, on_device.get()});
  finish();
  std::vector<Digest> all(parts);
  bring(all.data(), on_device.get(), on_device.bytes());
  Digest sum{};
  for (const Digest& d : all) sum.bits += d.bits, sum.not_finite += d.not_finite;
  return sum;
}

// ---- times

struct Times {
  std::vector<double> seconds;
  Digest bits[2]{};  ///< of C after the last two
  double middle() const { return median(seconds); }
  double least() const { return *std::min_element(seconds.begin(), seconds.end()); }
  double most() const { return *std::max_element(seconds.begin(), seconds.end()); }
  /// Between the quartiles, relative to the median.
  double spread() const { return (quantile(seconds, 0.75) - quantile(seconds, 0.25)) / middle(); }
  bool repeats() const { return bits[0].bits == bits[1].bits; }
};

std::string in_json(const char* name, const Times& t, double flops) {
  char text[256];
  std::snprintf(text, sizeof text,
                "\"%s\": {\"seconds\": %.7f, \"least\": %.7f, \"most\": %.7f, \"spread\": %.4f, \"tflops\": %.3f}",
                name, t.middle(), t.least(), t.most(), t.spread(), 1e-12 * flops / t.middle());
  return text;
}

/// The least free memory while it lives.
class Watch {
 public:
  Watch()
      : thread_([this] {
          while (!ended_.load(std::memory_order_relaxed)) {
            look();
            std::this_thread::sleep_for(std::chrono::microseconds(500));
          }
        }) {}
  std::size_t end() {
    ended_ = true;
    thread_.join();
    look();
    return least_;
  }

 private:
  void look() { least_ = std::min(least_, bytes_free()); }
  std::size_t least_ = std::numeric_limits<std::size_t>::max();
  std::atomic<bool> ended_{false};
  std::thread thread_;
};

// ---- one size

/// What stays the same from size to size.
struct Session {
  Other other;
  std::size_t free_at_start = 0;  ///< with nothing of ours or of blaslift's there
  double rate = 1e9;              ///< flop/s, roughly: how many repetitions fit into the time
};

template <class T>
class Problem {
  using R = typename Real<T>::type;

 public:
  Problem(Session& session, const Arguments& arguments, const Size& size)
      : session_(session),
        arguments_(arguments),
        free_before_(bytes_free()),
        product_(size, arguments.transa, arguments.transb, arguments.beta, arguments.check) {}

  /// The time of it is not told, only what else is learnt.
  void warm(int times) {
    for (int i = 0; i < times; ++i) session_.rate = flops() / (0.5 * (run_ours(2) + run_other(2)));
  }

  /// Prints a line; false if something is wrong.
  bool measure() {
    const std::size_t operands = free_before_ - bytes_free();
    const double pair = 2 * flops() / session_.rate;
    if (arguments_.warm * pair <= arguments_.seconds) warm(arguments_.warm);
    settle();
    const double fit = arguments_.seconds * session_.rate / (2 * flops());
    const int least = std::min(3, arguments_.repetitions),
              count = std::clamp(static_cast<int>(std::min(fit, 1e6)), least, arguments_.repetitions);
    Times ours, others;
    bool kept = true;
    for (int r = 0; r < count; ++r) {
      const bool last = r == count - 1, compared = arguments_.check && r >= count - 2;
      const std::uint64_t seed = r >= count - 2 ? 1 : static_cast<std::uint64_t>(r) + 2;
      const auto run_and_take_ours = [&] {
        ours.seconds.push_back(run_ours(seed));
        if (compared) ours.bits[r - (count - 2)] = digest(product_.C);
        if (!compared || !last) return;
        product_.rows->take_ours(), product_.cols->take_ours();
        const Digest a = digest(product_.A), b = digest(product_.B);
        product_.fill_inputs(seed);
        kept = a.bits == digest(product_.A).bits && b.bits == digest(product_.B).bits;
      };
      const auto run_and_take_other = [&] {
        others.seconds.push_back(run_other(seed));
        if (compared) others.bits[r - (count - 2)] = digest(product_.C);
        if (compared && last) product_.rows->take_others(), product_.cols->take_others();
      };
      // Whoever comes second finds the device warmer.
      if (r % 2 == 0) {
        run_and_take_ours();
        run_and_take_other();
      } else {
        run_and_take_other();
        run_and_take_ours();
      }
    }
    session_.rate = flops() / others.middle();
    const std::size_t held = beside(operands, bytes_free());
    std::size_t peak = 0;
    int calls = calls_;
    if (arguments_.memory) {
      product_.fill(1);
      Watch watch;
      gemm(entry<T>, product_.call);
      peak = beside(operands, watch.end());
      ++calls;
    }

    const Call<T>& call = product_.call;
    std::string line = "{\"precision\": \"" + std::string(1, arguments_.precision) + "\"";
    char text[512];
    std::snprintf(text, sizeof text,
                  ", \"m\": %d, \"n\": %d, \"k\": %d, \"beta\": %g, \"trans\": \"%c%c\", \"repetitions\": %d, "
                  "\"calls\": %d, ",
                  call.m, call.n, call.k, call.beta, call.transa, call.transb, count, calls);
    line += text + in_json("ours", ours, flops()) + ", " + in_json("cublas", others, flops());
    std::snprintf(text, sizeof text, ", \"speedup\": %.4f, \"held\": %zu", others.middle() / ours.middle(), held);
    line += text;
    if (arguments_.memory) line += ", \"peak\": " + std::to_string(peak);
    const bool right = !arguments_.check || add_check(line, ours, others, kept, count);
    std::printf("%s}\n", line.c_str());
    std::fflush(stdout);
    return right;
  }

 private:
  double flops() const { return product_.flops(); }

  /// Products until the device's clock has come down to what it can keep up.
  void settle() {
    for (const double end = now() + arguments_.settle; now() < end;) session_.rate = flops() / run_other(1);
  }

  double run_ours(std::uint64_t seed) {
    product_.fill(seed);
    ++calls_;
    const double start = now();
    gemm(entry<T>, product_.call);
    const double seconds = now() - start;
    finish();
    return seconds;
  }
  double run_other(std::uint64_t seed) {
    product_.fill(seed);
    const double start = now();
    session_.other.gemm(product_.call);
    session_.other.wait();
    return now() - start;
  }

  std::size_t beside(std::size_t operands, std::size_t free) const {
    const std::size_t taken = session_.free_at_start - std::min(session_.free_at_start, free);
    return taken - std::min(taken, operands);
  }

  bool add_check(std::string& line, const Times& ours, const Times& others, bool kept, int count) {
    const Finding rows = product_.rows->compare(arguments_.beta), cols = product_.cols->compare(arguments_.beta);
    const double size = std::max(rows.size, cols.size), error = std::max(rows.ours, cols.ours) / size,
                 other_error = std::max(rows.others, cols.others) / size;
    const double bound = product_.bound();
    const std::uint64_t not_finite = ours.bits[1].not_finite;
    const bool repeats = count < 2 || ours.repeats();
    const bool right = error <= bound && not_finite == 0 && kept && repeats;
    const auto truth = [](bool x) { return x ? "true" : "false"; };
    char text[512];
    std::snprintf(
        text, sizeof text,
        ", \"error\": %.3g, \"cublas_error\": %.3g, \"bound\": %.3g, \"largest\": %.4g, \"not_finite\": %llu, "
        "\"inputs_kept\": %s, \"same_bits\": %s, \"cublas_same_bits\": %s, \"bits\": \"%016llx\", \"right\": %s",
        std::min(error, no_number), std::min(other_error, no_number), bound, size,
        static_cast<unsigned long long>(not_finite), truth(kept), truth(repeats), truth(count < 2 || others.repeats()),
        static_cast<unsigned long long>(ours.bits[1].bits), truth(right));
    line += text;
    return right;
  }

  Session& session_;
  const Arguments& arguments_;
  std::size_t free_before_;
  DeviceProduct<T> product_;
  int calls_ = 0;
};

// ---- the program

template <class T>
bool run(const Arguments& arguments) {
  std::vector<Size> sizes;
  for (std::string rest = arguments.sizes; !rest.empty();) {
    const std::string word = rest.substr(0, rest.find(','));
    rest.erase(0, word.size() + 1);
    sizes.push_back(size_of(word));
  }

  require_blaslift();
  Session session;
  Arguments warming = arguments;
  warming.check = false;
  const int n = arguments.warming;
  {  // cuBLAS takes what it takes before memory is looked at
    const Array<T> x(3 * static_cast<index>(n) * n);
    const Call<T> call{'N', 'N', n, n, n, x.get(), n, x.get() + x.count() / 3, n, 0, x.get() + x.count() / 3 * 2};
    session.other.gemm(call);
    session.other.wait();
  }
  session.free_at_start = bytes_free();
  Problem<T>(session, warming, {n, n, n}).warm(2);
  bool right = true;
  for (const Size& s : sizes) right = Problem<T>(session, arguments, s).measure() && right;
  return right;
}

Arguments parse(char** words) {
  Arguments a;
  read_options(words, [&a](const Option& option) {
    const std::string& name = option.name;
    if (name == "--precision")
      a.precision = option.one_of("sdcz", 0);
    else if (name == "--sizes")
      a.sizes = option.value;
    else if (name == "--repetitions")
      a.repetitions = static_cast<int>(option.number(1));
    else if (name == "--warm")
      a.warm = static_cast<int>(option.number(0));
    else if (name == "--warming")
      a.warming = static_cast<int>(option.number(1));
    else if (name == "--seconds")
      a.seconds = option.number(0);
    else if (name == "--settle")
      a.settle = option.number(0);
    else if (name == "--beta")
      a.beta = std::atof(option.value.c_str());
    else if (name == "--trans")
      a.transa = option.one_of("NTC", 0), a.transb = option.one_of("NTC", 1);
    else if (name == "--check")
      a.check = option.on();
    else if (name == "--memory")
      a.memory = option.on();
    else
      return false;
    return true;
  });
  return a;
}

}  // namespace
}  // namespace bench

int main(int, char** argv) {
  using namespace bench;
  try {
    const Arguments a = parse(argv);
    return by_precision("levels_time", "right", a.precision, [&](auto x) { return run<decltype(x)>(a); });
  } catch (const std::exception& error) {
    std::fprintf(stderr, "levels_time: %s\n", error.what());
    return 2;
  }
}
