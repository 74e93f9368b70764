// Energy errors of many contacts at once.
#pragma once

#include <array>
#include <cstddef>

namespace catena {

/// What the energy error of a contact on its cone depends on, for a group of contacts, number
/// by number: lambda with cohesion added, w not shifted, D = diag(d_n, a_t, a_t), mu.
struct ConeGroup {
  static constexpr std::size_t kSize = 32;
  using Numbers = std::array<double, kSize>;
  alignas(64) Numbers lambda_n, lambda_1, lambda_2;
  alignas(64) Numbers w_n, w_1, w_2;
  alignas(64) Numbers d_n, a_t, mu;
  alignas(64) Numbers normal, friction;  ///< energies, J: results
  alignas(64) Numbers natural;           ///< natural maps, m/s: results
};

/// Energies of all contacts of the group, as row_errors::cone_contact; `coulomb`: w_n is
/// shifted by mu |w_t|. About 40 flops, 4 divisions and 2 square roots each, without branches. The
/// widest vectors that the CPU has; the bits are the same with all of them.
void cone_energies(ConeGroup& group, bool coulomb);

/// Natural maps of all contacts of the group in the same way.
void cone_natural_maps(ConeGroup& group, bool coulomb);

}  // namespace catena
