#include "solvers/patches/patched_sweeps.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "catena/base/timer.hpp"
#include "catena/constraints/block_diagonal.hpp"
#include "catena/constraints/contact_cone.hpp"
#include "solvers/batches/simd/dispatch.hpp"
#include "solvers/gauss_seidel/looks.hpp"
#include "solvers/gauss_seidel/sweep_engine.hpp"
#include "solvers/patches/contact_patch.hpp"
#include "solvers/patches/deep_mixing.hpp"
#include "solvers/patches/restless_contacts.hpp"
#include "solvers/work_estimate.hpp"

namespace catena {
namespace {

/// Sweeps of a round, and the plain ones that pass before contacts are watched.
constexpr int kMixedSweeps = 60, kPlainSweeps = 10, kUnwatched = 2;
/// Work of a mixed and of a watched sweep with what comes with it, in sweeps.
constexpr double kMixedWork = 4.0, kPlainWork = 2.0;
/// Mixed sweeps between looks at the error, which are made early where they would do.
constexpr int kLookInterval = 5;
constexpr int kMostRounds = 4;

/// Sigma of all rows: the norm in which sweeps contract.
std::vector<double> compliances(const ConstraintProblem& problem) {
  std::vector<double> sigma;
  sigma.reserve(problem.n_rows());
  for (Index block = 0; block < problem.n_blocks(); ++block)
    for (Index row = 0; row < block_view(problem, block).rows; ++row)
      sigma.push_back(compliance_of_row(problem, block, row));
  return sigma;
}

/// One solve under way.
class Rounds {
 public:
  Rounds(const ConstraintProblem& problem, const StopRule& stop,
         const GaussSeidelSettings& settings, HybridEngine& engine, StopMonitor& monitor,
         DelassusOperator& op, std::span<double> impulses, std::span<double> velocities,
         double started)
      : problem_(problem),
        stop_(with_end(stop)),
        impulses_(impulses),
        op_(op),
        engine_(engine),
        monitor_(monitor),
        looks_(stop.metric, stop.max_iterations),
        mixing_(problem.comm, compliances(problem)),
        restless_(problem),
        sweep_work_(estimate_work(problem).sweep) {
    op_.start(problem);
    monitor_.set_up(problem, op_, stop_, impulses, velocities, started);
    if (engine_.holds(problem))
      engine_.load(op_, impulses);
    else
      engine_.start(problem, op_,
                    {.local = {problem.law, settings.local, settings.relaxation},
                     .kernels = choose_kernels(settings.kernels)},
                    nullptr, impulses);
  }

  const SolveReport& run(double started) {
    engine_.store_impulses(impulses_);
    bool over = monitor_.start();
    monitor_.set_setup_seconds(wall_seconds() - started);
    for (int round = 1; !over; ++round) {
      over = mix() || watch(round >= kMostRounds);
      if (!over) patch();
    }
    return monitor_.finish(std::to_string(patches_) + " patches solved at once");
  }

 private:
  StopRule with_end(StopRule stop) {
    const auto asked = stop.give_up;
    stop.give_up = [this, asked](std::span<const HistoryEntry> history, double threshold) {
      return last_round_ || (asked && asked(history, threshold));
    };
    return stop;
  }

  /// Collective. A sweep, and a look at the error if that is `due`; whether it ends the solve.
  bool sweep(double work, bool due) {
    const double running_error = engine_.sweep(true);
    engine_.store_impulses(impulses_);
    used_ += work;
    const int limit = stop_.max_iterations;
    if (!due && used_ < limit && !monitor_.out_of_time(sweeps_)) return false;
    const double iteration = std::min<double>(limit, std::ceil(used_));
    monitor_.begin(static_cast<int>(iteration), running_error, true);
    return monitor_.end();
  }

