// Eight lanes in AVX-512 registers. Included by sources of kernels that are compiled for AVX-512F
// and DQ, each of which gets types of its own.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace catena {
namespace {

struct D {
  static constexpr int kWidth = 8;
  __m512d v;
};
struct M {
  __mmask8 m;
};
inline D broadcast(double x) { return {_mm512_set1_pd(x)}; }
inline D load(const double* p) { return {_mm512_load_pd(p)}; }
inline void store(double* p, const D& a) { _mm512_store_pd(p, a.v); }
inline D operator+(const D& a, const D& b) { return {_mm512_add_pd(a.v, b.v)}; }
inline D operator-(const D& a, const D& b) { return {_mm512_sub_pd(a.v, b.v)}; }
inline D operator*(const D& a, const D& b) { return {_mm512_mul_pd(a.v, b.v)}; }
inline D operator/(const D& a, const D& b) { return {_mm512_div_pd(a.v, b.v)}; }
inline D operator-(const D& a) { return {_mm512_xor_pd(a.v, _mm512_set1_pd(-0.0))}; }
inline D fma(const D& a, const D& b, const D& c) { return {_mm512_fmadd_pd(a.v, b.v, c.v)}; }
inline D fnma(const D& a, const D& b, const D& c) { return {_mm512_fnmadd_pd(a.v, b.v, c.v)}; }
inline D sqrt(const D& a) { return {_mm512_sqrt_pd(a.v)}; }
inline D abs(const D& a) { return {_mm512_abs_pd(a.v)}; }
inline M operator<(const D& a, const D& b) { return {_mm512_cmp_pd_mask(a.v, b.v, _CMP_LT_OQ)}; }
inline M operator<=(const D& a, const D& b) { return {_mm512_cmp_pd_mask(a.v, b.v, _CMP_LE_OQ)}; }
inline M operator!=(const D& a, const D& b) { return {_mm512_cmp_pd_mask(a.v, b.v, _CMP_NEQ_UQ)}; }
inline M operator&(M a, M b) { return {static_cast<__mmask8>(a.m & b.m)}; }
inline M operator|(M a, M b) { return {static_cast<__mmask8>(a.m | b.m)}; }
inline M and_not(M a, M b) { return {static_cast<__mmask8>(a.m & ~b.m)}; }
inline bool any(M m) { return m.m != 0; }
inline bool test(M m, int lane) { return ((m.m >> lane) & 1) != 0; }
inline M all_lanes() { return {0xff}; }
inline D select(M m, const D& yes, const D& no) { return {_mm512_mask_blend_pd(m.m, no.v, yes.v)}; }
/// The larger one; b if that is not a number.
inline D max_keeping_nan(const D& a, const D& b) { return {_mm512_max_pd(a.v, b.v)}; }

/// Four numbers at each of eight places, one number of all places per register.
template <class At>
[[gnu::always_inline]] inline void load_four(const At& at, D* out) {
  // rows j and j + 4 in one register
  const auto pair = [&](int j) __attribute__((always_inline)) {
    return _mm512_insertf64x4(_mm512_castpd256_pd512(_mm256_loadu_pd(at(j))),
                              _mm256_loadu_pd(at(j + 4)), 1);
  };
  const __m512d r0 = pair(0), r1 = pair(1), r2 = pair(2), r3 = pair(3);
  const __m512d t0 = _mm512_unpacklo_pd(r0, r1), t1 = _mm512_unpackhi_pd(r0, r1);
  const __m512d t2 = _mm512_unpacklo_pd(r2, r3), t3 = _mm512_unpackhi_pd(r2, r3);
  // lanes (r0 r1 | r2 r3) of the lower and upper half
  const __m512i low = _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13);
  const __m512i high = _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15);
  out[0].v = _mm512_permutex2var_pd(t0, low, t2);
  out[1].v = _mm512_permutex2var_pd(t1, low, t3);
  out[2].v = _mm512_permutex2var_pd(t0, high, t2);
  out[3].v = _mm512_permutex2var_pd(t1, high, t3);
}

/// Calls put(place, row) with the rows of four numbers for eight places.
template <class Put>
[[gnu::always_inline]] inline void unload_four(const D* in, const Put& put) {
  const __m512d t0 = _mm512_unpacklo_pd(in[0].v, in[1].v),
                t1 = _mm512_unpackhi_pd(in[0].v, in[1].v);
  const __m512d t2 = _mm512_unpacklo_pd(in[2].v, in[3].v),
                t3 = _mm512_unpackhi_pd(in[2].v, in[3].v);
  const __m512i low = _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13);
  const __m512i high = _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15);
  const __m512d r[4] = {_mm512_permutex2var_pd(t0, low, t2), _mm512_permutex2var_pd(t1, low, t3),
                        _mm512_permutex2var_pd(t0, high, t2), _mm512_permutex2var_pd(t1, high, t3)};
  for (int j = 0; j < 4; ++j) put(j, _mm512_castpd512_pd256(r[j]));
  for (int j = 0; j < 4; ++j) put(j + 4, _mm512_extractf64x4_pd(r[j], 1));
}

}  // namespace
}  // namespace catena
