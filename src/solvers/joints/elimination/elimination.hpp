// Joints as the eliminations see them, and what eliminates mechanisms that are no chains.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "catena/constraints/constraint_problem.hpp"

namespace catena {

struct BlockNodes;

/// The bilateral blocks of mechanisms that this rank eliminates, ascending in mechanism, then in
/// name, with the inverse masses of the dynamic bodies they act on: G, Sigma and M^-1 of a step.
/// `bodies.free_velocity` and `blocks.q` are not used. Bodies are rigid or dense, never prescribed
/// (a block does not name those); a block has one to four bodies.
struct MechanismRows {
  ProblemBodies bodies;
  GeneralBlocks blocks;
  double misfit = 0.0;   ///< ConstraintProblem::joint_misfit
  bool ordered = false;  ///< ConstraintProblem::ordered
  /// Per row: a motor without bound; empty: none. Where rows contradict each other these are
  /// missed.
  std::vector<char> drive;
};

/// A row that depends on the rows before it in the pivot order.
struct RedundantRow {
  std::int64_t name = 0;  ///< of the block
  int row = 0;            ///< within the block
};

/// What a factorisation met.
struct FactorReport {
  double regularisation =
      0.0;  ///< largest epsilon that was added to a row, over that row's diagonal of A
  double smallest_pivot = 1.0;  ///< of a row: pivot over the row's diagonal of A before elimination
  std::int64_t raised = 0;      ///< rows whose pivot was raised beyond the regularisation of all
  std::vector<RedundantRow> redundant;  ///< the first 100 of them, ascending
  std::int64_t flops = 0;               ///< multiply-adds of factor(), counted
};

/// Eliminates A = G M^-1 G^T + Sigma of mechanisms that lie on one rank, or of one that is cut over
/// several: then every member is collective but report() and contradiction(), which tell of this
/// rank's rows. A is regularised row by
/// row, A_ii (1 + epsilon), epsilon >= kJointRegularisation, where rows may be redundant, which
/// thereby get reactions of least norm (in the metric of A's diagonal), and by round-off alone
/// where pivots say that none is.
class JointElimination {
 public:
  virtual ~JointElimination() = default;
  /// New numbers for the structure that it was made with.
  virtual void factor(const MechanismRows& joints) = 0;
  /// lambda = A^-1 b, with A as regularised; rows of all blocks in order. May alias.
  virtual void solve(std::span<const double> b, std::span<double> lambda) = 0;
  virtual const FactorReport& report() const = 0;
  /// Energy error that the last b leaves whatever lambda is, since redundant rows contradict others
  /// (as misfits make them): 1/2 sum of its squares over A's diagonal.
  virtual double contradiction() const = 0;
};

inline constexpr double kJointRegularisation = 1e-12;

/// Forests: leaf to root over bodies and joints, no fill (docs/theory.md, "Trees and loops"). Rigid
/// bodies, blocks of one or two bodies.
std::unique_ptr<JointElimination> make_tree_elimination(const MechanismRows& structure);
/// Few closed loops: the joints that close them (those with the largest names, by a spanning forest
/// in ascending names) border a forest; dense Schur complement of their rows, in ascending order,
/// which also names redundant rows. Rigid bodies, blocks of one or two bodies.
std::unique_ptr<JointElimination> make_bordered_elimination(const MechanismRows& structure);
/// Rows that the border of a structure would have.
Index border_rows(const MechanismRows& structure);
/// Anything: Cholesky of A by nested dissection of the graph of joints (joints/dissection). Order
/// and fronts are found once.
std::unique_ptr<JointElimination> make_dissected_elimination(const MechanismRows& structure);
/// Collective. The same of a mechanism whose blocks lie on several ranks: the structure with its
/// guests, whose G are brought before every factor(). `nodes` is not kept, its guests are.
std::unique_ptr<JointElimination> make_cut_elimination(const MechanismRows& structure,
                                                       const BlockNodes& nodes);
/// Anything: PETSc's sparse Cholesky (MUMPS) of A, and what its options for joints ask for.
std::unique_ptr<JointElimination> make_sparse_elimination(const MechanismRows& structure);
/// Whether PETSc was given options for joints.
bool sparse_elimination_asked_for();

}  // namespace catena
