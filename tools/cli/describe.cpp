#include "tools/cli/describe.hpp"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <set>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "compat/symbols.hpp"
#include "impl/core/options.hpp"
#include "tools/cli/parser/variables.hpp"

namespace blaslift::cli {
namespace {

enum class Path { none, file, directory };

struct ShownOption {
  Words names;  ///< with their dashes
  bool takes_value;
  Words values;  ///< words that it may be, if they can be listed
  Path path;     ///< or one of these
  std::string value, help;
};

struct ShownCommand {
  std::string name;  ///< empty for blaslift itself
  std::string help;
  std::vector<ShownOption> options;
  Words commands;  ///< below it
  Words words;     ///< what may follow that is neither option nor command
  Path path;       ///< or one of these
  Program program;
};

ShownOption shown_option(const OptionFacts& facts) {
  ShownOption option{
      .names = facts.names, .takes_value = !facts.value.empty(), .value = facts.value, .help = facts.help};
  std::istringstream words(facts.value);
  const bool listed = facts.value.find('|') != std::string::npos;
  for (std::string word; std::getline(words, word, '|');)
    if (word == "FILE")
      option.path = Path::file;
    else if (word == "DIR")
      option.path = Path::directory;
    else if (listed && word != "VALUE")
      option.values.push_back(word);
  return option;
}

std::vector<ShownCommand> commands_of(const Command& blaslift) {
  std::vector<ShownCommand> all;
  for (const CommandFacts& facts : blaslift.facts()) {
    ShownCommand command{.name = facts.name, .help = facts.help, .program = facts.program};
    for (const OptionFacts& option : facts.options)
      if (ShownOption own = shown_option(option); own.names.empty()) {
        command.words = own.values;
        command.path = own.path;
      } else {
        command.options.push_back(std::move(own));
      }
    if (!all.empty()) all.front().commands.push_back(facts.name);
    all.push_back(std::move(command));
  }
  return all;
}

/// A help text's beginning, for lists that have a line for each option.
std::string brief(const std::string& help) {
  constexpr std::size_t most = 60;
  std::string text = help.substr(0, help.find(" ("));
  if (text.size() > most) text = text.substr(0, text.rfind(' ', most)) + " ...";
  return text;
}

std::string single_quoted(const std::string& text) {
  std::string q = "'";
  for (const char c : text) q += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return q + "'";
}

// ---- bash

/// compgen's action, as the assignment that has it.
std::string bash_paths(Path path) {
  return path == Path::none ? "paths=''" : path == Path::file ? "paths=-f" : "paths=-d";
}

const char* bash_program(Program program) {
  return program == Program::none ? "" : program == Program::first ? " program=first" : " program=--";
}

std::string for_bash(const std::vector<ShownCommand>& all) {
  std::string options, values, commands;
  for (const ShownCommand& c : all) {
    Words names, valued;
    for (const ShownOption& o : c.options) {
      names.insert(names.end(), o.names.begin(), o.names.end());
      if (!o.takes_value) continue;
      valued.insert(valued.end(), o.names.begin(), o.names.end());
      for (const std::string& name : o.names)
        values += "    " + single_quoted(c.name + " " + name) + ") words='" + joined(o.values, " ") + "' " +
                  bash_paths(o.path) + " ;;\n";
    }
    options += "    " + single_quoted(c.name) + ") options='" + joined(names, " ") + "' valued=' " +
               joined(valued, " ") + " ' ;;\n";
    Words follow = c.commands;
    follow.insert(follow.end(), c.words.begin(), c.words.end());
    if (!follow.empty() || c.path != Path::none || c.program != Program::none)
      commands += "    " + single_quoted(c.name) + ") commands='" + joined(follow, " ") + "' " + bash_paths(c.path) +
                  bash_program(c.program) + " ;;\n";
  }
  return R"(# bash completion for blaslift, written by `blaslift completion bash`.
_blaslift_options() { # command: sets options and valued, those of them that take a value
  options='' valued=''
  case $1 in
)" + options +
         R"(  esac
}
_blaslift_commands() { # command: sets commands below it, paths (compgen's action), program (first, or what comes before it)
  commands='' paths='' program=''
  case $1 in
)" + commands +
         R"(  esac
}
_blaslift_values() { # command and option: sets words and paths
  words='' paths=''
  case $1 in
)" + values +
         R"(  esac
}
_blaslift() {
  local current=${COMP_WORDS[COMP_CWORD]} command='' options valued commands words paths word previous='' program='' i
  COMPREPLY=()
  _blaslift_options ''
  _blaslift_commands ''
  for ((i = 1; i < COMP_CWORD; ++i)); do
    word=${COMP_WORDS[i]}
    if [[ $word == = ]]; then
      continue
    elif [[ -n $previous ]]; then
      previous=''
    elif [[ $valued == *" $word "* ]]; then
      previous=$word
    elif [[ $word != -* && " $commands " == *" $word "* ]]; then
      command+=${command:+ }$word
      _blaslift_options "$command"
      _blaslift_commands "$command"
    elif [[ $word != -* || $word == -- ]]; then
      if [[ $program == first || $program == "$word" ]]; then
        [[ $word != -- ]] || ((++i))
        if ((i < COMP_CWORD)); then # the program's own completion
          if declare -F _command_offset >/dev/null; then
            _command_offset "$i"
          else
            mapfile -t COMPREPLY < <(compgen -f -- "$current")
          fi
          return
        fi
        previous=-- program=first
      else # one is all that any command takes
        commands='' paths=''
      fi
    fi
  done
  [[ $current != = ]] || current=''
  if [[ -n $previous && $previous != -- ]]; then
    _blaslift_values "$command $previous"
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
    [[ -z $paths ]] || mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen "$paths" -- "$current")
  elif [[ $current == -* && $previous != -- ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current")
  elif [[ $program == first ]]; then
    mapfile -t COMPREPLY < <(compgen -c -- "$current" && compgen -f -- "$current")
  else
    mapfile -t COMPREPLY < <(compgen -W "$commands" -- "$current")
    [[ -z $paths ]] || mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen "$paths" -- "$current")
  fi
}
complete -o filenames -F _blaslift blaslift
)";
}

