// The keys of settings as paths, for programs that complete or check them.
#pragma once

#include <string>
#include <vector>

#include "catena/io/yaml_settings.hpp"

namespace catena {

/// One key as `--set` names it: "solver.method", "bodies.*.mass". An asterisk stands for the name
/// or the index of an item of a list, and for a name of the user's own.
struct SettingKey {
  std::string path;
  std::vector<std::string> words;  ///< that may stand as its value, besides numbers and texts
  std::string help;
};

/// All keys that hold a value, in the order of the description. Every alternative is visited; of
/// alternatives with a key of one path the first gives the help, and all give their words.
std::vector<SettingKey> setting_keys(const Description& describe);

}  // namespace catena
