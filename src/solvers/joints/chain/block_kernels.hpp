// Kernels of block elimination. Matrices row by row, blocks of 1 to 6 rows; sizes are compile-time
// constants where all blocks of a chain have the same one, else numbers.
//
// A block i with neighbours l and r is eliminated by
//
//   A_ii = L L^T,   W_l = L^-1 A_il,   W_r = L^-1 A_ir,
//   A_ll -= W_l^T W_l,   A_rr -= W_r^T W_r,   A_lr -= W_l^T W_r,
//
// whatever the order of the blocks: end to end one neighbour is missing (and with it 4/2.33 of the
// work), odd/even and segments with fill have both.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "catena/base/index.hpp"
#include "solvers/joints/elimination/elimination.hpp"

namespace catena {

inline constexpr int kMaxBlockRows = 6;

/// Watches pivots and writes the report. A pivot at or below round-off of its row's diagonal in A
/// is raised to kJointRegularisation of it and its row named; a row of zero diagonal, which nothing
/// can move, gets zero (the inverse of its pivot is 0). NaN is handed on.
class PivotGuard {
 public:
  explicit PivotGuard(FactorReport& report) : report_(report) {}

  /// Whether pivots below kSuspect of the diagonal are named: right where blocks are taken from an
  /// end to the other, as small ones come from dependent rows alone then (what regularisation
  /// leaves of them grows with the number of blocks that they depend on). Blocks that stand for
  /// long rigid pieces, at higher levels or behind a fill, have such pivots all the same.
  void name_suspects(bool yes) { suspects_ = yes; }

  /// 1 / sqrt(pivot). `scale`: the row's diagonal of A.
  double inverse_root(double pivot, double scale, std::int64_t name, int row) {
    pivot = checked(pivot, scale, name, row);
    return pivot > 0.0 || std::isnan(pivot) ? 1.0 / std::sqrt(pivot) : 0.0;
  }
  /// 1 / pivot.
  double inverse(double pivot, double scale, std::int64_t name, int row) {
    pivot = checked(pivot, scale, name, row);
    return pivot > 0.0 || std::isnan(pivot) ? 1.0 / pivot : 0.0;
  }
  /// Puts what was met into the report.
  void finish();

 private:
  static constexpr double kSuspect = 1e-8;
  static constexpr double kRoundOff = 8.0 * std::numeric_limits<double>::epsilon();
  double judge(double pivot, double scale, std::int64_t name, int row);
  /// The pivot as it is taken.
  double checked(double pivot, double scale, std::int64_t name, int row) {
    // a quotient is formed only when a new smallest one is met
    if (pivot * smallest_scale_ < smallest_pivot_ * scale) {
      smallest_pivot_ = pivot;
      smallest_scale_ = scale;
    }
    return pivot <= kSuspect * scale ? judge(pivot, scale, name, row) : pivot;
  }

