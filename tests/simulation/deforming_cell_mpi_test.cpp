// Periodic cells whose sides follow rates of strain or stresses, on any number of ranks.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "catena/simulation/scene_access.hpp"
#include "support/error_of.hpp"
#include "support/same_bits.hpp"

namespace catena::test {
namespace {

PeriodicBox cell_of(const Simulation& sim) { return box_of(sim.model(), sim.state()); }

/// Collective. Sum over all ranks of f(constants, state) over dynamic bodies.
template <class F>
double sum_over(const Simulation& sim, F&& f) {
  double sum = 0.0;
  for (std::size_t i = 0; i < sim.bodies().constants.size(); ++i)
    sum += f(sim.bodies().constants[i], sim.state().body[i]);
  return sim.communicator().sum(sum);
}

/// v = L (x - centre) at every step: L_k grows as (1 + h rate)^n, and x with it.
TEST(DeformingCell, ABodyAtRestInItMovesAffinely) {
  const auto sim = simulate(
      Communicator::world(),
      "gravity: [0, 0, 0]\nperiodic: {x: [0, 2], y: [-1, 1], z: [0, 4], deform: {x: {strain_rate: "
      "-0.5}, z: {strain_rate: 0.25, table: {rows: [[0, 2], [0.5, 2], [0.50000001, 1]]}}}}\n"
      "bodies: [{name: a, mass: 3, inertia: [1, 1, 1], position: [1.75, 0.5, 1.5]}]\n"
      "time: {step: 10 ms, end: 2}\n");
  while (sim->state().step < 100) sim->step();
  const double x = std::pow(1.0 - 0.005, 100), z = std::pow(1.005, 50) * std::pow(1.0025, 50);
  const PeriodicBox cell = cell_of(*sim);
  EXPECT_NEAR(cell.length(0), 2.0 * x, 1e-12);
  EXPECT_NEAR(cell.length(1), 2.0, 0.0);
  EXPECT_NEAR(cell.length(2), 4.0 * z, 1e-6);  // the factor falls over 10 ns
  const std::vector<double> p = positions_by_id(*sim);
  EXPECT_NEAR(p[0], 1.0 + 0.75 * x, 1e-12);
  EXPECT_NEAR(p[1], 0.5, 0.0);
  EXPECT_NEAR(p[2], 2.0 - 0.5 * z, 1e-6);
  EXPECT_NEAR(sum_over(*sim, [](auto&, auto& s) { return s.twist.v.x(); }), -0.5 * 0.75 * x, 1e-12);
  // all of its energy has come from what moves the cell
  const StepReport& r = sim->stepper().report();
  EXPECT_NEAR(r.energy_residual, 0.0, 1e-12);
  EXPECT_GT(std::abs(r.audit[EnergyTerm::external_work]), 1e-3);
}

/// Two spheres that meet, in a cell that stretches, shrinks and shears; where its lower corner is,
/// they cross its sides at other times.
std::string pair_in_cell(const Vec3& corner, const std::string& contact) {
  const auto sides = [&](int k) {
    return "[" + text_of(corner[k]) + ", " + text_of(corner[k] + 1.0) + "]";
  };
  return "gravity: [0, 0, 0]\nmaterials: {m: {density: 1000, friction: 0.3}}\ncontact: {margin: 5 "
         "mm, " +
         contact + "}\nperiodic: {x: " + sides(0) + ", y: " + sides(1) + ", z: " + sides(2) +
         ", shear: {rate: 1.5, along: x, across: z}, deform: {x: {strain_rate: -0.4}, y: "
         "{strain_rate: 0.3}, z: {strain_rate: -0.2}}}\nbodies:\n"
         "  - {name: a, material: m, shape: {sphere: {radius: 0.1}}, position: [0.4, 0.5, 0.3], "
         "velocity: [0.2, 0, 2], angular_velocity: [1, 2, 3]}\n"
         "  - {name: b, material: m, shape: {sphere: {radius: 0.1}}, position: [0.45, 0.5, 0.8], "
         "velocity: [0, 0.1, -1]}\n"
         "time: {step: 1 ms, end: 2}\nsolver: {max_iterations: 500, metric: natural_map, "
         "relative_tolerance: 0, absolute_tolerance: 1e-12, check_interval: 1}\n";
}

/// Bodies do not know where the sides are: only a motion in common differs.
TEST(DeformingCell, WhereItsSidesAreMakesNoDifference) {
  const Communicator comm = Communicator::world();
  for (const char* contact : {"stiffness: rigid", "stiffness: auto", "stiffness: 1e5"}) {
    const auto one = simulate(comm, pair_in_cell(Vec3(0.0, 0.0, 0.0), contact));
    const auto other = simulate(comm, pair_in_cell(Vec3(-0.3, 0.2, 0.1), contact));
    std::int64_t met = 0;
    for (int step = 0; step < 450; ++step) {
      met += one->step().contacts;
      EXPECT_EQ(other->step().contacts, one->stepper().report().contacts) << contact << step;
    }
    EXPECT_GT(met, 2);
    const PeriodicBox cell = cell_of(*one);
    EXPECT_NEAR(cell.length(0), std::pow(1.0 - 0.4e-3, 450), 1e-12);
    const std::vector<double> x = positions_by_id(*one), y = positions_by_id(*other);
    std::array<double, 3> d;
    for (std::size_t k = 0; k < 3; ++k) d[k] = (x[3 + k] - x[k]) - (y[3 + k] - y[k]);
    const double across = std::round(d[2] / cell.length(2));
    EXPECT_NEAR(d[2], across * cell.length(2), 1e-9) << contact;
    EXPECT_NEAR(std::remainder(d[1], cell.length(1)), 0.0, 1e-9) << contact;
    EXPECT_NEAR(std::remainder(d[0] - across * cell.offset, cell.length(0)), 0.0, 1e-9) << contact;
    for (const EnergyTerm lost : {EnergyTerm::dissipation_friction, EnergyTerm::dissipation_impact})
      EXPECT_NEAR(one->stepper().report().audit[lost], other->stepper().report().audit[lost], 1e-9)
          << contact;
  }
}

std::string stress_on_all(const std::string& stress, const std::string& more) {
  std::string text = "deform: {";
  for (const char* axis : {"x", "y", "z"})
    text += std::string(axis) + ": {stress: " + stress + ", " + more + "}" +
            (axis[0] == 'z' ? "}" : ", ");
  return text;
}

/// A simple cubic lattice of springs: each side of a sphere carries sigma d^2 = k (2 r - d).
TEST(DeformingCell, ALatticeOfSpheresShrinksByItsStiffness) {
  const auto sim = simulate(
      Communicator::world(),
      "gravity: [0, 0, 0]\nmaterials: {m: {density: 2500, friction: 0.5}}\ncontact: {stiffness: "
      "1e5}\nperiodic: {x: [0, 0.3], y: [0, 0.3], z: [0, 0.3], " +
          stress_on_all("1 kPa", "max_strain_rate: 0.1") +
          "}\ngenerators:\n  - lattice: {name: g, material: m, shape: {sphere: {radius: 0.05}}, "
          "count: [3, 3, 3], spacing: 0.1, origin: [0.05, 0.05, 0.05]}\n"
          "time: {step: 0.1 ms, end: 1}\n");
  for (int step = 0; step < 1500; ++step) sim->step();
  for (std::size_t k = 0; k < 3; ++k) {
    const double d = cell_of(*sim).length(k) / 3.0;
    EXPECT_NEAR((0.1 - d) * 1e5 / (d * d), 1000.0, 2.0);
    EXPECT_NEAR(sim->stepper().report().cell.total(k), 1000.0, 2.0);
  }
  // sigma V strain/2 is stored in the springs
  const StepReport& r = sim->stepper().report();
  const double strain = std::log(cell_of(*sim).length(0) / 0.3);
  EXPECT_NEAR(r.audit[EnergyTerm::elastic_energy], -1.5 * 1000.0 * 0.027 * strain,
              0.01 * r.audit[EnergyTerm::elastic_energy]);
}

std::string sticky_lattice(const std::string& cohesion, const std::string& stress) {
  return "gravity: [0, 0, 0]\nmaterials: {m: {density: 2500, friction: 0.5" + cohesion +
         "}}\ncontact: {stiffness: 1e5, margin: 2 mm, cohesion_range: 1 mm}\nperiodic: {x: [0, "
         "0.3], y: [0, 0.3], z: [0, 0.3], " +
         stress_on_all(stress, "max_strain_rate: 0.1") +
         "}\ngenerators:\n  - lattice: {name: g, material: m, shape: {sphere: {radius: 0.05}}, "
         "count: [3, 3, 3], spacing: 0.1, origin: [0.05, 0.05, 0.05]}\n"
         "time: {step: 0.1 ms, end: 1}\n";
}

TEST(DeformingCell, RefusesATensileStressThatNothingCarries) {
  const Communicator comm = Communicator::world();
  const std::string plain = error_of([&] { simulate(comm, sticky_lattice("", "-100")); });
  EXPECT_NE(plain.find("periodic.deform.x.stress: a tensile stress of -100 Pa, which nothing "
                       "carries: no material has cohesion"),
            std::string::npos)
      << plain;
  const std::string table = "1 kPa, table: {rows: [[0, 1], [1, -0.5]]}";
  const std::string later = error_of([&] { simulate(comm, sticky_lattice("", table)); });
  EXPECT_NE(later.find("a tensile stress of -500 Pa"), std::string::npos) << later;
  EXPECT_EQ(error_of([&] { simulate(comm, sticky_lattice(", cohesion: 2", "-100")); }), "no error");
}

const std::string kPack =
    "gravity: [0, 0, 0]\nmaterials: {m: {density: 2500, friction: 0.3}}\ngenerators:\n"
    "  - lattice: {name: g, material: m, shape: {sphere: {radius: 5 mm}}, radius_jitter: 0.2, "
    "count: [6, 6, 6], spacing: 11.5 mm, origin: [6 mm, 6 mm, 6 mm], position_jitter: 1 mm}\n"
    "time: {step: 0.5 ms, end: 5}\nsolver: {max_iterations: 150, relative_tolerance: 1e-7}\n";
const std::string kPackSides = "periodic: {x: [0, 69 mm], y: [0, 69 mm], z: [0, 69 mm], ";

/// Collective. Mean of the diagonal of Love's and Weber's stress, of records of contacts and radii:
/// n . f (r_a + r_b + gap)/(3 V).
double pressure_of(const Simulation& sim) {
  std::vector<double> radius(1000, 0.0);
  for (const BodyConstants& body : sim.bodies().constants) radius[body.id] = body.shape.size.x();
  sim.communicator().sum(std::span<double>(radius));
  double sum = 0.0;
  for (std::size_t k = 0; k < sim.stepper().n_contacts(); ++k) {
    const ContactRecord c = sim.stepper().contact(k);
    const double branch = radius[c.key.a] + radius[c.key.b] + c.gap;
    sum += c.impulse.dot(c.normal) / sim.settings().time.step * branch;
  }
  const PeriodicBox cell = cell_of(sim);
  return sim.communicator().sum(sum) / (3.0 * cell.length(0) * cell.length(1) * cell.length(2));
}

/// Now and then grains slip, whatever the solver's last digits, and the stress falls until the cell
/// has followed: of ten seeds one does so within the last 200 steps.
TEST(DeformingCell, APackIsHeldAtAnIsotropicStressAndItsWorkIsThatOfTheStress) {
  const auto sim =
      simulate(Communicator::world(),
               kPackSides + stress_on_all("10 kPa", "max_strain_rate: 1") + "}\n" + kPack);
  double work = 0.0;
  PeriodicBox before = cell_of(*sim);
  const int steps = 1000, last = 200;
  int held = 0;
  for (int step = 0; step < steps; ++step) {
    const StepReport& r = sim->step();
    const double volume = before.length(0) * before.length(1) * before.length(2);
    for (std::size_t k = 0; k < 3; ++k)
      work -= volume * r.cell.total(k) * before.stretch_rate[k] * 5e-4;
    before = cell_of(*sim);
    if (step < steps - last) continue;
    bool holds = std::abs(pressure_of(*sim) - 1e4) < 100.0;
    for (std::size_t k = 0; k < 3; ++k) holds = holds && std::abs(r.cell.total(k) - 1e4) < 100.0;
    held += holds ? 1 : 0;
  }
  EXPECT_GT(held, last / 2);
  const StepReport& r = sim->stepper().report();
  EXPECT_LT(before.length(0), 0.069 * 0.97);
  EXPECT_NEAR(r.audit[EnergyTerm::external_work], work, 0.05 * work);
  EXPECT_LT(std::abs(r.energy_residual), 0.02 * work);
  // no momentum against the cell comes of it
  const PeriodicBox cell = cell_of(*sim);
  for (int k = 0; k < 3; ++k) {
    const auto momentum = [&](auto& b, auto& s) {
      return b.mass * (s.twist.v - cell.gradient() * (s.pose.p - cell.centre()))[k];
    };
    EXPECT_NEAR(sum_over(*sim, momentum), 0.0, 1e-12);
  }
}

TEST(DeformingCell, HasTheSameBitsOnAnyNumberOfRanksAndAfterAResume) {
  expect_same_bits(kPackSides +
                       "shear: {rate: 0.5}, deform: {x: {stress: 10 kPa, "
                       "max_strain_rate: 2}, y: {stress: 10 kPa, max_strain_rate: 2}, "
                       "z: {strain_rate: -0.5}}}\n" +
                       kPack + "parallel: {deterministic: true, tile_bodies: 20}\n",
                   60, "deforming-cell");
}

/// A case that begins with the end of another one goes on in the cell that it left.
TEST(DeformingCell, GoesOnInAnotherCase) {
  const Communicator comm = Communicator::world();
  const std::string ranks = "parallel: {deterministic: true, tile_bodies: 20}\n";
  const std::string yaml = kPackSides + "shear: {rate: 0.5}, " +
                           stress_on_all("10 kPa", "max_strain_rate: 2") + "}\n" + kPack + ranks;
  const auto whole = simulate(comm, yaml);
  for (int step = 0; step < 30; ++step) whole->step();
  const std::string path = "deforming-cell-left-" + std::to_string(comm.size()) + ".h5";
  CheckpointNotes notes;
  notes.config = print_case(whole->settings());
  notes.n_parts = whole->number_of_parts();
  write_checkpoint(comm, path, notes, whole->bodies(), whole->state());
  const PeriodicBox left = cell_of(*whole);
  const std::string from = "initial: {from: " + path;
  const auto same = simulate(comm, yaml + from + ", time: keep}\n");
  for (int step = 0; step < 20; ++step) {
    whole->step();
    same->step();
  }
  EXPECT_EQ(state_hash(comm, same->bodies(), same->state()),
            state_hash(comm, whole->bodies(), whole->state()));

  const auto held =
      simulate(comm, kPackSides + "shear: {rate: 0}}\n" + kPack + ranks + from + "}\n");
  EXPECT_EQ(held->state().step, 0);
  EXPECT_LT(left.length(0), 0.0689);
  EXPECT_EQ(cell_of(*held).lo, left.lo);
  EXPECT_EQ(cell_of(*held).hi, left.hi);
  EXPECT_NE(left.offset, 0.0);
  EXPECT_EQ(cell_of(*held).offset, left.offset);
  // what the cell's rates were is no motion of the bodies any more
  const double speed = sum_over(*held, [](auto&, auto& s) { return s.twist.v.norm(); }) / 216.0;
  EXPECT_LT(speed, 0.5 * 0.0345 * std::abs(left.stretch_rate[0]));
  held->step();
  EXPECT_EQ(cell_of(*held).hi, left.hi);
  comm.barrier();
  if (comm.rank() == 0) std::remove(path.c_str());
}

TEST(DeformingCell, WhatAProgramAddsStandsInTheCellAsItIs) {
  const auto sim = simulate(
      Communicator::world(),
      "gravity: [0, 0, 0]\nperiodic: {x: [0, 1], deform: {x: {strain_rate: 1}}}\nmaterials: {m: "
      "{}}\nbodies: [{name: a, material: m, shape: {sphere: {radius: 0.2}}, position: [0.5, 0, "
      "0]}]\ntime: {step: 10 ms, end: 10}\n");
  for (int step = 0; step < 40; ++step) sim->step();
  ASSERT_GT(cell_of(*sim).hi[0], 1.2);
  SceneAccess& scene = sim->scene();
  BodyConstants ball = scene.body_constants(scene.body("a"));

  const GlobalId b =
      scene.add_body(ball, {{Vec3(1.2, 3, 0), Quat::Identity()}, {Vec3::Zero(), Vec3::Zero()}});
  EXPECT_EQ(scene.body_state(b).pose.p.x(), 1.2);
  ball.kind = BodyKind::fixed;
  EXPECT_NE(error_of([&] { scene.add_body(ball, {}); }).find("would not follow the sides"),
            std::string::npos);
  EXPECT_NE(error_of([&] {
              scene.add_joint(scene.joint_at(JointType::distance, 0, b, {}));
            }).find("joints are not available"),
            std::string::npos);
}

TEST(DeformingCell, IsRefusedWhereItTurnsInsideOutAndEndsWhereABodyNoLongerFits) {
  const Communicator comm = Communicator::world();
  const auto text = [](const char* rate, const char* step) {
    return std::string("gravity: [0, 0, 0]\nperiodic: {x: [0, 1], deform: {x: {strain_rate: ") +
           rate +
           "}}}\nmaterials: {m: {}}\nbodies: [{name: a, material: m, shape: {sphere: {radius: "
           "0.2}}, position: [0.5, 0, 0]}]\ntime: {step: " +
           step + ", end: 10}\n";
  };
  EXPECT_NE(error_of([&] { simulate(comm, text("-200", "10 ms")); })
                .find("the cell would turn inside out along x: a rate of strain of -200 1/s in a "
                      "step of 0.01 s"),
            std::string::npos);
  const auto sim = simulate(comm, text("-1", "10 ms"));
  const std::string end = error_of([&] {
    for (int step = 0; step < 100; ++step) sim->step();
  });
  EXPECT_NE(end.find("body a is longer than half the periodic box along x"), std::string::npos)
      << end;
  EXPECT_NEAR(cell_of(*sim).length(0), 0.8, 0.01);
}

}  // namespace
}  // namespace catena::test
