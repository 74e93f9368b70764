// What controllers drive.
#pragma once

#include <string>

#include "catena/base/index.hpp"
#include "catena/scenarios/scene.hpp"
#include "catena/simulation/controller_settings.hpp"

namespace catena::control {

/// A motor's target or given force along one axis of a joint, the factor on a force, or the part of
/// a prescribed velocity in one direction.
struct Drive {
  GlobalId joint = -1;
  std::size_t axis = 0;
  std::ptrdiff_t force = -1;              ///< in Model::forces
  GlobalId body = kNoBody, n_bodies = 0;  ///< first, and how many move together
  Vec3 direction = Vec3::Zero();          ///< unit vector, world
  bool angular = false;                   ///< of the angular velocity
  bool velocity = false;                  ///< the output is one
  std::string unit;                       ///< of the output; of factors empty
  /// Whether both drive the same; of a motion, directions that are not at right angles.
  bool meets(const Drive& other) const;
};

/// Throws Error at the controller's place for a name that is unknown, or that nothing can drive.
Drive find_drive(const ControllerSettings& s, const SceneSettings& scene, const Model& model);

/// Forces and torques of the case: entries of Model::forces.
std::size_t count_loads(const SceneSettings& scene);

}  // namespace catena::control
