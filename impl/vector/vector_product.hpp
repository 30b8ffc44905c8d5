// Products of a matrix with a vector on the device, whatever the matrix: it is sent once and kept, vectors move with
// every call.
//
// Args are those of such a product: alpha * A * x + beta * y, with terms() elements in x and results() in y.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

#include "impl/route/attempts.hpp"
#include "impl/route/route.hpp"

namespace blaslift {

/// What a process knows of such products.
struct LearnedOfVectors : Learned {
  constexpr LearnedOfVectors() : Learned{.cpu = CpuRates(timed_vector_flops)} {}
};

enum { operand_a, operand_x, operand_y };

/// @param matrix  A as it lies in memory
template <class Args>
Operands vector_operands(Place& place, const Args& args, const Stored& matrix, bool ephemeral) {
  using T = decltype(args.alpha);
  const bool multiplies = args.alpha != T(0);
  const auto vector = [](const T* at, index n, index inc) -> Stored {
    const StoredVector v = stored_vector(at, n, inc, std::max<index>(1, n));
    return {v.at, v.rows, v.cols, v.ld, sizeof(T)};
  };
  return Operands(place,
                  {{.stored = matrix, .reads = multiplies},
                   {.stored = vector(args.x, args.terms(), args.incx), .reads = multiplies, .vector = true},
                   {.stored = vector(args.y, args.results(), args.incy),
                    .writes = true,
                    .reads = args.beta != T(0),
                    .vector = true}},
                  ephemeral);
}

inline double bytes_of(const std::vector<Block>& blocks, std::size_t element) {
  double elements = 0;
  for (const Block& b : blocks) elements += static_cast<double>(b.rows) * static_cast<double>(b.cols);
  return elements * static_cast<double>(element);
}

/// One product on the device.  Vectors of the host are packed, and what comes back waits here until all of it is there.
/// @tparam Product  the operation, of kernels/types.hpp
template <class Args, class Product>
class VectorRun {
 public:
  using T = decltype(Args::alpha);

  /// @param product    with the operands where the program has them
  /// @param workspace  bytes that it needs
  VectorRun(const Args& args, const Product& product, std::size_t workspace, const Operands& operands)
      : args_(args),
        product_(product),
        workspace_(std::max<std::size_t>(1, workspace)),
        operands_(operands),
        x_here_(operands[operand_x].memory != MemoryKind::on_a_device),
        y_here_(operands[operand_y].memory != MemoryKind::on_a_device) {
    if (x_here_) pack(args.x, args.terms(), args.incx, x_);
    if (y_here_ && args.beta != T(0)) pack(args.y, args.results(), args.incy, y_);
    if (y_here_) result_.resize(static_cast<std::size_t>(args.results()));
  }

  /// With the copy that the matrix has now, or one in a lease.  Nothing is under way afterwards.
  /// @param wait       for room; otherwise no_memory if there is none now
  /// @param meanwhile  bool(), asked while the device computes: false, and there is no result, nor is it awaited
  template <class Meanwhile>
  Outcome attempt(Arena& arena, Backend& backend, bool wait, Meanwhile meanwhile) {
    const index nx = args_.terms(), ny = args_.results();
    const Operand& a = operands_[operand_a];
    const bool leases_a = a.memory != MemoryKind::on_a_device && !a.known.hold;
    const index ld = copy_ld(a.stored);
    const std::size_t matrix = leases_a ? leased_bytes(ld, a.stored.cols, sizeof(T)) : 0,
                      x_bytes = x_here_ ? leased_bytes(nx, 1, sizeof(T)) : 0,
                      y_bytes = y_here_ ? leased_bytes(ny, 1, sizeof(T)) : 0;
    const std::size_t bytes = matrix + x_bytes + y_bytes + workspace_;

    std::vector<Transfer> uploads;
    const std::vector<Block> missing = a.missing();
    uploads.reserve(missing.size() + 2);
    const index piece = std::max<index>(1, static_cast<index>(backend.facts().piece_bytes / sizeof(T)));
    std::vector<std::atomic<bool>> landed(y_here_ ? static_cast<std::size_t>((ny + piece - 1) / piece) : 0);
    tickets_.resize(missing.size() + 3);
    for (std::size_t i = 0; i < tickets_.size(); ++i) tickets_[i] = static_cast<Ticket>(i);

    void* lease = nullptr;
    Outcome outcome{arena.take(bytes, wait, lease)};
    if (outcome.status != Status::done) return outcome;
    const Leased leased(arena, lease, bytes);
    // From here on nothing throws.
    Product p = product_;
    char* next = static_cast<char*>(lease);
    const auto take = [&next](std::size_t size) { return std::exchange(next, next + size); };
    if (a.memory != MemoryKind::on_a_device) {
      p.A = leases_a ? take(matrix) : a.known.hold.device;
      p.lda = leases_a ? ld : a.known.hold.ld;
      const bool direct = a.memory == MemoryKind::reachable;
      for (const Block& b : missing)
        uploads.push_back({static_cast<T*>(const_cast<void*>(p.A)) + b.row + b.col * p.lda, p.lda,
                           const_cast<T*>(args_.A) + b.row + b.col * args_.lda, args_.lda, b.rows, b.cols, sizeof(T),
                           direct});
    }
    if (x_here_) {
      p.x = take(x_bytes);
      p.incx = 1;
      uploads.push_back({const_cast<void*>(p.x), nx, x_.data(), nx, nx, 1, sizeof(T)});
    }
    if (y_here_) {
      p.y = take(y_bytes);
      p.incy = 1;
      if (!y_.empty()) uploads.push_back({p.y, ny, y_.data(), ny, ny, 1, sizeof(T)});
    }
    p.workspace = next;

    bytes_of_matrix_ = bytes_of(missing, sizeof(T));
    constexpr UnderlyingBlas none{[](const void*, const Operation&) {}, nullptr};  // no product of matrices here
    const double moved = bytes_of_matrix_ + static_cast<double>(leased_bytes(nx, 1, sizeof(T))) +
                         2 * static_cast<double>(leased_bytes(ny, 1, sizeof(T)));
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
    T* y = first_of(args_.y, args_.results(), args_.incy);
    for (std::size_t i = 0; i < result_.size(); ++i) y[static_cast<index>(i) * args_.incy] = result_[i];
  }

