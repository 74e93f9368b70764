// A sub-step of the natural stepper, stage by stage.
#include <algorithm>
#include <cmath>
#include <limits>

#include "catena/base/timer.hpp"
#include "stepper/natural/natural_stepper_impl.hpp"

namespace catena {

namespace {

/// Of what reactions give to rates, the part that is round-off: some bits.
constexpr double kRoundOff = 64.0 * std::numeric_limits<double>::epsilon();

bool has_angle(JointType type) {
  return type == JointType::revolute || type == JointType::cylindrical ||
         type == JointType::universal || type == JointType::planar ||
         type == JointType::torsion_spring;
}

}  // namespace

void NaturalStepper::Impl::place_prescribed(double t) {
  const LocalBodies& local = set.bodies;
  for (std::size_t b = 0; b < on.place.size(); ++b) {
    if (is_dynamic(b)) continue;
    const BodyMotionState s =
        prescribed_state(model, local.constants[b], at.pose[b], *starts[b], t, at_time(t).inside());
    on.place[b] = {s.pose.p, s.pose.q.toRotationMatrix()};
    on.twist[b] = s.twist;
    double* v = problem.bodies.free_velocity.data() + 6 * b;
    put_vector(s.twist.v, v);
    put_vector(s.twist.w, v + 3);
  }
}

/// What coordinates of owned dynamic bodies hold, to their ghosts.
void NaturalStepper::Impl::share(std::vector<NaturalCoordinates>& of_bodies) {
  if (comm.size() == 1) return;
  std::span<double> numbers;
  if (!of_bodies.empty()) numbers = {of_bodies.front().r.data(), kPlaceWidth * of_bodies.size()};
  to_ghosts->begin(numbers);
  to_ghosts->end(numbers);
}

/// Poses of ghosts, which would differ from their owners' by round-off if found from axes here.
void NaturalStepper::Impl::share_poses() {
  if (comm.size() == 1) return;
  std::vector<NaturalCoordinates> turn(at.pose.size());
  for (const Index b : dynamic) {
    turn[b].a.col(0) = at.pose[b].q.vec();
    turn[b].a(0, 1) = at.pose[b].q.w();
  }
  share(turn);
  for (std::size_t b = problem.bodies.n_owned; b < at.pose.size(); ++b) {
    if (!is_dynamic(b)) continue;
    at.pose[b].p = on.place[b].r;
    at.pose[b].q.vec() = turn[b].a.col(0);
    at.pose[b].q.w() = turn[b].a(0, 1);
  }
}

/// Owned dynamic bodies' coordinates to their ghosts; then the third axes of laminae.
void NaturalStepper::Impl::share_places() {
  share(on.place);
  for (std::size_t b = 0; b < on.place.size(); ++b)
    if (is_dynamic(b)) complete_axes(on.mass[b], on.place[b]);
}

/// Inverse masses and what internal constraints ask for, at on.place.
void NaturalStepper::Impl::set_masses() {
  ProblemBodies& bodies = problem.bodies;
  internal.clear();
  internal.reserve(dynamic.size());
  for (std::size_t b = 0; b < on.place.size(); ++b) {
    if (!is_dynamic(b)) continue;
    const NaturalMass& mass = on.mass[b];
    const Mat3& a = on.place[b].a;
    double* m = bodies.inverse_mass.data() + bodies.mass_begin[b];
    const Mat3 inverse = inverse_inertia(mass, a);
    m[0] = 1.0 / mass.mass;
    m[1] = inverse(0, 0);
    m[2] = 0.5 * (inverse(0, 1) + inverse(1, 0));
    m[3] = 0.5 * (inverse(0, 2) + inverse(2, 0));
    m[4] = inverse(1, 1);
    m[5] = 0.5 * (inverse(1, 2) + inverse(2, 1));
    m[6] = inverse(2, 2);
    InternalConstraints rows(mass, a);
    on.correction[b].a = rows.correction(alpha);
    complete_rates(mass, on.place[b], on.correction[b]);
    if (to_index(b) < bodies.n_owned) internal.push_back(rows);
  }
}

void NaturalStepper::Impl::set_free(std::size_t b, const Vec3& linear, const Vec3& spin) {
  const double* m = problem.bodies.inverse_mass.data() + problem.bodies.mass_begin[b];
  double* v = problem.bodies.free_velocity.data() + 6 * b;
  put_vector(m[0] * linear, v);
  v[3] = m[1] * spin[0] + m[2] * spin[1] + m[3] * spin[2];
  v[4] = m[2] * spin[0] + m[4] * spin[1] + m[5] * spin[2];
  v[5] = m[3] * spin[0] + m[5] * spin[1] + m[6] * spin[2];
}

void NaturalStepper::Impl::set_free_velocities(std::span<const double> state) {
  for (std::size_t i = 0; i < dynamic.size(); ++i) {
    const std::size_t b = dynamic[i];
    const double* s = state.data() + kWidth * i;
    set_free(b, vector_at(s + 12), spin_of(on.mass[b], on.place[b].a, axes_at(s + 15)));
  }
}

/// Largest misfits of joint j's rows, m and rad; not of its drivers, which may start off their
/// targets.
JointMisfit NaturalStepper::Impl::misfit_of(std::size_t j) const {
  JointMisfit largest;
  for (auto r = row[j]; r < row[j + 1]; ++r) {
    if (joints[j].is_driver(narrow<int>(r - row[j]))) continue;
    double& of_kind = problem.blocks.angular[r] != 0 ? largest.angular : largest.linear;
    of_kind = std::max(of_kind, std::abs(misfit[r]));
  }
  return largest;
}

/// The same as one number, rad, or over the longer arm: ConstraintProblem::joint_misfit.
double NaturalStepper::Impl::relative_misfit(std::size_t j) const {
  double arm = 0.0;
  for (std::size_t s = 0; s < 2; ++s) {
    if (joints[j].body()[s] != kNoIndex)
      arm = std::max(arm, joints[j].constants().frame[s].p.norm());
  }
  // a round-off in a joint's place is no arm
  constexpr double kNoArm = 1e-6;
  if (arm <= kNoArm * joint_size[j]) arm = 0.0;
  const JointMisfit largest = misfit_of(j);
  return std::max(largest.angular, arm > 0.0 ? largest.linear / arm : 0.0);
}

/// The same over the joint's length.
double NaturalStepper::Impl::drift_of(std::size_t j) const {
  const JointMisfit largest = misfit_of(j);
  return std::max(largest.angular, joint_size[j] > 0.0 ? largest.linear / joint_size[j] : 0.0);
}

/// Collective. The largest of all joints.
double NaturalStepper::Impl::drift() const {
  double largest = 0.0;
  for (std::size_t j = 0; j < joints.size(); ++j) largest = std::max(largest, drift_of(j));
  return comm.max(largest);
}

/// Collective. The joint that has it, the lowest of equals.
GlobalId NaturalStepper::Impl::drifting_joint(double largest) const {
  GlobalId id = std::numeric_limits<GlobalId>::max();
  for (std::size_t j = 0; j < joints.size(); ++j)
    if (drift_of(j) == largest) id = std::min(id, joints[j].constants().id);
  return comm.min(id);
}

void NaturalStepper::Impl::set_rows(double t) {
  GeneralBlocks& blocks = problem.blocks;
  const NaturalTime now = at_time(t);
  std::size_t block = 0;
  double largest = 0.0;
  for (std::size_t j = 0; j < joints.size(); ++j) {
    if (joints[j].rows() == 0) continue;
    std::array<double*, 2> jacobian{};
    std::size_t reference = blocks.body_begin[block++];
    for (std::size_t s = 0; s < 2; ++s) {
      if (joints[j].body()[s] == kNoIndex) continue;
      jacobian[s] = blocks.jacobian.data() + blocks.jacobian_begin[reference++];
    }
    const std::size_t first = row[j];
    joints[j].state(on, now, alpha, jacobian, blocks.q.data() + first, misfit.data() + first);
    largest = std::max(largest, relative_misfit(j));
  }
  problem.joint_misfit = comm.max(largest);
}

/// Collective. Factors the rows as they are; false without rows on any rank.
bool NaturalStepper::Impl::factor() {
  const ScopedTimer timer(report.times[StepStage::solve_impulses]);
  return has_rows = system.prepare(problem);
}

/// Collective, after factor(), of any free velocities and right-hand sides.
void NaturalStepper::Impl::solve_rows() {
  const ScopedTimer timer(report.times[StepStage::solve_impulses]);
  std::fill(impulses.begin(), impulses.end(), 0.0);
  if (has_rows) {
    system.measure(problem, *op, impulses, velocities);
    system.refine(problem, *op, impulses, velocities);
    return;
  }
  const std::span<const double> free = op->free_velocities();
  std::copy(free.begin(), free.end(), velocities.begin());
}

void NaturalStepper::Impl::solve() {
  factor();
  solve_rows();
}

/// s' = T V + correction, from on.twist.
void NaturalStepper::Impl::set_rates() {
  for (std::size_t b = 0; b < on.place.size(); ++b) {
    const Twist& now = on.twist[b];
    NaturalCoordinates& rate = on.rate[b];
    rate.r = now.v;
    for (int c = 0; c < 3; ++c) rate.a.col(c) = now.w.cross(on.place[b].a.col(c));
    if (!is_dynamic(b)) continue;
    rate.a += on.correction[b].a;
  }
}

/// Adds to `load` what a joint puts on its bodies at stage i; returns its powers.
Powers NaturalStepper::Impl::load_by(std::size_t j, const NaturalTime& now, std::size_t i,
                                     std::vector<NaturalLoad>& load) {
  Powers power;
  if (joints[j].is_spring()) {
    double on_prescribed = 0.0;
    stages.spring[i][j] = joints[j].pull(on, at.angle[j][0], load, power.springs, on_prescribed);
    power.external = -on_prescribed;
    return power;
  }
  if (i == 0 && !careful) return power;  // mu = 0
  std::array<double, kJointRows> mu{};
  const std::size_t first = row[j];
  const std::size_t rows = joints[j].rows();
  for (std::size_t r = 0; r < rows; ++r) mu[r] = -impulses[first + r];
  if (rows > 0) joints[j].hold(on, now, mu.data(), load);
  return power;
}

void NaturalStepper::Impl::set_loads_of_joints(const NaturalTime& now, std::size_t i) {
  for (std::size_t j = 0; j < joints.size(); ++j) stages.power[i][j] = load_by(j, now, i, on.load);
  if (comm.size() == 1) return;
  std::span<double> numbers;
  if (!on.load.empty()) numbers = {on.load.front().hold.r.data(), 2 * kPlaceWidth * on.load.size()};
  loads_of_ghosts->complete(numbers);
}

/// The same where each joint's load is one term, added in the order of joints over all ranks.
void NaturalStepper::Impl::set_loads_in_order(const NaturalTime& now, std::size_t i) {
  const auto numbers_of = [](auto& load) { return std::span(load.hold.r.data(), kWidth); };
  for (std::size_t j = 0; j < joints.size(); ++j) {
    const auto each_side = [&](const auto& visit) {
      for (std::size_t side = 0; side < 2; ++side)
        if (const Index b = joints[j].body()[side]; b != kNoIndex) visit(side, b);
    };
    each_side([&](std::size_t, Index b) { load_alone[b] = {}; });
    stages.power[i][j] = load_by(j, now, i, load_alone);
    each_side([&](std::size_t side, Index b) {
      load_of_side[2 * j + side] = load_alone[b];
      const auto term = numbers_of(load_alone[b]);
      const auto sum = numbers_of(on.load[b]);
      for (std::size_t d = 0; d < kWidth; ++d) sum[d] += term[d];
    });
  }
  std::span<double> all;
  if (!on.load.empty()) all = {on.load.front().hold.r.data(), kWidth * on.load.size()};
  loads_in_order->complete(all, [&](const OrderedTerm& term, auto& numbers) {
    const std::size_t joint = term.block, side = term.member;
    const auto load = numbers_of(load_of_side[2 * joint + side]);
    std::copy(load.begin(), load.end(), numbers.begin());
  });
}

/// Loads of joints' multipliers, springs and forces on owned bodies, and their powers at stage i.
void NaturalStepper::Impl::set_loads(double t, std::size_t i) {
  std::fill(on.load.begin(), on.load.end(), NaturalLoad{});
  const NaturalTime now = at_time(t);
  if (loads_in_order)
    set_loads_in_order(now, i);
  else
    set_loads_of_joints(now, i);
  Powers* power = stages.power[i].data() + joints.size();
  for (const auto& [b, f] : forces) {
    const Mat3& a = on.place[b].a;
    const double factor = f->table < 0 ? 1.0 : model.tables[f->table].at(t);
    const Vec3 force = factor * (f->body_frame ? Vec3(a * f->force) : f->force);
    const Vec3 couple =
        factor * (f->body_frame ? Vec3(a * f->torque) : f->torque) + (a * f->at).cross(force);
    on.load[b].rate.r += force;
    add_couple(on.mass[b], a, couple, on.load[b].rate.a);
    (power++)->external = force.dot(on.twist[b].v) + couple.dot(on.twist[b].w);
  }
}

/// (s', p*') of owned bodies at their coordinates and momenta `state`.
void NaturalStepper::Impl::set_change(std::span<const double> state, std::span<double> change) {
  for (std::size_t i = 0; i < dynamic.size(); ++i) {
    const std::size_t b = dynamic[i];
    const NaturalMass& mass = on.mass[b];
    NaturalLoad& load = on.load[b];
    double* out = change.data() + kWidth * i;
    put_vector(on.rate[b].r, out);
    put_axes(on.rate[b].a, out + 3);
    put_vector(load.rate.r + mass.mass * model.gravity, out + 12);
    fold_axes(mass, on.place[b], on.rate[b], load.hold.a, load.rate.a);
    const Mat3 p = axes_at(state.data() + kWidth * i + 15) - load.hold.a;
    put_axes(load.rate.a + internal[i].force(alpha, p, on.rate[b].a), out + 15);
  }
}

/// y: coordinates and momenta p* = M s' of the poses and twists.
void NaturalStepper::Impl::begin(double length) {
  dt = length;
  for (std::size_t i = 0; i < dynamic.size(); ++i) {
    const std::size_t b = dynamic[i];
    const NaturalMass& mass = on.mass[b];
    const Mat3 a = axes_of(mass, at.pose[b].q);
    double* s = stages.y.data() + kWidth * i;
    put_vector(at.pose[b].p, s);
    put_axes(a, s + 3);
    put_momenta(b, at.twist[b], a, s + 12);
  }
}

/// M T V of dynamic body b with these axes.
void NaturalStepper::Impl::put_momenta(std::size_t b, const Twist& twist, const Mat3& a,
                                       double* momenta) const {
  const NaturalMass& mass = on.mass[b];
  put_vector(mass.mass * twist.v, momenta);
  for (int c = 0; c < 3; ++c) put_vector(mass.j[c] * twist.w.cross(a.col(c)), momenta + 3 + 3 * c);
}

/// All bodies at time t, the owned ones at the coordinates of `state`; and what follows from
/// places.
void NaturalStepper::Impl::place_bodies(double t, std::span<const double> state) {
  for (std::size_t n = 0; n < dynamic.size(); ++n) {
    const double* s = state.data() + kWidth * n;
    on.place[dynamic[n]] = {vector_at(s), axes_at(s + 3)};
  }
  place_prescribed(t);
  share_places();
  set_masses();
}

/// Change at stage i; at stage 0, where mu = 0, velocities are those that the step starts with.
void NaturalStepper::Impl::stage(std::size_t i) {
  const double t = time + tableau.c[i] * dt;
  std::span<const double> state = stages.y;
  if (i > 0) {
    std::copy(stages.y.begin(), stages.y.end(), stages.y_stage.begin());
    for (std::size_t m = 0; m < i; ++m) {
      const double weight = dt * tableau.a[i - 1][m];
      if (weight == 0.0) continue;
      for (std::size_t d = 0; d < stages.y.size(); ++d)
        stages.y_stage[d] += weight * stages.k[m][d];
    }
    state = stages.y_stage;
  }
  if (careful) {
    careful_stage(t, state, i);
    return;
  }
  place_bodies(t, state);
  if (i == 0) {
    for (std::size_t b = 0; b < on.place.size(); ++b)
      if (is_dynamic(b)) on.twist[b] = at.twist[b];
  }
  if (i == 0 && driven) {
    set_rows(t);
    set_driven_rates(t, stages.driver, stages.carried);
  }
  if (i > 0) {
    set_rows(t);
    factor();
    const bool at_end = i + 1 == tableau.stages();
    if (has_rows && (i == tableau.middle() || at_end)) {
      note_softness(at_end);
      place_prescribed(t);
    }
    set_free_velocities(state);
    solve_rows();
    for (std::size_t b = 0; b < on.place.size(); ++b)
      if (is_dynamic(b)) on.twist[b] = solved_twist(b);
  }
  set_rates();
  set_loads(t, i);
  set_change(state, stages.k[i]);
}

/// Per row the rate of its driver, and G V of its prescribed bodies, at the stage's numbers.
void NaturalStepper::Impl::set_driven_rates(double t, std::span<double> driver,
                                            std::span<double> carried) const {
  const GeneralBlocks& blocks = problem.blocks;
  std::array<double, kJointRows> rates{};
  std::size_t block = 0;
  for (std::size_t j = 0; j < joints.size(); ++j) {
    if (joints[j].rows() == 0) continue;
    joints[j].driver_rates(on, at_time(t), rates.data());
    for (Index r = 0; r < joints[j].rows(); ++r) {
      double speed = 0.0;
      for (Index n = blocks.body_begin[block]; n < blocks.body_begin[block + 1]; ++n) {
        const std::size_t b = blocks.body[n];
        if (is_dynamic(b)) continue;
        const double* g = blocks.jacobian.data() + blocks.jacobian_begin[n] + 6 * r;
        for (std::size_t d = 0; d < 6; ++d) speed += g[d] * problem.bodies.free_velocity[6 * b + d];
      }
      // a driver also takes its row back to the target
      const double back = joints[j].is_driver(narrow<int>(r)) ? alpha * misfit[row[j] + r] : 0.0;
      driver[row[j] + r] = rates[r] - back;
      carried[row[j] + r] = speed;
    }
    ++block;
  }
}

/// Estimates of orders 5 and 3 of owned dynamic body i's error in the sub-step, over the tolerance.
/// Reactions mu known to a round-off turn a body by that of J^T mu over its inertia, which mu takes
/// to momenta once more: that much is no error of the method, and light links under tension have
/// more of it than tolerances. In careful sub-steps mu is not what reactions are.
std::array<double, 2> NaturalStepper::Impl::error_of(std::size_t i) const {
  std::array<double, 2> largest = {0.0, 0.0};
  const double relative = settings.relative_tolerance, absolute = settings.absolute_tolerance;
  const NaturalMass& mass = on.mass[dynamic[i]];
  for (std::size_t part = 0; part < 8; ++part) {
    // r, three axes, m v, three J a'
    double inertia = 1.0;
    if (part == 4) inertia = mass.mass;
    if (part > 4) inertia = mass.j[static_cast<int>(part) - 5];
    if (!(inertia > 0.0)) continue;
    const std::size_t first = kWidth * i + 3 * part;
    Vec3 fifth = Vec3::Zero(), third = Vec3::Zero();
    for (std::size_t n = 0; n < stages.k.size(); ++n) {
      const Vec3 rate = vector_at(stages.k[n].data() + first);
      fifth += tableau.fifth[n] * rate;
      third += tableau.third[n] * rate;
    }
    const double size = vector_at(stages.y.data() + first).norm() / inertia;
    double allowed = absolute + relative * size;
    if (part > 4 && !careful) {
      const double turn =
          on.load[dynamic[i]].hold.a.col(static_cast<int>(part) - 5).norm() / inertia;
      allowed += kRoundOff * dt * turn * turn;
    }
    const double scale = dt / (allowed * inertia);
    const std::array<double, 2> own = {scale * fifth.norm(), scale * third.norm()};
    for (std::size_t e = 0; e < 2; ++e)
      if (!(own[e] <= largest[e])) largest[e] = own[e];  // NaN stays
  }
  return largest;
}

/// Error estimate of the sub-step over the tolerance, the largest of all bodies' coordinates.
double NaturalStepper::Impl::error() const {
  std::array<double, 2> largest = {0.0, 0.0};
  for (std::size_t i = 0; i < dynamic.size(); ++i) {
    const std::array<double, 2> own = error_of(i);
    for (std::size_t e = 0; e < 2; ++e)
      if (!(own[e] <= largest[e])) largest[e] = own[e];
  }
  comm.max(largest);
  const double square = largest[0] * largest[0];
  if (square == 0.0) return 0.0;
  return square / std::sqrt(square + 0.01 * largest[1] * largest[1]);
}

/// Collective. The stages of a sub-step of this length from where bodies are; near a singular
/// position once more, carefully. What comes of them is taken by finish().
void NaturalStepper::Impl::take_stages(double length) {
  softest = peak = {};
  scaled_before.clear();
  turned = false;
  const auto take = [&](bool carefully) {
    careful = carefully;
    begin(length);
    if (carefully) find_usual_softness();
    for (std::size_t i = 0; i < tableau.stages(); ++i) stage(i);
  };
  take(false);
  if (has_rows && comes_near_singular()) take(true);
}

/// Takes the sub-step: new poses with orthonormal axes, the velocities of p* there, and mu.
void NaturalStepper::Impl::finish() {
  const double t = time + dt;
  for (std::size_t m = 0; m < tableau.stages(); ++m) {
    const double weight = dt * tableau.b[m];
    if (weight == 0.0) continue;
    for (std::size_t d = 0; d < stages.y.size(); ++d) stages.y[d] += weight * stages.k[m][d];
    for (const Powers& power : stages.power[m]) {
      sums.audit[EnergyTerm::joint_work] += weight * power.springs;
      sums.audit[EnergyTerm::external_work] += weight * power.external;
      sums.audit[EnergyTerm::motor_work] += weight * power.motors;
    }
    for (std::size_t r = 0; careful && r < sums.total.size(); ++r)
      sums.total[r] += weight * stages.reaction[m][r];
    for (std::size_t j = 0; j < joints.size(); ++j)
      sums.spring_total[j] += weight * stages.spring[m][j];
  }
  std::vector<Vec3> spin(dynamic.size());
  for (std::size_t n = 0; n < dynamic.size(); ++n) {
    const std::size_t b = dynamic[n];
    const double* s = stages.y.data() + kWidth * n;
    NaturalCoordinates& place = on.place[b];
    place = {vector_at(s), axes_at(s + 3)};
    complete_axes(on.mass[b], place);
    spin[n] = spin_of(on.mass[b], place.a, axes_at(s + 15));
    at.pose[b].p = place.r;
    at.pose[b].q = orientation_of(on.mass[b], place.a, at.pose[b].q);
    place.a = axes_of(on.mass[b], at.pose[b].q);
  }
  place_prescribed(t);
  share_places();
  set_masses();
  for (std::size_t n = 0; n < dynamic.size(); ++n)
    set_free(dynamic[n], vector_at(stages.y.data() + kWidth * n + 12), spin[n]);
  if (careful) {
    finish_carefully(t);
  } else {
    set_rows(t);
    solve();
  }
  for (std::size_t b = 0; b < on.place.size(); ++b) {
    if (!is_dynamic(b)) continue;
    on.twist[b] = at.twist[b] = solved_twist(b);
  }
  share_poses();
  for (std::size_t r = 0; r < sums.total.size(); ++r) {
    sums.total[r] += impulses[r];
    sums.slack += alpha * std::abs(impulses[r] * misfit[r]);
  }
  if (driven) {
    set_driven_rates(t, driver_now, carried_now);
    for (std::size_t r = 0; r < impulses.size(); ++r) {
      sums.audit[EnergyTerm::motor_work] += 0.5 * impulses[r] * (stages.driver[r] + driver_now[r]);
      sums.audit[EnergyTerm::external_work] -=
          0.5 * impulses[r] * (stages.carried[r] + carried_now[r]);
    }
  }
  for (std::size_t j = 0; j < joints.size(); ++j) {
    if (!has_angle(joints[j].constants().type)) continue;
    JointPoses poses;
    for (std::size_t s = 0; s < 2; ++s) {
      const Index b = joints[j].body()[s];
      if (b == kNoIndex) continue;
      poses.pose[s] = at.pose[b];
      if (!is_dynamic(b))
        poses.pose[s] =
            prescribed_state(model, set.bodies.constants[b], at.pose[b], *starts[b], t).pose;
    }
    at.angle[j] = joint_angles(joints[j].constants(), poses, at.angle[j], model);
  }
  if (careful && peak.value > report.softness) {
    report.softness = peak.value;
    report.softest_joint = peak.joint;
    report.softest_time = peak_time;
  }
  time = t;
}

}  // namespace catena
