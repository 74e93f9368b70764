// What is constant in a run: materials, gravity, contact parameters, prescribed
// motions, names; and the constant data of bodies.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "catena/base/index.hpp"
#include "catena/math/types.hpp"
#include "catena/model/material.hpp"
#include "catena/model/shape.hpp"

namespace catena {

enum class BodyKind : std::uint8_t { dynamic, fixed, kinematic };

enum class ContactLaw : std::uint8_t { coulomb, ccp, box, frictionless };

/// Prescribed motion of a kinematic body from its pose at t = 0: constant velocity of
/// the origin of its frame and constant world angular velocity.
struct Motion {
  Vec3 velocity = Vec3::Zero();          ///< m/s
  Vec3 angular_velocity = Vec3::Zero();  ///< rad/s
};

/// Constant data of one body, plain data that travels between ranks.
struct BodyConstants {
  GlobalId id = kNoBody;
  BodyKind kind = BodyKind::dynamic;
  Shape shape;
  int material = 0;
  int motion = -1;              ///< index into Model::motions for kinematic bodies
  double mass = 0.0;            ///< kg; 0 for fixed and kinematic bodies
  Vec3 inertia = Vec3::Zero();  ///< principal moments, kg m^2, on the axes of the body frame
};

/// What changes of one body, world frame, SI.
struct BodyMotionState {
  Pose pose;
  Twist twist;
};

/// A body whole: as generators make it and as it migrates.
struct BodyRecord {
  BodyConstants constants;
  BodyMotionState state;
};

/// Names of bodies without a string per body: ranges of ids with a common stem.
class NameTable {
 public:
  /// Ids first .. first+count-1 are called `name`, or `name-0`, `name-1`, ... if `numbered`.
  void add(GlobalId first, GlobalId count, std::string name, bool numbered);
  /// Name of a body, "body-<id>" if unknown.
  std::string name_of(GlobalId id) const;
  GlobalId size() const;  ///< one past the largest id

 private:
  struct Range {
    GlobalId first, count;
    std::string name;
    bool numbered;
  };
  std::vector<Range> ranges_;  ///< ascending
};

/// Parameters of contact rows (docs/theory.md, "Contact rows").
struct ContactParameters {
  ContactLaw law = ContactLaw::coulomb;
  double margin = 1e-3;         ///< m; contacts are made where the gap is below this
  double recovery_speed = 1.0;  ///< m/s; penetrations are undone no faster
  double rest_speed = 1e-2;     ///< m/s; slower impacts have no restitution
};

/// Constant in a run and replicated on every rank: O(config), not O(bodies).
struct Model {
  Vec3 gravity = Vec3(0.0, 0.0, -9.81);  ///< m/s^2
  MaterialTable materials;
  ContactParameters contact;
  std::vector<Motion> motions;
  NameTable names;
  /// Unbounded bodies (planes): known to every rank, owned by rank 0 for output, last
  /// in every rank's list of local bodies, ascending in id.
  std::vector<BodyRecord> unbounded;
};

/// Pose and twist at time t of a fixed or kinematic body that started as `start`.
BodyMotionState prescribed_state(const Model& model, const BodyConstants& body,
                                 const BodyMotionState& start, double t);

}  // namespace catena
