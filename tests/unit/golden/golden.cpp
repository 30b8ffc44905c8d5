// What fixed calls plan, decide and ask of the device is what it was: see golden.hpp.
#include "tests/unit/golden/golden.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <random>

#include "impl/product/product_family.hpp"
#include "impl/product/product_plan.hpp"
#include "impl/product/streams.hpp"
#include "impl/product/tiling.hpp"
#include "impl/qr/apply_q_plan.hpp"
#include "impl/qr/qr_family.hpp"
#include "impl/qr/qr_plan.hpp"
#include "impl/route/device.hpp"
#include "impl/symv/symv_family.hpp"
#include "tests/unit/golden/golden_lanes.hpp"
#include "tests/unit/support/temporary.hpp"

extern char** environ;

namespace blaslift {
namespace {

using golden::File;

std::string number(index x) { return std::to_string(x); }
index ceil_of(index x, index y) { return (x + y - 1) / y; }

// Plans of products.

/// By step: what it comes after, its stream, and whether one of another queue waits for it.
std::string order_of(const GemmSchedule& s) {
  const auto after = depend(s);
  const auto awaited = awaited_elsewhere(s);
  std::string text = s.after == after ? "" : "kept order is another\n";
  if (s.awaited != awaited) text += "kept marks are others\n";
  for (std::size_t i = 0; i < s.steps.size(); ++i) {
    text += std::to_string(i) + ':';
    for (const std::int32_t e : after[i]) text += ' ' + std::to_string(e);
    if (s.steps[i].stream != 0) text += ", stream " + std::to_string(s.steps[i].stream);
    if (awaited[i]) text += ", awaited";
    text += '\n';
  }
  return text;
}

std::string text_of(const GemmSchedule& s, std::size_t element) {
  std::string text = to_string(s);
  for (const Extent& area : s.scratch) text += "scratch " + number(area.rows) + " x " + number(area.cols) + '\n';
  text += "bytes " + std::to_string(s.bytes(element)) + ", of buffers " + std::to_string(s.cut.bytes(element));
  if (s.depth > 0) {
    char line[192];
    std::snprintf(line, sizeof line, ", %d levels, slices of %lld, %lld findings, first if sound %lld, unjudged %.9g",
                  s.depth, static_cast<long long>(s.slice), static_cast<long long>(s.findings()),
                  static_cast<long long>(s.first_if_sound), s.unjudged);
    text += line;
  }
  return text + '\n' + order_of(s);
}

const Resident whole{true, {}, false}, in_place{true, {}, true};
const Residents resident_a{whole, {}, {}}, resident_b{{}, whole, {}}, resident_c{{}, {}, whole},
    resident_ab{whole, whole, {}}, all_resident{whole, whole, whole}, all_in_place{in_place, in_place, in_place},
    a_in_place{in_place, {}, {}}, c_in_place{{}, {}, in_place}, a_and_c_in_place{in_place, {}, in_place};
/// Copies of which something is missing.
const Residents incomplete{{true, {{0, 0, 40, 30}, {100, 50, 20, 7}}, false},
                           {true, {{10, 20, 30, 40}}, false},
                           {true, {{0, 0, 300, 10}}, false}};

struct Classical {
  const char* name;
  index m, n, k;
  bool reads_c = false;
  std::size_t element = 8, memory = std::size_t{1} << 30, piece = std::size_t{1} << 18;
  Residents residents{};
  Part part = Part::whole;
  index panel = usual_panel, head = 0;
};

void add_classical(File& file) {
  const Classical products[] = {
      {"single", 300, 200, 100},
      {"single, s", 300, 200, 100, false, 4},
      {"single, z, reads C", 300, 200, 100, true, 16},
      {"1 x 1 x 1", 1, 1, 1, true},
      {"row", 1, 2000, 50},
      {"column", 2000, 1, 50, true},
      {"long k", 60, 70, 9000},
      {"panels", 2500, 1500, 1300},
      {"panels, reads C", 2500, 1500, 1300, true},
      {"odd panels", 1031, 997, 1021, true, 16, std::size_t{1} << 30, 100000, {}, Part::whole, 100},
      {"small pieces", 300, 200, 100, true, 8, std::size_t{1} << 30, 4000},
      {"pieces of an element", 5, 4, 3, true, 8, std::size_t{1} << 30, 8},
      {"head", 2000, 2000, 2000, false, 8, std::size_t{1} << 30, std::size_t{1} << 20, {}, Part::whole, 1024, 500},
      {"head, reads C",
       2000,
       2000,
       2000,
       true,
       8,
       std::size_t{1} << 30,
       std::size_t{1} << 20,
       {},
       Part::whole,
       512,
       500},
      {"little memory", 1500, 1400, 1300, false, 8, std::size_t{16} << 20},
      {"less memory, reads C", 1500, 1400, 1300, true, 8, std::size_t{8} << 20, std::size_t{1} << 20},
      {"least memory", 40, 30, 20, true, 8, 4096, 1024},
      {"little memory, s", 600, 4000, 3000, true, 4, std::size_t{16} << 20, std::size_t{1} << 20},
      {"little memory, z", 900, 700, 800, false, 16, std::size_t{16} << 20, std::size_t{1} << 20},
      {"A resident", 1100, 300, 200, true, 8, std::size_t{1} << 30, std::size_t{1} << 18, resident_a},
      {"B resident", 300, 1100, 200, false, 8, std::size_t{1} << 30, std::size_t{1} << 18, resident_b},
      {"C resident", 1100, 300, 200, true, 8, std::size_t{1} << 30, std::size_t{1} << 18, resident_c},
      {"A and B resident", 1100, 300, 200, true, 8, std::size_t{1} << 30, std::size_t{1} << 18, resident_ab},
      {"all resident", 1100, 300, 200, true, 8, std::size_t{1} << 30, std::size_t{1} << 18, all_resident},
      {"all in place", 1100, 300, 200, true, 8, std::size_t{1} << 30, std::size_t{1} << 18, all_in_place},
      {"C in place", 1100, 300, 200, true, 8, std::size_t{1} << 30, std::size_t{1} << 18, c_in_place},
      {"incomplete copies", 300, 310, 320, true, 8, std::size_t{1} << 30, std::size_t{1} << 18, incomplete},
      {"A in place, little memory", 1500, 700, 600, true, 8, std::size_t{1} << 20, std::size_t{1} << 20, a_in_place},
      {"upper triangle", 300, 300, 200, false, 8, std::size_t{1} << 30, std::size_t{1} << 18, {}, Part::upper},
      {"lower triangle, z, reads C",
       301,
       301,
       203,
       true,
       16,
       std::size_t{1} << 30,
       std::size_t{1} << 18,
       {},
       Part::lower},
      {"upper triangle in panels",
       2500,
       2500,
       700,
       true,
       8,
       std::size_t{1} << 30,
       std::size_t{4} << 20,
       {},
       Part::upper},
      {"lower triangle, k in chunks",
       400,
       400,
       9000,
       false,
       8,
       std::size_t{4} << 20,
       std::size_t{1} << 18,
       {},
       Part::lower},
      {"lower triangle, little memory",
       1500,
       1500,
       900,
       true,
       8,
       std::size_t{8} << 20,
       std::size_t{1} << 20,
       {},
       Part::lower},
      {"upper triangle, little memory, s",
       1500,
       1500,
       900,
       false,
       4,
       std::size_t{4} << 20,
       std::size_t{1} << 20,
       {},
       Part::upper},
      {"upper triangle, A in place", 1100, 1100, 300, true, 8, std::size_t{1} << 30, std::size_t{1} << 20, a_in_place,
       Part::upper},
      {"lower triangle, A and C in place", 1100, 1100, 300, true, 8, std::size_t{1} << 30, std::size_t{1} << 20,
       a_and_c_in_place, Part::lower},
  };
  for (const Classical& p : products) {
    Residents residents = p.residents;
    if (p.part != Part::whole) residents.b = residents.a;
    Cut cut;
    std::string text;
    if (!cut_to_fit(p.m, p.n, p.k, p.element, p.memory, residents, cut, p.part)) {
      text = "does not fit\n";
    } else {
      const GemmSchedule s = plan_gemm(p.m, p.n, p.k, p.reads_c, p.element, cut, residents, p.piece, p.panel, p.head);
      text = "best head " + number(best_head(p.m, p.n, p.k)) + '\n' + text_of(s, p.element);
    }
    text.size() < 6500 ? file.add(p.name, text) : file.add_hash(p.name, text);
  }
  Cut cut;
  file.add("what fits nowhere", cut_to_fit(10, 10, 10, 8, 100, {}, cut) ? "fits\n" : "does not fit\n");
}

struct ByLevels {
  index m, n, k;
  const strassen::Level& list;
  int levels;
  index tile;
  const char* flags =
      "";  ///< A, B: transposed; C: read; O: overwritten; 2: streams by the list; S: by spread; U: not surveyed
  Residents residents{};
  const char* where = "";
  Part part = Part::whole;
  std::size_t element = 8, piece = std::size_t{1} << 18;
};

void add_levels(File& file) {
  using namespace strassen;
  const ByLevels products[] = {
      {64, 64, 64, fused(), 1, 64},
      {64, 64, 64, fused(), 1, 64, "C"},
      {64, 64, 64, fused(), 1, 64, "O2"},
      {64, 64, 64, fused(), 1, 64, "ABU"},
      {70, 66, 75, fused(), 1, 64, "C2"},
      {70, 66, 130, fused(), 1, 64, "A2"},
      {130, 66, 64, fused(), 1, 64, "BS"},
      {64, 64, 64, fused(), 2, 64},
      {64, 64, 64, fused(), 2, 64, "2C"},
      {64, 64, 64, fused(), 2, 64, "O"},
      {71, 66, 64, fused(), 2, 64, "S"},
      {64, 64, 64, fused(), 3, 64, "2"},
      {136, 140, 139, fused(), 3, 128, "ABCO2"},
      {200, 140, 139, fused(), 2, 64, "ABC2"},
      {64, 64, 64, rum(), 1, 64},
      {64, 64, 64, rum(), 2, 64, "C"},
      {64, 64, 64, absorbed(), 1, 64, "O"},
      {64, 64, 64, lai(), 1, 64, "C"},
      {64, 64, 64, low_level(), 1, 64, "O"},
      {64, 64, 64, high_level(), 1, 64},
      {64, 64, 64, parallel(), 1, 64, "O2"},
      {64, 64, 64, classical(), 1, 64},
      {64, 64, 64, alternative(), 1, 64, "2"},
      {64, 64, 64, alternative(), 1, 64, "OC"},
      {64, 64, 64, alternative(), 2, 64, "2C"},
      {70, 70, 70, alternative(), 3, 64, "2"},
      {64, 64, 64, fused(), 1, 64, "2", all_in_place, ", all in place"},
      {64, 64, 64, fused(), 1, 64, "C2", all_in_place, ", all in place"},
      {64, 64, 64, fused(), 1, 64, "C", c_in_place, ", C in place"},
      {70, 64, 64, fused(), 2, 64, "AC", resident_ab, ", A and B resident"},
      {128, 128, 64, fused(), 1, 64, "B", {}, "", Part::upper},
      {130, 130, 70, fused(), 1, 64, "AC2", {}, "", Part::lower},
      {200, 200, 140, fused(), 2, 64, "BC2", a_and_c_in_place, ", A and C in place", Part::lower},
      {64, 64, 64, fused(), 1, 64, "", {}, ", s", Part::whole, 4},
      {64, 64, 64, fused(), 1, 64, "C", {}, ", z, small pieces", Part::whole, 16, 9000},
  };
  for (const ByLevels& p : products) {
    const std::string_view flags = p.flags;
    const auto has = [flags](char flag) { return flags.find(flag) != flags.npos; };
    Tiling tiling{chain(p.list, p.levels), p.tile};
    tiling.overwrite = has('O');
    tiling.two_streams = has('2');
    tiling.surveyed = !has('U');
    Residents residents = p.residents;
    if (p.part != Part::whole) residents.b = residents.a;
    std::string name = number(p.m) + " x " + number(p.n) + " x " + number(p.k) + ", " + std::to_string(p.levels) +
                       " levels of " + p.list.name + " in tiles of " + number(p.tile);
    constexpr std::pair<char, const char*> words[] = {{'A', "A transposed"}, {'B', "B transposed"},
                                                      {'C', "reads C"},      {'O', "overwrites"},
                                                      {'2', "two streams"},  {'S', "spread over two streams"},
                                                      {'U', "not surveyed"}};
    for (const auto& [flag, word] : words)
      if (has(flag)) name += std::string(", ") + word;
    name += p.where;
    if (p.part != Part::whole) name += p.part == Part::upper ? ", upper triangle" : ", lower triangle";
    if (tiling.overwrite && (p.part != Part::whole || !may_overwrite(p.m, p.n, p.tile, residents))) {
      file.add(name, "may not overwrite\n");
      continue;
    }
    GemmSchedule s =
        plan_levels(p.m, p.n, p.k, has('A'), has('B'), has('C'), p.element, tiling, residents, p.piece, p.part);
    if (has('S')) spread(s, p.element, false, {5e13, 2.9e12, 4.9e10, 5e-6, 3e-6});
    const std::string text = text_of(s, p.element);
    text.size() < 6000 ? file.add(name, text) : file.add_hash(name, text);
  }
}

/// Pseudo-random numbers, the same everywhere.
class Numbers {
 public:
  index up_to(index most) { return 1 + static_cast<index>(bits_() % static_cast<std::uint32_t>(most)); }
  bool coin() { return (bits_() >> 7 & 1) != 0; }
  Resident resident(index rows, index cols, bool missing) {
    if (up_to(3) > 1) return {};
    if (coin()) return whole;
    if (!missing) return in_place;
    const index row = up_to(rows) - 1, col = up_to(cols) - 1;
    return {true, {{row, col, up_to(rows - row), up_to(cols - col)}}, false};
  }

