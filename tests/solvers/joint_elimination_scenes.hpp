// Mechanisms for tests of eliminations, and what their solutions must be.
#pragma once

#include <random>
#include <vector>

#include "solvers/joints/elimination.hpp"
#include "support/dense_algebra.hpp"

namespace catena::test {

/// Builds MechanismRows: rigid bodies of any mass at any place, joints by their axes.
class MechanismMaker {
 public:
  explicit MechanismMaker(unsigned seed) : random_(seed) {}

  double uniform(double lo, double hi) {
    return std::uniform_real_distribution<double>(lo, hi)(random_);
  }
  Vec3 any() { return {uniform(-1, 1), uniform(-1, 1), uniform(-1, 1)}; }
  Index integer(Index below) { return std::uniform_int_distribution<Index>(0, below - 1)(random_); }

  Index body(double mass, const Vec3& at);
  /// Holds the point `at` of a (and b) together, and what turns about `turns`. b < 0: the world.
  void joint(Index a, Index b, const Vec3& at, const std::vector<Vec3>& turns = {},
             double compliance = 0.0, std::int64_t name = -1);
  /// A revolute joint about `axis`.
  void hinge(Index a, Index b, const Vec3& at, const Vec3& axis, std::int64_t name = -1);
  /// Random rows on any bodies, dense ones too.
  void rows(const std::vector<Index>& bodies, std::size_t n, double compliance = 0.0);

  MechanismRows made;
  std::vector<Vec3> centre;

 private:
  void finish(std::size_t rows, double compliance, std::int64_t name);
  std::mt19937 random_;
};

/// G and M^-1 as dense matrices, written down from the blocks.
struct DenseJoints {
  Eigen::MatrixXd g, inverse_mass, a;
  explicit DenseJoints(const MechanismRows& joints);

  Eigen::VectorXd root() const;
  /// A with unit diagonal.
  Eigen::MatrixXd scaled() const;
  double condition() const;
  /// Rows of A that do not depend on others, where singular values below 1e-10 are none.
  Eigen::Index rank() const;
  Eigen::VectorXd solution(const Eigen::VectorXd& b) const { return cholesky_solve(a, b); }
  /// Of least norm in the metric of A's diagonal, where singular values below 1e-10 are none.
  Eigen::VectorXd least_norm(const Eigen::VectorXd& b) const;
  /// A x - b.
  Eigen::VectorXd misfit(const Eigen::VectorXd& x, const Eigen::VectorXd& b) const;
  /// |b - A x| / (|x| + |b|), every row over the root of its diagonal.
  double backward_error(const Eigen::VectorXd& x, const Eigen::VectorXd& b) const;
  /// |x - y| / |y| in the metric of A's diagonal.
  double difference(const Eigen::VectorXd& x, const Eigen::VectorXd& y) const;
  /// Velocities of the rows that some impulses on the bodies make: what joints can take away.
  Eigen::VectorXd consistent(MechanismMaker& maker) const;
};

Eigen::VectorXd solve(JointElimination& elimination, const Eigen::VectorXd& b);

}  // namespace catena::test
