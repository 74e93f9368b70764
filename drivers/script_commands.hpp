// Subcommands that Python scripts carry out: pictures, plots, pages, other formats.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace catena::cli {

struct ScriptCommand {
  const char* name;
  const char* script;  ///< in scripts/user
  const char* help;
};

std::span<const ScriptCommand> script_commands();

/// Where the first argument names such a subcommand, the script takes the place of this program,
/// with the other arguments and this program's path in CATENA. Returns where it names none. Throws
/// Error where the script or Python is missing. Comes before MPI starts.
void become_script(const std::vector<std::string>& arguments);

}  // namespace catena::cli