 private:
  std::mt19937 bits_{1};
};

/// Of many plans a line each.
void add_many(File& file) {
  Numbers numbers;
  constexpr Part parts[] = {Part::whole, Part::whole, Part::upper, Part::lower};
  const auto line = [](const std::string& problem, const std::string& text, std::size_t steps) {
    char hash[64];
    std::snprintf(hash, sizeof hash, ": %zu steps, %016llx\n", steps, static_cast<unsigned long long>(hash_of(text)));
    return problem + hash;
  };
  std::string lines;
  for (int i = 0; i < 160; ++i) {
    const Part part = parts[numbers.up_to(4) - 1];
    const index m = numbers.up_to(700), n = part == Part::whole ? numbers.up_to(700) : m, k = numbers.up_to(700);
    const std::size_t element = std::size_t{4} << (numbers.up_to(3) - 1);
    const auto memory = static_cast<std::size_t>(numbers.up_to(2 * (m * k + k * n + m * n))) * element;
    const bool reads_c = numbers.coin();
    Residents residents{numbers.resident(m, k, true), numbers.resident(k, n, true), numbers.resident(m, n, true)};
    if (part != Part::whole) residents.b = residents.a;
    const auto piece = static_cast<std::size_t>(numbers.up_to(m * n)) * element;
    const index panel = numbers.up_to(300), head = numbers.coin() || k == 1 ? 0 : numbers.up_to(k - 1);
    const std::string problem =
        std::to_string(i) + ", " + number(m) + " x " + number(n) + " x " + number(k) + " in " + std::to_string(memory);
    Cut cut;
    if (!cut_to_fit(m, n, k, element, memory, residents, cut, part) ||
        ceil_of(m, cut.mb) * ceil_of(n, cut.nb) * ceil_of(k, cut.kb) > 2000) {
      lines += problem + ": in blocks of " + number(cut.mb) + " x " + number(cut.nb) + " x " + number(cut.kb) + '\n';
      continue;
    }
    const GemmSchedule s = plan_gemm(m, n, k, reads_c, element, cut, residents, piece, panel, head);
    lines += line(problem, text_of(s, element), s.steps.size());
  }
  file.add("many without levels: hashes", lines);
  lines.clear();
  for (int i = 0; i < 160; ++i) {
    constexpr index lists = 9;  // that there were when the file was begun; later ones come after them
    const strassen::Level& list = *strassen::levels()[static_cast<std::size_t>(numbers.up_to(lists) - 1)];
    const int levels = static_cast<int>(numbers.up_to(2));
    Tiling tiling{strassen::chain(list, levels), index{32} << levels};
    const Part part = parts[numbers.up_to(4) - 1];
    const auto size = [&] { return tiling.tile * numbers.up_to(2) + (numbers.coin() ? numbers.up_to(40) : 0); };
    const index m = size(), n = part == Part::whole ? size() : m, k = size();
    Residents residents{numbers.resident(m, k, true), numbers.resident(k, n, true), numbers.resident(m, n, false)};
    if (part != Part::whole) residents.b = residents.a;
    tiling.overwrite = part == Part::whole && may_overwrite(m, n, tiling.tile, residents) && numbers.coin();
    tiling.surveyed = numbers.coin();
    tiling.two_streams = numbers.coin();
    const bool transposed_a = numbers.coin(), reads_c = numbers.coin();
    const bool transposed_b = part == Part::whole ? numbers.coin() : !transposed_a;
    const auto piece = static_cast<std::size_t>(numbers.up_to(m * n)) * 8;
    const GemmSchedule s = plan_levels(m, n, k, transposed_a, transposed_b, reads_c, 8, tiling, residents, piece, part);
    lines += line(std::to_string(i) + ", " + number(m) + " x " + number(n) + " x " + number(k) + ", " +
                      std::to_string(levels) + " of " + list.name,
                  text_of(s, 8), s.steps.size());
  }
  file.add("many by levels: hashes", lines);
}

TEST(Golden, PlansOfProducts) {
  File file("gemm_plans.txt",
            "Plans of products: steps, scratch areas, memory, and by step what it comes after.  Of long ones only a "
            "hash.");
  add_classical(file);
  add_levels(file);
  add_many(file);
  file.expect();
}

// Plans of QR.

TEST(Golden, PlansOfQr) {
  File file("qr_plans.txt", "Plans of QR with their order, and how QR is cut for a device's memory.");
  const auto add = [&file](const std::string& name, const QrPlan& plan, std::size_t element = 8) {
    const std::string text = "sets " + std::to_string(plan.sets()) + ", bytes " + std::to_string(plan.bytes(element)) +
                             ", with A elsewhere " + std::to_string(plan.bytes(element, true)) + ", with tau, too " +
                             std::to_string(plan.bytes(element, true, true)) + '\n' + to_string(plan);
    text.size() < 6500 ? file.add(name, text) : file.add_hash(name, text);
  };
  struct Shape {
    index m, n, block, panel, part, lead;
  };
  for (const auto& [m, n, block, panel, part, lead] : std::initializer_list<Shape>{{1, 1, 1, 1, 1, 0},
                                                                                   {9, 1, 4, 2, 1, 0},
                                                                                   {1, 9, 4, 2, 9, 0},
                                                                                   {8, 8, 4, 4, 8, 0},
                                                                                   {30, 20, 8, 2, 20, 0},
                                                                                   {20, 30, 8, 2, 30, 0},
                                                                                   {25, 25, 8, 3, 25, 0},
                                                                                   {40, 17, 6, 6, 17, 0},
                                                                                   {17, 40, 16, 4, 40, 0},
                                                                                   {50, 13, 13, 4, 13, 0},
                                                                                   {24, 24, 24, 1, 24, 0},
                                                                                   {12, 40, 5, 2, 40, 0},
                                                                                   {40, 37, 3, 3, 37, 2},
                                                                                   {20, 60, 2, 1, 60, 2},
                                                                                   {70, 33, 4, 2, 33, 1},
                                                                                   {90, 90, 4, 2, 90, 4},
                                                                                   {9, 7, 2, 2, 4, 0},
                                                                                   {30, 20, 8, 2, 8, 0},
                                                                                   {40, 41, 6, 3, 12, 0},
                                                                                   {12, 40, 4, 2, 8, 0},
                                                                                   {40, 13, 4, 4, 4, 0},
                                                                                   {21, 45, 7, 2, 14, 0},
                                                                                   {20, 45, 7, 2, 14, 0},
                                                                                   {5000, 3000, 512, 64, 3000, 0},
                                                                                   {5000, 3000, 512, 64, 1024, 0},
                                                                                   {5000, 5000, 512, 64, 5000, 2}})
    add("m=" + number(m) + " n=" + number(n) + " block " + number(block) + " panel " + number(panel) + " part " +
            number(part) + " lead " + number(lead),
        plan_qr(m, n, block, panel, part, lead));
  std::string widths, leads;
  for (const index k : {1, 5, 100, 128, 500, 1000, 1448, 1449, 2000, 4000, 10000, 50000}) {
    const QrWidths w = qr_widths(k);
    widths += number(k) + ": " + number(w.block) + " x " + number(w.panel) + '\n';
    leads += number(k) + ": " + number(stream_lead(k, w.block)) + '\n';
  }
  file.add("widths built in by the number of reflectors", widths);
  file.add("blocks whose updates are a stream", leads);
  std::string cuts;
  for (const auto& [m, n] :
       {std::pair<index, index>{300, 200}, {2000, 1500}, {900, 6000}, {20000, 20000}, {100000, 500}})
    for (const std::size_t element : {4, 8, 16})
      for (const double fraction : {2.0, 1.0, 0.5, 0.2, 0.05, 0.001}) {
        const auto memory =
            static_cast<std::size_t>(fraction * static_cast<double>(m) * static_cast<double>(n)) * element;
        const QrWidths w = qr_widths(std::min(m, n));
        const QrCut cut = qr_cut(m, n, w, element, memory), stream = as_stream(m, n, cut, element, memory);
        char line[192];
        std::snprintf(line, sizeof line,
                      "m=%lld n=%lld of %zu in %zu: block %lld panel %lld part %lld lead %lld, as a stream %lld, sent "
                      "again %.9g\n",
                      static_cast<long long>(m), static_cast<long long>(n), element, memory,
                      static_cast<long long>(cut.block), static_cast<long long>(cut.panel),
                      static_cast<long long>(cut.part), static_cast<long long>(cut.lead),
                      static_cast<long long>(stream.lead), sent_again(m, n, cut, element));
        cuts += line;
      }
  file.add("cuts", cuts);
  file.expect();
}

TEST(Golden, PlansOfProductsWithQ) {
  File file("apply_q_plans.txt",
            "Plans of products with Q with their order, and how these are cut for a device's memory.");
  const auto name_of = [](const QProduct& p) {
    return std::string(p.of_identity ? "Q"
                       : p.left      ? p.adjoint ? "Q^H C" : "Q C"
                       : p.adjoint   ? "C Q^H"
                                     : "C Q") +
           " m=" + number(p.m) + " n=" + number(p.n) + " k=" + number(p.k);
  };
  const auto add = [&](const QProduct& product, index block, index panel, index part, index window, bool streams) {
    const QPlan plan =
        window == 0 ? plan_q(product, block, panel, part) : plan_q(product, block, panel, part, window, streams);
    const std::string text = "sets " + std::to_string(plan.sets()) + ", bytes " + std::to_string(plan.bytes(8)) +
                             ", with all elsewhere " + std::to_string(plan.bytes(8, true, true, true)) + '\n' +
                             to_string(plan);
    const std::string name = name_of(product) + " block " + number(block) + " panel " + number(panel) + " part " +
                             number(part) + " window " + number(window) + (streams ? " streamed" : "");
    text.size() < 6000 ? file.add(name, text) : file.add_hash(name, text);
  };
  for (const bool left : {true, false})
    for (const bool adjoint : {true, false}) {
      const auto of = [&](index order, index length, index k) {
        return QProduct{left, adjoint, left ? order : length, left ? length : order, k};
      };
      add(of(1, 1, 1), 1, 1, 1, 0, false);
      add(of(9, 7, 5), 4, 2, 3, 0, false);
      add(of(9, 7, 5), 4, 2, 3, 3, true);
      add(of(12, 5, 12), 8, 3, 5, 5, true);
      add(of(20, 11, 17), 8, 3, 4, 7, true);
      add(of(20, 11, 17), 20, 5, 4, 0, false);
      add(of(20, 11, 17), 8, 3, 4, 4, false);
    }
  for (const auto& [m, n, k] : {std::array<index, 3>{1, 1, 1}, {9, 9, 9}, {12, 7, 5}, {20, 17, 17}}) {
    const QProduct product{true, false, m, n, k, true};
    add(product, std::min<index>(4, k), std::min<index>(2, k), 3, 0, false);
    add(product, std::min<index>(8, k), std::min<index>(3, k), 6, std::min<index>(n, 6), true);
  }
  add({true, true, 5000, 700, 3000}, 512, 64, q_part(700), 0, false);
  add({true, true, 5000, 7000, 3000}, 512, 64, q_part(2000), 2000, true);
  std::string cuts;
  for (const QProduct& p : {QProduct{true, true, 300, 200, 300}, QProduct{false, false, 1500, 2000, 700},
                            QProduct{true, false, 9000, 400, 5000}, QProduct{true, false, 9000, 9000, 9000, true}})
    for (const std::size_t element : {4, 8, 16})
      for (const double fraction : {3.0, 1.0, 0.5, 0.2, 0.05, 0.001}) {
        const double elements = static_cast<double>(p.m) * static_cast<double>(p.n) +
                                static_cast<double>(p.order()) * static_cast<double>(p.k);
        const auto memory = static_cast<std::size_t>(fraction * elements) * element;
        const QCut cut = q_cut(p, qr_widths(p.k), element, memory);
        char line[224];
        std::snprintf(line, sizeof line, ": block %lld panel %lld part %lld window %lld%s, sent again %.9g\n",
                      static_cast<long long>(cut.block), static_cast<long long>(cut.panel),
                      static_cast<long long>(cut.part), static_cast<long long>(cut.window),
                      cut.streamed ? " streamed" : "", sent_again(p, cut, element));
        cuts += name_of(p) + " of " + std::to_string(element) + " in " + std::to_string(memory) + line;
      }
  file.add("cuts", cuts);
  file.expect();
}

// What reaches a lane.

struct Recording {
  const char* set;
  std::vector<std::string> variables;  ///< of the environment
};

/// The set's calls in a process of its own.
void record(File& file, const Recording& recording, std::size_t most = SIZE_MAX) {
  temporary::Directory directory;
  const std::string path = directory.path() / "recorded";
  // Nothing of this environment's that the library reads, and no profile.
  std::vector<std::string> variables = recording.variables;
  if (std::string_view(recording.set) != "copies") variables.emplace_back("BLASLIFT_DECISION=fixed");
  for (const char* fixed : {"BLASLIFT_BACKEND=host", "BLASLIFT_FORCE=all"}) variables.emplace_back(fixed);
  for (char** v = environ; *v; ++v)
    if (const std::string_view entry = *v; !entry.starts_with("BLASLIFT") && !entry.starts_with("XDG_CACHE_HOME=") &&
                                           !entry.starts_with("HOME=") && !entry.starts_with("LD_PRELOAD="))
      variables.emplace_back(entry);
  std::vector<char*> environment;
  for (std::string& v : variables) environment.push_back(v.data());
  environment.push_back(nullptr);
  // By this name the process finds its modules beside the one that records.
  const std::string module = BLASLIFT_GOLDEN_MODULE;
  std::string name = module.substr(0, module.rfind('/')) + "/blaslift_unit", mode = "--record-lanes",
              set = recording.set;
  char* arguments[] = {name.data(), mode.data(), set.data(), nullptr};
  const int status = temporary::in_child([&] {
    if (!std::freopen(path.c_str(), "w", stdout)) return 100;
    execve("/proc/self/exe", arguments, environment.data());
    return 101;
  });
  if (status == golden::no_copies) GTEST_SKIP() << "no copies of operands on this machine";
  ASSERT_EQ(status, 0) << recording.set;
  std::ifstream in(path);
  std::string call, text, prefix;
  for (const std::string& v : recording.variables) prefix += v + ' ';
  const auto end = [&] {
    if (!call.empty()) text.size() < most ? file.add(prefix + call, text) : file.add_hash(prefix + call, text);
    text.clear();
  };
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("== ")) {
      end();
      call = line.substr(3);
    } else {
      text += line + '\n';
    }
  }
  ASSERT_FALSE(call.empty()) << recording.set;
  end();
}

