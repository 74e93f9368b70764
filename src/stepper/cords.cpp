#include "catena/stepper/cords.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "catena/base/release.hpp"

namespace catena {
namespace {

constexpr double kFollowed = 0.25;  ///< k that the step follows as it is
/// k of the last step from which rows across stand ready to be eliminated.
constexpr double kNearly = 0.1;
/// Share of the velocity that the turning row brings along by which it may shorten in a step: at 1
/// its misfit would swing for ever.
constexpr double kReturned = 0.95;
/// Solves after which ropes that change sides become unilateral.
constexpr int kMaxPasses = 8;
/// Solves more, of which one that missed its tolerance still makes swept ropes that pull bilateral;
/// after them no row is held back any more.
constexpr int kMoreSolves = 4;
/// Share of its length by which a rope may become longer in a step without being taut.
constexpr double kLonger = 1e-9;
/// The step is solved again where the tension found asks for so many times the inertia across.
constexpr double kJump = 1.5;

}  // namespace

/// k of a unit impulse: what tension has of the masses across the cord, where an arm in line with
/// it turns and is turned back.
double Cords::stiffness_of(const JointConstants& joint, const std::array<Index, kJointBodies>& body,
                           const ContactSet& set, double h) {
  double sum = 0.0;
  for (std::size_t side = 0; side < 2; ++side) {
    if (body[side] == kNoIndex) continue;
    const BodyConstants& constants = set.bodies.constants[body[side]];
    if (constants.kind != BodyKind::dynamic) continue;
    const double arm = joint.frame[side].p.norm();
    sum += 1.0 / constants.mass + arm * (arm + joint.length) / constants.inertia.minCoeff();
  }
  return h / std::max(joint.length, std::numeric_limits<double>::min()) * sum;
}

/// The inertia of the rows across at tension lambda/h; ropes pull with lambda > 0, rods with < 0.
double Cords::inertia_of(double lambda, const Cord& cord) {
  const double pull = cord.rope_block != kNoIndex ? lambda : -lambda;
  const double k = cord.stiffness * pull;
  if (cord.rows < 3 || !cord.guarded || !(k > kFollowed)) return 0.0;
  return (1.0 - kFollowed / k) * cord.across * pull;
}

bool Cords::need_rows(const Communicator& comm, const Bodies& bodies, const State& state,
                      const ContactSet& set, double h) {
  bool any = false;
  for (std::size_t j = 0; j < bodies.joints.size() && !any; ++j) {
    const JointConstants& joint = bodies.joints[j];
    if (joint.type != JointType::distance && joint.type != JointType::rope) continue;
    const double lambda = std::abs(state.joints[j].impulse[0]);
    any = lambda > 0.0 && stiffness_of(joint, set.joint_bodies[j], set, h) * lambda > kFollowed;
  }
  return comm.max(std::int64_t{any ? 1 : 0}) > 0;
}

void Cords::find(const Bodies& bodies, const ContactSet& set, const JointAssembler& joints,
                 double h, bool guarded, std::span<double> impulses, ConstraintProblem& problem) {
  make_room(cords_, joints.cords().size());
  cords_.clear();
  saved_.clear();
  passes_ = 0;
  GeneralBlocks& blocks = problem.blocks;
  if (joints.any_rows_across()) blocks.at_rest.assign(blocks.size(), 0);
  for (const std::size_t j : joints.cords()) {
    const JointConstants& joint = bodies.joints[j];
    Cord cord{};
    cord.block = joints.block_of(j, JointRowKind::rows);
    cord.rope_block = joints.block_of(j, JointRowKind::rope);
    const std::size_t row = blocks.row_begin[cord.block];
    cord.rows = joints.has_rows_across(j) ? 3 : 1;
    const bool rests = cord.rope_block != kNoIndex || cord.rows > 1;
    cord.jacobian = rests ? saved_.size() : kNotSaved;
    for (auto b = blocks.body_begin[cord.block]; b < blocks.body_begin[cord.block + 1]; ++b) {
      const double* g = blocks.jacobian.data() + blocks.jacobian_begin[b];
      if (rests) saved_.insert(saved_.end(), g, g + 6 * cord.rows);
      const Index body = blocks.body[b];
      const Twist& twist = set.bodies.twist(body);
      const Vec3 push(g[0], g[1], g[2]), turn(g[3], g[4], g[5]);
      cord.speed += push.dot(twist.v) + turn.dot(twist.w);
      if (problem.bodies.mass_kind[body] != MassKind::rigid) continue;
      const BodyConstants& constants = set.bodies.constants[body];
      const Vec3 own = set.bodies.state[body].pose.q.conjugate() * turn;
      cord.n += push.squaredNorm() / constants.mass + own.dot(own.cwiseQuotient(constants.inertia));
    }
    cord.stiffness = stiffness_of(joint, set.joint_bodies[j], set, h);
    cord.across = h / std::max(joint.length, std::numeric_limits<double>::min());
    cord.q = blocks.q[row];
    cord.compliance = blocks.compliance[row];
    // a winch's row does work; what swings between a tendon's points is no single cord
    cord.guarded = guarded && cord.compliance == 0.0 && joint.erp == JointConstants::kNotOde &&
                   !is_winch(joint) && joint.type != JointType::tendon;
    const double lambda = impulses[impulse_at(cord.block, problem)];
    cord.taut = true;
    if (cord.rope_block != kNoIndex) {
      cord.tolerance = kLonger * joint.length / h;
      cord.taut = lambda > 0.0 || joints.slack(j) + h * cord.speed < 0.0;
      if (!cord.taut) impulses[impulse_at(cord.block, problem)] = 0.0;
    }
    if (cord.taut && cord.guarded && cord.stiffness * std::abs(lambda) > kFollowed &&
        lambda * (cord.speed + cord.q) > 0.0)
      hold(lambda, cord, problem);
    cord.ready = cord.taut && cord.guarded && cord.stiffness * std::abs(lambda) > kNearly;
    if (cord.taut) cord.inertia = inertia_of(lambda, cord);
    pose(cord, impulses, problem);
    cords_.push_back(cord);
  }
}

std::size_t Cords::impulse_at(Index block, const ConstraintProblem& problem) const {
  return problem.first_general_row() + problem.blocks.row_begin[block];
}

/// Gives the row the velocity at which it does no work; where it was driven apart in the step, one
/// at which it takes some.
void Cords::hold(double lambda, Cord& cord, ConstraintProblem& problem) const {
  cord.held = true;
  const double share = lambda * cord.speed < 0.0 ? kReturned : 1.0;
  problem.blocks.q[problem.blocks.row_begin[cord.block]] = -share * cord.speed;
}

/// Shows the solver one of a rope's two blocks, or none, and the rows across.
void Cords::pose(const Cord& cord, std::span<double> impulses, ConstraintProblem& problem) {
  posed_ = true;
  if (cord.rope_block != kNoIndex) {
    set_row(cord, cord.block, 0, cord.taut, cord.compliance, problem);
    set_row(cord, cord.rope_block, 0, cord.swept, cord.compliance, problem);
    GeneralBlocks& blocks = problem.blocks;
    const std::size_t row = blocks.row_begin[cord.block];
    if (!cord.taut)
      blocks.q[row] = 0.0;
    else if (!cord.held)
      blocks.q[row] = cord.q;
    blocks.q[blocks.row_begin[cord.rope_block]] = cord.swept ? cord.q : 0.0;
  }
  if (cord.rows == 1) return;
  const bool live = cord.inertia > 0.0;
  problem.blocks.at_rest[cord.block] = live || cord.ready ? 0 : narrow<std::uint8_t>(cord.rows - 1);
  for (std::size_t r = 1; r < cord.rows; ++r) {
    set_row(cord, cord.block, r, live, 1.0 / cord.inertia, problem);
    if (!live) impulses[impulse_at(cord.block, problem) + r] = 0.0;
  }
}

/// A row at rest has lambda = 0, in numbers like those of other rows.
void Cords::set_row(const Cord& cord, Index block, std::size_t r, bool live, double compliance,
                    ConstraintProblem& problem) const {
  GeneralBlocks& blocks = problem.blocks;
  blocks.compliance[blocks.row_begin[block] + r] = live ? compliance : cord.n > 0.0 ? cord.n : 1.0;
  std::size_t from = cord.jacobian + 6 * r;
  for (auto b = blocks.body_begin[block]; b < blocks.body_begin[block + 1]; ++b) {
    double* to = blocks.jacobian.data() + blocks.jacobian_begin[b] + 6 * r;
    for (std::size_t d = 0; d < 6; ++d) to[d] = live ? saved_[from + d] : 0.0;
    from += 6 * cord.rows;
  }
}

/// The row's velocity, whether the solver sees the row or not.
double Cords::speed(const Cord& cord, std::span<const double> velocities,
                    const ConstraintProblem& problem) const {
  const GeneralBlocks& blocks = problem.blocks;
  const double* g =
      cord.jacobian != kNotSaved
          ? saved_.data() + cord.jacobian
          : blocks.jacobian.data() + blocks.jacobian_begin[blocks.body_begin[cord.block]];
  double u = 0.0;
  for (auto b = blocks.body_begin[cord.block]; b < blocks.body_begin[cord.block + 1]; ++b) {
    const double* v = velocities.data() + Offset{6} * blocks.body[b];
    for (int d = 0; d < 6; ++d) u += g[d] * v[d];
    g += 6 * cord.rows;
  }
  return u;
}

bool Cords::revise_tension(std::span<double> impulses, std::span<const double> velocities,
                           Cord& cord, ConstraintProblem& problem) {
  const double lambda = impulses[impulse_at(cord.block, problem)];
  if (!cord.guarded || !cord.taut) return false;
  if (!(cord.stiffness * std::abs(lambda) > kFollowed)) return false;
  const double inertia = inertia_of(lambda, cord);
  if (inertia > kJump * cord.inertia) {
    cord.inertia = inertia;
    pose(cord, impulses, problem);
    return true;
  }
  const double u = speed(cord, velocities, problem);
  if (!(lambda * (cord.speed + u) > 0.0)) return false;
  const double before = problem.blocks.q[problem.blocks.row_begin[cord.block]];
  hold(lambda, cord, problem);
  return problem.blocks.q[problem.blocks.row_begin[cord.block]] != before;
}

bool Cords::revise_rope(bool solved, std::span<double> impulses, std::span<const double> velocities,
                        Cord& cord, ConstraintProblem& problem) {
  double& taut = impulses[impulse_at(cord.block, problem)];
  if (cord.taut) {
    if (!(taut < 0.0)) return false;
    taut = 0.0;
    cord.taut = cord.held = false;
    cord.inertia = 0.0;
    cord.swept = passes_ > kMaxPasses;
  } else {
    double& swept = impulses[impulse_at(cord.rope_block, problem)];
    if (cord.swept && !solved && swept > 0.0 && passes_ <= kMaxPasses + kMoreSolves) {
      std::swap(taut, swept);
      cord.taut = true;
      cord.swept = false;
      pose(cord, impulses, problem);
      return true;
    }
    if (cord.swept || !(speed(cord, velocities, problem) < cord.q - cord.tolerance)) return false;
    cord.taut = passes_ <= kMaxPasses;
    cord.swept = !cord.taut;
  }
  pose(cord, impulses, problem);
  return true;
}

bool Cords::revise(bool solved, std::span<double> impulses, std::span<const double> velocities,
                   ConstraintProblem& problem) {
  ++passes_;
  posed_ = false;
  std::int64_t changed = 0;
  for (Cord& cord : cords_) {
    bool now =
        cord.rope_block != kNoIndex && revise_rope(solved, impulses, velocities, cord, problem);
    if (!now && passes_ <= kMaxPasses + kMoreSolves)
      now = revise_tension(impulses, velocities, cord, problem);
    changed += now ? 1 : 0;
  }
  // a row that is held has another q alone
  std::array<std::int64_t, 2> any = {changed, posed_ ? 1 : 0};
  problem.comm.sum(any);
  if (any[1] > 0) ++problem.joint_matrix;
  return any[0] > 0;
}

std::int64_t Cords::held() const {
  return std::count_if(cords_.begin(), cords_.end(), [](const Cord& c) { return c.held; });
}

}  // namespace catena
