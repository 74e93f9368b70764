#include "simulation/diagnosis/solve_again.hpp"

#include "catena/base/index.hpp"
#include "catena/base/log.hpp"
#include "catena/io/yaml_settings.hpp"

namespace catena {

namespace {

std::string text_of(SolverSettings settings) {
  settings.petsc = {};
  return print_yaml([&](SettingsVisitor& visit) { describe(visit, settings); });
}

}  // namespace

std::string solve_again(const std::string& path, const SolverSettings& settings) {
  std::string command =
      "catena solve " + path + " --solver " + std::string(kSolverNames[ordinal(settings.method)]);
  // the stop rule of `solve` is another one by default: it is always written out
  const StopRule stop = settings.stop_rule();
  const auto set = [&](const std::string& key, const std::string& value) {
    command += " --set " + key + "=" + value;
  };
  set("max_iterations", std::to_string(stop.max_iterations));
  set("relative_tolerance", json_number(stop.relative_tolerance));
  set("absolute_tolerance", json_number(stop.absolute_tolerance));
  for (const ChangedKey& change : changed_keys(text_of({}), text_of(settings))) {
    const bool written = change.key == "max_iterations" || change.key == "relative_tolerance" ||
                         change.key == "absolute_tolerance";
    if (!written) set(change.key, change.after);
  }
  return command;
}

}  // namespace catena
