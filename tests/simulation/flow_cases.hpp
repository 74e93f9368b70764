// What tests of bodies that come and go know of all ranks' bodies.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "support/all_ranks.hpp"
#include "support/case_text.hpp"

namespace catena::test {

/// A body as all ranks know it.
struct Known {
  GlobalId id;
  double mass, radius;
  BodyMotionState state;
};

/// Collective. All owned bodies, ascending in id.
inline std::vector<Known> all_bodies(const Simulation& sim) {
  std::vector<Known> own;
  for (std::size_t i = 0; i < sim.bodies().constants.size(); ++i) {
    const BodyConstants& body = sim.bodies().constants[i];
    own.push_back({body.id, body.mass, bounding_radius(body.shape), sim.state().body[i]});
  }
  std::vector<Known> all = all_of(sim.communicator(), own);
  std::sort(all.begin(), all.end(), [](const Known& a, const Known& b) { return a.id < b.id; });
  return all;
}

/// Inserted less removed is what is there, in number exactly and in mass to round-off; columns
/// are whole, and every kept impulse belongs to bodies that are there.
inline void expect_balance(const Simulation& sim, std::int64_t at_start, double mass_at_start) {
  const std::vector<Known> all = all_bodies(sim);
  const FlowSums& flow = sim.state().flow;
  EXPECT_EQ(static_cast<std::int64_t>(all.size()), at_start + flow.inserted - flow.removed);
  double mass = 0.0;
  std::set<GlobalId> ids;
  for (const Known& body : all) {
    mass += body.mass;
    ids.insert(body.id);
  }
  EXPECT_EQ(ids.size(), all.size());
  EXPECT_NEAR(mass, mass_at_start + flow.inserted_mass - flow.removed_mass,
              1e-12 * (1.0 + flow.inserted_mass));
  for_each_body_column(
      [&](const char* name, const auto& column) {
        EXPECT_EQ(column.size(), sim.bodies().constants.size()) << name;
      },
      sim.bodies(), sim.state());
  for (const BodyRecord& body : sim.model().unbounded) ids.insert(body.constants.id);
  for (const KeyedImpulse& impulse : sim.state().impulses) {
    EXPECT_TRUE(ids.contains(impulse.key.a) && ids.contains(impulse.key.b));
  }
}

}  // namespace catena::test
