#include "tools/cli/tune/qr_timer.hpp"

#include <algorithm>
#include <complex>
#include <functional>
#include <random>
#include <stdexcept>
#include <utility>

#include "impl/product/product_plan.hpp"
#include "impl/qr/qr_execute.hpp"

namespace blaslift::cli {
namespace {

/// V, T and two W for operations by themselves.
std::size_t operation_bytes(std::size_t element, index n, index block) {
  return leased_bytes(n, block, element) + leased_bytes(block, block, element) + 2 * leased_bytes(block, n, element);
}

template <class T>
class Timer final : public QrTimer {
 public:
  Timer(Backend& backend, const UnderlyingBlas& underlying, index most_n, index most_block)
      : backend_(backend),
        underlying_(underlying),
        original_(backend, leased_bytes(most_n, most_n, sizeof(T))),
        A_(backend, leased_bytes(most_n, most_n, sizeof(T))),
        tau_(backend, leased_bytes(most_n, 1, sizeof(T))),
        rest_bytes_(rest_bytes(most_n, most_block)),
        rest_(backend, rest_bytes_) {
    fill(original_.at(), most_n * most_n);
  }

  static std::size_t rest_bytes(index n, index block) {
    const QrPlan plan{.m = n, .n = n, .block = block, .panel = 1, .part = n};
    return std::max(plan.bytes(sizeof(T), true, true), operation_bytes(sizeof(T), n, block));
  }

  std::vector<std::vector<double>> whole(index n, const std::vector<QrWidths>& all, int rounds) override {
    Lease lease(backend_, underlying_);
    std::vector<QrPlan> plans;
    for (const QrWidths& widths : all) {
      plans.push_back(plan_qr(n, n, widths.block, widths.panel));
      if (plans.back().bytes(sizeof(T), true, true) > rest_bytes_)
        throw std::logic_error("a QR beyond its timer's room");
    }
    const GeqrfArgs<T> args{n, n, at<T>(A_), n, at<T>(tau_)};
    const QrPlacement placement{
        .lease = rest_.at(), .A = {.device = A_.at(), .ld = n, .in_place = true}, .tau = tau_.at()};
    const auto once = [&](const QrPlan& plan) {
      restore(lease, n, n);
      const double begin = now();
      require(execute(plan, args, placement, backend_.facts().piece_bytes, lease.lane(), [] { return true; }).status);
      return now() - begin;
    };
    return in_turns(all.size(), rounds, [&](std::size_t i) { return once(plans[i]); });
  }

  std::vector<double> panel(index rows, index width, int rounds) override {
    Lease lease(backend_, underlying_);
    const index count = std::clamp<index>(rows / width, 1, 8);
    const auto once = [&] {
      restore(lease, rows, width * count);
      const double begin = now();
      for (Ticket i = 0; i < count; ++i) {
        const Ticket before = i - 1;
        require(lease.lane().ask(QrPanel{.precision = precision_of<T>,
                                         .m = rows,
                                         .n = width,
                                         .A = at<T>(A_) + i * width * rows,
                                         .lda = rows,
                                         .tau = tau_.at(),
                                         .above = 0,
                                         .block = width,
                                         .V = rest_.at(),
                                         .ldv = rows,
                                         .T = rest_.at() + leased_bytes(rows, width, sizeof(T)),
                                         .ldt = width},
                                 {&before, i > 0 ? 1 : 0}));
      }
      require(lease.lane().drain());
      return (now() - begin) / static_cast<double>(count);
    };
    return in_turns(1, rounds, [&](std::size_t) { return once(); }).front();
  }

  std::vector<double> update(index rows, index cols, index width, int rounds) override {
    auto part = parts_of_rest();
    T *V = part(rows, width), *F = part(width, width), *W0 = part(width, cols), *W1 = part(width, cols);
    fill(reinterpret_cast<char*>(V), rows * width);
    fill(reinterpret_cast<char*>(F), width * width);
    // So that the matrix stays what it is, about, however often it is done.
    const T one(1), zero(0), minus_one(-1),
        little(static_cast<decltype(std::real(T()))>(1e-3 / static_cast<double>(rows * width)));
    return products(rows, cols, rounds, [&, rows, cols, width](T* C, const auto& multiply) {
      multiply(Op::conjugate, Op::none, width, cols, rows, one, V, rows, C, rows, zero, W0, width);
      multiply(Op::conjugate, Op::none, width, cols, width, little, F, width, W0, width, zero, W1, width);
      multiply(Op::none, Op::none, rows, cols, width, minus_one, V, rows, W1, width, one, C, rows);
    });
  }

  std::vector<double> join(index rows, index width, int rounds) override {
    auto part = parts_of_rest();
    T *V = part(rows, 2 * width), *F = part(2 * width, 2 * width), *W0 = part(width, width), *W1 = part(width, width);
    fill(reinterpret_cast<char*>(V), rows * 2 * width);
    fill(reinterpret_cast<char*>(F), 4 * width * width);
    const T one(1), zero(0), minus_one(-1);
    return products(1, 1, rounds, [&, rows, width](T*, const auto& multiply) {
      T* const F2 = F + width + width * 2 * width;
      multiply(Op::conjugate, Op::none, width, width, rows - width, one, V + width, rows, V + width + width * rows,
               rows, zero, W0, width);
      multiply(Op::none, Op::none, width, width, width, one, W0, width, F2, 2 * width, zero, W1, width);
      multiply(Op::none, Op::none, width, width, width, minus_one, F, 2 * width, W1, width, zero, F + width * 2 * width,
               2 * width);
    });
  }

 private:
  template <class U>
  static U* at(const Memory& memory) {
    return reinterpret_cast<U*>(memory.at());
  }

