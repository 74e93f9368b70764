// Products with N in scaled rows: through velocities, or with an assembled operator.
#include <algorithm>
#include <array>

#include "catena/base/huge_pages.hpp"
#include "catena/base/sort_unique.hpp"
#include "catena/comm/ghost_sum.hpp"
#include "catena/comm/halo_exchange.hpp"
#include "catena/constraints/block_rows.hpp"
#include "catena/constraints/row_kernels.hpp"
#include "solvers/first_order/scaled_problem.hpp"

namespace catena::first_order {
namespace {

/// M^-1 of the owned bodies: a number per velocity where it is diagonal, else a list.
class InverseMasses {
 public:
  explicit InverseMasses(const ProblemBodies& bodies) : bodies_(bodies) {
    diagonal_.assign(bodies.dof_begin[bodies.n_owned], 0.0);
    for (Index b = 0; b < bodies.n_owned; ++b) add(b);
  }

  /// v = v_free + M^-1 f for the velocities of owned bodies.
  void apply(std::span<const double> free, std::span<const double> f, std::span<double> v) const {
    for (std::size_t d = 0; d < diagonal_.size(); ++d) v[d] = free[d] + diagonal_[d] * f[d];
    std::array<double, 6> y;
    for (const Index b : rigid_) {
      const std::size_t first = bodies_.dof_begin[b];
      row_kernels::times_inverse_mass(
          1, f.data() + first, bodies_.inverse_mass.data() + bodies_.mass_begin[b], y.data());
      for (std::size_t d = 0; d < 6; ++d) v[first + d] += y[d];
    }
    for (const Index b : dense_) {
      const std::size_t first = bodies_.dof_begin[b];
      const std::size_t n = bodies_.dof_begin[b + 1] - first;
      const double* m = bodies_.inverse_mass.data() + bodies_.mass_begin[b];
      for (std::size_t i = 0; i < n; ++i, m += n) {
        double sum = 0.0;
        for (std::size_t j = 0; j < n; ++j) sum += m[j] * f[first + j];
        v[first + i] += sum;
      }
    }
  }

 private:
  void add(Index b) {
    const double* m = bodies_.inverse_mass.data() + bodies_.mass_begin[b];
    const std::size_t first = bodies_.dof_begin[b];
    const std::size_t n = bodies_.dof_begin[b + 1] - first;
    switch (bodies_.mass_kind[b]) {
      case MassKind::prescribed:
        return;
      case MassKind::rigid:
        if (m[2] != 0.0 || m[3] != 0.0 || m[5] != 0.0) {
          rigid_.push_back(b);
          return;
        }
        for (std::size_t d = 0; d < 3; ++d) diagonal_[first + d] = m[0];
        diagonal_[first + 3] = m[1];
        diagonal_[first + 4] = m[4];
        diagonal_[first + 5] = m[6];
        return;
      case MassKind::dense:
        for (std::size_t i = 0; i < n * n; ++i)
          if (m[i] != 0.0 && i % (n + 1) != 0) {
            dense_.push_back(b);
            return;
          }
        for (std::size_t d = 0; d < n; ++d) diagonal_[first + d] = m[d * (n + 1)];
    }
  }

  const ProblemBodies& bodies_;
  std::vector<double> diagonal_;
  std::vector<Index> rigid_, dense_;
};

/// Blocks of any kind with explicit Jacobians, scaled.
struct ScaledBlocks {
  struct Body {
    Index first, dofs;     ///< velocities
    std::size_t jacobian;  ///< rows x dofs from here
  };
  struct Block {
    Place place;
    std::size_t body_begin, body_end;
  };
  std::vector<Block> block;
  std::vector<Body> body;
  std::vector<double> jacobian;
  std::vector<double> offset, compliance;  ///< per row of the blocks in order

  void add_forces(std::span<const double> x, std::span<double> forces) const {
    for (const Block& b : block)
      for (std::size_t j = b.body_begin; j < b.body_end; ++j) {
        const double* g = jacobian.data() + body[j].jacobian;
        double* f = forces.data() + body[j].first;
        for (std::size_t r = 0; r < b.place.rows; ++r, g += body[j].dofs) {
          const double impulse = x[b.place.first + r * b.place.stride];
          for (Index d = 0; d < body[j].dofs; ++d) f[d] += g[d] * impulse;
        }
      }
  }

