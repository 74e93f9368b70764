// Where the energy of grains goes: what is put in by a drum, or by gravity in a silo, is what the
// audit says was lost, to 1e-3 of it.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <string>

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

}  // namespace
}  // namespace catena::test
