// What a case says of controllers (docs/probes.md, "Controllers").
#pragma once

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "catena/base/settings.hpp"
#include "catena/math/types.hpp"
#include "catena/scenarios/joint_settings.hpp"

namespace catena {

/// Kinds of controllers.
enum class ControllerType { pid, servo, table, expression };

/// Which way a servo's measure goes when its drive moves forward.
enum class ServoResponse { falls, rises };

/// One of `controllers:`.
struct ControllerSettings {
  std::string name, place;  ///< place: file, line, column and path, for errors
  ControllerType type = ControllerType::pid;
  std::string drive;  ///< a joint with a motor, a force or torque of `forces`, or what has a motion
  int axis = 1;       ///< of the joint: its first or second coordinate
  Vec3 along = Vec3::Constant(kNone);  ///< of a motion: direction of the velocity that is driven
  Vec3 about = Vec3::Constant(kNone);  ///< or of the angular velocity
  std::string measure;                 ///< PROBE.COLUMN
  std::string target;                  ///< a quantity in the unit of the measure, or an expression
  FactorSettings target_table;         ///< in its place
  double interval = 0.0;               ///< s; 0: every step
  std::array<double, 2> limits = {kNone, kNone};                ///< of the output
  double kp = 0.0, ki = 0.0, kd = 0.0, offset = 0.0;            ///< pid, SI
  double max_velocity = kNone;                                  ///< servo, m/s or rad/s
  double gain = 0.3;                                            ///< servo
  ServoResponse response = ServoResponse::falls;                ///< servo
  FactorSettings table;                                         ///< table: the output over time
  std::string expression;                                       ///< the output
  std::vector<std::pair<std::string, std::string>> parameters;  ///< numbers by name
};

/// The key `controllers`.
void describe_controllers(SettingsVisitor& visit, std::vector<ControllerSettings>& controllers);

}  // namespace catena
