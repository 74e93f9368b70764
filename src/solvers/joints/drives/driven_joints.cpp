#include "solvers/joints/drives/driven_joints.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <unordered_map>
#include <utility>

#include "catena/constraints/block_rows.hpp"
#include "catena/model/joint.hpp"

namespace catena {
namespace {

/// Solves of a set at most, and those in which all rows may change sides without becoming fewer.
constexpr int kMostSets = 60, kPatience = 4;
/// Round-off of a slip, m/s or rad/s, and of what is measured against another.
constexpr double kAtRest = 1e-12, kRoundOff = 1e-12;
/// Slip, m/s or rad/s and as a part of the fastest one, with which a drive between its bounds does
/// not hold what it is to hold: others of its loop ask for another speed, so that all of them
/// yield.
constexpr double kYieldsAtLeast = 1e-9, kYields = 1e-6;
/// Blocks of the own problem per joint: itself, and slots that do not fit into it.
constexpr std::int64_t kBlocksOfJoint = 8;
constexpr double kUnbounded = std::numeric_limits<double>::infinity();

/// Bodies of a general block, and all numbers of its Jacobian.
std::span<const Index> bodies_of(const GeneralBlocks& blocks, Index k) {
  const Index first = blocks.body_begin[k];
  return std::span(blocks.body).subspan(first, blocks.body_begin[k + 1] - first);
}
std::span<const double> jacobian_of(const GeneralBlocks& blocks, Index k) {
  const std::int64_t first = blocks.jacobian_begin[blocks.body_begin[k]];
  const std::int64_t last = blocks.jacobian_begin[blocks.body_begin[k + 1]];
  return std::span(blocks.jacobian).subspan(first, last - first);
}

/// Appends a bilateral block without numbers.
Index add_block(std::int64_t name, std::span<const Index> bodies, Index rows,
                const ProblemBodies& of, GeneralBlocks& to) {
  to.kind.push_back(BlockKind::bilateral);
  to.name.push_back(name);
  to.friction.push_back(0.0);
  to.row_begin.push_back(to.row_begin.back() + rows);
  for (const Index b : bodies) {
    to.body.push_back(b);
    to.jacobian_begin.push_back(to.jacobian_begin.back() + std::int64_t{rows} * of.dofs(b));
  }
  to.body_begin.push_back(to_index(to.body.size()));
  return to.size() - 1;
}

}  // namespace

DrivenJoints::DrivenJoints(const ConstraintProblem& problem, std::vector<Index> drives,
                           DelassusOperator& op, JointSystem& joints, bool mixed)
    : DriveRows(problem, std::move(drives)),
      op_(op),
      joints_(joints),
      with_drives_(problem.comm),
      side_(block_.size(), Side::lower),
      slip_(block_.size(), 0.0),
      push_(problem.n_rows(), 0.0),
      changes_(problem.bodies.n_dofs()),
      mixed_(mixed) {
  with_drives_.bodies = problem.bodies;
  with_drives_.ghosts = problem.ghosts;
  with_drives_.ordered = problem.ordered;
  with_drives_.joint_misfit = problem.joint_misfit;
  find_slots();
  make_blocks();
  copy_joints();
}

/// 1 or -1: two drives of the same joint act on one coordinate, the same or the other way round; 0:
/// they do not.
double DrivenJoints::sign_between(std::size_t a, std::size_t b) const {
  const GeneralBlocks& blocks = problem_.blocks;
  if (!std::ranges::equal(bodies_of(blocks, block_[a]), bodies_of(blocks, block_[b]))) return 0.0;
  const std::span<const double> of_a = jacobian_of(blocks, block_[a]);
  const std::span<const double> of_b = jacobian_of(blocks, block_[b]);
  if (std::ranges::equal(of_a, of_b)) return 1.0;
  return std::ranges::equal(of_a, of_b, [](double x, double y) { return x == -y; }) ? -1.0 : 0.0;
}

void DrivenJoints::find_slots() {
  std::unordered_map<std::int64_t, std::vector<std::size_t>> of_joint;
  slot_.reserve(block_.size());
  for (std::size_t g = 0; g < block_.size(); ++g) {
    std::vector<std::size_t>& own = of_joint[problem_.blocks.name[block_[g]]];
    const auto found = std::ranges::find_if(
        own, [&](std::size_t s) { return sign_between(slots_[s].like, g) != 0.0; });
    slot_.push_back(found == own.end() ? slots_.size() : *found);
    if (found != own.end()) continue;
    own.push_back(slots_.size());
    slots_.push_back({.like = g});
  }
}

/// The joints' blocks, each with a row for every slot that fits in, and blocks of the other slots.
void DrivenJoints::make_blocks() {
  const GeneralBlocks& from = problem_.blocks;
  GeneralBlocks& to = with_drives_.blocks;
  std::map<std::int64_t, std::vector<std::size_t>> of_joint;
  for (std::size_t s = 0; s < slots_.size(); ++s)
    of_joint[from.name[block_[slots_[s].like]]].push_back(s);
  const auto bodies_of_slot = [&](std::size_t s) {
    return bodies_of(from, block_[slots_[s].like]);
  };
  const auto add_slots = [&](std::int64_t name, std::span<const std::size_t> slots) {
    for (std::size_t i = 0; i < slots.size(); ++i) {
      slots_[slots[i]].block = add_block(kBlocksOfJoint * name + narrow<Index>(i) + 1,
                                         bodies_of_slot(slots[i]), 1, problem_.bodies, to);
      joint_.push_back(kNoIndex);
    }
  };
  for (Index k = 0; k < from.size(); ++k) {
    if (from.kind[k] != BlockKind::bilateral) continue;
    const std::int64_t name = from.name[k];
    // ropes and others that are drives alone stand among the joints in their order
    while (!of_joint.empty() && of_joint.begin()->first < name) {
      add_slots(of_joint.begin()->first, of_joint.begin()->second);
      of_joint.erase(of_joint.begin());
    }
    std::vector<std::size_t> own;
    if (auto node = of_joint.extract(name); !node.empty()) own = std::move(node.mapped());
    std::size_t inside = 0;
    Index rows = from.rows(k);
    while (inside < own.size() && rows < narrow<Index>(kJointRows) &&
           std::ranges::equal(bodies_of_slot(own[inside]), bodies_of(from, k)))
      slots_[own[inside++]].row = rows++;
    const Index block =
        add_block(kBlocksOfJoint * name, bodies_of(from, k), rows, problem_.bodies, to);
    joint_.push_back(k);
    for (std::size_t i = 0; i < inside; ++i) slots_[own[i]].block = block;
    add_slots(name, std::span(own).subspan(inside));
  }
  for (const auto& [name, slots] : of_joint) add_slots(name, slots);
}

/// Numbers of the joints' own rows, and room for the slots'.
void DrivenJoints::copy_joints() {
  const GeneralBlocks& from = problem_.blocks;
  GeneralBlocks& to = with_drives_.blocks;
  const std::size_t rows = to.n_rows();
  to.jacobian.assign(to.jacobian_begin.back(), 0.0);
  for (std::vector<double>* list : {&to.q, &to.compliance, &to.lower, &to.upper, &lambda_})
    list->assign(rows, 0.0);
  // as motors' rows, which yield where a loop's joints leave no other way
  for (const Slot& slot : slots_) {
    to.lower[to.row_begin[slot.block] + slot.row] = -kUnbounded;
    to.upper[to.row_begin[slot.block] + slot.row] = kUnbounded;
  }
  to.angular.assign(rows, 0);
  for (Index k = 0; k < to.size(); ++k) {
    if (joint_[k] == kNoIndex) continue;
    const Index j = joint_[k], n = from.rows(j);
    const Index source = from.row_begin[j], target = to.row_begin[k];
    std::copy_n(from.q.begin() + source, n, to.q.begin() + target);
    std::copy_n(from.compliance.begin() + source, n, to.compliance.begin() + target);
    std::copy_n(from.lower.begin() + source, n, to.lower.begin() + target);
    std::copy_n(from.upper.begin() + source, n, to.upper.begin() + target);
    std::copy_n(from.angular.begin() + source, n, to.angular.begin() + target);
    for (Index i = 0; i < to.body_begin[k + 1] - to.body_begin[k]; ++i) {
      const std::int64_t first = from.jacobian_begin[from.body_begin[j] + i];
      const Index dofs = problem_.bodies.dofs(to.body[to.body_begin[k] + i]);
      std::copy_n(from.jacobian.begin() + first, std::int64_t{n} * dofs,
                  to.jacobian.begin() + to.jacobian_begin[to.body_begin[k] + i]);
    }
  }
}

/// Numbers of the slots' rows: those of the drive between its bounds, or of a row that moves
/// nothing.
void DrivenJoints::fill_slots() {
  const GeneralBlocks& from = problem_.blocks;
  GeneralBlocks& to = with_drives_.blocks;
  for (const Slot& slot : slots_) {
    const bool taken = slot.of != kNoIndex;
    const std::size_t row = to.row_begin[slot.block] + slot.row;
    to.q[row] = taken ? from.q[general_row(slot.of)] : 0.0;
    to.compliance[row] = taken ? from.compliance[general_row(slot.of)] : 1.0;
    const double* g = jacobian_of(from, block_[taken ? slot.of : slot.like]).data();
    for (Index j = to.body_begin[slot.block]; j < to.body_begin[slot.block + 1]; ++j) {
      const Index dofs = problem_.bodies.dofs(to.body[j]);
      double* own = to.jacobian.data() + to.jacobian_begin[j] + Offset{slot.row} * dofs;
      for (Index d = 0; d < dofs; ++d) own[d] = taken ? g[d] : 0.0;
      g += dofs;
    }
  }
}

/// The set to begin with: what the impulses say. Of two drives of a slot the first is between its
/// bounds.
void DrivenJoints::choose_sides(std::span<const double> impulses,
                                std::span<const double> velocities) {
  for (std::size_t g = 0; g < block_.size(); ++g) {
    const double lambda = impulses[row_[g]], lo = lower(g), hi = upper(g);
    Index& between = slots_[slot_[g]].of;
    if (lambda <= lo || !(lo < hi)) {
      side_[g] = Side::lower;
    } else if (lambda >= hi) {
      side_[g] = Side::upper;
    } else if (between == kNoIndex) {
      side_[g] = Side::between;
      between = to_index(g);
    } else {
      const bool fast = residual_velocity(g, impulses, velocities) > 0.0;
      side_[g] = fast || std::isinf(hi) ? Side::lower : Side::upper;
    }
  }
}

/// Collective. Rows at a bound get its impulse.
void DrivenJoints::push_to_bounds(std::span<double> impulses, std::span<double> velocities) {
  std::int64_t any = 0;
  for (std::size_t g = 0; g < block_.size(); ++g) {
    double& lambda = impulses[row_[g]];
    if (side_[g] == Side::between) continue;
    const double bound = side_[g] == Side::lower ? lower(g) : upper(g);
    push_[row_[g]] = bound - lambda;
    if (bound != lambda) any = 1;
    lambda = bound;
  }
  if (problem_.comm.max(any) == 0) return;
  op_.velocity_changes(push_, changes_);
  for (std::size_t d = 0; d < changes_.size(); ++d) velocities[d] += changes_[d];
  for (const std::size_t row : row_) push_[row] = 0.0;
}

/// Neighbours, and what the eliminations say. The joints and the drives between their bounds.
void DrivenJoints::solve_joints(std::span<double> impulses, std::span<double> velocities) {
  const GeneralBlocks& from = problem_.blocks;
  const GeneralBlocks& to = with_drives_.blocks;
  const auto for_rows = [&](const auto& visit) {
    for (Index k = 0; k < to.size(); ++k) {
      if (joint_[k] == kNoIndex) continue;
      const Index n = from.rows(joint_[k]);
      for (Index r = 0; r < n; ++r)
        visit(problem_.first_general_row() + from.row_begin[joint_[k]] + r, to.row_begin[k] + r);
    }
    for (const Slot& slot : slots_)
      if (slot.of != kNoIndex) visit(row_[slot.of], to.row_begin[slot.block] + slot.row);
  };
  std::ranges::fill(lambda_, 0.0);
  for_rows([&](std::size_t row, std::size_t own) { lambda_[own] = impulses[row]; });
  // what redundant rows share out between them is not determined: mixes may let it grow
  if (mixed_ && anew_ && !joints_.determined())
    joints_.solve_anew(with_drives_, lambda_, velocities);
  else
    joints_.solve(with_drives_, lambda_, velocities);
  anew_ = false;
  for_rows([&](std::size_t row, std::size_t own) { impulses[row] = lambda_[own]; });
}

/// Collective. Own drives whose impulse is beyond a bound, whose slip should leave it, or which
/// slip between their bounds though another impulse is left to them.
std::vector<std::size_t> DrivenJoints::on_the_wrong_side(std::span<const double> impulses,
                                                         std::span<const double> velocities) {
  double fastest = 0.0;
  for (std::size_t g = 0; g < block_.size(); ++g) {
    slip_[g] = residual_velocity(g, impulses, velocities);
    fastest = std::max({fastest, std::abs(slip_[g]), std::abs(problem_.blocks.q[general_row(g)])});
  }
  fastest = problem_.comm.max(fastest);
  const double at_rest = kAtRest + kRoundOff * fastest, yields = kYieldsAtLeast + kYields * fastest;
  std::vector<std::size_t> wrong;
  for (std::size_t g = 0; g < block_.size(); ++g) {
    const double lambda = impulses[row_[g]], lo = lower(g), hi = upper(g);
    if (!(lo < hi)) continue;
    const auto beyond = [&](double by, double bound) {
      return by > kRoundOff * std::max(std::abs(lambda), std::abs(bound));
    };
    const bool is_wrong =
        side_[g] == Side::between
            ? beyond(lo - lambda, lo) || (!std::isinf(hi) && beyond(lambda - hi, hi)) ||
                  (slip_[g] > yields && !std::isinf(lo)) || (slip_[g] < -yields && !std::isinf(hi))
        : side_[g] == Side::lower ? slip_[g] < -at_rest
                                  : slip_[g] > at_rest;
    if (is_wrong) wrong.push_back(g);
  }
  return wrong;
}

void DrivenJoints::change_side(std::size_t own, std::span<const double> impulses) {
  Slot& slot = slots_[slot_[own]];
  const auto other_bound = side_[own] == Side::lower ? upper(own) : lower(own);
  changed_ = true;
  if (side_[own] == Side::between) {
    const double lambda = impulses[row_[own]];
    const bool low = lambda < lower(own) || (lambda <= upper(own) && slip_[own] > 0.0);
    side_[own] = low ? Side::lower : Side::upper;
    slot.of = kNoIndex;
  } else if (slot.of != kNoIndex && !std::isinf(other_bound)) {
    // another one holds the coordinate, at a speed for which this one's other bound is right
    side_[own] = side_[own] == Side::lower ? Side::upper : Side::lower;
  } else {
    if (slot.of != kNoIndex) {  // whose slip will be that at which this one rests
      const std::size_t other = slot.of;
      const std::vector<double>& q = problem_.blocks.q;
      const double slip = sign_between(own, other) * q[general_row(own)] - q[general_row(other)];
      side_[other] = slip > 0.0 || std::isinf(upper(other)) ? Side::lower : Side::upper;
    }
    side_[own] = Side::between;
    slot.of = to_index(own);
  }
}

/// Collective. Of all ranks' wrong ones the last, by joint.
void DrivenJoints::change_last(std::span<const std::size_t> wrong,
                               std::span<const double> impulses) {
  const auto name = [&](std::size_t g) { return problem_.blocks.name[block_[g]]; };
  const auto last = std::ranges::max_element(wrong, {}, name);
  const std::int64_t own = last == wrong.end() ? -1 : name(*last);
  const std::int64_t of_all = problem_.comm.max(own);
  if (own == of_all && last != wrong.end()) change_side(*last, impulses);
}

/// Collective. Joints and drives for the set as it is.
void DrivenJoints::settle(std::span<double> impulses, std::span<double> velocities) {
  push_to_bounds(impulses, velocities);
  if (problem_.comm.max(std::int64_t{changed_ ? 1 : 0}) != 0) {
    fill_slots();
    joints_.prepare(with_drives_);
    changed_ = false;
  }
  solve_joints(impulses, velocities);
}

void DrivenJoints::solve(std::span<double> impulses, std::span<double> velocities) {
  if (!begun_) choose_sides(impulses, velocities);
  begun_ = true;
  anew_ = true;
  std::int64_t fewest = std::numeric_limits<std::int64_t>::max();
  int patience = kPatience;
  std::vector<std::size_t> wrong;
  for (int set = 0; set < kMostSets; ++set) {
    settle(impulses, velocities);
    wrong = on_the_wrong_side(impulses, velocities);
    const std::int64_t n = problem_.comm.sum(std::ssize(wrong));
    if (n == 0) break;
    const bool fewer = n < fewest;
    fewest = std::min(fewest, n);
    patience = fewer ? kPatience : patience - 1;
    if (patience >= 0) {
      // one that has been changed with the other of its slot stays so
      const std::vector<Side> before = side_;
      for (const std::size_t g : wrong)
        if (side_[g] == before[g]) change_side(g, impulses);
    } else {
      change_last(wrong, impulses);
    }
  }
  // once more, for what regularisation leaves
  settle(impulses, velocities);
  // where the set was not found, what is beyond its bounds goes there
  while (problem_.comm.sum(std::ssize(wrong)) != 0) {
    wrong = on_the_wrong_side(impulses, velocities);
    std::erase_if(wrong, [&](std::size_t g) { return side_[g] != Side::between; });
    for (const std::size_t g : wrong) change_side(g, impulses);
    settle(impulses, velocities);
  }
  admit(impulses);
}

}  // namespace catena
