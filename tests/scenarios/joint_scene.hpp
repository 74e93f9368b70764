// Scenes with joints from YAML, and the joints of all ranks in one place.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "catena/constraints/joint_rows.hpp"
#include "catena/io/yaml_settings.hpp"
#include "catena/scenarios/scene.hpp"
#include "scenarios/body_records.hpp"
#include "support/all_ranks.hpp"

namespace catena::test {

inline SceneSettings scene_of(const std::string& text) {
  SceneSettings scene;
  YamlDocument("materials: {steel: {density: 7800}}\n" + text, "scene.yaml")
      .read([&](SettingsVisitor& visit) {
        describe_space(visit, scene);
        describe_materials(visit, scene);
        describe_bodies(visit, scene);
        describe_generators(visit, scene);
        describe_joints(visit, scene);
        describe_forces(visit, scene);
      });
  return scene;
}

/// A scene made on all ranks.
struct JointScene {
  JointScene(const Communicator& comm, const std::string& text)
      : JointScene(comm, scene_of(text)) {}
  JointScene(const Communicator& comm, const SceneSettings& scene) {
    model = make_model(scene, comm);
    Bodies own;
    State state;
    generate_bodies(scene, comm, model, own, state);
    bodies = gathered(comm, own, state);
    joints = all_of(comm, own.joints);
    states = all_of(comm, state.joints);
    for (const JointConstants& joint : own.joints) {
      const bool dynamic_b = joint.body[1] != kNoBody && body(joint.body[1]) != nullptr &&
                             body(joint.body[1])->constants.kind == BodyKind::dynamic;
      const GlobalId home = joint_home(joint, dynamic_b);
      const bool owned = std::any_of(own.constants.begin(), own.constants.end(),
                                     [&](const BodyConstants& b) { return b.id == home; });
      homeless += owned ? 0 : 1;
    }
    homeless = static_cast<int>(comm.sum(std::int64_t{homeless}));
  }

  const BodyRecord* body(GlobalId id) const {
    for (const std::vector<BodyRecord>* list : {&bodies, &model.unbounded}) {
      for (const BodyRecord& b : *list) {
        if (b.constants.id == id) return &b;
      }
    }
    return nullptr;
  }
  const BodyRecord& body(const std::string& name) const {
    for (const BodyRecord& b : bodies) {
      if (model.names.name_of(b.constants.id) == name) return b;
    }
    throw std::runtime_error("no body " + name);
  }
  std::size_t index_of(const std::string& joint) const {
    for (std::size_t i = 0; i < joints.size(); ++i) {
      if (model.joint_names.name_of(joints[i].id) == joint) return i;
    }
    throw std::runtime_error("no joint " + joint);
  }
  const JointConstants& joint(const std::string& name) const { return joints[index_of(name)]; }

  JointPoses poses(const JointConstants& joint) const {
    JointPoses at{};
    for (std::size_t k = 0; k < kJointBodies; ++k) {
      if (joint.body[k] != kNoBody) at.pose[k] = body(joint.body[k])->state.pose;
    }
    return at;
  }
  JointMisfit misfit(const JointConstants& joint) const {
    return joint_misfit(joint_geometry(joint, poses(joint), {0.0, 0.0}, model));
  }
  /// Origin of frame A or B in the world.
  Vec3 point(const JointConstants& joint, std::size_t frame) const {
    const Pose pose = poses(joint).pose[frame];
    return pose.p + pose.q * joint.frame[frame].p;
  }
  Quat axes(const JointConstants& joint, std::size_t frame) const {
    return poses(joint).pose[frame].q * joint.frame[frame].q;
  }

  Model model;
  std::vector<BodyRecord> bodies;
  std::vector<JointConstants> joints;  ///< in the order of ranks
  std::vector<JointState> states;
  int homeless = 0;  ///< joints that are not where their home body is
};

}  // namespace catena::test
