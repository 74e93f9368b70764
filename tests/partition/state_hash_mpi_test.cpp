#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "catena/partition/state_hash.hpp"
#include "partition/lattice_scene.hpp"

namespace catena {
namespace {

using test::Scene;

Scene small_scene(const Communicator& comm) {
  const test::Lattice lattice{{4, 3, 2}};
  Scene scene = test::share_of(comm, lattice,
                               [&](GlobalId id) { return static_cast<int>(id) % comm.size(); });
  test::add_impulses(test::contacts_of(comm, lattice, scene), scene.state);
  return scene;
}

TEST(StateHash, IsTheSameOnAnyNumberOfRanksAndForAnySubdomains) {
  const Communicator comm = Communicator::world();
  Scene scene = small_scene(comm);
  const Scene serial = small_scene(Communicator::self());
  const auto hash = state_hash(comm, scene.bodies, scene.state);
  EXPECT_EQ(hash, state_hash(Communicator::self(), serial.bodies, serial.state));
  for (auto& s : scene.state.subdomain) s = 5;
  scene.state.audit[EnergyTerm::recovery_work] = 3.0;
  EXPECT_EQ(hash, state_hash(comm, scene.bodies, scene.state));
}

TEST(StateHash, EveryMemberCounts) {
  const Communicator comm = Communicator::world();
  const std::vector<std::function<void(Scene&)>> changes{
      [](Scene& s) { s.bodies.constants[0].id = 1000; },
      [](Scene& s) { s.bodies.constants[0].kind = BodyKind::kinematic; },
      [](Scene& s) { s.bodies.constants[0].shape.type = ShapeType::box; },
      [](Scene& s) { s.bodies.constants[0].shape.size.z() = 1.0; },
      [](Scene& s) { s.bodies.constants[0].material = 1; },
      [](Scene& s) { s.bodies.constants[0].motion = 0; },
      [](Scene& s) { s.bodies.constants[0].mass *= 2.0; },
      [](Scene& s) { s.bodies.constants[0].inertia.y() *= 2.0; },
      [](Scene& s) { s.state.body[0].pose.p.x() += 1e-15; },
      [](Scene& s) { s.state.body[0].pose.q.z() = -0.0; },
      [](Scene& s) { s.state.body[0].twist.v.y() += 1e-15; },
      [](Scene& s) { s.state.body[0].twist.w.z() = 1e-300; },
      [](Scene& s) { s.state.impulses[0].impulse.y() = 7.0; },
      [](Scene& s) { s.state.impulses[0].stretch.x() = 1e-9; },
      [](Scene& s) { s.state.impulses[0].tangent_compliance = 1e-9; },
      [](Scene& s) { s.state.impulses[0].start_overlap = 1e-9; },
      [](Scene& s) { s.state.impulses[0].shift = 1e-9; },
      [](Scene& s) { s.state.impulses[0].elastic_energy = 1e-9; },
      [](Scene& s) { s.state.impulses[0].key.feature = 1; },
      [](Scene& s) { s.state.impulses[0].key.part = 1; },
      [](Scene& s) { s.state.impulses.pop_back(); },
      [](Scene& s) {
        s.state.couples.push_back({s.state.impulses[0].key, Vec3::Zero()});
      },
      [](Scene& s) {
        s.state.couples.push_back({s.state.impulses[0].key, Vec3::UnitX()});
      },
      [](Scene& s) {
        s.state.motions.push_back({s.bodies.constants[0].id, {}});
      },
      [](Scene& s) {
        s.state.motions.push_back({s.bodies.constants[0].id, {}});
        s.state.motions.back().start.velocity = Vec3::UnitX();
      },
      [](Scene& s) { s.state.loads.push_back({s.bodies.constants[0].id}); },
      [](Scene& s) {
        s.state.loads.push_back({s.bodies.constants[0].id, Vec3::UnitX()});
      },
      [](Scene& s) { s.bodies.constants[0].collides = false; },
      [](Scene& s) { s.bodies.constants[0].group = 1; },
      [](Scene& s) { s.bodies.constants[0].shape.geometry = 3; },
      [](Scene& s) { s.bodies.constants[0].shape.closed_ends = kUpperEnd; },
      [](Scene& s) { std::swap(s.state.body[0], s.state.body[1]); },
      [](Scene& s) { std::swap(s.state.impulses[0].impulse, s.state.impulses[1].impulse); },
  };
  std::set<std::uint64_t> hashes;
  const Scene original = small_scene(comm);
  hashes.insert(state_hash(comm, original.bodies, original.state));
  for (const auto& change : changes) {
    Scene scene = original;
    if (comm.rank() == 0) change(scene);
    hashes.insert(state_hash(comm, scene.bodies, scene.state));
  }
  Scene later = original;
  later.state.time = 0.1;
  hashes.insert(state_hash(comm, later.bodies, later.state));
  later = original;
  later.state.step = 1;
  hashes.insert(state_hash(comm, later.bodies, later.state));
  later = original;
  later.state.stiffness_step = 1e-3;
  hashes.insert(state_hash(comm, later.bodies, later.state));
  EXPECT_EQ(hashes.size(), changes.size() + 4);
}

}  // namespace
}  // namespace catena
