// Files that appear whole or not at all.
#pragma once

#include <cstdint>
#include <string>

namespace catena {

/// The name under which a file is written before it gets its own.
std::string part_name(const std::string& path);

/// Not collective. Makes sure that the disk has room for a part file of `bytes`: reserves it
/// and gives it back. Throws Error(input_output) if not (full, over quota, limit).
void check_room(const std::string& path, std::int64_t bytes);

/// Not collective. Syncs the finished part file, gives it its name, and syncs the directory.
/// Throws Error(input_output).
void publish(const std::string& path);

/// Not collective. Syncs a file or directory that is there. Throws Error(input_output).
void sync_to_disk(const std::string& path);

/// Not collective. Throws Error(input_output) with `what` and the system's reason.
[[noreturn]] void fail_with_errno(const std::string& path, const std::string& what);

}  // namespace catena
