// The report of a recorded run, for a terminal.
#pragma once
#include <string>

#include "tools/cli/report/analysis.hpp"

namespace blaslift::cli {

std::string report_text(const Analysis& analysis);

/// What is not in a report, and why: sentences.
std::vector<std::string> gaps_of(const Analysis& analysis);

/// What a bigger share of the calls on the device would bring: sentences.
std::vector<std::string> share_of(const Analysis& analysis);

/// "from 1.07 Gflop" for a class of sizes.
std::string name_of_size(std::size_t size_class);

}  // namespace blaslift::cli
