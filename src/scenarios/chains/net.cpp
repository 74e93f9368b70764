// Knots of a net and their joints as pure functions of their number.
#include <algorithm>
#include <cmath>

#include "scenarios/joint_parts.hpp"

namespace catena::scenarios {

namespace {

Vec3 spacing_of(const NetSettings& s, std::size_t direction) {
  return {s.spacing[3 * direction], s.spacing[3 * direction + 1], s.spacing[3 * direction + 2]};
}

/// Where a knot stands in the net.
struct Knot {
  GlobalId i, j;
};
Knot knot_of(const NetSettings& s, GlobalId k) { return {k % s.count[0], k / s.count[0]}; }

bool anchored(const NetSettings& s, const Knot& knot) {
  const bool i_end = knot.i == 0 || knot.i == s.count[0] - 1;
  const bool j_end = knot.j == 0 || knot.j == s.count[1] - 1;
  switch (s.anchored) {
    case NetAnchors::none:
      return false;
    case NetAnchors::corners:
      return i_end && j_end;
    case NetAnchors::edge:
      return knot.j == 0;
    case NetAnchors::all:
      return i_end || j_end;
  }
  return false;
}

/// Number of anchored knots before knot k.
GlobalId anchors_before(const NetSettings& s, GlobalId k) {
  const GlobalId nx = s.count[0], ny = s.count[1];
  const Knot knot = knot_of(s, k);
  // of the knot's own row, then of the rows before
  const auto in_row = [&](GlobalId j, GlobalId end) -> GlobalId {
    if (end == 0) return 0;
    if (!anchored(s, {0, j})) return 0;
    if (nx < 3 || anchored(s, {1, j})) return end;
    return end == nx ? 2 : 1;
  };
  GlobalId sum = in_row(knot.j, knot.i);
  if (knot.j > 0) sum += in_row(0, nx);
  if (knot.j > 1) sum += (std::min(knot.j, ny - 1) - 1) * in_row(1, nx);
  if (knot.j == ny && ny > 1) sum += in_row(ny - 1, nx);
  return sum;
}

}  // namespace

GlobalId n_joints(const NetSettings& s) {
  const GlobalId nx = s.count[0], ny = s.count[1];
  return (nx - 1) * ny + nx * (ny - 1) + anchors_before(s, nx * ny);
}

Vec3 knot_place(const NetSettings& s, GlobalId k) {
  const Knot knot = knot_of(s, k);
  return s.from + static_cast<double>(knot.i) * spacing_of(s, 0) +
         static_cast<double>(knot.j) * spacing_of(s, 1);
}

void make_net_joints(const NetSettings& s, const Quat& body, const JointedBlock& block,
                     GlobalId first, GlobalId last, std::vector<JointConstants>& joints) {
  const GlobalId nx = s.count[0], ny = s.count[1];
  // frames of all joints have the world's axes
  const Quat axes = body.conjugate();
  const auto add = [&](GlobalId id, JointType type, GlobalId a, GlobalId b, const Vec3& way) {
    JointConstants joint;
    joint.id = block.first_joint + id;
    joint.type = type;
    joint.body = {a, block.first_body + b, kNoBody};
    joint.collide = s.joints.collide;
    if (!std::isnan(s.joints.compliance)) joint.compliance = s.joints.compliance;
    if (!std::isnan(s.joints.damping_time)) joint.damping_time = s.joints.damping_time;
    joint.frame[0].q = joint.frame[1].q = axes;
    if (a == kNoBody) {
      joint.frame[0] = {knot_place(s, b), Quat::Identity()};
    } else if (type != JointType::spherical) {
      joint.length = way.norm();
    } else {
      joint.frame[0].p = axes * (0.5 * way);
      joint.frame[1].p = axes * (-0.5 * way);
    }
    joints.push_back(joint);
  };
  const auto from = joints.size();
  const GlobalId along_x = (nx - 1) * ny, along_y = nx * (ny - 1);
  for (GlobalId k = first; k < last; ++k) {
    const Knot knot = knot_of(s, k);
    if (knot.i > 0) {
      add(knot.j * (nx - 1) + knot.i - 1, s.joint, block.first_body + k - 1, k, spacing_of(s, 0));
    }
    if (knot.j > 0) {
      add(along_x + k - nx, s.joint, block.first_body + k - nx, k, spacing_of(s, 1));
    }
    if (anchored(s, knot)) {
      add(along_x + along_y + anchors_before(s, k), JointType::spherical, kNoBody, k, Vec3::Zero());
    }
  }
  std::sort(joints.begin() + from, joints.end(),
            [](const JointConstants& a, const JointConstants& b) { return a.id < b.id; });
}

}  // namespace catena::scenarios
