#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "catena/base/text.hpp"
#include "catena/base/timer.hpp"
#include "catena/comm/sums.hpp"
#include "catena/metrics/errors.hpp"
#include "solvers/solve_watch.hpp"
#include "stepper/natural/natural_stepper_impl.hpp"
#include "stepper/soundness.hpp"

namespace catena {

namespace {

/// alpha unless given, 1/s. Tied to the step, alpha h = 1 say, it would cost up to two orders:
/// stages miss constraints by O(h^2), and alpha times that would vanish no faster than h.
constexpr double kUsualBaumgarte = 1.0;

/// Throws Error where a force acts on, or along, directions that a rod or a point does not have.
void check_force(const AppliedForce& f, const NaturalMass& mass, const Vec3& place,
                 const Model& model) {
  if (mass.axes >= 2) return;
  const bool met =
      has_place(mass, f.at, place) && (mass.axes == 1 || f.torque.isZero()) &&
      (!f.body_frame || (has_vector(mass, f.force, 0.0) && has_vector(mass, f.torque, 0.0)));
  if (met) return;
  throw Error("force " + f.name + " needs a direction that its body " +
                  model.names.name_of(f.body) +
                  (mass.axes == 1 ? ", a rod (one moment of inertia is zero)"
                                  : ", a point (its moments of inertia are zero)") +
                  ", does not have",
              "time.stepper: natural",
              "give it at the centre of mass or along the rod, with frame: world, or give the body "
              "all moments of inertia");
}

}  // namespace

void describe(SettingsVisitor& visit, NaturalSettings& s) {
  constexpr std::string_view kSchemes[] = {"rk4", "dop853"};
  visit.choose("scheme", s.scheme, kSchemes,
               {.help = "Runge-Kutta method: `rk4` takes steps of time.step, `dop853` (order 8) "
                        "sub-steps inside of them under error control"});
  visit.visit("baumgarte", s.baumgarte,
              {.unit = "1/s",
               .min = 0,
               .word = "auto",
               .word_value = kNone,
               .help = "alpha in f' = -alpha f of the constraints, times time.step below 2.78; "
                       "`auto`: 1, at most 1/step"});
  visit.visit("relative_tolerance", s.relative_tolerance,
              {.min = 1e-15, .max = 1, .help = "of a sub-step of dop853"});
  visit.visit("absolute_tolerance", s.absolute_tolerance,
              {.min = 0, .min_open = true, .help = "the same, m, m/s, and of axis vectors 1, 1/s"});
}

NaturalStepper::Impl::Impl(const Communicator& communicator, const Model& m, double step,
                           const NaturalSettings& s, const JointSolverSettings& joint_settings)
    : comm(communicator),
      model(m),
      h(step),
      settings(s),
      alpha(std::isnan(s.baumgarte) ? std::min(kUsualBaumgarte, 1.0 / step) : s.baumgarte),
      tableau(s.scheme == NaturalScheme::rk4 ? rk4_tableau() : dop853_tableau()),
      search(communicator, m),
      system(joint_settings),
      angles(m),
      problem(communicator) {
  problem.ordered = m.deterministic;
}

void NaturalStepper::Impl::set_up(const Bodies& bodies, const State& state) {
  const LocalBodies& local = set.bodies;
  const auto n = local.size();
  time = state.time;
  sums.sub_steps = 0;
  clear_sums();
  report.parts = 1;
  report.doubtful_joint = kNoBody;
  report.singular = false;
  report.softest_joint = kNoBody;
  report.softness = 0.0;
  report.forbidden_energy = 0.0;
  report.forbidding_joint = kNoBody;
  on.mass.assign(n, {});
  on.dynamic.assign(n, 0);
  on.place.assign(n, {});
  on.correction.assign(n, {});
  on.rate.assign(n, {});
  on.twist.assign(n, {});
  on.load.assign(n, {});
  at.pose.resize(n);
  at.twist.resize(n);
  starts.resize(n);
  dynamic.clear();
  for (Index b = 0; b < n; ++b) {
    const BodyConstants& body = local.constants[b];
    at.pose[b] = local.state[b].pose;
    at.twist[b] = local.state[b].twist;
    starts[b] = &motion_of(state, body, local.ghost_motions);
    if (body.kind != BodyKind::dynamic) continue;
    on.dynamic[b] = 1;
    on.place[b].r = at.pose[b].p;
    try {
      on.mass[b] = natural_mass(body.mass, body.inertia);
    } catch (const Error& error) {
      const std::string place = model.places.text_of(body.id);
      throw Error("body " + model.names.name_of(body.id) + ": " + error.found(),
                  place.empty() ? "time.stepper: natural" : place, error.fix());
    }
    if (b < std::ssize(bodies.constants)) dynamic.push_back(to_index(b));
  }
  forces.clear();
  for (const AppliedForce& f : model.forces)
    for (const Index b : dynamic) {
      if (local.constants[b].id != f.body) continue;
      check_force(f, on.mass[b], at.pose[b].p, model);
      forces.emplace_back(b, &f);
    }
  joints.clear();
  joints.reserve(bodies.joints.size());
  at.angle.resize(bodies.joints.size());
  joint_size.resize(bodies.joints.size());
  row.assign(1, 0);
  driven = false;
  for (std::size_t j = 0; j < bodies.joints.size(); ++j) {
    joints.emplace_back(bodies.joints[j], set.joint_bodies[j], on, model);
    row.push_back(row.back() + joints[j].rows());
    joint_size[j] = joint_length(bodies.joints[j], set.joint_bodies[j], local);
    at.angle[j] = state.joints[j].angle;
    driven = driven || joints[j].is_driven();
    for (const Index b : joints[j].body())
      driven = driven ||
               (b != kNoIndex && !is_dynamic(b) && local.constants[b].kind == BodyKind::kinematic);
  }
  const std::size_t size = kWidth * dynamic.size();
  stages.y.resize(size);
  stages.y_stage.resize(size);
  stages.k.assign(tableau.stages(), std::vector<double>(size));
  stages.power.assign(tableau.stages(), std::vector<Powers>(joints.size() + forces.size()));
  stages.spring.assign(tableau.stages(), std::vector<double>(joints.size()));
  sums.spring_total.assign(joints.size(), 0.0);
}

void NaturalStepper::Impl::refuse_contacts(double t) const {
  const auto touches = std::find_if(set.contacts.begin(), set.contacts.end(),
                                    [](const Contact& c) { return c.gap < 0.0; });
  constexpr GlobalId kLast = std::numeric_limits<GlobalId>::max();
  const bool found = touches != set.contacts.end();
  const GlobalId a = comm.min(found ? touches->key.a : kLast);
  if (a == kLast) return;
  const GlobalId b = comm.min(found && touches->key.a == a ? touches->key.b : kLast);
  throw Error("bodies " + model.names.name_of(a) + " and " + model.names.name_of(b) +
                  " touch at t = " + short_text(t) +
                  " s, and natural coordinates know no "
                  "contacts",
              "time.stepper: natural", "give bodies collide: false, or use time.stepper: spook");
}

/// The structure of the joints' problem; numbers come at each stage.
void NaturalStepper::Impl::make_problem() {
  driven = comm.max(std::int64_t{driven ? 1 : 0}) == 1;
  const LocalBodies& local = set.bodies;
  const auto n = local.size();
  problem.ghosts = set.ghosts;
  ProblemBodies& bodies = problem.bodies;
  bodies.clear();
  bodies.reserve(n);
  bodies.n_owned = local.n_owned;
  for (Index b = 0; b < n; ++b) {
    if (is_dynamic(b))
      bodies.add_rigid(local.constants[b].id, 0.0, Mat3::Zero(), {});
    else
      bodies.add_prescribed(local.constants[b].id, {});
  }
  GeneralBlocks& blocks = problem.blocks;
  blocks.clear();
  for (std::size_t j = 0; j < joints.size(); ++j) {
    const int rows = joints[j].rows();
    if (rows == 0) continue;
    blocks.kind.push_back(BlockKind::bilateral);
    blocks.name.push_back(joints[j].constants().id);
    blocks.row_begin.push_back(blocks.row_begin.back() + rows);
    for (const Index b : joints[j].body()) {
      if (b == kNoIndex) continue;
      blocks.body.push_back(b);
      blocks.jacobian_begin.push_back(blocks.jacobian_begin.back() + 6 * rows);
    }
    blocks.body_begin.push_back(to_index(blocks.body.size()));
    for (int r = 0; r < rows; ++r) blocks.angular.push_back(joints[j].angular(r) ? 1 : 0);
  }
  const std::size_t rows = blocks.n_rows();
  blocks.friction.assign(blocks.size(), 0.0);
  blocks.jacobian.assign(blocks.jacobian_begin.back(), 0.0);
  blocks.q.assign(rows, 0.0);
  blocks.compliance.assign(rows, 0.0);
  blocks.lower.assign(rows, 0.0);
  blocks.upper.assign(rows, 0.0);
  misfit.assign(rows, 0.0);
  impulses.assign(rows, 0.0);
  sums.total.assign(rows, 0.0);
  stages.driver.assign(rows, 0.0);
  stages.carried.assign(rows, 0.0);
  driver_now.assign(rows, 0.0);
  carried_now.assign(rows, 0.0);
  stages.reaction.assign(tableau.stages(), {});
  all_rows = comm.sum(narrow<std::int64_t>(rows));
  velocities.assign(bodies.n_dofs(), 0.0);
  op.emplace(problem);
  to_ghosts.emplace(comm, set.ghosts, kPlaceWidth, Tag::natural_places);
  if (!model.deterministic) {
    loads_of_ghosts.emplace(comm, set.ghosts, 2 * kPlaceWidth, Tag::natural_loads);
    return;
  }
  std::vector<OrderedTerm> terms;
  std::vector<std::int64_t> name;
  for (std::size_t j = 0; j < joints.size(); ++j)
    for (Index side = 0; side < 2; ++side) {
      const Index b = joints[j].body()[side];
      if (b == kNoIndex || !is_dynamic(b)) continue;
      terms.push_back({to_index(j), b, side});
      name.push_back(joints[j].constants().id);
    }
  load_of_side.resize(2 * joints.size());
  load_alone.assign(n, {});
  loads_in_order.emplace(comm, set.ghosts, n, terms, name, Tag::natural_loads);
}

void NaturalStepper::Impl::clear_sums() {
  sums.audit = AuditTerms(Sum(model.deterministic));
  sums.slack = Sum(model.deterministic);
}

/// Where the step's pieces end, s: its own end last. At rows of tables speeds of drivers jump, and
/// forces have kinks, over which no Runge-Kutta method keeps its order.
std::vector<double> NaturalStepper::Impl::pieces() const {
  constexpr double kSame = 1e-9;
  std::vector<double> ends;
  const auto add = [&](const std::vector<double>& times) {
    const auto first = std::upper_bound(times.begin(), times.end(), time + kSame * h);
    for (auto t = first; t != times.end() && *t < time + (1.0 - kSame) * h; ++t) ends.push_back(*t);
  };
  for (const ValueTable& table : model.tables) add(table.time);
  for (const Motion& motion : model.motions) add(motion.table.time);
  std::sort(ends.begin(), ends.end());
  ends.erase(
      std::unique(ends.begin(), ends.end(), [&](double a, double b) { return b - a < kSame * h; }),
      ends.end());
  ends.push_back(time + h);
  return ends;
}

/// Whether speeds of drivers or bases may jump at `time`.
bool NaturalStepper::Impl::starts_at_row() const {
  constexpr double kSame = 1e-9;
  const auto is_now = [&](double t) { return std::abs(t - time) <= kSame * h; };
  // smooth tables start and end with a jump of their slope, linear ones have one at every row
  const auto jumps = [&](const auto& table) {
    const std::vector<double>& times = table.time;
    if (times.empty()) return false;
    if (table.interpolation != Interpolation::linear)
      return is_now(times.front()) || is_now(times.back());
    const auto first = std::lower_bound(times.begin(), times.end(), time - kSame * h);
    return first != times.end() && is_now(*first);
  };
  return std::any_of(model.tables.begin(), model.tables.end(), jumps) ||
         std::any_of(model.motions.begin(), model.motions.end(),
                     [&](const Motion& motion) { return jumps(motion.table); });
}

/// The step from its start, piece by piece, each in `parts` sub-steps of like length at least;
/// returns what error control would try next. Of several parts a state that is no longer sound ends
/// it early.
double NaturalStepper::Impl::take_pieces(const State& state, int parts) {
  bool settled = state.step == 0;
  if (settled) {
    settle(pieces().front() - time);
    refuse_contradictions();
    note_forbidden();
  }
  double next = state.sub_step;
  for (const double end : pieces()) {
    if (!settled && starts_at_row()) settle(end - time);
    settled = false;
    if (settings.scheme == NaturalScheme::rk4)
      integrate_fixed(end, parts);
    else
      next = integrate_controlled(end, next, parts);
    if (parts > 1 && !all_sound()) return next;
    time = end;
  }
  return next;
}

void NaturalStepper::Impl::integrate_fixed(double end, int parts) {
  for (int left = parts; left > 0; --left) {
    take_stages((end - time) / left);
    finish();
    ++sums.sub_steps;
    if (parts > 1 && !all_sound()) return;
  }
}

/// In sub-steps from `first` on as error control has it; returns what it would try next.
double NaturalStepper::Impl::integrate_controlled(double piece_end, double first, int parts) {
  constexpr double kSafety = 0.9, kLeast = 0.2, kMost = 6.0, kOrder = 8.0, kSmallest = 1e-9;
  // up to which round-off is taken beside a singular position: the step's energy is checked, too
  constexpr double kMostBeside = 1e4;
  const double whole = piece_end - time, longest = whole / parts, end = time + whole;
  double next = first > 0.0 ? std::min(first, longest) : longest;
  SolveWatch clock(comm, watch, kNone, wall_seconds());
  int turn = 0;
  for (double left = whole; left > 0.0;) {
    // the last two sub-steps are of like length
    const bool last = next >= left * (1.0 - 1e-9);
    const double length = last ? left : (2.0 * next > left ? 0.5 * left : next);
    clock.turn(++turn);
    if (clock.shows_progress())
      clock.show("sub-step " + std::to_string(turn) + " of " + short_text(length) +
                 " s at t = " + short_text(time) + " s");
    take_stages(length);
    ++sums.sub_steps;
    const double e = error();
    const double factor = std::clamp(kSafety * std::pow(e, -1.0 / kOrder), kLeast, kMost);
    const bool is_shortest = is_all_singular() && e <= kMostBeside;
    if (e <= 1.0 || is_shortest) {
      finish();
      left = last ? 0.0 : end - time;
      next = std::max(length * (is_shortest ? std::max(factor, 1.0) : factor),
                      length < next ? next : 0.0);
      if (parts > 1) next = std::min(next, longest);
      continue;
    }
    next = length * (std::isfinite(e) ? std::min(factor, kSafety) : kLeast);
    if (next < kSmallest * h) refuse_small_steps(std::isfinite(e));
  }
  time = end;
  return next;
}

/// Collective. Throws BlowUp, naming the joint whose bodies have the largest error. A smooth motion
/// has sub-steps that are short enough: without one it has a corner here, or no continuation.
void NaturalStepper::Impl::refuse_small_steps(bool finite) {
  constexpr GlobalId kLast = std::numeric_limits<GlobalId>::max();
  std::vector<double> of_body(on.place.size(), 0.0);
  for (std::size_t i = 0; i < dynamic.size(); ++i) {
    const double own = error_of(i)[0];
    of_body[dynamic[i]] = std::isnan(own) ? std::numeric_limits<double>::infinity() : own;
  }
  double worst = -1.0;
  GlobalId id = kLast;
  for (const NaturalJoint& joint : joints) {
    double own = 0.0;
    for (const Index b : joint.body())
      if (b != kNoIndex) own = std::max(own, of_body[b]);
    if (own > worst || (own == worst && joint.constants().id < id)) id = joint.constants().id;
    worst = std::max(worst, own);
  }
  const double over_all = comm.max(worst);
  id = comm.min(worst == over_all ? id : kLast);
  report.singular = finite;
  if (id != kLast) report.doubtful_joint = id;
  throw BlowUp(
      "at t = " + short_text(time) + " s error control asks for sub-steps below 1e-9 of time.step" +
          (id == kLast ? std::string()
                       : ": the motion at joint " + model.joint_names.name_of(id) +
                             (finite ? " has no smooth continuation, as in a singular position, "
                                       "where joints lose a row"
                                     : " is not finite")),
      finite ? kNoContinuation : "look at forces, springs and motors");
}

/// Velocities as joints allow them in the piece of `length` that follows: at the start, and where
/// drivers jump. A plastic impact: impulses are those of the step, their work is audited.
void NaturalStepper::Impl::settle(double length) {
  begin(length);
  place_bodies(time, stages.y);
  set_free_velocities(stages.y);
  set_rows(time);
  solve();
  for (std::size_t r = 0; r < sums.total.size(); ++r) sums.total[r] += impulses[r];
  add_work_of_impact();
  for (std::size_t b = 0; b < on.place.size(); ++b)
    if (is_dynamic(b)) at.twist[b] = solved_twist(b);
}

/// Collective. What the joints took from velocities of the start, whose work is all that there is
/// of it so far.
void NaturalStepper::Impl::note_forbidden() {
  report.forbidden_energy = -total(comm, sums.audit[EnergyTerm::joint_work], model.deterministic);
  double worst = 0.0;
  GlobalId id = std::numeric_limits<GlobalId>::max();
  for (std::size_t j = 0; j < joints.size(); ++j)
    for (Index r = 0; r < joints[j].rows(); ++r) {
      const double own = std::abs(impulses[row[j] + r]);
      if (joints[j].is_driver(narrow<int>(r)) || own < worst) continue;
      const GlobalId name = joints[j].constants().id;
      id = own > worst ? name : std::min(id, name);
      worst = own;
    }
  const double over_all = comm.max(worst);
  id = comm.min(worst == over_all ? id : std::numeric_limits<GlobalId>::max());
  report.forbidding_joint = over_all > 0.0 ? id : kNoBody;
}

/// Impulses times the mean of rows' velocities before, from `twist`, and after.
void NaturalStepper::Impl::add_work_of_impact() {
  const GeneralBlocks& blocks = problem.blocks;
  std::size_t block = 0;
  for (std::size_t j = 0; j < joints.size(); ++j) {
    if (joints[j].rows() == 0) continue;
    for (Index n = blocks.body_begin[block]; n < blocks.body_begin[block + 1]; ++n) {
      const std::size_t b = blocks.body[n];
      const Twist mean = is_dynamic(b) ? Twist{0.5 * (at.twist[b].v + solved_twist(b).v),
                                               0.5 * (at.twist[b].w + solved_twist(b).w)}
                                       : on.twist[b];
      for (Index r = 0; r < joints[j].rows(); ++r) {
        const double* g = blocks.jacobian.data() + blocks.jacobian_begin[n] + 6 * r;
        const double work =
            impulses[row[j] + r] * (vector_at(g).dot(mean.v) + vector_at(g + 3).dot(mean.w));
        (joints[j].is_driver(narrow<int>(r)) ? sums.audit[EnergyTerm::motor_work]
                                             : sums.audit[EnergyTerm::joint_work]) += work;
        if (!is_dynamic(b)) sums.audit[EnergyTerm::external_work] -= work;
      }
    }
    ++block;
  }
}

/// Collective. What exact solves of consistent joints leave is round-off.
void NaturalStepper::Impl::refuse_contradictions() {
  constexpr double kMet = 1e-6;
  std::vector<double> w(impulses.size());
  op->general_residual_velocities(velocities, impulses, w);
  double largest = 0.0;
  std::size_t worst = 0;
  for (std::size_t j = 0; j < joints.size(); ++j)
    for (auto r = row[j]; r < row[j + 1]; ++r) {
      // after misfits that the start has, rows ask for large velocities
      const double miss = std::abs(w[r]) / std::max(1.0, std::abs(problem.blocks.q[r]));
      if (miss <= largest) continue;
      largest = miss;
      worst = j;
    }
  const double over_all = comm.max(largest);
  if (!(over_all > kMet)) return;
  constexpr GlobalId kLast = std::numeric_limits<GlobalId>::max();
  const GlobalId id = comm.min(largest == over_all ? joints[worst].constants().id : kLast);
  const std::string place = model.joint_places.text_of(id);
  throw Error("joints contradict each other: with all others met as far as possible, joint " +
                  model.joint_names.name_of(id) + " misses its rows by " + short_text(over_all) +
                  " m/s (or rad/s) at the start",
              place.empty() ? "joints" : place,
              "look at the joints of the loop that it belongs to: motors, lengths, axes");
}

/// Collective. Throws BlowUp, naming the joint, where joints have come apart: a step beyond the
/// bound of an explicit method lets them, long before anything is infinite.
void NaturalStepper::Impl::refuse_drift(std::int64_t step) {
  constexpr double kApart = 0.01;
  const double largest = report.drift = drift();
  if (!(largest > kApart)) return;
  throw BlowUp("step " + std::to_string(step) + ", t = " + short_text(time) + " s: joint " +
               model.joint_names.name_of(drifting_joint(largest)) + " has come apart by " +
               short_text(largest) +
               " of its length (or rad): the step is too long for the frequencies of tension and "
               "springs");
}

/// Collective. Throws BlowUp, naming the body that was fastest before, where a state is unsound.
void NaturalStepper::Impl::check(const Bodies& bodies, const State& state) const {
  const auto sound = [&](std::size_t i) {
    return !is_dynamic(i) || is_sound(at.pose[i], at.twist[i]);
  };
  bool all = true;
  for (std::size_t i = 0; i < bodies.constants.size() && all; ++i) all = sound(i);
  if (comm.min(std::int64_t{all ? 1 : 0}) == 1) return;
  const GlobalId id = worst_body(
      comm, bodies, [&](std::size_t i) { return sound(i) ? -1.0 : speed_ratio(state.body[i]); });
  throw BlowUp("step " + std::to_string(state.step + 1) + ": the state of body " +
               model.names.name_of(id) + " (id " + std::to_string(id) +
               ") is not finite or beyond 1e8 m/s");
}

void NaturalStepper::Impl::store(const Bodies& bodies, State& state) {
  constexpr std::size_t kMotor = 1;  // of JointState::drive
  ++state.step;
  state.time = static_cast<double>(state.step) * h;
  LocalBodies& local = set.bodies;
  for (std::size_t b = 0; b < at.pose.size(); ++b) {
    const BodyMotionState now =
        is_dynamic(b)
            ? BodyMotionState{at.pose[b], at.twist[b]}
            : prescribed_state(model, local.constants[b], at.pose[b], *starts[b], state.time);
    (b < bodies.constants.size() ? state.body[b] : local.state.other(b)) = now;
  }
  for (std::size_t j = 0; j < joints.size(); ++j) {
    JointState& joint = state.joints[j];
    joint = {};
    joint.angle = at.angle[j];
    if (joints[j].is_spring()) {
      joint.impulse[0] = sums.spring_total[j];
      continue;
    }
    joints[j].as_rows(on, sums.total.data() + row[j], joint.impulse);
    for (int r = 0; r < joints[j].rows(); ++r)
      if (joints[j].is_driver(r)) joint.drive[joints[j].driven_axis(r)][kMotor] = joint.impulse[r];
  }
}

void NaturalStepper::Impl::make_report() {
  SolveReport& solved = report.solve;
  solved.status = SolveStatus::converged;
  solved.reason = "joints solved exactly at every stage";
  solved.iterations = sums.sub_steps;
  solved.errors =
      ErrorEvaluator(problem, *op).evaluate_at(impulses, velocities, ErrorSet::natural_map);
  solved.joints = system.report();
  std::array<double, 2> largest = {0.0, 0.0};
  for (std::size_t j = 0; j < joints.size(); ++j) {
    const JointMisfit own = misfit_of(j);
    largest = {std::max(largest[0], own.linear), std::max(largest[1], own.angular)};
  }
  comm.max(largest);
  report.misfit = {largest[0], largest[1]};
  report.drift_joint = report.drift > kNotableDrift ? drifting_joint(report.drift) : kNoBody;
}

NaturalStepper::NaturalStepper(const Communicator& comm, const Model& model, double step,
                               const NaturalSettings& settings, const JointSolverSettings& joints,
                               const Watch* watch)
    : impl_(std::make_unique<Impl>(comm, model, step, settings, joints)) {
  impl_->watch = watch;
}

NaturalStepper::~NaturalStepper() = default;

const ContactSet& NaturalStepper::find_contacts(const Bodies& bodies, const State& state) {
  impl_->search.find(bodies, state, impl_->h, impl_->set);
  return impl_->set;
}

void NaturalStepper::check_start(const Bodies& bodies, const State& state) {
  find_contacts(bodies, state);
  impl_->refuse_contacts(state.time);
  all_or_none(impl_->comm, [&] { impl_->set_up(bodies, state); });
}

const StepReport& NaturalStepper::step(const Bodies& bodies, State& state) {
  Impl& s = *impl_;
  s.report.times = {};
  {
    const ScopedTimer timer(s.report.times[StepStage::find_contacts]);
    find_contacts(bodies, state);
    s.refuse_contacts(state.time);
  }
  {
    const ScopedTimer timer(s.report.times[StepStage::assemble_problem]);
    all_or_none(s.comm, [&] { s.set_up(bodies, state); });
    s.make_problem();
  }
  const double start = wall_seconds();
  const double next = s.take_trusted(bodies, state);
  s.check(bodies, state);
  s.refuse_drift(state.step + 1);
  s.store(bodies, state);
  state.sub_step = next;
  s.report.times[StepStage::advance_poses] =
      wall_seconds() - start - s.report.times[StepStage::solve_impulses];
  const ScopedTimer timer(s.report.times[StepStage::record]);
  s.make_report();
  record_energies(s.comm, s.model, bodies, s.sums.audit, state, s.report);
  return s.report;
}

const StepReport& NaturalStepper::report() const { return impl_->report; }

const LocalBodies& NaturalStepper::local_bodies() const { return impl_->set.bodies; }

ContactRecord NaturalStepper::contact(std::size_t) const {
  throw std::logic_error("natural coordinates know no contacts");
}

ContactArms NaturalStepper::contact_arms(std::size_t) const {
  throw std::logic_error("natural coordinates know no contacts");
}

JointReaction NaturalStepper::joint_reaction(std::size_t j) const {
  const Impl& s = *impl_;
  JointReaction sum;
  if (s.joints[j].is_spring())
    s.joints[j].spring_reaction(s.on, s.sums.spring_total[j], sum.impulse, sum.couple);
  else
    s.joints[j].reaction(s.on, {s.time, s.time - s.dt, s.time}, s.sums.total.data() + s.row[j],
                         sum.impulse, sum.couple);
  sum.point = s.angles.point(s.joints[j].constants(), s.set, j);
  sum.impulse_on_a = -sum.impulse;
  sum.couple_on_a = -sum.couple;
  return sum;
}

std::array<double, 3> NaturalStepper::joint_coordinates(const Bodies& bodies, const State& state,
                                                        std::size_t j) const {
  return impl_->angles.coordinates(bodies, state, impl_->set, j);
}

std::array<double, 3> NaturalStepper::joint_rates(const Bodies& bodies, const State& state,
                                                  std::size_t j) const {
  return impl_->angles.rates(bodies, state, impl_->set, j);
}

double NaturalStepper::joint_energy(const Bodies&, const State&, std::size_t) const {
  return 0.0;  // joints with a compliance are refused
}

const ConstraintProblem& NaturalStepper::problem() const { return impl_->problem; }

std::span<const double> NaturalStepper::impulses() const { return impl_->impulses; }

}  // namespace catena
