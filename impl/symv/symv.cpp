#include "impl/symv/symv.hpp"
#include "impl/core/undestroyed.hpp"
#include "impl/symv/symv_family.hpp"
#include "impl/symv/symv_section.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <utility>

#include "impl/judge/judge.hpp"
#include "impl/route/attempts.hpp"
#include "impl/route/route.hpp"
#include "kernels/symv.hpp"

namespace blaslift {

/// For problem_of.
static bool is_finite(const DoubleDouble& x) { return std::isfinite(x.hi); }

namespace {

/// What the process knows of them.
struct Known : Learned {
  constexpr Known() : Learned{.cpu = CpuRates(timed_vector_flops)} {}
};
constinit Undestroyed<Known> known;

enum { operand_a, operand_x, operand_y };

template <class T>
Operands operands_of(Runtime& r, const SymvArgs<T>& args, bool ephemeral) {
  const bool multiplies = args.alpha != T(0);
  const auto vector = [&](const T* at, index inc) -> Stored {
    const StoredVector v = stored_vector(at, args.n, inc, std::max<index>(1, args.n));
    return {v.at, v.rows, v.cols, v.ld, sizeof(T)};
  };
  return Operands(r,
                  {{.stored = {args.A, args.n, args.n, args.lda, sizeof(T), part_of(args.uplo)}, .reads = multiplies},
                   {.stored = vector(args.x, args.incx), .reads = multiplies, .vector = true},
                   {.stored = vector(args.y, args.incy), .writes = true, .reads = args.beta != T(0), .vector = true}},
                  ephemeral);
}

double bytes_of(const std::vector<Block>& blocks, std::size_t element) {
  double elements = 0;
  for (const Block& b : blocks) elements += static_cast<double>(b.rows) * static_cast<double>(b.cols);
  return elements * static_cast<double>(element);
}

/// One product on the device.  Vectors of the host are packed, and what comes back waits here until all of it is there.
template <class T>
class Run {
 public:
  Run(const SymvArgs<T>& args, bool beta_zero, const Operands& operands, const SymvRule& rule)
      : args_(args),
        operands_(operands),
        rule_(rule),
        x_here_(operands[operand_x].place != Place::on_a_device),
        y_here_(operands[operand_y].place != Place::on_a_device) {
    if (x_here_) pack(args.x, args.incx, x_);
    if (y_here_ && !beta_zero) pack(args.y, args.incy, y_);
    if (y_here_) result_.resize(static_cast<std::size_t>(args.n));
  }

