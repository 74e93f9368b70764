#include "catena/solvers/dantzig.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <string>

#include "catena/base/error.hpp"
#include "catena/base/timer.hpp"
#include "dantzig_friction.hpp"
#include "dantzig_lcp.hpp"
#include "dantzig_rows.hpp"
#include "stop_monitor.hpp"

namespace catena {
namespace {

using Vector = Eigen::VectorXd;

/// Pivots below this, as a part of their row's N_ii, are those of rows that hang on others.
constexpr double kRedundant = 1e-10;

void check(const ConstraintProblem& problem) {
  if (problem.comm.size() > 1)
    throw Error("dantzig runs on one rank, not on " + std::to_string(problem.comm.size()),
                "solver.method", "use gauss_seidel, apgd or interior_point, or one rank");
  if (problem.law == ContactLaw::ccp)
    throw Error("dantzig does not know law ccp", "solver.method",
                "use interior_point or apgd, or law coulomb, box or frictionless");
  if (problem.n_rows() > kMostDantzigRows)
    throw Error("dantzig keeps a dense factor, too large for " + std::to_string(problem.n_rows()) +
                    " rows (at most " + std::to_string(kMostDantzigRows) + ")",
                "solver.method", "use gauss_seidel, apgd or interior_point");
}

class Dantzig final : public Solver {
 public:
  explicit Dantzig(const DantzigSettings& settings) : settings_(settings) {}
  std::string_view name() const override { return "dantzig"; }

  SolveReport solve(const ConstraintProblem& problem, std::span<double> impulses,
                    std::span<double> velocities) override {
    const double started = wall_seconds();
    check(problem);
    DelassusOperator op(problem);
    const RowBounds bounds = row_bounds(problem);
    Vector x = Eigen::Map<const Vector>(impulses.data(), problem.n_rows());
    make_admissible(bounds, problem.law == ContactLaw::box, x);
    std::copy(x.begin(), x.end(), impulses.begin());
    StopMonitor monitor(problem, op, settings_.stop, impulses, velocities, started);
    if (monitor.start()) return monitor.finish("");
    FrictionPasses passes(problem, op, bounds, pass_settings(started));
    monitor.set_setup_seconds(wall_seconds() - started);
    for (int pass = 1;; ++pass) {
      passes.advance(x);
      Vector answer = x;
      make_admissible(bounds, problem.law == ContactLaw::box, answer);
      std::copy(answer.begin(), answer.end(), impulses.begin());
      monitor.begin(pass, 0.0, pass >= settings_.stop.max_iterations);
      if (monitor.end()) return monitor.finish(remark(passes.total()));
    }
  }

 private:
  LcpSettings pass_settings(double started) const {
    LcpSettings lcp;
    lcp.regularisation = settings_.regularisation;
    const double limit = settings_.stop.time_limit;
    if (!std::isnan(limit)) lcp.stop = [=] { return wall_seconds() - started >= limit; };
    return lcp;
  }

  std::string remark(const LcpResult& r) const {
    std::string text = std::to_string(r.block_pivots) + " block pivots of " +
                       std::to_string(r.exchanges) + " rows, " + std::to_string(r.pivots) +
                       " single ones";
    if (r.smallest_pivot < kRedundant) {
      std::array<char, 32> epsilon;
      std::snprintf(epsilon.data(), epsilon.size(), "%.3g", settings_.regularisation);
      text += "; rows hang on each other: regularised by " + std::string(epsilon.data()) +
              " of the diagonal and refined " + std::to_string(r.refinements) + " times";
    }
    if (!r.solved && !r.stopped) text += "; the last pass was not solved to round-off";
    return text;
  }

  DantzigSettings settings_;
};

}  // namespace

void describe(SettingsVisitor& visit, DantzigSettings& s) {
  visit.visit(
      "regularisation", s.regularisation,
      {.min = 1e-14,
       .max = 1e-4,
       .help = "part of the diagonal added for rows that hang on each other; refined away"});
}

std::unique_ptr<Solver> make_dantzig(const DantzigSettings& settings) {
  return std::make_unique<Dantzig>(settings);
}

}  // namespace catena
