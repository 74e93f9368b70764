// The order in which a subdomain's blocks are swept.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "catena/constraints/constraint_problem.hpp"
#include "catena/solvers/gauss_seidel.hpp"
#include "solvers/batches/local/local_solve.hpp"
#include "solvers/batches/simd/contact_batches.hpp"
#include "solvers/sphere_contacts.hpp"

namespace catena {

/// What a body is to a subdomain that sweeps it: its own, its own and kept up to date with other
/// subdomains or the joints' solve, or another one's.
enum class BodyRole : char { own, kept, foreign };

/// Parts of a sweep: blocks that touch a foreign body, blocks at kept bodies, which wait for what
/// the others' crossing blocks change, and the interior in two halves of about equal work, during
/// which messages travel.
enum class SweepPart { crossing, first_interior, border, second_interior };
inline constexpr int kSweepParts = 4;

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

/// Plans a sweep over `blocks` (in the problem's order). Rigid contacts go by their smaller local
/// body, then the other one, prescribed ones counting as last; batches are filled from the next
/// few contacts in that order, which each keep their place as far as they are disjoint. So do
/// contacts of batches among the general blocks, behind them; the others follow in the problem's
/// order. `roles` per local body, of those touched.
SweepPlan plan_sweep(const ConstraintProblem& problem, std::span<const Index> blocks,
                     std::span<const BodyRole> roles, const LocalSolveOptions& rules);

/// plan_sweep for one problem after another. A plan follows from what is noted of each block
/// (SweepItem) and nothing else: where all of that is as it was, so is the plan, and it is kept.
class SweepPlanner {
 public:
  const SweepPlan& plan(const ConstraintProblem& problem, std::span<const Index> blocks,
                        std::span<const BodyRole> roles, const LocalSolveOptions& rules);
  /// The last plan.
  const SweepPlan& last() const { return plan_; }
  /// Whether the last plan is the one before.
  bool kept() const { return kept_; }
  /// Gives the memory of large lists back.
  void rest();

 private:
  /// What can solve a block, from the fastest.
  enum class Kind : std::int8_t { sphere, arm, rolling, explicit_contact, general };
  /// A block, read once: what its place in a plan depends on.
  struct SweepItem {
    Index block, a, b;  ///< the bodies of a contact; else none
    Kind kind;
    bool moves_a, moves_b;  ///< false: prescribed
    BodyRole role;          ///< the most foreign one of its bodies'
    bool operator==(const SweepItem&) const = default;
  };
  void note(const ConstraintProblem& problem, std::span<const Index> blocks,
            std::span<const BodyRole> roles, const LocalSolveOptions& rules);
  void note_rigid(const ConstraintProblem& problem, std::span<const Index> blocks,
                  std::span<const BodyRole> roles, const LocalSolveOptions& rules);
  void sort_by_body(std::span<const SweepItem> items, Index n_bodies, std::span<SweepItem> sorted);
  void put_in_order(Index n_contacts, Index n_bodies);
  void deal_to_parts();
  class Batcher;

  SphereContacts sphere_contacts_;
  std::vector<SweepItem> items_, last_items_;  ///< in the problem's order; of the last plan
  bool planned_ = false;                       ///< plan_ is that of last_items_
  bool ordered_ = false, kept_ = false;
  SweepPlan plan_;
  std::vector<SweepItem> order_, of_kind_;
  /// By part and kind, but for general ones.
  std::array<std::array<std::vector<SweepItem>, 4>, kSweepParts> lists_;
  std::vector<Index> begin_, next_;  ///< of each body in a sorted list
  std::vector<Index> last_batch_;    ///< per body
};

/// The plan as a plain list of blocks.
std::vector<Index> flatten(const SweepPlan& plan);

}  // namespace catena
