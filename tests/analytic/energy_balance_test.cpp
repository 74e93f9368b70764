// Where the energy of grains goes: what is put in by a drum, or by gravity in a silo, is what the
// audit says was lost, to 1e-3 of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <numbers>
#include <string>
#include <vector>

#include "analytic/case_runner.hpp"

namespace catena::test {
namespace {

struct Balance {
  double lost = 0.0, friction = 0.0, residual = 0.0, jump = 0.0;  ///< J, since the start
  double falling = 0.0;  ///< m g h v/2 of what falls at the end, J: what semi-implicit falls leave
  int missed = 0;
};

Balance balance_after(const char* name, const std::string& yaml, double end) {
  const auto sim = simulate(Communicator::self(), yaml);
  Balance b;
  const std::int64_t last = std::llround(end / sim->settings().time.step);
  while (sim->state().step < last)
    b.missed += sim->step().solve.status == SolveStatus::converged ? 0 : 1;
  const StepReport& r = sim->stepper().report();
  b.friction = r.audit[EnergyTerm::dissipation_friction];
  b.lost = b.friction + r.audit[EnergyTerm::dissipation_impact];
  b.residual = r.energy_residual;
  b.jump = r.audit[EnergyTerm::elastic_jump];
  for (std::size_t i = 0; i < sim->bodies().constants.size(); ++i) {
    const BodyConstants& body = sim->bodies().constants[i];
    if (body.kind == BodyKind::dynamic)
      b.falling +=
          0.5 * 9.81 * sim->settings().time.step * body.mass * sim->state().body[i].twist.v.z();
  }
  std::printf(
      "%s: lost %.4g J (friction %.0f %%), kinetic %.2g J, elastic %.2g J, unexplained %.1e, jump "
      "%.1e, recovery %.1e of the losses, %d of %lld steps missed\n",
      name, b.lost, 100.0 * b.friction / b.lost, r.kinetic, r.audit[EnergyTerm::elastic_energy],
      b.residual / b.lost, b.jump / b.lost, r.audit[EnergyTerm::recovery_work] / b.lost, b.missed,
      static_cast<long long>(last));
  return b;
}

/// An impact stores Sigma/N of what it takes from the motion, 8/3 of a 300th between spheres, and
/// where the pair has parted on its curves by the next step that is no more there.
constexpr double kJump = 8.0 / 3.0 / 300.0 * 1.2;

// 150 grains in a drum as in configs/examples/rotating_drum.yaml, from their fall on.
const std::string kDrum = R"(
materials:
  grain: {density: 2500, friction: 0.5}
  steel: {density: 7800, friction: 0.6}
bodies:
  - {name: drum, material: steel, position: [0, 0, 0], orientation: {axis: [1, 0, 0], angle: 90 deg},
     shape: {hollow_cylinder: {inner_radius: 0.1, thickness: 1 cm, length: 0.1, ends: both}},
     motion: {angular_velocity: [0, 3, 0]}}
generators:
  - lattice: {name: grains, material: grain, shape: {sphere: {radius: 8 mm}}, radius_jitter: 0.2,
              count: [6, 5, 5], spacing: 19.5 mm, origin: [-0.049, -0.039, -0.06], position_jitter: 0.1 mm}
)";

TEST(EnergyBalance, OfADrumExplainsItsLosses) {
  const Balance b = balance_after("drum", kDrum + "time: {step: 1 ms, end: 2}\n", 2.0);
  EXPECT_EQ(b.missed, 0);
  EXPECT_GT(b.friction, 0.2 * b.lost);
  EXPECT_LT(std::abs(b.residual), 1e-3 * b.lost);
  EXPECT_LT(std::abs(b.jump), kJump * b.lost);
}

// 200 grains run out of a silo through the hole of its floor onto the ground, and come to rest.
const std::string kSilo = R"(
materials:
  grain: {density: 2500, friction: 0.4}
  steel: {density: 7800, friction: 0.3}
bodies:
  - {name: ground, material: steel, shape: plane, position: [0, 0, -0.3]}
  - {name: wall, material: steel, fixed: true, position: [0, 0, 0.2],
     shape: {hollow_cylinder: {inner_radius: 0.08, thickness: 1 cm, length: 0.4}}}
  - {name: ring, material: steel, fixed: true, position: [0, 0, -0.005],
     shape: {hollow_cylinder: {inner_radius: 0.045, thickness: 4.5 cm, length: 1 cm}}}
generators:
  - lattice: {name: grains, material: grain, shape: {sphere: {radius: 8 mm}}, radius_jitter: 0.2,
              count: [5, 5, 8], spacing: 20 mm, origin: [-0.04, -0.04, 0.03], position_jitter: 0.2 mm}
)";

