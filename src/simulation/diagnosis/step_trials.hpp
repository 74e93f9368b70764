// The last step's problem solved again in other ways: what advice on solvers rests on.
#pragma once

#include <string>
#include <vector>

#include "catena/simulation/simulation.hpp"

namespace catena {

/// What is changed of the step for a trial.
enum class TrialChange {
  method,          ///< solver.method, all else as in the case
  exact_joints,    ///< solver.joints.method: auto
  equal_masses,    ///< every body has the geometric mean of all masses
  no_overlaps,     ///< deep overlaps are not undone: their contacts have no bias
  one_point_each,  ///< each pair touches at one point, the one of largest impulse
  softer_contacts  ///< none is stiffer than stiffness_ratio kSoftRatio asks for
};

/// Contacts' stiffness of the trial softer_contacts: the default of contact.stiffness_ratio.
inline constexpr double kSoftRatio = 300.0;

/// A trial starts from zero impulses and stops as the case says, on the clock at the latest.
struct Trial {
  TrialChange change = TrialChange::method;
  std::string method;       ///< name of the solver
  bool met = false;         ///< the tolerance
  double error = 0.0;       ///< of the case's metric
  double over_start = 0.0;  ///< energy error over that of zero impulses
  int iterations = 0;
  double wall_s = 0.0;
};

/// Which changes may be tried.
struct TrialChoice {
  bool methods = false, exact_joints = false, equal_masses = false, no_overlaps = false,
       one_point_each = false, softer_contacts = false;
};

/// Collective. Solves the problem of the stepper's last step again; nothing of the run changes.
/// `overlap`: depth over the smaller half extent from which an overlap is deep; `seconds`: of each
/// trial at most. What does not fit the problem, or is too large to be tried (300,000 rows;
/// auto 20,000, interior_point 6,000, dantzig 300), is left out.
std::vector<Trial> try_step_again(const Simulation& sim, const TrialChoice& choice, double overlap,
                                  double seconds);

}  // namespace catena
