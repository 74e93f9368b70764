// Long chains under tension and loads many times heavier than a link.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "analytic/joint_case.hpp"
#include "analytic/rods.hpp"
#include "support/gravity.hpp"

namespace catena::test {
namespace {

constexpr double kLink = 0.1;
constexpr double kLinkMass = 0.04;

std::string links(int n, const std::string& to) {
  return "materials: {steel: {density: 1000}}\ngenerators:\n  - chain: {name: c, links: " +
         std::to_string(n) +
         ", material: steel, shape: {box: {size: [0.1, 0.02, 0.02]}}, collide: false, "
         "anchored: first, from: [0, 0, 0], to: " +
         to + "}\n";
}

/// Largest |G V + Sigma lambda - q| over the joints' rows, V = V_free + M^-1 G^T lambda from the
/// impulses alone, m/s (rows of spherical joints).
double joint_error(const Simulation& sim) {
  const ConstraintProblem& p = sim.stepper().problem();
  const std::span<const double> impulses = sim.stepper().impulses();
  const GeneralBlocks& b = p.blocks;
  const auto at = [](auto i) { return static_cast<std::size_t>(i); };
  std::vector<double> force(at(p.bodies.n_dofs()), 0.0), velocity(force.size());
  const auto walk = [&](auto&& row_of) {
    for (Index k = 0; k < b.size(); ++k) {
      for (Index r = b.row_begin[at(k)]; r < b.row_begin[at(k) + 1]; ++r)
        for (Index j = b.body_begin[at(k)]; j < b.body_begin[at(k) + 1]; ++j) {
          const Index first = p.bodies.dof_begin[at(b.body[at(j)])];
          const Index n = p.bodies.dof_begin[at(b.body[at(j)]) + 1] - first;
          const double* g =
              b.jacobian.data() + b.jacobian_begin[at(j)] + (r - b.row_begin[at(k)]) * n;
          row_of(r, first, n, g);
        }
    }
  };
  walk([&](Index r, Index first, Index n, const double* g) {
    for (Index d = 0; d < n; ++d) force[at(first + d)] += g[d] * impulses[at(r)];
  });
  for (Index body = 0; body < p.bodies.size(); ++body) {
    const std::size_t first = at(p.bodies.dof_begin[at(body)]);
    const std::size_t n = at(p.bodies.dof_begin[at(body) + 1]) - first;
    apply_inverse_mass(p.bodies, body, std::span(force).subspan(first, n),
                       std::span(velocity).subspan(first, n));
  }
  for (std::size_t d = 0; d < velocity.size(); ++d) velocity[d] += p.bodies.free_velocity[d];
  std::vector<double> w(at(b.n_rows()));
  for (std::size_t r = 0; r < w.size(); ++r) w[r] = b.compliance[r] * impulses[r] - b.q[r];
  walk([&](Index r, Index first, Index n, const double* g) {
    for (Index d = 0; d < n; ++d) w[at(r)] += g[d] * velocity[at(first + d)];
  });
  double worst = 0.0;
  for (const double x : w) worst = std::max(worst, std::abs(x));
  return worst;
}

struct Swing {
  double gain = 0.0, loss = 0.0;  ///< of energy over what has swung, after a quarter of the time
  double misfit = 0.0;            ///< over a link
  std::int64_t stiffened = 0;
};

/// configs/validation/long_chain.yaml with 2,000 links.
Swing swing(double h, double end, bool stiffness) {
  const auto sim = validation_case(
      "long_chain", h,
      {"generators.cable.links=2000", "generators.cable.to=[200, 0, 0]",
       std::string("solver.joints.geometric_stiffness=") + (stiffness ? "true" : "false")});
  Swing s;
  while (sim->state().time < end - 0.5 * h) {
    const StepReport& r = sim->step();
    s.misfit = std::max(s.misfit, r.misfit.linear / kLink);
    s.stiffened = std::max(s.stiffened, r.stiffened);
    if (sim->state().time < 0.25 * end) continue;
    const double change = (r.kinetic + r.potential) / -r.potential;
    s.gain = std::max(s.gain, change);
    s.loss = std::max(s.loss, -change);
  }
  return s;
}

TEST(LongChain, TwoThousandLinksSwingWithoutDriftOrGainOfEnergy) {
  const Swing s = swing(2e-3, 2.0, true);

  EXPECT_LT(s.misfit, 1e-4);
  EXPECT_LT(s.gain, 1e-4);
  EXPECT_LT(s.loss, 0.01);  // a step falls by g h^2/2 too far at first: order h
  EXPECT_GT(s.stiffened, 1000);
}

TEST(LongChain, WithoutGeometricStiffnessTheSameStepTearsIt) {
  const Swing s = swing(2e-3, 2.0, false);

  EXPECT_GT(s.misfit, 0.1);
  EXPECT_EQ(s.stiffened, 0);
}

std::string loaded(double ratio, double h, const std::string& solver, int n) {
  const double m = ratio * kLinkMass;
  const double side = std::cbrt(m / 1000.0), inertia = m * side * side / 6.0;
  const double s = n * kLink * std::sqrt(0.5);
  const Vec3 end(s, 0, -s);
  const Vec3 centre = end + Vec3(0, 0, -0.5 * side);
  return links(n, text_of(end)) + "bodies:\n  - {name: load, mass: " + text_of(m) +
         ", inertia: " + text_of(Vec3(Vec3::Constant(inertia))) + ", position: " + text_of(centre) +
         "}\njoints:\n  - {name: hook, type: spherical, between: [c-" + std::to_string(n - 1) +
         ", load], at: " + text_of(end) + "}\n" + time_of(h, solver);
}

TEST(MassRatio, OneOuterIterationHoldsAnyLoadUnderAThousandLinks) {
  for (const double ratio : {1.0, 1e3, 1e6}) {
    const auto sim = simulate(loaded(ratio, 1e-3, "{}", 1000));
    double worst = 0.0, misfit = 0.0;
    for (int i = 0; i < 100; ++i) {
      const StepReport& r = sim->step();
      worst = std::max(worst, joint_error(*sim));
      misfit = std::max(misfit, r.misfit.linear);
      EXPECT_EQ(r.solve.iterations, 1);
    }

    EXPECT_LT(worst, 1e-10) << ratio;
    EXPECT_LT(misfit, 1e-4 * kLink) << ratio;
  }
}

TEST(MassRatio, SweepsOverJointsLetTheLoadFall) {
  const std::string sweeps =
      "{max_iterations: 100, metric: natural_map, relative_tolerance: 0, absolute_tolerance: "
      "1e-10, joints: {method: iterative}}";
  for (const double ratio : {1.0, 1e3, 1e6}) {
    const auto sim = simulate(loaded(ratio, 1e-3, sweeps, 1000));
    double worst = 0.0;
    for (int i = 0; i < 20; ++i) {
      sim->step();
      worst = std::max(worst, joint_error(*sim));
    }

    EXPECT_GT(worst, 1e-4) << ratio;
    // next to nothing has reached the anchor
    EXPECT_LT(sim->stepper().joint_reaction(0).impulse.norm() / 1e-3,
              1e-3 * kG * kLinkMass * (1000 + ratio))
        << ratio;
  }
}

}  // namespace
}  // namespace catena::test
