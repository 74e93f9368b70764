// The part of a case file that says what stands in the scene: materials, bodies and
// generators; and the making of them, each rank its own share.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "catena/base/settings.hpp"
#include "catena/comm/communicator.hpp"
#include "catena/model/model.hpp"
#include "catena/model/state.hpp"
#include "catena/scenarios/flow_settings.hpp"
#include "catena/scenarios/joint_settings.hpp"
#include "catena/scenarios/pack_settings.hpp"
#include "catena/scenarios/shape_settings.hpp"

namespace catena {

/// What `position` of a dynamic body names.
enum class PositionOf { centre_of_mass, shape_origin };

/// `motion:` of a body, or of all bodies of a generator.
struct MotionSettings {
  bool present = false;
  Motion parts;      ///< without the table
  std::string file;  ///< CSV table, absolute after reading a case; or empty
  /// In place of the file: t, x, y, z and perhaps rx, ry, rz, row by row.
  std::vector<double> rows;
  std::size_t columns = 0;

  bool has_table() const { return !file.empty() || !rows.empty(); }
};

/// One of `bodies:`; world frame.
struct BodySettings {
  std::string name, place;  ///< place: file, line, column and path, for errors
  std::string material;     ///< needed where there is a shape
  ShapeSettings shape;
  double mass = kNone;                   ///< kg; kNone: volume times density
  Vec3 inertia = Vec3::Constant(kNone);  ///< principal moments, kg m^2; kNone: of the uniform shape
  std::string inertia_place;             ///< file, line, column and path, for errors
  /// In the frame of the shape as written, m; kNone: of the uniform shape.
  Vec3 centre_of_mass = Vec3::Constant(kNone);
  /// Centre of mass or origin of the shape, m; of fixed and kinematic bodies always the latter.
  Vec3 position = Vec3::Zero();
  PositionOf position_of = PositionOf::centre_of_mass;
  OrientationSettings orientation;
  Vec3 velocity = Vec3::Zero();          ///< m/s
  Vec3 angular_velocity = Vec3::Zero();  ///< rad/s, world frame
  Vec3 surface_velocity = Vec3::Zero();  ///< m/s, on the axes of `orientation`
  bool collide = true;
  std::string group;      ///< for contact.no_collisions; "" is a group, too
  bool fixed = false;     ///< planes are fixed unless they have a motion
  MotionSettings motion;  ///< makes it kinematic
};

/// Five fixed planes that hold a box from within: the floor and four walls, and a lid if
/// size.z is finite. An infinite size.x or size.y leaves out the upper wall of that direction.
struct ContainerSettings {
  std::string name, material;
  Vec3 size = Vec3::Constant(kNone);
  Vec3 origin = Vec3::Zero();  ///< lower corner
};

/// count.x * count.y * count.z equal bodies, x fastest.
struct LatticeSettings {
  std::string name, material;
  ShapeSettings shape;
  double radius_jitter = 0.0;  ///< fraction of all lengths of the shape, uniform +-
  SizeSettings sizes;          ///< in its place
  OrientationSettings orientation;
  bool random_orientation = false;  ///< uniform over all rotations
  std::array<int, 3> count = {1, 1, 1};
  Vec3 spacing = Vec3::Constant(kNone);
  Vec3 origin = Vec3::Zero();    ///< centre of the first body, before jitter
  double position_jitter = 0.0;  ///< m, uniform +- in each direction
  Vec3 velocity = Vec3::Zero();
  std::int64_t seed = -1;  ///< -1: follows from the case's seed and the generator's place
};

/// Bricks in running bond: every second course is shifted by half a brick and closed
/// by a half brick at both ends. Courses lie on each other.
struct WallSettings {
  std::string name, material;
  Vec3 brick = Vec3::Constant(kNone);  ///< length along the wall, thickness, height, m
  int along = 1;                       ///< whole bricks in the lowest course
  int height = 1;                      ///< courses
  double gap = 0.0;                    ///< between the bricks of a course, m
  Vec3 origin = Vec3::Zero();      ///< lower corner: start of the lowest course, on its right side
  Vec3 direction = Vec3::UnitX();  ///< along the wall; horizontal
};

/// Bodies from a CSV file with a header line: id, shape (or radius), x, y, z, and
/// optionally qw, qx, qy, qz, vx, vy, vz, wx, wy, wz; or from a snapshot of a result,
/// DIR/snapshots/<8 digits>.h5: its dynamic spheres and boxes (docs/configuration.md).
struct TableSettings {
  std::string name, material;
  std::string file;  ///< absolute after reading a case
};

/// What one of `generators:` makes.
using GeneratorKind =
    std::variant<ContainerSettings, LatticeSettings, WallSettings, TableSettings, InsertionSettings,
                 ChainSettings, NetSettings, TreeSettings, PackSettings, BondSettings>;

/// One of `generators:`: bodies of consecutive ids, and the joints between them; SI units, world
/// frame. All that it makes is a function of these settings, the case's seed and a body's number.
struct GeneratorSettings {
  GeneratorKind kind;
  bool collide = true;  ///< of all its bodies
  bool fixed = false;   ///< the same; not of containers and insertions
  /// Makes all its bodies kinematic; not of insertions.
  MotionSettings motion;
  std::string group;  ///< of all its bodies, as BodySettings::group
  std::string place;  ///< file, line, column and path, for errors

