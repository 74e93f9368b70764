// Runs a case of configs/validation with joints beside its reference series.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "analytic/case_runner.hpp"
#include "support/reference.hpp"

namespace catena::test {

/// configs/validation/<name>.yaml on one rank with time step h; `sets` as --set takes them.
std::unique_ptr<Simulation> validation_case(const std::string& name, double h,
                                            std::vector<std::string> sets = {});

/// What a run of one step size shows.
struct JointRun {
  double h = 0.0;
  std::vector<double> error;  ///< largest over the reference's rows, one per quantity compared
  double misfit = 0.0;        ///< largest of the joints over all steps, m
  double misfit_angular = 0.0;
  double energy = 0.0;       ///< largest |E - E(0)|, J
  double energy_gain = 0.0;  ///< largest E - E(0), J
  double energy_end = 0.0;   ///< E - E(0) at the end, J
};

/// Deviations from row `row` of the reference, one per quantity compared.
using Deviations = std::function<std::vector<double>(const Simulation&, std::size_t row)>;

/// Steps the case to every row of `reference` with t <= end, after each of which `deviations` are
/// taken.
JointRun run_beside(const std::string& name, double h, const ReferenceSeries& reference, double end,
                    const Deviations& deviations, const std::vector<std::string>& sets = {});

/// Prints a line per run: errors with the orders between neighbours, drift, energy.
void print_runs(const char* title, const std::vector<JointRun>& runs);

/// log(e_i / e_j) / log(h_i / h_j) of quantity k in the last two runs.
double last_order(const std::vector<JointRun>& runs, std::size_t k);
/// The same of any positive figure of the runs.
double figure_order(const std::vector<JointRun>& runs, double JointRun::*figure);

}  // namespace catena::test
