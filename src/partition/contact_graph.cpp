#include "contact_graph.hpp"

#include "catena/base/error.hpp"
#include "catena/comm/halo_exchange.hpp"

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

std::vector<std::int64_t> body_weights(const Bodies& bodies, const ContactSet& set) {
  std::vector<std::int64_t> weight(bodies.constants.size(), 0);
  for (std::size_t i = 0; i < weight.size(); ++i) {
    if (is_dynamic(bodies.constants[i])) weight[i] = 1;
  }
  for (const Contact& contact : set.contacts) {
    weight[static_cast<std::size_t>(home_index(set, contact))] += kRowsPerContact;
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
