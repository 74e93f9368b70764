#include "search/joint_ghosts.hpp"

#include <algorithm>
#include <iterator>

#include "catena/base/error.hpp"

namespace catena::search {

namespace {

/// Place of an id in an ascending list, or its size.
std::size_t place_in(const std::vector<GlobalId>& ids, GlobalId id) {
  const auto at = std::lower_bound(ids.begin(), ids.end(), id);
  return at != ids.end() && *at == id ? static_cast<std::size_t>(at - ids.begin()) : ids.size();
}

}  // namespace

void merge_offers(Offers& offers, const Offers& of_joints) {
  if (of_joints.empty()) return;
  Offers merged;
  auto a = offers.begin();
  auto b = of_joints.begin();
  while (a != offers.end() || b != of_joints.end()) {
    if (b == of_joints.end() || (a != offers.end() && a->first < b->first)) {
      merged.push_back(std::move(*a++));
    } else if (a == offers.end() || b->first < a->first) {
      merged.push_back(*b++);
    } else {
      auto& [rank, list] = merged.emplace_back(a->first, std::vector<Index>{});
      std::set_union(a->second.begin(), a->second.end(), b->second.begin(), b->second.end(),
                     std::back_inserter(list));
      ++a, ++b;
    }
  }
  offers = std::move(merged);
}

bool joints_need(const JointLinks& links, const BodyConstants& ghost) {
  return ghost.jointed && std::binary_search(links.needed.begin(), links.needed.end(), ghost.id);
}

void find_joint_bodies(const Bodies& bodies, ContactSet& set) {
  const JointLinks& links = bodies.links;
  CATENA_CHECK(links.body.size() == bodies.joints.size(), "joints are linked");
  set.joint_bodies = links.body;
  if (links.outside.empty()) return;
  const LocalBodies& local = set.bodies;
  std::vector<Index> needed_at(links.needed.size(), kNoIndex);
  for (Index i = local.n_owned; i < local.n_owned + local.n_ghost; ++i) {
    const std::size_t place = place_in(links.needed, local.constants[i].id);
    if (place < needed_at.size()) needed_at[place] = i;
  }
  const auto find = [&](GlobalId id) {
    const std::size_t place = place_in(links.needed, id);
    if (place < needed_at.size()) return needed_at[place];
    for (Index i = local.n_owned + local.n_ghost; i < local.size(); ++i) {
      if (local.constants[i].id == id) return i;
    }
    return kNoIndex;
  };
  for (const Index joint : links.outside) {
    for (std::size_t k = 0; k < kJointBodies; ++k) {
      const GlobalId id = bodies.joints[joint].body[k];
      if (id == kNoBody || set.joint_bodies[joint][k] != kNoIndex) continue;
      set.joint_bodies[joint][k] = find(id);
      CATENA_CHECK(set.joint_bodies[joint][k] != kNoIndex, "a joint acts on bodies that exist");
    }
  }
}

}  // namespace catena::search