const char* about_lanes =
    "what calls ask of a backend and its lane, with offsets (in bytes) into operands and allocations: what is asked "
    "for, "
    "sizes,\nstreams, and what waits for which earlier one.  The device computes nothing, and decisions are fixed.";

TEST(Golden, WhatProductsAskOfALane) {
  File file("gemm_lanes.txt", std::string("Products: ") + about_lanes);
  constexpr std::size_t most = 5000;
  record(file, {"gemm", {"BLASLIFT_STRASSEN=off"}}, most);
  record(file, {"syrk", {"BLASLIFT_STRASSEN=off"}}, most);
  record(file, {"gemmt", {"BLASLIFT_STRASSEN=off"}}, most);
  record(file, {"syr2k", {"BLASLIFT_STRASSEN=off"}}, most);
  record(file, {"gemm in little memory", {"BLASLIFT_STRASSEN=off", "BLASLIFT_MEMORY=16M"}}, most);
  record(file, {"levels", {"BLASLIFT_STRASSEN=1"}}, most);
  record(file, {"levels", {"BLASLIFT_STRASSEN=2"}}, most);
  record(file, {"few levels", {"BLASLIFT_STRASSEN=1:rum"}}, most);
  record(file, {"few levels", {"BLASLIFT_STRASSEN=2:rum:1"}}, most);
  record(file, {"few levels", {"BLASLIFT_STRASSEN=1:alternative:2"}}, most);
  record(file, {"few levels", {"BLASLIFT_STRASSEN=2:fused:1"}}, most);
  record(file, {"few levels", {"BLASLIFT_STRASSEN=3"}}, most);
  file.expect();
}

