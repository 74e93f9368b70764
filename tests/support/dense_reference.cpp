#include "support/dense_reference.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>

#include "catena/math/cone.hpp"
#include "catena/math/types.hpp"
#include "support/dense_algebra.hpp"

namespace catena::test {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

std::size_t at(Index i) { return static_cast<std::size_t>(i); }

/// u of a rigid contact for velocities V, by its definition.
Vec3 contact_slip(const ConstraintProblem& problem, const RigidContact& c, const VectorXd& V) {
  const auto point_velocity = [&](Index body, const Vec3& arm) -> Vec3 {
    const Index d = problem.bodies.dof_begin[at(body)];
    const Vec3 v = V.segment<3>(d);
    const Vec3 w = V.segment<3>(d + 3);
    return v + w.cross(arm);
  };
  const Vec3 u = point_velocity(c.body_b, c.arm_b) - point_velocity(c.body_a, c.arm_a);
  return {u.dot(c.normal), u.dot(c.tangent), u.dot(c.normal.cross(c.tangent))};
}

void fill_inverse_mass(const ProblemBodies& bodies, MatrixXd& out) {
  for (std::size_t b = 0; b < bodies.id.size(); ++b) {
    const Index d = bodies.dof_begin[b];
    const Index n = bodies.dof_begin[b + 1] - d;
    const double* m = bodies.inverse_mass.data() + bodies.mass_begin[b];
    if (bodies.mass_kind[b] == MassKind::dense)
      for (Index i = 0; i < n; ++i)
        for (Index j = 0; j < n; ++j) out(d + i, d + j) = m[i * n + j];
    if (bodies.mass_kind[b] == MassKind::rigid) {
      out.block<3, 3>(d, d) = m[0] * Mat3::Identity();
      Mat3 inertia;
      inertia << m[1], m[2], m[3], m[2], m[4], m[5], m[3], m[5], m[6];
      out.block<3, 3>(d + 3, d + 3) = inertia;
    }
  }
}

void fill_general_jacobian(const ConstraintProblem& problem, MatrixXd& G) {
  const GeneralBlocks& blocks = problem.blocks;
  const Index first = 3 * static_cast<Index>(problem.contacts.size());
  for (std::size_t k = 0; k < blocks.kind.size(); ++k)
    for (Index j = blocks.body_begin[k]; j < blocks.body_begin[k + 1]; ++j) {
      const Index d = problem.bodies.dof_begin[at(blocks.body[at(j)])];
      const Index n = problem.bodies.dof_begin[at(blocks.body[at(j)]) + 1] - d;
      const double* g = blocks.jacobian.data() + blocks.jacobian_begin[at(j)];
      for (Index row = blocks.row_begin[k]; row < blocks.row_begin[k + 1]; ++row)
        for (Index i = 0; i < n; ++i) G(first + row, d + i) = *g++;
    }
}

/// Bounds of a scalar row at the current impulses; contacts under `box` and `frictionless`.
struct Bounds {
  double lo, hi;
};

Bounds bounds_of(const ConstraintProblem& problem, const BlockView& view, Index i,
                 const VectorXd& lambda) {
  switch (view.kind) {
    case BlockKind::bilateral:
      return {-kInfinity, kInfinity};
    case BlockKind::unilateral:
      return {0.0, kInfinity};
    case BlockKind::boxed: {
      const auto row = at(view.row + i) - 3 * problem.contacts.size();
      return {problem.blocks.lower[row], problem.blocks.upper[row]};
    }
    case BlockKind::contact:
      break;
  }
  if (i == 0) return {-view.cohesion, kInfinity};
  const double coefficient = i < 3                          ? view.friction
                             : i < 5 && view.rolling >= 0.0 ? view.rolling
                                                            : view.spinning;
  const double bound = problem.law == ContactLaw::box
                           ? coefficient * std::max(lambda[view.row] + view.cohesion, 0.0)
                           : 0.0;
  return {-bound, bound};
}

bool on_cone(const ConstraintProblem& problem, const BlockView& view) {
  return view.kind == BlockKind::contact &&
         (problem.law == ContactLaw::coulomb || problem.law == ContactLaw::ccp);
}

bool is_plain(const BlockView& view) { return view.rows == 3 && view.cohesion == 0.0; }

/// A disc of a contact: its rows, the first among all rows, and its radius per normal impulse.
struct DiscRows {
  Index first, rows;
  double bound;
};

std::vector<DiscRows> discs_of(const BlockView& view) {
  std::vector<DiscRows> discs = {{view.row + 1, 2, view.friction}};
  Index next = view.row + 3;
  if (view.rolling >= 0.0) {
    discs.push_back({next, 2, view.rolling});
    next += 2;
  }
  if (view.spinning >= 0.0) discs.push_back({next, 1, view.spinning});
  return discs;
}

/// x cut to the ball of that radius.
VectorXd cut(const VectorXd& x, double radius) {
  return x.norm() <= radius ? x : VectorXd(radius / x.norm() * x);
}

class Sweeper {
 public:
  explicit Sweeper(const ConstraintProblem& problem)
      : problem_(problem), dense_(dense_problem(problem)) {
    for (Index k = 0; k < problem.n_blocks(); ++k) {
      const BlockView view = block_view(problem, k);
      for (Index i = 0; view.kind == BlockKind::bilateral && i < view.rows; ++i)
        bilateral_.push_back(view.row + i);
    }
    if (!bilateral_.empty()) factor_.emplace(dense_.N(bilateral_, bilateral_));
    lambda = VectorXd::Zero(dense_.r.size());
  }

