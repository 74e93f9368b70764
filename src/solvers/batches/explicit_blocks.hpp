// Blocks with stored Jacobians, any number of rows, bodies and velocities.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "catena/constraints/constraint_problem.hpp"
#include "solvers/batches/local/local_solve.hpp"
#include "solvers/batches/local/rolling_contact.hpp"

namespace catena {

/// Blocks packed for sweeping: G and Y = M^-1 G^T (M^-1 scaled by each body's
/// multiplicity) per body, D = G Y + Sigma per block. Flat arrays; what belongs to block k
/// starts where `blocks[k]` says.
struct ExplicitBlocks {
  struct Block {
    BlockKind kind;
    Index rows;
    Index row;          ///< first row here (lambda, q, sigma, lower, upper)
    Index problem_row;  ///< first row in the problem
    Index reference_begin, reference_end;
    std::size_t d;  ///< rows x rows numbers of D; for a bilateral block, of D's inverse beside
    Index contact;  ///< place in `contact` or, if `wide`, in that; kNoIndex if no contact
    double friction;
    double cohesion;  ///< c: the law holds for lambda + c on the normal row
    bool wide = false;
  };
  struct Reference {
    Offset velocity;  ///< place of the body's first velocity
    Index dofs;
    std::size_t g;  ///< G: rows x dofs, row by row; Y = G M^-1 at the same place in `y`
  };
  std::vector<Block> blocks;
  std::vector<Reference> references;
  std::vector<double> g, y, d, d_inverse;
  std::vector<ContactBlock> contact;
  std::vector<RollingContact> wide;
  std::vector<double> lambda, q, sigma, lower, upper;
  Index most_rows = 0;

  Index size() const { return to_index(blocks.size()); }
  /// Without blocks; the memory stays, but that of large lists.
  void clear();
};

/// How a problem's body is seen by a sweep: where its velocities lie, and by how much its
/// inverse mass is multiplied.
struct BodyPlace {
  Offset velocity;
  double multiplicity;
};

/// Appends block `k` of the problem (contacts first, then general blocks), its first
/// guess made admissible from `impulses`. `place(b)` says where body b is.
void append_block(ExplicitBlocks& out, const ConstraintProblem& problem, Index k, ContactLaw law,
                  std::span<const double> impulses, const std::function<BodyPlace(Index)>& place);

/// Solves one block: given w = w(lambda) of its rows (overwritten), writes the change of
/// lambda to `change`, adds it to lambda and returns |D change|^2.
///   bilateral   change = -omega D^-1 w
///   unilateral, boxed   rows one after the other (solve_rows)
///   contact     solve_contact, solve_wide_contact for lambda + c on the normal row
double update_block(ExplicitBlocks& blocks, Index k, const LocalSolveOptions& rules,
                    std::span<double> w, std::span<double> change);

/// Gauss-Seidel on velocities over blocks [first, last), in order or backward ([L11]
/// Algorithms 2.2 and 3.1): w = G V + Sigma lambda - q; update_block; V += Y^T change.
/// `scratch` holds 2 x most_rows numbers. Returns the sum of update_block.
double sweep_explicit_blocks(ExplicitBlocks& blocks, Index first, Index last,
                             std::span<double> velocities, const LocalSolveOptions& rules,
                             bool forward, std::span<double> scratch);

}  // namespace catena
