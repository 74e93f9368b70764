#include "catena/base/version.hpp"

namespace catena {

BuildInfo build_info() {
  // CATENA_* come from src/CMakeLists.txt
  return {
    .version = CATENA_VERSION, .git_hash = CATENA_GIT_HASH,
#if defined(__clang__)
    .compiler = "clang++ " __clang_version__,
#else
    .compiler = "g++ " __VERSION__,
#endif
    .build_type = CATENA_BUILD_TYPE, .flags = CATENA_FLAGS,
  };
}

}  // namespace catena