  void sweep() {
    for (Index k = 0; k < problem_.n_blocks(); ++k) {
      const BlockView view = block_view(problem_, k);
      if (view.kind == BlockKind::bilateral) continue;
      if (on_cone(problem_, view) && is_plain(view))
        solve_contact(view);
      else if (on_cone(problem_, view))
        solve_discs(view);
      else
        for (Index i = 0; i < view.rows; ++i) solve_scalar(view, i);
    }
    // all bilateral rows at once, so that chains do not slow the sweep
    if (!bilateral_.empty()) {
      const VectorXd w = residual_velocities();
      lambda(bilateral_) -= factor_->solve(VectorXd(w(bilateral_)));
    }
  }

  /// Largest natural map over the largest |r| (or over 1 m/s where r vanishes).
  double residual() const {
    const VectorXd w = residual_velocities();
    double sum = 0.0;
    for (Index k = 0; k < problem_.n_blocks(); ++k) {
      const BlockView view = block_view(problem_, k);
      if (on_cone(problem_, view) && !is_plain(view)) {
        sum = std::hypot(sum, disc_residual(view, w));
        continue;
      }
      if (on_cone(problem_, view)) {
        const double a = dense_.N.block<3, 3>(view.row, view.row).trace() / 3.0;
        if (a <= 0.0) continue;
        Vec3 what = w.segment<3>(view.row);
        if (problem_.law == ContactLaw::coulomb) what[0] += view.friction * what.tail<2>().norm();
        const Vec3 l = lambda.segment<3>(view.row);
        sum = std::hypot(sum, a * (l - project_cone(l - what / a, view.friction)).norm());
        continue;
      }
      for (Index i = 0; i < view.rows; ++i) {
        const double a = dense_.N(view.row + i, view.row + i);
        const double l = lambda[view.row + i];
        const Bounds bound = bounds_of(problem_, view, i, lambda);
        if (a <= 0.0) continue;
        sum = std::hypot(sum, a * (l - std::clamp(l - w[view.row + i] / a, bound.lo, bound.hi)));
      }
    }
    const double scale = dense_.r.size() > 0 ? dense_.r.cwiseAbs().maxCoeff() : 0.0;
    return scale > 0.0 ? sum / scale : sum;
  }

  VectorXd residual_velocities() const { return dense_.N * lambda + dense_.r; }

  DenseSolution solution(int sweeps) const {
    DenseSolution out;
    const VectorXd w = residual_velocities();
    out.impulses.assign(lambda.data(), lambda.data() + lambda.size());
    out.slips.assign(w.data(), w.data() + w.size());
    if (!problem_.assembled) {
      const VectorXd v =
          dense_.free_velocity + dense_.inverse_mass * (dense_.G.transpose() * lambda);
      out.velocities.assign(v.data(), v.data() + v.size());
    }
    out.residual = residual();
    out.sweeps = sweeps;
    return out;
  }

  const DenseProblem& dense() const { return dense_; }

  VectorXd lambda;

 private:
  /// What is complementary to the normal impulse: w_n, under ccp less what the discs push.
  double normal_slip(const BlockView& view, const VectorXd& w) const {
    double slip = w[view.row];
    if (problem_.law == ContactLaw::ccp)
      for (const DiscRows& disc : discs_of(view))
        slip -= disc.bound * w.segment(disc.first, disc.rows).norm();
    return slip;
  }

  /// Complementarity of the normal and maximum dissipation of each disc, each times the
  /// block's own diagonal.
  double disc_residual(const BlockView& view, const VectorXd& w) const {
    const double a_n = dense_.N(view.row, view.row);
    const double normal = lambda[view.row] + view.cohesion;
    const double e = normal - std::max(0.0, normal - normal_slip(view, w) / a_n);
    double sum = a_n * e;
    for (const DiscRows& disc : discs_of(view)) {
      const double a = dense_.N(disc.first, disc.first);
      const VectorXd x = lambda.segment(disc.first, disc.rows);
      sum = std::hypot(
          sum, a * (x - cut(x - w.segment(disc.first, disc.rows) / a, disc.bound * normal)).norm());
    }
    return sum;
  }

