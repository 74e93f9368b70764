// Where a run's time, memory and messages go: DIR/profile.json (docs/output.md).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "catena/base/index.hpp"
#include "catena/comm/collective_count.hpp"
#include "catena/simulation/simulation.hpp"

namespace catena {

/// Parts of a run's wall time; together they are all of it but for the loop itself.
enum class RunPhase {
  setup,         ///< bodies made and distributed
  contacts,      ///< contact search with ghosts
  rows,          ///< constraint problem, first guess
  solver_setup,  ///< until the first iteration may begin, errors at zero impulses included
  sweeps,        ///< iterations and the errors on the way
  motion,        ///< impulses kept, poses, projection of joints
  checks,        ///< soundness, energies, sums over ranks
  flow,          ///< bodies that come and go
  balance,       ///< checks of the balance, splitting, migration
  probes,        ///< what is measured
  output,        ///< snapshots, series, dumps, messages
  checkpoint,
};
inline constexpr std::array<std::string_view, 12> kRunPhaseNames = {
    "setup",  "contacts", "rows",    "solver_setup", "sweeps", "motion",
    "checks", "flow",     "balance", "probes",       "output", "checkpoint"};

/// Collects this rank's figures of one run and writes those of all ranks.
class RunProfile {
 public:
  /// Starts the clock; the simulation's set-up counts as passed before.
  explicit RunProfile(const Simulation& sim);

  /// Time spent in a phase so far, s, for a ScopedTimer. What a step spends is added by after_step.
  double& seconds(RunPhase phase) { return seconds_[ordinal(phase)]; }

  /// What has passed since construction was output.
  void start_loop();
  void before_step();
  /// Collective. Returns the step's wall time on the slowest rank, s.
  double after_step();

  /// Collective. Writes `directory`/profile.json. `ended`: how the run did, one word.
  void write(const std::string& directory, std::string_view ended) const;

 private:
  /// A number of this rank, of which the file gives least, mean and largest over the ranks.
  struct Spread {
    std::string_view name;
    double value;
  };
  std::vector<Spread> rank_figures() const;
  std::string text(std::string_view ended, const std::string& hosts,
                   const std::vector<std::string>& spread_members) const;

  const Simulation& sim_;
  std::array<double, kRunPhaseNames.size()> seconds_{};
  StepTimes stages_;
  double start_;             ///< wall clock at construction, s
  double cpu_start_ = 0.0;   ///< CPU time at the start of a step, s
  double step_start_ = 0.0;  ///< wall clock there
  TrafficCount traffic_start_;
  CollectiveCount collectives_start_;
  std::int64_t steps_ = 0, missed_ = 0;
  std::int64_t iterations_ = 0, most_iterations_ = 0;
  double contacts_ = 0.0;  ///< over all ranks, summed over the steps
  double steps_wall_ = 0.0, steps_cpu_ = 0.0;
  double imbalance_ = 0.0, worst_imbalance_ = 1.0;
  // this rank's, summed over the steps
  double own_contacts_ = 0.0, own_rows_ = 0.0, contact_updates_ = 0.0;
  double ghosts_ = 0.0, shared_ = 0.0;
  TrafficCount traffic_;
  CollectiveCount collectives_;
};

}  // namespace catena
