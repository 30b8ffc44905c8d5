#include "impl/symv/symv.hpp"
#include "impl/core/undestroyed.hpp"
#include "impl/symv/symv_decision.hpp"
#include "impl/symv/symv_section.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <utility>

#include "impl/judge/judge.hpp"
#include "impl/route/route.hpp"
#include "kernels/symv.hpp"

namespace blaslift {

std::vector<Block> in_triangle(Uplo uplo, index n, const std::vector<Block>& missing) {
  // On the diagonal half of a block of columns is sent for nothing: one 32nd of the triangle.
  constexpr index narrow = 64, parts = 32;
  const index width = std::max(narrow, (n + parts - 1) / parts);
  std::vector<Block> blocks;
  for (index col = 0; col < n; col += width) {
    const index end = std::min(n, col + width);
    const Block panel = uplo == Uplo::upper ? Block{0, col, end, end - col} : Block{col, col, n - col, end - col};
    for (const Block& b : missing)
      if (overlap(b, panel)) blocks.push_back(intersection(b, panel));
  }
  return blocks;
}

/// For product_of.
static bool is_finite(const DoubleDouble& x) { return std::isfinite(x.hi); }

namespace {

/// What the process knows of them.
struct Known : Learned {
  constexpr Known() : Learned{.cpu = CpuRates(timed_vector_flops)} {}
};
constinit Undestroyed<Known> known;

double bytes_of(const std::vector<Block>& blocks, std::size_t element) {
  double elements = 0;
  for (const Block& b : blocks) elements += static_cast<double>(b.rows) * static_cast<double>(b.cols);
  return elements * static_cast<double>(element);
}

Facts facts_now(Runtime& r, const SymmetricProduct& product) {
  return facts_now(r, known.value, product.precision, product.flops(), cpu_rate_until_measured(product));
}

/// A call's operands; lets go of the matrix's copy at the end.
class Operands {
 public:
  template <class T>
  Operands(Runtime& r, const SymvArgs<T>& args, const SymmetricProduct& product, bool passing = false)
      : a{{args.A, args.n, args.n, args.lda, sizeof(T), args.uplo == Uplo::upper ? Part::upper : Part::lower},
          false,
          false,
          !product.alpha_zero},
        x{stored(args.x, args.n, args.incx), false, false, !product.alpha_zero},
        y{stored(args.y, args.n, args.incy), false, true, !product.beta_zero},
        uplo(args.uplo),
        runtime_(r) {
    a.passing = passing;
  }
  ~Operands() { close(false); }
  Operands(const Operands&) = delete;
  Operands& operator=(const Operands&) = delete;

  /// Once, as soon as the device is open.
  void locate(Backend& backend) {
    if (std::exchange(located_, true)) return;
    for (Operand* operand : {&a, &x, &y}) operand->locate(backend);
  }
  /// After locate.  Vectors move in every call: next to the matrix they are nothing.  A copy that there is can be
  /// computed with before it has been looked at: confirm() does that meanwhile.
  void peek() {
    a.peek(runtime_.residency);
    unconfirmed_ = static_cast<bool>(a.known.hold);
  }
  bool unconfirmed() const { return unconfirmed_; }
  bool confirm() {
    unconfirmed_ = !runtime_.residency.confirm(a.known.hold, a.stored, glance_);
    return !unconfirmed_;
  }
  /// Once, after locate, where there is nothing to be confirmed, or that was in vain.
  void look() {
    if (std::exchange(looked_, true)) return;
    close(false);
    unconfirmed_ = false;
    a.look(runtime_.residency, glance_);
  }
  /// After look.
  void keep() { a.keep(runtime_.residency, glance_); }
  void close(bool good) { runtime_.residency.close(a.known.hold, good); }

  bool in_device_memory() const { return a.out_of_reach() || x.out_of_reach() || y.out_of_reach(); }

  /// What has to be sent of the matrix.
  std::vector<Block> missing() const {
    if (a.place == Place::on_a_device) return {};
    const index n = a.stored.rows;
    if (!a.known.hold) return in_triangle(uplo, n, {{0, 0, n, n}});
    return a.known.hold.part == Part::whole ? a.known.hold.missing : in_triangle(uplo, n, a.known.hold.missing);
  }

