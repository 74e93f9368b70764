// The format of the files of a result: what writer and readers agree on (docs/versions.md).
#pragma once

#include <string>

#include "io/hdf5/file.hpp"

namespace catena {

/// Of catena-result, catena-bodies and catena-snapshot. It grows when a reader of the version
/// before would misread a file; further datasets and attributes leave it.
inline constexpr std::int64_t kResultVersion = 1;

/// Writes the file's format and version.
void mark_format(hdf5::File& file, const std::string& format);

/// Throws Error where the file is of a newer version than this program reads.
void refuse_newer(const hdf5::File& file);

}  // namespace catena
