#include "tools/cli/doctor/doctor.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <system_error>

#include "compat/objects.hpp"
#include "tools/cli/doctor/blas_names.hpp"
#include "tools/cli/doctor/elf_file.hpp"
#include "tools/cli/doctor/object_facts.hpp"
#include "tools/cli/launch/launch.hpp"
#include "tools/cli/launch/preload.hpp"
#include "tools/cli/launch/shell.hpp"
#include "tools/cli/parser/command.hpp"

namespace blaslift::cli {
namespace {

namespace fs = std::filesystem;
using Effect = Finding::Effect;

std::string basename_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

constexpr const char* run_it = "Run it: blaslift doctor --run, with its arguments, sees every call.";

// ---- running the loader and interpreters, for what only they know

/// What a command prints; empty if it cannot be run.  Without us in front: what is preloaded by a shell's environment
/// is no part of the program.
/// @param variable  added to its environment, as in NAME=value
std::string output_of(std::vector<std::string> command, const char* variable = nullptr) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return {};
  std::vector<char*> arguments;
  for (std::string& word : command) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  std::vector<char*> environment;
  if (variable) environment.push_back(const_cast<char*>(variable));
  std::string preload = "LD_PRELOAD=" + preload_without("libblaslift.so", std::getenv("LD_PRELOAD"));
  environment.push_back(preload.data());
  for (char** entry = environ; *entry; ++entry)
    if (!std::string_view(*entry).starts_with("LD_PRELOAD=")) environment.push_back(*entry);
  environment.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t pid = 0;
  const bool started = posix_spawn(&pid, arguments[0], &actions, nullptr, arguments.data(), environment.data()) == 0;
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string output;
  char buffer[4096];
  for (ssize_t count; (count = read(ends[0], buffer, sizeof buffer)) != 0;) {
    if (count < 0 && errno != EINTR) break;
    if (count > 0) output.append(buffer, static_cast<std::size_t>(count));
  }
  close(ends[0]);
  while (started && waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  return output;
}

struct Listing {
  std::vector<std::string> objects;  ///< in load order, without the object itself
  Names missing;
};

/// What the dynamic linker would load with an object, by its own word.
Listing listing_of(const std::string& loader, const std::string& object) {
  Listing listing;
  std::vector<std::string> all;  // a line that does not begin with a tab goes on with a path that has a newline in it
  std::istringstream output(output_of({loader, object}, "LD_TRACE_LOADED_OBJECTS=1"));
  for (std::string line; std::getline(output, line);)
    if (line.starts_with('\t') || all.empty())
      all.push_back(line);
    else
      all.back() += '\n' + line;
  for (const std::string& line : all) {
    const std::size_t begin = line.find_first_not_of(" \t"), arrow = line.find(" => "), end = line.rfind(" (0x");
    if (begin == line.npos) continue;
    if (line.ends_with("=> not found"))
      listing.missing.push_back(line.substr(begin, arrow - begin));
    else if (end != line.npos) {
      const std::size_t from = arrow == line.npos ? begin : arrow + 4;
      const std::string path = line.substr(from, end - from);
      if (path.find('/') != path.npos) listing.objects.push_back(path);  // not so the kernel's own
    }
  }
  return listing;
}

/// Whether the dynamic linker runs nothing of an object when it is asked what it would load with it.
bool may_be_listed(const std::string& object) {
  try {
    return !ElfFile(MappedFile(object)).is_audited();
  } catch (const std::system_error&) {
    return false;
  }
}

/// Adds what can be read of these files to `all`, each once.
void add_facts(const std::vector<std::string>& paths, std::vector<ObjectFacts>& all, std::set<std::string>& known) {
  for (const std::string& path : paths) {
    std::error_code error;
    if (const fs::path real = fs::canonical(path, error); error || !known.insert(real.string()).second) continue;
    try {
      ObjectFacts facts = facts_of(path);
      if (facts.loadable) all.push_back(std::move(facts));
    } catch (const std::system_error&) {
      // Gone or unreadable meanwhile.
    }
  }
}

/// The modules of NumPy and SciPy, as this Python finds them, that ask for BLAS; with what they bring.
void add_python(const std::string& python, const std::string& loader, std::vector<ObjectFacts>& all,
                std::set<std::string>& known, std::vector<Finding>& findings) {
  std::istringstream packages(output_of({python, "-c",
                                         "import importlib.util as u\n"
                                         "for n in ('numpy', 'scipy'):\n"
                                         "  s = u.find_spec(n)\n"
                                         "  if s and s.origin: print(s.origin)"}));
  bool some = false;
  for (std::string origin; std::getline(packages, origin);) {
    const fs::path package = fs::path(origin).parent_path();
    std::error_code error;
    for (fs::recursive_directory_iterator it(package, fs::directory_options::skip_permission_denied, error), end;
         !error && it != end; it.increment(error)) {
      const std::string path = it->path().string();
      if (!path.ends_with(".so")) continue;
      try {
        const ObjectFacts facts = facts_of(path);
        if (has_none(facts)) continue;
        some = true;
        Listing listing = may_be_listed(path) ? listing_of(loader, path) : Listing{};
        listing.objects.insert(listing.objects.begin(), path);
        add_facts(listing.objects, all, known);
      } catch (const std::system_error&) {
        continue;
      }
    }
  }
  findings.push_back({"python",
                      Effect::maybe,
                      python,
                      {},
                      some
                          ? "This Python was run to say where its NumPy and SciPy are, and these were looked at; other "
                            "modules show when it runs."
                          : "This Python was run to say where its NumPy and SciPy are: it has none that asks for BLAS; "
                            "other modules show when it runs.",
                      run_it});
}

// ---- the program: from what was typed to the file that the kernel runs

struct Executable {
  std::string path;
  int error = 0;
};

/// As execvp finds it.
Executable find_executable(const std::string& name) {
  const auto status_of = [](const std::string& path) {
    struct stat status {};
    if (stat(path.c_str(), &status) != 0) return errno;
    if (S_ISDIR(status.st_mode)) return EISDIR;
    return access(path.c_str(), X_OK) == 0 ? 0 : errno;
  };
  if (name.find('/') != name.npos) return {name, status_of(name)};
  const char* variable = std::getenv("PATH");
  std::istringstream folders(variable ? variable : "/usr/local/bin:/bin:/usr/bin");
  Executable found{name, ENOENT};
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string path = (folder.empty() ? "." : folder) + "/" + name;
    const int error = status_of(path);
    if (error == 0) return {path, 0};
    if (error != ENOENT && error != ENOTDIR && error != EISDIR) found = {path, error};
  }
  return found;
}

/// The interpreter of a script's first line: with /usr/bin/env, what env would run.
std::string interpreter_of(std::string_view line) {
  line = line.substr(0, std::min(line.find('\n'), std::size_t{255}));
  std::istringstream words{std::string(line.substr(2))};
  std::string word;
  words >> word;
  if (basename_of(word) != "env") return word;
  std::string next;
  while (words >> next)
    if (!next.starts_with('-') && next.find('=') == next.npos) return next;
  return word;
}

bool is_secure(const std::string& path, std::string& why, std::string& who) {
  struct stat status {};
  struct statvfs system {};
  if (stat(path.c_str(), &status) != 0) return false;
  const bool powerless = (statvfs(path.c_str(), &system) == 0 && (system.f_flag & ST_NOSUID)) ||
                         prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1;
  const bool of_user = status.st_mode & S_ISUID, of_group = (status.st_mode & S_ISGID) && (status.st_mode & S_IXGRP);
  const bool capable = getxattr(path.c_str(), "security.capability", nullptr, 0) > 0;
  why = of_user ? "it is setuid" : of_group ? "it is setgid" : capable ? "it has file capabilities" : "";
  who =
      powerless ? "on this file system, or for this process, that has no effect" : "for this user that changes nothing";
  return !powerless && ((of_user && status.st_uid != getuid()) || (of_group && status.st_gid != getgid()) ||
                        (capable && getuid() != 0));
}

/// Follows the command to an ELF file, noting what is on the way; null if it ends in a verdict.
class Examiner {
 public:
  explicit Examiner(Diagnosis& diagnosis) : d_(diagnosis) {}

