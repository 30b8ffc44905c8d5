#include "impl/route/verifier.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "compat/library.hpp"
#include "compat/say.hpp"
#include "compat/shown.hpp"
#include "impl/observe/counters.hpp"

namespace blaslift {

void say_verify_problem(const std::string& problem) {
  auto& note = counters().verify_problem;
  if (!note.claim()) return;
  note.publish(problem.c_str());
  say("blaslift: verification: ", shown(problem), "\n");
}

Verifier::Turn& Verifier::turn_of(Routine routine, double flops) {
  const int size = flops >= 1 ? std::min(size_classes_ - 1, std::ilogb(flops) / 2) : 0;
  return turns_[static_cast<int>(routine)][size];
}

bool Verifier::due(Routine routine, double flops, std::uint32_t every) {
  std::atomic<std::uint32_t>& left = turn_of(routine, flops).left;
  std::uint32_t before = left.load(std::memory_order_relaxed);
  while (!left.compare_exchange_weak(before, before > 0 ? before - 1 : every - 1, std::memory_order_relaxed)) {
  }
  return before == 0;
}

void Verifier::pass_on(Routine routine, double flops, std::uint32_t every) {
  // Where several threads do so at once, one call more or less is due.
  Turn& turn = turn_of(routine, flops);
  const std::uint32_t calls = turn.passed_on.load(std::memory_order_relaxed);
  turn.left.store(std::min(turn.left.load(std::memory_order_relaxed), calls), std::memory_order_relaxed);
  turn.passed_on.store(std::min(2 * calls + 1, every - 1), std::memory_order_relaxed);
}

void Verifier::settle(Routine routine, double flops) {
  turn_of(routine, flops).passed_on.store(0, std::memory_order_relaxed);
}

const Site* Verifier::oracle(Routine routine, const std::string& path) {
  auto& known = oracles_[static_cast<int>(routine)];
  if (const Site* site = known.load(std::memory_order_acquire)) return site->function ? site : nullptr;
  // No lock: opening a library twice gives the same one.
  auto made = std::make_unique<Site>();
  Target target;
  std::string why;
  if (find_in(path.c_str(), routine, made->symbol, target, why)) {
    made->function = target.function;
    made->wide = target.wide;
  } else if (!is_lapack(routine)) {
    say_verify_problem("BLASLIFT_VERIFY_ORACLE: " + why);
  }
  const Site* other = nullptr;
  const Site* mine = made.get();
  if (!known.compare_exchange_strong(other, mine, std::memory_order_acq_rel))
    mine = other;
  else
    (void)made.release();  // for the life of the process
  return mine->function ? mine : nullptr;
}

int Verifier::next_dump() {
  constexpr int most_dumps = 8;
  if (dumps_.load(std::memory_order_relaxed) >= most_dumps) return -1;
  const int number = dumps_.fetch_add(1, std::memory_order_relaxed);
  return number < most_dumps ? number : -1;
}

}  // namespace blaslift
