#include "simulation/diagnosis/advice.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>

#include "catena/base/text.hpp"
#include "catena/math/types.hpp"

namespace catena {

namespace {

constexpr double kMuchMotion = 0.5;
/// Iterations missing, over those done, up to which more of them are the answer.
constexpr double kWithinReach = 20.0;
/// A change of the step is to blame for the error where it leaves a tenth of it at most.
constexpr double kExplains = 0.1;
/// Masses whose squares are near the end of the range of numbers, kg.
constexpr double kHugeMass = 1e100;
/// Energy errors up to so many times what round-off leaves cannot be made much smaller.
constexpr double kNearRoundOff = 10.0;
constexpr std::size_t kMaxReasons = 3;

/// Two digits, upwards.
double rounded_up(double value) {
  const double unit = std::pow(10.0, std::floor(std::log10(std::max(value, 1.0))) - 1.0);
  return std::ceil(value / unit) * unit;
}

std::string joined(const std::vector<std::string>& parts, const char* between) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : between) + part;
  return text;
}

bool is_direct(const std::string& method) {
  return method == "interior_point" || method == "dantzig";
}

bool missed(const FailureMeasures& m) {
  return !m.blow_up && m.finite && m.convergence.error > m.convergence.wanted;
}

/// Whether a body has to do with the failure: it blew up, or has much of the error.
bool concerns(const FailureMeasures& m, GlobalId body) {
  return m.blow_up || std::find(m.worst.begin(), m.worst.end(), body) != m.worst.end();
}

const Trial* trial_of(const FailureMeasures& m, TrialChange change) {
  const auto found = std::find_if(m.trials.begin(), m.trials.end(),
                                  [&](const Trial& t) { return t.change == change; });
  return found == m.trials.end() ? nullptr : &*found;
}

/// Whether the step with one thing changed leaves much less of its error, by the same iterations.
bool explains(const FailureMeasures& m, TrialChange change) {
  const Trial* trial = trial_of(m, change);
  if (trial == nullptr || !(m.start_energy > 0.0)) return false;
  return trial->met || trial->over_start <= kExplains * m.energy / m.start_energy;
}

std::string with_trial(const FailureMeasures& m, TrialChange change, const std::string& changed) {
  const Trial& trial = *trial_of(m, change);
  return "with " + changed + " the same solver " +
         (trial.met
              ? "meets the tolerance of this step"
              : "leaves " + short_text(trial.over_start, 3) + " of the error at the start, not " +
                    short_text(m.energy / m.start_energy, 3));
}

// A finding: when it speaks, how far the measure is beyond the usual, and what it says.

bool contradicts(const FailureMeasures& m) {
  /// Part of the error at the start that round-off alone makes of bodies that fit exactly.
  constexpr double kNothing = 1e-9;
  const Contradiction& c = m.contradiction.measured;
  if (!c.found) return false;
  if (m.blow_up) return c.least_error > kNothing * m.start_energy;
  return missed(m) && (m.metric == "energy" ? c.least_error > m.convergence.wanted
                                            : c.least_error > kExplains * m.energy);
}
bool holds_no_solution(const FailureMeasures& m) {
  return contradicts(m) && (!m.contradiction.measured.friction || m.law == ContactLaw::ccp);
}
bool holds_jammed(const FailureMeasures& m) {
  /// Part of the error: cones that could jam are everywhere where walls shear what is between them.
  constexpr double kMost = 0.5;
  return contradicts(m) && m.contradiction.measured.error >= kMost * m.energy &&
         m.contradiction.measured.friction && m.law != ContactLaw::ccp;
}
double weight_contradiction(const FailureMeasures&) { return 1e300; }
double weight_jammed(const FailureMeasures&) { return 1e3; }

std::string opposed_text(const FailureMeasures& m) {
  const NamedContradiction& c = m.contradiction;
  std::string text =
      c.holders.size() >= 2
          ? c.holders.front() + " against " + joined({c.holders.begin() + 1, c.holders.end()}, ", ")
          : joined(c.holders, ", ");
  if (!text.empty()) text += ", by way of ";
  text += joined(c.constraints, ", ");
  const std::size_t more =
      c.measured.n_constraints - std::min(c.measured.n_constraints, c.constraints.size());
  if (more > 0) text += " and " + std::to_string(more) + " others";
  return text;
}

std::string text_no_solution(const FailureMeasures& m) {
  const Contradiction& c = m.contradiction.measured;
  return "no solution exists: " + opposed_text(m) + "; they ask for " + short_text(c.closing, 3) +
         " m/s more than the bodies between them can do, so that every impulse leaves an error "
         "of " +
         short_text(c.least_error, 3) + " J or more, whatever the solver; " + m.contradiction.cause;
}

