#include "tools/cli/tune/rates.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <set>

#include "impl/strassen/strassen.hpp"
#include "kernels/symv.hpp"

namespace blaslift::cli {
namespace {

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

/// Of a product of squares.
double flops_of(Precision precision, index n) {
  return (is_complex(precision) ? 8.0 : 2.0) * std::pow(static_cast<double>(n), 3);
}

/// The same by flop or byte.
Rounds each_of(Rounds rounds, double units) {
  for (double& seconds : rounds) seconds /= units;
  return rounds;
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

/// Of one operation, where each comes after the one before, as in a level's list of steps.
Rounds Meter::one_by_one(Lease& lease, const std::function<void(Lane&, After)>& ask) const {
  return timed_rounds(
      [&](int operations) {
        for (Ticket ticket = 0; ticket < operations; ++ticket) {
          const Ticket before = ticket - 1;
          ask(lease.lane(), {&before, ticket > 0 ? 1 : 0});
        }
        require(lease.lane().drain());
      },
      effort_);
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
  const Lease lease(backend_, underlying_);
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

std::size_t Meter::product_bytes(Precision precision, index n, bool adds_e) {
  return (adds_e ? 4U : 3U) * square_bytes(precision, n);
}

/// A product as the leaf of a level has it: with a pass after it over as much memory as a level's passes read and write
/// for each product.  One product after the other takes more power, which slows all of them down.
class Meter::Leaf {
 public:
  Leaf(Meter& meter, const SquareProduct& p) : memory_(meter.backend_, product_bytes(p.precision, p.n, p.adds_e)) {
    const std::size_t bytes = square_bytes(p.precision, p.n);
    meter.fill(p.precision, memory_.at(), (p.adds_e ? 3 : 2) * p.n * p.n);
    product_ = {.precision = p.precision,
                .transa = p.transa,
                .transb = p.transb,
                .m = p.n,
                .n = p.n,
                .k = p.n,
                .alpha = one.of(p.precision),
                .A = memory_.at(),
                .lda = p.n,
                .B = memory_.at() + bytes,
                .ldb = p.n,
                .beta = (p.adds_e ? one : zero).of(p.precision),
                .C = memory_.at() + (p.adds_e ? 3 : 2) * bytes,
                .ldc = p.n,
                .E = p.adds_e ? memory_.at() + 2 * bytes : nullptr,
                .lde = p.n,
                .awaited = false};
    sum_ = {.precision = p.precision,
            .rows = p.n,
            .cols = p.n,
            .sources = 3,
            .targets = 1,
            .source = {{product_.A, p.n, false}, {product_.B, p.n, false}, {product_.C, p.n, false}},
            .target = {{product_.C, p.n, {1, 1, 1}}},
            .scale = nullptr,
            .awaited = false};
  }

  /// Asks for so many, each with its pass, and waits for them.
  void run(Lane& lane, int times) const {
    for (Ticket ticket = 0; ticket < 2 * times; ticket += 2) {
      const Ticket before = ticket - 1;
      require(lane.ask(product_, {&before, ticket > 0 ? 1 : 0}));
      require(lane.ask(sum_, {&ticket, 1}));
    }
    require(lane.drain());
  }

  const Combination& sum() const { return sum_; }
  /// Seconds of the product alone.
  /// @param both  with its pass
  static double alone(double both, double pass) {
    return std::max(both - pass, both / 8);  // what is measured twice is never quite the same
  }

 private:
  const Memory memory_;
  Gemm product_;
  Combination sum_;
};

Rounds Meter::product(const SquareProduct& product) {
  const Leaf leaf(*this, product);
  Lease lease(backend_, underlying_);
  Rounds rounds = timed_rounds([&](int times) { leaf.run(lease.lane(), times); }, effort_);
  const double pass = median(one_by_one(lease, [&](Lane& lane, After after) { require(lane.ask(leaf.sum(), after)); }));
  for (double& seconds : rounds) seconds = Leaf::alone(seconds, pass);
  return each_of(std::move(rounds), flops_of(product.precision, product.n));
}

std::vector<Candidate> Meter::candidates(const SquareProduct& product) const {
  constexpr int most = 16, alignment = 16;
  std::vector<Candidate> found(most);
  found.resize(static_cast<std::size_t>(backend_.candidates(product, alignment, found.data(), most)));
  return found;
}

Contest Meter::compare(const SquareProduct& product, const std::vector<Candidate>& candidates) {
  constexpr int least = 2, most = 200;
  constexpr std::size_t finalists = 3;
  const int turns = effort_.rounds - 1;
  const Leaf leaf(*this, product);
  const struct Restored {
    Backend& backend;
    ~Restored() { backend.prefer(nullptr, 0); }
  } restored{backend_};
  // What a lane prepares for an algorithm and a shape, and how warm the device is, are not measured.
  const auto timed = [&](const Candidate* candidate, int times) {
    Preference preference{.product = product, .own = !candidate, .algorithm = {}};
    if (candidate) preference.algorithm = candidate->algorithm;
    backend_.prefer(&preference, 1);
    const Lease lease(backend_, underlying_);
    leaf.run(lease.lane(), 1);
    const double begin = now();
    leaf.run(lease.lane(), times);
    return (now() - begin) / times;
  };
  const double pass = [&] {
    Lease lease(backend_, underlying_);
    return median(one_by_one(lease, [&](Lane& lane, After after) { require(lane.ask(leaf.sum(), after)); }));
  }();
  const auto alone = [&](const Candidate* candidate, int times) { return Leaf::alone(timed(candidate, times), pass); };

  // Half of the time is for a first look at all of them, half for the fastest.
  timed(nullptr, 1);
  const double each = timed(nullptr, least), parts = static_cast<double>(candidates.size()) + 1;
  const auto times_in = [&](double seconds) {
    return static_cast<int>(std::clamp(seconds / std::max(each, 1e-9), 1.0 * least, 1.0 * most));
  };
  int times = times_in(effort_.seconds / 2 / parts);
  Contest contest{{alone(nullptr, times)}, {}};
  std::vector<std::size_t> order;
  for (const Candidate& candidate : candidates) {
    order.push_back(contest.others.size());
    contest.others.push_back({alone(&candidate, times)});
  }
  if (order.empty()) return contest;
  std::sort(order.begin(), order.end(),
            [&](std::size_t i, std::size_t j) { return contest.others[i].front() < contest.others[j].front(); });
  order.resize(std::min(order.size(), finalists));

  // In turns, since clocks drift.
  times = times_in(effort_.seconds / 2 / turns / (static_cast<double>(order.size()) + 1));
  contest.own.clear();
  for (const std::size_t i : order) contest.others[i].clear();
  for (int turn = 0; turn < turns; ++turn) {
    contest.own.push_back(alone(nullptr, times));
    for (const std::size_t i : order) contest.others[i].push_back(alone(&candidates[i], times));
  }
  return contest;
}

std::size_t Meter::pass_bytes(Precision precision, index n) {
  return static_cast<std::size_t>(widest().sources + widest().targets) * square_bytes(precision, n);
}

/// Targets are no sources here, or sums would grow from round to round.
Rounds Meter::passes(Precision precision, index n) {
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
  Lease lease(backend_, underlying_);
  const auto run = [&](int times) {
    Ticket ticket = 0;
    for (int i = 0; i < times; ++i)
      for (const Combination& x : passes) {
        const Ticket before = ticket - 1;
        require(lease.lane().ask(x, {&before, ticket > 0 ? 1 : 0}));
        ++ticket;
      }
    require(lease.lane().drain());
  };
  return each_of(timed_rounds(run, effort_), bytes);
}

Rounds Meter::step() {
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
  Lease lease(backend_, underlying_);
  return one_by_one(lease, [&](Lane& lane, After after) { require(lane.ask(sum, after)); });
}

Rounds Meter::in(std::size_t bytes) {
  const Memory memory(backend_, bytes);
  std::vector<char> host(bytes, 1);
  const auto rows = static_cast<index>(bytes / sizeof(double));
  Lease lease(backend_, underlying_);
  Rounds rounds = one_by_one(lease, [&](Lane& lane, After) {
    require(lane.upload({memory.at(), rows, host.data(), rows, rows, 1, sizeof(double)}, {nullptr, 0}));
  });
  return each_of(std::move(rounds), static_cast<double>(bytes));
}

Rounds Meter::out(std::size_t bytes) {
  const Memory memory(backend_, bytes);
  std::vector<char> host(bytes, 1);  // in memory before it is written
  fill(Precision::d, memory.at(), static_cast<index>(bytes / sizeof(double)));
  const std::size_t most = backend_.facts().piece_bytes / sizeof(double) * sizeof(double);
  std::atomic<bool> landed{false};
  Lease lease(backend_, underlying_);
  Rounds rounds = one_by_one(lease, [&](Lane& lane, After) {
    for (std::size_t at = 0; at < bytes; at += most) {
      const auto rows = static_cast<index>(std::min(most, bytes - at) / sizeof(double));
      require(lane.download({memory.at() + at, rows, host.data() + at, rows, rows, 1, sizeof(double)}, {nullptr, 0},
                            landed));
    }
  });
  return each_of(std::move(rounds), static_cast<double>(bytes));
}

Rounds Meter::call() {
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
  const auto run = [&](int calls) {
    for (int i = 0; i < calls; ++i) {
      const Lease lease(backend_, underlying_);
      const Ticket uploads[] = {0, 1}, products[] = {2};
      require(lease.lane().upload(transfer(0), {nullptr, 0}));
      require(lease.lane().upload(transfer(1), {nullptr, 0}));
      require(lease.lane().ask(product, {uploads, 2}));
      require(lease.lane().download(transfer(2), {products, 1}, landed));
      require(lease.lane().drain());
    }
  };
  return timed_rounds(run, effort_);
}

Rounds Meter::symv_call() {
  constexpr index n = 64;
  constexpr std::size_t vector = n * sizeof(double);
  Symv product{.precision = Precision::d,
               .hermitian = false,
               .uplo = Uplo::lower,
               .n = n,
               .alpha = one.of(Precision::d),
               .lda = n,
               .incx = 1,
               .beta = zero.of(Precision::d),
               .incy = 1,
               .blocking = symv_blocking(Precision::d, Uplo::lower, n)};
  const Memory memory(backend_, square_bytes(Precision::d, n) + 2 * vector + symv_workspace(product) + 1);
  fill(Precision::d, memory.at(), n * n);
  char* const x = memory.at() + square_bytes(Precision::d, n);
  product.A = memory.at();
  product.x = x;
  product.y = x + vector;
  product.workspace = x + 2 * vector;
  std::vector<double> host(2 * n, 1.0);
  std::atomic<bool> landed{false};
  const auto run = [&](int calls) {
    for (int i = 0; i < calls; ++i) {
      const Lease lease(backend_, underlying_, 3 * vector);
      const Ticket upload = 0, symv = 1;
      require(lease.lane().upload({x, n, host.data(), n, n, 1, sizeof(double)}, {nullptr, 0}));
      require(lease.lane().ask(product, {&upload, 1}));
      require(lease.lane().download({product.y, n, host.data() + n, n, n, 1, sizeof(double)}, {&symv, 1}, landed));
      require(lease.lane().drain());
    }
  };
  return timed_rounds(run, effort_);
}

Rounds Meter::cpu_product(Precision precision) const {
  constexpr index largest = 4096;
  Rounds rounds;
  for (index n = 64; rounds.empty(); n *= 2) {
    std::vector<char> numbers(3 * square_bytes(precision, n));
    const bool single = precision == Precision::s || precision == Precision::c;
    single ? fill_uniform<float>(numbers) : fill_uniform<double>(numbers);
    const Gemm product{.precision = precision,
                       .transa = Op::none,
                       .transb = Op::none,
                       .m = n,
                       .n = n,
                       .k = n,
                       .alpha = one.of(precision),
                       .A = numbers.data(),
                       .lda = n,
                       .B = numbers.data() + square_bytes(precision, n),
                       .ldb = n,
                       .beta = zero.of(precision),
                       .C = numbers.data() + 2 * square_bytes(precision, n),
                       .ldc = n};
    const auto run = [&](int times) {
      for (int i = 0; i < times; ++i) underlying_.call(underlying_.context, product);
    };
    run(1);  // starts threads
    const double begin = now();
    run(1);
    // Large ones are the fastest; how large they can be in the time there is depends on the library and the machine.
    if (n == largest || now() - begin > effort_.seconds / effort_.rounds)
      rounds = each_of(timed_rounds(run, effort_), flops_of(precision, n));
  }
  return rounds;
}

}  // namespace blaslift::cli
