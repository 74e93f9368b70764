#include "solvers/joints/drives/driven_joints.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <unordered_map>
#include <utility>

#include "catena/constraints/block_diagonal.hpp"
#include "catena/constraints/block_rows.hpp"
#include "catena/model/joint.hpp"

namespace catena {
namespace {

/// Sets in which rows may change sides without becoming fewer.
constexpr int kPatience = 4;
/// Steps of the interior-point method at most, the part of its first gap, J, at which it is over,
/// and the part of the way to a bound that a step goes.
constexpr int kMostSteps = 60;
constexpr double kClosed = 1e-14, kShort = 0.995;
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
  if (problem_.comm.max(any) != 0) push_by_changes(velocities);
}

/// Collective. Velocities follow what push_ says of the drives' impulses.
void DrivenJoints::push_by_changes(std::span<double> velocities) {
  op_.velocity_changes(push_, changes_);
  for (std::size_t d = 0; d < changes_.size(); ++d) velocities[d] += changes_[d];
  for (const std::size_t row : row_) push_[row] = 0.0;
}

/// visit(row, own): of all joints' rows that of the problem, and that of with_drives_.
template <class Visit>
void DrivenJoints::for_each_joint_row(Visit&& visit) const {
  const GeneralBlocks& from = problem_.blocks;
  const GeneralBlocks& to = with_drives_.blocks;
  for (Index k = 0; k < to.size(); ++k) {
    if (joint_[k] == kNoIndex) continue;
    const Index n = from.rows(joint_[k]);
    for (Index r = 0; r < n; ++r)
      visit(problem_.first_general_row() + from.row_begin[joint_[k]] + r, to.row_begin[k] + r);
  }
}

/// Neighbours, and what the eliminations say. The joints and the drives between their bounds.
void DrivenJoints::solve_joints(std::span<double> impulses, std::span<double> velocities) {
  const auto for_rows = [&](const auto& visit) {
    for_each_joint_row(visit);
    for (const Slot& slot : slots_)
      if (slot.of != kNoIndex)
        visit(row_[slot.of], with_drives_.blocks.row_begin[slot.block] + slot.row);
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

/// Collective. Block principal pivoting; false where drives on the wrong side no longer become
/// fewer.
bool DrivenJoints::find_set(std::span<double> impulses, std::span<double> velocities) {
  std::int64_t fewest = std::numeric_limits<std::int64_t>::max();
  for (int patience = kPatience; patience >= 0;) {
    settle(impulses, velocities);
    const std::vector<std::size_t> wrong = on_the_wrong_side(impulses, velocities);
    const std::int64_t n = problem_.comm.sum(std::ssize(wrong));
    if (n == 0) return true;
    patience = n < fewest ? kPatience : patience - 1;
    fewest = std::min(fewest, n);
    // one that has been changed with the other of its slot stays so
    const std::vector<Side> before = side_;
    for (const std::size_t g : wrong)
      if (side_[g] == before[g]) change_side(g, impulses);
  }
  return false;
}

/// Local. N_ff of an own row: what a unit of its impulse does to its slip if its bodies are free.
double DrivenJoints::inverse_inertia(std::size_t own) const {
  double diagonal = 0.0;
  row_diagonals(problem_, to_index(problem_.contacts.size()) + block_[own], {&diagonal, 1});
  // round-off under a soft drive's compliance is above 0, too
  return std::max(diagonal - problem_.blocks.compliance[general_row(own)],
                  std::numeric_limits<double>::epsilon() * diagonal);
}

/// Collective. The drives' impulses as they are, moved inside their bounds, and velocities with
/// them.
DriveBarrier DrivenJoints::make_barrier(std::span<const std::size_t> drives,
                                        std::span<double> impulses, std::span<double> velocities) {
  double fastest = kAtRest;
  for (std::size_t g = 0; g < block_.size(); ++g) fastest = std::max(fastest, std::abs(slip_[g]));
  fastest = problem_.comm.max(fastest);
  DriveBarrier barrier;
  for (std::size_t i = 0; i < drives.size(); ++i) {
    const std::size_t g = drives[i];
    double& lambda = impulses[row_[g]];
    const double of_unit = std::max(inverse_inertia(g), std::numeric_limits<double>::min());
    barrier.add(lambda, lower(g), upper(g), fastest / of_unit, fastest);
    push_[row_[g]] = barrier.lambda(i) - lambda;
    lambda = barrier.lambda(i);
  }
  push_by_changes(velocities);
  return barrier;
}

/// Numbers of the slots' rows: those of all their drives in parallel, each of which is a row
/// without bounds,
///
///   s J V + c lambda = p,   c = Sigma + D,   p = q + aim,
///
/// so that their sum, s lambda, has 1/c of the sum of all 1/c, and p of their mean with these
/// weights. A slot without such drives moves nothing.
void DrivenJoints::fill_slots(const DriveBarrier& barrier, std::span<const std::size_t> drives) {
  GeneralBlocks& to = with_drives_.blocks;
  for (Slot& slot : slots_) slot.of = kNoIndex;
  std::vector<double> weight(slots_.size(), 0.0), mean(slots_.size(), 0.0);
  for (std::size_t i = 0; i < drives.size(); ++i) {
    const std::size_t g = drives[i], s = slot_[g];
    const double c = problem_.blocks.compliance[general_row(g)] + barrier.stiffness(i);
    weight[s] += 1.0 / c;
    mean[s] += sign_in_slot(g) * (problem_.blocks.q[general_row(g)] + barrier.aim(i)) / c;
    slots_[s].of = to_index(slots_[s].like);
  }
  fill_slots();
  for (std::size_t s = 0; s < slots_.size(); ++s) {
    if (slots_[s].of == kNoIndex) continue;
    const std::size_t row = to.row_begin[slots_[s].block] + slots_[s].row;
    to.compliance[row] = 1.0 / weight[s];
    to.q[row] = mean[s] / weight[s];
  }
}

/// Collective. Where the step with the barrier's present aims leads; impulses and velocities go all
/// of it.
void DrivenJoints::step_inside(DriveBarrier& barrier, std::span<const std::size_t> drives,
                               std::span<double> impulses, std::span<double> velocities) {
  const std::vector<std::size_t>& row = row_;
  const GeneralBlocks& to = with_drives_.blocks;
  std::ranges::fill(lambda_, 0.0);
  for_each_joint_row([&](std::size_t r, std::size_t own) { lambda_[own] = impulses[r]; });
  const auto row_of = [&](std::size_t s) { return to.row_begin[slots_[s].block] + slots_[s].row; };
  for (const std::size_t g : drives)
    lambda_[row_of(slot_[g])] += sign_in_slot(g) * impulses[row[g]];
  joints_.solve(with_drives_, lambda_, velocities);
  for_each_joint_row([&](std::size_t r, std::size_t own) { impulses[r] = lambda_[own]; });
  // each from the slip; the one of a slot that gives way least has what the others leave of the sum
  std::vector<std::size_t> stiffest(slots_.size(), drives.size());
  for (std::size_t i = 0; i < drives.size(); ++i) {
    std::size_t& other = stiffest[slot_[drives[i]]];
    if (other == drives.size() || barrier.stiffness(i) < barrier.stiffness(other)) other = i;
  }
  for (std::size_t i = 0; i < drives.size(); ++i) {
    const std::size_t g = drives[i], s = slot_[g];
    if (stiffest[s] == i) continue;
    double& lambda = impulses[row[g]];
    const double c = problem_.blocks.compliance[general_row(g)] + barrier.stiffness(i);
    lambda = 0.0;
    lambda = (barrier.aim(i) - residual_velocity(g, impulses, velocities)) / c;
    lambda_[row_of(s)] -= sign_in_slot(g) * lambda;
  }
  for (std::size_t i = 0; i < drives.size(); ++i) {
    const std::size_t g = drives[i], s = slot_[g];
    if (stiffest[s] == i) impulses[row[g]] = sign_in_slot(g) * lambda_[row_of(s)];
    barrier.set_step(i, impulses[row[g]]);
  }
}

/// Collective. Sides by an interior-point method, whatever they were.
void DrivenJoints::find_sides_inside(std::span<double> impulses, std::span<double> velocities) {
  std::vector<std::size_t> drives;
  for (std::size_t g = 0; g < block_.size(); ++g)
    if (lower(g) < upper(g)) drives.push_back(g);
  DriveBarrier barrier = make_barrier(drives, impulses, velocities);
  const double first = problem_.comm.max(barrier.gap());
  double gap = first;
  for (int step = 0; step < kMostSteps && gap > kClosed * first; ++step) {
    const std::vector<double> impulses_before(impulses.begin(), impulses.end());
    const std::vector<double> velocities_before(velocities.begin(), velocities.end());
    barrier.aim_at_bounds();
    fill_slots(barrier, drives);
    joints_.prepare(with_drives_);
    step_inside(barrier, drives, impulses, velocities);
    const double straight = problem_.comm.min(barrier.longest());
    const double left = problem_.comm.max(barrier.gap_after(straight)) / gap;
    barrier.aim_inside(left * left * left * gap);
    fill_slots(barrier, drives);
    step_inside(barrier, drives, impulses, velocities);
    const double longest = problem_.comm.min(barrier.longest());
    const double part = longest < 1.0 ? kShort * longest : 1.0;
    for (std::size_t r = 0; r < impulses.size(); ++r)
      impulses[r] = std::lerp(impulses_before[r], impulses[r], part);
    for (std::size_t d = 0; d < velocities.size(); ++d)
      velocities[d] = std::lerp(velocities_before[d], velocities[d], part);
    barrier.take(part);
    gap = problem_.comm.max(barrier.gap());
  }
  for (Slot& slot : slots_) slot.of = kNoIndex;
  for (std::size_t i = 0; i < drives.size(); ++i) {
    const std::size_t g = drives[i];
    const DriveBarrier::Side side = barrier.side(i);
    Index& between = slots_[slot_[g]].of;
    if (side == DriveBarrier::Side::between && between == kNoIndex) {
      side_[g] = Side::between;
      between = to_index(g);
    } else {
      side_[g] = side == DriveBarrier::Side::upper ? Side::upper : Side::lower;
    }
  }
  changed_ = true;
}

void DrivenJoints::solve(std::span<double> impulses, std::span<double> velocities) {
  if (!begun_) choose_sides(impulses, velocities);
  begun_ = true;
  anew_ = true;
  bool found = find_set(impulses, velocities);
  if (!found) {
    find_sides_inside(impulses, velocities);
    found = find_set(impulses, velocities);
  }
  // once more, for what regularisation leaves
  settle(impulses, velocities);
  // where the set was not found, what is beyond its bounds goes there
  while (!found) {
    std::vector<std::size_t> wrong = on_the_wrong_side(impulses, velocities);
    std::erase_if(wrong, [&](std::size_t g) { return side_[g] != Side::between; });
    for (const std::size_t g : wrong) change_side(g, impulses);
    settle(impulses, velocities);
    found = problem_.comm.sum(std::ssize(wrong)) == 0;
  }
  admit(impulses);
}

}  // namespace catena
