// The hot loops of Gauss-Seidel: rigid contacts with implicit Jacobians.
#pragma once

#include <cstdint>
#include <span>

#include "local_solve.hpp"

namespace catena {

/// One cache line of velocities. A rigid body takes one line: velocity (v, omega), 1/m
/// and, for contacts that see it as a sphere, 1/I; both scaled by the body's
/// multiplicity. A body with another number of velocities takes as many lines as hold
/// them. Prescribed bodies have 1/m = 1/I = 0.
struct alignas(64) BodyLine {
  double x[8];
};
inline constexpr int kInverseMass = 6;
inline constexpr int kInverseInertia = 7;

/// World inverse inertia of the rigid body in the line of the same number: xx, xy, xz,
/// yy, yz, zz.
struct alignas(64) InertiaLine {
  double x[8];
};

/// Contact of bodies that it sees as spheres: arms along the normal and isotropic inertia
/// (or immovable), so that D = diag(d_n, d_t, d_t) and the local solve is closed. The
/// impulse p = lambda_n n + lambda_t is held in the world frame: no tangents are needed.
/// 104 bytes.
struct SphereContact {
  std::int32_t a, b;    ///< lines of the bodies
  double n[3];          ///< from a to b
  double p[3];          ///< impulse on b, N s
  double arm_a, arm_b;  ///< r = arm n, m
  double bias, friction;
  double inverse_d_n, inverse_d_t;  ///< 0: nothing moves
};

/// Contact of any two rigid bodies: 192 bytes, and what is needed of D only where it
/// slides apart in `ContactBlock`s of the same order.
struct ArmContact {
  std::int32_t a, b;
  double n[3], t[3];  ///< normal and first tangent; the second is n x t
  double arm_a[3], arm_b[3];
  double lambda[3];
  double bias, friction;
  double d_inverse[6];  ///< nn, n1, n2, 11, 12, 22
};

/// One projected Gauss-Seidel sweep over sphere contacts, in order or backward:
///
///   u  = v_b - v_a + (arm_b w_b - arm_a w_a) x n,   w = u + bias n
///   p <- exact solution of the law for this contact alone (see solve_contact)
///   v_b += (1/m_b) dp,  w_b += (arm_b/I_b) n x dp;  a with the other sign
///
/// Laws coulomb, ccp, frictionless; local solves other than `cone` (and `scalar` at
/// omega = 1 only): on a diagonal D they are all the same. Returns the sum of
/// |D dlambda|^2, (m/s)^2: what the contacts' own residuals were before their turn.
/// About 90 flops and 104 bytes a contact, and one line per body. Does not allocate.
double sweep_sphere_contacts(std::span<SphereContact> contacts, std::span<BodyLine> bodies,
                             const LocalRules& rules, bool forward);

/// The same for general arms and inertias, any law and local solve; `blocks` is parallel
/// to `contacts`. About 200 flops and 192 bytes a contact, and two lines per body.
double sweep_arm_contacts(std::span<ArmContact> contacts, std::span<const ContactBlock> blocks,
                          std::span<BodyLine> bodies, std::span<const InertiaLine> inertia,
                          const LocalRules& rules, bool forward);

}  // namespace catena
