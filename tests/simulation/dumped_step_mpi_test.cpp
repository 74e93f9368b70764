// A dumped step is solved again as the run solved it: the same guess, rows, order and errors.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>

#include "catena/io/fclib.hpp"
#include "io/hdf5/file.hpp"
#include "support/case_text.hpp"

namespace catena {
namespace {

/// Boxes and balls that slide, on a fixed box, a moving one and a plane.
constexpr const char* kPile = R"(
materials: {m: {density: 1000, friction: 0.4}, n: {density: 3000, friction: 0.2}}
bodies:
  - {name: floor, material: m, shape: plane}
  - {name: step, material: m, shape: {box: {size: [0.4, 2, 0.1]}}, position: [0.2, 0.5, 0.05], fixed: true}
  - {name: belt, material: m, shape: {box: {size: [0.4, 2, 0.1]}}, position: [0.7, 0.5, 0.05], motion: {velocity: [0, 0.3, 0]}}
generators:
  - lattice: {name: balls, material: m, shape: {sphere: {radius: 0.05}}, count: [6, 6, 2], spacing: 0.11,
              origin: [0.1, 0.1, 0.16], position_jitter: 5 mm, seed: 3}
  - lattice: {name: boxes, material: n, shape: {box: {size: [0.1, 0.12, 0.08]}}, count: [4, 4, 1], spacing: 0.16,
              origin: [0.15, 0.15, 0.42], position_jitter: 2 mm, seed: 4}
time: {step: 5 ms, end: 1}
solver: {max_iterations: 25, relative_tolerance: 1e-12}
)";

/// The same with rolling friction and cohesion on some contacts.
const std::string kRolling =
    std::string(kPile).replace(std::string(kPile).find("friction: 0.4"), 13,
                               "friction: 0.4, rolling_friction: 1 mm, spinning_friction: 0.5 mm");

/// By law lagged.
const std::string kLagged = "contact: {law: lagged}\n" + kRolling;

/// Joints with limits, bounded motors and friction above a floor.
constexpr const char* kMachine = R"(
materials: {m: {density: 1000, friction: 0.3}}
bodies:
  - {name: floor, material: m, shape: plane}
  - {name: arm, material: m, shape: {box: {size: [0.6, 0.1, 0.1]}}, position: [0.3, 0, 0.12]}
  - {name: hand, material: m, shape: {box: {size: [0.3, 0.1, 0.1]}}, position: [0.8, 0, 0.1]}
  - {name: block, material: m, shape: {box: {size: [0.2, 0.2, 0.2]}}, position: [0.8, 0, 0.25]}
joints:
  - {name: shoulder, type: revolute, between: [world, arm], at: [0, 0, 0.12], axis: [0, 1, 0],
     limits: [-1 deg, 2 deg], motor: {velocity: 1, max_force: 3}, friction: 0.5}
  - {name: wrist, type: revolute, between: [arm, hand], at: [0.62, 0, 0.11], axis: [0, 1, 0],
     limits: [-3 deg, 3 deg], compliance: 1e-8}
forces:
  - {name: tie, type: spring, between: [world, block], at: [[0.8, 0, 1], [0.8, 0, 0.35]], stiffness: 500, damping: 5, length: 0.6}
time: {step: 5 ms, end: 1}
solver: {max_iterations: 25, relative_tolerance: 1e-12}
)";

struct Dump {
  std::string path;
  SolveReport report;
  std::vector<double> impulses;  ///< of this rank
  SolverSettings settings;
};

/// Collective. Some steps of the scene, the last one dumped.
Dump dump_of(const Communicator& comm, const std::string& scene, const std::string& method,
             const std::string& name) {
  CaseSettings settings = test::case_of(scene, {"solver.method=" + method});
  Simulation sim(comm, settings);
  for (int step = 0; step < 12; ++step) sim.step();
  Dump dump;
  dump.path = "dumped-" + name + "-" + method + "-" + std::to_string(comm.size()) + ".hdf5";
  dump.report = sim.stepper().report().solve;
  const auto impulses = sim.stepper().impulses();
  dump.impulses.assign(impulses.begin(), impulses.end());
  dump.settings = settings.solver;
  dump.settings.stop.history_set = ErrorSet::energy;
  dump.settings.stop.report_set = ErrorSet::natural_map;
  EXPECT_EQ(sim.stepper().guess().size(), impulses.size());
  write_fclib(dump.path, sim.stepper().problem(), "a step", impulses, sim.stepper().guess(),
              sim.stepper().stretches());
  return dump;
}

