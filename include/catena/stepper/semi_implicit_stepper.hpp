// One semi-implicit time step as named stages (docs/design/0005-time-step.md).
#pragma once

#include <array>
#include <memory>
#include <span>
#include <vector>

#include "catena/model/state.hpp"
#include "catena/search/contact_search.hpp"
#include "catena/solvers/solver.hpp"
#include "catena/stepper/cords.hpp"
#include "catena/stepper/geometric_stiffness.hpp"
#include "catena/stepper/joint_assembler.hpp"
#include "catena/stepper/step_contacts.hpp"
#include "catena/stepper/time_stepper.hpp"

namespace catena {

/// What a semi-implicit stepper needs to know besides the model.
struct StepperSettings {
  StepperKind kind = StepperKind::spook;
  double step = 2e-3;      ///< h, s
  bool warm_start = true;  ///< first guess from the last step's impulses
  /// Largest misfit of rigid joints after the step, m and rad; kNone: positions are not projected.
  double projection = kNone;
  bool geometric_stiffness = true;  ///< what tension asks for is done (GeometricStiffness, Cords)
  /// Law lagged: of Coulomb's law itself, relative to zero impulses, below which no further pass is
  /// made.
  double lag_tolerance = 1e-6;
  bool cell_stress = false;  ///< StepReport::cell is wanted whatever drives the cell
};

/// SPOOK and DVI: semi-implicit, velocity level (docs/theory.md).
///
///   V_free = V0 + h M^-1 (f - omega x I omega),  solve contacts,  x += h v,
///   L = L0 + h tau + (G^T lambda)_omega,  omega = (R_new I R_new^T)^-1 L
class SemiImplicitStepper : public TimeStepper {
 public:
  /// Collective. References must outlive the stepper.
  SemiImplicitStepper(const Communicator& comm, const Model& model, const StepperSettings& settings,
                      std::unique_ptr<Solver> solver);
  ~SemiImplicitStepper() override;

  /// Collective. One step of `settings.step`; the stages below in order.
  const StepReport& step(const Bodies& bodies, State& state) override;

  // The stages, for tests; each reads what the ones before left and has its clock (StepStage).
  const ContactSet& find_contacts(const Bodies& bodies, const State& state) override;
  void assemble_problem(const Bodies& bodies, const State& state);  ///< local
  /// Collective. Of the first step: what joints take from velocities that they do not allow.
  void note_forbidden(const Bodies& bodies, const State& state);
  void solve_impulses(const State& state);  ///< collective
  /// Collective. Names the motors that the joints hold back (StepReport::held_drives).
  void find_held_drives(const Bodies& bodies);
  /// Collective. Throws BlowUp where the solution would spoil a body.
  void check_solution(const Bodies& bodies, const State& state);
  void keep_impulses(State& state);  ///< local: for the next step's first guess and for results
  void audit_work(State& state);     ///< local: where the step's energy went
  /// Collective where the cell's stress is measured. Of a periodic box whose images move: where it
  /// is after the step, and its rates in the next one.
  void steer_cell(const Bodies& bodies, State& state);
  void advance_poses(const Bodies& bodies, State& state);  ///< local: twists, then poses
  /// Collective. Brings the joints' misfits below settings.projection with the factors of the
  /// step's solve; velocities stay. A move that does not lessen the largest misfit is halved, or
  /// left out, with those after it. Nothing without that setting.
  void project_joints(const Bodies& bodies, State& state);
  /// Local. In a periodic box kept contacts follow the bodies that were put back into it.
  void follow_images(State& state);
  void record(const Bodies& bodies, State& state);  ///< collective

