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
#include <time.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "bench_problems.hpp"
#include "catena/base/huge_pages.hpp"
#include "catena/solvers/solver_factory.hpp"

namespace {

using namespace catena;

/// CPU time of this thread, s: other programs on the machine do not count.
double cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

/// GB/s of a = b + s c, the best of several passes.
double measure_triad() {
  constexpr std::size_t kElements = std::size_t{32} << 20;
  HugeVector<double> a(kElements, 0.0), b(kElements, 1.0), c(kElements, 2.0);
  double best = 1e300;
  for (int pass = 0; pass < 6; ++pass) {
    const double start = cpu_seconds();
    for (std::size_t i = 0; i < kElements; ++i) a[i] = b[i] + 0.5 * c[i];
    benchmark::DoNotOptimize(a.data());
    benchmark::ClobberMemory();
    best = std::min(best, cpu_seconds() - start);
  }
  return 24.0 * static_cast<double>(kElements) * 1e-9 / best;
}

/// Measured once per program.
double triad() {
  static const double value = measure_triad();
  return value;
}

double seconds_of(const ConstraintProblem& problem, KernelPath kernels, int sweeps,
                  std::vector<double>& velocities) {
  SolverSettings settings;
  settings.gauss_seidel.kernels = kernels;
  settings.stop.max_iterations = sweeps;
  settings.stop.relative_tolerance = 0.0;
  settings.stop.absolute_tolerance = 0.0;
  settings.stop.keep_best = false;
  settings.stop.check_interval = 1 << 30;
  std::vector<double> impulses(problem.n_rows(), 0.0);
  const double start = cpu_seconds();
  make_solver(settings)->solve(problem, impulses, velocities);
  return cpu_seconds() - start;
}

void time_sweep(benchmark::State& bench, bool general, std::int64_t bodies, KernelPath kernels) {
  const ConstraintProblem problem = packed_lattice(bodies, general);
  std::vector<double> velocities(problem.bodies.n_dofs());
  const auto contacts = static_cast<double>(problem.contacts.size());
  const SweepCounts sweeps = sweep_counts(std::max(14, static_cast<int>(2e7 / contacts)));
  double best = 1e300;
  for (auto _ : bench) {
    const double few = seconds_of(problem, kernels, sweeps.few, velocities);
    const double many = seconds_of(problem, kernels, sweeps.many, velocities);
    const double seconds = (many - few) / sweeps.more();
    best = std::min(best, seconds);
    bench.SetIterationTime(seconds);
  }
  const double per_body = 6.0;
  const double bytes = general ? 192.0 + 24.0 + (2.0 * 64.0 + 64.0) / per_body
                               : 104.0 + 24.0 + 2.0 * 64.0 / per_body;
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
