// DIR/vtk: the names in it, and its indices of snapshots (.pvd).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace catena::vtk {

inline constexpr std::array<const char*, 5> kKinds = {"spheres", "surfaces", "contacts", "chains",
                                                      "joints"};

std::string folder_of(const std::string& directory);

/// KIND-<step, 8 digits>, of a snapshot's files of a kind.
std::string stem_of(const std::string& kind, std::int64_t step);

/// A snapshot in the index of a kind.
struct Entry {
  std::int64_t step = 0;
  std::string time;  ///< s
  std::string file;  ///< in the folder
};

/// Not collective. What the index of a kind names, none where it is not there.
std::vector<Entry> read_entries(const std::string& directory, const std::string& kind);
/// Not collective. Throws Error(input_output).
void write_entries(const std::string& directory, const std::string& kind,
                   const std::vector<Entry>& entries);

/// Not collective. Removes what Catena has written there, also of snapshots whose writing was
/// broken off. Throws std::filesystem::filesystem_error, as the next one.
void clear_folder(const std::string& directory);
/// Not collective. Makes the folder, where there is one, ready for a run to go on after `step`:
/// indices lose the snapshots after it, and files that no index names are removed.
void resume_folder(const std::string& directory, std::int64_t step);

}  // namespace catena::vtk
