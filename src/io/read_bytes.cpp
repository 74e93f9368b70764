#include "catena/io/read_bytes.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>

#include "catena/base/error.hpp"

namespace catena {

std::string read_bytes(const std::string& path) {
  const auto fail = [&](const std::string& found, const std::string& fix) {
    throw Error(found, path, fix, ExitCode::input_output);
  };
  std::error_code error;
  if (!std::filesystem::exists(path, error)) fail("no such file", "check the path");
  if (std::filesystem::is_directory(path, error)) fail("is a directory", "name a file");
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  if (!stream ||
      (stream.peek() != std::ifstream::traits_type::eof() && !(text << stream.rdbuf()))) {
    fail("cannot be read", "check its permissions");
  }
  return text.str();
}

}  // namespace catena
