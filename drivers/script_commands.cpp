#include "script_commands.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "catena/base/error.hpp"

namespace catena::cli {
namespace {

constexpr std::array kCommands = {
    ScriptCommand{"render", "render.py", "pictures of a result"},
    ScriptCommand{"movie", "movie.py", "a movie of a result, or of a case, which is run first"},
    ScriptCommand{"plot", "plot_series.py", "curves of a result: series, joints, probes"},
    ScriptCommand{"view", "view.py", "a result in the browser: one HTML page, or a run followed"},
    ScriptCommand{"vtk", "to_vtk.py", "a result as files of VTK"},
    ScriptCommand{"sweep", "sweep.py", "a case many times with other values, and one table"},
    ScriptCommand{"study", "study.py", "scaling studies and comparisons of solvers, with reports"},
    ScriptCommand{"import", "import_robot.py", "a URDF or MJCF model as a case"},
};

/// Beside an installed program, else in the checkout that it was built from.
std::filesystem::path find_script(const std::filesystem::path& program, const char* name) {
  const std::filesystem::path installed =
      program.parent_path().parent_path() / "libexec/catena/user" / name;
  if (std::filesystem::exists(installed)) return installed;
  return std::filesystem::path(CATENA_SCRIPTS) / name;
}

}  // namespace

std::span<const ScriptCommand> script_commands() { return kCommands; }

void become_script(const std::vector<std::string>& arguments) {
  if (arguments.empty()) return;
  const auto* const command = std::ranges::find_if(
      kCommands, [&](const ScriptCommand& c) { return arguments[0] == c.name; });
  if (command == kCommands.end()) return;
  std::error_code ignored;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", ignored);
  const std::string script = find_script(program, command->script).string();
  if (!std::filesystem::exists(script))
    throw Error("the script of this subcommand is not there", script,
                "install Catena with `cmake --install`, which brings its scripts");
  setenv("CATENA", program.c_str(), 0);
  std::vector<char*> words = {const_cast<char*>(script.c_str())};
  for (std::size_t i = 1; i < arguments.size(); ++i)
    words.push_back(const_cast<char*>(arguments[i].c_str()));
  words.push_back(nullptr);
  execv(script.c_str(), words.data());
  throw Error(std::string("cannot be started (") + std::strerror(errno) + ")", script,
              "it needs /usr/bin/python3: scripts/install_dependencies run");
}

}  // namespace catena::cli
