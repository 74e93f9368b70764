// The contacts' part of a time step.
#pragma once

#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "catena/constraints/contact_record.hpp"
#include "catena/constraints/contact_rows.hpp"
#include "catena/model/state.hpp"
#include "catena/search/contact_search.hpp"
#include "catena/stepper/cell.hpp"
#include "catena/stepper/contact_stretches.hpp"
#include "catena/stepper/energy.hpp"

namespace catena {

struct ContactArms;

/// A body that has been put back into the periodic box, and by how much, m.
struct PutBack {
  GlobalId body = kNoBody;
  Vec3 by = Vec3::Zero();
};

/// Local. Contacts that the state keeps take the names of the images in which they go on: what lay
/// at `shift` of its image's code, m, is an image of `after`, of bodies that were put back
/// (`put_back`, ascending in body). Bodies without bounds have no images.
void follow_images(const std::function<Vec3(int)>& shift, const PeriodicBox& after,
                   std::span<const PutBack> put_back, std::span<const BodyRecord> unbounded,
                   State& state);

/// Rows of this rank's contacts in the problem, and what becomes of their impulses.
///
/// On its way a contact has five forms: point of the narrow phase (ContactPoint), contact of the
/// set (Contact), row of the problem (RigidContact, or a general block where it has rolling or
/// spinning friction), lane of a kernel's batch, record of the output (ContactRecord). KeyedImpulse
/// is what the state keeps from step to step. It is in world coordinates and has no frame, because
/// it is moved between ranks, checkpointed, and read in the frames of another step.
class StepContacts {
 public:
  /// `step`: h, s.
  StepContacts(const Model& model, StepperKind kind, double step)
      : model_(model), kind_(kind), step_(step), stretches_(model, kind, step) {
    clear();
  }

  /// Local. Forgets the last step's contacts.
  void clear();
  /// Local. The contacts of `set` become all rows of `problem`, each swept by the subdomain of its
  /// home body. The problem has its bodies; `own_step` as in ContactStiffness::rows.
  void make_rows(const ContactSet& set, const State& state, double own_step,
                 ConstraintProblem& problem);
  /// This rank's, ascending in key.
  std::size_t size() const { return contacts_.size(); }
  const KeptContact& kept(std::size_t k) const { return contacts_[k]; }
  /// Overlaps of this rank's contacts as the step found them.
  struct Overlaps {
    double deepest = 0.0;  ///< m; 0: there is none
    double largest = 0.0;  ///< of the smaller body's radius (equivalent_radius)
    double borne = 0.0;    ///< the same without what is left of overlaps of the start (rigid: with)
    ContactKey key;        ///< of that one
    Sum sum = Sum();       ///< of the same measure
    std::int64_t count = 0;
  };
  const Overlaps& overlaps() const { return overlaps_; }
  /// A contact that has sunk in under much more than the weight of what it is between: its overlap
  /// without what is left of the start's, of the smaller radius (0: there is none), and its normal
  /// force over the weight of the lighter dynamic body.
  struct Sunk {
    double overlap = 0.0, load = 0.0;
    ContactKey key;
  };
  /// Local. Of Stiffness::automatic the deepest contact with an overlap above kSunkOverlap and a
  /// load above kHeavyLoad; `gravity`: m/s^2.
  Sunk deepest_sunk(const ConstraintProblem& problem, std::span<const double> impulses,
                    const LocalBodies& local, double gravity) const;
  /// A contact that presses though its bodies were farther apart than kFarContact of the smaller
  /// one's radius, m; 0: there is none.
  struct Far {
    double gap = 0.0, radius = 0.0;  ///< m
    double speed = 0.0;              ///< of the faster body, or what closes the gap, m/s
    std::array<GlobalId, 2> bodies = {kNoBody, kNoBody};  ///< the faster one first
  };
  /// Local. That with the largest gap.
  Far farthest(const ConstraintProblem& problem, std::span<const double> impulses) const;
  /// Local. The impulses of the last step in the frames of this one, where the contact existed;
  /// `impulses`: all rows, zero before. Solvers make them admissible.
  void first_guess(const State& state, const ConstraintProblem& problem,
                   std::span<double> impulses) const;
  /// Local. Law lagged: s of all blocks, m/s: what the last step left to contacts that had an
  /// impulse, of the others mu |w_t| of an exact solve of the contact alone from V of the first
  /// guess. `twists`: these V.
  std::vector<double> first_shifts(const State& state, const ConstraintProblem& problem,
                                   std::span<const double> twists) const;
  /// Local. The same from the slips of a solution.
  std::vector<double> shifts(const ConstraintProblem& problem, std::span<const double> impulses,
                             std::span<const double> twists) const;
  /// Local. xi of all rows at the step's start, m of tangents, rad of rolling and spinning rows, 0
  /// of all others; empty where no contact is compliant.
  std::vector<double> stretches(const ConstraintProblem& problem) const;
  /// Local. Law lagged: pressed contacts that part faster than their impulse of a step closes them
  /// (mu d|w_t|/dt > f_n/m), so that they are open in the next step.
  std::int64_t count_opening(const ConstraintProblem& problem, std::span<const double> impulses,
                             std::span<const double> twists) const;
  /// Local. Keeps in the state what contacts with an impulse, or with some overlap of the start
  /// left, hand to the next step. Stretches are turned by the mean spin of both bodies about the
  /// normal; the next step's frame turns them with the normal. `twists`: V of all bodies.
  void store(const ConstraintProblem& problem, std::span<const double> impulses,
             std::span<const double> twists, State& state);
  /// Local, after store(). The same over the step: `put_back` has all local bodies that were, and
  /// `after` is the periodic box at the step's end.
  void follow_images(const PeriodicBox& after, std::span<const PutBack> put_back,
                     State& state) const;
  /// Local, after store(). Adds the work of the step's contact impulses. With u- = G V0 and u+ = G
  /// V the impulse lambda does the work lambda . (u- + u+)/2 on the pair [exact for the step V0 ->
  /// V with M constant]; friction takes -lambda_t . (u_t- + u_t+)/2 (and the same of rolling and
  /// spinning couples), an impact -lambda_n (u_n- + u_n+)/2 less the recovery work lambda_n u_n+/2
  /// where a penetration of a rigid contact is pushed out; cohesion does lambda_n (u_n- + u_n+)/2
  /// where lambda_n < 0. What prescribed bodies do on the contacts is external work. Of compliant
  /// contacts, what is stored at the end of the step is elastic_energy, and what was stored more
  /// than before is no loss; recovery_work is what relaxing overlaps of the start bring in.
  ///
  /// `local` has V0, `twists` are V of all bodies of the problem, 6 numbers each.
  void add_work(const ConstraintProblem& problem, std::span<const double> impulses,
                const LocalBodies& local, std::span<const double> twists, AuditTerms& audit) const;
  /// Local, after store(). What loaded contacts add to the stress of a periodic cell.
  void add_to_cell(const ConstraintProblem& problem, std::span<const double> impulses,
                   CellSums& sums) const;
  /// Local. Contact k with what `impulses` do.
  ContactRecord record(std::size_t k, const ConstraintProblem& problem,
                       std::span<const double> impulses) const;
  /// Local. Where the impulse of contact k acted on its bodies.
  ContactArms arms(std::size_t k, const ConstraintProblem& problem) const;

