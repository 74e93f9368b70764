// Bodies and joints of a scene one by one, for runs that begin with the end of another one.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "catena/constraints/joint_rows.hpp"
#include "catena/scenarios/scene.hpp"

namespace catena {

/// Makes any body or joint of a scene from its id. Only the constructor and place_packs
/// communicate.
class SceneMaker {
 public:
  /// Collective: rank 0 counts the rows of tables. `scene` and `model` must outlive it.
  SceneMaker(const Communicator& comm, const SceneSettings& scene, const Model& model);
  ~SceneMaker();

  /// Ids of a generator's bodies.
  GlobalId first_body(std::size_t generator) const;
  GlobalId n_bodies(std::size_t generator) const;
  /// What their names, and those of its joints, begin with.
  std::string stem(std::size_t generator) const;

  /// Collective. Finds the places of packs' bodies of ids first .. last-1, so that make() can give
  /// them; each id is on one rank's list. Before it has run they are NaN.
  void place_packs(const Communicator& comm, GlobalId first, GlobalId last);
  /// Bodies of ids first .. last-1, ascending, as at a start; neither unbounded ones nor those of
  /// insertions. Throws Error for bad rows of a table.
  void make(GlobalId first, GlobalId last, const std::function<void(const MadeBody&)>& take) const;
  /// Bodies of these ids (ascending, no one twice), of which none is an insertion's.
  std::vector<MadeBody> some(const std::vector<GlobalId>& ids) const;

  /// Joints and springs that the scene lists: ids 0 .. n-1. Those of generators follow.
  GlobalId n_listed_joints() const;
  /// First joint of each generator, and of what would follow the last one.
  std::vector<GlobalId> first_joints() const;
  /// Of a listed joint: ids of a, b, carrier; kNoBody: the world.
  std::array<GlobalId, kJointBodies> bodies_of(GlobalId joint) const;
  /// Of a listed joint: equal texts give equal frames in equally placed bodies.
  std::string frames_text(GlobalId joint) const;
  /// Whether the scene gives the length of a listed distance, rope or spring.
  bool gives_length(GlobalId joint) const;

  /// A joint as it is made: what is constant of it, and how it begins.
  struct Joint {
    JointConstants constants;
    JointState state;
  };
  /// Listed joints with their bodies at these poses.
  std::vector<Joint> joints(const std::vector<GlobalId>& ids,
                            const std::vector<JointPoses>& poses) const;
  /// Their poses where the scene puts the bodies.
  std::vector<JointPoses> poses_of(const std::vector<GlobalId>& joints) const;
  /// Throws Error where the frames of a listed joint disagree, or it is outside its limits.
  void check(const std::vector<GlobalId>& joints, const std::vector<JointPoses>& poses) const;
  /// Joints of chains and nets whose home is a body of ids first .. last-1, ascending.
  std::vector<JointConstants> generated_joints(GlobalId first, GlobalId last) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// A fixed plane that starts elsewhere than its scene says.
struct MovedStart {
  GlobalId id = kNoBody;
  Pose pose;
};

/// Puts these planes into their model.
void move_starts(std::span<const MovedStart> starts, Model& model);

}  // namespace catena