  Operand a, x, y;
  const Uplo uplo;

 private:
  template <class T>
  static Stored stored(const T* at, index n, index inc) {
    const StoredVector v = stored_vector(at, n, inc, std::max<index>(1, n));
    return {v.at, v.rows, v.cols, v.ld, sizeof(T)};
  }

  Runtime& runtime_;
  Residency::Glance glance_;
  bool located_ = false, looked_ = false, unconfirmed_ = false;
};

/// The decision, with a look at the operands where they matter.
Decision decide_now(Runtime& r, const SymmetricProduct& product, Operands& operands) {
  const Policy policy = policy_for(r, product.routine);
  if (!product.alpha_zero && !product.overlaps)
    open_for_fixed(r, policy, symmetric_volume(static_cast<double>(product.n)) >= small_product);
  Facts facts = facts_now(r, product);
  if (not_open_yet(facts.device)) {
    Decision guess = decide(product, facts, policy);
    if (guess.reason == Reason::transfers && r.options.residency != ResidencyMode::off) {
      facts.reusable = product.bytes_of_triangle();
      const Decision with_copy = decide(product, facts, policy);
      if (with_copy.reuse_seconds > 0 && r.recurring.again(operands.a.stored)) guess = with_copy;
    }
    if (!opens(guess, policy) || !open_device(r)) return guess;
    facts = facts_now(r, product);  // by the device's own profile
  }
  if (!may_ask(facts, policy)) return decide(product, facts, policy);
  operands.locate(r.device.backend());
  facts.device_memory = operands.in_device_memory();
  if (facts.device_memory) {
    facts.spared = operands.a.place == Place::on_a_device ? product.bytes_of_triangle() : 0;
    facts.result_stays = operands.y.place == Place::on_a_device;
    return decide(product, facts, policy);
  }
  Decision decision = decide(product, facts, policy);
  if (!copies_matter(product, facts, policy, decision)) return decision;
  operands.peek();
  if (!operands.unconfirmed()) operands.look();
  const Operand& a = operands.a;
  if (a.known.hold) {
    facts.spared = std::max(0.0, product.bytes_of_triangle() - bytes_of(operands.missing(), a.stored.element));
  } else if (a.known.unchanged) {
    facts.reusable = product.bytes_of_triangle();
    facts.missed_reuse = a.known.missed;
  }
  decision = decide(product, facts, policy);
  if (decision.route == Route::cpu && decision.reuse_seconds > 0)
    r.residency.note_missed(a.stored, decision.reuse_seconds);
  return decision;
}

/// One product on the device.  Vectors of the host are packed, and what comes back waits here until all of it is there.
template <class T>
class Run {
 public:
  Run(const SymvArgs<T>& args, bool beta_zero, const Operands& operands, const SymvRule& rule)
      : args_(args),
        operands_(operands),
        rule_(rule),
        x_here_(operands.x.place != Place::on_a_device),
        y_here_(operands.y.place != Place::on_a_device) {
    if (x_here_) pack(args.x, args.incx, x_);
    if (y_here_ && !beta_zero) pack(args.y, args.incy, y_);
    if (y_here_) result_.resize(static_cast<std::size_t>(args.n));
  }

