#include "catena/solvers/gauss_seidel.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "catena/base/error.hpp"
#include "catena/base/timer.hpp"
#include "solvers/batches/simd/dispatch.hpp"
#include "solvers/gauss_seidel/formulations/formulations.hpp"
#include "solvers/gauss_seidel/looks.hpp"
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

/// Collective. Of the hybrid over subdomains.
SweepOptions sweep_options(const ConstraintProblem& problem, const GaussSeidelSettings& settings,
                           const LocalSolveOptions& rules) {
  if (settings.formulation == Formulation::acceleration) return acceleration_options(rules);
  SweepOptions options{rules, choose_kernels(settings.kernels)};
  options.accelerated =
      settings.accelerated && settings.order != SweepOrder::symmetric && gives(problem);
  return options;
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
              const GaussSeidelSettings& settings, HybridEngine* engine)
      : stop_(stop),
        settings_(settings),
        joints_swept_(joints.method == JointMethod::iterative),
        joints_(joints),
        own_(engine == nullptr ? make_hybrid_engine() : nullptr),
        hybrid_(own_ ? own_.get() : engine) {}
  std::string_view name() const override { return "gauss_seidel"; }
  void set_stop_rule(const StopRule& rule) override { stop_ = rule; }

  const SolveReport& solve(const ConstraintProblem& problem, std::span<double> impulses,
                           std::span<double> velocities) override {
    const double started = wall_seconds();
    obey(problem.comm, stop_.watch);  // a factor of joints may take long
    JointSystem* joints = nullptr;
    if (!joints_swept_ && !problem.assembled && joints_.prepare(problem)) joints = &joints_;
    if (joints != nullptr && only_joints(problem))
      return solve_joints(problem, impulses, velocities, started);
    op_.start(problem);
    SweepEngine& engine = start_engine(problem, joints, impulses);
    monitor_.set_up(problem, op_, stop_, impulses, velocities, started);
    const bool over = start(engine, impulses);
    if (joints != nullptr) monitor_.allow(joints->contradiction(problem));
    monitor_.set_setup_seconds(wall_seconds() - started);
    if (!over) iterate(engine, impulses);
    SolveReport& report =
        monitor_.finish(engine.remark(), [&](std::span<double> kept) { engine.store_kept(kept); });
    if (joints != nullptr) report.joints = joints->report();
    if (own_) own_->rest();
    other_.reset();
    monitor_.rest();
    return report;
  }

  void move_joints(const ConstraintProblem& problem, std::span<const double> rhs,
                   std::span<double> changes) override {
    if (joints_swept_) return Solver::move_joints(problem, rhs, changes);
    joints_.move(problem, rhs, changes);
  }

 private:
  /// Collective. The engine of a problem, packed.
  SweepEngine& start_engine(const ConstraintProblem& problem, JointSystem* joints,
                            std::span<const double> impulses) {
    const LocalSolveOptions rules{problem.law, settings_.local, settings_.relaxation};
    check_local_rules(rules);
    if (problem.assembled) {
      if (settings_.formulation != Formulation::velocity)
        throw Error("an assembled operator has no velocities", "solver.formulation",
                    "use formulation: velocity");
      other_ = make_assembled_engine(problem, rules, impulses);
      return *other_;
    }
    if (joints != nullptr && settings_.formulation != Formulation::velocity)
      throw Error("joints are solved on their own in formulation velocity only",
                  "solver.formulation",
                  "use formulation: velocity, or solver.joints.method: iterative");
    if (settings_.formulation == Formulation::residual) {
      other_ = make_residual_engine(problem, op_, rules, impulses);
      return *other_;
    }
    hybrid_->start(problem, op_, sweep_options(problem, settings_, rules), joints, impulses);
    return *hybrid_;
  }

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
  const SolveReport& solve_joints(const ConstraintProblem& problem, std::span<double> impulses,
                                  std::span<double> velocities, double started) {
    op_.start(problem);
    // the solve needs no guess
    std::fill(impulses.begin(), impulses.end(), 0.0);
    StopRule stop = stop_;
    stop.max_iterations = std::min(stop.max_iterations, kJointSolves);
    stop.keep_best = false;
    // the solution is the first iterate, mostly: looked at once
    stop.history_set = std::max(stop.history_set, stop.report_set);
    monitor_.set_up(problem, op_, stop, impulses, velocities, started);
    joints_.measure(problem, op_, impulses, velocities);
    monitor_.know_general_rows(joints_.diagonal(), joints_.slips());
    // an absolute tolerance may be met by no impulses at all, which would let light or nearly
    // unloaded joints drift; their solve costs no more than it has already
    bool over = monitor_.start(false);
    monitor_.set_setup_seconds(wall_seconds() - started);
    for (int iteration = 1; !over; ++iteration) {
      // joints that nothing loads, as in free fall, slip little and by their tolerance too much
      joints_.refine(problem, op_, impulses, velocities, 1);
      if (iteration == 1) monitor_.allow(joints_.contradiction(problem));
      monitor_.begin(iteration, 0.0, true, true);
      over = monitor_.end();
    }
    SolveReport& report = monitor_.finish("");
    report.joints = joints_.report();
    monitor_.rest();
    return report;
  }

  /// Whether the guess, made admissible, ends the solve.
  bool start(SweepEngine& engine, std::span<double> impulses) {
    const ErrorParts* at_zero = engine.errors_at_zero();
    std::optional<StopMonitor::Estimate> seen;
    if (at_zero != nullptr && monitor_.takes_estimates())
      seen = monitor_.start_estimated(*at_zero, engine.errors());
    if (!seen) {
      engine.store_impulses(impulses);
      return monitor_.start();
    }
    if (seen->keep) engine.keep();
    if (!seen->evaluate) return false;
    engine.store_impulses(impulses);
    monitor_.begin(0, 0.0, true);
    return monitor_.end();
  }

  /// Sweeps until the monitor has seen enough. Where the engine knows its errors, only iterates
  /// that seem to end the solve are evaluated, at once. Else errors posted after sweep s travel
  /// during sweep s + 1 and are judged after it, whenever they arrived.
  void iterate(SweepEngine& engine, std::span<double> impulses) {
    const bool estimates = engine.knows_errors() && monitor_.takes_estimates();
    Looks looks(stop_.metric, stop_.max_iterations);
    for (int sweep = 1;; ++sweep) {
      const double running_error = engine.sweep(goes_forward(sweep));
      if (monitor_.pending() && monitor_.end()) return;
      // evaluations check the clock themselves
      const bool due = looks.due(sweep, engine.change(), monitor_.due(sweep), monitor_.excess());
      const bool late = !due && monitor_.out_of_time(sweep);
      if (!due && !late) continue;
      const bool last = late || sweep >= stop_.max_iterations;
      if (estimates && !last) {
        const StopMonitor::Estimate seen = monitor_.estimate(sweep, engine.errors(), running_error);
        if (seen.keep) engine.keep();
        if (!seen.evaluate) continue;
      }
      engine.store_impulses(impulses);
      monitor_.begin(sweep, running_error, last || estimates);
      if ((last || estimates) && monitor_.end()) return;
    }
  }

  StopRule stop_;
  GaussSeidelSettings settings_;
  bool joints_swept_;
  JointSystem joints_;
  // kept over solves
  DelassusOperator op_;
  StopMonitor monitor_;
  std::unique_ptr<HybridEngine> own_;
  HybridEngine* hybrid_;
  std::unique_ptr<SweepEngine> other_;  ///< of one solve, where the hybrid is not asked for
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
  visit.visit(
      "accelerated", s.accelerated,
      {.help = "sweeps are mixed by Anderson's method where contacts are compliant; not with order "
               "symmetric or another formulation than velocity"});
  visit.choose("kernels", s.kernels, kKernelNames,
               {.help = "instruction set of the sweeps; auto: the widest that the CPU has"});
}

std::unique_ptr<Solver> make_gauss_seidel(const StopRule& stop, const JointSolverSettings& joints,
                                          const GaussSeidelSettings& settings,
                                          HybridEngine* engine) {
  return std::make_unique<GaussSeidel>(stop, joints, settings, engine);
}

}  // namespace catena
