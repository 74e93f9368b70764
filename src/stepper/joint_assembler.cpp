#include "catena/stepper/joint_assembler.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "catena/constraints/row_kernels.hpp"

namespace catena {
namespace {

/// What limit, motor and friction, that of a thread too, are called in
/// JointState::drive.
std::size_t drive_of(JointRowKind part) {
  return ordinal(part == JointRowKind::thread ? JointRowKind::friction : part) - 1;
}

/// Damps a spring's rows in this step. SPOOK's step of an undamped spring that
/// its bodies, free otherwise, would follow with s = 4/(h^2 k N) < 1 swings (x,
/// h v) up by about 1/sqrt(s) before it turns back; the more it is too stiff
/// for the step, the nearer its damping time comes to the joints' two steps, at
/// which a rigid row is critically damped.
void damp_spring(const std::array<Index, kJointBodies>& body, const LocalBodies& local,
                 const JointStep& step, JointGeometry& geometry) {
  if (!geometry.spring || step.kind != StepperKind::spook) return;
  for (std::size_t r = 0; std::cmp_less(r, geometry.rows); ++r) {
    if (geometry.velocity[r]) continue;
    double n = 0.0;  // G M^-1 G^T of the row
    for (std::size_t b = 0; b < 2; ++b) {
      if (body[b] == kNoIndex) continue;
      const BodyConstants& constants = local.constants[body[b]];
      if (constants.kind != BodyKind::dynamic) continue;
      const JointGeometry::Row& row = geometry.jacobian[b][r];
      const Vec3 push(row[0], row[1], row[2]), turn(row[3], row[4], row[5]);
      const Vec3 on_axes = local.state[body[b]].pose.q.conjugate() * turn;
      n += push.squaredNorm() / constants.mass +
           on_axes.dot(on_axes.cwiseQuotient(constants.inertia));
    }
    const double stiffness = geometry.stiffness[r];
    const double stiff = step.h * step.h * stiffness * n;
    if (stiff > 4.0)
      geometry.damping[r] =
          std::max(geometry.damping[r], 2.0 * step.h * (1.0 - 4.0 / stiff) * stiffness);
  }
}

/// A round-off in a joint's place: as good as none.
constexpr double kNoArm = 1e-6;

/// A body's largest radius of gyration about its centre of mass, m.
double gyration_of(const BodyConstants& body) {
  return body.kind == BodyKind::dynamic ? std::sqrt(body.inertia.maxCoeff() / body.mass) : 0.0;
}

/// Whether a joint has angles that are unwrapped (JointState::angle).
bool has_angles(JointType type) {
  switch (type) {
    case JointType::revolute:
    case JointType::cylindrical:
    case JointType::universal:
    case JointType::planar:
    case JointType::gear:
    case JointType::screw:
    case JointType::rack:
    case JointType::belt:
    case JointType::cam:
    case JointType::point_on_curve:
    case JointType::torsion_spring:
      return true;
    default:
      return false;
  }
}

}  // namespace

double joint_length(const JointConstants& joint, const std::array<Index, kJointBodies>& body,
                    const LocalBodies& local) {
  double length = joint.type == JointType::distance ? joint.length : 0.0;
  for (std::size_t i = 0; i < 2; ++i) {
    // an arm to the world is a place, not a length
    if (body[i] == kNoIndex) continue;
    length = std::max({length, joint.frame[i].p.norm(), gyration_of(local.constants[body[i]])});
  }
  return length;
}

/// Where a joint's bodies are, in place of those of another joint.
void JointAssembler::place(const std::array<Index, kJointBodies>& body, const LocalBodies& local,
                           JointPoses& poses) {
  for (std::size_t i = 0; i < kJointBodies; ++i) {
    if (body[i] != kNoIndex) {
      poses.pose[i] = local.state[body[i]].pose;
      poses.twist[i] = local.twist(body[i]);
    } else {
      poses.pose[i] = {};
      poses.twist[i] = {};
    }
  }
}

JointPoses JointAssembler::poses_of(const std::array<Index, kJointBodies>& body,
                                    const LocalBodies& local) {
  JointPoses poses;
  place(body, local, poses);
  return poses;
}

void JointAssembler::clear(std::size_t n_joints) {
  made_.clear();
  begin_.assign(1, 0);
  rows_.clear();
  rigid_.clear();
  winch_.clear();
  arm_.clear();
  slack_.clear();
  across_.clear();
  cords_.clear();
  tendon_arms_.clear();
  angled_.clear();
  misfit_ = {};
  relative_misfit_ = drift_ = 0.0;
  drift_joint_ = kNoBody;
  motor_row_.assign(n_joints, {});
  begin_.reserve(n_joints + 1);
  rows_.reserve(n_joints);
  rigid_.reserve(n_joints);
  winch_.reserve(n_joints);
  arm_.reserve(n_joints);
  across_.reserve(n_joints);
}

void JointAssembler::add_blocks(const Bodies& bodies, const State& state, const ContactSet& set,
                                const JointStep& step, ConstraintProblem& problem) {
  // joints whose blocks stay in a cache until they are written
  constexpr std::size_t kBatch = 64;
  const std::size_t n = bodies.joints.size();
  first_block_ = problem.blocks.size();
  step_ = step;
  clear(n);
  const bool subdomains = !(problem.block_subdomain.empty() && state.subdomain.empty());
  if (n == 0) return;
  writer_.start(step, problem.blocks, made_);
  JointPoses poses;
  for (std::size_t first = 0; first < n; first += kBatch) {
    const std::size_t end = std::min(n, first + kBatch);
    writer_.begin(std::span(bodies.joints).subspan(first, end - first));
    for (std::size_t j = first; j < end; ++j) {
      const std::array<Index, kJointBodies>& body = set.joint_bodies[j];
      const JointConstants& joint = bodies.joints[j];
      std::size_t made = 0;
      if (writer_.is_plain(joint)) {
        made = add_plain(joint, body, set.bodies, j);
      } else {
        place(body, set.bodies, poses);
        made = add_joint(joint, state.joints[j], body, poses, set.bodies, j, step);
      }
      begin_.push_back(to_index(made));
      if (!subdomains) continue;
      // the home body is owned; which one it is may not depend on what else this rank owns
      const bool home_b =
          body[1] != kNoIndex && set.bodies.constants[body[1]].kind == BodyKind::dynamic;
      const Index home = home_b ? body[1] : body[0];
      const Index owned = home != kNoIndex && home < set.bodies.n_owned ? home : body[2];
      problem.block_subdomain.insert(problem.block_subdomain.end(), begin_[j + 1] - begin_[j],
                                     state.subdomain[owned]);
    }
    writer_.end();
  }
}

/// Of a joint of which nothing but its rows is asked. Returns how many blocks there are then.
std::size_t JointAssembler::add_plain(const JointConstants& joint,
                                      const std::array<Index, kJointBodies>& body,
                                      const LocalBodies& local, std::size_t j) {
  static const Pose kWorld;
  static const Twist kAtRest;
  PlainJointPoses at{{&kWorld, &kWorld}, {&kAtRest, &kAtRest}};
  for (std::size_t i = 0; i < 2; ++i) {
    if (body[i] == kNoIndex) continue;
    at.pose[i] = &local.state[body[i]].pose;
    at.twist[i] = &local.twist(body[i]);
  }
  JointMisfit misfit;
  const std::size_t made = writer_.add_plain(joint, at, body, to_index(j), misfit);
  note_misfit(joint, misfit, body, local);
  if (has_angles(joint.type)) angled_.push_back(to_index(j));
  winch_.push_back(0);
  across_.push_back(0);
  rows_.push_back(joint.type == JointType::revolute ? 5 : 3);
  rigid_.push_back(joint.compliance == 0.0 && joint.angular_compliance == 0.0 ? 1 : 0);
  const std::size_t on = body[1] != kNoIndex ? 1 : 0;
  arm_.push_back(at.pose[1]->p + at.pose[1]->q * joint.frame[1].p - at.pose[on]->p);
  return made;
}

/// Returns how many blocks there are then.
std::size_t JointAssembler::add_joint(const JointConstants& joint, const JointState& state,
                                      const std::array<Index, kJointBodies>& body,
                                      const JointPoses& poses, const LocalBodies& local,
                                      std::size_t j, const JointStep& step) {
  JointGeometry geometry = joint_geometry(joint, poses, state.angle, model_);
  note_misfit(joint, joint_misfit(geometry), body, local);
  damp_spring(body, local, step, geometry);
  const std::size_t made = writer_.add(joint, state, geometry, poses, body, to_index(j));
  const bool winch = is_winch(joint);
  if (joint.type == JointType::distance || is_rope(joint.type)) {
    cords_.push_back(to_index(j));
    const double way = winch ? winch_way(joint, model_, state.angle[0], step) : 0.0;
    slack_.push_back(geometry.unilateral ? geometry.misfit[0] + way : 0.0);
  }
  if (has_angles(joint.type) || winch) angled_.push_back(to_index(j));
  winch_.push_back(winch ? 1 : 0);
  across_.push_back(step.across && geometry.across > 0 ? 1 : 0);
  rows_.push_back(static_cast<std::uint8_t>(geometry.rows + (step.across ? geometry.across : 0)));
  rigid_.push_back(!geometry.spring && !winch && joint.erp == JointConstants::kNotOde &&
                           joint.compliance == 0.0 && joint.angular_compliance == 0.0
                       ? 1
                       : 0);
  for (Index i = 0; i < geometry.axes; ++i) {
    const JointAxis& axis = joint.axis[i];
    motor_row_[j][i] = axis.motor != MotorKind::none && axis.motor != MotorKind::force &&
                               std::isinf(axis.max_force)
                           ? 1
                           : 0;
  }
  const std::size_t on = body[1] != kNoIndex ? 1 : 0;
  const Vec3 p_b = poses.pose[1].p + poses.pose[1].q * joint.frame[1].p;
  arm_.push_back(p_b - poses.pose[on].p);
  if (joint.type == JointType::tendon)
    tendon_arms_.push_back(
        {to_index(j), {p_b - poses.pose[0].p, p_b - poses.pose[1].p, p_b - poses.pose[2].p}});
  return made;
}

/// Largest misfits: as they are, of a joint's longer arm, and of its length. Arms and lengths take
/// roots and quotients, so they are formed where a misfit may be larger than all before.
void JointAssembler::note_misfit(const JointConstants& joint, const JointMisfit& own,
                                 const std::array<Index, kJointBodies>& body,
                                 const LocalBodies& local) {
  misfit_.linear = std::max(misfit_.linear, own.linear);
  misfit_.angular = std::max(misfit_.angular, own.angular);
  relative_misfit_ = std::max(relative_misfit_, own.angular);
  double arm2 = 0.0;
  for (std::size_t i = 0; i < 2; ++i)
    if (body[i] != kNoIndex) arm2 = std::max(arm2, joint.frame[i].p.squaredNorm());
  // with room for the squares' round-off
  const auto may_exceed = [&](double largest) {
    return own.linear * own.linear > 0.99 * largest * largest * arm2;
  };
  if (own.linear > 0.0 && may_exceed(relative_misfit_)) {
    double size = 0.0;
    for (std::size_t i = 0; i < 2; ++i)
      if (body[i] != kNoIndex) size = std::max(size, gyration_of(local.constants[body[i]]));
    const double arm = std::sqrt(arm2);
    if (arm > kNoArm * size) relative_misfit_ = std::max(relative_misfit_, own.linear / arm);
  }
  if (own.angular > drift_ || may_exceed(drift_))
    note_drift(joint, own, joint_length(joint, body, local));
}

void JointAssembler::note_drift(const JointConstants& joint, const JointMisfit& own,
                                double length) {
  // what is compliant by intent does not come apart
  const bool ode = joint.erp != JointConstants::kNotOde;
  const double linear = ode || joint.compliance > 0.0 ? 0.0 : own.linear;
  const double angular = ode || joint.angular_compliance > 0.0 ? 0.0 : own.angular;
  const double drift = std::max(angular, length > 0.0 ? linear / length : 0.0);
  if (!(drift > drift_)) return;
  drift_ = drift;
  drift_joint_ = joint.id;
}

Index JointAssembler::block_of(std::size_t j, JointRowKind part) const {
  for (auto m = begin_[j]; m < begin_[j + 1]; ++m)
    if (made_[m].part == part && made_[m].axis == 0) return block_of(m);
  return kNoIndex;
}

void JointAssembler::first_guess(const State& state, const ConstraintProblem& problem,
                                 std::span<double> impulses) const {
  const GeneralBlocks& blocks = problem.blocks;
  const std::size_t first = problem.first_general_row();
  for (std::size_t m = 0; m < made_.size(); ++m) {
    const JointBlockRef& block = made_[m];
    const JointState& joint = state.joints[block.joint];
    const std::size_t k = block_of(m);
    double* lambda = impulses.data() + first + blocks.row_begin[k];
    if (block.part == JointRowKind::rows)
      row_kernels::with_rows(blocks.row_begin[k + 1] - blocks.row_begin[k], [&](auto rows) {
        for (int r = 0; r < rows; ++r) lambda[r] = joint.impulse[r];
      });
    else if (block.part == JointRowKind::rope)
      lambda[0] = 0.0;  // its tension is with its rows
    else
      lambda[0] = joint.drive[block.axis][drive_of(block.part)];
  }
}

void JointAssembler::store(const ConstraintProblem& problem, std::span<const double> impulses,
                           State& state) const {
  const GeneralBlocks& blocks = problem.blocks;
  const std::size_t first = problem.first_general_row();
  for (std::size_t j = 0; j + 1 < begin_.size(); ++j) {
    JointState& joint = state.joints[j];
    joint.impulse = {};
    joint.drive = {};
    for (auto m = begin_[j]; m < begin_[j + 1]; ++m) {
      const std::size_t k = block_of(m);
      const double* lambda = impulses.data() + first + blocks.row_begin[k];
      if (made_[m].part == JointRowKind::rope) {
        joint.impulse[0] += lambda[0];
        continue;
      }
      if (made_[m].part != JointRowKind::rows) {
        joint.drive[made_[m].axis][drive_of(made_[m].part)] = lambda[0];
        continue;
      }
      row_kernels::with_rows(blocks.row_begin[k + 1] - blocks.row_begin[k], [&](auto rows) {
        for (int r = 0; r < rows; ++r) joint.impulse[r] = lambda[r];
      });
      // motors without a bound are its last rows
      const double* motor = lambda + rows_[j];
      for (std::size_t i = 0; i < kJointAxes; ++i)
        if (motor_row_[j][i] != 0) joint.drive[i][drive_of(JointRowKind::motor)] = *motor++;
    }
  }
}

void JointAssembler::update_angles(const Bodies& bodies, const ContactSet& set,
                                   State& state) const {
  JointPoses poses;
  for (const std::size_t j : angled_) {
    const JointConstants& joint = bodies.joints[j];
    std::array<double, 2>& angle = state.joints[j].angle;
    if (is_winch(joint)) {
      angle[0] += winch_way(joint, model_, angle[0], step_);
      continue;
    }
    // angles do not ask for twists
    for (std::size_t i = 0; i < kJointBodies; ++i) {
      const Index b = set.joint_bodies[j][i];
      poses.pose[i] = b != kNoIndex ? set.bodies.state[b].pose : Pose{};
    }
    angle = joint_angles(joint, poses, angle, model_);
  }
}

double JointAssembler::slack(std::size_t j) const {
  return slack_[std::lower_bound(cords_.begin(), cords_.end(), to_index(j)) - cords_.begin()];
}

JointMisfit JointAssembler::misfits(const Bodies& bodies, const State& state, const ContactSet& set,
                                    std::span<double> rhs, const ConstraintProblem& problem) const {
  std::fill(rhs.begin(), rhs.end(), 0.0);
  JointMisfit worst;
  const std::size_t first = problem.first_general_row();
  for (std::size_t j = 0; j < bodies.joints.size(); ++j) {
    const JointConstants& joint = bodies.joints[j];
    const std::size_t m = begin_[j];
    if (std::cmp_equal(m, begin_[j + 1]) || made_[m].part != JointRowKind::rows) continue;
    const JointGeometry geometry = joint_geometry(joint, poses_of(set.joint_bodies[j], set.bodies),
                                                  state.joints[j].angle, model_);
    if (geometry.spring) continue;
    double* out = rhs.data() + first + problem.blocks.row_begin[block_of(m)];
    for (Index r = 0; r < geometry.rows; ++r) {
      const bool soft = (geometry.angular[r] ? joint.angular_compliance : joint.compliance) > 0.0 ||
                        joint.erp != JointConstants::kNotOde;
      // a rope that is not taut has no part in the joints' factors
      const bool slack = geometry.unilateral &&
                         problem.blocks.compliance[problem.blocks.row_begin[block_of(m)] + r] > 0.0;
      if (geometry.velocity[r] || soft || slack) continue;
      out[r] = -rigid_misfit(geometry, r);
      double& largest = geometry.angular[r] ? worst.angular : worst.linear;
      const double misfit = std::abs(out[r]);
      // std::max drops NaN
      largest =
          std::isnan(misfit) ? std::numeric_limits<double>::infinity() : std::max(largest, misfit);
    }
  }
  return worst;
}

GlobalId JointAssembler::start_slips(const Bodies& bodies, const LocalBodies& local,
                                     const ConstraintProblem& problem, std::span<double> rhs,
                                     double& largest) const {
  std::fill(rhs.begin(), rhs.end(), 0.0);
  const GeneralBlocks& blocks = problem.blocks;
  const std::size_t first = problem.first_general_row();
  GlobalId worst = kNoBody;
  largest = 0.0;
  for (std::size_t j = 0; j < bodies.joints.size(); ++j) {
    const std::size_t m = begin_[j];
    if (rigid_[j] == 0 || std::cmp_equal(m, begin_[j + 1]) || made_[m].part != JointRowKind::rows)
      continue;
    const std::size_t k = block_of(m);
    for (Index r = 0; r < rows_[j]; ++r) {
      double u = 0.0;
      for (auto i = blocks.body_begin[k]; i < blocks.body_begin[k + 1]; ++i) {
        const double* g = blocks.jacobian.data() + blocks.jacobian_begin[i] + 6 * r;
        const Twist& twist = local.twist(blocks.body[i]);
        u += Eigen::Map<const Vec3>(g).dot(twist.v) + Eigen::Map<const Vec3>(g + 3).dot(twist.w);
      }
      rhs[first + blocks.row_begin[k] + r] = -u;
      if (!(std::abs(u) > largest)) continue;
      largest = std::abs(u);
      worst = bodies.joints[j].id;
    }
  }
  return worst;
}

JointReaction JointAssembler::reaction(std::size_t j, const ConstraintProblem& problem,
                                       std::span<const double> impulses,
                                       const ContactSet& set) const {
  const std::array<Index, kJointBodies>& body = set.joint_bodies[j];
  std::array<Twist, kJointBodies> on = impulses_on(j, problem, impulses, set);
  JointReaction sum;
  const auto tendon =
      std::lower_bound(tendon_arms_.begin(), tendon_arms_.end(), to_index(j),
                       [](const TendonArms& arms, Index joint) { return arms.joint < joint; });
  if (tendon != tendon_arms_.end() && std::cmp_equal(tendon->joint, j)) {
    for (std::size_t k = 0; k < kJointBodies; ++k) on[k].w -= tendon->arm[k].cross(on[k].v);
    sum.impulse = on[1].v;
    sum.couple = on[1].w;
    sum.impulse_on_a = on[0].v;
    sum.couple_on_a = on[0].w;
    sum.impulse_on_third = on[2].v;
    sum.couple_on_third = on[2].w;
    return sum;
  }
  // b's own part, or, where b is the world, the opposite of a's
  const bool b_moves = body[1] != kNoIndex;
  sum.impulse = b_moves ? on[1].v : Vec3(-on[0].v);
  sum.couple = b_moves ? on[1].w : Vec3(-on[0].w);
  sum.couple -= arm_[j].cross(sum.impulse);
  sum.impulse_on_a = -sum.impulse;
  // of a gear on a carrier: couples alone
  sum.couple_on_a = body[2] != kNoIndex ? on[0].w : Vec3(-sum.couple);
  if (body[2] != kNoIndex) sum.couple_on_third = -(sum.couple + sum.couple_on_a);
  return sum;
}

std::array<Twist, kJointBodies> JointAssembler::impulses_on(std::size_t j,
                                                            const ConstraintProblem& problem,
                                                            std::span<const double> impulses,
                                                            const ContactSet& set) const {
  const GeneralBlocks& blocks = problem.blocks;
  std::array<Twist, kJointBodies> on;
  for (Twist& of : on) of = {Vec3::Zero(), Vec3::Zero()};
  for (auto m = begin_[j]; m < begin_[j + 1]; ++m) {
    const std::size_t k = block_of(m);
    const double* lambda = impulses.data() + problem.first_general_row() + blocks.row_begin[k];
    for (auto i = blocks.body_begin[k]; i < blocks.body_begin[k + 1]; ++i) {
      const auto found = std::ranges::find(set.joint_bodies[j], blocks.body[i]);
      Twist& of = on[found - set.joint_bodies[j].begin()];
      const double* g = blocks.jacobian.data() + blocks.jacobian_begin[i];
      for (Index r = 0; r < blocks.row_begin[k + 1] - blocks.row_begin[k]; ++r, g += 6) {
        of.v += lambda[r] * Vec3(g[0], g[1], g[2]);
        of.w += lambda[r] * Vec3(g[3], g[4], g[5]);
      }
    }
  }
  return on;
}

Vec3 JointAssembler::point(const JointConstants& joint, const ContactSet& set, std::size_t j) {
  const Index b = set.joint_bodies[j][1];
  if (b == kNoIndex) return joint.frame[1].p;
  const Pose& pose = set.bodies.state[b].pose;
  return pose.p + pose.q * joint.frame[1].p;
}

std::array<double, 3> JointAssembler::rates(const Bodies& bodies, const State& state,
                                            const ContactSet& set, std::size_t j) const {
  return joint_rates(bodies.joints[j], poses_of(set.joint_bodies[j], set.bodies),
                     state.joints[j].angle, model_);
}

std::array<double, 3> JointAssembler::coordinates(const Bodies& bodies, const State& state,
                                                  const ContactSet& set, std::size_t j) const {
  const JointConstants& joint = bodies.joints[j];
  return joint_coordinates(joint, poses_of(set.joint_bodies[j], set.bodies), state.joints[j].angle,
                           model_);
}

double JointAssembler::stored_energy(const Bodies& bodies, const State& state,
                                     const ContactSet& set, std::size_t j) const {
  const JointConstants& joint = bodies.joints[j];
  const JointGeometry geometry = joint_geometry(joint, poses_of(set.joint_bodies[j], set.bodies),
                                                state.joints[j].angle, model_);
  double energy = 0.0;
  for (Index r = 0; r < geometry.rows; ++r) {
    const double compliance = geometry.angular[r] ? joint.angular_compliance : joint.compliance;
    if (!(compliance > 0.0)) continue;
    const double misfit = rigid_misfit(geometry, r);
    energy += 0.5 * misfit * misfit / compliance;
  }
  return energy;
}

std::vector<std::pair<GlobalId, double>> JointAssembler::missed_drives(
    const Bodies& bodies, const ConstraintProblem& problem, std::span<const double> impulses,
    std::span<const double> twists) const {
  // of what is asked for; exact solves leave round-off
  constexpr double kShare = 0.01;
  constexpr double kLeast = 1e-9;
  const GeneralBlocks& blocks = problem.blocks;
  std::vector<std::pair<GlobalId, double>> missed;
  for (std::size_t m = 0; m < made_.size(); ++m) {
    if (made_[m].part != JointRowKind::rows) continue;
    const std::size_t j = made_[m].joint;
    const std::size_t k = block_of(m);
    double largest = 0.0;
    for (Index r = blocks.row_begin[k] + rows_[j]; r < blocks.row_begin[k + 1]; ++r) {
      const double miss = row_slip(problem, k, r, impulses, twists);
      if (std::abs(miss) > std::max(kLeast, kShare * std::abs(blocks.q[r])))
        largest = std::max(largest, std::abs(miss));
    }
    if (largest > 0.0) missed.emplace_back(bodies.joints[j].id, largest);
  }
  return missed;
}

/// w of row r of block k.
double JointAssembler::row_slip(const ConstraintProblem& problem, std::size_t k, Index r,
                                std::span<const double> impulses, std::span<const double> twists) {
  const GeneralBlocks& blocks = problem.blocks;
  const std::size_t first = problem.first_general_row();
  double w = blocks.compliance[r] * impulses[first + r] - blocks.q[r];
  for (auto i = blocks.body_begin[k]; i < blocks.body_begin[k + 1]; ++i) {
    const double* g =
        blocks.jacobian.data() + blocks.jacobian_begin[i] + 6 * (r - blocks.row_begin[k]);
    for (std::size_t d = 0; d < 6; ++d) w += g[d] * twists[Offset{6} * blocks.body[i] + d];
  }
  return w;
}

Index JointAssembler::worst(const ConstraintProblem& problem, std::span<const double> impulses,
                            std::span<const double> twists, double& slip) const {
  const GeneralBlocks& blocks = problem.blocks;
  Index worst = kNoIndex;
  slip = -1.0;
  for (std::size_t m = 0; m < made_.size(); ++m) {
    if (made_[m].part != JointRowKind::rows) continue;
    const std::size_t k = block_of(m);
    for (Index r = blocks.row_begin[k]; r < blocks.row_begin[k + 1]; ++r) {
      const double w = std::abs(row_slip(problem, k, r, impulses, twists));
      if (w <= slip) continue;
      slip = w;
      worst = made_[m].joint;
    }
  }
  return worst;
}

}  // namespace catena
