// Plans of QR factorisations of tall matrices that several places compute together, each of them for rows of its own.
//
// A's first n rows, the top, are at the first place; those below are dealt out, a domain for each place. So each place
// sends and brings home its own rows over its own bus, and none of them leaves it.
//
// A block of columns has its domains' parts factored, A_p = Q_p R_p, by all places at a time. The first place factors
// the top with these triangles below it: [A_top; R_0; R_1; ...] = (I - V T V^H) [R; 0], V = [V_top; W_0; W_1; ...].
// Then V_p = Q_p W_p, since
//
//     [A_top; A_0; A_1; ...] = diag(I, Q_0, Q_1, ...) [A_top; R_0; R_1; ...],
//
// and columns that are orthonormal change neither T nor tau: what comes home is LAPACK's own format, without Q being
// multiplied out and reflectors found for it again (Ballard, Demmel, Grigori, Jacquelin, Knight and Nguyen,
// Reconstructing Householder vectors from tall-skinny QR, 2014).  The tree of merges is a flat one: of so few places
// any other would have more steps in a row.
//
// What is right of the block gets A := A - V T^H (V^H A): each place has its rows' share of V^H A, and gets the
// others'.
#pragma once
#include "impl/plan/plan.hpp"

namespace blaslift {

/// How such a matrix is cut up; block 0: it is not.
struct QrDomains {
  index block = 0;  ///< columns

  index blocks(index n) const { return (n + block - 1) / block; }
};

/// Rows of A that are a place's, below the top.
struct QrDomain {
  index first, count;
};
QrDomain qr_domain(index m, index n, int place, int places);

/// For so many places, each of which has room for its rows: of a matrix that is so tall that the top hardly counts.
QrDomains qr_domains(index m, index n, Precision precision, std::size_t memory, int places);

/// A place's plan: operands A, and tau, which comes home at the first place.  Both sizes at least 1, and each domain
/// has as many rows as a block has columns.
Plan plan_qr_domains(index m, index n, Precision precision, const QrDomains& cut, int place, int places);

}  // namespace blaslift
