#include "compat/trial.hpp"

#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <complex>
#include <cstddef>

namespace blaslift {
namespace {

/// Under way on a thread.  Not thread-local: libraries that are opened late share very little room for that.
struct Trial {
  std::atomic<bool> taken;
  std::atomic<pthread_t> thread;
  std::atomic<int> depth;  ///< the one inside another has the larger one
  std::atomic<Symbol> symbol;
  std::atomic<bool> came_back;
};
constexpr int most_trials = 256;
constinit Trial trials[most_trials] = {};
constinit std::atomic<int> under_way{0};

Trial* innermost_trial() {
  Trial* innermost = nullptr;
  if (under_way.load(std::memory_order_acquire) == 0) return nullptr;
  for (Trial& t : trials)
    if (t.taken.load(std::memory_order_acquire) && t.thread.load(std::memory_order_relaxed) == pthread_self() &&
        (!innermost || t.depth.load(std::memory_order_relaxed) > innermost->depth.load(std::memory_order_relaxed)))
      innermost = &t;
  return innermost;
}

/// One of the list, or null if they are all taken.
Trial* begin_trial(Symbol symbol) {
  const Trial* around = innermost_trial();
  for (Trial& t : trials) {
    if (t.taken.load(std::memory_order_relaxed)) continue;
    if (t.taken.exchange(true, std::memory_order_acq_rel)) continue;
    t.came_back.store(false, std::memory_order_relaxed);
    t.symbol.store(symbol, std::memory_order_relaxed);
    t.depth.store(around ? around->depth.load(std::memory_order_relaxed) + 1 : 0, std::memory_order_relaxed);
    t.thread.store(pthread_self(), std::memory_order_relaxed);
    under_way.fetch_add(1, std::memory_order_release);
    return &t;
  }
  return nullptr;
}

bool end_trial(Trial& trial) {
  const bool came_back = trial.came_back.load(std::memory_order_relaxed);
  trial.thread.store(pthread_t{}, std::memory_order_relaxed);
  trial.taken.store(false, std::memory_order_release);
  under_way.fetch_sub(1, std::memory_order_release);
  return came_back;
}

/// A call from a handler meanwhile would be taken for the trial's.
class Undisturbed {
 public:
  Undisturbed() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~Undisturbed() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  Undisturbed(const Undisturbed&) = delete;
  Undisturbed& operator=(const Undisturbed&) = delete;

