// Conservation laws on any number of ranks.
#include <gtest/gtest.h>

#include <cmath>

#include "analytic/case_runner.hpp"
#include "support/method_under_test.hpp"

namespace catena::test {
namespace {

std::unique_ptr<Simulation> simulate_on_all(const std::string& yaml) {
  return simulate(Communicator::world(), with_method(with_contacts_under_test(yaml)));
}

/// Two clouds of spheres and boxes fly into each other without gravity: they touch after fourteen
/// steps and are within each other after fifty.
std::string colliding_clouds(const std::string& law, const std::string& stepper) {
  return "gravity: [0, 0, 0]\n"
         "materials: {m: {density: 1000, friction: 0.4, restitution: 0.3}}\n"
         "contact: {law: " +
         law +
         "}\n"
         "generators:\n"
         "  - lattice: {name: left, material: m, shape: {sphere: {radius: 0.1}}, count: [4, 4, 4], "
         "spacing: 0.21, origin: [-1, 0, 0], position_jitter: 4 mm, velocity: [1, 0.1, 0], seed: "
         "3}\n"
         "  - lattice: {name: right, material: m, shape: {box: {size: [0.15, 0.2, 0.1]}}, "
         "count: [3, 4, 4], spacing: 0.24, origin: [0, 0.05, 0], position_jitter: 4 mm, "
         "velocity: [-1, 0, 0.1], seed: 4}\n"
         "time: {stepper: " +
         stepper +
         ", step: 5 ms, end: 1}\n"
         "solver: {max_iterations: 30, metric: energy, relative_tolerance: 1e-9}\n"
         "parallel: {rebalance_steps: 10, imbalance: 1.01, move_price: 0}\n";
}

TEST(Conservation, LinearAndAngularMomentumStayToRoundOffWithoutExternalForces) {
  for (const std::string stepper : {"spook", "dvi"}) {
    for (const ContactLaw which :
         {ContactLaw::coulomb, ContactLaw::ccp, ContactLaw::box, ContactLaw::frictionless}) {
      if (!claims(method_under_test(), which, Communicator::world().size())) continue;
      const char* names[] = {"coulomb", "ccp", "box", "frictionless"};
      const std::string law = names[static_cast<int>(which)];
      const auto sim = simulate_on_all(colliding_clouds(law, stepper));
      const Communicator& comm = sim->communicator();
      const EnergyMomentum start = energy_and_momentum(sim->model(), sim->bodies(), sim->state());
      double before[6] = {start.linear[0],  start.linear[1],  start.linear[2],
                          start.angular[0], start.angular[1], start.angular[2]};
      comm.sum(before);
      // scale: sum of m |v|, and of the same with the arms of about a metre
      const double scale = 2.0 * start.kinetic;
      double total_scale = comm.sum(scale);

      std::int64_t most_contacts = 0;
      for (int i = 0; i < 50; ++i) most_contacts = std::max(most_contacts, sim->step().contacts);

      const StepReport& r = sim->stepper().report();
      EXPECT_GT(most_contacts, 50) << "the clouds did not meet";
      const double tolerance = 1e-13 * total_scale;
      for (int k = 0; k < 3; ++k) {
        EXPECT_NEAR(r.linear_momentum[k], before[k], tolerance) << stepper << " " << law;
        EXPECT_NEAR(r.angular_momentum[k], before[3 + k], 2.0 * tolerance) << stepper << " " << law;
      }
      EXPECT_GT(r.audit[EnergyTerm::dissipation_impact], 0.0);
    }
  }
}

TEST(Conservation, AuditExplainsTheEnergyOfFrictionlessInelasticImpact) {
  // two equal balls, e = 0, head-on: half of the energy goes into the impact
  const auto sim = simulate_on_all(
      "gravity: [0, 0, 0]\nmaterials: {m: {friction: 0}}\nbodies:\n"
      "  - {name: a, material: m, mass: 1, inertia: [1, 1, 1], shape: {sphere: {radius: 0.5}}, "
      "position: [0, 0, 0], velocity: [1, 0, 0]}\n"
      "  - {name: b, material: m, mass: 1, inertia: [1, 1, 1], shape: {sphere: {radius: 0.5}}, "
      "position: [1.1, 0, 0]}\n"
      "time: {step: 10 ms, end: 1}\n");
  for (int i = 0; i < 30; ++i) sim->step();
  const StepReport& r = sim->stepper().report();
  // Contacts that give part with Sigma/(N + Sigma) of the approach at the most: N = 2, tangents 2.5
  // (radius 0.5, inertia 1), Sigma a 300th of the mean 7/3. The energy of that is not lost.
  const double rebound = softness() * 7.0 / 6.0, kept = 0.25 * rebound * rebound;
  EXPECT_NEAR(r.kinetic, 0.25, 1e-12 + kept);
  EXPECT_NEAR(r.audit[EnergyTerm::dissipation_impact], 0.25, 1e-12 + kept);
  EXPECT_NEAR(r.energy_residual, 0.0, 1e-12);
}

}  // namespace
}  // namespace catena::test
