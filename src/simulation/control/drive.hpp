// What controllers drive.
#pragma once

#include <string>

#include "catena/base/index.hpp"
#include "catena/scenarios/scene.hpp"
#include "catena/simulation/controller_settings.hpp"

namespace catena::control {

/// A motor's target or given force along one axis of a joint, or the factor on a force.
struct Drive {
  GlobalId joint = -1;
  std::size_t axis = 0;
  std::ptrdiff_t force = -1;  ///< in Model::forces
  bool velocity = false;      ///< the motor's target is one
  std::string unit;           ///< of the output; of factors empty
  bool operator==(const Drive& other) const {
    return joint == other.joint && axis == other.axis && force == other.force;
  }
};

/// Throws Error at the controller's place for a name that is unknown, or that nothing can drive.
Drive find_drive(const ControllerSettings& s, const SceneSettings& scene);

/// Forces and torques of the case: entries of Model::forces.
std::size_t count_loads(const SceneSettings& scene);

}  // namespace catena::control