std::string text_jammed(const FailureMeasures& m) {
  const Contradiction& c = m.contradiction.measured;
  return "friction jams: " + opposed_text(m) + "; they approach by " + short_text(c.closing, 3) +
         " m/s while friction can hold the bodies between them by impulses that nothing bounds, so "
         "that a solution exists only where these contacts slide all the same, and none was "
         "found; " +
         m.contradiction.cause;
}

bool holds_overlap(const FailureMeasures& m) {
  /// Who is deeper in another than its own size has run away already.
  constexpr double kSunk = 2.0;
  if (!(m.overlap.value > kMuchOverlap)) return false;
  if (!m.blow_up) return explains(m, TrialChange::no_overlaps);
  return (m.step_number == 1 || m.overlap.value < kSunk) && !m.body.empty() &&
         (m.body == m.overlap.name_a || m.body == m.overlap.name_b);
}
double weight_overlap(const FailureMeasures& m) { return m.overlap.value / kMuchOverlap; }
std::string text_overlap(const FailureMeasures& m) {
  std::string text = "bodies " + m.overlap.name_a + " and " + m.overlap.name_b + " overlap by " +
                     short_text(100.0 * m.overlap.value, 3) +
                     " % of the smaller one's radius (deepest penetration " +
                     short_text(m.penetration, 3) + " m)";
  if (!m.blow_up)
    text += ", and " + with_trial(m, TrialChange::no_overlaps, "deep overlaps left as they are");
  return text + (m.step_number == 1 ? ": place them apart (" + m.overlap_keys + ")"
                                    : ": they ran into each other in an earlier step");
}

bool holds_strong_force(const FailureMeasures& m) {
  return m.force.value > kMuchMotion && concerns(m, m.force.a);
}
double weight_strong_force(const FailureMeasures& m) { return 2.0 * m.force.value / kMuchMotion; }
std::string text_strong_force(const FailureMeasures& m) {
  return "force " + m.force.name_b + " (forces." + m.force.name_b + ") makes body " +
         m.force.name_a + " faster by " + short_text(m.force_speed, 3) + " m/s in one step of " +
         short_text(m.step, 3) + " s and so moves it by " + short_text(m.force.value, 3) +
         " of its radius: its size, or the body's mass, is not what a step of this length can "
         "follow";
}

/// Ways of a step over a size that no shorter step makes sense for.
constexpr double kSenseless = 1e4;

bool holds_strong_gravity(const FailureMeasures& m) {
  return m.blow_up && !m.explicit_stepper && m.gravity.value > kMuchMotion;
}
double weight_strong_gravity(const FailureMeasures& m) { return m.gravity.value / kMuchMotion; }
std::string text_strong_gravity(const FailureMeasures& m) {
  const std::string text = m.gravity.name_b + " makes all bodies faster by " +
                           short_text(m.gravity_speed, 3) + " m/s in one step of " +
                           short_text(m.step, 3) + " s, which moves body " + m.gravity.name_a +
                           " by " + short_text(m.gravity.value, 3) + " of its radius: ";
  if (!(m.gravity.value < kSenseless))
    return text + "no step follows that; give " + m.gravity.name_b + " in m/s^2 (9.81 on earth)";
  return text + "a time.step below " + short_text(m.step * std::sqrt(0.2 / m.gravity.value), 3) +
         " s would follow it";
}

bool holds_fast_motion(const FailureMeasures& m) {
  return m.motion.value > kMuchMotion && concerns(m, m.motion.a);
}
double weight_fast_motion(const FailureMeasures& m) { return m.motion.value / kMuchMotion; }
std::string text_fast_motion(const FailureMeasures& m) {
  const std::string text =
      "body " + m.motion.name_a + " moves by " + short_text(m.motion.value, 3) +
      " of its radius (or rad) within a step of " + short_text(m.step, 3) + " s";
  if (!(m.motion.value < kSenseless))
    return text +
           (m.step_number == 1 ? ": it starts with that velocity (" + m.motion.name_b + ")" : "");
  return text + ": a time.step below " + short_text(m.step * 0.2 / m.motion.value, 3) +
         " s would follow it";
}

