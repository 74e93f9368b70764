// What one Gauss-Seidel sweep runs over: the blocks of a subdomain and its own copies of
// their bodies, packed.
#pragma once

#include <span>
#include <vector>

#include "catena/base/huge_pages.hpp"
#include "catena/constraints/constraint_problem.hpp"
#include "catena/constraints/delassus.hpp"
#include "solvers/batches/anderson.hpp"
#include "solvers/batches/explicit_blocks.hpp"
#include "solvers/batches/explicit_contacts.hpp"
#include "solvers/batches/local/round_contacts.hpp"
#include "solvers/batches/simd/contact_batches.hpp"
#include "solvers/batches/sweep_order.hpp"

namespace catena {

/// Writes the bodies (ascending) that `blocks` of the problem touch; `touched`: scratch.
void find_touched_bodies(const ConstraintProblem& problem, std::span<const Index> blocks,
                         std::vector<char>& touched, std::vector<Index>& bodies);

/// Something else than V that the copies of the bodies carry (gauss_seidel/formulations).
class CarriedQuantity {
 public:
  virtual ~CarriedQuantity() = default;
  /// Neighbours. Its values at a guess, in the problem's places.
  virtual void start(DelassusOperator& op, std::span<const double> impulses,
                     std::span<double> carried) const = 0;
  /// Local. Rewrites the block that was packed last; `body` per reference of it.
  virtual void adapt(const ConstraintProblem& problem, ExplicitBlocks& blocks,
                     std::span<const Index> body) const = 0;
};

/// How subdomains are packed, the same for all of them.
struct SweepOptions {
  LocalSolveOptions local;
  BatchKernels kernels = plain_kernels();
  bool accelerated = false;  ///< by Anderson's method
  /// Null: V. Otherwise all blocks are explicit; outlives the sweeps.
  const CarriedQuantity* carried = nullptr;
};

/// One subdomain. Each part of a sweep goes in the order of plan_sweep.
///
/// Rigid contacts are packed with implicit Jacobians in batches (SphereBatch where the geometry
/// allows, else GeneralContactBatch), and so are contacts with rolling and spinning friction of
/// round bodies (RollingBatch); other contacts of three rows with explicit ones in batches where
/// they fit (ExplicitContactBatch), the rest one by one. In the crossing part M^-1 of a body is
/// multiplied by its multiplicity (mass splitting), also in D. Batches hold lambda + c n in place
/// of lambda where a contact has cohesion c.
class Subdomain {
 public:
  /// Packs a problem's subdomain into the memory of the last one; comes before anything else.
  /// `blocks` in the problem's order and the `bodies` that they touch, which outlive the sweeps;
  /// `multiplicity` and `roles` per local body of the problem, of those touched. The first guess is
  /// made admissible from `impulses`.
  void start(const ConstraintProblem& problem, std::span<const Index> blocks,
             std::span<const Index> bodies, std::span<const Index> multiplicity,
             std::span<const BodyRole> roles, const SweepOptions& rules,
             std::span<const double> impulses);
  /// After the last sweep: gives the memory of large lists back; start() comes next.
  void rest();

  /// Bodies touched, ascending in the problem's local order.
  std::span<const Index> bodies() const { return bodies_; }
  /// The first line of its i-th body; all lines, of which the first belongs to no body.
  Index line(std::size_t i) const { return line_[i]; }
  Index n_lines() const { return to_index(lines_.size()); }
  /// What is packed, for other iterations than sweeps: batches with the block of each lane
  /// (kNoIndex: none), and the blocks in the order of all parts.
  std::span<SphereBatch> spheres() { return spheres_; }
  std::span<GeneralContactBatch> arms() { return arms_; }
  std::span<ExplicitContactBatch> explicit_contacts() { return explicit_contacts_; }
  std::span<const Index> sphere_origin() const { return sphere_origin_; }
  std::span<const Index> arm_origin() const { return arm_origin_; }
  std::span<const Index> explicit_origin() const { return explicit_origin_; }
  const SweepPlan& plan() const { return planner_.last(); }
  const BatchKernels& kernels() const { return rules_.kernels; }
  /// Velocities of this subdomain's copy of its i-th body.
  std::span<double> velocity(std::size_t i) {
    return {line_data() + Offset{8} * line_[i], static_cast<std::size_t>(dofs_[i])};
  }
  /// Sets all copies from a vector in the problem's places: V, or what is carried in its place.
  void load_velocities(const ConstraintProblem& problem, std::span<const double> velocities);
  /// Sweeps one part; returns the sum of |D dlambda|^2 over its blocks.
  double sweep(SweepPart part, bool forward);
  /// Anderson's acceleration: sweeps mix from now on. Before each, the copies' velocities and the
  /// impulses become the mix (those of batches as the sweep comes to them); after it, its products.
  void begin_mixing();
  void end_mixing() { mixes_ = false; }
  void mix(double gamma);
  MixProducts mix_products();
  /// Whether all blocks are in batches that form their rows, so that errors() is known.
  bool batched() const { return general_.blocks.empty() && explicit_contacts_.empty(); }
  /// Whether a contact of the batches has cohesion.
  bool cohesive() const { return cohesive_; }
  /// Energy errors of the iterate, or of zero impulses, at the velocities that the copies hold, or
  /// at others in the same lines.
  BatchErrors errors(bool at_zero = false) const { return errors(at_zero, lines_.data()); }
  BatchErrors errors(bool at_zero, const BodyLine* velocities) const;
  /// Adds M^-1 G^T lambda of one part to the copies' velocities, with the masses of its sweep.
  void apply_impulses(SweepPart part);
  /// Writes lambda of this subdomain's blocks to their place in the problem's rows.
  void store_impulses(const ConstraintProblem& problem, std::span<double> impulses) const;
  /// Takes lambda from there, admissible or not: what the next sweep starts from.
  void load_impulses(const ConstraintProblem& problem, std::span<const double> impulses);
  /// Keeps the impulses of batches as they are now; swaps them with those that were kept.
  void keep();
  void swap_kept();

