// Where bodies begin that an earlier run has moved: fixed planes not where the case says, so that
// checkpoints keep where, others by the start of their motion.
#pragma once

#include <span>
#include <vector>

#include "catena/io/checkpoint.hpp"
#include "catena/scenarios/scene_maker.hpp"
#include "catena/simulation/case.hpp"

namespace catena {

/// The start `made` of a kinematic body's motion, moved so that it takes the body through `pose` at
/// time t.
MotionStart start_through(const Model& model, const BodyConstants& body, const MotionStart& made,
                          double t, const Pose& pose);

/// Puts them into the notes of a checkpoint: on rank 0.
void keep_starts(const Communicator& comm, std::span<const MovedStart> starts,
                 CheckpointNotes& notes);
/// Collective. Those of a checkpoint's notes, on every rank.
std::vector<MovedStart> kept_starts(const Communicator& comm, const CheckpointNotes& notes);

/// Collective. The case's model with these starts.
Model make_model_with(const Communicator& comm, const CaseSettings& settings,
                      std::span<const MovedStart> starts);

}  // namespace catena
