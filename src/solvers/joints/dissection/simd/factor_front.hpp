// The kernels of fronts. Included by sources that included the lanes of an instruction set and
// defined kColumns, the columns that are updated together; nothing here may be shared between them.
#pragma once

#include <cmath>

#include "solvers/joints/dissection/simd/front_kernels.hpp"

namespace catena {
namespace {

/// Pivots whose columns are finished before those to their right are touched.
constexpr Index kPanel = 128;
/// Rows whose part of such columns stays in the second cache while all columns are updated with it.
constexpr Index kRowsAtOnce = 128;
constexpr Index kWidth = D::kWidth;
static_assert(kFrontRows % kColumns == 0 && kColumns % kWidth == 0 && kPanel % kFrontRows == 0);

/// sum(c) -= rows of `a` times row c of `b`, over columns [from, to) of the panel.
template <int kTiles>
[[gnu::always_inline]] inline void accumulate(const double* a, const double* b, Offset stride,
                                              Index from, Index to, D (&sum)[kColumns][kTiles]) {
  a += stride * from;
  b += stride * from;
  for (Index k = from; k < to; ++k, a += stride, b += stride) {
    D x[kTiles];
    for (int t = 0; t < kTiles; ++t) x[t] = load(a + t * kWidth);
    for (int c = 0; c < kColumns; ++c) {
      const D y = broadcast(b[c]);
      for (int t = 0; t < kTiles; ++t) sum[c][t] = fnma(x[t], y, sum[c][t]);
    }
  }
}

/// Consecutive columns of a front, their diagonal block with 1/L_ii.
struct Columns {
  double* at[kColumns];  ///< as if they began at row 0
  Index first = 0;
  int pivots = 0;  ///< of them
  double diagonal[kColumns][kColumns];
};

Columns columns_of(const FrontShape& shape, Index first, double* panel, double* update,
                   double* spare) {
  Columns columns;
  columns.first = first;
  columns.pivots = std::clamp<Index>(shape.pivots - first, 0, kColumns);
  for (int c = 0; c < kColumns; ++c)
    columns.at[c] = first + c < shape.rows ? shape.column(first + c, panel, update) : spare;
  return columns;
}

/// Rows [row, row + kTiles * kWidth) of columns: less the product with pivots [from, to), times
/// L^-T of the diagonal block if `kSolve`.
template <int kTiles, bool kSolve>
[[gnu::always_inline]] inline void update_rows(const FrontShape& shape, const double* panel,
                                               const Columns& columns, Index row, Index from,
                                               Index to) {
  D sum[kColumns][kTiles];
  for (int c = 0; c < kColumns; ++c)
    for (int t = 0; t < kTiles; ++t) sum[c][t] = load(columns.at[c] + row + t * kWidth);
  accumulate(panel + row, panel + columns.first, shape.stride, from, to, sum);
  if constexpr (kSolve) {
    for (int c = 0; c < kColumns; ++c) {
      for (int k = 0; k < c; ++k) {
        if (k >= columns.pivots) break;
        const D l = broadcast(columns.diagonal[c][k]);
        for (int t = 0; t < kTiles; ++t) sum[c][t] = fnma(sum[k][t], l, sum[c][t]);
      }
      if (c >= columns.pivots) continue;
      const D inverse = broadcast(columns.diagonal[c][c]);
      for (int t = 0; t < kTiles; ++t) sum[c][t] = sum[c][t] * inverse;
    }
  }
  for (int c = 0; c < kColumns; ++c)
    for (int t = 0; t < kTiles; ++t) store(columns.at[c] + row + t * kWidth, sum[c][t]);
}

template <bool kSolve>
void update_column_rows(const FrontShape& shape, const double* panel, const Columns& columns,
                        Index row, Index end, Index from, Index to) {
  constexpr int kTiles = kMostTiles;
  for (; row + kTiles * kWidth <= end; row += kTiles * kWidth)
    update_rows<kTiles, kSolve>(shape, panel, columns, row, from, to);
  for (; row < end; row += kWidth) update_rows<1, kSolve>(shape, panel, columns, row, from, to);
}

/// Cholesky of the diagonal block as far as it has pivots; returns how many were raised.
std::int64_t factor_diagonal(Columns& columns, const FrontPivots& pivots) {
  std::int64_t raised = 0;
  auto& l = columns.diagonal;
  for (int k = 0; k < columns.pivots; ++k) {
    double d = l[k][k];
    pivots.found[columns.first + k] = d;
    const double added = pivots.added[columns.first + k];
    // written so that NaN stays
    if (d <= pivots.floor * added) {
      d = added;
      ++raised;
    }
    const double inverse = 1.0 / std::sqrt(d);
    l[k][k] = inverse;
    for (int r = k + 1; r < kColumns; ++r) l[r][k] *= inverse;
    for (int c = k + 1; c < kColumns; ++c)
      for (int r = c; r < kColumns; ++r) l[r][c] -= l[r][k] * l[c][k];
  }
  return raised;
}

/// Columns with pivots: takes pivots from `from` on out of them and eliminates their own.
std::int64_t finish_columns(const FrontShape& shape, const double* panel, Columns& columns,
                            Index from, const FrontPivots& pivots) {
  const Index first = columns.first;
  update_column_rows<false>(shape, panel, columns, first, first + kColumns, from, first);
  for (int c = 0; c < kColumns; ++c)
    for (int r = c; r < kColumns; ++r) columns.diagonal[r][c] = columns.at[c][first + r];
  const std::int64_t raised = factor_diagonal(columns, pivots);
  for (int c = 0; c < kColumns; ++c) {
    if (c < columns.pivots) std::fill_n(columns.at[c] + first, c, 0.0);
    for (int r = c; r < kColumns; ++r) columns.at[c][first + r] = columns.diagonal[r][c];
  }
  update_column_rows<true>(shape, panel, columns, first + kColumns, shape.padded_rows(), from,
                           first);
  return raised;
}

std::int64_t factor(const FrontShape& shape, double* panel, double* update,
                    const FrontPivots& pivots, double* spare) {
  std::int64_t raised = 0;
  std::fill_n(spare, shape.stride, 0.0);
  const Index end = shape.padded_rows();
  for (Index from = 0; from < shape.pivots; from += kPanel) {
    const Index to = std::min(from + kPanel, shape.pivots);
    Index j = from;
    for (; j < to; j += kColumns) {
      Columns columns = columns_of(shape, j, panel, update, spare);
      raised += finish_columns(shape, panel, columns, from, pivots);
    }
    for (Index row = j; row < end; row += kRowsAtOnce) {
      const Index last = std::min(row + kRowsAtOnce, end);
      for (Index c = j; c < std::min(last, shape.rows); c += kColumns)
        update_column_rows<false>(shape, panel, columns_of(shape, c, panel, update, spare),
                                  std::max(row, c), last, from, to);
    }
  }
  return raised;
}

void forward(const FrontShape& shape, const double* panel, double* x) {
  const Index end = shape.padded_rows();
  for (Index j = 0; j < shape.pivots; j += kFrontRows) {
    const int n = std::min(kFrontRows, shape.pivots - j);
    const double* l = panel + shape.stride * j;
    D y[kFrontRows];
    for (int c = 0; c < n; ++c) {
      const double* column = l + shape.stride * c + j;
      x[j + c] *= column[c];
      y[c] = broadcast(x[j + c]);
      for (int r = c + 1; r < kFrontRows; ++r) x[j + r] -= column[r] * x[j + c];
    }
    for (Index row = j + kFrontRows; row < end; row += kWidth) {
      D sum = load(x + row);
      for (int c = 0; c < n; ++c) sum = fnma(load(l + shape.stride * c + row), y[c], sum);
      store(x + row, sum);
    }
  }
}

void backward(const FrontShape& shape, const double* panel, double* x) {
  const Index end = shape.padded_rows();
  for (Index j = (shape.pivots - 1) / kFrontRows * kFrontRows; j >= 0; j -= kFrontRows) {
    const int n = std::min(kFrontRows, shape.pivots - j);
    const double* l = panel + shape.stride * j;
    D sum[kFrontRows];
    for (D& s : sum) s = broadcast(0.0);
    for (Index row = j + kFrontRows; row < end; row += kWidth) {
      const D below = load(x + row);
      for (int c = 0; c < n; ++c) sum[c] = fma(load(l + shape.stride * c + row), below, sum[c]);
    }
    for (int c = n - 1; c >= 0; --c) {
      const double* column = l + shape.stride * c + j;
      alignas(64) double lanes[kWidth];
      store(lanes, sum[c]);
      double s = x[j + c];
      for (const double lane : lanes) s -= lane;
      for (int r = c + 1; r < kFrontRows; ++r) s -= column[r] * x[j + r];
      x[j + c] = s * column[c];
    }
  }
}

FrontKernels front_kernels_named(const char* name) { return {name, factor, forward, backward}; }

}  // namespace
}  // namespace catena
