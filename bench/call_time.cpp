// Times one routine in double precision as a program sees it, operands in the host's memory or in the device's.  Links
// the ordinary BLAS and LAPACK; whatever is preloaded computes.
//
//   call_time host|device
//   gemm|symm|trmm|trsm|symv|gemv|gemvt|potrf|getrf|getri|potri|trtri|lauum|syevd|sytrd|
//             sygvd|sygst|gehrd|geev|gebrd|gesdd|gecon|gels|gelsy|gelsd|gelss|geqrf|geqp3|gelqf
//             SECONDS N|MxN
//   call_time host|device potrs|posv|getrs|gesv SECONDS N|NxRIGHT_HAND_SIDES
//   call_time host|device batch SECONDS NxPRODUCTS
//
// Prints a line of JSON: median and fastest seconds of the calls that SECONDS allow, three at least, after one that
// warms, or with 0 SECONDS of one call alone, which nothing warms; and "bits", a hash of the last result, so that two
// libraries' results can be compared.  gemm is C := A B, symv and gemv are y := A x, gemvt y := A' x, symm C := A B,
// trmm B := A B, trsm B := A^-1 B and potrf A := L L' with A's lower triangle, syevd has eigenvectors, sygvd too, and a
// B with a large diagonal, geev right ones, getri, potri, trtri and lauum have factors with a large diagonal, sygst as
// B, gesdd min(m, n) singular vectors of each side, gecon factors by LU, gelsy, gelsd and gelss one right-hand side;
// what a routine overwrites is made anew before each call, outside its time.  Pivots, eigenvalues, singular values,
// bidiagonal matrices, reflectors' factors, and condition numbers are always in the host's memory.  batch is many
// gemms, by gemm_batch_strided if there is one.
#include <dlfcn.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>

#include "bench/product.hpp"

extern "C" {
void dsymv_(const char*, const int*, const double*, const double*, const int*, const double*, const int*, const double*,
            double*, const int*, std::size_t);
void dgemv_(const char*, const int*, const int*, const double*, const double*, const int*, const double*, const int*,
            const double*, double*, const int*, std::size_t);
void dtrsm_(const char*, const char*, const char*, const char*, const int*, const int*, const double*, const double*,
            const int*, double*, const int*, std::size_t, std::size_t, std::size_t, std::size_t);
void dtrmm_(const char*, const char*, const char*, const char*, const int*, const int*, const double*, const double*,
            const int*, double*, const int*, std::size_t, std::size_t, std::size_t, std::size_t);
void dsymm_(const char*, const char*, const int*, const int*, const double*, const double*, const int*, const double*,
            const int*, const double*, double*, const int*, std::size_t, std::size_t);
void dgels_(const char*, const int*, const int*, const int*, double*, const int*, double*, const int*, double*,
            const int*, int*, std::size_t);
void dpotrf_(const char*, const int*, double*, const int*, int*, std::size_t);
void dgetri_(const int*, double*, const int*, const int*, double*, const int*, int*);
void dpotri_(const char*, const int*, double*, const int*, int*, std::size_t);
void dlauum_(const char*, const int*, double*, const int*, int*, std::size_t);
void dsygst_(const int*, const char*, const int*, double*, const int*, const double*, const int*, int*, std::size_t);
void dsytrd_(const char*, const int*, double*, const int*, double*, double*, double*, double*, const int*, int*,
             std::size_t);
void dgehrd_(const int*, const int*, const int*, double*, const int*, double*, double*, const int*, int*);
void dtrtri_(const char*, const char*, const int*, double*, const int*, int*, std::size_t, std::size_t);
void dgetrf_(const int*, const int*, double*, const int*, int*, int*);
void dsyevd_(const char*, const char*, const int*, double*, const int*, double*, double*, const int*, int*, const int*,
             int*, std::size_t, std::size_t);
void dsygvd_(const int*, const char*, const char*, const int*, double*, const int*, double*, const int*, double*,
             double*, const int*, int*, const int*, int*, std::size_t, std::size_t);
void dgeev_(const char*, const char*, const int*, double*, const int*, double*, double*, double*, const int*, double*,
            const int*, double*, const int*, int*, std::size_t, std::size_t);
void dgesdd_(const char*, const int*, const int*, double*, const int*, double*, double*, const int*, double*,
             const int*, double*, const int*, int*, int*, std::size_t);
void dgebrd_(const int*, const int*, double*, const int*, double*, double*, double*, double*, double*, const int*,
             int*);
void dgecon_(const char*, const int*, const double*, const int*, const double*, double*, double*, int*, int*,
             std::size_t);
void dgelsy_(const int*, const int*, const int*, double*, const int*, double*, const int*, int*, const double*, int*,
             double*, const int*, int*);
void dgelsd_(const int*, const int*, const int*, double*, const int*, double*, const int*, double*, const double*, int*,
             double*, const int*, int*, int*);
void dgelss_(const int*, const int*, const int*, double*, const int*, double*, const int*, double*, const double*, int*,
             double*, const int*, int*);
void dpotrs_(const char*, const int*, const int*, const double*, const int*, double*, const int*, int*, std::size_t);
void dposv_(const char*, const int*, const int*, double*, const int*, double*, const int*, int*, std::size_t);
void dgetrs_(const char*, const int*, const int*, const double*, const int*, const int*, double*, const int*, int*,
             std::size_t);
void dgesv_(const int*, const int*, double*, const int*, int*, double*, const int*, int*);
void dgeqrf_(const int*, const int*, double*, const int*, double*, double*, const int*, int*);
void dgelqf_(const int*, const int*, double*, const int*, double*, double*, const int*, int*);
void dgeqp3_(const int*, const int*, double*, const int*, int*, double*, double*, const int*, int*);
}