 private:
  /// Where a part's blocks are packed.
  struct Range {
    std::size_t begin = 0, end = 0;
  };
  struct PartRanges {
    Range spheres, arms, rolling, explicit_contacts, general;
  };
  /// Where the impulses of a RollingBatch's lane go, and how.
  struct RollingOrigin {
    Index block = kNoIndex;  ///< of the problem
    Index row = kNoIndex;    ///< first in the problem; kNoIndex: no contact
    std::array<int, 6> place{};
    Vec3 tangent1, tangent2;
    double cohesion = 0.0;
  };
  /// The multiplicity of a body and, of a rigid one, what its line holds beside velocities.
  struct LineMass {
    Index line;
    bool rigid;
    double multiplicity, inverse_mass, inverse_inertia;
    InertiaLine inertia;
  };
  double* line_data() { return reinterpret_cast<double*>(lines_.data()); }
  void clear();
  void pack(const ConstraintProblem& problem, const SweepPlan& plan,
            std::span<const Index> multiplicity, std::span<const BodyRole> roles,
            std::span<const double> impulses);
  static LineMass line_mass(const ProblemBodies& bodies, Index body, Index line,
                            double multiplicity);
  void swap_mass(LineMass& mass);
  void swap_masses();
  void place_bodies(const ConstraintProblem& problem, std::span<const Index> multiplicity,
                    std::span<const BodyRole> roles, bool with_inertia);
  Index line_of(Index body) const { return line_of_body_[body]; }
  BodyPlace place_of(Index body) const;
  void pack_spheres(const ConstraintProblem& problem, std::span<const Index> plan,
                    std::span<const double> impulses);
  void pack_sphere(const ConstraintProblem& problem, Index block, std::span<const double> impulses,
                   SphereBatch& batch, int lane);
  void pack_arms(const ConstraintProblem& problem, std::span<const Index> plan,
                 std::span<const double> impulses);
  void pack_arm(const ConstraintProblem& problem, Index block, std::span<const double> impulses,
                GeneralContactBatch& batch, int lane);
  void pack_rolling(const ConstraintProblem& problem, std::span<const Index> plan,
                    std::span<const double> impulses);
  void pack_rolling(const RoundContact& contact, Index rows, std::span<const double> impulses,
                    RollingBatch& batch, int lane);
  void pack_explicit_contacts(const ConstraintProblem& problem, std::span<const Index> plan,
                              std::span<const double> impulses);
  void pack_general(const ConstraintProblem& problem, std::span<const Index> plan,
                    std::span<const double> impulses);
  void note_diagonals(const ConstraintProblem& problem);
  std::vector<Index> bodies_of_last_block() const;
  template <class Visit>
  void for_each_kept(const Visit& visit);

  SweepOptions rules_;
  KernelOptions batch_rules_;
  SweepPlanner planner_;
  std::span<const Index> bodies_;
  std::vector<Index> line_, dofs_;
  std::vector<Index> line_of_body_;   ///< per body of the problem, of those touched
  std::vector<double> multiplicity_;  ///< per first line of a body
  HugeVector<BodyLine> lines_;        ///< line 0 is still and belongs to no body
  HugeVector<InertiaLine> inertia_;
  HugeVector<SphereBatch> spheres_;
  HugeVector<GeneralContactBatch> arms_;
  HugeVector<RollingBatch> rolling_;
  HugeVector<ExplicitContactBatch> explicit_contacts_;
  InverseMasses inverse_masses_, split_masses_;                      ///< for these
  std::vector<Index> sphere_origin_, arm_origin_, explicit_origin_;  ///< block per lane
  std::vector<RollingOrigin> rolling_origin_;                        ///< per lane
  ExplicitBlocks general_;
  std::vector<double> scratch_;
  std::array<PartRanges, kSweepParts> ranges_;
  /// Of own bodies that are split in the crossing part: split masses, and true ones during it.
  std::vector<LineMass> other_masses_;
  /// Of the crossing part's batches, where masses are split.
  HugeVector<BatchDiagonal> sphere_diagonal_, arm_diagonal_, rolling_diagonal_;
  HugeVector<BatchImpulses> sphere_kept_, arm_kept_, rolling_kept_;
  bool mixes_ = false, cohesive_ = false;
  HugeVector<BatchHistory> sphere_history_, arm_history_, rolling_history_, explicit_history_;
  std::array<MixedNumbers, 2> mixed_;  ///< lines, and impulses of explicit blocks
  BatchMixing mixing_;
};

}  // namespace catena
