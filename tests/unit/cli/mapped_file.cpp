#include "tools/cli/doctor/mapped_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

#include "tests/unit/support/temporary.hpp"

namespace blaslift::cli::mapped_file_tests {
namespace {

using temporary::Directory;

int error_of(const std::string& path) {
  try {
    const MappedFile file(path);
  } catch (const std::system_error& error) {
    return error.code().value();
  }
  return 0;
}

TEST(MappedFile, HoldsAFilesBytes) {
  const Directory directory;
  const std::string text(100000, 'x');
  const std::string path = directory.file("file", text + "end");
  MappedFile file(path);
  EXPECT_EQ(file.bytes(), text + "end");
  const MappedFile other(std::move(file));
  EXPECT_EQ(other.bytes().substr(text.size()), "end");
  EXPECT_EQ(file.bytes(), "");
}

TEST(MappedFile, OfNothingIsEmpty) {
  const Directory directory;
  EXPECT_EQ(MappedFile(directory.file("empty", "")).bytes(), "");
}

TEST(MappedFile, SaysWhyThereIsNone) {
  const Directory directory;
  EXPECT_EQ(error_of(directory.path() / "nowhere"), ENOENT);
  EXPECT_EQ(error_of(directory.path()), EISDIR);
  const std::string fifo = directory.path() / "fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_EQ(error_of(fifo), EACCES) << "and nobody is waited for";
  EXPECT_EQ(error_of("/dev/null"), EACCES);
}

}  // namespace
}  // namespace blaslift::cli::mapped_file_tests
