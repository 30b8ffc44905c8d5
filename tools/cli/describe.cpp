#include "tools/cli/describe.hpp"

#include <algorithm>
#include <cctype>
#include <set>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "compat/symbols.hpp"
#include "impl/core/options.hpp"

namespace blaslift::cli {
namespace {

using Words = std::vector<std::string>;

enum class Path { none, file, directory };

struct OptionFacts {
  Words names;  ///< with their dashes
  bool takes_value;
  Words values;  ///< words that it may be, if they can be listed
  Path path;     ///< or one of these
  std::string value, help;
};

/// Where in a command's words another program comes, with arguments of its own.
enum class Program { none, behind_dashes, first };

struct CommandFacts {
  std::string name;  ///< "tune symv"; empty for blaslift itself
  std::string help;
  std::vector<OptionFacts> options;
  Words commands;  ///< below it
  Words words;     ///< what may follow that is neither option nor command
  Path path;       ///< or one of these
  Program program;
};

OptionFacts facts_of(const CLI::Option& option) {
  OptionFacts facts{};
  for (const std::string& name : option.get_snames()) facts.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) facts.names.push_back("--" + name);
  facts.help = option.get_description();
  facts.takes_value = option.get_items_expected_max() > 0;
  // "auto|cuda|host", "FILE", "TEXT:{sh,bash}", "INT:INT in [1 - 9]"
  std::string type = option.get_type_name();
  const std::size_t brace = type.find('{');
  if (brace != type.npos) {
    type = type.substr(brace + 1, type.find('}') - brace - 1);
    std::replace(type.begin(), type.end(), ',', '|');
  }
  facts.value = type.substr(0, type.find(':'));
  std::istringstream words(facts.value);
  const bool listed = brace != type.npos || type.find('|') != type.npos;
  for (std::string word; std::getline(words, word, '|');)
    if (word == "FILE")
      facts.path = Path::file;
    else if (word == "DIR")
      facts.path = Path::directory;
    else if (listed && word != "VALUE")
      facts.values.push_back(word);
  return facts;
}

/// The parser knows what follows a launcher; of a program behind "--" it is never told, and the help alone says it.
Program program_of(const CLI::App& app) {
  if (app.get_prefix_command()) return Program::first;
  return app.get_footer().find(" -- program") != std::string::npos ? Program::behind_dashes : Program::none;
}

void add_commands(CLI::App& app, const std::string& name, std::vector<CommandFacts>& all) {
  CommandFacts facts{
      .name = name, .help = app.get_description(), .options = {}, .commands = {}, .program = program_of(app)};
  for (const CLI::Option* option : app.get_options())
    if (OptionFacts own = facts_of(*option); own.names.empty()) {
      facts.words = own.values;
      facts.path = own.path;
    } else {
      facts.options.push_back(std::move(own));
    }
  std::vector<CLI::App*> shown;
  for (CLI::App* command : app.get_subcommands({}))
    if (!command->get_group().empty()) {
      shown.push_back(command);
      facts.commands.push_back(command->get_name());
    }
  all.push_back(std::move(facts));
  for (CLI::App* command : shown) add_commands(*command, name + (name.empty() ? "" : " ") + command->get_name(), all);
}

std::vector<CommandFacts> commands_of(CLI::App& app) {
  std::vector<CommandFacts> all;
  add_commands(app, "", all);
  return all;
}

std::string joined(const Words& words, const char* between = " ") {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : between) + word;
  return text;
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

std::string for_bash(const std::vector<CommandFacts>& all) {
  std::string options, values, commands;
  for (const CommandFacts& c : all) {
    Words names, valued;
    for (const OptionFacts& o : c.options) {
      names.insert(names.end(), o.names.begin(), o.names.end());
      if (!o.takes_value) continue;
      valued.insert(valued.end(), o.names.begin(), o.names.end());
      for (const std::string& name : o.names)
        values += "    " + single_quoted(c.name + " " + name) + ") words='" + joined(o.values) + "' " +
                  bash_paths(o.path) + " ;;\n";
    }
    options +=
        "    " + single_quoted(c.name) + ") options='" + joined(names) + "' valued=' " + joined(valued) + " ' ;;\n";
    Words follow = c.commands;
    follow.insert(follow.end(), c.words.begin(), c.words.end());
    if (!follow.empty() || c.path != Path::none || c.program != Program::none)
      commands += "    " + single_quoted(c.name) + ") commands='" + joined(follow) + "' " + bash_paths(c.path) +
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

std::string zsh_arguments(const CommandFacts& c) {
  std::string text = "_arguments -s -S";
  for (const OptionFacts& o : c.options)
    for (const std::string& name : o.names) {
      const bool ends = name == "--version" || name == "--help" || name == "-h";
      std::string spec = (ends ? "(- *)" : "(" + joined(o.names) + ")") + name;
      if (o.takes_value) spec += name.starts_with("--") ? "=" : "+";
      spec += "[" + zsh_escaped(brief(o.help)) + "]";
      if (o.takes_value) {
        spec += ":" + zsh_escaped(o.value) + ":";
        if (o.path != Path::none && !o.values.empty())
          spec += "{ compadd " + joined(o.values) + "; " + zsh_paths(o.path) + " }";
        else
          spec += o.path != Path::none ? zsh_paths(o.path) : o.values.empty() ? "" : "(" + joined(o.values) + ")";
      }
      text += " \\\n          " + single_quoted(spec);
    }
  return text;
}

std::string for_zsh(const std::vector<CommandFacts>& all) {
  std::string cases, commands;
  for (const CommandFacts& c : all) {
    if (c.name.empty()) continue;
    if (c.name.find(' ') == c.name.npos) commands += "        " + single_quoted(c.name + ":" + c.help) + "\n";
    std::string spec = zsh_arguments(c);
    if (c.program == Program::first) spec += " \\\n          '(-)1:program:_command_names -e' '*::arguments:_normal'";
    Words first = c.commands;
    if (const std::size_t space = c.name.find(' '); space != c.name.npos) first = {c.name.substr(space + 1)};
    if (!first.empty()) spec += " \\\n          '1::command:(" + joined(first) + ")'";
    if (!c.words.empty()) spec += " \\\n          '1::word:(" + joined(c.words) + ")'";
    if (c.path != Path::none) spec += " \\\n          '1::path:" + zsh_paths(c.path) + "'";
    cases += "        " + single_quoted(c.name) + ")\n          " + spec + " ;;\n";
  }
  std::string nested;
  for (const CommandFacts& c : all)
    if (const std::size_t space = c.name.find(' '); space != c.name.npos)
      nested += "      [[ $command != " + c.name.substr(0, space) + " ]] || ((! ${words[(I)" +
                c.name.substr(space + 1) + "]})) || command='" + c.name + "'\n";
  std::string behind_dashes;
  for (const CommandFacts& c : all)
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
)" + nested +
         behind_dashes +
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

std::string for_fish(const std::vector<CommandFacts>& all) {
  std::string text = R"(# fish completion for blaslift, written by `blaslift completion fish`.
complete -c blaslift -f
)";
  for (const CommandFacts& c : all) {
    const std::size_t space = c.name.rfind(' ');
    const std::string own = c.name.substr(space == c.name.npos ? 0 : space + 1);
    std::string when = c.name.empty() ? "__fish_use_subcommand" : "__fish_seen_subcommand_from " + own;
    if (!c.name.empty() && !c.commands.empty()) when += "; and not __fish_seen_subcommand_from " + joined(c.commands);
    const std::string line = "complete -c blaslift -n " + fish_quoted(when);
    for (const std::string& command : c.commands) {
      const std::string full = c.name + (c.name.empty() ? "" : " ") + command;
      const auto below = std::ranges::find(all, full, &CommandFacts::name);
      text += line + " -a " + command + " -d " + fish_quoted(brief(below->help)) + "\n";
    }
    if (!c.words.empty()) text += line + " -a " + fish_quoted(joined(c.words)) + "\n";
    const std::string dashes = "contains -- -- (commandline -opc)";
    const std::string before = c.program == Program::behind_dashes ? " -n " + fish_quoted("not " + dashes) : "";
    if (c.path == Path::file) text += line + before + " -F\n";
    if (c.path == Path::directory) text += line + before + " -a " + fish_directories + "\n";
    if (c.program == Program::first) text += line + " -xa '(__fish_complete_subcommand --fcs-skip=2)'\n";
    if (c.program == Program::behind_dashes)
      text += line + " -n " + fish_quoted(dashes) + " -xa '(__fish_complete_subcommand --fcs-skip=3)'\n";
    for (const OptionFacts& o : c.options) {
      text += line;
      for (const std::string& name : o.names)
        text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      if (o.takes_value) text += o.path == Path::file ? " -r -F" : " -x";
      if (o.path == Path::directory) text += " -a " + fish_directories;
      if (!o.values.empty()) text += " -a " + fish_quoted(joined(o.values));
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

bool is_variable(const OptionFacts& option) {
  std::string variable = "BLASLIFT_" + option.names.back().substr(2);
  for (char& c : variable) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return std::ranges::any_of(option_table(), [&](const OptionInfo& o) { return variable == o.variable; });
}

/// The library's variables are told of in its own page.
std::string roff_options(const CommandFacts& c) {
  std::string text;
  Words variables;
  for (const OptionFacts& o : c.options) {
    Words names;
    for (const std::string& name : o.names) names.push_back("\\fB" + roff(name) + "\\fR");
    const std::string value = o.takes_value ? " \\fI" + roff(o.value) + "\\fR" : "";
    if (is_variable(o))
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

}  // namespace

std::string value_name(const std::string& values, const std::function<bool(const std::string&)>& is_value) {
  Words names;
  bool all = true;
  std::istringstream pieces(values);
  for (std::string piece; std::getline(pieces, piece, ',');) {
    piece.erase(0, piece.find_first_not_of(' '));
    if (piece.find("path") != piece.npos || piece.find("file") != piece.npos)
      names.push_back("FILE");
    else if (piece.find("directory") != piece.npos)
      names.push_back("DIR");
    else if (piece.find(' ') == piece.npos && is_value(piece))
      names.push_back(piece);
    else
      all = false;
  }
  if (!all) names.push_back("VALUE");
  return joined(names, "|");
}

std::string completion_for(const std::string& shell, CLI::App& app) {
  const std::vector<CommandFacts> all = commands_of(app);
  return shell == "zsh" ? for_zsh(all) : shell == "fish" ? for_fish(all) : for_bash(all);
}

std::string manual_page(const std::string& page, CLI::App& app) {
  const std::vector<CommandFacts> all = commands_of(app);
  std::string text;
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    constexpr std::string_view version = "@version@", options = "@options";
    for (std::size_t at; (at = line.find(version)) != line.npos;) line.replace(at, version.size(), BLASLIFT_VERSION);
    if (line == "@environment@") {
      text += roff_environment();
    } else if (line == "@routines@") {
      text += roff_routines();
    } else if (line.starts_with(options) && line.ends_with('@')) {
      std::string name = line.substr(options.size(), line.size() - options.size() - 1);
      name.erase(0, name.find_first_not_of(' '));
      const auto found = std::ranges::find(all, name, &CommandFacts::name);
      if (found == all.end()) throw std::runtime_error("no command " + name + " for a manual page");
      text += roff_options(*found);
    } else if (line.starts_with('@')) {
      throw std::runtime_error("not understood in a manual page: " + line);
    } else {
      text += line + "\n";
    }
  }
  return text;
}

}  // namespace blaslift::cli
