// Which contacts see their bodies as spheres, so that kernels can leave arms and inertias out.
#pragma once

#include <span>
#include <vector>

#include "catena/base/release.hpp"
#include "catena/constraints/constraint_problem.hpp"

namespace catena {

/// Whether the inverse mass of a rigid body (7 numbers) is isotropic to round-off: that of a turned
/// sphere is only that.
bool is_isotropic(std::span<const double> inverse_mass);

/// Rigid contacts whose arms lie along a normal of length 1, of bodies with isotropic inertia or
/// bodies that do not move at all.
class SphereContacts {
 public:
  /// Takes the bodies of a problem; comes before anything else. The memory of the last one is kept.
  void start(const ConstraintProblem& problem);
  /// Gives the memory of large lists back; start() comes next.
  void rest() { clear_large(round_); }

  bool contains(const RigidContact& contact) const;

 private:
  /// Whether contacts may see a body as a sphere if their arm allows: an isotropic inertia, or an
  /// immovable body that does not turn (whose arm does not matter).
  enum class Roundness : char { none, isotropic, still };
  static Roundness roundness_of(const ProblemBodies& bodies, Index b);
  static bool seen_as_sphere(Roundness round, const Vec3& arm, const Vec3& normal);

  std::vector<Roundness> round_;
};

}  // namespace catena
