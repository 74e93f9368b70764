// Links of a chain and their joints as pure functions of their number.
#include <cmath>

#include "scenarios/joint_parts.hpp"

namespace catena::scenarios {

namespace {

/// Long axis of a link in the frame of its shape: x of boxes, z of all others.
Vec3 long_axis(const ChainSettings& s) {
  return s.shape.type == ShapeType::box ? Vec3::UnitX() : Vec3::UnitZ();
}

Vec3 hinge_axis(const ChainSettings& s, const ChainCurve& curve) {
  return is_set(s.axis) ? Vec3(s.axis.normalized()) : curve.normal();
}

/// Rotation of a link's shape to the world: its long axis along `way`, y as near to the hinges'
/// axis as can be.
Quat link_rotation(const ChainSettings& s, const Vec3& hinge, const Vec3& way) {
  const Vec3 along = way.normalized();
  Vec3 side = hinge - along.dot(hinge) * along;
  constexpr double kParallel = 1e-6;
  side = side.norm() > kParallel ? Vec3(side.normalized()) : perpendicular(along);
  Mat3 r;
  if (s.shape.type == ShapeType::box) {
    r << along, side, along.cross(side);
  } else {
    r << side.cross(along), side, along;
  }
  return Quat(r).normalized();
}

/// Links from `first` on, and the one before: where they are.
struct Place {
  Vec3 from, to;
  Vec3 centre;  ///< of mass
  Quat q;       ///< of the body's frame
};

Place place_of(const ChainSettings& s, const Vec3& hinge, const LinkFrame& frame, const Vec3& from,
               const Vec3& to) {
  const Quat q = (link_rotation(s, hinge, to - from) * frame.q.conjugate()).normalized();
  return {from, to, 0.5 * (from + to) - q * frame.p, q};
}

/// Directions of both frames of a joint between links along `before` and `after`, in the world.
std::array<Quat, 2> joint_frames(const ChainSettings& s, const Vec3& hinge, const Vec3& before,
                                 const Vec3& after) {
  if (s.joint == JointType::revolute) {
    const Quat q = frame_of(hinge, perpendicular(hinge));
    return {q, q};
  }
  if (s.joint != JointType::universal) return {Quat::Identity(), Quat::Identity()};
  Vec3 way = before.normalized() + after.normalized();
  if (!(way.norm() > 1e-6)) way = before;
  way.normalize();
  Vec3 z_a = hinge - way.dot(hinge) * way;
  z_a = z_a.norm() > 1e-6 ? Vec3(z_a.normalized()) : perpendicular(way);
  const Vec3 z_b = way.cross(z_a);
  return {frame_of(z_a, z_b), frame_of(z_b, z_a)};
}

bool has_first(const ChainSettings& s) {
  return s.anchored == ChainAnchors::first || s.anchored == ChainAnchors::both;
}
bool has_last(const ChainSettings& s) {
  return s.anchored == ChainAnchors::last || s.anchored == ChainAnchors::both;
}

JointConstants joint_like(const ChainSettings& s) {
  JointConstants joint;
  joint.type = s.joint;
  joint.collide = s.joints.collide;
  const auto set = [](double& value, double setting) {
    if (!std::isnan(setting)) value = setting;
  };
  set(joint.compliance, s.joints.compliance);
  set(joint.angular_compliance, s.joints.angular_compliance);
  set(joint.damping_time, s.joints.damping_time);
  set(joint.axis[0].friction, s.joints.friction);
  if (s.joint == JointType::universal) set(joint.axis[1].friction, s.joints.friction);
  return joint;
}

}  // namespace

GlobalId n_joints(const ChainSettings& s) {
  if (s.path.closed) return s.links;
  return GlobalId{s.links} - 1 + (has_first(s) ? 1 : 0) + (has_last(s) ? 1 : 0);
}

void make_links(const ChainSettings& s, const ChainCurve& curve, const BodyRecord& link,
                const LinkFrame& frame, const JointedBlock& block, GlobalId first, GlobalId last,
                const std::function<void(const BodyRecord&)>& take) {
  if (first >= last) return;
  const Vec3 hinge = hinge_axis(s, curve);
  const std::vector<Vec3> points = curve.points(first, last + 1);
  for (std::size_t i = 0; i + 1 < points.size(); ++i) {
    BodyRecord body = link;
    body.constants.id = block.first_body + first + static_cast<GlobalId>(i);
    body.constants.jointed = n_joints(s) > 0;
    const Place place = place_of(s, hinge, frame, points[i], points[i + 1]);
    body.state.pose = {place.centre, place.q};
    body.state.twist.v = s.velocity + s.angular_velocity.cross(place.centre - s.about);
    body.state.twist.w = s.angular_velocity;
    take(body);
  }
}

void make_chain_joints(const ChainSettings& s, const ChainCurve& curve, const LinkFrame& frame,
                       const JointedBlock& block, GlobalId first, GlobalId last,
                       std::vector<JointConstants>& joints) {
  if (first >= last) return;
  const GlobalId n = s.links;
  const Vec3 hinge = hinge_axis(s, curve);
  const Vec3 arm = frame.q * (0.5 * curve.link_length() * long_axis(s));
  const auto place = [&](const Vec3& from, const Vec3& to) {
    return place_of(s, hinge, frame, from, to);
  };
  const std::vector<Vec3> points = curve.points(first, last + 1);
  Place before{};
  const bool has_before = first > 0 || s.path.closed;
  if (has_before) {
    const GlobalId k = first > 0 ? first - 1 : n - 1;
    const std::vector<Vec3> ends = curve.points(k, k + 2);
    before = place(ends[0], ends[1]);
  }
  const JointConstants prototype = joint_like(s);
  // joint k joins links k - 1 and k; without the first anchor and in a loop all numbers differ
  const GlobalId first_id = block.first_joint + (has_first(s) || s.path.closed ? 0 : -1);
  const auto add = [&](GlobalId k, const Place* a, const Place* b) {
    const Vec3 way_a = a != nullptr ? Vec3(a->to - a->from) : Vec3(b->to - b->from);
    const Vec3 way_b = b != nullptr ? Vec3(b->to - b->from) : way_a;
    const std::array<Quat, 2> frames = joint_frames(s, hinge, way_a, way_b);
    JointConstants joint = prototype;
    joint.id = first_id + k;
    joint.frame[0] = a != nullptr ? Pose{frame.p + arm, (a->q.conjugate() * frames[0]).normalized()}
                                  : Pose{b->from, frames[0]};
    joint.frame[1] = b != nullptr ? Pose{frame.p - arm, (b->q.conjugate() * frames[1]).normalized()}
                                  : Pose{a->to, frames[1]};
    if (joint.type == JointType::distance || joint.type == JointType::rope) {
      // between centres, or from where the chain ends
      for (std::size_t side = 0; side < 2; ++side)
        if ((side == 0 ? a : b) != nullptr) joint.frame[side].p.setZero();
      const Vec3 centre_a = a != nullptr ? a->centre : b->from;
      const Vec3 centre_b = b != nullptr ? b->centre : a->to;
      joint.length = (centre_b - centre_a).norm();
    }
    if (a != nullptr) joint.body[0] = block.first_body + (k + n - 1) % n;
    if (b != nullptr) joint.body[1] = block.first_body + k % n;
    joints.push_back(joint);
  };
  for (GlobalId k = first; k < last; ++k) {
    const std::size_t i = k - first;
    const Place now = place(points[i], points[i + 1]);
    if (k > 0 || s.path.closed) {
      add(k, &before, &now);
    } else if (has_first(s)) {
      add(k, nullptr, &now);
    }
    if (k == n - 1 && has_last(s)) add(n, &now, nullptr);
    before = now;
  }
}

}  // namespace catena::scenarios
