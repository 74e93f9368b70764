// Checkpoints that runs go on from, and the cases in them.
#pragma once

#include <string>
#include <vector>

#include "catena/io/checkpoint.hpp"
#include "catena/simulation/case.hpp"

namespace catena {

struct FoundCheckpoint {
  Checkpoint checkpoint;
  std::string path;
  std::vector<std::string> damaged;  ///< what was wrong with newer ones
};

/// Collective. The newest checkpoint in `directory` that is whole. Throws Error on every rank:
/// bad_input at `where` with the remedy `fix` if there is none, input_output if none can be read.
FoundCheckpoint newest_checkpoint(const Communicator& comm, const std::string& directory,
                                  const std::string& where, const std::string& fix);

/// The case of a checkpoint; keys that are new in this build have their defaults. Tables of motions
/// were cubic before they had a key `interpolation`.
CaseSettings case_of(const std::string& config, const std::string& path);

}  // namespace catena
