#include <algorithm>
#include <numeric>
#include <vector>

#include "catena/base/error.hpp"
#include "solvers/batches/sweep_order.hpp"
#include "solvers/gauss_seidel/formulations/formulations.hpp"

namespace catena {
namespace {

/// Collective. Whether all blocks of all ranks lie in one subdomain of one rank.
bool one_subdomain(const ConstraintProblem& problem) {
  const bool here = problem.n_blocks() > 0;
  bool several = false;
  for (const Index s : problem.block_subdomain)
    several = several || s != problem.block_subdomain.front();
  return problem.comm.sum(here ? 1.0 : 0.0) <= 1.0 && problem.comm.sum(several ? 1.0 : 0.0) == 0.0;
}

class ResidualEngine final : public SweepEngine {
 public:
  ResidualEngine(const ConstraintProblem& problem, DelassusOperator& op,
                 const LocalSolveOptions& rules, std::span<const double> impulses)
      : rules_(rules), at_body_(problem.bodies.size()) {
    std::vector<Index> blocks(problem.n_blocks());
    std::iota(blocks.begin(), blocks.end(), 0);
    const ProblemBodies& bodies = problem.bodies;
    const std::vector<BodyRole> own(problem.bodies.size(), BodyRole::own);
    for (const Index k : flatten(plan_sweep(problem, blocks, own, rules))) {
      Index packed = blocks_.size();
      append_block(blocks_, problem, k, rules.law, impulses, [&](Index b) {
        return BodyPlace{bodies.dof_begin[b], 1.0};
      });
      for (Index j = blocks_.blocks[packed].reference_begin;
           j < blocks_.blocks[packed].reference_end; ++j)
        body_of_.push_back(to_index(
            std::ranges::upper_bound(bodies.dof_begin, to_index(blocks_.references[j].velocity)) -
            bodies.dof_begin.begin() - 1));
      for (Index j = blocks_.blocks[packed].reference_begin;
           j < blocks_.blocks[packed].reference_end; ++j)
        if (bodies.mass_kind[body_of_[j]] != MassKind::prescribed)
          at_body_[body_of_[j]].push_back({packed, j});
    }
    start(problem, op);
  }

  /// Algorithm 2.1, its inner loops over bodies and the constraints at each.
  double sweep(bool forward) override {
    double residual = 0.0;
    for (Index step = 0; step < blocks_.size(); ++step) {
      const Index k = forward ? step : blocks_.size() - 1 - step;
      const ExplicitBlocks::Block& block = blocks_.blocks[k];
      const std::size_t rows = block.rows;
      const std::span<double> w = std::span(scratch_).subspan(0, rows);
      const std::span<double> change = std::span(scratch_).subspan(rows, rows);
      std::copy_n(r_.begin() + block.row, rows, w.begin());
      residual += update_block(blocks_, k, rules_, w, change);
      for (std::size_t i = 0; i < rows; ++i)
        r_[block.row + i] += blocks_.sigma[block.row + i] * change[i];
      for (Index j = block.reference_begin; j < block.reference_end; ++j)
        spread(blocks_.references[j], rows, change, at_body_[body_of_[j]]);
    }
    return residual;
  }

  void store_impulses(std::span<double> impulses) const override {
    for (const ExplicitBlocks::Block& block : blocks_.blocks)
      std::copy_n(blocks_.lambda.data() + block.row, block.rows,
                  impulses.data() + block.problem_row);
  }

 private:
  struct Place {
    Index block, reference;
  };

  /// r = G V + Sigma lambda - q of the guess.
  void start(const ConstraintProblem& problem, DelassusOperator& op) {
    std::vector<double> guess(problem.n_rows()), w(problem.n_rows());
    store_impulses(guess);
    std::vector<double> velocities(problem.bodies.n_dofs());
    op.velocities(guess, velocities);
    op.residual_velocities(velocities, guess, w);
    r_.resize(w.size());
    for (const ExplicitBlocks::Block& block : blocks_.blocks)
      std::copy_n(w.data() + block.problem_row, block.rows, r_.data() + block.row);
    scratch_.resize(Offset{2} * blocks_.most_rows);
    Index most = 0;
    for (const ExplicitBlocks::Reference& ref : blocks_.references) most = std::max(most, ref.dofs);
    d_b_.resize(most);
  }

  /// d_b = M_b^-1 G_kb^T change; r_c += G_cb d_b for every block c at the body.
  void spread(const ExplicitBlocks::Reference& ref, std::size_t rows,
              std::span<const double> change, std::span<const Place> places) {
    const std::size_t dofs = ref.dofs;
    std::fill_n(d_b_.begin(), dofs, 0.0);
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t m = 0; m < dofs; ++m) d_b_[m] += blocks_.y[ref.g + i * dofs + m] * change[i];
    for (const Place& place : places) {
      const ExplicitBlocks::Block& other = blocks_.blocks[place.block];
      const double* g = blocks_.g.data() + blocks_.references[place.reference].g;
      for (Index i = 0; i < other.rows; ++i)
        for (std::size_t m = 0; m < dofs; ++m) r_[other.row + i] += g[i * dofs + m] * d_b_[m];
    }
  }

  LocalSolveOptions rules_;
  ExplicitBlocks blocks_;
  std::vector<Index> body_of_;               ///< per reference
  std::vector<std::vector<Place>> at_body_;  ///< the constraints c_b1, c_b2, ... of each body
  std::vector<double> r_, scratch_, d_b_;
};

}  // namespace

std::unique_ptr<SweepEngine> make_residual_engine(const ConstraintProblem& problem,
                                                  DelassusOperator& op,
                                                  const LocalSolveOptions& rules,
                                                  std::span<const double> impulses) {
  if (!one_subdomain(problem))
    throw Error("formulation 'residual' runs on one subdomain only", "solver.formulation",
                "use formulation: velocity, or one rank and one subdomain");
  return std::make_unique<ResidualEngine>(problem, op, rules, impulses);
}

}  // namespace catena
