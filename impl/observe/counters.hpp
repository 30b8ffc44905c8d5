// Counters: what happened, in memory that outlives the process.  Under `blaslift run` they lie in a mapped file, so a
// process that ends by _exit or a signal has still reported; otherwise in private memory for the summary at exit.
#pragma once
#include <sys/types.h>

#include <atomic>
#include <cstdint>

#include "compat/symbols.hpp"
#include "impl/core/reason.hpp"

namespace blaslift {

inline constexpr int most_levels = 6;
inline constexpr int size_classes = 24;  ///< by powers of four of flops, from 4^2 on
/// Of a call.
int size_class(double flops);

struct RoutineCounters {
  std::atomic<std::uint64_t> routed;                   ///< calls computed on the device, wholly or in part
  std::atomic<std::uint64_t> stayed[reason_count];     ///< calls computed by the library underneath, by reason
  std::atomic<std::uint64_t> stayed_ns[reason_count];  ///< time in those of them that were timed
  std::atomic<std::uint64_t> device_ns;                ///< time in routed calls
  std::atomic<std::int64_t> saved_ns;                  ///< by routed calls, beside what was predicted of the CPU
  std::atomic<std::uint64_t> bytes_in, bytes_out;      ///< moved to and from the device
  std::atomic<std::uint64_t> bytes_spared;             ///< not moved: a copy on the device was still good
  std::atomic<std::uint64_t> bytes_exchanged;          ///< from one device to another
  std::atomic<std::uint64_t> levels[most_levels];      ///< routed calls computed by one level of Strassen's, two, ...
  std::atomic<std::uint64_t> dealt;                    ///< routed calls that several devices have computed
  std::atomic<std::uint64_t> residues;                 ///< routed calls computed by residues, or parts of them
  std::atomic<std::uint64_t> systolic;                 ///< routed calls computed by systolic arrays, or parts of them
  std::atomic<std::uint64_t> distrusted;               ///< routed calls that the guard has sent back to no level
};

/// Filled by `blaslift measure` only.
struct SizeCounters {
  std::atomic<std::uint64_t> calls, flops, ns, device_ns;  ///< own time; predicted device time of the offloadable part
  std::atomic<std::uint64_t> offloadable_ns;               ///< CPU time of calls that the device would do faster
};

/// Of calls that the device would do faster: what they take on the CPU, and what they would take there.
struct Offloadable {
  std::int64_t cpu_ns = 0, device_ns = 0;
  std::int64_t gain() const { return cpu_ns - device_ns; }
};

/// What verification finds in a call.
#define BLASLIFT_FINDINGS(X)                 \
  X(over, "over its bound")                  \
  X(unrepeatable, "not the same bits twice") \
  X(outside, "written outside the output")   \
  X(input_changed, "input operand changed")

enum class Finding : std::uint8_t {
#define X(name, text) name,
  BLASLIFT_FINDINGS(X)
#undef X
      count
};
inline constexpr int finding_count = static_cast<int>(Finding::count);
constexpr unsigned bit(Finding finding) { return 1u << static_cast<int>(finding); }

/// Why a call that was to be checked was not.
#define BLASLIFT_UNCHECKED(X)               \
  X(memory, "no memory for copies")         \
  X(overlap, "output overlaps an input")    \
  X(on_device, "operands in device memory") \
  X(oracle, "not possible with the oracle") \
  X(exiting, "process is exiting")

enum class Unchecked : std::uint8_t {
#define X(name, text) name,
  BLASLIFT_UNCHECKED(X)
#undef X
      count
};
inline constexpr int unchecked_count = static_cast<int>(Unchecked::count);

struct CheckCounters {
  std::atomic<std::uint64_t> checked;
  std::atomic<std::uint64_t> repeated;              ///< of these: computed twice, and the bits compared
  std::atomic<std::uint64_t> wrong;                 ///< calls with any finding
  std::atomic<std::uint64_t> found[finding_count];  ///< calls, by finding
  std::atomic<std::uint64_t> unchecked[unchecked_count];
};

/// A checked call that is worth naming, with those like it: of the same arguments but for addresses, from one place.
struct NotedCall {
  std::atomic<std::uint32_t> complete;  ///< not while it is being written
  std::atomic<std::uint64_t> calls;     ///< like it, since it was noted
  Routine routine;
  std::uint8_t findings;  ///< bits
  double ratio, limit;
  char arguments[200];
  char caller[160];
  char dump[200];  ///< the file that it was written to, or empty
  char way[160];   ///< how it was computed on the device, in words (Check); empty: it was not

