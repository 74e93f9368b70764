// The program `catena`: reads the arguments, calls a subcommand, tells errors once.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <new>
#include <sstream>

#include "catena/base/huge_pages.hpp"
#include "catena/base/suggest.hpp"
#include "catena/base/timer.hpp"
#include "catena/comm/leave_program.hpp"
#include "catena/io/info.hpp"
#include "catena/solvers/linear_settings.hpp"
#include "catena/solvers/solver_factory.hpp"
#include "commands.hpp"
#include "describe.hpp"
#include "script_commands.hpp"

namespace {

using catena::Communicator;
using catena::Error;
using catena::ExitCode;

constexpr const char* kNewest = "newest";  ///< --resume without a file
constexpr const char* kDescribe = "--describe";
constexpr const char* kTitle = "Catena: rigid bodies in frictional contact, on any number of ranks";
constexpr const char* kProblemHelp = "FCLIB file, or a step dumped by a run";

/// What the command line asks for.
struct Request {
  catena::cli::RunArguments run;  ///< and the case of check and plan
  catena::cli::SolveArguments solve;
  std::string resume;  ///< empty: not asked for; "newest", or a file
  catena::cli::CalibrateArguments calibrate;
  int plan_ranks = 0;
  std::string plan_calibration;  ///< empty: no time is predicted
  std::string info_file, rebuild_directory;
  bool info_whole = false;
};

/// The words that an option takes, as its type in help and description.
std::string one_of(std::span<const std::string_view> names) {
  std::string text;
  for (const std::string_view name : names) text += (text.empty() ? "" : "|") + std::string(name);
  return text;
}

void add_case(CLI::App& command, catena::cli::CaseArguments& arguments) {
  command.add_option("CASE", arguments.file, "case file")->required();
  // each --set takes one text; otherwise it would swallow the case's name
  command.add_option("--set", arguments.set, "path=value: overrides a key of the case; repeatable")
      ->allow_extra_args(false)
      ->type_name("PATH=VALUE");
}

void add_from(CLI::App& command, catena::cli::CaseArguments& arguments) {
  command
      .add_option("--from", arguments.from,
                  "begin with the end of another run: its directory, or one of its checkpoints; "
                  "the key initial.from")
      ->type_name("DIR");
}

void add_run(CLI::App& app, Request& request) {
  CLI::App* run = app.add_subcommand("run", "take a case through time");
  add_case(*run, request.run);
  add_from(*run, request.run);
  run->add_option("-o", request.run.directory, "directory of the result; ./NAME of the case")
      ->type_name("DIR");
  run->add_flag("--force", request.run.force, "replace Catena's own files in the directory");
  // a flag with a value: an optional option would swallow what follows it
  CLI::Option* resume =
      run->add_flag("--resume{newest}", request.resume,
                    "go on from the newest checkpoint in the directory, or from --resume=FILE")
          ->expected(0, 1);
  resume->excludes("--force");
  resume->excludes("--from");
  run->add_option(
         "--max-wall", request.run.max_wall,
         "stop in time, with a checkpoint and exit code 2: seconds, with a unit, or HH:MM:SS")
      ->type_name("T");
  run->add_flag("--quiet", request.run.quiet, "no progress lines");
}

void add_solve(CLI::App& app, Request& request) {
  CLI::App* solve = app.add_subcommand("solve", "solve one contact problem");
  auto& s = request.solve;
  solve->add_option("PROBLEM", s.problem, kProblemHelp)->required();
  solve->add_option("--solver", s.solver, "method; gauss_seidel")
      ->type_name(one_of(catena::kSolverNames));
  solve->add_option("--law", s.law, "of contacts; the file's, or coulomb")
      ->type_name(one_of(catena::kContactLawNames));
  solve->add_option("--metric", s.metric, "error that is the stop rule; energy")
      ->type_name(one_of(catena::kMetricNames));
  solve
      ->add_option("--tolerance", s.tolerance,
                   "absolute for dimensionless metrics, else relative to the value at zero "
                   "impulses; 1e-6")
      ->type_name("X");
  solve->add_option("--max-iterations", s.max_iterations, "10000")->type_name("K");
  solve->add_option("--time-limit", s.time_limit, "wall time: seconds, with a unit, or HH:MM:SS")
      ->type_name("T");
  CLI::Option* cold = solve->add_flag(
      "--cold", s.cold, "start from zero, also where a step dumped by a run holds its first guess");
  solve
      ->add_flag("--warm", s.warm,
                 "start from the file's first guess, /guesses/1/r; dumped steps do unless --cold")
      ->excludes(cold);
  solve->add_option("--set", s.set, "key=value of the case's solver section; repeatable")
      ->allow_extra_args(false)
      ->type_name("KEY=VALUE");
  solve->add_option("--report", s.report, "JSON")->type_name("FILE");
  solve->add_option("--solution", s.solution, "HDF5: /solution/{v, u, r}")->type_name("FILE");
  solve->add_option("--history", s.history, "CSV, a line per evaluation of the error")
      ->type_name("FILE");
  solve->add_flag("--force", s.force, "overwrite report, solution and history");
  solve->add_flag("--quiet", s.quiet, "no summary on stdout");
}

void describe(CLI::App& app, Request& request) {
  app.require_subcommand(1);
  app.set_version_flag("--version", [] { return catena::cli::version_text(); });
  // answered before anything is parsed (describe_program)
  app.add_flag(kDescribe)->description(
      "Print commands, options and keys of cases as a table for programs and exit");
  add_run(app, request);
  CLI::App* check = app.add_subcommand("check", "validate a case and print it with every default");
  add_case(*check, request.run);
  add_from(*check, request.run);
  CLI::App* plan = app.add_subcommand("plan", "how a case would lie on a number of ranks");
  add_case(*plan, request.run);
  add_from(*plan, request.run);
  plan->add_option("-n", request.plan_ranks, "ranks")
      ->required()
      ->type_name("RANKS")
      ->check(CLI::Range(1, 1 << 24));
  plan->add_option("--calibration", request.plan_calibration,
                   "what `catena calibrate -o` wrote: predict the time of a step of mechanisms")
      ->type_name("FILE");
  add_solve(app, request);
  CLI::App* calibrate =
      app.add_subcommand("calibrate", "measure the cost model's constants on this machine");
  calibrate->add_option("-o", request.calibrate.output, "also as JSON")->type_name("FILE");
  calibrate->add_flag("--force", request.calibrate.force, "overwrite the file");
  CLI::App* info = app.add_subcommand("info", "what a result or problem file holds");
  CLI::Option* file =
      info->add_option("FILE", request.info_file, "HDF5 file, or a result's directory");
  CLI::Option* whole =
      info->add_flag("--whole", request.info_whole, "print the case with all its keys, too");
  info->add_option("--rebuild", request.rebuild_directory,
                   "make result.h5 and result.xdmf of a result directory anew")
      ->type_name("DIR")
      ->excludes(file)
      ->excludes(whole);
  for (const catena::cli::ScriptCommand& command : catena::cli::script_commands())
    app.add_subcommand(command.name, command.help);
}

/// Prints what the program takes. Needs no MPI: builds ask for it where no run could start.
ExitCode describe_program() {
  Request request;
  CLI::App app(kTitle, "catena");
  describe(app, request);
  std::fputs(catena::cli::description(app).c_str(), stdout);
  return std::fflush(stdout) == 0 && std::ferror(stdout) == 0 ? ExitCode::done
                                                              : ExitCode::input_output;
}

ExitCode dispatch(const Communicator& comm, const CLI::App& app, const Request& request) {
  if (app.got_subcommand("run")) {
    catena::cli::RunArguments run = request.run;
    run.resume = !request.resume.empty();
    if (request.resume != kNewest) run.checkpoint = request.resume;
    return catena::cli::run(comm, run);
  }
  if (app.got_subcommand("check")) return catena::cli::check(comm, request.run);
  if (app.got_subcommand("plan"))
    return catena::cli::plan(comm, request.run, request.plan_ranks, request.plan_calibration);
  if (app.got_subcommand("calibrate")) return catena::cli::calibrate(comm, request.calibrate);
  if (app.got_subcommand("solve")) return catena::cli::solve(comm, request.solve);
  if (!request.rebuild_directory.empty()) {
    return catena::cli::rebuild(comm, request.rebuild_directory);
  }
  if (request.info_file.empty()) {
    throw Error("needs a file", "info",
                "catena info FILE.h5, catena info DIR, or catena info --rebuild DIR");
  }
  return catena::cli::info(comm, request.info_file, request.info_whole);
}

/// Takes what stands after -- off the arguments: options of PETSc, which the parser does not know.
std::vector<std::string> take_petsc_options(std::vector<std::string>& arguments) {
  const auto bar = std::find(arguments.begin(), arguments.end(), "--");
  if (bar == arguments.end()) return {};
  std::vector<std::string> options(bar + 1, arguments.end());
  arguments.erase(bar, arguments.end());
  const bool solves =
      !arguments.empty() && (arguments.front() == "run" || arguments.front() == "solve");
  if (!options.empty() && !solves) {
    throw Error("'" + options.front() + "' stands after --, where PETSc's options do", "--",
                "only `run` and `solve` take them");
  }
  return options;
}

std::string remedy_of(const std::string& word, const std::vector<std::string>& known) {
  const std::string near = catena::nearest_word(word, known);
  if (!near.empty()) return "did you mean " + near + "?";
  std::string all;
  for (const std::string& name : known) all += (all.empty() ? "known: " : ", ") + name;
  return all;
}

/// Throws Error for a first word that is no subcommand.
void check_subcommand(const CLI::App& app, const std::vector<std::string>& arguments) {
  std::vector<std::string> known;
  for (const CLI::App* command : app.get_subcommands({})) known.push_back(command->get_name());
  for (const std::string& word : arguments) {
    if (word.starts_with("-")) continue;
    if (std::count(known.begin(), known.end(), word) > 0) return;
    throw Error("unknown subcommand '" + word + "'", "command line", remedy_of(word, known));
  }
}

/// Throws Error for the first option that the subcommand does not have.
void check_options(const CLI::App& app, const std::vector<std::string>& arguments) {
  std::vector<std::string> known;
  const CLI::App* command = &app;
  for (const CLI::App* called : app.get_subcommands()) command = called;
  for (const CLI::Option* option : command->get_options()) {
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
    for (const std::string& name : option->get_snames()) known.push_back("-" + name);
  }
  for (const std::string& argument : arguments) {
    const std::string name = argument.substr(0, argument.find('='));
    const bool number = name.size() > 1 && (std::isdigit(name[1]) != 0 || name[1] == '.');
    if (!name.starts_with("-") || number || std::count(known.begin(), known.end(), name) > 0 ||
        (!name.starts_with("--") && std::count(known.begin(), known.end(), name.substr(0, 2)) > 0))
      continue;
    const std::string of = command == &app ? "catena" : "catena " + command->get_name();
    throw Error("unknown option '" + name + "' of " + of, "command line", remedy_of(name, known));
  }
}

/// Parses and dispatches; help and version come from the parser.
ExitCode run_catena(const Communicator& comm, std::vector<std::string> arguments, double started) {
  Request request;
  request.run.started = started;
  request.run.command_line = "catena";
  for (const std::string& a : arguments) request.run.command_line += " " + a;
  request.run.petsc = request.solve.petsc = take_petsc_options(arguments);
  CLI::App app(kTitle, "catena");
  describe(app, request);
  try {
    check_subcommand(app, arguments);
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
    app.parse(std::move(reversed));
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() != 0) check_options(app, arguments);
    if (e.get_exit_code() != 0) throw Error(e.what(), "command line", "see catena --help");
    std::ostringstream out, err;
    app.exit(e, out, err);
    if (comm.rank() == 0) std::fputs(out.str().c_str(), stdout);
    return ExitCode::done;
  }
  return dispatch(comm, app, request);
}

