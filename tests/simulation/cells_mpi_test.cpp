// Boxes without walls: periodic along z, and sheared as Lees and Edwards do it; on any number of
// ranks.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "support/same_bits.hpp"

namespace catena::test {
namespace {

/// Collective. Sum over all ranks of f(constants, state) over dynamic bodies.
template <class F>
double sum_over(const Simulation& sim, F&& f) {
  double sum = 0.0;
  for (std::size_t i = 0; i < sim.bodies().constants.size(); ++i)
    if (sim.bodies().constants[i].kind == BodyKind::dynamic)
      sum += f(sim.bodies().constants[i], sim.state().body[i]);
  return sim.communicator().sum(sum);
}

std::string solver(const std::string& end, const std::string& step = "1 ms") {
  return "time: {step: " + step + ", end: " + end +
         "}\nsolver: {max_iterations: 500, metric: natural_map, relative_tolerance: 0, "
         "absolute_tolerance: 1e-12, check_interval: 1}\n";
}

/// Two spheres whose way leads through the side z = 0.5 or, `inside` by half a period, nowhere near
/// it.
std::string pair_at(double middle) {
  const auto ball = [&](const char* name, double dz, const Vec3& v) {
    const double z = middle + dz;
    return std::string("  - {name: ") + name +
           ", material: m, shape: {sphere: {radius: 0.1}}, position: " +
           text_of(Vec3(dz < 0.0 ? 0.0 : 0.05, 0.0, z > 0.5 ? z - 1.0 : z)) +
           ", velocity: " + text_of(v) + ", angular_velocity: [0, 3, 0]}\n";
  };
  return "gravity: [0, 0, 0]\nmaterials: {m: {density: 1000, friction: 0.3, restitution: 0.5, "
         "rolling_friction: 1 mm}}\nperiodic: {z: [-0.5, 0.5]}\nbodies:\n" +
         ball("low", -0.12, {0.3, 0.0, 1.0}) + ball("high", 0.12, {0.0, 0.1, -1.0}) + solver("1");
}

TEST(PeriodicAlongZ, APairMeetsThroughTheSideAsItDoesInside) {
  const Communicator comm = Communicator::world();
  for (const char* contact : {"contact.stiffness=rigid", "contact.stiffness=auto"}) {
    const auto across = simulate(comm, pair_at(0.5), {contact});
    const auto inside = simulate(comm, pair_at(0.0), {contact});
    std::int64_t met = 0;
    for (int step = 0; step < 100; ++step) {
      met += across->step().contacts;
      inside->step();
    }
    EXPECT_GT(met, 0);
    const std::vector<double> x = positions_by_id(*across), y = positions_by_id(*inside);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double shift = i % 3 == 2 ? 0.5 : 0.0;
      EXPECT_NEAR(std::remainder(x[i] - y[i] - shift, 1.0), 0.0, 1e-11) << contact << " " << i;
    }
    for (int k = 0; k < 3; ++k) {
      const auto momentum = [&](const BodyConstants& b, const BodyMotionState& s) {
        return b.mass * s.twist.v[k];
      };
      EXPECT_NEAR(sum_over(*across, momentum), sum_over(*inside, momentum), 1e-11);
    }
  }
}

/// Grains in a column that is periodic on all sides, with a random motion.
std::string gas(const std::string& periodic, double z_velocity, const std::string& more) {
  return "materials: {m: {density: 1000, friction: 0.3, restitution: 0.7}}\nperiodic: " + periodic +
         "\ngenerators:\n"
         "  - lattice: {name: up, material: m, shape: {sphere: {radius: 0.05}}, count: [4, 4, 5], "
         "spacing: [0.15, 0.15, 0.2], origin: [-0.22, -0.22, -0.4], position_jitter: 0.02, "
         "velocity: [0.3, 0, " +
         text_of(z_velocity) +
         "]}\n"
         "  - lattice: {name: down, material: m, shape: {sphere: {radius: 0.03}}, count: [4, 4, "
         "5], spacing: [0.15, 0.15, 0.2], origin: [-0.15, -0.15, -0.3], position_jitter: 0.01, "
         "velocity: [0, -0.2, " +
         text_of(-z_velocity) + "]}\n" + more;
}
const std::string kAllSides = "{x: [-0.3, 0.3], y: [-0.3, 0.3], z: [-0.5, 0.5]}";

TEST(PeriodicAlongZ, AColumnWithoutWallsFallsWithItsWeightAlone) {
  const Communicator comm = Communicator::world();
  const auto sim = simulate(comm, gas(kAllSides, 1.0, "time: {step: 2 ms, end: 1}\n"));
  const auto momentum = [&](int k) {
    return sum_over(*sim, [k](const BodyConstants& b, const BodyMotionState& s) {
      return b.mass * s.twist.v[k];
    });
  };
  const double mass =
      sum_over(*sim, [](const BodyConstants& b, const BodyMotionState&) { return b.mass; });
  const Vec3 start(momentum(0), momentum(1), momentum(2));
  std::int64_t met = 0;
  for (int step = 0; step < 150; ++step) met += sim->step().contacts;
  EXPECT_GT(met, 500);
  const double t = sim->state().time;
  EXPECT_NEAR(momentum(0), start[0], 1e-11 * mass);
  EXPECT_NEAR(momentum(1), start[1], 1e-11 * mass);
  EXPECT_NEAR(momentum(2), start[2] - mass * 9.81 * t, 1e-11 * mass);
  // what comes in again above has m g L more, which is external work; falls leave m g^2 h t/2
  const StepReport& r = sim->stepper().report();
  EXPECT_GT(r.audit[EnergyTerm::external_work], 0.1 * mass * 9.81);
  EXPECT_LT(std::abs(r.energy_residual), 0.6 * mass * 9.81 * 9.81 * 2e-3 * t);
}

/// Two spheres above and below a box of 1 m that shears with 2/s: b meets a as if it stood above it
/// with 2 m/s more. Where `apart` it does so in truth.
std::string sheared_pair(bool apart, const std::string& contact) {
  const double rate = 2.0, length = 1.0;
  Vec3 b(-0.08, 0.02, -0.39), v_b(-0.5, 0.0, -0.7);
  if (apart) {
    b.z() += length;
    v_b.x() += rate * length;
  }
  return "gravity: [0, 0, 0]\nmaterials: {m: {density: 1000, friction: 0.4, restitution: 0.3, "
         "rolling_friction: 2 mm}}\ncontact: {margin: 5 mm, " +
         contact + "}\n" +
         (apart ? "" : "periodic: {x: [-1, 1], z: [-0.5, 0.5], shear: {rate: 2}}\n") +
         "bodies:\n"
         "  - {name: a, material: m, shape: {sphere: {radius: 0.1}}, position: [0, 0, 0.39], "
         "velocity: [0.4, 0, 0], angular_velocity: [1, 2, 3]}\n"
         "  - {name: b, material: m, shape: {sphere: {radius: 0.1}}, position: " +
         text_of(b) + ", velocity: " + text_of(v_b) + "}\n" + solver("1");
}

TEST(LeesEdwards, BodiesCollideAcrossTheSideWithTheShearsVelocity) {
  const Communicator comm = Communicator::world();
  for (const char* contact : {"stiffness: rigid", "stiffness: auto", "stiffness: 1e5",
                              "law: lagged", "law: ccp, stiffness: rigid"}) {
    const auto cell = simulate(comm, sheared_pair(false, contact));
    const auto apart = simulate(comm, sheared_pair(true, contact));
    std::int64_t met = 0;
    for (int step = 0; step < 120; ++step) {
      met += cell->step().contacts;
      EXPECT_EQ(cell->stepper().report().contacts, apart->step().contacts)
          << contact << " " << step;
    }
    EXPECT_GT(met, 0);
    const double way = 2.0 * cell->state().time;
    const std::vector<double> x = positions_by_id(*cell), y = positions_by_id(*apart);
    for (int k = 0; k < 6; ++k) {
      const double image = k == 5 ? 1.0 : k == 3 ? way : 0.0;
      const double period = k % 3 == 0 ? 2.0 : 1.0;
      // a has gone up and through the side, or not: then it moves with the images
      const bool crossed = std::abs(x[2] - y[2]) > 0.5;
      const double with = k == 0 && crossed ? way : 0.0;
      EXPECT_NEAR(std::remainder(x[k] + image + with - y[k], period), 0.0, 2e-11)
          << contact << " " << k;
    }
    // the pair loses as much, and what drives the box gives the rest
    const StepReport &r = cell->stepper().report(), &s = apart->stepper().report();
    for (const EnergyTerm lost : {EnergyTerm::dissipation_friction, EnergyTerm::dissipation_impact})
      EXPECT_NEAR(r.audit[lost], s.audit[lost], 1e-9) << contact;
    EXPECT_NEAR(r.energy_residual, s.energy_residual, 1e-9) << contact;
  }
}

TEST(LeesEdwards, WhatCrossesASideGoesOnWithTheOtherSide) {
  const auto sim = simulate(
      Communicator::world(),
      "gravity: [0, 0, 0]\nperiodic: {x: [0, 4], z: [-0.5, 0.5], shear: {rate: 3}}\nbodies:\n"
      "  - {name: a, mass: 2, inertia: [1, 1, 1], position: [1, 0, 0.405], velocity: [0.5, 0, 1]}\n"
      "  - {name: b, mass: 2, inertia: [1, 1, 1], position: [1, 0, -0.405], velocity: [0.5, 0, "
      "-1]}\ntime: {step: 10 ms, end: 2}\n");
  // both cross in the step that ends at t = 0.1, when the images are 0.3 m along
  while (sim->state().step < 50) sim->step();
  const std::vector<double> x = positions_by_id(*sim);
  EXPECT_NEAR(x[0], 1.0 + 0.05 - 0.3 + (0.5 - 3.0) * 0.4 + 4.0, 1e-12);
  EXPECT_NEAR(x[3], 1.0 + 0.05 + 0.3 + (0.5 + 3.0) * 0.4, 1e-12);
  EXPECT_NEAR(x[2], -0.095, 1e-12);
  EXPECT_NEAR(x[5], 0.095, 1e-12);
  EXPECT_NEAR(sum_over(*sim, [](auto& b, auto& s) { return b.mass * s.twist.v.x(); }), 2.0, 1e-12);
  // 1/2 m (2.5^2 - 0.5^2) + 1/2 m (3.5^2 - 0.5^2) by what drives the box
  const StepReport& r = sim->stepper().report();
  EXPECT_NEAR(r.audit[EnergyTerm::external_work], 6.0 + 12.0, 1e-12);
  EXPECT_NEAR(r.energy_residual, 0.0, 1e-12);
}

/// Slope of v_x over z, 1/s, over all bodies by least squares.
double profile(const Simulation& sim) {
  const auto sum = [&](auto&& f) { return sum_over(sim, f); };
  const double n = sum([](auto&, auto&) { return 1.0; });
  const double z = sum([](auto&, auto& s) { return s.pose.p.z(); }) / n;
  const double above = sum([&](auto&, auto& s) { return (s.pose.p.z() - z) * s.twist.v.x(); });
  return above / sum([&](auto&, auto& s) { return std::pow(s.pose.p.z() - z, 2); });
}

const std::string kSheared =
    "{x: [-0.3, 0.3], y: [-0.3, 0.3], z: [-0.5, 0.5], shear: {rate: 2, along: x, across: z}}";
const std::string kRest =
    "gravity: [0, 0, 0]\ntime: {step: 2 ms, end: 5}\n"
    "parallel: {deterministic: true, tile_bodies: 10, rebalance_steps: 40}\n";

/// d/dt sum m (v_x - rate z) = -rate sum m v_z, also where bodies cross sides, and sum m v_z stays.
TEST(LeesEdwards, AGasKeepsItsMomentumAgainstTheShear) {
  const auto sim = simulate(Communicator::world(), gas(kSheared, 0.5, kRest));
  const double rate = 2.0;
  const auto against = [&] {
    return sum_over(
        *sim, [&](auto& b, auto& s) { return b.mass * (s.twist.v.x() - rate * s.pose.p.z()); });
  };
  const auto momentum = [&](int k) {
    return sum_over(*sim, [k](auto& b, auto& s) { return b.mass * s.twist.v[k]; });
  };
  const double mass = sum_over(*sim, [](auto& b, auto&) { return b.mass; });
  const double start = against(), y = momentum(1), z = momentum(2);
  std::int64_t met = 0;
  for (int step = 0; step < 200; ++step) met += sim->step().contacts;
  EXPECT_GT(met, 500);
  EXPECT_NEAR(momentum(1), y, 1e-12 * mass);
  EXPECT_NEAR(momentum(2), z, 1e-12 * mass);
  EXPECT_NEAR(against(), start - rate * z * sim->state().time, 1e-10 * mass);
  const StepReport& r = sim->stepper().report();
  EXPECT_LT(std::abs(r.energy_residual), 1e-9 * r.kinetic);
}

/// From rest the sides carry the grains along until v_x = rate z all through the box.
TEST(LeesEdwards, GrainsTakeTheShearsProfile) {
  const auto sim = simulate(
      Communicator::world(),
      "gravity: [0, 0, 0]\nmaterials: {m: {density: 1000, friction: 0.5}}\nperiodic: {x: [-0.2, "
      "0.2], y: [-0.2, 0.2], z: [-0.25, 0.25], shear: {rate: 4}}\ngenerators:\n"
      "  - lattice: {name: g, material: m, shape: {sphere: {radius: 0.048}}, count: [4, 4, 5], "
      "spacing: 0.1, origin: [-0.15, -0.15, -0.2], position_jitter: 8 mm}\n"
      "time: {step: 4 ms, end: 9}\nsolver: {max_iterations: 100}\n");
  for (int step = 0; step < 1500; ++step) sim->step();
  double mean = 0.0;
  for (int step = 0; step < 500; ++step) {
    sim->step();
    mean += profile(*sim) / 500.0;
  }
  if (sim->communicator().rank() == 0) std::printf("profile %.3f of 4 / s\n", mean);
  EXPECT_NEAR(mean, 4.0, 0.4);
}

/// The same bits on any number of ranks, also of belts, and where the run goes on from a
/// checkpoint.
TEST(Cells, HaveTheSameBitsOnAnyNumberOfRanksAndAfterAResume) {
  const std::string belt =
      "bodies:\n  - {name: belt, material: m, fixed: true, shape: {box: {size: [0.6, 0.6, 0.05]}}, "
      "surface_velocity: [1, 0, 0]}\n";
  for (const std::string& yaml :
       {gas(kSheared, 0.5, belt + kRest),
        gas(kAllSides, 0.5,
            belt + "gravity_table: {rows: [[0, 0, 0, -9.81], [0.1, 9.81, 0, 0]]}\ntime: {step: 2 "
                   "ms, end: 5}\nparallel: {deterministic: true, tile_bodies: 10}\n")}) {
    expect_same_bits(yaml, 60, "cells");
  }
}

}  // namespace
}  // namespace catena::test
