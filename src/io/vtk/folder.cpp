#include "io/vtk/folder.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <utility>

#include "catena/base/text.hpp"
#include "catena/io/text_file.hpp"
#include "io/hdf5/atomic_file.hpp"

namespace catena::vtk {
namespace {

namespace fs = std::filesystem;

std::string index_path(const std::string& directory, const std::string& kind) {
  return folder_of(directory) + "/" + kind + ".pvd";
}

std::string index_text(const std::vector<Entry>& entries) {
  std::string text =
      "<?xml version=\"1.0\"?>\n<VTKFile type=\"Collection\" version=\"0.1\">\n  <Collection>\n";
  for (const Entry& entry : entries)
    text += "    <DataSet timestep=\"" + entry.time + "\" file=\"" + entry.file + "\"/>\n";
  return text + "  </Collection>\n</VTKFile>\n";
}

/// What a name in the folder says.
struct OwnName {
  bool own = false;
  bool unfinished = false;
  std::string kind;
  std::int64_t step = -1;  ///< -1: an index of snapshots
};

/// KIND.pvd; KIND-STEP.pvtp and its pieces KIND-STEP-RANK.vtp; KIND-STEP.vtp of `catena vtk`; all
/// also under their part names.
OwnName parse_name(const std::string& name) {
  static const std::regex pattern(
      "(spheres|surfaces|contacts|chains|joints)(\\.pvd|-(\\d{8,})(\\.pvtp|(-\\d+)?\\.vtp))"
      "(\\.part)?");
  std::smatch match;
  if (!std::regex_match(name, match, pattern)) return {};
  return {true, match[6].matched, match[1],
          match[3].matched ? std::strtoll(match[3].str().c_str(), nullptr, 10) : -1};
}

template <class Condition>
void remove_own(const fs::path& folder, Condition condition) {
  std::vector<fs::path> found;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const OwnName name = parse_name(entry.path().filename().string());
    if (entry.is_regular_file() && name.own && condition(name)) found.push_back(entry.path());
  }
  for (const fs::path& path : found) fs::remove(path);
}

}  // namespace

std::string folder_of(const std::string& directory) { return directory + "/vtk"; }

std::string stem_of(const std::string& kind, std::int64_t step) {
  return kind + "-" + step_text(step);
}

std::vector<Entry> read_entries(const std::string& directory, const std::string& kind) {
  static const std::regex pattern(".*timestep=\"([^\"]*)\" file=\"([^\"]*)\".*");
  std::vector<Entry> entries;
  std::ifstream in(index_path(directory, kind));
  std::smatch match;
  for (std::string line; std::getline(in, line);) {
    if (!std::regex_match(line, match, pattern)) continue;
    const OwnName name = parse_name(match[2]);
    if (name.own) entries.push_back({name.step, match[1], match[2]});
  }
  return entries;
}

void write_entries(const std::string& directory, const std::string& kind,
                   const std::vector<Entry>& entries) {
  write_text_file(index_path(directory, kind), index_text(entries));
}

void clear_folder(const std::string& directory) {
  const fs::path folder(folder_of(directory));
  if (fs::is_directory(folder)) remove_own(folder, [](const OwnName&) { return true; });
}

void resume_folder(const std::string& directory, std::int64_t step) {
  const fs::path folder(folder_of(directory));
  if (!fs::is_directory(folder)) return;
  std::set<std::pair<std::string, std::int64_t>> kept;
  for (const char* kind : kKinds) {
    std::vector<Entry> entries = read_entries(directory, kind);
    const std::size_t before = entries.size();
    std::erase_if(entries, [&](const Entry& entry) {
      return entry.step > step || !fs::exists(folder / entry.file);
    });
    // indices first: at no time do they name what is gone
    if (entries.size() != before) write_entries(directory, kind, entries);
    for (const Entry& entry : entries) kept.emplace(kind, entry.step);
  }
  remove_own(folder, [&](const OwnName& name) {
    return name.unfinished || (name.step >= 0 && !kept.contains({name.kind, name.step}));
  });
}

}  // namespace catena::vtk
