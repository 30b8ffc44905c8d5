// What is asked of the process's surroundings before a device is opened.
#include "impl/device.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tests/unit/temporary.hpp"

namespace blaslift {
namespace {

using namespace temporary;

/// An environment without any launcher's variables, then with these.
class Launched {
 public:
  explicit Launched(std::initializer_list<std::pair<const char*, const char*>> settings) {
    for (const char* name :
         {"OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS",
          "MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_SIZE", "PMI_LOCAL_RANK", "PMI_LOCAL_SIZE",
          "PALS_LOCAL_RANKID", "PALS_LOCAL_SIZE", "FLUX_TASK_LOCAL_ID", "FLUX_TASK_LOCAL_SIZE", "SLURM_LOCALID",
          "SLURM_NTASKS_PER_NODE", "NVIDIA_TF32_OVERRIDE", "CUBLAS_EMULATE_DOUBLE_PRECISION",
          "CUBLAS_EMULATE_SINGLE_PRECISION", "CUBLAS_EMULATION_STRATEGY"})
      variables_.push_back(std::make_unique<Variable>(name, nullptr));
    for (const auto& [name, value] : settings) variables_.push_back(std::make_unique<Variable>(name, value));
  }
  ~Launched() {
    while (!variables_.empty()) variables_.pop_back();  // last set, first restored
  }
  Launched(const Launched&) = delete;
  Launched& operator=(const Launched&) = delete;

 private:
  std::vector<std::unique_ptr<Variable>> variables_;
};

TEST(LocalRank, OfEveryLauncher) {
  struct {
    const char* what;
    std::initializer_list<std::pair<const char*, const char*>> settings;
    int rank, size;
  } const cases[] = {
      {"no job", {}, 0, 1},
      {"Open MPI", {{"OMPI_COMM_WORLD_LOCAL_RANK", "2"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"}}, 2, 4},
      {"MPICH, Intel MPI", {{"MPI_LOCALRANKID", "0"}, {"MPI_LOCALNRANKS", "8"}}, 0, 8},
      {"MVAPICH", {{"MV2_COMM_WORLD_LOCAL_RANK", "7"}, {"MV2_COMM_WORLD_LOCAL_SIZE", "8"}}, 7, 8},
      {"PMI", {{"PMI_LOCAL_RANK", "1"}, {"PMI_LOCAL_SIZE", "2"}}, 1, 2},
      {"PALS", {{"PALS_LOCAL_RANKID", "3"}, {"PALS_LOCAL_SIZE", "4"}}, 3, 4},
      {"Flux without a size", {{"FLUX_TASK_LOCAL_ID", "5"}}, 5, 6},
      {"Slurm", {{"SLURM_LOCALID", "11"}, {"SLURM_NTASKS_PER_NODE", "16"}}, 11, 16},
      {"Slurm, several nodes", {{"SLURM_LOCALID", "1"}, {"SLURM_NTASKS_PER_NODE", "4(x2)"}}, 1, 4},
      {"Open MPI inside a Slurm allocation",
       {{"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
        {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
        {"SLURM_LOCALID", "0"},
        {"SLURM_NTASKS_PER_NODE", "64"}},
       1,
       2},
      {"a size that cannot be", {{"PMI_LOCAL_RANK", "3"}, {"PMI_LOCAL_SIZE", "2"}}, 3, 4},
      {"nonsense", {{"PMI_LOCAL_RANK", "-1"}, {"PMI_LOCAL_SIZE", "x"}}, 0, 1},
      {"empty", {{"OMPI_COMM_WORLD_LOCAL_RANK", ""}, {"OMPI_COMM_WORLD_LOCAL_SIZE", ""}}, 0, 1},
  };
  for (const auto& c : cases) {
    const Launched environment(c.settings);
    const LocalRank local = local_rank();
    EXPECT_EQ(local.rank, c.rank) << c.what;
    EXPECT_EQ(local.size, c.size) << c.what;
  }
}

TEST(ForeignSwitches, AreNamedWhereTheyAreOn) {
  {
    const Launched none({});
    EXPECT_EQ(foreign_switches(), "");
  }
  {
    const Launched off({{"NVIDIA_TF32_OVERRIDE", "0"}, {"CUBLAS_EMULATE_DOUBLE_PRECISION", ""}});
    EXPECT_EQ(foreign_switches(), "");
  }
  const Launched two({{"NVIDIA_TF32_OVERRIDE", "1"}, {"CUBLAS_EMULATION_STRATEGY", "performant"}});
  const std::string text = foreign_switches();
  EXPECT_NE(text.find("NVIDIA_TF32_OVERRIDE=1, CUBLAS_EMULATION_STRATEGY=performant"), std::string::npos) << text;
}

TEST(OpenModule, SaysWhyItCannot) {
  const Directory directory;
  std::string why;
  EXPECT_EQ(open_module(directory.path(), "host", {}, why), nullptr);
  EXPECT_NE(why.find(directory.path()), std::string::npos) << "not there: " << why;
  directory.file("libblaslift_host.so", "not a library");
  EXPECT_EQ(open_module(directory.path(), "host", {}, why), nullptr);
  EXPECT_NE(why.find("libblaslift_host.so"), std::string::npos) << "no library: " << why;
}

}  // namespace
}  // namespace blaslift
