// What a file of Catena's, or a problem file, holds.
#pragma once

#include <string>

namespace catena {

/// Not collective. Text for people: what a result (result.h5 or its directory), a snapshot,
/// bodies.h5, a checkpoint (whose checksums are verified) or an FCLIB problem holds, with its
/// provenance where it has one, of its texts of several lines (the case with all defaults) their
/// length or, if `whole`, they themselves. Throws Error(input_output) if the file cannot be read or
/// is none of these.
std::string describe_file(const std::string& path, bool whole = false);

/// Version of the HDF5 library, for --version and provenance.
std::string hdf5_version();

/// Collective over the ranks that write together: ends HDF5, if it was used. No file may be left.
void end_files();

}  // namespace catena
