// ELF files, as doctor looks at them.
#include <system_error>

#include "tests/fuzz/fuzz.hpp"
#include "tools/cli/doctor/diagnosis.hpp"
#include "tools/cli/doctor/elf_file.hpp"
#include "tools/cli/doctor/object_facts.hpp"

using namespace blaslift;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static fuzz::File file;
  file.write(fuzz::text_of(data, size));
  cli::Diagnosis diagnosis;
  try {
    std::vector<cli::ObjectFacts> all{cli::facts_of(file.path())};
    cli::look_at_objects(all, diagnosis.findings);
    cli::look_at_others(all, diagnosis.findings);
    const cli::ElfFile elf{cli::MappedFile(file.path())};
    diagnosis.program = elf.soname() + elf.interpreter() + elf.machine();
    (void)elf.is_audited();
  } catch (const std::system_error&) {
  }
  (void)cli::to_text(diagnosis);
  (void)cli::to_json(diagnosis);
  return 0;
}
