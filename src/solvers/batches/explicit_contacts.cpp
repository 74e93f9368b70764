#include "solvers/batches/explicit_contacts.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "catena/constraints/block_rows.hpp"
#include "catena/constraints/contact_cone.hpp"
#include "catena/math/disc_cone.hpp"

namespace catena {
namespace {

constexpr Index kVelocities = 6;
using Jacobian = Eigen::Matrix<double, 3, 6, Eigen::RowMajor>;

/// M^-1 of a body of six velocities.
Mat6 inverse_mass(const ProblemBodies& bodies, Index b) {
  Mat6 m;
  for (int i = 0; i < kVelocities; ++i) {
    const Vec6 unit = Vec6::Unit(i);
    Vec6 column;
    apply_inverse_mass(bodies, b, {unit.data(), 6}, {column.data(), 6});
    m.col(i) = column;
  }
  return m;
}

bool is_diagonal(const Mat6& m) { return (m - Mat6(m.diagonal().asDiagonal())).isZero(0.0); }

/// Whether M^-1 is (1/m) I for the first three velocities and symmetric to its last digits for the
/// others.
bool is_rigid(const Mat6& m) {
  constexpr double kLastDigits = 4.0 * std::numeric_limits<double>::epsilon();
  const Mat3 moved = m.topLeftCorner<3, 3>(), turned = m.bottomRightCorner<3, 3>();
  return moved == Mat3(m(0, 0) * Mat3::Identity()) && m.topRightCorner<3, 3>().isZero(0.0) &&
         m.bottomLeftCorner<3, 3>().isZero(0.0) &&
         (turned - turned.transpose()).cwiseAbs().maxCoeff() <= kLastDigits * turned.trace();
}

/// D is kept as a symmetric matrix.
bool is_symmetric(const ProblemBodies& bodies, Index b) {
  constexpr double kRoundOff = 1e-12;
  if (bodies.mass_kind[b] != MassKind::dense) return true;
  const double* m = bodies.inverse_mass.data() + bodies.mass_begin[b];
  for (int i = 0; i < kVelocities; ++i)
    for (int j = 0; j < i; ++j) {
      const double allowed = kRoundOff * std::sqrt(m[7 * i] * m[7 * j]);
      if (!(std::abs(m[6 * i + j] - m[6 * j + i]) <= allowed)) return false;
    }
  return true;
}

}  // namespace

bool fits_explicit_batch(const ConstraintProblem& problem, Index block) {
  const BlockView view = block_view(problem, block);
  if (view.kind != BlockKind::contact || view.rows != 3 || !has_kernels(problem)) return false;
  int n_bodies = 0;
  Index last = kNoIndex;
  bool fits = true;
  for_each_body_index(problem, block, [&](Index b) {
    ++n_bodies;
    fits = fits && b != last && problem.bodies.dofs(b) == kVelocities &&
           is_symmetric(problem.bodies, b);
    last = b;
  });
  return fits && (n_bodies == 1 || n_bodies == 2);
}

void pack_explicit_contact(const ConstraintProblem& problem, Index block, ContactLaw law,
                           std::span<const double> impulses,
                           const std::function<BodyPlace(Index)>& place,
                           ExplicitContactBatch& batch, int lane) {
  const BlockView view = block_view(problem, block);
  const std::size_t row = view.row - problem.first_general_row();
  std::array<std::int32_t, 2> line{};
  std::array<Jacobian, 2> g = {Jacobian::Zero(), Jacobian::Zero()};
  Mat3 d = Mat3::Zero();
  std::size_t side = 0;
  for_each_body(problem, block, [&](Index body, const double* jacobian) {
    const BodyPlace at = place(body);
    line[side] = narrow<std::int32_t>(at.velocity / 8);
    g[side] = Eigen::Map<const Jacobian>(jacobian);
    d += at.multiplicity * (g[side] * inverse_mass(problem.bodies, body) * g[side].transpose());
    ++side;
  });
  for (int i = 0; i < 3; ++i) d(i, i) += problem.blocks.compliance[row + i];
  if (!(d.trace() > 0.0)) {
    batch.lambda[0][lane] = view.cohesion;
    return;
  }
  d = make_contact_block(d).d;
  batch.a[lane] = line[0];
  batch.b[lane] = line[1];
  for (int s = 0; s < 2; ++s)
    for (int i = 0; i < kVelocities; ++i)
      for (int r = 0; r < 3; ++r) batch.g[s][i][r][lane] = g[s](r, i);
  const double* given = impulses.data() + view.row;
  const Vec3 guess =
      admissible_contact(law, {given[0] + view.cohesion, given[1], given[2]}, view.friction);
  for (int r = 0; r < 3; ++r) {
    batch.lambda[r][lane] = guess[r];
    batch.sigma[r][lane] = problem.blocks.compliance[row + r];
    batch.bias[r][lane] = -problem.blocks.q[row + r];
  }
  // of lambda + c n in place of lambda
  batch.bias[0][lane] -= batch.sigma[0][lane] * view.cohesion;
  batch.friction[lane] = view.friction;
  const double packed[6] = {d(0, 0), d(0, 1), d(0, 2), d(1, 1), d(1, 2), d(2, 2)};
  for (int i = 0; i < 6; ++i) batch.d[i][lane] = packed[i];
}

void unpack_explicit_contact(const ConstraintProblem& problem, Index block,
                             const ExplicitContactBatch& batch, int lane,
                             std::span<double> impulses) {
  const BlockView view = block_view(problem, block);
  for (int r = 0; r < 3; ++r) impulses[view.row + r] = batch.lambda[r][lane];
  impulses[view.row] -= view.cohesion;
}

void load_explicit_contact(const ConstraintProblem& problem, Index block,
                           std::span<const double> impulses, ExplicitContactBatch& batch,
                           int lane) {
  const BlockView view = block_view(problem, block);
  for (int r = 0; r < 3; ++r) batch.lambda[r][lane] = impulses[view.row + r];
  batch.lambda[0][lane] += view.cohesion;
}

InverseMasses::InverseMasses(const ConstraintProblem& problem, std::span<const Index> bodies,
                             const std::function<BodyPlace(Index)>& place, std::size_t n_lines)
    : n_lines_(n_lines) {
  const auto for_each = [&](const auto& visit) {
    for (const Index b : bodies)
      if (problem.bodies.dofs(b) == kVelocities) visit(place(b), inverse_mass(problem.bodies, b));
  };
  bool diagonal = true, rigid = true;
  for_each([&](const BodyPlace&, const Mat6& m) {
    diagonal = diagonal && is_diagonal(m);
    rigid = rigid && is_rigid(m);
  });
  form_ = diagonal ? MassForm::diagonal : rigid ? MassForm::rigid : MassForm::full;
  lines_.assign((form_ == MassForm::full ? 6 : 1) * n_lines, BodyLine{});
  for_each([&](const BodyPlace& at, const Mat6& m) {
    const std::size_t first = at.velocity / 8;
    if (form_ == MassForm::diagonal) {
      for (int i = 0; i < kVelocities; ++i) lines_[first].x[i] = at.multiplicity * m(i, i);
    } else if (form_ == MassForm::rigid) {
      const double numbers[] = {m(0, 0), m(3, 3), m(3, 4), m(3, 5), m(4, 4), m(4, 5), m(5, 5)};
      for (int i = 0; i < 7; ++i) lines_[first].x[i] = at.multiplicity * numbers[i];
    } else {
      for (int i = 0; i < kVelocities; ++i)
        for (int j = 0; j < kVelocities; ++j)
          lines_[i * n_lines + first].x[j] = at.multiplicity * m(i, j);
    }
  });
}

}  // namespace catena
