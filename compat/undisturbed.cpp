#include "compat/undisturbed.hpp"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace blaslift {
namespace {

/// What the end of own time puts back.
struct Before {
  std::uint64_t signals;  ///< blocked, as the kernel has it
  int cancel_state, cancel_type;
};

struct OwnTime {
  Before before;
  bool held;
  enum : std::uint8_t { unknown, no, yes } handler;
};
thread_local constinit OwnTime own __attribute__((tls_model("initial-exec"))) = {};

/// Signals that an instruction of the thread's own raises, or abort.
constexpr int own_signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS, SIGABRT};

constexpr std::uint64_t bit_of(int signal) { return std::uint64_t{1} << (signal - 1); }

std::uint64_t bits_of(const sigset_t& set) {
  std::uint64_t bits;
  std::memcpy(&bits, &set, sizeof bits);
  return bits;
}

sigset_t set_of(std::uint64_t bits) {
  sigset_t set;
  sigemptyset(&set);
  std::memcpy(&set, &bits, sizeof bits);
  return set;
}

/// From here to let_go nothing of the program's runs on this thread.  Signals first: a handler that jumps away before
/// they are blocked leaves nothing behind.
void hold_off() {
  sigset_t all, before;
  sigfillset(&all);
  for (const int signal : own_signals) sigdelset(&all, signal);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int cancel_state, cancel_type;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
  pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &cancel_type);
  own = {{bits_of(before), cancel_state, cancel_type}, true, OwnTime::unknown};
}

/// Cancellation comes first: a handler's jump must not leave it off.  It acts where the C library looks for it; as long
/// as it is deferred, glibc 2.36's pthread_setcancelstate would, too, but without the thread's result.
void let_go() {
  const Before before = own.before;
  own.held = false;
  const sigset_t signals = set_of(before.signals);
  pthread_setcancelstate(before.cancel_state, nullptr);
  if (before.cancel_type != PTHREAD_CANCEL_DEFERRED) {
    pthread_testcancel();
    pthread_setcanceltype(before.cancel_type, nullptr);
  }
  pthread_sigmask(SIG_SETMASK, &signals, nullptr);
}

bool handled(int signal) {
  struct sigaction action;
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN;
}

/// Whether there is a frame that a signal has interrupted.
bool interrupted_frame() {
  bool found = false;
  (void)_Unwind_Backtrace(
      [](_Unwind_Context* context, void* data) {
        int interrupted = 0;
        (void)_Unwind_GetIPInfo(context, &interrupted);
        if (interrupted) *static_cast<bool*>(data) = true;
        return interrupted ? _URC_NORMAL_STOP : _URC_NO_REASON;
      },
      &found);
  return found;
}

/// Unwinding costs some microseconds, so not where there is no sign of a handler: as long as one runs its signal is
/// blocked.
bool look_for_handler() {
  for (int signal = 1; signal <= 64; ++signal)
    if ((own.before.signals & bit_of(signal)) && handled(signal)) return interrupted_frame();
  return false;
}

struct Switch {
  ucontext_t here, there;
  void (*work)(void*);
  void* context;
};

void run_there(unsigned high, unsigned low) {
  auto& s = *reinterpret_cast<Switch*>(std::uintptr_t{high} << 32 | low);
  s.work(s.context);
}

bool on_main_stack() {
  stack_t handlers{};
  return syscall(SYS_gettid) == getpid() && sigaltstack(nullptr, &handlers) == 0 && !(handlers.ss_flags & SS_ONSTACK);
}

}  // namespace

void undisturbed(void (*work)(void*), void* context) {
  if (own.held) return work(context);
  hold_off();
  work(context);
  let_go();
}

void disturbed(void (*work)(void*), void* context) {
  if (!own.held) return work(context);
  let_go();
  work(context);
  hold_off();
}

void admit_unhandled_signals() {
  // Those that end or stop a process where nobody handles them, and are sent by people, timers and batch systems.
  constexpr int usual[] = {SIGHUP,  SIGINT,  SIGQUIT,   SIGTERM, SIGALRM, SIGUSR1, SIGUSR2, SIGPIPE,
                           SIGTSTP, SIGXCPU, SIGVTALRM, SIGPROF, SIGTTIN, SIGTTOU, SIGIO,   SIGPWR};
  std::uint64_t unhandled = 0;
  for (const int signal : usual)
    if (!(own.before.signals & bit_of(signal)) && !handled(signal)) unhandled |= bit_of(signal);
  const sigset_t set = set_of(unhandled);
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

bool in_handler() {
  if (own.handler == OwnTime::unknown) own.handler = look_for_handler() ? OwnTime::yes : OwnTime::no;
  return own.handler == OwnTime::yes;
}

void with_room(unsigned long bytes, void (*work)(void*), void* context) {
  (void)in_handler();  // another stack does not show it
  if (on_main_stack()) return work(context);
  void* stack =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (stack == MAP_FAILED) return work(context);
  // At its upper end: two contexts are more than what may be left of a small stack.
  auto& s = *reinterpret_cast<Switch*>(static_cast<char*>(stack) + bytes - (sizeof(Switch) + 63) / 64 * 64);
  s.work = work;
  s.context = context;
  if (getcontext(&s.there) == 0) {
    s.there.uc_stack = {stack, 0, bytes - (sizeof(Switch) + 63) / 64 * 64};
    s.there.uc_link = &s.here;
    const auto address = reinterpret_cast<std::uintptr_t>(&s);
    makecontext(&s.there, reinterpret_cast<void (*)()>(run_there), 2, static_cast<unsigned>(address >> 32),
                static_cast<unsigned>(address));
    swapcontext(&s.here, &s.there);
  } else {
    work(context);
  }
  munmap(stack, bytes);
}

void abandon_own_time() {
  if (own.held) let_go();
}

}  // namespace blaslift
