#include "simulation/initial/find_checkpoint.hpp"

#include <algorithm>
#include <set>

#include "catena/base/error.hpp"
#include "catena/io/yaml_settings.hpp"

namespace catena {

CaseSettings case_of(const std::string& config, const std::string& path) {
  CaseSettings s = parse_case(config, path, "");
  std::set<std::string> absent;
  for (const ChangedKey& change : changed_keys(config, print_case(s)))
    if (change.before == "absent") absent.insert(change.key);
  for (BodySettings& body : s.bodies)
    if (absent.contains("bodies." + body.name + ".motion.table.interpolation"))
      body.motion.parts.table.interpolation = Interpolation::cubic;
  return s;
}

FoundCheckpoint newest_checkpoint(const Communicator& comm, const std::string& directory,
                                  const std::string& where, const std::string& fix) {
  FoundCheckpoint found;
  std::string steps;
  if (comm.rank() == 0)
    for (const std::int64_t step : list_checkpoints(directory)) steps += std::to_string(step) + " ";
  comm.broadcast(0, steps);
  std::vector<std::string> paths;
  for (std::size_t at = 0; at < steps.size(); at = steps.find(' ', at) + 1)
    paths.push_back(checkpoint_path(directory, std::stoll(steps.substr(at))));
  if (paths.empty()) throw Error("there is no checkpoint in " + directory, where, fix);
  std::reverse(paths.begin(), paths.end());
  for (const std::string& candidate : paths) {
    found.path = candidate;
    if (candidate == paths.back()) break;
    try {
      found.checkpoint = read_checkpoint(comm, candidate);
      return found;
    } catch (const Error& error) {
      if (error.code() != ExitCode::input_output) throw;
      found.damaged.push_back(std::string(error.what()) + "; the checkpoint before it is tried");
    }
  }
  try {
    found.checkpoint = read_checkpoint(comm, found.path);
  } catch (const Error& error) {
    if (found.damaged.empty()) throw;
    std::string all;  // what is wrong with each of them
    for (const std::string& damaged : found.damaged) all += damaged + "\n";
    throw Error(all + error.what(), "", "", error.code());
  }
  return found;
}

}  // namespace catena
