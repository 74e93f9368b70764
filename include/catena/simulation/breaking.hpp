// Joints that break under their load.
#pragma once

#include <utility>
#include <vector>

#include "catena/comm/communicator.hpp"
#include "catena/model/state.hpp"
#include "catena/search/contact_search.hpp"
#include "catena/stepper/time_stepper.hpp"

namespace catena {

/// Joints with break limits (Model::break_limits). A joint breaks at the end of the first step in
/// which its mean load, or at whose end its energy, was above a limit, and is gone in the next.
/// What it had stored is lost with it: the work that it took stays in the balance as
/// EnergyTerm::joint_work.
class Breaking {
 public:
  /// `model` must outlive it; `step`: h, s.
  Breaking(const Communicator& comm, const Model& model, double step)
      : comm_(comm), model_(model), step_(step) {}

  bool none() const { return model_.break_limits.empty(); }

  /// Collective, after a step: adds what broke in it to State::broken.
  void note(const TimeStepper& stepper, const Bodies& bodies, State& state);

  /// Collective, before the next step and before anything else changes: takes those joints out,
  /// makes links of joints anew, and keeps the list of them.
  void take_out(Bodies& bodies, State& state);

  /// What the last take_out() took, ascending in joint, the same on every rank. Memory O(joints
  /// that broke in the step).
  const std::vector<BrokenJoint>& taken() const { return taken_; }

  /// Whether bodies that the last take_out() freed may overlap in a way that contacts would take
  /// for stored energy; the same on every rank. Then let_overlaps_relax() comes next.
  bool frees() const { return !taken_.empty() && model_.contact.stiffness != Stiffness::rigid; }
  /// Overlaps of bodies that a broken joint kept from contacts until now are no contacts' doing:
  /// they are put into the state as those of a start are (docs/theory.md, "Compliant contacts").
  /// `contacts`: of the bodies as they are now.
  void let_overlaps_relax(const ContactSet& contacts, State& state) const;

 private:
  Communicator comm_;
  const Model& model_;
  double step_;
  std::vector<BrokenJoint> taken_;
  /// Pairs with a body owned here that may make contacts since the last take_out(), ascending.
  std::vector<std::pair<GlobalId, GlobalId>> freed_;
};

}  // namespace catena
