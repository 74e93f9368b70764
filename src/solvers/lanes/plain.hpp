// One lane at a time: the oracle of the vector paths, and the path of CPUs without them. Included
// by sources of kernels, each of which gets types of its own.
#pragma once

#include <cmath>

namespace catena {
namespace {

struct D {
  static constexpr int kWidth = 1;
  double v;
};
struct M {
  bool m;
};
inline D broadcast(double x) { return {x}; }
inline D load(const double* p) { return {*p}; }
inline void store(double* p, const D& a) { *p = a.v; }
inline D operator+(const D& a, const D& b) { return {a.v + b.v}; }
inline D operator-(const D& a, const D& b) { return {a.v - b.v}; }
inline D operator*(const D& a, const D& b) { return {a.v * b.v}; }
inline D operator/(const D& a, const D& b) { return {a.v / b.v}; }
inline D operator-(const D& a) { return {-a.v}; }
#ifdef __FMA__
inline D fma(const D& a, const D& b, const D& c) { return {std::fma(a.v, b.v, c.v)}; }
inline D fnma(const D& a, const D& b, const D& c) { return {std::fma(-a.v, b.v, c.v)}; }
#else
inline D fma(const D& a, const D& b, const D& c) { return {a.v * b.v + c.v}; }
inline D fnma(const D& a, const D& b, const D& c) { return {c.v - a.v * b.v}; }
#endif
inline D sqrt(const D& a) { return {std::sqrt(a.v)}; }
inline D abs(const D& a) { return {std::abs(a.v)}; }
inline M operator<(const D& a, const D& b) { return {a.v < b.v}; }
inline M operator<=(const D& a, const D& b) { return {a.v <= b.v}; }
inline M operator!=(const D& a, const D& b) { return {a.v != b.v}; }
inline M operator&(M a, M b) { return {a.m && b.m}; }
inline M operator|(M a, M b) { return {a.m || b.m}; }
inline M and_not(M a, M b) { return {a.m && !b.m}; }
inline bool any(M m) { return m.m; }
inline bool test(M m, int /*lane*/) { return m.m; }
inline M all_lanes() { return {true}; }
inline D select(M m, const D& yes, const D& no) { return m.m ? yes : no; }
/// The larger one; b if that is not a number.
inline D max_keeping_nan(const D& a, const D& b) { return {a.v > b.v ? a.v : b.v}; }

}  // namespace
}  // namespace catena
