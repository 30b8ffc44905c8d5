#include "impl/route/operands.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "impl/core/host_memory.hpp"

namespace blaslift {

namespace {

/// Calls `each` with the parts of `missing` that hold what is missing of a triangle.
template <class Each>
void split_triangle(Part triangle, index n, std::span<const Block> missing, const Each& each) {
  // On the diagonal half of a block of columns is sent for nothing: one 32nd of the triangle.
  constexpr index narrow = 64, parts = 32;
  const index width = std::max(narrow, (n + parts - 1) / parts);
  for (index col = 0; col < n; col += width) {
    const index end = std::min(n, col + width);
    const Block panel = triangle == Part::upper ? Block{0, col, end, end - col} : Block{col, col, n - col, end - col};
    for (const Block& b : missing)
      if (overlap(b, panel)) each(intersection(b, panel));
  }
}

}  // namespace

std::vector<Block> in_triangle(Part triangle, index n, const std::vector<Block>& missing) {
  std::vector<Block> blocks;
  split_triangle(triangle, n, missing, [&](const Block& b) { blocks.push_back(b); });
  return blocks;
}

// ---- one

Resident Operand::resident() const {
  if (memory == MemoryKind::on_a_device) return {.whole = true, .in_place = true};
  Resident x{known.hold.device != nullptr, known.hold.missing};
  if (transposed)
    for (Block& b : x.missing) b = {b.col, b.row, b.cols, b.rows};
  return x;
}

DeviceOperand Operand::placement(bool direct) const {
  if (memory == MemoryKind::on_a_device) return {const_cast<void*>(stored.at), stored.ld, false};
  return {known.hold.device, known.hold.ld, direct};
}

double Operand::share_of_triangle() const {
  const double rows = static_cast<double>(stored.rows), cols = static_cast<double>(stored.cols);
  return cols * (cols + 1) / 2 / std::max(1.0, rows * cols);
}

double Operand::spared() const {
  if (stored.part == Part::whole || writes) return counted(known.spared);
  if (!known.hold) return 0;
  double elements = 0;
  for_each_missing([&](const Block& b) { elements += static_cast<double>(b.rows) * static_cast<double>(b.cols); });
  return std::max(0.0, counted(stored.bytes()) - elements * static_cast<double>(stored.element));
}

std::vector<Block> Operand::missing() const {
  std::vector<Block> blocks;
  for_each_missing([&](const Block& b) { blocks.push_back(b); });
  return blocks;
}

template <class Each>
void Operand::for_each_missing(const Each& each) const {
  if (memory == MemoryKind::on_a_device) return;
  const Block whole{0, 0, stored.rows, stored.cols};
  const std::span<const Block> blocks = known.hold ? std::span<const Block>(known.hold.missing) : std::span(&whole, 1);
  const Part held = known.hold ? known.hold.part : stored.part;
  if (stored.part == Part::whole || held == Part::whole)
    for (const Block& b : blocks) each(b);
  else
    split_triangle(stored.part, stored.rows, blocks, each);
}

// ---- all of a call's

bool can_keep(std::span<const Operand> operands) {
  double bytes = 0;
  for (const Operand& x : operands)
    if (x.writes && x.memory != MemoryKind::on_a_device) bytes += static_cast<double>(x.matrices) * x.stored.bytes();
  return has_memory_for(bytes);
}

Operands::Operands(Place& place, std::span<const OperandRole> all, bool ephemeral) : place_(place), count_(all.size()) {
  Operand* next = first();
  for (const OperandRole& role : all) std::construct_at(next++, role, ephemeral);
  while (result_ + 1 < count_ && !first()[result_].writes) ++result_;
}

void Operands::locate(Backend& backend) {
  if (std::exchange(located_, true)) return;
  for (Operand& x : all())
    x.memory = x.touched() ? backend.memory_kind(x.stored.at, x.stored.range().size(), false) : MemoryKind::on_a_device;
}

void Operands::look_at(Operand& x) {
  x.cared_for = !x.vector && !x.ephemeral && x.memory == MemoryKind::pageable && place_.residency.cares(x.stored);
}

void Operands::peek() {
  Operand& first = (*this)[0];
  look_at(first);
  if (first.cared_for) first.known.hold = place_.residency.peek(first.stored);
  unconfirmed_ = static_cast<bool>(first.known.hold);
  if (unconfirmed_) first.known.spared = first.stored.bytes();  // as far as is known until it is confirmed
}

bool Operands::confirm() {
  Operand& first = (*this)[0];
  unconfirmed_ = !place_.residency.confirm(first.known.hold, first.stored, glance_);
  return !unconfirmed_;
}

void Operands::look() {
  if (std::exchange(looked_, true)) return;
  close(false);
  unconfirmed_ = false;
  for (Operand& x : all()) {
    look_at(x);
    if (x.cared_for) x.known = place_.residency.look(x.stored, x.writes, x.reads, glance_);
  }
}

void Operands::keep_inputs() {
  std::array<Operand*, most> inputs;
  std::size_t count = 0;
  for (Operand& x : all())
    if (!x.writes && !x.destroyed && x.cared_for && !x.known.hold) inputs[count++] = &x;
  std::stable_sort(inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(count),
                   [](const Operand* x, const Operand* y) { return x->stored.bytes() > y->stored.bytes(); });
  for (Operand* x : std::span(inputs.data(), count))
    x->known.hold = place_.residency.keep(x->stored, {.writes = false, .reads = x->reads}, glance_);
}

void Operands::keep_result() {
  if (Operand& x = result(); x.cared_for && !x.known.hold)
    x.known.hold = place_.residency.keep(x.stored, {.writes = true, .reads = x.reads, .factors = x.factors}, glance_);
}

void Operands::close(bool good) {
  for (Operand& x : all())
    if (x.known.hold) place_.residency.close(x.known.hold, good);
}

void Operands::forget() {
  close(false);
  for (Operand& x : all()) x.known = {};
}

void Operands::spoil_result() {
  Operand& x = result();
  if (x.known.hold) x.known.hold.missing = {{0, 0, x.stored.rows, x.stored.cols}};
}

bool Operands::any_hold() const {
  return std::ranges::any_of(all(), [](const Operand& x) { return static_cast<bool>(x.known.hold); });
}
std::size_t Operands::held_bytes() const {
  std::size_t bytes = 0;
  for (const Operand& x : all()) bytes += x.known.hold.bytes;
  return bytes;
}
double Operands::spared() const {
  double bytes = 0;
  for (const Operand& x : all()) bytes += x.spared();
  return bytes;
}
int Operands::reused() const {
  return static_cast<int>(std::ranges::count_if(all(), [](const Operand& x) { return x.spared() > 0; }));
}
double Operands::moved() const {
  double bytes = 0;
  for (const Operand& x : all())
    if (x.memory != MemoryKind::on_a_device)
      bytes += x.counted(x.stored.bytes() * ((x.reads ? 1 : 0) + (x.writes ? 1 : 0))) - x.spared();
  return bytes;
}
double Operands::in_place() const {
  double bytes = 0;
  for (const Operand& x : all())
    if (x.reads && x.memory == MemoryKind::on_a_device) bytes += x.counted(x.stored.bytes());
  return bytes;
}
bool Operands::all_in_device_memory() const {
  return std::ranges::all_of(all(), [](const Operand& x) { return x.memory == MemoryKind::on_a_device; });
}
bool Operands::in_device_memory() const {
  return std::ranges::any_of(all(), [](const Operand& x) { return x.out_of_reach(); });
}
bool Operands::writes_in_device_memory() const {
  return std::ranges::any_of(all(), [](const Operand& x) { return x.writes && x.out_of_reach(); });
}

}  // namespace blaslift
