// A steady step takes no memory from the heap (docs/design/0005-time-step.md, "Memory"): counted by
// stage while bodies stay and contacts come and go.
#include "support/allocations.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <ostream>
#include <set>
#include <utility>

#include "catena/base/release.hpp"
#include "catena/io/result_writer.hpp"
#include "catena/stepper/semi_implicit_stepper.hpp"
#include "support/case_text.hpp"

namespace catena::test {
namespace {

/// Steps before the count, and those counted.
constexpr int kWarmUp = 400, kCounted = 100;
/// Of these, steps in which a list may be longer than ever before and move.
constexpr int kGrown = 3;

/// Counts what another solver takes, apart from the stage that calls it.
class CountedSolver : public Solver {
 public:
  explicit CountedSolver(std::unique_ptr<Solver> solver) : solver_(std::move(solver)) {}
  std::string_view name() const override { return solver_->name(); }
  const SolveReport& solve(const ConstraintProblem& problem, std::span<double> impulses,
                           std::span<double> velocities) override {
    const std::int64_t before = allocations();
    const SolveReport& report = solver_->solve(problem, impulses, velocities);
    taken_ += allocations() - before;
    return report;
  }
  void set_stop_rule(const StopRule& rule) override { solver_->set_stop_rule(rule); }
  void move_joints(const ConstraintProblem& problem, std::span<const double> rhs,
                   std::span<double> changes) override {
    const std::int64_t before = allocations();
    solver_->move_joints(problem, rhs, changes);
    taken_ += allocations() - before;
  }
  /// Since the last call.
  std::int64_t taken() { return std::exchange(taken_, 0); }

 private:
  std::unique_ptr<Solver> solver_;
  std::int64_t taken_ = 0;
};

/// A stepper of its own that goes on from the state of a simulation, as that one's would.
class Continued {
 public:
  explicit Continued(const Simulation& sim)
      : bodies(sim.bodies()), state(sim.state()), model_(sim.model()) {
    const CaseSettings& s = sim.settings();
    SolverSettings settings = s.solver;
    settings.stop.history_set = ErrorSet::energy;
    settings.stop.report_set = ErrorSet::natural_map;
    auto counted = std::make_unique<CountedSolver>(make_solver(settings));
    solver = counted.get();
    stepper = std::make_unique<SemiImplicitStepper>(
        sim.communicator(), model_,
        StepperSettings{s.time.stepper, s.time.step, s.step_solve.warm_start,
                        s.step_solve.projection, s.step_solve.geometric_stiffness,
                        s.solver.stop.relative_tolerance},
        std::move(counted));
  }

  Bodies bodies;
  State state;
  CountedSolver* solver = nullptr;
  std::unique_ptr<SemiImplicitStepper> stepper;

