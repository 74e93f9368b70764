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
#include <cmath>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "catena/base/huge_pages.hpp"
#include "catena/base/random.hpp"
#include "catena/math/rotation.hpp"
#include "catena/partition/balance.hpp"
#include "catena/solvers/gauss_seidel.hpp"

namespace {

using namespace catena;

constexpr double kRadius = 0.01;  // m
constexpr double kStep = 5e-3;    // s

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

/// Close-packed spheres: even sites of a cubic grid of cells, along the Hilbert curve.
struct Lattice {
  std::vector<std::array<int, 3>> cell;
  std::vector<Index> body_at;  ///< per cell of the grid; kNoIndex: none
  int n = 0;                   ///< cells along an edge

  explicit Lattice(std::int64_t bodies) {
    n = static_cast<int>(std::ceil(std::cbrt(2.0 * static_cast<double>(bodies))));
    Aabb box;
    box.lo = Vec3::Zero();
    box.hi = Vec3::Constant(n);
    std::vector<std::pair<std::uint64_t, std::array<int, 3>>> keyed;
    for (int z = 0; z < n; ++z)
      for (int y = 0; y < n; ++y)
        for (int x = 0; x < n; ++x)
          if ((x + y + z) % 2 == 0) keyed.push_back({curve_key(Vec3(x, y, z), box), {x, y, z}});
    std::sort(keyed.begin(), keyed.end());
    body_at.assign(
        static_cast<std::size_t>(n) * static_cast<std::size_t>(n) * static_cast<std::size_t>(n),
        kNoIndex);
    for (const auto& [key, c] : keyed) {
      body_at[place(c)] = static_cast<Index>(cell.size());
      cell.push_back(c);
    }
  }
  std::size_t place(const std::array<int, 3>& c) const {
    const auto at = [&](int i) { return static_cast<std::size_t>(c[static_cast<std::size_t>(i)]); };
    const auto edge = static_cast<std::size_t>(n);
    return (at(2) * edge + at(1)) * edge + at(0);
  }
  /// The neighbour of a body in a direction, or kNoIndex.
  Index neighbour(std::size_t body, const std::array<int, 3>& d) const {
    std::array<int, 3> c = cell[body];
    for (std::size_t i = 0; i < 3; ++i) {
      c[i] += d[i];
      if (c[i] < 0 || c[i] >= n) return kNoIndex;
    }
    return body_at[place(c)];
  }
};

void add_bodies(const Lattice& lattice, bool general, ConstraintProblem& problem) {
  const std::size_t n = lattice.cell.size();
  problem.bodies.reserve(n);
  const double mass = 2500.0 * 4.0 / 3.0 * 3.14159 * kRadius * kRadius * kRadius;
  const double moment = 0.4 * mass * kRadius * kRadius;
  for (std::size_t i = 0; i < n; ++i) {
    Twist twist;
    for (int k = 0; k < 3; ++k) {
      twist.v[k] = 0.1 * uniform_pm1(1, i, static_cast<std::uint64_t>(k));
      twist.w[k] = 0.1 * uniform_pm1(1, i, static_cast<std::uint64_t>(k) + 3) / kRadius;
    }
    twist.v[2] -= 9.81 * kStep;
    const Quat q(Eigen::AngleAxisd(uniform_pm1(2, i, 0), Vec3(1.0, 2.0, 3.0).normalized()));
    const Vec3 inverse = (general ? Vec3(1.0, 1.4, 0.7) : Vec3(1.0, 1.0, 1.0)) / moment;
    const Mat3 inverse_inertia = general ? rotate_diagonal(q, inverse) : Mat3(inverse.asDiagonal());
    problem.bodies.add_rigid(static_cast<GlobalId>(i), 1.0 / mass, inverse_inertia, twist);
  }
  problem.bodies.n_owned = static_cast<Index>(n);
}

void add_contacts(const Lattice& lattice, bool general, ConstraintProblem& problem) {
  constexpr std::array<std::array<int, 3>, 6> kDirections = {
      {{1, 1, 0}, {1, -1, 0}, {1, 0, 1}, {1, 0, -1}, {0, 1, 1}, {0, 1, -1}}};
  problem.contacts.reserve(6 * lattice.cell.size());
  for (std::size_t i = 0; i < lattice.cell.size(); ++i) {
    for (std::size_t d = 0; d < kDirections.size(); ++d) {
      for (const int sign : {1, -1}) {
        std::array<int, 3> step = kDirections[d];
        for (int& s : step) s *= sign;
        const Index j = lattice.neighbour(i, step);
        if (j <= static_cast<Index>(i)) continue;
        RigidContact c;
        c.body_a = static_cast<Index>(i);
        c.body_b = j;
        c.key = {static_cast<GlobalId>(i), j, 0, 0};
        c.normal = Vec3(step[0], step[1], step[2]).normalized();
        Vec3 second;
        tangents_of(c.normal, c.tangent, second);
        c.arm_a = kRadius * c.normal;
        c.arm_b = -kRadius * c.normal;
        if (general) {
          const std::uint64_t k = 6 * i + d;
          const Vec3 off =
              0.4 * kRadius * (uniform_pm1(3, k, 0) * c.tangent + uniform_pm1(3, k, 1) * second);
          c.arm_a += off;
          c.arm_b += off;
        }
        c.friction = 0.5;
        problem.contacts.push_back(c);
      }
    }
  }
}

double seconds_of(const ConstraintProblem& problem, KernelPath kernels, int sweeps,
                  std::vector<double>& velocities) {
  GaussSeidelSettings settings;
  settings.kernels = kernels;
  settings.stop.max_iterations = sweeps;
  settings.stop.relative_tolerance = 0.0;
  settings.stop.absolute_tolerance = 0.0;
  settings.stop.keep_best = false;
  settings.stop.check_interval = 1 << 30;
  std::vector<double> impulses(static_cast<std::size_t>(problem.n_rows()), 0.0);
  const double start = cpu_seconds();
  make_gauss_seidel(settings)->solve(problem, impulses, velocities);
  return cpu_seconds() - start;
}

void time_sweep(benchmark::State& bench, bool general, std::int64_t bodies, KernelPath kernels) {
  ConstraintProblem problem(Communicator::self());
  {
    const Lattice lattice(bodies);
    add_bodies(lattice, general, problem);
    add_contacts(lattice, general, problem);
  }
  std::vector<double> velocities(static_cast<std::size_t>(problem.bodies.n_dofs()));
  const auto contacts = static_cast<double>(problem.contacts.size());
  constexpr int kFew = 5;
  const int more = std::max(20, static_cast<int>(2e7 / contacts));
  double best = 1e300;
  for (auto _ : bench) {
    const double few = seconds_of(problem, kernels, kFew, velocities);
    const double seconds = (seconds_of(problem, kernels, kFew + more, velocities) - few) / more;
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
