#include "tools/cli/parser/variables.hpp"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "impl/core/options.hpp"

namespace blaslift::cli {
namespace {

/// "BLASLIFT_VERIFY_DUMP": "--verify-dump"; empty for what is no option.
std::string option_of(const OptionInfo& variable) {
  const std::string_view name = variable.variable, prefix = "BLASLIFT_";
  if (is_internal(variable) || !name.starts_with(prefix)) return {};
  std::string option = "--";
  for (const char c : name.substr(prefix.size()))
    option += c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return option;
}

/// How help names the values of a variable: the words among them that it accepts, FILE and DIR where they say so, VALUE
/// for the rest; as in "off|stderr|FILE".
std::string value_name(const OptionInfo& variable) {
  Words names;
  bool all = true;
  std::istringstream pieces(variable.values);
  for (std::string piece; std::getline(pieces, piece, ',');) {
    piece.erase(0, piece.find_first_not_of(' '));
    Options scratch;
    if (piece.find("path") != piece.npos || piece.find("file") != piece.npos)
      names.push_back("FILE");
    else if (piece.find("directory") != piece.npos)
      names.push_back("DIR");
    else if (piece.find(' ') == piece.npos && variable.parse(scratch, piece.c_str()))
      names.push_back(piece);
    else
      all = false;
  }
  if (!all) names.push_back("VALUE");
  return joined(names, "|");
}

}  // namespace

void add_variables(Command& command, Variables& variables, std::span<const std::string_view> only) {
  for (const OptionInfo& variable : option_table()) {
    const std::string name = option_of(variable);
    const bool chosen = only.empty() || std::find(only.begin(), only.end(), variable.variable) != only.end();
    if (name.empty() || !chosen) continue;
    command.option(
        name.c_str(), value_name(variable),
        [&variables, &variable](const std::string& value) { variables[variable.variable] = value; },
        std::string(variable.help) + " (" + variable.values + "; default " + variable.fallback + ")",
        [&variable](const std::string& value) {
          Options scratch;
          return variable.parse(scratch, value.c_str()) ? std::string()
                                                        : "'" + value + "' is not one of: " + variable.values;
        });
  }
}

void add_device_variables(Command& command, Variables& variables) {
  constexpr std::string_view only[] = {"BLASLIFT_BACKEND", "BLASLIFT_MEMORY", "BLASLIFT_FALLBACK"};
  add_variables(command, variables, only);
}

bool is_variable(const std::string& option) {
  return std::ranges::any_of(option_table(), [&](const OptionInfo& o) { return option == option_of(o); });
}

Options options_with(const Variables& variables) {
  for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
  std::string warnings;
  const Options options = read_options(environ, warnings);
  std::fputs(warnings.c_str(), stderr);
  return options;
}

}  // namespace blaslift::cli
