#include "catena/constraints/delassus.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "catena/base/error.hpp"
#include "catena/comm/ghost_sum.hpp"
#include "catena/comm/halo_exchange.hpp"
#include "catena/constraints/block_rows.hpp"
#include "catena/constraints/fetch_bodies.hpp"
#include "catena/constraints/ordered_sums.hpp"
#include "catena/constraints/row_kernels.hpp"

namespace catena {
namespace {

using ConstVec3 = Eigen::Map<const Vec3>;
using MutVec3 = Eigen::Map<Vec3>;

/// f += G^T lambda over this rank's rigid contacts.
void add_contact_forces(const ConstraintProblem& problem, std::span<const double> impulses,
                        std::span<double> f) {
  const std::vector<Index>& dof = problem.bodies.dof_begin;
  const double* l = impulses.data();
  for (std::size_t k = 0; k < problem.contacts.size(); ++k) {
    fetch_bodies_ahead(problem.contacts, k, [&](Index b) { return f.data() + dof[b]; });
    const RigidContact& c = problem.contacts[k];
    const Vec3 p = l[0] * c.normal + l[1] * c.tangent + l[2] * c.normal.cross(c.tangent);
    double* f_a = f.data() + dof[c.body_a];
    double* f_b = f.data() + dof[c.body_b];
    MutVec3(f_a) -= p;
    MutVec3(f_a + 3) -= c.arm_a.cross(p);
    MutVec3(f_b) += p;
    MutVec3(f_b + 3) += c.arm_b.cross(p);
    l += 3;
  }
}

/// f += G^T lambda over this rank's general blocks; `impulses` are theirs.
void add_general_forces(const ConstraintProblem& problem, std::span<const double> impulses,
                        std::span<double> f) {
  const GeneralBlocks& blocks = problem.blocks;
  for (Index k = 0; k < blocks.size(); ++k) {
    const Index row = blocks.row_begin[k];
    for_each_body(blocks, k, [&](Index b, const double* g) {
      const Index first = problem.bodies.dof_begin[b], dofs = problem.bodies.dofs(b);
      if (dofs == 6)
        return row_kernels::with_rows(blocks.rows(k), [&](auto rows) {
          row_kernels::add_force(rows, g, impulses.data() + row, f.data() + first);
        });
      for (Index r = row; r < blocks.row_begin[k + 1]; ++r, g += dofs)
        for (Index d = 0; d < dofs; ++d) f[first + d] += g[d] * impulses[r];
    });
  }
}

/// What a block does to a body at once: the same numbers wherever they are added.
void force_of(const ConstraintProblem& problem, std::span<const double> impulses,
              const OrderedSums::Term& term, OrderedSums::Numbers& f) {
  const auto n_contacts = to_index(problem.contacts.size());
  if (term.block < n_contacts) {
    const RigidContact& c = problem.contacts[term.block];
    const double* l = impulses.data() + Offset{3} * term.block;
    const Vec3 p = l[0] * c.normal + l[1] * c.tangent + l[2] * c.normal.cross(c.tangent);
    MutVec3(f.data()) = term.member == 0 ? Vec3(-p) : p;
    MutVec3(f.data() + 3) = term.member == 0 ? Vec3(-c.arm_a.cross(p)) : c.arm_b.cross(p);
    return;
  }
  const GeneralBlocks& blocks = problem.blocks;
  const std::size_t k = term.block - n_contacts;
  f.fill(0.0);
  row_kernels::with_rows(blocks.row_begin[k + 1] - blocks.row_begin[k], [&](auto rows) {
    row_kernels::add_force(rows, blocks.jacobian.data() + blocks.jacobian_begin[term.member],
                           impulses.data() + Offset{3} * n_contacts + blocks.row_begin[k],
                           f.data());
  });
}

/// f += G^T lambda over this rank's general blocks, block by block; all `impulses`.
void add_ordered_forces(const ConstraintProblem& problem, std::span<const double> impulses,
                        std::span<double> f) {
  const GeneralBlocks& blocks = problem.blocks;
  const auto n_contacts = to_index(problem.contacts.size());
  OrderedSums::Numbers force;
  for (Index k = 0; k < blocks.size(); ++k)
    for (Index j = blocks.body_begin[k]; j < blocks.body_begin[k + 1]; ++j) {
      const Index b = blocks.body[j];
      force_of(problem, impulses, {n_contacts + k, b, j}, force);
      for (std::size_t d = 0; d < 6; ++d) f[Offset{6} * b + d] += force[d];
    }
}

/// w = G V + Sigma lambda + offset b of the rigid contacts (no impulses: zeros).
void contact_slips(const ConstraintProblem& problem, std::span<const double> velocities,
                   std::span<const double> impulses, double offset, std::span<double> w) {
  const std::vector<Index>& dof = problem.bodies.dof_begin;
  double* out = w.data();
  const double* lambda = impulses.data();
  for (const RigidContact& c : problem.contacts) {
    MutVec3 u(out);
    u = contact_slip(c, velocities.data() + dof[c.body_a], velocities.data() + dof[c.body_b]);
    u += offset * bias_of(c);
    if (lambda != nullptr) {
      u += compliance_of(c).cwiseProduct(ConstVec3(lambda));
      lambda += 3;
    }
    out += 3;
  }
}

/// w = G V + Sigma lambda - offset q of the general blocks; spans of their rows (no impulses:
/// zeros).
void block_slips(const ConstraintProblem& problem, std::span<const double> velocities,
                 std::span<const double> impulses, double offset, std::span<double> w) {
  const GeneralBlocks& blocks = problem.blocks;
  for (std::size_t r = 0; r < w.size(); ++r)
    w[r] = (impulses.empty() ? 0.0 : blocks.compliance[r] * impulses[r]) - offset * blocks.q[r];
  for (Index k = 0; k < blocks.size(); ++k) {
    const Index row = blocks.row_begin[k];
    for_each_body(blocks, k, [&](Index b, const double* g) {
      const Index first = problem.bodies.dof_begin[b], dofs = problem.bodies.dofs(b);
      if (dofs == 6)
        return row_kernels::with_rows(blocks.rows(k), [&](auto rows) {
          row_kernels::add_slip(rows, g, velocities.data() + first, w.data() + row);
        });
      for (Index r = row; r < blocks.row_begin[k + 1]; ++r, g += dofs)
        for (Index d = 0; d < dofs; ++d) w[r] += g[d] * velocities[first + d];
    });
  }
}

/// Whether all bodies have six velocities.
bool all_six(const ProblemBodies& bodies) {
  return bodies.n_dofs() == 6 * bodies.size() &&
         std::ranges::all_of(bodies.dof_begin, [](Index d) { return d % 6 == 0; });
}

}  // namespace

HaloPlan velocity_plan(const HaloPlan& plan, const ProblemBodies& bodies, int& width) {
  width = all_six(bodies) ? 6 : 1;
  if (width == 6) return plan;
  HaloPlan out;
  const auto expand = [&](const std::vector<Index>& items) {
    std::vector<Index> dofs;
    for (const Index b : items)
      for (Index d = bodies.dof_begin[b]; d < bodies.dof_begin[b + 1]; ++d) dofs.push_back(d);
    return dofs;
  };
  for (const HaloPlan::Neighbour& n : plan.neighbours)
    out.neighbours.push_back({n.rank, expand(n.send), expand(n.receive)});
  return out;
}

struct DelassusOperator::Impl {
  void start(const ConstraintProblem& p) {
    problem = &p;
    ghost_forces.reset();
    ghost_velocities.reset();
    halo_blocks.reset();
    ordered.reset();
    if (p.assembled)
      set_up_assembled();
    else
      set_up_bodies();
  }

