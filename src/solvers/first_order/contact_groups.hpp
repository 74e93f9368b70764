// Contacts in groups of eight, and what first-order methods do with a group at once.
#pragma once

#include <array>
#include <cstddef>

#include "catena/base/index.hpp"
#include "catena/constraints/constraint_problem.hpp"

namespace catena::first_order {

/// Contacts of a group. A vector over rows holds a group as 3 x kLanes numbers: all normals, then
/// the first tangents, then the second ones. Lanes without a contact have no friction, no slip and
/// no impulse.
inline constexpr std::size_t kLanes = 8;
inline constexpr std::size_t kGroupRows = 3 * kLanes;
using Lanes = std::array<double, kLanes>;

/// Friction cones |x_t| <= mu x_n of a group, in scaled rows.
struct alignas(64) ConeGroup {
  Lanes mu{}, inverse{};  ///< 1/(1 + mu^2)
};

/// Rigid contacts, from whose geometry G is made in the product: x / s in the problem's rows.
struct alignas(64) GeneralContactGroup {
  std::array<Lanes, 3> normal{}, tangent{}, arm_a{}, arm_b{};
  std::array<Lanes, 3> offset{}, compliance{};  ///< of the scaled rows, as in RowGroup
  Lanes by_normal{}, by_tangent{};              ///< 1/s
  std::array<Index, kLanes> a{}, b{};           ///< first velocity of each body
};

/// Contacts with explicit Jacobians for two bodies of six velocities, scaled.
struct alignas(64) RowGroup {
  std::array<std::array<Lanes, 3>, 12> jacobian{};
  std::array<Lanes, 3> offset{}, compliance{};  ///< w = G V + offset + compliance x
  std::array<Index, kLanes> a{}, b{};
};

/// f += G^T x of a group.
void add_forces(const GeneralContactGroup& group, const double* x, double* forces);
void add_forces(const RowGroup& group, const double* x, double* forces);
/// g = G V + offset + Sigma x of a group.
void residual_velocities(const GeneralContactGroup& group, const double* velocities,
                         const double* x, double* g);
void residual_velocities(const RowGroup& group, const double* velocities, const double* x,
                         double* g);

/// One projected step of a group, the rows of a vector of each kind:
///
///   y <- keep x + take y,  g_y <- keep g_x + take g_y,  next = P(y - (g_y + shift)/L)
///
/// renew: first the shift mu |g_y,t| of w_n is made anew (law coulomb).
struct StepWeights {
  double keep = 1.0, take = 0.0;
  double inverse_l = 1.0;
  bool renew = false;
};
/// Sums over rows of |next - y|^2, (g_y + shift).(next - x) and |next|^2.
struct StepSums {
  double moved = 0.0, along = 0.0, size = 0.0;
};
struct GroupRows {
  const double *x, *g;
  double *y, *g_y;
  double* shift;  ///< kLanes
  double* next;
};
/// `box`: |x_t| <= mu x_n holds for each tangent.
void step(const ConeGroup& cones, ContactLaw law, const StepWeights& weights, const GroupRows& rows,
          StepSums& sums);
/// x <- P(x).
void project(const ConeGroup& cones, ContactLaw law, double* x);

/// Sum of (next - y).(g_next - g_y): eight partial sums, added in order.
double curvature(std::size_t n, const double* next, const double* y, const double* g_next,
                 const double* g_y);

}  // namespace catena::first_order
