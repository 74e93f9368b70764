// Contacts solved at once: the law's pieces, and solutions that Newton's method misses.
#include "solvers/patches/contact_patch.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "catena/constraints/delassus.hpp"
#include "catena/metrics/errors.hpp"
#include "solvers/patches/friction_path.hpp"
#include "support/hand_problems.hpp"

namespace catena {
namespace {

/// Contacts that push each other through fewer springs than they have rows.
ContactPatch random_patch(int contacts, double friction, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  const int rows = 3 * contacts;
  const auto number = [&] { return uniform(random); };
  const Eigen::MatrixXd b = Eigen::MatrixXd::NullaryExpr(2 * contacts, rows, number);
  Eigen::MatrixXd n = b.transpose() * b / contacts;
  n.diagonal().array() += 0.02;
  // D an upper bound of the blocks by row sums
  double bound = 0.0;
  for (int i = 0; i < contacts; ++i)
    bound = std::max(bound, n.block<3, 3>(3 * i, 3 * i).cwiseAbs().rowwise().sum().maxCoeff());
  ContactPatch patch;
  patch.a = Eigen::MatrixXd::Identity(rows, rows) - n / bound;
  patch.r = Eigen::VectorXd::NullaryExpr(rows, number);
  patch.y = Eigen::VectorXd::Zero(rows);
  patch.friction = Eigen::VectorXd::Constant(contacts, friction);
  patch.root = Eigen::VectorXd::Ones(rows);
  return patch;
}

/// By how much Coulomb's law is missed, from w = N y + r, condition by condition.
double law_missed(const ContactPatch& patch) {
  const Eigen::VectorXd w = patch.y - (patch.a * patch.y - patch.r);
  double missed = 0.0;
  for (Eigen::Index i = 0; i < patch.friction.size(); ++i) {
    const Eigen::Vector2d y_t = patch.y.segment<2>(3 * i + 1), w_t = w.segment<2>(3 * i + 1);
    const double y_n = patch.y[3 * i], w_n = w[3 * i], bound = patch.friction[i] * y_n;
    for (const double miss :
         {-y_n, -w_n, std::abs(y_n * w_n), y_t.norm() - bound,
          y_t.norm() * w_t.norm() + y_t.dot(w_t), std::max(0.0, bound - y_t.norm()) * w_t.norm()})
      missed = std::max(missed, miss);
  }
  return missed;
}

TEST(ContactPatch, ValuesOnPiecesHaveTheirDerivatives) {
  constexpr double kStep = 1e-6, kFriction = 0.7;
  const Vec3 x(0.8, -0.9, 0.5);
  for (const ContactPiece piece : {ContactPiece::open, ContactPiece::sticks, ContactPiece::slips}) {
    const PieceValue at = value_on(piece, x, kFriction);
    for (int i = 0; i < 3; ++i) {
      const Vec3 d = kStep * Vec3::Unit(i);
      const Vec3 slope =
          (value_on(piece, x + d, kFriction).y - value_on(piece, x - d, kFriction).y) / (2 * kStep);
      EXPECT_LE((at.by_x.col(i) - slope).norm(), 1e-9);
    }
    const Vec3 slope =
        (value_on(piece, x, kFriction + kStep).y - value_on(piece, x, kFriction - kStep).y) /
        (2 * kStep);
    EXPECT_LE((at.by_friction - slope).norm(), 1e-9);
  }
}

TEST(ContactPatch, PathOfFrictionEndsAtSolutionsThatNewtonMisses) {
  int missed = 0;
  for (unsigned seed = 1; seed <= 40; ++seed) {
    ContactPatch patch = random_patch(8, 1.5, seed);
    Eigen::VectorXd f, y = patch.y;
    const double before = law_of_patch(patch, 1.0, y, f, nullptr);
    const bool newton = newton_on_patch(patch, 1.0, 1e-16 * before, y).solved;
    missed += newton ? 0 : 1;

    const PatchWork work = solve_patch(patch);

    EXPECT_TRUE(work.solved) << seed;
    EXPECT_LE(law_of_patch(patch, 1.0, patch.y, f, nullptr), 1e-8 * before) << seed;
    // so near that Newton's method makes it exact
    EXPECT_TRUE(newton_on_patch(patch, 1.0, 1e-24, patch.y).solved) << seed;
    EXPECT_LE(law_missed(patch), 1e-10) << seed;
  }
  EXPECT_GE(missed, 5);
}

TEST(ContactPatch, FollowsThePathFromNoFriction) {
  ContactPatch patch = random_patch(6, 6.0, 3);
  FrictionPath path(patch);

  EXPECT_TRUE(path.follow(patch.y));

  EXPECT_GT(path.factors(), 0.0);
  EXPECT_LE(law_missed(patch), 1e-9);
}

TEST(ContactPatch, WithoutFrictionTangentsBearNothing) {
  ContactPatch patch = random_patch(8, 0.0, 5);

  EXPECT_TRUE(solve_patch(patch).solved);

  EXPECT_LE(law_missed(patch), 1e-9);
  for (Eigen::Index i = 0; i < 8; ++i) EXPECT_LE(patch.y.segment<2>(3 * i + 1).norm(), 1e-9);
}

// the evaluator's errors of the patch's contacts vanish, whatever those of the others are
TEST(ContactPatch, SolvesItsContactsOfAProblemWithTheOthersHeld) {
  test::Scene scene = test::sphere_pile(30, 60, 0.9, 5e-3, 2);
  for (RigidContact& contact : scene.contacts) {
    contact.compliance = 1e-3;
    contact.tangent_compliance = 3e-3;
  }
  scene.contacts[4].cohesion = 0.02;
  const ConstraintProblem problem = test::whole(scene);
  const std::vector<Index> contacts = {2, 3, 4, 9, 17, 18, 30, 41};
  std::vector<double> impulses(problem.n_rows());
  for (std::size_t i = 0; i < impulses.size(); i += 3) impulses[i] = 0.05;
  DelassusOperator op(problem);
  std::vector<double> velocities(problem.bodies.n_dofs()), w(impulses.size());
  op.velocities(impulses, velocities);
  op.residual_velocities(velocities, impulses, w);
  const std::vector<double> before = impulses;

  ContactPatch patch = make_patch(problem, contacts, impulses, w);
  EXPECT_TRUE(solve_patch(patch).solved);
  store_patch(problem, contacts, patch, impulses);

  ErrorEvaluator evaluator(problem, op);
  const std::vector<double> held = evaluator.block_energies(before);
  const std::vector<double> solved = evaluator.block_energies(impulses);
  for (const Index k : contacts) {
    EXPECT_GT(held[k], 1e-6) << k;
    EXPECT_LE(solved[k], 1e-7 * held[k]) << k;
  }
  for (std::size_t k = 0; k < scene.contacts.size(); ++k) {
    const bool held_back =
        std::find(contacts.begin(), contacts.end(), static_cast<Index>(k)) == contacts.end();
    EXPECT_TRUE(!held_back || impulses[3 * k] == before[3 * k]) << k;
  }
}

}  // namespace
}  // namespace catena
