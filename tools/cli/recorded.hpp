// Calls that verification has kept in files (impl/record.hpp), read and made again.
#pragma once
#include <string>
#include <vector>

#include "impl/record.hpp"

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
};

/// The value of `name` in words of name=value; empty if there is none.
std::string value_in(const std::string& words, const std::string& name);

/// Throws std::runtime_error for a file that is no such record, or not a whole one.
/// @param with_data  or the words alone; the data is looked through all the same
Recorded read_record(const std::string& path, bool with_data);

/// Makes the recorded call, by the symbol that the program's libraries define; over BLASLIFT_FALLBACK, the library that
/// the record names, or libblas.so.3.  Throws std::runtime_error if that cannot be done.
void make_call(const Recorded& recorded, const std::string& fallback);

}  // namespace blaslift::cli
