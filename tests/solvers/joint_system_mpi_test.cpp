// Joints solved as one block of the outer iteration, on any number of ranks.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "catena/base/error.hpp"
#include "catena/constraints/block_diagonal.hpp"
#include "catena/metrics/errors.hpp"
#include "solvers/joints/joint_layout.hpp"
#include "solvers/joints/joint_system.hpp"
#include "support/dense_algebra.hpp"
#include "support/dense_reference.hpp"
#include "support/hand_problems.hpp"
#include "support/solve_with.hpp"

namespace catena {
namespace {

using test::distance;
using test::LocalScene;
using test::Owner;
using test::Scene;
using test::SceneBlock;
using test::solve_with;
using test::Solved;

/// Bodies at given places with joints between them, random inertias and free velocities.
class Mechanism {
 public:
  explicit Mechanism(unsigned seed) : random_(seed) {}

  GlobalId body(const Vec3& place, double mass = 1.0) {
    const Twist free{vector(), vector()};
    const Mat3 half = matrix();
    const Mat3 inverse = (half * half.transpose() + Mat3::Identity()) * (3.0 / mass);
    place_.push_back(place);
    return scene.add_rigid_full(1.0 / mass, inverse, free);
  }
  GlobalId world() {
    place_.push_back(Vec3::Zero());
    return scene.add_prescribed();
  }
  /// Linear rows at `point`, and angular rows about the given axes.
  void joint(GlobalId a, GlobalId b, const Vec3& point, const std::vector<Vec3>& axes = {},
             double compliance = 0.0) {
    SceneBlock block;
    block.bodies = {a, b};
    for (const GlobalId body : {a, b}) {
      const double sign = body == a ? -1.0 : 1.0;
      const Vec3 arm = point - place_[static_cast<std::size_t>(body)];
      std::vector<double> g;
      for (int i = 0; i < 3; ++i) {
        const Vec3 n = Vec3::Unit(i), turn = arm.cross(n);
        for (int d = 0; d < 3; ++d) g.push_back(sign * n[d]);
        for (int d = 0; d < 3; ++d) g.push_back(sign * turn[d]);
      }
      for (const Vec3& axis : axes) {
        for (int d = 0; d < 3; ++d) g.push_back(0.0);
        for (int d = 0; d < 3; ++d) g.push_back(sign * axis[d]);
      }
      block.jacobians.push_back(g);
    }
    for (std::size_t r = 0; r < 3 + axes.size(); ++r) {
      block.q.push_back(number());
      block.compliance.push_back(compliance);
      block.angular.push_back(r < 3 ? 0 : 1);
    }
    scene.blocks.push_back(block);
  }
  void row(BlockKind kind, GlobalId a, GlobalId b, const Vec3& axis, double q, double lower,
           double upper) {
    SceneBlock block;
    block.kind = kind;
    block.bodies = {a, b};
    block.jacobians = {{0, 0, 0, -axis[0], -axis[1], -axis[2]},
                       {0, 0, 0, axis[0], axis[1], axis[2]}};
    block.q = {q};
    block.lower = {lower};
    block.upper = {upper};
    block.angular = {1};
    scene.blocks.push_back(block);
  }
  double number() { return uniform_(random_); }
  Vec3 vector() { return {number(), number(), number()}; }
  Mat3 matrix() {
    Mat3 m;
    m << number(), number(), number(), number(), number(), number(), number(), number(), number();
    return m;
  }

  Scene scene;