  /// @return whether the program can be started
  bool follow(const std::string& name) {
    std::string next = name;
    constexpr int deepest = 5;  // the kernel's own limit
    for (int depth = 0; depth <= deepest; ++depth) {
      const Executable found = find_executable(next);
      d_.path = found.path;
      if (found.error) {
        const bool absent = found.error == ENOENT || found.error == ENOTDIR;
        d_.verdict = absent ? Verdict::not_found : Verdict::not_executable;
        add(absent ? "not-found" : "not-executable", Effect::fatal,
            found.path + ": " + std::strerror(found.error) + ".");
        return false;
      }
      std::string_view bytes;
      std::optional<MappedFile> file;
      try {
        file.emplace(found.path);
        bytes = file->bytes();
      } catch (const std::system_error& error) {
        add("unreadable", Effect::maybe, std::string("It cannot be read: ") + error.code().message() + ".", run_it);
        return true;
      }
      const bool script = bytes.starts_with("#!");
      if (!script && bytes.starts_with(ELFMAG)) {
        elf_.emplace(std::move(*file));
        return true;
      }
      if (!script && bytes.substr(0, 256).find('\0') != bytes.npos) {
        d_.verdict = Verdict::not_executable;
        add("not-executable", Effect::fatal, "It is neither an ELF program nor a script.");
        return false;
      }
      next = script ? interpreter_of(bytes) : "/bin/sh";
      add("script", Effect::note, "It is a script for " + next + ".");
    }
    d_.verdict = Verdict::not_executable;
    add("not-executable", Effect::fatal,
        "Its interpreters are scripts whose interpreters are scripts again, without end.");
    return false;
  }

