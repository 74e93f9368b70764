// What the running binary was built from and how: for --version and provenance.
#pragma once

#include <string_view>

namespace catena {

/// Fixed when the build was configured, but for the compiler.
struct BuildInfo {
  std::string_view version;  ///< "0.1.0"
  std::string_view
      git_hash;  ///< 12 digits, "-dirty" appended if files differed; "unknown" outside git
  std::string_view compiler;    ///< "g++ 12.2.0"
  std::string_view build_type;  ///< "Release"
  std::string_view flags;       ///< those that change code, warnings left out
};

BuildInfo build_info();

}  // namespace catena
