// The manual of the case file, from the description that reads it.
#pragma once

#include <string>

namespace catena {

/// docs/configuration.md.
std::string configuration_manual();

}  // namespace catena