  void set_up_bodies() {
    if (problem->ordered) {
      ordered.emplace(*problem, OrderedSums::Blocks::all, Tag::delassus_ordered_forces);
      CATENA_CHECK(all_six(problem->bodies), "bodies of ordered problems have six velocities");
    }
    if (problem->ghosts.neighbours.empty()) return;
    const HaloPlan forward = velocity_plan(problem->ghosts, problem->bodies, width);
    ghost_velocities.emplace(problem->comm, forward, width, Tag::delassus_velocities);
    if (!ordered) ghost_forces.emplace(problem->comm, forward, width, Tag::delassus_forces);
  }

  void set_up_assembled() {
    const AssembledOperator& op = *problem->assembled;
    columns.resize(op.n_rows() + op.n_halo_rows);
    halo_blocks.emplace(problem->comm, op.halo, 3, Tag::delassus_impulses);
  }

  void share_velocities(std::span<double> v) {
    if (!ghost_velocities) return;
    ghost_velocities->begin(v);
    ghost_velocities->end(v);
  }

  /// Adds the general blocks' forces and those of other ranks.
  void complete_forces(std::span<const double> impulses, std::span<double> forces) {
    add_general_forces(*problem, impulses.subspan(problem->first_general_row()), forces);
    if (ghost_forces) ghost_forces->complete(forces);
  }

