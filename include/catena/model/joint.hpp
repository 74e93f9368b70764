// Joints, springs and applied forces: what is constant of them, and what changes.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "catena/base/index.hpp"
#include "catena/math/types.hpp"
#include "catena/model/table.hpp"

namespace catena {

/// Kinds of joints. Frame A is fixed in body a (or the world), frame B in body b; z_A, x_A are axes
/// of frame A, d = p_B - p_A leads from the origin of A to that of B. Rows, in this order
/// (docs/theory.md, "Joints"):
///
///   fixed          d = 0 (3), orientation of B = that of A (3)
///   spherical      d = 0 (3)
///   revolute       d = 0 (3), z_B = z_A (2)                       coordinate: angle
///   prismatic      d along z_A (2), orientation equal (3)         coordinate: displacement
///   cylindrical    d along z_A (2), z_B = z_A (2)                 coordinates: displacement, angle
///   universal      d = 0 (3), z_A . z_B = 0 (1)             coordinates: angles about z_A and z_B
///   planar         z_A . d = 0 (1), z_B = z_A (2)                 coordinates: x, y, angle
///   point_on_line  d along z_A (2)                                coordinate: displacement
///   distance       |d| = length (1)                               coordinate: |d|
///   gear           angle of a about z_A + ratio * angle of b about z_B = its value at the start
///                  (1); angles relative to the carrier            coordinates: both angles
///   knife_edge     velocity of B's origin relative to a along y_B = 0 (1, nonholonomic)
///   rolling        wheel b about z_B with radius `length` on the plane z_A = 0 of a: height of its
///                  lowest point = 0 (1), that point does not slip (2, nonholonomic)
///   rope           |d| <= length (1, unilateral): it pulls, never pushes     coordinate: |d|
///                  with a motor, a winch's, the length is JointState::angle[0]
///   bushing        forces and couples against d and the rotation vector from A to B, on the axes
///   of
///                  A, each with a stiffness and damping of its own (Bushing; as many rows as have
///                  one, compliant)
///   screw          as cylindrical, with displacement = ratio * angle (5); coordinate: angle
///   rack           pinion a about z_A with pitch radius `length`, rack b along x_B, side by side:
///                  x_B . d = length * angle of b about z_A (1)
///   belt           length (angle of a about z_A + ratio * angle of b about z_B) = its value at the
///                  start (1), m; angles relative to the carrier   coordinates: both angles
///   cam            cam a about z_A, follower b along x_B: x_B . d = lift(angle of a about z_A
///                  against b) (1), or >= (unilateral: a limit)  coordinates: x_B . d, angle, gap
///   point_on_curve p_B on a curve that is fixed in A, of which frame A has the origin (2)
///                  coordinate: way along the curve, m
///   tendon         length of the way over points of several bodies <= length (1, unilateral);
///                  coordinate: that length; with a motor as a rope
///   spring         force -stiffness (|d| - length) - damping d|d|/dt along d (1, compliant)
///   torsion_spring the same for the angle of B about z_A (1); coordinate: angle
enum class JointType : std::uint8_t {
  fixed,
  spherical,
  revolute,
  prismatic,
  cylindrical,
  universal,
  planar,
  point_on_line,
  distance,
  gear,
  knife_edge,
  rolling,
  rope,
  bushing,
  screw,
  rack,
  belt,
  cam,
  point_on_curve,
  tendon,
  spring,
  torsion_spring
};

/// What a motor makes of its target: the coordinate's velocity or value, or its
/// own force.
enum class MotorKind : std::uint8_t { none, velocity, position, force };

/// What acts along one coordinate of a joint (the first, or the second of cylindrical and
/// universal). Forces in N, or N m where the coordinate is an angle.
struct JointAxis {
  double lower = -std::numeric_limits<double>::infinity();  ///< m or rad
  double upper = std::numeric_limits<double>::infinity();
  double restitution = 0.0;  ///< at the limits
  MotorKind motor = MotorKind::none;
  /// Velocity (m/s, rad/s), position (m, rad) or force (N, N m) of the motor.
  double target = 0.0;
  int table = -1;  ///< index into Model::tables: the target over time, in place of `target`
  /// The same: force over the coordinate's speed (m/s, rad/s), of a motor of a force, whose target
  /// is a factor then.
  int speed_table = -1;
  double max_force = std::numeric_limits<double>::infinity();  ///< of the motor
  double motor_compliance = 0.0;  ///< position: m/N or rad/(N m); velocity: 1/viscous coefficient
  double motor_damping_time = kTwoSteps;     ///< s, position motors
  double friction = 0.0;                     ///< bound of the friction force
  static constexpr double kTwoSteps = -1.0;  ///< damping time 2 h

