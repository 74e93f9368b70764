#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "joint_elimination_scenes.hpp"

namespace catena {
namespace {

using test::DenseJoints;
using test::MechanismMaker;

/// A square net of n x n bodies, neighbours held together at points between them.
MechanismMaker net(Index n, double mass_ratio = 1.0) {
  MechanismMaker maker(1);
  for (Index i = 0; i < n * n; ++i) {
    maker.body(std::pow(mass_ratio, maker.uniform(-0.5, 0.5)),
               Vec3(i / n, i % n, 0.3 * maker.uniform(-1, 1)));
  }
  const auto tie = [&](Index a, Index b) {
    maker.joint(a, b,
                0.5 * (maker.centre[static_cast<std::size_t>(a)] +
                       maker.centre[static_cast<std::size_t>(b)]));
  };
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j < n; ++j) {
      if (j + 1 < n) tie(n * i + j, n * i + j + 1);
      if (i + 1 < n) tie(n * i + j, n * i + j + n);
    }
  }
  return maker;
}

/// A ladder of free frames in a plane, hinges about its normal, each up to `tilt` off it, those of
/// the first loop `first` times as much: n loops of four bars, no world.
MechanismMaker ladder(Index n, double tilt = 0.0, double first = 1.0) {
  MechanismMaker maker(2);
  const auto hinge = [&](Index a, Index b, const Vec3& at) {
    const auto k = static_cast<double>(maker.made.blocks.kind.size());
    const Vec3 off(std::sin(7.0 * k), 0.0, std::cos(3.0 * k));
    maker.hinge(a, b, at, Vec3::UnitY() + (k < 4.0 ? first : 1.0) * tilt * off);
  };
  const auto post = [&](Index i) { return maker.body(1.0, Vec3(i, 0, 0.1 * i)); };
  post(0);
  for (Index i = 0; i < n; ++i) {
    const Index before = i == 0 ? 0 : 3 * i;
    const Index low = maker.body(2.0, Vec3(i + 0.5, 0, -1));
    const Index high = maker.body(1.5, Vec3(i + 0.5, 0, 1));
    const Index after = post(i + 1);
    hinge(before, low, Vec3(i, 0, -1));
    hinge(before, high, Vec3(i, 0, 1));
    hinge(low, after, Vec3(i + 1, 0, -1 - 0.1 * i));
    hinge(high, after, Vec3(i + 1, 0, 1.3));
  }
  return maker;
}

TEST(BorderedElimination, BorderIsWhatJointsAreMoreThanATreeNeeds) {
  // 2 n (n-1) joints on n^2 bodies: (n-1)^2 close a loop
  EXPECT_EQ(border_rows(net(10).made), 3 * 81);
  EXPECT_EQ(border_rows(ladder(4).made), 5 * 4);
  MechanismMaker tree(3);
  for (Index b = 0; b < 4; ++b) tree.body(1.0, tree.any());
  for (Index b = 1; b < 4; ++b) tree.joint(b - 1, b, tree.any());
  tree.joint(0, -1, tree.any());
  tree.joint(3, -1, tree.any());
  EXPECT_EQ(border_rows(tree.made), 0);
}

TEST(BorderedElimination, NetOfSphericalJointsEqualsTheDenseCholeskySolution) {
  for (const double ratio : {1.0, 1e6}) {
    MechanismMaker maker = net(10, ratio);
    const DenseJoints dense(maker.made);
    const Eigen::VectorXd b = dense.consistent(maker);

    const auto elimination = make_bordered_elimination(maker.made);
    elimination->factor(maker.made);
    const Eigen::VectorXd x = test::solve(*elimination, b);

    EXPECT_LT(dense.backward_error(x, b), 3e-15) << ratio;
    if (ratio == 1.0) {
      EXPECT_LT(dense.difference(x, dense.solution(b)), 1e-10);
    }
    EXPECT_TRUE(elimination->report().redundant.empty()) << ratio;
  }
}

TEST(BorderedElimination, LadderOfPlanarFramesHasThreeRedundantRowsPerLoopAllOfClosingJoints) {
  MechanismMaker maker = ladder(4);
  const DenseJoints dense(maker.made);
  const Eigen::VectorXd b = dense.consistent(maker);

  const auto elimination = make_bordered_elimination(maker.made);
  elimination->factor(maker.made);
  const Eigen::VectorXd x = test::solve(*elimination, b);

  const auto& redundant = elimination->report().redundant;
  EXPECT_EQ(redundant.size(), 12U);
  // the joint with the largest name of every loop closes it
  for (const RedundantRow& r : redundant) EXPECT_EQ(r.name % 4, 3) << r.name;
  EXPECT_LT(dense.difference(x, dense.least_norm(b)), 1e-9);
  EXPECT_LT(dense.backward_error(x, b), 2e-15);
}

