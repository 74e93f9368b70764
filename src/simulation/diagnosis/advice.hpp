// What to change in a case whose step failed, from what was measured of it: a table of findings,
// each with the measurement that must hold before it speaks (docs/troubleshooting.md).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "catena/base/index.hpp"
#include "catena/solvers/solver.hpp"
#include "simulation/diagnosis/contradiction.hpp"
#include "simulation/diagnosis/step_trials.hpp"

namespace catena {

/// The largest of something over all bodies or pairs, and whose it is; 0: there is none.
struct Extreme {
  double value = 0.0;
  GlobalId a = kNoBody, b = kNoBody;
  std::string name_a, name_b;
};

/// How a solve converged.
struct Convergence {
  int iterations = 0;
  double error = 0.0, wanted = 0.0;  ///< of the stop rule's metric
  /// Factor of the error per iteration over the last half of the solve; NaN: not known.
  double factor = 0.0;
  /// Iterations that it would still take at this factor; infinite where the error does not fall.
  double missing = 0.0;
  /// 1 / (1 - factor): of the size of the condition number for sweeps, infinite at 1.
  double condition = 0.0;
};
/// Local. From a report's history.
Convergence convergence_of(const SolveReport& report);

/// Overlaps over the smaller half extent, mass ratios, joints in a row, contact points on a body
/// and contacts' stiffness (as contact.stiffness_ratio) from which on they are looked into.
inline constexpr double kMuchOverlap = 0.05, kMuchRatio = 50.0, kLongChain = 10.0,
                        kManyContacts = 5.0, kMuchStiffness = 1000.0;

/// A contradiction with the names of who takes part.
struct NamedContradiction {
  Contradiction measured;
  std::vector<std::string> constraints;  ///< `contact press / ball`, `joint slide`
  std::vector<std::string> holders;      ///< `press (moving)`, `floor`, `the world (joint slide)`
  std::string cause;                     ///< what asks for too much, with its key
};

/// What is measured of a failed step, over all ranks.
struct FailureMeasures {
  bool blow_up = false;          ///< else the tolerance was missed
  bool finite = true;            ///< the solve did not break down
  std::int64_t step_number = 0;  ///< counted from 1
  std::string method, metric;    ///< names of solver.method and solver.metric
  ContactLaw law = ContactLaw::coulomb;
  std::string unit;            ///< of the metric
  GlobalId body_id = kNoBody;  ///< that blew up: the fastest of the solve; kNoBody: none is known
  std::string body;            ///< its name
  std::string body_key;        ///< its key
  std::string stuck;           ///< SolveReport::stuck: why a direct method has no solution
  Convergence convergence;
  double wall_s = 0.0;          ///< of the solve
  double start_energy = 0.0;    ///< energy error of zero impulses, J
  double energy = 0.0;          ///< energy error, J
  double round_off = 0.0;       ///< energy error that round-off alone leaves, J
  std::vector<GlobalId> worst;  ///< bodies of the constraints with most of the error, ten at most
  NamedContradiction contradiction;
  std::vector<Trial> trials;  ///< of the step in other ways
  Extreme mass_ratio;         ///< heavier over lighter of two dynamic bodies in a contact or joint
  Extreme heaviest;           ///< kg; name_b: the key of its mass
  Extreme overlap;            ///< penetration over the smaller body's half extent
  std::string overlap_keys;   ///< where the two bodies stand
  double penetration = 0.0;   ///< m, deepest
  /// Mean diagonal of a contact's rows of N over Sigma; infinite where contacts are rigid.
  Extreme stiffness;
  /// Way in a step over the half extent, or angle in a step, rad; name_b: the key of the body.
  Extreme motion;
  /// Way that a given force makes a body go in a step over its half extent; name_b: of the force.
  Extreme force;
  double force_speed = 0.0;  ///< m/s that it adds in the step
  Extreme gravity;           ///< the same of gravity; name_b: its key
  double gravity_speed = 0.0;
  double step = 0.0;        ///< h, s
  std::int64_t bodies = 0;  ///< dynamic ones
  std::int64_t contacts = 0;
  std::int64_t rows = 0;           ///< of all constraints
  double contacts_per_body = 0.0;  ///< that a dynamic body takes part in, on average
  std::int64_t most_contacts = 0;  ///< of one body
  bool explicit_stepper = false;   ///< time.stepper: natural
  bool error_controlled = false;   ///< with time.natural.scheme: dop853
  std::string singular_joint;  ///< of stepper natural: shorter sub-steps agree on no motion there
  bool joints_swept = false;   ///< solver.joints.method: iterative
  std::int64_t longest_chain = 0;  ///< joints
};

/// Reasons, the gravest first, and one paragraph that says what was measured and what to change.
struct Advice {
  std::vector<std::string>
      reasons;       ///< overlap, fast_motion, mass_ratio, ...; see docs/troubleshooting.md
  std::string text;  ///< a sentence for each
};

inline constexpr std::string_view kNoSolution = "no_solution", kJammed = "jammed";

/// Names of all findings, in the order of the table.
std::vector<std::string_view> finding_names();

/// Which trials of the step the findings need that its measures make likely.
TrialChoice trials_wanted(const FailureMeasures& measures);

Advice advise(const FailureMeasures& measures);

}  // namespace catena
