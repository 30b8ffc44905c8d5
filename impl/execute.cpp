#include "impl/execute.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <limits>
#include <optional>
#include <span>

namespace blaslift {
namespace {

/// Address in the stored matrix X (ld) of the block of op(X) that starts at (row, col).
template <class T>
const T* stored(const T* x, index ld, Op op, index row, index col) {
  return op == Op::none ? x + row + col * ld : x + col + row * ld;
}

/// Device memory of one operand: buffers of a lease, or memory for the whole of it.
template <class T>
class OperandMemory {
 public:
  /// @param rows, cols  of a buffer's block of op(X)
  /// @param plain       op(X) is X
  OperandMemory(char* buffers, std::size_t buffer_bytes, index rows, index cols, bool plain)
      : memory_(buffers), bytes_(buffer_bytes), rows_(rows), cols_(cols), ld_(plain ? rows : cols), plain_(plain) {}
  OperandMemory(const Placement::Operand& whole, bool plain)
      : memory_(static_cast<char*>(whole.device)), ld_(whole.ld), plain_(plain) {}

  /// Of an element of op(X), where buffer `number` holds it.
  T* at(int number, index row, index col) const {
    row %= rows_;
    col %= cols_;
    return reinterpret_cast<T*>(memory_ + static_cast<std::size_t>(number) * bytes_) +
           (plain_ ? row + col * ld_ : col + row * ld_);
  }
  /// Of the element that is stored at (row, col).
  T* stored_at(index row, index col) const { return reinterpret_cast<T*>(memory_) + row + col * ld_; }
  index ld() const { return ld_; }
  bool plain() const { return plain_; }

 private:
  char* memory_;
  std::size_t bytes_ = 0;
  index rows_ = std::numeric_limits<index>::max(), cols_ = std::numeric_limits<index>::max();
  index ld_;
  bool plain_;
};

template <class T>
struct DeviceMemory {
  DeviceMemory(const GemmSchedule& s, const GemmArgs<T>& args, const Placement& placement)
      : DeviceMemory(s.cut, args.transa == Op::none, args.transb == Op::none, placement) {
    std::size_t offset = s.cut.bytes(sizeof(T));
    for (const Extent& area : s.scratch) {
      scratch_.push_back({reinterpret_cast<T*>(start(placement, offset)), area.rows});
      offset += leased_bytes(area.rows, area.cols, sizeof(T));
    }
    findings = start(placement, offset);
  }

  OperandMemory<T> a, b, c;
  char* findings;

  struct Place {
    T* at;
    index ld;
  };
  Place place(const Region& r) const {
    if (r.area >= first_scratch) {
      const Place& area = scratch_[static_cast<std::size_t>(r.area - first_scratch)];
      return {area.at + r.block.row + r.block.col * area.ld, area.ld};
    }
    const OperandMemory<T>& x = r.area == area_a ? a : r.area == area_b ? b : c;
    return {x.stored_at(r.block.row, r.block.col), x.ld()};
  }

 private:
  DeviceMemory(const Cut& cut, bool a_plain, bool b_plain, const Placement& p)
      : a(cut.whole_a ? OperandMemory<T>(p.a, a_plain)
                      : OperandMemory<T>(start(p, 0), cut.a_bytes(sizeof(T)), cut.mb, cut.kb, a_plain)),
        b(cut.whole_b ? OperandMemory<T>(p.b, b_plain)
                      : OperandMemory<T>(start(p, operands(cut) * cut.a_bytes(sizeof(T))), cut.b_bytes(sizeof(T)),
                                         cut.kb, cut.nb, b_plain)),
        c(cut.whole_c ? OperandMemory<T>(p.c, true)
                      : OperandMemory<T>(start(p, operands(cut) * (cut.a_bytes(sizeof(T)) + cut.b_bytes(sizeof(T)))),
                                         cut.c_bytes(sizeof(T)), cut.mb, cut.nb, true)) {}

  static char* start(const Placement& p, std::size_t offset) { return static_cast<char*>(p.lease) + offset; }
  static std::size_t operands(const Cut& cut) { return static_cast<std::size_t>(cut.operands); }

  std::vector<Place> scratch_;
};

/// Runs one schedule: asks for its steps in an order that keeps the bus busy.
template <class T>
class Run {
 public:
  Run(const GemmSchedule& s, const GemmArgs<T>& args, const Placement& placement, Lane& lane)
      : s_(s), args_(args), placement_(placement), lane_(lane), on_device_(s, args, placement), asked_(s.steps.size()) {
    found_.resize(static_cast<std::size_t>(s.findings()));
  }

