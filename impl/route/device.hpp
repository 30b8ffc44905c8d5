// A device of this process: its module, opened at the first call that could use it, and what became of it.
#pragma once
#include <atomic>
#include <mutex>
#include <optional>
#include <string>

#include "impl/core/options.hpp"
#include "impl/route/decision.hpp"
#include "impl/route/yielding.hpp"
#include "impl/strassen/estimator.hpp"
#include "kernels/backend.hpp"

namespace blaslift {

/// Of levels on a device with this profile; none without leaf rates of the precision, or with fewer than a model needs.
/// The thesis's polynomials are fitted to the times that follow from the rates, Otsuka's peaks are the largest of them.
std::optional<strassen::Estimator> make_estimator(const Profile& profile, Precision precision,
                                                  strassen::Model model = strassen::Model::ours);

class Device {
 public:
  /// @param idle  see OpenRequest
  using Idle = void (*)(void* context, void (*trim)(void* backend), void* backend);
  /// @param number  of the devices that this process may use, from 0
  Device(const Options& options, int number, Idle idle, void* idle_context);

  DeviceState state() const { return state_.load(std::memory_order_acquire); }

  /// The open backend, opening it if need be (other callers wait for it); null if there is none to be had.  All signals
  /// are blocked meanwhile, so that threads which the driver starts never run the program's handlers.
  Backend* open();

  /// Seconds until that is done which another thread has begun, as far as is known; 0 if none is at it.
  double until_open() const;

  /// The backend that is open; only while state() is or was ready.
  Backend& backend() const { return *backend_; }

  /// Whether calls leave the open device to other processes now, if they are to do that.
  /// @param alone  no other call of ours is there
  bool yields(bool alone) { return options_.yields && state() == DeviceState::ready && looks_and_yields(alone); }
  /// A call has ended there.
  void used(std::uint64_t now) { yielding_.used(now); }

  /// Whether the open backend computes what a family needs, which the first call to ask may have to wait for.
  bool can(Operation::Kinds kinds, Element element);

  /// No further call uses the device.  `why` is kept for the summary.
  void lose(const char* why);

  /// About the profile, for whoever made this.
  const std::string& warnings() const { return warnings_; }

  /// In a forked child: whether the parent had touched a device, or was about to.  Signal-safe.
  bool touched() const { return touched_.load(std::memory_order_acquire); }

  /// Rates for the device that is open or would be.
  const Profile& profile() const { return profile_[state() == DeviceState::ready]; }

  /// Of levels on that device; null where the profile has no leaf rates.
  const strassen::Estimator* estimator(Precision precision) const {
    const auto& e = estimators_[state() == DeviceState::ready][static_cast<int>(precision)];
    return e ? &*e : nullptr;
  }

 private:
  bool is_equipped(Operation::Kind kind);
  bool looks_and_yields(bool alone);

  const Options& options_;
  const int number_;
  const Idle idle_;
  void* const idle_context_;
  std::string warnings_;
  std::atomic<DeviceState> state_{DeviceState::unopened};
  std::atomic<bool> touched_{false};
  std::atomic<std::uint64_t> opening_since_{0};  ///< now_ns(); while state_ is `opening`
  std::mutex opening_;
  enum Equipped : std::uint8_t { unknown, yes, no };
  std::atomic<Equipped> equipped_[Operation::kinds] = {};
  Backend* backend_ = nullptr;
  Yielding yielding_;
  Profile profile_[2];  ///< guessed before opening, known after
  std::optional<strassen::Estimator> estimators_[2][precision_count];
};

/// Opens the module `libblaslift_<name>.so` in `directory` (empty: where this library lies).
/// @return null with a sentence in `why`.
Backend* open_module(const std::string& directory, const char* name, const OpenRequest& request, std::string& why);

/// This process's place among those of its job on this node, from the variables of Open MPI, MPICH, Intel MPI, MVAPICH,
/// PMI, PALS, Flux and Slurm; {0, 1} outside a job.
struct LocalRank {
  int rank, size;
};
LocalRank local_rank();

/// Whether this machine shows a GPU at all, from device nodes: asking the driver would open its libraries.
bool gpu_visible();

/// Switches of other libraries that change results behind our back and are set in this environment; empty if none.
std::string foreign_switches();

}  // namespace blaslift
