// The loop of a run: cadences of output, progress, and the answers to failures.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>

#include "catena/base/timer.hpp"
#include "catena/base/version.hpp"
#include "catena/io/fclib.hpp"
#include "catena/io/result_writer.hpp"
#include "catena/simulation/simulation.hpp"

namespace catena {

namespace {

/// FCLIB dumps that one run makes at most.
constexpr int kMaxDumps = 20;
/// Contacts of a problem that is written unasked, at most: about 1 GB on rank 0.
constexpr std::int64_t kMostDumped = 1000000;
/// Warnings of missed tolerances that are shown one by one.
constexpr int kMaxWarnings = 5;

std::vector<SeriesColumn> series_columns() {
  return {{"time", "s"},
          {"step", "1"},
          {"kinetic_energy", "J"},
          {"potential_energy", "J"},
          {"dissipation_friction", "J"},
          {"dissipation_impact", "J"},
          {"recovery_work", "J"},
          {"external_work", "J"},
          {"cohesion_work", "J"},
          {"joint_work", "J"},
          {"motor_work", "J"},
          {"projection_work", "J"},
          {"flow_energy", "J"},
          {"energy_residual", "J"},
          {"error_energy", "J"},
          {"error_normal", "J"},
          {"error_friction", "J"},
          {"error_natural_map", "m/s"},
          {"error_natural_map_rms", "m/s"},
          {"error_joint", "J"},
          {"error_limit", "J"},
          {"joint_misfit", "m"},
          {"joint_misfit_angular", "rad"},
          {"stiffened", "1"},
          {"bodies", "1"},
          {"inserted", "1"},
          {"removed", "1"},
          {"inserted_mass", "kg"},
          {"removed_mass", "kg"},
          {"contacts", "1"},
          {"penetration", "m"},
          {"iterations", "1"},
          {"momentum_x", "kg m/s"},
          {"momentum_y", "kg m/s"},
          {"momentum_z", "kg m/s"},
          {"angular_momentum_x", "kg m^2/s"},
          {"angular_momentum_y", "kg m^2/s"},
          {"angular_momentum_z", "kg m^2/s"},
          {"step_wall_s", "s"},
          {"imbalance", "1"}};
}

std::vector<double> series_row(const StepReport& r, const State& state, std::int64_t bodies,
                               double wall, double imbalance) {
  const Errors& e = r.solve.errors;
  return {state.time,
          static_cast<double>(state.step),
          r.kinetic,
          r.potential,
          r.audit.dissipation_friction,
          r.audit.dissipation_impact,
          r.audit.recovery_work,
          r.audit.external_work,
          r.audit.cohesion_work,
          r.audit.joint_work,
          r.audit.motor_work,
          r.audit.projection_work,
          r.audit.flow_energy,
          r.energy_residual,
          e.energy,
          e.energy_normal,
          e.energy_friction,
          e.natural_map,
          e.natural_map_rms,
          e.energy_joint,
          e.energy_limit,
          r.misfit.linear,
          r.misfit.angular,
          static_cast<double>(r.stiffened),
          static_cast<double>(bodies),
          static_cast<double>(state.flow.inserted),
          static_cast<double>(state.flow.removed),
          state.flow.inserted_mass,
          state.flow.removed_mass,
          static_cast<double>(r.contacts),
          r.penetration,
          static_cast<double>(r.solve.iterations),
          r.linear_momentum[0],
          r.linear_momentum[1],
          r.linear_momentum[2],
          r.angular_momentum[0],
          r.angular_momentum[1],
          r.angular_momentum[2],
          wall,
          imbalance};
}

std::string host_names(const Communicator& comm) {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  const std::string own = std::string(name.data()) + "\n";
  const std::vector<std::byte> all = comm.all_gather_bytes(std::as_bytes(std::span(own)));
  std::vector<std::string> hosts;
  std::string host;
  for (const std::byte c : all) {
    if (static_cast<char>(c) != '\n') {
      host.push_back(static_cast<char>(c));
    } else {
      if (std::find(hosts.begin(), hosts.end(), host) == hosts.end()) hosts.push_back(host);
      host.clear();
    }
  }
  std::string text;
  for (const std::string& h : hosts) text += (text.empty() ? "" : " ") + h;
  return text;
}

Provenance provenance(const Simulation& sim, const RunOptions& options) {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm utc{};
  gmtime_r(&now, &utc);
  std::array<char, 32> start{};
  std::strftime(start.data(), start.size(), "%Y-%m-%dT%H:%M:%SZ", &utc);
  std::string start_text(start.data());
  sim.communicator().broadcast(0, start_text);
  return {{"version", std::string(version())},
          {"git_hash", std::string(git_hash())},
          {"build", build_description()},
          {"mpi", mpi_version()},
          {"command_line", options.command_line},
          {"config", print_case(sim.settings())},
          {"hosts", host_names(sim.communicator())},
          {"ranks", std::to_string(sim.communicator().size())},
          {"start_time", start_text},
          {"parent_checkpoint", ""},
          {"petsc_options", to_string(sim.settings().solver.petsc)}};
}

std::array<double, 3> numbers(const Vec3& v) { return {v.x(), v.y(), v.z()}; }

std::vector<ContactRecord> contact_records(const TimeStepper& stepper) {
  std::vector<ContactRecord> records;
  records.reserve(stepper.n_contacts());
  for (std::size_t k = 0; k < stepper.n_contacts(); ++k) {
    const StepContact c = stepper.contact(k);
    records.push_back({c.key, numbers(c.point), numbers(c.normal), c.gap, numbers(c.force.impulse),
                       numbers(c.force.couple)});
  }
  return records;
}

std::vector<JointRecord> joint_records(const Simulation& sim) {
  const TimeStepper& stepper = sim.stepper();
  const std::vector<JointConstants>& joints = sim.bodies().joints;
  std::vector<JointRecord> records(joints.size());
  for (std::size_t j = 0; j < joints.size(); ++j) {
    const JointState& state = sim.state().joints[j];
    JointRecord& record = records[j];
    record.id = joints[j].id;
    record.impulse = state.impulse;
    const JointReaction reaction = stepper.joint_reaction(j);
    for (int i = 0; i < 3; ++i) {
      record.reaction[static_cast<std::size_t>(i)] = reaction.impulse[i];
      record.reaction[static_cast<std::size_t>(i + 3)] = reaction.couple[i];
    }
    for (std::size_t axis = 0; axis < kJointAxes; ++axis)
      std::copy(state.drive[axis].begin(), state.drive[axis].end(),
                record.drive.begin() + static_cast<std::ptrdiff_t>(3 * axis));
    record.coordinate = stepper.joint_coordinates(sim.bodies(), sim.state(), j);
  }
  return records;
}

/// For people: 6 digits.
std::string short_text(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.6g", value);
  return text.data();
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

/// One run's output and bookkeeping.
class RunLoop {
 public:
  RunLoop(Simulation& sim, const RunOptions& options, Log& log)
      : sim_(sim),
        log_(log),
        output_(sim.settings().output),
        writer_(sim.communicator(), options.directory, provenance(sim, options), series_columns(),
                options.force) {
    all_or_none(sim.communicator(), [&] {
      if (sim.communicator().rank() == 0) log_.open_json(options.directory + "/log.jsonl");
    });
  }

  ExitCode run() {
    start();
    while (sim_.state().step < sim_.n_steps()) {
      const double t0 = wall_seconds();
      step_or_dump();
      wall_steps_ += wall_seconds() - t0;
      after_step(sim_.communicator().max(wall_seconds() - t0));
      if (missed_last_ && sim_.settings().solver.on_missed_tolerance == OnMissedTolerance::stop) {
        if (last_snapshot_ != sim_.state().step) snapshot();
        writer_.finish();
        log_.message(LogLevel::error,
                     "stopped: a step missed its tolerance (solver.on_missed_tolerance: stop)");
        return ExitCode::tolerance_missed;
      }
    }
    if (last_snapshot_ != sim_.state().step) snapshot();
    writer_.finish();
    summary();
    return ExitCode::done;
  }

 private:
  void start() {
    for (const std::string& warning : sim_.model().warnings) log_.warning(warning);
    const TimeSettings& time = sim_.settings().time;
    if (time.natural_given && time.stepper != StepperKind::natural)
      log_.warning("time.natural is not used: it is for time.stepper: natural");
    write_bodies();
    const std::int64_t n = count_bodies();
    log_.info("start: " + std::to_string(n) + " bodies on " +
                  std::to_string(sim_.communicator().size()) + " ranks, " +
                  std::to_string(sim_.n_steps()) + " steps of " +
                  short_text(sim_.settings().time.step) + " s into " + writer_.directory() +
                  " (set up in " + short_text(sim_.setup_seconds()) + " s)",
              {{"setup_s", json_number(sim_.setup_seconds())}});
    snapshot();
    wall_start_ = wall_progress_ = wall_seconds();
  }

  /// Collective. Bodies over all ranks, without planes.
  std::int64_t count_bodies() const {
    return sim_.communicator().sum(static_cast<std::int64_t>(sim_.bodies().size()));
  }

  void write_bodies() {
    const bool flow = !sim_.inflow().none() || !sim_.settings().outflow.empty();
    writer_.write_bodies(sim_.model(), sim_.bodies(), flow);
    written_ = sim_.state().flow.inserted;
  }

  void step_or_dump() {
    try {
      sim_.step();
    } catch (const BlowUp& blow_up) {
      log_.message(LogLevel::error, blow_up.what());
      attempt([&] { dump_blow_up(); });
      // the state is that of the step's start, whose contacts are gone
      if (last_snapshot_ != sim_.state().step) attempt([&] { snapshot(false, false); });
      attempt([&] { writer_.finish(); });
      throw;
    } catch (const Error&) {
      // bodies that touch under stepper natural, for one: what is written stays readable
      attempt([&] { writer_.finish(); });
      throw;
    }
  }

  /// Collective. A problem is written by one rank, whose memory must hold it.
  void dump_blow_up() {
    if (sim_.settings().time.stepper == StepperKind::natural) return;  // no contact problem
    const std::int64_t n = sim_.communicator().sum(
        static_cast<std::int64_t>(sim_.stepper().problem().contacts.size()));
    if (n <= kMostDumped) return dump("blow-up");
    log_.warning("the step's problem is not written: " + std::to_string(n) +
                 " contacts are too many for one rank");
  }

  /// Collective. Output after a blow-up: its own failure is told, but does not replace it.
  template <class Output>
  void attempt(Output&& output) {
    try {
      output();
    } catch (const Error& error) {
      log_.warning(error.what());
    }
  }

  void after_step(double wall) {
    const StepReport& r = sim_.stepper().report();
    const State& state = sim_.state();
    times_.add(r.times);
    if (state.step == 1 && r.penetration > sim_.settings().contact.margin) {
      log_.warning("bodies overlap at the start by up to " + short_text(r.penetration) +
                       " m; they are pushed apart at contact.recovery_speed, see recovery_work",
                   {{"penetration", json_number(r.penetration)}});
    }
    if (state.step == 1) refuse_unused_options();
    note_joints(r);
    note_tolerance(r);
    note_choice(r);
    note_waiting();
    if (state.step % output_.series_steps == 0 || state.step == sim_.n_steps()) {
      writer_.append_series(series_row(r, state, count_bodies(), wall, sim_.imbalance()));
    }
    if (due(output_.snapshot_interval)) snapshot();
    if (due(output_.dump_interval) && dumps_ < kMaxDumps) {
      ++dumps_;
      dump("step");
    }
    progress(r);
  }

  /// Collective. After the first solve: options of PETSc that no solver asked for are misspelt.
  void refuse_unused_options() const {
    const PetscOptions& options = sim_.settings().solver.petsc;
    const std::vector<std::string> unused = unused_petsc_options(sim_.communicator(), options);
    if (unused.empty()) return;
    throw Error("no solver asked for this option", unused.front(),
                "see PETSc's manual, and solver.method");
  }

  /// Whether a multiple of `interval` lies in the step just done.
  bool due(double interval) const {
    const double h = sim_.settings().time.step;
    const auto count = [&](std::int64_t step) {
      const double intervals = static_cast<double>(step) * h / interval;
      return std::floor(intervals + 1e-9 * std::max(1.0, intervals));
    };
    return count(sim_.state().step) > count(sim_.state().step - 1);
  }

  void snapshot() {
    const bool known = sim_.state().step > 0;
    snapshot(output_.contacts && known, known);
  }

  void snapshot(bool with_contacts, bool with_joints) {
    if (written_ != sim_.state().flow.inserted) write_bodies();
    writer_.write_snapshot(
        sim_.model(), sim_.bodies(), sim_.state(),
        with_contacts ? contact_records(sim_.stepper()) : std::vector<ContactRecord>(),
        with_joints ? joint_records(sim_) : std::vector<JointRecord>());
    last_snapshot_ = sim_.state().step;
  }

  void dump(const std::string& stem) {
    std::array<char, 16> number{};
    std::snprintf(number.data(), number.size(), "%08lld",
                  static_cast<long long>(sim_.state().step));
    const std::string path = writer_.directory() + "/" + stem + "-" + number.data() + ".hdf5";
    write_fclib(path, sim_.stepper().problem(),
                sim_.settings().name + ", " + stem + " " + number.data(),
                sim_.stepper().impulses());
    log_.info("contact problem written to " + path);
  }

  void note_tolerance(const StepReport& r) {
    missed_last_ =
        r.solve.status == SolveStatus::iteration_limit || r.solve.status == SolveStatus::time_limit;
    if (!missed_last_) return;
    ++missed_;
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

  /// What `auto` tried and why, whenever it is something else than in the step before.
  void note_choice(const StepReport& r) {
    if (r.solve.choice == choice_) return;
    choice_ = r.solve.choice;
    ++choices_;
    if (choices_ > kMaxWarnings) return;
    log_.info("step " + std::to_string(sim_.state().step) + " solved by " + r.solve.reason +
                  (choices_ == kMaxWarnings ? "; further changes are not told" : ""),
              {{"step", std::to_string(sim_.state().step)}, {"method", json_string(choice_)}});
  }

  /// Tells of the mechanisms after the first step, and once of what was met later.
  void note_joints(const StepReport& r) {
    const JointReport& joints = r.solve.joints;
    if (joints.joints == 0) return;
    if (sim_.state().step == 1) {
      log_.info("joints: " + std::to_string(joints.joints) + " in " +
                    std::to_string(joints.chains) + " chains (longest " +
                    std::to_string(joints.longest_chain) + "), " + std::to_string(joints.trees) +
                    " trees, " + std::to_string(joints.rings) + " rings, " +
                    std::to_string(joints.looped) + " others" +
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

  void note_redundant(const JointReport& joints) {
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
  void note_waiting() {
    const std::vector<Insertion>& insertions = sim_.inflow().insertions();
    waited_.resize(insertions.size(), 0);
    for (std::size_t i = 0; i < insertions.size(); ++i) {
      const InflowProgress& progress = sim_.state().inflow[i];
      if (progress.tried == 0 || waited_[i] != 0) continue;
      waited_[i] = 1;
      log_.warning("step " + std::to_string(sim_.state().step) + ": the region of insertion " +
                   name_of(i) + " has no room for body " + std::to_string(progress.made) +
                   ": all " + std::to_string(progress.tried) +
                   " places drawn are taken; it waits, and those behind it");
    }
  }

  std::string name_of(std::size_t insertion) const {
    const std::string& name = sim_.inflow().insertions()[insertion].settings().name;
    return name.empty() ? std::to_string(insertion) : name;
  }

  /// What came in and what left.
  void summarise_flow() {
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
  void progress(const StepReport& r) {
    const double now = wall_seconds();
    const std::int64_t step = sim_.state().step;
    if (now - wall_progress_ < 1.0 && step != sim_.n_steps()) return;
    wall_progress_ = now;
    const double per_step = (now - wall_start_) / static_cast<double>(step);
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

  void summary() {
    const std::int64_t steps = sim_.n_steps();
    summarise_flow();
    if (missed_ > 0) {
      log_.warning(std::to_string(missed_) + " of " + std::to_string(steps) +
                   " steps missed their tolerance: see error_energy in the series; more "
                   "solver.max_iterations or a smaller time.step make it smaller");
    }
    std::array<double, 5> stages = {times_.find, times_.assemble, times_.solve, times_.apply,
                                    times_.advance};
    sim_.communicator().max(stages);
    log_.info("done: " + std::to_string(steps) + " steps in " + duration_text(wall_steps_) +
                  " (slowest rank: contacts " + short_text(stages[0]) + " s, rows " +
                  short_text(stages[1]) + " s, solver " + short_text(stages[2]) + " s, motion " +
                  short_text(stages[3] + stages[4]) + " s); result " + writer_.directory() +
                  "/result.h5",
              {{"find_s", json_number(stages[0])},
               {"assemble_s", json_number(stages[1])},
               {"solve_s", json_number(stages[2])},
               {"apply_s", json_number(stages[3])},
               {"advance_s", json_number(stages[4])}});
  }

  Simulation& sim_;
  Log& log_;
  const OutputSettings& output_;
  ResultWriter writer_;
  std::int64_t last_snapshot_ = -1;
  std::int64_t written_ = 0;  ///< bodies inserted when bodies.h5 was written
  std::vector<char> waited_;  ///< per insertion: told of
  bool raised_told_ = false, tension_told_ = false, drift_told_ = false;
  int dumps_ = 0;
  std::string choice_;  ///< SolveReport::choice of the last step
  int choices_ = 0;
  std::int64_t missed_ = 0;
  bool missed_last_ = false;
  double wall_start_ = 0.0;
  double wall_progress_ = 0.0;
  double wall_steps_ = 0.0;  ///< s
  StepTimes times_;          ///< of all steps, this rank's
};

}  // namespace

ExitCode Simulation::run(const RunOptions& options, Log& log) {
  return RunLoop(*this, options, log).run();
}

}  // namespace catena
