// What a step does with eight bodies at a time, against the same for one with Eigen's matrices.
#include "stepper/body_kernels.hpp"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>
#include <random>

#include "catena/math/rotation.hpp"

namespace catena {
namespace {

constexpr std::size_t kLanes = EightBodies::kLanes;

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  double number() { return uniform_(engine_); }
  Vec3 vector(double scale) { return scale * Vec3(number(), number(), number()); }
  Quat rotation() { return rotation_of(vector(2.0), 1.0); }
  Vec3 inertia() { return Vec3(1.5, 1.5, 1.5) + vector(1.4); }
  Mat3 symmetric(double scale) {
    Mat3 m;
    for (int i = 0; i < 3; ++i) m.col(i) = vector(scale);
    return m + m.transpose();
  }

 private:
  std::mt19937 engine_;
  std::uniform_real_distribution<double> uniform_{-1.0, 1.0};
};

Mat3 matrix_of(const std::array<EightBodies::Eight, 6>& packed, std::size_t lane) {
  const auto at = [&](std::size_t k) { return packed[k].lane[lane]; };
  Mat3 m;
  m << at(0), at(1), at(2), at(1), at(3), at(4), at(2), at(4), at(5);
  return m;
}

struct OneBody {
  Quat q;
  Vec3 inertia, before, after;
  Mat3 stiffness;
};

/// Stiffness over inertia with given eigenvalues.
Mat3 stiffness_of(const Quat& q, const Vec3& inertia, const Quat& modes, const Vec3& values) {
  const Mat3 root = q.toRotationMatrix() * inertia.cwiseSqrt().asDiagonal();
  const Mat3 m = modes.toRotationMatrix();
  return root * m * values.asDiagonal() * m.transpose() * root.transpose();
}

/// I + raise (K - followed I)+, all its modes found.
Mat3 raised_inertia(const OneBody& b, double followed, double raise) {
  const Mat3 axes = b.q.toRotationMatrix();
  const Vec3 root = b.inertia.cwiseSqrt();
  const Mat3 back = root.cwiseInverse().asDiagonal();
  const Eigen::SelfAdjointEigenSolver<Mat3> modes(
      Mat3(back * (axes.transpose() * b.stiffness * axes) * back));
  const Vec3 added = raise * (modes.eigenvalues().array() - followed).max(0.0).matrix();
  const Mat3 turned = axes * root.asDiagonal() * modes.eigenvectors();
  return axes * b.inertia.asDiagonal() * axes.transpose() +
         turned * added.asDiagonal() * turned.transpose();
}

void put(const OneBody& body, std::size_t lane, EightBodies& bodies) {
  bodies.set(lane, body.q, body.inertia, body.before);
  for (std::size_t k = 0; k < 3; ++k)
    bodies.after[k].lane[lane] = body.after[static_cast<Eigen::Index>(k)];
  const Mat3& s = body.stiffness;
  const double packed[] = {s(0, 0), s(0, 1), s(0, 2), s(1, 1), s(1, 2), s(2, 2)};
  for (std::size_t k = 0; k < 6; ++k) bodies.matrix[k].lane[lane] = packed[k];
}

OneBody body_of(Random& random) {
  OneBody b{random.rotation(), random.inertia(), random.vector(3.0), random.vector(3.0), {}};
  b.stiffness = b.q.toRotationMatrix() * random.symmetric(2.0) * b.q.toRotationMatrix().transpose();
  return b;
}

void expect_raised(const OneBody& body, const EightBodies& bodies, const RaisedInertia& raised,
                   std::size_t lane, double followed, double raise, double tolerance) {
  const Mat3 axes = body.q.toRotationMatrix();
  const Mat3 inertia = axes * body.inertia.asDiagonal() * axes.transpose();
  const Mat3 total = raised_inertia(body, followed, raise);
  const double size = total.norm();
  EXPECT_LT((matrix_of(raised.added, lane) - (total - inertia)).norm(), tolerance * size);
  EXPECT_LT((matrix_of(bodies.matrix, lane) * total - Mat3::Identity()).norm(), 1e2 * tolerance);
  const Vec3 omega = body.before + total.inverse() * inertia * (body.after - body.before);
  EXPECT_LT((bodies.vector(bodies.after, lane) - omega).norm(), 1e2 * tolerance);
}

TEST(BodyKernels, RaisedInertiaIsThatOfAllItsModes) {
  Random random(1);
  for (int turn = 0; turn < 200; ++turn) {
    const double followed = 1.0, raise = 0.35;
    std::array<OneBody, kLanes> body;
    EightBodies bodies;
    for (std::size_t i = 0; i < kLanes; ++i) {
      body[i] = body_of(random);
      // all numbers of modes above the limit
      const Vec3 shift = 2.0 * random.number() * Vec3::Ones();
      if (i % 2 == 0)
        body[i].stiffness =
            stiffness_of(body[i].q, body[i].inertia, random.rotation(), random.vector(2.0) + shift);
      put(body[i], i, bodies);
    }
    RaisedInertia raised;
    raise_inertia(followed, raise, bodies, raised);
    for (std::size_t i = 0; i < kLanes; ++i)
      expect_raised(body[i], bodies, raised, i, followed, raise, 1e-11);
  }
}

// A taut chain has one mode along itself, without stiffness, and two alike across.
TEST(BodyKernels, RaisedInertiaIsRightWhereModesAreAlike) {
  Random random(2);
  const std::array<Vec3, kLanes> values = {
      Vec3(0.0, 3.0, 3.0), Vec3(3.0, 3.0, 3.0), Vec3(0.5, 0.5, 3.0), Vec3(0.0, 0.0, 0.0),
      Vec3(1.0, 1.0, 1.0), Vec3(0.0, 1e3, 1e3), Vec3(1.0, 1.0, 2.0), Vec3(-1.0, 0.0, 5.0)};
  std::array<OneBody, kLanes> body;
  EightBodies bodies;
  for (std::size_t i = 0; i < kLanes; ++i) {
    body[i] = body_of(random);
    body[i].stiffness = stiffness_of(body[i].q, body[i].inertia, random.rotation(), values[i]);
    put(body[i], i, bodies);
  }
  RaisedInertia raised;
  raise_inertia(1.0, 0.35, bodies, raised);
  for (std::size_t i = 0; i < kLanes; ++i) {
    // at the limit itself modes that are alike are told apart to half the digits only
    expect_raised(body[i], bodies, raised, i, 1.0, 0.35, i == 4 || i == 6 ? 1e-7 : 1e-11);
    const double largest = values[i].maxCoeff();
    if (!(largest > 1.0)) continue;
    EXPECT_NEAR(raised.largest.lane[i], largest, 1e-7 * largest);
  }
}

TEST(BodyKernels, InverseInertiaAndGyroscopicTorqueAreThoseOfEachBody) {
  Random random(3);
  std::array<OneBody, kLanes> body;
  EightBodies bodies;
  for (std::size_t i = 0; i < kLanes; ++i) put(body[i] = body_of(random), i, bodies);
  find_inverse_inertia(bodies);
  for (std::size_t i = 0; i < kLanes; ++i) {
    const Mat3 inertia = rotate_diagonal(body[i].q, body[i].inertia);
    const Vec3& w = body[i].before;
    EXPECT_LT((matrix_of(bodies.matrix, i) * inertia - Mat3::Identity()).norm(), 1e-13);
    EXPECT_LT((inertia * bodies.vector(bodies.after, i) + w.cross(inertia * w)).norm(), 1e-13 * 50);
  }
}

TEST(BodyKernels, AngularMomentumIsThatOfEachBody) {
  Random random(5);
  std::array<OneBody, kLanes> body;
  EightBodies bodies;
  for (std::size_t i = 0; i < kLanes; ++i) put(body[i] = body_of(random), i, bodies);
  find_angular_momenta(bodies);
  for (std::size_t i = 0; i < kLanes; ++i) {
    const Vec3 expected = rotate_diagonal(body[i].q, body[i].inertia) * body[i].before;
    EXPECT_LT((bodies.vector(bodies.after, i) - expected).norm(), 1e-13);
  }
}

// Angles of a step on both sides of where the series ends.
TEST(BodyKernels, TurnedBodiesKeepTheAngularMomentumThatTheyAreGiven) {
  Random random(4);
  for (const double h : {1e-3, 0.1, 0.3, 2.0}) {
    std::array<OneBody, kLanes> body;
    EightBodies bodies;
    for (std::size_t i = 0; i < kLanes; ++i) put(body[i] = body_of(random), i, bodies);
    turn_bodies(h, bodies);
    for (std::size_t i = 0; i < kLanes; ++i) {
      const OneBody& b = body[i];
      const Mat3 inertia = rotate_diagonal(b.q, b.inertia);
      const Vec3 torque = -b.before.cross(inertia * b.before);
      const Quat q = bodies.rotation(i);
      const Vec3 half = 0.5 * h * inertia.inverse() * torque;
      const Quat expected = advance_rotation(b.q, b.after - half, h);
      EXPECT_NEAR(q.norm(), 1.0, 1e-15);
      EXPECT_LT((q.coeffs() - expected.coeffs()).norm(), 1e-13 * (1.0 + h));
      // of I omega = I omega_free + G^T lambda, the gyroscopic torque stands in omega_free only
      const Vec3 momentum = inertia * b.after - h * torque;
      const Vec3 now = rotate_diagonal(q, b.inertia) * bodies.vector(bodies.after, i);
      EXPECT_LT((now - momentum).norm(), 1e-12 * (1.0 + momentum.norm()));
    }
  }
}

}  // namespace
}  // namespace catena
