#include "impl/execute.hpp"

#include <algorithm>
#include <cstring>

namespace blaslift {
namespace {

/// Address in the stored matrix X (ld) of the block of op(X) that starts at (row, col).
template <class T>
const T* stored(const T* x, index ld, Op op, index row, index col) {
  return op == Op::none ? x + row + col * ld : x + col + row * ld;
}

/// Copies a packed piece into the caller's C.  Only its own elements: the rows between m and ldc are not ours.
template <class T>
void commit(const Block& piece, const void* packed, const GemmArgs<T>& args) {
  const T* from = static_cast<const T*>(packed);
  for (index col = 0; col < piece.cols; ++col)
    std::memcpy(args.C + piece.row + (piece.col + col) * args.ldc, from + col * piece.rows,
                static_cast<std::size_t>(piece.rows) * sizeof(T));
}

}  // namespace

template <class T>
Outcome execute(const GemmSchedule& s, const GemmArgs<T>& args, Lane& lane, bool (*keep_going)()) {
  Outcome outcome;
  const bool a_plain = args.transa == Op::none, b_plain = args.transb == Op::none;
  const index mb = std::min(s.cut.mb, s.m), nb = std::min(s.cut.nb, s.n), kb = std::min(s.cut.kb, s.k);
  const auto size = [](index rows, index cols) { return leased_bytes(rows, cols, sizeof(T)); };
  void* memory = nullptr;
  outcome.status = lane.lease(size(mb, kb) + size(kb, nb) + size(mb, nb), memory);
  if (outcome.status != Status::done) return outcome;
  T* A = static_cast<T*>(memory);
  T* B = A + size(mb, kb) / sizeof(T);
  T* C = B + size(kb, nb) / sizeof(T);
  const T one{1};
  Block held{};  // C's block on the device

  for (; outcome.steps < s.steps.size(); ++outcome.steps) {
    const Step& step = s.steps[outcome.steps];
    const Block& x = step.block;
    const double bytes = static_cast<double>(x.rows) * static_cast<double>(x.cols) * sizeof(T);
    Status status = keep_going() ? Status::done : Status::lost;
    if (status == Status::done) switch (step.kind) {
        case StepKind::upload_a: {
          const index rows = a_plain ? x.rows : x.cols, cols = a_plain ? x.cols : x.rows;
          status = lane.upload(A, rows, stored(args.A, args.lda, args.transa, x.row, x.col), args.lda, rows, cols,
                               sizeof(T));
          outcome.bytes_in += bytes;
          break;
        }
        case StepKind::upload_b: {
          const index rows = b_plain ? x.rows : x.cols, cols = b_plain ? x.cols : x.rows;
          status = lane.upload(B, rows, stored(args.B, args.ldb, args.transb, x.row, x.col), args.ldb, rows, cols,
                               sizeof(T));
          outcome.bytes_in += bytes;
          break;
        }
        case StepKind::upload_c:
          status = lane.upload(C, x.rows, args.C + x.row + x.col * args.ldc, args.ldc, x.rows, x.cols, sizeof(T));
          outcome.bytes_in += bytes;
          break;
        case StepKind::multiply:
          held = x;
          status = lane.gemm({.precision = precision_of<T>,
                              .transa = args.transa,
                              .transb = args.transb,
                              .m = x.rows,
                              .n = x.cols,
                              .k = step.kb,
                              .alpha = &args.alpha,
                              .A = A,
                              .lda = a_plain ? x.rows : step.kb,
                              .B = B,
                              .ldb = b_plain ? step.kb : x.cols,
                              .beta = step.first ? &args.beta : &one,
                              .C = C,
                              .ldc = x.rows});
          break;
        case StepKind::fetch:
          status = lane.fetch(step.slot, C + (x.row - held.row) + (x.col - held.col) * held.rows, held.rows, x.rows,
                              x.cols, sizeof(T));
          break;
        case StepKind::commit:
          status = lane.arrived(step.slot);
          if (status != Status::done) break;
          commit(x, lane.ring(step.slot), args);
          outcome.bytes_out += bytes;
          break;
      }
    if (status != Status::done) {
      outcome.status = status;
      break;
    }
  }
  return outcome;
}

template <class T>
void finish(const GemmSchedule& s, std::size_t steps, const GemmArgs<T>& args, const UnderlyingGemm& underlying) {
  bool untouched = true;
  for (std::size_t i = 0; i < steps && i < s.steps.size(); ++i) untouched &= s.steps[i].kind != StepKind::commit;
  if (untouched) return underlying.call(underlying.context, as_gemm(args));  // as if we had never been there
  for (std::size_t i = steps; i < s.steps.size(); ++i) {
    if (s.steps[i].kind != StepKind::commit) continue;
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
  template void finish(const GemmSchedule&, std::size_t, const GemmArgs<type>&, const UnderlyingGemm&);
#include "api/routines.def"

}  // namespace blaslift