TEST(Golden, WhatSymvAsksOfALane) {
  File file("symv_plans.txt", std::string("SYMV and HEMV: ") + about_lanes);
  record(file, {"symv", {}});
  record(file, {"symv in little memory", {"BLASLIFT_MEMORY=4M"}});
  file.expect();
}

TEST(Golden, WhatGemvAsksOfALane) {
  File file("gemv_plans.txt", std::string("GEMV: ") + about_lanes);
  record(file, {"gemv", {}});
  record(file, {"gemv in little memory", {"BLASLIFT_MEMORY=4M"}});
  file.expect();
}

TEST(Golden, WhatQrAsksOfALane) {
  File file("qr_lanes.txt", std::string("QR, and products with its Q: ") + about_lanes);
  constexpr std::size_t most = 5000;
  record(file, {"geqrf", {}}, most);
  record(file, {"large geqrf", {"BLASLIFT_QR=stream"}}, most);
  record(file, {"large geqrf", {"BLASLIFT_QR=bulk"}}, most);
  record(file, {"geqrf in little memory", {"BLASLIFT_MEMORY=4M"}}, most);
  record(file, {"Q", {}}, most);
  record(file, {"Q in little memory", {"BLASLIFT_MEMORY=4M"}}, most);
  file.expect();
}

