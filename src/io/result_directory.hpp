// The names in a result directory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace catena {

/// DIR/snapshots/<step, 8 digits>.h5
std::string snapshot_path(const std::string& directory, std::int64_t step);

/// Snapshots that are there, as file names ("00000012.h5"), ascending in step.
std::vector<std::string> list_snapshots(const std::string& directory);

/// Not collective. Makes an empty result directory with snapshots/. If it holds anything:
/// throws Error(bad_input) unless `force`, which removes Catena's own files and leaves others.
/// Throws Error(input_output) if the disk refuses.
void prepare_directory(const std::string& directory, bool force);

}  // namespace catena
