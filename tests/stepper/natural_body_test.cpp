// Bodies in natural coordinates beside dense algebra: every Jacobian here is made from the
// constraints themselves, by differences that are exact for quadratic functions.
#include "stepper/natural/natural_body.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "catena/base/error.hpp"
#include "stepper/natural_random.hpp"
#include "support/dense_algebra.hpp"

namespace catena::test {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double kMass = 1.7;

struct Named {
  const char* name;
  Vec3 inertia;
  int axes;
};

/// General, laminae across each axis, rods along each, a point.
const std::vector<Named>& all_bodies() {
  static const std::vector<Named> kBodies = {
      {"general", {0.3, 0.5, 0.4}, 3},     {"lamina 0", {0.7, 0.3, 0.4}, 2},
      {"lamina 1", {0.3, 0.7, 0.4}, 2},    {"lamina 2", {0.3, 0.4, 0.7}, 2},
      {"rod 0", {0.0, 0.5, 0.5}, 1},       {"rod 1", {0.5, 0.0, 0.5}, 1},
      {"rod 2", {0.5, 0.5, 0.0}, 1},       {"point", {0.0, 0.0, 0.0}, 0},
      {"small", {3e-11, 5e-11, 4e-11}, 3},
  };
  return kBodies;
}

/// Axes that are coordinates, stacked.
VectorXd stacked(const NaturalMass& m, const Mat3& a) {
  VectorXd x(3 * m.axes);
  int n = 0;
  for (int k = 0; k < 3; ++k)
    if (m.j[k] > 0.0) x.segment<3>(3 * n++) = a.col(k);
  EXPECT_EQ(n, m.axes);
  return x;
}

Mat3 unstacked(const NaturalMass& m, const VectorXd& x) {
  Mat3 a = Mat3::Zero();
  int n = 0;
  for (int k = 0; k < 3; ++k)
    if (m.j[k] > 0.0) a.col(k) = x.segment<3>(3 * n++);
  return a;
}

/// J_i of each stacked coordinate.
VectorXd masses(const NaturalMass& m) {
  Mat3 j;
  for (int k = 0; k < 3; ++k) j.col(k).setConstant(m.j[k]);
  return stacked(m, j);
}

/// a_i . a_j - delta_ij, halved for i = j, of the stacked coordinates.
VectorXd misfits(const VectorXd& x) {
  const auto n = x.size() / 3;
  VectorXd f(n * (n + 1) / 2);
  int r = 0;
  for (int i = 0; i < n; ++i)
    for (int j = i; j < n; ++j) {
      const double product = x.segment<3>(3 * i).dot(x.segment<3>(3 * j));
      f[r++] = i == j ? 0.5 * (product - 1.0) : product;
    }
  return f;
}

/// df/dx; exact for quadratic f but for round-off.
MatrixXd jacobian(const VectorXd& x) {
  MatrixXd r(misfits(x).size(), x.size());
  for (int d = 0; d < x.size(); ++d) {
    const VectorXd unit = VectorXd::Unit(x.size(), d);
    r.col(d) = 0.5 * (misfits(x + unit) - misfits(x - unit));
  }
  return r;
}

/// Axes of a body turned anyhow and `off` from orthonormal; of a lamina the third completed, of
/// rods and points what is no coordinate zero.
NaturalCoordinates some_axes(const NaturalMass& m, Random& random, double off) {
  NaturalCoordinates s;
  s.r = random.vector();
  s.a = random.rotation().toRotationMatrix() + off * random.matrix();
  for (int k = 0; k < 3; ++k)
    if (m.axes < 2 && !(m.j[k] > 0.0)) s.a.col(k).setZero();
  complete_axes(m, s);
  return s;
}

/// omega x each axis, stacked, as a matrix on omega.
MatrixXd turning(const NaturalMass& m, const Mat3& a) {
  MatrixXd t(3 * m.axes, 3);
  for (int d = 0; d < 3; ++d) {
    Mat3 rate;
    for (int k = 0; k < 3; ++k) rate.col(k) = Vec3::Unit(d).cross(a.col(k));
    t.col(d) = stacked(m, rate);
  }
  return t;
}

TEST(NaturalMass, MomentsAreSumsOfTwoOfItsAxes) {
  for (const Named& body : all_bodies()) {
    const NaturalMass m = natural_mass(kMass, body.inertia);
    EXPECT_EQ(m.axes, body.axes) << body.name;
    EXPECT_EQ(m.mass, kMass);
    for (int k = 0; k < 3; ++k) {
      EXPECT_NEAR(m.j[(k + 1) % 3] + m.j[(k + 2) % 3], body.inertia[k],
                  1e-15 * (1e-9 + body.inertia.sum()))
          << body.name;
    }
  }
}

TEST(NaturalMass, AxesWithoutMomentAreLeftOutAndTheLaminasIsTheLast) {
  for (int k = 0; k < 3; ++k) {
    Vec3 lamina(0.3, 0.3, 0.3), rod(0.5, 0.5, 0.5);
    lamina[k] = 0.6;
    rod[k] = 0.0;
    const NaturalMass flat = natural_mass(1.0, lamina), thin = natural_mass(1.0, rod);
    EXPECT_EQ(flat.j[k], 0.0);
    EXPECT_EQ(flat.axis[2], k);
    EXPECT_EQ(thin.axis[0], k);
    EXPECT_EQ(thin.j[k], 0.5);
    EXPECT_EQ(thin.j[(k + 1) % 3], 0.0);
  }
  // typed with nine digits, or with round-off
  EXPECT_EQ(natural_mass(1.0, {0.333333333, 0.666666667, 1.0000000002}).axes, 2);
  EXPECT_EQ(natural_mass(1.0, {0.1, 0.2, 0.1 + 0.2}).axes, 2);
}

TEST(NaturalMass, MomentsThatNoBodyHasAreRefusedWithTheirSize) {
  for (const double scale : {1.0, 1e-9}) {
    try {
      natural_mass(1.0, scale * Vec3(1.0, 2.0, 3.5));
      ADD_FAILURE() << "accepted";
    } catch (const Error& e) {
      const std::string text = e.what();
      EXPECT_NE(text.find("J_3"), std::string::npos) << text;
      EXPECT_NE(text.find(scale == 1.0 ? "-0.25" : "-2.5e-10"), std::string::npos) << text;
      EXPECT_NE(text.find("inertia"), std::string::npos) << text;
      EXPECT_EQ(e.code(), ExitCode::bad_input);
    }
  }
}

TEST(NaturalBody, ALaminasThirdAxisIsThatOfItsRotation) {
  Random random(1);
  for (const Named& body : all_bodies()) {
    const NaturalMass m = natural_mass(kMass, body.inertia);
    const Mat3 turn = random.rotation().toRotationMatrix();
    NaturalCoordinates s;
    s.a = turn;
    if (m.axes == 2) s.a.col(m.axis[2]) = Vec3(7.0, 8.0, 9.0);
    complete_axes(m, s);
    EXPECT_LT((s.a - turn).norm(), 1e-15) << body.name;
  }
}

TEST(NaturalBody, RatesOfTheThirdAxisAreItsDerivative) {
  Random random(2);
  for (const Named& body : all_bodies()) {
    const NaturalMass m = natural_mass(kMass, body.inertia);
    const NaturalCoordinates s = some_axes(m, random, 0.2);
    NaturalCoordinates ds;
    ds.a = unstacked(m, stacked(m, random.matrix()));
    complete_rates(m, s, ds);
    NaturalCoordinates later = s, earlier = s;
    later.a += ds.a;
    earlier.a -= ds.a;
    complete_axes(m, later);
    complete_axes(m, earlier);
    // a cross product is quadratic: its central difference is exact
    EXPECT_LT((0.5 * (later.a - earlier.a) - ds.a).norm(), 1e-14) << body.name;
  }
}

TEST(NaturalBody, FoldingIsTheTransposeOfCompletingRates) {
  Random random(3);
  for (const Named& body : all_bodies()) {
    const NaturalMass m = natural_mass(kMass, body.inertia);
    const NaturalCoordinates s = some_axes(m, random, 0.2), still;
    const Mat3 on = random.matrix();
    Mat3 folded = on, rate = Mat3::Zero();
    fold_axes(m, s, still, folded, rate);
    NaturalCoordinates ds;
    ds.a = unstacked(m, stacked(m, random.matrix()));
    const double before_completion = (folded.transpose() * ds.a).trace();
    complete_rates(m, s, ds);
    EXPECT_NEAR((on.transpose() * ds.a).trace(), before_completion, 1e-14) << body.name;
    EXPECT_EQ((unstacked(m, stacked(m, folded)) - folded).norm(), 0.0) << body.name;
  }
}

TEST(NaturalBody, FoldedRatesAreTheDerivativeOfWhatIsFolded) {
  Random random(4);
  for (const Named& body : all_bodies()) {
    const NaturalMass m = natural_mass(kMass, body.inertia);
    const NaturalCoordinates s = some_axes(m, random, 0.2);
    NaturalCoordinates ds;
    ds.a = unstacked(m, stacked(m, random.matrix()));
    complete_rates(m, s, ds);
    const Mat3 on = random.matrix(), rate = random.matrix();
    Mat3 f = on, df = rate;
    fold_axes(m, s, ds, f, df);
    // linear in s and in what acts: along s + e s', on + e rate it is quadratic in e
    std::array<Mat3, 2> at{};
    for (const double e : {-1.0, 1.0}) {
      NaturalCoordinates moved = s, unused;
      moved.a += e * ds.a;
      Mat3 there = on + e * rate, none = Mat3::Zero();
      fold_axes(m, moved, unused, there, none);
      at[e > 0.0 ? 1 : 0] = there;
    }
    EXPECT_LT((0.5 * (at[1] - at[0]) - df).norm(), 1e-14) << body.name;
  }
}

TEST(NaturalBody, InverseInertiaIsThatOfTheMassMatrixOnTurns) {
  Random random(5);
  for (const Named& body : all_bodies()) {
    for (const double off : {0.0, 0.1}) {
      const NaturalMass m = natural_mass(kMass, body.inertia);
      const NaturalCoordinates s = some_axes(m, random, off);
      const Mat3 found = inverse_inertia(m, s.a);
      if (m.axes == 0) {
        EXPECT_EQ(found.norm(), 0.0);
        continue;
      }
      const MatrixXd t = turning(m, s.a);
      const MatrixXd inertia = t.transpose() * masses(m).asDiagonal() * t;
      const MatrixXd inverse = pseudo_inverse(inertia);
      EXPECT_LT((found - inverse).norm(), 1e-13 * inverse.norm()) << body.name << " " << off;
      if (off > 0.0) continue;
      // at orthonormal axes it is R I^-1 R^T
      for (int k = 0; k < 3; ++k) {
        const Vec3 axis = s.a.col(k);
        if (m.axes == 1) continue;
        EXPECT_LT((found * axis * body.inertia[k] - axis).norm(), 1e-13) << body.name;
      }
    }
  }
}

TEST(NaturalBody, SpinIsTheAngularMomentumOfItsAxes) {
  Random random(6);
  for (const Named& body : all_bodies()) {
    const NaturalMass m = natural_mass(kMass, body.inertia);
    const Quat q = random.rotation();
    NaturalCoordinates s;
    s.a = q.toRotationMatrix();
    const Vec3 omega = random.vector();
    Mat3 p;
    for (int k = 0; k < 3; ++k) p.col(k) = m.j[k] * omega.cross(s.a.col(k));
    const Vec3 momentum = q * (body.inertia.asDiagonal() * (q.conjugate() * omega));
    EXPECT_LT((spin_of(m, s.a, p) - momentum).norm(), 1e-15) << body.name;
  }
}

TEST(NaturalBody, TheForcesOfACoupleHaveItsTorqueAndNoOther) {
  Random random(7);
  for (const Named& body : all_bodies()) {
    const NaturalMass m = natural_mass(kMass, body.inertia);
    const NaturalCoordinates s = some_axes(m, random, 0.0), still;
    const Vec3 couple = random.vector();
    Mat3 force = Mat3::Zero(), rate = Mat3::Zero();
    add_couple(m, s.a, couple, force);
    fold_axes(m, s, still, force, rate);
    if (m.axes == 0) {
      EXPECT_EQ(force.norm(), 0.0);
      continue;
    }
    const Vec3 torque = turning(m, s.a).transpose() * stacked(m, force);
    Vec3 expected = couple;
    if (m.axes == 1) expected -= s.a.col(m.axis[0]).dot(couple) * s.a.col(m.axis[0]);
    EXPECT_LT((torque - expected).norm(), 1e-15) << body.name;

    Mat3 twice = force;
    add_couple(m, s.a, couple, twice);
    fold_axes(m, s, still, twice, rate);
    EXPECT_LT((twice - 2.0 * force).norm(), 1e-15) << body.name << ": does not add";
  }
}

TEST(NaturalBody, ForcesOfACoupleOnALaminaAreThoseOfThePaper) {
  // F_1 = couple x a_1 / 2 + a_2 x F_3, F_2 = couple x a_2 / 2 + F_3 x a_1, F_3 = couple x a_3 / 2
  Random random(8);
  const NaturalMass m = natural_mass(1.0, {0.3, 0.4, 0.7});
  const NaturalCoordinates s = some_axes(m, random, 0.0), still;
  const Vec3 couple = random.vector();
  Mat3 force = Mat3::Zero(), rate = Mat3::Zero();
  add_couple(m, s.a, couple, force);
  fold_axes(m, s, still, force, rate);
  const Vec3 f3 = 0.5 * couple.cross(s.a.col(2));
  EXPECT_LT((force.col(0) - 0.5 * couple.cross(s.a.col(0)) - s.a.col(1).cross(f3)).norm(), 1e-15);
  EXPECT_LT((force.col(1) - 0.5 * couple.cross(s.a.col(1)) - f3.cross(s.a.col(0))).norm(), 1e-15);
}

TEST(InternalConstraints, CorrectionIsTheLeastThatTheyAskFor) {
  Random random(9);
  constexpr double kAlpha = 12.5;
  for (const Named& body : all_bodies()) {
    const NaturalMass m = natural_mass(kMass, body.inertia);
    const NaturalCoordinates s = some_axes(m, random, 0.05);
    const Mat3 found = InternalConstraints(m, s.a).correction(kAlpha);
    if (m.axes == 0) {
      EXPECT_EQ(found.norm(), 0.0);
      continue;
    }
    const VectorXd x = stacked(m, s.a), f = misfits(x);
    const MatrixXd r = jacobian(x);
    const VectorXd inverse_mass = masses(m).cwiseInverse();
    const VectorXd expected =
        -kAlpha * (inverse_mass.asDiagonal() * r.transpose() *
                   lu_solve(r * inverse_mass.asDiagonal() * r.transpose(), f));
    EXPECT_LT((stacked(m, found) - expected).norm(), 1e-12 * expected.norm()) << body.name;
    EXPECT_LT((r * stacked(m, found) + kAlpha * f).norm(), 1e-12 * kAlpha) << body.name;
    // nothing on axes that are no coordinates
    EXPECT_LT((unstacked(m, stacked(m, found)) - found).norm(), 1e-15) << body.name;
  }
}

TEST(InternalConstraints, ForceIsThatOfTheDenseEquations) {
  // M a' + R^T mu = p, R a' = -alpha f; the force is R'^T mu
  Random random(10);
  constexpr double kAlpha = 12.5;
  for (const Named& body : all_bodies()) {
    const NaturalMass m = natural_mass(kMass, body.inertia);
    const NaturalCoordinates s = some_axes(m, random, 0.05);
    const double scale = 1e-9 + body.inertia.sum();
    const Mat3 p = scale * random.matrix(), da = random.matrix();
    const Mat3 found = InternalConstraints(m, s.a).force(kAlpha, p, da);
    if (m.axes == 0) {
      EXPECT_EQ(found.norm(), 0.0);
      continue;
    }
    const VectorXd x = stacked(m, s.a), f = misfits(x);
    const MatrixXd r = jacobian(x);
    const auto n = x.size(), rows = f.size();
    // scaled to moments of order 1
    MatrixXd kkt = MatrixXd::Zero(n + rows, n + rows);
    kkt.topLeftCorner(n, n) = (masses(m) / scale).asDiagonal();
    kkt.topRightCorner(n, rows) = r.transpose();
    kkt.bottomLeftCorner(rows, n) = r;
    VectorXd right(n + rows);
    right << stacked(m, p) / scale, -kAlpha * f;
    const VectorXd mu = scale * lu_solve(kkt, right).tail(rows);
    const VectorXd y = stacked(m, da);
    const MatrixXd r_rate = jacobian(y);  // R is linear in the axes
    EXPECT_LT((stacked(m, found) - r_rate.transpose() * mu).norm(), 1e-12 * scale) << body.name;
    EXPECT_LT((unstacked(m, stacked(m, found)) - found).norm(), 1e-15) << body.name;
  }
}

TEST(InternalConstraints, DoNoWorkOnTurns) {
  Random random(11);
  for (const Named& body : all_bodies()) {
    const NaturalMass m = natural_mass(kMass, body.inertia);
    if (m.axes == 0) continue;
    const NaturalCoordinates s = some_axes(m, random, 0.1);
    EXPECT_LT((jacobian(stacked(m, s.a)) * turning(m, s.a)).norm(), 1e-14) << body.name;
    const Mat3 fix = InternalConstraints(m, s.a).correction(1.0);
    // nor do corrections turn the body: they are orthogonal in M
    const VectorXd turned = turning(m, s.a).transpose() * masses(m).asDiagonal() * stacked(m, fix);
    EXPECT_LT(turned.norm(), 1e-14 * body.inertia.sum()) << body.name;
  }
}

TEST(OrientationOf, IsTheNearestRotation) {
  Random random(12);
  for (const Named& body : all_bodies()) {
    const NaturalMass m = natural_mass(kMass, body.inertia);
    if (m.axes < 2) continue;
    // of a product of a rotation and a symmetric stretch it is the rotation
    const Quat q = random.rotation();
    const Mat3 off = 0.05 * random.matrix();
    const Mat3 stretched = q.toRotationMatrix() * (Mat3::Identity() + off + off.transpose());
    const Quat found = orientation_of(m, stretched, q);
    EXPECT_LT((found.toRotationMatrix() - q.toRotationMatrix()).norm(), 1e-14) << body.name;
    EXPECT_NEAR(found.norm(), 1.0, 1e-15);
    EXPECT_GT(found.dot(q), 0.0);
    const Quat other = orientation_of(m, stretched, Quat(-q.coeffs()));
    EXPECT_LT(other.dot(q), 0.0) << "the sign must not jump";
  }
}

TEST(OrientationOf, ARodIsTurnedTheShortestWayAndAPointNotAtAll) {
  Random random(13);
  for (int k = 0; k < 3; ++k) {
    Vec3 inertia(0.5, 0.5, 0.5);
    inertia[k] = 0.0;
    const NaturalMass rod = natural_mass(1.0, inertia);
    const Quat before = random.rotation();
    const Vec3 old = before * Vec3::Unit(k);
    const Vec3 across = old.cross(random.vector()).normalized();
    const Quat turn(Eigen::AngleAxisd(0.3, across));
    Mat3 a = Mat3::Zero();
    a.col(k) = 1.01 * (turn * old);  // a length that is off does not matter
    const Quat found = orientation_of(rod, a, before);
    EXPECT_LT((found.toRotationMatrix() - (turn * before).toRotationMatrix()).norm(), 1e-14);
    EXPECT_GT(found.dot(before), 0.0);
    const Quat same = orientation_of(natural_mass(1.0, Vec3::Zero()), a, before);
    EXPECT_EQ(same.coeffs(), before.coeffs());
  }
}

}  // namespace
}  // namespace catena::test
