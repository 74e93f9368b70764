// Names of bodies and joints that a program has added, as checkpoints keep them.
#pragma once

#include "catena/io/checkpoint.hpp"
#include "catena/model/model.hpp"

namespace catena {

/// Puts them into the notes of a checkpoint: on rank 0.
void keep_names(const Communicator& comm, const Model& model, CheckpointNotes& notes);
/// Collective. Gives a case's model those of a checkpoint's notes.
void take_names(const Communicator& comm, const CheckpointNotes& notes, Model& model);

}  // namespace catena
