// Whole files in memory.
#pragma once

#include <string>

namespace catena {

/// The bytes of a file. Throws Error(input_output) naming it.
std::string read_bytes(const std::string& path);

}  // namespace catena
