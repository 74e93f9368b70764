#include <algorithm>
#include <limits>
#include <numbers>

#include "constraints/joint_frames.hpp"
#include "constraints/tendon_row.hpp"

namespace catena {
namespace {

/// The angle that differs from `raw` by whole turns and is nearest to `before`.
double unwrapped(double raw, double before) {
  constexpr double kTurn = 2.0 * std::numbers::pi;
  return raw + kTurn * std::round((before - raw) / kTurn);
}

/// Angle of B about z_A, from x_A: the twist of B's rotation relative to A. It does not depend on
/// how far z_B is off.
double twist_angle(const Quat& a, const Quat& b) {
  const Quat relative = a.conjugate() * b;
  return 2.0 * std::atan2(relative.z(), relative.w());
}

/// Angle of a frame about its own z relative to a carrier in which that axis is fixed. With
/// q_carrier^-1 q_frame = q0 Rz(angle), (w, z) turn by half the angle, and so do (x, y) the other
/// way round; both pairs keep their lengths, of which one may vanish. The pair is chosen by a
/// length that the bearings hold, with a bound that no usual angle between axes meets.
double spin_angle(const Quat& carrier, const Quat& frame) {
  const Quat q = carrier.conjugate() * frame;
  constexpr double kBound = 0.2317;
  if (q.w() * q.w() + q.z() * q.z() > kBound) return 2.0 * std::atan2(q.z(), q.w());
  return -2.0 * std::atan2(q.y(), q.x());
}

std::array<double, 2> universal_angles(const Quat& a, const Quat& b) {
  const Mat3 axes_a = a.toRotationMatrix();
  const Mat3 axes_b = b.toRotationMatrix();
  const Vec3 z_a = axes_a.col(2), z_b = axes_b.col(2);
  return {std::atan2(z_b.dot(axes_a.col(1)), z_b.dot(axes_a.col(0))),
          std::atan2(-z_a.dot(axes_b.col(1)), z_a.dot(axes_b.col(0)))};
}

/// d on A's axes.
Vec3 place_on_a(const JointConstants& joint, const JointPoses& at, const Model& model) {
  return frame_rotation(joint, at, 0).conjugate() * place_joint(joint, at, model).d;
}

}  // namespace

std::array<double, 2> start_angles(const JointConstants& joint, const JointPoses& at,
                                   const Model& model) {
  if (is_winch(joint)) return {joint.length, 0.0};
  if (joint.type == JointType::point_on_curve)
    return {model.curves[joint.law].nearest(place_on_a(joint, at, model)), 0.0};
  return joint_angles(joint, at, {0.0, 0.0}, model);
}

std::array<double, 2> joint_angles(const JointConstants& joint, const JointPoses& at,
                                   const std::array<double, 2>& before, const Model& model) {
  const auto frame = [&](std::size_t k) { return frame_rotation(joint, at, k); };
  switch (joint.type) {
    case JointType::revolute:
    case JointType::cylindrical:
    case JointType::planar:
    case JointType::screw:
    case JointType::rack:
    case JointType::torsion_spring:
      return {unwrapped(twist_angle(frame(0), frame(1)), before[0]), before[1]};
    case JointType::cam:
      return {unwrapped(-twist_angle(frame(0), frame(1)), before[0]), before[1]};
    case JointType::point_on_curve:
      return {model.curves[joint.law].nearest(place_on_a(joint, at, model), before[0]), before[1]};
    case JointType::universal: {
      const std::array<double, 2> raw = universal_angles(frame(0), frame(1));
      return {unwrapped(raw[0], before[0]), unwrapped(raw[1], before[1])};
    }
    case JointType::gear:
    case JointType::belt: {
      const Quat& carrier = at.pose[2].q;
      return {unwrapped(spin_angle(carrier, frame(0)), before[0]),
              unwrapped(spin_angle(carrier, frame(1)), before[1])};
    }
    default:
      return before;
  }
}

void zero_gear_angles(JointConstants& gear, const JointPoses& at) {
  for (std::size_t k = 0; k < 2; ++k) {
    const double half = -0.5 * spin_angle(at.pose[2].q, frame_rotation(gear, at, k));
    const Quat back(std::cos(half), 0.0, 0.0, std::sin(half));
    gear.frame[k].q = (gear.frame[k].q * back).normalized();
  }
}

std::array<double, 3> joint_coordinates(const JointConstants& joint, const JointPoses& at,
                                        const std::array<double, 2>& angle, const Model& model) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  const std::array<double, 2> now = joint_angles(joint, at, angle, model);
  const Vec3 d = place_joint(joint, at, model).d;
  const Quat a = frame_rotation(joint, at, 0);
  const Vec3 d_a = a.conjugate() * d;
  switch (joint.type) {
    case JointType::spherical: {
      const Vec3 turn = rotation_vector(a.conjugate() * frame_rotation(joint, at, 1));
      return {turn.x(), turn.y(), turn.z()};
    }
    case JointType::revolute:
    case JointType::torsion_spring:
      return {now[0], kNone, kNone};
    case JointType::prismatic:
    case JointType::point_on_line:
      return {d_a.z(), kNone, kNone};
    case JointType::cylindrical:
      return {d_a.z(), now[0], kNone};
    case JointType::screw:
      return {now[0], d_a.z(), kNone};
    case JointType::rack:
      return {(frame_rotation(joint, at, 1) * Vec3::UnitX()).dot(d), now[0], kNone};
    case JointType::cam: {
      const double way = (frame_rotation(joint, at, 1) * Vec3::UnitX()).dot(d);
      return {way, now[0], way - cam_lift(joint, model, now[0]).value};
    }
    case JointType::point_on_curve:
      return {model.curves[joint.law].way(now[0]), kNone, kNone};
    case JointType::tendon:
      return {tendon_way(joint, at, model).length, kNone, kNone};
    case JointType::bushing:
      return {d_a.x(), d_a.y(), d_a.z()};
    case JointType::universal:
    case JointType::gear:
    case JointType::belt:
      return {now[0], now[1], kNone};
    case JointType::planar:
      return {d_a.x(), d_a.y(), now[0]};
    case JointType::distance:
    case JointType::rope:
    case JointType::spring:
      return {d.norm(), kNone, kNone};
    case JointType::fixed:
    case JointType::knife_edge:
    case JointType::rolling:
      break;
  }
  return {kNone, kNone, kNone};
}

