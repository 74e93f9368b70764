// The hybrid on any number of ranks.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "catena/solvers/solver_factory.hpp"
#include "support/dense_reference.hpp"
#include "support/hand_problems.hpp"
#include "support/solve_with.hpp"

namespace catena {
namespace {

using test::distance;
using test::LocalScene;
using test::Scene;
using test::Solved;

Solved solve_local(const LocalScene& local, const SolverSettings& settings) {
  return test::solve_with(*make_solver(settings), local);
}

SolverSettings to_tolerance(double natural_map) {
  SolverSettings settings;
  settings.joints.method = JointMethod::iterative;  // the sweeps are what is tested here
  settings.stop = test::stop_at(Metric::natural_map, natural_map, 200000);
  settings.stop.check_interval = 50;  // evaluations cost messages, which oversubscribed ranks feel
  return settings;
}

SolverSettings sweeps(int n, int check_interval = 10) {
  SolverSettings settings;
  settings.joints.method = JointMethod::iterative;  // the sweeps are what is tested here
  settings.stop = test::iterations(n);
  settings.stop.check_interval = check_interval;
  return settings;
}

class GaussSeidelMpi : public testing::Test {
 protected:
  Communicator comm_ = Communicator::world();
};

TEST_F(GaussSeidelMpi, ConvexFrictionalPileHasTheVelocitiesOfOneRank) {
  Scene scene = test::sphere_pile(60, 150, 0.5, 0.005, 3);
  scene.law = ContactLaw::ccp;
  const Solved one = solve_local(distribute(scene, comm_, test::first_rank()), to_tolerance(1e-10));
  for (const test::Owner& owner : {test::slabs(comm_, scene), test::deal(comm_)}) {
    const Solved many = solve_local(distribute(scene, comm_, owner), to_tolerance(1e-10));

    EXPECT_EQ(many.report.status, SolveStatus::converged) << many.report.reason;
    EXPECT_LT(distance(many.velocities, one.velocities), 1e-7);
  }
}

TEST_F(GaussSeidelMpi, FrictionlessPileHasTheVelocitiesOfOneRank) {
  Scene scene = test::sphere_pile(300, 900, 0.0, 0.005, 4);
  scene.law = ContactLaw::frictionless;
  const Solved one = solve_local(distribute(scene, comm_, test::first_rank()), to_tolerance(1e-10));

  const Solved many =
      solve_local(distribute(scene, comm_, test::slabs(comm_, scene)), to_tolerance(1e-10));

  EXPECT_EQ(many.report.status, SolveStatus::converged) << many.report.reason;
  EXPECT_LT(distance(many.velocities, one.velocities), 1e-7);
}

TEST_F(GaussSeidelMpi, CoulombPileConverges) {
  const Scene scene = test::sphere_pile(60, 150, 0.5, 0.005, 3);

  const Solved many = solve_local(distribute(scene, comm_, test::deal(comm_)), to_tolerance(1e-8));

  EXPECT_EQ(many.report.status, SolveStatus::converged) << many.report.reason;
}

// What a solver keeps from one problem to the next is memory, and no number.
TEST_F(GaussSeidelMpi, SolverThatHasSolvedOtherProblemsGivesTheBitsOfANewOne) {
  const Scene pile = test::sphere_pile(60, 150, 0.5, 0.005, 3);
  Scene gives = pile, sticky = pile, fewer = pile;
  for (RigidContact& c : gives.contacts) c.compliance = c.tangent_compliance = 0.1;
  for (RigidContact& c : sticky.contacts) c.cohesion = 1e-3;
  fewer.contacts.erase(fewer.contacts.begin() + 20, fewer.contacts.begin() + 40);
  const Scene ring = test::mixed_ring(13, 11);
  const std::vector<const Scene*> series = {&pile,  &pile,   &gives, &ring,
                                            &gives, &sticky, &fewer, &pile};
  for (const StopRule& stop : {test::iterations(25), test::stop_at(Metric::energy, 1e-9, 60)}) {
    SolverSettings settings;
    settings.method = SolverMethod::gauss_seidel;
    settings.stop = stop;
    const std::unique_ptr<Solver> kept = make_solver(settings);
    for (const Scene* scene : series)
      for (const test::Owner& owner : {test::slabs(comm_, *scene), test::deal(comm_)}) {
        const LocalScene local = distribute(*scene, comm_, owner);

        const Solved by_kept = test::solve_with(*kept, local),
                     by_new = solve_local(local, settings);

        EXPECT_EQ(by_kept.impulses, by_new.impulses);
        EXPECT_EQ(by_kept.velocities, by_new.velocities);
        EXPECT_EQ(by_kept.report.reason, by_new.report.reason);
        EXPECT_EQ(by_kept.report.errors.energy, by_new.report.errors.energy);
        EXPECT_EQ(by_kept.report.history.size(), by_new.report.history.size());
        EXPECT_EQ(by_kept.report.joints.joints, by_new.report.joints.joints);
      }
  }
}

TEST_F(GaussSeidelMpi, JointsDenseBodiesAndAllKindsOfRowsHaveTheVelocitiesOfOneRank) {
  const Scene scene = test::mixed_ring(13, 11);
  for (const Formulation f : {Formulation::velocity, Formulation::acceleration}) {
    SolverSettings settings = to_tolerance(1e-11);
    settings.gauss_seidel.formulation = f;
    const Solved one = solve_local(distribute(scene, comm_, test::first_rank()), settings);
    const Solved many = solve_local(distribute(scene, comm_, test::deal(comm_)), settings);

    EXPECT_EQ(many.report.status, SolveStatus::converged) << many.report.reason;
    EXPECT_LT(distance(many.velocities, one.velocities), 1e-8);
  }
}

TEST_F(GaussSeidelMpi, SubdomainsGiveTheSameIteratesWhereverTheyLie) {
  // Eight subdomains by id, dealt to the ranks or all on one: the same sweeps. Only the order
  // of local bodies, thus of contacts inside a subdomain, may differ; slabs keep it.
  Scene scene = test::sphere_pile(80, 240, 0.5, 0.005, 9);
  scene.law = ContactLaw::ccp;
  const auto subdomain = [](GlobalId b) { return static_cast<Index>((b - 1) / 10); };
  const int size = comm_.size();
  const auto owner = [&](GlobalId b) {
    return b == 0 ? 0 : static_cast<int>((b - 1) / 10) * size / 8;
  };
  const Solved one = solve_local(distribute(
                                     scene, comm_, [](GlobalId) { return 0; }, subdomain),
                                 sweeps(25));

  const Solved many = solve_local(distribute(scene, comm_, owner, subdomain), sweeps(25));

  double scale = 0.0;
  for (const double x : one.impulses) scale = std::max(scale, std::abs(x));
  EXPECT_LT(distance(many.impulses, one.impulses), 1e-12 * scale);
}

TEST_F(GaussSeidelMpi, OrderedProblemsGiveTheSameBitsWhereverSubdomainsLie) {
  Scene scene = test::sphere_pile(80, 240, 0.5, 0.005, 9);
  std::sort(scene.contacts.begin(), scene.contacts.end(),
            [](const auto& x, const auto& y) { return x.key < y.key; });
  const auto subdomain = [](GlobalId b) { return static_cast<Index>((b - 1) / 10); };
  // neighbouring subdomains on different ranks
  const auto owner = [&](GlobalId b) {
    return b == 0 ? 0 : static_cast<int>(3 * ((b - 1) / 10) % 8) * comm_.size() / 8;
  };
  const auto solved_at = [&](const test::Owner& where) {
    LocalScene local = distribute(scene, comm_, where, subdomain);
    local.problem.ordered = true;
    return solve_local(local, sweeps(25));
  };
  const Solved one = solved_at([](GlobalId) { return 0; });

  const Solved many = solved_at(owner);

  EXPECT_EQ(many.impulses, one.impulses);
  EXPECT_EQ(many.velocities, one.velocities);
  EXPECT_EQ(many.report.errors.energy, one.report.errors.energy);
  EXPECT_EQ(many.report.errors.natural_map_rms, one.report.errors.natural_map_rms);
  EXPECT_EQ(many.report.threshold, one.report.threshold);
}

TEST_F(GaussSeidelMpi, ConvexObjectiveFallsInEverySweep) {
  Scene scene = test::sphere_pile(200, 600, 0.5, 0.005, 5);
  scene.law = ContactLaw::ccp;

  const Solved s = solve_local(distribute(scene, comm_, test::deal(comm_)), sweeps(60, 1));

  EXPECT_EQ(s.report.history.size(), 61U);
  for (std::size_t i = 1; i < s.report.history.size(); ++i) {
    const double before = s.report.history[i - 1].errors.objective;
    EXPECT_LE(s.report.history[i].errors.objective, before + 1e-13 * std::abs(before)) << i;
  }
}

TEST_F(GaussSeidelMpi, ConvexObjectiveByDenseMatricesFallsInEverySweep) {
  Scene scene = test::sphere_pile(60, 150, 0.5, 0.005, 5);
  scene.law = ContactLaw::ccp;
  const test::DenseProblem dense = test::dense_problem(whole(scene));
  for (const test::Owner& owner : {test::slabs(comm_, scene), test::deal(comm_)}) {
    const LocalScene local = distribute(scene, comm_, owner);
    double before = 0.0;
    for (int n = 1; n <= 25; ++n) {
      const std::vector<double> impulses = solve_local(local, sweeps(n, 1000)).impulses;

      const Eigen::Map<const Eigen::VectorXd> p(impulses.data(), std::ssize(impulses));
      const double objective = 0.5 * p.dot(dense.N * p) + dense.r.dot(p);
      EXPECT_LT(objective, before + 1e-13 * std::abs(before)) << n;
      before = objective;
    }
  }
}

TEST_F(GaussSeidelMpi, TheSameRunTwiceGivesTheSameBits) {
  const Scene scene = test::sphere_pile(100, 300, 0.5, 0.005, 6);
  const LocalScene local = distribute(scene, comm_, test::deal(comm_));

  const Solved first = solve_local(local, sweeps(30));
  const Solved second = solve_local(local, sweeps(30));

  EXPECT_EQ(std::memcmp(first.impulses.data(), second.impulses.data(),
                        first.impulses.size() * sizeof(double)),
            0);
  EXPECT_EQ(std::memcmp(first.velocities.data(), second.velocities.data(),
                        first.velocities.size() * sizeof(double)),
            0);
}

TEST_F(GaussSeidelMpi, SweepCostsAtMostTwoMessagesPerNeighbour) {
  const Scene scene = test::sphere_pile(100, 300, 0.5, 0.005, 6);
  const LocalScene local = distribute(scene, comm_, test::slabs(comm_, scene));

  const Solved few = solve_local(local, sweeps(10, 1000));
  const Solved more = solve_local(local, sweeps(60, 1000));

  const auto neighbours = static_cast<std::int64_t>(local.problem.ghosts.neighbours.size());
  EXPECT_LE(more.messages - few.messages, 50 * 2 * neighbours);
  EXPECT_EQ(comm_.sum(more.messages - few.messages) > 0, comm_.size() > 1);
}

TEST_F(GaussSeidelMpi, RanksWithoutBodiesTakePart) {
  Scene scene = test::sphere_pile(20, 50, 0.5, 0.005, 3);
  scene.law = ContactLaw::ccp;
  const int last = comm_.size() - 1;  // everything lies on the last rank but body 1

  const Solved s = solve_local(
      distribute(scene, comm_, [&](GlobalId b) { return b == 1 && last > 1 ? 1 : last; }),
      to_tolerance(1e-9));

  EXPECT_EQ(s.report.status, SolveStatus::converged) << s.report.reason;
}

TEST_F(GaussSeidelMpi, NanOnOneRankIsABreakdownOnAll) {
  const Scene scene = test::sphere_pile(40, 100, 0.5, 0.005, 3);
  LocalScene local = distribute(scene, comm_, test::slabs(comm_, scene));
  if (comm_.rank() == comm_.size() - 1)
    local.problem.bodies.free_velocity[8] = std::numeric_limits<double>::quiet_NaN();

  const Solved s = solve_local(local, {});

  EXPECT_EQ(s.report.status, SolveStatus::breakdown) << s.report.reason;
}

TEST_F(GaussSeidelMpi, TimeLimitEndsAllRanksAtTheSameSweep) {
  const Scene scene = test::sphere_pile(40, 100, 0.5, 0.005, 3);
  SolverSettings settings = sweeps(std::numeric_limits<int>::max());
  settings.stop.time_limit = 0.1;

  const Solved s = solve_local(distribute(scene, comm_, test::deal(comm_)), settings);

  EXPECT_EQ(s.report.status, SolveStatus::time_limit) << s.report.reason;
  EXPECT_EQ(comm_.max(static_cast<std::int64_t>(s.report.iterations)), s.report.iterations);
  EXPECT_EQ(comm_.max(s.report.wall_s), s.report.wall_s);
}

/// Contacts that are all coupled to each other, N assembled by hand, dealt in contiguous
/// ranges (n >= ranks): N = I x (A - B) + ones x B with A, B positive definite. So strongly
/// coupled that plain block-Jacobi over three ranks or more diverges.
ConstraintProblem assembled_clique(const Communicator& comm, std::int64_t n) {
  ConstraintProblem problem(comm);
  problem.law = ContactLaw::ccp;
  AssembledOperator& op = problem.assembled.emplace();
  const auto begin_of = [&](int rank) { return n * rank / comm.size(); };
  const std::int64_t first = begin_of(comm.rank()), last = begin_of(comm.rank() + 1);
  const auto n_own = static_cast<Index>(last - first);
  const auto column_of = [&](std::int64_t contact) {  // own blocks, then the others by number
    if (contact < first) return static_cast<Index>(n_own + contact);
    return static_cast<Index>(contact < last ? contact - first : contact);
  };
  for (std::int64_t c = first; c < last; ++c) {
    op.friction.push_back(0.4);
    op.name.push_back(c);
    for (int i = 0; i < 3; ++i) {
      for (std::int64_t d = 0; d < n; ++d) {
        for (int j = 0; j < 3; ++j) {
          op.column.push_back(3 * column_of(d) + j);
          op.value.push_back(d == c ? (i == j ? 2.0 : 0.3) : (i == j ? 1.2 : 0.1));
        }
      }
      op.row_begin.push_back(static_cast<std::int64_t>(op.column.size()));
      op.r.push_back(std::sin(static_cast<double>(7 * c + i)) - (i == 0 ? 2.0 : 0.0));
    }
  }
  op.n_halo_rows = static_cast<Index>(3 * (n - n_own));
  for (int rank = 0; rank < comm.size(); ++rank) {
    if (rank == comm.rank()) continue;
    HaloPlan::Neighbour neighbour{rank, {}, {}};
    for (Index i = 0; i < n_own; ++i) neighbour.send.push_back(i);
    for (std::int64_t c = begin_of(rank); c < begin_of(rank + 1); ++c)
      neighbour.receive.push_back(column_of(c));
    op.halo.neighbours.push_back(neighbour);
  }
  return problem;
}

TEST_F(GaussSeidelMpi, AssembledOperatorHasTheSolutionOfOneRankAndSaysHow) {
  constexpr std::int64_t kContacts = 7;
  const ConstraintProblem whole_problem = assembled_clique(Communicator::self(), kContacts);
  std::vector<double> whole(static_cast<std::size_t>(3 * kContacts), 0.0);
  make_solver(to_tolerance(1e-12))->solve(whole_problem, whole, {});
  const ConstraintProblem problem = assembled_clique(comm_, kContacts);
  std::vector<double> impulses(static_cast<std::size_t>(problem.n_rows()), 0.0);
  SolverSettings settings = to_tolerance(1e-12);
  settings.stop.check_interval = 1;

  const SolveReport report = make_solver(settings)->solve(problem, impulses, {});

  EXPECT_EQ(report.status, SolveStatus::converged) << report.reason;
  EXPECT_EQ(report.reason.find("safe diagonal") != std::string::npos, comm_.size() > 1);
  const std::int64_t first = kContacts * comm_.rank() / comm_.size();
  for (std::size_t i = 0; i < impulses.size(); ++i)
    EXPECT_NEAR(impulses[i], whole[static_cast<std::size_t>(3 * first) + i], 1e-10);
  for (std::size_t i = 1; i < report.history.size(); ++i)
    EXPECT_LE(report.history[i].errors.objective, report.history[i - 1].errors.objective + 1e-13);
}

}  // namespace
}  // namespace catena
