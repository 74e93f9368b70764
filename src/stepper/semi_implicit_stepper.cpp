#include "catena/stepper/semi_implicit_stepper.hpp"

#include <algorithm>
#include <cmath>

#include "catena/base/release.hpp"
#include "catena/base/timer.hpp"
#include "catena/comm/sums.hpp"
#include "catena/comm/typed_exchange.hpp"
#include "catena/math/rotation.hpp"
#include "stepper/body_kernels.hpp"
#include "stepper/soundness.hpp"
#include "stepper/twists.hpp"

namespace catena {

namespace {

/// Stiffness follows another step by a twentieth of what is left in each, so that no stored energy
/// is set free at once.
double next_stiffness_step(double before, double step) {
  if (before == 0.0 || std::abs(before - step) < 1e-6 * step) return step;
  return step + 0.95 * (before - step);
}

/// What the solves of a step took. take() adds that of one, whose report then tells of all of them.
struct SolveWork {
  int iterations = 0, linear_iterations = 0, factorisations = 0;
  double wall_s = 0.0, setup_s = 0.0;

  void take(SolveReport& report) {
    report.iterations = iterations += report.iterations;
    report.linear_iterations = linear_iterations += report.linear_iterations;
    report.joints.factorisations = factorisations += report.joints.factorisations;
    report.wall_s = wall_s += report.wall_s;
    report.setup_s = setup_s += report.setup_s;
  }
};

}  // namespace

/// Turns bodies whose inertia differs by axis, eight at a time. Their states must stay where they
/// are until finish().
class SemiImplicitStepper::BodyTurner {
 public:
  BodyTurner(double h, bool planar) : h_(h), planar_(planar) {}

  /// `body` has omega of the solve, `before` is that of the step's start.
  void add(const BodyConstants& constants, const Vec3& before, BodyMotionState& body) {
    group_.set(n_, body.pose.q, constants.inertia, before);
    for (std::size_t k = 0; k < 3; ++k) group_.after[k].lane[n_] = body.twist.w[to_index(k)];
    body_[n_++] = &body;
    if (n_ == body_.size()) finish();
  }
  void finish() {
    if (n_ == 0) return;
    turn_bodies(h_, group_);
    for (std::size_t i = 0; i < n_; ++i) {
      body_[i]->pose.q = group_.rotation(i);
      const Vec3 w = group_.vector(group_.after, i);
      body_[i]->twist.w = planar_ ? Vec3(0.0, w.y(), 0.0) : w;
    }
    n_ = 0;
  }

