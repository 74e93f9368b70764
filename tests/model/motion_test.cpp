// Prescribed motions against closed forms and finite differences.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "catena/base/random.hpp"
#include "catena/math/rotation.hpp"
#include "catena/model/model.hpp"

namespace catena {
namespace {

constexpr double kPi = std::numbers::pi;

/// A kinematic body with one motion.
struct Moved {
  Model model;
  BodyConstants body;
  BodyMotionState start;
  MotionStart from;

  explicit Moved(const Motion& motion) {
    model.motions.push_back(motion);
    body.id = 0;
    body.kind = BodyKind::kinematic;
    body.motion = 0;
    start.pose.p = Vec3(0.3, -0.2, 0.7);
    start.pose.q = Quat(0.8, 0.1, -0.5, 0.3).normalized();
    from = motion_start(motion, start.pose);
  }
  BodyMotionState at(double t) const { return prescribed_state(model, body, start.pose, from, t); }
};

Vec3 random_vector(std::uint64_t seed, std::uint64_t k) {
  return {uniform_pm1(seed, k, 0), uniform_pm1(seed, k, 1), uniform_pm1(seed, k, 2)};
}

/// Everything at once, different for each seed.
Motion random_motion(std::uint64_t seed) {
  Motion m;
  m.velocity = random_vector(seed, 0);
  m.angular_velocity = 3.0 * random_vector(seed, 1);
  m.about_origin = seed % 2 == 0;
  m.about = random_vector(seed, 2);
  for (std::uint64_t k = 0; k < 2; ++k) {
    m.harmonics.push_back({0.1 * random_vector(seed, 10 + k), 0.8 * random_vector(seed, 20 + k),
                           1.0 + uniform01(seed, 30, k), 6.0 * uniform01(seed, 31, k)});
  }
  double t = 0.0;
  for (std::uint64_t k = 0; k < 6; ++k) {
    m.table.time.push_back(t);
    m.table.position.push_back(k == 0 ? Vec3::Zero() : Vec3(0.2 * random_vector(seed, 40 + k)));
    m.table.rotation.push_back(k == 0 ? Vec3::Zero() : Vec3(0.5 * random_vector(seed, 50 + k)));
    t += 0.1 + 0.3 * uniform01(seed, 60, k);
  }
  return m;
}

/// Rotation vector of a small rotation.
Vec3 small_rotation(const Quat& q) { return 2.0 * (q.w() < 0.0 ? -1.0 : 1.0) * q.vec(); }

TEST(Motion, TwistIsTheDerivativeOfThePoseForAllParts) {
  constexpr double kDelta = 1e-5;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Moved body(random_motion(seed));
    for (double t = 0.013; t < 1.2; t += 0.0371) {
      const BodyMotionState now = body.at(t), before = body.at(t - kDelta),
                            after = body.at(t + kDelta);

      const Vec3 v = (after.pose.p - before.pose.p) / (2.0 * kDelta);
      const Vec3 w = small_rotation(after.pose.q * before.pose.q.conjugate()) / (2.0 * kDelta);

      // central differences: error delta^2/6 times a third derivative of about 1e4, or delta
      // times the jump of the acceleration at a row of the table
      EXPECT_LT((now.twist.v - v).norm(), 5e-3) << seed << " " << t;
      EXPECT_LT((now.twist.w - w).norm(), 5e-3) << seed << " " << t;
    }
  }
}

TEST(Motion, HarmonicsAreTheirFormulaAndStartFromThePose) {
  Motion motion;
  motion.harmonics.push_back({Vec3(0, 0, 0.02), Vec3(0, 0.4, 0), 5.0, kPi / 6});
  const Moved body(motion);

  for (const double t : {0.0, 0.01, 0.37, 12.3}) {
    const double s = std::sin(10 * kPi * t + kPi / 6) - 0.5;
    const double c = 10 * kPi * std::cos(10 * kPi * t + kPi / 6);
    const BodyMotionState now = body.at(t);
    EXPECT_NEAR(now.pose.p[2], 0.7 + 0.02 * s, 1e-13);
    EXPECT_NEAR(now.twist.v[2], 0.02 * c, 1e-12);
    EXPECT_NEAR(now.twist.w[1], 0.4 * c, 1e-11);
    const Quat turned = Quat(Eigen::AngleAxisd(0.4 * s, Vec3::UnitY())) * body.start.pose.q;
    EXPECT_LT(turned.angularDistance(now.pose.q), 1e-13);
  }
}

TEST(Motion, TurnsOnACircleAboutAPointThatGoesAlong) {
  Motion motion;
  motion.velocity = Vec3(0.5, 0, 0);
  motion.angular_velocity = Vec3(0, 0, 2.0);
  motion.about_origin = false;
  motion.about = Vec3(0.3, -0.7, 0.0);  // 0.5 m beside the body
  const Moved body(motion);

  for (const double t : {0.0, 0.4, 3.0}) {
    const BodyMotionState now = body.at(t);
    const Vec3 expected(0.3 + 0.5 * t - 0.5 * std::sin(2 * t), -0.7 + 0.5 * std::cos(2 * t), 0.7);
    EXPECT_LT((now.pose.p - expected).norm(), 1e-14);
    EXPECT_LT((now.twist.v - Vec3(0.5 - std::cos(2 * t), -std::sin(2 * t), 0)).norm(), 1e-14);
    EXPECT_EQ(now.twist.w, Vec3(0, 0, 2.0));
  }
}

TEST(Motion, ATableMeetsParabolasAtAnySpacing) {
  Motion motion;
  motion.table.interpolation = Interpolation::cubic;
  motion.table.time = {0.0, 0.3, 0.4, 1.1, 1.2, 2.0};
  const auto x = [](double t) { return Vec3(0.1 * t - 0.3 * t * t, 2.0, -0.5 * t); };
  for (const double t : motion.table.time) motion.table.position.push_back(x(t));
  const Moved body(motion);

  for (double t = 0.0; t <= 2.0; t += 0.05) {
    EXPECT_LT((body.at(t).pose.p - body.start.pose.p - x(t)).norm(), 1e-15) << t;
    EXPECT_LT((body.at(t).twist.v - Vec3(0.1 - 0.6 * t, 0, -0.5)).norm(), 1e-14) << t;
  }
}

TEST(Motion, ATableRestsBeforeAndAfterItsRows) {
  Motion motion;
  motion.table.time = {1.0, 2.0};
  motion.table.position = {Vec3(0, 0, 1), Vec3(0, 0, 3)};
  const Moved body(motion);

  EXPECT_EQ(body.at(0.5).pose.p[2], 1.7);
  EXPECT_EQ(body.at(0.5).twist.v, Vec3::Zero());
  EXPECT_NEAR(body.at(1.5).pose.p[2], 2.7, 1e-15);
  EXPECT_NEAR(body.at(1.5).twist.v[2], 2.0, 1e-15);
  EXPECT_EQ(body.at(7.0).pose.p[2], 3.7);
  EXPECT_EQ(body.at(7.0).twist.v, Vec3::Zero());
}

TEST(Motion, VelocityOfASmoothTableIsContinuousAtItsRows) {
  for (const Interpolation interpolation : {Interpolation::monotone, Interpolation::cubic}) {
    const Moved body([&] {
      Motion motion = random_motion(7);
      motion.harmonics.clear();
      motion.table.interpolation = interpolation;
      return motion;
    }());
    const std::vector<double>& rows = body.model.motions[0].table.time;
    for (std::size_t k = 1; k + 1 < rows.size(); ++k) {
      const Twist left = body.at(rows[k] - 1e-9).twist, right = body.at(rows[k] + 1e-9).twist;
      EXPECT_LT((left.v - right.v).norm(), 1e-6);
      EXPECT_LT((left.w - right.w).norm(), 1e-6);
    }
  }
}

TEST(Motion, ComponentsOfAMonotoneTableStayBetweenTheirRows) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Motion motion;
    motion.table = random_motion(seed).table;
    const Moved body(motion);
    const MotionTable& table = body.model.motions[0].table;
    for (std::size_t k = 0; k + 1 < table.time.size(); ++k) {
      for (double s = 0.0; s < 1.0; s += 0.01) {
        const double t = (1.0 - s) * table.time[k] + s * table.time[k + 1];
        const Vec3 d = body.at(t).pose.p - body.start.pose.p;
        const Vec3 low = table.position[k].cwiseMin(table.position[k + 1]);
        const Vec3 high = table.position[k].cwiseMax(table.position[k + 1]);
        // the place itself is rounded
        EXPECT_TRUE((d.array() >= low.array() - 1e-15).all() &&
                    (d.array() <= high.array() + 1e-15).all())
            << seed << " " << k << " " << s;
      }
    }
  }
}

