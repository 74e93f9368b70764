// The description of what holds or moves the bodies of a generator.
#include <cmath>

#include "scenarios/flow_parts.hpp"

namespace catena::scenarios {

namespace {

/// Refuses a key that this kind of generator has no use for, where a case gives it.
void refuse_fixed(SettingsVisitor& visit, const std::string& found, const std::string& fix) {
  if (!visit.gives("fixed")) return;
  bool unused = false;
  visit.visit("fixed", unused, {});
  visit.reject("fixed", found, fix);
}

void refuse_motion(SettingsVisitor& visit, const std::string& found, const std::string& fix) {
  if (!visit.gives("motion")) return;
  MotionSettings unused;
  describe_motion(visit, unused, nullptr);
  visit.reject("motion", found, fix);
}

/// Links and knots that are held have no joints, and no mass.
void check_held(SettingsVisitor& visit, const ChainJointSettings& joints, bool anchored) {
  const auto refuse = [&](std::string_view key) {
    visit.reject(key, "has no effect: bodies that are fixed or moved have no joints", "remove it");
  };
  if (anchored) refuse("anchored");
  if (joints.collide) refuse("joined_collide");
  const std::pair<std::string_view, double> keys[] = {
      {"compliance", joints.compliance},       {"angular_compliance", joints.angular_compliance},
      {"damping_time", joints.damping_time},   {"friction", joints.friction},
      {"break_force", joints.breaking.force},  {"break_torque", joints.breaking.torque},
      {"break_energy", joints.breaking.energy}};
  for (const auto& [key, value] : keys)
    if (!std::isnan(value)) refuse(key);
}

void check_held(SettingsVisitor& visit, const ChainSettings& s) {
  check_held(visit, s.joints, s.anchored != ChainAnchors::none);
  if (!std::isnan(s.mass) || !s.inertia.array().isNaN().all())
    visit.reject(std::isnan(s.mass) ? "inertia" : "mass",
                 "a fixed or kinematic body has no use for it", "remove the key, or what holds it");
  if (s.joint != ChainSettings().joint)
    visit.reject("joint", "bodies that are fixed or moved have no joints", "remove it");
}

void check_held(SettingsVisitor& visit, const NetSettings& s) {
  check_held(visit, s.joints, s.anchored != NetAnchors::none);
  if (s.joint != NetSettings().joint)
    visit.reject("joint", "bodies that are fixed or moved have no joints", "remove it");
}

void check_held(SettingsVisitor& visit, const TreeSettings& s) {
  check_held(visit, s.joints, s.anchored);
  if (s.joint != TreeSettings().joint)
    visit.reject("joint", "bodies that are fixed or moved have no joints", "remove it");
}

}  // namespace

void describe_fixture(SettingsVisitor& visit, GeneratorSettings& g) {
  if (g.is<BondSettings>()) return;  // they make no bodies
  if (g.is<InsertionSettings>()) {
    const char* fix = "hold or move bodies of a lattice, table or pack";
    refuse_fixed(visit, "bodies that come in move freely", fix);
    refuse_motion(visit, "bodies that come in move freely, from `velocity` on", fix);
    return;
  }
  if (g.is<ContainerSettings>())
    refuse_fixed(visit, "a container without a motion is fixed anyway", "remove the key");
  else
    visit.visit("fixed", g.fixed, {.help = "its bodies never move"});
  describe_motion(visit, g.motion, nullptr);
  if (!g.held()) return;
  if (g.fixed && g.motion.present)
    visit.reject("fixed", "bodies are either fixed or have a motion", "remove one");
  std::visit(
      [&](const auto& s) {
        if constexpr (requires { s.velocity; }) {
          if (!s.velocity.isZero(0.0))
            visit.reject("velocity", "has no effect here",
                         g.fixed ? "fixed bodies do not move" : "give it in the motion");
        }
        if constexpr (requires { s.angular_velocity; }) {
          if (!s.angular_velocity.isZero(0.0))
            visit.reject("angular_velocity", "has no effect here",
                         g.fixed ? "fixed bodies do not move" : "give it in the motion");
        }
        if constexpr (requires { check_held(visit, s); }) check_held(visit, s);
      },
      g.kind);
}

}  // namespace catena::scenarios
