// What a case says of joints, forces, and of chains and nets of bodies.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "catena/base/settings.hpp"
#include "catena/math/types.hpp"
#include "catena/model/joint.hpp"
#include "catena/scenarios/shape_settings.hpp"

namespace catena {

/// What the rows of a table are: factors of something else, or a motor's target itself.
enum class TableValues : std::uint8_t { factor, position, velocity, force };

/// A number over time: from a CSV file with the columns t, value, or here.
struct FactorSettings {
  bool present = false;
  std::string file;          ///< absolute after reading a case; or empty
  std::vector<double> rows;  ///< t (s), value; ascending in t
  TableValues values = TableValues::factor;
  /// Not given: monotone for positions, linear for factors and velocities.
  std::optional<Interpolation> interpolation;
  Interpolation interpolation_or_default() const;
};

/// Motor along one coordinate of a joint: exactly one of velocity, position, force, a table of one
/// of them, and a force over speed is given.
struct MotorSettings {
  bool present = false;
  double velocity = kNone;      ///< m/s or rad/s
  double position = kNone;      ///< m or rad
  double force = kNone;         ///< N or N m
  FactorSettings table;         ///< of velocity or position, or in their place
  double max_force = kNone;     ///< N or N m; kNone: no bound
  double viscosity = kNone;     ///< velocity: N s/m or N m s; kNone: held exactly
  double compliance = kNone;    ///< position: m/N or rad/(N m); kNone: 0
  double damping_time = kNone;  ///< position: s; kNone: 2 h
  /// Rows of speed (m/s or rad/s) and force (N or N m).
  FactorSettings force_over_speed;

