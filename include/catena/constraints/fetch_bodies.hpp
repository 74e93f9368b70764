// Numbers of bodies are asked for before a loop over contacts comes to them.
#pragma once

#include <cstddef>
#include <span>

#include "catena/base/fetch.hpp"
#include "catena/constraints/constraint_problem.hpp"

namespace catena {

/// In a loop over `contacts`, at contact k: asks for what `place(b)` points to, 6 numbers of a
/// body, of the bodies of the contact some places on. Bodies of large problems lie beyond the
/// nearer caches, in no simple order.
template <class Place>
[[gnu::always_inline]] inline void fetch_bodies_ahead(std::span<const RigidContact> contacts,
                                                      std::size_t k, const Place& place) {
  constexpr std::size_t kAhead = 8;
  if (k + kAhead >= contacts.size()) return;
  const double* a = place(contacts[k + kAhead].body_a);
  const double* b = place(contacts[k + kAhead].body_b);
  fetch_span(a[0], a[5]);
  fetch_span(b[0], b[5]);
}

}  // namespace catena
