#include "catena/math/disc_cone.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "catena/math/cone.hpp"
#include "support/dense_algebra.hpp"

namespace catena {
namespace {

class Draw {
 public:
  double uniform() { return std::uniform_real_distribution<double>(0.0, 1.0)(engine_); }
  double normal() { return std::normal_distribution<double>()(engine_); }
  Vec6 vector() {
    Vec6 x;
    for (int i = 0; i < 6; ++i) x[i] = normal();
    return x;
  }
  DiscCone cone() {
    DiscCone c;
    for (double& b : c.bound) b = uniform() < 0.15 ? 0.0 : std::pow(10.0, 2.0 * uniform() - 1.5);
    return c;
  }
  /// Symmetric positive definite with unit diagonal.
  DiscProblem problem(double ridge) {
    Mat6 a;
    for (int i = 0; i < 6; ++i) a.col(i) = vector();
    Mat6 d = a * a.transpose() + ridge * Mat6::Identity();
    const Vec6 root = d.diagonal().cwiseSqrt().cwiseInverse();
    d = Mat6(root.asDiagonal() * d * root.asDiagonal());
    DiscProblem p;
    p.d = 0.5 * (d + d.transpose());
    p.inverse = p.d.inverse();
    p.largest = test::symmetric_eigenvalues(p.d).maxCoeff();
    return p;
  }

