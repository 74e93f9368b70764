#include "catena/constraints/contact_rows.hpp"

#include <gtest/gtest.h>

namespace catena {
namespace {

constexpr double kStep = 0.01;

ContactParameters parameters() {
  ContactParameters p;
  p.recovery_speed = 0.5;
  p.rest_speed = 0.02;
  return p;
}

TEST(ContactBias, OpenContactsMayCloseTheirGapInOneStep) {
  EXPECT_DOUBLE_EQ(contact_bias(StepperKind::dvi, 1e-3, 0, 0, kStep, parameters()), 0.1);
  EXPECT_DOUBLE_EQ(contact_bias(StepperKind::spook, 1e-3, 0, 0, kStep, parameters()), 0.1);
}

TEST(ContactBias, PenetrationRecoversByTheStepperAndNoFasterThanTheRecoverySpeed) {
  // spook with tau = 2h: 4 Upsilon = 4/9
  EXPECT_DOUBLE_EQ(contact_bias(StepperKind::dvi, -1e-3, 0, 0, kStep, parameters()), -0.1);
  EXPECT_NEAR(contact_bias(StepperKind::spook, -1e-3, 0, 0, kStep, parameters()), -0.4 / 9, 1e-16);
  EXPECT_DOUBLE_EQ(contact_bias(StepperKind::dvi, -1.0, 0, 0, kStep, parameters()), -0.5);
  EXPECT_DOUBLE_EQ(contact_bias(StepperKind::spook, -1.0, 0, 0, kStep, parameters()), -0.5);
}

TEST(ContactBias, ImpactReboundsByNewtonsLaw) {
  // u_n >= -e u_n0 = 1.6 m/s, though the gap is not closed yet
  EXPECT_DOUBLE_EQ(contact_bias(StepperKind::dvi, 1e-3, -2.0, 0.8, kStep, parameters()), -1.6);
  // recovery faster than the rebound stays
  EXPECT_DOUBLE_EQ(contact_bias(StepperKind::dvi, -1.0, -0.1, 0.8, kStep, parameters()), -0.5);
}

TEST(ContactBias, NoReboundBelowTheRestSpeedOrBeforeTouching) {
  EXPECT_DOUBLE_EQ(contact_bias(StepperKind::dvi, 0.0, -0.01, 0.8, kStep, parameters()), 0.0);
  EXPECT_DOUBLE_EQ(contact_bias(StepperKind::dvi, 0.03, -2.0, 0.8, kStep, parameters()), 3.0);
  EXPECT_DOUBLE_EQ(contact_bias(StepperKind::dvi, 0.0, 2.0, 0.8, kStep, parameters()), 0.0);
  EXPECT_DOUBLE_EQ(contact_bias(StepperKind::dvi, 0.0, -2.0, 0.0, kStep, parameters()), 0.0);
}

TEST(ContactRows, TakeArmsAndImpactSpeedFromPosesAndTwists) {
  Contact contact;
  contact.body_a = 3;
  contact.body_b = 5;
  contact.key = {30, 50, 1, 0};
  contact.point = Vec3(0, 0, 1);
  contact.normal = Vec3::UnitZ();
  contact.gap = 0.0;
  const Vec3 p_a(0, 0, 0), p_b(1, 0, 1);
  // the spin about y moves the point of b, one metre to its left, at w x r = 2 e_y x (-e_x) = 2 e_z
  const Twist twist_b{Vec3(0, 0, -5), Vec3(0, 2, 0)};

  RigidContact rows;
  make_contact_rows(contact, p_a, p_b, {}, twist_b, {0.4, 0.5}, StepperKind::dvi, kStep,
                    parameters(), rows);

  EXPECT_EQ(rows.body_a, 3);
  EXPECT_EQ(rows.body_b, 5);
  EXPECT_EQ(rows.key, contact.key);
  EXPECT_EQ(rows.arm_a, Vec3(0, 0, 1));
  EXPECT_EQ(rows.arm_b, Vec3(-1, 0, 0));
  EXPECT_EQ(rows.friction, 0.4);
  EXPECT_NEAR(rows.tangent.dot(rows.normal), 0.0, 1e-15);
  EXPECT_NEAR(rows.tangent.norm(), 1.0, 1e-15);
  EXPECT_DOUBLE_EQ(rows.bias, 0.5 * (-5.0 + 2.0));
}

TEST(SpookUpsilon, IsOneNinthAtTheDefaultDampingTime) {
  EXPECT_DOUBLE_EQ(spook_upsilon(2 * kStep, kStep), 1.0 / 9.0);
}

TEST(ContactRows, CohesionActsWithinItsRange) {
  Contact contact;
  contact.point = Vec3::Zero();
  contact.normal = Vec3::UnitZ();
  ContactParameters p = parameters();
  p.cohesion_range = 1e-4;
  const PairMaterial sticky{.friction = 0.4, .cohesion = 3.0};
  for (const double gap : {-1e-3, 0.0, 1e-4, 1.01e-4}) {
    contact.gap = gap;

    RigidContact rows;
    make_contact_rows(contact, {0, 0, -1}, {0, 0, 1}, {}, {}, sticky, StepperKind::dvi, kStep, p,
                      rows);

    EXPECT_EQ(rows.cohesion, gap <= 1e-4 ? 3.0 * kStep : 0.0);
  }
}

TEST(ContactRows, ABlockHasTheRowsOfTheContactAndTheAngularVelocitiesAboutItsAxes) {
  RigidContact rows;
  rows.body_a = 2;
  rows.body_b = 4;
  rows.normal = Vec3(1, 2, 2) / 3.0;
  rows.tangent = Vec3(2, 1, -2) / 3.0;
  rows.arm_a = {0.1, 0.2, 0.3};
  rows.arm_b = {-0.3, 0.1, 0.2};
  rows.bias = 0.25;
  rows.friction = 0.5;
  rows.cohesion = 0.75;
  rows.key = {7, 9, 1, 2};
  const Vec3 tangent2 = rows.normal.cross(rows.tangent);
  const Twist twist_a{{1, 2, 3}, {4, 5, 6}}, twist_b{{-2, 0.5, 1}, {0.1, -0.2, 7}};
  const Vec3 turn = twist_b.w - twist_a.w;
  const Vec3 slip =
      twist_b.v + twist_b.w.cross(rows.arm_b) - twist_a.v - twist_a.w.cross(rows.arm_a);
  struct Kind {
    double rolling, spinning;
    std::vector<double> slips;
  };
  const double u[] = {slip.dot(rows.normal),  slip.dot(rows.tangent), slip.dot(tangent2),
                      turn.dot(rows.tangent), turn.dot(tangent2),     turn.dot(rows.normal)};
  GeneralBlocks blocks;
  for (const Kind& kind : {Kind{0.1, 0.2, {u[0], u[1], u[2], u[3], u[4], u[5]}},
                           Kind{0.1, -1.0, {u[0], u[1], u[2], u[3], u[4]}},
                           Kind{-1.0, 0.2, {u[0], u[1], u[2], u[5]}}}) {
    const auto k = static_cast<std::size_t>(blocks.size());

    add_contact_block(rows, kind.rolling, kind.spinning, blocks);

    EXPECT_EQ(blocks.kind[k], BlockKind::contact);
    EXPECT_EQ(blocks.key[k], rows.key);
    EXPECT_EQ(blocks.friction[k], 0.5);
    EXPECT_EQ(blocks.cohesion[k], 0.75);
    EXPECT_EQ(blocks.rolling[k], kind.rolling);
    EXPECT_EQ(blocks.spinning[k], kind.spinning);
    EXPECT_EQ(blocks.body[2 * k], 2);
    EXPECT_EQ(blocks.body[2 * k + 1], 4);
    const auto first = static_cast<std::size_t>(blocks.row_begin[k]);
    EXPECT_EQ(static_cast<std::size_t>(blocks.row_begin[k + 1]) - first, kind.slips.size());
    for (std::size_t row = 0; row < kind.slips.size(); ++row) {
      EXPECT_EQ(blocks.q[first + row], row == 0 ? -0.25 : 0.0);
      EXPECT_EQ(blocks.angular[first + row], row < 3 ? 0 : 1);
      double w = 0.0;
      for (std::size_t j = 0; j < 2; ++j) {
        const double* g =
            &blocks.jacobian[static_cast<std::size_t>(blocks.jacobian_begin[2 * k + j])] + 6 * row;
        const Twist& twist = j == 0 ? twist_a : twist_b;
        w += Vec3(g[0], g[1], g[2]).dot(twist.v) + Vec3(g[3], g[4], g[5]).dot(twist.w);
      }
      EXPECT_NEAR(w, kind.slips[row], 1e-14 * 10.0) << row;
    }
  }
}

TEST(ContactRows, InThePlaneNothingMovesAlongTheSecondTangent) {
  RigidContact rows;
  rows.normal = Vec3(0.6, 0.0, -0.8);
  rows.arm_a = {0.1, 0.2, 0.3};
  rows.arm_b = {-0.3, 0.1, 0.2};

  make_planar(rows);

  EXPECT_EQ(rows.normal.cross(rows.tangent), Vec3(0, rows.tangent.squaredNorm(), 0));
  EXPECT_EQ(rows.normal.dot(rows.tangent), 0.0);
  EXPECT_EQ(rows.arm_a, Vec3(0.1, 0.0, 0.3));
  EXPECT_EQ(rows.arm_b, Vec3(-0.3, 0.0, 0.2));
}

}  // namespace
}  // namespace catena
