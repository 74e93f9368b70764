// The examples with joints in configs/examples do what their first lines say.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numbers>
#include <numeric>
#include <string>
#include <vector>

#include "catena/simulation/joint_reading.hpp"
#include "examples/example_runs.hpp"
#include "support/gravity.hpp"

namespace catena::test {
namespace {

/// Place of a joint among those of the one rank.
std::size_t joint_of(const Simulation& sim, const std::string& name) {
  for (std::size_t j = 0; j < sim.bodies().joints.size(); ++j)
    if (sim.model().joint_names.name_of(sim.bodies().joints[j].id) == name) return j;
  throw std::runtime_error("no joint " + name);
}

double coordinate(const Simulation& sim, const std::string& name) {
  return sim.stepper().joint_coordinates(sim.bodies(), sim.state(), joint_of(sim, name))[0];
}

/// Steps until t, calls `look` after each; returns the share of steps that missed the tolerance.
double run_to(
    Simulation& sim, double t, const std::function<void(const StepReport&)>& look = [](auto&) {}) {
  const std::int64_t first = sim.state().step;
  const std::int64_t last = std::llround(t / sim.settings().time.step);
  int missed = 0;
  while (sim.state().step < last) {
    const StepReport& r = sim.step();
    missed += r.solve.status != SolveStatus::converged;
    look(r);
  }
  return static_cast<double>(missed) / static_cast<double>(last - first);
}

TEST(HangingChain, ItsFreePartFallsAsItLayUntilTheBendFromTheAnchorReachesIt) {
  const auto sim = example("hanging_chain");
  const double h = sim->settings().time.step, length = 1000.0, t = 1.0;
  const double g_along = kG * std::numbers::sqrt2 / 2.0, g_across = g_along;
  double mass = 0.0, off = 0.0;
  for (const BodyConstants& body : sim->bodies().constants) mass += body.mass;
  Vec3 before = Vec3::Zero();

  run_to(*sim, t, [&](const StepReport& r) {
    // what the anchor and the weight give is the momentum
    const Vec3 given = sim->stepper().joint_reaction(0).impulse - h * mass * kG * Vec3::UnitZ();
    off = std::max(off, (r.linear_momentum - before - given).norm());
    before = r.linear_momentum;
  });

  EXPECT_LT(off, 1e-9 * mass * kG * h * 1000.0);
  // the tension of the straight part, mu g_along (L - s), carries the bend down with
  // ds/dt = sqrt(g_along (L - s))
  const double front =
      length - std::pow(std::sqrt(length) - 0.5 * t * std::sqrt(g_along), 2);  // 81 m
  const Vec3 across = Vec3(-1.0, 0.0, -1.0).normalized();
  const Vec3 free = body_of(*sim, 9999).twist.v;
  // nothing but gravity acts across a straight chain; the bend draws it up along itself a little
  EXPECT_NEAR(free.dot(across), g_across * t, 1e-6 * g_across * t);
  double apart = 0.0;
  for (const BodyConstants& body : sim->bodies().constants) {
    const double s = 0.1 * (static_cast<double>(body.id) + 0.5);
    const Vec3& v = body_of(*sim, body.id).twist.v;
    if (s > 1.2 * front) apart = std::max(apart, (v - free).norm());
    if (s < 0.8 * front) {
      EXPECT_LT(v.norm(), 0.9 * free.norm()) << s;
    }
  }
  EXPECT_LT(apart, 1e-4 * free.norm());
  const StepReport& r = sim->stepper().report();
  // semi-implicit steps fall h v/2 farther than the parabola
  EXPECT_LT(std::abs(r.energy_residual), 1.1 * mass * g_across * g_across * h * t / 2.0);
  EXPECT_LT(r.misfit.linear, 1e-6 * 0.1);
  std::printf("hanging chain: bend at %.1f m, links beyond it apart by %.1e m/s, misfit %.1e m\n",
              front, apart, r.misfit.linear);
}

TEST(Crane, LiftsAThousandTimesTheMassOfALink) {
  const auto sim = example("crane");
  const std::size_t hook = joint_of(*sim, "hook");
  const double h = sim->settings().time.step, load = 500.0, radius = 0.315;
  Vec3 pull = Vec3::Zero();
  double misfit = 0.0;

  run_to(*sim, 1.0, [&](const StepReport& r) { misfit = std::max(misfit, r.misfit.linear); });
  const double start = named(*sim, "load").pose.p.z();
  run_to(*sim, 1.9, [&](const StepReport& r) {
    pull += sim->stepper().joint_reaction(hook).impulse;
    misfit = std::max(misfit, r.misfit.linear);
  });
  const double lifted = named(*sim, "load").pose.p.z() - start;
  const double missed =
      run_to(*sim, 6.0, [&](const StepReport& r) { misfit = std::max(misfit, r.misfit.linear); });

  // the hook pulls the load's weight (the load is body b: the reaction acts on it)
  EXPECT_NEAR(pull.z() / 900.0 / h, load * kG, 0.02 * load * kG);
  // the drum's circumference, between that of a circle through the joints and that of the polygon
  EXPECT_NEAR(lifted, 2.0 * 0.9 * radius, 0.01);
  EXPECT_NEAR(coordinate(*sim, "luffing"), 0.3 * 2.5, 1e-6);
  EXPECT_GT(named(*sim, "load").pose.p.z(), 3.8);
  EXPECT_LT(misfit, 1e-5);
  EXPECT_LT(missed, 0.2);
  const StepReport& r = sim->stepper().report();
  EXPECT_LT(std::abs(r.energy_residual), 1e-3 * r.audit[EnergyTerm::motor_work]);
  EXPECT_GT(r.audit[EnergyTerm::motor_work], load * kG * 3.5);
  std::printf("crane: misfit %.1e m, load at %.3f m, steps missed %.0f %%\n", misfit,
              named(*sim, "load").pose.p.z(), 100.0 * missed);
}

TEST(CableStayed, EachStayBearsWhatStaticsSays) {
  const auto sim = example("cable_stayed");
  // a plate's ends bear half its weight each, the inner one of the first plate the pylon; stays
  // lead from 12 m above the hinges to the plates' outer ends
  const double plate = 4000.0 * kG, truck = 3000.0 * kG;
  const auto expect = [&](const char* side, double on_third, double on_fourth, double part) {
    const double bears[] = {plate, plate, plate + on_third, 0.5 * plate + on_fourth};
    for (int k = 0; k < 4; ++k) {
      const std::string name = "stay_" + std::string(side) + std::to_string(k + 1);
      const GlobalId id = sim->model().joint_names.ids_of(name).first;
      const double tension = bears[k] * std::hypot(12.0, 5.0 * (k + 1)) / 12.0;
      EXPECT_NEAR(joint_forces(*sim, id).force.norm(), tension, part * tension) << name;
    }
  };

  run_to(*sim, 0.25);
  expect("left", 0.0, 0.0, 1e-6);
  expect("right", 0.0, 0.0, 1e-6);
  run_to(*sim, 3.0);

  // the truck stands in the middle of the fourth plate, where it fell
  EXPECT_NEAR(named(*sim, "truck").pose.p.x(), 17.5, 0.05);
  EXPECT_LT(named(*sim, "truck").twist.v.norm(), 1e-3);
  expect("left", 0.0, 0.0, 1e-3);
  expect("right", 0.5 * truck, 0.5 * truck, 5e-3);
}

/// Sizes of the pieces that bonds still hold together, the largest first.
std::vector<int> pieces_of(const Simulation& sim) {
  std::map<GlobalId, GlobalId> parent;
  for (const BodyConstants& body : sim.bodies().constants)
    if (body.jointed) parent[body.id] = body.id;
  const auto root = [&](GlobalId id) {
    while (parent.at(id) != id) id = parent[id] = parent.at(parent.at(id));
    return id;
  };
  for (const JointConstants& bond : sim.bodies().joints)
    parent[root(bond.body[0])] = root(bond.body[1]);
  std::map<GlobalId, int> size;
  for (const auto& [id, up] : parent) ++size[root(id)];
  std::vector<int> sizes;
  for (const auto& [id, n] : size) sizes.push_back(n);
  std::ranges::sort(sizes, std::greater());
  return sizes;
}

/// A hit wall's energy goes nowhere that the audit does not name, and what the glue stores is part
/// of what it has taken.
void expect_broken_wall(Simulation& sim, int blocks, double end) {
  const std::int64_t bonds = sim.n_bonds();
  std::int64_t broken_before = 0;
  double worst = 0.0;
  run_to(sim, end, [&](const StepReport& r) {
    EXPECT_GE(sim.state().broken_joints, broken_before);
    broken_before = sim.state().broken_joints;
    worst = std::max(worst, std::abs(r.energy_residual));
  });
  const StepReport& r = sim.stepper().report();
  double stored = 0.0;
  for (std::size_t j = 0; j < sim.bodies().joints.size(); ++j) {
    const JointConstants& bond = sim.bodies().joints[j];
    for (std::size_t row = 0; row < 6; ++row) {
      const double force = sim.state().joints[j].impulse[row] / sim.settings().time.step;
      stored += 0.5 * (row < 3 ? bond.compliance : bond.angular_compliance) * force * force;
    }
  }
  const std::vector<int> pieces = pieces_of(sim);

  EXPECT_EQ(std::ssize(sim.bodies().joints) + sim.state().broken_joints, bonds);
  EXPECT_GT(sim.state().broken_joints, 10);
  EXPECT_EQ(std::accumulate(pieces.begin(), pieces.end(), 0), blocks);
  EXPECT_GT(pieces.size(), 3U);
  EXPECT_GT(pieces[0], 1);
  EXPECT_GT(stored, 0.0);
  EXPECT_LT(stored, -r.audit[EnergyTerm::joint_work]);
  EXPECT_LT(worst, 2e-3 * r.audit[EnergyTerm::initial_energy]);
  std::printf(
      "bonded wall: %lld of %lld bonds broken, %zu pieces, the largest of %d blocks; of %.4g J the "
      "glue has taken %.4g and stores %.3g, residual at most %.2g\n",
      static_cast<long long>(sim.state().broken_joints), static_cast<long long>(bonds),
      pieces.size(), pieces[0], r.audit[EnergyTerm::initial_energy],
      -r.audit[EnergyTerm::joint_work], stored, worst);
}

TEST(BondedWall, BreaksInPiecesAndItsEnergyIsAccountedFor) {
  const auto sim = example("bonded_wall");
  EXPECT_EQ(sim->n_bonds(), 15 * 12 + 16 * 11);
  expect_broken_wall(*sim, 16 * 12, 0.05);
}

TEST(ChainOnPile, HoldsTogetherAndLiesOnTheGrains) {
  const auto sim = example("chain_on_pile");
  double misfit = 0.0;

  const double missed =
      run_to(*sim, 2.0, [&](const StepReport& r) { misfit = std::max(misfit, r.misfit.linear); });

  EXPECT_LT(misfit, 1e-8);  // of links of 6 cm
  const StepReport& r = sim->stepper().report();
  std::vector<double> speeds, heights;
  double weight = 0.0;
  for (const BodyConstants& body : sim->bodies().constants) {
    if (body.kind != BodyKind::dynamic) continue;
    const BodyMotionState& s = body_of(*sim, body.id);
    weight += body.mass * kG;
    speeds.push_back(s.twist.v.norm());
    if (sim->model().names.name_of(body.id).rfind("chain", 0) == 0) heights.push_back(s.pose.p.z());
    const Vec3& p = s.pose.p;
    EXPECT_TRUE(p.x() > 0.0 && p.x() < 1.1 && p.y() > 0.0 && p.y() < 1.1 && p.z() > 0.0) << body.id;
  }
  ASSERT_EQ(heights.size(), 100u);
  std::sort(speeds.begin(), speeds.end());
  std::sort(heights.begin(), heights.end());
  EXPECT_LT(speeds[speeds.size() / 2], 5e-3);
  EXPECT_GT(heights[50], 0.3);  // five layers of grains below
  EXPECT_LT(std::abs(r.energy_residual), 0.01 * r.audit[EnergyTerm::dissipation_impact]);
  std::printf("chain on pile: misfit %.1e m, middle link at %.3f m, steps missed %.0f %%\n", misfit,
              heights[50], 100.0 * missed);
}

TEST(Track, ClimbsOverBoxesByFrictionOfItsSprocket) {
  const auto sim = example("track");
  const std::size_t drive = joint_of(*sim, "drive");
  const double ground = named(*sim, "hull").pose.p.z();
  double torque = 0.0, misfit = 0.0, highest = 0.0;

  const double missed = run_to(*sim, 5.5, [&](const StepReport& r) {
    misfit = std::max(misfit, r.misfit.linear);
    highest = std::max(highest, named(*sim, "hull").pose.p.z());
    torque = std::max(torque, std::abs(sim->stepper().joint_reaction(drive).couple.y()));
  });

  const BodyMotionState& hull = named(*sim, "hull");
  EXPECT_GT(hull.pose.p.x(), 3.9);             // its middle is beyond the second box
  EXPECT_LT(std::abs(hull.pose.p.y()), 0.05);  // and it went straight on
  EXPECT_GT(highest, ground + 0.1);
  EXPECT_LT(torque, 1500.0 + 1e-6);
  // per turn it goes as far as the links' inner faces, at most as their joints, less what it climbs
  // and slips
  const double per_radian = hull.pose.p.x() / coordinate(*sim, "drive");
  EXPECT_GT(per_radian, 0.24);
  EXPECT_LT(per_radian, 0.28);
  EXPECT_LT(misfit, 2e-4);
  const StepReport& r = sim->stepper().report();
  EXPECT_LT(std::abs(r.energy_residual), 1e-3 * r.audit[EnergyTerm::motor_work]);
  std::printf("track: hull at %.3f m, %.3f m per radian, misfit %.1e m, steps missed %.0f %%\n",
              hull.pose.p.x(), per_radian, misfit, 100.0 * missed);
}

}  // namespace
}  // namespace catena::test