  bool drives_velocity() const {
    return !std::isnan(velocity) || (table.present && table.values == TableValues::velocity);
  }
  bool gives_force() const {
    return !std::isnan(force) || force_over_speed.present ||
           (table.present && table.values == TableValues::force);
  }
};

/// What acts along one coordinate of a joint; numbers that are not given are kNone.
struct AxisSettings {
  std::array<double, 2> limits = {kNone, kNone};
  double restitution = kNone;
  MotorSettings motor;
  double friction = kNone;  ///< N or N m
};

/// Loads above which a joint breaks; kNone: never.
struct BreakSettings {
  double force = kNone, torque = kNone, energy = kNone;  ///< N, N m, J
  double tension = kNone, shear = kNone;                 ///< of bonds, N
  bool given() const;
};

/// Lift of a cam's follower over its angle: in the table's rows t is the angle, rad.
struct LiftSettings {
  FactorSettings table;
  std::string place;
};

/// A curve through points.
struct CurveSettings {
  bool present = false;
  std::string file;            ///< absolute after reading a case; or empty
  std::vector<double> points;  ///< x, y, z of each, m, world frame at the start
  bool closed = false;
  std::string place;
};

/// What a tendon runs over: a point of a body, m, world frame at the start.
struct TendonPointSettings {
  std::string body;
  Vec3 at = Vec3::Constant(kNone);
};

/// One of `joints:`. Numbers that are not given are kNone: their defaults depend on the type.
struct JointSettings {
  std::string name, place;  ///< place: file, line, column and path, for errors
  JointType type = JointType::revolute;
  std::vector<std::string> between;  ///< two bodies, or a body and "world"; belt: two or more
  std::vector<double> at;            ///< one point or two, m, world frame at the start
  Vec3 axis = Vec3::Constant(kNone), axis_b = Vec3::Constant(kNone);
  double compliance = kNone, angular_compliance = kNone, damping_time = kNone;
  double erp = kNone, cfm = kNone;
  BreakSettings breaking;
  bool collide = false;
  double length = kNone, radius = kNone, ratio = kNone;
  double pitch = kNone, thread_friction = kNone;  ///< screw: m per turn
  std::vector<double> radii;                      ///< belt: of each of `between`, m
  bool crossed = false;                           ///< belt of two pulleys
  std::vector<std::string> reversed;              ///< belt of more: those of `between`
  /// bushing: along and about x, y, z of its axes, N/m and N m; N s/m and N m
  /// s.
  std::array<double, 3> stiffness = {kNone, kNone, kNone}, angular_stiffness = stiffness;
  std::array<double, 3> damping = stiffness, angular_damping = stiffness;
  LiftSettings lift;                         ///< cam
  bool lift_off = false;                     ///< cam: it only pushes
  CurveSettings curve;                       ///< point_on_curve
  std::vector<TendonPointSettings> through;  ///< tendon
  std::string carrier;
  AxisSettings first;
  bool has_second = false;
  AxisSettings second;
};

/// Kinds of entries of `forces:`.
enum class ForceType { spring, damper, torsional_spring, force, torque };

/// One of `forces:`.
struct ForceSettings {
  std::string name, place;
  ForceType type = ForceType::spring;
  std::vector<std::string> between;  ///< of springs and dampers
  std::string body;                  ///< of forces and torques
  std::vector<double> at;
  Vec3 axis = Vec3::Constant(kNone);
  double stiffness = kNone, damping = kNone, length = kNone, angle = kNone;
  Vec3 force = Vec3::Constant(kNone), torque = Vec3::Constant(kNone);
  bool body_frame = false;
  FactorSettings table;
};

/// What generators of bodies and joints say of the joints.
struct ChainJointSettings {
  double compliance = kNone, angular_compliance = kNone, damping_time = kNone;
  double friction = kNone;  ///< revolute, universal: N m
  BreakSettings breaking;
  bool collide = false;  ///< whether neighbours make contacts
};

/// Which ends of a chain are held.
enum class ChainAnchors { none, first, last, both };
/// How a chain lies at the start.
enum class ChainPath { straight, polyline, catenary, curl };

/// Where the joints of a chain stand, m: links + 1 points (those of a closed chain: links), all
/// links equally long.
struct ChainPathSettings {
  ChainPath kind = ChainPath::straight;
  Vec3 from = Vec3::Constant(kNone), to = Vec3::Constant(kNone);  ///< straight, catenary
  std::vector<double> path;                                       ///< polyline: x, y, z of corners
  double length = kNone;                                          ///< catenary, curl: of the chain
  Vec3 centre = Vec3::Zero(), axis = Vec3::UnitZ();               ///< curl
  double radius = kNone, pitch = 0.0;                             ///< curl
  bool closed = false;                                            ///< polyline
};

/// Bodies joined in a row (docs/configuration.md, "Joints").
struct ChainSettings {
  std::string name, material;  ///< material: needed where there is a shape
  ShapeSettings shape;
  int links = 0;
  JointType joint = JointType::spherical;
  ChainPathSettings path;
  ChainAnchors anchored = ChainAnchors::none;  ///< which ends are joined to the world
  Vec3 axis = Vec3::Constant(kNone);           ///< of revolute and universal joints
  double mass = kNone;                         ///< kg, of a link; else of its shape
  Vec3 inertia = Vec3::Constant(kNone);        ///< kg m^2, on the axes of the shape
  /// In the frame of the shape, whose origin is then half-way between the joints, m; kNone: of the
  /// uniform shape, and half-way itself.
  Vec3 centre_of_mass = Vec3::Constant(kNone);
  Vec3 velocity = Vec3::Zero();  ///< m/s, of all links at the start
  /// Besides, the whole chain turns like a rigid body about a point, rad/s and m, world frame.
  Vec3 angular_velocity = Vec3::Zero(), about = Vec3::Zero();
  ChainJointSettings joints;
};

/// Which knots of a net are held.
enum class NetAnchors { none, corners, edge, all };

/// count[0] * count[1] bodies (knots) in a plane, x fastest, each joined to its neighbours along
/// both directions by cords of fixed (distance) or largest length (rope), or by arms that meet
/// half-way (spherical).
struct NetSettings {
  std::string name, material;
  ShapeSettings shape;
  std::array<int, 2> count = {2, 2};
  Vec3 from = Vec3::Zero();                ///< first knot, m
  std::vector<double> spacing;             ///< two vectors, m
  JointType joint = JointType::distance;   ///< or rope, spherical
  NetAnchors anchored = NetAnchors::none;  ///< knots that are joined to the world
  ChainJointSettings joints;
};

/// Knots in levels: a root, `branching` knots that hang on it, as many on each of these, and so on;
/// level by level from the root, each joined to the one it hangs on by a cord of fixed (distance)
/// or largest length (rope), or by arms (spherical).
struct TreeSettings {
  std::string name, material;
  ShapeSettings shape;
  int branching = 2;
  int levels = 1;                         ///< below the root
  Vec3 from = Vec3::Zero();               ///< the root, m
  Vec3 drop = Vec3::Constant(kNone);      ///< from level to level, m
  Vec3 spread = Vec3::Zero();             ///< from leaf to leaf, m
  JointType joint = JointType::distance;  ///< or rope, spherical
  bool anchored = false;                  ///< the root is joined to the world
  ChainJointSettings joints;
};

/// Joints between bodies that lie closer to each other than a gap when the run begins.
struct BondSettings {
  std::string name;
  /// Bodies and generators: pairs within one of them, or between two; of all those named.
  std::vector<std::string> between;
  double gap = kNone;                  ///< m
  JointType joint = JointType::fixed;  ///< or spherical
  ChainJointSettings joints;           ///< compliances > 0: a body may have many bonds
};

}  // namespace catena
