// Without friction contacts make no energy, whatever solves them: balls that leave a plane, columns
// that fall, a cradle. Each step starts from the last one's impulses, which lie above the solution
// where a contact opens.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "analytic/case_runner.hpp"
#include "support/gravity.hpp"

namespace catena::test {
namespace {

/// A solver with a law and a coefficient of friction that come to no friction.
struct Method {
  const char *solver, *law;
  double friction;
};
constexpr Method kMethods[] = {{"gauss_seidel", "coulomb", 0.0},
                               {"gauss_seidel", "ccp", 0.0},
                               {"gauss_seidel", "box", 0.0},
                               {"gauss_seidel", "frictionless", 0.6},
                               {"jacobi", "coulomb", 0.0},
                               {"jacobi", "ccp", 0.0},
                               {"jacobi", "box", 0.0},
                               {"jacobi", "frictionless", 0.6},
                               {"apgd", "coulomb", 0.0},
                               {"apgd", "ccp", 0.0},
                               {"apgd", "box", 0.0},
                               {"apgd", "frictionless", 0.6},
                               {"interior_point", "coulomb", 0.0},
                               {"interior_point", "ccp", 0.0},
                               {"dantzig", "coulomb", 0.0},
                               {"dantzig", "frictionless", 0.6},
                               {"auto", "coulomb", 0.0},
                               {"auto", "ccp", 0.0}};

std::unique_ptr<Simulation> run_of(const Method& m, double restitution, double gravity, double h,
                                   double tolerance, const std::string& bodies) {
  return simulate("gravity: [0, 0, " + text_of(-gravity) + "]\nmaterials: {m: {density: 1000, " +
                  "friction: " + text_of(m.friction) + ", restitution: " + text_of(restitution) +
                  "}}\ncontact: {margin: 5 cm, law: " + m.law + "}\n" + bodies +
                  "time: {stepper: dvi, step: " + text_of(h) +
                  ", end: 100}\nsolver: {method: " + m.solver +
                  ", max_iterations: 20000, metric: natural_map, relative_tolerance: 0, "
                  "absolute_tolerance: " +
                  text_of(tolerance) + "}\n");
}

/// sum m v_z of the bodies that move.
double momentum(const Simulation& sim) {
  double sum = 0.0;
  for (std::size_t i = 0; i < sim.bodies().constants.size(); ++i)
    if (sim.bodies().constants[i].mass > 0.0)
      sum += sim.bodies().constants[i].mass * sim.state().body[i].twist.v[2];
  return sum;
}

struct Kept {
  double made = 0.0;         ///< J, most that contacts put into the bodies in one step
  double unexplained = 0.0;  ///< J, largest of a step, beside what semi-implicit steps leave
  double pull = 0.0;         ///< N s, largest
};

/// `steps` steps; the weight's work over a step is m g h times the mean of both velocities, and
/// the change of the potential energy m g h times the new one.
Kept kept_energy(Simulation& sim, double gravity, int steps) {
  Kept kept;
  const double h = sim.settings().time.step;
  double before = momentum(sim), impact = 0.0, recovery = 0.0, residual = 0.0;
  for (int k = 0; k < steps; ++k) {
    const StepReport& r = sim.step();
    const double after = momentum(sim);
    // a contact that is pushed out of an overlap counts half of its work as recovery, whatever its
    // speed before: the other half may be as large
    kept.made = std::max(kept.made, impact - r.audit[EnergyTerm::dissipation_impact] -
                                        (r.audit[EnergyTerm::recovery_work] - recovery));
    const double left = 0.5 * gravity * h * (after - before);
    kept.unexplained = std::max(kept.unexplained, std::abs(r.energy_residual - residual - left));
    impact = r.audit[EnergyTerm::dissipation_impact];
    recovery = r.audit[EnergyTerm::recovery_work];
    residual = r.energy_residual;
    before = after;
    for (std::size_t c = 0; c < sim.stepper().n_contacts(); ++c)
      kept.pull = std::max(kept.pull, -sim.stepper().impulses()[3 * c]);
  }
  return kept;
}

/// `solved`: what the solves' tolerance can put into all contacts of a step, J.
void expect_kept(const Method& m, const Kept& kept, double scale, double solved) {
  SCOPED_TRACE(std::string(m.solver) + ", law " + m.law);
  EXPECT_LE(kept.made, 1e-12 * scale + solved);
  EXPECT_LE(kept.unexplained, 1e-12 * scale);
  EXPECT_EQ(kept.pull, 0.0);
}

TEST(MethodEnergy, ABouncingBallIsGivenNone) {
  for (const Method& m : kMethods) {
    const auto sim = run_of(
        m, 1.0, kG, 2e-3, 1e-13,
        "bodies:\n  - {name: floor, material: m, shape: {plane: {}}}\n"
        "  - {name: ball, material: m, shape: {sphere: {radius: 0.1}}, position: [0, 0, 1.1]}\n");
    const double energy = kG * 4.19;  // of 4.19 kg that fall 1 m

    expect_kept(m, kept_energy(*sim, kG, 2000), energy, 0.0);
  }
}

/// 80 spheres in columns that fall through a hand's breadth.
Kept columns(const Method& m, double restitution) {
  const auto sim = run_of(m, restitution, kG, 5e-3, 1e-9,
                          "bodies:\n  - {name: floor, material: m, shape: {plane: {}}}\n"
                          "generators:\n  - lattice: {name: column, material: m, shape: "
                          "{sphere: {radius: 0.1}}, count: [4, 4, 5], spacing: 0.2002, origin: "
                          "[0, 0, 0.2], position_jitter: 0.1 mm, seed: 3}\n");
  return kept_energy(*sim, kG, 80);
}

/// What contacts give by their law in a step, the same whatever solves it: a contact that is pushed
/// out more slowly than the step before counts the rest as negative loss, and Newton's law with
/// several coefficients in one impact (slow contacts do not bounce) may give energy.
TEST(MethodEnergy, FallingColumnsOfSpheresAreGivenWhatTheLawSaysByEveryMethod) {
  const double energy = kG * 80 * 4.19;  // J, of a fall through 1 m
  for (const double restitution : {0.0, 0.6}) {
    const double by_law = columns(kMethods[0], restitution).made;
    EXPECT_LT(by_law, 1e-6 * energy);
    for (const Method& m : kMethods)
      expect_kept(m, columns(m, restitution), energy, std::max(by_law, 0.0) + 1e-9 * 1000.0);
  }
}

TEST(MethodEnergy, ACradleKeepsItsEnergyAndMomentum) {
  for (const Method& m : kMethods) {
    std::string bodies = "bodies:\n";
    for (int i = 0; i < 5; ++i)
      bodies += "  - {name: ball" + std::to_string(i) +
                ", material: m, mass: 1, inertia: [0.1, 0.1, 0.1], shape: {sphere: {radius: 0.5}}, "
                "position: [" +
                text_of(1.01 * i) + ", 0, 0], velocity: [" + (i == 0 ? "2" : "0") + ", 0, 0]}\n";
    const auto sim = run_of(m, 1.0, 0.0, 1e-3, 1e-13, bodies);

    const Kept kept = kept_energy(*sim, 0.0, 100);

    expect_kept(m, kept, 2.0, 0.0);
    EXPECT_NEAR(sim->stepper().report().kinetic, 2.0, 1e-8) << m.solver << ", law " << m.law;
    EXPECT_NEAR(body_of(*sim, 4).twist.v[0], 2.0, 1e-8) << m.solver << ", law " << m.law;
  }
}

}  // namespace
}  // namespace catena::test
