#include "analytic/joint_case.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace catena::test {

std::unique_ptr<Simulation> validation_case(const std::string& name, double h,
                                            std::vector<std::string> sets) {
  const Communicator comm = Communicator::self();
  sets.push_back("time.step=" + text_of(h));
  return std::make_unique<Simulation>(
      comm, read_case(comm, std::string(CATENA_CONFIGS) + "/validation/" + name + ".yaml", sets));
}

JointRun run_beside(const std::string& name, double h, const ReferenceSeries& reference, double end,
                    const Deviations& deviations, const std::vector<std::string>& sets) {
  const auto sim = validation_case(name, h, sets);
  JointRun run;
  run.h = h;
  for (std::size_t row = 0; row < reference.rows.size(); ++row) {
    const double t = reference.at(row, "t");
    if (t <= 0.0 || t > end + 0.5 * h) continue;
    for (const std::int64_t last = std::llround(t / h); sim->state().step < last;) {
      const StepReport& r = sim->step();
      run.energy_end = r.kinetic + r.potential - r.audit[EnergyTerm::initial_energy];
      run.energy = std::max(run.energy, std::abs(run.energy_end));
      run.energy_gain = std::max(run.energy_gain, run.energy_end);
      run.misfit = std::max(run.misfit, r.misfit.linear);
      run.misfit_angular = std::max(run.misfit_angular, r.misfit.angular);
    }
    const std::vector<double> deviation = deviations(*sim, row);
    run.error.resize(deviation.size(), 0.0);
    for (std::size_t k = 0; k < deviation.size(); ++k)
      run.error[k] = std::max(run.error[k], std::abs(deviation[k]));
  }
  return run;
}

double last_order(const std::vector<JointRun>& runs, std::size_t k) {
  const JointRun &coarse = runs[runs.size() - 2], &fine = runs.back();
  return std::log(coarse.error[k] / fine.error[k]) / std::log(coarse.h / fine.h);
}

double figure_order(const std::vector<JointRun>& runs, double JointRun::*figure) {
  const JointRun &coarse = runs[runs.size() - 2], &fine = runs.back();
  return std::log(coarse.*figure / fine.*figure) / std::log(coarse.h / fine.h);
}

void print_runs(const char* title, const std::vector<JointRun>& runs) {
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const JointRun& run = runs[i];
    std::printf("%s: h = %g ms, errors", title, 1e3 * run.h);
    for (std::size_t k = 0; k < run.error.size(); ++k) {
      std::printf(" %.2e", run.error[k]);
      if (i > 0)
        std::printf(" (%.2f)", std::log(runs[i - 1].error[k] / run.error[k]) /
                                   std::log(runs[i - 1].h / run.h));
    }
    std::printf("; misfit %.1e m, %.1e rad; E - E0 from %.1e to +%.1e J, in the end %.1e\n",
                run.misfit, run.misfit_angular, run.energy, run.energy_gain, run.energy_end);
  }
}

}  // namespace catena::test
