// Contacts swept around mechanisms that are solved exactly, against the dense problem, on any
// number of ranks.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "catena/constraints/delassus.hpp"
#include "catena/math/cone.hpp"
#include "solvers/giving_contacts.hpp"
#include "solvers/joints/joint_system.hpp"
#include "support/dense_algebra.hpp"
#include "support/dense_reference.hpp"
#include "support/solve_with.hpp"

namespace catena {
namespace {

using test::Scene;
using test::Solved;

constexpr double kStep = 1e-3, kFall = 9.81 * kStep;

/// A block of the joint's rows at `point`: three along the axes, then turns about `turns`.
void join(Scene& scene, GlobalId a, const Vec3& place_a, GlobalId b, const Vec3& place_b,
          const Vec3& point, const std::vector<Vec3>& turns, double compliance) {
  test::SceneBlock block;
  block.bodies = {a, b};
  for (const auto& [place, sign] : {std::pair(place_a, -1.0), std::pair(place_b, 1.0)}) {
    std::vector<double>& g = block.jacobians.emplace_back();
    const auto add = [&](const Vec3& linear, const Vec3& angular) {
      for (const Vec3& part : {linear, angular})
        for (int d = 0; d < 3; ++d) g.push_back(sign * part[d]);
    };
    for (int i = 0; i < 3; ++i) add(Vec3::Unit(i), (point - place).cross(Vec3::Unit(i)));
    for (const Vec3& turn : turns) add(Vec3::Zero(), turn);
  }
  for (std::size_t r = 0; r < 3 + turns.size(); ++r) {
    block.q.push_back(0.0);
    block.compliance.push_back(r < 3 ? 0.0 : compliance);
    block.angular.push_back(r < 3 ? 0 : 1);
  }
  scene.blocks.push_back(block);
}

struct TrackShape {
  bool closed = true;
  double friction = 0.6;
  double angular_compliance = 0.0;  ///< of the hinges, 1/(kg m^2)
  bool contacts = true;
  double hull = 50.0;  ///< kg
};

/// Twelve shoes of 1 kg on a circle, hinged about y. A closed ring of rigid hinges has three
/// redundant rows. A hull presses on the lower ones, which stand on the ground; the first
/// touches the one opposite; the free velocities are a fall and a push of the hull.
Scene track(const TrackShape& shape, ContactLaw law = ContactLaw::coulomb) {
  constexpr int kShoes = 12;
  constexpr double kRadius = 0.3;
  const Twist falling{Vec3(0, 0, -kFall), Vec3::Zero()};
  Scene scene;
  scene.law = law;
  const GlobalId ground = scene.add_prescribed();
  const auto place = [&](double i) {
    const double angle = 2.0 * std::numbers::pi * i / kShoes;
    return Vec3(kRadius * std::cos(angle), 0.0, kRadius * std::sin(angle));
  };
  std::vector<GlobalId> shoe;
  for (int i = 0; i < kShoes; ++i)
    shoe.push_back(scene.add_rigid(1.0, Vec3(0.02, 0.01, 0.02), falling));
  const GlobalId hull = scene.add_rigid(shape.hull, Vec3::Constant(0.04 * shape.hull),
                                        {Vec3(0.05, 0.02, -kFall), Vec3(0, 0.1, 0)});
  for (int i = 0; i < (shape.closed ? kShoes : kShoes - 1); ++i) {
    const int next = (i + 1) % kShoes;
    join(scene, shoe[i], place(i), shoe[next], place(next), place(i + 0.5),
         {Vec3::UnitX(), Vec3::UnitZ()}, shape.angular_compliance);
  }
  if (!shape.contacts) return scene;
  for (int i = kShoes / 2 + 1; i < kShoes; ++i) {
    const Vec3 out = place(i).normalized();
    for (const double y : {-0.1, 0.1}) {
      const Vec3 side(0, y, 0);
      scene.add_contact(shoe[i], hull, -out, -0.02 * out + side, 0.28 * out + side, -1e-3,
                        shape.friction);
      scene.add_contact(ground, shoe[i], Vec3::UnitZ(), place(i) + side, Vec3(0, 0, -0.02) + side,
                        -1e-3, shape.friction);
    }
  }
  scene.add_contact(shoe[0], shoe[kShoes / 2], -Vec3::UnitX(), Vec3(-0.3, 0, 0), Vec3(0.3, 0, 0),
                    -5e-3, shape.friction);
  test::let_contacts_give(scene);
  return scene;
}

/// The energy error of joints and contacts, by its definition on the dense problem, J.
double energy_error(const ConstraintProblem& problem, const test::DenseProblem& dense,
                    const std::vector<double>& impulses) {
  const Eigen::VectorXd lambda =
      Eigen::Map<const Eigen::VectorXd>(impulses.data(), std::ssize(impulses));
  const Eigen::VectorXd w = dense.N * lambda + dense.r;
  double energy = 0.0;
  for (Eigen::Index row = problem.first_general_row(); row < w.size(); ++row)
    energy += 0.5 * w[row] * w[row] / dense.N(row, row);
  for (Eigen::Index k = 0; k < std::ssize(problem.contacts); ++k) {
    const double mu = problem.contacts[static_cast<std::size_t>(k)].friction;
    const Eigen::Index n = 3 * k;
    const double a_n = dense.N(n, n), a_t = 0.5 * (dense.N(n + 1, n + 1) + dense.N(n + 2, n + 2));
    const Vec3 root(std::sqrt(a_n), std::sqrt(a_t), std::sqrt(a_t));
    Vec3 slip = w.segment<3>(n);
    if (problem.law == ContactLaw::coulomb) slip[0] += mu * slip.tail<2>().norm();
    const Vec3 y = root.cwiseProduct(lambda.segment<3>(n)), z = slip.cwiseQuotient(root);
    energy += 0.5 * (y - project_cone(y - z, mu * std::sqrt(a_t / a_n))).squaredNorm();
  }
  return energy;
}

SolverSettings settings_for(double relative_tolerance, bool accelerated = true) {
  SolverSettings settings;
  settings.stop.relative_tolerance = relative_tolerance;
  settings.stop.absolute_tolerance = 0.0;
  settings.gauss_seidel.accelerated = accelerated;
  return settings;
}

std::vector<Scene> tracks() {
  std::vector<Scene> scenes;
  for (const TrackShape& shape :
       {TrackShape{}, TrackShape{.friction = 0.0}, TrackShape{.angular_compliance = 1e-3},
        TrackShape{.closed = false}, TrackShape{.contacts = false}})
    scenes.push_back(track(shape));
  scenes.push_back(track({}, ContactLaw::ccp));
  return scenes;
}

// The default tolerance, in the sweeps that a step may take: the error is that of the dense
// problem, over joints and contacts.
TEST(ContactsAroundMechanisms, MeetTheDefaultToleranceInOneEnergyErrorOnAnyRanks) {
  const Communicator comm = Communicator::world();
  int number = 0;
  for (const Scene& scene : tracks()) {
    SCOPED_TRACE(number++);
    const ConstraintProblem problem = whole(scene);
    const test::DenseProblem dense = test::dense_problem(problem);
    const double at_zero =
        energy_error(problem, dense, std::vector<double>(static_cast<std::size_t>(scene.n_rows())));
    for (const test::Owner& owner : {test::slabs(comm, scene), test::deal(comm)}) {
      const auto solver = make_solver(settings_for(StopRule().relative_tolerance));
      const Solved s = solve_with(*solver, distribute(scene, comm, owner));

      EXPECT_EQ(s.report.status, SolveStatus::converged) << s.report.reason;
      const double found = energy_error(problem, dense, s.impulses);
      EXPECT_LE(found, StopRule().relative_tolerance * at_zero);
      // what cancels in w is known to round-off of its terms
      EXPECT_NEAR(found, s.report.errors.energy, 1e-9 * found + 1e-24 * at_zero);
    }
  }
}

TEST(ContactsAroundMechanisms, ConvergeToTheDenseSolution) {
  const Communicator comm = Communicator::world();
  int number = 0;
  for (const Scene& scene : tracks()) {
    SCOPED_TRACE(number++);
    SolverSettings settings = settings_for(1e-20);
    settings.stop.max_iterations = 20000;

    const Solved s = solve_with(*make_solver(settings), distribute(scene, comm, test::deal(comm)));

    EXPECT_EQ(s.report.status, SolveStatus::converged) << s.report.reason;
    // one rank is enough for what takes longest; velocities of some cm/s
    if (comm.rank() == 0) {
      const test::DenseSolution expected = test::solve_dense(whole(scene), 1e-11);
      EXPECT_LT(test::distance(s.velocities, expected.velocities), 1e-9);
    }
  }
}

/// The joints' part of impulses, over the roots of A's diagonal, and what of it no equation holds.
class Reactions {
 public:
  explicit Reactions(const Scene& scene) {
    const ConstraintProblem problem = whole(scene);
    const test::DenseProblem dense = test::dense_problem(problem);
    rows_ = dense.N.rows() - problem.first_general_row();
    const Eigen::MatrixXd a = dense.N.bottomRightCorner(rows_, rows_);
    root_ = a.diagonal().cwiseSqrt();
    scaled_ = root_.cwiseInverse().asDiagonal() * a * root_.cwiseInverse().asDiagonal();
    least_.emplace(scaled_, 1e-10);
  }
  Eigen::Index redundant() const { return rows_ - least_->rank(); }
  /// The part that is not of least norm, over all.
  double free_part(const std::vector<double>& impulses) const {
    const Eigen::VectorXd y = root_.cwiseProduct(
        Eigen::Map<const Eigen::VectorXd>(impulses.data(), std::ssize(impulses)).tail(rows_));
    return (y - least_->solve(scaled_ * y)).norm() / y.norm();
  }

