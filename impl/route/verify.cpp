#include "impl/route/verify.hpp"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <utility>

#include "compat/library.hpp"
#include "compat/say.hpp"
#include "impl/core/host_memory.hpp"
#include "impl/core/quiet_floats.hpp"
#include "impl/core/text.hpp"
#include "impl/observe/call_record.hpp"
#include "impl/route/runtime.hpp"

namespace blaslift {
namespace {

constexpr const char* finding_texts[] = {
#define X(name, text) text,
    BLASLIFT_FINDINGS(X)
#undef X
};

CheckCounters& counters_of(const Site& site) { return counters().checks[static_cast<int>(info(site.symbol).routine)]; }

void add_one(std::atomic<std::uint64_t>& counter) { counter.fetch_add(1, std::memory_order_relaxed); }

/// How a call went that the device has computed: "memory=68719476736 levels=2 tile=8192 cut=1f", without what is zero.
/// Calls of equal arguments and words have the same bits on the same device.
std::string words_of_way(const DeviceFacts& device, const Decision& decision, const Ending& ending) {
  std::string words = "memory=" + std::to_string(device.memory);
  const auto word = [&words](const char* name, auto value) {
    if (value) words += std::string(" ") + name + '=' + std::to_string(value);
  };
  word("levels", ending.levels);
  word("tile", ending.levels ? ending.tile : 0);
  word("head", ending.residues ? 0 : decision.head);
  word("residues", static_cast<int>(ending.residues));
  word("reused", ending.reused);
  word("failed", static_cast<int>(ending.reason == Reason::failed));
  char cut[32];
  std::snprintf(cut, sizeof cut, " cut=%llx", static_cast<unsigned long long>(ending.way));
  return words + cut;
}

/// "libsolver.so+0x1a2b (factor+0x3c)": what addr2line takes.
std::string place_of(const void* caller) {
  if (!caller) return {};
  char text[160];
  Dl_info where{};
  link_map* map = nullptr;
  if (!dladdr1(caller, &where, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) || !map || !where.dli_fname) {
    std::snprintf(text, sizeof text, "%p", caller);
    return text;
  }
  const char* slash = std::strrchr(where.dli_fname, '/');
  const auto at = static_cast<const char*>(caller);
  std::snprintf(text, sizeof text, "%.80s+%#zx", slash ? slash + 1 : where.dli_fname,
                reinterpret_cast<std::size_t>(caller) - map->l_addr);
  std::string place = text;
  if (where.dli_sname) {
    std::snprintf(text, sizeof text, " (%.60s+%#tx)", where.dli_sname, at - static_cast<const char*>(where.dli_saddr));
    place += text;
  }
  return place;
}

template <std::size_t size>
void copy_text(char (&to)[size], const std::string& from) {
  std::snprintf(to, size, "%s", from.c_str());
}

std::string words_of(unsigned findings) {
  std::string words;
  for (int i = 0; i < finding_count; ++i)
    if (findings >> i & 1) words += (words.empty() ? "" : ", ") + std::string(finding_texts[i]);
  return words;
}

bool is_read_only(const CheckedOperand& x) { return x.reads && !x.writes; }

}  // namespace

Check::~Check() {
  if (!due_) return;
  const Routine routine = info(site_.symbol).routine;
  if (counted_)
    runtime_.verifier.settle(routine, flops_);
  else
    runtime_.verifier.pass_on(routine, flops_, runtime_.options.verify);
}

void Check::leave(Unchecked why) {
  call_.reset();
  before_.reset();
  counted_ = true;
  add_one(counters_of(site_).unchecked[static_cast<int>(why)]);
}

void Check::before(Backend* backend) {
  if (std::exchange(asked_, true) || runtime_.forked.load(std::memory_order_acquire)) return;
  due_ = runtime_.verifier.due(info(site_.symbol).routine, flops_, runtime_.options.verify);
  if (!due_) return;
  try {
    call_ = describe_(context_);
    if (call_) copy_operands(backend);
  } catch (const std::exception&) {
    leave(Unchecked::memory);
  }
}

void Check::copy_operands(Backend* backend) {
  const auto& operands = call_->operands;
  if (std::all_of(operands.begin(), operands.end(),
                  [](const CheckedOperand& x) { return !x.writes || x.stored.rows == 0 || x.stored.cols == 0; }))
    return call_.reset();
  if (call_->overlaps) return leave(Unchecked::overlap);
  if (too_late(runtime_)) return leave(Unchecked::exiting);
  if (!find_library()) return leave(Unchecked::oracle);

  // Another run's output and the reference's, magnitudes, and the units that the result is measured in.
  double needed = 0;
  for (const CheckedOperand& x : operands) needed += (x.writes ? 6 : 2) * x.stored.bytes();
  constexpr double little = 1 << 20;  // not worth a look, which takes longer than the check
  if (needed > little && needed > 0.75 * static_cast<double>(available_memory())) return leave(Unchecked::memory);

  before_ = std::make_unique<PrivateCopy[]>(operands.size());
  at_.assign(operands.size(), nullptr);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const CheckedOperand& x = operands[i];
    at_[i] = const_cast<void*>(x.stored.at);
    if (!x.reads && !x.writes) continue;
    if (backend && backend->memory_kind(x.stored.at, static_cast<std::size_t>(x.stored.range().size()), false) ==
                       MemoryKind::on_a_device)
      return leave(Unchecked::on_device);
    if (!x.reads) continue;
    if (!before_[i].make(x.stored, x.stored.at)) return leave(Unchecked::memory);
    at_[i] = before_[i].at();
  }
}

