// Errors of contacts with rolling and spinning rows (docs/theory.md, "Errors").
#pragma once

#include "catena/math/disc_cone.hpp"
#include "metrics/row_errors.hpp"

namespace catena::row_errors {

/// A contact with rolling or spinning rows, in full (DiscCone's rows; those it has not are 0).
struct DiscContact {
  Vec6 lambda;    ///< cohesion added to the normal
  Vec6 w;         ///< not shifted
  Vec6 diagonal;  ///< of N_kk; 0 where nothing moves and where there is no row
  DiscCone cone;  ///< mu, mu_r, mu_s
  bool coulomb = true;
};

/// Rows times the lengths l_i (impulses over them), with l_i^2 = a/a_i, a the mean diagonal of
/// the three linear rows and a_i that of the disc's: all in N s and m/s. Angular rows of a disc
/// with bound 0 have w = 0 here: no law speaks of it.
struct LinearRows {
  Vec6 lambda, w, length;
  DiscCone cone;
  double a = 0.0;
};
LinearRows linear_rows(const DiscContact& contact);

/// All parts (docs/theory.md). A contact whose rolling and spinning bounds are 0 and whose
/// angular impulses are 0 has the parts of the three rows.
Part disc_contact(const DiscContact& contact);

}  // namespace catena::row_errors
