// Bodies with a motion, and planes, that start where an earlier run left them: not where the case
// says, so that checkpoints keep where.
#pragma once

#include <span>
#include <vector>

#include "catena/io/checkpoint.hpp"
#include "catena/scenarios/scene_maker.hpp"
#include "catena/simulation/case.hpp"

namespace catena {

/// Motion::start with which the motion of a kinematic body takes it through `pose` at time t.
Pose start_through(const Model& model, const BodyConstants& body, double t, const Pose& pose);

/// Puts them into the notes of a checkpoint: on rank 0.
void keep_starts(const Communicator& comm, std::span<const MovedStart> starts,
                 CheckpointNotes& notes);
/// Collective. Those of a checkpoint's notes, on every rank.
std::vector<MovedStart> kept_starts(const Communicator& comm, const CheckpointNotes& notes);

/// Collective. The case's model with these starts.
Model make_model_with(const Communicator& comm, const CaseSettings& settings,
                      std::span<const MovedStart> starts);

}  // namespace catena
