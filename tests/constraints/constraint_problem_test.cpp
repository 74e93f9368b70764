#include "catena/constraints/constraint_problem.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include "support/hand_problems.hpp"

namespace catena {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::string message_of(const ConstraintProblem& problem) {
  try {
    check_problem(problem);
  } catch (const std::logic_error& error) {
    return error.what();
  }
  return "";
}

TEST(MatrixNumber, CopiesWhichMayBeChangedOnTheirOwnStartAgain) {
  MatrixNumber number, other;
  ++number;
  ++number;
  ++other;
  const MatrixNumber copy = number;
  EXPECT_EQ(copy.value(), 0);
  other = number;
  EXPECT_EQ(other.value(), 0);
  const MatrixNumber moved = std::move(number);
  EXPECT_EQ(moved.value(), 2);
}

TEST(ContactJacobian, GivesTheRelativeVelocityOfTheContactPoint) {
  RigidContact c;
  c.normal = Vec3(1, 2, 2) / 3.0;
  c.tangent = Vec3(2, 1, -2) / 3.0;
  c.arm_a = Vec3(0.1, -0.2, 0.3);
  c.arm_b = Vec3(-0.4, 0.5, 0.6);
  const Vec3 v_a(1, 2, 3), w_a(4, 5, 6), v_b(-1, 0.5, 2), w_b(0.3, -2, 1);
  std::array<double, 18> g_a{}, g_b{};

  contact_jacobian(c, g_a, g_b);

  const Vec3 u = v_b + w_b.cross(c.arm_b) - v_a - w_a.cross(c.arm_a);
  const std::array<Vec3, 3> axis = {c.normal, c.tangent, c.normal.cross(c.tangent)};
  for (std::size_t i = 0; i < 3; ++i) {
    double sum = 0.0;
    for (std::size_t d = 0; d < 3; ++d) {
      const auto e = static_cast<int>(d);
      sum += g_a[6 * i + d] * v_a[e] + g_a[6 * i + 3 + d] * w_a[e];
      sum += g_b[6 * i + d] * v_b[e] + g_b[6 * i + 3 + d] * w_b[e];
    }
    EXPECT_NEAR(sum, axis[i].dot(u), 1e-14);
  }
}

TEST(InverseMass, OfARigidBodyTurnsForceAndTorqueIntoVelocities) {
  ProblemBodies bodies;
  Mat3 inertia;
  inertia << 2, 0.1, 0.2, 0.1, 3, 0.3, 0.2, 0.3, 4;
  bodies.add_prescribed(7, {});
  bodies.add_rigid(8, 0.5, inertia, {});
  const std::array<double, 6> f = {1, 2, 3, 4, 5, 6};
  std::array<double, 6> y{};

  apply_inverse_mass(bodies, 1, f, y);

  const Vec3 turn = inertia * Vec3(4, 5, 6);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_DOUBLE_EQ(y[i], 0.5 * f[i]);
    EXPECT_NEAR(y[i + 3], turn[static_cast<int>(i)], 1e-14);
  }
  apply_inverse_mass(bodies, 0, f, y);
  for (const double x : y) EXPECT_EQ(x, 0.0);
}

TEST(InverseMass, OfADenseBodyIsItsMatrix) {
  ProblemBodies bodies;
  bodies.add_dense(3, std::array<double, 4>{2, 1, 1, 3}, std::array<double, 2>{0, 0});
  std::array<double, 2> y{};

  apply_inverse_mass(bodies, 0, std::array<double, 2>{1, -1}, y);

  EXPECT_DOUBLE_EQ(y[0], 1.0);
  EXPECT_DOUBLE_EQ(y[1], -2.0);
}

TEST(BlockView, WalksContactsThenGeneralBlocks) {
  const ConstraintProblem problem = test::whole(test::mixed_ring(6, 1));
  const Index n_contacts = static_cast<Index>(problem.contacts.size());
  Index row = 0;
  for (Index k = 0; k < problem.n_blocks(); ++k) {
    const BlockView view = block_view(problem, k);
    EXPECT_EQ(view.row, row);
    if (k < n_contacts) {
      EXPECT_EQ(view.kind, BlockKind::contact);
      EXPECT_EQ(view.rows, 3);
    } else {
      EXPECT_EQ(view.kind, problem.blocks.kind[static_cast<std::size_t>(k - n_contacts)]);
    }
    row += view.rows;
  }
  EXPECT_EQ(row, problem.n_rows());
}

TEST(CheckProblem, AcceptsConsistentProblems) {
  EXPECT_EQ(message_of(test::block_on_incline(1, 0.3, 0.5, 0.01)), "");
  EXPECT_EQ(message_of(test::whole(test::mixed_ring(8, 3))), "");
  EXPECT_EQ(message_of(ConstraintProblem(Communicator::self())), "");
}

TEST(CheckProblem, NamesWhatIsWrong) {
  const ConstraintProblem good = test::whole(test::mixed_ring(6, 2));
  const auto message = [&](auto&& spoil) {
    ConstraintProblem bad = good;
    spoil(bad);
    return message_of(bad);
  };
  const auto has = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  EXPECT_TRUE(has(message([](auto& p) { p.contacts[0].body_b = 99; }), "contact 0: no body 99"));
  EXPECT_TRUE(has(message([](auto& p) { p.contacts[0].bias = kNan; }), "not finite"));
  EXPECT_TRUE(has(message([](auto& p) { p.contacts[0].friction = -1; }), "friction"));
  EXPECT_TRUE(has(message([](auto& p) { p.contacts[0].friction = kNan; }), "friction"));
  EXPECT_TRUE(has(message([](auto& p) { p.contacts[0].tangent *= 2; }), "orthonormal"));
  EXPECT_TRUE(has(message([](auto& p) { p.contacts[0].body_a = p.contacts[0].body_b; }), "itself"));
  EXPECT_TRUE(has(message([](auto& p) { p.contacts[0].body_a = 2; }), "not 6 velocities"));
  EXPECT_TRUE(has(message([](auto& p) { p.bodies.free_velocity[3] = kNan; }), "body 0"));
  EXPECT_TRUE(has(message([](auto& p) { p.bodies.free_velocity.pop_back(); }), "offsets"));
  EXPECT_TRUE(has(message([](auto& p) { p.blocks.compliance[0] = -1; }), "compliance"));
  EXPECT_TRUE(has(message([](auto& p) { p.blocks.q.pop_back(); }), "per row"));
  EXPECT_TRUE(has(message([](auto& p) { p.blocks.jacobian[0] = kNan; }), "Jacobian"));
  EXPECT_TRUE(has(message([](auto& p) { p.blocks.body[1] = p.blocks.body[0]; }), "block 0"));
  EXPECT_TRUE(has(message([](auto& p) { p.bodies.n_owned = 3; }), "received by the halo 0 times"));
  EXPECT_TRUE(has(message([](auto& p) { p.block_subdomain = {0}; }), "one per block"));
  EXPECT_TRUE(has(message([](auto& p) { p.body_subdomain = {0}; }), "one per block"));
  EXPECT_TRUE(has(message([](auto& p) { p.block_subdomain.assign(p.n_blocks(), 0); }),
                  "one per owned body"));
}

}  // namespace
}  // namespace catena
