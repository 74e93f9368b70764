#include "catena/stepper/step_contacts.hpp"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace catena
