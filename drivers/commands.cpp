#include "commands.hpp"

#include <cstdio>

#include "catena/base/log.hpp"
#include "catena/base/version.hpp"
#include "catena/io/info.hpp"
#include "catena/io/result_writer.hpp"
#include "catena/partition/metis_version.hpp"
#include "catena/partition/plan.hpp"
#include "catena/simulation/simulation.hpp"
#include "catena/solvers/linear_algebra_version.hpp"

namespace catena::cli {

namespace {

void print(const Communicator& comm, const std::string& text) {
  if (comm.rank() == 0) std::fputs(text.c_str(), stdout);
}

std::string range_line(const char* what, const PlanRange& range, const char* unit,
                       double scale = 1.0) {
  char line[160];
  std::snprintf(line, sizeof line, "%-18s %12.6g %12.6g %12.6g %s\n", what, scale * range.min,
                scale * range.mean, scale * range.max, unit);
  return line;
}

std::string plan_text(const PartitionPlan& p) {
  constexpr double kMebibyte = 1.0 / (1024.0 * 1024.0);
  char line[240];
  std::snprintf(line, sizeof line,
                "ranks %d, bodies %lld, contacts %lld\n"
                "graph: %lld %s, %lld edges, cut %lld rows, imbalance %.4g\n",
                p.n_ranks, static_cast<long long>(p.bodies), static_cast<long long>(p.contacts),
                static_cast<long long>(p.quality.vertices),
                p.quality.aggregated ? "cells of bodies" : "vertices",
                static_cast<long long>(p.quality.edges), static_cast<long long>(p.quality.edge_cut),
                p.quality.imbalance);
  std::string text = line;
  text += "per rank                    least         mean      largest\n";
  text += range_line("bodies", p.bodies_per_rank, "");
  text += range_line("contacts", p.contacts_per_rank, "");
  text += range_line("halo", p.halo, "bodies");
  text += range_line("neighbours", p.neighbours, "ranks");
  text += range_line("memory", p.memory, "MiB", kMebibyte);
  std::snprintf(line, sizeof line, "splitting the graph takes %.4g MiB more on rank 0\n",
                kMebibyte * static_cast<double>(p.split_memory));
  return text + line;
}

}  // namespace

ExitCode run(const Communicator& comm, const RunArguments& arguments) {
  const CaseSettings settings = read_case(comm, arguments.file, arguments.set);
  RunOptions options;
  options.directory = arguments.directory.empty() ? "./" + settings.name : arguments.directory;
  options.force = arguments.force;
  options.command_line = arguments.command_line;
  Log log(comm.rank() == 0, arguments.quiet);
  Simulation simulation(comm, settings);
  return simulation.run(options, log);
}

ExitCode check(const Communicator& comm, const CaseArguments& arguments) {
  const CaseSettings settings = read_case(comm, arguments.file, arguments.set);
  make_model(settings, comm);  // looks into the tables
  print(comm, print_case(settings));
  return ExitCode::done;
}

ExitCode plan(const Communicator& comm, const CaseArguments& arguments, int n_ranks) {
  const CaseSettings settings = read_case(comm, arguments.file, arguments.set);
  const Model model = make_model(settings, comm);
  Bodies bodies;
  State state;
  generate_bodies(settings, comm, model, bodies, state);
  migrate(comm, bodies, state, partition_by_curve(comm, bodies, state, comm.size()), comm.size());
  ContactSet contacts;
  ContactSearch(comm, model).find(bodies, state, settings.time.step, contacts);
  print(comm, plan_text(plan_partition(comm, bodies, state, contacts, n_ranks, settings.parallel)));
  return ExitCode::done;
}

ExitCode info(const Communicator& comm, const std::string& file) {
  std::string text;
  all_or_none(comm, [&] {
    if (comm.rank() == 0) text = describe_file(file);
  });
  print(comm, text);
  return ExitCode::done;
}

ExitCode rebuild(const Communicator& comm, const std::string& directory) {
  all_or_none(comm, [&] {
    if (comm.rank() == 0) rebuild_index(directory);
  });
  print(comm, directory + "/result.h5 and result.xdmf rebuilt\n");
  return ExitCode::done;
}

std::string version_text() {
  return "catena " + std::string(version()) + " (" + std::string(git_hash()) + ")\n" +
         build_description() + "\n" + mpi_version() + "\nPETSc " + petsc_version() + ", METIS " +
         metis_version() + ", HDF5 " + hdf5_version() + "\n";
}

}  // namespace catena::cli
