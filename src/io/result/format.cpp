#include "io/result/format.hpp"

#include <cstdlib>

#include "catena/base/error.hpp"

namespace catena {

void mark_format(hdf5::File& file, const std::string& format) {
  file.set_attribute("/", "format", format);
  file.set_attribute("/", "format_version", kResultVersion);
}

void refuse_newer(const hdf5::File& file) {
  const std::string version = file.attribute_text("/", "format_version");
  if (std::strtoll(version.c_str(), nullptr, 10) <= kResultVersion) return;
  std::string fix = "take the Catena that wrote it";
  if (file.exists("/provenance"))
    fix += ", version " + file.attribute_text("/provenance", "version");
  throw Error("was written by a newer Catena, format " + version + "; this program reads up to " +
                  std::to_string(kResultVersion),
              file.path(), fix, ExitCode::input_output);
}

}  // namespace catena
