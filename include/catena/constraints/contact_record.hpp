// What a step did at one contact, for results and diagnosis.
#pragma once

#include "catena/math/types.hpp"
#include "catena/model/state.hpp"

namespace catena {

/// A contact as it was found at a step's start, and what the step did there: held by one rank,
/// world frame. Plain numbers, which travel to the rank that writes them.
struct ContactRecord {
  ContactKey key;
  Vec3 point = Vec3::Zero();    ///< m
  Vec3 normal = Vec3::Zero();   ///< unit, from body a to body b
  double gap = 0.0;             ///< m
  Vec3 impulse = Vec3::Zero();  ///< on body b, N s
  Vec3 couple = Vec3::Zero();   ///< of rolling and spinning friction, on body b, N m s
};

}  // namespace catena
