// The subcommands of `catena` (docs/cli.md), apart from the reading of arguments.
#pragma once

#include <string>
#include <vector>

#include "catena/base/error.hpp"
#include "catena/comm/communicator.hpp"

namespace catena::cli {

struct CaseArguments {
  std::string file;
  std::vector<std::string> set;  ///< path=value
  std::string from;              ///< in place of the key initial.from; empty: the case's own
};

struct RunArguments : CaseArguments {
  std::string directory;  ///< empty: ./NAME of the case
  bool force = false;
  bool quiet = false;
  bool resume = false;
  std::string checkpoint;  ///< that is resumed; empty: the newest
  std::string max_wall;    ///< as written; empty: no limit
  double started = 0.0;    ///< wall time at which the program started
  std::string command_line;
  std::vector<std::string> petsc;  ///< what stands after --
};

struct SolveArguments {
  std::string problem;
  std::string solver = "gauss_seidel";
  std::string law;                                    ///< empty: the file's, or coulomb
  std::string metric;                                 ///< empty: energy
  std::string tolerance, max_iterations, time_limit;  ///< as written; empty: default
  std::vector<std::string> set;                       ///< keys of `solver:`
  std::string report, solution, history;              ///< files; empty: none
  std::vector<std::string> petsc;                     ///< what stands after --
  bool cold = false, warm = false;                    ///< start from zero, or from the file's guess
  bool force = false;
  bool quiet = false;
};

struct CalibrateArguments {
  std::string output;  ///< JSON file; empty: none
  bool force = false;
};

// All are collective; they throw Error on every rank and return the same code on every rank.
ExitCode run(const Communicator& comm, const RunArguments& arguments);
ExitCode check(const Communicator& comm, const CaseArguments& arguments);
ExitCode plan(const Communicator& comm, const CaseArguments& arguments, int n_ranks,
              const std::string& calibration);
ExitCode solve(const Communicator& comm, const SolveArguments& arguments);
ExitCode calibrate(const Communicator& comm, const CalibrateArguments& arguments);
ExitCode info(const Communicator& comm, const std::string& file, bool whole);
ExitCode rebuild(const Communicator& comm, const std::string& directory);
/// Collective. Throws Error for the first of `files` (empty names: none) that is there already,
/// unless `force`, or whose folder is not: before what takes long, so that its result has a place.
void check_output_files(const Communicator& comm, const std::vector<std::string>& files,
                        bool force);
/// Version, git hash, compiler and libraries, for people.
std::string version_text();

}  // namespace catena::cli
