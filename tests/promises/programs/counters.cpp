// Prints each counter file that is named, as a line of JSON like blaslift's reports.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>

#include "impl/observe/report.hpp"

int main(int, char** arguments) {
  while (*++arguments) {
    const int fd = open(*arguments, O_RDONLY | O_CLOEXEC);
    void* p = fd < 0 ? MAP_FAILED : mmap(nullptr, sizeof(blaslift::Counters), PROT_READ, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED) return std::perror(*arguments), 1;
    close(fd);
    const auto* counters = static_cast<const blaslift::Counters*>(p);
    if (counters->layout != blaslift::Counters::this_layout)
      return std::fprintf(stderr, "%s: incomplete\n", *arguments), 1;
    blaslift::Summary summary;
    summary.add(*counters);
    std::puts(to_json(summary, counters).c_str());
  }
}
