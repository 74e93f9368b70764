// Loads above which the joints of a case break.
#pragma once

#include <cstddef>
#include <vector>

#include "catena/scenarios/scene.hpp"

namespace catena::scenarios {

/// Model::break_limits: of each listed joint that has any, then of each generator.
std::vector<BreakLimits> break_limits_of(const SceneSettings& scene);
/// The place of generator g's among these; -1: its joints do not break.
int break_limits_of_generator(const SceneSettings& scene, std::size_t g);

}  // namespace catena::scenarios
