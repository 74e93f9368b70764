// What a run writes into its log.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

#include "catena/simulation/simulation.hpp"

namespace catena::test {

/// All of log.jsonl of a run to its end, on one rank, in a directory of its own that is removed
/// again.
inline std::string log_of_run(Simulation& sim) {
  RunOptions options;
  options.directory =
      std::filesystem::temp_directory_path() / ("catena_log_" + std::to_string(::getpid()));
  options.force = true;
  Log log(true, true);
  if (sim.run(options, log) != ExitCode::done) throw std::runtime_error("the run did not end");
  std::ifstream file(options.directory + "/log.jsonl");
  std::string text(std::istreambuf_iterator<char>(file), {});
  file.close();
  std::filesystem::remove_all(options.directory);
  return text;
}

}  // namespace catena::test
