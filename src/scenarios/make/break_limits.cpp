#include "catena/scenarios/break_limits.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace catena {

bool BreakSettings::given() const {
  return std::ranges::any_of(std::array{force, torque, energy, tension, shear},
                             [](double limit) { return !std::isnan(limit); });
}

namespace scenarios {

namespace {

/// Of a generator's joints; nullptr: it makes none.
const BreakSettings* break_settings_of(const GeneratorSettings& g) {
  return std::visit(
      [](const auto& s) -> const BreakSettings* {
        if constexpr (requires { s.joints; }) return &s.joints.breaking;
        return nullptr;
      },
      g.kind);
}

double or_never(double limit) { return std::isnan(limit) ? BreakLimits::kNone : limit; }

BreakLimits limits_of(const BreakSettings& s) {
  return {or_never(s.force), or_never(s.torque), or_never(s.energy), or_never(s.tension),
          or_never(s.shear)};
}

}  // namespace

std::vector<BreakLimits> break_limits_of(const SceneSettings& scene) {
  std::vector<BreakLimits> limits;
  for (const JointSettings& s : scene.joints)
    if (s.breaking.given()) limits.push_back(limits_of(s.breaking));
  for (const GeneratorSettings& g : scene.generators)
    if (const BreakSettings* s = break_settings_of(g); s != nullptr && s->given())
      limits.push_back(limits_of(*s));
  return limits;
}

int break_limits_of_generator(const SceneSettings& scene, std::size_t g) {
  const auto breaks = [](const GeneratorSettings& generator) {
    const BreakSettings* s = break_settings_of(generator);
    return s != nullptr && s->given();
  };
  const auto begin = scene.generators.begin();
  if (!breaks(scene.generators[g])) return -1;
  return narrow<int>(
      std::ranges::count_if(scene.joints, [](auto& s) { return s.breaking.given(); }) +
      std::count_if(begin, begin + narrow<std::ptrdiff_t>(g), breaks));
}

}  // namespace scenarios

}  // namespace catena
