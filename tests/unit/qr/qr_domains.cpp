// QR of tall matrices whose rows are dealt out over places: LAPACK's format comes back, whatever order the lanes run
// things in, and nothing of the caller's changes if anything fails.
//
// Bounds as in qr_execute.cpp.
#include "impl/qr/qr_domains_plan.hpp"

#include <gtest/gtest.h>

#include "tests/precisions.hpp"
#include "tests/unit/qr/qr_reference.hpp"
#include "tests/unit/support/plans.hpp"
#include "tests/unit/support/random.hpp"
#include "tests/unit/support/shuffled.hpp"

namespace blaslift::qr_domains_tests {
namespace {

using namespace reference;

template <class T>
struct Tall {
  int places;
  index n;
  QrDomains cut;
  Matrix<T> A0, A;
  std::vector<T> tau;

  Tall(int of, index m, index columns, index block, Kind kind = Kind::random)
      : places(of),
        n(columns),
        cut{block},
        A0(matrix_of<T>(kind, m, columns)),
        A(A0),
        tau(static_cast<std::size_t>(columns)) {}

  static Tall drawn(Random& r, Kind kind) {
    const int places = 2 + static_cast<int>(r.below(4));
    const index n = r.up_to(18), block = r.up_to(n);
    return Tall(places, n + places * block + r.below(60), n, block, kind);
  }

  std::vector<Plan> plans() const {
    std::vector<Plan> all;
    for (int place = 0; place < places; ++place) {
      all.push_back(plan_qr_domains(A.rows(), n, precision_of<T>, cut, place, places));
      EXPECT_EQ(check(all.back()), "") << text() << ", place " << place << "\n" << to_string(all.back());
    }
    return all;
  }
  /// A place's part.  Others' tau stays theirs.
  PlanOutcome run(const Plan& plan, Lane& lane, Seat& seat) {
    std::vector<T> own(tau.size());
    const PlanOutcome outcome = run_leased<T>(plan, {{A.data(), A.ld()}, {own.data(), n}}, {}, lane, {}, &seat);
    if (seat.number() == 0) tau = own;
    return outcome;
  }
  std::string text() const {
    return std::to_string(A.rows()) + " x " + std::to_string(n) + " by " + std::to_string(cut.block) + ", " +
           std::to_string(places) + " places";
  }