  /// The discs' impulses for a given normal impulse, by projected gradient steps with w of the
  /// block's rows carried along; returns that w.
  VectorXd settle_discs(const BlockView& view, const MatrixXd& d, const VectorXd& rest,
                        double normal) {
    lambda[view.row] = normal - view.cohesion;
    VectorXd w = rest + d * lambda.segment(view.row, view.rows);
    const std::vector<DiscRows> discs = discs_of(view);
    for (int step = 0; step < 3000; ++step) {
      double change = 0.0;
      for (const DiscRows& disc : discs) {
        const Index at_row = disc.first - view.row;
        // at most twice the largest diagonal is the disc's own largest eigenvalue
        const double a = 1.2 * d.block(at_row, at_row, disc.rows, disc.rows).diagonal().maxCoeff();
        const VectorXd x = lambda.segment(disc.first, disc.rows);
        const VectorXd next = cut(x - w.segment(at_row, disc.rows) / a, disc.bound * normal);
        lambda.segment(disc.first, disc.rows) = next;
        w += d.middleCols(at_row, disc.rows) * (next - x);
        change = std::hypot(change, a * (next - x).norm());
      }
      if (change <= 1e-16 * (w.norm() + rest.norm())) break;
    }
    return w;
  }

  /// The normal impulse of a contact with discs as the root of its complementary slip:
  /// regula falsi, the kept end's value halved (Illinois).
  void solve_discs(const BlockView& view) {
    const MatrixXd d = dense_.N.block(view.row, view.row, view.rows, view.rows);
    const VectorXd rest = dense_.N.middleRows(view.row, view.rows) * lambda +
                          dense_.r.segment(view.row, view.rows) -
                          d * lambda.segment(view.row, view.rows);
    const auto slip_at = [&](double normal) {
      const VectorXd w = settle_discs(view, d, rest, normal);
      double slip = w[0];
      if (problem_.law == ContactLaw::ccp)
        for (const DiscRows& disc : discs_of(view))
          slip -= disc.bound * w.segment(disc.first - view.row, disc.rows).norm();
      return slip;
    };
    double low = 0.0, at_low = slip_at(low);
    if (at_low >= 0.0) return;
    double high = std::max(1e-9, -rest[0] / d(0, 0)), at_high = slip_at(high);
    while (at_high < 0.0) at_high = slip_at(high *= 2.0);
    for (int i = 0; i < 200 && high - low > 1e-16 * high && at_high > 0.0; ++i) {
      const double middle = high - at_high * (high - low) / (at_high - at_low);
      const double slip = slip_at(middle);
      if (slip < 0.0) {
        low = middle;
        at_low = slip;
        at_high *= 0.5;
      } else {
        high = middle;
        at_high = slip;
        at_low *= 0.5;
      }
      if (std::abs(slip) <= 1e-16 * (std::abs(rest[0]) + d(0, 0) * middle)) return;
    }
    slip_at(high);
  }

  void solve_contact(const BlockView& view) {
    const Mat3 d = dense_.N.block<3, 3>(view.row, view.row);
    if (d.trace() <= 0.0) return;
    const Vec3 old = lambda.segment<3>(view.row);
    const Vec3 w = dense_.N.middleRows<3>(view.row) * lambda + dense_.r.segment<3>(view.row);
    const Vec3 rest = w - d * old;
    lambda.segment<3>(view.row) = problem_.law == ContactLaw::coulomb
                                      ? solve_one_contact_coulomb(d, rest, view.friction)
                                      : solve_one_contact_convex(d, rest, view.friction);
  }

  void solve_scalar(const BlockView& view, Index i) {
    const Index row = view.row + i;
    const double a = dense_.N(row, row);
    if (a <= 0.0) return;
    const double w = dense_.N.row(row).dot(lambda) + dense_.r[row];
    const Bounds bound = bounds_of(problem_, view, i, lambda);
    lambda[row] = std::clamp(lambda[row] - w / a, bound.lo, bound.hi);
  }

  const ConstraintProblem& problem_;
  DenseProblem dense_;
  std::vector<Index> bilateral_;
  std::optional<LeastSquares> factor_;
};

void require_one_rank(const ConstraintProblem& problem) {
  if (problem.comm.size() != 1) throw std::logic_error("dense reference: one rank only");
}

}  // namespace

