// Variables: an environment of any names and values is read; warnings are fit to be shown.
#include "impl/core/options.hpp"

#include <vector>

#include "compat/shown.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace blaslift;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // Parted by zeros, as the kernel has them.
  std::string text(fuzz::text_of(data, size));
  std::vector<char*> environment;
  for (std::size_t at = 0; at < text.size(); at = text.find('\0', at), at = at == text.npos ? text.size() : at + 1)
    environment.push_back(&text[at]);
  environment.push_back(nullptr);
  std::string warnings;
  const Options options = read_options(environment.data(), warnings);
  fuzz::expect(warnings == shown_lines(warnings));
  if (options.cutting)
    fuzz::expect(options.cutting->levels >= 0 && options.cutting->tile >= 0 && options.cutting->head >= 0);
  // The same for every value by itself, with all variables.
  const std::string value(text.c_str());
  for (const OptionInfo& option : option_table()) {
    Options scratch;
    (void)option.parse(scratch, value.c_str());
  }
  return 0;
}
