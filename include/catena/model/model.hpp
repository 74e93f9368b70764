// What is constant in a run: materials, gravity, contact parameters, prescribed
// motions, names; and the constant data of bodies.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "catena/base/index.hpp"
#include "catena/math/types.hpp"
#include "catena/model/curve.hpp"
#include "catena/model/geometry.hpp"
#include "catena/model/joint.hpp"
#include "catena/model/material.hpp"
#include "catena/model/periodic_box.hpp"
#include "catena/model/shape.hpp"
#include "catena/model/table.hpp"

namespace catena {

/// What decides where a body is: forces and constraints (dynamic), nothing (fixed: it stays where
/// it starts), or its Motion (kinematic). The latter two have no mass and take no notice of
/// impulses.
enum class BodyKind : std::uint8_t { dynamic, fixed, kinematic };

/// What relates impulse lambda (N s; normal n, tangents t) and velocity w (m/s) of a contact with
/// friction mu; all but frictionless bound |lambda_t| by mu lambda_n (docs/theory.md, "The
/// step's problem"):
///   coulomb       0 <= w_n, lambda_n complementary; sliding friction opposes w_t
///   ccp           the convex law, lambda in K and w in K* complementary: a sliding contact opens
///                 with w_n = mu |w_t|
///   box           as coulomb, but each tangent by itself: |lambda_ti| <= mu lambda_n
///   frictionless  the normal alone, lambda_t = 0
///   lagged        of a case: ccp with w_n + s in place of w_n, where s = mu |w_t| is that of the
///                 last step's end; its problems have the law ccp (ConstraintProblem::shift)
/// The names are those of the key `contact.law` and of dumped problems.
enum class ContactLaw : std::uint8_t { coulomb, ccp, box, frictionless, lagged };
/// Names of laws, in the order of ContactLaw.
inline constexpr std::array<std::string_view, 5> kContactLawNames = {"coulomb", "ccp", "box",
                                                                     "frictionless", "lagged"};

/// A harmonic part of a motion: sin(2 pi frequency t + phase) - sin(phase), so that it
/// starts from the pose at t = 0.
struct Harmonic {
  Vec3 amplitude = Vec3::Zero();        ///< of the translation, m, world frame
  Vec3 angle_amplitude = Vec3::Zero();  ///< of the rotation vector, rad, world frame
  double frequency = 0.0;               ///< Hz
  double phase = 0.0;                   ///< rad
};

/// Displacement and rotation vector (world frame) at given times, from MotionStart::pose;
/// before and after them constant.
struct MotionTable {
  std::vector<double> time;                               ///< s, ascending
  std::vector<Vec3> position;                             ///< m
  std::vector<Vec3> rotation;                             ///< rad
  Interpolation interpolation = Interpolation::monotone;  ///< of each component
};

/// Prescribed motion of kinematic bodies, each from its own MotionStart: the sum of a constant
/// velocity, harmonics and a table for the translation. It turns about `about`, a point that
/// goes along with the translation: by the rotation vector of harmonics and table, and before
/// that by the constant angular velocity.
struct Motion {
  Vec3 velocity = Vec3::Zero();          ///< m/s, at the start
  Vec3 angular_velocity = Vec3::Zero();  ///< rad/s
  bool about_origin = true;              ///< of the body's frame; else about `about`
  Vec3 about = Vec3::Zero();             ///< m, world, at t = 0
  bool absolute = false;  ///< rows of the table are places themselves, not displacements
  std::vector<Harmonic> harmonics = {};
  MotionTable table = {};
};

/// What a kinematic body has of its own in its motion: from where and how fast the constant
/// velocity leads on. It changes between steps, where a velocity is set (set_velocity).
struct MotionStart {
  Pose pose;                             ///< from which the parts lead on
  Vec3 displacement = Vec3::Zero();      ///< by the velocities before `since`, m
  double since = 0.0;                    ///< from when on those below count, s
  Vec3 velocity = Vec3::Zero();          ///< m/s
  Vec3 angular_velocity = Vec3::Zero();  ///< rad/s, world frame
};

/// That of a body at `made` at t = 0.
MotionStart motion_start(const Motion& motion, const Pose& made);

/// Gives the constant part of the motion other velocities from time t on; the pose at t stays.
void set_velocity(const Motion& motion, const Vec3& velocity, const Vec3& angular_velocity,
                  double t, MotionStart& start);

/// Velocity of a body's surface against the body, as that of a conveyor's belt: contacts see its
/// part along them.
struct SurfaceVelocity {
  GlobalId body = kNoBody;
  Vec3 velocity = Vec3::Zero();  ///< m/s, body frame
};

/// Constant data of one body, plain data that travels between ranks.
struct BodyConstants {
  GlobalId id = kNoBody;
  BodyKind kind = BodyKind::dynamic;
  bool collides = true;    ///< false: its shape makes no contacts
  std::uint8_t group = 0;  ///< collision group, see Model::group_pairs
  bool jointed = false;    ///< a joint acts on it
  /// 1 + index of the case's outflow in which its centre has been first, 0: none yet. Kept while
  /// its mechanism stays; it stands here because a column of its own would be zeros in nearly every
  /// run.
  std::int32_t passed = 0;
  Shape shape;
  int material = 0;
  int motion = -1;              ///< index into Model::motions for kinematic bodies
  double mass = 0.0;            ///< kg; 0 for fixed and kinematic bodies
  Vec3 inertia = Vec3::Zero();  ///< principal moments, kg m^2, on the axes of the body frame
};

/// What changes of one body, world frame, SI.
struct BodyMotionState {
  Pose pose;
  Twist twist;
};

/// A body whole: as generators make it and as it migrates.
struct BodyRecord {
  BodyConstants constants;
  BodyMotionState state;
};

/// Names of bodies without a string per body: ranges of ids with a common stem.
class NameTable {
 public:
  /// Ids first .. first+count-1 are called `name`, or `name-0`, `name-1`, ... if `numbered`.
  void add(GlobalId first, GlobalId count, std::string name, bool numbered);
  /// The same for one that a program adds to a run: its id is beyond size(), which stays.
  void add_late(GlobalId id, std::string name);
  /// Those, ascending in id.
  const std::vector<std::pair<GlobalId, std::string>>& late() const { return late_; }
  /// Name of a body, "body-<id>" if unknown.
  std::string name_of(GlobalId id) const;
  /// The text given for an id, without a number; empty if unknown.
  std::string text_of(GlobalId id) const;
  GlobalId size() const;  ///< one past the largest id of the case
  /// First id and number of those called `name`, or, of numbered ones, NAME-0, NAME-1, ... or one
  /// of these; 0 of them if the name is unknown.
  std::pair<GlobalId, GlobalId> ids_of(std::string_view name) const;
  /// The texts given, of numbered ones without the number.
  std::vector<std::string> texts() const;

