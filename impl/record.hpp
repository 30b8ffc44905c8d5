// Records: calls in files, with all that is needed to make them again.
//
// A record is text, then data.  The text is a line "blaslift-call 1", lines of a word and what it says, for each block
// a line "block NAME ROWS COLS BYTES" (BYTES of an element), and a line "data".  The blocks follow in that order, each
// column by column without gaps, little-endian.  Of a triangle the other one holds NaN.
#pragma once
#include <span>
#include <string>

#include "impl/residency.hpp"

namespace blaslift {

inline constexpr char record_heading[] = "blaslift-call 1";

/// A call's words, in the order of the file.  None contains a newline.
struct RecordText {
  std::string routine;    ///< "dgemm"
  std::string symbol;     ///< by which the program called it
  std::string arguments;  ///< name=value ...
  std::string library;    ///< underneath
  std::string oracle;     ///< path, or empty
  std::string backend;    ///< "host", "cuda"; empty: computed by the library underneath
  std::string levels;     ///< of Strassen's
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
