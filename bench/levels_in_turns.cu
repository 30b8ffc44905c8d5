// Times one product on operands that lie on the device by several settings of BLASLIFT_STRASSEN and by cuBLAS, in turns
// within one process.  A device at the limit of its power gives whoever comes after a frugal neighbour a faster clock,
// so a turn is long: what leads it is not timed.
//
//   levels_in_turns --library FILE [--settings off,1,2,auto] [--precision s|d|c|z] [--size N|MxNxK] [--trans XY]
//                   [--beta BETA] [--turns T] [--lead S] [--seconds S] [--reports DIR]
//
// Each setting has a copy of FILE, libblaslift.so with its modules beside it, for its own: options are read once.  So
// many libraries need more room for thread-local variables than glibc has for those that come late:
// GLIBC_TUNABLES=glibc.rtld.optional_static_tls=100000.
// In each of T turns everyone computes for --lead seconds, then for --seconds that are timed (once at least, either
// way); who begins changes.  A and B, uniform in [-1, 1], are made anew before every call, and C, all NaN where it is
// not read.  DIR gets each setting's report, SETTING.json, which says by how many levels its calls ran.
//
// Prints a line of JSON: of each contender the median second of a call, the distance of the quartiles relative to it,
// every turn's median, and the largest error of eight rows and columns beside sums in twice the precision, relative to
// the largest entry seen.  Exit status 1 if a result is wrong.
//
// Compiled for the host (levels_in_turns_host) everything lies there, and cuBLAS is the BLAS underneath.
#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "bench/device_gemm.hpp"

namespace bench {
namespace {

struct Arguments {
  std::string library, settings = "off,1,2,3,auto", reports, size = "1024";
  char precision = 'd', transa = 'N', transb = 'N';
  int turns = 3;
  double lead = 0.15, seconds = 0.25, beta = 0;
};

std::vector<std::string> words_of(const std::string& list) {
  std::vector<std::string> words;
  for (std::size_t at = 0, end = 0; end != list.npos; at = end + 1) {
    end = list.find(',', at);
    words.push_back(list.substr(at, end - at));
  }
  return words;
}

/// A folder that is gone at the end.
class Folder {
 public:
  Folder() : path_((std::filesystem::temp_directory_path() / "levels_in_turns.XXXXXX").string()) {
    if (!mkdtemp(path_.data())) throw std::runtime_error("no temporary folder");
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::filesystem::path path() const { return path_; }

 private:
  std::string path_;
};

/// A copy of the library that will compute by one setting.  Never closed: it would not go.
class Setting {
 public:
  Setting(const Arguments& arguments, const std::string& name, const std::filesystem::path& folder) : name_(name) {
    namespace fs = std::filesystem;
    const fs::path from(arguments.library), to = folder / name;
    fs::create_directory(to);
    for (const fs::directory_entry& file : fs::directory_iterator(from.parent_path()))
      if (file.path().filename().string().starts_with("libblaslift") && file.path().extension() == ".so")
        fs::copy_file(file.path(), to / file.path().filename());
    void* const library = dlopen((to / from.filename()).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) throw std::runtime_error(dlerror());
    entry_ = reinterpret_cast<GemmEntry>(dlsym(library, (std::string(1, arguments.precision) + "gemm_").c_str()));
    if (!entry_) throw std::runtime_error(dlerror());
    if (!arguments.reports.empty()) report_ = (fs::path(arguments.reports) / (name + ".json")).string();
  }

  const std::string& name() const { return name_; }

  /// Before its first call, which reads them.
  void set_options() const {
    setenv("BLASLIFT_STRASSEN", name_.c_str(), 1);
    if (!report_.empty()) setenv("BLASLIFT_REPORT", report_.c_str(), 1);
  }

  GemmEntry entry() const { return entry_; }

 private:
  std::string name_, report_;
  GemmEntry entry_ = nullptr;
};

struct Times {
  std::vector<double> seconds, by_turn;
  Finding worst{};

  std::string in_json(const std::string& name) const {
    const double middle = median(seconds);
    char text[256];
    std::snprintf(text, sizeof text, "\"%s\": {\"seconds\": %.7f, \"spread\": %.4f, \"calls\": %zu, \"error\": %.3g, ",
                  name.c_str(), middle, (quantile(seconds, 0.75) - quantile(seconds, 0.25)) / middle, seconds.size(),
                  std::min(worst.ours, no_number));
    std::string line = text;
    line += "\"turns\": [";
    for (std::size_t turn = 0; turn < by_turn.size(); ++turn) {
      std::snprintf(text, sizeof text, "%s%.7f", turn ? ", " : "", by_turn[turn]);
      line += text;
    }
    return line + "]}";
  }
};

template <class T>
class Contest {
 public:
  explicit Contest(const Arguments& arguments)
      : arguments_(arguments),
        product_(size_of(arguments.size), arguments.transa, arguments.transb, arguments.beta, true) {
    for (const std::string& name : words_of(arguments.settings))
      settings_.emplace_back(arguments, name, folder_.path());
    times_.resize(settings_.size() + 1);
  }

