#include "catena/solvers/gauss_seidel.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "catena/base/error.hpp"
#include "catena/base/timer.hpp"
#include "solvers/gauss_seidel/formulations/formulations.hpp"
#include "solvers/gauss_seidel/looks.hpp"
#include "solvers/gauss_seidel/simd/dispatch.hpp"
#include "solvers/stop_monitor.hpp"

namespace catena {
namespace {

/// Collective. Whether any contact is compliant.
bool gives(const ConstraintProblem& problem) {
  bool any = std::any_of(problem.contacts.begin(), problem.contacts.end(),
                         [](const RigidContact& c) { return c.compliance > 0.0; });
  for (Index k = 0; k < problem.blocks.size(); ++k)
    any = any || (problem.blocks.kind[k] == BlockKind::contact &&
                  problem.blocks.compliance[problem.blocks.row_begin[k]] > 0.0);
  return problem.comm.max(std::int64_t{any ? 1 : 0}) != 0;
}

std::unique_ptr<SweepEngine> make_engine(const ConstraintProblem& problem, DelassusOperator& op,
                                         const GaussSeidelSettings& settings, JointSystem* joints,
                                         std::span<const double> impulses) {
  const LocalSolveOptions rules{problem.law, settings.local, settings.relaxation};
  check_local_rules(rules);
  if (problem.assembled) {
    if (settings.formulation != Formulation::velocity)
      throw Error("an assembled operator has no velocities", "solver.formulation",
                  "use formulation: velocity");
    return make_assembled_engine(problem, rules, impulses);
  }
  if (joints != nullptr && settings.formulation != Formulation::velocity)
    throw Error("joints are solved on their own in formulation velocity only", "solver.formulation",
                "use formulation: velocity, or solver.joints.method: iterative");
  if (settings.formulation == Formulation::residual)
    return make_residual_engine(problem, op, rules, impulses);
  if (settings.formulation == Formulation::acceleration)
    return make_acceleration_engine(problem, op, rules, impulses);
  SweepOptions options{rules, choose_kernels(settings.kernels)};
  // what redundant rows share out between them is not determined, and mixes would let it grow;
  // closed loops have such rows, or nearly such
  const auto determined = [](const JointReport& r) {
    return r.redundant.empty() && r.raised == 0 && r.rings + r.looped == 0;
  };
  const bool mixes = joints == nullptr || determined(joints->report());
  options.accelerated =
      settings.accelerated && settings.order != SweepOrder::symmetric && mixes && gives(problem);
  return make_hybrid_engine(problem, op, options, joints, impulses);
}

/// Solves of a problem of joints alone: a second one, from recomputed velocities, if the first
/// missed the tolerance.
constexpr int kJointSolves = 2;

/// Collective. Whether every block of every rank is bilateral.
bool only_joints(const ConstraintProblem& problem) {
  const auto others = std::ssize(problem.contacts) +
                      std::count_if(problem.blocks.kind.begin(), problem.blocks.kind.end(),
                                    [](BlockKind kind) { return kind != BlockKind::bilateral; });
  return problem.comm.max(std::int64_t{others}) == 0;
}

class GaussSeidel final : public Solver {
 public:
  GaussSeidel(const StopRule& stop, const JointSolverSettings& joints,
              const GaussSeidelSettings& settings)
      : stop_(stop),
        settings_(settings),
        joints_swept_(joints.method == JointMethod::iterative),
        joints_(joints) {}
  std::string_view name() const override { return "gauss_seidel"; }

  SolveReport solve(const ConstraintProblem& problem, std::span<double> impulses,
                    std::span<double> velocities) override {
    const double started = wall_seconds();
    obey(problem.comm, stop_.watch);  // a factor of joints may take long
    JointSystem* joints = nullptr;
    if (!joints_swept_ && !problem.assembled && joints_.prepare(problem)) joints = &joints_;
    if (joints != nullptr && only_joints(problem))
      return solve_joints(problem, impulses, velocities, started);
    DelassusOperator op(problem);
    const std::unique_ptr<SweepEngine> engine =
        make_engine(problem, op, settings_, joints, impulses);
    StopMonitor monitor(problem, op, stop_, impulses, velocities, started);
    const bool over = start(*engine, monitor, impulses);
    if (joints != nullptr) monitor.allow(joints->contradiction(problem));
    monitor.set_setup_seconds(wall_seconds() - started);
    if (!over) iterate(*engine, monitor, impulses);
    SolveReport report =
        monitor.finish(engine->remark(), [&](std::span<double> kept) { engine->store_kept(kept); });
    if (joints != nullptr) report.joints = joints->report();
    return report;
  }

  void move_joints(const ConstraintProblem& problem, std::span<const double> rhs,
                   std::span<double> changes) override {
    if (joints_swept_) return Solver::move_joints(problem, rhs, changes);
    joints_.move(problem, rhs, changes);
  }

 private:
  bool goes_forward(int sweep) const {
    switch (settings_.order) {
      case SweepOrder::forward:
        return true;
      case SweepOrder::backward:
        return false;
      case SweepOrder::symmetric:
        return sweep % 2 == 1;
    }
    return true;
  }

