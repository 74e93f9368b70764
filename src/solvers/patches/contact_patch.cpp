#include "solvers/patches/contact_patch.hpp"

#include <Eigen/LU>
#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_map>

#include "catena/constraints/block_diagonal.hpp"
#include "solvers/patches/friction_path.hpp"

namespace catena {
namespace {

/// Newton steps on a patch, and the least part of one that is taken.
constexpr int kMostSteps = 8;
constexpr double kLeastPart = 1.0 / 1024.0;
/// |F|^2 is compared with the largest of its last values: it may rise for a while.
constexpr std::size_t kMemory = 4;
/// Part of |F|^2 of the guess that a solution may leave, and the round-off of |F| over |r|.
constexpr double kGain = 1e-8;
constexpr double kRoundOff = 1e-13;

using Jacobian = Eigen::Matrix<double, 3, 6, Eigen::RowMajor>;

/// One side of a contact: its body there, G and M^-1 G^T.
struct Side {
  Index body = kNoIndex;
  Jacobian g;
  Eigen::Matrix<double, 6, 3> response;
};

std::array<Side, 2> sides_of(const ConstraintProblem& problem, const RigidContact& contact) {
  std::array<Side, 2> sides;
  sides[0].body = contact.body_a;
  sides[1].body = contact.body_b;
  contact_jacobian(contact, std::span<double, 18>(sides[0].g.data(), 18),
                   std::span<double, 18>(sides[1].g.data(), 18));
  for (Side& side : sides)
    for (int row = 0; row < 3; ++row)
      apply_inverse_mass(problem.bodies, side.body,
                         std::span<const double>(side.g.row(row).data(), 6),
                         std::span<double>(side.response.col(row).data(), 6));
  return sides;
}

/// N of the contacts, Sigma included.
Eigen::MatrixXd operator_of(const ConstraintProblem& problem, std::span<const Index> contacts) {
  const auto n = static_cast<Eigen::Index>(contacts.size());
  std::vector<std::array<Side, 2>> sides;
  std::unordered_map<Index, std::vector<std::array<Eigen::Index, 2>>> at_body;
  for (Eigen::Index i = 0; i < n; ++i) {
    sides.push_back(sides_of(problem, problem.contacts[contacts[i]]));
    for (Eigen::Index k = 0; k < 2; ++k)
      if (!problem.bodies.is_prescribed(sides[i][k].body))
        at_body[sides[i][k].body].push_back({i, k});
  }
  Eigen::MatrixXd operator_n = Eigen::MatrixXd::Zero(3 * n, 3 * n);
  for (Eigen::Index i = 0; i < n; ++i) {
    for (const Side& side : sides[i]) {
      const auto others = at_body.find(side.body);
      if (others == at_body.end()) continue;
      for (const auto& [j, k] : others->second)
        operator_n.block<3, 3>(3 * i, 3 * j) += side.g * sides[j][k].response;
    }
    operator_n.diagonal().segment<3>(3 * i) += compliance_of(problem.contacts[contacts[i]]);
  }
  return operator_n;
}

/// D^(1/2) of a contact's rows, from its block of N.
Vec3 root_of(const Mat3& block) {
  const double tangent = 0.5 * (block(1, 1) + block(2, 2));
  const Vec3 d(block(0, 0), tangent, tangent);
  const Vec3 inverse = d.cwiseSqrt().cwiseInverse();
  const Mat3 scaled = inverse.asDiagonal() * block * inverse.asDiagonal();
  const double bound = scaled.cwiseAbs().rowwise().sum().maxCoeff();
  return (d * std::max(1.0, bound)).cwiseSqrt();
}

}  // namespace

ContactPatch make_patch(const ConstraintProblem& problem, std::span<const Index> contacts,
                        std::span<const double> impulses, std::span<const double> w) {
  const auto n = static_cast<Eigen::Index>(contacts.size());
  ContactPatch patch;
  patch.a = operator_of(problem, contacts);
  patch.r.resize(3 * n);
  patch.y.resize(3 * n);
  patch.root.resize(3 * n);
  patch.friction.resize(n);
  for (Eigen::Index i = 0; i < n; ++i) {
    const RigidContact& contact = problem.contacts[contacts[i]];
    const std::size_t row = 3 * static_cast<std::size_t>(contacts[i]);
    const Vec3 root = root_of(patch.a.block<3, 3>(3 * i, 3 * i));
    Vec3 lambda(impulses[row], impulses[row + 1], impulses[row + 2]);
    lambda[0] += contact.cohesion;
    patch.root.segment<3>(3 * i) = root;
    patch.y.segment<3>(3 * i) = root.cwiseProduct(lambda);
    patch.r.segment<3>(3 * i) = Vec3(w[row], w[row + 1], w[row + 2]).cwiseQuotient(root);
    patch.friction[i] = contact.friction * root[1] / root[0];
  }
  const Eigen::VectorXd inverse = patch.root.cwiseInverse();
  patch.a = inverse.asDiagonal() * patch.a * inverse.asDiagonal();
  patch.r -= patch.a * patch.y;
  patch.a = -patch.a;
  patch.a.diagonal().array() += 1.0;
  return patch;
}

void store_patch(const ConstraintProblem& problem, std::span<const Index> contacts,
                 const ContactPatch& patch, std::span<double> impulses) {
  for (std::size_t i = 0; i < contacts.size(); ++i) {
    const RigidContact& contact = problem.contacts[contacts[i]];
    const auto row = static_cast<Eigen::Index>(3 * i);
    Vec3 lambda = patch.y.segment<3>(row).cwiseQuotient(patch.root.segment<3>(row));
    lambda[0] = std::max(0.0, lambda[0]);
    const double size = std::hypot(lambda[1], lambda[2]), bound = contact.friction * lambda[0];
    if (size > bound) lambda.tail<2>() *= bound / size;
    lambda[0] -= contact.cohesion;
    std::copy_n(lambda.data(), 3, impulses.begin() + 3 * contacts[i]);
  }
}

ContactPiece piece_at(const Vec3& x, double friction) {
  if (x[0] <= 0.0) return ContactPiece::open;
  return x.tail<2>().norm() <= friction * x[0] ? ContactPiece::sticks : ContactPiece::slips;
}

PieceValue value_on(ContactPiece piece, const Vec3& x, double friction) {
  PieceValue value;
  if (piece == ContactPiece::open) return value;
  if (piece == ContactPiece::sticks) {
    value.y = x;
    value.by_x = Mat3::Identity();
    return value;
  }
  const double size = x.tail<2>().norm(), bound = friction * x[0];
  const Eigen::Vector2d along = x.tail<2>() / size;
  value.y << x[0], bound * along;
  value.by_x(0, 0) = 1.0;
  value.by_x.block<2, 1>(1, 0) = friction * along;
  value.by_x.block<2, 2>(1, 1) =
      bound / size * (Eigen::Matrix2d::Identity() - along * along.transpose());
  value.by_friction << 0.0, x[0] * along;
  return value;
}

double law_of_patch(const ContactPatch& patch, double part, const Eigen::VectorXd& y,
                    Eigen::VectorXd& f, Eigen::MatrixXd* jacobian) {
  const Eigen::VectorXd x = patch.a * y - patch.r;
  f.resize(y.size());
  if (jacobian != nullptr) jacobian->resize(y.size(), y.size());
  for (Eigen::Index i = 0; i < patch.friction.size(); ++i) {
    const Vec3 at = x.segment<3>(3 * i);
    const double friction = part * patch.friction[i];
    const PieceValue value = value_on(piece_at(at, friction), at, friction);
    f.segment<3>(3 * i) = y.segment<3>(3 * i) - value.y;
    if (jacobian == nullptr) continue;
    jacobian->middleRows<3>(3 * i).noalias() = -value.by_x * patch.a.middleRows<3>(3 * i);
    jacobian->block<3, 3>(3 * i, 3 * i) += Mat3::Identity();
  }
  return f.squaredNorm();
}

PatchWork newton_on_patch(const ContactPatch& patch, double part, double tolerance,
                          Eigen::VectorXd& y) {
  PatchWork work;
  Eigen::VectorXd at = y, f, next, f_next;
  Eigen::MatrixXd jacobian;
  std::vector<double> history = {law_of_patch(patch, part, at, f, &jacobian)};
  while (history.back() > tolerance && work.factors < kMostSteps) {
    const Eigen::VectorXd step = jacobian.partialPivLu().solve(f);
    work.factors += 1.0;
    if (!step.allFinite()) return work;
    const double before =
        *std::max_element(history.end() - std::min(kMemory, history.size()), history.end());
    double length = 1.0;
    for (;; length *= 0.5) {
      next = at - length * step;
      if (law_of_patch(patch, part, next, f_next, nullptr) <= before || length < kLeastPart) break;
    }
    at = next;
    history.push_back(law_of_patch(patch, part, at, f, &jacobian));
  }
  work.solved = history.back() <= tolerance;
  if (work.solved) y = at;
  return work;
}

PatchWork solve_patch(ContactPatch& patch) {
  Eigen::VectorXd f;
  const double round_off = kRoundOff * patch.r.norm();
  const double tolerance =
      std::max(kGain * law_of_patch(patch, 1.0, patch.y, f, nullptr), round_off * round_off);
  PatchWork work = newton_on_patch(patch, 1.0, tolerance, patch.y);
  if (work.solved) return work;
  FrictionPath path(patch);
  Eigen::VectorXd y = patch.y;
  const bool followed = path.follow(y);
  work.factors += path.factors();
  if (!followed) return work;
  // the path's end is a solution to round-off, unless it was lost on the way
  const PatchWork end = newton_on_patch(patch, 1.0, tolerance, y);
  work.factors += end.factors;
  work.solved = end.solved;
  if (end.solved) patch.y = y;
  return work;
}

}  // namespace catena
