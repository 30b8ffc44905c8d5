// The command's own options, told to shells and to manual pages: made from what the parser is told, so that they cannot
// drift apart from it.
#pragma once
#include "tools/cli/parser/command.hpp"

namespace blaslift::cli {

/// `blaslift completion`: prints a script for bash, zsh or fish.
void add_completion(Command& blaslift);

/// `blaslift manual`, for the build: prints a manual page (man(7)) of a template, in which a line stands for a list:
/// "@options COMMAND@", as in "@options tune@", for the command's options; "@environment@" for the library's variables;
/// "@routines@" for what it intercepts; "@version@" anywhere for the version.  Fails on a line that is none of them.
void add_manual(Command& blaslift);

}  // namespace blaslift::cli