 private:
  const Model& model_;
};

/// Steps in which a stage took memory.
using StageCounts = EnumArray<StepStage, std::int64_t, kStepStageNames.size()>;

/// One step, stage by stage; returns what the solver took.
std::int64_t count_stages(Continued& run, StageCounts& taken) {
  SemiImplicitStepper& stepper = *run.stepper;
  std::int64_t of_solver = 0;
  const auto count = [&](StepStage stage, const auto& work) {
    std::int64_t of_stage = allocations_of(work);
    if (stage == StepStage::solve_impulses) of_stage -= of_solver = run.solver->taken();
    if (of_stage > 0) ++taken[stage];
  };
  run.solver->taken();
  count(StepStage::find_contacts, [&] { stepper.find_contacts(run.bodies, run.state); });
  count(StepStage::assemble_problem, [&] { stepper.assemble_problem(run.bodies, run.state); });
  count(StepStage::note_forbidden, [&] { stepper.note_forbidden(run.bodies, run.state); });
  count(StepStage::solve_impulses, [&] { stepper.solve_impulses(run.state); });
  count(StepStage::find_held_drives, [&] { stepper.find_held_drives(run.bodies); });
  count(StepStage::check_solution, [&] { stepper.check_solution(run.bodies, run.state); });
  count(StepStage::keep_impulses, [&] { stepper.keep_impulses(run.state); });
  count(StepStage::audit_work, [&] { stepper.audit_work(run.state); });
  count(StepStage::advance_poses, [&] { stepper.advance_poses(run.bodies, run.state); });
  count(StepStage::project_joints, [&] { stepper.project_joints(run.bodies, run.state); });
  count(StepStage::record, [&] { stepper.record(run.bodies, run.state); });
  return of_solver;
}

struct Scene {
  const char* name;
  std::string yaml;
  std::vector<std::string> set = {};
  bool changes = true;         ///< contacts come and go
  std::int64_t of_joints = 0;  ///< blocks that the solver may take for joints in a step
};

std::ostream& operator<<(std::ostream& out, const Scene& scene) { return out << scene.name; }

const std::string kTime = "time: {step: 2 ms, end: 100}\n";

/// A box whose floor shakes, with a lattice of 6 x 6 x 5 bodies in it.
std::string pile(const std::string& shape, const std::string& material = "") {
  return "materials: {m: {density: 2500, friction: 0.5" + material + "}}\n" +
         "bodies:\n"
         "  - {name: floor, material: m, shape: plane, motion: {harmonics: "
         "[{amplitude: [1 mm, 0, 0.5 mm], frequency: 7}]}}\n"
         "generators:\n"
         "  - container: {name: bin, material: m, size: [1.4, 1.4, .inf], origin: [0, 0, -0.1]}\n"
         "  - lattice: {name: grains, material: m, shape: " +
         shape +
         ", count: [6, 6, 5], spacing: 0.21, origin: [0.15, 0.15, 0.11], position_jitter: 3 mm}\n" +
         kTime;
}

const std::string kSpheres = "{sphere: {radius: 0.1}}";

std::string hanging_chain() {
  return "materials: {m: {density: 2500, friction: 0.5}}\n"
         "generators:\n"
         "  - chain: {name: c, material: m, shape: {box: {size: [0.1, 0.02, 0.02]}}, links: 30, "
         "joint: revolute, axis: [0, 1, 0], from: [0, 0, 3], to: [3, 0, 3], anchored: first}\n" +
         kTime;
}

class SteadyStep : public testing::TestWithParam<Scene> {};

TEST_P(SteadyStep, TakesNoMemory) {
  const Scene& scene = GetParam();
  const auto sim = simulate(Communicator::self(), scene.yaml, scene.set);
  for (int i = 0; i < kWarmUp; ++i) sim->step();
  Continued run(*sim);
  for (int i = 0; i < kWarmUp; ++i) run.stepper->step(run.bodies, run.state);

  StageCounts taken;
  int by_solver = 0;
  std::int64_t most = 0;
  std::set<std::size_t> contacts;
  for (int i = 0; i < kCounted; ++i) {
    const std::int64_t of_solver = count_stages(run, taken);
    if (of_solver > scene.of_joints) ++by_solver;
    most = std::max(most, of_solver);
    contacts.insert(run.stepper->n_contacts());
  }

  for (std::size_t i = 0; i < kStepStageNames.size(); ++i)
    EXPECT_LE(taken.values()[i], kGrown) << kStepStageNames[i];
  // some of its lists are filled in few of the steps
  EXPECT_LE(by_solver, 2 * kGrown) << "of " << kCounted << " solves; one took " << most;
  if (scene.changes) {
    EXPECT_GT(contacts.size(), 5U) << "contacts come and go";
  }
}

// What a simulation does around its stepper takes nothing either: both step the same state.
TEST_P(SteadyStep, OfASimulationTakesWhatItsStepperTakes) {
  const Scene& scene = GetParam();
  std::vector<std::string> set = scene.set;
  set.emplace_back("parallel.rebalance_steps=0");  // bodies in another order, other bits
  const auto sim = simulate(Communicator::self(), scene.yaml, set);
  for (int i = 0; i < kWarmUp; ++i) sim->step();
  Continued run(*sim);

  int differ = 0;
  for (int i = 0; i < kWarmUp + kCounted; ++i) {
    const std::int64_t of_stepper =
        allocations_of([&] { run.stepper->step(run.bodies, run.state); });
    const std::int64_t of_simulation = allocations_of([&] { sim->step(); });
    if (i >= kWarmUp && of_simulation != of_stepper) ++differ;
  }
  // lists of either may have the room already that those of the other take
  EXPECT_LE(differ, 2 * kGrown);
}

INSTANTIATE_TEST_SUITE_P(
    Scenes, SteadyStep,
    testing::Values(Scene{"spheres", pile(kSpheres)},
                    Scene{"spheres_gauss_seidel", pile(kSpheres), {"solver.method=gauss_seidel"}},
                    Scene{"rigid_spheres",
                          pile(kSpheres),
                          {"contact.stiffness=rigid", "contact.margin=1 mm",
                           "solver.max_iterations=100"}},
                    Scene{"rolling_spheres",
                          pile(kSpheres, ", rolling_friction: 1 mm, spinning_friction: 1 mm"),
                          {"solver.method=gauss_seidel"}},
                    Scene{"boxes", pile("{box: {size: [0.18, 0.18, 0.18]}}")},
                    Scene{"chain", hanging_chain(), {}, false, 0}),
    [](const auto& scene) { return std::string(scene.param.name); });

std::string scratch_directory() {
  return (std::filesystem::temp_directory_path() /
          ("catena-allocations-" + std::to_string(getpid())))
      .string();
}

/// Blocks that a whole run of `steps` steps takes, with a hundred rows of the series, which the
/// index that is made at the end reads.
std::int64_t allocations_of_run(int steps) {
  const auto sim = simulate(
      Communicator::self(), pile(kSpheres),
      {"time.end=" + text_of(2e-3 * steps), "output.series_steps=" + std::to_string(steps / 100),
       "output.snapshot_interval=.inf", "output.contacts=false"});
  Log log(false, true);
  RunOptions options;
  options.directory = scratch_directory();
  options.force = true;
  const std::int64_t taken = allocations_of([&] { sim->run(options, log); });
  std::filesystem::remove_all(options.directory);
  return taken;
}

TEST(SteadyRun, TakesWhatItsStepsTake) {
  const auto sim = simulate(Communicator::self(), pile(kSpheres));
  for (int i = 0; i < kWarmUp; ++i) sim->step();
  const std::int64_t of_steps = allocations_of([&] {
    for (int i = 0; i < kCounted; ++i) sim->step();
  });

  allocations_of_run(100);  // the first one starts libraries
  const std::int64_t of_run = allocations_of_run(kWarmUp + kCounted) - allocations_of_run(kWarmUp);

  // a line of progress now and then, and lists that grow
  EXPECT_NEAR(static_cast<double>(of_run), static_cast<double>(of_steps), 4.0 * kCounted);
}

TEST(SteadyRun, ARowOfTheSeriesTakesNothing) {
  const std::string directory = scratch_directory();
  {
    ResultWriter writer(Communicator::self(), directory, {}, {{"a", "m"}, {"b", "s"}}, true);
    const std::array<double, 2> row = {1.0 / 3.0, -2e-100};
    writer.append_series(row);
    EXPECT_EQ(allocations_of([&] {
                for (int i = 0; i < 10; ++i) writer.append_series(row);
              }),
              0);
  }
  std::filesystem::remove_all(directory);
}

TEST(Room, IsKeptWhileListsGrowAndShrinkALittle) {
  std::vector<double> list;
  make_room(list, 1000);
  EXPECT_GE(list.capacity(), 1000U);
  EXPECT_EQ(allocations_of([&] {
              for (const std::size_t n : {1000, 1031, 300, 1020, 0, 1031}) make_room(list, n);
            }),
            0);
}

TEST(Room, OfALargeListIsGivenBackWhereLessThanAQuarterIsNeeded) {
  constexpr std::size_t kMany = std::size_t{1} << 20;
  std::vector<double> list;
  make_room(list, kMany);

  make_room(list, kMany / 3);
  EXPECT_GE(list.capacity(), kMany);
  make_room(list, kMany / 5);
  EXPECT_GE(list.capacity(), kMany / 5);
  EXPECT_LT(list.capacity(), kMany / 4);
}

}  // namespace
}  // namespace catena::test