 private:
  std::mt19937 random_;
  std::uniform_real_distribution<double> uniform_{-1.0, 1.0};
  std::vector<Vec3> place_;
};

const std::vector<Vec3> kHinge = {Vec3::UnitX(), Vec3::UnitZ()};

/// n links along x, joints between them, the first to the world if anchored; every third joint a
/// hinge.
Mechanism chain(int n, bool anchored, unsigned seed = 1) {
  Mechanism m(seed);
  GlobalId before = anchored ? m.world() : m.body({-0.5, 0, 0});
  for (int i = 0; i < n; ++i) {
    const GlobalId next = m.body({i + 0.5, 0, 0}, i % 5 == 0 ? 10.0 : 1.0);
    m.joint(before, next, Vec3(i, 0.1, 0), i % 3 == 0 ? kHinge : std::vector<Vec3>{});
    before = next;
  }
  return m;
}

Mechanism tree(unsigned seed = 2) {
  Mechanism m(seed);
  std::vector<Vec3> place = {Vec3(0, 0, 0)};
  m.body(place[0]);
  for (int i = 1; i < 25; ++i) {
    const auto parent = static_cast<std::size_t>((i - 1) / 3);
    place.push_back(place[parent] + Vec3(1.0, 0.3 * (i % 3) - 0.3, 0.2 * i));
    const GlobalId b = m.body(place.back());
    m.joint(static_cast<GlobalId>(parent), b, 0.5 * (place[parent] + place.back()),
            i % 4 == 0 ? kHinge : std::vector<Vec3>{});
  }
  const GlobalId world = m.world();
  m.joint(world, 20, place[20] + Vec3(0.1, 0, 0));
  m.joint(world, 3, place[3] + Vec3(0.1, 0, 0));
  return m;
}

Mechanism ring(int n) {
  Mechanism m(3);
  std::vector<Vec3> place;
  for (int i = 0; i < n; ++i) {
    place.push_back({std::cos(6.28 * i / n), std::sin(6.28 * i / n), 0.1 * (i % 2)});
    m.body(place.back());
  }
  for (int i = 0; i < n; ++i) {
    const auto k = static_cast<std::size_t>(i), next = static_cast<std::size_t>((i + 1) % n);
    m.joint(static_cast<GlobalId>(k), static_cast<GlobalId>(next), 0.5 * (place[k] + place[next]));
  }
  return m;
}

Mechanism net(int n) {
  Mechanism m(4);
  for (int y = 0; y < n; ++y)
    for (int x = 0; x < n; ++x) m.body({1.0 * x, 1.0 * y, 0.05 * ((x + y) % 2)});
  for (int y = 0; y < n; ++y)
    for (int x = 0; x < n; ++x) {
      const GlobalId b = y * n + x;
      if (x + 1 < n) m.joint(b, b + 1, {x + 0.5, 1.0 * y, 0.0}, {}, 1e-3);
      if (y + 1 < n) m.joint(b, b + n, {1.0 * x, y + 0.5, 0.0}, {}, 1e-3);
    }
  return m;
}

SolverSettings to_tolerance(double natural_map, JointMethod method = JointMethod::automatic,
                            int cut_from = JointSolverSettings{}.cut_from) {
  SolverSettings settings;
  settings.joints.cut_from = cut_from;
  settings.stop = test::stop_at(Metric::natural_map, natural_map, 100000);
  settings.joints.method = method;
  return settings;
}

class JointSystemMpi : public testing::Test {
 protected:
  /// The scene, of joints alone, on all ranks, dealt in three ways, against the dense solution.
  void expect_exact(const Scene& scene, JointMethod method = JointMethod::automatic,
                    int cut_from = JointSolverSettings{}.cut_from) {
    const test::DenseProblem dense = test::dense_problem(whole(scene));
    const Eigen::VectorXd lambda = test::ldlt_solve(dense.N, -dense.r);
    const Eigen::VectorXd v =
        dense.free_velocity + dense.inverse_mass * dense.G.transpose() * lambda;
    const std::vector<double> expected(v.begin(), v.end());
    const Communicator comm = Communicator::world();
    const std::vector<Owner> owners = {test::slabs(comm, scene), test::deal(comm),
                                       test::first_rank()};
    cut_joints_.clear();
    for (const Owner& owner : owners) {
      const auto solver = make_solver(to_tolerance(1e-10, method, cut_from));
      const Solved s = solve_with(*solver, distribute(scene, comm, owner));
      EXPECT_EQ(s.report.status, SolveStatus::converged) << s.report.reason;
      EXPECT_LE(s.report.iterations, 1);
      EXPECT_LT(distance(s.velocities, expected), 1e-10);
      EXPECT_LT(s.report.errors.natural_map, 1e-11);
      EXPECT_LT(s.report.errors.natural_map_angular, 1e-11);
      report_ = s.report.joints;
      cut_joints_.push_back(report_.cut_joints);
    }
  }
  JointReport report_;
  std::vector<std::int64_t> cut_joints_;  ///< in each of the three ways
};

TEST_F(JointSystemMpi, ChainsAreSolvedExactlyWhoeverOwnsTheirBodies) {
  for (const bool anchored : {false, true}) {
    expect_exact(chain(40, anchored).scene);
    EXPECT_EQ(report_.joints, 40);
    EXPECT_EQ(report_.chains, 1);
    EXPECT_EQ(report_.chain_joints, 40);
  }
}

TEST_F(JointSystemMpi, SeveralChainsAndSingleJointsStandSideBySide) {
  Mechanism m = chain(7, true);
  for (int k = 0; k < 5; ++k) {
    const GlobalId a = m.body({0, 10.0 + k, 0}), b = m.body({1, 10.0 + k, 0});
    m.joint(a, b, Vec3(0.5, 10.0 + k, 0));
    if (k == 2) m.joint(b, m.world(), Vec3(1.5, 10.0 + k, 0), kHinge);
  }
  expect_exact(m.scene);
  EXPECT_EQ(report_.chains, 6);
  EXPECT_EQ(report_.longest_chain, 7);
}

/// After a measurement, w and the diagonal of N are the problem's own, and errors made of them are
/// those that an evaluation makes alone.
TEST_F(JointSystemMpi, SlipsAndDiagonalAreThoseOfTheProblem) {
  const Communicator comm = Communicator::world();
  Mechanism m = chain(40, true);
  const GlobalId a = m.body({0, 10, 0}), b = m.body({1, 10, 0});
  m.joint(a, b, Vec3(0.5, 10, 0), kHinge, 1e-2);
  for (const Owner& owner : {test::slabs(comm, m.scene), test::deal(comm)}) {
    const LocalScene local = distribute(m.scene, comm, owner);
    const ConstraintProblem& problem = local.problem;
    DelassusOperator op(problem);
    JointSystem system{JointSolverSettings{}};
    EXPECT_TRUE(system.prepare(problem));
    std::vector<double> impulses(static_cast<std::size_t>(problem.n_rows()));
    for (std::size_t r = 0; r < impulses.size(); ++r)
      impulses[r] = 0.01 * std::sin(1.0 + static_cast<double>(r));
    std::vector<double> velocities(static_cast<std::size_t>(problem.bodies.n_dofs()));

    system.measure(problem, op, impulses, velocities);

    std::vector<double> v(velocities.size()), w(impulses.size());
    op.velocities(impulses, v);
    op.residual_velocities(v, impulses, w);
    EXPECT_EQ(velocities, v);
    EXPECT_EQ(system.slips().size(), w.size());
    EXPECT_EQ(system.diagonal().size(), w.size());
    for (Index k = 0; k < problem.blocks.size(); ++k) {
      std::vector<double> d(static_cast<std::size_t>(problem.blocks.rows(k)));
      row_diagonals(problem, k, d);
      for (std::size_t i = 0; i < d.size(); ++i) {
        const std::size_t row = static_cast<std::size_t>(problem.blocks.row_begin[k]) + i;
        EXPECT_NEAR(system.slips()[row], w[row], 1e-13);
        EXPECT_NEAR(system.diagonal()[row], d[i], 1e-14 * d[i]);
      }
    }
    ErrorEvaluator alone(problem, op), told(problem, op);
    told.know_general_rows(system.diagonal(), system.slips());
    const Errors expected = alone.evaluate(impulses), found = told.evaluate_at(impulses, v);
    EXPECT_NEAR(found.energy, expected.energy, 1e-12 * expected.energy);
    EXPECT_NEAR(found.natural_map, expected.natural_map, 1e-12 * expected.natural_map);
    EXPECT_NEAR(found.siconos, expected.siconos, 1e-12 * expected.siconos);
  }
}

TEST_F(JointSystemMpi, TreesRingsAndNetsAreSolvedExactly) {
  expect_exact(tree().scene);
  EXPECT_EQ(report_.trees, 1);
  expect_exact(ring(9).scene);
  EXPECT_EQ(report_.rings, 1);
  expect_exact(net(6).scene);
  EXPECT_EQ(report_.looped, 1);
  expect_exact(net(10).scene);  // more rows than a border may have
  EXPECT_GT(report_.sparse_joints, 0);
}

TEST_F(JointSystemMpi, LargeMechanismsAreCutOverTheRanks) {
  constexpr int kCutFrom = 10;
  const int ranks = Communicator::world().size();
  expect_exact(ring(120).scene, JointMethod::automatic, kCutFrom);
  // where the ranks meet, by the graph where bodies lie mixed, and not at all on one rank
  const std::int64_t all = ranks == 1 ? 0 : 120;
  EXPECT_EQ(cut_joints_, (std::vector<std::int64_t>{all, all, 0}));
  for (const Scene& scene : {tree().scene, net(10).scene}) {
    expect_exact(scene, JointMethod::automatic, kCutFrom);
    // three ranks take more parts, and these are too small for that
    if (ranks == 2 || ranks == 4) {
      EXPECT_EQ(cut_joints_[1], report_.joints);
    }
  }
  // beside others that are whole, and chains
  Mechanism m = chain(7, true);
  std::vector<GlobalId> knots;
  for (int k = 0; k < 36; ++k) knots.push_back(m.body({k % 6 + 20.0, k / 6 + 0.0, 0.1 * (k % 2)}));
  for (int k = 0; k < 36; ++k) {
    const Vec3 place(k % 6 + 20.0, k / 6, 0.0);
    if (k % 6 > 0) m.joint(knots[k - 1], knots[k], place - Vec3(0.5, 0, 0), {}, 1e-3);
    if (k >= 6) m.joint(knots[k - 6], knots[k], place - Vec3(0, 0.5, 0), {}, 1e-3);
  }
  const GlobalId a = m.body({0, 30, 0}), b = m.body({1, 30, 0}), c = m.body({0, 31, 0});
  const GlobalId d = m.body({-1, 30, 0});
  for (const GlobalId other : {b, c, d}) m.joint(a, other, Vec3(0.1, 30.1, 0));
  expect_exact(m.scene, JointMethod::automatic, kCutFrom);
  EXPECT_EQ(report_.looped, 1);
  EXPECT_EQ(report_.trees, 1);
}

TEST(LayoutUse, IsThatOfTheRowsOfAllRanks) {
  const Communicator comm = Communicator::world();
  const std::int64_t ranks = comm.size();
  const bool last = comm.rank() == comm.size() - 1;
  // a quarter of all rows may rest, however many of one rank's these are
  HeldRows own{.rows = 100, .resting = last ? 25 * ranks : 0};
  EXPECT_EQ(layout_use(comm, own), LayoutUse::serves);
  if (last) ++own.resting;
  EXPECT_EQ(layout_use(comm, own), LayoutUse::outdated);
  // other joints, or rows that were left out, on one rank
  own = {.rows = 100, .outdated = last ? 1 : 0};
  EXPECT_EQ(layout_use(comm, own), LayoutUse::outdated);
  own.too_small = comm.rank() == 0 ? 1 : 0;
  EXPECT_EQ(layout_use(comm, own), LayoutUse::too_small);
  // nothing is held anywhere
  EXPECT_EQ(layout_use(comm, {}), LayoutUse::serves);
}

/// Twelve bodies in twos below each other, arms of kilometres: pivots of 1e-9 of the diagonal.
Mechanism wide_tree() {
  Mechanism m(5);
  std::vector<Vec3> place = {Vec3::Zero()};
  m.body(place[0]);
  for (int i = 1; i < 12; ++i) {
    const auto parent = static_cast<std::size_t>((i - 1) / 2);
    place.push_back(place[parent] + Vec3(i % 2 == 0 ? -1e4 : 1e4, -1e4, 2e3 * (i % 3)));
    const GlobalId b = m.body(place.back());
    m.joint(static_cast<GlobalId>(parent), b, 0.5 * (place[parent] + place.back()));
  }
  return m;
}

/// n four-bars side by side, 3 n redundant rows, none of which asks for anything.
void add_row_of_four_bars(Mechanism& m, int n) {
  const std::size_t first = m.scene.blocks.size();
  const GlobalId world = m.world();
  GlobalId crank = 0;
  for (int i = 0; i <= n; ++i) {
    const GlobalId next = m.body({1.0 * i, 0.5, 0});
    m.joint(world, next, Vec3(i, 0, 0), {Vec3::UnitX(), Vec3::UnitY()});
    if (i > 0) {
      const GlobalId bar = m.body({i - 0.5, 1.0, 0});
      m.joint(crank, bar, Vec3(i - 1.0, 1.0, 0), {Vec3::UnitX(), Vec3::UnitY()});
      m.joint(bar, next, Vec3(i, 1.0, 0), {Vec3::UnitX(), Vec3::UnitY()});
    }
    crank = next;
  }
  for (std::size_t k = first; k < m.scene.blocks.size(); ++k)
    std::ranges::fill(m.scene.blocks[k].q, 0.0);
}

TEST_F(JointSystemMpi, ATreeIsNoSofterBesideAMechanismOfVeryManyRedundantRows) {
  if (Communicator::world().size() > 1) GTEST_SKIP() << "of what one rank eliminates";
  for (const JointMethod method : {JointMethod::automatic, JointMethod::direct}) {
    std::vector<std::vector<double>> of_tree;
    for (const bool beside : {false, true}) {
      Mechanism m = wide_tree();
      const std::size_t dofs = 6 * 12;
      if (beside) add_row_of_four_bars(m, 25);
      LocalScene local = distribute(m.scene, Communicator::world(), test::first_rank());
      local.problem.joint_misfit = 1e-6;
      DelassusOperator op(local.problem);
      JointSystem system{to_tolerance(1e-10, method).joints};
      EXPECT_TRUE(system.prepare(local.problem));
      EXPECT_EQ(system.report().regularisation, beside ? 1e-9 : kJointRegularisation);
      std::vector<double> impulses(local.problem.n_rows(), 0.0);
      std::vector<double> velocities(local.problem.bodies.n_dofs());

      system.solve(local.problem, impulses, velocities);

      velocities.resize(dofs);
      of_tree.push_back(velocities);
    }
    EXPECT_LT(distance(of_tree[0], of_tree[1]), 1e-12);
  }
}

TEST_F(JointSystemMpi, MethodDirectGivesTheSame) {
  Mechanism m = chain(12, true);
  const Vec3 place(30, 0, 0);
  const GlobalId a = m.body(place), b = m.body(place + Vec3(1, 0, 0));
  m.joint(a, b, place + Vec3(0.5, 0, 0));
  expect_exact(m.scene, JointMethod::direct);
  EXPECT_EQ(report_.sparse_joints, 13);
}

TEST_F(JointSystemMpi, MethodChainRefusesATree) {
  const Communicator comm = Communicator::world();
  const Scene scene = tree().scene;
  const LocalScene local = distribute(scene, comm, test::deal(comm));
  const auto solver = make_solver(to_tolerance(1e-10, JointMethod::chain));
  std::vector<double> impulses(static_cast<std::size_t>(local.problem.n_rows()), 0.0);
  std::vector<double> velocities(static_cast<std::size_t>(local.problem.bodies.n_dofs()));

  EXPECT_THROW(solver->solve(local.problem, impulses, velocities), Error);
}

/// A chain of balls whose ends are fixed, pressed on the floor and on two balls below.
Scene chain_on_floor(ContactLaw law) {
  Mechanism m = chain(10, true, 7);
  const GlobalId floor = m.world();
  m.scene.law = law;
  for (GlobalId b = 1; b <= 10; b += 2)
    m.scene.add_contact(b, floor, Vec3(0, 0, -1), Vec3(0, 0, -0.4), Vec3::Zero(), -0.2, 0.5);
  const GlobalId below = m.body({2.5, 0, -1}), other = m.body({5.5, 0, -1});
  m.scene.add_contact(3, below, Vec3(0, 0, -1), Vec3(0, 0, -0.5), Vec3(0, 0, 0.5), -0.5, 0.3);
  m.scene.add_contact(6, other, Vec3(0, 0, -1), Vec3(0, 0, -0.5), Vec3(0, 0, 0.5), -0.5, 0.3);
  m.scene.add_contact(floor, below, Vec3(0, 0, 1), Vec3::Zero(), Vec3(0, 0, -0.5), 0.0, 0.3);
  m.scene.add_contact(floor, other, Vec3(0, 0, 1), Vec3::Zero(), Vec3(0, 0, -0.5), 0.0, 0.3);
  return m.scene;
}

TEST_F(JointSystemMpi, ContactsIterateAroundTheJoints) {
  const Communicator comm = Communicator::world();
  for (const ContactLaw law : {ContactLaw::coulomb, ContactLaw::ccp}) {
    const Scene scene = chain_on_floor(law);
    const auto serial = make_solver(to_tolerance(1e-11));
    const Solved one =
        solve_with(*serial, distribute(scene, Communicator::self(), test::first_rank()));
    const test::DenseSolution dense = test::solve_dense(whole(scene));
    EXPECT_LT(distance(one.velocities, dense.velocities), 1e-8);
    for (const Owner& owner : {test::slabs(comm, scene), test::deal(comm)}) {
      const auto solver = make_solver(to_tolerance(1e-11));
      const Solved s = solve_with(*solver, distribute(scene, comm, owner));
      EXPECT_EQ(s.report.status, SolveStatus::converged) << s.report.reason;
      EXPECT_LT(distance(s.velocities, one.velocities), 1e-8);
      EXPECT_LT(s.report.errors.energy_joint, 1e-20);
    }
  }
}

TEST_F(JointSystemMpi, JointsHoldAfterEverySweepAndTheConvexObjectiveFalls) {
  const Communicator comm = Communicator::world();
  const Scene scene = chain_on_floor(ContactLaw::ccp);
  SolverSettings settings = to_tolerance(0.0);
  settings.stop.max_iterations = 60;
  settings.stop.check_interval = 1;
  settings.stop.keep_best = false;
  const auto solver = make_solver(settings);

  const Solved s = solve_with(*solver, distribute(scene, comm, test::deal(comm)));

  for (std::size_t i = 1; i < s.report.history.size(); ++i) {
    const Errors& now = s.report.history[i].errors;
    EXPECT_LT(now.energy_joint, 1e-20) << i;
    if (i < 2) continue;
    const double before = s.report.history[i - 1].errors.objective;
    EXPECT_LE(now.objective, before + 1e-13 * std::abs(before)) << i;
  }
}

TEST_F(JointSystemMpi, LimitsAndMotorsIterateAroundTheJoints) {
  Mechanism m = chain(8, true, 9);
  m.row(BlockKind::unilateral, 1, 2, Vec3::UnitY(), 0.7, 0, 0);
  m.row(BlockKind::boxed, 3, 4, Vec3::UnitY(), 2.0, -0.05, 0.05);
  m.row(BlockKind::boxed, 4, 5, Vec3::UnitY(), 0.0, -10.0, 10.0);
  const test::DenseSolution dense = test::solve_dense(whole(m.scene));
  const Communicator comm = Communicator::world();

  SolverSettings settings = to_tolerance(1e-26);
  settings.stop.metric = Metric::energy;  // natural_map leaves out angular rows
  const auto solver = make_solver(settings);
  const Solved s = solve_with(*solver, distribute(m.scene, comm, test::deal(comm)));

  EXPECT_EQ(s.report.status, SolveStatus::converged) << s.report.reason;
  EXPECT_LT(distance(s.velocities, dense.velocities), 1e-9);
  EXPECT_LT(distance(s.impulses, dense.impulses), 1e-8);
}

TEST_F(JointSystemMpi, OneSolverServesOtherNumbersAndOtherMechanisms) {
  const Communicator comm = Communicator::world();
  const auto solver = make_solver(to_tolerance(1e-10));
  for (const Scene& scene :
       {chain(20, true, 1).scene, chain(20, true, 5).scene, ring(6).scene, chain(3, false).scene,
        tree().scene, chain_on_floor(ContactLaw::coulomb)}) {
    const test::DenseSolution dense = test::solve_dense(whole(scene));

    const Solved s = solve_with(*solver, distribute(scene, comm, test::deal(comm)));

    EXPECT_EQ(s.report.status, SolveStatus::converged) << s.report.reason;
    EXPECT_LT(distance(s.velocities, dense.velocities), 1e-8);
  }
}

TEST_F(JointSystemMpi, MovedJointsTakeAGivenMisfitAway) {
  const Communicator comm = Communicator::world();
  const Scene scene = chain(15, true).scene;
  const LocalScene local = distribute(scene, comm, test::deal(comm));
  const auto solver = make_solver(to_tolerance(1e-10));
  solve_with(*solver, local);
  Mechanism numbers(11);
  std::vector<double> rhs(static_cast<std::size_t>(scene.n_rows()));
  for (double& x : rhs) x = numbers.number();
  std::vector<double> changes(static_cast<std::size_t>(local.problem.bodies.n_dofs()));

  solver->move_joints(local.problem, local_rows(local, rhs), changes);

  // G dV = rhs
  const test::DenseProblem dense = test::dense_problem(whole(scene));
  const std::vector<double> all = gather_velocities(local, changes);
  const Eigen::VectorXd u = dense.G * Eigen::Map<const Eigen::VectorXd>(
                                          all.data(), static_cast<Eigen::Index>(all.size()));
  for (std::size_t i = 0; i < rhs.size(); ++i)
    EXPECT_NEAR(u[static_cast<Eigen::Index>(i)], rhs[i], 1e-9);
}

}  // namespace
}  // namespace catena
