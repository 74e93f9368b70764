// What one Gauss-Seidel sweep runs over: the blocks of a subdomain and its own copies of
// their bodies, packed.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "catena/constraints/constraint_problem.hpp"
#include "catena/solvers/gauss_seidel.hpp"
#include "explicit_blocks.hpp"
#include "sweep_kernels.hpp"

namespace catena {

/// Parts of a sweep: blocks that touch a body shared with another subdomain, then the
/// others in two halves of about equal work, so that two messages can travel meanwhile.
enum class SweepPart { boundary, first_interior, second_interior };
inline constexpr int kSweepParts = 3;

/// The bodies (ascending) that `blocks` of the problem touch.
std::vector<Index> touched_bodies(const ConstraintProblem& problem, std::span<const Index> blocks);

/// `blocks` (in the problem's order) in the order of a sweep: rigid contacts by their
/// smaller local body, then the other one, prescribed ones counting as last; then general blocks in
/// the problem's order.
std::vector<Index> sweep_order(const ConstraintProblem& problem, std::span<const Index> blocks);

/// How subdomains are packed, the same for all of them.
struct PackRules {
  LocalRules local;
  Formulation formulation = Formulation::velocity;
};

/// One subdomain. Each part of a sweep goes in sweep_order.
///
/// Rigid contacts are packed with implicit Jacobians (SphereContact where the geometry
/// allows, else ArmContact); general blocks with explicit ones. Formulation
/// `acceleration` holds a_c = M^-1 G^T lambda in place of V, with q - G V_free in place of
/// q ([ODE] quickstep), and all blocks explicit. M^-1 of a body is multiplied by its
/// multiplicity (mass splitting), also in D.
class Subdomain {
 public:
  /// `blocks` in the problem's order; `multiplicity` per local body of the problem: a body
  /// with more than 1 is shared. The first guess is made admissible from `impulses`.
  Subdomain(const ConstraintProblem& problem, std::span<const Index> blocks,
            std::span<const Index> multiplicity, const PackRules& rules,
            std::span<const double> impulses);

  /// Bodies touched, ascending in the problem's local order.
  std::span<const Index> bodies() const { return bodies_; }
  /// Velocities of this subdomain's copy of its i-th body.
  std::span<double> velocity(std::size_t i) {
    return {line_data() + 8 * static_cast<std::size_t>(line_[i]),
            static_cast<std::size_t>(dofs_[i])};
  }
  /// Sets all copies from a vector in the problem's places: V, or M^-1 G^T lambda in the
  /// acceleration formulation.
  void load_velocities(const ConstraintProblem& problem, std::span<const double> velocities);
  /// Sweeps one part; returns the sum of |D dlambda|^2 over its blocks.
  double sweep(SweepPart part, bool forward);
  /// Writes lambda of this subdomain's blocks to their place in the problem's rows.
  void store_impulses(const ConstraintProblem& problem, std::span<double> impulses) const;

 private:
  enum class Pack { sphere, arm, general };
  struct Run {
    Pack pack;
    Index begin, end;
  };
  double* line_data() { return reinterpret_cast<double*>(lines_.data()); }
  void place_bodies(const ConstraintProblem& problem, std::span<const Index> multiplicity);
  Pack pack_of(const ConstraintProblem& problem, Index block) const;
  void append(const ConstraintProblem& problem, Index block, SweepPart part,
              std::span<const double> impulses);
  void append_sphere(const ConstraintProblem& problem, Index block,
                     std::span<const double> impulses);
  void append_arm(const ConstraintProblem& problem, Index block, std::span<const double> impulses);
  void subtract_free_motion(const ConstraintProblem& problem);
  Index place_of(Index body) const;

  PackRules rules_;
  std::vector<Index> bodies_, line_, dofs_;
  std::vector<double> multiplicity_;
  std::vector<BodyLine> lines_;
  std::vector<InertiaLine> inertia_;
  std::vector<SphereContact> spheres_;
  std::vector<Index> sphere_origin_;
  std::vector<ArmContact> arms_;
  std::vector<ContactBlock> arm_blocks_;
  std::vector<Index> arm_origin_;
  ExplicitBlocks general_;
  std::vector<double> scratch_;
  std::array<std::vector<Run>, kSweepParts> runs_;
};

}  // namespace catena