  void complete_in_order(std::span<const double> impulses, std::span<double> forces) {
    add_ordered_forces(*problem, impulses, forces);
    ordered->complete(forces, [&](const OrderedSums::Term& term, OrderedSums::Numbers& f) {
      force_of(*problem, impulses, term, f);
    });
  }

  /// `changes` of owned bodies := `from` + M^-1 G^T lambda, with the true mass; the others `from`
  /// (empty: zeros). The forces G^T lambda are added up in the same place.
  void owned_changes(std::span<const double> impulses, std::span<const double> from,
                     std::span<double> changes) {
    std::fill(changes.begin(), changes.end(), 0.0);
    add_contact_forces(*problem, impulses, changes);
    if (ordered)
      complete_in_order(impulses, changes);
    else
      complete_forces(impulses, changes);
    const ProblemBodies& bodies = problem->bodies;
    for (Index b = 0; b < bodies.n_owned; ++b) {
      const std::size_t first = bodies.dof_begin[b];
      const std::size_t dofs = bodies.dof_begin[b + 1] - first;
      if (bodies.mass_kind[b] == MassKind::rigid) {
        // M^-1 is symmetric: f as a row of G
        std::array<double, 6> f;
        std::copy_n(changes.begin() + first, 6, f.begin());
        row_kernels::times_inverse_mass(
            1, f.data(), bodies.inverse_mass.data() + bodies.mass_begin[b], changes.data() + first);
      } else {
        force.assign(changes.begin() + first, changes.begin() + (first + dofs));
        apply_inverse_mass(bodies, b, force, changes.subspan(first, dofs));
      }
      for (std::size_t d = first; !from.empty() && d < first + dofs; ++d) changes[d] += from[d];
    }
    const std::size_t ghosts = bodies.dof_begin[bodies.n_owned];
    if (from.empty())
      std::fill(changes.begin() + ghosts, changes.end(), 0.0);
    else
      std::copy(from.begin() + ghosts, from.end(), changes.begin() + ghosts);
  }

  /// w = G V + Sigma lambda - offset q of all rows (q = -b for contacts).
  void body_slips(std::span<const double> velocities, std::span<const double> impulses,
                  double offset, std::span<double> w) const {
    const std::size_t first = problem->first_general_row();
    contact_slips(*problem, velocities, impulses, offset, w);
    block_slips(*problem, velocities, impulses.subspan(first), offset, w.subspan(first));
  }

