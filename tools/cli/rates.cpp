#include "tools/cli/rates.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <random>
#include <set>

#include "impl/strassen.hpp"

namespace blaslift::cli {
namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

void require(Status status) {
  if (status == Status::no_memory) throw NoRoom("the device has no memory left");
  if (status != Status::done) throw std::runtime_error("the device was lost: an operation failed");
}

/// Sources and targets of the passes of the list of steps that the estimator counts.
struct Pass {
  int sources, targets;
};
std::vector<Pass> fused_passes() {
  std::vector<Pass> passes;
  for (const strassen::Step& step : strassen::fused().steps) {
    std::set<strassen::Block> read;
    for (const strassen::Sum& sum : step.sums)
      for (const strassen::Term& term : sum.terms) read.insert(term.block);
    if (!step.is_product()) passes.push_back({static_cast<int>(read.size()), static_cast<int>(step.sums.size())});
  }
  return passes;
}

/// The largest of each.
Pass widest() {
  Pass widest{};
  for (const Pass& pass : fused_passes())
    widest = {std::max(widest.sources, pass.sources), std::max(widest.targets, pass.targets)};
  return widest;
}

std::size_t square_bytes(Precision precision, index n) {
  return static_cast<std::size_t>(n) * static_cast<std::size_t>(n) * element_size(precision);
}

/// A number in each precision.
struct Scalars {
  alignas(16) std::complex<double> z;
  std::complex<float> c;
  double d;
  float s;
  const void* of(Precision precision) const {
    const void* scalars[] = {&s, &d, &c, &z};
    return scalars[static_cast<int>(precision)];
  }
};
constexpr Scalars one{1.0, 1.0F, 1.0, 1.0F}, zero{0.0, 0.0F, 0.0, 0.0F};

template <class Real>
void fill_uniform(std::vector<char>& bytes) {
  std::mt19937_64 generator(1);
  for (std::size_t i = 0; i + sizeof(Real) <= bytes.size(); i += sizeof(Real)) {
    const Real x = static_cast<Real>(static_cast<double>(generator() >> 11) * 0x1p-52 - 1);
    std::memcpy(bytes.data() + i, &x, sizeof x);
  }
}

}  // namespace