std::array<double, 3> joint_rates(const JointConstants& joint, const JointPoses& at,
                                  const std::array<double, 2>& angle, const Model& model) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  const PlacedJoint placed = place_joint(joint, at, model);
  const Mat3 a = frame_rotation(joint, at, 0).toRotationMatrix();
  const Vec3 z_a = a.col(2), z_b = frame_rotation(joint, at, 1) * Vec3::UnitZ();
  const Vec3 &w_a = at.twist[0].w, &w_b = at.twist[1].w, &w_c = at.twist[2].w;
  // d on A's axes turns with a
  const Vec3 apart = at.twist[1].v + w_b.cross(placed.p_b - placed.x_b) - at.twist[0].v -
                     w_a.cross(placed.p_a - placed.x_a);
  const Vec3 d_a = a.transpose() * (apart - w_a.cross(placed.d));
  const double turning = z_a.dot(w_b - w_a);
  switch (joint.type) {
    case JointType::spherical: {
      const Vec3 w = a.transpose() * (w_b - w_a);
      return {w.x(), w.y(), w.z()};
    }
    case JointType::revolute:
    case JointType::torsion_spring:
      return {turning, kNone, kNone};
    case JointType::prismatic:
    case JointType::point_on_line:
      return {d_a.z(), kNone, kNone};
    case JointType::cylindrical:
      return {d_a.z(), turning, kNone};
    case JointType::screw:
      return {turning, d_a.z(), kNone};
    case JointType::rack: {
      const Vec3 x_b = frame_rotation(joint, at, 1) * Vec3::UnitX();
      return {x_b.dot(apart - w_b.cross(placed.d)), turning, kNone};
    }
    case JointType::cam: {
      const double rate =
          (frame_rotation(joint, at, 1) * Vec3::UnitX()).dot(apart - w_b.cross(placed.d));
      const double angle_now = joint_angles(joint, at, angle, model)[0];
      return {rate, -turning, rate + cam_lift(joint, model, angle_now).slope * turning};
    }
    case JointType::point_on_curve: {
      const double u = joint_angles(joint, at, angle, model)[0];
      return {model.curves[joint.law].at(u).slope.normalized().dot(d_a), kNone, kNone};
    }
    case JointType::tendon: {
      const TendonWay way = tendon_way(joint, at, model);
      double rate = 0.0;
      for (std::size_t b = 0; b < kJointBodies; ++b) rate += row_speed(way.row[b], at.twist[b]);
      return {rate, kNone, kNone};
    }
    case JointType::bushing:
      return {d_a.x(), d_a.y(), d_a.z()};
    case JointType::universal:
      return {turning, z_b.dot(w_b - w_a), kNone};
    case JointType::gear:
    case JointType::belt:
      return {z_a.dot(w_a - w_c), z_b.dot(w_b - w_c), kNone};
    case JointType::planar:
      return {d_a.x(), d_a.y(), turning};
    case JointType::distance:
    case JointType::rope:
    case JointType::spring: {
      const double length = placed.d.norm();
      return {length > 0.0 ? placed.d.dot(apart) / length : apart.norm(), kNone, kNone};
    }
    case JointType::fixed:
    case JointType::knife_edge:
    case JointType::rolling:
      break;
  }
  return {kNone, kNone, kNone};
}

double rigid_misfit(const JointGeometry& geometry, std::size_t row) {
  const double g = geometry.misfit[row];
  return geometry.unilateral && g > 0.0 ? 0.0 : g;
}

JointMisfit joint_misfit(const JointGeometry& geometry) {
  JointMisfit misfit;
  if (geometry.spring) return misfit;
  for (Index i = 0; i < geometry.rows; ++i) {
    double& largest = geometry.angular[i] ? misfit.angular : misfit.linear;
    largest = std::max(largest, std::abs(rigid_misfit(geometry, i)));
  }
  return misfit;
}

}  // namespace catena