// ---- zsh

std::string zsh_escaped(const std::string& text) {  // for what stands between brackets and colons
  std::string q;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') q += '\\';
    q += c;
  }
  return q;
}

std::string zsh_paths(Path path) { return path == Path::directory ? "_files -/" : "_files"; }

std::string zsh_arguments(const ShownCommand& c) {
  std::string text = "_arguments -s -S";
  for (const ShownOption& o : c.options)
    for (const std::string& name : o.names) {
      const bool ends = name == "--version" || name == "--help" || name == "-h";
      std::string spec = (ends ? "(- *)" : "(" + joined(o.names, " ") + ")") + name;
      if (o.takes_value) spec += name.starts_with("--") ? "=" : "+";
      spec += "[" + zsh_escaped(brief(o.help)) + "]";
      if (o.takes_value) {
        spec += ":" + zsh_escaped(o.value) + ":";
        if (o.path != Path::none && !o.values.empty())
          spec += "{ compadd " + joined(o.values, " ") + "; " + zsh_paths(o.path) + " }";
        else
          spec += o.path != Path::none ? zsh_paths(o.path) : o.values.empty() ? "" : "(" + joined(o.values, " ") + ")";
      }
      text += " \\\n          " + single_quoted(spec);
    }
  return text;
}

std::string for_zsh(const std::vector<ShownCommand>& all) {
  std::string cases, commands;
  for (const ShownCommand& c : all) {
    if (c.name.empty()) continue;
    commands += "        " + single_quoted(c.name + ":" + c.help) + "\n";
    std::string spec = zsh_arguments(c);
    if (c.program == Program::first) spec += " \\\n          '(-)1:program:_command_names -e' '*::arguments:_normal'";
    if (!c.words.empty()) spec += " \\\n          '1::word:(" + joined(c.words, " ") + ")'";
    if (c.path != Path::none) spec += " \\\n          '1::path:" + zsh_paths(c.path) + "'";
    cases += "        " + single_quoted(c.name) + ")\n          " + spec + " ;;\n";
  }
  std::string behind_dashes;
  for (const ShownCommand& c : all)
    if (c.program == Program::behind_dashes)
      behind_dashes += "      if [[ $command == " + c.name + R"( ]] && ((words[(i)--] < CURRENT)); then
        ((CURRENT -= words[(i)--]))
        words=("${(@)words[words[(i)--]+1,-1]}")
        _normal
        return
      fi
)";
  return R"(#compdef blaslift