 private:
  sigset_t before_;
};

constexpr std::int64_t zero = 0, one = 1, asks = -1;  // in 32 bits, too

/// What a call may read or write even so.
struct Room {
  alignas(16) double of[64] = {};
  std::int64_t status = 0;
};

using Size = const std::int64_t*;
using Pointer = void*;
using Letter = const char*;
using Length = std::size_t;  // hidden, of a letter

void try_gemm(void* f, Room& room) {
  using F = void (*)(Letter, Letter, Size, Size, Size, Pointer, Pointer, Size, Pointer, Size, Pointer, Pointer, Size,
                     Length, Length);
  Pointer x = room.of;
  reinterpret_cast<F>(f)("N", "N", &zero, &zero, &zero, x, x, &one, x, &one, x, x, &one, 1, 1);
}
/// Of no groups.
void try_gemm_batch(void* f, Room& room) {
  using F = void (*)(Letter, Letter, Size, Size, Size, Pointer, Pointer, Size, Pointer, Size, Pointer, Pointer, Size,
                     Size, Size);
  Pointer x = room.of;
  reinterpret_cast<F>(f)("N", "N", &zero, &zero, &zero, x, x, &one, x, &one, x, x, &one, &zero, &zero);
}
/// Of none: OpenBLAS (seen in 0.3.30) goes on with arguments of no value where a product is empty.
void try_gemm_batch_strided(void* f, Room& room) {
  using F = void (*)(Letter, Letter, Size, Size, Size, Pointer, Pointer, Size, Size, Pointer, Size, Size, Pointer,
                     Pointer, Size, Size, Size, Length, Length);
  Pointer x = room.of;
  reinterpret_cast<F>(f)("N", "N", &zero, &zero, &zero, x, x, &one, &zero, x, &one, &zero, x, x, &one, &zero, &zero, 1,
                         1);
}
void try_gemm3m(void* f, Room& room) { try_gemm(f, room); }
void try_gemmt(void* f, Room& room) {
  using F = void (*)(Letter, Letter, Letter, Size, Size, Pointer, Pointer, Size, Pointer, Size, Pointer, Pointer, Size,
                     Length, Length, Length);
  Pointer x = room.of;
  reinterpret_cast<F>(f)("U", "N", "N", &zero, &zero, x, x, &one, x, &one, x, x, &one, 1, 1, 1);
}
void try_syrk(void* f, Room& room) {
  using F = void (*)(Letter, Letter, Size, Size, Pointer, Pointer, Size, Pointer, Pointer, Size, Length, Length);
  Pointer x = room.of;
  reinterpret_cast<F>(f)("U", "N", &zero, &zero, x, x, &one, x, x, &one, 1, 1);
}
void try_herk(void* f, Room& room) { try_syrk(f, room); }
void try_syr2k(void* f, Room& room) {
  using F = void (*)(Letter, Letter, Size, Size, Pointer, Pointer, Size, Pointer, Size, Pointer, Pointer, Size, Length,
                     Length);
  Pointer x = room.of;
  reinterpret_cast<F>(f)("U", "N", &zero, &zero, x, x, &one, x, &one, x, x, &one, 1, 1);
}
void try_her2k(void* f, Room& room) { try_syr2k(f, room); }
void try_symm(void* f, Room& room) {
  using F = void (*)(Letter, Letter, Size, Size, Pointer, Pointer, Size, Pointer, Size, Pointer, Pointer, Size, Length,
                     Length);
  Pointer x = room.of;
  reinterpret_cast<F>(f)("L", "U", &zero, &zero, x, x, &one, x, &one, x, x, &one, 1, 1);
}
void try_hemm(void* f, Room& room) { try_symm(f, room); }
void try_trmm(void* f, Room& room) {
  using F = void (*)(Letter, Letter, Letter, Letter, Size, Size, Pointer, Pointer, Size, Pointer, Size, Length, Length,
                     Length, Length);
  Pointer x = room.of;
  reinterpret_cast<F>(f)("L", "U", "N", "N", &zero, &zero, x, x, &one, x, &one, 1, 1, 1, 1);
}
void try_trsm(void* f, Room& room) { try_trmm(f, room); }
void try_symv(void* f, Room& room) {
  using F = void (*)(Letter, Size, Pointer, Pointer, Size, Pointer, Size, Pointer, Pointer, Size, Length);
  Pointer x = room.of;
  reinterpret_cast<F>(f)("U", &zero, x, x, &one, x, &one, x, x, &one, 1);
}
void try_hemv(void* f, Room& room) { try_symv(f, room); }
void try_csymv(void* f, Room& room) { try_symv(f, room); }
void try_gemv(void* f, Room& room) {
  using F = void (*)(Letter, Size, Size, Pointer, Pointer, Size, Pointer, Size, Pointer, Pointer, Size, Length);
  Pointer x = room.of;
  reinterpret_cast<F>(f)("N", &zero, &zero, x, x, &one, x, &one, x, x, &one, 1);
}
void try_copy(void* f, Room& room) {
  using F = void (*)(Size, Pointer, Size, Pointer, Size);
  reinterpret_cast<F>(f)(&zero, room.of, &one, room.of, &one);
}
void try_potrf(void* f, Room& room) {
  using F = void (*)(Letter, Size, Pointer, Size, Pointer, Length);
  reinterpret_cast<F>(f)("U", &zero, room.of, &one, &room.status, 1);
}
void try_potrs(void* f, Room& room) {
  using F = void (*)(Letter, Size, Size, Pointer, Size, Pointer, Size, Pointer, Length);
  reinterpret_cast<F>(f)("U", &zero, &zero, room.of, &one, room.of, &one, &room.status, 1);
}
void try_posv(void* f, Room& room) { try_potrs(f, room); }
void try_trtrs(void* f, Room& room) {
  using F = void (*)(Letter, Letter, Letter, Size, Size, Pointer, Size, Pointer, Size, Pointer, Length, Length, Length);
  Pointer x = room.of;
  reinterpret_cast<F>(f)("U", "N", "N", &zero, &zero, x, &one, x, &one, &room.status, 1, 1, 1);
}
void try_trtri(void* f, Room& room) {
  using F = void (*)(Letter, Letter, Size, Pointer, Size, Pointer, Length, Length);
  reinterpret_cast<F>(f)("U", "N", &zero, room.of, &one, &room.status, 1, 1);
}
void try_potri(void* f, Room& room) { try_potrf(f, room); }
void try_lauum(void* f, Room& room) { try_potrf(f, room); }
void try_getri(void* f, Room& room) {
  using F = void (*)(Size, Pointer, Size, Pointer, Pointer, Size, Pointer);
  reinterpret_cast<F>(f)(&zero, room.of, &one, room.of, room.of, &one, &room.status);
}
void try_getrf(void* f, Room& room) {
  using F = void (*)(Size, Size, Pointer, Size, Pointer, Pointer);
  reinterpret_cast<F>(f)(&zero, &zero, room.of, &one, room.of, &room.status);
}
void try_getrs(void* f, Room& room) {
  using F = void (*)(Letter, Size, Size, Pointer, Size, Pointer, Pointer, Size, Pointer, Length);
  reinterpret_cast<F>(f)("N", &zero, &zero, room.of, &one, room.of, room.of, &one, &room.status, 1);
}
void try_gesv(void* f, Room& room) {
  using F = void (*)(Size, Size, Pointer, Size, Pointer, Pointer, Size, Pointer);
  reinterpret_cast<F>(f)(&zero, &zero, room.of, &one, room.of, room.of, &one, &room.status);
}
template <class T>
void try_syevd(void* f, Room& room) {
  if constexpr (std::is_floating_point_v<T>) {
    using F =
        void (*)(Letter, Letter, Size, Pointer, Size, Pointer, Pointer, Size, Pointer, Size, Pointer, Length, Length);
    reinterpret_cast<F>(f)("N", "U", &zero, room.of, &one, room.of, room.of, &one, room.of, &one, &room.status, 1, 1);
  } else {
    using F = void (*)(Letter, Letter, Size, Pointer, Size, Pointer, Pointer, Size, Pointer, Size, Pointer, Size,
                       Pointer, Length, Length);
    reinterpret_cast<F>(f)("N", "U", &zero, room.of, &one, room.of, room.of, &one, room.of, &one, room.of, &one,
                           &room.status, 1, 1);
  }
}
/// |A| lies in the room, which is zero.
void try_gecon(void* f, Room& room) {
  using F = void (*)(Letter, Size, Pointer, Size, Pointer, Pointer, Pointer, Pointer, Pointer, Length);
  reinterpret_cast<F>(f)("1", &zero, room.of, &one, room.of, room.of, room.of, room.of, &room.status, 1);
}
void try_pocon(void* f, Room& room) {
  using F = void (*)(Letter, Size, Pointer, Size, Pointer, Pointer, Pointer, Pointer, Pointer, Length);
  reinterpret_cast<F>(f)("U", &zero, room.of, &one, room.of, room.of, room.of, room.of, &room.status, 1);
}
void try_trcon(void* f, Room& room) {
  using F =
      void (*)(Letter, Letter, Letter, Size, Pointer, Size, Pointer, Pointer, Pointer, Pointer, Length, Length, Length);
  Pointer x = room.of;
  reinterpret_cast<F>(f)("1", "U", "N", &zero, x, &one, x, x, x, &room.status, 1, 1, 1);
}
void try_sygst(void* f, Room& room) {
  using F = void (*)(Size, Letter, Size, Pointer, Size, Pointer, Size, Pointer, Length);
  reinterpret_cast<F>(f)(&one, "U", &zero, room.of, &one, room.of, &one, &room.status, 1);
}
void try_sytrd(void* f, Room& room) {
  using F = void (*)(Letter, Size, Pointer, Size, Pointer, Pointer, Pointer, Pointer, Size, Pointer, Length);
  Pointer x = room.of;
  reinterpret_cast<F>(f)("U", &zero, x, &one, x, x, x, x, &one, &room.status, 1);
}
void try_gehrd(void* f, Room& room) {
  using F = void (*)(Size, Size, Size, Pointer, Size, Pointer, Pointer, Size, Pointer);
  reinterpret_cast<F>(f)(&zero, &one, &zero, room.of, &one, room.of, room.of, &one, &room.status);
}
void try_gebrd(void* f, Room& room) {
  using F = void (*)(Size, Size, Pointer, Size, Pointer, Pointer, Pointer, Pointer, Pointer, Size, Pointer);
  reinterpret_cast<F>(f)(&zero, &zero, room.of, &one, room.of, room.of, room.of, room.of, room.of, &one, &room.status);
}
/// Both drivers: their arguments up to the workspace's length, and these.
template <class... Rest>
void try_svd(void* f, Room& room, Letter more, Rest... rest) {
  Pointer x = room.of;
  const Size size = &one;
  if (more) {
    using F = void (*)(Letter, Letter, Size, Size, Pointer, Size, Pointer, Pointer, Size, Pointer, Size, Pointer, Size,
                       Rest..., Pointer, Length, Length);
    reinterpret_cast<F>(f)("N", more, &zero, &zero, x, size, x, x, size, x, size, x, size, rest..., &room.status, 1, 1);
  } else {
    using F = void (*)(Letter, Size, Size, Pointer, Size, Pointer, Pointer, Size, Pointer, Size, Pointer, Size, Rest...,
                       Pointer, Length);
    reinterpret_cast<F>(f)("N", &zero, &zero, x, size, x, x, size, x, size, x, size, rest..., &room.status, 1);
  }
}
template <class T>
void try_gesdd(void* f, Room& room) {
  Pointer x = room.of;
  if constexpr (std::is_floating_point_v<T>)
    try_svd(f, room, nullptr, x);
  else
    try_svd(f, room, nullptr, x, x);
}
template <class T>
void try_gesvd(void* f, Room& room) {
  Pointer x = room.of;
  if constexpr (std::is_floating_point_v<T>)
    try_svd(f, room, "N");
  else
    try_svd(f, room, "N", x);
}
template <class T>
void try_geev(void* f, Room& room) {
  Pointer x = room.of;
  using Real = void (*)(Letter, Letter, Size, Pointer, Size, Pointer, Pointer, Pointer, Size, Pointer, Size, Pointer,
                        Size, Pointer, Length, Length);
  using Complex = void (*)(Letter, Letter, Size, Pointer, Size, Pointer, Pointer, Size, Pointer, Size, Pointer, Size,
                           Pointer, Pointer, Length, Length);
  if constexpr (std::is_floating_point_v<T>)
    reinterpret_cast<Real>(f)("N", "N", &zero, x, &one, x, x, x, &one, x, &one, x, &one, &room.status, 1, 1);
  else
    reinterpret_cast<Complex>(f)("N", "N", &zero, x, &one, x, x, &one, x, &one, x, &one, x, &room.status, 1, 1);
}
void try_gels(void* f, Room& room) {
  using F = void (*)(Letter, Size, Size, Size, Pointer, Size, Pointer, Size, Pointer, Size, Pointer, Length);
  Pointer x = room.of;
  reinterpret_cast<F>(f)("N", &zero, &zero, &zero, x, &one, x, &one, x, &asks, &room.status, 1);
}
template <class... Rest>
void try_least_squares(void* f, Room& room, Rest... rest) {
  Pointer x = room.of;
  using F = void (*)(Size, Size, Size, Pointer, Size, Pointer, Size, Pointer, Pointer, Pointer, Pointer, Size, Rest...,
                     Pointer);
  reinterpret_cast<F>(f)(&zero, &zero, &zero, x, &one, x, &one, x, x, x, x, &asks, rest..., &room.status);
}
template <class T>
void try_gelsy(void* f, Room& room) {
  if constexpr (std::is_floating_point_v<T>)
    try_least_squares(f, room);
  else
    try_least_squares<Pointer>(f, room, room.of);
}
template <class T>
void try_gelss(void* f, Room& room) {
  try_gelsy<T>(f, room);
}
template <class T>
void try_gelsd(void* f, Room& room) {
  if constexpr (std::is_floating_point_v<T>)
    try_least_squares<Pointer>(f, room, room.of);
  else
    try_least_squares<Pointer, Pointer>(f, room, room.of, room.of);
}
template <class T>
void try_syev(void* f, Room& room) {
  using Real = void (*)(Letter, Letter, Size, Pointer, Size, Pointer, Pointer, Size, Pointer, Length, Length);
  using Complex =
      void (*)(Letter, Letter, Size, Pointer, Size, Pointer, Pointer, Size, Pointer, Pointer, Length, Length);
  if constexpr (std::is_floating_point_v<T>)
    reinterpret_cast<Real>(f)("N", "U", &zero, room.of, &one, room.of, room.of, &one, &room.status, 1, 1);
  else
    reinterpret_cast<Complex>(f)("N", "U", &zero, room.of, &one, room.of, room.of, &one, room.of, &room.status, 1, 1);
}
/// A call of a driver that computes some of the eigenvalues: its arguments up to Z's leading dimension, and these.
template <class... Rest>
void try_range(void* f, Room& room, Rest... rest) {
  using F = void (*)(Letter, Letter, Letter, Size, Pointer, Size, Pointer, Pointer, Size, Size, Pointer, Pointer,
                     Pointer, Pointer, Size, Rest..., Pointer, Length, Length, Length);
  Pointer x = room.of;
  reinterpret_cast<F>(f)("N", "A", "U", &zero, x, &one, x, x, &one, &one, x, x, x, x, &one, rest..., &room.status, 1, 1,
                         1);
}
template <class T>
void try_syevr(void* f, Room& room) {
  Pointer x = room.of;
  const Size size = &one;
  if constexpr (std::is_floating_point_v<T>)
    try_range(f, room, x, x, size, x, size);
  else
    try_range(f, room, x, x, size, x, size, x, size);
}
template <class T>
void try_syevx(void* f, Room& room) {
  Pointer x = room.of;
  const Size size = &one;
  if constexpr (std::is_floating_point_v<T>)
    try_range(f, room, x, size, x, x);
  else
    try_range(f, room, x, size, x, x, x);
}
/// A generalized eigenproblem: its arguments up to w, and these.
template <class... Rest>
void try_generalized(void* f, Room& room, Rest... rest) {
  using F =
      void (*)(Size, Letter, Letter, Size, Pointer, Size, Pointer, Size, Pointer, Rest..., Pointer, Length, Length);
  Pointer x = room.of;
  reinterpret_cast<F>(f)(&one, "N", "U", &zero, x, &one, x, &one, x, rest..., &room.status, 1, 1);
}
template <class T>
void try_sygvd(void* f, Room& room) {
  Pointer x = room.of;
  const Size size = &one;
  if constexpr (std::is_floating_point_v<T>)
    try_generalized(f, room, x, size, x, size);
  else
    try_generalized(f, room, x, size, x, size, x, size);
}
template <class T>
void try_sygv(void* f, Room& room) {
  Pointer x = room.of;
  const Size size = &one;
  if constexpr (std::is_floating_point_v<T>)
    try_generalized(f, room, x, size);
  else
    try_generalized(f, room, x, size, x);
}
template <class T>
void try_sygvx(void* f, Room& room) {
  using Real =
      void (*)(Size, Letter, Letter, Letter, Size, Pointer, Size, Pointer, Size, Pointer, Pointer, Size, Size, Pointer,
               Pointer, Pointer, Pointer, Size, Pointer, Size, Pointer, Pointer, Pointer, Length, Length, Length);
  using Complex = void (*)(Size, Letter, Letter, Letter, Size, Pointer, Size, Pointer, Size, Pointer, Pointer, Size,
                           Size, Pointer, Pointer, Pointer, Pointer, Size, Pointer, Size, Pointer, Pointer, Pointer,
                           Pointer, Length, Length, Length);
  Pointer x = room.of;
  if constexpr (std::is_floating_point_v<T>)
    reinterpret_cast<Real>(f)(&one, "N", "A", "U", &zero, x, &one, x, &one, x, x, &one, &zero, x, x, x, x, &one, x,
                              &one, x, x, &room.status, 1, 1, 1);
  else
    reinterpret_cast<Complex>(f)(&one, "N", "A", "U", &zero, x, &one, x, &one, x, x, &one, &zero, x, x, x, x, &one, x,
                                 &one, x, x, x, &room.status, 1, 1, 1);
}
void try_geqrf(void* f, Room& room) {
  using F = void (*)(Size, Size, Pointer, Size, Pointer, Pointer, Size, Pointer);
  reinterpret_cast<F>(f)(&zero, &zero, room.of, &one, room.of, room.of, &one, &room.status);
}
template <class T>
void try_geqp3(void* f, Room& room) {
  Pointer x = room.of;
  using Real = void (*)(Size, Size, Pointer, Size, Pointer, Pointer, Pointer, Size, Pointer);
  using Complex = void (*)(Size, Size, Pointer, Size, Pointer, Pointer, Pointer, Size, Pointer, Pointer);
  if constexpr (std::is_floating_point_v<T>)
    reinterpret_cast<Real>(f)(&zero, &zero, x, &one, x, x, x, &one, &room.status);
  else
    reinterpret_cast<Complex>(f)(&zero, &zero, x, &one, x, x, x, &one, x, &room.status);
}
void try_gelqf(void* f, Room& room) { try_geqrf(f, room); }
void try_orgqr(void* f, Room& room) {
  using F = void (*)(Size, Size, Size, Pointer, Size, Pointer, Pointer, Size, Pointer);
  reinterpret_cast<F>(f)(&zero, &zero, &zero, room.of, &one, room.of, room.of, &one, &room.status);
}
void try_orglq(void* f, Room& room) { try_orgqr(f, room); }
void try_ormqr(void* f, Room& room) {
  using F = void (*)(Letter, Letter, Size, Size, Size, Pointer, Size, Pointer, Pointer, Size, Pointer, Size, Pointer,
                     Length, Length);
  reinterpret_cast<F>(f)("L", "N", &zero, &zero, &zero, room.of, &one, room.of, room.of, &one, room.of, &one,
                         &room.status, 1, 1);
}
void try_ormlq(void* f, Room& room) { try_ormqr(f, room); }
void try_ormtr(void* f, Room& room) {
  using F = void (*)(Letter, Letter, Letter, Size, Size, Pointer, Size, Pointer, Pointer, Size, Pointer, Size, Pointer,
                     Length, Length, Length);
  reinterpret_cast<F>(f)("L", "L", "N", &zero, &zero, room.of, &one, room.of, room.of, &one, room.of, &one,
                         &room.status, 1, 1, 1);
}
void try_orgtr(void* f, Room& room) {
  using F = void (*)(Letter, Size, Pointer, Size, Pointer, Pointer, Size, Pointer, Length);
  reinterpret_cast<F>(f)("L", &zero, room.of, &one, room.of, room.of, &one, &room.status, 1);
}
void try_ormhr(void* f, Room& room) {
  using F = void (*)(Letter, Letter, Size, Size, Size, Size, Pointer, Size, Pointer, Pointer, Size, Pointer, Size,
                     Pointer, Length, Length);
  reinterpret_cast<F>(f)("L", "N", &zero, &zero, &one, &zero, room.of, &one, room.of, room.of, &one, room.of, &one,
                         &room.status, 1, 1);
}
void try_orghr(void* f, Room& room) {
  using F = void (*)(Size, Size, Size, Pointer, Size, Pointer, Pointer, Size, Pointer);
  reinterpret_cast<F>(f)(&zero, &one, &zero, room.of, &one, room.of, room.of, &one, &room.status);
}
void try_ormbr(void* f, Room& room) {
  using F = void (*)(Letter, Letter, Letter, Size, Size, Size, Pointer, Size, Pointer, Pointer, Size, Pointer, Size,
                     Pointer, Length, Length, Length);
  reinterpret_cast<F>(f)("Q", "L", "N", &zero, &zero, &zero, room.of, &one, room.of, room.of, &one, room.of, &one,
                         &room.status, 1, 1, 1);
}
void try_orgbr(void* f, Room& room) {
  using F = void (*)(Letter, Size, Size, Size, Pointer, Size, Pointer, Pointer, Size, Pointer, Length);
  reinterpret_cast<F>(f)("Q", &zero, &zero, &zero, room.of, &one, room.of, room.of, &one, &room.status, 1);
}
void try_geqr(void* f, Room& room) {
  using F = void (*)(Size, Size, Pointer, Size, Pointer, Size, Pointer, Size, Pointer);
  reinterpret_cast<F>(f)(&zero, &zero, room.of, &one, room.of, &asks, room.of + 16, &asks, &room.status);
}
void try_gemqr(void* f, Room& room) {
  using F = void (*)(Letter, Letter, Size, Size, Size, Pointer, Size, Pointer, Size, Pointer, Size, Pointer, Size,
                     Pointer, Length, Length);
  constexpr std::int64_t head = 8;
  reinterpret_cast<F>(f)("L", "N", &zero, &zero, &zero, room.of, &one, room.of + 16, &head, room.of + 32, &one,
                         room.of + 48, &asks, &room.status, 1, 1);
}

constexpr int column_major = 102, none = 111, upper = 121, non_unit = 131, left = 141;

/// Scalars by value, or, where they are complex, by address.
template <class T>
auto scalar_for(Room& room) {
  if constexpr (std::is_floating_point_v<T>)
    return T(0);
  else
    return static_cast<void*>(room.of);
}

template <class T>
void try_cblas_gemm(void* f, Room& room) {
  using I = std::int64_t;
  const auto scalar = scalar_for<T>(room);
  using Scalar = decltype(scalar);
  using F = void (*)(int, int, int, I, I, I, Scalar, Pointer, I, Pointer, I, Scalar, Pointer, I);
  Pointer x = room.of;
  reinterpret_cast<F>(f)(column_major, none, none, 0, 0, 0, scalar, x, 1, x, 1, scalar, x, 1);
}
template <class T>
void try_cblas_gemm_batch(void* f, Room& room) {
  using F = void (*)(int, const int*, const int*, Size, Size, Size, Pointer, Pointer, Size, Pointer, Size, Pointer,
                     Pointer, Size, std::int64_t, Size);
  Pointer x = room.of;
  constexpr int op = none;
  reinterpret_cast<F>(f)(column_major, &op, &op, &zero, &zero, &zero, x, x, &one, x, &one, x, x, &one, 0, &zero);
}
template <class T>
void try_cblas_gemm_batch_strided(void* f, Room& room) {
  using I = std::int64_t;
  const auto scalar = scalar_for<T>(room);
  using Scalar = decltype(scalar);
  using F = void (*)(int, int, int, I, I, I, Scalar, Pointer, I, I, Pointer, I, I, Scalar, Pointer, I, I, I);
  Pointer x = room.of;
  reinterpret_cast<F>(f)(column_major, none, none, 0, 0, 0, scalar, x, 1, 0, x, 1, 0, scalar, x, 1, 0, 0);
}
template <class T>
void try_cblas_gemm3m(void* f, Room& room) {
  try_cblas_gemm<T>(f, room);
}
template <class T>
void try_cblas_gemmt(void* f, Room& room) {
  using I = std::int64_t;
  const auto scalar = scalar_for<T>(room);
  using Scalar = decltype(scalar);
  using F = void (*)(int, int, int, int, I, I, Scalar, Pointer, I, Pointer, I, Scalar, Pointer, I);
  Pointer x = room.of;
  reinterpret_cast<F>(f)(column_major, upper, none, none, 0, 0, scalar, x, 1, x, 1, scalar, x, 1);
}
template <class Scalar>
void try_cblas_rank_k(void* f, Room& room, Scalar scalar) {
  using I = std::int64_t;
  using F = void (*)(int, int, int, I, I, Scalar, Pointer, I, Scalar, Pointer, I);
  Pointer x = room.of;
  reinterpret_cast<F>(f)(column_major, upper, none, 0, 0, scalar, x, 1, scalar, x, 1);
}
template <class T>
void try_cblas_syrk(void* f, Room& room) {
  try_cblas_rank_k(f, room, scalar_for<T>(room));
}
template <class T>
void try_cblas_herk(void* f, Room& room) {
  try_cblas_rank_k(f, room, decltype(std::real(T()))(0));
}
template <class T, class Beta>
void try_cblas_rank_2k(void* f, Room& room, Beta beta) {
  using I = std::int64_t;
  const auto alpha = scalar_for<T>(room);
  using F = void (*)(int, int, int, I, I, decltype(alpha), Pointer, I, Pointer, I, Beta, Pointer, I);
  Pointer x = room.of;
  reinterpret_cast<F>(f)(column_major, upper, none, 0, 0, alpha, x, 1, x, 1, beta, x, 1);
}
template <class T>
void try_cblas_syr2k(void* f, Room& room) {
  try_cblas_rank_2k<T>(f, room, scalar_for<T>(room));
}
template <class T>
void try_cblas_her2k(void* f, Room& room) {
  try_cblas_rank_2k<T>(f, room, decltype(std::real(T()))(0));
}
template <class T>
void try_cblas_symm(void* f, Room& room) {
  using I = std::int64_t;
  const auto scalar = scalar_for<T>(room);
  using Scalar = decltype(scalar);
  using F = void (*)(int, int, int, I, I, Scalar, Pointer, I, Pointer, I, Scalar, Pointer, I);
  Pointer x = room.of;
  reinterpret_cast<F>(f)(column_major, left, upper, 0, 0, scalar, x, 1, x, 1, scalar, x, 1);
}
template <class T>
void try_cblas_hemm(void* f, Room& room) {
  try_cblas_symm<T>(f, room);
}
template <class T>
void try_cblas_trmm(void* f, Room& room) {
  using I = std::int64_t;
  const auto scalar = scalar_for<T>(room);
  using F = void (*)(int, int, int, int, int, I, I, decltype(scalar), Pointer, I, Pointer, I);
  Pointer x = room.of;
  reinterpret_cast<F>(f)(column_major, left, upper, none, non_unit, 0, 0, scalar, x, 1, x, 1);
}
template <class T>
void try_cblas_trsm(void* f, Room& room) {
  try_cblas_trmm<T>(f, room);
}
template <class T>
void try_cblas_symv(void* f, Room& room) {
  using I = std::int64_t;
  const auto scalar = scalar_for<T>(room);
  using Scalar = decltype(scalar);
  using F = void (*)(int, int, I, Scalar, Pointer, I, Pointer, I, Scalar, Pointer, I);
  Pointer x = room.of;
  reinterpret_cast<F>(f)(column_major, upper, 0, scalar, x, 1, x, 1, scalar, x, 1);
}
template <class T>
void try_cblas_hemv(void* f, Room& room) {
  try_cblas_symv<T>(f, room);
}
template <class T>
void try_cblas_gemv(void* f, Room& room) {
  using I = std::int64_t;
  const auto scalar = scalar_for<T>(room);
  using Scalar = decltype(scalar);
  using F = void (*)(int, int, I, I, Scalar, Pointer, I, Pointer, I, Scalar, Pointer, I);
  Pointer x = room.of;
  reinterpret_cast<F>(f)(column_major, none, 0, 0, scalar, x, 1, x, 1, scalar, x, 1);
}

template <class T>
void try_cblas_copy(void* f, Room& room) {
  using I = std::int64_t;
  using F = void (*)(I, Pointer, I, Pointer, I);
  reinterpret_cast<F>(f)(0, room.of, 1, room.of, 1);
}

void call(Symbol symbol, void* f, Room& room) {
  const bool cblas = info(symbol).interface == Interface::cblas;
  const Routine routine = info(symbol).routine;
#define BLAS(kind, name, type) \
  if (routine == Routine::name) return cblas ? try_cblas_##kind<type>(f, room) : try_##kind(f, room);
#define LAPACK(kind, name, type) \
  if (routine == Routine::name) return try_##kind(f, room);
#define SYEVD(name, type) \
  if (routine == Routine::name) return try_syevd<type>(f, room);
#define GESDD(name, type) \
  if (routine == Routine::name) return try_gesdd<type>(f, room);
#define GESVD(name, type) \
  if (routine == Routine::name) return try_gesvd<type>(f, room);
#define GEEV(name, type) \
  if (routine == Routine::name) return try_geev<type>(f, room);
#define GELS(name, type) \
  if (routine == Routine::name) return try_gels(f, room);
#define GEQP3(name, type) \
  if (routine == Routine::name) return try_geqp3<type>(f, room);
#define GELSY(name, type) \
  if (routine == Routine::name) return try_gelsy<type>(f, room);
#define GELSD(name, type) \
  if (routine == Routine::name) return try_gelsd<type>(f, room);
#define GELSS(name, type) \
  if (routine == Routine::name) return try_gelss<type>(f, room);
#define SYEV(name, type) \
  if (routine == Routine::name) return try_syev<type>(f, room);
#define SYEVR(name, type) \
  if (routine == Routine::name) return try_syevr<type>(f, room);
#define SYEVX(name, type) \
  if (routine == Routine::name) return try_syevx<type>(f, room);
#define SYGVD(name, type) \
  if (routine == Routine::name) return try_sygvd<type>(f, room);
#define SYGV(name, type) \
  if (routine == Routine::name) return try_sygv<type>(f, room);
#define SYGVX(name, type) \
  if (routine == Routine::name) return try_sygvx<type>(f, room);
#define OWN(kind, name, type)  // nobody else has it
#include "api/routines.def"
}

/// Entries are used again; of what one of them says nothing is believed while it is being written.
struct GoesOn {
  enum State : int { unused, being_written, from_its_body, always };
  std::atomic<int> state;
  std::atomic<const void*> function;
  std::atomic<std::uintptr_t> start, end;
  GoesOn* next;
};
constinit std::atomic<GoesOn*> going_on{nullptr};

template <class Look>
GoesOn* find(const Look& look) {
  for (GoesOn* x = going_on.load(std::memory_order_acquire); x; x = x->next)
    if (x->state.load(std::memory_order_acquire) >= GoesOn::from_its_body && look(*x)) return x;
  return nullptr;
}

struct Remembered {
  std::atomic<pthread_t> thread;
  std::atomic<Symbol> symbol;
  std::atomic<const void*> function, caller;
  std::atomic<std::uintptr_t> frame;
};
constexpr std::size_t most_remembered = 1024;
constinit Remembered by_function[most_remembered] = {}, by_caller[most_remembered] = {};

std::size_t mixed(std::uintptr_t a, std::uintptr_t b) {
  const auto thread = static_cast<std::uintptr_t>(pthread_self());
  return ((thread >> 6) * 31 + (a >> 2) * 1000003 + b * 7919) >> 3;
}

Remembered& of_function(const FirstCall& call) {
  return by_function[mixed(reinterpret_cast<std::uintptr_t>(call.function), 0) % most_remembered];
}

Remembered& of_caller(const FirstCall& call) {
  const auto caller = reinterpret_cast<std::uintptr_t>(call.caller);
  return by_caller[mixed(caller, static_cast<std::uintptr_t>(call.symbol)) % most_remembered];
}

bool is_of(const Remembered& x, const FirstCall& call) {
  return x.thread.load(std::memory_order_relaxed) == pthread_self() &&
         x.symbol.load(std::memory_order_relaxed) == call.symbol &&
         x.function.load(std::memory_order_relaxed) == call.function;
}

}  // namespace

bool comes_back(Symbol symbol, void* function) {
  const Undisturbed undisturbed;
  Trial* trial = begin_trial(symbol);
  if (!trial) return false;
  Room room;
  call(symbol, function, room);
  return end_trial(*trial);
}

bool answers_trial(Symbol symbol) {
  Trial* trial = innermost_trial();
  if (!trial) return false;
  if (trial->symbol.load(std::memory_order_relaxed) == symbol) trial->came_back.store(true, std::memory_order_relaxed);
  return true;
}

void note_goes_on(const void* function, std::uintptr_t start, std::uintptr_t end, bool always) {
  const int state = always ? GoesOn::always : GoesOn::from_its_body;
  if (GoesOn* known = find([&](const GoesOn& x) { return x.function == function; })) {
    if (always) known->state.store(state, std::memory_order_release);
    return;
  }
  const auto fill = [&](GoesOn& x) {
    x.function = function;
    x.start = start;
    x.end = end;
    x.state.store(state, std::memory_order_release);
  };
  for (GoesOn* x = going_on.load(std::memory_order_acquire); x; x = x->next)
    if (int unused = GoesOn::unused; x->state.compare_exchange_strong(unused, GoesOn::being_written)) return fill(*x);
  auto* made = new GoesOn{{GoesOn::being_written}, {}, {}, {}, going_on.load(std::memory_order_acquire)};
  fill(*made);
  while (!going_on.compare_exchange_weak(made->next, made, std::memory_order_acq_rel)) {
  }
}

bool goes_on(const void* function, const void* caller) {
  const auto at = reinterpret_cast<std::uintptr_t>(caller);
  const GoesOn* known = find([&](const GoesOn& x) { return x.function == function; });
  if (!known) return false;
  return known->state == GoesOn::always || find([&](const GoesOn& x) { return x.start <= at && at < x.end; });
}

void forget_goes_on(const void* function) {
  if (GoesOn* known = find([&](const GoesOn& x) { return x.function == function; })) known->state = GoesOn::unused;
}

void forget_goes_on(std::uintptr_t start, std::uintptr_t end) {
  while (GoesOn* gone = find([&](const GoesOn& x) { return start <= x.start && x.start < end; }))
    gone->state = GoesOn::unused;
}

void note_first_call(const FirstCall& call) {
  for (Remembered* x : {&of_function(call), &of_caller(call)}) {
    x->thread.store(pthread_self(), std::memory_order_relaxed);
    x->symbol.store(call.symbol, std::memory_order_relaxed);
    x->function.store(call.function, std::memory_order_relaxed);
    x->caller.store(call.caller, std::memory_order_relaxed);
    x->frame.store(call.frame, std::memory_order_relaxed);
  }
}

bool may_be_inside(const FirstCall& call) {
  constexpr std::uintptr_t most_stack = std::uintptr_t{64} << 20;
  const Remembered& x = of_function(call);
  if (!is_of(x, call)) return false;
  const std::uintptr_t frame = x.frame.load(std::memory_order_relaxed);
  return call.frame < frame && frame - call.frame < most_stack;
}

bool seen_before(const FirstCall& call) {
  const Remembered& x = of_caller(call);
  return is_of(x, call) && x.caller.load(std::memory_order_relaxed) == call.caller &&
         call.frame >= x.frame.load(std::memory_order_relaxed);
}

}  // namespace blaslift
