// Problem: a call without pointers, whatever its routine.
#pragma once
#include "compat/symbols.hpp"
#include "kernels/types.hpp"

namespace blaslift {

/// What decisions, traces and reports see of a call: dgemm m=4096 n=4096 k=300 with beta = 0, say.  Whoever makes one
/// fills in what the caller has said; counted() (impl/route/family.hpp) says what follows from that.
struct Problem {
  Routine routine;
  Element element;
  index m = 0, n = 0, k = 0;       ///< 0 where the routine has none
  bool alpha_zero = false;         ///< neither A nor B, or x, is read
  bool beta_zero = false;          ///< C, or y, is not read
  bool overlaps = false;           ///< what is written shares bytes with what is read
  Part part = Part::whole;         ///< a triangle: C is n x n
  Update update = Update::rank_k;  ///< of a product of which a triangle is computed
  Transposes transposes = Transposes::nn;
  bool alpha_finite = true;
  bool left = false;         ///< the side of a factor that has one
  bool adjoint = false;      ///< it is transposed, or conjugate-transposed
  index right_vectors = 0;   ///< of singular value decompositions V^H's rows; k are U's columns
  index count = 1;           ///< of products: a batch
  index batches = 1;         ///< of these products; m, n and k are those of the one that takes longest
  index apart = 0;           ///< transfers of single matrices of batches
  bool same_a = false;       ///< of all products of a batch
  bool same_b = false;       ///< likewise
  bool of_identity = false;  ///< of products with Q: C begins as an identity's first columns

  // What follows.
  bool empty = false;      ///< there is no result
  bool trivial = false;    ///< little is done to it: nothing is multiplied
  bool too_large = false;  ///< for any device
  double flops = 0;
  double volume = 0;                   ///< what the gate compares with small_product: m * n * k of a gemm
  double bytes_in = 0, bytes_out = 0;  ///< that move if nothing is on the device

  Precision precision() const { return static_cast<Precision>(element.name); }  ///< not of Element::w
};

}  // namespace blaslift
