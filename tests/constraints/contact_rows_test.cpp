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

  const RigidContact rows = make_contact_rows(contact, p_a, p_b, {}, twist_b, {0.4, 0.5},
                                              StepperKind::dvi, kStep, parameters());

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

}  // namespace
}  // namespace catena