/// What the result is compared with.
bool Check::find_library() {
  const std::string& oracle = runtime_.options.oracle;
  const auto find = [&](Routine routine) -> const Site* {
    if (!oracle.empty()) return runtime_.verifier.oracle(routine, oracle);
    return site_beside(site_, routine, runtime_.options.fallback.c_str());
  };
  const Routine own = call_->same_as.value_or(info(site_.symbol).routine);
  // A batch is young in libraries, and has had faults: its products are the library's gemm's.
  const bool by_own = oracle.empty() && products_of(own) == Routine::count;
  reference_ = by_own ? &site_ : find(call_->of_oracle.value_or(own));
  for (const Routine routine : call_->beside) beside_.push_back(find(routine));
  return reference_ && std::find(beside_.begin(), beside_.end(), nullptr) == beside_.end();
}

void Check::computed(const Decision& decision, const Ending& ending) {
  if (!ending.computed) return;
  decision_ = decision;
  ending_ = ending;
}

void Check::look() {
  if (!call_) return;
  if (too_late(runtime_)) return leave(Unchecked::exiting);
  try {
    compare();
  } catch (const std::exception&) {
    leave(Unchecked::memory);
  }
}

void Check::Outputs::make(const Check& of) {
  const auto& operands = of.call_->operands;
  count_ = operands.size();
  copies_ = std::make_unique<PrivateCopy[]>(count_);
  at = of.at_;
  for (std::size_t i = 0; i < count_; ++i) {
    const CheckedOperand& x = operands[i];
    if (!x.writes && !x.scratch) continue;
    if (!copies_[i].make(x.stored, x.reads ? of.at_[i] : nullptr)) throw std::bad_alloc();
    at[i] = copies_[i].at();
  }
}

bool Check::Outputs::intact() const {
  return std::all_of(copies_.get(), copies_.get() + count_, [](const PrivateCopy& x) { return !x || x.intact(); });
}

bool Check::Outputs::same(const Check& of, void* const* other, std::size_t real) const {
  for (std::size_t i = 0; i < count_; ++i)
    if (const CheckedOperand& x = of.call_->operands[i]; x.writes && !copies_[i].same(other[i], x.integers ? 0 : real))
      return false;
  return true;
}

bool Check::inputs_kept() const {
  for (std::size_t i = 0; i < call_->operands.size(); ++i)
    if (is_read_only(call_->operands[i]) && !before_[i].same(call_->operands[i].stored.at, 0)) return false;
  return true;
}

bool Check::inputs_intact() const {
  for (std::size_t i = 0; i < call_->operands.size(); ++i)
    if (is_read_only(call_->operands[i]) && !before_[i].intact()) return false;
  return true;
}

