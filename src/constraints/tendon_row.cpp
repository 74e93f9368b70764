#include "constraints/tendon_row.hpp"

namespace catena {
namespace {

/// A point that a tendon runs over, in the world.
struct Eyelet {
  int body;
  Vec3 arm, p;
};

Eyelet eyelet_of(const Tendon::Point& point, const JointPoses& at, bool planar) {
  Eyelet eyelet{point.body, point.p, point.p};
  if (point.body >= 0) {
    const Pose& pose = at.pose[point.body];
    eyelet.arm = pose.q * point.p;
    eyelet.p = pose.p + eyelet.arm;
  }
  if (planar) eyelet.arm.y() = eyelet.p.y() = 0.0;
  return eyelet;
}

/// Adds the rate at which `eyelet` goes along n.
void add_rate(const Eyelet& eyelet, const Vec3& n, TendonWay& way) {
  if (eyelet.body < 0) return;
  JointGeometry::Row& row = way.row[eyelet.body];
  const Vec3 turn = eyelet.arm.cross(n);
  for (std::size_t k = 0; k < 3; ++k) {
    row[k] += n[to_index(k)];
    row[k + 3] += turn[to_index(k)];
  }
}

}  // namespace

TendonWay tendon_way(const JointConstants& joint, const JointPoses& at, const Model& model) {
  TendonWay way;
  const std::vector<Tendon::Point>& points = model.tendons[joint.law].points;
  Eyelet from = eyelet_of(points.front(), at, model.planar);
  for (std::size_t k = 1; k < points.size(); ++k) {
    const Eyelet to = eyelet_of(points[k], at, model.planar);
    Vec3 leg = to.p - from.p;
    leg -= model.periodic.nearest_shift(leg);
    const double length = leg.norm();
    way.length += length;
    if (length > 0.0) {
      const Vec3 n = leg / length;
      add_rate(to, n, way);
      add_rate(from, -n, way);
    }
    from = to;
  }
  return way;
}

}  // namespace catena
