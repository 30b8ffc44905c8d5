// JSON as the command writes it.
#pragma once
#include <nlohmann/json.hpp>
#include <string>

namespace blaslift::cli {

/// Members keep the order in which they were added.
using Json = nlohmann::ordered_json;

/// On one line, without its end, in ASCII: terminals obey nothing in it.  A program's name may be any bytes: what is
/// not UTF-8 becomes U+FFFD, and nothing is thrown.
inline std::string json_text(const Json& value) { return value.dump(-1, ' ', true, Json::error_handler_t::replace); }

}  // namespace blaslift::cli
