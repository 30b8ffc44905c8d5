#include "tools/cli/parser/command.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <iostream>
#include <list>
#include <sstream>
#include <string_view>

#include "compat/shown.hpp"

namespace blaslift::cli {
namespace {

/// CLI11's own, but usage lines leave out what is in no list.
class PlainFormatter : public CLI::Formatter {
 public:
  std::string make_usage(const CLI::App* app, std::string name) const override {
    std::string line = "Usage: " + name + " [OPTIONS]";
    for (const CLI::Option* option : app->get_options())
      if (option->get_positional() && !option->get_group().empty()) line += " " + make_option_usage(option);
    if (app->get_require_subcommand_min() > 0) line += " SUBCOMMAND";
    return line + "\n";
  }
};

/// The program: what stood behind "--", or else what the launcher's own options left over.
Words program_of(const CLI::App& launcher, Words behind_dashes) {
  const Words others = launcher.remaining();
  if (behind_dashes.empty())
    behind_dashes = others;
  else if (!others.empty())
    throw CLI::ExtrasError(others);
  if (behind_dashes.empty()) throw CLI::RequiredError("a program to run");
  if (behind_dashes.front().starts_with("-")) throw CLI::ExtrasError({behind_dashes.front()});
  return behind_dashes;
}

void add_check(CLI::Option& option, Check check) {
  if (check)
    option.check(
        CLI::Validator([check = std::move(check)](std::string& value) { return check(value); }, std::string()));
}

/// How many letters are to be put in, left out or changed to make one word of the other.
std::size_t distance(std::string_view one, std::string_view other) {
  std::vector<std::size_t> row(other.size() + 1);
  for (std::size_t j = 0; j < row.size(); ++j) row[j] = j;
  for (std::size_t i = 0; i < one.size(); ++i) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 0; j < other.size(); ++j) {
      const std::size_t changed = diagonal + (one[i] != other[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

/// Of blaslift itself, that nothing it was told is one of its commands.
std::string no_command(const CLI::App& app) {
  Words names;
  for (const CLI::App* one : app.get_subcommands(nullptr))
    if (!one->get_group().empty()) names.push_back(one->get_name());
  const Words words = app.remaining();
  const auto word = std::find_if(words.begin(), words.end(), [](const auto& w) { return !w.starts_with("-"); });
  if (word == words.end()) return "a command is required: " + joined(names, ", ");
  const auto nearest = std::min_element(names.begin(), names.end(), [&word](const auto& a, const auto& b) {
    return distance(a, *word) < distance(b, *word);
  });
  std::string text = "there is no command '" + *word + "'";
  text += distance(*nearest, *word) <= 2 ? "; did you mean '" + *nearest + "'?" : ".";
  return text + " Commands: " + joined(names, ", ");
}

/// "blaslift run: ...", and whose help says more.
std::string message_of(const CLI::App* app, const CLI::Error& error) {
  const auto chosen = app->get_subcommands();
  const Words words = app->remaining();
  const bool own = chosen.empty() || !words.empty();  // what is wrong is not after a command
  const std::string command = own ? "blaslift" : "blaslift " + chosen.front()->get_name();
  std::string what = error.what();
  if (!words.empty() && words.front().starts_with("-"))
    what = words.front() + " is no option of blaslift itself: options come after the command";
  else if (own && error.get_name() == "RequiredError")
    what = no_command(*app);
  return command + ": " + shown(what) + "\n`" + command + " --help` says more.\n";
}

OptionFacts facts_of(const CLI::Option& option) {
  OptionFacts facts;
  for (const std::string& name : option.get_snames()) facts.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) facts.names.push_back("--" + name);
  if (option.get_items_expected_max() > 0) facts.value = option.get_type_name();
  facts.help = option.get_description();
  return facts;
}

}  // namespace

struct Command::Node {
  CLI::App* app;
  Program program;
  std::function<int(const Words&)> action;
};

struct Command::Parser {
  CLI::App app;
  std::list<Node> nodes;  // blaslift's own first
};

Check one_of(Words words) {
  return [words = std::move(words)](const std::string& value) {
    const bool fine = std::find(words.begin(), words.end(), value) != words.end();
    return fine ? std::string() : "'" + value + "' is not one of: " + joined(words, ", ");
  };
}

std::string joined(const Words& words, const char* between) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : between) + word;
  return text;
}

std::string not_in_range(const std::string& value, bool whole, double least, double most) {
  return "'" + value + "' is not a " + (whole ? "whole " : "") + "number from " + number(least) + " to " + number(most);
}

Command::Command(const char* help, const char* version) : parser_(std::make_shared<Parser>()) {
  CLI::App& app = parser_->app;
  app.description(help);
  app.formatter(std::make_shared<PlainFormatter>());
  app.set_version_flag("--version", version);
  app.require_subcommand(1);
  app.failure_message(message_of);
  node_ = &parser_->nodes.emplace_back(Node{&app, Program::none, {}});
}

Command::Command(std::shared_ptr<Parser> parser, Node& node) : parser_(std::move(parser)), node_(&node) {}
Command::~Command() = default;
Command::Command(Command&&) noexcept = default;

Command Command::command(const char* name, const char* help, Program program) {
  CLI::App* app = node_->app->add_subcommand(name, help);
  // Its own options end at the first word that is none of them: the program, whose options are its own.
  if (program == Program::first) {
    app->prefix_command();
    app->footer(std::string("blaslift ") + name + " [options] [--] program [its arguments]");
  }
  return {parser_, parser_->nodes.emplace_back(Node{app, program, {}})};
}

Command& Command::hidden() {
  node_->app->group("");
  return *this;
}

Command& Command::footer(const std::string& text) {
  node_->app->footer(text);
  return *this;
}

Command& Command::flag(const char* names, bool& target, const char* help) {
  node_->app->add_flag_callback(
      names, [&target] { target = true; }, help);
  return *this;
}

Command& Command::option(const char* names, const std::string& value, std::string& target, const std::string& help,
                         Check check) {
  return option(
      names, value, [&target](const std::string& given) { target = given; }, help, std::move(check));
}

Command& Command::option(const char* names, const std::string& value, std::function<void(const std::string&)> take,
                         const std::string& help, Check check) {
  const auto take_one = [take = std::move(take)](const Words& values) {
    take(values.front());
    return true;
  };
  CLI::Option* option = node_->app->add_option(names, CLI::callback_t(take_one), help);
  option->type_name(value);
  add_check(*option, std::move(check));
  return *this;
}

Command& Command::list(const char* names, const std::string& value, std::function<void(const Words&)> take,
                       const std::string& help, Check check) {
  const auto take_all = [take = std::move(take)](const Words& values) {
    take(values);
    return true;
  };
  CLI::Option* option = node_->app->add_option(names, CLI::callback_t(take_all), help);
  option->type_name(value)->take_all()->delimiter(',');
  add_check(*option, std::move(check));
  return *this;
}

Command& Command::argument(const char* name, const std::string& value, std::string& target, Presence presence,
                           const std::string& help, Check check) {
  const auto take = [&target](const Words& values) {
    target = values.front();
    return true;
  };
  CLI::Option* option = node_->app->add_option(name, CLI::callback_t(take), help);
  option->type_name(value)->required(presence == Presence::required);
  if (presence == Presence::hidden) option->group("");
  add_check(*option, std::move(check));
  return *this;
}

Command& Command::arguments(const char* name, const std::string& value, Words& target, const std::string& help) {
  node_->app->add_option(name, target, help)->type_name(value)->expected(0, -1);
  return *this;
}

void Command::runs(std::function<int(const Words& program)> action) { node_->action = std::move(action); }

Command::Facts Command::facts() const {
  Facts all;
  for (const Node& node : parser_->nodes) {
    if (node.app->get_group().empty()) continue;           // hidden
    const bool itself = &node == &parser_->nodes.front();  // whose name in CLI11 is what it was called by
    CommandFacts facts{itself ? std::string() : node.app->get_name(), node.app->get_description(), node.program, {}};
    for (const CLI::Option* option : node.app->get_options())
      if (!option->get_group().empty()) facts.options.push_back(facts_of(*option));
    all.push_back(std::move(facts));
  }
  return all;
}

int Command::run(int argc, char** argv) {
  // CLI11 would read what follows "--" as its own positionals.
  char** const end = std::find_if(argv, argv + argc, [](const char* word) { return std::string_view(word) == "--"; });
  const Words behind_dashes(end == argv + argc ? end : end + 1, argv + argc);
  CLI::App& app = parser_->app;
  const auto refuse = [&app](const CLI::ParseError& error) {
    // CLI11's own 105 to 109 might as well be the program's.
    return app.exit(error, std::cout, std::cerr) == 0 ? 0 : 125;
  };
  try {
    app.parse(static_cast<int>(end - argv), argv);
    for (const Node& node : parser_->nodes)
      if (node.action && node.app->parsed())
        return node.action(node.program == Program::first ? program_of(*node.app, behind_dashes) : behind_dashes);
    throw UsageError("no command");
  } catch (const CLI::ParseError& error) {
    return refuse(error);
  } catch (const UsageError& error) {
    return refuse(CLI::ValidationError(error.what()));
  } catch (const Ends& ends) {
    return ends.status;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "blaslift: %s\n", shown(error.what()).c_str());
    return 125;  // ours, not the program's: as env and timeout do
  }
}

}  // namespace blaslift::cli