TEST(Golden, WhatRepeatedCallsAskOfALane) {
  File file(
      "copies_lanes.txt",
      std::string("Calls made three times, with copies of operands that stay on the device; before the last one a "
                  "page of what is\nonly read is written: ") +
          about_lanes);
  record(file, {"copies", {"BLASLIFT_RESIDENCY=always", "BLASLIFT_STRASSEN=off"}});
  if (IsSkipped() || HasFatalFailure()) return;
  file.expect();
}

// Decisions.

constexpr Profile round_numbers{.in_rate = 1e10,
                                .out_rate = 1e10,
                                .latency_seconds = 1e-4,
                                .startup_seconds = 0.5,
                                .gemm_rate = {1e12, 1e12, 1e12, 1e12},
                                .cpu_rate = {1e9, 1e9, 1e9, 1e9},
                                .pass_rate = 1e12,
                                .step_seconds = 1e-5,
                                .symv_latency_seconds = 1e-6,
                                .panel_rate = 1e11,
                                .panel_seconds = 1e-5};

std::string words_of(const Decision& d) {
  char line[192];
  std::snprintf(line, sizeof line, "%s: %s, cpu %.9g device %.9g", d.route == Route::device ? "device" : "cpu",
                text_of(d.reason), d.cpu_seconds, d.device_seconds);
  std::string text = line;
  if (d.reuse_seconds != 0) std::snprintf(line, sizeof line, " reuse %.9g", d.reuse_seconds), text += line;
  if (d.levels != 0 || d.tile != 0) text += ", " + std::to_string(d.levels) + " levels in tiles of " + number(d.tile);
  if (d.head != 0) text += ", head " + number(d.head);
  if (d.residues) text += ", by residues";
  if (d.slowdown != 1) std::snprintf(line, sizeof line, ", slowed down by %.9g", d.slowdown), text += line;
  if (d.calls != 1) text += ", of " + std::to_string(d.calls) + " calls";
  if (d.opens_meanwhile) text += ", opens it meanwhile";
  if (d.cpu_suffices) text += ", for the CPU";
  if (d.infeasible) text += ", nowhere";
  if (d.repeats) text += ", repeats";
  return text;
}

