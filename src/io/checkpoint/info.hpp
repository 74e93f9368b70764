// What `catena info` asks of a checkpoint.
#pragma once

#include <cstdint>
#include <string>

#include "catena/io/result_writer.hpp"
#include "io/hdf5/file.hpp"

namespace catena {

/// What a checkpoint holds.
struct CheckpointSummary {
  std::int64_t ranks = 0, n_parts = 0;
  std::int64_t bodies = 0, joints = 0, impulses = 0, couples = 0;
  std::string git_hash;
  Provenance provenance;  ///< from the head, which has a checksum: its attributes have none
  bool readable = false;  ///< this build could resume it
};

/// Not collective. Verifies every checksum, piece by piece. Throws Error(input_output) if the file
/// is damaged or of another version.
CheckpointSummary summarise_checkpoint(const hdf5::File& file);

}  // namespace catena
