#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>

#include "joint_elimination_scenes.hpp"

namespace catena {
namespace {

using test::DenseJoints;
using test::MechanismMaker;

/// Trees of n bodies, spherical, hinged and fixed joints, every fifth body held to the world.
MechanismMaker random_forest(unsigned seed, Index n, double mass_ratio) {
  MechanismMaker maker(seed);
  for (Index b = 0; b < n; ++b) {
    const double mass = std::pow(mass_ratio, maker.uniform(-1, 1));
    maker.body(mass, 3.0 * maker.any());
    const bool root = b % 17 == 0;
    if (!root) {
      const Index from = b - 1 - maker.integer(std::min<Index>(b % 17, 4));
      std::vector<Vec3> turns(static_cast<std::size_t>(maker.integer(4)));
      for (Vec3& t : turns) t = maker.any();
      const Vec3 at = maker.centre.back() + maker.any();
      if (b % 2 == 0) {
        maker.joint(from, b, at, turns);
      } else {
        maker.joint(b, from, at, turns, b % 7 == 0 ? 1e-3 : 0.0);
      }
    }
    if (b % 17 == 5 || b % 17 == 16) maker.joint(b, -1, maker.centre.back() + maker.any());
  }
  return maker;
}

/// Crank, coupler and rocker in the x-z plane, all axes y: a chain held at both ends.
MechanismMaker four_bar() {
  MechanismMaker maker(5);
  const Vec3 at[] = {{0, 0, 0}, {0, 0, 1}, {2, 0, 1.5}, {2.2, 0, 0}};
  for (int i = 0; i < 3; ++i) maker.body(1.0 + i, 0.5 * (at[i] + at[i + 1]));
  maker.hinge(0, -1, at[0], Vec3::UnitY());
  for (Index i = 0; i < 2; ++i) maker.hinge(i, i + 1, at[i + 1], Vec3::UnitY());
  maker.hinge(2, -1, at[3], Vec3::UnitY());
  return maker;
}

TEST(TreeElimination, EqualsTheDenseCholeskySolutionOnForests) {
  for (const double ratio : {1.0, 1e3}) {
    for (unsigned seed = 1; seed <= 5; ++seed) {
      MechanismMaker maker = random_forest(seed, 60, ratio);
      const DenseJoints dense(maker.made);
      const Eigen::VectorXd b = dense.consistent(maker);

      const auto elimination = make_tree_elimination(maker.made);
      elimination->factor(maker.made);
      const Eigen::VectorXd x = test::solve(*elimination, b);

      EXPECT_LT(dense.difference(x, dense.solution(b)), 1e-15 * dense.condition());
      EXPECT_LT(dense.backward_error(x, b), 3e-15);
      EXPECT_TRUE(elimination->report().redundant.empty());
      EXPECT_EQ(elimination->report().raised, 0);
    }
  }
}

TEST(TreeElimination, JointsMayBeNamedInAnyOrderAlongTheTree) {
  for (unsigned seed = 1; seed <= 5; ++seed) {
    MechanismMaker maker(seed);
    constexpr Index kBodies = 40;
    std::vector<std::pair<Index, Index>> ends = {{0, -1}};
    for (Index b = 0; b < kBodies; ++b) {
      maker.body(1.0, 3.0 * maker.any());
      if (b > 0) ends.emplace_back(b, maker.integer(b));
    }
    std::shuffle(ends.begin(), ends.end(), std::mt19937(seed));
    for (const auto& [a, b] : ends) maker.joint(a, b, 3.0 * maker.any());
    const DenseJoints dense(maker.made);
    const Eigen::VectorXd b = dense.consistent(maker);

    const auto elimination = make_tree_elimination(maker.made);
    elimination->factor(maker.made);

    EXPECT_LT(dense.backward_error(test::solve(*elimination, b), b), 3e-15) << seed;
  }
}

TEST(TreeElimination, OnlyRowsThatMayBeRedundantAreRegularised) {
  MechanismMaker clear = random_forest(1, 60, 10.0), bar = four_bar();
  const auto of_clear = make_tree_elimination(clear.made), of_bar = make_tree_elimination(bar.made);
  of_clear->factor(clear.made);
  of_bar->factor(bar.made);

  EXPECT_LE(of_clear->report().regularisation, 1e-15);
  EXPECT_EQ(of_bar->report().regularisation, kJointRegularisation);

  // bodies that miss their places say nothing of which rows are redundant
  clear.made.misfit = 1e-2;
  of_clear->factor(clear.made);
  EXPECT_EQ(of_clear->report().regularisation, kJointRegularisation);
}

TEST(TreeElimination, ARedundantRowIsMetThoughItsNullVectorHasLittleOnTheLastRows) {
  // a beam on two ball joints, a hair off level: its stretch is the null vector, with `tilt` on the
  // last row
  for (const double tilt : {1e-5, 1e-4, 3e-4, 1e-3, 1e-2, 0.3}) {
    MechanismMaker beam(6);
    beam.body(1.0, Vec3::Zero());
    const Vec3 along = Vec3(1.0, 0.3, tilt).normalized();
    for (const double end : {-1.0, 1.0}) beam.joint(0, -1, end * along);
    const DenseJoints dense(beam.made);
    const Eigen::VectorXd b = dense.consistent(beam);
    const auto elimination = make_tree_elimination(beam.made);
    elimination->factor(beam.made);
    const Eigen::VectorXd x = test::solve(*elimination, b);

    EXPECT_EQ(elimination->report().regularisation, kJointRegularisation) << tilt;
    EXPECT_LT(dense.difference(x, dense.least_norm(b)), 1e-3) << tilt;
  }
}

TEST(TreeElimination, WhetherRowsAreRegularisedDoesNotDependOnTheStepsBefore) {
  MechanismMaker twice(5);
  twice.body(1.0, twice.any());
  const Vec3 turn = twice.any();
  twice.joint(0, -1, Vec3::Zero(), {turn, 2.0 * turn});
  MechanismMaker once = twice;
  for (double& g : once.made.blocks.jacobian) g += 0.1 * once.uniform(-1, 1);
  const auto kept = make_tree_elimination(twice.made), fresh = make_tree_elimination(twice.made);
  kept->factor(twice.made);
  EXPECT_EQ(kept->report().regularisation, kJointRegularisation);
  kept->factor(once.made);
  fresh->factor(once.made);

  const Eigen::VectorXd b = Eigen::VectorXd::LinSpaced(5, -1.0, 2.0);
  EXPECT_LE(kept->report().regularisation, 1e-15);
  EXPECT_EQ(test::solve(*kept, b), test::solve(*fresh, b));
}

TEST(TreeElimination, FiftyJointsAtOneBodyAndMassRatiosOfAMillionKeepRoundOff) {
  for (const double hub : {1e-6, 1.0, 1e6}) {
    MechanismMaker maker(3);
    maker.body(hub, Vec3::Zero());
    for (Index i = 0; i < 50; ++i) {
      const Index tip = maker.body(1.0, 3.0 * maker.any());
      maker.hinge(0, tip, maker.any(), maker.any());
    }
    const DenseJoints dense(maker.made);
    const Eigen::VectorXd b = dense.consistent(maker);

    const auto elimination = make_tree_elimination(maker.made);
    elimination->factor(maker.made);
    const Eigen::VectorXd x = test::solve(*elimination, b);

    EXPECT_LT(dense.backward_error(x, b), 3e-15) << hub;
    EXPECT_TRUE(elimination->report().redundant.empty()) << hub;
  }
}

TEST(TreeElimination, HeavyLoadUnderALightChainKeepsRoundOff) {
  for (const double load : {1.0, 1e3, 1e6}) {
    MechanismMaker maker(4);
    constexpr Index kLinks = 200;
    for (Index b = 0; b < kLinks; ++b) {
      maker.body(b == kLinks - 1 ? load : 1.0, Vec3(0, 0, -(b + 0.5)));
      maker.joint(b, b - 1, Vec3(0, 0, -b));
    }
    const DenseJoints dense(maker.made);
    Eigen::VectorXd gravity = Eigen::VectorXd::Zero(dense.g.cols());
    for (Index b = 0; b < kLinks; ++b) gravity[6 * b + 2] = -9.81 * 0.002;
    const Eigen::VectorXd b = -dense.g * gravity;

    const auto elimination = make_tree_elimination(maker.made);
    elimination->factor(maker.made);
    const Eigen::VectorXd x = test::solve(*elimination, b);

    // reactions are sums of weights; on this body they push down
    for (Index i = 0; i < kLinks; i += 20) {
      const double below = (kLinks - 1 - i) + load;
      EXPECT_NEAR(x[3 * i + 2] / (-9.81 * 0.002 * below), 1.0, 1e-7) << load << " " << i;
    }
    EXPECT_LT((dense.g * (gravity + dense.inverse_mass * dense.g.transpose() * x))
                  .lpNorm<Eigen::Infinity>(),
              1e-10)
        << load;
  }
}

/// shared case A04: five rods along the edges of a cube, six hinges about y, z, x, y, z, x.
MechanismMaker bricard() {
  MechanismMaker maker(6);
  const Vec3 at[] = {{0, 0, 0}, {1, 0, 0}, {1, -1, 0}, {1, -1, 1}, {0, -1, 1}, {0, 0, 1}};
  const Vec3 axes[] = {Vec3::UnitY(), Vec3::UnitZ(), Vec3::UnitX()};
  for (int i = 0; i < 5; ++i) maker.body(1.0, 0.5 * (at[i] + at[i + 1]));
  maker.hinge(0, -1, at[0], axes[0]);
  for (Index i = 1; i < 5; ++i) maker.hinge(i - 1, i, at[i], axes[i % 3]);
  maker.hinge(4, -1, at[5], axes[2]);
  return maker;
}

void expect_least_norm(MechanismMaker maker, std::size_t redundant) {
  const DenseJoints dense(maker.made);
  const auto elimination = make_tree_elimination(maker.made);
  elimination->factor(maker.made);
  EXPECT_EQ(elimination->report().redundant.size(), redundant);

  const Eigen::VectorXd b = dense.consistent(maker);
  const Eigen::VectorXd x = test::solve(*elimination, b);
  EXPECT_LT(dense.difference(x, dense.least_norm(b)), 1e-9);
  EXPECT_LT(dense.backward_error(x, b), 1e-15);

  // contradictory velocities: reactions are those to what can be met
  Eigen::VectorXd wrong = b;
  for (double& v : wrong) v += maker.uniform(-1, 1);
  EXPECT_LT(dense.difference(test::solve(*elimination, wrong), dense.least_norm(wrong)), 1e-8);
}

TEST(TreeElimination, PlanarFourBarInSpaceHasThreeRedundantRowsAndReactionsOfLeastNorm) {
  expect_least_norm(four_bar(), 3);
}

TEST(TreeElimination, BricardsMechanismHasOneRedundantRow) { expect_least_norm(bricard(), 1); }

TEST(TreeElimination, ManyMechanismsWithRedundantRowsDoNotDisturbEachOther) {
  MechanismMaker maker = four_bar();
  const MechanismMaker other = bricard();
  const auto append = [&](const MechanismMaker& from, std::int64_t names) {
    const Index first = maker.made.bodies.size();
    const ProblemBodies& bodies = from.made.bodies;
    for (Index b = 0; b < bodies.size(); ++b) {
      maker.body(2.0 + b, from.centre[static_cast<std::size_t>(b)]);
    }
    const auto n = bodies.size();
    for (Index b = 0; b <= n; ++b) {
      const Vec3 axis = names == 100 ? Vec3(Vec3::UnitY()) : Vec3(Vec3::Unit((b + 1) % 3));
      const Vec3 at = names == 100 ? Vec3(b, 0, b * b) : 0.5 * maker.any();
      maker.hinge(first + std::min(b, n - 1), b == 0 || b == n ? -1 : first + b - 1, at, axis,
                  names + b);
    }
  };
  append(four_bar(), 100);  // again planar
  append(other, 200);       // in general position: 30 rows on 5 bodies, none redundant
  const DenseJoints dense(maker.made);
  const Eigen::VectorXd b = dense.consistent(maker);

  const auto elimination = make_tree_elimination(maker.made);
  elimination->factor(maker.made);
  const Eigen::VectorXd x = test::solve(*elimination, b);

  const auto& redundant = elimination->report().redundant;
  EXPECT_EQ(redundant.size(), 6U);
  EXPECT_EQ(std::count_if(redundant.begin(), redundant.end(),
                          [](const RedundantRow& r) { return r.name >= 100 && r.name < 104; }),
            3);
  EXPECT_LT(dense.difference(x, dense.least_norm(b)), 1e-9);
}

TEST(TreeElimination, SoftLongChainOfHingesHasNoRedundantRowsThoughItsPivotsAreSmall) {
  // straight, all axes alike: the smallest eigenvalue of A over its diagonal falls as N^-4
  for (const Index links : {100, 400}) {
    MechanismMaker maker(9);
    for (Index b = 0; b < links; ++b) {
      maker.body(1.0, Vec3(b + 0.5, 0, 0));
      maker.hinge(b, b - 1, Vec3(b, 0, 0), Vec3::UnitY());
    }
    const DenseJoints dense(maker.made);
    const Eigen::VectorXd b = dense.consistent(maker);

    const auto elimination = make_tree_elimination(maker.made);
    elimination->factor(maker.made);
    const Eigen::VectorXd x = test::solve(*elimination, b);

    EXPECT_LT(elimination->report().smallest_pivot, links == 400 ? 1e-7 : 1.0);
    EXPECT_TRUE(elimination->report().redundant.empty()) << links;
    EXPECT_LT(dense.backward_error(x, b), 3e-15) << links;
  }
}

TEST(TreeElimination, RedundantRowsAreToldFromSoftOnesInOneMechanism) {
  // the four-bar's third hinge carries a straight chain of 400 links
  MechanismMaker maker = four_bar();
  constexpr Index kLinks = 400;
  for (Index b = 0; b < kLinks; ++b) {
    maker.body(1.0, Vec3(2.0 + b + 0.5, 1.0, 1.5));
    maker.hinge(3 + b, b == 0 ? 1 : 2 + b, Vec3(2.0 + b, 1.0, 1.5), Vec3::UnitY());
  }
  const DenseJoints dense(maker.made);
  const Eigen::VectorXd b = dense.consistent(maker);

  const auto elimination = make_tree_elimination(maker.made);
  elimination->factor(maker.made);
  const Eigen::VectorXd x = test::solve(*elimination, b);

  EXPECT_EQ(elimination->report().redundant.size(), 3U);
  EXPECT_LT(dense.backward_error(x, b), 3e-15);
}

TEST(TreeElimination, RowsOfOneJointThatDependOnEachOtherAreFoundInATreeHeldOnce) {
  MechanismMaker maker(10);
  for (Index b = 0; b < 8; ++b) {
    const Vec3 turn = maker.any();
    maker.body(1.0, 3.0 * maker.any());
    // twice the same turn
    maker.joint(b, b == 0 ? -1 : (b - 1) / 2, maker.any(),
                b == 3 ? std::vector<Vec3>{turn, 2.0 * turn} : std::vector<Vec3>{turn});
  }
  expect_least_norm(maker, 1);
}

TEST(TreeElimination, NumbersOfALaterStepReplaceThoseOfTheFirst) {
  MechanismMaker first = random_forest(1, 40, 10.0);
  MechanismMaker second = first;
  for (double& g : second.made.blocks.jacobian) g *= 1.0 + 0.1 * second.uniform(-1, 1);
  const DenseJoints dense(second.made);
  const Eigen::VectorXd b = dense.consistent(second);

  const auto elimination = make_tree_elimination(first.made);
  elimination->factor(first.made);
  elimination->factor(second.made);

  EXPECT_LT(dense.backward_error(test::solve(*elimination, b), b), 3e-15);
}

TEST(TreeElimination, NaNIsNotHidden) {
  MechanismMaker maker = four_bar();
  maker.made.blocks.jacobian[0] = std::numeric_limits<double>::quiet_NaN();
  const auto elimination = make_tree_elimination(maker.made);
  elimination->factor(maker.made);
  const Eigen::VectorXd x = test::solve(*elimination, Eigen::VectorXd::Ones(20));
  EXPECT_TRUE(std::isnan(x[0]));
}

TEST(TreeElimination, LoopsAreRefused) {
  MechanismMaker maker(7);
  for (int i = 0; i < 3; ++i) maker.body(1.0, maker.any());
  for (Index i = 0; i < 3; ++i) maker.joint(i, (i + 1) % 3, maker.any());
  EXPECT_THROW(make_tree_elimination(maker.made), std::logic_error);
}

TEST(TreeElimination, MultiplyAddsPerJointDoNotGrowWithTheTree) {
  std::int64_t flops[2];
  for (int i = 0; i < 2; ++i) {
    MechanismMaker maker(8);
    const Index n = 100 * (i + 1);
    maker.body(1.0, Vec3::Zero());
    for (Index b = 1; b < n; ++b) {
      maker.body(1.0, maker.any());
      maker.joint(0, b, maker.any());  // a dense matrix would take n^3
    }
    const auto elimination = make_tree_elimination(maker.made);
    elimination->factor(maker.made);
    flops[i] = elimination->report().flops / (n - 1);
  }
  EXPECT_EQ(flops[0], flops[1]);
  EXPECT_LT(flops[0], 600);
}

}  // namespace
}  // namespace catena
