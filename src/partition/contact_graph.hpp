// Contacts as edges and weights of bodies: what the partition, its measure and the plan share.
#pragma once

#include <cstdint>
#include <vector>

#include "catena/comm/communicator.hpp"
#include "catena/partition/contact_search.hpp"

namespace catena::partition_detail {

inline constexpr std::int64_t kRowsPerContact = 3;

inline bool is_dynamic(const BodyConstants& body) { return body.kind == BodyKind::dynamic; }

/// Whether both bodies of a contact are dynamic: only those couple two ranks.
bool joins_dynamic(const ContactSet& set, const Contact& contact);

/// Local index of the body whose owner holds the contact: an owned one.
Index home_index(const ContactSet& set, const Contact& contact);

/// Work of each owned body in rows: those of contacts whose home it is, plus one; 0 for
/// prescribed bodies.
std::vector<std::int64_t> body_weights(const Bodies& bodies, const ContactSet& set);

/// Collective. A number per owned body, continued to ghosts of dynamic bodies; -1 for others.
/// Exact below 2^53.
std::vector<std::int64_t> with_ghosts(const Communicator& comm, const ContactSet& set,
                                      const std::vector<std::int64_t>& owned);

}  // namespace catena::partition_detail
