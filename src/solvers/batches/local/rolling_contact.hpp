// Local solves of contacts with rolling and spinning rows.
#pragma once

#include <array>
#include <span>

#include "catena/constraints/contact_cone.hpp"
#include "catena/math/disc_cone.hpp"
#include "solvers/batches/local/local_solve.hpp"
#include "solvers/batches/simd/contact_batches.hpp"

namespace catena {

/// A contact of 4 to 6 rows, or of a law without kernels, in full (DiscCone's rows) and free of
/// units: with s = (N_nn, a_t, a_t, a_r, a_r, a_s)^(1/2), a the mean diagonal of each disc's rows,
///   z = s lambda, w/s, D_ij / (s_i s_j), bounds mu_i s_i/s_n,
/// and s times the axes of the cone.
/// Rows that the contact does not have, or that nothing moves, have a unit diagonal and no
/// impulse.
struct RollingContact {
  DiscProblem problem;  ///< largest = 0: nothing moves
  DiscCone cone;
  Vec6 scale;                ///< s
  std::array<int, 6> place;  ///< of the row in full among the block's; -1: none that moves
};

/// `d`: the block's D, rows x rows. Shifted as a ContactBlock's where it is singular.
RollingContact make_wide_contact(const ContactCone& cone, Index rows, std::span<const double> d);

/// solve_contact for a wide contact: new impulses in place of `lambda` (cohesion already
/// added to its normal), given w at lambda. In the scaled rows:
///
///   exact    the law met to round-off (solve_disc_contact)
///   cone     z = P_K(lambda - omega w/a), a the largest eigenvalue of D        (ccp)
///   project  z = lambda - D^-1 w, every disc cut to its radius mu_i z_n
///   sliding  directions of the discs that slide by (18) and the impulses of the others
///            kept, z_n solved again, all discs cut to the new radius
///   scalar   rows one after the other, then every disc cut
///
/// Law box bounds each row by its coefficient times the normal impulse; frictionless keeps
/// the normal row only.
void solve_wide_contact(const LocalSolveOptions& rules, const RollingContact& contact,
                        std::span<const double> w, std::span<double> lambda);

/// One contact of a RollingBatch, exactly: new impulses z by kind as in `turn`, 8 numbers.
void solve_rolling_turn(ContactLaw law, const RollingTurn& turn, double* z);

/// Nearest admissible impulses in the scaled rows, in place (cohesion already added).
void make_admissible(ContactLaw law, const RollingContact& contact, std::span<double> lambda);

}  // namespace catena
