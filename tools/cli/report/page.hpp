// The report of a recorded run as a page: one file that needs nothing else, neither scripts nor the network.
#pragma once
#include <string>

#include "tools/cli/report/analysis.hpp"

namespace blaslift::cli {

std::string report_page(const Analysis& analysis);

}  // namespace blaslift::cli