  /// What holds of the process whatever the program is made of.
  void look_at_process() {
    if (const char* on = std::getenv("BLASLIFT"); on && !std::strcmp(on, "off"))
      add("switched-off", Effect::fatal, "BLASLIFT=off is set: every call is passed through.", "Unset BLASLIFT.");
    std::string why, who;
    if (is_secure(d_.path, why, who))
      add("secure", Effect::fatal, "The dynamic linker ignores LD_PRELOAD here, because " + why + ".",
          "Run a copy of it (cp drops what makes it so). Linked with -lblaslift it works, but stays on the CPU.");
    else if (!why.empty())
      add("secure", Effect::note, "Where " + why + ", the dynamic linker ignores LD_PRELOAD; " + who + ".");
  }

  /// Limits of the process, which its children inherit, and what is ours.
  void look_at_limits() {
    rlimit limit{};
    constexpr rlim_t for_files = 1 << 18, for_device = rlim_t{1} << 35;
    const auto is_below = [&limit](auto resource, rlim_t bytes) {
      return getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < bytes;
    };
    if (is_below(RLIMIT_FSIZE, for_files))
      add("file-size-limit", Effect::note,
          "Files may not be longer than " + std::to_string(limit.rlim_cur) +
              " bytes (ulimit -f): calls are not counted under blaslift run, and there are no traces.");
    if (is_below(RLIMIT_AS, for_device))
      add("address-space-limit", Effect::note,
          "The address space is limited to " + std::to_string(limit.rlim_cur >> 20) +
              " MB (ulimit -v), which may be too little for CUDA to open a GPU: then calls stay on the CPU.");
    try {
      (void)preload_name(library_directory(), "libblaslift.so");
    } catch (const std::exception& error) {
      add("odd-path", Effect::fatal, std::string(error.what()) + ".", "Install blaslift below another directory.");
    }
    remove_preload_links();
  }

  /// What the file says by itself; whether its libraries are worth a look.
  bool look_at_file() {
    if (!elf_) return false;
    switch (elf_->kind()) {
      case ElfFile::Kind::foreign:
        add("architecture", Effect::fatal,
            "It is a program for " + elf_->machine() +
                "; blaslift is for 64-bit x86-64, and is not loaded into others.",
            "A build for x86-64 is needed.");
        return false;
      case ElfFile::Kind::static_program:
        add("static-program", Effect::fatal,
            "It is linked statically: without a dynamic linker, nothing can be preloaded.",
            "Link it dynamically (without -static), with a shared BLAS.");
        return false;
      case ElfFile::Kind::other:
      case ElfFile::Kind::library:
        d_.verdict = Verdict::not_executable;
        add("not-executable", Effect::fatal, "It is a library, or broken, and not a program.");
        return false;
      case ElfFile::Kind::program: break;
    }
    loader_ = ElfFile(MappedFile("/proc/self/exe")).interpreter();
    std::error_code error;
    const bool same = fs::equivalent(loader_, elf_->interpreter(), error);
    if (same && !error) return true;
    if (elf_->interpreter().find("musl") != std::string::npos)
      add("other-loader", Effect::fatal, "It is made for musl; blaslift needs the GNU C library.",
          "A build for the GNU C library is needed.");
    else
      add("other-loader", Effect::maybe,
          "It has a dynamic linker of its own, " + elf_->interpreter() + ", whose libraries are not looked at.",
          run_it);
    return false;
  }