TEST(Motion, VelocityAtARowOfALinearTableIsThatOfTheSideThatIsMeant) {
  Motion motion;
  motion.table = {{0.0, 1.0, 2.0}, {}, {}, Interpolation::linear};
  for (const double x : {0.0, 1.0, 4.0}) motion.table.position.push_back(Vec3(x, 0, 0));
  const Moved body(motion);
  const auto speed = [&](double t, double inside) {
    return prescribed_state(body.model, body.body, body.start.pose, body.from, t, inside)
        .twist.v[0];
  };

  EXPECT_EQ(speed(1.0, 0.9), 1.0);
  EXPECT_EQ(speed(1.0, 1.1), 3.0);
  EXPECT_EQ(speed(2.0, 1.9), 3.0);
  EXPECT_EQ(speed(2.0, 2.1), 0.0);
}

TEST(Motion, ATableOfASineConvergesWithTheThirdPowerOfItsSpacing) {
  const auto error = [](int rows) {
    Motion motion;
    motion.table.interpolation = Interpolation::cubic;
    for (int k = 0; k < rows; ++k) {
      const double t = static_cast<double>(k) / (rows - 1);
      motion.table.time.push_back(t);
      motion.table.position.push_back(Vec3(std::sin(2 * kPi * t), 0, 0));
    }
    const Moved body(motion);
    double most = 0.0;
    for (double t = 0.0; t < 1.0; t += 1e-3) {
      const double x = body.at(t).pose.p[0] - body.start.pose.p[0];
      most = std::max(most, std::abs(x - std::sin(2 * kPi * t)));
    }
    return most;
  };

  EXPECT_LT(error(41), 1e-3);
  EXPECT_GT(error(41) / error(81), 7.0);
}