/// Computes the call once more, in the way in which the program's result was; false if that did not come to an end.
bool Check::repeat(Outputs& to, unsigned& findings, std::uint64_t& way) {
  to.make(*this);
  if (ending_.computed) {
    Decision decision = decision_;
    decision.reason = Reason::forced;
    decision.levels = ending_.levels;
    decision.tile = ending_.tile;
    decision.residues = ending_.residues;
    decision.repeats = true;
    const Ending ending = call_->on_device(to.at.data(), decision);
    if (!ending.computed || ending.reason == Reason::failed) return false;
    way = ending.way;
    to.info = ending.info;
  } else {
    call_->underneath(to.at.data());
    way = ending_.way;
  }
  if (!to.intact() || !inputs_intact()) findings |= bit(Finding::outside);
  if (!inputs_kept()) findings |= bit(Finding::input_changed);
  return true;
}

void Check::compare() {
  const QuietFloats quiet;
  std::vector<void*> result = at_;
  for (std::size_t i = 0; i < result.size(); ++i)
    if (call_->operands[i].writes) result[i] = const_cast<void*>(call_->operands[i].stored.at);
  const std::size_t real = call_->operands[0].stored.element / (is_complex(precision_) ? 2 : 1);
  unsigned findings = inputs_kept() ? 0 : bit(Finding::input_changed);

  // From operands that only the reference has seen.
  Outputs reference;
  if (!call_->alone) reference.make(*this);
  if (reference_ != &site_ && !call_->by(*reference_, reference.at.data())) return leave(Unchecked::oracle);
  if (reference_ == &site_ && !call_->alone) call_->underneath(reference.at.data());
  const Judgement judgement =
      call_->judge({*reference_, beside_.data()}, at_.data(), result.data(), reference.at.data(), ending_);
  if (!(judgement.ratio <= judgement.limit)) findings |= bit(Finding::over);

  // A call that spoils its operands spoils the copies, too; to be kept they have to be as they were.
  std::unique_ptr<PrivateCopy[]> as_they_were;
  recorded_ = at_;
  if (findings & bit(Finding::input_changed)) {
    as_they_were = std::make_unique<PrivateCopy[]>(at_.size());
    for (std::size_t i = 0; i < at_.size(); ++i) {
      if (!call_->operands[i].reads) continue;
      if (!as_they_were[i].make(call_->operands[i].stored, at_[i])) throw std::bad_alloc();
      recorded_[i] = as_they_were[i].at();
    }
  }

  Outputs again, once_more;
  std::uint64_t way = 0, other_way = 0;
  bool repeated = false, same = true;
  // What the CPU has finished was put together by chance.
  const bool repeatable = !(ending_.computed && ending_.reason == Reason::failed) && !too_late(runtime_);
  if (repeatable && repeat(again, findings, way)) {
    if (way == ending_.way) {
      repeated = true;
      same = again.info == ending_.info && again.same(*this, result.data(), real);
    } else if (repeat(once_more, findings, other_way) &&
               other_way == way) {  // the program's used copies that were kept
      repeated = true;
      same = again.info == once_more.info && again.same(*this, once_more.at.data(), real);
    }
    if (!same) findings |= bit(Finding::unrepeatable);
  }

  counted_ = true;
  CheckCounters& c = counters_of(site_);
  add_one(c.checked);
  if (repeated) add_one(c.repeated);
  if (findings) add_one(c.wrong);
  for (int i = 0; i < finding_count; ++i)
    if (findings >> i & 1) add_one(c.found[i]);
  note(findings, judgement, same ? nullptr : &again, call_->alone ? nullptr : &reference);
}

