// How many contacts kernels hold side by side, and which instruction sets there are.
#pragma once

namespace catena {

/// Lanes of a batch.
inline constexpr int kLanes = 8;

/// Whether this CPU can run them.
bool cpu_has_avx2();    ///< and FMA
bool cpu_has_avx512();  ///< AVX-512F and DQ

}  // namespace catena
