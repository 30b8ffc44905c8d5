// A stand-in for libblaslift_host.so in the tests: the host backend, failing as INJECTED_FAULT says:
// "K", "K:no_memory", "K:lost", with ":torn" behind it for garbage in a slot, or "never" for a device that does not
// open. Writes the number of operations seen to the file INJECTED_FAULT_COUNT at exit.
//
// With INJECTED_ALGORITHMS=LIBRARY:OWN,FIRST,SECOND... it has algorithms to choose from, which delay a product by so
// many microseconds: the library's own choice, and the candidates.  Writes the number of products that followed a
// preference to the file INJECTED_ALGORITHMS_COUNT at exit.
//
// With INJECTED_SYMV=N a SYMV computes nothing but takes its time: below n = N the strips are the fastest, above the
// tickets of 64x32x8x64.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "kernels/host/host.hpp"
#include "kernels/module.hpp"
#include "kernels/preference.hpp"

namespace {

using namespace blaslift;

FaultPlan plan;

struct Delays {
  std::string library;
  std::vector<long> microseconds;  ///< of the library's own choice, then of the candidates
  long symv_meets = 0;             ///< INJECTED_SYMV
};

/// Of LIBRARY:OWN,FIRST...
Delays delays_of(std::string_view text) {
  Delays delays{std::string(text.substr(0, text.find(':'))), {}, 0};
  for (std::size_t at = text.find_first_of(":,"); at != text.npos; at = text.find_first_of(":,", at + 1))
    delays.microseconds.push_back(std::atol(text.data() + at + 1));
  return delays;
}

std::atomic<long> followed{0};  ///< products that did what was preferred

/// Another lane whose products wait.
class DelayedLane final : public Lane {
 public:
  DelayedLane(Lane& of, const Delays& delays, std::vector<Preference> preferences)
      : lane(of), delays_(delays), preferences_(std::move(preferences)) {}

  Status upload(const Transfer& x, After after) override { return lane.upload(x, after); }
  Status gemm(const Gemm& x, After after) override {
    const Preference* found = nearest(preferences_.data(), static_cast<int>(preferences_.size()), x, alignment_of(x));
    const bool follows = found && !found->own;
    followed += follows;
    const std::size_t which = follows ? 1U + found->algorithm.words[0] : 0U;
    if (!delays_.library.empty())
      std::this_thread::sleep_for(std::chrono::microseconds(delays_.microseconds.at(which)));
    return lane.gemm(x, after);
  }
  Status combine(const Combination& x, After after) override { return lane.combine(x, after); }
  Status survey(const Survey& x, After after) override { return lane.survey(x, after); }
  Status symv(const Symv& x, After after) override {
    if (delays_.symv_meets <= 0) return lane.symv(x, after);
    const double size = std::pow(static_cast<double>(x.n) / static_cast<double>(delays_.symv_meets), 2);
    const bool best = x.blocking == SymvBlocking{64, 32, 8, 64} && x.way == SymvWay::tickets;
    const double microseconds = x.blocking.U == 0 ? 100 + 300 * size : (250 + 150 * size) * (best ? 1 : 1.3);
    std::this_thread::sleep_for(std::chrono::nanoseconds(std::lround(1e3 * microseconds)));
    Symv nothing = x;  // others may come after it
    nothing.n = 0;
    return lane.symv(nothing, after);
  }
  Status panel(const QrPanel& x, After after) override { return lane.panel(x, after); }
  Status download(const Transfer& x, After after, std::atomic<bool>& landed) override {
    return lane.download(x, after, landed);
  }
  Status await(const std::atomic<bool>& landed) override { return lane.await(landed); }
  void abandon() override { lane.abandon(); }
  Status drain() override { return lane.drain(); }

  Lane& lane;

 private:
  const Delays& delays_;
  const std::vector<Preference> preferences_;
};

class WithAlgorithms final : public Backend {
 public:
  WithAlgorithms(Backend& backend, Delays delays)
      : backend_(backend), delays_(std::move(delays)), facts_(backend.facts()) {
    std::snprintf(facts_.algorithms, sizeof facts_.algorithms, "%s", delays_.library.c_str());
  }

  const DeviceFacts& facts() const override { return facts_; }
  Lane* acquire(const UnderlyingGemm& underlying, std::size_t bytes, Status& status) override {
    Lane* lane = backend_.acquire(underlying, bytes, status);
    std::lock_guard lock(mutex_);
    return lane ? new DelayedLane(*lane, delays_, preferences_) : nullptr;
  }
  void release(Lane* released) override {
    auto* lane = static_cast<DelayedLane*>(released);
    backend_.release(&lane->lane);
    delete lane;
  }
  Status allocate(std::size_t bytes, void*& memory) override { return backend_.allocate(bytes, memory); }
  void free(void* memory) override { backend_.free(memory); }
  Place place(const void* memory, std::size_t bytes, bool everywhere) override {
    return backend_.place(memory, bytes, everywhere);
  }
  int candidates(const SquareProduct&, std::uint32_t alignment, Candidate* candidates, int most) override {
    const int count = std::clamp(static_cast<int>(delays_.microseconds.size()) - 1, 0, most);
    for (int i = 0; i < count; ++i) {
      candidates[i] = {};
      candidates[i].algorithm.words[0] = static_cast<unsigned char>(i);
      candidates[i].algorithm.alignment = alignment;
      std::snprintf(candidates[i].name, sizeof candidates[i].name, "number %d", i);
    }
    return count;
  }
  void prefer(const Preference* preferences, int count) override {
    std::lock_guard lock(mutex_);
    preferences_.assign(preferences, preferences + count);
  }

 private:
  Backend& backend_;
  const Delays delays_;
  DeviceFacts facts_;
  std::mutex mutex_;
  std::vector<Preference> preferences_;
};

void write_count(const char* variable, long count) {
  const char* path = std::getenv(variable);
  if (std::FILE* file = path ? std::fopen(path, "we") : nullptr) {
    std::fprintf(file, "%ld\n", count);
    std::fclose(file);
  }
}
void write_counts() {
  write_count("INJECTED_FAULT_COUNT", plan.seen);
  write_count("INJECTED_ALGORITHMS_COUNT", followed);
}

Backend* open(const OpenRequest& request, char* why, std::size_t why_size) {
  const char* value = std::getenv("INJECTED_FAULT");
  const std::string_view text = value ? value : "0";
  if (text == "never") {
    std::snprintf(why, why_size, "the test's device does not open");
    return nullptr;
  }
  plan.at = std::atol(text.data());
  plan.status = text.find(":no_memory") != text.npos ? Status::no_memory : Status::lost;
  plan.scribble = text.find(":torn") != text.npos;
  std::atexit(write_counts);
  Backend* backend = make_host_backend(request, &plan);
  const char* algorithms = std::getenv("INJECTED_ALGORITHMS");
  const char* symv = std::getenv("INJECTED_SYMV");
  if (!backend || (!algorithms && !symv)) return backend;
  Delays delays = delays_of(algorithms ? algorithms : "");
  if (symv) delays.symv_meets = std::atol(symv);
  return new WithAlgorithms(*backend, delays);
}

}  // namespace

BLASLIFT_MODULE(open)
