#include "simulation/run/run_output.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <filesystem>

#include "catena/base/text.hpp"
#include "catena/base/version.hpp"
#include "catena/io/yaml_settings.hpp"

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

std::array<double, 3> numbers(const Vec3& v) { return {v.x(), v.y(), v.z()}; }

}  // namespace

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
          {"cone_violation", "N s"},
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
          e.cone_violation,
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

Provenance provenance(const Simulation& sim, const RunOptions& options) {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm utc{};
  gmtime_r(&now, &utc);
  std::array<char, 32> start{};
  std::strftime(start.data(), start.size(), "%Y-%m-%dT%H:%M:%SZ", &utc);
  std::string start_text(start.data());
  sim.communicator().broadcast(0, start_text);
  Provenance here = {{"version", std::string(version())},
                     {"git_hash", std::string(git_hash())},
                     {"build", build_description()},
                     {"mpi", mpi_version()},
                     {"command_line", options.command_line},
                     {"config", print_case(sim.settings())},
                     {"hosts", host_names(sim.communicator())},
                     {"ranks", std::to_string(sim.communicator().size())},
                     {"start_time", start_text},
                     {"parent_checkpoint", options.resumed ? options.resumed->path : ""},
                     {"petsc_options", to_string(sim.settings().solver.petsc)}};
  if (!options.resumed) return here;
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
  for (int k = 2; std::any_of(all.begin(), all.end(),
                              [&](const auto& entry) { return entry.first == unique; });
       ++k)
    unique = name + "-" + std::to_string(k);
  all.emplace_back(unique, text);
  return all;
}

CheckpointNotes checkpoint_notes(const Simulation& sim, const Provenance& provenance) {
  CheckpointNotes notes;
  notes.config = print_case(sim.settings());
  notes.provenance = provenance;
  notes.n_parts = sim.number_of_parts();
  return notes;
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
      record.reaction[i] = reaction.impulse[i];
      record.reaction[i + 3] = reaction.couple[i];
    }
    for (std::size_t axis = 0; axis < kJointAxes; ++axis)
      std::copy(state.drive[axis].begin(), state.drive[axis].end(),
                record.drive.begin() + (3 * axis));
    record.coordinate = stepper.joint_coordinates(sim.bodies(), sim.state(), j);
  }
  return records;
}

}  // namespace catena
