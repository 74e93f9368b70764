// Iterates with the bodies' velocities.
#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "catena/base/release.hpp"
#include "catena/constraints/block_rows.hpp"
#include "catena/constraints/contact_cone.hpp"
#include "solvers/batches/simd/dispatch.hpp"
#include "solvers/first_order/batch_steps.hpp"
#include "solvers/first_order/body_motion.hpp"
#include "solvers/first_order/flat_jacobians.hpp"
#include "solvers/first_order/flat_rows.hpp"
#include "solvers/first_order/iterates.hpp"
#include "solvers/first_order/row_scales.hpp"

namespace catena::first_order {
namespace {

class PackedIterates final : public BodyIterates {
 public:
  explicit PackedIterates(PackedBy packed) : packed_by_(std::move(packed)) {}

  void start(const ConstraintProblem& problem, DelassusOperator& op, JointSystem* joints,
             double splitting, std::span<const double> impulses) override {
    problem_ = &problem;
    op_ = &op;
    joints_ = joints;
    form_ = law_form(problem.law);
    slots_ = {};
    y_holds_ = false;
    pack(impulses);
    scale_rows(problem, joints == nullptr, splitting, by_scale_);
    steps_.start(problem, *packed_, by_scale_);
    motion_.start(problem, *packed_);
    const std::vector<Index> others = blocks_outside();
    flat_ = FlatRows(problem, others, by_scale_);
    jacobians_ = FlatJacobians(problem, others, by_scale_,
                               [this](Index body) { return motion_.place(body); });
    g_.resize(flat_.size());
    assign_with_room(impulses_, problem.n_rows(), 0.0);
    make_room(velocities_, problem.bodies.n_dofs());
    velocities_.resize(problem.bodies.n_dofs());
    find_velocities_at_zero();
    find_first(impulses);
    find_what_is_known();
  }

  void rest() override {
    own_.rest();
    steps_.rest();
    motion_.rest();
    for (std::vector<Index>* list : {&blocks_, &bodies_, &multiplicity_}) clear_large(*list);
    for (std::vector<char>* list : {&touched_, &outside_}) clear_large(*list);
    clear_large(roles_);
    for (std::vector<double>* list : {&by_scale_, &impulses_, &velocities_, &g_})
      clear_large(*list);
    flat_ = {};
    jacobians_ = {};
  }

  StepSums step(const StepWeights& weights) override {
    if (!y_holds_ || !(weights.y == expected_)) motion_.make_y(weights.y, slots_);
    expected_ = weights.expected;
    y_holds_ = false;
    const std::span<const double> y = flat_.momentum_point(weights.y, slots_);
    jacobians_.residual_velocities(motion_.numbers_at_y(), y, g_);
    StepSums sums = steps_.step(
        {motion_.at_y(), motion_.forces(), weights, slots_, form_.box, !form_.frictionless});
    sums.add(flat_.step(weights, slots_, g_));
    jacobians_.add_forces(flat_.x(slots_.next), motion_.force_numbers());
    sums.curved += jacobians_.compliant_energy(flat_.x(slots_.next), y) + move_bodies();
    return sums;
  }

  void accept() override {
    slots_.accept();
    y_holds_ = true;
  }

  void reject() override {
    if (joints_ != nullptr) make_velocities(slots_.now);
  }

  void store(std::span<double> impulses) override {
    store_slot(slots_.now, impulses);
    store_joints(impulses);
  }

  bool store_velocities(std::span<double> velocities) const override {
    motion_.store(slots_.now, velocities);
    return true;
  }

  bool knows_errors() const override { return knows_errors_; }

  ErrorParts errors() override {
    steps_.store(slots_.now);
    return parts(false, motion_.velocities(slots_.now));
  }

  const ErrorParts* errors_at_zero() const override { return at_zero_ ? &*at_zero_ : nullptr; }

  void keep() override { packed_->keep(); }

  void store_kept(std::span<double> impulses) override {
    packed_->swap_kept();
    packed_->store_impulses(*problem_, impulses);
    packed_->swap_kept();
  }

 private:
  /// All blocks of this rank but joints that are solved on their own, as one subdomain of bodies
  /// with their true masses.
  void pack(std::span<const double> impulses) {
    const ConstraintProblem& problem = *problem_;
    const auto n_contacts = to_index(problem.contacts.size());
    make_room(blocks_, problem.n_blocks());
    blocks_.clear();
    for (Index k = 0; k < problem.n_blocks(); ++k)
      if (joints_ == nullptr || k < n_contacts ||
          problem.blocks.kind[k - n_contacts] != BlockKind::bilateral)
        blocks_.push_back(k);
    packed_ = packed_by_ ? packed_by_(problem) : nullptr;
    if (packed_ != nullptr) return packed_->load_impulses(problem, impulses);
    packed_ = &own_;
    find_touched_bodies(problem, blocks_, touched_, bodies_);
    assign_with_room(multiplicity_, problem.bodies.size(), 1);
    assign_with_room(roles_, problem.bodies.size(), BodyRole::own);
    own_.start(problem, blocks_, bodies_, multiplicity_, roles_,
               {.local = {problem.law}, .kernels = choose_kernels(KernelPath::automatic)},
               impulses);
  }

  /// Blocks that stand in no batch with steps.
  std::vector<Index> blocks_outside() {
    assign_with_room(outside_, problem_->n_blocks(), 0);
    for (const Index block : blocks_) outside_[block] = 1;
    for (const std::span<const Index> origin :
         {packed_->sphere_origin(), packed_->arm_origin(), packed_->explicit_origin()})
      for (const Index block : origin)
        if (block != kNoIndex) outside_[block] = 0;
    std::vector<Index> blocks;
    std::ranges::copy_if(blocks_, std::back_inserter(blocks),
                         [&](Index block) { return outside_[block] != 0; });
    return blocks;
  }

