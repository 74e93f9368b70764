// A run: a case taken through time on all ranks.
#pragma once

#include <memory>
#include <string>

#include "catena/base/log.hpp"
#include "catena/simulation/case.hpp"
#include "catena/simulation/flow.hpp"
#include "catena/stepper/time_stepper.hpp"

namespace catena {

/// How a run is to be done, beside its case.
struct RunOptions {
  std::string directory;     ///< of the result
  bool force = false;        ///< replace Catena's own files in it
  std::string command_line;  ///< for the provenance
};

/// A case on this communicator's ranks: generates, distributes, steps, rebalances. Usable
/// step by step from a program, or whole by run().
class Simulation {
 public:
  /// Collective. Makes the bodies, each rank its share, and distributes them: first by the
  /// curve, then by the graph of the first contacts. Throws Error on every rank.
  Simulation(const Communicator& comm, const CaseSettings& settings);
  ~Simulation();

  /// Collective. One step; before it bodies leave and come in, and, where due or where many did, a
  /// look at the balance. Throws BlowUp.
  const StepReport& step();

  /// Collective. All steps of the case, with output into options.directory. Returns done or
  /// tolerance_missed; throws Error (BlowUp after dumping the step, with the result's index
  /// written).
  ExitCode run(const RunOptions& options, Log& log);

  /// Steps that run() does in all.
  std::int64_t n_steps() const;

  const Communicator& communicator() const { return comm_; }
  const CaseSettings& settings() const { return settings_; }
  const Model& model() const { return model_; }
  const Bodies& bodies() const { return bodies_; }
  const State& state() const { return state_; }
  const TimeStepper& stepper() const { return *stepper_; }
  /// Of the last distribution.
  const PartitionQuality& partition() const { return quality_; }
  /// Wall time of the constructor on the slowest rank, s.
  double setup_seconds() const { return setup_seconds_; }
  /// Largest rank's counted work of the last step over the mean.
  double imbalance() const { return imbalance_; }
  const Inflow& inflow() const { return *inflow_; }

 private:
  /// Collective. Removes and inserts what is due before a step.
  void let_flow();
  /// Collective. Of subdomains, over all ranks.
  int number_of_parts() const;
  /// Collective. Splits the graph of the present contacts and moves bodies to match.
  void distribute();
  /// Collective. The same for tiles, which are made anew.
  void distribute_tiles();
  /// Collective. Orders each rank's bodies along the curve anew.
  void renew_order();

  Communicator comm_;
  CaseSettings settings_;
  Model model_;
  Bodies bodies_;
  State state_;
  std::unique_ptr<TimeStepper> stepper_;
  PartitionQuality quality_;
  double imbalance_ = 1.0;
  bool unbalanced_ = false;
  std::unique_ptr<Inflow> inflow_;
  std::int64_t flowed_ = 0;  ///< bodies that came or left since the last look at the balance
  double setup_seconds_ = 0.0;
};

}  // namespace catena