TEST(Motion, MeanTwistLeadsFromPoseToPose) {
  constexpr double kStep = 0.01;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const Moved body(random_motion(seed));
    for (double t = 0.0; t < 1.0; t += 0.0931) {
      const Twist mean = mean_twist(body.model, body.body, body.from, t, kStep);
      const Pose before = body.at(t).pose, after = body.at(t + kStep).pose;
      EXPECT_LT((before.p + kStep * mean.v - after.p).norm(), 1e-15);
      EXPECT_LT(advance_rotation(before.q, mean.w, kStep).angularDistance(after.q), 1e-14);
    }
  }
  Motion motion;  // a constant motion's twist has no round-off
  motion.velocity = Vec3(0.1, 0.2, 0.3);
  motion.angular_velocity = Vec3(1, 2, 3);
  const Moved steady(motion);
  EXPECT_EQ(mean_twist(steady.model, steady.body, steady.from, 17.3, kStep).v, motion.velocity);
  EXPECT_EQ(mean_twist(steady.model, steady.body, steady.from, 17.3, kStep).w,
            motion.angular_velocity);
}

TEST(Motion, FixedBodiesDoNotMove) {
  Moved body(random_motion(3));
  body.body.kind = BodyKind::fixed;
  EXPECT_EQ(body.at(0.5).pose.p, body.start.pose.p);
  EXPECT_EQ(body.at(0.5).twist.v, Vec3::Zero());
  EXPECT_EQ(mean_twist(body.model, body.body, body.from, 0.5, 0.1).w, Vec3::Zero());
}

TEST(SetVelocity, LeavesThePoseAndLeadsOnFromItByTheNewOne) {
  constexpr double kChange = 0.7, kLater = 1.3;
  for (const bool about : {false, true}) {
    Motion motion = random_motion(11);
    motion.about_origin = !about;
    motion.about = Vec3(0.4, -0.6, 0.2);
    Moved body(motion);
    const BodyMotionState before = body.at(kChange);

    set_velocity(motion, Vec3(0.3, -0.5, 0.9), Vec3(1.1, 0.4, -0.8), kChange, body.from);

    EXPECT_LT((body.at(kChange).pose.p - before.pose.p).norm(), 1e-14);
    EXPECT_LT((body.at(kChange).pose.q.coeffs() - before.pose.q.coeffs()).norm(), 1e-14);
    // what it turned by before is carried along by what it turns by now
    Motion plain = motion;
    plain.harmonics.clear();
    plain.table = {};
    Moved simple(plain);
    set_velocity(plain, Vec3(0.3, -0.5, 0.9), Vec3(1.1, 0.4, -0.8), kChange, simple.from);
    const Pose then = simple.at(kChange).pose, now = simple.at(kLater).pose;
    const double dt = kLater - kChange;
    const Quat turn(
        Eigen::AngleAxisd(dt * Vec3(1.1, 0.4, -0.8).norm(), Vec3(1.1, 0.4, -0.8).normalized()));
    const Vec3 centre_then = about ? Vec3(plain.about + kChange * plain.velocity) : then.p;
    const Vec3 centre = centre_then + dt * Vec3(0.3, -0.5, 0.9);
    EXPECT_LT((now.p - (centre + turn * (then.p - centre_then))).norm(), 1e-13);
    EXPECT_LT((now.q * Vec3::UnitX() - turn * (then.q * Vec3::UnitX())).norm(), 1e-13);
  }
}

}  // namespace
}  // namespace catena
