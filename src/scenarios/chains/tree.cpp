// Knots of a tree and their joints as pure functions of their number.
#include <algorithm>
#include <cmath>

#include "scenarios/joint_parts.hpp"

namespace catena::scenarios {

namespace {

/// Where a knot stands in the tree.
struct Knot {
  int level = 0;
  GlobalId place = 0;   ///< within its level
  GlobalId leaves = 1;  ///< of the last level that hang on it
};

Knot knot_of(const TreeSettings& s, GlobalId k) {
  if (s.branching == 1) return {narrow<int>(k), 0, 1};
  Knot knot{0, k, n_leaves(s)};
  for (GlobalId width = 1; knot.place >= width; width *= s.branching) {
    knot.place -= width;
    knot.leaves /= s.branching;
    ++knot.level;
  }
  return knot;
}

/// From the parent of a knot below the root to the knot.
Vec3 way_to(const TreeSettings& s, const Knot& knot) {
  const auto child = static_cast<double>(knot.place % s.branching);
  const double middle = 0.5 * (s.branching - 1);
  return s.drop + (child - middle) * static_cast<double>(knot.leaves) * s.spread;
}

}  // namespace

GlobalId n_leaves(const TreeSettings& s) {
  GlobalId leaves = 1;
  for (int level = 0; level < s.levels && s.branching > 1 && leaves <= kMostKnots; ++level)
    leaves *= s.branching;
  return leaves;
}

GlobalId n_knots(const TreeSettings& s) {
  if (s.branching == 1) return GlobalId{1} + s.levels;
  // that of a geometric series
  return (n_leaves(s) * s.branching - 1) / (s.branching - 1);
}

GlobalId n_joints(const TreeSettings& s) { return n_knots(s) - (s.anchored ? 0 : 1); }

Vec3 knot_place(const TreeSettings& s, GlobalId k) {
  const Knot knot = knot_of(s, k);
  // leaves before the knot's own middle one, from the middle of all
  const double middle = static_cast<double>(knot.leaves) * (static_cast<double>(knot.place) + 0.5) -
                        0.5 * static_cast<double>(n_leaves(s));
  return s.from + static_cast<double>(knot.level) * s.drop + middle * s.spread;
}

void make_tree_joints(const TreeSettings& s, const Quat& body, const JointedBlock& block,
                      GlobalId first, GlobalId last, std::vector<JointConstants>& joints) {
  // frames of all joints have the world's axes
  const Quat axes = body.conjugate();
  const bool arms = s.joint == JointType::spherical;
  const Vec3 above = arms ? Vec3(-0.5 * s.drop) : Vec3(Vec3::Zero());
  for (GlobalId k = first; k < last; ++k) {
    if (k == 0 && !s.anchored) continue;
    JointConstants joint;
    // below the root in the order of knots, then the root's
    joint.id = block.first_joint + (k == 0 ? n_knots(s) : k) - 1;
    joint.type = k == 0 ? JointType::spherical : s.joint;
    const GlobalId parent = k == 0 ? kNoBody : block.first_body + (k - 1) / s.branching;
    joint.body = {parent, block.first_body + k, kNoBody};
    joint.collide = s.joints.collide;
    if (!std::isnan(s.joints.compliance)) joint.compliance = s.joints.compliance;
    if (!std::isnan(s.joints.damping_time)) joint.damping_time = s.joints.damping_time;
    joint.frame[0].q = joint.frame[1].q = axes;
    joint.frame[1].p = axes * above;
    if (k == 0) {
      joint.frame[0] = {s.from + above, Quat::Identity()};
    } else {
      const Vec3 way = way_to(s, knot_of(s, k));
      if (arms)
        joint.frame[0].p = axes * (way + above);
      else
        joint.length = way.norm();
    }
    joints.push_back(joint);
  }
  // the root's comes last
  if (first == 0 && first < last && s.anchored)
    std::rotate(joints.end() - (last - first), joints.end() - (last - first) + 1, joints.end());
}

}  // namespace catena::scenarios
