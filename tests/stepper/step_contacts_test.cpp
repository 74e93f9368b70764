#include "catena/stepper/step_contacts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "stepper/hand_run.hpp"

namespace catena {
namespace {

using test::ball;
using test::kStep;
using test::plane;

/// Balls on a plane: those with an even id have rolling and spinning friction, the others neither.
struct Balls {
  explicit Balls(int n) {
    model.materials = MaterialTable(
        {{.name = "rough", .friction = 0.5, .rolling_friction = 2e-3, .spinning_friction = 1e-3},
         {.name = "smooth", .friction = 0.3}});
    model.materials.set_pair(0, 1, {0.3, 0.0, 0.0, 0.0, 0.0});
    model.unbounded.push_back(plane(100, Vec3::Zero(), Vec3(0.6, 0.0, 0.8)));
    for (int i = 0; i < n; ++i) {
      const Vec3 centre = 0.099 * Vec3(0.6, 0.0, 0.8) + Vec3(0.0, 0.5 * i, 0.0);
      const BodyRecord record = ball(i, 0.1, centre, Vec3::Zero());
      bodies.constants.push_back(record.constants);
      bodies.constants.back().material = i % 2;
      state.body.push_back(record.state);
      state.subdomain.push_back(i);
    }
    ContactSearch(comm, model).find(bodies, state, kStep, set);
    for (Index i = 0; i < to_index(set.bodies.size()); ++i) {
      const BodyConstants& body = set.bodies.constants[i];
      if (body.kind == BodyKind::dynamic)
        problem.bodies.add_rigid(body.id, 1.0 / body.mass, 1.0 / body.inertia.x(), {});
      else
        problem.bodies.add_prescribed(body.id, {});
    }
    contacts.make_rows(set, state, kStep, problem);
  }

  Communicator comm = Communicator::self();
  Model model;
  Bodies bodies;
  State state;
  ContactSet set;
  ConstraintProblem problem{comm};
  StepContacts contacts{model, StepperKind::spook, kStep};
};

TEST(StepContacts, RowsOfContactsWithCouplesFollowAllOthers) {
  const Balls scene(5);

  EXPECT_EQ(scene.contacts.size(), 5U);
  EXPECT_EQ(scene.problem.contacts.size(), 2U);
  EXPECT_EQ(scene.problem.blocks.size(), 3);
  EXPECT_EQ(scene.problem.n_rows(), 2 * 3 + 3 * 6);
  EXPECT_EQ(scene.problem.block_subdomain, (std::vector<Index>{1, 3, 0, 2, 4}));
  EXPECT_NEAR(scene.contacts.overlaps().deepest, 1e-3, 1e-15);
}

TEST(StepContacts, RecordsAreThoseOfTheSetWithTheForceOfTheirOwnRows) {
  const Balls scene(4);
  std::vector<double> impulses(scene.problem.n_rows(), 0.0);
  // normal rows of balls 1, 3, 0, 2 and the spinning rows of the last two
  impulses[0] = 1.0, impulses[3] = 3.0, impulses[6] = 10.0, impulses[12] = 2.0;
  impulses[11] = 0.25, impulses[17] = 0.5;

  for (std::size_t k = 0; k < 4; ++k) {
    const ContactRecord record = scene.contacts.record(k, scene.problem, impulses);

    const Contact& found = scene.set.contacts[k];
    EXPECT_EQ(record.key, found.key);
    EXPECT_EQ(record.point, found.point);
    EXPECT_EQ(record.normal, found.normal);
    EXPECT_EQ(record.gap, found.gap);
    const double size = k == 0 ? 10.0 : static_cast<double>(k);
    EXPECT_NEAR((record.impulse - size * found.normal).norm(), 0.0, 1e-15) << k;
    const double couple = k == 0 ? 0.25 : k == 2 ? 0.5 : 0.0;
    EXPECT_NEAR((record.couple - couple * found.normal).norm(), 0.0, 1e-15) << k;
  }
}

TEST(StepContacts, WhatIsStoredIsTheFirstGuessInTheSameFrames) {
  Balls scene(5);
  std::vector<double> impulses(scene.problem.n_rows());
  for (std::size_t i = 0; i < impulses.size(); ++i)
    impulses[i] = 1.0 + 0.1 * static_cast<double>(i);

  scene.contacts.store(scene.problem, impulses, {}, scene.state);
  scene.contacts.make_rows(scene.set, scene.state, kStep, scene.problem);
  std::vector<double> guess(impulses.size(), 0.0);
  scene.contacts.first_guess(scene.state, scene.problem, guess);

  EXPECT_EQ(scene.state.impulses.size(), 5U);
  EXPECT_EQ(scene.state.couples.size(), 3U);
  for (std::size_t i = 0; i < impulses.size(); ++i) EXPECT_NEAR(guess[i], impulses[i], 1e-14) << i;
}

/// A ball that touches a fixed one and its image, 2 m from each other: normals +x and -x.
struct BothSides {
  BothSides() {
    BodyRecord wall = ball(0, 0.6, {0.3, 0, 0}, Vec3::Zero());
    wall.constants.kind = BodyKind::fixed;
    for (const BodyRecord& record : {wall, ball(1, 0.41, {1.3, 0, 0}, Vec3::Zero())}) {
      bodies.constants.push_back(record.constants);
      state.body.push_back(record.state);
      state.subdomain.push_back(0);
    }
    state.step = 1;
    find();
  }

