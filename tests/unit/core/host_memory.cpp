// What is left of the host's memory: the system's word, and the control groups' under trees of files as the kernel has
// them.
#include "impl/core/host_memory.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>

#include "tests/unit/support/temporary.hpp"

namespace blaslift::host_memory_tests {
namespace {

constexpr std::size_t GiB = std::size_t{1} << 30;

class HostMemory : public testing::Test {
 protected:
  void put(const std::string& path, const std::string& text) {
    const std::filesystem::path file = directory_.path().string() + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  void put(const std::string& path, std::size_t number) { put(path, std::to_string(number) + "\n"); }
  /// 100 GiB.
  void put_system() { put("/proc/meminfo", "MemTotal: 134217728 kB\nMemFree: 1 kB\nMemAvailable:  104857600 kB\n"); }
  std::size_t available() const { return available_memory(directory_.path()); }

  temporary::Directory directory_;
};

TEST_F(HostMemory, OfThisMachineSomethingIsKnown) {
  EXPECT_GT(available_memory(), std::size_t{1} << 20);
  EXPECT_LT(available_memory(), std::size_t{1} << 50);
}

TEST_F(HostMemory, NothingIsKnown) { EXPECT_GE(available(), SIZE_MAX - 1023); }

TEST_F(HostMemory, TheSystemsOwn) {
  put_system();
  EXPECT_EQ(available(), 100 * GiB);
  put("/proc/self/cgroup", "0::/\n");
  EXPECT_EQ(available(), 100 * GiB) << "the root has no limit";
  put("/proc/self/cgroup", "nonsense\n0::/user.slice/../..\n:\n");
  EXPECT_EQ(available(), 100 * GiB);
}

TEST_F(HostMemory, AGroupsLimitLessWhatIsUsedAndNotInCaches) {
  put_system();
  put("/proc/self/cgroup", "0::/job/step\n");
  put("/sys/fs/cgroup/job/step/memory.max", "max\n");
  put("/sys/fs/cgroup/job/step/memory.current", GiB);
  EXPECT_EQ(available(), 100 * GiB);
  put("/sys/fs/cgroup/job/memory.max", 10 * GiB);
  put("/sys/fs/cgroup/job/memory.current", 7 * GiB);
  EXPECT_EQ(available(), 3 * GiB) << "of a group above";
  put("/sys/fs/cgroup/job/memory.stat", "anon 5368709120\nactive_file 1\ninactive_file 2147483648\nslab 7\n");
  EXPECT_EQ(available(), 5 * GiB) << "caches are given back";
  put("/sys/fs/cgroup/job/step/memory.max", 2 * GiB);
  EXPECT_EQ(available(), GiB) << "the least of all";
  put("/sys/fs/cgroup/job/step/memory.current", 3 * GiB);
  EXPECT_EQ(available(), 0u) << "over it";
}

TEST_F(HostMemory, AContainersOwnGroupIsWhereAllAreMounted) {
  put_system();
  put("/proc/self/cgroup", "0::/somewhere/outside\n");
  put("/sys/fs/cgroup/memory.max", 8 * GiB);
  put("/sys/fs/cgroup/memory.current", 2 * GiB);
  EXPECT_EQ(available(), 6 * GiB);
}

TEST_F(HostMemory, TheFirstVersion) {
  put_system();
  put("/proc/self/cgroup", "12:cpu,cpuacct:/other\n5:hugetlb,memory:/slurm/job_1\n1:name=systemd:/memory\n");
  put("/sys/fs/cgroup/memory/slurm/job_1/memory.limit_in_bytes", 20 * GiB);
  put("/sys/fs/cgroup/memory/slurm/job_1/memory.usage_in_bytes", 16 * GiB);
  put("/sys/fs/cgroup/memory/slurm/job_1/memory.stat", "inactive_file 1\ntotal_inactive_file 1073741824\n");
  put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(available(), 5 * GiB);
}

}  // namespace
}  // namespace blaslift::host_memory_tests