  bool run() {
    for (const Setting& setting : settings_) {
      setting.set_options();
      product_.fill(++seed_);
      gemm(setting.entry(), product_.call);
      finish();
    }
    const auto count = times_.size();
    for (int turn = 0; turn < arguments_.turns; ++turn)
      for (std::size_t i = 0; i < count; ++i) {
        const std::size_t place = (i + static_cast<std::size_t>(turn)) % count;
        take_turn(turn % 2 ? count - 1 - place : place);
      }
    return tell();
  }

 private:
  /// Settings in their order, then cuBLAS.
  std::string name(std::size_t contender) const {
    return contender < settings_.size() ? settings_[contender].name() : "cublas";
  }

  double call(std::size_t contender) {
    product_.fill(++seed_);
    const double start = now();
    if (contender < settings_.size()) {
      gemm(settings_[contender].entry(), product_.call);
    } else {
      other_.gemm(product_.call);
      other_.wait();
    }
    const double seconds = now() - start;
    finish();
    return seconds;
  }

  void take_turn(std::size_t contender) {
    Times& times = times_[contender];
    for (const double end = now() + arguments_.lead; call(contender), now() < end;) {
    }
    std::vector<double> seconds;
    for (const double end = now() + arguments_.seconds; seconds.push_back(call(contender)), now() < end;) {
    }
    times.seconds.insert(times.seconds.end(), seconds.begin(), seconds.end());
    times.by_turn.push_back(median(seconds));
    check(times.worst);
  }

  /// Of the last call.
  void check(Finding& worst) {
    for (Samples<T>* samples : {product_.rows.get(), product_.cols.get()}) {
      samples->take_ours();
      samples->take_others();  // which it compares as well
      const Finding found = samples->compare(arguments_.beta);
      take_larger(worst.ours, found.ours / found.size);
    }
  }

  bool tell() const {
    const double bound = product_.bound();
    const Call<T>& call = product_.call;
    bool right = true;
    char text[256];
    std::snprintf(text, sizeof text,
                  "{\"precision\": \"%c\", \"m\": %d, \"n\": %d, \"k\": %d, \"beta\": %g, \"trans\": \"%c%c\", "
                  "\"turns\": %d, \"bound\": %.3g, \"contenders\": {",
                  arguments_.precision, call.m, call.n, call.k, call.beta, call.transa, call.transb, arguments_.turns,
                  bound);
    std::string line = text;
    for (std::size_t i = 0; i < times_.size(); ++i) {
      line += (i ? ", " : "") + times_[i].in_json(name(i));
      right = right && times_[i].worst.ours <= bound;
    }
    std::printf("%s}, \"right\": %s}\n", line.c_str(), right ? "true" : "false");
    return right;
  }

  const Arguments& arguments_;
  Other other_;
  const Folder folder_;
  DeviceProduct<T> product_;
  std::vector<Setting> settings_;
  std::vector<Times> times_;
  std::uint64_t seed_ = 0;
};

Arguments parse(char** words) {
  Arguments a;
  read_options(words, [&a](const Option& option) {
    const std::string& name = option.name;
    if (name == "--library")
      a.library = std::filesystem::absolute(option.value).string();
    else if (name == "--settings")
      a.settings = option.value;
    else if (name == "--reports")
      a.reports = option.value;
    else if (name == "--precision")
      a.precision = option.one_of("sdcz", 0);
    else if (name == "--size")
      a.size = option.value;
    else if (name == "--trans")
      a.transa = option.one_of("NTC", 0), a.transb = option.one_of("NTC", 1);
    else if (name == "--beta")
      a.beta = std::atof(option.value.c_str());
    else if (name == "--turns")
      a.turns = static_cast<int>(option.number(1));
    else if (name == "--lead")
      a.lead = option.number(0);
    else if (name == "--seconds")
      a.seconds = option.number(0);
    else
      return false;
    return true;
  });
  if (a.library.empty()) throw std::runtime_error("--library is missing");
  return a;
}

}  // namespace
}  // namespace bench

int main(int, char** argv) {
  using namespace bench;
  try {
    const Arguments a = parse(argv);
    return by_precision("levels_in_turns", "error", a.precision, [&](auto x) { return Contest<decltype(x)>(a).run(); });
  } catch (const std::exception& error) {
    std::fprintf(stderr, "levels_in_turns: %s\n", error.what());
    return 2;
  }
}
