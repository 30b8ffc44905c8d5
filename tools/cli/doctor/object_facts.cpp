#include "tools/cli/doctor/object_facts.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string_view>
#include <utility>

#include "compat/objects.hpp"
#include "compat/symbols.hpp"
#include "tools/cli/doctor/blas_names.hpp"
#include "tools/cli/doctor/elf_file.hpp"

namespace blaslift::cli {
namespace {

using Effect = Finding::Effect;

constexpr const char* relink =
    "Link it again, -lblaslift before a shared BLAS instead of the static one; or ask whoever built it for a build "
    "with a shared BLAS.";

/// Whether another object asks for one of these functions of this library's.
bool is_asked_by_others(const std::vector<ObjectFacts>& all, const ObjectFacts& library, const std::string& name) {
  return library.exported.contains(name) && std::ranges::any_of(all, [&](const ObjectFacts& other) {
           return &other != &library && std::ranges::find(other.through_linker, name) != other.through_linker.end();
         });
}

}  // namespace

namespace {

/// The sanitizer that a function belongs to: every object built with one has the function that starts it, or asks for
/// it.
const char* sanitizer_of(std::string_view name) {
  for (const auto& [start, sanitizer] : {std::pair{"__asan_init", "AddressSanitizer"},
                                         {"__tsan_init", "ThreadSanitizer"},
                                         {"__msan_init", "MemorySanitizer"},
                                         {"__hwasan_init", "HWAddressSanitizer"},
                                         {"__ubsan_handle_", "UndefinedBehaviorSanitizer"}})
    if (name.starts_with(start)) return sanitizer;
  return nullptr;
}

/// Where a switch between BLAS libraries is one by its name.
bool is_switch(const std::string& path) {
  return std::string_view(path).substr(path.rfind('/') + 1).starts_with("libflexiblas");
}

}  // namespace

ObjectFacts facts_of(const std::string& path) {
  ObjectFacts facts{.path = std::filesystem::path(path).lexically_normal().string()};
  const ElfFile file{MappedFile(path)};
  facts.loadable = file.kind() == ElfFile::Kind::program || file.kind() == ElfFile::Kind::library;
  facts.ours = named_as_ours(path.c_str());
  facts.blas = is_named_like_blas(file.soname().empty() ? path : file.soname()) || is_named_like_blas(path);
  struct Uses {
    bool defined = false, asked = false, is_protected = false;
  };
  std::map<std::string, Uses> intercepted;
  std::set<std::string> respelled, others;
  for (const ElfFile::Symbol& s : file.symbols()) {
    if (!s.defined && (s.name == "dlopen" || s.name == "dlmopen")) facts.opens = true;
    if (!s.defined && (s.name == "dlsym" || s.name == "dlvsym")) facts.by_name = true;
    if (const char* sanitizer = sanitizer_of(s.name);
        sanitizer && (facts.sanitizer.empty() || !s.name.starts_with("__ubsan")))
      facts.sanitizer = sanitizer;
    switch (kind_of_name(s.name)) {
      case NameKind::intercepted: {
        Uses& uses = intercepted[std::string(s.name)];
        uses.defined |= s.defined;
        if (!s.version.empty()) facts.versioned.push_back(std::string(s.name) + "@" + std::string(s.version));
        uses.asked |= !s.defined || (s.exported && s.relocated && !s.is_protected);
        uses.is_protected |= s.is_protected;
        if (s.defined && s.exported) facts.exported.emplace(s.name);
        break;
      }
      case NameKind::respelled:
        if (!s.defined) respelled.emplace(s.name);
        break;
      case NameKind::other:
        if (!s.defined) others.emplace(s.name);
        break;
      case NameKind::none: break;
    }
  }
  // Who asks for a routine by one name and has it by another has wrappers around it.
  std::set<Routine> asked;
  for (const SymbolInfo& symbol : symbol_table)
    if (const auto found = intercepted.find(symbol.name);
        found != intercepted.end() && found->second.asked && !found->second.defined)
      asked.insert(symbol.routine);
  for (const SymbolInfo& symbol : symbol_table)
    if (const auto found = intercepted.find(symbol.name);
        found != intercepted.end() && found->second.defined && asked.contains(symbol.routine))
      intercepted.erase(found);
  // A program's own functions, and with -Bsymbolic a library's, are what it gets, whatever it asks.
  const bool own_first = file.kind() != ElfFile::Kind::library || file.binds_itself();
  for (const auto& [name, uses] : intercepted) {
    (uses.asked && !(uses.defined && own_first) ? facts.through_linker : facts.inside).push_back(name);
    if (uses.defined) facts.is_protected |= uses.is_protected;
  }
  facts.symbolic = file.binds_itself();
  facts.respelled.assign(respelled.begin(), respelled.end());
  facts.others.assign(others.begin(), others.end());
  // The reference's, OpenBLAS's and BLIS's words, and MKL's.
  facts.speaks = intercepted.empty() && others.empty() && file.is_stripped() &&
                 ((file.contains("** On entry to ") && file.contains("parameter number")) ||
                  file.contains("MKL ERROR: Parameter"));
  if (facts.by_name && intercepted.empty() && respelled.empty() && others.empty() && !facts.blas && !facts.ours)
    for (const char* name : {"dgemm_", "sgemm_", "zgemm_", "cblas_dgemm", "cblas_sgemm", "dgeqrf_", "dsyrk_"})
      if (file.contains(std::string_view(name, std::char_traits<char>::length(name) + 1)))
        facts.spelled.emplace_back(name);
  return facts;
}

bool has_none(const ObjectFacts& f) { return f.through_linker.empty() && f.inside.empty() && f.respelled.empty(); }

/// @param ours  its place in the dynamic linker's order
void look_at_relinked(const std::vector<ObjectFacts>& all, std::size_t ours, std::vector<Finding>& findings) {
  const auto is_blas = [](const ObjectFacts& f) { return f.blas && !f.ours; };
  const auto asks = [](const ObjectFacts& f) { return !f.blas && !f.ours && !f.through_linker.empty(); };
  // blaslift as the system's libblas.so.3 comes before libblaslift.so and has none of these names.
  const auto takes_calls = [&](const ObjectFacts& f) { return is_blas(f) && !f.exported.empty(); };
  const auto end = all.begin() + static_cast<std::ptrdiff_t>(ours), first = std::find_if(all.begin(), end, takes_calls);
  if (first != end)
    findings.push_back({Finding::relinked_behind,
                        Effect::note,
                        first->path,
                        {},
                        "It is linked with blaslift, but this BLAS comes first: its calls reach blaslift only when "
                        "blaslift is preloaded.",
                        "Link it with -lblaslift before every other BLAS and LAPACK."});
  else if (std::ranges::none_of(all, is_blas) && std::ranges::any_of(all, asks) && !std::getenv("BLASLIFT_FALLBACK"))
    findings.push_back(
        {"no-blas-underneath",
         Effect::note,
         all[ours].path,
         {},
         "It is linked with blaslift, but with no BLAS underneath: what stays on the CPU is computed by the "
         "system's libblas.so.3 and liblapack.so.3 or, without them, by slow loops of blaslift's own.",
         "Link it again with -Wl,--no-as-needed before -lblaslift -llapack -lblas; or name a BLAS in "
         "BLASLIFT_FALLBACK."});
  else
    findings.push_back({"relinked", Effect::note, all[ours].path, {}, "It is linked with blaslift.", ""});
}

void look_at_objects(std::vector<ObjectFacts> all, std::vector<Finding>& findings) {
  const auto add = [&](const char* kind, Effect effect, const ObjectFacts& of, Names names, std::string what,
                       const char* advice = "") {
    if (!names.empty()) findings.push_back({kind, effect, of.path, std::move(names), std::move(what), advice});
  };
  std::set<std::string> provided;
  bool relinked = false;
  for (const ObjectFacts& f : all) {
    relinked |= f.ours;
    if (!f.ours) provided.insert(f.exported.begin(), f.exported.end());
  }
  const bool by_itself = !relinked && !std::getenv("BLASLIFT_FALLBACK");
  const std::set<std::string> of_program = all.front().blas ? std::set<std::string>() : all.front().exported;
  for (std::size_t i = 0; i < all.size(); ++i) {
    ObjectFacts& f = all[i];
    const bool is_program = i == 0 && !f.blas;
    if (f.ours) {
      if (f.path.ends_with("/libblaslift.so")) look_at_relinked(all, i, findings);
      continue;
    }
    if (!is_program) {
      Names taken;
      for (const std::string& name : f.through_linker)
        if (of_program.contains(name)) taken.push_back(name);
      if (all.front().by_name) taken.clear();  // own-wrapper says it
      std::erase_if(f.through_linker, [&](const std::string& name) { return of_program.contains(name); });
      add("taken-by-program", Effect::bad, f, taken,
          "The dynamic linker is asked for these names, and gives the program's own, which come before all that is "
          "preloaded.",
          relink);
    }
    if (is_switch(f.path))
      findings.push_back({"switch",
                          Effect::note,
                          f.path,
                          {},
                          "This is a switch between BLAS libraries: a preloaded library comes before it, and calls "
                          "that stay on the CPU reach the library that it is set to.",
                          "Preload blaslift, or set the libblas.so.3 of the package blaslift-alternative as its "
                          "library: not both."});
    if (f.blas) {
      add("linked-inside-blas", Effect::note, f, f.through_linker,
          "BLAS and LAPACK call these themselves through the dynamic linker, which finds blaslift's.");
      if (!f.inside.empty())
        findings.push_back(
            {"inside-blas",
             Effect::note,
             f.path,
             {},
             "What BLAS and LAPACK call inside themselves does not pass the dynamic linker: a product in "
             "LU, for instance.",
             ""});
      continue;
    }
    if (!f.sanitizer.empty() && is_program) {
      const bool address = f.sanitizer == "AddressSanitizer", memory = f.sanitizer == "MemorySanitizer";
      findings.push_back(
          {"sanitizer",
           Effect::note,
           f.path,
           {},
           "It is built with " + f.sanitizer +
               (address ? ", whose runtime has to come first: blaslift run and the other commands see to that."
                : memory
                    ? ", which reports errors in libraries built without it, as blaslift and nearly every BLAS are."
                    : ", which does not look into blaslift."),
           address  ? "Where LD_PRELOAD is set by hand, name the runtime in front: LD_PRELOAD=$(cc "
                      "-print-file-name=libasan.so):/path/to/libblaslift.so."
           : memory ? "Use AddressSanitizer, or Valgrind, where a BLAS is in the program."
                    : ""});
    }
    add("symbol-version", Effect::note, f, f.versioned,
        "These names are asked for by version: calls that stay on the CPU go on to a function of that version.");
    add("asks-by-name", Effect::maybe, f, f.spelled,
        "These names stand in its text, and it asks for functions by name (dlsym): while blaslift is preloaded it "
        "finds "
        "blaslift's, also where there is no other BLAS.",
        "Run it: blaslift doctor --run, with its arguments, sees every call.");
    if (by_itself) {
      Names optional;
      for (const std::string& name : f.through_linker)
        if (!provided.contains(name)) optional.push_back(name);
      std::erase_if(f.through_linker, [&](const std::string& name) { return !provided.contains(name); });
      add("optional-blas", Effect::maybe, f, optional,
          "None of its libraries has these names, and without blaslift it runs without them. With blaslift preloaded "
          "they exist, with no BLAS underneath unless one is opened later.",
          "Name one for it: BLASLIFT_FALLBACK=libblas.so.3, or LD_PRELOAD a BLAS, too.");
    }
    add("linked", Effect::good, f, f.through_linker,
        "The dynamic linker is asked for these names, and finds blaslift's.",
        relinked ? "" : "So it does where blaslift is preloaded: start the program with blaslift run.");
    if (!is_program) std::erase_if(f.inside, [&](const std::string& name) { return is_asked_by_others(all, f, name); });
    if (is_program && f.by_name) {  // dlsym(RTLD_NEXT, ...) from a function of its own leads to us
      Names wrapped;
      for (const std::string& name : f.inside)
        if (f.exported.contains(name)) wrapped.push_back(name);
      std::erase_if(f.inside, [&](const std::string& name) { return f.exported.contains(name); });
      add("own-wrapper", Effect::maybe, f, wrapped,
          "The program has these functions itself and asks for functions by name (dlsym): if they are wrappers that go "
          "on by RTLD_NEXT, they go on to blaslift.",
          "Run it: blaslift doctor --run, with its arguments, sees every call.");
    }
    if (is_program)
      add("static-blas", Effect::bad, f, f.inside,
          "BLAS is linked into the program itself, which calls its own functions without the dynamic linker.", relink);
    else
      add("embedded-blas", Effect::bad, f, f.inside,
          std::string("A library has a BLAS of its own inside, and calls it without the dynamic linker") +
              (f.symbolic       ? ": it is linked with -Bsymbolic."
               : f.is_protected ? ": its symbols are protected."
                                : ": hidden symbols, or bound when it was linked (-Bsymbolic-functions)."),
          "A build of this library with a shared BLAS is needed.");
    add("respelled", Effect::bad, f, f.respelled, "Routines are called by names that blaslift does not have.",
        "Compile it so that it calls dgemm_, dgemm_64_, cblas_dgemm or cblas_dgemm64_ (in C with MKL: dgemm_, "
        "not dgemm or DGEMM).");
    if (has_none(f) && f.speaks)
      findings.push_back({"likely-static",
                          is_program ? Effect::bad : Effect::maybe,
                          f.path,
                          {},
                          "This file has the text of BLAS's error message, imports no BLAS and names no functions "
                          "(stripped): a BLAS is probably linked into it.",
                          relink});
  }
}

void look_at_others(const std::vector<ObjectFacts>& all, std::vector<Finding>& findings) {
  const bool some = std::ranges::any_of(findings, [](const Finding& f) { return f.effect != Effect::note; });
  if (some) return;
  const bool inside =
      std::ranges::any_of(all, [](const ObjectFacts& f) { return f.blas && !f.through_linker.empty(); });
  for (const ObjectFacts& f : all)
    if (!f.blas && !f.ours && !f.others.empty())
      findings.push_back({"others-only", inside ? Effect::maybe : Effect::note, f.path, f.others,
                          inside ? "None of the routines that blaslift intercepts are called, except perhaps by LAPACK "
                                   "itself, for the products in a factorisation."
                                 : "BLAS and LAPACK are called, but none of the routines that blaslift intercepts.",
                          "blaslift measure says what is called, and where the time goes."});
}

}  // namespace blaslift::cli
