#include "catena/solvers/dantzig.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <string>

#include "catena/base/error.hpp"
#include "catena/base/text.hpp"
#include "catena/base/timer.hpp"
#include "catena/constraints/contact_cone.hpp"
#include "catena/solvers/automatic.hpp"
#include "solvers/pivoting/bounded_lcp.hpp"
#include "solvers/pivoting/components.hpp"
#include "solvers/pivoting/friction_passes.hpp"
#include "solvers/pivoting/sparse_operator.hpp"
#include "solvers/stop_monitor.hpp"

namespace catena {
namespace {

using Vector = Eigen::VectorXd;

/// Pivots below this, as a part of their row's N_ii, are those of rows that depend on others.
constexpr double kRedundant = 1e-10;
/// Passes that change the impulses by less than this part, and their bounds no more, have settled.
constexpr double kSettled = 1e-13;
/// Passes after which the best error must have fallen by a factor of two, or they wander.
constexpr std::size_t kPatience = 12;
/// Passes in a row whose pivots may fail.
constexpr int kMaxFailures = 2;
/// Sweeps' worth of work that the method in place of passes gets for one pass: as many sweeps guess
/// at a pass's start which rows are free.
constexpr int kSweepsPerPass = 50;

void check(const ConstraintProblem& problem) {
  if (problem.comm.size() > 1)
    throw Error("dantzig runs on one rank, not on " + std::to_string(problem.comm.size()),
                "solver.method", "use gauss_seidel, apgd or interior_point, or one rank");
  require_kernels(problem, "dantzig");
  if (law_form(problem.law).is_associated())
    throw Error(
        "dantzig does not know law " + std::string(kContactLawNames[ordinal(named_law(problem))]),
        "solver.method", "use interior_point or apgd, or law coulomb, box or frictionless");
}

void check_sizes(const std::vector<Component>& components) {
  Index most = 0;
  for (const Component& c : components) most = std::max(most, c.rows);
  if (most <= kMaxDantzigRows) return;
  throw Error("dantzig keeps a dense factor, too large for " + std::to_string(most) +
                  " rows that are connected (at most " + std::to_string(kMaxDantzigRows) + ")",
              "solver.method", "use gauss_seidel, apgd or interior_point");
}

bool is_converged(const SolveReport& report) { return report.status == SolveStatus::converged; }

/// Sums up what the pivots of several solves did; the end is that of the last.
void add(const LcpResult& part, LcpResult& sum) {
  sum.pivots += part.pivots;
  sum.exchanges += part.exchanges;
  sum.block_pivots += part.block_pivots;
  sum.refinements += part.refinements;
  sum.smallest_pivot = std::min(sum.smallest_pivot, part.smallest_pivot);
}

/// Why pivots ended without a solution; empty where they did not, or what is left is round-off.
std::string why_stuck(const LcpResult& r) {
  if (r.end == LcpEnd::no_solution)
    return "pivoting is stuck: rows contradict each other, or one can move without end";
  if (r.end == LcpEnd::pivot_limit)
    return "pivoting is stuck: " + std::to_string(r.pivots) +
           " single pivots have not found which rows stand at their bounds";
  return {};
}

/// One connected problem: passes, and another method where they do not settle.
class ConnectedSolve {
 public:
  /// `shown`: takes lines on the progress.
  ConnectedSolve(const ConstraintProblem& problem, const StopRule& stop,
                 const DantzigSettings& settings, std::span<double> impulses,
                 std::span<double> velocities, SolveWatch* shown)
      : problem_(problem),
        stop_(stop),
        settings_(settings),
        impulses_(impulses),
        velocities_(velocities),
        shown_(shown) {}

  SolveReport run();
  const LcpResult& pivots() const { return pivots_; }
  /// Whether another method was tried.
  bool handed_on() const { return !other_.empty(); }

 private:
  SolveReport run_passes();
  void hand_on(SolveReport& report);
  bool is_over(const Vector& before, const Vector& x, const FrictionPasses& passes,
               std::span<const HistoryEntry> history);
  LcpSettings pass_settings(SolveWatch& watch) const;
  std::string remark() const;

