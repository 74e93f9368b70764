// Products of a joint's rows with all its rows at once, side by side in the lanes of a vector.
#pragma once

#include <cstring>
#include <type_traits>

#include "catena/constraints/row_kernels.hpp"

namespace catena::row_lanes {

// Vectors of the compiler, which stay in registers: what is put together in memory, number by
// number, cannot be loaded as a vector at once.
struct FourLanes {
  typedef double Lanes __attribute__((vector_size(32)));
};
struct EightLanes {
  typedef double Lanes __attribute__((vector_size(64)));
};
/// One number of each of kRows rows, 1 to 6; the other lanes are zeros.
template <int kRows>
using Lanes = typename std::conditional_t<(kRows <= 4), FourLanes, EightLanes>::Lanes;
/// G or G M^-1 of a rigid body, column by column.
template <int kRows>
struct Columns {
  Lanes<kRows> at[6];
};

/// `columns` of G, rows of six numbers.
template <int kRows>
[[gnu::always_inline]] inline void take(const double* g, Columns<kRows>& columns) {
  const auto row = [g](int r, int k) { return r < kRows ? g[6 * r + k] : 0.0; };
  for (int k = 0; k < 6; ++k) {
    if constexpr (kRows <= 4)
      columns.at[k] = Lanes<kRows>{row(0, k), row(1, k), row(2, k), row(3, k)};
    else
      columns.at[k] =
          Lanes<kRows>{row(0, k), row(1, k), row(2, k), row(3, k), row(4, k), row(5, k), 0.0, 0.0};
  }
}

/// Y = G M^-1 in place of G; `m` as MassKind::rigid stores it.
template <int kRows>
[[gnu::always_inline]] inline void times_inverse_mass(const double* m, Columns<kRows>& columns) {
  Lanes<kRows>* y = columns.at;
  for (int k = 0; k < 3; ++k) y[k] = m[0] * y[k];
  const Lanes<kRows> g3 = y[3], g4 = y[4], g5 = y[5];
  y[3] = m[1] * g3 + m[2] * g4 + m[3] * g5;
  y[4] = m[2] * g3 + m[4] * g4 + m[5] * g5;
  y[5] = m[3] * g3 + m[5] * g4 + m[6] * g5;
}

/// `sum` += one row `g`, six numbers, times Y^T.
template <int kRows>
[[gnu::always_inline]] inline void add_product(const double* g, const Columns<kRows>& y,
                                               Lanes<kRows>& sum) {
  Lanes<kRows> product = g[0] * y.at[0];
  for (int k = 1; k < 6; ++k) product += g[k] * y.at[k];
  sum += product;
}

/// The numbers of kRows lanes.
template <int kRows>
[[gnu::always_inline]] inline void store(const Lanes<kRows>& lanes, double* to) {
  std::memcpy(to, &lanes, kRows * sizeof(double));
}

/// Calls work(Known<rows>) of 1 to 6 rows.
template <class Work>
inline void with_known_rows(int rows, const Work& work) {
  using row_kernels::Known;
  switch (rows) {
    case 1:
      return work(Known<1>{});
    case 2:
      return work(Known<2>{});
    case 3:
      return work(Known<3>{});
    case 4:
      return work(Known<4>{});
    case 5:
      return work(Known<5>{});
    default:
      return work(Known<6>{});
  }
}

}  // namespace catena::row_lanes
