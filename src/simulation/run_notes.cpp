#include "simulation/run_notes.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "catena/base/timer.hpp"
#include "simulation/post_mortem.hpp"

namespace catena {

namespace {

/// Warnings of missed tolerances that are shown one by one.
constexpr int kMaxWarnings = 5;

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

std::string short_text(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.6g", value);
  return text.data();
}

void RunNotes::start(const std::string& directory, std::int64_t bodies) {
  for (const std::string& warning : sim_.model().warnings) log_.warning(warning);
  const TimeSettings& time = sim_.settings().time;
  if (time.natural_given && time.stepper != StepperKind::natural)
    log_.warning("time.natural is not used: it is for time.stepper: natural");
  first_ = sim_.state().step;
  log_.info("start: " + std::to_string(bodies) + " bodies on " +
                std::to_string(sim_.communicator().size()) + " ranks, " +
                std::to_string(sim_.n_steps() - first_) + " steps of " + short_text(time.step) +
                " s into " + directory + " (set up in " + short_text(sim_.setup_seconds()) + " s)",
            {{"setup_s", json_number(sim_.setup_seconds())}});
  wall_start_ = wall_progress_ = wall_seconds();
}

void RunNotes::after_step(const StepReport& r) {
  times_.add(r.times);
  if (sim_.state().step == 1 && r.penetration > sim_.settings().contact.margin) {
    log_.warning("bodies overlap at the start by up to " + short_text(r.penetration) +
                     " m; they are pushed apart at contact.recovery_speed, see recovery_work",
                 {{"penetration", json_number(r.penetration)}});
  }
  note_joints(r);
  note_tolerance(r);
  note_balance();
  note_choice(r);
  note_waiting();
}

void RunNotes::note_tolerance(const StepReport& r) {
  missed_last_ =
      r.solve.status == SolveStatus::iteration_limit || r.solve.status == SolveStatus::time_limit;
  if (!missed_last_) return;
  ++missed_;
  keep_advice(r);
  if (missed_ > kMaxWarnings) return;
  const std::string metric(kMetricNames[static_cast<std::size_t>(r.solve.metric)]);
  log_.warning("step " + std::to_string(sim_.state().step) + " missed its tolerance: " + metric +
                   " " + short_text(value_of(r.solve.errors, r.solve.metric)) + " " +
                   std::string(metric_unit(r.solve.metric)) + ", wanted " +
                   short_text(r.solve.threshold) +
                   (missed_ == kMaxWarnings ? "; further ones are counted only" : ""),
               {{"step", std::to_string(sim_.state().step)},
                {"error", json_number(value_of(r.solve.errors, r.solve.metric))}});
}

void RunNotes::keep_advice(const StepReport& r) {
  // looked at after 1, 2, 4, ... misses: a look costs an evaluation of the error
  if ((missed_ & (missed_ - 1)) != 0) return;
  const double miss = value_of(r.solve.errors, r.solve.metric) / r.solve.threshold;
  if (!(miss > worst_miss_)) return;
  worst_miss_ = miss;
  const std::string text = examine_step(sim_, nullptr).advice.text;
  advice_ = text.substr(0, text.find(". "));
}

/// Bodies that moved, or might have, before the last step.
void RunNotes::note_balance() {
  const BalanceLook& look = sim_.last_look();
  if (look.step < 0 || look.step + 1 != sim_.state().step) return;
  ++splits_;
  if (look.taken) ++moves_;
  moved_ += look.quality.moved;
  const bool told = splits_ <= kMaxWarnings;
  log_.message(told ? LogLevel::info : LogLevel::debug,
               "step " + std::to_string(look.step) + ": " +
                   (look.taken ? std::to_string(look.quality.moved) + " bodies change rank"
                               : "bodies stay") +
                   ", imbalance " + short_text(look.imbalance) +
                   (look.taken ? ", now " : ", of the parts found ") +
                   short_text(look.quality.imbalance) + "; gain " + short_text(look.gain) +
                   ", price " + short_text(look.price) + " row sweeps; edge cut " +
                   std::to_string(look.quality.edge_cut) + " rows" +
                   (splits_ == kMaxWarnings ? "; later ones are in log.jsonl only" : ""),
               {{"step", std::to_string(look.step)},
                {"moved", std::to_string(look.quality.moved)},
                {"imbalance_before", json_number(look.imbalance)},
                {"imbalance_after", json_number(look.quality.imbalance)},
                {"gain", json_number(look.gain)},
                {"price", json_number(look.price)},
                {"edge_cut", std::to_string(look.quality.edge_cut)}});
}

/// What `auto` tried and why, whenever it is something else than in the step before.
void RunNotes::note_choice(const StepReport& r) {
  if (r.solve.choice == choice_) return;
  choice_ = r.solve.choice;
  ++choices_;
  if (choices_ > kMaxWarnings) return;
  log_.info("step " + std::to_string(sim_.state().step) + " solved by " + r.solve.reason +
                (choices_ == kMaxWarnings ? "; further changes are not told" : ""),
            {{"step", std::to_string(sim_.state().step)}, {"method", json_string(choice_)}});
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
    if (!joints.redundant.empty()) note_redundant(joints);
  }
  if (joints.raised > 0 && !raised_told_) {
    raised_told_ = true;
    log_.warning("step " + std::to_string(sim_.state().step) + ": " +
                 std::to_string(joints.raised) +
                 " rows of joints hang on others to round-off and were regularised further");
  }
  // what damped rows let joints swing apart by is two orders below
  constexpr double kDrift = 0.05, kNaturalDrift = 1e-4;
  const bool natural = sim_.settings().time.stepper == StepperKind::natural;
  if (r.drift > (natural ? kNaturalDrift : kDrift) && !drift_told_) {
    drift_told_ = true;
    log_.warning("step " + std::to_string(sim_.state().step) + ": joints drift apart by " +
                     short_text(r.drift) + " of their arms (or rad); take smaller steps" +
                     (natural ? ", or time.natural.scheme: dop853" : ""),
                 {{"drift", json_number(r.drift)}});
  }
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

void RunNotes::note_redundant(const JointReport& joints) {
  constexpr std::size_t kMostNamed = 10;
  std::string names;
  for (std::size_t i = 0; i < std::min(joints.redundant.size(), kMostNamed); ++i) {
    names += (i > 0 ? ", " : "") + sim_.model().joint_names.name_of(joints.redundant[i].name) +
             " row " + std::to_string(joints.redundant[i].row);
  }
  log_.info(std::to_string(joints.redundant.size()) +
            (joints.redundant.size() == kMostRedundantNamed ? " or more" : "") +
            " rows of joints hang on others and share their reactions by least norm: " + names +
            (joints.redundant.size() > kMostNamed ? ", ..." : ""));
}

/// Tells once of each insertion that finds no room.
void RunNotes::note_waiting() {
  const std::vector<Insertion>& insertions = sim_.inflow().insertions();
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

std::string RunNotes::name_of(std::size_t insertion) const {
  const std::string& name = sim_.inflow().insertions()[insertion].settings().name;
  return name.empty() ? std::to_string(insertion) : name;
}

/// What came in and what left.
void RunNotes::summarise_flow() {
  const State& state = sim_.state();
  const std::vector<Insertion>& insertions = sim_.inflow().insertions();
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
  const std::string metric(kMetricNames[static_cast<std::size_t>(r.solve.metric)]);
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
  if (missed_ > 0) {
    log_.warning(std::to_string(missed_) + " of " + std::to_string(steps) +
                 " steps missed their tolerance: see error_energy in the series" +
                 (advice_.empty() ? std::string() : ". " + advice_));
  }
  if (splits_ > 0) {
    log_.info("balance: bodies moved " + std::to_string(moves_) + " times (" +
              std::to_string(moved_) + " in all), the graph was split " + std::to_string(splits_) +
              " times");
  }
  std::array<double, 5> stages = {times_.find, times_.assemble, times_.solve, times_.apply,
                                  times_.advance};
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
