// From poses to the rows of a joint: Jacobians, misfits, coordinates, and the step's right-hand
// side.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "catena/constraints/constraint_problem.hpp"
#include "catena/constraints/contact_rows.hpp"
#include "catena/model/joint.hpp"
#include "catena/model/model.hpp"

namespace catena {

/// Where a joint's bodies are: a, b, carrier. A body that is the world, or that the joint has not,
/// has the identity pose and no motion.
struct JointPoses {
  std::array<Pose, kJointBodies> pose;
  std::array<Twist, kJointBodies> twist;  ///< V0: before the step, prescribed bodies: mean over it
};

/// Geometry of a joint's rows at given poses. Row i: u_i = sum over bodies j of
/// jacobian[j][i] . (v_j, w_j), b's motion relative to a.
///
/// The impulses of all linear rows act at one point common to both bodies, and couples are equal
/// and opposite, so momenta are kept to round-off whatever the misfit: at the middle of p_A and
/// p_B, or, where B slides along A's axes (prismatic, cylindrical, planar, point_on_line), at p_B;
/// then the row is the exact rate of its misfit. Of a wheel it is its lowest point, of a knife edge
/// p_B. In planar motion (Model::planar) arms have no y, and rows that cannot move have no misfit.
///
/// Directions of the rows: world axes where d = 0 and orientations agree, x_A and y_A across an
/// axis z_A; angular misfits are parts of the rotation vector that leads from A to B (from z_A to
/// z_B). Coordinates are evaluated only if one of the joint's axes has a limit, motor or friction.
/// Rows and axes beyond `rows` and `axes` are not set.
struct JointGeometry {
  using Row = std::array<double, 6>;
  int rows = 0;             ///< of the bilateral block, without motors
  bool spring = false;      ///< the row is a spring's: its misfit is a deflection, not an error
  bool unilateral = false;  ///< the row's misfit, a rope's slack, is an error below 0 only
  int across = 0;  ///< rows behind these across a rod or rope, without misfits (JointStep::across)
  std::array<double, kJointRows> misfit;  ///< g, m or rad; 0 for velocity rows
  /// Of a spring's rows: N/m, N s/m (N m, N m s); a velocity row has damping
  /// alone.
  std::array<double, kJointRows> stiffness, damping;
  std::array<bool, kJointRows> angular;   ///< whether the row's velocity is in rad/s
  std::array<bool, kJointRows> velocity;  ///< row without a position: nonholonomic, or a damper
  std::array<std::array<Row, kJointRows>, kJointBodies> jacobian;
  int axes = 0;                               ///< coordinates with limits, motors, friction
  std::array<double, kJointAxes> coordinate;  ///< m, or rad unwrapped by JointState::angle
  std::array<bool, kJointAxes> axis_angular;
  std::array<std::array<Row, kJointAxes>, kJointBodies> axis_jacobian;
  /// A row besides that dry friction acts along, in proportion to the impulse
  /// of row `loaded_row`: the slip of a screw's thread.
  bool has_slip = false;
  int loaded_row = 0;
  std::array<Row, kJointBodies> slip_jacobian;
};

/// How many axes of a joint can have limits, a motor and friction, in the order of its coordinates:
/// revolute, prismatic, planar (x), point_on_line, point_on_curve, distance, screw and springs 1,
/// cylindrical and universal 2, others none. Of a cam it is the gap, for its limit alone.
int joint_axes(JointType type);

/// Turns the frames of a gear or belt about their z so that both of its angles are 0 at these
/// poses, which are those at the start: its row holds angle of a + ratio * angle of b = 0.
void zero_gear_angles(JointConstants& gear, const JointPoses& at);

/// Rows of `joint` at the poses; `angle` are JointState's unwrapped angles at these poses or up to
/// half a turn away. In a periodic box b is taken in the image in which p_B is nearest to p_A.
JointGeometry joint_geometry(const JointConstants& joint, const JointPoses& at,
                             const std::array<double, 2>& angle, const Model& model);

/// JointState::angle of a joint that is made at these poses.
std::array<double, 2> start_angles(const JointConstants& joint, const JointPoses& at,
                                   const Model& model);

/// The unwrapped angles after the bodies have moved by up to half a turn. Revolute, cylindrical,
/// planar, screw, rack, torsion_spring: of B about z_A, from x_A. Universal: from x_A to z_B about
/// z_A, and from z_A to x_B about z_B (both 0 where x_A = z_B and x_B = z_A). Gear, belt: of A
/// about z_A and of B about z_B, relative to the carrier. Cam: of A about z_A against B. Of a point
/// on a curve the parameter of the curve's nearest point. Others have none: `before` is returned.
std::array<double, 2> joint_angles(const JointConstants& joint, const JointPoses& at,
                                   const std::array<double, 2>& before, const Model& model);

/// All coordinates of a joint for output, up to three; NaN where it has fewer: as listed at
/// JointType; spherical: the rotation vector of B relative to A on A's axes; gear, belt: both
/// angles; spring: |d|; screw: angle and displacement; rack: displacement and angle; bushing: d on
/// A's axes; cam: displacement, angle, and the gap between follower and cam; point_on_curve: the
/// way along the curve; tendon: its way's length.
std::array<double, 3> joint_coordinates(const JointConstants& joint, const JointPoses& at,
                                        const std::array<double, 2>& angle, const Model& model);

/// Rates of these by the twists, m/s or rad/s, where the joint's equations hold; spherical: the
/// angular velocity of B relative to A on A's axes. `angle` as for the coordinates.
std::array<double, 3> joint_rates(const JointConstants& joint, const JointPoses& at,
                                  const std::array<double, 2>& angle, const Model& model);

/// By how much a rigid row misses its position, m or rad; 0 for a slack rope.
double rigid_misfit(const JointGeometry& geometry, std::size_t row);

/// Largest misfits of the position rows: linear ones, m, and angular ones, rad. Springs have none.
struct JointMisfit {
  double linear = 0.0, angular = 0.0;
};
/// Largest misfits of a joint: linear, m, and angular, rad.
JointMisfit joint_misfit(const JointGeometry& geometry);

/// What one general block of a joint is.
enum class JointRowKind : std::uint8_t { rows, limit, motor, friction, rope, thread };

/// Where the blocks of a joint stand in the problem.
struct JointBlockRef {
  Index joint;  ///< of Bodies::joints
  JointRowKind part;
  std::uint8_t axis;  ///< of limit, motor and friction
};

/// What the step is: for bias and compliance of joint rows.
struct JointStep {
  StepperKind kind = StepperKind::spook;
  double time = 0.0;    ///< s, at the start
  double h = 0.0;       ///< s
  bool across = false;  ///< whether rods and ropes get their rows across, at rest (Cords)
};

/// By how much a winch's rope of length `now` becomes longer in the step, m.
double winch_way(const JointConstants& joint, const Model& model, double now,
                 const JointStep& step);

/// Poses and twists of a and b where they are kept (JointPoses), and what is known of them.
struct PlainJointPoses {
  std::array<const Pose*, 2> pose;
  std::array<const Twist*, 2> twist;
};

/// Appends the general blocks of joints and says which they are in `made`, of each joint in this
/// order:
///
///   rows      bilateral, unless it has none: its rows, then one row for each motor without bound
///             (6 at most); springs are rows with compliance
///             (with JointStep::across, of rods and ropes: then two rows across that Cords fills
///             in)
///   rope      unilateral, of a rope or tendon: its row once more. One of both blocks is for the
///             solver (Cords): the bilateral one while the rope is taut, so that the load on it is
///             solved exactly
///   limit     unilateral, for each axis with a limit that may be reached within the step: that of
///             lower and upper which is nearer
///   motor     boxed, |lambda| <= h max_force, for each motor with a bound
///   friction  boxed, |lambda| <= h friction, w = u
///   thread    boxed, along the slip of a screw's thread, |lambda| <= friction
///   |lambda of the
///             coupling's row in the last step|
///
/// SPOOK rows (docs/theory.md, "Joints"): Sigma = 4 eps Upsilon/h^2,
/// q = -(4/h) Upsilon g + Upsilon G V0, Upsilon = 1/(1 + 4 tau/h); limits the same with their
/// distance for g and as contacts do it for a distance > 0 (w = u + g/h) and restitution; ropes and
/// tendons as limits, with their slack. dvi: Sigma = eps/(h (h + tau)), q = -g/(h + tau), where the
/// default of tau is 0. ODE's form, with both: Sigma = cfm/h, q = -erp g/h. Velocity rows: q = the
/// prescribed velocity, Sigma = 1/(h c) with c their viscous coefficient, or 0. Position motors: g
/// = coordinate - target(t), to q comes the target's mean velocity over the step, and V0 counts
/// relative to that over the step before.
///
/// A limit may be reached within the step if its distance is at most 2 h |u0| + 2 h^2 |gravity|
/// + contact margin (0.05 rad in place of the last two where it is an angle).
///
/// name of the blocks: the joint's id.
class JointBlockWriter {
 public:
  explicit JointBlockWriter(const Model& model);
  ~JointBlockWriter();

