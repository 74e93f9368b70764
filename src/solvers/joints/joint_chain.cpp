#include "solvers/joints/joint_chain.hpp"

#include <algorithm>
#include <array>

#include "catena/comm/typed_exchange.hpp"
#include "catena/constraints/row_kernels.hpp"
#include "catena/model/joint.hpp"

namespace catena {
namespace {

using row_kernels::add_product;
using row_kernels::times_inverse_mass;
using row_kernels::with_rows;

/// G M^-1 of a joint at one of its bodies.
using Line = std::array<double, 6 * kJointRows>;

}  // namespace

JointChain::JointChain(const ConstraintProblem& problem, const JointLayout& layout,
                       const JointSolverSettings& settings)
    : layout_(layout), next_rows_(next_rows(problem.comm)) {
  const std::span<const AssignedJoint> chain = joints();
  for (std::size_t i = 0; i < chain.size(); ++i) {
    const AssignedJoint& joint = chain[i];
    part_.name.push_back(joint.name);
    part_.row_begin.push_back(part_.row_begin.back() + joint.rows);
    part_.diagonal_begin.push_back(part_.diagonal_begin.back() + joint.rows * joint.rows);
    int next = 0;
    if (joint.place.next_body >= 0) next = i + 1 < chain.size() ? chain[i + 1].rows : next_rows_;
    part_.coupling_begin.push_back(part_.coupling_begin.back() + joint.rows * next);
  }
  part_.diagonal.resize(part_.diagonal_begin.back());
  part_.coupling.resize(part_.coupling_begin.back());
  JointSolverSettings own = settings;
  // by body the chains' places decide, which depend on the ranks
  if (problem.ordered) own.grouping = ChainGrouping::rank;
  factor_.emplace(problem.comm, part_, own);
}

/// The last rank before this one that has chain joints; -1: none.
int JointChain::previous_rank(int rank) const {
  for (int r = rank - 1; r >= 0; --r)
    if (layout_.chain_begin[r] < layout_.chain_begin[r + 1]) return r;
  return -1;
}

/// Collective.
int JointChain::next_rows(const Communicator& comm) const {
  std::vector<Parcel> out;
  if (couples_back()) {
    const std::vector<std::int64_t> rows = {joints().front().rows};
    out.push_back({previous_rank(comm.rank()), to_bytes(rows)});
  }
  int rows = 0;
  for (const Parcel& parcel : comm.exchange(std::move(out)))
    rows = narrow<int>(from_bytes<std::int64_t>(parcel.bytes).front());
  return rows;
}

/// Collective. G M^-1 of a rank's first joint at the body it shares with the one before.
void JointChain::send_first(const Communicator& comm, const JointNumbers& first) {
  if (comm.size() == 1) return;
  std::vector<Parcel> out;
  if (couples_back()) {
    const AssignedJoint& joint = joints().front();
    const std::size_t j = joint.place.previous_body;
    std::vector<double> y(Offset{6} * joint.rows);
    times_inverse_mass(joint.rows, first.jacobian[j], first.inverse_mass[j], y.data());
    out.push_back({previous_rank(comm.rank()), to_bytes(y)});
  }
  for (const Parcel& parcel : comm.exchange(std::move(out)))
    next_first_ = from_bytes<double>(parcel.bytes);
}

/// A in chain order. G M^-1 of the body shared with the joint before serves the diagonal block and
/// the coupling.
void JointChain::factor(const Communicator& comm, std::span<const JointNumbers> numbers) {
  const std::span<const AssignedJoint> chain = joints();
  send_first(comm, chain.empty() ? JointNumbers{} : numbers.front());
  std::fill(part_.diagonal.begin(), part_.diagonal.end(), 0.0);
  std::fill(part_.coupling.begin(), part_.coupling.end(), 0.0);
  for (std::size_t i = 0; i < chain.size(); ++i) {
    const AssignedJoint& joint = chain[i];
    const JointNumbers& own = numbers[i];
    double* a = part_.diagonal.data() + part_.diagonal_begin[i];
    with_rows(joint.rows, [&](auto rows) {
      Line y;
      for (int j = 0; j < joint.bodies; ++j) {
        times_inverse_mass(rows, own.jacobian[j], own.inverse_mass[j], y.data());
        add_product(rows, rows, y.data(), own.jacobian[j], a);
        if (i == 0 || j != joint.place.previous_body) continue;
        const AssignedJoint& last = chain[i - 1];
        add_product(last.rows, static_cast<int>(rows),
                    numbers[i - 1].jacobian[last.place.next_body], y.data(),
                    part_.coupling.data() + part_.coupling_begin[i - 1]);
      }
      for (int r = 0; r < rows; ++r) a[r * rows + r] += own.compliance[r];
    });
  }
  if (!chain.empty() && next_rows_ > 0) {
    const AssignedJoint& last = chain.back();
    add_product(last.rows, next_rows_, numbers[chain.size() - 1].jacobian[last.place.next_body],
                next_first_.data(), part_.coupling.data() + part_.coupling_begin[chain.size() - 1]);
  }
  factor_->factor(part_);
}

}  // namespace catena