  void expect_qr() const {
    const index m = A.rows();
    const double allowed = static_cast<double>(m + n) * eps<T>() * (complex_type<T> ? 2 : 1);
    Wide<T> r = Wide<T>::of(A0), q(m, n);
    const double norm = r.norm();
    apply_lapack_q(true, m, n, A.data(), A.ld(), tau.data(), r);
    EXPECT_LE((r - upper_part(m, n, A.data(), A.ld())).norm(), allowed * norm) << text();
    for (index j = 0; j < n; ++j) q(j, j) = 1;
    apply_lapack_q(false, m, n, A.data(), A.ld(), tau.data(), q);
    EXPECT_LE(orthogonality(q), allowed * std::sqrt(static_cast<double>(n))) << text();
    EXPECT_TRUE(A.canaries_intact());
  }
};

template <class T>
class QrDomainsExecute : public testing::Test {};
TYPED_TEST_SUITE(QrDomainsExecute, Precisions);

TYPED_TEST(QrDomainsExecute, PlacesFactorTogetherInEveryOrderWithTheSameBits) {
  using T = TypeParam;
  Random r(1);
  int blocks = 0, many = 0;
  for (const Kind kind : kinds)
    for (int round = 0; round < 12; ++round) {
      Tall<T> x = Tall<T>::drawn(r, kind);
      blocks += x.cut.blocks(x.n) > 2;
      many += x.places > 3 && x.cut.blocks(x.n) > 1;
      const std::vector<Plan> plans = x.plans();
      Matrix<T> first = x.A;
      std::vector<T> first_tau = x.tau;
      for (unsigned seed = 0; seed < 3; ++seed) {
        x.A = x.A0;
        const std::vector<Outcome> outcomes = run_together(x.places, [&](Seat& seat) -> Outcome {
          Shuffled lane(seed);
          return x.run(plans[static_cast<std::size_t>(seat.number())], lane, seat);
        });
        ASSERT_TRUE(all_well(outcomes)) << x.text();
        x.expect_qr();
        if (testing::Test::HasFailure()) return;
        if (seed == 0) first = x.A, first_tau = x.tau;
        ASSERT_TRUE(x.A == first && x.tau == first_tau) << x.text() << " seed " << seed;
        double in = 0, out = 0;
        for (const Outcome& y : outcomes) in += y.bytes_in, out += y.bytes_out;
        EXPECT_EQ(in, static_cast<double>(x.A.rows() * x.n) * sizeof(T)) << x.text();
        EXPECT_EQ(out, static_cast<double>(x.A.rows() * x.n) * sizeof(T)) << x.text();
      }
    }
  EXPECT_GT(blocks, 10);
  EXPECT_GT(many, 5);
}

/// Reflectors of what is zero below the diagonal are the identity, as LAPACK's are.
TYPED_TEST(QrDomainsExecute, LeavesColumnsAloneThatNeedNoReflector) {
  using T = TypeParam;
  Tall<T> x(3, 60, 6, 4);
  for (index j = 0; j < 6; ++j)
    for (index i = j + 1; i < 60; ++i) x.A0(i, j) = T(0);
  x.A = x.A0;
  const std::vector<Plan> plans = x.plans();
  ASSERT_TRUE(all_well(run_together(3, [&](Seat& seat) -> Outcome {
    Shuffled lane(1);
    return x.run(plans[static_cast<std::size_t>(seat.number())], lane, seat);
  })));
  x.expect_qr();
  for (index j = 0; j < 6; ++j)
    for (index i = j + 1; i < 60; ++i) EXPECT_EQ(x.A(i, j), T(0)) << i << ", " << j;
}

TYPED_TEST(QrDomainsExecute, AFaultAtAnyPlaceLeavesTheCallersMemoryAlone) {
  using T = TypeParam;
  int struck = 0;
  for (Tall<T> x : {Tall<T>(3, 50, 10, 4), Tall<T>(2, 40, 5, 5)}) {
    const std::vector<Plan> plans = x.plans();
    const std::vector<T> tau = x.tau;
    struck += with_each_operation_failing_together(
        x.places, [&] { x.A = x.A0, x.tau = tau; },
        [&](Lane& lane, Seat& seat) { return x.run(plans[static_cast<std::size_t>(seat.number())], lane, seat); },
        [&] { x.expect_qr(); }, [&] { ASSERT_TRUE(x.A == x.A0) << x.text(); });
    if (testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GT(struck, 100);
}

TEST(QrDomains, AreOfTallMatricesThatFit) {
  const std::size_t large = std::size_t{1} << 40;
  EXPECT_EQ(qr_domains(1048576, 64, Precision::d, large, 2).block, 64);
  EXPECT_EQ(qr_domains(131072, 2048, Precision::d, large, 2).block, 128);
  EXPECT_EQ(qr_domains(8192, 8192, Precision::d, large, 2).block, 0);
  EXPECT_EQ(qr_domains(1048576, 64, Precision::d, large, 1).block, 0);
  EXPECT_EQ(qr_domains(1048576, 0, Precision::d, large, 2).block, 0);
  int fit = 0, none = 0;
  for (const index n : {1, 30, 64, 600})
    for (const int places : {2, 3, 7})
      for (std::size_t memory = 1 << 14; memory < large; memory *= 4) {
        const index m = n + 5 * n * places + 13;
        const QrDomains cut = qr_domains(m, n, Precision::z, memory, places);
        ++(cut.block > 0 ? fit : none);
        for (int place = 0; cut.block > 0 && place < places; ++place)
          EXPECT_LE(plan_qr_domains(m, n, Precision::z, cut, place, places).bytes(16), memory) << n << ", " << places;
      }
  EXPECT_GT(fit, 20);
  EXPECT_GT(none, 10);
}

TEST(QrDomains, AreAllRowsBelowTheTop) {
  for (const index m : {10, 57, 1000})
    for (const index n : {1, 9})
      for (const int places : {2, 3, 7}) {
        index next = n, most = 0, least = m;
        for (int place = 0; place < places; ++place) {
          const QrDomain x = qr_domain(m, n, place, places);
          EXPECT_EQ(x.first, next);
          next += x.count;
          most = std::max(most, x.count), least = std::min(least, x.count);
          EXPECT_LE(x.count, qr_domain(m, n, 0, places).count);
        }
        EXPECT_EQ(next, m);
        EXPECT_LE(most - least, 1);
      }
}

}  // namespace
}  // namespace blaslift::qr_domains_tests
