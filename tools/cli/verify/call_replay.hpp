// Calls that verification has kept in files (impl/observe/call_record.hpp), read and made again.
#pragma once
#include <string>
#include <vector>

#include "impl/observe/call_record.hpp"

namespace blaslift::cli {

struct Recorded {
  struct Block {
    std::string name;
    index rows, cols;
    std::size_t element;
    std::vector<char> data;  ///< column by column
  };
  RecordText text;
  std::vector<Block> blocks;

  /// The value of `name` in the arguments; throws std::runtime_error if there is none.
  std::string argument(const std::string& name) const;
  /// Null: it has none of that name.
  const Block* block(const std::string& name) const;
};

/// The value of `name` in words of name=value; empty if there is none.
std::string value_in(const std::string& words, const std::string& name);

/// Bytes that an operand or a record's data may have: this machine's memory.
extern std::uint64_t memory_for_calls;

/// Throws std::runtime_error for a file that is no such record, or not a whole one.
/// @param with_data  or the words alone; the data is looked through all the same
Recorded read_record(const std::string& path, bool with_data);

/// "libblas.so.3", "liblapack.so.3": by which the loader finds the system's library with a routine.
const char* system_library(const std::string& routine);

/// Makes the recorded call, by the symbol that the program's libraries define; over BLASLIFT_FALLBACK, `library`, or
/// the system's, whichever is the first that can be opened.  What the record names is opened by nobody here.  Throws
/// std::runtime_error if that cannot be done.
void make_call(const Recorded& recorded, const std::string& fallback, const std::string& library);

}  // namespace blaslift::cli