bool holds_mass_ratio(const FailureMeasures& m) {
  return missed(m) && m.mass_ratio.value > kMuchRatio && !is_direct(m.method) &&
         explains(m, TrialChange::equal_masses);
}
double weight_mass_ratio(const FailureMeasures& m) { return m.mass_ratio.value / kMuchRatio; }
std::string text_mass_ratio(const FailureMeasures& m) {
  return "body " + m.mass_ratio.name_a + " is " + short_text(m.mass_ratio.value, 3) +
         " times as heavy as " + m.mass_ratio.name_b + ", which it acts on, and " +
         with_trial(m, TrialChange::equal_masses, "equal masses") +
         ": bring the masses closer together";
}

bool holds_iterative_joints(const FailureMeasures& m) {
  return missed(m) && m.joints_swept && static_cast<double>(m.longest_chain) > kLongChain &&
         explains(m, TrialChange::exact_joints);
}
double weight_iterative_joints(const FailureMeasures& m) {
  return static_cast<double>(m.longest_chain) / kLongChain;
}
std::string text_iterative_joints(const FailureMeasures& m) {
  return "joints are swept (solver.joints.method: iterative) along chains of up to " +
         std::to_string(m.longest_chain) + " joints, and " +
         with_trial(m, TrialChange::exact_joints, "solver.joints.method: auto");
}

bool holds_singular(const FailureMeasures& m) {
  return m.explicit_stepper && m.blow_up && !m.singular_joint.empty();
}
double weight_singular(const FailureMeasures&) { return 1e3; }
std::string text_singular(const FailureMeasures& m) {
  return "sub-steps of any length lead to no one motion at joint " + m.singular_joint +
         ", as in a singular position (links of a loop in one line) without a smooth continuation, "
         "a dead point that a driver moves towards or a start in one: shorter steps are no way "
         "past it; let the driver stop before it, start beside it, or take time.stepper: spook "
         "with a compliance of the loop's joints";
}

bool holds_explicit_stepper(const FailureMeasures& m) {
  return m.explicit_stepper && m.blow_up && !holds_singular(m);
}
double weight_one(const FailureMeasures&) { return 1.0; }
std::string text_explicit_stepper(const FailureMeasures& m) {
  return "stepper natural is explicit: its step has to follow the fastest motion of springs and "
         "tension; " +
         std::string(m.error_controlled
                         ? "error control has shortened it as far as it may: look at the stiffest "
                           "springs and the lightest bodies, or take time.stepper: spook"
                         : "take a smaller time.step, error control (time.natural.scheme: "
                           "dop853), or time.stepper: spook");
}

bool near_round_off(const FailureMeasures& m) {
  return missed(m) && m.round_off > 0.0 && m.energy <= kNearRoundOff * m.round_off;
}
bool holds_round_off(const FailureMeasures& m) { return near_round_off(m); }
double weight_round_off(const FailureMeasures&) { return 1.1; }
std::string text_round_off(const FailureMeasures& m) {
  return "the energy error of " + short_text(m.energy, 3) + " J is what round-off leaves (" +
         short_text(m.round_off, 3) + " J): a smaller tolerance cannot be met; ask for " +
         short_text(rounded_up(2.0 * m.convergence.error / m.convergence.wanted), 3) +
         " times the present one";
}

std::string error_text(const FailureMeasures& m) {
  const Convergence& c = m.convergence;
  return "the error (" + m.metric + ") stood at " + short_text(c.error, 3) + " " + m.unit +
         ", wanted " + short_text(c.wanted, 3) + ", after " + std::to_string(c.iterations) +
         " iterations";
}

bool holds_too_few(const FailureMeasures& m) {
  return missed(m) && !near_round_off(m) &&
         m.convergence.missing <= kWithinReach * m.convergence.iterations;
}
std::string text_too_few(const FailureMeasures& m) {
  const Convergence& c = m.convergence;
  return error_text(m) + " and fell by " + short_text(100.0 * (1.0 - c.factor), 2) +
         " % in each: at this rate solver.max_iterations: " +
         whole_text(rounded_up(1.2 * (c.missing + c.iterations))) + " would be about enough";
}

bool holds_slow(const FailureMeasures& m) {
  return missed(m) && !near_round_off(m) && !holds_too_few(m);
}
double weight_slow(const FailureMeasures&) { return 0.9; }

/// What the other methods did with the step.
std::string tried_text(const FailureMeasures& m) {
  std::vector<std::string> met, failed;
  double longest = 0.0;
  for (const Trial& t : m.trials) {
    if (t.change != TrialChange::method) continue;
    if (t.met) {
      met.push_back("solver.method: " + t.method + " met it in " + short_text(t.wall_s, 2) + " s");
    } else {
      failed.push_back(t.method);
      longest = std::max(longest, t.wall_s);
    }
  }
  if (!met.empty())
    return "; tried on this step, " + joined(met, ", ") + " (this solve took " +
           short_text(m.wall_s, 2) + " s)";
  if (failed.empty()) return {};
  return "; tried on this step, " + joined(failed, ", ") + " missed it, too, in up to " +
         short_text(longest, 2) + " s each";
}