  static Model springy_model() {
    Model springy;
    springy.materials = MaterialTable({{.name = "m", .friction = 0.5}});
    springy.periodic.active = {true, false, false};
    springy.periodic.hi = {2.0, 0.0, 0.0};
    springy.contact.stiffness = Stiffness::linear;
    springy.contact.pair_stiffness = 1e4;
    return springy;
  }

  void find() {
    ContactSearch(comm, model).find(bodies, state, kStep, set);
    problem.bodies.clear();
    problem.bodies.add_prescribed(0, {});
    problem.bodies.add_rigid(1, 1.0, 1.0, {});
    problem.bodies.n_owned = 2;
  }

  /// Normal impulses of the first guess, by the sign of the normal: -x, +x; NaN: no contact.
  std::array<double, 2> guess() {
    contacts.make_rows(set, state, kStep, problem);
    std::vector<double> impulses(problem.n_rows(), 0.0);
    contacts.first_guess(state, problem, impulses);
    std::array<double, 2> found = {kNotGiven, kNotGiven};
    for (std::size_t k = 0; k < contacts.size(); ++k)
      found[problem.contacts[k].normal.x() > 0.0 ? 1 : 0] = impulses[3 * k];
    return found;
  }

  /// Ends a step with the impulses 1 N s along -x and 3 N s along +x.
  void store() {
    contacts.make_rows(set, state, kStep, problem);
    std::vector<double> impulses(problem.n_rows(), 0.0);
    for (std::size_t k = 0; k < contacts.size(); ++k)
      impulses[3 * k] = problem.contacts[k].normal.x() > 0.0 ? 3.0 : 1.0;
    contacts.store(problem, impulses, std::vector<double>(12, 0.0), state);
  }

  Communicator comm = Communicator::self();
  Model model = springy_model();
  Bodies bodies;
  State state;
  ContactSet set;
  ConstraintProblem problem{comm};
  StepContacts contacts{model, StepperKind::spook, kStep};
};

TEST(StepContacts, ImpulsesGoToTheImageInWhichTheyWere) {
  for (const std::size_t gone : {0, 1}) {
    BothSides scene;
    ASSERT_EQ(scene.set.contacts.size(), 2U);
    scene.store();
    EXPECT_EQ(scene.guess(), (std::array{1.0, 3.0}));

    const bool left_is_gone = scene.set.contacts[gone].normal.x() < 0.0;
    scene.set.contacts.erase(scene.set.contacts.begin() + to_index(gone));

    const std::array<double, 2> guess = scene.guess();
    EXPECT_EQ(guess[left_is_gone ? 1 : 0], left_is_gone ? 3.0 : 1.0);
  }
}

TEST(StepContacts, WhatOneImageHasLostIsNotTakenOverInAnother) {
  BothSides scene;
  const std::vector<Contact> both = scene.set.contacts;
  scene.set.contacts.pop_back();
  scene.store();
  scene.set.contacts = {both[1]};

  scene.contacts.make_rows(scene.set, scene.state, kStep, scene.problem);

  EXPECT_EQ(scene.contacts.kept(0).old, kNoIndex);
}

TEST(StepContacts, ImpulsesFollowBodiesThatArePutBack) {
  // both go on by 0.8 m through the side at x = 2, the fixed one, which has not been put back, too
  BothSides scene;
  scene.store();
  for (BodyMotionState& body : scene.state.body) body.pose.p.x() += 0.8;
  scene.state.body[1].pose.p.x() -= 2.0;
  const PutBack back{1, {-2.0, 0.0, 0.0}};

  scene.contacts.follow_images(scene.model.periodic, std::span(&back, 1), scene.state);
  scene.find();

  EXPECT_EQ(scene.guess(), (std::array{1.0, 3.0}));
  EXPECT_TRUE(std::ranges::is_sorted(scene.state.impulses, {}, &KeyedImpulse::key));
}

TEST(StepContacts, APairIsAsStiffInEachImageAsInOne) {
  BothSides scene;
  scene.store();
  const std::array<double, 2> both = {scene.contacts.kept(0).given.normal,
                                      scene.contacts.kept(1).given.normal};
  scene.set.contacts.pop_back();
  scene.store();

  // m/N, of one point
  EXPECT_EQ(both, (std::array{1e-4, 1e-4}));
  EXPECT_EQ(scene.contacts.kept(0).given.normal, 1e-4);
}

}  // namespace
}  // namespace catena
