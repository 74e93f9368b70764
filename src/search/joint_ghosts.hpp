// Other ranks' bodies on which joints act, among the ghosts of a step.
#pragma once

#include <utility>
#include <vector>

#include "catena/model/state.hpp"
#include "catena/search/contact_search.hpp"

namespace catena::search {

using Offers = std::vector<std::pair<int, std::vector<Index>>>;

/// Adds to `offers` what joints need: both ascending in rank and index, and so is the result.
void merge_offers(Offers& offers, const Offers& of_joints);

/// Whether joints held here act on this ghost.
bool joints_need(const JointLinks& links, const BodyConstants& ghost);

/// Fills set.joint_bodies; ghosts and unbounded bodies are in their places.
void find_joint_bodies(const Bodies& bodies, ContactSet& set);

}  // namespace catena::search