  const std::string& loader() const { return loader_; }

  void add(const char* kind, Effect effect, std::string what, std::string advice = "") {
    d_.findings.push_back({kind, effect, d_.path, {}, std::move(what), std::move(advice)});
  }

 private:
  Diagnosis& d_;
  std::optional<ElfFile> elf_;
  std::string loader_;
};

bool begins_with_any(const std::string& text, std::initializer_list<const char*> beginnings) {
  return std::ranges::any_of(beginnings, [&](const char* each) { return text.starts_with(each); });
}

/// What Julia does.  LBT_DEFAULT_LIBS would not help: LinearAlgebra replaces what it names, and blaslift alone has no
/// isamax, by which a library's suffix and integers are told.
Finding through_trampoline(const std::string& object, Names names) {
  return {"julia",
          Effect::bad,
          object,
          std::move(names),
          "Julia's libblastrampoline takes the addresses of its BLAS from the library's own handle, without asking the "
          "dynamic linker for names.",
          "In ~/.julia/config/startup.jl have them replaced: using LinearAlgebra, Libdl; let lift = dlopen(\"" +
              library_directory() +
              "/libblaslift.so\"); for f in BLAS.get_config().exported_symbols; a = dlsym(lift, f * \"64_\"; "
              "throw_error = false); a === nothing || BLAS.lbt_set_forward(f, a, :ilp64); end; end"};
}

bool is_trampoline(const std::string& path) { return begins_with_any(basename_of(path), {"libblastrampoline"}); }

/// Programs known for what they do later.
void look_at_name(const std::string& program, const std::vector<ObjectFacts>& all, std::vector<Finding>& findings) {
  const std::string name = basename_of(program);
  const auto is_one_of = [&](std::initializer_list<const char*> names) {
    return std::ranges::find(names, name) != names.end();
  };
  if (begins_with_any(name, {"julia"}) ||
      std::ranges::any_of(all, [](const ObjectFacts& f) { return begins_with_any(basename_of(f.path), {"libjulia"}); }))
    findings.push_back(through_trampoline(program, {}));
  else if (is_one_of({"sh", "bash", "dash", "zsh", "ksh", "csh", "tcsh", "fish"}))
    findings.push_back({"shell",
                        Effect::maybe,
                        program,
                        {},
                        "What a shell starts shows when it runs; programs that it starts inherit what is preloaded.",
                        run_it});
  else if (const bool front = is_one_of({"Rscript", "octave"});
           front || is_one_of({"mpirun", "mpiexec", "mpiexec.hydra", "orterun", "prterun", "srun", "aprun", "jsrun",
                               "env", "nice", "nohup", "time", "timeout", "taskset", "numactl", "stdbuf", "setsid"}))
    findings.push_back({"launcher",
                        Effect::maybe,
                        program,
                        {},
                        "It starts another program, which was not looked at.",
                        front ? run_it : "Ask about that program itself: blaslift doctor, then its name."});
  else if (std::ranges::any_of(all, [](const ObjectFacts& f) { return f.opens && !f.blas && !f.ours; }))
    findings.push_back({"opens-libraries",
                        Effect::maybe,
                        program,
                        {},
                        "It may open libraries while it runs (dlopen), which do not show before. They are intercepted, "
                        "unless they are opened with RTLD_DEEPBIND or dlmopen, or asked for functions by dlsym.",
                        run_it});
}

Verdict verdict_of(const std::vector<Finding>& findings) {
  const auto has = [&](Effect effect) {
    return std::ranges::any_of(findings, [&](const Finding& f) { return f.effect == effect; });
  };
  if (has(Effect::fatal)) return Verdict::not_intercepted;
  if (has(Effect::good)) return has(Effect::bad) ? Verdict::partly : Verdict::intercepted;
  if (has(Effect::bad)) return Verdict::not_intercepted;
  return has(Effect::maybe) ? Verdict::unclear : Verdict::no_blas;
}

// ---- the run

/// What the dynamic linker told of one program (tools/preload/doctor/audit.cpp).
struct Told {
  struct Binding {
    std::string symbol, asked, found;
    bool by_dlsym;
    auto operator<=>(const Binding&) const = default;
  };
  std::vector<std::string> objects;  ///< in load order
  std::set<std::string> apart;       ///< of them, those in a namespace of their own
  std::set<Binding> bindings;
};

/// As audit.cpp's Line wrote it.
std::string unescaped(const std::string& field) {
  std::string text;
  for (std::size_t i = 0; i < field.size(); ++i)
    if (field[i] == '\\' && i + 1 < field.size())
      text += field[++i] == 't' ? '\t' : field[i] == 'n' ? '\n' : field[i];
    else
      text += field[i];
  return text;
}

std::map<std::string, Told> read_bindings(const std::string& text) {
  std::map<std::string, Told> programs;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::vector<std::string> fields;
    std::istringstream words(line);
    for (std::string word; std::getline(words, word, '\t');) fields.push_back(unescaped(word));
    if (fields.size() == 4 && fields[0] == "open") {
      Told& told = programs[fields[1]];
      if (std::ranges::find(told.objects, fields[3]) == told.objects.end()) told.objects.push_back(fields[3]);
      if (fields[2] != "0") told.apart.insert(fields[3]);
    } else if (fields.size() == 6 && fields[0] == "bind") {
      programs[fields[1]].bindings.insert({fields[2], fields[4], fields[5], fields[3] == "1"});
    }
  }
  return programs;
}