  bool limited() const {
    return lower > -std::numeric_limits<double>::infinity() ||
           upper < std::numeric_limits<double>::infinity();
  }
};

inline constexpr std::size_t kJointRows = 6;    ///< of the bilateral block at most
inline constexpr std::size_t kJointAxes = 2;    ///< coordinates with limits, motor and friction
inline constexpr std::size_t kJointBodies = 3;  ///< a, b and the carrier of a gear, or a third

/// Constant data of one joint, plain data that travels between ranks.
struct JointConstants {
  GlobalId id = kNoBody;  ///< of joints: their own numbering, 0 .. n-1 over all ranks
  /// a, b, carrier of a gear or third body of a tendon; kNoBody: the world (its frame is then in
  /// world coordinates).
  std::array<GlobalId, kJointBodies> body = {kNoBody, kNoBody, kNoBody};
  JointType type = JointType::spherical;
  bool collide = false;  ///< whether a and b may make contacts
  /// Frames A, B: origin from the centre of mass, m, and axes, in the body frame (principal axes)
  /// of a, b.
  std::array<Pose, 2> frame;
  /// Distance, rope, tendon, spring: m; rolling, rack: radius, m; belt: radius of a's pulley, m;
  /// screw: mean radius of the thread, m; torsion_spring: angle, rad.
  double length = 0.0;
  double ratio = 1.0;            ///< gear, belt; screw: m/rad
  double thread_friction = 0.0;  ///< screw: Coulomb's coefficient
  /// Index into bushings, tables (lift of a cam over its angle, rad), curves or tendons of Model.
  int law = -1;
  int breaking = -1;                           ///< index into Model::break_limits; -1: never breaks
  double stiffness = 0.0, damping = 0.0;       ///< springs: N/m, N s/m (N m/rad, N m s/rad)
  double compliance = 0.0;                     ///< of linear rows, m/N
  double angular_compliance = 0.0;             ///< of angular rows, rad/(N m)
  double damping_time = JointAxis::kTwoSteps;  ///< tau of SPOOK, s
  /// ODE's error reduction: rows with q = -(4/h) Upsilon g without Upsilon G V0.
  double erp = kNotOde, cfm = 0.0;  ///< then compliance and damping_time are not used
  std::array<JointAxis, kJointAxes> axis;
  static constexpr double kNotOde = -1.0;
};

/// What changes of one joint besides its bodies.
struct JointState {
  /// The last step's impulses: rows of the bilateral block in its order, N s (N m s); the rest
  /// zero.
  std::array<double, kJointRows> impulse{};
  /// Per axis: of limit, motor and friction.
  std::array<std::array<double, 3>, kJointAxes> drive{};
  /// Unwrapped angles (over many turns) where the joint has them: of its first and second angle
  /// (gear, belt: of a and b; cam: of a against b), rad, at the present pose. Of a winch's rope or
  /// tendon its length, m; of a point on a curve its parameter there (Curve).
  std::array<double, 2> angle{};
  /// Work of rigid passive joints done on the bodies, J, over the last steps (kWorkWindow), older
  /// ones counting less.
  double work = 0.0;
};

/// Steps after which JointState::work has forgotten all but 1/e of a step.
inline constexpr double kWorkWindow = 50.0;

/// Stiffnesses and dampings of a bushing along and about x, y, z of frame A:
/// N/m, N s/m, then N m, N m s (per rad).
struct Bushing {
  std::array<double, 6> stiffness{}, damping{};
};

/// What a joint bears: it breaks after the first step whose mean load, or whose energy at its end,
/// is above one of these.
struct BreakLimits {
  static constexpr double kNone = std::numeric_limits<double>::infinity();
  double force = kNone;   ///< of the joint on b, N
  double torque = kNone;  ///< of the joint on b about its point there, N m
  double energy = kNone;  ///< stored in its compliances, J
  /// Of bonds, N: of the force along z of the joint's frames where it pulls, and across z.
  double tension = kNone, shear = kNone;
};

/// A joint that broke, by the mean load of the step that did it and the energy at its end.
struct BrokenJoint {
  GlobalId joint = kNoBody;
  std::int64_t step = 0;                           ///< at whose end it broke
  double time = 0.0;                               ///< the same, s
  double force = 0.0, torque = 0.0, energy = 0.0;  ///< N, N m, J (BreakLimits)
};

/// What a tendon runs over: points of its bodies, in their order.
struct Tendon {
  /// One of the points, in its body's frame.
  struct Point {
    int body = -1;  ///< which of JointConstants::body; -1: the world
    Vec3 p;         ///< from the centre of mass, body frame, m; of the world: where it is
  };
  std::vector<Point> points;  ///< two at least
};

/// Whether it only pulls.
inline bool is_rope(JointType type) { return type == JointType::rope || type == JointType::tendon; }

/// Whether the joint is a rope or tendon whose length a motor changes.
inline bool is_winch(const JointConstants& joint) {
  return is_rope(joint.type) && joint.axis[0].motor != MotorKind::none;
}

/// Whether a third body may belong to the joint.
inline bool has_third_body(JointType type) {
  return type == JointType::gear || type == JointType::belt || type == JointType::tendon;
}

/// A given force and torque on one body.
struct AppliedForce {
  std::string name;
  GlobalId body = kNoBody;
  bool body_frame = false;     ///< force and torque turn with the body; else world frame
  Vec3 force = Vec3::Zero();   ///< N
  Vec3 torque = Vec3::Zero();  ///< N m
  Vec3 at = Vec3::Zero();      ///< where the force acts, from the centre of mass, body frame, m
  int table = -1;              ///< index into Model::tables: factor over time
};

/// The body whose owner holds a joint: b if it is dynamic, else a (`dynamic_b` of b).
inline GlobalId joint_home(const JointConstants& joint, bool dynamic_b) {
  return dynamic_b ? joint.body[1] : joint.body[0];
}

}  // namespace catena
