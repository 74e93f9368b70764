// Four lanes in AVX2 registers. Included by sources of kernels that are compiled for AVX2 and FMA,
// each of which gets types of its own.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace catena {
namespace {

struct D {
  static constexpr int kWidth = 4;
  __m256d v;
};
struct M {
  __m256d m;  ///< all bits of a lane set, or none
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

}  // namespace
}  // namespace catena
