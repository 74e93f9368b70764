// What a step does with every body whose inertia differs by axis, eight bodies at a time.
#pragma once

#include <array>
#include <cstddef>

#include "catena/math/types.hpp"
#include "stepper/eight_lanes.hpp"

namespace catena {

/// Up to eight bodies, lane by lane. Kernels compute all lanes: those beyond the last body hold
/// numbers of earlier ones, or of a body of unit inertia.
struct EightBodies {
  using Eight = eight_lanes::Eight;
  static constexpr std::size_t kLanes = eight_lanes::kLanes;

  std::array<Eight, 4> q;        ///< x, y, z, w
  std::array<Eight, 3> inertia;  ///< principal moments
  std::array<Eight, 3> before;   ///< omega at the start of the step
  std::array<Eight, 3> after;    ///< a kernel's own
  std::array<Eight, 6> matrix;   ///< xx, xy, xz, yy, yz, zz; a kernel's own

  EightBodies() {
    for (auto* list : {&inertia, &before, &after})
      for (Eight& e : *list) e.lane.fill(1.0);
    for (std::size_t k = 0; k < 4; ++k) q[k].lane.fill(k == 3 ? 1.0 : 0.0);
    for (Eight& e : matrix) e.lane.fill(0.0);
  }
  void set(std::size_t lane, const Quat& rotation, const Vec3& moments, const Vec3& w) {
    q[0].lane[lane] = rotation.x();
    q[1].lane[lane] = rotation.y();
    q[2].lane[lane] = rotation.z();
    q[3].lane[lane] = rotation.w();
    for (std::size_t k = 0; k < 3; ++k) {
      inertia[k].lane[lane] = moments[to_eigen(k)];
      before[k].lane[lane] = w[to_eigen(k)];
    }
  }
  Vec3 vector(const std::array<Eight, 3>& three, std::size_t lane) const {
    return {three[0].lane[lane], three[1].lane[lane], three[2].lane[lane]};
  }
  Quat rotation(std::size_t lane) const {
    return {q[3].lane[lane], q[0].lane[lane], q[1].lane[lane], q[2].lane[lane]};
  }

 private:
  static Eigen::Index to_eigen(std::size_t k) { return static_cast<Eigen::Index>(k); }
};

/// `matrix` becomes the inverse inertia in the world frame, `after` the angular acceleration of the
/// gyroscopic torque alone, I^-1 (-omega x I omega).
void find_inverse_inertia(EightBodies& bodies);

/// `after` becomes the angular momentum of `before`, I omega, in the world frame.
void find_angular_momenta(EightBodies& bodies);

/// Turns bodies with angular velocities `before` at the start of the step and `after` of the solve;
/// `after` becomes that of the carried angular momentum.
void turn_bodies(double h, EightBodies& bodies);

/// Inertia raised by stiffness (GeometricStiffness): I^ = I + raise (K - followed I)+, of K in
/// `matrix` (world frame, h^2 K). All in the world frame: `matrix` becomes I^^-1, `added` I^ - I,
/// `after`, a free omega, before + I^^-1 I (after - before). `largest` is that of K over I; bodies
/// of which it is below `followed` may be given that, and get I^ = I.
struct RaisedInertia {
  std::array<EightBodies::Eight, 6> added;
  EightBodies::Eight largest;
};
void raise_inertia(double followed, double raise, EightBodies& bodies, RaisedInertia& out);

}  // namespace catena