namespace {

using namespace bench;

/// The driver, of which little is needed; programs that have their data on a GPU bring more.
class Driver {
 public:
  Driver() {
    if (!library_) throw std::runtime_error("no libcuda.so.1");
    int device = 0;
    void* context = nullptr;
    call<int (*)(unsigned)>("cuInit", 0U);
    call<int (*)(int*, int)>("cuDeviceGet", &device, 0);
    call<int (*)(void**, int)>("cuDevicePrimaryCtxRetain", &context, device);
    call<int (*)(void*)>("cuCtxSetCurrent", context);
  }
  double* allocate(std::size_t count) {
    double* memory = nullptr;
    call<int (*)(double**, std::size_t)>("cuMemAlloc_v2", &memory, count * sizeof(double));
    return memory;
  }
  /// Either way, or within the device.
  void copy(double* to, const double* from, std::size_t count) {
    call<int (*)(double*, const double*, std::size_t)>("cuMemcpy", to, from, count * sizeof(double));
    call<int (*)()>("cuCtxSynchronize");
  }

 private:
  template <class F, class... Arguments>
  void call(const char* name, Arguments... arguments) {
    const auto function = reinterpret_cast<F>(dlsym(library_, name));
    if (!function || function(arguments...) != 0) throw std::runtime_error(std::string(name) + " failed");
  }
  void* const library_ = dlopen("libcuda.so.1", RTLD_NOW);
};

/// Of one operand.
class Place {
 public:
  Place(Driver* driver, std::size_t count) : driver_(driver), count_(count) {
    at_ = driver ? driver->allocate(count)
                 : static_cast<double*>(std::aligned_alloc(4096, (count * 8 + 4095) / 4096 * 4096));
    if (!at_) throw std::runtime_error("no memory");
    if (driver) return;
    in_parallel(count, [&](std::size_t first, std::size_t last) {  // so that no call has to wait for the pages
      std::fill(at_ + first, at_ + last, 0.0);
    });
  }
  double* at() const { return at_; }
  void set_random(std::uint64_t seed) {
    if (!driver_) return fill_uniform(at_, count_, seed);
    std::vector<double> part(std::min(count_, most));
    for (std::size_t first = 0; first < count_; first += most, ++seed) {
      fill_uniform(part.data(), std::min(most, count_ - first), seed);
      driver_->copy(at_ + first, part.data(), std::min(most, count_ - first));
    }
  }
  void set(const Place& x) {
    if (driver_) return driver_->copy(at_, x.at_, count_);
    in_parallel(count_, [&](std::size_t first, std::size_t last) {
      std::memcpy(at_ + first, x.at_ + first, (last - first) * 8);
    });
  }
  std::uint64_t bits() const {
    std::vector<double> part(std::min(count_, most));
    std::uint64_t all = 0;
    for (std::size_t first = 0; first < count_; first += most) {
      const std::size_t length = std::min(most, count_ - first);
      if (driver_)
        driver_->copy(part.data(), at_ + first, length);
      else
        std::memcpy(part.data(), at_ + first, length * 8);
      std::atomic<std::uint64_t> sum{0};
      in_parallel(length, [&](std::size_t begin, std::size_t end) {
        std::uint64_t own = 0;
        for (std::size_t i = begin; i < end; ++i) {
          std::uint64_t word = 0;
          std::memcpy(&word, &part[i], 8);
          own += (word ^ (first + i)) * 0x9e3779b97f4a7c15U;
        }
        sum += own;
      });
      all = (all ^ sum) * 1099511628211U;
    }
    return all;
  }

