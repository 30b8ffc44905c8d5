// Counters that the processes of a run have left in files.  These are the program's to write to: nothing in them is
// believed, and what is kept of them is a copy.
#pragma once
#include <string>

#include "impl/observe/counters.hpp"
#include "tools/preload/measure/others.hpp"

namespace blaslift::cli {

/// What a file holds that is large enough and of this version; null otherwise.  For the life of this process.  Those of
/// a trace have more behind them.
const Counters* read_counters(const std::string& path);
const OtherCounters* read_other_counters(const std::string& path);

}  // namespace blaslift::cli