  void residual_velocities(std::span<const double> velocities, std::span<const double> x,
                           std::span<double> w) const {
    std::size_t row = 0;
    for (const Block& b : block)
      for (std::size_t r = 0; r < b.place.rows; ++r, ++row) {
        const std::size_t i = b.place.first + r * b.place.stride;
        double sum = offset[row] + compliance[row] * x[i];
        for (std::size_t j = b.body_begin; j < b.body_end; ++j) {
          const double* g = jacobian.data() + body[j].jacobian + r * Offset{body[j].dofs};
          const double* v = velocities.data() + body[j].first;
          for (Index d = 0; d < body[j].dofs; ++d) sum += g[d] * v[d];
        }
        w[i] = sum;
      }
  }
};

class BodyProduct final : public RowProduct {
 public:
  BodyProduct(const ConstraintProblem& problem, const RowLayout& layout, JointSystem* joints,
              DelassusOperator& op, std::span<const double> free_velocities)
      : problem_(problem),
        layout_(layout),
        joints_(joints),
        op_(op),
        n_dofs_(problem.bodies.n_dofs()),
        masses_(problem.bodies),
        free_(free_velocities.begin(), free_velocities.end()) {
    // lanes without a contact, and bodies that a contact has not, lie behind the problem's
    free_.resize(n_dofs_ + 6, 0.0);
    velocities_ = free_;
    forces_.assign(n_dofs_ + 6, 0.0);
    pack(layout);
    const HaloPlan forward = velocity_plan(problem.ghosts, problem.bodies, width_);
    to_owners_.emplace(problem.comm, forward, width_, Tag::product_forces);
    to_ghosts_.emplace(problem.comm, forward, width_, Tag::product_velocities);
    if (joints != nullptr || problem.ordered) impulses_.assign(problem.n_rows(), 0.0);
  }

  void residual_velocities(std::span<const double> x, std::span<double> g) override {
    if (problem_.ordered)
      move_bodies_in_order(x);
    else
      move_bodies(x);
    const std::size_t first_rows = arms_.size() * kGroupRows;
    for (std::size_t k = 0; k < arms_.size(); ++k)
      first_order::residual_velocities(arms_[k], velocities_.data(), x.data() + k * kGroupRows,
                                       g.data() + k * kGroupRows);
    for (std::size_t k = 0; k < rows_.size(); ++k) {
      const std::size_t i = first_rows + k * kGroupRows;
      first_order::residual_velocities(rows_[k], velocities_.data(), x.data() + i, g.data() + i);
    }
    blocks_.residual_velocities(velocities_, x, g);
  }

  std::span<const double> velocities() const override { return {velocities_.data(), n_dofs_}; }

  void store_joints(std::span<double> impulses) const override {
    if (joints_ == nullptr) return;
    each_joint([&](std::size_t row, Index, Index) { impulses[row] = impulses_[row]; });
  }

 private:
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

  /// V = V_free + M^-1 f, joints met, ghosts included.
  void move_bodies(std::span<const double> x) {
    std::fill(forces_.begin(), forces_.end(), 0.0);
    for (std::size_t k = 0; k < arms_.size(); ++k)
      first_order::add_forces(arms_[k], x.data() + k * kGroupRows, forces_.data());
    const std::size_t first_rows = arms_.size() * kGroupRows;
    for (std::size_t k = 0; k < rows_.size(); ++k)
      first_order::add_forces(rows_[k], x.data() + first_rows + k * kGroupRows, forces_.data());
    blocks_.add_forces(x, forces_);
    if (joints_ != nullptr) add_joint_forces();
    const std::span<double> forces(forces_.data(), n_dofs_),
        velocities(velocities_.data(), n_dofs_);
    to_owners_->complete(forces);
    masses_.apply(free_, forces, velocities);
    if (joints_ != nullptr) joints_->solve(problem_, impulses_, velocities);
    share(velocities);
  }

  /// The same, where sums must not know which rank holds which block.
  void move_bodies_in_order(std::span<const double> x) {
    for (const Place& place : layout_.places) {
      const BlockView view = block_view(problem_, place.block);
      for (std::size_t r = 0; r < place.rows; ++r) {
        const std::size_t i = place.first + r * place.stride;
        impulses_[view.row + r] = x[i] * layout_.by_scale[i] - (r == 0 ? view.cohesion : 0.0);
      }
    }
    const std::span<double> velocities(velocities_.data(), n_dofs_);
    op_.velocities(impulses_, velocities);
    if (joints_ == nullptr) return;
    joints_->solve(problem_, impulses_, velocities);
    share(velocities);
  }

  void share(std::span<double> velocities) {
    to_ghosts_->begin(velocities);
    to_ghosts_->end(velocities);
  }

