// Records: calls in files, with all that is needed to make them again.
//
// A record is text, then data.  The text is a line "blaslift-call 2", lines of a word and what it says, for each block
// a line "block NAME ROWS COLS BYTES" (BYTES of an element), and a line "data".  The blocks follow in that order, each
// column by column without gaps, little-endian.  Of a triangle the other one holds NaN.  Behind them is a line
// "sum HEXADECIMAL", the RecordSum of all that stands before it.
//
// With a call that a device has computed goes what its way there followed from: the settings that were given, the
// profile in effect and, among the words of `way`, the device's memory.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "impl/core/hash.hpp"
#include "impl/core/stored.hpp"

namespace blaslift {

inline constexpr char record_heading[] = "blaslift-call 2";

/// FNV-1a by words of eight bytes, the last one filled up with zeros; the same however the bytes are handed over.
class RecordSum {
 public:
  void add(const void* data, std::size_t bytes);
  std::uint64_t value() const;
  /// The line that says it.
  std::string line() const;

 private:
  void add_word() { sum_.step(word_), word_ = 0; }

  Fnv1a<std::uint64_t> sum_;
  std::uint64_t word_ = 0;
  unsigned pending_ = 0;  ///< bytes in `word_`
};

/// A call's words, in the order of the file.  None contains a newline.
struct RecordText {
  std::string routine;                ///< "dgemm"
  std::string symbol;                 ///< by which the program called it
  std::string arguments;              ///< name=value ...
  std::string library;                ///< underneath
  std::string oracle;                 ///< path, or empty
  std::string backend;                ///< "host", "cuda"; empty: computed by the library underneath
  std::string device;                 ///< its name
  std::string driver;                 ///< and its libraries, with versions
  std::string way;                    ///< on the device: words of name=value (Check)
  std::vector<std::string> settings;  ///< VARIABLE=value, of Options::of_ways
  std::string profile;                ///< a file's text
  std::string caller;
  std::string found;  ///< what was wrong
  std::string ratio, limit;
};

struct RecordBlock {
  std::string name;  ///< of the operand before the call; "result", "again", "reference": the output after it
  Stored stored;
};

/// Writes a record, or nothing: returns why not.  Whatever limits files there are, no signal comes of it.
std::string write_record(const std::string& path, const RecordText& text, std::span<const RecordBlock> blocks);

}  // namespace blaslift
