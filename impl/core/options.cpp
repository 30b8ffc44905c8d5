#include "impl/core/options.hpp"

#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <string_view>

#include "compat/symbols.hpp"
#include "impl/core/text.hpp"

namespace blaslift {
namespace {

using namespace std::string_view_literals;

bool parse_switch(bool& target, const char* value, std::string_view yes, std::string_view no) {
  if (value != yes && value != no) return false;
  target = value == yes;
  return true;
}

/// "dgemm,sgemm", "gemm", "all"; null for what is none.
std::optional<Routines> routines_named(std::string_view rest) {
  Routines mask;
  while (!rest.empty()) {
    const std::string_view word = rest.substr(0, rest.find(','));
    rest.remove_prefix(word.size() < rest.size() ? word.size() + 1 : word.size());
    Routines bits;
    for (std::size_t r = 0; r < routine_count; ++r) {
      const std::string_view name = routine_names[r];
      if (word == "all"sv || word == name || word == name.substr(1)) bits.set(r);  // "gemm" means all four
    }
    if (bits.none()) return {};
    mask |= bits;
  }
  return mask;
}

bool parse_force(Options& o, const char* value) {
  const std::optional<Routines> named = routines_named(value);
  if (named) o.forced = *named;
  return named.has_value();
}

bool parse_text(std::string& target, const char* value) {
  if (*value) target = value;
  return *value != '\0';
}

/// "1073741824", "512M", "2G", "2GB", "2GiB": powers of 1,024
bool parse_bytes(std::size_t& target, const char* value) {
  std::string_view text = value;
  int shift = 0;
  const bool unit = text.ends_with('B');
  if (unit) text.remove_suffix(text.ends_with("iB"sv) ? 2 : 1);
  constexpr std::string_view suffixes = "KMGTkmgt";
  const auto at = text.empty() ? suffixes.npos : suffixes.find(text.back());
  if (unit && at == suffixes.npos) return false;
  if (at != suffixes.npos) {
    shift = 10 * (static_cast<int>(at % 4) + 1);
    text.remove_suffix(1);
  }
  std::size_t number = 0;
  if (!read_number(text, number) || number == 0 || number > (SIZE_MAX >> shift)) return false;
  target = number << shift;
  return true;
}

/// "auto", "off", "2", "2:rum", "2:rum:2", "2:rum:all"
bool parse_levels(Options& o, const char* value) {
  std::string_view rest = value;
  auto next = [&rest] {
    const std::string_view word = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(rest.size(), word.size() + 1));
    return word;
  };
  if (rest == "auto") return o.levels = -1, true;
  if (rest == "off") return o.levels = 0, true;
  if (rest.ends_with(':')) return false;
  const std::string_view count = next();
  if (count.size() != 1 || count < "1" || count > "6") return false;
  const strassen::Level* list = nullptr;
  if (!rest.empty()) {
    const auto& lists = strassen::levels();
    const auto found = std::find_if(lists.begin(), lists.end(),
                                    [name = next()](const strassen::Level* level) { return name == level->name; });
    if (found == lists.end()) return false;
    list = *found;
  }
  bool two_streams = !list || list == &strassen::fused() || list == &strassen::alternative(), at_all_levels = false;
  if (!rest.empty()) {
    const std::string_view streams = next();
    at_all_levels = streams == "all";
    if ((streams != "1" && streams != "2" && !at_all_levels) || !rest.empty()) return false;
    if (at_all_levels && !strassen::says_streams(*list)) return false;
    two_streams = streams != "1";
  }
  o.levels = count[0] - '0';
  o.level_list = list;
  o.two_streams = two_streams;
  o.at_all_levels = at_all_levels;
  return true;
}

/// "all", "4", "0,2"
bool parse_devices(Options& o, std::string_view value) {
  std::vector<int> named;
  int number = 0;
  if (value == "all") {
  } else if (value.find(',') == value.npos) {
    if (!read_number(value, number) || number <= 0) return false;
  } else {
    for (std::size_t from = 0; from <= value.size();) {
      const std::size_t to = std::min(value.find(',', from), value.size());
      if (!read_number(value.substr(from, to - from), number) || number < 0 ||
          std::find(named.begin(), named.end(), number) != named.end())
        return false;
      named.push_back(number);
      from = to + 1;
    }
    number = static_cast<int>(named.size());
  }
  o.devices = number;
  o.named_devices = std::move(named);
  return true;
}

/// "2:1024:0", "0:0:0:1": levels, their tiles' edge, head, residues or not
bool parse_cutting(Options& o, const char* value) {
  std::string_view rest = value;
  const auto next = [&rest](auto& number) {
    const std::string_view word = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(rest.size(), word.size() + 1));
    return read_number(word, number) && number >= 0;
  };
  Cutting cutting;
  if (!next(cutting.levels) || !next(cutting.tile) || !next(cutting.head)) return false;
  int residues = 0;
  if (!rest.empty() && (!next(residues) || residues > 1 || !rest.empty())) return false;
  cutting.residues = residues == 1;
  if (cutting.residues && (cutting.levels > 0 || cutting.head > 0)) return false;
  if (cutting.levels > strassen::deepest || cutting.tile % (index{1} << cutting.levels) != 0) return false;
  if ((cutting.levels > 0) != (cutting.tile > 0)) return false;
  return o.cutting = cutting, true;
}