 private:
  std::mt19937_64 engine_{5};
};

double cut_of(const DiscCone& cone, const Vec6& x, double n, const std::array<double, 4>& weights) {
  double sum = weights[0] * (n - x[0]) * (n - x[0]);
  for (std::size_t i = 0; i < 3; ++i) {
    const double excess = std::max(0.0, disc_length(x, i) - cone.bound[i] * n);
    sum += weights[i + 1] * excess * excess;
  }
  return sum;
}

/// The least of a convex function of n >= 0, by golden sections.
double least_normal(const DiscCone& cone, const Vec6& x, const std::array<double, 4>& weights) {
  double low = 0.0, high = 1e3;
  const double golden = 0.5 * (std::sqrt(5.0) - 1.0);
  for (int i = 0; i < 200; ++i) {
    const double a = high - golden * (high - low), b = low + golden * (high - low);
    (cut_of(cone, x, a, weights) < cut_of(cone, x, b, weights) ? high : low) =
        cut_of(cone, x, a, weights) < cut_of(cone, x, b, weights) ? b : a;
  }
  return 0.5 * (low + high);
}

TEST(DiscCone, ProjectionIsTheNearestPointOfASearchOverNormals) {
  Draw draw;
  for (int i = 0; i < 3000; ++i) {
    const DiscCone cone = draw.cone();
    const Vec6 x = draw.vector();
    const std::array<double, 4> weights =
        i % 2 == 0 ? std::array<double, 4>{1.0, 1.0, 1.0, 1.0}
                   : std::array<double, 4>{0.1 + draw.uniform(), draw.uniform(), draw.uniform(),
                                           draw.uniform()};
    const Vec6 z = project_disc_cone(cone, x, weights);
    const double n = least_normal(cone, x, weights);
    EXPECT_NEAR(z[0], n, 2e-7);  // a search by values sees half of the digits
    EXPECT_LE(cut_of(cone, x, z[0], weights), cut_of(cone, x, n, weights) * (1 + 1e-12) + 1e-14);
    for (std::size_t d = 0; d < 3; ++d)
      EXPECT_LE(disc_length(z, d), cone.bound[d] * z[0] * (1.0 + 1e-15) + 1e-300);
  }
}

TEST(DiscCone, ProjectionMeetsTheOptimalityConditions) {
  // z in K, z - x in K*, (z - x) . z = 0: Moreau's decomposition
  Draw draw;
  for (int i = 0; i < 5000; ++i) {
    const DiscCone cone = draw.cone();
    const Vec6 x = draw.vector();
    const Vec6 z = project_disc_cone(cone, x);
    const Vec6 rest = z - x;
    EXPECT_GE(rest[0] - cone.shift(rest), -1e-14 * (1.0 + cone.shift(x)));
    EXPECT_NEAR(rest.dot(z), 0.0, 1e-13 * (1.0 + x.squaredNorm()));
    EXPECT_LT((project_disc_cone(cone, z) - z).norm(), 1e-14 * (1.0 + z.norm()));
  }
}

TEST(DiscCone, WithOneDiscItIsTheFrictionCone) {
  Draw draw;
  for (int i = 0; i < 1000; ++i) {
    const DiscCone cone{{draw.uniform(), 0.0, 0.0}};
    const Vec6 x = draw.vector();
    const Vec6 z = project_disc_cone(cone, x);
    EXPECT_LT((z.head<3>() - project_cone(x.head<3>(), cone.bound[0])).norm(), 1e-15);
    EXPECT_EQ(z.tail<3>().norm(), 0.0);
  }
}

TEST(DiscCone, ConvexOneContactSolutionIsTheMinimiser) {
  Draw draw;
  double worst = 0.0;
  for (int i = 0; i < 3000; ++i) {
    const DiscProblem p = draw.problem(i % 2 == 0 ? 1.0 : 0.05);
    const DiscCone cone = draw.cone();
    const Vec6 r = draw.vector();
    const Vec6 guess = i % 3 == 0 ? Vec6(Vec6::Zero()) : project_disc_cone(cone, draw.vector());

    const Vec6 z = solve_disc_contact(p, r, cone, false, guess);

    // K* contains w, w . z = 0, z in K
    const Vec6 w = p.d * z + r;
    const double scale = r.norm() + p.largest * z.norm();
    const double size = 1.0 + cone.bound[0] + cone.bound[1] + cone.bound[2];
    EXPECT_LT((project_disc_cone(cone, z) - z).norm(), 1e-14 * (1.0 + z.norm()));
    worst = std::max({worst, (cone.shift(w) - w[0]) / (scale * size),
                      std::abs(w.dot(z)) / (scale * (z.norm() + 1e-300) * size)});
  }
  EXPECT_LT(worst, 1e-13);
}

// Bodies that a contact sees as spheres: by the normal alone, two discs with one coupling, spinning
// alone; against the law itself, and against the general way.
TEST(DiscCone, RoundBodiesAreSolvedLikeAnyOthers) {
  Draw draw;
  int both = 0;
  for (int i = 0; i < 20000; ++i) {
    DiscProblem p;
    p.d = Mat6::Identity();
    p.d(3, 3) = p.d(4, 4) = 0.3 + draw.uniform();
    const double c = i % 5 == 0 ? 0.0 : (2.0 * draw.uniform() - 1.0) * 0.99 * std::sqrt(p.d(3, 3));
    p.d(1, 4) = p.d(4, 1) = c;
    p.d(2, 3) = p.d(3, 2) = -c;
    p.inverse = p.d.inverse();
    p.largest = test::symmetric_eigenvalues(p.d).maxCoeff();
    find_round(p);
    ASSERT_TRUE(p.round);
    const DiscCone cone = draw.cone();
    Vec6 r = draw.vector();
    r[0] = -std::abs(r[0]);

    const Vec6 z = solve_disc_contact(p, r, cone, true, Vec6::Zero());

    const Vec6 w = p.d * z + r;
    const double tiny = 1e-12 * (1.0 + r.norm());
    EXPECT_NEAR(w[0], 0.0, tiny);
    int sliding = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      const int first = kDiscBegin[k], rows = kDiscRows[k];
      const double most = cone.bound[k] * z[0], length = disc_length(z, k);
      EXPECT_LE(length, most * (1.0 + 1e-14));
      const double slip = w.segment(first, rows).norm();
      // w opposes z, and is none within the disc
      EXPECT_NEAR(w.segment(first, rows).dot(z.segment(first, rows)), -slip * most, tiny) << i;
      if (slip > tiny) ++sliding;
    }
    both += sliding > 1 ? 1 : 0;
    DiscProblem general = p;
    general.round = false;
    EXPECT_LT((solve_disc_contact(general, r, cone, true, z) - z).norm(), 1e-9 * (1.0 + z.norm()));
  }
  EXPECT_GT(both, 1000);
}

TEST(DiscCone, ProblemsThatAreNotThoseOfRoundBodiesAreTold) {
  Draw draw;
  DiscProblem p = draw.problem(1.0);
  find_round(p);
  EXPECT_FALSE(p.round);
  p.d = Mat6::Identity();
  p.d(2, 2) = 1.1;
  find_round(p);
  EXPECT_FALSE(p.round);
  p.d = Mat6::Identity();
  p.d(1, 4) = p.d(4, 1) = p.d(2, 3) = p.d(3, 2) = 0.1;  // no turn by a right angle
  find_round(p);
  EXPECT_FALSE(p.round);
}

TEST(DiscCone, CoulombOneContactSolutionDissipatesMostOnEachDisc) {
  Draw draw;
  double worst = 0.0;
  int sliding = 0, cases = 0;
  for (int i = 0; i < 3000; ++i) {
    const DiscProblem p = draw.problem(2.0);
    DiscCone cone = draw.cone();
    for (double& b : cone.bound) b = std::min(b, 1.0);  // Painleve's paradox is not its business
    const Vec6 r = draw.vector();
    const Vec6 guess = i % 3 == 0 ? Vec6(Vec6::Zero()) : project_disc_cone(cone, draw.vector());

    const Vec6 z = solve_disc_contact(p, r, cone, true, guess);

    const Vec6 w = p.d * z + r;
    const double scale = r.norm() + p.largest * z.norm();
    ASSERT_GE(z[0], 0.0);
    worst = std::max(worst, z[0] > 0.0 ? std::abs(w[0]) / scale : -w[0] / scale);
    for (std::size_t k = 0; k < 3; ++k) {
      const double limit = cone.bound[k] * z[0];
      EXPECT_LE(disc_length(z, k), limit * (1.0 + 1e-14));
      // the disc's maximum dissipation: w . z = -limit |w|
      double work = 0.0;
      for (int row = kDiscBegin[k]; row < kDiscBegin[k] + kDiscRows[k]; ++row)
        work += z[row] * w[row];
      worst = std::max(worst, std::abs(work + limit * disc_length(w, k)) / (scale * scale));
      sliding += limit > 0.0 && disc_length(w, k) > 1e-9 ? 1 : 0;
      ++cases;
    }
  }
  EXPECT_LT(worst, 1e-13);
  EXPECT_GT(sliding, cases / 10);  // the draw meets all regimes
}

TEST(DiscCone, OneContactWithOneDiscIsTheThreeRowSolution) {
  Draw draw;
  for (int i = 0; i < 500; ++i) {
    DiscProblem p = draw.problem(1.0);
    p.d.topRightCorner<3, 3>().setZero();
    p.d.bottomLeftCorner<3, 3>().setZero();
    p.inverse = p.d.inverse();
    const DiscCone cone{{0.5, 0.0, 0.0}};
    const Vec6 r = draw.vector();
    const Mat3 d = p.d.topLeftCorner<3, 3>();
    const Vec3 coulomb = solve_one_contact_coulomb(d, r.head<3>(), 0.5);
    const Vec3 convex = solve_one_contact_convex(d, r.head<3>(), 0.5);
    EXPECT_LT((solve_disc_contact(p, r, cone, true, Vec6::Zero()).head<3>() - coulomb).norm(),
              1e-12 * (1.0 + coulomb.norm()));
    EXPECT_LT((solve_disc_contact(p, r, cone, false, Vec6::Zero()).head<3>() - convex).norm(),
              1e-12 * (1.0 + convex.norm()));
  }
}

}  // namespace
}  // namespace catena
