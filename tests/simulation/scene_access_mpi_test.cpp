// What a program sees and changes between steps, against closed forms, and on all ranks alike.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <functional>

#include "catena/io/checkpoint.hpp"
#include "catena/io/snapshot_table.hpp"
#include "catena/partition/state_hash.hpp"
#include "catena/simulation/simulation.hpp"
#include "support/case_text.hpp"
#include "support/error_of.hpp"

namespace catena {
namespace {

constexpr double kH = 1e-3;

/// Three balls apart from each other and a slab with a motion, without gravity.
const std::string kBalls =
    "materials: {m: {density: 1000, friction: 0.5}, ice: {density: 900, friction: 0}}\n"
    "gravity: [0, 0, 0]\n"
    "bodies:\n" +
    test::sphere_text("a", 0.0, 1.0, ", velocity: [0.1, 0.2, 0]") +
    test::sphere_text("b", 1.0, 1.0) + test::sphere_text("c", 2.0, 1.0, ", velocity: [0, 0, 0.3]") +
    "  - {name: slab, material: m, shape: {box: {size: [9, 9, 0.1]}}, position: [0, 0, -5], "
    "motion: "
    "{velocity: [0, 0, 0.1]}}\n"
    "time: {step: 1 ms, end: 1}\n";

std::unique_ptr<Simulation> balls(const std::string& more = "") {
  return test::simulate(Communicator::world(), kBalls + more);
}

TEST(SceneAccess, AForceOfACallbackAcceleratesEvenlyAndIsInTheAudit) {
  const auto sim = balls();
  const GlobalId b = sim->scene().body("b");
  const double mass = sim->scene().body_constants(b).mass;
  int before = 0, after = 0;
  sim->before_each_step([&](Simulation& s) {
    ++before;
    s.scene().set_load(b, Vec3(0, 3, 0), Vec3(0, 0, 0.01));
  });
  sim->after_each_step([&](Simulation&) { ++after; });

  for (int i = 0; i < 100; ++i) sim->step();

  EXPECT_EQ(before, 100);
  EXPECT_EQ(after, 100);
  const BodyMotionState now = sim->scene().body_state(b);
  const double t = 100 * kH, a = 3.0 / mass;
  EXPECT_NEAR(now.twist.v[1], a * t, 1e-13);
  EXPECT_NEAR(now.pose.p[1], 0.5 * a * t * (t + kH), 1e-13);  // semi-implicit Euler
  EXPECT_NEAR(now.twist.w[2], 0.01 / (0.4 * mass * 0.01) * t, 1e-12);
  EXPECT_NEAR(sim->stepper().report().energy_residual, 0.0, 1e-12);

  sim->scene().set_load(b, Vec3::Zero());  // zeros end it
  EXPECT_EQ(sim->communicator().sum(std::ssize(sim->state().loads)), 0);
}

TEST(SceneAccess, APdControllerInCppHoldsAPendulumAsLinearTheorySays) {
  // an inverted one, 1 m and 1 kg, tilted by 0.05 rad: I x'' = (m g L - kp) x - kd x'
  const auto sim = test::simulate(
      Communicator::world(),
      "gravity: [0, 0, -10]\n"
      "bodies: [{name: rod, mass: 1, inertia: [0.01, 0.01, 0.01], position: [0.049979169, 0, "
      "0.998750260]}]\n"
      "joints: [{name: hinge, type: revolute, between: [world, rod], at: [0, 0, 0], axis: [0, 1, "
      "0], motor: {force: 0}}]\n"
      "time: {step: 1 ms, end: 5}\n");
  const GlobalId rod = sim->scene().body("rod"), hinge = sim->scene().joint("hinge");
  const auto tilt = [&](Simulation& s) {
    const Vec3 p = s.scene().body_state(rod).pose.p;
    return std::atan2(p.x(), p.z());
  };
  sim->before_each_step([&](Simulation& s) {
    const double rate = s.scene().body_state(rod).twist.w[1];
    s.scene().set_motor_target(hinge, -30.0 * tilt(s) - 6.0 * rate);
  });
  const double inertia = 1.01, decay = 6.0 / (2.0 * inertia);
  const double omega = std::sqrt((30.0 - 10.0) / inertia - decay * decay);
  double worst = 0.0;
  for (int i = 1; i <= 1000; ++i) {
    sim->step();
    const double t = kH * i;
    const double x =
        0.05 * std::exp(-decay * t) * (std::cos(omega * t) + decay / omega * std::sin(omega * t));
    worst = std::max(worst, std::abs(tilt(*sim) - x));
  }
  EXPECT_LT(worst, 3e-4);
  EXPECT_LT(std::abs(tilt(*sim)), 5e-3);
}

TEST(SceneAccess, BodiesThatComeAndGoLeaveTheOthersMomentum) {
  const auto sim = balls();
  SceneAccess& scene = sim->scene();
  const GlobalId a = scene.body("a"), b = scene.body("b"), c = scene.body("c");
  for (int i = 0; i < 10; ++i) sim->step();
  const Vec3 before = sim->stepper().report().linear_momentum;

  BodyConstants copy = scene.body_constants(b);
  copy.mass *= 2.0;
  const BodyMotionState start{{Vec3(0, 1, 1), Quat::Identity()}, {Vec3(0, -1, 0), Vec3::Zero()}};
  const GlobalId added = scene.add_body(copy, start);
  EXPECT_EQ(added, sim->model().names.size());
  sim->step();
  const Vec3 with = sim->stepper().report().linear_momentum;
  EXPECT_LT((with - before - copy.mass * start.twist.v).norm(), 1e-12);
  EXPECT_LT((scene.body_state(added).pose.p - Vec3(0, 1 - kH, 1)).norm(), 1e-14);

  // c leaves with what it has
  const Vec3 of_c = scene.body_constants(c).mass * scene.body_state(c).twist.v;
  scene.remove_body(c);
  for (int i = 0; i < 5; ++i) sim->step();
  EXPECT_LT((sim->stepper().report().linear_momentum - with + of_c).norm(), 1e-12);
  EXPECT_NEAR(sim->stepper().report().energy_residual, 0.0, 1e-12);
  EXPECT_EQ(sim->state().flow.inserted, 1);
  EXPECT_EQ(sim->state().flow.removed, 1);
  EXPECT_NE(test::error_of([&] { scene.body_state(c); }).find("body c (id 2) is not there"),
            std::string::npos);
  // ids are not used again
  scene.remove_body(added);
  EXPECT_EQ(scene.add_body(copy, start), added + 1);
  EXPECT_NEAR(scene.body_state(a).twist.v[0], 0.1, 1e-14);
}

TEST(SceneAccess, AJointHoldsFromTheNextStepOnUntilItIsRemoved) {
  const auto sim = balls("solver: {joints: {method: direct}}\n");
  SceneAccess& scene = sim->scene();
  const GlobalId a = scene.body("a"), c = scene.body("c");
  sim->step();
  const Vec3 pa = scene.body_state(a).pose.p, pc = scene.body_state(c).pose.p;
  const double length = (pc - pa).norm();

  const GlobalId rod = scene.add_joint(scene.joint_at(JointType::distance, a, c, {pa, pc}));
  EXPECT_EQ(rod, 0);
  for (int i = 0; i < 300; ++i) sim->step();
  const auto apart = [&] {
    return (scene.body_state(c).pose.p - scene.body_state(a).pose.p).norm();
  };
  EXPECT_NEAR(apart(), length, 1e-5);
  EXPECT_NEAR(scene.joint_constants(rod).length, length, 1e-15);
  // the pair turns about its centre, which goes on
  const double m = scene.body_constants(a).mass;
  const Vec3 momentum = m * (scene.body_state(a).twist.v + scene.body_state(c).twist.v);
  EXPECT_LT((momentum - m * Vec3(0.1, 0.2, 0.3)).norm(), 1e-11);

  scene.remove_joint(rod);
  const Vec3 free = scene.body_state(a).twist.v;
  for (int i = 0; i < 300; ++i) sim->step();
  EXPECT_LT((scene.body_state(a).twist.v - free).norm(), 1e-14);
  EXPECT_GT(std::abs(apart() - length), 1e-4);
  // a body takes its joints along
  const GlobalId other = scene.add_joint(scene.joint_at(
      JointType::spherical, a, kNoBody, {scene.body_state(a).pose.p, scene.body_state(a).pose.p}));
  EXPECT_EQ(other, 1);
  scene.remove_body(a);
  EXPECT_EQ(sim->communicator().sum(std::ssize(sim->bodies().joints)), 0);
  sim->step();
}

TEST(SceneAccess, AMotionTakesTheVelocityThatItIsGivenAndAMaterialItsFriction) {
  const auto sim = test::simulate(
      Communicator::world(),
      "materials: {m: {density: 1000, friction: 0.5}, ice: {density: 900, friction: 0}}\n"
      "bodies:\n"
      "  - {name: belt, material: m, shape: {box: {size: [9, 9, 0.2]}}, position: [0, 0, -0.1], "
      "motion: {velocity: [0, 0, 0]}}\n"
      "  - {name: block, material: m, shape: {box: {size: [0.2, 0.2, 0.1]}}, position: [0, 0, "
      "0.05], velocity: [1, 0, 0]}\n"
      "time: {step: 1 ms, end: 1}\n"
      "solver: {relative_tolerance: 1e-14}\n");
  SceneAccess& scene = sim->scene();
  const GlobalId belt = scene.body("belt"), block = scene.body("block");
  // without friction it goes on; m on ice: the geometric mean is 0
  scene.set_material(block, "ice");
  for (int i = 0; i < 100; ++i) sim->step();
  EXPECT_NEAR(scene.body_state(block).twist.v[0], 1.0, 1e-6);
  scene.set_material(block, "m");
  for (int i = 0; i < 50; ++i) sim->step();
  EXPECT_NEAR(scene.body_state(block).twist.v[0], 1.0 - 0.5 * 9.81 * 0.05, 1e-3);

  scene.set_velocity(belt, Vec3(0.4, 0, 0), Vec3::Zero());
  EXPECT_EQ(scene.body_state(belt).twist.v, Vec3(0.4, 0, 0));
  for (int i = 0; i < 300; ++i) sim->step();
  EXPECT_NEAR(scene.body_state(belt).pose.p[0], 0.4 * 0.3, 1e-12);
  EXPECT_NEAR(scene.body_state(block).twist.v[0], 0.4, 1e-4);
}

/// Everything that a program can do, to a pile of grains.
std::unique_ptr<Simulation> worked_pile(const Communicator& comm) {
  auto sim = test::simulate(
      comm,
      "materials: {m: {density: 1000, friction: 0.3}, ice: {density: 900, friction: 0}}\n"
      "bodies: [{name: paddle, material: m, shape: {box: {size: [0.1, 0.5, 0.2]}}, position: "
      "[-0.16, 0.2, 0.2], motion: {}}]\n"
      "generators:\n"
      "  - container: {name: floor, material: m, size: [.inf, .inf, .inf], origin: [-1, -1, 0]}\n"
      "  - lattice: {name: grains, material: m, shape: {sphere: {radius: 0.1}}, count: [3, 3, 3], "
      "spacing: 0.205, origin: [0, 0, 0.11], position_jitter: 5 mm}\n"
      "time: {step: 4 ms, end: 1}\n"
      "solver: {method: gauss_seidel, max_iterations: 30}\n"
      "parallel: {deterministic: true, tile_bodies: 8, rebalance_steps: 5}\n");
  return sim;
}

void work(Simulation& sim) {
  SceneAccess& scene = sim.scene();
  const GlobalId grain = scene.body("grains-5"), paddle = scene.body("paddle");
  switch (sim.state().step) {
    case 1:
      scene.set_load(grain, Vec3(0, 30, 0));
      scene.set_velocity(paddle, Vec3(0.5, 0, 0), Vec3(0, 0, 1));
      break;
    case 3: {
      BodyConstants ball = scene.body_constants(grain);
      scene.add_body(ball,
                     {{Vec3(0.2, 0.2, 0.9), Quat::Identity()}, {Vec3(0, 0, -2), Vec3::Zero()}});
      scene.remove_body(scene.body("grains-9"));
      break;
    }
    case 5: {
      const GlobalId other = scene.body("grains-14"), added = sim.model().names.size();
      const Vec3 p = scene.body_state(other).pose.p, q = scene.body_state(added).pose.p;
      scene.add_joint(scene.joint_at(JointType::distance, other, added, {p, q}));
      scene.set_material(grain, "ice");
      break;
    }
    default:
      break;
  }
}

TEST(SceneAccess, WhatAProgramDoesGivesTheSameBitsOnAnyRanksAndAfterAResume) {
  const Communicator world = Communicator::world();
  const auto alone = worked_pile(Communicator::self()), all = worked_pile(world);
  const std::string path = "scene_access_" + std::to_string(world.size()) + ".h5";
  for (const auto& sim : {alone.get(), all.get()}) sim->before_each_step(work);
  for (int i = 0; i < 9; ++i) {
    if (i == 7) all->write_checkpoint(path);
    alone->step();
    all->step();
    EXPECT_EQ(state_hash(Communicator::self(), alone->bodies(), alone->state()),
              state_hash(world, all->bodies(), all->state()))
        << i;
  }
  // on one rank, with the load, the motion, the new body and its joint
  Checkpoint checkpoint = read_checkpoint(Communicator::self(), path);
  Simulation resumed(Communicator::self(), alone->settings(), checkpoint);
  for (int i = 7; i < 9; ++i) resumed.step();
  EXPECT_EQ(state_hash(Communicator::self(), resumed.bodies(), resumed.state()),
            state_hash(Communicator::self(), alone->bodies(), alone->state()));
  EXPECT_EQ(resumed.scene().joint_constants(0).body[1], resumed.model().names.size());
  world.barrier();
  if (world.rank() == 0) std::filesystem::remove(path);
}

TEST(SceneAccess, AWholeRunCallsBackAndWritesTheBodiesThatCame) {
  const Communicator world = Communicator::world();
  CaseSettings settings =
      test::case_of(kBalls, {"time.end=20 ms", "output.snapshot_interval=10 ms"});
  Simulation sim(world, settings);
  sim.before_each_step([](Simulation& s) {
    if (s.state().step != 12) return;
    SceneAccess& scene = s.scene();
    const GlobalId b = scene.body("b");
    const Vec3 p = scene.body_state(b).pose.p, q = p + Vec3(0, 3, 0);
    const GlobalId added = scene.add_body(scene.body_constants(b),
                                          {{q, Quat::Identity()}, {Vec3::Zero(), Vec3::Zero()}});
    scene.add_joint(scene.joint_at(JointType::distance, b, added, {p, q}));
  });
  RunOptions options;
  options.directory = "scene_access_run_" + std::to_string(world.size());
  options.force = true;
  Log log(false);

  EXPECT_EQ(sim.run(options, log), ExitCode::done);

  if (world.rank() == 0) {
    EXPECT_EQ(count_snapshot_rows(options.directory + "/snapshots/00000010.h5"), 3);
    EXPECT_EQ(count_snapshot_rows(options.directory + "/snapshots/00000020.h5"), 4);
  }
  world.barrier();
  if (world.rank() == 0) std::filesystem::remove_all(options.directory);
}

TEST(SceneAccess, RefusesOnEveryRankWhatItCannotDo) {
  const auto sim = balls();
  SceneAccess& scene = sim->scene();
  const GlobalId a = scene.body("a"), slab = scene.body("slab");
  const auto says = [](const std::function<void()>& work, const std::string& what) {
    const std::string text = test::error_of(work);
    EXPECT_NE(text.find(what), std::string::npos) << text;
  };
  says([&] { scene.body("slap"); }, "there is no body 'slap'; did you mean slab?");
  says([&] { scene.set_load(slab, Vec3::UnitX()); }, "takes no forces");
  says([&] { scene.set_load(99, Vec3::UnitX()); }, "(id 99) is not there");
  const BodyLoad twice[] = {{a, Vec3::UnitX(), Vec3::Zero()}, {a, Vec3::UnitY(), Vec3::Zero()}};
  says([&] { scene.set_loads(twice); }, "body 0 is loaded twice");
  says([&] { scene.set_velocity(a, Vec3::UnitX(), Vec3::Zero()); }, "body a has no motion");
  says([&] { scene.set_motor_target(4, 1.0); }, "(id 4) is not there");
  says([&] { scene.set_material(a, "lead"); }, "there is no material 'lead'");
  says([&] { scene.add_body({}, {}); }, "a body to be added has no mass");
  BodyConstants odd = scene.body_constants(a);
  odd.shape.type = ShapeType::hull;
  says([&] { scene.add_body(odd, {}); }, "a shape that is not that of its geometry");
  odd.shape = {ShapeType::sphere, Vec3::Zero()};
  says([&] { scene.add_body(odd, {}); }, "a shape without a size");
  says([&] { scene.add_joint(scene.joint_at(JointType::fixed, slab, kNoBody, {})); },
       "none that moves freely");
  says([&] { scene.add_joint(scene.joint_at(JointType::bushing, a, kNoBody, {})); },
       "a bushing whose stiffnesses the case does not have");
  const auto natural = test::simulate(
      Communicator::world(),
      "bodies: [{name: a, mass: 1, inertia: [1, 1, 1]}]\ntime: {stepper: natural, step: 1 ms, end: "
      "1}\n");
  says([&] { natural->scene().set_load(0, Vec3::UnitX()); }, "nothing can be set between steps");
  sim->after_each_step([&](Simulation& s) { s.scene().remove_body(a); });
  says([&] { sim->step(); }, "cannot come or go in a callback after a step");
}

}  // namespace
}  // namespace catena