/// "off", "all", "sample", "sample:100"
bool parse_verify(Options& o, const char* value) {
  constexpr std::uint32_t usual = 64;
  const std::string_view text = value;
  if (text == "off") return o.verify = 0, true;
  if (text == "all") return o.verify = 1, true;
  if (text == "sample") return o.verify = usual, true;
  std::uint32_t number = 0;
  if (!text.starts_with("sample:") || !read_number(text.substr(7), number) || number == 0) return false;
  return o.verify = number, true;
}

constexpr OptionInfo table[] = {
    {"BLASLIFT", "on, off", "on", "off passes every call through",
     [](Options& o, const char* v) { return parse_switch(o.on, v, "on", "off"); }},
    {"BLASLIFT_BACKEND", "auto, cuda, host", "auto",
     "auto: the GPU if one is usable, else calls pass through; host: the same plans on the CPU",
     [](Options& o, const char* v) {
       constexpr std::string_view names[] = {"auto", "cuda", "host"};
       for (int i = 0; i < 3; ++i)
         if (v == names[i]) return o.backend = static_cast<BackendChoice>(i), true;
       return false;
     }},
    {"BLASLIFT_START", "needed, early, or early:dgesv or early:dgesv,dgemm", "needed",
     "needed: the GPU is opened for calls that gain by it; early: as soon as the program has loaded a BLAS, beside "
     "whatever it does then, and made ready for these routines",
     [](Options&, const char* v) { return start_of(v).has_value(); }},
    {"BLASLIFT_FORCE", "all, or routines: dgemm,sgemm or gemm", "none", "route these whatever their size (for tests)",
     parse_force},
    {"BLASLIFT_LEVEL", "1, 2, 3, 4, 5", "3",
     "how eagerly calls go to the GPU: 1: those that gain half of their time; 3: those that gain, once its start-up is "
     "earned; 4: once a quarter of that is; 5: all large ones, but those that would take twice as long",
     [](Options& o, const char* v) {
       const bool good = v[0] >= '1' && v[0] <= '5' && v[1] == '\0';
       if (good) o.eagerness = v[0] - '0';
       return good;
     }},
    {"BLASLIFT_YIELD", "off, on", "off",
     "on: calls stay on the CPU while other processes keep the GPU busy, as NVIDIA's management library says",
     [](Options& o, const char* v) { return parse_switch(o.yields, v, "on", "off"); }},
    {"BLASLIFT_DECISION", "learned, fixed", "learned",
     "fixed: the route depends on the arguments and the profile alone, so the same input gives the same bits",
     [](Options& o, const char* v) { return parse_switch(o.fixed, v, "fixed", "learned"); }, true},
    {"BLASLIFT_RESIDENCY", "auto, off, always", "auto",
     "auto: reuse device copies of operands as long as the kernel shows them to be unchanged; always: keep every "
     "operand (for tests)",
     [](Options& o, const char* v) {
       constexpr std::string_view names[] = {"off", "auto", "always"};
       for (int i = 0; i < 3; ++i)
         if (v == names[i]) return o.residency = static_cast<ResidencyMode>(i), true;
       return false;
     },
     true},
    {"BLASLIFT_PRODUCTS", "auto, classical, levels, residues", "auto",
     "how large products are computed: auto: classically, by levels or by residues, as is estimated to be fastest; "
     "residues: by those wherever that can be (for tests)",
     [](Options& o, const char* v) {
       constexpr std::string_view names[] = {"auto", "classical", "levels", "residues"};
       for (int i = 0; i < 4; ++i)
         if (v == names[i]) return o.products = static_cast<Products>(i), true;
       return false;
     },
     true},
    {"BLASLIFT_STRASSEN", "auto, off, or 1 to 6[:list[:streams]]", "auto",
     "levels of Strassen's algorithm in large products: auto: the number estimated to be fastest, none without leaf "
     "rates in the profile; a number: that many wherever they fit, by a list of steps (default fused) in 1 or 2 "
     "streams, or all: its own two at all levels (for tests)",
     parse_levels, true},
    {"BLASLIFT_BATCH", "auto, systolic", "auto",
     "how the products of a batch are computed: auto: by cuBLAS, all at once; systolic: by systolic arrays where these "
     "can, for comparison (slower, and rounds in the order of k)",
     [](Options& o, const char* v) { return parse_switch(o.systolic, v, "systolic", "auto"); }, true},
    {"BLASLIFT_QR", "stream, bulk", "stream",
     "the first updates of a QR: stream: piece by piece as columns arrive; bulk: all columns on the right at once "
     "(rounds differently)",
     [](Options& o, const char* v) { return parse_switch(o.qr_stream, v, "stream", "bulk"); }, true},
    {"BLASLIFT_DEVICES", "all, a number, or a list: 0,2", "all",
     "devices that large products and triangular systems may be dealt out over: so many, or these alone of those that "
     "CUDA shows, the first of them for everything else",
     [](Options& o, const char* v) { return parse_devices(o, v); }, true},
    {"BLASLIFT_MEMORY", "bytes, or with K, M, G, T: 8G, 8GB, 8GiB",
     "four fifths of the card, shared among the node's ranks", "limit of device memory",
     [](Options& o, const char* v) { return parse_bytes(o.memory, v); }},
    {"BLASLIFT_REPORT", "off, stderr, or a path", "off",
     "summary at exit: as text on stderr, or as a line of JSON appended to a file",
     [](Options& o, const char* v) { return parse_text(o.report, v); }},
    {"BLASLIFT_TRACE", "a directory", "none",
     "each process records there when its large calls ran, and where, for blaslift report",
     [](Options& o, const char* v) { return parse_text(o.trace, v); }},
    {"BLASLIFT_FALLBACK", "a library's path", "found automatically",
     "BLAS/LAPACK for callers that have none of their own",
     [](Options& o, const char* v) { return parse_text(o.fallback, v); }},
    {"BLASLIFT_PROFILE", "a file of rates", "this device's in the XDG cache, or built-in rates",
     "rates that the cost model starts from", [](Options& o, const char* v) { return parse_text(o.profile, v); }},
    {"BLASLIFT_VERIFY", "off, sample[:N], all", "off",
     "repeat device calls with the library underneath and compare the results: sample: the first of every N (default "
     "64) of each routine and size; all: every one",
     parse_verify},
    {"BLASLIFT_VERIFY_ORACLE", "a library's path", "the library underneath",
     "compare with this BLAS instead, and also check calls that stay on the CPU",
     [](Options& o, const char* v) { return parse_text(o.oracle, v); }},
    {"BLASLIFT_VERIFY_DUMP", "a directory", "none", "keep the first wrong calls there, for blaslift replay",
     [](Options& o, const char* v) { return parse_text(o.verify_dump, v); }},
    {"BLASLIFT_INTERNAL_ESTIMATOR", "ours, thesis, otsuka", "ours",
     "for comparisons: what estimates the number of levels (the others know squares only)",
     [](Options& o, const char* v) {
       constexpr std::string_view names[] = {"ours", "thesis", "otsuka"};
       for (int i = 0; i < 3; ++i)
         if (v == names[i]) return o.estimator = static_cast<strassen::Model>(i), true;
       return false;
     },
     true},
    {"BLASLIFT_INTERNAL_COUNTERS", "a directory", "none", "set by blaslift run: counters in mapped files there",
     [](Options& o, const char* v) { return parse_text(o.counters, v); }},
    {"BLASLIFT_INTERNAL_CUTTING", "LEVELS:TILE:HEAD[:1]", "as is estimated to be fastest",
     "set by blaslift replay: how products are cut up, as one was that was kept", parse_cutting},
    {"BLASLIFT_INTERNAL_MEASURE", "on, off", "off", "set by blaslift measure: time every call, route none",
     [](Options& o, const char* v) { return parse_switch(o.measure, v, "on", "off"); }},
};

}  // namespace