struct Machine {
  const char* name;
  const Profile& profile;
  bool in_full;  ///< or a hash for many problems
  std::optional<strassen::Estimator> estimators[precision_count] = {};
  const strassen::Estimator* estimator(Element p) const {
    if (p == Element::w) return nullptr;
    const auto& e = estimators[static_cast<int>(p.name)];
    return e ? &*e : nullptr;
  }
};

/// Circumstances beside the problem.
struct Circumstance {
  const char* name;
  void (*holds)(Facts&, Policy&);
};
constexpr Circumstance usual{"", [](Facts&, Policy&) {}};
constexpr Circumstance circumstances[] = {
    usual,
    {"off", [](Facts&, Policy& p) { p.on = false; }},
    {"forked", [](Facts& f, Policy&) { f.forked = true; }},
    {"exiting", [](Facts& f, Policy&) { f.exiting = true; }},
    {"measuring", [](Facts&, Policy& p) { p.measuring = true; }},
    {"forced", [](Facts&, Policy& p) { p.forced = true; }},
    {"forced, unopened", [](Facts& f, Policy& p) { p.forced = true, f.device = DeviceState::unopened; }},
    {"fixed", [](Facts& f, Policy& p) { p.fixed = true, f.slowdown = 3; }},
    {"fixed, forced, levels 2", [](Facts&, Policy& p) { p.fixed = p.forced = true, p.levels = 2; }},
    {"levels auto", [](Facts&, Policy& p) { p.levels = -1, p.products = Products::levels; }},
    {"levels 1", [](Facts&, Policy& p) { p.levels = 1; }},
    {"levels 3, forced", [](Facts&, Policy& p) { p.levels = 3, p.forced = true; }},
    {"unopened", [](Facts& f, Policy&) { f.device = DeviceState::unopened; }},
    {"unopened, missed 10 s", [](Facts& f, Policy&) { f.device = DeviceState::unopened, f.missed_seconds = 10; }},
    {"opening", [](Facts& f, Policy&) { f.device = DeviceState::opening, f.until_open = 0.3; }},
    {"absent", [](Facts& f, Policy&) { f.device = DeviceState::absent; }},
    {"in device memory", [](Facts& f, Policy&) { f.device_memory = f.result_stays = true, f.spared = 1e18; }},
    {"in device memory, levels auto",
     [](Facts& f, Policy& p) {
       f.device_memory = f.result_stays = true, f.spared = 1e18;
       p.levels = -1, p.products = Products::levels;
     }},
    {"in device memory, rounds otherwise", [](Facts& f, Policy&) { f.device_memory = f.rounds_otherwise = true; }},
    {"10 MB spared", [](Facts& f, Policy&) { f.spared = 1e7; }},
    {"all spared", [](Facts& f, Policy&) { f.spared = 1e18; }},
    {"all spared, slow CPU", [](Facts& f, Policy&) { f.spared = 1e18, f.cpu_rate = 1e9; }},
    {"10 MB reusable, missed 1 s", [](Facts& f, Policy&) { f.reusable = 1e7, f.missed_reuse = 1, f.cpu_rate = 2e11; }},
    {"100 MB reusable, missed 1 us", [](Facts& f, Policy&) { f.reusable = 1e8, f.missed_reuse = 1e-6; }},
    {"slow CPU", [](Facts& f, Policy&) { f.cpu_rate = 1e9; }},
    {"fast CPU", [](Facts& f, Policy&) { f.cpu_rate = 1e13; }},
    {"slowed down by 100", [](Facts& f, Policy&) { f.slowdown = 100, f.calls = 7; }},
    {"slowed down by 100, trial", [](Facts& f, Policy&) { f.slowdown = 100, f.trial = 1e9; }},
    {"rounds otherwise", [](Facts& f, Policy&) { f.rounds_otherwise = true; }},
    {"traps", [](Facts& f, Policy&) { f.traps = true; }},
    {"traps, forced", [](Facts& f, Policy& p) { f.traps = p.forced = true; }},
    {"1 GB sent again", [](Facts& f, Policy&) { f.sent_again = 1e9; }},
    {"no factors", [](Facts& f, Policy&) { f.able = false; }},
    {"no factors, forced", [](Facts& f, Policy& p) { f.able = false, p.forced = true; }},
};

