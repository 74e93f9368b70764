#include "bench_measure.hpp"

#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#endif

#include "bench_problems.hpp"
#include "catena/base/huge_pages.hpp"

namespace catena {
namespace {

/// Keeps the compiler from leaving out what makes `value`.
template <class Value>
void keep(const Value& value) {
  asm volatile("" : : "r,m"(value) : "memory");
}

template <class Pass>
double least_seconds(int passes, const Pass& pass) {
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < passes; ++i) {
    const double start = cpu_seconds();
    pass();
    least = std::min(least, cpu_seconds() - start);
  }
  return least;
}

/// Independent sums, so that a multiply-add need not wait for the one before: more than latency
/// times ports, fewer than registers.
constexpr int kSums = 12;
constexpr std::int64_t kTurns = 1 << 20;

double add_plain() {
  double sums[kSums] = {};
  for (std::int64_t n = 0; n < kTurns; ++n)
    for (double& sum : sums) sum = std::fma(sum, 0.999, 1.0);
  double all = 0.0;
  for (const double sum : sums) all += sum;
  return all;
}

#if defined(__x86_64__) && defined(__GNUC__)
__attribute__((target("avx2,fma"))) double add_avx2() {
  const __m256d a = _mm256_set1_pd(0.999), b = _mm256_set1_pd(1.0);
  __m256d sums[kSums];
  for (__m256d& sum : sums) sum = _mm256_setzero_pd();
  for (std::int64_t n = 0; n < kTurns; ++n)
    for (__m256d& sum : sums) sum = _mm256_fmadd_pd(sum, a, b);
  for (int i = 1; i < kSums; ++i) sums[0] = _mm256_add_pd(sums[0], sums[i]);
  return _mm256_cvtsd_f64(sums[0]);
}

__attribute__((target("avx512f"))) double add_avx512() {
  const __m512d a = _mm512_set1_pd(0.999), b = _mm512_set1_pd(1.0);
  __m512d sums[kSums];
  for (__m512d& sum : sums) sum = _mm512_setzero_pd();
  for (std::int64_t n = 0; n < kTurns; ++n)
    for (__m512d& sum : sums) sum = _mm512_fmadd_pd(sum, a, b);
  for (int i = 1; i < kSums; ++i) sums[0] = _mm512_add_pd(sums[0], sums[i]);
  return _mm512_cvtsd_f64(sums[0]);
}
#endif

/// The function for the widest registers here, and their doubles.
struct MultiplyAdds {
  double (*run)();
  int lanes;
};

MultiplyAdds widest() {
#if defined(__x86_64__) && defined(__GNUC__)
  if (__builtin_cpu_supports("avx512f")) return {add_avx512, 8};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return {add_avx2, 4};
#endif
  return {add_plain, 1};
}

}  // namespace

double cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

double triad_bandwidth() {
  constexpr std::size_t kElements = std::size_t{32} << 20;
  HugeVector<double> a(kElements, 0.0), b(kElements, 1.0), c(kElements, 2.0);
  const double seconds = least_seconds(6, [&] {
    for (std::size_t i = 0; i < kElements; ++i) a[i] = b[i] + 0.5 * c[i];
    keep(a.data());
  });
  return 24e-9 * static_cast<double>(kElements) / seconds;
}

double peak_flops() {
  const MultiplyAdds adds = widest();
  const double seconds = least_seconds(9, [&] { keep(adds.run()); });
  return 2e-9 * kSums * adds.lanes * static_cast<double>(kTurns) / seconds;
}

SolverSettings without_looks(SolverSettings settings) {
  settings.stop.keep_best = false;
  settings.stop.check_interval = 1 << 30;
  return settings;
}

double seconds_per_iteration(const ConstraintProblem& problem, const SolverSettings& settings,
                             std::span<const double> guess, int more) {
  const SweepCounts counts = sweep_counts(more);
  std::vector<double> velocities(problem.bodies.n_dofs());
  const auto solve = [&](int iterations) {
    std::vector<double> impulses(guess.begin(), guess.end());
    impulses.resize(problem.n_rows(), 0.0);
    SolverSettings fixed = settings;
    fixed.stop.max_iterations = iterations;
    fixed.stop.relative_tolerance = fixed.stop.absolute_tolerance = 0.0;
    const auto solver = make_solver(fixed);
    const double start = cpu_seconds();
    solver->solve(problem, impulses, velocities);
    return cpu_seconds() - start;
  };
  const double few = solve(counts.few);
  return (solve(counts.many) - few) / counts.more();
}

}  // namespace catena
