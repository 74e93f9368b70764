#include "io/result_directory.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "catena/base/error.hpp"

namespace catena {
namespace {

namespace fs = std::filesystem;

/// True for prefix + digits + suffix.
bool is_numbered(std::string_view name, std::string_view prefix, std::string_view suffix) {
  if (!name.starts_with(prefix) || !name.ends_with(suffix)) return false;
  name.remove_prefix(prefix.size());
  if (name.size() <= suffix.size()) return false;
  name.remove_suffix(suffix.size());
  return std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isdigit(c); });
}

bool is_snapshot(std::string_view name) { return is_numbered(name, "", ".h5"); }

/// Files that Catena makes in a result directory, finished or not.
bool is_own(std::string_view name) {
  if (name.ends_with(".part")) name.remove_suffix(5);
  constexpr std::array<std::string_view, 5> kFixed = {"bodies.h5", "result.h5", "result.xdmf",
                                                      "series.csv", "log.jsonl"};
  return std::find(kFixed.begin(), kFixed.end(), name) != kFixed.end() ||
         is_numbered(name, "checkpoint-", ".h5") || is_numbered(name, "step-", ".hdf5") ||
         is_numbered(name, "blow-up-", ".hdf5");
}

bool is_own_snapshot(std::string_view name) {
  if (name.ends_with(".part")) name.remove_suffix(5);
  return is_snapshot(name);
}

void remove_own(const fs::path& directory, bool (*own)(std::string_view)) {
  std::vector<fs::path> found;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory))
    if (entry.is_regular_file() && own(entry.path().filename().string()))
      found.push_back(entry.path());
  for (const fs::path& path : found) fs::remove(path);
}

}  // namespace

std::string snapshot_path(const std::string& directory, std::int64_t step) {
  std::array<char, 32> name{};
  std::snprintf(name.data(), name.size(), "%08lld", static_cast<long long>(step));
  return directory + "/snapshots/" + name.data() + ".h5";
}

std::vector<std::string> list_snapshots(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code none;
  for (const fs::directory_entry& entry :
       fs::directory_iterator(fs::path(directory) / "snapshots", none)) {
    const std::string name = entry.path().filename().string();
    if (is_snapshot(name)) names.push_back(name);
  }
  std::sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
    return std::pair(a.size(), a) < std::pair(b.size(), b);
  });
  return names;
}

void prepare_directory(const std::string& directory, bool force) {
  try {
    const fs::path path(directory);
    if (fs::exists(path)) {
      if (!fs::is_directory(path))
        throw Error("is a file, where the result's directory should be", directory,
                    "choose another with -o", ExitCode::input_output);
      if (!fs::is_empty(path) && !force)
        throw Error("holds files already, and nothing is overwritten", directory,
                    "choose another directory with -o, or replace the result with --force");
      remove_own(path, is_own);
      if (fs::is_directory(path / "snapshots")) remove_own(path / "snapshots", is_own_snapshot);
    }
    fs::create_directories(path / "snapshots");
  } catch (const fs::filesystem_error& error) {
    throw Error("cannot be prepared for a result: " + error.code().message(), directory, {},
                ExitCode::input_output);
  }
}

}  // namespace catena
