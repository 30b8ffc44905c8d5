#include "tools/cli/verify/recorded_call.hpp"

#include <sys/sysinfo.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sstream>

#include "impl/core/regular_file.hpp"

namespace blaslift::cli {

std::uint64_t memory_for_calls = [] {
  struct sysinfo system {};
  return sysinfo(&system) == 0 ? std::uint64_t{system.totalram} * system.mem_unit : std::uint64_t{1} << 40;
}();

std::vector<char> storage_of(const Recorded& r, const CheckedOperand& x) {
  const Recorded::Block* const found = r.block(x.name);
  const auto [at, rows, cols, ld, element, part] = x.stored;
  constexpr index most = index{1} << 44;
  if (rows < 0 || cols < 0 || ld < rows || ld < 1 || (cols > 0 && ld > most / cols))
    fail("the record's sizes are not those of an operand");
  const std::string name = x.name;
  const std::size_t bytes = static_cast<std::size_t>(ld * std::max<index>(1, cols)) * element;
  if (bytes > memory_for_calls) fail("the record's " + name + " is larger than this machine's memory");
  std::vector<char> storage(bytes, '\xff');
  if (!found) {
    if (x.reads && rows > 0 && cols > 0) fail("the record has no " + name);
    return storage;
  }
  if (found->rows != rows || found->cols != cols || found->element != element)
    fail("the record's " + name + " is not as large as its arguments say");
  for (index j = 0; j < cols && rows > 0; ++j)
    std::memcpy(&storage[static_cast<std::size_t>(j * ld) * element],
                &found->data[static_cast<std::size_t>(j * rows) * element], static_cast<std::size_t>(rows) * element);
  return storage;
}

std::string value_in(const std::string& words, const std::string& name) {
  std::istringstream rest(words);
  for (std::string word; rest >> word;)
    if (word.starts_with(name + '=')) return word.substr(name.size() + 1);
  return {};
}

std::string Recorded::argument(const std::string& name) const {
  std::string value = value_in(text.arguments, name);
  if (value.empty()) fail("the record has no argument " + name);
  return value;
}

const Recorded::Block* Recorded::block(const std::string& name) const {
  const auto found = std::find_if(blocks.begin(), blocks.end(), [&](const Block& b) { return b.name == name; });
  return found == blocks.end() ? nullptr : &*found;
}

Recorded read_record(const std::string& path, bool with_data) {
  const RegularFile file(path);
  if (!file)
    fail(path + ": " + (file.error() == ENOTSUP ? "it is no file with contents" : std::strerror(file.error())));
  const auto not_one = [&path](const std::string& why) {
    fail(path + " is not a call that verification kept: " + why);
  };
  if (file.size() == 0) not_one("it is empty");
  constexpr std::size_t most_text = std::size_t{1} << 22;
  const std::string start = file.text(most_text);
  const std::string heading = record_heading, first = start.substr(0, start.find('\n'));
  if (first != heading) {
    const std::string kind = heading.substr(0, heading.rfind(' '));
    if (first.starts_with(kind + ' '))
      fail(path + ": this version reads records of version 2, this one is " + first.substr(0, heading.size() + 20));
    not_one("its first line is not \"" + heading + "\"");
  }
  constexpr std::string_view last = "\ndata\n";
  const std::size_t end = start.find(last, first.size());
  if (end == start.npos) not_one("it ends before its data");
  const std::string_view text = std::string_view(start).substr(0, end + last.size());
  Recorded r;
  RecordSum sum;
  sum.add(text.data(), text.size());
  std::istringstream lines(start.substr(0, end));
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line)) {
    const std::size_t space = line.find(' ');
    const std::string word = line.substr(0, space), value = space == line.npos ? "" : line.substr(space + 1);
    const std::pair<const char*, std::string*> fields[] = {
        {"routine", &r.text.routine}, {"symbol", &r.text.symbol}, {"arguments", &r.text.arguments},
        {"library", &r.text.library}, {"oracle", &r.text.oracle}, {"backend", &r.text.backend},
        {"device", &r.text.device},   {"driver", &r.text.driver}, {"way", &r.text.way},
        {"caller", &r.text.caller},   {"found", &r.text.found},   {"ratio", &r.text.ratio},
        {"limit", &r.text.limit}};
    for (const auto& [name, field] : fields)
      if (word == name) *field = value;
    if (word == "setting") r.text.settings.push_back(value);
    if (word == "profile") r.text.profile += value + '\n';
    if (word == "block") {
      Recorded::Block b{};
      std::istringstream words(value);
      constexpr index most = index{1} << 44;
      if (!(words >> b.name >> b.rows >> b.cols >> b.element) || b.rows < 0 || b.cols < 0 || b.element < 4 ||
          b.element > 16 || (b.cols > 0 && b.rows > most / b.cols))
        not_one("block " + value);
      r.blocks.push_back(std::move(b));
    }
  }
  std::uint64_t at = text.size(), left = file.size() - std::min<std::uint64_t>(at, file.size());
  if (left > memory_for_calls)
    fail(path + ": its data is larger than this machine's memory");  // and it has no end soon
  for (Recorded::Block& b : r.blocks) {
    const std::uint64_t bytes = static_cast<std::uint64_t>(b.rows) * static_cast<std::uint64_t>(b.cols) * b.element;
    if (bytes > left) not_one("it ends before the end of " + b.name);
    left -= bytes;
    constexpr std::uint64_t part = std::uint64_t{1} << 20;
    b.data.resize(with_data ? bytes : std::min(bytes, part));
    for (std::uint64_t done = 0, now; done < bytes; done += now) {
      now = std::min(part, bytes - done);
      char* to = b.data.data() + (with_data ? done : 0);
      if (file.read(at + done, to, now) < now) not_one("it ends before the end of " + b.name);
      sum.add(to, now);
    }
    at += bytes;
    if (!with_data) b.data.clear();
  }
  const std::string expected = sum.line();
  if (left < expected.size()) not_one("it ends before its checksum");
  if (left > expected.size()) not_one("there is more after its end");
  std::string there(expected.size(), '\0');
  if (file.read(at, there.data(), there.size()) < there.size() || there != expected)
    not_one("its contents have changed: the checksum differs");
  return r;
}

