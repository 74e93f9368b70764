#include "commands.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <span>

#include "calibration_file.hpp"
#include "catena/base/index.hpp"
#include "catena/base/log.hpp"
#include "catena/base/units.hpp"
#include "catena/base/version.hpp"
#include "catena/io/info.hpp"
#include "catena/io/result_writer.hpp"
#include "catena/partition/balance.hpp"
#include "catena/partition/cut_plan.hpp"
#include "catena/partition/plan.hpp"
#include "catena/partition/step_prediction.hpp"
#include "catena/simulation/memory_check.hpp"
#include "catena/simulation/rehearsal.hpp"
#include "catena/simulation/simulation.hpp"
#include "catena/simulation/start_check.hpp"
#include "catena/solvers/linear_settings.hpp"

namespace catena::cli {

namespace {

void print(const Communicator& comm, const std::string& text) {
  if (comm.rank() == 0) std::fputs(text.c_str(), stdout);
}

/// Remarks on the input, to stderr: stdout is the command's own output.
void tell_warnings(const Communicator& comm, const std::vector<std::string>& warnings) {
  Log log(comm.rank() == 0);
  for (const std::string& warning : warnings) log.warning(warning);
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
                "graph: %lld %s, %lld edges, cut %lld rows, imbalance %.4g",
                p.n_ranks, static_cast<long long>(p.bodies), static_cast<long long>(p.contacts),
                static_cast<long long>(p.quality.vertices),
                p.quality.aggregated ? "cells of bodies" : "vertices",
                static_cast<long long>(p.quality.edges), static_cast<long long>(p.quality.edge_cut),
                p.quality.balance.all);
  std::string text = line;
  if (p.joints > 0) {
    std::snprintf(line, sizeof line, " (contacts %.4g, joints %.4g)", p.quality.balance.contacts,
                  p.quality.balance.joints);
    text += line;
  }
  text += "\n";
  text += "per rank                    least         mean      largest\n";
  text += range_line("bodies", p.bodies_per_rank, "");
  text += range_line("contacts", p.contacts_per_rank, "");
  if (p.joints > 0) text += range_line("joints", p.joints_per_rank, "");
  text += range_line("halo", p.halo, "bodies");
  text += range_line("neighbours", p.neighbours, "ranks");
  text += range_line("memory", p.memory, "MiB", kMebibyte);
  std::snprintf(line, sizeof line, "splitting the graph takes %.4g MiB more on rank 0\n",
                kMebibyte * static_cast<double>(p.split_memory));
  return text + line;
}

/// A tree cut between ranks has empty parts where these are no power of two.
int nodes_with_rows(const CutPlan& plan, int level) {
  return narrow<int>(std::ranges::count_if(std::span(plan.rows).subspan(1 << level, 1 << level),
                                           [](std::int64_t rows) { return rows > 0; }));
}

/// Of each level of the mechanism's tree its largest front.
std::string cut_text(const CutPlan& plan) {
  constexpr double kMebibyte = 1.0 / (1024.0 * 1024.0);
  char line[240];
  std::snprintf(line, sizeof line,
                "mechanism of joint %lld: %lld joints in %d parts\n"
                "level  nodes  largest: rows  rows above       Mflop      MiB\n",
                static_cast<long long>(plan.component), static_cast<long long>(plan.joints),
                nodes_with_rows(plan, plan.tree().levels));
  std::string text = line;
  for (int level = 0; level <= plan.tree().levels; ++level) {
    std::int64_t rows = 0, above = 0;
    double work = 0.0, memory = 0.0;
    for (int node = 1 << level; node < 2 << level; ++node) {
      rows = std::max(rows, plan.rows[node]);
      above = std::max(above, plan.rows_above[node]);
      work = std::max(work, 2e-6 * plan.front_work(node));
      memory = std::max(memory, kMebibyte * (level < plan.tree().levels ? plan.front_memory(node)
                                                                        : plan.part_memory(node)));
    }
    std::snprintf(line, sizeof line, "%5d  %5d  %13lld  %10lld", level,
                  nodes_with_rows(plan, level), static_cast<long long>(rows),
                  static_cast<long long>(above));
    text += line;
    // a part is no single front
    if (level < plan.tree().levels)
      std::snprintf(line, sizeof line, "  %10.4g  %7.4g\n", work, memory);
    else
      std::snprintf(line, sizeof line, "  %10s  %7.4g  (parts; about)\n", "", memory);
    text += line;
  }
  return text;
}

std::string prediction_text(const StepPrediction& p, const std::string& file) {
  char line[240];
  std::snprintf(line, sizeof line,
                "predicted time of a step, ms: rows %.4g, factor %.4g, solve %.4g, motion %.4g, "
                "messages %.4g, all %.4g\n",
                1e3 * p.rows, 1e3 * p.factor, 1e3 * p.solve, 1e3 * p.motion, 1e3 * p.messages,
                1e3 * p.step());
  return line + ("by the costs in " + file + ", without contacts (docs/scaling.md)\n");
}

/// Why no time of a step is predicted; empty: it can be.
std::string unpredicted(const CaseSettings& settings, const PartitionPlan& plan) {
  if (settings.time.stepper == StepperKind::natural)
    return "stepper natural decides in the run how many sub-steps it takes";
  if (plan.contacts > 0) return "how many sweeps contacts need is not known before they run";
  if (plan.joints == 0) return "the scene has no joints";
  if (settings.parallel.whole_below == 0) return "joints are not eliminated";
  return "";
}

/// Collective. Mean half extent of the dynamic bodies with a shape, m; 0 if there are none.
double mean_half_extent(const Communicator& comm, const Bodies& bodies) {
  std::array<double, 2> sums = {0.0, 0.0};
  for (const BodyConstants& body : bodies.constants) {
    if (body.kind != BodyKind::dynamic || body.shape.type == ShapeType::none) continue;
    sums[0] += half_extent(body.shape);
    sums[1] += 1.0;
  }
  comm.sum(sums);
  return sums[1] > 0.0 ? sums[0] / sums[1] : 0.0;
}

/// Collective. The case with what the command line changes.
CaseSettings case_of(const Communicator& comm, const CaseArguments& arguments) {
  std::vector<std::string> set = arguments.set;
  if (!arguments.from.empty()) {
    // relative to where the program runs, not to the case
    std::string path = std::filesystem::absolute(arguments.from).lexically_normal().string();
    std::string quoted;
    for (const char c : path) quoted += c == '\'' ? "''" : std::string(1, c);
    set.push_back("initial.from='" + quoted + "'");
  }
  CaseSettings settings = read_case(comm, arguments.file, set);
  if (!arguments.from.empty()) settings.initial.place = "--from";  // where the user wrote it
  return settings;
}

double parse_max_wall(const std::string& text) {
  try {
    const double seconds = parse_quantity(text, "s");
    if (seconds > 0.0) return seconds;
  } catch (const Error& error) {
    throw Error(error.found(), "--max-wall", error.fix());
  }
  throw Error("'" + text + "' is out of range; must be > 0", "--max-wall");
}

}  // namespace

