// Pieces of the description and making of joints, forces, chains, nets and trees.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "catena/constraints/joint_rows.hpp"
#include "catena/scenarios/break_limits.hpp"
#include "catena/scenarios/scene.hpp"
#include "scenarios/chains/chain_curve.hpp"
#include "scenarios/scene_parts.hpp"

namespace catena::scenarios {

inline constexpr std::string_view kWorld = "world";

/// Which body of the case a name means.
struct NamedBody {
  enum class Kind { unknown, world, body, generated };
  Kind kind = Kind::unknown;
  std::size_t index = 0;  ///< of SceneSettings::bodies or ::generators
  GlobalId number = 0;    ///< of a generator's body
};

/// Finds bodies by name, those of generators as NAME-12.
class BodyNames {
 public:
  explicit BodyNames(const SceneSettings& scene);
  NamedBody find(const std::string& name) const;
  /// A known name like this one, or "".
  std::string nearest(const std::string& name) const;
  bool dynamic(const NamedBody& body) const;
  bool comes_later(const NamedBody& body) const;  ///< of an insertion
  bool packed(const NamedBody& body) const;       ///< of a pack

 private:
  const SceneSettings& scene_;
  std::unordered_map<std::string, std::size_t> bodies_, generators_;
};

/// What the names of a generator's bodies and joints begin with.
std::string stem_of(const GeneratorSettings& generator, std::size_t place);
/// The number k of a name STEM-k, as generators give it; -1 if it is none.
GlobalId number_in(const std::string& name, const std::string& stem);

/// Number of bodies of a generator; -1 for tables, whose rows are not counted yet.
GlobalId count_of(const GeneratorSettings& generator);

/// Rejects a name under `key` that is no body at the start of the run.
void check_body_name(SettingsVisitor& visit, const BodyNames& names, std::string_view key,
                     const std::string& name, bool world_too);
/// Rejects a key `between` unless it names different bodies, two or (`more`) any number from two
/// on, of which at most one is not dynamic.
void check_between(SettingsVisitor& visit, const BodyNames& names, bool more,
                   const std::vector<std::string>& between);
/// The bodies of one of `joints`: `between`, or the points of a tendon.
void describe_bodies(SettingsVisitor& visit, const BodyNames& names, JointSettings& s);
void describe_factor(SettingsVisitor& visit, FactorSettings& s);
/// The section `lift` of a cam.
void describe_lift(SettingsVisitor& visit, LiftSettings& s);
/// The same of a motor, whose rows may be the target itself.
void describe_motor_table(SettingsVisitor& visit, bool angular, FactorSettings& s);
/// The key `force_over_speed` of a motor.
void describe_speed_table(SettingsVisitor& visit, bool angular, FactorSettings& s);
/// The keys of bushings, screws, belts, cams and curves, and what these, racks, winches and tendons
/// ask for.
void describe_element(SettingsVisitor& visit, JointSettings& s);
void check_element(SettingsVisitor& visit, const JointSettings& s);
/// The keys of loads above which joints break.
void describe_breaking(SettingsVisitor& visit, BreakSettings& s);
/// Rejects those of which joints of this type, with these compliances, have nothing.
void check_breaking(SettingsVisitor& visit, const BreakSettings& s, JointType type,
                    double compliance, double angular_compliance);
/// One of `forces`.
void describe_force(SettingsVisitor& visit, const SceneSettings& scene, const BodyNames& names,
                    ForceSettings& s);

void describe_chain(SettingsVisitor& visit, const SceneSettings& scene, ChainSettings& s);
void describe_net(SettingsVisitor& visit, NetSettings& s);
void describe_tree(SettingsVisitor& visit, TreeSettings& s);
void describe_bonds(SettingsVisitor& visit, BondSettings& s);

/// Ids of a generator's bodies and of its joints.
struct JointedBlock {
  GlobalId first_body = 0, n_bodies = 0;
  GlobalId first_joint = 0;
};

/// Names of the bodies that a tendon runs over besides the world, in the order of their first
/// points.
std::vector<std::string> bodies_of_tendon(const JointSettings& s);

/// Joints that an entry of `joints` is: one, of a belt one for every pair of pulleys it couples.
GlobalId n_joints(const JointSettings& s);
GlobalId n_joints(const ChainSettings& s);
GlobalId n_joints(const NetSettings& s);
GlobalId n_joints(const TreeSettings& s);
/// Joints that a generator makes; 0 for those without joints.
GlobalId n_joints(const GeneratorSettings& g);

/// The frame of a link as it stands between its joints, in its body's frame: half-way between them,
/// with the axes of the shape as written.
using LinkFrame = Pose;

/// Links first .. last-1 of a chain: `link` gives a body of id 0 at rest, which becomes each of
/// them.
void make_links(const ChainSettings& s, const ChainCurve& curve, const BodyRecord& link,
                const LinkFrame& frame, const JointedBlock& block, GlobalId first, GlobalId last,
                const std::function<void(const BodyRecord&)>& take);

/// Joints whose home is one of these links.
void make_chain_joints(const ChainSettings& s, const ChainCurve& curve, const LinkFrame& frame,
                       const JointedBlock& block, GlobalId first, GlobalId last,
                       std::vector<JointConstants>& joints);

/// Centre of knot k.
Vec3 knot_place(const NetSettings& s, GlobalId k);
/// Joints whose home is one of these knots; `body` is the rotation of each knot to the world.
void make_net_joints(const NetSettings& s, const Quat& body, const JointedBlock& block,
                     GlobalId first, GlobalId last, std::vector<JointConstants>& joints);

/// More knots than a tree may have; of more leaves counting ends.
inline constexpr GlobalId kMostKnots = 1'000'000'000;
GlobalId n_leaves(const TreeSettings& s);
GlobalId n_knots(const TreeSettings& s);
Vec3 knot_place(const TreeSettings& s, GlobalId k);
/// As make_net_joints.
void make_tree_joints(const TreeSettings& s, const Quat& body, const JointedBlock& block,
                      GlobalId first, GlobalId last, std::vector<JointConstants>& joints);

}  // namespace catena::scenarios