  /// y = N lambda with the assembled rows.
  void assembled_multiply(std::span<const double> impulses, std::span<double> y) {
    const AssembledOperator& op = *problem->assembled;
    std::copy(impulses.begin(), impulses.end(), columns.begin());
    halo_blocks->begin(columns);
    halo_blocks->end(columns);
    for (std::size_t i = 0; i < y.size(); ++i) {
      double sum = 0.0;
      for (std::size_t j = op.row_begin[i]; j < static_cast<std::size_t>(op.row_begin[i + 1]); ++j)
        sum += op.value[j] * columns[op.column[j]];
      y[i] = sum;
    }
  }

  const ConstraintProblem* problem = nullptr;
  int width = 6;                         ///< velocities in an item of the halo of ghosts
  std::vector<double> force;             ///< of one body
  std::vector<double> scratch;           ///< velocities, made when first asked for
  std::vector<double> columns;           ///< assembled: local rows, then halo rows
  std::optional<GhostSum> ghost_forces;  ///< the first two where there are ghosts
  std::optional<HaloExchange> ghost_velocities, halo_blocks;
  std::optional<OrderedSums> ordered;
};

DelassusOperator::DelassusOperator() : impl_(std::make_unique<Impl>()) {}
DelassusOperator::DelassusOperator(const ConstraintProblem& problem) : DelassusOperator() {
  start(problem);
}
DelassusOperator::~DelassusOperator() = default;
DelassusOperator::DelassusOperator(DelassusOperator&&) noexcept = default;

void DelassusOperator::start(const ConstraintProblem& problem) { impl_->start(problem); }

void DelassusOperator::velocities(std::span<const double> impulses, std::span<double> velocities) {
  if (impl_->problem->assembled) return;
  impl_->owned_changes(impulses, impl_->problem->bodies.free_velocity, velocities);
  impl_->share_velocities(velocities);
}

void DelassusOperator::velocity_changes(std::span<const double> impulses,
                                        std::span<double> changes) {
  if (impl_->problem->assembled) return;
  impl_->owned_changes(impulses, {}, changes);
  impl_->share_velocities(changes);
}

void DelassusOperator::residual_velocities(std::span<const double> velocities,
                                           std::span<const double> impulses, std::span<double> w) {
  const ConstraintProblem& problem = *impl_->problem;
  if (problem.assembled) {
    impl_->assembled_multiply(impulses, w);
    for (std::size_t i = 0; i < w.size(); ++i) w[i] += problem.assembled->r[i];
    return;
  }
  impl_->body_slips(velocities, impulses, 1.0, w);
}

Index DelassusOperator::rows() const { return impl_->problem->n_rows(); }

void DelassusOperator::apply(std::span<const double> impulses, std::span<double> y) {
  const ConstraintProblem& problem = *impl_->problem;
  if (problem.assembled) {
    impl_->assembled_multiply(impulses, y);
    return;
  }
  impl_->scratch.resize(problem.bodies.n_dofs());
  velocity_changes(impulses, impl_->scratch);
  impl_->body_slips(impl_->scratch, impulses, 0.0, y);
}

void DelassusOperator::free_residual(std::span<double> r) {
  const ConstraintProblem& problem = *impl_->problem;
  if (problem.assembled) {
    std::copy(problem.assembled->r.begin(), problem.assembled->r.end(), r.begin());
    return;
  }
  const std::vector<double> zero(r.size(), 0.0);
  residual_velocities(free_velocities(), zero, r);
}

std::span<const double> DelassusOperator::free_velocities() {
  const ProblemBodies& bodies = impl_->problem->bodies;
  if (impl_->problem->ghosts.neighbours.empty()) return bodies.free_velocity;
  impl_->scratch.assign(bodies.free_velocity.begin(), bodies.free_velocity.end());
  impl_->share_velocities(impl_->scratch);
  return impl_->scratch;
}

void DelassusOperator::general_residual_velocities(std::span<const double> velocities,
                                                   std::span<const double> impulses,
                                                   std::span<double> w) const {
  block_slips(*impl_->problem, velocities, impulses, 1.0, w);
}

}  // namespace catena
