// Checkpoints: all that a run needs to go on, in one file (docs/design/0009-checkpoints.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "catena/comm/communicator.hpp"
#include "catena/io/result_writer.hpp"
#include "catena/model/state.hpp"

namespace catena {

/// What stands in a checkpoint beside bodies and state.
struct CheckpointNotes {
  std::string config;     ///< the resolved case, as print_case gives it
  Provenance provenance;  ///< of the run from its start, with what was resumed
  int n_parts = 0;        ///< subdomains over all ranks: what State::subdomain counts
  /// This rank's bytes, by name: what the result writer keeps (kept()). On another number of ranks
  /// those of a rank come to one rank as they are, so that a name may be there more than once.
  std::vector<std::pair<std::string, std::vector<std::byte>>> kept;
};

/// A checkpoint as it was read: this rank's share.
struct Checkpoint {
  CheckpointNotes notes;
  int ranks = 0;  ///< that wrote it
  Bodies bodies;  ///< links are still to be made (link_joints, or migrate)
  State state;
};

/// Collective. Writes the state under a temporary name, syncs and renames it. `notes` are the same
/// on every rank but for `kept`. The columns of bodies and joints, impulses, couples and scalars
/// are those of the list in model/state.hpp; every dataset has a checksum. Throws
/// Error(input_output) on every rank.
void write_checkpoint(const Communicator& comm, const std::string& path,
                      const CheckpointNotes& notes, const Bodies& bodies, const State& state);

/// Collective. On as many ranks as wrote the file each gets back what it had, in the same order.
/// On any other number each gets an equal part of the rows of every column: impulses, couples and
/// joints are then not yet with the bodies that they belong to. Scalars are rank 0's then. Throws
/// Error(input_output) on every rank if the file cannot be read, was damaged (every checksum is
/// verified) or comes from a build with other records.
Checkpoint read_checkpoint(const Communicator& comm, const std::string& path);

/// Not collective. DIRECTORY/checkpoint-<8 digits>.h5
std::string checkpoint_path(const std::string& directory, std::int64_t step);
/// Not collective. Steps of the checkpoints in a directory, ascending; not verified.
std::vector<std::int64_t> list_checkpoints(const std::string& directory);
/// Not collective. Removes all but the last two.
void drop_old_checkpoints(const std::string& directory);

}  // namespace catena
