// The order in which a subdomain's blocks are swept.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "catena/constraints/constraint_problem.hpp"
#include "catena/solvers/gauss_seidel.hpp"
#include "solvers/gauss_seidel/local/local_solve.hpp"
#include "solvers/gauss_seidel/simd/contact_batches.hpp"
#include "solvers/sphere_contacts.hpp"

namespace catena {

/// Parts of a sweep: blocks that touch a body shared with another subdomain, then the
/// others in two halves of about equal work, so that two messages can travel meanwhile.
enum class SweepPart { boundary, first_interior, second_interior };
inline constexpr int kSweepParts = 3;

/// Blocks of the problem in the order of a forward sweep: batches of rigid contacts that are
/// seen as spheres, batches of the other rigid contacts, batches of contacts with rolling or
/// spinning friction that are seen as spheres, batches of contacts with explicit Jacobians, then
/// the other blocks with explicit Jacobians. A batch is kLanes places, kNoIndex where empty; no two
/// of its contacts share a body that moves.
struct PartPlan {
  std::vector<Index> spheres, arms, rolling, explicit_contacts;  ///< kLanes a batch
  std::vector<Index> general;
};
using SweepPlan = std::array<PartPlan, kSweepParts>;

/// Blocks and the two bodies of a contact, read once: a list of contacts is long.
struct PlacedBlock {
  Index block, a, b;
};

/// Plans a sweep over `blocks` (in the problem's order). Rigid contacts go by their smaller local
/// body, then the other one, prescribed ones counting as last; batches are filled from the next
/// few contacts in that order, which each keep their place as far as they are disjoint. So do
/// contacts of batches among the general blocks, behind them; the others follow in the problem's
/// order. `shared` per local body: whether it is kept up to date
/// between subdomains or with the joints' solve.
SweepPlan plan_sweep(const ConstraintProblem& problem, std::span<const Index> blocks,
                     std::span<const char> shared, const LocalSolveOptions& rules);

/// plan_sweep with memory that is kept from plan to plan.
class SweepPlanner {
 public:
  const SweepPlan& plan(const ConstraintProblem& problem, std::span<const Index> blocks,
                        std::span<const char> shared, const LocalSolveOptions& rules);
  /// Gives the memory of large lists back.
  void rest();

 private:
  /// Blocks of a part, by what can solve them.
  struct Lists {
    std::vector<PlacedBlock> spheres, arms, rolling, explicit_contacts;
  };
  std::size_t append_by_body(const ConstraintProblem& problem, std::span<const Index> contacts);
  void sort_into_lists(const ConstraintProblem& problem, std::span<const char> shared,
                       const LocalSolveOptions& rules, std::size_t end_rolling,
                       std::size_t end_explicit);

  SphereContacts sphere_contacts_;
  SweepPlan plan_;
  std::array<Lists, kSweepParts> lists_;
  std::vector<Index> rolling_, explicit_contacts_, others_;  ///< general blocks by kind
  std::vector<PlacedBlock> order_, given_;
  std::vector<Index> begin_, next_;  ///< of each body in a sorted list
  std::vector<char> boundary_;       ///< per block of order_
  std::vector<Index> last_batch_;    ///< per body
};

/// The plan as a plain list of blocks.
std::vector<Index> flatten(const SweepPlan& plan);

}  // namespace catena