ExitCode run(const Communicator& comm, const RunArguments& arguments) {
  StopSignals signals;
  RunOptions options;
  options.signals = &signals;
  options.started = arguments.started;
  if (!arguments.max_wall.empty()) options.max_wall = parse_max_wall(arguments.max_wall);
  CaseSettings settings = case_of(comm, arguments);
  settings.solver.petsc.verbatim = arguments.petsc;
  options.directory = arguments.directory.empty() ? "./" + settings.name : arguments.directory;
  options.force = arguments.force;
  options.command_line = arguments.command_line;
  Log log(comm.rank() == 0, arguments.quiet);
  const std::unique_ptr<Simulation> simulation =
      arguments.resume ? resume(comm, settings, arguments.checkpoint, options, log)
                       : std::make_unique<Simulation>(comm, settings);
  return simulation->run(options, log);
}

ExitCode check(const Communicator& comm, const CaseArguments& arguments) {
  const CaseSettings settings = case_of(comm, arguments);
  tell_warnings(comm, rehearse(comm, settings));
  print(comm, print_case(settings));
  return ExitCode::done;
}

ExitCode plan(const Communicator& comm, const CaseArguments& arguments, int n_ranks,
              const std::string& calibration) {
  CalibrationFile file;
  all_or_none(comm, [&] {
    if (!calibration.empty()) file = read_calibration(calibration, n_ranks);
  });
  if (!file.remark.empty()) tell_warnings(comm, {file.remark});
  const CaseSettings settings = case_of(comm, arguments);
  const Model model = make_model(settings, comm, settings.parallel.deterministic);
  tell_warnings(comm, model.warnings);
  // this command makes all bodies, too
  refuse_beyond_memory(memory_need(comm, settings, model, available_memory()));
  Bodies bodies;
  State state;
  if (settings.initial.present) {
    const Simulation simulation(comm, settings);
    bodies = simulation.bodies();
    state = simulation.state();
  } else {
    generate_bodies(settings, comm, model, bodies, state);
  }
  const std::string few = few_bodies_warning(bodies_of_run(comm, settings, bodies, state), n_ranks);
  if (!few.empty()) tell_warnings(comm, {few});
  migrate(comm, bodies, state, partition_by_curve(comm, bodies, state, comm.size()), comm.size());
  ContactSet contacts;
  ContactSearch(comm, model).find(bodies, state, settings.time.step, contacts);
  const double reach = 0.5 * mean_half_extent(comm, bodies);
  if (2 * comm.sum(std::ssize(contacts.contacts)) < comm.sum(std::ssize(bodies)) &&
      !(reach <= model.contact.margin)) {
    Model wider = model;
    wider.contact.margin = reach;
    ContactSearch(comm, wider).find(bodies, state, settings.time.step, contacts);
    char line[120];
    std::snprintf(line, sizeof line,
                  "few bodies touch yet: pairs closer than %.3g m count as contacts\n", reach);
    print(comm, line);
  }
  const PartitionPlan planned =
      plan_partition(comm, bodies, state, contacts, n_ranks, settings.parallel);
  print(comm, plan_text(planned));
  std::vector<CutPlan> cuts;
  if (settings.parallel.whole_below > 0)
    cuts = plan_cuts(comm, bodies, contacts, planned.part, n_ranks, settings.parallel);
  for (const CutPlan& cut : cuts) print(comm, cut_text(cut));
  if (calibration.empty()) {
    print(comm,
          "no time is predicted: give --calibration FILE, which catena calibrate -o FILE "
          "writes\n");
    return ExitCode::done;
  }
  if (const std::string why = unpredicted(settings, planned); !why.empty()) {
    print(comm, "no time is predicted: " + why + "\n");
    return ExitCode::done;
  }
  const std::vector<KindRows> rows =
      count_rows(comm, bodies, contacts, planned.part, n_ranks, settings.parallel, cuts);
  print(comm, prediction_text(predict_step(file.costs, rows, planned.bodies_per_rank.max, cuts),
                              calibration));
  return ExitCode::done;
}