  /// Worse calls have larger ones.
  double rank() const {
    return (findings ? 1e300 : 0) + (limit > 0 ? (ratio < 1e290 * limit ? ratio / limit : 1e290) : 0);
  }
};
inline constexpr int most_noted_calls = 8;

/// Calls that took the forwarding path, counted per thread without locked instructions.  The last entry counts Fortran
/// twins of CBLAS calls and is never reported.
struct alignas(64) ThreadCounters {
  std::uint64_t forwarded[routine_count + 1];
};

inline constexpr int thread_slots = 280;  ///< so that all counters are a file of less than 1 MiB

/// A text that several threads may want to leave: the first one wins, readers see all of it or nothing.
template <std::size_t size>
class Note {
 public:
  /// True for the one caller that may `publish`.
  bool claim() {
    std::uint32_t unclaimed = 0;
    return state_.compare_exchange_strong(unclaimed, 1, std::memory_order_relaxed);
  }
  void publish(const char* text) {
    std::size_t i = 0;
    for (; text[i] && i + 1 < size; ++i) text_[i] = text[i];
    text_[i] = '\0';
    state_.store(2, std::memory_order_release);
  }
  void set(const char* text) {
    if (*text && claim()) publish(text);
  }
  /// Of one that came out of a file: it has an end.
  void end() { text_[size - 1] = '\0'; }
  const char* get() const { return state_.load(std::memory_order_acquire) == 2 ? text_ : ""; }

 private:
  std::atomic<std::uint32_t> state_;  ///< 0 free, 1 being written, 2 there
  char text_[size];
};

struct Counters {
  static constexpr std::uint64_t this_layout = 0x626c61736c696614;  // "blaslif", layout 20
  std::uint64_t layout;
  std::int32_t pid, parent;
  std::uint64_t started_ns, now_ns;       ///< CLOCK_REALTIME at the first call; CLOCK_MONOTONIC beside it
  std::atomic<std::uint64_t> last_ns;     ///< CLOCK_MONOTONIC after the last call that was timed
  std::atomic<std::uint64_t> opening_ns;  ///< that calls, and exit, have waited for the device to open
  Reason forwarded_reason;                ///< why forwarded calls of routed routines stayed
  char command[64];                       ///< program's name
  std::uint32_t user;                     ///< numeric, as getuid has it
  Note<64> host;
  Note<64> job;     ///< the batch system's name of it
  Note<16> rank;    ///< among all of the job, as its launcher has it
  Note<8> backend;  ///< "cuda" or "host", once one is open
  Note<96> device;
  Note<80> driver;       ///< and its libraries, with versions
  Note<256> detail;      ///< why there is no device, or how it was lost
  Note<160> incomplete;  ///< what of this process could not be kept, and why
  Note<160> warning;     ///< foreign switches that change results
  Note<160> residency;   ///< "on", or "off: " and why, once a device is open
  Note<160> blind;       ///< why copies were left alone for a while, if they were
  Note<192> library;     ///< the first library underneath; with it:
  Note<48> library_found_by;
  std::atomic<std::uint32_t> library_wide;
  std::atomic<std::uint32_t> has_cuda;    ///< loaded before a device was opened, so by the program
  std::atomic<std::uint32_t> has_forked;  ///< the process, and handlers of pthread_atfork ran
  std::atomic<std::uint32_t> reported;    ///< it came to its exit, and to its line of BLASLIFT_REPORT
  /// Calls of ScaLAPACK's of which this process was the grid's root, if they were of some size: computed by it for all
  /// processes, and left to ScaLAPACK.
  std::atomic<std::uint64_t> gathered, ungathered;
  RoutineCounters routines[routine_count];
  SizeCounters sizes[routine_count][size_classes];
  /// Filled by `blaslift measure` only: of a call and those inside it, whichever is the better, once.
  std::atomic<std::int64_t> offloadable_ns, on_device_ns;
  CheckCounters checks[routine_count];
  NotedCall worst[most_noted_calls];       ///< of the checked ones, in no order
  std::atomic<std::uint32_t> noting;       ///< taken by who writes to these
  Note<256> verify_problem;                ///< why verification could not do all that was asked
  std::atomic<std::uint32_t> threads;      ///< slots given out, may exceed thread_slots
  ThreadCounters slots[thread_slots + 1];  ///< the last is shared by whoever came late; its counts are approximate
};

static_assert(sizeof(Counters) < std::size_t{1} << 20);

/// Makes counters out of a file, which may hold anything, fit to be read: numbers of routines and reasons are some,
/// texts have an end.  What they count may still be anything.
void check_counters(Counters& counters);

/// Per thread, in static TLS so that the forwarding path needs no call, and small, since a library that is opened late
/// finds little of that.  `slot` is null until the thread's first call and while a route of ours runs on it: either way
/// the forwarding path turns to the slow one, which sorts it out.
struct ThreadState {
  ThreadCounters* slot;
  const void* inside;  ///< the route of ours (Inside) that is running, on the stack there; or, on a thread of ours,
                       ///< this: calls coming from it are neither counted nor routed
  struct {
    std::int32_t cpu, device;
  } nested;              ///< measuring: what is Offloadable of calls inside the current one, in 1,024 ns: the
                         ///< program's arithmetic may raise signals, so these are integers
  std::uint32_t on_cpu;  ///< where a call on the CPU stands on the stack, in units of 16 bytes; 0: there is none
  enum Agreed : std::uint16_t {
    nothing,
    on_device,  ///< the outermost call has been agreed on with other processes: it goes, or is not made here at all
    unmade      ///< it was not
  } agreed;
  std::uint16_t distributed;  ///< whether a call of ScaLAPACK's is under way
  std::uint64_t nested_ns;    ///< time of calls inside the current one
};
static_assert(sizeof(ThreadState) == 40);

extern thread_local constinit ThreadState thread_state __attribute__((tls_model("initial-exec")));

/// This process's counters, created by the first call.  Safe to call from several threads and in a forked child.
Counters& counters();

/// Holds what is noted of calls: nobody else writes to it meanwhile.  A forked child has counters of its own.  Nothing
/// that may wait is done with it; who does not get it in reasonable time, because another thread's priority is too low
/// to give it back, goes without.
class Noting {
 public:
  explicit Noting(Counters& counters);
  ~Noting() {
    if (mine_) taken_.store(0, std::memory_order_release);
  }
  Noting(const Noting&) = delete;
  Noting& operator=(const Noting&) = delete;
  explicit operator bool() const { return mine_; }

