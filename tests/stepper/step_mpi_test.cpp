// Whole steps over ranks: a periodic box.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "catena/base/random.hpp"
#include "stepper/hand_run.hpp"
#include "support/all_ranks.hpp"

namespace catena {
namespace {

using namespace test;

TEST(PeriodicStep, AGasKeepsItsMomentumAndStaysInTheBox) {
  const Communicator comm = Communicator::world();
  Model model = periodic_model();
  std::vector<BodyRecord> scene;
  Vec3 momentum = Vec3::Zero();
  for (int i = 0; i < 64; ++i) {
    const auto k = static_cast<std::uint64_t>(i);
    const Vec3 v(uniform_pm1(3, k, 0), uniform_pm1(3, k, 1), uniform_pm1(3, k, 2));
    scene.push_back(ball(
        i, 0.2, Vec3(0.5 * (i % 4) + 0.25, 0.5 * (i / 4 % 4) - 0.75, 0.5 * (i / 16)), 2.0 * v));
    momentum += scene.back().constants.mass * 2.0 * v;
  }
  HandRun run(comm, model, scene);

  const StepReport& r = run.steps(200);

  EXPECT_GT(r.audit[EnergyTerm::dissipation_impact], 1.0);  // they did meet
  EXPECT_NEAR((r.linear_momentum - momentum).norm(), 0.0, 1e-12);
  EXPECT_NEAR(r.energy_residual, 0.0, 1e-11);
  for (const BodyMotionState& s : run.state.body) {
    EXPECT_TRUE(s.pose.p.x() >= 0.0 && s.pose.p.x() <= 2.0);
    EXPECT_TRUE(s.pose.p.y() >= -1.0 && s.pose.p.y() <= 1.0);
  }
}

/// How a body moves, as it travels between ranks.
struct Moving {
  GlobalId id;
  double x[3], v[3], w[3];
  Vec3 place() const { return {x[0], x[1], x[2]}; }
  Vec3 velocity() const { return {v[0], v[1], v[2]}; }
  Vec3 spin() const { return {w[0], w[1], w[2]}; }
};

/// Collective. All bodies of a run, ascending in id.
std::vector<Moving> all_bodies(const Communicator& comm, const HandRun& run) {
  std::vector<Moving> own;
  for (std::size_t i = 0; i < run.state.body.size(); ++i) {
    const auto& [pose, twist] = run.state.body[i];
    Moving& m = own.emplace_back(Moving{run.bodies.constants[i].id, {}, {}, {}});
    for (int k = 0; k < 3; ++k) m.x[k] = pose.p[k], m.v[k] = twist.v[k], m.w[k] = twist.w[k];
  }
  std::vector<Moving> all = test::all_of(comm, own);
  std::ranges::sort(all, {}, &Moving::id);
  return all;
}

/// Collective. Contacts of which the step did not know what they did in the last one.
std::int64_t unknown_contacts(const Communicator& comm, const HandRun& run) {
  const StepContacts& contacts = run.stepper().contacts();
  std::int64_t n = 0;
  for (std::size_t k = 0; k < contacts.size(); ++k) n += contacts.kept(k).old == kNoIndex ? 1 : 0;
  return comm.sum(n);
}

/// Bodies that touch all the time move as they do elsewhere in the box, where the sides are not
/// crossed, to the solver's tolerance. `shift`: to there, m. Returns how often bodies were put
/// back.
int expect_same_elsewhere(const Model& model, const std::vector<BodyRecord>& scene,
                          const Vec3& shift, int steps) {
  const Communicator comm = Communicator::world();
  std::vector<BodyRecord> moved = scene;
  for (BodyRecord& body : moved)
    body.state.pose.p = model.periodic.wrapped(body.state.pose.p + shift);
  HandRun here(comm, model, scene), there(comm, model, moved);
  for (HandRun* run : {&here, &there}) {
    // not the first step, whose overlaps do not count
    run->state.step = 1;
    run->state.time = kStep;
  }
  int crossings = 0;
  std::vector<Moving> before = all_bodies(comm, here);
  for (int i = 0; i < steps; ++i) {
    here.steps(1);
    there.steps(1);
    for (const HandRun* run : {&here, &there}) {
      const std::int64_t unknown = unknown_contacts(comm, *run);
      EXPECT_TRUE(unknown == 0 || i == 0) << "step " << i;
    }
    const std::vector<Moving> now = all_bodies(comm, here), other = all_bodies(comm, there);
    for (std::size_t b = 0; b < now.size(); ++b) {
      crossings += (now[b].place() - before[b].place()).norm() > 0.5 ? 1 : 0;
      EXPECT_NEAR((now[b].velocity() - other[b].velocity()).norm(), 0.0, 1e-6) << "step " << i;
      EXPECT_NEAR((now[b].spin() - other[b].spin()).norm(), 0.0, 1e-6) << "step " << i;
    }
    before = now;
  }
  return crossings;
}

Model springy_model() {
  Model model = periodic_model();
  model.materials = MaterialTable({{.name = "m", .friction = 0.5, .restitution = 0.9}});
  model.contact.stiffness = Stiffness::linear;
  model.contact.pair_stiffness = 1e4;
  return model;
}

TEST(PeriodicStep, ContactsOnBothSidesOfABodyKeepWhatIsTheirsWhereItIsPutBack) {
  // between a fixed ball and its image, pressed by both (10 mm overlap), drawn to one side and
  // turned, so that what both store differs; its centre swings about the side of the box
  Model model = springy_model();
  model.forces.push_back({.name = "pull", .body = 1, .force = {5.0, 0.0, 0.0}});
  model.forces.push_back({.name = "turn", .body = 1, .torque = {0.0, 0.0, 3.0}});
  std::vector<BodyRecord> scene = {ball(0, 0.6, {1, 0, 0}, Vec3::Zero()),
                                   ball(1, 0.41, {2, 0, 0}, {0.1, 0, 0})};
  scene[0].constants.kind = BodyKind::fixed;

  const int crossings = expect_same_elsewhere(model, scene, {1.0, 0.0, 0.0}, 100);

  EXPECT_GE(crossings, 3);
}

TEST(PeriodicStep, APairThatDriftsThroughTheSideKeepsWhatItsContactStores) {
  // the one behind pushes, and spins against the other; either of them may be the ghost
  for (const int first : {0, 1}) {
    Model model = springy_model();
    model.forces.push_back({.name = "push", .body = first, .force = {5.0, 0.0, 0.0}});
    std::vector<BodyRecord> scene = {ball(0, 0.2, {first == 0 ? 1.5 : 1.9, 0, 0}, {2, 0, 0}),
                                     ball(1, 0.2, {first == 1 ? 1.5 : 1.9, 0, 0}, {2, 0, 0})};
    scene[static_cast<std::size_t>(first)].state.twist.w = {0.0, 1.0, 0.5};

    const int crossings = expect_same_elsewhere(model, scene, {-1.2, 0.0, 0.0}, 150);

    EXPECT_EQ(crossings, 2);
  }
}

TEST(PeriodicStep, ABallRollsOnAPlaneThroughTheSideAndKeepsWhatItsContactStores) {
  // a plane has no images; with rolling friction couples are kept, too
  Model model = springy_model();
  Material rough = model.materials.materials()[0];
  rough.rolling_friction = 1e-3;
  model.materials = MaterialTable({rough});
  model.unbounded.push_back(plane(100, Vec3::Zero(), Vec3::UnitZ()));
  model.forces.push_back({.name = "weight", .body = 0, .force = {0.2, 0.0, -10.0}});
  std::vector<BodyRecord> scene = {ball(0, 0.2, {1.5, 0, 0.199}, {1, 0, 0})};
  scene[0].state.twist.w = {0.0, 4.0, 0.5};

  const int crossings = expect_same_elsewhere(model, scene, {-1.2, 0.0, 0.0}, 400);

  EXPECT_EQ(crossings, 1);
}

TEST(PeriodicStep, AContactAcrossASideThatMovesIsKnownAgainInEveryStep) {
  // b is pressed against a's image, which moves along at 2 m/s; its offset of 0.9 m passes half a
  // period, 1 m, from where on it is counted from the image before
  const Communicator comm = Communicator::world();
  Model model = springy_model();
  model.periodic.active = {true, false, true};
  model.periodic.lo = {0.0, 0.0, 0.0};
  model.periodic.hi = {2.0, 0.0, 2.0};
  model.periodic.shear_rate = 1.0;
  model.periodic.offset = 0.9;
  model.forces.push_back({.name = "up", .body = 1, .force = {0.0, 0.0, 5.0}});
  model.forces.push_back({.name = "down", .body = 0, .force = {0.0, 0.0, -5.0}});
  HandRun run(comm, model,
              {ball(0, 0.2, {0.5, 0, 0.1}, {0, 0, 0}), ball(1, 0.2, {1.4, 0, 1.701}, {2, 0, 0})});
  keep_box(model.periodic, run.state);
  std::set<int> images;

  for (int i = 0; i < 60; ++i) {
    run.steps(1);
    const StepContacts& contacts = run.stepper().contacts();
    EXPECT_EQ(comm.sum(static_cast<std::int64_t>(contacts.size())), 1) << "step " << i;
    const std::int64_t unknown = unknown_contacts(comm, run);
    EXPECT_TRUE(unknown == 0 || i == 0) << "step " << i;
    for (std::size_t k = 0; k < contacts.size(); ++k) images.insert(image_of(contacts.kept(k).key));
  }

  EXPECT_EQ(comm.max(static_cast<std::int64_t>(images.size())), 2);
}

}  // namespace
}  // namespace catena
