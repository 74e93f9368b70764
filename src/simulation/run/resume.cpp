// A simulation that goes on from a checkpoint.
#include <algorithm>
#include <utility>

#include "catena/base/error.hpp"
#include "catena/base/timer.hpp"
#include "catena/io/yaml_settings.hpp"
#include "catena/partition/balance.hpp"
#include "catena/partition/impulse_homes.hpp"
#include "catena/partition/joint_links.hpp"
#include "catena/simulation/simulation.hpp"
#include "simulation/initial/added_names.hpp"
#include "simulation/initial/find_checkpoint.hpp"
#include "simulation/initial/moved_starts.hpp"

namespace catena {

namespace {

constexpr const char* kCheckpoint = "checkpoint";

/// What bodies and joints name must be there in the case's model: its files may have changed.
void check_bodies(const Model& model, const Bodies& bodies) {
  const auto within = [](auto place, std::size_t n) {
    return place < 0 || static_cast<std::size_t>(place) < n;
  };
  for (const BodyConstants& body : bodies.constants) {
    if (within(body.shape.geometry, model.geometries.size()) &&
        (body.shape.type == ShapeType::none ||
         within(body.material, model.materials.materials().size())) &&
        within(body.motion, model.motions.size()) && body.group < model.n_groups)
      continue;
    throw Error("body " + model.names.name_of(body.id) + " has a shape, material or motion that " +
                    "the case does not have",
                kCheckpoint, "resume with the case and the files that the run began with");
  }
  for (const JointConstants& joint : bodies.joints)
    for (const JointAxis& axis : joint.axis)
      if (!within(axis.table, model.tables.size()))
        throw Error(
            "joint " + joint_name(model, joint.id) + " has a table that the case does not have",
            kCheckpoint, "resume with the case and the files that the run began with");
}

}  // namespace

Simulation::Simulation(const Communicator& comm, const CaseSettings& settings,
                       Checkpoint& checkpoint)
    : comm_(comm),
      settings_(settings),
      starts_(kept_starts(comm, checkpoint.notes)),
      model_(make_model_with(comm, settings, starts_)),
      warnings_(model_.warnings),
      changes_(comm_, settings_, model_),
      probes_(comm_, settings_.probes, settings_, model_, settings_.time.step),
      stop_when_(settings_.stop_when, probes_, settings_.stop_when_place),
      controls_(comm_, settings_.controllers, settings_, model_, probes_, settings_.time.step),
      scene_(comm_, model_, settings_.time.stepper == StepperKind::natural, bodies_, state_,
             [this] { note_change(); }) {
  const double start_wall = wall_seconds();
  begin();
  take_names(comm, checkpoint.notes, model_);
  bodies_ = std::move(checkpoint.bodies);
  state_ = std::move(checkpoint.state);
  all_or_none(comm_, [&] {
    check_bodies(model_, bodies_);
    if (!changes_.belongs_to(state_))
      throw Error("has other insertions or outflows than the case", kCheckpoint);
    if (!probes_.belongs_to(state_)) throw Error("has other probes than the case", kCheckpoint);
    if (!controls_.belongs_to(state_))
      throw Error("has other controllers than the case", kCheckpoint);
  });
  stepper_ = make_stepper();
  restore_places(checkpoint);
  setup_seconds_ = comm_.max(wall_seconds() - start_wall);
}

void Simulation::restore_places(const Checkpoint& checkpoint) {
  const bool same_ranks = checkpoint.ranks == comm_.size();
  const int n_parts = number_of_parts();
  const bool same_parts = model_.deterministic || checkpoint.notes.n_parts == n_parts;
  if (same_ranks && same_parts) {
    link_joints(comm_, bodies_);
    return;
  }
  // the work of ranks is another; when tiles are made anew is not for the ranks to decide
  const BalanceSums before = std::exchange(state_.balance, {});
  if (model_.deterministic) {
    state_.balance.bodies = before.bodies;
    state_.balance.flowed = before.flowed;
  }
  bring_impulses_home(comm_, bodies_, state_);
  if (model_.deterministic) {
    const std::vector<int> tile = state_.subdomain;
    const auto last = tile.empty() ? 0 : *std::max_element(tile.begin(), tile.end());
    const int n_tiles = narrow<int>(comm_.max(std::int64_t{last})) + 1;
    migrate(comm_, bodies_, state_, tile, n_tiles);
    const std::vector<int> moved = state_.subdomain;  // of the bodies that are here now
    deal_present_tiles(moved, n_tiles);
  } else if (same_parts) {
    const std::vector<int> part = state_.subdomain;
    migrate(comm_, bodies_, state_, part, n_parts);
  } else {
    migrate(comm_, bodies_, state_, partition_by_curve(comm_, bodies_, state_, n_parts), n_parts);
    distribute();
  }
}

namespace {

/// Keys that may differ from those of the checkpoint: what they change is not of the state.
bool may_change(const std::string& key, bool deterministic) {
  if (key == "parallel.deterministic") return false;
  // tiles are of the state
  if (deterministic && (key == "parallel.rebalance_steps" || key == "parallel.tile_bodies"))
    return false;
  for (const char* section : {"time.end", "stop_when", "solver", "parallel", "output", "initial"}) {
    const std::string name = section;
    if (key == name || key.starts_with(name + ".")) return true;
  }
  return false;
}

void check_case(const std::string& before, const CaseSettings& settings, const std::string& path) {
  constexpr int kMaxNamed = 10;
  std::string found;
  int n = 0;
  for (const ChangedKey& change : changed_keys(before, print_case(settings))) {
    if (may_change(change.key, settings.parallel.deterministic) || ++n > kMaxNamed) continue;
    found += (found.empty() ? "" : "; ") + change.key + " was " + change.before + ", is now " +
             change.after;
  }
  if (n > kMaxNamed) found += "; and " + std::to_string(n - kMaxNamed) + " more keys";
  if (!found.empty())
    throw Error("the case is not that of the checkpoint " + path + ": " + found, "--resume",
                "only time.end, stop_when, solver, parallel and output may change; run the new "
                "case without "
                "--resume");
}

}  // namespace

std::unique_ptr<Simulation> resume(const Communicator& comm, const CaseSettings& settings,
                                   const std::string& file, RunOptions& options, Log& log) {
  FoundCheckpoint found;
  if (file.empty()) {
    found = newest_checkpoint(comm, options.directory, "--resume", "run the case without --resume");
  } else {
    found = {read_checkpoint(comm, file), file, {}};
  }
  for (const std::string& warning : found.damaged) log.warning(warning);
  Checkpoint& checkpoint = found.checkpoint;
  CaseSettings whole = settings;
  all_or_none(comm, [&] {
    const CaseSettings before = case_of(checkpoint.notes.config, found.path);
    check_case(print_case(before), settings, found.path);
    // what the run began with is in its state, whatever the command line says of it now
    whole.initial = before.initial;
  });
  auto simulation = std::make_unique<Simulation>(comm, whole, checkpoint);
  options.resumed = {found.path, checkpoint.ranks, simulation->state().step,
                     std::move(checkpoint.notes)};
  return simulation;
}

}  // namespace catena
