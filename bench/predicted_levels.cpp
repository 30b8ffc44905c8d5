// What the estimator makes of a profile, for comparison with what is measured; needs no device.
//
//   predicted_levels PROFILE s|d|c|z N|MxNxK[:NT|:TN|:TT] ...
//
// Prints a line of JSON a size: predicted seconds without levels and with 1 to 4 of them (null: the size has no tile
// for so many), of tiles as large as fit, and what the estimator would do; then the size from which on squares get
// levels, by each of the models.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "impl/route/device.hpp"
#include "impl/route/profile.hpp"

int main(int argc, char** argv) {
  using namespace blaslift;
  const char* letters = "sdcz";
  const char* letter = argc > 3 && *argv[2] ? std::strchr(letters, *argv[2]) : nullptr;
  if (!letter) {
    std::fprintf(stderr, "usage: predicted_levels PROFILE s|d|c|z N|MxNxK ...\n");
    return 2;
  }
  const auto precision = static_cast<Precision>(letter - letters);
  Profile profile = built_in_profile("");
  std::string problem;
  if (read_profile(argv[1], profile, problem) == ProfileRead::failed || !problem.empty()) {
    std::fprintf(stderr, "predicted_levels: %s: %s\n", argv[1], problem.empty() ? "cannot be read" : problem.c_str());
    return 1;
  }
  const std::optional<strassen::Estimator> ours = make_estimator(profile, precision);
  if (!ours) {
    std::fprintf(stderr, "predicted_levels: %s: no leaf rates of use\n", argv[1]);
    return 1;
  }
  const strassen::Estimator& estimator = *ours;
  const strassen::Tuning tuning;
  for (int i = 3; i < argc; ++i) {
    long long m = 0, n = 0, k = 0;
    if (std::sscanf(argv[i], "%lldx%lldx%lld", &m, &n, &k) != 3) m = n = k = std::atoll(argv[i]);
    const char* colon = std::strchr(argv[i], ':');
    const std::string_view ops = colon ? colon + 1 : "NN";
    if (std::min({m, n, k}) < 1 || ops.size() != 2 || ops.find_first_not_of("NT") != ops.npos) {
      std::fprintf(stderr, "predicted_levels: %s is neither N nor MxNxK\n", argv[i]);
      return 2;
    }
    const strassen::Shape shape{m, n, k, true, transposes_of(static_cast<Op>(ops[0]), static_cast<Op>(ops[1]))};
    std::printf(
        "{\"what\": \"predicted\", \"precision\": \"%c\", \"m\": %lld, \"n\": %lld, \"k\": %lld, \"trans\": \"%s\", "
        "\"seconds\": [",
        *letter, m, n, k, ops.data());
    for (int level = 0; level <= tuning.max_level; ++level) {
      const long long unit = tuning.alignment << level, tile = level ? std::min({m, n, k}) / unit * unit : 0;
      if (level && !tile)
        std::printf(", null");
      else
        std::printf("%s%.6g", level ? ", " : "", estimator.seconds(shape, level, tile));
    }
    const strassen::Choice choice = estimator.estimate(shape);
    std::printf("], \"level\": %d, \"tile\": %lld, \"chosen\": %.6g}\n", choice.level,
                static_cast<long long>(choice.tile), choice.seconds);
  }
  for (const auto& [name, model] :
       {std::pair{"ours", strassen::Model::ours}, std::pair{"thesis", strassen::Model::thesis},
        std::pair{"otsuka", strassen::Model::otsuka}}) {
    const auto other = make_estimator(profile, precision, model);
    const auto crossover = other ? other->crossover() : std::nullopt;
    std::printf("{\"what\": \"crossover\", \"precision\": \"%c\", \"model\": \"%s\", \"size\": %.6g}\n", *letter, name,
                crossover.value_or(0));
  }
}
