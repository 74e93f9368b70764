// The loop of a run: cadences of output, progress, and the answers to failures.
#include <cmath>
#include <exception>
#include <optional>
#include <utility>

#include "catena/base/cadence.hpp"
#include "catena/base/text.hpp"
#include "catena/base/timer.hpp"
#include "catena/io/checkpoint.hpp"
#include "catena/io/fclib.hpp"
#include "catena/io/result_writer.hpp"
#include "catena/io/vtk_writer.hpp"
#include "catena/simulation/memory_check.hpp"
#include "catena/simulation/rehearsal.hpp"
#include "catena/simulation/simulation.hpp"
#include "simulation/diagnosis/post_mortem.hpp"
#include "simulation/diagnosis/solve_again.hpp"
#include "simulation/run/run_notes.hpp"
#include "simulation/run/run_output.hpp"
#include "simulation/run/run_profile.hpp"
#include "simulation/run/run_stop.hpp"

namespace catena {

namespace {

/// FCLIB dumps that one run makes at most.
constexpr int kMaxDumps = 20;
/// Contacts of a problem that is written unasked, at most: about 1 GB on rank 0.
constexpr std::int64_t kMaxDumped = 1000000;
/// Name of the result writer's bytes in a checkpoint.
constexpr const char* kKeptRows = "rows of bodies.h5";

/// One run's output and bookkeeping.
class RunLoop {
 public:
  RunLoop(Simulation& sim, const RunOptions& options, Log& log)
      : sim_(sim),
        log_(log),
        options_(options),
        output_(sim.settings().output),
        profile_(sim),
        ranks_on_host_(ranks_on_host(sim.communicator())),
        writer_(make_writer(sim, options)),
        stop_(sim.communicator(), options, output_),
        notes_(sim, log) {
    if (output_.vtk) vtk_.emplace(sim.communicator(), options.directory);
    all_or_none(sim.communicator(), [&] {
      if (sim.communicator().rank() == 0) log_.open_json(options.directory + "/log.jsonl");
    });
    profile_.start_loop();
    Watch& watch = sim_.watch();
    watch.asked = [this] { return stop_.must_end(); };
    watch.seconds_left = [this] { return stop_.seconds_left(); };
    watch.progress = [this](const std::string& text) {
      log_.info("step " + std::to_string(sim_.state().step + 1) + " is under way: " + text,
                {{"step", std::to_string(sim_.state().step + 1)}});
    };
  }
  ~RunLoop() { sim_.watch() = {}; }
  RunLoop(const RunLoop&) = delete;
  RunLoop& operator=(const RunLoop&) = delete;

  ExitCode run() {
    if (options_.resumed && (steps_left() == 0 || !sim_.stop_reason().empty()))
      return nothing_left();
    start();
    stop_.agree(0.0);
    RunDecision decision = stop_.decide(sim_.state().step, true);
    while (!decision.stop && steps_left() > 0) {
      keep_good_state();
      profile_.before_step();
      if (!step_or_dump()) return break_off();
      const double wall = stop_.agree(profile_.after_step());
      wall_steps_ += wall;
      after_step(wall);
      if (notes_.missed_last() &&
          sim_.settings().step_solve.on_missed_tolerance == OnMissedTolerance::stop) {
        finish("tolerance_missed");
        attempt([&] { checkpoint(good_->first, good_->second, "the step after it"); });
        attempt([&] { dump_failure("step"); });
        attempt([&] { post_mortem(nullptr); });
        log_.message(LogLevel::error,
                     "stopped: a step missed its tolerance (solver.on_missed_tolerance: stop)");
        return ExitCode::tolerance_missed;
      }
      const std::string met = sim_.stop_reason();
      const bool goes_on = steps_left() > 0 && met.empty();
      decision = stop_.decide(sim_.state().step, goes_on);
      if (!goes_on) last_snapshot();
      if (decision.checkpoint) checkpoint(decision.reason);
      if (!met.empty()) return finish_by_condition(met);
    }
    return decision.stop ? stop_early(decision.reason) : finish_whole();
  }

 private:
  static ResultWriter make_writer(Simulation& sim, const RunOptions& options) {
    const Communicator& comm = sim.communicator();
    Provenance all = provenance(sim, options);
    std::vector<ProbeTable> probes;
    for (std::size_t k = 0; k < sim.probes().size(); ++k)
      probes.push_back({sim.probes().name(k), sim.probes().columns(k)});
    if (!options.resumed)
      return {comm,          options.directory, std::move(all), series_columns(),
              options.force, std::move(probes)};
    std::vector<std::vector<std::byte>> kept;
    for (const auto& [name, bytes] : options.resumed->notes.kept)
      if (name == kKeptRows) kept.push_back(bytes);
    return {comm, options.directory, std::move(all), series_columns(), options.resumed->step,
            kept, std::move(probes)};
  }

