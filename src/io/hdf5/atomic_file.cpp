#include "io/hdf5/atomic_file.hpp"

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

void check_room(const std::string& path, std::int64_t bytes) {
  const std::string part = part_name(path);
  const int file = ::open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) fail_with_errno(path, "cannot be created");
  const int status = ::fallocate(file, 0, 0, static_cast<off_t>(bytes));
  const int reason = errno;
  ::close(file);
  // Where the file system cannot reserve, the write itself has to find out.
  if (status == 0 || reason == EOPNOTSUPP || reason == ENOSYS) return;
  std::remove(part.c_str());
  errno = reason;
  fail_with_errno(path, "there is no room for its " + std::to_string(bytes) + " bytes");
}

void publish(const std::string& path) {
  sync_to_disk(part_name(path));
  if (std::rename(part_name(path).c_str(), path.c_str()) != 0)
    fail_with_errno(path, "cannot be given its name");
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  sync_to_disk(parent.empty() ? "." : parent.string());
}

}  // namespace catena
