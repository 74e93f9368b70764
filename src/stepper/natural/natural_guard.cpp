// Whether a natural step's result can be trusted, and what is done where it cannot.
//
// At and near singular positions joints' rows lose a rank within a step, and a solve may take the
// bodies' velocities elsewhere: energy vanishes or appears, or a mechanism changes its branch,
// while every row is met. A step is therefore measured, at the price of a pass over the bodies, and
// where its energy or its misfits leave what a step of these schemes leaves, it is taken again in
// two, four, ... sub-steps. Results of both kinds are those of smooth motion if they agree.
#include <algorithm>
#include <cmath>
#include <limits>

#include "catena/base/text.hpp"
#include "catena/comm/sums.hpp"
#include "stepper/natural/natural_stepper_impl.hpp"
#include "stepper/soundness.hpp"

namespace catena {

namespace {

/// Energy that works do not account for, of what moves and is exchanged in the step, and growth of
/// misfits (of arms, or rad), up to which a step is taken as it is.
constexpr double kUnexplained = 1e-6, kGrowth = 1e-6;
/// Velocities in which two results agree, of those of the scale: a projection that turns velocities
/// by this part takes kUnexplained of the energy.
constexpr double kAgree = 1e-3;
/// A method's error falls by 16 or more when steps are halved, the audit's by 4: what does not fall
/// is neither.
constexpr double kFalls = 0.6;
/// Times that a step is halved.
constexpr int kMaxHalvings = 6;
/// Below these velocities motion is round-off, m/s and rad/s: of long taut chains, for one. Weights
/// work by it over the step.
constexpr double kRest = 1e-6;
/// Results converge if halving takes this much of their distance at least.
constexpr double kConverges = 0.3;
/// Distance beyond which results are no neighbours: an instability, which grows without bound.
constexpr double kFar = 1e3;

}  // namespace

void NaturalStepper::Impl::keep_start() { start = at; }

void NaturalStepper::Impl::back_to_start(double t) {
  at = start;
  std::fill(sums.total.begin(), sums.total.end(), 0.0);
  std::fill(sums.spring_total.begin(), sums.spring_total.end(), 0.0);
  clear_sums();
  report.softness = 0.0;
  report.softest_joint = kNoBody;
  time = t;
}

NaturalOutcome NaturalStepper::Impl::outcome(double next) const {
  NaturalOutcome out;
  out.at = at;
  out.sums = sums;
  out.time = time;
  out.dt = dt;
  out.next = next;
  out.softest = {report.softness, report.softest_joint};
  out.softest_time = report.softest_time;
  out.on = on;
  out.jacobian = problem.blocks.jacobian;
  out.q = problem.blocks.q;
  out.inverse_mass = problem.bodies.inverse_mass;
  out.free_velocity = problem.bodies.free_velocity;
  out.misfit = misfit;
  out.impulses = impulses;
  out.velocities = velocities;
  out.joint_misfit = problem.joint_misfit;
  return out;
}

void NaturalStepper::Impl::take_over(NaturalOutcome&& kept) {
  at = std::move(kept.at);
  sums = std::move(kept.sums);
  time = kept.time;
  dt = kept.dt;
  report.softness = kept.softest.value;
  report.softest_joint = kept.softest.joint;
  report.softest_time = kept.softest_time;
  // element by element: others hold on to where these lie
  std::copy(kept.on.place.begin(), kept.on.place.end(), on.place.begin());
  std::copy(kept.on.correction.begin(), kept.on.correction.end(), on.correction.begin());
  std::copy(kept.on.rate.begin(), kept.on.rate.end(), on.rate.begin());
  std::copy(kept.on.twist.begin(), kept.on.twist.end(), on.twist.begin());
  std::copy(kept.on.load.begin(), kept.on.load.end(), on.load.begin());
  std::copy(kept.jacobian.begin(), kept.jacobian.end(), problem.blocks.jacobian.begin());
  std::copy(kept.q.begin(), kept.q.end(), problem.blocks.q.begin());
  std::ranges::copy(kept.inverse_mass, problem.bodies.inverse_mass.begin());
  std::ranges::copy(kept.free_velocity, problem.bodies.free_velocity.begin());
  std::copy(kept.misfit.begin(), kept.misfit.end(), misfit.begin());
  std::copy(kept.impulses.begin(), kept.impulses.end(), impulses.begin());
  std::copy(kept.velocities.begin(), kept.velocities.end(), velocities.begin());
  problem.joint_misfit = kept.joint_misfit;
}

/// Collective.
bool NaturalStepper::Impl::all_sound() const {
  bool all = true;
  for (std::size_t n = 0; n < dynamic.size() && all; ++n) {
    const std::size_t b = dynamic[n];
    all = is_sound(at.pose[b], at.twist[b]);
  }
  return comm.min(std::int64_t{all ? 1 : 0}) == 1;
}

/// Kinetic energy that joint j's spring alone would have given to its bodies at rest, J: what a
/// taut mechanism at rest has in place of kinetic energy.
double NaturalStepper::Impl::energy_of_impulse(std::size_t j) const {
  if (!joints[j].is_spring()) return 0.0;
  const bool turns = joints[j].constants().type == JointType::torsion_spring;
  double sum = 0.0;
  for (const Index b : joints[j].body()) {
    if (b == kNoIndex || !is_dynamic(b)) continue;
    const double inertia = turns ? set.bodies.constants[b].inertia.maxCoeff() : on.mass[b].mass;
    if (inertia > 0.0) sum += 0.5 * sums.spring_total[j] * sums.spring_total[j] / inertia;
  }
  return sum;
}

/// Kinetic energy of the difference of two results at a body, velocities and ways over the step.
double NaturalStepper::Impl::apart_of(std::size_t b, const NaturalOutcome& other) const {
  const BodyConstants& body = set.bodies.constants[b];
  const auto energy = [&](const Vec3& v, const Vec3& w) {
    const Vec3 own = at.pose[b].q.conjugate() * w;
    return 0.5 * (body.mass * v.squaredNorm() + own.dot(body.inertia.cwiseProduct(own)));
  };
  const Quat between = at.pose[b].q * other.at.pose[b].q.conjugate();
  const Vec3 turn = (between.w() < 0.0 ? -2.0 : 2.0) * between.vec();
  return energy(at.twist[b].v - other.at.twist[b].v, at.twist[b].w - other.at.twist[b].w) +
         energy((at.pose[b].p - other.at.pose[b].p) / h, turn / h);
}

/// Collective. Of the result as it is; `other`: another one of the same step, if there is one.
StepDoubt NaturalStepper::Impl::doubt(const NaturalOutcome* other) const {
  enum : std::size_t {
    before,
    after,
    weight,
    rest,
    motors,
    springs,
    outside,
    misfits,
    between,
    noise,
    n
  };
  std::array<Sum, n> sum;
  sum.fill(Sum(model.deterministic));
  for (const Index b : dynamic) {
    const BodyConstants& body = set.bodies.constants[b];
    const auto kinetic = [&](const Pose& p, const Twist& t) {
      const Vec3 own = p.q.conjugate() * t.w;
      return 0.5 * (body.mass * t.v.squaredNorm() + own.dot(body.inertia.cwiseProduct(own)));
    };
    sum[before] += kinetic(start.pose[b], start.twist[b]);
    sum[after] += kinetic(at.pose[b], at.twist[b]);
    sum[weight] -= body.mass * model.gravity.dot(at.pose[b].p - start.pose[b].p);
    // what a step of free fall gives: bodies at rest have no energy to compare with
    const double fall = h * model.gravity.norm() + kRest;
    sum[rest] += 0.5 * (body.mass * fall * fall + body.inertia.maxCoeff() * kRest * kRest);
    sum[noise] += body.mass * model.gravity.norm() * h * kRest;
    if (other != nullptr) sum[between] += apart_of(b, *other);
  }
  for (const auto& [b, f] : forces) {
    const BodyConstants& body = set.bodies.constants[b];
    sum[rest] += 0.5 * h * h * f->force.squaredNorm() / body.mass;
    if (body.inertia.maxCoeff() > 0.0)
      sum[rest] += 0.5 * h * h * f->torque.squaredNorm() / body.inertia.maxCoeff();
  }
  for (std::size_t j = 0; j < joints.size(); ++j) sum[rest] += energy_of_impulse(j);
  sum[motors] = sums.audit[EnergyTerm::motor_work];
  sum[springs] = sums.audit[EnergyTerm::joint_work];
  sum[outside] = sums.audit[EnergyTerm::external_work];
  sum[misfits] = sums.slack;
  SumWords all(model.deterministic);
  for (const Sum& one : sum) all.add(one);
  comm.sum(all.words());

  StepDoubt d;
  const double work = all[motors] + all[springs] + all[outside];
  d.scale = std::max(all[before], all[after]) + all[rest] + std::abs(all[weight]) +
            std::abs(all[motors]) + std::abs(all[springs]) + std::abs(all[outside]);
  d.energy = std::abs(all[after] - all[before] + all[weight] - work);
  d.slack = all[misfits];
  d.noise = all[noise];
  d.apart = std::sqrt(all[between] / d.scale);
  return d;
}

/// Collective. Whether the step's energy or its misfits leave what a step leaves.
bool NaturalStepper::Impl::is_doubtful(const State& state) {
  const StepDoubt d = doubt(nullptr);
  if (!(d.energy <= kUnexplained * d.scale + d.noise)) return true;
  const double now = drift();
  if (now <= kGrowth) return false;
  // against those of the start, for which rows are set up there once more
  NaturalOutcome here = outcome(0.0);
  back_to_start(state.time);
  begin(h);
  place_bodies(time, stages.y);
  set_rows(time);
  const double then = drift();
  take_over(std::move(here));
  return !(now <= then + kGrowth);
}

/// Collective. Joint with the bodies of which two results differ most; kNoBody without joints.
GlobalId NaturalStepper::Impl::doubtful_joint(const NaturalOutcome& other) const {
  constexpr GlobalId kLast = std::numeric_limits<GlobalId>::max();
  double worst = -1.0;
  GlobalId id = kLast;
  for (std::size_t j = 0; j < joints.size(); ++j) {
    double value = 0.0;
    for (const Index b : joints[j].body())
      if (b != kNoIndex && is_dynamic(b)) value += apart_of(b, other);
    if (!std::isfinite(value)) value = std::numeric_limits<double>::max();
    const GlobalId own = joints[j].constants().id;
    if (value > worst || (value == worst && own < id)) id = own;
    worst = std::max(worst, value);
  }
  const double over_all = comm.max(worst);
  id = comm.min(worst == over_all ? id : kLast);
  return id == kLast ? kNoBody : id;
}

/// Collective. The step, in as many parts as it takes for two results to agree; returns what error
/// control would try next. Throws BlowUp where none do.
double NaturalStepper::Impl::take_trusted(const Bodies& bodies, const State& state) {
  keep_start();
  double next = take_pieces(state, 1);
  if (!is_doubtful(state)) return next;
  NaturalOutcome coarse = outcome(next);
  const double agree = std::max(
      kAgree, settings.scheme == NaturalScheme::dop853 ? settings.relative_tolerance : 0.0);
  double energy = doubt(nullptr).energy, apart = std::numeric_limits<double>::infinity();
  for (int level = 1; level <= kMaxHalvings; ++level) {
    back_to_start(state.time);
    next = take_pieces(state, 1 << level);
    const StepDoubt d = doubt(&coarse);
    // misfits are brought back at a price of the order of d.slack
    const bool falls =
        d.energy <= std::max({kFalls * energy, kUnexplained * d.scale + d.noise, 2.0 * d.slack});
    if (d.apart <= agree && falls) {
      if (level == 1) {
        next = coarse.next;
        take_over(std::move(coarse));
        return next;
      }
      report.parts = 1 << level;
      report.doubtful_joint = doubtful_joint(coarse);
      return next;
    }
    if (level == kMaxHalvings) break;
    energy = d.energy;
    apart = d.apart;
    coarse = outcome(next);
  }
  give_up(bodies, state, coarse, apart);
}

/// Collective. Throws BlowUp: `coarse` is the result of half as many sub-steps, `before` how far
/// that was from the one before it.
void NaturalStepper::Impl::give_up(const Bodies& bodies, const State& state,
                                   const NaturalOutcome& coarse, double before) {
  check(bodies, state);
  const StepDoubt d = doubt(&coarse);
  report.doubtful_joint = doubtful_joint(coarse);
  const bool unstable = !(d.apart < kFar);
  // results that agree but leave energy unexplained do not converge to a motion either
  report.singular = !unstable && (d.apart > kConverges * before || d.apart <= kAgree);
  const std::string parts = std::to_string(1 << kMaxHalvings);
  const std::string at_joint =
      report.doubtful_joint == kNoBody
          ? std::string("bodies' motion")
          : "the motion at joint " + model.joint_names.name_of(report.doubtful_joint);
  const std::string found = "step " + std::to_string(state.step + 1) +
                            ", t = " + short_text(state.time) + " s: " + at_joint;
  if (!report.singular)
    throw BlowUp(found + " cannot be followed in up to " + parts +
                     " sub-steps: the step is too long for the frequencies of tension and springs",
                 "take smaller steps");
  throw BlowUp(found + " is not determined: shorter sub-steps, up to " + parts +
                   ", do not bring velocities together (" + short_text(100.0 * d.apart) +
                   " % apart) or leave " + short_text(d.energy) +
                   " J unexplained, as in a singular position, where joints lose a row, without a "
                   "smooth continuation",
               kNoContinuation);
}

}  // namespace catena