/// Runs the program; all that it made is gone when it returns.
int run_program(const std::vector<std::string>& arguments, double started) {
  const Communicator comm = Communicator::world();
  ExitCode code = ExitCode::done;
  try {
    code = run_catena(comm, arguments, started);
  } catch (const Error& e) {
    // MPI's own failures may be this rank's alone; all others are thrown on every rank
    if (e.code() == ExitCode::runtime_error) comm.abort(1, e.what());
    code = e.code();
    if (comm.rank() == 0) std::fprintf(stderr, "%s\n", e.what());
  } catch (const std::bad_alloc&) {  // on this rank alone: the others would wait for ever
    comm.abort(1, "rank " + std::to_string(comm.rank()) + ": out of memory");
  } catch (const std::exception& e) {
    comm.abort(1, "rank " + std::to_string(comm.rank()) + ": " + e.what());
  }
  // mpirun kills the other ranks at the first nonzero exit: what is said must be out by then
  std::fflush(nullptr);
  try {
    comm.barrier();
  } catch (const Error& e) {
    comm.abort(1, e.what());
  }
  return static_cast<int>(code);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (!arguments.empty() && arguments.front() == kDescribe) {
    return static_cast<int>(describe_program());
  }
  try {
    catena::cli::become_script(arguments);
  } catch (const Error& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return static_cast<int>(e.code());
  }
  // BLAS on one thread: MPI is the only parallelism, set before the library starts threads
  setenv("OPENBLAS_NUM_THREADS", "1", 1);
  setenv("OMP_NUM_THREADS", "1", 1);
  const double started = catena::wall_seconds();
  catena::return_large_blocks();
  const int code = run_program(arguments, started);
  // each library ends while those that it rests on still work
  catena::end_linear_algebra();
  catena::end_files();
  catena::leave_program(code);
}