std::string text_slow(const FailureMeasures& m) {
  const Convergence& c = m.convergence;
  std::string text = error_text(m);
  if (!(c.factor < 0.9999)) {
    text += " and hardly falls any more";
  } else {
    text += ", falling by " + short_text(100.0 * (1.0 - c.factor), 2) + " % in each, so that " +
            short_text(rounded_up(c.missing), 3) + " more were needed";
  }
  if (!m.stuck.empty()) text += ": " + m.stuck;
  return text + tried_text(m);
}

bool holds_stiff_contacts(const FailureMeasures& m) {
  // a few more iterations are the better remedy
  constexpr double kFew = 10.0;
  return missed(m) && m.stiffness.value > kMuchStiffness &&
         !(m.convergence.missing <= kFew * m.convergence.iterations) &&
         explains(m, TrialChange::softer_contacts);
}
double weight_stiff_contacts(const FailureMeasures& m) {
  return std::min(m.stiffness.value / kMuchStiffness, 1e2);
}
std::string text_stiff_contacts(const FailureMeasures& m) {
  const std::string softer = with_trial(
      m, TrialChange::softer_contacts,
      "contacts of contact.stiffness: auto and stiffness_ratio " + short_text(kSoftRatio, 3));
  if (std::isinf(m.stiffness.value))
    return "contacts are rigid, which leaves the impulses of bodies that hold each other "
           "undetermined, and " +
           softer;
  return "the contact of " + m.stiffness.name_a + " and " + m.stiffness.name_b +
         " is as stiff as stiffness_ratio: " + short_text(m.stiffness.value, 3) + ", and " +
         softer + ": softer contacts, or a time.step below " +
         short_text(m.step * std::sqrt(kSoftRatio / m.stiffness.value), 3) +
         " s for the same stiffness in N/m";
}

bool holds_hyperstatic(const FailureMeasures& m) {
  return missed(m) && m.contacts_per_body > kManyContacts &&
         explains(m, TrialChange::one_point_each);
}
double weight_hyperstatic(const FailureMeasures& m) {
  return 0.5 * m.contacts_per_body / kManyContacts;
}
std::string text_hyperstatic(const FailureMeasures& m) {
  return "bodies touch at " + short_text(m.contacts_per_body, 3) + " points on average (up to " +
         std::to_string(m.most_contacts) + "), more than their motion can tell apart (" +
         std::to_string(m.rows) + " rows for " + std::to_string(6 * m.bodies) +
         " velocities), and " +
         with_trial(m, TrialChange::one_point_each, "one point for each pair") +
         ": shapes that touch at fewer points do that";
}

/// What was not checked of a body that blew up.
std::string unmeasured(const FailureMeasures& m) {
  if (!m.blow_up || m.body.empty()) return {};
  return "; not measured are springs, motors and materials that act on " + m.body + " (" +
         m.body_key + ")";
}

bool has_huge_mass(const FailureMeasures& m) { return m.heaviest.value > kHugeMass; }
bool holds_not_finite(const FailureMeasures& m) {
  if (has_huge_mass(m)) return m.blow_up || !m.finite;
  return !m.finite && !holds_fast_motion(m) && !holds_strong_force(m) && !holds_strong_gravity(m);
}
double weight_not_finite(const FailureMeasures& m) { return has_huge_mass(m) ? 1e300 : 0.5; }
std::string text_not_finite(const FailureMeasures& m) {
  if (has_huge_mass(m))
    return "numbers overflow: body " + m.heaviest.name_a + " has a mass of " +
           short_text(m.heaviest.value, 3) + " kg (" + m.heaviest.name_b + ")";
  return "the step's numbers are not finite, and masses are not the reason (at most " +
         short_text(m.heaviest.value, 3) + " kg)" + unmeasured(m);
}

struct Finding {
  std::string_view name;
  bool (*holds)(const FailureMeasures&);
  double (*weight)(const FailureMeasures&);  ///< measured over what is usual
  std::string (*text)(const FailureMeasures&);
};