DenseProblem dense_problem(const ConstraintProblem& problem) {
  require_one_rank(problem);
  DenseProblem out;
  const Index rows = problem.n_rows();
  out.N = MatrixXd::Zero(rows, rows);
  if (problem.assembled) {
    const AssembledOperator& op = *problem.assembled;
    for (Index i = 0; i < rows; ++i)
      for (auto j = static_cast<std::size_t>(op.row_begin[at(i)]);
           j < static_cast<std::size_t>(op.row_begin[at(i) + 1]); ++j)
        out.N(i, op.column[j]) += op.value[j];
    out.r = Eigen::Map<const VectorXd>(op.r.data(), rows);
    return out;
  }
  const Index dofs = problem.bodies.n_dofs();
  out.G = MatrixXd::Zero(rows, dofs);
  for (Index d = 0; d < dofs; ++d) {
    const VectorXd unit = VectorXd::Unit(dofs, d);
    for (std::size_t k = 0; k < problem.contacts.size(); ++k)
      out.G.block<3, 1>(3 * static_cast<Index>(k), d) =
          contact_slip(problem, problem.contacts[k], unit);
  }
  fill_general_jacobian(problem, out.G);
  out.inverse_mass = MatrixXd::Zero(dofs, dofs);
  fill_inverse_mass(problem.bodies, out.inverse_mass);
  out.free_velocity = Eigen::Map<const VectorXd>(problem.bodies.free_velocity.data(), dofs);
  out.N = out.G * out.inverse_mass * out.G.transpose();
  out.r = out.G * out.free_velocity;
  for (std::size_t k = 0; k < problem.contacts.size(); ++k) {
    const RigidContact& c = problem.contacts[k];
    const auto row = 3 * static_cast<Index>(k);
    out.r[row] += c.bias;
    out.r[row + 1] += c.tangent_bias[0];
    out.r[row + 2] += c.tangent_bias[1];
    out.N(row, row) += c.compliance;
    out.N(row + 1, row + 1) += c.tangent_compliance;
    out.N(row + 2, row + 2) += c.tangent_compliance;
  }
  const Index first = 3 * static_cast<Index>(problem.contacts.size());
  for (Index i = 0; i < problem.blocks.n_rows(); ++i) {
    out.N(first + i, first + i) += problem.blocks.compliance[at(i)];
    out.r[first + i] -= problem.blocks.q[at(i)];
  }
  return out;
}

DenseSolution solve_dense(const ConstraintProblem& problem, double tolerance, int max_sweeps) {
  Sweeper sweeper(problem);
  int sweeps = 0;
  while (sweeper.residual() > tolerance && sweeps < max_sweeps) {
    sweeper.sweep();
    ++sweeps;
  }
  return sweeper.solution(sweeps);
}

DenseSolution enumerate_active_sets(const ConstraintProblem& problem) {
  Sweeper sweeper(problem);
  const DenseProblem& dense = sweeper.dense();
  const Index n = problem.n_rows();
  // each row is free (w = 0) or at one of its bounds
  std::vector<std::vector<double>> choices(at(n));
  double cases = 1.0;
  for (Index k = 0; k < problem.n_blocks(); ++k) {
    const BlockView view = block_view(problem, k);
    if (on_cone(problem, view) ||
        (view.kind == BlockKind::contact && problem.law == ContactLaw::box))
      throw std::logic_error("enumerate_active_sets: rows with friction");
    for (Index i = 0; i < view.rows; ++i) {
      const Bounds bound = bounds_of(problem, view, i, sweeper.lambda);
      std::vector<double>& choice = choices[at(view.row + i)];
      if (bound.lo < bound.hi) choice.push_back(kInfinity);
      if (std::isfinite(bound.lo)) choice.push_back(bound.lo);
      if (std::isfinite(bound.hi) && bound.hi > bound.lo) choice.push_back(bound.hi);
      cases *= static_cast<double>(choice.size());
    }
  }
  if (cases > 1e6) throw std::logic_error("enumerate_active_sets: too many rows");
  DenseSolution best;
  best.residual = kInfinity;
  for (std::int64_t number = 0; number < static_cast<std::int64_t>(cases); ++number) {
    std::int64_t digits = number;
    std::vector<Index> free_rows;
    sweeper.lambda = VectorXd::Zero(n);
    for (Index i = 0; i < n; ++i) {
      const auto base = static_cast<std::int64_t>(choices[at(i)].size());
      const double value = choices[at(i)][static_cast<std::size_t>(digits % base)];
      digits /= base;
      if (std::isinf(value))
        free_rows.push_back(i);
      else
        sweeper.lambda[i] = value;
    }
    if (!free_rows.empty()) {
      const MatrixXd block = dense.N(free_rows, free_rows);
      const VectorXd rhs = sweeper.residual_velocities()(free_rows);
      sweeper.lambda(free_rows) = -LeastSquares(block).solve(rhs);
    }
    if (sweeper.residual() < best.residual) best = sweeper.solution(static_cast<int>(number));
  }
  return best;
}

}  // namespace catena::test