  double bytes_of_matrix() const { return bytes_of_matrix_; }  ///< sent by the last attempt

 private:
  static void pack(const T* from, index n, index inc, std::vector<T>& to) {
    to.resize(static_cast<std::size_t>(n));
    from = first_of(from, n, inc);
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = from[static_cast<index>(i) * inc];
  }

  template <class Meanwhile>
  Status ask(Lane& lane, const std::vector<Transfer>& uploads, const Product& p, index piece,
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
      const index first = static_cast<index>(i) * piece, count = std::min(piece, args_.results() - first);
      const Transfer download{static_cast<T*>(p.y) + first, count, result_.data() + first, count, count, 1, sizeof(T)};
      if (const Status status = lane.download(download, product, landed[i]); status != Status::done) return status;
      outcome.bytes_out += static_cast<double>(count) * sizeof(T);
    }
    return Status::done;
  }

  const Args& args_;
  const Product product_;
  const std::size_t workspace_;
  const Operands& operands_;
  const bool x_here_, y_here_;           ///< in the host's memory
  std::vector<T> x_{}, y_{}, result_{};  ///< y_: what is read of it, for another try as well
  std::vector<Ticket> tickets_{};
  double bytes_of_matrix_ = 0;
};

/// On the device.  If that does not come to an end, y in the host's memory is untouched.
/// @param product    with the operands where the program has them
/// @param workspace  bytes that it needs
/// @param way        as in Ending
template <class Args, class Product>
Ending vector_product(Place& place, Backend& backend, const Args& args, const Product& product, std::size_t workspace,
                      Operands& operands, const Decision& decision, std::uint64_t way) {
  using T = decltype(Args::alpha);
  operands.locate(backend);
  const Operand &a = operands[operand_a], &y = operands[operand_y];
  VectorRun<Args, Product> run(args, product, workspace, operands);
  Outcome outcome{Status::no_memory};
  if (operands.unconfirmed()) {
    bool good = false;
    outcome = run.attempt(place.arena, backend, false, [&] { return good = operands.confirm(); });
    if (outcome.status == Status::done && !good) outcome.status = Status::no_memory;
  }
  if (outcome.status == Status::no_memory) {
    const bool had_copy = static_cast<bool>(a.known.hold);
    operands.look();
    operands.keep_inputs();
    // Without the copy that it is sent for, it would be sent again and again.
    if (!a.known.hold && (decision.reason == Reason::reuse ||
                          (had_copy && (decision.reason == Reason::faster || decision.reason == Reason::eager))))
      return {.reason = Reason::transfers, .bytes_in = outcome.bytes_in, .transfers = outcome.transfers};
    const Outcome first = outcome;
    // Another try begins with y as it was: in the program's device memory a first one may have changed it.
    outcome = in_attempts(
        operands, [&](bool wait) { return run.attempt(place.arena, backend, wait, [] { return true; }); },
        [&] { return y.memory != MemoryKind::on_a_device || args.beta == T(0); });
    outcome.add(first);
  }
  const Stored& matrix = a.stored;
  const double whole =
      matrix.part == Part::whole
          ? matrix.bytes()
          : bytes_of(in_triangle(matrix.part, matrix.rows, {{0, 0, matrix.rows, matrix.cols}}), sizeof(T));
  // From here on nothing throws.
  if (outcome.status == Status::done) {
    place.residency.before_writing(y.stored);
    run.commit();
  }
  // Of what would have been sent, with what that has of the other triangle.
  const double spared = a.known.hold ? std::max(0.0, whole - run.bytes_of_matrix()) : 0;
  Ending ending = ended(place, backend, decision, operands, outcome);
  if (ending.computed) {
    ending.bytes_spared = spared;
    ending.reused = spared > 0;
  }
  ending.way = way;
  return ending;
}

}  // namespace blaslift
