// A triangle of a product of two matrices as products of which all is computed, and squares on the diagonal.
#pragma once
#include "kernels/backend.hpp"

namespace blaslift {

/// The rows [row, row + rows) and columns [col, col + cols) of a product's result, as a product.
inline Gemm block_of(const Gemm& p, index row, index rows, index col, index cols) {
  const auto size = static_cast<index>(element_size(p.precision));
  const auto at = [size](const void* x, index elements) { return static_cast<const char*>(x) + elements * size; };
  Gemm block = p;
  block.m = rows;
  block.n = cols;
  block.A = at(p.A, p.transa == Op::none ? row : row * p.lda);
  block.B = at(p.B, p.transb == Op::none ? col * p.ldb : col);
  block.C = static_cast<char*>(p.C) + (row + col * p.ldc) * size;
  return block;
}

/// Calls rectangle(product) for what is beside the diagonal, in products of which all is computed, and square(product)
/// for what is left: squares of at most `edge` on the diagonal, with the part that is computed of them.  Halves are
/// whole multiples of `edge`.  Both return a Status; the first that is not `done` ends it, and is returned.
/// @param p  of which a triangle is computed, of two matrices
template <class Square, class Rectangle>
Status by_triangles(const Gemm& p, index edge, const Square& square, const Rectangle& rectangle) {
  if (p.n <= edge) {
    Gemm last = p;
    if (p.n == 1) last.part = Part::whole;
    return p.n == 0 ? Status::done : square(last);
  }
  const index half = (p.n / 2 + edge - 1) / edge * edge, rest = p.n - half;
  Status status = by_triangles(block_of(p, 0, half, 0, half), edge, square, rectangle);
  if (status != Status::done) return status;
  Gemm beside = p.part == Part::lower ? block_of(p, half, rest, 0, half) : block_of(p, 0, half, half, rest);
  beside.part = Part::whole;
  status = rectangle(beside);
  if (status != Status::done) return status;
  return by_triangles(block_of(p, half, rest, half, rest), edge, square, rectangle);
}

}  // namespace blaslift