TEST(EnergyBalance, OfASiloThatRunsOutExplainsItsLosses) {
  const Balance b = balance_after("silo", kSilo + "time: {step: 1 ms, end: 2}\n", 2.0);
  EXPECT_EQ(b.missed, 0);
  EXPECT_GT(b.friction, 0.05 * b.lost);
  // of spheres the rest is round-off
  EXPECT_LT(std::abs(b.residual - b.falling), 1e-6 * b.lost) << b.residual << " " << b.falling;
  EXPECT_LT(std::abs(b.jump), kJump * b.lost);
}

/// Kinetic and potential energy of all bodies, from their masses, places and velocities.
double energy_of_motion(const Simulation& sim) {
  double sum = 0.0;
  for (std::size_t i = 0; i < sim.bodies().constants.size(); ++i) {
    const BodyConstants& body = sim.bodies().constants[i];
    if (body.kind != BodyKind::dynamic) continue;
    const BodyMotionState& s = sim.state().body[i];
    const Vec3 w = s.pose.q.conjugate() * s.twist.w;
    sum += body.mass * (0.5 * s.twist.v.squaredNorm() + 9.81 * s.pose.p.z());
    sum += 0.5 * body.inertia.dot(w.cwiseProduct(w));
  }
  return sum;
}

/// What springs of `stiffness` store in the overlaps that the step found, those of one pair's
/// points sharing it; `before`: what the last step kept of contacts, whose overlaps of the start do
/// not count.
double energy_of_overlaps(const TimeStepper& stepper, double stiffness,
                          const std::vector<KeyedImpulse>& before) {
  double sum = 0.0;
  for (std::size_t k = 0, end = 0; k < stepper.n_contacts(); k = end) {
    const ContactKey first = stepper.contact(k).key;
    double squares = 0.0;
    for (end = k; end < stepper.n_contacts(); ++end) {
      const ContactRecord contact = stepper.contact(end);
      if (contact.key.a != first.a || contact.key.b != first.b) break;
      const auto old = std::ranges::find(before, contact.key, &KeyedImpulse::key);
      const double start = old == before.end() ? 0.0 : old->start_overlap;
      squares += std::pow(std::max(0.0, -contact.gap - start), 2);
    }
    sum += 0.5 * stiffness / static_cast<double>(end - k) * squares;
  }
  return sum;
}

constexpr double kStoneMass = 2500.0 * 4.0 / 3.0 * std::numbers::pi * 0.05 * 0.05 * 0.05;  // kg

/// Columns of touching spheres of 5 cm, `high` of them each, that fall by 25 cm.
std::unique_ptr<Simulation> columns(const std::string& across, int high) {
  return simulate(Communicator::self(),
                  "materials: {stone: {density: 2500, friction: 0.5, restitution: 0.6}}\n"
                  "bodies: [{name: ground, material: stone, shape: {plane: {}}}]\n"
                  "generators:\n"
                  "  - lattice: {name: column, material: stone, shape: {sphere: {radius: 5 cm}}, "
                  "count: [" +
                      across + ", " + std::to_string(high) +
                      "], spacing: [0.3, 0.3, 0.1], origin: [0, 0, 0.3]}\n"
                      "time: {step: 1 ms, end: 1}\n");
}

