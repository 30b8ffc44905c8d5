// What dealing calls out over several devices should bring by a profile; needs no device.
//
//   predicted_places CLASS
//
// CLASS is that of a built-in profile (sm_90).  Prints docs/developer/places.md's table: predicted milliseconds of
// calls with operands in the host's memory, over 1, 2, 4 and 8 places, each of which has a bus of its own.
#include <complex>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "impl/product/product_family.hpp"
#include "impl/product/product_parts.hpp"
#include "impl/route/device.hpp"
#include "impl/route/route.hpp"

namespace {

using namespace blaslift;
using blaslift::index;  // and not <strings.h>'s

double predicted(const Problem& problem, const Profile& profile, const strassen::Estimator* estimator, double spared) {
  const Policy policy{.on = true, .measuring = false, .forced = false, .fixed = false, .levels = -1};
  return family_of(problem.routine).cost(problem, facts_of_rates(profile, estimator), policy, spared).seconds;
}

template <class T>
void print_line(const char* title, Routine routine, const GemmArgs<T>& call, const Profile& profile) {
  const auto estimator = make_estimator(profile, precision_of<T>);
  const auto seconds_of = [&](const Problem& x, double spared) {
    return predicted(x, profile, estimator ? &*estimator : nullptr, spared);
  };
  std::printf("| %s %lld", title, static_cast<long long>(call.n));
  const Problem whole = problem_of(routine, call);
  const double alone = seconds_of(whole, 0);
  std::printf(" | %.0f", 1e3 * alone);
  for (const int places : {2, 4, 8}) {
    std::vector<Problem> parts;
    for (const GemmArgs<T>& part : parts_of(call, places)) parts.push_back(problem_of(routine, part));
    const double dealt = dealt_seconds(seconds_of_parts(whole, parts, places, profile, true, 0, seconds_of), places);
    std::printf(" | %.0f (%.2f)", 1e3 * dealt, alone / dealt);
  }
  std::printf(" |\n");
}

/// Of a call that places compute together.
void print_line(const char* title, const Problem& call, const Profile& profile) {
  std::printf("| %s %lld", title, static_cast<long long>(call.m));
  if (call.n != call.m) std::printf("x%lld", static_cast<long long>(call.n));
  const double alone = predicted(call, profile, nullptr, 0);
  std::printf(" | %.0f", 1e3 * alone);
  for (const int places : {2, 4, 8}) {
    const double together = family_of(call.routine).together(call, profile, places, std::size_t{1} << 40).value();
    std::printf(" | %.0f (%.2f)", 1e3 * together, alone / together);
  }
  std::printf(" |\n");
}

template <class T>
GemmArgs<T> square(blaslift::index n, Part part) {
  static T memory[1];  // nobody reads it: only where operands begin
  const Op other = part == Part::whole ? Op::none : Op::transpose;
  return {Op::none, other, n, n, n, T(1), memory, n, memory, n, T(0), memory, n, part};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: predicted_places CLASS\n");
    return 2;
  }
  const Profile profile = built_in_profile(argv[1]);
  std::printf("| call | 1 | 2 | 4 | 8 |\n|---|---:|---:|---:|---:|\n");
  for (const blaslift::index n : {8192, 16384, 32768}) {
    print_line("dgemm", Routine::dgemm, square<double>(n, Part::whole), profile);
    print_line("sgemm", Routine::sgemm, square<float>(n, Part::whole), profile);
    print_line("zgemm", Routine::zgemm, square<std::complex<double>>(n, Part::whole), profile);
    print_line("dsyrk", Routine::dsyrk, square<double>(n, Part::lower), profile);
  }
  const auto factors = [](Routine routine, blaslift::index m, blaslift::index n) {
    return counted({.routine = routine, .element = Precision::d, .m = m, .n = n, .part = Part::lower});
  };
  for (const blaslift::index n : {8192, 16384, 32768, 65536})
    for (const auto& [title, routine] :
         {std::pair{"dpotrf", Routine::dpotrf}, {"dgetrf", Routine::dgetrf}, {"dgeqrf", Routine::dgeqrf}})
      print_line(title, factors(routine, n, n), profile);
  print_line("dgeqrf", factors(Routine::dgeqrf, 131072, 2048), profile);
  print_line("dgeqrf", factors(Routine::dgeqrf, 1048576, 64), profile);
}
