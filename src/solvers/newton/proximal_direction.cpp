#include "solvers/newton/proximal_direction.hpp"

namespace catena {
namespace {

constexpr double kLinearTolerance = 1e-6;

}  // namespace

ProximalDirection::ProximalDirection(const ConstraintProblem& problem, DelassusOperator& op,
                                     const LawFunction& law, NewtonSystem& system)
    : problem_(problem),
      op_(op),
      law_(law),
      system_(system),
      a_(problem),
      b_(problem),
      c_(problem),
      right_(problem.n_rows()),
      lambda_(problem.n_rows()),
      w_(problem.n_rows()) {}

bool ProximalDirection::find(double weight, std::span<const double> f) {
  const std::span<const double> scales = law_.scales();
  const Index n = problem_.n_blocks();
  std::size_t row = 0;
  for (Index k = 0; k < n; ++k) {
    const std::size_t m = block_view(problem_, k).rows;
    const double* const a = a_.block(k);
    const double* const b = b_.block(k);
    double* const c = c_.block(k);
    for (std::size_t i = 0; i < m; ++i)
      for (std::size_t j = 0; j < m; ++j)
        c[i * m + j] = a[i * m + j] + weight * b[i * m + j] * scales[row + j];
    row += m;
  }
  if (!system_.factor(c_, &b_)) return false;
  for (std::size_t i = 0; i < f.size(); ++i) right_[i] = -f[i];
  const LinearReport report = system_.solve(right_, lambda_, {}, kLinearTolerance);
  linear_iterations_ += report.iterations;
  if (!report.ok) return false;
  op_.apply(lambda_, w_);
  for (std::size_t i = 0; i < w_.size(); ++i) w_[i] += weight * scales[i] * lambda_[i];
  return true;
}

}  // namespace catena
