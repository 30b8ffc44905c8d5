#include "tools/cli/tune/symv_timer.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

namespace blaslift::cli {
namespace {

std::size_t matrices_bytes(Element precision, index most_n, std::size_t cache_bytes) {
  const std::size_t n = static_cast<std::size_t>(most_n);
  // Rotated, each begins behind the one before; the last one has to end in here.
  return std::max(n * n * element_size(precision), 3 * cache_bytes);
}
std::size_t vector_bytes(Element precision, index most_n) {
  constexpr std::size_t alignment = 256;
  return (static_cast<std::size_t>(most_n) * element_size(precision) + alignment - 1) / alignment * alignment;
}

/// In each precision.
struct One {
  alignas(16) double wide[2] = {1, 0};
  float narrow[2] = {1, 0};
  const void* of(Element p) const {
    return p == Element::s || p == Element::c ? static_cast<const void*>(narrow) : wide;
  }
};
constexpr One one{};
alignas(16) constexpr double zero[2] = {0, 0};

}  // namespace

std::size_t SymvTimer::bytes(Element precision, index most_n, std::size_t cache_bytes) {
  return matrices_bytes(precision, most_n, cache_bytes) + 2 * blaslift::cli::vector_bytes(precision, most_n);
}

SymvTimer::SymvTimer(Backend& backend, const UnderlyingBlas& underlying, Element precision, index most_n,
                     std::size_t cache_bytes)
    : backend_(backend),
      underlying_(underlying),
      precision_(precision),
      matrix_bytes_(matrices_bytes(precision, most_n, cache_bytes)),
      vector_bytes_(blaslift::cli::vector_bytes(precision, most_n)),
      memory_(backend, bytes(precision, most_n, cache_bytes)) {
  fill();
}

/// Numbers as programs have them: what they are decides what power the device takes.
void SymvTimer::fill() {
  const bool single = precision_ == Element::s || precision_ == Element::c;
  const bool pairs = precision_ == Element::w;
  std::vector<char> numbers(std::min(std::size_t{16} << 20, matrix_bytes_ + 2 * vector_bytes_));
  std::mt19937_64 generator(1);
  for (std::size_t i = 0; i + sizeof(double) <= numbers.size(); i += sizeof(double)) {
    const double x = static_cast<double>(generator() >> 11) * 0x1p-52 - 1;
    const float two[] = {static_cast<float>(x), static_cast<float>(-x)};
    const double wide = pairs && i / sizeof(double) % 2 == 1 ? x * 0x1p-56 : x;  // behind the first of its pair
    single ? std::memcpy(&numbers[i], two, sizeof two) : std::memcpy(&numbers[i], &wide, sizeof wide);
  }
  const Lease lease(backend_, underlying_);
  const std::size_t all = matrix_bytes_ + 2 * vector_bytes_;
  for (std::size_t at = 0; at < all; at += numbers.size()) {
    const auto count = static_cast<index>(std::min(numbers.size(), all - at));
    require(lease.lane().upload({memory_.at() + at, count, numbers.data(), count, count, 1, 1}, {nullptr, 0}));
  }
  require(lease.lane().drain());
}

std::vector<std::vector<double>> SymvTimer::time(Uplo uplo, index n, const std::vector<SymvCandidate>& candidates,
                                                 double seconds, int rounds) {
  const std::size_t matrix = static_cast<std::size_t>(n) * static_cast<std::size_t>(n) * element_size(precision_);
  const std::size_t sets = std::max<std::size_t>(1, matrix_bytes_ / matrix);
  const auto product = [&](const SymvCandidate& candidate, std::size_t set) {
    return Symv{.precision = precision_,
                .hermitian = precision_ == Element::c || precision_ == Element::z,
                .uplo = uplo,
                .n = n,
                .alpha = one.of(precision_),
                .A = memory_.at() + set * matrix,
                .lda = n,
                .x = memory_.at() + matrix_bytes_,
                .incx = 1,
                .beta = zero,
                .y = memory_.at() + matrix_bytes_ + vector_bytes_,
                .incy = 1,
                .blocking = candidate.blocking,
                .way = candidate.way,
                .awaited = false};
  };
  std::size_t most_workspace = 1;
  for (const SymvCandidate& c : candidates) most_workspace = std::max(most_workspace, symv_workspace(product(c, 0)));
  const Memory workspace(backend_, most_workspace);
  const Lease lease(backend_, underlying_);
  const auto timed = [&](const SymvCandidate& candidate, int calls) {
    const double begin = now();
    for (int i = 0; i < calls; ++i) {
      Symv p = product(candidate, next_++ % sets);
      p.workspace = workspace.at();
      require(lease.lane().ask(p, {nullptr, 0}));
    }
    require(lease.lane().drain());
    return (now() - begin) / calls;
  };

  constexpr int look = 4, most_calls = 200;
  constexpr double far_behind = 1.6;
  const double began = now();
  std::vector<double> each;
  for (const SymvCandidate& c : candidates) {
    timed(c, 1);  // loads code
    const double first = timed(c, 1);
    each.push_back(first < seconds / rounds / static_cast<double>(candidates.size()) ? timed(c, look) : first);
  }
  const double best = each.empty() ? 0 : *std::min_element(each.begin(), each.end());
  std::vector<std::size_t> left;
  std::vector<std::vector<double>> found(candidates.size());
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const double limit = far_behind * best;
    for (int again = 0; again < 3 && each[i] > limit; ++again)  // not by chance
      each[i] = std::min(each[i], timed(candidates[i], 1));
    if (each[i] > limit)
      found[i].push_back(each[i]);
    else
      left.push_back(i);
  }
  const double share =
      std::max(0.0, seconds - (now() - began)) / rounds / static_cast<double>(std::max<std::size_t>(1, left.size()));
  for (int round = 0; round < rounds; ++round)
    for (const std::size_t i : left)
      found[i].push_back(
          timed(candidates[i], static_cast<int>(std::clamp(share / std::max(each[i], 1e-9), 1.0, 1.0 * most_calls))));
  return found;
}

}  // namespace blaslift::cli
