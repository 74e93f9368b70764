#include "partition/graph/contact_graph.hpp"

#include <algorithm>
#include <cmath>

#include "catena/base/error.hpp"
#include "catena/comm/halo_exchange.hpp"
#include "partition/ownership/joint_homes.hpp"

namespace catena::partition {

bool joins_dynamic(const ContactSet& set, const Contact& contact) {
  const auto& all = set.bodies.constants;
  return is_dynamic(all[contact.body_a]) && is_dynamic(all[contact.body_b]);
}

Index home_index(const ContactSet& set, const Contact& contact) {
  const auto& a = set.bodies.constants[contact.body_a];
  const auto& b = set.bodies.constants[contact.body_b];
  const Index home = home_of(a, b) == a.id ? contact.body_a : contact.body_b;
  CATENA_CHECK(home < set.bodies.n_owned, "a contact is held by the owner of its home body");
  return home;
}

std::array<Index, kJointBodies> dynamic_bodies(const ContactSet& set, std::size_t j) {
  std::array<Index, kJointBodies> found = {kNoIndex, kNoIndex, kNoIndex};
  std::size_t n = 0;
  for (const std::size_t k : kHomeOrder) {
    const Index body = set.joint_bodies[j][k];
    if (body == kNoIndex) continue;
    if (is_dynamic(set.bodies.constants[body])) found[n++] = body;
  }
  CATENA_CHECK(n > 0 && found[0] < set.bodies.n_owned, "a joint is held by the owner of its home");
  return found;
}

std::vector<PartWork> body_weights(const Bodies& bodies, const ContactSet& set,
                                   const WorkRate& rate) {
  std::vector<std::int64_t> rows(bodies.constants.size(), 0), joint_rows(rows);
  for (const Contact& contact : set.contacts) {
    rows[home_index(set, contact)] += kRowsPerContact;
  }
  for (std::size_t j = 0; j < set.joint_bodies.size(); ++j) {
    joint_rows[dynamic_bodies(set, j)[0]] += rows_of(bodies.joints[j].type);
  }
  std::vector<PartWork> weight;
  weight.reserve(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::int64_t one = is_dynamic(bodies.constants[i]) ? 1 : 0;
    weight.push_back({std::llround(rate.factor * counted_work(rows[i], rate.sweeps, one)),
                      std::llround(rate.factor * joint_work(joint_rows[i], rate.sweeps))});
  }
  return weight;
}

WorkBalance balance_of_parts(const Communicator& comm, std::span<const PartWork> own) {
  std::vector<double> work;
  for (const PartWork& part : own)
    for (const std::int64_t w : {part.contacts, part.joints})
      work.push_back(static_cast<double>(w));
  comm.sum(work);
  std::array<double, 2> largest = {0.0, 0.0}, mean = largest;
  for (std::size_t i = 0; i < work.size(); ++i) {
    largest[i % 2] = std::max(largest[i % 2], work[i]);
    mean[i % 2] += work[i] / static_cast<double>(own.size());
  }
  return balance_of(largest, mean);
}

std::vector<std::int64_t> with_ghosts(const Communicator& comm, const ContactSet& set,
                                      const std::vector<std::int64_t>& owned) {
  std::vector<double> all(set.bodies.size(), -1.0);
  for (std::size_t i = 0; i < owned.size(); ++i) all[i] = static_cast<double>(owned[i]);
  HaloExchange halo(comm, set.ghosts, 1, Tag::graph_parts);
  halo.begin(all);
  halo.end(all);
  std::vector<std::int64_t> result;
  result.reserve(all.size());
  for (const double value : all) result.push_back(static_cast<std::int64_t>(value));
  return result;
}

}  // namespace catena::partition