  /// Of `numbers_`: what is sent at once, and where that may begin.
  static constexpr index piece = index{1} << 20, places = 8192;

  /// Numbers in [-1, 1], as programs have them: what is computed decides how fast the device can be.
  void fill(char* device, index elements) {
    if (numbers_.empty()) {
      using R = decltype(std::real(T()));
      constexpr std::size_t enough = piece + places;
      std::mt19937_64 generator(1);
      const auto next = [&] { return static_cast<R>(static_cast<double>(generator() >> 11) * 0x1p-52 - 1); };
      for (std::size_t i = 0; i < enough; ++i)
        if constexpr (std::is_same_v<R, T>)
          numbers_.push_back(next());
        else
          numbers_.push_back({next(), next()});
    }
    const Lease lease(backend_, underlying_);
    for (index i = 0; i < elements; i += piece) {
      const index count = std::min(piece, elements - i);
      // Each piece from another place, so that no two columns are the same.
      const index from = (i / piece * 7919) % places;
      require(lease.lane().upload({.device = device + static_cast<std::size_t>(i) * sizeof(T),
                                   .ldd = count,
                                   .host = numbers_.data() + from,
                                   .ldh = count,
                                   .rows = count,
                                   .cols = 1,
                                   .element = sizeof(T)},
                                  {nullptr, 0}));
    }
    require(lease.lane().drain());
  }

  /// Matrices one behind the other.
  auto parts_of_rest() const {
    return [next = rest_.at()](index rows, index cols) mutable {
      return reinterpret_cast<T*>(std::exchange(next, next + leased_bytes(rows, cols, sizeof(T))));
    };
  }

  /// A as it was.
  void restore(const Lease& lease, index rows, index cols) {
    Combination copy{.precision = precision_of<T>,
                     .rows = rows,
                     .cols = cols,
                     .sources = 1,
                     .targets = 1,
                     .source = {},
                     .target = {},
                     .scale = nullptr};
    copy.source[0] = {original_.at(), rows, false};
    copy.target[0] = {A_.at(), rows, {1}};
    require(lease.lane().ask(copy, {nullptr, 0}));
    require(lease.lane().drain());
  }

  /// Of three products, one after the other, on A.
  template <class Ask>
  std::vector<double> products(index rows, index cols, int rounds, const Ask& ask) {
    Lease lease(backend_, underlying_);
    restore(lease, rows, cols);
    constexpr int times = 4;
    const auto once = [&] {
      Ticket ticket = 0;
      const auto multiply = [&](Op opx, Op opy, index m, index n, index k, const T& alpha, const T* X, index ldx,
                                const T* Y, index ldy, const T& beta, T* Z, index ldz) {
        const Ticket before = ticket - 1;
        require(lease.lane().ask(Gemm{.precision = precision_of<T>,
                                      .transa = opx,
                                      .transb = opy,
                                      .m = m,
                                      .n = n,
                                      .k = k,
                                      .alpha = &alpha,
                                      .A = X,
                                      .lda = ldx,
                                      .B = Y,
                                      .ldb = ldy,
                                      .beta = &beta,
                                      .C = Z,
                                      .ldc = ldz},
                                 {&before, ticket++ > 0 ? 1 : 0}));
      };
      const double begin = now();
      for (int i = 0; i < times; ++i) ask(at<T>(A_), multiply);
      require(lease.lane().drain());
      return (now() - begin) / times;
    };
    return in_turns(1, rounds, [&](std::size_t) { return once(); }).front();
  }

  /// @param once  double(std::size_t candidate)
  template <class Once>
  static std::vector<std::vector<double>> in_turns(std::size_t candidates, int rounds, const Once& once) {
    constexpr double enough = 2e-3;
    constexpr int most = 50;
    std::vector<std::vector<double>> seconds(candidates);
    std::vector<int> times(candidates);
    for (std::size_t i = 0; i < candidates; ++i) {
      once(i);  // loads code
      times[i] = static_cast<int>(std::clamp(enough / std::max(once(i), 1e-9), 1.0, 1.0 * most));
    }
    for (int round = 0; round < rounds; ++round)
      for (std::size_t i = 0; i < candidates; ++i) {
        double sum = 0;
        for (int t = 0; t < times[i]; ++t) sum += once(i);
        seconds[i].push_back(sum / times[i]);
      }
    return seconds;
  }

  Backend& backend_;
  const UnderlyingBlas underlying_;
  const Memory original_, A_, tau_;
  const std::size_t rest_bytes_;
  const Memory rest_;
  std::vector<T> numbers_;
};

/// with(T*), of the precision's type.
template <class With>
auto with_type(Precision precision, const With& with) {
  switch (precision) {
    case Precision::s: return with(static_cast<float*>(nullptr));
    case Precision::c: return with(static_cast<std::complex<float>*>(nullptr));
    case Precision::z: return with(static_cast<std::complex<double>*>(nullptr));
    case Precision::d: break;
  }
  return with(static_cast<double*>(nullptr));
}

}  // namespace

std::size_t QrTimer::bytes(Precision precision, index most_n, index most_block) {
  return with_type(precision, [&]<class T>(T*) {
    return 2 * leased_bytes(most_n, most_n, sizeof(T)) + leased_bytes(most_n, 1, sizeof(T)) +
           Timer<T>::rest_bytes(most_n, most_block);
  });
}

std::unique_ptr<QrTimer> make_qr_timer(Backend& backend, const UnderlyingBlas& underlying, Precision precision,
                                       index most_n, index most_block) {
  return with_type(precision, [&]<class T>(T*) -> std::unique_ptr<QrTimer> {
    return std::make_unique<Timer<T>>(backend, underlying, most_n, most_block);
  });
}

}  // namespace blaslift::cli
