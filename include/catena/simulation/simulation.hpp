// A run: a case taken through time on all ranks.
#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "catena/base/log.hpp"
#include "catena/base/timer.hpp"
#include "catena/io/checkpoint.hpp"
#include "catena/probes/condition.hpp"
#include "catena/probes/probe_set.hpp"
#include "catena/scenarios/scene_maker.hpp"
#include "catena/simulation/case.hpp"
#include "catena/simulation/controls.hpp"
#include "catena/simulation/model_changes.hpp"
#include "catena/simulation/scene_access.hpp"
#include "catena/simulation/stop_signals.hpp"
#include "catena/stepper/time_stepper.hpp"

namespace catena {

class EarlierRun;

/// The checkpoint that a run goes on from.
struct ResumedFrom {
  std::string path;
  int ranks = 0;  ///< that wrote it
  std::int64_t step = 0;
  CheckpointNotes notes;
};

/// How a run is to be done, beside its case.
struct RunOptions {
  std::string directory;     ///< of the result
  bool force = false;        ///< replace Catena's own files in it
  std::string command_line;  ///< for the provenance
  /// Wall time since `started`, s, that the run may take: it stops in time with a checkpoint.
  double max_wall = std::numeric_limits<double>::infinity();
  double started = wall_seconds();  ///< of the program
  StopSignals* signals = nullptr;   ///< that the run listens to; null: to none
  std::optional<ResumedFrom> resumed;
};

/// Wall times of the last Simulation::step, s, this rank's.
struct LoopTimes {
  double flow = 0.0;     ///< bodies that leave and come in
  double balance = 0.0;  ///< checks of the balance, splitting and migration, curve order
  double step = 0.0;     ///< the stepper's step
  double probes = 0.0;   ///< what is measured
};

/// A case on this communicator's ranks: generates, distributes, steps, rebalances. Usable
/// step by step from a program, or whole by run().
class Simulation {
 public:
  /// Collective. Makes the bodies, each rank its share, or takes them from the end of an earlier
  /// run (settings.initial), and distributes them: first by the curve, then by the graph of the
  /// first contacts. Throws Error on every rank.
  Simulation(const Communicator& comm, const CaseSettings& settings);
  /// Collective. The same case gone on from a checkpoint: bodies and state are those of
  /// `checkpoint`, which is emptied; all else comes from the case. On as many ranks as wrote it
  /// every body stays where it was, on others all are distributed anew.
  Simulation(const Communicator& comm, const CaseSettings& settings, Checkpoint& checkpoint);
  ~Simulation();

  /// Collective. One step; before it bodies leave and come in, and, where due or where many did, a
  /// check of the balance. Throws BlowUp.
  const StepReport& step();

  /// Called by all ranks before each step, where bodies and joints may come and go, or after it,
  /// when everything is measured; in the order in which they were given. What they set through
  /// scene() is of the state; what they keep themselves is in no checkpoint. Where one throws on
  /// one rank it must do so on all before they communicate again.
  using StepCallback = std::function<void(Simulation&)>;
  /// Adds a callback before each step.
  void before_each_step(StepCallback callback) { before_.push_back(std::move(callback)); }
  /// Adds a callback after each step, in which bodies and joints neither come nor go.
  void after_each_step(StepCallback callback) { after_.push_back(std::move(callback)); }

  /// Whether contacts and joints of stepper() are those of the step that led to the state: not
  /// before the first one, nor after bodies or joints have come or gone.
  bool shows_last_step() const { return shows_step_; }

  /// Whether there is any.
  bool has_callbacks() const { return !before_.empty() || !after_.empty(); }

  /// Bodies and joints, seen and changed between steps and in callbacks.
  SceneAccess& scene() { return scene_; }

  /// Collective, between steps or in a callback before one. Adds a body or joint as text of the
  /// keys of one of `bodies` or `joints` says, by whose name scene() and results know it from then
  /// on; names of what has left are not free again. Positions are those of now. Files in the text
  /// are relative to `directory`. Errors are those of a case, with `source` as the text's name, and
  /// besides where the body would overlap another. Nothing has changed then.
  GlobalId add_body(const std::string& text, const std::string& source,
                    const std::string& directory);
  GlobalId add_joint(const std::string& text, const std::string& source);

  /// Collective. Writes the state between two steps under this name: resume() goes on from it.
  void write_checkpoint(const std::string& path) const;

  /// Collective. All steps of the case that are left, with output into options.directory. Returns
  /// done, stopped_early (with a checkpoint) or tolerance_missed; throws Error (BlowUp after
  /// dumping the step, with the result's index written).
  ExitCode run(const RunOptions& options, Log& log);

  /// Steps that run() does in all.
  std::int64_t n_steps() const;

