#include "catena/io/info.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <vector>

#include "catena/base/error.hpp"
#include "catena/base/text.hpp"
#include "io/checkpoint/info.hpp"
#include "io/fclib/file.hpp"
#include "io/hdf5/file.hpp"
#include "io/result/format.hpp"

namespace catena {
namespace {

std::uint64_t rows(const hdf5::File& file, const std::string& dataset) {
  if (!file.is_dataset(dataset)) return 0;
  const std::vector<std::uint64_t> extents = file.extents(dataset);
  return extents.empty() ? 1 : extents[0];
}

std::string line(const std::string& name, const std::string& value) {
  return "  " + name + std::string(name.size() < 20 ? 20 - name.size() : 1, ' ') + value + "\n";
}

/// Texts of several lines (the resolved config) are indented below or, unless `whole`, counted.
std::string describe_provenance(const Provenance& provenance, bool whole) {
  std::string text = provenance.empty() ? "" : "provenance\n";
  for (const auto& [name, value] : provenance) {
    if (value.find('\n') == std::string::npos) {
      text += line(name, value);
      continue;
    }
    if (!whole) {
      text += line(name, std::to_string(std::ranges::count(value, '\n')) + " lines (--whole)");
      continue;
    }
    text += "  " + name + ":\n    ";
    for (std::size_t i = 0; i < value.size(); ++i) {
      text += value[i];
      if (value[i] == '\n' && i + 1 < value.size()) text += "    ";
    }
    if (text.back() != '\n') text += '\n';
  }
  return text;
}

/// Attributes of a group.
Provenance read_provenance(const hdf5::File& file) {
  Provenance found;
  if (!file.exists("/provenance")) return found;
  for (const std::string& name : file.attribute_names("/provenance"))
    found.emplace_back(name, file.attribute_text("/provenance", name));
  return found;
}

/// "shapes  12 sphere, 3 box": how often each word stands in a dataset.
std::string describe_words(const hdf5::File& file, const std::string& name,
                           const std::string& dataset) {
  const std::uint64_t n = rows(file, dataset);
  std::map<std::string, std::int64_t> words;
  for (const std::string& word : file.read_text_rows(dataset, {0, n, n})) ++words[word];
  std::string counts;
  for (const auto& [word, count] : words)
    counts += (counts.empty() ? "" : ", ") + std::to_string(count) + " " + word;
  return line(name, counts);
}

std::string describe_joints(const hdf5::File& file) {
  const std::uint64_t n = rows(file, "/joints/id");
  if (n == 0) return {};
  const std::string text = line("joints", std::to_string(n));
  if (!file.is_dataset("/joints/type")) return text;
  return text + describe_words(file, "joint types", "/joints/type");
}

std::string describe_bodies(const hdf5::File& file) {
  const std::uint64_t n = rows(file, "/bodies/id");
  std::string text = line("bodies", std::to_string(n));
  if (n == 0 || !file.is_dataset("/bodies/mass")) return text;
  double mass = 0.0;
  for (const double m : file.read_doubles("/bodies/mass")) mass += m;
  text += line("total mass", short_text(mass) + " kg");
  if (!file.is_dataset("/bodies/shape")) return text;
  return text + describe_words(file, "shapes", "/bodies/shape");
}

std::string describe_snapshot(const hdf5::File& file) {
  return line("time", short_text(file.attribute_number("/", "time")) + " s") +
         line("step", file.attribute_text("/", "step")) +
         line("bodies", std::to_string(rows(file, "/bodies/id"))) +
         line("contacts", std::to_string(rows(file, "/contacts/gap"))) + describe_joints(file);
}

std::string describe_checkpoint(const hdf5::File& file, bool whole) {
  CheckpointSummary summary = summarise_checkpoint(file);
  std::ranges::sort(summary.provenance);
  return line("time", short_text(file.attribute_number("/", "time")) + " s") +
         line("step", file.attribute_text("/", "step")) +
         line("written on", std::to_string(summary.ranks) + " ranks") +
         line("subdomains", std::to_string(summary.n_parts)) +
         line("bodies", std::to_string(summary.bodies)) +
         line("joints", std::to_string(summary.joints)) +
         line("impulses", std::to_string(summary.impulses)) +
         line("couples", std::to_string(summary.couples)) + line("checksums", "all good") +
         line("this build", summary.readable ? "can go on from it"
                                             : "cannot go on from it: that of git hash " +
                                                   summary.git_hash + " can") +
         describe_provenance(summary.provenance, whole);
}

std::string describe_result(const hdf5::File& file) {
  std::string text;
  if (file.exists("/bodies")) text += describe_bodies(file) + describe_joints(file);
  const std::vector<std::string> snapshots = file.members("/snapshots");
  text += line("snapshots", std::to_string(snapshots.size()));
  std::vector<std::string> missing;
  std::string first, last;
  for (const std::string& name : snapshots) {
    if (!file.exists("/snapshots/" + name)) {
      missing.push_back(name);
      continue;
    }
    last = name;
    if (first.empty()) first = name;
  }
  if (!first.empty())
    text +=
        line("time", short_text(file.attribute_number("/snapshots/" + first, "time")) + " .. " +
                         short_text(file.attribute_number("/snapshots/" + last, "time")) + " s");
  for (const std::string& name : missing)
    text += line("missing", "snapshots/" + name + ".h5 (catena info --rebuild DIR)");
  const std::vector<std::string> columns = file.members("/series");
  if (columns.empty()) return text;
  text += line("series rows", std::to_string(rows(file, "/series/" + columns[0])));
  std::string names;
  for (const std::string& name : columns) {
    const std::string unit = file.attribute_text("/series/" + name, "unit");
    names += (names.empty() ? "" : ", ") + name + (unit.empty() ? "" : " [" + unit + "]");
  }
  return text + line("series", names);
}

std::string describe_problem(const std::string& path) {
  const FclibFile file = read_fclib_file(path);
  std::string text = path + ": contact problem (FCLIB, " +
                     (file.local ? "local: u = W r + q" : "global: M v = H r + f, u = H^T v + w") +
                     ")\n";
  if (!file.title.empty()) text += line("title", file.title);
  if (!file.description.empty()) text += line("description", file.description);
  text += line("contacts", std::to_string(file.n_contacts()));
  if (!file.local) {
    text += line("velocities", std::to_string(file.f.size()));
    text += line("bilateral rows", std::to_string(file.g_transposed.n_rows()));
  }
  if (file.extras.present) {
    text += line("written by", "Catena");
    text += line("law", file.extras.law);
    text += line("bodies", std::to_string(file.extras.body_id.size()));
    text += line("unilateral rows", std::to_string(std::ranges::count_if(
                                        file.extras.unilateral, [](auto x) { return x; })));
    text += line("boxed rows", std::to_string(file.extras.boxed_w.size()));
  }
  if (!file.mu.empty()) {
    const auto [low, high] = std::minmax_element(file.mu.begin(), file.mu.end());
    text += line("friction", short_text(*low) + " .. " + short_text(*high));
  }
  const hdf5::File raw = hdf5::File::open(path);
  text += line("solution", raw.exists("/solution/r") ? "yes" : "no");
  text += line("guess", raw.exists("/guesses/1/r") ? "yes" : "no");
  return text;
}

}  // namespace

namespace {

/// Throws if the numbers of a dataset below `group` are not those that were written.
void verify(const hdf5::File& file, const std::string& path, const std::string& group) {
  for (const std::string& name : file.members(group.empty() ? "/" : group)) {
    const std::string object = group + "/" + name;
    if (!file.is_dataset(object)) {
      verify(file, path, object);
    } else if (!file.is_intact(object)) {
      throw Error("its checksum is another: the file is damaged", path + ": " + object, {},
                  ExitCode::input_output);
    }
  }
}

}  // namespace

std::string describe_file(const std::string& path, bool whole) {
  std::string name = path;
  if (std::filesystem::is_directory(name))
    name = (std::filesystem::path(path) / "result.h5").string();
  const hdf5::File file = hdf5::File::open(name);
  const std::string format = file.attribute_text("/", "format");
  const std::string head =
      name + ": " + format + ", version " + file.attribute_text("/", "format_version") + "\n";
  if (format == "catena-result" || format == "catena-bodies" || format == "catena-snapshot")
    refuse_newer(file);
  if (format == "catena-result")
    return head + describe_result(file) + describe_provenance(read_provenance(file), whole);
  if (format == "catena-snapshot" || format == "catena-bodies") verify(file, name, "");
  const std::string good = line("checksums", "all good");
  if (format == "catena-snapshot") return head + describe_snapshot(file) + good;
  if (format == "catena-checkpoint") return head + describe_checkpoint(file, whole);
  if (format == "catena-bodies")
    return head + describe_bodies(file) + describe_joints(file) + good +
           describe_provenance(read_provenance(file), whole);
  if (file.exists("/fclib_local") || file.exists("/fclib_global")) return describe_problem(name);
  if (file.exists("/solution")) {
    return name + ": solution of a contact problem\n" +
           line("contact rows", std::to_string(rows(file, "/solution/r"))) +
           line("velocities", std::to_string(rows(file, "/solution/v")));
  }
  throw Error("is HDF5, but neither a result of Catena nor an FCLIB problem", name, {},
              ExitCode::input_output);
}

void end_files() { hdf5::end(); }

std::string hdf5_version() { return hdf5::library_version(); }

}  // namespace catena
