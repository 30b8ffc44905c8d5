#include "impl/scalapack/gathered.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "compat/say.hpp"
#include "impl/core/host_memory.hpp"
#include "impl/route/family.hpp"
#include "impl/route/route.hpp"

namespace blaslift::scalapack {

namespace {

// Copies to shared memory and back: by each process, and by all of a node together.
constexpr double copy_rate_of_one = 4e9, copy_rate_of_all = 4e10;

}  // namespace

int GatheredCall::add(const Operand& operand, std::size_t bytes) {
  constexpr std::size_t line = 4096;
  if (count_ == most_operands) return valid_ = false, 0;
  std::size_t& end = operand.kind == Operand::workspace ? works_ : brought_;
  operands_[static_cast<std::size_t>(count_)] = operand;
  operands_[static_cast<std::size_t>(count_)].offset = end;
  end += (bytes + line - 1) / line * line;
  return count_++;
}

char* GatheredCall::place_of(const Operand& x) const {
  return meeting_.at(x.offset + (x.kind == Operand::workspace ? brought_ : 0));
}

int GatheredCall::add_matrix(int first, index m, index n, std::size_t bytes, Access access, Part part) {
  Operand x{Operand::matrix, access, bytes, arguments_.to<void>(first), {}, 0, 0, 0};
  const std::int32_t* words = arguments_.to<const std::int32_t>(first + 3);
  const bool described = Descriptor::parse(words, grid_, x.sub.of);
  x.sub.i = arguments_.integer(first + 1) - 1;
  x.sub.j = arguments_.integer(first + 2) - 1;
  x.sub.m = m;
  x.sub.n = n;
  x.sub.part = part;
  require(described && x.sub.inside());
  for (int i = 0; i < 8; ++i)
    if (i != 1) agree_on(words[i]);  // handles of one context may be other numbers on other processes
  agree_on(arguments_.integer(first + 1));
  agree_on(arguments_.integer(first + 2));
  if (!valid_) x.sub.m = x.sub.n = 0;
  x.ld = std::max<index>(1, (x.sub.m + 7) / 8 * 8);
  return add(x, bytes * static_cast<std::size_t>(x.ld) * static_cast<std::size_t>(x.sub.n));
}

int GatheredCall::add_array(Operand::Kind kind, int argument, int matrix, index count, std::size_t bytes,
                            Access access) {
  Operand x{kind, access, bytes, argument < 0 ? nullptr : arguments_.to<void>(argument), {}, valid_ ? count : 0, 0, 0};
  if (matrix >= 0) x.sub = operands_[static_cast<std::size_t>(matrix)].sub;
  return add(x, bytes * static_cast<std::size_t>(std::max<index>(1, x.count)));
}

int GatheredCall::pivots(int argument, int matrix, index count, Access access) {
  return add_array(Operand::pivots, argument, matrix, count, sizeof(std::int32_t), access);
}

void GatheredCall::share(int written, int read) {
  const Operand& from = operands_[static_cast<std::size_t>(read)];
  Operand& to = operands_[static_cast<std::size_t>(written)];
  require(valid_ && to.sub.m == from.sub.m && to.sub.n <= from.sub.n);
  brought_ = to.offset;  // which is nobody's then
  to.offset = from.offset;
  to.ld = from.ld;
}

void GatheredCall::limit(int operand, int by) { operands_[static_cast<std::size_t>(operand)].limit = by; }

GatheredCall::Operand GatheredCall::limited(const Operand& x) const {
  Operand counts = x;
  if (x.limit < 0) return counts;
  const index most = *at<std::int32_t>(x.limit);
  counts.count = std::min(x.count, most);
  counts.sub.n = std::min(x.sub.n, most);
  return counts;
}

void GatheredCall::require_blocks(int matrix) {
  const Submatrix& a = operands_[static_cast<std::size_t>(matrix)].sub;
  require(valid_ && a.of.rows.block == a.of.columns.block && a.i % a.of.rows.block == 0 &&
          a.j % a.of.columns.block == 0);
}

void GatheredCall::require_same_rows(int a, int b) {
  const Submatrix &x = operands_[static_cast<std::size_t>(a)].sub, &y = operands_[static_cast<std::size_t>(b)].sub;
  require(valid_ && x.of.rows.block == y.of.rows.block && x.i % x.of.rows.block == 0 && y.i % y.of.rows.block == 0 &&
          x.of.rows.owner(x.i) == y.of.rows.owner(y.i));
}

bool GatheredCall::agree(const Blacs& blacs, bool willing) {
  constexpr std::int32_t most = INT32_MAX;
  const auto mixed = static_cast<std::int32_t>((hash_ ^ (hash_ >> 32)) & most);
  const std::int32_t node = node_number();
  // Least and, by its complement, largest: equal only if all have the same.
  std::int32_t words[5] = {valid_ && willing, mixed, most - mixed, node, most - node};
  blacs.least(grid_, words, 5);
  return words[0] == 1 && words[1] == most - words[2] && words[3] == most - words[4];
}

bool GatheredCall::gather(const Blacs& blacs, bool ready) {
  constexpr int no = Meeting::invitation_words;
  std::int32_t words[no + 1] = {};
  if (grid_.is_root()) {
    constexpr std::size_t spare = std::size_t{256} << 20;
    constexpr std::size_t keeps_part = 8;
    const std::size_t available = available_memory();
    words[no] = brought_ + brought_ / 8 + spare < available + meeting_.held() &&
                meeting_.make(grid_, brought_ + works_, brought_);
    keeps_ = meeting_.held() < available / keeps_part;
    if (words[no] == 1) meeting_.invite(words);
  }
  blacs.from_root(grid_, words, no + 1);
  std::int32_t here = ready && words[no] == 1 && (grid_.is_root() || meeting_.join(grid_, words, brought_ + works_));
  blacs.least(grid_, &here, 1);
  if (here != 1) return meeting_.leave(), false;
  for (int i = 0; i < count_; ++i)
    if (reads(operands_[static_cast<std::size_t>(i)].access)) bring(operands_[static_cast<std::size_t>(i)]);
  meeting_.arrive();
  if (grid_.is_root() && !meeting_.wait_for_all()) give_up(blacs);
  return true;
}

bool GatheredCall::scatter(const Blacs& blacs, bool computed) {
  if (grid_.is_root()) meeting_.end(computed ? Meeting::computed : Meeting::declined, keeps_);
  const Meeting::Outcome outcome = meeting_.wait_for_end();
  if (outcome == Meeting::open) give_up(blacs);
  if (outcome == Meeting::computed)
    for (int i = 0; i < count_; ++i)
      if (writes(operands_[static_cast<std::size_t>(i)].access))
        take_home(limited(operands_[static_cast<std::size_t>(i)]));
  meeting_.part();
  return outcome == Meeting::computed;
}

void GatheredCall::bring(const Operand& x) const {
  char* to = place_of(x);
  const char* from = static_cast<const char*>(x.local);
  const Dealt &rows = x.sub.of.rows, &columns = x.sub.of.columns;
  switch (x.kind) {
    case Operand::matrix: return scalapack::gather(x.sub, x.local, to, x.ld, x.bytes);
    case Operand::pivots:
      // The same in all columns of the grid: each process brings what its row has.
      for (index i = 0; i < x.count; ++i)
        if (rows.owner(x.sub.i + i) == grid_.row)
          reinterpret_cast<std::int32_t*>(to)[i] =
              reinterpret_cast<const std::int32_t*>(from)[rows.local(x.sub.i + i)] - static_cast<std::int32_t>(x.sub.i);
      return;
    case Operand::per_column:
      for (index j = 0; j < x.count; ++j)
        if (columns.owner(x.sub.j + j) == grid_.column)
          std::memcpy(to + x.bytes * static_cast<std::size_t>(j),
                      from + x.bytes * static_cast<std::size_t>(columns.local(x.sub.j + j)), x.bytes);
      return;
    case Operand::of_all:
    case Operand::workspace: return;
  }
}

void GatheredCall::take_home(const Operand& x) const {
  const char* from = place_of(x);
  char* to = static_cast<char*>(x.local);
  const Dealt &rows = x.sub.of.rows, &columns = x.sub.of.columns;
  switch (x.kind) {
    case Operand::matrix: return scalapack::scatter(x.sub, x.local, from, x.ld, x.bytes);
    case Operand::pivots:
      for (index i = 0; i < x.count; ++i)
        if (rows.owner(x.sub.i + i) == grid_.row)
          reinterpret_cast<std::int32_t*>(to)[rows.local(x.sub.i + i)] =
              reinterpret_cast<const std::int32_t*>(from)[i] + static_cast<std::int32_t>(x.sub.i);
      return;
    case Operand::per_column:
      for (index j = 0; j < x.count; ++j)
        if (columns.owner(x.sub.j + j) == grid_.column)
          std::memcpy(to + x.bytes * static_cast<std::size_t>(columns.local(x.sub.j + j)),
                      from + x.bytes * static_cast<std::size_t>(j), x.bytes);
      return;
    case Operand::of_all: std::memcpy(to, from, x.bytes * static_cast<std::size_t>(x.count)); return;
    case Operand::workspace: return;
  }
}

void GatheredCall::give_up(const Blacs& blacs) const {
  say("blaslift: a process of this program's grid has died, in the middle of a call of ScaLAPACK\n");
  const std::int32_t status = 1;
  blacs.abort(&grid_.context, &status);
  std::abort();
}

bool is_worthwhile(const Problem& problem, const Learned& learned, std::size_t bytes, int processes) {
  Runtime& r = runtime();
  const Policy policy = policy_for(r, problem.routine);
  Facts facts = facts_now(r, learned, problem);
  ask_device(r, problem, facts);
  // Until one was timed: each process as fast as this one.
  facts.cpu_rate = learned.cpu.rate(problem.element, problem.flops,
                                    processes * family_of(problem.routine).cpu_rate(problem, *facts.profile));
  const Decision decision = decide(problem, facts, policy);
  if (decision.reason == Reason::startup) {
    const double missed = decision.cpu_seconds - decision.device_seconds;
    if (missed > 0) r.missed_seconds.fetch_add(missed, std::memory_order_relaxed);
  }
  if (decision.route != Route::device) return false;
  const double copying = 2 * static_cast<double>(bytes) / std::min(processes * copy_rate_of_one, copy_rate_of_all);
  return policy.forced || decision.cpu_seconds > decision.worth * (decision.device_seconds + copying);
}

}  // namespace blaslift::scalapack
