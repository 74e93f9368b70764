// The way of a tendon over the points of its bodies.
#pragma once

#include <array>

#include "catena/constraints/joint_rows.hpp"

namespace catena {

/// Length of the way, m, and its rate as a row for each body: rate = sum over bodies of row .
/// twist. Legs in a periodic box are those to the nearest image of the next point; a leg without
/// length has no direction and pulls at nothing.
struct TendonWay {
  double length = 0.0;
  std::array<JointGeometry::Row, kJointBodies> row{};
};
TendonWay tendon_way(const JointConstants& joint, const JointPoses& at, const Model& model);

}  // namespace catena
