// Times Gauss-Seidel's sweeps against the bandwidth of memory in the same run.
//
//   bench_sweep [Google Benchmark options]
//
// sweep/<sphere|general>/<bodies>/<kernels>: bodies of a close-packed lattice with 12 neighbours
// (6 contacts a body), along a space-filling curve; law coulomb, friction 0.5. `general` bodies
// have unequal moments of inertia and arms off the normal. A sweep's time is the difference of
// solves of few and more sweeps of one problem, so that set-up and error evaluation cancel.
// Counters: contact updates (3 rows each once) per second; bytes that an update moves when nothing
// stays in cache (the contact once, its impulse written, each body's line read and written once a
// sweep, shared by its 6 contacts); triad in GB/s of a = b + s c on 3 arrays of 256 MiB, 24 bytes
// an element counted; share of the bound triad / bytes. Thread CPU time, one rank.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "bench_measure.hpp"
#include "bench_problems.hpp"
#include "catena/base/huge_pages.hpp"
#include "loop_costs.hpp"

namespace {

using namespace catena;

/// Measured once per program.
double triad() {
  static const double value = triad_bandwidth();
  return value;
}

void time_sweep(benchmark::State& bench, bool general, std::int64_t bodies, KernelPath kernels) {
  const ConstraintProblem problem = packed_lattice(bodies, general);
  const auto contacts = static_cast<double>(problem.contacts.size());
  // enough of the largest ones, too, for set-up to cancel on a machine that others use
  const int more = std::max(48, static_cast<int>(2e7 / contacts));
  SolverSettings settings = without_looks({});
  settings.gauss_seidel.kernels = kernels;
  double best = 1e300;
  for (auto _ : bench) {
    const double seconds = seconds_per_iteration(problem, settings, {}, more);
    best = std::min(best, seconds);
    bench.SetIterationTime(seconds);
  }
  const double bytes = (general ? kGeneralSweep : kSphereSweep).bytes;
  bench.counters["contacts"] = contacts;
  bench.counters["updates_per_s"] = contacts / best;
  bench.counters["bytes_per_update"] = bytes;
  bench.counters["triad_GB_s"] = triad();
  bench.counters["share_of_bound"] = contacts / best * bytes / (1e9 * triad());
}

}  // namespace

int main(int argc, char** argv) {
  catena::return_large_blocks();
  benchmark::Initialize(&argc, argv);
  const std::array<std::pair<const char*, KernelPath>, 3> paths = {
      {{"plain", KernelPath::plain}, {"avx2", KernelPath::avx2}, {"avx512", KernelPath::avx512}}};
  for (const bool general : {false, true})
    for (const std::int64_t bodies : {4000, 100000, 1000000})
      for (const auto& [name, path] : paths)
        benchmark::RegisterBenchmark(("sweep/" + std::string(general ? "general/" : "sphere/") +
                                      std::to_string(bodies) + "/" + name)
                                         .c_str(),
                                     [general, bodies, path = path](benchmark::State& s) {
                                       time_sweep(s, general, bodies, path);
                                     })
            ->UseManualTime()
            ->Iterations(3)
            ->Unit(benchmark::kMillisecond);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
