// Published contact problems: Gauss-Seidel needs no more sweeps than Siconos' NSGS does.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "support/fclib_problem.hpp"
#include "support/solve_with.hpp"

namespace catena {
namespace {

/// Longer solves are left out, to keep this test short.
constexpr int kMaxSweeps = 40000;

struct Baseline {
  std::string problem;
  int sweeps[2];  ///< to 1e-4 and 1e-8; -1: not reached
};

std::vector<Baseline> read_baseline() {
  std::ifstream file(std::string(CATENA_TEST_DATA) + "/fclib/nsgs_sweeps.csv");
  std::vector<Baseline> rows;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::stringstream words(line);
    Baseline row;
    char comma = 0;
    std::getline(words, row.problem, ',');
    words >> row.sweeps[0] >> comma >> row.sweeps[1];
    rows.push_back(row);
  }
  return rows;
}

SolveReport solve(const std::string& name, double tolerance, int max_sweeps) {
  SolverSettings settings;
  settings.stop = test::stop_at(Metric::siconos, tolerance, max_sweeps);
  settings.stop.check_interval = 1;
  return test::solve(test::fclib_problem(name + ".hdf5"), settings).report;
}

TEST(FclibProblems, GaussSeidelNeedsAtMostHalfAsManySweepsMoreThanSiconosNsgs) {
  const std::vector<Baseline> baseline = read_baseline();
  ASSERT_GT(baseline.size(), 30U);
  int solved = 0;
  for (const Baseline& row : baseline) {
    for (int i = 0; i < 2; ++i) {
      if (row.sweeps[i] < 0 || row.sweeps[i] > kMaxSweeps) continue;
      const int allowed = row.sweeps[i] + row.sweeps[i] / 2;
      const SolveReport report = solve(row.problem, i == 0 ? 1e-4 : 1e-8, allowed);
      EXPECT_EQ(report.status, SolveStatus::converged)
          << row.problem << " to " << (i == 0 ? 1e-4 : 1e-8) << ": NSGS took " << row.sweeps[i];
      ++solved;
    }
  }
  EXPECT_GT(solved, 60);
}

}  // namespace
}  // namespace catena