  std::int64_t steps_left() const {
    return std::max<std::int64_t>(0, sim_.n_steps() - sim_.state().step);
  }

  void start() {
    const ScopedTimer timer(profile_.seconds(RunPhase::output));
    if (stop_.stale()) log_.info("a stop file from before the run is removed");
    write_bodies();
    notes_.start(writer_.directory(), count_bodies());
    if (!options_.resumed) return snapshot();
    const ResumedFrom& from = *options_.resumed;
    last_snapshot_ = sim_.state().step;  // what was due is there
    dumps_ = count_dumps(writer_.directory());
    log_.info("resumed from " + from.path + ", step " + std::to_string(from.step) +
                  ", written on " + std::to_string(from.ranks) + " ranks",
              {{"checkpoint", json_string(from.path)}, {"step", std::to_string(from.step)}});
    const double made_for = sim_.state().stiffness_step, step = sim_.settings().time.step;
    if (sim_.model().contact.stiffness == Stiffness::automatic && made_for != 0.0 &&
        std::abs(made_for - step) > 1e-6 * step)
      log_.info("contacts were made for a time step of " + short_text(made_for) +
                " s; their stiffness moves to that of the new one over some 100 steps");
    make_index();
  }

  /// Collective. Of the state after the last step, unless it was due anyway.
  void last_snapshot() {
    const ScopedTimer timer(profile_.seconds(RunPhase::output));
    if (last_snapshot_ != sim_.state().step) snapshot();
  }

  /// Collective. Reports snapshots that are left out.
  void make_index() {
    for (const std::string& name : writer_.finish())
      log_.warning("snapshots/" + name + " cannot be read and is left out of the index");
  }

  /// A run that is to go on but has all its steps: what a kill may have left undone is done.
  ExitCode nothing_left() {
    make_index();
    const std::string met = sim_.stop_reason();
    log_.info("nothing is left to do: " + writer_.directory() +
              (met.empty() ? " holds all " + std::to_string(sim_.n_steps()) +
                                 " steps; a later time.end takes it further"
                           : " ends where stop_when holds, " + met +
                                 "; another stop_when takes it further"));
    return ExitCode::done;
  }

  /// Collective. The run ends as the case says, before its last step.
  ExitCode finish_by_condition(const std::string& met) {
    log_.info("stopped at step " + std::to_string(sim_.state().step) + " of " +
                  std::to_string(sim_.n_steps()) + ", " + short_text(sim_.state().time) +
                  " s, since stop_when holds: " + met,
              {{"step", std::to_string(sim_.state().step)}, {"stop_when", json_string(met)}});
    finish("stop_when");
    notes_.summary(writer_.directory(), wall_steps_);
    return ExitCode::done;
  }

  ExitCode finish_whole() {
    finish("done");
    notes_.summary(writer_.directory(), wall_steps_);
    return ExitCode::done;
  }

  /// Collective. The run ends in the midst of a step, which is discarded: how far its solve has
  /// come depends on the clock, and the steps that come after it must not.
  ExitCode break_off() {
    stop_.agree(0.0);
    return stop_early(stop_.broken_off() + "; step " + std::to_string(sim_.state().step + 1) +
                      " was under way and is discarded");
  }

  ExitCode stop_early(const std::string& reason) {
    if (checkpointed_ != sim_.state().step) checkpoint(reason);  // before the first step
    {
      const ScopedTimer timer(profile_.seconds(RunPhase::output));
      make_index();
    }
    profile_.write(writer_.directory(), "stopped_early");
    log_.message(LogLevel::warning,
                 "stopped at step " + std::to_string(sim_.state().step) + " of " +
                     std::to_string(sim_.n_steps()) + " by " + reason + "; go on with --resume",
                 {{"step", std::to_string(sim_.state().step)}});
    return ExitCode::stopped_early;
  }

  /// Where a step that misses its tolerance ends the run, the state before it is to be had.
  void keep_good_state() {
    if (sim_.settings().step_solve.on_missed_tolerance == OnMissedTolerance::stop)
      good_.emplace(sim_.bodies(), sim_.state());
  }

  /// Collective. The state as it is, beside the last checkpoint before it.
  void checkpoint(const std::string& reason) { checkpoint(sim_.bodies(), sim_.state(), reason); }

