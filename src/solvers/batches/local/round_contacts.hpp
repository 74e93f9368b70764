// Contacts of general blocks that batches can sweep: rolling and spinning friction between bodies
// that they see as spheres.
#pragma once

#include <array>
#include <optional>
#include <span>

#include "catena/constraints/constraint_problem.hpp"
#include "catena/math/disc_cone.hpp"

namespace catena {

/// A contact of 4 to 6 rows as its explicit Jacobians say, between bodies with arms along the
/// normal and isotropic inertia, or immovable.
struct RoundContact {
  /// A moving rigid body, and its arm along the normal, m; kNoIndex, 0: one that does not move,
  /// whose part of the slip is in `bias`.
  struct Side {
    Index body = kNoIndex;
    double arm = 0.0;
  };
  Side a, b;
  Vec3 normal, tangent1, tangent2;
  Index row = 0;                   ///< first row in the problem
  std::array<int, 6> place;        ///< of the rows in full among the contact's own; -1: none
  Vec6 bias = Vec6::Zero();        ///< of the rows in full
  Vec6 compliance = Vec6::Zero();  ///< the same; alike on both tangents, and on both rolling rows
  DiscCone friction;               ///< 0 for rows that are not there
  double cohesion = 0.0;
};

/// Block k (behind the rigid contacts) as a RoundContact; nothing if it is none, to round-off.
std::optional<RoundContact> find_round_contact(const ConstraintProblem& problem, Index k);

}  // namespace catena
