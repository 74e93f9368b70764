// One file written by all ranks.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "io/hdf5/file.hpp"

namespace catena {

/// Collective. Writes a file of about `bytes` under its part name and publishes it; `write` is
/// called on every rank.
///
/// HDF5 and MPI cannot be brought back in step once a collective write has failed on some
/// ranks: the others wait in it, and the file can no longer be closed. So room on the disk is
/// made sure of first, with an Error on every rank where there is none; a write that fails all
/// the same ends all ranks at once, with the exit code for input and output.
void write_together(const Communicator& comm, const std::string& path, std::uint64_t bytes,
                    const std::function<void(hdf5::File&)>& write,
                    hdf5::Format format = hdf5::Format::oldest);

/// The first half of it: the file stands under its part name.
void write_part(const Communicator& comm, const std::string& path, std::uint64_t bytes,
                const std::function<void(hdf5::File&)>& write,
                hdf5::Format format = hdf5::Format::oldest);
/// Collective. The other half.
void publish_together(const Communicator& comm, const std::string& path);

}  // namespace catena
