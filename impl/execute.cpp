#include "impl/execute.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <optional>

namespace blaslift {
namespace {

/// Address in the stored matrix X (ld) of the block of op(X) that starts at (row, col).
template <class T>
const T* stored(const T* x, index ld, Op op, index row, index col) {
  return op == Op::none ? x + row + col * ld : x + col + row * ld;
}

/// Where a schedule's buffers lie in a lease, and where in them an element is.
template <class T>
struct Buffers {
  Buffers(void* lease, const GemmSchedule& s, const GemmArgs<T>& args)
      : cut(s.cut),
        a_plain(args.transa == Op::none),
        b_plain(args.transb == Op::none),
        lda(a_plain ? cut.mb : cut.kb),
        ldb(b_plain ? cut.kb : cut.nb),
        memory(static_cast<char*>(lease)) {}

  T* at(std::size_t offset, index row, index col, index ld, bool plain) const {
    return reinterpret_cast<T*>(memory + offset) + (plain ? row + col * ld : col + row * ld);
  }
  T* a(int number, index row, index col) const {
    return at(static_cast<std::size_t>(number) * cut.a_bytes(sizeof(T)), row % cut.mb, col % cut.kb, lda, a_plain);
  }
  T* b(int number, index row, index col) const {
    const auto operands = static_cast<std::size_t>(cut.operands);
    return at(operands * cut.a_bytes(sizeof(T)) + static_cast<std::size_t>(number) * cut.b_bytes(sizeof(T)),
              row % cut.kb, col % cut.nb, ldb, b_plain);
  }
  T* c(int number, index row, index col) const {
    const auto operands = static_cast<std::size_t>(cut.operands);
    return at(operands * (cut.a_bytes(sizeof(T)) + cut.b_bytes(sizeof(T))) +
                  static_cast<std::size_t>(number) * cut.c_bytes(sizeof(T)),
              row % cut.mb, col % cut.nb, cut.mb, true);
  }

  const Cut cut;
  const bool a_plain, b_plain;
  const index lda, ldb;  ///< the stored operands', in their buffers
  char* const memory;
};

/// Runs one schedule: asks for its steps in an order that keeps the bus busy.
template <class T>
class Run {
 public:
  Run(const GemmSchedule& s, const GemmArgs<T>& args, Lane& lane, void* memory)
      : s_(s), args_(args), lane_(lane), at_(memory, s, args), after_(depend(s)), tickets_(s.steps.size(), -1) {
    landed_ = std::vector<std::atomic<bool>>(s.steps.size());
  }

  Status steps(bool (*keep_going)()) {
    std::size_t next_upload = 0;
    for (std::size_t i = 0; i < s_.steps.size(); ++i) {
      // Asking for a product waits until its operands are on their way, so ask first for all uploads that can follow.
      for (; next_upload < s_.steps.size(); ++next_upload) {
        if (s_.steps[next_upload].kind > StepKind::upload_c) continue;
        if (!all_asked(next_upload)) break;
        if (!keep_going()) return Status::lost;
        if (const Status status = ask(next_upload); status != Status::done) return status;
      }
      if (tickets_[i] >= 0) continue;
      if (!keep_going()) return Status::lost;
      if (const Status status = ask(i); status != Status::done) return status;
    }
    return Status::done;
  }

  void account(Outcome& outcome) const {
    for (std::size_t i = 0; i < s_.steps.size(); ++i) {
      const Step& step = s_.steps[i];
      const double bytes = static_cast<double>(step.block.rows) * static_cast<double>(step.block.cols) * sizeof(T);
      if (step.kind <= StepKind::upload_c && tickets_[i] >= 0) outcome.bytes_in += bytes;
      outcome.committed[i] = landed_[i].load(std::memory_order_acquire);
      if (outcome.committed[i]) outcome.bytes_out += bytes;
    }
  }

 private:
  bool all_asked(std::size_t step) const {
    return std::all_of(after_[step].begin(), after_[step].end(),
                       [this](std::int32_t x) { return tickets_[static_cast<std::size_t>(x)] >= 0; });
  }

