// Anderson's acceleration of sweeps.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "catena/base/index.hpp"
#include "catena/comm/communicator.hpp"
#include "catena/math/sum.hpp"
#include "catena/math/types.hpp"

namespace catena {

/// Numbers of the iterate where they lie: `items` groups of `width` numbers, each `stride` after
/// the last one.
struct IteratePiece {
  double* first = nullptr;
  std::size_t items = 0, stride = 0, width = 0;
  /// Weights of the norm, laid out as the numbers but for the width: number j of a group has weight
  /// j % weights of its own group; null: the piece takes no part in the norm.
  const double* weight = nullptr;
  std::size_t weights = 0;
};

/// Anderson's acceleration of the fixed-point iteration y -> g(y) (D. G. Anderson, Iterative
/// procedures for nonlinear integral equations, 1965; H. F. Walker, P. Ni, Anderson acceleration
/// for fixed-point iterations, 2011): with f = g(y) - y, the next y is
///
///   g_k - sum_j gamma_j (g_(k-j+1) - g_(k-j)),   gamma = argmin |f_k - sum_j gamma_j (f_(k-j+1) -
///   f_(k-j))|
///
/// in the norm of the compliances, in which the iteration of a contact problem contracts. Impulses
/// and velocities are mixed by the same factors, and velocities are affine in impulses, so that
/// they keep belonging together. Where |f| grows, the history is forgotten and g is taken as it is.
class Anderson {
 public:
  /// `exact`: sums do not depend on how pieces are dealt to ranks.
  Anderson(const Communicator& comm, std::vector<IteratePiece> pieces, int depth, bool exact);

  /// Collective. The pieces hold g(y); makes them the next y.
  void mix();
  /// Local. Takes the pieces as the first y.
  void start();

 private:
  template <class Visit>
  void each(Visit&& visit) const;
  static constexpr std::size_t kChunk = 8;
  using Chunk = std::array<double, kChunk>;
  void take_g();
  void add_products(const double* weight, const double* x, std::size_t at, std::size_t n,
                    std::span<Chunk> lanes);
  bool solve_least_squares();

  Communicator comm_;
  std::vector<IteratePiece> pieces_;
  std::size_t depth_;
  bool exact_;
  std::size_t size_ = 0, weighted_ = 0;       ///< numbers, and those in the norm, which come first
  std::vector<double> y_, g_;                 ///< of the last mix
  std::vector<double> f_;                     ///< weighted ones
  std::vector<std::vector<float>> change_f_;  ///< latest first
  /// The same of g. Not rounded: velocities must go on belonging to impulses.
  std::vector<std::vector<double>> change_g_;
  std::vector<double> products_, gamma_;
  std::size_t kept_ = 0;     ///< changes that are known
  bool known_ = false;       ///< g_ and f_ are
  double last_ = kInfinity;  ///< |f|^2 of the last mix
};

}  // namespace catena
