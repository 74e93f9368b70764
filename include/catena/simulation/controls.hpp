// Controllers: from what probes measure to what motors and forces do.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "catena/comm/communicator.hpp"
#include "catena/model/state.hpp"
#include "catena/probes/probe_set.hpp"
#include "catena/scenarios/scene.hpp"
#include "catena/simulation/controller_settings.hpp"

namespace catena {

/// The controllers of a case. They are discrete: at the end of each of its intervals a controller
/// makes an output of what the probes measured there, which holds from the next step on. An output
/// is the target of a joint's motor (JointAxis::target, with the rank that holds the joint), the
/// factor on a force (State::force_factors), or a velocity of a motion (State::motions). While an
/// input is not defined (before the first step, or the mean velocity of an empty region) a
/// controller leaves its drive as it is.
///
/// State::controls holds what they keep: outputs, integrals, the last measures.
class Controls {
 public:
  /// Collective. Throws Error with the controller's place for names that are unknown, drives that
  /// cannot be driven, and expressions that use each other in a circle. `model` and `probes` must
  /// outlive it; `step`: h, s.
  Controls(const Communicator& comm, const std::vector<ControllerSettings>& controllers,
           const SceneSettings& scene, const Model& model, const ProbeSet& probes, double step);
  ~Controls();

  bool none() const;
  /// Makes the numbers of a state at the start of a run; controllers that need no measure give
  /// their first output.
  void begin(Bodies& bodies, State& state);
  /// Whether a state has the numbers of these controllers.
  bool belongs_to(const State& state) const;
  /// Local, after the probes of a step. Throws BlowUp, naming the controller, for an output that is
  /// not finite; Error for a servo that would have to pull.
  void after_step(Bodies& bodies, State& state);
  /// Controllers with their last outputs, for what ends a run: "'hold' (output 1e+09 rad/s)".
  std::string outputs(const State& state) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace catena
