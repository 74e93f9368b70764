#include "simulation/advice.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <limits>
#include <utility>

namespace catena {

namespace {

/// From where on something counts as a reason.
constexpr double kMuchOverlap = 0.05, kMuchMotion = 0.5, kMuchRatio = 50.0;
constexpr double kManyContacts = 5.0;  // of a body: 2.5 for each, whose rows exceed its velocities
constexpr double kLongChain = 10.0;
/// Iterations missing, over those done, up to which more of them are the answer.
constexpr double kWithinReach = 20.0;
constexpr std::size_t kMostReasons = 3;

std::string text_of(double value, const char* format = "%.3g") {
  char text[32];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

/// Two digits, upwards.
double rounded_up(double value) {
  const double unit = std::pow(10.0, std::floor(std::log10(std::max(value, 1.0))) - 1.0);
  return std::ceil(value / unit) * unit;
}

struct Reason {
  double weight;  ///< measured over what is usual
  std::string name, text;
};

bool is_direct(const std::string& method) {
  return method == "interior_point" || method == "dantzig";
}

void add_overlap(const FailureMeasures& m, std::vector<Reason>& reasons) {
  if (!(m.overlap.value > kMuchOverlap)) return;
  reasons.push_back({m.overlap.value / kMuchOverlap, "overlap",
                     "bodies " + m.overlap.name_a + " and " + m.overlap.name_b + " overlap by " +
                         text_of(100.0 * m.overlap.value) +
                         " % of the smaller one's radius (deepest penetration " +
                         text_of(m.penetration) +
                         " m): place them apart at the start, take a smaller time.step so that "
                         "they do not run into each other, or push them apart more slowly "
                         "(contact.recovery_speed)"});
}

void add_motion(const FailureMeasures& m, std::vector<Reason>& reasons) {
  if (!(m.motion.value > kMuchMotion)) return;
  const bool known = std::isfinite(m.motion.value);
  reasons.push_back({m.motion.value / kMuchMotion, "fast_motion",
                     "body " + m.motion.name_a + " moves by " + text_of(m.motion.value) +
                         " of its radius (or rad) within a step of " + text_of(m.step) +
                         " s: a time.step below " +
                         text_of(known ? m.step * 0.2 / m.motion.value : 0.1 * m.step) +
                         " s would follow it; look also at what drives it so fast"});
}

void add_mass_ratio(const FailureMeasures& m, std::vector<Reason>& reasons) {
  if (!(m.mass_ratio.value > kMuchRatio) || is_direct(m.method)) return;
  reasons.push_back(
      {m.mass_ratio.value / kMuchRatio, "mass_ratio",
       "body " + m.mass_ratio.name_a + " is " + text_of(m.mass_ratio.value) +
           " times as heavy as " + m.mass_ratio.name_b +
           ", which it acts on: sweeps and gradients need iterations in proportion to such "
           "ratios; bring the masses closer together, or take solver.method: interior_point or "
           "auto, which do not mind them"});
}

void add_joints(const FailureMeasures& m, std::vector<Reason>& reasons) {
  const auto chain = static_cast<double>(m.longest_chain);
  if (!m.joints_swept || !(chain > kLongChain)) return;
  reasons.push_back({chain / kLongChain, "iterative_joints",
                     "joints are swept (solver.joints.method: iterative) along chains of up to " +
                         std::to_string(m.longest_chain) +
                         " joints, which takes iterations in proportion to the square of that "
                         "length: solver.joints.method: auto solves them exactly"});
}

void add_stepper(const FailureMeasures& m, std::vector<Reason>& reasons) {
  if (!m.explicit_stepper || !m.blow_up) return;
  reasons.push_back({1.0, "explicit_stepper",
                     "stepper natural is explicit: its step has to follow the fastest motion "
                     "of springs and tension; take a smaller time.step, error control "
                     "(time.natural.scheme: dop853), or time.stepper: spook"});
}

void add_convergence(const FailureMeasures& m, std::vector<Reason>& reasons) {
  const Convergence& c = m.convergence;
  if (m.blow_up || !m.finite || !(c.error > c.wanted)) return;
  const std::string fell = "the error (" + m.metric + ") stood at " + text_of(c.error) + " " +
                           m.unit + ", wanted " + text_of(c.wanted) + ", after " +
                           std::to_string(c.iterations) + " iterations";
  if (c.missing <= kWithinReach * c.iterations) {
    reasons.push_back({1.0, "too_few_iterations",
                       fell + " and fell by " + text_of(100.0 * (1.0 - c.factor), "%.2g") +
                           " % in each: solver.max_iterations: " +
                           text_of(rounded_up(1.2 * (c.missing + c.iterations)), "%.0f") +
                           " would be about enough"});
    return;
  }
  const bool stands = !(c.factor < 0.9999);
  reasons.push_back(
      {0.9, "slow_convergence",
       fell +
           (stands ? std::string(" and hardly falls any more")
                   : ", falling by " + text_of(100.0 * (1.0 - c.factor), "%.2g") +
                         " % in each, so that " + text_of(rounded_up(c.missing)) +
                         " more were needed") +
           (is_direct(m.method)
                ? std::string(": the tolerance is at what round-off allows, or close to it; ask "
                              "for less")
                : std::string(": more iterations alone are no way out; take solver.method: "
                              "interior_point or auto, a smaller time.step, or a looser "
                              "tolerance"))});
}

void add_contacts(const FailureMeasures& m, std::vector<Reason>& reasons) {
  if (!(m.contacts_per_body > kManyContacts) || m.blow_up) return;
  reasons.push_back(
      {0.5 * m.contacts_per_body / kManyContacts, "hyperstatic",
       "bodies touch at " + text_of(m.contacts_per_body) + " points on average (up to " +
           std::to_string(m.most_contacts) + "), more than their motion can tell apart (" +
           std::to_string(m.rows) + " rows for " + std::to_string(6 * m.bodies) +
           " velocities): impulses are not unique and converge slowly; warm starts and simpler "
           "shapes help"});
}

}  // namespace

Convergence convergence_of(const SolveReport& report) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
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

Advice advise(const FailureMeasures& m) {
  std::vector<Reason> reasons;
  add_overlap(m, reasons);
  add_motion(m, reasons);
  add_mass_ratio(m, reasons);
  add_joints(m, reasons);
  add_stepper(m, reasons);
  add_convergence(m, reasons);
  add_contacts(m, reasons);
  std::stable_sort(reasons.begin(), reasons.end(),
                   [](const Reason& a, const Reason& b) { return a.weight > b.weight; });
  if (reasons.size() > kMostReasons) reasons.resize(kMostReasons);
  Advice advice;
  for (Reason& reason : reasons) {
    if (!advice.text.empty()) advice.text += ". ";
    reason.text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(reason.text[0])));
    advice.text += reason.text;
    advice.reasons.push_back(reason.name);
  }
  if (advice.reasons.empty()) {
    advice.reasons.emplace_back(m.finite ? "unknown" : "not_finite");
    advice.text = "Neither masses, overlaps nor speeds are out of the ordinary";
    if (m.blow_up) {
      advice.text +=
          ": take a smaller time.step, and look at forces, springs, motors and materials" +
          (m.body.empty() ? std::string() : " that act on " + m.body);
    }
  }
  advice.text += ".";
  return advice;
}

}  // namespace catena