  /// A problem of joints alone: one exact solve, refined while that helps.
  SolveReport solve_joints(const ConstraintProblem& problem, std::span<double> impulses,
                           std::span<double> velocities, double started) {
    DelassusOperator op(problem);
    // the solve needs no guess
    std::fill(impulses.begin(), impulses.end(), 0.0);
    StopRule stop = stop_;
    stop.max_iterations = std::min(stop.max_iterations, kJointSolves);
    stop.keep_best = false;
    StopMonitor monitor(problem, op, stop, impulses, velocities, started);
    joints_.measure(problem, op, impulses, velocities);
    monitor.know_general_rows(joints_.diagonal(), joints_.slips());
    // an absolute tolerance may be met by no impulses at all, which would let light or nearly
    // unloaded joints drift; their solve costs no more than it has already
    bool over = monitor.start(false);
    monitor.set_setup_seconds(wall_seconds() - started);
    for (int iteration = 1; !over; ++iteration) {
      joints_.refine(problem, op, impulses, velocities);
      if (iteration == 1) monitor.allow(joints_.contradiction(problem));
      monitor.begin(iteration, 0.0, true, true);
      over = monitor.end();
    }
    SolveReport report = monitor.finish("");
    report.joints = joints_.report();
    return report;
  }

  /// Whether the guess, made admissible, ends the solve.
  static bool start(SweepEngine& engine, StopMonitor& monitor, std::span<double> impulses) {
    const ErrorParts* at_zero = engine.errors_at_zero();
    std::optional<StopMonitor::Estimate> seen;
    if (at_zero != nullptr && monitor.takes_estimates())
      seen = monitor.start_estimated(*at_zero, engine.errors());
    if (!seen) {
      engine.store_impulses(impulses);
      return monitor.start();
    }
    if (seen->keep) engine.keep();
    if (!seen->evaluate) return false;
    engine.store_impulses(impulses);
    monitor.begin(0, 0.0, true);
    return monitor.end();
  }

  /// Sweeps until the monitor has seen enough. Where the engine knows its errors, only iterates
  /// that seem to end the solve are evaluated, at once. Else errors posted after sweep s travel
  /// during sweep s + 1 and are judged after it, whenever they arrived.
  void iterate(SweepEngine& engine, StopMonitor& monitor, std::span<double> impulses) const {
    const bool estimates = engine.knows_errors() && monitor.takes_estimates();
    Looks looks(stop_.metric, stop_.max_iterations);
    for (int sweep = 1;; ++sweep) {
      const double running_error = engine.sweep(goes_forward(sweep));
      if (monitor.pending() && monitor.end()) return;
      // evaluations check the clock themselves
      const bool due = looks.due(sweep, engine.change(), monitor.due(sweep), monitor.excess());
      const bool late = !due && monitor.out_of_time(sweep);
      if (!due && !late) continue;
      const bool last = late || sweep >= stop_.max_iterations;
      if (estimates && !last) {
        const StopMonitor::Estimate seen = monitor.estimate(sweep, engine.errors(), running_error);
        if (seen.keep) engine.keep();
        if (!seen.evaluate) continue;
      }
      engine.store_impulses(impulses);
      monitor.begin(sweep, running_error, last || estimates);
      if ((last || estimates) && monitor.end()) return;
    }
  }

  StopRule stop_;
  GaussSeidelSettings settings_;
  bool joints_swept_;
  JointSystem joints_;
};

constexpr std::array<std::string_view, 5> kLocalNames = {"exact", "cone", "project", "sliding",
                                                         "scalar"};
constexpr std::array<std::string_view, 3> kFormulationNames = {"velocity", "residual",
                                                               "acceleration"};
constexpr std::array<std::string_view, 4> kKernelNames = {"auto", "plain", "avx2", "avx512"};
constexpr std::array<std::string_view, 3> kOrderNames = {"forward", "backward", "symmetric"};

}  // namespace

void describe(SettingsVisitor& visit, GaussSeidelSettings& s) {
  visit.choose("local", s.local, kLocalNames,
               {.help = "how one contact is solved; cone is for law ccp, project, sliding and "
                        "scalar for the others"});
  visit.choose("formulation", s.formulation, kFormulationNames,
               {.help = "what is carried from block to block; the iterates are the same"});
  visit.choose("order", s.order, kOrderNames,
               {.help = "direction of the sweeps; symmetric alternates, each counting as one"});
  visit.visit("relaxation", s.relaxation,
              {.min = 0.01, .max = 1.99, .help = "over-relaxation factor omega"});
  visit.visit("accelerated", s.accelerated,
              {.help = "sweeps are mixed by Anderson's method where contacts give; not with order "
                       "symmetric, another formulation than velocity, or closed loops of joints"});
  visit.choose("kernels", s.kernels, kKernelNames,
               {.help = "instruction set of the sweeps; auto: the widest that the CPU has"});
}

std::unique_ptr<Solver> make_gauss_seidel(const StopRule& stop, const JointSolverSettings& joints,
                                          const GaussSeidelSettings& settings) {
  return std::make_unique<GaussSeidel>(stop, joints, settings);
}

}  // namespace catena