void Check::note(unsigned findings, const Judgement& judgement, const Outputs* again, const Outputs* reference) {
  NotedCall call{};
  call.routine = info(site_.symbol).routine;
  call.findings = static_cast<std::uint8_t>(findings);
  call.ratio = judgement.ratio;
  call.limit = judgement.limit;
  const std::string caller = place_of(site_.caller.load(std::memory_order_relaxed));
  copy_text(call.arguments, call_->arguments);
  copy_text(call.caller, caller);
  const std::string way =
      ending_.computed ? words_of_way(runtime_.first.device.backend().facts(), decision_, ending_) : std::string();
  copy_text(call.way, way);

  Counters& c = counters();
  const auto is_like = [&call](const NotedCall& x) {
    return x.complete.load(std::memory_order_relaxed) && x.routine == call.routine &&
           !std::strcmp(x.arguments, call.arguments) && !std::strcmp(x.caller, call.caller);
  };
  const auto less = [](const NotedCall& x, const NotedCall& y) { return x.rank() < y.rank(); };
  NotedCall* const end = c.worst + most_noted_calls;
  bool kept = false;
  if (findings) {  // one of its like is enough
    const Noting noting(c);
    if (!noting) return;
    kept = std::any_of(c.worst, end, [&](const NotedCall& x) { return is_like(x) && x.dump[0]; });
  }
  if (findings && !kept) copy_text(call.dump, keep(findings, judgement, caller, way, again, reference));

  const Noting noting(c);
  if (!noting) return;
  NotedCall* place = std::find_if(c.worst, end, is_like);
  const bool like = place != end;
  if (!like) place = std::min_element(c.worst, end, less);
  const bool worse = !place->complete.load(std::memory_order_relaxed) || less(*place, call);
  if (worse) {
    place->complete.store(0, std::memory_order_release);
    place->routine = call.routine;
    place->findings = call.findings;
    place->ratio = call.ratio;
    place->limit = call.limit;
    std::memcpy(place->arguments, call.arguments, sizeof place->arguments);
    std::memcpy(place->caller, call.caller, sizeof place->caller);
    std::memcpy(place->way, call.way, sizeof place->way);
    if (!like || call.dump[0]) std::memcpy(place->dump, call.dump, sizeof place->dump);
    if (!like) place->calls.store(0, std::memory_order_relaxed);
    place->complete.store(1, std::memory_order_release);
  }
  if (like || worse) add_one(place->calls);
}

/// The file it is kept in, or nothing.
std::string Check::keep(unsigned findings, const Judgement& judgement, const std::string& caller,
                        const std::string& way, const Outputs* again, const Outputs* reference) {
  const std::string& directory = runtime_.options.verify_dump;
  const int number = directory.empty() ? -1 : runtime_.verifier.next_dump();
  if (number < 0) return {};
  const std::string routine = name_of(call_->same_as.value_or(info(site_.symbol).routine));
  RecordText text{.routine = routine,
                  .symbol = info(site_.symbol).name,
                  .arguments = call_->arguments,
                  .library = site_.library,
                  .oracle = runtime_.options.oracle,
                  .caller = caller,
                  .found = words_of(findings),
                  .ratio = blaslift::number(judgement.ratio),
                  .limit = blaslift::number(judgement.limit)};
  if (ending_.computed) {
    const DeviceFacts& facts = runtime_.first.device.backend().facts();
    text.backend = counters().backend.get();
    text.device = facts.name;
    text.driver = facts.driver;
    text.way = way;
    for (const auto& [variable, value] : runtime_.options.of_ways)
      text.settings.push_back(std::string(variable) + '=' + value);
    text.profile = version_line() + to_text(runtime_.first.device.profile());
  }
  std::vector<RecordBlock> blocks;
  const auto& operands = call_->operands;
  const auto add = [&blocks](const std::string& name, Stored stored, const void* at) {
    stored.at = at;
    blocks.push_back({name, stored});
  };
  // Behind the first output's name those of the others.
  const auto add_outputs = [&](const std::string& name, const Outputs* of) {
    bool others = false;
    for (std::size_t i = 0; i < operands.size(); ++i)
      if (operands[i].writes)
        add(std::exchange(others, true) ? name + '-' + operands[i].name : name, operands[i].stored,
            of ? of->at[i] : operands[i].stored.at);
  };
  for (std::size_t i = 0; i < operands.size(); ++i)
    if (operands[i].reads) add(operands[i].name, operands[i].stored, recorded_[i]);
  add_outputs("result", nullptr);
  if (again) add_outputs("again", again);
  if (reference) add_outputs("reference", reference);
  const std::string path =
      directory + "/" + routine + "-" + std::to_string(getpid()) + "-" + std::to_string(number) + ".call";
  const std::string why = write_record(path, text, blocks);
  if (why.empty()) return path;
  say_verify_problem("a call that is wrong could not be kept: " + why);
  return {};
}

}  // namespace blaslift
