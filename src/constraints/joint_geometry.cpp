
#include "constraints/joint_frames.hpp"
#include "constraints/tendon_row.hpp"

namespace catena {
namespace {

using Row = JointGeometry::Row;

/// Writes rows with a common point: linear ones are n . (v_b + w_b x r_b - v_a - w_a x r_a).
class RowWriter {
 public:
  RowWriter(JointGeometry& geometry, const PlacedJoint& placed, const Vec3& common, bool planar)
      : g_(geometry), arm_a_(common - placed.x_a), arm_b_(common - placed.x_b), planar_(planar) {
    if (planar_) arm_a_.y() = arm_b_.y() = 0.0;
  }

  /// d = 0 on the world's axes: rows of -1 and [r_a x], 1 and -[r_b x].
  void point(const Vec3& d) {
    const double ax = arm_a_.x(), ay = arm_a_.y(), az = arm_a_.z();
    const double bx = arm_b_.x(), by = arm_b_.y(), bz = arm_b_.z();
    for (int k = 0; k < 3; ++k) next(d[k], false, false);
    g_.jacobian[0][0] = {-1.0, 0.0, 0.0, 0.0, -az, ay};
    g_.jacobian[0][1] = {0.0, -1.0, 0.0, az, 0.0, -ax};
    g_.jacobian[0][2] = {0.0, 0.0, -1.0, -ay, ax, 0.0};
    g_.jacobian[1][0] = {1.0, 0.0, 0.0, 0.0, bz, -by};
    g_.jacobian[1][1] = {0.0, 1.0, 0.0, -bz, 0.0, bx};
    g_.jacobian[1][2] = {0.0, 0.0, 1.0, by, -bx, 0.0};
  }
  /// Relative velocity along n, misfit m.
  void linear(Vec3 n, double misfit) {
    if (planar_) flatten(n, misfit);
    const std::size_t i = next(misfit, false, false);
    put_linear(n, g_.jacobian[0][i], g_.jacobian[1][i]);
  }
  /// The same without a position.
  void sliding(Vec3 n) {
    double none = 0.0;
    if (planar_) flatten(n, none);
    const std::size_t i = next(0.0, false, true);
    put_linear(n, g_.jacobian[0][i], g_.jacobian[1][i]);
  }
  /// Relative angular velocity about n, misfit rad.
  void angular(Vec3 n, double misfit, bool velocity = false) {
    if (planar_) flatten_turn(n, misfit);
    const std::size_t i = next(misfit, true, velocity);
    put_angular(n, g_.jacobian[0][i], g_.jacobian[1][i]);
  }
  void linear_axis(Vec3 n, double coordinate) {
    double none = 0.0;
    if (planar_) flatten(n, none);
    const std::size_t i = next_axis(coordinate, false);
    put_linear(n, g_.axis_jacobian[0][i], g_.axis_jacobian[1][i]);
  }
  /// The slip along n by `linear` and about it by `turn`, under the load of row
  /// `loaded`.
  void slip(const Vec3& n, double linear, double turn, int loaded) {
    g_.has_slip = true;
    g_.loaded_row = loaded;
    g_.slip_jacobian[2] = Row{};
    Row &a = g_.slip_jacobian[0], &b = g_.slip_jacobian[1];
    put_linear(linear * n, a, b);
    add_turn(turn * n, a, b);
  }
  /// Adds to the last row the relative angular velocity about n, which it then
  /// couples.
  void couple(const Vec3& n) {
    const std::size_t i = g_.rows - 1;
    add_turn(n, g_.jacobian[0][i], g_.jacobian[1][i]);
  }
  /// Says that the last row is a spring's.
  void spring(double stiffness, double damping) {
    g_.stiffness[g_.rows - 1] = stiffness;
    g_.damping[g_.rows - 1] = damping;
  }
  void angular_axis(Vec3 n, double coordinate) {
    double none = 0.0;
    if (planar_) flatten_turn(n, none);
    const std::size_t i = next_axis(coordinate, true);
    put_angular(n, g_.axis_jacobian[0][i], g_.axis_jacobian[1][i]);
  }

