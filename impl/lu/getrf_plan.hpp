// Plans of LU factorisations with partial pivoting, P A = L U, in A's place.
//
// Panels of columns, one after the other in the order in which they arrive: each has the rows exchanged that earlier
// ones exchange, is solved with their L, and what that makes known is subtracted; what is left of it is factored
// (left-looking). Then the columns of L that are there have their rows exchanged as well. So U goes home as it becomes
// known, and L row by row, as soon as no later panel exchanges these.
// What need not be there for the next panel's factors is computed in the device's second stream.
//
// Where the device has no room for the matrix, two panels are there at a time, and L comes again in strips, from the
// host's memory.
//
// Where several places compute it together, panels are dealt out in turns, narrower ones.  Each place gets the factors
// and exchanges of those of others, from a copy whose rows nobody exchanges, and has what it computes with of L beside
// its own panels; each of these gets what a panel makes of it at once, the next one to be factored first.
#pragma once
#include <functional>
#include <vector>

#include "impl/lu/getrf_steps.hpp"
#include "impl/plan/plan.hpp"

namespace blaslift {

/// Depends on nothing else, so the same call is cut the same way every time.
/// @param memory  bytes on the device, for A and workspaces
GetrfCut getrf_cut(index m, index n, Precision precision, std::size_t memory);

/// Bytes of what a plan has besides.
using GetrfBesides = std::function<std::size_t(const GetrfCut&)>;
/// For a matrix that is larger than that; panel 0: even so there is no room for it.
GetrfCut getrf_cut_streamed(index m, index n, Precision precision, std::size_t memory,
                            const GetrfBesides& besides = {});
/// What a panel leaves of L from its own first row on, which is kept in the host's memory until all are factored: of
/// all panels but the matrix's last one.
struct KeptFactors {
  index rows, cols;
};
std::vector<KeptFactors> kept_factors(index m, index n, const GetrfCut& cut);
/// Bytes of L that move besides: to where it is kept, and in strips from there.
double sent_again(index m, index n, const GetrfCut& cut, std::size_t element);
/// Operands as plan_getrf has them, and kept_factors().
Plan plan_getrf_streamed(index m, index n, Precision precision, const GetrfCut& cut);

/// Which operands of a plan are those of plan_getrf, and where those that it keeps begin.
struct GetrfOperands {
  int a = getrf_steps::operand_a, pivots = getrf_steps::operand_pivots, failed = getrf_steps::operand_failed, kept = -1;
};

/// For so many places, each of which has room for all of it; panel 0: it is not.
GetrfCut getrf_cut_together(index m, index n, Precision precision, std::size_t memory, int places);
/// The plan of one of these, with operands as plan_getrf has them: all pivots come home to each.
Plan plan_getrf_together(index m, index n, Precision precision, const GetrfCut& cut, int place, int places);

/// Exchanges of rows in groups, one for each panel: pivots count from the panel's own first row on.
class RowGroups {
 public:
  RowGroups() = default;
  /// Adds the areas.
  RowGroups(Plan& plan, Precision precision, index rows, index count, index panel);

  index groups() const { return (count_ + panel_ - 1) / panel_; }
  /// All of them, a column.
  Plan::Region pivots() const { return {pivots_, {0, 0, count_, 1}}; }
  /// Of one group, for a step that makes them.
  /// @param operand  that they come home to
  Plan::Access written(index group, int operand) const;
  /// Exchanges the rows of a block of columns, which spans them all.
  void exchange(Plan& plan, index group, const Plan::Origin& origin, index first_col, index cols, bool backward = false,
                std::int8_t stream = 0);
  /// The same of any columns, from the group's first row on.
  void exchange(Plan& plan, index group, const Plan::Access& columns, bool backward, std::int8_t stream);
  int area() const { return pivots_; }

 private:
  index first(index group) const { return group * panel_; }
  index count(index group) const { return panel_ < count_ - first(group) ? panel_ : count_ - first(group); }

  Precision precision_{};
  index rows_ = 0, count_ = 0, panel_ = 1;
  int pivots_ = -1, moves_ = -1;
  std::vector<bool> prepared_{};
};

/// Adds the steps to a plan that goes on from there.
struct AddedGetrf {
  Plan::Origin a;  ///< where the factors are
  RowGroups rows;
};
/// @param a, pivots, failed  operands, of which the plan has these already
/// @param area               A's own; negative: a part of the lease
AddedGetrf add_getrf(Plan& plan, index m, index n, Precision precision, const GetrfCut& cut, int a, int pivots,
                     int failed, int area);
/// Those of a matrix that there is no room for: its factors are in the host's memory, and areas are free again.
struct StreamedGetrf {
  RowGroups rows;
  std::vector<int> panels, strips;  ///< m x cut.panel, m x cut.strip
};
/// @param operands  that the plan has already; kept_factors() become its last ones
StreamedGetrf add_getrf_streamed(Plan& plan, index m, index n, Precision precision, const GetrfCut& cut,
                                 GetrfOperands operands);

/// Operands A; a column with min(m, n) pivots, each from its panel's first row on; and one with what Getrf::failed says
/// of each panel that is factored.
/// @param in_place  A has device memory of its own
Plan plan_getrf(index m, index n, Precision precision, const GetrfCut& cut, bool in_place = false);

}  // namespace blaslift
