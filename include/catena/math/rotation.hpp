// Finite rotations and inertia in the world frame.
#pragma once

#include "catena/math/types.hpp"

namespace catena {

/// Quaternion of the rotation by |w| dt about w (exponential map), exact for constant w.
Quat rotation_of(const Vec3& w, double dt);

/// `q` turned by the world angular velocity `w` (rad/s) for `dt` (s); unit length.
Quat advance_rotation(const Quat& q, const Vec3& w, double dt);

/// R diag(principal) R^T, world frame; `principal` in kg m^2 (or its inverse).
Mat3 rotate_diagonal(const Quat& q, const Vec3& principal);

/// Two unit vectors that make (normal, t1, t2) right-handed and orthonormal; a pure
/// function of the unit vector `normal`, continuous except across n_z = -0.9 (after
/// Duff et al. 2017).
void tangents_of(const Vec3& normal, Vec3& t1, Vec3& t2);

}  // namespace catena
