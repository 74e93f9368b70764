#include "support/assembled.hpp"

#include <stdexcept>

#include "catena/constraints/delassus.hpp"

namespace catena::test {

std::vector<double> assemble_dense(const ConstraintProblem& problem) {
  const std::size_t n = problem.n_rows();
  std::vector<double> dense(n * n, 0.0);
  if (problem.assembled) {
    const AssembledOperator& op = *problem.assembled;
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = op.row_begin[i]; j < static_cast<std::size_t>(op.row_begin[i + 1]); ++j)
        dense[i * n + op.column[j]] += op.value[j];
    return dense;
  }
  DelassusOperator op(problem);
  std::vector<double> unit(n, 0.0);
  std::vector<double> column(n);
  for (std::size_t j = 0; j < n; ++j) {
    unit[j] = 1.0;
    op.apply(unit, column);
    unit[j] = 0.0;
    for (std::size_t i = 0; i < n; ++i) dense[i * n + j] = column[i];
  }
  return dense;
}

ConstraintProblem assembled_problem(const ConstraintProblem& problem) {
  for (Index k = 0; k < problem.n_blocks(); ++k) {
    const BlockView view = block_view(problem, k);
    if (view.kind != BlockKind::contact || view.rows != 3 || view.cohesion != 0.0)
      throw std::logic_error("assembled_problem: blocks other than contacts of 3 rows");
  }
  const std::vector<double> dense = assemble_dense(problem);
  const std::size_t n = problem.n_rows();
  ConstraintProblem out(problem.comm);
  out.law = problem.law;
  AssembledOperator& a = out.assembled.emplace();
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      if (dense[i * n + j] == 0.0 && i != j) continue;
      a.column.push_back(to_index(j));
      a.value.push_back(dense[i * n + j]);
    }
    a.row_begin.push_back(std::ssize(a.value));
  }
  a.r.resize(n);
  DelassusOperator(problem).free_residual(a.r);
  for (Index k = 0; k < problem.n_blocks(); ++k) {
    a.friction.push_back(block_view(problem, k).friction);
    a.name.push_back(k);
  }
  return out;
}

}  // namespace catena::test
