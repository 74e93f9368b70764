#include "contact_graph.hpp"

#include "catena/base/error.hpp"
#include "catena/comm/halo_exchange.hpp"
#include "joint_homes.hpp"

namespace catena::partition_detail {

bool joins_dynamic(const ContactSet& set, const Contact& contact) {
  const auto& all = set.bodies.constants;
  return is_dynamic(all[static_cast<std::size_t>(contact.body_a)]) &&
         is_dynamic(all[static_cast<std::size_t>(contact.body_b)]);
}

Index home_index(const ContactSet& set, const Contact& contact) {
  const auto& a = set.bodies.constants[static_cast<std::size_t>(contact.body_a)];
  const auto& b = set.bodies.constants[static_cast<std::size_t>(contact.body_b)];
  const Index home = home_of(a, b) == a.id ? contact.body_a : contact.body_b;
  CATENA_CHECK(home < set.bodies.n_owned, "a contact is held by the owner of its home body");
  return home;
}

std::int64_t rows_of(JointType type) {
  switch (type) {
    case JointType::fixed:
      return 6;
    case JointType::revolute:
    case JointType::prismatic:
      return 5;
    case JointType::cylindrical:
    case JointType::universal:
      return 4;
    case JointType::spherical:
    case JointType::planar:
    case JointType::rolling:
      return 3;
    case JointType::point_on_line:
      return 2;
    case JointType::distance:
    case JointType::gear:
    case JointType::knife_edge:
    case JointType::spring:
    case JointType::torsion_spring:
      return 1;
  }
  return 0;
}

std::array<Index, kJointBodies> dynamic_bodies(const ContactSet& set, std::size_t j) {
  std::array<Index, kJointBodies> found = {kNoIndex, kNoIndex, kNoIndex};
  std::size_t n = 0;
  for (const std::size_t k : kHomeOrder) {
    const Index body = set.joint_bodies[j][k];
    if (body == kNoIndex) continue;
    if (is_dynamic(set.bodies.constants[static_cast<std::size_t>(body)])) found[n++] = body;
  }
  CATENA_CHECK(n > 0 && found[0] < set.bodies.n_owned, "a joint is held by the owner of its home");
  return found;
}

std::vector<std::int64_t> body_weights(const Bodies& bodies, const ContactSet& set) {
  std::vector<std::int64_t> weight(bodies.constants.size(), 0);
  for (std::size_t i = 0; i < weight.size(); ++i) {
    if (is_dynamic(bodies.constants[i])) weight[i] = 1;
  }
  for (const Contact& contact : set.contacts) {
    weight[static_cast<std::size_t>(home_index(set, contact))] += kRowsPerContact;
  }
  for (std::size_t j = 0; j < set.joint_bodies.size(); ++j) {
    const Index home = dynamic_bodies(set, j)[0];
    weight[static_cast<std::size_t>(home)] += rows_of(bodies.joints[j].type);
  }
  return weight;
}

std::vector<std::int64_t> with_ghosts(const Communicator& comm, const ContactSet& set,
                                      const std::vector<std::int64_t>& owned) {
  constexpr int kTag = 71;
  std::vector<double> all(static_cast<std::size_t>(set.bodies.size()), -1.0);
  for (std::size_t i = 0; i < owned.size(); ++i) all[i] = static_cast<double>(owned[i]);
  HaloExchange halo(comm, set.ghosts, 1, kTag);
  halo.begin(all);
  halo.end(all);
  std::vector<std::int64_t> result;
  result.reserve(all.size());
  for (const double value : all) result.push_back(static_cast<std::int64_t>(value));
  return result;
}

}  // namespace catena::partition_detail