 private:
  struct Range {
    GlobalId first, count;
    std::string name;
    bool numbered;
  };
  const Range* range_of(GlobalId id) const;  ///< nullptr if unknown
  std::vector<Range> ranges_;                ///< ascending
  std::vector<std::pair<GlobalId, std::string>> late_;
};

/// How compliant contacts are (docs/theory.md, "Compliant contacts").
enum class Stiffness : std::uint8_t {
  automatic,  ///< by stiffness_ratio: the same number of sweeps whatever the masses and the step
  rigid,      ///< not at all
  material,   ///< Hertz's and Mindlin's laws, of the materials' moduli
  linear      ///< pair_stiffness
};

/// Parameters of contact rows (docs/theory.md, "Contact rows" and "Compliant contacts").
struct ContactParameters {
  ContactLaw law = ContactLaw::coulomb;
  int lagged_passes = 1;                   ///< law lagged: solves per step at most
  Stiffness stiffness = Stiffness::rigid;  ///< of cases: automatic (SceneSettings)
  double pair_stiffness = 0.0;             ///< N/m, of all points of a pair together
  double stiffness_ratio = 300.0;  ///< s: Sigma is the mean diagonal of a contact's block over s
  /// Overlap, as a share of the smaller radius, from which on `automatic` hardens as Hertz's law.
  double hardening = 2e-3;
  double damping_time = kNotGiven;  ///< tau, s; kNotGiven: from step and restitution
  double tangential_ratio =
      kNotGiven;  ///< tangential over normal stiffness; kNotGiven: the law's own
  /// m; contacts are made where the gap is below this; NaN: per pair (docs/theory.md, "The
  /// margin").
  double margin = 1e-3;
  double recovery_speed = 1.0;  ///< m/s; penetrations are undone no faster
  double rest_speed = 1e-2;     ///< m/s; slower impacts have no restitution
  double cohesion_range = 0.0;  ///< m; cohesion acts where the gap is at most this
};

/// Constant in a run from make_model on and replicated on every rank: O(config), not O(bodies).
/// World frame, z up unless `gravity` says otherwise.
struct Model {
  Vec3 gravity = Vec3(0.0, 0.0, -9.81);  ///< m/s^2, at t = 0
  /// Gravity over time, component by component; empty: it is constant.
  std::vector<ValueTable> gravity_table;
  MaterialTable materials;
  ContactParameters contact;
  std::vector<Geometry> geometries;
  std::vector<Motion> motions;
  PeriodicBox periodic;           ///< at the start; State::cell has what changes of it
  std::array<CellDrive, 3> cell;  ///< what drives its sides along x, y and z
  std::vector<SurfaceVelocity> surface_velocities;  ///< ascending in the body
  /// Motion in the world's x-z plane only: no translation along y, rotation about y alone.
  bool planar = false;
  /// Sums over bodies and ranks are such that they do not depend on the number of ranks.
  bool deterministic = false;
  /// Whether bodies of groups a and b make contacts: group_pairs[a * n_groups + b]. Empty: all.
  std::vector<std::uint8_t> group_pairs;
  int n_groups = 1;
  /// Counted remarks on the input that do not stop a run (a point inside a hull, an open mesh).
  std::vector<std::string> warnings;
  NameTable names;
  NameTable joint_names;  ///< by joint id
  /// Where bodies and joints stand in the case, "pile.yaml:3:5: bodies.block", for errors.
  NameTable places, joint_places;
  std::vector<ValueTable> tables;
  std::vector<AppliedForce> forces;
  std::vector<Bushing> bushings;
  std::vector<BreakLimits> break_limits;
  std::vector<Curve> curves;
  std::vector<Tendon> tendons;
  /// Unbounded bodies (planes): known to every rank, owned by rank 0 for output, last
  /// in every rank's list of local bodies, ascending in id.
  std::vector<BodyRecord> unbounded;

