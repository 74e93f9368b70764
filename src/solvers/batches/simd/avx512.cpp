// Eight lanes in AVX-512 registers.
#include "solvers/batches/simd/contact_batches.hpp"

#if defined(__AVX512F__) && defined(__AVX512DQ__)
#include "solvers/lanes/avx512.hpp"

namespace catena {
namespace {

struct Lines {
  D x[8];
};

[[gnu::always_inline]] inline void load_lines(const BodyLine* lines, const std::int32_t* index,
                                              Lines& out) {
  for (int half = 0; half < 8; half += 4)
    load_four(
        [&](int j) __attribute__((always_inline)) { return lines[index[j]].x + half; },
        out.x + half);
}
[[gnu::always_inline]] inline void store_lines(BodyLine* lines, const std::int32_t* index,
                                               const Lines& in) {
  for (int half = 0; half < 8; half += 4)
    unload_four(
        in.x + half, [&](int j, __m256d row) __attribute__((always_inline)) {
          _mm256_store_pd(lines[index[j]].x + half, row);
        });
}
/// One lane after the other: two may name a line.
[[gnu::always_inline]] inline void add_lines(BodyLine* lines, const std::int32_t* index,
                                             const Lines& in) {
  for (int half = 0; half < 8; half += 4)
    unload_four(
        in.x + half, [&](int j, __m256d row) __attribute__((always_inline)) {
          double* to = lines[index[j]].x + half;
          _mm256_store_pd(to, _mm256_add_pd(_mm256_load_pd(to), row));
        });
}

}  // namespace
}  // namespace catena

#include "solvers/batches/simd/sweep_kernels.hpp"

namespace catena {
BatchKernels avx512_kernels() { return kernels_named("avx512"); }
}  // namespace catena
#else
namespace catena {
BatchKernels avx512_kernels() { return {}; }
}  // namespace catena
#endif
