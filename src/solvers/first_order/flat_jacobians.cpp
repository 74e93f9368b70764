#include "solvers/first_order/flat_jacobians.hpp"

#include "catena/constraints/block_diagonal.hpp"
#include "catena/constraints/block_rows.hpp"

namespace catena::first_order {

FlatJacobians::FlatJacobians(const ConstraintProblem& problem, std::span<const Index> blocks,
                             std::span<const double> by_scale,
                             const std::function<Offset(Index)>& place) {
  const auto n_contacts = to_index(problem.contacts.size());
  for (const Index k : blocks) {
    const BlockView view = block_view(problem, k);
    const std::span<const double> by = by_scale.subspan(view.row, view.rows);
    const std::size_t body_begin = bodies_.size();
    for_each_body(problem, k, [&](Index b, const double* g) {
      const Index dofs = problem.bodies.dofs(b);
      bodies_.push_back({place(b), dofs, jacobian_.size()});
      for (const double scale : by)
        for (Index d = 0; d < dofs; ++d) jacobian_.push_back(scale * *g++);
    });
    blocks_.push_back({by.size(), body_begin, bodies_.size()});
    for (Index r = 0; r < view.rows; ++r) {
      const double sigma = compliance_of_row(problem, k, r);
      const double bias = k < n_contacts
                              ? bias_of(problem.contacts[k])[r]
                              : -problem.blocks.q[problem.blocks.row_begin[k - n_contacts] + r];
      offset_.push_back(by[r] * (bias - (r == 0 ? sigma * view.cohesion : 0.0)));
      compliance_.push_back(by[r] * by[r] * sigma);
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