 private:
  void place_rows(const Contact& contact, const PairMaterial& pair, const LocalBodies& local,
                  const ProblemBodies& bodies, RigidContact& rows) const;
  const RigidContact& rigid_rows(const KeptContact& kept, const ConstraintProblem& problem) const {
    return kept.couples ? coupled_[kept.slot] : problem.contacts[kept.slot];
  }
  /// Among all blocks.
  static std::size_t block_of(const KeptContact& kept, const ConstraintProblem& problem) {
    return (kept.couples ? problem.contacts.size() : 0) + kept.slot;
  }
  Vec3 drift_of(const Contact& contact, const RigidContact& rows, const LocalBodies& local) const;
  void match(const State& state);
  void note_overlap(const Contact& contact, std::size_t k, const LocalBodies& local);
  void note_gap(const Contact& contact, std::size_t k, const LocalBodies& local);
  void count_points();
  ContactSolution solution_of(const KeptContact& kept, const ConstraintProblem& problem,
                              std::span<const double> impulses,
                              std::span<const double> twists) const;

  const Model& model_;
  StepperKind kind_;
  double step_;
  ContactStretches stretches_;
  PeriodicBox box_;  ///< as it is at the step's start
  std::vector<KeptContact> contacts_;
  std::vector<RigidContact> coupled_;     ///< of the general blocks: key and frame
  std::vector<Index> coupled_subdomain_;  ///< behind those of all contacts without couples
  std::vector<Index> lost_, found_;       ///< of a pair, while it is matched
  Overlaps overlaps_;
  /// Places of contacts with more than kSunkOverlap, and how much.
  std::vector<std::pair<std::size_t, double>> sunk_;
  /// Contacts with gaps above kFarContact, and their places.
  std::vector<std::pair<std::size_t, Far>> far_;
};

}  // namespace catena
