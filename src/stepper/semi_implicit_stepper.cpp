#include "catena/stepper/semi_implicit_stepper.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>

#include "catena/base/release.hpp"
#include "catena/base/timer.hpp"
#include "catena/comm/typed_exchange.hpp"
#include "catena/math/rotation.hpp"
#include "stepper/soundness.hpp"

namespace catena {

namespace {

/// A contact's identity but for the periodic image, which changes where a body is wrapped; in the
/// same order.
ContactKey without_image(ContactKey key) {
  key.part /= kImages;
  return key;
}

Twist get_twist(std::span<const double> twists, std::size_t body) {
  const double* t = twists.data() + 6 * body;
  return {Vec3(t[0], t[1], t[2]), Vec3(t[3], t[4], t[5])};
}

/// Angular acceleration of the gyroscopic torque alone, rad/s^2; `axes` are the principal ones.
Vec3 gyroscopic_acceleration(const BodyConstants& body, const Mat3& axes, const Vec3& w) {
  const Vec3 own = axes.transpose() * w;
  return axes * body.inertia.cwiseProduct(own).cross(own).cwiseQuotient(body.inertia);
}

/// Turns a body with angular velocity `before` at the start of the step and `w` of the solve; `w`
/// becomes that of the carried angular momentum.
void turn(const BodyConstants& body, const Vec3& before, double h, Pose& pose, Vec3& w) {
  const Mat3 axes = pose.q.toRotationMatrix();
  // on the principal axes: L = L0 + (G^T lambda)_omega = L0 + I (omega - omega_free), where
  // I (omega_free - omega_0) = -h omega_0 x L0
  const Vec3 own = axes.transpose() * before;
  const Vec3 torque = body.inertia.cwiseProduct(own).cross(own);
  const Vec3 spin = axes * (body.inertia.cwiseProduct(axes.transpose() * w) - h * torque);
  // The gyroscopic part of omega counts half: the midpoint rule for free rotation.
  const Vec3 half = axes * torque.cwiseQuotient(body.inertia);
  pose.q = advance_rotation(pose.q, w - 0.5 * h * half, h);
  const Mat3 turned = pose.q.toRotationMatrix();
  w = turned * (turned.transpose() * spin).cwiseQuotient(body.inertia);
}

}  // namespace

SemiImplicitStepper::SemiImplicitStepper(const Communicator& comm, const Model& model,
                                         const StepperSettings& settings,
                                         std::unique_ptr<Solver> solver)
    : comm_(comm),
      model_(model),
      settings_(settings),
      solver_(std::move(solver)),
      search_(comm, model),
      problem_(std::make_unique<ConstraintProblem>(comm)),
      joints_(model),
      audit_(model.deterministic) {
  problem_->ordered = model.deterministic;
}

SemiImplicitStepper::~SemiImplicitStepper() = default;

const StepReport& SemiImplicitStepper::step(const Bodies& bodies, State& state) {
  find_contacts(bodies, state);
  assemble_problem(bodies, state);
  note_forbidden(bodies, state);
  solve_impulses();
  find_held_drives(bodies);
  check_solution(bodies, state);
  apply_impulses(state);
  advance_poses(bodies, state);
  project_joints(bodies, state);
  record(bodies, state);
  return report_;
}

void SemiImplicitStepper::find_contacts(const Bodies& bodies, const State& state) {
  report_.times = {};
  const ScopedTimer timer(report_.times.find);
  clear_large(problem_->contacts);  // the last step's
  places_.clear();
  search_.find(bodies, state, settings_.step, contact_set_);
}

void SemiImplicitStepper::assemble_problem(const Bodies& bodies, const State& state) {
  const ScopedTimer timer(report_.times.assemble);
  problem_->law = model_.contact.law;
  problem_->ghosts = contact_set_.ghosts;
  fill_bodies();
  apply_forces(state);
  fill_contacts(state);
  const bool across = settings_.geometric_stiffness && model_.joint_names.size() > 0 &&
                      cords_.need_rows(comm_, bodies, state, contact_set_, settings_.step);
  joints_.add_blocks(bodies, state, contact_set_,
                     {settings_.kind, state.time, settings_.step, across}, *problem_);
  problem_->joint_misfit = 0.0;
  if (model_.joint_names.size() > 0) problem_->joint_misfit = comm_.max(joints_.relative_misfit());
  recovering_.resize(problem_->n_blocks(), 0);
  // from here on the problem and places_ say all that is needed of the contacts
  clear_large(contact_set_.contacts);
  first_guess(state);
  cords_.find(bodies, contact_set_, joints_, settings_.step, settings_.geometric_stiffness,
              impulses_, *problem_);
  add_geometric_stiffness();
}

void SemiImplicitStepper::add_geometric_stiffness() {
  tension_.clear();
  if (settings_.geometric_stiffness && model_.joint_names.size() > 0)
    tension_.apply(contact_set_.bodies, settings_.step, impulses_, *problem_);
}

void SemiImplicitStepper::fill_bodies() {
  const LocalBodies& local = contact_set_.bodies;
  const auto n = local.size();
  const double h = settings_.step;
  ProblemBodies& out = problem_->bodies;
  out.clear();
  out.reserve(n);
  out.n_owned = local.n_owned;
  for (Index i = 0; i < n; ++i) {
    const BodyConstants& body = local.constants[i];
    const Twist& twist = local.twist(to_index(i));
    if (body.kind != BodyKind::dynamic) {
      out.add_prescribed(body.id, twist);
      continue;
    }
    // V_free = V0 + h M^-1 (f - omega x I omega)
    Twist free{twist.v + h * model_.gravity, twist.w};
    if (is_isotropic(body)) {
      out.add_rigid(body.id, 1.0 / body.mass, 1.0 / body.inertia.x(), free);
      continue;
    }
    const Mat3 axes = local.state[i].pose.q.toRotationMatrix();
    free.w += h * gyroscopic_acceleration(body, axes, twist.w);
    Mat3 inverse = axes * body.inertia.cwiseInverse().asDiagonal() * axes.transpose();
    if (model_.planar) {
      free = in_plane(free);
      // y is a principal axis: what round-off leaves would turn the body out of the plane
      inverse(0, 1) = inverse(1, 0) = inverse(1, 2) = inverse(2, 1) = 0.0;
    }
    out.add_rigid(body.id, 1.0 / body.mass, inverse, free);
  }
}

void SemiImplicitStepper::apply_forces(const State& state) {
  applied_.clear();
  if (model_.forces.empty()) return;
  const double h = settings_.step;
  const LocalBodies& local = contact_set_.bodies;
  ProblemBodies& out = problem_->bodies;
  for (Index i = 0; i < local.n_owned; ++i) {
    const std::size_t k = i;
    if (local.constants[k].kind != BodyKind::dynamic) continue;
    Twist sum;
    bool any = false;
    for (const AppliedForce& f : model_.forces) {
      if (f.body != local.constants[k].id) continue;
      const Quat& q = local.state[k].pose.q;
      const double factor = f.table < 0 ? 1.0 : model_.tables[f.table].mean(state.time, h);
      const Vec3 force = factor * (f.body_frame ? Vec3(q * f.force) : f.force);
      sum.v += force;
      sum.w += factor * (f.body_frame ? Vec3(q * f.torque) : f.torque) + (q * f.at).cross(force);
      any = true;
    }
    if (!any) continue;
    applied_.emplace_back(i, sum);
    if (model_.planar) sum = in_plane(sum);
    const std::array<double, 6> impulse = {h * sum.v.x(), h * sum.v.y(), h * sum.v.z(),
                                           h * sum.w.x(), h * sum.w.y(), h * sum.w.z()};
    std::array<double, 6> change;
    apply_inverse_mass(out, i, impulse, change);
    for (std::size_t d = 0; d < 6; ++d) out.free_velocity[6 * k + d] += change[d];
  }
}

RigidContact SemiImplicitStepper::rows_of(const Contact& c, const PairMaterial& pair) const {
  const LocalBodies& local = contact_set_.bodies;
  Vec3 p_b = local.state[c.body_b].pose.p;
  if (const int image = image_of(c.key); image != kNoImage) p_b += model_.periodic.shift(image);
  RigidContact rows = make_contact_rows(c, local.state[c.body_a].pose.p, p_b, local.twist(c.body_a),
                                        local.twist(c.body_b), pair, settings_.kind, settings_.step,
                                        model_.contact);
  if (model_.planar) make_planar(rows);
  return rows;
}

void SemiImplicitStepper::fill_contacts(const State& state) {
  const LocalBodies& local = contact_set_.bodies;
  const std::size_t n_contacts = contact_set_.contacts.size();
  const double h = settings_.step;
  const bool one_pair = model_.materials.materials().size() <= 1;
  const bool one_subdomain = std::adjacent_find(state.subdomain.begin(), state.subdomain.end(),
                                                std::not_equal_to<>()) == state.subdomain.end();
  problem_->contacts.clear();
  problem_->contacts.reserve(n_contacts);
  problem_->blocks.clear();
  problem_->block_subdomain.clear();
  problem_->block_subdomain.reserve(n_contacts);
  recovering_.clear();
  first_row_.clear();
  places_.clear();
  places_.reserve(n_contacts);
  penetration_ = 0.0;
  std::vector<Index> block_subdomain;  // of general blocks, and the same below
  std::vector<char> block_recovering;
  for (std::size_t k = 0; k < n_contacts; ++k) {
    const Contact& c = contact_set_.contacts[k];
    const std::size_t a = c.body_a;
    const std::size_t b = c.body_b;
    const PairMaterial& pair =
        one_pair ? model_.materials.pair(0, 0)
                 : model_.materials.pair(local.constants[a].material, local.constants[b].material);
    const RigidContact rows = rows_of(c, pair);
    // what restitution gives back is not pushed out of an overlap
    const bool recovering = c.gap < 0.0 && rows.bias == contact_bias(settings_.kind, c.gap, 0.0,
                                                                     0.0, h, model_.contact);
    Index home = 0;  // any body that is owned
    if (!one_subdomain) {
      home = home_of(local.constants[a], local.constants[b]) == c.key.a ? c.body_a : c.body_b;
    }
    const Index subdomain = state.subdomain[home];
    penetration_ = std::max(penetration_, -c.gap);
    places_.push_back({c.point, c.gap});

    const bool couples = (pair.rolling_friction > 0.0 || pair.spinning_friction > 0.0) &&
                         model_.contact.law != ContactLaw::frictionless;
    if (couples && first_row_.empty()) {
      for (std::size_t j = 0; j < k; ++j) first_row_.push_back(to_index(3 * j));
    }
    if (couples) {
      // counted from the first row of general blocks, which is not known yet: below zero
      first_row_.push_back(-1 - problem_->blocks.n_rows());
      add_contact_block(rows, pair.rolling_friction > 0.0 ? pair.rolling_friction : -1.0,
                        pair.spinning_friction > 0.0 ? pair.spinning_friction : -1.0,
                        problem_->blocks);
      block_subdomain.push_back(subdomain);
      block_recovering.push_back(recovering ? 1 : 0);
      continue;
    }
    if (!first_row_.empty()) {
      first_row_.push_back(to_index(3 * problem_->contacts.size()));
    }
    problem_->contacts.push_back(rows);
    problem_->block_subdomain.push_back(subdomain);
    recovering_.push_back(recovering ? 1 : 0);
  }
  const auto n_rigid_rows = to_index(3 * problem_->contacts.size());
  for (Index& row : first_row_) {
    if (row < 0) row = n_rigid_rows - 1 - row;
  }
  problem_->block_subdomain.insert(problem_->block_subdomain.end(), block_subdomain.begin(),
                                   block_subdomain.end());
  recovering_.insert(recovering_.end(), block_recovering.begin(), block_recovering.end());
}

Index SemiImplicitStepper::directions(std::size_t k, std::array<Vec3, 6>& d) const {
  const Index first = contact_row(k);
  if (static_cast<std::size_t>(first) < 3 * problem_->contacts.size()) {
    const RigidContact& c = problem_->contacts[static_cast<std::size_t>(first) / 3];
    d[0] = c.normal;
    d[1] = c.tangent;
    d[2] = c.normal.cross(c.tangent);
    return 3;
  }
  const GeneralBlocks& blocks = problem_->blocks;
  const Index row = first - to_index(3 * problem_->contacts.size());
  const std::size_t block =
      std::upper_bound(blocks.row_begin.begin(), blocks.row_begin.end(), row) -
      blocks.row_begin.begin() - 1;
  const Index n = blocks.row_begin[block + 1] - row;
  // of body b, the second: force rows begin with their direction, couples end with it
  const auto body_b = blocks.body_begin[block] + 1;
  const double* jacobian = blocks.jacobian.data() + blocks.jacobian_begin[body_b];
  for (Index i = 0; i < n; ++i) {
    const double* at = jacobian + 6 * i + (i < 3 ? 0 : 3);
    d[i] = Vec3(at[0], at[1], at[2]);
  }
  return n;
}

const ContactKey& SemiImplicitStepper::contact_key(std::size_t k) const {
  const std::size_t row = contact_row(k);
  const std::size_t n_rigid = problem_->contacts.size();
  if (row < 3 * n_rigid) return problem_->contacts[row / 3].key;
  const GeneralBlocks& blocks = problem_->blocks;
  const auto block = std::upper_bound(blocks.row_begin.begin(), blocks.row_begin.end(),
                                      to_index(row - 3 * n_rigid)) -
                     blocks.row_begin.begin() - 1;
  return blocks.key[block];
}

StepContact SemiImplicitStepper::contact(std::size_t k) const {
  std::array<Vec3, 6> d;
  directions(k, d);
  return {contact_key(k), places_[k].point, d[0], places_[k].gap, contact_force(k)};
}

ContactForce SemiImplicitStepper::contact_force(std::size_t k) const {
  std::array<Vec3, 6> d;
  const Index n = directions(k, d);
  const double* lambda = impulses_.data() + contact_row(k);
  ContactForce force;
  force.impulse = lambda[0] * d[0] + lambda[1] * d[1] + lambda[2] * d[2];
  for (Index i = 3; i < n; ++i) force.couple += lambda[i] * d[i];
  return force;
}

void SemiImplicitStepper::first_guess(const State& state) {
  impulses_.assign(problem_->n_rows(), 0.0);
  // tension is the last step's, warm start or not
  joints_.first_guess(state, *problem_, impulses_);
  if (!settings_.warm_start) return;
  // all lists ascend in key
  auto old = state.impulses.begin();
  auto old_couple = state.couples.begin();
  const auto seek = [](auto& at, auto end, const ContactKey& key) {
    while (at != end && without_image(at->key) < key) ++at;
    return at != end && without_image(at->key) == key;
  };
  std::array<Vec3, 6> d;
  for (std::size_t k = 0; k < n_contacts(); ++k) {
    const ContactKey key = without_image(contact_key(k));
    if (old == state.impulses.end() && old_couple == state.couples.end()) break;
    double* lambda = impulses_.data() + contact_row(k);
    const bool pressed = seek(old, state.impulses.end(), key);
    const bool turned = seek(old_couple, state.couples.end(), key);
    if (!pressed && !turned) continue;
    const Index n = directions(k, d);
    for (Index i = 0; pressed && i < 3; ++i) {
      lambda[i] = old->impulse.dot(d[i]);
    }
    for (Index i = 3; turned && i < n; ++i) {
      lambda[i] = old_couple->couple.dot(d[i]);
    }
    // a pair may touch in two images
    if (pressed) ++old;
    if (turned) ++old_couple;
  }
}

void SemiImplicitStepper::solve_impulses() {
  const ScopedTimer timer(report_.times.solve);
  velocities_.resize(problem_->bodies.n_dofs());
  int iterations = 0, linear_iterations = 0;
  double wall = 0.0, setup = 0.0;
  do {
    guess_ = impulses_;
    report_.solve = solver_->solve(*problem_, impulses_, velocities_);
    iterations += report_.solve.iterations;
    linear_iterations += report_.solve.linear_iterations;
    wall += report_.solve.wall_s;
    setup += report_.solve.setup_s;
  } while (model_.joint_names.size() > 0 && report_.solve.status != SolveStatus::breakdown &&
           cords_.revise(report_.solve.status == SolveStatus::converged, impulses_, velocities_,
                         *problem_));
  report_.solve.iterations = iterations;
  report_.solve.linear_iterations = linear_iterations;
  report_.solve.wall_s = wall;
  report_.solve.setup_s = setup;
}

BodyMotionState SemiImplicitStepper::solved(const State& state, std::size_t i) const {
  return {state.body[i].pose, get_twist(velocities_, i)};
}

void SemiImplicitStepper::find_held_drives(const Bodies& bodies) {
  constexpr std::size_t kMaxNamed = 10;
  report_.held_drives.clear();
  report_.drive_miss = 0.0;
  // swept joints may just have had too few sweeps
  if (report_.solve.joints.joints == 0) return;
  const auto missed = joints_.missed_drives(bodies, *problem_, impulses_, velocities_);
  std::vector<std::int64_t> ids;
  for (const auto& [id, miss] : missed) {
    ids.push_back(id);
    report_.drive_miss = std::max(report_.drive_miss, miss);
  }
  report_.drive_miss = comm_.max(report_.drive_miss);
  if (!(report_.drive_miss > 0.0)) return;
  ids = all_gather_values(comm_, ids);
  std::sort(ids.begin(), ids.end());
  ids.resize(std::min(ids.size(), kMaxNamed));
  report_.held_drives.assign(ids.begin(), ids.end());
}

void SemiImplicitStepper::check_solution(const Bodies& bodies, const State& state) const {
  bool sound = true;
  for (std::size_t i = 0; i < bodies.constants.size() && sound; ++i) {
    sound = bodies.constants[i].kind != BodyKind::dynamic || is_sound(solved(state, i));
  }
  const bool all_sound = comm_.min(std::int64_t{sound ? 1 : 0}) == 1;
  if (!all_sound || report_.solve.status == SolveStatus::breakdown) blow_up(bodies, state);
  if (state.step == 0) refuse_contradictions(bodies);
}

void SemiImplicitStepper::refuse_contradictions(const Bodies& bodies) const {
  // what exact solves of consistent joints leave is round-off; sweeps may just have been too few
  constexpr double kMet = 1e-6;
  if (report_.solve.joints.joints == 0) return;
  const Errors& errors = report_.solve.errors;
  if (!(errors.energy_joint > kMet * report_.solve.initial.energy_joint)) return;
  double slip = 0.0;
  const Index j = joints_.worst(*problem_, impulses_, velocities_, slip);
  const double largest = comm_.max(slip);
  if (!(largest > kMet)) return;
  constexpr GlobalId kLast = std::numeric_limits<GlobalId>::max();
  const GlobalId id = comm_.min(j != kNoIndex && slip == largest ? bodies.joints[j].id : kLast);
  const auto place_of = [&](GlobalId joint) {
    const std::string place = model_.joint_places.text_of(joint);
    return place.empty() ? std::string("joints") : place;
  };
  std::string motors;
  for (const GlobalId held : report_.held_drives)
    motors += (motors.empty() ? "" : ", ") + model_.joint_names.name_of(held);
  if (!motors.empty())
    throw Error("joints contradict each other: the motors of " + motors +
                    " ask for what the joints of their loops do not allow, and miss it by up to " +
                    std::to_string(report_.drive_miss) + " m/s (or rad/s) in the first step",
                place_of(report_.held_drives.front()),
                "give the motors bounds (max_force), at which they stall, or leave some out");
  throw Error("joints contradict each other: with all others met as far as possible, joint " +
                  model_.joint_names.name_of(id) + " misses its rows by " +
                  std::to_string(largest) + " m/s (or rad/s) in the first step",
              place_of(id),
              "look at the joints of the loop that it belongs to: motors, lengths, axes");
}

void SemiImplicitStepper::blow_up(const Bodies& bodies, const State& state) const {
  // One bad body spoils all that it touches within the step: of the unsound ones the one
  // that was fastest before is named.
  const GlobalId unsound = worst_body(comm_, bodies, [&](std::size_t i) {
    const bool dynamic = bodies.constants[i].kind == BodyKind::dynamic;
    return !dynamic || is_sound(solved(state, i)) ? -1.0 : speed_ratio(state.body[i]);
  });
  const auto name = [&](GlobalId id) {
    return "body " + model_.names.name_of(id) + " (id " + std::to_string(id) + ")";
  };
  const std::string step_name = "step " + std::to_string(state.step + 1);
  if (unsound != kNoBody) {
    throw BlowUp(step_name + ": the state of " + name(unsound) +
                 " is not finite or beyond 1e8 m/s");
  }
  const GlobalId heaviest = worst_body(comm_, bodies, [&](std::size_t i) {
    return bodies.constants[i].kind == BodyKind::dynamic ? bodies.constants[i].mass : -1.0;
  });
  throw BlowUp(step_name + ": the contact solver broke down (" + report_.solve.reason + ")" +
               (heaviest == kNoBody ? "" : "; the heaviest is " + name(heaviest)));
}

void SemiImplicitStepper::apply_impulses(State& state) {
  const ScopedTimer timer(report_.times.apply);
  const auto clear_for = [](auto& list, std::size_t n) {
    list.clear();
    if (list.capacity() < n) list.reserve(n + n / 32);
  };
  const auto is_zero = [](const double* lambda) {
    return lambda[0] == 0.0 && lambda[1] == 0.0 && lambda[2] == 0.0;
  };
  clear_for(state.impulses, n_contacts());
  clear_for(state.couples, n_contacts() - problem_->contacts.size());
  for (std::size_t k = 0; k < n_contacts(); ++k) {
    const double* lambda = impulses_.data() + contact_row(k);
    // most contacts of a packing that do not press come with three zeros
    if (first_row_.empty() && is_zero(lambda)) continue;
    const ContactForce force = contact_force(k);
    const ContactKey& key = contact_key(k);
    if (!force.impulse.isZero(0.0)) state.impulses.push_back({key, force.impulse});
    if (!force.couple.isZero(0.0)) state.couples.push_back({key, force.couple});
  }
  audit_ = AuditTerms(model_.deterministic);
  add_contact_work(*problem_, impulses_, contact_set_.bodies, velocities_, recovering_, audit_);
  joints_.store(*problem_, impulses_, state);
  passive_ =
      joints_.add_work(*problem_, impulses_, contact_set_.bodies, velocities_, audit_, state);
  tension_.subtract_work(contact_set_.bodies, velocities_, audit_.joint_work);
  Sum raised(false);
  tension_.subtract_work(contact_set_.bodies, velocities_, raised);
  passive_.work += raised.value();
  for (const auto& [body, force] : applied_) {
    const std::size_t k = body;
    const Twist before = contact_set_.bodies.twist(body), after = get_twist(velocities_, k);
    audit_.external_work +=
        0.5 * settings_.step * (force.v.dot(before.v + after.v) + force.w.dot(before.w + after.w));
  }
}

double SemiImplicitStepper::advance(const BodyConstants& body, std::size_t i, double t_new,
                                    BodyMotionState& s) const {
  const double h = settings_.step;
  const bool periodic = model_.periodic.any();
  if (body.kind != BodyKind::dynamic) {
    s = prescribed_state(model_, body, s.pose, t_new);
    if (periodic) s.pose.p = model_.periodic.wrapped(s.pose.p);
    return 0.0;
  }
  Twist twist = get_twist(velocities_, i);
  if (model_.planar) twist = in_plane(twist);
  s.pose.p += h * twist.v;
  if (is_isotropic(body)) {
    s.pose.q = advance_rotation(s.pose.q, twist.w, h);
  } else {
    turn(body, s.twist.w, h, s.pose, twist.w);
    if (model_.planar) twist = in_plane(twist);
  }
  s.twist = twist;
  if (!periodic) return 0.0;
  const Vec3 inside = model_.periodic.wrapped(s.pose.p);
  const double wrap = body.mass * model_.gravity.dot(inside - s.pose.p);
  s.pose.p = inside;
  return wrap;
}

void SemiImplicitStepper::advance_poses(const Bodies& bodies, State& state) {
  const ScopedTimer timer(report_.times.advance);
  const double t_new = static_cast<double>(state.step + 1) * settings_.step;
  for (std::size_t i = 0; i < bodies.constants.size(); ++i) {
    // -m g . x jumps with the position, which the body does no work for
    audit_.external_work -= advance(bodies.constants[i], i, t_new, state.body[i]);
  }
  if (!bodies.joints.empty()) {
    // the other bodies of this rank's joints move as their owners move them
    LocalBodies& local = contact_set_.bodies;
    for (std::size_t i = bodies.constants.size(); i < local.constants.size(); ++i)
      advance(local.constants[i], i, t_new, local.state.other(i));
    joints_.update_angles(bodies, contact_set_, state);
  }
  ++state.step;
  state.time = static_cast<double>(state.step) * settings_.step;
}

void SemiImplicitStepper::note_passive_work(const Bodies& bodies, const State& state) {
  // a velocity is round-off below this share of what gravity adds in a step
  constexpr double kRoundOff = 1e-6;
  report_.passive_work = 0.0;
  report_.working_joint = kNoBody;
  if (model_.joint_names.size() == 0) return;
  std::array<double, 2> sums = {passive_.work, passive_.impulses};
  comm_.sum(sums);
  constexpr double kKept = 1.0 - 1.0 / kWorkWindow;
  passive_work_ = kKept * passive_work_ + sums[0];
  passive_floor_ =
      kKept * passive_floor_ + kRoundOff * settings_.step * model_.gravity.norm() * sums[1];
  most_kinetic_ = std::max(most_kinetic_, report_.kinetic);
  report_.passive_work = passive_work_;
  if (!(passive_work_ > std::max(kNotableWork * most_kinetic_, passive_floor_))) return;
  double most = 0.0;
  GlobalId id = kNoBody;
  for (std::size_t j = 0; j < state.joints.size(); ++j) {
    if (!(state.joints[j].work > most)) continue;
    most = state.joints[j].work;
    id = bodies.joints[j].id;
  }
  const double over_all = comm_.max(most);
  report_.working_joint =
      comm_.min(id != kNoBody && most == over_all ? id : std::numeric_limits<GlobalId>::max());
}

void SemiImplicitStepper::record(const Bodies& bodies, State& state) {
  record_energies(comm_, model_, bodies, audit_, state, report_);
  std::array<std::int64_t, 3> counts = {narrow<std::int64_t>(n_contacts()), tension_.raised(),
                                        cords_.held()};
  comm_.sum(counts);
  report_.contacts = counts[0];
  report_.stiffened = counts[1];
  report_.cords_held = counts[2];
  note_passive_work(bodies, state);
  std::array<double, 5> largest = {penetration_, joints_.misfit().linear, joints_.misfit().angular,
                                   tension_.largest(), joints_.drift()};
  comm_.max(largest);
  report_.penetration = largest[0];
  report_.misfit = {largest[1], largest[2]};
  report_.tension = largest[3];
  report_.drift = largest[4];
  report_.drift_joint = kNoBody;
  if (report_.drift > kNotableDrift)
    report_.drift_joint =
        comm_.min(joints_.drift() == report_.drift ? joints_.drift_joint()
                                                   : std::numeric_limits<GlobalId>::max());
}

}  // namespace catena
