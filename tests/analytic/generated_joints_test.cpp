// Trees, rings and nets that generators make, against statics, the forces of a steady spin and a
// chain integrated elsewhere.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <string>

#include "analytic/case_runner.hpp"
#include "catena/simulation/joint_reading.hpp"

namespace catena::test {
namespace {

constexpr double kG = 9.81, kPi = std::numbers::pi;

/// Knots below and with one that stands `level` levels below the root of a tree.
double hanging_on(int branching, int levels, int level) {
  double knots = 0.0, width = 1.0;
  for (int l = level; l <= levels; ++l, width *= branching) knots += width;
  return knots;
}

std::string tree(int branching, int levels, const std::string& more) {
  // balls of 1 kg
  return "gravity: [0, 0, -9.81]\nmaterials: {m: {density: " +
         text_of(1.0 / (4.0 / 3.0 * kPi * 1e-3)) +
         "}}\ngenerators:\n  - tree: {name: t, material: m, shape: {sphere: {radius: 0.1}}, "
         "collide: false, branching: " +
         std::to_string(branching) + ", levels: " + std::to_string(levels) +
         ", from: [0, 0, 5], drop: [0, 0, -0.5], anchored: true, " + more +
         "}\ntime: {step: 1 ms, end: 1}\n";
}

TEST(HangingTree, EachJointBearsTheKnotsBelowIt) {
  struct Kind {
    int branching, levels;
    const char* more;
  };
  // cords hang straight down, arms hold what hangs on them apart
  for (const Kind& kind :
       {Kind{2, 5, "joint: distance"}, Kind{3, 3, "joint: rope"},
        Kind{2, 5, "joint: spherical, spread: [0.3, 0, 0]"},
        Kind{4, 2, "joint: spherical, spread: [0.3, 0.1, 0]"}, Kind{1, 6, "joint: distance"}}) {
    const auto sim = simulate(tree(kind.branching, kind.levels, kind.more));
    const auto knots = static_cast<GlobalId>(hanging_on(kind.branching, kind.levels, 0));
    ASSERT_EQ(sim->model().names.ids_of("t").second, knots) << kind.more;

    run_until(*sim, 0.1);

    GlobalId k = 0;
    double width = 1.0;
    for (int level = 0; level <= kind.levels; ++level, width *= kind.branching) {
      const double weight = kG * hanging_on(kind.branching, kind.levels, level);
      for (int i = 0; i < static_cast<int>(width); ++i, ++k) {
        const GlobalId joint = k == 0 ? knots - 1 : k - 1;
        const JointForces f = joint_forces(*sim, joint);
        EXPECT_NEAR(f.force.z(), weight, 1e-6 * weight) << kind.more << " knot " << k;
        EXPECT_NEAR(std::hypot(f.force.x(), f.force.y()), 0.0, 1e-6 * weight) << kind.more;
        // 5 m less half a metre a level
        EXPECT_NEAR(body_of(*sim, k).pose.p.z(), 5.0 - 0.5 * level, 1e-9) << kind.more;
      }
    }
  }
}

TEST(HangingTree, LeavesStandSideBySideAndParentsOverTheMiddleOfTheirs) {
  const auto sim = simulate(tree(3, 2, "spread: [0.2, 0, 0]"));
  // 9 leaves: -0.8 to 0.8 m; above them -0.6, 0, 0.6
  for (int i = 0; i < 9; ++i)
    EXPECT_NEAR(body_of(*sim, 4 + i).pose.p.x(), 0.2 * (i - 4), 1e-12) << i;
  for (int i = 0; i < 3; ++i)
    EXPECT_NEAR(body_of(*sim, 1 + i).pose.p.x(), 0.6 * (i - 1), 1e-12) << i;
  EXPECT_EQ(body_of(*sim, 0).pose.p.x(), 0.0);
}

TEST(SpinningRing, ItsHoopTensionIsThatOfTheCentripetalForce) {
  // rods of mass m on a circle of radius R through their n joints: symmetry leaves each joint a
  // force along the circle, and two of them draw a rod's centre to the middle:
  // 2 T sin(pi/n) = m w^2 R cos(pi/n)
  constexpr int kLinks = 24;
  constexpr double kRadius = 2.0, kMass = 0.5, kSpin = 10.0, kStep = 2e-4;
  std::string path;
  for (int i = 0; i < kLinks; ++i)
    path += (i > 0 ? ", [" : "[") + text_of(1.0 + kRadius * std::cos(2.0 * kPi * i / kLinks)) +
            ", " + text_of(kRadius * std::sin(2.0 * kPi * i / kLinks)) + ", 3]";
  const auto sim = simulate(
      "gravity: [0, 0, 0]\ngenerators:\n  - chain: {name: ring, links: " + std::to_string(kLinks) +
      ", joint: spherical, closed: true, path: [" + path +
      "], mass: 0.5, inertia: [0.01, 0.01, 1e-3], angular_velocity: [0, 0, 10], about: [1, 0, 3]}\n"
      "time: {step: " +
      text_of(kStep) + ", end: 1}\n");
  const double tension = kMass * kSpin * kSpin * kRadius / (2.0 * std::tan(kPi / kLinks));

  run_until(*sim, 0.1);

  for (int i = 0; i < kLinks; ++i) {
    // a step turns by 2e-3 rad
    EXPECT_NEAR(joint_forces(*sim, i).force.norm(), tension, 5e-3 * tension) << i;
    const Vec3 from_middle = body_of(*sim, i).pose.p - Vec3(1.0, 0.0, 3.0);
    EXPECT_NEAR(from_middle.norm(), kRadius * std::cos(kPi / kLinks), 1e-3) << i;
  }
}

TEST(LongRing, FallsFreelyFactoredAsItIsAndSolvedOnceAStep) {
  // nothing loads its joints: n steps fall by g h^2 n (n + 1)/2, and no pivot asks for more,
  // however long the ring is
  constexpr double kStep = 1e-3;
  constexpr int kSteps = 3;
  for (const int links : {1200, 4800}) {
    const std::string side = text_of(0.1 * links / 4);
    const auto sim = simulate(
        "gravity: [0, 0, -9.81]\nmaterials: {m: {density: 1000}}\ngenerators:\n"
        "  - chain: {name: ring, material: m, shape: {sphere: {radius: 0.01}}, collide: false, "
        "joint: spherical, closed: true, links: " +
        std::to_string(links) + ", path: [[0, 0, 0], [" + side + ", 0, 0], [" + side + ", " + side +
        ", 0], [0, " + side + ", 0]]}\ntime: {step: 1 ms, end: 1}\n");

    for (int n = 0; n < kSteps; ++n) {
      const SolveReport& solve = sim->step().solve;
      EXPECT_EQ(solve.iterations, 1) << links;
      EXPECT_EQ(solve.joints.factorisations, 1) << links;
      EXPECT_LE(solve.joints.regularisation, 1e-15) << links;
    }

    const double fall = kG * kStep * kStep * kSteps * (kSteps + 1) / 2.0;
    for (int i = 0; i < links; ++i)
      EXPECT_NEAR(body_of(*sim, i).pose.p.z(), -fall, 1e-12) << links << " link " << i;
  }
}

TEST(FallingNet, ItsCompliantColumnsSwingAsOneChain) {
  // 32 rows of knots of 40 g, held along the first one, fall from level. Each column is a plane
  // chain whose angles, integrated by scipy's DOP853 to 1e-10, put its end at (3.02359, -0.30657)
  // after 0.25 s; the step of 1 ms falls g h t / 2 = 1.2 mm too far. Why the joints are
  // compliant: docs/troubleshooting.md, "Nets of rigid joints that lose energy".
  constexpr GlobalId kColumns = 16, kRows = 32;
  const auto sim = simulate(
      "gravity: [0, 0, -9.81]\nmaterials: {m: {density: 5000}}\ngenerators:\n"
      "  - net: {name: net, material: m, shape: {box: {size: [0.02, 0.02, 0.02]}}, collide: false, "
      "count: [16, 32], spacing: [[0.1, 0, 0], [0, 0.1, 0]], joint: spherical, anchored: edge, "
      "compliance: 1e-7}\ntime: {step: 1 ms, end: 1}\n");

  run_until(*sim, 0.25);

  for (GlobalId k = 0; k < kColumns; ++k) {
    const Vec3 end = body_of(*sim, (kRows - 1) * kColumns + k).pose.p;
    EXPECT_NEAR(end.x(), 0.1 * static_cast<double>(k), 1e-9) << k;
    EXPECT_NEAR(end.y(), 3.02359, 1e-3) << k;
    EXPECT_NEAR(end.z(), -0.30657 - 1.23e-3, 1e-4) << k;
    EXPECT_NEAR(end.z(), body_of(*sim, (kRows - 1) * kColumns).pose.p.z(), 1e-9) << k;
  }
}

}  // namespace
}  // namespace catena::test
