// Whether a step's constraints contradict each other: a proof by impulses, and who takes part.
#pragma once

#include <vector>

#include "catena/constraints/constraint_problem.hpp"

namespace catena {

/// A constraint that takes part in a contradiction, the largest impulse first.
struct Opposed {
  BlockKind kind = BlockKind::contact;
  GlobalId a = kNoBody;  ///< the joint's id, or that of a contact's first body
  GlobalId b = kNoBody;  ///< of a contact's second body
  double share = 0.0;    ///< its impulse over the largest
};

/// What takes the impulses of a contradiction and does not move: a body whose motion is prescribed,
/// or the world through a joint.
struct Holder {
  bool joint = false;
  GlobalId id = kNoBody;
  bool moves = false;  ///< a body with a velocity
};

/// What asks for more than the other constraints allow.
enum class ContradictionCause { motion, overlap, drive };

/// Impulses lambda in the cones with G^T lambda = 0 on every body of finite mass and work
/// r^T lambda < 0 (w = N lambda + r) prove that no velocities meet all constraints: lambda^T w =
/// r^T lambda would have to be >= 0. Rows with compliance and bounded ones take no part: lambda
/// is 0 there. With `friction` the impulses need the tangential parts of the friction cones: a
/// proof for law ccp, while law coulomb has a solution where these contacts slide.
struct Contradiction {
  bool found = false;
  bool friction = false;
  double closing = 0.0;  ///< -r^T lambda / sum |lambda|, m/s: what is asked for too much on average
  /// Energy error that every impulse leaves, J: least 1/2 sum w_i^2/a_i with lambda^T w =
  /// r^T lambda, a = N_ii, of a contact's normal row N_nn + sum of mu^2 N_tt (exact for normal
  /// rows, with `friction` of its size).
  double least_error = 0.0;
  /// sum |lambda| over the forces and couples (over radii of gyration) that are left on bodies of
  /// finite mass: velocities that met all constraints would be so many times `closing`.
  double balance = 0.0;
  double error = 0.0;  ///< J, the step's energy error in the constraints that take part
  std::vector<Opposed> constraints;  ///< the largest first, eight at most
  std::size_t n_constraints = 0;
  std::vector<Holder> holders;  ///< those that move first, eight at most
  ContradictionCause cause = ContradictionCause::motion;
  GlobalId cause_a = kNoBody, cause_b = kNoBody;  ///< the body or joint, or the pair that overlaps
};

/// Collective. Looks among the blocks of largest error and largest impulse and those that they are
/// connected with through bodies of finite mass, 300 at most. `energies`: of this rank's blocks
/// (ErrorEvaluator::block_energies); `impulses`: of the step. The same on every rank.
Contradiction find_contradiction(const ConstraintProblem& problem,
                                 const std::vector<double>& energies,
                                 std::span<const double> impulses);

}  // namespace catena
