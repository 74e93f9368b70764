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

inline __m256d two_rows(const double* low, const double* high) {
  return _mm256_insertf128_pd(_mm256_castpd128_pd256(_mm_loadu_pd(low)), _mm_loadu_pd(high), 1);
}
/// Six numbers from each of the places `first` on, and added there.
[[gnu::always_inline]] inline void load_six(const double* from, const std::int32_t* first, D* out) {
  for (int j = 0; j < 4; ++j) out[j].v = _mm256_loadu_pd(from + first[j]);
  transpose(out);
  const __m256d even = two_rows(from + first[0] + 4, from + first[2] + 4);
  const __m256d odd = two_rows(from + first[1] + 4, from + first[3] + 4);
  out[4].v = _mm256_unpacklo_pd(even, odd);
  out[5].v = _mm256_unpackhi_pd(even, odd);
}
/// One lane after the other: two may name the same place.
[[gnu::always_inline]] inline void add_six(double* to, const std::int32_t* first, const D* in) {
  D rows[4] = {in[0], in[1], in[2], in[3]};
  transpose(rows);
  const __m256d even = _mm256_unpacklo_pd(in[4].v, in[5].v);
  const __m256d odd = _mm256_unpackhi_pd(in[4].v, in[5].v);
  const __m128d last[4] = {_mm256_castpd256_pd128(even), _mm256_castpd256_pd128(odd),
                           _mm256_extractf128_pd(even, 1), _mm256_extractf128_pd(odd, 1)};
  for (int j = 0; j < 4; ++j) {
    double* p = to + first[j];
    _mm256_storeu_pd(p, _mm256_add_pd(_mm256_loadu_pd(p), rows[j].v));
    _mm_storeu_pd(p + 4, _mm_add_pd(_mm_loadu_pd(p + 4), last[j]));
  }
}

}  // namespace
}  // namespace catena