namespace {

char letter_in(const Recorded& r, const char* name, Choices among) {
  const std::string value = r.argument(name);
  if (value.size() == 1)
    for (const Choice& choice : among)
      if (value[0] == choice.letter) return choice.letter;
  std::string allowed;
  for (const Choice& choice : among) allowed += choice.letter;
  fail(std::string("the record's ") + name + " is not one of " + allowed);
}

/// Whether integers that a call reads, in LAPACK numbers of rows, are some: it would write to what is beyond.
struct InRange final : signatures::Visitor {
  void operand(const char*, signatures::Pointer at, signatures::Asked<Use> use) override {
    if (!at.integers()) return;
    const Use used = use();
    const bool means = used.reads && !used.writes;  // and is not there just to be kept
    for (index i = 0; means && i < used.rows; ++i) {
      const index row = at.integers()->get(i);
      good = good && row != 0 && row >= -used.rows && row <= used.rows;
    }
  }
  bool good = true;
};

}  // namespace

void ReadArguments::letter(const char* name, Choices among, signatures::Letter x) {
  x.set(letter_in(record_, name, among));
}
void ReadArguments::integer(const char* name, index& x, bool used) {
  if (!used) return;
  x = number_in<index>(record_, name);
  // No operand is that large, and no vector's step.
  constexpr index most = index{1} << 44;
  if (x > most || x < -most) fail(not_a_call);
}
void ReadArguments::scalar(const char* name, signatures::Scalar x) {
  const std::string value = record_.argument(name);
  const std::size_t comma = value.find(',');
  double re = 0, im = 0;
  const bool good = read_number(std::string_view(value).substr(0, comma), re) &&
                    (comma == value.npos || read_number(std::string_view(value).substr(comma + 1), im));
  if (!good) fail(std::string("the record's ") + name + " is not a number");
  x.set(re, im);
}
void ReadArguments::real_scalar(const char* name, signatures::Scalar x, bool used) {
  if (used) scalar(name, x);
}
void ReadArguments::operand(const char* name, signatures::Pointer at, signatures::Asked<Use>) {
  const auto* const block = at.integers() ? record_.block(name) : nullptr;
  if (at.integers()) at.integers()->wide = block && block->element == sizeof(std::int64_t);
}
void ReadArguments::workspace(const char* name, signatures::Pointer, index& size, signatures::Asked<index>) {
  integer(signatures::length_of(name).c_str(), size, true);
}
void ReadArguments::recorded(const char* name, bool& x) { x = number_in<int>(record_, name) != 0; }

void read_arguments(const Recorded& r, signatures::Described call) {
  call.show(ReadArguments(r));
  if (!call.complete() || !call.valid()) fail(not_a_call);
  signatures::Workspaces workspaces;
  call.show(workspaces);
  if (!workspaces.suffice) fail(not_a_call);
}

std::vector<std::vector<char>> read_operands(const Recorded& r, signatures::Described call) {
  std::vector<std::vector<char>> memory;
  std::vector<void*> at;
  for (const CheckedOperand& x : signatures::list_operands(call)) {
    memory.push_back(storage_of(r, x));
    at.push_back(memory.back().data());
  }
  signatures::set_operands(call, at.data());
  InRange pivots;
  call.show(pivots);
  if (!pivots.good) fail(not_a_call);
  return memory;
}

}  // namespace blaslift::cli
