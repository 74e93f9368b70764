// Problems small enough to be solved by hand, and packings of spheres for comparisons.
#pragma once

#include <cstdint>

#include "support/scene.hpp"

namespace catena::test {

inline constexpr double kGravity = 9.81;  ///< m/s^2

/// A point mass (zero arms) at rest on a plane tilted by `tilt` rad; bodies: 0 the plane,
/// 1 the block; t1 points up the slope. At zero impulses the block has gained
/// g h (-cos tilt, -sin tilt) along (n, t1). Sticks with p = m g h (cos, sin, 0) if mu >= tan tilt;
/// else slides with p = m g h cos (1, mu, 0).
Scene incline_scene(double mass, double tilt, double friction, double step);
ConstraintProblem block_on_incline(double mass, double tilt, double friction, double step);

/// Two spheres (1 kg, radius 0.1 m) touching each other on the plane z = 0, pressed
/// together with `speed` m/s each along x; bodies 0 the plane, 1 (left), 2 (right).
Scene two_spheres_on_plane(double friction, double step, double speed);

/// A cube of 1 kg, edge 0.2 m, at rest on the plane z = 0 with four corner contacts
/// (rank-deficient), pushed so that V_free has `speed` along x.
Scene box_on_plane(double friction, double step, double speed);

/// A column of n cubes (1 kg, edge 0.2 m), four contacts in each joint; at rest.
Scene box_stack(int n, double friction, double step);

/// A loose packing of `n_spheres` (density 2500, radius about 0.1 m) on a plane (body 0),
/// jittered about a cubic lattice, with the `n_contacts` smallest gaps (some negative,
/// most positive) as contacts, SPOOK-like bias gap/step, and V_free of free fall plus
/// random velocities of 0.1 m/s. Pure function of its arguments.
Scene sphere_pile(int n_spheres, int n_contacts, double friction, double step, std::uint64_t seed);

/// A body (mass, inertia about y) hanging level at distance `length` along x from a
/// spherical joint to the world: three bilateral rows. V_free = fall of one step:
/// the joint's impulse is (0, 0, m g h I/(I + m length^2)).
Scene pendulum(double mass, double inertia, double length, double step);

/// A mass that may not sink below `clearance` under it: one unilateral row w = v_z +
/// clearance/step after falling one step. lambda = max(0, m (g h - clearance/h)).
Scene limit(double mass, double clearance, double step);

/// A wheel (moment `inertia` about z) driven by a boxed angular row towards `speed` rad/s
/// with at most `max_impulse` N m s: lambda = clamp(inertia speed, +-max_impulse).
Scene motor(double inertia, double speed, double max_impulse);

/// All kinds of blocks over bodies of 3, 6 and 9 velocities and a moving prescribed body, in
/// a ring of `n` (>= 4) bodies with random data: blocks of one, two and three bodies.
/// Feasibility is not its business.
Scene mixed_ring(int n, std::uint64_t seed);

}  // namespace catena::test
