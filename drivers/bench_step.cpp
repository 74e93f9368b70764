// Times whole steps and single sweeps of cases at a fixed number of sweeps.
//
//   bench_step CASE.yaml... [Google Benchmark options]
//
// step/<case>/<sweeps>: one time step; counters contacts and, as wall times, those of its stages
// (kStepStageNames) in ms. sweep/<case>: the cost of a sweep from solves of 257 and 511
// sweeps of the same problem, so that set-up and error evaluation cancel; counter contact_updates
// (3 rows each once) per second. Thread CPU time, one rank.
#include <benchmark/benchmark.h>
#include <time.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "bench_problems.hpp"
#include "catena/base/huge_pages.hpp"
#include "catena/simulation/simulation.hpp"

namespace {

using catena::CaseSettings;
using catena::Communicator;

/// The case with `sweeps` sweeps a step, no early stop and no error evaluation in between.
CaseSettings with_sweeps(const std::string& path, int sweeps) {
  return catena::read_case(
      Communicator::self(), path,
      {"solver.max_iterations=" + std::to_string(sweeps), "solver.relative_tolerance=0",
       "solver.absolute_tolerance=0", "solver.keep_best=false", "solver.check_interval=1000000"});
}

/// CPU time of this thread, s: other programs on the machine do not count.
double cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

void time_step(benchmark::State& bench, const std::string& path) {
  const int sweeps = catena::narrow<int>(bench.range(0));
  catena::Simulation sim(Communicator::self(), with_sweeps(path, sweeps));
  for (int i = 0; i < 3; ++i) sim.step();
  catena::StepTimes sum;
  for (auto _ : bench) {
    sum += sim.step().times;
  }
  const double per_step_ms = 1e3 / static_cast<double>(bench.iterations());
  for (std::size_t i = 0; i < catena::kStepStageNames.size(); ++i)
    bench.counters[std::string(catena::kStepStageNames[i]) + "_ms"] = sum.values()[i] * per_step_ms;
  bench.counters["contacts"] = static_cast<double>(sim.stepper().report().contacts);
}

void time_sweep(benchmark::State& bench, const std::string& path) {
  catena::Simulation sim(Communicator::self(), with_sweeps(path, 10));
  for (int i = 0; i < 3; ++i) sim.step();
  const catena::ConstraintProblem& problem = sim.stepper().problem();
  const auto solve = [&](int sweeps) {
    catena::SolverSettings settings = with_sweeps(path, sweeps).solver;
    settings.method = catena::SolverMethod::gauss_seidel;
    const std::unique_ptr<catena::Solver> solver = catena::make_solver(settings);
    std::vector<double> impulses(sim.stepper().impulses().begin(), sim.stepper().impulses().end());
    std::vector<double> velocities(problem.bodies.n_dofs());
    const double start = cpu_seconds();
    solver->solve(problem, impulses, velocities);
    return cpu_seconds() - start;
  };
  const catena::SweepCounts sweeps = catena::sweep_counts(200);
  double per_sweep = 0.0;
  for (auto _ : bench) {
    const double seconds = (solve(sweeps.many) - solve(sweeps.few)) / sweeps.more();
    bench.SetIterationTime(seconds);
    per_sweep += seconds;
  }
  per_sweep /= static_cast<double>(bench.iterations());
  bench.counters["contact_updates"] = static_cast<double>(problem.contacts.size()) / per_sweep;
  bench.counters["contacts"] = static_cast<double>(problem.contacts.size());
}

}  // namespace

int main(int argc, char** argv) {
  catena::return_large_blocks();
  benchmark::Initialize(&argc, argv);
  if (argc < 2) {
    std::fputs("usage: bench_step CASE.yaml... [--benchmark_... options]\n", stderr);
    return 3;
  }
  for (int i = 1; i < argc; ++i) {
    const std::string path = argv[i];
    const std::string name = path.substr(path.find_last_of('/') + 1);
    benchmark::RegisterBenchmark(("step/" + name).c_str(),
                                 [path](benchmark::State& s) { time_step(s, path); })
        ->Arg(50)
        ->Unit(benchmark::kMillisecond);
    benchmark::RegisterBenchmark(("sweep/" + name).c_str(),
                                 [path](benchmark::State& s) { time_sweep(s, path); })
        ->UseManualTime()
        ->Iterations(5)
        ->Unit(benchmark::kMillisecond);
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
