// Backend: the device as plans see it.  One interface, two implementations (cuda, host) in modules of their
// own, opened at the first call that could use them, and a fault-injecting decorator for the tests.
// tests/conformance/ says what each operation must do.
//
// No exception and no standard-library type crosses this boundary: a module may carry its own C++ runtime.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "kernels/operation.hpp"
#include "kernels/types.hpp"

namespace blaslift {

/// Outcome of a device operation.  Anything but `done` sends the rest of the call to the library underneath.
enum class Status : std::uint8_t {
  done,
  no_memory,  ///< this call did not fit; the device stays usable
  lost        ///< the device or its context is gone or in doubt; no further call uses it
};

/// The host BLAS, as the host backend computes with it, and as what is left of a call is computed where the device has
/// failed.  Of operations it has what BLAS has: products.
struct UnderlyingBlas {
  void (*call)(const void* context, const Operation& operation);
  const void* context;
};

struct DeviceFacts {
  char name[96];     ///< e.g. "NVIDIA H100 80GB HBM3"
  char driver[80];   ///< driver and library versions, for reports
  char profile[16];  ///< which built-in rates fit: "sm_90", "host" ...
  /// Whose words an Algorithm's are, version and device class, without spaces; empty: there is nothing to choose from.
  char algorithms[40];
  std::size_t memory;       ///< bytes that this process may allocate there
  std::size_t piece_bytes;  ///< largest download in one operation
  /// Why the program's ordinary memory may be written by the device without a trace in its page tables; or empty.
  char unseen_writes[96];
  int devices;            ///< that this process may use, this one among them: OpenRequest::number is below it
  bool exchanges;         ///< any two of these copy each other's memory at once: see Lane::join
  bool loads_when_used;   ///< the first operation of a kind takes long, whatever its size
  Capabilities computes;  ///< what may be asked of lanes, after Backend::equip
};

/// Where memory that a program names lies.
enum class MemoryKind : std::uint8_t {
  pageable,    ///< the program's own; the device reaches it through staging only
  mixed,       ///< pageable, but a device may write into parts of it
  reachable,   ///< pinned, registered or managed: the device copies to and from it directly
  on_a_device  ///< the CPU cannot read it
};

/// A square product, as calls of the levels have them: C := alpha * op(A) * op(B), all n x n, or with E as in Gemm.
struct SquareProduct {
  Precision precision;
  Op transa, transb;
  bool adds_e;
  index n;
};

/// One of a backend's ways to compute products, in its own words, and what it needs.
struct Algorithm {
  unsigned char words[64];
  std::uint64_t workspace;  ///< bytes
  std::uint32_t alignment;  ///< bytes that addresses and the distances of columns are a multiple of
};

struct Candidate {
  Algorithm algorithm;
  char name[112];  ///< for people
};

/// What was found by timing such a product.  kernels/preference.hpp says which products follow it.
struct Preference {
  SquareProduct product;
  bool own;             ///< the backend's own choice is the fastest; `algorithm` says nothing
  Algorithm algorithm;  ///< otherwise this is
};

/// A strided copy between host and device: rows x cols elements (at least one) of `element` bytes, column-major on both
/// sides.
struct Transfer {
  void* device;
  index ldd;
  void* host;  ///< an upload only reads it
  index ldh;
  index rows, cols;
  std::size_t element;
  /// Without staging: the device reaches the host's side by itself.  A download that fails may then leave anything
  /// there.
  bool direct = false;
  /// A triangle: only that part of the host's side is touched, and the device's other elements become anything.  Such a
  /// transfer is not direct.
  Part part = Part::whole;
  index below = 0;  ///< rows from the diagonal down to the first element
  /// Of a download, unless null: memory of the host's, of leading dimension ldk, that receives what the host's side
  /// holds before that is overwritten; of a triangle that part.  Such a download is not direct.
  void* keep = nullptr;
  index ldk = 0;
  /// Of an upload: nothing else writes to the device's side before drain(), so that other devices may copy from there.
  bool stays = false;
};

/// An operation of a lane, counted from 0 after lease or drain in the order in which they were asked for.
using Ticket = std::int32_t;

/// Earlier operations that must have ended on the device before this one may touch it.
struct After {
  const Ticket* tickets;
  int count;
};

/// What is on a device, or will be once its mark has been passed, for other devices to copy.
struct OnDevice {
  const void* memory = nullptr;
  index ld = 0;
  void* mark = nullptr;
  const void* owner = nullptr;  ///< the lane that has brought it there
};

/// When a call's bytes moved, as the threads see it that copy them; CLOCK_MONOTONIC in nanoseconds, 0: nothing did.
struct TransferTimes {
  std::uint64_t in_begin = 0, in_end = 0;    ///< the first is being packed; the last has been handed to the device
  std::uint64_t out_begin = 0, out_end = 0;  ///< the first has arrived; the last is in the program's memory

