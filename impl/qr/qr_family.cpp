#include "impl/qr/qr_family.hpp"
#include "impl/qr/qr_section.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "impl/qr/apply_q_plan.hpp"
#include "impl/qr/qr_domains_plan.hpp"
#include "impl/qr/qr_plan.hpp"

namespace blaslift {
namespace {

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

index factored(const Problem& p) { return std::min(p.m, p.n); }

void count_qr(Problem& p) {
  const double m = static_cast<double>(p.m), n = static_cast<double>(p.n), k = std::min(m, n), l = std::max(m, n),
               element = static_cast<double>(element_size(p.element));
  p.empty = factored(p) == 0;
  p.flops = (is_complex(p.element) ? 4.0 : 1.0) * (2 * l * k * k - 2.0 / 3.0 * k * k * k);
  p.volume = reflectors_volume(m, n, k);
  p.bytes_in = m * n * element;
  p.bytes_out = p.bytes_in + k * element;
}

/// Flops by LAPACK Working Note 41.
void count_apply_q(Problem& p) {
  const double m = static_cast<double>(p.m), n = static_cast<double>(p.n), k = static_cast<double>(p.k),
               element = static_cast<double>(element_size(p.element)), order = p.left ? m : n, length = p.left ? n : m;
  p.trivial = p.k == 0;
  p.empty = p.m == 0 || p.n == 0 || (p.trivial && !p.of_identity);  // of no reflectors an identity is left
  p.flops =
      (is_complex(p.element) ? 4.0 : 1.0) * (p.of_identity ? 4 * m * n * k - 2 * (m + n) * k * k + 4.0 / 3.0 * k * k * k
                                                           : length * (4 * order * k - 2 * k * k));
  p.volume = reflectors_volume(m, n, k);
  p.bytes_out = m * n * element;
  p.bytes_in = order * k * element + (p.of_identity ? 0.0 : p.bytes_out);
}

std::string text_of_qr(const Problem& p) {
  return std::string(name_of(p.routine)) + " m=" + std::to_string(p.m) + " n=" + std::to_string(p.n);
}
std::string text_of_apply_q(const Problem& p) {
  const std::string how = p.of_identity ? "" : std::string(p.left ? " L" : " R") + (p.adjoint ? "C" : "N");
  return name_of(p.routine) + how + " m=" + std::to_string(p.m) + " n=" + std::to_string(p.n) +
         " k=" + std::to_string(p.k);
}

/// LAPACK's panels of 32 columns are products with vectors: 16 cores take 0.97 s of 20,000 x 2,000 doubles, and as long
/// to make Q of them.
constexpr double part_of_products = 0.25;
double cpu_rate_of_qr(const Problem& p, const Profile& profile) {
  return part_of_products * cpu_rate_of_products(p, profile);
}
/// One thread makes the blocks' triangles from all reflectors, 32 at a time: 50 ms of 20,000 x 2,000 doubles, and if
/// Q's product is with one column.
double cpu_rate_of_apply_q(const Problem& p, const Profile& profile) {
  if (p.of_identity) return cpu_rate_of_qr(p, profile);
  constexpr double reading_rate = 6e9;  // bytes/s
  const double order = static_cast<double>(p.left ? p.m : p.n), k = static_cast<double>(p.k),
               bytes = (order - k / 2) * k * static_cast<double>(element_size(p.element));
  return cpu_rate_beside_reading(p, profile, 0.5, bytes / reading_rate);
}

Cost cost_of_qr(const Problem& p, const Facts& facts, const Policy&, double spared) {
  const Profile& profile = *facts.profile;
  const double in = seconds_in(p, facts, spared), out = seconds_out(p, facts),
               again = facts.sent_again / profile.in_rate;
  const Factoring work = factoring(static_cast<double>(p.m), factored(p), p.flops, 2, p.precision(), profile);
  // Everything is needed by the first update; a block goes home while the next ones are factored.
  const double last = 1 / static_cast<double>(work.blocks);
  return {.seconds = profile.latency_seconds + in + std::max({work.together(), (1 - last) * out, again}) + last * out};
}

Cost cost_of_apply_q(const Problem& p, const Facts& facts, const Policy&, double spared) {
  const Profile& profile = *facts.profile;
  const double in = seconds_in(p, facts, spared), out = seconds_out(p, facts),
               again = facts.sent_again / profile.in_rate;
  const double order = static_cast<double>(p.left ? p.m : p.n);
  const double work = factoring(order, p.k, p.flops, 0, p.precision(), profile).together();
  return {.seconds = profile.latency_seconds + in + std::max(work, again) + out};
}

std::optional<double> qr_sent_again(const Problem& p, const Profile& profile, std::size_t memory) {
  if (factored(p) == 0) return std::nullopt;
  const std::size_t element = element_size(p.element);
  const QrCut cut = qr_cut(p.m, p.n, qr_widths(profile, p.precision(), factored(p)), element, memory);
  return cut.part < p.n ? std::optional(sent_again(p.m, p.n, cut, element)) : std::nullopt;
}

/// By rows: each place's are there before their first update, and go home while later blocks are factored.
double seconds_by_rows(const Problem& p, const Profile& profile, int places, const QrDomains& cut) {
  constexpr double steps = 20, passes = 2;  // beside each block's panels; over its own rows, for V
  const double n = static_cast<double>(p.n), rows = static_cast<double>(p.m - p.n) / places, count = places,
               blocks = static_cast<double>(cut.blocks(p.n)), element = static_cast<double>(element_size(p.element)),
               merged = (n / 2 + count * static_cast<double>(cut.block)) * n,
               panels = blocks * (2 * profile.panel_seconds + steps * profile.step_seconds) +
                        (rows * n + merged) * element / profile.panel_rate +
                        passes * rows * n * element / profile.pass_rate,
               products =
                   p.flops / count / (efficiency(cut.block) * profile.gemm_rate[static_cast<int>(p.precision())]),
               computing = panels + products,
               host_rate = profile.host_rate > 0 ? profile.host_rate : 2 * profile.in_rate,
               in = std::max(p.bytes_in / count / profile.in_rate, p.bytes_in / host_rate),
               out = std::max(p.bytes_out / count / profile.out_rate, p.bytes_out / host_rate);
  return profile.latency_seconds + in + std::max(computing, (1 - 1 / blocks) * out) + out / blocks;
}

std::optional<double> qr_together(const Problem& p, const Profile& profile, int places, std::size_t memory) {
  if (factored(p) == 0) return std::nullopt;
  if (const QrDomains domains = qr_domains(p.m, p.n, p.precision(), memory, places); domains.block > 0)
    return seconds_by_rows(p, profile, places, domains);
  const QrWidths widths = qr_widths(profile, p.precision(), factored(p));
  const QrCut cut = qr_cut_together(p.m, p.n, widths, element_size(p.element), memory, places);
  if (cut.block == 0) return std::nullopt;
  const Factoring work = factoring(static_cast<double>(p.m), factored(p), p.flops, 2, p.precision(), profile);
  // Of two H200 (FP64, order 8,192, 16,384 and 32,768): 39, 128 and 633 ms.  A block's own updates and the next one's
  // are in the chain, too, and slower than they would be alone.
  constexpr double seconds_a_column = 1.8e-6, slower = 2.4, flops_beside = 6;
  const double k = static_cast<double>(factored(p)), rows = static_cast<double>(p.m) - k / 2,
               flops = flops_beside * rows * k * static_cast<double>(cut.block) * (is_complex(p.precision()) ? 4 : 1),
               rate = efficiency(cut.block) * profile.gemm_rate[static_cast<int>(p.precision())],
               chain = work.panels + k * seconds_a_column + slower * flops / rate;
  return seconds_in_turns(p, profile, places, (factored(p) + cut.block - 1) / cut.block, chain, work.products);
}

std::optional<double> apply_q_sent_again(const Problem& p, const Profile& profile, std::size_t memory) {
  if (p.m == 0 || p.n == 0 || p.k == 0) return std::nullopt;
  const std::size_t element = element_size(p.element);
  const QProduct product = product_with_q(p);
  const QCut cut = q_cut(product, qr_widths(profile, p.precision(), p.k), element, memory);
  return cut.streamed ? std::optional(sent_again(product, cut, element)) : std::nullopt;
}

}  // namespace

constinit const Family qr_family{.count = count_qr,
                                 .text = text_of_qr,
                                 .cpu_rate = cpu_rate_of_qr,
                                 .cost = cost_of_qr,
                                 .needs = Operation::Kind::qr_panel,
                                 .sent_again = qr_sent_again,
                                 .together = qr_together};
constinit const Family apply_q_family{.count = count_apply_q,
                                      .text = text_of_apply_q,
                                      .cpu_rate = cpu_rate_of_apply_q,
                                      .cost = cost_of_apply_q,
                                      .needs = Operation::Kind::qr_panel,
                                      .sent_again = apply_q_sent_again};

QProduct product_with_q(const Problem& p) {
  if (p.of_identity && !p.left) return {true, p.adjoint, p.n, p.m, p.k, true, true};  // what is turned
  return {p.left, p.adjoint, p.m, p.n, p.k, p.of_identity};
}

}  // namespace blaslift