TEST(BorderedElimination, ManyRedundantRowsAreProjectedOutWhateverVelocitiesContradict) {
  MechanismMaker maker = ladder(12);
  const DenseJoints dense(maker.made);
  const auto elimination = make_bordered_elimination(maker.made);
  elimination->factor(maker.made);
  ASSERT_EQ(elimination->report().redundant.size(), 36U);
  const Eigen::VectorXd consistent = dense.consistent(maker);
  Eigen::VectorXd any(dense.a.rows());
  for (double& v : any) v = maker.uniform(-1, 1);
  // by drift, and by more than there is in common
  for (const double part : {0.0, 1e-13, 1e-9, 1e-5, 1.0, 1e3}) {
    const Eigen::VectorXd b = consistent + part * any;
    const Eigen::VectorXd x = test::solve(*elimination, b), y = dense.least_norm(b);

    EXPECT_LT(dense.difference(x, y), 1e-8) << part;
    const Eigen::VectorXd left = dense.misfit(y, b).cwiseQuotient(dense.root());
    const double size = b.cwiseQuotient(dense.root()).squaredNorm();
    EXPECT_NEAR(elimination->contradiction(), 0.5 * left.squaredNorm(), 1e-12 * size) << part;
  }
}

TEST(BorderedElimination, RowsThatMisfitsKeepFromBeingRedundantAreTakenForRedundant) {
  // hinges off the normal by t turn null vectors' n^T A n of 0 into some t^2; those of the planar
  // frames themselves are of the order of 1
  for (const double tilt : {1e-6, 1e-5, 1e-4}) {
    MechanismMaker maker = ladder(4, tilt);
    const auto elimination = make_bordered_elimination(maker.made);

    maker.made.misfit = tilt;
    elimination->factor(maker.made);
    EXPECT_EQ(elimination->report().redundant.size(), 12U) << tilt;

    // where joints meet to round-off these loops of four hinges are locked: one row less each
    maker.made.misfit = 0.0;
    elimination->factor(maker.made);
    EXPECT_EQ(elimination->report().redundant.size(), 8U) << tilt;
  }
}

TEST(BorderedElimination, ALoopThatFitsBetterThanTheOthersIsNoGapInTheSpectrum) {
  // n^T A n of some 1e-14 in the first loop, 1e-6 in the others: a misfit of 1e-3 leaves either,
  // however far they lie from each other
  MechanismMaker maker = ladder(4, 1e-3, 1e-4);
  maker.made.misfit = 1e-3;
  const auto elimination = make_bordered_elimination(maker.made);
  elimination->factor(maker.made);
  EXPECT_EQ(elimination->report().redundant.size(), 12U);
}

TEST(BorderedElimination, RedundantRowsOfForestAndBorderAreFoundTogether) {
  // a ladder held to the world at two posts: three more rows depend on the others
  MechanismMaker maker = ladder(2);
  maker.hinge(0, -1, Vec3(0, 0, 5), Vec3::UnitY());
  maker.hinge(6, -1, Vec3(3, 0, 5), Vec3::UnitY());
  const DenseJoints dense(maker.made);
  const Eigen::VectorXd b = dense.consistent(maker);

  const auto elimination = make_bordered_elimination(maker.made);
  elimination->factor(maker.made);
  const Eigen::VectorXd x = test::solve(*elimination, b);

  EXPECT_EQ(static_cast<Eigen::Index>(elimination->report().redundant.size()),
            dense.a.rows() - dense.rank());
  EXPECT_EQ(dense.a.rows() - dense.rank(), 9);
  EXPECT_LT(dense.difference(x, dense.least_norm(b)), 1e-9);
  EXPECT_LT(dense.backward_error(x, b), 2e-15);
}

TEST(BorderedElimination, HundredsOfRedundantRowsInOneMechanismKeepConsistentVelocitiesAtRoundOff) {
  // too many for null vectors: epsilon follows the misfit
  MechanismMaker maker = ladder(100);
  maker.made.misfit = 1e-8;
  const DenseJoints dense(maker.made);
  const Eigen::VectorXd b = dense.consistent(maker);

  const auto elimination = make_bordered_elimination(maker.made);
  elimination->factor(maker.made);
  const Eigen::VectorXd x = test::solve(*elimination, b);

  const auto& redundant = elimination->report().redundant;
  EXPECT_EQ(redundant.size(), 100U);  // the first ones are named
  for (const RedundantRow& r : redundant) EXPECT_EQ(r.name % 4, 3) << r.name;
  EXPECT_EQ(redundant.back().name, 4 * 33 + 3);  // three per loop
  EXPECT_DOUBLE_EQ(elimination->report().regularisation, 1e-11);
  EXPECT_LT(dense.backward_error(x, b), 1e-14);
}

