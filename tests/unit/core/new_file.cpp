#include "impl/core/new_file.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/unit/support/temporary.hpp"
#include "tools/cli/tune/profile_file.hpp"

namespace blaslift::new_file_tests {
namespace {

namespace fs = std::filesystem;
using temporary::Directory;
using temporary::in_child;

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const fs::directory_entry& file : fs::directory_iterator(folder)) names.push_back(file.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

mode_t mode_of(const std::string& path) {
  struct stat status {};
  return lstat(path.c_str(), &status) == 0 ? status.st_mode & 07777 : 0;
}

int put(const std::string& path, const std::string& text) {
  NewFile file(path);
  file.write(text.data(), text.size());
  return file.put_in_place();
}

/// As a program may have it that means well with everybody.
class NoMask {
 public:
  ~NoMask() { umask(before_); }

 private:
  mode_t before_ = umask(0);
};

TEST(NewFile, TakesItsPlaceAtTheEndAndNotBefore) {
  const Directory directory;
  const std::string path = directory.file("file", "before");
  NewFile file(path);
  file.write("one", 3);
  file.write("", 0);
  file.write("two", 3);
  EXPECT_EQ(text_of(path), "before");
  EXPECT_EQ(names_in(directory.path()), (std::vector<std::string>{"file", "file.partial"}));
  EXPECT_EQ(file.put_in_place(), 0);
  EXPECT_EQ(text_of(path), "onetwo");
  EXPECT_EQ(names_in(directory.path()), std::vector<std::string>{"file"});
}

TEST(NewFile, LeavesNothingUnlessItIsFinished) {
  const Directory directory;
  const std::string path = directory.file("file", "before");
  { NewFile(path).write("half", 4); }
  EXPECT_EQ(text_of(path), "before");
  EXPECT_EQ(names_in(directory.path()), std::vector<std::string>{"file"});
}

TEST(NewFile, IsItsOwnersAloneUnlessOthersArePermitted) {
  const NoMask no_mask;
  const Directory directory;
  const std::string path = directory.path() / "file";
  {
    NewFile file(path);
    EXPECT_EQ(mode_of(path + ".partial"), 0600u);
    EXPECT_EQ(file.put_in_place(), 0);
  }
  EXPECT_EQ(mode_of(path), 0600u);
  NewFile file(path);
  file.permit(0644);
  file.reach_the_disk();
  EXPECT_EQ(file.put_in_place(), 0);
  EXPECT_EQ(mode_of(path), 0644u);
}

TEST(NewFile, LeavesAloneWhatStandsAtItsName) {
  const Directory directory;
  const std::string path = directory.path() / "file", precious = directory.file("precious", "precious");
  fs::create_symlink("precious", path + ".partial");
  fs::create_symlink("nothing", path + ".1.partial");  // which would make a file elsewhere
  ASSERT_EQ(mkfifo((path + ".2.partial").c_str(), 0666), 0);
  fs::create_directory(path + ".3.partial");
  fs::create_hard_link(precious, path + ".4.partial");
  const std::vector<std::string> before = names_in(directory.path());
  EXPECT_EQ(put(path, "text"), 0);
  EXPECT_EQ(text_of(path), "text");
  EXPECT_EQ(text_of(precious), "precious");
  fs::remove(path);
  EXPECT_EQ(names_in(directory.path()), before);
  EXPECT_TRUE(fs::is_symlink(path + ".partial"));
}

TEST(NewFile, TakesALinksPlaceAndDoesNotFollowIt) {
  const Directory directory;
  const std::string path = directory.path() / "file", precious = directory.file("precious", "precious");
  fs::create_symlink("precious", path);
  EXPECT_EQ(put(path, "text"), 0);
  EXPECT_FALSE(fs::is_symlink(path));
  EXPECT_EQ(text_of(path), "text");
  EXPECT_EQ(text_of(precious), "precious");
}

TEST(NewFile, SaysWhyThereIsNone) {
  const Directory directory;
  EXPECT_EQ(put(directory.path() / "nowhere" / "file", "text"), ENOENT);
  const fs::path folder = directory.path() / "folder";
  fs::create_directory(folder);
  EXPECT_EQ(put(folder, "text"), EISDIR);
  EXPECT_EQ(names_in(directory.path()), std::vector<std::string>{"folder"}) << "nor is anything left beside it";
  const auto always_the_same = [](const std::string& path, int) { return path + ".taken"; };
  directory.file("file.taken", "another's");
  NewFile file(directory.path() / "file", always_the_same);
  file.write("text", 4);
  file.permit(0644);
  file.reach_the_disk();
  EXPECT_EQ(file.put_in_place(), EEXIST);
  EXPECT_EQ(text_of(directory.path() / "file.taken"), "another's");
}

TEST(NewFile, WithoutRoomLeavesWhatWasThere) {
  const Directory directory;
  const std::string path = directory.file("file", "before");
  EXPECT_EQ(in_child([&path] {
              std::signal(SIGXFSZ, SIG_IGN);
              const rlimit few{100, 100};
              if (setrlimit(RLIMIT_FSIZE, &few) != 0) return 1;
              return put(path, std::string(200, 'x'));
            }),
            EFBIG);
  EXPECT_EQ(text_of(path), "before");
  EXPECT_EQ(names_in(directory.path()), std::vector<std::string>{"file"});
}

TEST(ReplaceFile, LetsThoseReadWhomTheProcessLets) {
  const Directory directory;
  const std::string path = directory.file("file", "before");
  for (const mode_t mask : {022u, 077u, 0u}) {
    const mode_t before = umask(mask);
    cli::replace_file(path, "text");
    EXPECT_EQ(umask(before), mask);
    EXPECT_EQ(mode_of(path), 0666u & ~mask);
  }
  EXPECT_EQ(text_of(path), "text");
  EXPECT_EQ(names_in(directory.path()), std::vector<std::string>{"file"});
}

TEST(ReplaceFile, ThrowsAndLeavesNothing) {
  const Directory directory;
  const fs::path folder = directory.path() / "folder";
  fs::create_directory(folder);
  EXPECT_THROW(cli::replace_file(folder, "text"), std::runtime_error);
  EXPECT_THROW(cli::replace_file(directory.path() / "nowhere" / "file", "text"), std::runtime_error);
  EXPECT_EQ(names_in(directory.path()), std::vector<std::string>{"folder"});
}

}  // namespace
}  // namespace blaslift::new_file_tests
