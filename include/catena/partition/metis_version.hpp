// Which METIS splits the graphs.
#pragma once

#include <string>

namespace catena {

/// As "5.1.0", for --version and provenance.
std::string metis_version();

}  // namespace catena
