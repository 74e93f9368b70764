// Times whole steps and single sweeps of cases at a fixed number of sweeps.
//
//   bench_step CASE.yaml... [--peers DIR] [Google Benchmark options]
//
// step/<case>/<sweeps>: one time step; counters contacts and, as wall times, those of its stages
// (kStepStageNames) in ms. sweep/<case>: the cost of a sweep from solves of 257 and 511
// sweeps of the same problem, so that set-up and error evaluation cancel; counter contact_updates
// (3 rows each once) per second. Thread CPU time, one rank.
//
// At the end a table of all cases; with --peers beside the programs of other engines in DIR on
// DIR/scenes/<case>.txt, from which scripts/user/scene_to_table.py makes the cases
// (peer_programs.hpp). Without it, or where a program is not there, their columns stay empty.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bench_measure.hpp"
#include "catena/base/huge_pages.hpp"
#include "catena/simulation/simulation.hpp"
#include "peer_programs.hpp"

namespace {

using catena::CaseSettings;
using catena::Communicator;
using catena::PeerResult;

/// The case with `sweeps` sweeps a step, no early stop and no error evaluation in between.
CaseSettings with_sweeps(const std::string& path, int sweeps) {
  return catena::read_case(
      Communicator::self(), path,
      {"solver.max_iterations=" + std::to_string(sweeps), "solver.relative_tolerance=0",
       "solver.absolute_tolerance=0", "solver.keep_best=false", "solver.check_interval=1000000"});
}

void time_step(benchmark::State& bench, const std::string& path, PeerResult& result) {
  const int sweeps = catena::narrow<int>(bench.range(0));
  catena::Simulation sim(Communicator::self(), with_sweeps(path, sweeps));
  for (int i = 0; i < 3; ++i) sim.step();
  catena::StepTimes sum;
  const double start = catena::cpu_seconds();
  for (auto _ : bench) {
    sum += sim.step().times;
  }
  const double seconds = catena::cpu_seconds() - start;
  const double per_step_ms = 1e3 / static_cast<double>(bench.iterations());
  for (std::size_t i = 0; i < catena::kStepStageNames.size(); ++i)
    bench.counters[std::string(catena::kStepStageNames[i]) + "_ms"] = sum.values()[i] * per_step_ms;
  bench.counters["contacts"] = static_cast<double>(sim.stepper().report().contacts);
  result.step_ms = seconds * per_step_ms;
}

void time_sweep(benchmark::State& bench, const std::string& path, PeerResult& result) {
  catena::Simulation sim(Communicator::self(), with_sweeps(path, 10));
  for (int i = 0; i < 3; ++i) sim.step();
  const catena::ConstraintProblem& problem = sim.stepper().problem();
  catena::SolverSettings settings = catena::without_looks(sim.settings().solver);
  settings.method = catena::SolverMethod::gauss_seidel;
  double per_sweep = 0.0;
  for (auto _ : bench) {
    const double seconds =
        catena::seconds_per_iteration(problem, settings, sim.stepper().impulses(), 200);
    bench.SetIterationTime(seconds);
    per_sweep += seconds;
  }
  per_sweep /= static_cast<double>(bench.iterations());
  const auto contacts = static_cast<double>(problem.contacts.size());
  bench.counters["contact_updates"] = contacts / per_sweep;
  bench.counters["contacts"] = contacts;
  result.contacts = contacts;
  result.updates = 1e-6 * contacts / per_sweep;
}

void print_result(const std::optional<PeerResult>& result) {
  if (result)
    std::printf(" %.0f | %.4g | %.4g |", result->contacts, result->updates, result->step_ms);
  else
    std::printf(" | | |");
}

/// One line a case: contacts, millions of updates per second and ms of a step of 50 sweeps, ours
/// and of the others. `peers` may be empty.
void print_table(const std::map<std::string, PeerResult>& results, const std::string& peers) {
  std::printf("\n| case | Catena: contacts | M updates/s | step, ms |");
  for (const char* name : catena::kPeers)
    std::printf(" %s: contacts | M updates/s | step, ms |", name);
  std::printf("\n|---|---|---|---|");
  for (std::size_t k = 0; k < catena::kPeers.size(); ++k) std::printf("---|---|---|");
  for (const auto& [path, result] : results) {
    const std::string scene = std::filesystem::path(path).stem().string();
    std::printf("\n| %s |", scene.c_str());
    print_result(result);
    for (std::size_t k = 0; k < catena::kPeers.size(); ++k)
      print_result(peers.empty() ? std::nullopt : catena::run_peer(peers, k, scene));
    std::fflush(stdout);
  }
  std::printf("\n");
}

}  // namespace

int main(int argc, char** argv) {
  catena::return_large_blocks();
  benchmark::Initialize(&argc, argv);
  std::string peers;
  std::map<std::string, PeerResult> results;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--peers") == 0 && i + 1 < argc)
      peers = argv[++i];
    else
      results[argv[i]] = {};
  }
  if (results.empty()) {
    std::fputs("usage: bench_step CASE.yaml... [--peers DIR] [--benchmark_... options]\n", stderr);
    return 3;
  }
  for (auto& [path, result] : results) {
    const std::string name = std::filesystem::path(path).filename().string();
    benchmark::RegisterBenchmark(
        ("step/" + name).c_str(),
        [&path = path, &result = result](benchmark::State& s) { time_step(s, path, result); })
        ->Arg(50)
        ->Unit(benchmark::kMillisecond);
    benchmark::RegisterBenchmark(
        ("sweep/" + name).c_str(),
        [&path = path, &result = result](benchmark::State& s) { time_sweep(s, path, result); })
        ->UseManualTime()
        ->Iterations(5)
        ->Unit(benchmark::kMillisecond);
  }
  benchmark::RunSpecifiedBenchmarks();
  print_table(results, peers);
  return 0;
}
