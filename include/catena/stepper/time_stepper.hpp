// What a run asks of a time stepper, and what a step reports.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "catena/base/enum_array.hpp"
#include "catena/base/error.hpp"
#include "catena/constraints/constraint_problem.hpp"
#include "catena/constraints/contact_record.hpp"
#include "catena/constraints/joint_rows.hpp"
#include "catena/model/state.hpp"
#include "catena/search/contact_search.hpp"
#include "catena/solvers/solver.hpp"
#include "catena/stepper/cell.hpp"
#include "catena/stepper/energy.hpp"

namespace catena {

/// What a joint does to its bodies, world frame.
struct JointReaction {
  Vec3 impulse = Vec3::Zero();  ///< on b, N s
  Vec3 couple = Vec3::Zero();   ///< on b, N m s, about p_B
  Vec3 point = Vec3::Zero();    ///< p_B, m, where the joint acted
  /// On a and on the third body, if the joint has one, couples about the same point. Without a
  /// third body, and without points of the world that a tendon runs over, a takes the opposite of
  /// b.
  Vec3 impulse_on_a = Vec3::Zero(), couple_on_a = Vec3::Zero();
  Vec3 impulse_on_third = Vec3::Zero(), couple_on_third = Vec3::Zero();
};

/// Which local bodies a contact is between, and where its impulse acted on each, m, world frame:
/// the places and the arms to them from the bodies' centres at the step's start. The places are the
/// contact's point, or, where one body is fixed or prescribed and there was a gap, the bodies' own
/// surfaces. b is taken in the image in which they touch.
struct ContactArms {
  Index a = kNoIndex, b = kNoIndex;
  Vec3 arm_a = Vec3::Zero(), arm_b = Vec3::Zero();
  Vec3 point_a = Vec3::Zero(), point_b = Vec3::Zero();
};

/// Stages of a step in their order. Stepper natural makes its sub-steps in advance_poses, but for
/// what solve_impulses takes of them, and leaves out stages.
enum class StepStage {
  find_contacts,
  assemble_problem,
  note_forbidden,
  solve_impulses,
  find_held_drives,
  check_solution,
  keep_impulses,
  audit_work,
  advance_poses,
  project_joints,
  record
};
/// Names of stages in profile.json, in the order of StepStage.
inline constexpr std::array<std::string_view, 11> kStepStageNames = {
    "find_contacts",    "assemble_problem", "note_forbidden", "solve_impulses",
    "find_held_drives", "check_solution",   "keep_impulses",  "audit_work",
    "advance_poses",    "project_joints",   "record"};

/// Wall times of a step's stages, s, this rank's.
using StepTimes = EnumArray<StepStage, double, kStepStageNames.size()>;

/// Misfits of joints (StepReport::drift) below this are not worth a name.
inline constexpr double kNotableDrift = 1e-4;

/// Overlaps above this share of the smaller radius are worth a warning.
inline constexpr double kNotableOverlap = 0.01;

/// Gaps above this share of the smaller radius that bodies close within a step are worth a warning:
/// margins do not reach so far.
inline constexpr double kFarContact = 0.5;

/// A contact of Stiffness::automatic sinks in where it overlaps by more than this share of the
/// smaller radius under more than so many times the weight of the lighter body, which is no mistake
/// yet: grains that jam under a machine and the lowest of a hundred layers do so, too.
inline constexpr double kSunkOverlap = 1e-3, kHeavyLoad = 100.0;

/// Share of the kinetic energy that passive joints may seem to give without a word.
inline constexpr double kNotableWork = 0.02;

/// What a step did; the same on every rank but for `times`.
struct StepReport {
  SolveReport solve;
  std::int64_t contacts = 0;  ///< over all ranks
  double kinetic = 0.0;       ///< J, at the end of the step, over all ranks
  double potential = 0.0;     ///< J
  double penetration = 0.0;   ///< deepest, m, at the start of the step (>= 0)
  /// Largest and mean overlap of overlapping contacts in units of the smaller body's radius
  /// (equivalent_radius), at the start of the step.
  double overlap_largest = 0.0, overlap_mean = 0.0;
  /// The largest without what is left of overlaps of the start; from kNotableOverlap on, whose.
  double overlap_borne = 0.0;
  std::array<GlobalId, 2> overlap_bodies = {kNoBody, kNoBody};
  /// The pressed contact with the largest gap at the start of the step (StepContacts::Far).
  double far_gap = 0.0, far_radius = 0.0, far_speed = 0.0;
  std::array<GlobalId, 2> far_bodies = {kNoBody, kNoBody};  ///< the faster one first
  /// The deepest contact that has sunk in (StepContacts::Sunk); 0 and kNoBody: none has.
  double sunk_overlap = 0.0, sunk_load = 0.0;
  std::array<GlobalId, 2> sunk_bodies = {kNoBody, kNoBody};
  /// Law lagged: energy error of Coulomb's law itself over its value at zero impulses, and contacts
  /// that open since their sliding gains speed (StepContacts::count_opening).
  double lag_error = 0.0;
  std::int64_t lag_opening = 0;
  JointMisfit misfit;  ///< of joints, largest, at the start of the step
  /// Largest misfit of joints, rad, or as a part of a joint's length (joint_length): at the start
  /// of the step, of stepper natural after it. From kNotableDrift on, whose it is.
  double drift = 0.0;
  GlobalId drift_joint = kNoBody;
  /// Stepper natural: sub-steps that the step was taken in, since fewer could not be
  /// trusted, and the joint at which these differed most (kNoBody: none); if the step failed,
  /// whether because shorter ones lead to no one result.
  int parts = 1;
  GlobalId doubtful_joint = kNoBody;
  bool singular = false;
  /// Stepper natural: the joint whose rows came nearest to losing a rank in a step near a singular
  /// position (kNoBody: it is not near one), when, s, and how near: 1/sigma^2 with the singular
  /// value that vanishes there (docs/theory.md, "Singular positions").
  GlobalId softest_joint = kNoBody;
  double softest_time = 0.0;
  double softness = 0.0;
  /// Kinetic energy that velocities of the start lost to joints which do not allow them, J, and the
  /// joint that allows them least; of the first step alone.
  double forbidden_energy = 0.0;
  GlobalId forbidding_joint = kNoBody;
  /// Misfit that the projection leaves, and its iterations.
  JointMisfit projected;
  int projections = 0;
  int projection_cuts = 0;          ///< iterations whose move was cut back
  bool projection_dropped = false;  ///< the last move would not lessen the misfit at any length
  /// Joints whose motors have no bound and miss their targets, since the joints do not allow them:
  /// ids, ascending, the first ten, and the largest miss, m/s or rad/s.
  std::vector<GlobalId> held_drives;
  double drive_miss = 0.0;
  std::int64_t stiffened = 0;   ///< bodies whose inertia tension has raised
  double tension = 0.0;         ///< largest h^2 K over I (GeometricStiffness)
  std::int64_t cords_held = 0;  ///< rods and ropes whose tension was held back (Cords)
  /// Work of rigid passive joints over the last steps (kWorkWindow), J, which should be none, 0
  /// where it is round-off beside what gravity and other forces add to velocities, and, where it is
  /// more than kNotableWork of the largest kinetic energy so far, the joint that did most of it.
  double passive_work = 0.0;
  GlobalId working_joint = kNoBody;
  Vec3 projection_momentum = Vec3::Zero();  ///< what it changed, angular, kg m^2/s
  CellStress cell;  ///< of a periodic cell, if it is driven by it or a probe asks for it
  AuditSums audit;  ///< since the start, over all ranks
  double energy_residual = 0.0;  ///< J since the start: what the audit does not explain
  Vec3 linear_momentum = Vec3::Zero();
  Vec3 angular_momentum = Vec3::Zero();
  StepTimes times;
};

/// A non-finite or run-away state, or a step that cannot be trusted: names the body or the joint.
/// Exit code 6.
class BlowUp : public Error {
 public:
  /// As Error, without a place.
  explicit BlowUp(const std::string& found, const std::string& fix = "take smaller steps")
      : Error(found, "", fix, ExitCode::blow_up) {}
};

/// Takes a state through time, step by step.
class TimeStepper {
 public:
  virtual ~TimeStepper() = default;