/// Device memory.
class Meter::Memory {
 public:
  Memory(Backend& backend, std::size_t bytes) : backend_(backend) { require(backend.allocate(bytes, at_)); }
  ~Memory() { backend_.free(at_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  char* at() const { return static_cast<char*>(at_); }

 private:
  Backend& backend_;
  void* at_ = nullptr;
};

/// A lane, as one call has it.
class Meter::Lease {
 public:
  /// What a call moves that the backend's threads serve.
  static constexpr std::size_t much = std::size_t{64} << 20;

  explicit Lease(Meter& meter) : backend_(meter.backend_) {
    Status status = Status::lost;
    lane_ = backend_.acquire(meter.underlying_, much, status);
    require(status);
  }
  ~Lease() { backend_.release(lane_); }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  Lane& lane() const { return *lane_; }

 private:
  Backend& backend_;
  Lane* lane_ = nullptr;
};

/// Of one operation, in seconds: the median of rounds, each as many as take an eighth of the time there is.
double Meter::median_of_rounds(const std::function<void(int)>& round) const {
  constexpr int least = 2, most = 1000, least_rounds = 3, most_rounds = 15;
  const auto timed = [&](int operations) {
    const double begin = now();
    round(operations);
    return (now() - begin) / operations;
  };
  timed(1);  // loads code, takes as long as it likes
  double each = timed(1);
  if (each < seconds_ / 8) each = timed(3);
  const int operations = static_cast<int>(std::clamp(seconds_ / 8 / std::max(each, 1e-9), 1.0 * least, 1.0 * most));
  if (each < seconds_) timed(operations);  // caches, clocks and what the backend makes once for so many operations
  std::vector<double> times;
  for (const double begin = now();
       times.size() < least_rounds || (times.size() < most_rounds && now() - begin < seconds_);)
    times.push_back(timed(operations));
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

/// Of one operation, where each comes after the one before, as in a level's list of steps.
double Meter::seconds_each(Lease& lease, const std::function<void(Lane&, After)>& ask) {
  return median_of_rounds([&](int operations) {
    for (Ticket ticket = 0; ticket < operations; ++ticket) {
      const Ticket before = ticket - 1;
      ask(lease.lane(), {&before, ticket > 0 ? 1 : 0});
    }
    require(lease.lane().drain());
  });
}

/// What is computed decides what power it takes and so how fast the device can be: numbers as programs have them.
void Meter::fill(Precision precision, void* device, index elements) {
  if (numbers_are_ != precision) {
    constexpr std::size_t enough = std::size_t{16} << 20;
    numbers_.resize(enough);
    const bool single = precision == Precision::s || precision == Precision::c;
    single ? fill_uniform<float>(numbers_) : fill_uniform<double>(numbers_);
    numbers_are_ = precision;
  }
  const Lease lease(*this);
  const std::size_t element = element_size(precision);
  const auto most = static_cast<index>(numbers_.size() / element);
  for (index i = 0; i < elements; i += most) {
    const index count = std::min(most, elements - i);
    require(lease.lane().upload({.device = static_cast<char*>(device) + static_cast<std::size_t>(i) * element,
                                 .ldd = count,
                                 .host = numbers_.data(),
                                 .ldh = count,
                                 .rows = count,
                                 .cols = 1,
                                 .element = element},
                                {nullptr, 0}));
  }
  require(lease.lane().drain());
}

std::size_t Meter::product_bytes(Precision precision, index n) { return 3 * square_bytes(precision, n); }

/// As the leaf of a level has it: with a pass after it over as much memory as a level's passes read and write for each
/// product.  One product after the other takes more power, which slows all of them down.
double Meter::product_rate(Precision precision, index n) {
  const std::size_t bytes = square_bytes(precision, n);
  const Memory memory(backend_, product_bytes(precision, n));
  fill(precision, memory.at(), 2 * n * n);
  const Gemm product{.precision = precision,
                     .transa = Op::none,
                     .transb = Op::none,
                     .m = n,
                     .n = n,
                     .k = n,
                     .alpha = one.of(precision),
                     .A = memory.at(),
                     .lda = n,
                     .B = memory.at() + bytes,
                     .ldb = n,
                     .beta = zero.of(precision),
                     .C = memory.at() + 2 * bytes,
                     .ldc = n,
                     .awaited = false};
  const Combination sum{.precision = precision,
                        .rows = n,
                        .cols = n,
                        .sources = 3,
                        .targets = 1,
                        .source = {{product.A, n, false}, {product.B, n, false}, {product.C, n, false}},
                        .target = {{product.C, n, {1, 1, 1}}},
                        .scale = nullptr,
                        .awaited = false};
  Lease lease(*this);
  const double both = median_of_rounds([&](int times) {
    for (Ticket product_ticket = 0; product_ticket < 2 * times; product_ticket += 2) {
      const Ticket before = product_ticket - 1;
      require(lease.lane().gemm(product, {&before, product_ticket > 0 ? 1 : 0}));
      require(lease.lane().combine(sum, {&product_ticket, 1}));
    }
    require(lease.lane().drain());
  });
  const double pass = seconds_each(lease, [&](Lane& lane, After after) { require(lane.combine(sum, after)); });
  const double seconds = std::max(both - pass, both / 8);  // what is measured twice is never quite the same
  return (is_complex(precision) ? 8.0 : 2.0) * std::pow(static_cast<double>(n), 3) / seconds;
}

std::size_t Meter::pass_bytes(Precision precision, index n) {
  return static_cast<std::size_t>(widest().sources + widest().targets) * square_bytes(precision, n);
}

/// Targets are no sources here, or sums would grow from round to round.
double Meter::pass_rate(Precision precision, index n) {
  const Memory memory(backend_, pass_bytes(precision, n));
  const auto block = [&, bytes = square_bytes(precision, n)](int i) {
    return memory.at() + static_cast<std::size_t>(i) * bytes;
  };
  const int most_sources = widest().sources;
  fill(precision, memory.at(), most_sources * n * n);
  std::vector<Combination> passes;
  double bytes = 0;
  for (const Pass& pass : fused_passes()) {
    Combination& x = passes.emplace_back(Combination{.precision = precision,
                                                     .rows = n,
                                                     .cols = n,
                                                     .sources = pass.sources,
                                                     .targets = pass.targets,
                                                     .source = {},
                                                     .target = {},
                                                     .scale = nullptr,
                                                     .awaited = false});
    for (int s = 0; s < pass.sources; ++s) x.source[s] = {block(s), n, false};
    for (int t = 0; t < pass.targets; ++t) {
      x.target[t] = {block(most_sources + t), n, {}};
      std::fill_n(x.target[t].sign, pass.sources, static_cast<signed char>(1));
    }
    bytes += (pass.sources + pass.targets) * static_cast<double>(square_bytes(precision, n));
  }
  Lease lease(*this);
  const double seconds = median_of_rounds([&](int times) {
    Ticket ticket = 0;
    for (int i = 0; i < times; ++i)
      for (const Combination& x : passes) {
        const Ticket before = ticket - 1;
        require(lease.lane().combine(x, {&before, ticket > 0 ? 1 : 0}));
        ++ticket;
      }
    require(lease.lane().drain());
  });
  return bytes / seconds;
}

double Meter::step_seconds() {
  constexpr index n = 16;
  const std::size_t bytes = square_bytes(Precision::d, n);
  const Memory memory(backend_, 2 * bytes);
  fill(Precision::d, memory.at(), 2 * n * n);
  const Combination sum{.precision = Precision::d,
                        .rows = n,
                        .cols = n,
                        .sources = 1,
                        .targets = 1,
                        .source = {{memory.at(), n, false}},
                        .target = {{memory.at() + bytes, n, {1}}},
                        .scale = nullptr,
                        .awaited = false};
  Lease lease(*this);
  return seconds_each(lease, [&](Lane& lane, After after) { require(lane.combine(sum, after)); });
}

double Meter::in_rate(std::size_t bytes) {
  const Memory memory(backend_, bytes);
  std::vector<char> host(bytes, 1);
  const auto rows = static_cast<index>(bytes / sizeof(double));
  Lease lease(*this);
  const double seconds = seconds_each(lease, [&](Lane& lane, After) {
    require(lane.upload({memory.at(), rows, host.data(), rows, rows, 1, sizeof(double)}, {nullptr, 0}));
  });
  return static_cast<double>(bytes) / seconds;
}

double Meter::out_rate(std::size_t bytes) {
  const Memory memory(backend_, bytes);
  std::vector<char> host(bytes, 1);  // in memory before it is written
  fill(Precision::d, memory.at(), static_cast<index>(bytes / sizeof(double)));
  const std::size_t most = backend_.facts().piece_bytes / sizeof(double) * sizeof(double);
  std::atomic<bool> landed{false};
  Lease lease(*this);
  const double seconds = seconds_each(lease, [&](Lane& lane, After) {
    for (std::size_t at = 0; at < bytes; at += most) {
      const auto rows = static_cast<index>(std::min(most, bytes - at) / sizeof(double));
      require(lane.download({memory.at() + at, rows, host.data() + at, rows, rows, 1, sizeof(double)}, {nullptr, 0},
                            landed));
    }
  });
  return static_cast<double>(bytes) / seconds;
}

double Meter::latency_seconds() {
  constexpr index n = 2;
  const std::size_t bytes = square_bytes(Precision::d, n);
  const Memory memory(backend_, 3 * bytes);
  std::vector<double> host(3 * n * n, 1.0);
  const auto transfer = [&](int i) {
    return Transfer{
        memory.at() + static_cast<std::size_t>(i) * bytes, n, host.data() + i * n * n, n, n, n, sizeof(double)};
  };
  const Gemm product{.precision = Precision::d,
                     .transa = Op::none,
                     .transb = Op::none,
                     .m = n,
                     .n = n,
                     .k = n,
                     .alpha = one.of(Precision::d),
                     .A = memory.at(),
                     .lda = n,
                     .B = memory.at() + bytes,
                     .ldb = n,
                     .beta = zero.of(Precision::d),
                     .C = memory.at() + 2 * bytes,
                     .ldc = n};
  std::atomic<bool> landed{false};
  return median_of_rounds([&](int calls) {
    for (int i = 0; i < calls; ++i) {
      const Lease lease(*this);
      const Ticket uploads[] = {0, 1}, products[] = {2};
      require(lease.lane().upload(transfer(0), {nullptr, 0}));
      require(lease.lane().upload(transfer(1), {nullptr, 0}));
      require(lease.lane().gemm(product, {uploads, 2}));
      require(lease.lane().download(transfer(2), {products, 1}, landed));
      require(lease.lane().drain());
    }
  });
}

}  // namespace blaslift::cli
