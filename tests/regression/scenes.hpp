// Cases for tests of the whole program's mechanics, and what tests read from a simulation.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "support/all_ranks.hpp"
#include "support/case_text.hpp"

namespace catena::test {

inline constexpr double kRadius = 0.1;  ///< of the spheres below, m

/// Spheres of radius 0.1 m on a body-centred lattice in a bin that just holds them: two
/// lattices of `count`, each sphere with up to 8 neighbours that it touches, overlaps or
/// misses by some tenths of a millimetre.
inline std::string pressed_spheres(const std::string& count) {
  // nearest centres are sqrt(3)/2 of the spacing apart: 0.2 m at 0.23094 m
  const std::string lattice =
      ", material: m, shape: {sphere: {radius: 0.1}}, position_jitter: 0.3 mm, spacing: 0.2309, "
      "count: " +
      count;
  return "generators:\n"
         "  - container: {name: bin, material: m, size: [.inf, .inf, .inf]}\n"
         "  - lattice: {name: corners, origin: [0.1, 0.1, 0.1]" +
         lattice +
         "}\n"
         "  - lattice: {name: centres, origin: [0.21545, 0.21545, 0.21545]" +
         lattice + "}\n";
}

/// A column of frictional spheres that falls over a floor.
inline std::string collapsing_column() {
  return "materials: {m: {density: 1000, friction: 0.3}}\n"
         "generators:\n"
         "  - container: {name: floor, material: m, size: [.inf, .inf, .inf], origin: [-5, -5, "
         "0]}\n"
         "  - lattice: {name: grains, material: m, shape: {sphere: {radius: 0.1}}, count: [3, 3, "
         "12], "
         "spacing: 0.205, origin: [0, 0, 0.11], position_jitter: 5 mm, radius_jitter: 0.1}\n"
         "time: {step: 5 ms, end: 1}\n"
         "solver: {max_iterations: 20, relative_tolerance: 1e-8}\n"
         "parallel: {rebalance_steps: 10, imbalance: 1.01, move_price: 0}\n";
}

struct BodyTwist {
  GlobalId id;
  Vec3 v, w;
};

/// Collective. Twists of all bodies, ascending in id, on every rank: small scenes only.
inline std::vector<BodyTwist> twists_by_id(const Simulation& sim) {
  std::vector<BodyTwist> own;
  for (std::size_t i = 0; i < sim.bodies().constants.size(); ++i) {
    const Twist& twist = sim.state().body[i].twist;
    own.push_back({sim.bodies().constants[i].id, twist.v, twist.w});
  }
  std::vector<BodyTwist> all = all_of(sim.communicator(), own);
  std::sort(all.begin(), all.end(),
            [](const BodyTwist& a, const BodyTwist& b) { return a.id < b.id; });
  return all;
}

/// Largest difference of velocities, m/s, spin times `radius` included.
inline double largest_difference(const std::vector<BodyTwist>& a, const std::vector<BodyTwist>& b,
                                 double radius) {
  double largest = a.size() == b.size() ? 0.0 : std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    largest = std::max({largest, (a[i].v - b[i].v).norm(), radius * (a[i].w - b[i].w).norm()});
  }
  return largest;
}

inline constexpr double kNaturalMap = 1e-10;  // m/s

/// A residual e moves the velocities by c e, c a constant of the scene: both problems are
/// strictly convex in V, so V is unique though impulses are not. Differences of 1 to 9 e were
/// seen on 1 to 8 ranks; two solutions may be off in opposite directions.
inline constexpr double kAllowed = 100.0 * kNaturalMap;

/// Spheres pressed together whose steps are solved to kNaturalMap.
inline std::string solved_spheres(const std::string& law, double friction,
                                  const std::string& count) {
  return "materials: {m: {density: 1000, friction: " + std::to_string(friction) +
         "}}\ncontact: {law: " + law + "}\n" + pressed_spheres(count) +
         "time: {step: 2 ms, end: 1}\n"
         "solver: {metric: natural_map, relative_tolerance: 0, absolute_tolerance: 1e-10 m/s, "
         "max_iterations: 100000, relaxation: 1.5}\n";
}

/// Twists after the first step as rank 0 alone finds them, on every rank.
inline std::vector<BodyTwist> alone(const Communicator& comm, const std::string& yaml) {
  std::vector<BodyTwist> twists;
  if (comm.rank() == 0) {
    const auto sim = simulate(Communicator::self(), yaml);
    const StepReport& report = sim->step();
    EXPECT_EQ(report.solve.status, SolveStatus::converged) << report.solve.reason;
    twists = twists_by_id(*sim);
  }
  return all_of(comm, twists);
}

/// Collective. One step by all ranks, under `set` as --set takes it, ends with the velocities that
/// one rank finds without.
inline void expect_same_velocities(const std::string& yaml, std::int64_t least_contacts,
                                   const std::vector<std::string>& set = {}) {
  const Communicator comm = Communicator::world();
  const std::vector<BodyTwist> expected = alone(comm, yaml);
  const auto sim = simulate(comm, yaml, set);

  const StepReport& report = sim->step();

  EXPECT_EQ(report.solve.status, SolveStatus::converged) << report.solve.reason;
  EXPECT_LE(report.solve.errors.natural_map, kNaturalMap);
  EXPECT_GE(report.contacts, least_contacts);
  const double difference = largest_difference(expected, twists_by_id(*sim), kRadius);
  if (comm.rank() == 0) {
    std::printf("%lld contacts, %d sweeps, largest difference %.3g m/s\n",
                static_cast<long long>(report.contacts), report.solve.iterations, difference);
  }
  EXPECT_LE(difference, kAllowed);
}

}  // namespace catena::test