  Status ask(std::size_t i) {
    const Step& step = s_.steps[i];
    const Block& x = step.block;
    std::vector<Ticket> tickets;
    for (const std::int32_t earlier : after_[i]) tickets.push_back(tickets_[static_cast<std::size_t>(earlier)]);
    const After after{tickets.data(), static_cast<int>(tickets.size())};
    Status status = Status::done;
    switch (step.kind) {
      case StepKind::upload_a:
        status =
            lane_.upload(transfer(at_.a(step.a, x.row, x.col), at_.lda,
                                  stored(args_.A, args_.lda, args_.transa, x.row, x.col), args_.lda, x, at_.a_plain),
                         after);
        break;
      case StepKind::upload_b:
        status =
            lane_.upload(transfer(at_.b(step.b, x.row, x.col), at_.ldb,
                                  stored(args_.B, args_.ldb, args_.transb, x.row, x.col), args_.ldb, x, at_.b_plain),
                         after);
        break;
      case StepKind::upload_c: status = lane_.upload(of_c(step), after); break;
      case StepKind::multiply:
        status = lane_.gemm({.precision = precision_of<T>,
                             .transa = args_.transa,
                             .transb = args_.transb,
                             .m = x.rows,
                             .n = x.cols,
                             .k = step.kb,
                             .alpha = &args_.alpha,
                             .A = at_.a(step.a, x.row, step.k0),
                             .lda = at_.lda,
                             .B = at_.b(step.b, step.k0, x.col),
                             .ldb = at_.ldb,
                             .beta = step.first ? &args_.beta : &one_,
                             .C = at_.c(step.c, x.row, x.col),
                             .ldc = s_.cut.mb},
                            after);
        break;
      case StepKind::download: status = lane_.download(of_c(step), after, landed_[i]); break;
    }
    if (status == Status::done) tickets_[i] = next_ticket_++;
    return status;
  }

  static Transfer transfer(T* device, index ldd, const T* host, index ldh, const Block& x, bool plain) {
    return {device, ldd, const_cast<T*>(host), ldh, plain ? x.rows : x.cols, plain ? x.cols : x.rows, sizeof(T)};
  }
  Transfer of_c(const Step& step) const {
    const Block& x = step.block;
    return transfer(at_.c(step.c, x.row, x.col), s_.cut.mb, args_.C + x.row + x.col * args_.ldc, args_.ldc, x, true);
  }

  const GemmSchedule& s_;
  const GemmArgs<T>& args_;
  Lane& lane_;
  const Buffers<T> at_;
  const T one_{1};
  const std::vector<std::vector<std::int32_t>> after_;
  std::vector<Ticket> tickets_;            ///< by step; -1: not asked for
  std::vector<std::atomic<bool>> landed_;  ///< by step
  Ticket next_ticket_ = 0;
};

}  // namespace

template <class T>
Outcome execute(const GemmSchedule& s, const GemmArgs<T>& args, Lane& lane, bool (*keep_going)()) {
  Outcome outcome;
  void* memory = nullptr;
  outcome.status = lane.lease(s.cut.bytes(sizeof(T)), memory);
  if (outcome.status != Status::done) return outcome;
  Status asked = Status::no_memory;
  std::optional<Run<T>> run;
  try {
    outcome.committed.resize(s.steps.size());
    asked = run.emplace(s, args, lane, memory).steps(keep_going);
  } catch (const std::exception&) {  // the host's memory; what was asked for still runs
  }
  const Status drained = lane.drain();
  outcome.status = asked != Status::done ? asked : drained;
  if (run) run->account(outcome);
  return outcome;
}

template <class T>
void finish(const GemmSchedule& s, const Outcome& outcome, const GemmArgs<T>& args, const UnderlyingGemm& underlying) {
  if (outcome.untouched()) return underlying.call(underlying.context, as_gemm(args));  // as if we had never been there
  for (std::size_t i = 0; i < s.steps.size(); ++i) {
    if (s.steps[i].kind != StepKind::download || outcome.committed[i]) continue;
    const Block& c = s.steps[i].block;
    Gemm rest = as_gemm(args);
    rest.m = c.rows;
    rest.n = c.cols;
    rest.A = stored(args.A, args.lda, args.transa, c.row, index{0});
    rest.B = stored(args.B, args.ldb, args.transb, index{0}, c.col);
    rest.C = args.C + c.row + c.col * args.ldc;
    underlying.call(underlying.context, rest);
  }
}

#define GEMM(name, type)                                                                   \
  template Outcome execute(const GemmSchedule&, const GemmArgs<type>&, Lane&, bool (*)()); \
  template void finish(const GemmSchedule&, const Outcome&, const GemmArgs<type>&, const UnderlyingGemm&);
#include "api/routines.def"

}  // namespace blaslift