  FactorReport& report_;
  bool suspects_ = false;
  double smallest_pivot_ = 1.0;
  double smallest_scale_ = 1.0;
};

/// Sizes known to the compiler.
template <int kSize>
struct FixedSize {
  constexpr std::integral_constant<int, kSize> operator()(Index) const { return {}; }
};

/// Element by element, so that those of a block of known size may stay in registers.
[[gnu::always_inline]] inline void copy_numbers(int n, const double* from, double* to) {
  for (int k = 0; k < n; ++k) to[k] = from[k];
}

/// A = L L^T in place: the strict lower triangle of L, and 1/L_ii on the diagonal. The upper
/// triangle of A is not read. m (m + 1) (m + 2) / 6 multiply-adds.
template <class M>
[[gnu::always_inline]] inline void cholesky(M m, double* a, const double* scale, std::int64_t name,
                                            PivotGuard& guard) {
  for (int j = 0; j < m; ++j) {
    double pivot = a[j * m + j];
    for (int k = 0; k < j; ++k) pivot -= a[j * m + k] * a[j * m + k];
    const double inverse = guard.inverse_root(pivot, scale[j], name, j);
    a[j * m + j] = inverse;
    for (int i = j + 1; i < m; ++i) {
      double sum = a[i * m + j];
      for (int k = 0; k < j; ++k) sum -= a[i * m + k] * a[j * m + k];
      a[i * m + j] = sum * inverse;
    }
  }
}

/// A = L D L^T in place, L of unit diagonal: its strict lower triangle, L D transposed above it,
/// and 1/D in `inverse`. As many multiply-adds as cholesky(), but no root stands between one pivot
/// and the next: where a block follows the other, what a chain waits for.
template <class M>
[[gnu::always_inline]] inline void unit_cholesky(M m, double* a, double* inverse,
                                                 const double* scale, std::int64_t name,
                                                 PivotGuard& guard) {
  for (int j = 0; j < m; ++j) {
    double pivot = a[j * m + j];
    for (int k = 0; k < j; ++k) pivot -= a[j * m + k] * a[k * m + j];
    inverse[j] = guard.inverse(pivot, scale[j], name, j);
    for (int i = j + 1; i < m; ++i) {
      double sum = a[i * m + j];
      for (int k = 0; k < j; ++k) sum -= a[i * m + k] * a[k * m + j];
      a[j * m + i] = sum;
      a[i * m + j] = sum * inverse[j];
    }
  }
}

/// What cholesky() leaves, from what unit_cholesky() does; `root`: the roots of `inverse`.
template <class M>
[[gnu::always_inline]] inline void take_roots(M m, const double* inverse, double* a, double* root) {
  for (int j = 0; j < m; ++j) {
    a[j * m + j] = root[j] = std::sqrt(inverse[j]);
    for (int i = j + 1; i < m; ++i) a[i * m + j] = a[j * m + i] * root[j];
  }
}

/// W <- L^-1 W, m x r, L of unit diagonal. r m (m - 1) / 2 multiply-adds.
template <class M, class R>
[[gnu::always_inline]] inline void unit_lower_solve(M m, R r, const double* l, double* w) {
  for (int i = 1; i < m; ++i)
    for (int k = 0; k < i; ++k)
      for (int c = 0; c < r; ++c) w[i * r + c] -= l[i * m + k] * w[k * r + c];
}

/// A <- A - W^T D^-1 W, r x r, lower triangle, W of m rows.
template <class M, class R>
[[gnu::always_inline]] inline void subtract_weighted_square(M m, R r, const double* w,
                                                            const double* inverse, double* a) {
  for (int k = 0; k < m; ++k)
    for (int i = 0; i < r; ++i) {
      const double weighted = inverse[k] * w[k * r + i];
      for (int j = 0; j <= i; ++j) a[i * r + j] -= weighted * w[k * r + j];
    }
}

/// W <- L^-1 W, m x r. r m (m + 1) / 2 multiply-adds.
template <class M, class R>
[[gnu::always_inline]] inline void lower_solve(M m, R r, const double* l, double* w) {
  for (int i = 0; i < m; ++i) {
    for (int k = 0; k < i; ++k)
      for (int c = 0; c < r; ++c) w[i * r + c] -= l[i * m + k] * w[k * r + c];
    for (int c = 0; c < r; ++c) w[i * r + c] *= l[i * m + i];
  }
}

/// W <- L^-1 C^T, m x r, C r x m. As many. Apart from transpose() and lower_solve(): numbers that
/// were just written one by one cannot be loaded as vectors at once.
template <class M, class R>
void lower_solve_transposed(M m, R r, const double* l, const double* c, double* w) {
  for (int i = 0; i < m; ++i) {
    double row[kMaxBlockRows];
    for (int j = 0; j < r; ++j) row[j] = c[j * m + i];
    for (int k = 0; k < i; ++k)
      for (int j = 0; j < r; ++j) row[j] -= l[i * m + k] * w[k * r + j];
    for (int j = 0; j < r; ++j) w[i * r + j] = row[j] * l[i * m + i];
  }
}

/// A <- A - W^T W, r x r, lower triangle, W of m rows. m r (r + 1) / 2 multiply-adds.
template <class M, class R>
[[gnu::always_inline]] inline void subtract_square(M m, R r, const double* w, double* a) {
  for (int i = 0; i < r; ++i)
    for (int j = 0; j <= i; ++j) {
      double sum = a[i * r + j];
      for (int k = 0; k < m; ++k) sum -= w[k * r + i] * w[k * r + j];
      a[i * r + j] = sum;
    }
}

/// C <- C - U^T W, l x r, U and W of m rows. m l r multiply-adds.
template <class M, class L, class R>
void subtract_product(M m, L l, R r, const double* u, const double* w, double* c) {
  for (int i = 0; i < l; ++i)
    for (int k = 0; k < m; ++k)
      for (int j = 0; j < r; ++j) c[i * r + j] -= u[k * l + i] * w[k * r + j];
}

/// `to`, m x r, is the transposed of `from`, r x m.
template <class M, class R>
void transpose(M m, R r, const double* from, double* to) {
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < r; ++j) to[i * r + j] = from[j * m + i];
}

/// y <- L^-1 y. m (m + 1) / 2 multiply-adds, as the next.
template <class M>
[[gnu::always_inline]] inline void lower_solve_vector(M m, const double* l, double* y) {
  for (int i = 0; i < m; ++i) {
    for (int k = 0; k < i; ++k) y[i] -= l[i * m + k] * y[k];
    y[i] *= l[i * m + i];
  }
}

/// x <- L^-T x.
template <class M>
[[gnu::always_inline]] inline void upper_solve_vector(M m, const double* l, double* x) {
  for (int i = m - 1; i >= 0; --i) {
    for (int k = i + 1; k < m; ++k) x[i] -= l[k * m + i] * x[k];
    x[i] *= l[i * m + i];
  }
}

/// b <- b - W^T y, W m x r. m r multiply-adds, as the next.
template <class M, class R>
[[gnu::always_inline]] inline void subtract_transposed(M m, R r, const double* w, const double* y,
                                                       double* b) {
  for (int k = 0; k < m; ++k)
    for (int c = 0; c < r; ++c) b[c] -= w[k * r + c] * y[k];
}

/// y <- y - W x, W m x r.
template <class M, class R>
[[gnu::always_inline]] inline void subtract_times(M m, R r, const double* w, const double* x,
                                                  double* y) {
  for (int i = 0; i < m; ++i) {
    double sum = y[i];
    for (int c = 0; c < r; ++c) sum -= w[i * r + c] * x[c];
    y[i] = sum;
  }
}

/// Multiply-adds of the elimination of one block of m rows with neighbours of l and r rows (0:
/// none); of its part in factor and in one solve.
template <class T>
constexpr T elimination_flops(T m, T l, T r) {
  return m * (m + 1) * (m + 2) / 6 + (l + r) * m * (m + 1) / 2 + m * l * (l + 1) / 2 +
         m * r * (r + 1) / 2 + m * l * r;
}
template <class T>
constexpr T substitution_flops(T m, T l, T r) {
  return m * (m + 1) + 2 * m * (l + r);
}

}  // namespace catena