// Columns of touching spheres fall on the ground and come to rest. Nothing turns: steps find the
// overlaps that the last ones left (but for four contacts that are run into unseen, which count for
// nothing), and all that is lost is lost by impacts. Contacts harden meanwhile, and lose again at
// once what they store more by that.
TEST(EnergyBalance, OfColumnsThatFallIsTheLossOfTheirImpacts) {
  const auto sim = columns("2, 2", 5);
  const double start = energy_of_motion(*sim);
  for (int i = 0; i < 700; ++i) sim->step();
  const StepReport& r = sim->stepper().report();
  const double jump = r.audit[EnergyTerm::elastic_jump];
  const double impacts = r.audit[EnergyTerm::dissipation_impact];
  const double lost = start - energy_of_motion(*sim) - r.audit[EnergyTerm::elastic_energy];
  std::printf("columns: lost %.5g J, by impacts %.5g J, jump %.3g J\n", lost, impacts, jump);
  EXPECT_GT(lost, 0.99 * 20.0 * 1.309 * 9.81 * 0.25);  // all that they fell by
  EXPECT_NEAR(impacts - jump, lost, 1e-4 * lost);
  EXPECT_LT(std::abs(jump), kJump * lost);
}

/// What a contact of `n` spheres (the other body is the ground, where it is one) stores in an
/// overlap under stiffness: auto, by theory.md, "Stiffness" and "Hardening".
double energy_of_hardening(double overlap, int n) {
  constexpr double kRadius = 0.05, kStep = 1e-3, kRatio = 300.0, kLinear = 2e-3 * kRadius;
  if (!(overlap > 0.0)) return 0.0;
  const double arm = kRadius - 0.5 * overlap;
  const double across = 1.0 + arm * arm / (0.4 * kRadius * kRadius);
  const double eps = n * (1.0 + 2.0 * across) / (3.0 * kStoneMass) * kStep * kStep / kRatio;
  if (overlap <= kLinear) return 0.5 * overlap * overlap / eps;
  return (0.4 * std::pow(overlap, 2.5) / std::sqrt(kLinear) + 0.1 * kLinear * kLinear) / eps;
}

// A column of twenty: most of what its contacts store more by hardening they lose again in the same
// step. Summed up contact by contact, from places, velocities and impulses.
TEST(EnergyBalance, OfAColumnOfTwentySplitsJumpsFromLossesContactByContact) {
  const auto sim = columns("1, 1", 20);
  const double start = energy_of_motion(*sim);
  double jump = 0.0, impacts = 0.0, hardened = 0.0, deepest = 0.0;
  for (int i = 0; i < 700; ++i) {
    const std::vector<KeyedImpulse> before = sim->state().impulses;
    std::vector<Vec3> v;
    for (std::size_t b = 0; b < 21; ++b) v.push_back(sim->scene().body_state(to_index(b)).twist.v);
    sim->step();
    const TimeStepper& stepper = sim->stepper();
    const auto kept = [](const std::vector<KeyedImpulse>& list, const ContactKey& key) {
      const auto found = std::ranges::find(list, key, &KeyedImpulse::key);
      return found == list.end() ? 0.0 : found->elastic_energy;
    };
    for (std::size_t k = 0; k < stepper.n_contacts(); ++k) {
      const ContactRecord contact = stepper.contact(k);
      const ContactKey& key = contact.key;
      const Vec3 after =
          sim->scene().body_state(key.b).twist.v - sim->scene().body_state(key.a).twist.v;
      const double gain = 0.5 * contact.impulse.dot(v[key.b] - v[key.a] + after);
      const double found = energy_of_hardening(-contact.gap, key.a == 0 ? 1 : 2);
      const double more = found - kept(before, key), end = kept(sim->state().impulses, key);
      const double neither = std::max(0.0, std::min(found - end - gain, more));
      jump += more - neither;
      impacts += found - end - gain - neither;
      hardened += neither;
      deepest = std::max(deepest, -contact.gap);
    }
  }
  const StepReport& r = sim->stepper().report();
  const double lost = start - energy_of_motion(*sim) - r.audit[EnergyTerm::elastic_energy];
  std::printf("column of twenty: lost %.5g J, jump %.3g J, hardened %.3g J, deepest %.2g m\n", lost,
              jump, hardened, deepest);
  EXPECT_LT(deepest, 9.0 * 1e-4);   // where the law is that of above
  EXPECT_GT(hardened, 0.1 * lost);  // or the scene shows nothing
  EXPECT_NEAR(r.audit[EnergyTerm::elastic_jump], jump, 1e-9 * lost);
  EXPECT_NEAR(r.audit[EnergyTerm::dissipation_impact], impacts, 1e-9 * lost);
  EXPECT_LT(std::abs(jump), kJump * lost);
  EXPECT_NEAR(impacts, lost, kJump * lost);
}