  /// Those of another attempt as well.
  void add(const TransferTimes& x) {
    const auto earlier = [](std::uint64_t a, std::uint64_t b) { return !a || (b && b < a) ? b : a; };
    in_begin = earlier(in_begin, x.in_begin);
    in_end = in_end > x.in_end ? in_end : x.in_end;
    out_begin = earlier(out_begin, x.out_begin);
    out_end = out_end > x.out_end ? out_end : x.out_end;
  }
};

/// Operations for one call, asked for by one thread.  upload and download return at once, ask when what the operation
/// comes after is on its way; all overlap wherever `after` allows: what depends on what is said by the caller, nothing
/// follows from the order.  After one has returned something else than `done`, nothing may be asked for before drain().
class Lane {
 public:
  /// Copies host to device.  The source must not change before drain().
  virtual Status upload(const Transfer& transfer, After after) = 0;

  /// Computes it; never asked for what DeviceFacts::computes does not name, or the backend is not equipped for.  The
  /// same bits, run after run; of a SYMV, for the same blocking, and of a GEMV on every backend.
  virtual Status ask(const Operation& operation, After after) = 0;

  /// Copies device to host, at most DeviceFacts::piece_bytes in one operation.  Unless direct, the host's memory is
  /// written only after the whole piece has safely left the device.  When all of it is there, `landed` becomes true.
  /// Both must stay until drain().
  virtual Status download(const Transfer& transfer, After after, std::atomic<bool>& landed) = 0;

  /// Whether what is asked for after this upload would no longer wait in the call: all of it has been handed to the
  /// device.  Asks nothing of the device.
  virtual bool started(Ticket upload) {
    (void)upload;
    return true;
  }

  /// A mark of the end of what it comes after, which has made something that lanes of other devices may copy, where
  /// DeviceFacts::exchanges.  It is good until the lane is released or asked for something after drain(), and does not
  /// say that nothing has failed.
  virtual Status share(After after, void*& mark) { return (void)after, mark = nullptr, Status::lost; }
  /// Copies from another device what its lane has shared, to the transfer's device side; the other one is not read.
  virtual Status copy_shared(const OnDevice& from, const Transfer& to, After after) {
    return (void)from, (void)to, (void)after, Status::lost;
  }

  /// Waits until the download that `landed` was given to has landed, or something has failed: the first failure.
  virtual Status await(const std::atomic<bool>& landed) = 0;

  /// Before anything is asked for: lanes of other devices serve parts of the same call, which all of them name so. What
  /// stays of their uploads moves over one bus and from device to device, where devices can do that.  Until drain().
  /// @param deal  not 0
  virtual void join(std::uint64_t deal) { (void)deal; }

  /// What has not begun never will: as if something had failed with Status::lost.
  virtual void abandon() = 0;

  /// Waits until every operation has ended or, after a failure, will never begin.  The first failure, if any.
  virtual Status drain() = 0;

  /// After drain(): of the operations before it.  Once: the next ones begin anew.
  virtual TransferTimes transfer_times() { return {}; }
  /// Likewise: bytes of uploads that came from other devices.
  virtual std::uint64_t exchanged_bytes() { return 0; }