  /// With the copy that the matrix has now, or one in a lease.  Nothing is under way afterwards.
  /// @param wait       for room; otherwise no_memory if there is none now
  /// @param meanwhile  bool(), asked while the device computes: false, and there is no result, nor is it awaited
  template <class Meanwhile>
  Status attempt(Arena& arena, Backend& backend, bool wait, Meanwhile meanwhile) {
    const index n = args_.n;
    const Operand& a = operands_.a;
    const bool leases_a = a.place != Place::on_a_device && !a.known.hold;
    const index ld = copy_ld(a.stored);
    const std::size_t vector = leased_bytes(n, 1, sizeof(T)), matrix = leases_a ? leased_bytes(ld, n, sizeof(T)) : 0;
    const SymvRule rule = args_.alpha == T(0) ? SymvRule{} : rule_;  // strips, which take no workspace
    Symv p{.precision = symv_precision_of<T>,
           .hermitian = is_complex(symv_precision_of<T>),
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
    const std::vector<Block> missing = operands_.missing();
    uploads.reserve(missing.size() + 2);
    const index piece = std::max<index>(1, static_cast<index>(backend.facts().piece_bytes / sizeof(T)));
    std::vector<std::atomic<bool>> landed(y_here_ ? static_cast<std::size_t>((n + piece - 1) / piece) : 0);
    tickets_.resize(missing.size() + 3);
    for (std::size_t i = 0; i < tickets_.size(); ++i) tickets_[i] = static_cast<Ticket>(i);

    void* lease = nullptr;
    Status status = arena.take(bytes, wait, lease);
    if (status != Status::done) return status;
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
    constexpr UnderlyingGemm none{[](const void*, const Gemm&) {}, nullptr};  // no product of matrices here
    const double moved = bytes_of_matrix_ + 3 * static_cast<double>(vector);
    if (Lane* lane = backend.acquire(none, static_cast<std::size_t>(moved), status)) {
      status = ask(*lane, uploads, p, piece, landed, meanwhile);
      if (status != Status::done) lane->abandon();  // what waits in line is not worth waiting for
      const Status drained = lane->drain();
      transfers_.add(lane->transfer_times());
      if (status == Status::done) status = drained;
      backend.release(lane);
    }
    arena.give_back(lease, bytes);
    return status;
  }

  /// After a success: y into the program's memory.
  void commit() const {
    if (!y_here_) return;
    T* y = first_of(args_.y, args_.n, args_.incy);
    for (std::size_t i = 0; i < result_.size(); ++i) y[static_cast<index>(i) * args_.incy] = result_[i];
  }

  double bytes_in() const { return bytes_in_; }                  ///< of all attempts
  double bytes_out() const { return bytes_out_; }                ///< that came back
  const TransferTimes& transfers() const { return transfers_; }  ///< of all attempts
  double bytes_of_matrix() const { return bytes_of_matrix_; }    ///< sent by the last attempt

 private:
  void pack(const T* from, index inc, std::vector<T>& to) const {
    to.resize(static_cast<std::size_t>(args_.n));
    from = first_of(from, args_.n, inc);
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = from[static_cast<index>(i) * inc];
  }

  template <class Meanwhile>
  Status ask(Lane& lane, const std::vector<Transfer>& uploads, const Symv& p, index piece,
             std::vector<std::atomic<bool>>& landed, Meanwhile meanwhile) {
    for (const Transfer& upload : uploads) {
      if (!not_exiting()) return Status::lost;
      if (const Status status = lane.upload(upload, {nullptr, 0}); status != Status::done) return status;
      bytes_in_ += static_cast<double>(upload.rows) * static_cast<double>(upload.cols) * sizeof(T);
    }
    if (!not_exiting()) return Status::lost;
    const int sent = static_cast<int>(uploads.size());
    if (const Status status = lane.symv(p, {tickets_.data(), sent}); status != Status::done) return status;
    if (!meanwhile()) return Status::done;
    const After product{tickets_.data() + sent, 1};
    for (std::size_t i = 0; i < landed.size(); ++i) {
      const index first = static_cast<index>(i) * piece, count = std::min(piece, args_.n - first);
      const Transfer download{static_cast<T*>(p.y) + first, count, result_.data() + first, count, count, 1, sizeof(T)};
      if (const Status status = lane.download(download, product, landed[i]); status != Status::done) return status;
      bytes_out_ += static_cast<double>(count) * sizeof(T);
    }
    return Status::done;
  }

  const SymvArgs<T>& args_;
  const Operands& operands_;
  const SymvRule rule_;
  const bool x_here_, y_here_;           ///< in the host's memory
  std::vector<T> x_{}, y_{}, result_{};  ///< y_: what is read of it, for another try as well
  std::vector<Ticket> tickets_{};
  double bytes_in_ = 0, bytes_out_ = 0, bytes_of_matrix_ = 0;
  TransferTimes transfers_{};
};

/// On the device.  If that does not come to an end, y in the host's memory is untouched.
template <class T>
Ending compute(Runtime& r, Backend& backend, const SymmetricProduct& product, const SymvArgs<T>& args,
               Operands& operands, const Decision& decision) {
  operands.locate(backend);
  Operand& a = operands.a;
  const SymvRule& rule = symv_rule(r.device.profile(), symv_precision_of<T>, args.uplo, args.n);
  Run<T> run(args, product.beta_zero, operands, rule);
  Status status = Status::no_memory;
  if (operands.unconfirmed()) {
    bool good = false;
    status = run.attempt(r.arena, backend, false, [&] { return good = operands.confirm(); });
    if (status != Status::done && status != Status::no_memory)
      return {.reason = give_up(r, backend, status), .bytes_in = run.bytes_in(), .transfers = run.transfers()};
    if (!good) status = Status::no_memory;
  }
  if (status != Status::done) {
    const bool had_copy = static_cast<bool>(a.known.hold);
    operands.look();
    operands.keep();
    // Without the copy that it is sent for, it would be sent again and again.
    if (!a.known.hold && (decision.reason == Reason::reuse || (had_copy && decision.reason == Reason::faster)))
      return {.reason = Reason::transfers, .bytes_in = run.bytes_in(), .transfers = run.transfers()};
    const auto counts = [] { return true; };
    // Whoever holds copies may not wait for room: others may hold copies and wait, too.
    status = run.attempt(r.arena, backend, !a.known.hold, counts);
    // Another try begins with y as it was: in the program's device memory a first one may have changed it.
    const bool kept = operands.y.place != Place::on_a_device || product.beta_zero;
    if (status == Status::no_memory && a.known.hold && kept) {
      operands.close(false);
      a.known = {};
      status = run.attempt(r.arena, backend, true, counts);
    }
  }
  if (status != Status::done)
    return {.reason = give_up(r, backend, status), .bytes_in = run.bytes_in(), .transfers = run.transfers()};
  const double whole = bytes_of(in_triangle(args.uplo, args.n, {{0, 0, args.n, args.n}}), sizeof(T));
  // From here on nothing throws.
  r.residency.before_writing(operands.y.stored);
  run.commit();
  const double spared = a.known.hold ? std::max(0.0, whole - run.bytes_of_matrix()) : 0;
  operands.close(true);
  return {.reason = decision.reason,
          .computed = true,
          .as_predicted = true,
          .bytes_in = run.bytes_in(),
          .bytes_out = run.bytes_out(),
          .bytes_spared = spared,
          .transfers = run.transfers(),
          .reused = spared > 0,
          .way = with_numbers(0, rule.blocking.U, rule.blocking.Tx, rule.blocking.Ty, rule.blocking.H, rule.way)};
}

template <class T>
bool try_device(Runtime& r, const Call& call, const SymmetricProduct& product, const SymvArgs<T>& args,
                Decision& decision) {
  Operands operands(r, args, product);  // lets go of its copy while we are still inside
  decision = decide_now(r, product, operands);
  return on_device(r, call, decision,
                   [&](Backend& backend) { return compute(r, backend, product, args, operands, decision); });
}

/// Computes what has been computed before, on other operands.
template <class T>
Ending repeat(Runtime& r, const SymmetricProduct& product, const SymvArgs<T>& args, const Decision& decision) {
  Operands operands(r, args, product, true);
  return compute(r, r.device.backend(), product, args, operands, decision);
}

}  // namespace

template <class T>
void symv(const Site& site, const SymvArgs<T>* args, Replay replay) {
  if (!enter(site)) return replay();
  if (!args) return refuse(site, replay);
  Runtime& r = runtime();
  const SymmetricProduct product = product_of(info(site.symbol).routine, *args);
  Call call{site, known.value, product.precision, product.flops(), timed_vector_flops, shape_of(product)};
  take_route(
      r, call, replay, [&](Decision& decision) { return try_device(r, call, product, *args, decision); },
      [&]() -> std::unique_ptr<Checkable> {
        if constexpr (symv_precision_of<T> == SymvPrecision::w)
          return nullptr;  // no other library has it
        else
          return checkable(*args, product.overlaps, replay, [&](const SymvArgs<T>& other, const Decision& decision) {
            return repeat(r, product, other, decision);
          });
      });
}

#define SYMV(name, type) template void symv(const Site&, const SymvArgs<type>*, Replay);
#define HEMV(name, type) SYMV(name, type)
#define WSYMV(name, type) SYMV(name, type)
#include "api/routines.def"

}  // namespace blaslift
