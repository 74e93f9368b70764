#include "simulation/run/run_notes.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <utility>

#include "catena/base/index.hpp"
#include "catena/base/text.hpp"
#include "catena/base/timer.hpp"
#include "catena/simulation/start_check.hpp"
#include "simulation/diagnosis/post_mortem.hpp"
#include "simulation/diagnosis/start_overlaps.hpp"

namespace catena {

namespace {

/// Warnings of missed tolerances that are shown one by one.
constexpr int kMaxWarnings = 5;
/// Steps in a row in each of which some contact must have sunk in, so that it is no impact.
constexpr std::int64_t kSunkSteps = 20;

/// Steps in which a scene still falls together, and the overlap of a radius up to which its impacts
/// are no fault of the case.
constexpr std::int64_t kStartSteps = 500;
constexpr double kStartOverlap = 0.05;

/// What holds a heavy load: measured on stacks under tops of 10 to 10^6 times the mass.
constexpr const char* kSunkAdvice =
    "contacts of contact.stiffness: auto are as compliant as the lighter body asks for; where that "
    "is too deep, contact.stiffness: rigid with solver.method: auto bears such loads on few "
    "bodies, and with half the time.step overlaps are a quarter as deep";

/// `overlap`: of the smaller radius.
LogLevel level_of_overlap(double overlap) {
  return overlap > kNotableOverlap ? LogLevel::warning : LogLevel::info;
}

std::string duration_text(double seconds) {
  if (!std::isfinite(seconds)) return "?";
  const auto s = std::llround(seconds);
  std::array<char, 32> text{};
  if (s < 3600) {
    std::snprintf(text.data(), text.size(), "%lld:%02lld", s / 60, s % 60);
  } else {
    std::snprintf(text.data(), text.size(), "%lld:%02lld:%02lld", s / 3600, s / 60 % 60, s % 60);
  }
  return text.data();
}

}  // namespace

void RunNotes::start(const std::string& directory, std::int64_t bodies) {
  for (const std::string& remark : sim_.remarks()) log_.info(remark);
  for (const std::string& warning : sim_.warnings()) log_.warning(warning);
  const TimeSettings& time = sim_.settings().time;
  if (time.natural_given && time.stepper != StepperKind::natural)
    log_.warning("time.natural is not used: it is for time.stepper: natural");
  first_ = sim_.state().step;
  log_.info("start: " + std::to_string(bodies) + " bodies on " +
                std::to_string(sim_.communicator().size()) + " ranks, " +
                std::to_string(sim_.n_steps() - first_) + " steps of " + short_text(time.step) +
                " s into " + directory + " (set up in " + short_text(sim_.setup_seconds()) + " s)",
            {{"setup_s", json_number(sim_.setup_seconds())}});
  const bool bonds =
      std::ranges::any_of(sim_.settings().generators, &GeneratorSettings::is<BondSettings>);
  if (bonds && first_ == 0 && sim_.n_bonds() == 0)
    log_.warning("no bodies are close enough to each other for the case's bonds; see their gap");
  if (sim_.n_bonds() > 0)
    log_.info(std::to_string(sim_.n_bonds()) + " bonds between neighbours",
              {{"bonds", std::to_string(sim_.n_bonds())}});
  note_few_bodies();
  wall_start_ = wall_progress_ = wall_seconds();
}

void RunNotes::note_few_bodies() {
  const Communicator& comm = sim_.communicator();
  const std::int64_t bodies = bodies_of_run(comm, sim_.settings(), sim_.bodies(), sim_.state());
  const std::string warning = few_bodies_warning(bodies, comm.size());
  if (warning.empty()) return;
  log_.warning(warning,
               {{"bodies", std::to_string(bodies)}, {"ranks", std::to_string(comm.size())}});
}

void RunNotes::after_step(const StepReport& r) {
  times_ += r.times;
  note_overlaps(r);
  note_depth(r);
  note_sunk(r);
  note_far(r);
  note_joints(r);
  note_tolerance(r);
  note_balance();
  note_choice(r);
  note_apart(r);
  note_waiting();
  note_staying();
  note_broken();
}

/// Which bodies overlap at the start.
void RunNotes::note_overlaps(const StepReport& r) {
  if (sim_.state().step != 1 || !(r.penetration > 0.0)) return;
  const StartOverlaps found = overlaps_of_step(sim_.communicator(), sim_.model(), sim_.stepper());
  if (found.worst.empty()) return;
  log_.warning(
      to_text(found, sim_.settings(), sim_.model()) +
          (sim_.model().contact.stiffness == Stiffness::rigid
               ? "; they are pushed apart at contact.recovery_speed, see recovery_work"
               : "; they are relaxed over some hundred steps, see recovery_work"),
      {{"penetration", json_number(r.penetration)}, {"pairs", std::to_string(found.pairs)}});
}

/// Overlaps that are no longer small: the first, and then each twice as large.
void RunNotes::note_depth(const StepReport& r) {
  if (r.overlap_bodies[0] == kNoBody || r.overlap_borne < 2.0 * deepest_told_) return;
  if (sim_.state().step <= kStartSteps && r.overlap_borne < kStartOverlap &&
      sim_.model().contact.stiffness != Stiffness::rigid)
    return;
  deepest_told_ = r.overlap_borne;
  const bool heavy = r.overlap_bodies == r.sunk_bodies;
  if (heavy) heavy_told_ = r.sunk_bodies;
  const NameTable& names = sim_.model().names;
  const bool automatic = sim_.model().contact.stiffness == Stiffness::automatic;
  log_.warning(
      "step " + std::to_string(sim_.state().step) + ": " + names.name_of(r.overlap_bodies[0]) +
          " / " + names.name_of(r.overlap_bodies[1]) + " overlap by " +
          short_text(100.0 * r.overlap_borne) + " % of the smaller one's radius; " +
          (heavy       ? kSunkAdvice
           : automatic ? "a larger contact.stiffness_ratio or a smaller time.step lessens it"
                       : "contact.stiffness and time.step decide it"),
      {{"step", std::to_string(sim_.state().step)}, {"overlap", json_number(r.overlap_borne)}});
}

/// Contacts that are as compliant as the lighter body asks for under a load that is not of its
/// kind: an observation as long as overlaps are small. A pair that note_depth() named with the same
/// advice is not named again.
void RunNotes::note_sunk(const StepReport& r) {
  sunk_for_ = r.sunk_overlap > 0.0 ? sunk_for_ + 1 : 0;
  if (sunk_for_ < kSunkSteps) return;
  ++sunk_steps_;
  sunk_most_ = std::max(sunk_most_, r.sunk_overlap);
  if (sunk_steps_ > 1 || r.sunk_bodies == heavy_told_) return;
  const NameTable& names = sim_.model().names;
  log_.message(
      level_of_overlap(r.sunk_overlap),
      "step " + std::to_string(sim_.state().step) + ": " + names.name_of(r.sunk_bodies[0]) + " / " +
          names.name_of(r.sunk_bodies[1]) + " overlap by " + short_text(100.0 * r.sunk_overlap, 3) +
          " % of the smaller one's radius, a point of their contact bearing " +
          short_text(r.sunk_load, 2) + " times the weight of the lighter one: " + kSunkAdvice,
      {{"step", std::to_string(sim_.state().step)},
       {"overlap", json_number(r.sunk_overlap)},
       {"load", json_number(r.sunk_load)}});
}

/// Bodies that are stopped from farther away than margins reach: the first, the others are counted.
void RunNotes::note_far(const StepReport& r) {
  if (r.far_bodies[0] == kNoBody || ++far_steps_ > 1) return;
  constexpr double kWay = 0.2;  // of a radius in a step, docs/choosing-step.md
  const NameTable& names = sim_.model().names;
  const double way = sim_.settings().time.step * r.far_speed;
  log_.warning(
      "step " + std::to_string(sim_.state().step) + ": " + names.name_of(r.far_bodies[0]) +
          " goes " + short_text(way) + " m in a step, at " + short_text(r.far_speed) +
          " m/s, and meets " + names.name_of(r.far_bodies[1]) + " across a gap of " +
          short_text(r.far_gap / r.far_radius) +
          " of the smaller one's radii. The contact has the place and the normal of the step's "
          "start, which may deflect it wrongly, and where it turns it may pass through; take a "
          "time.step below " +
          short_text(kWay * r.far_radius / r.far_speed) + " s. Further ones are counted only",
      {{"step", std::to_string(sim_.state().step)},
       {"speed", json_number(r.far_speed)},
       {"gap", json_number(r.far_gap)}});
}

void RunNotes::note_tolerance(const StepReport& r) {
  missed_last_ =
      r.solve.status == SolveStatus::iteration_limit || r.solve.status == SolveStatus::time_limit;
  if (!missed_last_) return;
  ++missed_;
  keep_advice(r);
  if (missed_ > kMaxWarnings) return;
  const std::string metric(kMetricNames[ordinal(r.solve.metric)]);
  log_.warning("step " + std::to_string(sim_.state().step) + " missed its tolerance: " + metric +
                   " " + short_text(value_of(r.solve.errors, r.solve.metric)) + " " +
                   std::string(metric_unit(r.solve.metric)) + ", wanted " +
                   short_text(r.solve.threshold) +
                   (missed_ == kMaxWarnings ? "; further ones are counted only" : ""),
               {{"step", std::to_string(sim_.state().step)},
                {"error", json_number(value_of(r.solve.errors, r.solve.metric))}});
}

void RunNotes::keep_advice(const StepReport& r) {
  // advice is sought after 1, 2, 4, ... misses: it costs an evaluation of the error
  if ((missed_ & (missed_ - 1)) != 0) return;
  const double miss = value_of(r.solve.errors, r.solve.metric) / r.solve.threshold;
  if (!(miss > worst_miss_)) return;
  worst_miss_ = miss;
  const Advice advice = examine_step(sim_, nullptr, TrialTime::on_the_way).advice;
  advice_ = advice.text.substr(0, advice.text.find(". "));
  const std::string& reason = advice.reasons.front();
  if (contradiction_told_ || (reason != kNoSolution && reason != kJammed)) return;
  contradiction_told_ = true;
  log_.warning("step " + std::to_string(sim_.state().step) + ": " + advice_,
               {{"step", std::to_string(sim_.state().step)}, {"reason", json_string(reason)}});
}

/// Bodies that moved, or might have, before the last step.
void RunNotes::note_balance() {
  const RebalanceDecision& look = sim_.last_look();
  if (look.step < 0 || look.step + 1 != sim_.state().step) return;
  ++splits_;
  if (look.taken) ++moves_;
  moved_ += look.quality.moved;
  const bool told = splits_ <= kMaxWarnings;
  log_.message(told ? LogLevel::info : LogLevel::debug,
               "step " + std::to_string(look.step) + ": " +
                   (look.taken ? std::to_string(look.quality.moved) + " bodies change rank"
                               : "bodies stay") +
                   ", imbalance " + short_text(look.balance.all) +
                   (look.taken ? ", now " : ", of the parts found ") +
                   short_text(look.quality.balance.all) + " (contacts " +
                   short_text(look.quality.balance.contacts) + ", joints " +
                   short_text(look.quality.balance.joints) + "); gain " + short_text(look.gain) +
                   ", price " + short_text(look.price) + " row sweeps; edge cut " +
                   std::to_string(look.quality.edge_cut) + " rows" +
                   (splits_ == kMaxWarnings ? "; later ones are in log.jsonl only" : ""),
               {{"step", std::to_string(look.step)},
                {"moved", std::to_string(look.quality.moved)},
                {"imbalance_before", json_number(look.balance.all)},
                {"imbalance_after", json_number(look.quality.balance.all)},
                {"imbalance_contacts", json_number(look.quality.balance.contacts)},
                {"imbalance_joints", json_number(look.quality.balance.joints)},
                {"gain", json_number(look.gain)},
                {"price", json_number(look.price)},
                {"edge_cut", std::to_string(look.quality.edge_cut)}});
}

/// What `auto` tried and why, whenever it is something else than in the step before.
void RunNotes::note_choice(const StepReport& r) {
  // what dantzig hands on is reported by note_apart, with names
  if (r.solve.choice == choice_ || !r.solve.apart.empty()) return;
  choice_ = r.solve.choice;
  ++choices_;
  if (choices_ > kMaxWarnings) return;
  log_.info("step " + std::to_string(sim_.state().step) + " solved by " + r.solve.reason +
                (choices_ == kMaxWarnings ? "; further changes are not reported" : ""),
            {{"step", std::to_string(sim_.state().step)}, {"method", json_string(choice_)}});
}

/// Names components that a solver did not solve, or solved by another method: the first of each
/// step.
void RunNotes::note_apart(const StepReport& r) {
  if (r.solve.apart.empty() || ++apart_told_ > kMaxWarnings) return;
  const auto& all = r.solve.apart;
  const auto failed =
      std::find_if(all.begin(), all.end(), [](const SolvedApart& a) { return !a.solved; });
  const SolvedApart& worst = failed != all.end() ? *failed : all.front();
  const std::string name = worst.contact ? sim_.model().names.name_of(worst.key.a) + " / " +
                                               sim_.model().names.name_of(worst.key.b)
                                         : joint_name(sim_.model(), worst.name);
  log_.message(
      worst.solved ? LogLevel::info : LogLevel::warning,
      "step " + std::to_string(sim_.state().step) + ": " + std::to_string(r.solve.n_apart) +
          " connected components were not solved by passes of dantzig, among them that of " + name +
          " (" + std::to_string(worst.blocks) +
          (worst.solved ? " blocks, solved otherwise): " : " blocks, not solved): ") + worst.text +
          (apart_told_ == kMaxWarnings ? "; those of later steps are not shown" : ""),
      {{"step", std::to_string(sim_.state().step)}, {"component", json_string(name)}});
}

/// Tells of the mechanisms after the first step, and once of what was met later.
void RunNotes::note_joints(const StepReport& r) {
  const JointReport& joints = r.solve.joints;
  if (joints.joints == 0) return;
  if (sim_.state().step == first_ + 1) {
    log_.info("joints: " + std::to_string(joints.joints) + " in " + std::to_string(joints.chains) +
                  " chains (longest " + std::to_string(joints.longest_chain) + "), " +
                  std::to_string(joints.trees) + " trees, " + std::to_string(joints.rings) +
                  " rings, " + std::to_string(joints.looped) + " others" +
                  (joints.grouping.empty() ? std::string()
                                           : "; chains eliminated by " + joints.grouping) +
                  "; regularisation " + short_text(joints.regularisation),
              {{"joints", std::to_string(joints.joints)},
               {"regularisation", json_number(joints.regularisation)},
               {"smallest_pivot", json_number(joints.smallest_pivot)}});
  }
  note_redundant(joints);
  note_lost(r);
  if (joints.raised > 0 && !raised_told_) {
    raised_told_ = true;
    log_.warning("step " + std::to_string(sim_.state().step) + ": " +
                 std::to_string(joints.raised) +
                 " rows of joints depend on others to round-off and were regularised further");
  }
  note_drift(r);
  note_parts(r);
  note_singular(r);
  note_energy(r);
  note_forbidden(r);
  note_held_drives(r);
  note_projection(r);
  note_cords(r);
  if (r.stiffened > 0 && !tension_told_) {
    tension_told_ = true;
    log_.info("step " + std::to_string(sim_.state().step) + ": tension turns " +
                  std::to_string(r.stiffened) +
                  " bodies faster than the step can follow (h^2 K / I up to " +
                  short_text(r.tension) +
                  "); their inertia is raised (solver.joints.geometric_stiffness)",
              {{"tension", json_number(r.tension)}});
  }
}

void RunNotes::note_cords(const StepReport& r) {
  const std::string step = "step " + std::to_string(sim_.state().step) + ": ";
  if (r.cords_held > 0 && !cords_told_) {
    cords_told_ = true;
    log_.info(step + "tension swings " + std::to_string(r.cords_held) +
              " rods or ropes faster than the step can follow; what they are too long is taken "
              "back when it has fallen (solver.joints.geometric_stiffness)");
  }
  if (r.working_joint == kNoBody || work_told_) return;
  work_told_ = true;
  log_.warning(step + "passive joints have put " + short_text(r.passive_work) +
                   " J into the motion in the last " + short_text(kWorkWindow) +
                   " steps, which rigid joints do not; most of it " +
                   joint_name(sim_.model(), r.working_joint) +
                   ". Take smaller steps: the speeds after this are too large",
               {{"passive_work", json_number(r.passive_work)}});
}

void RunNotes::note_held_drives(const StepReport& r) {
  if (r.held_drives.empty() || held_told_) return;
  held_told_ = true;
  // loops that have come apart are closed before their motors go on
  constexpr double kApart = 0.01;
  std::string names;
  for (const GlobalId id : r.held_drives)
    names += (names.empty() ? "" : ", ") + joint_name(sim_.model(), id);
  const std::string cause =
      r.drift > kApart ? ". Their loops have come apart by " + short_text(r.drift) +
                             " of an arm (or rad) and are closed first; take smaller steps or "
                             "smoother targets"
                       : ". Give them bounds (motor.max_force), at which they stall, or leave some "
                         "out";
  log_.warning("step " + std::to_string(sim_.state().step) +
                   ": the joints of their loops do not allow what the motors of " + names +
                   " ask for; these miss it by up to " + short_text(r.drive_miss) +
                   " m/s (or rad/s) and are held back" + cause,
               {{"drive_miss", json_number(r.drive_miss)}});
}

/// The first projection that would not have lessened the misfit; later ones are counted.
void RunNotes::note_projection(const StepReport& r) {
  const bool cut = r.projection_cuts > 0;
  if (!cut && !r.projection_dropped) return;
  if (cut_ + dropped_ == 0) {
    log_.warning("step " + std::to_string(sim_.state().step) +
                     ": moving the joints' bodies by solver.joints.projection in full would not " +
                     "lessen their misfit; the move is " +
                     (r.projection_dropped ? "left out" : "cut back") + ", misfit left " +
                     short_text(r.projected.linear) + " m, " + short_text(r.projected.angular) +
                     " rad. Later ones are counted only",
                 {{"misfit", json_number(r.projected.linear)},
                  {"misfit_angular", json_number(r.projected.angular)}});
  }
  r.projection_dropped ? ++dropped_ : ++cut_;
}

void RunNotes::summarise_projection() {
  if (cut_ + dropped_ == 0) return;
  log_.warning("solver.joints.projection was cut back in " + std::to_string(cut_) +
                   " steps and ended short of its aim in " + std::to_string(dropped_) +
                   ", as it would not have lessened the misfit there",
               {{"cut_back", std::to_string(cut_)}, {"left_out", std::to_string(dropped_)}});
}

/// Tells once of joints that come apart.
void RunNotes::note_drift(const StepReport& r) {
  // what damped rows let joints swing apart by is two orders below
  constexpr double kDrift = 0.05, kNaturalDrift = kNotableDrift;
  const TimeSettings& time = sim_.settings().time;
  const bool natural = time.stepper == StepperKind::natural;
  if (!(r.drift > (natural ? kNaturalDrift : kDrift)) || drift_told_) return;
  drift_told_ = true;
  std::string remedy = "take smaller steps";
  if (natural && time.natural.scheme == NaturalScheme::rk4)
    remedy += ", or time.natural.scheme: dop853";
  if (natural && time.natural.scheme == NaturalScheme::dop853)
    remedy = "take smaller time.natural.relative_tolerance and absolute_tolerance";
  log_.warning("step " + std::to_string(sim_.state().step) + ": joint " +
                   joint_name(sim_.model(), r.drift_joint) + " is apart by " + short_text(r.drift) +
                   " of its length (or rad), the most of all joints; " + remedy,
               {{"drift", json_number(r.drift)}});
}

/// Tells once, and then only counts, steps of stepper natural that were taken in several parts.
void RunNotes::note_parts(const StepReport& r) {
  if (r.parts <= 1) return;
  ++divided_;
  most_parts_ = std::max(most_parts_, r.parts);
  if (divided_ > 1) return;
  const std::string where =
      r.doubtful_joint == kNoBody
          ? std::string()
          : " (they differ most at joint " + joint_name(sim_.model(), r.doubtful_joint) + ")";
  log_.warning(
      "step " + std::to_string(sim_.state().step) + ", until t = " + short_text(sim_.state().time) +
          " s: energy or misfit leave what a step of " + "this scheme leaves, and it is taken in " +
          std::to_string(r.parts) + " sub-steps, which agree with half as many" + where +
          ": time.step is too long for this motion, or the mechanism is close to a "
          "singular position; further ones are counted only",
      {{"parts", std::to_string(r.parts)}});
}

/// Tells of the first singular position that stepper natural has passed, and counts the others.
void RunNotes::note_singular(const StepReport& r) {
  if (r.softest_joint != kNoBody) {
    if (r.softness > near_.softness) near_ = {r.softness, r.softest_time, r.softest_joint};
    return;
  }
  count_singular();
}

void RunNotes::count_singular() {
  if (near_.joint == kNoBody) return;
  const NearSingular passed = std::exchange(near_, {});
  if (++passed_ > 1) return;
  log_.info("t = " + short_text(passed.time) +
            " s: a singular position is passed, or come close to, where rows of joint " +
            sim_.model().joint_names.name_of(passed.joint) +
            " and others depend on each other; further ones are counted only");
}

/// Tells once of stepper natural's energy that works do not account for, where many steps, each of
/// them one of its scheme, have added up to it.
void RunNotes::note_energy(const StepReport& r) {
  constexpr double kMuch = 0.01, kRest = 1e-3;  // m/s, below which motion is as good as none
  if (sim_.settings().time.stepper != StepperKind::natural || energy_told_) return;
  if (std::isnan(potential_)) potential_ = r.potential;
  most_energy_ = std::max({most_energy_, r.kinetic, std::abs(r.potential - potential_),
                           std::abs(r.audit[EnergyTerm::motor_work]),
                           std::abs(r.audit[EnergyTerm::joint_work])});
  const double off = std::abs(r.energy_residual);
  if (!(off > kMuch * most_energy_)) return;
  double mass = 0.0;
  for (const BodyConstants& body : sim_.bodies().constants)
    if (body.kind == BodyKind::dynamic) mass += body.mass;
  if (!(off > 0.5 * kMuch * sim_.communicator().sum(mass) * kRest * kRest)) return;
  energy_told_ = true;
  log_.warning("step " + std::to_string(sim_.state().step) + ": energy_residual has reached " +
                   short_text(r.energy_residual) +
                   " J, beyond 1 % of the largest kinetic energy "
                   "or work so far (" +
                   short_text(most_energy_) +
                   " J): time.step is too long for this motion, or for the audit of its motors "
                   "and prescribed bodies",
               {{"energy_residual", json_number(r.energy_residual)}});
}

/// Says what the first step's plastic impact of joints cost.
void RunNotes::note_forbidden(const StepReport& r) {
  constexpr double kNotable = 1e-6;
  if (sim_.state().step != 1 || r.forbidding_joint == kNoBody) return;
  const double start = r.forbidden_energy + r.kinetic;
  if (!(r.forbidden_energy > kNotable * start)) return;
  log_.warning("velocities of the start are not such as joints allow (joint " +
                   joint_name(sim_.model(), r.forbidding_joint) +
                   " the least): the first step replaces them by the nearest that are, which "
                   "costs " +
                   short_text(r.forbidden_energy) +
                   " J; see bodies' velocity and "
                   "angular_velocity",
               {{"energy", json_number(r.forbidden_energy)}});
}

void RunNotes::note_redundant(const JointReport& joints) {
  const auto same = [](const RedundantJointRow& a, const RedundantJointRow& b) {
    return a.name == b.name && a.row == b.row;
  };
  if (std::ranges::equal(joints.redundant, redundant_, same)) return;
  redundant_ = joints.redundant;
  if (redundant_told_ == kMaxWarnings) return;
  ++redundant_told_;
  constexpr std::size_t kMaxNamed = 10;
  const std::size_t n = redundant_.size();
  std::string text =
      "step " + std::to_string(sim_.state().step) + ": " + (n == 0 ? "no" : std::to_string(n)) +
      (n == kMaxRedundantNamed ? " or more" : "") + " rows of joints depend on others" +
      (n == 0 ? " any more" : " and share their reactions by least norm");
  for (std::size_t i = 0; i < std::min(n, kMaxNamed); ++i)
    text += (i > 0 ? ", " : ": ") + joint_name(sim_.model(), redundant_[i].name) + " row " +
            std::to_string(redundant_[i].row);
  if (n > kMaxNamed) text += ", ...";
  if (redundant_told_ == kMaxWarnings) text += "; later changes are not shown";
  log_.info(text, {{"step", std::to_string(sim_.state().step)}, {"rows", std::to_string(n)}});
}

/// Rows that nearly depend on each other bear what misfits say, which takes energy. Impacts of the
/// start are no such loss.
void RunNotes::note_lost(const StepReport& r) {
  most_kinetic_ = std::max(most_kinetic_, r.kinetic);
  if (sim_.state().step == 1) forbidden_ = r.forbidden_energy;
  const double lost = -r.passive_work - forbidden_;
  forbidden_ *= 1.0 - 1.0 / kWorkWindow;
  if (lost_told_ || r.solve.joints.redundant.empty() || !(lost > kNotableWork * most_kinetic_))
    return;
  lost_told_ = true;
  log_.warning("step " + std::to_string(sim_.state().step) + ": rigid joints have taken " +
                   short_text(lost) + " J out of the motion in the last " +
                   short_text(kWorkWindow) +
                   " steps, where rows of theirs depend on others: places after this may be wrong. "
                   "Give the joints a compliance "
                   "(docs/troubleshooting.md, \"Nets of rigid joints that lose energy\")",
               {{"passive_work", json_number(r.passive_work)}});
}

/// Tells once of each insertion that finds no room.
void RunNotes::note_waiting() {
  const std::vector<Insertion>& insertions = sim_.changes().inflow().insertions();
  waited_.resize(insertions.size(), 0);
  for (std::size_t i = 0; i < insertions.size(); ++i) {
    const InflowProgress& progress = sim_.state().inflow[i];
    if (progress.tried == 0 || waited_[i] != 0) continue;
    waited_[i] = 1;
    log_.warning("step " + std::to_string(sim_.state().step) + ": the region of insertion " +
                 name_of(i) + " has no room for body " + std::to_string(progress.made) + ": all " +
                 std::to_string(progress.tried) +
                 " places drawn are taken; it waits, and those behind it");
  }
}

/// Once of each mechanism whose bodies come into an outflow and that does not leave.
void RunNotes::note_staying() {
  constexpr int kMaxNamed = 10;
  const Model& model = sim_.model();
  for (const StayingMechanism& m : sim_.changes().staying()) {
    if (++staying_ > kMaxNamed) return;
    const bool held = m.anchor != kNoBody;
    const std::string mechanism = "its mechanism (" + std::to_string(m.n_bodies) + " bodies, " +
                                  std::to_string(m.n_joints) + " joints, the first is " +
                                  joint_name(model, m.component) + ") ";
    const std::string to =
        m.anchor_body == kNoBody ? "the world" : model.names.name_of(m.anchor_body);
    const std::string why =
        held ? "is held to " + to + " by joint " + joint_name(model, m.anchor) + " and never leaves"
             : "leaves once each of its bodies has been in an outflow";
    log_.message(held ? LogLevel::warning : LogLevel::info,
                 "step " + std::to_string(sim_.state().step) + ": body " +
                     model.names.name_of(m.body) + " is in outflow " +
                     sim_.settings().outflow[m.region].name + " and stays: " + mechanism + why +
                     (staying_ == kMaxNamed ? "; further mechanisms are not named" : ""),
                 {{"step", std::to_string(sim_.state().step)},
                  {"body", std::to_string(m.body)},
                  {"joint", std::to_string(m.component)}});
  }
}

/// Of each of the first joints that break, when and under which load.
void RunNotes::note_broken() {
  constexpr std::int64_t kMaxNamed = 10;
  for (const BrokenJoint& broken : sim_.changes().breaking().taken()) {
    if (++broken_ > kMaxNamed) return;
    log_.message(LogLevel::info,
                 "joint " + joint_name(sim_.model(), broken.joint) + " broke at " +
                     short_text(broken.time, 6) + " s under " + short_text(broken.force, 3) +
                     " N and " + short_text(broken.torque, 3) + " N m" +
                     (broken_ == kMaxNamed ? "; further joints that break are not named" : ""),
                 {{"step", std::to_string(broken.step)},
                  {"joint", std::to_string(broken.joint)},
                  {"force", short_text(broken.force, 6)},
                  {"torque", short_text(broken.torque, 6)}});
  }
}

std::string RunNotes::name_of(std::size_t insertion) const {
  const std::string& name = sim_.changes().inflow().insertions()[insertion].settings().name;
  return name.empty() ? std::to_string(insertion) : name;
}

/// What came in, what left and what broke.
void RunNotes::summarise_flow() {
  const State& state = sim_.state();
  if (state.broken_joints > 0)
    log_.info(std::to_string(state.broken_joints) + " joints broke",
              {{"broken_joints", std::to_string(state.broken_joints)}});
  const std::vector<Insertion>& insertions = sim_.changes().inflow().insertions();
  for (std::size_t i = 0; i < insertions.size(); ++i) {
    const InflowProgress& progress = state.inflow[i];
    const bool by_mass = std::isnan(insertions[i].settings().number_rate);
    const bool all = progress.made == insertions[i].settings().count;
    log_.info("insertion " + name_of(i) + ": " + std::to_string(progress.made) + " bodies",
              {{"inserted", std::to_string(progress.made)},
               {"refused", std::to_string(progress.refused)}});
    if (progress.refused == 0 || (waited_[i] == 0 && progress.tried == 0)) continue;
    log_.warning(
        "insertion " + name_of(i) + ": " + std::to_string(progress.refused) +
        " places drawn were taken" +
        (all ? std::string()
             : "; still due are " + short_text(progress.owed) + (by_mass ? " kg" : " bodies")));
  }
  for (std::size_t i = 0; i < state.outflow.size(); ++i) {
    log_.info("outflow " + sim_.settings().outflow[i].name + ": " +
                  std::to_string(state.outflow[i]) + " bodies",
              {{"removed", std::to_string(state.outflow[i])}});
  }
}

/// A line at most every second, and at the end.
void RunNotes::progress(const StepReport& r) {
  const double now = wall_seconds();
  const std::int64_t step = sim_.state().step;
  if (now - wall_progress_ < 1.0 && step != sim_.n_steps()) return;
  wall_progress_ = now;
  const double per_step = (now - wall_start_) / static_cast<double>(step - first_);
  const std::string metric(kMetricNames[ordinal(r.solve.metric)]);
  std::array<char, 320> line{};
  std::snprintf(line.data(), line.size(),
                "step %lld/%lld  t %.4g s  %.3g ms/step  contacts %lld  iterations %d  %s %.3g %s"
                "  imbalance %.2f  ETA %s",
                static_cast<long long>(step), static_cast<long long>(sim_.n_steps()),
                sim_.state().time, 1e3 * per_step, static_cast<long long>(r.contacts),
                r.solve.iterations, metric.c_str(), value_of(r.solve.errors, r.solve.metric),
                std::string(metric_unit(r.solve.metric)).c_str(), sim_.imbalance(),
                duration_text(per_step * static_cast<double>(sim_.n_steps() - step)).c_str());
  log_.progress(line.data());
}

void RunNotes::summary(const std::string& directory, double wall) {
  const std::int64_t steps = sim_.n_steps() - first_;
  summarise_flow();
  summarise_projection();
  if (missed_ > 0) {
    log_.warning(std::to_string(missed_) + " of " + std::to_string(steps) +
                 " steps missed their tolerance: see error_energy in the series" +
                 (advice_.empty() ? std::string() : ". " + advice_));
  }
  // a machine that is set down on grains does so for a moment
  if (sunk_steps_ > 0 && (sunk_most_ > kNotableOverlap || 10 * sunk_steps_ >= steps)) {
    log_.message(level_of_overlap(sunk_most_),
                 "contacts had sunk in under heavy loads in " + std::to_string(sunk_steps_) +
                     " of " + std::to_string(steps) + " steps, by up to " +
                     short_text(100.0 * sunk_most_, 3) +
                     " % of the smaller body's radius: " + kSunkAdvice,
                 {{"steps", std::to_string(sunk_steps_)}, {"overlap", json_number(sunk_most_)}});
  }
  if (far_steps_ > 1)
    log_.warning("bodies met across gaps of more than half the smaller one's radius in " +
                     std::to_string(far_steps_) + " of " + std::to_string(steps) +
                     " steps: time.step is too long for their speed",
                 {{"steps", std::to_string(far_steps_)}});
  if (divided_ > 1) {
    log_.warning(std::to_string(divided_) + " of " + std::to_string(steps) +
                 " steps were taken in sub-steps, up to " + std::to_string(most_parts_) +
                 ": a smaller time.step would do the same for less");
  }
  count_singular();
  if (passed_ > 1) log_.info(std::to_string(passed_) + " singular positions were passed");
  if (splits_ > 0) {
    log_.info("balance: bodies moved " + std::to_string(moves_) + " times (" +
              std::to_string(moved_) + " in all), the graph was split " + std::to_string(splits_) +
              " times");
  }
  std::array<double, 5> stages = {
      times_[StepStage::find_contacts], times_[StepStage::assemble_problem],
      times_[StepStage::solve_impulses],
      times_[StepStage::keep_impulses] + times_[StepStage::audit_work],
      times_[StepStage::advance_poses] + times_[StepStage::project_joints]};
  sim_.communicator().max(stages);
  log_.info("done: " + std::to_string(steps) + " steps in " + duration_text(wall) +
                " (slowest rank: contacts " + short_text(stages[0]) + " s, rows " +
                short_text(stages[1]) + " s, solver " + short_text(stages[2]) + " s, motion " +
                short_text(stages[3] + stages[4]) + " s); result " + directory + "/result.h5",
            {{"find_s", json_number(stages[0])},
             {"assemble_s", json_number(stages[1])},
             {"solve_s", json_number(stages[2])},
             {"apply_s", json_number(stages[3])},
             {"advance_s", json_number(stages[4])}});
}

}  // namespace catena
