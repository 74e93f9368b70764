#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "joint_scene.hpp"

namespace catena {
namespace {

using namespace test;

struct Made {
  GeneralBlocks blocks;
  std::vector<JointBlockRef> list;
};

void add_joint_blocks(const JointScene& s, const JointGeometry& geometry,
                      const std::array<Index, kJointBodies>& body, Index index,
                      const JointStep& step, GeneralBlocks& blocks,
                      std::vector<JointBlockRef>& list) {
  JointBlockWriter writer(s.model);
  writer.start(step, blocks, list);
  writer.begin(std::span(&s.joint, 1));
  writer.add(s.joint, {}, geometry, s.at, body, index);
  writer.end();
}

Made blocks_of(const JointScene& s, StepperKind kind = StepperKind::spook, double time = 0.0,
               const std::array<double, 2>& angle = kNoTurns) {
  Made made;
  add_joint_blocks(s, s.geometry(angle), {0, 1, kNoIndex}, 3, {kind, time, kStep}, made.blocks,
                   made.list);
  return made;
}

double speed(const JointScene& s, const JointGeometry& g, std::size_t i) {
  double sum = 0.0;
  for (std::size_t j = 0; j < 3; ++j) sum += dot(g.jacobian[j][i], s.at.twist[j]);
  return sum;
}

/// B slides along the world's x; body a is the world. Coordinate x, velocity u0.
JointScene slider(double x, double u0) {
  JointScene s;
  s.joint.id = 5;
  s.joint.type = JointType::prismatic;
  s.joint.body = {kNoBody, 20, kNoBody};
  const Quat along = Quat::FromTwoVectors(Vec3::UnitZ(), Vec3::UnitX());
  s.joint.frame = {Pose{Vec3::Zero(), along}, Pose{Vec3::Zero(), along}};
  s.at.pose[1].p.x() = x;
  s.at.twist[1].v.x() = u0;
  return s;
}

/// A hinge about the world's z; coordinate angle, velocity w0.
JointScene hinge(double angle, double w0) {
  JointScene s;
  s.joint.id = 6;
  s.joint.type = JointType::revolute;
  s.joint.body = {kNoBody, 20, kNoBody};
  s.at.pose[1].q = turn(Vec3::UnitZ(), angle);
  s.at.twist[1].w.z() = w0;
  return s;
}

Made world_blocks(const JointScene& s, StepperKind kind = StepperKind::spook, double time = 0.0) {
  Made made;
  add_joint_blocks(s, s.geometry(), {kNoIndex, 0, kNoIndex}, 3, {kind, time, kStep}, made.blocks,
                   made.list);
  return made;
}

TEST(JointBlocks, RowsOfSpookHaveItsBiasAndComplianceWithTauTwoStepsByDefault) {
  Random random(31);
  JointScene s = scene_of(JointType::revolute, random, {0.1, 0, 0});
  s.joint.axis = {};
  s.at.pose[1].p += Vec3(0.01, -0.02, 0.03);
  s.joint.compliance = 1e-5;
  s.joint.angular_compliance = 3e-4;
  const JointGeometry g = s.geometry();
  for (const double tau : {-1.0, 0.0, 0.05}) {
    s.joint.damping_time = tau;
    const Made made = blocks_of(s);
    const double upsilon = tau < 0.0 ? 1.0 / 9.0 : 1.0 / (1.0 + 4.0 * tau / kStep);
    for (std::size_t i = 0; i < 5; ++i) {
      const double eps = i < 3 ? 1e-5 : 3e-4;
      EXPECT_NEAR(made.blocks.compliance[i], 4.0 * eps * upsilon / (kStep * kStep), 1e-13);
      EXPECT_NEAR(made.blocks.q[i], -4.0 / kStep * upsilon * g.misfit[i] + upsilon * speed(s, g, i),
                  1e-13);
      EXPECT_EQ(made.blocks.angular[i], i < 3 ? 0 : 1);
    }
  }
}

TEST(JointBlocks, RowsOfDviUndoTheMisfitInOneStepAndAreImplicitEulerOfASoftJoint) {
  Random random(32);
  JointScene s = scene_of(JointType::spherical, random, {0.1, 0.2, 0.3});
  s.at.pose[1].p += Vec3(0.01, -0.02, 0.03);
  const JointGeometry g = s.geometry();
  EXPECT_NEAR(blocks_of(s, StepperKind::dvi).blocks.q[1], -g.misfit[1] / kStep, 1e-14);
  EXPECT_EQ(blocks_of(s, StepperKind::dvi).blocks.compliance[1], 0.0);
  // a spring of stiffness k and damping c on a mass m, solved by hand
  constexpr double kMass = 3.0, kStiff = 400.0, kDamp = 7.0, kPull = 0.2, kSpeed = -1.5;
  s.joint.compliance = 1.0 / kStiff;
  s.joint.damping_time = kDamp / kStiff;
  s.at.pose[0] = s.at.pose[1] = {};
  s.joint.frame = {};
  s.at.pose[1].p.x() = kPull;
  const Made soft = blocks_of(s, StepperKind::dvi);
  // w = u + Sigma lambda - q = 0 with u = kSpeed + lambda/m
  const double lambda = (soft.blocks.q[0] - kSpeed) / (1.0 / kMass + soft.blocks.compliance[0]);
  const double expected =
      (kMass * kSpeed - kStep * kStiff * kPull) / (kMass + kStep * kDamp + kStep * kStep * kStiff);
  EXPECT_NEAR(kSpeed + lambda / kMass, expected, 1e-13);
}

TEST(JointBlocks, OdesFormIsSpooksWithItsComplianceAndDampingTimeForABodyAtRest) {
  constexpr double kErp = 0.3, kCfm = 2e-4;
  Random random(33);
  JointScene s = scene_of(JointType::fixed, random, {0, 0, 0});
  s.at.twist = {};
  s.at.pose[1].p += Vec3(0.01, -0.02, 0.03);
  JointScene ode = s;
  ode.joint.erp = kErp;
  ode.joint.cfm = kCfm;
  s.joint.compliance = s.joint.angular_compliance = kStep * kCfm / kErp;
  s.joint.damping_time = kStep * (1.0 / kErp - 0.25);
  const Made spook = blocks_of(s);
  for (const StepperKind kind : {StepperKind::spook, StepperKind::dvi}) {
    const Made made = blocks_of(ode, kind);
    for (std::size_t i = 0; i < 6; ++i) {
      EXPECT_NEAR(made.blocks.q[i], spook.blocks.q[i], 1e-13);
      EXPECT_NEAR(made.blocks.compliance[i], spook.blocks.compliance[i], 1e-15);
    }
  }
  ode.at.twist[1] = random.twist();  // no Upsilon G V0
  EXPECT_EQ(blocks_of(ode).blocks.q, blocks_of(ode, StepperKind::dvi).blocks.q);
  ode.joint.erp = 0.0;
  EXPECT_EQ(blocks_of(ode).blocks.q[2], 0.0);
  EXPECT_DOUBLE_EQ(blocks_of(ode).blocks.compliance[2], kCfm / kStep);
}

TEST(JointBlocks, SpringsAreCompliantRowsAndDampersVelocityRows) {
  Random random(34);
  JointScene s = scene_of(JointType::spring, random, {0.1, 0.2, 0.3});
  s.joint.axis = {};
  s.joint.length = 0.5;
  s.joint.compliance = 1e-3;  // of joints, not of springs
  const JointGeometry g = s.geometry();
  const double tau = 2.0 / 50.0, upsilon = 1.0 / (1.0 + 4.0 * tau / kStep);

  const Made made = blocks_of(s);

  EXPECT_NEAR(made.blocks.compliance[0], 4.0 / 50.0 * upsilon / (kStep * kStep), 1e-12);
  EXPECT_NEAR(made.blocks.q[0], -4.0 / kStep * upsilon * 0.3 + upsilon * speed(s, g, 0), 1e-13);
  s.joint.stiffness = 0.0;
  EXPECT_DOUBLE_EQ(blocks_of(s).blocks.compliance[0], 1.0 / (kStep * 2.0));
  EXPECT_EQ(blocks_of(s).blocks.q[0], 0.0);
  s.joint.damping = 0.0;
  EXPECT_EQ(blocks_of(s).blocks.size(), 0);
  EXPECT_TRUE(blocks_of(s).list.empty());
}

TEST(JointBlocks, GearsTurningWithTheirCarrierHaveNoSpeed) {
  Random random(39);
  JointScene s = scene_of(JointType::gear, random, {0.1, 0.2, 0.3});
  s.at.pose[2] = random.pose();
  const double misfit = s.geometry().misfit[0];
  const Vec3 spin = random.vector();
  for (Twist& twist : s.at.twist) twist = {random.vector(), spin};
  // q = -(4/h) Upsilon g + Upsilon G V0, G V0 = 0
  EXPECT_NEAR(blocks_of(s).blocks.q[0], -4.0 / kStep / 9.0 * misfit, 1e-12);
  s.at.twist[2].w.setZero();
  EXPECT_GT(std::abs(blocks_of(s).blocks.q[0] + 4.0 / kStep / 9.0 * misfit), 1e-3);
}

TEST(JointBlocks, NonholonomicRowsAreVelocityRowsWithoutBias) {
  Random random(35);
  JointScene s = scene_of(JointType::rolling, random, {0.1, 0.2, 0.3});
  s.at.pose[1].p += Vec3(0.1, 0.1, 0.1);
  s.joint.compliance = 1e-3;
  const Made made = blocks_of(s);
  EXPECT_NE(made.blocks.q[0], 0.0);
  EXPECT_GT(made.blocks.compliance[0], 0.0);
  for (std::size_t i = 1; i < 3; ++i) {
    EXPECT_EQ(made.blocks.q[i], 0.0);
    EXPECT_EQ(made.blocks.compliance[i], 0.0);
  }
}

TEST(JointLimits, MayBeReachedByTheEndOfTheStepAndAreLeftOutFarAway) {
  JointScene s = slider(0.004, -0.5);
  s.joint.axis[0].lower = 0.0;
  s.joint.axis[0].upper = 2.0;

  const Made lower = world_blocks(s);

  ASSERT_EQ(lower.blocks.size(), 2);
  EXPECT_EQ(lower.list[1].part, JointRowKind::limit);
  EXPECT_EQ(lower.list[1].joint, 3);
  EXPECT_EQ(lower.blocks.kind[1], BlockKind::unilateral);
  EXPECT_EQ(lower.blocks.name[1], 5);
  EXPECT_NEAR(lower.blocks.q[5], -0.004 / kStep, 1e-14);
  EXPECT_EQ(lower.blocks.compliance[5], 0.0);
  EXPECT_NEAR(lower.blocks.jacobian[30], 1.0, 1e-15);  // opens with +x
  s.at.pose[1].p.x() = 1.996;
  s.at.twist[1].v.x() = 0.5;
  const Made upper = world_blocks(s);
  ASSERT_EQ(upper.blocks.size(), 2);
  EXPECT_NEAR(upper.blocks.q[5], -0.004 / kStep, 1e-12);
  EXPECT_NEAR(upper.blocks.jacobian[30], -1.0, 1e-15);
  s.at.pose[1].p.x() = 1.0;
  EXPECT_EQ(world_blocks(s).blocks.size(), 1);
  // reach: 2 h |u0| + 2 h^2 g + margin
  const double reach = 2.0 * kStep * 0.5 + 2.0 * kStep * kStep * 9.81 + 1e-3;
  s.at.pose[1].p.x() = 2.0 - 0.999 * reach;
  EXPECT_EQ(world_blocks(s).blocks.size(), 2);
  s.at.pose[1].p.x() = 2.0 - 1.001 * reach;
  EXPECT_EQ(world_blocks(s).blocks.size(), 1);
}

TEST(JointLimits, ThatArePassedAreUndoneAsTheStepperUndoesMisfits) {
  JointScene s = hinge(1.03, 0.2);
  s.joint.axis[0].upper = 1.0;
  s.joint.angular_compliance = 1e-4;
  // distance -0.03, opening speed -0.2
  const Made spook = world_blocks(s);
  EXPECT_NEAR(spook.blocks.q[5], 4.0 / 9.0 * 0.03 / kStep - 0.2 / 9.0, 1e-13);
  EXPECT_NEAR(spook.blocks.compliance[5], 4e-4 / 9.0 / (kStep * kStep), 1e-13);
  EXPECT_EQ(spook.blocks.angular[5], 1);
  EXPECT_NEAR(world_blocks(s, StepperKind::dvi).blocks.q[5], 0.03 / kStep, 1e-12);
  s.joint.erp = 0.2;
  EXPECT_NEAR(world_blocks(s).blocks.q[5], 0.2 * 0.03 / kStep, 1e-12);
}

TEST(JointLimits, ReboundByNewtonsLawIfFastAndWithinTheStep) {
  JointScene s = slider(0.004, -0.5);
  s.joint.axis[0].lower = 0.0;
  s.joint.axis[0].restitution = 0.8;
  EXPECT_NEAR(world_blocks(s).blocks.q[5], 0.4, 1e-14);
  s.at.pose[1].p.x() = 0.006;  // not reached in this step
  EXPECT_NEAR(world_blocks(s).blocks.q[5], -0.6, 1e-13);
  s.at.pose[1].p.x() = 0.0;
  s.at.twist[1].v.x() = -0.9e-2;  // below the rest speed 1e-2
  EXPECT_LE(world_blocks(s).blocks.q[5], 0.0);
}

TEST(JointLimits, CountAnglesOverTurns) {
  JointScene s = hinge(0.5, 0.0);
  s.joint.axis[0].upper = 4.0 * std::numbers::pi + 0.4;
  const Made made = blocks_of(s, StepperKind::dvi, 0.0, {4.0 * std::numbers::pi + 0.3, 0.0});
  ASSERT_EQ(made.blocks.size(), 2);
  EXPECT_NEAR(made.blocks.q[5], 0.1 / kStep, 1e-11);
  EXPECT_EQ(blocks_of(s).blocks.size(), 1);  // two turns before
}

TEST(JointMotors, WithoutBoundAreRowsOfTheJointAndWithOneBoxed) {
  JointScene s = hinge(0.2, 0.1);
  JointAxis& axis = s.joint.axis[0];
  axis.motor = MotorKind::velocity;
  axis.target = 1.5;
  axis.motor_compliance = 0.25;  // viscous coefficient 4

  const Made free = world_blocks(s);

  ASSERT_EQ(free.blocks.size(), 1);
  EXPECT_EQ(free.blocks.row_begin[1], 6);
  EXPECT_EQ(free.blocks.q[5], 1.5);
  EXPECT_DOUBLE_EQ(free.blocks.compliance[5], 1.0 / (kStep * 4.0));
  EXPECT_EQ(free.blocks.jacobian[35], 1.0);
  axis.max_force = 12.0;
  const Made bounded = world_blocks(s);
  ASSERT_EQ(bounded.blocks.size(), 2);
  EXPECT_EQ(bounded.blocks.row_begin[1], 5);
  EXPECT_EQ(bounded.list[1].part, JointRowKind::motor);
  EXPECT_EQ(bounded.blocks.kind[1], BlockKind::boxed);
  EXPECT_EQ(bounded.blocks.q[5], 1.5);
  EXPECT_DOUBLE_EQ(bounded.blocks.lower[5], -0.12);
  EXPECT_DOUBLE_EQ(bounded.blocks.upper[5], 0.12);
}

TEST(JointMotors, OfPositionAreSpookRowsOnTheDistanceToTheirTarget) {
  JointScene s = slider(0.3, 0.2);
  JointAxis& axis = s.joint.axis[0];
  axis.motor = MotorKind::position;
  axis.target = 0.25;
  axis.motor_compliance = 1e-3;
  axis.motor_damping_time = 0.05;
  const double upsilon = 1.0 / (1.0 + 4.0 * 0.05 / kStep);
  const Made made = world_blocks(s);
  EXPECT_NEAR(made.blocks.q[5], -4.0 / kStep * upsilon * 0.05 + upsilon * 0.2, 1e-13);
  EXPECT_NEAR(made.blocks.compliance[5], 4e-3 * upsilon / (kStep * kStep), 1e-13);
}

TEST(JointMotors, VelocityTablesCountByTheirMeanOverTheStep) {
  JointScene s = slider(0.0, 0.0);
  s.joint.axis[0].motor = MotorKind::velocity;
  s.joint.axis[0].table = 0;
  s.model.tables = {{{0.0, 0.004, 1.0}, {0.0, 2.0, 2.0}}};
  // rises from 0 to 2 in 0.4 h, then stays: mean 2 - 0.4
  EXPECT_NEAR(world_blocks(s).blocks.q[5], 1.6, 1e-13);
}

TEST(JointMotors, FollowAMovingTargetExactlyAtTheEndOfEveryStep) {
  for (const StepperKind kind : {StepperKind::spook, StepperKind::dvi}) {
    JointScene s = slider(0.1, 0.0);
    s.joint.axis[0].motor = MotorKind::position;
    s.joint.axis[0].table = 0;
    s.model.tables.resize(1);
    for (int k = 0; k <= 100; ++k) {
      s.model.tables[0].time.push_back(0.013 * k);
      s.model.tables[0].value.push_back(0.1 * std::cos(0.3 * k));
    }
    for (int n = 0; n < 80; ++n) {
      // a rigid row alone: u = q
      const double u = world_blocks(s, kind, n * kStep).blocks.q[5];
      s.at.twist[1].v.x() = u;
      s.at.pose[1].p.x() += kStep * u;
      EXPECT_NEAR(s.at.pose[1].p.x(), s.model.tables[0].at((n + 1) * kStep), 1e-13) << n;
    }
  }
}

TEST(JointMotors, OfPositionSettleFromAnErrorWithoutOvershoot) {
  JointScene s = slider(0.3, 0.0);
  s.joint.axis[0].motor = MotorKind::position;
  s.joint.axis[0].target = 0.25;
  for (int n = 0; n < 40; ++n) {
    const double u = world_blocks(s).blocks.q[5];
    s.at.twist[1].v.x() = u;
    s.at.pose[1].p.x() += kStep * u;
    EXPECT_GE(s.at.pose[1].p.x(), 0.25 - 1e-12);
  }
  EXPECT_NEAR(s.at.pose[1].p.x(), 0.25, 1e-13);
}

TEST(JointFriction, IsABoxedRowOfTheVelocityAlongItsAxis) {
  Random random(36);
  JointScene s = scene_of(JointType::cylindrical, random, {0.1, 0.2, 0});
  s.joint.axis = {};
  s.joint.axis[0].friction = 3.0;
  s.joint.axis[1].friction = 0.5;
  const JointGeometry g = s.geometry();

  const Made made = blocks_of(s);

  ASSERT_EQ(made.blocks.size(), 3);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(made.list[i + 1].part, JointRowKind::friction);
    EXPECT_EQ(made.list[i + 1].axis, i);
    EXPECT_EQ(made.blocks.kind[i + 1], BlockKind::boxed);
    EXPECT_EQ(made.blocks.q[4 + i], 0.0);
    EXPECT_EQ(made.blocks.compliance[4 + i], 0.0);
    EXPECT_DOUBLE_EQ(made.blocks.upper[4 + i], kStep * (i == 0 ? 3.0 : 0.5));
    EXPECT_DOUBLE_EQ(made.blocks.lower[4 + i], -kStep * (i == 0 ? 3.0 : 0.5));
    EXPECT_EQ(made.blocks.angular[4 + i], i);
    for (std::size_t k = 0; k < 12; ++k)
      EXPECT_EQ(made.blocks.jacobian[48 + 12 * i + k], g.axis_jacobian[k / 6][i][k % 6]);
  }
}

TEST(JointBlocks, StandInTheOrderRowsLimitMotorFriction) {
  Random random(37);
  JointScene s = scene_of(JointType::universal, random, {0.0, 0.0, 0});
  for (JointAxis& axis : s.joint.axis) {
    axis.lower = -0.01;
    axis.motor = MotorKind::velocity;
    axis.friction = 0.1;
  }
  s.joint.axis[1].max_force = 1.0;

  const Made made = blocks_of(s);

  const std::array<std::pair<JointRowKind, int>, 6> expected = {{{JointRowKind::rows, 0},
                                                                 {JointRowKind::limit, 0},
                                                                 {JointRowKind::limit, 1},
                                                                 {JointRowKind::motor, 1},
                                                                 {JointRowKind::friction, 0},
                                                                 {JointRowKind::friction, 1}}};
  ASSERT_EQ(made.list.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(made.list[i].part, expected[i].first) << i;
    EXPECT_EQ(made.list[i].axis, expected[i].second) << i;
  }
  EXPECT_EQ(made.blocks.row_begin[1], 5);
}

TEST(JointBlocks, MakeASoundProblemOfAllTypesBesideContacts) {
  ConstraintProblem problem(Communicator::self());
  for (GlobalId id : {10, 20, 30}) problem.bodies.add_rigid(id, 0.5, 2.0, {});
  problem.bodies.n_owned = 3;
  RigidContact contact;
  contact.body_a = 0;
  contact.body_b = 1;
  contact.normal = Vec3::UnitZ();
  contact.tangent = Vec3::UnitX();
  contact.arm_a = contact.arm_b = Vec3(0.1, 0.2, 0.3);
  Random random(38);
  std::vector<JointBlockRef> made;
  for (int type = 0; type < 14; ++type) {
    if (type % 5 == 1) add_contact_block(contact, 0.1, -1.0, problem.blocks);
    JointScene s = scene_of(static_cast<JointType>(type), random, {0.1, 0.2, 0.3});
    s.joint.axis[0].lower = 0.2;
    s.joint.axis[0].max_force = 1.0;
    s.joint.axis[0].friction = 1.0;
    const bool gear = s.joint.type == JointType::gear;
    add_joint_blocks(s, s.geometry(), {0, 1, gear ? 2 : kNoIndex}, type,
                     {StepperKind::spook, 0.0, kStep}, problem.blocks, made);
    if (gear) {
      EXPECT_EQ(problem.blocks.body.back(), 2);
    }
  }
  EXPECT_NO_THROW(check_problem(problem));
  EXPECT_EQ(made.size() + 3, problem.blocks.kind.size());
}

TEST(JointBlocks, AreTheSameWrittenTogetherAndOneByOne) {
  Random random(39);
  std::vector<JointScene> scenes;
  std::vector<JointConstants> joints;
  for (int type = 0; type < 14; ++type)
    for (const bool drives : {false, true}) {
      JointScene s = scene_of(static_cast<JointType>(type), random, {0.1, 0.2, 0.3});
      s.joint.id = 10 + std::ssize(scenes);
      s.joint.compliance = type % 2 == 0 ? 0.0 : 1e-4;
      s.joint.stiffness = 100.0;
      if (!drives) s.joint.axis = {};
      if (drives) s.joint.axis[0].lower = 0.2;
      if (drives) s.joint.axis[0].friction = 1.0;
      scenes.push_back(s);
      joints.push_back(s.joint);
    }
  const auto bodies_of = [](const JointScene& s) {
    return std::array<Index, kJointBodies>{0, 1, s.joint.type == JointType::gear ? 2 : kNoIndex};
  };
  const JointStep step{StepperKind::spook, 0.0, kStep, true};
  Made single, together;
  for (const JointScene& s : scenes)
    add_joint_blocks(s, s.geometry(), bodies_of(s), 0, step, single.blocks, single.list);

  JointBlockWriter writer(scenes.front().model);
  writer.start(step, together.blocks, together.list);
  writer.begin(joints);
  for (const JointScene& s : scenes) {
    const std::array<Index, kJointBodies> bodies = bodies_of(s);
    writer.add(s.joint, {}, s.geometry(), s.at, bodies, 0);
  }
  writer.end();

  const GeneralBlocks &a = single.blocks, &b = together.blocks;
  EXPECT_GT(a.size(), std::ssize(scenes));
  EXPECT_EQ(single.list.size(), together.list.size());
  EXPECT_EQ(a.kind, b.kind);
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.row_begin, b.row_begin);
  EXPECT_EQ(a.body_begin, b.body_begin);
  EXPECT_EQ(a.body, b.body);
  EXPECT_EQ(a.jacobian_begin, b.jacobian_begin);
  EXPECT_EQ(a.jacobian, b.jacobian);
  EXPECT_EQ(a.friction, b.friction);
  EXPECT_EQ(a.q, b.q);
  EXPECT_EQ(a.compliance, b.compliance);
  EXPECT_EQ(a.lower, b.lower);
  EXPECT_EQ(a.upper, b.upper);
  EXPECT_EQ(a.angular, b.angular);
}

