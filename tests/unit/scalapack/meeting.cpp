// Processes that meet in memory of the root's: forked ones here, which share nothing else.
#include "impl/scalapack/meeting.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>

namespace blaslift::scalapack::meeting_tests {
namespace {

constexpr std::size_t bytes = 100000;

/// Another process of the root's, which joins and runs `act`; its exit status is what that returns.
template <class Act>
pid_t another(const std::int32_t* words, const Grid& grid, const Act& act) {
  const pid_t child = fork();
  if (child == 0) {
    Meeting mine;
    _exit(mine.join(grid, words, bytes) ? act(mine) : 99);
  }
  return child;
}

int status_of(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

const Grid root{0, 1, 2, 0, 0}, other{0, 1, 2, 0, 1};

TEST(Meeting, BytesGoBothWaysAndNobodyReadsBeforeAllHaveCome) {
  Meeting meeting;
  ASSERT_TRUE(meeting.make(root, bytes, bytes));
  std::int32_t words[Meeting::invitation_words];
  meeting.invite(words);
  const pid_t child = another(words, other, [](Meeting& mine) {
    usleep(50000);
    std::memcpy(mine.at(bytes - 8), "brought", 8);
    mine.arrive();
    if (mine.wait_for_end() != Meeting::computed) return 1;
    return std::strcmp(mine.at(0), "result") == 0 ? 0 : 2;
  });
  meeting.arrive();
  ASSERT_TRUE(meeting.wait_for_all());
  EXPECT_STREQ(meeting.at(bytes - 8), "brought");
  std::memcpy(meeting.at(0), "result", 7);
  meeting.end(Meeting::computed, false);
  EXPECT_EQ(meeting.wait_for_end(), Meeting::computed);
  EXPECT_EQ(status_of(child), 0);
  meeting.part();
}

TEST(Meeting, MemoryThatIsKeptServesTheNextCallIfItSuffices) {
  Meeting meeting;
  std::int32_t first[Meeting::invitation_words], second[Meeting::invitation_words];
  ASSERT_TRUE(meeting.make(root, bytes, bytes));
  meeting.invite(first);
  const pid_t child = another(first, other, [](Meeting& mine) {
    mine.arrive();
    const bool ended = mine.wait_for_end() == Meeting::declined;
    mine.part();
    return ended ? 0 : 1;
  });
  meeting.arrive();
  ASSERT_TRUE(meeting.wait_for_all());
  meeting.end(Meeting::declined, true);
  meeting.part();
  EXPECT_EQ(status_of(child), 0);
  ASSERT_TRUE(meeting.make(root, bytes / 2, 0));
  meeting.invite(second);
  EXPECT_EQ(std::memcmp(first, second, sizeof first), 0);
  ASSERT_TRUE(meeting.make(root, 4 * bytes, 0));
  meeting.invite(second);
  EXPECT_NE(std::memcmp(first, second, sizeof first), 0);
  meeting.end(Meeting::declined, false);
  meeting.part();
}

TEST(Meeting, MemoryAtWhichAnotherProcessStillLooksServesNoOtherCall) {
  Meeting meeting;
  std::int32_t first[Meeting::invitation_words], second[Meeting::invitation_words];
  ASSERT_TRUE(meeting.make(root, bytes, bytes));
  meeting.invite(first);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = another(first, other, [&](Meeting& mine) {
    mine.arrive();
    char go;
    if (read(ends[0], &go, 1) != 1) return 1;  // slow on its way home
    return mine.wait_for_end() == Meeting::computed && std::strcmp(mine.at(0), "first") == 0 ? 0 : 2;
  });
  meeting.arrive();
  ASSERT_TRUE(meeting.wait_for_all());
  std::memcpy(meeting.at(0), "first", 6);
  meeting.end(Meeting::computed, true);
  meeting.part();
  ASSERT_TRUE(meeting.make(Grid{1, 1, 1, 0, 0}, bytes, bytes));  // a grid without the other one
  meeting.invite(second);
  EXPECT_NE(std::memcmp(first, second, sizeof first), 0);
  std::memcpy(meeting.at(0), "second", 7);
  EXPECT_EQ(write(ends[1], "g", 1), 1);
  EXPECT_EQ(status_of(child), 0);
  meeting.leave();
  close(ends[0]);
  close(ends[1]);
}

TEST(Meeting, ADeadProcessIsNotWaitedFor) {
  Meeting meeting;
  ASSERT_TRUE(meeting.make(root, bytes, bytes));
  std::int32_t words[Meeting::invitation_words];
  meeting.invite(words);
  const pid_t child = another(words, other, [](Meeting&) { return 0; });  // joins, and ends without having arrived
  EXPECT_EQ(status_of(child), 0);
  meeting.arrive();
  EXPECT_FALSE(meeting.wait_for_all());
  meeting.leave();
}

TEST(Meeting, ADeadRootIsNotWaitedFor) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    Meeting meeting;
    if (!meeting.make(root, bytes, bytes)) _exit(1);
    std::int32_t words[Meeting::invitation_words];
    meeting.invite(words);
    if (write(ends[1], words, sizeof words) != sizeof words) _exit(1);
    pause();
  }
  std::int32_t words[Meeting::invitation_words];
  ASSERT_EQ(read(ends[0], words, sizeof words), static_cast<ssize_t>(sizeof words));
  Meeting mine;
  ASSERT_TRUE(mine.join(other, words, bytes));
  mine.arrive();
  kill(child, SIGKILL);
  EXPECT_EQ(status_of(child), -1);
  EXPECT_EQ(mine.wait_for_end(), Meeting::open);
  mine.leave();
  close(ends[0]);
  close(ends[1]);
}

TEST(Meeting, NobodyJoinsWhatIsNotThere) {
  Meeting meeting;
  ASSERT_TRUE(meeting.make(root, bytes, bytes));
  std::int32_t words[Meeting::invitation_words];
  meeting.invite(words);
  for (int wrong = 0; wrong < 3; ++wrong) {
    std::int32_t bad[Meeting::invitation_words];
    std::memcpy(bad, words, sizeof bad);
    bad[wrong] += wrong == 0 ? 1 << 22 : 1;  // another process, another file, another token
    Meeting mine;
    EXPECT_FALSE(mine.join(other, bad, bytes));
  }
  Meeting mine;
  EXPECT_FALSE(mine.join(other, words, 3 * bytes));
  meeting.leave();
}

}  // namespace
}  // namespace blaslift::scalapack::meeting_tests
