// What a failed step was like: its worst constraints with their names, what was measured of it,
// and what to change.
#pragma once

#include <string>
#include <vector>

#include "catena/simulation/simulation.hpp"
#include "simulation/diagnosis/advice.hpp"

namespace catena {

/// A constraint with much of a step's error.
struct WorstConstraint {
  std::string kind;      ///< contact, joint, limit (of a joint), drive (motor or friction)
  std::string name;      ///< of the joint, or of a contact's first body
  std::string other;     ///< of a contact's second body
  GlobalId a = kNoBody;  ///< the joint's id, or that of a contact's first body
  GlobalId b = kNoBody;  ///< of a contact's second body
  double energy = 0.0;   ///< J, its part of the energy error
  double slip = 0.0;     ///< |w|, m/s (of a joint's angular rows: rad/s)
  double impulse = 0.0;  ///< N s (N m s)
  double gap = 0.0;      ///< m, of contacts; negative: penetration
};

struct PostMortem {
  std::int64_t step = 0;  ///< that failed, counted from 1
  double time = 0.0;      ///< s, at its start
  std::string message;    ///< of a blow-up
  FailureMeasures measures;
  std::vector<WorstConstraint> worst;  ///< the worst first, ten at most
  Advice advice;
};

/// How long the step may be solved again in other ways: each trial three times as long as the
/// step's own solve and 5 ms at least, or, of a run that ends with it, ten times and 2 s.
enum class TrialTime { on_the_way, at_the_end };

/// Collective. Of the step that the stepper has just done, or in which it blew up (`blow_up`: with
/// what message). The same on every rank. With stepper natural there are no constraints to list.
PostMortem examine_step(const Simulation& sim, const std::string* blow_up,
                        TrialTime trials = TrialTime::at_the_end);

/// As JSON; see docs/output.md.
std::string to_json(const PostMortem& post_mortem);
/// For people: the worst constraints, then the advice.
std::string to_text(const PostMortem& post_mortem);

/// Collective. Writes directory/post-mortem-<8 digits>.json and returns its name. Throws
/// Error(input_output) on every rank.
std::string write_post_mortem(const Communicator& comm, const std::string& directory,
                              const PostMortem& post_mortem);

}  // namespace catena