# zsh completion for blaslift, written by `blaslift completion zsh`.
_blaslift() {
  local context state state_descr line command
  typeset -A opt_args
  )" + zsh_arguments(all.front()) +
         R"( \
          '1: :->command' '*:: :->arguments'
  case $state in
    command)
      local -a commands=(
)" + commands +
         R"(      )
      _describe command commands ;;
    arguments)
      command=$words[1]
)" + behind_dashes +
         R"(      case $command in
)" + cases +
         R"(      esac ;;
  esac
}
if [[ $funcstack[1] == _blaslift ]]; then
  _blaslift "$@"
else
  compdef _blaslift blaslift
fi
)";
}

// ---- fish

std::string fish_quoted(const std::string& text) {
  std::string q = "'";
  for (const char c : text) q += (c == '\'' || c == '\\' ? "\\" : "") + std::string(1, c);
  return q + "'";
}

const std::string fish_directories = "'(__fish_complete_directories)'";

std::string for_fish(const std::vector<ShownCommand>& all) {
  std::string text = R"(# fish completion for blaslift, written by `blaslift completion fish`.
complete -c blaslift -f
)";
  for (const ShownCommand& c : all) {
    const std::string when = c.name.empty() ? "__fish_use_subcommand" : "__fish_seen_subcommand_from " + c.name;
    const std::string line = "complete -c blaslift -n " + fish_quoted(when);
    for (const std::string& command : c.commands) {
      const auto below = std::ranges::find(all, command, &ShownCommand::name);
      text += line + " -a " + command + " -d " + fish_quoted(brief(below->help)) + "\n";
    }
    if (!c.words.empty()) text += line + " -a " + fish_quoted(joined(c.words, " ")) + "\n";
    const std::string dashes = "contains -- -- (commandline -opc)";
    const std::string before = c.program == Program::behind_dashes ? " -n " + fish_quoted("not " + dashes) : "";
    if (c.path == Path::file) text += line + before + " -F\n";
    if (c.path == Path::directory) text += line + before + " -a " + fish_directories + "\n";
    if (c.program == Program::first) text += line + " -xa '(__fish_complete_subcommand --fcs-skip=2)'\n";
    if (c.program == Program::behind_dashes)
      text += line + " -n " + fish_quoted(dashes) + " -xa '(__fish_complete_subcommand --fcs-skip=3)'\n";
    for (const ShownOption& o : c.options) {
      text += line;
      for (const std::string& name : o.names)
        text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      if (o.takes_value) text += o.path == Path::file ? " -r -F" : " -x";
      if (o.path == Path::directory) text += " -a " + fish_directories;
      if (!o.values.empty()) text += " -a " + fish_quoted(joined(o.values, " "));
      text += " -d " + fish_quoted(brief(o.help)) + "\n";
    }
  }
  return text;
}

// ---- man

std::string roff(const std::string& text) {
  std::string q;
  for (const char c : text) {
    if (c == '-' || c == '\\')
      q += c == '\\' ? "\\e" : "\\-";
    else if (c == '\'')
      q += "\\(aq";
    else
      q += c;
  }
  return q.starts_with('.') ? "\\&" + q : q;
}