ExitCode info(const Communicator& comm, const std::string& file, bool whole) {
  std::string text;
  all_or_none(comm, [&] {
    if (comm.rank() == 0) text = describe_file(file, whole);
  });
  print(comm, text);
  return ExitCode::done;
}

ExitCode rebuild(const Communicator& comm, const std::string& directory) {
  std::string text = directory + "/result.h5 and result.xdmf rebuilt\n";
  all_or_none(comm, [&] {
    if (comm.rank() != 0) return;
    for (const std::string& name : rebuild_index(directory)) {
      text += "left out, since it cannot be read: snapshots/" + name + "\n";
    }
  });
  print(comm, text);
  return ExitCode::done;
}

void check_output_files(const Communicator& comm, const std::vector<std::string>& files,
                        bool force) {
  all_or_none(comm, [&] {
    if (comm.rank() != 0) return;
    for (const std::string& file : files) {
      if (file.empty()) continue;
      std::error_code none;
      const std::filesystem::path folder = std::filesystem::path(file).parent_path();
      if (!folder.empty() && !std::filesystem::is_directory(folder, none))
        throw Error("there is no such directory", folder.string(), "make it, or choose another",
                    ExitCode::input_output);
      if (!force && std::filesystem::exists(file, none))
        throw Error("exists already", file, "choose another name or give --force");
    }
  });
}

std::string version_text() {
  return "catena " + std::string(version()) + " (" + std::string(git_hash()) + ")\n" +
         build_description() + "\n" + mpi_version() + "\nPETSc " + petsc_version() + ", METIS " +
         metis_version() + ", HDF5 " + hdf5_version() + "\n";
}

}  // namespace catena::cli