  void checkpoint(const Bodies& bodies, const State& state, const std::string& reason) {
    // a run that goes on from here does not write snapshots from before again; where one has
    // failed, which ends the run, what it can go on from is kept all the same
    std::exception_ptr failure;
    try {
      settle_snapshot(true);
    } catch (...) {
      failure = std::current_exception();
    }
    const ScopedTimer timer(profile_.seconds(RunPhase::checkpoint));
    const double t0 = wall_seconds();
    const Communicator& comm = sim_.communicator();
    const std::string path = checkpoint_path(writer_.directory(), state.step);
    CheckpointNotes notes = checkpoint_notes(sim_, writer_.provenance());
    if (std::vector<std::byte> rows = writer_.kept(); !rows.empty())
      notes.kept.emplace_back(kKeptRows, std::move(rows));
    write_checkpoint(comm, path, notes, bodies, state);
    if (comm.rank() == 0) drop_old_checkpoints(writer_.directory());
    const double seconds = comm.max(wall_seconds() - t0);
    stop_.note_checkpoint(seconds);
    checkpointed_ = state.step;
    log_.info("checkpoint " + path + " in " + short_text(seconds) + " s" +
                  (reason.empty() ? "" : ", asked for by " + reason),
              {{"step", std::to_string(state.step)}, {"wall_s", json_number(seconds)}});
    if (failure) std::rethrow_exception(failure);
  }

  /// Collective. The last state, the index and the profile. `ended`: how, one word.
  void finish(std::string_view ended) {
    {
      const ScopedTimer timer(profile_.seconds(RunPhase::output));
      if (last_snapshot_ != sim_.state().step) snapshot();
      make_index();
    }
    profile_.write(writer_.directory(), ended);
  }

  /// Collective. Bodies over all ranks, without planes.
  std::int64_t count_bodies() const { return sim_.communicator().sum(std::ssize(sim_.bodies())); }

  void write_bodies() {
    const FlowSums& sums = sim_.state().flow;
    const bool flow = !sim_.changes().inflow().none() || !sim_.settings().outflow.empty() ||
                      sim_.has_callbacks() || sums.inserted + sums.removed > 0;
    writer_.write_bodies(sim_.model(), sim_.bodies(), flow);
    written_ = ever_there();
  }

  /// Grows with every body and joint that comes.
  std::int64_t ever_there() const {
    const State& state = sim_.state();
    return state.flow.inserted + state.added_bodies + state.added_joints;
  }

  /// False: the run is to end, and the step was broken off.
  bool step_or_dump() {
    try {
      sim_.step();
      return true;
    } catch (const StopAsked&) {
      return false;
    } catch (const BlowUp& blow_up) {
      log_.message(LogLevel::error, blow_up.what());
      attempt([&] { dump_failure("blow-up"); });
      const std::string what = blow_up.what();
      attempt([&] { post_mortem(&what); });
      // what came in at the step's start would come in twice
      if (sim_.changes().inflow().none()) attempt([&] { checkpoint("the step after it"); });
      // the state is that of the step's start, whose contacts are gone
      if (last_snapshot_ != sim_.state().step) attempt([&] { snapshot(false); });
      attempt([&] { writer_.finish(); });
      attempt([&] { profile_.write(writer_.directory(), "blow_up"); });
      throw;
    } catch (const Error&) {
      // bodies that touch under stepper natural, for one: what is written stays readable
      attempt([&] { writer_.finish(); });
      throw;
    }
  }

  /// Collective. Tells and writes why the last step failed; `blow_up`: the message, if it did.
  void post_mortem(const std::string* blow_up) {
    const PostMortem found = examine_step(sim_, blow_up);
    const std::string path = write_post_mortem(sim_.communicator(), writer_.directory(), found);
    log_.message(LogLevel::error, to_text(found) + " (" + path + ")",
                 {{"step", std::to_string(found.step)},
                  {"reason", json_string(found.advice.reasons.front())}});
  }

  /// Collective. A problem is written by one rank, whose memory must hold it.
  void dump_failure(const std::string& stem) {
    // stepper natural: of the step's last stage, whose joints are its only rows
    const std::int64_t rows = sim_.stepper().problem().n_rows();
    if (sim_.communicator().sum(rows) == 0) return;
    const std::int64_t n = sim_.communicator().sum(std::ssize(sim_.stepper().problem().contacts));
    if (n <= kMaxDumped) return dump(stem);
    log_.warning("the step's problem is not written: " + std::to_string(n) +
                 " contacts are too many for one rank");
  }

  /// Collective. Output after a blow-up: its own failure is reported, but does not replace it.
  template <class Output>
  void attempt(Output&& output) {
    try {
      output();
    } catch (const Error& error) {
      log_.warning(error.what());
    }
  }