  template <class Kind>
  bool is() const {
    return std::holds_alternative<Kind>(kind);
  }
  /// Whether its bodies are fixed or move as prescribed. Links and knots then have no joints.
  bool held() const { return fixed || motion.present; }
  /// The name given; empty if there is none.
  const std::string& name() const;
  /// The material of its bodies; empty where it makes none.
  const std::string& material() const;
  /// The shape of its bodies; nullptr where they are no copies of one.
  const ShapeSettings* shape() const;
};

/// One of `materials:`, with the units of Material.
struct MaterialSettings {
  std::string name;
  double density = 1000.0;
  double friction = 0.5;
  double restitution = 0.0;
  double rolling_friction = 0.0;   ///< m
  double spinning_friction = 0.0;  ///< m
  double rolling_coefficient = 0.0, spinning_coefficient = 0.0;
  double cohesion = 0.0;          ///< N
  double youngs_modulus = kNone;  ///< Pa
  double poisson_ratio = kNone;
};

/// An exception from the rules of combination for two materials.
struct PairSettings {
  std::vector<std::string> between;
  double friction = kNone;  ///< kNone: by the rule
  double restitution = kNone;
  double rolling_friction = kNone, rolling_coefficient = kNone;
  double spinning_friction = kNone, spinning_coefficient = kNone;
  double cohesion = kNone;
};

/// Two groups of bodies that make no contacts with each other; the same name twice: within it.
struct NoCollisionSettings {
  std::vector<std::string> between;
};

/// `initial:`, the run whose end a case begins with.
struct InitialSettings {
  bool present = false;
  std::string from;         ///< result directory, or a checkpoint; absolute after reading a case
  std::string place;        ///< of `from`, for errors
  bool keeps_time = false;  ///< time and step go on; else they start at 0
  /// Bodies and generators whose bodies go on; "all": those of all names that both cases have.
  std::vector<std::string> bodies = {"all"};
  bool keeps_velocities = true;
};

/// What a case says of its scene, SI units, world frame; equal on all ranks. make_model and
/// generate_bodies make the scene of it.
struct SceneSettings {
  std::string name;
  Vec3 gravity = Vec3(0.0, 0.0, -9.81);
  GravityTableSettings gravity_table;
  std::vector<MaterialSettings> materials;
  ContactParameters contact{.stiffness = Stiffness::automatic, .margin = kNone};
  std::string contact_place;  ///< of `contact:` in the source, for errors
  Combinations combine;
  std::vector<PairSettings> pairs;
  std::vector<NoCollisionSettings> no_collisions;
  std::vector<BodySettings> bodies;
  std::vector<GeneratorSettings> generators;
  std::vector<JointSettings> joints;
  std::vector<ForceSettings> forces;
  std::vector<OutflowSettings> outflow;
  InitialSettings initial;
  PeriodicSettings periodic;
  int dimension = 3;  ///< 2: motion in the x-z plane
  std::int64_t seed = 1;
  /// What is likely not meant, with its place (SettingsVisitor::hint); warnings of the model.
  std::vector<std::string> hints;
};

/// A body as a scene makes it.
struct MadeBody : BodyRecord {
  MotionStart motion;  ///< of kinematic ones
};

/// The keys of a scene, in the section being visited; rejects what contradicts itself.
void describe_materials(SettingsVisitor& visit, SceneSettings& s);
/// As describe_materials, `contact:`.
void describe_contact(SettingsVisitor& visit, SceneSettings& s);
/// As describe_materials, `bodies:`.
void describe_bodies(SettingsVisitor& visit, SceneSettings& s);
/// As describe_materials, `generators:`.
void describe_generators(SettingsVisitor& visit, SceneSettings& s);
/// As describe_materials, `joints:`.
void describe_joints(SettingsVisitor& visit, SceneSettings& s);
/// As describe_materials, `forces:`.
void describe_forces(SettingsVisitor& visit, SceneSettings& s);
/// One of `bodies` by itself, beside those of a scene.
void describe_one(SettingsVisitor& visit, const SceneSettings& scene, BodySettings& s);
/// The same of `joints`.
void describe_one(SettingsVisitor& visit, const SceneSettings& scene, JointSettings& s);

/// Throws Error, with its place, for a joint without compliance that is damped in less than a
/// quarter of the time step: SPOOK's rows are then marginally unstable.
void check_damping_times(const SceneSettings& scene, double step);
/// The same for compliant contacts, with any stepper that has contacts.
void check_contact_damping(const SceneSettings& scene, double step);
/// Throws Error, with its place, for a moment of inertia of 0.
void check_inertias(const SceneSettings& scene);
/// Throws Error where bonds name what is no body or generator, or has no bounded bodies at the
/// start.
void check_bonds(const SceneSettings& scene);
/// Throws Error, with its place, for joints that stepper `natural` cannot state: gears, wheels,
/// inequalities, compliance.
void check_smooth(const SceneSettings& scene);
void describe_space(SettingsVisitor& visit, SceneSettings& s);  ///< dimension, gravity, periodic
/// As describe_materials, `outflow:`.
void describe_outflow(SettingsVisitor& visit, SceneSettings& s);
/// As describe_materials, `initial:`.
void describe_initial(SettingsVisitor& visit, SceneSettings& s);

/// What is constant and known to every rank: materials, motions, names, unbounded bodies, forces.
/// Ids: bodies in the file's order, then each generator's block of ids in order; joints as
/// listed, then springs and dampers, then each generator's.
/// Throws Error for a table that cannot be read, for listed joints whose frames disagree at the
/// start (place, misfit), and for chains that no path can hold. Collective: rank 0 counts tables'
/// rows, joints are checked by all ranks, each its share (not where `initial` puts the bodies
/// elsewhere). The model is not changed afterwards;
/// `deterministic` is Model::deterministic.
Model make_model(const SceneSettings& scene, const Communicator& comm, bool deterministic = false);

/// Number of ids, unbounded bodies included.
inline GlobalId total_bodies(const Model& model) { return model.names.size(); }

/// Those that are there before the first step: all but the bodies of insertions.
GlobalId bodies_at_start(const SceneSettings& scene, const Model& model);

/// Collective. Appends this rank's share of the bounded bodies: of all ids 0 .. N-1 those in
/// [rank N / ranks, (rank + 1) N / ranks). The values of a body depend on its id and the
/// scene only, not on the rank count; so do joints, each made where its home body is (joint_home),
/// ascending in id. Throws Error on
/// every rank for bad rows of a table, naming file and line or dataset.
void generate_bodies(const SceneSettings& scene, const Communicator& comm, const Model& model,
                     Bodies& bodies, State& state);

}  // namespace catena
