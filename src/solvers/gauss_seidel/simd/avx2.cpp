// Four lanes in AVX2 registers, twice per batch.
#include "solvers/gauss_seidel/simd/contact_batches.hpp"

#if defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>

namespace catena {
namespace {

struct D {
  static constexpr int kWidth = 4;
  __m256d v;
};
struct M {
  __m256d m;  ///< all bits of a lane set, or none
};
struct Lines {
  D x[8];
};

inline D broadcast(double x) { return {_mm256_set1_pd(x)}; }
inline D load(const double* p) { return {_mm256_loadu_pd(p)}; }
inline void store(double* p, const D& a) { _mm256_storeu_pd(p, a.v); }
inline D operator+(const D& a, const D& b) { return {_mm256_add_pd(a.v, b.v)}; }
inline D operator-(const D& a, const D& b) { return {_mm256_sub_pd(a.v, b.v)}; }
inline D operator*(const D& a, const D& b) { return {_mm256_mul_pd(a.v, b.v)}; }
inline D operator/(const D& a, const D& b) { return {_mm256_div_pd(a.v, b.v)}; }
inline D operator-(const D& a) { return {_mm256_xor_pd(a.v, _mm256_set1_pd(-0.0))}; }
inline D fma(const D& a, const D& b, const D& c) { return {_mm256_fmadd_pd(a.v, b.v, c.v)}; }
inline D fnma(const D& a, const D& b, const D& c) { return {_mm256_fnmadd_pd(a.v, b.v, c.v)}; }
inline D sqrt(const D& a) { return {_mm256_sqrt_pd(a.v)}; }
inline D abs(const D& a) { return {_mm256_andnot_pd(_mm256_set1_pd(-0.0), a.v)}; }
inline M operator<(const D& a, const D& b) { return {_mm256_cmp_pd(a.v, b.v, _CMP_LT_OQ)}; }
inline M operator<=(const D& a, const D& b) { return {_mm256_cmp_pd(a.v, b.v, _CMP_LE_OQ)}; }
inline M operator!=(const D& a, const D& b) { return {_mm256_cmp_pd(a.v, b.v, _CMP_NEQ_UQ)}; }
inline M operator&(const M& a, const M& b) { return {_mm256_and_pd(a.m, b.m)}; }
inline M operator|(const M& a, const M& b) { return {_mm256_or_pd(a.m, b.m)}; }
inline M and_not(const M& a, const M& b) { return {_mm256_andnot_pd(b.m, a.m)}; }
inline bool any(const M& m) { return _mm256_movemask_pd(m.m) != 0; }
inline bool test(const M& m, int lane) { return ((_mm256_movemask_pd(m.m) >> lane) & 1) != 0; }
inline M all_lanes() { return {_mm256_castsi256_pd(_mm256_set1_epi64x(-1))}; }
inline D select(const M& m, const D& yes, const D& no) {
  return {_mm256_blendv_pd(no.v, yes.v, m.m)};
}
/// The larger one; b if that is not a number.
inline D max_keeping_nan(const D& a, const D& b) { return {_mm256_max_pd(a.v, b.v)}; }

inline void transpose(D* r) {
  const __m256d t0 = _mm256_unpacklo_pd(r[0].v, r[1].v), t1 = _mm256_unpackhi_pd(r[0].v, r[1].v);
  const __m256d t2 = _mm256_unpacklo_pd(r[2].v, r[3].v), t3 = _mm256_unpackhi_pd(r[2].v, r[3].v);
  r[0].v = _mm256_permute2f128_pd(t0, t2, 0x20);
  r[1].v = _mm256_permute2f128_pd(t1, t3, 0x20);
  r[2].v = _mm256_permute2f128_pd(t0, t2, 0x31);
  r[3].v = _mm256_permute2f128_pd(t1, t3, 0x31);
}

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

}  // namespace
}  // namespace catena

#include "solvers/gauss_seidel/simd/sweep_kernels.hpp"

namespace catena {
BatchKernels avx2_kernels() { return kernels_named("avx2"); }
}  // namespace catena
#else
namespace catena {
BatchKernels avx2_kernels() { return {}; }
}  // namespace catena
#endif