  Status steps(bool (*keep_going)()) {
    std::size_t next_upload = 0;
    for (std::size_t i = 0; i < s_.steps.size(); ++i) {
      if (i == s_.first_if_sound) {
        if (const Status status = await_findings(); status != Status::done) return status;
        if (verdict() != Verdict::sound) return Status::done;
      }
      // Asking for a product waits until its operands are on their way, so ask first for all uploads that can follow.
      for (; next_upload < s_.steps.size(); ++next_upload) {
        if (!goes_in(s_.steps[next_upload]) || asked_[next_upload].ticket != not_asked) continue;
        if (!all_asked(next_upload)) break;
        if (!keep_going()) return Status::lost;
        if (const Status status = ask(next_upload); status != Status::done) return status;
      }
      if (asked_[i].ticket != not_asked) continue;
      if (!keep_going()) return Status::lost;
      if (const Status status = ask(i); status != Status::done) return status;
    }
    return Status::done;
  }

  /// What A and B are like, once the findings are here.
  Verdict verdict() {
    if (!verdict_) verdict_ = judge();
    return *verdict_;
  }

  /// The same if they are here already, while the device still computes.
  void try_verdict() {
    for (std::size_t i = 0; i < s_.steps.size(); ++i)
      if (s_.steps[i].kind == StepKind::findings && !asked_[i].landed.load(std::memory_order_acquire)) return;
    (void)verdict();
  }

  void account(Outcome& outcome) const {
    for (std::size_t i = 0; i < s_.steps.size(); ++i) {
      const Step& step = s_.steps[i];
      const bool of_c = step.kind == StepKind::upload_c || step.kind == StepKind::download;
      const double bytes = elements_in(of_c ? s_.cut.part : Part::whole, step.block) * sizeof(T);
      if (step.kind <= StepKind::upload_c && asked_[i].ticket != not_asked) outcome.bytes_in += bytes;
      outcome.committed[i] = step.kind == StepKind::download && asked_[i].landed.load(std::memory_order_acquire);
      if (outcome.committed[i]) outcome.bytes_out += bytes;
    }
  }

 private:
  using Real = decltype(std::abs(T{}));
  static constexpr Ticket not_asked = -1;

  /// A step that the lane has been asked for, or not yet.
  struct Asked {
    Ticket ticket = not_asked;
    std::atomic<bool> landed{false};
  };

  Verdict judge() const {
    if (!s_.surveyed) return Verdict::sound;
    const std::span all(found_);
    const auto slices = static_cast<std::size_t>(s_.slices()), k = static_cast<std::size_t>(s_.k),
               rows = static_cast<std::size_t>(s_.m) * slices;
    Findings<Real> findings{.a_rows = all.subspan(0, rows),
                            .a_cols = all.subspan(rows, k),
                            .slices = slices,
                            .group = static_cast<std::size_t>(s_.slice)};
    const bool of_b = s_.cut.part == Part::whole;
    findings.b_rows = of_b ? all.subspan(rows + k, k) : findings.a_cols;
    findings.b_cols = of_b ? all.subspan(rows + 2 * k) : findings.a_rows;
    return blaslift::judge(findings, s_.depth, static_cast<double>(std::abs(args_.alpha)), s_.reads_c);
  }

  bool all_asked(std::size_t step) const {
    return std::all_of(s_.after[step].begin(), s_.after[step].end(),
                       [this](std::int32_t x) { return asked_[static_cast<std::size_t>(x)].ticket != not_asked; });
  }

  /// While the device goes on with what it has been asked for.
  Status await_findings() {
    for (std::size_t i = 0; i < s_.steps.size(); ++i)
      if (s_.steps[i].kind == StepKind::findings)
        if (const Status status = lane_.await(asked_[i].landed); status != Status::done) return status;
    return Status::done;
  }

