// The description of one of `forces:`.
#include <cmath>

#include "catena/base/key_use.hpp"
#include "scenarios/joint_parts.hpp"

namespace catena::scenarios {

namespace {

constexpr std::string_view kForces[] = {"spring", "damper", "torsional_spring", "force", "torque"};
constexpr std::string_view kFrames[] = {"world", "body"};

using enum ForceType;

void check_keys(SettingsVisitor& visit, const ForceSettings& s) {
  const auto given = [](double value) { return !std::isnan(value); };
  const bool acts = s.type == force || s.type == torque;
  const KeyUse<ForceType> uses[] = {
      {"between", !s.between.empty(), {spring, damper, torsional_spring}, false},
      {"body", !s.body.empty(), {force, torque}, acts},
      {"at", !s.at.empty(), {spring, damper, torsional_spring, force}, !acts},
      {"axis", is_set(s.axis), {torsional_spring}, true},
      {"stiffness", given(s.stiffness), {spring, torsional_spring}, true},
      {"damping", given(s.damping), {spring, damper, torsional_spring}, s.type == damper},
      {"length", given(s.length), {spring}, false},
      {"angle", given(s.angle), {torsional_spring}, false},
      {"force", is_set(s.force), {force}, true},
      {"torque", is_set(s.torque), {torque}, true},
      {"frame", s.body_frame, {force, torque}, false},
      {"table", s.table.present, {force, torque}, false}};
  for (const auto& use : uses) check_use<ForceType>(visit, kForces, s.type, use);
}

/// What loads must keep to in the x-z plane of two dimensions.
void check_in_plane(SettingsVisitor& visit, const ForceSettings& s) {
  if (is_set(s.force) && s.force[1] != 0.0) {
    visit.reject("force", "leaves the plane of two dimensions", "it has x and z only");
  } else if (is_set(s.torque) && (s.torque[0] != 0.0 || s.torque[2] != 0.0)) {
    visit.reject("torque", "leaves the plane of two dimensions", "it has y only");
  }
}

void check_force(SettingsVisitor& visit, const SceneSettings& scene, const BodyNames& names,
                 const ForceSettings& s) {
  const bool acts = s.type == force || s.type == torque;
  check_keys(visit, s);
  const std::size_t points = s.at.size() / 3;
  const bool two = s.type == spring || s.type == damper;
  if (points > 0 && points != (two ? 2U : 1U)) {
    visit.reject("at", two ? "needs two points, one of each body" : "needs one point",
                 "found " + std::to_string(points));
  }
  if (is_set(s.axis) && !(s.axis.norm() > 0.0)) {
    visit.reject("axis", "the axis has no length", "give a direction such as [0, 0, 1]");
  }
  if (scene.dimension == 2) check_in_plane(visit, s);
  if (!acts || s.body.empty()) return;
  check_body_name(visit, names, "body", s.body, false);
  const NamedBody body = names.find(s.body);
  if (body.kind != NamedBody::Kind::unknown && !names.dynamic(body) &&
      body.kind != NamedBody::Kind::world) {
    visit.reject("body", "'" + s.body + "' does not move freely", "name a dynamic body");
  }
}

}  // namespace

void describe_force(SettingsVisitor& visit, const SceneSettings& scene, const BodyNames& names,
                    ForceSettings& s) {
  visit.visit("name", s.name, {.required = true, .help = "unique among joints and forces"});
  visit.choose("type", s.type, kForces,
               {.required = true,
                .help = "springs and dampers act between two bodies, a force or torque on one"});
  std::size_t width = 3;
  const bool angular = s.type == torsional_spring;
  const bool acts = s.type == force || s.type == torque;
  visit.visit("between", s.between,
              {.help = "of springs and dampers: two bodies, a and b; NAME-12 of a generator, "
                       "`world` for one of them"});
  if (!acts) check_between(visit, names, false, s.between);
  visit.visit("body", s.body, {.help = "on which a force or torque acts"});
  visit.rows("at", s.at, width,
             {.unit = "m",
              .row_alone = true,
              .help = "at the start, world frame: both ends of a spring or damper, one point of a "
                      "torsional spring, where a force acts (else the centre of mass)"});
  visit.visit("axis", numbers(s.axis),
              {.help = "of a torsional spring, at the start, world frame; it turns with a"});
  visit.visit("stiffness", s.stiffness,
              {.unit = angular ? "N m/rad" : "N/m",
               .min = 0,
               .help = "of a spring; torsional ones N m/rad"});
  visit.visit("damping", s.damping,
              {.unit = angular ? "N m s/rad" : "N s/m",
               .min = 0,
               .help = "of a spring or damper; torsional ones N m s/rad"});
  visit.visit("length", s.length,
              {.unit = "m", .min = 0, .help = "of a spring without force; else as at the start"});
  visit.visit(
      "angle", s.angle,
      {.unit = "rad", .help = "of a torsional spring without torque, from the start; else 0"});
  visit.visit("force", numbers(s.force), {.unit = "N", .help = "of type force"});
  visit.visit("torque", numbers(s.torque), {.unit = "N m", .help = "of type torque"});
  int frame = s.body_frame ? 1 : 0;
  visit.choice(
      "frame", frame, kFrames,
      {.help = "`body`: force or torque are given on the axes of the body's shape and turn "
               "with it"});
  s.body_frame = frame == 1;
  describe_factor(visit, s.table);
  s.place = visit.where("");
  check_force(visit, scene, names, s);
}

}  // namespace catena::scenarios
