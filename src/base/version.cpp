#include "catena/base/version.hpp"

namespace catena {

// CATENA_* come from src/CMakeLists.txt

std::string_view version() { return CATENA_VERSION; }

std::string_view git_hash() { return CATENA_GIT_HASH; }

std::string build_description() {
#if defined(__clang__)
  const std::string compiler = "clang++ " __clang_version__;
#else
  const std::string compiler = "g++ " __VERSION__;
#endif
  return compiler + ", " CATENA_BUILD_TYPE ", " CATENA_FLAGS;
}

}  // namespace catena
