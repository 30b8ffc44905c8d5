#include "impl/route/device.hpp"

#include <dlfcn.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "compat/environment.hpp"
#include "compat/objects.hpp"
#include "compat/say.hpp"
#include "compat/shown.hpp"
#include "impl/observe/counters.hpp"

namespace blaslift {
namespace {

std::string own_directory() {
  static const char here = 0;
  Dl_info self{};
  if (!dladdr(&here, &self) || !self.dli_fname) return {};
  const char* slash = std::strrchr(self.dli_fname, '/');
  return slash ? std::string(self.dli_fname, slash) : ".";
}

int number_in(const char* name, int otherwise) {
  const char* value = variable(name);
  constexpr int most = 1 << 20;
  int number = otherwise;
  const bool good = value && *value >= '0' && *value <= '9' &&
                    std::from_chars(value, value + std::strlen(value), number).ec == std::errc() && number <= most;
  return good ? number : otherwise;
}

/// Whether the process has loaded CUDA's driver or runtime.
bool has_loaded_cuda() {
  return for_each_object(
             [](dl_phdr_info* object, std::size_t, void*) -> int {
               const char* slash = std::strrchr(object->dlpi_name, '/');
               const std::string_view name = slash ? slash + 1 : object->dlpi_name;
               return name.starts_with("libcuda.so") || name.starts_with("libcudart");
             },
             nullptr) != 0;
}

Profile profile_for(const char* device_class, const std::string& libraries, const char* device_name,
                    const char* library, const Options& options, std::string& warnings) {
  Profile profile = built_in_profile(device_class);
  (void)find_rates(options.profile, libraries, device_name, library, profile, warnings);
  return profile;
}

using Estimators = std::optional<strassen::Estimator>[precision_count];

void make_estimators(const Profile& profile, strassen::Model model, Estimators& estimators) {
  for (int p = 0; p < precision_count; ++p) estimators[p] = make_estimator(profile, static_cast<Precision>(p), model);
}

/// Times of squares, as the thesis fits them: a cubic through products, a quadratic through sums of two.
std::optional<strassen::Times> times_of(const strassen::Rates& rates, Precision precision) {
  std::vector<strassen::Point> products, sums;
  const double flops = is_complex(precision) ? 8 : 2, element = static_cast<double>(element_size(precision));
  for (const auto& [size, rate] : rates.product) {
    products.push_back({size, flops * size * size * size / rate});
    sums.push_back({size, rates.step_seconds + 3 * size * size * element / rates.pass_bytes_per_second});
  }
  std::string problem;
  const auto gemm = strassen::fit(products, 3, problem), geam = strassen::fit(sums, 2, problem);
  if (!gemm || !geam) return std::nullopt;
  return strassen::Times{gemm->polynomial, geam->polynomial};
}

/// Blocks every signal for the calling thread.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

std::optional<strassen::Estimator> make_estimator(const Profile& profile, Precision precision, strassen::Model model) {
  strassen::Rates rates{{}, profile.pass_rate, profile.step_seconds};
  for (std::size_t t = 0; t < transposes_count; ++t)
    for (const Profile::LeafRate* leaf = profile.leaf_rate[static_cast<int>(precision)][t]; leaf->size > 0; ++leaf)
      (t == 0 ? rates.product : rates.transposed[t - 1]).push_back({leaf->size, leaf->rate});
  if (!strassen::check(rates).empty()) return std::nullopt;
  strassen::Inputs inputs{.rates = rates, .times = {}, .peaks = {}};
  if (model == strassen::Model::thesis) {
    const std::optional<strassen::Times> times = times_of(rates, precision);
    if (!times) return std::nullopt;
    inputs.times = *times;
  }
  inputs.peaks.bytes_per_second = rates.pass_bytes_per_second;
  for (const strassen::Point& point : rates.product)
    inputs.peaks.flops_per_second = std::max(inputs.peaks.flops_per_second, point.value);
  return strassen::Estimator(model, precision, inputs);
}

bool gpu_visible() {
  for (const char* node : {"/dev/nvidiactl", "/dev/dxg", "/dev/nvhost-ctrl"})
    if (access(node, F_OK) == 0) return true;
  return false;
}

/// How many tasks Slurm runs on this node: "4", or a list of nodes in their order, "4(x2),1".  0: not to be had.
int slurm_tasks_here() {
  const char* text = variable("SLURM_STEP_TASKS_PER_NODE");
  for (int node = number_in("SLURM_NODEID", 0); text && *text && node >= 0;) {
    char* end = nullptr;
    const long tasks = std::strtol(text, &end, 10);
    if (end == text || tasks <= 0 || tasks > INT_MAX) return 0;
    long nodes = 1;
    if (end[0] == '(' && end[1] == 'x') {
      nodes = std::strtol(end + 2, &end, 10);
      if (nodes <= 0 || *end++ != ')') return 0;
    }
    if (node < nodes) return static_cast<int>(tasks);
    node -= static_cast<int>(nodes);
    if (*end != ',') return 0;
    text = end + 1;
  }
  return 0;
}

LocalRank local_rank() {
  constexpr const char* ranks[] = {"OMPI_COMM_WORLD_LOCAL_RANK",
                                   "MPI_LOCALRANKID",
                                   "MV2_COMM_WORLD_LOCAL_RANK",
                                   "PMI_LOCAL_RANK",
                                   "PALS_LOCAL_RANKID",
                                   "FLUX_TASK_LOCAL_ID",
                                   "SLURM_LOCALID",
                                   "LOCAL_RANK"};
  constexpr const char* sizes[] = {"OMPI_COMM_WORLD_LOCAL_SIZE",
                                   "MPI_LOCALNRANKS",
                                   "MV2_COMM_WORLD_LOCAL_SIZE",
                                   "PMI_LOCAL_SIZE",
                                   "PALS_LOCAL_SIZE",
                                   "FLUX_TASK_LOCAL_SIZE",
                                   "SLURM_NTASKS_PER_NODE",
                                   "LOCAL_WORLD_SIZE"};
  LocalRank local{-1, 0};
  for (const char* name : ranks)
    if (const int rank = number_in(name, -1); rank >= 0) {
      local.rank = rank;
      break;
    }
  if (local.rank < 0) return {0, 1};  // an allocation may set sizes before there are ranks
  for (const char* name : sizes)
    if (const int size = number_in(name, 0); size > 0) {
      local.size = size;
      break;
    }
  if (local.size == 0) local.size = slurm_tasks_here();
  if (local.size <= local.rank) local.size = local.rank + 1;
  return local;
}

std::string foreign_switches() {
  std::string found;
  for (const char* name : {"NVIDIA_TF32_OVERRIDE", "CUBLAS_EMULATE_DOUBLE_PRECISION", "CUBLAS_EMULATE_SINGLE_PRECISION",
                           "CUBLAS_EMULATION_STRATEGY"})
    if (const char* value = variable(name); value && *value && std::strcmp(value, "0") != 0)
      found += std::string(found.empty() ? "" : ", ") + name + "=" + value;
  return found.empty() ? found : found + " changes the accuracy of device products";
}

Backend* open_module(const std::string& directory, const char* name, const OpenRequest& request, std::string& why) {
  const std::string path = (directory.empty() ? own_directory() : directory) + "/libblaslift_" + name + ".so";
  void* module = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!module) {
    const char* error = dlerror();
    why = error ? error : path + " cannot be opened";
    return nullptr;
  }
  const auto open = reinterpret_cast<OpenBackend>(dlsym(module, open_backend_name));
  if (!open) {
    why = path + " is not a blaslift module";
    return nullptr;
  }
  char text[256] = "";
  Backend* backend = open(backend_version, &request, text, sizeof text);
  if (!backend) why = *text ? text : path + " gave no reason";
  return backend;
}

Device::Device(const Options& options, int number, Idle idle, void* idle_context)
    : options_(options), number_(number), idle_(idle), idle_context_(idle_context) {
  const bool host = options.backend == BackendChoice::host;
  // Where the library lies, the loader says, whose locks a forked child may lack: that is asked in open().
  profile_[0] = profile_[1] =
      profile_for(host ? "host" : "sm_90", {}, host ? "host" : "default", "", options, warnings_);
  for (int i = 0; i < 2; ++i) make_estimators(profile_[i], options.estimator, estimators_[i]);
  // Its libraries obey variables of their own, some of which name libraries and files (CUDA_INJECTION64_PATH,
  // NVTX_INJECTION64_PATH, CUDA_CACHE_PATH ...).
  if (more_rights_than_its_caller()) lose("the process has more rights than who started it");
  if (!options.on || options.measure) return;
  if (options.backend == BackendChoice::automatic && !gpu_visible()) lose("no GPU: no NVIDIA device node in /dev");
}

Backend* Device::open() {
  touched_.store(true, std::memory_order_release);  // before the lock: a child forked from here on must not wait for it
  std::lock_guard lock(opening_);
  if (state() == DeviceState::ready) return backend_;
  if (state() == DeviceState::absent) return nullptr;
  if (!locks_are_free()) {
    lose("forked while another thread was loading a library: nothing can be opened in this process");
    return nullptr;
  }
  // Calls of other threads stay on the CPU meanwhile, unless they must not.  What throws leaves it unopened.
  struct Opening {
    std::atomic<DeviceState>& state;
    ~Opening() {
      DeviceState mine = DeviceState::opening;
      state.compare_exchange_strong(mine, DeviceState::unopened);
    }
  };
  opening_since_.store(now_ns(), std::memory_order_relaxed);
  state_.store(DeviceState::opening, std::memory_order_release);
  const Opening opening{state_};
  const LocalRank local = local_rank();
  const OpenRequest request{.memory_limit = options_.memory,
                            .local_rank = local.rank,
                            .local_size = local.size,
                            .number = number_,
                            .most_used = options_.devices,
                            .named = options_.named_devices.data(),
                            .named_count = static_cast<int>(options_.named_devices.size()),
                            .idle = idle_,
                            .idle_context = idle_context_,
                            .adopt = [] { thread_state.inside = &thread_state; }};
  const char* name = options_.backend == BackendChoice::host ? "host" : "cuda";
  Counters& c = counters();
  if (!backend_ && number_ == 0 && has_loaded_cuda()) c.has_cuda.store(1, std::memory_order_relaxed);
  std::string why;
  if (!backend_) {  // a call before this one may have had no memory left afterwards
    SignalsBlocked blocked;
    backend_ = open_module({}, name, request, why);
    if (backend_ && options_.yields) (void)looks_and_yields(true);
  }
  if (!backend_) {
    lose(why.c_str());
    return nullptr;
  }
  const DeviceFacts& facts = backend_->facts();
  std::string warnings;
  profile_[1] = profile_for(facts.profile, own_directory(), facts.name, facts.algorithms, options_, warnings);
  make_estimators(profile_[1], options_.estimator, estimators_[1]);
  const std::vector<Preference> preferences = preferences_for(profile_[1], facts.algorithms);
  backend_->prefer(preferences.data(), static_cast<int>(preferences.size()));
  if (number_ == 0) {
    if (options_.profile.empty()) say(warnings);  // a file that was named has been warned about
    c.backend.set(name);
    c.device.set(facts.name);
    c.driver.set(facts.driver);
    if (options_.backend != BackendChoice::host) c.warning.set(foreign_switches().c_str());
  }
  state_.store(DeviceState::ready, std::memory_order_release);
  return backend_;
}

double Device::until_open() const {
  if (state() != DeviceState::opening) return 0;
  const std::uint64_t since = opening_since_.load(std::memory_order_relaxed), now = now_ns();
  return std::max(0.0, profile_[0].startup_seconds - 1e-9 * static_cast<double>(now > since ? now - since : 0));
}

bool Device::looks_and_yields(bool alone) {
  return yielding_.yields(now_ns(), alone, [this] { return backend_->busy_percent(); });
}

bool Device::can(Operation::Kinds kinds, Element element) {
  return backend().facts().computes.can(kinds, element) &&
         kinds.all([this](Operation::Kind kind) { return is_equipped(kind); });
}

bool Device::is_equipped(Operation::Kind kind) {
  std::atomic<Equipped>& equipped = equipped_[static_cast<int>(kind)];
  if (const Equipped known = equipped.load(std::memory_order_acquire); known != unknown) return known == yes;
  std::lock_guard lock(opening_);
  if (equipped.load(std::memory_order_relaxed) == unknown) {
    const SignalsBlocked blocked;
    equipped.store(backend().equip(kind) ? yes : no, std::memory_order_release);
  }
  return equipped.load(std::memory_order_relaxed) == yes;
}

void Device::lose(const char* why) {
  counters().detail.set((number_ == 0 ? why : "device " + std::to_string(number_) + ": " + why).c_str());
  state_.store(DeviceState::absent, std::memory_order_release);
}

}  // namespace blaslift
