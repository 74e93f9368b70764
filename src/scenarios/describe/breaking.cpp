// The description of loads above which joints break.
#include <algorithm>
#include <array>
#include <cmath>

#include "scenarios/joint_parts.hpp"

namespace catena::scenarios {

namespace {

using enum JointType;

constexpr std::array kHoldNoDirections = {spherical, distance, rope, tendon};
constexpr std::array kHoldNoPoints = {gear, belt};
/// Those whose rows are orthonormal, so that misfits give what they store.
constexpr std::array kStore = {fixed, spherical, revolute, prismatic, distance, rope};

template <class Types>
bool is_among(const Types& types, JointType type) {
  return std::ranges::find(types, type) != types.end();
}

}  // namespace

void describe_breaking(SettingsVisitor& visit, BreakSettings& s) {
  visit.visit("break_force", s.force,
              {.unit = "N",
               .min = 0,
               .min_open = true,
               .help = "the joint breaks after a step whose mean force on b is above it; else "
                       "never"});
  visit.visit("break_torque", s.torque,
              {.unit = "N m",
               .min = 0,
               .min_open = true,
               .help = "the same of the torque on b about the joint's point"});
  visit.visit("break_energy", s.energy,
              {.unit = "J",
               .min = 0,
               .min_open = true,
               .help = "it breaks after a step at whose end its compliances store more, by how far "
                       "it is stretched; what its damper does is not counted"});
}

void check_breaking(SettingsVisitor& visit, const BreakSettings& s, JointType type,
                    double compliance, double angular_compliance) {
  if (!std::isnan(s.force) && is_among(kHoldNoPoints, type))
    visit.reject("break_force", "the joint holds no points together", "give break_torque");
  if (!std::isnan(s.torque) && is_among(kHoldNoDirections, type))
    visit.reject("break_torque", "the joint holds no directions", "give break_force");
  if (std::isnan(s.energy)) return;
  if (!is_among(kStore, type))
    visit.reject("break_energy", "is for fixed, spherical, revolute, prismatic, distance and rope",
                 "give break_force or break_torque");
  else if (!(compliance > 0.0) && !(angular_compliance > 0.0))
    visit.reject("break_energy", "a joint without compliance stores nothing",
                 "give compliance or angular_compliance, or break_force");
}

}  // namespace catena::scenarios
