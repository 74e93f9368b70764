#include "catena/stepper/geometric_stiffness.hpp"

#include <Eigen/Dense>
#include <algorithm>

#include "catena/comm/ghost_sum.hpp"
#include "catena/comm/halo_exchange.hpp"
#include "catena/constraints/ordered_sums.hpp"
#include "catena/math/rotation.hpp"

namespace catena {
namespace {

constexpr double kFollowed = 1.0;  ///< h^2 K / I that the step follows as it is
constexpr double kRaise = 0.35;    ///< h^2 K / I^ stays below 1/kRaise < 4
constexpr int kWidth = 6;

/// A symmetric matrix: xx, yy, zz, xy, xz, yz.
using Packed = std::array<double, kWidth>;

Mat3 unpacked(const double* from) {
  Mat3 to;
  to << from[0], from[3], from[4], from[3], from[1], from[5], from[4], from[5], from[2];
  return to;
}

/// Largest sum of a row's magnitudes.
double row_bound(const double* k) {
  const double xy = std::abs(k[3]), xz = std::abs(k[4]), yz = std::abs(k[5]);
  return std::max({std::abs(k[0]) + xy + xz, xy + std::abs(k[1]) + yz, xz + yz + std::abs(k[2])});
}

}  // namespace

/// h K of a body from bilateral block k, of which it is member j; false: none. A linear row (n, r x
/// n) with impulse lambda pushes with lambda n at r, of which r x n is what the row knows: the part
/// of r across n. The part along n comes from the rows across, so the arm is found from all linear
/// rows of a block together: sum over i of (row's turn) x n_i = sum of (r x n_i) x n_i = n (n . r)
/// - r summed = -2 r for three orthonormal rows.
static bool stiffness_of(const ConstraintProblem& problem, std::span<const double> impulses,
                         Index k, Index j, Packed& stiffness) {
  const GeneralBlocks& blocks = problem.blocks;
  const Index row = blocks.row_begin[k];
  const Index rows = blocks.row_begin[k + 1] - row;
  // three linear rows hold two points together; what slides has its force across the way
  if (rows < 3 || blocks.angular[row] + blocks.angular[row + 1] + blocks.angular[row + 2] != 0)
    return false;
  if (problem.bodies.mass_kind[blocks.body[j]] != MassKind::rigid) return false;
  const double* lambda = impulses.data() + problem.first_general_row() + row;
  const double* g = blocks.jacobian.data() + blocks.jacobian_begin[j];
  Vec3 force = Vec3::Zero(), arm = Vec3::Zero();
  for (int i = 0; i < 3; ++i) {
    const Vec3 n(g[6 * i], g[6 * i + 1], g[6 * i + 2]);
    const Vec3 turn(g[6 * i + 3], g[6 * i + 4], g[6 * i + 5]);
    force += lambda[i] * n;
    arm -= 0.5 * turn.cross(n);
  }
  const double along = force.dot(arm);
  for (int i = 0; i < 3; ++i) stiffness[i] = along - arm[i] * force[i];
  stiffness[3] = -0.5 * (arm[0] * force[1] + arm[1] * force[0]);
  stiffness[4] = -0.5 * (arm[0] * force[2] + arm[2] * force[0]);
  stiffness[5] = -0.5 * (arm[1] * force[2] + arm[2] * force[1]);
  return true;
}

void GeometricStiffness::add_stiffness(const ConstraintProblem& problem,
                                       std::span<const double> impulses) {
  const GeneralBlocks& blocks = problem.blocks;
  stiffness_.assign(Offset{kWidth} * problem.bodies.size(), 0.0);
  Packed term;
  for (Index k = 0; k < blocks.size(); ++k) {
    if (blocks.kind[k] != BlockKind::bilateral) continue;
    for (Index j = blocks.body_begin[k]; j < blocks.body_begin[k + 1]; ++j) {
      if (!stiffness_of(problem, impulses, k, j, term)) continue;
      double* sum = stiffness_.data() + Offset{kWidth} * blocks.body[j];
      for (int i = 0; i < kWidth; ++i) sum[i] += term[i];
    }
  }
}

/// Neighbours. Adds up what several ranks know of a body.
void GeometricStiffness::share(const ConstraintProblem& problem, std::span<const double> impulses) {
  if (problem.comm.size() == 1) return;
  if (problem.ordered)
    add_in_order(problem, impulses, stiffness_);
  else
    GhostSum(problem.comm, problem.ghosts, kWidth, Tag::stiffness_to_owners).complete(stiffness_);
  HaloExchange to_ghosts(problem.comm, problem.ghosts, kWidth, Tag::stiffness_to_ghosts);
  to_ghosts.begin(stiffness_);
  to_ghosts.end(stiffness_);
}

void GeometricStiffness::add_in_order(const ConstraintProblem& problem,
                                      std::span<const double> impulses, std::span<double> lines) {
  const auto n_contacts = to_index(problem.contacts.size());
  OrderedSums sums(problem, OrderedSums::Blocks::bilateral, Tag::stiffness_in_order);
  sums.complete(lines, [&](const OrderedSums::Term& term, OrderedSums::Numbers& numbers) {
    numbers.fill(0.0);
    stiffness_of(problem, impulses, term.block - n_contacts, term.member, numbers);
  });
}

void GeometricStiffness::clear() {
  added_.clear();
  raised_owned_ = 0;
  largest_ = 0.0;
}

void GeometricStiffness::apply(const LocalBodies& local, double h, std::span<const double> impulses,
                               ConstraintProblem& problem) {
  clear();
  add_stiffness(problem, impulses);
  share(problem, impulses);
  ProblemBodies& bodies = problem.bodies;
  for (Index b = 0; b < bodies.size(); ++b) {
    if (bodies.mass_kind[b] != MassKind::rigid) continue;
    const double* own = stiffness_.data() + Offset{kWidth} * b;
    const BodyConstants& body = local.constants[b];
    // h^2 K, kg m^2
    const double bound = h * row_bound(own);
    if (!(bound > kFollowed * body.inertia.minCoeff())) {
      largest_ = std::max(largest_, bound / body.inertia.minCoeff());
      continue;
    }
    const Mat3 stiffness = h * unpacked(own);
    // on the principal axes, scaled by the inertia's root: h^2 K relative to I
    const Mat3 axes = local.state[b].pose.q.toRotationMatrix();
    const Vec3 root = body.inertia.cwiseSqrt();
    const Mat3 relative = root.cwiseInverse().asDiagonal() * (axes.transpose() * stiffness * axes) *
                          root.cwiseInverse().asDiagonal();
    if (!(relative.cwiseAbs().rowwise().sum().maxCoeff() > kFollowed)) continue;
    Eigen::SelfAdjointEigenSolver<Mat3> modes;
    modes.computeDirect(relative);
    largest_ = std::max(largest_, modes.eigenvalues().maxCoeff());
    const Vec3 raise = kRaise * (modes.eigenvalues().array() - kFollowed).max(0.0).matrix();
    if (!(raise.maxCoeff() > 0.0)) continue;
    const Mat3 turned = axes * root.asDiagonal() * modes.eigenvectors();
    const Mat3 added = turned * raise.asDiagonal() * turned.transpose();
    const Mat3 back = axes * root.cwiseInverse().asDiagonal() * modes.eigenvectors();
    const Mat3 inverse =
        back * (Vec3::Ones() + raise).cwiseInverse().asDiagonal() * back.transpose();
    const Mat3 inertia = rotate_diagonal(local.state[b].pose.q, body.inertia);
    double* m = bodies.inverse_mass.data() + bodies.mass_begin[b];
    const double packed[6] = {inverse(0, 0), inverse(0, 1), inverse(0, 2),
                              inverse(1, 1), inverse(1, 2), inverse(2, 2)};
    std::copy_n(packed, 6, m + 1);
    Eigen::Map<Vec3> free(bodies.free_velocity.data() + bodies.dof_begin[b] + 3);
    const Vec3 before = local.twist(b).w;
    free = before + inverse * (inertia * (free - before));
    if (b >= bodies.n_owned) continue;
    added_.emplace_back(b, added);
    ++raised_owned_;
  }
}

void GeometricStiffness::subtract_work(const LocalBodies& local, std::span<const double> twists,
                                       Sum& work) const {
  for (const auto& [b, added] : added_) {
    const Eigen::Map<const Vec3> after(twists.data() + Offset{6} * b + 3);
    const Vec3 before = local.twist(b).w;
    work -= 0.5 * (before + after).dot(added * (after - before));
  }
}

}  // namespace catena
