// Motion in the world's x-z plane alone: what a scene must be for it, and its contacts.
#pragma once

#include <vector>

#include "catena/collision/contact.hpp"
#include "catena/model/state.hpp"
#include "search/body_fault.hpp"

namespace catena::search {

/// Why this rank's bodies cannot move in the x-z plane alone: the first that cannot; none if they
/// can. A dynamic body has no velocity along y, turns about y alone, and has y for a
/// principal axis (to 1e-9 of its inertia).
BodyFault planar_fault(const Model& model, const Bodies& bodies, const State& state);

/// Projects the contacts of one pair, contacts[first ..], ascending in key, onto the plane: the
/// normal loses its y and the gap is measured along what remains (gap/|n_xz|); a contact with
/// |n_y| > |n_xz| is dropped. Points within `tolerance` (m) of each other in (x, z) are one: the
/// first one's key with the deepest one's geometry, so that the key stays the same from step to
/// step.
void flatten_contacts(std::vector<Contact>& contacts, std::size_t first, double tolerance);

}  // namespace catena::search
