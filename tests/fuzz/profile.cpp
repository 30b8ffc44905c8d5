// Profiles: any text is read, what follows from it is finite and fast, and what is written of it is read again.
#include "impl/route/profile.hpp"
#include "impl/product/product_family.hpp"
#include "impl/qr/qr_family.hpp"
#include "impl/qr/qr_section.hpp"
#include "impl/route/lapack_section.hpp"
#include "impl/symv/symv_family.hpp"
#include "impl/symv/symv_section.hpp"

#include <cmath>

#include "compat/shown.hpp"
#include "impl/route/decision.hpp"
#include "impl/route/device.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace blaslift;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  Profile profile = built_in_profile("sm_90");
  std::string problem;
  read_profile_text(text, profile, problem);
  (void)shown(problem);
  // One of them each time, since they take longest.
  const auto precision = static_cast<Precision>(size % precision_count);
  const auto model = static_cast<strassen::Model>(size / precision_count % 3);
  if (const auto estimator = make_estimator(profile, precision, model))
    for (const blaslift::index n : {1L, 777L, 20000L}) (void)estimator->estimate({n, n, n, true, Transposes::nn}, n);
  for (const blaslift::index k : {1L, 300L, 20000L}) (void)qr_widths(profile, precision, k);
  const auto estimator = make_estimator(profile, Precision::d);
  Facts facts{.device = DeviceState::ready, .profile = &profile, .cpu_rate = 1e10, .slowdown = 1};
  facts.estimator = estimator ? &*estimator : nullptr;
  const Policy policy{.on = true, .measuring = false, .forced = false, .fixed = false, .levels = -1};
  for (const blaslift::index n : {1L, 300L, 4096L}) {
    (void)decide(counted({Routine::dgemm, Precision::d, n, n, n}), facts, policy);
    (void)decide(counted({.routine = Routine::dsymv, .element = Element::d, .n = n}), facts, policy);
    (void)decide(counted({.routine = Routine::dgemv, .element = Element::d, .m = n, .n = n}), facts, policy);
    (void)decide(counted({Routine::dgeqrf, Precision::d, n, n}), facts, policy);
    for (int work = 0; work < lapack_works; ++work)
      if (const auto seconds =
              measured_seconds(profile, static_cast<LapackWork>(work), precision, static_cast<double>(n)))
        fuzz::expect(std::isfinite(*seconds) && *seconds > 0);
    for (const Uplo uplo : {Uplo::lower, Uplo::upper}) (void)symv_rule(profile, Element::d, uplo, n);
  }
  (void)preferences_for(profile, "cublasLt-130100-sm_90");
  Profile again = built_in_profile("sm_90");
  std::string none;
  read_profile_text(to_text(profile), again, none);
  fuzz::expect(none.empty());
  (void)with_lines(text, {{"dgemm_leaf_rate", 4096, 1e13}, {"in_rate", 0, 1e10}});
  return 0;
}
