// Springs in natural coordinates beside the differences of their energies.
#include <gtest/gtest.h>

#include <cmath>

#include "stepper/natural_joint_scenes.hpp"

namespace catena::test {
namespace {

/// A spring of a scene with bodies that move rigidly.
Scene spring_scene(JointType type, Side a, Side b, std::uint64_t seed) {
  Scene scene = make_scene({"spring", JointType::distance, {}}, a, b, seed);
  Random random(seed + 500);
  scene.joint.type = type;
  scene.joint.stiffness = 11.0;
  scene.joint.damping = 0.6;
  scene.joint.length = type == JointType::spring ? 0.5 : 0.4;
  for (std::size_t s = 0; s < 2; ++s) {
    if (scene.body[s] == kNoIndex) continue;
    const Twist twist{random.vector(), random.vector()};
    scene.bodies.twist[scene.at(s)] = twist;
    NaturalCoordinates& rate = scene.bodies.rate[scene.at(s)];
    rate.r = twist.v;
    for (int k = 0; k < 3; ++k)
      rate.a.col(k) = twist.w.cross(scene.bodies.place[scene.at(s)].a.col(k));
  }
  return scene;
}

/// Force and torque of a load on a body.
Rows wrench_of(const NaturalMass& mass, const NaturalCoordinates& place, const NaturalLoad& load) {
  NaturalLoad folded = load;
  fold_axes(mass, place, {}, folded.hold.a, folded.rate.a);
  Rows out;
  Vec3 torque = Vec3::Zero();
  for (int k = 0; k < 3; ++k) torque += place.a.col(k).cross(folded.rate.a.col(k));
  out << folded.rate.r, torque;
  return out;
}

TEST(NaturalJoint, SpringsPullAsTheirEnergyFallsAndDampAlongTheirEnds) {
  for (const auto& side : all_sides()) {
    const Scene scene = spring_scene(JointType::spring, side[0], side[1], 31);
    const NaturalJoint joint = scene.made();
    EXPECT_EQ(joint.rows(), 0);
    EXPECT_TRUE(joint.is_spring());
    std::vector<NaturalLoad> load(scene.bodies.place.size());
    double power = 100.0, on_prescribed = 200.0;
    const double f = joint.pull(scene.bodies, 0.0, load, power, on_prescribed);

    // ends and their velocities
    std::array<Vec3, 2> end, speed;
    for (std::size_t s = 0; s < 2; ++s) {
      const Vec3 arm = scene.pose[s].q * scene.joint.frame[s].p;
      const Twist twist = scene.body[s] == kNoIndex ? Twist{} : scene.bodies.twist[scene.at(s)];
      end[s] = scene.pose[s].p + arm;
      speed[s] = twist.v + twist.w.cross(arm);
    }
    const Vec3 d = end[1] - end[0];
    const double rate = d.dot(speed[1] - speed[0]) / d.norm();
    const double expected = -11.0 * (d.norm() - 0.5) - 0.6 * rate;
    EXPECT_NEAR(f, expected, 1e-14);
    double of_prescribed = 0.0, of_all = 0.0;
    for (std::size_t s = 0; s < 2; ++s) {
      if (scene.body[s] == kNoIndex) continue;
      const Vec3 push = (s == 1 ? 1.0 : -1.0) * expected * d / d.norm();
      of_all += push.dot(speed[s]);
      if (!scene.moves(s)) {
        of_prescribed += push.dot(speed[s]);
        EXPECT_EQ(load[scene.at(s)].rate.r.norm(), 0.0);
        continue;
      }
      const Rows found = wrench_of(scene.bodies.mass[scene.at(s)], scene.bodies.place[scene.at(s)],
                                   load[scene.at(s)]);
      EXPECT_LT((found.head<3>() - push).norm(), 1e-14);
      EXPECT_LT((found.tail<3>() - (end[s] - scene.pose[s].p).cross(push)).norm(), 1e-14);
      EXPECT_EQ(load[scene.at(s)].hold.r.norm() + load[scene.at(s)].hold.a.norm(), 0.0);
    }
    EXPECT_NEAR(power, 100.0 + of_all, 1e-12);
    EXPECT_NEAR(on_prescribed, 200.0 + of_prescribed, 1e-12);

    Vec3 impulse, couple;
    joint.spring_reaction(scene.bodies, 2.5, impulse, couple);
    EXPECT_LT((impulse - 2.5 * d / d.norm()).norm(), 1e-14);
    EXPECT_EQ(couple.norm(), 0.0);
  }
}

TEST(NaturalJoint, TorsionSpringsTwistAboutTheirAxisThroughManyTurns) {
  for (const auto& side : all_sides())
    for (const int turns : {0, 3, -2}) {
      Scene scene = make_scene({"hinge", JointType::revolute, {}}, side[0], side[1], 32);
      Random random(33);
      scene.joint.type = JointType::torsion_spring;
      scene.joint.stiffness = 11.0;
      scene.joint.damping = 0.6;
      scene.joint.length = 0.4;
      std::array<Vec3, 2> omega{Vec3::Zero(), Vec3::Zero()};
      for (std::size_t s = 0; s < 2; ++s) {
        if (scene.body[s] == kNoIndex) continue;
        omega[s] = random.vector();
        scene.bodies.twist[scene.at(s)].w = omega[s];
      }
      const NaturalJoint joint = scene.made();
      std::vector<NaturalLoad> load(scene.bodies.place.size());
      double power = 100.0, on_prescribed = 200.0;
      const double angle = scene.coordinate[0] + 2.0 * M_PI * turns;

      // what is known of the angle is off by less than half a turn
      const double torque = joint.pull(scene.bodies, angle + 2.0, load, power, on_prescribed);

      const Vec3 z = scene.pose[0].q * (scene.joint.frame[0].q * Vec3::UnitZ());
      const double expected = -11.0 * (angle - 0.4) - 0.6 * z.dot(omega[1] - omega[0]);
      EXPECT_NEAR(torque, expected, 1e-12);
      double of_prescribed = 0.0, of_all = 0.0;
      for (std::size_t s = 0; s < 2; ++s) {
        if (scene.body[s] == kNoIndex) continue;
        const Vec3 twist = (s == 1 ? 1.0 : -1.0) * expected * z;
        of_all += twist.dot(omega[s]);
        if (!scene.moves(s)) {
          of_prescribed += twist.dot(omega[s]);
          continue;
        }
        const Rows found = wrench_of(scene.bodies.mass[scene.at(s)],
                                     scene.bodies.place[scene.at(s)], load[scene.at(s)]);
        EXPECT_EQ(found.head<3>().norm(), 0.0);
        EXPECT_LT((found.tail<3>() - twist).norm(), 1e-12);
      }
      EXPECT_NEAR(power, 100.0 + of_all, 1e-10);
      EXPECT_NEAR(on_prescribed, 200.0 + of_prescribed, 1e-10);
      Vec3 impulse, couple;
      joint.spring_reaction(scene.bodies, 2.5, impulse, couple);
      EXPECT_EQ(impulse.norm(), 0.0);
      EXPECT_LT((couple - 2.5 * z).norm(), 1e-14);
    }
}

}  // namespace
}  // namespace catena::test
