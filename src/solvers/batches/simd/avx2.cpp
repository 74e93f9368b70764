// Four lanes in AVX2 registers, twice per batch.
#include "solvers/batches/simd/contact_batches.hpp"

#if defined(__AVX2__) && defined(__FMA__)
#include "solvers/lanes/avx2.hpp"

namespace catena {
namespace {

struct Lines {
  D x[8];
};

[[gnu::always_inline]] inline void load_lines(const BodyLine* lines, const std::int32_t* index,
                                              Lines& out) {
  for (int j = 0; j < 4; ++j) {
    out.x[j].v = _mm256_load_pd(lines[index[j]].x);
    out.x[j + 4].v = _mm256_load_pd(lines[index[j]].x + 4);
  }
  transpose(out.x);
  transpose(out.x + 4);
}
[[gnu::always_inline]] inline void store_lines(BodyLine* lines, const std::int32_t* index,
                                               const Lines& in) {
  Lines rows = in;
  transpose(rows.x);
  transpose(rows.x + 4);
  for (int j = 0; j < 4; ++j) {
    _mm256_store_pd(lines[index[j]].x, rows.x[j].v);
    _mm256_store_pd(lines[index[j]].x + 4, rows.x[j + 4].v);
  }
}
/// One lane after the other: two may name a line.
[[gnu::always_inline]] inline void add_lines(BodyLine* lines, const std::int32_t* index,
                                             const Lines& in) {
  Lines rows = in;
  transpose(rows.x);
  transpose(rows.x + 4);
  for (int j = 0; j < 4; ++j)
    for (int half = 0; half < 8; half += 4) {
      double* to = lines[index[j]].x + half;
      _mm256_store_pd(to, _mm256_add_pd(_mm256_load_pd(to), rows.x[j + half].v));
    }
}

}  // namespace
}  // namespace catena

#include "solvers/batches/simd/sweep_kernels.hpp"

namespace catena {
BatchKernels avx2_kernels() { return kernels_named("avx2"); }
}  // namespace catena
#else
namespace catena {
BatchKernels avx2_kernels() { return {}; }
}  // namespace catena
#endif