std::optional<Start> start_of(const char* value) {
  constexpr std::string_view early = "early";
  std::string_view rest = value;
  if (rest == "needed") return Start{};
  if (rest == early) return Start{true, {}};
  if (!rest.starts_with("early:")) return {};
  rest.remove_prefix(early.size() + 1);
  Start start{true, {}};
  const std::string_view word = rest.substr(0, rest.find(':'));
  if (pid_t process = 0; read_number(word, process)) {
    if (process <= 0) return {};
    start.early = process == getpid();
    if (word.size() == rest.size()) return start;
    rest.remove_prefix(word.size() + 1);
  }
  const std::optional<Routines> named = routines_named(rest);
  if (!named || named->none()) return {};
  start.routines = *named;
  return start;
}

namespace {

/// Where the process is now: it may go elsewhere before the file is used.
void make_absolute(std::string& path) {
  if (path.empty() || path.front() == '/') return;
  char here[PATH_MAX];
  if (getcwd(here, sizeof here)) path = std::string(here) + "/" + path;
}

}  // namespace

std::span<const OptionInfo> option_table() { return table; }

bool is_internal(const OptionInfo& option) {
  return std::string_view(option.variable).starts_with("BLASLIFT_INTERNAL_");
}

Options read_options(char** environment, std::string& warnings) {
  Options options;
  for (char** entry = environment; entry && *entry; ++entry) {
    const char* equals = std::strchr(*entry, '=');
    if (!equals) continue;
    const std::string_view name(*entry, static_cast<std::size_t>(equals - *entry));
    if (!name.starts_with("BLASLIFT") || (name.size() > 8 && name[8] != '_')) continue;
    const OptionInfo* known = nullptr;
    for (const OptionInfo& o : table)
      if (name == o.variable) known = &o;
    if (!known)
      warnings += "blaslift: unknown variable " + shown(name) + " ignored\n";
    else if (!known->parse(options, equals + 1))
      warnings += "blaslift: " + shown(*entry) + " is not one of (" + known->values + "): ignored\n";
    else if (known->of_ways)
      // Which devices they are is of one machine: a record says how many.
      options.of_ways.emplace_back(
          known->variable, std::string_view(known->variable) == "BLASLIFT_DEVICES" && !options.named_devices.empty()
                               ? std::to_string(options.devices)
                               : std::string(equals + 1));
  }
  if (options.report != "off" && options.report != "stderr") make_absolute(options.report);
  make_absolute(options.verify_dump);
  make_absolute(options.counters);
  for (std::string* library : {&options.fallback, &options.oracle})  // a bare name is the loader's to find
    if (library->find('/') != library->npos) make_absolute(*library);
  return options;
}

}  // namespace blaslift