  const ConstraintProblem& problem_;
  const StopRule& stop_;
  const DantzigSettings& settings_;
  std::span<double> impulses_, velocities_;
  SolveWatch* shown_;
  double started_ = wall_seconds();
  LcpResult pivots_;
  int passes_ = 0, failures_ = 0;
  std::string stuck_;  ///< why passes ended without a solution
  std::string other_;  ///< the methods that went on
};

SolveReport ConnectedSolve::run() {
  SolveReport report = run_passes();
  const bool unsolved =
      report.status == SolveStatus::iteration_limit || report.status == SolveStatus::breakdown;
  if (unsolved && !stuck_.empty() && passes_ < stop_.max_iterations) hand_on(report);
  if (!is_converged(report)) report.stuck = stuck_;
  return report;
}

LcpSettings ConnectedSolve::pass_settings(SolveWatch& watch) const {
  LcpSettings lcp;
  lcp.regularisation = settings_.regularisation;
  lcp.stop = [&watch] { return watch.look(); };
  lcp.progress = [this](const LcpResult& r, Eigen::Index free_rows) {
    if (!shown_->shows_progress()) return;
    shown_->show("pass " + std::to_string(passes_) + " over " + std::to_string(problem_.n_rows()) +
                 " rows, " + std::to_string(free_rows) + " of them in the factor: " +
                 std::to_string(r.block_pivots) + " block pivots, " + std::to_string(r.pivots) +
                 " single ones, " + std::to_string(r.refinements) + " refinements");
  };
  return lcp;
}

/// Whether no pass is to follow although the error is above its goal; sets stuck_ unless what is
/// left is round-off.
bool ConnectedSolve::is_over(const Vector& before, const Vector& x, const FrictionPasses& passes,
                             std::span<const HistoryEntry> history) {
  const LcpResult& last = passes.total();
  failures_ = why_stuck(last).empty() ? 0 : failures_ + 1;
  if (failures_ >= kMaxFailures) {
    stuck_ = why_stuck(last);
    return true;
  }
  // the first pass does not know the directions of sliding yet
  if (failures_ == 0 && passes_ > 1 &&
      (x - before).lpNorm<Eigen::Infinity>() <= kSettled * x.lpNorm<Eigen::Infinity>() &&
      passes.confirmed_by(x))
    return true;
  if (history.size() <= kPatience) return false;
  const auto best = [&](std::span<const HistoryEntry> part) {
    double least = HUGE_VAL;
    for (const HistoryEntry& e : part) least = std::min(least, value_of(e.errors, stop_.metric));
    return least;
  };
  if (best(history) <= 0.5 * best(history.first(history.size() - kPatience))) return false;
  stuck_ = "passes do not settle: the last " + std::to_string(kPatience) +
           " brought the bounds of friction no closer to a solution";
  return true;
}

SolveReport ConnectedSolve::run_passes() {
  const RowBounds bounds = row_bounds(problem_);
  const bool box = law_form(problem_.law).box;
  Vector x = Eigen::Map<const Vector>(impulses_.data(), problem_.n_rows());
  make_admissible(bounds, box, x);
  std::copy(x.begin(), x.end(), impulses_.begin());
  Vector before = x;
  DelassusOperator op(problem_);
  std::optional<FrictionPasses> passes;
  StopRule rule = stop_;
  rule.give_up = [&](std::span<const HistoryEntry> history, double threshold) {
    return (passes && is_over(before, x, *passes, history)) ||
           (stop_.give_up && stop_.give_up(history, threshold));
  };
  StopMonitor monitor(problem_, op, rule, impulses_, velocities_, started_);
  if (shown_ == nullptr) shown_ = &monitor.watch();
  if (monitor.start()) return monitor.finish("");
  passes.emplace(problem_, op, bounds, pass_settings(monitor.watch()));
  monitor.set_setup_seconds(wall_seconds() - started_);
  do {
    ++passes_;
    before = x;
    passes->advance(x);
    Vector answer = x;
    make_admissible(bounds, box, answer);
    std::copy(answer.begin(), answer.end(), impulses_.begin());
    monitor.begin(passes_, 0.0, passes_ >= rule.max_iterations);
  } while (!monitor.end());
  pivots_ = passes->total();
  if (stuck_.empty()) stuck_ = why_stuck(pivots_);
  shown_ = nullptr;
  return monitor.finish(remark());
}

std::string ConnectedSolve::remark() const {
  const LcpResult& r = pivots_;
  std::string text = std::to_string(r.block_pivots) + " block pivots of " +
                     std::to_string(r.exchanges) + " rows, " + std::to_string(r.pivots) +
                     " single ones";
  if (r.smallest_pivot < kRedundant)
    text += "; rows depend on each other: regularised by " +
            short_text(settings_.regularisation, 3) + " of the diagonal and refined " +
            std::to_string(r.refinements) + " times";
  if (!stuck_.empty())
    text += "; " + stuck_;
  else if (r.end != LcpEnd::solved && r.end != LcpEnd::stopped)
    text += "; the last pass was not solved to round-off";
  return text;
}

/// What is left of max_iterations goes to the methods of `auto`, from the best impulses so far.
void ConnectedSolve::hand_on(SolveReport& report) {
  if (report.status == SolveStatus::breakdown) std::fill(impulses_.begin(), impulses_.end(), 0.0);
  const std::vector<double> found(impulses_.begin(), impulses_.end());
  SolverSettings settings;
  settings.method = SolverMethod::automatic;
  settings.stop = stop_;
  settings.stop.max_iterations =
      static_cast<int>(std::min(1e9, double{kSweepsPerPass} * (stop_.max_iterations - passes_)));
  if (!std::isnan(stop_.time_limit))
    settings.stop.time_limit = std::max(0.0, stop_.time_limit - (wall_seconds() - started_));
  const SolveReport other = make_solver(settings)->solve(problem_, impulses_, velocities_);
  const Metric metric = stop_.metric;
  const bool better = report.status == SolveStatus::breakdown ||
                      value_of(other.errors, metric) < value_of(report.errors, metric);
  other_ = other.choice;
  const int passes = (other.iterations + kSweepsPerPass - 1) / kSweepsPerPass;
  for (HistoryEntry entry : other.history) {
    entry.iteration = passes_ + (entry.iteration + kSweepsPerPass - 1) / kSweepsPerPass;
    entry.wall_s += report.wall_s;
    if (entry.iteration > passes_) report.history.push_back(entry);
  }
  report.iterations = passes_ + passes;
  report.linear_iterations += other.linear_iterations;
  report.choice = "dantzig, then " + other.choice;
  report.reason += "; went on by " + other.reason;
  report.wall_s = wall_seconds() - started_;
  if (other.status == SolveStatus::time_limit) report.status = SolveStatus::time_limit;
  if (better && other.status != SolveStatus::breakdown) {
    report.status = other.status;
    report.errors = other.errors;
    report.threshold = std::max(report.threshold, other.threshold);
    return;
  }
  std::copy(found.begin(), found.end(), impulses_.begin());
  DelassusOperator(problem_).velocities(impulses_, velocities_);
}

/// Whose error is the largest speaks for its component.
SolvedApart describe_apart(const ConstraintProblem& part, std::span<const double> impulses,
                           const SolveReport& report) {
  SolvedApart note;
  note.blocks = part.n_blocks();
  note.rows = part.n_rows();
  note.solved = is_converged(report);
  DelassusOperator op(part);
  const std::vector<double> energies = ErrorEvaluator(part, op).block_energies(impulses);
  const std::size_t worst = std::max_element(energies.begin(), energies.end()) - energies.begin();
  const auto n_contacts = part.contacts.size();
  if (part.assembled) {
    note.name = part.assembled->name[worst];
  } else if (worst < n_contacts) {
    note.contact = true;
    note.key = part.contacts[worst].key;
  } else {
    const std::size_t k = worst - n_contacts;
    note.contact = part.blocks.kind[k] == BlockKind::contact && !part.blocks.key.empty();
    if (note.contact) note.key = part.blocks.key[k];
    note.name = part.blocks.name[k];
  }
  note.text = report.reason;
  return note;
}

std::string name_of(const SolvedApart& note) {
  if (note.contact)
    return "the contact of bodies " + std::to_string(note.key.a) + " and " +
           std::to_string(note.key.b);
  return "block " + std::to_string(note.name);
}

class Dantzig final : public Solver {
 public:
  Dantzig(const StopRule& stop, const DantzigSettings& settings)
      : stop_(stop), settings_(settings) {}
  std::string_view name() const override { return "dantzig"; }
  void set_stop_rule(const StopRule& rule) override { stop_ = rule; }

