#include "calibration_file.hpp"

#include <cmath>
#include <fstream>
#include <map>

#include "catena/base/error.hpp"
#include "catena/io/read_bytes.hpp"
#include "catena/io/yaml_settings.hpp"

namespace catena::cli {
namespace {

constexpr const char* kAnew = "write it anew: catena calibrate -o FILE";

/// The file as it stands.
struct Contents {
  int schema = 0, ranks = 1, repeats = 1;
  std::string version, git_hash, build, mpi, cpu, hosts;
  std::vector<std::string> names;
  struct Constant {
    double value = kNone, low = kNone, high = kNone;
    std::string unit, what;
  };
  std::vector<Constant> constants;
};

void describe(SettingsVisitor& visit, Contents& c) {
  visit.visit("schema", c.schema, {.required = true});
  for (const auto& [key, value] : {std::pair("version", &c.version),
                                   {"git_hash", &c.git_hash},
                                   {"build", &c.build},
                                   {"mpi", &c.mpi},
                                   {"cpu", &c.cpu},
                                   {"hosts", &c.hosts}})
    visit.visit(key, *value, {});
  visit.visit("ranks", c.ranks, {.min = 1, .required = true});
  visit.visit("repeats", c.repeats, {});
  visit.named(
      "constants", c.names, {.required = true},
      [&](std::span<const std::string> names) {
        c.names.assign(names.begin(), names.end());
        c.constants.resize(names.size());
      },
      [&](std::size_t i) {
        Contents::Constant& constant = c.constants[i];
        visit.visit("value", constant.value, {.word = "null"});
        visit.visit("low", constant.low, {.word = "null"});
        visit.visit("high", constant.high, {.word = "null"});
        visit.visit("unit", constant.unit, {});
        visit.visit("what", constant.what, {});
      });
}

}  // namespace

std::string cpu_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.starts_with("model name") && line.find(": ") != std::string::npos)
      return line.substr(line.find(": ") + 2);
  return "unknown";
}

CalibrationFile read_calibration(const std::string& path, int n_ranks) {
  Contents contents;
  const std::string text = read_bytes(path);
  try {
    YamlDocument(text, path).read([&](SettingsVisitor& visit) { describe(visit, contents); });
  } catch (const Error& error) {
    throw Error(error.found(), error.where(), kAnew, error.code());
  }
  if (contents.schema != 1)
    throw Error("has schema " + std::to_string(contents.schema) + ", not 1", path, kAnew);
  std::map<std::string, double> value;
  for (std::size_t i = 0; i < contents.names.size(); ++i)
    value[contents.names[i]] = contents.constants[i].value;
  const auto of = [&](const std::string& name, const char* fix = kAnew) {
    const auto found = value.find(name);
    if (found == value.end()) throw Error("lacks the constant " + name, path, fix);
    if (!std::isfinite(found->second))
      throw Error("has no value of " + name + ", whose measurement was disturbed", path, kAnew);
    return found->second;
  };
  CalibrationFile file;
  file.costs.ranks = contents.ranks;
  const auto sized = [&](const std::string& name, const std::string& size) -> MechanismCosts {
    return {of(name + "_factor" + size), of(name + "_solve" + size), of(name + "_rows" + size),
            of(name + "_motion" + size)};
  };
  const auto read = [&](const std::string& name, SizedCosts& costs) {
    costs = {sized(name, "_cached"), sized(name, "")};
  };
  read("chain", file.costs.chain);
  read("tree", file.costs.tree);
  read("cords", file.costs.cords);
  read("net", file.costs.net);
  file.costs.front_flop = of("front_flop");
  file.costs.large_front_flop = of("front_flop_large");
  if (n_ranks > 1) {
    const std::string path_of = value.contains("latency_node") ? "node" : "network";
    const char* several = "write it anew on two ranks: mpirun -n 2 catena calibrate -o FILE";
    file.costs.latency = of("latency_" + path_of, several);
    file.costs.byte = 1.0 / of("bandwidth_" + path_of, several);
    file.costs.reduction = of("reduction");
  }
  if (contents.cpu != cpu_name())
    file.remark =
        path + " is of another machine: " + contents.cpu + ", where this one has " + cpu_name();
  return file;
}

}  // namespace catena::cli
