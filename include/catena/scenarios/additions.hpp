// Bodies and joints that a program adds to a scene while it runs.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "catena/constraints/joint_rows.hpp"
#include "catena/scenarios/scene.hpp"

namespace catena {

/// Where a key of something that stands at `place` stands, for errors: "pile.yaml:3:5: shape", or
/// "bodies.block.shape".
std::string key_at(const std::string& place, const std::string& key);

/// Bounded body as the keys of one of `bodies` say, with mass and inertia; its id does not count.
/// `model` is the scene's. Throws Error with the body's place for what only a case can have:
/// planes, motions, surfaces that move, groups and geometries that no body of the case has.
BodyRecord make_added_body(const SceneSettings& scene, const Model& model, const BodySettings& s);

/// Names of what a joint acts on: a, b and, where it has one, the carrier.
std::vector<std::string> bodies_of(const JointSettings& s);

/// Body of a joint as it is now.
struct JointedBody {
  GlobalId id = kNoBody;  ///< kNoBody: the world
  BodyKind kind = BodyKind::dynamic;
  Pose pose;
};

/// Joint as the keys of one of `joints` say, between `bodies` (in the order of bodies_of); its id
/// does not count. `step`: h, s. Throws Error with its place where frames disagree, the coordinate
/// is outside its limits, or for what only a case can have: tables, curves, laws of their own,
/// break limits.
JointConstants make_added_joint(const Model& model, const JointSettings& s,
                                const std::vector<JointedBody>& bodies, double step);

/// The scene with the bodies that have come since, by the names of `model`, so that joints can name
/// them. Bodies of insertions and packs are there by now. The copy is for descriptions alone.
SceneSettings scene_of_now(const SceneSettings& scene, const Model& model);

}  // namespace catena
