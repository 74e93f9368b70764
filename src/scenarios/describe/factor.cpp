// The description of tables over time: factors, and targets of motors.
#include "catena/scenarios/factor.hpp"

#include "catena/base/index.hpp"
#include "scenarios/flow_parts.hpp"
#include "scenarios/joint_parts.hpp"

namespace catena {

namespace scenarios {

namespace {

constexpr std::string_view kTableValues[] = {"factor", "position", "velocity", "force"};

/// Unit of the rows' values.
std::string_view unit_of(TableValues values, bool angular) {
  if (values == TableValues::position) return angular ? "rad" : "m";
  if (values == TableValues::velocity) return angular ? "rad/s" : "m/s";
  if (values == TableValues::force) return angular ? "N m" : "N";
  return {};
}

void describe_rows(SettingsVisitor& visit, std::string_view unit, FactorSettings& s) {
  std::size_t width = 2;
  visit.visit("file", s.file, {.help = "CSV with the columns t, value, in SI"});
  visit.rows("rows", s.rows, width,
             {.unit = unit, .first_unit = "s", .help = "t in s, ascending, and the value"});
  Interpolation interpolation = s.interpolation_or_default();
  scenarios::describe_interpolation(visit, interpolation);
  s.interpolation = interpolation;
  if (s.file.empty() == s.rows.empty()) {
    visit.reject("", s.file.empty() ? "nothing is given" : "has a file and rows",
                 "give rows or file");
  }
  for (std::size_t i = 2; i < s.rows.size(); i += 2) {
    if (s.rows[i] > s.rows[i - 2]) continue;
    visit.reject("rows", "times do not ascend", "sort the rows by time");
    return;
  }
}

}  // namespace

void describe_factor(SettingsVisitor& visit, FactorSettings& s) {
  visit.optional_section("table", s.present,
                         {.help = "factor over time; constant before and after its rows"},
                         [&] { describe_rows(visit, {}, s); });
}

void describe_motor_table(SettingsVisitor& visit, bool angular, FactorSettings& s) {
  visit.optional_section(
      "table", s.present,
      {.help = "target over time, or a factor on it; constant before and after its rows"}, [&] {
        visit.choose(
            "values", s.values, kTableValues,
            {.help = "`factor`: on velocity, position or force; `position`, `velocity`, "
                     "`force`: the rows are the target itself, in m or rad (m/s, rad/s; N, "
                     "N m), in their place"});
        describe_rows(visit, unit_of(s.values, angular), s);
      });
}

void describe_lift(SettingsVisitor& visit, LiftSettings& s) {
  FactorSettings& table = s.table;
  visit.optional_section(
      "lift", table.present,
      {.help = "of a cam's follower over the angle of the cam, for one turn, which repeats itself"},
      [&] {
        s.place = visit.where("");
        table.values = TableValues::position;  // interpolated as these
        std::size_t width = 2;
        visit.visit("file", table.file, {.help = "CSV with the columns angle, lift, in rad and m"});
        visit.rows("rows", table.rows, width,
                   {.unit = "m",
                    .first_unit = "rad",
                    .help = "angle from 0 to 360 deg, ascending, and the lift, the same at both"});
        Interpolation interpolation = table.interpolation_or_default();
        describe_interpolation(visit, interpolation);
        table.interpolation = interpolation;
        if (interpolation == Interpolation::linear)
          visit.reject("interpolation", "`linear` has a kink at every row, which hits the follower",
                       "give monotone or cubic");
        if (table.file.empty() == table.rows.empty())
          visit.reject("", table.file.empty() ? "nothing is given" : "has a file and rows",
                       "give rows or file");
        for (std::size_t i = 2; i < table.rows.size(); i += 2) {
          if (table.rows[i] > table.rows[i - 2]) continue;
          visit.reject("rows", "angles do not ascend", "sort the rows by angle");
          return;
        }
      });
}

void describe_speed_table(SettingsVisitor& visit, bool angular, FactorSettings& s) {
  visit.optional_section(
      "force_over_speed", s.present,
      {.help = "a motor's curve: the force or torque that it gives over the coordinate's speed, "
               "straight between its rows, constant before and after them; falling pieces are "
               "implicit, and damp"},
      [&] {
        std::size_t width = 2;
        visit.rows("rows", s.rows, width,
                   {.unit = angular ? "N m" : "N",
                    .required = true,
                    .first_unit = angular ? "rad/s" : "m/s",
                    .help = "speed, ascending, and the force"});
        for (std::size_t i = 2; i < s.rows.size(); i += 2) {
          if (s.rows[i] > s.rows[i - 2]) continue;
          visit.reject("rows", "speeds do not ascend", "sort the rows by speed");
          return;
        }
      });
}

}  // namespace scenarios

void describe_factor_table(SettingsVisitor& visit, std::string_view key, FactorSettings& s) {
  visit.optional_section(key, s.present,
                         {.help = "value over time, SI; constant before and after its rows"},
                         [&] { scenarios::describe_rows(visit, {}, s); });
}

Interpolation FactorSettings::interpolation_or_default() const {
  return interpolation.value_or(values == TableValues::position ? Interpolation::monotone
                                                                : Interpolation::linear);
}

}  // namespace catena