 private:
  std::atomic<std::uint32_t>& taken_;
  bool mine_ = false;
};

/// Gives the calling thread a slot.
ThreadCounters* claim_slot();

/// In a process that has forked.  Only stores.
void note_fork();

/// In a forked child: forgets the parent's counters, so that the next call makes the child's own.
void forget_counters();

/// Whether counters exist, that is, whether a routed symbol was ever called in this process.
bool counters_exist();

/// Where counters() puts its file (null: private memory), and what forwarded calls of routed routines are put down to.
/// Set once, before the first counters(); `path` must stay valid.
void set_counters_up(const char* path, Reason forwarded);

/// Zeroed memory for counters: a new mapped file in the directory of set_counters_up, else private; null if neither.
/// Where a file cannot be had, a link in that directory says so, which takes neither room nor a descriptor: its name
/// ends in uncounted_suffix, and what it leads to is the errno (EFBIG: the limit on file sizes).
void* map_counters(std::size_t bytes);

inline constexpr const char* uncounted_suffix = ".uncounted";

/// Why a process has no file of counters, or of a trace, by errno: "there was no room for its file".
const char* why_uncounted(int error);

/// A file that this process has made: what its name leads to later may be another one.
struct MadeFile {
  char path[1024] = "";
  dev_t device = 0;
  ino_t number = 0;
};

/// A new file in `directory`, named after this process, mapped and zeroed; null if it cannot be had, which errno then
/// says why.  `made` says which, if it is not null.  Files beyond the process's limit are not begun: they would end it.
void* map_new_file(const char* directory, std::size_t bytes, MadeFile* made = nullptr);

/// Calls of one routine that took the forwarding path, summed over threads.
std::uint64_t forwarded_calls(const Counters& counters, Routine routine);

/// CLOCK_MONOTONIC in nanoseconds.
std::uint64_t now_ns();

}  // namespace blaslift
