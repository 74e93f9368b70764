// Mechanisms for tests of eliminations, and what their solutions must be.
#pragma once

#include <cmath>
#include <random>
#include <vector>

#include "solvers/joints/elimination/elimination.hpp"
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

/// Mechanisms of every shape; masses over `decades`.
class Shapes {
 public:
  Shapes(unsigned seed, double decades) : maker(seed), decades_(decades) {}

  Index body() {
    return maker.body(std::pow(10.0, maker.uniform(-0.5, 0.5) * decades_), 3.0 * maker.any());
  }
  void join(Index a, Index b) {
    const Vec3 at = 3.0 * maker.any();
    if (maker.integer(2) == 0)
      maker.joint(a, b, at);
    else
      maker.hinge(a, b, at, maker.any());
  }
  void chain(Index n, bool closed) {
    const Index first = body();
    for (Index i = 1; i < n; ++i) {
      const Index next = body();
      join(next - 1, next);
    }
    if (closed) join(first + n - 1, first);
  }
  void tree(Index n, bool star) {
    const Index first = body();
    for (Index i = 1; i < n; ++i) {
      const Index next = body();
      join(star ? first : first + maker.integer(i), next);
    }
  }
  /// Distance joints, one row each.
  void net(Index n) {
    const Index first = maker.made.bodies.size();
    for (Index k = 0; k < n * n; ++k) {
      body();
      if (k % n > 0) maker.rows({first + k - 1, first + k}, 1);
      if (k >= n) maker.rows({first + k - n, first + k}, 1);
    }
  }
  void clique(Index n) {
    const Index first = maker.made.bodies.size();
    for (Index i = 0; i < n; ++i) {
      body();
      for (Index j = 0; j < i; ++j) maker.rows({first + j, first + i}, 1);
    }
  }

  MechanismMaker maker;

 private:
  double decades_;
};

/// n x n knots of masses over `decades` with rods between them, one row each; those of the first
/// row are held to the world, so that the n - 1 rods between them are redundant.
void add_held_net(MechanismMaker& maker, Index n, double decades);

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

/// Calls visit(shapes, name) for mechanisms of every shape, those along a line of 2 n joints; mass
/// ratios span `decades`.
template <class Visit>
void for_each_shape(int n, double decades, const Visit& visit) {
  std::uint32_t seed = 20;
  const auto visit_made = [&](const char* name, const auto& make) {
    Shapes shapes(++seed, decades);
    make(shapes);
    visit(shapes, name);
  };
  visit_made("chain", [&](Shapes& s) { s.chain(2 * n, false); });
  visit_made("ring", [&](Shapes& s) { s.chain(2 * n, true); });
  visit_made("tree", [&](Shapes& s) { s.tree(8 * n / 3, false); });
  visit_made("star", [&](Shapes& s) { s.tree(4 * n / 3, true); });
  visit_made("net", [&](Shapes& s) { s.net(n / 2 - 1); });
  visit_made("clique", [&](Shapes& s) { s.clique(9); });
  visit_made("forest", [&](Shapes& s) {
    for (int i = 0; i < 4; ++i) s.tree(n / 2, i == 0);
  });
  visit_made("a net and a ring that touch", [&](Shapes& s) {
    s.net(6);
    s.chain(20, true);
    s.join(17, 40);
  });
  visit_made("a ring at which branches hang, held once", [&](Shapes& s) {
    s.chain(n, true);
    for (Index b = 0; b < 4; ++b) {
      s.chain(3, false);
      s.join(b, n + 3 * b);
    }
    s.maker.joint(n / 2, -1, s.maker.any());
  });
}

}  // namespace catena::test
