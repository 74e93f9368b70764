#include "io/atomic_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "catena/base/error.hpp"

namespace catena {

void fail_with_errno(const std::string& path, const std::string& what) {
  throw Error(what + ": " + std::strerror(errno), path, {}, ExitCode::input_output);
}

std::string part_name(const std::string& path) { return path + ".part"; }

void sync_to_disk(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) fail_with_errno(path, "cannot be opened to sync it");
  const int status = ::fsync(file);
  const int reason = errno;
  ::close(file);
  // Some file systems do not sync directories; that is no loss of data already synced.
  if (status != 0 && reason != EINVAL) {
    errno = reason;
    fail_with_errno(path, "cannot be synced");
  }
}

void publish(const std::string& path) {
  sync_to_disk(part_name(path));
  if (std::rename(part_name(path).c_str(), path.c_str()) != 0)
    fail_with_errno(path, "cannot be given its name");
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  sync_to_disk(parent.empty() ? "." : parent.string());
}

}  // namespace catena
