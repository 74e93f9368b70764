#include "catena/stepper/natural_stepper.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <optional>
#include <stdexcept>

#include "catena/base/timer.hpp"
#include "catena/metrics/errors.hpp"
#include "catena/stepper/step_joints.hpp"
#include "solvers/joint_system.hpp"
#include "stepper/natural_joint.hpp"
#include "stepper/soundness.hpp"
#include "stepper/tableau.hpp"

namespace catena {

namespace {

constexpr int kTagPlaces = 351, kTagLoads = 352;

/// alpha unless given, 1/s. Tied to the step, alpha h = 1 say, it would cost up to two orders:
/// stages miss constraints by O(h^2), and alpha times that would vanish no faster than h.
constexpr double kUsualBaumgarte = 1.0;

/// Numbers of one body's coordinates, and of its coordinates and momenta.
constexpr int kPlaceWidth = 12;
constexpr std::size_t kWidth = 24;

std::size_t at(Index i) { return static_cast<std::size_t>(i); }

static_assert(sizeof(NaturalCoordinates) == kPlaceWidth * sizeof(double));
static_assert(sizeof(NaturalLoad) == 2 * kPlaceWidth * sizeof(double));

/// Vectors and axes as they lie in a list of numbers.
Vec3 vector_at(const double* x) { return Eigen::Map<const Vec3>(x); }
Mat3 axes_at(const double* x) { return Eigen::Map<const Mat3>(x); }
void put_vector(const Vec3& v, double* x) { Eigen::Map<Vec3>{x} = v; }
void put_axes(const Mat3& a, double* x) { Eigen::Map<Mat3>{x} = a; }

std::string text_of(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

bool has_angle(JointType type) {
  return type == JointType::revolute || type == JointType::cylindrical ||
         type == JointType::universal || type == JointType::planar ||
         type == JointType::torsion_spring;
}

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

/// Powers of a stage on this rank, W.
struct Powers {
  double springs = 0.0;
  double external = 0.0;
};

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

struct NaturalStepper::Impl {
  Impl(const Communicator& communicator, const Model& m, double step, const NaturalSettings& s,
       const JointSettings& joint_settings)
      : comm(communicator),
        model(m),
        h(step),
        settings(s),
        alpha(std::isnan(s.baumgarte) ? std::min(kUsualBaumgarte, 1.0 / step) : s.baumgarte),
        tableau(s.scheme == NaturalScheme::rk4 ? rk4_tableau() : dop853_tableau()),
        search(communicator, m),
        system(joint_settings),
        angles(m),
        problem(communicator) {}

  // ---- once a step
  void set_up(const Bodies& bodies, const State& state);
  void refuse_contacts(double time) const;
  void make_problem();
  std::vector<double> pieces() const;
  bool starts_at_row() const;
  void settle(double length);
  void add_work_of_impact();
  void refuse_contradictions();
  void integrate_fixed(double length);
  double integrate_controlled(double whole, double first);
  void check(const Bodies& bodies, const State& state) const;
  void refuse_drift(std::int64_t step) const;
  double relative_misfit(std::size_t j) const;
  void store(const Bodies& bodies, State& state);
  void make_report();

  // ---- a sub-step from (pose, twist) at `time` to those at `time + dt`
  void begin(double length);
  void stage(std::size_t i);
  double error() const;
  void finish();

  // ---- a stage
  void place_prescribed(double t);
  void share_places();
  void set_masses();
  void set_free_velocities(std::span<const double> state);
  void set_free(std::size_t b, const Vec3& linear, const Vec3& spin);
  void set_rows(double t);
  void solve();
  void set_rates();
  void set_loads(double t, std::size_t i);
  void set_change(std::span<const double> state, std::span<double> change);
  NaturalTime at_time(double t) const { return {t, time, time + dt}; }
  Twist solved_twist(std::size_t b) const {
    return {vector_at(velocities.data() + 6 * b), vector_at(velocities.data() + 6 * b + 3)};
  }
  bool is_dynamic(std::size_t b) const { return on.dynamic[b] != 0; }
  template <class Visit>
  void each_driven_row(double t, const Visit& visit) const;

  Communicator comm;
  const Model& model;
  double h;
  NaturalSettings settings;
  double alpha;
  const Tableau& tableau;
  ContactSearch search;
  ContactSet set;
  JointSystem system;
  StepJoints angles;
  ConstraintProblem problem;
  std::optional<DelassusOperator> op;
  std::optional<HaloExchange> to_ghosts, to_owners;
  std::vector<Index> slot_item;
  std::vector<NaturalLoad> slots;
  StepReport report;

  NaturalBodies on;
  std::vector<Pose> pose;  ///< of local bodies, at the sub-step's start, and their twists
  std::vector<Twist> twist;
  std::vector<Index> dynamic;                 ///< owned
  std::vector<InternalConstraints> internal;  ///< of these, at the stage's axes
  std::vector<std::pair<Index, const AppliedForce*>> forces;
  std::vector<NaturalJoint> joints;          ///< of Bodies::joints
  std::vector<Index> row;                    ///< first of each joint; one more at the end
  bool driven = false;                       ///< prescribed bodies or drivers act on joints here
  std::vector<std::array<double, 2>> angle;  ///< per joint, unwrapped

  double time = 0.0, dt = 0.0;  ///< of the sub-step
  std::vector<double> y, y_stage;
  std::vector<std::vector<double>> k;       ///< per stage
  std::vector<Powers> power;                ///< per stage
  std::vector<std::vector<double>> spring;  ///< per stage and joint: force or torque
  std::vector<double> misfit;               ///< per row
  std::vector<double> impulses, velocities;
  std::vector<double> total;  ///< impulses of all sub-steps; of springs' joints theirs at the end
  std::vector<double> spring_total;     ///< per joint, N s or N m s
  std::vector<double> driver, carried;  ///< per row at the sub-step's start: drivers' rate, G V of
                                        ///< prescribed bodies
  AuditSums audit;                      ///< what the step adds
  int sub_steps = 0;
};

void NaturalStepper::Impl::set_up(const Bodies& bodies, const State& state) {
  const LocalBodies& local = set.bodies;
  const auto n = at(local.size());
  time = state.time;
  sub_steps = 0;
  audit = {};
  on.mass.assign(n, {});
  on.dynamic.assign(n, 0);
  on.place.assign(n, {});
  on.correction.assign(n, {});
  on.rate.assign(n, {});
  on.twist.assign(n, {});
  on.load.assign(n, {});
  pose.resize(n);
  twist.resize(n);
  dynamic.clear();
  for (std::size_t b = 0; b < n; ++b) {
    const BodyConstants& body = local.constants[b];
    pose[b] = local.state[b].pose;
    twist[b] = local.state[b].twist;
    if (body.kind != BodyKind::dynamic) continue;
    on.dynamic[b] = 1;
    on.place[b].r = pose[b].p;
    try {
      on.mass[b] = natural_mass(body.mass, body.inertia);
    } catch (const Error& error) {
      throw Error("body " + model.names.name_of(body.id) + ": " + error.found(),
                  "time.stepper: natural", error.fix());
    }
    if (b < bodies.constants.size()) dynamic.push_back(static_cast<Index>(b));
  }
  forces.clear();
  for (const AppliedForce& f : model.forces)
    for (const Index b : dynamic) {
      if (local.constants[at(b)].id != f.body) continue;
      check_force(f, on.mass[at(b)], pose[at(b)].p, model);
      forces.emplace_back(b, &f);
    }
  joints.clear();
  joints.reserve(bodies.joints.size());
  angle.resize(bodies.joints.size());
  row.assign(1, 0);
  driven = false;
  for (std::size_t j = 0; j < bodies.joints.size(); ++j) {
    joints.emplace_back(bodies.joints[j], set.joint_bodies[j], on, model);
    row.push_back(row.back() + joints[j].rows());
    angle[j] = state.joints[j].angle;
    driven = driven || joints[j].is_driven();
    for (const Index b : joints[j].body())
      driven = driven || (b != kNoIndex && !is_dynamic(at(b)) &&
                          local.constants[at(b)].kind == BodyKind::kinematic);
  }
  const std::size_t size = kWidth * dynamic.size();
  y.resize(size);
  y_stage.resize(size);
  k.assign(tableau.stages(), std::vector<double>(size));
  power.assign(tableau.stages(), {});
  spring.assign(tableau.stages(), std::vector<double>(joints.size()));
  spring_total.assign(joints.size(), 0.0);
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
                  " touch at t = " + text_of(t) +
                  " s, and natural coordinates know no "
                  "contacts",
              "time.stepper: natural", "give bodies collide: false, or use time.stepper: spook");
}

/// The structure of the joints' problem; numbers come at each stage.
void NaturalStepper::Impl::make_problem() {
  driven = comm.max(static_cast<std::int64_t>(driven ? 1 : 0)) == 1;
  const LocalBodies& local = set.bodies;
  const auto n = at(local.size());
  problem.ghosts = set.ghosts;
  ProblemBodies& bodies = problem.bodies;
  bodies.clear();
  bodies.reserve(n);
  bodies.n_owned = local.n_owned;
  for (std::size_t b = 0; b < n; ++b) {
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
    blocks.body_begin.push_back(static_cast<Index>(blocks.body.size()));
    for (int r = 0; r < rows; ++r) blocks.angular.push_back(joints[j].angular(r) ? 1 : 0);
  }
  const std::size_t rows = at(blocks.n_rows());
  blocks.friction.assign(at(blocks.size()), 0.0);
  blocks.jacobian.assign(static_cast<std::size_t>(blocks.jacobian_begin.back()), 0.0);
  blocks.q.assign(rows, 0.0);
  blocks.compliance.assign(rows, 0.0);
  blocks.lower.assign(rows, 0.0);
  blocks.upper.assign(rows, 0.0);
  misfit.assign(rows, 0.0);
  impulses.assign(rows, 0.0);
  total.assign(rows, 0.0);
  driver.assign(rows, 0.0);
  carried.assign(rows, 0.0);
  velocities.assign(at(bodies.n_dofs()), 0.0);
  op.emplace(problem);
  to_ghosts.emplace(comm, set.ghosts, kPlaceWidth, kTagPlaces);
  HaloPlan back = set.ghosts.reversed_into_slots(slot_item);
  slots.assign(slot_item.size(), {});
  to_owners.emplace(comm, std::move(back), 2 * kPlaceWidth, kTagLoads);
}

void NaturalStepper::Impl::place_prescribed(double t) {
  const LocalBodies& local = set.bodies;
  for (std::size_t b = 0; b < on.place.size(); ++b) {
    if (is_dynamic(b)) continue;
    const BodyMotionState s = prescribed_state(model, local.constants[b], pose[b], t);
    on.place[b] = {s.pose.p, s.pose.q.toRotationMatrix()};
    on.twist[b] = s.twist;
    double* v = problem.bodies.free_velocity.data() + 6 * b;
    put_vector(s.twist.v, v);
    put_vector(s.twist.w, v + 3);
  }
}

/// Owned dynamic bodies' coordinates to their ghosts; then the third axes of laminae.
void NaturalStepper::Impl::share_places() {
  if (comm.size() > 1 && !on.place.empty()) {
    const std::span<double> numbers(on.place.front().r.data(), kPlaceWidth * on.place.size());
    to_ghosts->begin(numbers);
    to_ghosts->end(numbers);
  } else if (comm.size() > 1) {
    to_ghosts->begin({});
    to_ghosts->end({});
  }
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
    if (static_cast<Index>(b) < bodies.n_owned) internal.push_back(rows);
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
    const auto b = at(dynamic[i]);
    const double* s = state.data() + kWidth * i;
    set_free(b, vector_at(s + 12), spin_of(on.mass[b], on.place[b].a, axes_at(s + 15)));
  }
}

/// Largest misfit of joint j's rows, rad, or over the longer arm; not of its drivers, which may
/// start off their targets.
double NaturalStepper::Impl::relative_misfit(std::size_t j) const {
  double arm = 0.0, largest = 0.0;
  for (std::size_t s = 0; s < 2; ++s) {
    if (joints[j].body()[s] != kNoIndex)
      arm = std::max(arm, joints[j].constants().frame[s].p.norm());
  }
  for (auto r = at(row[j]); r < at(row[j + 1]); ++r) {
    if (joints[j].is_driver(static_cast<int>(r - at(row[j])))) continue;
    const double f = std::abs(misfit[r]);
    largest = std::max(largest, problem.blocks.angular[r] != 0 ? f : (arm > 0.0 ? f / arm : 0.0));
  }
  return largest;
}

void NaturalStepper::Impl::set_rows(double t) {
  GeneralBlocks& blocks = problem.blocks;
  const NaturalTime now = at_time(t);
  std::size_t block = 0;
  double largest = 0.0;
  for (std::size_t j = 0; j < joints.size(); ++j) {
    if (joints[j].rows() == 0) continue;
    std::array<double*, 2> jacobian{};
    auto reference = at(blocks.body_begin[block++]);
    for (std::size_t s = 0; s < 2; ++s) {
      if (joints[j].body()[s] == kNoIndex) continue;
      jacobian[s] = blocks.jacobian.data() + blocks.jacobian_begin[reference++];
    }
    const auto first = at(row[j]);
    joints[j].state(on, now, alpha, jacobian, blocks.q.data() + first, misfit.data() + first);
    largest = std::max(largest, relative_misfit(j));
  }
  problem.joint_misfit = comm.max(largest);
}

void NaturalStepper::Impl::solve() {
  const ScopedTimer timer(report.times.solve);
  std::fill(impulses.begin(), impulses.end(), 0.0);
  if (system.prepare(problem)) {
    system.solve_refined(problem, *op, impulses, velocities);
    return;
  }
  const std::span<const double> free = op->free_velocities();
  std::copy(free.begin(), free.end(), velocities.begin());
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

/// Loads of joints' multipliers, springs and forces on owned bodies, into stage i's sums.
void NaturalStepper::Impl::set_loads(double t, std::size_t i) {
  const NaturalTime now = at_time(t);
  std::fill(on.load.begin(), on.load.end(), NaturalLoad{});
  Powers& sum = power[i];
  sum = {};
  std::array<double, kJointRows> mu{};
  for (std::size_t j = 0; j < joints.size(); ++j) {
    if (joints[j].is_spring()) {
      double on_prescribed = 0.0;
      spring[i][j] = joints[j].pull(on, angle[j][0], on.load, sum.springs, on_prescribed);
      sum.external -= on_prescribed;
      continue;
    }
    if (i == 0) continue;  // mu = 0
    const auto first = at(row[j]);
    const auto rows = static_cast<std::size_t>(joints[j].rows());
    for (std::size_t r = 0; r < rows; ++r) mu[r] = -impulses[first + r];
    joints[j].hold(on, now, mu.data(), on.load);
  }
  if (comm.size() > 1) {
    const auto numbers = [](std::vector<NaturalLoad>& loads) {
      return loads.empty()
                 ? std::span<double>()
                 : std::span<double>(loads.front().hold.r.data(), 2 * kPlaceWidth * loads.size());
    };
    to_owners->begin(numbers(on.load));
    to_owners->end(numbers(slots));
    for (std::size_t s = 0; s < slot_item.size(); ++s) {
      NaturalLoad& owned = on.load[at(slot_item[s])];
      owned.hold.r += slots[s].hold.r;
      owned.hold.a += slots[s].hold.a;
      owned.rate.r += slots[s].rate.r;
      owned.rate.a += slots[s].rate.a;
    }
  }
  for (const auto& [b, f] : forces) {
    const Mat3& a = on.place[at(b)].a;
    const double factor =
        f->table < 0 ? 1.0 : model.tables[static_cast<std::size_t>(f->table)].at(t);
    const Vec3 force = factor * (f->body_frame ? Vec3(a * f->force) : f->force);
    const Vec3 couple =
        factor * (f->body_frame ? Vec3(a * f->torque) : f->torque) + (a * f->at).cross(force);
    on.load[at(b)].rate.r += force;
    add_couple(on.mass[at(b)], a, couple, on.load[at(b)].rate.a);
    sum.external += force.dot(on.twist[at(b)].v) + couple.dot(on.twist[at(b)].w);
  }
}

/// (s', p*') of owned bodies at their coordinates and momenta `state`.
void NaturalStepper::Impl::set_change(std::span<const double> state, std::span<double> change) {
  for (std::size_t i = 0; i < dynamic.size(); ++i) {
    const auto b = at(dynamic[i]);
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

void NaturalStepper::Impl::begin(double length) {
  dt = length;
  for (std::size_t i = 0; i < dynamic.size(); ++i) {
    const auto b = at(dynamic[i]);
    const NaturalMass& mass = on.mass[b];
    Mat3 a = pose[b].q.toRotationMatrix();
    double* s = y.data() + kWidth * i;
    put_vector(pose[b].p, s);
    put_vector(mass.mass * twist[b].v, s + 12);
    for (int c = 0; c < 3; ++c) {
      if (mass.axes < 2 && !(mass.j[c] > 0.0)) a.col(c).setZero();
      put_vector(mass.j[c] * twist[b].w.cross(a.col(c)), s + 15 + 3 * c);
    }
    put_axes(a, s + 3);
  }
}

/// Change at stage i; at stage 0, where mu = 0, velocities are those that the step starts with.
void NaturalStepper::Impl::stage(std::size_t i) {
  const double t = time + tableau.c[i] * dt;
  std::span<const double> state = y;
  if (i > 0) {
    std::copy(y.begin(), y.end(), y_stage.begin());
    for (std::size_t m = 0; m < i; ++m) {
      const double weight = dt * tableau.a[i - 1][m];
      if (weight == 0.0) continue;
      for (std::size_t d = 0; d < y.size(); ++d) y_stage[d] += weight * k[m][d];
    }
    state = y_stage;
  }
  for (std::size_t n = 0; n < dynamic.size(); ++n) {
    const double* s = state.data() + kWidth * n;
    on.place[at(dynamic[n])] = {vector_at(s), axes_at(s + 3)};
  }
  place_prescribed(t);
  share_places();
  set_masses();
  if (i == 0) {
    for (std::size_t b = 0; b < on.place.size(); ++b)
      if (is_dynamic(b)) on.twist[b] = twist[b];
  }
  if (i == 0 && driven) {
    set_rows(t);
    each_driven_row(t, [&](std::size_t r, double own, double by_prescribed) {
      driver[r] = own;
      carried[r] = by_prescribed;
    });
  }
  if (i > 0) {
    set_free_velocities(state);
    set_rows(t);
    solve();
    for (std::size_t b = 0; b < on.place.size(); ++b)
      if (is_dynamic(b)) on.twist[b] = solved_twist(b);
  }
  set_rates();
  set_loads(t, i);
  set_change(state, k[i]);
}

/// Calls visit(row, rate of its driver, G V of its prescribed bodies) at the stage's numbers.
template <class Visit>
void NaturalStepper::Impl::each_driven_row(double t, const Visit& visit) const {
  const GeneralBlocks& blocks = problem.blocks;
  std::array<double, kJointRows> rates{};
  std::size_t block = 0;
  for (std::size_t j = 0; j < joints.size(); ++j) {
    if (joints[j].rows() == 0) continue;
    joints[j].driver_rates(on, at_time(t), rates.data());
    for (Index r = 0; r < joints[j].rows(); ++r) {
      double speed = 0.0;
      for (Index n = blocks.body_begin[block]; n < blocks.body_begin[block + 1]; ++n) {
        const auto b = at(blocks.body[at(n)]);
        if (is_dynamic(b)) continue;
        const double* g = blocks.jacobian.data() + blocks.jacobian_begin[at(n)] + 6 * r;
        for (std::size_t d = 0; d < 6; ++d) speed += g[d] * problem.bodies.free_velocity[6 * b + d];
      }
      // a driver also takes its row back to the target
      const double back =
          joints[j].is_driver(static_cast<int>(r)) ? alpha * misfit[at(row[j] + r)] : 0.0;
      visit(at(row[j] + r), rates[at(r)] - back, speed);
    }
    ++block;
  }
}

/// Error estimate of the sub-step over the tolerance, the largest of all bodies' coordinates.
double NaturalStepper::Impl::error() const {
  std::array<double, 2> largest = {0.0, 0.0};
  const double relative = settings.relative_tolerance, absolute = settings.absolute_tolerance;
  for (std::size_t i = 0; i < dynamic.size(); ++i) {
    const NaturalMass& mass = on.mass[at(dynamic[i])];
    for (std::size_t part = 0; part < 8; ++part) {
      // r, three axes, m v, three J a'
      double inertia = 1.0;
      if (part == 4) inertia = mass.mass;
      if (part > 4) inertia = mass.j[static_cast<int>(part) - 5];
      if (!(inertia > 0.0)) continue;
      const std::size_t first = kWidth * i + 3 * part;
      Vec3 fifth = Vec3::Zero(), third = Vec3::Zero();
      for (std::size_t n = 0; n < k.size(); ++n) {
        const Vec3 rate = vector_at(k[n].data() + first);
        fifth += tableau.fifth[n] * rate;
        third += tableau.third[n] * rate;
      }
      const double size = vector_at(y.data() + first).norm() / inertia;
      const double scale = dt / ((absolute + relative * size) * inertia);
      const std::array<double, 2> own = {scale * fifth.norm(), scale * third.norm()};
      for (std::size_t e = 0; e < 2; ++e)
        if (!(own[e] <= largest[e])) largest[e] = own[e];  // NaN stays
    }
  }
  comm.max(largest);
  const double square = largest[0] * largest[0];
  if (square == 0.0) return 0.0;
  return square / std::sqrt(square + 0.01 * largest[1] * largest[1]);
}

/// Takes the sub-step: new poses with orthonormal axes, the velocities of p* there, and mu.
void NaturalStepper::Impl::finish() {
  const double t = time + dt;
  for (std::size_t m = 0; m < tableau.stages(); ++m) {
    const double weight = dt * tableau.b[m];
    if (weight == 0.0) continue;
    for (std::size_t d = 0; d < y.size(); ++d) y[d] += weight * k[m][d];
    audit.joint_work += weight * power[m].springs;
    audit.external_work += weight * power[m].external;
    for (std::size_t j = 0; j < joints.size(); ++j) spring_total[j] += weight * spring[m][j];
  }
  std::vector<Vec3> spin(dynamic.size());
  for (std::size_t n = 0; n < dynamic.size(); ++n) {
    const auto b = at(dynamic[n]);
    const double* s = y.data() + kWidth * n;
    NaturalCoordinates& place = on.place[b];
    place = {vector_at(s), axes_at(s + 3)};
    complete_axes(on.mass[b], place);
    spin[n] = spin_of(on.mass[b], place.a, axes_at(s + 15));
    pose[b].p = place.r;
    pose[b].q = orientation_of(on.mass[b], place.a, pose[b].q);
    place.a = pose[b].q.toRotationMatrix();
    for (int c = 0; c < 3; ++c)
      if (on.mass[b].axes < 2 && !(on.mass[b].j[c] > 0.0)) place.a.col(c).setZero();
  }
  place_prescribed(t);
  share_places();
  set_masses();
  for (std::size_t n = 0; n < dynamic.size(); ++n)
    set_free(at(dynamic[n]), vector_at(y.data() + kWidth * n + 12), spin[n]);
  set_rows(t);
  solve();
  for (std::size_t b = 0; b < on.place.size(); ++b) {
    if (!is_dynamic(b)) continue;
    on.twist[b] = twist[b] = solved_twist(b);
    if (static_cast<Index>(b) < problem.bodies.n_owned) continue;
    pose[b].p = on.place[b].r;
    pose[b].q = orientation_of(on.mass[b], on.place[b].a, pose[b].q);
  }
  for (std::size_t r = 0; r < total.size(); ++r) total[r] += impulses[r];
  if (driven) {
    each_driven_row(t, [&](std::size_t r, double own, double by_prescribed) {
      audit.motor_work += 0.5 * impulses[r] * (driver[r] + own);
      audit.external_work -= 0.5 * impulses[r] * (carried[r] + by_prescribed);
    });
  }
  for (std::size_t j = 0; j < joints.size(); ++j) {
    if (!has_angle(joints[j].constants().type)) continue;
    JointPoses poses;
    for (std::size_t s = 0; s < 2; ++s) {
      const Index b = joints[j].body()[s];
      if (b == kNoIndex) continue;
      poses.pose[s] = pose[at(b)];
      if (!is_dynamic(at(b)))
        poses.pose[s] = prescribed_state(model, set.bodies.constants[at(b)], pose[at(b)], t).pose;
    }
    angle[j] = joint_angles(joints[j].constants(), poses, angle[j], model);
  }
  time = t;
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
  const auto holds = [&](const std::vector<double>& times) {
    const auto first = std::lower_bound(times.begin(), times.end(), time - kSame * h);
    return first != times.end() && *first <= time + kSame * h;
  };
  return std::any_of(model.tables.begin(), model.tables.end(),
                     [&](const ValueTable& table) { return holds(table.time); }) ||
         std::any_of(model.motions.begin(), model.motions.end(),
                     [&](const Motion& motion) { return holds(motion.table.time); });
}

void NaturalStepper::Impl::integrate_fixed(double length) {
  begin(length);
  for (std::size_t i = 0; i < tableau.stages(); ++i) stage(i);
  finish();
  ++sub_steps;
}

/// In sub-steps from `first` on as error control has it; returns what it would try next.
double NaturalStepper::Impl::integrate_controlled(double whole, double first) {
  constexpr double kSafety = 0.9, kLeast = 0.2, kMost = 6.0, kOrder = 8.0, kSmallest = 1e-9;
  const double end = time + whole;
  double next = first > 0.0 ? std::min(first, whole) : whole;
  for (double left = whole; left > 0.0;) {
    // the last two sub-steps are of like length
    const bool last = next >= left * (1.0 - 1e-9);
    const double length = last ? left : (2.0 * next > left ? 0.5 * left : next);
    begin(length);
    for (std::size_t i = 0; i < tableau.stages(); ++i) stage(i);
    ++sub_steps;
    const double e = error();
    const double factor = std::clamp(kSafety * std::pow(e, -1.0 / kOrder), kLeast, kMost);
    if (e <= 1.0) {
      finish();
      left = last ? 0.0 : end - time;
      next = std::max(length * factor, length < next ? next : 0.0);
      continue;
    }
    next = length * (std::isfinite(e) ? std::min(factor, kSafety) : kLeast);
    if (next < kSmallest * h) {
      throw BlowUp("at t = " + text_of(time) +
                   " s error control asks for sub-steps below 1e-9 of time.step");
    }
  }
  time = end;
  return next;
}

/// Velocities as joints allow them in the piece of `length` that follows: at the start, and where
/// drivers jump. A plastic impact: impulses are those of the step, their work is audited.
void NaturalStepper::Impl::settle(double length) {
  dt = length;
  for (const Index b : dynamic) {
    Mat3 a = pose[at(b)].q.toRotationMatrix();
    for (int c = 0; c < 3; ++c)
      if (on.mass[at(b)].axes < 2 && !(on.mass[at(b)].j[c] > 0.0)) a.col(c).setZero();
    on.place[at(b)] = {pose[at(b)].p, a};
  }
  place_prescribed(time);
  share_places();
  set_masses();
  for (const Index b : dynamic) {
    const NaturalMass& mass = on.mass[at(b)];
    Mat3 p = Mat3::Zero();
    for (int c = 0; c < 3; ++c)
      p.col(c) = mass.j[c] * twist[at(b)].w.cross(on.place[at(b)].a.col(c));
    set_free(at(b), mass.mass * twist[at(b)].v, spin_of(mass, on.place[at(b)].a, p));
  }
  set_rows(time);
  solve();
  for (std::size_t r = 0; r < total.size(); ++r) total[r] += impulses[r];
  add_work_of_impact();
  for (std::size_t b = 0; b < on.place.size(); ++b)
    if (is_dynamic(b)) twist[b] = solved_twist(b);
}

/// Impulses times the mean of rows' velocities before, from `twist`, and after.
void NaturalStepper::Impl::add_work_of_impact() {
  const GeneralBlocks& blocks = problem.blocks;
  std::size_t block = 0;
  for (std::size_t j = 0; j < joints.size(); ++j) {
    if (joints[j].rows() == 0) continue;
    for (Index n = blocks.body_begin[block]; n < blocks.body_begin[block + 1]; ++n) {
      const auto b = at(blocks.body[at(n)]);
      const Twist mean = is_dynamic(b) ? Twist{0.5 * (twist[b].v + solved_twist(b).v),
                                               0.5 * (twist[b].w + solved_twist(b).w)}
                                       : on.twist[b];
      for (Index r = 0; r < joints[j].rows(); ++r) {
        const double* g = blocks.jacobian.data() + blocks.jacobian_begin[at(n)] + 6 * r;
        const double work =
            impulses[at(row[j] + r)] * (vector_at(g).dot(mean.v) + vector_at(g + 3).dot(mean.w));
        (joints[j].is_driver(static_cast<int>(r)) ? audit.motor_work : audit.joint_work) += work;
        if (!is_dynamic(b)) audit.external_work -= work;
      }
    }
    ++block;
  }
}

/// Collective. What exact solves of consistent joints leave is round-off.
void NaturalStepper::Impl::refuse_contradictions() {
  constexpr double kMet = 1e-6;
  std::vector<double> w(impulses.size());
  op->general_slips(velocities, impulses, w);
  double largest = 0.0;
  std::size_t worst = 0;
  for (std::size_t j = 0; j < joints.size(); ++j)
    for (auto r = at(row[j]); r < at(row[j + 1]); ++r) {
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
  throw Error("joints contradict each other: with all others met as far as possible, joint " +
                  model.joint_names.name_of(id) + " misses its rows by " + text_of(over_all) +
                  " m/s (or rad/s) at the start",
              "joints", "look at the joints of the loop that it belongs to: motors, lengths, axes");
}

/// Collective. Throws BlowUp, naming the joint, where joints have come apart: a step beyond the
/// bound of an explicit method lets them, long before anything is infinite.
void NaturalStepper::Impl::refuse_drift(std::int64_t step) const {
  constexpr double kApart = 0.01;
  if (!(problem.joint_misfit > kApart)) return;
  constexpr GlobalId kLast = std::numeric_limits<GlobalId>::max();
  GlobalId id = kLast;
  for (std::size_t j = 0; j < joints.size(); ++j)
    if (relative_misfit(j) == problem.joint_misfit) id = std::min(id, joints[j].constants().id);
  id = comm.min(id);
  throw BlowUp("step " + std::to_string(step) + ": joint " + model.joint_names.name_of(id) +
               " has come apart by " + text_of(problem.joint_misfit) +
               " of its arm (or rad): the step is too long for the frequencies of tension and "
               "springs");
}

/// Collective. Throws BlowUp, naming the body that was fastest before, where a state is unsound.
void NaturalStepper::Impl::check(const Bodies& bodies, const State& state) const {
  const auto sound = [&](std::size_t i) { return !is_dynamic(i) || is_sound({pose[i], twist[i]}); };
  bool all = true;
  for (std::size_t i = 0; i < bodies.constants.size() && all; ++i) all = sound(i);
  if (comm.min(static_cast<std::int64_t>(all ? 1 : 0)) == 1) return;
  const GlobalId id = worst_body(
      comm, bodies, [&](std::size_t i) { return sound(i) ? -1.0 : speed_ratio(state.body[i]); });
  throw BlowUp("step " + std::to_string(state.step + 1) + ": the state of body " +
               model.names.name_of(id) + " (id " + std::to_string(id) +
               ") is not finite or beyond 1e8 m/s");
}

void NaturalStepper::Impl::store(const Bodies& bodies, State& state) {
  ++state.step;
  state.time = static_cast<double>(state.step) * h;
  LocalBodies& local = set.bodies;
  for (std::size_t b = 0; b < pose.size(); ++b) {
    const BodyMotionState now =
        is_dynamic(b) ? BodyMotionState{pose[b], twist[b]}
                      : prescribed_state(model, local.constants[b], pose[b], state.time);
    (b < bodies.constants.size() ? state.body[b] : local.state.other(b)) = now;
  }
  for (std::size_t j = 0; j < joints.size(); ++j) {
    JointState& joint = state.joints[j];
    joint = {};
    joint.angle = angle[j];
    if (joints[j].is_spring())
      joint.impulse[0] = spring_total[j];
    else
      joints[j].as_rows(on, total.data() + row[j], joint.impulse);
  }
  state.audit.joint_work += audit.joint_work;
  state.audit.motor_work += audit.motor_work;
  state.audit.external_work += audit.external_work;
}

void NaturalStepper::Impl::make_report() {
  SolveReport& solved = report.solve;
  solved.status = SolveStatus::converged;
  solved.reason = "joints solved exactly at every stage";
  solved.iterations = sub_steps;
  solved.errors =
      ErrorEvaluator(problem, *op).evaluate_at(impulses, velocities, ErrorSet::natural_map);
  solved.joints = system.report();
  std::array<double, 2> largest = {0.0, 0.0};
  for (std::size_t j = 0; j < joints.size(); ++j)
    for (int r = 0; r < joints[j].rows(); ++r) {
      if (joints[j].is_driver(r)) continue;
      double& of_kind = largest[joints[j].angular(r) ? 1 : 0];
      of_kind = std::max(of_kind, std::abs(misfit[at(row[j] + r)]));
    }
  comm.max(largest);
  report.misfit = {largest[0], largest[1]};
  report.drift = problem.joint_misfit;
}

NaturalStepper::NaturalStepper(const Communicator& comm, const Model& model, double step,
                               const NaturalSettings& settings, const JointSettings& joints)
    : impl_(std::make_unique<Impl>(comm, model, step, settings, joints)) {}

NaturalStepper::~NaturalStepper() = default;

void NaturalStepper::find_contacts(const Bodies& bodies, const State& state) {
  impl_->search.find(bodies, state, impl_->h, impl_->set);
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
    const ScopedTimer timer(s.report.times.find);
    find_contacts(bodies, state);
    s.refuse_contacts(state.time);
  }
  {
    const ScopedTimer timer(s.report.times.assemble);
    all_or_none(s.comm, [&] { s.set_up(bodies, state); });
    s.make_problem();
  }
  const double start = wall_seconds();
  if (state.step == 0) {
    s.settle(s.pieces().front() - s.time);
    s.refuse_contradictions();
  }
  double next = state.sub_step;
  bool settled = state.step == 0;
  for (const double end : s.pieces()) {
    const double length = end - s.time;
    if (!settled && s.starts_at_row()) s.settle(length);
    settled = false;
    if (s.settings.scheme == NaturalScheme::rk4)
      s.integrate_fixed(length);
    else
      next = s.integrate_controlled(length, next);
    s.time = end;
  }
  s.check(bodies, state);
  s.refuse_drift(state.step + 1);
  s.store(bodies, state);
  state.sub_step = next;
  s.report.times.advance = wall_seconds() - start - s.report.times.solve;
  s.make_report();
  record_energies(s.comm, s.model, bodies, state, s.report);
  return s.report;
}

const StepReport& NaturalStepper::report() const { return impl_->report; }
const ContactSet& NaturalStepper::contacts() const { return impl_->set; }

StepContact NaturalStepper::contact(std::size_t) const {
  throw std::logic_error("natural coordinates know no contacts");
}

JointReaction NaturalStepper::joint_reaction(std::size_t j) const {
  const Impl& s = *impl_;
  JointReaction sum;
  if (s.joints[j].is_spring())
    s.joints[j].spring_reaction(s.on, s.spring_total[j], sum.impulse, sum.couple);
  else
    s.joints[j].reaction(s.on, {s.time, s.time - s.dt, s.time}, s.total.data() + s.row[j],
                         sum.impulse, sum.couple);
  return sum;
}

std::array<double, 3> NaturalStepper::joint_coordinates(const Bodies& bodies, const State& state,
                                                        std::size_t j) const {
  return impl_->angles.coordinates(bodies, state, impl_->set, j);
}

const ConstraintProblem& NaturalStepper::problem() const { return impl_->problem; }
std::span<const double> NaturalStepper::impulses() const { return impl_->impulses; }

}  // namespace catena
