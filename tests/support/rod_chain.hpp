// A = J M^-1 J^T of chains of rods, block by block from closed forms, and parts of block
// tridiagonal matrices: for tests and benchmarks of eliminations.
#pragma once

#include <Eigen/Geometry>
#include <cstdint>
#include <vector>

#include "solvers/joints/chain/chain_factor.hpp"

namespace catena::test {

/// Equal boxes 0.1 x 0.02 x 0.02 m of 0.04 kg, jointed end to end. The first joint is to the
/// ground; a free chain has one more link instead. Angular rows are scaled by the links' length.
struct RodChain {
  std::int64_t joints = 0;
  bool revolute = false;  ///< 5 rows, all axes along z; else spherical, 3 rows
  double turn = 0.0;      ///< rad from a link to the next, about z; 0: straight
  bool free = false;      ///< no ground
  bool both = false;      ///< the last joint is to the ground, too

  int rows() const { return revolute ? 5 : 3; }
};

using JointRowsOfBody = Eigen::Matrix<double, 5, 6>;

/// Rows of joint `j` on a link one behind (side 1) or before it (side 0), linear part first.
inline JointRowsOfBody rod_rows(const RodChain& chain, std::int64_t j, int side) {
  constexpr double kLength = 0.1;
  const double angle = chain.turn * static_cast<double>(side == 1 ? j : j - 1);
  const Eigen::Vector3d along(std::cos(angle), std::sin(angle), 0.0);
  const Eigen::Vector3d arm = (side == 1 ? -0.5 : 0.5) * kLength * along;
  JointRowsOfBody g = JointRowsOfBody::Zero();
  g.topLeftCorner<3, 3>().setIdentity();
  // (w x r)_i = e_i . (w x r) = w . (r x e_i)
  for (int i = 0; i < 3; ++i) g.block<1, 3>(i, 3) = arm.cross(Eigen::Vector3d::Unit(i)).transpose();
  g(3, 3) = kLength;
  g(4, 4) = kLength;
  return side == 1 ? g : JointRowsOfBody(-g);
}

/// M^-1 of the link that stands behind joint `j`.
inline Eigen::Matrix<double, 6, 6> rod_inverse_mass(const RodChain& chain, std::int64_t j) {
  constexpr double kMass = 0.04;
  const Eigen::Matrix3d r =
      Eigen::AngleAxisd(chain.turn * static_cast<double>(j), Eigen::Vector3d::UnitZ())
          .toRotationMatrix();
  const Eigen::Vector3d inertia =
      kMass / 12.0 *
      Eigen::Vector3d(2.0 * 0.02 * 0.02, 0.1 * 0.1 + 0.02 * 0.02, 0.1 * 0.1 + 0.02 * 0.02);
  Eigen::Matrix<double, 6, 6> m = Eigen::Matrix<double, 6, 6>::Zero();
  m.topLeftCorner<3, 3>() = Eigen::Matrix3d::Identity() / kMass;
  m.bottomRightCorner<3, 3>() = r * inertia.cwiseInverse().asDiagonal() * r.transpose();
  return m;
}

/// A_jj and, if `next`, A_j,j+1 of the whole chain.
inline Eigen::MatrixXd rod_block(const RodChain& chain, std::int64_t j, bool next) {
  const int m = chain.rows();
  Eigen::Matrix<double, 5, 5> a = Eigen::Matrix<double, 5, 5>::Zero();
  const JointRowsOfBody behind = rod_rows(chain, j, 1);
  const bool last_to_ground = chain.both && j + 1 == chain.joints;
  if (next) {
    a = behind * rod_inverse_mass(chain, j) * rod_rows(chain, j + 1, 0).transpose();
  } else {
    if (!last_to_ground) a += behind * rod_inverse_mass(chain, j) * behind.transpose();
    if (j > 0 || chain.free) {
      const JointRowsOfBody before = rod_rows(chain, j, 0);
      a += before * rod_inverse_mass(chain, j - 1) * before.transpose();
    }
  }
  return a.topLeftCorner(m, m);
}

inline void append_block(ChainPart& part, const Eigen::MatrixXd& diagonal,
                         const Eigen::MatrixXd& coupling, std::int64_t name) {
  const auto append = [](const Eigen::MatrixXd& block, std::vector<double>& to) {
    for (Eigen::Index i = 0; i < block.rows(); ++i)
      for (Eigen::Index k = 0; k < block.cols(); ++k) to.push_back(block(i, k));
  };
  append(diagonal, part.diagonal);
  append(coupling, part.coupling);
  part.row_begin.push_back(part.row_begin.back() + static_cast<Index>(diagonal.rows()));
  part.diagonal_begin.push_back(static_cast<std::int64_t>(part.diagonal.size()));
  part.coupling_begin.push_back(static_cast<std::int64_t>(part.coupling.size()));
  part.name.push_back(name);
}

/// Joints [begin, end) of the chain.
inline ChainPart rod_chain(const RodChain& chain, std::int64_t begin, std::int64_t end) {
  ChainPart part;
  for (std::int64_t j = begin; j < end; ++j)
    append_block(part, rod_block(chain, j, false),
                 j + 1 < chain.joints ? rod_block(chain, j, true) : Eigen::MatrixXd(), j);
  return part;
}

}  // namespace catena::test
