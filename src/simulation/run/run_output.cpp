#include "simulation/run/run_output.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <initializer_list>
#include <string_view>

#include "catena/base/text.hpp"
#include "catena/base/version.hpp"
#include "catena/io/yaml_settings.hpp"
#include "simulation/initial/added_names.hpp"
#include "simulation/initial/moved_starts.hpp"

namespace catena {

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

namespace {

struct SeriesValue {
  std::string_view name, unit;
  double value;
};

/// Calls take(value) for each column of the series in their order.
template <class Take>
void for_each_series_value(const StepReport& r, const State& state, std::int64_t bodies,
                           double wall, const WorkBalance& balance, Take take) {
  const auto number = [](auto count) { return static_cast<double>(count); };
  const Errors& e = r.solve.errors;
  const auto take_all = [&](std::initializer_list<SeriesValue> values) {
    for (const SeriesValue& value : values) take(value);
  };
  take_all({{"time", "s", state.time},
            {"step", "1", number(state.step)},
            {"kinetic_energy", "J", r.kinetic},
            {"potential_energy", "J", r.potential}});
  for (const EnergyTermEntry& term : kEnergyTerms)
    if (term.in_steps) take({term.name, "J", r.audit[term.term]});
  take_all({{"flow_energy", "J", r.audit[EnergyTerm::flow_energy]},
            {"energy_residual", "J", r.energy_residual},
            {"error_energy", "J", e.energy},
            {"error_normal", "J", e.energy_normal},
            {"error_friction", "J", e.energy_friction},
            {"error_natural_map", "m/s", e.natural_map},
            {"error_natural_map_rms", "m/s", e.natural_map_rms},
            {"error_joint", "J", e.energy_joint},
            {"error_limit", "J", e.energy_limit},
            {"cone_violation", "N s", e.cone_violation},
            {"joint_misfit", "m", r.misfit.linear},
            {"joint_misfit_angular", "rad", r.misfit.angular},
            {"stiffened", "1", number(r.stiffened)},
            {"bodies", "1", number(bodies)},
            {"inserted", "1", number(state.flow.inserted)},
            {"removed", "1", number(state.flow.removed)},
            {"inserted_mass", "kg", state.flow.inserted_mass},
            {"removed_mass", "kg", state.flow.removed_mass},
            {"broken_joints", "1", number(state.broken_joints)},
            {"contacts", "1", number(r.contacts)},
            {"penetration", "m", r.penetration},
            {"overlap_largest", "1", r.overlap_largest},
            {"overlap_mean", "1", r.overlap_mean},
            {"lag_error", "1", r.lag_error},
            {"lag_opening", "1", number(r.lag_opening)},
            {"iterations", "1", number(r.solve.iterations)},
            {"momentum_x", "kg m/s", r.linear_momentum[0]},
            {"momentum_y", "kg m/s", r.linear_momentum[1]},
            {"momentum_z", "kg m/s", r.linear_momentum[2]},
            {"angular_momentum_x", "kg m^2/s", r.angular_momentum[0]},
            {"angular_momentum_y", "kg m^2/s", r.angular_momentum[1]},
            {"angular_momentum_z", "kg m^2/s", r.angular_momentum[2]},
            {"step_wall_s", "s", wall},
            {"imbalance", "1", balance.all},
            {"imbalance_contacts", "1", balance.contacts},
            {"imbalance_joints", "1", balance.joints}});
}

}  // namespace

std::vector<SeriesColumn> series_columns() {
  std::vector<SeriesColumn> columns;
  for_each_series_value({}, {}, 0, 0.0, {}, [&](const SeriesValue& v) {
    columns.push_back({std::string(v.name), std::string(v.unit)});
  });
  return columns;
}

void fill_series_row(const StepReport& report, const State& state, std::int64_t bodies, double wall,
                     const WorkBalance& balance, std::vector<double>& row) {
  row.clear();
  for_each_series_value(report, state, bodies, wall, balance,
                        [&](const SeriesValue& v) { row.push_back(v.value); });
}

Provenance provenance(const Simulation& sim, const RunOptions& options) {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm utc{};
  gmtime_r(&now, &utc);
  std::array<char, 32> start{};
  std::strftime(start.data(), start.size(), "%Y-%m-%dT%H:%M:%SZ", &utc);
  std::string start_text(start.data());
  sim.communicator().broadcast(0, start_text);
  const std::string parent = options.resumed ? options.resumed->path : sim.earlier_checkpoint();
  Provenance here = {{"version", std::string(version())},
                     {"git_hash", std::string(git_hash())},
                     {"build", build_description()},
                     {"mpi", mpi_version()},
                     {"command_line", options.command_line},
                     {"config", print_case(sim.settings())},
                     {"hosts", host_names(sim.communicator())},
                     {"ranks", std::to_string(sim.communicator().size())},
                     {"start_time", start_text},
                     {"parent_checkpoint", parent},
                     {"petsc_options", to_string(sim.settings().solver.petsc)}};
  // a program's own checkpoint is of no run: that begins here
  if (!options.resumed || options.resumed->notes.provenance.empty()) return here;
  Provenance all = options.resumed->notes.provenance;
  std::string text;
  for (const auto& [name, value] : here) {
    // of the config only what is not as at the start
    if (name != "config") text += name + ": " + value + "\n";
  }
  const auto config = std::find_if(all.begin(), all.end(),
                                   [](const auto& entry) { return entry.first == "config"; });
  if (config != all.end())
    for (const ChangedKey& change : changed_keys(config->second, print_case(sim.settings())))
      text += change.key + ": " + change.after + " (at the start " + change.before + ")\n";
  // several resumes may go on from one checkpoint
  const std::string name = "resumed-" + step_text(options.resumed->step);
  std::string unique = name;
  for (int k = 2;
       std::ranges::any_of(all, [&](const auto& entry) { return entry.first == unique; }); ++k)
    unique = name + "-" + std::to_string(k);
  all.emplace_back(unique, text);
  return all;
}

CheckpointNotes checkpoint_notes(const Simulation& sim, const Provenance& provenance) {
  CheckpointNotes notes;
  notes.config = print_case(sim.settings());
  notes.provenance = provenance;
  notes.n_parts = sim.number_of_parts();
  keep_starts(sim.communicator(), sim.moved_starts(), notes);
  keep_names(sim.communicator(), sim.model(), notes);
  return notes;
}

void Simulation::write_checkpoint(const std::string& path) const {
  catena::write_checkpoint(comm_, path, checkpoint_notes(*this, {}), bodies_, state_);
}

int count_dumps(const std::string& directory) {
  int count = 0;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(directory, none)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("step-") && name.ends_with(".hdf5")) ++count;
  }
  return count;
}

std::vector<ContactRecord> contact_records(const TimeStepper& stepper) {
  std::vector<ContactRecord> records;
  records.reserve(stepper.n_contacts());
  for (std::size_t k = 0; k < stepper.n_contacts(); ++k) records.push_back(stepper.contact(k));
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
      record.reaction[i] = reaction.impulse[i];
      record.reaction[i + 3] = reaction.couple[i];
    }
    for (std::size_t axis = 0; axis < kJointAxes; ++axis)
      std::ranges::copy(state.drive[axis], record.drive.begin() + (3 * axis));
    record.coordinate = stepper.joint_coordinates(sim.bodies(), sim.state(), j);
  }
  return records;
}

}  // namespace catena
