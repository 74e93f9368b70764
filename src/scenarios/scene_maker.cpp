#include "catena/scenarios/scene_maker.hpp"

#include <algorithm>

#include "scenarios/make/body_maker.hpp"
#include "scenarios/make/joint_maker.hpp"

namespace catena {

struct SceneMaker::Impl {
  const SceneSettings& scene;
  scenarios::BodyMaker bodies;
  scenarios::JointMaker joints;

  Impl(const Communicator& comm, const SceneSettings& s, const Model& model)
      : scene(s),
        bodies(s, scenarios::blocks_of(s, comm, model), model),
        joints(s, bodies, model) {}
};

SceneMaker::SceneMaker(const Communicator& comm, const SceneSettings& scene, const Model& model)
    : impl_(std::make_unique<Impl>(comm, scene, model)) {}

SceneMaker::~SceneMaker() = default;

void SceneMaker::place_packs(const Communicator& comm, GlobalId first, GlobalId last) {
  impl_->bodies.place_packs(comm, first, last);
}

GlobalId SceneMaker::first_body(std::size_t generator) const {
  return impl_->bodies.blocks()[generator].first;
}

GlobalId SceneMaker::n_bodies(std::size_t generator) const {
  return impl_->bodies.blocks()[generator].count;
}

std::string SceneMaker::stem(std::size_t generator) const {
  return scenarios::stem_of(impl_->scene.generators[generator], generator);
}

void SceneMaker::make(GlobalId first, GlobalId last,
                      const std::function<void(const MadeBody&)>& take) const {
  impl_->bodies.make(first, last, take);
}

std::vector<MadeBody> SceneMaker::some(const std::vector<GlobalId>& ids) const {
  return impl_->bodies.some(ids);
}

GlobalId SceneMaker::n_listed_joints() const { return impl_->joints.n_listed(); }

std::vector<GlobalId> SceneMaker::first_joints() const {
  return impl_->joints.first_of_generators();
}

std::array<GlobalId, kJointBodies> SceneMaker::bodies_of(GlobalId joint) const {
  return impl_->joints.bodies_of(joint);
}

std::string SceneMaker::frames_text(GlobalId joint) const {
  return impl_->joints.frames_text(joint);
}

bool SceneMaker::gives_length(GlobalId joint) const { return impl_->joints.gives_length(joint); }

std::vector<SceneMaker::Joint> SceneMaker::joints(const std::vector<GlobalId>& ids,
                                                  const std::vector<JointPoses>& poses) const {
  std::vector<Joint> out;
  for (const auto& made : impl_->joints.make(ids, poses))
    out.push_back({made.constants, made.state});
  return out;
}

std::vector<JointPoses> SceneMaker::poses_of(const std::vector<GlobalId>& joints) const {
  return impl_->joints.poses_of(joints);
}

void SceneMaker::check(const std::vector<GlobalId>& joints,
                       const std::vector<JointPoses>& poses) const {
  impl_->joints.check(joints, poses);
}

std::vector<JointConstants> SceneMaker::generated_joints(GlobalId first, GlobalId last) const {
  return impl_->bodies.joints_of_generators(impl_->joints.first_of_generators(), first, last);
}

void move_starts(std::span<const MovedStart> starts, Model& model) {
  for (const MovedStart& moved : starts)
    for (BodyRecord& plane : model.unbounded)
      if (plane.constants.id == moved.id) plane.state.pose = moved.pose;
}

}  // namespace catena