 private:
  Eigen::Index rows_ = 0;
  Eigen::VectorXd root_;
  Eigen::MatrixXd scaled_;
  std::optional<test::LeastSquares> least_;
};

// What redundant rows share out between them no equation holds: it is not to grow in mixes.
TEST(ContactsAroundMechanisms, ReactionsOfRedundantRowsAreThoseOfLeastNorm) {
  const Communicator comm = Communicator::world();
  const Scene scene = track({.hull = 5e4});
  SolverSettings settings = settings_for(1e-20);
  settings.stop.max_iterations = 20000;

  const Solved s = solve_with(*make_solver(settings), distribute(scene, comm, test::deal(comm)));

  const Reactions reactions(scene);
  EXPECT_EQ(reactions.redundant(), 3);
  EXPECT_LT(reactions.free_part(s.impulses), 1e-6);
}

// The free fall asks for no reactions; what stands in the old ones, part of which no body feels, is
// gone from the new ones.
TEST(ContactsAroundMechanisms, ReactionsFoundAnewForgetTheOldOnes) {
  const Communicator comm = Communicator::world();
  const Scene scene = track({});
  const test::LocalScene local = distribute(scene, comm, test::deal(comm));
  JointSystem joints{JointSolverSettings{}};
  EXPECT_TRUE(joints.prepare(local.problem));
  EXPECT_FALSE(joints.determined());
  std::vector<double> push(static_cast<std::size_t>(scene.n_rows()), 0.0);
  for (std::size_t k = 0; k < scene.blocks.size(); ++k)
    push[3 * scene.contacts.size() + 5 * k + 1] = 1.0;
  std::vector<double> impulses = local_rows(local, push);
  std::vector<double> velocities(static_cast<std::size_t>(local.problem.bodies.n_dofs()));
  DelassusOperator(local.problem).velocities(impulses, velocities);
  std::vector<double> plain = impulses, plain_velocities = velocities;

  joints.solve(local.problem, plain, plain_velocities);
  joints.solve_anew(local.problem, impulses, velocities);

  const auto largest = [&](std::span<const double> own) {
    const std::vector<double> all = gather_rows(local, own);
    return std::abs(*std::ranges::max_element(all, {}, [](double x) { return std::abs(x); }));
  };
  // A force across that goes round the ring, with its moments at the hinges, 0.3 m from the middle,
  // is felt by no body. Plain solves keep what the push has of it: with A_ii = 2.613/kg across and
  // 100/(kg m^2) of moments, 2.613/(2.613 + 100 * 0.3^2) = 0.225.
  EXPECT_NEAR(largest(plain), 0.225, 1e-3);
  // The push turned shoes by 8 rad/s, known to 1e-14, so that w over the roots of A_ii is right to
  // some 1e-15 a row. The softest direction that some body feels has 0.08 of the diagonal: 60 rows
  // leave reactions of 1e-13 N s. The bound is a hundred times that; rows that no body feels would
  // have up to 1e-15/1e-12 if regularisation alone held them.
  EXPECT_LT(largest(impulses), 1e-11);
  const std::vector<double> v = gather_velocities(local, velocities);
  const test::DenseProblem dense = test::dense_problem(whole(scene));
  const Eigen::VectorXd w = (dense.G * Eigen::Map<const Eigen::VectorXd>(v.data(), std::ssize(v)))
                                .tail(5 * std::ssize(scene.blocks));
  EXPECT_LT(w.norm(), 1e-12);
}

TEST(ContactsAroundMechanisms, AcceleratedSweepsAroundClosedLoopsAreFewer) {
  const Communicator comm = Communicator::world();
  const Scene scene = track({});
  const auto iterations = [&](bool accelerated) {
    const auto solver = make_solver(settings_for(1e-8, accelerated));
    const Solved s = solve_with(*solver, distribute(scene, comm, test::deal(comm)));
    EXPECT_EQ(s.report.status, SolveStatus::converged) << s.report.reason;
    return s.report.iterations;
  };

  const int plain = iterations(false), accelerated = iterations(true);

  EXPECT_LT(3 * accelerated, 2 * plain) << plain << " and " << accelerated;
}

}  // namespace
}  // namespace catena
