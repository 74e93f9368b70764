// What the running binary was built from and how: for --version and provenance.
#pragma once

#include <string>
#include <string_view>

namespace catena {

/// "0.2.0"
std::string_view version();

/// Commit when the build was configured: 12 digits, "-dirty" appended if files differed
/// from it; "unknown" outside git.
std::string_view git_hash();

/// Compiler, build type, and the flags that change code: "g++ 12.2.0, Release, -O3 -DNDEBUG".
std::string build_description();

}  // namespace catena