  const SolveReport& solve(const ConstraintProblem& problem, std::span<double> impulses,
                           std::span<double> velocities) override {
    check(problem);
    const std::vector<Component> components = connected_components(problem);
    check_sizes(components);
    if (components.size() > 1)
      return report_ = solve_apart(problem, components, impulses, velocities);
    ConnectedSolve solve(problem, stop_, settings_, impulses, velocities, nullptr);
    report_ = solve.run();
    if (solve.handed_on() || !report_.stuck.empty()) note(problem, impulses, report_, report_);
    return report_;
  }

 private:
  /// The components done so far.
  struct Progress {
    LcpResult pivots;
    int iterations = 0, linear_iterations = 0;
    bool late = false, converged = true;
    std::string choice;
  };

  static void note(const ConstraintProblem& part, std::span<const double> impulses,
                   const SolveReport& of_part, SolveReport& report) {
    ++report.n_apart;
    if (report.apart.size() < kMaxApartNamed)
      report.apart.push_back(describe_apart(part, impulses, of_part));
  }
  SolveReport solve_apart(const ConstraintProblem& problem,
                          const std::vector<Component>& components, std::span<double> impulses,
                          std::span<double> velocities) const;
  void solve_parts(const ConstraintProblem& problem, const std::vector<Component>& components,
                   const StopRule& stop, StopMonitor& monitor, std::span<double> impulses,
                   Progress& progress, SolveReport& notes) const;
  void solve_part(const ConstraintProblem& problem, const Component& component, StopRule stop,
                  SolveWatch& shown, std::span<double> impulses, Progress& progress,
                  SolveReport& notes) const;
  static std::string remark(std::size_t components, const Progress& progress,
                            const SolveReport& notes);

