#include "catena/stepper/stepper.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "catena/base/timer.hpp"
#include "catena/math/rotation.hpp"

namespace catena {

namespace {

/// Speeds beyond these are run-away, not mechanics, m/s and rad/s.
constexpr double kRunAwaySpeed = 1e8;
constexpr double kRunAwaySpin = 1e10;

void put_twist(std::span<double> twists, std::size_t body, const Twist& twist) {
  for (int i = 0; i < 3; ++i) {
    twists[6 * body + static_cast<std::size_t>(i)] = twist.v[i];
    twists[6 * body + 3 + static_cast<std::size_t>(i)] = twist.w[i];
  }
}

Twist get_twist(std::span<const double> twists, std::size_t body) {
  const double* t = twists.data() + 6 * body;
  return {Vec3(t[0], t[1], t[2]), Vec3(t[3], t[4], t[5])};
}

/// Spin R I R^T omega, kg m^2/s.
Vec3 spin_of(const BodyConstants& body, const Pose& pose, const Vec3& w) {
  return pose.q * body.inertia.cwiseProduct(pose.q.conjugate() * w);
}

/// (R I R^T)^-1 L.
Vec3 angular_velocity_of(const BodyConstants& body, const Pose& pose, const Vec3& spin) {
  return pose.q * (pose.q.conjugate() * spin).cwiseQuotient(body.inertia);
}

/// Angular acceleration of the gyroscopic torque alone, rad/s^2.
Vec3 gyroscopic_acceleration(const BodyConstants& body, const BodyMotionState& s) {
  const Vec3 torque = -s.twist.w.cross(spin_of(body, s.pose, s.twist.w));
  return angular_velocity_of(body, s.pose, torque);
}

/// Speed over what is still mechanics; infinite for a state with infinity or NaN.
double speed_ratio(const BodyMotionState& s) {
  if (!(s.pose.p.allFinite() && s.pose.q.coeffs().allFinite() && s.twist.v.allFinite() &&
        s.twist.w.allFinite())) {
    return std::numeric_limits<double>::infinity();
  }
  return std::max(s.twist.v.stableNorm() / kRunAwaySpeed, s.twist.w.stableNorm() / kRunAwaySpin);
}

bool is_sound(const BodyMotionState& s) {
  return s.pose.p.allFinite() && s.pose.q.coeffs().allFinite() &&
         s.twist.v.norm() < kRunAwaySpeed && s.twist.w.norm() < kRunAwaySpin;
}

/// Collective. Id of the body with the largest measure(index) >= 0, the lowest of equals;
/// kNoBody if all are negative.
template <class Measure>
GlobalId worst_body(const Communicator& comm, const Bodies& bodies, const Measure& measure) {
  constexpr GlobalId kLast = std::numeric_limits<GlobalId>::max();
  double worst = -1.0;
  GlobalId id = kLast;
  for (std::size_t i = 0; i < bodies.constants.size(); ++i) {
    const double value = measure(i);
    if (value < 0.0 || value < worst) continue;
    id = value > worst ? bodies.constants[i].id : std::min(id, bodies.constants[i].id);
    worst = value;
  }
  const double worst_of_all = comm.max(worst);
  id = comm.min(worst == worst_of_all ? id : kLast);
  return id == kLast ? kNoBody : id;
}

}  // namespace

Stepper::Stepper(const Communicator& comm, const Model& model, const StepperSettings& settings,
                 std::unique_ptr<Solver> solver)
    : comm_(comm),
      model_(model),
      settings_(settings),
      solver_(std::move(solver)),
      search_(comm, model) {}

Stepper::~Stepper() = default;

const StepReport& Stepper::step(const Bodies& bodies, State& state) {
  find_contacts(bodies, state);
  assemble_problem(bodies, state);
  solve_impulses();
  apply_impulses(bodies, state);
  advance_poses(bodies, state);
  record(bodies, state);
  return report_;
}

void Stepper::find_contacts(const Bodies& bodies, const State& state) {
  report_.times = {};
  const ScopedTimer timer(report_.times.find);
  search_.find(bodies, state, settings_.step, contact_set_);
}

void Stepper::assemble_problem(const Bodies& /*bodies*/, const State& state) {
  const ScopedTimer timer(report_.times.assemble);
  const LocalBodies& local = contact_set_.bodies;
  const auto n = static_cast<std::size_t>(local.size());
  const double h = settings_.step;
  problem_ = std::make_unique<ConstraintProblem>(comm_);
  problem_->law = model_.contact.law;
  problem_->ghosts = contact_set_.ghosts;
  problem_->bodies.reserve(n);
  problem_->bodies.n_owned = local.n_owned;
  twists0_.resize(6 * n);
  for (std::size_t i = 0; i < n; ++i) {
    const BodyConstants& body = local.constants[i];
    const BodyMotionState& s = local.state[i];
    put_twist(twists0_, i, s.twist);
    if (body.kind != BodyKind::dynamic) {
      problem_->bodies.add_prescribed(body.id, s.twist);
      continue;
    }
    // V_free = V0 + h M^-1 (f - omega x I omega)
    const Twist free{s.twist.v + h * model_.gravity,
                     s.twist.w + h * gyroscopic_acceleration(body, s)};
    problem_->bodies.add_rigid(body.id, 1.0 / body.mass,
                               rotate_diagonal(s.pose.q, body.inertia.cwiseInverse()), free);
  }

  const std::size_t n_contacts = contact_set_.contacts.size();
  problem_->contacts.reserve(n_contacts);
  problem_->block_subdomain.reserve(n_contacts);
  recovering_.assign(n_contacts, 0);
  for (std::size_t k = 0; k < n_contacts; ++k) {
    const Contact& c = contact_set_.contacts[k];
    const auto a = static_cast<std::size_t>(c.body_a);
    const auto b = static_cast<std::size_t>(c.body_b);
    const PairMaterial& pair =
        model_.materials.pair(local.constants[a].material, local.constants[b].material);
    problem_->contacts.push_back(make_contact_rows(c, local.state[a].pose, local.state[b].pose,
                                                   local.state[a].twist, local.state[b].twist, pair,
                                                   settings_.kind, h, model_.contact));
    // what restitution gives back is not pushed out of an overlap
    const double gap_bias = contact_bias(settings_.kind, c.gap, 0.0, 0.0, h, model_.contact);
    recovering_[k] = c.gap < 0.0 && problem_->contacts.back().bias == gap_bias ? 1 : 0;
    const Index home =
        home_of(local.constants[a], local.constants[b]) == c.key.a ? c.body_a : c.body_b;
    problem_->block_subdomain.push_back(state.subdomain[static_cast<std::size_t>(home)]);
  }
  first_guess(state);
}

void Stepper::first_guess(const State& state) {
  impulses_.assign(static_cast<std::size_t>(problem_->n_rows()), 0.0);
  if (!settings_.warm_start) return;
  // both lists ascend in key
  auto old = state.impulses.begin();
  for (std::size_t k = 0; k < problem_->contacts.size(); ++k) {
    const RigidContact& c = problem_->contacts[k];
    while (old != state.impulses.end() && old->key < c.key) ++old;
    if (old == state.impulses.end()) break;
    if (old->key != c.key) continue;
    const Vec3 tangent2 = c.normal.cross(c.tangent);
    impulses_[3 * k] = old->impulse.dot(c.normal);
    impulses_[3 * k + 1] = old->impulse.dot(c.tangent);
    impulses_[3 * k + 2] = old->impulse.dot(tangent2);
  }
}

void Stepper::solve_impulses() {
  const ScopedTimer timer(report_.times.solve);
  velocities_.resize(static_cast<std::size_t>(problem_->bodies.n_dofs()));
  report_.solve = solver_->solve(*problem_, impulses_, velocities_);
}

void Stepper::apply_impulses(const Bodies& bodies, State& state) {
  const ScopedTimer timer(report_.times.apply);
  for (std::size_t i = 0; i < bodies.constants.size(); ++i) {
    if (bodies.constants[i].kind != BodyKind::dynamic) continue;
    state.body[i].twist = get_twist(velocities_, i);
  }
  impulses0_.swap(state.impulses);
  audit0_ = state.audit;
  state.impulses.clear();
  for (std::size_t k = 0; k < problem_->contacts.size(); ++k) {
    const double* lambda = impulses_.data() + 3 * k;
    if (lambda[0] == 0.0) continue;
    const RigidContact& c = problem_->contacts[k];
    state.impulses.push_back({c.key, lambda[0] * c.normal + lambda[1] * c.tangent +
                                         lambda[2] * c.normal.cross(c.tangent)});
  }
  const ContactWork work = contact_work(*problem_, impulses_, twists0_, velocities_, recovering_);
  state.audit.dissipation_friction += work.friction_dissipation;
  state.audit.dissipation_impact += work.impact_dissipation;
  state.audit.recovery_work += work.recovery_work;
  state.audit.external_work += work.external_work;
}

void Stepper::advance_poses(const Bodies& bodies, State& state) {
  const ScopedTimer timer(report_.times.advance);
  const double h = settings_.step;
  const double t_new = static_cast<double>(state.step + 1) * h;
  for (std::size_t i = 0; i < bodies.constants.size(); ++i) {
    const BodyConstants& body = bodies.constants[i];
    BodyMotionState& s = state.body[i];
    if (body.kind != BodyKind::dynamic) {
      s = prescribed_state(model_, body, state.start[i], t_new);
      continue;
    }
    const BodyMotionState& before = contact_set_.bodies.state[i];
    const Vec3 spin0 = spin_of(body, before.pose, before.twist.w);
    const Vec3 gyroscopic = gyroscopic_acceleration(body, before);
    // L = L0 + (G^T lambda)_omega = L0 + I (omega - omega_free)
    const Vec3 change = s.twist.w - before.twist.w - h * gyroscopic;
    const Vec3 spin = spin0 + spin_of(body, before.pose, change);
    s.pose.p += h * s.twist.v;
    // The gyroscopic part of omega counts half: the midpoint rule for free rotation.
    s.pose.q = advance_rotation(before.pose.q, s.twist.w - 0.5 * h * gyroscopic, h);
    s.twist.w = angular_velocity_of(body, s.pose, spin);
  }
  ++state.step;
  state.time = static_cast<double>(state.step) * h;
}

void Stepper::restore(State& state) const {
  for (std::size_t i = 0; i < state.body.size(); ++i) state.body[i] = contact_set_.bodies.state[i];
  state.impulses = impulses0_;
  state.audit = audit0_;
  --state.step;
  state.time = static_cast<double>(state.step) * settings_.step;
}

void Stepper::blow_up(const Bodies& bodies, State& state) {
  // One bad body spoils all that it touches within the step: of the unsound ones the one
  // that was fastest before is named.
  const GlobalId unsound = worst_body(comm_, bodies, [&](std::size_t i) {
    return is_sound(state.body[i]) ? -1.0 : speed_ratio(contact_set_.bodies.state[i]);
  });
  const auto name = [&](GlobalId id) {
    return "body " + model_.names.name_of(id) + " (id " + std::to_string(id) + ")";
  };
  restore(state);
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

void Stepper::record(const Bodies& bodies, State& state) {
  const bool sound = std::all_of(state.body.begin(), state.body.end(), is_sound);
  double penetration = 0.0;
  for (const Contact& c : contact_set_.contacts) penetration = std::max(penetration, -c.gap);

  const EnergyMomentum em = energy_and_momentum(model_, bodies, state);
  const AuditSums& audit = state.audit;
  std::array<double, 14> sums = {em.kinetic,
                                 em.potential,
                                 em.linear[0],
                                 em.linear[1],
                                 em.linear[2],
                                 em.angular[0],
                                 em.angular[1],
                                 em.angular[2],
                                 audit.dissipation_friction,
                                 audit.dissipation_impact,
                                 audit.recovery_work,
                                 audit.external_work,
                                 audit.initial_energy,
                                 static_cast<double>(contact_set_.contacts.size())};
  comm_.sum(sums);
  report_.penetration = comm_.max(penetration);
  const bool all_sound = comm_.min(static_cast<std::int64_t>(sound ? 1 : 0)) == 1;
  if (!all_sound || report_.solve.status == SolveStatus::breakdown) blow_up(bodies, state);
  report_.kinetic = sums[0];
  report_.potential = sums[1];
  report_.linear_momentum = Vec3(sums[2], sums[3], sums[4]);
  report_.angular_momentum = Vec3(sums[5], sums[6], sums[7]);
  report_.audit = {sums[8], sums[9], sums[10], sums[11], sums[12]};
  report_.energy_residual = sums[0] + sums[1] -
                            (report_.audit.initial_energy - report_.audit.dissipation_friction -
                             report_.audit.dissipation_impact + report_.audit.recovery_work +
                             report_.audit.external_work);
  report_.contacts = static_cast<std::int64_t>(std::llround(sums[13]));
}

}  // namespace catena
