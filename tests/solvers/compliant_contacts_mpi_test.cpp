// Contacts that give, by every solver and kernel: one solution, the same impulses from all of them,
// checked on N and r that the test assembles itself.
#include <gtest/gtest.h>

#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "support/dense_reference.hpp"
#include "support/hand_problems.hpp"
#include "support/solve_with.hpp"

namespace catena {
namespace {

using test::Scene;

constexpr double kFriction = 0.3;

struct Method {
  std::string name;
  SolverSettings settings;
};

std::vector<Method> methods(ContactLaw law) {
  std::vector<Method> out;
  const auto add = [&](const char* name, SolverMethod method) -> SolverSettings& {
    SolverSettings s;
    s.method = method;
    s.stop.metric = Metric::natural_map;
    s.stop.relative_tolerance = 0.0;
    s.stop.absolute_tolerance = 1e-10;
    s.stop.max_iterations = 20000;
    out.push_back({name, s});
    return out.back().settings;
  };
  for (const KernelPath path : {KernelPath::plain, KernelPath::automatic})
    for (const bool accelerated : {false, true}) {
      SolverSettings& s = add(accelerated ? "gauss_seidel, accelerated" : "gauss_seidel",
                              SolverMethod::gauss_seidel);
      s.gauss_seidel.kernels = path;
      s.gauss_seidel.accelerated = accelerated;
    }
  add("relaxed", SolverMethod::gauss_seidel).gauss_seidel.relaxation = 1.2;
  add("acceleration", SolverMethod::gauss_seidel).gauss_seidel.formulation =
      Formulation::acceleration;
  add("jacobi", SolverMethod::jacobi);
  add("apgd", SolverMethod::apgd);
  if (law == ContactLaw::ccp)
    add("interior_point", SolverMethod::interior_point).stop.max_iterations = 200;
  add("auto", SolverMethod::automatic);
  return out;
}

/// The contacts made compliant, their tangents given a stretch.
Scene compliant(Scene scene, ContactLaw law, double ratio, double cohesion) {
  scene.law = law;
  for (std::size_t k = 0; k < scene.contacts.size(); ++k) {
    RigidContact& c = scene.contacts[k];
    const auto i = static_cast<double>(k);
    c.compliance = (1.0 + 0.3 * std::sin(i)) / ratio;
    c.tangent_compliance = (1.5 + 0.4 * std::cos(2.0 * i)) / ratio;
    c.tangent_bias = {0.02 * std::sin(3.0 * i), 0.03 * std::cos(5.0 * i)};
    c.cohesion = cohesion;
  }
  return scene;
}

/// By how much lambda (with the cohesion added) and w miss the law at a contact.
double miss(ContactLaw law, const Eigen::Vector3d& lambda, const Eigen::Vector3d& w) {
  const double slip = kFriction * std::hypot(w[1], w[2]);
  const double shift = law == ContactLaw::coulomb ? slip : 0.0;
  return std::max({std::hypot(lambda[1], lambda[2]) - kFriction * lambda[0], slip - (w[0] + shift),
                   std::abs(lambda.dot(w) + shift * lambda[0])});
}

void expect_one_solution(const Scene& scene, const Communicator& comm, const std::string& where) {
  const ConstraintProblem problem = whole(scene);
  const test::DenseProblem dense = test::dense_problem(problem);
  std::vector<double> first;
  for (const Method& method : methods(scene.law)) {
    const test::LocalScene local = distribute(scene, comm, test::deal(comm));
    const test::Solved s = test::solve_with(*make_solver(method.settings), local);
    EXPECT_EQ(s.report.status, SolveStatus::converged) << where << method.name;
    const Eigen::Map<const Eigen::VectorXd> impulses(s.impulses.data(), std::ssize(s.impulses));
    const Eigen::VectorXd w = dense.N * impulses + dense.r;
    for (Index k = 0; k < problem.n_blocks(); ++k) {
      const BlockView view = block_view(problem, k);
      Eigen::Vector3d lambda = impulses.segment<3>(view.row);
      lambda[0] += view.cohesion;
      EXPECT_LT(miss(scene.law, lambda, w.segment<3>(view.row)), 1e-8)
          << where << method.name << ", contact " << k;
    }
    if (first.empty()) first = s.impulses;
    EXPECT_LT(test::distance(first, s.impulses), 1e-6) << where << method.name;
  }
}

class CompliantContactsMpi : public testing::Test {
 protected:
  Communicator comm_ = Communicator::world();
};

TEST_F(CompliantContactsMpi, SphericalPileHasOneSolutionByEverySolver) {
  for (const ContactLaw law : {ContactLaw::coulomb, ContactLaw::ccp})
    for (const double cohesion : {0.0, 0.01})
      expect_one_solution(
          compliant(test::sphere_pile(8, 14, kFriction, 0.005, 11), law, 10.0, cohesion), comm_,
          law == ContactLaw::ccp ? "ccp, " : "coulomb, ");
}

/// Four corners of a cube are redundant as rigid contacts; as compliant ones they are not.
TEST_F(CompliantContactsMpi, RedundantCornersHaveOneSolution) {
  for (const ContactLaw law : {ContactLaw::coulomb, ContactLaw::ccp})
    for (const double speed : {0.0, 0.5})
      expect_one_solution(compliant(test::box_on_plane(kFriction, 0.005, speed), law, 20.0, 0.0),
                          comm_, law == ContactLaw::ccp ? "ccp, " : "coulomb, ");
}

TEST_F(CompliantContactsMpi, SlipsOfTheOperatorAreThoseOfTheDenseProblem) {
  const Scene scene =
      compliant(test::sphere_pile(8, 14, kFriction, 0.005, 11), ContactLaw::coulomb, 10.0, 0.0);
  const test::LocalScene local = distribute(scene, comm_, test::deal(comm_));
  const std::vector<double> all = test::wave(scene.n_rows());
  const std::vector<double> own = local_rows(local, all);
  DelassusOperator op(local.problem);
  std::vector<double> velocities(local.problem.bodies.n_dofs()), w(own.size());
  op.velocities(own, velocities);
  op.residual_velocities(velocities, own, w);
  const std::vector<double> found = gather_rows(local, w);
  const test::DenseProblem dense = test::dense_problem(whole(scene));
  const Eigen::VectorXd expected =
      dense.N * Eigen::Map<const Eigen::VectorXd>(all.data(), std::ssize(all)) + dense.r;
  for (Index i = 0; i < scene.n_rows(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-12) << i;
}

/// Below this coefficient Coulomb's law has one solution (docs/theory.md, "Uniqueness"), of the
/// rows of contacts in threes.
double bound_of_uniqueness(const Eigen::MatrixXd& n) {
  const Eigen::Index contacts = n.rows() / 3;
  const Eigen::MatrixXd inverse = n.inverse();
  Eigen::MatrixXd normal(contacts, contacts), tangent(2 * contacts, 2 * contacts);
  for (Eigen::Index i = 0; i < contacts; ++i)
    for (Eigen::Index j = 0; j < contacts; ++j) {
      normal(i, j) = inverse(3 * i, 3 * j);
      tangent.block<2, 2>(2 * i, 2 * j) = n.block<2, 2>(3 * i + 1, 3 * j + 1);
    }
  const auto largest = [](const Eigen::MatrixXd& m) {
    return Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(m).eigenvalues().maxCoeff();
  };
  return 1.0 / std::sqrt(largest(normal) * largest(tangent));
}

TEST_F(CompliantContactsMpi, BelowTheBoundOfUniquenessEverySolverFindsTheSameForces) {
  Scene scene =
      compliant(test::sphere_pile(8, 14, kFriction, 0.005, 11), ContactLaw::coulomb, 10.0, 0.0);
  const double bound = bound_of_uniqueness(test::dense_problem(whole(scene)).N);
  EXPECT_GT(bound, 0.05);
  for (RigidContact& c : scene.contacts) c.friction = 0.99 * bound;
  const test::LocalScene local = distribute(scene, comm_, test::deal(comm_));
  std::vector<double> first;
  for (const Method& method : methods(scene.law)) {
    const std::unique_ptr<Solver> solver = make_solver(method.settings);
    const std::vector<double> guesses =
        first.empty() ? std::vector{0.0, 1.0, 30.0} : std::vector{0.0};
    for (const double guess : guesses) {
      std::vector<double> impulses = local_rows(local, test::wave(scene.n_rows()));
      for (double& x : impulses) x *= guess;
      const test::Solved s = test::solve_with(*solver, local.problem, impulses);
      EXPECT_EQ(s.report.status, SolveStatus::converged) << method.name << guess;
      const std::vector<double> all = gather_rows(local, s.impulses);
      if (first.empty()) first = all;
      EXPECT_LT(test::distance(first, all), 1e-8) << method.name << ", guess " << guess;
    }
  }
}

}  // namespace
}  // namespace catena
