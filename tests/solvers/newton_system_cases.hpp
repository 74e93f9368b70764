// Block diagonal matrices and dense systems for tests of Newton's linear systems.
#pragma once

#include <Eigen/Core>
#include <random>
#include <vector>

#include "solvers/newton/newton_system.hpp"
#include "support/dense_algebra.hpp"
#include "support/dense_reference.hpp"
#include "support/hand_problems.hpp"

namespace catena::test {

using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// Block diagonal matrix of a scene's rows (contacts, then blocks), with its blocks' row counts.
struct SceneMatrices {
  Eigen::MatrixXd full;
  std::vector<Index> rows;
};

inline std::vector<Index> block_rows(const Scene& scene) {
  std::vector<Index> rows(scene.contacts.size(), 3);
  for (const SceneBlock& b : scene.blocks) rows.push_back(static_cast<Index>(b.q.size()));
  return rows;
}

/// Random blocks: A A^T + 0.1 (symmetric) or I + A/2 of entries in [-1, 1], times `scale`.
inline Eigen::MatrixXd random_blocks(const Scene& scene, bool symmetric, double scale,
                                     unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<double> any(-1.0, 1.0);
  Eigen::MatrixXd full = Eigen::MatrixXd::Zero(scene.n_rows(), scene.n_rows());
  Eigen::Index row = 0;
  for (const Index m : block_rows(scene)) {
    const Eigen::MatrixXd a = Eigen::MatrixXd::NullaryExpr(m, m, [&] { return any(engine); });
    const Eigen::MatrixXd one = Eigen::MatrixXd::Identity(m, m);
    if (symmetric)
      full.block(row, row, m, m) = scale * (a * a.transpose() + 0.1 * one);
    else
      full.block(row, row, m, m) = scale * (one + 0.5 * a);
    row += m;
  }
  return full;
}

/// The blocks of `full` (scene's rows) that a rank's problem holds; `row`: the scene's row of
/// each local one.
inline BlockMatrices blocks_of(const Eigen::MatrixXd& full, const ConstraintProblem& problem,
                               const std::vector<Index>& row) {
  BlockMatrices out(problem);
  for (Index k = 0; k < problem.n_blocks(); ++k) {
    const BlockView view = block_view(problem, k);
    const Index first = row[static_cast<std::size_t>(view.row)];
    Eigen::Map<RowMajor>(out.block(k), view.rows, view.rows) =
        full.block(first, first, view.rows, view.rows);
  }
  return out;
}

inline std::vector<Index> own_rows(const ConstraintProblem& problem) {
  std::vector<Index> row;
  for (Index i = 0; i < problem.n_rows(); ++i) row.push_back(i);
  return row;
}

inline Eigen::VectorXd random_vector(Eigen::Index n, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<double> any(-1.0, 1.0);
  return Eigen::VectorXd::NullaryExpr(n, [&] { return any(engine); });
}

}  // namespace catena::test
