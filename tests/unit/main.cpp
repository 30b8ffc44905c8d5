#include <gtest/gtest.h>

#include <string_view>

#include "tests/unit/observe/counters_child.hpp"

int main(int argc, char** argv) {
  if (argc == 3 && std::string_view(argv[1]) == "--make-counters") return blaslift::make_counters(argv[2]);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
