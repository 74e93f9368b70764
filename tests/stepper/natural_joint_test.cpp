// Equations of joints in natural coordinates: rows, forces and their rates beside differences of
// the constraints; what is refused.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "catena/base/error.hpp"
#include "stepper/natural_joint_scenes.hpp"

namespace catena::test {
namespace {

TEST(NaturalJoint, RowsAreTheRatesOfMisfitsOnRigidMotions) {
  for (const double off : {0.0, 0.05})
    for_all(off, [&](const Scene& scene, const std::string& what) {
      const NaturalJoint joint = scene.made();
      const Stated at = state_of(scene, joint, scene.bodies, kTime);
      const std::array<bool, 6> velocity = velocity_rows(scene, joint.rows());
      for (std::size_t s = 0; s < 2; ++s) {
        if (scene.body[s] == kNoIndex) continue;
        for (int d = 0; d < 6; ++d) {
          constexpr double kSmall = 1e-4;
          const Vec3 v = d < 3 ? Vec3(kSmall * Vec3::Unit(d)) : Vec3(Vec3::Zero());
          const Vec3 w = d < 3 ? Vec3(Vec3::Zero()) : Vec3(kSmall * Vec3::Unit(d - 3));
          NaturalBodies there = scene.bodies, back = scene.bodies;
          there.place[scene.at(s)] = turned(there.place[scene.at(s)], v, w);
          back.place[scene.at(s)] = turned(back.place[scene.at(s)], -v, -w);
          const Rows rate = (state_of(scene, joint, there, kTime).misfit -
                             state_of(scene, joint, back, kTime).misfit) /
                            (2.0 * kSmall);
          for (int r = 0; r < at.rows; ++r) {
            if (velocity[static_cast<std::size_t>(r)]) continue;
            // third derivatives times 1e-8 / 6
            EXPECT_NEAR(at.jacobian[s](r, d), rate[r], 3e-8) << what << ", row " << r;
          }
        }
      }
    });
}

TEST(NaturalJoint, RightHandSidesAreRatesOfDriversLessMisfitsAndCorrections) {
  // q = -alpha f - df/dt - C s'_correction
  for_all(0.05, [&](const Scene& original, const std::string& what) {
    Scene scene = original;
    Random random(77);
    for (std::size_t s = 0; s < 2; ++s) {
      if (!scene.moves(s)) continue;
      NaturalCoordinates& c = scene.bodies.correction[scene.at(s)];
      c.a = random.matrix();
      complete_rates(scene.bodies.mass[scene.at(s)], scene.bodies.place[scene.at(s)], c);
    }
    const NaturalJoint joint = scene.made();
    const Stated at = state_of(scene, joint, scene.bodies, kTime);
    const std::array<bool, 6> velocity = velocity_rows(scene, joint.rows());
    // misfits are quadratic in s: steps of any length give their rate
    NaturalBodies there = scene.bodies, back = scene.bodies;
    for (std::size_t b = 0; b < there.place.size(); ++b) {
      there.place[b].a += 0.1 * scene.bodies.correction[b].a;
      back.place[b].a -= 0.1 * scene.bodies.correction[b].a;
    }
    const Rows by_correction =
        (state_of(scene, joint, there, kTime).misfit - state_of(scene, joint, back, kTime).misfit) /
        0.2;
    NaturalTime later = kTime, earlier = kTime;
    later.t += 1e-4;
    earlier.t -= 1e-4;
    const Rows by_time = (state_of(scene, joint, scene.bodies, later).misfit -
                          state_of(scene, joint, scene.bodies, earlier).misfit) /
                         2e-4;
    for (int r = 0; r < at.rows; ++r) {
      if (velocity[static_cast<std::size_t>(r)]) continue;
      EXPECT_NEAR(at.q[r], -kAlpha * at.misfit[r] - by_time[r] - by_correction[r], 3e-8)
          << what << ", row " << r;
    }
  });
}

/// Sum of mu_r f_r of the position rows.
double weighted(const Scene& scene, const NaturalJoint& joint, const NaturalBodies& bodies,
                const NaturalTime& time, const Rows& mu) {
  return mu.dot(state_of(scene, joint, bodies, time).misfit);
}

TEST(NaturalJoint, HoldIsTheGradientOfConstraintsInNaturalCoordinates) {
  Random random(5);
  for_all(0.05, [&](const Scene& scene, const std::string& what) {
    const NaturalJoint joint = scene.made();
    const Rows mu = some_multipliers(scene, joint.rows(), random, true);
    const std::vector<NaturalLoad> load = held(joint, scene.bodies, kTime, mu);
    for (std::size_t s = 0; s < 2; ++s) {
      if (scene.body[s] == kNoIndex) continue;
      const auto b = scene.at(s);
      for (int column = 0; column < 4; ++column)
        for (int d = 0; d < 3; ++d) {
          const auto pushed = [&](double by) {
            NaturalBodies there = scene.bodies;
            Vec3 step = by * Vec3::Unit(d);
            if (column == 0)
              there.place[b].r += step;
            else
              there.place[b].a.col(column - 1) += step;
            return weighted(scene, joint, there, kTime, mu);
          };
          const double found = column == 0 ? load[b].hold.r[d] : load[b].hold.a(d, column - 1);
          const double expected = scene.moves(s) ? 0.5 * (pushed(1.0) - pushed(-1.0)) : 0.0;
          EXPECT_NEAR(found, expected, 1e-13) << what << ", body " << b << ", " << column << d;
        }
    }
  });
}

TEST(NaturalJoint, HoldOfVelocityRowsIsThatOfTheirRates) {
  // on rigid motions C T is the Jacobian, whatever the equation: T^T C^T mu = J^T mu
  Random random(6);
  for (const double off : {0.0, 0.05})
    for_all(off, [&](const Scene& scene, const std::string& what) {
      const NaturalJoint joint = scene.made();
      const Rows mu = some_multipliers(scene, joint.rows(), random, false);
      const Stated at = state_of(scene, joint, scene.bodies, kTime);
      const std::vector<NaturalLoad> load = held(joint, scene.bodies, kTime, mu);
      for (std::size_t s = 0; s < 2; ++s) {
        if (!scene.moves(s)) continue;
        const auto b = scene.at(s);
        const Rows expected = at.jacobian[s].transpose() * mu;
        Vec3 torque = Vec3::Zero();
        for (int k = 0; k < 3; ++k)
          torque += scene.bodies.place[b].a.col(k).cross(load[b].hold.a.col(k));
        EXPECT_LT((load[b].hold.r - expected.head<3>()).norm(), 1e-14) << what;
        EXPECT_LT((torque - expected.tail<3>()).norm(), 1e-14) << what;
      }
    });
}

TEST(NaturalJoint, RatesOfHoldAreItsDerivativeAlongAMotion) {
  Random random(7);
  for_all(0.05, [&](const Scene& original, const std::string& what) {
    Scene scene = original;
    for (std::size_t b = 0; b < scene.bodies.rate.size(); ++b) {
      scene.bodies.rate[b].r = random.vector();
      scene.bodies.rate[b].a = random.matrix();
    }
    const NaturalJoint joint = scene.made();
    Rows mu = some_multipliers(scene, joint.rows(), random, false);
    const std::vector<NaturalLoad> load = held(joint, scene.bodies, kTime, mu);
    std::array<std::vector<NaturalLoad>, 2> at;
    constexpr double kSmall = 1e-4;
    for (const int sign : {-1, 1}) {
      NaturalBodies there = scene.bodies;
      for (std::size_t b = 0; b < there.place.size(); ++b) {
        there.place[b].r += sign * kSmall * scene.bodies.rate[b].r;
        there.place[b].a += sign * kSmall * scene.bodies.rate[b].a;
      }
      NaturalTime time = kTime;
      time.t += sign * kSmall;
      at[sign > 0 ? 1 : 0] = held(joint, there, time, mu);
    }
    for (std::size_t b = 0; b < load.size(); ++b) {
      const Vec3 r = (at[1][b].hold.r - at[0][b].hold.r) / (2.0 * kSmall);
      const Mat3 a = (at[1][b].hold.a - at[0][b].hold.a) / (2.0 * kSmall);
      EXPECT_LT((load[b].rate.r - r).norm(), 1e-7) << what;
      EXPECT_LT((load[b].rate.a - a).norm(), 1e-7) << what;
    }
  });
}

TEST(NaturalJoint, AddsToLoadsThatAreThere) {
  const Scene scene =
      make_scene({"revolute", JointType::revolute, {}}, Side::general, Side::general, 3);
  const NaturalJoint joint = scene.made();
  const Rows mu = Rows::Constant(0.5);
  std::vector<NaturalLoad> once(2), twice(2);
  joint.hold(scene.bodies, kTime, mu.data(), once);
  joint.hold(scene.bodies, kTime, mu.data(), twice);
  joint.hold(scene.bodies, kTime, mu.data(), twice);
  for (std::size_t b = 0; b < 2; ++b) {
    EXPECT_LT((twice[b].hold.a - 2.0 * once[b].hold.a).norm(), 1e-15);
    EXPECT_LT((twice[b].hold.r - 2.0 * once[b].hold.r).norm(), 1e-15);
  }
}

TEST(NaturalJoint, AStepUsesATablesSlopeInsideOfIt) {
  Kind kind{"guide", JointType::prismatic, {}};
  kind.motor[0] = {MotorKind::position, true};
  Scene scene = make_scene(kind, Side::world, Side::general, 6);
  scene.model.tables[0] = {{0.0, 1.0, 2.0}, {0.0, 3.0, 8.0}};
  const NaturalJoint joint = scene.made();
  std::array<double, 6> rates{};
  // t = 1 as the end of one step and as the start of the next; before the first row nothing moves
  joint.driver_rates(scene.bodies, {1.0, 0.5, 1.0}, rates.data());
  EXPECT_EQ(rates[5], 3.0);
  joint.driver_rates(scene.bodies, {1.0, 1.0, 1.5}, rates.data());
  EXPECT_EQ(rates[5], 5.0);
  joint.driver_rates(scene.bodies, {0.0, 0.0, 0.5}, rates.data());
  EXPECT_EQ(rates[5], 3.0);
  joint.driver_rates(scene.bodies, {0.0, -0.5, 0.0}, rates.data());
  EXPECT_EQ(rates[5], 0.0);
  joint.driver_rates(scene.bodies, {2.0, 2.0, 2.5}, rates.data());
  EXPECT_EQ(rates[5], 0.0);
}

/// A rod along z of the joint's frame, or a point, at side b.
void set_thin(Scene& scene, std::size_t s, const Vec3& inertia) {
  scene.bodies.mass[scene.at(s)] = natural_mass(1.0, inertia);
  NaturalCoordinates& place = scene.bodies.place[scene.at(s)];
  for (int k = 0; k < 3; ++k)
    if (scene.bodies.mass[scene.at(s)].j[k] == 0.0) place.a.col(k).setZero();
}

TEST(NaturalJoint, RodsAndPointsTakeJointsThatNeedNoOtherDirection) {
  const auto accepts = [](JointType type, const Vec3& inertia, const Vec3& p, const Quat& q,
                          bool motor = false) {
    Kind kind{"thin", type, {}};
    if (motor) kind.motor[0] = {MotorKind::velocity, false};
    Scene scene = make_scene(kind, Side::general, Side::general, 7);
    set_thin(scene, 1, inertia);
    scene.joint.frame[1] = {p, q};
    try {
      scene.made();
      return true;
    } catch (const Error& e) {
      const std::string text = e.what();
      EXPECT_NE(text.find("joint link needs a direction that its body b"), std::string::npos)
          << text;
      EXPECT_NE(text.find(inertia.norm() > 0.0 ? "a rod" : "a point"), std::string::npos) << text;
      return false;
    }
  };
  const Vec3 rod(0.5, 0.5, 0.0), point(0.0, 0.0, 0.0), along(0.0, 0.0, 0.7), off(0.1, 0.0, 0.7);
  const Quat same = Quat::Identity();
  const Quat across(Eigen::AngleAxisd(0.5 * M_PI, Vec3::UnitX()));
  EXPECT_TRUE(accepts(JointType::spherical, rod, along, across));
  EXPECT_TRUE(accepts(JointType::distance, rod, along, across));
  EXPECT_TRUE(accepts(JointType::point_on_line, rod, along, across));
  EXPECT_FALSE(accepts(JointType::spherical, rod, off, same));
  EXPECT_TRUE(accepts(JointType::spherical, point, Vec3::Zero(), across));
  EXPECT_FALSE(accepts(JointType::spherical, point, along, same));
  // round-off of a place far from the origin
  EXPECT_TRUE(accepts(JointType::spherical, rod, {1e-11, 0.0, 0.7}, same));
  EXPECT_TRUE(accepts(JointType::revolute, rod, along, same));  // about the rod
  EXPECT_FALSE(accepts(JointType::revolute, rod, along, across));
  EXPECT_FALSE(accepts(JointType::revolute, rod, along, same, true));
  EXPECT_TRUE(accepts(JointType::universal, rod, along, same));
  EXPECT_FALSE(accepts(JointType::universal, rod, along, across));
  EXPECT_TRUE(accepts(JointType::cylindrical, rod, along, same));
  EXPECT_TRUE(accepts(JointType::planar, rod, along, same));
  EXPECT_FALSE(accepts(JointType::fixed, rod, along, same));
  EXPECT_FALSE(accepts(JointType::prismatic, rod, along, same));
  EXPECT_TRUE(accepts(JointType::spring, rod, along, same));
  EXPECT_FALSE(accepts(JointType::spring, rod, off, same));
  EXPECT_FALSE(accepts(JointType::torsion_spring, rod, along, same));
  EXPECT_FALSE(accepts(JointType::revolute, point, Vec3::Zero(), same));
}

TEST(NaturalJoint, WhatIsNotSmoothIsRefusedWithTheJointsNameAndARemedy) {
  const auto refusal = [](JointType type, const auto& change, Side a = Side::world) {
    Scene scene = make_scene({"joint", type, {}}, a, Side::general, 8);
    change(scene.joint);
    try {
      scene.made();
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ExitCode::bad_input);
      EXPECT_FALSE(e.fix().empty());
      EXPECT_EQ(e.where(), "time.stepper: natural");
      EXPECT_EQ(e.found().rfind("joint link ", 0), 0U) << e.found();
      return e.found();
    }
    return std::string();
  };
  const auto as_is = [](JointConstants&) {};
  EXPECT_NE(refusal(JointType::gear, as_is).find("gear"), std::string::npos);
  EXPECT_NE(refusal(JointType::rolling, as_is).find("rolling"), std::string::npos);
  EXPECT_NE(refusal(JointType::knife_edge, as_is, Side::general).find("slides on a body"),
            std::string::npos);
  EXPECT_EQ(refusal(JointType::knife_edge, as_is, Side::kinematic), "");
  EXPECT_EQ(refusal(JointType::revolute, as_is), "");
  const auto hinge = [&](const auto& change) { return refusal(JointType::revolute, change); };
  EXPECT_NE(hinge([](JointConstants& j) { j.axis[0].upper = 1.0; }).find("limits"),
            std::string::npos);
  EXPECT_NE(hinge([](JointConstants& j) { j.axis[0].lower = -1.0; }).find("limits"),
            std::string::npos);
  EXPECT_NE(hinge([](JointConstants& j) { j.axis[0].friction = 0.1; }).find("friction"),
            std::string::npos);
  EXPECT_NE(hinge([](JointConstants& j) {
              j.axis[0].motor = MotorKind::velocity;
              j.axis[0].max_force = 3.0;
            }).find("bound"),
            std::string::npos);
  EXPECT_NE(hinge([](JointConstants& j) {
              j.axis[0].motor = MotorKind::position;
              j.axis[0].motor_compliance = 1e-3;
            }).find("is compliant"),
            std::string::npos);
  EXPECT_NE(hinge([](JointConstants& j) { j.compliance = 1e-6; }).find("compliance"),
            std::string::npos);
  EXPECT_NE(hinge([](JointConstants& j) { j.angular_compliance = 1e-6; }).find("compliance"),
            std::string::npos);
  EXPECT_NE(hinge([](JointConstants& j) { j.erp = 0.0; }).find("erp"), std::string::npos);
  EXPECT_NE(refusal(JointType::universal, [](JointConstants& j) { j.axis[1].upper = 1.0; })
                .find("limits"),
            std::string::npos);
}

}  // namespace
}  // namespace catena::test