  void pack(const RowLayout& layout) {
    const auto nowhere = to_index(n_dofs_);
    GeneralContactGroup empty_arms;
    RowGroup empty_rows;
    empty_arms.a.fill(nowhere);
    empty_arms.b.fill(nowhere);
    empty_rows.a.fill(nowhere);
    empty_rows.b.fill(nowhere);
    arms_.assign(layout.rigid_groups, empty_arms);
    rows_.assign(layout.row_groups, empty_rows);
    for (const Place& place : layout.places) {
      const std::size_t group = place.first / kGroupRows, lane = place.first % kGroupRows;
      if (group < layout.rigid_groups)
        pack_arm(layout, place, arms_[group], lane);
      else if (group < layout.rigid_groups + layout.row_groups)
        pack_rows(layout, place, rows_[group - layout.rigid_groups], lane);
      else
        pack_block(layout, place);
    }
  }

  void pack_arm(const RowLayout& layout, const Place& place, GeneralContactGroup& group,
                std::size_t lane) const {
    const RigidContact& c = problem_.contacts[place.block];
    for (int d = 0; d < 3; ++d) {
      group.normal[d][lane] = c.normal[d];
      group.tangent[d][lane] = c.tangent[d];
      group.arm_a[d][lane] = c.arm_a[d];
      group.arm_b[d][lane] = c.arm_b[d];
    }
    group.by_normal[lane] = layout.by_scale[place.first];
    group.by_tangent[lane] = layout.by_scale[place.first + kLanes];
    for (std::size_t r = 0; r < 3; ++r)
      constants(place.block, r, layout.by_scale[place.first + r * kLanes], group.offset[r][lane],
                group.compliance[r][lane]);
    group.a[lane] = problem_.bodies.dof_begin[c.body_a];
    group.b[lane] = problem_.bodies.dof_begin[c.body_b];
  }

  /// A row's -q, and what is left of Sigma (lambda + c n) where c holds, both scaled; Sigma.
  void constants(Index block, std::size_t r, double by, double& offset, double& compliance) const {
    const auto n_contacts = to_index(problem_.contacts.size());
    if (block < n_contacts) {
      const RigidContact& c = problem_.contacts[block];
      const Index i = to_index(r);
      const double sigma = compliance_of(c)[i];
      offset = by * (bias_of(c)[i] - sigma * (r == 0 ? c.cohesion : 0.0));
      compliance = by * by * sigma;
      return;
    }
    const BlockView view = block_view(problem_, block);
    const std::size_t row = problem_.blocks.row_begin[block - n_contacts] + r;
    const double cohesion = r == 0 ? view.cohesion : 0.0;
    offset = -by * (problem_.blocks.q[row] + problem_.blocks.compliance[row] * cohesion);
    compliance = by * by * problem_.blocks.compliance[row];
  }

  void pack_rows(const RowLayout& layout, const Place& place, RowGroup& group,
                 std::size_t lane) const {
    const GeneralBlocks& blocks = problem_.blocks;
    const std::size_t k = place.block - problem_.contacts.size();
    const std::size_t first = blocks.body_begin[k], last = blocks.body_begin[k + 1];
    for (std::size_t r = 0; r < 3; ++r) {
      const double by = layout.by_scale[place.first + r * kLanes];
      constants(place.block, r, by, group.offset[r][lane], group.compliance[r][lane]);
      for (std::size_t j = first; j < last; ++j) {
        const double* g = blocks.jacobian.data() + blocks.jacobian_begin[j] + 6 * r;
        for (std::size_t d = 0; d < 6; ++d)
          group.jacobian[6 * (j - first) + d][r][lane] = by * g[d];
      }
    }
    const std::vector<Index>& dof = problem_.bodies.dof_begin;
    if (first < last) group.a[lane] = dof[blocks.body[first]];
    if (first + 1 < last) group.b[lane] = dof[blocks.body[first + 1]];
  }

  void pack_block(const RowLayout& layout, const Place& place) {
    const std::size_t body_begin = blocks_.body.size();
    for_each_body(problem_, place.block, [&](Index b, const double* g) {
      const Index dofs = problem_.bodies.dofs(b);
      blocks_.body.push_back({problem_.bodies.dof_begin[b], dofs, blocks_.jacobian.size()});
      for (std::size_t r = 0; r < place.rows; ++r)
        for (Index d = 0; d < dofs; ++d)
          blocks_.jacobian.push_back(layout.by_scale[place.first + r * place.stride] * *g++);
    });
    blocks_.block.push_back({place, body_begin, blocks_.body.size()});
    for (std::size_t r = 0; r < place.rows; ++r) {
      double& offset = blocks_.offset.emplace_back();
      double& compliance = blocks_.compliance.emplace_back();
      constants(place.block, r, layout.by_scale[place.first + r * place.stride], offset,
                compliance);
    }
  }