  /// Before the blocks of a step. All must outlive it.
  void start(const JointStep& step, GeneralBlocks& blocks, std::vector<JointBlockRef>& made);

  /// Makes room for all that these joints may need, so that adding them looks after none.
  void begin(std::span<const JointConstants> joints);
  /// The next of them. `body` are local bodies with 6 velocities (kNoIndex: the world); prescribed
  /// bodies keep their Jacobian, their velocity counts in u. `last` is the
  /// joint's state, with the last step's impulses. Returns how many entries `made` then has.
  std::size_t add(const JointConstants& joint, const JointState& last,
                  const JointGeometry& geometry, const JointPoses& at,
                  const std::array<Index, kJointBodies>& body, Index joint_index);
  /// Whether the next is for add_plain(): a spherical joint or a revolute one without limits, motor
  /// and friction, in space without periods, and not of ODE's form.
  bool is_plain(const JointConstants& joint) const;
  /// What add(), joint_geometry() and joint_misfit() do together, at once.
  std::size_t add_plain(const JointConstants& joint, const PlainJointPoses& at,
                        const std::array<Index, kJointBodies>& body, Index joint_index,
                        JointMisfit& misfit);
  /// Takes back the room that was not needed: the blocks are whole again.
  void end();

  struct Impl;

 private:
  const Model& model_;
  std::unique_ptr<std::optional<Impl>> impl_;  ///< made anew in its place for every step
};

}  // namespace catena
