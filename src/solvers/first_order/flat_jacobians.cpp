#include "solvers/first_order/flat_jacobians.hpp"

#include "catena/constraints/block_diagonal.hpp"
#include "catena/constraints/block_rows.hpp"

namespace catena::first_order {

RowConstants row_constants(const ConstraintProblem& problem, Index block, Index row, double by) {
  const double cohesion = row == 0 ? block_view(problem, block).cohesion : 0.0;
  const double sigma = compliance_of_row(problem, block, row);
  const auto n_contacts = to_index(problem.contacts.size());
  const double bias = block < n_contacts
                          ? bias_of(problem.contacts[block])[row]
                          : -problem.blocks.q[problem.blocks.row_begin[block - n_contacts] + row];
  return {by * (bias - sigma * cohesion), by * by * sigma};
}

FlatJacobians::FlatJacobians(const ConstraintProblem& problem, const RowLayout& layout) {
  for (const Place& place : layout.places) {
    if (place.grouped()) continue;
    const std::size_t body_begin = bodies_.size();
    for_each_body(problem, place.block, [&](Index b, const double* g) {
      const Index dofs = problem.bodies.dofs(b);
      bodies_.push_back({problem.bodies.dof_begin[b], dofs, jacobian_.size()});
      for (std::size_t r = 0; r < place.rows; ++r)
        for (Index d = 0; d < dofs; ++d)
          jacobian_.push_back(layout.by_scale[place.first + r] * *g++);
    });
    blocks_.push_back({place.rows, body_begin, bodies_.size()});
    for (std::size_t r = 0; r < place.rows; ++r) {
      const RowConstants row =
          row_constants(problem, place.block, to_index(r), layout.by_scale[place.first + r]);
      offset_.push_back(row.offset);
      compliance_.push_back(row.compliance);
    }
  }
}

void FlatJacobians::residual_velocities(std::span<const double> velocities,
                                        std::span<const double> x, std::span<double> g) const {
  std::size_t i = 0;
  for (const Block& block : blocks_)
    for (std::size_t r = 0; r < block.rows; ++r, ++i) {
      double sum = offset_[i] + compliance_[i] * x[i];
      for (std::size_t j = block.body_begin; j < block.body_end; ++j) {
        const double* row = jacobian_.data() + bodies_[j].jacobian + r * Offset{bodies_[j].dofs};
        const double* v = velocities.data() + bodies_[j].first;
        for (Index d = 0; d < bodies_[j].dofs; ++d) sum += row[d] * v[d];
      }
      g[i] = sum;
    }
}

void FlatJacobians::add_forces(std::span<const double> x, std::span<double> forces) const {
  std::size_t first = 0;
  for (const Block& block : blocks_) {
    for (std::size_t j = block.body_begin; j < block.body_end; ++j) {
      const double* row = jacobian_.data() + bodies_[j].jacobian;
      double* f = forces.data() + bodies_[j].first;
      for (std::size_t r = 0; r < block.rows; ++r, row += bodies_[j].dofs)
        for (Index d = 0; d < bodies_[j].dofs; ++d) f[d] += row[d] * x[first + r];
    }
    first += block.rows;
  }
}

double FlatJacobians::compliant_energy(std::span<const double> x, std::span<const double> y) const {
  double sum = 0.0;
  for (std::size_t i = 0; i < compliance_.size(); ++i)
    sum += compliance_[i] * (x[i] - y[i]) * (x[i] - y[i]);
  return sum;
}

}  // namespace catena::first_order
