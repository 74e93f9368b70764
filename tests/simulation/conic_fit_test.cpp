// The least squares fit over cones meets the conditions of its minimum, and finds a zero residual
// exactly where one exists.
#include "simulation/diagnosis/conic_fit.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace catena {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

RayGroup single(RayKind kind, Index entry) { return {kind, {entry, -1, -1, -1, -1, -1}, {}}; }

RayGroup contact(Index first, double friction) {
  return {RayKind::contact, {first, first + 1, first + 2, -1, -1, -1}, {friction, 0.0, 0.0}};
}

MatrixXd random_matrix(Eigen::Index rows, Eigen::Index columns, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  MatrixXd m(rows, columns);
  for (Eigen::Index j = 0; j < columns; ++j) {
    for (Eigen::Index i = 0; i < rows; ++i) m(i, j) = normal(random);
    m.col(j).normalize();
  }
  return m;
}

/// Of 1/2 |E x - f|^2 over the cones: x in K, slope in K*, both orthogonal, group by group.
void expect_minimum(const MatrixXd& e, const std::vector<RayGroup>& groups, const VectorXd& f,
                    const VectorXd& x, double tolerance) {
  const VectorXd slope = e.transpose() * (e * x - f);
  for (const RayGroup& g : groups) {
    const double x_0 = x[g.entry[0]], s_0 = slope[g.entry[0]];
    if (g.kind == RayKind::free) {
      EXPECT_NEAR(s_0, 0.0, tolerance);
    } else if (g.kind != RayKind::contact) {
      const double sign = g.kind == RayKind::up ? 1.0 : -1.0;
      EXPECT_GE(sign * x_0, 0.0);
      EXPECT_GE(sign * s_0, -tolerance);
      EXPECT_NEAR(x_0 * s_0, 0.0, tolerance);
    } else {
      const double mu = g.bound[0];
      const double x_t = std::hypot(x[g.entry[1]], x[g.entry[2]]);
      const double s_t = std::hypot(slope[g.entry[1]], slope[g.entry[2]]);
      EXPECT_LE(x_t, mu * x_0 + 1e-12 * std::abs(x_0));
      EXPECT_GE(s_0, mu * s_t - tolerance);
      EXPECT_NEAR(x_0 * s_0 + x[g.entry[1]] * slope[g.entry[1]] + x[g.entry[2]] * slope[g.entry[2]],
                  0.0, tolerance);
    }
  }
}

TEST(ConicFit, MeetsTheConditionsOfTheMinimumForFreeAndSignedEntries) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    const MatrixXd e = random_matrix(12, 20, seed);
    const VectorXd f = random_matrix(12, 1, 1000 + seed);
    std::vector<RayGroup> groups;
    for (Index j = 0; j < 20; ++j)
      groups.push_back(single(j < 3 ? RayKind::free : j % 2 == 0 ? RayKind::up : RayKind::down, j));
    const ConicFit fit = fit_in_cones(e.sparseView(), groups, f);
    expect_minimum(e, groups, f, fit.x, 1e-9);
    EXPECT_NEAR(fit.residual, (e * fit.x - f).norm(), 1e-12);
  }
}

TEST(ConicFit, MeetsTheConditionsOfTheMinimumForFrictionCones) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    const MatrixXd e = random_matrix(30, 24, seed);
    const VectorXd f = random_matrix(30, 1, 1000 + seed);
    std::vector<RayGroup> groups;
    for (Index k = 0; k < 8; ++k) groups.push_back(contact(3 * k, k % 4 == 0 ? 0.0 : 0.4));
    const ConicFit fit = fit_in_cones(e.sparseView(), groups, f);
    // curved cones are approached ray by ray
    expect_minimum(e, groups, f, fit.x, 1e-4);
  }
}

TEST(ConicFit, FindsAZeroResidualBehindDependentColumns) {
  // opposite pairs, of which only the sum may be positive, and a target that needs one of them
  MatrixXd e(3, 5);
  e << 1, -1, 0, 0, 0.5,  //
      0, 0, 1, -1, 0.5,   //
      0.1, 0.2, 0, 0.3, 0;
  VectorXd f(3);
  f << 0, 0, 1;
  std::vector<RayGroup> groups;
  for (Index j = 0; j < 5; ++j) groups.push_back(single(RayKind::up, j));
  const ConicFit fit = fit_in_cones(e.sparseView(), groups, f);
  EXPECT_LT(fit.residual, 1e-12);
  EXPECT_GE(fit.x.minCoeff(), 0.0);
}

TEST(ConicFit, ColumnsThatDependOnOthersToRoundOffTakeNoPart) {
  // eight columns of rank three: what the first three leave of the others is round-off
  for (unsigned seed = 0; seed < 20; ++seed) {
    const MatrixXd e = random_matrix(10, 3, seed) * random_matrix(3, 8, 100 + seed);
    const VectorXd f = random_matrix(10, 1, 1000 + seed);
    std::vector<RayGroup> groups;
    for (Index j = 0; j < 8; ++j) groups.push_back(single(RayKind::free, j));
    const ConicFit fit = fit_in_cones(e.sparseView(), groups, f);
    expect_minimum(e, groups, f, fit.x, 1e-9);
    EXPECT_EQ((fit.x.array() != 0.0).count(), 3);
  }
}

TEST(ConicFit, WithoutGroupsOrUseOnesIsZero) {
  const MatrixXd e = random_matrix(4, 2, 1);
  const VectorXd f = -e.col(0);
  EXPECT_EQ(fit_in_cones(e.sparseView(), {}, f).x, VectorXd::Zero(2));
  const ConicFit fit =
      fit_in_cones(MatrixXd(e.leftCols(1)).sparseView(), {single(RayKind::up, 0)}, f);
  EXPECT_EQ(fit.x, VectorXd::Zero(1));
  EXPECT_NEAR(fit.residual, 1.0, 1e-12);
}

}  // namespace
}  // namespace catena
