#include "solvers/joints/joint_chain.hpp"

#include <algorithm>
#include <array>

#include "catena/comm/typed_exchange.hpp"
#include "catena/constraints/row_kernels.hpp"
#include "solvers/joints/chain/row_lanes.hpp"

namespace catena {
namespace {

using row_kernels::add_product;
using row_kernels::times_inverse_mass;

}  // namespace

JointChain::JointChain(const ConstraintProblem& problem, const JointLayout& layout,
                       const JointSolverSettings& settings) {
  const std::span<const AssignedJoint> joints = std::span(layout.assigned).first(layout.n_chain);
  links_.reserve(joints.size());
  for (const AssignedJoint& joint : joints)
    links_.push_back({narrow<std::int8_t>(joint.bodies),
                      narrow<std::int8_t>(joint.place.previous_body),
                      narrow<std::int8_t>(joint.place.next_body)});
  for (int r = 0; r < problem.comm.rank(); ++r)
    if (layout.chain_begin[r] < layout.chain_begin[r + 1]) previous_rank_ = r;
  next_rows_ = next_rows(problem.comm, joints.empty() ? 0 : joints.front().rows);
  ChainPart part;
  for (std::size_t i = 0; i < joints.size(); ++i) {
    const AssignedJoint& joint = joints[i];
    if (problem.ordered && i > 0 && begins_piece(joint.place.n_joints, joint.place.index))
      part.piece_begin.push_back(to_index(i));
    part.name.push_back(joint.name);
    part.row_begin.push_back(part.row_begin.back() + joint.rows);
    part.diagonal_begin.push_back(part.diagonal_begin.back() + joint.rows * joint.rows);
    int next = 0;
    if (links_[i].next >= 0) next = i + 1 < joints.size() ? joints[i + 1].rows : next_rows_;
    part.coupling_begin.push_back(part.coupling_begin.back() + joint.rows * next);
  }
  JointSolverSettings own = settings;
  // by body the chains' places decide, by rank their cuts, and both depend on the ranks
  if (problem.ordered) own.grouping = ChainGrouping::piece;
  factor_.emplace(problem.comm, std::move(part), own);
}

/// Collective.
int JointChain::next_rows(const Communicator& comm, int first_rows) const {
  std::vector<Parcel> out;
  if (couples_back()) {
    const std::vector<std::int64_t> rows = {first_rows};
    out.push_back({previous_rank_, to_bytes(rows)});
  }
  int rows = 0;
  for (const Parcel& parcel : comm.exchange(std::move(out)))
    rows = narrow<int>(from_bytes<std::int64_t>(parcel.bytes).front());
  return rows;
}

/// Collective. G M^-1 of a rank's first joint at the body it shares with the one before.
void JointChain::send_first(const Communicator& comm, const JointTransport& transport) {
  if (comm.size() == 1) return;
  std::vector<Parcel> out;
  if (couples_back()) {
    const JointNumbers first = transport.numbers(0);
    const std::size_t j = links_.front().previous;
    std::vector<double> y(Offset{6} * rows(0));
    times_inverse_mass(rows(0), first.jacobian[j], first.inverse_mass[j], y.data());
    out.push_back({previous_rank_, to_bytes(y)});
  }
  for (const Parcel& parcel : comm.exchange(std::move(out)))
    next_first_ = from_bytes<double>(parcel.bytes);
}

/// A of a joint of kRows rows: its diagonal block, as a by-product the diagonal, and the coupling
/// of the joint `before`, of `rows_before` rows. G M^-1 of the body that both share serves both
/// blocks.
template <int kRows>
void JointChain::assemble(const Link& link, const JointNumbers& own, int rows_before,
                          const double* before, double* a, double* coupling, double* diagonal) {
  row_lanes::Lanes<kRows> block[kRows] = {};
  for (int j = 0; j < link.bodies; ++j) {
    const double* g = own.jacobian[j];
    row_lanes::Columns<kRows> y;
    row_lanes::take<kRows>(g, y);
    row_lanes::times_inverse_mass<kRows>(own.inverse_mass[j], y);
    for (int r = 0; r < kRows; ++r) row_lanes::add_product<kRows>(g + 6 * r, y, block[r]);
    if (j != link.previous) continue;
    for (int r = 0; r < rows_before; ++r) {
      row_lanes::Lanes<kRows> row = {};
      row_lanes::add_product<kRows>(before + 6 * r, y, row);
      row_lanes::store<kRows>(row, coupling + kRows * r);
    }
  }
  for (int r = 0; r < kRows; ++r) {
    row_lanes::store<kRows>(block[r], a + kRows * r);
    diagonal[r] = a[(kRows + 1) * r] += own.compliance[r];
  }
}

/// A in chain order.
void JointChain::factor(const Communicator& comm, const JointTransport& transport,
                        std::span<double> diagonal) {
  send_first(comm, transport);
  ChainPart& part = factor_->part();
  JointNumbers before;
  for (std::size_t i = 0; i < links_.size(); ++i) {
    const JointNumbers own = transport.numbers(i);
    const bool coupled = i > 0 && links_[i].previous >= 0;
    const double* g = coupled ? before.jacobian[links_[i - 1].next] : nullptr;
    double* coupling = coupled ? part.coupling.data() + part.coupling_begin[i - 1] : nullptr;
    row_lanes::with_known_rows(rows(i), [&](auto n) {
      assemble<n>(links_[i], own, coupled ? rows(i - 1) : 0, g,
                  part.diagonal.data() + part.diagonal_begin[i], coupling,
                  diagonal.data() + part.row_begin[i]);
    });
    before = own;
  }
  if (!links_.empty() && next_rows_ > 0) {
    const std::span<double> last =
        std::span(part.coupling).subspan(part.coupling_begin[links_.size() - 1]);
    std::fill(last.begin(), last.end(), 0.0);
    add_product(rows(links_.size() - 1), next_rows_, before.jacobian[links_.back().next],
                next_first_.data(), last.data());
  }
  factor_->factor();
}

}  // namespace catena