  /// With the copy that the matrix has now, or one in a lease.  Nothing is under way afterwards.
  /// @param wait       for room; otherwise no_memory if there is none now
  /// @param meanwhile  bool(), asked while the device computes: false, and there is no result, nor is it awaited
  template <class Meanwhile>
  Outcome attempt(Arena& arena, Backend& backend, bool wait, Meanwhile meanwhile) {
    const index n = args_.n;
    const Operand& a = operands_[operand_a];
    const bool leases_a = a.place != Place::on_a_device && !a.known.hold;
    const index ld = copy_ld(a.stored);
    const std::size_t vector = leased_bytes(n, 1, sizeof(T)), matrix = leases_a ? leased_bytes(ld, n, sizeof(T)) : 0;
    const SymvRule rule = args_.alpha == T(0) ? SymvRule{} : rule_;  // strips, which take no workspace
    Symv p{.precision = element_of<T>,
           .hermitian = is_complex(element_of<T>),
           .uplo = args_.uplo,
           .n = n,
           .alpha = &args_.alpha,
           .A = nullptr,
           .lda = n,
           .x = args_.x,
           .incx = args_.incx,
           .beta = &args_.beta,
           .y = args_.y,
           .incy = args_.incy,
           .blocking = rule.blocking,
           .way = rule.way,
           .conjugated = args_.conjugated};
    const std::size_t bytes =
        matrix + (x_here_ ? vector : 0) + (y_here_ ? vector : 0) + std::max<std::size_t>(1, symv_workspace(p));

    std::vector<Transfer> uploads;
    const std::vector<Block> missing = a.missing();
    uploads.reserve(missing.size() + 2);
    const index piece = std::max<index>(1, static_cast<index>(backend.facts().piece_bytes / sizeof(T)));
    std::vector<std::atomic<bool>> landed(y_here_ ? static_cast<std::size_t>((n + piece - 1) / piece) : 0);
    tickets_.resize(missing.size() + 3);
    for (std::size_t i = 0; i < tickets_.size(); ++i) tickets_[i] = static_cast<Ticket>(i);

    void* lease = nullptr;
    Outcome outcome{arena.take(bytes, wait, lease)};
    if (outcome.status != Status::done) return outcome;
    const Leased leased(arena, lease, bytes);
    // From here on nothing throws.
    char* next = static_cast<char*>(lease);
    const auto take = [&next](std::size_t size) { return std::exchange(next, next + size); };
    if (a.place == Place::on_a_device) {
      p.A = args_.A;
      p.lda = args_.lda;
    } else {
      p.A = leases_a ? take(matrix) : a.known.hold.device;
      p.lda = leases_a ? ld : a.known.hold.ld;
      const bool direct = a.place == Place::reachable;
      for (const Block& b : missing)
        uploads.push_back({static_cast<T*>(const_cast<void*>(p.A)) + b.row + b.col * p.lda, p.lda,
                           const_cast<T*>(args_.A) + b.row + b.col * args_.lda, args_.lda, b.rows, b.cols, sizeof(T),
                           direct});
    }
    if (x_here_) {
      p.x = take(vector);
      p.incx = 1;
      uploads.push_back({const_cast<void*>(p.x), n, x_.data(), n, n, 1, sizeof(T)});
    }
    if (y_here_) {
      p.y = take(vector);
      p.incy = 1;
      if (!y_.empty()) uploads.push_back({p.y, n, y_.data(), n, n, 1, sizeof(T)});
    }
    p.workspace = next;

    bytes_of_matrix_ = bytes_of(missing, sizeof(T));
    constexpr UnderlyingBlas none{[](const void*, const Operation&) {}, nullptr};  // no product of matrices here
    const double moved = bytes_of_matrix_ + 3 * static_cast<double>(vector);
    if (Lane* lane = backend.acquire(none, static_cast<std::size_t>(moved), outcome.status)) {
      const Acquired acquired(backend, lane);
      outcome.status = ask(*lane, uploads, p, piece, landed, meanwhile, outcome);
      settle(*lane, outcome);
    }
    return outcome;
  }

  /// After a success: y into the program's memory.
  void commit() const {
    if (!y_here_) return;
    T* y = first_of(args_.y, args_.n, args_.incy);
    for (std::size_t i = 0; i < result_.size(); ++i) y[static_cast<index>(i) * args_.incy] = result_[i];
  }

  double bytes_of_matrix() const { return bytes_of_matrix_; }  ///< sent by the last attempt

 private:
  void pack(const T* from, index inc, std::vector<T>& to) const {
    to.resize(static_cast<std::size_t>(args_.n));
    from = first_of(from, args_.n, inc);
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = from[static_cast<index>(i) * inc];
  }

  template <class Meanwhile>
  Status ask(Lane& lane, const std::vector<Transfer>& uploads, const Symv& p, index piece,
             std::vector<std::atomic<bool>>& landed, Meanwhile meanwhile, Outcome& outcome) {
    for (const Transfer& upload : uploads) {
      if (!not_exiting()) return Status::lost;
      if (const Status status = lane.upload(upload, {nullptr, 0}); status != Status::done) return status;
      outcome.bytes_in += static_cast<double>(upload.rows) * static_cast<double>(upload.cols) * sizeof(T);
    }
    if (!not_exiting()) return Status::lost;
    const int sent = static_cast<int>(uploads.size());
    if (const Status status = lane.ask(p, {tickets_.data(), sent}); status != Status::done) return status;
    if (!meanwhile()) return Status::done;
    const After product{tickets_.data() + sent, 1};
    for (std::size_t i = 0; i < landed.size(); ++i) {
      const index first = static_cast<index>(i) * piece, count = std::min(piece, args_.n - first);
      const Transfer download{static_cast<T*>(p.y) + first, count, result_.data() + first, count, count, 1, sizeof(T)};
      if (const Status status = lane.download(download, product, landed[i]); status != Status::done) return status;
      outcome.bytes_out += static_cast<double>(count) * sizeof(T);
    }
    return Status::done;
  }