  Status ask(std::size_t i) {
    const Step& step = s_.steps[i];
    const Block& x = step.block;
    std::vector<Ticket> tickets;
    for (const std::int32_t earlier : s_.after[i]) tickets.push_back(asked_[static_cast<std::size_t>(earlier)].ticket);
    const After after{tickets.data(), static_cast<int>(tickets.size())};
    Status status = Status::done;
    switch (step.kind) {
      case StepKind::upload_a:
        status = lane_.upload(transfer(on_device_.a, step.a, stored(args_.A, args_.lda, args_.transa, x.row, x.col),
                                       args_.lda, x, placement_.a.direct),
                              after);
        break;
      case StepKind::upload_b:
        status = lane_.upload(transfer(on_device_.b, step.b, stored(args_.B, args_.ldb, args_.transb, x.row, x.col),
                                       args_.ldb, x, placement_.b.direct),
                              after);
        break;
      case StepKind::upload_c: status = lane_.upload(of_c(step), after); break;
      case StepKind::multiply: {
        const bool from_a = s_.from_a(x);
        const auto to = step.apart
                            ? on_device_.place({first_scratch, x})
                            : typename DeviceMemory<T>::Place{on_device_.c.at(step.c, x.row, x.col), on_device_.c.ld()};
        status =
            lane_.gemm({.precision = precision_of<T>,
                        .transa = args_.transa,
                        .transb = args_.transb,
                        .m = x.rows,
                        .n = x.cols,
                        .k = step.kb,
                        .alpha = &args_.alpha,
                        .A = on_device_.a.at(step.a, x.row, step.k0),
                        .lda = on_device_.a.ld(),
                        .B = from_a ? on_device_.a.at(step.a, x.col, step.k0) : on_device_.b.at(step.b, step.k0, x.col),
                        .ldb = from_a ? on_device_.a.ld() : on_device_.b.ld(),
                        .beta = step.apart   ? &zero_
                                : step.first ? &args_.beta
                                             : &one_,
                        .C = to.at,
                        .ldc = to.ld,
                        .stream = step.stream,
                        .awaited = s_.awaited[i],
                        .part = s_.part_of(x)},
                       after);
        break;
      }
      case StepKind::leaf:
        status = leaf(s_.leaves[static_cast<std::size_t>(step.number)], step.stream, s_.awaited[i], after);
        break;
      case StepKind::pass:
        status = pass(s_.passes[static_cast<std::size_t>(step.number)], step.stream, s_.awaited[i], after);
        break;
      case StepKind::begin: status = lane_.upload(of_findings(x), after); break;
      case StepKind::survey:
        status = survey(static_cast<Area>(step.number), x, step.stream, s_.awaited[i], after);
        break;
      case StepKind::findings: status = lane_.download(of_findings(x), after, asked_[i].landed); break;
      case StepKind::download: status = lane_.download(of_c(step), after, asked_[i].landed); break;
    }
    if (status == Status::done) asked_[i].ticket = next_ticket_++;
    return status;
  }

  Status leaf(const Leaf& x, std::int8_t stream, bool awaited, After after) {
    const T alpha = x.negative ? -args_.alpha : args_.alpha;
    const auto a = on_device_.place(x.x), b = on_device_.place(x.y), c = on_device_.place(x.target);
    const auto e = x.adds ? on_device_.place(x.e) : typename DeviceMemory<T>::Place{nullptr, 0};
    const index size = x.target.block.rows;
    return lane_.gemm({.precision = precision_of<T>,
                       .transa = args_.transa,
                       .transb = args_.transb,
                       .m = size,
                       .n = size,
                       .k = size,
                       .alpha = &alpha,
                       .A = a.at,
                       .lda = a.ld,
                       .B = b.at,
                       .ldb = b.ld,
                       .beta = !x.adds    ? &zero_
                               : x.scaled ? &args_.beta
                                          : &one_,
                       .C = c.at,
                       .ldc = c.ld,
                       .E = e.at,
                       .lde = e.ld,
                       .stream = stream,
                       .awaited = awaited},
                      after);
  }

  Status pass(const Pass& x, std::int8_t stream, bool awaited, After after) {
    Combination p{.precision = precision_of<T>,
                  .rows = x.targets.front().region.block.rows,
                  .cols = x.targets.front().region.block.cols,
                  .sources = static_cast<int>(x.sources.size()),
                  .targets = static_cast<int>(x.targets.size()),
                  .scale = &args_.beta,
                  .stream = stream,
                  .awaited = awaited};
    for (std::size_t i = 0; i < x.sources.size(); ++i) {
      const auto place = on_device_.place(x.sources[i].region);
      p.source[i] = {place.at, place.ld, x.sources[i].scaled};
    }
    for (std::size_t i = 0; i < x.targets.size(); ++i) {
      const auto place = on_device_.place(x.targets[i].region);
      p.target[i] = {place.at, place.ld, {}};
      std::copy(x.targets[i].sign.begin(), x.targets[i].sign.end(), p.target[i].sign);
    }
    return lane_.combine(p, after);
  }

  Status survey(Area area, const Block& x, std::int8_t stream, bool awaited, After after) {
    const bool transposed = area == area_a ? s_.transposed_a : s_.transposed_b;
    const Block block = s_.as_operand({area, x});
    const auto place = on_device_.place({area, block});
    // op(A)'s rows by slices, op(A)'s columns, op(B)'s rows, op(B)'s columns by slices.
    Real* const of_a = reinterpret_cast<Real*>(on_device_.findings);
    Real* const of_b = of_a + s_.m * s_.slices() + s_.k;
    Real *rows, *cols;
    if (area == area_a) {
      rows = of_a + s_.slice_of(x.col) * s_.m + x.row;
      cols = of_a + s_.slices() * s_.m + x.col;
    } else {
      rows = of_b + x.row;
      cols = of_b + s_.k + s_.slice_of(x.row) * s_.n + x.col;
    }
    if (transposed) std::swap(rows, cols);
    return lane_.survey({precision_of<T>, block.rows, block.cols, place.at, place.ld, rows, cols, stream, awaited},
                        after);
  }

