// The description of `controllers:` and what its types do not use.
#include <algorithm>
#include <cctype>
#include <cmath>
#include <span>
#include <string_view>
#include <utility>

#include "catena/base/key_use.hpp"
#include "catena/scenarios/factor.hpp"
#include "catena/simulation/controller_settings.hpp"

namespace catena {

namespace {

constexpr std::string_view kTypes[] = {"pid", "servo", "table", "expression"};
constexpr std::string_view kResponses[] = {"falls", "rises"};

using enum ControllerType;

void check_keys(SettingsVisitor& visit, const ControllerSettings& s) {
  const bool target = !s.target.empty() || s.target_table.present;
  const ControllerSettings usual;
  const KeyUse<ControllerType> uses[] = {
      {"measure", !s.measure.empty(), {pid, servo}, true},
      {"target", target, {pid, servo}, true},
      {"kp", s.kp != 0.0, {pid}, false},
      {"ki", s.ki != 0.0, {pid}, false},
      {"kd", s.kd != 0.0, {pid}, false},
      {"offset", s.offset != 0.0, {pid}, false},
      {"max_velocity", !std::isnan(s.max_velocity), {servo}, true},
      {"gain", s.gain != usual.gain, {servo}, false},
      {"response", s.response != usual.response, {servo}, false},
      {"table", s.table.present, {ControllerType::table}, true},
      {"expression", !s.expression.empty(), {expression}, true}};
  for (const auto& use : uses) check_use<ControllerType>(visit, kTypes, s.type, use);
  if (s.type == pid && s.kp == 0.0 && s.ki == 0.0 && s.kd == 0.0)
    visit.reject("kp", "all of kp, ki and kd are 0: the output would be the offset",
                 "give one of them");
  for (const auto& [key, v] : {std::pair("along", s.along), std::pair("about", s.about)})
    if (v.isZero(0.0)) visit.reject(key, "has no direction", "give a vector that is not zero");
  if (s.limits[0] > s.limits[1]) visit.reject("limits", "do not ascend", "[least, largest]");
}

/// A quantity or an expression, or `{table: ...}`.
void describe_target(SettingsVisitor& visit, ControllerSettings& s) {
  if (!s.target_table.present && !visit.gives_map("target")) {
    visit.visit("target", s.target,
                {.help = "of the measure: a quantity with a unit, an expression, or {table: ...}, "
                         "its value over time"});
    return;
  }
  visit.section("target", {.help = "of the measure over time"},
                [&] { describe_factor_table(visit, "table", s.target_table); });
}

void check_name(SettingsVisitor& visit, const std::string& name) {
  const bool fits =
      std::ranges::all_of(name, [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
  const bool starts = name.empty() || std::isalpha(static_cast<unsigned char>(name[0])) != 0;
  if (!fits || !starts || name == "t" || name == "pi")
    visit.reject("name", "'" + name + "' is no name that expressions can use",
                 "use letters, digits and _, a letter first");
}

void describe_controller(SettingsVisitor& visit, ControllerSettings& s) {
  visit.visit("name", s.name, {.required = true, .help = "unique among controllers"});
  check_name(visit, s.name);
  visit.choose("type", s.type, kTypes,
               {.required = true,
                .help = "`pid`; `servo`: holds a force or stress by moving a drive; `table`, "
                        "`expression`: the output itself (docs/probes.md, Controllers)"});
  visit.visit("drive", s.drive,
              {.required = true,
               .help = "what the output goes to: a joint, whose motor's target it becomes (of a "
                       "winch's rope that of its length), a force or torque of `forces`, on which "
                       "it is a factor, or a body or generator with a `motion`, whose constant "
                       "velocity in one direction it becomes"});
  visit.visit("axis", s.axis, {.min = 1, .max = 2, .help = "of the joint: which coordinate"});
  visit.visit("along", std::span<double>(s.along.data(), 3),
              {.help = "of a motion: direction of the velocity that is driven"});
  visit.visit("about", std::span<double>(s.about.data(), 3),
              {.help = "in its place: axis of the angular velocity that is driven, world frame"});
  visit.visit("measure", s.measure, {.help = "pid, servo: PROBE.COLUMN"});
  describe_target(visit, s);
  visit.visit("interval", s.interval,
              {.unit = "s",
               .min = 0,
               .word = "step",
               .word_value = 0.0,
               .help = "between outputs; `step`: a new one for every step"});
  visit.visit("limits", s.limits,
              {.finite = false,
               .help = "of the output, in its SI unit; .inf for none; a pid does not integrate "
                       "beyond"});
  const SettingInfo gain{.help =
                             "pid, SI: output = offset + kp e + ki (integral of e) - kd "
                             "(rate of the measure), e = target - measure"};
  visit.visit("kp", s.kp, gain);
  visit.visit("ki", s.ki, gain);
  visit.visit("kd", s.kd, gain);
  visit.visit("offset", s.offset, {.help = "pid: output at no error, SI"});
  visit.visit("max_velocity", s.max_velocity,
              {.unit = "m/s", .min = 0, .min_open = true, .help = "servo: of its drive"});
  visit.visit("gain", s.gain,
              {.min = 0,
               .max = 1,
               .min_open = true,
               .help = "servo: part of the error that one interval takes back, by the stiffness "
                       "measured so far"});
  visit.choose("response", s.response, kResponses,
               {.help = "servo: what the measure does when the drive moves forward"});
  describe_factor_table(visit, "table", s.table);
  visit.visit("expression", s.expression,
              {.help = "of t, pi, parameters, PROBE.COLUMN, and names of other controllers, whose "
                       "outputs they are"});
  visit.words("parameters", s.parameters, {.help = "numbers that expressions use by name"});
  s.place = visit.where("");
  check_keys(visit, s);
}

}  // namespace

void describe_controllers(SettingsVisitor& visit, std::vector<ControllerSettings>& controllers) {
  visit.list(
      "controllers", controllers.size(),
      {.help = "what drives motors, forces and motions by what probes measure (docs/probes.md)"},
      [&](std::size_t n) { controllers.assign(n, {}); },
      [&](std::size_t i) {
        describe_controller(visit, controllers[i]);
        for (std::size_t k = 0; k < i; ++k)
          if (!controllers[i].name.empty() && controllers[k].name == controllers[i].name)
            visit.reject("name", "the name '" + controllers[i].name + "' is taken",
                         "choose another");
      });
}

}  // namespace catena
