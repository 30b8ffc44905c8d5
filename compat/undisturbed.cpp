#include "compat/undisturbed.hpp"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#include <bit>
#include <cstddef>
#include <cstdint>

#include "compat/this_thread.hpp"

namespace blaslift {

thread_local constinit ThisThread this_thread = {};

namespace {

constexpr std::uint64_t bit_of(int signal) { return std::uint64_t{1} << (signal - 1); }

/// All but those that an instruction of the thread's own raises, or abort, and the two that glibc has for itself.
constexpr std::uint64_t asynchronous = ~(bit_of(SIGSEGV) | bit_of(SIGBUS) | bit_of(SIGILL) | bit_of(SIGFPE) |
                                         bit_of(SIGTRAP) | bit_of(SIGSYS) | bit_of(SIGABRT) | bit_of(32) | bit_of(33));

/// pthread_sigmask on the kernel's own sets.  @return what was blocked before
std::uint64_t set_blocked(int how, std::uint64_t signals) {
  std::uint64_t before = 0;
  (void)syscall(SYS_rt_sigprocmask, how, &signals, &before, sizeof signals);
  return before;
}

/// From here to let_go nothing of the program's runs on this thread.  Signals first: a handler that jumps away before
/// they are blocked leaves nothing behind.
void hold_off() {
  const std::uint64_t before = set_blocked(SIG_BLOCK, asynchronous);
  int cancel_state, cancel_type;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
  pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &cancel_type);
  this_thread.signals = before;
  this_thread.cancel_state = static_cast<std::uint8_t>(cancel_state);
  this_thread.cancel_type = static_cast<std::uint8_t>(cancel_type);
  this_thread.held = true;
  this_thread.handler = ThisThread::unknown;
}

/// Cancellation comes first: a handler's jump must not leave it off.  It is still deferred when it is allowed:
/// glibc 2.36 cancels in pthread_setcancelstate, too, but then the thread's result is not PTHREAD_CANCELED.
void let_go() {
  const ThisThread before = this_thread;
  this_thread.held = false;
  pthread_setcancelstate(before.cancel_state, nullptr);
  if (before.cancel_type != PTHREAD_CANCEL_DEFERRED) {
    pthread_testcancel();
    pthread_setcanceltype(before.cancel_type, nullptr);
  }
  (void)set_blocked(SIG_SETMASK, before.signals);
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
  for (std::uint64_t rest = this_thread.signals; rest != 0; rest &= rest - 1)
    if (handled(std::countr_zero(rest) + 1)) return interrupted_frame();
  return false;
}

struct Switch {
  ucontext_t here, there;
  void (*work)(void*);
  void* context;
  const void* stack;  ///< whose upper end this is
  const void* outer;  ///< the Switch of the stack from which this one was entered
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
  if (this_thread.held) return work(context);
  hold_off();
  work(context);
  let_go();
}

void disturbed(void (*work)(void*), void* context) {
  if (!this_thread.held) return work(context);
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
    if (!(this_thread.signals & bit_of(signal)) && !handled(signal)) unhandled |= bit_of(signal);
  (void)set_blocked(SIG_UNBLOCK, unhandled);
}

bool in_handler() {
  if (this_thread.handler == ThisThread::unknown)
    this_thread.handler = look_for_handler() ? ThisThread::yes : ThisThread::no;
  return this_thread.handler == ThisThread::yes;
}

void with_room(unsigned long bytes, void (*work)(void*), void* context) {
  // Sanitizers do not follow a thread to another stack.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  constexpr bool can_change = false;
#else
  constexpr bool can_change = true;
#endif
  (void)in_handler();  // another stack does not show it
  if (!can_change || on_main_stack()) return work(context);
  void* stack =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (stack == MAP_FAILED) return work(context);
  // At its upper end: two contexts are more than what may be left of a small stack.
  auto& s = *reinterpret_cast<Switch*>(static_cast<char*>(stack) + bytes - (sizeof(Switch) + 63) / 64 * 64);
  s.work = work;
  s.context = context;
  s.stack = stack;
  s.outer = this_thread.room;
  if (getcontext(&s.there) == 0) {
    s.there.uc_stack = {stack, 0, bytes - (sizeof(Switch) + 63) / 64 * 64};
    s.there.uc_link = &s.here;
    const auto address = reinterpret_cast<std::uintptr_t>(&s);
    makecontext(&s.there, reinterpret_cast<void (*)()>(run_there), 2, static_cast<unsigned>(address >> 32),
                static_cast<unsigned>(address));
    this_thread.room = &s;
    swapcontext(&s.here, &s.there);
    this_thread.room = s.outer;
  } else {
    work(context);
  }
  munmap(stack, bytes);
}

bool is_in_room(const void* frame) {
  // What a jump has left is not unmapped, and so can be read.
  for (const void* room = this_thread.room; room; room = static_cast<const Switch*>(room)->outer)
    if (static_cast<const Switch*>(room)->stack <= frame && frame < room) return true;
  return false;
}

void abandon_own_time() {
  if (this_thread.held) let_go();
}

}  // namespace blaslift
