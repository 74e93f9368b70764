// Products of explicit rows with G, M^-1 and their transposes, for rigid bodies: six velocities,
// seven numbers of inverse mass (MassKind::rigid).
#pragma once

#include <array>
#include <cstddef>

#include "catena/constraints/constraint_problem.hpp"

namespace catena::row_kernels {

/// y = G M^-1 for a rigid body: `rows` lines of six numbers; `m` as MassKind::rigid stores it.
template <class Rows>
inline void times_inverse_mass(Rows rows, const double* g, const double* m, double* y) {
  for (int r = 0; r < rows; ++r, g += 6, y += 6) {
    y[0] = m[0] * g[0];
    y[1] = m[0] * g[1];
    y[2] = m[0] * g[2];
    y[3] = m[1] * g[3] + m[2] * g[4] + m[3] * g[5];
    y[4] = m[2] * g[3] + m[4] * g[4] + m[5] * g[5];
    y[5] = m[3] * g[3] + m[5] * g[4] + m[6] * g[5];
  }
}

/// a += Y G^T, Y: rows x 6, G: columns x 6, a: rows x columns.
template <class Rows, class Columns>
inline void add_product(Rows rows, Columns columns, const double* y, const double* g, double* a) {
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < columns; ++c) {
      const double* p = y + 6 * r;
      const double* q = g + 6 * c;
      a[r * columns + c] +=
          p[0] * q[0] + p[1] * q[1] + p[2] * q[2] + p[3] * q[3] + p[4] * q[4] + p[5] * q[5];
    }
}

/// w += G v.
template <class Rows>
inline void add_slip(Rows rows, const double* g, const double* v, double* w) {
  for (int r = 0; r < rows; ++r, g += 6)
    w[r] += g[0] * v[0] + g[1] * v[1] + g[2] * v[2] + g[3] * v[3] + g[4] * v[4] + g[5] * v[5];
}

/// f += G^T lambda.
template <class Rows>
inline void add_force(Rows rows, const double* g, const double* lambda, double* f) {
  // in registers, as far as the compiler can tell
  std::array<double, 6> sum;
  for (std::size_t d = 0; d < 6; ++d) sum[d] = f[d];
  for (int r = 0; r < rows; ++r, g += 6)
    for (std::size_t d = 0; d < 6; ++d) sum[d] += g[d] * lambda[r];
  for (std::size_t d = 0; d < 6; ++d) f[d] = sum[d];
}

/// v += M^-1 G^T lambda.
template <class Rows>
inline void add_change(Rows rows, const double* g, const double* lambda, const double* m,
                       double* v) {
  std::array<double, 6> f{};
  add_force(rows, g, lambda, f.data());
  v[0] += m[0] * f[0];
  v[1] += m[0] * f[1];
  v[2] += m[0] * f[2];
  v[3] += m[1] * f[3] + m[2] * f[4] + m[3] * f[5];
  v[4] += m[2] * f[3] + m[4] * f[4] + m[5] * f[5];
  v[5] += m[3] * f[3] + m[5] * f[4] + m[6] * f[5];
}

/// A number of rows that the compiler knows.
template <int kRows>
struct Known {
  constexpr operator int() const { return kRows; }  // NOLINT: stands for the number
};

/// Calls work(rows) with the number as the compiler knows it where it is a common one.
template <class Work>
inline void with_rows(int rows, const Work& work) {
  if (rows == 3) return work(Known<3>{});
  if (rows == 5) return work(Known<5>{});
  work(rows);
}

}  // namespace catena::row_kernels