// 48 bonded blocks that a ball of 110 kg hits at 20 m/s: bonds under pressure are shorter than
// blocks are, so that blocks overlap where they break, and turn fast. What contacts find stored in
// such overlaps is no energy at hand: booked as such it would be a third of all that is lost.
TEST(EnergyBalance, OfAWallWhoseBondsBreakIsThatOfItsPlacesAndVelocities) {
  constexpr double kStiffness = 5e9;  // some ten times what `auto` makes of blocks
  const auto sim = simulate(
      Communicator::self(),
      "materials: {stone: {density: 2200, friction: 0.6}, steel: {density: 7800, friction: 0.4}}\n"
      "contact: {stiffness: " +
          text_of(kStiffness) +
          "}\n"
          "bodies:\n"
          "  - {name: ground, material: stone, shape: {plane: {}}}\n"
          "  - {name: ball, material: steel, shape: {sphere: {radius: 0.15}}, position: [0.4, "
          "-0.26, 0.3], velocity: [0, 20, 0]}\n"
          "generators:\n"
          "  - lattice: {name: blocks, material: stone, shape: {box: {size: [0.1, 0.2, 0.1]}}, "
          "count: [8, 1, 6], spacing: [0.1, 0.2, 0.1], origin: [0.05, 0, 0.05]}\n"
          "  - bonds: {name: glue, between: [blocks], gap: 1 mm, compliance: 5e-8, "
          "angular_compliance: 1.5e-5, break_tension: 10 kN, break_shear: 15 kN, break_torque: "
          "200 N m}\n"
          "time: {step: 1 ms, end: 1}\n");
  const double start = energy_of_motion(*sim);
  for (int i = 0; i < 12; ++i) sim->step();
  const double moving = energy_of_motion(*sim);
  const auto audit = sim->stepper().report().audit;
  const std::vector<KeyedImpulse> kept = sim->state().impulses;
  sim->step();  // which finds the overlaps that the last one left
  const double stored = energy_of_overlaps(sim->stepper(), kStiffness, kept);
  const double lost = start - moving - stored;
  const double booked = audit[EnergyTerm::dissipation_friction] +
                        audit[EnergyTerm::dissipation_impact] - audit[EnergyTerm::recovery_work] -
                        audit[EnergyTerm::joint_work];
  std::printf("wall: %lld bonds broke, lost %.5g J, booked %.5g J, stored %.3g J, jump %.3g J\n",
              static_cast<long long>(sim->state().broken_joints), lost, booked, stored,
              audit[EnergyTerm::elastic_jump]);
  EXPECT_GT(sim->state().broken_joints, 30);
  EXPECT_NEAR(booked, lost, 0.01 * lost);
  EXPECT_LT(std::abs(audit[EnergyTerm::elastic_jump]), 0.01 * lost);
  EXPECT_LT(audit[EnergyTerm::dissipation_impact], lost);
}

}  // namespace
}  // namespace catena::test