constexpr Finding kFindings[] = {
    {kNoSolution, holds_no_solution, weight_contradiction, text_no_solution},
    {kJammed, holds_jammed, weight_jammed, text_jammed},
    {"overlap", holds_overlap, weight_overlap, text_overlap},
    {"strong_force", holds_strong_force, weight_strong_force, text_strong_force},
    {"strong_gravity", holds_strong_gravity, weight_strong_gravity, text_strong_gravity},
    {"fast_motion", holds_fast_motion, weight_fast_motion, text_fast_motion},
    {"mass_ratio", holds_mass_ratio, weight_mass_ratio, text_mass_ratio},
    {"iterative_joints", holds_iterative_joints, weight_iterative_joints, text_iterative_joints},
    {"singular_position", holds_singular, weight_singular, text_singular},
    {"explicit_stepper", holds_explicit_stepper, weight_one, text_explicit_stepper},
    {"round_off", holds_round_off, weight_round_off, text_round_off},
    {"too_few_iterations", holds_too_few, weight_one, text_too_few},
    {"slow_convergence", holds_slow, weight_slow, text_slow},
    {"stiff_contacts", holds_stiff_contacts, weight_stiff_contacts, text_stiff_contacts},
    {"hyperstatic", holds_hyperstatic, weight_hyperstatic, text_hyperstatic},
    {"not_finite", holds_not_finite, weight_not_finite, text_not_finite},
};
constexpr std::string_view kUnknown = "unknown";

std::string text_unknown(const FailureMeasures& m) {
  return "nothing that was measured is out of the ordinary: mass ratios up to " +
         short_text(m.mass_ratio.value, 3) + ", overlaps up to " +
         short_text(100.0 * m.overlap.value, 3) + " % of a radius, motion up to " +
         short_text(m.motion.value, 3) + " of a radius (or rad) in a step" + unmeasured(m);
}

}  // namespace

Convergence convergence_of(const SolveReport& report) {
  Convergence c;
  c.iterations = report.iterations;
  c.error = value_of(report.errors, report.metric);
  c.wanted = report.threshold;
  c.factor = std::numeric_limits<double>::quiet_NaN();
  c.missing = c.condition = kInfinity;
  const auto& history = report.history;
  if (history.size() < 2) return c;
  const HistoryEntry& last = history.back();
  // the later half, but two evaluations at least
  auto first = history.end() - 2;
  while (first != history.begin() && 2 * std::prev(first)->iteration >= last.iteration) --first;
  const double before = value_of(first->errors, report.metric);
  const double after = value_of(last.errors, report.metric);
  const int iterations = last.iteration - first->iteration;
  if (!(before > 0.0) || !(after > 0.0) || iterations <= 0) return c;
  c.factor = std::pow(after / before, 1.0 / iterations);
  if (!(c.factor < 1.0)) return c;
  c.condition = 1.0 / (1.0 - c.factor);
  if (c.wanted > 0.0) c.missing = std::max(0.0, std::log(c.wanted / c.error) / std::log(c.factor));
  return c;
}

std::vector<std::string_view> finding_names() {
  std::vector<std::string_view> names;
  for (const Finding& finding : kFindings) names.push_back(finding.name);
  names.push_back(kUnknown);
  return names;
}

TrialChoice trials_wanted(const FailureMeasures& m) {
  if (!missed(m) || m.explicit_stepper || holds_no_solution(m) || near_round_off(m)) return {};
  TrialChoice choice;
  choice.methods = holds_slow(m);
  choice.no_overlaps = m.overlap.value > kMuchOverlap;
  choice.equal_masses = m.mass_ratio.value > kMuchRatio && !is_direct(m.method);
  choice.exact_joints = m.joints_swept && static_cast<double>(m.longest_chain) > kLongChain;
  choice.one_point_each = m.contacts_per_body > kManyContacts;
  choice.softer_contacts = m.stiffness.value > kMuchStiffness;
  return choice;
}

Advice advise(const FailureMeasures& m) {
  std::vector<const Finding*> found;
  for (const Finding& finding : kFindings) {
    if (finding.holds(m)) found.push_back(&finding);
  }
  // where no solution exists nothing else is to blame for the error
  if (!found.empty() && found.front()->name == kNoSolution) found.resize(1);
  std::stable_sort(found.begin(), found.end(),
                   [&](const Finding* a, const Finding* b) { return a->weight(m) > b->weight(m); });
  if (found.size() > kMaxReasons) found.resize(kMaxReasons);
  const Finding unknown{kUnknown, nullptr, nullptr, text_unknown};
  if (found.empty()) found.push_back(&unknown);
  Advice advice;
  for (const Finding* finding : found) {
    std::string text = finding->text(m);
    text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
    advice.text += (advice.text.empty() ? "" : ". ") + text;
    advice.reasons.emplace_back(finding->name);
  }
  advice.text += ".";
  return advice;
}

}  // namespace catena