/// The library's variables are told of in its own page.
std::string roff_options(const ShownCommand& c) {
  std::string text;
  Words variables;
  for (const ShownOption& o : c.options) {
    Words names;
    for (const std::string& name : o.names) names.push_back("\\fB" + roff(name) + "\\fR");
    const std::string value = o.takes_value ? " \\fI" + roff(o.value) + "\\fR" : "";
    if (is_variable(o.names.back()))
      variables.push_back(names.back() + value);
    else
      text += ".TP\n" + joined(names, ", ") + value + "\n" + roff(o.help) + "\n";
  }
  if (!variables.empty()) text += ".TP\n" + joined(variables, ", ") + "\nSee ENVIRONMENT in libblaslift(7).\n";
  return text;
}

std::string roff_environment() {
  std::string text;
  for (const OptionInfo& o : option_table()) {
    if (is_internal(o)) continue;
    text += ".TP\n\\fB" + std::string(o.variable) + "\\fR\n" + roff(o.help) + "\n.br\nValues: " + roff(o.values) +
            "; default: " + roff(o.fallback) + ".\n";
  }
  return text;
}

std::string roff_routines() {
  std::string text;
  for (int r = 0; r < routine_count; ++r) {
    text += ".TP\n\\fB" + std::string(routine_names[r]) + "\\fR\n";
    for (const SymbolInfo& symbol : symbol_table)
      if (static_cast<int>(symbol.routine) == r) text += std::string(symbol.name) + "\n";
  }
  return text;
}

std::string completion_for(const std::string& shell, const Command& blaslift) {
  const std::vector<ShownCommand> all = commands_of(blaslift);
  return shell == "zsh" ? for_zsh(all) : shell == "fish" ? for_fish(all) : for_bash(all);
}

/// What a line of a template stands for.
std::string filled(std::string line, const std::vector<ShownCommand>& all) {
  constexpr std::string_view version = "@version@", options = "@options";
  for (std::size_t at; (at = line.find(version)) != line.npos;) line.replace(at, version.size(), BLASLIFT_VERSION);
  if (line == "@environment@") return roff_environment();
  if (line == "@routines@") return roff_routines();
  if (line.starts_with(options) && line.ends_with('@')) {
    std::string name = line.substr(options.size(), line.size() - options.size() - 1);
    name.erase(0, name.find_first_not_of(' '));
    const auto found = std::ranges::find(all, name, &ShownCommand::name);
    if (found == all.end()) throw std::runtime_error("no command " + name + " for a manual page");
    return roff_options(*found);
  }
  if (line.starts_with('@')) throw std::runtime_error("not understood in a manual page: " + line);
  return line + "\n";
}

std::string manual_page(const std::string& path, const Command& blaslift) {
  std::ifstream page(path);
  if (!page) throw std::runtime_error("cannot read " + path);
  const std::vector<ShownCommand> all = commands_of(blaslift);
  std::string text;
  for (std::string line; std::getline(page, line);) text += filled(line, all);
  return text;
}

}  // namespace

void add_completion(Command& blaslift) {
  Command command = blaslift.command("completion", "print a shell's completion of this command");
  const auto shell = std::make_shared<std::string>();
  const Words shells = {"bash", "zsh", "fish"};
  command.argument("shell", joined(shells, "|"), *shell, Command::Presence::required, "for which shell",
                   one_of(shells));
  command.runs(
      [shell, &blaslift](const Words&) { return std::fputs(completion_for(*shell, blaslift).c_str(), stdout), 0; });
}

void add_manual(Command& blaslift) {
  Command command = blaslift.command("manual", "fill the lists in a manual page");
  command.hidden();
  const auto page = std::make_shared<std::string>();
  command.argument("template", "FILE", *page, Command::Presence::required, "the page");
  command.runs([page, &blaslift](const Words&) { return std::fputs(manual_page(*page, blaslift).c_str(), stdout), 0; });
}

}  // namespace blaslift::cli