  /// The ranks of the run.
  const Communicator& communicator() const { return comm_; }
  /// The case, with defaults.
  const CaseSettings& settings() const { return settings_; }
  /// What is constant in the run, the same on every rank.
  const Model& model() const { return model_; }
  /// This rank's bodies and joints: what is constant of them, until the next step or change.
  const Bodies& bodies() const { return bodies_; }
  /// What changes of them, in the same order, and time and step.
  const State& state() const { return state_; }
  /// Contacts, reports and the problem of the last step.
  const TimeStepper& stepper() const { return *stepper_; }
  /// The quality of the last distribution.
  const PartitionQuality& partition() const { return quality_; }
  /// Bonds that the constructor made, over all ranks.
  std::int64_t n_bonds() const { return n_bonds_; }
  /// Wall time of the constructor on the slowest rank, s.
  double setup_seconds() const { return setup_seconds_; }
  /// Largest rank's work of the last step over the mean.
  double imbalance() const { return imbalance_of(state_.balance); }
  /// The same with its two parts; even until there was a step.
  const WorkBalance& work_balance() const { return work_balance_; }
  /// The last look that split the graph.
  const RebalanceDecision& last_look() const { return look_; }
  /// Bodies that come and leave, and what has broken.
  const ModelChanges& changes() const { return changes_; }
  /// What is measured, and its last values.
  const ProbeSet& probes() const { return probes_; }
  /// Why the case's `stop_when` ends the run after the last step; empty: it does not.
  std::string stop_reason() const { return stop_when_.met(state_); }
  /// Collective. Of subdomains, over all ranks.
  int number_of_parts() const;
  /// Where the last step() spent its time.
  const LoopTimes& loop_times() const { return loop_times_; }
  /// What steps check while they last. Where it asks for an end, step() throws StopAsked on every
  /// rank and leaves the state of the step's start, from which step() may be called again.
  Watch& watch() { return watch_; }
  /// Remarks on the input that do not stop the run: the model's, and that memory may get short.
  const std::vector<std::string>& warnings() const { return warnings_; }
  /// What the case took from an earlier run, in sentences for the log; none without one.
  const std::vector<std::string>& remarks() const { return remarks_; }
  /// The checkpoint of that run; empty without one.
  const std::string& earlier_checkpoint() const { return earlier_checkpoint_; }
  /// Bodies that start elsewhere than the case says, since an earlier run left them there.
  const std::vector<MovedStart>& moved_starts() const { return starts_; }

 private:
  Simulation(const Communicator& comm, const CaseSettings& settings,
             std::unique_ptr<EarlierRun> earlier);
  /// Collective. The bodies that the case makes itself, each rank its share.
  void make_bodies();
  /// Collective. Those of an earlier run; each rank has what it has read.
  void take_bodies(EarlierRun& earlier);
  /// Collective. Splits bodies among ranks anew, and makes the bonds of the case.
  void place_bodies(std::span<const std::string> bonds_gone_on = {});
  /// Collective. What comes before any body is there.
  void begin();
  std::unique_ptr<TimeStepper> make_stepper() const;
  /// Collective. What the model changes by before a step.
  void apply_changes();
  /// Collective. Bodies or joints have come or gone by scene_.
  void note_change();
  /// Collective. Where a check of the balance is due, and what follows from it.
  void maybe_rebalance();
  const StepReport& take_step();
  /// Collective.
  void call(const std::vector<StepCallback>& callbacks);
  /// Collective. Measures the step just done; controllers answer.
  void measure();
  /// Collective. The last step's work; `own_seconds`: of this rank's step without its waits.
  void note_balance(const StepReport& report, double own_seconds);
  /// Collective. Refuses placed bodies whose mechanisms would not fit; `available`: MemoryNeed's.
  void check_memory(double available);
  /// Collective. Splits the graph of the present contacts and moves bodies to match.
  void distribute();
  /// Collective. The same for tiles, which are made anew.
  void distribute_tiles();
  /// Collective. Whole tiles to ranks, by the work of the present contacts.
  void deal_present_tiles(const std::vector<int>& tile, int n_tiles);
  /// Collective. Bodies and what belongs to them, as a checkpoint gave them, to their ranks.
  void restore_places(const Checkpoint& checkpoint);
  /// Collective. Orders each rank's bodies along the curve anew.
  void renew_order();

  Communicator comm_;
  CaseSettings settings_;
  std::vector<MovedStart> starts_;
  Model model_;  ///< constant but for the names of what is added
  std::vector<std::string> warnings_, remarks_;
  std::string earlier_checkpoint_;
  ModelChanges changes_;
  ProbeSet probes_;
  ProbeCondition stop_when_;
  Controls controls_;
  Bodies bodies_;
  State state_;
  SceneAccess scene_;
  std::vector<StepCallback> before_, after_;
  Watch watch_;
  std::unique_ptr<TimeStepper> stepper_;
  bool shows_step_ = false;
  std::int64_t n_bonds_ = 0;
  PartitionQuality quality_;
  RebalanceDecision look_;
  WorkRate rate_;  ///< its factor: smoothed over steps
  double own_seconds_ = 0.0, own_work_ = 0.0;
  WorkBalance work_balance_;
  double setup_seconds_ = 0.0;
  LoopTimes loop_times_;
};

/// Collective. The case gone on from the checkpoint `file`, or, if that is empty, from the newest
/// in options.directory that is whole; damaged ones are reported. Sets options.resumed. Throws
/// Error on every rank: bad_input where there is no checkpoint, or the case is not that of the
/// checkpoint (but for time.end, stop_when, solver, parallel and output); input_output where it
/// cannot be read.
std::unique_ptr<Simulation> resume(const Communicator& comm, const CaseSettings& settings,
                                   const std::string& file, RunOptions& options, Log& log);

}  // namespace catena
