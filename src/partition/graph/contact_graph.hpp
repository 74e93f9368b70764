// Contacts and joints as edges and weights of bodies: what the partition, its measure and the plan
// share.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "catena/comm/communicator.hpp"
#include "catena/partition/cost_model.hpp"
#include "catena/search/contact_search.hpp"

namespace catena::partition {

inline constexpr std::int64_t kRowsPerContact = 3;

inline bool is_dynamic(const BodyConstants& body) { return body.kind == BodyKind::dynamic; }

/// Whether both bodies of a contact are dynamic: only those couple two ranks.
bool joins_dynamic(const ContactSet& set, const Contact& contact);

/// Local indices of the dynamic bodies of joint j, in the order in which the first is its home (an
/// owned one); kNoIndex in the rest.
std::array<Index, kJointBodies> dynamic_bodies(const ContactSet& set, std::size_t j);

/// Calls visit(a, b, rows) for each pair of dynamic local bodies that a contact of this rank
/// couples.
template <class Visit>
void for_each_contact_edge(const ContactSet& set, Visit&& visit) {
  for (const Contact& contact : set.contacts) {
    if (joins_dynamic(set, contact)) visit(contact.body_a, contact.body_b, kRowsPerContact);
  }
}

/// The same of joints, with the rows of their types.
template <class Visit>
void for_each_joint_edge(const Bodies& bodies, const ContactSet& set, Visit&& visit) {
  for (std::size_t j = 0; j < set.joint_bodies.size(); ++j) {
    const auto body = dynamic_bodies(set, j);
    const std::int64_t rows = rows_of(bodies.joints[j].type);
    for (std::size_t k = 1; k < body.size() && body[k] != kNoIndex; ++k) {
      for (std::size_t l = 0; l < k; ++l) visit(body[l], body[k], rows);
    }
  }
}

/// The same of both.
template <class Visit>
void for_each_edge(const Bodies& bodies, const ContactSet& set, Visit&& visit) {
  for_each_contact_edge(set, visit);
  for_each_joint_edge(bodies, set, visit);
}

/// Local index of the body whose owner holds the contact: an owned one.
Index home_index(const ContactSet& set, const Contact& contact);

/// Counted work of each owned body and of the contacts and joints whose home it is, times
/// rate.factor; 0 for prescribed bodies without any.
std::vector<PartWork> body_weights(const Bodies& bodies, const ContactSet& set,
                                   const WorkRate& rate = {});

/// Collective. Of parts, `own` being this rank's work of each.
WorkBalance balance_of_parts(const Communicator& comm, std::span<const PartWork> own);

/// Collective. A number per owned body, continued to ghosts of dynamic bodies; -1 for others.
/// Exact below 2^53.
std::vector<std::int64_t> with_ghosts(const Communicator& comm, const ContactSet& set,
                                      const std::vector<std::int64_t>& owned);

}  // namespace catena::partition
