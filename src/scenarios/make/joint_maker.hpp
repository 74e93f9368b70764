// The making of what `joints` and `forces` list.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "catena/constraints/joint_rows.hpp"
#include "catena/scenarios/scene.hpp"
#include "scenarios/joint_parts.hpp"
#include "scenarios/make/body_maker.hpp"

namespace catena::scenarios {

/// Joints and springs of a case in the order of their ids. A spring or damper is one of `forces`.
/// Settings, model and bodies must outlive it. Does not communicate.
class JointMaker {
 public:
  JointMaker(const SceneSettings& scene, const scenarios::BodyMaker& bodies, const Model& model);

  GlobalId n_listed() const { return static_cast<GlobalId>(listed_.size()); }
  /// First joint of each generator; of what would follow the last one.
  std::vector<GlobalId> first_of_generators() const;
  GlobalId n_joints() const { return first_of_generators().back(); }

  /// Ids a, b, carrier of a listed joint; kNoBody: the world.
  std::array<GlobalId, kJointBodies> bodies_of(GlobalId joint) const;
  /// Body whose owner holds the joint.
  GlobalId home_of(GlobalId joint) const;

  struct Made {
    JointConstants constants;
    JointState state;
  };
  /// Poses of the bodies of these listed joints as the case says.
  std::vector<JointPoses> poses_of(const std::vector<GlobalId>& joints) const;
  /// These listed joints, as they are at the start, with their bodies at these poses.
  std::vector<Made> make(const std::vector<GlobalId>& joints,
                         const std::vector<JointPoses>& poses) const;
  /// Throws Error with place and misfit if frames of one of these joints disagree at the start by
  /// more than 1e-6 rad, or 1e-6 of 1 m or of its longer arm, or if it starts outside its limits.
  void check(const std::vector<GlobalId>& joints, const std::vector<JointPoses>& poses) const;
  /// What says where the frames of a listed joint are: equal texts give equal frames.
  std::string frames_text(GlobalId joint) const;
  /// Whether the case gives the length of a distance, rope or spring.
  bool gives_length(GlobalId joint) const;

  /// What the tendons of the case run over, with their bodies as the case says.
  std::vector<Tendon> tendons() const;
  /// Forces and torques.
  std::vector<AppliedForce> applied_forces() const;

  /// For every `table` of joints, then of forces: itself, what it multiplies, its place.
  struct Factor {
    const FactorSettings* entry;
    double times;
    std::string place;
    bool lift = false;  ///< of a cam
  };
  static std::vector<Factor> factors(const SceneSettings& scene);
  /// Places in Model::tables of a motor's target and of its force over speed, -1: none.
  struct AxisTables {
    int target = -1, speed = -1;
  };

 private:
  /// Which entry of `joints`, or else which spring of `forces`, a listed joint is of, and the how
  /// manieth of it.
  struct Listed {
    std::size_t entry = 0;
    bool spring = false;
    std::size_t part = 0;
  };

  GlobalId id_of(const std::string& name, const std::string& place) const;
  const JointSettings* joint_entry(GlobalId joint) const;
  const ForceSettings& spring_entry(GlobalId joint) const;
  std::array<std::string, 2> ends_of(GlobalId joint) const;
  const std::string& place_of(GlobalId joint) const;
  JointConstants constants_of(GlobalId joint, const JointPoses& at) const;
  int law_of(std::size_t entry) const;

  const SceneSettings& scene_;
  const scenarios::BodyMaker& bodies_;
  const Model& model_;
  BodyNames names_;
  std::vector<Listed> listed_;
  std::vector<std::array<AxisTables, kJointAxes>> tables_;  ///< of each of `joints`
  std::vector<int> lifts_;                                  ///< the same, of cams
  std::vector<int> force_tables_;                           ///< of each of `forces`
  std::vector<int> breaking_;  ///< of each of `joints` its place in Model::break_limits, or -1
};

/// Collective. Model::tables of the case; rank 0 reads files.
std::vector<ValueTable> factor_tables(const SceneSettings& scene, const Communicator& comm);
/// Stiffnesses and dampings of the bushings among the joints, in their order.
std::vector<Bushing> bushings_of(const SceneSettings& scene);
/// Collective. Curves of the points on curves among the joints, in their order, from where these
/// points are; rank 0 reads files.
std::vector<Curve> curves_of(const SceneSettings& scene, const PeriodicBox& box,
                             const Communicator& comm);
/// Collective. The three components of gravity over time; empty where it is constant.
std::vector<ValueTable> gravity_table(const SceneSettings& scene, const Communicator& comm);
/// Collective. What drives the sides of the periodic box.
std::array<CellDrive, 3> cell_drives(const SceneSettings& scene, const Communicator& comm);

}  // namespace catena::scenarios
