// What a subcommand of `blaslift` takes and does, said to the parser.  CLI11, which takes seconds to compile, is behind
// this header, in command.cpp alone.
#pragma once
#include <concepts>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "impl/core/text.hpp"

namespace blaslift::cli {

using Words = std::vector<std::string>;

/// Words on the command line that make no sense together.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Ends the command with this status: what there was to be said has been said.
struct Ends : std::exception {
  explicit Ends(int with) : status(with) {}
  int status;
};

/// What is wrong with a value, in words; empty if nothing is.
using Check = std::function<std::string(const std::string& value)>;

/// One of these words.
Check one_of(Words words);

/// "a|b|c": how help and completions name a value that is one of these.
std::string joined(const Words& words, const char* between);

/// "'x' is not a whole number from 1 to 9".
std::string not_in_range(const std::string& value, bool whole, double least, double most);

template <class T>
Check number_in(T least, T most) {
  return [least, most](const std::string& value) {
    T number{};
    const bool fine = read_number(value, number) && number >= least && number <= most;
    return fine ? std::string()
                : not_in_range(value, std::integral<T>, static_cast<double>(least), static_cast<double>(most));
  };
}

/// Where in a command's words another program comes, with arguments of its own.
enum class Program { none, behind_dashes, first };

/// An option or an argument, for completions and manual pages.
struct OptionFacts {
  Words names;        ///< with their dashes; empty: an argument
  std::string value;  ///< how help names its value: "auto|cuda|host", "FILE", "N"; empty: it takes none
  std::string help;
};

struct CommandFacts {
  std::string name;  ///< empty for blaslift itself
  std::string help;
  Program program;
  std::vector<OptionFacts> options;
};

/// `blaslift` itself, or one of its subcommands.  Options write to what they are given when they are parsed; that has
/// to live as long as the command, which an action that has captured it sees to.
class Command {
 public:
  /// Every command with what it takes, but for what is hidden; blaslift itself first.
  using Facts = std::vector<CommandFacts>;

  Command(const char* help, const char* version);
  ~Command();
  Command(Command&&) noexcept;

  /// A subcommand.  It starts with an option --help, as blaslift does.
  Command command(const char* name, const char* help, Program program = Program::none);
  /// In no list of commands.
  Command& hidden();
  /// The last lines of its help.
  Command& footer(const std::string& text);

  Command& flag(const char* names, bool& target, const char* help);
  /// An option that is given once at most.
  /// @param value  how help names its value, from which completions know what it may be: words between bars are words,
  /// FILE and DIR are paths, anything else is the user's own
  Command& option(const char* names, const std::string& value, std::string& target, const std::string& help,
                  Check check = {});
  Command& option(const char* names, const std::string& value, std::function<void(const std::string&)> take,
                  const std::string& help, Check check = {});
  /// An option with one value or several between commas, which may be given again; `take` gets all of them.
  Command& list(const char* names, const std::string& value, std::function<void(const Words&)> take,
                const std::string& help, Check check = {});
  /// A number from `least` to `most`.
  template <class T>
  Command& number(const char* names, T& target, T least, T most, const std::string& help) {
    return option(
        names, "N", [&target](const std::string& value) { read_number(value, target); }, help, number_in(least, most));
  }
  /// Numbers as in 16,32, each from `least` to `most`.
  template <class T>
  Command& numbers(const char* names, std::function<void(std::vector<T>)> take, T least, T most,
                   const std::string& help) {
    return list(
        names, "N,N,...",
        [take](const Words& values) {
          std::vector<T> all(values.size());
          for (std::size_t i = 0; i < all.size(); ++i) read_number(values[i], all[i]);
          take(std::move(all));
        },
        help, number_in(least, most));
  }
  /// A word that is no option.
  enum class Presence { optional, required, hidden };
  Command& argument(const char* name, const std::string& value, std::string& target, Presence presence,
                    const std::string& help, Check check = {});
  /// All words that are no options; there may be none.
  Command& arguments(const char* name, const std::string& value, Words& target, const std::string& help);

  /// What it does; returns the exit status.
  /// @param action  gets the program with its arguments, if the command takes one
  void runs(std::function<int(const Words& program)> action);

  Facts facts() const;

  /// Of blaslift itself: parses the command line and runs the command that it names.  Returns the exit status: 125 for
  /// what is not understood and for what is thrown, with a message on standard error.
  int run(int argc, char** argv);

 private:
  struct Parser;  // of blaslift and all its commands
  struct Node;
  Command(std::shared_ptr<Parser> parser, Node& node);
  std::shared_ptr<Parser> parser_;
  Node* node_;
};

}  // namespace blaslift::cli
