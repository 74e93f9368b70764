#include "solvers/work_estimate.hpp"

#include <algorithm>
#include <array>

namespace catena {
namespace {

/// Seconds per contact of a sweep over rigid contacts, explicit Jacobians (per number) and
/// assembled rows (per number), besides what a block takes by itself.
constexpr double kRigidContact = 4e-8, kBlock = 6e-8, kJacobianNumber = 1e-9, kEntry = 0.6e-9;
/// What a product of apgd counts for in sweeps; of assembled rows, whose entries take most of both,
/// half. In batches an iteration takes as long as 1.5 sweeps and more (docs/performance.md): this
/// is how much sooner it is tried than its time asks for.
constexpr double kProduct = 0.25, kAssembledProduct = 0.5;
/// Operations per second of dense and sparse factors; operations of a sparse factor of a contact
/// graph over the square of its unknowns (measured on packings of spheres); seconds of any step.
constexpr double kDenseRate = 1.5e10, kSparseRate = 5e9, kFill = 10.0, kStep = 5e-5;
/// Seconds per row to linearise and assemble.
constexpr double kAssembly = 3e-7;

}  // namespace

double estimate_factor(std::int64_t unknowns) {
  const auto n = static_cast<double>(unknowns);
  return std::min(estimate_dense_factor(unknowns), kFill * n * n / kSparseRate);
}

double estimate_dense_factor(std::int64_t rows) {
  const auto n = static_cast<double>(rows);
  return 2.0 / 3.0 * n * n * n / kDenseRate;
}

WorkEstimate estimate_work(const ConstraintProblem& problem) {
  WorkEstimate estimate;
  double sweep;
  std::int64_t unknowns = problem.n_rows();
  if (problem.assembled) {
    sweep =
        kBlock * problem.n_blocks() + kEntry * static_cast<double>(problem.assembled->value.size());
  } else {
    sweep = kRigidContact * static_cast<double>(problem.contacts.size()) +
            kBlock * problem.blocks.size() +
            kJacobianNumber * static_cast<double>(problem.blocks.jacobian.size());
    unknowns = problem.bodies.dof_begin[problem.bodies.n_owned];
  }
  std::array<std::int64_t, 2> sums = {unknowns, problem.n_rows()};
  problem.comm.sum(sums);
  estimate.unknowns = sums[0];
  estimate.rows = sums[1];
  estimate.sweep = problem.comm.max(sweep);
  estimate.product = (problem.assembled ? kAssembledProduct : kProduct) * estimate.sweep;
  estimate.newton_step =
      kStep + kAssembly * static_cast<double>(estimate.rows) + estimate_factor(estimate.unknowns);
  return estimate;
}

}  // namespace catena
