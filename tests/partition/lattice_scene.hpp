// Touching unit spheres on a lattice, dealt to ranks at will: contacts, ghosts and halo from
// the lattice itself, so that the partition is tested without the contact search.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "catena/base/random.hpp"
#include "catena/partition/balance.hpp"
#include "support/all_ranks.hpp"

namespace catena::test {

/// nx x ny x nz spheres a metre apart; id = x + nx (y + ny z). Which are fixed, which touch
/// and their radii as wished.
struct Lattice {
  std::array<std::int64_t, 3> n{};
  std::function<bool(GlobalId)> fixed = [](GlobalId) { return false; };
  std::function<double(GlobalId)> radius = [](GlobalId) { return 0.5; };
  /// Whether the pair of neighbours touches.
  std::function<bool(GlobalId, GlobalId)> touches = [](GlobalId, GlobalId) { return true; };

  std::int64_t size() const { return n[0] * n[1] * n[2]; }
  std::array<std::int64_t, 3> cell(GlobalId id) const {
    return {id % n[0], id / n[0] % n[1], id / (n[0] * n[1])};
  }
  BodyRecord body(GlobalId id) const {
    BodyRecord record;
    BodyConstants& b = record.constants;
    b.id = id;
    b.shape = {ShapeType::sphere, Vec3(radius(id), 0.0, 0.0)};
    b.kind = fixed(id) ? BodyKind::fixed : BodyKind::dynamic;
    b.mass = fixed(id) ? 0.0 : 1.0 + uniform01(3, static_cast<std::uint64_t>(id), 0);
    b.inertia = Vec3::Constant(0.1 * b.mass);
    const auto c = cell(id);
    record.state.pose.p =
        Vec3(static_cast<double>(c[0]), static_cast<double>(c[1]), static_cast<double>(c[2]));
    for (int i = 0; i < 3; ++i) {
      record.state.twist.v[i] =
          uniform_pm1(4, static_cast<std::uint64_t>(id), static_cast<std::uint64_t>(i));
    }
    return record;
  }
  /// Neighbours in contact, ascending.
  std::vector<GlobalId> neighbours(GlobalId id) const {
    const auto c = cell(id);
    const std::array<std::int64_t, 3> stride{1, n[0], n[0] * n[1]};
    std::vector<GlobalId> found;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      if (c[axis] > 0) found.push_back(id - stride[axis]);
      if (c[axis] + 1 < n[axis]) found.push_back(id + stride[axis]);
    }
    std::erase_if(found, [&](GlobalId other) {
      return !touches(std::min(id, other), std::max(id, other)) || (fixed(id) && fixed(other));
    });
    std::sort(found.begin(), found.end());
    return found;
  }
};

struct Scene {
  Bodies bodies;
  State state;
};

inline void append(Scene& scene, const BodyRecord& record) {
  scene.bodies.constants.push_back(record.constants);
  scene.state.body.push_back(record.state);
  scene.state.subdomain.push_back(0);
}

/// The bodies of the lattice for which owner(id) is this rank.
inline Scene share_of(const Communicator& comm, const Lattice& lattice,
                      const std::function<int(GlobalId)>& owner) {
  Scene scene;
  for (GlobalId id = 0; id < lattice.size(); ++id) {
    if (owner(id) == comm.rank()) append(scene, lattice.body(id));
  }
  return scene;
}

/// Collective. Value of every body over all ranks, by id.
inline std::map<GlobalId, std::int64_t> gather_by_id(const Communicator& comm, const Bodies& bodies,
                                                     const std::vector<std::int64_t>& values) {
  std::vector<std::int64_t> own;
  for (std::size_t i = 0; i < values.size(); ++i) {
    own.push_back(bodies.constants[i].id);
    own.push_back(values[i]);
  }
  const std::vector<std::int64_t> all = all_of(comm, own);
  std::map<GlobalId, std::int64_t> result;
  for (std::size_t i = 0; i < all.size(); i += 2) result[all[i]] = all[i + 1];
  return result;
}

/// Collective. The contact set of the lattice as the bodies lie on the ranks now.
inline ContactSet contacts_of(const Communicator& comm, const Lattice& lattice,
                              const Scene& scene) {
  const std::vector<std::int64_t> here(scene.bodies.constants.size(), comm.rank());
  const auto owner = gather_by_id(comm, scene.bodies, here);
  const auto home = [&](GlobalId a, GlobalId b) {
    return home_of(lattice.body(a).constants, lattice.body(b).constants);
  };
  ContactSet set;
  LocalBodies& local = set.bodies;
  std::map<GlobalId, Index> index;
  for (const BodyConstants& body : scene.bodies.constants) {
    index[body.id] = local.size();
    local.constants.push_back(body);
    local.owner.push_back(comm.rank());
  }
  for (const BodyMotionState& body : scene.state.body) local.state.push_back(body);
  local.n_owned = local.size();
  std::set<std::pair<std::int64_t, GlobalId>> ghosts;  // owner, id
  std::map<std::int64_t, std::set<GlobalId>> sent;     // to rank, ids
  for (const BodyConstants& body : scene.bodies.constants) {
    for (const GlobalId other : lattice.neighbours(body.id)) {
      const std::int64_t rank = owner.at(other);
      if (rank == comm.rank()) continue;
      if (home(body.id, other) == body.id)
        ghosts.emplace(rank, other);
      else if (body.kind == BodyKind::dynamic)
        sent[rank].insert(body.id);
    }
  }
  std::map<std::int64_t, HaloPlan::Neighbour> plan;
  for (const auto& [rank, id] : ghosts) {
    index[id] = local.size();
    const BodyRecord record = lattice.body(id);
    if (record.constants.kind == BodyKind::dynamic) plan[rank].receive.push_back(local.size());
    local.constants.push_back(record.constants);
    local.state.push_back(record.state);
    local.owner.push_back(static_cast<int>(rank));
  }
  local.n_ghost = local.size() - local.n_owned;
  for (const auto& [rank, ids] : sent) {
    for (const GlobalId id : ids) plan[rank].send.push_back(index.at(id));
  }
  for (auto& [rank, neighbour] : plan) {
    neighbour.rank = static_cast<int>(rank);
    set.ghosts.neighbours.push_back(neighbour);
  }
  for (const BodyConstants& body : scene.bodies.constants) {
    for (const GlobalId other : lattice.neighbours(body.id)) {
      if (home(body.id, other) != body.id) continue;
      Contact contact;
      contact.key = {std::min(body.id, other), std::max(body.id, other), 0, 0};
      contact.body_a = index.at(contact.key.a);
      contact.body_b = index.at(contact.key.b);
      contact.gap = 0.0;
      contact.normal = Vec3::UnitX();
      contact.point = Vec3::Zero();
      set.contacts.push_back(contact);
    }
  }
  std::sort(set.contacts.begin(), set.contacts.end(),
            [](const Contact& a, const Contact& b) { return a.key < b.key; });
  return set;
}

/// Impulses of the contacts held here, numbers made from their keys.
inline void add_impulses(const ContactSet& set, State& state) {
  for (const Contact& contact : set.contacts) {
    const auto seed = static_cast<std::uint64_t>(contact.key.a * 1000003 + contact.key.b);
    state.impulses.push_back(
        {contact.key, Vec3(uniform01(1, seed, 0), uniform01(1, seed, 1), uniform01(1, seed, 2))});
  }
}

}  // namespace catena::test