  const StepReport& report() const override { return report_; }
  const LocalBodies& local_bodies() const override { return contact_set_.bodies; }
  std::size_t n_contacts() const override { return contacts_.size(); }
  ContactRecord contact(std::size_t k) const override {
    return contacts_.record(k, *problem_, impulses_);
  }
  ContactArms contact_arms(std::size_t k) const override { return contacts_.arms(k, *problem_); }
  JointReaction joint_reaction(std::size_t j) const override;
  std::array<double, 3> joint_coordinates(const Bodies& bodies, const State& state,
                                          std::size_t j) const override {
    return joints_.coordinates(bodies, state, contact_set_, j);
  }
  std::array<double, 3> joint_rates(const Bodies& bodies, const State& state,
                                    std::size_t j) const override {
    return joints_.rates(bodies, state, contact_set_, j);
  }
  double joint_energy(const Bodies& bodies, const State& state, std::size_t j) const override {
    return joints_.stored_energy(bodies, state, contact_set_, j);
  }
  const StepContacts& contacts() const { return contacts_; }
  const ConstraintProblem& problem() const override { return *problem_; }
  std::span<const double> impulses() const override { return impulses_; }
  std::span<const double> guess() const override { return guess_; }
  std::vector<double> stretches() const override { return contacts_.stretches(*problem_); }
  Solver& solver() { return *solver_; }

 private:
  class BodyTurner;
  void fill_bodies(double t);
  void fill_inertia(std::span<const Index> members, EightBodies& group);
  void solve_problem();
  void solve_lagged(const State& state);
  void measure_lag();
  /// Given forces and torques: V_free += h M^-1 f of owned bodies.
  void apply_forces(const State& state);
  /// Collective where there are joints.
  void add_geometric_stiffness();
  CellStress measure_cell(const Bodies& bodies, const State& state, const PeriodicBox& box) const;
  /// Body of the local bodies to its pose and twist at the step's end. Returns by how much its
  /// energy changes without work of its own: -m g . x and, where images move, the velocity jump
  /// with the position where it crosses a side, the velocity follows the cell's, and -m g . x
  /// changes with g over time.
  double advance(const BodyConstants& body, const State& state, std::size_t i, double t_new,
                 BodyMotionState& s, BodyTurner& turner) const;
  /// Collective. Throws Error(bad_input), naming the joint, where joints contradict each other.
  void refuse_contradictions(const Bodies& bodies) const;
  JointMisfit misfits(const Bodies& bodies, const State& state, std::span<double> rhs) const;
  Twist move_of(std::span<const double> changes, std::size_t i, double share) const;
  void move_jointed(const Bodies& bodies, std::span<const Pose> from,
                    std::span<const double> changes, double share, State& state);
  void note_projection_work(const Bodies& bodies, const State& state,
                            std::span<const double> changes, double share);
  void put_back(const Bodies& bodies, std::span<const Pose> from, State& state);
  void put_jointed_inside(const Bodies& bodies, State& state);
  /// Collective. Sums up what passive joints did.
  void note_overlaps();
  void note_sunk(const StepContacts::Sunk& own, double largest);
  void note_far(const StepContacts::Far& own, double largest);
  void note_passive_work(const Bodies& bodies, const State& state, double speed);
  /// Whether dynamic body i has a sound state after the solve, at the pose before.
  bool sound_after(const State& state, std::size_t i) const;
  /// Collective. Throws BlowUp, naming a body.
  [[noreturn]] void blow_up(const Bodies& bodies, const State& state) const;

  Communicator comm_;
  const Model& model_;
  StepperSettings settings_;
  std::unique_ptr<Solver> solver_;
  ContactSearch search_;
  ContactSet contact_set_;
  std::unique_ptr<ConstraintProblem> problem_;
  std::vector<double> impulses_;
  std::vector<double> guess_;       ///< impulses_ as the solve found them
  std::vector<double> velocities_;  ///< V
  StepContacts contacts_;
  double stiffness_step_ = 0.0;  ///< State::stiffness_step of this step, s
  JointAssembler joints_;
  bool any_joints_ = false;  ///< the case has some, or a program has added some
  GeometricStiffness tension_;
  Cords cords_;
  double passive_work_ = 0.0;                     ///< StepReport::passive_work
  double passive_floor_ = 0.0;                    ///< of it, what is round-off
  double most_kinetic_ = 0.0;                     ///< J, so far
  PeriodicBox box_;                               ///< after the step, with the L that it had in it
  Mat3 cell_push_ = Mat3::Zero();                 ///< L of the next step less that, 1/s
  std::vector<std::pair<Index, Twist>> applied_;  ///< of owned bodies: force and torque, N, N m
  AuditTerms audit_;                              ///< of the step
  PassiveWork passive_;                           ///< of the step, this rank's
  std::vector<PutBack> put_back_;  ///< local bodies that left the periodic box in the step
  StepReport report_;
};

}  // namespace catena
