// A failed step is explained: the worst constraint is the one that plain formulas find, and scenes
// made to fail for a known reason get the advice that names it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "catena/math/cone.hpp"
#include "simulation/diagnosis/post_mortem.hpp"
#include "support/case_text.hpp"

namespace catena {
namespace {

using test::simulate;

PostMortem after_steps(const std::string& yaml, int steps) {
  const auto sim = simulate(Communicator::world(), test::with_rigid_contacts(yaml));
  for (int i = 0; i < steps; ++i) sim->step();
  return examine_step(*sim, nullptr);
}

constexpr const char* kMaterial = "materials: {m: {density: 1000, friction: 0.5}}\n";

using test::kFloorText;
using test::sphere_text;

/// A heap that a few sweeps do not settle.
std::string heap(int sweeps) {
  return std::string(kMaterial) + "bodies:\n" + kFloorText +
         "generators:\n"
         "  - lattice: {name: grains, material: m, shape: {sphere: {radius: 0.1}}, "
         "count: [3, 3, 6], spacing: 0.2, origin: [0, 0, 0.1], position_jitter: 2 mm}\n"
         "time: {step: 5 ms, end: 1}\nsolver: {max_iterations: " +
         std::to_string(sweeps) + ", relative_tolerance: 1e-10, keep_best: false}\n";
}

/// Energy error of every contact of a problem whose bodies are all here, by the definition
/// (docs/theory.md, "Errors"), from dense products.
std::map<std::pair<GlobalId, GlobalId>, double> energies_by_definition(const TimeStepper& stepper) {
  const ConstraintProblem& problem = stepper.problem();
  const ProblemBodies& bodies = problem.bodies;
  std::vector<double> v(bodies.free_velocity.begin(), bodies.free_velocity.end());
  const auto act = [&](Index body, const Eigen::Matrix<double, 6, 1>& f) {
    Eigen::Matrix<double, 6, 1> dv = Eigen::Matrix<double, 6, 1>::Zero();
    if (bodies.mass_kind[static_cast<std::size_t>(body)] != MassKind::prescribed) {
      apply_inverse_mass(bodies, body, std::span(f.data(), 6), std::span(dv.data(), 6));
    }
    return dv;
  };
  using Block = Eigen::Matrix<double, 3, 6, Eigen::RowMajor>;
  const auto jacobians = [&](const RigidContact& c) {
    std::array<Block, 2> g;
    contact_jacobian(c, std::span<double, 18>(g[0].data(), 18),
                     std::span<double, 18>(g[1].data(), 18));
    return g;
  };
  const auto dof = [&](Index body) { return bodies.dof_begin[static_cast<std::size_t>(body)]; };
  for (std::size_t k = 0; k < problem.contacts.size(); ++k) {
    const RigidContact& c = problem.contacts[k];
    const auto g = jacobians(c);
    const Vec3 lambda = Eigen::Map<const Vec3>(stepper.impulses().data() + 3 * k);
    Eigen::Map<Eigen::Matrix<double, 6, 1>>(v.data() + dof(c.body_a)) +=
        act(c.body_a, g[0].transpose() * lambda);
    Eigen::Map<Eigen::Matrix<double, 6, 1>>(v.data() + dof(c.body_b)) +=
        act(c.body_b, g[1].transpose() * lambda);
  }
  std::map<std::pair<GlobalId, GlobalId>, double> energies;
  for (std::size_t k = 0; k < problem.contacts.size(); ++k) {
    const RigidContact& c = problem.contacts[k];
    const auto g = jacobians(c);
    Mat3 n = Mat3::Zero();
    Vec3 w(c.bias, 0.0, 0.0);
    for (std::size_t side = 0; side < 2; ++side) {
      const Index body = side == 0 ? c.body_a : c.body_b;
      w += g[side] * Eigen::Map<const Eigen::Matrix<double, 6, 1>>(v.data() + dof(body));
      for (int i = 0; i < 3; ++i) n.col(i) += g[side] * act(body, g[side].row(i).transpose());
    }
    w[0] += c.friction * std::hypot(w[1], w[2]);
    const double a_t = 0.5 * (n(1, 1) + n(2, 2));
    const Vec3 root(std::sqrt(n(0, 0)), std::sqrt(a_t), std::sqrt(a_t));
    const Vec3 y =
        root.cwiseProduct(Vec3(Eigen::Map<const Vec3>(stepper.impulses().data() + 3 * k)));
    const Vec3 z = w.cwiseQuotient(root);
    const Vec3 e = y - project_cone(y - z, c.friction * root[1] / root[0]);
    energies[{c.key.a, c.key.b}] = 0.5 * e.squaredNorm();
  }
  return energies;
}

TEST(PostMortem, ListsTheWorstContactsAsTheDefinitionRanksThem) {
  const auto sim = simulate(Communicator::self(), test::with_rigid_contacts(heap(3)));
  for (int i = 0; i < 3; ++i) sim->step();

  const PostMortem p = examine_step(*sim, nullptr);

  std::vector<std::pair<double, std::pair<GlobalId, GlobalId>>> ranked;
  double sum = 0.0;
  for (const auto& [ids, energy] : energies_by_definition(sim->stepper())) {
    ranked.emplace_back(energy, ids);
    sum += energy;
  }
  std::sort(ranked.rbegin(), ranked.rend());
  EXPECT_NEAR(p.measures.energy, sum, 1e-9 * sum);
  EXPECT_NEAR(p.measures.energy, sim->stepper().report().solve.errors.energy, 1e-9 * sum);
  EXPECT_EQ(p.worst.size(), 10U);
  for (std::size_t i = 0; i < p.worst.size(); ++i) {
    const WorstConstraint& w = p.worst[i];
    EXPECT_EQ(w.kind, "contact");
    EXPECT_NEAR(w.energy, ranked[i].first, 1e-9 * sum) << i;
    EXPECT_EQ((std::pair{w.a, w.b}), ranked[i].second) << i;
    EXPECT_EQ(w.name, sim->model().names.name_of(w.a));
    EXPECT_EQ(w.other, sim->model().names.name_of(w.b));
  }
  EXPECT_EQ(p.step, 3);
}

TEST(PostMortem, IsTheSameOnEveryRankAndInOrder) {
  const PostMortem p = after_steps(heap(3), 3);
  const Communicator comm = Communicator::world();
  std::string first = to_json(p);
  comm.broadcast(0, first);
  EXPECT_EQ(to_json(p), first);
  EXPECT_EQ(p.worst.size(), 10U);
  double listed = 0.0;
  for (std::size_t i = 0; i < p.worst.size(); ++i) {
    EXPECT_LE(p.worst[i].energy, p.worst[i > 0 ? i - 1 : 0].energy);
    listed += p.worst[i].energy;
  }
  EXPECT_LE(listed, p.measures.energy * (1.0 + 1e-12));
  EXPECT_EQ(p.measures.bodies, 54);
  EXPECT_NEAR(p.measures.contacts_per_body * 54.0,
              2.0 * static_cast<double>(p.measures.contacts) - 9.0, 1e-9)
      << "nine of them stand on the floor";
}

TEST(PostMortem, TooFewIterationsAreNamed) {
  const PostMortem p = after_steps(heap(30), 2);
  EXPECT_EQ(p.advice.reasons[0], "too_few_iterations") << p.advice.text;
}

TEST(PostMortem, AMillionfoldMassIsNamed) {
  const PostMortem p = after_steps(
      std::string(kMaterial) + "bodies:\n" + kFloorText + sphere_text("pebble", 0, 0.1) +
          sphere_text("pebble-2", 0.0, 0.3) +
          "  - {name: anvil, material: m, shape: {box: {size: [1, 1, 0.2]}}, mass: 4.19e6, "
          "inertia: [5e5, 5e5, 7e5], position: [0, 0, 0.5]}\n"
          "time: {step: 5 ms, end: 1}\nsolver: {max_iterations: 20}\n",
      2);
  EXPECT_EQ(p.advice.reasons[0], "mass_ratio") << p.advice.text;
  EXPECT_NEAR(p.measures.mass_ratio.value, 1e6, 1e4);
  EXPECT_EQ(p.measures.mass_ratio.name_a, "anvil");
  EXPECT_EQ(p.measures.mass_ratio.name_b, "pebble-2");
  EXPECT_NE(p.advice.text.find("anvil"), std::string::npos);
}

TEST(PostMortem, BodiesPlacedIntoEachOtherAreNamed) {
  const PostMortem p =
      after_steps(std::string(kMaterial) + "bodies:\n" + kFloorText + sphere_text("left", 0, 0.1) +
                      sphere_text("right", 0.12, 0.1) + sphere_text("other", 0.5, 0.1) +
                      "time: {step: 5 ms, end: 1}\nsolver: {max_iterations: 1}\n",
                  1);
  // one sweep of several ranks leaves too much of any step for the trial to tell
  if (Communicator::world().size() == 1) {
    EXPECT_EQ(p.advice.reasons[0], "overlap") << p.advice.text;
  }
  EXPECT_NEAR(p.measures.overlap.value, 0.8, 1e-9);
  EXPECT_NEAR(p.measures.penetration, 0.08, 1e-9);
  EXPECT_EQ(p.measures.overlap.name_a, "left");
  EXPECT_EQ(p.measures.overlap.name_b, "right");
}

PostMortem of_blow_up(const std::string& yaml) {
  const auto sim = simulate(Communicator::world(), test::with_rigid_contacts(yaml));
  PostMortem p;
  try {
    for (int i = 0; i < 10; ++i) sim->step();
    ADD_FAILURE() << "no blow-up";
  } catch (const BlowUp& blow_up) {
    const std::string what = blow_up.what();
    p = examine_step(*sim, &what);
  }
  return p;
}

TEST(PostMortem, ARunAwayBodyIsNamedWithTheStepThatWouldFollowIt) {
  const PostMortem p = of_blow_up(
      std::string(kMaterial) + "bodies:\n" + kFloorText + sphere_text("calm", 0, 0.1) +
      sphere_text("bullet", 5, 3, ", velocity: [1e9, 0, 0]") + "time: {step: 1 ms, end: 1}\n");
  EXPECT_TRUE(p.measures.blow_up);
  EXPECT_EQ(p.step, 1);
  EXPECT_NE(p.message.find("bullet"), std::string::npos);
  EXPECT_EQ(p.advice.reasons[0], "fast_motion") << p.advice.text;
  EXPECT_EQ(p.measures.motion.name_a, "bullet");
  EXPECT_NEAR(p.measures.motion.value, 1e9 * 1e-3 / 0.1, 1e-3);
}

TEST(PostMortem, AStepThatIsTooLongIsNoSingularPosition) {
  // a spring that no step of 2 s follows
  const PostMortem stiff = of_blow_up(
      "gravity: [0, 0, 0]\n"
      "bodies: [{name: bob, mass: 1, inertia: [1, 1, 1], position: [1.01, 0, 0]}]\n"
      "forces: [{name: coil, type: spring, between: [world, bob], at: [[0, 0, 0], [1.01, 0, 0]], "
      "stiffness: 1e8, length: 1}]\n"
      "time: {stepper: natural, step: 2, end: 100}\n");
  EXPECT_NE(stiff.advice.reasons[0], "singular_position") << stiff.advice.text;
}

TEST(PostMortem, NumbersThatOverflowAreSaidToBeNotFinite) {
  const PostMortem p = of_blow_up(std::string("materials: {m: {density: 1e300}}\nbodies:\n") +
                                  sphere_text("one", 0, 0.1) + sphere_text("two", 0.199, 0.1) +
                                  "gravity: [0, 0, 0]\ntime: {step: 5 ms, end: 1}\n");
  EXPECT_FALSE(p.measures.finite);
  EXPECT_EQ(p.advice.reasons[0], "not_finite") << p.advice.text;
  EXPECT_EQ(p.worst.size(), 1U);
  EXPECT_NE(p.advice.text.find("has a mass of 4.19e+297 kg (materials.m.density)"),
            std::string::npos)
      << p.advice.text;
}

TEST(PostMortem, AForceThatThrowsABodyIsNamedAndOneThatDoesNotIsNot) {
  const std::string bodies =
      std::string(kMaterial) + "bodies:\n" + kFloorText + sphere_text("calm", 0, 0.1);
  const std::string times = "time: {step: 1 ms, end: 1}\n";
  const auto forces = [](double size) {
    return "forces:\n  - {name: breath, type: force, body: calm, force: [1, 0, 0]}\n"
           "  - {name: push, type: force, body: ball, force: [0, " +
           std::to_string(size) + ", 0]}\n";
  };
  const PostMortem p = of_blow_up(bodies + sphere_text("ball", 5, 3) + forces(1e30) + times);
  EXPECT_EQ(p.advice.reasons[0], "strong_force") << p.advice.text;
  EXPECT_NE(p.advice.text.find("forces.push) makes body ball faster"), std::string::npos)
      << p.advice.text;
  // h F / m
  EXPECT_NEAR(p.measures.force_speed, 1e-3 * 1e30 / (1e3 * 4.0 / 3.0 * M_PI * 1e-3), 1e20);
  EXPECT_EQ(p.measures.body, "ball");
  const PostMortem q = of_blow_up(bodies + sphere_text("ball", 5, 3, ", velocity: [1e9, 0, 0]") +
                                  forces(10.0) + times);
  EXPECT_EQ(q.advice.reasons[0], "fast_motion") << q.advice.text;
}

TEST(PostMortem, GravityThatNoStepFollowsIsNamedWithItsKeyForBodiesWithAShapeAndWithout) {
  const std::string hung =
      "bodies:\n  - {name: bob, mass: 2, inertia: [0.08, 0.08, 0.08], position: [0, 0, -1]}\n"
      "joints:\n  - {name: pin, type: spherical, between: [world, bob], at: [0, 0, 0]}\n";
  const std::string ball = std::string(kMaterial) + "bodies:\n" + sphere_text("ball", 5, 3);
  const std::string times = "time: {step: 1 ms, end: 1}\n";
  for (const std::string& bodies : {hung, ball}) {
    const PostMortem p = of_blow_up("gravity: [1e12, 0, 0]\n" + bodies + times);
    EXPECT_EQ(p.advice.reasons[0], "strong_gravity") << p.advice.text;
    // h g
    EXPECT_NEAR(p.measures.gravity_speed, 1e9, 1e-3);
    EXPECT_NE(p.advice.text.find("give gravity in m/s^2"), std::string::npos) << p.advice.text;
  }
  const PostMortem p = of_blow_up("gravity: [1e200, 0, 0]\n" + hung + times);
  EXPECT_EQ(p.advice.reasons[0], "strong_gravity") << p.advice.text;
  // h^2 g over sqrt(I / m)
  EXPECT_NEAR(p.measures.gravity.value, 1e194 / 0.2, 1e182);
  EXPECT_EQ(p.measures.gravity.name_a, "bob");
  // a speck of dust that gravity moves by ten times its size is no reason of what blew up beside it
  const std::string dust =
      "  - {name: dust, mass: 1e-9, inertia: [1e-21, 1e-21, 1e-21], position: [50, 0, 0]}\n";
  const PostMortem r =
      of_blow_up("gravity: [0, 0, -9.81]\n" + std::string(kMaterial) + "bodies:\n" +
                 sphere_text("ball", 5, 3, ", velocity: [1e9, 0, 0]") + dust + times);
  EXPECT_EQ(r.advice.reasons[0], "fast_motion") << r.advice.text;
  EXPECT_EQ(std::count(r.advice.reasons.begin(), r.advice.reasons.end(), "strong_gravity"), 0)
      << r.advice.text;
  EXPECT_EQ(r.measures.gravity.name_a, "ball");
  // a start that is too fast, without a shape, too
  const std::size_t at = hung.find("}\njoints");
  const PostMortem q = of_blow_up(std::string(hung).insert(at, ", velocity: [1e9, 0, 0]") + times);
  EXPECT_EQ(q.advice.reasons[0], "fast_motion") << q.advice.text;
  EXPECT_NE(q.advice.text.find("it starts with that velocity (bodies.bob)"), std::string::npos)
      << q.advice.text;
}

TEST(PostMortem, AnOverlapThatIsNotToBlameIsNotNamed) {
  // the heap alone misses its tolerance; a pair beside it overlaps and is solved at once
  const std::string pair = sphere_text("left", 5, 0.1) + sphere_text("right", 5.18, 0.1);
  std::string yaml = heap(2);
  yaml.insert(yaml.find("generators:"), pair);
  const PostMortem p = after_steps(yaml, 1);
  EXPECT_GT(p.measures.overlap.value, 0.1);
  EXPECT_EQ(std::count(p.advice.reasons.begin(), p.advice.reasons.end(), "overlap"), 0)
      << p.advice.text;
}

TEST(PostMortem, AMassRatioThatIsNotToBlameIsNotNamed) {
  // a pebble on a heavy plate that lies on the floor, beside a heap that misses its tolerance
  const std::string pair =
      "  - {name: anvil, material: m, shape: {box: {size: [1, 1, 0.2]}}, mass: 4.19e6, "
      "inertia: [5e5, 5e5, 7e5], position: [5, 0, 0.1]}\n" +
      sphere_text("pebble", 5, 0.3);
  std::string yaml = heap(2);
  yaml.insert(yaml.find("generators:"), pair);
  const PostMortem p = after_steps(yaml, 1);
  EXPECT_GT(p.measures.mass_ratio.value, 1e5);
  EXPECT_EQ(std::count(p.advice.reasons.begin(), p.advice.reasons.end(), "mass_ratio"), 0)
      << p.advice.text;
}

TEST(PostMortem, AMethodIsAdvisedWhereItMetTheStepAndTheRunsOwnIsNotTried) {
  // a million times as heavy as what carries it: gradient steps get nowhere
  const PostMortem p = after_steps(
      std::string(kMaterial) + "bodies:\n" + kFloorText + sphere_text("light", 0, 0.1) +
          sphere_text("heavy", 0, 0.3, ", mass: 4.19e6, inertia: [1.7e4, 1.7e4, 1.7e4]") +
          "time: {step: 5 ms, end: 1}\nsolver: {method: jacobi, max_iterations: 10, "
          "relative_tolerance: 1e-10}\n",
      1);
  EXPECT_TRUE(std::any_of(p.measures.trials.begin(), p.measures.trials.end(), [](const Trial& t) {
    return t.change == TrialChange::method;
  })) << p.advice.text;
  for (const Trial& t : p.measures.trials) {
    if (t.change != TrialChange::method) continue;
    EXPECT_NE(t.method, "jacobi");
    EXPECT_EQ(t.met,
              p.advice.text.find("solver.method: " + t.method + " met it") != std::string::npos)
        << p.advice.text;
  }
}

TEST(PostMortem, TrialsLeaveTheStepAsItWas) {
  // a pair that overlaps beside the heap: the step is tried again without it
  std::string yaml = heap(3);
  yaml.insert(yaml.find("generators:"),
              sphere_text("left", 5, 0.1) + sphere_text("right", 5.12, 0.1));
  const auto examined = simulate(Communicator::world(), test::with_rigid_contacts(yaml));
  const auto left_alone = simulate(Communicator::world(), test::with_rigid_contacts(yaml));
  for (int i = 0; i < 3; ++i) {
    examined->step();
    left_alone->step();
    EXPECT_FALSE(examine_step(*examined, nullptr).measures.trials.empty());
  }
  EXPECT_EQ(examined->stepper().report().kinetic, left_alone->stepper().report().kinetic);
  for (std::size_t i = 0; i < examined->state().body.size(); ++i)
    EXPECT_EQ(examined->state().body[i].pose.p, left_alone->state().body[i].pose.p);
}

TEST(PostMortem, StiffnessOfContactsIsThatOfTheCase) {
  const auto stiffness = [](const std::string& contact) {
    const auto sim = simulate(Communicator::world(), "contact: {" + contact + "}\n" + heap(3));
    sim->step();
    return examine_step(*sim, nullptr).measures.stiffness.value;
  };
  EXPECT_NEAR(stiffness("stiffness_ratio: 5000"), 5000.0, 1e-6);
  EXPECT_TRUE(std::isinf(stiffness("stiffness: rigid")));
}

// A column that presses down to its floor: rigid, the weight of the upper ones arrives a contact a
// sweep and settles over hundreds.
TEST(PostMortem, RigidContactsAreNamedWhereSofterOnesWereSolved) {
  std::string spheres;
  for (int i = 0; i < 40; ++i)
    spheres += sphere_text("ball-" + std::to_string(i), 0, 0.1 + 0.2 * i);
  const PostMortem p = after_steps(std::string(kMaterial) + "bodies:\n" + kFloorText + spheres +
                                       "time: {step: 5 ms, end: 1}\n"
                                       "solver: {max_iterations: 100, relative_tolerance: 1e-10}\n",
                                   1);
  EXPECT_EQ(std::count(p.advice.reasons.begin(), p.advice.reasons.end(), "stiff_contacts"), 1)
      << p.advice.text;
}

TEST(PostMortem, JointsAreNamedWithTheirNames) {
  const PostMortem p = after_steps(
      std::string(kMaterial) +
          "generators:\n"
          "  - chain: {name: rope, links: 40, joint: spherical, from: [0, 0, 5], to: [4, 0, 5], "
          "anchored: both, material: m, shape: {sphere: {radius: 0.04}}}\n"
          "time: {step: 5 ms, end: 1}\n"
          "solver: {max_iterations: 10, joints: {method: iterative}}\n",
      3);
  EXPECT_EQ(p.worst.size(), 10U);
  for (const WorstConstraint& w : p.worst) {
    EXPECT_EQ(w.kind, "joint");
    EXPECT_EQ(w.name.substr(0, 4), "rope") << w.name;
    EXPECT_EQ(w.other, "");
  }
  EXPECT_EQ(p.advice.reasons[0], "iterative_joints") << p.advice.text;
}

}  // namespace
}  // namespace catena
