#include "joint_elimination_scenes.hpp"

#include <Eigen/Geometry>

namespace catena::test {

Index MechanismMaker::body(double mass, const Vec3& at) {
  const Quat q(uniform(-1, 1), uniform(-1, 1), uniform(-1, 1), uniform(-1, 1));
  const Mat3 turn = q.normalized().toRotationMatrix();
  const Vec3 inertia(uniform(0.5, 1.0), uniform(0.5, 1.0), uniform(0.7, 1.0));
  const Mat3 inverse = turn * (0.1 * mass * inertia).cwiseInverse().asDiagonal() * turn.transpose();
  made.bodies.add_rigid(made.bodies.size(), 1.0 / mass, inverse, {});
  centre.push_back(at);
  return made.bodies.size() - 1;
}

void MechanismMaker::joint(Index a, Index b, const Vec3& at, const std::vector<Vec3>& turns,
                           double compliance, std::int64_t name) {
  GeneralBlocks& k = made.blocks;
  const std::size_t rows = 3 + turns.size();
  const auto jacobian = [&](Index body, double sign) {
    const Vec3 r = at - centre[static_cast<std::size_t>(body)];
    Eigen::Matrix<double, Eigen::Dynamic, 6, Eigen::RowMajor> g(rows, 6);
    g.setZero();
    g.topLeftCorner<3, 3>().setIdentity();
    g.block<3, 3>(0, 3) << 0, r.z(), -r.y(), -r.z(), 0, r.x(), r.y(), -r.x(), 0;
    for (std::size_t i = 0; i < turns.size(); ++i) {
      g.block<1, 3>(static_cast<Eigen::Index>(3 + i), 3) = turns[i].transpose();
    }
    g *= sign;
    k.body.push_back(body);
    k.jacobian.insert(k.jacobian.end(), g.data(), g.data() + g.size());
    k.jacobian_begin.push_back(static_cast<std::int64_t>(k.jacobian.size()));
  };
  jacobian(a, -1.0);
  if (b >= 0) jacobian(b, 1.0);
  finish(rows, compliance, name);
}

void MechanismMaker::hinge(Index a, Index b, const Vec3& at, const Vec3& axis, std::int64_t name) {
  const Vec3 t1 = axis.unitOrthogonal();
  joint(a, b, at, {t1, axis.normalized().cross(t1)}, 0.0, name);
}

void MechanismMaker::rows(const std::vector<Index>& bodies, std::size_t n, double compliance) {
  GeneralBlocks& k = made.blocks;
  for (const Index b : bodies) {
    const auto s = static_cast<std::size_t>(b);
    const Index dofs = made.bodies.dof_begin[s + 1] - made.bodies.dof_begin[s];
    k.body.push_back(b);
    for (std::size_t i = 0; i < n * static_cast<std::size_t>(dofs); ++i) {
      k.jacobian.push_back(uniform(-1, 1));
    }
    k.jacobian_begin.push_back(static_cast<std::int64_t>(k.jacobian.size()));
  }
  finish(n, compliance, -1);
}

void MechanismMaker::finish(std::size_t rows, double compliance, std::int64_t name) {
  GeneralBlocks& k = made.blocks;
  k.kind.push_back(BlockKind::bilateral);
  k.name.push_back(name >= 0 ? name : static_cast<std::int64_t>(k.name.size()));
  k.row_begin.push_back(k.row_begin.back() + static_cast<Index>(rows));
  k.body_begin.push_back(static_cast<Index>(k.body.size()));
  k.friction.push_back(0.0);
  for (std::size_t i = 0; i < rows; ++i) {
    k.q.push_back(0.0);
    k.compliance.push_back(compliance);
    k.lower.push_back(0.0);
    k.upper.push_back(0.0);
    k.angular.push_back(i >= 3);
  }
}

void add_held_net(MechanismMaker& maker, Index n, double decades) {
  for (Index k = 0; k < n * n; ++k)
    maker.body(std::pow(10.0, maker.uniform(-0.5, 0.5) * decades),
               Vec3(k % n, k / n, 0.1 * maker.uniform(-1, 1)));
  const auto rod = [&](Index a, Index b) {
    maker.rows({a, b}, 1);
    double* g = maker.made.blocks.jacobian.data() + maker.made.blocks.jacobian.size() - 12;
    std::fill_n(g, 12, 0.0);
    const Vec3 way = (maker.centre[b] - maker.centre[a]).normalized();
    for (int i = 0; i < 3; ++i) {
      g[i] = -way[i];
      g[6 + i] = way[i];
    }
  };
  for (Index k = 0; k < n * n; ++k) {
    if (k % n > 0) rod(k - 1, k);
    if (k >= n) rod(k - n, k);
    if (k < n) maker.joint(k, -1, maker.centre[k]);
  }
}

DenseJoints::DenseJoints(const MechanismRows& joints) {
  const ProblemBodies& bodies = joints.bodies;
  const GeneralBlocks& blocks = joints.blocks;
  inverse_mass.setZero(bodies.n_dofs(), bodies.n_dofs());
  for (Index b = 0; b < bodies.size(); ++b) {
    const auto s = static_cast<std::size_t>(b);
    const Index d = bodies.dof_begin[s], n = bodies.dof_begin[s + 1] - d;
    const double* m = bodies.inverse_mass.data() + bodies.mass_begin[s];
    if (bodies.mass_kind[s] == MassKind::dense) {
      inverse_mass.block(d, d, n, n) =
          Eigen::Map<const Eigen::Matrix<double, -1, -1, Eigen::RowMajor>>(m, n, n);
      continue;
    }
    inverse_mass.block<3, 3>(d, d) = m[0] * Mat3::Identity();
    Mat3 inertia;
    inertia << m[1], m[2], m[3], m[2], m[4], m[5], m[3], m[5], m[6];
    inverse_mass.block<3, 3>(d + 3, d + 3) = inertia;
  }
  g.setZero(blocks.n_rows(), bodies.n_dofs());
  for (std::size_t k = 0; k < blocks.kind.size(); ++k) {
    const Index row = blocks.row_begin[k], rows = blocks.row_begin[k + 1] - row;
    for (Index j = blocks.body_begin[k]; j < blocks.body_begin[k + 1]; ++j) {
      const auto ref = static_cast<std::size_t>(j), b = static_cast<std::size_t>(blocks.body[ref]);
      const Index d = bodies.dof_begin[b], n = bodies.dof_begin[b + 1] - d;
      g.block(row, d, rows, n) += Eigen::Map<const Eigen::Matrix<double, -1, -1, Eigen::RowMajor>>(
          blocks.jacobian.data() + blocks.jacobian_begin[ref], rows, n);
    }
  }
  a = g * inverse_mass * g.transpose();
  a.diagonal() += Eigen::Map<const Eigen::VectorXd>(blocks.compliance.data(), blocks.n_rows());
}

Eigen::VectorXd DenseJoints::root() const { return a.diagonal().cwiseSqrt(); }

Eigen::MatrixXd DenseJoints::scaled() const {
  const Eigen::VectorXd s = root().cwiseInverse();
  return s.asDiagonal() * a * s.asDiagonal();
}

double DenseJoints::condition() const {
  const Eigen::VectorXd sigma = symmetric_eigenvalues(scaled());
  return sigma.tail<1>()[0] / sigma[0];
}

Eigen::Index DenseJoints::rank() const { return LeastSquares(scaled(), 1e-10).rank(); }

Eigen::VectorXd DenseJoints::least_norm(const Eigen::VectorXd& b) const {
  const Eigen::VectorXd s = root().cwiseInverse();
  return s.asDiagonal() * LeastSquares(scaled(), 1e-10).solve(s.asDiagonal() * b);
}

Eigen::VectorXd DenseJoints::misfit(const Eigen::VectorXd& x, const Eigen::VectorXd& b) const {
  return a * x - b;
}

double DenseJoints::backward_error(const Eigen::VectorXd& x, const Eigen::VectorXd& b) const {
  const Eigen::VectorXd r = (b - a * x).cwiseQuotient(root());
  return r.norm() / (root().cwiseProduct(x).norm() + b.cwiseQuotient(root()).norm());
}

double DenseJoints::difference(const Eigen::VectorXd& x, const Eigen::VectorXd& y) const {
  return root().cwiseProduct(x - y).norm() / root().cwiseProduct(y).norm();
}

Eigen::VectorXd DenseJoints::consistent(MechanismMaker& maker) const {
  Eigen::VectorXd velocity(g.cols());
  for (double& v : velocity) v = maker.uniform(-1, 1);
  return g * velocity;
}

Eigen::VectorXd solve(JointElimination& elimination, const Eigen::VectorXd& b) {
  Eigen::VectorXd x(b.size());
  elimination.solve({b.data(), static_cast<std::size_t>(b.size())},
                    {x.data(), static_cast<std::size_t>(x.size())});
  return x;
}

}  // namespace catena::test
