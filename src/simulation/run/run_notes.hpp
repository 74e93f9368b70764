// What a run reports of itself while it goes, and at its end.
#pragma once

#include <array>
#include <limits>
#include <string>
#include <vector>

#include "catena/base/log.hpp"
#include "catena/simulation/simulation.hpp"

namespace catena {

/// Warnings, remarks and progress of one run. All members are collective.
class RunNotes {
 public:
  RunNotes(const Simulation& sim, Log& log) : sim_(sim), log_(log) {}

  /// Before the first step.
  void start(const std::string& directory, std::int64_t bodies);
  /// After each step.
  void after_step(const StepReport& report);
  /// A line at most every second, and at the end.
  void progress(const StepReport& report);
  /// After the last step; `wall`: of all steps, s.
  void summary(const std::string& directory, double wall);

  /// Whether the last step missed its tolerance.
  bool missed_last() const { return missed_last_; }

 private:
  /// Collective.
  void note_few_bodies();
  void note_overlaps(const StepReport& r);
  void note_depth(const StepReport& r);
  void note_sunk(const StepReport& r);
  void note_far(const StepReport& r);
  void note_tolerance(const StepReport& r);
  /// Collective. Keeps the advice of the step that missed its tolerance by most.
  void keep_advice(const StepReport& r);
  void note_balance();
  void note_choice(const StepReport& r);
  void note_apart(const StepReport& r);
  void note_joints(const StepReport& r);
  void note_drift(const StepReport& r);
  void note_parts(const StepReport& r);
  void note_singular(const StepReport& r);
  /// Of the singular position that steps were near to until now, if any.
  void count_singular();
  void note_energy(const StepReport& r);
  void note_forbidden(const StepReport& r);
  /// Of rows of joints that depend on others, when their set changes: kMaxWarnings times, and where
  /// the first kMaxRedundantNamed of them are others.
  void note_redundant(const JointReport& joints);
  void note_lost(const StepReport& r);
  void note_held_drives(const StepReport& r);
  void note_cords(const StepReport& r);
  void note_projection(const StepReport& r);
  void summarise_projection();
  void note_waiting();
  void note_staying();
  void note_broken();
  std::string name_of(std::size_t insertion) const;
  void summarise_flow();

  const Simulation& sim_;
  Log& log_;
  std::vector<char> waited_;  ///< per insertion: reported
  bool raised_told_ = false, tension_told_ = false, drift_told_ = false;
  bool held_told_ = false, cords_told_ = false, work_told_ = false, lost_told_ = false;
  std::int64_t cut_ = 0, dropped_ = 0;  ///< steps whose projection was
  std::int64_t first_ = 0;              ///< step that the run goes on from
  std::string choice_;                  ///< SolveReport::choice of the last step
  int choices_ = 0, apart_told_ = 0, redundant_told_ = 0;
  std::vector<RedundantJointRow> redundant_;  ///< of the last step
  int staying_ = 0;                           ///< mechanisms that stay in an outflow
  std::int64_t broken_ = 0;                   ///< joints that broke, as far as told
  double deepest_told_ = 0.0;                 ///< largest overlap that a warning named
  std::array<GlobalId, 2> heavy_told_ = {kNoBody, kNoBody};  ///< of them if under a heavy load
  std::int64_t sunk_for_ = 0;    ///< last steps in which some contact had sunk in (StepReport)
  std::int64_t far_steps_ = 0;   ///< in which bodies met from farther away than margins reach
  std::int64_t sunk_steps_ = 0;  ///< of all such spells, those that make them long enough
  double sunk_most_ = 0.0;       ///< the largest of their overlaps
  std::int64_t missed_ = 0;
  bool missed_last_ = false;
  bool contradiction_told_ = false;
  double worst_miss_ = 0.0;  ///< error over what was wanted
  std::string advice_;       ///< of that step, its first sentence
  bool energy_told_ = false;
  double potential_ = std::numeric_limits<double>::quiet_NaN();  ///< J, after the first step
  double most_energy_ = 0.0;                                     ///< J, of motion or work so far
  double most_kinetic_ = 0.0, forbidden_ = 0.0;  ///< J, the latter with passive_work's weights
  std::int64_t divided_ = 0;                     ///< steps taken in sub-steps
  int most_parts_ = 1;                           ///< of one
  /// Where steps of stepper natural came nearest to a singular position since the last one that
  /// was near none.
  struct NearSingular {
    double softness = 0.0, time = 0.0;
    GlobalId joint = kNoBody;
  };
  NearSingular near_;
  std::int64_t passed_ = 0;  ///< singular positions
  int splits_ = 0, moves_ = 0;
  std::int64_t moved_ = 0;  ///< bodies
  double wall_start_ = 0.0;
  double wall_progress_ = 0.0;
  StepTimes times_;  ///< of all steps, this rank's
};

}  // namespace catena
