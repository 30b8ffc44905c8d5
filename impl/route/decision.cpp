#include "impl/route/decision.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <optional>

#include "impl/product/product_plan.hpp"
#include "impl/qr/qr_plan.hpp"

namespace blaslift {

const char* text_of(Reason reason) {
  constexpr const char* texts[] = {
#define X(name, text) text,
      BLASLIFT_REASONS(X)
#undef X
  };
  return texts[static_cast<int>(reason)];
}

namespace {

/// A part of the product, with all of k.
strassen::Shape part_of(const Product& p, index m, index n) { return {m, n, p.k, p.beta_zero, p.transposes}; }

/// The product as the estimator knows it: of a triangle, a rectangle of half the size.
strassen::Shape shape_of(const Product& p) {
  return part_of(p, p.part == Part::whole ? p.m : std::max<index>(1, p.m / 2), p.n);
}

/// How levels would compute a triangle: tiles beside the diagonal by levels, whatever else is there classically.
strassen::Choice best_in_triangle(const strassen::Estimator& estimator, const Product& p) {
  const double n = static_cast<double>(p.n);
  strassen::Choice best{0, 0, estimator.seconds(shape_of(p), 0, 0)};
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
strassen::Choice levels_for(const Product& p, const Facts& facts, const Policy& policy, index most_tile) {
  if (facts.rounds_otherwise || !p.alpha_finite) return {};
  strassen::Choice choice{};
  if (policy.levels < 0) {
    if (facts.estimator)
      choice = p.part == Part::whole ? facts.estimator->estimate(shape_of(p), most_tile)
                                     : best_in_triangle(*facts.estimator, p);
  } else {
    // As many as asked for, of tiles as large as fit; beside a diagonal there are two of them across.
    const index smallest = p.part == Part::whole ? std::min({p.m, p.n, p.k}) : std::min(p.n / 2, p.k);
    if (smallest == 0) return {};
    choice.level = policy.levels;
    while (smallest >> choice.level == 0) --choice.level;
    choice.tile = smallest >> choice.level << choice.level;
    choice.seconds = p.flops() / facts.profile->gemm_rate[static_cast<int>(p.precision)];
  }
  return choice.level > 0 && leaves_of(p, choice.level, choice.tile) <= most_leaves ? choice : strassen::Choice{};
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
double panels_seconds(const strassen::Estimator& estimator, const Product& p) {
  constexpr index parts = 8, least = 4096;
  const double whole = estimator.seconds(shape_of(p), 0, 0);
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
WithoutLevels without_levels(const Product& p, double computing, const Moving& moving) {
  constexpr double last_panel = 256, least_gain = 0.02;  // a head's products are smaller, and so are its transfers
  const double alone = 1 / std::clamp(static_cast<double>(std::min(p.m, p.n)) / last_panel, 1.0, 32.0);
  const index head = p.part == Part::whole ? best_head(p.m, p.n, p.k) : 0;
  const double whole = overlapped(computing, moving, alone).seconds;
  const Overlapped begun = overlapped(computing, moving, alone, static_cast<double>(head) / static_cast<double>(p.k));
  if (head > 0 && begun.busy && begun.seconds < (1 - least_gain) * whole) return {begun.seconds, head};
  return {whole, 0};
}

double seconds_by_levels(const Product& p, const strassen::Choice& choice, const Moving& moving) {
  const index across = std::min(p.m, p.n) / choice.tile;
  if (across < 2) return streamed(choice.seconds, moving);
  return overlapped(choice.seconds, moving, 1 / std::min(6.0 * static_cast<double>(across), 32.0)).seconds;
}

/// What settles a call before anything is predicted.
/// @param empty    there is no result
/// @param nothing  little is done to it
std::optional<Decision> settled(bool empty, bool nothing, bool overlaps, const Facts& facts, const Policy& policy) {
  if (!policy.on) return Decision{Route::cpu, Reason::off};
  if (facts.forked) return Decision{Route::cpu, Reason::forked};
  if (facts.exiting) return Decision{Route::cpu, Reason::exiting};
  if (empty) return Decision{Route::cpu, Reason::nothing};
  if (!nothing && !overlaps) return std::nullopt;
  // The CPU would do as well, but cannot.
  if (facts.device_memory && facts.device == DeviceState::ready && !policy.measuring)
    return Decision{Route::device, Reason::device_memory};
  Decision d{Route::cpu, nothing ? Reason::nothing : Reason::overlap};
  d.for_the_cpu = !policy.measuring;
  return d;
}

/// Whether a call for which the device has become too slow is to try it again.
bool tries_again(const Decision& d, const Facts& facts, const Policy& policy) {
  return facts.device == DeviceState::ready && !policy.fixed && facts.slowdown > 1 &&
         d.device_seconds < facts.slowdown * d.cpu_seconds && -d.saving() <= facts.trial;
}

/// Whether a call that would gain so much is to stay because the device is not open yet.
bool starts_later(const Decision& d, double gain, const Facts& facts, const Policy& policy) {
  if (policy.fixed) return false;
  // Another thread opens it.  Who computes meanwhile holds that up: worth it only where the CPU gets something done.
  constexpr double much_faster = 4;
  if (facts.device == DeviceState::opening)
    return d.cpu_seconds < facts.profile->startup_seconds && d.cpu_seconds - gain > d.cpu_seconds / much_faster;
  return facts.device == DeviceState::unopened && facts.missed_seconds + gain < facts.profile->startup_seconds;
}

/// Whether the caller asks for what only the library underneath does, where it can.
bool asks_for_the_cpu(Decision& d, const Facts& facts, bool alpha_finite) {
  if (!facts.rounds_otherwise && alpha_finite) return false;
  d.reason = facts.rounds_otherwise ? Reason::rounding : Reason::alpha;
  d.for_the_cpu = true;
  return true;
}

/// Where a call goes that is settled by predictions or by what else is known.
/// @param on_device  double(double spared): seconds there, where so many bytes need not move in
template <class OnDevice>
void choose(Decision& d, bool small, const Facts& facts, const Policy& policy, const OnDevice& on_device,
            bool alpha_finite = true) {
  d.device_seconds = on_device(facts.spared);
  d.slowdown = policy.fixed ? 1 : facts.slowdown;
  d.calls = facts.calls;
  if (policy.measuring) return void(d.reason = Reason::measuring);
  if (facts.device_memory && facts.device == DeviceState::ready)
    return void((d.route = Route::device, d.reason = Reason::device_memory));
  if (asks_for_the_cpu(d, facts, alpha_finite)) return;
  if (!policy.forced && small) return void(d.reason = Reason::small);
  if (facts.device == DeviceState::absent) return void(d.reason = Reason::no_device);
  if (policy.forced) return void((d.route = Route::device, d.reason = Reason::forced));
  if (facts.traps) return void(d.reason = Reason::traps);
  if (d.saving() <= 0) {
    if (facts.device != DeviceState::ready || policy.fixed) return;
    if (tries_again(d, facts, policy)) return void((d.route = Route::device, d.reason = Reason::trial));
    // Ski rental again: buy copies once what they would have saved has reached what this call loses by making them.
    if (facts.reusable <= 0) return;
    d.reuse_seconds = std::max(0.0, d.cpu_seconds - on_device(facts.spared + facts.reusable));
    if (d.reuse_seconds > 0 && facts.missed_reuse + d.reuse_seconds >= -d.saving())
      d.route = Route::device, d.reason = Reason::reuse;
    return;
  }
  // Ski rental: buy the start-up once the savings missed for want of it have reached its price.  Never more than twice
  // the best that knowing the future could do.
  if (starts_later(d, d.saving(), facts, policy)) return void(d.reason = Reason::startup);
  d.route = Route::device;
  d.reason = Reason::faster;
}

template <class P>
bool do_copies_matter(const P& product, Facts facts, const Policy& policy, const Decision& decision) {
  if (policy.fixed || decision.route == Route::device) return !policy.fixed;
  if (decision.reason != Reason::transfers) return false;
  facts.spared = product.bytes_in();
  return decide(product, facts, policy).route == Route::device;
}

template <class P>
std::string line_of(const P& product, const Decision& d) {
  char text[160];
  std::snprintf(text, sizeof text, " -> %s: %s", d.route == Route::cpu ? "cpu" : "device", text_of(d.reason));
  std::string line = to_string(product) + text;
  if (d.cpu_seconds > 0) {
    std::snprintf(text, sizeof text, " (cpu %.3g ms, device %.3g ms)", d.cpu_seconds * 1e3, d.device_seconds * 1e3);
    line += text;
  }
  return line;
}

}  // namespace

Decision decide(const Product& p, const Facts& facts, const Policy& policy) {
  if (const auto known = settled(p.empty(), p.only_scales(), p.overlaps, facts, policy)) return *known;

  const int precision = static_cast<int>(p.precision);
  Decision d{Route::cpu, Reason::transfers};
  d.cpu_seconds = p.flops() / (policy.fixed ? facts.profile->cpu_rate[precision] : facts.cpu_rate);
  const auto on_device = [&](double spared) {
    const double in = std::max(0.0, p.bytes_in() - spared) / facts.profile->in_rate,
                 out = facts.result_stays ? 0 : p.bytes_out() / facts.profile->out_rate;
    const double in_c = p.beta_zero || facts.result_stays ? 0 : std::min(in, p.bytes_out() / facts.profile->in_rate);
    const Moving moving{in - in_c, in_c, out};
    const bool moves = in + out > 0;
    const double computing = facts.estimator && policy.levels < 0 ? moves ? panels_seconds(*facts.estimator, p)
                                                                          : facts.estimator->seconds(shape_of(p), 0, 0)
                                                                  : p.flops() / facts.profile->gemm_rate[precision];
    auto [seconds, head] = moves ? without_levels(p, computing, moving) : WithoutLevels{computing, 0};
    d.head = head;
    d.levels = 0;
    d.tile = 0;
    const auto consider = [&](index most_tile) {
      const strassen::Choice choice = levels_for(p, facts, policy, most_tile);
      if (choice.level == 0) return;
      const double with_levels = moves ? seconds_by_levels(p, choice, moving) : choice.seconds;
      if (policy.levels <= 0 && with_levels >= seconds) return;
      d.levels = choice.level;
      d.tile = choice.tile;
      seconds = with_levels;
    };
    const index smallest = std::min({p.m, p.n, p.k});
    consider(smallest);
    // Two tiles each way gain less, and begin and end sooner.
    if (moves && policy.levels < 0 && p.part == Part::whole) consider(std::min(smallest, std::min(p.m, p.n) / 2));
    return (facts.profile->latency_seconds + seconds) * (policy.fixed ? 1.0 : facts.slowdown);
  };
  // Before the device is asked for: a call too small for any device stays for the same reason with and without one.
  choose(d, p.volume() < small_product, facts, policy, on_device, p.alpha_finite);
  return d;
}

double cpu_rate_until_measured(const SymmetricProduct& p) {
  constexpr double flops_a_pair = 4;  // as p.flops() counts: each element of the triangle is used twice
  if (p.precision == SymvPrecision::w) return flops_a_pair * cpu_pair_rate;
  const double flops_a_byte = (is_complex(p.precision) ? 16.0 : 4.0) / static_cast<double>(element_size(p.precision));
  return flops_a_byte * cpu_reading_rate;
}

Decision decide(const SymmetricProduct& p, const Facts& facts, const Policy& policy) {
  const auto known = settled(p.n == 0, p.alpha_zero, p.overlaps, facts, policy);
  if (known && known->route == Route::cpu) return *known;
  if (p.n > INT32_MAX) {
    Decision d{Route::cpu, Reason::no_room};
    d.nowhere = facts.device_memory;
    return d;
  }
  if (known) return *known;

  Decision d{Route::cpu, Reason::transfers};
  d.cpu_seconds = p.flops() / (policy.fixed ? cpu_rate_until_measured(p) : facts.cpu_rate);
  const auto on_device = [&](double spared) {
    const double in = std::max(0.0, p.bytes_in() - spared) / facts.profile->in_rate,
                 out = facts.result_stays ? 0 : p.bytes_out() / facts.profile->out_rate;
    // Vectors are moved by the calling thread, a matrix by the engine's, as gemm's are.
    const bool matrix_moves = spared < p.bytes_of_triangle();
    const double latency = matrix_moves ? facts.profile->latency_seconds : facts.profile->symv_latency_seconds;
    return (latency + in + p.bytes_of_triangle() / facts.profile->pass_rate + out) *
           (policy.fixed ? 1.0 : facts.slowdown);
  };
  d.device_seconds = on_device(facts.spared);
  d.slowdown = policy.fixed ? 1 : facts.slowdown;
  d.calls = facts.calls;
  if (policy.measuring) return d.reason = Reason::measuring, d;
  if (facts.device_memory && facts.device == DeviceState::ready)
    return d.route = Route::device, d.reason = Reason::device_memory, d;
  if (asks_for_the_cpu(d, facts, p.alpha_finite)) return d;
  if (!policy.forced && symmetric_volume(static_cast<double>(p.n)) < small_product) return d.reason = Reason::small, d;
  if (facts.device == DeviceState::absent) return d.reason = Reason::no_device, d;
  if (policy.forced) return d.route = Route::device, d.reason = Reason::forced, d;
  if (facts.traps) return d.reason = Reason::traps, d;
  const bool unopened = facts.device != DeviceState::ready;
  double gain = d.saving();
  if (gain <= 0) {
    if (tries_again(d, facts, policy)) return d.route = Route::device, d.reason = Reason::trial, d;
    if (policy.fixed || facts.reusable <= 0) return d;
    gain = d.reuse_seconds = std::max(0.0, d.cpu_seconds - on_device(facts.spared + facts.reusable));
    if (gain <= 0 || (!unopened && facts.missed_reuse + gain < -d.saving())) return d;
  }
  if (starts_later(d, gain, facts, policy)) return d.reason = Reason::startup, d;
  d.route = Route::device;
  d.reason = d.reuse_seconds > 0 ? Reason::reuse : Reason::faster;
  return d;
}

namespace {

/// Whether the open device lacks what a QR takes and the CPU, which reaches the operands, is to compute it.
bool cannot(const Facts& facts) { return facts.device == DeviceState::ready && !facts.factors && !facts.device_memory; }

/// Seconds of a QR on the device, but for what moves.
struct Factoring {
  double panels;    ///< one after the other
  double products;  ///< on what is beside them
  index blocks;

  /// A block's panels run beside the products of the one before: what has nothing beside it is the first one's.
  double together() const {
    return std::max(panels, products) + std::min(panels, products) / static_cast<double>(blocks);
  }
};

/// Products with `width` reflectors, as part of the rate that large products have: half of it with 64 (H100: 23, 38,
/// 49, 52, 56 Tflop/s with 64, 128, 256, 512, 1,024).
double efficiency(index width) {
  constexpr double half = 64;
  return static_cast<double>(width) / (static_cast<double>(width) + half);
}

/// @param rows, k  of the panels altogether
/// @param flops    of all of it; what is done to a panel's own columns is in its time
Factoring factoring(double rows, index k, double flops, double own_flops, Precision precision, const Profile& profile) {
  const auto [block, panel] = qr_widths(profile, precision, k);
  const double width = static_cast<double>(panel), columns = static_cast<double>(k), count = std::ceil(columns / width),
               entries = columns * (rows - (columns - width) / 2);
  constexpr double steps = 6;  // beside each panel
  return {count * (profile.panel_seconds + steps * profile.step_seconds) +
              entries * static_cast<double>(element_size(precision)) / profile.panel_rate,
          std::max(0.0, flops - own_flops * entries * width * (is_complex(precision) ? 4 : 1)) /
              (efficiency(block) * profile.gemm_rate[static_cast<int>(precision)]),
          (k + block - 1) / block};
}

}  // namespace

Decision decide(const Factorisation& f, const Facts& facts, const Policy& policy) {
  if (const auto known = settled(f.factored() == 0, false, f.overlaps, facts, policy)) return *known;
  if (cannot(facts)) return {Route::cpu, Reason::no_route};

  Decision d{Route::cpu, Reason::transfers};
  d.cpu_seconds = f.flops() / (policy.fixed ? facts.profile->cpu_rate[static_cast<int>(f.precision)] : facts.cpu_rate);
  const auto on_device = [&](double spared) {
    const double in = std::max(0.0, f.bytes_in() - spared) / facts.profile->in_rate,
                 out = facts.result_stays ? 0 : f.bytes_out() / facts.profile->out_rate;
    const Factoring work = factoring(static_cast<double>(f.m), f.factored(), f.flops(), 2, f.precision, *facts.profile);
    // Everything is needed by the first update; a block goes home while the next ones are factored.
    const double last = 1 / static_cast<double>(work.blocks);
    const double again = facts.sent_again / facts.profile->in_rate;
    return (facts.profile->latency_seconds + in + std::max({work.together(), (1 - last) * out, again}) + last * out) *
           (policy.fixed ? 1.0 : facts.slowdown);
  };
  const double m = static_cast<double>(f.m), n = static_cast<double>(f.n);
  choose(d, reflectors_volume(m, n, std::min(m, n)) < small_product, facts, policy, on_device);
  return d;
}

Decision decide(const Application& a, const Facts& facts, const Policy& policy) {
  const auto [left, adjoint, m, n, k, of_identity] = a.product;
  // Of no reflectors an identity is left.
  const bool nothing = k == 0, empty = m == 0 || n == 0 || (nothing && !of_identity);
  if (const auto known = settled(empty, nothing, a.overlaps, facts, policy)) return *known;
  if (cannot(facts)) return {Route::cpu, Reason::no_route};

  Decision d{Route::cpu, Reason::transfers};
  d.cpu_seconds = a.flops() / (policy.fixed ? facts.profile->cpu_rate[static_cast<int>(a.precision)] : facts.cpu_rate);
  const auto on_device = [&](double spared) {
    const double in = std::max(0.0, a.bytes_in() - spared) / facts.profile->in_rate,
                 out = facts.result_stays ? 0 : a.bytes_out() / facts.profile->out_rate;
    const double work =
        factoring(static_cast<double>(a.product.order()), k, a.flops(), 0, a.precision, *facts.profile).together();
    const double again = facts.sent_again / facts.profile->in_rate;
    return (facts.profile->latency_seconds + in + std::max(work, again) + out) * (policy.fixed ? 1.0 : facts.slowdown);
  };
  choose(d, reflectors_volume(static_cast<double>(m), static_cast<double>(n), static_cast<double>(k)) < small_product,
         facts, policy, on_device);
  return d;
}

bool copies_matter(const Product& product, Facts facts, const Policy& policy, const Decision& decision) {
  return do_copies_matter(product, facts, policy, decision);
}
bool copies_matter(const SymmetricProduct& product, Facts facts, const Policy& policy, const Decision& decision) {
  return do_copies_matter(product, facts, policy, decision);
}
bool copies_matter(const Factorisation& factorisation, Facts facts, const Policy& policy, const Decision& decision) {
  return do_copies_matter(factorisation, facts, policy, decision);
}

bool copies_matter(const Application& application, Facts facts, const Policy& policy, const Decision& decision) {
  return do_copies_matter(application, facts, policy, decision);
}

double leaves_of(const Product& p, int level, index tile) {
  const auto tiles = [tile](index size) { return static_cast<double>(size / tile); };
  const double products = p.part == Part::whole ? tiles(p.m) * tiles(p.n) : tiles(p.n) * (tiles(p.n) - 1) / 2;
  return products * tiles(p.k) * std::pow(7.0, level);
}

std::string to_string(const Product& product, const Decision& d) {
  std::string line = line_of(product, d);
  if (d.route == Route::device && d.levels > 0)
    line += ", levels " + std::to_string(d.levels) + " in tiles of " + std::to_string(d.tile);
  else if (d.route == Route::device && d.head > 0)
    line += ", first " + std::to_string(d.head) + " of k";
  return line;
}
std::string to_string(const SymmetricProduct& product, const Decision& d) { return line_of(product, d); }
std::string to_string(const Factorisation& f, const Decision& d) { return line_of(f, d); }
std::string to_string(const Application& a, const Decision& d) { return line_of(a, d); }

}  // namespace blaslift
