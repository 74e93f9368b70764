#include "core.hpp"

#include <array>
#include <utility>

#include "catena/base/error.hpp"
#include "catena/base/log.hpp"
#include "catena/base/timer.hpp"
#include "catena/simulation/joint_reading.hpp"
#include "catena/simulation/series.hpp"

namespace catena::python {

namespace {

constexpr const char* kCaseText = "case";

std::unique_ptr<Simulation> make(const Communicator& comm, const CaseSettings& settings,
                                 const std::string& checkpoint) {
  if (checkpoint.empty()) return std::make_unique<Simulation>(comm, settings);
  RunOptions options;
  Log log(comm.rank() == 0);
  return resume(comm, settings, checkpoint, options, log);
}

}  // namespace

/// Callbacks while a step or a run is under way.
class Core::Calls {
 public:
  Calls(Core& core, const py::object& before, const py::object& after) : core_(core) {
    core_.before_ = before;
    core_.after_ = after;
    core_.busy_ = true;
    core_.raised_.reset();
  }
  ~Calls() {
    core_.before_ = core_.after_ = py::none();
    core_.busy_ = false;
  }
  Calls(const Calls&) = delete;
  Calls& operator=(const Calls&) = delete;

 private:
  Core& core_;
};

Core::Core(std::shared_ptr<Ranks> ranks, const CaseSettings& settings,
           const std::string& checkpoint)
    : ranks_(std::move(ranks)), simulation_(make(ranks_->communicator(), settings, checkpoint)) {}

std::unique_ptr<Core> Core::of_file(std::shared_ptr<Ranks> ranks, const std::string& path,
                                    const std::string& checkpoint) {
  ranks->enter("Simulation", CallHash().add(path).add(checkpoint));
  const CaseSettings settings = read_case(ranks->communicator(), path);
  return std::make_unique<Core>(std::move(ranks), settings, checkpoint);
}

std::unique_ptr<Core> Core::of_text(std::shared_ptr<Ranks> ranks, const std::string& text,
                                    const std::string& folder, const std::string& checkpoint) {
  ranks->enter("Simulation", CallHash().add(text).add(checkpoint));
  CaseSettings settings;
  all_or_none(ranks->communicator(), [&] { settings = parse_case(text, kCaseText, folder); });
  return std::make_unique<Core>(std::move(ranks), settings, checkpoint);
}

void Core::close() {
  if (busy_)
    throw Error("a step is under way", "Simulation.close",
                "close it after the step, not in a callback");
  simulation_.reset();
}

Simulation& Core::simulation(const char* function) {
  if (!simulation_)
    throw Error("the simulation is closed", function, "make a new one of the case or a checkpoint");
  return *simulation_;
}

Simulation& Core::enter(const char* function, const CallHash& arguments) {
  Simulation& sim = simulation(function);
  ranks_->enter(function, arguments);
  return sim;
}

void Core::call(const py::object& callback, const char* when) {
  if (callback.is_none()) return;
  try {
    ranks_->together(when, callback);
  } catch (const py::error_already_set& error) {
    raised_ = error;
    throw Error(std::string(when) + " raised " + text_of(error), "", "", ExitCode::runtime_error);
  }
}

void Core::take_callbacks() {
  if (std::exchange(takes_callbacks_, true)) return;
  simulation_->before_each_step([this](Simulation&) { call(before_, "a callback before a step"); });
  simulation_->after_each_step([this](Simulation&) { call(after_, "a callback after a step"); });
}

/// Runs `work` with callbacks, and raises what they, or the user by Ctrl-C, have raised meanwhile.
template <class Work>
void Core::guarded(const py::object& before, const py::object& after, Work work) {
  if (!before.is_none() || !after.is_none()) take_callbacks();
  stepped_ = false;
  try {
    const Calls calls(*this, before, after);
    work();
  } catch (const StopAsked&) {
    if (!raised_)
      throw Error("the step was broken off, since another rank was interrupted", "", "",
                  ExitCode::runtime_error);
  } catch (const Error&) {
    if (!raised_) throw;
  }
  if (raised_) throw *std::exchange(raised_, std::nullopt);
  stepped_ = true;
}

void Core::step(const py::object& before, const py::object& after) {
  if (busy_)
    throw Error("a step is under way", "Simulation.step",
                "callbacks look and set, they do not step");
  const std::int64_t callbacks = (before.is_none() ? 0 : 1) + (after.is_none() ? 0 : 2);
  Simulation& sim = enter("Simulation.step", CallHash().add(callbacks));
  sim.watch().asked = [this] {
    if (!raised_ && PyErr_CheckSignals() != 0) raised_.emplace();
    return raised_.has_value();
  };
  guarded(before, after, [&] { sim.step(); });
}

int Core::run(const std::string& directory, bool force, bool quiet, const std::string& command_line,
              const py::object& before, const py::object& after) {
  if (busy_)
    throw Error("a step is under way", "Simulation.run_into", "call it outside of callbacks");
  const std::int64_t callbacks = (before.is_none() ? 0 : 1) + (after.is_none() ? 0 : 2);
  Simulation& sim = enter("Simulation.run_into", CallHash().add(directory).add(callbacks));
  Log log(sim.communicator().rank() == 0, quiet);
  ExitCode code = ExitCode::done;
  guarded(before, after, [&] {
    StopSignals signals;
    RunOptions options;
    options.directory = directory;
    options.force = force;
    options.command_line = command_line;
    options.signals = &signals;
    code = sim.run(options, log);
  });
  return static_cast<int>(code);
}

void Core::checkpoint(const std::string& path) {
  enter("Simulation.checkpoint", CallHash().add(path)).write_checkpoint(path);
}

GlobalId Core::add_body(const std::string& text, const std::string& folder) {
  return enter("Simulation.add_body", CallHash().add(text)).add_body(text, kCaseText, folder);
}

GlobalId Core::add_joint(const std::string& text) {
  return enter("Simulation.add_joint", CallHash().add(text)).add_joint(text, kCaseText);
}

void Core::remove_body(GlobalId body) {
  SceneAccess& scene = enter("Simulation.remove_body", CallHash().add(body)).scene();
  if (const std::vector<std::string> joints = scene.joints_on(body); !joints.empty())
    throw Error(
        "body " + simulation().model().names.name_of(body) + " is held by joint " + joints.front() +
            (joints.size() > 1 ? " and " + std::to_string(joints.size() - 1) + " more" : ""),
        "", "remove its joints first");
  scene.remove_body(body);
}

void Core::remove_joint(GlobalId joint) {
  enter("Simulation.remove_joint", CallHash().add(joint)).scene().remove_joint(joint);
}

void Core::need_step() {
  if (shows_step()) return;
  throw Error(
      "no step has been made yet, the last one failed, or bodies or joints came or went since", "",
      "call step() first");
}

std::vector<double> Core::report() {
  Simulation& sim = enter("Simulation.report");
  need_step();
  const Communicator& comm = sim.communicator();
  const LoopTimes& times = sim.loop_times();
  const double wall = comm.max(times.flow + times.balance + times.step + times.probes);
  std::vector<double> row;
  fill_series_row(sim.stepper().report(), sim.state(), comm.sum(std::ssize(sim.bodies())), wall,
                  sim.work_balance(), row);
  return row;
}

SolveReport Core::solve_report() {
  Simulation& sim = simulation("Simulation.report");
  need_step();
  return sim.stepper().report().solve;
}

py::dict Core::contacts() {
  const Simulation& sim = simulation("Simulation.contacts");
  std::vector<ContactRecord> all;
  if (shows_step())
    for (std::size_t k = 0; k < sim.stepper().n_contacts(); ++k)
      all.push_back(sim.stepper().contact(k));
  const auto vectors = [&](Vec3 ContactRecord::*part) {
    return table<double>(all.size(), 3,
                         [&](std::size_t i, std::size_t k) { return (all[i].*part)[k]; });
  };
  const auto number = [&](std::int32_t ContactKey::*part) {
    return table<std::int32_t>(all.size(), 0,
                               [&](std::size_t i, std::size_t) { return all[i].key.*part; });
  };
  py::dict columns;
  columns["bodies"] = table<std::int64_t>(all.size(), 2, [&](std::size_t i, std::size_t k) {
    return k == 0 ? all[i].key.a : all[i].key.b;
  });
  columns["point"] = vectors(&ContactRecord::point);
  columns["normal"] = vectors(&ContactRecord::normal);
  columns["gap"] =
      table<double>(all.size(), 0, [&](std::size_t i, std::size_t) { return all[i].gap; });
  columns["impulse"] = vectors(&ContactRecord::impulse);
  columns["couple"] = vectors(&ContactRecord::couple);
  columns["feature"] = number(&ContactKey::feature);
  columns["part"] = number(&ContactKey::part);
  return columns;
}

py::dict Core::joint_place(GlobalId id) {
  Simulation& sim = enter("Joint.coordinate", CallHash().add(id));
  const JointMotion place = catena::joint_place(sim, id);
  py::dict found;
  found["coordinate"] = Doubles(3, place.coordinate.data());
  found["rate"] = Doubles(3, place.rate.data());
  return found;
}

py::dict Core::joint_forces(GlobalId id) {
  Simulation& sim = enter("Joint.force", CallHash().add(id));
  need_step();
  const JointForces forces = catena::joint_forces(sim, id);
  py::dict found;
  found["force"] = vector3(forces.force);
  found["torque"] = vector3(forces.torque);
  found["drive"] = table<double>(
      kJointAxes, 3, [&](std::size_t axis, std::size_t k) { return forces.drive[axis][k]; });
  return found;
}

void Core::set_loads(const Integers& ids, const Doubles& forces, const Doubles& torques) {
  const auto n = static_cast<std::size_t>(ids.size());
  for (const Doubles* given : {&forces, &torques})
    if (given->ndim() != 2 || given->shape(0) != ids.size() || given->shape(1) != 3)
      throw Error("has not a row of three numbers for each body", "forces, torques",
                  "give arrays of shape n x 3 for n ids");
  Simulation& sim = enter("Simulation.set_loads", CallHash()
                                                      .add(std::span(ids.data(), n))
                                                      .add(std::span(forces.data(), 3 * n))
                                                      .add(std::span(torques.data(), 3 * n)));
  std::vector<BodyLoad> loads(n);
  for (std::size_t i = 0; i < n; ++i)
    loads[i] = {ids.data()[i], Vec3::Map(forces.data() + 3 * i), Vec3::Map(torques.data() + 3 * i)};
  sim.scene().set_loads(loads);
}

}  // namespace catena::python
