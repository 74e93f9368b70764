#include "io/result/directory.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <system_error>

#include "catena/base/error.hpp"
#include "catena/base/text.hpp"
#include "catena/io/checkpoint.hpp"
#include "io/hdf5/atomic_file.hpp"
#include "io/vtk/folder.hpp"

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

/// Whether a file was being written when its run ended: NAME.part, or what the MPI library keeps
/// beside such a file while it is open. Open MPI's shared file pointers, one of these ways:
/// NAME.part-JOB-PROCESS.lock, NAME.part.locktest.RANK, NAME.part.data.RANK and .metadata.RANK.
bool is_unfinished(std::string_view name) {
  const std::size_t end = name.find(".part");
  if (end == std::string_view::npos) return false;
  name.remove_prefix(end + 5);
  return name.empty() || name.front() == '-' || name.front() == '.';
}

/// The name that an unfinished file would have been given.
std::string_view finished_name(std::string_view name) {
  return is_unfinished(name) ? name.substr(0, name.find(".part")) : name;
}

/// Files that Catena makes in a result directory, finished or not.
bool is_own(std::string_view name) {
  name = finished_name(name);
  constexpr std::array<std::string_view, 6> kFixed = {"bodies.h5",  "result.h5", "result.xdmf",
                                                      "series.csv", "log.jsonl", "profile.json"};
  return std::find(kFixed.begin(), kFixed.end(), name) != kFixed.end() ||
         is_numbered(name, "checkpoint-", ".h5") || is_numbered(name, "step-", ".hdf5") ||
         is_numbered(name, "blow-up-", ".hdf5") || is_numbered(name, "post-mortem-", ".json");
}

bool is_own_snapshot(std::string_view name) { return is_snapshot(finished_name(name)); }

bool is_own_table(std::string_view name) { return finished_name(name).ends_with(".csv"); }

/// The number in prefix + digits + suffix, or -1.
std::int64_t number_in(std::string_view name, std::string_view prefix, std::string_view suffix) {
  if (!is_numbered(name, prefix, suffix)) return -1;
  return std::strtoll(std::string(name.substr(prefix.size())).c_str(), nullptr, 10);
}

/// Whether a file of Catena's own is of a step after `step`. A blow-up is what became of the step
/// after its number.
bool is_later(std::string_view name, std::int64_t step) {
  return number_in(name, "checkpoint-", ".h5") > step || number_in(name, "step-", ".hdf5") > step ||
         number_in(name, "blow-up-", ".hdf5") >= step;
}

template <class Condition>
void remove_where(const fs::path& directory, Condition condition) {
  std::vector<fs::path> found;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory))
    if (entry.is_regular_file() && condition(entry.path().filename().string()))
      found.push_back(entry.path());
  for (const fs::path& path : found) fs::remove(path);
}

}  // namespace

void resume_directory(const std::string& directory, std::int64_t step) {
  try {
    const fs::path path(directory);
    const bool strange = fs::exists(path) && !fs::exists(path / "bodies.h5");
    if (strange)
      for (const fs::directory_entry& entry : fs::directory_iterator(path)) {
        const std::string name = entry.path().filename().string();
        if (name != "snapshots" && name != "probes" && name != "vtk" && !is_own(name))
          throw Error("holds files, but no result of Catena's", directory,
                      "choose the directory of the run that is to go on with -o");
      }
    fs::create_directories(path / "snapshots");
    remove_where(path, [&](const std::string& name) {
      return (is_unfinished(name) && is_own(name)) || is_later(name, step);
    });
    remove_where(path / "snapshots", [&](const std::string& name) {
      return (is_unfinished(name) && is_own_snapshot(name)) || number_in(name, "", ".h5") > step;
    });
    vtk::resume_folder(directory, step);
  } catch (const fs::filesystem_error& error) {
    throw Error("cannot be prepared for a run to go on: " + error.code().message(), directory, {},
                ExitCode::input_output);
  }
}

void cut_series(const std::string& path, const std::string& header, std::int64_t step) {
  std::ifstream in(path, std::ios::binary);
  std::ofstream out(part_name(path), std::ios::binary);
  out << header;
  std::string line;
  if (in && std::getline(in, line)) {
    if (line + "\n" != header)
      throw Error("has other columns than this build writes", path,
                  "resume with the build that wrote it, or into another directory with -o");
    std::size_t place = 0;  // of the column "step"
    std::stringstream names(header);
    for (std::string name;
         std::getline(names, name, ',') && name.substr(0, name.find(' ')) != "step";)
      ++place;
    // a row without an end was cut by a kill
    while (std::getline(in, line) && !in.eof()) {
      std::stringstream fields(line);
      std::string field;
      for (std::size_t k = 0; k <= place; ++k) std::getline(fields, field, ',');
      if (std::strtod(field.c_str(), nullptr) > static_cast<double>(step)) break;
      out << line << '\n';
    }
  }
  out.close();
  if (!out) fail_with_errno(path, "cannot be written");
  publish(path);
}

std::string snapshot_path(const std::string& directory, std::int64_t step) {
  return directory + "/snapshots/" + step_text(step) + ".h5";
}

void make_probe_directory(const std::string& directory) {
  std::error_code failed;
  fs::create_directories(fs::path(directory) / "probes", failed);
  if (failed)
    throw Error("cannot be prepared for a result: " + failed.message(), directory, {},
                ExitCode::input_output);
}

std::string probe_path(const std::string& directory, const std::string& name) {
  return directory + "/probes/" + name + ".csv";
}

std::string checkpoint_path(const std::string& directory, std::int64_t step) {
  return directory + "/checkpoint-" + step_text(step) + ".h5";
}

std::vector<std::int64_t> list_checkpoints(const std::string& directory) {
  constexpr std::string_view kPrefix = "checkpoint-";
  std::vector<std::int64_t> steps;
  std::error_code none;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, none)) {
    const std::string name = entry.path().filename().string();
    if (!is_numbered(name, kPrefix, ".h5")) continue;
    const std::int64_t step = std::strtoll(name.c_str() + kPrefix.size(), nullptr, 10);
    // another number of digits is another program's
    if (fs::path(checkpoint_path(directory, step)).filename() == name) steps.push_back(step);
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

void drop_old_checkpoints(const std::string& directory) {
  constexpr std::size_t kKept = 2;
  const std::vector<std::int64_t> steps = list_checkpoints(directory);
  for (std::size_t k = 0; k + kKept < steps.size(); ++k) {
    std::error_code none;  // what cannot be removed is no reason to stop a run
    fs::remove(checkpoint_path(directory, steps[k]), none);
  }
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

std::vector<std::string> list_probes(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code none;
  for (const fs::directory_entry& entry :
       fs::directory_iterator(fs::path(directory) / "probes", none))
    if (entry.path().extension() == ".csv") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
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
      remove_where(path, is_own);
      if (fs::is_directory(path / "snapshots")) remove_where(path / "snapshots", is_own_snapshot);
      if (fs::is_directory(path / "probes")) remove_where(path / "probes", is_own_table);
      vtk::clear_folder(directory);
    }
    fs::create_directories(path / "snapshots");
  } catch (const fs::filesystem_error& error) {
    throw Error("cannot be prepared for a result: " + error.code().message(), directory,
                "choose another with -o", ExitCode::input_output);
  }
}

}  // namespace catena