TEST(BorderedElimination, ContradictoryVelocitiesGiveTheReactionsToTheirPossiblePart) {
  MechanismMaker maker = ladder(3);
  const DenseJoints dense(maker.made);
  Eigen::VectorXd b(dense.a.rows());
  for (double& v : b) v = maker.uniform(-1, 1);

  const auto elimination = make_bordered_elimination(maker.made);
  elimination->factor(maker.made);

  EXPECT_LT(dense.difference(test::solve(*elimination, b), dense.least_norm(b)), 1e-8);
}

/// Two motors of one loop of four hinges, whose targets cannot both be met: what contradicts is
/// taken from them alone, so that all hinges still hold.
TEST(BorderedElimination, MotorsThatContradictEachOtherGiveWayAndTheLoopHolds) {
  MechanismMaker maker(6);
  for (Index i = 0; i < 4; ++i) maker.body(1.0 + i, maker.any());
  const Vec3 at[] = {{0, 0, 0}, {0.2, 0, 0.7}, {1.1, 0, 0.9}, {1.4, 0, -0.1}};
  const Vec3 axis = Vec3(0.1, 1.0, -0.2).normalized();
  const Vec3 t1 = axis.unitOrthogonal();
  const Vec3 t2 = axis.cross(t1);
  const Quat turn = Quat::FromTwoVectors(Vec3::UnitY(), axis);
  for (Index i = 0; i < 4; ++i) {
    const Vec3 place = turn * at[i];
    if (i % 2 == 0)
      maker.joint(i, (i + 1) % 4, place, {t1, t2, axis});
    else
      maker.hinge(i, (i + 1) % 4, place, axis);
  }
  std::vector<std::size_t> motors = {5, 16};
  maker.made.drive.assign(22, 0);
  for (const std::size_t row : motors) maker.made.drive[row] = 1;
  const DenseJoints dense(maker.made);
  Eigen::VectorXd b = Eigen::VectorXd::Zero(22);
  b[5] = 1.0;
  b[16] = 7.0;

  const auto elimination = make_bordered_elimination(maker.made);
  elimination->factor(maker.made);
  const Eigen::VectorXd w = dense.misfit(test::solve(*elimination, b), b);

  // three rows out of the plane, and one motor
  EXPECT_EQ(elimination->report().redundant.size(), 4U);
  for (Eigen::Index r = 0; r < 22; ++r) {
    if (r == 5 || r == 16)
      EXPECT_GT(std::abs(w[r]), 0.1) << r;
    else
      EXPECT_LT(std::abs(w[r]), 1e-10) << r;
  }
}

TEST(BorderedElimination, MotorsGiveWayAmongHundredsOfRedundantRowsToo) {
  MechanismMaker maker = ladder(100);
  maker.made.misfit = 1e-6;
  const auto hinges = static_cast<std::size_t>(maker.made.blocks.n_rows());
  // in the first loop one turns its lower bar against the post, the other the upper one
  for (Index i = 0; i < 2; ++i)
    maker.joint(0, 1 + i, Vec3(0, 0, i == 0 ? -1 : 1),
                {Vec3::UnitX(), Vec3::UnitZ(), Vec3::UnitY()});
  maker.made.drive.assign(hinges + 12, 0);
  maker.made.drive[hinges + 5] = maker.made.drive[hinges + 11] = 1;
  const DenseJoints dense(maker.made);
  Eigen::VectorXd b = Eigen::VectorXd::Zero(dense.a.rows());
  b[static_cast<Eigen::Index>(hinges + 5)] = 1.0;
  b[static_cast<Eigen::Index>(hinges + 11)] = -5.0;

  const auto elimination = make_bordered_elimination(maker.made);
  elimination->factor(maker.made);
  const Eigen::VectorXd w = dense.misfit(test::solve(*elimination, b), b);

  EXPECT_DOUBLE_EQ(elimination->report().regularisation, 1e-9);
  EXPECT_GT(w.lpNorm<Eigen::Infinity>(), 0.1);  // of a motor
  EXPECT_LT(w.head(static_cast<Eigen::Index>(hinges)).lpNorm<Eigen::Infinity>(), 5e-3);
}

TEST(BorderedElimination, SeveralMechanismsShareOneObject) {
  MechanismMaker maker(4);
  for (Index ring = 0; ring < 3; ++ring) {
    const Index first = maker.made.bodies.size();
    const Index n = 5 + ring;  // the ring of 5 hinges is over-determined, those of 6 and 7 are not
    for (Index i = 0; i < n; ++i) maker.body(1.0 + i, 2.0 * maker.any());
    for (Index i = 0; i < n; ++i) {
      maker.hinge(first + i, first + (i + 1) % n, 2.0 * maker.any(), maker.any());
    }
  }
  const DenseJoints dense(maker.made);
  const Eigen::VectorXd b = dense.consistent(maker);

  const auto elimination = make_bordered_elimination(maker.made);
  elimination->factor(maker.made);

  EXPECT_EQ(border_rows(maker.made), 15);
  EXPECT_LT(dense.backward_error(test::solve(*elimination, b), b), 3e-15);
}

}  // namespace
}  // namespace catena