  const SymvArgs<T>& args_;
  const Operands& operands_;
  const SymvRule rule_;
  const bool x_here_, y_here_;           ///< in the host's memory
  std::vector<T> x_{}, y_{}, result_{};  ///< y_: what is read of it, for another try as well
  std::vector<Ticket> tickets_{};
  double bytes_of_matrix_ = 0;
};

/// On the device.  If that does not come to an end, y in the host's memory is untouched.
template <class T>
Ending compute(Runtime& r, Backend& backend, const SymvArgs<T>& args, Operands& operands, const Decision& decision) {
  operands.locate(backend);
  const Operand &a = operands[operand_a], &y = operands[operand_y];
  const SymvRule& rule = symv_rule(r.device.profile(), element_of<T>, args.uplo, args.n);
  const bool beta_zero = args.beta == T(0);
  Run<T> run(args, beta_zero, operands, rule);
  Outcome outcome{Status::no_memory};
  if (operands.unconfirmed()) {
    bool good = false;
    outcome = run.attempt(r.arena, backend, false, [&] { return good = operands.confirm(); });
    if (outcome.status == Status::done && !good) outcome.status = Status::no_memory;
  }
  if (outcome.status == Status::no_memory) {
    const bool had_copy = static_cast<bool>(a.known.hold);
    operands.look();
    operands.keep_inputs();
    // Without the copy that it is sent for, it would be sent again and again.
    if (!a.known.hold && (decision.reason == Reason::reuse || (had_copy && decision.reason == Reason::faster)))
      return {.reason = Reason::transfers, .bytes_in = outcome.bytes_in, .transfers = outcome.transfers};
    const Outcome first = outcome;
    // Another try begins with y as it was: in the program's device memory a first one may have changed it.
    outcome = in_attempts(
        operands, [&](bool wait) { return run.attempt(r.arena, backend, wait, [] { return true; }); },
        [&] { return y.place != Place::on_a_device || beta_zero; });
    outcome.add(first);
  }
  const double whole = bytes_of(in_triangle(part_of(args.uplo), args.n, {{0, 0, args.n, args.n}}), sizeof(T));
  // From here on nothing throws.
  if (outcome.status == Status::done) {
    r.residency.before_writing(y.stored);
    run.commit();
  }
  // Of what would have been sent, with what that has of the other triangle.
  const double spared = a.known.hold ? std::max(0.0, whole - run.bytes_of_matrix()) : 0;
  Ending ending = ended(r, backend, decision, operands, outcome);
  if (ending.computed) {
    ending.bytes_spared = spared;
    ending.reused = spared > 0;
  }
  ending.way = with_numbers(0, rule.blocking.U, rule.blocking.Tx, rule.blocking.Ty, rule.blocking.H, rule.way);
  return ending;
}

}  // namespace

/// No other library has it.
template <class Repeat>
std::unique_ptr<Checkable> checkable(const SymvArgs<DoubleDouble>&, bool, Replay, const Repeat&) {
  return nullptr;
}

template <class T>
void symv(const Site& site, const SymvArgs<T>* args, Replay replay) {
  if (!enter(site)) return replay();
  if (!args) return refuse(site, replay);
  Runtime& r = runtime();
  (void)take_route(
      r, site, known.value, problem_of(info(site.symbol).routine, *args), *args, replay,
      [&](const SymvArgs<T>& x, bool ephemeral) { return operands_of(r, x, ephemeral); },
      [&](Backend& backend, const SymvArgs<T>& x, Operands& operands, const Decision& decision) {
        return compute(r, backend, x, operands, decision);
      },
      [](Decision&) {}, timed_vector_flops);
}

#define SYMV(name, type) template void symv(const Site&, const SymvArgs<type>*, Replay);
#define HEMV(name, type) SYMV(name, type)
#define WSYMV(name, type) SYMV(name, type)
#include "api/routines.def"

}  // namespace blaslift