 private:
  double h_;
  bool planar_;
  EightBodies group_;
  std::array<BodyMotionState*, EightBodies::kLanes> body_;
  std::size_t n_ = 0;
};

SemiImplicitStepper::SemiImplicitStepper(const Communicator& comm, const Model& model,
                                         const StepperSettings& settings,
                                         std::unique_ptr<Solver> solver)
    : comm_(comm),
      model_(model),
      settings_(settings),
      solver_(std::move(solver)),
      search_(comm, model),
      problem_(std::make_unique<ConstraintProblem>(comm)),
      contacts_(model, settings.kind, settings.step),
      joints_(model),
      audit_(Sum(model.deterministic)) {
  problem_->ordered = model.deterministic;
}

SemiImplicitStepper::~SemiImplicitStepper() = default;

const StepReport& SemiImplicitStepper::step(const Bodies& bodies, State& state) {
  report_.times = {};
  find_contacts(bodies, state);
  assemble_problem(bodies, state);
  note_forbidden(bodies, state);
  solve_impulses(state);
  find_held_drives(bodies);
  check_solution(bodies, state);
  keep_impulses(state);
  audit_work(state);
  steer_cell(bodies, state);
  advance_poses(bodies, state);
  project_joints(bodies, state);
  follow_images(state);
  record(bodies, state);
  return report_;
}

const ContactSet& SemiImplicitStepper::find_contacts(const Bodies& bodies, const State& state) {
  const ScopedTimer timer(report_.times[StepStage::find_contacts]);
  clear_large(problem_->contacts);  // the last step's
  contacts_.clear();
  search_.find(bodies, state, settings_.step, contact_set_);
  return contact_set_;
}

void SemiImplicitStepper::assemble_problem(const Bodies& bodies, const State& state) {
  const ScopedTimer timer(report_.times[StepStage::assemble_problem]);
  // of law lagged it becomes ccp with the first shifts
  problem_->law = model_.contact.law == ContactLaw::lagged ? ContactLaw::ccp : model_.contact.law;
  problem_->lagged = false;
  problem_->shift.clear();
  problem_->ghosts = contact_set_.ghosts;
  fill_bodies(state.time);
  apply_forces(state);
  stiffness_step_ = next_stiffness_step(state.stiffness_step, settings_.step);
  contacts_.make_rows(contact_set_, state, stiffness_step_, *problem_);
  any_joints_ = model_.joint_names.size() + state.added_joints > 0;
  const bool across = settings_.geometric_stiffness && any_joints_ &&
                      cords_.need_rows(comm_, bodies, state, contact_set_, settings_.step);
  joints_.add_blocks(bodies, state, contact_set_,
                     {settings_.kind, state.time, settings_.step, across}, *problem_);
  problem_->joint_misfit = 0.0;
  if (any_joints_) problem_->joint_misfit = comm_.max(joints_.relative_misfit());
  // from here on the problem and contacts_ say all that is needed of them
  clear_large(contact_set_.contacts);
  assign_with_room(impulses_, problem_->n_rows(), 0.0);
  // tension is the last step's, warm start or not
  joints_.first_guess(state, *problem_, impulses_);
  if (settings_.warm_start) contacts_.first_guess(state, *problem_, impulses_);
  cords_.find(bodies, contact_set_, joints_, settings_.step, settings_.geometric_stiffness,
              impulses_, *problem_);
  add_geometric_stiffness();
  ++problem_->joint_matrix;
}

void SemiImplicitStepper::add_geometric_stiffness() {
  tension_.clear();
  if (settings_.geometric_stiffness && any_joints_)
    tension_.apply(contact_set_.bodies, settings_.step, impulses_, *problem_);
}

void SemiImplicitStepper::fill_bodies(double t) {
  const LocalBodies& local = contact_set_.bodies;
  const auto n = local.size();
  const double h = settings_.step;
  const Vec3 gravity = model_.mean_gravity(t, h);
  ProblemBodies& out = problem_->bodies;
  out.clear();
  out.reserve(n);
  out.n_owned = local.n_owned;
  EightBodies group;
  std::array<Index, EightBodies::kLanes> member;
  std::size_t in_group = 0;
  for (Index i = 0; i < n; ++i) {
    const BodyConstants& body = local.constants[i];
    const Twist& twist = local.twist(to_index(i));
    if (body.kind != BodyKind::dynamic) {
      out.add_prescribed(body.id, twist);
      continue;
    }
    // V_free = V0 + h M^-1 (f - omega x I omega)
    Twist free{twist.v + h * gravity, twist.w};
    if (is_isotropic(body)) {
      out.add_rigid(body.id, 1.0 / body.mass, 1.0 / body.inertia.x(), free);
      continue;
    }
    out.add_rigid(body.id, 1.0 / body.mass, 0.0, free);
    group.set(in_group, local.state[i].pose.q, body.inertia, twist.w);
    member[in_group++] = i;
    if (in_group < member.size()) continue;
    fill_inertia(member, group);
    in_group = 0;
  }
  fill_inertia(std::span(member).first(in_group), group);
}

/// Inverse inertia and gyroscopic torque of the bodies in the lanes of `group`.
void SemiImplicitStepper::fill_inertia(std::span<const Index> members, EightBodies& group) {
  if (members.empty()) return;
  find_inverse_inertia(group);
  ProblemBodies& out = problem_->bodies;
  for (std::size_t i = 0; i < members.size(); ++i) {
    double* m = out.inverse_mass.data() + out.mass_begin[members[i]] + 1;
    for (std::size_t k = 0; k < 6; ++k) m[k] = group.matrix[k].lane[i];
    double* w = out.free_velocity.data() + out.dof_begin[members[i]] + 3;
    for (std::size_t k = 0; k < 3; ++k) w[k] += settings_.step * group.after[k].lane[i];
    if (!model_.planar) continue;
    w[0] = w[2] = w[-2] = 0.0;
    // y is a principal axis: what round-off leaves would turn the body out of the plane
    m[1] = m[4] = 0.0;
  }
}

void SemiImplicitStepper::apply_forces(const State& state) {
  applied_.clear();
  if (model_.forces.empty() && state.loads.empty()) return;
  const double h = settings_.step;
  const LocalBodies& local = contact_set_.bodies;
  ProblemBodies& out = problem_->bodies;
  for (Index i = 0; i < local.n_owned; ++i) {
    const std::size_t k = i;
    if (local.constants[k].kind != BodyKind::dynamic) continue;
    Twist sum;
    bool any = false;
    for (std::size_t n = 0; n < model_.forces.size(); ++n) {
      const AppliedForce& f = model_.forces[n];
      if (f.body != local.constants[k].id) continue;
      const Quat& q = local.state[k].pose.q;
      double factor = f.table < 0 ? 1.0 : model_.tables[f.table].mean(state.time, h);
      if (n < state.force_factors.size() && !std::isnan(state.force_factors[n]))
        factor = state.force_factors[n];
      const Vec3 force = factor * (f.body_frame ? Vec3(q * f.force) : f.force);
      sum.v += force;
      sum.w += factor * (f.body_frame ? Vec3(q * f.torque) : f.torque) + (q * f.at).cross(force);
      any = true;
    }
    if (const BodyLoad* load = load_of(state, local.constants[k].id)) {
      sum.v += load->force;
      sum.w += load->torque;
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

void SemiImplicitStepper::solve_impulses(const State& state) {
  const ScopedTimer timer(report_.times[StepStage::solve_impulses]);
  velocities_.resize(problem_->bodies.n_dofs());
  if (model_.contact.law == ContactLaw::lagged)
    solve_lagged(state);
  else
    solve_problem();
}

/// Collective. Solves with the shifts of the last step, then, as often as the case allows, with
/// those of the solution before, until Coulomb's law itself is met.
void SemiImplicitStepper::solve_lagged(const State& state) {
  {
    DelassusOperator op(*problem_);
    op.velocities(impulses_, velocities_);
    set_shift(*problem_, contacts_.first_shifts(state, *problem_, velocities_));
  }
  SolveWork work;
  for (int pass = 1;; ++pass) {
    solve_problem();
    work.take(report_.solve);
    if (report_.solve.status == SolveStatus::breakdown) break;
    measure_lag();
    if (pass == model_.contact.lagged_passes || report_.lag_error <= settings_.lag_tolerance) break;
    set_shift(*problem_, contacts_.shifts(*problem_, impulses_, velocities_));
  }
}

/// Collective. How far the solution misses Coulomb's law itself.
void SemiImplicitStepper::measure_lag() {
  std::vector<double> shift = problem_->shift;
  report_.lag_opening = comm_.sum(contacts_.count_opening(*problem_, impulses_, velocities_));
  remove_shift(*problem_);
  {
    DelassusOperator op(*problem_);
    ErrorEvaluator evaluator(*problem_, op);
    const double at_zero = evaluator.evaluate_zero(ErrorSet::energy).energy;
    const double here = evaluator.evaluate_at(impulses_, velocities_, ErrorSet::energy).energy;
    report_.lag_error = at_zero > 0.0 ? here / at_zero : 0.0;
  }
  set_shift(*problem_, std::move(shift));
}

/// Collective.
void SemiImplicitStepper::solve_problem() {
  SolveWork work;
  do {
    make_room(guess_, impulses_.size());
    guess_.assign(impulses_.begin(), impulses_.end());
    report_.solve = solver_->solve(*problem_, impulses_, velocities_);
    work.take(report_.solve);
  } while (any_joints_ && report_.solve.status != SolveStatus::breakdown &&
           cords_.revise(report_.solve.status == SolveStatus::converged, impulses_, velocities_,
                         *problem_));
}

JointReaction SemiImplicitStepper::joint_reaction(std::size_t j) const {
  JointReaction reaction = joints_.reaction(j, *problem_, impulses_, contact_set_);
  // from where its body started the step
  const auto& body = contact_set_.joint_bodies[j];
  const Index on = body[1] != kNoIndex ? body[1] : body[0];
  reaction.point = contact_set_.bodies.state[on].pose.p -
                   settings_.step * get_twist(velocities_, on).v + joints_.arm(j);
  return reaction;
}

void SemiImplicitStepper::keep_impulses(State& state) {
  const ScopedTimer timer(report_.times[StepStage::keep_impulses]);
  contacts_.store(*problem_, impulses_, velocities_, state);
  state.stiffness_step = stiffness_step_;
  joints_.store(*problem_, impulses_, state);
}

void SemiImplicitStepper::audit_work(State& state) {
  const ScopedTimer timer(report_.times[StepStage::audit_work]);
  const LocalBodies& local = contact_set_.bodies;
  audit_ = AuditTerms(Sum(model_.deterministic));
  contacts_.add_work(*problem_, impulses_, local, velocities_, audit_);
  if (comm_.rank() == 0)
    audit_[EnergyTerm::elastic_jump] -= state.audit[EnergyTerm::elastic_energy];
  passive_ = joints_.add_work(*problem_, impulses_, local, velocities_, audit_, state);
  passive_.work -= tension_.subtract_work(local, velocities_, audit_[EnergyTerm::joint_work]);
  for (const auto& [body, force] : applied_) {
    const Twist before = local.twist(body), after = get_twist(velocities_, body);
    audit_[EnergyTerm::external_work] +=
        0.5 * settings_.step * (force.v.dot(before.v + after.v) + force.w.dot(before.w + after.w));
  }
}

CellStress SemiImplicitStepper::measure_cell(const Bodies& bodies, const State& state,
                                             const PeriodicBox& box) const {
  CellSums sums(model_.deterministic);
  contacts_.add_to_cell(*problem_, impulses_, sums);
  const Mat3 gradient = box.gradient();
  for (std::size_t i = 0; i < bodies.constants.size(); ++i) {
    if (bodies.constants[i].kind != BodyKind::dynamic) continue;
    const Vec3 place = state.body[i].pose.p - box.centre();
    sums.add_body(bodies.constants[i].mass, get_twist(velocities_, i).v - gradient * place);
  }
  return sums.stress(comm_, cell_volume(box), settings_.step, model_.deterministic);
}

void SemiImplicitStepper::steer_cell(const Bodies& bodies, State& state) {
  const ScopedTimer timer(report_.times[StepStage::advance_poses]);
  const double h = settings_.step;
  const PeriodicBox now = box_of(model_, state);
  const bool driven = std::ranges::any_of(
      model_.cell, [](const CellDrive& drive) { return drive.kind == CellDrive::Kind::stress; });
  if (driven || settings_.cell_stress) report_.cell = measure_cell(bodies, state, now);
  box_ = now;
  cell_push_.setZero();
  if (state.cell.empty()) return;
  box_ = now.after(h);
  PeriodicBox next = box_;
  next.shear_rate = now.shear_rate;
  const double t_new = static_cast<double>(state.step + 1) * h;
  next.stretch_rate = cell_rates(model_.cell, report_.cell, now.stretch_rate, t_new, h);
  cell_push_ = next.gradient() - box_.gradient();
  keep_box(next, state);
}

double SemiImplicitStepper::advance(const BodyConstants& body, const State& state, std::size_t i,
                                    double t_new, BodyMotionState& s, BodyTurner& turner) const {
  const double h = settings_.step;
  const bool periodic = model_.periodic.any();
  if (body.kind != BodyKind::dynamic) {
    const MotionStart& start = motion_of(state, body, contact_set_.bodies.ghost_motions);
    s = prescribed_state(model_, body, s.pose, start, t_new);
    if (periodic) s.pose.p = box_.wrapped(s.pose.p);
    return 0.0;
  }
  const Vec3 before = s.pose.p;
  Twist twist = get_twist(velocities_, i);
  if (model_.planar) twist = in_plane(twist);
  s.pose.p += h * twist.v;
  const Vec3 w_before = s.twist.w;
  s.twist = twist;
  if (is_isotropic(body))
    s.pose.q = advance_rotation(s.pose.q, twist.w, h);
  else
    turner.add(body, w_before, s);
  double work = 0.0;
  if (!model_.gravity_table.empty()) {
    const Vec3 change = model_.gravity_at(t_new) - model_.gravity_at(t_new - h);
    work -= 0.5 * body.mass * change.dot(before + s.pose.p);
  }
  if (!periodic) return work;
  const PeriodicBox::Move inside = box_.wrap(s.pose.p);
  work -= body.mass * model_.gravity_at(t_new).dot(inside.p - s.pose.p);
  const Vec3 push = inside.v + cell_push_ * (inside.p - box_.centre());
  work += body.mass * push.dot(s.twist.v + 0.5 * push);
  s.pose.p = inside.p;
  s.twist.v += push;
  return work;
}

void SemiImplicitStepper::advance_poses(const Bodies& bodies, State& state) {
  const ScopedTimer timer(report_.times[StepStage::advance_poses]);
  const double t_new = static_cast<double>(state.step + 1) * settings_.step;
  const bool periodic = model_.periodic.any();
  put_back_.clear();
  BodyTurner turner(settings_.step, model_.planar);
  const auto move = [&](const BodyConstants& body, std::size_t i, BodyMotionState& s) {
    const Vec3 before = s.pose.p;
    const double work = advance(body, state, i, t_new, s, turner);
    if (!periodic) return work;
    const Vec3 by = box_.nearest_shift(s.pose.p - before);
    if (!by.isZero(0.0)) put_back_.push_back({body.id, by});
    return work;
  };
  for (std::size_t i = 0; i < bodies.constants.size(); ++i)
    audit_[EnergyTerm::external_work] += move(bodies.constants[i], i, state.body[i]);
  turner.finish();
  if (!bodies.joints.empty() || periodic) {
    // the other bodies of this rank's joints and contacts move as their owners move them
    LocalBodies& local = contact_set_.bodies;
    for (std::size_t i = bodies.constants.size(); i < local.constants.size(); ++i)
      move(local.constants[i], i, local.state.other(i));
    turner.finish();
  }
  if (!bodies.joints.empty()) joints_.update_angles(bodies, contact_set_, state);
  ++state.step;
  state.time = static_cast<double>(state.step) * settings_.step;
}

void SemiImplicitStepper::follow_images(State& state) {
  if (!model_.periodic.any()) return;
  std::ranges::sort(put_back_, {}, &PutBack::body);
  // a projection may have put a body back across the side that it went through
  std::size_t n = 0;
  for (const PutBack& next : put_back_) {
    if (n > 0 && put_back_[n - 1].body == next.body)
      put_back_[n - 1].by += next.by;
    else
      put_back_[n++] = next;
  }
  put_back_.resize(n);
  contacts_.follow_images(box_, put_back_, state);
}

/// `speed`: that of PassiveWork over all ranks.
void SemiImplicitStepper::note_passive_work(const Bodies& bodies, const State& state,
                                            double speed) {
  // a velocity is round-off below this share of what gravity and other forces add in a step
  constexpr double kRoundOff = 1e-6;
  report_.passive_work = 0.0;
  report_.working_joint = kNoBody;
  if (!any_joints_) return;
  std::array<double, 2> sums = {passive_.work, passive_.impulses};
  comm_.sum(sums);
  constexpr double kKept = 1.0 - 1.0 / kWorkWindow;
  passive_work_ = kKept * passive_work_ + sums[0];
  const double added = std::max(settings_.step * model_.gravity_at(state.time).norm(), speed);
  passive_floor_ = kKept * passive_floor_ + kRoundOff * added * sums[1];
  most_kinetic_ = std::max(most_kinetic_, report_.kinetic);
  if (!(std::abs(passive_work_) > passive_floor_)) return;
  report_.passive_work = passive_work_;
  if (!(passive_work_ > kNotableWork * most_kinetic_)) return;
  double most = 0.0;
  GlobalId id = kNoBody;
  for (std::size_t j = 0; j < state.joints.size(); ++j) {
    if (!(state.joints[j].work > most)) continue;
    most = state.joints[j].work;
    id = bodies.joints[j].id;
  }
  const double over_all = comm_.max(most);
  report_.working_joint = least_id(comm_, id != kNoBody && most == over_all, id);
}

void SemiImplicitStepper::note_overlaps() {
  const StepContacts::Overlaps& own = contacts_.overlaps();
  SumWords words(model_.deterministic);
  words.add(own.sum);
  comm_.sum(words.words());
  const std::int64_t count = comm_.sum(own.count);
  report_.overlap_mean = count > 0 ? words[0] / static_cast<double>(count) : 0.0;
  std::array<double, 2> largest = {own.largest, own.borne};
  comm_.max(largest);
  report_.overlap_largest = largest[0];
  report_.overlap_borne = largest[1];
  report_.overlap_bodies = {kNoBody, kNoBody};
  if (report_.overlap_borne <= kNotableOverlap) return;
  const bool mine = own.borne == report_.overlap_borne;
  const GlobalId a = least_id(comm_, mine, own.key.a);
  report_.overlap_bodies = {a, least_id(comm_, mine && own.key.a == a, own.key.b)};
}

/// `own`: this rank's; `largest`: the overlap of the deepest one over all ranks.
void SemiImplicitStepper::note_sunk(const StepContacts::Sunk& own, double largest) {
  report_.sunk_overlap = largest;
  report_.sunk_load = 0.0;
  report_.sunk_bodies = {kNoBody, kNoBody};
  if (largest == 0.0) return;
  const bool mine = own.overlap == largest;
  const GlobalId a = least_id(comm_, mine, own.key.a);
  const GlobalId b = least_id(comm_, mine && own.key.a == a, own.key.b);
  report_.sunk_bodies = {a, b};
  report_.sunk_load = comm_.max(mine && own.key.a == a && own.key.b == b ? own.load : 0.0);
}

/// `own`: this rank's; `largest`: the gap of the widest one over all ranks.
void SemiImplicitStepper::note_far(const StepContacts::Far& own, double largest) {
  report_.far_gap = largest;
  report_.far_bodies = {kNoBody, kNoBody};
  if (largest == 0.0) return;
  const bool mine = own.gap == largest;
  const GlobalId fast = least_id(comm_, mine, own.bodies[0]);
  const GlobalId other = least_id(comm_, mine && own.bodies[0] == fast, own.bodies[1]);
  report_.far_bodies = {fast, other};
  const bool named = mine && own.bodies == report_.far_bodies;
  report_.far_speed = comm_.max(named ? own.speed : 0.0);
  report_.far_radius = comm_.max(named ? own.radius : 0.0);
}

void SemiImplicitStepper::record(const Bodies& bodies, State& state) {
  const ScopedTimer timer(report_.times[StepStage::record]);
  record_energies(comm_, model_, bodies, audit_, state, report_);
  std::array<std::int64_t, 3> counts = {narrow<std::int64_t>(contacts_.size()), tension_.raised(),
                                        cords_.held()};
  comm_.sum(counts);
  report_.contacts = counts[0];
  report_.stiffened = counts[1];
  report_.cords_held = counts[2];
  const StepContacts::Sunk sunk = contacts_.deepest_sunk(*problem_, impulses_, contact_set_.bodies,
                                                         model_.gravity_at(state.time).norm());
  const StepContacts::Far far = contacts_.farthest(*problem_, impulses_);
  std::array<double, 8> largest = {contacts_.overlaps().deepest,
                                   joints_.misfit().linear,
                                   joints_.misfit().angular,
                                   tension_.largest(),
                                   joints_.drift(),
                                   sunk.overlap,
                                   passive_.speed,
                                   far.gap};
  comm_.max(largest);
  note_passive_work(bodies, state, largest[6]);
  report_.penetration = largest[0];
  note_overlaps();
  report_.misfit = {largest[1], largest[2]};
  report_.tension = largest[3];
  report_.drift = largest[4];
  note_sunk(sunk, largest[5]);
  note_far(far, largest[7]);
  report_.drift_joint = kNoBody;
  if (report_.drift > kNotableDrift)
    report_.drift_joint = least_id(comm_, joints_.drift() == report_.drift, joints_.drift_joint());
}

}  // namespace catena