 private:
  static constexpr std::size_t most = std::size_t{1} << 25;  // at a time
  Driver* driver_;
  std::size_t count_;
  double* at_;
};

double timed(const std::function<void()>& call) {
  const auto begin = std::chrono::steady_clock::now();
  call();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// @param info  of a LAPACK routine: unless it is zero after a call, there is nothing to measure
void measure(double limit, const std::function<void()>& prepare, const std::function<void()>& call, const Place& result,
             const int* info = nullptr) {
  const auto check = [info] {
    if (info && *info != 0) throw std::runtime_error("info = " + std::to_string(*info));
  };
  const std::size_t least = limit > 0 ? 3 : 1;
  if (limit > 0) {
    prepare();
    call();
    check();
  }
  std::vector<double> times;
  double spent = 0;
  while (times.size() < least || (spent < limit && times.size() < 2000)) {
    prepare();
    times.push_back(timed(call));
    check();
    spent += times.back();
  }
  std::sort(times.begin(), times.end());
  std::printf("{\"median\": %.9g, \"fastest\": %.9g, \"calls\": %zu, \"bits\": \"%016llx\"}\n", times[times.size() / 2],
              times.front(), times.size(), static_cast<unsigned long long>(result.bits()));
}

/// Of order n, in the host's memory; with its diagonal, solutions stay in range and factors exist.
void set_dominant(Place& triangle, int n) {
  triangle.set_random(1);
  for (int i = 0; i < n; ++i) triangle.at()[static_cast<std::size_t>(i) * static_cast<std::size_t>(n + 1)] = n;
}

/// Of order n; of potrs and getrs with factors made once, outside the time.
void run_system(Driver* driver, const std::string& routine, double limit, int n, int nrhs) {
  const bool cholesky = routine.starts_with("po"), factored = routine.ends_with("trs");
  Place matrix(nullptr, elements(n, n)), made(driver, elements(n, n)), a(driver, elements(n, n));
  Place right(driver, elements(n, nrhs)), b(driver, elements(n, nrhs));
  if (cholesky)
    set_dominant(matrix, n);
  else
    matrix.set_random(1);
  made.set(matrix);
  right.set_random(2);
  std::vector<int> pivots(static_cast<std::size_t>(n));
  int info = 0;
  const auto factor = [&] {
    if (cholesky)
      dpotrf_("L", &n, a.at(), &n, &info, 1);
    else
      dgetrf_(&n, &n, a.at(), &n, pivots.data(), &info);
  };
  if (factored) a.set(made), factor();
  const auto prepare = [&] {
    if (!factored) a.set(made);
    b.set(right);
  };
  const auto call = [&] {
    if (routine == "potrs") dpotrs_("L", &n, &nrhs, a.at(), &n, b.at(), &n, &info, 1);
    if (routine == "posv") dposv_("L", &n, &nrhs, a.at(), &n, b.at(), &n, &info, 1);
    if (routine == "getrs") dgetrs_("N", &n, &nrhs, a.at(), &n, pivots.data(), b.at(), &n, &info, 1);
    if (routine == "gesv") dgesv_(&n, &nrhs, a.at(), &n, pivots.data(), b.at(), &n, &info);
  };
  measure(limit, prepare, call, b, &info);
}

void run(Driver* driver, const std::string& routine, double limit, int m, int n) {
  if (routine.ends_with("trs") || routine.ends_with("sv")) return run_system(driver, routine, limit, m, n);
  const std::size_t all = elements(m, n);
  Place a(driver, all);
  a.set_random(1);
  if (routine == "geqrf") {
    Place made(driver, all), tau(driver, static_cast<std::size_t>(std::min(m, n)));
    made.set_random(1);
    const int lwork = 64 * n;
    Place work(nullptr, static_cast<std::size_t>(lwork));
    int info = 0;
    measure(
        limit, [&] { a.set(made); }, [&] { dgeqrf_(&m, &n, a.at(), &m, tau.at(), work.at(), &lwork, &info); }, a,
        &info);
  } else if (routine == "geqp3" || routine == "gelqf") {
    Place made(driver, all);
    made.set_random(1);
    std::vector<int> pivots(static_cast<std::size_t>(n));
    std::vector<double> tau(static_cast<std::size_t>(std::min(m, n)));
    const int lwork = 66 * std::max(m, n) + 64;
    std::vector<double> work(static_cast<std::size_t>(lwork));
    int info = 0;
    measure(
        limit,
        [&] {
          a.set(made);
          std::fill(pivots.begin(), pivots.end(), 0);
        },
        [&] {
          if (routine == "geqp3")
            dgeqp3_(&m, &n, a.at(), &m, pivots.data(), tau.data(), work.data(), &lwork, &info);
          else
            dgelqf_(&m, &n, a.at(), &m, tau.data(), work.data(), &lwork, &info);
        },
        a, &info);
  } else if (routine == "potrf") {
    Place triangle(nullptr, all), made(driver, all);
    set_dominant(triangle, n);
    made.set(triangle);
    int info = 0;
    measure(
        limit, [&] { a.set(made); }, [&] { dpotrf_("L", &n, a.at(), &n, &info, 1); }, a, &info);
  } else if (routine == "getri" || routine == "potri" || routine == "trtri" || routine == "lauum") {
    Place factors(nullptr, all), made(driver, all);
    set_dominant(factors, n);
    made.set(factors);
    std::vector<int> pivots(static_cast<std::size_t>(n));
    for (int i = 0; i < n; ++i) pivots[static_cast<std::size_t>(i)] = i + 1;
    const int lwork = 64 * n;
    std::vector<double> work(static_cast<std::size_t>(lwork));
    int info = 0;
    measure(
        limit, [&] { a.set(made); },
        [&] {
          if (routine == "getri")
            dgetri_(&n, a.at(), &n, pivots.data(), work.data(), &lwork, &info);
          else if (routine == "potri")
            dpotri_("L", &n, a.at(), &n, &info, 1);
          else if (routine == "lauum")
            dlauum_("L", &n, a.at(), &n, &info, 1);
          else
            dtrtri_("L", "N", &n, a.at(), &n, &info, 1, 1);
        },
        a, &info);
  } else if (routine == "getrf") {
    Place made(driver, all);
    made.set_random(1);
    std::vector<int> pivots(static_cast<std::size_t>(std::min(m, n)));
    int info = 0;
    measure(
        limit, [&] { a.set(made); }, [&] { dgetrf_(&m, &n, a.at(), &m, pivots.data(), &info); }, a, &info);
  } else if (routine == "syevd" || routine == "sygvd") {
    Place made(driver, all);
    made.set_random(1);
    const bool generalized = routine == "sygvd";
    Place triangle(nullptr, generalized ? all : 1), definite(driver, generalized ? all : 1),
        b(driver, generalized ? all : 1);
    if (generalized) set_dominant(triangle, n), definite.set(triangle);
    const std::int64_t order = n, size = 1 + 6 * order + 2 * order * order;
    // LAPACK's lengths are integers of the interface.
    if (size > std::numeric_limits<int>::max()) throw std::runtime_error("no such workspace");
    const int lwork = static_cast<int>(size), liwork = 3 + 5 * n, one = 1;
    std::vector<double> work(static_cast<std::size_t>(lwork)), w(static_cast<std::size_t>(n));
    std::vector<int> iwork(static_cast<std::size_t>(liwork));
    int info = 0;
    measure(
        limit,
        [&] {
          a.set(made);
          if (generalized) b.set(definite);
        },
        [&] {
          if (generalized)
            dsygvd_(&one, "V", "L", &n, a.at(), &n, b.at(), &n, w.data(), work.data(), &lwork, iwork.data(), &liwork,
                    &info, 1, 1);
          else
            dsyevd_("V", "L", &n, a.at(), &n, w.data(), work.data(), &lwork, iwork.data(), &liwork, &info, 1, 1);
        },
        a, &info);
  } else if (routine == "sygst") {
    Place made(driver, all), factor(nullptr, all), b(driver, all);
    made.set_random(1);
    set_dominant(factor, n);
    b.set(factor);
    const int one = 1;
    int info = 0;
    measure(
        limit, [&] { a.set(made); }, [&] { dsygst_(&one, "L", &n, a.at(), &n, b.at(), &n, &info, 1); }, a, &info);
  } else if (routine == "sytrd") {
    Place made(driver, all);
    made.set_random(1);
    const auto order = static_cast<std::size_t>(n);
    const int lwork = 64 * n;
    std::vector<double> d(order), e(order), tau(order), work(64 * order);
    int info = 0;
    measure(
        limit, [&] { a.set(made); },
        [&] { dsytrd_("L", &n, a.at(), &n, d.data(), e.data(), tau.data(), work.data(), &lwork, &info, 1); }, a, &info);
  } else if (routine == "gehrd") {
    Place made(driver, all);
    made.set_random(1);
    const auto order = static_cast<std::size_t>(n);
    const int lwork = 64 * n, one = 1;
    std::vector<double> tau(order), work(64 * order);
    int info = 0;
    measure(
        limit, [&] { a.set(made); }, [&] { dgehrd_(&n, &one, &n, a.at(), &n, tau.data(), work.data(), &lwork, &info); },
        a, &info);
  } else if (routine == "geev") {
    Place made(driver, all), vectors(driver, all);
    made.set_random(1);
    const int lwork = 68 * n, one = 1;
    const auto order = static_cast<std::size_t>(n);
    std::vector<double> wr(order), wi(order), work(static_cast<std::size_t>(lwork));
    int info = 0;
    measure(
        limit, [&] { a.set(made); },
        [&] {
          dgeev_("N", "V", &n, a.at(), &n, wr.data(), wi.data(), nullptr, &one, vectors.at(), &n, work.data(), &lwork,
                 &info, 1, 1);
        },
        vectors, &info);
  } else if (routine == "gebrd") {
    Place made(driver, all);
    made.set_random(1);
    const auto k = static_cast<std::size_t>(std::min(m, n));
    const int lwork = 64 * (m + n);
    std::vector<double> d(k), e(k), tauq(k), taup(k), work(static_cast<std::size_t>(lwork));
    int info = 0;
    measure(
        limit, [&] { a.set(made); },
        [&] { dgebrd_(&m, &n, a.at(), &m, d.data(), e.data(), tauq.data(), taup.data(), work.data(), &lwork, &info); },
        a, &info);
  } else if (routine == "gesdd") {
    Place made(driver, all);
    made.set_random(1);
    const int k = std::min(m, n);
    const std::int64_t small = k, size = 4 * small * small + 7 * small + 64 * std::int64_t{std::max(m, n)};
    if (size > std::numeric_limits<int>::max()) throw std::runtime_error("no such workspace");
    const int lwork = static_cast<int>(size);
    Place u(driver, elements(m, k)), vt(driver, elements(k, n));
    std::vector<double> s(static_cast<std::size_t>(k)), work(static_cast<std::size_t>(lwork));
    std::vector<int> iwork(8 * static_cast<std::size_t>(k));
    int info = 0;
    measure(
        limit, [&] { a.set(made); },
        [&] {
          dgesdd_("S", &m, &n, a.at(), &m, s.data(), u.at(), &m, vt.at(), &k, work.data(), &lwork, iwork.data(), &info,
                  1);
        },
        u, &info);
  } else if (routine.starts_with("gels")) {
    const int longer = std::max(m, n);
    Place made(driver, all), sides(driver, static_cast<std::size_t>(longer)),
        b(driver, static_cast<std::size_t>(longer));
    made.set_random(1);
    sides.set_random(2);
    const auto k = static_cast<std::size_t>(std::min(m, n));
    const int lwork = 200 * (m + n), one = 1;
    const double rcond = 1e-12;
    std::vector<double> s(k), work(static_cast<std::size_t>(lwork));
    std::vector<int> jpvt(static_cast<std::size_t>(n)), iwork(64 * k);
    int rank = 0, info = 0;
    measure(
        limit,
        [&] {
          a.set(made);
          b.set(sides);
          std::fill(jpvt.begin(), jpvt.end(), 0);
        },
        [&] {
          if (routine == "gels")
            dgels_("N", &m, &n, &one, a.at(), &m, b.at(), &longer, work.data(), &lwork, &info, 1),
                rank = static_cast<int>(k);
          else if (routine == "gelsy")
            dgelsy_(&m, &n, &one, a.at(), &m, b.at(), &longer, jpvt.data(), &rcond, &rank, work.data(), &lwork, &info);
          else if (routine == "gelsd")
            dgelsd_(&m, &n, &one, a.at(), &m, b.at(), &longer, s.data(), &rcond, &rank, work.data(), &lwork,
                    iwork.data(), &info);
          else
            dgelss_(&m, &n, &one, a.at(), &m, b.at(), &longer, s.data(), &rcond, &rank, work.data(), &lwork, &info);
        },
        b, &info);
    if (rank != static_cast<int>(k)) throw std::runtime_error("rank = " + std::to_string(rank));
  } else if (routine == "gecon") {
    Place factors(nullptr, all), condition(nullptr, 1);
    set_dominant(factors, n);
    a.set(factors);
    std::vector<double> work(static_cast<std::size_t>(n) * 4);
    std::vector<int> iwork(static_cast<std::size_t>(n));
    const double norm = 1;
    int info = 0;
    measure(
        limit, [] {}, [&] { dgecon_("1", &n, a.at(), &n, &norm, condition.at(), work.data(), iwork.data(), &info, 1); },
        condition, &info);
  } else if (routine == "batch") {
    const int order = m, count = n, apart = order * order;
    const std::size_t of_all = elements(order, order) * static_cast<std::size_t>(count);
    Place x(driver, of_all), y(driver, of_all), z(driver, of_all);
    x.set_random(1);
    y.set_random(2);
    const double one = 1, zero = 0;
    using Batch = void (*)(const char*, const char*, const int*, const int*, const int*, const double*, const double*,
                           const int*, const int*, const double*, const int*, const int*, const double*, double*,
                           const int*, const int*, const int*, std::size_t, std::size_t);
    const auto batch = reinterpret_cast<Batch>(dlsym(RTLD_DEFAULT, "dgemm_batch_strided_"));
    measure(
        limit, [] {},
        [&] {
          if (batch)
            return batch("N", "N", &order, &order, &order, &one, x.at(), &order, &apart, y.at(), &order, &apart, &zero,
                         z.at(), &order, &apart, &count, 1, 1);
          for (std::ptrdiff_t i = 0, at = 0; i < count; ++i, at += apart)
            gemm(order, order, order, x.at() + at, y.at() + at, 0.0, z.at() + at);
        },
        z);
  } else if (routine == "symm") {
    Place b(driver, all), c(driver, all);
    b.set_random(2);
    const double one = 1, zero = 0;
    measure(
        limit, [] {}, [&] { dsymm_("L", "L", &n, &n, &one, a.at(), &n, b.at(), &n, &zero, c.at(), &n, 1, 1); }, c);
  } else if (routine == "trsm" || routine == "trmm") {
    Place triangle(nullptr, all), made(driver, all), b(driver, all);
    set_dominant(triangle, n);
    a.set(triangle);
    made.set_random(2);
    const double one = 1;
    measure(
        limit, [&] { b.set(made); },
        [&] {
          const auto routine_of_b = routine == "trsm" ? dtrsm_ : dtrmm_;
          routine_of_b("L", "L", "N", "N", &n, &n, &one, a.at(), &n, b.at(), &n, 1, 1, 1, 1);
        },
        b);
  } else if (routine == "symv") {
    const auto size = static_cast<std::size_t>(n);
    Place x(driver, size), y(driver, size);
    x.set_random(2);
    const double one = 1, zero = 0;
    const int inc = 1;
    measure(
        limit, [] {}, [&] { dsymv_("L", &n, &one, a.at(), &n, x.at(), &inc, &zero, y.at(), &inc, 1); }, y);
  } else if (routine == "gemv" || routine == "gemvt") {
    const bool transposed = routine == "gemvt";
    Place x(driver, static_cast<std::size_t>(transposed ? m : n)),
        y(driver, static_cast<std::size_t>(transposed ? n : m));
    x.set_random(2);
    const double one = 1, zero = 0;
    const int inc = 1;
    measure(
        limit, [] {},
        [&] { dgemv_(transposed ? "T" : "N", &m, &n, &one, a.at(), &m, x.at(), &inc, &zero, y.at(), &inc, 1); }, y);
  } else {
    Place b(driver, all), c(driver, all);
    b.set_random(2);
    measure(
        limit, [] {}, [&] { gemm(n, n, n, a.at(), b.at(), 0.0, c.at()); }, c);
  }
}

constexpr const char* usage =
    "usage: call_time host|device "
    "gemm|symm|trmm|trsm|symv|gemv|gemvt|potrf|getrf|getri|potri|trtri|lauum|syevd|sytrd|sygvd|"
    "sygst|gehrd|geev|gebrd|gesdd|gecon|gels|gelsy|gelsd|gelss|"
    "geqrf|geqp3|gelqf "
    "SECONDS N|MxN\n"
    "       call_time host|device potrs|posv|getrs|gesv SECONDS N|NxRIGHT_HAND_SIDES\n"
    "       call_time host|device batch SECONDS NxPRODUCTS\n";

struct Timed {
  std::string_view name;
  bool square;  ///< and nothing else
};
constexpr Timed routines[] = {{"gemm", true},   {"symm", true},   {"trmm", true},   {"gels", false},  {"symv", true},
                              {"gemv", false},  {"gemvt", false}, {"trsm", true},   {"potrf", true},  {"getri", true},
                              {"potri", true},  {"trtri", true},  {"lauum", true},  {"sytrd", true},  {"sygst", true},
                              {"getrf", false}, {"syevd", true},  {"sygvd", true},  {"geev", true},   {"gebrd", false},
                              {"gesdd", false}, {"gecon", true},  {"gelsy", false}, {"gelsd", false}, {"gelss", false},
                              {"geqrf", false}, {"potrs", false}, {"posv", false},  {"getrs", false}, {"gesv", false},
                              {"batch", false}, {"gehrd", true},  {"geqp3", false}, {"gelqf", false}};

}  // namespace

int main(int count, char** words) {
  const std::string place = count > 1 ? words[1] : "", routine = count > 2 ? words[2] : "";
  const auto* const timed =
      std::find_if(std::begin(routines), std::end(routines), [&](const Timed& x) { return x.name == routine; });
  if (count != 5 || (place != "host" && place != "device") || timed == std::end(routines)) {
    std::fputs(usage, stderr);
    return 2;
  }
  char* rest = nullptr;
  const int m = static_cast<int>(std::strtol(words[4], &rest, 10));
  const int n = *rest == 'x' ? static_cast<int>(std::strtol(rest + 1, nullptr, 10)) : m;
  if (m <= 0 || n <= 0 || (m != n && timed->square)) {
    std::fprintf(stderr, "call_time: %s is no size of %s\n", words[4], routine.c_str());
    return 2;
  }
  try {
    if (place == "host") {
      run(nullptr, routine, std::strtod(words[3], nullptr), m, n);
    } else {
      Driver driver;
      run(&driver, routine, std::strtod(words[3], nullptr), m, n);
    }
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "call_time: %s: %s\n", routine.c_str(), problem.what());
    return 1;
  }
}
