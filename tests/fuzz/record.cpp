// Records: a file of any contents, with the sum that these have, is read, refused or made again.
#include <stdexcept>

#include "impl/observe/call_record.hpp"
#include "tests/fuzz/fuzz.hpp"
#include "tools/cli/verify/call_replay.hpp"

using namespace blaslift;

/// LAPACK's own would end the process: of a matrix with NaN, say, for gebal.
extern "C" __attribute__((visibility("default"))) void xerbla_(const char*, const int*, std::size_t) {}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static fuzz::File file;
  cli::memory_for_calls = 1 << 22;
  std::string bytes(fuzz::text_of(data, size));
  // Without the sum all that is behind it would never be reached.
  if (const std::size_t at = bytes.rfind("sum "); at != bytes.npos && bytes.size() - at < 40) bytes.resize(at);
  RecordSum sum;
  sum.add(bytes.data(), bytes.size());
  file.write(bytes + sum.line());
  try {
    const cli::Recorded words = cli::read_record(file.path(), false);
    for (const char* name : {"memory", "levels", "tile", "head", "cut"}) (void)cli::value_in(words.text.way, name);
    cli::make_call(cli::read_record(file.path(), true), "", "");
  } catch (const std::runtime_error&) {
  }
  return 0;
}