  /// Whether its sides follow rates or stresses.
  bool cell_deforms() const;
  /// Whether the periodic box has images that move: then State::cell is there.
  bool cell_moves() const;
  Vec3 gravity_at(double t) const;
  /// Mean over [t, t + h].
  Vec3 mean_gravity(double t, double h) const;
  /// Velocity of a body's surface against it, body frame, m/s.
  Vec3 surface_velocity(GlobalId body) const;
};

/// Of a joint of the case, or one that came later: `joint-<id>`.
std::string joint_name(const Model& model, GlobalId joint);

/// Whether two bodies may make contacts: both collide, and so do their groups.
bool may_collide(const Model& model, const BodyConstants& a, const BodyConstants& b);

/// Pose and twist at time t of a fixed or kinematic body; `pose` is where those are that have no
/// motion, `start` counts for those that have one. Where velocities jump, at rows of tables,
/// `inside` is a time on the side that is meant (see evaluate() of tables); with t itself that side
/// is the right one.
BodyMotionState prescribed_state(const Model& model, const BodyConstants& body, const Pose& pose,
                                 const MotionStart& start, double t, double inside);
/// The same with `inside` = t.
inline BodyMotionState prescribed_state(const Model& model, const BodyConstants& body,
                                        const Pose& pose, const MotionStart& start, double t) {
  return prescribed_state(model, body, pose, start, t, t);
}

/// Constant twist that takes a fixed or kinematic body from its pose at t to that at t + h, up to
/// half a turn: its displacement and its rotation vector over h.
Twist mean_twist(const Model& model, const BodyConstants& body, const MotionStart& start, double t,
                 double h);

}  // namespace catena
