// Overlapping starts, coincident centres, and a body that is larger than a rank's region.
#include <gtest/gtest.h>

#include <cmath>

#include "regression/scenes.hpp"

namespace catena {
namespace {

/// Two equal balls of 1 kg and radius 0.1 m, at rest without gravity.
std::string overlapping_pair(double distance, const std::string& stepper) {
  const std::string ball =
      ", material: m, mass: 1, inertia: [1, 1, 1], shape: {sphere: {radius: 0.1}}, position: [";
  return "gravity: [0, 0, 0]\nmaterials: {m: {friction: 0.5}}\n"
         "contact: {recovery_speed: 0.5}\nbodies:\n  - {name: a" +
         ball + "0, 0, 0]}\n  - {name: b" + ball + test::text_of(distance) +
         ", 0, 0]}\ntime: {step: 2 ms, end: 1, stepper: " + stepper + "}\n";
}

TEST(Overlap, IsPushedApartAtTheRecoverySpeedAndCountedAsRecoveryWork) {
  for (const std::string stepper : {"spook", "dvi"}) {
    for (const double distance : {0.0, 1e-9, 0.05, 0.15}) {  // 0: the same centre
      const auto sim = test::simulate(
          Communicator::world(), test::with_rigid_contacts(overlapping_pair(distance, stepper)));

      const StepReport& r = sim->step();

      // two bodies of 1 kg that part at 0.5 m/s: 2 * 1/2 * 0.25^2 J, all of it recovery work
      EXPECT_NEAR(r.kinetic, 0.0625, 1e-12) << stepper << " " << distance;
      EXPECT_NEAR(r.audit[EnergyTerm::recovery_work], 0.0625, 1e-12) << stepper << " " << distance;
      EXPECT_NEAR(r.energy_residual, 0.0, 1e-12) << stepper << " " << distance;
      EXPECT_NEAR(r.penetration, 0.2 - distance, 1e-12);
      EXPECT_NEAR(r.linear_momentum.norm(), 0.0, 1e-14);

      // they never part faster than that
      for (int i = 0; i < 250; ++i) sim->step();
      EXPECT_LE(r.kinetic, 0.0625 + 1e-12) << stepper << " " << distance;
      EXPECT_EQ(r.penetration, 0.0) << stepper << " " << distance;
    }
  }
}

TEST(Overlap, OfAWholeLatticeOnOneSpotPartsEveryRowAtTheRecoverySpeedPerLink) {
  // 27 balls with centres within 1 mm
  const auto sim = test::simulate(
      Communicator::world(),
      "gravity: [0, 0, 0]\nmaterials: {m: {friction: 0.5}}\ncontact: {stiffness: rigid, margin: 1 "
      "mm, recovery_speed: 0.5}\n"
      "generators: [{lattice: {name: heap, material: m, shape: {sphere: {radius: 0.1}}, "
      "count: [3, 3, 3], spacing: 0.3 mm}}]\n"
      "time: {step: 2 ms, end: 1}\nsolver: {max_iterations: 300}\n");

  for (int i = 0; i < 20; ++i) {
    const StepReport& r = sim->step();

    // Each row of three along an axis parts at 0.5 m/s per link, so it has (0.5^2 + 0 + 0.5^2) m/2
    // or more: 27 rows 6.75 m. The expansion v = (0.5 m/s / 0.3 mm) x parts every pair fast enough
    // with just that and rubs nowhere, and the step's impulses leave no more than such a motion.
    constexpr double kMass = 1000.0 * 4.0 / 3.0 * M_PI * 1e-3;
    // a relative tolerance of 1e-6 in the energy is 1e-3 in velocities, 2e-3 in their squares
    EXPECT_NEAR(r.kinetic / (6.75 * kMass), 1.0, 2e-3) << i;
    EXPECT_NEAR(r.audit[EnergyTerm::recovery_work], r.kinetic, 2e-3 * r.kinetic) << i;
    EXPECT_NEAR(r.linear_momentum.norm(), 0.0, 1e-12 * 27 * kMass) << i;
  }

  const std::vector<test::BodyTwist> twists = test::twists_by_id(*sim);
  EXPECT_EQ(twists.size(), 27U);
  for (std::size_t i = 0; i < twists.size(); ++i) {
    const auto id = static_cast<int>(i);
    const Vec3 cell(id % 3 - 1, id / 3 % 3 - 1, id / 9 - 1);
    // three times that in the velocity of one of them, of 0.87 m/s at the most
    EXPECT_LT((twists[i].v - 0.5 * cell).norm(), 3e-3) << i;
  }
}

/// 600 spheres of 4.19 kg in a bin, ten by ten columns of six, under a block of 4,190 kg
/// that spans the bin.
constexpr double kBlockMass = 4190.0;
const std::string kLoadedSpheres =
    "materials: {m: {density: 1000, friction: 0.4}}\n"
    "bodies: [{name: block, material: m, shape: {box: {size: [1.99, 1.99, 0.2]}}, mass: 4190, "
    "position: [1, 1, 1.3]}]\n"
    "generators:\n"
    "  - container: {name: bin, material: m, size: [2, 2, .inf]}\n"
    "  - lattice: {name: grains, material: m, shape: {sphere: {radius: 0.1}}, count: [10, 10, 6], "
    "spacing: 0.2, origin: [0.1, 0.1, 0.1]}\n"
    "time: {step: 2 ms, end: 1}\n"
    "solver: {max_iterations: 100, relative_tolerance: 1e-8}\n";

/// Collective. Sum of the last step's contact forces on body `id`, N.
Vec3 force_on(const Simulation& sim, GlobalId id) {
  Vec3 sum = Vec3::Zero();
  for (const KeyedImpulse& k : sim.state().impulses) {
    if (k.key.b == id) sum += k.impulse;
    if (k.key.a == id) sum -= k.impulse;
  }
  sim.communicator().sum(std::span<double>(sum.data(), 3));
  return sum / sim.settings().time.step;
}

TEST(HeavyBlock, OnSixHundredSpheresIsCarriedByForcesEqualToItsWeight) {
  const auto sim = test::simulate(Communicator::world(), test::with_rigid_contacts(kLoadedSpheres));
  const GlobalId block = 0;
  std::int64_t contacts = 0;
  Vec3 force = Vec3::Zero();
  double speed = 0.0;
  for (int i = 0; i < 40; ++i) {
    const double speed0 = test::twists_by_id(*sim)[0].v.z();
    contacts = sim->step().contacts;
    force = force_on(*sim, block);
    speed = test::twists_by_id(*sim)[0].v.z();
    // Newton's second law, step by step: m (v - v0) = h (F - m g)
    EXPECT_NEAR(kBlockMass * (speed - speed0),
                sim->settings().time.step * (force.z() - kBlockMass * 9.81), 1e-10 * kBlockMass);
  }
  if (sim->communicator().rank() == 0) {
    std::printf("%lld contacts, force over weight %.6f, speed %.3g m/s, %d sweeps, error %.3g J\n",
                static_cast<long long>(contacts), force.z() / (kBlockMass * 9.81), speed,
                sim->stepper().report().solve.iterations,
                sim->stepper().report().solve.errors.energy);
  }
  EXPECT_GT(contacts, 600 + 100);  // the columns, and the block on each of them
  EXPECT_NEAR(force.z() / (kBlockMass * 9.81), 1.0, 1e-3);
  EXPECT_LT(std::abs(speed), 1e-4);
}

}  // namespace
}  // namespace catena