/// The step solved again on one rank, from the file's guess; `rows`: of the run's problem.
SolveReport solved_again(const Dump& dump, std::vector<double>& rows) {
  const Communicator self = Communicator::self();
  FclibInfo info;
  const ConstraintProblem problem = read_fclib(self, dump.path, info);
  EXPECT_TRUE(info.dumped && info.has_guess);
  const std::vector<double> guess = read_fclib_guess(dump.path, problem);
  const std::optional<DumpedStep> step = read_dumped_step(self, dump.path);
  EXPECT_TRUE(step.has_value());
  if (!step || step->row.size() != guess.size()) {
    ADD_FAILURE() << "rows differ";
    return {};
  }
  rows.assign(guess.size(), 0.0);
  for (std::size_t i = 0; i < guess.size(); ++i)
    rows[static_cast<std::size_t>(step->row[i])] = guess[i];
  std::vector<double> velocities(static_cast<std::size_t>(step->problem.bodies.n_dofs()));
  return make_solver(dump.settings)->solve(step->problem, rows, velocities);
}

class SolvedAgain : public testing::TestWithParam<std::tuple<const char*, const char*>> {};

TEST_P(SolvedAgain, IsSolvedAgainAsInTheRun) {
  const Communicator comm = Communicator::world();
  const auto [name, method] = GetParam();
  const std::string scene = std::string(name) == "pile"      ? kPile
                            : std::string(name) == "rolling" ? kRolling
                            : std::string(name) == "lagged"  ? kLagged
                                                             : kMachine;
  const Dump dump = dump_of(comm, scene, method, name);

  if (comm.rank() == 0) {
    std::vector<double> rows;
    const SolveReport again = solved_again(dump, rows);

    EXPECT_EQ(again.status, dump.report.status);
    EXPECT_EQ(again.iterations, dump.report.iterations);
    EXPECT_EQ(again.history.size(), dump.report.history.size());
    EXPECT_FALSE(again.history.empty());
    for (std::size_t i = 0; i < std::min(again.history.size(), dump.report.history.size()); ++i) {
      const double was = dump.report.history[i].errors.energy, is = again.history[i].errors.energy;
      // on one rank the same bits; the parts of several ranks add up in another order
      if (comm.size() == 1) {
        EXPECT_EQ(is, was) << i;
      } else {
        EXPECT_NEAR(is, was, 1e-6 * was + 1e-20) << i;
      }
    }
    if (comm.size() == 1) {
      EXPECT_EQ(rows, dump.impulses);
    }
    std::remove(dump.path.c_str());
  }
  comm.barrier();
}

INSTANTIATE_TEST_SUITE_P(Methods, SolvedAgain,
                         testing::Combine(testing::Values("pile", "rolling", "lagged", "machine"),
                                          testing::Values("gauss_seidel", "jacobi", "apgd")));

TEST(DumpedStep, GoesByFclibsDataWhereTheyWereChanged) {
  const Communicator self = Communicator::self();
  if (Communicator::world().rank() > 0) return;
  const Dump dump = dump_of(self, kPile, "gauss_seidel", "changed");
  EXPECT_TRUE(read_dumped_step(self, dump.path).has_value());
  // the same file from another step: its data differ, and so does what they are checked by
  FclibInfo info;
  const ConstraintProblem problem = read_fclib(self, dump.path, info);
  write_fclib(dump.path, problem, "without a step");

  EXPECT_FALSE(read_dumped_step(self, dump.path).has_value());
  for (const double x : read_fclib_guess(dump.path, problem)) EXPECT_EQ(x, 0.0);
  std::remove(dump.path.c_str());
}

