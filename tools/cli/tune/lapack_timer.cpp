#include "tools/cli/tune/lapack_timer.hpp"

#include <algorithm>
#include <complex>
#include <cstdint>
#include <utility>
#include <vector>

#include "impl/cholesky/potrf.hpp"
#include "impl/cholesky/potrf_plan.hpp"
#include "impl/eigen/geev.hpp"
#include "impl/eigen/geev_plan.hpp"
#include "impl/eigen/gehrd.hpp"
#include "impl/eigen/gehrd_plan.hpp"
#include "impl/eigen/syevd.hpp"
#include "impl/eigen/syevd_plan.hpp"
#include "impl/lu/getrf.hpp"
#include "impl/lu/getrf_plan.hpp"
#include "impl/plan/execute.hpp"
#include "impl/svd/gebrd.hpp"
#include "impl/svd/gebrd_plan.hpp"
#include "impl/svd/gesdd.hpp"
#include "impl/svd/gesdd_plan.hpp"

namespace blaslift::cli {
namespace {

/// Matrices that it writes besides A.
index matrices_beside(LapackWork work) { return work == LapackWork::gesdd ? 2 : work == LapackWork::geev ? 1 : 0; }

std::size_t matrix_bytes(Precision precision, index order) {
  return leased_bytes(order, order, element_size(precision));
}

/// A plan all of whose matrices have device memory of their own, and the lengths of the columns that it brings home.
struct Timed {
  Plan plan;
  std::vector<index> columns;
};

EigenShape eigen_shape(LapackWork work, index n) { return {work == LapackWork::syevd, false, Uplo::lower, n, 0, n}; }
SvdShape svd_shape(index n) { return {n, n, n, n, false, false}; }

/// Cut up as a call from the host's memory is.
/// @param memory  of the device
Timed timed(LapackWork work, Precision p, index n, std::size_t memory) {
  const index reals = elements_of_reals(n, p), imaginary = is_complex(p) ? 0 : n;
  switch (work) {
    case LapackWork::potrf: {
      const PotrfCut cut = potrf_cut(n, p, memory);
      return {plan_potrf(Uplo::lower, n, p, cut, true), {cut.panels(n)}};
    }
    case LapackWork::getrf: {
      const GetrfCut cut = getrf_cut(n, n, p, memory);
      return {plan_getrf(n, n, p, cut, true), {n, cut.panels(n)}};
    }
    case LapackWork::syevd_values:
    case LapackWork::syevd: return {plan_syevd(eigen_shape(work, n), p, true), {reals, 1}};
    case LapackWork::geev_values: return {plan_geev(n, false, p, true), {n, imaginary, 1}};
    case LapackWork::geev: return {plan_geev(n, true, p, true, true), {n, imaginary, 1}};
    case LapackWork::gesdd: return {plan_svd(svd_shape(n), p, true, true, true), {reals, 1}};
    case LapackWork::gehrd: return {plan_gehrd(n, n, 0, p, true), {n - 1, 1}};
    case LapackWork::gebrd: break;
  }
  return {plan_gebrd(n, n, p, true), {reals, reals, n, n, 1}};
}

/// Between -1 and 1, of a number's place; another one for each.
double random(std::uint64_t place) {
  std::uint64_t x = (place + 1) * 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return static_cast<double>(static_cast<std::int64_t>(x ^ (x >> 31))) * 0x1p-63;
}

/// An order x order matrix of random numbers on the device; its real diagonal makes it positive definite, if asked for.
template <class T>
void fill(const Lease& lease, void* device, index order, bool definite) {
  constexpr std::size_t most_bytes = std::size_t{64} << 20;
  const index block = std::clamp<index>(static_cast<index>(most_bytes / sizeof(T)) / order, 1, order);
  std::vector<T> numbers(static_cast<std::size_t>(block * order));
  for (index first = 0; first < order; first += block) {
    const index cols = std::min(block, order - first);
    for (index j = 0; j < cols; ++j)
      for (index i = 0; i < order; ++i) {
        const auto place = 2 * static_cast<std::uint64_t>((first + j) * order + i);
        T& x = numbers[static_cast<std::size_t>(j * order + i)];
        if constexpr (is_complex(precision_of<T>))
          x = {static_cast<Real<T>>(random(place)), static_cast<Real<T>>(random(place + 1))};
        else
          x = static_cast<T>(random(place));
        if (definite && i == first + j) x = T(static_cast<Real<T>>(2 * order));
      }
    T* const to = static_cast<T*>(device) + first * order;
    require(lease.lane().upload({to, order, numbers.data(), order, order, cols, sizeof(T)}, {nullptr, 0}));
    require(lease.lane().drain());
  }
}

}  // namespace

Operation::Kinds operations_of(LapackWork work) {
  switch (work) {
    case LapackWork::potrf: return potrf_family.needs;
    case LapackWork::getrf: return getrf_family.needs;
    case LapackWork::syevd_values:
    case LapackWork::syevd: return syevd_family.needs;
    case LapackWork::geev_values:
    case LapackWork::geev: return geev_family.needs;
    case LapackWork::gesdd: return gesdd_family.needs;
    case LapackWork::gehrd: return gehrd_family.needs;
    case LapackWork::gebrd: break;
  }
  return gebrd_family.needs;
}

bool LapackTimer::fits(LapackWork work, Precision p, index n, std::size_t memory) {
  const auto call_fits = [&] {
    switch (work) {
      case LapackWork::potrf: return !potrf_cut(n, p, memory).streamed();
      case LapackWork::getrf: return getrf_cut(n, n, p, memory).panel > 0;
      case LapackWork::syevd_values:
      case LapackWork::syevd: return syevd_fits(eigen_shape(work, n), p, memory);
      case LapackWork::geev_values:
      case LapackWork::geev: return geev_fits(n, work == LapackWork::geev, p, memory);
      case LapackWork::gesdd: return svd_fits(svd_shape(n), p, memory);
      case LapackWork::gehrd: return gehrd_fits(n, n, p, memory);
      case LapackWork::gebrd: break;
    }
    return gebrd_fits(n, n, p, memory);
  };
  // Beside what a call has there lies another A.
  return static_cast<std::size_t>(2 + matrices_beside(work)) * matrix_bytes(p, n) < memory && call_fits() &&
         static_cast<std::size_t>(2 + matrices_beside(work)) * matrix_bytes(p, n) +
                 timed(work, p, n, memory).plan.bytes(element_size(p)) <=
             memory;
}

Rounds LapackTimer::time(LapackWork work, Precision precision, index order, double seconds) {
  switch (precision) {
    case Precision::s: return time<float>(work, order, seconds);
    case Precision::d: return time<double>(work, order, seconds);
    case Precision::c: return time<std::complex<float>>(work, order, seconds);
    case Precision::z: break;
  }
  return time<std::complex<double>>(work, order, seconds);
}

template <class T>
Rounds LapackTimer::time(LapackWork work, index order, double seconds) {
  constexpr std::size_t least = 3, most = 15;
  constexpr Precision p = precision_of<T>;
  const auto [plan, columns] = timed(work, p, order, backend_.facts().memory);
  const std::size_t matrix = matrix_bytes(p, order);
  const auto beside = static_cast<std::size_t>(matrices_beside(work));
  const Memory numbers(backend_, matrix), matrices(backend_, (1 + beside) * matrix),
      lease(backend_, std::max<std::size_t>(1, plan.bytes(sizeof(T))));
  fill<T>(Lease(backend_, underlying_), numbers.at(), order, work == LapackWork::potrf);

  std::vector<CallOperand<T>> operands;
  for (std::size_t i = 0; i < 1 + beside; ++i)
    operands.push_back({nullptr, order, {.device = matrices.at() + i * matrix, .ld = order, .in_place = true}});
  // An operand that the call does not have is none of its columns.
  while (operands.size() + columns.size() < plan.operands.size()) operands.push_back({nullptr, order});
  std::vector<std::vector<T>> home;
  home.reserve(columns.size());
  for (const index length : columns) {
    home.emplace_back(static_cast<std::size_t>(length));
    operands.push_back({home.back().data(), std::max<index>(1, length)});
  }
  const auto once = [&] {
    {
      const Lease copies(backend_, underlying_);
      require(copies.lane().ask(Assign{.precision = p,
                                       .part = Part::whole,
                                       .strict = false,
                                       .transposed = false,
                                       .m = order,
                                       .n = order,
                                       .below = 0,
                                       .A = numbers.at(),
                                       .lda = order,
                                       .C = matrices.at(),
                                       .ldc = order},
                                {nullptr, 0}));
      require(copies.lane().drain());
    }
    const Lease lane(backend_, underlying_);
    const double begin = now();
    require(execute<T>(plan, operands, {}, lease.at(), backend_.facts().piece_bytes, lane.lane(), [] {
              return true;
            }).status);
    return now() - begin;
  };
  once();  // loads code, and takes what memory the library wants
  Rounds rounds;
  for (const double begin = now(); rounds.size() < least || (rounds.size() < most && now() - begin < seconds);)
    rounds.push_back(std::max(once(), 1e-9));  // a clock that stood still
  return rounds;
}

}  // namespace blaslift::cli