  /// Collective. Throws Error where bodies or joints of the start are not for this stepper: before
  /// a run touches any file.
  virtual void check_start(const Bodies&, const State&) {}

  /// Collective. One step of the settings' length. Throws BlowUp on every rank if any body's state
  /// would not be finite or would run away; the state is then that of the step's start. Bodies and
  /// state must outlive the use of local_bodies().
  virtual const StepReport& step(const Bodies& bodies, State& state) = 0;
  /// Report of the last step.
  virtual const StepReport& report() const = 0;

  /// Collective. Contacts and ghosts at the present poses, for the partition. Valid until the next
  /// call or step, which takes the set's memory; the last step's contacts are forgotten.
  virtual const ContactSet& find_contacts(const Bodies& bodies, const State& state) = 0;

  /// Bodies in the numbering of problem(): owned ones as they are now, the others as the last step
  /// found or moved them.
  virtual const LocalBodies& local_bodies() const = 0;
  /// Contacts of the last step on this rank, ascending in key; none after find_contacts.
  virtual std::size_t n_contacts() const = 0;
  /// Point, normal, gap and impulse of one of them.
  virtual ContactRecord contact(std::size_t k) const = 0;
  /// Its bodies, and where it was from them.
  virtual ContactArms contact_arms(std::size_t k) const = 0;
  /// Joints of Bodies::joints, as the last step left them; bodies and state as at its end.
  virtual JointReaction joint_reaction(std::size_t j) const = 0;
  /// Coordinates of a joint, m or rad, as many as it has.
  virtual std::array<double, 3> joint_coordinates(const Bodies& bodies, const State& state,
                                                  std::size_t j) const = 0;
  /// Rates of these at the step's end, m/s or rad/s; of a spherical joint the angular velocity of b
  /// relative to a on A's axes.
  virtual std::array<double, 3> joint_rates(const Bodies& bodies, const State& state,
                                            std::size_t j) const = 0;
  /// What the joint's compliances store at the step's end, J: 1/2 misfit^2 / compliance of each of
  /// its rows, whatever dampers take.
  virtual double joint_energy(const Bodies& bodies, const State& state, std::size_t j) const = 0;
  /// The last constraint problem that was solved, and its impulses.
  virtual const ConstraintProblem& problem() const = 0;
  /// Row by row, N s (N m s).
  virtual std::span<const double> impulses() const = 0;
  /// The first guess from which that problem was solved, row by row; empty: from zero.
  virtual std::span<const double> guess() const { return {}; }
  /// What compliant contacts were stretched by when that problem was posed, row by row in their
  /// frames: tangents m, rolling and spinning rows rad, all others 0. Empty: none is compliant.
  virtual std::vector<double> stretches() const { return {}; }
};

/// Collective. Adds the step's terms of all ranks to the audit; energies, momenta and the audit,
/// over all ranks, into `report`.
void record_energies(const Communicator& comm, const Model& model, const Bodies& bodies,
                     const AuditTerms& terms, State& state, StepReport& report);

}  // namespace catena
