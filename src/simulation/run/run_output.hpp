// What a run writes of its state: provenance, contacts and joints of a snapshot.
#pragma once

#include <string>
#include <vector>

#include "catena/io/result_writer.hpp"
#include "catena/simulation/series.hpp"
#include "catena/simulation/simulation.hpp"

namespace catena {

/// Collective. Names of the hosts, each once, a blank between.
std::string host_names(const Communicator& comm);

/// Collective. Of a resumed run: that of its start, with an entry more for what was resumed.
Provenance provenance(const Simulation& sim, const RunOptions& options);

/// Collective. What a checkpoint of the run holds beside the state.
CheckpointNotes checkpoint_notes(const Simulation& sim, const Provenance& provenance);

/// Contact problems in a result directory: dumps that the run has made.
int count_dumps(const std::string& directory);

/// This rank's contacts and joints after a step.
std::vector<ContactRecord> contact_records(const TimeStepper& stepper);
std::vector<JointRecord> joint_records(const Simulation& sim);

}  // namespace catena
