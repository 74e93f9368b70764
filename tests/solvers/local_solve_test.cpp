// One block at a time, against its own conditions and independent solutions.
#include "solvers/batches/local/local_solve.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "catena/base/error.hpp"
#include "catena/math/cone.hpp"

namespace catena {
namespace {

struct Sample {
  Mat3 d;
  Vec3 w, lambda;
  double friction;
};

/// Random contact with a full, well-conditioned D and an admissible lambda.
Sample random_sample(std::mt19937& engine) {
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  Mat3 a;
  for (int i = 0; i < 9; ++i) a.data()[i] = uniform(engine);
  Sample s;
  s.d = a * a.transpose() + 0.5 * Mat3::Identity();
  s.friction = 0.5 * (1.0 + uniform(engine));
  s.w = Vec3(uniform(engine) - 0.3, uniform(engine), uniform(engine));
  s.lambda = project_cone(Vec3(uniform(engine), uniform(engine), uniform(engine)), s.friction);
  return s;
}

/// |z - P_K(z - what)| with what = w(z), shifted by mu |w_t| under coulomb.
double law_error(const Sample& s, const Vec3& z, ContactLaw law) {
  Vec3 w = s.w + s.d * (z - s.lambda);
  if (law == ContactLaw::coulomb) w[0] += s.friction * std::hypot(w[1], w[2]);
  return (z - project_cone(z - w, s.friction)).norm();
}

TEST(LocalSolve, ExactMeetsTheLawToRoundOffForFullBlocks) {
  std::mt19937 engine(1);
  for (int i = 0; i < 2000; ++i) {
    const Sample s = random_sample(engine);
    const ContactBlock block = make_contact_block(s.d);
    for (const ContactLaw law : {ContactLaw::coulomb, ContactLaw::ccp}) {
      const Vec3 z = solve_contact({law, LocalSolve::exact, 1.0}, block, s.w, s.lambda, s.friction);

      EXPECT_LT(law_error(s, z, law), 1e-12) << "sample " << i << " law " << static_cast<int>(law);
    }
  }
}

TEST(LocalSolve, RepeatedConeStepsConvergeToTheExactConvexSolution) {
  std::mt19937 engine(2);
  for (int i = 0; i < 50; ++i) {
    const Sample s = random_sample(engine);
    const ContactBlock block = make_contact_block(s.d);
    const Vec3 exact =
        solve_contact({ContactLaw::ccp, LocalSolve::exact, 1.0}, block, s.w, s.lambda, s.friction);
    Vec3 z = s.lambda;

    for (int sweep = 0; sweep < 2000; ++sweep)
      z = solve_contact({ContactLaw::ccp, LocalSolve::cone, 1.0}, block, s.w + s.d * (z - s.lambda),
                        z, s.friction);

    EXPECT_LT((z - exact).norm(), 1e-10 * (1.0 + exact.norm()));
  }
}

TEST(LocalSolve, EveryCoulombSolveIsExactWhereTheBlockIsDiagonal) {
  std::mt19937 engine(3);
  for (int i = 0; i < 500; ++i) {
    Sample s = random_sample(engine);
    s.d = Vec3(s.d(0, 0), s.d(1, 1), s.d(1, 1)).asDiagonal();
    const ContactBlock block = make_contact_block(s.d);
    for (const LocalSolve local :
         {LocalSolve::exact, LocalSolve::project, LocalSolve::sliding, LocalSolve::scalar}) {
      const Vec3 z =
          solve_contact({ContactLaw::coulomb, local, 1.0}, block, s.w, s.lambda, s.friction);

      EXPECT_LT(law_error(s, z, ContactLaw::coulomb), 1e-12) << static_cast<int>(local);
    }
  }
}

TEST(LocalSolve, ProjectFollowsEquations18And19) {
  // D z = D lambda - w gives z = (1, 3, 4); cut to mu z_1 = 0.5 along (3, 4)/5
  Mat3 d;
  d << 2.0, 0.5, 0.0, 0.5, 1.0, 0.2, 0.0, 0.2, 1.5;
  const Vec3 w = -d * Vec3(1.0, 3.0, 4.0);

  const Vec3 z = solve_contact({ContactLaw::coulomb, LocalSolve::project, 1.0},
                               make_contact_block(d), w, Vec3::Zero(), 0.5);

  EXPECT_NEAR((z - Vec3(1.0, 0.3, 0.4)).norm(), 0.0, 1e-14);
}

TEST(LocalSolve, SlidingSolvesTheNormalAgainAlongTheStickDirection) {
  // (21) with direction (3, 4)/5: z_1 (d11 + mu (d12 0.6 + d13 0.8)) = -w_1
  Mat3 d;
  d << 2.0, 0.5, 0.0, 0.5, 1.0, 0.2, 0.0, 0.2, 1.5;
  const Vec3 w = -d * Vec3(1.0, 3.0, 4.0);
  const double z_1 = -w[0] / (2.0 + 0.5 * 0.5 * 0.6);

  const Vec3 z = solve_contact({ContactLaw::coulomb, LocalSolve::sliding, 1.0},
                               make_contact_block(d), w, Vec3::Zero(), 0.5);

  EXPECT_NEAR((z - z_1 * Vec3(1.0, 0.3, 0.4)).norm(), 0.0, 1e-14);
}

TEST(LocalSolve, BoxBoundsEachTangentByTheCurrentNormal) {
  const Mat3 d = Vec3(2.0, 4.0, 4.0).asDiagonal();

  const Vec3 z = solve_contact({ContactLaw::box, LocalSolve::exact, 1.0}, make_contact_block(d),
                               Vec3(-2.0, -8.0, 0.4), Vec3::Zero(), 0.5);

  EXPECT_NEAR((z - Vec3(1.0, 0.5, -0.1)).norm(), 0.0, 1e-15);
}

TEST(LocalSolve, FrictionlessHasNoTangentialImpulse) {
  const Mat3 d = Vec3(2.0, 4.0, 4.0).asDiagonal();
  const LocalSolveOptions rules{ContactLaw::frictionless, LocalSolve::exact, 1.0};

  EXPECT_EQ(solve_contact(rules, make_contact_block(d), Vec3(-2.0, 1.0, 1.0), Vec3::Zero(), 0.5),
            Vec3(1.0, 0.0, 0.0));
  EXPECT_EQ(solve_contact(rules, make_contact_block(d), Vec3(2.0, 1.0, 1.0), Vec3::Zero(), 0.5),
            Vec3::Zero());
}

TEST(LocalSolve, RelaxationMovesThatPartOfTheWayAndStaysInTheCone) {
  std::mt19937 engine(4);
  for (int i = 0; i < 200; ++i) {
    const Sample s = random_sample(engine);
    const ContactBlock block = make_contact_block(s.d);
    const Vec3 full = solve_contact({ContactLaw::coulomb, LocalSolve::exact, 1.0}, block, s.w,
                                    s.lambda, s.friction);
    for (const double omega : {0.5, 1.5}) {
      const Vec3 z = solve_contact({ContactLaw::coulomb, LocalSolve::exact, omega}, block, s.w,
                                   s.lambda, s.friction);
      const Vec3 expected = project_cone(s.lambda + omega * (full - s.lambda), s.friction);

      EXPECT_LT((z - expected).norm(), 1e-14);
      EXPECT_LE(std::hypot(z[1], z[2]), s.friction * z[0] + 1e-14);
    }
  }
}

TEST(LocalSolve, RowsOneAfterTheOtherConvergeToTheBoxedSolution) {
  // min 1/2 x D x + w x on 0 <= x_0, -0.1 <= x_1 <= 0.1: x_1 at its bound, x_0 free:
  // 2 x_0 - 0.1 = 1
  const std::array<double, 4> d = {2.0, 1.0, 1.0, 3.0};
  const std::array<double, 2> lower = {0.0, -0.1}, upper = {1e30, 0.1};
  std::array<double, 2> w = {-1.0, 2.0}, lambda = {0.0, 0.0};

  for (int sweep = 0; sweep < 60; ++sweep) solve_rows(d, 1.0, lower, upper, w, lambda);

  EXPECT_NEAR(lambda[0], 0.55, 1e-14);
  EXPECT_NEAR(lambda[1], -0.1, 1e-14);
  EXPECT_NEAR(w[0], 0.0, 1e-14);  // carried along
}

TEST(LocalSolve, ContactBetweenImmovableBodiesGetsNoImpulse) {
  const Vec3 z = solve_contact({}, make_contact_block(Mat3::Zero()), Vec3(-1.0, 1.0, 0.0),
                               Vec3(1.0, 0.0, 0.0), 0.5);

  EXPECT_EQ(z, Vec3::Zero());
}

TEST(LocalSolve, SolvesThatDoNotFitTheLawAreRefused) {
  EXPECT_THROW(check_local_rules({ContactLaw::coulomb, LocalSolve::cone, 1.0}), Error);
  EXPECT_THROW(check_local_rules({ContactLaw::frictionless, LocalSolve::cone, 1.0}), Error);
  EXPECT_THROW(check_local_rules({ContactLaw::ccp, LocalSolve::project, 1.0}), Error);
  EXPECT_NO_THROW(check_local_rules({ContactLaw::ccp, LocalSolve::cone, 1.0}));
  EXPECT_NO_THROW(check_local_rules({ContactLaw::box, LocalSolve::scalar, 1.0}));
}

}  // namespace
}  // namespace catena
