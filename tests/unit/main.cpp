#include <gtest/gtest.h>

#include <string_view>

#include "tests/unit/observe/counters_child.hpp"
#ifdef BLASLIFT_GOLDEN
#include "tests/unit/golden/golden_lanes.hpp"
#endif

int main(int argc, char** argv) {
  if (argc == 3 && std::string_view(argv[1]) == "--make-counters") return blaslift::make_counters(argv[2]);
#ifdef BLASLIFT_GOLDEN
  if (argc == 3 && std::string_view(argv[1]) == "--record-lanes") return blaslift::golden::record_lanes(argv[2]);
#endif
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