 protected:
  ~Lane() = default;
};

class Backend {
 public:
  virtual const DeviceFacts& facts() const = 0;

  /// Opens what operations of this kind need besides, such as a vendor's library, where that is not open yet; false if
  /// it cannot be had: they must not be asked for, then.  No two threads ask at once.
  virtual bool equip(Operation::Kind kind) { return (void)kind, true; }

  /// A lane for one call on this thread, waiting for one to be given back if all are in use; null if none can be had,
  /// with the reason in `status`.  The host backend computes products with `underlying`; others ignore it.
  /// @param bytes  what the call will move, about: a call that moves little is served by its own thread
  virtual Lane* acquire(const UnderlyingBlas& underlying, std::size_t bytes, Status& status) = 0;

  /// Gives the lane back, draining it first.  The caller's current device is again what it was before acquire.
  virtual void release(Lane* lane) = 0;

  /// Device memory, uninitialised, aligned to 256 bytes; by any thread.  Nobody counts it here: see
  /// impl/core/arena.hpp.
  virtual Status allocate(std::size_t bytes, void*& memory) = 0;
  /// Gives it back; no operation may be under way on it.
  virtual void free(void* memory) = 0;

  /// Where the program's memory [memory, memory + bytes) is; bytes is at least one.
  /// @param everywhere  look for parts of pageable memory that a device may write into; otherwise only at its ends
  virtual MemoryKind memory_kind(const void* memory, std::size_t bytes, bool everywhere) = 0;

  /// Algorithms that compute this product where everything is aligned to `alignment` bytes: classical, in the product's
  /// precision, repeating bit for bit.  Those that are expected to be the fastest come first.
  /// @return how many, at most `most`; 0 also where the device cannot be asked
  virtual int candidates(const SquareProduct& product, std::uint32_t alignment, Candidate* candidates, int most) = 0;

  /// Lanes that are acquired from now on follow these, and nothing that was preferred before.  Copies them.  An
  /// algorithm that is none of this backend's, or cannot do a product, is passed over for the backend's own choice.
  virtual void prefer(const Preference* preferences, int count) = 0;

  /// Percent of the last moments, a second at most, in which the device computed, whoever had asked it to; -1: nobody
  /// knows.  The first question may open a library, and no two threads ask that one at once.
  virtual int busy_percent() { return -1; }

  /// The calling thread works on such a call of `routine` until end_range(): for tools that watch the device.
  virtual void begin_range(const char* routine, index m, index n, index k) { (void)routine, (void)m, (void)n, (void)k; }
  virtual void end_range() {}

 protected:
  ~Backend() = default;
};

struct OpenRequest {
  std::size_t memory_limit;    ///< bytes of device memory at most; 0: a polite share
  int local_rank, local_size;  ///< this process among those of its job on this node
  int number;                  ///< which of the devices that this process may use, from 0
  int most_used;               ///< of these it uses so many; 0: all
  const int* named;            ///< numbers of the visible devices that it may use alone, in this order
  int named_count;             ///< 0: it may use all
  /// Called by a thread of the backend's own once no transfer has been made for a while; may be null.  Calls `trim`,
  /// which gives unused device memory back, unless the device may no longer be touched.
  void (*idle)(void* context, void (*trim)(void* backend), void* backend);
  void* idle_context;
  /// Called once by each thread of the backend's own; may be null.  The program's fault handlers may run there, and
  /// what they call must not wait for that thread.
  void (*adopt)();
};

/// Must be raised with every change of this header.
inline constexpr int backend_version = 41;

/// A module's only export: opens a device.  Returns null and a sentence in `why` if it cannot be used.  Called once a
/// process for each of its devices; the backend lives until the process ends.
using OpenBackend = Backend* (*)(int version, const OpenRequest* request, char* why, std::size_t why_size);
inline constexpr char open_backend_name[] = "blaslift_open_backend";

}  // namespace blaslift