 private:
  /// In planar motion a row acts in the plane or across it, exactly; nothing moves across it.
  static void flatten(Vec3& n, double& misfit) {
    if (std::abs(n.y()) > 0.5) {
      n = Vec3(0.0, n.y(), 0.0);
      misfit = 0.0;
    } else {
      n.y() = 0.0;
    }
  }
  static void flatten_turn(Vec3& n, double& misfit) {
    if (std::abs(n.y()) > 0.5) {
      n = Vec3(0.0, n.y(), 0.0);
    } else {
      n.y() = 0.0;
      misfit = 0.0;
    }
  }
  std::size_t next(double misfit, bool angular, bool velocity) {
    const std::size_t i = g_.rows++;
    g_.misfit[i] = misfit;
    g_.angular[i] = angular;
    g_.velocity[i] = velocity;
    g_.jacobian[2][i] = Row{};
    return i;
  }
  std::size_t next_axis(double coordinate, bool angular) {
    const std::size_t i = g_.axes++;
    g_.coordinate[i] = coordinate;
    g_.axis_angular[i] = angular;
    g_.axis_jacobian[2][i] = Row{};
    return i;
  }
  void put_linear(const Vec3& n, Row& a, Row& b) const {
    const Vec3 turn_a = n.cross(arm_a_), turn_b = arm_b_.cross(n);
    a = {-n.x(), -n.y(), -n.z(), turn_a.x(), turn_a.y(), turn_a.z()};
    b = {n.x(), n.y(), n.z(), turn_b.x(), turn_b.y(), turn_b.z()};
  }
  static void add_turn(const Vec3& n, Row& a, Row& b) {
    for (std::size_t k = 0; k < 3; ++k) {
      const double x = n[to_index(k)];
      a[k + 3] -= x;
      b[k + 3] += x;
    }
  }
  static void put_angular(const Vec3& n, Row& a, Row& b) {
    a = {0.0, 0.0, 0.0, -n.x(), -n.y(), -n.z()};
    b = {0.0, 0.0, 0.0, n.x(), n.y(), n.z()};
  }

