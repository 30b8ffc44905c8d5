// Plans of Cholesky factorisations, A = L L^H or U^H U, in A's place.
//
// Panels of columns of L, or rows of U, one after the other: each gets what all earlier ones make of it as one product,
// whose k is long, and is factored (left-looking).  So a panel is wanted when it arrives, and goes home as soon as it
// is factored, while later ones are computed.
//
// Where the device has no room for the triangle, two panels are there at a time, and the earlier ones come again in
// strips, from where they have been brought to.
//
// Where several places compute it together, panels are dealt out in turns, narrower ones.  As soon as a place has got a
// factored panel, it subtracts what that makes of the next one that it is to factor, and in the device's second stream
// of some behind that.  Others wait, and get several panels' share as one product.
#pragma once
#include <functional>
#include <vector>

#include "impl/plan/plan.hpp"

namespace blaslift {

/// How a matrix is cut up; panel 0: it does not fit.
struct PotrfCut {
  index panel = 0;  ///< columns of L, or rows of U
  index strip = 0;  ///< of earlier ones at a time, if they come again; 0: all of the triangle stays

  bool streamed() const { return strip > 0; }
  index panels(index n) const { return (n + panel - 1) / panel; }
};

/// Depends on nothing else, so the same call is cut the same way every time.
/// @param memory  bytes on the device
PotrfCut potrf_cut(index n, Precision precision, std::size_t memory);
/// Bytes of what a plan has besides.
using PotrfBesides = std::function<std::size_t(const PotrfCut&)>;
/// In strips; panel 0: even so there is no room for it.
PotrfCut potrf_cut_streamed(index n, Precision precision, std::size_t memory, const PotrfBesides& besides = {});
/// One in the program's own device memory.
PotrfCut potrf_cut_in_place(index n);
/// Bytes that are sent more than once.
double sent_again(index n, const PotrfCut& cut, std::size_t element);

/// Adds the steps to a plan that goes on from there, of a matrix that is not cut into strips, where A lies then.
/// @param a, failed  operands, of which the plan has these already
/// @param area       A's own; negative: a part of the lease
Plan::Origin add_potrf(Plan& plan, Uplo uplo, index n, Precision precision, const PotrfCut& cut, int a, int failed,
                       int area);

/// Those of a matrix that is: its factor is in the host's memory, and areas are free again.
struct StreamedPotrf {
  std::vector<int> panels, strips;  ///< of L n x cut.panel and n x cut.strip; of U the other way round
};
StreamedPotrf add_potrf_streamed(Plan& plan, Uplo uplo, index n, Precision precision, const PotrfCut& cut, int a,
                                 int failed);

/// How one is cut up for so many places, each of which has room for all of it; panel 0: it is not.
PotrfCut potrf_cut_together(index n, Precision precision, std::size_t memory, int places);
/// The plan of one of these, with operands as plan_potrf has them.
Plan plan_potrf_together(Uplo uplo, index n, Precision precision, const PotrfCut& cut, int place, int places);

/// Operands A and, a column with an element for each panel, what Potrf::failed says of it.
/// @param in_place  A has device memory of its own
Plan plan_potrf(Uplo uplo, index n, Precision precision, const PotrfCut& cut, bool in_place = false);

}  // namespace blaslift