  /// V at x = 0, which is lambda = -c n.
  void find_velocities_at_zero() {
    for (Index k = 0; k < problem_->n_blocks(); ++k) {
      const BlockView view = block_view(*problem_, k);
      impulses_[view.row] = -view.cohesion;
    }
    op_->velocities(impulses_, velocities_);
    motion_.load_free(velocities_);
    std::ranges::fill(impulses_, 0.0);
  }

  /// x_k and x_k-1 become the impulses.
  void find_first(std::span<const double> impulses) {
    for (const int slot : {slots_.now, slots_.before}) {
      steps_.load(slot);
      flat_.load(impulses, slot);
    }
    // twice where there are joints: what regularisation leaves of the first the second takes out
    for (int product = joints_ != nullptr ? 0 : 1; product < 2; ++product)
      make_velocities(slots_.now);
    for (const int slot : {slots_.before, slots_.next}) motion_.load(velocities_, slot);
  }

  /// Collective. Batches know their errors where there is nothing else.
  void find_what_is_known() {
    at_zero_.reset();
    const bool all = packed_->batched() && flat_.size() == 0 && joints_ == nullptr &&
                     !problem_->ordered && !form_.box;
    const std::int64_t missing = problem_->comm.max(std::int64_t{!all                  ? 2
                                                                 : packed_->cohesive() ? 1
                                                                                       : 0});
    knows_errors_ = missing < 2;
    if (missing == 0) at_zero_ = parts(true, motion_.at_zero());
  }

  ErrorParts parts(bool at_zero, const BodyLine* velocities) const {
    const BatchErrors errors = packed_->errors(at_zero, velocities);
    ErrorParts out(false);
    out.normal += errors.normal;
    out.friction += errors.friction;
    out.scale += errors.scale;
    return out;
  }

  void store_slot(int slot, std::span<double> impulses) {
    steps_.store(slot);
    packed_->store_impulses(*problem_, impulses);
    flat_.store(slot, impulses);
  }

  /// Calls visit(row among all, general block, row within it) for rows of bilateral blocks.
  template <class Visit>
  void each_joint(const Visit& visit) const {
    const GeneralBlocks& blocks = problem_->blocks;
    const std::size_t first = problem_->first_general_row();
    for (Index k = 0; k < blocks.size(); ++k) {
      if (blocks.kind[k] != BlockKind::bilateral) continue;
      const Index begin = blocks.row_begin[k];
      for (Index row = begin; row < blocks.row_begin[k + 1]; ++row)
        visit(first + row, k, row - begin);
    }
  }

  void store_joints(std::span<double> impulses) const {
    if (joints_ == nullptr) return;
    each_joint([&](std::size_t row, Index, Index) { impulses[row] = impulses_[row]; });
  }

  /// The last product's impulses of joints, so that the solve only brings what has changed and
  /// takes out again what its regularisation left.
  void add_joint_forces() {
    const std::span<double> forces = motion_.force_numbers();
    each_joint([&](std::size_t row, Index k, Index r) {
      for_each_body(problem_->blocks, k, [&](Index b, const double* g) {
        const Index dofs = problem_->bodies.dofs(b);
        double* f = forces.data() + motion_.place(b);
        for (Index d = 0; d < dofs; ++d) f[d] += g[r * dofs + d] * impulses_[row];
      });
    });
  }

  /// V of the forces, joints met, ghosts included; what the velocities say of the step's curvature.
  double move_bodies() {
    if (problem_->ordered) {
      // sums must not know which rank holds which block
      make_velocities(slots_.next);
      return motion_.settle(expected_, slots_);
    }
    if (joints_ == nullptr) return motion_.advance(expected_, slots_);
    add_joint_forces();
    motion_.push(slots_);
    motion_.store(slots_.next, velocities_);
    joints_->solve(*problem_, impulses_, velocities_);
    motion_.load(velocities_, slots_.next);
    motion_.share(slots_.next);
    return motion_.settle(expected_, slots_);
  }

  /// V of an iterate from its impulses.
  void make_velocities(int slot) {
    store_slot(slot, impulses_);
    op_->velocities(impulses_, velocities_);
    if (joints_ != nullptr) joints_->solve(*problem_, impulses_, velocities_);
    motion_.load(velocities_, slot);
    if (joints_ != nullptr) motion_.share(slot);
  }

  const ConstraintProblem* problem_ = nullptr;
  DelassusOperator* op_ = nullptr;
  JointSystem* joints_ = nullptr;
  LawForm form_;
  PackedBy packed_by_;
  Subdomain own_;
  Subdomain* packed_ = nullptr;  ///< another method's, or the own one
  std::vector<Index> blocks_, bodies_, multiplicity_;
  std::vector<char> touched_, outside_;
  std::vector<BodyRole> roles_;
  std::vector<double> by_scale_;  ///< 1/s of all rows
  BatchSteps steps_;
  BodyMotion motion_;
  FlatRows flat_;
  FlatJacobians jacobians_;
  Slots slots_;
  MomentumPoint expected_;  ///< what the last step left V(y) of, if it is accepted
  bool y_holds_ = false;
  std::vector<double> g_;         ///< of flat rows at y
  std::vector<double> impulses_;  ///< all rows; those of joints as they were last
  std::vector<double> velocities_;
  bool knows_errors_ = false;
  std::optional<ErrorParts> at_zero_;
};

}  // namespace

std::unique_ptr<BodyIterates> make_body_iterates(PackedBy packed) {
  return std::make_unique<PackedIterates>(std::move(packed));
}

}  // namespace catena::first_order
