// Numbers of bodies and pairs that follow from contacts and joints, over ranks.
#pragma once

#include <cstdint>
#include <vector>

#include "catena/comm/communicator.hpp"
#include "catena/constraints/contact_record.hpp"
#include "catena/model/state.hpp"

namespace catena::vtk {

/// A line from body to body; where one of a pair that touches does not move freely, from the other
/// to their contact.
struct Link {
  std::int64_t id = -1;  ///< of a joint
  double force = 0.0;    ///< N, normal force of a pair that presses
  Vec3 a = Vec3::Zero(), b = Vec3::Zero();
};

struct BodyNumbers {
  std::vector<double> force;               ///< N, sum of normal forces, per own body
  std::vector<std::int64_t> coordination;  ///< bodies that press on it, walls and planes too
  std::vector<Link> chains;                ///< of the pairs whose contacts this rank has
  std::vector<Link> joints;                ///< held here, between two bodies
};

/// Collective. `contacts`: this rank's of a step of `step` seconds, ascending in key. Sums are made
/// in the order of keys, so that they are the same on any number of ranks. Memory O(own).
BodyNumbers body_numbers(const Communicator& comm, const Model& model, const Bodies& bodies,
                         const State& state, const std::vector<ContactRecord>& contacts,
                         double step);

}  // namespace catena::vtk
