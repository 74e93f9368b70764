// Arithmetic of one front of a sparse Cholesky factorisation.
#pragma once

#include <algorithm>
#include <cstdint>

#include "catena/base/index.hpp"

namespace catena {

/// Rows of a front's columns come in such groups, which begin at multiples of 64 bytes.
inline constexpr Index kFrontRows = 8;

/// A symmetric matrix of `rows` rows, of which the first `pivots` are eliminated; lower triangle,
/// column by column. Columns of pivots (the panel) have `stride` numbers; those that follow (the
/// update) begin at row `first_update` and have `update_stride`. Rows beyond the last are zeros.
struct FrontShape {
  Index pivots = 0, rows = 0;
  Index first_update = 0;
  Offset stride = 0, update_stride = 0;

  FrontShape() = default;
  FrontShape(Index n_pivots, Index n_rows)
      : pivots(n_pivots),
        rows(n_rows),
        first_update(n_pivots / kFrontRows * kFrontRows),
        stride(stride_of(n_rows)),
        update_stride(n_rows == n_pivots ? 0 : stride_of(n_rows - first_update)) {}

  /// Rows of a column with those that are zeros.
  Index padded_rows() const { return (rows + kFrontRows - 1) / kFrontRows * kFrontRows; }
  Offset panel_size() const { return stride * pivots; }
  Offset update_size() const { return update_stride * (rows - pivots); }
  /// Column j as if it began at row 0.
  double* column(Index j, double* panel, double* update) const {
    return j < pivots ? panel + stride * j : update + update_stride * (j - pivots) - first_update;
  }

 private:
  /// Columns a multiple of 512 bytes apart fall on few lines of the caches.
  static Offset stride_of(Index n) {
    constexpr Offset kBad = 64;
    const Offset padded = (n + kFrontRows - 1) / kFrontRows * kFrontRows;
    return padded % kBad == 0 ? padded + kFrontRows : padded;
  }
};

/// Per pivot of a front: one that is not above `floor` times `added` is raised to `added`; `found`
/// receives what it was.
struct FrontPivots {
  const double* added = nullptr;
  double floor = 0.0;
  double* found = nullptr;
};

/// One instruction set's arithmetic of a front. Arrays begin at multiples of 64 bytes.
struct FrontKernels {
  const char* name = nullptr;
  /// [panel, update] becomes [L, what is left below]. The panel's diagonal then holds 1/L_ii, and
  /// zeros stand above it. `spare`: `stride` numbers. Returns how many pivots were raised.
  std::int64_t (*factor)(const FrontShape& shape, double* panel, double* update,
                         const FrontPivots& pivots, double* spare) = nullptr;
  /// x, `stride` numbers: its pivots become y = L^-1 x, from the rows below L y is taken.
  void (*forward)(const FrontShape& shape, const double* panel, double* x) = nullptr;
  /// Its pivots become L^-T (x - L^T [rows below]).
  void (*backward)(const FrontShape& shape, const double* panel, double* x) = nullptr;
};

/// Of the widest instructions that build and CPU have.
FrontKernels front_kernels();

// of one set each; empty where the build does not have it
FrontKernels plain_front_kernels();
FrontKernels avx2_front_kernels();
FrontKernels avx512_front_kernels();

}  // namespace catena
