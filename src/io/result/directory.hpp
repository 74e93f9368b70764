// The names in a result directory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace catena {

/// DIR/snapshots/<step, 8 digits>.h5
std::string snapshot_path(const std::string& directory, std::int64_t step);

/// Not collective. Makes probes/ in a result directory; throws as prepare_directory().
void make_probe_directory(const std::string& directory);

/// DIR/probes/<name>.csv
std::string probe_path(const std::string& directory, const std::string& name);

/// Names of the probes whose tables are there, ascending.
std::vector<std::string> list_probes(const std::string& directory);

/// Snapshots that are there, as file names ("00000012.h5"), ascending in step.
std::vector<std::string> list_snapshots(const std::string& directory);

/// Not collective. Makes an empty result directory with snapshots/. If it holds anything:
/// throws Error(bad_input) unless `force`, which removes Catena's own files and leaves others.
/// Throws Error(input_output) if the disk refuses.
void prepare_directory(const std::string& directory, bool force);

/// Not collective. Makes the directory ready for a run to go on after `step`: removes files of
/// later steps and those left half written. One that is not there, or is empty, is made. Throws
/// Error(bad_input) if it holds anything but no bodies.h5, Error(input_output) if the disk refuses.
void resume_directory(const std::string& directory, std::int64_t step);

/// Not collective. Cuts the series after the last whole row up to `step` (its column "step"), by a
/// new file that takes the old one's name; makes it where there is none. Throws Error(bad_input) if
/// its first line is not `header`.
void cut_series(const std::string& path, const std::string& header, std::int64_t step);

}  // namespace catena