/// Bindings of intercepted names: those that came to us, and the others with the reason why they did not.
void look_at_bindings(const Told& told, std::vector<Finding>& findings) {
  std::map<std::string, Names> to_us;
  std::set<std::string> names_to_us;
  for (const Told::Binding& b : told.bindings)
    if (named_as_ours(b.found.c_str())) names_to_us.insert(b.symbol);
  Names around_us;
  std::string trampoline;
  std::map<std::pair<std::string, std::string>, Names> by_handle, apart, deep;
  for (const Told::Binding& b : told.bindings) {
    if (kind_of_name(b.symbol) != NameKind::intercepted || named_as_ours(b.asked.c_str())) continue;
    if (named_as_ours(b.found.c_str())) {
      to_us[b.asked].push_back(b.symbol);
      continue;
    }
    if (is_trampoline(b.found)) continue;  // whoever asked: what it leads to counts
    if (b.by_dlsym && is_trampoline(b.asked)) {
      trampoline = b.asked;
      // Its table has one address for each name, and ours is put there over the one that came with the BLAS.
      if (!names_to_us.contains(b.symbol)) around_us.push_back(b.symbol);
      continue;
    }
    auto& kind = told.apart.contains(b.asked) ? apart : b.by_dlsym ? by_handle : deep;
    kind[{b.asked, b.found}].push_back(b.symbol);
  }
  for (const auto& [asked, names] : to_us)
    findings.push_back({"bound", Effect::note, asked, names,
                        "The dynamic linker was asked for these names, and gave blaslift's.", ""});
  if (!around_us.empty()) findings.push_back(through_trampoline(trampoline, around_us));
  const auto past_us = [&](const auto& kind, const char* name, const std::string& how, const char* advice) {
    for (const auto& [objects, names] : kind)
      findings.push_back({name, is_named_like_blas(objects.first) ? Effect::note : Effect::bad, objects.first, names,
                          "These names were got from " + objects.second + ", " + how, advice});
  };
  past_us(by_handle, "own-handle", "asking that library's own handle (dlsym).",
          "Such a program may have a setting that names its BLAS: give it the libblas.so.3 of the package "
          "blaslift-alternative, which has all the others' functions, too.");
  past_us(apart, "other-namespace", "in a namespace of its own (dlmopen), which nothing is preloaded into.", "");
  past_us(deep, "deepbind",
          "though blaslift comes first: it was opened with RTLD_DEEPBIND, or the program itself has them.",
          "For Python: no RTLD_DEEPBIND in sys.setdlopenflags.");
}

}  // namespace