  bool mix() {
    mixing_.begin(impulses_);
    for (int k = 1; k <= kMixedSweeps; ++k) {
      ++sweeps_;
      const bool asked = k % kLookInterval == 0;
      if (sweep(kMixedWork, looks_.due(sweeps_, mixing_.change(), asked, monitor_.excess())))
        return true;
      engine_.load(op_, mixing_.next(impulses_));
    }
    return false;
  }

  bool watch(bool last_round) {
    for (int k = 1; k <= kPlainSweeps; ++k) {
      ++sweeps_;
      last_round_ = last_round && k == kPlainSweeps;
      if (sweep(kPlainWork, k == kPlainSweeps)) return true;
      if (k == kUnwatched) restless_.begin(impulses_);
      if (k > kUnwatched) restless_.note(impulses_);
    }
    return false;
  }

  void patch() {
    std::vector<double> velocities(problem_.bodies.n_dofs()), w(impulses_.size());
    op_.velocities(impulses_, velocities);
    op_.residual_velocities(velocities, impulses_, w);
    double work = 0.0;
    std::int64_t solved = 0;
    for (const std::vector<Index>& group : restless_.groups()) {
      ContactPatch patch = make_patch(problem_, group, impulses_, w);
      const PatchWork of = solve_patch(patch);
      work += of.factors * estimate_dense_factor(patch.y.size());
      if (!of.solved) continue;
      ++solved;
      store_patch(problem_, group, patch, impulses_);
    }
    used_ += problem_.comm.max(work) / sweep_work_;
    patches_ += problem_.comm.sum(solved);
    engine_.load(op_, impulses_);
  }

  const ConstraintProblem& problem_;
  StopRule stop_;
  std::span<double> impulses_;
  DelassusOperator& op_;
  HybridEngine& engine_;
  StopMonitor& monitor_;
  Looks looks_;
  DeepMixing mixing_;
  RestlessContacts restless_;
  double sweep_work_;  ///< s
  double used_ = 0.0;  ///< sweeps' worth of work
  int sweeps_ = 0;
  std::int64_t patches_ = 0;
  bool last_round_ = false;
};

class PatchedSweeps final : public Solver {
 public:
  PatchedSweeps(const StopRule& stop, const GaussSeidelSettings& settings, HybridEngine& engine)
      : stop_(stop), settings_(settings), engine_(engine) {}
  std::string_view name() const override { return "patches"; }
  void set_stop_rule(const StopRule& rule) override { stop_ = rule; }

  const SolveReport& solve(const ConstraintProblem& problem, std::span<double> impulses,
                           std::span<double> velocities) override {
    const double started = wall_seconds();
    Rounds rounds(problem, stop_, settings_, engine_, monitor_, op_, impulses, velocities, started);
    const SolveReport& report = rounds.run(started);
    monitor_.rest();
    return report;
  }

 private:
  StopRule stop_;
  GaussSeidelSettings settings_;
  HybridEngine& engine_;
  // kept over solves
  DelassusOperator op_;
  StopMonitor monitor_;
};

}  // namespace

bool may_patch(const ConstraintProblem& problem) {
  if (problem.law != ContactLaw::coulomb || !has_kernels(problem) || problem.assembled ||
      problem.ordered)
    return false;
  const bool joints = std::any_of(problem.blocks.kind.begin(), problem.blocks.kind.end(),
                                  [](BlockKind kind) { return kind == BlockKind::bilateral; });
  const bool slips =
      std::any_of(problem.contacts.begin(), problem.contacts.end(),
                  [](const RigidContact& c) { return c.compliance > 0.0 && c.friction > 0.0; });
  return problem.comm.max(std::int64_t{joints ? 1 : 0}) == 0 &&
         problem.comm.max(std::int64_t{slips ? 1 : 0}) != 0;
}

std::unique_ptr<Solver> make_patched_sweeps(const StopRule& stop,
                                            const GaussSeidelSettings& settings,
                                            HybridEngine& engine) {
  return std::make_unique<PatchedSweeps>(stop, settings, engine);
}

}  // namespace catena
