// Least squares over a product of cones, by columns taken up one at a time.
#pragma once

#include <Eigen/SparseCore>
#include <array>
#include <vector>

#include "catena/base/index.hpp"

namespace catena {

/// Which values the entries of one group of x may take.
enum class RayKind : std::uint8_t {
  free,     ///< one entry, any
  up,       ///< one entry, >= 0
  down,     ///< one entry, <= 0
  contact,  ///< (normal, two tangents, two rolling rows, spinning row): a disc cone (DiscCone)
};
struct RayGroup {
  RayKind kind = RayKind::free;
  std::array<Index, 6> entry = {-1, -1, -1, -1, -1, -1};  ///< of x; -1: there is no such entry
  std::array<double, 3> bound{};                          ///< of the discs
};

struct ConicFit {
  Eigen::VectorXd x;
  double residual = 0.0;  ///< |E x - target|
};

/// Minimises |E x - target| over the x whose groups lie in their cones; entries in no group are
/// zero. C. L. Lawson, R. J. Hanson, *Solving Least Squares Problems*, 1974, chapter 23, with the
/// extreme rays of the cones as columns: each round takes up the ray that the residual points along
/// most, so that curved cones need no list of their rays. Free entries are taken up first.
///
/// Exact to round-off where the cones are half-lines; a curved cone is approached from within. Ends
/// at a residual of 1e-11 |target|, or where no ray reduces it. Columns are to be of about unit
/// length. Cost: about 4 m p a round with m rows and p columns taken up.
ConicFit fit_in_cones(const Eigen::SparseMatrix<double>& e, const std::vector<RayGroup>& groups,
                      const Eigen::VectorXd& target);

}  // namespace catena
