// Contacts that are compliant: their rows, and the state that they keep from step to step.
#pragma once

#include <array>

#include "catena/constraints/contact_rows.hpp"
#include "catena/constraints/contact_stiffness.hpp"
#include "catena/model/state.hpp"
#include "catena/search/contact_search.hpp"
#include "catena/stepper/energy.hpp"

namespace catena {

/// Where a contact's rows are, and what they do not say of it.
struct KeptContact {
  ContactKey key;
  Vec3 point;
  double gap;
  /// Place among the problem's contacts or, with `couples`, among its general blocks.
  Index slot = kNoIndex;
  Index points = 1;      ///< of the pair's manifold
  bool couples = false;  ///< it has rolling or spinning friction
  /// It is pushed out of penetration (b < 0 from the gap, not from restitution).
  bool recovering = false;
  /// Places in the last step's lists; kNoIndex: none.
  Index old = kNoIndex, old_couple = kNoIndex;
  double start_overlap = 0.0;  ///< that does not count, m
  double kept_energy = 0.0;    ///< KeyedImpulse::elastic_energy of the last step, J
  /// Of the relative velocity what the bodies' twists do not say, in the contact's frame, m/s: that
  /// of moving surfaces and of images in a sheared box. In the rows it stands in the bias.
  Vec3 drift = Vec3::Zero();
  ContactRowsGiven given;  ///< if it is compliant
  /// If so, and of all under law lagged, N_nn and the tangents' mean, with Sigma, 1/kg.
  std::array<double, 2> diagonal = {0.0, 0.0};
  /// Of the step's solution once it is stored: ContactSolution::pressing, N s, and xi at the step's
  /// end, m.
  double pressing = 0.0;
  std::array<double, 2> next_stretch = {0.0, 0.0};
};

struct ContactForce;
struct ContactSolution;
struct PointVelocities;

/// The stretches xi (m) and turns (rad) of compliant contacts: what they make of a step's rows,
/// what they become by its solution, and the energy in them (docs/theory.md, "Compliant contacts").
class ContactStretches {
 public:
  /// `step`: h, s.
  ContactStretches(const Model& model, StepperKind kind, double step)
      : model_(model), kind_(kind), step_(step), stiffness_(kind, step, model.contact) {}

  bool rigid() const { return stiffness_.rigid(); }
  /// Of both bodies, 1/R = 1/R_a + 1/R_b, m: spheres have their own radius, other dynamic bodies
  /// that of the sphere of equal volume; fixed and moving prescribed ones are flat.
  double reduced_radius(const BodyConstants& a, const BodyConstants& b) const;
  /// m; infinite if both bodies are.
  double smaller_radius(const Contact& contact, const LocalBodies& local) const;
  /// Bias and compliance of a contact's three rows, from its state and what was kept of it;
  /// `own_step` as in ContactStiffness::rows.
  void fill_rows(const Contact& contact, const LocalBodies& local, const PairMaterial& pair,
                 const State& state, double own_step, const ProblemBodies& bodies,
                 KeptContact& kept, RigidContact& rows) const;
  /// The same of its rows of rolling and spinning.
  void fill_couples(const KeptContact& kept, const RigidContact& rows, const State& state,
                    double own_step, ConstraintProblem& problem) const;
  /// xi of a contact's rows at the step's start; `rows`: one number each, 0 before.
  void at_start(const KeptContact& kept, const RigidContact& rows, const GeneralBlocks& blocks,
                double* of_rows) const;
  /// xi at the step's end, m; `u` as ContactSolution::slip.
  std::array<double, 2> next_stretch(const ContactSolution& solution, const Vec3& u) const;
  /// Keeps in the state what a contact hands to the next step, its stretches turned by the mean
  /// spin of both bodies about the normal; `u` as ContactSolution::slip.
  void keep(const ContactSolution& solution, const ContactForce& force, const Vec3& u,
            State& state) const;
  /// Adds what the contact stores at the step's end, and by how much more that is than before.
  /// Where steps undo overlaps whole (normal_share 1), what one is found to store beyond what it
  /// did at the last step's end, and loses again in this step, is neither a jump nor a loss.
  /// Energies of resolved contacts are those of the mean overlap over a step, as their rows are
  /// made.
  void add_elastic(const ContactSolution& solution, const PointVelocities& at_point,
                   AuditTerms& audit) const;

 private:
  std::array<double, 2> stretch(const KeptContact& kept, const RigidContact& rows) const;
  double turn(const KeptContact& kept, const GeneralBlocks& blocks, Index r) const;
  double next_turn(const ContactSolution& solution, Index r) const;
  double curvature(const BodyConstants& body) const;
  double relaxed_part(double start_overlap) const;
  double spring_time(const ContactRowsGiven& given) const;
  double end_energy(const KeptContact& kept, double speed) const;

  const Model& model_;
  StepperKind kind_;
  double step_;
  ContactStiffness stiffness_;
};

}  // namespace catena
