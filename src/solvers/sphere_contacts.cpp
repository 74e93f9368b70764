#include "solvers/sphere_contacts.hpp"

#include <cmath>

namespace catena {
namespace {

/// Spheres' impulses are held in the world frame: by what a normal's length is off, they would
/// leave their cones.
bool is_unit(const Vec3& normal) {
  constexpr double kRoundOff = 1e-14;
  return std::abs(normal.squaredNorm() - 1.0) <= kRoundOff;
}

}  // namespace

bool is_isotropic(std::span<const double> inverse_mass) {
  constexpr double kRoundOff = 1e-14;
  const double mean = (inverse_mass[1] + inverse_mass[4] + inverse_mass[6]) / 3.0;
  const double limit = kRoundOff * mean;
  return std::abs(inverse_mass[1] - mean) <= limit && std::abs(inverse_mass[4] - mean) <= limit &&
         std::abs(inverse_mass[6] - mean) <= limit && std::abs(inverse_mass[2]) <= limit &&
         std::abs(inverse_mass[3]) <= limit && std::abs(inverse_mass[5]) <= limit;
}

void SphereContacts::start(const ConstraintProblem& problem) {
  make_room(round_, problem.bodies.size());
  round_.clear();
  for (Index b = 0; b < problem.bodies.size(); ++b)
    round_.push_back(roundness_of(problem.bodies, b));
}

SphereContacts::Roundness SphereContacts::roundness_of(const ProblemBodies& bodies, Index b) {
  if (bodies.mass_kind[b] == MassKind::prescribed) {
    const double* v = bodies.free_velocity.data() + bodies.dof_begin[b];
    return v[3] == 0.0 && v[4] == 0.0 && v[5] == 0.0 ? Roundness::still : Roundness::isotropic;
  }
  const bool round = bodies.mass_kind[b] == MassKind::rigid &&
                     is_isotropic(std::span(bodies.inverse_mass).subspan(bodies.mass_begin[b], 7));
  return round ? Roundness::isotropic : Roundness::none;
}

bool SphereContacts::seen_as_sphere(Roundness round, const Vec3& arm, const Vec3& normal) {
  constexpr double kRoundOff = 1e-12;
  if (round != Roundness::isotropic) return round == Roundness::still;
  return arm.cross(normal).squaredNorm() <= kRoundOff * kRoundOff * arm.squaredNorm();
}

bool SphereContacts::contains(const RigidContact& c) const {
  return is_unit(c.normal) && seen_as_sphere(round_[c.body_a], c.arm_a, c.normal) &&
         seen_as_sphere(round_[c.body_b], c.arm_b, c.normal);
}

}  // namespace catena