std::string decided(const Problem& said, const Machine& machine, const Circumstance& circumstance,
                    const Circumstance& also = usual) {
  const Problem problem = counted(said);
  Facts facts{DeviceState::ready, &machine.profile, 1e11, 1, 0, false, false};
  facts.estimator = machine.estimator(problem.element);
  Policy policy{.on = true, .measuring = false, .forced = false, .fixed = false, .levels = 0};
  circumstance.holds(facts, policy);
  also.holds(facts, policy);
  if (!family_of(problem.routine).needs.has(Operation::Kind::qr_panel))
    facts.able = true;  // it is factors that there are none of
  const Decision d = decide(problem, facts, policy);
  std::string text = to_string(problem);
  if (*circumstance.name) text += std::string(" [") + circumstance.name + ']';
  text += " -> " + words_of(d);
  if (opens(d, policy)) text += ", opens";
  if (may_ask(facts, policy)) text += copies_matter(problem, facts, policy, d) ? ", copies matter" : ", may be asked";
  return text + '\n';
}

/// The first problem in every circumstance, and all of them in the usual one and with levels as is best.
void add_decisions(File& file, const char* name, const Machine& machine, const std::vector<Problem>& problems) {
  std::string text;
  for (const Circumstance& c : circumstances) text += decided(problems.front(), machine, c);
  constexpr Circumstance best = {"levels auto", [](Facts&, Policy&p) { p.levels = -1, p.products = Products::levels; }},
                         there = {"levels auto, all spared",
                                  [](Facts&f, Policy&p) {
                                    p.levels = -1, p.products = Products::levels, f.spared = 1e18;
                                  }},
                         of_all = {"products auto", [](Facts&, Policy&p) { p.levels = -1; }},
                         of_all_there = {"products auto, all spared",
                                         [](Facts&f, Policy&p) { p.levels = -1, f.spared = 1e18; }};
  file.add(std::string(name) + ", " + machine.name, text);
  text.clear();
  for (const Problem& problem : problems) {
    text += decided(problem, machine, usual);
    if (&family_of(problem.routine) == &product_family) {
      text += decided(problem, machine, best);
      text += decided(problem, machine, there);
      if (machine.profile.int8_rate > 0)
        text += decided(problem, machine, of_all) + decided(problem, machine, of_all_there);
    }
  }
  const std::string many = std::string("more ") + name + ", " + machine.name;
  machine.in_full ? file.add(many, text) : file.add_hash(many, text);
  text.clear();
  for (const Circumstance& first : circumstances)
    for (const Circumstance& second : circumstances) text += decided(problems.front(), machine, first, second);
  file.add_hash(std::string(name) + ", " + machine.name + ", in two circumstances at a time", text);
}

