// What two cases have both, by names.
#pragma once

#include <string>
#include <vector>

#include "catena/scenarios/scene_maker.hpp"
#include "simulation/initial/id_map.hpp"

namespace catena {

/// A scene with what makes its parts.
struct NamedScene {
  const SceneSettings& scene;
  const Model& model;
  const SceneMaker& maker;
};

/// Bodies by their names, also those that a program added to the earlier run by a name, those of
/// generators by the generator's name and their number; joints by name where they hold the same
/// bodies and the same frames.
struct SameNames {
  IdMap bodies, joints;
  /// Names of bodies, generators and joints that only one of both has.
  std::vector<std::string> left_out, fresh;
  std::vector<std::string> joints_left_out, fresh_joints;
};

/// `made`: per insertion of the earlier case, how many bodies it has made; key `initial.bodies` of
/// the case now says which go on. Throws Error, with its place, for the same name of things that
/// cannot be the same.
SameNames same_names(const NamedScene& before, const std::vector<std::int64_t>& made,
                     const NamedScene& now);

}  // namespace catena