  const ConstraintProblem& problem_;
  const RowLayout& layout_;
  JointSystem* joints_;
  DelassusOperator& op_;
  std::size_t n_dofs_;
  InverseMasses masses_;
  std::vector<double> free_, velocities_, forces_;  ///< n_dofs and six more
  HugeVector<GeneralContactGroup> arms_;
  HugeVector<RowGroup> rows_;
  ScaledBlocks blocks_;
  std::vector<double> impulses_;  ///< all rows: of joints solved on their own; if ordered, of all
  int width_ = 6;                 ///< velocities in an item of the halos
  std::optional<GhostSum> to_owners_;
  std::optional<HaloExchange> to_ghosts_;
};

/// Blocks of 3 x 3, by rows; columns are contacts, those of other ranks last.
class AssembledProduct final : public RowProduct {
 public:
  AssembledProduct(const ConstraintProblem& problem, const RowLayout& layout)
      : n_(*problem.assembled),
        by_scale_(layout.by_scale),
        places_(layout.places),
        columns_((n_.n_rows() + n_.n_halo_rows) + 1, 0.0),
        halo_(problem.comm, n_.halo, 3, Tag::product_impulses) {
    std::vector<Index> found;
    for (Index k = 0; k < n_.n_rows() / 3; ++k) {
      found.clear();
      for (auto e = begin(k); e < begin(k + 1); ++e) found.push_back(n_.column[e] / 3);
      sort_unique(found);
      const std::size_t first = block_.size();
      for (const Index j : found) block_.push_back({{}, 3 * j});
      for (Index i = 0; i < 3; ++i)
        for (auto e = at_row(3 * k + i); e < at_row(3 * k + i + 1); ++e) {
          const Index j = n_.column[e] / 3;
          const auto place = std::lower_bound(found.begin(), found.end(), j) - found.begin();
          Block& block = block_[first + place];
          block.value[n_.column[e] - 3 * j][i] += n_.value[e];
        }
      block_end_.push_back(block_.size());
    }
  }

  void residual_velocities(std::span<const double> x, std::span<double> g) override {
    for (const Place& p : places_)
      for (std::size_t r = 0; r < 3; ++r) {
        const std::size_t i = p.first + r * p.stride;
        columns_[Offset{3} * p.block + r] = by_scale_[i] * x[i];
      }
    halo_.begin(columns_);
    halo_.end(columns_);
    for (const Place& p : places_) {
      const std::size_t k = p.block;
      std::array<double, 4> sum{};
      for (std::size_t b = k > 0 ? block_end_[k - 1] : 0; b < block_end_[k]; ++b) {
        const Block& block = block_[b];
        const double* impulse = columns_.data() + block.column;
        for (std::size_t c = 0; c < 3; ++c)
          for (std::size_t i = 0; i < 4; ++i) sum[i] += block.value[c][i] * impulse[c];
      }
      for (std::size_t r = 0; r < 3; ++r) {
        const std::size_t i = p.first + r * p.stride;
        g[i] = by_scale_[i] * (sum[r] + n_.r[3 * k + r]);
      }
    }
  }

 private:
  struct Block {
    std::array<std::array<double, 4>, 3> value{};  ///< column by column, padded
    Index column = 0;
  };
  std::size_t at_row(Index row) const { return n_.row_begin[row]; }
  std::size_t begin(Index block) const { return at_row(3 * block); }

  const AssembledOperator& n_;
  std::vector<double> by_scale_;
  std::vector<Place> places_;
  std::vector<Block> block_;
  std::vector<std::size_t> block_end_;  ///< per own contact
  std::vector<double> columns_;
  HaloExchange halo_;
};

}  // namespace

std::unique_ptr<RowProduct> make_body_product(const ConstraintProblem& problem,
                                              const RowLayout& layout, JointSystem* joints,
                                              DelassusOperator& op,
                                              std::span<const double> free_velocities) {
  return std::make_unique<BodyProduct>(problem, layout, joints, op, free_velocities);
}

std::unique_ptr<RowProduct> make_assembled_product(const ConstraintProblem& problem,
                                                   const RowLayout& layout) {
  return std::make_unique<AssembledProduct>(problem, layout);
}

}  // namespace catena::first_order
