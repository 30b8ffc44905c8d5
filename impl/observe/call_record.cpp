#include "impl/observe/call_record.hpp"

#include <cstring>
#include <sstream>

#include "compat/say.hpp"
#include "impl/core/new_file.hpp"
#include "impl/core/text.hpp"

namespace blaslift {
namespace {

/// With the sum of what was written behind it.
class RecordFile {
 public:
  explicit RecordFile(const std::string& path) : file_(path) {}

  void write(const void* data, std::size_t bytes) {
    sum_.add(data, bytes);
    file_.write(data, bytes);
  }
  /// 0, or an errno.
  int finish() {
    const std::string line = sum_.line();
    file_.write(line.data(), line.size());
    return file_.put_in_place();
  }

 private:
  NewFile file_;
  RecordSum sum_;
};

void write_block(RecordFile& file, const Stored& x) {
  constexpr std::size_t much = std::size_t{1} << 20;
  const std::size_t column = static_cast<std::size_t>(x.rows) * x.element;
  std::vector<char> buffer;
  for (index j = 0; j < x.cols; ++j) {
    const char* at = static_cast<const char*>(x.at) + static_cast<std::size_t>(j * x.ld) * x.element;
    buffer.insert(buffer.end(), at, at + column);
    if (buffer.size() < much) continue;
    file.write(buffer.data(), buffer.size());
    buffer.clear();
  }
  file.write(buffer.data(), buffer.size());
}

}  // namespace

void RecordSum::add(const void* data, std::size_t bytes) {
  const auto* at = static_cast<const unsigned char*>(data);
  for (; bytes > 0 && pending_ > 0; --bytes) {
    word_ |= std::uint64_t{*at++} << 8 * pending_;
    pending_ = (pending_ + 1) % sizeof word_;
    if (pending_ == 0) add_word();
  }
  for (; bytes >= sizeof word_; bytes -= sizeof word_, at += sizeof word_) {
    std::memcpy(&word_, at, sizeof word_);
    add_word();
  }
  for (; bytes > 0; --bytes) word_ |= std::uint64_t{*at++} << 8 * pending_++;
}

std::uint64_t RecordSum::value() const {
  RecordSum whole = *this;
  if (pending_ > 0) whole.add_word();
  return whole.sum_.value();
}

std::string RecordSum::line() const { return "sum " + hexadecimal(value(), 16) + '\n'; }

std::string write_record(const std::string& path, const RecordText& t, std::span<const RecordBlock> blocks) {
  std::string text = record_heading;
  const auto line = [&text](const char* word, const std::string& value) {
    if (!value.empty()) text += '\n' + std::string(word) + ' ' + value;
  };
  line("routine", t.routine);
  line("symbol", t.symbol);
  line("arguments", t.arguments);
  line("library", t.library);
  line("oracle", t.oracle);
  line("backend", t.backend);
  line("device", t.device);
  line("driver", t.driver);
  line("way", t.way);
  for (const std::string& setting : t.settings) line("setting", setting);
  std::istringstream profile(t.profile);
  for (std::string one; std::getline(profile, one);) line("profile", one);
  line("caller", t.caller);
  line("found", t.found);
  line("ratio", t.ratio);
  line("limit", t.limit);
  for (const RecordBlock& b : blocks)
    line("block", b.name + ' ' + std::to_string(b.stored.rows) + ' ' + std::to_string(b.stored.cols) + ' ' +
                      std::to_string(b.stored.element));
  text += "\ndata\n";

  const NoWriteSignals no_signals;  // a file beyond the process's limit is an error like any other
  RecordFile file(path);
  file.write(text.data(), text.size());
  for (const RecordBlock& b : blocks) write_block(file, b.stored);
  const int error = file.finish();
  return error ? path + ": " + std::strerror(error) : std::string();
}

}  // namespace blaslift
