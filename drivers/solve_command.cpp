// `catena solve`: one contact problem, its certified errors, and the report.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <optional>

#include "catena/base/index.hpp"
#include "catena/base/log.hpp"
#include "catena/base/suggest.hpp"
#include "catena/base/text.hpp"
#include "catena/base/units.hpp"
#include "catena/base/version.hpp"
#include "catena/io/fclib.hpp"
#include "catena/io/yaml_settings.hpp"
#include "catena/simulation/case.hpp"
#include "commands.hpp"

namespace catena::cli {

namespace {

/// A problem solved alone may take longer than one step of a run.
constexpr int kMaxIterations = 10000;
constexpr double kTolerance = 1e-6;

/// Index of `word` in `names`, or an Error that calls it a value of `option`.
template <std::size_t kSize>
int index_of(const std::array<std::string_view, kSize>& names, const std::string& word,
             const std::string& option) {
  const auto at = std::find(names.begin(), names.end(), word);
  if (at != names.end()) return narrow<int>(at - names.begin());
  const std::vector<std::string> candidates(names.begin(), names.end());
  const std::string near = nearest_word(word, candidates);
  std::string known;
  for (const auto& name : candidates) known += (known.empty() ? "" : ", ") + name;
  throw Error("unknown value '" + word + "'", option,
              near.empty() ? "known: " + known : "did you mean " + near + "?");
}

/// Value of an option that takes a number.
double number_of(const std::string& text, std::string_view unit, const std::string& option,
                 double min) {
  double value = 0.0;
  try {
    value = parse_quantity(text, unit);
  } catch (const Error& e) {
    throw Error(e.found(), option, e.fix());
  }
  if (!std::isfinite(value) || value < min) throw Error("'" + text + "' is out of range", option);
  return value;
}

/// Options first, then --set, which has the last word.
SolverSettings settings_of(const SolveArguments& arguments) {
  SolverSettings settings;
  settings.method = static_cast<SolverMethod>(index_of(kSolverNames, arguments.solver, "--solver"));
  StopRule& stop = settings.stop;
  if (!arguments.metric.empty()) {
    stop.metric = static_cast<Metric>(index_of(kMetricNames, arguments.metric, "--metric"));
  }
  YamlDocument document("{}", "--set");
  for (const std::string& assignment : arguments.set) document.set(assignment);
  const auto read_set = [&] {
    document.read([&](SettingsVisitor& visit) { describe(visit, settings); });
  };
  read_set();  // the metric decides what the tolerance means
  const double tolerance = arguments.tolerance.empty()
                               ? kTolerance
                               : number_of(arguments.tolerance, "", "--tolerance", 0.0);
  const bool dimensionless = metric_unit(stop.metric) == "1";
  stop.absolute_tolerance = dimensionless ? tolerance : 0.0;
  stop.relative_tolerance = dimensionless ? 0.0 : tolerance;
  stop.max_iterations = kMaxIterations;
  if (!arguments.max_iterations.empty()) {
    const double n = number_of(arguments.max_iterations, "", "--max-iterations", 1.0);
    if (n != std::floor(n) || n > 2e9) {
      throw Error("'" + arguments.max_iterations + "' is not a whole number", "--max-iterations");
    }
    stop.max_iterations = static_cast<int>(n);
  }
  if (!arguments.time_limit.empty()) {
    stop.time_limit = number_of(arguments.time_limit, "s", "--time-limit", 0.0);
  }
  read_set();
  return settings;
}

/// One of the errors as reports and histories name it.
struct ErrorColumn {
  std::string name;
  std::string unit;
  double value = 0.0;
};

std::vector<ErrorColumn> columns_of(const Errors& e) {
  std::vector<ErrorColumn> columns;
  for (std::size_t i = 0; i < kMetricNames.size(); ++i) {
    const auto metric = static_cast<Metric>(i);
    columns.push_back(
        {std::string(kMetricNames[i]), std::string(metric_unit(metric)), value_of(e, metric)});
  }
  columns.push_back({"natural_map_angular", "rad/s", e.natural_map_angular});
  columns.push_back({"energy_joint", "J", e.energy_joint});
  columns.push_back({"energy_normal", "J", e.energy_normal});
  columns.push_back({"energy_friction", "J", e.energy_friction});
  columns.push_back({"energy_limit", "J", e.energy_limit});
  columns.push_back({"cone_violation", "N s", e.cone_violation});
  return columns;
}

/// Collective. Rank 0 writes a small text file.
void write_text(const Communicator& comm, const std::string& file, const std::string& text) {
  all_or_none(comm, [&] {
    if (comm.rank() != 0) return;
    std::ofstream out(file, std::ios::binary);
    if (!(out << text) || !out.flush()) {
      throw Error("cannot be written", file, "check the path and the space left",
                  ExitCode::input_output);
    }
  });
}

std::string law_name(ContactLaw law) { return std::string(kContactLawNames[ordinal(law)]); }

std::string solver_name(const SolverSettings& settings) {
  return std::string(kSolverNames[ordinal(settings.method)]);
}

struct Solved {
  std::string problem;
  FclibInfo info;
  std::int64_t rows = 0;
  ContactLaw law = ContactLaw::coulomb;
  bool guessed = false;    ///< started from the file's guess
  bool as_in_run = false;  ///< a dumped step, on the way that the run took
  int ranks = 1;
  SolverSettings settings;
  SolveReport report;
};

std::string report_json(const Solved& s) {
  SolverSettings settings = s.settings;
  std::string errors, units;
  for (const ErrorColumn& c : columns_of(s.report.errors)) {
    const std::string comma = errors.empty() ? "" : ", ";
    errors += comma + json_string(c.name) + ": " + json_number(c.value);
    units += comma + json_string(c.name) + ": " + json_string(c.unit);
  }
  const std::vector<std::pair<std::string, std::string>> fields = {
      {"schema", "1"},
      {"problem", json_string(s.problem)},
      {"form", json_string(s.info.form)},
      {"bodies", std::to_string(s.info.n_bodies)},
      {"contacts", std::to_string(s.info.n_contacts)},
      {"rows", std::to_string(s.rows)},
      {"solver", json_string(solver_name(s.settings))},
      {"law", json_string(law_name(s.law))},
      {"options", print_json([&](SettingsVisitor& visit) { describe(visit, settings); })},
      {"status", json_string(to_string(s.report.status))},
      {"reason", json_string(s.report.reason)},
      {"iterations", std::to_string(s.report.iterations)},
      {"linear_iterations", std::to_string(s.report.linear_iterations)},
      {"wall_s", json_number(s.report.wall_s)},
      {"setup_s", json_number(s.report.setup_s)},
      {"objective", json_number(s.report.errors.objective)},
      {"errors", "{" + errors + "}"},
      {"units", "{" + units + "}"},
      {"start", json_string(s.guessed ? "guess" : "zero")},
      {"ranks", std::to_string(s.ranks)},
      {"version", json_string(std::string(version()) + " " + std::string(git_hash()))}};
  std::string text = "{\n";
  for (std::size_t i = 0; i < fields.size(); ++i) {
    text += "  " + json_string(fields[i].first) + ": " + fields[i].second +
            (i + 1 < fields.size() ? ",\n" : "\n");
  }
  return text + "}\n";
}

std::string history_csv(const SolveReport& report) {
  std::string text = "iteration,wall_s (s)";
  for (const ErrorColumn& c : columns_of({})) text += "," + c.name + " (" + c.unit + ")";
  text += ",running_error\n";
  const auto append = [&](double value) { text += "," + exact_text(value); };
  for (const HistoryEntry& entry : report.history) {
    text += std::to_string(entry.iteration);
    append(entry.wall_s);
    for (const ErrorColumn& c : columns_of(entry.errors)) append(c.value);
    append(entry.running_error);
    text += "\n";
  }
  return text;
}

void print_summary(const Solved& s) {
  std::printf("%s: %s problem, %lld bodies, %lld contacts, %lld rows, law %s\n", s.problem.c_str(),
              s.info.form.c_str(), static_cast<long long>(s.info.n_bodies),
              static_cast<long long>(s.info.n_contacts), static_cast<long long>(s.rows),
              law_name(s.law).c_str());
  std::printf("%s: %s after %d iterations and %.3g s: %s\n", solver_name(s.settings).c_str(),
              std::string(to_string(s.report.status)).c_str(), s.report.iterations, s.report.wall_s,
              s.report.reason.c_str());
  std::printf("start: %s%s\n", s.guessed ? "the file's first guess" : "zero",
              s.as_in_run ? "; the step as the run held it" : "");
  if (s.settings.method == SolverMethod::gauss_seidel && s.info.form == "local" && s.ranks > 1) {
    std::printf("no bodies are known: block Jacobi between the %d ranks\n", s.ranks);
  }
  for (const ErrorColumn& c : columns_of(s.report.errors)) {
    std::printf("  %-20s %12.5e %s\n", c.name.c_str(), c.value,
                c.unit == "1" ? "" : c.unit.c_str());
  }
}

/// Collective. After the solve: options of PETSc that no solver asked for are misspelt.
void refuse_unused_options(const Communicator& comm, const PetscOptions& options) {
  const std::vector<std::string> unused = unused_petsc_options(comm, options);
  if (unused.empty()) return;
  throw Error("no solver asked for this option", unused.front(),
              "see PETSc's manual, and --solver");
}

ExitCode code_of(SolveStatus status) {
  if (status == SolveStatus::converged) return ExitCode::done;
  return status == SolveStatus::breakdown ? ExitCode::blow_up : ExitCode::tolerance_missed;
}

/// One contact on every rank, in the form of `like`.
ConstraintProblem smallest_problem(const ConstraintProblem& like) {
  ConstraintProblem problem(like.comm);
  problem.law = like.law;
  if (like.assembled) {
    AssembledOperator& one = problem.assembled.emplace();
    one.row_begin = {0, 3, 6, 9};
    one.column = {0, 1, 2, 0, 1, 2, 0, 1, 2};
    one.value = {2.0, 0.1, 0.1, 0.1, 2.0, 0.1, 0.1, 0.1, 2.0};
    one.r = {-1.0, 0.5, 0.2};
    one.friction = {0.3};
    one.name = {like.comm.rank()};
    return problem;
  }
  std::array<double, 36> inverse_mass{};
  for (std::size_t i = 0; i < 6; ++i) inverse_mass[7 * i] = 1.0;
  problem.bodies.add_dense(like.comm.rank(), inverse_mass,
                           std::array<double, 6>{-1.0, 0.5, 0.2, 0.0, 0.1, 0.0});
  problem.bodies.n_owned = 1;
  GeneralBlocks& blocks = problem.blocks;
  blocks.kind = {BlockKind::contact};
  blocks.name = {like.comm.rank()};
  blocks.row_begin = {0, 3};
  blocks.body_begin = {0, 1};
  blocks.body = {0};
  blocks.jacobian_begin = {0, 18};
  blocks.jacobian.assign(18, 0.1);
  for (std::size_t i = 0; i < 3; ++i) blocks.jacobian[7 * i] = 1.0;
  blocks.friction = {0.3};
  blocks.q.assign(3, 0.0);
  blocks.compliance.assign(3, 0.0);
  blocks.lower.assign(3, 0.0);
  blocks.upper.assign(3, 0.0);
  blocks.angular.assign(3, 0);
  return problem;
}

/// Collective. Solves a problem of one contact per rank, so that the times reported are those of
/// the method and not of the program's first touch of its code.
void warm_up(const ConstraintProblem& like, SolverSettings settings) {
  settings.stop.max_iterations = 2;
  settings.stop.time_limit = kNone;
  const ConstraintProblem problem = smallest_problem(like);
  std::vector<double> impulses(problem.n_rows(), 0.0);
  std::vector<double> velocities(problem.bodies.n_dofs(), 0.0);
  make_solver(settings)->solve(problem, impulses, velocities);
}

/// Collective. The impulses to start from, in the file's order: a dumped step's guess unless
/// --cold, that of other files only with --warm.
std::vector<double> start_of(const SolveArguments& arguments, const ConstraintProblem& problem,
                             Solved& solved) {
  if (arguments.warm && !solved.info.has_guess)
    throw Error("holds no first guess, /guesses/1/r", arguments.problem,
                "leave out --warm to start from zero");
  solved.guessed =
      arguments.warm || (solved.info.dumped && solved.info.has_guess && !arguments.cold);
  if (solved.guessed) return read_fclib_guess(arguments.problem, problem);
  return std::vector<double>(problem.n_rows(), 0.0);
}

/// Collective. Solves `problem`; `impulses` holds the start and receives the solution.
SolveReport solve_from(const ConstraintProblem& problem, const SolverSettings& settings,
                       std::vector<double>& impulses) {
  std::vector<double> velocities(problem.bodies.n_dofs(), 0.0);
  return make_solver(settings)->solve(problem, impulses, velocities);
}

/// The same on the step as the run held it, whose rows stand in another order.
SolveReport solve_as_in_run(const DumpedStep& step, const SolverSettings& settings,
                            std::vector<double>& impulses) {
  std::vector<double> own(impulses.size());
  for (std::size_t i = 0; i < own.size(); ++i) own[step.row[i]] = impulses[i];
  const SolveReport report = solve_from(step.problem, settings, own);
  for (std::size_t i = 0; i < own.size(); ++i) impulses[i] = own[step.row[i]];
  return report;
}

/// The dumped step as the run held it, where the file holds it and the problem is its own.
std::optional<DumpedStep> step_of(const SolveArguments& arguments,
                                  const ConstraintProblem& problem) {
  if (problem.comm.size() > 1) return std::nullopt;
  std::optional<DumpedStep> step = read_dumped_step(problem.comm, arguments.problem);
  if (step && std::ssize(step->row) != problem.n_rows()) return std::nullopt;
  if (!step) return step;
  if (step->problem.lagged && !problem.lagged) remove_shift(step->problem);
  step->problem.law = problem.law;
  return step;
}

/// The problem by another law than the file's.
void take_law(ContactLaw law, const std::string& path, ConstraintProblem& problem) {
  if (law == named_law(problem)) return;
  if (law == ContactLaw::lagged)
    throw Error("law lagged needs the shifts of a step of that law, /catena/shift", path,
                "give --law coulomb, or dump a step of a run with contact.law: lagged");
  if (problem.lagged) remove_shift(problem);
  problem.law = law;
}

}  // namespace

ExitCode solve(const Communicator& comm, const SolveArguments& arguments) {
  Solved solved;
  solved.problem = arguments.problem;
  solved.ranks = comm.size();
  solved.settings = settings_of(arguments);
  solved.settings.petsc.verbatim = arguments.petsc;
  set_petsc_options(comm, solved.settings.petsc);
  const int law = arguments.law.empty() ? -1 : index_of(kContactLawNames, arguments.law, "--law");
  check_output_files(comm, {arguments.report, arguments.solution, arguments.history},
                     arguments.force);

  ConstraintProblem problem = read_fclib(comm, arguments.problem, solved.info);
  if (law >= 0) take_law(static_cast<ContactLaw>(law), arguments.problem, problem);
  solved.law = named_law(problem);
  if (solved.settings.method == SolverMethod::gauss_seidel &&
      solved.settings.gauss_seidel.local == LocalSolve::cone && problem.law != ContactLaw::ccp) {
    throw Error("`cone` solves the laws ccp and lagged only", "--set: local", "give --law ccp");
  }
  solved.rows = comm.sum(std::int64_t{problem.n_rows()});
  std::vector<double> impulses = start_of(arguments, problem, solved);
  warm_up(problem, solved.settings);
  Watch watch;
  if (comm.rank() == 0 && !arguments.quiet)
    watch.progress = [](const std::string& text) { std::fprintf(stderr, "%s\n", text.c_str()); };
  solved.settings.stop.watch = &watch;
  const std::optional<DumpedStep> step = step_of(arguments, problem);
  solved.as_in_run = step.has_value();
  solved.report = step ? solve_as_in_run(*step, solved.settings, impulses)
                       : solve_from(problem, solved.settings, impulses);
  solved.settings.stop.watch = nullptr;
  refuse_unused_options(comm, solved.settings.petsc);

  if (comm.rank() == 0 && !arguments.quiet) print_summary(solved);
  if (!arguments.report.empty()) write_text(comm, arguments.report, report_json(solved));
  if (!arguments.history.empty()) write_text(comm, arguments.history, history_csv(solved.report));
  if (!arguments.solution.empty() && solved.report.status != SolveStatus::breakdown) {
    write_fclib_solution(arguments.solution, problem, impulses);
  }
  return code_of(solved.report.status);
}

}  // namespace catena::cli
