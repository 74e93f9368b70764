// Rods and ropes between points in a time step: which ropes pull, and no work of their own.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "catena/constraints/constraint_problem.hpp"
#include "catena/model/state.hpp"
#include "catena/search/contact_search.hpp"
#include "catena/stepper/joint_assembler.hpp"

namespace catena {

/// The joints `distance` and `rope` of a step (docs/theory.md, "Rods and ropes").
///
/// Ropes. Each has two blocks of the same row, of which the solver sees one or none, while the
/// other is at rest (G = 0, lambda = 0). Those that pull are bilateral, solved exactly with all
/// other joints, the others left out; where one of the first pushes, or one of the others becomes
/// too long, it changes sides and the step is solved again (block principal pivoting: Judice and
/// Pires 1994). What goes on after some solves is unilateral, and left to the solver's sweeps.
///
/// GeometricStiffness. Between its ends a rod or rope has the stiffness T/L across its direction,
/// where k = h^2 T/(m L) shows whether a step can follow it. Where k is above a quarter
///
///   - two rows across take the force along the direction that it has at the step's end: they are
///     compliant, w = u + lambda/b with b = h^2 T/L (times 1 - 1/(4 k), so that they begin at 0);
///   - the row does no work: a step stretches at little tension and shortens again at much, which
///     with lambda (u0 + u1)/2 > 0 (u0, u1: the row's velocity before and after) gives energy that
///     no rod has. There u1 = -u0, or -0.95 u0 where the rod was being driven apart.
///
/// GeometricStiffness is that of the last step; where it was far less than what the solve finds, or
/// what the solve finds does work, the step is solved again. Rows across that are at rest, and far
/// from being needed, are left out of the joints' elimination (GeneralBlocks::at_rest); where
/// nothing but the velocity of held rows is new, the factors of the solve before stand
/// (ConstraintProblem::joint_matrix).
class Cords {
 public:
  /// Collective. Whether the tension of the last step asks for rows across any rod or rope.
  static bool need_rows(const Communicator& comm, const Bodies& bodies, const State& state,
                        const ContactSet& set, double h);
  /// Local. Finds them among the joints' blocks in `problem`; `impulses` are the first guess, the
  /// last step's. `guarded`: whether tension is bounded.
  void find(const Bodies& bodies, const ContactSet& set, const JointAssembler& joints, double h,
            bool guarded, std::span<double> impulses, ConstraintProblem& problem);
  /// Collective. After a solve: whether the problem was changed, so that it is to be solved again
  /// from `impulses`. `solved`: whether the solve met its tolerance.
  bool revise(bool solved, std::span<double> impulses, std::span<const double> velocities,
              ConstraintProblem& problem);
  /// Rods and ropes of this rank whose shortening was held back.
  std::int64_t held() const;

 private:
  struct Cord {
    Index block, rope_block;  ///< general blocks; rope_block kNoIndex: a rod
    std::size_t jacobian;     ///< in saved_, or kNotSaved
    double n;                 ///< G M^-1 G^T of the row, 1/kg
    double stiffness;         ///< k = stiffness |lambda|, 1/(N s)
    double across;            ///< h/L, s/m
    double inertia;           ///< b of the rows across, kg; 0: they are at rest
    std::size_t rows;         ///< of the bilateral block: 1 or 3
    double speed;             ///< u0, m/s
    double q, compliance;     ///< of the row as the step poses it
    double tolerance;         ///< of the row's velocity, m/s
    bool guarded, taut, swept, held;
    bool ready;  ///< the rows across are eliminated even at rest
  };
  static double stiffness_of(const JointConstants& joint,
                             const std::array<Index, kJointBodies>& body, const ContactSet& set,
                             double h);
  static double inertia_of(double lambda, const Cord& cord);
  double speed(const Cord& cord, std::span<const double> velocities,
               const ConstraintProblem& problem) const;
  void hold(double lambda, Cord& cord, ConstraintProblem& problem) const;
  bool revise_tension(std::span<double> impulses, std::span<const double> velocities, Cord& cord,
                      ConstraintProblem& problem);
  bool revise_rope(bool solved, std::span<double> impulses, std::span<const double> velocities,
                   Cord& cord, ConstraintProblem& problem);
  void pose(const Cord& cord, std::span<double> impulses, ConstraintProblem& problem);
  void set_row(const Cord& cord, Index block, std::size_t r, bool live, double compliance,
               ConstraintProblem& problem) const;
  std::size_t impulse_at(Index block, const ConstraintProblem& problem) const;

  /// Of a rod without rows across: no row of it is ever at rest.
  static constexpr std::size_t kNotSaved = static_cast<std::size_t>(-1);

  std::vector<Cord> cords_;
  std::vector<double> saved_;  ///< Jacobians of blocks that have rows at rest
  int passes_ = 0;
  bool posed_ = false;  ///< numbers of A were changed since the last solve
};

}  // namespace catena
