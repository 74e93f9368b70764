// What a run changes between its steps in what is constant within one.
#pragma once

#include <vector>

#include "catena/simulation/breaking.hpp"
#include "catena/simulation/case.hpp"
#include "catena/simulation/flow.hpp"

namespace catena {

/// What the case itself changes of what its steps take as constant: its outflows and insertions,
/// and joints that break.
/// The model stays what make_model made of the case; of Bodies, constants and joints change here,
/// by targets of motors that controllers set (Controls), and by what a program does (SceneAccess);
/// migration moves them between ranks and changes none.
///
/// Changes are made at the border of two steps, before the balance is checked, once for each
/// step, also where it is broken off and made again (State::prepared). A change here is collective
/// and independent of the number of ranks, leaves ids with their bodies and joints (those that are
/// to come have theirs from the start), makes links of joints anew where it touches them, and
/// counts in State::balance.flowed the bodies by which the partition ages.
class ModelChanges {
 public:
  /// Collective. `settings` and `model` must outlive it. Throws Error for a region of an insertion
  /// that is too small.
  ModelChanges(const Communicator& comm, const CaseSettings& settings, const Model& model);

  /// Makes the counters of a state at the start of a run.
  void begin(State& state) const;
  /// Whether a state has the counters of these insertions and outflows.
  bool belongs_to(const State& state) const;

  /// Collective. What is due at state.time: joints that broke in the last step are gone, bodies
  /// leave, then others come in.
  void apply(Bodies& bodies, State& state);

  /// Collective, after a step: what breaks by it.
  void after_step(const TimeStepper& stepper, const Bodies& bodies, State& state) {
    breaking_.note(stepper, bodies, state);
  }
  const Breaking& breaking() const { return breaking_; }

  const Inflow& inflow() const { return inflow_; }
  /// Mechanisms of which bodies came into an outflow in the last apply() for the first time, and
  /// which stay.
  const std::vector<StayingMechanism>& staying() const { return staying_; }

 private:
  Communicator comm_;
  const CaseSettings& settings_;
  const Model& model_;
  Breaking breaking_;
  Inflow inflow_;
  std::vector<StayingMechanism> staying_;
};

}  // namespace catena
