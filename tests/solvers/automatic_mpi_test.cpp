// auto: what it tries, and what it makes of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "catena/io/fclib.hpp"
#include "catena/solvers/automatic.hpp"

namespace catena {
namespace {

struct Solved {
  SolveReport report;
  Errors recomputed;  ///< of the impulses returned
};

Solved solve(const std::string& file, ContactLaw law, SolverSettings settings) {
  FclibInfo info;
  ConstraintProblem problem =
      read_fclib(Communicator::world(), std::string(CATENA_TEST_DATA) + "/fclib/" + file, info);
  problem.law = law;
  settings.method = SolverMethod::automatic;
  std::vector<double> impulses(static_cast<std::size_t>(problem.n_rows()), 0.0);
  std::vector<double> velocities(static_cast<std::size_t>(problem.bodies.n_dofs()));
  Solved s;
  s.report = make_solver(settings)->solve(problem, impulses, velocities);
  DelassusOperator op(problem);
  s.recomputed = ErrorEvaluator(problem, op).evaluate(impulses);
  // velocities are those of the impulses returned, whichever method they come from
  if (!problem.assembled) {
    std::vector<double> expected(velocities.size());
    op.velocities(impulses, expected);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_NEAR(velocities[i], expected[i], 1e-12);
    }
  }
  return s;
}

SolverSettings to_siconos(double tolerance) {
  SolverSettings settings;
  settings.stop.metric = Metric::siconos;
  settings.stop.relative_tolerance = 0.0;
  settings.stop.absolute_tolerance = tolerance;
  settings.stop.max_iterations = 10000;
  return settings;
}

TEST(Automatic, EasyProblemIsLeftToSweeps) {
  const Solved s = solve("NESpheres_10_1.hdf5", ContactLaw::coulomb, to_siconos(1e-4));

  EXPECT_EQ(s.report.status, SolveStatus::converged) << s.report.reason;
  EXPECT_EQ(s.report.choice, "gauss_seidel");
}

TEST(Automatic, HardProblemGoesOnToOtherMethodsAndSaysSo) {
  // NSGS needs 168,775 sweeps here (tests/data/fclib/nsgs_sweeps.csv)
  const Solved s = solve("local_problem_test.hdf5", ContactLaw::coulomb, to_siconos(1e-8));

  EXPECT_EQ(s.report.status, SolveStatus::converged) << s.report.reason;
  EXPECT_LE(s.recomputed.siconos, 1e-8);
  EXPECT_EQ(s.report.choice.rfind("gauss_seidel, then apgd", 0), 0u) << s.report.choice;
  EXPECT_NE(s.report.reason.find("given up after"), std::string::npos) << s.report.reason;
  // one history, whatever the number of methods
  EXPECT_TRUE(std::is_sorted(
      s.report.history.begin(), s.report.history.end(),
      [](const HistoryEntry& a, const HistoryEntry& b) { return a.iteration < b.iteration; }));
  EXPECT_EQ(s.report.iterations, s.report.history.back().iteration);
}

TEST(Automatic, AccurateInSiconosIsAccurateInConsistentUnits) {
  // here 1e-8 in `siconos` leaves 7e-4 in `scaled`
  const std::string file = "LMGC_100_PR_PerioBox-i00361-60-03000.hdf5";
  const Solved s = solve(file, ContactLaw::coulomb, to_siconos(1e-8));

  EXPECT_EQ(s.report.status, SolveStatus::converged) << s.report.reason;
  EXPECT_LE(s.recomputed.siconos, 1e-8);
  EXPECT_LE(s.recomputed.scaled, 1e-6);
}

TEST(Automatic, ReachesATightGapOfTheConvexLaw) {
  SolverSettings settings = to_siconos(0.0);
  settings.stop.metric = Metric::gap;
  settings.stop.absolute_tolerance = 1e-11;
  const Solved s = solve("Spheres-i099-356-679.hdf5", ContactLaw::ccp, settings);

  EXPECT_EQ(s.report.status, SolveStatus::converged) << s.report.reason;
  EXPECT_LE(s.recomputed.gap, 1e-11);
}

TEST(Automatic, TimeLimitEndsAllMethods) {
  SolverSettings settings = to_siconos(1e-30);
  settings.stop.time_limit = 0.05;
  const Solved s = solve("Capsules-i101-404.hdf5", ContactLaw::coulomb, settings);

  EXPECT_EQ(s.report.status, SolveStatus::time_limit) << s.report.reason;
  EXPECT_LE(s.recomputed.energy, s.report.initial.energy);
}

}  // namespace
}  // namespace catena
