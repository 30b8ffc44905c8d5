// What is asked of the process's surroundings before a device is opened.
#include "impl/route/device.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "tests/unit/support/temporary.hpp"

namespace blaslift::device_tests {
namespace {

using namespace temporary;

/// An environment without any launcher's variables, then with these.
class Launched {
 public:
  explicit Launched(std::initializer_list<std::pair<const char*, const char*>> settings) {
    for (const char* name : {"OMPI_COMM_WORLD_LOCAL_RANK",
                             "OMPI_COMM_WORLD_LOCAL_SIZE",
                             "MPI_LOCALRANKID",
                             "MPI_LOCALNRANKS",
                             "MV2_COMM_WORLD_LOCAL_RANK",
                             "MV2_COMM_WORLD_LOCAL_SIZE",
                             "PMI_LOCAL_RANK",
                             "PMI_LOCAL_SIZE",
                             "PALS_LOCAL_RANKID",
                             "PALS_LOCAL_SIZE",
                             "FLUX_TASK_LOCAL_ID",
                             "FLUX_TASK_LOCAL_SIZE",
                             "SLURM_LOCALID",
                             "SLURM_NTASKS_PER_NODE",
                             "SLURM_STEP_TASKS_PER_NODE",
                             "SLURM_NODEID",
                             "LOCAL_RANK",
                             "LOCAL_WORLD_SIZE",
                             "NVIDIA_TF32_OVERRIDE",
                             "CUBLAS_EMULATE_DOUBLE_PRECISION",
                             "CUBLAS_EMULATE_SINGLE_PRECISION",
                             "CUBLAS_EMULATION_STRATEGY"})
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
      {"torchrun", {{"LOCAL_RANK", "1"}, {"LOCAL_WORLD_SIZE", "2"}}, 1, 2},
      {"Slurm", {{"SLURM_LOCALID", "11"}, {"SLURM_NTASKS_PER_NODE", "16"}}, 11, 16},
      {"Slurm, several nodes", {{"SLURM_LOCALID", "1"}, {"SLURM_NTASKS_PER_NODE", "4(x2)"}}, 1, 4},
      {"Slurm's step", {{"SLURM_LOCALID", "1"}, {"SLURM_STEP_TASKS_PER_NODE", "4(x2)"}}, 1, 4},
      {"Slurm's step, third node",
       {{"SLURM_LOCALID", "0"}, {"SLURM_NODEID", "2"}, {"SLURM_STEP_TASKS_PER_NODE", "4(x2),3,5"}},
       0,
       3},
      {"Slurm's step, a node too many",
       {{"SLURM_LOCALID", "2"}, {"SLURM_NODEID", "4"}, {"SLURM_STEP_TASKS_PER_NODE", "4(x2),3,5"}},
       2,
       3},
      {"Slurm's step, nonsense",
       {{"SLURM_LOCALID", "0"}, {"SLURM_NODEID", "1"}, {"SLURM_STEP_TASKS_PER_NODE", "4(x"}},
       0,
       1},
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

Profile with_rates(std::initializer_list<Profile::LeafRate> rates) {
  Profile profile = built_in_profile("");
  for (auto& known : profile.leaf_rate[1]) std::fill(std::begin(known), std::end(known), Profile::LeafRate{});
  std::copy(rates.begin(), rates.end(), profile.leaf_rate[1][0]);
  profile.pass_rate = 3e12;
  profile.step_seconds = 5e-6;
  return profile;
}

TEST(Estimators, OfEveryModelComeFromOneProfile) {
  using strassen::Model;
  const Profile profile = with_rates({{512, 20e12}, {1024, 40e12}, {2048, 50e12}, {4096, 52e12}, {8192, 53e12}});
  const auto ours = make_estimator(profile, Precision::d),
             thesis = make_estimator(profile, Precision::d, Model::thesis),
             otsuka = make_estimator(profile, Precision::d, Model::otsuka);
  ASSERT_TRUE(ours && thesis && otsuka);
  // Otsuka's closed form for FP64: 360 F / G - 3, with the largest rate.
  ASSERT_TRUE(otsuka->crossover());
  EXPECT_NEAR(*otsuka->crossover(), 360 * 53e12 / 3e12 - 3, 1);
  // A cubic through five points, nearly.
  ASSERT_TRUE(thesis->crossover());
  EXPECT_GT(*thesis->crossover(), 1000);
  EXPECT_LT(*thesis->crossover(), 20000);
  EXPECT_NEAR(thesis->seconds({8192, 8192, 8192}, 0, 0), 2 * std::pow(8192., 3) / 53e12, 1e-4);
  EXPECT_TRUE(ours->crossover());
  EXPECT_NE(*ours->crossover(), *thesis->crossover());
}

TEST(Estimators, ThereAreNoneWithoutEnoughRates) {
  EXPECT_FALSE(make_estimator(with_rates({}), Precision::d));
  EXPECT_FALSE(make_estimator(with_rates({}), Precision::d, strassen::Model::otsuka));
  const Profile two = with_rates({{512, 20e12}, {1024, 40e12}});
  EXPECT_TRUE(make_estimator(two, Precision::d));
  EXPECT_FALSE(make_estimator(two, Precision::d, strassen::Model::thesis)) << "no cubic through two points";
}

}  // namespace
}  // namespace blaslift::device_tests