  void after_step(double wall) {
    const ScopedTimer timer(profile_.seconds(RunPhase::output));
    const StepReport& r = sim_.stepper().report();
    const State& state = sim_.state();
    if (!stepped_) refuse_unused_options(sim_.communicator(), sim_.settings());
    stepped_ = true;
    notes_.after_step(r);
    if (state.step % output_.series_steps == 0 || state.step == sim_.n_steps()) {
      fill_series_row(r, state, count_bodies(), wall, sim_.work_balance(), series_row_);
      writer_.append_series(series_row_);
    }
    write_probes();
    settle_snapshot(false);
    if (due(output_.snapshot_interval)) snapshot();
    if (due(output_.dump_interval) && dumps_ < kMaxDumps) {
      ++dumps_;
      dump("step");
    }
    notes_.progress(r);
  }

  /// Whether a multiple of `interval` lies in the step just done.
  bool due(double interval) const {
    return interval_ends(sim_.state().step, sim_.settings().time.step, interval);
  }

  void write_probes() {
    const ProbeSet& probes = sim_.probes();
    std::vector<ProbeRow> rows;
    for (std::size_t k = 0; k < probes.size(); ++k)
      if (probes.row_due(k, sim_.state()))
        probes.fill_row(k, sim_.state(), rows.emplace_back(k).values);
    if (!rows.empty()) writer_.append_probes(rows);
  }

  void snapshot() { snapshot(sim_.shows_last_step()); }

  /// Collective. `stepped`: contacts and joints are those of the step that led to the state.
  void snapshot(bool stepped) {
    settle_snapshot(true);
    const double t0 = wall_seconds();
    if (written_ != ever_there()) write_bodies();
    if (vtk_)
      vtk_->write(sim_.model(), sim_.bodies(), sim_.state(), contacts_of_step(stepped),
                  sim_.settings().time.step, output_.contacts);
    const bool under_way = writer_.write_snapshot(
        sim_.model(), sim_.bodies(), sim_.state(), contacts_of_step(stepped && output_.contacts),
        stepped ? joint_records(sim_) : std::vector<JointRecord>(),
        output_.asynchronous ? memory_to_spare(ranks_on_host_) : 0.0);
    last_snapshot_ = sim_.state().step;
    copied_s_ = sim_.communicator().max(wall_seconds() - t0);
    if (!under_way) stop_.note_snapshot(copied_s_);
    if (under_way || !output_.asynchronous || told_) return;
    told_ = true;
    log_.info(
        "snapshots are not written in the background while their copies would take more than "
        "half of the memory that is free");
  }

  std::vector<ContactRecord> contacts_of_step(bool wanted) const {
    return wanted ? contact_records(sim_.stepper()) : std::vector<ContactRecord>();
  }

  /// Collective. A snapshot in the background gets its name, and its failure is the run's.
  void settle_snapshot(bool wait) {
    if (const double seconds = writer_.settle(wait); seconds > 0.0)
      stop_.note_snapshot(copied_s_ + seconds);
  }

  void dump(const std::string& stem) {
    const std::string number = step_text(sim_.state().step);
    const std::string path = writer_.directory() + "/" + stem + "-" + number + ".hdf5";
    write_fclib(path, sim_.stepper().problem(), sim_.settings().name + ", " + stem + " " + number,
                sim_.stepper().impulses(), sim_.stepper().guess(), sim_.stepper().stretches());
    log_.info("contact problem written to " + path +
              "; solved as here by: " + solve_again(path, sim_.settings().solver));
  }

  Simulation& sim_;
  Log& log_;
  const RunOptions& options_;
  const OutputSettings& output_;
  RunProfile profile_;  ///< its clock starts before the first file is made
  int ranks_on_host_;
  ResultWriter writer_;
  std::optional<VtkWriter> vtk_;
  RunStop stop_;
  RunNotes notes_;
  std::int64_t last_snapshot_ = -1;
  double copied_s_ = 0.0;  ///< what the last snapshot has kept the run from its steps, s
  bool told_ = false;      ///< that memory is too small for a snapshot in the background
  std::optional<std::pair<Bodies, State>> good_;  ///< of the last step's start
  std::int64_t checkpointed_ = -1;                ///< step of the last checkpoint
  bool stepped_ = false;
  std::int64_t written_ = 0;  ///< ever_there() when bodies.h5 was written
  int dumps_ = 0;
  std::vector<double> series_row_;
  double wall_steps_ = 0.0;  ///< s
};

}  // namespace

ExitCode Simulation::run(const RunOptions& options, Log& log) {
  return RunLoop(*this, options, log).run();
}

}  // namespace catena
