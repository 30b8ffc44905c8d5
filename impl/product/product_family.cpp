#include "impl/product/product_family.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "impl/product/product_plan.hpp"
#include "impl/strassen/estimator.hpp"
#include "kernels/residues.hpp"

namespace blaslift {
namespace {

/// A part of the product, with all of k.
strassen::Shape part_of(const Problem& p, index m, index n) { return {m, n, p.k, p.beta_zero, p.transposes}; }

/// The product as the estimator knows it: of a triangle, a rectangle of half the size.  Two products of a triangle are
/// one of the whole.  Derived from syrk's, which was measured: what gemmt computes beside its triangle, in squares of
/// 256 on the diagonal, is left out.
strassen::Shape rectangle_of(const Problem& p) {
  const bool half = p.part != Part::whole && p.update != Update::rank_2k;
  return part_of(p, half ? std::max<index>(1, p.m / 2) : p.m, p.n);
}

/// How levels would compute a triangle: tiles beside the diagonal by levels, whatever else is there classically.
strassen::Choice best_in_triangle(const strassen::Estimator& estimator, const Problem& p) {
  const double n = static_cast<double>(p.n);
  strassen::Choice best{0, 0, estimator.seconds(rectangle_of(p), 0, 0)};
  for (const index parts : {2, 3, 4, 6, 8}) {
    const index edge = p.n / parts;
    if (edge == 0) break;
    strassen::Choice choice = estimator.estimate(part_of(p, edge, edge), edge);
    if (choice.level == 0) continue;
    const double t = static_cast<double>(choice.tile), across = static_cast<double>(p.n / choice.tile),
                 tiles = across * (across - 1) / 2, rest = (n * n / 2 - tiles * t * t) / t;
    choice.seconds = tiles * estimator.seconds(part_of(p, choice.tile, choice.tile), choice.level, choice.tile) +
                     estimator.seconds(part_of(p, std::max<index>(1, static_cast<index>(rest)), choice.tile), 0, 0);
    if (choice.seconds < best.seconds) best = choice;
  }
  return best;
}

/// How levels would compute the product, in tiles of `most_tile` at most; level 0: they would not.
strassen::Choice levels_for(const Problem& p, const Facts& facts, const Policy& policy, index most_tile) {
  if (facts.rounds_otherwise || !p.alpha_finite) return {};
  if (p.part != Part::whole && p.update == Update::rank_2k) return {};  // there are no plans of two products
  strassen::Choice choice{};
  if (policy.levels < 0) {
    if (facts.estimator)
      choice = p.part == Part::whole ? facts.estimator->estimate(rectangle_of(p), most_tile)
                                     : best_in_triangle(*facts.estimator, p);
  } else {
    // As many as asked for, of tiles as large as fit; beside a diagonal there are two of them across.
    const index smallest = p.part == Part::whole ? std::min({p.m, p.n, p.k}) : std::min(p.n / 2, p.k);
    if (smallest == 0) return {};
    choice.level = policy.levels;
    while (smallest >> choice.level == 0) --choice.level;
    choice.tile = smallest >> choice.level << choice.level;
    choice.seconds = p.flops / facts.profile->gemm_rate[static_cast<int>(p.element.name)];
  }
  return choice.level > 0 && leaves_of(p, choice.level, choice.tile) <= most_leaves ? choice : strassen::Choice{};
}

/// Seconds of that on the device; infinite where the profile does not know its rate.
double residues_seconds(const Problem& p, const Profile& profile) {
  if (profile.int8_rate == 0) return HUGE_VAL;
  const double m = static_cast<double>(p.m), n = static_cast<double>(p.n), k = static_cast<double>(p.k),
               element = static_cast<double>(element_size(p.element));
  const auto precision = static_cast<Precision>(p.element.name);
  const int parts = residues::parts_split(precision), moduli = residues::count_in(precision), planes = moduli * parts;
  // H200, INT8 products of 2,048, 3,072, 4,096 and 8,192: 670, 1,200, 1,450 and 1,400 Top/s.
  constexpr double half = 2000;
  const double edge = std::cbrt(m * n * k);
  // Each multiprocessor has tiles of C of its own: with fewer than one wave of them the others idle, however long k is.
  constexpr double filled = 2900.0 * 2900.0;
  const double rate = profile.int8_rate * std::min(1 / (1 + std::pow(half / edge, 4)), std::min(1.0, m * n / filled));
  // Of a triangle squares and rectangles are computed, about eight of them along the diagonal.
  const double panels = n / std::max(static_cast<double>(usual_panel), n / 8),
               results = p.part == Part::whole ? m * n : n * n * (1 + 1 / std::max(1.0, panels)) / 2;
  // Operands are read three times and written as a byte for each modulus; sums of 32 bits, written within the
  // products' time, are read once.
  const double split = (m * k + k * n) * (3 * element + planes), joined = results * (4 * planes + 2 * element);
  constexpr double steps = 12;
  return planes * 2 * results * k / rate + (split + joined) / profile.pass_rate +
         (steps + planes) * profile.step_seconds;
}

/// Seconds of transfers.
struct Moving {
  double in_ab, in_c, out;
};

/// Seconds until a product has been computed whose operands arrive meanwhile, in panels or tiles.  With a part f of A
/// and B, a part f^2 of C can be computed, and has to be there if it is read: the last wait for an operand comes where
/// f * in_ab + f^2 * in_c + (1 - f^2) * computing is largest.
struct Growing {
  double seconds, last_wait;  ///< the latter: f
};
Growing growing(double computing, double in_ab, double in_c) {
  const double left = computing - in_c, f = 2 * left > in_ab ? in_ab / (2 * left) : 1;
  return {computing + f * in_ab - f * f * left, f};
}

/// A product between its transfers.
struct Overlapped {
  double seconds;
  bool busy;  ///< what follows the head waits for no operand
};
/// @param alone  the part that overlaps with nothing
/// @param head   the part of k that is multiplied first, without C
Overlapped overlapped(double computing, const Moving& moving, double alone, double head = 0) {
  const auto [in_ab, in_c, out] = moving;
  const double begun = growing(head * computing, head * in_ab, 0).seconds;
  const Growing rest = growing((1 - head) * computing, (1 - head) * in_ab, in_c);
  const double at_once = begun + (1 - head) * computing, as_they_come = head * in_ab + rest.seconds;
  const double computed = std::max(at_once, as_they_come), in = in_ab + in_c;
  constexpr double both_ways = 1.0 / 10;  // the bus is slower both ways at once
  const double together = std::max(computed + both_ways * rest.last_wait * std::min(in, out), begun + out);
  return {(1 - alone) * together + alone * (in + computing + out), at_once >= as_they_come};
}

/// Seconds of computing a product without levels in the panels that its transfers make of it, about eight ways.
double panels_seconds(const strassen::Estimator& estimator, const Problem& p) {
  constexpr index parts = 8, least = 4096;
  const double whole = estimator.seconds(rectangle_of(p), 0, 0);
  if (std::min(p.m, p.n) < least || p.part != Part::whole) return whole;
  return std::max(whole, 2 * parts * estimator.seconds(part_of(p, p.m / parts, p.n / 2), 0, 0));
}

/// Seconds of one tile by levels between its transfers: of the outermost level's seven products (strassen::fused) the
/// first needs a quarter of A and B, the next two need three, the others all; the fifth leaves a quarter of C, the
/// sixth two.  Where C is read, its quarters arrive after A and B, and each is needed when it is left.
double streamed(double computing, const Moving& moving) {
  const auto [in_ab, in_c, out] = moving;
  const double one = computing / 7;
  const double first = in_ab / 4 + one, third = std::max(first, in_ab * 3 / 4) + 2 * one,
               fifth = std::max(third, in_ab) + 2 * one;
  const double quarter_home = std::max(fifth, in_ab + in_c / 4) + out / 4,
               most_home = std::max({quarter_home, fifth + one, in_ab + in_c * 3 / 4}) + out / 2;
  return std::max({most_home, fifth + 2 * one, in_ab + in_c}) + out / 4;
}

struct WithoutLevels {
  double seconds;
  index head;
};
/// @param may_begin  with a part of k
WithoutLevels without_levels(const Problem& p, double computing, const Moving& moving, bool may_begin = true) {
  constexpr double last_panel = 256, least_gain = 0.005;  // sgemm of 16,384: 1.2 % estimated, 2 % measured
  const double alone = 1 / std::clamp(static_cast<double>(std::min(p.m, p.n)) / last_panel, 1.0, 32.0);
  const index head = may_begin && p.part == Part::whole ? best_head(p.m, p.n, p.k) : 0;
  const double whole = overlapped(computing, moving, alone).seconds;
  const Overlapped begun = overlapped(computing, moving, alone, static_cast<double>(head) / static_cast<double>(p.k));
  if (head > 0 && begun.busy && begun.seconds < (1 - least_gain) * whole) return {begun.seconds, head};
  return {whole, 0};
}

double seconds_by_levels(const Problem& p, const strassen::Choice& choice, const Moving& moving) {
  const index across = std::min(p.m, p.n) / choice.tile;
  if (across < 2) return streamed(choice.seconds, moving);
  return overlapped(choice.seconds, moving, 1 / std::min(6.0 * static_cast<double>(across), 32.0)).seconds;
}

void count(Problem& p) {
  const double m = static_cast<double>(p.m), n = static_cast<double>(p.n), k = static_cast<double>(p.k),
               element = static_cast<double>(element_size(p.element));
  const bool whole = p.part == Part::whole;
  const double results = whole ? m * n : n * (n + 1) / 2;  // of C, what is computed
  p.empty = p.m == 0 || p.n == 0;
  p.trivial = p.k == 0 || p.alpha_zero;
  const double products = !whole && p.update == Update::rank_2k ? 2 : 1;
  p.flops = (is_complex(p.element) ? 8.0 : 2.0) * products * results * k;
  p.volume = whole ? m * n * k : products * triangle_volume(n, k);
  p.bytes_in = (m * k + (has_own_b(p.part, p.update) ? k * n : 0.0) + (p.beta_zero ? 0.0 : results)) * element;
  p.bytes_out = results * element;
}

std::string text(const Problem& p) {
  return std::string(name_of(p.routine)) + (p.part == Part::whole ? " m=" + std::to_string(p.m) : "") +
         " n=" + std::to_string(p.n) + " k=" + std::to_string(p.k) + (p.alpha_zero ? " alpha=0" : "") +
         (p.beta_zero ? " beta=0" : "");
}

Cost cost(const Problem& p, const Facts& facts, const Policy& policy, double spared) {
  const double in = seconds_in(p, facts, spared), out = seconds_out(p, facts);
  const double in_c = p.beta_zero || facts.result_stays ? 0 : std::min(in, p.bytes_out / facts.profile->in_rate);
  const Moving moving{in - in_c, in_c, out};
  const bool moves = in + out > 0;
  const double computing =
      facts.estimator && policy.levels < 0
          ? moves ? panels_seconds(*facts.estimator, p) : facts.estimator->seconds(rectangle_of(p), 0, 0)
          : p.flops / facts.profile->gemm_rate[static_cast<int>(p.element.name)];
  const auto [classical, head] = moves ? without_levels(p, computing, moving) : WithoutLevels{computing, 0};
  Cost best{.seconds = classical, .head = head};
  const auto consider = [&](index most_tile) {
    const strassen::Choice choice = levels_for(p, facts, policy, most_tile);
    if (choice.level == 0 || policy.products == Products::residues) return;
    const double with_levels = moves ? seconds_by_levels(p, choice, moving) : choice.seconds;
    if (policy.levels <= 0 && with_levels >= best.seconds) return;
    best.levels = choice.level;
    best.tile = choice.tile;
    best.seconds = with_levels;
  };
  const index smallest = std::min({p.m, p.n, p.k});
  consider(smallest);
  // Two tiles each way gain less, and begin and end sooner.
  if (moves && policy.levels < 0 && p.part == Part::whole) consider(std::min(smallest, std::min(p.m, p.n) / 2));
  const bool in_a_buffer = p.part == Part::whole || !facts.result_stays;  // beside a triangle all may be overwritten
  if (has_residues(p) && in_a_buffer && !facts.rounds_otherwise &&
      (policy.products == Products::residues || (policy.products == Products::automatic && policy.levels < 0))) {
    const double alone = residues_seconds(p, *facts.profile);
    const double seconds = moves && std::isfinite(alone) ? without_levels(p, alone, moving, false).seconds : alone;
    best.residues = policy.products == Products::residues || seconds < best.seconds;
    if (best.residues && std::isfinite(seconds)) best.seconds = seconds;
  }
  best.seconds = facts.profile->latency_seconds + best.seconds;
  return best;
}

}  // namespace

constinit const Family product_family{
    .count = count, .text = text, .cpu_rate = cpu_rate_of_products, .cost = cost, .needs = Operation::Kind::gemm};

bool has_residues(const Problem& p) {
  const bool herk = p.part != Part::whole && (p.routine == Routine::cherk || p.routine == Routine::zherk);
  return (p.part == Part::whole || p.update != Update::rank_2k) && !(herk && !p.beta_zero) && !p.trivial &&
         p.alpha_finite && p.k <= residues::most_k;
}

double leaves_of(const Problem& p, int level, index tile) {
  const auto tiles = [tile](index size) { return static_cast<double>(size / tile); };
  const double products = p.part == Part::whole ? tiles(p.m) * tiles(p.n) : tiles(p.n) * (tiles(p.n) - 1) / 2;
  return products * tiles(p.k) * std::pow(7.0, level);
}

}  // namespace blaslift