  Transfer of_findings(const Block& x) {
    const index all = s_.findings();
    return {
        reinterpret_cast<Real*>(on_device_.findings) + x.row, all, found_.data() + x.row, all, x.rows, 1, sizeof(Real)};
  }

  static Transfer transfer(const OperandMemory<T>& memory, int number, const T* host, index ldh, const Block& x,
                           bool direct) {
    const bool plain = memory.plain();
    return {memory.at(number, x.row, x.col),
            memory.ld(),
            const_cast<T*>(host),
            ldh,
            plain ? x.rows : x.cols,
            plain ? x.cols : x.rows,
            sizeof(T),
            direct};
  }
  Transfer of_c(const Step& step) const {
    const Block& x = step.block;
    Transfer t = transfer(on_device_.c, step.c, args_.C + x.row + x.col * args_.ldc, args_.ldc, x, placement_.c.direct);
    if (contains(s_.cut.part, x)) return t;
    t.direct = false;
    t.part = s_.cut.part;
    t.below = x.row - x.col;
    return t;
  }

  const GemmSchedule& s_;
  const GemmArgs<T>& args_;
  const Placement& placement_;
  Lane& lane_;
  const DeviceMemory<T> on_device_;
  const T one_{1}, zero_{0};
  std::vector<Asked> asked_;  ///< by step
  std::vector<Real> found_;   ///< by the surveys
  std::optional<Verdict> verdict_;
  Ticket next_ticket_ = 0;
};

}  // namespace

template <class T>
Outcome execute(const GemmSchedule& s, const GemmArgs<T>& args, const Placement& placement, Lane& lane,
                bool (*keep_going)()) {
  Outcome outcome;
  Status asked = Status::no_memory;
  std::optional<Run<T>> run;
  try {
    outcome.committed.resize(s.steps.size());
    asked = run.emplace(s, args, placement, lane).steps(keep_going);
  } catch (const std::exception&) {  // the host's memory; what was asked for still runs
  }
  if (asked == Status::done)
    run->try_verdict();
  else
    lane.abandon();  // what waits in line is not worth waiting for
  const Status drained = lane.drain();
  outcome.transfers = lane.transfer_times();
  outcome.status = asked != Status::done ? asked : drained;
  if (run) run->account(outcome);
  if (run && outcome.status == Status::done) outcome.verdict = run->verdict();
  // What was brought back before the findings were known has not been judged, and will not be.
  if (outcome.status != Status::done && s.surveyed && s.first_if_sound == SIZE_MAX) {
    outcome.committed.assign(outcome.committed.size(), false);
    outcome.bytes_out = 0;
  }
  return outcome;
}

template <class T>
void finish(const GemmSchedule& s, const Outcome& outcome, const GemmArgs<T>& args, const UnderlyingGemm& underlying) {
  if (outcome.untouched()) return underlying.call(underlying.context, as_gemm(args));  // as if we had never been there
  const auto compute = [&](const Block& c, Part part) {
    if (c.rows == 0 || c.cols == 0) return;
    Gemm rest = as_gemm(args);
    rest.m = c.rows;
    rest.n = c.cols;
    rest.A = stored(args.A, args.lda, args.transa, c.row, index{0});
    rest.B = stored(args.B, args.ldb, args.transb, index{0}, c.col);
    rest.C = args.C + c.row + c.col * args.ldc;
    rest.part = part;
    underlying.call(underlying.context, rest);
  };
  for (std::size_t i = 0; i < s.steps.size(); ++i) {
    if (s.steps[i].kind != StepKind::download || outcome.committed[i]) continue;
    const Block& c = s.steps[i].block;
    const index cols = c.cols;
    const bool from_diagonal = c.row == c.col, to_diagonal = c.row + c.rows == c.col + cols;
    if (args.part == Part::lower && from_diagonal) {
      compute({c.row, c.col, cols, cols}, args.part);
      compute({c.row + cols, c.col, c.rows - cols, cols}, Part::whole);
    } else if (args.part == Part::upper && to_diagonal) {
      compute({c.row, c.col, c.rows - cols, cols}, Part::whole);
      compute({c.col, c.col, cols, cols}, args.part);
    } else {
      compute(c, Part::whole);
    }
  }
}

#define GEMM(name, type)                                                                                     \
  template Outcome execute(const GemmSchedule&, const GemmArgs<type>&, const Placement&, Lane&, bool (*)()); \
  template void finish(const GemmSchedule&, const Outcome&, const GemmArgs<type>&, const UnderlyingGemm&);
#include "api/routines.def"

}  // namespace blaslift