TEST(JointBlocks, OfPlainJointsWrittenAtOnceAreThoseOfTheirGeometry) {
  Random random(40);
  for (const JointType type : {JointType::spherical, JointType::revolute})
    for (const bool to_world : {false, true})
      for (const StepperKind kind : {StepperKind::spook, StepperKind::dvi}) {
        JointScene s = scene_of(type, random, {0.1, 0.2, 0.3});
        s.joint.axis = {};
        s.joint.id = 7;
        s.joint.compliance = 1e-4;
        s.joint.damping_time = 0.03;
        s.at.pose[1].p += random.vector(0.1);
        s.at.pose[1].q = turn(random.vector(0.2), 1.0) * s.at.pose[1].q;
        if (to_world) s.at.pose[0] = {};
        if (to_world) s.at.twist[0] = {};
        const std::array<Index, kJointBodies> body = {to_world ? kNoIndex : 0, 1, kNoIndex};
        const JointStep step{kind, 0.0, kStep, false};
        Made slow;
        const JointGeometry geometry = s.geometry();
        add_joint_blocks(s, geometry, body, 3, step, slow.blocks, slow.list);

        Made made;
        JointMisfit misfit;
        JointBlockWriter writer(s.model);
        writer.start(step, made.blocks, made.list);
        writer.begin(std::span(&s.joint, 1));
        EXPECT_TRUE(writer.is_plain(s.joint));
        writer.add_plain(s.joint,
                         {{&s.at.pose[0], &s.at.pose[1]}, {&s.at.twist[0], &s.at.twist[1]}}, body,
                         3, misfit);
        writer.end();

        const GeneralBlocks &a = slow.blocks, &b = made.blocks;
        ASSERT_EQ(a.row_begin, b.row_begin);
        EXPECT_EQ(a.body, b.body);
        EXPECT_EQ(a.jacobian_begin, b.jacobian_begin);
        EXPECT_EQ(a.angular, b.angular);
        EXPECT_EQ(a.compliance, b.compliance);
        EXPECT_EQ(made.list.front().joint, 3);
        for (std::size_t i = 0; i < a.jacobian.size(); ++i)
          EXPECT_NEAR(a.jacobian[i], b.jacobian[i], 1e-14);
        for (std::size_t i = 0; i < a.q.size(); ++i) EXPECT_NEAR(a.q[i], b.q[i], 1e-12);
        EXPECT_NEAR(misfit.linear, joint_misfit(geometry).linear, 1e-14);
        EXPECT_NEAR(misfit.angular, joint_misfit(geometry).angular, 1e-14);
      }
}

TEST(JointBlocks, OfJointsThatAskForMoreAreNotPlain) {
  Random random(41);
  const JointScene s = scene_of(JointType::revolute, random, {0.1, 0.2, 0.3});  // with a motor
  JointScene free = s;
  free.joint.axis = {};
  EXPECT_FALSE(JointBlockWriter(s.model).is_plain(s.joint));
  EXPECT_TRUE(JointBlockWriter(s.model).is_plain(free.joint));
  JointConstants ode = free.joint, limited = free.joint;
  ode.erp = 0.2;
  limited.axis[0].lower = 0.0;
  EXPECT_FALSE(JointBlockWriter(s.model).is_plain(ode));
  EXPECT_FALSE(JointBlockWriter(s.model).is_plain(limited));
  Model planar = s.model;
  planar.planar = true;
  EXPECT_FALSE(JointBlockWriter(planar).is_plain(free.joint));
}

}  // namespace
}  // namespace catena
