// The command's own options, told to shells and to manual pages: made from the parser itself, so that they cannot drift
// apart from it.
#pragma once
#include <CLI/CLI.hpp>
#include <string>

namespace blaslift::cli {

/// The name of an option's values for help and completions: the words among `values` that `is_value` accepts, FILE
/// where the values say so, VALUE for the rest; as in "off|stderr|FILE".
std::string value_name(const std::string& values, const std::function<bool(const std::string&)>& is_value);

/// A completion script.
/// @param shell  bash, zsh or fish
std::string completion_for(const std::string& shell, CLI::App& app);

/// A manual page (man(7)) of a template, in which a line stands for a list: "@options COMMAND@", as in "@options tune
/// symv@", for the command's options; "@environment@" for the library's variables; "@routines@" for what it intercepts;
/// "@version@" anywhere for the version.  Throws std::runtime_error for a line that is none of them.
std::string manual_page(const std::string& page, CLI::App& app);

}  // namespace blaslift::cli