Diagnosis diagnose(const std::vector<std::string>& command, bool asks_python) {
  Diagnosis d{.program = command.front()};
  Examiner examiner(d);
  if (!examiner.follow(d.program)) return d;
  examiner.look_at_process();
  examiner.look_at_limits();
  if (examiner.look_at_file()) {
    if (!may_be_listed(d.path)) {
      examiner.add("audited", Effect::maybe,
                   "It asks the dynamic linker to load auditors (DT_AUDIT), whose code would run to have its libraries "
                   "listed, or it is not put together as linkers do: they were not looked at.",
                   run_it);
      d.verdict = Verdict::unclear;
      return d;
    }
    const Listing listing = listing_of(examiner.loader(), d.path);
    std::vector<ObjectFacts> all;
    std::set<std::string> known;
    add_facts({d.path}, all, known);
    add_facts(listing.objects, all, known);
    if (!listing.missing.empty()) {
      d.findings.push_back({"missing-library", Effect::fatal, d.path, listing.missing,
                            "It cannot start, for these libraries are not found.",
                            "Install them, or name their directories in LD_LIBRARY_PATH."});
      d.verdict = Verdict::not_executable;
      return d;
    }
    if (all.empty()) throw std::runtime_error(d.path + " has changed meanwhile");
    if (!begins_with_any(basename_of(d.path), {"python", "pypy"}))
      look_at_name(d.path, all, d.findings);
    else if (asks_python)
      add_python(d.path, examiner.loader(), all, known, d.findings);
    else
      examiner.add(
          "python", Effect::maybe,
          "Its imports show only when it runs. It was not asked where its NumPy and SciPy are, since that runs it.",
          "If you trust it: blaslift doctor --ask-python asks it, and looks at these. Or run it: blaslift doctor "
          "--run, "
          "with its arguments, sees every call.");
    look_at_objects(all, d.findings);
    look_at_others(all, d.findings);
  }
  if (d.verdict == Verdict::unclear) d.verdict = verdict_of(d.findings);
  return d;
}

Diagnosis diagnose_by_running(const std::vector<std::string>& command,
                              const std::map<std::string, std::string>& variables) {
  Diagnosis d{.program = command.front()};
  Examiner examiner(d);
  if (!examiner.follow(d.program)) return d;
  examiner.look_at_process();
  examiner.look_at_limits();
  examiner.look_at_file();
  auto with_audit = variables;
  const char* audits = std::getenv("LD_AUDIT");
  with_audit["LD_AUDIT"] = preload_name(library_directory(), "libblaslift_doctor.so") +  // parted by colons, too
                           (audits && *audits ? std::string(":") + audits : "");
  Finished finished{};
  try {
    finished = launch("libblaslift.so", command, with_audit);
  } catch (const Ends& ends) {
    d.verdict = ends.status == 127 ? Verdict::not_found : Verdict::not_executable;
    return d;
  }
  d.ran = true;
  d.summary = finished.summary;

  const auto programs = read_bindings(finished.bindings);
  const auto& lost = d.summary.uncounted;
  for (const std::string& what : lost)
    examiner.add("uncounted", Effect::maybe, static_cast<char>(std::toupper(what.front())) + what.substr(1) + ".");
  if (programs.empty() && lost.empty() && d.summary.calls() == 0)
    examiner.add("not-preloaded", Effect::fatal,
                 "It ran, and the dynamic linker did not load what was preloaded into it.");
  for (const auto& [program, told] : programs) {
    std::vector<ObjectFacts> all;
    std::set<std::string> known;
    std::vector<std::string> objects = told.objects;
    std::erase_if(objects, [&](const std::string& path) { return named_as_ours(path.c_str()); });
    add_facts({program}, all, known);
    add_facts(objects, all, known);
    if (all.empty()) continue;
    std::vector<Finding> found;
    look_at_objects(all, found);
    // What was bound says it better.
    std::erase_if(found, [](const Finding& f) { return f.effect == Effect::good || f.effect == Effect::note; });
    look_at_bindings(told, found);
    d.findings.insert(d.findings.end(), found.begin(), found.end());
  }
  if (WIFSIGNALED(finished.wait_status))
    examiner.add("killed", Effect::maybe,
                 "It was ended by signal " + std::to_string(WTERMSIG(finished.wait_status)) +
                     ": what it would have called later does not show.");
  else if (const int status = WEXITSTATUS(finished.wait_status))
    examiner.add("failed", Effect::note, "It ended with exit status " + std::to_string(status) + ".");
  Names called;
  for (int r = 0; r < routine_count; ++r)
    if (const auto calls = d.summary.routines[static_cast<std::size_t>(r)].calls())
      called.push_back(std::to_string(calls) + (calls == 1 ? " call of " : " calls of ") + routine_names[r]);
  if (!called.empty())
    examiner.add("called", Effect::good, "In this run, calls came to blaslift.");
  else if (lost.empty())
    examiner.add("not-called", Effect::note, "In this run, no call came to blaslift.");
  if (!called.empty()) d.findings.back().names = called;
  d.verdict = verdict_of(d.findings);
  return d;
}

}  // namespace blaslift::cli
