// What the joints' impulses did on the bodies in a step.
#include <algorithm>
#include <cmath>

#include "catena/constraints/row_kernels.hpp"
#include "catena/stepper/joint_assembler.hpp"

namespace catena {
namespace {

/// `work` += lambda (u- + u+)/2, per row of general block k; what that does on prescribed bodies is
/// external work.
template <class Rows>
void find_work(Rows rows, const ConstraintProblem& problem, Index k, const double* lambda,
               const LocalBodies& local, std::span<const double> twists, double* work,
               AuditTerms& audit) {
  const GeneralBlocks& blocks = problem.blocks;
  for (auto j = blocks.body_begin[k]; j < blocks.body_begin[k + 1]; ++j) {
    const double* g = blocks.jacobian.data() + blocks.jacobian_begin[j];
    const Twist& before = local.twist(blocks.body[j]);
    const double* after = twists.data() + Offset{6} * blocks.body[j];
    std::array<double, 6> mean;
    for (int d = 0; d < 3; ++d) {
      mean[d] = 0.5 * (before.v[d] + after[d]);
      mean[d + 3] = 0.5 * (before.w[d] + after[d + 3]);
    }
    std::array<double, kJointRows> u{};
    row_kernels::add_slip(rows, g, mean.data(), u.data());
    double on_body = 0.0;
    for (int r = 0; r < rows; ++r) {
      work[r] += lambda[r] * u[r];
      on_body += lambda[r] * u[r];
    }
    if (problem.bodies.is_prescribed(blocks.body[j])) audit[EnergyTerm::external_work] -= on_body;
  }
}

/// The largest of |G V_free| over the first n rows of general block k.
template <class Rows>
double free_speed(Rows rows, const ConstraintProblem& problem, Index k, int n) {
  const GeneralBlocks& blocks = problem.blocks;
  std::array<double, kJointRows> u{};
  for (auto j = blocks.body_begin[k]; j < blocks.body_begin[k + 1]; ++j) {
    const double* v = problem.bodies.free_velocity.data() + Offset{6} * blocks.body[j];
    row_kernels::add_slip(rows, blocks.jacobian.data() + blocks.jacobian_begin[j], v, u.data());
  }
  double largest = 0.0;
  for (int r = 0; r < n; ++r) largest = std::max(largest, std::abs(u[r]));
  return largest;
}

/// Books the work of a row that is a limit, a motor with a bound, or friction.
void add_drive_work(JointRowKind part, double work, AuditTerms& audit) {
  if (part == JointRowKind::motor)
    audit[EnergyTerm::motor_work] += work;
  else if (part == JointRowKind::limit)
    audit[EnergyTerm::dissipation_impact] -= work;
  else
    audit[EnergyTerm::dissipation_friction] -= work;
}

}  // namespace

PassiveWork JointAssembler::add_work(const ConstraintProblem& problem,
                                     std::span<const double> impulses, const LocalBodies& local,
                                     std::span<const double> twists, AuditTerms& audit,
                                     State& state) const {
  const GeneralBlocks& blocks = problem.blocks;
  PassiveWork passive;
  const std::size_t first = problem.first_general_row();
  for (std::size_t j = 0; j + 1 < begin_.size(); ++j) {
    double& kept = state.joints[j].work;
    kept *= 1.0 - 1.0 / kWorkWindow;
    for (auto m = begin_[j]; m < begin_[j + 1]; ++m) {
      const Index k = block_of(m);
      const double* lambda = impulses.data() + first + blocks.row_begin[k];
      row_kernels::with_rows(blocks.rows(k), [&](auto rows) {
        std::array<double, kJointRows> work{};
        find_work(rows, problem, k, lambda, local, twists, work.data(), audit);
        if (made_[m].part != JointRowKind::rows && made_[m].part != JointRowKind::rope) {
          for (int r = 0; r < rows; ++r) add_drive_work(made_[m].part, work[r], audit);
          return;
        }
        const int geometric = winch_[j] == 0 ? std::min<int>(rows, rows_[j]) : 0;
        double done = 0.0, size = 0.0;
        for (int r = 0; r < geometric; ++r) {
          done += work[r];
          size += std::abs(lambda[r]);
        }
        audit[EnergyTerm::joint_work] += done;
        for (int r = geometric; r < rows; ++r) audit[EnergyTerm::motor_work] += work[r];
        if (rigid_[j] == 0) return;
        kept += done;
        passive.work += done;
        passive.impulses += size;
        passive.speed = std::max(passive.speed, free_speed(rows, problem, k, geometric));
      });
    }
  }
  return passive;
}

}  // namespace catena