TEST(Golden, Decisions) {
  File file("decisions.txt",
            "Decisions on fixed problems [in circumstances]: where and why, predicted seconds, how products are cut, "
            "slowdown,\nwhether the device is opened for it, and whether copies "
            "matter.");
  static const Profile sm_90 = built_in_profile("sm_90"), host = built_in_profile("host");
  Machine machines[] = {{"round numbers", round_numbers, true}, {"sm_90", sm_90, true}, {"host", host, false}};
  for (Machine& m : machines)
    for (int p = 0; p < precision_count; ++p) m.estimators[p] = make_estimator(m.profile, static_cast<Precision>(p));

  const auto product = [](Precision p, index m, index n, index k, bool beta_zero = true) {
    constexpr Routine gemms[] = {Routine::sgemm, Routine::dgemm, Routine::cgemm, Routine::zgemm};
    return Problem{gemms[static_cast<int>(p)], p, m, n, k, false, beta_zero};
  };
  std::vector<Problem> products{product(Precision::d, 2048, 1536, 1024)};
  for (const Precision p : {Precision::s, Precision::d, Precision::c, Precision::z}) {
    for (const index n : {100, 255, 256, 1000, 4096, 10000}) products.push_back(product(p, n, n, n));
    products.push_back(product(p, 20000, 300, 300, false));
    products.push_back(product(p, 5000, 7000, 20));
    products.push_back(product(p, 17000, 16500, 16300, false));
  }
  const auto changed = [&](auto change) { change(products.emplace_back(product(Precision::d, 8192, 8192, 8192))); };
  changed([](Problem& p) { p.alpha_zero = true; });
  changed([](Problem& p) { p.overlaps = true; });
  changed([](Problem& p) { p.alpha_finite = false; });
  changed([](Problem& p) { p.beta_zero = false; });
  changed([](Problem& p) { p.m = 0; });
  changed([](Problem& p) { p.k = 0; });
  for (const Transposes t : {Transposes::nt, Transposes::tn, Transposes::tt})
    changed([t](Problem& p) { p.transposes = t; });
  for (const Part part : {Part::upper, Part::lower})
    for (const index k : {200, 8192}) changed([&](Problem& p) { p.routine = Routine::dsyrk, p.part = part, p.k = k; });
  changed([](Problem& p) { p.routine = Routine::zherk, p.element = Element::z, p.part = Part::lower; });

  std::vector<Problem> systems;
  for (const auto& [m, n, left] : {std::tuple{4096, 4096, true},
                                   {100, 100, true},
                                   {2000, 64, true},
                                   {64, 2000, true},
                                   {64, 20000, false},
                                   {16384, 16384, false},
                                   {60000, 60000, true}})
    systems.push_back(
        {.routine = Routine::dtrsm, .element = Element::d, .m = m, .n = n, .part = Part::lower, .left = left});
  systems.push_back(systems.front());
  systems.back().alpha_zero = true;

  const auto with_vector = [](Routine routine, Element element, index n, bool beta_zero) {
    return Problem{.routine = routine, .element = element, .n = n, .beta_zero = beta_zero};
  };
  std::vector<Problem> symv{with_vector(Routine::dsymv, Element::d, 4096, true)};
  constexpr Routine symvs[] = {Routine::ssymv, Routine::dsymv, Routine::chemv, Routine::zhemv, Routine::wsymv};
  for (int p = 0; p < element_count; ++p)
    for (const index n : {1, 511, 512, 2000, 20000})
      symv.push_back(with_vector(symvs[p], static_cast<Element::Name>(p), n, n == 2000));
  symv.resize(symv.size() + 3, symv.front());
  symv[symv.size() - 3].alpha_zero = true;
  symv[symv.size() - 2].overlaps = true;
  symv[symv.size() - 1].alpha_finite = false;
  symv.push_back(with_vector(Routine::dsymv, Element::d, (index{1} << 32) + 5, true));

  std::vector<Problem> gemv{
      {.routine = Routine::dgemv, .element = Element::d, .m = 4096, .n = 3000, .beta_zero = true, .adjoint = true}};
  constexpr Routine gemvs[] = {Routine::sgemv, Routine::dgemv, Routine::cgemv, Routine::zgemv};
  for (int p = 0; p < precision_count; ++p)
    for (const auto& [m, n] :
         {std::pair<index, index>{0, 5}, {511, 512}, {512, 512}, {8000, 8000}, {100000, 300}, {300, 100000}})
      for (const bool adjoint : {false, true})
        gemv.push_back({.routine = gemvs[p],
                        .element = static_cast<Precision>(p),
                        .m = m,
                        .n = n,
                        .beta_zero = m == 8000,
                        .adjoint = adjoint});
  gemv.resize(gemv.size() + 3, gemv.front());
  gemv[gemv.size() - 3].alpha_zero = true;
  gemv[gemv.size() - 2].overlaps = true;
  gemv[gemv.size() - 1].alpha_finite = false;
  gemv.push_back({.routine = Routine::dgemv, .element = Element::d, .m = (index{1} << 32) + 5, .n = 2});

  std::vector<Problem> qr{{Routine::dgeqrf, Precision::d, 4096, 3000}};
  constexpr Routine geqrfs[] = {Routine::sgeqrf, Routine::dgeqrf, Routine::cgeqrf, Routine::zgeqrf};
  for (int p = 0; p < precision_count; ++p)
    for (const auto& [m, n] :
         {std::pair<index, index>{0, 5}, {100, 100}, {1000, 1000}, {10000, 10000}, {100000, 200}, {300, 9000}})
      qr.push_back({geqrfs[p], static_cast<Precision>(p), m, n});
  qr.push_back(qr.front());
  qr.back().overlaps = true;

  const auto with_q = [](Routine routine, int p, const QProduct& q) {
    return Problem{.routine = routine,
                   .element = static_cast<Precision>(p),
                   .m = q.m,
                   .n = q.n,
                   .k = q.k,
                   .left = q.left,
                   .adjoint = q.adjoint,
                   .of_identity = q.of_identity};
  };
  std::vector<Problem> q{with_q(Routine::dormqr, 1, {true, true, 4096, 3000, 2000})};
  constexpr Routine ormqrs[] = {Routine::sormqr, Routine::dormqr, Routine::cunmqr, Routine::zunmqr},
                    orgqrs[] = {Routine::sorgqr, Routine::dorgqr, Routine::cungqr, Routine::zungqr};
  for (int p = 0; p < precision_count; ++p) {
    for (const auto& [m, n, k] :
         {std::array<index, 3>{100, 100, 100}, {2000, 1000, 2000}, {10000, 300, 10000}, {8000, 8000, 0}, {0, 5, 0}})
      q.push_back(with_q(ormqrs[p], p, {true, p % 2 == 0, m, n, k}));
    q.push_back(with_q(ormqrs[p], p, {false, p % 2 == 1, 3000, 7000, 2000}));
    q.push_back(with_q(orgqrs[p], p, {true, false, 7000, 3000, 2000, true}));
  }
  q.push_back(q.front());
  q.back().overlaps = true;

  for (const Machine& m : machines) {
    add_decisions(file, "products", m, products);
    add_decisions(file, "products of symmetric matrices with vectors", m, symv);
    add_decisions(file, "products of matrices with vectors", m, gemv);
    add_decisions(file, "QR", m, qr);
    add_decisions(file, "products with Q", m, q);
    add_decisions(file, "triangular systems", m, systems);
  }
  file.expect();
}

}  // namespace
}  // namespace blaslift
