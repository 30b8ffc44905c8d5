// The library's environment variables as options of commands.
#pragma once
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "tools/cli/parser/command.hpp"

namespace blaslift {
struct Options;
}

namespace blaslift::cli {

using Variables = std::map<std::string, std::string>;

/// BLASLIFT_BACKEND as --backend, and so on, checked by the variable's own parser.
/// @param only  empty: all but BLASLIFT itself and the internal ones
void add_variables(Command& command, Variables& variables, std::span<const std::string_view> only = {});

/// What commands take that call a device themselves.
void add_device_variables(Command& command, Variables& variables);

/// Whether an option, by its name with dashes, stands for a variable.
bool is_variable(const std::string& option);

/// The environment's, and what these say, which are part of the environment from now on.
Options options_with(const Variables& variables);

}  // namespace blaslift::cli
