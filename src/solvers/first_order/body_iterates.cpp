// Iterates with the bodies' velocities.
#include <algorithm>
#include <array>
#include <optional>

#include "catena/comm/ghost_sum.hpp"
#include "catena/comm/halo_exchange.hpp"
#include "catena/constraints/block_rows.hpp"
#include "catena/constraints/contact_cone.hpp"
#include "solvers/first_order/body_masses.hpp"
#include "solvers/first_order/contact_groups.hpp"
#include "solvers/first_order/flat_jacobians.hpp"
#include "solvers/first_order/flat_rows.hpp"
#include "solvers/first_order/iterates.hpp"

namespace catena::first_order {
namespace {

class BodyIterates final : public Iterates {
 public:
  BodyIterates(const ConstraintProblem& problem, DelassusOperator& op, JointSystem* joints,
               RowLayout layout)
      : problem_(problem),
        op_(op),
        joints_(joints),
        layout_(std::move(layout)),
        n_dofs_(problem.bodies.n_dofs()),
        groups_(problem, layout_, problem.bodies.n_dofs()),
        flat_(problem, layout_),
        jacobians_(problem, layout_),
        masses_(problem.bodies),
        g_(flat_.size()),
        impulses_(problem.n_rows(), 0.0) {
    // six more than the problem's are those of bodies that a contact has not
    for (auto* v : {&free_, &v_[0], &v_[1], &v_[2], &v_y_, &forces_}) v->assign(n_dofs_ + 6, 0.0);
    int width = 6;  // velocities in an item of the halos
    const HaloPlan forward = velocity_plan(problem.ghosts, problem.bodies, width);
    to_owners_.emplace(problem.comm, forward, width, Tag::product_forces);
    to_ghosts_.emplace(problem.comm, forward, width, Tag::product_velocities);
    // V at x = 0, which is lambda = -c n
    for (Index k = 0; k < problem.n_blocks(); ++k) {
      const BlockView view = block_view(problem, k);
      impulses_[view.row] = -view.cohesion;
    }
    op.velocities(impulses_, own(free_));
    std::fill(impulses_.begin(), impulses_.end(), 0.0);
  }

  void start(std::span<const double> impulses) override {
    groups_.load(impulses, slots_.now);
    flat_.load(impulses, slots_.now);
    groups_.load(impulses, slots_.before);
    flat_.load(impulses, slots_.before);
    // twice where there are joints: what regularisation leaves of the first the second takes out
    for (int product = joints_ != nullptr ? 0 : 1; product < 2; ++product)
      make_velocities(slots_.now);
    v_[slots_.before] = v_[slots_.now];
    v_[slots_.next] = v_[slots_.now];
  }

  StepSums step(const StepWeights& weights) override {
    const std::vector<double>&now = v_[slots_.now], &before = v_[slots_.before];
    for (std::size_t d = 0; d < v_y_.size(); ++d)
      v_y_[d] = weights.keep * now[d] + weights.take * before[d];
    const std::span<const double> y = flat_.momentum_point(weights, slots_);
    jacobians_.residual_velocities(v_y_, y, g_);
    std::fill(forces_.begin(), forces_.end(), 0.0);
    StepSums sums =
        groups_.step({v_y_.data(), forces_.data(), weights, slots_, law_form(problem_.law).box});
    sums.add(flat_.step(weights, slots_, g_));
    jacobians_.add_forces(flat_.x(slots_.next), forces_);
    sums.curved += jacobians_.compliant_energy(flat_.x(slots_.next), y) + move_bodies();
    return sums;
  }

  void accept() override { slots_.accept(); }

  void reject() override {
    if (joints_ != nullptr) make_velocities(slots_.now);
  }

  void store(std::span<double> impulses) const override {
    store_slot(slots_.now, impulses);
    if (joints_ == nullptr) return;
    each_joint([&](std::size_t row, Index, Index) { impulses[row] = impulses_[row]; });
  }

  std::span<const double> velocities() const override { return {v_[slots_.now].data(), n_dofs_}; }

 private:
  std::span<double> own(std::vector<double>& v) const { return {v.data(), n_dofs_}; }

  void store_slot(int slot, std::span<double> impulses) const {
    groups_.store(slot, impulses);
    flat_.store(slot, impulses);
  }

  /// Calls visit(row among all, general block, row within it) for rows of bilateral blocks.
  template <class Visit>
  void each_joint(const Visit& visit) const {
    const GeneralBlocks& blocks = problem_.blocks;
    const std::size_t first = problem_.first_general_row();
    for (Index k = 0; k < blocks.size(); ++k) {
      if (blocks.kind[k] != BlockKind::bilateral) continue;
      const Index begin = blocks.row_begin[k];
      for (Index row = begin; row < blocks.row_begin[k + 1]; ++row)
        visit(first + row, k, row - begin);
    }
  }

  /// The last product's impulses of joints, so that the solve only brings what has changed and
  /// takes out again what its regularisation left.
  void add_joint_forces() {
    const GeneralBlocks& blocks = problem_.blocks;
    each_joint([&](std::size_t row, Index k, Index r) {
      for_each_body(blocks, k, [&](Index b, const double* g) {
        const Index dofs = problem_.bodies.dofs(b);
        double* f = forces_.data() + problem_.bodies.dof_begin[b];
        for (Index d = 0; d < dofs; ++d) f[d] += g[r * dofs + d] * impulses_[row];
      });
    });
  }

  /// V of the forces, joints met, ghosts included; what the velocities say of the step's curvature.
  double move_bodies() {
    std::vector<double>& v = v_[slots_.next];
    double energy = 0.0;
    if (problem_.ordered) {
      // sums must not know which rank holds which block
      make_velocities(slots_.next);
      return masses_.energy(v, v_y_);
    }
    if (joints_ != nullptr) add_joint_forces();
    to_owners_->complete(own(forces_));
    energy = masses_.move(free_, forces_, v_y_, v);
    if (joints_ != nullptr) {
      joints_->solve(problem_, impulses_, own(v));
      energy = masses_.energy(v, v_y_);
    }
    share(v);
    return energy;
  }

  /// V of an iterate from its impulses.
  void make_velocities(int slot) {
    store_slot(slot, impulses_);
    op_.velocities(impulses_, own(v_[slot]));
    if (joints_ == nullptr) return;
    joints_->solve(problem_, impulses_, own(v_[slot]));
    share(v_[slot]);
  }

  void share(std::vector<double>& v) {
    to_ghosts_->begin(own(v));
    to_ghosts_->end(own(v));
  }

  const ConstraintProblem& problem_;
  DelassusOperator& op_;
  JointSystem* joints_;
  RowLayout layout_;
  std::size_t n_dofs_;
  ContactGroups groups_;
  FlatRows flat_;
  FlatJacobians jacobians_;
  BodyMasses masses_;
  Slots slots_;
  std::vector<double> free_, v_y_, forces_;
  std::array<std::vector<double>, 3> v_;  ///< of the three iterates
  std::vector<double> g_;                 ///< of flat rows at y
  std::vector<double> impulses_;          ///< all rows; those of joints as they were last
  std::optional<GhostSum> to_owners_;
  std::optional<HaloExchange> to_ghosts_;
};

}  // namespace

std::unique_ptr<Iterates> make_body_iterates(const ConstraintProblem& problem, DelassusOperator& op,
                                             JointSystem* joints, double splitting) {
  RowLayout layout = lay_out(problem, joints == nullptr);
  scale_rows(problem, splitting, layout);
  return std::make_unique<BodyIterates>(problem, op, joints, std::move(layout));
}

}  // namespace catena::first_order
