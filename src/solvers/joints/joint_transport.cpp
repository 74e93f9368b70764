#include "solvers/joints/joint_transport.hpp"

#include <algorithm>
#include <map>

#include "catena/base/error.hpp"
#include "catena/comm/typed_exchange.hpp"

namespace catena {
namespace {

/// Items: of what is sent, joints in the order of `sent`; of what comes, received joints, as their
/// holders list them.
HaloPlan plan_of(const JointLayout& layout, std::span<const AssignedJoint> received) {
  std::map<int, HaloPlan::Neighbour> paths;
  Index slot = 0;
  for (const auto& [other, list] : layout.sent)
    for (std::size_t i = 0; i < list.size(); ++i) paths[other].send.push_back(slot++);
  for (const AssignedJoint& joint : received)
    paths[joint.holder].receive.push_back(to_index(joint.index));
  HaloPlan plan;
  for (auto& [other, neighbour] : paths) {
    neighbour.rank = other;
    plan.neighbours.push_back(std::move(neighbour));
  }
  return plan;
}

}  // namespace

JointTransport::JointTransport(const Communicator& comm, const JointLayout& layout)
    : layout_(layout),
      received_joints_(layout.n_received),
      payload_begin_(layout.n_received + 1, 0),
      received_(layout.n_received * Offset{layout.width}, 0.0) {
  source_.reserve(layout.assigned.size());
  for (const AssignedJoint& joint : layout.assigned) {
    const bool own = joint.holder == comm.rank();
    source_.push_back(own ? to_index(joint.index) : -1 - to_index(joint.index));
    if (!own) received_joints_[joint.index] = joint;
  }
  for (std::size_t r = 0; r < layout.n_received; ++r) {
    const AssignedJoint& joint = received_joints_[r];
    payload_begin_[r + 1] = payload_begin_[r] + joint.rows;
    for (int j = 0; j < joint.bodies; ++j) payload_begin_[r + 1] += joint.numbers_of(j);
  }
  payload_.assign(payload_begin_.back(), 0.0);
  if (comm.size() == 1) return;
  HaloPlan plan = plan_of(layout, received_joints_);
  take_back_.emplace(comm, plan.reversed(), layout.width, Tag::joint_rows_from_eliminator);
  bring_.emplace(comm, std::move(plan), layout.width, Tag::joint_rows_to_eliminator);
}

void JointTransport::send_numbers(const ConstraintProblem& problem,
                                  std::span<const HeldJoint> held) {
  problem_ = &problem;
  held_ = held;
  if (!bring_) return;
  const GeneralBlocks& blocks = problem.blocks;
  const ProblemBodies& bodies = problem.bodies;
  std::vector<Parcel> out;
  for (const auto& [rank, list] : layout_.sent) {
    std::vector<double> numbers;
    for (const std::size_t i : list) {
      const auto row = blocks.compliance.begin() + blocks.row_begin[held[i].block];
      numbers.insert(numbers.end(), row, row + held[i].rows);
      for (Index j = 0; j < held[i].bodies; ++j) {
        const std::size_t reference = held[i].reference(problem, j);
        const std::size_t b = blocks.body[reference];
        const auto g = blocks.jacobian.begin();
        const auto first = g + blocks.jacobian_begin[reference];
        numbers.insert(numbers.end(), first,
                       first + Offset{held[i].rows} * bodies.dofs(to_index(b)));
        const auto m = bodies.inverse_mass.begin();
        numbers.insert(numbers.end(), m + bodies.mass_begin[b], m + bodies.mass_begin[b + 1]);
      }
    }
    out.push_back({rank, to_bytes(numbers)});
  }
  // parcels come by rank, as the layout's did
  std::size_t done = 0;
  for (const Parcel& parcel : problem.comm.exchange(std::move(out))) {
    const auto numbers = from_bytes<double>(parcel.bytes);
    CATENA_CHECK(done + numbers.size() <= payload_.size(), "joints' numbers as announced");
    std::copy(numbers.begin(), numbers.end(), payload_.begin() + done);
    done += numbers.size();
  }
  CATENA_CHECK(done == payload_.size(), "joints' numbers as announced");
}

JointNumbers JointTransport::received_numbers(std::size_t r) const {
  const AssignedJoint& joint = received_joints_[r];
  const double* p = payload_.data() + payload_begin_[r];
  JointNumbers numbers;
  numbers.compliance = p;
  p += joint.rows;
  for (int j = 0; j < joint.bodies; ++j) {
    numbers.jacobian[j] = p;
    numbers.inverse_mass[j] = p + joint.rows * joint.dofs[j];
    p += joint.numbers_of(j);
  }
  return numbers;
}

void JointTransport::bring(std::span<double> rows) {
  if (!bring_) return;
  bring_->begin(rows.subspan(layout_.n_assigned_rows));
  bring_->end(received_);
  for (const AssignedJoint& joint : received_joints_)
    std::copy_n(received_.begin() + joint.index * Offset{layout_.width}, joint.rows,
                rows.begin() + joint.first_row);
}

void JointTransport::take_back(std::span<double> rows) {
  if (!take_back_) return;
  for (const AssignedJoint& joint : received_joints_)
    std::copy_n(rows.begin() + joint.first_row, joint.rows,
                received_.begin() + joint.index * Offset{layout_.width});
  take_back_->begin(received_);
  take_back_->end(rows.subspan(layout_.n_assigned_rows));
}

}  // namespace catena