  StopRule stop_;
  DantzigSettings settings_;
  SolveReport report_;
};

void Dantzig::solve_part(const ConstraintProblem& problem, const Component& component,
                         StopRule stop, SolveWatch& shown, std::span<double> impulses,
                         Progress& progress, SolveReport& notes) const {
  const ConstraintProblem part = problem_of(problem, component);
  const std::vector<Index> rows = rows_of(problem, component);
  std::vector<double> own(rows.size()), velocities(part.bodies.n_dofs());
  for (std::size_t i = 0; i < rows.size(); ++i) own[i] = impulses[rows[i]];
  if (!std::isnan(stop.time_limit))
    stop.time_limit = std::max(0.0, stop.time_limit - (wall_seconds() - shown.started()));
  ConnectedSolve solve(part, stop, settings_, own, velocities, &shown);
  const SolveReport report = solve.run();
  add(solve.pivots(), progress.pivots);
  progress.iterations = std::max(progress.iterations, report.iterations);
  progress.linear_iterations += report.linear_iterations;
  progress.late = progress.late || report.status == SolveStatus::time_limit;
  progress.converged = progress.converged && is_converged(report);
  if (solve.handed_on() && progress.choice.empty()) progress.choice = report.choice;
  if (notes.stuck.empty()) notes.stuck = report.stuck;
  if (solve.handed_on() || !report.stuck.empty()) note(part, own, report, notes);
  if (report.status == SolveStatus::breakdown) return;  // the guess stands
  for (std::size_t i = 0; i < rows.size(); ++i) impulses[rows[i]] = own[i];
}

/// The small ones first: time that runs out leaves as few as can be.
void Dantzig::solve_parts(const ConstraintProblem& problem,
                          const std::vector<Component>& components, const StopRule& stop,
                          StopMonitor& monitor, std::span<double> impulses, Progress& progress,
                          SolveReport& notes) const {
  std::vector<std::size_t> order(components.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(
      order, [&](std::size_t i, std::size_t j) { return components[i].rows < components[j].rows; });
  for (std::size_t i = 0; i < order.size() && !progress.late; ++i) {
    solve_part(problem, components[order[i]], stop, monitor.watch(), impulses, progress, notes);
    if (monitor.watch().shows_progress())
      monitor.watch().show(std::to_string(i + 1) + " of " + std::to_string(order.size()) +
                           " connected components done");
  }
}

SolveReport Dantzig::solve_apart(const ConstraintProblem& problem,
                                 const std::vector<Component>& components,
                                 std::span<double> impulses, std::span<double> velocities) const {
  const double started = wall_seconds();
  DelassusOperator op(problem);
  const RowBounds bounds = row_bounds(problem);
  Vector x = Eigen::Map<const Vector>(impulses.data(), problem.n_rows());
  make_admissible(bounds, law_form(problem.law).box, x);
  std::copy(x.begin(), x.end(), impulses.begin());
  StopRule rule = stop_;
  // every component has returned its best
  rule.keep_best = false;
  bool done = false;
  rule.give_up = [&](std::span<const HistoryEntry>, double) { return done; };
  StopMonitor monitor(problem, op, rule, impulses, velocities, started);
  if (monitor.start()) return monitor.finish("");
  monitor.set_setup_seconds(wall_seconds() - started);
  Progress progress;
  SolveReport notes;
  solve_parts(problem, components, stop_, monitor, impulses, progress, notes);
  // errors that are each within an absolute tolerance may add up to more: once again, closer
  done = !progress.converged || progress.iterations >= rule.max_iterations;
  monitor.begin(progress.iterations, 0.0, true);
  if (!monitor.end()) {
    notes = {};
    StopRule closer = stop_;
    closer.absolute_tolerance /= static_cast<double>(components.size());
    closer.relative_tolerance /= static_cast<double>(components.size());
    solve_parts(problem, components, closer, monitor, impulses, progress, notes);
    done = true;
    monitor.begin(progress.iterations, 0.0, true);
    monitor.end();
  }
  SolveReport report = monitor.finish(remark(components.size(), progress, notes));
  report.linear_iterations = progress.linear_iterations;
  report.choice = progress.choice;
  report.apart = std::move(notes.apart);
  report.n_apart = notes.n_apart;
  if (!is_converged(report)) report.stuck = notes.stuck;
  return report;
}

std::string Dantzig::remark(std::size_t components, const Progress& progress,
                            const SolveReport& notes) {
  const LcpResult& r = progress.pivots;
  std::string text = std::to_string(components) +
                     " connected components apart: " + std::to_string(r.block_pivots) +
                     " block pivots of " + std::to_string(r.exchanges) + " rows, " +
                     std::to_string(r.pivots) + " single ones";
  if (r.smallest_pivot < kRedundant)
    text += "; rows depend on each other: regularised and refined " +
            std::to_string(r.refinements) + " times";
  if (notes.n_apart == 0) return text;
  const auto solved = std::count_if(notes.apart.begin(), notes.apart.end(),
                                    [](const SolvedApart& n) { return n.solved; });
  const auto failed = std::find_if(notes.apart.begin(), notes.apart.end(),
                                   [](const SolvedApart& n) { return !n.solved; });
  const SolvedApart& first = failed != notes.apart.end() ? *failed : notes.apart.front();
  return text + "; " + std::to_string(notes.n_apart) + " not solved by passes, of these " +
         std::to_string(solved) + (notes.n_apart > std::ssize(notes.apart) ? " or more" : "") +
         " by other methods; that of " + name_of(first) + ", " + std::to_string(first.rows) +
         " rows: " + first.text;
}

}  // namespace

void describe(SettingsVisitor& visit, DantzigSettings& s) {
  visit.visit(
      "regularisation", s.regularisation,
      {.min = 1e-14,
       .max = 1e-4,
       .help = "part of the diagonal added for rows that depend on each other; refined away"});
}

std::unique_ptr<Solver> make_dantzig(const StopRule& stop, const DantzigSettings& settings) {
  return std::make_unique<Dantzig>(stop, settings);
}

}  // namespace catena