  JointGeometry& g_;
  Vec3 arm_a_, arm_b_;
  bool planar_;
};

/// Everything a type's rows are made from.
struct Context {
  const JointConstants& joint;
  const JointPoses& at;
  const std::array<double, 2>& angle;
  const Model& model;
  PlacedJoint placed;
};

bool acts(const JointAxis& axis) {
  return axis.motor != MotorKind::none || axis.friction > 0.0 || axis.limited();
}

/// Whether coordinates are asked for.
bool has_active_axis(const JointConstants& joint) {
  return acts(joint.axis[0]) || (acts(joint.axis[1]) && joint_axes(joint.type) > 1);
}

RowWriter writer_at(const Context& c, const Vec3& common, JointGeometry& g) {
  return {g, c.placed, common, c.model.planar};
}

Vec3 middle(const PlacedJoint& placed) { return 0.5 * (placed.p_a + placed.p_b); }

/// z_B = z_A: on x_A and y_A the rotation vector that leads from z_A to z_B.
void aligned_axes(RowWriter& rows, const Mat3& a, const Vec3& z_b) {
  const AxesApart apart = axes_apart(a, z_b);
  for (std::size_t k = 0; k < 2; ++k) rows.angular(apart.across[k], apart.misfit[k]);
}

/// Orientations agree: the rotation vector from A to B on the world's axes.
void equal_orientation(RowWriter& rows, const Quat& a, const Quat& b) {
  const Vec3 turn = rotation_vector(b * a.conjugate());
  for (int k = 0; k < 3; ++k) rows.angular(Vec3::Unit(k), turn[k]);
}

double first_angle(const Context& c) { return joint_angles(c.joint, c.at, c.angle, c.model)[0]; }

void fixed_rows(const Context& c, JointGeometry& g) {
  RowWriter rows = writer_at(c, middle(c.placed), g);
  rows.point(c.placed.d);
  equal_orientation(rows, frame_rotation(c.joint, c.at, 0), frame_rotation(c.joint, c.at, 1));
}

void revolute_rows(const Context& c, JointGeometry& g) {
  const Mat3 a = frame_rotation(c.joint, c.at, 0).toRotationMatrix();
  RowWriter rows = writer_at(c, middle(c.placed), g);
  rows.point(c.placed.d);
  aligned_axes(rows, a, frame_rotation(c.joint, c.at, 1) * Vec3::UnitZ());
  if (has_active_axis(c.joint)) rows.angular_axis(a.col(2), first_angle(c));
}

void universal_rows(const Context& c, JointGeometry& g) {
  const Vec3 z_a = frame_rotation(c.joint, c.at, 0) * Vec3::UnitZ();
  const Vec3 z_b = frame_rotation(c.joint, c.at, 1) * Vec3::UnitZ();
  RowWriter rows = writer_at(c, middle(c.placed), g);
  rows.point(c.placed.d);
  rows.angular(z_b.cross(z_a), z_a.dot(z_b));
  if (!has_active_axis(c.joint)) return;
  const std::array<double, 2> angle = joint_angles(c.joint, c.at, c.angle, c.model);
  rows.angular_axis(z_a, angle[0]);
  rows.angular_axis(z_b, angle[1]);
}

/// prismatic, cylindrical, planar and point_on_line: B slides along axes of A.
void sliding_rows(const Context& c, JointGeometry& g) {
  const Quat q_a = frame_rotation(c.joint, c.at, 0);
  const Mat3 a = q_a.toRotationMatrix();
  const Vec3& d = c.placed.d;
  const JointType type = c.joint.type;
  RowWriter rows = writer_at(c, c.placed.p_b, g);
  if (type == JointType::planar) {
    rows.linear(a.col(2), a.col(2).dot(d));
  } else {
    rows.linear(a.col(0), a.col(0).dot(d));
    rows.linear(a.col(1), a.col(1).dot(d));
  }
  if (type == JointType::prismatic) {
    equal_orientation(rows, q_a, frame_rotation(c.joint, c.at, 1));
  } else if (type != JointType::point_on_line) {
    aligned_axes(rows, a, frame_rotation(c.joint, c.at, 1) * Vec3::UnitZ());
  }
  if (!has_active_axis(c.joint)) return;
  const Vec3 along = a.col(type == JointType::planar ? 0 : 2);
  rows.linear_axis(along, along.dot(d));
  if (type == JointType::cylindrical) rows.angular_axis(a.col(2), first_angle(c));
}

/// A guide whose displacement follows its angle. On the thread, of mean radius
/// r and lead angle atan(ratio/r), the nut slips by (ratio v_z + r^2
/// w_z)/sqrt(ratio^2 + r^2).
void screw_rows(const Context& c, JointGeometry& g) {
  const Mat3 a = frame_rotation(c.joint, c.at, 0).toRotationMatrix();
  const Vec3 z = a.col(2);
  const Vec3& d = c.placed.d;
  const double ratio = c.joint.ratio, radius = c.joint.length, angle = first_angle(c);
  RowWriter rows = writer_at(c, c.placed.p_b, g);
  rows.linear(a.col(0), a.col(0).dot(d));
  rows.linear(a.col(1), a.col(1).dot(d));
  rows.linear(z, z.dot(d) - ratio * angle);
  rows.couple(-ratio * z);
  const int coupling = g.rows - 1;
  aligned_axes(rows, a, frame_rotation(c.joint, c.at, 1) * Vec3::UnitZ());
  if (has_active_axis(c.joint)) rows.angular_axis(z, angle);
  if (!(c.joint.thread_friction > 0.0)) return;
  const double along = std::hypot(ratio, radius);
  rows.slip(z, ratio / along, radius * radius / along, coupling);
}

/// At the pitch point, p_A + radius z_A x x_B, the pinion's and the rack's
/// matter go along with each other: the exact rate of x_B . d - radius angle,
/// in which the angle is of b against a.
void rack_rows(const Context& c, JointGeometry& g) {
  const Vec3 z = frame_rotation(c.joint, c.at, 0) * Vec3::UnitZ();
  const Vec3 along = frame_rotation(c.joint, c.at, 1) * Vec3::UnitX();
  const double radius = c.joint.length;
  RowWriter rows = writer_at(c, c.placed.p_a + radius * z.cross(along), g);
  rows.linear(along, along.dot(c.placed.d) - radius * first_angle(c));
}

/// The exact rate of x_B . d - lift: the force along x_B acts where it has the torque that the
/// lift's slope asks for, which is where a flat follower touches its cam. A follower that may lift
/// off has the gap as a coordinate with a limit.
void cam_rows(const Context& c, JointGeometry& g) {
  const Vec3 z = frame_rotation(c.joint, c.at, 0) * Vec3::UnitZ();
  const Vec3 along = frame_rotation(c.joint, c.at, 1) * Vec3::UnitX();
  const TablePoint lift = cam_lift(c.joint, c.model, first_angle(c));
  const double gap = along.dot(c.placed.d) - lift.value;
  RowWriter rows = writer_at(c, c.placed.p_a - lift.slope * z.cross(along), g);
  if (c.joint.axis[0].limited())
    rows.linear_axis(along, gap);
  else
    rows.linear(along, gap);
}

/// Across the curve at the point that is nearest to p_B, and along it.
void curve_rows(const Context& c, JointGeometry& g) {
  const Mat3 a = frame_rotation(c.joint, c.at, 0).toRotationMatrix();
  const Curve& curve = c.model.curves[c.joint.law];
  const double u = first_angle(c);
  const CurvePoint on = curve.at(u);
  const Vec3 local = on.slope.normalized(), along = a * local;
  const Vec3 off = c.placed.d - a * on.p;
  const Vec3 across = c.model.planar ? Vec3(Vec3::UnitY()) : Vec3(a * local.unitOrthogonal());
  const Vec3 other = along.cross(across);
  RowWriter rows = writer_at(c, c.placed.p_b, g);
  rows.linear(across, across.dot(off));
  rows.linear(other, other.dot(off));
  if (has_active_axis(c.joint)) rows.linear_axis(along, curve.way(u));
}

/// Along and about the axes of A; deflections are small, as a bushing's are.
void bushing_rows(const Context& c, JointGeometry& g) {
  const Quat q_a = frame_rotation(c.joint, c.at, 0);
  const Mat3 a = q_a.toRotationMatrix();
  const Vec3 turn = rotation_vector(frame_rotation(c.joint, c.at, 1) * q_a.conjugate());
  const Bushing& law = c.model.bushings[c.joint.law];
  RowWriter rows = writer_at(c, c.placed.p_b, g);
  g.spring = true;
  for (std::size_t k = 0; k < 6; ++k) {
    const double stiffness = law.stiffness[k], damping = law.damping[k];
    if (!(stiffness > 0.0 || damping > 0.0)) continue;
    const Vec3 n = a.col(to_index(k % 3));
    if (k >= 3)
      rows.angular(n, n.dot(turn), !(stiffness > 0.0));
    else if (stiffness > 0.0)
      rows.linear(n, n.dot(c.placed.d));
    else
      rows.sliding(n);
    rows.spring(stiffness, damping);
  }
}

/// Two rows across n for the block's end.
void rows_across(const Context& c, const Vec3& n, RowWriter& rows, JointGeometry& g) {
  const JointAxis& axis = c.joint.axis[0];
  if (axis.motor != MotorKind::none) return;
  const Vec3 across = n.unitOrthogonal();
  rows.linear(across, 0.0);
  rows.linear(n.cross(across), 0.0);
  g.rows -= 2;
  g.across = 2;
}

/// distance and spring. Where both points coincide the direction is z_A.
void distance_rows(const Context& c, JointGeometry& g) {
  const bool spring = c.joint.type == JointType::spring;
  const double distance = c.placed.d.norm();
  const Vec3 n = distance > 0.0 ? Vec3(c.placed.d / distance)
                                : Vec3(frame_rotation(c.joint, c.at, 0) * Vec3::UnitZ());
  RowWriter rows = writer_at(c, middle(c.placed), g);
  g.spring = spring;
  if (!spring || c.joint.stiffness > 0.0) {
    rows.linear(n, distance - c.joint.length);
    if (!spring) rows_across(c, n, rows, g);
  } else if (c.joint.damping > 0.0) {
    rows.sliding(n);
  }
  if (spring && g.rows > 0) rows.spring(c.joint.stiffness, c.joint.damping);
  if (has_active_axis(c.joint)) rows.linear_axis(n, distance);
}

/// The slack, length - |d|, and its rate. Where both points coincide the direction is z_A.
void rope_rows(const Context& c, JointGeometry& g) {
  const double distance = c.placed.d.norm();
  const Vec3 n = distance > 0.0 ? Vec3(c.placed.d / distance)
                                : Vec3(frame_rotation(c.joint, c.at, 0) * Vec3::UnitZ());
  RowWriter rows = writer_at(c, middle(c.placed), g);
  g.unilateral = true;
  rows.linear(-n, (is_winch(c.joint) ? c.angle[0] : c.joint.length) - distance);
  rows_across(c, n, rows, g);
}

/// The slack, length less the way over all points, and its rate.
void tendon_rows(const Context& c, JointGeometry& g) {
  const TendonWay way = tendon_way(c.joint, c.at, c.model);
  g.unilateral = true;
  g.rows = 1;
  g.misfit[0] = (is_winch(c.joint) ? c.angle[0] : c.joint.length) - way.length;
  g.angular[0] = g.velocity[0] = false;
  for (std::size_t b = 0; b < kJointBodies; ++b)
    for (std::size_t k = 0; k < 6; ++k) g.jacobian[b][0][k] = -way.row[b][k];
}

void torsion_spring_rows(const Context& c, JointGeometry& g) {
  const Vec3 z_a = frame_rotation(c.joint, c.at, 0) * Vec3::UnitZ();
  RowWriter rows = writer_at(c, middle(c.placed), g);
  g.spring = true;
  const double angle = first_angle(c);
  if (c.joint.stiffness > 0.0) {
    rows.angular(z_a, angle - c.joint.length);
  } else if (c.joint.damping > 0.0) {
    rows.angular(z_a, 0.0, true);
  }
  if (g.rows > 0) rows.spring(c.joint.stiffness, c.joint.damping);
  if (has_active_axis(c.joint)) rows.angular_axis(z_a, angle);
}

/// u = z_A . (w_a - w_c) + ratio z_B . (w_b - w_c); of a belt that times the
/// radius of a's pulley.
void gear_rows(const Context& c, JointGeometry& g) {
  const bool belt = c.joint.type == JointType::belt;
  const double scale = belt ? c.joint.length : 1.0;
  Vec3 turn_a = scale * (frame_rotation(c.joint, c.at, 0) * Vec3::UnitZ());
  Vec3 turn_b = scale * c.joint.ratio * (frame_rotation(c.joint, c.at, 1) * Vec3::UnitZ());
  if (c.model.planar) {
    turn_a = Vec3(0.0, turn_a.y(), 0.0);
    turn_b = Vec3(0.0, turn_b.y(), 0.0);
  }
  const Vec3 turn_c = -(turn_a + turn_b);
  const std::array<double, 2> angle = joint_angles(c.joint, c.at, c.angle, c.model);
  g.rows = 1;
  g.misfit[0] = scale * (angle[0] + c.joint.ratio * angle[1]);
  g.angular[0] = !belt;
  g.velocity[0] = false;
  g.jacobian[0][0] = {0.0, 0.0, 0.0, turn_a.x(), turn_a.y(), turn_a.z()};
  g.jacobian[1][0] = {0.0, 0.0, 0.0, turn_b.x(), turn_b.y(), turn_b.z()};
  g.jacobian[2][0] = {0.0, 0.0, 0.0, turn_c.x(), turn_c.y(), turn_c.z()};
}

/// The wheel's lowest point is p_B + R m, m the direction in the wheel's plane that leads down most
/// steeply; as m is stationary, the velocity of the wheel's matter there is the rate of the height.
void rolling_rows(const Context& c, JointGeometry& g) {
  const Mat3 a = frame_rotation(c.joint, c.at, 0).toRotationMatrix();
  const Vec3 n = a.col(2);
  const Vec3 axle = frame_rotation(c.joint, c.at, 1) * Vec3::UnitZ();
  const Vec3 across = n - n.dot(axle) * axle;
  const double steepness = across.norm();
  // lying flat, a wheel has no lowest point: any point of its rim
  const Vec3 up = steepness > 0.0 ? Vec3(across / steepness) : Vec3(a.col(0));
  const Vec3 forward = axle.cross(up);  // lies in the plane, as n does in that of axle and up
  RowWriter rows = writer_at(c, c.placed.p_b - c.joint.length * up, g);
  rows.linear(n, n.dot(c.placed.d) - c.joint.length * steepness);
  rows.sliding(forward);
  rows.sliding(n.cross(forward));
}

void knife_edge_rows(const Context& c, JointGeometry& g) {
  RowWriter rows = writer_at(c, c.placed.p_b, g);
  rows.sliding(frame_rotation(c.joint, c.at, 1) * Vec3::UnitY());
}

}  // namespace

int joint_axes(JointType type) {
  switch (type) {
    case JointType::cylindrical:
    case JointType::universal:
      return 2;
    case JointType::revolute:
    case JointType::prismatic:
    case JointType::planar:
    case JointType::point_on_line:
    case JointType::point_on_curve:
    case JointType::distance:
    case JointType::spring:
    case JointType::torsion_spring:
    case JointType::screw:
    case JointType::cam:
      return 1;
    case JointType::fixed:
    case JointType::spherical:
    case JointType::rope:
    case JointType::tendon:
    case JointType::bushing:
    case JointType::rack:
    case JointType::gear:
    case JointType::belt:
    case JointType::knife_edge:
    case JointType::rolling:
      break;
  }
  return 0;
}

JointGeometry joint_geometry(const JointConstants& joint, const JointPoses& at,
                             const std::array<double, 2>& angle, const Model& model) {
  JointGeometry g;
  const Context c{joint, at, angle, model, place_joint(joint, at, model)};
  switch (joint.type) {
    case JointType::fixed:
      fixed_rows(c, g);
      break;
    case JointType::spherical:
      writer_at(c, middle(c.placed), g).point(c.placed.d);
      break;
    case JointType::revolute:
      revolute_rows(c, g);
      break;
    case JointType::universal:
      universal_rows(c, g);
      break;
    case JointType::prismatic:
    case JointType::cylindrical:
    case JointType::planar:
    case JointType::point_on_line:
      sliding_rows(c, g);
      break;
    case JointType::distance:
    case JointType::spring:
      distance_rows(c, g);
      break;
    case JointType::rope:
      rope_rows(c, g);
      break;
    case JointType::torsion_spring:
      torsion_spring_rows(c, g);
      break;
    case JointType::gear:
    case JointType::belt:
      gear_rows(c, g);
      break;
    case JointType::bushing:
      bushing_rows(c, g);
      break;
    case JointType::screw:
      screw_rows(c, g);
      break;
    case JointType::rack:
      rack_rows(c, g);
      break;
    case JointType::cam:
      cam_rows(c, g);
      break;
    case JointType::point_on_curve:
      curve_rows(c, g);
      break;
    case JointType::tendon:
      tendon_rows(c, g);
      break;
    case JointType::rolling:
      rolling_rows(c, g);
      break;
    case JointType::knife_edge:
      knife_edge_rows(c, g);
      break;
  }
  return g;
}

}  // namespace catena