// FCLIB's data alone say the same problem: rows without the shift, and the shift beside them.
TEST(DumpedStep, OfLawLaggedKeepsItsShift) {
  const Communicator comm = Communicator::world();
  const Dump dump = dump_of(comm, kLagged, "gauss_seidel", "shift");
  FclibInfo info;
  ConstraintProblem problem = read_fclib(comm, dump.path, info);
  EXPECT_TRUE(problem.lagged);
  EXPECT_EQ(problem.law, ContactLaw::ccp);
  double most = 0.0;
  for (const double s : problem.shift) most = std::max(most, s);
  EXPECT_GT(comm.max(most), 1e-3);

  const auto energy_at = [&](const ConstraintProblem& p) {
    DelassusOperator op(p);
    return ErrorEvaluator(p, op).evaluate_zero(ErrorSet::energy).energy;
  };
  const double lagged = energy_at(problem);
  EXPECT_NEAR(lagged, dump.report.initial.energy, 1e-9 * lagged);
  const std::vector<double> shift = problem.shift;
  remove_shift(problem);
  EXPECT_EQ(problem.law, ContactLaw::coulomb);
  EXPECT_NE(energy_at(problem), lagged);
  set_shift(problem, shift);
  EXPECT_EQ(energy_at(problem), lagged);
  comm.barrier();
  if (comm.rank() == 0) std::remove(dump.path.c_str());
}

// Under `auto` a step undoes all of a stretch, so that the rows ask for the slip -xi/h.
TEST(DumpedStep, HoldsTheStretchesThatItsRowsUndo) {
  const Communicator comm = Communicator::world();
  const double h = 5e-3;
  const Dump dump = dump_of(comm, kRolling, "gauss_seidel", "stretch");
  if (comm.rank() == 0) {
    const Communicator self = Communicator::self();
    FclibInfo info;
    const ConstraintProblem problem = read_fclib(self, dump.path, info);
    const std::optional<DumpedStep> step = read_dumped_step(self, dump.path);
    hdf5::File file = hdf5::File::open(dump.path);
    const std::vector<double> stretch = file.read_doubles("/catena/stretch");
    const std::vector<double> turn = file.read_doubles("/catena/couples/turn");
    const std::size_t n = problem.blocks.kind.size();
    EXPECT_TRUE(step.has_value());
    EXPECT_EQ(stretch.size(), 2 * n);
    const auto undone = [&](std::size_t file_row) {
      const Index row = step->row[file_row], general = row - step->problem.first_general_row();
      return general >= 0 ? -h * step->problem.blocks.q[general]
                          : h * bias_of(step->problem.contacts[row / 3])[row % 3];
    };
    double largest = 0.0, largest_turn = 0.0;
    std::size_t couple = 0;
    for (std::size_t c = 0; step && c < n && stretch.size() == 2 * n; ++c) {
      const std::size_t first = problem.blocks.row_begin[c];
      for (std::size_t i = 0; i < 2; ++i) {
        EXPECT_NEAR(stretch[2 * c + i], undone(first + 1 + i), 1e-12 * std::abs(stretch[2 * c + i]))
            << c;
        largest = std::max(largest, std::abs(stretch[2 * c + i]));
      }
      for (Index r = 3; r < problem.blocks.rows(to_index(c)); ++r, ++couple) {
        ASSERT_LT(couple, turn.size());
        EXPECT_NEAR(turn[couple], undone(first + r), 1e-12 * std::abs(turn[couple])) << c;
        largest_turn = std::max(largest_turn, std::abs(turn[couple]));
      }
    }
    EXPECT_EQ(couple, turn.size());
    EXPECT_GT(largest, 1e-7);
    EXPECT_GT(largest_turn, 1e-7);
    std::remove(dump.path.c_str());
  }
  comm.barrier();
}

TEST(DumpedStep, GuessComesBackRowByRowOnAnyNumberOfRanks) {
  const Communicator comm = Communicator::world();
  for (const std::string& scene : {kRolling, std::string(kMachine)}) {
    const Dump dump = dump_of(comm, scene, "gauss_seidel", "guess");
    FclibInfo info;
    const ConstraintProblem problem = read_fclib(comm, dump.path, info);
    const std::vector<double> here = read_fclib_guess(dump.path, problem);
    const ConstraintProblem alone = read_fclib(Communicator::self(), dump.path, info);
    const std::vector<double> whole = read_fclib_guess(dump.path, alone);

    double sum = 0.0, squares = 0.0, all = 0.0, all_squares = 0.0;
    for (const double x : here) sum += x, squares += x * x;
    for (const double x : whole) all += x, all_squares += x * x;
    EXPECT_GT(all_squares, 0.0);
    EXPECT_NEAR(comm.sum(sum), all, 1e-12 * std::sqrt(all_squares) * 100.0);
    EXPECT_NEAR(comm.sum(squares), all_squares, 1e-12 * all_squares);
    comm.barrier();
    if (comm.rank() == 0) std::remove(dump.path.c_str());
  }
}

}  // namespace
}  // namespace catena
