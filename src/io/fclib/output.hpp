// What writing FCLIB problems and their solutions share.
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>

#include "catena/comm/typed_exchange.hpp"
#include "io/hdf5/atomic_file.hpp"
#include "io/hdf5/file.hpp"

namespace catena {

inline void write_vector(hdf5::File& file, const std::string& name,
                         std::span<const double> values) {
  const std::array<std::uint64_t, 1> extents = {values.size()};
  file.write(name, values, extents);
}

/// Not collective. Writes a file under its part name and publishes it.
template <class Write>
void write_alone(const std::string& path, Write write) {
  try {
    hdf5::File file = hdf5::File::create(part_name(path));
    write(file);
    file.close();
    publish(path);
  } catch (...) {
    std::remove(part_name(path).c_str());
    throw;
  }
}

}  // namespace catena
