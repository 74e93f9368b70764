// Bodies spread over the ranks, whose contacts must be those of one rank.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <vector>

#include "catena/base/random.hpp"
#include "catena/search/contact_search.hpp"
#include "support/all_ranks.hpp"
#include "support/error_of.hpp"
#include "support/shapes.hpp"

namespace catena::test {

inline constexpr double kStep = 2e-3;

using BodyRecords = std::vector<BodyRecord>;
using OwnerOf = std::function<int(const BodyRecord&)>;

inline BodyRecord body(GlobalId id, const Shape& shape, const Vec3& p) {
  BodyRecord record;
  record.constants.id = id;
  record.constants.shape = shape;
  record.constants.mass = 1.0;
  record.constants.inertia = Vec3::Ones();
  record.state.pose.p = p;
  return record;
}

inline Model model_with_floor(GlobalId floor_id) {
  Model model;
  BodyRecord floor = body(floor_id, {ShapeType::plane, Vec3::Zero()}, Vec3::Zero());
  floor.constants.kind = BodyKind::fixed;
  model.unbounded.push_back(floor);
  return model;
}

/// n^3 spheres of radius 0.5 and about, that mostly touch their neighbours.
inline BodyRecords lattice(int n, GlobalId first_id) {
  BodyRecords scene;
  for (int i = 0; i < n * n * n; ++i) {
    const auto k = static_cast<std::uint64_t>(i);
    const Vec3 cell(i % n, (i / n) % n, i / (n * n));
    const Vec3 jitter(uniform_pm1(1, k, 0), uniform_pm1(1, k, 1), uniform_pm1(1, k, 2));
    scene.push_back(body(first_id + i, sphere_shape(0.5 + 0.02 * uniform_pm1(1, k, 3)),
                         cell + 0.02 * jitter + Vec3(0, 0, 0.5)));
    scene.back().state.twist.v = 0.1 * jitter;
    scene.back().state.twist.w = jitter;
  }
  return scene;
}

/// The bodies that `owner_of` gives to a rank; every third place exchanged, so that the
/// local order is not that of ids.
inline void take_share(const BodyRecords& scene, const OwnerOf& owner_of, int rank, Bodies& bodies,
                       State& state) {
  for (const BodyRecord& record : scene) {
    if (owner_of(record) != rank) continue;
    bodies.constants.push_back(record.constants);
    state.body.push_back(record.state);
  }
  for (std::size_t i = 0; i + 7 < bodies.constants.size(); i += 3) {
    std::swap(bodies.constants[i], bodies.constants[i + 7]);
    std::swap(state.body[i], state.body[i + 7]);
  }
}

/// A contact without what depends on the rank.
struct Bare {
  ContactKey key;
  double point[3], normal[3], gap;
};

inline std::vector<Bare> bare(const std::vector<Contact>& contacts) {
  std::vector<Bare> out;
  for (const Contact& c : contacts) {
    out.push_back({c.key,
                   {c.point.x(), c.point.y(), c.point.z()},
                   {c.normal.x(), c.normal.y(), c.normal.z()},
                   c.gap});
  }
  return out;
}

inline std::vector<Bare> gathered(const Communicator& comm, const std::vector<Contact>& contacts) {
  std::vector<Bare> all = all_of(comm, bare(contacts));
  std::sort(all.begin(), all.end(), [](const Bare& x, const Bare& y) { return x.key < y.key; });
  return all;
}

inline bool same(const Bare& x, const Bare& y) {
  return x.key == y.key && std::equal(x.point, x.point + 3, y.point) &&
         std::equal(x.normal, x.normal + 3, y.normal) && x.gap == y.gap;
}

/// The invariants of a set on this rank.
inline void expect_consistent(const ContactSet& set, const Bodies& bodies, const Model& model) {
  const LocalBodies& local = set.bodies;
  const auto n_fixed_part = local.n_owned + local.n_ghost;
  EXPECT_EQ(local.n_owned, bodies.size());
  EXPECT_EQ(local.size(), n_fixed_part + static_cast<Index>(model.unbounded.size()));
  EXPECT_EQ(local.state.size(), local.constants.size());
  EXPECT_EQ(local.owner.size(), local.constants.size());
  EXPECT_TRUE(
      std::is_sorted(local.owner.begin() + local.n_owned, local.owner.begin() + n_fixed_part));
  std::set<Index> touched;
  for (std::size_t k = 0; k < set.contacts.size(); ++k) {
    const Contact& c = set.contacts[k];
    EXPECT_EQ(local.constants[static_cast<std::size_t>(c.body_a)].id, c.key.a);
    EXPECT_EQ(local.constants[static_cast<std::size_t>(c.body_b)].id, c.key.b);
    EXPECT_LT(c.key.a, c.key.b);
    if (k > 0) {
      EXPECT_LT(set.contacts[k - 1].key, c.key);
    }
    touched.insert({c.body_a, c.body_b});
  }
  std::set<Index> received;
  for (const HaloPlan::Neighbour& neighbour : set.ghosts.neighbours) {
    received.insert(neighbour.receive.begin(), neighbour.receive.end());
  }
  for (Index g = local.n_owned; g < n_fixed_part; ++g) {
    const auto i = static_cast<std::size_t>(g);
    EXPECT_TRUE(touched.contains(g)) << "a ghost that nothing needs";
    EXPECT_EQ(received.contains(g), local.constants[i].kind == BodyKind::dynamic);
  }
}

/// Sends every body's id along the plan; ghosts must get their own.
inline void expect_plan_reaches_ghosts(const Communicator& comm, const ContactSet& set) {
  const LocalBodies& local = set.bodies;
  std::vector<double> source(local.constants.size(), -1.0), target(local.constants.size(), -1.0);
  for (std::size_t i = 0; i < static_cast<std::size_t>(local.n_owned); ++i) {
    source[i] = static_cast<double>(local.constants[i].id);
  }
  HaloExchange halo(comm, set.ghosts, 1, Tag::graph_parts);
  halo.begin(source);
  halo.end(target);
  for (const HaloPlan::Neighbour& neighbour : set.ghosts.neighbours) {
    for (const Index g : neighbour.receive) {
      const auto i = static_cast<std::size_t>(g);
      EXPECT_EQ(target[i], static_cast<double>(local.constants[i].id));
      EXPECT_EQ(local.owner[i], neighbour.rank);
    }
    for (const Index i : neighbour.send) EXPECT_LT(i, local.n_owned);
  }
}

/// Finds the contacts with the scene spread over the ranks and on one rank alone; returns
/// those of one rank.
inline std::vector<Bare> expect_same_as_one_rank(const BodyRecords& scene, const OwnerOf& owner_of,
                                                 const Model& model, double time = 0.0) {
  const Communicator comm = Communicator::world(), self = Communicator::self();
  Bodies bodies, all_bodies;
  State state, all_state;
  state.time = all_state.time = time;
  state.plane_motions = all_state.plane_motions = plane_motions(model);
  take_share(scene, owner_of, comm.rank(), bodies, state);
  take_share(
      scene, [](const BodyRecord&) { return 0; }, 0, all_bodies, all_state);
  ContactSet set, alone;
  ContactSearch search(comm, model), search_alone(self, model);

  search_alone.find(all_bodies, all_state, kStep, alone);
  search.find(bodies, state, kStep, set);
  search.find(bodies, state, kStep, set);  // scratch memory of the first call is no matter

  const std::vector<Bare> expected = bare(alone.contacts), found = gathered(comm, set.contacts);
  EXPECT_EQ(found.size(), expected.size());
  for (std::size_t k = 0; k < std::min(found.size(), expected.size()); ++k) {
    EXPECT_TRUE(same(found[k], expected[k])) << found[k].key.a << " " << found[k].key.b << " / "
                                             << expected[k].key.a << " " << expected[k].key.b;
  }
  expect_consistent(set, bodies, model);
  expect_plan_reaches_ghosts(comm, set);
  return expected;
}

inline int n_ranks() { return Communicator::world().size(); }

inline OwnerOf stripes(double width) {
  return [width](const BodyRecord& b) {
    const int stripe = static_cast<int>((b.state.pose.p.x() + 0.5) / width * n_ranks());
    return std::clamp(stripe, 0, n_ranks() - 1);
  };
}

inline OwnerOf shuffled() {
  return [](const BodyRecord& b) {
    return static_cast<int>(mix64(static_cast<std::uint64_t>(b.constants.id)) %
                            static_cast<std::uint64_t>(n_ranks()));
  };
}

/// What find says of the scene.
inline std::string error_of(const BodyRecords& scene, const Model& model) {
  Bodies bodies;
  State state;
  take_share(scene, shuffled(), Communicator::world().rank(), bodies, state);
  ContactSet set;
  return error_of(
      [&] { ContactSearch(Communicator::world(), model).find(bodies, state, kStep, set); });
}

}  // namespace catena::test
