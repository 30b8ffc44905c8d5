// What came from elsewhere (a program, a file, a variable), for people to read.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace blaslift {

/// The character that a text begins with.
struct Character {
  std::size_t length;  ///< bytes of its UTF-8 sequence; 0: there is none
  unsigned code;
  bool fit;  ///< to be shown: terminals do not obey it, and it does not change where others stand
};
Character first_character(std::string_view text);

/// The text on one line, without what terminals obey or readers are misled by.  Such characters stand there as their
/// bytes, "\x1b".
std::string shown(std::string_view text);

/// The same of several lines.
std::string shown_lines(std::string_view text);

}  // namespace blaslift
