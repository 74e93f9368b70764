// One lane at a time: the oracle of the vector paths, and the path of CPUs without them.
#include <cmath>

#include "solvers/gauss_seidel/simd/contact_batches.hpp"

namespace catena {
namespace {

struct D {
  static constexpr int kWidth = 1;
  double v;
};
struct M {
  bool m;
};
struct Lines {
  D x[8];
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

inline void load_lines(const BodyLine* lines, const std::int32_t* index, Lines& out) {
  for (int k = 0; k < 8; ++k) out.x[k].v = lines[*index].x[k];
}
inline void store_lines(BodyLine* lines, const std::int32_t* index, const Lines& in) {
  for (int k = 0; k < 6; ++k) lines[*index].x[k] = in.x[k].v;
}

}  // namespace
}  // namespace catena

#include "solvers/gauss_seidel/simd/sweep_kernels.hpp"

namespace catena {
BatchKernels plain_kernels() { return kernels_named("plain"); }
}  // namespace catena
